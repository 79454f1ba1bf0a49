/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shapes: small connected directed multigraphs, alike if one becomes the other by renaming nodes.
 */
#ifndef HOP_CALIBRATE_SHAPE_H
#define HOP_CALIBRATE_SHAPE_H

#include "base/base.h"
#include "hopcast/calibrate.h"

struct hop_shape {
    uint32_t count; /* edges, at most HOP_PENALTY_TRANSFERS_MAX */
    uint32_t from[HOP_PENALTY_TRANSFERS_MAX], to[HOP_PENALTY_TRANSFERS_MAX]; /* any numbers */
    uint64_t hash;                                                           /* the same for shapes that are alike */
    uint64_t look[HOP_PENALTY_TRANSFERS_MAX];                                /* of an edge: the degrees at its ends */
};

/* After count, from and to. */
void hop_shape_finish(struct hop_shape *shape);
/* Whether two shapes are alike; then match[i] is the edge of b that edge i of a becomes. Too hard to tell is a failure. */
bool hop_shape_match(const struct hop_shape *a, const struct hop_shape *b, uint32_t *match,
                     struct hop_failure *failure);

#endif
