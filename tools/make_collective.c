/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast make: collectives. Which ranks there are and where, the list of algorithms. */
#include "make.h"

#include <stdlib.h>
#include <string.h>

/* Names for placeholders: rank0, rank1, ... */
static int name_placeholders(struct request *r)
{
    r->devices = malloc(r->rank_count * sizeof *r->devices);
    if (!r->devices)
        return tool_out_of_memory();
    for (uint32_t i = 0; i < r->rank_count; i++) {
        char name[DEVICE_NAME_SIZE];
        int length = snprintf(name, sizeof name, "rank%u", i);
        int status = devices_add(&tool_make, name, (size_t)length, &r->found);
        if (status != TOOL_OK)
            return status;
    }
    for (uint32_t i = 0; i < r->rank_count; i++)
        r->devices[i] = r->found.names[i];
    r->ranks = (struct hop_ranks){r->devices, (uint32_t)r->rank_count};
    return TOOL_OK;
}

int make_spread_ranks(struct request *r)
{
    uint64_t devices = r->ranks.count, per_device = r->ranks_per_device ? r->ranks_per_device : 1;
    if (devices == 0)
        return name_placeholders(r);
    uint64_t count = r->rank_count ? r->rank_count : devices * per_device;
    if (r->ranks_per_device && count > devices * per_device)
        return tool_bad_usage(&tool_make, "-n %llu ranks, %llu on each of %llu devices: too few devices",
                              (unsigned long long)count, (unsigned long long)per_device, (unsigned long long)devices);
    if (count > DEVICES_MAX)
        return tool_bad_usage(&tool_make, "more than %d ranks take part", DEVICES_MAX);
    if (!r->ranks_per_device)
        devices = count < devices ? count : devices;
    const char **spread = malloc(count * sizeof *spread);
    if (!spread)
        return tool_out_of_memory();
    for (uint64_t i = 0; i < count; i++) /* blocks that differ by one at most, or of the size given */
        spread[i] = r->devices[r->ranks_per_device ? i / per_device : i * devices / count];
    free(r->devices);
    r->devices = spread;
    r->ranks = (struct hop_ranks){spread, (uint32_t)count};
    return TOOL_OK;
}

enum hop_status make_collective(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_collective_options options = r->collective;
    (void)tool_collective(r->pattern->name, strlen(r->pattern->name), &options.kind);
    options.bytes = r->bytes;
    options.root = (uint32_t)r->root;
    struct tool_choice choice;
    enum hop_status status = tool_choose_algorithm(&options, r->ranks.count, &choice, diag);
    return status == HOP_OK ? hop_make_collective(&r->ranks, &options, schedule, diag) : status;
}

int make_list_algorithms(const struct request *r)
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
    return tool_finish(TOOL_OK);
}
