/* SPDX-License-Identifier: BSD-3-Clause */
/* Permutations of places that keep everything, place by place with a step back where one cannot be continued. */
#include "assign/interchange.h"

enum { PLACES = HOP_ASSIGN_EXACT };
#define SAME 1e-12 /* of a distance: what differs by less has been rounded */

/* ---- kinds ---- */

/* Places of one group stay together where that matters. */
static void number_distances(const struct hop_assign *problem, struct hop_place_orbits *orbits)
{
    const struct hop_places *places = problem->places;
    double all[PLACES * PLACES];
    uint32_t count = 0;
    for (uint32_t p = 0; p < places->count; p++) {
        for (uint32_t q = 0; q < p; q++)
            all[count++] = hop_place_distance(places, p, q);
    }
    qsort(all, count, sizeof *all, hop_ascending_double);
    bool groups = problem->graph->near || places->group_room;
    for (uint32_t p = 0; p < places->count; p++) {
        for (uint32_t q = 0; q < p; q++) {
            double distance = hop_place_distance(places, p, q);
            uint16_t kind = 0;
            for (uint32_t k = 1; k < count && all[k] <= distance; k++)
                kind += all[k] - all[k - 1] > SAME * all[k];
            kind = (uint16_t)(2 * kind + (groups && places->group[p] == places->group[q]));
            orbits->kind[p][q] = orbits->kind[q][p] = kind;
        }
    }
}

struct hop_place_orbits *hop_place_orbits_create(const struct hop_assign *problem)
{
    struct hop_place_orbits *orbits = calloc(1, sizeof *orbits);
    if (!orbits)
        return NULL;
    orbits->count = problem->places->count;
    number_distances(problem, orbits);
    for (uint16_t p = 0; p < orbits->count; p++) {
        uint16_t like = 0;
        while (!hop_assign_same_duties(problem, problem->graph->count, p, like))
            like++;
        orbits->kind[p][p] = like;
    }
    return orbits;
}

/* ---- permutations ---- */

struct image {
    const struct hop_place_orbits *orbits;
    uint8_t from[PLACES], to[PLACES]; /* pairs so far */
    uint32_t count;
    uint32_t mapped, used; /* bits of those in from, and in to */
};

static bool add(struct image *image, uint32_t from, uint32_t to)
{
    const struct hop_place_orbits *orbits = image->orbits;
    if (orbits->kind[from][from] != orbits->kind[to][to])
        return false;
    for (uint32_t k = 0; k < image->count; k++) {
        if (orbits->kind[from][image->from[k]] != orbits->kind[to][image->to[k]])
            return false;
    }
    image->from[image->count] = (uint8_t)from;
    image->to[image->count++] = (uint8_t)to;
    image->mapped |= 1u << from;
    image->used |= 1u << to;
    return true;
}

static void drop(struct image *image)
{
    image->count--;
    image->mapped &= ~(1u << image->from[image->count]);
    image->used &= ~(1u << image->to[image->count]);
}

static bool complete(struct image *image)
{
    if (image->count == image->orbits->count)
        return true;
    uint32_t from = (uint32_t)__builtin_ctz(~image->mapped);
    for (uint32_t to = 0; to < image->orbits->count; to++) {
        if (image->used >> to & 1 || !add(image, from, to))
            continue;
        if (complete(image))
            return true;
        drop(image);
    }
    return false;
}

static bool equivalent(const struct hop_place_orbits *orbits, uint32_t taken, uint32_t p, uint32_t q)
{
    struct image image = {.orbits = orbits};
    for (uint32_t bits = taken; bits; bits &= bits - 1) {
        uint32_t fixed = (uint32_t)__builtin_ctz(bits);
        add(&image, fixed, fixed);
    }
    return add(&image, p, q) && complete(&image);
}

const uint8_t *hop_place_orbits_of(struct hop_place_orbits *orbits, uint32_t taken)
{
    uint8_t *lowest = orbits->lowest[taken];
    if (orbits->known[taken])
        return lowest;
    for (uint8_t p = 0; p < orbits->count; p++) {
        lowest[p] = p;
        for (uint8_t q = 0; q < p && lowest[p] == p && !(taken >> p & 1); q++) {
            if (lowest[q] == q && !(taken >> q & 1) && equivalent(orbits, taken, p, q))
                lowest[p] = q;
        }
    }
    orbits->known[taken] = true;
    return lowest;
}
