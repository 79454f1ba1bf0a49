/* SPDX-License-Identifier: BSD-3-Clause */
/* The patterns that tune knows by name, between all GPUs of a topology in their order. */
#include "tune/tune.h"

#include "hopcast/generate.h"
#include "pattern/make.h"

/* Copies both ways between i and i + distance, for every i of a block's first half. */
static enum hop_status make_exchange(const struct hop_ranks *ranks, const char *name, uint32_t distance, uint64_t bytes,
                                     struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_schedule *made;
    enum hop_status status = hop_make_begin(ranks, ranks->count, name, &made, diag);
    if (status != HOP_OK)
        return status;
    for (uint32_t i = 0; i + distance < ranks->count; i++) {
        struct hop_send there = {.from = i, .to = i + distance, .bytes = bytes},
                        back = {.from = i + distance, .to = i, .bytes = bytes};
        if (i / distance % 2)
            continue;
        hop_make_send(made, ranks, &there, "r%u.to%u", there.from, there.to);
        hop_make_send(made, ranks, &back, "r%u.to%u", back.from, back.to);
    }
    return hop_schedule_finish(made, schedule, diag);
}

static enum hop_status make_neighbours(const struct hop_ranks *ranks, uint64_t bytes, struct hop_schedule **schedule,
                                       struct hop_diag *diag)
{
    return make_exchange(ranks, "neighbours", 1, bytes, schedule, diag);
}

static enum hop_status make_pairs(const struct hop_ranks *ranks, uint64_t bytes, struct hop_schedule **schedule,
                                  struct hop_diag *diag)
{
    return make_exchange(ranks, "pairs", ranks->count / 2, bytes, schedule, diag);
}

static enum hop_status make_ring(const struct hop_ranks *ranks, uint64_t bytes, struct hop_schedule **schedule,
                                 struct hop_diag *diag)
{
    return hop_make_ring(ranks, 1, bytes, schedule, diag);
}

static enum hop_status make_halo(const struct hop_ranks *ranks, uint64_t bytes, struct hop_schedule **schedule,
                                 struct hop_diag *diag)
{
    const struct hop_ranks eight = {ranks->devices, 8};
    const struct hop_grid grid = {.dimensions = 3, .extent = {2, 2, 2}};
    return hop_make_halo(&eight, &grid, bytes, schedule, diag);
}

static enum hop_status make_alltoall(const struct hop_ranks *ranks, uint64_t bytes, struct hop_schedule **schedule,
                                     struct hop_diag *diag)
{
    return hop_make_alltoall(ranks, HOP_ALLTOALL_SHIFT, bytes, schedule, diag);
}

static const struct {
    const char *name, *summary;
    uint32_t gpus; /* at least */
    enum hop_status (*make)(const struct hop_ranks *ranks, uint64_t bytes, struct hop_schedule **schedule,
                            struct hop_diag *diag);
} patterns[] = {
    {"neighbours", "0 <-> 1, 2 <-> 3, ...: both ways between GPUs that follow each other", 2, make_neighbours},
    {"pairs", "i <-> i + n/2: both ways between the two halves", 2, make_pairs},
    {"ring", "every GPU sends to the next", 2, make_ring},
    {"halo", "the first eight GPUs as a grid of 2 x 2 x 2, every one sends to its three neighbours", 8, make_halo},
    {"alltoall", "every GPU sends to all others, the next one first", 2, make_alltoall},
};

bool hop_tune_pattern(size_t index, const char **name, const char **summary)
{
    if (index >= HOP_COUNT(patterns))
        return false;
    *name = patterns[index].name;
    *summary = patterns[index].summary;
    return true;
}

static const char *pattern_name(const void *context, uint32_t index)
{
    (void)context;
    return patterns[index].name;
}

static enum hop_status fail_unknown(const char *pattern, struct hop_diag *diag)
{
    uint32_t near = hop_text_nearest(pattern, pattern_name, NULL, HOP_COUNT(patterns));
    hop_fail(diag, HOP_ERR_NOT_FOUND, "there is no pattern '%.80s'", pattern);
    if (near != UINT32_MAX)
        hop_diag_expect(diag, "'%s'? There are neighbours, pairs, ring, halo and alltoall", patterns[near].name);
    else
        hop_diag_expect(diag, "neighbours, pairs, ring, halo or alltoall");
    return HOP_ERR_NOT_FOUND;
}

enum hop_status hop_tune_make(const char *pattern, const struct hop_topology *topology, uint64_t bytes,
                              struct hop_schedule **schedule, struct hop_diag *diag)
{
    const char *devices[HOP_TUNE_GPUS];
    struct hop_ranks ranks = {devices, 0};
    uint32_t gpus = 0;
    size_t p = 0;
    while (p < HOP_COUNT(patterns) && strcmp(patterns[p].name, pattern) != 0)
        p++;
    if (p == HOP_COUNT(patterns))
        return fail_unknown(pattern, diag);
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU && gpus++ < HOP_TUNE_GPUS)
            devices[ranks.count++] = hop_topology_node(topology, n)->name;
    }
    if (gpus < patterns[p].gpus || gpus > HOP_TUNE_GPUS) {
        enum hop_status status = gpus > HOP_TUNE_GPUS ? HOP_ERR_LIMIT : HOP_ERR_INVALID;
        hop_fail(diag, status, "pattern %s on %s, which has %u GPUs", pattern, hop_topology_name(topology), gpus);
        hop_diag_expect(diag, "%u to %d of them", patterns[p].gpus, HOP_TUNE_GPUS);
        return status;
    }
    return patterns[p].make(&ranks, bytes, schedule, diag);
}
