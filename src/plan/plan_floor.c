/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the fullest source or link needs at least, whatever the placement: depth first over placements, ranks with most to do
 * with each other first.
 *
 *     load of a bound = what ranks that are placed exchange
 *                     + what each of them has to do with others, the most with the free places that cost least
 *
 * A pass leaves all that needs more than a threshold. Where it finds no placement, none needs less than the least that was
 * left: the bound holds, however soon the passes end, and the threshold goes up.
 */
#include "base/clock.h"
#include "map/map_search.h"
#include "plan/plan.h"
#include "symmetry/symmetry.h"

enum { PLACES_MOST = 128, STEPS_MOST = 300000, STEPS_LEAST = 1000, POLLED = 64 };
#define WORK_MOST 1e9 /* flows that are looked at, in all steps */
#define SHARE 4       /* of the time that is left one such part */
#define STEP 1.01     /* from threshold to threshold */

/* What a place's own sends, or what comes to it, take of a bound, whoever the partner. */
struct side {
    uint32_t bound;
    bool sends;
    double *per_byte, *late_s; /* per partner's place, and of each copy to it; of late_s those that are not 0 */
    uint32_t *order[2];        /* of places, ascending by each */
};

struct partner {
    uint32_t rank;
    double bytes, count;
};

struct floor {
    struct hop_plan_work *work;
    struct hop_plan_loads *loads;
    struct place_sides {
        struct side *list;
        uint32_t count;
    } * sides; /* per place */
    struct rank_partners {
        struct partner *list[2]; /* it receives from, it sends to; descending by bytes */
        uint32_t count[2];
    } * partners;    /* per rank */
    uint32_t *order; /* of ranks */
    uint32_t *place; /* HOP_NONE: not placed */
    bool *taken;     /* places; those without room are, too */
    double *load, *likely;
    uint32_t *symmetries, symmetry_count; /* rows of places */
    uint32_t *still, *still_count;        /* per depth: symmetries that leave all places in use where they are */
    double threshold_s, left_s;           /* the least that was left */
    double end_s;                         /* by the clock */
    uint64_t steps, steps_most;
    bool over;
    struct hop_arena arena;
};

/* ---- preparing ---- */

/* What each partner's place costs of each bound: bounds rows of places. */
static void list_costs(const struct floor *f, uint32_t a, bool sends, double *per_byte, double *late)
{
    const struct hop_plan_loads *l = f->loads;
    memset(per_byte, 0, (size_t)l->rows * l->places * sizeof *per_byte);
    memset(late, 0, (size_t)l->rows * l->places * sizeof *late);
    for (uint32_t b = 0; b < l->places; b++) {
        uint32_t pair = sends ? a * l->places + b : b * l->places + a;
        for (uint32_t w = l->first[pair]; w < l->first[pair + 1]; w++) {
            per_byte[(size_t)l->weights[w].bound * l->places + b] = l->weights[w].per_byte_s;
            late[(size_t)l->weights[w].bound * l->places + b] = l->weights[w].late_s;
        }
    }
}

/* Places ascending by what they cost. */
static uint32_t *order_places(struct floor *f, const double *cost)
{
    uint32_t *order = hop_arena_alloc(&f->arena, f->work->places * sizeof *order);
    for (uint32_t b = 0; order && b < f->work->places; b++) {
        uint32_t at = b;
        for (; at > 0 && cost[order[at - 1]] > cost[b]; at--)
            order[at] = order[at - 1];
        order[at] = b;
    }
    return order;
}

static uint32_t count_costly(const struct floor *f, const double *cost)
{
    uint32_t costly = 0;
    for (uint32_t b = 0; b < f->work->places; b++)
        costly += cost[b] > 0;
    return costly;
}

/* Of a place and a bound, if most partners cost something. */
static void add_side(struct floor *f, uint32_t a, struct side side, const double *per_byte, const double *late_s)
{
    size_t size = f->work->places * sizeof *per_byte;
    struct place_sides *sides = &f->sides[a];
    if (2 * count_costly(f, per_byte) < f->work->places)
        return;
    side.per_byte = hop_arena_copy(&f->arena, per_byte, size);
    side.order[0] = order_places(f, per_byte);
    if (count_costly(f, late_s)) {
        side.late_s = hop_arena_copy(&f->arena, late_s, size);
        side.order[1] = order_places(f, late_s);
    }
    if (!f->arena.failed && HOP_GROW(&f->arena, sides->list, sides->count + (size_t)1))
        sides->list[sides->count++] = side;
}

static void list_sides(struct floor *f)
{
    const struct hop_plan_loads *l = f->loads;
    size_t squared = (size_t)l->rows * l->places;
    double *per_byte = malloc((squared + 1) * sizeof *per_byte), *late = malloc((squared + 1) * sizeof *late);
    f->arena.failed = f->arena.failed || !per_byte || !late;
    for (uint32_t a = 0; !f->arena.failed && a < l->places; a++) {
        for (unsigned sends = 0; sends < 2 && f->work->map.places.room[a]; sends++) {
            list_costs(f, a, sends, per_byte, late);
            for (uint32_t b = 0; b < l->rows && !f->arena.failed; b++)
                add_side(f, a, (struct side){.bound = b, .sends = sends}, per_byte + (size_t)b * l->places,
                         late + (size_t)b * l->places);
        }
    }
    free(per_byte);
    free(late);
}

static void add_partner(struct floor *f, uint32_t rank, unsigned sends, struct partner partner)
{
    struct rank_partners *p = &f->partners[rank];
    if (!HOP_GROW(&f->arena, p->list[sends], p->count[sends] + (size_t)1))
        return;
    uint32_t at = p->count[sends]++;
    for (; at > 0 && p->list[sends][at - 1].bytes < partner.bytes; at--)
        p->list[sends][at] = p->list[sends][at - 1];
    p->list[sends][at] = partner;
}

static double bytes_with(const struct floor *f, uint32_t rank, const bool *chosen)
{
    double bytes = 0;
    for (unsigned sends = 0; sends < 2; sends++) {
        for (uint32_t i = 0; i < f->partners[rank].count[sends]; i++)
            bytes += chosen[f->partners[rank].list[sends][i].rank] ? 1e6 * f->partners[rank].list[sends][i].bytes
                                                                   : f->partners[rank].list[sends][i].bytes;
    }
    return bytes;
}

/* Who has most to do with those before. */
static void order_ranks(struct floor *f)
{
    bool *chosen = hop_arena_alloc(&f->arena, f->work->ranks * sizeof *chosen);
    for (uint32_t k = 0; chosen && k < f->work->ranks; k++) {
        double most = -1;
        for (uint32_t r = 0; r < f->work->ranks; r++) {
            double bytes = chosen[r] ? -1 : bytes_with(f, r, chosen);
            if (bytes > most)
                f->order[k] = r;
            most = hop_max(most, bytes);
        }
        chosen[f->order[k]] = true;
    }
}

static enum hop_status find_symmetries(struct floor *f, struct hop_diag *diag)
{
    struct hop_symmetry group;
    uint32_t ranks = f->work->ranks;
    bool found = hop_map_group_find(&f->work->map, &group);
    enum hop_status status = f->work->map.status;
    if (found) {
        status = hop_plan_elements(&group, &f->symmetries, &f->symmetry_count, diag);
        hop_symmetry_finish(&group);
    }
    f->still = hop_arena_alloc(&f->arena, ((size_t)(ranks + 1) * f->symmetry_count + 1) * sizeof *f->still);
    f->still_count = hop_arena_alloc(&f->arena, (ranks + (size_t)1) * sizeof *f->still_count);
    if (f->arena.failed)
        return hop_fail_memory(diag);
    f->still_count[0] = f->symmetry_count;
    for (uint32_t g = 0; g < f->symmetry_count; g++)
        f->still[g] = g;
    return status;
}

static void list_partners(struct floor *f)
{
    const struct hop_plan_loads *l = f->loads;
    for (uint32_t i = 0; !f->arena.failed && i < l->flow_count; i++) {
        add_partner(f, l->flows[i].from, 1, (struct partner){l->flows[i].to, l->flows[i].bytes, l->flows[i].count});
        add_partner(f, l->flows[i].to, 0, (struct partner){l->flows[i].from, l->flows[i].bytes, l->flows[i].count});
    }
}

/* What a search for one rank or all of them goes by. */
static enum hop_status prepare(struct floor *f, struct hop_diag *diag)
{
    const struct hop_plan_work *w = f->work;
    const struct hop_plan_loads *l = f->loads;
    f->sides = hop_arena_alloc(&f->arena, w->places * sizeof *f->sides);
    f->partners = hop_arena_alloc(&f->arena, w->ranks * sizeof *f->partners);
    f->order = hop_arena_alloc(&f->arena, w->ranks * sizeof *f->order);
    f->place = hop_arena_alloc(&f->arena, w->ranks * sizeof *f->place);
    f->taken = hop_arena_alloc(&f->arena, (w->places + (size_t)1) * sizeof *f->taken);
    f->load = hop_arena_alloc(&f->arena, (l->rows + (size_t)1) * sizeof *f->load);
    f->likely = hop_arena_alloc(&f->arena, (l->rows + (size_t)1) * sizeof *f->likely);
    if (f->arena.failed)
        return hop_fail_memory(diag);
    for (uint32_t a = 0; a < w->places; a++)
        f->taken[a] = w->map.places.room[a] == 0;
    for (uint32_t r = 0; r < w->ranks; r++)
        f->place[r] = HOP_NONE;
    list_sides(f);
    list_partners(f);
    return f->arena.failed ? hop_fail_memory(diag) : HOP_OK;
}

/* ---- the search ---- */

static uint32_t next_free(const struct floor *f, const uint32_t *order, uint32_t at)
{
    while (f->taken[order[at]])
        at++;
    return at;
}

/* What a rank that is placed has to do with those that are not, at least: the most bytes, and then the copies, each where that
 * costs least. */
static double open_load(const struct floor *f, uint32_t rank, const struct side *side)
{
    const struct rank_partners *p = &f->partners[rank];
    double sum_s = 0, late_s = 0, fewest = INFINITY;
    for (uint32_t i = 0, at = 0, late = 0; i < p->count[side->sends]; i++) {
        const struct partner *partner = &p->list[side->sends][i];
        if (f->place[partner->rank] != HOP_NONE)
            continue;
        at = next_free(f, side->order[0], at);
        sum_s += partner->bytes * side->per_byte[side->order[0][at++]];
        if (!side->late_s)
            continue;
        late = next_free(f, side->order[1], late);
        late_s += side->late_s[side->order[1][late++]];
        fewest = hop_min(fewest, partner->count);
    }
    return late_s > 0 ? sum_s + fewest * late_s : sum_s;
}

static double bound_of(struct floor *f)
{
    memcpy(f->likely, f->load, f->loads->rows * sizeof *f->likely);
    for (uint32_t r = 0; r < f->work->ranks; r++) {
        const struct place_sides *sides = f->place[r] != HOP_NONE ? &f->sides[f->place[r]] : NULL;
        for (uint32_t i = 0; sides && i < sides->count; i++)
            f->likely[sides->list[i].bound] += open_load(f, r, &sides->list[i]);
    }
    double most_s = hop_plan_crowded(f->loads, f->likely);
    for (uint32_t b = 0; b < f->loads->bounds; b++)
        most_s = hop_max(most_s, hop_plan_later(f->loads, b, f->likely[b]));
    return most_s;
}

static void add_pair(struct floor *f, uint32_t from, uint32_t to, double bytes, double count)
{
    const struct hop_plan_loads *l = f->loads;
    uint32_t pair = from * l->places + to;
    for (uint32_t w = l->first[pair]; w < l->first[pair + 1]; w++)
        f->load[l->weights[w].bound] += bytes * l->weights[w].per_byte_s + count * l->weights[w].late_s;
}

/* What it exchanges with those that are placed, added (sign 1) or taken away. */
static void add_rank(struct floor *f, uint32_t rank, uint32_t at, double sign)
{
    for (unsigned sends = 0; sends < 2; sends++) {
        for (uint32_t i = 0; i < f->partners[rank].count[sends]; i++) {
            const struct partner *p = &f->partners[rank].list[sends][i];
            uint32_t other = f->place[p->rank];
            if (other != HOP_NONE && p->rank != rank)
                add_pair(f, sends ? at : other, sends ? other : at, sign * p->bytes, sign * p->count);
        }
    }
}

/* Places that are taken, and those that a symmetry, which leaves all places in use where they are, carries from a free
 * one before them. */
static void rule_out(const struct floor *f, uint32_t depth, bool *out)
{
    uint32_t places = f->work->places;
    const uint32_t *still = f->still + (size_t)depth * f->symmetry_count;
    memcpy(out, f->taken, places * sizeof *out);
    for (uint32_t g = 0; g < f->still_count[depth]; g++) {
        const uint32_t *image = f->symmetries + (size_t)still[g] * places;
        for (uint32_t a = 0; a < places; a++) {
            if (image[a] > a && !f->taken[a])
                out[image[a]] = true;
        }
    }
}

/* Symmetries that leave one more place where it is. */
static void keep_still(struct floor *f, uint32_t depth, uint32_t a)
{
    const uint32_t *from = f->still + (size_t)depth * f->symmetry_count;
    uint32_t *to = f->still + (size_t)(depth + 1) * f->symmetry_count, kept = 0;
    for (uint32_t g = 0; g < f->still_count[depth]; g++) {
        if (f->symmetries[(size_t)from[g] * f->work->places + a] == a)
            to[kept++] = from[g];
    }
    f->still_count[depth + 1] = kept;
}

static bool goes_on(struct floor *f)
{
    f->over = f->over || ++f->steps > f->steps_most ||
              (f->steps % POLLED == 0 && (!hop_plan_goes_on(f->work) || hop_now_s() > f->end_s));
    return !f->over;
}

/* Whether a placement within the threshold is found. */
static bool descend(struct floor *f, uint32_t depth)
{
    bool out[PLACES_MOST];
    uint32_t rank = f->order[depth];
    if (depth == f->work->ranks)
        return true;
    rule_out(f, depth, out);
    for (uint32_t a = 0; a < f->work->places; a++) {
        if (out[a] || !hop_assign_allows(&f->work->map.places.who, rank, a))
            continue;
        if (!goes_on(f))
            break;
        add_rank(f, rank, a, 1);
        f->place[rank] = a;
        f->taken[a] = true;
        double need_s = bound_of(f);
        bool fits = need_s <= f->threshold_s;
        if (!fits)
            f->left_s = hop_min(f->left_s, need_s);
        if (fits)
            keep_still(f, depth, a);
        if (fits && descend(f, depth + 1))
            return true;
        f->taken[a] = false;
        f->place[rank] = HOP_NONE;
        add_rank(f, rank, a, -1);
    }
    return false;
}

/* From the threshold on; place: gets what was found. */
static double raise(struct floor *f, double least_s, uint32_t *place, bool *found)
{
    double proved_s = least_s;
    for (double threshold_s = least_s; !*found && !f->over; threshold_s = hop_max(threshold_s * STEP, f->left_s)) {
        f->threshold_s = threshold_s * (1 + HOP_PLAN_TOLERANCE);
        f->left_s = INFINITY;
        memset(f->load, 0, f->loads->rows * sizeof *f->load);
        *found = descend(f, 0);
        if (!*found && !f->over)
            proved_s = f->left_s * (1 - HOP_PLAN_TOLERANCE);
        if (isinf(f->left_s) && !*found) /* nothing is allowed */
            break;
    }
    if (*found)
        memcpy(place, f->place, f->work->ranks * sizeof *place);
    return hop_max(least_s, proved_s);
}

/* The fewer, the more a step costs. */
static uint64_t count_steps(const struct floor *f)
{
    double sides = 0;
    for (uint32_t a = 0; a < f->work->places; a++)
        sides += f->sides[a].count;
    double most = WORK_MOST / (f->loads->flow_count * sides / f->work->places + f->loads->rows + 1);
    return most > STEPS_MOST ? STEPS_MOST : most < STEPS_LEAST ? STEPS_LEAST : (uint64_t)most;
}

enum hop_status hop_plan_floor(struct hop_plan_work *work, struct hop_plan_loads *loads, double *least_s,
                               uint32_t *place, bool *found, struct hop_diag *diag)
{
    struct floor f = {.work = work, .loads = loads, .end_s = hop_now_s() + hop_plan_time_left(work) / SHARE};
    *found = false;
    if (work->places > PLACES_MOST || !loads->flow_count || !loads->bounds)
        return HOP_OK;
    enum hop_status status = prepare(&f, diag);
    if (status == HOP_OK)
        status = find_symmetries(&f, diag);
    if (status == HOP_OK) {
        f.steps_most = count_steps(&f);
        order_ranks(&f);
        *least_s = raise(&f, *least_s, place, found);
    }
    free(f.symmetries);
    hop_arena_finish(&f.arena);
    return status;
}

/* ---- ranks each for itself ---- */

/* What a rank has to do at a place, whoever is where. */
static double need_of(struct floor *f, uint32_t rank, uint32_t a)
{
    double most_s = 0;
    f->taken[a] = true; /* by itself */
    for (uint32_t i = 0; i < f->sides[a].count; i++) {
        const struct side *side = &f->sides[a].list[i];
        if (side->bound < f->loads->bounds)
            most_s = hop_max(most_s, hop_plan_later(f->loads, side->bound, open_load(f, rank, side)));
    }
    f->taken[a] = false;
    return most_s;
}

/* Along an augmenting path: whether the rank gets a place where it needs no more than that. */
static bool seat(const struct floor *f, const double *need_s, double most_s, uint32_t rank, uint32_t *rank_at,
                 bool *seen)
{
    for (uint32_t a = 0; a < f->work->places; a++) {
        if (seen[a] || need_s[(size_t)rank * f->work->places + a] > most_s)
            continue;
        seen[a] = true;
        if (rank_at[a] == HOP_NONE || seat(f, need_s, most_s, rank_at[a], rank_at, seen)) {
            rank_at[a] = rank;
            return true;
        }
    }
    return false;
}

static bool all_seated(const struct floor *f, const double *need_s, double most_s, uint32_t *rank_at, bool *seen)
{
    memset(rank_at, 0xff, f->work->places * sizeof *rank_at); /* HOP_NONE */
    for (uint32_t rank = 0; rank < f->work->ranks; rank++) {
        memset(seen, 0, f->work->places * sizeof *seen);
        if (!seat(f, need_s, most_s, rank, rank_at, seen))
            return false;
    }
    return true;
}

/* The least threshold at which all ranks have places, 0: there is none. levels: the needs, to be sorted. */
static double least_threshold(const struct floor *f, const double *need_s, double *levels, uint32_t *rank_at,
                              bool *seen)
{
    size_t count = (size_t)f->work->ranks * f->work->places, low = 0, high;
    memcpy(levels, need_s, count * sizeof *levels);
    qsort(levels, count, sizeof *levels, hop_ascending_double);
    while (count > 0 && !isfinite(levels[count - 1]))
        count--;
    for (high = count; low < high;) {
        size_t middle = low + (high - low) / 2;
        if (all_seated(f, need_s, levels[middle], rank_at, seen))
            high = middle;
        else
            low = middle + 1;
    }
    return low < count ? levels[low] : 0;
}

enum hop_status hop_plan_least(struct hop_plan_work *work, struct hop_plan_loads *loads, double *least_s,
                               struct hop_diag *diag)
{
    struct floor f = {.work = work, .loads = loads};
    *least_s = 0;
    if (!loads->flow_count || !loads->bounds)
        return HOP_OK;
    enum hop_status status = prepare(&f, diag);
    size_t needs = (size_t)work->ranks * work->places;
    double *need_s = hop_arena_alloc(&f.arena, (2 * needs + 1) * sizeof *need_s);
    uint32_t *rank_at = hop_arena_alloc(&f.arena, (work->places + (size_t)1) * sizeof *rank_at);
    bool *seen = hop_arena_alloc(&f.arena, (work->places + (size_t)1) * sizeof *seen);
    status = status == HOP_OK && f.arena.failed ? hop_fail_memory(diag) : status;
    for (uint32_t r = 0; r < work->ranks && status == HOP_OK; r++) {
        for (uint32_t a = 0; a < work->places; a++)
            need_s[(size_t)r * work->places + a] =
                f.taken[a] || !hop_assign_allows(&work->map.places.who, r, a) ? INFINITY : need_of(&f, r, a);
    }
    if (status == HOP_OK)
        *least_s = least_threshold(&f, need_s, need_s + needs, rank_at, seen);
    hop_arena_finish(&f.arena);
    return status;
}
