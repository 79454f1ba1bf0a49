/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which observations tell most about all values: each candidate is a value that somebody will want to know, and may be observed,
 * with some noise.
 */
#ifndef HOP_CALIBRATE_DESIGN_H
#define HOP_CALIBRATE_DESIGN_H

#include "base/base.h"
#include "hopcast/topology.h"

struct hop_design {
    struct hop_arena arena;
    uint32_t count;
    double *first, *now; /* covariances of the values, count x count: before anything is chosen, with what is chosen */
    double *change;      /* of a belief that is added: how the values change */
    uint8_t *known;      /* per candidate: it is not to be chosen */
    uint32_t *chosen, chosen_count;
    double *row; /* scratch */
    /* Whether a candidate may stand among the chosen; what is chosen is valid without it. */
    bool (*allows)(const struct hop_design *d, uint32_t candidate);
    const void *context;
};

/* Room for so many candidates, all uncorrelated and certain; d->arena.failed: there was none. */
void hop_design_begin(struct hop_design *d, uint32_t count);
/* Adds a belief, which changes the values by d->change. */
void hop_design_believe(struct hop_design *d);
/* What an observation would take away from the variances of all values together. */
double hop_design_gain(const struct hop_design *d, uint32_t candidate);
/* It has been observed. */
void hop_design_take(struct hop_design *d, uint32_t candidate);
void hop_design_restart(struct hop_design *d);
/* What has been taken so far is where everything begins. */
void hop_design_keep(struct hop_design *d);
/* Chooses so many, or as many as are allowed, one after the other and then by exchange; the one that helps most comes first. unsure gets
 * hop_design_unsure after each, or may be NULL. */
void hop_design_choose(struct hop_design *d, uint32_t wanted, double *unsure);
/* The root of the mean variance of the values. */
double hop_design_unsure(const struct hop_design *d);

#endif
