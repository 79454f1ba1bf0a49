/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Branch and bound: the best assignment of up to 12 items to up to 12 places, with proof.
 *
 *     exchange -> an assignment to beat -> at each node: bound, the item with fewest promising places, those places by
 *                                          what the bound becomes, one of twins
 */
#include <math.h>

#include "assign/bound.h"
#include "assign/twins.h"

enum { N = HOP_ASSIGN_EXACT, POLL_NODES = 512, FIRST_STEPS = 10000 /* of the exchange */ };
#define TINY 1e-9 /* of the value: less is equal */

struct child {
    uint8_t place;
    double bound;
};

struct exact {
    const struct hop_assign *problem;
    struct hop_small small;
    struct hop_small_order order;
    uint8_t twin[N];
    uint32_t best_place[N];
    double best;
    double open[N + 1]; /* by depth: the least bound of nodes put off */
    uint32_t depth;
    uint64_t nodes, steps;
    bool stopped;
};

/* What bounds reach this cannot lead to anything better. */
static double limit(const struct exact *x)
{
    return x->best * (1 - TINY);
}

/* ---- the search ---- */

/* Of all that is not settled: the least bound. */
static double open_bound(const struct exact *x, double here)
{
    double least = hop_min(here, x->best);
    for (uint32_t d = 0; d < x->depth; d++)
        least = hop_min(least, x->open[d]);
    return least;
}

static bool over(struct exact *x, double here)
{
    x->nodes++;
    x->stopped |= x->problem->max_steps > 0 && x->steps >= x->problem->max_steps;
    if (x->nodes % POLL_NODES == 0 && x->problem->poll && !x->stopped)
        x->stopped = !x->problem->poll(x->problem->context, x->best, open_bound(x, here));
    return x->stopped;
}

/* Free items at `place`, the others where they are: kept if it is the best so far. */
static void keep(struct exact *x, const struct hop_partial *partial, const uint8_t *place)
{
    uint32_t at[N], used[N] = {0};
    bool fits = true;
    double value = 0;
    for (uint32_t i = 0; i < x->small.items; i++) {
        at[i] = partial->free >> i & 1 ? place[i] : partial->place[i];
        fits &= ++used[x->small.group[at[i]]] <= x->small.group_room[at[i]];
        for (uint32_t j = 0; j < i; j++)
            value += hop_small_cost(&x->small, i, j, at[i], at[j]);
    }
    if (fits && value < x->best) {
        x->best = value;
        memcpy(x->best_place, at, x->small.items * sizeof *at);
    }
}

/* Places of an item that may lead to something better, the first of twins, by their bounds. */
static uint32_t list_children(struct exact *x, const struct hop_partial *partial, const struct hop_partial_bound *bound,
                              uint32_t item, struct child *children)
{
    uint8_t lowest[N];
    double at_least[N] = {0};
    uint32_t count = 0;
    /* What holds for one twin holds for all. */
    hop_twins_first(x->twin, x->small.places, partial->taken, lowest);
    for (uint32_t p = 0; p < x->small.places; p++)
        at_least[lowest[p]] = hop_max(at_least[lowest[p]], bound->value + bound->more[item][p]);
    for (uint32_t p = 0; p < x->small.places; p++) {
        if (lowest[p] != p || partial->left[p] == 0 || !(x->small.may[item] >> p & 1) || at_least[p] >= limit(x))
            continue;
        uint32_t k = count++;
        for (; k > 0 && children[k - 1].bound > at_least[p]; k--)
            children[k] = children[k - 1];
        children[k] = (struct child){(uint8_t)p, at_least[p]};
    }
    return count;
}

/* The item with fewest promising places; of equal ones, that whose bounds are highest. */
static uint32_t choose_item(struct exact *x, const struct hop_partial *partial, const struct hop_partial_bound *bound,
                            struct child *children, uint32_t *count)
{
    uint32_t best = 0, fewest = UINT32_MAX;
    double highest = -1;
    for (uint32_t bits = partial->free; bits; bits &= bits - 1) {
        struct child tried[N];
        uint32_t item = (uint32_t)__builtin_ctz(bits), found = list_children(x, partial, bound, item, tried);
        double sum = 0;
        for (uint32_t k = 0; k < found; k++)
            sum += tried[k].bound;
        if (found < fewest || (found == fewest && sum > highest)) {
            best = item;
            fewest = found;
            highest = sum;
            memcpy(children, tried, found * sizeof *tried);
        }
    }
    *count = fewest;
    return best;
}

static void branch(struct exact *x, const struct hop_partial *partial, double known)
{
    struct hop_partial_bound bound;
    struct child children[N];
    uint32_t count;
    hop_partial_bound(&x->small, &x->order, partial, &bound);
    bound.value = hop_max(bound.value, known);
    if (bound.value < x->small.large)
        keep(x, partial, bound.place);
    if (bound.value >= limit(x) || partial->free == 0)
        return;
    uint32_t item = choose_item(x, partial, &bound, children, &count);
    for (uint32_t k = 0; k < count; k++) {
        if (children[k].bound >= limit(x))
            break;
        if (over(x, children[k].bound)) {
            x->open[x->depth] = children[k].bound;
            return;
        }
        struct hop_partial next = *partial;
        hop_partial_put(&x->small, &next, item, children[k].place);
        x->open[x->depth] = k + 1 < count ? children[k + 1].bound : INFINITY;
        x->steps++;
        x->depth++;
        x->open[x->depth] = INFINITY;
        branch(x, &next, children[k].bound);
        x->depth--;
        if (x->stopped) {
            x->open[x->depth] = hop_min(x->open[x->depth], x->open[x->depth + 1]);
            return;
        }
    }
    x->open[x->depth] = INFINITY;
}

/* ---- the call ---- */

static enum hop_status check_size(const struct hop_assign *problem, struct hop_diag *diag)
{
    uint32_t items = problem->graph->count, places = problem->places->count;
    if (items <= N && places <= N)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_LIMIT, "%u items and %u places are too many for the exact search\nat most %d of each",
                    items, places, N);
}

/* x: zeroed, too large for a stack. */
static enum hop_status search(struct exact *x, const struct hop_assign *problem, uint32_t *place,
                              struct hop_assigned *result, struct hop_diag *diag)
{
    struct hop_assign first = *problem; /* too short to be asked about */
    struct hop_assigned found;
    first.poll = NULL;
    if (problem->max_steps == 0 || problem->max_steps > FIRST_STEPS)
        first.max_steps = FIRST_STEPS;
    x->problem = problem;
    memcpy(x->best_place, place, problem->graph->count * sizeof *place);
    HOP_CHECK(hop_assign_exchange(&first, x->best_place, &found, diag));
    hop_twins_find(problem, x->twin);
    hop_small_make(problem, &x->small);
    hop_small_sort(&x->small, &x->order);
    struct hop_partial partial;
    hop_partial_start(&x->small, &partial);
    x->best = found.value;
    x->steps = found.steps;
    if (!found.proved)
        branch(x, &partial, 0);
    found = (struct hop_assigned){.value = hop_assign_value(problem, x->best_place),
                                  .proved = !x->stopped,
                                  .stopped = x->stopped,
                                  .steps = x->steps};
    found.bound = x->stopped ? hop_min(x->open[0], found.value) : found.value;
    memcpy(place, x->best_place, problem->graph->count * sizeof *place);
    *result = found;
    return HOP_OK;
}

enum hop_status hop_assign_exact(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                 struct hop_diag *diag)
{
    HOP_CHECK(check_size(problem, diag));
    struct exact *x = calloc(1, sizeof *x);
    enum hop_status status = x ? search(x, problem, place, result, diag) : hop_fail_memory(diag);
    free(x);
    return status;
}
