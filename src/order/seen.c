/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An open-addressed table of blocks,
 *
 *     [ hash | cost | left[slots] | now, if there are earliest starts | started[words] | resting, what slots carry ]
 *
 * that doubles until it may not grow any more. Shares that are left are equal within rounding; where rounding puts equal
 * ones into different places of the table, a state is looked through twice.
 */
#include "order/seen.h"

#include <math.h>

#include "base/random.h"

enum { FIRST_ROOM = 1 << 10, PROBES = 8 };
#define SAME 1e-11     /* shares of an operation, seconds; of a cost, relative */
#define STEP 1048573.7 /* of shares in a hash: none that is likely lies between two steps */

struct hop_seen {
    const struct hop_problem *problem;
    size_t numbers, plain; /* numbers to compare within rounding, and words that are equal or not */
    size_t entry, room, most_room, count;
    uint64_t *table; /* entries of so many words; hash 0: none */
    uint64_t *now;   /* the state that is asked about */
};

struct hop_seen *hop_seen_create(const struct hop_problem *p, size_t most_bytes)
{
    struct hop_seen *s = calloc(1, sizeof *s);
    if (!s)
        return NULL;
    s->problem = p;
    s->numbers = p->slot_count + (p->at_count > 0);
    s->plain = p->word_count + p->source_count / 64 + 1 + p->slot_count / 2 + 1;
    s->entry = 2 + s->numbers + s->plain;
    s->room = FIRST_ROOM;
    s->most_room = FIRST_ROOM;
    while (2 * s->most_room * s->entry * sizeof *s->table <= most_bytes)
        s->most_room *= 2;
    s->table = calloc(s->room * s->entry, sizeof *s->table);
    s->now = calloc(s->entry, sizeof *s->now);
    if (s->table && s->now)
        return s;
    hop_seen_destroy(s);
    return NULL;
}

void hop_seen_destroy(struct hop_seen *s)
{
    if (!s)
        return;
    free(s->table);
    free(s->now);
    free(s);
}

/* ---- a state in words ---- */

static double cost_of(const struct hop_problem *p, const struct hop_state *state)
{
    if (p->objective == HOP_ORDER_MEAN)
        return state->reached + (p->op_count - state->ended) * state->now_s;
    return p->objective == HOP_ORDER_MARKED && state->marked_ended == p->marked_count ? state->reached : state->now_s;
}

/* What is left in a slot: a share of its bytes, or for how long. */
static double left_in(const struct hop_problem *p, const struct hop_state *state, uint32_t slot)
{
    double left = hop_state_left(state)[slot];
    switch (hop_state_phase(p, state)[slot]) {
    case HOP_PHASE_FLOW:
        return left / p->ops[hop_state_op(p, state)[slot]].bytes;
    case HOP_PHASE_TIMED:
    case HOP_PHASE_QUEUED:
        return left - state->now_s;
    default:
        return 0;
    }
}

static void describe(struct hop_seen *s, const struct hop_state *state)
{
    const struct hop_problem *p = s->problem;
    const uint8_t *phase = hop_state_phase(p, state), *resting = hop_state_at(state, p->resting_at);
    double cost = cost_of(p, state), *left = (double *)(s->now + 2);
    uint64_t *plain = s->now + 2 + s->numbers, hash = 0;
    memcpy(&s->now[1], &cost, sizeof cost);
    memset(plain, 0, s->plain * sizeof *plain);
    memcpy(plain, hop_state_at(state, p->started_at), p->word_count * sizeof *plain);
    for (uint32_t i = 0; i < p->source_count; i++)
        plain[p->word_count + i / 64] |= (uint64_t)(resting[i] == HOP_RESTING) << (i % 64);
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        left[slot] = left_in(p, state, slot);
        uint64_t carried = phase[slot] ? (uint64_t)(hop_state_op(p, state)[slot] + 1) << 3 | phase[slot] : 0;
        plain[s->plain - 1 - slot / 2] |= carried << (slot % 2 * 32);
    }
    if (p->at_count)
        left[p->slot_count] = state->now_s;
    for (size_t i = 0; i < s->plain; i++)
        hash = hop_mix((hash ^ plain[i]) + HOP_MIX_STEP);
    for (size_t i = 0; i < s->numbers; i++)
        hash = hop_mix((hash ^ (uint64_t)(int64_t)floor(left[i] * STEP)) + HOP_MIX_STEP);
    s->now[0] = hash | 1;
}

static bool is_same(const struct hop_seen *s, const uint64_t *entry)
{
    const double *a = (const double *)(entry + 2), *b = (const double *)(s->now + 2);
    if (entry[0] != s->now[0] || memcmp(entry + 2 + s->numbers, s->now + 2 + s->numbers, s->plain * sizeof *entry) != 0)
        return false;
    for (size_t i = 0; i < s->numbers; i++) {
        if (fabs(a[i] - b[i]) > SAME)
            return false;
    }
    return true;
}

/* ---- the table ---- */

static uint64_t *entry_at(const struct hop_seen *s, uint64_t hash, size_t probe)
{
    return s->table + (((size_t)(hash >> 1) + probe) & (s->room - 1)) * s->entry;
}

/* Where it may not grow, or has too many neighbours, the last probe gives way. */
static void put(struct hop_seen *s, const uint64_t *entry)
{
    size_t probe = 0;
    while (probe + 1 < PROBES && entry_at(s, entry[0], probe)[0])
        probe++;
    s->count += entry_at(s, entry[0], probe)[0] == 0;
    memcpy(entry_at(s, entry[0], probe), entry, s->entry * sizeof *entry);
}

static void widen(struct hop_seen *s)
{
    uint64_t *old = s->table, *table = calloc(2 * s->room * s->entry, sizeof *table);
    if (!table) { /* it does without */
        s->most_room = s->room;
        return;
    }
    s->table = table;
    s->room *= 2;
    s->count = 0;
    for (size_t i = 0; i < s->room / 2; i++) {
        if (old[i * s->entry])
            put(s, old + i * s->entry);
    }
    free(old);
}

bool hop_seen_before(struct hop_seen *s, const struct hop_state *state)
{
    describe(s, state);
    for (size_t probe = 0; probe < PROBES; probe++) {
        uint64_t *entry = entry_at(s, s->now[0], probe);
        if (!entry[0])
            break;
        if (!is_same(s, entry))
            continue;
        double cost, was;
        memcpy(&cost, &s->now[1], sizeof cost);
        memcpy(&was, &entry[1], sizeof was);
        if (was <= cost * (1 + SAME))
            return true;
        entry[1] = s->now[1];
        return false;
    }
    if (s->count > s->room / 2 && s->room < s->most_room)
        widen(s);
    put(s, s->now);
    return false;
}
