/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside hopcast make: a request, read from the command line (make.c), and what is made of it: plain patterns (make.c), collectives (make_collective.c), all congestion graphs (make_graphs.c).
 */
#ifndef HOP_TOOL_MAKE_H
#define HOP_TOOL_MAKE_H

#include "devices.h"

enum make_format { MAKE_HOP, MAKE_JSON };

struct request {
    struct tool_given given;
    int argc; /* the command as given */
    char **argv;
    const char *name, *source, *device_list, *output, *output_dir;
    const struct pattern *pattern;
    struct tool_words sets;
    struct hop_topology *topology;
    struct device_list found; /* ranks.devices points into it */
    struct hop_ranks ranks;
    enum make_format format;
    bool json, list;
    uint64_t bytes;
    uint32_t max_transfers;
    struct hop_collective_options collective;
    uint32_t rank_count, ranks_per_device; /* of a collective; 0: not said */
};

struct pattern {
    const char *name;
    const char *takes; /* options */
    struct hop_schedule *(*make)(struct request *r);
};

/* make.c: the command on one line, for the head of the schedule: words with other than plain characters are quoted. */
void make_show_command(const struct request *r, char *text, size_t size);
/* make_graphs.c */
void make_run_graphs(struct request *r);

/* make_collective.c: ranks on devices, or placeholders where there are none. */
void make_spread_ranks(struct request *r);
/* So many ranks on the devices found, `each` on every one, or (0) as evenly as they can. */
void make_ranks(struct request *r, uint32_t count, uint32_t each);
struct hop_schedule *make_collective(struct request *r);
/* Prints the algorithms. */
void make_list_algorithms(const struct request *r);

#endif
