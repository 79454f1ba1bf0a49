/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Twins: two places that may be swapped, all others staying where they are, so that no distance, no room and nothing
 * about who may be where changes. Of twins that are free only the first one needs trying.
 */
#ifndef HOP_ASSIGN_TWINS_H
#define HOP_ASSIGN_TWINS_H

#include "assign/assign.h"

/* Of few places, by their distances: the first of its twins, itself among them. */
void hop_twins_find(const struct hop_assign *problem, uint8_t *twin);
/* The first twin of each place that is free; a taken one is its own. Sets are masks. */
void hop_twins_first(const uint8_t *twin, uint32_t count, uint32_t taken, uint8_t *first);

#endif
