/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lifting: a schedule between devices as one between ranks, the way back from placing one.
 *
 *     gpu1 -> gpu0 1MiB            rank1 -> rank0 1MiB              0 gpu0
 *     7@gpu0 -> 2@gpu1 1MiB        rank7 -> rank2 1MiB              2 gpu1, 7 gpu0
 *     3@host0 -> 4@host1 1MiB      rank3.host -> rank4.host 1MiB     (also read as such)
 */
#include "hopcast/placement.h"
#include "schedule/schedule.h"
#include "traffic/traffic.h"

#include <stdio.h>

struct lift {
    const struct hop_schedule *from;
    uint32_t index; /* of the operation that is visited */
    struct hop_schedule *ranked;
    bool by_rank;       /* places say their ranks */
    const char **names; /* devices, where none does: sorted; their index is the rank */
    uint32_t count;
    struct hop_names seen;
    const char **device; /* by rank: where it was, NULL: not known */
    uint32_t ranks;
    struct hop_arena arena;
    struct hop_diag *diag;
};

typedef enum hop_status visitor(struct lift *lift, struct hop_place *place);

/* Every place of every operation. */
static enum hop_status visit_all(struct lift *lift, const struct hop_schedule *of, visitor *each)
{
    const struct hop_place *place;
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < of->count; i++) {
        lift->index = i;
        for (uint32_t p = 0; status == HOP_OK && (place = hop_op_place(&of->ops[i], p)) != NULL; p++)
            status = each(lift, (struct hop_place *)place);
    }
    return status;
}

static int64_t rank_of(const struct hop_place *place)
{
    return place->rank >= 0 ? place->rank : hop_placeholder_host_rank(place->device);
}

static enum hop_status see_rank(struct lift *lift, struct hop_place *place)
{
    int64_t rank = rank_of(place);
    lift->by_rank = lift->by_rank || rank >= 0;
    if (rank >= (int64_t)lift->ranks)
        lift->ranks = (uint32_t)rank + 1;
    return HOP_OK;
}

static enum hop_status see_name(struct lift *lift, struct hop_place *place)
{
    if (hop_device_is_host(place->device)) {
        const struct hop_op *op = &lift->from->ops[lift->index];
        bool moves = op->kind == HOP_OP_COPY || hop_op_is_message(op);
        return moves ? hop_traffic_refuse_host(lift->from, lift->index, place, lift->diag) : HOP_OK;
    }
    if (hop_names_get(&lift->seen, place->device) != UINT32_MAX)
        return HOP_OK;
    if (!hop_names_put(&lift->seen, place->device, lift->count) ||
        !HOP_GROW(&lift->arena, lift->names, lift->count + 1))
        return hop_fail_memory(lift->diag);
    lift->names[lift->count++] = place->device;
    return HOP_OK;
}

/* As people count: gpu2 before gpu10. */
static int by_number(const void *a, const void *b)
{
    return strverscmp(*(const char *const *)a, *(const char *const *)b);
}

static enum hop_status see_device(struct lift *lift, struct hop_place *place)
{
    if (place->rank >= 0 && hop_placeholder_rank(place->device) < 0 && !hop_device_is_host(place->device))
        lift->device[place->rank] = place->device;
    return HOP_OK;
}

static enum hop_status rename_place(struct lift *lift, struct hop_place *place)
{
    char name[32];
    bool host = hop_device_is_host(place->device);
    int64_t rank = rank_of(place);
    if (!lift->by_rank && !host)
        rank = (const char **)bsearch(&place->device, lift->names, lift->count, sizeof *lift->names, by_number) -
               lift->names;
    if (rank < 0)
        return HOP_OK;
    (void)snprintf(name, sizeof name, "rank%u%s", (unsigned)rank, host ? ".host" : "");
    place->device = hop_schedule_intern(lift->ranked, name);
    place->rank = (int32_t)rank;
    return place->device ? HOP_OK : hop_fail_memory(lift->diag);
}

/* The operations are appended first, so that lists are the new schedule's own, and then renamed. They keep their lines,
 * so that diagnostics still name them. */
static enum hop_status write_ranked(struct lift *lift)
{
    struct hop_schedule *made = hop_schedule_create_like(lift->from);
    for (uint32_t i = 0; i < lift->from->count; i++)
        (void)hop_schedule_add(made, &lift->from->ops[i]);
    enum hop_status status = hop_schedule_failure(made, lift->diag);
    lift->ranked = made;
    if (status == HOP_OK)
        status = visit_all(lift, made, rename_place);
    lift->ranked = NULL;
    return hop_schedule_end(made, status, &lift->ranked, lift->diag);
}

/* NULL where a rank's device is not known. */
static enum hop_status write_placement(const struct lift *lift, struct hop_placement **placement)
{
    uint32_t ranks = lift->by_rank ? lift->ranks : lift->count;
    const char **devices = lift->by_rank ? lift->device : lift->names;
    *placement = NULL;
    for (uint32_t r = 0; r < ranks; r++) {
        if (!devices[r])
            return HOP_OK;
    }
    return ranks ? hop_placement_of(devices, ranks, placement, lift->diag) : HOP_OK;
}

enum hop_status hop_placement_lift(const struct hop_schedule *schedule, struct hop_schedule **ranked,
                                   struct hop_placement **placement, struct hop_diag *diag)
{
    struct lift lift = {.from = schedule, .diag = diag};
    struct hop_placement *was = NULL;
    enum hop_status status = visit_all(&lift, schedule, see_rank);
    if (status == HOP_OK && !lift.by_rank)
        status = visit_all(&lift, schedule, see_name);
    if (lift.count)
        qsort(lift.names, lift.count, sizeof *lift.names, by_number);
    lift.device = hop_arena_alloc(&lift.arena, lift.ranks * sizeof *lift.device);
    if (status == HOP_OK && !lift.device)
        status = hop_fail_memory(diag);
    if (status == HOP_OK)
        status = visit_all(&lift, schedule, see_device);
    if (status == HOP_OK)
        status = write_ranked(&lift);
    if (status == HOP_OK)
        status = write_placement(&lift, &was);
    hop_names_finish(&lift.seen);
    hop_arena_finish(&lift.arena);
    if (status == HOP_OK) {
        *ranked = lift.ranked;
        *placement = was;
    } else {
        hop_schedule_destroy(lift.ranked);
    }
    return status;
}
