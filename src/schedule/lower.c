/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Lowering: staged copies become copies into and out of host memory, messages become copies.
 *
 *     c: gpu3 -> gpu2 5MiB via staged 2MiB          c.r0: gpu3 -> host0 2MiB
 *                                             =>    c.w0: host0 -> gpu2 2MiB after c.r0
 *                                                   c.r1: gpu3 -> host0 2MiB after c.r0
 *                                                   c.w1: host0 -> gpu2 2MiB after c.w0 c.r1 ...
 *
 * Reads follow each other, writes follow each other, and write i follows read i: one read and one write overlap
 * (Aggarwal et al. 2011). A staged copy that its destination's rank performs (by) holds that device's copy engine while
 * it writes. Who waits for the copy's end waits for its last write; who waits for its start, for its first read.
 *
 *     s: send gpu0 -> gpu1 1MiB after a             s: gpu0 -> gpu1 1MiB after a r.p0
 *     r: receive gpu0 -> gpu1 1MiB after b    =>    r.p0: work gpu1 0s after b
 *                                                   r: work gpu1 0s after s r.p0
 *
 * r.p0 marks that the receive is posted. Only a message above parameter loggp_S waits for that (rendezvous); where
 * nothing does, and
 * nobody waits for the receive's start, there is no mark and r itself has the dependencies. A send whose start
 * somebody waits for has such a mark too, since its message may leave later than the send is posted.
 */
#include "schedule/schedule.h"
#include "topology/route.h"

#include <stdio.h>

/* What an operation of the original became. */
struct image {
    uint32_t first, last; /* in the lowered schedule: the one that waits for the dependencies, the one that ends last */
    uint32_t partner;     /* of a message, in the original; else HOP_NONE */
    bool start_awaited;
};

struct lowering {
    const struct hop_schedule *original;
    const struct hop_topology *topology;
    struct hop_router *router;
    struct hop_schedule *lowered;
    struct image *images;
    double eager_bytes; /* the longest message that does not wait for its receive */
    struct hop_diag *diag;
};

/* A message of a rank to itself takes no time; between two ranks of one device it is a copy there. */
static bool is_to_itself(const struct hop_op *op)
{
    return strcmp(op->from.device, op->to.device) == 0 && op->from.rank == op->to.rank;
}

bool hop_op_needs_lowering(const struct hop_op *op)
{
    return op->via != HOP_VIA_P2P || hop_op_is_message(op);
}

static uint64_t packets_of(const struct hop_op *op)
{
    if (op->packet_bytes == 0 || op->bytes <= op->packet_bytes)
        return 1;
    return (op->bytes - 1) / op->packet_bytes + 1;
}

/* Whether the copy goes through host memory; auto asks the router. */
static bool is_staged(struct lowering *l, const struct hop_op *op)
{
    if (op->kind != HOP_OP_COPY || op->via == HOP_VIA_P2P)
        return false;
    if (op->via == HOP_VIA_STAGED)
        return true;
    uint32_t from = hop_topology_find(l->topology, op->from.device), to = hop_topology_find(l->topology, op->to.device),
             route;
    return from != HOP_NONE && to != HOP_NONE && hop_router_find(l->router, from, to, &route, NULL) == HOP_ERR_NO_ROUTE;
}

/* Where a copy is staged; NULL: nowhere, since one end is there, or it is not known. */
static const char *host_of(struct lowering *l, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(l->original, index);
    uint32_t device = hop_topology_find(l->topology, op->from.device);
    char place[192];
    if (device == HOP_NONE) /* simulate reports unknown devices, with the nearest name: keep the operation as it is */
        return NULL;
    struct hop_failure *failure = &l->lowered->failure;
    uint32_t node = HOP_NONE;
    if (failure->status == HOP_OK)
        failure->status = hop_router_nearest_host(l->router, device, &node, failure->diag);
    if (failure->status != HOP_OK)
        return NULL;
    if (node != HOP_NONE) {
        const char *host = hop_topology_node(l->topology, node)->name;
        bool end = strcmp(host, op->from.device) == 0 || strcmp(host, op->to.device) == 0;
        return end ? NULL : host;
    }
    hop_failure_set(failure, HOP_ERR_NO_ROUTE,
                    "'%s' is staged, but no host memory is in reach of %s\na topology with host memory, or via p2p",
                    op->name, op->from.device);
    hop_failure_place(failure, "%s", hop_schedule_place(l->original, index, op->from.column, place, sizeof place));
    return NULL;
}

/* "name.r12", made unique if the original uses that name itself; "t5.r12" where the name of operation 5 is too long for that. */
static void child_name(const struct lowering *l, uint32_t index, char kind, uint64_t number, char *name, size_t size)
{
    const char *parent = hop_schedule_op(l->original, index)->name;
    char short_name[16];
    if (strlen(parent) > 100) {
        (void)snprintf(short_name, sizeof short_name, "t%u", index);
        parent = short_name;
    }
    int length = snprintf(name, size, "%s.%c%llu", parent, kind, (unsigned long long)number);
    while ((hop_schedule_find(l->original, name) != HOP_NONE || hop_schedule_find(l->lowered, name) != HOP_NONE) &&
           (size_t)length + 1 < size) {
        name[length++] = '_';
        name[length] = '\0';
    }
}

static uint32_t add_child(struct lowering *l, uint32_t index, char kind, uint64_t packet, const struct hop_op *child)
{
    char name[HOP_OP_NAME_LIMIT + 1];
    struct hop_op op = *child;
    child_name(l, index, kind, packet, name, sizeof name);
    op.name = name;
    op.parent = index;
    op.line = hop_schedule_op(l->original, index)->line;
    return hop_schedule_add(l->lowered, &op);
}

static void stage(struct lowering *l, uint32_t index, const char *host)
{
    const struct hop_op *op = hop_schedule_op(l->original, index);
    uint64_t packets = packets_of(op), left = op->bytes;
    char place[192];
    if (packets > HOP_PACKET_LIMIT) {
        hop_failure_set(&l->lowered->failure, HOP_ERR_LIMIT,
                        "'%s' would be staged in %llu packets\nat most %u packets: a larger packet size", op->name,
                        (unsigned long long)packets, HOP_PACKET_LIMIT);
        hop_failure_place(&l->lowered->failure, "%s", hop_schedule_place(l->original, index, 0, place, sizeof place));
        return;
    }
    uint32_t read = HOP_NONE, write = HOP_NONE;
    for (uint64_t p = 0; p < packets; p++) {
        uint64_t bytes = op->packet_bytes && left > op->packet_bytes ? op->packet_bytes : left;
        uint32_t last_read = read, after[2] = {HOP_NONE, HOP_NONE};
        struct hop_op child = hop_op_default(HOP_OP_COPY);
        child.from = op->from;
        child.from.offset_bytes += op->bytes - left;
        child.by = op->by == op->from.rank ? op->by : -1;
        child.to = (struct hop_place){.device = host, .rank = op->from.rank};
        child.bytes = bytes;
        child.at_s = op->at_s;
        if (p > 0) {
            child.after = &last_read;
            child.after_count = 1;
        }
        read = add_child(l, index, 'r', p, &child);
        child = hop_op_default(HOP_OP_COPY);
        child.from = (struct hop_place){.device = host, .rank = op->from.rank};
        child.to = op->to;
        child.to.offset_bytes += op->bytes - left;
        child.by = op->by;
        child.bytes = bytes;
        after[0] = read;
        after[1] = write;
        child.after = after;
        child.after_count = p > 0 ? 2 : 1;
        if (p == 0)
            l->images[index].first = read;
        write = add_child(l, index, 'w', p, &child);
        left -= bytes;
    }
    l->images[index].last = write;
}

/* ---- messages ---- */

static bool waits(const struct hop_op *op)
{
    return op->after_count || op->after_start_count || op->at_s > 0;
}

/* Of either end of a message. */
static bool is_rendezvous(const struct lowering *l, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(l->original, index);
    uint32_t partner = l->images[index].partner;
    bool eager =
        op->kind == HOP_OP_SEND ? op->eager : partner != HOP_NONE && hop_schedule_op(l->original, partner)->eager;
    return !eager && (double)op->bytes > l->eager_bytes;
}

/* Who matches whom, and whose start somebody waits for. */
static enum hop_status match(struct lowering *l)
{
    const struct hop_schedule *s = l->original;
    bool any = false;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct hop_op *op = &s->ops[i];
        any = any || hop_op_is_message(op);
        l->images[i].partner = HOP_NONE;
        for (uint32_t d = 0; d < op->after_start_count; d++)
            l->images[op->after_start[d]].start_awaited = true;
    }
    if (!any)
        return HOP_OK;
    uint32_t *partner = malloc(s->count * sizeof *partner);
    enum hop_status status = partner ? hop_schedule_match(s, partner, l->diag) : hop_fail_memory(l->diag);
    for (uint32_t i = 0; status == HOP_OK && i < s->count; i++)
        l->images[i].partner = partner[i];
    free(partner);
    return status;
}

static void lower_message(struct lowering *l, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(l->original, index);
    struct image *image = &l->images[index];
    bool send = op->kind == HOP_OP_SEND,
         marked = image->start_awaited || (!send && is_rendezvous(l, index) && waits(op));
    struct hop_op child = hop_op_default(HOP_OP_WORK);
    child.from = send ? op->from : op->to;
    child.from.buffer = NULL;
    child.at_s = op->at_s;
    if (marked)
        image->first = add_child(l, index, 'p', 0, &child);
    if (send && !is_to_itself(op)) {
        child = *op;
        child.kind = HOP_OP_COPY;
        child.after_count = child.after_start_count = 0;
    }
    child.name = op->name;
    child.at_s = marked ? 0 : op->at_s;
    child.line = op->line;
    child.parent = index;
    image->last = hop_schedule_add(l->lowered, &child);
    if (!marked)
        image->first = image->last;
}

/* ---- dependencies ---- */

/* What a message's end waits for beside its dependencies: a receive for its copy, a rendezvous for its receive's
 * mark. */
static uint32_t end_waits_for(const struct lowering *l, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(l->original, index);
    if (l->images[index].partner == HOP_NONE)
        return HOP_NONE;
    const struct image *partner = &l->images[l->images[index].partner];
    if (op->kind == HOP_OP_RECEIVE)
        return partner->last;
    return is_rendezvous(l, index) && partner->first != partner->last ? partner->first : HOP_NONE;
}

static enum hop_status set_after(struct lowering *l, uint32_t image, const uint32_t *list, uint32_t count)
{
    uint32_t *kept = hop_arena_copy(&l->lowered->arena, list, count * sizeof *list);
    l->lowered->ops[image].after = kept;
    l->lowered->ops[image].after_count = count;
    return kept ? HOP_OK : hop_fail_memory(l->diag);
}

/* The dependencies of the original become dependencies between images, written into `list`. */
static enum hop_status link_image(struct lowering *l, uint32_t index, uint32_t *list)
{
    const struct hop_op *op = hop_schedule_op(l->original, index);
    const struct image *image = &l->images[index];
    uint32_t count = 0, end_waits = end_waits_for(l, index);
    enum hop_status status = HOP_OK;
    for (uint32_t d = 0; d < op->after_start_count; d++)
        list[d] = l->images[op->after_start[d]].first;
    struct hop_op *first = &l->lowered->ops[image->first];
    first->after_start = hop_arena_copy(&l->lowered->arena, list, op->after_start_count * sizeof *list);
    first->after_start_count = op->after_start_count;
    if (!first->after_start)
        return hop_fail_memory(l->diag);
    if (hop_op_is_message(op) && image->first != image->last) {
        const uint32_t both[2] = {end_waits, image->first}; /* a receive's copy comes first: hop_timeline_is_mark */
        status = end_waits == HOP_NONE ? set_after(l, image->last, both + 1, 1) : set_after(l, image->last, both, 2);
    } else if (end_waits != HOP_NONE) {
        list[count++] = end_waits;
    }
    for (uint32_t d = 0; d < op->after_count; d++)
        list[count++] = l->images[op->after[d]].last;
    return status == HOP_OK ? set_after(l, image->first, list, count) : status;
}

/* Afterwards, since dependencies may point forwards. */
static enum hop_status link_images(struct lowering *l)
{
    uint32_t longest = 0;
    for (uint32_t i = 0; i < hop_schedule_count(l->original); i++) {
        const struct hop_op *op = hop_schedule_op(l->original, i);
        uint32_t most = op->after_count > op->after_start_count ? op->after_count : op->after_start_count;
        longest = most > longest ? most : longest;
    }
    uint32_t *list = malloc(((size_t)longest + 1) * sizeof *list);
    enum hop_status status = list ? HOP_OK : hop_fail_memory(l->diag);
    if (status == HOP_OK)
        status = hop_schedule_failure(l->lowered, l->diag);
    for (uint32_t i = 0; i < hop_schedule_count(l->original) && status == HOP_OK; i++)
        status = link_image(l, i, list);
    free(list);
    return status;
}

/* At least: messages may have marks, too. A copy in too many packets is refused for itself. */
static uint64_t count_lowered(struct lowering *l)
{
    uint64_t count = 0;
    for (uint32_t i = 0; i < hop_schedule_count(l->original); i++) {
        const struct hop_op *op = hop_schedule_op(l->original, i);
        uint64_t packets = is_staged(l, op) ? packets_of(op) : 0;
        count += packets && packets <= HOP_PACKET_LIMIT ? 2 * packets : 1;
    }
    return count;
}

static enum hop_status lower_all(struct lowering *l)
{
    HOP_CHECK(match(l));
    HOP_CHECK(hop_schedule_check_count(hop_schedule_name(l->original), true, count_lowered(l), HOP_OP_LIMIT, l->diag));
    for (uint32_t i = 0; i < hop_schedule_count(l->original); i++) {
        const struct hop_op *op = hop_schedule_op(l->original, i);
        const char *host = is_staged(l, op) ? host_of(l, i) : NULL;
        if (hop_op_is_message(op)) {
            lower_message(l, i);
        } else if (host) {
            stage(l, i, host);
        } else {
            struct hop_op same = *op;
            same.after_count = same.after_start_count = 0;
            same.via = HOP_VIA_P2P;
            same.packet_bytes = 0;
            same.parent = i;
            l->images[i].first = l->images[i].last = hop_schedule_add(l->lowered, &same);
        }
    }
    return link_images(l);
}

enum hop_status hop_schedule_lower(const struct hop_schedule *schedule, const struct hop_topology *topology,
                                   struct hop_schedule **lowered, struct hop_diag *diag)
{
    struct lowering l = {schedule,
                         topology,
                         hop_router_create(topology),
                         hop_schedule_create_like(schedule),
                         calloc((size_t)hop_schedule_count(schedule) + 1, sizeof(struct image)),
                         hop_topology_parameter(topology, "loggp_S")->value,
                         diag};
    enum hop_status status = l.router && l.lowered && l.images ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = lower_all(&l);
    status = hop_schedule_end(l.lowered, status, lowered, diag);
    hop_router_destroy(l.router);
    free(l.images);
    return status;
}
