/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic by rank: those that a rank exchanges something with, ascending, each once with the flows there and back.
 *
 *     flows, ascending      0>1  0>2  1>0  2>1          what a rank sends is a stretch of them already,
 *     to rank 1             0>1            2>1          what it receives is listed, ascending by sender
 */
#ifndef HOP_ASSIGN_CONGEST_ROWS_H
#define HOP_ASSIGN_CONGEST_ROWS_H

#include "base/base.h"
#include "hopcast/traffic.h"

struct hop_congest_rows {
    const struct hop_traffic_flow *flows; /* the traffic's, which must not change */
    uint32_t *first_out;                  /* ranks + 1: where the flows of a sender begin */
    uint32_t *first_in, *in;              /* those to a receiver, by number */
    uint32_t *block;
};

/* Where in a rank's row a walk is; zero to begin with. */
struct hop_congest_walk {
    uint32_t rank, outs, ins;
};

/* A flow that does not exist is NULL. */
struct hop_congest_pair {
    uint32_t other;
    const struct hop_traffic_flow *out, *in;
};

bool hop_congest_rows_make(const struct hop_traffic *traffic, struct hop_congest_rows *rows); /* false: no memory */
/* The next one in the row of walk->rank; false: there is none. */
bool hop_congest_rows_next(const struct hop_congest_rows *rows, struct hop_congest_walk *walk,
                           struct hop_congest_pair *pair);
void hop_congest_rows_finish(struct hop_congest_rows *rows);

#endif
