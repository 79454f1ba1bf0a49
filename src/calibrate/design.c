/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An A-optimal design for predictions: of observations with noise, those that leave the least sum of variances in all values. Taking
 * one is a step of a Kalman filter whose state are the values; which are taken is found greedily, and then each is exchanged for
 * a better one beside the others.
 */
#include "calibrate/design.h"

#include <math.h>
#include <string.h>

enum { EXCHANGES = 3 };
#define NOISE 0.02        /* of an observation */
#define EXCHANGE_WORK 3e9 /* multiplications */
#define BETTER (1 + 1e-6)
#define FIRST_OF_ALIKE (1 + 1e-9)

void hop_design_begin(struct hop_design *d, uint32_t count)
{
    size_t size = ((size_t)count + 1) * sizeof *d->change;
    d->count = count;
    d->first = hop_arena_alloc(&d->arena, count * size);
    d->now = hop_arena_alloc(&d->arena, count * size);
    d->change = hop_arena_alloc(&d->arena, size);
    d->row = hop_arena_alloc(&d->arena, size);
    d->known = hop_arena_alloc(&d->arena, (size_t)count + 1);
    d->chosen = hop_arena_alloc(&d->arena, ((size_t)count + 1) * sizeof *d->chosen);
}

/* Adds factor * a a'. */
static void add_outer(double *matrix, uint32_t n, const double *a, double factor)
{
    for (uint32_t i = 0; i < n; i++) {
        double scaled = factor * a[i];
        for (uint32_t j = 0; j < n && scaled != 0; j++)
            matrix[(size_t)i * n + j] += scaled * a[j];
    }
}

void hop_design_believe(struct hop_design *d)
{
    add_outer(d->first, d->count, d->change, 1);
}

static double variance_observed(const struct hop_design *d, uint32_t i)
{
    return d->now[(size_t)i * d->count + i] + NOISE * NOISE;
}

double hop_design_gain(const struct hop_design *d, uint32_t candidate)
{
    const double *with = d->now + (size_t)candidate * d->count;
    double sum = 0;
    for (uint32_t j = 0; j < d->count; j++)
        sum += with[j] * with[j];
    return sum / variance_observed(d, candidate);
}

void hop_design_take(struct hop_design *d, uint32_t candidate)
{
    double own = variance_observed(d, candidate);
    memcpy(d->row, d->now + (size_t)candidate * d->count, d->count * sizeof *d->row);
    add_outer(d->now, d->count, d->row, -1 / own);
}

void hop_design_restart(struct hop_design *d)
{
    memcpy(d->now, d->first, (size_t)d->count * d->count * sizeof *d->now);
}

void hop_design_keep(struct hop_design *d)
{
    memcpy(d->first, d->now, (size_t)d->count * d->count * sizeof *d->now);
}

double hop_design_unsure(const struct hop_design *d)
{
    double sum = 0;
    for (uint32_t i = 0; i < d->count; i++)
        sum += hop_max(0, d->now[(size_t)i * d->count + i]);
    return sqrt(sum / (d->count ? d->count : 1));
}

static bool is_chosen(const struct hop_design *d, uint32_t candidate)
{
    for (uint32_t c = 0; c < d->chosen_count; c++) {
        if (d->chosen[c] == candidate)
            return true;
    }
    return false;
}

/* The best of those that may be chosen, of alike ones the first; HOP_NONE: none may. */
static uint32_t best_of(const struct hop_design *d)
{
    uint32_t best = HOP_NONE;
    double most = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        if (d->known[i] || is_chosen(d, i))
            continue;
        double gain = hop_design_gain(d, i);
        if ((best == HOP_NONE || gain > most * FIRST_OF_ALIKE) && d->allows(d, i)) {
            most = gain;
            best = i;
        }
    }
    return best;
}

static void remove_chosen(struct hop_design *d, uint32_t place)
{
    memmove(d->chosen + place, d->chosen + place + 1, (d->chosen_count - place - 1) * sizeof *d->chosen);
    d->chosen_count--;
}

static bool all_are_allowed(struct hop_design *d)
{
    for (uint32_t c = 0; c < d->chosen_count; c++) {
        if (!d->allows(d, d->chosen[c]))
            return false;
    }
    return true;
}

/* Takes one out and puts the best in its place, at the end; whether that is another one. */
static bool exchange_first(struct hop_design *d)
{
    uint32_t out = d->chosen[0];
    remove_chosen(d, 0);
    hop_design_restart(d);
    for (uint32_t c = 0; c < d->chosen_count; c++)
        hop_design_take(d, d->chosen[c]);
    uint32_t best = best_of(d), last = d->chosen_count++;
    d->chosen[last] = best;
    if (best != HOP_NONE && best != out && hop_design_gain(d, best) > hop_design_gain(d, out) * BETTER &&
        all_are_allowed(d))
        return true;
    d->chosen[last] = out;
    return false;
}

static void exchange(struct hop_design *d)
{
    double n = d->count, wanted = d->chosen_count;
    bool changed = wanted * wanted * n * n < EXCHANGE_WORK;
    for (unsigned pass = 0; pass < EXCHANGES && changed; pass++) {
        changed = false;
        for (uint32_t c = 0; c < d->chosen_count; c++)
            changed |= exchange_first(d);
    }
}

static void put_in_order(struct hop_design *d, double *unsure)
{
    uint32_t count = d->chosen_count;
    hop_design_restart(d);
    for (uint32_t n = 0; n < count; n++) {
        uint32_t best = HOP_NONE;
        for (uint32_t c = n; c < count; c++) {
            d->chosen_count = n;
            if (d->allows(d, d->chosen[c]) &&
                (best == HOP_NONE ||
                 hop_design_gain(d, d->chosen[c]) > hop_design_gain(d, d->chosen[best]) * FIRST_OF_ALIKE))
                best = c;
        }
        best = best == HOP_NONE ? n : best;
        uint32_t kept = d->chosen[n];
        d->chosen[n] = d->chosen[best];
        d->chosen[best] = kept;
        hop_design_take(d, d->chosen[n]);
        if (unsure)
            unsure[n] = hop_design_unsure(d);
    }
    d->chosen_count = count;
}

void hop_design_choose(struct hop_design *d, uint32_t wanted, double *unsure)
{
    hop_design_restart(d);
    d->chosen_count = 0;
    while (d->chosen_count < wanted) {
        uint32_t best = best_of(d);
        if (best == HOP_NONE)
            break;
        d->chosen[d->chosen_count++] = best;
        hop_design_take(d, best);
    }
    exchange(d);
    put_in_order(d, unsure);
}
