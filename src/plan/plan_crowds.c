/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A link that one copy cannot fill and two overfill. Of copies each of which could fill a share v of it alone,
 * 1/2 < v < 1, it moves at most q = 1/v at their pace. A second one that crosses it at once slows both down, and their
 * sources, which send one copy at a time, are kept for longer. Whichever sources G are looked at, with the seconds that
 * their copies take alone,
 *
 *     sum over G of (all copies + e x those that cross) <= (|G| + e) x time,    e = (2 - q) / (q - 1)
 *
 * At any time, with k sources of G that send over the link, the left side grows by |G| + e a second at most: with k = 0
 * by |G|; with k = 1 by |G| - 1 + (1 + e); with k >= 2 by |G| - k + (1 + e) q <= |G| - 2 + q + e q = |G| + e.
 *
 * The sources that have most to do, as many as say most, are those that bound a placement.
 */
#include "plan/plan.h"

enum { CROWDS_MOST = 16, ROWS_MOST = 256 };
#define SAME 1e-6 /* relative: shares as near as that are one */

/* What a copy could fill of a bound, 0: nothing, or its source sends several at once. */
static double share_of(const struct hop_plan_loads *l, uint32_t a, uint32_t b, uint32_t bound)
{
    const struct hop_apart_op *pair = &l->pairs[a * l->places + b];
    if (l->at_once[a] != 1 || pair->queue == HOP_NONE)
        return 0;
    for (uint32_t u = 0; u < pair->use_count; u++) {
        if (pair->uses[u].resource == bound)
            return pair->uses[u].share;
    }
    return 0;
}

/* Whether some copy of a place could fill as much as that. */
static bool fills(const struct hop_plan_loads *l, uint32_t a, uint32_t bound, double share)
{
    for (uint32_t b = 0; b < l->places; b++) {
        if (share_of(l, a, b, bound) >= share)
            return true;
    }
    return false;
}

/* The least share above one, of those that make a crowd; INFINITY: there is none. */
static double next_share(const struct hop_plan_loads *l, uint32_t bound, double above)
{
    double least = INFINITY;
    for (uint32_t pair = 0; pair < l->places * l->places; pair++) {
        double share = share_of(l, pair / l->places, pair % l->places, bound);
        least = share > above * (1 + SAME) && share < least ? share : least;
    }
    return least < 1 - SAME ? least : INFINITY;
}

static void add_crowd(struct hop_plan_loads *l, uint32_t bound, double share)
{
    uint32_t *row = hop_arena_alloc(&l->arena, (l->places + (size_t)1) * sizeof *row), count = 0;
    for (uint32_t a = 0; row && a < l->places; a++)
        row[a] = fills(l, a, bound, share) ? l->rows + count++ : HOP_NONE;
    if (count < 2 || l->rows - l->bounds + count > ROWS_MOST ||
        !HOP_GROW(&l->arena, l->crowds, l->crowd_count + (size_t)1))
        return;
    double q = 1 / share;
    l->crowds[l->crowd_count++] = (struct hop_plan_crowd){bound, l->rows, count, share, (2 - q) / (q - 1), row};
    l->rows += count;
}

/* What a copy between two places adds to its source's row. */
static void add_weights(struct hop_plan_loads *l, uint32_t pair, struct hop_plan_weight *to, uint32_t *used)
{
    const struct hop_apart_op *op = &l->pairs[pair];
    uint32_t a = pair / l->places, b = pair % l->places;
    for (uint32_t c = 0; c < l->crowd_count && op->moves_s > 0 && op->queue != HOP_NONE; c++) {
        const struct hop_plan_crowd *crowd = &l->crowds[c];
        double per_byte_s = op->moves_s / HOP_PLAN_PAIR_BYTES;
        if (crowd->row[a] == HOP_NONE)
            continue;
        bool crosses = share_of(l, a, b, crowd->bound) >= crowd->share;
        to[(*used)++] = (struct hop_plan_weight){crowd->row[a], crosses ? (1 + crowd->extra) * per_byte_s : per_byte_s,
                                                 op->latency_s};
    }
}

void hop_plan_crowds_find(struct hop_plan_loads *l)
{
    size_t squared = (size_t)l->places * l->places;
    for (uint32_t b = 0; b < l->bounds; b++) {
        for (double share = next_share(l, b, 0.5); isfinite(share); share = next_share(l, b, share)) {
            if (l->crowd_count < CROWDS_MOST && !l->arena.failed)
                add_crowd(l, b, share);
        }
    }
    if (l->crowd_count == 0 || l->arena.failed)
        return;
    struct hop_plan_weight *made =
        hop_arena_alloc(&l->arena, (l->first[squared] + squared * l->crowd_count) * sizeof *made);
    uint32_t used = 0;
    for (uint32_t pair = 0; made && pair < squared; pair++) {
        uint32_t first = l->first[pair], count = l->first[pair + 1] - first;
        memcpy(made + used, l->weights + first, count * sizeof *made);
        l->first[pair] = used;
        used += count;
        add_weights(l, pair, made, &used);
    }
    l->first[squared] = used;
    l->weights = made;
}

double hop_plan_crowded(const struct hop_plan_loads *l, const double *load)
{
    double most_s = 0;
    for (uint32_t c = 0; c < l->crowd_count; c++) {
        const struct hop_plan_crowd *crowd = &l->crowds[c];
        double sorted[ROWS_MOST], sum_s = 0;
        for (uint32_t i = 0; i < crowd->count; i++) {
            uint32_t at = i;
            for (; at > 0 && sorted[at - 1] < load[crowd->first + i]; at--)
                sorted[at] = sorted[at - 1];
            sorted[at] = load[crowd->first + i];
        }
        for (uint32_t i = 0; i < crowd->count; i++) {
            sum_s += sorted[i];
            most_s = hop_max(most_s, sum_s / (i + 1 + crowd->extra));
        }
    }
    return most_s;
}
