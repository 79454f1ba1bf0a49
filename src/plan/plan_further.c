/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The whole plan: placement and order first, then what is chosen for them. These take a tenth of states and time, where
 * there is a limit.
 */
#include "plan/plan.h"

#include "base/clock.h"
#include "schedule/schedule.h"

#define FIRST_SHARE 0.9
#define TELL_S 0.1

void hop_plan_leave_share(struct hop_plan_options *o)
{
    if (o->way == HOP_PLAN_DIRECT)
        return;
    o->time_limit_s *= FIRST_SHARE;
    o->max_nodes -= (uint64_t)((1 - FIRST_SHARE) * (double)o->max_nodes);
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
    f->stopped = f->stopped || (o->time_limit_s > 0 && now_s - f->begun_s >= o->time_limit_s);
    if (!o->progress || f->stopped || now_s - f->told_s < TELL_S)
        return !f->stopped;
    f->told_s = now_s;
    const struct hop_plan_progress progress = {
        .phase = f->phase, .value_s = r->value_s, .bound_s = r->any_way_s, .elapsed_s = now_s - f->begun_s};
    f->stopped = !o->progress(&progress, o->context);
    return !f->stopped;
}

enum hop_status hop_plan_go_further(struct hop_plan_further *f, struct hop_diag *diag)
{
    struct hop_plan_result *r = &f->made->result;
    r->direct_s = r->value_s;
    r->rung = r->rung_count - 1;
    r->ways.way = f->options->way;
    if (r->best)
        HOP_CHECK(hop_plan_ways(f, diag));
    r->complete = r->complete && !f->stopped;
    r->elapsed_s = hop_now_s() - f->begun_s;
    return HOP_OK;
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

enum hop_status hop_plan(const struct hop_topology *topology, const struct hop_schedule *exchange,
                         const struct hop_plan_options *options, struct hop_plan_result **result, struct hop_diag *diag)
{
    struct hop_plan_options own = {.seed = 1}, first;
    struct hop_schedule *staged = NULL;
    struct hop_plan_result *found = NULL;
    struct hop_diag ignored;
    double begun_s = hop_now_s();
    diag = diag ? diag : &ignored;
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    HOP_CHECK(hop_plan_stage(&own, exchange, &staged, diag));
    exchange = staged ? staged : exchange;
    first = own;
    hop_plan_leave_share(&first);
    enum hop_status status = hop_plan_direct(topology, exchange, &first, &found, diag);
    struct hop_plan_further further = {.topology = topology,
                                       .exchange = exchange,
                                       .options = &own,
                                       .made = (struct hop_plan_made *)found, /* its first member */
                                       .begun_s = begun_s};
    if (status == HOP_OK)
        status = hop_plan_go_further(&further, diag);
    hop_schedule_destroy(staged);
    if (status == HOP_OK)
        *result = found;
    else
        hop_plan_result_destroy(found);
    return status;
}
