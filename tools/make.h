/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside hopcast make: a request, read from the command line (make.c), its devices (make_devices.c), and what is made
 * of it: plain patterns (make.c), collectives (make_collective.c), all congestion graphs (make_graphs.c).
 */
#ifndef HOP_TOOL_MAKE_H
#define HOP_TOOL_MAKE_H

#include "devices.h"

enum { SETS_MAX = 64 };

/* Every option has a bit: a pattern lists those that it takes. */
enum option_code {
    OPT_ON = 256,
    OPT_SET,
    OPT_DEVICES,
    OPT_BYTES,
    OPT_FORMAT,
    OPT_JSON,
    OPT_OUTPUT,
    OPT_GRID,
    OPT_WEIGHTS,
    OPT_WRAP,
    OPT_STEPS,
    OPT_WORK,
    OPT_ORDER,
    OPT_ROUNDS,
    OPT_ROOT,
    OPT_TRANSFERS,
    OPT_SEED,
    OPT_MIN_BYTES,
    OPT_MAX_BYTES,
    OPT_DISTINCT_SOURCES,
    OPT_DISTINCT_EDGES,
    OPT_DEPEND,
    OPT_MAX_TRANSFERS,
    OPT_LIST,
    OPT_OUTPUT_DIR,
    OPT_ALGORITHM,
    OPT_RANKS,
    OPT_RANKS_PER_DEVICE,
    OPT_OPERATOR,
    OPT_TYPE,
    OPT_IN_PLACE,
    OPT_SEGMENT
};
#define BIT(code) (UINT64_C(1) << ((code)-OPT_ON))

struct request {
    int argc; /* the command as given */
    char **argv;
    const struct pattern *pattern;
    uint64_t given; /* options, by bit */
    const char *source, *sets[SETS_MAX], *device_list;
    int set_count;
    struct hop_topology *topology;
    struct device_list found; /* ranks.devices points into it */
    const char **devices;
    struct hop_ranks ranks;
    uint64_t bytes;
    bool json;
    const char *output, *output_dir;
    bool list;
    struct hop_grid grid;
    unsigned weight_count;
    uint64_t steps, rounds, root, max_transfers;
    double work_s;
    enum hop_alltoall order;
    struct hop_random random;
    uint64_t transfers;
    struct hop_collective_options collective;
    uint64_t rank_count, ranks_per_device; /* of a collective; 0: not said */
};

struct pattern {
    const char *name;
    uint64_t takes;
    enum hop_status (*make)(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag);
};

/* make.c: the command on one line, for the head of the schedule: words with other than plain characters are quoted. */
void make_show_command(const struct request *r, char *text, size_t size);
/* make_devices.c: fills the ranks, one on each device. */
int make_find_devices(struct request *r);
/* make_graphs.c */
int make_run_graphs(struct request *r);

/* make_collective.c: ranks on devices, or placeholders where there are none. */
int make_spread_ranks(struct request *r);
enum hop_status make_collective(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag);
/* Prints the algorithms. */
int make_list_algorithms(const struct request *r);

#endif
