/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices, edges and labels of a problem, handed to the symmetry search; permutations of devices turned into ones of operations. */
#include "order/problem_symmetry.h"

/* What must be kept of an operation: equal labels may stand for each other. */
static uint64_t label_of(const struct hop_orbits *o, uint32_t op)
{
    const struct hop_problem_op *it = &o->problem->ops[op];
    return (o->sizes ? (uint64_t)it->bytes : 0) << 1 | it->marked;
}

struct pair_key {
    uint16_t from, to;
    uint64_t label;
    uint32_t op;
};

static struct pair_key key_of(const struct hop_orbits *o, uint32_t op)
{
    const struct hop_problem_class *class = &o->problem->classes[o->problem->ops[op].class_index];
    return (struct pair_key){o->device_of[class->from], o->device_of[class->to], label_of(o, op), op};
}

static int compare_pairs(const struct pair_key *a, const struct pair_key *b)
{
    if (a->from != b->from)
        return a->from < b->from ? -1 : 1;
    if (a->to != b->to)
        return a->to < b->to ? -1 : 1;
    return a->label < b->label ? -1 : a->label > b->label;
}

static int by_pair(const void *a, const void *b)
{
    const struct pair_key *x = a, *y = b;
    int order = compare_pairs(x, y);
    return order ? order : x->op < y->op ? -1 : x->op > y->op;
}

static enum hop_status sort_pairs(struct hop_orbits *o, struct hop_diag *diag)
{
    const struct hop_problem *p = o->problem;
    struct pair_key *keys = malloc((p->op_count + 1) * sizeof *keys);
    if (!keys)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < p->op_count; i++)
        keys[i] = key_of(o, i);
    qsort(keys, p->op_count, sizeof *keys, by_pair);
    for (uint32_t i = 0; i < p->op_count; i++)
        o->by_pair[i] = keys[i].op;
    free(keys);
    return HOP_OK;
}

static void list_devices(struct hop_orbits *o)
{
    const struct hop_problem *p = o->problem;
    uint32_t nodes = hop_topology_node_count(p->topology);
    memset(o->device_of, 0xff, nodes * sizeof *o->device_of);
    for (uint32_t c = 0; c < p->class_count; c++)
        o->device_of[p->classes[c].from] = o->device_of[p->classes[c].to] = 0;
    for (uint32_t i = 0; i < nodes; i++) {
        if (o->device_of[i] == 0) {
            o->device_of[i] = (uint16_t)o->n;
            o->nodes[o->n++] = i;
        }
    }
}

enum hop_status hop_orbits_find(const struct hop_problem *problem, bool sizes, struct hop_orbits *orbits,
                                struct hop_diag *diag)
{
    uint32_t nodes = hop_topology_node_count(problem->topology);
    *orbits = (struct hop_orbits){.problem = problem, .sizes = sizes};
    if (!problem->simple || problem->whole || nodes > UINT16_MAX)
        return HOP_OK;
    orbits->nodes = malloc((nodes + 1) * sizeof *orbits->nodes);
    orbits->device_of = malloc((nodes + 1) * sizeof *orbits->device_of);
    orbits->by_pair = malloc((problem->op_count + 1) * sizeof *orbits->by_pair);
    struct hop_symmetry_edge *edges = malloc((problem->op_count + 1) * sizeof *edges);
    enum hop_status status = HOP_OK;
    if (!orbits->nodes || !orbits->device_of || !orbits->by_pair || !edges) {
        status = hop_fail_memory(diag);
    } else {
        list_devices(orbits);
        status = sort_pairs(orbits, diag);
    }
    for (uint32_t i = 0; i < problem->op_count && status == HOP_OK; i++) {
        struct pair_key key = key_of(orbits, i);
        edges[i] = (struct hop_symmetry_edge){key.from, key.to, key.label};
    }
    if (status == HOP_OK && orbits->n <= HOP_SYMMETRY_DEVICES) {
        const struct hop_symmetry_input input = {.topology = problem->topology,
                                                 .router = hop_network_router(problem->network),
                                                 .nodes = orbits->nodes,
                                                 .n = orbits->n,
                                                 .edges = edges,
                                                 .edge_count = problem->op_count};
        status = hop_symmetry_find(&input, &orbits->group, diag);
    }
    free(edges);
    if (status != HOP_OK)
        hop_orbits_finish(orbits);
    return status;
}

void hop_orbits_finish(struct hop_orbits *orbits)
{
    hop_symmetry_finish(&orbits->group);
    free(orbits->nodes);
    free(orbits->device_of);
    free(orbits->by_pair);
    *orbits = (struct hop_orbits){0};
}

/* Operations with one key follow each other in by_pair: the k-th of a key goes to the k-th of the image's. */
void hop_orbits_image(const struct hop_orbits *o, const uint16_t *permutation, uint32_t *images)
{
    uint32_t count = o->problem->op_count;
    for (uint32_t first = 0, end; first < count; first = end) {
        struct pair_key key = key_of(o, o->by_pair[first]);
        end = first + 1;
        while (end < count) {
            struct pair_key other = key_of(o, o->by_pair[end]);
            if (compare_pairs(&key, &other) != 0)
                break;
            end++;
        }
        struct pair_key target = {permutation[key.from], permutation[key.to], key.label, 0};
        uint32_t low = 0, high = count; /* the first that is not before the target */
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            struct pair_key at = key_of(o, o->by_pair[middle]);
            if (compare_pairs(&at, &target) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        for (uint32_t k = first; k < end; k++)
            images[o->by_pair[k]] = o->by_pair[low + k - first];
    }
}

/* The first level from which on the chain's subgroup has at most `limit` elements. */
static uint32_t level_within(const struct hop_symmetry *group, double limit)
{
    double order = 1;
    uint32_t level = group->level_count;
    while (level > 0 && order * group->levels[level - 1].count <= limit)
        order *= group->levels[--level].count;
    return level;
}

enum hop_status hop_orbits_images(const struct hop_orbits *o, uint32_t limit, uint32_t **images, uint32_t *count,
                                  struct hop_diag *diag)
{
    uint16_t *permutations = NULL;
    uint32_t elements = 1, ops = o->problem->op_count;
    enum hop_status status = HOP_OK;
    if (o->group.n > 0) {
        uint32_t level = level_within(&o->group, limit);
        struct hop_symmetry part = o->group; /* a view: the last levels are a group of their own */
        part.levels += level;
        part.level_count -= level;
        status = hop_symmetry_list(&part, limit, &permutations, &elements, diag);
    }
    uint32_t *made = status == HOP_OK ? malloc(((size_t)elements * ops + 1) * sizeof *made) : NULL;
    if (status == HOP_OK && !made)
        status = hop_fail_memory(diag);
    for (uint32_t e = 0; status == HOP_OK && e < elements; e++) {
        for (uint32_t i = 0; !permutations && i < ops; i++)
            made[i] = i;
        if (permutations)
            hop_orbits_image(o, permutations + (size_t)e * o->group.n, made + (size_t)e * ops);
    }
    free(permutations);
    if (status == HOP_OK) {
        *images = made;
        *count = elements;
    }
    return status;
}
