/* SPDX-License-Identifier: BSD-3-Clause */
/* What choosing ways on the plan's placement and on others has in common: ways and packets by room tune, the order of
 * copies on their ways, and whether all models grant the gain. */
#include "hopcast/tune.h"
#include "plan/plan.h"
#include "schedule/schedule.h"
#include "tune/tune.h"

enum { ORDERED_MOST = 600 }; /* operations, packets among them, whose order is looked at once more */
#define CLEAN (1 + 1e-9)

enum hop_status hop_plan_can_stage(const struct hop_plan_further *f, struct hop_network *network,
                                   const struct hop_op *op, bool *can, struct hop_diag *diag)
{
    struct hop_tune_ways ways;
    uint32_t from = hop_topology_find(f->topology, op->from.device),
             to = op->kind == HOP_OP_COPY ? hop_topology_find(f->topology, op->to.device) : HOP_NONE;
    *can = op->kind == HOP_OP_COPY && from != HOP_NONE && to != HOP_NONE && from != to;
    if (!*can)
        return HOP_OK;
    HOP_CHECK(hop_tune_find_ways(network, from, to, &ways, diag));
    *can = ways.direct != HOP_NONE && hop_tune_can_stage(&ways);
    return HOP_OK;
}

enum hop_status hop_plan_drop(struct hop_plan_further *f, enum hop_status status)
{
    if (status != HOP_ERR_DEADLOCK)
        return status;
    atomic_fetch_add(&f->call->stuck, 1);
    return HOP_OK;
}

enum hop_status hop_plan_mix(struct hop_plan_further *f, struct hop_network *network, const struct hop_schedule *base,
                             bool packets, uint32_t most, struct hop_plan_mixed *mixed, struct hop_diag *diag)
{
    static const uint64_t whole[] = {HOP_BYTES_MAX}; /* cuts nothing */
    struct hop_tuned_mix *mix;
    bool staged = f->options->way == HOP_PLAN_STAGED;
    const struct hop_tune_options options = {.packets = packets ? NULL : whole,
                                             .packet_count = !packets,
                                             .max_evaluations = most,
                                             .keep_limits = !f->options->allow_unclean,
                                             .staged_alone = staged,
                                             .no_gain = true,
                                             .stop = hop_plan_further_is_over,
                                             .context = f};
    enum hop_status status = hop_tune_mix(network, base, &options, &mix, diag);
    if (status != HOP_OK)
        return hop_plan_drop(f, status);
    atomic_fetch_add(&f->call->stuck, mix->stuck);
    if (mix->mix_s < HOP_PLAN_BETTER(mixed->value_s)) {
        hop_schedule_destroy(mixed->schedule);
        mixed->schedule = NULL;
        mixed->value_s = mix->mix_s;
        mixed->waits = mixed->waits && !staged;
        mixed->staged = staged ? f->made->result.ways.copies : mix->staged_count;
        mixed->packet_bytes = mix->mix_packet_bytes;
        status = hop_schedule_clone(mix->best, &mixed->schedule, diag);
    }
    hop_tune_mix_destroy(mix);
    return status;
}

static bool watch_order(const struct hop_order_progress *progress, void *further)
{
    (void)progress;
    return hop_plan_further_goes_on(further);
}

/* Reads and writes of packets one by one. */
static double operations(const struct hop_schedule *s)
{
    double count = 0;
    for (uint32_t i = 0; i < hop_schedule_count(s); i++) {
        const struct hop_op *op = hop_schedule_op(s, i);
        count += op->via == HOP_VIA_STAGED ? 2.0 * (double)hop_tune_packets_of(op->bytes, op->packet_bytes) : 1;
    }
    return count;
}

enum hop_status hop_plan_reorder(struct hop_plan_further *f, double work, uint32_t parts, struct hop_plan_mixed *mixed,
                                 bool *better, struct hop_diag *diag)
{
    const struct hop_plan_options *o = f->options;
    struct hop_plan_result *r = &f->made->result;
    struct hop_order_result *found;
    double count = operations(mixed->schedule);
    *better = false;
    if (count > ORDERED_MOST || hop_schedule_queue_ready(mixed->schedule) || (o->max_nodes && f->left == 0) ||
        !hop_plan_further_goes_on(f))
        return HOP_OK;
    const struct hop_order_options options = {.models = o->models,
                                              .allow_unclean = o->allow_unclean,
                                              .no_waits = o->no_waits,
                                              .max_nodes = o->max_nodes ? (f->left - 1) / parts + 1
                                                                        : (uint64_t)(work / count) + 1,
                                              .time_limit_s = hop_plan_further_left_s(f) / parts,
                                              .cut_s = isfinite(mixed->value_s) ? mixed->value_s : 0,
                                              .or_given = true,
                                              .threads = o->threads,
                                              .seed = o->seed,
                                              .progress = watch_order,
                                              .context = f};
    enum hop_status status = hop_order_search(f->topology, mixed->schedule, &options, &found, diag);
    if (status != HOP_OK)
        return hop_plan_drop(f, status);
    r->nodes += found->nodes;
    f->left -= found->nodes < f->left ? found->nodes : f->left;
    if (found->best && found->value_s < HOP_PLAN_BETTER(mixed->value_s)) {
        *better = true;
        hop_schedule_destroy(mixed->schedule);
        mixed->schedule = NULL;
        mixed->value_s = found->value_s;
        mixed->clean = found->candidates[found->candidate_count - 1].fullest <= CLEAN;
        mixed->waits = found->waits || mixed->waits;
        status = hop_schedule_clone(found->best, &mixed->schedule, diag);
    }
    hop_order_result_destroy(found);
    return status;
}

/* What one model promises and another one denies is none. */
enum hop_status hop_plan_grants(const struct hop_plan_further *f, const struct hop_plan_rung *direct,
                                const struct hop_schedule *schedule, struct hop_gain **gain, bool *granted,
                                struct hop_diag *diag)
{
    struct hop_plan_watch watch = hop_plan_watch_show(f->call);
    const struct hop_gain_options options = {.models = f->options->models,
                                             .max_effort = hop_map_effort(f->options->time_limit_s),
                                             .stop = hop_plan_is_over,
                                             .context = &watch};
    *gain = NULL;
    *granted = true;
    if (hop_schedule_count(schedule) > HOP_MAP_EXCHANGE_MOST)
        return HOP_OK;
    enum hop_status status = hop_gain_find(f->topology, direct->schedule, schedule, &options, gain, diag);
    if (status != HOP_OK) {
        *granted = false;
        return status == HOP_ERR_STOPPED ? HOP_OK : status;
    }
    *granted = (*gain)->range.verdict == HOP_GAIN_FASTER || (*gain)->range.verdict == HOP_GAIN_MAYBE;
    return HOP_OK;
}
