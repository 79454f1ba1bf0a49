/* SPDX-License-Identifier: BSD-3-Clause */
/* What the steps after placement and order share: the exchange with its ways, limits, progress. These steps take a seventh of
 * states and time, or with the plan of least regret half of them, where there is a limit. */
#include "plan/plan.h"

#include "base/clock.h"
#include "schedule/schedule.h"

#define FIRST_SHARE 0.85
#define ROBUST_SHARE 0.5
#define TELL_S 0.1

void hop_plan_leave_share(struct hop_plan_options *o)
{
    double share = o->robust ? ROBUST_SHARE : o->way == HOP_PLAN_DIRECT ? 1 : FIRST_SHARE;
    o->time_limit_s *= share;
    o->max_nodes -= (uint64_t)((1 - share) * (double)o->max_nodes);
}

double hop_plan_further_left_s(const struct hop_plan_further *f)
{
    double limit_s = f->options->time_limit_s;
    return limit_s > 0 ? hop_max(1e-3, f->begun_s + limit_s - hop_now_s()) : 0;
}

bool hop_plan_further_goes_on(struct hop_plan_further *f)
{
    const struct hop_plan_options *o = f->options;
    const struct hop_plan_result *r = &f->made->result;
    double now_s = hop_now_s();
    f->stopped = f->stopped || now_s >= f->call->until_s || atomic_load(&f->call->stopped);
    if (!o->progress || f->stopped || now_s - f->told_s < TELL_S)
        return !f->stopped;
    f->told_s = now_s;
    const struct hop_plan_progress progress = {
        .phase = f->phase, .value_s = r->value_s, .bound_s = r->any_way_s, .elapsed_s = now_s - f->begun_s};
    f->stopped = !o->progress(&progress, o->context);
    atomic_store(&f->call->stopped, f->stopped);
    return !f->stopped;
}

bool hop_plan_further_is_over(void *further)
{
    return !hop_plan_further_goes_on(further);
}

enum hop_status hop_plan_stage(const struct hop_plan_options *options, const struct hop_schedule *exchange,
                               struct hop_schedule **staged, struct hop_diag *diag)
{
    *staged = NULL;
    if (options->way != HOP_PLAN_STAGED)
        return HOP_OK;
    struct hop_schedule *made = hop_schedule_create_like(exchange);
    for (uint32_t i = 0; i < hop_schedule_count(exchange); i++) {
        struct hop_op op = *hop_schedule_op(exchange, i);
        if (op.kind == HOP_OP_COPY)
            op.via = HOP_VIA_STAGED;
        op.packet_bytes = 0;
        (void)hop_schedule_add(made, &op);
    }
    return hop_schedule_finish(made, staged, diag);
}

bool hop_plan_is_same(const struct hop_placement *a, const struct hop_placement *b)
{
    bool same = true;
    for (uint32_t rank = 0; rank < hop_placement_count(a) && same; rank++)
        same = strcmp(hop_placement_device(a, rank), hop_placement_device(b, rank)) == 0;
    return same;
}

enum hop_status hop_plan_same_placement(const struct hop_placement *from, struct hop_placement **same,
                                        struct hop_diag *diag)
{
    uint32_t ranks = hop_placement_count(from);
    const char **devices = calloc(ranks + (size_t)1, sizeof *devices);
    if (!devices)
        return hop_fail_memory(diag);
    for (uint32_t r = 0; r < ranks; r++)
        devices[r] = hop_placement_device(from, r);
    enum hop_status status = hop_placement_of(devices, ranks, same, diag);
    free(devices);
    return status;
}

enum hop_status hop_plan_seat(const struct hop_plan_further *f, const struct hop_placement *placement,
                              const struct hop_map_result **mapping, struct hop_diag *diag)
{
    const struct hop_plan_options *o = f->options;
    const struct hop_map_options options = {.metric = HOP_MAP_CONGESTION,
                                            .exchange = f->exchange,
                                            .models = o->models,
                                            .start = placement,
                                            .excluded = o->excluded,
                                            .excluded_count = o->excluded_count,
                                            .keep = o->keep,
                                            .keep_count = o->keep_count,
                                            .phases = HOP_MAP_SCORE,
                                            .no_simulation = true,
                                            .seed = o->seed};
    struct hop_traffic *traffic;
    struct hop_map_result *mapped = NULL;
    HOP_CHECK(hop_traffic_of_schedule(f->exchange, &traffic, diag));
    enum hop_status status = hop_map(f->topology, traffic, &options, &mapped, diag);
    *mapping = mapped;
    hop_traffic_destroy(traffic);
    return status;
}
