/* SPDX-License-Identifier: BSD-3-Clause */
/* The nearest places, by insertion into a short list: those of a place's own group, then those of near groups. */
#include "assign/near.h"

#include "hopcast/topology.h"

enum { NEAR = 16, FLAT_PLACES = 256, ALL_PLACES = 32 };

struct nearest { /* the least so far, ascending */
    uint32_t count;
    uint32_t which[NEAR];
    double distance[NEAR];
};

static void insert(struct nearest *list, uint32_t which, double distance)
{
    if (list->count == NEAR && distance >= list->distance[NEAR - 1])
        return;
    uint32_t k = list->count < NEAR ? list->count++ : NEAR - 1;
    for (; k > 0 && list->distance[k - 1] > distance; k--) {
        list->which[k] = list->which[k - 1];
        list->distance[k] = list->distance[k - 1];
    }
    list->which[k] = which;
    list->distance[k] = distance;
}

/* Of equally near ones those with the next numbers, round the end: so not everybody has the same ones. */
static struct nearest nearest_groups(const struct hop_places *places, uint32_t group)
{
    struct nearest list = {.count = 0};
    for (uint32_t k = 1; k < places->groups; k++) {
        uint32_t other = (group + k) % places->groups;
        insert(&list, other, places->outer[(size_t)group * places->groups + other]);
    }
    return list;
}

static void list_nearest(const struct hop_places *places, const struct nearest *groups, uint32_t place,
                         struct hop_near *near)
{
    uint32_t group = places->group[place], first = places->first[group], size = hop_group_size(places, group);
    struct nearest list = {.count = 0};
    for (uint32_t k = 1; k < size; k++) {
        uint32_t other = first + (place - first + k) % size;
        if (hop_place_room(places, other) > 0)
            insert(&list, other, hop_place_distance(places, place, other));
    }
    for (uint32_t g = 0; g < groups->count && list.count < NEAR; g++) {
        uint32_t h = groups->which[g];
        for (uint32_t p = places->first[h]; p < places->first[h + 1] && list.count < NEAR; p++) {
            if (hop_place_room(places, p) > 0)
                insert(&list, p, groups->distance[g]);
        }
    }
    uint32_t *to = near->place + (size_t)place * near->count;
    to[0] = place;
    for (uint32_t k = 1; k < near->count; k++)
        to[k] = k <= list.count ? list.which[k - 1] : place;
}

/* Distances of all pairs of few places, and all places near each of very few. */
bool hop_near_create(const struct hop_places *places, struct hop_near *near, struct hop_arena *arena)
{
    uint32_t count = places->count;
    *near = (struct hop_near){.count = count <= ALL_PLACES ? count : NEAR};
    near->place = hop_arena_alloc(arena, ((size_t)count * near->count + 1) * sizeof *near->place);
    if (count <= FLAT_PLACES)
        near->flat = hop_arena_alloc(arena, ((size_t)count * count + 1) * sizeof *near->flat);
    for (size_t k = 0; !arena->failed && near->flat && k < (size_t)count * count; k++)
        near->flat[k] = hop_place_distance(places, (uint32_t)(k / count), (uint32_t)(k % count));
    for (uint32_t g = 0; g < places->groups && !arena->failed; g++) {
        struct nearest groups = nearest_groups(places, g);
        for (uint32_t p = places->first[g]; p < places->first[g + 1]; p++) {
            for (uint32_t k = 0; k < count && near->count == count; k++)
                near->place[(size_t)p * count + k] = (p + k) % count;
            if (near->count < count)
                list_nearest(places, &groups, p, near);
        }
    }
    return !arena->failed;
}
