/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic by rank: those that a rank exchanges something with, ascending, each once with the flows there and back. */
#ifndef HOP_ASSIGN_TRAFFIC_ROWS_H
#define HOP_ASSIGN_TRAFFIC_ROWS_H

#include "base/base.h"
#include "hopcast/traffic.h"

/* A flow that does not exist is NULL. */
struct hop_traffic_pair {
    uint32_t other;
    const struct hop_traffic_flow *out, *in; /* the traffic's, which must not change */
};

struct hop_traffic_rows {
    uint32_t *first; /* ranks + 1: where a rank's pairs begin */
    struct hop_traffic_pair *pairs;
};

bool hop_traffic_rows_make(const struct hop_traffic *traffic, struct hop_traffic_rows *rows,
                           struct hop_arena *arena); /* false: no memory */

#endif
