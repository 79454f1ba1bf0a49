/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Sketches: what placements take about, the transfers of each kept apart, so that thousands can be compared in the time that
 * the search for the best order on one of them takes. Changes to a placement, simulated annealing, and a pool of the best.
 */
#include "base/random.h"
#include "plan/plan.h"

enum { OPERATIONS_MOST = 8192, PASSES = 2, POOL = 64 };
#define HEAT 0.05
#define COOL 0.002

struct hop_plan_sketch {
    struct hop_plan_work *work;
    struct hop_plan_loads *loads;
    struct hop_apart *apart;
    uint32_t *place, *rank_at; /* in hand; of a place, HOP_NONE: nobody */
    struct hop_arena arena;
};

/* ---- one ---- */

enum hop_status hop_plan_sketch_create(struct hop_plan_work *work, struct hop_plan_loads *loads,
                                       struct hop_plan_sketch **sketch, struct hop_diag *diag)
{
    uint32_t ops = hop_schedule_count(work->exchange);
    *sketch = NULL;
    if (!loads->pairs || !loads->plain || ops > OPERATIONS_MOST)
        return HOP_OK;
    struct hop_plan_sketch *s = calloc(1, sizeof *s);
    if (!s)
        return hop_fail_memory(diag);
    s->work = work;
    s->loads = loads;
    s->place = hop_arena_alloc(&s->arena, ((size_t)work->ranks + 1) * sizeof *s->place);
    s->rank_at = hop_arena_alloc(&s->arena, ((size_t)work->places + 1) * sizeof *s->rank_at);
    enum hop_status status =
        s->arena.failed ? hop_fail_memory(diag) : hop_apart_create(ops, work->ranks, loads->resources, &s->apart, diag);
    if (status == HOP_OK)
        *sketch = s;
    else
        hop_plan_sketch_destroy(s);
    return status;
}

void hop_plan_sketch_destroy(struct hop_plan_sketch *sketch)
{
    if (!sketch)
        return;
    hop_apart_destroy(sketch->apart);
    hop_arena_finish(&sketch->arena);
    free(sketch);
}

uint64_t hop_plan_sketch_states(const struct hop_plan_sketch *s)
{
    return (uint64_t)s->apart->op_count * PASSES / 8 + 1;
}

double hop_plan_sketch_value(struct hop_plan_sketch *s, const uint32_t *place)
{
    const struct hop_plan_loads *l = s->loads;
    for (uint32_t r = 0; r < s->work->ranks; r++)
        s->apart->at_once[r] = l->at_once[place[r]];
    for (uint32_t i = 0; i < s->apart->op_count; i++) {
        const struct hop_op *op = hop_schedule_op(s->work->exchange, i);
        struct hop_apart_op *to = &s->apart->ops[i];
        uint32_t from = (uint32_t)op->from.rank;
        *to = l->pairs[place[from] * l->places + place[op->to.rank]];
        to->moves_s *= (double)op->bytes / HOP_PLAN_PAIR_BYTES;
        to->queue = to->queue == HOP_NONE ? HOP_NONE : from;
        to->after = op->after;
        to->after_count = op->after_count;
        to->after_start = op->after_start;
        to->after_start_count = op->after_start_count;
    }
    uint64_t states = hop_plan_sketch_states(s);
    s->work->left -= states < s->work->left ? states : s->work->left;
    return hop_apart_search(s->apart, PASSES, 1, 0);
}

/* ---- many ---- */

struct pool {
    uint32_t *rows;
    double value_s[POOL];
    uint32_t count, most;
};

/* The best, each once; sorted. */
static void keep(const struct hop_plan_sketch *s, struct pool *pool, double value_s)
{
    size_t ranks = s->work->ranks, size = ranks * sizeof *pool->rows;
    uint32_t at = pool->count;
    if (pool->count == pool->most && value_s >= pool->value_s[pool->count - 1])
        return;
    for (uint32_t i = 0; i < pool->count; i++) {
        if (pool->value_s[i] == value_s && memcmp(pool->rows + i * ranks, s->place, size) == 0)
            return;
    }
    while (at > 0 && pool->value_s[at - 1] > value_s)
        at--;
    uint32_t moved = (pool->count < pool->most ? pool->count++ : pool->most - 1) - at;
    memmove(pool->rows + (at + 1) * ranks, pool->rows + at * ranks, moved * size);
    memmove(pool->value_s + at + 1, pool->value_s + at, moved * sizeof *pool->value_s);
    memcpy(pool->rows + at * ranks, s->place, size);
    pool->value_s[at] = value_s;
}

/* A rank goes to a place drawn at random, who is there to where it was. false: that may not be. */
static bool change(struct hop_plan_sketch *s, uint32_t a, uint32_t to)
{
    const struct hop_assign *who = &s->work->map.places.who;
    uint32_t b = s->rank_at[to], was = s->place[a];
    if (to == was || !s->work->map.places.room[to] || !hop_assign_allows(who, a, to) ||
        (b != HOP_NONE && !hop_assign_allows(who, b, was)))
        return false;
    s->place[a] = to;
    s->rank_at[to] = a;
    s->rank_at[was] = b;
    if (b != HOP_NONE)
        s->place[b] = was;
    return true;
}

uint32_t hop_plan_sketch_search(struct hop_plan_sketch *s, const uint32_t *place, uint32_t steps, uint64_t seed,
                                uint32_t *rows, uint32_t most)
{
    struct hop_plan_work *w = s->work;
    struct pool pool = {.rows = rows, .most = most < POOL ? most : POOL};
    memcpy(s->place, place, w->ranks * sizeof *place);
    memset(s->rank_at, 0xff, w->places * sizeof *s->rank_at); /* HOP_NONE */
    for (uint32_t r = 0; r < w->ranks; r++)
        s->rank_at[place[r]] = r;
    double value_s = hop_plan_sketch_value(s, s->place);
    keep(s, &pool, value_s);
    for (uint32_t step = 0; step < steps && hop_plan_goes_on(w); step++) {
        double heat = HEAT * pow(COOL / HEAT, (double)step / steps);
        double limit_s = value_s * (1 - heat * log(1 - hop_draw_unit(&seed)));
        uint32_t a = hop_draw_below(&seed, w->ranks), to = hop_draw_below(&seed, w->places), was = s->place[a];
        if (!change(s, a, to))
            continue;
        double load_s = hop_plan_load(s->loads, s->place, NULL);
        double new_s = load_s < limit_s ? hop_plan_sketch_value(s, s->place) : INFINITY;
        if (new_s < limit_s) {
            value_s = new_s;
            keep(s, &pool, value_s);
        } else {
            (void)change(s, a, was);
        }
    }
    return pool.count;
}
