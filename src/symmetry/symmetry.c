/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetries of a topology: its routes between the devices, renumbered and laid side by side; mapping them, link by
 * link, as a permutation of the devices asks. What the search is given is made in symmetry_weights.c.
 */
#include "symmetry/symmetry_sketch.h"

/* ---- routes ---- */

static uint32_t node_number(struct hop_symmetry_sketch *s, uint32_t index)
{
    if (s->node_number[index] == HOP_NONE) {
        s->node_index[s->node_count] = index;
        s->node_number[index] = s->node_count++;
    }
    return s->node_number[index];
}

static uint32_t link_number(struct hop_symmetry_sketch *s, uint32_t index)
{
    if (s->link_number[index] == HOP_NONE) {
        const struct hop_link *link = hop_topology_link(s->input->topology, index);
        s->link_index[s->link_count] = index;
        s->ends[2 * s->link_count] = node_number(s, link->ends[0]);
        s->ends[2 * s->link_count + 1] = node_number(s, link->ends[1]);
        s->link_number[index] = s->link_count++;
    }
    return s->link_number[index];
}

static enum hop_status add_route(struct hop_symmetry_sketch *s, struct hop_router *router, uint32_t pair,
                                 struct hop_diag *diag)
{
    uint32_t i = pair / s->n, j = pair % s->n, index;
    s->first[pair + 1] = s->first[pair];
    if (i == j)
        return HOP_OK;
    enum hop_status status =
        hop_router_find(router, s->input->nodes[i], s->input->nodes[j], &index, s->input->edges ? NULL : diag);
    if (status == HOP_ERR_NO_ROUTE && s->input->edges)
        return HOP_OK;
    if (status != HOP_OK)
        return status == HOP_ERR_MEMORY ? hop_fail_memory(diag) : status;
    const struct hop_route *route = hop_router_route(router, index);
    uint32_t *length = &s->first[pair + 1];
    if (!hop_grow(&s->links, &s->capacity, *length + route->link_count, sizeof *s->links))
        return hop_fail_memory(diag);
    for (uint32_t k = 0; k < route->link_count; k++)
        s->links[(*length)++] = 2 * link_number(s, route->links[k] / 2) + (route->links[k] & 1);
    s->ceilings_Bps[pair] = route->ceiling_Bps;
    return HOP_OK;
}

static enum hop_status check_input(const struct hop_symmetry_input *input, struct hop_diag *diag)
{
    if (input->n == 0 || input->n > HOP_SYMMETRY_DEVICES)
        return hop_fail(diag, HOP_ERR_LIMIT, "symmetries of %u devices\n1 to %d devices", input->n, HOP_SYMMETRY_DEVICES);
    for (uint32_t e = 0; e < input->edge_count; e++) {
        if (input->edges[e].from >= input->n || input->edges[e].to >= input->n)
            return hop_fail(diag, HOP_ERR_INVALID, "edge %u joins no two of the %u devices", e, input->n);
    }
    for (uint32_t i = 0; i < input->n; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (input->nodes[i] == input->nodes[j])
                return hop_fail(diag, HOP_ERR_INVALID, "device %s is listed twice",
                                hop_topology_node(input->topology, input->nodes[i])->name);
        }
    }
    return HOP_OK;
}

static void sketch_finish(struct hop_symmetry_sketch *s)
{
    free(s->links);
    hop_arena_finish(&s->arena);
}

static enum hop_status sketch_init(struct hop_symmetry_sketch *s, const struct hop_symmetry_input *input,
                                   struct hop_diag *diag)
{
    *s = (struct hop_symmetry_sketch){.input = input, .n = input->n};
    enum hop_status status = check_input(input, diag);
    if (status != HOP_OK)
        return status;
    size_t nodes = hop_topology_node_count(input->topology), links = hop_topology_link_count(input->topology);
    size_t pairs = (size_t)s->n * s->n;
    s->node_number = hop_arena_alloc(&s->arena, nodes * sizeof *s->node_number);
    s->node_index = hop_arena_alloc(&s->arena, nodes * sizeof *s->node_index);
    s->node_image = hop_arena_alloc(&s->arena, nodes * sizeof *s->node_image);
    s->node_taken = hop_arena_alloc(&s->arena, nodes * sizeof *s->node_taken);
    s->link_number = hop_arena_alloc(&s->arena, links * sizeof *s->link_number);
    s->link_index = hop_arena_alloc(&s->arena, links * sizeof *s->link_index);
    s->link_image = hop_arena_alloc(&s->arena, links * sizeof *s->link_image);
    s->link_taken = hop_arena_alloc(&s->arena, links * sizeof *s->link_taken);
    s->ends = hop_arena_alloc(&s->arena, 2 * links * sizeof *s->ends);
    s->first = hop_arena_alloc(&s->arena, (pairs + 1) * sizeof *s->first);
    s->ceilings_Bps = hop_arena_alloc(&s->arena, pairs * sizeof *s->ceilings_Bps);
    struct hop_router *own = input->router ? NULL : hop_router_create(input->topology);
    struct hop_router *router = input->router ? input->router : own;
    if (!router || s->arena.failed) {
        status = hop_fail_memory(diag);
        goto done;
    }
    memset(s->node_number, 0xff, nodes * sizeof *s->node_number); /* HOP_NONE */
    memset(s->link_number, 0xff, links * sizeof *s->link_number);
    for (uint32_t i = 0; i < s->n; i++)
        (void)node_number(s, input->nodes[i]);
    for (uint32_t pair = 0; pair < pairs && status == HOP_OK; pair++)
        status = add_route(s, router, pair, diag);
done:
    hop_router_destroy(own);
    if (status != HOP_OK)
        sketch_finish(s);
    return status;
}

/* ---- mapping ---- */

static bool nodes_alike(const struct hop_topology *topology, uint32_t a, uint32_t b)
{
    const struct hop_node *x = hop_topology_node(topology, a), *y = hop_topology_node(topology, b);
    if (x->kind != y->kind || x->engines != y->engines || x->accelerator_engines != y->accelerator_engines)
        return false;
    uint32_t roots[2];
    double tau;
    if (x->kind == HOP_NODE_ROOT && a != b && hop_topology_crossing(topology, 0, roots, &tau))
        return false; /* pairs of roots with a loss of their own: each root stays where it is */
    return x->kind != HOP_NODE_ROOT || hop_topology_tau(topology, a) == hop_topology_tau(topology, b);
}

static bool links_alike(const struct hop_topology *topology, uint32_t a, uint32_t b, unsigned flip)
{
    const struct hop_link *x = hop_topology_link(topology, a), *y = hop_topology_link(topology, b);
    if (flip && (x->kind == HOP_LINK_PCIE || x->kind == HOP_LINK_MEMORY))
        return false; /* up stays up */
    return x->kind == y->kind && x->latency_s == y->latency_s && x->capacity_Bps[0] == y->capacity_Bps[flip] &&
           x->capacity_Bps[1] == y->capacity_Bps[1 - flip] && x->duplex_Bps[0] == y->duplex_Bps[flip] &&
           x->duplex_Bps[1] == y->duplex_Bps[1 - flip];
}

static void clear_maps(struct hop_symmetry_sketch *s)
{
    memset(s->node_image, 0xff, s->node_count * sizeof *s->node_image); /* HOP_NONE */
    memset(s->link_image, 0xff, s->link_count * sizeof *s->link_image);
    memset(s->node_taken, 0, s->node_count * sizeof *s->node_taken);
    memset(s->link_taken, 0, s->link_count * sizeof *s->link_taken);
}

static bool map_node(struct hop_symmetry_sketch *s, uint32_t from, uint32_t to)
{
    if (s->node_image[from] != HOP_NONE || s->node_taken[to])
        return s->node_image[from] == to;
    s->node_image[from] = to;
    s->node_taken[to] = true;
    return from == to || nodes_alike(s->input->topology, s->node_index[from], s->node_index[to]);
}

/* Maps a directed link, its reverse and its ends. */
static bool map_link(struct hop_symmetry_sketch *s, uint32_t from, uint32_t to)
{
    uint32_t link = from / 2, target = to / 2, image = to ^ (from & 1);
    if (s->link_image[link] != HOP_NONE || s->link_taken[target])
        return s->link_image[link] == image;
    s->link_image[link] = image;
    s->link_taken[target] = true;
    return (2 * link == image ||
            links_alike(s->input->topology, s->link_index[link], s->link_index[target], image & 1)) &&
           map_node(s, s->ends[from], s->ends[to]) && map_node(s, s->ends[from ^ 1], s->ends[to ^ 1]);
}

static bool map_route(struct hop_symmetry_sketch *s, uint32_t from, uint32_t to)
{
    uint32_t length = s->first[from + 1] - s->first[from];
    bool fits = length == s->first[to + 1] - s->first[to];
    for (uint32_t k = 0; k < length && fits; k++)
        fits = map_link(s, s->links[s->first[from] + k], s->links[s->first[to] + k]);
    return fits;
}

static bool map_devices(struct hop_symmetry_sketch *s, const uint16_t *permutation)
{
    bool fits = true;
    clear_maps(s);
    for (uint32_t i = 0; i < s->n && fits; i++)
        fits = map_node(s, i, permutation[i]);
    return fits;
}

static bool maps_needed(void *context, const uint16_t *permutation)
{
    struct hop_symmetry_sketch *s = context;
    bool fits = map_devices(s, permutation);
    for (uint32_t k = 0; k < s->needed_count && fits; k++) {
        uint32_t i = s->needed[k] / s->n, j = s->needed[k] % s->n;
        fits = map_route(s, s->needed[k], permutation[i] * s->n + permutation[j]);
    }
    return fits;
}

/* ---- symmetries ---- */

enum hop_status hop_symmetry_find(const struct hop_symmetry_input *input, struct hop_symmetry *group,
                                  struct hop_diag *diag)
{
    struct hop_symmetry_sketch s;
    enum hop_status status = sketch_init(&s, input, diag);
    if (status != HOP_OK)
        return status;
    struct hop_symmetry_problem problem = {.n = s.n, .holds = maps_needed, .context = &s};
    problem.work_limit = input->work_limit;
    status = hop_symmetry_weigh(&s) ? HOP_OK : hop_fail_memory(diag);
    problem.weights = s.weights;
    if (status == HOP_OK)
        status = hop_symmetry_search(&problem, group, diag);
    sketch_finish(&s);
    return status;
}
