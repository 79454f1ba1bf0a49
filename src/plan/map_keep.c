/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Restrictions: which rank may have which place.
 *
 *     "3=node1"   "0-3,8=node0.gpu2"   "5=gpu0,gpu1"        ranks, and the nodes or devices that they stay on
 *
 * Those of one rank hold together: it stays where all of them let it. What cannot hold is found out here, and two that
 * clash are named.
 */
#include "plan/map.h"

#include <stdio.h>

#define RANKS_MAX 64 /* named in a diagnostic, at most */

struct keeper {
    struct hop_map_places *places;
    const struct hop_map_options *options;
    uint32_t ranks;
    size_t words; /* of a row of places */
    uint64_t *rows;
    uint64_t *sets;  /* of each restriction: its places, */
    uint64_t *whose; /* and its ranks */
    struct hop_diag *diag;
};

static bool has(const uint64_t *row, uint32_t i)
{
    return row[i / 64] >> i % 64 & 1;
}

static void put(uint64_t *row, uint32_t i)
{
    row[i / 64] |= UINT64_C(1) << i % 64;
}

static bool any(const uint64_t *a, const uint64_t *b, size_t words)
{
    for (size_t w = 0; w < words; w++) {
        if (a[w] & b[w])
            return true;
    }
    return false;
}

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
        if (high < low || high >= k->ranks) {
            char what[128];
            (void)snprintf(what, sizeof what,
                           high < low ? "the range ends before it begins"
                                      : "there is no rank %u: the traffic has ranks 0 to %u",
                           high, k->ranks - 1);
            return refuse(k, text, (size_t)(start - text), what);
        }
        for (uint32_t r = low; r <= high; r++)
            put(ranks, r);
    } while (*next == ',');
    *end = next;
    return *next == '=' ? HOP_OK : refuse(k, text, (size_t)(next - text), "a '=' is missing");
}

static bool is_name(const char *name, const char *text, size_t length)
{
    return strncmp(name, text, length) == 0 && name[length] == '\0';
}

static enum hop_status read_places(const struct keeper *k, const char *text, const char *next, uint64_t *set)
{
    const struct hop_map_places *p = k->places;
    do {
        next++; /* '=' or ',' */
        size_t length = strcspn(next, ",");
        bool found = false;
        for (uint32_t i = 0; i < p->count && length; i++) {
            if (!is_name(hop_topology_node(p->topology, p->device[i])->name, next, length) &&
                !is_name(p->names[p->node[i]], next, length))
                continue;
            put(set, i);
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

/* ---- what clashes ---- */

static enum hop_status clash(const struct keeper *k, uint32_t rank, const char *a, const char *b)
{
    hop_fail(k->diag, HOP_ERR_INVALID, "rank %u cannot stay where '%.100s' and '%.100s' both want it", rank, a, b);
    hop_diag_place(k->diag, "keep");
    hop_diag_expect(k->diag, "one of the two to be left out, or to name a place that both allow");
    return HOP_ERR_INVALID;
}

/* A rank has no place: two of its restrictions share none, or all of them together do. */
static enum hop_status clash_of(const struct keeper *k, uint32_t rank)
{
    uint32_t count = k->options->keep_count, last = 0, first = HOP_NONE;
    size_t rank_words = (k->ranks + 63) / 64;
    for (uint32_t i = 0; i < count; i++) {
        if (!has(k->whose + i * rank_words, rank))
            continue;
        for (uint32_t j = 0; j < i; j++) {
            if (has(k->whose + j * rank_words, rank) && !any(k->sets + i * k->words, k->sets + j * k->words, k->words))
                return clash(k, rank, k->options->keep[j], k->options->keep[i]);
        }
        first = first == HOP_NONE ? i : first;
        last = i;
    }
    hop_fail(k->diag, HOP_ERR_INVALID,
             "rank %u has no place that all of its restrictions allow, '%.100s' and '%.100s' among them", rank,
             k->options->keep[first], k->options->keep[last]);
    hop_diag_place(k->diag, "keep");
    hop_diag_expect(k->diag, "a place that is in all of them and not excluded");
    return HOP_ERR_INVALID;
}

/* The first exclusion that takes a place of a restriction away. */
static const char *excluding(const struct keeper *k, const uint64_t *set)
{
    const struct hop_map_places *p = k->places;
    for (uint32_t e = 0; e < k->options->excluded_count; e++) {
        const char *name = k->options->excluded[e];
        for (uint32_t i = 0; i < p->count; i++) {
            if (has(set, i) && (strcmp(hop_topology_node(p->topology, p->device[i])->name, name) == 0 ||
                                strcmp(p->names[p->node[i]], name) == 0))
                return name;
        }
    }
    return "";
}

/* All places of a restriction are excluded. */
static enum hop_status clash_excluded(const struct keeper *k, uint32_t i)
{
    hop_fail(k->diag, HOP_ERR_INVALID, "'%.100s' cannot hold: all that it names is excluded ('%.100s')",
             k->options->keep[i], excluding(k, k->sets + i * k->words));
    hop_diag_place(k->diag, "keep");
    hop_diag_expect(k->diag, "a place that is not excluded");
    return HOP_ERR_INVALID;
}

/* More ranks than room. Two restrictions of different ranks among them are named. */
static enum hop_status clash_blocked(const struct keeper *k, const uint32_t *blocked, uint32_t count)
{
    char ranks[160] = "";
    size_t used = 0, rank_words = (k->ranks + 63) / 64;
    uint64_t room = 0;
    for (uint32_t b = 0; b < count && used < sizeof ranks - 16; b++)
        used += (size_t)snprintf(ranks + used, sizeof ranks - used, "%s%u", b ? ", " : "", blocked[b]);
    for (uint32_t p = 0; p < k->places->count; p++) {
        bool open = false;
        for (uint32_t b = 0; b < count && !open; b++)
            open = has(k->rows + blocked[b] * k->words, p);
        room += open ? k->places->room[p] : 0;
    }
    if (used >= sizeof ranks - 16)
        (void)snprintf(ranks + used, sizeof ranks - used, ", ...");
    hop_fail(k->diag, HOP_ERR_INVALID, "ranks %s may only be where there is room for %llu", ranks,
             (unsigned long long)room);
    hop_diag_place(k->diag, "keep");
    const char *two[2] = {NULL, NULL};
    for (uint32_t b = 0; b < count && !two[1]; b++) {
        for (uint32_t i = k->options->keep_count; i-- > 0 && !two[1];) {
            if (!has(k->whose + i * rank_words, blocked[b]))
                continue;
            two[two[0] && two[0] != k->options->keep[i]] = k->options->keep[i];
            break;
        }
    }
    if (two[1])
        hop_diag_expect(k->diag, "'%.100s' and '%.100s' not to want the same places, or more room", two[0], two[1]);
    else
        hop_diag_expect(k->diag, "'%.100s' to name more places or fewer ranks", two[0] ? two[0] : "keep");
    return HOP_ERR_INVALID;
}

/* ---- fitting ---- */

/* With a limit of ranks a node. */
static enum hop_status fit_nodes(const struct keeper *k, uint32_t *place)
{
    bool fits;
    enum hop_status status = hop_map_fit_nodes(k->places, k->rows, k->ranks, place, &fits, k->diag);
    if (status != HOP_OK || fits)
        return status;
    hop_fail(k->diag, HOP_ERR_INVALID, "the ranks that are kept do not fit with at most %u on a node",
             k->options->ranks_per_node);
    hop_diag_place(k->diag, "keep");
    hop_diag_expect(k->diag, "fewer ranks kept on one node (as in '%.100s'), or more ranks per node",
                    k->options->keep_count ? k->options->keep[0] : "");
    return HOP_ERR_INVALID;
}

static enum hop_status fit(const struct keeper *k, uint32_t *place)
{
    const struct hop_graph graph = {.count = k->ranks};
    const struct hop_places places = {.count = k->places->count, .room = k->places->room};
    const struct hop_assign problem = {.graph = &graph, .places = &places, .allowed = k->rows};
    uint32_t *blocked = NULL, count = 0;
    enum hop_status status = hop_assign_fit(&problem, place, &blocked, &count, k->diag);
    if (status == HOP_ERR_INVALID && blocked)
        status = clash_blocked(k, blocked, count);
    free(blocked);
    return status == HOP_OK && k->options->ranks_per_node ? fit_nodes(k, place) : status;
}

/* ---- all of it ---- */

static enum hop_status restrict_rows(struct keeper *k)
{
    struct hop_map_places *p = k->places;
    size_t rank_words = (k->ranks + 63) / 64;
    uint32_t count = k->options->keep_count;
    k->rows = hop_arena_alloc(&p->arena, k->ranks * k->words * sizeof *k->rows);
    k->sets = hop_arena_alloc(&p->arena, count * k->words * sizeof *k->sets);
    k->whose = hop_arena_alloc(&p->arena, count * rank_words * sizeof *k->whose);
    uint64_t *usable = hop_arena_alloc(&p->arena, k->words * sizeof *usable);
    if (p->arena.failed)
        return hop_fail_memory(k->diag);
    for (uint32_t i = 0; i < p->count; i++) {
        if (p->room[i])
            put(usable, i);
    }
    for (uint32_t r = 0; r < k->ranks; r++)
        memcpy(k->rows + r * k->words, usable, k->words * sizeof *usable);
    for (uint32_t i = 0; i < count; i++) {
        uint64_t *set = k->sets + i * k->words, *whose = k->whose + i * rank_words;
        const char *equals = k->options->keep[i];
        enum hop_status status = read_ranks(k, k->options->keep[i], &equals, whose);
        if (status == HOP_OK)
            status = read_places(k, k->options->keep[i], equals, set);
        if (status == HOP_OK && !any(set, usable, k->words))
            status = clash_excluded(k, i);
        for (uint32_t r = 0; r < k->ranks && status == HOP_OK; r++) {
            uint64_t *row = k->rows + r * k->words;
            if (!has(whose, r))
                continue;
            for (size_t w = 0; w < k->words; w++)
                row[w] &= set[w];
            if (!any(row, usable, k->words))
                status = clash_of(k, r);
        }
        if (status != HOP_OK)
            return status;
    }
    return HOP_OK;
}

enum hop_status hop_map_allow(struct hop_map_places *places, const struct hop_map_options *options, uint32_t ranks,
                              uint64_t **allowed, uint32_t *place, struct hop_diag *diag)
{
    struct keeper k = {
        .places = places, .options = options, .ranks = ranks, .words = ((size_t)places->count + 63) / 64, .diag = diag};
    enum hop_status status = options->keep_count ? restrict_rows(&k) : HOP_OK;
    if (status == HOP_OK)
        status = fit(&k, place);
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

/* ---- placements ---- */

static enum hop_status pack(const struct hop_map_places *places, uint32_t ranks, uint32_t *place)
{
    for (uint32_t n = 0, rank = 0; n < places->node_count && rank < ranks; n++) {
        uint32_t left = places->node_room[n];
        for (uint32_t p = places->first[n]; p < places->first[n + 1]; p++) {
            for (uint32_t k = 0; k < places->room[p] && left > 0 && rank < ranks; k++, left--)
                place[rank++] = p;
        }
    }
    return HOP_OK;
}

enum hop_status hop_map_take(const struct hop_map_places *places, const struct hop_placement *placement, uint32_t ranks,
                             uint32_t *place, struct hop_diag *diag)
{
    const struct hop_topology *topology = places->topology;
    if (!placement)
        return pack(places, ranks, place);
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
