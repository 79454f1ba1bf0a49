/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Mapping by SCOTCH: dual recursive bipartitioning of the items and the places (Pellegrini 1994), its default strategy.
 * Rooms that stay free are items without traffic for it, since it balances loads; what it puts where there is no room
 * goes to the nearest place that has. It counts in integers: weights and distances are scaled so that their products
 * add up to half of the largest. Its one random number generator for the whole process is ours as a copy in a context
 * with a seed of its own; one thread maps at a time, and the program's own calls must not run beside that.
 */
#include "assign/assign.h"

#ifndef HOP_HAVE_SCOTCH

bool hop_assign_has_scotch(void)
{
    return false;
}

enum hop_status hop_assign_scotch(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                  struct hop_diag *diag)
{
    (void)problem;
    (void)place;
    (void)result;
    enum hop_status status = hop_fail(
        diag, HOP_ERR_UNSUPPORTED,
        "hopcast was built without SCOTCH\nSCOTCH when hopcast is built (Debian: libscotch-dev), or another solver");
    return status;
}

#else

#include "assign/matching.h"
#include "assign/scotch_target.h"

#include <locale.h>
#include <math.h>
#include <pthread.h>

/* The longest distance in integers is UNIT_MAX where that leaves WEIGHT_MEAN for the mean weight, else less. */
enum { UNIT_MAX = 1000, UNIT_MIN = 32, WEIGHT_MEAN = 256 };
/* And four times the items: more rooms are not shown to SCOTCH. */
enum { ROOMS_MAX = 1 << 16 };
/* By how much loads may differ while SCOTCH looks for cuts: its own default. */
static const double IMBALANCE = 0.01;

static pthread_mutex_t one_at_a_time = PTHREAD_MUTEX_INITIALIZER;

struct mapping {
    const struct hop_assign *problem;
    struct hop_target_input places;
    uint32_t *members, *room;        /* what places has of them */
    uint64_t rooms;                  /* of all members */
    SCOTCH_Num *first, *to, *weight; /* the items, and then one without traffic for every room too many */
    SCOTCH_Num *part;                /* of an item: a terminal of the target */
    struct hop_target target;
    struct hop_arena arena;
};

/* ---- places that can take something ---- */

static void cut_rooms(struct mapping *m, uint32_t height)
{
    m->rooms = 0;
    for (uint32_t i = 0; i < m->places.count; i++) {
        m->room[i] = m->room[i] < height ? m->room[i] : height;
        m->rooms += m->room[i];
    }
}

/* Rooms for many times the items would make as many items without traffic: all are cut to one height, and still have
 * room for four times the items. */
static void lower_rooms(struct mapping *m)
{
    uint64_t most = ROOMS_MAX + 4 * (uint64_t)m->problem->graph->count + m->places.count;
    uint32_t low = 1, high = m->problem->graph->count;
    while (m->rooms > most && low < high) {
        uint32_t height = low + (high - low + 1) / 2;
        uint64_t sum = 0;
        for (uint32_t i = 0; i < m->places.count; i++)
            sum += m->room[i] < height ? m->room[i] : height;
        if (sum <= most)
            low = height;
        else
            high = height - 1;
    }
    if (m->rooms > most)
        cut_rooms(m, low);
}

static bool list_places(struct mapping *m)
{
    const struct hop_places *places = m->problem->places;
    m->members = hop_arena_alloc(&m->arena, ((size_t)places->count + 1) * sizeof *m->members);
    m->room = hop_arena_alloc(&m->arena, ((size_t)places->count + 1) * sizeof *m->room);
    if (m->arena.failed)
        return false;
    for (uint32_t p = 0; p < places->count; p++) {
        m->members[m->places.count] = p;
        m->room[m->places.count] = places->room[p];
        m->places.count += places->room[p] > 0;
    }
    cut_rooms(m, m->problem->graph->count);
    lower_rooms(m);
    m->places.places = places;
    m->places.members = m->members;
    m->places.room = m->room;
    return true;
}

/* ---- items ---- */

/* How long the longest distance is in integers, and how heavy all traffic together. false: no choice holds them. */
static bool choose_units(struct mapping *m, uint32_t arcs, double *weights)
{
    double most = (double)(SCOTCH_NUMMAX / 2), unit = most / WEIGHT_MEAN / arcs;
    unit = floor(hop_min(UNIT_MAX, hop_max(unit, hop_min(UNIT_MIN, most / 2 / arcs))));
    m->places.unit = (SCOTCH_Num)unit;
    *weights = most / hop_max(unit, 1);
    return unit >= 1 && m->rooms < (uint64_t)SCOTCH_NUMMAX / 2;
}

static enum hop_status list_items(struct mapping *m, struct hop_diag *diag)
{
    const struct hop_graph *graph = m->problem->graph;
    uint32_t arcs = graph->first[graph->count];
    double weights, sum = 0;
    if (!choose_units(m, arcs, &weights))
        return hop_fail(diag, HOP_ERR_LIMIT, "%u pairs of items and %llu rooms are more than SCOTCH's integers hold",
                        arcs / 2, (unsigned long long)m->rooms);
    m->first = hop_arena_alloc(&m->arena, ((size_t)m->rooms + 1) * sizeof *m->first);
    m->part = hop_arena_alloc(&m->arena, (size_t)m->rooms * sizeof *m->part);
    m->to = hop_arena_alloc(&m->arena, (size_t)arcs * sizeof *m->to);
    m->weight = hop_arena_alloc(&m->arena, (size_t)arcs * sizeof *m->weight);
    if (m->arena.failed)
        return hop_fail_memory(diag);
    for (uint64_t i = 0; i <= m->rooms; i++)
        m->first[i] = (SCOTCH_Num)graph->first[i < graph->count ? i : graph->count];
    for (uint32_t e = 0; e < arcs; e++)
        sum += graph->weight[e];
    for (uint32_t e = 0; e < arcs; e++) { /* 1 at least: what is lighter still says who belongs together */
        m->to[e] = (SCOTCH_Num)graph->to[e];
        m->weight[e] = 1 + (SCOTCH_Num)(graph->weight[e] / sum * (weights - arcs));
    }
    return HOP_OK;
}

/* ---- the map ---- */

/* The only place that an item may be at, or HOP_NONE. */
static uint32_t only_place(const struct hop_assign *problem, uint32_t item)
{
    uint32_t only = HOP_NONE;
    for (uint32_t p = 0; problem->allowed && p < problem->places->count; p++) {
        if (problem->places->room[p] == 0 || !hop_assign_allows(problem, item, p))
            continue;
        if (only != HOP_NONE)
            return HOP_NONE;
        only = p;
    }
    return only;
}

/* Items that may be at one place only are fixed at a terminal of it, each at one of its own while there are. */
static bool fix_items(struct mapping *m, bool *fixed)
{
    const struct hop_target *target = &m->target;
    SCOTCH_Num *terminal = hop_arena_alloc(&m->arena, m->problem->places->count * sizeof *terminal);
    if (!terminal)
        return false;
    for (SCOTCH_Num t = target->terminals; t-- > 0;)
        terminal[m->members[target->member[t]]] = t;
    for (uint64_t i = 0; i < m->rooms; i++) {
        uint32_t only = i < m->problem->graph->count ? only_place(m->problem, (uint32_t)i) : HOP_NONE;
        m->part[i] = only == HOP_NONE ? -1 : terminal[only];
        *fixed |= only != HOP_NONE;
        if (only != HOP_NONE && terminal[only] + 1 < target->terminals &&
            m->members[target->member[terminal[only] + 1]] == only)
            terminal[only]++;
    }
    return true;
}

static bool map_graph(struct mapping *m, SCOTCH_Graph *graph, bool fixed)
{
    SCOTCH_Strat strategy;
    if (SCOTCH_stratInit(&strategy) != 0)
        return false;
    bool mapped = SCOTCH_stratGraphMapBuild(&strategy, SCOTCH_STRATDEFAULT, m->target.terminals, IMBALANCE) == 0;
    if (mapped)
        mapped = fixed ? SCOTCH_graphMapFixed(graph, &m->target.arch, &strategy, m->part) == 0
                       : SCOTCH_graphMap(graph, &m->target.arch, &strategy, m->part) == 0;
    SCOTCH_stratExit(&strategy);
    return mapped;
}

static enum hop_status map_in(struct mapping *m, SCOTCH_Context *context, struct hop_diag *diag)
{
    SCOTCH_Graph graph, bound;
    bool fixed = false, mapped = false;
    enum hop_status status = hop_target_create(&m->places, context, &m->target, diag);
    if (status == HOP_OK && fix_items(m, &fixed) && SCOTCH_graphInit(&graph) == 0) {
        if (SCOTCH_graphBuild(&graph, 0, (SCOTCH_Num)m->rooms, m->first, NULL, NULL, NULL,
                              (SCOTCH_Num)m->first[m->rooms], m->to, m->weight) == 0 &&
            SCOTCH_graphInit(&bound) == 0 && SCOTCH_contextBindGraph(context, &graph, &bound) == 0) {
            mapped = map_graph(m, &bound, fixed);
            SCOTCH_graphExit(&bound);
        }
        SCOTCH_graphExit(&graph);
    }
    return status != HOP_OK || mapped ? status : hop_fail_memory(diag);
}

/* One thread, and random numbers of its own. SCOTCH reads and writes numbers in strategies by the locale. */
static enum hop_status map(struct mapping *m, struct hop_diag *diag)
{
    SCOTCH_Context context;
    locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    enum hop_status status = HOP_ERR_MEMORY;
    (void)pthread_mutex_lock(&one_at_a_time);
    if (SCOTCH_contextInit(&context) == 0) {
        if (SCOTCH_contextRandomClone(&context) == 0 && SCOTCH_contextThreadSpawn(&context, 1, NULL) == 0) {
            SCOTCH_contextRandomSeed(&context, (SCOTCH_Num)(m->problem->seed % (SCOTCH_NUMMAX / 2) * 2 + 1));
            status = map_in(m, &context, diag);
        }
        SCOTCH_contextExit(&context);
    }
    (void)pthread_mutex_unlock(&one_at_a_time);
    (void)uselocale(before);
    return status == HOP_ERR_MEMORY ? hop_fail_memory(diag) : status;
}

/* ---- what SCOTCH says, made to fit ---- */

static enum hop_status take(struct mapping *m, uint32_t *place, struct hop_assigned *result, struct hop_diag *diag)
{
    const struct hop_assign *problem = m->problem;
    uint32_t items = problem->graph->count;
    uint32_t *wanted = hop_arena_alloc(&m->arena, items * sizeof *wanted);
    uint32_t *found = hop_arena_copy(&m->arena, place, items * sizeof *found);
    if (m->arena.failed)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < items; i++) { /* SCOTCH may leave an item nowhere where too many are fixed */
        bool mapped = m->part[i] >= 0 && m->part[i] < m->target.terminals;
        wanted[i] = mapped ? m->members[m->target.member[m->part[i]]] : place[i];
    }
    enum hop_status status = hop_matching_repair(problem, wanted, found, diag);
    if (status == HOP_OK)
        hop_assign_keep_better(problem, found, place, result);
    return status;
}

enum hop_status hop_assign_scotch(const struct hop_assign *problem, uint32_t *place, struct hop_assigned *result,
                                  struct hop_diag *diag)
{
    struct mapping m = {.problem = problem};
    struct hop_assigned answer = {.value = hop_assign_value(problem, place)};
    enum hop_status status = HOP_OK;
    answer.stopped = problem->poll && !problem->poll(problem->context, answer.value, 0);
    bool maps = !answer.stopped && answer.value > 0; /* else no pair has traffic over any distance */
    if (maps && !list_places(&m))
        status = hop_fail_memory(diag);
    if (maps && status == HOP_OK && m.places.count > 1) {
        status = list_items(&m, diag);
        if (status == HOP_OK)
            status = map(&m, diag);
        if (status == HOP_OK)
            status = take(&m, place, &answer, diag);
    }
    hop_target_finish(&m.target);
    hop_arena_finish(&m.arena);
    if (status == HOP_OK)
        *result = answer;
    return status;
}

bool hop_assign_has_scotch(void)
{
    return true;
}

#endif
