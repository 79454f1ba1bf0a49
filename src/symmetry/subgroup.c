/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Samples of the free subgroups of a group of symmetries.
 *
 * A free subgroup is built by doubling. Given a free subgroup H, a symmetry t is sought that
 *
 *     carries every orbit of H on the points to another one,       so that no t h fixes a point
 *     commutes with H and is its own inverse,
 *
 * and then H and t H together are a free subgroup of twice the order. One image t(x) = y fixes those of two orbits of H,
 * since t(h x) = h y and t(h y) = h x; t is completed base by base down the chain of stabilizers, by a random image
 * where none is fixed yet.
 *
 * The start is the identity or a cyclic group, the powers of a random symmetry raised to the power that leaves the
 * right order: an odd part must come from there, and other squares would seldom be met.
 */
#include "symmetry/symmetry_search.h"

#include <math.h>

enum {
    TRIES = 200,            /* default */
    CYCLIC_TRIES = 16,      /* random symmetries looked at for a cyclic start */
    STEPS_PER_LEVEL = 4,    /* images tried in one search for t, */
    STEPS_MORE = 64,        /* and so many more */
    SUBGROUPS_MAX = 1000000 /* wished for */
};

/* ---- lists of permutations ---- */

struct row {
    const uint16_t *image;
    uint32_t n;
};

static int compare_rows(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    for (uint32_t k = 0; k < x->n; k++) {
        if (x->image[k] != y->image[k])
            return x->image[k] < y->image[k] ? -1 : 1;
    }
    return 0;
}

/* Copies `count` permutations of n in ascending order; rows has room for them. */
static void sort_rows(const uint16_t *from, uint32_t n, uint32_t count, struct row *rows, uint16_t *to)
{
    for (uint32_t k = 0; k < count; k++)
        rows[k] = (struct row){from + (size_t)k * n, n};
    qsort(rows, count, sizeof *rows, compare_rows);
    for (uint32_t k = 0; k < count; k++)
        memcpy(to + (size_t)k * n, rows[k].image, n * sizeof *to);
}

static uint64_t hash_of(const uint16_t *values, size_t count)
{
    uint64_t hash = count;
    for (size_t k = 0; k < count; k++)
        hash = hop_draw_from(hash ^ values[k]);
    return hash;
}

/* ---- building one free subgroup ---- */

struct builder {
    const struct hop_symmetry *group;
    const struct hop_subgroup_wish *wish;
    struct hop_arena arena;
    uint32_t n;
    uint64_t rng;
    bool *is_point;

    /* H */
    uint32_t order;
    uint16_t *elements; /* n each; the identity is the first */
    uint16_t *orbit_of; /* per device: the lowest of its orbit */

    /* t */
    uint16_t *image; /* of those devices that have one yet, UINT16_MAX: none */
    bool *taken;     /* as an image */
    uint16_t *trail; /* the devices that have one, in the order in which they got it */
    uint32_t trail_length, steps;
    uint16_t *products; /* per level and one more: the product of the elements chosen so far; the last is t */
    uint16_t *inverses; /* of these */
    uint16_t *choices;  /* per level: places in the orbit, shuffled as far as needed */
    uint16_t *symmetry; /* a random one */
    struct row *rows;
    uint16_t *sorted;
    uint64_t *hashes; /* of what was found of this order */
};

static const uint16_t *element(const struct builder *b, uint32_t number)
{
    return b->elements + (size_t)number * b->n;
}

static void look_at_orbits(struct builder *b)
{
    for (uint32_t x = 0; x < b->n; x++) {
        b->orbit_of[x] = (uint16_t)x;
        for (uint32_t h = 1; h < b->order; h++) {
            if (element(b, h)[x] < b->orbit_of[x])
                b->orbit_of[x] = element(b, h)[x];
        }
    }
}

static void start_over(struct builder *b)
{
    b->order = 1;
    for (uint32_t x = 0; x < b->n; x++)
        b->elements[x] = (uint16_t)x;
    look_at_orbits(b);
}

static void undo(struct builder *b, uint32_t length)
{
    while (b->trail_length > length) {
        uint16_t x = b->trail[--b->trail_length];
        b->taken[b->image[x]] = false;
        b->image[x] = UINT16_MAX;
    }
}

static bool set_image(struct builder *b, uint16_t x, uint16_t y)
{
    if (b->image[x] != UINT16_MAX || b->taken[y])
        return b->image[x] == y;
    b->image[x] = y;
    b->taken[y] = true;
    b->trail[b->trail_length++] = x;
    return true;
}

/* t(x) = y and what follows from it. */
static bool set_orbits(struct builder *b, uint16_t x, uint16_t y)
{
    if (b->is_point[x] && b->orbit_of[x] == b->orbit_of[y])
        return false;
    for (uint32_t h = 0; h < b->order; h++) {
        uint16_t from = element(b, h)[x], to = element(b, h)[y];
        if (!set_image(b, from, to) || !set_image(b, to, from))
            return false;
    }
    return true;
}

/* Whether t, now a symmetry, keeps all that it must. */
static bool doubles(const struct builder *b)
{
    const uint16_t *t = b->products + (size_t)b->group->level_count * b->n;
    for (uint32_t x = 0; x < b->n; x++) {
        if (t[t[x]] != x || (b->is_point[x] && b->orbit_of[x] == b->orbit_of[t[x]]))
            return false;
        for (uint32_t h = 0; h < b->order; h++) {
            if (t[element(b, h)[x]] != element(b, h)[t[x]])
                return false;
        }
    }
    return true;
}

static bool complete_from(struct builder *b, uint32_t index);

/* Goes on with the k-th element of a level. */
static bool complete_with(struct builder *b, uint32_t index, uint32_t k)
{
    const struct hop_symmetry_level *level = &b->group->levels[index];
    const uint16_t *product = b->products + (size_t)index * b->n, *factor = level->elements + (size_t)k * b->n;
    uint16_t *further = b->products + (size_t)(index + 1) * b->n, *inverse = b->inverses + (size_t)(index + 1) * b->n;
    for (uint32_t x = 0; x < b->n; x++) {
        further[x] = product[factor[x]];
        inverse[further[x]] = (uint16_t)x;
    }
    return complete_from(b, index + 1);
}

/* Completes t from a level on; no deeper than there are levels. */
static bool complete_from(struct builder *b, uint32_t index)
{
    if (index == b->group->level_count)
        return doubles(b);
    const struct hop_symmetry_level *level = &b->group->levels[index];
    const uint16_t *product = b->products + (size_t)index * b->n, *inverse = b->inverses + (size_t)index * b->n;
    if (b->image[level->base] != UINT16_MAX) {
        uint16_t k = level->where[inverse[b->image[level->base]]];
        return k != UINT16_MAX && complete_with(b, index, k);
    }
    uint16_t *choices = b->choices + (size_t)index * b->n;
    for (uint32_t k = 0; k < level->count; k++)
        choices[k] = (uint16_t)k;
    for (uint32_t k = 0; k < level->count && b->steps > 0; k++) {
        uint32_t other = k + hop_symmetry_draw(&b->rng, level->count - k), mark = b->trail_length;
        uint16_t choice = choices[other];
        choices[other] = choices[k];
        choices[k] = choice;
        b->steps--;
        if (set_orbits(b, level->base, product[level->points[choice]]) && complete_with(b, index, choice))
            return true;
        undo(b, mark);
    }
    return false;
}

/* Doubles H by some t. */
static bool double_order(struct builder *b)
{
    b->steps = STEPS_PER_LEVEL * b->group->level_count + STEPS_MORE;
    for (uint32_t x = 0; x < b->n; x++)
        b->products[x] = b->inverses[x] = (uint16_t)x;
    bool found = complete_from(b, 0);
    undo(b, 0);
    if (!found)
        return false;
    const uint16_t *t = b->products + (size_t)b->group->level_count * b->n;
    for (uint32_t h = 0; h < b->order; h++) {
        uint16_t *product = b->elements + (size_t)(b->order + h) * b->n;
        for (uint32_t x = 0; x < b->n; x++)
            product[x] = t[element(b, h)[x]];
    }
    b->order *= 2;
    look_at_orbits(b);
    return true;
}

/* ---- starts ---- */

static uint32_t odd_part(uint32_t order)
{
    while (order % 2 == 0)
        order /= 2;
    return order;
}

/* Raises a permutation to the power (its order / part), in place: what has order `part`, if anything has. False: the
 * points are not all in cycles of that length, or another device in one of none of its divisors. */
static bool take_part(struct builder *b, uint16_t *image, uint32_t part)
{
    uint16_t *cycle = b->trail; /* at rest here */
    bool *seen = b->taken, fits = true;
    uint64_t order = 1;
    for (unsigned pass = 0; pass < 2; pass++) { /* find the order; raise */
        if (pass && order % part)
            fits = false;
        for (uint32_t x = 0; x < b->n && fits; x++) {
            uint32_t length = 0;
            for (uint16_t y = (uint16_t)x; !seen[y]; y = image[y]) {
                seen[y] = true;
                cycle[length++] = y;
            }
            if (length && !pass) {
                uint64_t a = order, c = length;
                while (c) {
                    uint64_t rest = a % c;
                    a = c;
                    c = rest;
                }
                order = order / a * length;
                fits = order < (uint64_t)1 << 40;
            }
            for (uint32_t k = 0; k < length && pass; k++)
                image[cycle[k]] = cycle[(k + order / part) % length];
        }
        memset(seen, 0, b->n * sizeof *seen);
    }
    for (uint32_t x = 0; x < b->n && fits; x++) {
        uint32_t length = 1;
        for (uint16_t y = image[x]; y != x; y = image[y])
            length++;
        fits = b->is_point[x] ? length == part : part % length == 0;
    }
    return fits;
}

/* H becomes a free cyclic subgroup. */
static bool start_cyclic(struct builder *b, uint32_t order)
{
    for (unsigned tries = 0; tries < CYCLIC_TRIES; tries++) {
        hop_symmetry_random(b->group, &b->rng, b->symmetry);
        if (!take_part(b, b->symmetry, order))
            continue;
        for (b->order = 1; b->order < order; b->order++) {
            for (uint32_t x = 0; x < b->n; x++)
                b->elements[(size_t)b->order * b->n + x] = b->symmetry[element(b, b->order - 1)[x]];
        }
        look_at_orbits(b);
        return true;
    }
    return false;
}

static bool build(struct builder *b, uint32_t order)
{
    start_over(b);
    uint32_t cyclic = odd_part(order), doublings = (uint32_t)__builtin_ctz(order);
    cyclic <<= hop_symmetry_draw(&b->rng, doublings + 1);
    if (cyclic > 1 && !start_cyclic(b, cyclic) && odd_part(order) > 1)
        return false;
    while (b->order < order) {
        if (!double_order(b))
            return false;
    }
    return true;
}

/* ---- samples ---- */

static bool builder_init(struct builder *b)
{
    size_t n = b->n, levels = b->group->level_count + 1;
    uint32_t most = 1;
    for (uint32_t k = 0; k < b->wish->order_count; k++)
        most = b->wish->orders[k] > most ? b->wish->orders[k] : most;
    b->is_point = hop_arena_alloc(&b->arena, n);
    b->taken = hop_arena_alloc(&b->arena, n);
    b->elements = hop_arena_alloc(&b->arena, most * n * sizeof *b->elements);
    b->sorted = hop_arena_alloc(&b->arena, most * n * sizeof *b->sorted);
    b->rows = hop_arena_alloc(&b->arena, most * sizeof *b->rows);
    b->orbit_of = hop_arena_alloc(&b->arena, n * sizeof *b->orbit_of);
    b->image = hop_arena_alloc(&b->arena, n * sizeof *b->image);
    b->trail = hop_arena_alloc(&b->arena, n * sizeof *b->trail);
    b->symmetry = hop_arena_alloc(&b->arena, n * sizeof *b->symmetry);
    b->products = hop_arena_alloc(&b->arena, levels * n * sizeof *b->products);
    b->inverses = hop_arena_alloc(&b->arena, levels * n * sizeof *b->inverses);
    b->choices = hop_arena_alloc(&b->arena, levels * n * sizeof *b->choices);
    b->hashes = hop_arena_alloc(&b->arena, b->wish->per_order * sizeof *b->hashes);
    if (b->arena.failed)
        return false;
    memset(b->image, 0xff, n * sizeof *b->image); /* none */
    for (uint32_t i = 0; i < b->wish->point_count; i++)
        b->is_point[b->wish->points[i]] = true;
    return true;
}

/* Adds what was built, unless it is there. The subgroups of this order are the last `count` of the list. */
static bool keep(struct builder *b, uint32_t *count, struct hop_subgroups *found)
{
    size_t size = (size_t)b->order * b->n;
    sort_rows(b->elements, b->n, b->order, b->rows, b->sorted);
    uint64_t hash = hash_of(b->sorted, size);
    for (uint32_t k = 0; k < *count; k++) {
        const uint16_t *other = found->list[found->count - *count + k].elements;
        if (b->hashes[k] == hash && memcmp(other, b->sorted, size * sizeof *other) == 0)
            return false;
    }
    const uint16_t *copy = hop_arena_copy(&found->arena, b->sorted, size * sizeof *copy);
    b->hashes[(*count)++] = hash;
    found->list[found->count++] = (struct hop_subgroup){b->order, copy};
    return true;
}

static void sample_order(struct builder *b, uint32_t order, struct hop_subgroups *found)
{
    uint32_t count = 0, most_tries = b->wish->tries ? b->wish->tries : TRIES;
    if (b->wish->per_order == 0 || b->wish->point_count % order ||
        (isfinite(hop_symmetry_order(b->group)) && fmod(hop_symmetry_order(b->group), order) != 0))
        return;
    for (uint32_t tries = 0; tries < most_tries && count < b->wish->per_order; tries++) {
        if (build(b, order) && keep(b, &count, found))
            tries = UINT32_MAX; /* 0 next */
    }
}

static enum hop_status check_wish(const struct hop_symmetry *group, const struct hop_subgroup_wish *wish,
                                  struct hop_diag *diag)
{
    bool seen[HOP_SYMMETRY_DEVICES] = {false};
    if (wish->point_count == 0)
        return hop_fail(diag, HOP_ERR_INVALID, "subgroups free on no point");
    for (uint32_t i = 0; i < wish->point_count; i++) {
        if (i >= group->n || wish->points[i] >= group->n || seen[wish->points[i]])
            return hop_fail(diag, HOP_ERR_INVALID, "subgroups free on points that are no different devices");
        seen[wish->points[i]] = true;
    }
    for (uint32_t k = 0; k < wish->order_count; k++) {
        if (wish->orders[k] >= 2 && wish->orders[k] <= HOP_SUBGROUP_ORDER)
            continue;
        return hop_fail(diag, HOP_ERR_INVALID, "subgroups of order %u\nan order from 2 to %d", wish->orders[k], HOP_SUBGROUP_ORDER);
    }
    if ((uint64_t)wish->order_count * wish->per_order > SUBGROUPS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "%u subgroups of each of %u orders\nat most %d in all", wish->per_order, wish->order_count, SUBGROUPS_MAX);
    return HOP_OK;
}

enum hop_status hop_symmetry_free_subgroups(const struct hop_symmetry *group, const struct hop_subgroup_wish *wish,
                                            struct hop_subgroups *found, struct hop_diag *diag)
{
    HOP_CHECK(check_wish(group, wish, diag));
    struct builder b = {.group = group, .wish = wish, .n = group->n, .rng = wish->seed};
    struct hop_subgroups fresh = {0};
    fresh.list = hop_arena_alloc(&fresh.arena, (size_t)wish->order_count * wish->per_order * sizeof *fresh.list);
    bool room = builder_init(&b) && !fresh.arena.failed;
    for (uint32_t k = 0; k < wish->order_count && room; k++) {
        sample_order(&b, wish->orders[k], &fresh);
        room = !fresh.arena.failed;
    }
    hop_arena_finish(&b.arena);
    if (!room) {
        hop_subgroups_finish(&fresh);
        return hop_fail_memory(diag);
    }
    *found = fresh;
    return HOP_OK;
}

void hop_subgroups_finish(struct hop_subgroups *found)
{
    hop_arena_finish(&found->arena);
}
