/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One phase's assignment by the solver that was asked for. Automatic means: several starts, SCOTCH's answers to some
 * seeds among them, each exchanged further; the best; and where the problem is small, searched to the end.
 */
#include "map/map.h"

#define AUTO_STEPS 200000 /* places tried by the exact search, when nobody asked for a proof */
#define GREEDY 64         /* up to so many items a greedy start competes with SCOTCH's, too */
#define SEEDS 4           /* of SCOTCH, whose answers differ by some percent, */
#define SEEDS_MANY 2      /* and of more items than this: */
#define MANY 1024

/* Starts that compete. */
struct contest {
    const struct hop_assign *problem;
    uint32_t *given, *candidate;
    uint32_t *place; /* the best one */
    double value;
    const char *method;
};

typedef enum hop_status solve(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                              struct hop_diag *diag);

static enum hop_status enter(struct contest *c, solve *by, const char *method, struct hop_diag *diag)
{
    size_t size = c->problem->graph->count * sizeof *c->place;
    struct hop_assigned found = {0};
    memcpy(c->candidate, c->given, size);
    enum hop_status status = by(c->problem, c->candidate, &found, diag);
    if (status == HOP_OK)
        status = hop_assign_exchange(c->problem, c->candidate, &found, diag);
    if (status == HOP_OK && found.value < c->value * (1 - 1e-12)) {
        memcpy(c->place, c->candidate, size);
        c->value = found.value;
        c->method = method;
    }
    return status;
}

static enum hop_status exchange_best(struct hop_map_work *work, const struct hop_assign *problem, bool scotch,
                                     uint32_t *place, const char **method, struct hop_diag *diag)
{
    size_t size = problem->graph->count * sizeof *place;
    struct hop_assign seeded = *problem;
    struct contest c = {.problem = &seeded, .place = place, .method = "exchange from the start"};
    c.given = malloc(size + 1);
    c.candidate = malloc(size + 1);
    enum hop_status status = c.given && c.candidate ? HOP_OK : hop_fail_memory(diag);
    scotch = scotch && hop_assign_has_scotch();
    if (status == HOP_OK) {
        memcpy(c.given, place, size);
        c.value = hop_assign_value(problem, place);
    }
    if (status == HOP_OK && (problem->graph->count <= GREEDY || !scotch))
        status = enter(&c, hop_assign_greedy, "greedy + exchange", diag);
    int seeds = problem->graph->count <= MANY ? SEEDS : SEEDS_MANY;
    for (int seed = 0; seed < seeds && scotch && status == HOP_OK && hop_map_goes_on(work, c.value, 0); seed++) {
        seeded.seed = problem->seed + (uint64_t)seed;
        status = enter(&c, hop_assign_scotch, "scotch + exchange", diag);
    }
    if (status == HOP_OK)
        (void)hop_map_goes_on(work, c.value, 0);
    *method = c.method;
    free(c.candidate);
    free(c.given);
    return status;
}

static bool is_small(const struct hop_assign *problem)
{
    return problem->graph->count <= HOP_ASSIGN_EXACT && problem->places->count <= HOP_ASSIGN_EXACT;
}

static enum hop_status search_all(const struct hop_assign *problem, uint64_t steps, uint32_t *place,
                                  struct hop_map_solved *solved, struct hop_diag *diag)
{
    struct hop_assign limited = *problem;
    struct hop_assigned found = {0};
    limited.max_steps = steps;
    enum hop_status status = hop_assign_exact(&limited, place, &found, diag);
    if (status == HOP_OK) {
        solved->proved = found.proved;
        solved->bound = found.bound;
        solved->method = found.proved ? "exact" : solved->method;
    }
    return status;
}

enum hop_status hop_map_solve(struct hop_map_work *work, enum hop_map_solver solver, const struct hop_assign *problem,
                              uint32_t *place, struct hop_map_solved *solved, struct hop_diag *diag)
{
    struct hop_assigned found;
    *solved = (struct hop_map_solved){.method = "scotch"};
    if (solver == HOP_MAP_SCOTCH)
        return hop_assign_scotch(problem, place, &found, diag);
    bool small = is_small(problem);
    enum hop_status status =
        exchange_best(work, problem, solver == HOP_MAP_AUTO && !small, place, &solved->method, diag);
    if (status == HOP_OK && small && (solver == HOP_MAP_AUTO || solver == HOP_MAP_EXACT))
        status = search_all(problem, solver == HOP_MAP_EXACT ? 0 : AUTO_STEPS, place, solved, diag);
    return status;
}
