/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetries of an exchange: permutations of ranks that carry its operations, with their dependencies, to themselves. The
 * order of operations does not matter, as it is chosen anew.
 *
 * Operations are told apart by hashes of what they are and, round by round, of what they wait for and what waits for them.
 * A permutation gives the operations new hashes; the k-th of a hash goes to the k-th that has it without the permutation,
 * and then it is looked at, operation by operation, whether that carries everything where it should be.
 */
#include "base/random.h"
#include "plan/plan.h"
#include "schedule/schedule.h"
#include "symmetry/symmetry_search.h"

enum { ROUNDS = 3, OPERATIONS_MOST = 20000 };

struct hashed {
    uint64_t hash;
    uint32_t op;
};

struct twins {
    const struct hop_schedule *exchange;
    uint32_t ranks, count;
    uint64_t *now, *next;
    struct hashed *plain, *moved; /* sorted: as they are, and under a permutation */
    uint32_t *image;              /* of an operation */
    struct hop_arena arena;
};

static uint64_t text_hash(const char *text)
{
    uint64_t hash = 1;
    for (; text && *text; text++)
        hash = hop_draw_from(hash ^ (unsigned char)*text);
    return hash;
}

/* A place with its rank's image; who belongs to no rank stays. Buffers are the ranks' own matter. */
static uint64_t place_hash(const struct hop_place *place, const uint16_t *permutation)
{
    uint64_t host = hop_device_is_host(place->device) || hop_placeholder_host_rank(place->device) >= 0;
    if (place->rank < 0)
        return hop_draw_from(text_hash(place->device));
    return hop_draw_from((uint64_t)(permutation ? permutation[place->rank] : place->rank) << 1 | host);
}

static uint64_t op_hash(const struct hop_op *op, const uint16_t *permutation)
{
    const uint64_t numbers[] = {op->kind,
                                op->bytes,
                                op->via,
                                op->packet_bytes,
                                op->tag,
                                op->eager | op->any_source << 1 | op->any_tag << 2,
                                op->cpu,
                                op->nic,
                                op->input_count,
                                op->output_count,
                                op->by < 0    ? UINT64_MAX
                                : permutation ? permutation[op->by]
                                              : (uint64_t)op->by};
    const double times[] = {op->duration_s, op->at_s};
    uint64_t hash = 0, bits;
    for (size_t i = 0; i < HOP_COUNT(numbers); i++)
        hash = hop_draw_from(hash ^ numbers[i]);
    for (size_t i = 0; i < HOP_COUNT(times); i++) {
        memcpy(&bits, &times[i], sizeof bits);
        hash = hop_draw_from(hash ^ bits);
    }
    const struct hop_place *place;
    for (uint32_t i = 0; (place = hop_op_place(op, i)); i++)
        hash = hop_draw_from(hash ^ place_hash(place, permutation));
    return hash;
}

static void add_neighbours(struct twins *t, uint32_t i, const uint32_t *list, uint32_t count, uint64_t salt)
{
    for (uint32_t k = 0; k < count; k++) {
        t->next[i] += hop_draw_from(t->now[list[k]] ^ salt);
        t->next[list[k]] += hop_draw_from(t->now[i] ^ ~salt);
    }
}

static int by_hash(const void *a, const void *b)
{
    const struct hashed *x = a, *y = b;
    return x->hash != y->hash ? HOP_ORDER(x->hash, y->hash) : HOP_ORDER(x->op, y->op);
}

static void hash_all(struct twins *t, const uint16_t *permutation, struct hashed *sorted)
{
    for (uint32_t i = 0; i < t->count; i++)
        t->now[i] = op_hash(hop_schedule_op(t->exchange, i), permutation);
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (uint32_t i = 0; i < t->count; i++)
            t->next[i] = hop_draw_from(t->now[i]);
        for (uint32_t i = 0; i < t->count; i++) {
            const struct hop_op *op = hop_schedule_op(t->exchange, i);
            add_neighbours(t, i, op->after, op->after_count, 2);
            add_neighbours(t, i, op->after_start, op->after_start_count, 3);
        }
        memcpy(t->now, t->next, t->count * sizeof *t->now);
    }
    for (uint32_t i = 0; i < t->count; i++)
        sorted[i] = (struct hashed){t->now[i], i};
    qsort(sorted, t->count, sizeof *sorted, by_hash);
}

/* Whether the images of a list are the other list, whatever the order. */
static bool lists_agree(const struct twins *t, const uint32_t *list, const uint32_t *images, uint32_t count)
{
    for (uint32_t k = 0; k < count; k++) {
        uint32_t at = 0;
        while (at < count && images[at] != t->image[list[k]])
            at++;
        if (at == count)
            return false;
    }
    return true;
}

static bool holds(void *context, const uint16_t *permutation)
{
    struct twins *t = context;
    hash_all(t, permutation, t->moved);
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->moved[i].hash != t->plain[i].hash)
            return false;
        t->image[t->moved[i].op] = t->plain[i].op;
    }
    for (uint32_t i = 0; i < t->count; i++) {
        const struct hop_op *op = hop_schedule_op(t->exchange, i), *to = hop_schedule_op(t->exchange, t->image[i]);
        if (op_hash(op, permutation) != op_hash(to, NULL) || op->after_count != to->after_count ||
            op->after_start_count != to->after_start_count || !lists_agree(t, op->after, to->after, op->after_count) ||
            !lists_agree(t, op->after_start, to->after_start, op->after_start_count))
            return false;
    }
    return true;
}

/* What two ranks have to do with each other, in this direction; and a rank with itself. */
static uint64_t *make_weights(struct twins *t)
{
    uint64_t *weights = hop_arena_alloc(&t->arena, (size_t)t->ranks * t->ranks * sizeof *weights);
    uint16_t *nobody = hop_arena_alloc(&t->arena, t->ranks * sizeof *nobody); /* all ranks look the same */
    for (uint32_t i = 0; weights && nobody && i < t->count; i++) {
        const struct hop_op *op = hop_schedule_op(t->exchange, i);
        const struct hop_place *from = &op->from, *to = &op->to;
        if (from->rank >= 0 && to->device && to->rank >= 0)
            weights[(size_t)from->rank * t->ranks + (uint32_t)to->rank] += op_hash(op, nobody);
        else if (from->rank >= 0 || (to->device && to->rank >= 0))
            weights[(size_t)(from->rank >= 0 ? from->rank : to->rank) * (t->ranks + 1)] += op_hash(op, nobody);
    }
    return weights;
}

enum hop_status hop_plan_elements(const struct hop_symmetry *group, uint32_t **rows, uint32_t *count,
                                  struct hop_diag *diag)
{
    uint32_t total = 0, n = group->n;
    for (uint32_t level = 0; level < group->level_count; level++)
        total += group->levels[level].count;
    uint32_t *made = malloc(((size_t)total * n + 1) * sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    for (uint32_t level = 0; level < group->level_count; level++) {
        for (uint32_t e = 0; e < group->levels[level].count; e++, (*count)++) {
            for (uint32_t i = 0; i < n; i++)
                made[(size_t)*count * n + i] = group->levels[level].elements[(size_t)e * n + i];
        }
    }
    *rows = made;
    return HOP_OK;
}

/* What works in a device's memory takes turns there in the order of the schedule, which a permutation may change. */
static bool takes_turns(const struct hop_op *op)
{
    return op->kind == HOP_OP_REDUCE || (op->kind == HOP_OP_COPY && hop_op_goes_nowhere(op)) ||
           (op->kind == HOP_OP_COPY && op->from.rank == op->to.rank && op->from.rank >= 0);
}

static bool is_free(const struct hop_schedule *exchange)
{
    uint32_t i = 0;
    while (i < hop_schedule_count(exchange) && !takes_turns(hop_schedule_op(exchange, i)))
        i++;
    return i == hop_schedule_count(exchange);
}

enum hop_status hop_plan_twins_find(const struct hop_schedule *exchange, uint32_t ranks, uint32_t **rows,
                                    uint32_t *count, double *order, struct hop_diag *diag)
{
    struct twins t = {.exchange = exchange, .ranks = ranks, .count = hop_schedule_count(exchange)};
    struct hop_symmetry group = {0};
    *rows = NULL;
    *count = 0;
    *order = 1;
    if (ranks < 2 || ranks > HOP_SYMMETRY_DEVICES || t.count > OPERATIONS_MOST || !is_free(exchange))
        return HOP_OK;
    t.now = hop_arena_alloc(&t.arena, t.count * sizeof *t.now);
    t.next = hop_arena_alloc(&t.arena, t.count * sizeof *t.next);
    t.plain = hop_arena_alloc(&t.arena, t.count * sizeof *t.plain);
    t.moved = hop_arena_alloc(&t.arena, t.count * sizeof *t.moved);
    t.image = hop_arena_alloc(&t.arena, t.count * sizeof *t.image);
    const struct hop_symmetry_problem problem = {
        .n = ranks, .weights = t.arena.failed ? NULL : make_weights(&t), .holds = holds, .context = &t};
    enum hop_status status = t.arena.failed ? hop_fail_memory(diag) : HOP_OK;
    if (status == HOP_OK) {
        hash_all(&t, NULL, t.plain);
        status = hop_symmetry_search(&problem, &group, diag);
    }
    if (status == HOP_OK) {
        *order = hop_symmetry_order(&group);
        status = hop_plan_elements(&group, rows, count, diag);
    }
    hop_symmetry_finish(&group);
    hop_arena_finish(&t.arena);
    return status;
}
