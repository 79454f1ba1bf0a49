/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Ways and packets: which copies of the plan go through host memory, and in pieces of which size. Room tune finds both
 * for the plan's schedule; then its order is looked at once more, where all models grant a gain.
 *
 *     the plan -> a way for each copy, staged ones in one piece -> the same with packets -> order -> other placements
 *
 * Each step begins with what was best before, so that none is worse than the plan without.
 */
#include "plan/plan.h"

#include "hopcast/tune.h"
#include "model/model.h"
#include "schedule/schedule.h"

#define POLISH_WORK 2.4e7  /* states of a search times operations, where no limit is set */
enum { POLISH_PARTS = 2 }; /* of what is left of states and time where there is one, one */

static const struct hop_plan_rung *last_of(const struct hop_plan_further *f)
{
    return &f->made->rungs[f->made->result.rung_count - 1];
}

/* ---- rungs ---- */

/* One more rung: what is mixed, if it is better than the last rung's, else that one again. */
static enum hop_status add_rung(struct hop_plan_further *f, enum hop_plan_step step, const struct hop_plan_mixed *mixed,
                                struct hop_diag *diag)
{
    struct hop_plan_made *made = f->made;
    const struct hop_plan_rung *before = last_of(f);
    struct hop_plan_rung *rung = &made->rungs[made->result.rung_count];
    struct hop_schedule *schedule;
    struct hop_placement *placement;
    bool takes = mixed->schedule && mixed->value_s < HOP_PLAN_BETTER(before->value_s);
    HOP_CHECK(hop_schedule_clone(takes ? mixed->schedule : before->schedule, &schedule, diag));
    *rung = (struct hop_plan_rung){.step = step,
                                   .name = hop_plan_step_name(step),
                                   .value_s = takes ? mixed->value_s : before->value_s,
                                   .clean = takes ? mixed->clean : before->clean,
                                   .waits = takes ? mixed->waits : before->waits,
                                   .schedule = schedule};
    made->result.rung_count++;
    if (takes) {
        made->result.ways.staged = mixed->staged;
        made->result.ways.packet_bytes = mixed->packet_bytes;
    }
    HOP_CHECK(hop_plan_same_placement(before->placement, &placement, diag));
    rung->placement = placement;
    return hop_plan_compare(f->call, f->topology, made->rungs, rung, diag);
}

/* ---- what there is to choose ---- */

/* Copies of the schedule that could go either way. */
static enum hop_status count_copies(struct hop_plan_further *f, struct hop_network *network, uint32_t *count,
                                    struct hop_diag *diag)
{
    const struct hop_schedule *s = last_of(f)->schedule;
    *count = 0;
    for (uint32_t i = 0; i < hop_schedule_count(s) && !hop_network_is_serial(network); i++) {
        bool can;
        HOP_CHECK(hop_plan_can_stage(f, network, hop_schedule_op(s, i), &can, diag));
        *count += can;
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

/* A rung of what room tune chooses. */
static enum hop_status choose(struct hop_plan_further *f, struct hop_network *network, const struct hop_schedule *base,
                              bool packets, struct hop_plan_mixed *mixed, struct hop_diag *diag)
{
    HOP_CHECK(hop_plan_mix(f, network, base, packets, 0, mixed, diag));
    return add_rung(f, packets ? HOP_PLAN_PACKETS : HOP_PLAN_WAYS, mixed, diag);
}

/* ---- the answer ---- */

static enum hop_status judge(struct hop_plan_further *f, uint32_t before, struct hop_diag *diag)
{
    const struct hop_plan_rung *direct = &f->made->rungs[before];
    struct hop_plan_ways *ways = &f->made->result.ways;
    struct hop_gain *gain = NULL;
    hop_gain_destroy((struct hop_gain *)ways->gain);
    ways->taken = last_of(f)->value_s < HOP_PLAN_BETTER(direct->value_s);
    enum hop_status status =
        ways->taken ? hop_plan_grants(f, direct, last_of(f)->schedule, &gain, &ways->taken, diag) : HOP_OK;
    ways->gain = gain;
    return status;
}

/* The order once more, a rung if another one is better; one that some model denies gives place to the step before. */
static enum hop_status polish_and_judge(struct hop_plan_further *f, struct hop_plan_mixed *mixed, uint32_t direct,
                                        struct hop_diag *diag)
{
    struct hop_plan_made *made = f->made;
    bool taken = made->result.ways.taken, better;
    HOP_CHECK(hop_plan_reorder(f, POLISH_WORK, POLISH_PARTS, mixed, &better, diag));
    if (better)
        HOP_CHECK(add_rung(f, HOP_PLAN_AGAIN, mixed, diag));
    HOP_CHECK(judge(f, direct, diag));
    if (!taken || made->result.ways.taken)
        return HOP_OK;
    hop_plan_rung_finish(&made->rungs[--made->result.rung_count]);
    return judge(f, direct, diag);
}

/* Where ranks are otherwise than `seated` has them, they are seated anew. */
static enum hop_status answer(struct hop_plan_further *f, uint32_t direct, struct hop_diag *diag)
{
    struct hop_plan_result *r = &f->made->result;
    const struct hop_placement *seated = r->placement;
    const struct hop_map_result *mapping;
    r->rung = r->ways.taken ? r->rung_count - 1 : direct;
    r->value_s = r->rungs[r->rung].value_s;
    r->placement = r->rungs[r->rung].placement;
    r->best = r->rungs[r->rung].schedule;
    r->any_way_s = hop_min(r->any_way_s, r->value_s);
    r->proved = !(r->value_s > r->any_way_s * (1 + HOP_PLAN_TOLERANCE));
    if (hop_plan_is_same(seated, r->placement))
        return HOP_OK;
    HOP_CHECK(hop_plan_seat(f, r->placement, &mapping, diag));
    hop_map_result_destroy((struct hop_map_result *)r->mapping);
    r->mapping = mapping;
    return HOP_OK;
}

static enum hop_status go_through(struct hop_plan_further *f, struct hop_network *network, struct hop_diag *diag)
{
    struct hop_plan_result *r = &f->made->result;
    struct hop_schedule *base = NULL;
    const struct hop_plan_rung *last = last_of(f);
    struct hop_plan_mixed mixed = {.value_s = last->value_s, .clean = last->clean, .waits = last->waits};
    uint32_t direct = r->rung_count - 1;
    bool staged = f->options->way == HOP_PLAN_STAGED;
    enum hop_status status = take_base(f, &base, diag);
    if (status == HOP_OK)
        status = hop_plan_any_way(f, &r->any_way_s, diag);
    if (status == HOP_OK && !staged && hop_plan_further_goes_on(f))
        status = choose(f, network, base, false, &mixed, diag);
    if (status == HOP_OK && hop_plan_further_goes_on(f))
        status = choose(f, network, base, true, &mixed, diag);
    if (status == HOP_OK)
        status = judge(f, direct, diag);
    if (status == HOP_OK && mixed.schedule && (r->ways.taken || f->options->robust))
        status = polish_and_judge(f, &mixed, direct, diag);
    if (status == HOP_OK && !staged)
        status = hop_plan_ways_together(f, network, direct, diag);
    hop_schedule_destroy(base);
    hop_schedule_destroy(mixed.schedule);
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
    if (status == HOP_OK && r->ways.copies && f->options->way != HOP_PLAN_DIRECT && hop_plan_further_goes_on(f))
        status = go_through(f, network, diag);
    hop_network_destroy(network);
    return status;
}
