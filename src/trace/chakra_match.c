/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of Chakra traces across ranks: the k-th one of a process group in every member's file belong together.
 *
 * A group's members are the ranks that a metadata node lists for it; without a list, all ranks for the group "0" and
 * for nodes that name none, else the ranks whose nodes name it.
 */
#include "trace/chakra.h"

#include <stdio.h>

struct group {
    const char *key; /* its name, and its ranks where they were listed */
    const char *name;
    uint32_t *ranks;
    uint32_t count, capacity;
    uint32_t *taken;   /* how many collectives each member has had */
    uint32_t *ordered; /* its collectives, in order */
    uint32_t ordered_count, ordered_capacity;
};

struct matcher {
    const struct hop_chakra_trace *traces;
    uint32_t ranks;
    const struct hop_trace_options *options;
    struct hop_chakra_collectives *out;
    struct hop_diag *diag;
    struct group *groups;
    uint32_t count, capacity;
    struct hop_names listed, unlisted; /* by key */
};

/* ---- groups ---- */

static enum hop_status add_group(struct matcher *m, struct hop_names *keys, const struct group *group, uint32_t *index)
{
    if (!hop_grow(&m->groups, &m->capacity, m->count + 1, sizeof *m->groups) ||
        !hop_names_put(keys, group->key, m->count))
        return hop_fail_memory(m->diag);
    *index = m->count;
    m->groups[m->count++] = *group;
    return HOP_OK;
}

/* A list of ranks in a trace's metadata; the node that uses it has the blame for a wrong one. */
static enum hop_status listed_group(struct matcher *m, const struct hop_chakra_group *listed, uint32_t rank,
                                    const struct hop_chakra_node *node, uint32_t *index)
{
    struct hop_buffer key = {0};
    struct group group = {.name = listed->name, .count = listed->count};
    bool member = false, fine = true;
    group.ranks = hop_arena_copy(&m->out->arena, listed->ranks, listed->count * sizeof *listed->ranks);
    if (!group.ranks)
        return hop_fail_memory(m->diag);
    qsort(group.ranks, group.count, sizeof *group.ranks, hop_ascending_u32);
    hop_buffer_printf(&key, "%s ", listed->name);
    for (uint32_t i = 0; i < group.count; i++) {
        member = member || group.ranks[i] == rank;
        fine = fine && group.ranks[i] < m->ranks && (i == 0 || group.ranks[i] != group.ranks[i - 1]);
        hop_buffer_printf(&key, " %u", group.ranks[i]);
    }
    group.key = key.failed ? NULL : hop_arena_string(&m->out->arena, key.text, key.length);
    hop_buffer_finish(&key);
    if (!group.key)
        return hop_fail_memory(m->diag);
    if (!fine || !member) {
        hop_fail(m->diag, HOP_ERR_INVALID, "process group '%.60s' is listed with %s", listed->name,
                 fine ? "ranks among which this one is not" : "a rank twice, or one that has no trace");
        hop_chakra_place(&m->traces[rank], node, m->diag);
        hop_diag_expect(m->diag, "different ranks from 0 to %u, this one (%u) among them", m->ranks - 1, rank);
        return HOP_ERR_INVALID;
    }
    *index = hop_names_get(&m->listed, group.key);
    return *index == UINT32_MAX ? add_group(m, &m->listed, &group, index) : HOP_OK;
}

/* All ranks, or the ranks whose nodes name it, this being one. */
static enum hop_status unlisted_group(struct matcher *m, const char *name, uint32_t rank, uint32_t *index)
{
    bool all = strcmp(name, "") == 0 || strcmp(name, "0") == 0;
    const char *key = all ? "" : name;
    enum hop_status status = HOP_OK;
    *index = hop_names_get(&m->unlisted, key);
    if (*index == UINT32_MAX) {
        struct group group = {.key = key, .name = name};
        status = add_group(m, &m->unlisted, &group, index);
    }
    struct group *group = status == HOP_OK ? &m->groups[*index] : NULL;
    uint32_t first = all ? 0 : rank, last = all ? m->ranks - 1 : rank; /* inclusive */
    if (!group || (group->count && group->ranks[group->count - 1] >= last))
        return status;
    uint32_t capacity = group->capacity, *ranks = group->ranks;
    if (!hop_grow(&ranks, &capacity, group->count + (last - first) + 1, sizeof *ranks))
        return hop_fail_memory(m->diag);
    group->ranks = ranks;
    group->capacity = capacity;
    for (uint32_t r = first; r <= last; r++)
        group->ranks[group->count++] = r;
    return HOP_OK;
}

static enum hop_status find_group(struct matcher *m, uint32_t rank, const struct hop_chakra_node *node, uint32_t *index)
{
    const struct hop_chakra_trace *trace = &m->traces[rank];
    const char *name = node->group ? node->group : "";
    for (uint32_t i = 0; i < trace->group_count; i++) {
        if (strcmp(trace->groups[i].name, name) == 0 && trace->groups[i].count > 0)
            return listed_group(m, &trace->groups[i], rank, node, index);
        if (strcmp(trace->groups[i].name, name) == 0)
            return unlisted_group(m, "", rank, index);
    }
    return unlisted_group(m, name, rank, index);
}

/* ---- collectives ---- */

/* By the number that an attribute gives; HOP_COLLECTIVE_COUNT: no collective. */
static enum hop_collective_kind kind_of(const struct hop_chakra_trace *trace, int64_t type)
{
    static const enum hop_collective_kind now[] = {
        HOP_COLLECTIVE_ALLREDUCE,      HOP_COLLECTIVE_REDUCE,
        HOP_COLLECTIVE_ALLGATHER,      HOP_COLLECTIVE_GATHER,
        HOP_COLLECTIVE_SCATTER,        HOP_COLLECTIVE_BROADCAST,
        HOP_COLLECTIVE_ALLTOALL,       HOP_COLLECTIVE_REDUCE_SCATTER,
        HOP_COLLECTIVE_REDUCE_SCATTER, /* of equal blocks */ HOP_COLLECTIVE_BARRIER};
    static const enum hop_collective_kind old[] = {HOP_COLLECTIVE_ALLREDUCE, HOP_COLLECTIVE_ALLTOALL,
                                                   HOP_COLLECTIVE_ALLGATHER, HOP_COLLECTIVE_REDUCE_SCATTER,
                                                   HOP_COLLECTIVE_BROADCAST};
    int64_t count = trace->old ? (int64_t)HOP_COUNT(old) : (int64_t)HOP_COUNT(now);
    if (type < 0 || type >= count)
        return HOP_COLLECTIVE_COUNT;
    return trace->old ? old[type] : now[type];
}

static enum hop_status refuse(const struct matcher *m, uint32_t rank, const struct hop_chakra_node *node,
                              const char *expected)
{
    hop_chakra_place(&m->traces[rank], node, m->diag);
    hop_diag_expect(m->diag, "%s", expected);
    return HOP_ERR_INVALID;
}

/* What one node says. */
static enum hop_status describe(const struct matcher *m, uint32_t rank, const struct hop_chakra_node *node,
                                const uint32_t *ranks, uint32_t count, struct hop_collective *what)
{
    int64_t type = node->numbers[HOP_CHAKRA_COMM_TYPE], size = node->numbers[HOP_CHAKRA_COMM_SIZE];
    int64_t root = node->numbers[HOP_CHAKRA_ROOT];
    *what = (struct hop_collective){.kind = kind_of(&m->traces[rank], type), .members = count};
    if (what->kind == HOP_COLLECTIVE_COUNT) {
        if (type < 0)
            hop_fail(m->diag, HOP_ERR_INVALID, "a collective says nothing of its comm_type");
        else
            hop_fail(m->diag, HOP_ERR_INVALID, "a collective has the unknown comm_type %lld", (long long)type);
        return refuse(m, rank, node, m->traces[rank].old ? "0 to 4" : "0 (allreduce) to 9 (barrier)");
    }
    if (size < 0 && what->kind != HOP_COLLECTIVE_BARRIER) {
        hop_fail(m->diag, HOP_ERR_INVALID, "a collective says nothing of its comm_size");
        return refuse(m, rank, node, "an attribute comm_size, in bytes");
    }
    what->algorithm = m->options ? m->options->algorithm[what->kind] : HOP_ALGORITHM_DEFAULT;
    if (what->algorithm == HOP_ALGORITHM_DEFAULT)
        what->algorithm = hop_collective_default(what->kind);
    what->bytes = what->kind == HOP_COLLECTIVE_BARRIER ? 0 : (uint64_t)size;
    while (root >= 0 && what->root < count && ranks[what->root] != (uint32_t)root)
        what->root++;
    if (what->root == count) {
        hop_fail(m->diag, HOP_ERR_INVALID, "the root of a collective, rank %lld, is not in its process group",
                 (long long)root);
        return refuse(m, rank, node, "a rank of the group");
    }
    return HOP_OK;
}

/* The node becomes its rank's part of the group's next collective. */
static enum hop_status put(struct matcher *m, struct group *group, uint32_t rank, uint32_t index)
{
    struct hop_chakra_node *node = &m->traces[rank].nodes[index];
    uint32_t member = 0, low = 0, high = group->count;
    while (low < high) {
        member = low + (high - low) / 2;
        if (group->ranks[member] < rank)
            low = member + 1;
        else
            high = member;
    }
    member = low;
    struct hop_collective what;
    enum hop_status status = describe(m, rank, node, group->ranks, group->count, &what);
    if (status != HOP_OK)
        return status;
    uint32_t k = group->taken[member]++;
    struct hop_chakra_collectives *out = m->out;
    if (k == group->ordered_count) {
        struct hop_chakra_collective made = {.what = what, .ranks = group->ranks};
        made.nodes = hop_arena_alloc(&out->arena, group->count * sizeof *made.nodes);
        if (!made.nodes || !hop_grow(&out->list, &out->capacity, out->count + 1, sizeof *out->list) ||
            !hop_grow(&group->ordered, &group->ordered_capacity, k + 1, sizeof *group->ordered))
            return hop_fail_memory(m->diag);
        memset(made.nodes, 0xff, group->count * sizeof *made.nodes); /* HOP_NONE */
        group->ordered[group->ordered_count++] = out->count;
        out->list[out->count++] = made;
    }
    struct hop_chakra_collective *collective = &out->list[group->ordered[k]];
    const struct hop_collective *first = &collective->what;
    if (first->kind != what.kind || first->bytes != what.bytes || first->root != what.root) {
        uint32_t other = 0;
        while (collective->nodes[other] == HOP_NONE)
            other++;
        uint32_t other_rank = group->ranks[other];
        const struct hop_chakra_node *theirs = &m->traces[other_rank].nodes[collective->nodes[other]];
        hop_fail(
            m->diag, HOP_ERR_INVALID,
            "collective %u of group '%.40s' is %s of %llu bytes (root: member %u) at rank %u, but %s of %llu bytes "
            "(root: member %u) at rank %u, node %llu",
            k, group->name, hop_collective_name(what.kind), (unsigned long long)what.bytes, what.root, rank,
            hop_collective_name(first->kind), (unsigned long long)first->bytes, first->root, other_rank,
            (unsigned long long)theirs->id);
        return refuse(m, rank, node, "the collectives of a group in the same order at each of its ranks");
    }
    collective->nodes[member] = index;
    node->collective = group->ordered[k];
    node->member = member;
    return HOP_OK;
}

/* Every member has had as many. */
static enum hop_status check_complete(const struct matcher *m, const struct group *group)
{
    for (uint32_t member = 0; member < group->count; member++) {
        uint32_t k = group->taken[member];
        if (k == group->ordered_count)
            continue;
        const struct hop_chakra_collective *collective = &m->out->list[group->ordered[k]];
        uint32_t other = 0;
        while (collective->nodes[other] == HOP_NONE)
            other++;
        hop_fail(m->diag, HOP_ERR_INVALID, "rank %u lacks its part of this collective, number %u of group '%.40s'",
                 group->ranks[member], k, group->name);
        return refuse(m, group->ranks[other], &m->traces[group->ranks[other]].nodes[collective->nodes[other]],
                      "the collectives of a group at each of its ranks; is a file cut short?");
    }
    return HOP_OK;
}

/* The group of every collective node; twice, since groups may grow in the first round. */
static enum hop_status walk(struct matcher *m, uint32_t *group_of, bool assign)
{
    enum hop_status status = HOP_OK;
    size_t at = 0;
    for (uint32_t rank = 0; rank < m->ranks; rank++) {
        for (uint32_t i = 0; i < m->traces[rank].count && status == HOP_OK; i++) {
            const struct hop_chakra_node *node = &m->traces[rank].nodes[i];
            if (node->type != HOP_CHAKRA_COLLECTIVE)
                continue;
            if (assign)
                status = put(m, &m->groups[group_of[at]], rank, i);
            else
                status = find_group(m, rank, node, &group_of[at]);
            at++;
        }
    }
    return status;
}

enum hop_status hop_chakra_match(const struct hop_chakra_trace *traces, uint32_t ranks,
                                 const struct hop_trace_options *options, struct hop_chakra_collectives *collectives,
                                 struct hop_diag *diag)
{
    struct hop_chakra_collectives out = {0};
    struct matcher m = {.traces = traces, .ranks = ranks, .options = options, .out = &out, .diag = diag};
    size_t nodes = 1;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t i = 0; i < traces[rank].count; i++)
            nodes += traces[rank].nodes[i].type == HOP_CHAKRA_COLLECTIVE;
    }
    uint32_t *group_of = malloc(nodes * sizeof *group_of);
    enum hop_status status = group_of ? walk(&m, group_of, false) : hop_fail_memory(diag);
    for (uint32_t g = 0; g < m.count && status == HOP_OK; g++) {
        struct group *group = &m.groups[g];
        group->taken = hop_arena_alloc(&out.arena, group->count * sizeof *group->taken);
        uint32_t *kept = hop_arena_copy(&out.arena, group->ranks, group->count * sizeof *kept);
        if (group->capacity > 0)
            free(group->ranks);
        group->capacity = 0;
        group->ranks = kept;
        if (!kept || !group->taken)
            status = hop_fail_memory(diag);
    }
    if (status == HOP_OK)
        status = walk(&m, group_of, true);
    for (uint32_t g = 0; g < m.count; g++) {
        if (status == HOP_OK)
            status = check_complete(&m, &m.groups[g]);
        if (m.groups[g].capacity > 0)
            free(m.groups[g].ranks);
        free(m.groups[g].ordered);
    }
    free(m.groups);
    free(group_of);
    hop_names_finish(&m.listed);
    hop_names_finish(&m.unlisted);
    if (status == HOP_OK)
        *collectives = out;
    else
        hop_chakra_collectives_finish(&out);
    return status;
}

void hop_chakra_collectives_finish(struct hop_chakra_collectives *collectives)
{
    for (uint32_t i = 0; i < collectives->count; i++)
        hop_steps_finish(&collectives->list[i].steps);
    free(collectives->list);
    hop_arena_finish(&collectives->arena);
    *collectives = (struct hop_chakra_collectives){0};
}
