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

#include "hopcast/collective.h"
#include "hopcast/schedule.h"

#ifdef __cplusplus
extern "C" {
#endif

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
