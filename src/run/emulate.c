/* SPDX-License-Identifier: BSD-3-Clause */
/* Emulate: see emulate.h. */
#include "run/emulate.h"

#include "base/thread.h"
#include "model/model.h"
#include "schedule/schedule.h"
#include "topology/topology.h"

enum { BUFFER_CHUNKS = 32 };

struct pair {
    uint32_t from, to; /* nodes */
    bool pulled;       /* holds the engine of its destination */
};

struct hop_emulator {
    const struct hop_topology *topology;
    struct hop_router *router;
    struct hop_arena arena;
    struct pair *pairs; /* one a way */
    uint32_t pair_count;
    uint32_t *hosts; /* per node that stages copies: its nearest host memory; else NOT_ASKED */
    struct hop_shared shared;
    struct hop_emulated_machine *machine; /* of who serves it */
    pthread_t server;
    bool serving;
};

enum { NOT_ASKED = UINT32_MAX - 1 };

/* ---- ways of copies ---- */

/* Who performs a copy takes it out of host memory, too, and holds an engine for that only where it receives it. */
static struct pair leg_of(const struct hop_emulator *e, const struct hop_op *op, unsigned leg)
{
    uint32_t from = hop_topology_find(e->topology, op->from.device), to = hop_topology_find(e->topology, op->to.device);
    bool pulled = hop_op_engine_place(op) == &op->to;
    if (leg == HOP_LEG_PEER)
        return (struct pair){from, to, pulled};
    uint32_t host = e->hosts[from];
    return leg == HOP_LEG_IN ? (struct pair){from, host, false} : (struct pair){host, to, pulled};
}

static uint32_t find_way(const struct hop_emulator *e, const struct pair *pair)
{
    uint32_t way = 0;
    while (way < e->pair_count &&
           (e->pairs[way].from != pair->from || e->pairs[way].to != pair->to || e->pairs[way].pulled != pair->pulled))
        way++;
    return way;
}

void hop_emulator_ways(const struct hop_emulator *e, const struct hop_op *op, uint32_t ways[HOP_LEGS])
{
    for (unsigned leg = 0; leg < HOP_LEGS; leg++) {
        struct pair pair = leg_of(e, op, leg);
        uint32_t way = find_way(e, &pair);
        ways[leg] = way < e->pair_count ? way : HOP_NO_WAY;
        if (leg == HOP_LEG_PEER && pair.from == pair.to)
            ways[leg] = HOP_MEMORY_WAY;
    }
}

bool hop_emulator_is_staged(const struct hop_emulator *e, const struct hop_op *op)
{
    uint32_t route;
    if (op->via != HOP_VIA_AUTO)
        return op->via == HOP_VIA_STAGED;
    struct pair pair = leg_of(e, op, HOP_LEG_PEER);
    return pair.from != pair.to && hop_router_find(e->router, pair.from, pair.to, &route, NULL) == HOP_ERR_NO_ROUTE;
}

static enum hop_status fail_device(const struct hop_emulator *e, const struct hop_program *program, uint32_t op,
                                   const struct hop_place *place, struct hop_diag *diag)
{
    char where[192];
    (void)hop_topology_device(e->topology, place->device, NULL, diag);
    hop_diag_place(diag, "%s", hop_schedule_place(program->schedule, op, place->column, where, sizeof where));
    return HOP_ERR_NOT_FOUND;
}

static enum hop_status fail_host(const struct hop_program *program, uint32_t op, struct hop_diag *diag)
{
    const struct hop_op *copy = hop_schedule_op(program->schedule, op);
    char where[192];
    hop_fail(diag, HOP_ERR_NO_ROUTE, "'%s' is staged, but no host memory is in reach of %s", copy->name,
             copy->from.device);
    hop_diag_place(diag, "%s", hop_schedule_place(program->schedule, op, copy->from.column, where, sizeof where));
    hop_diag_expect(diag, "a topology with host memory, or copies that go peer to peer");
    return HOP_ERR_NO_ROUTE;
}

static enum hop_status add_pair(struct hop_emulator *e, const struct pair *pair, struct hop_diag *diag)
{
    uint32_t route;
    if (pair->from == pair->to || find_way(e, pair) < e->pair_count)
        return HOP_OK;
    enum hop_status status = hop_router_find(e->router, pair->from, pair->to, &route, diag);
    if (status != HOP_OK)
        return status;
    if (!HOP_GROW(&e->arena, e->pairs, e->pair_count + 1u))
        return hop_fail_memory(diag);
    e->pairs[e->pair_count++] = *pair;
    return HOP_OK;
}

/* The legs that a copy may take, by what the program's options leave open. */
static void find_legs(const struct hop_emulator *e, const struct hop_program *program, uint32_t index,
                      bool legs[HOP_LEGS])
{
    const struct hop_op *op = hop_schedule_op(program->schedule, index);
    const struct hop_run_op *run = &program->layout.ops[index];
    enum hop_copies copies = program->options.copies;
    bool between = run->owner != run->leader, mixed = copies == HOP_COPIES_STATIC || copies == HOP_COPIES_DYNAMIC;
    bool staged = copies == HOP_COPIES_SCHEDULE ? hop_emulator_is_staged(e, op)
                                                : between && (mixed || copies == HOP_COPIES_STAGED);
    legs[HOP_LEG_PEER] = !staged || mixed;
    legs[HOP_LEG_IN] = legs[HOP_LEG_OUT] = staged;
}

/* The ways that the schedule's copies take. */
static enum hop_status find_pairs(struct hop_emulator *e, const struct hop_program *program, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < hop_schedule_count(program->schedule) && status == HOP_OK; i++) {
        const struct hop_op *op = hop_schedule_op(program->schedule, i);
        bool legs[HOP_LEGS];
        if (op->kind != HOP_OP_COPY && op->kind != HOP_OP_SEND)
            continue;
        struct pair straight = leg_of(e, op, HOP_LEG_PEER);
        if (straight.from == HOP_NONE || straight.to == HOP_NONE)
            return fail_device(e, program, i, straight.from == HOP_NONE ? &op->from : &op->to, diag);
        find_legs(e, program, i, legs);
        uint32_t *host = &e->hosts[straight.from];
        if (legs[HOP_LEG_IN] && *host == NOT_ASKED)
            HOP_CHECK(hop_topology_nearest_host(e->topology, straight.from, host, diag));
        if (legs[HOP_LEG_IN] && *host == HOP_NONE)
            return fail_host(program, i, diag);
        for (unsigned leg = 0; leg < HOP_LEGS && status == HOP_OK; leg++) {
            struct pair pair = legs[leg] ? leg_of(e, op, leg) : (struct pair){0};
            status = add_pair(e, &pair, diag);
        }
    }
    return status;
}

/* ---- the flat table ---- */

/* The device whose copy engine the way holds, HOP_NONE: none, as many as like move at once. */
static uint32_t engine_of(const struct hop_topology *topology, const struct pair *pair, const struct hop_route *route)
{
    uint32_t device = pair->pulled ? pair->to : pair->from;
    uint32_t link = route->links[pair->pulled ? route->link_count - 1 : 0];
    bool pcie = hop_topology_link(topology, link / 2)->kind == HOP_LINK_PCIE;
    return hop_node_engine_limit(hop_topology_node(topology, device), pcie) == 1 ? device : HOP_NONE;
}

static void lay_links(const struct hop_emulator *e, const struct hop_program *program, struct hop_emulated_link *links)
{
    double chunk = program->options.chunk_bytes ? (double)program->options.chunk_bytes : 4096;
    double buffer = program->options.buffer_bytes ? (double)program->options.buffer_bytes / chunk : BUFFER_CHUNKS;
    for (uint32_t d = 0; d < 2 * hop_topology_link_count(e->topology); d++) {
        const struct hop_link *link = hop_topology_link(e->topology, d / 2);
        links[d] =
            (struct hop_emulated_link){link->capacity_Bps[d & 1], link->latency_s, buffer < 2 ? 2 : (uint32_t)buffer};
    }
}

/* Routes were found before, and stay where they are. */
static void lay_ways(const struct hop_emulator *e, struct hop_emulated_way *ways)
{
    for (uint32_t w = 0; w < e->pair_count; w++) {
        uint32_t index = HOP_NONE;
        (void)hop_router_find(e->router, e->pairs[w].from, e->pairs[w].to, &index, NULL);
        const struct hop_route *route = hop_router_route(e->router, index);
        ways[w] = (struct hop_emulated_way){.links = route->links,
                                            .link_count = route->link_count,
                                            .source = engine_of(e->topology, &e->pairs[w], route),
                                            .pieces = hop_topology_parameter(e->topology, "crossing_packets")->value};
        ways[w].crossing = hop_crossing_find(e->topology, route->links, route->link_count, &ways[w].tau);
    }
}

static void *serve(void *machine)
{
    hop_emulation_serve(machine);
    return NULL;
}

/* The first rank of the machine makes the table and serves it. */
static enum hop_status found(struct hop_emulator *e, const struct hop_program *program, struct hop_diag *diag)
{
    uint32_t link_count = 2 * hop_topology_link_count(e->topology);
    struct hop_emulated_link *links = hop_arena_alloc(&e->arena, ((size_t)link_count + 1) * sizeof *links);
    struct hop_emulated_way *ways = hop_arena_alloc(&e->arena, ((size_t)e->pair_count + 1) * sizeof *ways);
    const struct hop_emulation_options options = {.links = links,
                                                  .ways = ways,
                                                  .link_count = link_count,
                                                  .way_count = e->pair_count,
                                                  .source_count = hop_topology_node_count(e->topology),
                                                  .chunk_bytes = program->options.chunk_bytes,
                                                  .slower = program->options.slower,
                                                  .memory_Bps =
                                                      hop_topology_parameter(e->topology, "reduce_rate")->value};
    if (e->arena.failed)
        return hop_fail_memory(diag);
    lay_links(e, program, links);
    lay_ways(e, ways);
    HOP_CHECK(hop_emulation_create(&options, &e->shared, &e->machine, diag));
    int error = hop_thread_start(&e->server, serve, e->machine);
    e->serving = error == 0;
    return e->serving ? HOP_OK
                      : hop_fail(diag, hop_status_of_error(error),
                                 "cannot start the thread that serves the emulated links: %s", strerror(error));
}

enum hop_status hop_emulator_create(struct hop_program *program, struct hop_emulator **emulator,
                                    struct hop_emulation **emulation, struct hop_diag *diag)
{
    if (program->team->nodes > 1)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "ranks on %u machines cannot share emulated links\n"
                        "ranks of one machine, or a run without emulated links",
                        program->team->nodes);
    struct hop_emulator *e = calloc(1, sizeof *e);
    if (!e)
        return hop_fail_memory(diag);
    e->topology = program->options.emulate;
    e->router = hop_router_create(e->topology);
    e->hosts = hop_arena_alloc(&e->arena, ((size_t)hop_topology_node_count(e->topology) + 1) * sizeof *e->hosts);
    for (uint32_t n = 0; e->hosts && n < hop_topology_node_count(e->topology); n++)
        e->hosts[n] = NOT_ASKED;
    enum hop_status status = e->router && e->hosts ? find_pairs(e, program, diag) : hop_fail_memory(diag);
    if (status == HOP_OK && e->pair_count == 0)
        status = hop_fail(diag, HOP_ERR_INVALID,
                          "no operation of the schedule copies between devices of %s\n"
                          "a copy such as gpu0 -> gpu1, or a run without emulated links",
                          hop_topology_name(e->topology));
    if (status == HOP_OK && program->team->local == 0)
        status = found(e, program, diag);
    if (status == HOP_OK)
        status = hop_team_share(program->team, &e->shared, diag);
    if (status == HOP_OK) {
        *emulation = e->shared.memory;
        *emulator = e;
    } else {
        hop_emulator_destroy(e);
    }
    return status;
}

void hop_emulator_destroy(struct hop_emulator *e)
{
    if (!e)
        return;
    if (e->serving) {
        hop_emulation_stop(e->shared.memory);
        (void)pthread_join(e->server, NULL);
    }
    hop_emulated_machine_destroy(e->machine);
    hop_shared_finish(&e->shared);
    hop_router_destroy(e->router);
    hop_arena_finish(&e->arena);
    free(e);
}
