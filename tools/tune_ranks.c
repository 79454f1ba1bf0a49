/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast tune: collectives and the devices of ranks on the command line. */
#include "tune.h"

#include <stdlib.h>
#include <string.h>

/* ---- collectives ---- */

static bool add_collective(const struct tool_command *command, const char *name, size_t length,
                           enum hop_collective_kind *kinds, uint32_t *count)
{
    enum hop_collective_kind kind;
    if (!tool_collective(name, length, &kind)) {
        tool_bad_usage(command,
                       "'%.*s' is no collective: allreduce, reduce, broadcast, allgather, reduce-scatter, alltoall, "
                       "gather, scatter and barrier are",
                       (int)(length < 60 ? length : 60), name);
        return false;
    }
    for (uint32_t i = 0; i < *count; i++) {
        if (kinds[i] == kind) {
            tool_bad_usage(command, "%s is named twice", hop_collective_name(kinds[i]));
            return false;
        }
    }
    kinds[(*count)++] = kind;
    return true;
}

bool tune_read_collectives(const struct tool_command *command, const char *text,
                           enum hop_collective_kind kinds[HOP_COLLECTIVE_COUNT], uint32_t *count)
{
    *count = 0;
    if (strcmp(text, "all") == 0) {
        while (*count < HOP_COLLECTIVE_COUNT) {
            kinds[*count] = (enum hop_collective_kind) * count;
            ++*count;
        }
        return true;
    }
    for (const char *at = text;; at++) {
        size_t length = strcspn(at, ",");
        if (!add_collective(command, at, length, kinds, count))
            return false;
        at += length;
        if (!*at)
            return true;
    }
}

/* ---- devices ---- */

int tune_find_ranks(const struct tool_command *command, const struct hop_topology *topology, const char *list,
                    uint32_t ranks, struct tune_ranks *found)
{
    int status;
    if (list)
        status = devices_listed(command, list, topology, &found->names);
    else if (topology)
        status = devices_of(command, topology, &found->names);
    else
        status = devices_add(command, "host0", 5, &found->names);
    if (status != TOOL_OK)
        return status;
    uint32_t count = found->names.count;
    found->ranks.count = ranks ? ranks : count;
    found->devices = calloc(found->ranks.count, sizeof *found->devices);
    if (!found->devices)
        return tool_out_of_memory();
    for (uint32_t r = 0; r < found->ranks.count; r++)
        found->devices[r] =
            found->names.names[found->ranks.count <= count ? r : (uint64_t)r * count / found->ranks.count];
    found->ranks.devices = found->devices;
    return TOOL_OK;
}

void tune_ranks_finish(struct tune_ranks *found)
{
    devices_finish(&found->names);
    free(found->devices);
}
