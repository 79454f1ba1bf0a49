/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Restrictions that cannot all hold, and which of them are to blame: each in turn is left out, and stays out if the
 * rest still cannot hold (a deletion filter, Chinneck 2008). Without any one of those that are left the others can hold.
 *
 * Only ranks that something keeps are looked at: the others go anywhere, and there is room for all ranks together.
 */
#include "map/map_keep.h"

#include <stdio.h>

/* Restrictions are numbered: those of `keep`, those of `excluded`, ranks per device, ranks per node. */
struct filter {
    const struct hop_map_rules *rules;
    uint32_t count, excluded, per_device, per_node; /* all; where the others begin */
    bool *active;
    uint64_t *out;   /* of each exclusion: its places */
    uint32_t *room, *node_room;
    uint32_t *rank, *place; /* of the items of a seating */
    uint64_t *rows;
    uint32_t items;
    uint32_t *blocked, blocked_count, short_of; /* items, after a test that fails */
    struct hop_arena arena;
    struct hop_diag *diag;
};

/* ---- testing ---- */

static void set_rooms(struct filter *f)
{
    const struct hop_map_places *p = f->rules->places;
    const struct hop_map_options *o = f->rules->options;
    uint32_t each = f->active[f->per_device] ? o->ranks_per_device : o->ranks_per_device ? f->rules->ranks : 1;
    for (uint32_t i = 0; i < p->count; i++)
        f->room[i] = each;
    for (uint32_t e = 0; e < o->excluded_count; e++) {
        for (uint32_t i = 0; i < p->count && f->active[f->excluded + e]; i++)
            f->room[i] = hop_bit(f->out + e * f->rules->words, i) ? 0 : f->room[i];
    }
    for (uint32_t n = 0; n < p->node_count; n++)
        f->node_room[n] = f->active[f->per_node] ? o->ranks_per_node : f->rules->ranks;
}

/* The ranks that are kept, and where all that keeps them lets them be. */
static void set_rows(struct filter *f)
{
    f->items = 0;
    for (uint32_t rank = 0; rank < f->rules->ranks; rank++) {
        f->place[f->items] = HOP_NONE;
        f->rank[f->items] = rank;
        f->items += hop_map_rules_row(f->rules, f->active, rank, f->rows + f->items * f->rules->words);
    }
}

/* Whether what is active can hold; else who is blocked is known. */
static enum hop_status test(struct filter *f, bool *holds)
{
    set_rooms(f);
    set_rows(f);
    const struct hop_places places = hop_map_frame(f->rules->places, f->room, f->node_room);
    const struct hop_graph graph = {.count = f->items};
    const struct hop_assign problem = {.graph = &graph, .places = &places, .allowed = f->rows};
    enum hop_status status = hop_assign_seat(&problem, f->place, f->blocked, &f->blocked_count, &f->short_of, f->diag);
    *holds = status == HOP_OK && f->blocked_count == 0;
    return status;
}

/* What keeps none of the blocked ranks, or excludes none of the places that they may have, is not to blame. */
static void prune(struct filter *f)
{
    const struct hop_map_rules *r = f->rules;
    for (uint32_t i = 0; i < f->excluded; i++) {
        bool touches = false;
        for (uint32_t b = 0; b < f->blocked_count && !touches; b++)
            touches = hop_bit(r->whose + i * r->rank_words, f->rank[f->blocked[b]]);
        f->active[i] = f->active[i] && touches;
    }
    for (uint32_t e = 0; e < r->options->excluded_count; e++) {
        bool touches = false;
        for (uint32_t b = 0; b < f->blocked_count && !touches; b++) {
            for (size_t w = 0; w < r->words && !touches; w++)
                touches = f->rows[f->blocked[b] * r->words + w] & f->out[e * r->words + w];
        }
        f->active[f->excluded + e] = f->active[f->excluded + e] && touches;
    }
}

/* From the last to the first, so that of many that clash those that came first are left. */
static enum hop_status reduce(struct filter *f)
{
    bool holds;
    enum hop_status status = test(f, &holds);
    for (uint32_t i = f->count; i-- > 0 && status == HOP_OK;) {
        prune(f);
        if (!f->active[i])
            continue;
        f->active[i] = false;
        status = test(f, &holds);
        if (!holds) /* out of memory, or still not */
            continue;
        f->active[i] = true;
        status = test(f, &holds);
    }
    return status;
}

/* ---- naming ---- */

enum { RANKS_TEXT = 96, LIST_TEXT = 288, NAME_TEXT = 100 };

/* "0-2, 5" */
static void name_ranks(const struct filter *f, char text[RANKS_TEXT])
{
    size_t used = 0;
    for (uint32_t b = 0, last; b < f->blocked_count; b = last + 1) {
        uint32_t low = f->rank[f->blocked[b]];
        for (last = b; last + 1 < f->blocked_count && f->rank[f->blocked[last + 1]] == low + (last + 1 - b);)
            last++;
        if (used + 32 > RANKS_TEXT) {
            (void)snprintf(text + used, RANKS_TEXT - used, ", ...");
            return;
        }
        used += (size_t)snprintf(text + used, RANKS_TEXT - used, "%s%u", b ? ", " : "", low);
        if (last > b)
            used += (size_t)snprintf(text + used, RANKS_TEXT - used, "%s%u", last == b + 1 ? ", " : "-",
                                     f->rank[f->blocked[last]]);
    }
}

static void name_one(const struct filter *f, uint32_t i, char *text, size_t size)
{
    const struct hop_map_options *o = f->rules->options;
    if (i < f->excluded)
        (void)snprintf(text, size, "'%.*s'", NAME_TEXT, o->keep[i]);
    else if (i < f->per_device)
        (void)snprintf(text, size, "what is excluded ('%.*s')", NAME_TEXT, o->excluded[i - f->excluded]);
    else if (i == f->per_device)
        (void)snprintf(text, size, "at most %u on a device", o->ranks_per_device);
    else
        (void)snprintf(text, size, "at most %u on a node", o->ranks_per_node);
}

/* All that are left, as far as there is room; their number. */
static uint32_t name_active(const struct filter *f, char text[LIST_TEXT])
{
    uint32_t count = 0, named = 0;
    size_t used = 0;
    char name[NAME_TEXT + 32];
    for (uint32_t i = 0; i < f->count; i++)
        count += f->active[i];
    for (uint32_t i = 0; i < f->count; i++) {
        if (!f->active[i])
            continue;
        name_one(f, i, name, sizeof name);
        if (used + strlen(name) + 24 > LIST_TEXT) {
            (void)snprintf(text + used, LIST_TEXT - used, " and %u more", count - named);
            break;
        }
        const char *before = named == 0 ? "" : named + 1 == count ? " and " : ", ";
        used += (size_t)snprintf(text + used, LIST_TEXT - used, "%s%s", before, name);
        named++;
    }
    return count;
}

static enum hop_status name_clash(const struct filter *f)
{
    char ranks[RANKS_TEXT] = "", list[LIST_TEXT] = "";
    uint32_t count = name_active(f, list), room = f->blocked_count - f->short_of;
    bool one = f->blocked_count == 1;
    name_ranks(f, ranks);
    if (room == 0)
        hop_fail(f->diag, HOP_ERR_INVALID, "rank%s %s %s no place that all of these allow: %s", one ? "" : "s", ranks,
                 one ? "has" : "have", list);
    else
        hop_fail(f->diag, HOP_ERR_INVALID, "ranks %s may only be where there is room for %u: %s", ranks, room, list);
    hop_diag_place(f->diag, "keep");
    hop_diag_expect(f->diag, count == 1 ? "a restriction that names more places or fewer ranks"
                                        : "one of them to be left out or to allow more");
    return HOP_ERR_INVALID;
}

/* ---- all of it ---- */

static bool make(struct filter *f)
{
    const struct hop_map_rules *r = f->rules;
    const struct hop_map_options *o = r->options;
    const struct hop_map_places *p = r->places;
    f->excluded = o->keep_count;
    f->per_device = f->excluded + o->excluded_count;
    f->per_node = f->per_device + 1;
    f->count = f->per_node + 1;
    f->active = hop_arena_alloc(&f->arena, f->count * sizeof *f->active);
    f->out = hop_arena_alloc(&f->arena, (o->excluded_count * r->words + 1) * sizeof *f->out);
    f->room = hop_arena_alloc(&f->arena, p->count * sizeof *f->room);
    f->node_room = hop_arena_alloc(&f->arena, p->node_count * sizeof *f->node_room);
    /* one more: a rank is written down before it is known whether anything keeps it */
    f->rank = hop_arena_alloc(&f->arena, ((size_t)r->ranks + 1) * sizeof *f->rank);
    f->place = hop_arena_alloc(&f->arena, ((size_t)r->ranks + 1) * sizeof *f->place);
    f->blocked = hop_arena_alloc(&f->arena, ((size_t)r->ranks + 1) * sizeof *f->blocked);
    f->rows = hop_arena_alloc(&f->arena, ((size_t)r->ranks + 1) * r->words * sizeof *f->rows);
    if (f->arena.failed)
        return false;
    for (uint32_t i = 0; i < f->per_device; i++)
        f->active[i] = true;
    f->active[f->per_device] = o->ranks_per_device > 0;
    f->active[f->per_node] = o->ranks_per_node > 0;
    for (uint32_t e = 0; e < o->excluded_count; e++) {
        for (uint32_t i = 0; i < p->count; i++) {
            if (hop_map_place_is(p, i, o->excluded[e], strlen(o->excluded[e])))
                f->out[e * r->words + i / 64] |= UINT64_C(1) << i % 64;
        }
    }
    return true;
}

enum hop_status hop_map_clash(const struct hop_map_rules *rules, struct hop_diag *diag)
{
    struct filter f = {.rules = rules, .diag = diag};
    enum hop_status status = make(&f) ? reduce(&f) : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = name_clash(&f);
    hop_arena_finish(&f.arena);
    return status;
}
