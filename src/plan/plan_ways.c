/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways and packets: which copies of the plan go through host memory, and in pieces of which size. Room tune finds both
 * for the plan's schedule; then its order is looked at once more, where all models grant a gain.
 *
 *     the plan -> a way for each copy, staged ones in one piece -> the same with packets -> order
 *
 * Each step begins with what was best before, so that none is worse than the plan without.
 */
#include "plan/plan.h"

#include "hopcast/tune.h"
#include "model/model.h"
#include "schedule/schedule.h"
#include "tune/tune.h"

#define POLISH_WORK 2.4e7     /* states of the last search times operations, where no limit is set */
enum { POLISHED_MOST = 600 }; /* operations, packets among them, whose order is looked at once more */
#define CLEAN (1 + 1e-9)

static const struct hop_plan_rung *last_of(const struct hop_plan_further *f)
{
    return &f->made->rungs[f->made->result.rung_count - 1];
}

/* ---- rungs ---- */

/* One more rung: the schedule, if it is better than the last rung's, else that one again. */
static enum hop_status add_rung(struct hop_plan_further *f, enum hop_plan_step step, const struct hop_schedule *better,
                                struct hop_plan_rung like, struct hop_diag *diag)
{
    struct hop_plan_made *made = f->made;
    const struct hop_plan_rung *before = last_of(f);
    struct hop_plan_rung *rung = &made->rungs[made->result.rung_count];
    struct hop_schedule *schedule;
    struct hop_placement *placement;
    bool takes = better && like.value_s < HOP_PLAN_BETTER(before->value_s);
    const struct hop_plan_rung from = takes ? like : *before;
    HOP_CHECK(hop_schedule_clone(takes ? better : before->schedule, &schedule, diag));
    *rung = (struct hop_plan_rung){.step = step,
                                   .name = hop_plan_step_name(step),
                                   .value_s = from.value_s,
                                   .clean = from.clean,
                                   .waits = from.waits,
                                   .schedule = schedule};
    made->result.rung_count++;
    HOP_CHECK(hop_plan_same_placement(before->placement, &placement, diag));
    rung->placement = placement;
    return hop_plan_compare(f->topology, f->options, made->rungs, rung, diag);
}

/* ---- what there is to choose ---- */

/* Copies of the schedule that could go either way. */
static enum hop_status count_copies(struct hop_plan_further *f, struct hop_network *network, uint32_t *count,
                                    struct hop_diag *diag)
{
    const struct hop_schedule *s = last_of(f)->schedule;
    *count = 0;
    for (uint32_t i = 0; i < hop_schedule_count(s) && !hop_network_is_serial(network); i++) {
        const struct hop_op *op = hop_schedule_op(s, i);
        struct hop_tune_ways ways;
        uint32_t from = hop_topology_find(f->topology, op->from.device),
                 to = op->kind == HOP_OP_COPY ? hop_topology_find(f->topology, op->to.device) : HOP_NONE;
        if (op->kind != HOP_OP_COPY || from == HOP_NONE || to == HOP_NONE || from == to)
            continue;
        HOP_CHECK(hop_tune_find_ways(network, from, to, &ways, diag));
        *count += ways.direct != HOP_NONE && hop_tune_can_stage(&ways);
    }
    return HOP_OK;
}

/* Which operation of the exchange begins when in a plan in which it was cut into reads and writes. */
static void find_order(const struct hop_schedule *plan, const struct hop_schedule *placed, uint32_t *order,
                       uint32_t *at)
{
    uint32_t count = hop_schedule_count(placed), begun = 0;
    memset(at, 0xff, count * sizeof *at); /* HOP_NONE */
    for (uint32_t i = 0; i < hop_schedule_count(plan) && begun < count; i++) {
        const struct hop_op *op = hop_schedule_op(plan, i);
        uint32_t of = op->parent != HOP_NONE ? op->parent : hop_schedule_find(placed, op->name);
        if (of < count && at[of] == HOP_NONE) {
            at[of] = begun;
            order[begun++] = of;
        }
    }
}

static enum hop_status add_moved(struct hop_schedule *made, struct hop_op op, const uint32_t *at)
{
    uint32_t *waits = malloc((op.after_count + op.after_start_count + (size_t)1) * sizeof *waits);
    if (!waits)
        return HOP_ERR_MEMORY;
    for (uint32_t d = 0; d < op.after_count; d++)
        waits[d] = at[op.after[d]];
    for (uint32_t d = 0; d < op.after_start_count; d++)
        waits[op.after_count + d] = at[op.after_start[d]];
    op.after = waits;
    op.after_start = waits + op.after_count;
    (void)hop_schedule_add(made, &op);
    free(waits);
    return HOP_OK;
}

/* The operations of the exchange in the order in which the plan begins them, without the waits that it added. */
static enum hop_status in_order_of(const struct hop_schedule *plan, const struct hop_schedule *placed,
                                   struct hop_schedule **ordered, struct hop_diag *diag)
{
    uint32_t count = hop_schedule_count(placed);
    uint32_t *order = malloc((count + (size_t)1) * sizeof *order), *at = malloc((count + (size_t)1) * sizeof *at);
    struct hop_schedule *made = hop_schedule_create_like(placed);
    enum hop_status status = order && at ? HOP_OK : HOP_ERR_MEMORY;
    if (status == HOP_OK)
        find_order(plan, placed, order, at);
    for (uint32_t i = 0; i < count && status == HOP_OK; i++)
        status = add_moved(made, *hop_schedule_op(placed, order[i]), at);
    free(order);
    free(at);
    return hop_schedule_end(made, status == HOP_OK ? status : hop_fail_memory(diag), ordered, diag);
}

/* What is tuned: the plan, or, of copies staged in one piece, what it was before it was cut into reads and writes. */
static enum hop_status take_base(struct hop_plan_further *f, struct hop_schedule **base, struct hop_diag *diag)
{
    struct hop_schedule *placed;
    if (f->options->way != HOP_PLAN_STAGED)
        return hop_schedule_clone(last_of(f)->schedule, base, diag);
    HOP_CHECK(hop_placement_apply(last_of(f)->placement, f->exchange, &placed, diag));
    enum hop_status status = in_order_of(last_of(f)->schedule, placed, base, diag);
    hop_schedule_destroy(placed);
    return status;
}

/* ---- steps ---- */

static bool stop(void *further)
{
    return !hop_plan_further_goes_on(further);
}

/* A rung of what room tune chooses; the schedule on which it goes on, if that is better. */
static enum hop_status choose(struct hop_plan_further *f, struct hop_network *network, const struct hop_schedule *base,
                              enum hop_plan_step step, struct hop_schedule **mixed, struct hop_diag *diag)
{
    static const uint64_t whole[] = {HOP_BYTES_MAX}; /* cuts nothing */
    struct hop_plan_result *r = &f->made->result;
    struct hop_tuned_mix *mix;
    struct hop_plan_rung like = *last_of(f);
    const struct hop_tune_options options = {.packets = step == HOP_PLAN_WAYS ? whole : NULL,
                                             .packet_count = step == HOP_PLAN_WAYS,
                                             .keep_limits = !f->options->allow_unclean,
                                             .staged_alone = f->options->way == HOP_PLAN_STAGED,
                                             .stop = stop,
                                             .context = f};
    HOP_CHECK(hop_tune_mix(network, base, &options, &mix, diag));
    like.value_s = mix->mix_s;
    enum hop_status status = HOP_OK;
    if (mix->mix_s < HOP_PLAN_BETTER(last_of(f)->value_s)) {
        r->ways.staged = f->options->way == HOP_PLAN_STAGED ? r->ways.copies : mix->staged_count;
        r->ways.packet_bytes = mix->mix_packet_bytes;
        like.waits = like.waits && f->options->way != HOP_PLAN_STAGED;
        hop_schedule_destroy(*mixed);
        status = hop_schedule_clone(mix->best, mixed, diag);
    }
    if (status == HOP_OK)
        status = add_rung(f, step, mix->best, like, diag);
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

/* The order of the schedule with its ways; a rung if another one is better. */
static enum hop_status polish(struct hop_plan_further *f, const struct hop_schedule *mixed, struct hop_diag *diag)
{
    const struct hop_plan_options *o = f->options;
    struct hop_plan_result *r = &f->made->result;
    struct hop_order_result *found;
    double count = operations(mixed);
    if (count > POLISHED_MOST || hop_schedule_queue_ready(mixed) || (o->max_nodes && o->max_nodes <= r->nodes) ||
        !hop_plan_further_goes_on(f))
        return HOP_OK;
    const struct hop_order_options options = {.models = o->models,
                                              .allow_unclean = o->allow_unclean,
                                              .no_waits = o->no_waits,
                                              .max_nodes = o->max_nodes ? o->max_nodes - r->nodes
                                                                        : (uint64_t)(POLISH_WORK / count) + 1,
                                              .time_limit_s = hop_plan_further_left_s(f),
                                              .cut_s = last_of(f)->value_s,
                                              .or_given = true,
                                              .threads = o->threads,
                                              .seed = o->seed,
                                              .progress = watch_order,
                                              .context = f};
    HOP_CHECK(hop_order_search(f->topology, mixed, &options, &found, diag));
    enum hop_status status = HOP_OK;
    r->nodes += found->nodes;
    if (found->best && found->value_s < HOP_PLAN_BETTER(last_of(f)->value_s)) {
        const struct hop_order_candidate *best = &found->candidates[found->candidate_count - 1];
        const struct hop_plan_rung like = {
            .value_s = found->value_s, .clean = best->fullest <= CLEAN, .waits = found->waits || last_of(f)->waits};
        status = add_rung(f, HOP_PLAN_AGAIN, found->best, like, diag);
    }
    hop_order_result_destroy(found);
    return status;
}

/* ---- the answer ---- */

/* What one model promises and another one denies is no reason to leave the direct way. */
static enum hop_status judge(struct hop_plan_further *f, uint32_t before, struct hop_diag *diag)
{
    const struct hop_plan_rung *direct = &f->made->rungs[before];
    struct hop_plan_ways *ways = &f->made->result.ways;
    const struct hop_gain_options options = {.models = f->options->models,
                                             .max_effort = hop_map_effort(f->options->time_limit_s)};
    struct hop_gain *gain = NULL;
    hop_gain_destroy((struct hop_gain *)ways->gain);
    ways->gain = NULL;
    ways->taken = last_of(f)->value_s < HOP_PLAN_BETTER(direct->value_s);
    if (!ways->taken || hop_schedule_count(last_of(f)->schedule) > HOP_MAP_EXCHANGE_MOST)
        return HOP_OK;
    HOP_CHECK(hop_gain_find(f->topology, direct->schedule, last_of(f)->schedule, &options, &gain, diag));
    ways->gain = gain;
    ways->taken = gain->range.verdict == HOP_GAIN_FASTER || gain->range.verdict == HOP_GAIN_MAYBE;
    return HOP_OK;
}

static enum hop_status answer(struct hop_plan_further *f, uint32_t direct, struct hop_diag *diag)
{
    struct hop_plan_result *r = &f->made->result;
    r->rung = r->ways.taken ? r->rung_count - 1 : direct;
    r->value_s = r->rungs[r->rung].value_s;
    r->placement = r->rungs[r->rung].placement;
    r->best = r->rungs[r->rung].schedule;
    if (r->algorithm_count <= 1) /* else another algorithm might be better yet */
        HOP_CHECK(hop_plan_any_way(f, &r->any_way_s, diag));
    r->any_way_s = hop_min(r->any_way_s, r->value_s);
    r->proved = !(r->value_s > r->any_way_s * (1 + HOP_PLAN_TOLERANCE));
    return HOP_OK;
}

/* The order once more; one that some model denies gives place to the step before. */
static enum hop_status polish_and_judge(struct hop_plan_further *f, const struct hop_schedule *mixed, uint32_t direct,
                                        struct hop_diag *diag)
{
    struct hop_plan_made *made = f->made;
    bool taken = made->result.ways.taken;
    HOP_CHECK(polish(f, mixed, diag));
    HOP_CHECK(judge(f, direct, diag));
    if (!taken || made->result.ways.taken)
        return HOP_OK;
    hop_plan_rung_finish(&made->rungs[--made->result.rung_count]);
    return judge(f, direct, diag);
}

static enum hop_status go_through(struct hop_plan_further *f, struct hop_network *network, struct hop_diag *diag)
{
    struct hop_plan_result *r = &f->made->result;
    struct hop_schedule *base = NULL, *mixed = NULL;
    uint32_t direct = r->rung_count - 1;
    bool staged = f->options->way == HOP_PLAN_STAGED;
    enum hop_status status = take_base(f, &base, diag);
    if (status == HOP_OK && !staged)
        status = choose(f, network, base, HOP_PLAN_WAYS, &mixed, diag);
    if (status == HOP_OK)
        status = choose(f, network, base, HOP_PLAN_PACKETS, &mixed, diag);
    if (status == HOP_OK)
        status = judge(f, direct, diag);
    if (status == HOP_OK && mixed && (r->ways.taken || f->options->robust))
        status = polish_and_judge(f, mixed, direct, diag);
    hop_schedule_destroy(base);
    hop_schedule_destroy(mixed);
    return status == HOP_OK ? answer(f, direct, diag) : status;
}

enum hop_status hop_plan_ways(struct hop_plan_further *f, struct hop_diag *diag)
{
    struct hop_plan_result *r = &f->made->result;
    struct hop_network *network;
    f->phase = "ways";
    HOP_CHECK(hop_network_create(f->topology, f->options->models, &network, diag));
    enum hop_status status = count_copies(f, network, &r->ways.copies, diag);
    if (f->options->way == HOP_PLAN_STAGED)
        for (uint32_t i = r->ways.copies = 0; i < hop_schedule_count(f->exchange); i++)
            r->ways.copies += hop_schedule_op(f->exchange, i)->via == HOP_VIA_STAGED;
    if (status == HOP_OK && r->ways.copies && f->options->way != HOP_PLAN_DIRECT)
        status = go_through(f, network, diag);
    hop_network_destroy(network);
    return status;
}
