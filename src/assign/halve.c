/* SPDX-License-Identifier: BSD-3-Clause */
/* Growth first; a cut where it finds no step. */
#include "assign/halve.h"

#include <math.h>

#include "assign/bisect.h"

enum {
    NEIGHBOURS = 6,      /* as in a three-dimensional grid: who is as near as so many is near */
    MOST_NEIGHBOURS = 32 /* on average, and no more than half of all; else everybody is near everybody */
};
#define STEP 0.1    /* of the least distance: less is no level's end */
#define WINDOW 0.34 /* a half has at least (1 - this) / 2 of the room if a level ends there */

static double between(const struct hop_units *u, uint32_t a, uint32_t b)
{
    return a == b ? 0 : u->table[(size_t)u->which[a] * u->stride + u->which[b]];
}

static void exchange_units(struct hop_units *u, uint32_t a, uint32_t b)
{
    uint32_t which = u->which[a];
    uint64_t room = u->room[a];
    double sum = u->sum[a], near = u->near[a];
    u->which[a] = u->which[b];
    u->room[a] = u->room[b];
    u->sum[a] = u->sum[b];
    u->near[a] = u->near[b];
    u->which[b] = which;
    u->room[b] = room;
    u->sum[b] = sum;
    u->near[b] = near;
}

static uint32_t farthest(const struct hop_units *u)
{
    uint32_t far = 0;
    double most = -1;
    for (uint32_t a = 0; a < u->count; a++) {
        double sum = 0;
        for (uint32_t b = 0; b < u->count; b++)
            sum += between(u, a, b);
        if (sum > most) {
            most = sum;
            far = a;
        }
    }
    return far;
}

/* Puts the units into the order of growth; near[k]: distance of the k-th to the nearest of those before. */
static void grow(struct hop_units *u)
{
    exchange_units(u, 0, farthest(u));
    for (uint32_t a = 0; a < u->count; a++) {
        u->sum[a] = 0;
        u->near[a] = INFINITY;
    }
    for (uint32_t k = 1; k < u->count; k++) {
        uint32_t next = k;
        for (uint32_t a = k; a < u->count; a++) {
            double distance = between(u, k - 1, a);
            u->sum[a] += distance;
            u->near[a] = hop_min(u->near[a], distance);
            if (u->sum[a] < u->sum[next] || (u->sum[a] == u->sum[next] && u->which[a] < u->which[next]))
                next = a;
        }
        exchange_units(u, k, next);
    }
}

/* Where the first half ends: at the largest step between a third and two thirds of the room, or in the middle. */
static uint32_t find_step(const struct hop_units *u, bool *found)
{
    double total = 0, before = 0, best = -INFINITY, least = INFINITY, farthest_near = 0;
    uint32_t at = 1;
    for (uint32_t k = 0; k < u->count; k++) {
        total += (double)u->room[k];
        least = k > 0 ? hop_min(least, u->near[k]) : least;
        farthest_near = k > 0 ? hop_max(farthest_near, u->near[k]) : 0;
    }
    for (uint32_t k = 1; k < u->count; k++) {
        before += (double)u->room[k - 1];
        double off = fabs(before / total - 0.5) * 2;
        bool ends = off <= WINDOW && u->near[k] > (1 + STEP) * least;
        double score = ends ? 1 + u->near[k] / farthest_near - off / 2 : -off;
        if (score > best + 1e-9) {
            best = score;
            at = k;
            *found = ends;
        }
    }
    return at;
}

/* ---- cutting ---- */

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* How far it is to the few nearest, of a unit in the middle; u->near and u->sum are overwritten. */
static double reach(const struct hop_units *u)
{
    for (uint32_t a = 0; a < u->count; a++) {
        for (uint32_t b = 0; b < u->count; b++)
            u->near[b] = between(u, a, b);
        qsort(u->near, u->count, sizeof *u->near, ascending);
        u->sum[a] = u->near[NEIGHBOURS];
    }
    qsort(u->sum, u->count, sizeof *u->sum, ascending);
    return u->sum[u->count / 2] * (1 + 1e-9);
}

/* Edges between those within reach, the nearer the heavier; none of them where too many are. */
static struct hop_graph near_graph(const struct hop_units *u, double distance)
{
    size_t limit = (size_t)u->count * (u->count < 2 * MOST_NEIGHBOURS ? u->count / 2 : MOST_NEIGHBOURS);
    uint32_t *first = hop_arena_alloc(u->arena, ((size_t)u->count + 1) * sizeof *first), end = 0;
    uint32_t *to = hop_arena_alloc(u->arena, limit * sizeof *to);
    double *weight = hop_arena_alloc(u->arena, limit * sizeof *weight);
    for (uint32_t a = 0; a < u->count && !u->arena->failed; a++) {
        for (uint32_t b = 0; b < u->count; b++) {
            double length = between(u, a, b);
            if (a == b || length > distance)
                continue;
            if (end == limit)
                return (struct hop_graph){0};
            to[end] = b;
            weight[end++] = length > 0 ? distance * distance / (length * length) : 1e6;
        }
        first[a + 1] = end;
    }
    return (struct hop_graph){.count = u->arena->failed ? 0 : u->count, .first = first, .to = to, .weight = weight};
}

/* Those of side 0 first, each side in its order. */
static uint32_t put_in_order(struct hop_units *u, const uint8_t *side, uint32_t *work, uint64_t *room)
{
    uint32_t end = 0, half = 0;
    for (int s = 0; s < 2; s++) {
        for (uint32_t k = 0; k < u->count; k++) {
            if (side[k] == s) {
                work[end] = u->which[k];
                room[end++] = u->room[k];
                half += s == 0;
            }
        }
    }
    memcpy(u->which, work, u->count * sizeof *work);
    memcpy(u->room, room, u->count * sizeof *room);
    return half;
}

/* The graph of near units, in the middle; the order of growth stays where there is no such graph. 0: out of memory. */
static uint32_t cut(struct hop_units *u, uint32_t middle)
{
    struct hop_arena work = {0};
    uint32_t end = middle;
    uint64_t rng = u->count;
    hop_arena_reset(u->arena);
    struct hop_graph graph = near_graph(u, reach(u));
    uint8_t *side = hop_arena_alloc(u->arena, u->count);
    uint32_t *which = hop_arena_alloc(u->arena, u->count * sizeof *which);
    uint64_t *room = hop_arena_alloc(u->arena, u->count * sizeof *room);
    double *bias = hop_arena_alloc(u->arena, u->count * sizeof *bias);
    const struct hop_bisect input = {
        .graph = &graph, .bias = bias, .low = middle, .high = middle, .rng = &rng, .arena = &work};
    if (u->arena->failed || (graph.count > 0 && !hop_bisect(&input, side)))
        end = 0;
    else if (graph.count > 0)
        end = put_in_order(u, side, which, room);
    hop_arena_finish(&work);
    return end;
}

/* Mean distance across, less the mean within. */
static double apart(const struct hop_units *u, uint32_t end)
{
    double across = 0, within = 0;
    size_t pairs = 0;
    for (uint32_t a = 0; a < u->count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            bool same = (a < end) == (b < end);
            pairs += same;
            *(same ? &within : &across) += between(u, a, b);
        }
    }
    across /= (double)end * (u->count - end);
    return hop_max(across - (pairs ? within / (double)pairs : 0), 1e-3 * across);
}

uint32_t hop_units_halve(struct hop_units *u)
{
    bool step = false;
    grow(u);
    uint32_t end = find_step(u, &step);
    if (!step && u->count > NEIGHBOURS + 1)
        end = cut(u, end);
    u->apart = end > 0 ? apart(u, end) : 0;
    return end;
}
