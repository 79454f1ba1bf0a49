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
#include "map/map_search.h"
#include "plan/plan.h"
#include "symmetry/symmetry.h"

enum { PLACES_MOST = 32, STEPS_MOST = 300000, POLLED = 256 };
#define STEP 1.01 /* from threshold to threshold */

/* What a place's own sends, or what comes to it, take of a bound, whoever the partner. */
struct side {
    uint32_t bound;
    bool sends;
    double *per_byte; /* per partner's place */
    uint32_t *order;  /* of these, ascending */
    double late_s;    /* of each copy at least */
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
    uint32_t free;   /* places, a bit each */
    double *load, *likely;
    uint32_t *symmetries, symmetry_count; /* rows of places */
    double threshold_s, left_s;           /* the least that was left */
    double found_s;
    uint64_t steps;
    bool over;
    struct hop_arena arena;
};

/* ---- preparing ---- */

static struct hop_plan_weight weight_of(const struct hop_plan_loads *l, uint32_t from, uint32_t to, uint32_t bound)
{
    uint32_t pair = from * l->places + to;
    for (uint32_t w = l->first[pair]; w < l->first[pair + 1]; w++) {
        if (l->weights[w].bound == bound)
            return l->weights[w];
    }
    return (struct hop_plan_weight){.bound = bound};
}

/* Of a place and a bound, if most partners cost something. */
static void add_side(struct floor *f, uint32_t a, uint32_t bound, bool sends)
{
    uint32_t places = f->work->places, costly = 0;
    struct place_sides *sides = &f->sides[a];
    struct side side = {.bound = bound, .sends = sends, .late_s = INFINITY};
    side.per_byte = hop_arena_alloc(&f->arena, places * sizeof *side.per_byte);
    side.order = hop_arena_alloc(&f->arena, places * sizeof *side.order);
    for (uint32_t b = 0; !f->arena.failed && b < places; b++) {
        struct hop_plan_weight weight = sends ? weight_of(f->loads, a, b, bound) : weight_of(f->loads, b, a, bound);
        side.per_byte[b] = weight.per_byte_s;
        side.late_s = a == b ? side.late_s : hop_min(side.late_s, weight.late_s);
        costly += side.per_byte[b] > 0;
        uint32_t at = b;
        for (; at > 0 && side.per_byte[side.order[at - 1]] > side.per_byte[b]; at--)
            side.order[at] = side.order[at - 1];
        side.order[at] = b;
    }
    if (2 * costly >= places && HOP_GROW(&f->arena, sides->list, sides->count + (size_t)1))
        sides->list[sides->count++] = side;
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
    if (!hop_map_group_find(&f->work->map, &group))
        return HOP_OK;
    enum hop_status status = hop_plan_elements(&group, &f->symmetries, &f->symmetry_count, diag);
    hop_symmetry_finish(&group);
    return status;
}

static enum hop_status prepare(struct floor *f, struct hop_diag *diag)
{
    const struct hop_plan_work *w = f->work;
    const struct hop_plan_loads *l = f->loads;
    f->sides = hop_arena_alloc(&f->arena, w->places * sizeof *f->sides);
    f->partners = hop_arena_alloc(&f->arena, w->ranks * sizeof *f->partners);
    f->order = hop_arena_alloc(&f->arena, w->ranks * sizeof *f->order);
    f->place = hop_arena_alloc(&f->arena, w->ranks * sizeof *f->place);
    f->load = hop_arena_alloc(&f->arena, (l->bounds + (size_t)1) * sizeof *f->load);
    f->likely = hop_arena_alloc(&f->arena, (l->bounds + (size_t)1) * sizeof *f->likely);
    for (uint32_t a = 0; !f->arena.failed && a < w->places; a++) {
        f->free |= (uint32_t)(w->map.places.room[a] > 0) << a;
        for (uint32_t b = 0; b < l->bounds && w->map.places.room[a]; b++) {
            add_side(f, a, b, true);
            add_side(f, a, b, false);
        }
    }
    for (uint32_t i = 0; !f->arena.failed && i < l->flow_count; i++) {
        add_partner(f, l->flows[i].from, 1, (struct partner){l->flows[i].to, l->flows[i].bytes, l->flows[i].count});
        add_partner(f, l->flows[i].to, 0, (struct partner){l->flows[i].from, l->flows[i].bytes, l->flows[i].count});
    }
    if (!f->arena.failed)
        order_ranks(f);
    for (uint32_t r = 0; !f->arena.failed && r < w->ranks; r++)
        f->place[r] = HOP_NONE;
    return f->arena.failed ? hop_fail_memory(diag) : find_symmetries(f, diag);
}

/* ---- the search ---- */

/* What a rank that is placed has to do with those that are not, at least. */
static double open_load(const struct floor *f, uint32_t rank, const struct side *side)
{
    const struct rank_partners *p = &f->partners[rank];
    double sum_s = 0;
    for (uint32_t i = 0, at = 0; i < p->count[side->sends]; i++) {
        const struct partner *partner = &p->list[side->sends][i];
        if (f->place[partner->rank] != HOP_NONE)
            continue;
        while (!(f->free >> side->order[at] & 1))
            at++;
        sum_s += partner->bytes * side->per_byte[side->order[at++]] + partner->count * side->late_s;
    }
    return sum_s;
}

static double bound_of(struct floor *f)
{
    double most_s = 0;
    memcpy(f->likely, f->load, f->loads->bounds * sizeof *f->likely);
    for (uint32_t r = 0; r < f->work->ranks; r++) {
        const struct place_sides *sides = f->place[r] != HOP_NONE ? &f->sides[f->place[r]] : NULL;
        for (uint32_t i = 0; sides && i < sides->count; i++)
            f->likely[sides->list[i].bound] += open_load(f, r, &sides->list[i]);
    }
    for (uint32_t b = 0; b < f->loads->bounds; b++)
        most_s = hop_max(most_s, f->likely[b]);
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

/* Free places, less those that a symmetry, which leaves all places in use where they are, carries from an earlier one. */
static uint32_t different(const struct floor *f)
{
    uint32_t left = f->free, places = f->work->places;
    for (uint32_t g = 0; g < f->symmetry_count; g++) {
        const uint32_t *image = f->symmetries + (size_t)g * places;
        bool fixes = true;
        for (uint32_t r = 0; r < f->work->ranks && fixes; r++)
            fixes = f->place[r] == HOP_NONE || image[f->place[r]] == f->place[r];
        for (uint32_t a = 0; a < places && fixes; a++) {
            if (image[a] > a && f->free >> a & 1)
                left &= ~(1u << image[a]);
        }
    }
    return left;
}

static bool goes_on(struct floor *f)
{
    f->over = f->over || ++f->steps > STEPS_MOST || (f->steps % POLLED == 0 && !hop_plan_goes_on(f->work));
    return !f->over;
}

/* Whether a placement within the threshold is found. */
static bool descend(struct floor *f, uint32_t depth)
{
    uint32_t rank = f->order[depth];
    if (depth == f->work->ranks)
        return true;
    for (uint32_t left = different(f), a; left && goes_on(f); left &= left - 1) {
        a = (uint32_t)__builtin_ctz(left);
        if (!hop_assign_allows(&f->work->map.places.who, rank, a))
            continue;
        add_rank(f, rank, a, 1);
        f->place[rank] = a;
        f->free &= ~(1u << a);
        double need_s = bound_of(f);
        bool fits = need_s <= f->threshold_s;
        if (!fits)
            f->left_s = hop_min(f->left_s, need_s);
        if (fits && descend(f, depth + 1))
            return true;
        f->free |= 1u << a;
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
        memset(f->load, 0, f->loads->bounds * sizeof *f->load);
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

enum hop_status hop_plan_floor(struct hop_plan_work *work, struct hop_plan_loads *loads, double *least_s,
                               uint32_t *place, bool *found, struct hop_diag *diag)
{
    struct floor f = {.work = work, .loads = loads};
    *found = false;
    if (work->places > PLACES_MOST || !loads->flow_count || !loads->bounds || !(*least_s > 0))
        return HOP_OK;
    enum hop_status status = prepare(&f, diag);
    if (status == HOP_OK)
        *least_s = raise(&f, *least_s, place, found);
    free(f.symmetries);
    hop_arena_finish(&f.arena);
    return status;
}
