/* SPDX-License-Identifier: BSD-3-Clause */
/* Sets of groups are halved down to single ones, and those down to single places. */
#include "assign/place_tree.h"

#include "assign/halve.h"
#include "hopcast/topology.h"

enum { SAMPLES = 16 /* places of a node that stand for all */ };

/* ---- the tree ---- */

struct build {
    struct hop_place_tree *tree;
    uint32_t *first;             /* of a group, in members */
    uint32_t *members;           /* places with room by group */
    uint32_t *groups;            /* those with room, halved */
    uint32_t *group_begin;       /* of a node: its first in groups, HOP_NONE: within one group */
    uint32_t *number, *place_of; /* work: numbers in a group, and whose they are */
    uint64_t *room;
    double *sum, *near;
    struct hop_arena arena;
};

static uint32_t group_size(const struct build *b, uint32_t group)
{
    return b->first[group + 1] - b->first[group];
}

static void add_halves(struct build *b, uint32_t node, uint32_t middle, const uint64_t room[2], double far)
{
    struct hop_place_tree *tree = b->tree;
    struct hop_place_node *it = &tree->nodes[node];
    it->half = tree->count;
    it->apart = far;
    tree->nodes[tree->count++] = (struct hop_place_node){.begin = it->begin, .end = middle, .room = room[0]};
    tree->nodes[tree->count++] = (struct hop_place_node){.begin = middle, .end = it->end, .room = room[1]};
}

static uint64_t cut_to_group(const struct hop_places *places, uint32_t group, uint64_t room)
{
    return places->group_room && places->group_room[group] < room ? places->group_room[group] : room;
}

/* Of a group's places together. */
static uint64_t room_of(const struct build *b, uint32_t group)
{
    const struct hop_places *places = b->tree->places;
    uint64_t room = 0;
    for (uint32_t m = b->first[group]; m < b->first[group + 1]; m++)
        room += places->room[b->members[m]];
    return cut_to_group(places, group, room);
}

static bool halve_groups(struct build *b, uint32_t node, uint32_t count)
{
    const struct hop_places *places = b->tree->places;
    uint32_t *which = b->groups + b->group_begin[node];
    for (uint32_t k = 0; k < count; k++)
        b->room[k] = room_of(b, which[k]);
    struct hop_units u = {.count = count,
                          .which = which,
                          .room = b->room,
                          .table = places->outer,
                          .stride = places->groups,
                          .sum = b->sum,
                          .near = b->near,
                          .arena = &b->arena};
    uint32_t end = hop_units_halve(&u), middle = b->tree->nodes[node].begin;
    if (end == 0)
        return false;
    uint64_t room[2] = {0, 0};
    for (uint32_t k = 0; k < count; k++) {
        room[k >= end] += u.room[k];
        middle += k < end ? group_size(b, which[k]) : 0;
    }
    b->group_begin[b->tree->count] = b->group_begin[node];
    b->group_begin[b->tree->count + 1] = b->group_begin[node] + end;
    add_halves(b, node, middle, room, u.apart);
    return true;
}

static bool halve_places(struct build *b, uint32_t node)
{
    const struct hop_places *places = b->tree->places;
    struct hop_place_node *it = &b->tree->nodes[node];
    uint32_t *order = b->tree->order + it->begin, group = places->group[order[0]];
    struct hop_units u = {.count = it->end - it->begin,
                          .which = b->number,
                          .room = b->room,
                          .table = places->inner[group],
                          .stride = places->size[group],
                          .sum = b->sum,
                          .near = b->near,
                          .arena = &b->arena};
    for (uint32_t k = 0; k < u.count; k++) {
        b->number[k] = places->number[order[k]];
        b->place_of[b->number[k]] = order[k];
        b->room[k] = places->room[order[k]];
    }
    uint32_t end = hop_units_halve(&u);
    if (end == 0)
        return false;
    uint64_t room[2] = {0, 0};
    for (uint32_t k = 0; k < u.count; k++) {
        room[k >= end] += b->room[k];
        order[k] = b->place_of[b->number[k]];
    }
    for (int half = 0; half < 2; half++)
        room[half] = cut_to_group(places, group, room[half]);
    b->group_begin[b->tree->count] = b->group_begin[b->tree->count + 1] = HOP_NONE;
    add_halves(b, node, it->begin + end, room, u.apart);
    return true;
}

/* Of a node with several groups: how many; else 0, and its places are put in order. */
static uint32_t enter_group(struct build *b, uint32_t node)
{
    const struct hop_place_node *it = &b->tree->nodes[node];
    if (b->group_begin[node] == HOP_NONE)
        return 0;
    const uint32_t *groups = b->groups + b->group_begin[node];
    uint32_t count = 0, places = 0;
    while (places < it->end - it->begin)
        places += group_size(b, groups[count++]);
    if (count > 1)
        return count;
    memcpy(b->tree->order + it->begin, b->members + b->first[groups[0]], places * sizeof *b->members);
    return 0;
}

static void list_groups(struct build *b)
{
    const struct hop_places *places = b->tree->places;
    struct hop_place_node root = {0};
    for (uint32_t p = 0; p < places->count; p++)
        b->first[places->group[p] + 2] += hop_place_room(places, p) > 0;
    for (uint32_t g = 0, count = 0; g < places->groups; g++) {
        if (b->first[g + 2] > 0)
            b->groups[count++] = g;
        b->first[g + 2] += b->first[g + 1];
    }
    for (uint32_t p = 0; p < places->count; p++) {
        if (hop_place_room(places, p) == 0)
            continue;
        b->members[b->first[places->group[p] + 1]++] = p;
        root.end++;
    }
    for (uint32_t g = 0; g < places->groups; g++)
        root.room += room_of(b, g);
    b->tree->count = root.end > 0;
    b->tree->nodes[0] = root;
    b->group_begin[0] = 0;
}

bool hop_place_tree_create(const struct hop_places *places, struct hop_place_tree *tree)
{
    size_t count = (size_t)places->count + 1, groups = (size_t)places->groups + 1;
    size_t most = count > groups ? count : groups;
    *tree = (struct hop_place_tree){.places = places,
                                    .order = malloc(count * sizeof *tree->order),
                                    .nodes = malloc(2 * count * sizeof *tree->nodes)};
    struct build b = {.tree = tree,
                      .first = calloc(groups + 1, sizeof *b.first),
                      .members = malloc(count * sizeof *b.members),
                      .groups = malloc(groups * sizeof *b.groups),
                      .group_begin = malloc(2 * count * sizeof *b.group_begin),
                      .number = malloc(count * sizeof *b.number),
                      .place_of = malloc(count * sizeof *b.place_of),
                      .room = malloc(most * sizeof *b.room),
                      .sum = malloc(most * sizeof *b.sum),
                      .near = malloc(most * sizeof *b.near)};
    bool made = tree->order && tree->nodes && b.first && b.members && b.groups && b.group_begin && b.number &&
                b.place_of && b.room && b.sum && b.near;
    if (made)
        list_groups(&b);
    for (uint32_t node = 0; made && node < tree->count; node++) {
        uint32_t several = enter_group(&b, node);
        if (several > 0)
            made = halve_groups(&b, node, several);
        else if (tree->nodes[node].end - tree->nodes[node].begin > 1)
            made = halve_places(&b, node);
    }
    hop_arena_finish(&b.arena);
    free(b.first);
    free(b.members);
    free(b.groups);
    free(b.group_begin);
    free(b.number);
    free(b.place_of);
    free(b.room);
    free(b.sum);
    free(b.near);
    return made;
}

void hop_place_tree_finish(struct hop_place_tree *tree)
{
    free(tree->order);
    free(tree->nodes);
    *tree = (struct hop_place_tree){0};
}

double hop_place_tree_distance(const struct hop_place_tree *tree, uint32_t a, uint32_t b)
{
    const struct hop_place_node *x = &tree->nodes[a], *y = &tree->nodes[b];
    double sum = 0;
    for (uint32_t j = 0; j < SAMPLES; j++) {
        uint32_t p = tree->order[x->begin + (uint32_t)((uint64_t)(x->end - x->begin) * (2 * j + 1) / (2 * SAMPLES))];
        for (uint32_t k = 0; k < SAMPLES; k++) {
            uint32_t at = (uint32_t)((uint64_t)(y->end - y->begin) * (2 * k + 1) / (2 * SAMPLES));
            sum += hop_place_distance(tree->places, p, tree->order[y->begin + at]);
        }
    }
    return sum / (SAMPLES * SAMPLES);
}
