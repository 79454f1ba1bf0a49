/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Refinement of ordered partitions of devices.
 *
 *     order:   3 | 0 1 | 2 4 5      a cell is known by where it begins
 *     cell:    of device 3: 0, of devices 0 and 1: 1, of the others: 3
 *     length:  of cell 0: 1, of cell 1: 2, of cell 3: 3
 *
 * A cell is split where its members differ in the sum of their weights to some cell, the parts being ordered by that
 * sum, until there is no such cell. Of the parts of a cell, all but one are enough to split others by (Hopcroft 1971).
 * Nothing depends on how devices are numbered but the order within cells.
 */
#include "symmetry/symmetry_search.h"

static void push(struct hop_refiner *r, uint32_t cell)
{
    if (r->queued[cell])
        return;
    r->queued[cell] = true;
    r->queue[(r->head + r->waiting++) % r->n] = (uint16_t)cell;
}

static uint32_t pop(struct hop_refiner *r)
{
    uint32_t cell = r->queue[r->head];
    r->head = (r->head + 1) % r->n;
    r->waiting--;
    r->queued[cell] = false;
    return cell;
}

static int compare_keys(const void *a, const void *b)
{
    const struct hop_refiner_key *x = a, *y = b;
    return HOP_ORDER(x->key, y->key);
}

/* Makes cells of the equal keys of what was one cell, and queues them: all but the largest are enough, unless the whole
 * still waits. */
static void split(struct hop_refiner *r, struct hop_partition *p, uint32_t start, uint32_t length)
{
    uint32_t largest = start, most = 0;
    for (uint32_t from = 0, to; from < length; from = to) {
        for (to = from; to < length && r->keys[to].key == r->keys[from].key; to++) {
            p->order[start + to] = r->keys[to].device;
            p->cell[r->keys[to].device] = (uint16_t)(start + from);
        }
        p->length[start + from] = (uint16_t)(to - from);
        p->cells += from > 0;
        if (to - from > most) {
            most = to - from;
            largest = start + from;
        }
    }
    bool whole_waits = r->queued[start];
    for (uint32_t cell = start; cell < start + length; cell += p->length[cell]) {
        if (whole_waits || cell != largest)
            push(r, cell);
    }
}

/* Splits one cell by the weights to r->members. */
static uint64_t split_by(struct hop_refiner *r, struct hop_partition *p, uint32_t start, uint32_t count, uint64_t trace)
{
    const uint64_t *weights = r->weights;
    uint32_t length = p->length[start];
    bool differ = false;
    for (uint32_t k = 0; k < length; k++) {
        uint16_t device = p->order[start + k];
        uint64_t sum = 0;
        for (uint32_t m = 0; m < count; m++)
            sum += weights[r->members[m] * r->n + device];
        r->keys[k] = (struct hop_refiner_key){sum, device};
        differ = differ || sum != r->keys[0].key;
    }
    if (differ) {
        qsort(r->keys, length, sizeof *r->keys, compare_keys);
        split(r, p, start, length);
        for (uint32_t k = 0; k < length; k++)
            trace = hop_draw_from(trace ^ r->keys[k].key);
    }
    return hop_draw_from(trace + r->keys[0].key + start);
}

/* Refines by the queued cells, which are then none. Returns a hash of all that was seen. */
static uint64_t refine(struct hop_refiner *r, struct hop_partition *p)
{
    uint64_t trace = 0;
    while (r->waiting && p->cells < r->n) {
        uint32_t splitter = pop(r), count = p->length[splitter];
        memcpy(r->members, p->order + splitter, count * sizeof *r->members);
        r->work += (uint64_t)(count + 1) * r->n;
        for (uint32_t start = 0, next; start < r->n; start = next) {
            next = start + p->length[start];
            trace = split_by(r, p, start, count, trace);
        }
    }
    while (r->waiting)
        (void)pop(r);
    return trace;
}

uint64_t hop_refiner_set_apart(struct hop_refiner *r, const struct hop_partition *from, struct hop_partition *to,
                               uint32_t device)
{
    memcpy(to->order, from->order, 3 * (size_t)r->n * sizeof *to->order);
    uint32_t start = to->cell[device], length = to->length[start], at = start;
    while (to->order[at] != device)
        at++;
    to->order[at] = to->order[start];
    to->order[start] = (uint16_t)device;
    to->length[start] = 1;
    to->length[start + 1] = (uint16_t)(length - 1);
    for (uint32_t k = start + 1; k < start + length; k++)
        to->cell[to->order[k]] = (uint16_t)(start + 1);
    to->cells = from->cells + 1;
    push(r, start);
    return refine(r, to);
}

bool hop_partition_init(struct hop_partition *p, uint32_t n, struct hop_arena *arena)
{
    p->order = hop_arena_alloc(arena, 3 * (size_t)n * sizeof *p->order);
    if (!p->order)
        return false;
    p->cell = p->order + n;
    p->length = p->cell + n;
    return true;
}

bool hop_refiner_init(struct hop_refiner *r, uint32_t n, const uint64_t *weights, struct hop_arena *arena)
{
    *r = (struct hop_refiner){.n = n, .weights = weights};
    r->queue = hop_arena_alloc(arena, n * sizeof *r->queue);
    r->queued = hop_arena_alloc(arena, n * sizeof *r->queued);
    r->members = hop_arena_alloc(arena, n * sizeof *r->members);
    r->keys = hop_arena_alloc(arena, n * sizeof *r->keys);
    return !arena->failed;
}

uint64_t hop_refiner_start(struct hop_refiner *r, struct hop_partition *p)
{
    for (uint32_t i = 0; i < r->n; i++) {
        p->order[i] = (uint16_t)i;
        p->cell[i] = 0;
    }
    p->length[0] = (uint16_t)r->n;
    p->cells = 1;
    push(r, 0);
    return refine(r, p);
}
