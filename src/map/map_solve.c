/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One phase's assignment by the solver that was asked for. Automatic means: several starts, SCOTCH's answers to some
 * seeds among them, each exchanged further; the best; and where the problem is small, searched to the end.
 */
#include "map/map.h"

#define PROVED (1 + 1e-9)
#define AUTO_STEPS 200000 /* places tried by the exact search, when nobody asked for a proof */
#define GREEDY 64         /* up to so many items a greedy start competes with SCOTCH's, too, */
#define SEEDS 4           /* of which there are so many, as they differ by some percent; */
#define MANY 1024         /* and of more items than this, whose distances SCOTCH knows as a tree only, */
#define SEEDS_MANY 2

/* Starts that compete. */
struct contest {
    const struct hop_assign *problem;
    uint32_t *given, *candidate;
    uint32_t *place; /* the best one */
    double value, bound; /* bound: no assignment has less */
    const char *method;
};

typedef enum hop_status solve(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                              struct hop_diag *diag);

static bool enter(struct hop_map_work *work, struct contest *c, solve *by, const char *method)
{
    size_t size = c->problem->graph->count * sizeof *c->place;
    struct hop_assigned found = {0};
    memcpy(c->candidate, c->given, size);
    if (!hop_map_did(work, by(c->problem, c->candidate, &found, work->diag)) ||
        (by != hop_assign_embed &&
         !hop_map_did(work, hop_assign_exchange(c->problem, c->candidate, &found, work->diag))))
        return false;
    c->bound = hop_max(c->bound, found.bound);
    if (found.value < c->value * (1 - 1e-12)) {
        memcpy(c->place, c->candidate, size);
        c->value = found.value;
        c->method = method;
    }
    return true;
}

static struct hop_map_solved exchange_best(struct hop_map_work *work, const struct hop_assign *problem, bool scotch,
                                           uint32_t *place)
{
    uint32_t items = problem->graph->count;
    struct hop_assign seeded = *problem;
    struct hop_arena arena = {0};
    struct contest c = {.problem = &seeded, .place = place, .method = "exchange from the start"};
    c.given = hop_arena_copy(&arena, place, items * sizeof *place);
    c.candidate = hop_arena_alloc(&arena, items * sizeof *place + 1);
    if (hop_map_got(work, &arena)) {
        c.value = hop_assign_value(problem, place);
        if (items > HOP_ASSIGN_EXACT)
            (void)enter(work, &c, hop_assign_embed, "embedding");
        if (c.value > c.bound * PROVED && (items <= GREEDY || items > MANY || !scotch))
            (void)enter(work, &c, hop_assign_greedy, "greedy + exchange");
        uint64_t seeds = !scotch ? 0 : items <= MANY ? SEEDS : SEEDS_MANY;
        const char *before = items > MANY ? c.method : NULL; /* what the first of SCOTCH's must be better than */
        for (uint64_t k = 0; k < seeds && c.value > c.bound * PROVED && hop_map_goes_on(work, c.value, 0); k++) {
            seeded.seed = problem->seed + k;
            if (!enter(work, &c, hop_assign_scotch, "scotch + exchange") || c.method == before)
                break;
        }
        (void)hop_map_goes_on(work, c.value, 0);
    }
    hop_arena_finish(&arena);
    return (struct hop_map_solved){c.method, c.value <= c.bound * PROVED, c.bound};
}

bool hop_map_solve(struct hop_map_work *work, enum hop_map_solver solver, const struct hop_assign *problem,
                   uint32_t *place, struct hop_map_solved *solved)
{
    bool small = problem->graph->count <= HOP_ASSIGN_EXACT && problem->places->count <= HOP_ASSIGN_EXACT;
    struct hop_assigned found = {0};
    struct hop_assign limited = *problem;
    *solved = (struct hop_map_solved){.method = "scotch"};
    if (solver == HOP_MAP_SCOTCH)
        return hop_map_did(work, hop_assign_scotch(problem, place, &found, work->diag));
    *solved = exchange_best(work, problem, solver == HOP_MAP_AUTO && !small && hop_assign_has_scotch(), place);
    if (work->status != HOP_OK || !small || solver == HOP_MAP_EXCHANGE)
        return work->status == HOP_OK;
    limited.max_steps = solver == HOP_MAP_EXACT ? 0 : AUTO_STEPS;
    if (!hop_map_did(work, hop_assign_exact(&limited, place, &found, work->diag)))
        return false;
    solved->proved = found.proved;
    solved->bound = found.bound;
    solved->method = found.proved ? "exact" : solved->method;
    return true;
}
