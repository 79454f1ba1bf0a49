/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The ways of a copy, told apart by what a model can see of them; and the score of a schedule, which the simulation
 * gives.
 */
#include "model/network.h"
#include "tune/tune.h"

#include <math.h>

#include "hopcast/simulate.h"
#include "model/model.h"
#include "topology/route.h"

/* ---- what is asked for ---- */

enum hop_status hop_tune_check_sizes(const char *what, const uint64_t *list, uint32_t count, struct hop_diag *diag)
{
    if (count == 0 || count > HOP_TUNE_SIZES) {
        return hop_fail(diag, HOP_ERR_LIMIT, "%u %s\n1 to %d", count, what, HOP_TUNE_SIZES);
    }
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] > 0 && list[i] <= HOP_BYTES_MAX && (i == 0 || list[i] > list[i - 1]))
            continue;
        return hop_fail(diag, HOP_ERR_INVALID, "%llu bytes among the %s\nascending sizes from 1 byte to 1 EiB",
                        (unsigned long long)list[i], what);
    }
    return HOP_OK;
}

enum hop_status hop_tune_check(const struct hop_network *network, const struct hop_tune_options *options,
                               struct hop_tune_lists *lists, struct hop_diag *diag)
{
    static const uint64_t sizes[] = {1 << 16, 1 << 18, 1 << 20, 1 << 22, 1 << 24, 1 << 26, 1 << 28};
    static const uint64_t packets[] = {1 << 17, 1 << 18, 1 << 19, 1 << 20, 1 << 21, 1 << 22, 1 << 23};
    *lists = (struct hop_tune_lists){sizes, packets, HOP_COUNT(sizes), HOP_COUNT(packets)};
    if (options->sizes) {
        lists->sizes = options->sizes;
        lists->size_count = options->size_count;
    }
    if (options->packets) {
        lists->packets = options->packets;
        lists->packet_count = options->packet_count;
    }
    if (hop_network_is_serial(network)) {
        return hop_fail(
            diag, HOP_ERR_INVALID,
            "model %s takes every copy as a message, whichever way it goes\na model of links: pcie, credit, fair ...",
            hop_network_model(network, 0));
    }
    HOP_CHECK(hop_tune_check_sizes("sizes", lists->sizes, lists->size_count, diag));
    return hop_tune_check_sizes("packet sizes", lists->packets, lists->packet_count, diag);
}

/* ---- ways ---- */

/* No route is no error. */
static enum hop_status find(struct hop_router *router, uint32_t from, uint32_t to, uint32_t *route,
                            struct hop_diag *diag)
{
    enum hop_status status = hop_router_find(router, from, to, route, diag);
    if (status != HOP_ERR_NO_ROUTE)
        return status;
    *route = HOP_NONE;
    return HOP_OK;
}

enum hop_status hop_tune_find_ways(struct hop_network *network, uint32_t from, uint32_t to, struct hop_tune_ways *ways,
                                   struct hop_diag *diag)
{
    struct hop_router *router = hop_network_router(network);
    *ways = (struct hop_tune_ways){HOP_NONE, HOP_NONE, HOP_NONE, HOP_NONE};
    HOP_CHECK(hop_router_nearest_host(router, from, &ways->host, diag));
    enum hop_status status = find(router, from, to, &ways->direct, diag);
    if (ways->host == from || ways->host == to)
        ways->host = HOP_NONE;
    if (status == HOP_OK && ways->host != HOP_NONE)
        status = find(router, from, ways->host, &ways->in, diag);
    if (status == HOP_OK && ways->host != HOP_NONE)
        status = find(router, ways->host, to, &ways->out, diag);
    return status;
}

/* ---- telling ways apart ---- */

enum { LINKS_KNOWN = 192 }; /* of three routes; those beyond count as different from all before */

struct writer {
    struct hop_network *network;
    struct hop_buffer text;
    uint32_t links[LINKS_KNOWN], link_count; /* undirected, in the order of their first use */
    struct hop_diag *diag;
};

static uint32_t number_of(struct writer *w, uint32_t link)
{
    for (uint32_t i = 0; i < w->link_count; i++) {
        if (w->links[i] == link)
            return i;
    }
    if (w->link_count == LINKS_KNOWN)
        return LINKS_KNOWN + link;
    w->links[w->link_count] = link;
    return w->link_count++;
}

static enum hop_status put_link(struct writer *w, uint32_t route, uint32_t i)
{
    const struct hop_topology *topology = hop_network_topology(w->network);
    uint32_t directed = hop_router_route(hop_network_router(w->network), route)->links[i];
    const struct hop_link *link = hop_topology_link(topology, directed / 2);
    bool up_and_down = link->kind == HOP_LINK_PCIE || link->kind == HOP_LINK_MEMORY;
    double wire = 0;
    enum hop_status status = hop_network_wire(w->network, route, i, &wire, w->diag);
    hop_buffer_printf(&w->text, "%u%s:%d:%a:%a:%a:%a:%d ", number_of(w, directed / 2),
                      up_and_down && (directed & 1) ? "v" : "", (int)link->kind, link->capacity_Bps[directed & 1],
                      link->duplex_Bps[directed & 1], link->latency_s, wire,
                      (int)hop_topology_node(topology, link->ends[!(directed & 1)])->kind);
    return status;
}

static enum hop_status put_route(struct writer *w, uint32_t route)
{
    enum hop_status status = HOP_OK;
    if (route != HOP_NONE) {
        const struct hop_route *way = hop_router_route(hop_network_router(w->network), route);
        const struct hop_node *source = hop_topology_node(hop_network_topology(w->network), way->from);
        hop_buffer_printf(&w->text, "%d %d %d %a ", (int)source->kind, source->engines, source->accelerator_engines,
                          way->ceiling_Bps);
        for (uint32_t i = 0; i < way->link_count && status == HOP_OK; i++)
            status = put_link(w, route, i);
    }
    hop_buffer_puts(&w->text, route == HOP_NONE ? "none;" : ";");
    return status;
}

enum hop_status hop_tune_classify(struct hop_tune_classes *classes, const struct hop_tune_ways *ways, uint64_t bytes,
                                  uint32_t *class, struct hop_diag *diag)
{
    struct writer w = {.network = classes->network, .diag = diag};
    const uint32_t routes[] = {ways->direct, ways->in, ways->out};
    enum hop_status status = HOP_OK;
    hop_buffer_printf(&w.text, "%llu ", (unsigned long long)bytes);
    for (size_t i = 0; i < HOP_COUNT(routes) && status == HOP_OK; i++)
        status = put_route(&w, routes[i]);
    *class = w.text.failed ? UINT32_MAX : hop_names_get(&classes->names, w.text.text);
    if (status == HOP_OK && *class == UINT32_MAX) {
        const char *key = w.text.failed ? NULL : hop_arena_string(classes->arena, w.text.text, w.text.length);
        *class = classes->count;
        if (!key || !hop_names_put(&classes->names, key, classes->count++))
            status = hop_fail_memory(diag);
    }
    hop_buffer_finish(&w.text);
    return status;
}

/* ---- scores ---- */

enum hop_status hop_tune_gain(const struct hop_network *network, const struct hop_schedule *before,
                              const struct hop_schedule *after, struct hop_gain **gain, struct hop_diag *diag)
{
    enum { EFFORT = 6000000 }; /* beside the hundreds of simulations of a search */
    const struct hop_gain_options options = {.network = network, .max_effort = EFFORT};
    return hop_gain_find(hop_network_topology(network), before, after, &options, gain, diag);
}

/* Whether a model may load links above their limits. */
static bool may_exceed(const struct hop_network *network)
{
    uint32_t domains = hop_topology_domain_count(hop_network_topology(network));
    bool may = false;
    for (uint32_t d = 0; d < domains; d++)
        may = may || !hop_network_model_facts(network, d)->keeps_capacity;
    return may;
}

enum hop_status hop_tune_simulate(struct hop_network *network, const struct hop_schedule *schedule,
                                  const struct hop_tune_options *options, struct hop_tune_score *score,
                                  struct hop_diag *diag)
{
    bool looks = options->keep_limits && may_exceed(network);
    const struct hop_simulate_options simulate = {.detail = looks ? HOP_DETAIL_SEGMENTS : HOP_DETAIL_ENDS,
                                                  .stop = options->stop,
                                                  .context = options->context};
    struct hop_timeline *timeline;
    enum hop_status status = hop_simulate(network, schedule, &simulate, &timeline, diag);
    if (status != HOP_OK)
        return status;
    const struct hop_schedule *executed = hop_timeline_schedule(timeline);
    *score = (struct hop_tune_score){hop_timeline_makespan_s(timeline), 0};
    for (uint32_t i = 0; i < hop_schedule_count(executed); i++) {
        uint32_t parent = hop_schedule_op(executed, i)->parent; /* of parts, the last one's end is the whole one's */
        if (i + 1 == hop_schedule_count(executed) || parent == HOP_NONE ||
            hop_schedule_op(executed, i + 1)->parent != parent)
            score->ends_s += hop_timeline_span(timeline, i).end_s;
    }
    uint32_t overloads = looks ? hop_timeline_overloads(timeline, NULL, 0) : 0;
    if (overloads > 0)
        *score = (struct hop_tune_score){INFINITY, INFINITY};
    hop_timeline_destroy(timeline);
    return overloads == HOP_NONE ? hop_fail_memory(diag) : HOP_OK;
}
