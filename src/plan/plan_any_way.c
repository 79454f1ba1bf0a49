/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A bound that holds whichever way copies go. Directly or through host memory, what a rank sends leaves its device, and
 * what it is sent arrives there: of everything that a device could send to any other one or to its host memory, no byte
 * takes less of its engine, or of a link that all of it needs, than the least of these. Of a collective whose algorithm is
 * chosen, each rank has to send what others need of it and to be sent what it needs of others, whatever the algorithm, and
 * all together so many bytes.
 */
#include "hopcast/collective.h"
#include "order/problem.h"
#include "plan/plan.h"
#include "schedule/schedule.h"
#include "topology/route.h"

#define COPY_BYTES 1048576 /* of each copy in the problem that tells the weights; they are per byte */

struct ports {
    const struct hop_topology *topology;
    struct hop_plan_seats seats;
    bool sends;
    struct hop_schedule *copies; /* of each device in turn, all that it could send or be sent */
    uint32_t *first;             /* of each device, count + 1 */
    double *per_byte_s;          /* of each device, the least that a byte takes */
};

static enum hop_status add_copy(struct ports *p, struct hop_router *router, uint32_t device, uint32_t other,
                                struct hop_diag *diag)
{
    uint32_t from = p->sends ? device : other, to = p->sends ? other : device, route = HOP_NONE;
    if (from != to)
        HOP_CHECK(hop_router_try(router, from, to, &route, diag));
    if (route != HOP_NONE)
        (void)hop_schedule_copy(p->copies, hop_topology_node(p->topology, from)->name,
                                hop_topology_node(p->topology, to)->name, COPY_BYTES, NULL, 0);
    return HOP_OK;
}

static enum hop_status list_copies(struct ports *p, struct hop_router *router, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < p->seats.count; i++) {
        p->first[i] = hop_schedule_count(p->copies);
        for (uint32_t k = 0; k < p->seats.count; k++)
            HOP_CHECK(add_copy(p, router, p->seats.devices[i], p->seats.devices[k], diag));
        for (uint32_t n = 0; n < hop_topology_node_count(p->topology); n++) {
            if (hop_topology_node(p->topology, n)->kind == HOP_NODE_HOST)
                HOP_CHECK(add_copy(p, router, p->seats.devices[i], n, diag));
        }
    }
    p->first[p->seats.count] = hop_schedule_count(p->copies);
    return HOP_OK;
}

/* The largest over all bounds of the least over a device's copies. */
static enum hop_status weigh(struct ports *p, const struct hop_problem *problem, struct hop_diag *diag)
{
    double *least = malloc((problem->valid_count + (size_t)1) * sizeof *least);
    uint32_t *found = malloc((problem->valid_count + (size_t)1) * sizeof *found);
    for (uint32_t i = 0; least && found && i < p->seats.count; i++) {
        uint32_t copies = p->first[i + 1] - p->first[i];
        memset(found, 0, problem->valid_count * sizeof *found);
        for (uint32_t w = problem->ops[p->first[i]].first_weight; w < problem->ops[p->first[i + 1]].first_weight; w++) {
            const struct hop_problem_weight *weight = &problem->weights[w];
            if (weight->bound >= problem->valid_count)
                continue;
            least[weight->bound] =
                found[weight->bound]++ ? hop_min(least[weight->bound], weight->per_byte_s) : weight->per_byte_s;
        }
        for (uint32_t b = 0; b < problem->valid_count; b++)
            p->per_byte_s[i] = copies && found[b] == copies ? hop_max(p->per_byte_s[i], least[b]) : p->per_byte_s[i];
    }
    enum hop_status status = least && found ? HOP_OK : hop_fail_memory(diag);
    free(least);
    free(found);
    return status;
}

/* What a byte takes at least of each device that sends (or is sent) it. */
static enum hop_status find_ports(struct ports *p, const struct hop_plan_options *o, struct hop_diag *diag)
{
    const struct hop_order_options options = {.models = o->models, .allow_unclean = o->allow_unclean, .or_given = true};
    struct hop_router *router = hop_router_create(p->topology);
    struct hop_problem *problem = NULL;
    struct hop_schedule *copies = NULL;
    p->copies = hop_schedule_create("ports");
    memset(p->per_byte_s, 0, p->seats.count * sizeof *p->per_byte_s);
    enum hop_status status = router && p->copies ? list_copies(p, router, diag) : hop_fail_memory(diag);
    status = hop_schedule_end(p->copies, status, &copies, diag);
    if (status == HOP_OK && hop_schedule_count(copies))
        status = hop_problem_create(p->topology, copies, &options, &problem, diag);
    if (problem)
        status = weigh(p, problem, diag);
    hop_problem_destroy(problem);
    hop_schedule_destroy(copies);
    hop_router_destroy(router);
    return status;
}

/* What a rank sends (or is sent) by its device's own engine, ranks ascending. */
static void add_bytes(const struct hop_schedule *exchange, bool sends, double *bytes)
{
    for (uint32_t i = 0; i < hop_schedule_count(exchange); i++) {
        const struct hop_op *op = hop_schedule_op(exchange, i);
        if (op->kind == HOP_OP_COPY && op->from.rank >= 0 && op->to.rank >= 0 && op->from.rank != op->to.rank &&
            (op->by < 0 || op->by == op->from.rank) && hop_placeholder_host_rank(op->from.device) < 0 &&
            hop_placeholder_host_rank(op->to.device) < 0 && !hop_device_is_host(op->from.device) &&
            !hop_device_is_host(op->to.device))
            bytes[sends ? op->from.rank : op->to.rank] += (double)op->bytes;
    }
}

enum { ELEMENT_MOST = 16 }; /* bytes; parts differ by one element */

/* What each rank sends (or is sent) at least, by any algorithm whose ranks send to each other; returns what all do. Cut off
 * from the others, a rank sends what they need of it. Of an allreduce, for whichever rank has a sum first each other one has
 * sent an element once, and each other one is still to be sent it: 2 (p - 1) times in all. */
static double least_bytes(const struct hop_collective_options *c, uint32_t ranks, bool sends, double *bytes)
{
    double n = (double)c->vector_bytes, others = ranks - 1.0, low = hop_max(0, n / ranks - ELEMENT_MOST),
           rest = hop_max(0, n - n / ranks - ELEMENT_MOST);
    const struct {
        double send, root_sends, receive, root_receives, total;
    } least[HOP_COLLECTIVE_COUNT] = {[HOP_COLLECTIVE_ALLREDUCE] = {n, n, n, n, 2 * others * n},
                                     [HOP_COLLECTIVE_ALLGATHER] = {low, low, rest, rest, others * n},
                                     [HOP_COLLECTIVE_REDUCE_SCATTER] = {rest, rest, low, low, others * n},
                                     [HOP_COLLECTIVE_ALLTOALL] = {rest, rest, others * low, others * low, ranks * rest},
                                     [HOP_COLLECTIVE_BROADCAST] = {0, n, n, 0, others * n},
                                     [HOP_COLLECTIVE_REDUCE] = {n, 0, 0, n, others * n},
                                     [HOP_COLLECTIVE_GATHER] = {low, 0, 0, rest, rest},
                                     [HOP_COLLECTIVE_SCATTER] = {0, rest, low, 0, rest}},
      *of = &least[c->kind];
    for (uint32_t r = 0; r < ranks; r++)
        bytes[r] = r == c->root ? (sends ? of->root_sends : of->root_receives) : (sends ? of->send : of->receive);
    return of->total;
}

/* Each rank has its own device; or who has most to move gets the fastest one, who has second most the second fastest. */
static double least_of(double *bytes, const struct ports *p, double total)
{
    double least_s = 0, per_second = 0; /* of the fastest devices together */
    uint32_t ranks = p->seats.ranks;
    if (!p->seats.fixed) {
        qsort(bytes, ranks, sizeof *bytes, hop_ascending_double);
        qsort(p->per_byte_s, p->seats.count, sizeof *p->per_byte_s, hop_ascending_double);
    }
    for (uint32_t r = 0; r < ranks; r++) {
        least_s = hop_max(least_s, bytes[p->seats.fixed ? r : ranks - 1 - r] * p->per_byte_s[r]);
        per_second += 1 / p->per_byte_s[r];
    }
    return total > 0 ? hop_max(least_s, total / per_second) : least_s;
}

/* Where ranks may be: where they are, or at every place that is not excluded. */
static enum hop_status find_seats(const struct hop_plan_further *f, struct hop_plan_seats *seats, struct hop_diag *diag)
{
    const struct hop_plan_options *o = f->options;
    const struct hop_map_options options = {.excluded = o->excluded, .excluded_count = o->excluded_count};
    const struct hop_placement *start = f->made ? f->made->result.rungs[0].placement : o->start;
    struct hop_map_places places;
    seats->fixed = o->keep_placement && start;
    enum hop_status status = hop_map_places_find(f->topology, &options, seats->ranks, &places, diag);
    seats->devices = malloc((seats->ranks + places.count + (size_t)1) * sizeof *seats->devices);
    if (status == HOP_OK && !seats->devices)
        status = hop_fail_memory(diag);
    for (uint32_t r = 0; r < seats->ranks && status == HOP_OK && seats->fixed; r++)
        seats->devices[seats->count++] = hop_topology_find(f->topology, hop_placement_device(start, r));
    for (uint32_t i = 0; i < places.count && status == HOP_OK && !seats->fixed; i++) {
        if (places.room[i])
            seats->devices[seats->count++] = places.device[i];
    }
    hop_arena_finish(&places.arena);
    return status;
}

static enum hop_status by_ports(struct hop_plan_further *f, struct ports *p, double *bytes, double *least_s,
                                struct hop_diag *diag)
{
    for (unsigned sends = 0; sends < 2 && hop_plan_further_goes_on(f); sends++) {
        double total = 0;
        p->sends = sends;
        memset(bytes, 0, p->seats.ranks * sizeof *bytes);
        if (f->collective)
            total = least_bytes(f->collective, p->seats.ranks, sends, bytes);
        else
            add_bytes(f->exchange, sends, bytes);
        HOP_CHECK(find_ports(p, f->options, diag));
        *least_s = hop_max(*least_s, least_of(bytes, p, total));
    }
    return HOP_OK;
}

enum hop_status hop_plan_any_way(struct hop_plan_further *f, double *least_s, struct hop_diag *diag)
{
    struct ports p = {.topology = f->topology, .seats.ranks = hop_schedule_ranks(f->exchange)};
    *least_s = 0;
    if (hop_topology_lacks(f->topology) || hop_schedule_queue_ready(f->exchange))
        return HOP_OK;
    enum hop_status status = find_seats(f, &p.seats, diag);
    p.first = malloc((p.seats.count + (size_t)1) * sizeof *p.first);
    p.per_byte_s = malloc((p.seats.count + (size_t)1) * sizeof *p.per_byte_s);
    double *bytes = malloc((p.seats.ranks + (size_t)1) * sizeof *bytes);
    if (status == HOP_OK)
        status = p.first && p.per_byte_s && bytes ? by_ports(f, &p, bytes, least_s, diag) : hop_fail_memory(diag);
    if (status == HOP_OK && f->collective && !f->options->allow_unclean && hop_plan_further_goes_on(f))
        status = hop_plan_cuts(f, &p.seats, least_s, diag);
    free(p.seats.devices);
    free(p.first);
    free(p.per_byte_s);
    free(bytes);
    return status;
}
