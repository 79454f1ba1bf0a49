/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traces of programs as schedules: Chakra execution traces (.et).
 *
 * A trace is a graph of computations and communications for each rank, one file a rank: NAME.0.et, NAME.1.et, ... Its
 * schedule has the placeholder devices "rank0", "rank1", ...; a placement puts them on devices (hopcast/placement.h).
 * A collective is one node a rank in the trace and becomes the messages of an algorithm; docs/traces.md says how.
 */
#ifndef HOPCAST_TRACE_H
#define HOPCAST_TRACE_H

#include "hopcast/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Enumerator, name, and what `bytes` counts: always what one rank puts in (broadcast, scatter: what the root does). */
#define HOP_COLLECTIVE_LIST(X)                                                                     \
    X(HOP_COLLECTIVE_ALLREDUCE, "allreduce")          /* every rank's vector */                    \
    X(HOP_COLLECTIVE_ALLGATHER, "allgather")          /* every rank's part; all end with n of them */ \
    X(HOP_COLLECTIVE_REDUCE_SCATTER, "reduce-scatter") /* every rank's vector; each ends with 1/n of the sum */ \
    X(HOP_COLLECTIVE_ALLTOALL, "alltoall")            /* every rank's vector, 1/n of it for each rank */ \
    X(HOP_COLLECTIVE_BROADCAST, "broadcast")          /* the root's vector */                      \
    X(HOP_COLLECTIVE_REDUCE, "reduce")                /* every rank's vector */                    \
    X(HOP_COLLECTIVE_GATHER, "gather")                /* every rank's part */                      \
    X(HOP_COLLECTIVE_SCATTER, "scatter")              /* the root's vector, 1/n of it for each rank */ \
    X(HOP_COLLECTIVE_BARRIER, "barrier")              /* not used */
enum hop_collective_kind {
#define HOP_COLLECTIVE_ENUM(code, name) code,
    HOP_COLLECTIVE_LIST(HOP_COLLECTIVE_ENUM)
#undef HOP_COLLECTIVE_ENUM
        HOP_COLLECTIVE_COUNT
};

#define HOP_ALGORITHM_LIST(X)                                                                      \
    X(HOP_ALGORITHM_DEFAULT, "default") X(HOP_ALGORITHM_RING, "ring") X(HOP_ALGORITHM_DOUBLING, "doubling") \
        X(HOP_ALGORITHM_DIRECT, "direct") X(HOP_ALGORITHM_BINOMIAL, "binomial") X(HOP_ALGORITHM_CHAIN, "chain") \
            X(HOP_ALGORITHM_DISSEMINATION, "dissemination") X(HOP_ALGORITHM_RABENSEIFNER, "rabenseifner") \
                X(HOP_ALGORITHM_BRUCK, "bruck") X(HOP_ALGORITHM_PAIRWISE, "pairwise")                  \
                    X(HOP_ALGORITHM_ONE_SHOT, "one-shot") X(HOP_ALGORITHM_TWO_SHOT, "two-shot")        \
                        X(HOP_ALGORITHM_GSB, "gsb") X(HOP_ALGORITHM_BTB, "btb")
enum hop_algorithm {
#define HOP_ALGORITHM_ENUM(code, name) code,
    HOP_ALGORITHM_LIST(HOP_ALGORITHM_ENUM)
#undef HOP_ALGORITHM_ENUM
        HOP_ALGORITHM_COUNT
};

HOP_API const char *hop_collective_name(enum hop_collective_kind kind);
HOP_API const char *hop_algorithm_name(enum hop_algorithm algorithm);
/* Whether that collective can be made by that algorithm, on some number of ranks. Default always can. */
HOP_API bool hop_collective_has(enum hop_collective_kind kind, enum hop_algorithm algorithm);
/* The algorithm that default stands for. */
HOP_API enum hop_algorithm hop_collective_default(enum hop_collective_kind kind);

/* Whether control dependencies order nodes as data dependencies do. */
enum hop_trace_control {
    HOP_TRACE_CONTROL_AUTO, /* all of them, if each names a node and none makes a circle; else none: traces of PyTorch name the
                               calling function there, in circles too. A comment in the schedule counts what is left out. */
    HOP_TRACE_CONTROL_KEEP, /* a trace in which they make no sense is refused */
    HOP_TRACE_CONTROL_DROP
};

struct hop_trace_options {
    size_t size;                                        /* see hop_version */
    enum hop_algorithm algorithm[HOP_COLLECTIVE_COUNT]; /* of each collective; 0: default */
    enum hop_trace_control control;
};

/* Reads "allreduce=ring,alltoall=direct" into the options; what it does not name stays as it is. */
HOP_API enum hop_status hop_trace_options_parse(const char *text, struct hop_trace_options *options,
                                                struct hop_diag *diag);

/* Like hop_schedule_load, which takes traces too; these options are for them, and NULL stands for the defaults. */
HOP_API enum hop_status hop_schedule_load_with(const char *path, const struct hop_trace_options *options,
                                               struct hop_schedule **schedule, struct hop_diag *diag);
/* Reads the traces of all ranks: path is one rank's file, what their names have in common (NAME of NAME.0.et), or a
 * folder that holds one set of them. A lone file that has no rank in its name is rank 0's. Files may be compressed with
 * gzip. options NULL: the defaults. The schedule is finished; the caller destroys it. */
HOP_API enum hop_status hop_schedule_load_chakra(const char *path, const struct hop_trace_options *options,
                                                 struct hop_schedule **schedule, struct hop_diag *diag);
/* The same from memory: sizes[r] bytes at data[r] are rank r's trace, names[r] stands for its file in diagnostics. */
HOP_API enum hop_status hop_schedule_parse_chakra(const char *const *names, const void *const *data,
                                                  const size_t *sizes, uint32_t ranks, const struct hop_trace_options *options,
                                                  struct hop_schedule **schedule, struct hop_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
