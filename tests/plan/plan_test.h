/* SPDX-License-Identifier: BSD-3-Clause */
/* What tests of plans share: exchanges between ranks, plans of them, and what schedules take. */
#ifndef PLAN_TEST_H
#define PLAN_TEST_H

#include "hopcast/pattern.h"
#include "hopcast/plan.h"
#include "test.h"

#include <math.h>

/* Between ranks, all at once. */
static inline struct hop_schedule *exchange_of(const char *pattern)
{
    const char *names[64];
    char text[64][16];
    struct hop_traffic *traffic = NULL;
    struct hop_schedule *schedule = NULL;
    CHECK(hop_pattern_traffic(pattern, HOP_MEMORY_DEVICE, &traffic, D));
    assert_true(hop_traffic_ranks(traffic) <= 64);
    for (uint32_t r = 0; r < hop_traffic_ranks(traffic); r++) {
        (void)snprintf(text[r], sizeof text[r], "rank%u", r);
        names[r] = text[r];
    }
    CHECK(hop_traffic_to_schedule(traffic, names, NULL, &schedule, D));
    hop_traffic_destroy(traffic);
    return schedule;
}

static inline struct hop_plan_result *plan(const struct hop_topology *topology, const struct hop_schedule *exchange,
                                           struct hop_plan_options options)
{
    struct hop_plan_result *result = NULL;
    options.seed = 1;
    CHECK(hop_plan(topology, exchange, &options, &result, D));
    return result;
}

static inline const struct hop_plan_rung *rung(const struct hop_plan_result *result, enum hop_plan_step step)
{
    for (uint32_t i = 0; i < result->rung_count; i++) {
        if (result->rungs[i].step == step)
            return &result->rungs[i];
    }
    fail_msg("there is no step %d", (int)step);
    return NULL;
}

static inline double simulated(const struct hop_topology *topology, const struct hop_schedule *schedule,
                               const char *models)
{
    struct hop_network *network = NULL;
    struct hop_timeline *timeline = NULL;
    CHECK(hop_network_create(topology, models, &network, D));
    CHECK(hop_simulate(network, schedule, NULL, &timeline, D));
    double makespan_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    return makespan_s;
}

#endif
