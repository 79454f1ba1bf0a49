/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The search for symmetries: individualisation and refinement (McKay 1981) of ordered partitions of the devices
 * (symmetry_refine.c).
 *
 * From the refined partition of all devices one device is set apart from its cell and the rest refined again, and so
 * on until all cells have one member: that is the path of the bases b0, b1, ... A symmetry that fixes the first bases
 * and carries the next one to j is found by walking the same way with j, and then any members of the same cells, in
 * their places; every step must split cells alike. Where both ways end, the k-th device of the one goes to the k-th of
 * the other. On trees every way that begins well ends well, so nothing is tried in vain.
 *
 * Levels are done from the last to the first: what is found fixes all earlier bases, and an orbit under the
 * symmetries known so far spares the search for its other points. A level that is given up is the last one done: with
 * all later ones it makes a subgroup.
 *
 * nauty does the same and more, but ends the process where memory cannot be had, which a library must not.
 */
#include "symmetry/symmetry_search.h"

enum {
    NO_POINT = UINT16_MAX,
    STEPS_PER_PAIR = 4000, /* default of the work limit, times n^2 (n at least LEAST) */
    TRIAL_PART = 20,       /* one image of one base may take so small a part of it */
    LEAST = 64
};

struct search {
    const struct hop_symmetry_problem *problem;
    uint32_t n, depth;      /* depth: how many bases there are */
    struct hop_arena arena; /* of the search */
    struct hop_arena kept;  /* of what is handed over */
    uint16_t *base;
    struct hop_partition *left, *right; /* left[i]: i bases are set apart; right[i]: their images */
    uint64_t *traces;                   /* traces[i]: a hash of the splits between left[i - 1] and left[i] */
    struct hop_refiner refiner;
    uint16_t *orbit;             /* being looked at */
    bool *inside;                /* it */
    uint32_t *before, *by;       /* how it was found */
    uint16_t *image;             /* a permutation being looked at */
    uint64_t limit, trial_limit; /* of refiner.work */
    bool complete;
    uint16_t **generators; /* permutations; at a level, those of all levels from it on */
    uint32_t generator_count, generator_capacity;
    uint16_t *parent;                  /* orbits under all generators, as a forest: a root is its own parent */
    bool *hopeless;                    /* per root: no symmetry carries the base of this level there */
    struct hop_symmetry_level *levels; /* one per base, also where the orbit is the base alone */
};

/* ---- bases ---- */

/* The path of the bases: always the lowest device that does not stand alone. */
static bool find_bases(struct search *s)
{
    struct hop_partition *p = &s->left[0];
    if (!hop_partition_init(p, s->n, &s->arena))
        return false;
    s->traces[0] = hop_refiner_start(&s->refiner, p);
    for (uint32_t device = 0; device < s->n; device++) {
        p = &s->left[s->depth];
        if (p->length[p->cell[device]] == 1)
            continue;
        if (!hop_partition_init(&s->left[s->depth + 1], s->n, &s->arena) ||
            !hop_partition_init(&s->right[s->depth + 1], s->n, &s->arena))
            return false;
        s->base[s->depth++] = (uint16_t)device;
        s->traces[s->depth] = hop_refiner_set_apart(&s->refiner, p, &s->left[s->depth], device);
    }
    s->refiner.work = 0;
    return true;
}

/* ---- one symmetry ---- */

static uint64_t pairs_of(uint32_t n)
{
    return n < LEAST ? LEAST * LEAST : (uint64_t)n * n;
}

static bool spent(const struct search *s)
{
    return s->refiner.work > s->trial_limit || s->refiner.work > s->limit;
}

/* Whether the order of a last partition on the right is the image of that on the left. */
static bool is_symmetry(struct search *s)
{
    const uint64_t *weights = s->problem->weights;
    for (uint32_t k = 0; k < s->n; k++)
        s->image[s->left[s->depth].order[k]] = s->right[s->depth].order[k];
    s->refiner.work += (uint64_t)s->n * s->n;
    for (uint32_t i = 0; i < s->n; i++) {
        for (uint32_t j = 0; j < s->n; j++) {
            if (weights[i * s->n + j] != weights[s->image[i] * s->n + s->image[j]])
                return false;
        }
    }
    return s->problem->holds(s->problem->context, s->image);
}

static bool go_on(struct search *s, uint32_t at);

/* Continues from right[at], or left[at], with an image for the base of level `at`. No deeper than n. */
static bool go_with(struct search *s, uint32_t at, const struct hop_partition *from, uint32_t image)
{
    return hop_refiner_set_apart(&s->refiner, from, &s->right[at + 1], image) == s->traces[at + 1] &&
           s->right[at + 1].cells == s->left[at + 1].cells && go_on(s, at + 1);
}

static bool go_on(struct search *s, uint32_t at)
{
    if (at == s->depth)
        return is_symmetry(s);
    const struct hop_partition *p = &s->right[at];
    uint32_t start = s->left[at].cell[s->base[at]];
    if (p->cell[s->base[at]] == start && go_with(s, at, p, s->base[at])) /* the image of fewest moves first */
        return true;
    for (uint32_t k = 0; k < p->length[start] && !spent(s); k++) {
        if (p->order[start + k] != s->base[at] && go_with(s, at, p, p->order[start + k]))
            return true;
    }
    return false;
}

/* ---- orbits ---- */

static uint16_t root_of(const struct search *s, uint16_t x)
{
    while (s->parent[x] != x)
        x = s->parent[x] = s->parent[s->parent[x]];
    return x;
}

static void join(struct search *s, uint16_t a, uint16_t b)
{
    a = root_of(s, a);
    b = root_of(s, b);
    s->hopeless[a] = s->hopeless[a] || s->hopeless[b];
    s->parent[b] = a;
}

/* The orbit of a point under the generators, in the order in which it is found: orbit[k] is the image of orbit[before[k]]
 * under the generator by[k]. */
static uint32_t find_orbit(const struct search *s, uint16_t point)
{
    uint32_t count = 1;
    memset(s->inside, 0, s->n * sizeof *s->inside);
    s->orbit[0] = point;
    s->inside[point] = true;
    for (uint32_t k = 0; k < count; k++) {
        for (uint32_t g = 0; g < s->generator_count; g++) {
            uint16_t image = s->generators[g][s->orbit[k]];
            if (s->inside[image])
                continue;
            s->inside[image] = true;
            s->before[count] = k;
            s->by[count] = g;
            s->orbit[count++] = image;
        }
    }
    return count;
}

/* Fills a level from the generators: the orbit of its base and a symmetry to each of its points. */
static bool fill_level(struct search *s, uint32_t index)
{
    struct hop_symmetry_level *level = &s->levels[index];
    uint32_t n = s->n;
    level->base = s->base[index];
    level->count = find_orbit(s, level->base);
    level->points = hop_arena_alloc(&s->kept, level->count * sizeof *level->points);
    level->where = hop_arena_alloc(&s->kept, n * sizeof *level->where);
    level->elements = hop_arena_alloc(&s->kept, (size_t)level->count * n * sizeof *level->elements);
    if (s->kept.failed)
        return false;
    for (uint32_t x = 0, at = 0; x < n; x++) {
        level->where[x] = s->inside[x] ? (uint16_t)at : NO_POINT;
        if (s->inside[x])
            level->points[at++] = (uint16_t)x;
    }
    for (uint32_t k = 0; k < level->count; k++) {
        uint16_t *element = level->elements + (size_t)level->where[s->orbit[k]] * n;
        const uint16_t *before = level->elements + (size_t)level->where[s->orbit[s->before[k]]] * n;
        for (uint32_t x = 0; x < n; x++)
            element[x] = k ? s->generators[s->by[k]][before[x]] : (uint16_t)x;
    }
    return true;
}

static bool add_generator(struct search *s, const uint16_t *image)
{
    uint16_t *copy = hop_arena_copy(&s->arena, image, s->n * sizeof *copy);
    if (!copy || !hop_grow(&s->generators, &s->generator_capacity, s->generator_count + 1, sizeof *s->generators))
        return false;
    s->generators[s->generator_count++] = copy;
    for (uint32_t x = 0; x < s->n; x++)
        join(s, (uint16_t)x, copy[x]);
    return true;
}

/* ---- levels ---- */

/* Looks for generators of a level, those of all later ones being known. */
static bool search_level(struct search *s, uint32_t level)
{
    const struct hop_partition *p = &s->left[level];
    uint16_t base = s->base[level], cell = p->cell[base];
    memset(s->hopeless, 0, s->n * sizeof *s->hopeless);
    for (uint32_t j = 0; j < s->n; j++) {
        uint16_t root = root_of(s, (uint16_t)j);
        if (p->cell[j] != cell || root == root_of(s, base) || s->hopeless[root])
            continue;
        s->trial_limit = s->refiner.work + s->limit / TRIAL_PART;
        if (!spent(s) && go_with(s, level, p, j)) {
            if (!add_generator(s, s->image))
                return false;
        } else {
            s->complete = s->complete && !spent(s);
            s->hopeless[root] = true;
        }
    }
    return true;
}

/* ---- all ---- */

static bool search_init(struct search *s)
{
    uint32_t n = s->n;
    s->base = hop_arena_alloc(&s->arena, n * sizeof *s->base);
    s->left = hop_arena_alloc(&s->arena, (n + 1) * sizeof *s->left);
    s->right = hop_arena_alloc(&s->arena, (n + 1) * sizeof *s->right);
    s->traces = hop_arena_alloc(&s->arena, (n + 1) * sizeof *s->traces);
    s->orbit = hop_arena_alloc(&s->arena, n * sizeof *s->orbit);
    s->inside = hop_arena_alloc(&s->arena, n * sizeof *s->inside);
    s->before = hop_arena_alloc(&s->arena, n * sizeof *s->before);
    s->by = hop_arena_alloc(&s->arena, n * sizeof *s->by);
    s->image = hop_arena_alloc(&s->arena, n * sizeof *s->image);
    s->parent = hop_arena_alloc(&s->arena, n * sizeof *s->parent);
    s->hopeless = hop_arena_alloc(&s->arena, n * sizeof *s->hopeless);
    s->levels = hop_arena_alloc(&s->kept, n * sizeof *s->levels);
    for (uint32_t x = 0; x < n && s->parent; x++)
        s->parent[x] = (uint16_t)x;
    return hop_refiner_init(&s->refiner, n, s->problem->weights, &s->arena) && !s->kept.failed;
}

static bool find_levels(struct search *s)
{
    if (!find_bases(s))
        return false;
    for (uint32_t level = s->depth; level-- > 0 && s->complete;) {
        if (!search_level(s, level) || !fill_level(s, level))
            return false;
    }
    return true;
}

enum hop_status hop_symmetry_search(const struct hop_symmetry_problem *problem, struct hop_symmetry *group,
                                    struct hop_diag *diag)
{
    struct search s = {.problem = problem, .n = problem->n, .complete = true};
    s.limit = problem->work_limit ? problem->work_limit : STEPS_PER_PAIR * pairs_of(s.n);
    bool found = search_init(&s) && find_levels(&s);
    free(s.generators);
    hop_arena_finish(&s.arena);
    if (!found) {
        hop_arena_finish(&s.kept);
        return hop_fail_memory(diag);
    }
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s.depth; i++) {
        if (s.levels[i].count > 1)
            s.levels[kept++] = s.levels[i];
    }
    *group = (struct hop_symmetry){
        .n = s.n, .complete = s.complete, .level_count = kept, .levels = s.levels, .arena = s.kept};
    return HOP_OK;
}
