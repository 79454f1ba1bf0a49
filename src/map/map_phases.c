/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases (Faraji 2018, section 6.3.2): ranks to nodes, by all traffic between nodes; then, in each node, devices to
 * its ranks by device traffic. A node's ranks keep the devices that they have where the second phase is left out.
 */
#include "map/map.h"

/* ---- ranks to nodes ---- */

/* A rank may go to a node where one of its places is. */
static enum hop_status allow_nodes(const struct hop_map_work *work, uint64_t **rows, struct hop_diag *diag)
{
    const struct hop_map_places *p = &work->places;
    size_t words = ((size_t)p->node_count + 63) / 64;
    *rows = NULL;
    if (!work->allowed)
        return HOP_OK;
    *rows = calloc(work->ranks * words, sizeof **rows);
    if (!*rows)
        return hop_fail_memory(diag);
    for (uint32_t r = 0; r < work->ranks; r++) {
        for (uint32_t i = 0; i < p->count; i++) {
            if (hop_map_allows(p, work->allowed, r, i))
                (*rows)[r * words + p->node[i] / 64] |= UINT64_C(1) << p->node[i] % 64;
        }
    }
    return HOP_OK;
}

static enum hop_status to_nodes(struct hop_map_work *work, enum hop_map_solver solver, uint32_t *node,
                                struct hop_map_solved *solved, struct hop_diag *diag)
{
    const struct hop_map_places *p = &work->places;
    static const double zero = 0;
    uint32_t count = p->node_count;
    uint32_t *self = calloc((size_t)count + 1, sizeof *self);
    const double **inner = calloc(count, sizeof *inner);
    uint64_t *rows = NULL;
    enum hop_status status = self && inner ? allow_nodes(work, &rows, diag) : hop_fail_memory(diag);
    for (uint32_t n = 0; n < count && status == HOP_OK; n++) {
        self[n + 1] = n + 1;
        inner[n] = &zero;
    }
    if (status == HOP_OK) {
        const struct hop_places places = {.count = count,
                                          .room = p->node_room,
                                          .groups = count,
                                          .group = self,
                                          .first = self,
                                          .inner = inner,
                                          .outer = work->apart->outer};
        const struct hop_assign problem = hop_map_problem(work, &work->all.graph, &places, rows);
        work->phase = "nodes";
        status = hop_map_solve(work, solver, &problem, node, solved, diag);
    }
    free(rows);
    free(inner);
    free(self);
    return status;
}

/* ---- devices of a node to its ranks ---- */

/* One node's part of the whole. */
struct part {
    const uint32_t *start; /* the assignment that the phases begin with */
    enum hop_map_solver solver;
    bool solve; /* else only what fits is looked for */
    uint32_t node, first, places, count;
    uint32_t *ranks; /* that sit there, ascending */
    uint64_t *rows;  /* what they may have, NULL: anything */
};

static enum hop_status restrict_part(const struct hop_map_work *work, struct part *part, struct hop_diag *diag)
{
    size_t words = ((size_t)part->places + 63) / 64;
    part->rows = NULL;
    if (!work->allowed)
        return HOP_OK;
    part->rows = calloc((size_t)part->count * words + 1, sizeof *part->rows);
    if (!part->rows)
        return hop_fail_memory(diag);
    for (uint32_t r = 0; r < part->count; r++) {
        for (uint32_t i = 0; i < part->places; i++) {
            uint32_t at = part->first + i;
            if (hop_map_allows(&work->places, work->allowed, part->ranks[r], at))
                part->rows[r * words + i / 64] |= UINT64_C(1) << i % 64;
        }
    }
    return HOP_OK;
}

/* Ranks that were there already stay where they are to begin with, if all were. */
static bool stay(const struct hop_map_work *work, const struct part *part, uint32_t *place)
{
    for (uint32_t r = 0; r < part->count; r++) {
        uint32_t at = part->start[part->ranks[r]];
        if (work->places.node[at] != part->node)
            return false;
        place[r] = at - part->first;
    }
    return true;
}

static enum hop_status solve_part(struct hop_map_work *work, const struct part *part, uint32_t *place,
                                  struct hop_map_solved *solved, struct hop_diag *diag)
{
    uint32_t *zeros = calloc((size_t)part->places + 1, sizeof *zeros), first[2] = {0, part->places};
    const double *inner = work->apart->inner[part->node];
    const double outer = 0;
    struct hop_map_graph graph;
    enum hop_status status =
        zeros ? hop_map_graph_part(&work->device.graph, part->ranks, part->count, &graph, diag) : hop_fail_memory(diag);
    if (status == HOP_OK) {
        const struct hop_places places = {.count = part->places,
                                          .room = work->places.room + part->first,
                                          .groups = 1,
                                          .group = zeros,
                                          .first = first,
                                          .inner = &inner,
                                          .outer = &outer};
        const struct hop_assign problem = hop_map_problem(work, &graph.graph, &places, part->rows);
        if (!stay(work, part, place))
            status = hop_assign_fit(&problem, place, diag);
        work->phase = "devices";
        if (status == HOP_OK && part->solve)
            status = hop_map_solve(work, part->solver, &problem, place, solved, diag);
        hop_map_graph_finish(&graph);
    }
    free(zeros);
    return status;
}

/* Fills `found` for the ranks of one node, part->node, that `node` has there. */
static enum hop_status to_devices(struct hop_map_work *work, const uint32_t *node, struct part *part, uint32_t *found,
                                  struct hop_map_solved *solved, struct hop_diag *diag)
{
    part->first = work->places.first[part->node];
    part->places = work->places.first[part->node + 1] - part->first;
    part->count = 0;
    part->rows = NULL;
    part->ranks = malloc((size_t)work->ranks * sizeof *part->ranks);
    uint32_t *place = malloc((size_t)work->ranks * sizeof *place);
    enum hop_status status = part->ranks && place ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t r = 0; r < work->ranks && status == HOP_OK; r++) {
        if (node[r] == part->node)
            part->ranks[part->count++] = r;
    }
    if (status == HOP_OK)
        status = restrict_part(work, part, diag);
    if (status == HOP_OK && part->count)
        status = solve_part(work, part, place, solved, diag);
    for (uint32_t r = 0; r < part->count && status == HOP_OK; r++)
        found[part->ranks[r]] = part->first + place[r];
    free(part->rows);
    free(place);
    free(part->ranks);
    return status;
}

static bool is_better(const struct hop_map_work *work, const uint32_t *place, const uint32_t *than)
{
    return hop_map_sum(work, place) <= hop_map_sum(work, than);
}

enum hop_status hop_map_phases(struct hop_map_work *work, struct hop_map_way way, uint32_t *place,
                               struct hop_map_solved *solved, struct hop_diag *diag)
{
    const struct hop_map_places *p = &work->places;
    uint32_t *node = malloc((size_t)work->ranks * sizeof *node), *found = malloc((size_t)work->ranks * sizeof *found);
    enum hop_status status = node && found ? HOP_OK : hop_fail_memory(diag);
    struct part part = {.start = place, .solver = way.solver, .solve = (way.phases & HOP_MAP_DEVICES) != 0};
    for (uint32_t r = 0; r < work->ranks && status == HOP_OK; r++)
        node[r] = p->node[place[r]];
    if (status == HOP_OK && p->node_count > 1 && (way.phases & HOP_MAP_NODES))
        status = to_nodes(work, way.solver, node, solved, diag);
    struct hop_diag unfit;
    bool fits = true;
    for (; part.node < p->node_count && status == HOP_OK && fits; part.node++) {
        status = to_devices(work, node, &part, found, solved, &unfit);
        if (status == HOP_ERR_INVALID) { /* restrictions within a node, which the phase before does not see */
            fits = false;
            status = HOP_OK;
            hop_map_note(work,
                         "what is kept does not let the phases be solved one after the other; ranks stay on the nodes "
                         "that they began with until all is refined at once");
        } else if (status != HOP_OK && diag) {
            *diag = unfit;
        }
    }
    if (status == HOP_OK && fits && (way.solver == HOP_MAP_SCOTCH || is_better(work, found, place)))
        memcpy(place, found, (size_t)work->ranks * sizeof *found);
    if (p->node_count > 1) /* a proof of one phase is none of the whole */
        *solved = (struct hop_map_solved){.method = way.solver == HOP_MAP_SCOTCH ? "scotch" : "phases"};
    free(found);
    free(node);
    return status;
}
