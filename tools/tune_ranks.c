/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast tune: collectives and the devices of ranks on the command line. */
#include "tune.h"

#include <stdlib.h>
#include <string.h>

enum { NAME_SIZE = 64 };

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

static int add_name(struct tune_ranks *found, const char *name, size_t length)
{
    char **grown = realloc(found->names, (found->name_count + 1) * sizeof *grown);
    if (!grown)
        return tool_out_of_memory();
    found->names = grown;
    grown[found->name_count] = strndup(name, length);
    return grown[found->name_count++] ? TOOL_OK : tool_out_of_memory();
}

static int add_listed(const struct tool_command *command, const char *list, struct tune_ranks *found)
{
    int status = TOOL_OK;
    for (const char *at = list; status == TOOL_OK; at++) {
        size_t length = strcspn(at, ",");
        if (length == 0 || length >= NAME_SIZE)
            return tool_bad_usage(command, "--devices %.60s: expected names with commas between", list);
        status = add_name(found, at, length);
        at += length;
        if (!*at)
            break;
    }
    return status;
}

static int add_kind(const struct hop_topology *topology, enum hop_node_kind kind, struct tune_ranks *found)
{
    int status = TOOL_OK;
    for (uint32_t n = 0; n < hop_topology_node_count(topology) && status == TOOL_OK; n++) {
        const struct hop_node *node = hop_topology_node(topology, n);
        if (node->kind == kind)
            status = add_name(found, node->name, strlen(node->name));
    }
    return status;
}

int tune_find_ranks(const struct tool_command *command, const struct hop_topology *topology, const char *list,
                    uint32_t ranks, struct tune_ranks *found)
{
    int status = TOOL_OK;
    if (list)
        status = add_listed(command, list, found);
    else if (topology)
        status = add_kind(topology, HOP_NODE_GPU, found);
    if (status == TOOL_OK && topology && found->name_count == 0)
        status = add_kind(topology, HOP_NODE_NIC, found);
    if (status == TOOL_OK && !topology && found->name_count == 0)
        status = add_name(found, "host0", 5);
    if (status != TOOL_OK)
        return status;
    if (found->name_count == 0)
        return tool_bad_usage(command, "topology %s has no gpu and no nic: --devices says which devices take part",
                              hop_topology_name(topology));
    found->ranks.count = ranks ? ranks : found->name_count;
    found->devices = calloc(found->ranks.count, sizeof *found->devices);
    if (!found->devices)
        return tool_out_of_memory();
    for (uint32_t r = 0; r < found->ranks.count; r++)
        found->devices[r] =
            found
                ->names[found->ranks.count <= found->name_count ? r
                                                                : (uint64_t)r * found->name_count / found->ranks.count];
    found->ranks.devices = found->devices;
    return TOOL_OK;
}

void tune_ranks_finish(struct tune_ranks *found)
{
    for (uint32_t i = 0; i < found->name_count; i++)
        free(found->names[i]);
    free(found->names);
    free(found->devices);
}
