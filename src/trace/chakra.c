/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chakra traces as a schedule. Operations stand in this order:
 *
 *     the nodes of rank 0, of rank 1, ...       r0.n5.NAME: one a node, it ends when the node ends
 *     the messages of collective 0, of 1, ...   c0.r1: rank 1 enters; c0.m3.send, c0.m3.receive; c0.m3: a join
 *
 * A collective's node is work of no time behind all messages from and to its rank; these wait for what the node waits
 * for. A send of a collective also waits for what its step does.
 *
 * A collective of one rank has no messages: its node is work for the time that was recorded.
 *
 * Work of one stream, or of one thread of the host, is done one after the other: each is a CPU. Joins have one of their own.
 */
#include "trace/chakra.h"

#include <stdio.h>

#include "schedule/schedule.h"

enum { CPU_HOST = 0, CPU_JOIN = 1, CPU_FURTHER = 2, LANE_LIMIT = 1024 };

struct builder {
    struct hop_chakra_trace *traces;
    uint32_t ranks;
    uint32_t *first; /* operation of each rank's first node */
    struct hop_chakra_collectives collectives;
    uint32_t tag; /* of the first collective: above those of the traces' own messages */
    struct hop_schedule *schedule;
    struct hop_failure *failure; /* the schedule's */
    struct hop_arena arena;
    uint32_t *after;                                             /* what the operation at hand waits for */
    uint32_t untimed[HOP_CHAKRA_TYPES], types[HOP_CHAKRA_TYPES]; /* nodes */
    uint32_t alone, alone_untimed;                               /* collectives of one rank */
    struct lane {
        bool host; /* a thread of the host, else a stream */
        int64_t number;
    } lanes[LANE_LIMIT]; /* of the rank at hand, in order of appearance: all but the first thread */
    uint32_t lane_count;
    bool has_thread;
    int64_t first_thread;
};

static const char *const type_names[HOP_CHAKRA_TYPES] = {
    "INVALID",   "METADATA",  "MEM_LOAD", "MEM_STORE", "COMP",       "COMM_SEND",
    "COMM_RECV", "COMM_COLL", "STORAGE",  "BATCH",     "CHECKPOINT",
};

static struct hop_place rank_place(uint32_t rank, char name[24])
{
    (void)snprintf(name, 24, "rank%u", rank);
    return (struct hop_place){.device = name, .rank = rank};
}

static bool is_fine(const struct builder *b)
{
    return b->failure->status == HOP_OK;
}

/* ---- collectives: which operation is which ---- */

static bool is_join(const struct hop_collective_step *step)
{
    return step->from == step->to;
}

static const struct hop_chakra_node *node_of(const struct builder *b, const struct hop_chakra_collective *c,
                                             uint32_t member)
{
    return &b->traces[c->ranks[member]].nodes[c->nodes[member]];
}

/* The operation, of a step, that ends when it is through at its member `to`. */
static uint32_t arrival(const struct hop_chakra_collective *c, uint32_t step)
{
    return c->step_ops[step] + !is_join(&c->steps.steps[step]);
}

/* Which operations each member leaves with: its sends and receives. */
static void list_exits(struct builder *b, struct hop_chakra_collective *c)
{
    struct hop_arena *arena = &b->collectives.arena;
    uint32_t n = c->what.members, messages = 0;
    for (uint32_t s = 0; s < c->steps.count; s++)
        messages += !is_join(&c->steps.steps[s]);
    c->exit_first = hop_arena_alloc(arena, ((size_t)n + 2) * sizeof *c->exit_first);
    c->exit_ops = hop_arena_alloc(arena, (size_t)messages * 2 * sizeof *c->exit_ops);
    if (!hop_failure_none(b->failure, c->exit_first && c->exit_ops))
        return;
    for (uint32_t s = 0; s < c->steps.count; s++) {
        const struct hop_collective_step *step = &c->steps.steps[s];
        c->exit_first[step->from + 2] += !is_join(step);
        c->exit_first[step->to + 2] += !is_join(step);
    }
    for (uint32_t m = 2; m < n + 2; m++)
        c->exit_first[m] += c->exit_first[m - 1];
    for (uint32_t s = 0; s < c->steps.count; s++) { /* exit_first[m + 1] moves from the start of member m to its end */
        const struct hop_collective_step *step = &c->steps.steps[s];
        if (is_join(step))
            continue;
        c->exit_ops[c->exit_first[step->from + 1]++] = c->step_ops[s];
        c->exit_ops[c->exit_first[step->to + 1]++] = c->step_ops[s] + 1;
    }
}

/* Expands, and numbers its operations from *next on. */
static void plan_collective(struct builder *b, struct hop_chakra_collective *c, uint64_t *next)
{
    struct hop_arena *arena = &b->collectives.arena;
    uint32_t n = c->what.members;
    b->failure->status = hop_collective_expand(&c->what, &c->steps, b->failure->diag);
    c->enter = hop_arena_alloc(arena, n * sizeof *c->enter);
    c->step_ops = hop_arena_alloc(arena, ((size_t)c->steps.count + 1) * sizeof *c->step_ops);
    if (!hop_failure_none(b->failure, c->enter && c->step_ops)) {
        hop_chakra_place(&b->traces[c->ranks[0]], node_of(b, c, 0), b->failure);
        return;
    }
    for (uint32_t m = 0; m < n; m++) {
        bool join = c->steps.count > 0 && node_of(b, c, m)->after_count > 1;
        c->enter[m] = join ? (uint32_t)(*next)++ : HOP_NONE;
    }
    for (uint32_t s = 0; s < c->steps.count; s++) {
        c->step_ops[s] = (uint32_t)*next;
        *next += is_join(&c->steps.steps[s]) ? 1 : 2;
    }
    if (*next > HOP_OP_LIMIT)
        hop_failure_set(b->failure, HOP_ERR_LIMIT, "the traces become more than %u operations", HOP_OP_LIMIT);
    hop_chakra_place(&b->traces[c->ranks[0]], node_of(b, c, 0), b->failure);
    if (is_fine(b))
        list_exits(b, c);
}

static void plan(struct builder *b)
{
    uint64_t next = 0, tag = 0;
    for (uint32_t r = 0; r < b->ranks && is_fine(b); r++) {
        b->first[r] = (uint32_t)next;
        next += b->traces[r].count;
        if (next > HOP_OP_LIMIT)
            hop_failure_set(b->failure, HOP_ERR_LIMIT, "the traces have more than %u nodes", HOP_OP_LIMIT);
        hop_failure_place(b->failure, "%.180s", b->traces[r].file);
        for (uint32_t i = 0; i < b->traces[r].count; i++) {
            int64_t own = b->traces[r].nodes[i].numbers[HOP_CHAKRA_COMM_TAG];
            tag = own >= 0 && (uint64_t)own + 1 > tag ? (uint64_t)own + 1 : tag;
        }
    }
    if (tag + b->collectives.count > UINT32_MAX)
        hop_failure_set(
            b->failure, HOP_ERR_LIMIT,
            "the traces' tags leave none for %u collectives\ncomm_tag below 4294967295 less the number of collectives",
            b->collectives.count);
    hop_failure_place(b->failure, "%.180s", b->traces[0].file);
    b->tag = (uint32_t)tag;
    for (uint32_t i = 0; i < b->collectives.count && is_fine(b); i++)
        plan_collective(b, &b->collectives.list[i], &next);
}

/* ---- nodes ---- */

static struct hop_op work(struct hop_place place, uint16_t cpu, double duration_s)
{
    struct hop_op op = hop_op_default(HOP_OP_WORK);
    op.from = op.to = place;
    op.cpu = cpu;
    op.duration_s = duration_s;
    return op;
}

/* It waits for what the node does. */
static void add_behind(struct builder *b, uint32_t rank, const struct hop_chakra_node *node, struct hop_op *op)
{
    if (!hop_failure_none(b->failure, HOP_GROW(&b->arena, b->after, node->after_count + 1)))
        return;
    for (uint32_t i = 0; i < node->after_count; i++)
        b->after[i] = b->first[rank] + node->after[i];
    op->after = b->after;
    op->after_count = node->after_count;
    (void)hop_schedule_add(b->schedule, op);
}

/* What of its device's a node computes on: a thread of the host, or its stream. */
static uint16_t cpu_of(struct builder *b, const struct hop_chakra_node *node)
{
    bool host = node->numbers[HOP_CHAKRA_CPU_OP] == 1;
    int64_t number = node->numbers[host ? HOP_CHAKRA_THREAD : HOP_CHAKRA_STREAM];
    if (host && !b->has_thread)
        b->first_thread = number;
    b->has_thread = b->has_thread || host;
    if (host && number == b->first_thread)
        return CPU_HOST;
    uint32_t i = 0;
    while (i < b->lane_count && (b->lanes[i].host != host || b->lanes[i].number != number))
        i++;
    if (i == b->lane_count && i < LANE_LIMIT)
        b->lanes[b->lane_count++] = (struct lane){host, number};
    return (uint16_t)(CPU_FURTHER + (i < LANE_LIMIT ? i : LANE_LIMIT - 1));
}

/* A message: its own end is its rank, the other one is named. */
static void make_message(const struct builder *b, uint32_t rank, const struct hop_chakra_node *node, struct hop_op *op,
                         char other_name[24])
{
    bool sends = node->type == HOP_CHAKRA_SEND;
    const char *verb = sends ? "send" : "receive", *way = sends ? "to" : "from";
    int64_t own = node->numbers[sends ? HOP_CHAKRA_COMM_SRC : HOP_CHAKRA_COMM_DST];
    int64_t other = node->numbers[sends ? HOP_CHAKRA_COMM_DST : HOP_CHAKRA_COMM_SRC];
    int64_t size = node->numbers[HOP_CHAKRA_COMM_SIZE], tag = node->numbers[HOP_CHAKRA_COMM_TAG];
    if (own >= 0 && own != rank)
        hop_failure_set(b->failure, HOP_ERR_INVALID,
                        "a %s of rank %lld stands in the trace of rank %u\ncomm_%s of this rank", verb, (long long)own,
                        rank, sends ? "src" : "dst");
    if (other < 0)
        hop_failure_set(b->failure, HOP_ERR_INVALID, "a %s says nothing of its comm_%s\nanother rank that has a trace",
                        verb, sends ? "dst" : "src");
    if (other == rank)
        hop_failure_set(b->failure, HOP_ERR_INVALID, "a %s %s its own rank\nanother rank that has a trace", verb, way);
    if (other >= b->ranks)
        hop_failure_set(b->failure, HOP_ERR_INVALID,
                        "a %s %s rank %lld, but there are %u traces\nanother rank that has a trace", verb, way,
                        (long long)other, b->ranks);
    if (size < 0)
        hop_failure_set(b->failure, HOP_ERR_INVALID,
                        "a %s says nothing of its comm_size\nan attribute comm_size, in bytes", verb);
    struct hop_place here = op->from, there = rank_place((uint32_t)other, other_name);
    *op = hop_op_default(sends ? HOP_OP_SEND : HOP_OP_RECEIVE);
    op->from = sends ? here : there;
    op->to = sends ? there : here;
    op->bytes = (uint64_t)size;
    op->tag = tag < 0 ? 0 : (uint32_t)tag;
    op->eager = sends; /* a node of a trace hands over, and does not wait for who takes it */
}

static void add_node(struct builder *b, uint32_t rank, const struct hop_chakra_node *node)
{
    char device[24], other[24], name[HOP_OP_NAME_LIMIT + 1];
    const struct hop_chakra_collective *c =
        node->type == HOP_CHAKRA_COLLECTIVE ? &b->collectives.list[node->collective] : NULL;
    bool alone = c && c->what.members == 1;
    double duration_s = (!c || alone) && node->duration_s > 0 ? node->duration_s : 0;
    struct hop_op op = work(rank_place(rank, device), duration_s == 0 ? CPU_JOIN : cpu_of(b, node), duration_s);
    if (node->type == HOP_CHAKRA_SEND || node->type == HOP_CHAKRA_RECEIVE)
        make_message(b, rank, node, &op, other);
    b->types[node->type]++;
    b->untimed[node->type] += node->duration_s < 0;
    b->alone += alone;
    b->alone_untimed += alone && node->duration_s < 0;
    (void)snprintf(name, sizeof name, "r%u.n%llu%s", rank, (unsigned long long)node->id, node->name ? node->name : "");
    op.name = name;
    uint32_t exits = c ? c->exit_first[node->member + 1] - c->exit_first[node->member] : 0;
    if (exits == 0) {
        add_behind(b, rank, node, &op);
    } else {
        op.after = c->exit_ops + c->exit_first[node->member];
        op.after_count = exits;
        (void)hop_schedule_add(b->schedule, &op);
    }
    hop_chakra_place(&b->traces[rank], node, b->failure);
}

/* ---- messages of collectives ---- */

/* What a member's first operations wait for: one operation at most. */
static uint32_t entered(const struct builder *b, const struct hop_chakra_collective *c, uint32_t member)
{
    const struct hop_chakra_node *node = node_of(b, c, member);
    if (c->enter[member] != HOP_NONE)
        return c->enter[member];
    return node->after_count ? b->first[c->ranks[member]] + node->after[0] : HOP_NONE;
}

static void add_entries(struct builder *b, uint32_t number, const struct hop_chakra_collective *c)
{
    for (uint32_t m = 0; m < c->what.members; m++) {
        char device[24], name[48];
        struct hop_op op = work(rank_place(c->ranks[m], device), CPU_JOIN, 0);
        (void)snprintf(name, sizeof name, "c%u.r%u", number, c->ranks[m]);
        op.name = name;
        if (c->enter[m] != HOP_NONE)
            add_behind(b, c->ranks[m], node_of(b, c, m), &op);
    }
}

static void add_step(struct builder *b, uint32_t number, const struct hop_chakra_collective *c, uint32_t s)
{
    const struct hop_collective_step *step = &c->steps.steps[s];
    char from[24], to[24], name[64];
    uint32_t begin = entered(b, c, step->from), count = 0;
    if (!hop_failure_none(b->failure, HOP_GROW(&b->arena, b->after, step->after_count + 2)))
        return;
    for (uint32_t i = 0; i < step->after_count; i++)
        b->after[count++] = arrival(c, c->steps.after[step->first_after + i]);
    if (count == 0 && begin != HOP_NONE)
        b->after[count++] = begin;
    if (step->behind)
        b->after[count++] = c->step_ops[step->behind - 1];
    struct hop_op op = hop_op_default(HOP_OP_SEND);
    op.from = rank_place(c->ranks[step->from], from);
    op.to = rank_place(c->ranks[step->to], to);
    if (is_join(step))
        op = work(op.from, CPU_JOIN, 0);
    op.bytes = step->bytes;
    op.tag = b->tag + number;
    op.name = name;
    op.after = b->after;
    op.after_count = count;
    (void)snprintf(name, sizeof name, is_join(step) ? "c%u.m%u" : "c%u.m%u.send", number, s);
    (void)hop_schedule_add(b->schedule, &op);
    if (is_join(step))
        return;
    begin = entered(b, c, step->to);
    op.kind = HOP_OP_RECEIVE;
    op.after = &begin;
    op.after_count = begin != HOP_NONE;
    (void)snprintf(name, sizeof name, "c%u.m%u.receive", number, s);
    (void)hop_schedule_add(b->schedule, &op);
}

/* ---- comments ---- */

static void count_collectives(const struct builder *b)
{
    uint32_t made[HOP_COLLECTIVE_COUNT] = {0};
    enum hop_algorithm algorithm[HOP_COLLECTIVE_COUNT] = {HOP_ALGORITHM_DEFAULT};
    bool sums = false;
    for (uint32_t i = 0; i < b->collectives.count; i++) {
        const struct hop_collective *what = &b->collectives.list[i].what;
        made[what->kind] += what->members > 1;
        algorithm[what->kind] = what->algorithm;
        sums = sums || (what->members > 1 && hop_collective_reduces(what->kind));
    }
    for (uint32_t kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        if (made[kind])
            hop_schedule_add_comment(b->schedule, "%s by %s: %u", hop_collective_name(kind),
                                     hop_algorithm_name(algorithm[kind]), made[kind]);
    }
    if (sums)
        hop_schedule_add_comment(b->schedule, "the sums in collectives take no time");
    if (b->alone)
        hop_schedule_add_comment(b->schedule,
                                 HOP_COMMENT_NOTE
                                 "collectives of one rank, which move nothing and are taken as work for their recorded "
                                 "time: %u, of which without one and taken as 0: %u",
                                 b->alone, b->alone_untimed);
}

/* What was read, what was made of it, and what the traces did not say: nothing is dropped in silence. */
static void add_comments(const struct builder *b)
{
    uint32_t nodes = 0;
    uint64_t left_out = 0, calls = 0;
    for (uint32_t type = 0; type < HOP_CHAKRA_TYPES; type++)
        nodes += b->types[type];
    hop_schedule_add_comment(b->schedule, "Chakra traces: ranks %u, nodes %u", b->ranks, nodes);
    count_collectives(b);
    for (uint32_t type = 0; type < HOP_CHAKRA_TYPES; type++) {
        bool moves = type == HOP_CHAKRA_SEND || type == HOP_CHAKRA_RECEIVE || type == HOP_CHAKRA_COLLECTIVE;
        if (!moves && b->types[type] > 0 && (type != HOP_CHAKRA_COMPUTE || b->untimed[type] > 0))
            hop_schedule_add_comment(b->schedule, "%s nodes: %u, of which without a duration and taken as 0: %u",
                                     type_names[type], b->types[type], b->untimed[type]);
    }
    for (uint32_t r = 0; r < b->ranks; r++) {
        left_out += b->traces[r].left_out;
        calls += b->traces[r].calls;
    }
    if (calls)
        hop_schedule_add_comment(b->schedule, "functions that ask for communication, taken as work: %llu",
                                 (unsigned long long)calls);
    if (left_out)
        hop_schedule_add_comment(b->schedule, HOP_COMMENT_NOTE "control dependencies, which order nothing: %llu",
                                 (unsigned long long)left_out);
}

/* ---- all ---- */

static void build(struct builder *b, const struct hop_trace_options *options)
{
    if (is_fine(b))
        hop_chakra_match(b->traces, b->ranks, options, &b->collectives, b->failure);
    if (is_fine(b))
        plan(b);
    for (uint32_t r = 0; r < b->ranks && is_fine(b); r++) {
        b->lane_count = 0;
        b->has_thread = false;
        for (uint32_t i = 0; i < b->traces[r].count; i++)
            add_node(b, r, &b->traces[r].nodes[i]);
    }
    for (uint32_t i = 0; i < b->collectives.count && is_fine(b); i++) {
        const struct hop_chakra_collective *c = &b->collectives.list[i];
        add_entries(b, i, c);
        for (uint32_t s = 0; s < c->steps.count; s++)
            add_step(b, i, c, s);
    }
    for (uint32_t r = 0; r < b->ranks && is_fine(b); r++) { /* a rank that does nothing is one all the same */
        char device[24], name[24];
        struct hop_op op = work(rank_place(r, device), CPU_JOIN, 0);
        (void)snprintf(name, sizeof name, "r%u.idle", r);
        op.name = name;
        if (b->traces[r].count == 0)
            (void)hop_schedule_add(b->schedule, &op);
    }
    if (is_fine(b))
        add_comments(b);
    hop_chakra_collectives_finish(&b->collectives);
    hop_schedule_set_queue_ready(b->schedule, true);
}

static enum hop_status make_schedule(const char *name, const struct hop_source *sources, uint32_t ranks,
                                     const struct hop_trace_options *options, bool control,
                                     struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_schedule *made = hop_schedule_create(name);
    if (!made)
        return hop_fail_memory(diag);
    struct builder b = {.ranks = ranks, .schedule = made, .failure = &made->failure};
    b.traces = hop_arena_alloc(&b.arena, ranks * sizeof *b.traces);
    b.first = hop_arena_alloc(&b.arena, ranks * sizeof *b.first);
    (void)hop_failure_none(b.failure, b.traces && b.first);
    for (uint32_t r = 0; r < ranks && is_fine(&b); r++)
        hop_chakra_read(&sources[r], control, &b.traces[r], b.failure);
    build(&b, options);
    for (uint32_t r = 0; b.traces && r < ranks; r++)
        hop_arena_finish(&b.traces[r].arena);
    hop_arena_finish(&b.arena);
    return hop_schedule_finish(made, schedule, diag);
}

enum hop_status hop_chakra_schedule(const char *name, const struct hop_source *sources, uint32_t ranks,
                                    const struct hop_trace_options *options, struct hop_schedule **schedule,
                                    struct hop_diag *diag)
{
    struct hop_trace_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    enum hop_trace_control control = options->control;
    if (control != HOP_TRACE_CONTROL_DROP) {
        enum hop_status status = make_schedule(name, sources, ranks, options, true, schedule, diag);
        if (status == HOP_OK || status == HOP_ERR_MEMORY || control == HOP_TRACE_CONTROL_KEEP)
            return status;
    }
    return make_schedule(name, sources, ranks, options, false, schedule, diag);
}
