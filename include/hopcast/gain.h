/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gain: how much sooner one schedule ends than another one, under everything else that may hold of the machine as well.
 *
 * A model is an account of what links do under load, and for most machines nobody has measured which account holds, nor all
 * of its parameters. What one of them promises and another one denies is no reason to change anything. So the two
 * schedules are simulated under each model and at both ends of each range (hopcast/uncertainty.h), and the answer is a
 * range: the least and the most that is said, and whether all agree.
 *
 * Two placements of one exchange are two schedules (hop_placement_apply), as are two orders of it, or two algorithms.
 */
#ifndef HOPCAST_GAIN_H
#define HOPCAST_GAIN_H

#include "hopcast/uncertainty.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_GAIN_SAME 0.01 /* what differs by no more than this share of it is equal: models are not that exact */

enum hop_gain_verdict {
    HOP_GAIN_FASTER, /* under every case the second schedule ends sooner */
    HOP_GAIN_MAYBE,  /* under some it does, and under none it ends later */
    HOP_GAIN_EQUAL,  /* under none either ends sooner */
    HOP_GAIN_SLOWER, /* under none the second ends sooner, under one it ends later */
    HOP_GAIN_UNSURE  /* under some it ends sooner, under others later: no reliable gain */
};

struct hop_gain_range {
    enum hop_gain_verdict verdict;
    uint32_t models;  /* so many were asked; 1: the verdict rests on one model alone */
    uint32_t ranges;  /* of so many parameters or calibrated links both ends were tried, and change a time */
    uint32_t left_out; /* so many ranges were not tried for their effort */
    double low, high; /* the times of the first schedule over those of the second; NAN: it takes no time at all */
    uint32_t models_left_out; /* so many models were asked and would have taken too long */
};

struct hop_gain_case {
    struct hop_scenario scenario; /* the nominal one first, then other models, then ends of ranges */
    double before_s, after_s;
};

struct hop_gain {
    struct hop_gain_range range;
    uint32_t case_count;
    const struct hop_gain_case *cases; /* the first under the options' models */
};

struct hop_gain_options {
    size_t size;         /* see hop_version */
    const char *models;  /* of the first case, as hop_network_create takes it; NULL: the defaults */
    const struct hop_network *network; /* in their place: a network of the topology, ruled as the first case is to be */
    uint64_t max_effort; /* see hop_scenario_options; the operations are those of both schedules; 0: 600,000 */
    /* What is compared of a timeline, in seconds; NULL: its makespan. */
    double (*value_s)(const struct hop_timeline *timeline, void *context);
    void *context;
    /* Asked now and then, with the same context; true: cases that are not simulated yet are passed over, and the first one is
     * HOP_ERR_STOPPED. May be NULL. */
    bool (*stop)(void *context);
};

/* Two simulations a case: everything that hop_scenarios_find finds for both schedules; one that refuses a schedule is
 * passed over, and so is a range that changes neither time. Errors are those of the first case. options may be NULL. The caller frees the result with
 * hop_gain_destroy. */
HOP_API enum hop_status hop_gain_find(const struct hop_topology *topology, const struct hop_schedule *before,
                                      const struct hop_schedule *after, const struct hop_gain_options *options,
                                      struct hop_gain **gain, struct hop_diag *diag);
HOP_API void hop_gain_destroy(struct hop_gain *gain); /* NULL is allowed */

/* The range of one case whose times are known. */
HOP_API struct hop_gain_range hop_gain_alone(double before_s, double after_s);

/* In words: "1.20 to 1.43 times as fast, by 4 models", "perhaps 1.00 to 1.43 times as fast, by 4 models", "no reliable
 * gain: 0.91 to 1.40 times as fast, by 4 models over 6 ranges". Returns text, cut where it does not fit into `size` 112 hold all. */
HOP_API const char *hop_gain_words(const struct hop_gain_range *range, char *text, size_t size);
/* "faster", "maybe", "equal", "slower", "unsure" */
HOP_API const char *hop_gain_verdict_name(enum hop_gain_verdict verdict);

#ifdef __cplusplus
}
#endif
#endif
