/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Of assignments that are as good, one nearer to where ranks were to begin with: machines and exchanges have symmetries,
 * and a search ends at any one of what they carry to each other. Blocks of places (nodes, then halves of them, quarters
 * and so on, down to single places) change all that they hold, as long as then fewer ranks are in another block than at
 * the start, and no metric is more than it was.
 */
#include "map/map.h"

#define SLACK 1e-9 /* relative: what counts as less */
#define SCAN 1e-3  /* of a look: where all ranks would be */
enum {
    LOOKS = 4000,   /* assignments whose loads are added up, at most, */
    FLOWS = 1 << 21 /* or so many flows of them */
};

/* What is not to become more: whichever metric is asked for, the others are shown, too. */
struct worth {
    double metric[HOP_MAP_METRIC_COUNT], squares; /* of all loads */
};

struct near {
    struct hop_map_work *work;
    const uint32_t *home;
    uint32_t *place, *tried, size; /* size: of blocks; 0: nodes */
    struct worth worth;
    double looks, simulations; /* that are left */
};

/* What is soon known comes first. NAN, where a metric is not known, is never more. */
static bool is_as_good(struct near *n, const uint32_t *place, struct worth *most, bool is_first)
{
    struct hop_map_work *work = n->work;
    bool fine = n->looks-- >= 1 && hop_map_goes_on(work, work->best, work->last.bound);
    for (unsigned metric = 0; metric < HOP_MAP_METRIC_COUNT && fine; metric++) {
        double value;
        if (metric == HOP_MAP_SIMULATED && work->play && n->simulations-- < 1)
            return false;
        fine = hop_map_measures[metric].value(work, (enum hop_map_metric)metric, place, &value);
        double squares = fine && metric == HOP_MAP_CONGESTION ? hop_map_squares(work) : 0;
        if (is_first) {
            most->metric[metric] = value;
            most->squares = hop_max(most->squares, squares);
        }
        fine = fine && !(value > most->metric[metric] * (1 + SLACK)) && squares <= most->squares * (1 + SLACK);
    }
    return fine;
}

/* Takes what is tried if it fits and is as good. */
static bool take(struct near *n)
{
    if (!hop_map_fits(&n->work->places, n->tried) || !is_as_good(n, n->tried, &n->worth, false))
        return false;
    memcpy(n->place, n->tried, n->work->size);
    return true;
}

/* The first place of a place's block, and where it ends. */
static uint32_t block_of(const struct near *n, uint32_t place, uint32_t *end)
{
    const struct hop_map_places *p = &n->work->places;
    uint32_t first = p->first[p->node[place]], last = p->first[p->node[place] + 1];
    if (n->size > 0)
        first += (place - first) / n->size * n->size;
    *end = n->size > 0 && last - first > n->size ? first + n->size : last;
    return first;
}

static uint32_t count_away(const struct near *n, const uint32_t *place)
{
    uint32_t away = 0, end;
    for (uint32_t r = 0; r < n->work->ranks; r++)
        away += block_of(n, place[r], &end) != block_of(n, n->home[r], &end);
    return away;
}

/* The rank's block, and the one that it was in, change what they hold. */
static bool try_home(struct near *n, uint32_t rank)
{
    uint32_t end, home_end, first = block_of(n, n->place[rank], &end), home = block_of(n, n->home[rank], &home_end);
    if (first == home || end - first != home_end - home)
        return false;
    n->looks -= SCAN;
    for (uint32_t r = 0; r < n->work->ranks; r++) {
        uint32_t at = n->place[r];
        n->tried[r] = at >= first && at < end       ? home + at - first
                      : at >= home && at < home_end ? first + at - home
                                                    : at;
    }
    return count_away(n, n->tried) < count_away(n, n->place) && take(n);
}

static void come_near(struct near *n, uint32_t size)
{
    bool changed = true;
    n->size = size;
    while (changed) {
        changed = false;
        for (uint32_t r = 0; r < n->work->ranks && n->looks >= 1; r++)
            changed = try_home(n, r) || changed;
    }
}

bool hop_map_come_near(struct hop_map_work *work, const uint32_t *home)
{
    struct hop_arena arena = {0};
    struct near n = {.work = work,
                     .home = home,
                     .place = hop_arena_copy(&arena, work->place, work->size),
                     .tried = hop_arena_copy(&arena, home, work->size)};
    bool fine = hop_map_got(work, &arena);
    if (fine && !work->stopped && memcmp(work->place, home, work->size) != 0) {
        const struct hop_map_places *p = &work->places;
        uint32_t largest = 1;
        n.looks = 2 + hop_min(LOOKS, FLOWS / (1.0 + hop_traffic_count(work->traffic)));
        n.simulations = 2 + (work->play ? hop_map_simulations(work) : 0);
        for (uint32_t node = 0; node < p->node_count; node++) {
            while (2 * largest < p->first[node + 1] - p->first[node])
                largest *= 2;
        }
        if (is_as_good(&n, work->place, &n.worth, true) && !take(&n)) {
            come_near(&n, 0);
            for (uint32_t size = largest; size > 0; size /= 2)
                come_near(&n, size);
        }
        n.size = 1;
        if (count_away(&n, n.place) < count_away(&n, work->place))
            memcpy(work->place, n.place, work->size);
        fine = work->status == HOP_OK;
    }
    hop_arena_finish(&arena);
    return fine;
}
