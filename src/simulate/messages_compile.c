/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compiling a schedule for model loggp: processes, clocks, lines, channels and costs are found through tables of keys
 * and numbered; an operation becomes 32 bytes of such numbers.
 */
#include "simulate/messages.h"

#include <math.h>
#include <stdio.h>

#include "schedule/processes.h"
#include "schedule/schedule.h"
#include "simulate/users.h"

/* ISO C has no such type; both compilers that we build with do. */
__extension__ typedef unsigned __int128 wide;

/* What a key of two words stands for, by kind. */
enum key_kind {
    KEY_CPU,
    KEY_NIC_OUT,
    KEY_NIC_IN,
    KEY_WORKS,
    KEY_SENDS,
    KEY_MESSAGES,
    KEY_CHANNEL,
    KEY_COST,
    KEY_DURATION
};

struct compiler {
    struct hop_messages *m;
    const struct hop_topology *topology;
    struct hop_processes processes;
    struct hop_keys channels,
        others; /* apart, since channels may be millions and the others are few and asked for often */
    uint64_t o, g, L, R, S;
    wide G, O, A, E; /* 1e-21 s a byte */
    struct hop_diag *diag;
};

/* ---- times ---- */

/* Whole nanoseconds stay whole; the rest is rounded to picoseconds. */
static bool to_ps(double seconds, uint64_t *ps)
{
    double ns = seconds * 1e9, whole = nearbyint(ns);
    if (!(seconds >= 0 && seconds < (double)HOP_CLOCK_LIMIT * 1e-12))
        return false;
    if (fabs(ns - whole) <= whole * 4.5e-16)
        *ps = (uint64_t)whole * 1000;
    else
        *ps = (uint64_t)(seconds * 1e12 + 0.5);
    return *ps <= HOP_CLOCK_LIMIT;
}

/* Whole picoseconds a byte stay whole. */
static wide per_byte(double seconds)
{
    double ps = seconds * 1e12, whole = nearbyint(ps);
    if (fabs(ps - whole) <= whole * 1e-12)
        return (wide)whole * 1000000000;
    return (wide)(seconds * 1e21 + 0.5);
}

static bool times_bytes(wide per_byte, uint64_t bytes, uint64_t *ps)
{
    const wide most = (wide)HOP_CLOCK_LIMIT * 1000000000;
    if (bytes && per_byte > most / bytes)
        return false;
    *ps = (uint64_t)((per_byte * bytes + 500000000) / 1000000000);
    return true;
}

static bool add_bytes(uint64_t base, wide per_byte, uint64_t bytes, uint64_t *ps)
{
    uint64_t more;
    if (bytes > 0) { /* the first byte is in the base */
        if (!times_bytes(per_byte, bytes - 1, &more) || base + more > HOP_CLOCK_LIMIT)
            return false;
        *ps = base + more;
        return true;
    }
    if (!times_bytes(
            per_byte, 1,
            &more)) /* an empty message takes one byte's time less, as LogGOPSim has it, but never less than none */
        return false;
    *ps = base > more ? base - more : 0;
    return true;
}

static bool message_cost(const struct compiler *c, uint64_t bytes, struct hop_cost *cost)
{
    wide slower = c->G > c->O ? c->G : c->O;
    uint64_t more = bytes ? bytes - 1 : 0;
    if (bytes == 0) /* both count with less than no byte, and 0 is the least of all */
        slower = c->O == 0 ? c->G : c->G == 0 ? c->O : c->G < c->O ? c->G : c->O;
    if (bytes && !cost->rendezvous && slower < c->E)
        slower = c->E;
    if (!cost->rendezvous && !times_bytes(c->E, more, &cost->late))
        return false;
    return add_bytes(c->o + cost->late, c->O, bytes, &cost->cpu) && add_bytes(c->g, c->G, bytes, &cost->nic) &&
           add_bytes(c->o + (cost->rendezvous ? c->R : 0), slower, bytes, &cost->take) &&
           times_bytes(c->A, more, &cost->back);
}

static enum hop_status too_long(const struct compiler *c, uint32_t op)
{
    char place[192];
    hop_fail(c->diag, HOP_ERR_LIMIT, "'%s' takes too long\nat most 53 days", hop_schedule_op(c->m->schedule, op)->name);
    hop_diag_place(c->diag, "%s", hop_schedule_place(c->m->schedule, op, 0, place, sizeof place));
    return HOP_ERR_LIMIT;
}

static enum hop_status read_parameters(struct compiler *c)
{
    static const char *const names[] = {"loggp_L", "loggp_o", "loggp_g", "loggp_R"};
    uint64_t *const times[] = {&c->L, &c->o, &c->g, &c->R};
    for (size_t i = 0; i < HOP_COUNT(names); i++) {
        if (!to_ps(hop_topology_parameter(c->topology, names[i])->value, times[i]))
            return hop_fail(c->diag, HOP_ERR_LIMIT, "parameter %s is too long\nat most 53 days", names[i]);
    }
    c->G = per_byte(hop_topology_parameter(c->topology, "loggp_G")->value);
    c->O = per_byte(hop_topology_parameter(c->topology, "loggp_O")->value);
    c->A = per_byte(hop_topology_parameter(c->topology, "loggp_G")->value *
                    hop_topology_parameter(c->topology, "loggp_A")->value);
    c->E = per_byte(hop_topology_parameter(c->topology, "loggp_E")->value);
    c->S = (uint64_t)hop_topology_parameter(c->topology, "loggp_S")->value;
    c->m->delay = c->o + c->L;
    c->m->overhead = c->o;
    c->m->reads = c->R > 0;
    return HOP_OK;
}

/* ---- processes ---- */

static uint32_t process_of(struct compiler *c, const struct hop_place *place, uint32_t op)
{
    struct hop_messages *m = c->m;
    uint32_t found = hop_process_of(&c->processes, place);
    if (found != m->process_count || found == HOP_NONE)
        return found;
    if (!HOP_GROW(&m->arena, m->processes, (size_t)found + 1))
        return HOP_NONE;
    m->processes[m->process_count++] =
        (struct hop_party){place->rank >= 0 ? place->rank : -1, place->device, op, found};
    return found;
}

/* A copy within one process is work of its CPU, as a reduction is; between processes of one device it is a message. */
static enum hop_op_kind acts_as(const struct hop_op *op)
{
    bool within = op->from.rank == op->to.rank && (op->from.rank >= 0 || op->from.device == op->to.device);
    return op->kind == HOP_OP_COPY && within ? HOP_OP_REDUCE : op->kind;
}

/* Where an operation runs, and for what moves, where it goes to (a receive: where it comes from). */
static const struct hop_place *home_of(const struct hop_op *op)
{
    return op->kind == HOP_OP_RECEIVE || op->kind == HOP_OP_REDUCE ? &op->to : &op->from;
}

static const struct hop_place *peer_of(const struct hop_op *op)
{
    return op->kind == HOP_OP_RECEIVE ? &op->from : &op->to;
}

static bool has_peer(enum hop_op_kind kind)
{
    return kind == HOP_OP_COPY || kind == HOP_OP_SEND || kind == HOP_OP_RECEIVE;
}

/* The model knows no links, so ranks need no placement. */
static enum hop_status check_device(const struct compiler *c, const struct hop_party *process)
{
    char place[192];
    bool known = hop_topology_find(c->topology, process->device) != HOP_NONE;
    if (!known && process->rank >= 0)
        return HOP_OK;
    enum hop_status status = hop_topology_device(c->topology, process->device, NULL, c->diag);
    if (status != HOP_OK)
        hop_diag_place(c->diag, "%s", hop_schedule_place(c->m->schedule, process->first, 0, place, sizeof place));
    return status;
}

static int by_rank(const void *a, const void *b)
{
    const struct hop_party *x = a, *y = b;
    if (x->rank != y->rank)
        return (uint32_t)x->rank < (uint32_t)y->rank ? -1 : 1; /* -1, none, is the last */
    return x->appeared < y->appeared ? -1 : x->appeared > y->appeared;
}

/* far_line holds the peer until there are lines. */
static enum hop_status find_processes(struct compiler *c)
{
    struct hop_messages *m = c->m;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct hop_op *op = hop_schedule_op(m->schedule, i);
        m->actions[i].process = process_of(c, home_of(op), i);
        m->actions[i].far_line = has_peer(m->actions[i].kind) ? process_of(c, peer_of(op), i) : 0;
        if (m->actions[i].process == HOP_NONE || m->actions[i].far_line == HOP_NONE)
            return hop_fail_memory(c->diag);
    }
    enum hop_status status = HOP_OK;
    for (uint32_t p = 0; p < m->process_count && status == HOP_OK; p++)
        status = check_device(c, &m->processes[p]);
    return status;
}

/* Ranks in their order, then devices in that of appearance. */
static enum hop_status order_processes(struct compiler *c)
{
    struct hop_messages *m = c->m;
    uint32_t *fresh = malloc(((size_t)m->process_count + 1) * sizeof *fresh);
    if (!fresh)
        return hop_fail_memory(c->diag);
    if (m->process_count)
        qsort(m->processes, m->process_count, sizeof *m->processes, by_rank);
    for (uint32_t p = 0; p < m->process_count; p++)
        fresh[m->processes[p].appeared] = p;
    for (uint32_t i = 0; i < m->count; i++) {
        m->actions[i].process = fresh[m->actions[i].process];
        if (has_peer(m->actions[i].kind))
            m->actions[i].far_line = fresh[m->actions[i].far_line];
    }
    free(fresh);
    return HOP_OK;
}

/* ---- clocks, lines, channels, costs ---- */

static uint32_t clock_of(struct compiler *c, enum key_kind kind, uint32_t process, uint32_t number)
{
    struct hop_messages *m = c->m;
    uint32_t found = hop_keys_number(&c->others, kind, process, number, m->clock_count);
    if (found != m->clock_count || found == HOP_NONE)
        return found;
    if (!HOP_GROW(&m->arena, m->clock_process, (size_t)found + 1))
        return HOP_NONE;
    m->clock_process[m->clock_count++] = kind == KEY_CPU ? process : HOP_NONE;
    return found;
}

static uint32_t line_of(struct compiler *c, enum key_kind kind, uint32_t process, uint32_t cpu, uint32_t nic)
{
    struct hop_messages *m = c->m;
    uint32_t found = hop_keys_number(&c->others, kind, process, (uint64_t)cpu << 32 | nic, m->line_count);
    if (found != m->line_count || found == HOP_NONE)
        return found;
    if (!HOP_GROW(&m->arena, m->lines, (size_t)found + 1))
        return HOP_NONE;
    struct hop_line line = {clock_of(c, KEY_CPU, process, cpu), 0, 0, HOP_NONE, HOP_NONE};
    if (kind != KEY_WORKS)
        line.nic = clock_of(c, kind == KEY_SENDS ? KEY_NIC_OUT : KEY_NIC_IN, process, nic);
    if (kind != KEY_WORKS && c->A > 0)
        line.back = clock_of(c, kind == KEY_SENDS ? KEY_NIC_IN : KEY_NIC_OUT, process, nic);
    if (line.cpu == HOP_NONE || line.nic == HOP_NONE || line.back == HOP_NONE)
        return HOP_NONE;
    m->lines[m->line_count++] = line;
    return found;
}

/* An open one is followed by that of its messages. */
static uint32_t channel_of(struct compiler *c, uint32_t from, uint32_t to, uint32_t tag, bool open)
{
    struct hop_messages *m = c->m;
    if (open) {
        uint32_t found = hop_keys_number(&c->channels, KEY_CHANNEL, (uint64_t)HOP_NONE << 32 | to, 0, m->channel_count);
        m->channel_count += found == m->channel_count ? 2 : 0;
        return found;
    }
    uint32_t found = hop_keys_number(&c->channels, KEY_CHANNEL, (uint64_t)from << 32 | to, tag, m->channel_count);
    if (found == m->channel_count && found != HOP_NONE)
        m->channel_count++;
    return found;
}

static enum hop_status cost_of(struct compiler *c, uint32_t index, const struct hop_op *op, uint32_t *found)
{
    struct hop_messages *m = c->m;
    bool moves = has_peer(m->actions[index].kind);
    struct hop_cost cost = {0};
    if (!moves) {
        double duration_s = op->kind == HOP_OP_WORK ? op->duration_s : hop_timeline_local_s(m->timeline, op);
        if (!to_ps(duration_s, &cost.cpu))
            return too_long(c, index);
    }
    *found = hop_keys_number(&c->others, moves ? KEY_COST : KEY_DURATION, moves ? op->bytes : cost.cpu, op->eager,
                             m->cost_count);
    if (*found != m->cost_count && *found != HOP_NONE)
        return HOP_OK;
    if (*found == HOP_NONE || !HOP_GROW(&m->arena, m->costs, (size_t)*found + 1))
        return hop_fail_memory(c->diag);
    cost.rendezvous = moves && !op->eager && op->bytes > c->S;
    if (moves && !message_cost(c, op->bytes, &cost))
        return too_long(c, index);
    m->costs[m->cost_count++] = cost;
    return HOP_OK;
}

/* A message is taken by the CPU and NIC of the numbers that sent it. */
static enum hop_status compile_op(struct compiler *c, uint32_t index)
{
    struct hop_messages *m = c->m;
    struct hop_action *action = &m->actions[index];
    const struct hop_op *op = hop_schedule_op(m->schedule, index);
    uint32_t peer = action->far_line;
    enum hop_status status = cost_of(c, index, op, &action->cost);
    action->far_line = action->channel = 0;
    if (action->kind == HOP_OP_SEND || action->kind == HOP_OP_COPY) {
        action->line = line_of(c, KEY_SENDS, action->process, op->cpu, op->nic);
        action->far_line = line_of(c, KEY_MESSAGES, peer, op->cpu, op->nic);
    } else {
        action->line = line_of(c, KEY_WORKS, action->process, op->cpu, 0);
    }
    if (op->kind == HOP_OP_RECEIVE)
        action->far_line = line_of(c, KEY_SENDS, peer, op->cpu, op->nic);
    if (op->kind == HOP_OP_SEND)
        action->channel = channel_of(c, action->process, peer, op->tag, action->open);
    if (op->kind == HOP_OP_RECEIVE)
        action->channel = channel_of(c, peer, action->process, op->tag, action->open);
    bool fine = action->line != HOP_NONE && action->far_line != HOP_NONE && action->channel != HOP_NONE;
    return status != HOP_OK || fine ? status : hop_fail_memory(c->diag);
}

/* Before far_line is that of a line. */
static enum hop_status find_open(struct compiler *c)
{
    struct hop_messages *m = c->m;
    bool *open = calloc((size_t)m->process_count + 1, sizeof *open);
    if (!open)
        return hop_fail_memory(c->diag);
    for (uint32_t i = 0; i < m->count; i++) {
        if (hop_op_takes_any(hop_schedule_op(m->schedule, i)))
            open[m->actions[i].process] = true;
    }
    for (uint32_t i = 0; i < m->count; i++) {
        struct hop_action *action = &m->actions[i];
        action->open = (action->kind == HOP_OP_RECEIVE && open[action->process]) ||
                       (action->kind == HOP_OP_SEND && open[action->far_line]);
    }
    free(open);
    return HOP_OK;
}

/* ---- dependencies ---- */

/* Where an operation ends: a put, at its receiver. */
static uint32_t end_process(const struct hop_messages *m, uint32_t op)
{
    const struct hop_action *action = &m->actions[op];
    return action->kind == HOP_OP_COPY ? m->clock_process[m->lines[action->far_line].cpu] : action->process;
}

/* Timed is what has an earliest start or waits for another process. */
static enum hop_status mark_timed(struct compiler *c)
{
    struct hop_messages *m = c->m;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct hop_op *op = hop_schedule_op(m->schedule, i);
        bool timed = op->at_s > 0;
        for (uint32_t d = 0; d < op->after_count && !timed; d++)
            timed = end_process(m, op->after[d]) != m->actions[i].process;
        for (uint32_t d = 0; d < op->after_start_count && !timed; d++)
            timed = m->actions[op->after_start[d]].process != m->actions[i].process;
        m->actions[i].timed = timed;
        if (timed && !m->initially_not_before)
            m->initially_not_before = hop_arena_alloc(&m->arena, m->count * sizeof *m->initially_not_before);
        if (timed && !m->initially_not_before)
            return hop_fail_memory(c->diag);
        if (timed && !to_ps(op->at_s, &m->initially_not_before[i]))
            return too_long(c, i);
        m->initially_blocked[i] = op->after_count + op->after_start_count;
    }
    return HOP_OK;
}

/* What begins a run: by process, kind and schedule order, by counting. */
static enum hop_status find_initial(struct compiler *c)
{
    struct hop_messages *m = c->m;
    uint32_t classes = m->process_count * HOP_CLASSES;
    uint32_t *first = calloc((size_t)classes + 2, sizeof *first);
    if (!first)
        return hop_fail_memory(c->diag);
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->initially_blocked[i] == 0)
            first[hop_action_class(&m->actions[i]) + 1]++;
    }
    for (uint32_t k = 0; k < classes; k++)
        first[k + 1] += first[k];
    m->initial_count = first[classes];
    for (uint32_t i = 0; i < m->count; i++) {
        if (m->initially_blocked[i] == 0)
            m->initial[first[hop_action_class(&m->actions[i])]++] = i;
    }
    free(first);
    return HOP_OK;
}

/* ---- all together ---- */

static bool allocate(struct hop_messages *m)
{
    size_t count = (size_t)m->count + 1;
    bool shown = m->options.detail != HOP_DETAIL_NONE, noted = shown || m->initially_not_before;
    m->channels = hop_arena_alloc(&m->arena, ((size_t)m->channel_count + 1) * sizeof *m->channels);
    m->states = hop_arena_alloc(&m->arena, count * sizeof *m->states);
    m->clocks = hop_arena_alloc(&m->arena, ((size_t)m->clock_count + 1) * sizeof *m->clocks);
    m->freed = hop_arena_alloc(&m->arena, count * sizeof *m->freed);
    m->order = hop_arena_alloc(&m->arena, count * sizeof *m->order);
    if (m->initially_not_before)
        m->not_before = hop_arena_alloc(&m->arena, count * sizeof *m->not_before);
    if (m->reads)
        m->read_until = hop_arena_alloc(&m->arena, count * sizeof *m->read_until);
    if (noted) {
        m->notes = hop_arena_alloc(&m->arena, count * sizeof *m->notes);
        m->clock_by = hop_arena_alloc(&m->arena, ((size_t)m->clock_count + 1) * sizeof *m->clock_by);
    }
    if (shown)
        m->timeline->times = calloc(count, sizeof *m->timeline->times);
    return !m->arena.failed && (!shown || m->timeline->times);
}

static enum hop_status compile(struct compiler *c)
{
    struct hop_messages *m = c->m;
    m->actions = hop_arena_alloc(&m->arena, ((size_t)m->count + 1) * sizeof *m->actions);
    m->initial = hop_arena_alloc(&m->arena, ((size_t)m->count + 1) * sizeof *m->initial);
    m->initially_blocked = hop_arena_alloc(&m->arena, ((size_t)m->count + 1) * sizeof *m->initially_blocked);
    if (m->arena.failed || clock_of(c, KEY_NIC_IN, HOP_NONE, 0) != 0)
        return hop_fail_memory(c->diag);
    for (uint32_t i = 0; i < m->count; i++)
        m->actions[i].kind = (uint8_t)acts_as(hop_schedule_op(m->schedule, i));
    HOP_CHECK(read_parameters(c));
    HOP_CHECK(find_processes(c));
    HOP_CHECK(order_processes(c));
    HOP_CHECK(find_open(c));
    for (uint32_t i = 0; i < m->count; i++)
        HOP_CHECK(compile_op(c, i));
    HOP_CHECK(
        hop_users_make(m->schedule, false, &m->actions->first_user, sizeof *m->actions, &m->arena, &m->users, c->diag));
    HOP_CHECK(hop_users_make(m->schedule, true, &m->actions->first_start_user, sizeof *m->actions, &m->arena,
                             &m->start_users, c->diag));
    HOP_CHECK(mark_timed(c));
    HOP_CHECK(find_initial(c));
    return allocate(m) ? HOP_OK : hop_fail_memory(c->diag);
}

enum hop_status hop_messages_compile(struct hop_messages *m, struct hop_network *network, struct hop_diag *diag)
{
    struct compiler c = {.m = m, .topology = hop_network_topology(network), .diag = diag};
    enum hop_status status = compile(&c);
    hop_processes_finish(&c.processes);
    hop_keys_finish(&c.channels);
    hop_keys_finish(&c.others);
    return status;
}
