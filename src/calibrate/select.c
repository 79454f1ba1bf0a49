/* SPDX-License-Identifier: BSD-3-Clause */
/* Which knobs the measurements ask for: of all proposals the one that takes away most cost, if it takes away enough. */
#include "calibrate/fit.h"

#include <math.h>

#define GAIN_MARGIN 0.02 /* of two proposals that gain as much, the first */
#define PART_LEAST 0.04  /* by which a single link's or pair's value differs from the others' */

/* A part of one link or of one pair. */
static bool is_single(const struct hop_knob *knob)
{
    return knob->parent != HOP_NONE && knob->count <= (knob->kind == HOP_KNOB_CROSSING ? 1 : 2);
}

/* What a proposal gains when it is turned to its best value, which it gets; the topology is left as it was. */
static enum hop_status appraise(struct hop_fitting *f, struct hop_knob *proposal, struct hop_diag *diag)
{
    double best, cost, given = proposal->value, before = hop_fit_sum(f, proposal, f->cost);
    uint32_t asking = 0, alone = 0; /* groups that it makes better; of one row */
    proposal->gain = 0;
    if (before < HOP_GAIN_LEAST)
        return HOP_OK;
    enum hop_status status = hop_fit_search(f, proposal, &best, &cost, diag);
    if (status == HOP_OK)
        status = hop_fit_costs(f, proposal, f->trial, diag);
    for (uint32_t g = 0; g < f->groups && status == HOP_OK; g++) {
        bool trace = f->expect->groups[g].trace;
        if (!hop_fit_touches(f, proposal, g) || f->trial[g] > f->cost[g] - (trace ? 1 : HOP_IMPROVED))
            continue;
        asking += trace && proposal->count > 2 ? 2 : 1; /* a trace is one run, and says too little of single links */
        alone += trace || hop_measurements_group(f->measurements, g).count == 1;
    }
    if (status == HOP_OK)
        status = hop_knob_set(f, proposal, given, diag);
    double gain = before - cost;
    bool limit = proposal->parent == HOP_NONE;
    bool enough = asking > 1 || (limit && gain >= HOP_GAIN_OF_ONE);
    /* A link that is wider than its siblings shows so when it has the machine to itself. */
    if (proposal->kind == HOP_KNOB_CAPACITY && is_single(proposal) && best > given)
        enough = alone > 0 && asking > 1;
    /* One link among many differs by more than what runs differ by. */
    if (is_single(proposal))
        enough = enough && asking > 2 && fabs(log(best / given)) > PART_LEAST;
    if (status == HOP_OK && gain >= HOP_GAIN_LEAST && enough) {
        proposal->gain = gain;
        proposal->value = best;
    }
    return status;
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
    struct {
        uint64_t key;
        double gain;
    } list[4096];
    uint32_t count;
};

static double *seen_gain(struct hop_fit_seen *seen, const struct hop_knob *knob)
{
    uint64_t key = key_of(knob);
    for (uint32_t i = 0; i < seen->count; i++) {
        if (seen->list[i].key == key)
            return &seen->list[i].gain;
    }
    if (seen->count == HOP_COUNT(seen->list))
        return NULL;
    seen->list[seen->count].key = key;
    seen->list[seen->count].gain = INFINITY;
    return &seen->list[seen->count++].gain;
}

static enum hop_status add_best_seen(struct hop_fitting *f, struct hop_fit_seen *seen, bool singles, bool *added,
                                     struct hop_diag *diag)
{
    struct hop_knob *proposals, *best = NULL;
    uint32_t count;
    enum hop_status status = hop_knobs_propose(f, &proposals, &count, diag);
    *added = false;
    while (status == HOP_OK) {
        struct hop_knob *next = NULL;
        double most = best ? best->gain : HOP_GAIN_LEAST;
        for (uint32_t p = 0; p < count; p++) {
            double *gain = seen_gain(seen, &proposals[p]);
            if (is_single(&proposals[p]) == singles && &proposals[p] != best && proposals[p].gain == 0 && gain &&
                *gain > most) {
                most = *gain;
                next = &proposals[p];
            }
        }
        if (!next)
            break;
        status = appraise(f, next, diag);
        *seen_gain(seen, next) = next->gain;
        if (next->gain == 0)
            next->gain = -1; /* done with, in this round */
        else if (!best || next->gain > best->gain * (1 + GAIN_MARGIN))
            best = next;
    }
    if (status != HOP_OK || !best)
        return status;
    *added = true;
    return hop_knobs_add(f, best, diag);
}

/* What many links share comes before what one does alone, and nothing is given up on the word of old gains. */
enum hop_status hop_fit_add_best(struct hop_fitting *f, struct hop_fit_seen *seen, bool *added, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    *added = false;
    for (unsigned singles = 0; singles < 2 && status == HOP_OK && !*added; singles++) {
        bool fresh = seen->count == 0;
        status = add_best_seen(f, seen, singles, added, diag);
        if (status == HOP_OK && !*added && !fresh) {
            seen->count = 0;
            status = add_best_seen(f, seen, singles, added, diag);
        }
    }
    return status;
}

struct hop_fit_seen *hop_fit_seen_create(void)
{
    return calloc(1, sizeof(struct hop_fit_seen));
}
