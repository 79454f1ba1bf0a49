/* SPDX-License-Identifier: BSD-3-Clause */
/* What the tests of cards share. */
#ifndef HOP_APENET_TEST_H
#define HOP_APENET_TEST_H

#include "run/run_test.h"

#include <math.h>

#include "apenet/apenet.h"
#include "base/random.h"

/* The next event, which must be of that kind and error. */
#define EXPECT(card, of_kind, of_error, event)                                                                         \
    do {                                                                                                               \
        REQUIRE(hop_apenet_wait((card), INFINITY, (event)));                                                           \
        if ((event)->kind != (of_kind) || (event)->error != (of_error)) {                                              \
            fprintf(stderr, "%s:%d: rank %u: event %d: %s\n", __FILE__, __LINE__, hop_team_rank(team),                 \
                    (int)(event)->kind, hop_apenet_error_text((event)->error));                                        \
            return 1;                                                                                                  \
        }                                                                                                              \
    } while (0)

/* As processes or threads; a driver's devices, in processes only. */
static inline void launch_cards(uint32_t ranks, bool threads, hop_rank_body *body, void *context)
{
    const struct hop_launch_options how = {.ranks = ranks, .threads = threads, .timeout_s = 60};
    int result = 1;
    CHECK(hop_launch(&how, body, context, &result, D));
    assert_int_equal(result, 0);
}

/* Until so many packets of data have come to this rank. */
static inline void await_packets(struct hop_apenet *card, uint64_t count)
{
    struct hop_apenet_counts counts = {0};
    for (; counts.packets_received < count; hop_apenet_count(card, &counts))
        sched_yield();
}

#endif
