/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Halving by growth: from the place that is farthest from all others, always the nearest to those already there. Where
 * the next one is a step farther than those before, a level of the machine ends.
 */
#include "plan/assign_tree.h"

#include <math.h>

#include "hopcast/topology.h"

enum { SAMPLES = 4 };
#define STEP 0.1 /* of the mean distance: less is no level's end */

/* What is halved: groups, or places of one group; their distances are those of a table. */
struct units {
    uint32_t count;
    uint32_t *which; /* indices of the table; put in order */
    uint64_t *room;
    const double *table;
    uint32_t stride;
    double *sum; /* of distances to those that are chosen, or to all */
    double apart;
};

static double between(const struct units *u, uint32_t a, uint32_t b)
{
    return a == b ? 0 : u->table[(size_t)u->which[a] * u->stride + u->which[b]];
}

static void exchange_units(struct units *u, uint32_t a, uint32_t b)
{
    uint32_t which = u->which[a];
    uint64_t room = u->room[a];
    double sum = u->sum[a];
    u->which[a] = u->which[b];
    u->room[a] = u->room[b];
    u->sum[a] = u->sum[b];
    u->which[b] = which;
    u->room[b] = room;
    u->sum[b] = sum;
}

static uint32_t farthest(const struct units *u)
{
    uint32_t far = 0;
    double most = -1;
    for (uint32_t a = 0; a < u->count; a++) {
        double sum = 0;
        for (uint32_t b = 0; b < u->count; b++)
            sum += between(u, a, b);
        if (sum > most) {
            most = sum;
            far = a;
        }
    }
    return far;
}

/* Puts the units into the order of growth; jump[k]: mean distance of the k-th to those before. */
static void grow(struct units *u, double *jump)
{
    exchange_units(u, 0, farthest(u));
    for (uint32_t a = 0; a < u->count; a++)
        u->sum[a] = 0;
    for (uint32_t k = 1; k < u->count; k++) {
        uint32_t next = k;
        for (uint32_t a = k; a < u->count; a++) {
            u->sum[a] += between(u, k - 1, a);
            if (u->sum[a] < u->sum[next] || (u->sum[a] == u->sum[next] && u->which[a] < u->which[next]))
                next = a;
        }
        exchange_units(u, k, next);
        jump[k] = u->sum[k] / k;
    }
}

/* Where the first half ends: at the largest step between a third and two thirds of the room, or in the middle. */
static uint32_t cut(const struct units *u, const double *jump)
{
    double total = 0, before = 0, best = -INFINITY;
    uint32_t at = 1;
    for (uint32_t k = 0; k < u->count; k++)
        total += (double)u->room[k];
    for (uint32_t k = 1; k < u->count; k++) {
        before += (double)u->room[k - 1];
        double off = fabs(before / total - 0.5) * 2, step = k > 1 ? jump[k] - jump[k - 1] : 0;
        double score = off > 0.34 || step < STEP * jump[k] ? -off : step / jump[k] + 1 - off;
        if (score > best + 1e-9) {
            best = score;
            at = k;
        }
    }
    return at;
}

/* Mean distance across, less the mean within. */
static double apart(const struct units *u, uint32_t end)
{
    double across = 0, within = 0;
    size_t pairs = 0;
    for (uint32_t a = 0; a < u->count; a++) {
        for (uint32_t b = 0; b < a; b++) {
            bool same = (a < end) == (b < end);
            pairs += same;
            *(same ? &within : &across) += between(u, a, b);
        }
    }
    across /= (double)end * (u->count - end);
    return hop_max(across - (pairs ? within / (double)pairs : 0), 1e-3 * across);
}

static uint32_t halve(struct units *u, double *jump)
{
    grow(u, jump);
    uint32_t end = cut(u, jump);
    u->apart = apart(u, end);
    return end;
}

/* ---- the tree ---- */

struct build {
    struct hop_place_tree *tree;
    uint32_t *first;             /* of a group, in members */
    uint32_t *members;           /* places with room by group */
    uint32_t *groups;            /* those with room, halved */
    uint32_t *group_begin;       /* of a node: its first in groups, HOP_NONE: within one group */
    uint32_t *number, *place_of; /* work: numbers in a group, and whose they are */
    uint64_t *room;
    double *sum, *jump;
};

static uint32_t group_size(const struct build *b, uint32_t group)
{
    return b->first[group + 1] - b->first[group];
}

static void add_halves(struct build *b, uint32_t node, uint32_t middle, uint64_t room, double far)
{
    struct hop_place_tree *tree = b->tree;
    struct hop_place_node *it = &tree->nodes[node];
    it->half = tree->count;
    it->apart = far;
    tree->nodes[tree->count++] = (struct hop_place_node){.begin = it->begin, .end = middle, .room = room};
    tree->nodes[tree->count++] = (struct hop_place_node){.begin = middle, .end = it->end, .room = it->room - room};
}

static void halve_groups(struct build *b, uint32_t node, uint32_t count)
{
    const struct hop_places *places = b->tree->places;
    uint32_t *which = b->groups + b->group_begin[node];
    for (uint32_t k = 0; k < count; k++) {
        b->room[k] = 0;
        for (uint32_t m = b->first[which[k]]; m < b->first[which[k] + 1]; m++)
            b->room[k] += places->room[b->members[m]];
    }
    struct units u = {.count = count,
                      .which = which,
                      .room = b->room,
                      .table = places->outer,
                      .stride = places->groups,
                      .sum = b->sum};
    uint32_t end = halve(&u, b->jump), middle = b->tree->nodes[node].begin;
    uint64_t room = 0;
    for (uint32_t k = 0; k < end; k++) {
        room += u.room[k];
        middle += group_size(b, which[k]);
    }
    b->group_begin[b->tree->count] = b->group_begin[node];
    b->group_begin[b->tree->count + 1] = b->group_begin[node] + end;
    add_halves(b, node, middle, room, u.apart);
}

static void halve_places(struct build *b, uint32_t node)
{
    const struct hop_places *places = b->tree->places;
    struct hop_place_node *it = &b->tree->nodes[node];
    uint32_t *order = b->tree->order + it->begin, group = places->group[order[0]];
    struct units u = {.count = it->end - it->begin,
                      .which = b->number,
                      .room = b->room,
                      .table = places->inner[group],
                      .stride = places->size[group],
                      .sum = b->sum};
    for (uint32_t k = 0; k < u.count; k++) {
        b->number[k] = places->number[order[k]];
        b->place_of[b->number[k]] = order[k];
        b->room[k] = places->room[order[k]];
    }
    uint32_t end = halve(&u, b->jump);
    uint64_t room = 0;
    for (uint32_t k = 0; k < end; k++)
        room += b->room[k];
    for (uint32_t k = 0; k < u.count; k++)
        order[k] = b->place_of[b->number[k]];
    b->group_begin[b->tree->count] = b->group_begin[b->tree->count + 1] = HOP_NONE;
    add_halves(b, node, it->begin + end, room, u.apart);
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
        b->first[places->group[p] + 2] += places->room[p] > 0;
    for (uint32_t g = 0, count = 0; g < places->groups; g++) {
        if (b->first[g + 2] > 0)
            b->groups[count++] = g;
        b->first[g + 2] += b->first[g + 1];
    }
    for (uint32_t p = 0; p < places->count; p++) {
        if (places->room[p] == 0)
            continue;
        b->members[b->first[places->group[p] + 1]++] = p;
        root.room += places->room[p];
        root.end++;
    }
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
                      .jump = malloc(most * sizeof *b.jump)};
    bool made = tree->order && tree->nodes && b.first && b.members && b.groups && b.group_begin && b.number &&
                b.place_of && b.room && b.sum && b.jump;
    if (made)
        list_groups(&b);
    for (uint32_t node = 0; made && node < tree->count; node++) {
        uint32_t several = enter_group(&b, node);
        if (several > 0)
            halve_groups(&b, node, several);
        else if (tree->nodes[node].end - tree->nodes[node].begin > 1)
            halve_places(&b, node);
    }
    free(b.first);
    free(b.members);
    free(b.groups);
    free(b.group_begin);
    free(b.number);
    free(b.place_of);
    free(b.room);
    free(b.sum);
    free(b.jump);
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
