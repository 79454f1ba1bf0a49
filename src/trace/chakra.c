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
 * Nothing that a trace does not order waits for another: work runs on a CPU of its stream, joins on one of their own.
 */
#include "trace/chakra.h"

#include <stdio.h>

#include "schedule/schedule.h"

enum { CPU_HOST = 0, CPU_JOIN = 1, CPU_STREAMS = 2, STREAM_LIMIT = 1024 };

struct builder {
    struct hop_chakra_trace *traces;
    uint32_t ranks;
    uint32_t *first; /* operation of each rank's first node */
    struct hop_chakra_collectives collectives;
    uint32_t tag; /* of the first collective: above those of the traces' own messages */
    struct hop_schedule *schedule;
    struct hop_diag *diag;
    uint32_t untimed[HOP_CHAKRA_TYPES], types[HOP_CHAKRA_TYPES]; /* nodes */
    int64_t streams[STREAM_LIMIT];                               /* of the rank at hand, in order of appearance */
    uint32_t stream_count;
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

/* ---- collectives: which operation is which ---- */

/* The operation, of a step, that ends when it is through at its member `to`. */
static uint32_t arrival(const struct hop_chakra_collective *c, uint32_t step)
{
    return c->step_ops[step] + (c->steps.steps[step].from != c->steps.steps[step].to);
}

/* Which operations each member leaves with: its sends and receives. */
static enum hop_status list_exits(struct hop_arena *arena, struct hop_chakra_collective *c, struct hop_diag *diag)
{
    uint32_t n = c->what.members, messages = 0;
    c->exit_first = hop_arena_alloc(arena, ((size_t)n + 1) * sizeof *c->exit_first);
    uint32_t *at = malloc(((size_t)n + 1) * sizeof *at);
    for (uint32_t s = 0; s < c->steps.count; s++)
        messages += c->steps.steps[s].from != c->steps.steps[s].to;
    c->exit_ops = hop_arena_alloc(arena, (size_t)messages * 2 * sizeof *c->exit_ops);
    if (!c->exit_first || !c->exit_ops || !at) {
        free(at);
        return hop_fail_memory(diag);
    }
    for (uint32_t s = 0; s < c->steps.count; s++) {
        if (c->steps.steps[s].from != c->steps.steps[s].to) {
            c->exit_first[c->steps.steps[s].from + 1]++;
            c->exit_first[c->steps.steps[s].to + 1]++;
        }
    }
    for (uint32_t m = 0; m < n; m++)
        c->exit_first[m + 1] += c->exit_first[m];
    memcpy(at, c->exit_first, ((size_t)n + 1) * sizeof *at);
    for (uint32_t s = 0; s < c->steps.count; s++) {
        if (c->steps.steps[s].from != c->steps.steps[s].to) {
            c->exit_ops[at[c->steps.steps[s].from]++] = c->step_ops[s];
            c->exit_ops[at[c->steps.steps[s].to]++] = c->step_ops[s] + 1;
        }
    }
    free(at);
    return HOP_OK;
}

/* Expands, and numbers its operations from *next on. */
static enum hop_status plan_collective(struct builder *b, struct hop_chakra_collective *c, uint64_t *next)
{
    struct hop_arena *arena = &b->collectives.arena;
    uint32_t n = c->what.members;
    const struct hop_chakra_trace *trace = &b->traces[c->ranks[0]];
    enum hop_status status = hop_collective_expand(&c->what, &c->steps, b->diag);
    if (status != HOP_OK) {
        hop_chakra_place(trace, &trace->nodes[c->nodes[0]], b->diag);
        return status;
    }
    c->enter = hop_arena_alloc(arena, n * sizeof *c->enter);
    c->step_ops = hop_arena_alloc(arena, ((size_t)c->steps.count + 1) * sizeof *c->step_ops);
    if (!c->enter || !c->step_ops)
        return hop_fail_memory(b->diag);
    for (uint32_t m = 0; m < n; m++) {
        bool join = c->steps.count > 0 && b->traces[c->ranks[m]].nodes[c->nodes[m]].after_count > 1;
        c->enter[m] = join ? (uint32_t)(*next)++ : HOP_NONE;
    }
    for (uint32_t s = 0; s < c->steps.count; s++) {
        c->step_ops[s] = (uint32_t)*next;
        *next += c->steps.steps[s].from == c->steps.steps[s].to ? 1 : 2;
    }
    if (*next > HOP_OP_LIMIT) {
        hop_fail(b->diag, HOP_ERR_LIMIT, "the traces become more than %u operations", HOP_OP_LIMIT);
        hop_chakra_place(trace, &trace->nodes[c->nodes[0]], b->diag);
        return HOP_ERR_LIMIT;
    }
    return list_exits(arena, c, b->diag);
}

static enum hop_status plan(struct builder *b)
{
    uint64_t next = 0, tag = 0;
    for (uint32_t r = 0; r < b->ranks; r++) {
        b->first[r] = (uint32_t)next;
        next += b->traces[r].count;
        if (next > HOP_OP_LIMIT) {
            hop_fail(b->diag, HOP_ERR_LIMIT, "the traces have more than %u nodes", HOP_OP_LIMIT);
            hop_diag_place(b->diag, "%.180s", b->traces[r].file);
            return HOP_ERR_LIMIT;
        }
        for (uint32_t i = 0; i < b->traces[r].count; i++) {
            int64_t own = b->traces[r].nodes[i].numbers[HOP_CHAKRA_COMM_TAG];
            tag = own >= 0 && (uint64_t)own + 1 > tag ? (uint64_t)own + 1 : tag;
        }
    }
    if (tag + b->collectives.count > UINT32_MAX) {
        hop_fail(
            b->diag, HOP_ERR_LIMIT,
            "the traces' tags leave none for %u collectives\ncomm_tag below 4294967295 less the number of collectives",
            b->collectives.count);
        hop_diag_place(b->diag, "%.180s", b->traces[0].file);
        return HOP_ERR_LIMIT;
    }
    b->tag = (uint32_t)tag;
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < b->collectives.count && status == HOP_OK; i++)
        status = plan_collective(b, &b->collectives.list[i], &next);
    return status;
}

/* ---- nodes ---- */

static void add_work(struct hop_op *op, struct hop_place place, uint16_t cpu, double duration_s)
{
    *op = hop_op_default(HOP_OP_WORK);
    op->from = op->to = place;
    op->cpu = cpu;
    op->duration_s = duration_s;
}

/* What of its device's a node computes on: the host, or its stream. */
static uint16_t cpu_of(struct builder *b, const struct hop_chakra_node *node)
{
    if (node->numbers[HOP_CHAKRA_CPU_OP] == 1)
        return CPU_HOST;
    uint32_t i = 0;
    while (i < b->stream_count && b->streams[i] != node->numbers[HOP_CHAKRA_STREAM])
        i++;
    if (i == b->stream_count && i < STREAM_LIMIT)
        b->streams[b->stream_count++] = node->numbers[HOP_CHAKRA_STREAM];
    return (uint16_t)(CPU_STREAMS + (i < STREAM_LIMIT ? i : STREAM_LIMIT - 1));
}

static enum hop_status refuse_node(const struct builder *b, uint32_t rank, const struct hop_chakra_node *node,
                                   const char *expected)
{
    hop_chakra_place(&b->traces[rank], node, b->diag);
    hop_diag_expect(b->diag, "%s", expected);
    return HOP_ERR_INVALID;
}

/* A message: its own end is its rank, the other one is named. */
static enum hop_status message_of(const struct builder *b, uint32_t rank, const struct hop_chakra_node *node,
                                  struct hop_op *op, char other_name[24])
{
    bool sends = node->type == HOP_CHAKRA_SEND;
    const char *verb = sends ? "send" : "receive";
    int64_t own = node->numbers[sends ? HOP_CHAKRA_COMM_SRC : HOP_CHAKRA_COMM_DST];
    int64_t other = node->numbers[sends ? HOP_CHAKRA_COMM_DST : HOP_CHAKRA_COMM_SRC];
    int64_t size = node->numbers[HOP_CHAKRA_COMM_SIZE], tag = node->numbers[HOP_CHAKRA_COMM_TAG];
    if (own >= 0 && own != rank) {
        hop_fail(b->diag, HOP_ERR_INVALID, "a %s of rank %lld stands in the trace of rank %u", verb, (long long)own,
                 rank);
        return refuse_node(b, rank, node, sends ? "comm_src of this rank" : "comm_dst of this rank");
    }
    if (other < 0 || other >= b->ranks || other == rank) {
        if (other < 0)
            hop_fail(b->diag, HOP_ERR_INVALID, "a %s says nothing of its %s", verb, sends ? "comm_dst" : "comm_src");
        else if (other == rank)
            hop_fail(b->diag, HOP_ERR_INVALID, "a %s %s its own rank", verb, sends ? "to" : "from");
        else
            hop_fail(b->diag, HOP_ERR_INVALID, "a %s %s rank %lld, but there are %u traces", verb,
                     sends ? "to" : "from", (long long)other, b->ranks);
        return refuse_node(b, rank, node, "another rank that has a trace");
    }
    if (size < 0) {
        hop_fail(b->diag, HOP_ERR_INVALID, "a %s says nothing of its comm_size", verb);
        return refuse_node(b, rank, node, "an attribute comm_size, in bytes");
    }
    struct hop_place here = op->from, there = rank_place((uint32_t)other, other_name);
    *op = hop_op_default(sends ? HOP_OP_SEND : HOP_OP_RECEIVE);
    op->from = sends ? here : there;
    op->to = sends ? there : here;
    op->bytes = (uint64_t)size;
    op->tag = tag < 0 ? 0 : (uint32_t)tag;
    return HOP_OK;
}

static enum hop_status add_node(struct builder *b, uint32_t rank, const struct hop_chakra_node *node)
{
    char device[24], other[24], name[HOP_OP_NAME_LIMIT + 1];
    struct hop_op op;
    enum hop_status status = HOP_OK;
    bool collective = node->type == HOP_CHAKRA_COLLECTIVE;
    double duration_s = !collective && node->duration_s > 0 ? node->duration_s : 0;
    add_work(&op, rank_place(rank, device), collective || duration_s == 0 ? CPU_JOIN : cpu_of(b, node), duration_s);
    if (node->type == HOP_CHAKRA_SEND || node->type == HOP_CHAKRA_RECEIVE)
        status = message_of(b, rank, node, &op, other);
    if (status != HOP_OK)
        return status;
    b->types[node->type]++;
    b->untimed[node->type] += node->duration_s < 0;
    (void)snprintf(name, sizeof name, "r%u.n%llu%s", rank, (unsigned long long)node->id, node->name ? node->name : "");
    op.name = name;
    const struct hop_chakra_collective *c = collective ? &b->collectives.list[node->collective] : NULL;
    uint32_t exits = c ? c->exit_first[node->member + 1] - c->exit_first[node->member] : 0;
    if (exits > 0) {
        op.after = c->exit_ops + c->exit_first[node->member];
        op.after_count = exits;
        return hop_schedule_add(b->schedule, &op, NULL, b->diag);
    }
    uint32_t *after = malloc((node->after_count + 1) * sizeof *after);
    if (!after)
        return hop_fail_memory(b->diag);
    for (uint32_t i = 0; i < node->after_count; i++)
        after[i] = b->first[rank] + node->after[i];
    op.after = after;
    op.after_count = node->after_count;
    status = hop_schedule_add(b->schedule, &op, NULL, b->diag);
    free(after);
    return status;
}

/* ---- messages of collectives ---- */

/* What a member's first operations wait for: one operation at most. */
static uint32_t entered(const struct builder *b, const struct hop_chakra_collective *c, uint32_t member)
{
    const struct hop_chakra_node *node = &b->traces[c->ranks[member]].nodes[c->nodes[member]];
    if (c->enter[member] != HOP_NONE)
        return c->enter[member];
    return node->after_count ? b->first[c->ranks[member]] + node->after[0] : HOP_NONE;
}

static enum hop_status add_entries(struct builder *b, uint32_t number, const struct hop_chakra_collective *c)
{
    enum hop_status status = HOP_OK;
    for (uint32_t m = 0; m < c->what.members && status == HOP_OK; m++) {
        const struct hop_chakra_node *node = &b->traces[c->ranks[m]].nodes[c->nodes[m]];
        char device[24], name[48];
        if (c->enter[m] == HOP_NONE)
            continue;
        struct hop_op op;
        add_work(&op, rank_place(c->ranks[m], device), CPU_JOIN, 0);
        (void)snprintf(name, sizeof name, "c%u.r%u", number, c->ranks[m]);
        uint32_t *after = malloc(node->after_count * sizeof *after);
        if (!after)
            return hop_fail_memory(b->diag);
        for (uint32_t i = 0; i < node->after_count; i++)
            after[i] = b->first[c->ranks[m]] + node->after[i];
        op.name = name;
        op.after = after;
        op.after_count = node->after_count;
        status = hop_schedule_add(b->schedule, &op, NULL, b->diag);
        free(after);
    }
    return status;
}

static enum hop_status add_step(struct builder *b, uint32_t number, const struct hop_chakra_collective *c, uint32_t s)
{
    const struct hop_collective_step *step = &c->steps.steps[s];
    bool join = step->from == step->to;
    char from[24], to[24], name[64];
    uint32_t begin = entered(b, c, step->from), count = 0;
    uint32_t *after = malloc((step->after_count + 2) * sizeof *after);
    if (!after)
        return hop_fail_memory(b->diag);
    for (uint32_t i = 0; i < step->after_count; i++)
        after[count++] = arrival(c, c->steps.after[step->first_after + i]);
    if (count == 0 && begin != HOP_NONE)
        after[count++] = begin;
    if (step->behind)
        after[count++] = c->step_ops[step->behind - 1];
    struct hop_op op = hop_op_default(HOP_OP_SEND);
    op.from = rank_place(c->ranks[step->from], from);
    op.to = rank_place(c->ranks[step->to], to);
    if (join)
        add_work(&op, op.from, CPU_JOIN, 0);
    op.bytes = step->bytes;
    op.tag = b->tag + number;
    op.name = name;
    op.after = after;
    op.after_count = count;
    (void)snprintf(name, sizeof name, join ? "c%u.m%u" : "c%u.m%u.send", number, s);
    enum hop_status status = hop_schedule_add(b->schedule, &op, NULL, b->diag);
    free(after);
    if (status != HOP_OK || join)
        return status;
    begin = entered(b, c, step->to);
    op.kind = HOP_OP_RECEIVE;
    op.after = &begin;
    op.after_count = begin != HOP_NONE;
    (void)snprintf(name, sizeof name, "c%u.m%u.receive", number, s);
    return hop_schedule_add(b->schedule, &op, NULL, b->diag);
}

static enum hop_status add_collective(struct builder *b, uint32_t number)
{
    const struct hop_chakra_collective *c = &b->collectives.list[number];
    enum hop_status status = add_entries(b, number, c);
    for (uint32_t s = 0; s < c->steps.count && status == HOP_OK; s++)
        status = add_step(b, number, c, s);
    return status;
}

/* ---- comments ---- */

/* What was read, what was made of it, and what the traces did not say: nothing is dropped in silence. */
static enum hop_status add_comments(struct builder *b)
{
    uint32_t made[HOP_COLLECTIVE_COUNT] = {0}, nodes = 0;
    enum hop_algorithm algorithm[HOP_COLLECTIVE_COUNT] = {HOP_ALGORITHM_DEFAULT};
    uint64_t left_out = 0, calls = 0;
    bool sums = false;
    for (uint32_t type = 0; type < HOP_CHAKRA_TYPES; type++)
        nodes += b->types[type];
    enum hop_status status =
        hop_schedule_add_comment(b->schedule, "Chakra traces: ranks %u, nodes %u", b->ranks, nodes);
    for (uint32_t i = 0; i < b->collectives.count; i++) {
        const struct hop_collective *what = &b->collectives.list[i].what;
        made[what->kind]++;
        algorithm[what->kind] = what->algorithm;
        sums = sums || what->kind == HOP_COLLECTIVE_ALLREDUCE || what->kind == HOP_COLLECTIVE_REDUCE ||
               what->kind == HOP_COLLECTIVE_REDUCE_SCATTER;
    }
    for (uint32_t kind = 0; kind < HOP_COLLECTIVE_COUNT && status == HOP_OK; kind++) {
        if (made[kind])
            status = hop_schedule_add_comment(b->schedule, "%s by %s: %u", hop_collective_name(kind),
                                              hop_algorithm_name(algorithm[kind]), made[kind]);
    }
    if (status == HOP_OK && sums)
        status = hop_schedule_add_comment(b->schedule, "the sums in collectives take no time");
    for (uint32_t type = 0; type < HOP_CHAKRA_TYPES && status == HOP_OK; type++) {
        if (type == HOP_CHAKRA_SEND || type == HOP_CHAKRA_RECEIVE || type == HOP_CHAKRA_COLLECTIVE ||
            b->types[type] == 0 || (type == HOP_CHAKRA_COMPUTE && b->untimed[type] == 0))
            continue;
        status = hop_schedule_add_comment(b->schedule, "%s nodes: %u, of which without a duration and taken as 0: %u",
                                          type_names[type], b->types[type], b->untimed[type]);
    }
    for (uint32_t r = 0; r < b->ranks; r++) {
        left_out += b->traces[r].left_out;
        calls += b->traces[r].calls;
    }
    if (status == HOP_OK && calls)
        status = hop_schedule_add_comment(b->schedule, "functions that ask for communication, taken as work: %llu",
                                          (unsigned long long)calls);
    if (status == HOP_OK && left_out)
        status = hop_schedule_add_comment(b->schedule, "control dependencies, which order nothing: %llu",
                                          (unsigned long long)left_out);
    return status == HOP_OK ? HOP_OK : hop_fail_memory(b->diag);
}

/* ---- all ---- */

static enum hop_status build(struct builder *b, const struct hop_trace_options *options)
{
    enum hop_status status = hop_chakra_match(b->traces, b->ranks, options, &b->collectives, b->diag);
    if (status == HOP_OK)
        status = plan(b);
    for (uint32_t r = 0; r < b->ranks && status == HOP_OK; r++) {
        b->stream_count = 0;
        for (uint32_t i = 0; i < b->traces[r].count && status == HOP_OK; i++)
            status = add_node(b, r, &b->traces[r].nodes[i]);
    }
    for (uint32_t i = 0; i < b->collectives.count && status == HOP_OK; i++)
        status = add_collective(b, i);
    if (status == HOP_OK)
        status = add_comments(b);
    hop_chakra_collectives_finish(&b->collectives);
    if (status != HOP_OK)
        return status;
    hop_schedule_set_queue_ready(b->schedule, true);
    return hop_schedule_finish(b->schedule, b->diag);
}

static enum hop_status make_schedule(const char *name, const struct hop_source *sources, uint32_t ranks,
                                     const struct hop_trace_options *options, bool control,
                                     struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct builder *b = calloc(1, sizeof *b);
    enum hop_status status = b ? HOP_OK : hop_fail_memory(diag);
    if (b) {
        b->ranks = ranks;
        b->diag = diag;
        b->traces = calloc((size_t)ranks + 1, sizeof *b->traces);
        b->first = calloc((size_t)ranks + 1, sizeof *b->first);
        b->schedule = hop_schedule_create(name);
        if (!b->traces || !b->first || !b->schedule)
            status = hop_fail_memory(diag);
    }
    for (uint32_t r = 0; r < ranks && status == HOP_OK; r++)
        status = hop_chakra_read(&sources[r], control, &b->traces[r], diag);
    if (status == HOP_OK)
        status = build(b, options);
    if (status == HOP_OK)
        *schedule = b->schedule;
    else if (b)
        hop_schedule_destroy(b->schedule);
    for (uint32_t r = 0; b && b->traces && r < ranks; r++)
        hop_chakra_finish(&b->traces[r]);
    if (b) {
        free(b->traces);
        free(b->first);
    }
    free(b);
    return status;
}

enum hop_status hop_chakra_schedule(const char *name, const struct hop_source *sources, uint32_t ranks,
                                    const struct hop_trace_options *options, struct hop_schedule **schedule,
                                    struct hop_diag *diag)
{
    enum hop_trace_control control = options ? options->control : HOP_TRACE_CONTROL_AUTO;
    if (control != HOP_TRACE_CONTROL_DROP) {
        enum hop_status status = make_schedule(name, sources, ranks, options, true, schedule, diag);
        if (status == HOP_OK || status == HOP_ERR_MEMORY || control == HOP_TRACE_CONTROL_KEEP)
            return status;
    }
    return make_schedule(name, sources, ranks, options, false, schedule, diag);
}
