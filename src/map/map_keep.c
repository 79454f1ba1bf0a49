/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Restrictions: which rank may have which place.
 *
 *     "3=node1"   "0-3,8=node0.gpu2"   "5=gpu0,gpu1"        ranks, and the nodes or devices that they stay on
 *
 * Those of one rank hold together: it stays where all of them let it. Ranks are packed as far as that goes: whom nothing
 * keeps from it has the device that it would have without restrictions, unless one that is kept needs it.
 */
#include "map/map_keep.h"

#include <stdio.h>

struct keeper {
    struct hop_map_places *places;
    struct hop_map_rules rules;
    uint64_t *rows; /* of every rank */
    struct hop_diag *diag;
};

/* ---- reading ---- */

static enum hop_status refuse(const struct keeper *k, const char *text, size_t at, const char *what)
{
    hop_fail(k->diag, HOP_ERR_INVALID, "%s", what);
    hop_diag_place(k->diag, "keep '%.120s', column %zu", text, at + 1);
    hop_diag_expect(k->diag, "ranks, '=', and nodes or devices, such as 3=%s or 0-3,8=%s", k->places->names[0],
                    hop_topology_node(k->places->topology, k->places->device[0])->name);
    return HOP_ERR_INVALID;
}

static bool read_number(const char **text, uint32_t *value)
{
    uint64_t number = 0;
    const char *start = *text;
    for (; **text >= '0' && **text <= '9'; (*text)++)
        number = number < HOP_TRAFFIC_RANKS ? number * 10 + (uint64_t)(**text - '0') : number;
    *value = (uint32_t)number;
    return *text > start;
}

static enum hop_status read_ranks(const struct keeper *k, const char *text, const char **end, uint64_t *ranks)
{
    const char *next = text;
    do {
        next += *next == ',';
        const char *start = next;
        uint32_t low, high;
        if (!read_number(&next, &low))
            return refuse(k, text, (size_t)(start - text), "no rank stands there");
        high = low;
        if (*next == '-' && (next++, !read_number(&next, &high)))
            return refuse(k, text, (size_t)(next - text), "no rank stands behind the '-'");
        if (high < low || high >= k->rules.ranks) {
            char what[128];
            (void)snprintf(what, sizeof what,
                           high < low ? "the range ends before it begins"
                                      : "there is no rank %u: the traffic has ranks 0 to %u",
                           high, k->rules.ranks - 1);
            return refuse(k, text, (size_t)(start - text), what);
        }
        for (uint32_t r = low; r <= high; r++)
            hop_put_bit(ranks, r);
    } while (*next == ',');
    *end = next;
    return *next == '=' ? HOP_OK : refuse(k, text, (size_t)(next - text), "a '=' is missing");
}

static bool is_name(const char *name, const char *text, size_t length)
{
    return strncmp(name, text, length) == 0 && name[length] == '\0';
}

bool hop_map_place_is(const struct hop_map_places *places, uint32_t place, const char *name, size_t length)
{
    return is_name(hop_topology_node(places->topology, places->device[place])->name, name, length) ||
           is_name(places->names[places->node[place]], name, length);
}

static enum hop_status read_places(const struct keeper *k, const char *text, const char *next, uint64_t *set)
{
    const struct hop_map_places *p = k->places;
    do {
        next++; /* '=' or ',' */
        size_t length = strcspn(next, ",");
        bool found = false;
        for (uint32_t i = 0; i < p->count && length; i++) {
            if (!hop_map_place_is(p, i, next, length))
                continue;
            hop_put_bit(set, i);
            found = true;
        }
        if (!found) {
            char what[192];
            (void)snprintf(what, sizeof what, "'%.*s' is no node of %.60s, nor one of its %s",
                           (int)(length < 60 ? length : 60), next, hop_topology_name(p->topology),
                           hop_map_places_what(p));
            return refuse(k, text, (size_t)(next - text), what);
        }
        next += length;
    } while (*next == ',');
    return HOP_OK;
}

static enum hop_status read_rules(struct keeper *k)
{
    struct hop_map_places *p = k->places;
    struct hop_map_rules *r = &k->rules;
    uint32_t count = r->options->keep_count;
    r->words = ((size_t)p->count + 63) / 64;
    r->rank_words = ((size_t)r->ranks + 63) / 64;
    r->sets = hop_arena_alloc(&p->arena, count * r->words * sizeof *r->sets);
    r->whose = hop_arena_alloc(&p->arena, count * r->rank_words * sizeof *r->whose);
    enum hop_status status = p->arena.failed ? hop_fail_memory(k->diag) : HOP_OK;
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        const char *text = r->options->keep[i], *equals = text;
        status = read_ranks(k, text, &equals, r->whose + i * r->rank_words);
        if (status == HOP_OK)
            status = read_places(k, text, equals, r->sets + i * r->words);
    }
    return status;
}

/* Of each rank, the places that are not excluded and that all that keeps it names. */
static enum hop_status make_rows(struct keeper *k)
{
    struct hop_map_places *p = k->places;
    const struct hop_map_rules *r = &k->rules;
    k->rows = hop_arena_alloc(&p->arena, r->ranks * r->words * sizeof *k->rows);
    uint64_t *usable = hop_arena_alloc(&p->arena, r->words * sizeof *usable);
    if (p->arena.failed)
        return hop_fail_memory(k->diag);
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->room[i])
            hop_put_bit(usable, i);
    }
    for (uint32_t rank = 0; rank < r->ranks; rank++)
        memcpy(k->rows + rank * r->words, usable, r->words * sizeof *usable);
    for (uint32_t i = 0; i < r->options->keep_count; i++) {
        for (uint32_t rank = 0; rank < r->ranks; rank++) {
            for (size_t w = 0; w < r->words && hop_bit(r->whose + i * r->rank_words, rank); w++)
                k->rows[rank * r->words + w] &= r->sets[i * r->words + w];
        }
    }
    return HOP_OK;
}

/* ---- packing ---- */

static void pack(const struct hop_map_places *places, uint32_t ranks, uint32_t *place)
{
    for (uint32_t n = 0, rank = 0; n < places->node_count && rank < ranks; n++) {
        uint32_t left = places->node_room[n];
        for (uint32_t p = places->first[n]; p < places->first[n + 1]; p++) {
            for (uint32_t k = 0; k < places->room[p] && left > 0 && rank < ranks; k++, left--)
                place[rank++] = p;
        }
    }
}

static bool is_kept(const struct hop_map_rules *rules, uint32_t rank)
{
    bool kept = false;
    for (uint32_t i = 0; i < rules->options->keep_count && !kept; i++)
        kept = hop_bit(rules->whose + i * rules->rank_words, rank);
    return kept;
}

/* Ranks that are kept are seated first, by what they may have; then there is room for all others. */
static enum hop_status seat_all(const struct keeper *k, uint32_t *place)
{
    const struct hop_map_rules *r = &k->rules;
    uint32_t *order = malloc(3 * (size_t)r->ranks * sizeof *order), items = 0, count = 0, short_of = 0;
    uint64_t *rows = malloc(r->ranks * r->words * sizeof *rows);
    enum hop_status status = order && rows ? HOP_OK : hop_fail_memory(k->diag);
    for (unsigned kept = 0; kept < 2 && status == HOP_OK; kept++) {
        for (uint32_t rank = 0; rank < r->ranks; rank++) {
            if (is_kept(r, rank) == (kept == 0))
                order[items++] = rank;
        }
    }
    uint32_t *seats = status == HOP_OK ? order + r->ranks : NULL;
    if (status == HOP_OK) {
        for (uint32_t i = 0; i < items; i++) {
            seats[i] = place[order[i]];
            memcpy(rows + i * r->words, k->rows + order[i] * r->words, r->words * sizeof *rows);
        }
        const struct hop_places places = hop_map_frame(k->places, k->places->room, k->places->node_room);
        const struct hop_graph graph = {.count = items};
        const struct hop_assign problem = {.graph = &graph, .places = &places, .allowed = rows};
        status = hop_assign_seat(&problem, seats, seats + items, &count, &short_of, k->diag);
    }
    if (status == HOP_OK && count > 0)
        status = hop_map_clash(r, k->diag);
    for (uint32_t i = 0; i < items && status == HOP_OK; i++)
        place[order[i]] = seats[i];
    free(rows);
    free(order);
    return status;
}

enum hop_status hop_map_allow(struct hop_map_places *places, const struct hop_map_options *options, uint32_t ranks,
                              uint64_t **allowed, uint32_t *place, struct hop_diag *diag)
{
    struct keeper k = {.places = places, .rules = {.places = places, .options = options, .ranks = ranks}, .diag = diag};
    enum hop_status status = HOP_OK;
    pack(places, ranks, place);
    if (options->keep_count) {
        status = read_rules(&k);
        if (status == HOP_OK)
            status = make_rows(&k);
        if (status == HOP_OK && !hop_map_fits(places, k.rows, ranks, place))
            status = seat_all(&k, place);
    }
    if (status == HOP_OK && !(places->packed = hop_arena_copy(&places->arena, place, ranks * sizeof *place)))
        status = hop_fail_memory(diag);
    if (status == HOP_OK)
        *allowed = k.rows;
    return status;
}

bool hop_map_fits(const struct hop_map_places *places, const uint64_t *allowed, uint32_t ranks, const uint32_t *place)
{
    uint32_t *load = calloc((size_t)places->count + places->node_count, sizeof *load), *nodes = load + places->count;
    bool fits = load != NULL;
    for (uint32_t r = 0; r < ranks && fits; r++) {
        uint32_t p = place[r], n = places->node[p];
        fits =
            ++load[p] <= places->room[p] && ++nodes[n] <= places->node_room[n] && hop_map_allows(places, allowed, r, p);
    }
    free(load);
    return fits;
}

/* ---- placements that are given ---- */

enum hop_status hop_map_take(const struct hop_map_places *places, const struct hop_placement *placement, uint32_t ranks,
                             uint32_t *place, struct hop_diag *diag)
{
    const struct hop_topology *topology = places->topology;
    if (!placement) {
        memcpy(place, places->packed, ranks * sizeof *place);
        return HOP_OK;
    }
    struct hop_names names = {0};
    bool fine = true;
    for (uint32_t p = 0; p < places->count && fine; p++)
        fine = hop_names_put(&names, hop_topology_node(topology, places->device[p])->name, p);
    enum hop_status status = fine ? hop_placement_check(placement, topology, ranks, diag) : hop_fail_memory(diag);
    if (status == HOP_OK && hop_placement_count(placement) < ranks) {
        hop_fail(diag, HOP_ERR_INVALID, "the placement has %u ranks, the traffic has %u",
                 hop_placement_count(placement), ranks);
        hop_diag_expect(diag, "a line for every rank");
        status = HOP_ERR_INVALID;
    }
    for (uint32_t r = 0; r < ranks && status == HOP_OK; r++) {
        const char *device = hop_placement_device(placement, r);
        place[r] = hop_names_get(&names, device);
        if (place[r] == UINT32_MAX) {
            hop_fail(diag, HOP_ERR_INVALID, "the placement has rank %u on '%s', which is none of the %s", r, device,
                     hop_map_places_what(places));
            hop_diag_expect(diag, "a device such as %s", hop_topology_node(topology, places->device[0])->name);
            status = HOP_ERR_INVALID;
        }
    }
    hop_names_finish(&names);
    return status;
}
