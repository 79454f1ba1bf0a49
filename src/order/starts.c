/* SPDX-License-Identifier: BSD-3-Clause */
/* Sends sorted by how far their destination is from their source, one way or another, and played. */
#include "order/starts.h"
#include "model/network.h"

#include <math.h>

/* How far each operation goes, from the number of one device that takes part to that of another. */
struct distances {
    uint32_t *shift, *xor;
};

static enum hop_status find_distances(const struct hop_problem *p, struct distances *d, struct hop_arena *arena,
                                      struct hop_diag *diag)
{
    uint32_t nodes = hop_topology_node_count(p->topology), devices = 0;
    uint32_t *number = hop_arena_alloc(arena, ((size_t)nodes + 1) * sizeof *number);
    d->shift = hop_arena_alloc(arena, ((size_t)p->op_count + 1) * sizeof *d->shift);
    d->xor = hop_arena_alloc(arena, ((size_t)p->op_count + 1) * sizeof *d->xor);
    if (arena->failed)
        return hop_fail_memory(diag);
    for (uint32_t c = 0; c < p->class_count; c++)
        number[p->classes[c].from] = number[p->classes[c].to] = 1;
    for (uint32_t i = 0; i < nodes; i++) {
        if (number[i])
            number[i] = devices++;
    }
    for (uint32_t op = 0; op < p->op_count; op++) {
        if (p->ops[op].class_index == HOP_NONE)
            continue;
        const struct hop_problem_class *class = &p->classes[p->ops[op].class_index];
        d->shift[op] = (number[class->to] + devices - number[class->from]) % devices;
        d->xor [op] = number[class->to] ^ number[class->from];
    }
    return HOP_OK;
}

/* Sorts each source's sends by a distance; those at one distance keep their order. */
static void sort_sends(const struct hop_problem *p, const uint32_t *distance, uint32_t *order)
{
    for (uint32_t s = 0; s < p->source_count; s++) {
        uint32_t *sends = order + p->sources[s].first;
        for (uint32_t i = 1; i < p->sources[s].count; i++) {
            uint32_t op = sends[i], at = i;
            for (; at > 0 && distance[sends[at - 1]] > distance[op]; at--)
                sends[at] = sends[at - 1];
            sends[at] = op;
        }
    }
}

/* Whatever the limit, there is an answer: where there is no time for a play, which takes much longer with many operations,
 * the simulation says it. That knows nothing of links above their limit, of which some models have none. */
static enum hop_status play_given(const struct hop_problem *p, struct hop_sets *sets, struct hop_start *start,
                                  struct hop_diag *diag)
{
    struct hop_problem whole = *p;
    bool never_full = p->simulation && p->objective == HOP_ORDER_MAKESPAN;
    for (uint32_t d = 0; never_full && d < hop_topology_domain_count(p->topology); d++)
        never_full = hop_network_model_facts(p->network, d)->keeps_capacity;
    if (!never_full)
        whole.goes_on = NULL;
    HOP_CHECK(hop_sequence_play(&whole, sets, &start->sequence, NULL, &start->played, diag));
    if (!never_full || isfinite(start->played.value) || !p->goes_on || p->goes_on(p->watch))
        return HOP_OK;
    HOP_CHECK(hop_simulation_run(p->simulation, &start->played.makespan_s, diag));
    start->played.value = start->played.makespan_s;
    start->played.fullest = 1;
    return HOP_OK;
}

enum hop_status hop_starts_find(const struct hop_problem *p, struct hop_sets *sets, struct hop_starts *starts,
                                struct hop_diag *diag)
{
    static const char *const names[HOP_STARTS] = {"given", "shift", "shift+barriers", "xor"};
    struct distances d;
    struct hop_arena arena = {0};
    *starts = (struct hop_starts){0};
    enum hop_status status = find_distances(p, &d, &arena, diag);
    for (uint32_t i = 0; i < HOP_STARTS && status == HOP_OK; i++) {
        struct hop_start *start = &starts->list[i];
        start->name = names[i];
        start->has_sequence = i != HOP_START_BARRIERS;
        status = hop_sequence_create(p, &start->sequence, diag);
        if (status != HOP_OK)
            break;
        if (i != HOP_START_GIVEN)
            sort_sends(p, i == HOP_START_XOR ? d.xor : d.shift, start->sequence.order);
        status = i == HOP_START_GIVEN ? play_given(p, sets, start, diag)
                                      : hop_sequence_play(p, sets, &start->sequence,
                                                          i == HOP_START_BARRIERS ? d.shift : NULL, &start->played, diag);
    }
    hop_arena_finish(&arena);
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
