/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many ranks are on a node already says what leaves it at least: the least over all sets of so many, by dynamic programming over
 * ranks, where few of them at once have to do with those to come.
 */
#include "plan/plan_blocks.h"

enum { RANKS_MOST = 128, FRONT_MOST = 17, NEEDS_MOST = 12 };
#define WORK_MOST 1e9 /* numbers of tables that are looked at, for all needs */

/* Rank after rank, by number: which of those that have to do with later ones (the front) are on a node, and how many of all. */
struct front {
    const struct hop_plan_nodes *b;
    const struct hop_plan_need *need;
    uint32_t slot[RANKS_MOST]; /* of a rank in the front, HOP_NONE: it is not, or not any more */
    double *least, *next;      /* by who of the front is there, then by how many are */
    uint32_t room, slots;      /* the second: in the front at once, at most */
};

static uint32_t last_partner(const struct hop_plan_nodes *b, uint32_t rank)
{
    uint32_t last = rank;
    for (unsigned way = 0; way < WAYS; way++) {
        for (uint32_t i = 0; i < b->ranks[rank].count[way]; i++)
            last = b->ranks[rank].list[way][i].rank > last ? b->ranks[rank].list[way][i].rank : last;
    }
    return last;
}

static void forget(struct front *f, uint32_t slot)
{
    size_t row = f->room + (size_t)1;
    for (uint32_t there = 0; there < 1u << f->slots; there++) {
        for (uint32_t k = 0; there >> slot & 1 && k <= f->room; k++) {
            double *to = &f->least[(there & ~(1u << slot)) * row + k], *from = &f->least[there * row + k];
            *to = hop_min(*to, *from);
            *from = INFINITY;
        }
    }
}

/* The first slot that is free. */
static uint32_t free_slot(uint32_t used)
{
    return (uint32_t)__builtin_ctz(~used);
}

/* Who has nothing to do with later ranks leaves the front; returns which slots are in use. */
static uint32_t leave(const struct hop_plan_nodes *b, uint32_t *slot, uint32_t rank, uint32_t used, struct front *f)
{
    for (uint32_t r = 0; r <= rank; r++) {
        if (slot[r] == HOP_NONE || last_partner(b, r) > rank)
            continue;
        if (f)
            forget(f, slot[r]);
        used &= ~(1u << slot[r]);
        slot[r] = HOP_NONE;
    }
    return used;
}

/* How many slots the front has; more than FRONT_MOST: too many. */
static uint32_t count_slots(const struct hop_plan_nodes *b)
{
    uint32_t slot[RANKS_MOST], used = 0, most = 0;
    for (uint32_t rank = 0; rank < b->work->ranks && most <= FRONT_MOST; rank++) {
        slot[rank] = free_slot(used);
        most = slot[rank] + 1 > most ? slot[rank] + 1 : most;
        used = leave(b, slot, rank, used | 1u << slot[rank], NULL);
    }
    return most;
}

/* What a rank has to do with those before, if it is there or not. */
static double load_with(const struct front *f, uint32_t rank, uint32_t there, bool is_there)
{
    double load_s = 0;
    for (unsigned way = 0; way < WAYS; way++) {
        for (uint32_t i = 0; i < f->b->ranks[rank].count[way]; i++) {
            const struct hop_plan_partner *p = &f->b->ranks[rank].list[way][i];
            if (p->rank > rank)
                continue;
            bool other = there >> f->slot[p->rank] & 1;
            unsigned seen = is_there      ? way
                            : way == SENT ? RECEIVED
                                          : SENT,
                     where = is_there && other ? HERE : ELSEWHERE;
            if (where == HERE) /* counted once, by need_of_node's rule */
                seen = SENT;
            if (is_there || other)
                load_s += p->bytes * f->need->per_byte_s[seen][where] + p->copies * f->need->late_s[seen][where];
        }
    }
    return load_s;
}

static void add_to_front(struct front *f, uint32_t rank, uint32_t slot, bool is_there)
{
    size_t row = f->room + (size_t)1;
    for (uint32_t there = 0; there < 1u << f->slots; there++) {
        const double *from = f->least + there * row;
        bool any = false;
        for (uint32_t k = 0; k <= f->room; k++)
            any = any || isfinite(from[k]);
        if (!any)
            continue;
        double load_s = load_with(f, rank, there, is_there);
        double *to = f->next + (there | (uint32_t)is_there << slot) * row;
        for (uint32_t k = 0; k + is_there <= f->room; k++)
            to[k + is_there] = hop_min(to[k + is_there], from[k] + load_s);
    }
}

/* What a link needs at least by how many ranks are on its node; false: it was stopped. */
static bool least_by_count(struct front *f, double *least_s)
{
    const struct hop_plan_nodes *b = f->b;
    size_t all = (f->room + (size_t)1) << f->slots;
    uint32_t used = 0;
    for (size_t i = 0; i < all; i++)
        f->least[i] = INFINITY;
    f->least[0] = 0;
    for (uint32_t rank = 0; rank < b->work->ranks; rank++) {
        uint32_t slot = free_slot(used);
        if (!hop_plan_goes_on(b->work))
            return false;
        for (size_t i = 0; i < all; i++)
            f->next[i] = INFINITY;
        add_to_front(f, rank, slot, false);
        add_to_front(f, rank, slot, true);
        double *swap = f->least;
        f->least = f->next;
        f->next = swap;
        f->slot[rank] = slot;
        used = leave(b, f->slot, rank, used | 1u << slot, f);
    }
    for (uint32_t k = 0; k <= f->room; k++)
        least_s[k] = hop_max(least_s[k], f->least[k] > 0 ? f->need->head_s + f->least[k] : 0);
    return true;
}

/* Whether nodes that each need no more can hold all ranks. */
static bool can_hold(const struct hop_plan_nodes *b, double (*least_s)[RANKS_MOST + 1], double most_s)
{
    bool sums[RANKS_MOST + 1] = {true};
    for (uint32_t node = 0; node < b->node_count; node++) {
        bool next[RANKS_MOST + 1] = {false};
        for (uint32_t held = 0; held <= b->work->ranks; held++) {
            for (uint32_t k = 0; sums[held] && k <= b->nodes[node].room && held + k <= b->work->ranks; k++)
                next[held + k] = next[held + k] || least_s[b->nodes[node].like][k] <= most_s;
        }
        memcpy(sums, next, sizeof sums);
    }
    return sums[b->work->ranks];
}

void hop_plan_counts(struct hop_plan_nodes *b, double *least_s)
{
    double(*by_count)[RANKS_MOST + 1] = calloc(NODES_MOST, sizeof *by_count);
    uint32_t room = 0, tried = 0, slots = b->work->ranks <= RANKS_MOST ? count_slots(b) : FRONT_MOST + 1;
    for (uint32_t k = 0; k < b->node_count; k++)
        room = b->nodes[k].room > room ? b->nodes[k].room : room;
    bool fine = by_count && room <= RANKS_MOST && slots <= FRONT_MOST;
    size_t all = fine ? (room + (size_t)1) << slots : 1;
    double most_needs = hop_min(NEEDS_MOST, WORK_MOST / ((double)all * b->work->ranks));
    double *tables = fine && most_needs >= 1 ? malloc(2 * all * sizeof *tables) : NULL;
    fine = fine && tables;
    for (uint32_t k = 0; k < b->node_count && fine; k++) {
        const struct hop_plan_needs *whole = &b->nodes[k].whole;
        for (uint32_t i = 0; b->nodes[k].like == k && i < whole->count && fine && tried++ < (uint32_t)most_needs; i++) {
            struct front f = {b, &whole->list[i], {0}, tables, tables + all, b->nodes[k].room, slots};
            memset(f.slot, 0xff, sizeof f.slot); /* HOP_NONE */
            fine = least_by_count(&f, by_count[k]);
        }
    }
    double least = INFINITY; /* of what some number of ranks needs, enough for all */
    for (uint32_t k = 0; k < b->node_count && fine; k++) {
        for (uint32_t n = 0; n <= b->nodes[k].room; n++) {
            double most_s = by_count[b->nodes[k].like][n];
            least = most_s < least && can_hold(b, by_count, most_s) ? most_s : least;
        }
    }
    if (isfinite(least))
        *least_s = hop_max(*least_s, least * (1 - HOP_PLAN_TOLERANCE));
    free(tables);
    free(by_count);
}
