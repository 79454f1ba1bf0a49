/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Exchanges among all ranks: alltoall, ring, scatter, gather. Every rank's sends stand together, in its own order; a
 * ring goes round by round.
 */
#include "pattern/make.h"

#include <stdio.h>

static const char *const order_names[] = {"naive", "shift", "xor"};

/* Where rank r sends its i-th message, i from 0 to n - 2. */
static uint32_t alltoall_target(enum hop_alltoall order, uint32_t n, uint32_t r, uint32_t i)
{
    switch (order) {
    case HOP_ALLTOALL_NAIVE:
        return i + (i >= r);
    case HOP_ALLTOALL_SHIFT:
        return (r + i + 1) % n;
    case HOP_ALLTOALL_XOR:
        break;
    }
    return r ^ (i + 1);
}

enum hop_status hop_make_alltoall(const struct hop_ranks *ranks, enum hop_alltoall order, uint64_t bytes,
                                  struct hop_schedule **schedule, struct hop_diag *diag)
{
    uint32_t n = ranks->count;
    if ((unsigned)order >= HOP_COUNT(order_names))
        return hop_fail(diag, HOP_ERR_INVALID, "there is no order of alltoall numbered %d", (int)order);
    if (order == HOP_ALLTOALL_XOR && (n & (n - 1)) != 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "alltoall in xor order cannot be made for %u devices\na power of two; the orders shift and "
                        "naive take any number",
                        n);
    char name[HOP_MAKE_NAME_SIZE];
    (void)snprintf(name, sizeof name, "alltoall-%s-%u", order_names[order], n);
    struct hop_schedule *made;
    enum hop_status status = hop_make_begin(ranks, n ? (uint64_t)n * (n - 1) : 0, name, &made, diag);
    if (status != HOP_OK)
        return status;
    for (uint32_t r = 0; r < n; r++) {
        for (uint32_t i = 0; i + 1 < n; i++) {
            struct hop_send send = {.from = r, .to = alltoall_target(order, n, r, i), .bytes = bytes};
            hop_make_send(made, ranks, &send, "r%u.to%u", r, send.to);
        }
    }
    return hop_schedule_finish(made, schedule, diag);
}

enum hop_status hop_make_ring(const struct hop_ranks *ranks, uint32_t rounds, uint64_t bytes,
                              struct hop_schedule **schedule, struct hop_diag *diag)
{
    uint32_t n = ranks->count;
    if (n < 2 || rounds == 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "a ring of %u devices cannot go %u rounds\nat least 2 devices and 1 round", n, rounds);
    char name[HOP_MAKE_NAME_SIZE];
    (void)snprintf(name, sizeof name, "ring-%u", n);
    struct hop_schedule *made;
    enum hop_status status = hop_make_begin(ranks, (uint64_t)n * rounds, name, &made, diag);
    if (status != HOP_OK)
        return status;
    for (uint32_t k = 0; k < rounds; k++) {
        for (uint32_t r = 0; r < n; r++) {
            uint32_t received = k ? (k - 1) * n + (r + n - 1) % n : 0;
            struct hop_send send = {r, (r + 1) % n, bytes, &received, k > 0};
            hop_make_send(made, ranks, &send, "k%u.r%u", k, r);
        }
    }
    return hop_schedule_finish(made, schedule, diag);
}

static enum hop_status make_rooted(const struct hop_ranks *ranks, uint32_t root, uint64_t bytes, bool from_root,
                                   struct hop_schedule **schedule, struct hop_diag *diag)
{
    uint32_t n = ranks->count;
    char name[HOP_MAKE_NAME_SIZE];
    (void)snprintf(name, sizeof name, "%s-%u", from_root ? "scatter" : "gather", n);
    struct hop_schedule *made;
    enum hop_status status = hop_make_begin(ranks, n, name, &made, diag);
    if (status != HOP_OK)
        return status;
    if (root >= n) {
        status = hop_fail(diag, HOP_ERR_INVALID, "rank %u cannot be the root among %u devices\na rank from 0 to %u",
                          root, n, n - 1);
    }
    for (uint32_t r = 0; r < n && status == HOP_OK; r++) {
        struct hop_send send = {.from = from_root ? root : r, .to = from_root ? r : root, .bytes = bytes};
        if (r != root)
            hop_make_send(made, ranks, &send, from_root ? "to%u" : "from%u", r);
    }
    return hop_schedule_end(made, status, schedule, diag);
}

enum hop_status hop_make_scatter(const struct hop_ranks *ranks, uint32_t root, uint64_t bytes,
                                 struct hop_schedule **schedule, struct hop_diag *diag)
{
    return make_rooted(ranks, root, bytes, true, schedule, diag);
}

enum hop_status hop_make_gather(const struct hop_ranks *ranks, uint32_t root, uint64_t bytes,
                                struct hop_schedule **schedule, struct hop_diag *diag)
{
    return make_rooted(ranks, root, bytes, false, schedule, diag);
}
