/* SPDX-License-Identifier: BSD-3-Clause */
/* Quotients: the symmetries of the devices, turned into symmetries of the operations. */
#include "order/quotient.h"

#include "symmetry/symmetry.h"

enum { SUBGROUP_TRIES = 200 };

/* Operations by what they are, so that the k-th of a kind goes to the k-th of the kind's image. */
struct kind {
    uint32_t from, to; /* places of devices */
    uint64_t label;
    uint32_t op;
};

struct maker {
    const struct hop_problem *p;
    uint32_t *nodes, node_count; /* devices */
    uint32_t *place_of;          /* per node of the topology */
    uint16_t *points;            /* places of the sources */
    uint32_t point_count;
    struct kind *kinds; /* sorted */
    uint32_t *rank;     /* per operation: which of its kind */
    struct hop_symmetry_edge *edges;
};

static int by_kind(const void *a, const void *b)
{
    const struct kind *x = a, *y = b;
    if (x->from != y->from)
        return x->from < y->from ? -1 : 1;
    if (x->to != y->to)
        return x->to < y->to ? -1 : 1;
    if (x->label != y->label)
        return x->label < y->label ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

static uint64_t label_of(const struct hop_problem_op *op)
{
    return (uint64_t)op->bytes * 2 + op->marked; /* sizes are below 2^60 */
}

static uint32_t device(struct maker *m, uint32_t node)
{
    if (m->place_of[node] == HOP_NONE) {
        m->place_of[node] = m->node_count;
        m->nodes[m->node_count++] = node;
    }
    return m->place_of[node];
}

/* Devices: the sources in their order, then who only receives. */
static bool prepare(struct maker *m, struct hop_arena *arena)
{
    const struct hop_problem *p = m->p;
    uint32_t nodes = hop_topology_node_count(p->topology);
    m->nodes = hop_arena_alloc(arena, (nodes + (size_t)1) * sizeof *m->nodes);
    m->place_of = hop_arena_alloc(arena, (nodes + (size_t)1) * sizeof *m->place_of);
    m->points = hop_arena_alloc(arena, (p->source_count + (size_t)1) * sizeof *m->points);
    m->kinds = hop_arena_alloc(arena, (p->op_count + (size_t)1) * sizeof *m->kinds);
    m->rank = hop_arena_alloc(arena, (p->op_count + (size_t)1) * sizeof *m->rank);
    m->edges = hop_arena_alloc(arena, (p->op_count + (size_t)1) * sizeof *m->edges);
    if (arena->failed)
        return false;
    memset(m->place_of, 0xff, nodes * sizeof *m->place_of);
    for (uint32_t s = 0; s < p->source_count; s++) {
        if (p->sources[s].count)
            m->points[m->point_count++] = (uint16_t)device(m, p->sources[s].node);
    }
    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct hop_problem_class *class = &p->classes[p->ops[i].class_index];
        m->kinds[i] = (struct kind){device(m, class->from), device(m, class->to), label_of(&p->ops[i]), i};
        m->edges[i] = (struct hop_symmetry_edge){m->kinds[i].from, m->kinds[i].to, m->kinds[i].label};
    }
    qsort(m->kinds, p->op_count, sizeof *m->kinds, by_kind);
    for (uint32_t i = 1; i < p->op_count; i++) {
        const struct kind *a = &m->kinds[i - 1], *b = &m->kinds[i];
        bool same = a->from == b->from && a->to == b->to && a->label == b->label;
        m->rank[b->op] = same ? m->rank[a->op] + 1 : 0;
    }
    return true;
}

/* Where an element of the group takes an operation. */
static uint32_t image_of(const struct maker *m, const uint16_t *element, const struct kind *kind)
{
    struct kind wanted = {element[kind->from], element[kind->to], kind->label, 0};
    uint32_t low = 0, high = m->p->op_count;
    while (low < high) {
        uint32_t middle = (low + high) / 2;
        if (by_kind(&m->kinds[middle], &wanted) < 0)
            low = middle + 1;
        else
            high = middle;
    }
    return m->kinds[low + m->rank[kind->op]].op;
}

static bool add_group(const struct maker *m, const struct hop_subgroup *subgroup, struct hop_quotient_groups *groups)
{
    size_t ops = m->p->op_count;
    uint32_t *images = hop_arena_alloc(&groups->arena, subgroup->order * ops * sizeof *images);
    if (!images)
        return false;
    for (uint32_t g = 0; g < subgroup->order; g++) {
        for (size_t i = 0; i < ops; i++)
            images[g * ops + m->kinds[i].op] =
                image_of(m, subgroup->elements + (size_t)g * m->node_count, &m->kinds[i]);
    }
    groups->list[groups->count++] =
        (struct hop_quotient_group){subgroup->order, m->point_count / subgroup->order, images};
    return true;
}

static enum hop_status make(struct maker *m, uint32_t most_lanes, uint32_t per_order, uint64_t seed,
                            struct hop_quotient_groups *groups, struct hop_diag *diag)
{
    const struct hop_symmetry_input input = {.topology = m->p->topology,
                                             .nodes = m->nodes,
                                             .n = m->node_count,
                                             .edges = m->edges,
                                             .edge_count = m->p->op_count};
    uint32_t orders[64], order_count = 0;
    for (uint32_t lanes = 1; lanes <= most_lanes && lanes < m->point_count && order_count < HOP_COUNT(orders);
         lanes++) {
        if (m->point_count % lanes == 0)
            orders[order_count++] = m->point_count / lanes;
    }
    struct hop_subgroup_wish wish = {.points = m->points,
                                     .point_count = m->point_count,
                                     .orders = orders,
                                     .order_count = order_count,
                                     .per_order = per_order,
                                     .tries = SUBGROUP_TRIES,
                                     .seed = seed};
    struct hop_symmetry group = {0};
    struct hop_subgroups found = {0};
    enum hop_status status = hop_symmetry_find(&input, &group, diag);
    if (status == HOP_OK && hop_symmetry_order(&group) > 1 && order_count)
        status = hop_symmetry_free_subgroups(&group, &wish, &found, diag);
    groups->list = hop_arena_alloc(&groups->arena, (found.count + (size_t)1) * sizeof *groups->list);
    for (uint32_t i = 0; i < found.count && status == HOP_OK; i++)
        status = add_group(m, &found.list[i], groups) ? HOP_OK : hop_fail_memory(diag);
    hop_subgroups_finish(&found);
    hop_symmetry_finish(&group);
    return status;
}

enum hop_status hop_quotient_groups_find(const struct hop_problem *p, uint32_t most_lanes, uint32_t per_order,
                                         uint64_t seed, struct hop_quotient_groups *groups, struct hop_diag *diag)
{
    struct hop_quotient_groups made = {0};
    struct maker m = {.p = p};
    struct hop_arena scratch = {0};
    enum hop_status status = HOP_OK;
    if (p->simple && !prepare(&m, &scratch))
        status = hop_fail_memory(diag);
    else if (p->simple && m.node_count <= HOP_SYMMETRY_DEVICES)
        status = make(&m, most_lanes, per_order, seed, &made, diag);
    hop_arena_finish(&scratch);
    if (status == HOP_OK)
        *groups = made;
    else
        hop_quotient_groups_finish(&made);
    return status;
}

void hop_quotient_groups_finish(struct hop_quotient_groups *groups)
{
    hop_arena_finish(&groups->arena);
    *groups = (struct hop_quotient_groups){0};
}
