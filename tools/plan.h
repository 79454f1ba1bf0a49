/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast plan: what its files share. plan.c reads options and plans, plan_show.c shows the answer. */
#ifndef HOP_TOOL_PLAN_H
#define HOP_TOOL_PLAN_H

#include "hopcast/plan.h"
#include "map.h"

struct plan_request {
    struct map_request map; /* what is read and written as hopcast map does: its output is the placement */
    struct hop_plan_options options;
    struct hop_collective_options collective; /* of WHAT, if it is one, */
    uint32_t ranks;                           /* so many */
    bool is_collective;
    const char *what; /* is planned: the source, and to what its size was rounded */
    const char *output; /* the schedule */
    const char *svg;
};

void plan_show(const struct plan_request *request, const struct map_input *input, const struct hop_plan_result *result);
/* As given and as planned. */
void plan_draw(const struct plan_request *request, const struct map_input *input, const struct hop_plan_result *result);
/* "2x2x2 ... takes 407.9 us; proved: ..." */
const char *plan_remark(const struct hop_plan_result *result);

#endif
