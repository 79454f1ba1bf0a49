/* SPDX-License-Identifier: BSD-3-Clause */
/* A group of symmetries as a chain of stabilizers: its order, its elements, one of them at random. */
#include "symmetry/symmetry_search.h"

void hop_symmetry_finish(struct hop_symmetry *group)
{
    hop_arena_finish(&group->arena);
}

double hop_symmetry_order(const struct hop_symmetry *group)
{
    double order = 1;
    for (uint32_t i = 0; i < group->level_count; i++)
        order *= group->levels[i].count;
    return order;
}

bool hop_symmetry_contains(const struct hop_symmetry *group, const uint16_t *permutation)
{
    uint16_t rest[HOP_SYMMETRY_DEVICES], inverse[HOP_SYMMETRY_DEVICES];
    uint32_t n = group->n;
    memcpy(rest, permutation, n * sizeof *rest);
    for (uint32_t i = 0; i < group->level_count; i++) {
        const struct hop_symmetry_level *level = &group->levels[i];
        uint16_t image = rest[level->base];
        if (image >= n || level->where[image] == UINT16_MAX)
            return false;
        const uint16_t *element = level->elements + (size_t)level->where[image] * n;
        for (uint32_t x = 0; x < n; x++)
            inverse[element[x]] = (uint16_t)x;
        for (uint32_t x = 0; x < n; x++) {
            if (rest[x] >= n)
                return false;
            rest[x] = inverse[rest[x]];
        }
    }
    for (uint32_t x = 0; x < n; x++) {
        if (rest[x] != x)
            return false;
    }
    return true;
}

uint32_t hop_symmetry_draw(uint64_t *rng, uint32_t limit)
{
    uint64_t value, most = UINT64_MAX - UINT64_MAX % limit; /* a multiple of limit */
    do
        value = hop_draw(rng);
    while (value >= most);
    return (uint32_t)(value % limit);
}

void hop_symmetry_random(const struct hop_symmetry *group, uint64_t *rng, uint16_t *permutation)
{
    for (uint32_t x = 0; x < group->n; x++)
        permutation[x] = (uint16_t)x;
    for (uint32_t i = group->level_count; i-- > 0;) {
        const struct hop_symmetry_level *level = &group->levels[i];
        const uint16_t *element = level->elements + (size_t)hop_symmetry_draw(rng, level->count) * group->n;
        for (uint32_t x = 0; x < group->n; x++)
            permutation[x] = element[permutation[x]];
    }
}

/* The walk over all products, the images of the first base ascending, then those of the second ... */
struct listing {
    const struct hop_symmetry *group;
    uint16_t *products; /* one per level and one more: of the elements chosen so far */
    uint16_t *choices;  /* n per level: places in the orbit, by ascending image */
    uint16_t *next;     /* where to write */
};

static void sort_choices(const struct hop_symmetry_level *level, const uint16_t *product, uint16_t *choices)
{
    for (uint32_t k = 0; k < level->count; k++) {
        uint32_t at = k;
        for (; at > 0 && product[level->points[choices[at - 1]]] > product[level->points[k]]; at--)
            choices[at] = choices[at - 1];
        choices[at] = (uint16_t)k;
    }
}

/* No deeper than log2 of the limit. */
static void list_from(struct listing *listing, uint32_t index)
{
    uint32_t n = listing->group->n;
    const uint16_t *product = listing->products + (size_t)index * n;
    if (index == listing->group->level_count) {
        memcpy(listing->next, product, n * sizeof *product);
        listing->next += n;
        return;
    }
    const struct hop_symmetry_level *level = &listing->group->levels[index];
    uint16_t *choices = listing->choices + (size_t)index * n, *further = listing->products + (size_t)(index + 1) * n;
    sort_choices(level, product, choices);
    for (uint32_t k = 0; k < level->count; k++) {
        const uint16_t *element = level->elements + (size_t)choices[k] * n;
        for (uint32_t x = 0; x < n; x++)
            further[x] = product[element[x]];
        list_from(listing, index + 1);
    }
}

enum hop_status hop_symmetry_list(const struct hop_symmetry *group, uint32_t limit, uint16_t **permutations,
                                  uint32_t *count, struct hop_diag *diag)
{
    double order = hop_symmetry_order(group);
    if (order > limit)
        return hop_fail(diag, HOP_ERR_LIMIT, "%g symmetries among %u devices\nat most %u symmetries: fewer devices", order, group->n, limit);
    uint32_t n = group->n;
    struct hop_arena arena = {0};
    struct listing listing = {.group = group};
    listing.products = hop_arena_alloc(&arena, (size_t)(group->level_count + 1) * n * sizeof *listing.products);
    listing.choices = hop_arena_alloc(&arena, (size_t)(group->level_count + 1) * n * sizeof *listing.choices);
    uint16_t *list = malloc((size_t)order * n * sizeof *list);
    if (arena.failed || !list) {
        free(list);
        hop_arena_finish(&arena);
        return hop_fail_memory(diag);
    }
    for (uint32_t x = 0; x < n; x++)
        listing.products[x] = (uint16_t)x;
    listing.next = list;
    list_from(&listing, 0);
    hop_arena_finish(&arena);
    *permutations = list;
    *count = (uint32_t)order;
    return HOP_OK;
}
