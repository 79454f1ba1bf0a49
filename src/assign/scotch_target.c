/* SPDX-License-Identifier: BSD-3-Clause */
/* Distances between places into SCOTCH's trees and graphs. */
#include "assign/linkage.h"

#ifdef HOP_HAVE_SCOTCH

#include "assign/scotch_target.h"

#include <math.h>

#include "hopcast/topology.h"

enum {
    BUILD0_PLACES = 256,  /* up to here archBuild0 takes up to 0.1 s; its maps are better than archBuild2's */
    BUILD2_PLACES = 1024, /* a complete graph of more would be large */
    LEAVES_FACTOR = 8,    /* an uneven tree may be this many times as large when it is filled up, */
    LEAVES_MIN = 4096     /* and small ones larger */
};
/* Of the longest distance: this near to a tree's, distances are taken for it. */
static const double TREE_SPREAD = 0.05;

struct building {
    const struct hop_target_input *input;
    struct hop_target *target;
    struct hop_linkage tree;
    uint32_t rooms_below; /* terminals of a member in a tree */
};

static double distance(const struct hop_target_input *input, uint32_t a, uint32_t b)
{
    return hop_place_distance(input->places, input->members[a], input->members[b]);
}

static SCOTCH_Num in_units(const struct building *b, double length)
{
    return (SCOTCH_Num)(length / b->tree.longest * (double)b->input->unit + 0.5);
}

/* ---- trees ---- */

/* From the bottom: a link is as long as the distances of its level are longer than those below, and never 0 long. */
static bool build_even(const struct building *b, SCOTCH_Arch *arch)
{
    SCOTCH_Num size[HOP_LINKAGE_LEVELS + 1], link[HOP_LINKAGE_LEVELS + 1], levels = (SCOTCH_Num)b->tree.levels;
    SCOTCH_Num below = 0;
    if (b->rooms_below > 1) {
        size[levels] = (SCOTCH_Num)b->rooms_below;
        link[levels] = below = 1;
        levels++;
    }
    for (uint32_t l = b->tree.levels; l-- > 0;) {
        SCOTCH_Num length = in_units(b, b->tree.distance[l]);
        length = length > below ? length : below + 1;
        size[l] = (SCOTCH_Num)b->tree.size[l];
        link[l] = length - below;
        below = length;
    }
    return SCOTCH_archTleaf(arch, levels, size, link) == 0;
}

/* Leaves that are there, ascending: their numbers, and whose they are. */
static SCOTCH_Num list_leaves(const struct building *b, uint32_t *owner, SCOTCH_Num *leaves)
{
    const struct hop_target_input *input = b->input;
    SCOTCH_Num there = 0;
    memset(owner, 0xff, (size_t)b->tree.leaves * sizeof *owner);
    for (uint32_t i = 0; i < input->count; i++)
        owner[b->tree.leaf[i]] = i;
    for (uint64_t leaf = 0; leaf < b->tree.leaves; leaf++) {
        uint32_t i = owner[leaf];
        for (uint32_t k = 0; i != HOP_NONE && k < b->rooms_below && k < input->room[i]; k++) {
            b->target->member[there] = i;
            leaves[there++] = (SCOTCH_Num)(leaf * b->rooms_below + k);
        }
    }
    return there;
}

static bool build_tree(struct building *b)
{
    struct hop_target *target = b->target;
    uint64_t leaves = b->tree.leaves * b->rooms_below;
    uint32_t *owner = malloc((size_t)b->tree.leaves * sizeof *owner);
    SCOTCH_Num *list = malloc((size_t)leaves * sizeof *list);
    target->member = malloc((size_t)leaves * sizeof *target->member);
    bool made = owner && list && target->member;
    if (made) {
        target->terminals = list_leaves(b, owner, list);
        if ((uint64_t)target->terminals == leaves) {
            made = target->has_arch = build_even(b, &target->arch);
        } else {
            made = target->has_whole = build_even(b, &target->whole);
            if (made)
                made = target->has_arch = SCOTCH_archSub(&target->arch, &target->whole, target->terminals, list) == 0;
        }
    }
    free(owner);
    free(list);
    return made;
}

/* ---- graphs ---- */

struct complete {
    SCOTCH_Num *block, *first, *load, *to, *length;
};

static bool fill_complete(const struct building *b, struct complete *c)
{
    uint32_t count = b->input->count;
    size_t arcs = (size_t)count * (count - 1), a = 0;
    c->block = malloc((2 * (size_t)count + 1 + 2 * arcs) * sizeof *c->block);
    if (!c->block)
        return false;
    c->first = c->block;
    c->load = c->first + count + 1;
    c->to = c->load + count;
    c->length = c->to + arcs;
    for (uint32_t i = 0; i < count; i++) {
        c->first[i] = (SCOTCH_Num)a;
        c->load[i] = (SCOTCH_Num)b->input->room[i];
        for (uint32_t j = 0; j < count; j++) {
            if (i == j)
                continue;
            SCOTCH_Num length = in_units(b, distance(b->input, i < j ? i : j, i < j ? j : i));
            c->to[a] = (SCOTCH_Num)j;
            c->length[a++] = length > 0 ? length : 1;
        }
    }
    c->first[count] = (SCOTCH_Num)a;
    return true;
}

/* Of a graph that is bound to a context, so that its random numbers are the context's. */
static bool build_from(const struct building *b, SCOTCH_Graph *graph)
{
    if (b->input->count > BUILD0_PLACES)
        return SCOTCH_archBuild2(&b->target->arch, graph, 0, NULL) == 0;
    SCOTCH_Strat strategy;
    bool made = SCOTCH_stratInit(&strategy) == 0;
    if (made) {
        made = SCOTCH_archBuild0(&b->target->arch, graph, 0, NULL, &strategy) == 0;
        SCOTCH_stratExit(&strategy);
    }
    return made;
}

static bool build_complete(struct building *b, SCOTCH_Context *context)
{
    uint32_t count = b->input->count;
    struct complete c;
    SCOTCH_Graph graph, bound;
    if (!fill_complete(b, &c))
        return false;
    bool made = SCOTCH_graphInit(&graph) == 0;
    if (made) {
        made = SCOTCH_graphBuild(&graph, 0, (SCOTCH_Num)count, c.first, NULL, c.load, NULL, c.first[count], c.to,
                                 c.length) == 0 &&
               SCOTCH_graphInit(&bound) == 0 && SCOTCH_contextBindGraph(context, &graph, &bound) == 0;
        if (made) {
            made = b->target->has_arch = build_from(b, &bound);
            SCOTCH_graphExit(&bound);
        }
        SCOTCH_graphExit(&graph);
    }
    free(c.block);
    b->target->terminals = (SCOTCH_Num)count;
    b->target->member = malloc(count * sizeof *b->target->member);
    for (uint32_t i = 0; b->target->member && i < count; i++)
        b->target->member[i] = i;
    return made && b->target->member;
}

/* ---- which ---- */

/* Terminals of a member in a tree: one where rooms are equal, else one for each room; fewer where one member has so
 * many more than others that an even tree would be mostly empty. */
static uint32_t rooms_below(const struct hop_target_input *input, uint64_t leaves_max)
{
    uint32_t most = input->room[0], least = input->room[0];
    for (uint32_t i = 1; i < input->count; i++) {
        most = input->room[i] > most ? input->room[i] : most;
        least = input->room[i] < least ? input->room[i] : least;
    }
    if (most == least)
        return 1;
    return most < leaves_max / input->count ? most : (uint32_t)(leaves_max / input->count);
}

enum hop_status hop_target_create(const struct hop_target_input *input, SCOTCH_Context *context,
                                  struct hop_target *target, struct hop_diag *diag)
{
    struct building b = {.input = input, .target = target};
    uint64_t leaves_max = LEAVES_MIN;
    for (uint32_t i = 0; i < input->count; i++)
        leaves_max += (uint64_t)LEAVES_FACTOR * input->room[i];
    *target = (struct hop_target){0};
    if (SCOTCH_archInit(&target->arch) != 0 || SCOTCH_archInit(&target->whole) != 0)
        return hop_fail_memory(diag);
    b.rooms_below = rooms_below(input, leaves_max);
    if (!hop_linkage_create(input->places, input->members, input->count, leaves_max / b.rooms_below, &b.tree))
        return hop_fail_memory(diag);
    if (!isfinite(b.tree.longest)) {
        hop_linkage_finish(&b.tree);
        return hop_fail(diag, HOP_ERR_INVALID, "SCOTCH cannot map to places that are infinitely far from each other");
    }
    bool tree = b.tree.spread <= TREE_SPREAD || input->count > BUILD2_PLACES;
    bool made = tree ? build_tree(&b) : build_complete(&b, context);
    hop_linkage_finish(&b.tree);
    if (made)
        return HOP_OK;
    hop_target_finish(target);
    return hop_fail_memory(diag);
}

void hop_target_finish(struct hop_target *target)
{
    if (target->has_arch)
        SCOTCH_archExit(&target->arch);
    if (target->has_whole)
        SCOTCH_archExit(&target->whole);
    free(target->member);
    *target = (struct hop_target){0};
}

#endif
