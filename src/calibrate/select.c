/* SPDX-License-Identifier: BSD-3-Clause */
/* Which knobs the measurements ask for: of all proposals the one that takes away most cost, if it takes away enough. */
#include "calibrate/fit.h"

#include <math.h>

enum { SEEN_MAX = 4096 };
#define GAIN_MARGIN 0.02 /* of two proposals that gain as much, the first */
#define PART_LEAST 0.04  /* by which a single link's or pair's value differs from the others' */

/* A part of one link or of one pair. */
static bool is_single(const struct hop_knob *knob)
{
    return knob->parent != HOP_NONE && knob->count <= (knob->kind == HOP_KNOB_CROSSING ? 1 : 2);
}

/* What a proposal gains when it is turned to its best value, which it gets; the topology is left as it was. */
static void appraise(struct hop_fitting *f, struct hop_knob *proposal)
{
    double cost, given = proposal->value, before = hop_fit_sum(f, proposal, f->cost);
    uint32_t asking = 0, alone = 0; /* groups that it makes better; of one row */
    proposal->gain = 0;
    if (before < HOP_GAIN_LEAST)
        return;
    double best = hop_fit_search(f, proposal, &cost);
    hop_fit_costs(f, proposal, f->trial);
    for (uint32_t g = 0; g < f->groups; g++) {
        bool trace = f->expect->groups[g].trace;
        if (!hop_fit_touches(f, proposal, g) || f->trial[g] > f->cost[g] - (trace ? 1 : HOP_IMPROVED))
            continue;
        asking += trace && proposal->count > 2 ? 2 : 1; /* a trace is one run, and says too little of single links */
        alone += trace || hop_measurements_group(f->measurements, g).count == 1;
    }
    hop_knob_set(f, proposal, given);
    double gain = before - cost;
    bool limit = proposal->parent == HOP_NONE;
    bool enough = asking > 1 || (limit && gain >= HOP_GAIN_OF_ONE);
    /* A link that is wider than its siblings shows so when it has the machine to itself. */
    if (proposal->kind == HOP_KNOB_CAPACITY && is_single(proposal) && best > given)
        enough = alone > 0 && asking > 1;
    /* One link among many differs by more than what runs differ by. */
    if (is_single(proposal))
        enough = enough && asking > 2 && fabs(log(best / given)) > PART_LEAST;
    if (gain >= HOP_GAIN_LEAST && enough) {
        proposal->gain = gain;
        proposal->value = best;
    }
}

static uint64_t key_of(const struct hop_knob *knob)
{
    uint64_t hash = (uint64_t)knob->kind * 0x9e3779b97f4a7c15u;
    for (uint32_t i = 0; i < knob->count; i++)
        hash = (hash ^ knob->members[i]) * 0x100000001b3u;
    return hash;
}

/* Gains seen so far: they rarely grow, so a proposal is only appraised anew when its old gain is the largest. */
struct hop_fit_seen {
    uint64_t key;
    double gain;
};

/* NULL: there is no room for one more. */
static double *seen_gain(struct hop_fitting *f, const struct hop_knob *knob)
{
    uint64_t key = key_of(knob);
    for (uint32_t i = 0; i < f->seen_count; i++) {
        if (f->seen[i].key == key)
            return &f->seen[i].gain;
    }
    if (f->seen_count == SEEN_MAX || !HOP_GROW(&f->arena, f->seen, f->seen_count + 1))
        return NULL;
    f->seen[f->seen_count] = (struct hop_fit_seen){key, INFINITY};
    return &f->seen[f->seen_count++].gain;
}

static bool add_best_seen(struct hop_fitting *f, bool singles)
{
    uint32_t count;
    struct hop_knob *proposals = hop_knobs_propose(f, &count), *best = NULL, *next = NULL;
    do {
        double most = best ? best->gain : HOP_GAIN_LEAST;
        next = NULL;
        for (uint32_t p = 0; p < count; p++) {
            double *gain = seen_gain(f, &proposals[p]);
            if (is_single(&proposals[p]) == singles && &proposals[p] != best && proposals[p].gain == 0 && gain &&
                *gain > most) {
                most = *gain;
                next = &proposals[p];
            }
        }
        if (!next)
            break;
        appraise(f, next);
        *seen_gain(f, next) = next->gain;
        if (next->gain == 0)
            next->gain = -1; /* done with, in this round */
        else if (!best || next->gain > best->gain * (1 + GAIN_MARGIN))
            best = next;
    } while (hop_fit_good(f));
    if (best)
        hop_knobs_add(f, best);
    return best != NULL;
}

/* What many links share comes before what one does alone, and nothing is given up on the word of old gains. */
bool hop_fit_add_best(struct hop_fitting *f)
{
    for (unsigned singles = 0; singles < 2 && f->knob_count < HOP_KNOBS_MAX && hop_fit_good(f); singles++) {
        bool fresh = f->seen_count == 0;
        if (add_best_seen(f, singles))
            return true;
        if (fresh)
            continue;
        f->seen_count = 0;
        if (add_best_seen(f, singles))
            return true;
    }
    return false;
}
