/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives of Chakra traces across ranks: the k-th one of a process group in every member's file belong together.
 *
 * A group's members are the ranks that a metadata node lists for it; without a list, all ranks for the group "0" and
 * for nodes that name none, else the ranks whose nodes name it.
 */
#include "trace/chakra.h"

struct group {
    const char *key; /* its name, and its ranks where they were listed */
    const char *name;
    uint32_t *ranks;
    uint32_t count;
    uint32_t *taken;   /* how many collectives each member has had */
    uint32_t *ordered; /* its collectives, in order */
    uint32_t ordered_count;
};

struct matcher {
    const struct hop_chakra_trace *traces;
    uint32_t ranks;
    const struct hop_trace_options *options;
    struct hop_chakra_collectives *out;
    struct hop_failure *failure;
    struct group *groups;
    uint32_t count;
    struct hop_names listed, unlisted; /* by key */
};

/* ---- groups ---- */

/* The group of that key, a new one if there is none yet. */
static uint32_t keep_group(struct matcher *m, struct hop_names *keys, const struct group *group)
{
    uint32_t index = hop_names_get(keys, group->key);
    if (index != UINT32_MAX || !hop_failure_none(m->failure, HOP_GROW(&m->out->arena, m->groups, m->count + 1) &&
                                                                 hop_names_put(keys, group->key, m->count)))
        return index;
    m->groups[m->count] = *group;
    return m->count++;
}

/* A list of ranks in a trace's metadata; the node that uses it has the blame for a wrong one. */
static uint32_t listed_group(struct matcher *m, const struct hop_chakra_group *listed, uint32_t rank)
{
    struct hop_buffer key = {0};
    struct group group = {.name = listed->name, .count = listed->count};
    bool member = false, fine = true;
    group.ranks = hop_arena_copy(&m->out->arena, listed->ranks, listed->count * sizeof *listed->ranks);
    if (!hop_failure_none(m->failure, group.ranks))
        return HOP_NONE;
    qsort(group.ranks, group.count, sizeof *group.ranks, hop_ascending_u32);
    hop_buffer_printf(&key, "%s ", listed->name);
    for (uint32_t i = 0; i < group.count; i++) {
        member = member || group.ranks[i] == rank;
        fine = fine && group.ranks[i] < m->ranks && (i == 0 || group.ranks[i] != group.ranks[i - 1]);
        hop_buffer_printf(&key, " %u", group.ranks[i]);
    }
    group.key = key.failed ? NULL : hop_arena_string(&m->out->arena, key.text, key.length);
    hop_buffer_finish(&key);
    if (!fine || !member)
        hop_failure_set(
            m->failure, HOP_ERR_INVALID,
            "process group '%.60s' is listed with %s\ndifferent ranks from 0 to %u, this one (%u) among them",
            listed->name, fine ? "ranks among which this one is not" : "a rank twice, or one that has no trace",
            m->ranks - 1, rank);
    return hop_failure_none(m->failure, group.key) ? keep_group(m, &m->listed, &group) : HOP_NONE;
}

/* All ranks, or the ranks whose nodes name it, this being one. */
static uint32_t unlisted_group(struct matcher *m, const char *name, uint32_t rank)
{
    bool all = strcmp(name, "") == 0 || strcmp(name, "0") == 0;
    const struct group made = {.key = all ? "" : name, .name = name};
    uint32_t index = keep_group(m, &m->unlisted, &made);
    uint32_t first = all ? 0 : rank, last = all ? m->ranks - 1 : rank; /* inclusive */
    if (index == HOP_NONE)
        return index;
    struct group *group = &m->groups[index];
    if (group->count && group->ranks[group->count - 1] >= last)
        return index;
    if (!hop_failure_none(m->failure, HOP_GROW(&m->out->arena, group->ranks, group->count + (last - first) + 1)))
        return index;
    for (uint32_t r = first; r <= last; r++)
        group->ranks[group->count++] = r;
    return index;
}

static uint32_t find_group(struct matcher *m, uint32_t rank, const struct hop_chakra_node *node)
{
    const struct hop_chakra_trace *trace = &m->traces[rank];
    const char *name = node->group ? node->group : "";
    for (uint32_t i = 0; i < trace->group_count; i++) {
        if (strcmp(trace->groups[i].name, name) == 0)
            return trace->groups[i].count > 0 ? listed_group(m, &trace->groups[i], rank) : unlisted_group(m, "", rank);
    }
    return unlisted_group(m, name, rank);
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

/* What one node says. */
static struct hop_collective describe(const struct matcher *m, uint32_t rank, const struct hop_chakra_node *node,
                                      const struct group *group)
{
    int64_t type = node->numbers[HOP_CHAKRA_COMM_TYPE], size = node->numbers[HOP_CHAKRA_COMM_SIZE];
    int64_t root = node->numbers[HOP_CHAKRA_ROOT];
    struct hop_collective what = {.kind = kind_of(&m->traces[rank], type), .members = group->count};
    const char *known = m->traces[rank].old ? "0 to 4" : "0 (allreduce) to 9 (barrier)";
    if (type < 0)
        hop_failure_set(m->failure, HOP_ERR_INVALID, "a collective says nothing of its comm_type\n%s", known);
    if (what.kind == HOP_COLLECTIVE_COUNT) {
        hop_failure_set(m->failure, HOP_ERR_INVALID, "a collective has the unknown comm_type %lld\n%s", (long long)type,
                        known);
        return what;
    }
    if (size < 0 && what.kind != HOP_COLLECTIVE_BARRIER)
        hop_failure_set(m->failure, HOP_ERR_INVALID,
                        "a collective says nothing of its comm_size\nan attribute comm_size, in bytes");
    what.algorithm = m->options->algorithm[what.kind];
    if (what.algorithm == HOP_ALGORITHM_DEFAULT)
        what.algorithm = hop_collective_default(what.kind);
    uint32_t parts = hop_collective_gathers(what.kind) ? group->count : 1; /* a trace has a rank's part */
    what.vector_bytes = what.kind == HOP_COLLECTIVE_BARRIER ? 0
                        : size > INT64_MAX / parts          ? INT64_MAX
                                                            : (uint64_t)size * parts;
    while (root >= 0 && what.root < group->count && group->ranks[what.root] != (uint32_t)root)
        what.root++;
    if (what.root == group->count)
        hop_failure_set(m->failure, HOP_ERR_INVALID,
                        "the root of a collective, rank %lld, is not in its process group\na rank of the group",
                        (long long)root);
    return what;
}

static uint32_t first_member(const struct hop_chakra_collective *collective)
{
    uint32_t member = 0;
    while (collective->nodes[member] == HOP_NONE)
        member++;
    return member;
}

/* The k-th collective of a group, a new one if nobody has come to it yet; NULL: out of memory. */
static struct hop_chakra_collective *kth(struct matcher *m, struct group *group, uint32_t k,
                                         const struct hop_collective *what)
{
    struct hop_chakra_collectives *out = m->out;
    if (k < group->ordered_count)
        return &out->list[group->ordered[k]];
    struct hop_chakra_collective made = {.what = *what, .ranks = group->ranks};
    made.nodes = hop_arena_alloc(&out->arena, group->count * sizeof *made.nodes);
    if (!hop_failure_none(m->failure, made.nodes && HOP_GROW(&out->arena, out->list, out->count + 1) &&
                                          HOP_GROW(&out->arena, group->ordered, k + 1)))
        return NULL;
    memset(made.nodes, 0xff, group->count * sizeof *made.nodes); /* HOP_NONE */
    group->ordered[group->ordered_count++] = out->count;
    out->list[out->count] = made;
    return &out->list[out->count++];
}

/* The node becomes its rank's part of the group's next collective. */
static void put(struct matcher *m, struct group *group, uint32_t rank, uint32_t index)
{
    struct hop_chakra_node *node = &m->traces[rank].nodes[index];
    const uint32_t *found = bsearch(&rank, group->ranks, group->count, sizeof rank, hop_ascending_u32);
    uint32_t member = (uint32_t)(found - group->ranks), k = group->taken[member]++;
    struct hop_collective what = describe(m, rank, node, group);
    struct hop_chakra_collective *collective = kth(m, group, k, &what);
    if (!collective)
        return;
    const struct hop_collective *first = &collective->what;
    if (first->kind != what.kind || first->vector_bytes != what.vector_bytes || first->root != what.root) {
        uint32_t other = first_member(collective), other_rank = group->ranks[other];
        hop_failure_set(
            m->failure, HOP_ERR_INVALID,
            "collective %u of group '%.40s' is %s of %llu bytes (root: member %u) at rank %u, but %s of %llu bytes "
            "(root: member %u) at rank %u, node %llu\n"
            "the collectives of a group in the same order at each of its ranks",
            k, group->name, hop_collective_name(what.kind), (unsigned long long)what.vector_bytes, what.root, rank,
            hop_collective_name(first->kind), (unsigned long long)first->vector_bytes, first->root, other_rank,
            (unsigned long long)m->traces[other_rank].nodes[collective->nodes[other]].id);
    }
    collective->nodes[member] = index;
    node->collective = group->ordered[k];
    node->member = member;
}

/* Every member has had as many. */
static void check_complete(const struct matcher *m, const struct group *group)
{
    for (uint32_t member = 0; member < group->count; member++) {
        uint32_t k = group->taken[member];
        if (k == group->ordered_count)
            continue;
        const struct hop_chakra_collective *collective = &m->out->list[group->ordered[k]];
        uint32_t other = first_member(collective);
        const struct hop_chakra_trace *trace = &m->traces[group->ranks[other]];
        hop_failure_set(m->failure, HOP_ERR_INVALID,
                        "rank %u lacks its part of this collective, number %u of group '%.40s'\n"
                        "the collectives of a group at each of its ranks; is a file cut short?",
                        group->ranks[member], k, group->name);
        hop_chakra_place(trace, &trace->nodes[collective->nodes[other]], m->failure);
    }
}

/* The group of every collective node; twice, since groups may grow in the first round. */
static void walk(struct matcher *m, uint32_t *group_of, bool assign)
{
    size_t at = 0;
    for (uint32_t rank = 0; rank < m->ranks; rank++) {
        for (uint32_t i = 0; i < m->traces[rank].count && m->failure->status == HOP_OK; i++) {
            const struct hop_chakra_node *node = &m->traces[rank].nodes[i];
            if (node->type != HOP_CHAKRA_COLLECTIVE)
                continue;
            if (assign)
                put(m, &m->groups[group_of[at]], rank, i);
            else
                group_of[at] = find_group(m, rank, node);
            hop_chakra_place(&m->traces[rank], node, m->failure);
            at++;
        }
    }
}

void hop_chakra_match(const struct hop_chakra_trace *traces, uint32_t ranks, const struct hop_trace_options *options,
                      struct hop_chakra_collectives *collectives, struct hop_failure *failure)
{
    struct matcher m = {.traces = traces, .ranks = ranks, .options = options, .out = collectives, .failure = failure};
    size_t nodes = 1;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        for (uint32_t i = 0; i < traces[rank].count; i++)
            nodes += traces[rank].nodes[i].type == HOP_CHAKRA_COLLECTIVE;
    }
    uint32_t *group_of = hop_arena_alloc(&collectives->arena, nodes * sizeof *group_of);
    if (hop_failure_none(failure, group_of))
        walk(&m, group_of, false);
    for (uint32_t g = 0; g < m.count; g++) { /* their ranks are known */
        m.groups[g].taken = hop_arena_alloc(&collectives->arena, m.groups[g].count * sizeof *m.groups[g].taken);
        (void)hop_failure_none(failure, m.groups[g].taken);
    }
    walk(&m, group_of, true);
    for (uint32_t g = 0; g < m.count && failure->status == HOP_OK; g++)
        check_complete(&m, &m.groups[g]);
    hop_names_finish(&m.listed);
    hop_names_finish(&m.unlisted);
}

void hop_chakra_collectives_finish(struct hop_chakra_collectives *collectives)
{
    for (uint32_t i = 0; i < collectives->count; i++)
        hop_steps_finish(&collectives->list[i].steps);
    hop_arena_finish(&collectives->arena);
    *collectives = (struct hop_chakra_collectives){0};
}
