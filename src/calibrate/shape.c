/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Whether two small graphs are alike. Edges are matched one after the other, each after one that it meets, so that
 * little is left to choose; a choice that fits the degrees and the ends matched so far is tried, and taken back if the
 * rest does not follow.
 */
#include "calibrate/shape.h"
#include "base/random.h"

enum { TRIES_MAX = 1000000, EDGES = HOP_PENALTY_TRANSFERS_MAX };

void hop_shape_finish(struct hop_shape *s)
{
    s->hash = hop_mix(s->count);
    for (uint32_t e = 0; e < s->count; e++) {
        uint64_t degrees = 0, parallel = 0, back = 0;
        for (uint32_t o = 0; o < s->count; o++) {
            degrees += (uint64_t)(s->from[o] == s->from[e]) << 24 | (uint64_t)(s->to[o] == s->from[e]) << 16 |
                       (uint64_t)(s->from[o] == s->to[e]) << 8 | (uint64_t)(s->to[o] == s->to[e]);
            parallel += s->from[o] == s->from[e] && s->to[o] == s->to[e];
            back += s->from[o] == s->to[e] && s->to[o] == s->from[e];
        }
        s->look[e] = hop_mix(degrees << 16 | parallel << 8 | back);
        s->hash += hop_mix(s->look[e]); /* in any order */
    }
}

struct matcher {
    const struct hop_shape *a, *b;
    uint32_t order[EDGES]; /* of a's edges: each meets one before it */
    uint32_t *match;
    bool used[EDGES];
    uint32_t tries;
};

static bool meets(const struct hop_shape *s, uint32_t x, uint32_t y)
{
    return s->from[x] == s->from[y] || s->from[x] == s->to[y] || s->to[x] == s->from[y] || s->to[x] == s->to[y];
}

/* The first edge that is not placed yet and meets one that is; the first of all where there is none. */
static uint32_t next_edge(const struct matcher *m, const bool *placed, uint32_t n)
{
    uint32_t any = HOP_NONE;
    for (uint32_t e = m->a->count; e-- > 0;)
        any = placed[e] ? any : e;
    for (uint32_t e = 0; e < m->a->count; e++) {
        for (uint32_t p = 0; p < n && !placed[e]; p++) {
            if (meets(m->a, e, m->order[p]))
                return e;
        }
    }
    return any;
}

static void put_in_order(struct matcher *m)
{
    bool placed[EDGES] = {false};
    for (uint32_t n = 0; n < m->a->count; n++) {
        m->order[n] = next_edge(m, placed, n);
        placed[m->order[n]] = true;
    }
}

/* Whether edge e of a can become edge f of b beside the first n that are matched. */
static bool fits(const struct matcher *m, uint32_t n, uint32_t e, uint32_t f)
{
    const struct hop_shape *a = m->a, *b = m->b;
    if (m->used[f] || a->look[e] != b->look[f])
        return false;
    for (uint32_t p = 0; p < n; p++) {
        uint32_t x = m->order[p], y = m->match[x];
        if ((a->from[e] == a->from[x]) != (b->from[f] == b->from[y]) ||
            (a->from[e] == a->to[x]) != (b->from[f] == b->to[y]) ||
            (a->to[e] == a->from[x]) != (b->to[f] == b->from[y]) || (a->to[e] == a->to[x]) != (b->to[f] == b->to[y]))
            return false;
    }
    return true;
}

/* Recursion as deep as a graph has edges. */
static bool match_rest(struct matcher *m, uint32_t n)
{
    if (n == m->a->count)
        return true;
    uint32_t e = m->order[n];
    for (uint32_t f = 0; f < m->b->count && m->tries <= TRIES_MAX; f++) {
        if (!fits(m, n, e, f))
            continue;
        m->tries++;
        m->match[e] = f;
        m->used[f] = true;
        if (match_rest(m, n + 1))
            return true;
        m->used[f] = false;
    }
    return false;
}

bool hop_shape_match(const struct hop_shape *a, const struct hop_shape *b, uint32_t *match, struct hop_failure *failure)
{
    struct matcher m = {.a = a, .b = b, .match = match};
    if (a->count != b->count || a->hash != b->hash)
        return false;
    put_in_order(&m);
    bool alike = match_rest(&m, 0);
    if (!alike && m.tries > TRIES_MAX)
        hop_failure_set(failure, HOP_ERR_LIMIT, "whether two graphs of %u transfers are alike is too hard to tell",
                        a->count);
    return alike;
}
