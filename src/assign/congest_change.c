/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Changes of an assignment, tried before they are made: only the links on the routes that change are looked at. What a
 * search descends on is the sum of the eighth powers of all loads, whose change those links alone tell, too; of two
 * assignments that it arrived at, the largest load decides.
 */
#include "assign/congest_state.h"

#define LEAST_GAIN 1e-9 /* of eighth powers, the largest load being 1 */

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

void hop_congest_rebuild(struct hop_congest *c)
{
    for (uint32_t k = c->leaves - 1; k > 0; k--)
        c->tree[k] = hop_max(c->tree[2 * k], c->tree[2 * k + 1]);
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
