/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Random graphs. The generator of numbers is splitmix64 (Steele, Lea, Flood 2014) on integers alone, so that a seed
 * means the same graph on every machine. The ends of all transfers are drawn first, then for each its size, whether it
 * waits, and for which.
 */
#include "base/random.h"
#include "pattern/make.h"

#include <stdio.h>

/* Uniform below `bound`: the values left over from the last whole multiple of it are drawn again. */
static uint64_t draw_below(uint64_t *state, uint64_t bound)
{
    uint64_t left_over = -bound % bound, value;
    do
        value = hop_draw(state);
    while (value < left_over);
    return value % bound;
}

/* An edge by number: source * (ranks - 1) + destination, the source itself left out. */
static uint64_t draw_edge(uint64_t *state, uint32_t ranks, uint64_t source)
{
    return source * (ranks - 1) + draw_below(state, ranks - 1);
}

/* Numbers present in a table of `slots` (a power of two); a slot holds number + 1. */
static bool insert(uint64_t *table, uint64_t slots, uint64_t number)
{
    uint64_t slot = number * HOP_MIX_STEP >> 17 & (slots - 1);
    while (table[slot]) {
        if (table[slot] == number + 1)
            return false;
        slot = (slot + 1) & (slots - 1);
    }
    table[slot] = number + 1;
    return true;
}

static void shuffle(uint64_t *state, uint64_t *values, uint32_t count)
{
    for (uint32_t i = count; i > 1; i--) {
        uint64_t j = draw_below(state, i), value = values[j];
        values[j] = values[i - 1];
        values[i - 1] = value;
    }
}

/* `count` distinct numbers below `bound` in random order: Floyd's sampling, then a shuffle. false: out of memory. */
static bool draw_distinct(uint64_t *state, uint64_t bound, uint32_t count, uint64_t *values)
{
    uint64_t slots = 2;
    while (slots < 2 * (uint64_t)count)
        slots *= 2;
    uint64_t *table = calloc(slots, sizeof *table);
    if (!table)
        return false;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t top = bound - count + i, value = draw_below(state, top + 1);
        if (!insert(table, slots, value)) {
            value = top;
            (void)insert(table, slots, top);
        }
        values[i] = value;
    }
    free(table);
    shuffle(state, values, count);
    return true;
}

static enum hop_status check(struct hop_pattern *p, struct hop_diag *diag)
{
    const struct hop_random *options = &p->random;
    uint64_t n = p->ranks, most = HOP_MAKE_LIMIT;
    if (options->distinct_edges && n * (n - 1) < most)
        most = n * (n - 1);
    if (options->distinct_sources && n < most)
        most = n;
    p->messages = options->transfers;
    (void)snprintf(p->name, sizeof p->name, "random-%llu", (unsigned long long)options->seed);
    if (n < 2)
        return hop_fail(diag, HOP_ERR_INVALID, "random transfers among %u devices\nat least 2 devices", p->ranks);
    if (options->transfers == 0 || options->transfers > most)
        return hop_fail(diag, options->transfers > HOP_MAKE_LIMIT ? HOP_ERR_LIMIT : HOP_ERR_INVALID,
                        "%u random transfers among %u devices%s\n1 to %llu transfers", options->transfers, p->ranks,
                        options->distinct_sources ? " with distinct sources"
                        : options->distinct_edges ? " with distinct edges"
                                                  : "",
                        (unsigned long long)most);
    if (options->min_bytes > options->max_bytes || options->max_bytes > HOP_BYTES_MAX)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "random sizes from %llu to %llu bytes\n"
                        "a smallest size not above the largest, which is at most 2^60 bytes (1 EiB)",
                        (unsigned long long)options->min_bytes, (unsigned long long)options->max_bytes);
    if (!(options->depend >= 0 && options->depend <= 1))
        return hop_fail(diag, HOP_ERR_INVALID, "the probability of a dependency is %g\n0 to 1", options->depend);
    return HOP_OK;
}

/* The edges of all transfers, by number; false: out of memory. */
static bool draw_edges(uint64_t *state, uint32_t ranks, const struct hop_random *options, uint64_t *edges)
{
    if (options->distinct_sources && !draw_distinct(state, ranks, options->transfers, edges))
        return false;
    if (options->distinct_edges && !options->distinct_sources &&
        !draw_distinct(state, (uint64_t)ranks * (ranks - 1), options->transfers, edges))
        return false;
    for (uint32_t i = 0; i < options->transfers; i++) {
        if (options->distinct_sources)
            edges[i] = draw_edge(state, ranks, edges[i]);
        else if (!options->distinct_edges)
            edges[i] = draw_edge(state, ranks, draw_below(state, ranks));
    }
    return true;
}

static void make(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    const struct hop_random *options = &p->random;
    uint64_t state = options->seed, *edges = calloc(options->transfers, sizeof *edges);
    bool drawn = edges && draw_edges(&state, p->ranks, options, edges);
    if (!drawn)
        hop_failure_set(&maker->failure, HOP_ERR_MEMORY, "out of memory");
    for (uint32_t i = 0; drawn && i < options->transfers; i++) {
        uint32_t others = p->ranks - 1, earlier = 0;
        struct hop_send send = {.from = (uint32_t)(edges[i] / others), .to = (uint32_t)(edges[i] % others)};
        send.to += send.to >= send.from;
        send.bytes = options->min_bytes + draw_below(&state, options->max_bytes - options->min_bytes + 1);
        if (i > 0 && hop_draw_unit(&state) < options->depend) {
            earlier = (uint32_t)draw_below(&state, i);
            send.after = &earlier;
            send.after_count = 1;
        }
        hop_make_send(maker, &send, "t%u", i);
    }
    free(edges);
}

const struct hop_pattern_kind hop_pattern_random = {
    "random",
    "random:N[,transfers=T][,seed=S][,min-bytes=SIZE][,max-bytes=SIZE][,distinct-sources][,distinct-edges][,depend=P]",
    "T transfers between ranks drawn at random; with a chance of P one waits for an earlier one",
    1,
    check,
    make};

enum hop_status hop_make_random(const struct hop_ranks *ranks, const struct hop_random *options,
                                struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_pattern p = {.random = *options};
    return hop_make_schedule(&p, &hop_pattern_random, ranks, schedule, diag);
}
