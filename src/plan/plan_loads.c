/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What an exchange loads on sources and links, by placement: the bounds that an order problem has, taken from the problem
 * of all pairs of places, so that a placement's are sums over its flows.
 */
#include "model/network.h"
#include "order/problem.h"
#include "plan/plan.h"
#include "schedule/schedule.h"
#include "topology/route.h"

/* ---- flows ---- */

/* Whether a copy is one between devices of ranks that its source's engine makes: others, and what is staged, are left out
 * of the loads, which makes them lower. */
static bool is_plain(const struct hop_op *op)
{
    return op->kind == HOP_OP_COPY && op->via != HOP_VIA_STAGED && op->from.rank >= 0 && op->to.rank >= 0 &&
           op->from.rank != op->to.rank && (op->by < 0 || op->by == op->from.rank) &&
           hop_placeholder_host_rank(op->from.device) < 0 && hop_placeholder_host_rank(op->to.device) < 0 &&
           !hop_device_is_host(op->from.device) && !hop_device_is_host(op->to.device);
}

static void list_flows(const struct hop_plan_work *work, struct hop_plan_loads *l)
{
    size_t ranks = work->ranks;
    l->whole = l->plain = true;
    uint32_t *at = hop_arena_alloc(&l->arena, ranks * ranks * sizeof *at); /* a flow's number, from 1 */
    for (uint32_t i = 0; at && i < hop_schedule_count(work->exchange); i++) {
        const struct hop_op *op = hop_schedule_op(work->exchange, i);
        l->whole = l->whole && (op->kind != HOP_OP_COPY || op->via == HOP_VIA_P2P);
        l->plain = l->plain && is_plain(op);
        if (!is_plain(op) || op->bytes == 0)
            continue;
        uint32_t from = (uint32_t)op->from.rank, to = (uint32_t)op->to.rank, *flow = &at[from * ranks + to];
        if (!*flow) {
            if (!HOP_GROW(&l->arena, l->flows, l->flow_count + (size_t)1))
                return;
            l->flows[l->flow_count++] = (struct hop_plan_flow){from, to, 0, 0};
            *flow = l->flow_count;
        }
        l->flows[*flow - 1].bytes += (double)op->bytes;
        l->flows[*flow - 1].count++;
    }
}

/* ---- weights ---- */

/* A copy from each usable place to each other one that it has a way to; `pair` of its operations. */
static enum hop_status list_pairs(struct hop_plan_work *work, struct hop_schedule **pairs, uint32_t *pair,
                                  struct hop_diag *diag)
{
    const struct hop_map_places *p = &work->map.places;
    struct hop_schedule *made = hop_schedule_create("pairs");
    enum hop_status status = HOP_OK;
    uint32_t count = 0, route;
    for (uint32_t a = 0; a < p->count && status == HOP_OK; a++) {
        for (uint32_t b = 0; b < p->count && status == HOP_OK; b++) {
            if (a == b || !p->room[a] || !p->room[b])
                continue;
            status = hop_router_try(work->map.router, p->device[a], p->device[b], &route, diag);
            if (status != HOP_OK || route == HOP_NONE)
                continue;
            pair[count++] = a * p->count + b;
            (void)hop_schedule_copy(made, hop_topology_node(work->topology, p->device[a])->name,
                                    hop_topology_node(work->topology, p->device[b])->name, HOP_PLAN_PAIR_BYTES, NULL,
                                    0);
        }
    }
    return hop_schedule_end(made, status, pairs, diag);
}

/* Each pair's, of the bounds that hold. */
static void take_weights(struct hop_plan_loads *l, const struct hop_problem *problem, const uint32_t *pair)
{
    uint32_t used = 0, next = 0;
    l->bounds = l->rows = problem->valid_count;
    for (uint32_t op = 0; op < problem->op_count; op++) {
        while (next <= pair[op])
            l->first[next++] = used;
        for (uint32_t w = problem->ops[op].first_weight; w < problem->ops[op + 1].first_weight; w++) {
            const struct hop_problem_weight *weight = &problem->weights[w];
            if (weight->bound >= l->bounds)
                continue;
            if (!HOP_GROW(&l->arena, l->weights, used + (size_t)1))
                return;
            l->weights[used++] = (struct hop_plan_weight){weight->bound, weight->per_byte_s, weight->late_s};
        }
    }
    while (next <= l->places * l->places)
        l->first[next++] = used;
}

/* A bound that does not count latencies is a link's: it moves nothing before the shortest latency of what crosses it. */
static void take_heads(struct hop_plan_loads *l, const struct hop_problem *problem)
{
    l->head_s = hop_arena_alloc(&l->arena, (l->bounds + (size_t)1) * sizeof *l->head_s);
    for (uint32_t b = 0; l->head_s && b < l->bounds; b++)
        l->head_s[b] = INFINITY;
    for (uint32_t op = 0; l->head_s && op < problem->op_count; op++) {
        for (uint32_t w = problem->ops[op].first_weight; w < problem->ops[op + 1].first_weight; w++) {
            const struct hop_problem_weight *weight = &problem->weights[w];
            if (weight->bound < l->bounds)
                l->head_s[weight->bound] =
                    hop_min(l->head_s[weight->bound], weight->late_s > 0 ? 0 : problem->ops[op].latency_s);
        }
    }
}

double hop_plan_later(const struct hop_plan_loads *l, uint32_t bound, double load_s)
{
    return load_s > 0 ? l->head_s[bound] + load_s : 0;
}

/* Each pair's, of all links and engines, as shares of what they carry. */
static void take_pairs(struct hop_plan_loads *l, const struct hop_problem *problem, const uint32_t *pair)
{
    struct hop_apart_use *uses =
        hop_arena_alloc(&l->arena, ((size_t)problem->ops[problem->op_count].first_weight + 1) * sizeof *uses);
    l->pairs = hop_arena_alloc(&l->arena, ((size_t)l->places * l->places + 1) * sizeof *l->pairs);
    l->at_once = hop_arena_alloc(&l->arena, ((size_t)l->places + 1) * sizeof *l->at_once);
    l->pair_op = hop_arena_alloc(&l->arena, ((size_t)l->places * l->places + 1) * sizeof *l->pair_op);
    if (l->pair_op)
        memset(l->pair_op, 0xff, (size_t)l->places * l->places * sizeof *l->pair_op); /* HOP_NONE */
    l->resources = problem->bound_count;
    for (uint32_t i = 0; !l->arena.failed && i < problem->op_count; i++) {
        struct hop_apart_op *to = &l->pairs[pair[i]];
        *to = hop_apart_take(problem, i, uses);
        l->pair_op[pair[i]] = i;
        uses += to->use_count;
        if (to->queue != HOP_NONE)
            l->at_once[pair[i] / l->places] = problem->sources[to->queue].limit;
    }
}

enum hop_status hop_plan_loads_find(struct hop_plan_work *work, struct hop_plan_loads *l, struct hop_diag *diag)
{
    const struct hop_order_options options = {
        .models = work->options.models, .allow_unclean = work->options.allow_unclean, .or_given = true};
    *l = (struct hop_plan_loads){.places = work->places};
    size_t squared = (size_t)l->places * l->places;
    list_flows(work, l);
    l->first = hop_arena_alloc(&l->arena, (squared + 1) * sizeof *l->first);
    uint32_t *pair = hop_arena_alloc(&l->arena, (squared + 1) * sizeof *pair);
    if (l->arena.failed)
        return hop_fail_memory(diag);
    if (l->flow_count == 0 || work->by_ready || hop_topology_lacks(work->topology)) { /* nothing bounds these */
        l->flow_count = 0;
        return HOP_OK;
    }
    enum hop_status status = list_pairs(work, &l->sends, pair, diag);
    if (status == HOP_OK && hop_schedule_count(l->sends) > 0)
        status = hop_problem_create(work->topology, l->sends, &options, &l->problem, diag);
    if (status == HOP_OK && l->problem)
        take_weights(l, l->problem, pair);
    if (status == HOP_OK && l->problem)
        take_heads(l, l->problem);
    if (status == HOP_OK && l->problem)
        take_pairs(l, l->problem, pair);
    if (status == HOP_OK && l->problem && !l->arena.failed)
        hop_plan_crowds_find(l);
    l->load = hop_arena_alloc(&l->arena, (l->rows + (size_t)1) * sizeof *l->load);
    return status == HOP_OK && l->arena.failed ? hop_fail_memory(diag) : status;
}

void hop_plan_loads_finish(struct hop_plan_loads *l)
{
    hop_problem_destroy(l->problem);
    hop_schedule_destroy(l->sends);
    hop_arena_finish(&l->arena);
}

double hop_plan_load(struct hop_plan_loads *l, const uint32_t *place, double *spread)
{
    double squares = 0;
    for (uint32_t b = 0; b < l->rows; b++)
        l->load[b] = 0;
    for (uint32_t f = 0; f < l->flow_count; f++) {
        const struct hop_plan_flow *flow = &l->flows[f];
        uint32_t pair = place[flow->from] * l->places + place[flow->to];
        for (uint32_t w = l->first[pair]; w < l->first[pair + 1]; w++)
            l->load[l->weights[w].bound] += flow->bytes * l->weights[w].per_byte_s + flow->count * l->weights[w].late_s;
    }
    double most = hop_plan_crowded(l, l->load);
    for (uint32_t b = 0; b < l->bounds; b++) {
        most = hop_max(most, hop_plan_later(l, b, l->load[b]));
        squares += l->load[b] * l->load[b];
    }
    if (spread)
        *spread = squares;
    return most;
}

/* ---- whatever the placement ---- */

static enum hop_status take_wires(struct hop_network *network, uint32_t from, uint32_t to, double *wires,
                                  struct hop_diag *diag)
{
    uint32_t route;
    struct hop_router *router = hop_network_router(network);
    HOP_CHECK(hop_router_try(router, from, to, &route, diag));
    const struct hop_route *way = route != HOP_NONE ? hop_router_route(router, route) : NULL;
    for (uint32_t l = 0; way && l < way->link_count; l++) {
        double wire;
        HOP_CHECK(hop_network_wire(network, route, l, &wire, diag));
        way = hop_router_route(router, route);
        wires[way->links[l]] = hop_min(wires[way->links[l]], wire);
    }
    return HOP_OK;
}

enum hop_status hop_plan_wires(const struct hop_plan_work *work, const double **wires, struct hop_arena *arena,
                               struct hop_diag *diag)
{
    const struct hop_map_places *p = &work->map.places;
    uint32_t links = 2 * hop_topology_link_count(work->topology);
    double *made = hop_arena_alloc(arena, (links + (size_t)1) * sizeof *made);
    struct hop_network *network;
    if (!made)
        return hop_fail_memory(diag);
    HOP_CHECK(hop_network_create(work->topology, work->options.models, &network, diag));
    enum hop_status status = HOP_OK;
    for (uint32_t l = 0; l < links; l++)
        made[l] = INFINITY;
    for (uint32_t a = 0; a < p->count && status == HOP_OK; a++) {
        for (uint32_t b = 0; b < p->count && status == HOP_OK; b++)
            status = a == b ? HOP_OK : take_wires(network, p->device[a], p->device[b], made, diag);
    }
    for (uint32_t l = 0; l < links; l++)
        made[l] = isfinite(made[l]) ? made[l] : 1; /* nobody's way */
    hop_network_destroy(network);
    *wires = made;
    return status;
}
