/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices, edges and labels of a problem, handed to the symmetry search; permutations of devices turned into ones of operations. */
#include "order/problem_symmetry.h"

#include "symmetry/symmetry.h"

enum { SUBGROUP_TRIES = 200 };

/* Operations by what they are: the k-th of a kind goes to the k-th of the kind's image. */
struct kind {
    uint32_t from, to; /* places of devices */
    uint64_t label;    /* equal ones may stand for each other */
    uint32_t op, rank; /* which of its kind */
};

struct mapping {
    const struct hop_problem *p;
    struct hop_arena arena;
    uint32_t *nodes, n; /* devices: the sources in their order, then who only receives */
    uint32_t *place_of; /* per node of the topology, HOP_NONE: no device */
    uint16_t *points;   /* places of the sources */
    uint32_t point_count;
    struct kind *kinds; /* sorted */
    struct hop_symmetry group;
};

static int compare_kinds(const struct kind *a, const struct kind *b)
{
    if (a->from != b->from || a->to != b->to)
        return a->from != b->from ? HOP_ORDER(a->from, b->from) : HOP_ORDER(a->to, b->to);
    return HOP_ORDER(a->label, b->label);
}

static int by_kind(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    int order = compare_kinds(x, y);
    return order ? order : HOP_ORDER(x->op, y->op);
}

static uint32_t device(struct mapping *m, uint32_t node)
{
    if (m->place_of[node] == HOP_NONE) {
        m->place_of[node] = m->n;
        m->nodes[m->n++] = node;
    }
    return m->place_of[node];
}

static void list_devices(struct mapping *m)
{
    memset(m->place_of, 0xff, hop_topology_node_count(m->p->topology) * sizeof *m->place_of);
    for (uint32_t s = 0; s < m->p->source_count; s++) {
        if (m->p->sources[s].count)
            m->points[m->point_count++] = (uint16_t)device(m, m->p->sources[s].node);
    }
}

static void list_kinds(struct mapping *m, bool sizes)
{
    const struct hop_problem *p = m->p;
    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct hop_problem_op *op = &p->ops[i];
        const struct hop_problem_class *class = &p->classes[op->class_index];
        uint64_t label = (sizes ? (uint64_t)op->bytes : 0) << 1 | op->marked; /* sizes are below 2^60 */
        m->kinds[i] = (struct kind){device(m, class->from), device(m, class->to), label, i, 0};
    }
    qsort(m->kinds, p->op_count, sizeof *m->kinds, by_kind);
    for (uint32_t i = 1; i < p->op_count; i++)
        m->kinds[i].rank = compare_kinds(&m->kinds[i - 1], &m->kinds[i]) == 0 ? m->kinds[i - 1].rank + 1 : 0;
}

/* The group stays empty where there is nothing to look for. The arena and the group are the caller's to finish. */
static enum hop_status find_group(struct mapping *m, bool sizes, struct hop_diag *diag)
{
    const struct hop_problem *p = m->p;
    size_t nodes = hop_topology_node_count(p->topology) + (size_t)1, ops = p->op_count + (size_t)1;
    if (!p->simple || p->whole)
        return HOP_OK;
    m->nodes = hop_arena_alloc(&m->arena, nodes * sizeof *m->nodes);
    m->place_of = hop_arena_alloc(&m->arena, nodes * sizeof *m->place_of);
    m->points = hop_arena_alloc(&m->arena, (p->source_count + (size_t)1) * sizeof *m->points);
    m->kinds = hop_arena_alloc(&m->arena, ops * sizeof *m->kinds);
    struct hop_symmetry_edge *edges = hop_arena_alloc(&m->arena, ops * sizeof *edges);
    if (m->arena.failed)
        return hop_fail_memory(diag);
    list_devices(m);
    list_kinds(m, sizes);
    for (uint32_t i = 0; i < p->op_count; i++)
        edges[i] = (struct hop_symmetry_edge){m->kinds[i].from, m->kinds[i].to, m->kinds[i].label};
    const struct hop_symmetry_input input = {
        .topology = p->topology, .nodes = m->nodes, .n = m->n, .edges = edges, .edge_count = p->op_count};
    return m->n <= HOP_SYMMETRY_DEVICES ? hop_symmetry_find(&input, &m->group, diag) : HOP_OK;
}

static void finish(struct mapping *m)
{
    hop_symmetry_finish(&m->group);
    hop_arena_finish(&m->arena);
}

/* The operations' images under one permutation of the devices. */
static void map_ops(const struct mapping *m, const uint16_t *permutation, uint32_t *images)
{
    uint32_t first = 0; /* of the kind's image */
    for (uint32_t i = 0; i < m->p->op_count; i++) {
        const struct kind *kind = &m->kinds[i];
        const struct kind wanted = {permutation[kind->from], permutation[kind->to], kind->label, 0, 0};
        uint32_t low = 0, high = kind->rank ? 0 : m->p->op_count;
        while (low < high) {
            uint32_t middle = low + (high - low) / 2;
            if (compare_kinds(&m->kinds[middle], &wanted) < 0)
                low = middle + 1;
            else
                high = middle;
        }
        first = kind->rank ? first : low;
        images[kind->op] = m->kinds[first + kind->rank].op;
    }
}

/* ---- symmetries ---- */

/* The first level from which on the chain's subgroup has at most `limit` elements. */
static uint32_t level_within(const struct hop_symmetry *group, double limit)
{
    double order = 1;
    uint32_t level = group->level_count;
    while (level > 0 && order * group->levels[level - 1].count <= limit)
        order *= group->levels[--level].count;
    return level;
}

static enum hop_status list_images(const struct mapping *m, uint32_t limit, uint32_t **images, uint32_t *count,
                                   struct hop_diag *diag)
{
    uint16_t *permutations = NULL;
    uint32_t elements = 1, ops = m->p->op_count;
    if (m->group.n > 0) {
        struct hop_symmetry part = m->group; /* a view: the last levels are a group of their own */
        uint32_t level = level_within(&m->group, limit);
        part.levels += level;
        part.level_count -= level;
        enum hop_status status = hop_symmetry_list(&part, limit, &permutations, &elements, diag);
        if (status != HOP_OK)
            return status;
    }
    uint32_t *made = malloc(((size_t)elements * ops + 1) * sizeof *made);
    for (uint32_t e = 0; made && permutations && e < elements; e++)
        map_ops(m, permutations + (size_t)e * m->group.n, made + (size_t)e * ops);
    for (uint32_t i = 0; made && !permutations && i < ops; i++)
        made[i] = i;
    free(permutations);
    *images = made;
    *count = elements;
    return made ? HOP_OK : hop_fail_memory(diag);
}

enum hop_status hop_problem_images(const struct hop_problem *problem, bool sizes, uint32_t limit, uint32_t **images,
                                   uint32_t *count, struct hop_diag *diag)
{
    struct mapping m = {.p = problem};
    enum hop_status status = find_group(&m, sizes, diag);
    if (status == HOP_OK)
        status = list_images(&m, limit, images, count, diag);
    finish(&m);
    return status;
}

/* ---- small groups ---- */

static void add_group(const struct mapping *m, const struct hop_subgroup *subgroup, struct hop_quotient_groups *groups)
{
    size_t ops = m->p->op_count;
    uint32_t *images = hop_arena_alloc(&groups->arena, subgroup->order * ops * sizeof *images);
    for (uint32_t g = 0; images && g < subgroup->order; g++)
        map_ops(m, subgroup->elements + (size_t)g * m->n, images + g * ops);
    groups->list[groups->count++] =
        (struct hop_quotient_group){subgroup->order, m->point_count / subgroup->order, images};
}

static enum hop_status add_groups(const struct mapping *m, uint32_t most_lanes, uint32_t per_order, uint64_t seed,
                                  struct hop_quotient_groups *groups, struct hop_diag *diag)
{
    uint32_t orders[64], order_count = 0;
    for (uint32_t lanes = 1; lanes <= most_lanes && lanes < m->point_count && order_count < HOP_COUNT(orders);
         lanes++) {
        if (m->point_count % lanes == 0)
            orders[order_count++] = m->point_count / lanes;
    }
    if (hop_symmetry_order(&m->group) <= 1 || order_count == 0)
        return HOP_OK;
    const struct hop_subgroup_wish wish = {.points = m->points,
                                           .point_count = m->point_count,
                                           .orders = orders,
                                           .order_count = order_count,
                                           .per_order = per_order,
                                           .tries = SUBGROUP_TRIES,
                                           .seed = seed};
    struct hop_subgroups found;
    HOP_CHECK(hop_symmetry_free_subgroups(&m->group, &wish, &found, diag));
    groups->list = hop_arena_alloc(&groups->arena, (found.count + (size_t)1) * sizeof *groups->list);
    for (uint32_t i = 0; i < found.count && !groups->arena.failed; i++)
        add_group(m, &found.list[i], groups);
    hop_subgroups_finish(&found);
    return groups->arena.failed ? hop_fail_memory(diag) : HOP_OK;
}

enum hop_status hop_quotient_groups_find(const struct hop_problem *p, uint32_t most_lanes, uint32_t per_order,
                                         uint64_t seed, struct hop_quotient_groups *groups, struct hop_diag *diag)
{
    struct mapping m = {.p = p};
    *groups = (struct hop_quotient_groups){0};
    enum hop_status status = find_group(&m, true, diag);
    if (status == HOP_OK && m.group.n > 0)
        status = add_groups(&m, most_lanes, per_order, seed, groups, diag);
    finish(&m);
    if (status != HOP_OK)
        hop_quotient_groups_finish(groups);
    return status;
}

void hop_quotient_groups_finish(struct hop_quotient_groups *groups)
{
    hop_arena_finish(&groups->arena);
    *groups = (struct hop_quotient_groups){0};
}
