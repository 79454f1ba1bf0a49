/* SPDX-License-Identifier: BSD-3-Clause */
/* The longest chain of works, or the works of the busiest CPU: what a program takes where nothing that moves takes time. */
#include "schedule/processes.h"
#include "schedule/schedule.h"

struct links {
    const struct hop_schedule *schedule;
    const uint32_t *partner;
};

static uint32_t waits_for(const void *context, uint32_t node, uint32_t i)
{
    const struct links *links = context;
    const struct hop_op *op = &links->schedule->ops[node];
    if (i < op->after_count)
        return op->after[i];
    i -= op->after_count;
    if (i < op->after_start_count)
        return op->after_start[i];
    return op->kind == HOP_OP_RECEIVE && i == op->after_start_count ? links->partner[node] : HOP_NONE;
}

static double start_of(const struct links *links, const double *starts_s, const double *ends_s, uint32_t node)
{
    const struct hop_op *op = &links->schedule->ops[node];
    double start_s = op->at_s;
    for (uint32_t i = 0; i < op->after_count; i++)
        start_s = hop_max(start_s, ends_s[op->after[i]]);
    for (uint32_t i = 0; i < op->after_start_count; i++)
        start_s = hop_max(start_s, starts_s[op->after_start[i]]);
    return op->kind == HOP_OP_RECEIVE ? hop_max(start_s, ends_s[links->partner[node]]) : start_s;
}

/* What the CPU computes in all that computes most. */
static enum hop_status busiest_s(const struct hop_schedule *schedule, double *most_s, struct hop_diag *diag)
{
    struct hop_processes processes = {0};
    double *sums_s = calloc((size_t)schedule->count + 1, sizeof *sums_s);
    uint32_t cpu = 0;
    for (uint32_t i = 0; sums_s && cpu != HOP_NONE && i < schedule->count; i++) {
        if (hop_op_computes(&schedule->ops[i]) && (cpu = hop_cpu_of(&processes, &schedule->ops[i])) != HOP_NONE)
            *most_s = hop_max(*most_s, sums_s[cpu] += schedule->ops[i].duration_s);
    }
    hop_processes_finish(&processes);
    bool fine = sums_s && cpu != HOP_NONE;
    free(sums_s);
    return fine ? HOP_OK : hop_fail_memory(diag);
}

enum hop_status hop_schedule_work_chain_s(const struct hop_schedule *schedule, double *chain_s, struct hop_diag *diag)
{
    size_t count = (size_t)schedule->count + 1;
    uint32_t *partner = malloc(count * sizeof *partner), *order = malloc(count * sizeof *order), *cycle = NULL,
             length = 0;
    double *starts_s = calloc(count, sizeof *starts_s), *ends_s = calloc(count, sizeof *ends_s), longest_s = 0;
    struct links links = {schedule, partner};
    enum hop_status status = partner && order && starts_s && ends_s ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = hop_schedule_match(schedule, partner, diag);
    if (status == HOP_OK)
        status = hop_cycle_find(schedule->count, waits_for, &links, order, &cycle, &length, diag);
    if (status == HOP_OK && length > 0)
        status = hop_fail(diag, HOP_ERR_DEADLOCK, "operations and messages wait for each other in a circle");
    for (uint32_t i = 0; status == HOP_OK && i < schedule->count; i++) {
        const struct hop_op *op = &schedule->ops[order[i]];
        starts_s[order[i]] = start_of(&links, starts_s, ends_s, order[i]);
        ends_s[order[i]] = starts_s[order[i]] + (op->kind == HOP_OP_WORK ? op->duration_s : 0);
        longest_s = hop_max(longest_s, ends_s[order[i]]);
    }
    if (status == HOP_OK)
        status = busiest_s(schedule, &longest_s, diag);
    free(partner);
    free(order);
    free(cycle);
    free(starts_s);
    free(ends_s);
    if (status == HOP_OK)
        *chain_s = longest_s;
    return status;
}
