/* SPDX-License-Identifier: BSD-3-Clause */
/* Improving an order by small changes. */
#include "order/improve.h"

#include <math.h>

#include "base/random.h"

enum { POLL_NODES = 256, NEAR = 4 /* a wait is for one of so many next ends */ };
#define MEMORY_LIMIT ((size_t)256 << 20) /* of the states */

struct change { /* of one source: its sends from `first` on, and one wait */
    uint32_t source, first, count;
    uint32_t waiter, after; /* HOP_NONE: no wait changes */
};

struct hop_improver {
    const struct hop_problem *p;
    struct hop_sets *sets;
    const struct hop_improve_options *options;
    struct hop_arena arena;
    struct hop_sequence in_hand, best;
    double value, best_value;
    char *states; /* at every event of the order in hand, each with the places of all sources behind it */
    size_t state_room;
    uint32_t event_limit;
    uint32_t *looked_at;     /* per place in the order: the event when its send was first looked at */
    double *start_s, *end_s; /* per operation, of the order in hand */
    uint32_t *by_end;        /* operations in the order of their ends */
    uint32_t ended;
    struct hop_state *play;
    uint32_t *next; /* per source, behind the state */
    uint32_t *kept; /* what a change changed */
    uint64_t rng, nodes, polled;
    bool over; /* good enough, or told to stop */
    enum hop_status status;
};

/* ---- playing ---- */

/* Every source takes its next send, or rests while that one waits. */
static void choose(struct hop_improver *m, bool record, uint32_t event)
{
    const struct hop_problem *p = m->p;
    for (uint32_t s; (s = hop_state_choice(p, m->play)) != HOP_NONE;) {
        uint32_t place = p->sources[s].first + m->next[s], op = m->in_hand.order[place], after = m->in_hand.after[op];
        if (record && m->looked_at[place] == HOP_NONE)
            m->looked_at[place] = event;
        if (after != HOP_NONE && !hop_state_ended(p, m->play, after)) {
            hop_state_rest(p, m->play, s);
            continue;
        }
        if (record)
            m->start_s[op] = m->play->now_s;
        hop_state_take(p, m->play, op);
        m->next[s]++;
    }
}

/* Plays on from the state in hand; INFINITY when the value would not be below the limit. */
static double play_on(struct hop_improver *m, uint32_t event, bool record, double limit)
{
    const struct hop_problem *p = m->p;
    for (enum hop_advanced advanced = HOP_ADVANCED; advanced == HOP_ADVANCED;) {
        if (record) {
            if (event >= m->event_limit) {
                m->status = HOP_ERR_LIMIT;
                return INFINITY;
            }
            memcpy(m->states + event * m->state_room, m->play, m->state_room);
        }
        choose(m, record, event++);
        if (!record && hop_state_bound(p, m->play) >= limit)
            return INFINITY;
        advanced = hop_state_advance(p, m->sets, m->play);
        m->nodes++;
        for (uint32_t slot = 0; record && slot < p->slot_count; slot++) {
            uint32_t op = hop_state_op(p, m->play)[slot];
            if (op != HOP_NONE && hop_state_ended(p, m->play, op) && isinf(m->end_s[op])) {
                m->end_s[op] = m->play->now_s;
                m->by_end[m->ended++] = op;
            }
        }
        if (advanced == HOP_ADVANCED_FAILED)
            m->status = HOP_ERR_UNSUPPORTED;
        if (advanced == HOP_ADVANCED_END)
            return hop_state_value(p, m->play);
    }
    return INFINITY;
}

/* Plays the order in hand and records everything. */
static bool record(struct hop_improver *m)
{
    const struct hop_problem *p = m->p;
    memset(m->looked_at, 0xff, p->op_count * sizeof *m->looked_at);
    for (uint32_t op = 0; op < p->op_count; op++)
        m->start_s[op] = m->end_s[op] = INFINITY;
    m->ended = 0;
    hop_state_begin(p, m->play);
    memset(m->next, 0, p->source_count * sizeof *m->next);
    m->value = play_on(m, 0, true, INFINITY);
    return m->value < INFINITY;
}

/* ---- changes ---- */

/* An operation of another source that ends soon after the time: one worth waiting for. */
static uint32_t next_end(struct hop_improver *m, uint32_t op)
{
    uint32_t low = 0, high = m->ended;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (m->end_s[m->by_end[middle]] <= m->start_s[op])
            low = middle + 1;
        else
            high = middle;
    }
    low += hop_draw_below(&m->rng, NEAR);
    if (low >= m->ended || m->p->ops[m->by_end[low]].source == m->p->ops[op].source)
        return HOP_NONE;
    return m->by_end[low];
}

/* Makes a change; false: it changes nothing. What was there is in m->kept. */
static bool make_change(struct hop_improver *m, struct change *change)
{
    const struct hop_problem *p = m->p;
    uint32_t at = hop_draw_below(&m->rng, p->op_count), source = p->ops[at].source, kind = hop_draw_below(&m->rng, 8);
    if (source == HOP_NONE)
        return false;
    const struct hop_problem_source *s = &p->sources[source];
    uint32_t *order = m->in_hand.order + s->first;
    uint32_t i = hop_draw_below(&m->rng, s->count), j = hop_draw_below(&m->rng, s->count);
    *change = (struct change){source, 0, s->count, HOP_NONE, HOP_NONE};
    memcpy(m->kept, order, s->count * sizeof *order);
    if (kind < 2 && !m->options->no_waits) { /* a wait comes, goes or becomes another */
        uint32_t op = order[i], after = m->in_hand.after[op] != HOP_NONE && kind == 0 ? HOP_NONE : next_end(m, op);
        if (after == m->in_hand.after[op])
            return false;
        change->waiter = op;
        change->after = m->in_hand.after[op];
        change->first = i;
        m->in_hand.after[op] = after;
        return true;
    }
    if (i == j)
        return false;
    change->first = i < j ? i : j;
    uint32_t op = order[i];
    if (kind < 5) {
        order[i] = order[j];
        order[j] = op;
    } else if (i < j) {
        memmove(order + i, order + i + 1, (j - i) * sizeof *order);
        order[j] = op;
    } else {
        memmove(order + j + 1, order + j, (i - j) * sizeof *order);
        order[j] = op;
    }
    if (kind % 2 && m->in_hand.after[op] != HOP_NONE) { /* it leaves its wait behind */
        change->waiter = op;
        change->after = m->in_hand.after[op];
        m->in_hand.after[op] = HOP_NONE;
    }
    return true;
}

static void take_back(struct hop_improver *m, const struct change *change)
{
    memcpy(m->in_hand.order + m->p->sources[change->source].first, m->kept, change->count * sizeof *m->kept);
    if (change->waiter != HOP_NONE)
        m->in_hand.after[change->waiter] = change->after;
}

static void try_change(struct hop_improver *m, double temperature)
{
    struct change change;
    double limit = m->value * (1 - temperature * log(1 - hop_draw_unit(&m->rng)));
    m->nodes++; /* so that changes of nothing come to an end, too */
    if (!make_change(m, &change))
        return;
    uint32_t event = m->looked_at[m->p->sources[change.source].first + change.first];
    if (event == HOP_NONE) {
        take_back(m, &change);
        return;
    }
    memcpy(m->play, m->states + event * m->state_room, m->state_room);
    if (!(play_on(m, event, false, limit) < limit) || m->status != HOP_OK || !record(m)) {
        take_back(m, &change);
        return;
    }
    if (m->value < m->best_value) {
        m->best_value = m->value;
        hop_sequence_copy(m->p, &m->in_hand, &m->best);
        m->over = m->best_value <= m->options->enough;
    }
}

/* ---- the search ---- */

static enum hop_status create(struct hop_improver *m, struct hop_diag *diag)
{
    const struct hop_problem *p = m->p;
    size_t ops = (size_t)p->op_count + 1;
    m->state_room = (p->state_size + p->source_count * sizeof *m->next + 63) & ~(size_t)63;
    m->event_limit = 3 * p->op_count + p->at_count + 2;
    if (m->event_limit * m->state_room > MEMORY_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "too many operations for changes to an order");
    m->states = hop_arena_alloc(&m->arena, m->event_limit * m->state_room);
    m->play = hop_arena_alloc(&m->arena, m->state_room);
    m->looked_at = hop_arena_alloc(&m->arena, ops * sizeof *m->looked_at);
    m->start_s = hop_arena_alloc(&m->arena, ops * sizeof *m->start_s);
    m->end_s = hop_arena_alloc(&m->arena, ops * sizeof *m->end_s);
    m->by_end = hop_arena_alloc(&m->arena, ops * sizeof *m->by_end);
    m->kept = hop_arena_alloc(&m->arena, ops * sizeof *m->kept);
    if (m->arena.failed)
        return hop_fail_memory(diag);
    m->next = (uint32_t *)((char *)m->play + p->state_size);
    enum hop_status status = hop_sequence_create(p, &m->in_hand, diag);
    return status == HOP_OK ? hop_sequence_create(p, &m->best, diag) : status;
}

static void run(struct hop_improver *m)
{
    const struct hop_improve_options *o = m->options;
    if (!record(m))
        return;
    m->best_value = m->value;
    m->over = m->best_value <= o->enough;
    while (!m->over && m->status == HOP_OK && m->nodes < o->max_nodes) {
        double done = (double)m->nodes / (double)o->max_nodes;
        try_change(m, o->heat * pow(o->cool / o->heat, done));
        if (o->poll && m->nodes - m->polled >= POLL_NODES) {
            m->over = m->over || !o->poll(o->context, m->nodes - m->polled);
            m->polled = m->nodes;
        }
    }
}

enum hop_status hop_improver_create(const struct hop_problem *problem, struct hop_sets *sets,
                                    struct hop_improver **improver, struct hop_diag *diag)
{
    struct hop_improver *m = calloc(1, sizeof *m);
    *improver = NULL;
    if (!m)
        return hop_fail_memory(diag);
    m->p = problem;
    m->sets = sets;
    enum hop_status status = create(m, diag);
    if (status == HOP_OK)
        *improver = m;
    else
        hop_improver_destroy(m);
    return status;
}

void hop_improver_destroy(struct hop_improver *m)
{
    if (!m)
        return;
    hop_arena_finish(&m->arena);
    hop_sequence_finish(&m->in_hand);
    hop_sequence_finish(&m->best);
    free(m);
}

enum hop_status hop_improve(struct hop_improver *m, const struct hop_improve_options *options,
                            struct hop_sequence *sequence, double *value, uint64_t *nodes, struct hop_diag *diag)
{
    m->options = options;
    m->rng = options->seed;
    m->best_value = INFINITY;
    m->nodes = m->polled = 0;
    m->over = false;
    m->status = HOP_OK;
    hop_sequence_copy(m->p, sequence, &m->in_hand);
    hop_sequence_copy(m->p, sequence, &m->best);
    run(m);
    *value = m->best_value;
    if (nodes)
        *nodes += m->nodes;
    if (hop_sets_status(m->sets, NULL) != HOP_OK)
        return hop_sets_status(m->sets, diag);
    hop_sequence_copy(m->p, &m->best, sequence);
    return HOP_OK;
}
