/* SPDX-License-Identifier: BSD-3-Clause */
/* The routes between listed devices, as the parts of hop_symmetry_find share them. */
#ifndef HOP_SYMMETRY_SKETCH_H
#define HOP_SYMMETRY_SKETCH_H

#include "symmetry/symmetry_search.h"

/* Links and nodes that routes use, renumbered: node i is the i-th device. A directed link is 2 * link + direction. */
struct hop_symmetry_sketch {
    const struct hop_symmetry_input *input;
    uint32_t n;
    struct hop_arena arena;
    uint32_t *link_number, *node_number; /* by index in the topology; HOP_NONE: not used */
    uint32_t *link_index, *node_index;   /* the other way */
    uint32_t link_count, node_count;
    uint32_t *ends;       /* per directed link: the node that it leaves; it enters that of its reverse */
    uint32_t *first;      /* routes by pair, i * n + j: links[first[pair] .. first[pair + 1]) */
    uint32_t *links;      /* directed */
    uint32_t capacity;    /* of links */
    double *ceilings_Bps; /* by pair */

    /* maps of one permutation */
    uint32_t *link_image; /* of direction 0, directed; direction 1 goes to its reverse */
    uint32_t *node_image;
    bool *link_taken, *node_taken;

    /* for the search */
    uint64_t *exchange; /* by pair: a hash of its edges */
    uint64_t *colours;  /* by directed link */
    uint64_t *ways;     /* by pair: a hash of the colours of its route */
    uint64_t *weights;  /* by pair */
    uint32_t *needed;   /* pairs whose routes are mapped */
    uint32_t needed_count;
};

/* symmetry_weights.c: fills what is for the search; false: out of memory. */
bool hop_symmetry_weigh(struct hop_symmetry_sketch *sketch);

#endif
