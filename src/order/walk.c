/* SPDX-License-Identifier: BSD-3-Clause */
/* The walk: all sends but the last of a choice are taken in copies of the state. */
#include "order/walk.h"

enum hop_status hop_walk_init(struct hop_walk *w, const struct hop_problem *p, struct hop_crew *crew,
                              struct hop_diag *diag)
{
    size_t ops = p->op_count;
    *w = (struct hop_walk){.problem = p, .crew = crew};
    w->stack = aligned_alloc(64, (ops + 2) * p->state_size);
    w->options = hop_arena_alloc(&w->arena, (ops + 2) * ops * sizeof *w->options);
    w->begun = hop_arena_alloc(&w->arena, (p->source_count + (size_t)1) * sizeof *w->begun);
    w->taken = hop_arena_alloc(&w->arena, (ops + 1) * sizeof *w->taken);
    if (!w->stack || w->arena.failed)
        return hop_fail_memory(diag);
    enum hop_status status = hop_sets_create(p, &w->sets, diag);
    return status == HOP_OK ? hop_sequence_create(p, &w->sequence, diag) : status;
}

void hop_walk_finish(struct hop_walk *w)
{
    hop_sets_destroy(w->sets);
    hop_sequence_finish(&w->sequence);
    free(w->stack);
    hop_arena_finish(&w->arena);
}

void hop_walk_count(struct hop_walk *w)
{
    uint64_t sets = hop_sets_evaluated(w->sets);
    hop_crew_count(w->crew, w->nodes, sets - w->sets_before);
    w->sets_before = sets;
    w->nodes = 0;
}

static void take(struct hop_walk *w, struct hop_state *state, uint32_t op)
{
    uint32_t source = w->problem->ops[op].source;
    w->sequence.order[w->problem->sources[source].first + w->begun[source]++] = op;
    w->taken[w->taken_count++] = source;
    hop_state_take(w->problem, state, op);
}

static void undo(struct hop_walk *w, uint32_t taken)
{
    while (w->taken_count > taken)
        w->begun[w->taken[--w->taken_count]]--;
}

static bool is_over(const struct hop_walk *w)
{
    return w->failed || hop_crew_stopped(w->crew);
}

static void walk(struct hop_walk *w, uint32_t level)
{
    const struct hop_problem *p = w->problem;
    struct hop_state *state = (struct hop_state *)(w->stack + level * p->state_size);
    struct hop_state *copy = (struct hop_state *)((char *)state + p->state_size);
    uint32_t *ops = w->options + (size_t)level * p->op_count;
    for (;;) {
        uint32_t source = hop_state_choice(p, state);
        if (source != HOP_NONE) {
            uint32_t n = hop_state_options(p, state, source, ops);
            uint32_t mark = w->taken_count;
            for (uint32_t i = 0; i + 1 < n && !is_over(w); i++) {
                memcpy(copy, state, p->state_size);
                take(w, copy, ops[i]);
                walk(w, level + 1);
                undo(w, mark);
            }
            if (n > 1 && is_over(w))
                return;
            take(w, state, ops[n - 1]);
            continue;
        }
        w->nodes++;
        enum hop_advanced advanced = hop_state_advance(p, w->sets, state);
        if (advanced == HOP_ADVANCED_FAILED)
            w->failed = true;
        else if (advanced != HOP_ADVANCED)
            w->ends(w->context, state, advanced);
        if (advanced != HOP_ADVANCED)
            return;
    }
}

void hop_walk_from(struct hop_walk *w, const struct hop_first *first, uint64_t index)
{
    struct hop_state *state = (struct hop_state *)w->stack;
    undo(w, 0);
    hop_state_begin(w->problem, state);
    for (uint32_t s = 0; s < first->sources; s++)
        take(w, state, first->ops[index * first->sources + s]);
    walk(w, 0);
}
