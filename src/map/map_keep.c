/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Restrictions: which rank may have which place.
 *
 *     "3=node1"   "0-3,8=node0.gpu2"   "5=gpu0,gpu1"        ranks, and the nodes or devices that they stay on
 *
 * Those of one rank hold together: it stays where all of them let it.
 */
#include "map/map_keep.h"

#include <stdio.h>

struct keeper {
    const struct hop_map_places *places;
    const struct hop_map_rules *rules;
    struct hop_diag *diag;
};

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
        if (high < low || high >= k->rules->ranks) {
            char what[128];
            (void)snprintf(what, sizeof what,
                           high < low ? "the range ends before it begins"
                                      : "there is no rank %u: the traffic has ranks 0 to %u",
                           high, k->rules->ranks - 1);
            return refuse(k, text, (size_t)(start - text), what);
        }
        for (uint32_t r = low; r <= high; r++)
            hop_put_bit(ranks, r);
    } while (*next == ',');
    *end = next;
    return *next == '=' ? HOP_OK : refuse(k, text, (size_t)(next - text), "a '=' is missing");
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

enum hop_status hop_map_rules_read(struct hop_map_places *p, const struct hop_map_options *options,
                                   struct hop_map_rules *r, struct hop_diag *diag)
{
    const struct keeper k = {p, r, diag};
    uint32_t count = options->keep_count;
    *r = (struct hop_map_rules){.places = p, .options = options, .ranks = p->ranks.count};
    r->words = ((size_t)p->count + 63) / 64;
    r->rank_words = ((size_t)r->ranks + 63) / 64;
    r->sets = hop_arena_alloc(&p->arena, count * r->words * sizeof *r->sets);
    r->whose = hop_arena_alloc(&p->arena, count * r->rank_words * sizeof *r->whose);
    enum hop_status status = p->arena.failed ? hop_fail_memory(diag) : HOP_OK;
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        const char *text = options->keep[i], *equals = text;
        status = read_ranks(&k, text, &equals, r->whose + i * r->rank_words);
        if (status == HOP_OK)
            status = read_places(&k, text, equals, r->sets + i * r->words);
    }
    return status;
}

bool hop_map_rules_row(const struct hop_map_rules *r, const bool *active, uint32_t rank, uint64_t *row)
{
    bool kept = false;
    for (uint32_t i = 0; i < r->options->keep_count; i++) {
        if ((active && !active[i]) || !hop_bit(r->whose + i * r->rank_words, rank))
            continue;
        for (size_t w = 0; w < r->words; w++)
            row[w] = (kept ? row[w] : UINT64_MAX) & r->sets[i * r->words + w];
        kept = true;
    }
    return kept;
}
