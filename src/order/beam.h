/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Beam search: states of a run side by side, level by level, a level being how many operations have started or
 * ended; of each level the best `width` states go on. Width 1 is a greedy dive; a cut at the lower bound makes it a
 * search that gives up as soon as time is lost. A state is judged by a power mean of its bounds (now + what is left
 * for a link or source): the critical ones count most, but what the others lose counts, too.
 */
#ifndef HOP_ORDER_BEAM_H
#define HOP_ORDER_BEAM_H

#include "order/sequence.h"

struct hop_beam_options {
    uint32_t width;
    /* Children of a state, where it has more; draws that are above the cut do not count, up to 10 times as many. */
    uint32_t samples;
    uint64_t seed;
    double enough; /* stop at a value that is not above this */
    double cut;    /* drop what cannot get below this */
    double spread; /* how little bounds below the largest count: the power of their mean, above 1 */
    double press;  /* the power of a bound's share that says how hard it presses */
    /* 0: where there are more choices than samples they are drawn blindly; else by how well they use the links that
     * press, with so much noise. */
    double noise;
    double jitter; /* share of the score that chance adds */
    bool rests; /* a free source may also rest */
    uint64_t max_nodes;
    bool (*poll)(void *context, uint64_t nodes); /* now and then, with the nodes since; false: stop. May be NULL */
    void *context;
};

struct hop_beam_result {
    double value; /* INFINITY: no order below the cut was found, and the sequence is as it was */
    double depth; /* how far the search came: 0 to 1 */
    uint64_t nodes;
};
enum hop_status hop_beam_search(const struct hop_problem *problem, struct hop_sets *sets,
                                const struct hop_beam_options *options, struct hop_sequence *sequence,
                                struct hop_beam_result *result, struct hop_diag *diag);

#endif
