/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast map: what its files share. map.c reads options and asks for the mapping, map_traffic.c reads what is to be
 * mapped, map_order.c asks what the order of sends would give, map_show.c shows the answer, map_files.c writes what
 * launchers take. hopcast plan reads and writes the same (plan.c).
 */
#ifndef HOP_TOOL_MAP_H
#define HOP_TOOL_MAP_H

#include "devices.h"
#include "hopcast/order.h"
#include "ranks.h"

struct map_request {
    struct tool_given given;
    const struct tool_command *command; /* whose usage it is */
    const char *source, *host; /* traffic: of devices, of host memory */
    enum hop_memory memory;    /* what a source's bytes are that does not say so */
    const char *machine, *start;
    unsigned ranks; /* of a pattern that does not say it; 0: nobody said */
    struct tool_words sets, excluded, keep, hosts;
    struct hop_map_options options;
    bool json, ascii, quiet, draw;
    unsigned launch; /* index of a form, if it is given */
    const char *output, *placed, *svg, *directory, *program;
    const char *remark; /* in the placement's file; NULL: the metric */
};

/* What the request names. */
struct map_input {
    struct hop_topology *topology;
    struct hop_traffic *traffic;
    struct hop_schedule *exchange; /* NULL: the traffic's flows, all at once */
    bool on_devices;               /* the schedule named devices and no ranks */
    struct hop_placement *start;   /* NULL: by the options' start_order */
};

/* Traffic of a file of any form, a schedule, or a pattern; a schedule is kept, as one between ranks, with where it
 * was. */
void map_read_traffic(const struct map_request *request, struct map_input *input);

/* What to compare with (--start): of a schedule, where it is, unless it is said. */
void map_read_start(struct map_request *request, struct map_input *input);

/* In seconds where it is a time. */
const char *map_show_metric(enum hop_map_metric metric, double value);
void map_show(const struct map_request *request, const struct map_input *input, const struct hop_map_result *result);
/* What a short search over the order of sends comes to where ranks were; NULL: nothing was judged by simulation, or there
 * is nothing to order, or too much. (map_order.c) */
struct hop_order_result *map_order(const struct map_request *request, const struct map_input *input,
                                   const struct hop_map_result *result);
/* --output, --placed, --svg, --launch, --launch-dir; whether they can be, before the search. */
void map_check_files(const struct map_request *request, const struct map_input *input);
void map_write_files(const struct map_request *request, const struct map_input *input,
                     const struct hop_map_result *result);

/* Loads before and after, of directed links. */
struct hop_link_load *map_loads(const struct map_input *input, const struct hop_map_result *result);
/* "ranks 0 -> 5" of a device, for drawings. */
struct map_notes {
    const struct hop_map_result *result;
    const uint32_t *before; /* devices, by rank */
};
const char *map_note(uint32_t node, void *context);

#endif
