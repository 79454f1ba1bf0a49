/* SPDX-License-Identifier: BSD-3-Clause */
/* The whole plan: placement and order first, then what is chosen for them. */
#include "plan/plan.h"

#include "base/clock.h"

enum hop_status hop_plan_go_further(struct hop_plan_further *f, struct hop_diag *diag)
{
    struct hop_plan_result *r = &f->made->result;
    r->direct_s = r->value_s;
    r->rung = r->rung_count - 1;
    r->ways.way = f->options->way;
    if (r->best)
        HOP_CHECK(hop_plan_ways(f, diag));
    if (r->best && f->options->robust)
        HOP_CHECK(hop_plan_robust_find(f, diag));
    r->complete = r->complete && !f->stopped;
    r->elapsed_s = hop_now_s() - f->begun_s;
    return HOP_OK;
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
