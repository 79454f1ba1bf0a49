/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Refining two sides of a graph: vertices change sides one after another, each at most once, the one that gains most
 * first and even where it loses; of all states on the way the best one stays (Fiduccia and Mattheyses 1982).
 *
 *     cost = weight between the sides + bias of those on side 1
 */
#ifndef HOP_ASSIGN_REFINE_H
#define HOP_ASSIGN_REFINE_H

#include "base/base.h"

struct hop_refine_graph {
    uint32_t count;
    const uint32_t *first, *to; /* as in struct hop_graph, but rows need no order */
    const double *weight;
    const uint32_t *size;
    const double *bias;
};

struct hop_refine {
    const struct hop_refine_graph *graph;
    uint32_t low, high; /* of side 0 */
    uint32_t total;     /* size of all */
    uint32_t slack;     /* allowed beside low and high: coarse vertices do not fit exactly */
    uint32_t size[2];
    double cost;
    uint8_t *side;     /* the caller's */
    double *gain;      /* of a vertex, by changing sides */
    uint32_t *heap[2]; /* those that may still change, by side; the largest gain first */
    uint32_t length[2];
    uint32_t *slot;  /* of a vertex in its heap; HOP_NONE: it has changed sides */
    uint32_t *moved; /* in their order */
    uint32_t move_count;
    bool (*goes_on)(void *context); /* asked after every pass: whether to do another; NULL: it does */
    void *context;
};

/* Arrays for graphs of up to count vertices. false: out of memory. */
bool hop_refine_create(struct hop_refine *refine, uint32_t count, uint32_t low, uint32_t high, struct hop_arena *arena);
void hop_refine_use(struct hop_refine *refine, const struct hop_refine_graph *graph);

/* Sides to begin with; nobody has changed yet. */
void hop_refine_start(struct hop_refine *refine, uint8_t *side);
/* Who gains most by leaving a side, or HOP_NONE. */
uint32_t hop_refine_top(const struct hop_refine *refine, int side);
void hop_refine_move(struct hop_refine *refine, uint32_t vertex);
/* Passes as long as they help; returns the cost. Sizes that do not hold are mended first. */
double hop_refine_passes(struct hop_refine *refine, uint8_t *side);

#endif
