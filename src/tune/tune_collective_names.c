/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithms there are to choose from.
 *
 *     ranks of a device  ->  devices of a node  ->  nodes
 *
 * A hierarchy has a name per level, up to the last one that these ranks have. A level on which everybody is alone vanishes:
 * there any name will do, and gsb stands for all.
 */
#include <stdio.h>

#include "topology/servers.h"
#include "tune/tune.h"

static const char *const inside[] = {"gsb", "btb"};

/* ---- what the ranks have in common ---- */

static bool same_node(const struct hop_ranks *ranks, const uint32_t *nodes, uint32_t a, uint32_t b)
{
    if (nodes)
        return nodes[a] == nodes[b];
    size_t length = hop_server_length(ranks->devices[a]);
    return hop_server_length(ranks->devices[b]) == length && strncmp(ranks->devices[a], ranks->devices[b], length) == 0;
}

/* Each rank beside the first of its device, each device's first beside the first of its node. */
struct levels {
    bool devices; /* some device has several ranks */
    bool nodes;   /* some node has several devices */
    bool several; /* there are several nodes */
};

static struct levels find_levels(const struct hop_ranks *ranks, const uint32_t *nodes)
{
    struct levels found = {0};
    for (uint32_t r = 1; r < ranks->count; r++) {
        uint32_t first = 0, of_node = 0;
        while (first < r && strcmp(ranks->devices[first], ranks->devices[r]) != 0)
            first++;
        while (of_node < r && !same_node(ranks, nodes, of_node, r))
            of_node++;
        found.devices = found.devices || first < r;
        found.nodes = found.nodes || (first == r && of_node < r);
        found.several = found.several || of_node == r;
    }
    return found;
}

/* ---- names ---- */

enum hop_status hop_tune_check_algorithm(enum hop_collective_kind kind, const char *algorithm, uint64_t segment_bytes,
                                         struct hop_diag *diag)
{
    /* by making it, of nothing, for a lone rank */
    static const char *const device = "gpu0";
    const struct hop_ranks one = {&device, 1};
    const struct hop_collective_options options = {.kind = kind,
                                                   .algorithm = algorithm,
                                                   .segment_bytes = segment_bytes,
                                                   .reduce = HOP_REDUCE_SUM,
                                                   .type = HOP_TYPE_F32};
    struct hop_schedule *made = NULL;
    enum hop_status status = hop_make_collective(&one, &options, &made, diag);
    hop_schedule_destroy(made);
    return status;
}

static void add_name(struct hop_tune_names *names, const char *name)
{
    char *copy = hop_arena_string(names->arena, name, strlen(name));
    if (copy && HOP_GROW(names->arena, names->names, (size_t)names->count + 1))
        names->names[names->count++] = copy;
}

/* Below the outermost level's algorithm: the inner levels' names, joined. */
static void add_hierarchies(enum hop_collective_kind kind, const struct levels *levels, const char *outer,
                            struct hop_tune_names *names)
{
    char name[HOP_ALGORITHM_NAME_SIZE];
    size_t ways = levels->several && levels->nodes ? HOP_COUNT(inside) : 1;
    for (size_t k = 0; k < (levels->devices ? HOP_COUNT(inside) : 1) * ways; k++) {
        if (levels->several)
            (void)snprintf(name, sizeof name, "%s-%s-%s", inside[k / ways], inside[k % ways], outer);
        else
            (void)snprintf(name, sizeof name, "%s-%s", inside[k], outer);
        enum hop_status can = hop_tune_check_algorithm(kind, name, 0, NULL);
        names->arena->failed = names->arena->failed || can == HOP_ERR_MEMORY;
        if (can == HOP_OK)
            add_name(names, name);
    }
}

enum hop_status hop_tune_list_algorithms(const struct hop_ranks *ranks, const struct hop_collective_options *collective,
                                         struct hop_tune_names *names, struct hop_diag *diag)
{
    const struct levels levels = find_levels(ranks, collective->nodes);
    enum hop_collective_kind kind = collective->kind;
    const char *name, *summary;
    bool inner;
    for (size_t i = 0; hop_collective_algorithm(kind, i, &name, &summary, &inner); i++) {
        if (strcmp(name, hop_algorithm_name(HOP_ALGORITHM_BUCKET)) != 0 || collective->grid[0]) /* else it is a guess */
            add_name(names, name);
    }
    /* among leaders a barrier is an allgather of flags */
    enum hop_collective_kind across = kind == HOP_COLLECTIVE_BARRIER ? HOP_COLLECTIVE_ALLGATHER : kind;
    bool several = levels.devices + levels.nodes + levels.several > 1;
    for (size_t i = 0; several && hop_collective_algorithm(across, i, &name, &summary, &inner); i++) {
        if (strcmp(name, hop_algorithm_name(HOP_ALGORITHM_BUCKET)) != 0)
            add_hierarchies(kind, &levels, name, names);
    }
    return names->arena->failed ? hop_fail_memory(diag) : HOP_OK;
}
