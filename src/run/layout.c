/* SPDX-License-Identifier: BSD-3-Clause */
/* Layout: ranks, buffers and the order of a schedule that is to run. */
#include "run/layout.h"

#include <stdio.h>

#include "device/device.h"
#include "schedule/schedule.h"

#define ALIGNMENT 256u
#define MEMORY_LIMIT ((uint64_t)1 << 46)

struct making {
    struct hop_layout *layout;
    const struct hop_schedule *schedule;
    struct hop_names devices; /* without ranks: each device is one */
    struct hop_names names;   /* "rank buffer" to buffer */
    uint32_t *partner;        /* a receive's send, a send's receive; else HOP_NONE */
    bool ranked;              /* some place says a rank */
    struct hop_failure failure;
};

/* The arena's failure, which sticks like the other one, becomes a status in the end. */
static bool is_fine(const struct making *m)
{
    return m->failure.status == HOP_OK && !m->layout->arena.failed;
}

/* column 0: of the whole operation. */
static void place_failure(struct making *m, uint32_t op, uint32_t column)
{
    char where[192];
    hop_failure_place(&m->failure, "%s", hop_schedule_place(m->schedule, op, column, where, sizeof where));
}

/* ---- ranks ---- */

static int32_t rank_said(const struct hop_place *place)
{
    if (place->rank >= 0)
        return place->rank;
    return place->device ? hop_placeholder_rank(place->device) : -1;
}

static const struct hop_place *place_at(const struct hop_op *op, uint32_t i)
{
    return i == 0                    ? &op->from
           : i == 1                  ? &op->to
           : i < 2 + op->input_count ? &op->inputs[i - 2]
                                     : &op->outputs[i - 2 - op->input_count];
}

/* How many ranks; *ranked: places or operations say them, else every device is one, by its number. */
static bool number_ranks(const struct hop_schedule *schedule, struct hop_names *devices, bool *ranked, uint32_t *ranks)
{
    bool fine = true;
    *ranked = false;
    *ranks = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        *ranked = *ranked || op->by >= 0;
        for (uint32_t k = 0; k < 2 + op->input_count + op->output_count && fine; k++) {
            const struct hop_place *place = place_at(op, k);
            int32_t rank = rank_said(place);
            *ranked = *ranked || rank >= 0;
            *ranks = rank >= 0 && (uint32_t)rank >= *ranks ? (uint32_t)rank + 1 : *ranks;
            if (k < 2 && place->device && hop_names_get(devices, place->device) == UINT32_MAX)
                fine = hop_names_put(devices, place->device, devices->used);
        }
    }
    if (!*ranked)
        *ranks = devices->used;
    return fine;
}

uint32_t hop_schedule_run_ranks(const struct hop_schedule *schedule)
{
    struct hop_names devices = {0};
    uint32_t ranks = 0;
    bool ranked;
    bool fine = number_ranks(schedule, &devices, &ranked, &ranks);
    hop_names_finish(&devices);
    return fine ? ranks : HOP_NONE;
}

/* ---- places ---- */

/* A place without a rank, where others have one, belongs to the rank at the operation's other end. */
static uint32_t rank_of(struct making *m, uint32_t index, const struct hop_place *place, const struct hop_place *other)
{
    int32_t said = rank_said(place);
    if (said < 0 && m->ranked)
        said = other ? rank_said(other) : -1;
    if (said < 0 && !m->ranked)
        said = (int32_t)hop_names_get(&m->devices, place->device);
    if (said >= 0)
        return (uint32_t)said;
    hop_failure_set(&m->failure, HOP_ERR_INVALID,
                    "no rank is said for %s\nRANK@%s, since other places of the schedule say their rank", place->device,
                    place->device);
    place_failure(m, index, place->column);
    return 0;
}

bool hop_layout_is_callers(const char *name)
{
    return strcmp(name, "in") == 0 || strcmp(name, "out") == 0 || strcmp(name, "data") == 0;
}

static uint32_t find_buffer(struct making *m, uint32_t rank, const char *name, const char *device)
{
    struct hop_layout *layout = m->layout;
    char key[96];
    int length = snprintf(key, sizeof key, "%u %s", rank, name);
    uint32_t buffer = hop_names_get(&m->names, key);
    if (buffer != UINT32_MAX)
        return buffer;
    const char *kept = hop_arena_string(&layout->arena, key, (size_t)length);
    if (!kept || !HOP_GROW(&layout->arena, layout->buffers, layout->buffer_count + 1u))
        return 0;
    layout->arena.failed = !hop_names_put(&m->names, kept, layout->buffer_count);
    layout->buffers[layout->buffer_count] = (struct hop_run_buffer){.rank = rank,
                                                                    .name = strchr(kept, ' ') + 1,
                                                                    .device = device,
                                                                    .scratch = !hop_layout_is_callers(name),
                                                                    .held = true};
    return layout->buffer_count++;
}

static void add_place(struct making *m, uint32_t index, const struct hop_place *place, const struct hop_place *other,
                      bool writes)
{
    struct hop_layout *layout = m->layout;
    uint64_t bytes = hop_schedule_op(m->schedule, index)->bytes;
    uint32_t rank = is_fine(m) ? rank_of(m, index, place, other) : 0;
    const char *name = place->buffer ? place->buffer : writes ? "receive" : "send";
    struct hop_run_place made = {is_fine(m) ? find_buffer(m, rank, name, place->device) : 0, place->offset_bytes};
    if (!is_fine(m) || !HOP_GROW(&layout->arena, layout->places, layout->place_count + 1u))
        return;
    struct hop_run_buffer *buffer = &layout->buffers[made.buffer];
    if (!place->buffer && writes) /* bytes of its own, behind those of earlier operations */
        made.offset = (buffer->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (made.offset > MEMORY_LIMIT || bytes > MEMORY_LIMIT) {
        hop_failure_set(&m->failure, HOP_ERR_LIMIT, "buffer %s of rank %u would be longer than 64 TiB", buffer->name,
                        rank);
        place_failure(m, index, place->column);
        return;
    }
    if (made.offset + bytes > buffer->bytes)
        buffer->bytes = made.offset + bytes;
    layout->places[layout->place_count++] = made;
    buffer->written = buffer->written || writes;
}

/* A receive has no places of its own: its send's copy writes there. */
static void add_places(struct making *m, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(m->schedule, index);
    struct hop_run_op *run = &m->layout->ops[index];
    run->first = m->layout->place_count;
    if (op->kind == HOP_OP_COPY || op->kind == HOP_OP_SEND) {
        add_place(m, index, &op->from, &op->to, false);
        add_place(m, index, op->kind == HOP_OP_SEND ? &hop_schedule_op(m->schedule, m->partner[index])->to : &op->to,
                  &op->from, true);
        run->reads = run->writes = 1;
    } else if (op->kind == HOP_OP_REDUCE) {
        for (uint32_t i = 0; i < op->input_count; i++)
            add_place(m, index, &op->inputs[i], &op->to, false);
        add_place(m, index, &op->to, op->input_count ? &op->inputs[0] : NULL, true);
        for (uint32_t i = 0; i < op->output_count; i++)
            add_place(m, index, &op->outputs[i], &op->to, true);
        run->reads = op->input_count;
        run->writes = 1 + op->output_count;
    }
}

static void check_reduction(struct making *m, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(m->schedule, index);
    const struct hop_run_op *run = &m->layout->ops[index];
    bool aligned = true;
    for (uint32_t p = 0; p < run->reads + run->writes; p++)
        aligned = aligned && m->layout->places[run->first + p].offset % hop_type_bytes(op->type) == 0;
    if (run->reads > HOP_REDUCTION_PLACES || run->writes > HOP_REDUCTION_PLACES)
        hop_failure_set(&m->failure, HOP_ERR_LIMIT, "'%s' has %u inputs and %u outputs\nat most %d of each", op->name,
                        run->reads, run->writes, HOP_REDUCTION_PLACES);
    else if (!aligned)
        hop_failure_set(&m->failure, HOP_ERR_INVALID,
                        "'%s' reduces at an offset that is no multiple of its type %s\n"
                        "offsets that are multiples of %llu bytes",
                        op->name, hop_type_name(op->type), (unsigned long long)hop_type_bytes(op->type));
    if (!is_fine(m))
        place_failure(m, index, 0);
}

/* ---- owners and dependencies ---- */

static void find_owner(struct making *m, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(m->schedule, index);
    struct hop_run_op *run = &m->layout->ops[index];
    if (op->kind == HOP_OP_WORK) {
        run->owner = run->leader = rank_of(m, index, &op->from, NULL);
    } else if (op->kind == HOP_OP_RECEIVE) {
        run->owner = run->leader = rank_of(m, index, &op->to, &op->from);
    } else {
        uint32_t from = hop_layout_rank(m->layout, run, 0), to = hop_layout_rank(m->layout, run, run->reads);
        run->owner = op->by >= 0 ? (uint32_t)op->by : op->kind == HOP_OP_REDUCE ? to : from;
        run->leader = run->owner == from ? to : from;
    }
    run->begins_at = run->ends_at = run->owner;
}

static void put_after(struct making *m, uint32_t op)
{
    struct hop_layout *layout = m->layout;
    if (HOP_GROW(&layout->arena, layout->after, layout->after_count + 1u))
        layout->after[layout->after_count++] = op;
}

/* A message moves once it is sent and, where it lands in a named buffer, its receive is posted; the receive ends with
 * it. */
static void add_after(struct making *m, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(m->schedule, index);
    struct hop_run_op *run = &m->layout->ops[index];
    run->after_first = m->layout->after_count;
    for (uint32_t i = 0; i < op->after_count; i++)
        put_after(m, op->after[i]);
    if (op->kind == HOP_OP_RECEIVE)
        put_after(m, m->partner[index]);
    if (op->kind == HOP_OP_SEND) {
        const struct hop_op *receive = hop_schedule_op(m->schedule, m->partner[index]);
        for (uint32_t i = 0; receive->to.buffer && i < receive->after_count; i++)
            put_after(m, receive->after[i]);
    }
    run->after_count = m->layout->after_count - run->after_first;
}

enum hop_run_queue hop_layout_queue(const struct hop_layout *layout, uint32_t op)
{
    switch (hop_schedule_op(layout->schedule, op)->kind) {
    case HOP_OP_COPY:
    case HOP_OP_SEND:
        return HOP_QUEUE_COPY;
    case HOP_OP_REDUCE:
        return HOP_QUEUE_REDUCE;
    default:
        return HOP_QUEUE_NONE;
    }
}

enum hop_status hop_layout_place(struct hop_layout *layout, const uint32_t *node_of, struct hop_diag *diag)
{
    char where[192];
    for (uint32_t i = 0; i < layout->op_count; i++) {
        struct hop_run_op *run = &layout->ops[i];
        if (hop_layout_queue(layout, i) == HOP_QUEUE_COPY) {
            uint32_t from = hop_layout_rank(layout, run, 0), to = hop_layout_rank(layout, run, run->reads);
            run->crosses = node_of[from] != node_of[to];
            run->begins_at = run->crosses ? from : run->owner;
            run->ends_at = run->crosses ? to : run->owner;
        }
        for (uint32_t p = 0; p < run->reads + run->writes && !run->crosses; p++) {
            uint32_t rank = hop_layout_rank(layout, run, p);
            if (node_of[rank] == node_of[run->owner])
                continue;
            hop_fail(diag, HOP_ERR_INVALID,
                     "'%s' is performed by rank %u and touches memory of rank %u, on another machine\n"
                     "copies between machines and reductions within one, as `hopcast run allreduce` makes them",
                     hop_schedule_op(layout->schedule, i)->name, run->owner, rank);
            hop_diag_place(diag, "%s", hop_schedule_place(layout->schedule, i, 0, where, sizeof where));
            return HOP_ERR_INVALID;
        }
    }
    return HOP_OK;
}

/* ---- the order ---- */

static uint32_t waits_for(const void *context, uint32_t index, uint32_t i)
{
    const struct hop_layout *layout = context;
    const struct hop_run_op *run = &layout->ops[index];
    const struct hop_op *op = hop_schedule_op(layout->schedule, index);
    if (i < run->after_count)
        return layout->after[run->after_first + i];
    i -= run->after_count;
    if (i < op->after_start_count)
        return op->after_start[i];
    return i == op->after_start_count ? run->before : UINT32_MAX;
}
_Static_assert(HOP_NONE == UINT32_MAX, "none before is none more");

static void fail_deadlock(struct making *m, const uint32_t *cycle, uint32_t length)
{
    enum { SHOWN = 8 };
    char text[400] = "";
    for (uint32_t i = 0, used = 0; i < length && i < SHOWN && used < sizeof text; i++)
        used += (uint32_t)snprintf(text + used, sizeof text - used, "%s%.40s", i ? ", which waits for " : "",
                                   hop_schedule_op(m->schedule, cycle[i])->name);
    hop_failure_set(&m->failure, HOP_ERR_DEADLOCK,
                    "it would never end: %s%s\n"
                    "each rank's copies in an order that their dependencies allow (or the line `queue ready`)",
                    text, length > SHOWN ? ", ..." : "");
    place_failure(m, cycle[0], 0);
}

static void find_order(struct making *m)
{
    struct hop_layout *layout = m->layout;
    size_t queues = (size_t)layout->ranks * HOP_QUEUES;
    uint32_t *last = hop_arena_alloc(&layout->arena, (queues + 1) * sizeof *last), *cycle, length;
    if (!last)
        return;
    memset(last, 0xff, queues * sizeof *last);
    for (uint32_t i = 0; i < layout->op_count; i++) {
        enum hop_run_queue queue = hop_layout_queue(layout, i);
        layout->ops[i].before = HOP_NONE;
        if (queue == HOP_QUEUE_NONE || hop_schedule_queue_ready(m->schedule))
            continue;
        uint32_t *before = &last[layout->ops[i].owner * HOP_QUEUES + (uint32_t)queue];
        layout->ops[i].before = *before;
        *before = i;
    }
    m->failure.status =
        hop_cycle_find(layout->op_count, waits_for, layout, layout->order, &cycle, &length, m->failure.diag);
    if (is_fine(m) && length)
        fail_deadlock(m, cycle, length);
    free(cycle);
}

/* ---- all together ---- */

enum hop_status hop_layout_arrange(struct hop_layout *layout, uint32_t sets, struct hop_diag *diag)
{
    memset(layout->rank_bytes, 0, ((size_t)layout->ranks + 1) * sizeof *layout->rank_bytes);
    for (uint32_t b = 0; b < layout->buffer_count; b++) {
        struct hop_run_buffer *buffer = &layout->buffers[b];
        uint64_t *used = &layout->rank_bytes[buffer->rank],
                 size = buffer->held ? (buffer->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT : 0;
        buffer->offset = *used;
        buffer->stride = buffer->scratch ? size : 0;
        *used += buffer->scratch ? sets * size : size;
        if (*used > MEMORY_LIMIT)
            return hop_fail(diag, HOP_ERR_LIMIT, "the buffers of rank %u would take more than 64 TiB", buffer->rank);
    }
    return HOP_OK;
}

/* Without pipelining nothing is scratch. */
static void place_buffers(struct making *m, bool pipelined)
{
    struct hop_layout *layout = m->layout;
    for (uint32_t b = 0; b < layout->buffer_count && is_fine(m); b++)
        layout->buffers[b].scratch = layout->buffers[b].scratch && pipelined;
    if (is_fine(m))
        m->failure.status = hop_layout_arrange(layout, pipelined ? 2 : 1, m->failure.diag);
}

static void make(struct making *m, bool pipelined)
{
    struct hop_layout *layout = m->layout;
    layout->arena.failed = !number_ranks(m->schedule, &m->devices, &m->ranked, &layout->ranks);
    if (layout->ranks > HOP_RANKS_MAX)
        hop_failure_set(&m->failure, HOP_ERR_LIMIT, "the schedule has %u ranks; at most %u run", layout->ranks,
                        HOP_RANKS_MAX);
    size_t count = (size_t)layout->op_count + 1;
    layout->ops = hop_arena_alloc(&layout->arena, count * sizeof *layout->ops);
    layout->order = hop_arena_alloc(&layout->arena, count * sizeof *layout->order);
    layout->rank_bytes = hop_arena_alloc(&layout->arena, ((size_t)layout->ranks + 1) * sizeof *layout->rank_bytes);
    m->partner = hop_arena_alloc(&layout->arena, count * sizeof *m->partner);
    if (is_fine(m))
        m->failure.status = hop_schedule_match(m->schedule, m->partner, m->failure.diag);
    for (uint32_t i = 0; i < layout->op_count && is_fine(m); i++) {
        add_places(m, i);
        if (is_fine(m))
            find_owner(m, i);
        add_after(m, i);
        if (is_fine(m) && hop_schedule_op(m->schedule, i)->kind == HOP_OP_REDUCE)
            check_reduction(m, i);
    }
    if (is_fine(m))
        find_order(m);
    if (is_fine(m))
        place_buffers(m, pipelined);
}

enum hop_status hop_layout_create(const struct hop_schedule *schedule, bool pipelined, struct hop_layout *layout,
                                  struct hop_diag *diag)
{
    struct making m = {.layout = layout, .schedule = schedule, .failure = {.diag = diag}};
    *layout = (struct hop_layout){.schedule = schedule, .op_count = hop_schedule_count(schedule)};
    make(&m, pipelined);
    hop_names_finish(&m.devices);
    hop_names_finish(&m.names);
    if (m.failure.status == HOP_OK && layout->arena.failed)
        m.failure.status = hop_fail_memory(diag);
    if (m.failure.status != HOP_OK)
        hop_layout_finish(layout);
    return m.failure.status;
}

void hop_layout_finish(struct hop_layout *layout)
{
    hop_arena_finish(&layout->arena);
    *layout = (struct hop_layout){0};
}
