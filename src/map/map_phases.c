/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The phases (Faraji 2018, section 6.3.2): ranks to nodes, by all traffic between nodes; then, in each node, devices to
 * its ranks by device traffic. A node's ranks keep the devices that they have where the second phase is left out.
 */
#include "map/map.h"

/* What of the restrictions holds for these ranks (NULL: all) at `count` places or nodes: number[p - first] is a place's,
 * for the places from `first` on to `end`. NULL where there are no restrictions. */
static uint64_t *part_of_rows(const struct hop_map_work *work, const uint32_t *ranks, uint32_t rank_count,
                              const uint32_t *number, uint32_t first, uint32_t end, uint32_t count,
                              struct hop_arena *arena)
{
    size_t words = ((size_t)count + 63) / 64;
    uint64_t *rows = work->places.who.allowed ? hop_arena_alloc(arena, (rank_count * words + 1) * sizeof *rows) : NULL;
    for (uint32_t r = 0; rows && r < rank_count; r++) {
        for (uint32_t p = first; p < end; p++) {
            if (hop_assign_allows(&work->places.who, ranks ? ranks[r] : r, p))
                hop_put_bit(rows + r * words, number ? number[p - first] : p - first);
        }
    }
    return rows;
}

/* A rank may go to a node where one of its places is. */
static bool to_nodes(struct hop_map_work *work, enum hop_map_solver solver, uint32_t *node,
                     struct hop_map_solved *solved, struct hop_arena *arena)
{
    const struct hop_map_places *p = &work->places;
    const struct hop_places places = hop_places_of_groups(work->apart, p->node_room, arena);
    uint64_t *rows = part_of_rows(work, NULL, work->ranks, p->node, 0, p->count, p->node_count, arena);
    if (!hop_map_got(work, arena))
        return false;
    const struct hop_assign problem = hop_map_problem(work, &work->all, &places, rows);
    work->phase = "nodes";
    return hop_map_solve(work, solver, &problem, node, solved);
}

/* ---- devices of a node to its ranks ---- */

/* One node's part of the whole. */
struct part {
    uint32_t node, first, places, count;
    uint32_t *ranks; /* that sit there, ascending */
};

/* Ranks that were there already stay where they are to begin with, if all were. */
static bool stay(const struct hop_map_work *work, const struct part *part, const uint32_t *start, uint32_t *place)
{
    for (uint32_t r = 0; r < part->count; r++) {
        uint32_t at = start[part->ranks[r]];
        if (work->places.node[at] != part->node)
            return false;
        place[r] = at - part->first;
    }
    return true;
}

/* Fills `found` for the ranks of one node. *fits: what is kept lets them have devices there. */
static bool to_devices(struct hop_map_work *work, struct hop_map_way way, const uint32_t *node, struct part *part,
                       const uint32_t *start, uint32_t *found, bool *fits, struct hop_map_solved *solved)
{
    struct hop_arena arena = {0};
    part->first = work->places.first[part->node];
    part->places = work->places.first[part->node + 1] - part->first;
    part->count = 0;
    part->ranks = hop_arena_alloc(&arena, work->size);
    for (uint32_t r = 0; r < work->ranks && part->ranks; r++) {
        if (node[r] == part->node)
            part->ranks[part->count++] = r;
    }
    uint32_t *place = hop_arena_alloc(&arena, work->size);
    const struct hop_places places =
        hop_places_together(part->places, work->places.room + part->first, work->apart->inner[part->node], &arena);
    struct hop_graph graph;
    uint64_t *rows = part_of_rows(work, part->ranks, part->count, NULL, part->first, part->first + part->places,
                                  part->places, &arena);
    (void)hop_map_graph_part(&work->device, part->ranks, part->count, &graph, &arena);
    if (hop_map_got(work, &arena) && part->count > 0) {
        const struct hop_assign problem = hop_map_problem(work, &graph, &places, rows);
        struct hop_diag unfit;
        enum hop_status status = stay(work, part, start, place) ? HOP_OK : hop_assign_fit(&problem, place, &unfit);
        *fits = status != HOP_ERR_INVALID;
        work->phase = "devices";
        if (*fits && hop_map_did(work, status == HOP_OK ? HOP_OK : hop_fail_memory(work->diag)) &&
            (way.phases & HOP_MAP_DEVICES))
            (void)hop_map_solve(work, way.solver, &problem, place, solved);
    }
    for (uint32_t r = 0; r < part->count && work->status == HOP_OK; r++)
        found[part->ranks[r]] = part->first + place[r];
    hop_arena_finish(&arena);
    return work->status == HOP_OK;
}

bool hop_map_phases(struct hop_map_work *work, struct hop_map_way way, uint32_t *place, struct hop_map_solved *solved)
{
    const struct hop_map_places *p = &work->places;
    struct hop_arena arena = {0};
    struct part part = {0};
    bool fits = true;
    uint32_t *node = hop_arena_alloc(&arena, work->size), *found = hop_arena_alloc(&arena, work->size);
    for (uint32_t r = 0; r < work->ranks && !arena.failed; r++)
        node[r] = p->node[place[r]];
    bool fine = hop_map_got(work, &arena);
    if (fine && p->node_count > 1 && (way.phases & HOP_MAP_NODES))
        fine = to_nodes(work, way.solver, node, solved, &arena);
    for (; part.node < p->node_count && fine && fits; part.node++)
        fine = to_devices(work, way, node, &part, place, found, &fits, solved);
    if (fine && !fits) /* restrictions within a node, which the phase before does not see */
        hop_map_note(work,
                     "what is kept does not let the phases be solved one after the other; ranks stay on the nodes "
                     "that they began with until all is refined at once");
    else if (fine && (way.solver == HOP_MAP_SCOTCH ||
                      hop_map_sum(work, work->sum, found) <= hop_map_sum(work, work->sum, place)))
        memcpy(place, found, work->size);
    if (p->node_count > 1) /* a proof of one phase is none of the whole */
        *solved = (struct hop_map_solved){.method = way.solver == HOP_MAP_SCOTCH ? "scotch" : "phases"};
    hop_arena_finish(&arena);
    return fine;
}
