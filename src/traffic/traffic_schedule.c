/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Traffic and schedules: what a schedule's copies and messages move, and traffic as a schedule.
 *
 *     0@gpu0 -> 1@gpu1 1MiB          device bytes from rank 0 to rank 1
 *     0@host0 -> 1@host1 4KiB        host bytes
 *     send ..., receive ...          one message, counted at its send
 *     reduce ..., work ...           nothing
 *
 * Where no operation says a rank, every device but host memory is one, in the order of their appearance.
 */
#include "traffic/traffic.h"

#include "schedule/schedule.h"

#include <inttypes.h>
#include <stdio.h>

/* ---- of a schedule ---- */

struct reader {
    const struct hop_schedule *schedule;
    struct hop_diag *diag;
    bool by_rank;           /* the ranks of the places; else devices are ranks */
    struct hop_names ranks; /* devices, where they are */
    uint32_t count;
};

static bool moves(const struct hop_op *op)
{
    return op->kind == HOP_OP_COPY || hop_op_is_message(op);
}

static enum hop_status fail_at(const struct reader *r, uint32_t index, const struct hop_place *place,
                               enum hop_status status)
{
    char text[192];
    hop_diag_place(r->diag, "%s", hop_schedule_place(r->schedule, index, place->column, text, sizeof text));
    return status;
}

enum hop_status hop_traffic_refuse_host(const struct hop_schedule *schedule, uint32_t index,
                                        const struct hop_place *place, struct hop_diag *diag)
{
    const struct reader r = {.schedule = schedule, .diag = diag};
    hop_fail(diag, HOP_ERR_INVALID,
             "'%s' moves bytes of %s, which belongs to no rank\na rank in every place, such as 3@%s",
             schedule->ops[index].name, place->device, place->device);
    return fail_at(&r, index, place, HOP_ERR_INVALID);
}

/* Counts the rank of a place, or its device as one. */
static enum hop_status count_place(struct reader *r, uint32_t index, const struct hop_place *place)
{
    const struct hop_op *op = &r->schedule->ops[index];
    if (r->by_rank && place->rank < 0 && moves(op)) {
        hop_fail(r->diag, HOP_ERR_INVALID,
                 "'%s' names %s without a rank, while others have one\na rank in every place, such as 3@%s, or in none",
                 op->name, place->device, place->device);
        return fail_at(r, index, place, HOP_ERR_INVALID);
    }
    if (!r->by_rank && hop_device_is_host(place->device) && moves(op))
        return hop_traffic_refuse_host(r->schedule, index, place, r->diag);
    if (r->by_rank && place->rank >= 0 && (uint32_t)place->rank >= r->count)
        r->count = (uint32_t)place->rank + 1;
    bool fresh =
        !r->by_rank && !hop_device_is_host(place->device) && hop_names_get(&r->ranks, place->device) == UINT32_MAX;
    if (fresh && !hop_names_put(&r->ranks, place->device, r->count++))
        return hop_fail_memory(r->diag);
    if (r->count <= HOP_TRAFFIC_RANKS)
        return HOP_OK;
    hop_fail(r->diag, HOP_ERR_LIMIT,
             "'%s' takes part as rank %" PRIu32 "\n"
             "at most %u ranks",
             place->device, r->count - 1, HOP_TRAFFIC_RANKS);
    return fail_at(r, index, place, HOP_ERR_LIMIT);
}

static enum hop_status count_op(struct reader *r, uint32_t index)
{
    const struct hop_place *place;
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; status == HOP_OK && (place = hop_op_place(&r->schedule->ops[index], i)) != NULL; i++)
        status = count_place(r, index, place);
    return status;
}

static enum hop_status count_ranks(struct reader *r)
{
    const struct hop_schedule *s = r->schedule;
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < s->count && !r->by_rank; i++)
        r->by_rank = moves(&s->ops[i]) && (s->ops[i].from.rank >= 0 || s->ops[i].to.rank >= 0);
    for (uint32_t i = 0; i < s->count && status == HOP_OK; i++)
        status = count_op(r, i);
    if (status != HOP_OK || r->count > 0)
        return status;
    hop_fail(r->diag, HOP_ERR_INVALID,
             "the schedule names no device and no rank\ncopies or messages, such as 'a: gpu0 -> gpu1 1MiB'");
    hop_diag_place(r->diag, "%.200s", s->file);
    return HOP_ERR_INVALID;
}

static uint32_t rank_of(const struct reader *r, const struct hop_place *place)
{
    return r->by_rank ? (uint32_t)place->rank : hop_names_get(&r->ranks, place->device);
}

static enum hop_status add_ops(const struct reader *r, struct hop_traffic *traffic)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < r->schedule->count && status == HOP_OK; i++) {
        const struct hop_op *op = &r->schedule->ops[i];
        if (op->kind != HOP_OP_COPY && op->kind != HOP_OP_SEND)
            continue;
        bool host = hop_device_is_host(op->from.device) && hop_device_is_host(op->to.device);
        status = hop_traffic_add(traffic, rank_of(r, &op->from), rank_of(r, &op->to),
                                 host ? HOP_MEMORY_HOST : HOP_MEMORY_DEVICE, op->bytes, 1, r->diag);
        if (status != HOP_OK)
            status = fail_at(r, i, &op->from, status);
    }
    return status;
}

enum hop_status hop_traffic_of_schedule(const struct hop_schedule *schedule, struct hop_traffic **traffic,
                                        struct hop_diag *diag)
{
    struct reader r = {.schedule = schedule, .diag = diag};
    struct hop_traffic *made = NULL;
    enum hop_status status = count_ranks(&r);
    if (status == HOP_OK)
        status = hop_traffic_create(r.count, &made, diag);
    if (status == HOP_OK)
        status = add_ops(&r, made);
    hop_names_finish(&r.ranks);
    if (status == HOP_OK)
        *traffic = made;
    else
        hop_traffic_destroy(made);
    return status;
}

/* ---- to a schedule ---- */

static void add_copy(struct hop_schedule *made, const struct hop_traffic_flow *flow, enum hop_memory memory,
                     const char *const *devices)
{
    const char *from = devices[flow->from], *to = devices[flow->to];
    bool host = memory == HOP_MEMORY_HOST;
    if (!from || !to) {
        hop_failure_set(&made->failure, HOP_ERR_INVALID,
                        "rank %" PRIu32 ", which has traffic, has no %s\none for every rank that sends or receives",
                        from ? flow->to : flow->from, host ? "host memory" : "device");
        return;
    }
    char name[48];
    (void)snprintf(name, sizeof name, "r%" PRIu32 ".to%" PRIu32 "%s", flow->from, flow->to, host ? ".host" : "");
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    op.name = name;
    op.from.device = from;
    op.from.rank = (int32_t)flow->from;
    op.to.device = to;
    op.to.rank = (int32_t)flow->to;
    op.bytes = flow->bytes[memory];
    (void)hop_schedule_add(made, &op);
}

/* The flows of one rank that are in one memory. */
static void add_row(struct hop_schedule *made, const struct hop_traffic_flow *flows, uint32_t count,
                    enum hop_memory memory, const char *const *devices)
{
    for (uint32_t i = 0; i < count; i++) {
        if (flows[i].bytes[memory] > 0)
            add_copy(made, &flows[i], memory, devices);
    }
}

enum hop_status hop_traffic_to_schedule(const struct hop_traffic *traffic, const char *const *devices,
                                        const char *const *hosts, struct hop_schedule **schedule, struct hop_diag *diag)
{
    char name[32];
    (void)snprintf(name, sizeof name, "traffic-%" PRIu32, hop_traffic_ranks(traffic));
    struct hop_schedule *made = hop_schedule_create(name);
    uint32_t count = made ? hop_traffic_count(traffic) : 0;
    const struct hop_traffic_flow *flows = hop_traffic_flows(traffic);
    for (uint32_t first = 0, end; first < count; first = end) {
        for (end = first + 1; end < count && flows[end].from == flows[first].from;)
            end++;
        add_row(made, flows + first, end - first, HOP_MEMORY_DEVICE, devices);
        if (hosts)
            add_row(made, flows + first, end - first, HOP_MEMORY_HOST, hosts);
    }
    return hop_schedule_finish(made, schedule, diag);
}
