/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placements by number, and classes of them: what symmetries of the machine and of the exchange carry to each other takes
 * the same time at best, and is looked at once.
 *
 *     number  of the place that rank 0 has among all, of rank 1's among those left, ..., as digits
 *     class   of placements: from the first that is in none yet, by the elements of both groups' chains to all others
 *
 * A symmetry g of the machine carries placement p to g after p, one h of the exchange to p after h.
 */
#include "map/map_search.h"
#include "plan/plan.h"
#include "symmetry/symmetry.h"

double hop_plan_placements(const struct hop_plan_work *work)
{
    double count = 1;
    uint32_t usable = 0;
    for (uint32_t i = 0; i < work->places; i++)
        usable += work->map.places.room[i] > 0;
    for (uint32_t r = 0; r < work->ranks; r++)
        count *= usable > r ? usable - r : 0;
    return count;
}

/* ---- numbers ---- */

uint32_t hop_plan_encode(const struct hop_plan_classes *c, const uint32_t *place)
{
    uint32_t code = 0, taken = 0;
    for (uint32_t r = 0; r < c->ranks; r++) {
        uint32_t below = (1u << place[r]) - 1;
        code = code * (c->places - r) + (uint32_t)__builtin_popcount(~taken & below);
        taken |= 1u << place[r];
    }
    return code;
}

void hop_plan_decode(const struct hop_plan_classes *c, uint32_t code, uint32_t *place)
{
    uint32_t taken = 0;
    for (uint32_t r = c->ranks; r-- > 0;) {
        place[r] = code % (c->places - r);
        code /= c->places - r;
    }
    for (uint32_t r = 0; r < c->ranks; r++) {
        uint32_t at = 0;
        for (uint32_t left = place[r]; taken >> at & 1 || left-- > 0; at++)
            ;
        place[r] = at;
        taken |= 1u << at;
    }
}

/* ---- classes ---- */

struct finder {
    struct hop_plan_work *work;
    struct hop_plan_classes *classes;
    uint32_t *machine, *twins; /* rows of places, of ranks */
    uint32_t machine_count, twin_count;
    uint32_t *stack;
};

static enum hop_status find_machine(struct finder *f, struct hop_diag *diag)
{
    struct hop_symmetry group;
    if (!hop_map_group_find(&f->work->map, &group))
        return f->work->map.status;
    f->work->result->machine_symmetries = hop_symmetry_order(&group);
    enum hop_status status = hop_plan_elements(&group, &f->machine, &f->machine_count, diag);
    hop_symmetry_finish(&group);
    return status;
}

static void see(struct finder *f, uint32_t code, uint32_t *waiting)
{
    if (f->classes->class_of[code] != HOP_NONE)
        return;
    f->classes->class_of[code] = f->classes->count;
    f->stack[(*waiting)++] = code;
}

/* Marks the whole class of a placement. */
static void flood(struct finder *f, uint32_t code)
{
    const struct hop_plan_classes *c = f->classes;
    uint32_t place[32], image[32], waiting = 0;
    see(f, code, &waiting);
    while (waiting > 0) {
        hop_plan_decode(c, f->stack[--waiting], place);
        for (uint32_t g = 0; g < f->machine_count; g++) {
            for (uint32_t r = 0; r < c->ranks; r++)
                image[r] = f->machine[(size_t)g * c->places + place[r]];
            see(f, hop_plan_encode(c, image), &waiting);
        }
        for (uint32_t h = 0; h < f->twin_count; h++) {
            for (uint32_t r = 0; r < c->ranks; r++)
                image[r] = place[f->twins[(size_t)h * c->ranks + r]];
            see(f, hop_plan_encode(c, image), &waiting);
        }
    }
}

static bool is_allowed(const struct hop_plan_work *work, const uint32_t *place)
{
    for (uint32_t r = 0; r < work->ranks; r++) {
        if (!work->map.places.room[place[r]] || !hop_assign_allows(&work->map.places.who, r, place[r]))
            return false;
    }
    return true;
}

static enum hop_status walk(struct finder *f, struct hop_diag *diag)
{
    struct hop_plan_classes *c = f->classes;
    uint32_t place[32], capacity = 0;
    for (uint32_t code = 0; code < c->total; code++) {
        if (c->class_of[code] != HOP_NONE)
            continue;
        hop_plan_decode(c, code, place);
        if (!is_allowed(f->work, place))
            continue;
        if (!hop_grow(&c->codes, &capacity, c->count + 1, sizeof *c->codes))
            return hop_fail_memory(diag);
        c->codes[c->count] = code;
        flood(f, code);
        c->count++;
    }
    return HOP_OK;
}

/* Restrictions tell ranks apart; the exchange's own symmetries are of no use then, nor where sources take what is ready
 * first, as that is a matter of the order of operations. */
enum hop_status hop_plan_classes_find(struct hop_plan_work *work, struct hop_plan_classes *c, struct hop_diag *diag)
{
    struct finder f = {.work = work, .classes = c};
    double total = 1;
    *c = (struct hop_plan_classes){.ranks = work->ranks, .places = work->places};
    for (uint32_t r = 0; r < work->ranks; r++)
        total *= work->places - r;
    if (total > HOP_PLAN_ENUMERATED || work->places > 31)
        return hop_fail(diag, HOP_ERR_LIMIT, "%.3g placements to be looked at\nat most %d", total, HOP_PLAN_ENUMERATED);
    c->total = (uint32_t)total;
    c->class_of = malloc(c->total * sizeof *c->class_of);
    f.stack = malloc(c->total * sizeof *f.stack);
    enum hop_status status = c->class_of && f.stack ? find_machine(&f, diag) : hop_fail_memory(diag);
    if (c->class_of)
        memset(c->class_of, 0xff, c->total * sizeof *c->class_of); /* HOP_NONE */
    if (status == HOP_OK && !work->map.places.who.allowed && !work->by_ready)
        status = hop_plan_twins_find(work->exchange, work->ranks, &f.twins, &f.twin_count,
                                     &work->result->exchange_symmetries, diag);
    if (status == HOP_OK)
        status = walk(&f, diag);
    free(f.machine);
    free(f.twins);
    free(f.stack);
    return status;
}
