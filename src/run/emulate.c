/* SPDX-License-Identifier: BSD-3-Clause */
/* Emulate: see emulate.h. */
#include "run/emulate.h"

#include <pthread.h>

enum { BUFFER_CHUNKS = 32 };

struct pair {
    uint32_t from, to; /* nodes */
};

struct hop_emulator {
    const struct hop_topology *topology;
    struct hop_router *router;
    struct pair *pairs; /* one a way */
    uint32_t pair_count, pair_capacity;
    struct hop_emulated_way *ways;
    struct hop_emulated_link *links;
    uint32_t *positions; /* of links in ways */
    struct hop_shared shared;
    struct hop_emulation *emulation;
    pthread_t server;
    bool serving;
};

static uint32_t find_way(const struct hop_emulator *e, uint32_t from, uint32_t to)
{
    uint32_t way = 0;
    while (way < e->pair_count && (e->pairs[way].from != from || e->pairs[way].to != to))
        way++;
    return way;
}

uint32_t hop_emulator_way(const struct hop_emulator *e, const char *from, const char *to)
{
    uint32_t way = find_way(e, hop_topology_find(e->topology, from), hop_topology_find(e->topology, to));
    return way < e->pair_count ? way : HOP_NO_WAY;
}

static enum hop_status fail_device(const struct hop_emulator *e, const struct hop_plan *plan, uint32_t op,
                                   const struct hop_place *place, struct hop_diag *diag)
{
    char where[192];
    const char *near = hop_topology_nearest(e->topology, place->device);
    hop_fail(diag, HOP_ERR_NOT_FOUND, "topology %s has no device '%s'", hop_topology_name(e->topology), place->device);
    hop_diag_place(diag, "%s", hop_schedule_place(plan->schedule, op, place->column, where, sizeof where));
    hop_diag_expect(diag, "a device of the emulated topology, such as %s", near ? near : "gpu0");
    return HOP_ERR_NOT_FOUND;
}

/* The ways that the schedule's copies take. */
static enum hop_status find_pairs(struct hop_emulator *e, const struct hop_plan *plan, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < hop_schedule_count(plan->schedule); i++) {
        const struct hop_op *op = hop_schedule_op(plan->schedule, i);
        uint32_t route, from, to;
        if (op->kind != HOP_OP_COPY && op->kind != HOP_OP_SEND)
            continue;
        from = hop_topology_find(e->topology, op->from.device);
        to = hop_topology_find(e->topology, op->to.device);
        if (from == HOP_NONE || to == HOP_NONE)
            return fail_device(e, plan, i, from == HOP_NONE ? &op->from : &op->to, diag);
        if (from == to || find_way(e, from, to) < e->pair_count)
            continue;
        enum hop_status status = hop_router_find(e->router, from, to, &route, diag);
        if (status != HOP_OK)
            return status;
        if (!hop_grow(&e->pairs, &e->pair_capacity, e->pair_count + 1, sizeof *e->pairs))
            return hop_fail_memory(diag);
        e->pairs[e->pair_count++] = (struct pair){from, to};
    }
    return HOP_OK;
}

/* The node that a directed link begins at. */
static uint32_t tail_of(const struct hop_topology *topology, uint32_t directed)
{
    return hop_topology_link(topology, directed / 2)->ends[directed & 1];
}

/* From the link that leaves the last root complex in the middle of the way, chunks take longer. */
static void find_crossing(const struct hop_topology *topology, const struct hop_route *route,
                          struct hop_emulated_way *way)
{
    uint32_t first = HOP_NONE, last = HOP_NONE;
    way->crossing = way->link_count = route->link_count;
    for (uint32_t l = 1; l < route->link_count; l++) {
        uint32_t node = tail_of(topology, route->links[l]);
        if (hop_topology_node(topology, node)->kind != HOP_NODE_ROOT)
            continue;
        first = first == HOP_NONE ? node : first;
        last = node;
        way->crossing = l;
    }
    if (last != HOP_NONE)
        way->tau = hop_topology_tau_between(topology, first, last);
}

static bool one_engine(const struct hop_node *node)
{
    if (node->engines != HOP_ENGINES_DEFAULT)
        return node->engines == 1;
    return node->kind == HOP_NODE_GPU || node->kind == HOP_NODE_NVME || node->kind == HOP_NODE_FPGA;
}

static bool lay_ways(struct hop_emulator *e, const struct hop_plan *plan)
{
    const struct hop_topology *topology = e->topology;
    uint32_t links = hop_topology_link_count(topology), count = 0;
    double chunk = plan->options.chunk_bytes ? (double)plan->options.chunk_bytes : 4096;
    double buffer = plan->options.buffer_bytes ? (double)plan->options.buffer_bytes / chunk : BUFFER_CHUNKS;
    for (uint32_t r = 0; r < hop_router_count(e->router); r++)
        count += hop_router_route(e->router, r)->link_count;
    e->ways = calloc((size_t)e->pair_count + 1, sizeof *e->ways);
    e->links = calloc(2 * (size_t)links + 1, sizeof *e->links);
    e->positions = calloc((size_t)count + 1, sizeof *e->positions);
    if (!e->ways || !e->links || !e->positions)
        return false;
    for (uint32_t d = 0; d < 2 * links; d++) {
        const struct hop_link *link = hop_topology_link(topology, d / 2);
        e->links[d] =
            (struct hop_emulated_link){link->capacity_Bps[d & 1], link->latency_s, buffer < 2 ? 2 : (uint32_t)buffer};
    }
    count = 0;
    for (uint32_t w = 0; w < e->pair_count; w++) {
        uint32_t route;
        if (hop_router_find(e->router, e->pairs[w].from, e->pairs[w].to, &route, NULL) != HOP_OK)
            return false;
        const struct hop_route *way = hop_router_route(e->router, route);
        memcpy(e->positions + count, way->links, way->link_count * sizeof *way->links);
        e->ways[w] = (struct hop_emulated_way){.links = e->positions + count, .source = HOP_NONE};
        find_crossing(topology, way, &e->ways[w]);
        e->ways[w].pieces = hop_topology_parameter(topology, "crossing_packets")->value;
        if (one_engine(hop_topology_node(topology, e->pairs[w].from)))
            e->ways[w].source = e->pairs[w].from;
        count += way->link_count;
    }
    return true;
}

static void *serve(void *emulation)
{
    hop_emulation_serve(emulation);
    return NULL;
}

/* The first rank of the machine makes the table and serves it. */
static enum hop_status found(struct hop_emulator *e, const struct hop_plan *plan, struct hop_diag *diag)
{
    struct hop_emulation_options options = {.links = e->links,
                                            .ways = e->ways,
                                            .link_count = 2 * hop_topology_link_count(e->topology),
                                            .way_count = e->pair_count,
                                            .source_count = hop_topology_node_count(e->topology),
                                            .chunk_bytes = plan->options.chunk_bytes,
                                            .slower = plan->options.slower};
    size_t size = hop_emulation_size(&options);
    if (size == 0)
        return hop_fail(diag, HOP_ERR_LIMIT, "the emulation of %s is too large", hop_topology_name(e->topology));
    enum hop_status status = hop_shared_create(size, &e->shared, diag);
    if (status == HOP_OK)
        status = hop_emulation_create(e->shared.memory, &options, &e->emulation, diag);
    if (status != HOP_OK)
        return status;
    if (pthread_create(&e->server, NULL, serve, e->emulation) != 0)
        return hop_fail(diag, HOP_ERR_IO, "cannot start the thread that serves the emulated links");
    e->serving = true;
    return HOP_OK;
}

static enum hop_status share(struct hop_emulator *e, struct hop_plan *plan, struct hop_diag *diag)
{
    struct hop_team *team = plan->team;
    char name[HOP_SHARED_NAME_SIZE] = "", *all = calloc(team->local_size, sizeof name);
    enum hop_status status = all ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK && team->local == 0)
        status = found(e, plan, diag);
    if (status == HOP_OK) {
        memcpy(name, e->shared.name, sizeof name);
        status = hop_team_exchange(team, name, all, sizeof name, diag);
    }
    if (status == HOP_OK && team->local != 0) {
        status = hop_shared_attach(all, &e->shared, diag);
        e->emulation = status == HOP_OK ? hop_emulation_attach(e->shared.memory) : NULL;
    }
    free(all);
    if (status == HOP_OK)
        status = hop_team_barrier_local(team, diag);
    hop_shared_withdraw(&e->shared);
    return status;
}

enum hop_status hop_emulator_create(struct hop_plan *plan, struct hop_emulator **emulator,
                                    struct hop_emulation **emulation, struct hop_diag *diag)
{
    struct hop_emulator *e = calloc(1, sizeof *e);
    if (!e)
        return hop_fail_memory(diag);
    e->topology = plan->options.emulate;
    e->router = hop_router_create(e->topology);
    enum hop_status status = e->router ? find_pairs(e, plan, diag) : hop_fail_memory(diag);
    if (status == HOP_OK && e->pair_count == 0) {
        hop_fail(diag, HOP_ERR_INVALID, "no operation of the schedule copies between devices of %s",
                 hop_topology_name(e->topology));
        hop_diag_expect(diag, "a copy such as gpu0 -> gpu1, or a run without emulated links");
        status = HOP_ERR_INVALID;
    }
    if (status == HOP_OK && !lay_ways(e, plan))
        status = hop_fail_memory(diag);
    if (status == HOP_OK)
        status = share(e, plan, diag);
    if (status != HOP_OK) {
        hop_emulator_destroy(e);
        return status;
    }
    *emulator = e;
    *emulation = e->emulation;
    return HOP_OK;
}

void hop_emulator_destroy(struct hop_emulator *e)
{
    if (!e)
        return;
    if (e->serving) {
        hop_emulation_stop(e->emulation);
        (void)pthread_join(e->server, NULL);
    }
    hop_shared_finish(&e->shared);
    hop_router_destroy(e->router);
    free(e->pairs);
    free(e->ways);
    free(e->links);
    free(e->positions);
    free(e);
}
