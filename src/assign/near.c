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

struct members { /* places by group: those of group g from first[g] on */
    uint32_t *first, *place;
};

static bool list_members(const struct hop_places *places, struct members *members)
{
    members->first = calloc((size_t)places->groups + 2, sizeof *members->first);
    members->place = malloc(((size_t)places->count + 1) * sizeof *members->place);
    if (!members->first || !members->place)
        return false;
    for (uint32_t p = 0; p < places->count; p++)
        members->first[places->group[p] + 2]++;
    for (uint32_t g = 0; g < places->groups; g++)
        members->first[g + 2] += members->first[g + 1];
    for (uint32_t p = 0; p < places->count; p++)
        members->place[members->first[places->group[p] + 1]++] = p;
    return true;
}

static void list_nearest(const struct hop_places *places, const struct members *members, const struct nearest *groups,
                         uint32_t place, struct hop_near *near)
{
    uint32_t group = places->group[place];
    struct nearest list = {.count = 0};
    for (uint32_t k = 0, size = members->first[group + 1] - members->first[group]; k < size; k++) {
        uint32_t other = members->place[members->first[group] + (places->number[place] + k) % size];
        if (hop_place_room(places, other) > 0 && other != place)
            insert(&list, other, hop_place_distance(places, place, other));
    }
    for (uint32_t g = 0; g < groups->count && list.count < NEAR; g++) {
        uint32_t h = groups->which[g];
        for (uint32_t k = members->first[h]; k < members->first[h + 1] && list.count < NEAR; k++) {
            if (hop_place_room(places, members->place[k]) > 0)
                insert(&list, members->place[k], groups->distance[g]);
        }
    }
    uint32_t *to = near->place + (size_t)place * near->count;
    to[0] = place;
    for (uint32_t k = 1; k < near->count; k++)
        to[k] = k <= list.count ? list.which[k - 1] : place;
}

/* Distances of all pairs, and no lists where everybody has everything near. */
static bool fill_flat(const struct hop_places *places, struct hop_near *near)
{
    uint32_t count = places->count;
    near->flat = malloc(((size_t)count * count + 1) * sizeof *near->flat);
    for (size_t k = 0; near->flat && k < (size_t)count * count; k++)
        near->flat[k] = hop_place_distance(places, (uint32_t)(k / count), (uint32_t)(k % count));
    return near->flat != NULL;
}

bool hop_near_create(const struct hop_places *places, struct hop_near *near)
{
    *near = (struct hop_near){.count = places->count <= ALL_PLACES ? places->count : NEAR};
    near->place = malloc(((size_t)places->count * near->count + 1) * sizeof *near->place);
    struct members members = {0};
    struct nearest *groups = malloc(((size_t)places->groups + 1) * sizeof *groups);
    bool made = near->place && groups && list_members(places, &members) &&
                (places->count > FLAT_PLACES || fill_flat(places, near));
    for (uint32_t g = 0; g < places->groups && made; g++)
        groups[g] = nearest_groups(places, g);
    for (uint32_t p = 0; p < places->count && made; p++) {
        if (near->count == places->count) {
            for (uint32_t k = 0; k < places->count; k++)
                near->place[(size_t)p * near->count + k] = (p + k) % places->count;
        } else {
            list_nearest(places, &members, &groups[places->group[p]], p, near);
        }
    }
    free(groups);
    free(members.first);
    free(members.place);
    return made;
}

void hop_near_finish(struct hop_near *near)
{
    free(near->place);
    free(near->flat);
    *near = (struct hop_near){0};
}
