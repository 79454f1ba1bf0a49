/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Penalties of a contention graph. With D+ and D- the out- and in-degrees, e = (s, d), C(e) the edges into d from other
 * sources:
 *
 *     K(s)   = sum over the edges e' out of s, and e'' in C(e'), of 1 / D+(source of e'')
 *     e is free if C(e) is empty, or D-(d) <= D+(s) and every source into d has out-degree D+(s)
 *     D+(s) >= 2:  D+(s), and + K(s) if an edge of s is not free
 *     D+(s) == 1:  1 if free; 1 + K(s) if a rival's source has out-degree 1;
 *                  else 1 + 1/(R - 1), R the largest penalty of the rivals
 *
 * Edges are first merged by their ends. With W(d) the sum of 1/D+ over all edges into d, an edge that stands m times
 * adds m (W(d) - m/D+(s)) to K(s). Sums are exact fractions as long as their denominators fit 63 bits, so that cutting
 * R to a whole number does not depend on rounding or on the order of the edges.
 */
#include "model/penalty.h"

#include <math.h>

/* numerator/denominator + rest: rest holds what did not fit. */
struct fraction {
    int64_t numerator, denominator;
    double rest;
};

struct vertex {
    uint32_t out, in;        /* transfers */
    uint32_t single;         /* transfers in from sources that send nothing else */
    uint32_t least, most;    /* out-degrees of the sources into it */
    struct fraction weight;  /* W */
    struct fraction penalty; /* of the transfers out of it, if there are several */
    double worst;            /* R, of the transfers into it from sources of several; and cut */
    double worst_cut;
    bool contended; /* an edge out of it is not free */
};

struct hop_penalties {
    struct hop_arena *arena;
    struct vertex *vertices;
    struct merged {
        uint32_t from, to, count;
    } * merged;
};

struct hop_penalties *hop_penalties_create(uint32_t vertices, struct hop_arena *arena)
{
    struct hop_penalties *made = hop_arena_alloc(arena, sizeof *made);
    if (!made)
        return NULL;
    made->arena = arena;
    made->vertices = hop_arena_alloc(arena, ((size_t)vertices + 1) * sizeof *made->vertices);
    return made->vertices ? made : NULL;
}

/* ---- fractions ---- */

static int64_t common_divisor(int64_t a, int64_t b)
{
    while (b != 0) {
        int64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a < 0 ? -a : a;
}

/* sum += times * (numerator/denominator) */
static void add(struct fraction *sum, int64_t times, int64_t numerator, int64_t denominator)
{
    int64_t divisor = common_divisor(sum->denominator, denominator), scale = denominator / divisor, a, b, whole;
    if (__builtin_mul_overflow(sum->denominator, scale, &whole) || __builtin_mul_overflow(sum->numerator, scale, &a) ||
        __builtin_mul_overflow(times, numerator, &b) || __builtin_mul_overflow(b, sum->denominator / divisor, &b) ||
        __builtin_add_overflow(a, b, &a)) {
        sum->rest += (double)times * (double)numerator / (double)denominator;
        return;
    }
    divisor = common_divisor(a, whole);
    sum->numerator = a / divisor;
    sum->denominator = whole / divisor;
}

static double value(const struct fraction *f)
{
    return (double)f->numerator / (double)f->denominator + f->rest;
}

static double cut(const struct fraction *f)
{
    return f->rest == 0 ? (double)(f->numerator / f->denominator) : floor(value(f) + 1e-9);
}

/* ---- the graph ---- */

static int by_ends(const void *a, const void *b)
{
    const struct merged *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    return x->to < y->to ? -1 : x->to > y->to;
}

/* Entries of the same ends become one; returns how many are left. */
static uint32_t merge(struct merged *merged, const struct hop_edge *edges, uint32_t count)
{
    uint32_t kept = 0;
    for (uint32_t e = 0; e < count; e++)
        merged[e] = (struct merged){edges[e].from, edges[e].to, edges[e].count};
    qsort(merged, count, sizeof *merged, by_ends);
    for (uint32_t e = 0; e < count; e++) {
        if (kept && by_ends(&merged[kept - 1], &merged[e]) == 0)
            merged[kept - 1].count += merged[e].count;
        else
            merged[kept++] = merged[e];
    }
    return kept;
}

static void count_degrees(struct vertex *v, const struct merged *edges, uint32_t count)
{
    for (uint32_t e = 0; e < count; e++)
        v[edges[e].from] = v[edges[e].to] =
            (struct vertex){.least = UINT32_MAX, .weight = {.denominator = 1}, .penalty = {.denominator = 1}};
    for (uint32_t e = 0; e < count; e++) {
        v[edges[e].from].out += edges[e].count;
        v[edges[e].from].penalty.numerator += edges[e].count;
        v[edges[e].to].in += edges[e].count;
    }
    for (uint32_t e = 0; e < count; e++) {
        uint32_t out = v[edges[e].from].out;
        struct vertex *to = &v[edges[e].to];
        to->least = out < to->least ? out : to->least;
        to->most = out > to->most ? out : to->most;
        to->single += out == 1;
        add(&to->weight, 1, edges[e].count, out);
    }
}

static bool is_free(const struct vertex *from, const struct vertex *to, uint32_t count)
{
    return to->in == count || (to->in <= from->out && to->least == to->most);
}

/* D+ + K of every source, D+ where all its edges are free; and the largest that comes into a vertex. */
static void weigh_sources(struct vertex *v, const struct merged *edges, uint32_t count)
{
    for (uint32_t e = 0; e < count; e++) {
        struct vertex *from = &v[edges[e].from];
        const struct vertex *to = &v[edges[e].to];
        int64_t many = edges[e].count;
        from->contended = from->contended || !is_free(from, to, edges[e].count);
        add(&from->penalty, many, to->weight.numerator, to->weight.denominator);
        from->penalty.rest += (double)many * to->weight.rest;
        add(&from->penalty, -many, many, from->out);
    }
    for (uint32_t e = 0; e < count; e++) {
        struct vertex *from = &v[edges[e].from];
        if (!from->contended)
            from->penalty = (struct fraction){from->out, 1, 0};
    }
    for (uint32_t e = 0; e < count; e++) {
        const struct vertex *from = &v[edges[e].from];
        struct vertex *to = &v[edges[e].to];
        if (from->out < 2)
            continue;
        to->worst = fmax(to->worst, value(&from->penalty));
        to->worst_cut = fmax(to->worst_cut, cut(&from->penalty));
    }
}

bool hop_penalties_of(struct hop_penalties *penalties, const struct hop_edge *edges, uint32_t count,
                      enum hop_penalty_reading reading, double *penalty)
{
    struct vertex *v = penalties->vertices;
    if (!HOP_GROW(penalties->arena, penalties->merged, count))
        return false;
    uint32_t distinct = merge(penalties->merged, edges, count);
    count_degrees(v, penalties->merged, distinct);
    weigh_sources(v, penalties->merged, distinct);
    for (uint32_t e = 0; e < count; e++) {
        const struct vertex *from = &v[edges[e].from], *to = &v[edges[e].to];
        if (from->out == 1 && from->contended && to->single == 1)
            penalty[e] = 1 + 1 / ((reading == HOP_PENALTY_FLOOR ? to->worst_cut : to->worst) - 1);
        else
            penalty[e] = value(&from->penalty);
    }
    return true;
}

uint32_t hop_penalties_out_degree(const struct hop_penalties *penalties, uint32_t vertex)
{
    return penalties->vertices[vertex].out;
}
