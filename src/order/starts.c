/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends sorted by how far their destination is from their source, one way or another, and played. */
#include "order/starts.h"

#include <math.h>

struct distance {
    const struct hop_problem *problem;
    uint32_t *number; /* per node: among the devices that take part */
    uint32_t devices;
};

static enum hop_status number_devices(const struct hop_problem *p, struct distance *d, struct hop_diag *diag)
{
    uint32_t nodes = hop_topology_node_count(p->topology);
    *d = (struct distance){p, calloc((size_t)nodes + 1, sizeof *d->number), 0};
    if (!d->number)
        return hop_fail_memory(diag);
    for (uint32_t c = 0; c < p->class_count; c++)
        d->number[p->classes[c].from] = d->number[p->classes[c].to] = 1;
    for (uint32_t i = 0; i < nodes; i++) {
        if (d->number[i])
            d->number[i] = d->devices++;
    }
    return HOP_OK;
}

static uint32_t shift_of(const struct distance *d, uint32_t op)
{
    const struct hop_problem_class *class = &d->problem->classes[d->problem->ops[op].class_index];
    return (d->number[class->to] + d->devices - d->number[class->from]) % d->devices;
}

static uint32_t xor_of(const struct distance *d, uint32_t op)
{
    const struct hop_problem_class *class = &d->problem->classes[d->problem->ops[op].class_index];
    return d->number[class->to] ^ d->number[class->from];
}

/* Sorts each source's sends by a distance; those at one distance keep their order. */
static void sort_sends(const struct distance *d, uint32_t (*distance)(const struct distance *, uint32_t), uint32_t *order)
{
    for (uint32_t s = 0; s < d->problem->source_count; s++) {
        uint32_t *sends = order + d->problem->sources[s].first;
        for (uint32_t i = 1; i < d->problem->sources[s].count; i++) {
            uint32_t op = sends[i], at = i;
            for (; at > 0 && distance(d, sends[at - 1]) > distance(d, op); at--)
                sends[at] = sends[at - 1];
            sends[at] = op;
        }
    }
}

/* ---- barriers ---- */

static bool all_idle(const struct hop_problem *p, const struct hop_state *state)
{
    const uint8_t *phase = hop_state_phase(p, state);
    for (uint32_t s = 0; s < p->source_count; s++) {
        for (uint32_t slot = p->sources[s].slot; slot < p->sources[s].slot + p->sources[s].limit; slot++) {
            if (phase[slot] != HOP_PHASE_IDLE)
                return false;
        }
    }
    return true;
}

/* The lowest distance of any source's next send. */
static uint32_t next_round(const struct distance *d, const uint32_t *order, const uint32_t *next)
{
    const struct hop_problem *p = d->problem;
    uint32_t round = UINT32_MAX;
    for (uint32_t s = 0; s < p->source_count; s++) {
        if (next[s] == p->sources[s].count)
            continue;
        uint32_t distance = shift_of(d, order[p->sources[s].first + next[s]]);
        round = distance < round ? distance : round;
    }
    return round;
}

/* Plays rounds: a source whose next send belongs to a later one rests. */
static enum hop_status play_rounds(const struct distance *d, struct hop_sets *sets, const uint32_t *order,
                                   struct hop_played *played, struct hop_diag *diag)
{
    const struct hop_problem *p = d->problem;
    struct hop_state *state = malloc(p->state_size);
    uint32_t *next = calloc((size_t)p->source_count + 1, sizeof *next), round = 0;
    enum hop_advanced advanced = HOP_ADVANCED;
    enum hop_status status = state && next ? HOP_OK : hop_fail_memory(diag);
    *played = (struct hop_played){.value = INFINITY};
    if (status == HOP_OK)
        hop_state_begin(p, state);
    while (status == HOP_OK && advanced == HOP_ADVANCED) {
        if (all_idle(p, state))
            round = next_round(d, order, next);
        for (uint32_t s; (s = hop_state_choice(p, state)) != HOP_NONE;) {
            uint32_t op = order[p->sources[s].first + next[s]];
            if (shift_of(d, op) != round) {
                hop_state_rest(p, state, s);
                continue;
            }
            hop_state_take(p, state, op);
            next[s]++;
        }
        const struct hop_set *set = hop_sets_find(sets, state->key, hop_state_flow(p, state));
        if (set)
            played->fullest = hop_max(played->fullest, set->fullest);
        advanced = set ? hop_state_advance(p, sets, state) : HOP_ADVANCED_FAILED;
        if (advanced == HOP_ADVANCED_FAILED)
            status = hop_sets_status(sets, diag);
        if (advanced == HOP_ADVANCED_END)
            played->value = hop_state_value(p, state);
    }
    if (status == HOP_OK)
        played->makespan_s = state->now_s;
    free(state);
    free(next);
    return status;
}

/* ---- all starts ---- */

enum hop_status hop_starts_find(const struct hop_problem *p, struct hop_sets *sets, struct hop_starts *starts,
                                struct hop_diag *diag)
{
    static const char *const names[HOP_STARTS] = {"given", "shift", "shift+barriers", "xor"};
    struct distance d;
    *starts = (struct hop_starts){0};
    enum hop_status status = number_devices(p, &d, diag);
    for (uint32_t i = 0; i < HOP_STARTS && status == HOP_OK; i++) {
        struct hop_start *start = &starts->list[i];
        start->name = names[i];
        start->has_sequence = i != HOP_START_BARRIERS;
        status = hop_sequence_create(p, &start->sequence, diag);
        if (status != HOP_OK)
            break;
        if (i == HOP_START_XOR)
            sort_sends(&d, xor_of, start->sequence.order);
        else if (i != HOP_START_GIVEN)
            sort_sends(&d, shift_of, start->sequence.order);
        status = i == HOP_START_BARRIERS ? play_rounds(&d, sets, start->sequence.order, &start->played, diag)
                                         : hop_sequence_play(p, sets, &start->sequence, &start->played, diag);
    }
    free(d.number);
    if (status != HOP_OK)
        hop_starts_finish(starts);
    return status;
}

void hop_starts_finish(struct hop_starts *starts)
{
    for (uint32_t i = 0; i < HOP_STARTS; i++)
        hop_sequence_finish(&starts->list[i].sequence);
    *starts = (struct hop_starts){0};
}
