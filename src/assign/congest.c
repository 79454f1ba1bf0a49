/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Congestion of an assignment: its loads from nothing, and changes of it, tried before they are made, for which only
 * the links on the routes that change are looked at. What a search descends on is the sum of the eighth powers of all
 * loads, whose change those links alone tell, too; of two assignments that it arrived at, the largest load decides.
 */
#include "assign/congest_state.h"

#define EXACT 9007199254740992.0 /* 2^53: up to so many bytes in all, changes leave no error */
#define LEAST_GAIN 1e-9          /* of eighth powers, the largest load being 1 */

static bool make_state(struct hop_congest *c)
{
    size_t directed = c->directed = 2 * hop_topology_link_count(c->input.topology);
    for (c->leaves = 1; c->leaves < c->directed; c->leaves *= 2)
        ;
    c->place = hop_arena_alloc(&c->arena, ((size_t)c->items + 1) * sizeof *c->place);
    c->s_per_byte = hop_arena_alloc(&c->arena, (directed + 1) * sizeof *c->s_per_byte);
    c->bytes = hop_arena_alloc(&c->arena, (directed + 1) * sizeof *c->bytes);
    c->tree = hop_arena_alloc(&c->arena, 2 * (size_t)c->leaves * sizeof *c->tree);
    c->delta = hop_arena_alloc(&c->arena, (directed + 1) * sizeof *c->delta);
    c->touched = hop_arena_alloc(&c->arena, (directed + 1) * sizeof *c->touched);
    c->is_touched = hop_arena_alloc(&c->arena, (directed + 1) * sizeof *c->is_touched);
    if (c->arena.failed)
        return false;
    for (uint32_t d = 0; d < c->directed; d++)
        c->s_per_byte[d] =
            (c->input.wire ? c->input.wire[d] : 1) / hop_topology_link(c->input.topology, d / 2)->capacity_Bps[d & 1];
    return true;
}

enum hop_status hop_congest_create(const struct hop_congest_input *input, struct hop_congest **congest,
                                   struct hop_diag *diag)
{
    struct hop_congest *c = hop_congest_begin(input);
    if (!c || !make_state(c)) {
        hop_congest_destroy(c);
        return hop_fail_memory(diag);
    }
    *congest = c;
    return HOP_OK;
}

void hop_congest_destroy(struct hop_congest *c)
{
    if (c)
        hop_arena_finish(&c->arena);
    free(c);
}

/* ---- changes ---- */

static void shift_way(struct hop_congest *c, const struct hop_congest_step *way, double bytes)
{
    for (uint32_t k = 0; k < way->count; k++) {
        uint32_t link = way->links[k];
        c->touched[c->touched_count] = link;
        c->touched_count += !c->is_touched[link];
        c->is_touched[link] = true;
        c->delta[link] += bytes;
    }
}

/* Traffic with a partner, from one pair of places to another. */
static void shift_pair(struct hop_congest *c, const struct hop_partner *partner, const uint32_t before[2],
                       const uint32_t after[2])
{
    for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
        if (partner->out[m] > 0) {
            shift_way(c, hop_congest_way(c, m, before[0], before[1]), -partner->out[m]);
            shift_way(c, hop_congest_way(c, m, after[0], after[1]), partner->out[m]);
        }
        if (partner->in[m] > 0) {
            shift_way(c, hop_congest_way(c, m, before[1], before[0]), -partner->in[m]);
            shift_way(c, hop_congest_way(c, m, after[1], after[0]), partner->in[m]);
        }
    }
}

void hop_congest_try(struct hop_congest *c, uint32_t item, uint32_t to, uint32_t other)
{
    uint32_t from = c->place[item];
    for (uint32_t k = c->first[item]; k < c->first[item + 1]; k++) {
        const struct hop_partner *partner = &c->partners[k];
        uint32_t there = c->place[partner->item];
        shift_pair(c, partner, (uint32_t[]){from, there}, (uint32_t[]){to, partner->item == other ? from : there});
    }
    if (other == HOP_NONE)
        return;
    for (uint32_t k = c->first[other]; k < c->first[other + 1]; k++) {
        const struct hop_partner *partner = &c->partners[k];
        uint32_t there = c->place[partner->item];
        if (partner->item != item) /* done above */
            shift_pair(c, partner, (uint32_t[]){to, there}, (uint32_t[]){from, there});
    }
}

void hop_congest_try_placed(struct hop_congest *c, uint32_t item, uint32_t at, double sign)
{
    for (uint32_t k = c->first[item]; k < c->first[item + 1]; k++) {
        const struct hop_partner *partner = &c->partners[k];
        uint32_t there = c->place[partner->item];
        for (unsigned m = 0; m < HOP_MEMORY_COUNT && there != HOP_NONE; m++) {
            if (partner->out[m] > 0)
                shift_way(c, hop_congest_way(c, m, at, there), sign * partner->out[m]);
            if (partner->in[m] > 0)
                shift_way(c, hop_congest_way(c, m, there, at), sign * partner->in[m]);
        }
    }
}

/* Eighth powers of loads, as shares of the largest: near enough to the largest alone to lower it, and yet a slope
 * where several links tie, or where the way down leads over a plateau. */
static double eighth_power(double x)
{
    x *= x;
    x *= x;
    return x * x;
}

bool hop_congest_gains(const struct hop_congest *c)
{
    const double *load_s = c->tree + c->leaves;
    double scale = 1 / c->tree[1], sum = 0;
    for (uint32_t t = 0; t < c->touched_count; t++) {
        uint32_t link = c->touched[t];
        double after_s = (c->bytes[link] + c->delta[link]) * c->s_per_byte[link];
        sum += eighth_power(after_s * scale) - eighth_power(load_s[link] * scale);
    }
    return sum < -LEAST_GAIN;
}

double hop_congest_touched_s(const struct hop_congest *c)
{
    double most_s = 0;
    for (uint32_t t = 0; t < c->touched_count; t++) {
        uint32_t link = c->touched[t];
        most_s = hop_max(most_s, (c->bytes[link] + c->delta[link]) * c->s_per_byte[link]);
    }
    return most_s;
}

void hop_congest_keep_loads(struct hop_congest *c)
{
    for (uint32_t t = 0; t < c->touched_count; t++) {
        uint32_t link = c->touched[t], k = c->leaves + link;
        c->bytes[link] += c->delta[link];
        c->tree[k] = c->bytes[link] * c->s_per_byte[link];
        while (k > 1) {
            double larger = hop_max(c->tree[k], c->tree[k ^ 1]);
            k /= 2;
            if (c->tree[k] == larger)
                break;
            c->tree[k] = larger;
        }
    }
    hop_congest_drop(c);
}

void hop_congest_keep(struct hop_congest *c, uint32_t item, uint32_t to, uint32_t other)
{
    if (other != HOP_NONE)
        c->place[other] = c->place[item];
    c->place[item] = to;
    hop_congest_keep_loads(c);
}

void hop_congest_drop(struct hop_congest *c)
{
    for (uint32_t t = 0; t < c->touched_count; t++) {
        c->delta[c->touched[t]] = 0;
        c->is_touched[c->touched[t]] = false;
    }
    c->touched_count = 0;
}

double hop_congest_squares(const struct hop_congest *c)
{
    double squares = 0;
    for (uint32_t d = 0; d < c->directed; d++)
        squares += c->tree[c->leaves + d] * c->tree[c->leaves + d];
    return squares;
}

/* ---- loads ---- */

static void add_way(struct hop_congest *c, enum hop_memory memory, uint32_t from, uint32_t to, double bytes)
{
    const struct hop_congest_step *way = hop_congest_way(c, memory, from, to);
    for (uint32_t k = 0; k < way->count; k++)
        c->bytes[way->links[k]] += bytes;
}

enum hop_status hop_congest_set(struct hop_congest *c, const uint32_t *place, struct hop_diag *diag)
{
    if (c->is_set && memcmp(c->place, place, c->items * sizeof *place) == 0) {
        c->looked += c->flows; /* as if they had been: limits count them */
        return HOP_OK;
    }
    c->is_set = false;
    memcpy(c->place, place, c->items * sizeof *place);
    memset(c->bytes, 0, c->directed * sizeof *c->bytes);
    for (uint32_t i = 0; i < c->items; i++) {
        for (uint32_t k = c->first[i]; k < c->first[i + 1]; k++) {
            const struct hop_partner *partner = &c->partners[k];
            for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
                if (partner->out[m] > 0)
                    add_way(c, m, place[i], place[partner->item], partner->out[m]);
            }
        }
    }
    for (uint32_t d = 0; d < c->directed; d++)
        c->tree[c->leaves + d] = c->bytes[d] * c->s_per_byte[d];
    for (uint32_t k = c->leaves - 1; k > 0; k--)
        c->tree[k] = hop_max(c->tree[2 * k], c->tree[2 * k + 1]);
    if (c->status != HOP_OK) {
        enum hop_status status = hop_congest_fail(c, diag);
        c->status = HOP_OK; /* another assignment may do */
        return status;
    }
    c->is_set = c->total <= EXACT;
    return HOP_OK;
}

const double *hop_congest_loads_s(const struct hop_congest *c)
{
    return c->tree + c->leaves;
}

double hop_congest_largest_s(const struct hop_congest *c)
{
    return c->tree[1];
}
