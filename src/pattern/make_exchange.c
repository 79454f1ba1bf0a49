/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges among all ranks. Every rank's sends stand together, in its own order; a ring goes round by round.
 */
#include "pattern/make.h"

#include <stdio.h>

static enum hop_status set_count(struct hop_pattern *p, uint64_t messages)
{
    p->messages = messages;
    (void)snprintf(p->name, sizeof p->name, "%s-%u", p->kind->name, p->ranks);
    return HOP_OK;
}

/* ---- alltoall ---- */

static const char *const order_names[] = {"naive", "shift", "xor"};

/* Where rank r sends its i-th message, i from 0 to n - 2. */
static uint32_t alltoall_target(enum hop_alltoall order, uint32_t n, uint32_t r, uint32_t i)
{
    if (order == HOP_ALLTOALL_NAIVE)
        return i + (i >= r);
    return order == HOP_ALLTOALL_SHIFT ? (r + i + 1) % n : r ^ (i + 1);
}

static enum hop_status check_alltoall(struct hop_pattern *p, struct hop_diag *diag)
{
    uint32_t n = p->ranks;
    if ((unsigned)p->order >= HOP_COUNT(order_names))
        return hop_fail(diag, HOP_ERR_INVALID, "there is no order of alltoall numbered %d", (int)p->order);
    if (p->order == HOP_ALLTOALL_XOR && (n & (n - 1)) != 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "alltoall in xor order cannot be made for %u devices\n"
                        "a power of two; the orders shift and naive take any number",
                        n);
    p->messages = n ? (uint64_t)n * (n - 1) : 0;
    (void)snprintf(p->name, sizeof p->name, "alltoall-%s-%u", order_names[p->order], n);
    return HOP_OK;
}

static void make_alltoall(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    for (uint32_t r = 0; r < p->ranks; r++) {
        for (uint32_t i = 0; i + 1 < p->ranks; i++) {
            struct hop_send send = {.from = r, .to = alltoall_target(p->order, p->ranks, r, i), .bytes = p->bytes};
            hop_make_send(maker, &send, "r%u.to%u", r, send.to);
        }
    }
}

const struct hop_pattern_kind hop_pattern_alltoall = {
    "alltoall",
    "alltoall:N[,order=naive|shift|xor]",
    "bytes to every other rank: to 0, 1, ... (naive), to r+1, r+2, ... or to r^1, r^2, ...",
    1,
    check_alltoall,
    make_alltoall};

enum hop_status hop_make_alltoall(const struct hop_ranks *ranks, enum hop_alltoall order, uint64_t bytes,
                                  struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_pattern p = {.order = order, .bytes = bytes};
    return hop_make_schedule(&p, &hop_pattern_alltoall, ranks, schedule, diag);
}

/* ---- ring ---- */

static enum hop_status check_ring(struct hop_pattern *p, struct hop_diag *diag)
{
    if (p->ranks < 2 || p->rounds == 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "a ring of %u devices cannot go %u rounds\nat least 2 devices and 1 round", p->ranks,
                        p->rounds);
    return set_count(p, (uint64_t)p->ranks * p->rounds);
}

static void make_ring(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    uint32_t n = p->ranks;
    for (uint32_t k = 0; k < p->rounds; k++) {
        for (uint32_t r = 0; r < n; r++) {
            uint32_t received = k ? (k - 1) * n + (r + n - 1) % n : 0;
            struct hop_send send = {
                .from = r, .to = (r + 1) % n, .bytes = p->bytes, .after = &received, .after_count = k > 0};
            hop_make_send(maker, &send, "k%u.r%u", k, r);
        }
    }
}

const struct hop_pattern_kind hop_pattern_ring = {
    "ring", "ring:N[,rounds=K]", "bytes to the next rank, the last sends to the first; K times, what came passed on",
    1,      check_ring,          make_ring};

enum hop_status hop_make_ring(const struct hop_ranks *ranks, uint32_t rounds, uint64_t bytes,
                              struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_pattern p = {.rounds = rounds, .bytes = bytes};
    return hop_make_schedule(&p, &hop_pattern_ring, ranks, schedule, diag);
}

/* ---- with a root ---- */

static enum hop_status check_rooted(struct hop_pattern *p, struct hop_diag *diag)
{
    if (p->root >= p->ranks)
        return hop_fail(diag, HOP_ERR_INVALID, "rank %u cannot be the root among %u devices\na rank from 0 to %u",
                        p->root, p->ranks, p->ranks ? p->ranks - 1 : 0);
    return set_count(p, p->ranks - 1);
}

static void make_scatter(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    for (uint32_t r = 0; r < p->ranks; r++) {
        struct hop_send send = {.from = p->root, .to = r, .bytes = p->bytes};
        if (r != p->root)
            hop_make_send(maker, &send, "to%u", r);
    }
}

static void make_gather(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    for (uint32_t r = 0; r < p->ranks; r++) {
        struct hop_send send = {.from = r, .to = p->root, .bytes = p->bytes};
        if (r != p->root)
            hop_make_send(maker, &send, "from%u", r);
    }
}

const struct hop_pattern_kind hop_pattern_scatter = {
    "scatter", "scatter:N[,root=R]", "the root sends to every other rank", 1, check_rooted, make_scatter};
const struct hop_pattern_kind hop_pattern_gather = {"gather", "gather:N[,root=R]", "every other rank sends to the root",
                                                    1,        check_rooted,        make_gather};

enum hop_status hop_make_scatter(const struct hop_ranks *ranks, uint32_t root, uint64_t bytes,
                                 struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_pattern p = {.root = root, .bytes = bytes};
    return hop_make_schedule(&p, &hop_pattern_scatter, ranks, schedule, diag);
}

enum hop_status hop_make_gather(const struct hop_ranks *ranks, uint32_t root, uint64_t bytes,
                                struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_pattern p = {.root = root, .bytes = bytes};
    return hop_make_schedule(&p, &hop_pattern_gather, ranks, schedule, diag);
}

/* ---- two and two ---- */

static enum hop_status check_pairs(struct hop_pattern *p, struct hop_diag *diag)
{
    if (p->ranks < 2)
        return hop_fail(diag, HOP_ERR_INVALID, "%s among %u devices\nat least 2 devices", p->kind->name, p->ranks);
    return set_count(p, p->ranks);
}

/* Both ways between i and i + distance, for every i of a block's first half. */
static void make_both_ways(const struct hop_pattern *p, struct hop_pattern_sink *maker, uint32_t distance)
{
    for (uint32_t i = 0; i + distance < p->ranks; i++) {
        struct hop_send there = {.from = i, .to = i + distance, .bytes = p->bytes},
                        back = {.from = i + distance, .to = i, .bytes = p->bytes};
        if (i / distance % 2)
            continue;
        hop_make_send(maker, &there, "r%u.to%u", there.from, there.to);
        hop_make_send(maker, &back, "r%u.to%u", back.from, back.to);
    }
}

static void make_neighbours(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    make_both_ways(p, maker, 1);
}

static void make_pairs(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    make_both_ways(p, maker, p->ranks / 2);
}

const struct hop_pattern_kind hop_pattern_neighbours = {
    "neighbours", "neighbours:N", "0 <-> 1, 2 <-> 3, ...: both ways between ranks that follow each other", 1,
    check_pairs,  make_neighbours};
const struct hop_pattern_kind hop_pattern_pairs = {
    "pairs", "pairs:N", "i <-> i + N/2: both ways between the two halves", 1, check_pairs, make_pairs};
