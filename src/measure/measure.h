/* SPDX-License-Identifier: BSD-3-Clause */
/* Measuring, inside: what is to be measured, and the schedule of a round. See hopcast/measure.h. */
#ifndef HOP_MEASURE_H
#define HOP_MEASURE_H

#include "base/base.h"
#include "hopcast/measure.h"

/* One operation of a case. */
struct hop_measure_op {
    struct hop_measure_row *row;
    uint32_t from, to; /* devices, by number */
    bool by_receiver;
    uint32_t slot; /* among the case's copies into `to`: they write beside each other */
    enum hop_reduce reduce;
    enum hop_type type;
};
/* Operations that start together. */
struct hop_measure_case {
    uint32_t first, count; /* in ops */
};

struct hop_measuring {
    struct hop_measure_result public; /* first: what the caller sees */
    struct hop_arena arena;
    const struct hop_measure_options *options;
    struct hop_failure failure;
    const char *devices[HOP_MEASURE_DEVICES_MAX];
    struct hop_measure_op *ops; /* one a row */
    uint32_t op_count;
    struct hop_measure_case *cases;
    uint32_t case_count;
    uint64_t sizes[HOP_MEASURE_SIZES_MAX];
    uint32_t size_count;
    struct hop_router *router;
    double *samples;
};

static inline bool hop_measuring_good(const struct hop_measuring *m)
{
    return m->failure.status == HOP_OK && !m->arena.failed;
}

/* measure_samples.c: beside a summary of which median, MAD and count are set. */
bool hop_sample_is_outlier(const struct hop_sample_summary *of, double sample);
/* measure_cases.c: fills ops and cases, or fails. */
void hop_measure_choose(struct hop_measuring *m);
/* measure_round.c: all cases, one after the other, in the order of that round. The operation of row r has index
 * index_of[r]. */
enum hop_status hop_measure_round(const struct hop_measuring *m, uint32_t round, struct hop_schedule **schedule,
                                  uint32_t *index_of, struct hop_diag *diag);
/* measure.c: from samples to rows and what they amount to; samples are there, rounds are set. */
void hop_measure_count(struct hop_measuring *m);

/* Samples in the order in which they were taken, 1 to HOP_SAMPLES_MAX: whether the medians of their two halves
 * differ by more than their intervals. Halves of fewer than 6 samples do not tell: false. */
bool hop_samples_drift(const double *samples, uint32_t count);

enum hop_level hop_route_level(const struct hop_topology *topology, const struct hop_route *route);

#endif
