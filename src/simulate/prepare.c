/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiling a schedule for a network: devices and routes are resolved, operations get their class (route), source engine and
 * users, and a deadlock between dependencies and source queues is found before anything runs.
 */
#include "simulate/simulation.h"

#include <stdio.h>

#include "schedule/processes.h"
#include "schedule/schedule.h"
#include "simulate/messages.h"
#include "simulate/users.h"
#include "topology/topology.h"

enum { FEW = 64 }; /* routes */

static enum hop_status at_place(const struct hop_schedule *schedule, uint32_t op, uint32_t column,
                                struct hop_diag *diag, enum hop_status status)
{
    char place[192];
    hop_diag_place(diag, "%s", hop_schedule_place(schedule, op, column, place, sizeof place));
    return status;
}

static enum hop_status resolve(const struct hop_simulation *s, uint32_t op, const struct hop_place *place,
                               uint32_t *node, struct hop_diag *diag)
{
    const struct hop_topology *topology = s->timeline->topology;
    enum hop_status status = hop_topology_device(topology, place->device, node, diag);
    if (status == HOP_OK)
        return HOP_OK;
    if (*node == HOP_NONE && place->buffer && !hop_topology_nearest(topology, place->device))
        hop_diag_expect(diag, "a device before the ':'; if %s names the operation, a space after it", place->device);
    return at_place(s->timeline->schedule, op, place->column, diag, status);
}

static bool is_pcie(const struct hop_simulation *s, uint32_t directed)
{
    return hop_topology_link(s->timeline->topology, directed / 2)->kind == HOP_LINK_PCIE;
}

/* Finds each copy's route; class_of holds the router's index until make_classes numbers the ones in use. */
static enum hop_status find_routes(struct hop_simulation *s, struct hop_diag *diag)
{
    struct hop_timeline *t = s->timeline;
    struct hop_router *router = hop_network_router(s->network);
    for (uint32_t i = 0; i < s->count; i++) {
        const struct hop_op *op = hop_schedule_op(t->schedule, i);
        uint32_t from, to;
        enum hop_status status = resolve(s, i, &op->from, &from, diag);
        bool moves = op->kind == HOP_OP_COPY && !hop_op_is_local(op);
        if (status == HOP_OK && moves)
            status = resolve(s, i, &op->to, &to, diag);
        for (uint32_t p = 0; p < op->input_count && status == HOP_OK; p++) /* a reduction's: on `to`, or not placed */
            status = op->inputs[p].device == op->to.device ? HOP_OK : resolve(s, i, &op->inputs[p], &to, diag);
        for (uint32_t p = 0; p < op->output_count && status == HOP_OK; p++)
            status = op->outputs[p].device == op->to.device ? HOP_OK : resolve(s, i, &op->outputs[p], &to, diag);
        if (status != HOP_OK)
            return status;
        t->class_of[i] = HOP_NONE;
        if (!moves)
            continue;
        status = hop_router_find(router, from, to, &t->class_of[i], diag);
        if (status != HOP_OK)
            return at_place(t->schedule, i, op->to.column, diag, status);
    }
    return HOP_OK;
}

/* Numbers the routes in use, ascending, and asks what a transfer gets alone on each. */
static enum hop_status make_classes(struct hop_simulation *s, struct hop_diag *diag)
{
    struct hop_timeline *t = s->timeline;
    struct hop_router *router = hop_network_router(s->network);
    uint32_t routes = hop_router_count(router), distinct = 0;
    s->class_of_route = hop_arena_alloc(&s->arena, ((size_t)routes + 1) * sizeof *s->class_of_route);
    if (!s->class_of_route)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < s->count; i++) {
        if (t->class_of[i] != HOP_NONE)
            distinct += s->class_of_route[t->class_of[i]]++ == 0;
    }
    t->classes = calloc((size_t)distinct + 1, sizeof *t->classes);
    if (!t->classes)
        return hop_fail_memory(diag);
    for (uint32_t r = 0; r < routes; r++) {
        const struct hop_flow flow = {r, 1};
        const struct hop_share *share;
        if (s->class_of_route[r] == 0)
            continue;
        HOP_CHECK(hop_network_rates(s->network, &flow, 1, &share, diag));
        s->class_of_route[r] = t->class_count;
        t->classes[t->class_count++] = (struct hop_class){r, share->rate_Bps, hop_router_route(router, r)};
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (t->class_of[i] != HOP_NONE)
            t->class_of[i] = s->class_of_route[t->class_of[i]];
    }
    return HOP_OK;
}

/* What a device may have engines for. */
enum { ENGINE_PCIE, ENGINE_OTHER_LINKS, ENGINE_MEMORY, ENGINES_A_DEVICE };

static void join_queue(struct hop_simulation *s, uint32_t op, uint32_t engine)
{
    s->tasks[op].engine = engine;
    s->tasks[op].position = s->engines[engine].count++;
}

/* Queues an operation at an engine of a device, which is made at its first use. */
static void join_engine(struct hop_simulation *s, uint32_t *engine_of, uint32_t op, uint32_t device, unsigned what,
                        struct hop_engine fresh)
{
    uint32_t *engine = &engine_of[ENGINES_A_DEVICE * device + what];
    if (*engine == HOP_NONE) {
        *engine = s->engine_count;
        fresh.device = device;
        s->engines[s->engine_count++] = fresh;
    }
    join_queue(s, op, *engine);
}

/* Works take their CPUs, which are numbered as they appear, and so are these engines. */
static enum hop_status join_cpus(struct hop_simulation *s, struct hop_diag *diag)
{
    struct hop_processes processes = {0};
    uint32_t first = s->engine_count, cpu = 0;
    for (uint32_t i = 0; i < s->count && cpu != HOP_NONE; i++) {
        const struct hop_op *op = hop_schedule_op(s->timeline->schedule, i);
        if (!hop_op_computes(op))
            continue;
        cpu = hop_cpu_of(&processes, op);
        if (cpu == s->engine_count - first)
            s->engines[s->engine_count++] = (struct hop_engine){
                .device = hop_topology_find(s->timeline->topology, op->from.device), .limit = 1, .by_ready = true};
        if (cpu != HOP_NONE)
            join_queue(s, i, first + cpu);
    }
    hop_processes_finish(&processes);
    return cpu == HOP_NONE ? hop_fail_memory(diag) : HOP_OK;
}

/* The copy engine that a transfer holds: that of its source, or of its destination, if that one's rank performs it. */
static void join_copy_engine(struct hop_simulation *s, uint32_t *engine_of, uint32_t op)
{
    const struct hop_op *copy = hop_schedule_op(s->timeline->schedule, op);
    const struct hop_route *way = s->timeline->classes[s->timeline->class_of[op]].way;
    bool pulled = hop_op_engine_place(copy) == &copy->to;
    uint32_t device = pulled ? way->to : way->from;
    bool pcie = is_pcie(s, way->links[pulled ? way->link_count - 1 : 0]);
    uint32_t limit = s->options.sources_unlimited ? 0 : hop_node_engine_limit(hop_topology_node(s->timeline->topology, device), pcie);
    if (limit > 0)
        join_engine(s, engine_of, op, device, pcie ? ENGINE_PCIE : ENGINE_OTHER_LINKS,
                    (struct hop_engine){.limit = limit, .by_ready = s->queue_ready});
}

/* One engine a limited device and family (PCIe, the rest), in order of first use, then one a device's memory, then one a CPU;
 * queues in schedule order. */
static enum hop_status make_engines(struct hop_simulation *s, struct hop_diag *diag)
{
    struct hop_timeline *t = s->timeline;
    size_t most = ENGINES_A_DEVICE * (size_t)hop_topology_node_count(t->topology) + 1, works = 0;
    uint32_t *engine_of = malloc(most * sizeof *engine_of);
    for (uint32_t i = 0; i < s->count; i++)
        works += hop_op_computes(hop_schedule_op(t->schedule, i));
    s->engines = hop_arena_alloc(&s->arena, (most + works) * sizeof *s->engines);
    s->queue = hop_arena_alloc(&s->arena, ((size_t)s->count + 1) * sizeof *s->queue);
    if (!engine_of || s->arena.failed) {
        free(engine_of);
        return hop_fail_memory(diag);
    }
    memset(engine_of, 0xff, most * sizeof *engine_of);
    for (uint32_t i = 0; i < s->count; i++) {
        s->tasks[i].engine = HOP_NONE;
        if (t->class_of[i] != HOP_NONE)
            join_copy_engine(s, engine_of, i);
    }
    s->source_count = s->engine_count;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct hop_op *op = hop_schedule_op(t->schedule, i);
        if (t->class_of[i] == HOP_NONE && op->kind != HOP_OP_WORK)
            join_engine(s, engine_of, i, hop_topology_find(t->topology, op->to.device), ENGINE_MEMORY,
                        (struct hop_engine){.limit = 1, .by_ready = true});
    }
    free(engine_of);
    HOP_CHECK(join_cpus(s, diag));
    uint32_t start = 0;
    for (uint32_t e = 0; e < s->engine_count; e++) {
        s->engines[e].first = start;
        start += s->engines[e].count;
    }
    for (uint32_t i = 0; i < s->count; i++) {
        if (s->tasks[i].engine != HOP_NONE)
            s->queue[s->engines[s->tasks[i].engine].first + s->tasks[i].position] = i;
    }
    return HOP_OK;
}

/* ---- deadlocks ---- */

/* The i-th operation that one waits for: its dependencies, then the one before it in its engine's queue. */
static uint32_t waits_for(const void *context, uint32_t index, uint32_t i)
{
    const struct hop_simulation *s = context;
    const struct hop_op *op = hop_schedule_op(s->timeline->schedule, index);
    const struct hop_task *task = &s->tasks[index];
    if (i < op->after_count)
        return op->after[i];
    i -= op->after_count;
    if (i < op->after_start_count)
        return op->after_start[i];
    if (i > op->after_start_count || task->engine == HOP_NONE || task->position == 0 ||
        s->engines[task->engine].by_ready)
        return UINT32_MAX;
    return s->queue[s->engines[task->engine].first + task->position - 1];
}

static bool depends(const struct hop_op *op, uint32_t other)
{
    for (uint32_t i = 0; i < op->after_count + op->after_start_count; i++) {
        if ((i < op->after_count ? op->after[i] : op->after_start[i - op->after_count]) == other)
            return true;
    }
    return false;
}

/* Strict queues and dependencies together must leave an order. */
static enum hop_status check_deadlock(const struct hop_simulation *s, struct hop_diag *diag)
{
    enum { SHOWN = 8 };
    const struct hop_schedule *schedule = s->timeline->schedule;
    bool any = false;
    for (uint32_t i = 0; i < s->count && !any; i++)
        any = s->initially_blocked[i] > 0;
    if (s->queue_ready || !any)
        return HOP_OK;
    uint32_t *cycle, length;
    enum hop_status status = hop_cycle_find(s->count, waits_for, s, NULL, &cycle, &length, diag);
    if (status != HOP_OK || length == 0)
        return status;
    char text[640] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < length && i < SHOWN; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, cycle[i]);
        uint32_t other = cycle[(i + 1) % length];
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.24s %s %.24s", i ? ", " : "", op->name,
                                 depends(op, other) ? "waits for" : "is queued behind",
                                 hop_schedule_op(schedule, other)->name);
    }
    hop_fail(
        diag, HOP_ERR_DEADLOCK,
        "deadlock: %s%s\neach source's transfers in an order that their dependencies allow (or the line `queue ready`)",
        text, length > SHOWN ? ", ..." : "");
    at_place(schedule, cycle[0], 0, diag, HOP_ERR_DEADLOCK);
    free(cycle);
    return HOP_ERR_DEADLOCK;
}

/* ---- all together ---- */

static void make_tasks(struct hop_simulation *s)
{
    struct hop_timeline *t = s->timeline;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct hop_op *op = hop_schedule_op(t->schedule, i);
        struct hop_task *task = &s->tasks[i];
        task->class_index = t->class_of[i];
        task->bytes = (double)op->bytes;
        task->at_s = op->at_s;
        task->latency_s =
            t->class_of[i] != HOP_NONE ? t->classes[t->class_of[i]].way->latency_s : hop_timeline_alone_s(t, i);
        s->initially_blocked[i] = op->after_count + op->after_start_count + (op->at_s > 0);
    }
}

/* Operations that begin a run: those that wait for nothing but time, and those that wait for nothing and stand in no strict queue.
 * Strict queues are served anyway, and their ready times stay 0. */
static void make_initial(struct hop_simulation *s)
{
    for (uint32_t i = 0; i < s->count; i++) {
        uint32_t engine = s->tasks[i].engine;
        bool timed = s->tasks[i].at_s > 0, queued = engine != HOP_NONE && !s->engines[engine].by_ready;
        if (timed || (s->initially_blocked[i] == 0 && !queued))
            s->initial[s->initial_count++] = i;
    }
}

static enum hop_status lower(struct hop_simulation *s, const struct hop_schedule *schedule, struct hop_diag *diag)
{
    bool needed = false, any = false;
    for (uint32_t i = 0; i < hop_schedule_count(schedule) && !any; i++) {
        needed = needed || hop_op_needs_lowering(hop_schedule_op(schedule, i));
        any = hop_op_takes_any(hop_schedule_op(schedule, i));
    }
    s->timeline->original = s->timeline->schedule = schedule;
    if (!needed)
        return HOP_OK;
    struct hop_schedule *settled = NULL;
    if (any)
        HOP_CHECK(hop_messages_settle(s->network, schedule, &settled, diag));
    enum hop_status status =
        hop_schedule_lower(any ? settled : schedule, s->timeline->topology, &s->timeline->lowered, diag);
    hop_schedule_destroy(settled);
    if (status == HOP_OK)
        s->timeline->schedule = s->timeline->lowered;
    return status;
}

static bool allocate_run(struct hop_simulation *s)
{
    size_t count = (size_t)s->count + 1, classes = (size_t)s->timeline->class_count + 1;
    size_t clocks =
        s->timeline->class_count + (s->following ? 2 * (size_t)hop_topology_link_count(s->timeline->topology) : 0);
    s->blocked = hop_arena_alloc(&s->arena, count * sizeof *s->blocked);
    s->met = hop_arena_alloc(&s->arena, count * sizeof *s->met);
    s->done = hop_arena_alloc(&s->arena, count * sizeof *s->done);
    s->timers = hop_arena_alloc(&s->arena, 2 * count * sizeof *s->timers);
    s->heap = hop_arena_alloc(&s->arena, count * sizeof *s->heap);
    s->ready = hop_arena_alloc(&s->arena, count * sizeof *s->ready);
    s->touched = hop_arena_alloc(&s->arena, ((size_t)s->engine_count + 1) * sizeof *s->touched);
    s->lanes = hop_arena_alloc(&s->arena, classes * sizeof *s->lanes);
    s->clocks = hop_arena_alloc(&s->arena, (clocks + 1) * sizeof *s->clocks);
    s->changed = hop_arena_alloc(&s->arena, (clocks + 1) * sizeof *s->changed);
    s->due_clocks = hop_arena_alloc(&s->arena, (clocks + 1) * sizeof *s->due_clocks);
    s->clock_count = (uint32_t)clocks;
    s->flows = hop_arena_alloc(&s->arena, classes * sizeof *s->flows);
    s->active = hop_arena_alloc(&s->arena, classes * sizeof *s->active);
    s->moved = hop_arena_alloc(&s->arena, classes * sizeof *s->moved);
    s->due = hop_arena_alloc(&s->arena, classes * sizeof *s->due);
    s->times = s->timeline->times;
    hop_ends_init(&s->ends, s->clock_count, &s->arena);
    if (s->arena.failed)
        return false;
    for (uint32_t i = 0; i < s->count; i++) { /* each lane's part of the heap is as long as its operations */
        if (s->timeline->class_of[i] != HOP_NONE)
            s->lanes[s->timeline->class_of[i]].count++;
    }
    uint32_t start = 0;
    for (uint32_t c = 0; c < s->timeline->class_count; c++) {
        s->lanes[c].heap = start;
        s->lanes[c].route = s->timeline->classes[c].route;
        s->lanes[c].open = s->lanes[c].clock = HOP_NONE;
        start += s->lanes[c].count;
        s->lanes[c].count = 0;
    }
    return true;
}

enum hop_status hop_simulation_prepare(struct hop_simulation *s, const struct hop_schedule *schedule,
                                       struct hop_diag *diag)
{
    struct hop_timeline *t = s->timeline;
    t->topology = hop_network_topology(s->network);
    t->network = s->network;
    t->detail = s->options.detail;
    hop_timeline_read_rates(t);
    HOP_CHECK(lower(s, schedule, diag));
    s->count = hop_schedule_count(t->schedule);
    s->queue_ready = hop_schedule_queue_ready(t->schedule);
    s->tasks = hop_arena_alloc(&s->arena, ((size_t)s->count + 2) * sizeof *s->tasks);
    t->class_of = malloc(((size_t)s->count + 1) * sizeof *t->class_of);
    t->times = calloc((size_t)s->count + 1, sizeof *t->times);
    s->initially_blocked = hop_arena_alloc(&s->arena, ((size_t)s->count + 1) * sizeof *s->initially_blocked);
    s->initial = hop_arena_alloc(&s->arena, ((size_t)s->count + 1) * sizeof *s->initial);
    if (s->arena.failed || !t->class_of || !t->times)
        return hop_fail_memory(diag);
    HOP_CHECK(find_routes(s, diag));
    HOP_CHECK(make_classes(s, diag));
    HOP_CHECK(make_engines(s, diag));
    HOP_CHECK(hop_users_make(t->schedule, false, &s->tasks->first_user, sizeof *s->tasks, &s->arena, &s->users, diag));
    HOP_CHECK(hop_users_make(t->schedule, true, &s->tasks->first_start_user, sizeof *s->tasks, &s->arena,
                             &s->start_users, diag));
    make_tasks(s);
    make_initial(s);
    HOP_CHECK(check_deadlock(s, diag));
    if (t->class_count > FEW) /* see simulation.h */
        HOP_CHECK(hop_active_create(s->network, &s->following, diag));
    return allocate_run(s) ? HOP_OK : hop_fail_memory(diag);
}
