/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Uncertainty: what else may hold of a machine, and what that does to an answer.
 *
 * A number is only as good as what it was told. Parameters and calibrated links have ranges (hop_parameter.low and high,
 * hop_link.low_Bps and high_Bps; meant as 90 % intervals), and more than one model can rule most links. Each is a
 * scenario: everything as told but for one parameter, or the links that were fitted together, at one end of its range;
 * or other models. An answer that is worked out again under each has a range of its own, and one that compares two
 * things is worth following where all scenarios agree.
 */
#ifndef HOPCAST_UNCERTAINTY_H
#define HOPCAST_UNCERTAINTY_H

#include "hopcast/simulate.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- scenarios ---- */

enum hop_scenario_kind {
    HOP_SCENARIO_NOMINAL, /* everything as told; always the first */
    HOP_SCENARIO_MODEL,   /* other models */
    HOP_SCENARIO_LOW,     /* the low end of a range; the high end is the next scenario */
    HOP_SCENARIO_HIGH
};

struct hop_scenario {
    enum hop_scenario_kind kind;
    const char *
        name; /* in words: "pcie + fair" (the models of the links used), "tau = 0.33", "8 pcie links such as a->b = 20 GB/s" */
    const char *models; /* as hop_network_create takes it; NULL: the defaults */
    const char
        *what; /* LOW, HIGH: the parameter, or the directed link that stands for those fitted with it; else NULL */
    const char *unit; /* of the value */
    double value;     /* that it has here; NAN without `what` */
    uint64_t max_work; /* another model: as much as a simulation under it may take (hop_simulate_options), 0: no limit */
};

struct hop_scenario_options {
    size_t size;       /* see hop_version */
    bool other_models; /* have scenarios of other models */
    bool ranges;       /* have scenarios of ranges */
    /* Ranges are tried as long as the operations of all timelines x hop_model_facts.cost, summed over all that are tried, are no more
     * than this, and what takes longer than operations usually do (1.6 us) counts as more of them; other models are asked as long as those
     * of each are no more, and together may take as long as so many (scenario.max_work). 0: 60,000, a fifth of a second. */
    uint64_t max_effort;
};

struct hop_scenarios;

/* What else may hold where these timelines were predicted, all of them by networks with the models of the first one on one
 * topology: only what can rule or change a link that one of them used. Other models are those that can rule all domains
 * used, unless they are meant for other machines (`server` is for calibrated ones) or serial, as those know no links.
 * Parameters come in the order of how much time they can cost on the links used. The topology must outlive the result;
 * the timelines need not. options may be NULL: both kinds. */
HOP_API enum hop_status hop_scenarios_find(const struct hop_timeline *const *timelines, uint32_t count,
                                           const struct hop_scenario_options *options, struct hop_scenarios **scenarios,
                                           struct hop_diag *diag);
HOP_API void hop_scenarios_destroy(struct hop_scenarios *scenarios); /* NULL is allowed */
/* By index from 0, the nominal one; NULL past the last. */
HOP_API const struct hop_scenario *hop_scenarios_at(const struct hop_scenarios *scenarios, uint32_t index);
/* These return the number of ranges that were left out for their effort, and the names of such models ("infiniband, credit", or
 * NULL if there are none). */
HOP_API uint32_t hop_scenarios_left_out(const struct hop_scenarios *scenarios);
HOP_API const char *hop_scenarios_models_left_out(const struct hop_scenarios *scenarios);
/* A network of that scenario, the caller's, to be destroyed before the scenarios. */
HOP_API enum hop_status hop_scenarios_network(struct hop_scenarios *scenarios, uint32_t index,
                                              struct hop_network **network, struct hop_diag *diag);

/* ---- the range of a time ---- */

/* What a range does to the value. */
struct hop_uncertainty_cause {
    const char *what, *unit;
    double low, high;           /* between which it lies */
    double at_low_s, at_high_s; /* the value there */
};

struct hop_uncertainty {
    double value_s;       /* as told */
    double low_s, high_s; /* nine times out of ten it lies in between, as far as the ranges are right */
    uint32_t cause_count;
    const struct hop_uncertainty_cause *causes; /* that change the value, by how much, the first most */
    bool
        contending; /* a transfer takes more than 1.1 times what it takes alone: `model_error` counts, else `model_error_alone` */
    uint32_t left_out;                  /* ranges that were not tried for their effort: the range may be wider */
    uint32_t model_count;               /* other models that were asked */
    const char *models;                 /* their names: "credit, fair" */
    double models_low_s, models_high_s; /* the least and the most that they say; NAN: there are none */
    const char *models_left_out;        /* names of those that would have taken too long; NULL: none */
};

struct hop_uncertainty_options {
    size_t size;                                 /* see hop_version */
    const struct hop_simulate_options *simulate; /* how the timeline was predicted; NULL: by default */
    uint64_t max_effort;                         /* see hop_scenario_options */
    bool ranges_only;                            /* ask no other models */
    double (*value_s)(const struct hop_timeline *timeline, void *context); /* in seconds; NULL: the makespan */
    void *context;
};

/* The range of a predicted timeline's value: each scenario of a range is simulated, and what they change is added as
 * independent relative errors are, sqrt of the sum of the squares of logarithms, either side by itself; parameter
 * `model_error`, the factor by which measured times of such machines lie off when all else is right, is one of them; where
 * no transfer slows another down it is `model_error_alone`.
 * Other models are no part of the range. options may be NULL. The caller frees it with hop_uncertainty_destroy. */
HOP_API enum hop_status hop_uncertainty_find(const struct hop_timeline *timeline,
                                             const struct hop_uncertainty_options *options,
                                             struct hop_uncertainty **uncertainty, struct hop_diag *diag);
HOP_API void hop_uncertainty_destroy(struct hop_uncertainty *uncertainty); /* NULL is allowed */

#ifdef __cplusplus
}
#endif
#endif
