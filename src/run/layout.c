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
    bool ranked;              /* some place says a rank */
    struct hop_diag *diag;
};

static int32_t rank_said(const struct hop_place *place)
{
    if (place->rank >= 0)
        return place->rank;
    return place->device ? hop_placeholder_rank(place->device) : -1;
}

static bool says_rank(const struct hop_op *op)
{
    bool said = rank_said(&op->from) >= 0 || rank_said(&op->to) >= 0 || op->by >= 0;
    for (uint32_t i = 0; i < op->input_count && !said; i++)
        said = rank_said(&op->inputs[i]) >= 0;
    return said;
}

static bool is_ranked(const struct hop_schedule *schedule)
{
    bool ranked = false;
    for (uint32_t i = 0; i < hop_schedule_count(schedule) && !ranked; i++)
        ranked = says_rank(hop_schedule_op(schedule, i));
    return ranked;
}

static void count_rank(const struct hop_place *place, uint32_t *ranks)
{
    int32_t rank = rank_said(place);
    if (rank >= 0 && (uint32_t)rank + 1 > *ranks)
        *ranks = (uint32_t)rank + 1;
}

static bool number_device(struct hop_names *devices, const char *device)
{
    return hop_names_get(devices, device) != UINT32_MAX || hop_names_put(devices, device, devices->used);
}

/* How many ranks; devices gets numbers where no place says a rank. */
static bool number_ranks(const struct hop_schedule *schedule, struct hop_names *devices, uint32_t *ranks)
{
    bool ranked = is_ranked(schedule), fine = true;
    *ranks = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule) && fine; i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (ranked) {
            count_rank(&op->from, ranks);
            count_rank(&op->to, ranks);
            for (uint32_t k = 0; k < op->input_count; k++)
                count_rank(&op->inputs[k], ranks);
            for (uint32_t k = 0; k < op->output_count; k++)
                count_rank(&op->outputs[k], ranks);
        } else {
            fine = number_device(devices, op->from.device) && (!op->to.device || number_device(devices, op->to.device));
        }
    }
    if (!ranked)
        *ranks = devices->used;
    return fine;
}

uint32_t hop_schedule_run_ranks(const struct hop_schedule *schedule)
{
    struct hop_names devices = {0};
    uint32_t ranks = 0;
    (void)number_ranks(schedule, &devices, &ranks);
    hop_names_finish(&devices);
    return ranks;
}

/* ---- places ---- */

/* A place without a rank, where others have one, belongs to the rank at the operation's other end. */
static enum hop_status rank_of(struct making *m, uint32_t index, const struct hop_place *place,
                               const struct hop_place *other, uint32_t *rank)
{
    char where[192];
    int32_t said = rank_said(place);
    if (said < 0 && m->ranked)
        said = other ? rank_said(other) : -1;
    if (said < 0 && !m->ranked)
        said = (int32_t)hop_names_get(&m->devices, place->device);
    if (said >= 0) {
        *rank = (uint32_t)said;
        return HOP_OK;
    }
    hop_fail(m->diag, HOP_ERR_INVALID, "no rank is said for %s", place->device);
    hop_diag_place(m->diag, "%s", hop_schedule_place(m->schedule, index, place->column, where, sizeof where));
    hop_diag_expect(m->diag, "RANK@%s, since other places of the schedule say their rank", place->device);
    return HOP_ERR_INVALID;
}

static bool is_callers(const char *name)
{
    return strcmp(name, "in") == 0 || strcmp(name, "out") == 0 || strcmp(name, "data") == 0;
}

static enum hop_status find_buffer(struct making *m, uint32_t rank, const char *name, const char *device,
                                   uint32_t *buffer)
{
    struct hop_layout *layout = m->layout;
    char key[96];
    int length = snprintf(key, sizeof key, "%u %s", rank, name);
    *buffer = hop_names_get(&m->names, key);
    if (*buffer != UINT32_MAX)
        return HOP_OK;
    const char *kept = hop_arena_string(&layout->arena, key, (size_t)length);
    if (!kept ||
        !hop_grow(&layout->buffers, &layout->buffer_capacity, layout->buffer_count + 1, sizeof *layout->buffers) ||
        !hop_names_put(&m->names, kept, layout->buffer_count))
        return hop_fail_memory(m->diag);
    layout->buffers[layout->buffer_count] = (struct hop_run_buffer){
        .rank = rank, .name = strchr(kept, ' ') + 1, .device = device, .scratch = !is_callers(name)};
    *buffer = layout->buffer_count++;
    return HOP_OK;
}

static enum hop_status add_place(struct making *m, uint32_t index, const struct hop_place *place,
                                 const struct hop_place *other, bool writes)
{
    struct hop_layout *layout = m->layout;
    uint64_t bytes = hop_schedule_op(m->schedule, index)->bytes;
    struct hop_run_place made = {0, place->offset_bytes};
    uint32_t rank;
    char where[192];
    enum hop_status status = rank_of(m, index, place, other, &rank);
    if (status == HOP_OK)
        status = find_buffer(m, rank,
                             place->buffer ? place->buffer
                             : writes      ? "receive"
                                           : "send",
                             place->device, &made.buffer);
    if (status != HOP_OK)
        return status;
    struct hop_run_buffer *buffer = &layout->buffers[made.buffer];
    if (!place->buffer && writes) /* bytes of its own, behind those of earlier operations */
        made.offset = (buffer->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    if (made.offset > MEMORY_LIMIT || bytes > MEMORY_LIMIT) {
        hop_fail(m->diag, HOP_ERR_LIMIT, "buffer %s of rank %u would be longer than 64 TiB", buffer->name, rank);
        hop_diag_place(m->diag, "%s", hop_schedule_place(m->schedule, index, place->column, where, sizeof where));
        return HOP_ERR_LIMIT;
    }
    if (made.offset + bytes > buffer->bytes)
        buffer->bytes = made.offset + bytes;
    if (!hop_grow(&layout->places, &layout->place_capacity, layout->place_count + 1, sizeof *layout->places))
        return hop_fail_memory(m->diag);
    layout->places[layout->place_count++] = made;
    return HOP_OK;
}

/* A receive has no places of its own: its send's copy writes there. */
static enum hop_status add_places(struct making *m, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(m->schedule, index);
    struct hop_run_op *run = &m->layout->ops[index];
    enum hop_status status = HOP_OK;
    run->first = m->layout->place_count;
    if (op->kind == HOP_OP_COPY || op->kind == HOP_OP_SEND) {
        const struct hop_place *to = &op->to;
        if (op->kind == HOP_OP_SEND)
            to = &hop_schedule_op(m->schedule, run->partner)->to;
        status = add_place(m, index, &op->from, &op->to, false);
        if (status == HOP_OK)
            status = add_place(m, index, to, &op->from, true);
        run->reads = run->writes = 1;
    } else if (op->kind == HOP_OP_REDUCE) {
        for (uint32_t i = 0; i < op->input_count && status == HOP_OK; i++)
            status = add_place(m, index, &op->inputs[i], &op->to, false);
        if (status == HOP_OK)
            status = add_place(m, index, &op->to, op->input_count ? &op->inputs[0] : NULL, true);
        for (uint32_t i = 0; i < op->output_count && status == HOP_OK; i++)
            status = add_place(m, index, &op->outputs[i], &op->to, true);
        run->reads = op->input_count;
        run->writes = 1 + op->output_count;
    }
    return status;
}

/* ---- owners and dependencies ---- */

static enum hop_status find_owner(struct making *m, uint32_t index)
{
    const struct hop_layout *layout = m->layout;
    const struct hop_op *op = hop_schedule_op(m->schedule, index);
    struct hop_run_op *run = &m->layout->ops[index];
    enum hop_status status = HOP_OK;
    if (op->kind == HOP_OP_WORK) {
        status = rank_of(m, index, &op->from, NULL, &run->owner);
    } else if (op->kind == HOP_OP_RECEIVE) {
        status = rank_of(m, index, &op->to, &op->from, &run->owner);
    } else {
        const struct hop_run_place *place = &layout->places[run->first];
        uint32_t from = layout->buffers[place[0].buffer].rank, to = layout->buffers[place[run->reads].buffer].rank;
        run->owner = op->by >= 0 ? (uint32_t)op->by : op->kind == HOP_OP_REDUCE ? to : from;
        run->leader = run->owner == from ? to : from;
        return status;
    }
    run->leader = run->owner;
    return status;
}

static enum hop_status put_after(struct making *m, uint32_t op)
{
    struct hop_layout *layout = m->layout;
    if (!hop_grow(&layout->after, &layout->after_capacity, layout->after_count + 1, sizeof *layout->after))
        return hop_fail_memory(m->diag);
    layout->after[layout->after_count++] = op;
    return HOP_OK;
}

/* A message moves once it is sent and, where it lands in a named buffer, its receive is posted; the receive ends with
 * it. */
static enum hop_status add_after(struct making *m, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(m->schedule, index);
    struct hop_run_op *run = &m->layout->ops[index];
    enum hop_status status = HOP_OK;
    run->after_first = m->layout->after_count;
    for (uint32_t i = 0; i < op->after_count && status == HOP_OK; i++)
        status = put_after(m, op->after[i]);
    if (op->kind == HOP_OP_RECEIVE && status == HOP_OK)
        status = put_after(m, run->partner);
    if (op->kind == HOP_OP_SEND) {
        const struct hop_op *receive = hop_schedule_op(m->schedule, run->partner);
        for (uint32_t i = 0; receive->to.buffer && i < receive->after_count && status == HOP_OK; i++)
            status = put_after(m, receive->after[i]);
    }
    run->after_count = m->layout->after_count - run->after_first;
    return status;
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

/* ---- the order ---- */

struct ordering {
    const struct hop_layout *layout;
    uint32_t *before; /* per operation: the one before it in its rank's queue, HOP_NONE */
};

static uint32_t waits_for(const void *context, uint32_t index, uint32_t i)
{
    const struct ordering *o = context;
    const struct hop_run_op *run = &o->layout->ops[index];
    const struct hop_op *op = hop_schedule_op(o->layout->schedule, index);
    if (i < run->after_count)
        return o->layout->after[run->after_first + i];
    i -= run->after_count;
    if (i < op->after_start_count)
        return op->after_start[i];
    return i == op->after_start_count && o->before[index] != HOP_NONE ? o->before[index] : UINT32_MAX;
}

static enum hop_status fail_deadlock(const struct making *m, const struct ordering *ordering)
{
    enum { SHOWN = 8 };
    uint32_t *cycle, length;
    char text[400] = "", where[192];
    enum hop_status status = hop_cycle_find(m->layout->op_count, waits_for, ordering, &cycle, &length, m->diag);
    if (status != HOP_OK)
        return status;
    for (uint32_t i = 0, used = 0; i < length && i < SHOWN && used < sizeof text; i++)
        used += (uint32_t)snprintf(text + used, sizeof text - used, "%s%.40s", i ? ", which waits for " : "",
                                   hop_schedule_op(m->schedule, cycle[i])->name);
    hop_fail(m->diag, HOP_ERR_DEADLOCK, "it would never end: %s%s", text, length > SHOWN ? ", ..." : "");
    hop_diag_place(m->diag, "%s", hop_schedule_place(m->schedule, length ? cycle[0] : 0, 0, where, sizeof where));
    hop_diag_expect(m->diag,
                    "each rank's copies in an order that their dependencies allow (or the line `queue ready`)");
    free(cycle);
    return HOP_ERR_DEADLOCK;
}

/* Depth first, without recursion: an operation is put down when all that it waits for are. */
static bool put_in_order(struct hop_layout *layout, const struct ordering *ordering, uint32_t *next, uint32_t *stack)
{
    uint32_t done = 0;
    for (uint32_t root = 0; root < layout->op_count; root++) {
        uint32_t depth = 0;
        if (next[root] == HOP_NONE)
            continue;
        stack[depth++] = root;
        while (depth > 0) {
            uint32_t op = stack[depth - 1], other = waits_for(ordering, op, next[op]);
            if (other == UINT32_MAX) {
                layout->order[done++] = op;
                next[op] = HOP_NONE;
                depth--;
                continue;
            }
            next[op]++;
            if (next[other] == HOP_NONE)
                continue;
            if (next[other] > 0 || depth >= layout->op_count)
                return false; /* it is on the stack already: a cycle */
            stack[depth++] = other;
        }
    }
    return true;
}

static enum hop_status find_order(struct making *m)
{
    struct hop_layout *layout = m->layout;
    size_t count = (size_t)layout->op_count + 1;
    struct ordering ordering = {layout, malloc(count * sizeof(uint32_t))};
    uint32_t *last = malloc((size_t)layout->ranks * HOP_QUEUES * sizeof *last + 1);
    uint32_t *next = calloc(count, sizeof *next), *stack = malloc(count * sizeof *stack);
    enum hop_status status = ordering.before && last && next && stack ? HOP_OK : hop_fail_memory(m->diag);
    for (uint32_t i = 0; status == HOP_OK && i < layout->ranks * HOP_QUEUES; i++)
        last[i] = HOP_NONE;
    for (uint32_t i = 0; status == HOP_OK && i < layout->op_count; i++) {
        enum hop_run_queue queue = hop_layout_queue(layout, i);
        ordering.before[i] = HOP_NONE;
        if (queue == HOP_QUEUE_NONE || hop_schedule_queue_ready(m->schedule))
            continue;
        uint32_t *before = &last[layout->ops[i].owner * HOP_QUEUES + (uint32_t)queue];
        ordering.before[i] = *before;
        *before = i;
    }
    if (status == HOP_OK && !put_in_order(layout, &ordering, next, stack))
        status = fail_deadlock(m, &ordering);
    free(ordering.before);
    free(last);
    free(next);
    free(stack);
    return status;
}

/* ---- memory ---- */

static enum hop_status place_buffers(struct making *m, bool pipelined)
{
    struct hop_layout *layout = m->layout;
    for (uint32_t b = 0; b < layout->buffer_count; b++) {
        struct hop_run_buffer *buffer = &layout->buffers[b];
        uint64_t *used = &layout->rank_bytes[buffer->rank],
                 size = (buffer->bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
        buffer->scratch = buffer->scratch && pipelined;
        buffer->offset = *used;
        buffer->other = buffer->scratch ? size : 0;
        *used += buffer->scratch ? 2 * size : size;
        if (*used > MEMORY_LIMIT)
            return hop_fail(m->diag, HOP_ERR_LIMIT, "the buffers of rank %u would take more than 64 TiB", buffer->rank);
    }
    return HOP_OK;
}

static enum hop_status check_reductions(struct making *m)
{
    struct hop_layout *layout = m->layout;
    char where[192];
    for (uint32_t i = 0; i < layout->op_count; i++) {
        const struct hop_op *op = hop_schedule_op(m->schedule, i);
        const struct hop_run_op *run = &layout->ops[i];
        if (op->kind == HOP_OP_REDUCE && (run->reads > HOP_REDUCTION_PLACES || run->writes > HOP_REDUCTION_PLACES)) {
            hop_fail(m->diag, HOP_ERR_LIMIT, "'%s' has %u inputs and %u outputs", op->name, run->reads, run->writes);
            hop_diag_place(m->diag, "%s", hop_schedule_place(m->schedule, i, 0, where, sizeof where));
            hop_diag_expect(m->diag, "at most %d of each", HOP_REDUCTION_PLACES);
            return HOP_ERR_LIMIT;
        }
        for (uint32_t p = 0; op->kind == HOP_OP_REDUCE && p < run->reads + run->writes; p++) {
            if (layout->places[run->first + p].offset % hop_type_bytes(op->type) == 0)
                continue;
            hop_fail(m->diag, HOP_ERR_INVALID, "'%s' reduces at an offset that is no multiple of its type %s", op->name,
                     hop_type_name(op->type));
            hop_diag_place(m->diag, "%s", hop_schedule_place(m->schedule, i, 0, where, sizeof where));
            hop_diag_expect(m->diag, "offsets that are multiples of %llu bytes",
                            (unsigned long long)hop_type_bytes(op->type));
            return HOP_ERR_INVALID;
        }
    }
    return HOP_OK;
}

static enum hop_status match_messages(struct making *m)
{
    struct hop_layout *layout = m->layout;
    uint32_t *partner = malloc(((size_t)layout->op_count + 1) * sizeof *partner);
    enum hop_status status = partner ? hop_schedule_match(m->schedule, partner, m->diag) : hop_fail_memory(m->diag);
    for (uint32_t i = 0; status == HOP_OK && i < layout->op_count; i++)
        layout->ops[i].partner = partner[i];
    free(partner);
    return status;
}

enum hop_status hop_layout_create(const struct hop_schedule *schedule, bool pipelined, struct hop_layout *layout,
                                  struct hop_diag *diag)
{
    struct making m = {.layout = layout, .schedule = schedule, .ranked = is_ranked(schedule), .diag = diag};
    *layout = (struct hop_layout){.schedule = schedule, .op_count = hop_schedule_count(schedule)};
    enum hop_status status = HOP_OK;
    if (!number_ranks(schedule, &m.devices, &layout->ranks))
        status = hop_fail_memory(diag);
    if (status == HOP_OK && layout->ranks > HOP_RANKS_MAX)
        status =
            hop_fail(diag, HOP_ERR_LIMIT, "the schedule has %u ranks; at most %u run", layout->ranks, HOP_RANKS_MAX);
    layout->ops = calloc((size_t)layout->op_count + 1, sizeof *layout->ops);
    layout->order = malloc(((size_t)layout->op_count + 1) * sizeof *layout->order);
    layout->rank_bytes = calloc((size_t)layout->ranks + 1, sizeof *layout->rank_bytes);
    if (status == HOP_OK && (!layout->ops || !layout->order || !layout->rank_bytes))
        status = hop_fail_memory(diag);
    if (status == HOP_OK)
        status = match_messages(&m);
    for (uint32_t i = 0; i < layout->op_count && status == HOP_OK; i++) {
        status = add_places(&m, i);
        if (status == HOP_OK)
            status = find_owner(&m, i);
        if (status == HOP_OK)
            status = add_after(&m, i);
    }
    if (status == HOP_OK)
        status = check_reductions(&m);
    if (status == HOP_OK)
        status = find_order(&m);
    if (status == HOP_OK)
        status = place_buffers(&m, pipelined);
    hop_names_finish(&m.devices);
    hop_names_finish(&m.names);
    if (status != HOP_OK)
        hop_layout_finish(layout);
    return status;
}

void hop_layout_finish(struct hop_layout *layout)
{
    free(layout->ops);
    free(layout->places);
    free(layout->after);
    free(layout->buffers);
    free(layout->rank_bytes);
    free(layout->order);
    hop_arena_finish(&layout->arena);
    *layout = (struct hop_layout){0};
}
