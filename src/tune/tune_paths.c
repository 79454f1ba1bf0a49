/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Every pair of GPUs alone: direct, or staged at its best packet size.
 *
 * Pairs whose routes no model can tell apart are one class, and only the first pair of a class is simulated. A
 * crossover between two neighbouring sizes with different winners is found by halving their ratio.
 */
#include "tune/tune.h"

#include <math.h>
#include <stdio.h>

#define CROSSOVER_NEAR 1.01 /* the two sizes around a crossover are that near */

struct hop_tune_whole {
    struct hop_tuned_paths paths; /* what the caller sees; first */
    struct hop_arena arena;
    uint64_t *sizes;
    struct hop_tune_class *classes;
};

struct tuning {
    struct hop_network *network;
    const struct hop_tune_options *options;
    struct hop_tune_lists lists;
    struct hop_tune_whole *whole;
    uint32_t gpus[HOP_TUNE_GPUS], gpu_count;
    struct hop_tune_ways *ways; /* of each class's first pair */
    uint32_t *class_of;         /* per ordered pair, from * gpu_count + to */
    uint32_t class_count;
    enum hop_status status; /* the first failure, sticky */
    struct hop_diag *diag;
};

enum hop_via hop_tune_winner(const struct hop_tune_point *point, double *factor)
{
    bool staged = isnan(point->direct_s) ? !isnan(point->staged_s)
                                         : hop_tune_less(point->staged_s, point->direct_s); /* false for NAN */
    if (factor)
        *factor = staged ? point->direct_s / point->staged_s : point->staged_s / point->direct_s;
    return staged ? HOP_VIA_STAGED : HOP_VIA_P2P;
}

/* ---- one copy ---- */

/* NULL: something failed. */
static struct hop_schedule *make_copy(struct tuning *t, const uint32_t *pair, uint64_t bytes, enum hop_via via,
                                      uint64_t packet_bytes)
{
    const struct hop_topology *topology = hop_network_topology(t->network);
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    struct hop_schedule *schedule = t->status == HOP_OK ? hop_schedule_create("pair") : NULL;
    if (t->status != HOP_OK)
        return NULL;
    op.name = "a";
    op.from.device = hop_topology_node(topology, pair[0])->name;
    op.to.device = hop_topology_node(topology, pair[1])->name;
    op.bytes = bytes;
    op.via = via;
    op.packet_bytes = packet_bytes;
    (void)hop_schedule_add(schedule, &op);
    t->status = hop_schedule_finish(schedule, &schedule, t->diag);
    return t->status == HOP_OK ? schedule : NULL;
}

/* NAN: something failed. */
static double time_of(struct tuning *t, const uint32_t *pair, uint64_t bytes, enum hop_via via, uint64_t packet_bytes)
{
    struct hop_tune_score score = {.makespan_s = NAN};
    struct hop_schedule *schedule = make_copy(t, pair, bytes, via, packet_bytes);
    if (schedule)
        t->status = hop_tune_simulate(t->network, schedule, t->options, &score, t->diag);
    hop_schedule_destroy(schedule);
    return score.makespan_s;
}

/* From whole copies to ever smaller packets, so that of equal times the largest packet stays. */
static void find_staged(struct tuning *t, const uint32_t *pair, struct hop_tune_point *point)
{
    point->staged_s = time_of(t, pair, point->bytes, HOP_VIA_STAGED, 0);
    for (uint32_t i = t->lists.packet_count; i-- > 0;) {
        uint64_t packet = t->lists.packets[i];
        if (packet >= point->bytes || hop_tune_packets_of(point->bytes, packet) > HOP_TUNE_PACKETS)
            continue;
        double time_s = time_of(t, pair, point->bytes, HOP_VIA_STAGED, packet);
        if (hop_tune_less(time_s, point->staged_s)) {
            point->staged_s = time_s;
            point->packet_bytes = packet;
        }
    }
}

static struct hop_tune_point find_point(struct tuning *t, uint32_t class, uint64_t bytes)
{
    const uint32_t *pair = t->whole->classes[class].pairs[0];
    struct hop_tune_point point = {.bytes = bytes, .direct_s = NAN, .staged_s = NAN};
    if (t->ways[class].direct != HOP_NONE)
        point.direct_s = time_of(t, pair, bytes, HOP_VIA_P2P, 0);
    if (hop_tune_can_stage(&t->ways[class]))
        find_staged(t, pair, &point);
    return point;
}

/* Of the faster way over the other one. */
static void find_gain(struct tuning *t, uint32_t class, struct hop_tune_point *point)
{
    const uint32_t *pair = t->whole->classes[class].pairs[0];
    bool staged = hop_tune_winner(point, NULL) == HOP_VIA_STAGED;
    if (isnan(point->direct_s) || isnan(point->staged_s))
        return;
    struct hop_schedule *one = make_copy(t, pair, point->bytes, HOP_VIA_P2P, 0);
    struct hop_schedule *other = make_copy(t, pair, point->bytes, HOP_VIA_STAGED, point->packet_bytes);
    struct hop_gain *gain = NULL;
    if (t->status == HOP_OK)
        t->status = hop_tune_gain(t->network, staged ? one : other, staged ? other : one, &gain, t->diag);
    if (gain)
        point->gain = gain->range;
    hop_gain_destroy(gain);
    hop_schedule_destroy(one);
    hop_schedule_destroy(other);
}

static void find_crossover(struct tuning *t, uint32_t class)
{
    struct hop_tune_class *c = &t->whole->classes[class];
    uint32_t i = 1;
    enum hop_via first = hop_tune_winner(&c->points[0], NULL);
    while (i < t->lists.size_count && hop_tune_winner(&c->points[i], NULL) == first)
        i++;
    if (i == t->lists.size_count)
        return;
    uint64_t below = c->points[i - 1].bytes, from = c->points[i].bytes;
    while (from - below > 1 && (double)from > (double)below * CROSSOVER_NEAR && t->status == HOP_OK) {
        uint64_t middle = (uint64_t)(sqrt((double)below) * sqrt((double)from));
        middle = middle <= below ? below + 1 : middle >= from ? from - 1 : middle;
        struct hop_tune_point point = find_point(t, class, middle);
        *(hop_tune_winner(&point, NULL) == first ? &below : &from) = middle;
    }
    c->crossover_bytes = from;
}

/* ---- classes ---- */

static enum hop_status find_gpus(struct tuning *t)
{
    const struct hop_topology *topology = hop_network_topology(t->network);
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        if (hop_topology_node(topology, n)->kind != HOP_NODE_GPU)
            continue;
        if (t->gpu_count == HOP_TUNE_GPUS) {
            return hop_fail(t->diag, HOP_ERR_LIMIT, "%s has more than %d GPUs\none of its servers",
                            hop_topology_name(topology), HOP_TUNE_GPUS);
        }
        t->gpus[t->gpu_count++] = n;
    }
    if (t->gpu_count >= 2)
        return HOP_OK;
    return hop_fail(t->diag, HOP_ERR_INVALID, "%s has %u GPUs\na topology with at least 2", hop_topology_name(topology),
                    t->gpu_count);
}

/* Every pair's class, numbered in the order of first pairs. */
static enum hop_status classify(struct tuning *t)
{
    struct hop_tune_classes classes = {.network = t->network, .arena = &t->whole->arena};
    enum hop_status status = HOP_OK;
    for (uint32_t p = 0; p < t->gpu_count * t->gpu_count && status == HOP_OK; p++) {
        uint32_t from = t->gpus[p / t->gpu_count], to = t->gpus[p % t->gpu_count], known = classes.count;
        struct hop_tune_ways ways;
        t->class_of[p] = HOP_NONE;
        if (from == to)
            continue;
        status = hop_tune_find_ways(t->network, from, to, &ways, t->diag);
        if (status == HOP_OK)
            status = hop_tune_classify(&classes, &ways, 0, &t->class_of[p], t->diag);
        if (status == HOP_OK && t->class_of[p] == known)
            t->ways[known] = ways;
    }
    t->class_count = classes.count;
    hop_names_finish(&classes.names);
    return status;
}

/* What a route goes over, in two words. */
static const char *name_way(struct tuning *t, uint32_t route)
{
    const struct hop_topology *topology = hop_network_topology(t->network);
    if (route == HOP_NONE)
        return "no way";
    const struct hop_route *way = hop_router_route(hop_network_router(t->network), route);
    uint32_t switches = 0, roots = 0, sockets = 0;
    bool network = false;
    char text[48];
    for (uint32_t i = 0; i < way->link_count; i++) {
        const struct hop_link *link = hop_topology_link(topology, way->links[i] / 2);
        const uint32_t *ends = link->ends;
        enum hop_node_kind from = hop_topology_node(topology, ends[way->links[i] & 1])->kind,
                           to = hop_topology_node(topology, ends[!(way->links[i] & 1)])->kind;
        network = network || to == HOP_NODE_FABRIC || to == HOP_NODE_NIC;
        switches += to == HOP_NODE_SWITCH;
        roots += to == HOP_NODE_ROOT;
        sockets += link->kind == HOP_LINK_SOCKET && from == to;
    }
    enum hop_link_kind first = hop_topology_link(topology, way->links[0] / 2)->kind;
    if (network)
        return "network";
    if (first != HOP_LINK_PCIE)
        (void)snprintf(text, sizeof text, "%s%s", hop_link_kind_name(first), switches ? " switch" : "");
    else if (roots || sockets)
        (void)snprintf(text, sizeof text, "%s", sockets ? "sockets" : roots > 1 ? "two roots" : "root complex");
    else
        (void)snprintf(text, sizeof text, "%u switch%s", switches, switches == 1 ? "" : "es");
    return hop_arena_string(&t->whole->arena, text, strlen(text));
}

/* The lists of pairs, all in one array. */
static enum hop_status fill_classes(struct tuning *t)
{
    const struct hop_topology *topology = hop_network_topology(t->network);
    struct hop_arena *arena = &t->whole->arena;
    uint32_t n = t->gpu_count, (*pairs)[2] = hop_arena_alloc(arena, (size_t)n * n * sizeof *pairs);
    t->whole->classes = hop_arena_alloc(arena, t->class_count * sizeof *t->whole->classes);
    for (uint32_t c = 0; c < t->class_count && !arena->failed; c++) {
        struct hop_tune_class *class = &t->whole->classes[c];
        class->pairs = (const uint32_t(*)[2])pairs;
        for (uint32_t p = 0; p < n * n; p++) {
            if (t->class_of[p] != c)
                continue;
            (*pairs)[0] = t->gpus[p / n];
            (*pairs++)[1] = t->gpus[p % n];
            class->pair_count++;
        }
        class->way = name_way(t, t->ways[c].direct);
        class->host = hop_tune_can_stage(&t->ways[c]) ? hop_topology_node(topology, t->ways[c].host)->name : NULL;
        class->points = hop_arena_alloc(arena, t->lists.size_count * sizeof *class->points);
    }
    return arena->failed ? hop_fail_memory(t->diag) : HOP_OK;
}

/* ---- all ---- */

static enum hop_status measure(struct tuning *t)
{
    for (uint32_t c = 0; c < t->class_count && t->status == HOP_OK; c++) {
        struct hop_tune_point *points = (struct hop_tune_point *)t->whole->classes[c].points;
        for (uint32_t s = 0; s < t->lists.size_count; s++) {
            points[s] = find_point(t, c, t->lists.sizes[s]);
            find_gain(t, c, &points[s]);
        }
        if (t->status == HOP_OK)
            find_crossover(t, c);
        if (t->status == HOP_OK && t->options && t->options->progress)
            t->options->progress((c + 1.0) / t->class_count, t->options->context);
    }
    return t->status;
}

static enum hop_status run(struct tuning *t)
{
    struct hop_tune_whole *whole = t->whole;
    enum hop_status status = find_gpus(t);
    if (status != HOP_OK)
        return status;
    size_t pairs = (size_t)t->gpu_count * t->gpu_count;
    whole->sizes = hop_arena_copy(&whole->arena, t->lists.sizes, t->lists.size_count * sizeof *whole->sizes);
    t->ways = hop_arena_alloc(&whole->arena, pairs * sizeof *t->ways);
    t->class_of = hop_arena_alloc(&whole->arena, pairs * sizeof *t->class_of);
    status = whole->arena.failed ? hop_fail_memory(t->diag) : classify(t);
    if (status == HOP_OK)
        status = fill_classes(t);
    if (status == HOP_OK)
        status = measure(t);
    whole->paths =
        (struct hop_tuned_paths){whole->sizes, t->lists.size_count, whole->classes, t->class_count, t->gpu_count};
    return status;
}

enum hop_status hop_tune_paths(struct hop_network *network, const struct hop_tune_options *options,
                               struct hop_tuned_paths **paths, struct hop_diag *diag)
{
    struct hop_tune_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct tuning t = {.network = network, .options = options, .diag = diag};
    enum hop_status status = hop_tune_check(network, options, &t.lists, diag);
    if (status != HOP_OK)
        return status;
    t.whole = calloc(1, sizeof *t.whole);
    if (!t.whole)
        return hop_fail_memory(diag);
    status = run(&t);
    if (status == HOP_OK)
        *paths = &t.whole->paths;
    else
        hop_tune_paths_destroy(&t.whole->paths);
    return status;
}

void hop_tune_paths_destroy(struct hop_tuned_paths *paths)
{
    if (!paths)
        return;
    struct hop_tune_whole *whole = (struct hop_tune_whole *)paths;
    hop_arena_finish(&whole->arena);
    free(whole);
}
