/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast run: one rank. The first launch is checked, the second one, on memory that has been used, is recorded; the
 * repeated ones are timed. Emulated links have no such difference, but take long: there the first one is recorded. */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return x < y ? -1 : x > y;
}

/* A rank that fails tells the others why; the launcher prints it. */
static int give_up(struct hop_team *team, const struct hop_diag *diag)
{
    if (hop_team_lost(team) < 0)
        hop_team_abort(team, diag);
    return TOOL_BAD;
}

static enum hop_status first_launch(struct hop_team *team, const struct run_request *r, struct run_result *result,
                                    struct hop_diag *diag)
{
    struct hop_plan_options options = r->plan;
    struct hop_plan *plan;
    const struct hop_measured_op *times;
    struct hop_network *network = NULL;
    options.record = true;
    enum hop_status status = hop_plan_create(team, r->schedule, &options, &plan, diag);
    if (status != HOP_OK)
        return status;
    status = hop_plan_fill(plan, r->seed, diag);
    if (status == HOP_OK)
        status = hop_plan_run(plan, diag);
    if (status == HOP_OK && r->check)
        status = hop_plan_check(plan, r->seed, &result->wrong, &result->first_wrong);
    if (status == HOP_OK && !r->plan.emulate)
        status = hop_team_barrier(team, diag); /* some have compared more than others */
    if (status == HOP_OK && !r->plan.emulate)
        status = hop_plan_run(plan, diag);
    if (status != HOP_OK && r->check && result->first_wrong.what[0])
        *diag = result->first_wrong;
    if (status == HOP_OK)
        status = hop_plan_times(plan, &times, diag);
    if (status == HOP_OK && hop_team_rank(team) == 0) {
        if (!r->topology)
            status = run_flat(r->schedule, times, &result->flat, diag);
        if (status == HOP_OK)
            status = hop_network_create(r->topology ? r->topology : result->flat, r->models, &network, diag);
        if (status == HOP_OK)
            status = hop_timeline_measured(network, r->schedule, times, &result->timeline, diag);
    }
    hop_plan_destroy(plan);
    return status;
}

static enum hop_status repeated(struct hop_team *team, const struct run_request *r, double *times_s,
                                struct hop_diag *diag)
{
    struct hop_plan_options options = r->plan;
    struct hop_plan *plan;
    options.record = false;
    enum hop_status status = hop_plan_create(team, r->schedule, &options, &plan, diag);
    if (status != HOP_OK)
        return status;
    status = hop_plan_fill(plan, r->seed, diag);
    for (uint64_t i = 0; i < r->warmup && status == HOP_OK; i++)
        status = hop_plan_run(plan, diag);
    if (status == HOP_OK)
        status = hop_team_barrier(team, diag);
    for (uint64_t i = 0; i < r->repeat && status == HOP_OK; i++) {
        double begun_s = now_s();
        status = hop_plan_run(plan, diag);
        times_s[i] = (now_s() - begun_s) / (r->plan.emulate ? r->plan.slower : 1);
    }
    hop_plan_destroy(plan);
    return status;
}

static enum hop_status predict(const struct run_request *r, struct run_result *result, struct hop_diag *diag)
{
    struct hop_network *network;
    struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS};
    enum hop_status status = hop_network_create(r->topology, r->models, &network, diag);
    if (status == HOP_OK)
        status = hop_simulate(network, r->schedule, &options, &result->predicted, diag);
    if (status == HOP_OK)
        result->predicted_s = hop_timeline_makespan_s(result->predicted);
    return status;
}

int run_rank(struct hop_team *team, void *context)
{
    const struct run_request *r = context;
    struct run_result result = {.predicted_s = NAN};
    struct hop_diag diag = {0};
    double *times_s = calloc(r->repeat + 1, sizeof *times_s);
    if (!times_s)
        return tool_out_of_memory();
    enum hop_status status = first_launch(team, r, &result, &diag);
    if (status == HOP_OK && r->repeat > 0)
        status = repeated(team, r, times_s, &diag);
    if (status == HOP_OK && r->predict && hop_team_rank(team) == 0)
        status = predict(r, &result, &diag);
    int answer = status == HOP_OK ? TOOL_OK : give_up(team, &diag);
    if (status == HOP_OK && result.first_wrong.what[0])
        fprintf(stderr, "hopcast: wrong: %s; expected %s\n", result.first_wrong.what, result.first_wrong.expected);
    if (answer == TOOL_OK && hop_team_rank(team) == 0) {
        qsort(times_s, r->repeat, sizeof *times_s, by_value);
        result.times_s = times_s;
        result.time_count = r->repeat;
        answer = run_show(r, &result);
    }
    if (answer == TOOL_OK && result.wrong > 0)
        answer = TOOL_NEGATIVE;
    free(times_s);
    return answer;
}
