/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * R-MAT: random graphs as Graph500 has them, of 2^scale vertices and degree edges for each, and what a search of one
 * level after the other moves in them, from degrees alone.
 *
 * An end of an edge is drawn bit by bit, a one with probability 0.24, so that a vertex with k ones is the end of a
 * number of edges that is Poisson's, with mean 2 degree 2^scale 0.24^k 0.76^(scale - k). Sampled, a graph is those
 * numbers, and each end meets any other end that is left with the same probability (the configuration model). That
 * leaves out what ties both ends of an edge: with a one at one end the other has a one with 0.21 instead of 0.25.
 * A level is then drawn for all vertices of a rank and of k ones at once: how many are reached, how many ends they
 * have, and of how many each rank tells their owner. No edge is made, so that the scale costs nothing.
 */
#ifndef RMAT_H
#define RMAT_H

#include <stdint.h>

struct rmat {
    uint32_t scale, degree;
    uint64_t seed;
};
struct rmat_edge {
    uint32_t ends[2];
};

uint64_t rmat_mix(uint64_t x); /* of bits */
struct rmat_edge rmat_draw(const struct rmat *graph, uint64_t number);

/* A level: edges[r]: that rank r looks at; told[r * ranks + s]: vertices of rank s that r tells it of. */
typedef void rmat_level(const double *edges, const uint64_t *told, void *context);
/* Of ranks that have `chunk` vertices each, in a row. Draws the same on every rank. The edges that were reached; 0: the
 * root has none, and no level was given; less: out of memory. */
double rmat_search(const struct rmat *graph, uint32_t ranks, uint32_t chunk, uint32_t root, rmat_level *level,
                   void *context);

#endif
