/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns between the GPUs of a topology in their order. */
#include "hopcast/pattern.h"

#include "tune/tune.h"

const char *hop_tune_pattern(size_t index)
{
    static const char *const patterns[] = {"neighbours", "pairs", "ring,rounds=1", "halo:2x2x2,order=column",
                                           "alltoall,order=shift"};
    return index < HOP_COUNT(patterns) ? patterns[index] : NULL;
}

/* Names that once meant here what these words do. */
static const struct {
    const char *was, *is;
} former[] = {{"halo", "halo:2x2x2,order=column"}, {"alltoall", "alltoall,order=shift"}};

enum hop_status hop_tune_make(const char *pattern, const struct hop_topology *topology, uint64_t bytes,
                              struct hop_schedule **schedule, struct hop_diag *diag)
{
    const char *devices[HOP_TUNE_GPUS];
    struct hop_ranks ranks = {devices, 0};
    uint32_t gpus = 0, wanted = 0;
    for (size_t i = 0; i < HOP_COUNT(former); i++) {
        if (strcmp(pattern, former[i].was) == 0)
            return hop_fail(diag, HOP_ERR_INVALID, "'%s' means another exchange than it did here\n%s", pattern,
                            former[i].is);
    }
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        if (hop_topology_node(topology, n)->kind == HOP_NODE_GPU && gpus++ < HOP_TUNE_GPUS)
            devices[ranks.count++] = hop_topology_node(topology, n)->name;
    }
    enum hop_status status = hop_pattern_ranks(pattern, gpus, &wanted, diag);
    if (status != HOP_OK)
        return status;
    if (gpus < wanted || gpus > HOP_TUNE_GPUS)
        return hop_fail(diag, gpus > HOP_TUNE_GPUS ? HOP_ERR_LIMIT : HOP_ERR_INVALID,
                        "pattern %s on %s, which has %u GPUs\n%u to %d of them", pattern, hop_topology_name(topology),
                        gpus, wanted, HOP_TUNE_GPUS);
    ranks.count = wanted;
    return hop_pattern_schedule(pattern, &ranks, bytes, schedule, diag);
}
