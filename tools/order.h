/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast order: what its files share. order.c reads options and searches, order_show.c shows what was found.
 */
#ifndef HOP_TOOL_ORDER_H
#define HOP_TOOL_ORDER_H

#include "hopcast/group.h"
#include "hopcast/order.h"
#include "tool.h"

struct order_request {
    struct tool_given given;
    struct tool_input input;
    struct tool_words marks;
    uint64_t chunks;
    bool all, robust, gantt, json, ascii;
    const char *output, *svg, *histogram;
    struct hop_order_options options;
};

/* What the request names. */
struct order_input {
    struct hop_topology *topology;
    struct hop_schedule *schedule; /* cut into chunks */
    const char *title;             /* "halo.hop on t2" */
};

/* Both print the answer and write the files that were asked for; TOOL_NEGATIVE: no clean order was found. robust: NULL if
 * it was not asked for; else its order is the one that is written and drawn. */
int order_show_result(const struct order_request *request, const struct order_input *input,
                      const struct hop_order_result *result, const struct hop_order_robust *robust);
int order_show_distribution(const struct order_request *request, const struct order_input *input,
                            const struct hop_order_distribution *distribution);
/* Writes an order to --output, with a remark about it; false: it said why not. */
bool order_write(const struct order_request *request, const struct order_input *input,
                 const struct hop_schedule *schedule, const char *about);

#endif
