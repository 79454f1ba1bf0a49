/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Plans by default: on one machine, whose ranks reach each other's memory, ranks work at the same time, none for all; on
 * several a message is its sender's.
 */
#include "test.h"

#include "run/plans.h"

enum { RANKS = 5 };
#define BYTES (RANKS * UINT64_C(80) << 10)

static struct hop_schedule *plan_of(enum hop_collective_kind kind, bool apart)
{
    struct hop_plan_shape shape = {.kind = kind, .type = HOP_TYPE_F32, .vector_bytes = BYTES, .root = 2};
    struct hop_schedule *schedule = NULL;
    assert_true(hop_plans_can(&shape, RANKS));
    CHECK(hop_plan_schedule(&shape, RANKS, apart, &schedule, D));
    return schedule;
}

/* Bytes that each rank copies itself, of those between two ranks; returns all. */
static uint64_t copied_by(struct hop_schedule *schedule, uint64_t bytes[RANKS])
{
    uint64_t all = 0;
    memset(bytes, 0, RANKS * sizeof *bytes);
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (op->kind != HOP_OP_COPY || op->from.rank == op->to.rank)
            continue;
        bytes[op->by < 0 ? op->from.rank : op->by] += op->bytes;
        all += op->bytes;
    }
    hop_schedule_destroy(schedule);
    return all;
}

static void no_rank_copies_for_all(void **state)
{
    static const enum hop_collective_kind kinds[] = {HOP_COLLECTIVE_SCATTER, HOP_COLLECTIVE_GATHER,
                                                     HOP_COLLECTIVE_ALLGATHER, HOP_COLLECTIVE_ALLTOALL};
    (void)state;
    for (size_t k = 0; k < HOP_COUNT(kinds); k++) {
        uint64_t bytes[RANKS], all = copied_by(plan_of(kinds[k], false), bytes);
        assert_true(all > 0);
        for (uint32_t r = 0; r < RANKS; r++) {
            if (bytes[r] > all / (RANKS - 1))
                fail_msg("%s: rank %u copies %llu of %llu bytes", hop_collective_name(kinds[k]), r,
                         (unsigned long long)bytes[r], (unsigned long long)all);
        }
    }
}

static void on_several_machines_the_sender_copies(void **state)
{
    uint64_t bytes[RANKS];
    (void)state;
    assert_int_equal(copied_by(plan_of(HOP_COLLECTIVE_GATHER, true), bytes), BYTES / RANKS * (RANKS - 1));
    for (uint32_t r = 0; r < RANKS; r++)
        assert_int_equal(bytes[r], r == 2 ? 0 : BYTES / RANKS);
}

TEST_GROUP(plans)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_rank_copies_for_all),
        cmocka_unit_test(on_several_machines_the_sender_copies),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
