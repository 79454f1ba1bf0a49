/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ranks that move. Operations: those of the exchange, one that fills the gap between their weights and the pairs', then
 * the pairs', which classes refer to.
 *
 *     ops:      [ exchange | gap | pairs | end ]
 *     weights:  [ of the exchange, where ranks are | unused | of the pairs ]
 */
#include "order/placed.h"
#include "hopcast/placement.h"

#include <math.h>

/* One source for all that a place sends, another one for each place. */
static bool find_sources(struct hop_placed *s)
{
    for (uint32_t a = 0; a < s->places; a++) {
        s->source_of[a] = HOP_NONE;
        for (uint32_t b = 0; b < s->places; b++) {
            uint32_t pair = s->pair_op[a * s->places + b],
                     source = pair == HOP_NONE ? HOP_NONE : s->pairs->ops[pair].source;
            if (pair == HOP_NONE)
                continue;
            if (source == HOP_NONE || s->pairs->ops[pair].class_index == HOP_NONE || !(s->pairs->ops[pair].bytes > 0) ||
                (s->source_of[a] != HOP_NONE && s->source_of[a] != source))
                return false;
            s->source_of[a] = source;
        }
        for (uint32_t other = 0; other < a; other++) {
            if (s->source_of[a] != HOP_NONE && s->source_of[a] == s->source_of[other])
                return false;
        }
    }
    return true;
}

static void take_exchange(struct hop_placed *s, const struct hop_schedule *exchange)
{
    struct hop_problem *p = &s->problem;
    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct hop_op *op = hop_schedule_op(exchange, i);
        p->ops[i] = (struct hop_problem_op){.memory = HOP_NONE,
                                            .bytes = (double)op->bytes,
                                            .at_s = op->at_s,
                                            .after = op->after,
                                            .after_count = op->after_count,
                                            .after_start = op->after_start,
                                            .after_start_count = op->after_start_count,
                                            .alike = HOP_NONE};
        s->first[op->from.rank + 1]++;
        p->simple = p->simple && op->at_s == 0 && op->after_count == 0 && op->after_start_count == 0 && op->bytes > 0;
        if (op->at_s > 0)
            p->ats[p->at_count++] = op->at_s;
    }
    qsort(p->ats, p->at_count, sizeof *p->ats, hop_ascending_double);
    for (uint32_t r = 0; r < s->ranks; r++)
        s->first[r + 1] += s->first[r];
    for (uint32_t i = 0; i < p->op_count; i++)
        p->sends[s->first[hop_schedule_op(exchange, i)->from.rank]++] = i;
    for (uint32_t r = s->ranks; r > 0; r--)
        s->first[r] = s->first[r - 1];
    s->first[0] = 0;
}

/* Room for the exchange's weights comes before the pairs'. */
static bool take_pairs(struct hop_placed *s)
{
    const struct hop_problem *pairs = s->pairs;
    struct hop_problem *p = &s->problem;
    uint32_t most = 0, before = p->op_count + 1, used = pairs->ops[pairs->op_count].first_weight;
    for (uint32_t k = 0; k < pairs->op_count; k++) {
        uint32_t count = pairs->ops[k + 1].first_weight - pairs->ops[k].first_weight;
        most = count > most ? count : most;
    }
    uint32_t room = p->op_count * most;
    p->weights = hop_arena_alloc(&p->arena, ((size_t)room + used + 1) * sizeof *p->weights);
    if (p->arena.failed)
        return false;
    memcpy(p->weights + room, pairs->weights, used * sizeof *p->weights);
    for (uint32_t k = 0; k <= pairs->op_count; k++) {
        p->ops[before + k] = pairs->ops[k];
        p->ops[before + k].first_weight += room;
    }
    for (uint32_t c = 0; c < p->class_count; c++) {
        p->classes[c] = pairs->classes[c];
        p->classes[c].op += before;
    }
    memcpy(p->sources, pairs->sources, p->source_count * sizeof *p->sources);
    return true;
}

static bool fill(struct hop_placed *s, const struct hop_schedule *exchange)
{
    const struct hop_problem *pairs = s->pairs;
    struct hop_problem *p = &s->problem;
    size_t ops = (size_t)p->op_count + 1;
    struct hop_arena *arena = &p->arena;
    s->source_of = hop_arena_alloc(arena, ((size_t)s->places + 1) * sizeof *s->source_of);
    s->first = hop_arena_alloc(arena, ((size_t)s->ranks + 1) * sizeof *s->first);
    p->ops = hop_arena_alloc(arena, (ops + pairs->op_count + 1) * sizeof *p->ops);
    p->sends = hop_arena_alloc(arena, ops * sizeof *p->sends);
    p->ats = hop_arena_alloc(arena, ops * sizeof *p->ats);
    p->sources = hop_arena_alloc(arena, ((size_t)p->source_count + 1) * sizeof *p->sources);
    p->classes = hop_arena_alloc(arena, ((size_t)p->class_count + 1) * sizeof *p->classes);
    p->total = hop_arena_alloc(arena, ((size_t)p->bound_room + 1) * sizeof *p->total);
    if (arena->failed)
        return false;
    take_exchange(s, exchange);
    hop_problem_size_state(p);
    return take_pairs(s);
}

enum hop_status hop_placed_create(const struct hop_problem *pairs, const uint32_t *pair_op, uint32_t places,
                                  const struct hop_schedule *exchange, struct hop_placed **placed,
                                  struct hop_diag *diag)
{
    struct hop_placed *s = calloc(1, sizeof *s);
    *placed = NULL;
    if (!s)
        return hop_fail_memory(diag);
    *s = (struct hop_placed){
        .pairs = pairs, .pair_op = pair_op, .places = places, .ranks = hop_schedule_ranks(exchange)};
    s->problem = (struct hop_problem){.topology = pairs->topology,
                                      .models = pairs->models,
                                      .schedule = exchange,
                                      .objective = HOP_ORDER_MAKESPAN,
                                      .clean = pairs->clean,
                                      .simple = pairs->simple,
                                      .op_count = hop_schedule_count(exchange),
                                      .source_count = pairs->source_count,
                                      .slot_count = pairs->slot_count,
                                      .class_count = pairs->class_count,
                                      .bound_count = pairs->bound_count,
                                      .bound_room = pairs->bound_room,
                                      .valid_count = pairs->valid_count};
    bool fine = fill(s, exchange);
    if (fine && find_sources(s))
        *placed = s;
    else
        hop_placed_destroy(s);
    return fine ? HOP_OK : hop_fail_memory(diag);
}

void hop_placed_destroy(struct hop_placed *placed)
{
    if (!placed)
        return;
    hop_arena_finish(&placed->problem.arena);
    free(placed);
}

/* A send goes the way of a pair; the number of its first weight behind it. */
static uint32_t send_by(struct hop_problem *p, struct hop_problem_op *op, const struct hop_problem_op *pair,
                        uint32_t used)
{
    op->class_index = pair->class_index;
    op->source = pair->source;
    op->slot = pair->slot;
    op->latency_s = pair->latency_s;
    op->least_s = pair->latency_s + (pair->least_s - pair->latency_s) * op->bytes / pair->bytes;
    op->first_weight = used;
    for (uint32_t w = pair->first_weight; w < pair[1].first_weight; w++) {
        p->weights[used++] = p->weights[w];
        p->total[p->weights[w].bound] += p->weights[w].per_byte_s * op->bytes + p->weights[w].late_s;
    }
    return used;
}

double hop_placed_put(struct hop_placed *s, const uint32_t *place)
{
    struct hop_problem *p = &s->problem;
    uint32_t used = 0;
    double least_s = 0;
    memset(p->total, 0, p->bound_count * sizeof *p->total);
    for (uint32_t e = 0; e < p->source_count; e++)
        p->sources[e].count = 0;
    for (uint32_t r = 0; r < s->ranks; r++) {
        uint32_t source = s->source_of[place[r]];
        for (uint32_t i = s->first[r]; i < s->first[r + 1]; i++) {
            uint32_t op = p->sends[i], to = (uint32_t)hop_schedule_op(p->schedule, op)->to.rank,
                     pair = s->pair_op[place[r] * s->places + place[to]];
            if (pair == HOP_NONE)
                return INFINITY;
        }
        if (source != HOP_NONE) {
            p->sources[source].first = s->first[r];
            p->sources[source].count = s->first[r + 1] - s->first[r];
        }
    }
    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct hop_op *op = hop_schedule_op(p->schedule, i);
        uint32_t pair = s->pair_op[place[op->from.rank] * s->places + place[op->to.rank]];
        used = send_by(p, &p->ops[i], &p->ops[p->op_count + 1 + pair], used);
    }
    p->ops[p->op_count].first_weight = used;
    for (uint32_t b = 0; b < p->valid_count; b++)
        least_s = hop_max(least_s, p->total[b]);
    return least_s;
}
