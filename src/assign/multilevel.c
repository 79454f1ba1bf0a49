/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Multilevel: places and items are halved together, from all of them down to single places (dual recursive
 * bipartitioning; Pellegrini 1994).
 *
 *     tree of places     a node's items -> those of its first half, those of the other one
 *
 * All nodes of a level before those of the next: while a node's items are parted, those of all others are known to be
 * somewhere in their own nodes, so partners outside draw an item to the half that is nearer to them.
 */
#include "assign/bisect.h"
#include "assign/seating.h"
#include "assign/place_tree.h"

enum { TRIES = 4 /* up to */, MANY = 1 << 15 /* rows of the graph together; two up to */, TOO_MANY = 1 << 18 };
#define PIN 1e3 /* times all its traffic: an item that may be in one half only wants nothing else */

struct multilevel {
    const struct hop_assign *problem;
    struct hop_place_tree tree;
    struct hop_arena arena;
    uint32_t *items;       /* put in the order of the places */
    uint32_t *begin, *end; /* of a node: its items */
    uint32_t *node;        /* of an item */
    uint32_t *local;       /* of an item in the node that is parted: its number there */
    uint32_t *seen;        /* of a node: the node for which draw holds, and 1 more */
    double *draw;          /* of a node: how much nearer it is to the first half than to the other */
    uint32_t *first, *to;  /* the graph of a node's items */
    double *weight, *bias;
    uint8_t *side;
    uint64_t rng, steps;
    double best;
    bool stopped;
};

/* ---- one node ---- */

static double draw_of(struct multilevel *m, uint32_t node, uint32_t other)
{
    if (m->seen[other] != node + 1) {
        uint32_t half = m->tree.nodes[node].half;
        m->seen[other] = node + 1;
        m->draw[other] =
            hop_place_tree_distance(&m->tree, half + 1, other) - hop_place_tree_distance(&m->tree, half, other);
    }
    return m->draw[other];
}

static bool allows_any(const struct multilevel *m, uint32_t item, uint32_t node)
{
    const struct hop_place_node *it = &m->tree.nodes[node];
    for (uint32_t k = it->begin; k < it->end; k++) {
        if (hop_assign_allows(m->problem, item, m->tree.order[k]))
            return true;
    }
    return false;
}

/* 1: first half only, -1: the other one only, 0: both, or neither. */
static int pinned(const struct multilevel *m, uint32_t item, uint32_t half)
{
    return m->problem->allowed ? allows_any(m, item, half) - allows_any(m, item, half + 1) : 0;
}

/* Then partners in other groups are equally far from both halves. */
static bool in_one_group(const struct multilevel *m, uint32_t node)
{
    const uint32_t *group = m->problem->places->group, *order = m->tree.order;
    return group[order[m->tree.nodes[node].begin]] == group[order[m->tree.nodes[node].end - 1]];
}

/* The graph among a node's items, and what draws them to one half. */
static struct hop_graph subgraph(struct multilevel *m, uint32_t node)
{
    const struct hop_graph *graph = m->problem->graph;
    const struct hop_place_node *it = &m->tree.nodes[node];
    uint32_t count = m->end[node] - m->begin[node], end = 0;
    const uint32_t *items = m->items + m->begin[node];
    const double *weight = hop_graph_weights(graph, in_one_group(m, node));
    double all = 1;
    for (uint32_t v = 0; v < count; v++)
        m->local[items[v]] = v;
    for (uint32_t v = 0; v < count; v++) {
        m->first[v] = end;
        m->bias[v] = 0;
        for (uint32_t e = graph->first[items[v]]; e < graph->first[items[v] + 1]; e++) {
            uint32_t other = m->node[graph->to[e]];
            if (other != node) {
                m->bias[v] += weight[e] * draw_of(m, node, other);
                continue;
            }
            if (weight[e] <= 0)
                continue;
            m->to[end] = m->local[graph->to[e]];
            m->weight[end] = weight[e] * it->apart;
            all += m->weight[end++];
        }
        all += m->bias[v] < 0 ? -m->bias[v] : m->bias[v];
    }
    m->first[count] = end;
    for (uint32_t v = 0; v < count; v++)
        m->bias[v] += pinned(m, items[v], it->half) * PIN * all;
    return (struct hop_graph){.count = count, .first = m->first, .to = m->to, .weight = m->weight};
}

/* The items of the first half before those of the other one, each in their order. */
static void part(struct multilevel *m, uint32_t node)
{
    uint32_t half = m->tree.nodes[node].half, count = m->end[node] - m->begin[node], firsts = 0, others = 0;
    uint32_t *items = m->items + m->begin[node], *work = m->first;
    for (uint32_t v = 0; v < count; v++) {
        m->node[items[v]] = half + m->side[v];
        if (m->side[v])
            work[others++] = items[v];
        else
            items[firsts++] = items[v];
    }
    memcpy(items + firsts, work, others * sizeof *work);
    m->begin[half] = m->begin[node];
    m->end[half] = m->begin[half + 1] = m->begin[node] + firsts;
    m->end[half + 1] = m->end[node];
}

static bool goes_on(void *context)
{
    struct multilevel *m = context;
    const struct hop_assign *problem = m->problem;
    m->stopped = m->stopped || (problem->poll && !problem->poll(problem->context, m->best, 0));
    return !m->stopped;
}

static bool halve(struct multilevel *m, uint32_t node)
{
    uint32_t half = m->tree.nodes[node].half, count = m->end[node] - m->begin[node];
    uint64_t room = m->tree.nodes[half].room, other_room = m->tree.nodes[half + 1].room;
    const struct hop_graph graph = subgraph(m, node);
    const struct hop_bisect input = {.graph = &graph,
                                     .bias = m->bias,
                                     .low = count > other_room ? count - (uint32_t)other_room : 0,
                                     .high = count < room ? count : (uint32_t)room,
                                     .rng = &m->rng,
                                     .arena = &m->arena,
                                     .goes_on = goes_on,
                                     .context = m};
    if (count > 0 && !hop_bisect(&input, m->side))
        return false;
    part(m, node);
    return true;
}

/* ---- the call ---- */

static bool make(struct multilevel *m)
{
    const struct hop_graph *graph = m->problem->graph;
    size_t items = (size_t)graph->count + 1, edges = (size_t)graph->first[graph->count] + 1;
    if (!hop_place_tree_create(m->problem->places, &m->tree))
        return false;
    size_t nodes = (size_t)m->tree.count + 1;
    m->items = malloc(items * sizeof *m->items);
    m->begin = malloc(nodes * sizeof *m->begin);
    m->end = malloc(nodes * sizeof *m->end);
    m->node = calloc(items, sizeof *m->node);
    m->local = malloc(items * sizeof *m->local);
    m->seen = calloc(nodes, sizeof *m->seen);
    m->draw = malloc(nodes * sizeof *m->draw);
    m->first = malloc(items * sizeof *m->first);
    m->to = malloc(edges * sizeof *m->to);
    m->weight = malloc(edges * sizeof *m->weight);
    m->bias = malloc(items * sizeof *m->bias);
    m->side = malloc(items);
    return m->items && m->begin && m->end && m->node && m->local && m->seen && m->draw && m->first && m->to &&
           m->weight && m->bias && m->side;
}

static void finish(struct multilevel *m)
{
    hop_place_tree_finish(&m->tree);
    hop_arena_finish(&m->arena);
    free(m->items);
    free(m->begin);
    free(m->end);
    free(m->node);
    free(m->local);
    free(m->seen);
    free(m->draw);
    free(m->first);
    free(m->to);
    free(m->weight);
    free(m->bias);
    free(m->side);
}

static bool over(struct multilevel *m)
{
    const struct hop_assign *problem = m->problem;
    m->stopped |= problem->max_steps > 0 && m->steps >= problem->max_steps;
    return !goes_on(m);
}

/* Down the tree, until it is over; false: out of memory. */
static bool descend(struct multilevel *m, uint32_t *wanted)
{
    uint32_t items = m->problem->graph->count;
    for (uint32_t i = 0; i < items; i++) {
        m->items[i] = i;
        m->node[i] = 0;
    }
    memset(m->seen, 0, m->tree.count * sizeof *m->seen);
    m->begin[0] = 0;
    m->end[0] = items;
    for (uint32_t node = 0; node < m->tree.count && !over(m); node++) {
        m->steps += m->end[node] - m->begin[node];
        if (m->tree.nodes[node].half > 0) {
            if (!halve(m, node))
                return false;
            continue;
        }
        for (uint32_t k = m->begin[node]; k < m->end[node]; k++)
            wanted[m->items[k]] = m->tree.order[m->tree.nodes[node].begin];
    }
    return true;
}

/* The better one of what was there and what is wanted, repaired where somebody may not be there. */
static enum hop_status keep_better(const struct hop_assign *problem, const uint32_t *wanted, uint32_t *place,
                                   struct hop_assigned *result, struct hop_diag *diag)
{
    uint32_t count = problem->graph->count;
    uint32_t *made = malloc(((size_t)count + 1) * sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    memcpy(made, place, count * sizeof *made);
    enum hop_status status = hop_fitting_repair(problem, wanted, made, diag);
    double value = status == HOP_OK ? hop_assign_value(problem, made) : 0;
    if (status == HOP_OK && value < result->value) {
        result->value = value;
        memcpy(place, made, count * sizeof *made);
    }
    free(made);
    return status;
}

/* Several times, as chance has a part in it. */
static enum hop_status search(struct multilevel *m, uint32_t *place, struct hop_assigned *result, struct hop_diag *diag)
{
    uint32_t count = m->problem->graph->count, edges = m->problem->graph->first[count];
    uint32_t tries = edges <= MANY ? TRIES : edges <= TOO_MANY ? 2 : 1;
    uint32_t *wanted = malloc(((size_t)count + 1) * sizeof *wanted);
    enum hop_status status = wanted ? HOP_OK : hop_fail_memory(diag);
    for (; tries > 0 && status == HOP_OK && !m->stopped; tries--) {
        m->best = result->value;
        if (!descend(m, wanted))
            status = hop_fail_memory(diag);
        else if (!m->stopped)
            status = keep_better(m->problem, wanted, place, result, diag);
    }
    free(wanted);
    return status;
}

enum hop_status hop_assign_multilevel(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                      struct hop_diag *diag)
{
    struct multilevel m = {.problem = problem, .rng = problem->seed};
    struct hop_assigned found = {.value = hop_assign_value(problem, place)};
    enum hop_status status = make(&m) ? search(&m, place, &found, diag) : hop_fail_memory(diag);
    found.steps = m.steps;
    found.stopped = m.stopped;
    if (status == HOP_OK)
        *result = found;
    finish(&m);
    return status;
}
