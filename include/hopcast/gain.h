/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Gain: how much sooner one schedule ends than another one, under every model that can rule the links that they use.
 *
 * A model is an account of what links do under load, and for most machines nobody has measured which account holds. What
 * one of them promises and another one denies is no reason to change anything. So the two schedules are simulated under
 * each, and the answer is a range: the least and the most that a model says, and whether the models agree.
 *
 * Two placements of one exchange are two schedules (hop_placement_apply), as are two orders of it, or two algorithms.
 */
#ifndef HOPCAST_GAIN_H
#define HOPCAST_GAIN_H

#include "hopcast/simulate.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_GAIN_SAME 0.01 /* what differs by no more than this share of it is equal: models are not that exact */

enum hop_gain_verdict {
    HOP_GAIN_FASTER, /* every model says that the second schedule ends sooner */
    HOP_GAIN_MAYBE,  /* some say so, and none that it ends later */
    HOP_GAIN_EQUAL,  /* none says that either ends sooner */
    HOP_GAIN_SLOWER, /* none says that the second ends sooner, one that it ends later */
    HOP_GAIN_UNSURE  /* some say that it ends sooner, others that it ends later: no reliable gain */
};

struct hop_gain_range {
    enum hop_gain_verdict verdict;
    uint32_t models;  /* so many were asked; 1: the verdict rests on one model alone */
    double low, high; /* the times of the first schedule over those of the second; NAN: it takes no time at all */
};

struct hop_gain_case {
    const char *name;   /* of the models of the links used, "pcie", "server + fair" */
    const char *models; /* as hop_network_create takes it; NULL: the defaults */
    double before_s, after_s;
};

struct hop_gain {
    struct hop_gain_range range;
    const struct hop_gain_case *cases; /* range.models of them, the first under the options' models */
};

struct hop_gain_options {
    size_t size;         /* see hop_version */
    const char *models;  /* of the first case, as hop_network_create takes it; NULL: the defaults */
    const struct hop_network *network; /* in their place: a network of the topology, ruled as the first case is to be */
    uint64_t max_effort; /* other models are asked while the operations of both schedules, packets of staged copies
                          * apart, x hop_model_facts.cost are no more than this; 0: 20,000, some tenths of a second */
    /* What is compared of a timeline, in seconds; NULL: its makespan. */
    double (*value_s)(const struct hop_timeline *timeline, void *context);
    void *context;
};

/* Two simulations a model. Which models are asked: those of the options, and each (but the serial, which knows no
 * links) that can rule a domain that a route of either schedule passes, in every such domain, unless that is a case
 * already or the model is for other machines (`server` is for calibrated ones); one that refuses the topology or a
 * schedule is passed over. Errors are those of the first case. options may be NULL. The caller frees the result with
 * hop_gain_destroy. */
HOP_API enum hop_status hop_gain_find(const struct hop_topology *topology, const struct hop_schedule *before,
                                      const struct hop_schedule *after, const struct hop_gain_options *options,
                                      struct hop_gain **gain, struct hop_diag *diag);
HOP_API void hop_gain_destroy(struct hop_gain *gain); /* NULL is allowed */

/* The range of one case whose times are known. */
HOP_API struct hop_gain_range hop_gain_alone(double before_s, double after_s);

/* In words: "1.20 to 1.43 times as fast, by 4 models", "perhaps 1.00 to 1.43 times as fast, by 4 models", "no reliable
 * gain: 0.91 to 1.40 times as fast, by 4 models". Returns text, cut where it does not fit into `size` (96 hold all). */
HOP_API const char *hop_gain_words(const struct hop_gain_range *range, char *text, size_t size);
/* "faster", "maybe", "equal", "slower", "unsure" */
HOP_API const char *hop_gain_verdict_name(enum hop_gain_verdict verdict);

#ifdef __cplusplus
}
#endif
#endif
