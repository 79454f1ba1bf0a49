/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast run: what its files share. run.c reads options and starts the ranks, run_load.c loads or makes what they
 * run, run_rank.c is one of them, run_show.c shows what came of it. */
#ifndef HOP_RUN_TOOL_H
#define HOP_RUN_TOOL_H

#include "devices.h"

struct run_request {
    const struct hop_schedule *schedule;
    const struct hop_topology *topology; /* of the report; NULL: none was asked for */
    const char *what;                    /* "allreduce by ring, 1 MiB", or the schedule's name */
    const char *models;
    uint32_t ranks;
    struct hop_program_options plan;
    double delay_s[2]; /* hooks of tests: run/hooks.h */
    const char *fault;
    uint64_t repeat, warmup, seed;
    uint64_t rows;
    bool check, json, predict, gantt, ascii;
    const char *output, *trace, *save, *csv;
    /* of a collective that was made here; else NULL */
    const struct hop_collective_options *collective;
};

/* The command line. */
struct run_options {
    struct tool_given given;
    struct tool_words schedules, sets; /* one schedule, or the name of a collective */
    const char *topology, *emulate, *map, *devices;
    bool threads, pin, no_check;
    uint32_t ranks, node_size;
    uint64_t preparations_most; /* operations times ranks, 0: unlimited */
    double timeout_s;
    struct run_request request;
    struct hop_collective_options collective;
};

/* Of operations that all ranks prepare: most, ranks, RUN_TIMEOUTS. */
#define RUN_WORK_EXPECTED                                                                                              \
    "at most %llu, which %u ranks prepare in %d times --timeout and in the memory there is: fewer ranks, or an "       \
    "algorithm of fewer operations"
enum { RUN_TIMEOUTS = 10 };

/* What is loaded and made. */
struct run_loaded {
    struct hop_topology *topology, *emulated;
    struct hop_schedule *schedule;
    struct device_list devices;
    char what[256];
};

/* run_load.c: the topology and the schedule, or the collective; fills the request. */
void run_load(struct run_options *o, struct run_loaded *l);

/* run_agree.c: which machine each rank of the group is on, by the hosts' names or as node_size has it; NULL: all are on one. All
 * ranks call it before anything else that they send. */
const uint32_t *run_nodes(struct hop_group *group, uint32_t node_size);
/* The worst status of all ranks of the group. */
int run_agree(struct hop_group *group, int status);

/* Whether the operations of repeated launches are timed, not the launches alone. */
static inline bool run_times_each(const struct run_request *r)
{
    return r->repeat > 0 && (r->json || r->csv);
}

/* What rank 0 shows. */
struct run_result {
    struct hop_topology *flat;      /* where none was asked for */
    struct hop_timeline *timeline;  /* measured */
    double predicted_s;             /* NAN: not asked for */
    struct hop_timeline *predicted; /* NULL: not asked for */
    uint64_t wrong;                 /* bytes of any rank */
    struct hop_diag first_wrong;
    const double *times_s; /* of repeated launches; rank 0's */
    uint64_t time_count;
    const struct hop_measured_op *ops;       /* as the timeline has them */
    const struct hop_sample_summary *took_s; /* of each operation, in the launches that count for the timeline */
};

/* run_flat.c */
enum hop_status run_flat(const struct hop_schedule *schedule, const struct hop_measured_op *times,
                         struct hop_topology **topology, struct hop_diag *diag);
/* hop_rank_body; context is a struct run_request. */
int run_rank(struct hop_team *team, void *context);
void run_show(const struct run_request *request, const struct run_result *result);

#endif
