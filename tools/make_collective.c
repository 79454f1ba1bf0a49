/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast make: collectives. Which ranks there are and where, the list of algorithms. */
#include "make.h"

#include <string.h>

void make_ranks(struct request *r, uint32_t count, uint32_t each)
{
    r->ranks = (struct hop_ranks){devices_spread(&r->found, count, each), count};
}

void make_spread_ranks(struct request *r)
{
    uint64_t each = r->ranks_per_device ? r->ranks_per_device : 1, count = r->rank_count;
    for (uint32_t i = 0; r->found.count < count && !r->source && !r->device_list; i++) {
        char name[DEVICE_NAME_SIZE];
        devices_add(&tool_make, name, (size_t)snprintf(name, sizeof name, "rank%u", i), &r->found);
    }
    count = count ? count : r->found.count * each;
    if (r->ranks_per_device && count > r->found.count * each)
        tool_bad_usage(&tool_make, "-n %llu ranks, %llu on each of %u devices: too few devices",
                       (unsigned long long)count, (unsigned long long)each, r->found.count);
    if (count > DEVICES_MAX)
        tool_bad_usage(&tool_make, "more than %d ranks take part", DEVICES_MAX);
    make_ranks(r, (uint32_t)count, r->ranks_per_device);
}

struct hop_schedule *make_collective(struct request *r)
{
    struct hop_collective_options options = r->collective;
    struct hop_schedule *schedule;
    (void)tool_collective(r->pattern->name, strlen(r->pattern->name), &options.kind);
    options.vector_bytes = r->bytes;
    const char *rounded = tool_round_collective(&options, r->ranks.count);
    if (r->topology)
        hop_collective_grid(r->topology, &r->ranks, options.grid);
    (void)tool_choose_algorithm(&options, r->ranks.count);
    tool_try(hop_make_collective(&r->ranks, &options, &schedule, &tool_diag));
    if (*rounded)
        hop_schedule_add_comment(schedule, "note: %s", rounded);
    return schedule;
}

void make_list_algorithms(const struct request *r)
{
    enum hop_collective_kind kind = HOP_COLLECTIVE_ALLREDUCE;
    (void)tool_collective(r->pattern->name, strlen(r->pattern->name), &kind);
    const char *name, *summary;
    bool levels, any = false;
    for (size_t i = 0; hop_collective_algorithm(kind, i, &name, &summary, &levels); i++) {
        printf("%-14s%s %s\n", name, levels ? "*" : " ", summary);
        any = any || levels;
    }
    if (any)
        printf("* also within devices or nodes, joined with others: gsb-btb, gsb-btb-%s\n",
               hop_algorithm_name(hop_collective_default(kind)));
}
