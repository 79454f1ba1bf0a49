/* SPDX-License-Identifier: BSD-3-Clause */
/* What the steps after placement and order share: the exchange with its ways, limits, progress. These steps take a tenth of
 * states and time, where there is a limit. */
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
