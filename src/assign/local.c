/* SPDX-License-Identifier: BSD-3-Clause */
/* Costs, moves and the queue of who is to be looked at. */
#include "assign/local.h"

enum {
    MAIN_PARTNERS = 32, /* of an item: so many, of all that it has, say what is worth trying, */
    NEAR = 16,          /* each by so many places near it, */
    ALL_PLACES = 32     /* or all of so few */
};

/* ---- what an item costs ---- */

static double cost_at(const struct hop_local *x, uint32_t item, uint32_t place)
{
    const struct hop_graph *graph = x->problem->graph;
    double cost = 0;
    for (uint32_t e = graph->first[item]; e < graph->first[item + 1]; e++)
        cost += hop_edge_cost(graph, x->problem->places, e, place, x->seats.place[graph->to[e]]);
    return cost;
}

void hop_local_refresh(struct hop_local *x)
{
    double twice = 0;
    for (uint32_t i = 0; i < x->problem->graph->count; i++)
        twice += x->cost[i] = cost_at(x, i, x->seats.place[i]);
    x->value = twice / 2;
    x->unrefreshed = 0;
}

/* ---- moving ---- */

/* How much more an edge costs when one end goes somewhere else. */
static double edge_more(const struct hop_graph *graph, const struct hop_places *places, uint32_t edge,
                        const uint32_t from_to[2], uint32_t other)
{
    if (graph->near)
        return hop_edge_cost(graph, places, edge, from_to[1], other) -
               hop_edge_cost(graph, places, edge, from_to[0], other);
    return graph->weight[edge] *
           (hop_place_distance(places, from_to[1], other) - hop_place_distance(places, from_to[0], other));
}

/* An item moves; what it and its partners cost follows. */
static void shift(struct hop_local *x, uint32_t item, uint32_t to)
{
    const struct hop_graph *graph = x->problem->graph;
    const uint32_t from_to[2] = {x->seats.place[item], to};
    double sum = 0;
    for (uint32_t e = graph->first[item]; e < graph->first[item + 1]; e++) {
        uint32_t partner = graph->to[e];
        double more = edge_more(graph, x->problem->places, e, from_to, x->seats.place[partner]);
        x->cost[partner] += more;
        sum += more;
    }
    x->cost[item] += sum;
    x->value += sum;
    x->work += graph->first[item + 1] - graph->first[item];
    x->unrefreshed++;
    hop_seats_move(&x->seats, item, to);
}

void hop_local_move(struct hop_local *x, uint32_t item, uint32_t to)
{
    const struct hop_graph *graph = x->problem->graph;
    if (!HOP_GROW(&x->arena, x->moves, (size_t)x->move_count + 1)) {
        x->failed = true;
        return;
    }
    x->moves[x->move_count++] = (struct hop_local_move){item, x->seats.place[item]};
    shift(x, item, to);
    hop_queue_push(&x->queue, item);
    for (uint32_t e = graph->first[item]; e < graph->first[item + 1]; e++)
        hop_queue_push(&x->queue, graph->to[e]);
}

void hop_local_take_back(struct hop_local *x)
{
    while (x->move_count > 0) {
        struct hop_local_move last = x->moves[--x->move_count];
        shift(x, last.item, last.from);
    }
}

/* ---- looking for a better place ---- */

static void look_at_partners(struct hop_local *x, uint32_t item)
{
    const struct hop_graph *graph = x->problem->graph;
    for (uint32_t e = graph->first[item], k = 0; e < graph->first[item + 1]; e++, k++) {
        x->partner_place[k] = x->seats.place[graph->to[e]];
        x->partner_group[k] = x->problem->places->group[x->partner_place[k]];
        x->partner_gate[k] = hop_place_gate(x->problem->places, x->partner_place[k]);
    }
    if (++x->stamp == 0) {
        memset(x->place_seen, 0, x->problem->places->count * sizeof *x->place_seen);
        memset(x->gate_seen, 0, x->problem->places->count * sizeof *x->gate_seen);
        x->stamp = 1;
    }
}

/* Returns what the item that is looked at pays at a place for its partners in other groups; it is the same for all places of a gate. */
static double cost_outside(struct hop_local *x, uint32_t item, uint32_t place)
{
    const struct hop_graph *graph = x->problem->graph;
    uint32_t group = x->problem->places->group[place], gate = hop_place_gate(x->problem->places, place);
    const double *row = hop_places_from(x->problem->places, gate);
    uint32_t degree = graph->first[item + 1] - graph->first[item];
    const double *weight = graph->weight + graph->first[item];
    if (x->gate_seen[gate] == x->stamp)
        return x->gate_cost[gate];
    double cost = 0;
    for (uint32_t k = 0; k < degree; k++)
        cost += x->partner_group[k] == group ? 0 : weight[k] * row[x->partner_gate[k]];
    x->work += degree;
    x->gate_seen[gate] = x->stamp;
    x->gate_cost[gate] = cost;
    return cost;
}

static double cost_inside(const struct hop_local *x, uint32_t item, uint32_t place)
{
    const struct hop_graph *graph = x->problem->graph;
    const struct hop_places *places = x->problem->places;
    uint32_t group = places->group[place], degree = graph->first[item + 1] - graph->first[item];
    const double *row = places->inner[group] + (size_t)(place - places->first[group]) * hop_places_in(places, group);
    const double *weight = hop_graph_weights(graph, true) + graph->first[item];
    double cost = 0;
    for (uint32_t k = 0; k < degree; k++) {
        if (x->partner_group[k] == group)
            cost += weight[k] * row[x->partner_place[k] - places->first[group]];
    }
    return cost;
}

static double weight_between(const struct hop_graph *graph, uint32_t a, uint32_t b, bool near)
{
    uint32_t low = graph->first[a], high = graph->first[a + 1];
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (graph->to[middle] < b)
            low = middle + 1;
        else
            high = middle;
    }
    return low < graph->first[a + 1] && graph->to[low] == b ? hop_graph_weights(graph, near)[low] : 0;
}

/* The item would gain `alone` by going to the place; what is gained with who is there. */
static void try_swaps(struct hop_local *x, uint32_t item, uint32_t place, double alone, struct hop_local_find *best)
{
    const struct hop_graph *graph = x->problem->graph;
    uint32_t from = x->seats.place[item];
    const struct hop_places *places = x->problem->places;
    bool near = places->group[from] == places->group[place];
    double apart = 2 * hop_place_distance(places, from, place);
    for (uint32_t other = x->seats.first[place]; other != HOP_NONE; other = x->seats.next[other]) {
        /* Nobody gains more than all that it costs now. */
        if (alone + x->cost[other] <= best->gain || !hop_assign_allows(x->problem, other, from))
            continue;
        x->steps++;
        x->work += graph->first[other + 1] - graph->first[other];
        double gain = alone + x->cost[other] - cost_at(x, other, from);
        if (gain > best->gain)
            gain -= apart * weight_between(graph, item, other, near);
        if (gain > best->gain)
            *best = (struct hop_local_find){gain, place, other};
    }
}

static void try_place(struct hop_local *x, uint32_t item, uint32_t place, struct hop_local_find *best)
{
    if (x->place_seen[place] == x->stamp)
        return;
    x->place_seen[place] = x->stamp;
    if (!hop_assign_allows(x->problem, item, place))
        return;
    double cost = cost_outside(x, item, place);
    x->steps++;
    if (cost < x->cost[item])
        cost += cost_inside(x, item, place);
    double alone = x->cost[item] - cost;
    if (alone <= x->least_gain)
        return;
    if (hop_seats_has_room(&x->seats, x->seats.place[item], place)) {
        if (alone > best->gain)
            *best = (struct hop_local_find){alone, place, HOP_NONE};
    } else {
        try_swaps(x, item, place, alone, best);
    }
}

struct hop_local_find hop_local_look(struct hop_local *x, uint32_t item)
{
    const struct hop_graph *graph = x->problem->graph;
    struct hop_local_find best = {x->least_gain, HOP_NONE, HOP_NONE};
    look_at_partners(x, item);
    x->place_seen[x->seats.place[item]] = x->stamp;
    uint32_t degree = graph->first[item + 1] - graph->first[item];
    for (uint32_t k = 0; k < degree && k < MAIN_PARTNERS; k++) {
        uint32_t partner = degree > MAIN_PARTNERS ? k * degree / MAIN_PARTNERS : k;
        const uint32_t *near = x->near.place + (size_t)x->partner_place[partner] * x->near.count;
        if (k > 0 && x->near.count == x->problem->places->count)
            break;
        for (uint32_t n = 0; n < x->near.count; n++)
            try_place(x, item, near[n], &best);
    }
    return best;
}

/* ---- what is near ---- */

struct nearest { /* the least so far, ascending */
    uint32_t count;
    uint32_t which[NEAR];
    double distance[NEAR];
};

static void insert(struct nearest *list, uint32_t which, double distance)
{
    if (list->count == NEAR && distance >= list->distance[NEAR - 1])
        return;
    uint32_t k = list->count < NEAR ? list->count++ : NEAR - 1;
    for (; k > 0 && list->distance[k - 1] > distance; k--) {
        list->which[k] = list->which[k - 1];
        list->distance[k] = list->distance[k - 1];
    }
    list->which[k] = which;
    list->distance[k] = distance;
}

/* Of equally near ones those with the next numbers, round the end: so not everybody has the same ones. */
static struct nearest nearest_groups(const struct hop_places *places, uint32_t group)
{
    struct nearest list = {.count = 0};
    for (uint32_t k = 1; k < places->groups; k++) {
        uint32_t other = (group + k) % places->groups;
        insert(&list, other, hop_group_distance(places, group, other));
    }
    return list;
}

static void list_nearest(const struct hop_places *places, const struct nearest *groups, uint32_t place,
                         struct hop_near *near)
{
    uint32_t group = places->group[place], first = places->first[group], size = hop_places_in(places, group);
    struct nearest list = {.count = 0};
    for (uint32_t k = 1; k < size; k++) {
        uint32_t other = first + (place - first + k) % size;
        if (hop_place_room(places, other) > 0)
            insert(&list, other, hop_place_distance(places, place, other));
    }
    for (uint32_t g = 0; g < groups->count && list.count < NEAR; g++) {
        uint32_t h = groups->which[g];
        for (uint32_t p = places->first[h]; p < places->first[h + 1] && list.count < NEAR; p++) {
            if (hop_place_room(places, p) > 0)
                insert(&list, p, groups->distance[g]);
        }
    }
    uint32_t *to = near->place + (size_t)place * near->count;
    to[0] = place;
    for (uint32_t k = 1; k < near->count; k++)
        to[k] = k <= list.count ? list.which[k - 1] : place;
}

static bool find_near(const struct hop_places *places, struct hop_near *near, struct hop_arena *arena)
{
    uint32_t count = places->count;
    *near = (struct hop_near){.count = count <= ALL_PLACES ? count : NEAR};
    near->place = hop_arena_alloc(arena, ((size_t)count * near->count + 1) * sizeof *near->place);
    for (uint32_t g = 0; g < places->groups && !arena->failed; g++) {
        struct nearest groups = nearest_groups(places, g);
        for (uint32_t p = places->first[g]; p < places->first[g + 1]; p++) {
            for (uint32_t k = 0; k < count && near->count == count; k++)
                near->place[(size_t)p * count + k] = (p + k) % count;
            if (near->count < count)
                list_nearest(places, &groups, p, near);
        }
    }
    return !arena->failed;
}

/* ---- creation ---- */

bool hop_local_create(const struct hop_assign *problem, const uint32_t *place, double least_gain, struct hop_local *x)
{
    *x = (struct hop_local){.problem = problem, .least_gain = least_gain};
    const struct hop_graph *graph = problem->graph;
    const struct hop_places *places = problem->places;
    size_t items = graph->count, most = 0;
    for (uint32_t i = 0; i < items; i++)
        most = graph->first[i + 1] - graph->first[i] > most ? graph->first[i + 1] - graph->first[i] : most;
    struct hop_arena *arena = &x->arena;
    x->cost = hop_arena_alloc(arena, items * sizeof *x->cost);
    x->partner_place = hop_arena_alloc(arena, (most + 1) * sizeof *x->partner_place);
    x->partner_group = hop_arena_alloc(arena, (most + 1) * sizeof *x->partner_group);
    x->place_seen = hop_arena_alloc(arena, places->count * sizeof *x->place_seen);
    x->partner_gate = hop_arena_alloc(arena, (most + 1) * sizeof *x->partner_gate);
    x->gate_seen = hop_arena_alloc(arena, places->count * sizeof *x->gate_seen);
    x->gate_cost = hop_arena_alloc(arena, places->count * sizeof *x->gate_cost);
    hop_queue_create(&x->queue, graph->count, arena);
    bool made = hop_seats_create(problem, place, &x->seats, arena) && find_near(places, &x->near, arena);
    if (made)
        hop_local_refresh(x);
    return made;
}

void hop_local_finish(struct hop_local *x)
{
    hop_arena_finish(&x->arena);
}
