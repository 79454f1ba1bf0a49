/* SPDX-License-Identifier: BSD-3-Clause */
/* Dealing out: one bound after the other takes what it weighs, where the sum gains by it; then those that gain by all
 * operations. */
#include "order/shares.h"

enum { PASSES = 2, FEW = 64 };
#define WORK_MAX 2e5 /* bounds times operations: beyond, only the first ones are tried */
#define WEIGHED 1e-6 /* of the longest job: less is nothing */

static double per_byte(const struct hop_problem *p, uint32_t op, uint32_t bound)
{
    for (uint32_t w = p->ops[op].first_weight; w < p->ops[op + 1].first_weight; w++) {
        if (p->weights[w].bound == bound)
            return p->weights[w].per_byte_s;
    }
    return 0;
}

/* Puts a value among the last ones of an ascending list, which are those from `first` on. */
static void insert(double *list, uint32_t first, uint32_t count, double value)
{
    uint32_t at = count;
    for (; at > first && list[at - 1] > value; at--)
        list[at] = list[at - 1];
    list[at] = value;
}

/* The ends of jobs that a machine does one after the other, in place. */
static void add_up(double *list, uint32_t first, uint32_t count, double now_s)
{
    for (uint32_t i = first; i < count; i++)
        list[i] = (i > first ? list[i - 1] : now_s) + list[i];
}

static void sort(double *list, uint32_t count)
{
    if (count > FEW) {
        qsort(list, count, sizeof *list, hop_ascending_double);
        return;
    }
    for (uint32_t i = 1; i < count; i++)
        insert(list, 0, i, list[i]);
}

/* What is dealt out, machine by machine, then sorted: returns how many ends. */
static uint32_t deal(const struct hop_shares *h, uint32_t ops, const double *left, const double *soonest, double now_s,
                     double *ends)
{
    uint32_t count = 0, first = 0, last = HOP_NONE;
    for (uint32_t i = 0; i < ops; i++) {
        uint32_t op = h->order[i], machine = h->machine[op];
        if (machine != last) {
            add_up(ends, first, last == HOP_NONE ? first : count, now_s);
            first = count;
        }
        last = machine;
        if (left[op] >= 0 && machine == HOP_NONE)
            ends[count++] = soonest[op];
        else if (left[op] >= 0)
            insert(ends, first, count++, left[op] * h->per_byte_s[op]);
    }
    add_up(ends, first, last == HOP_NONE ? first : count, now_s);
    sort(ends, count);
    return count;
}

/* Ends become those of a machine for all operations, where these are later. */
static void delay(const double *per_byte_s, uint32_t ops, const double *left, double now_s, double *ends)
{
    double jobs[HOP_SHARES_OPS];
    uint32_t count = 0;
    for (uint32_t op = 0; op < ops; op++) {
        if (left[op] >= 0)
            jobs[count++] = left[op] * per_byte_s[op];
    }
    sort(jobs, count);
    add_up(jobs, 0, count, now_s);
    for (uint32_t k = 0; k < count; k++)
        ends[k] = hop_max(ends[k], jobs[k]);
}

static double sum_with(const struct hop_shares *h, uint32_t ops, const double *left, const double *soonest,
                       double now_s)
{
    double ends[HOP_SHARES_OPS], sum = 0;
    uint32_t count = deal(h, ops, left, soonest, now_s, ends);
    for (uint32_t w = 0; w < h->whole_count; w++)
        delay(h->whole[w], ops, left, now_s, ends);
    for (uint32_t k = 0; k < count; k++)
        sum += ends[k];
    return sum;
}

double hop_shares_sum(const struct hop_problem *p, const double *left, const double *soonest, double now_s)
{
    return sum_with(p->shares, p->op_count, left, soonest, now_s);
}

/* ---- choosing ---- */

/* Operations by machine; those that none weighs come first. */
static void sort_ops(const struct hop_problem *p, const struct hop_shares *h)
{
    for (uint32_t i = 0; i < p->op_count; i++) {
        uint32_t at = i;
        for (; at > 0; at--) {
            uint32_t other = h->order[at - 1];
            bool after = h->machine[other] + 1 != h->machine[i] + 1
                             ? h->machine[other] + 1 > h->machine[i] + 1
                             : p->ops[other].bytes * h->per_byte_s[other] > p->ops[i].bytes * h->per_byte_s[i];
            if (!after)
                break;
            h->order[at] = other;
        }
        h->order[at] = i;
    }
}

struct chooser {
    const struct hop_problem *p;
    struct hop_shares *h;
    double left[HOP_SHARES_OPS], soonest[HOP_SHARES_OPS], sum;
};

static double sum_now(const struct chooser *c)
{
    sort_ops(c->p, c->h);
    return sum_with(c->h, c->p->op_count, c->left, c->soonest, 0);
}

/* A bound takes the operations that it weighs from the machines that they were dealt to, if the sum gains. */
static void try_bound(struct chooser *c, uint32_t bound)
{
    uint32_t machine[HOP_SHARES_OPS];
    double weight[HOP_SHARES_OPS];
    size_t ops = c->p->op_count;
    memcpy(machine, c->h->machine, ops * sizeof *machine);
    memcpy(weight, c->h->per_byte_s, ops * sizeof *weight);
    for (uint32_t op = 0; op < ops; op++) {
        double per_byte_s = per_byte(c->p, op, bound);
        if (per_byte_s * c->p->ops[op].bytes > WEIGHED * c->p->total[bound]) {
            c->h->machine[op] = bound;
            c->h->per_byte_s[op] = per_byte_s;
        }
    }
    double sum = sum_now(c);
    if (sum > c->sum) {
        c->sum = sum;
        return;
    }
    memcpy(c->h->machine, machine, ops * sizeof *machine);
    memcpy(c->h->per_byte_s, weight, ops * sizeof *weight);
}

/* Adds the bound by which the sum gains most as a machine for all operations; false: none gains. */
static bool add_whole(struct chooser *c, uint32_t bounds)
{
    double *weights = c->h->whole[c->h->whole_count++], most = c->sum * (1 + 1e-6);
    uint32_t best = HOP_NONE;
    for (uint32_t round = 0; round <= bounds; round++) {
        uint32_t bound = round < bounds ? round : best; /* the best one once more, to stay */
        for (uint32_t op = 0; op < c->p->op_count && bound != HOP_NONE; op++)
            weights[op] = per_byte(c->p, op, bound);
        double sum = bound != HOP_NONE ? sum_now(c) : 0;
        best = round < bounds && sum > most ? bound : best;
        most = hop_max(most, sum);
    }
    c->h->whole_count -= best == HOP_NONE;
    c->sum = best == HOP_NONE ? c->sum : most;
    return best != HOP_NONE;
}

bool hop_shares_find(struct hop_problem *p, struct hop_shares **shares)
{
    struct chooser c = {.p = p};
    uint32_t bounds = p->valid_count, ops = p->op_count;
    *shares = NULL;
    if (ops > HOP_SHARES_OPS)
        return true;
    c.h = hop_arena_alloc(&p->arena, sizeof *c.h);
    if (!c.h)
        return false;
    c.h->machine = hop_arena_alloc(&p->arena, (ops + 1) * sizeof *c.h->machine);
    c.h->per_byte_s = hop_arena_alloc(&p->arena, (ops + 1) * sizeof *c.h->per_byte_s);
    c.h->order = hop_arena_alloc(&p->arena, (ops + 1) * sizeof *c.h->order);
    for (uint32_t w = 0; w < HOP_SHARES_WHOLE; w++)
        c.h->whole[w] = hop_arena_alloc(&p->arena, (ops + 1) * sizeof(double));
    if (p->arena.failed)
        return false;
    bounds = (double)bounds * ops > WORK_MAX ? (uint32_t)(WORK_MAX / ops) : bounds;
    for (uint32_t op = 0; op < ops; op++) {
        c.h->machine[op] = HOP_NONE;
        c.left[op] = p->ops[op].bytes;
        c.soonest[op] = p->ops[op].least_s;
    }
    c.sum = sum_now(&c);
    for (uint32_t k = 0; k < PASSES * bounds; k++)
        try_bound(&c, k % bounds);
    while (c.h->whole_count < HOP_SHARES_WHOLE && add_whole(&c, bounds))
        ;
    (void)sum_now(&c);
    *shares = c.h;
    return true;
}
