/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The exchange as a schedule that any assignment can be put into: which place of an operation belongs to which rank is
 * found once, and an assignment then only changes the names of devices.
 */
#include "map/map.h"
#include "schedule/schedule.h"

#include <stdio.h>

/* A place of an operation that moves with its rank. */
struct part {
    struct hop_place *place;
    uint32_t rank;
    bool host; /* its host memory, not its device */
};

struct hop_map_play {
    const struct hop_map_places *places;
    const struct hop_topology *topology;
    struct hop_network *network;
    struct hop_schedule *schedule;
    struct part *parts;
    uint32_t count;
    bool fixed; /* a place belongs to no rank, or bytes go through host memory that no place names */
    struct hop_arena arena;
};

#define HOST_SUFFIX ".host" /* of a placeholder: rank3.host is the host memory of rank 3 */

/* ---- the flows as copies ---- */

static enum hop_status write_flows(const struct hop_traffic *traffic, struct hop_schedule **schedule,
                                   struct hop_diag *diag)
{
    uint32_t ranks = hop_traffic_ranks(traffic);
    struct hop_arena arena = {0};
    const char **devices = hop_arena_alloc(&arena, ranks * sizeof *devices);
    const char **hosts = hop_arena_alloc(&arena, ranks * sizeof *hosts);
    for (uint32_t r = 0; r < ranks && !arena.failed; r++) {
        char name[32];
        (void)snprintf(name, sizeof name, "rank%u" HOST_SUFFIX, r);
        hosts[r] = hop_arena_string(&arena, name, strlen(name));
        devices[r] = hop_arena_string(&arena, name, strlen(name) - strlen(HOST_SUFFIX));
    }
    enum hop_status status =
        arena.failed ? hop_fail_memory(diag) : hop_traffic_to_schedule(traffic, devices, hosts, schedule, diag);
    hop_arena_finish(&arena);
    return status;
}

/* ---- whose is a place ---- */

/* The rank of a place, -1: it stays where it is. */
static int64_t rank_of(const struct hop_place *place, const struct hop_topology *topology, bool *host)
{
    uint32_t node = hop_topology_find(topology, place->device);
    *host = hop_device_is_host(place->device) ||
            (node != HOP_NONE && hop_topology_node(topology, node)->kind == HOP_NODE_HOST);
    if (place->rank >= 0)
        return place->rank;
    unsigned rank;
    int end = 0;
    if (sscanf(place->device, "rank%9u%n", &rank, &end) != 1)
        return -1;
    *host = strcmp(place->device + end, HOST_SUFFIX) == 0;
    return *host || place->device[end] == '\0' ? (int64_t)rank : -1;
}

static enum hop_status add_part(struct hop_map_play *play, struct hop_place *place, uint32_t ranks,
                                struct hop_diag *diag)
{
    bool host;
    int64_t rank = rank_of(place, play->topology, &host);
    play->fixed = play->fixed || rank < 0;
    if (rank < 0)
        return HOP_OK;
    if (rank >= ranks) {
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the schedule has a rank %lld, the traffic has %u\nthe traffic of this schedule",
                        (long long)rank, ranks);
    }
    if (!HOP_GROW(&play->arena, play->parts, (size_t)play->count + 1))
        return hop_fail_memory(diag);
    place->rank = (int32_t)rank;
    play->parts[play->count++] = (struct part){place, (uint32_t)rank, host};
    return HOP_OK;
}

static enum hop_status find_parts(struct hop_map_play *play, uint32_t ranks, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < play->schedule->count && status == HOP_OK; i++) {
        struct hop_op *op = &play->schedule->ops[i];
        play->fixed = play->fixed || op->via != HOP_VIA_P2P;
        if (op->to.device)
            status = add_part(play, &op->to, ranks, diag);
        if (status == HOP_OK && op->from.device)
            status = add_part(play, &op->from, ranks, diag);
        for (uint32_t k = 0; k < op->input_count && status == HOP_OK; k++)
            status = add_part(play, (struct hop_place *)&op->inputs[k], ranks, diag);
        for (uint32_t k = 0; k < op->output_count && status == HOP_OK; k++)
            status = add_part(play, (struct hop_place *)&op->outputs[k], ranks, diag);
    }
    return status;
}

/* ---- the interface ---- */

enum hop_status hop_map_play_create(const struct hop_topology *topology, const struct hop_map_places *places,
                                    const struct hop_traffic *traffic, const struct hop_map_options *options,
                                    struct hop_map_play **play, struct hop_diag *diag)
{
    struct hop_map_play *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    made->places = places;
    made->topology = topology;
    enum hop_status status = hop_network_create(topology, options->models, &made->network, diag);
    if (status == HOP_OK)
        status = options->exchange ? hop_schedule_clone(options->exchange, &made->schedule, diag)
                                   : write_flows(traffic, &made->schedule, diag);
    if (status == HOP_OK)
        status = find_parts(made, hop_traffic_ranks(traffic), diag);
    if (status == HOP_OK)
        *play = made;
    else
        hop_map_play_destroy(made);
    return status;
}

void hop_map_play_destroy(struct hop_map_play *play)
{
    if (!play)
        return;
    hop_arena_finish(&play->arena);
    hop_schedule_destroy(play->schedule);
    hop_network_destroy(play->network);
    free(play);
}

uint32_t hop_map_play_operations(const struct hop_map_play *play)
{
    return hop_schedule_count(play->schedule);
}

bool hop_map_play_has_fixed(const struct hop_map_play *play)
{
    return play->fixed;
}

const struct hop_model_facts *hop_map_play_model(const struct hop_map_play *play, uint32_t domain)
{
    return hop_network_model_facts(play->network, domain);
}

static double mean_end_s(const struct hop_timeline *timeline, uint32_t count)
{
    double sum = 0;
    for (uint32_t i = 0; i < count; i++)
        sum += hop_timeline_span(timeline, i).end_s;
    return sum / count;
}

/* Puts the exchange there. */
static enum hop_status assign(struct hop_map_play *play, const uint32_t *place, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < play->count; i++) {
        const struct part *part = &play->parts[i];
        uint32_t at = place[part->rank], node = part->host ? play->places->host[at] : play->places->device[at];
        if (node == HOP_NONE) {
            return hop_fail(diag, HOP_ERR_NO_ROUTE,
                            "rank %u has host traffic, but no host memory is in reach of %s\na topology with host "
                            "memory, such as a cluster file with \"machine\": \"host\" on this fabric "
                            "(docs/fabrics.md), or device traffic only",
                            part->rank, hop_topology_node(play->topology, play->places->device[at])->name);
        }
        part->place->device = hop_topology_node(play->topology, node)->name;
    }
    return HOP_OK;
}

enum hop_status hop_map_play_copy(struct hop_map_play *play, const uint32_t *place, struct hop_schedule **schedule,
                                  struct hop_diag *diag)
{
    HOP_CHECK(assign(play, place, diag));
    return hop_schedule_clone(play->schedule, schedule, diag);
}

enum hop_status hop_map_play_run(struct hop_map_play *play, const uint32_t *place, bool (*stop)(void *context),
                                 void *context, double *makespan_s, double *mean_s, struct hop_diag *diag)
{
    HOP_CHECK(assign(play, place, diag));
    if (hop_schedule_count(play->schedule) == 0) {
        *makespan_s = *mean_s = 0;
        return HOP_OK;
    }
    const struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS, .stop = stop, .context = context};
    struct hop_timeline *timeline;
    enum hop_status status = hop_simulate(play->network, play->schedule, &options, &timeline, diag);
    if (status != HOP_OK)
        return status;
    *makespan_s = hop_timeline_makespan_s(timeline);
    *mean_s = mean_end_s(timeline, hop_schedule_count(play->schedule));
    hop_timeline_destroy(timeline);
    return HOP_OK;
}
