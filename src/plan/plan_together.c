/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement, order and ways together: ways that only another placement or another order makes worthwhile. Placements that the
 * search looked at, where ranks are and where hop_map puts them are looked at with the ways that few simulations find; on
 * the plan's own and the best few of these, copies get an order, ways, packets, and that order once more; where there are few
 * copies, each of them in turn then goes the other way, with the order that is best for it.
 */
#include "hopcast/tune.h"
#include "plan/plan.h"
#include "schedule/schedule.h"

#define LOOK_WORK 1e5  /* operations that all first looks simulate */
#define MIX_WORK 2e5   /* the same of all searches of ways */
#define ORDER_WORK 2e6 /* states of a search times operations, where no limit is set */
#define FLIP_WORK 4e5  /* the same of one copy's other way */
enum {
    FEW = 4, /* of the best looks, besides where ranks are and where hop_map puts them */
    SEATS_MOST = FEW + 3,
    SEARCHES = 4,        /* on a placement: so many parts of states and time, one for flips */
    FLIPPED_MOST = 24,   /* copies */
    SCHEDULES_LEAST = 6, /* of a look or a search of ways */
    SCHEDULES_MOST = 5000,
    PACKETS = 8,          /* that a look cuts the longest copy into */
    PACKET_LEAST = 131072 /* of a flip, as in hop_tune_options */
};

struct seat {
    struct hop_placement *placement;
    double promise_s;
};

struct together {
    struct hop_plan_further *f;
    struct hop_network *network;
    const struct hop_plan_rung *direct;
    struct seat seats[SEATS_MOST + 1]; /* the best looks first, ascending; then those that are looked at in any case */
    uint32_t looks, count;
    double best_s; /* what takes as long is of no use */
    struct hop_plan_mixed best;
    struct hop_gain *gain;
    const struct hop_placement *placement; /* of the best */
};

/* ---- first looks ---- */

static enum hop_status placement_of(const struct together *e, const uint32_t *row, struct hop_placement **placement,
                                    struct hop_diag *diag)
{
    uint32_t ranks = hop_placement_count(e->direct->placement);
    const char **devices = calloc(ranks + (size_t)1, sizeof *devices);
    if (!devices)
        return hop_fail_memory(diag);
    for (uint32_t r = 0; r < ranks; r++)
        devices[r] = hop_topology_node(e->f->topology, row[r])->name;
    enum hop_status status = hop_placement_of(devices, ranks, placement, diag);
    free(devices);
    return status;
}

/* How many schedules have so many operations, staged copies in so many pieces. */
static uint32_t schedules_of(const struct together *e, double operations, unsigned pieces)
{
    double count = operations / pieces / hop_schedule_count(e->f->exchange);
    return (uint32_t)hop_max(SCHEDULES_LEAST, hop_min(SCHEDULES_MOST, count));
}

/* What the exchange as it is takes on a placement, with ways that few simulations find. */
static enum hop_status look(const struct together *e, struct seat *seat, struct hop_diag *diag)
{
    const struct hop_plan_further *f = e->f;
    struct hop_schedule *placed;
    struct hop_tuned_mix *mix;
    uint64_t longest = 1;
    HOP_CHECK(hop_placement_apply(seat->placement, f->exchange, &placed, diag));
    for (uint32_t i = 0; i < hop_schedule_count(placed); i++)
        longest = hop_schedule_op(placed, i)->bytes > longest ? hop_schedule_op(placed, i)->bytes : longest;
    const uint64_t packet = (longest - 1) / PACKETS + 1;
    const struct hop_tune_options options = {.packets = &packet,
                                             .packet_count = 1,
                                             .max_evaluations =
                                                 schedules_of(e, LOOK_WORK / f->made->pool.count, PACKETS),
                                             .keep_limits = !f->options->allow_unclean,
                                             .no_gain = true,
                                             .stop = hop_plan_further_is_over,
                                             .context = e->f};
    enum hop_status status = hop_tune_mix(e->network, placed, &options, &mix, diag);
    hop_schedule_destroy(placed);
    seat->promise_s = INFINITY;
    if (status != HOP_OK)
        return hop_plan_drop(e->f, status);
    seat->promise_s = mix->mix_s;
    hop_tune_mix_destroy(mix);
    return HOP_OK;
}

/* The plan's own placement; where ranks are and where hop_map puts them, if that is allowed. */
static enum hop_status add_known(struct together *e, struct hop_diag *diag)
{
    const struct hop_plan_options *o = e->f->options;
    const struct hop_plan_result *r = &e->f->made->result;
    for (uint32_t i = 0; i < r->rung_count; i++) {
        const struct hop_plan_rung *rung = &r->rungs[i];
        bool given = rung->step == HOP_PLAN_ORDER && !o->keep_count && !o->excluded_count, known = false;
        struct seat *seat = &e->seats[e->count];
        for (uint32_t k = 0; k < e->count && !known; k++)
            known = hop_plan_is_same(rung->placement, e->seats[k].placement);
        if (known || (!given && rung->step != HOP_PLAN_AFTER && rung != e->direct))
            continue;
        HOP_CHECK(hop_plan_same_placement(rung->placement, &seat->placement, diag));
        e->count++;
    }
    return HOP_OK;
}

/* The best looks, where they promise more than the plan's own placement. */
static enum hop_status look_at_all(struct together *e, struct hop_diag *diag)
{
    const struct hop_plan_pool *pool = &e->f->made->pool;
    uint32_t ranks = hop_placement_count(e->direct->placement);
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < pool->count && status == HOP_OK && hop_plan_further_goes_on(e->f); i++) {
        struct seat one = {0};
        status = placement_of(e, pool->rows + (size_t)i * ranks, &one.placement, diag);
        if (status == HOP_OK && !hop_plan_is_same(one.placement, e->direct->placement))
            status = look(e, &one, diag);
        else
            one.promise_s = INFINITY;
        uint32_t at = e->count;
        while (at > 0 && e->seats[at - 1].promise_s > one.promise_s)
            at--;
        if (status == HOP_OK && at < FEW && isfinite(one.promise_s)) {
            memmove(e->seats + at + 1, e->seats + at, (e->count++ - at) * sizeof *e->seats);
            e->seats[at] = one;
            if (e->count > FEW)
                one = e->seats[--e->count];
            else
                one.placement = NULL;
        }
        hop_placement_destroy(one.placement);
    }
    return status;
}

/* ---- a closer look ---- */

/* The best known order of direct copies on a placement. */
static enum hop_status order_there(struct together *e, const struct hop_placement *placement, uint32_t parts,
                                   struct hop_plan_mixed *mixed, struct hop_diag *diag)
{
    const struct hop_plan_result *r = &e->f->made->result;
    bool better;
    for (uint32_t i = 0; i < r->rung_count; i++) {
        const struct hop_plan_rung *rung = &r->rungs[i];
        bool ordered = rung->step == HOP_PLAN_ORDER || rung->step == HOP_PLAN_AFTER || rung == e->direct;
        if (ordered && rung->schedule && hop_plan_is_same(rung->placement, placement)) {
            *mixed = (struct hop_plan_mixed){.value_s = rung->value_s, .clean = rung->clean, .waits = rung->waits};
            return hop_schedule_clone(rung->schedule, &mixed->schedule, diag);
        }
    }
    *mixed = (struct hop_plan_mixed){.value_s = INFINITY, .clean = true};
    HOP_CHECK(hop_placement_apply(placement, e->f->exchange, &mixed->schedule, diag));
    return hop_plan_reorder(e->f, ORDER_WORK, parts, mixed, &better, diag);
}

/* Packets of a copy that is staged; HOP_BYTES_MAX: it is too small to be cut. */
static uint64_t packet_for(uint64_t bytes)
{
    uint64_t packet = (bytes - 1) / PACKETS + 1;
    return bytes <= PACKET_LEAST ? HOP_BYTES_MAX : packet < PACKET_LEAST ? PACKET_LEAST : packet;
}

static uint64_t way_of(const struct hop_op *op)
{
    return op->via != HOP_VIA_STAGED ? 0 : op->packet_bytes ? op->packet_bytes : HOP_BYTES_MAX;
}

/* The schedule with the chosen ways: 0: directly, else in packets of so many bytes. */
static enum hop_status build(const struct hop_schedule *base, const uint64_t *ways, struct hop_schedule **built,
                             struct hop_diag *diag)
{
    struct hop_schedule *made = hop_schedule_create_like(base);
    for (uint32_t i = 0; i < hop_schedule_count(base); i++) {
        struct hop_op op = *hop_schedule_op(base, i);
        if (op.kind == HOP_OP_COPY) {
            op.via = ways[i] ? HOP_VIA_STAGED : HOP_VIA_P2P;
            op.packet_bytes = ways[i] == HOP_BYTES_MAX ? 0 : ways[i];
        }
        (void)hop_schedule_add(made, &op);
    }
    return hop_schedule_finish(made, built, diag);
}

/* One copy's other way, taken if that and the best order for it are better. */
static enum hop_status try_way(struct together *e, const struct hop_schedule *base, uint64_t *ways, uint32_t i,
                               uint64_t way, uint32_t parts, struct hop_plan_mixed *mixed, bool *better,
                               struct hop_diag *diag)
{
    struct hop_plan_mixed one = *mixed;
    const uint64_t before = ways[i];
    one.schedule = NULL;
    one.staged += !before - !way;
    one.packet_bytes = way ? way % HOP_BYTES_MAX : one.packet_bytes;
    ways[i] = way;
    enum hop_status status = build(base, ways, &one.schedule, diag);
    if (status == HOP_OK)
        status = hop_plan_reorder(e->f, FLIP_WORK, parts, &one, better, diag);
    if (*better) {
        hop_schedule_destroy(mixed->schedule);
        *mixed = one;
    } else {
        ways[i] = before;
        hop_schedule_destroy(one.schedule);
    }
    return status;
}

/* Each copy in turn, until none has gained anything for a round. */
static enum hop_status flip(struct together *e, const struct hop_schedule *base, uint64_t *ways, uint32_t parts,
                            struct hop_plan_mixed *mixed, struct hop_diag *diag)
{
    uint32_t copies = e->f->made->result.ways.copies, count = hop_schedule_count(base);
    for (uint32_t i = 0, vain = 0; copies <= FLIPPED_MOST && vain < count && hop_plan_further_goes_on(e->f);
         i = (i + 1) % count) {
        const struct hop_op *op = hop_schedule_op(base, i);
        bool can, better = false;
        HOP_CHECK(hop_plan_can_stage(e->f, e->network, op, &can, diag));
        if (can)
            HOP_CHECK(
                try_way(e, base, ways, i, ways[i] ? 0 : packet_for(op->bytes), parts * copies, mixed, &better, diag));
        if (can && !better && !ways[i] && packet_for(op->bytes) != HOP_BYTES_MAX)
            HOP_CHECK(try_way(e, base, ways, i, HOP_BYTES_MAX, parts * copies, mixed, &better, diag));
        vain = better ? 0 : vain + 1;
    }
    return HOP_OK;
}

static enum hop_status mix_there(struct together *e, uint32_t parts, struct hop_plan_mixed *mixed,
                                 struct hop_diag *diag)
{
    struct hop_schedule *base = mixed->schedule;
    uint32_t whole = schedules_of(e, MIX_WORK / e->count, 2), cut = schedules_of(e, MIX_WORK / e->count, PACKETS);
    uint64_t *ways = calloc(hop_schedule_count(base) + (size_t)1, sizeof *ways);
    bool better;
    mixed->schedule = NULL;
    enum hop_status status = ways ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = hop_plan_mix(e->f, e->network, base, false, whole, mixed, diag);
    if (status == HOP_OK)
        status = hop_plan_mix(e->f, e->network, base, true, cut, mixed, diag);
    for (uint32_t i = 0; status == HOP_OK && mixed->schedule && i < hop_schedule_count(base); i++)
        ways[i] = way_of(hop_schedule_op(mixed->schedule, i));
    if (status == HOP_OK && mixed->schedule)
        status = hop_plan_reorder(e->f, ORDER_WORK, parts, mixed, &better, diag);
    if (status == HOP_OK)
        status = flip(e, base, ways, parts - 1, mixed, diag);
    hop_schedule_destroy(base);
    free(ways);
    return status;
}

/* Ways there; kept if they are better than all until now and no model denies it. */
static enum hop_status try_there(struct together *e, const struct hop_placement *placement, uint32_t left,
                                 struct hop_diag *diag)
{
    struct hop_plan_mixed mixed = {0};
    struct hop_gain *gain = NULL;
    bool granted = false;
    enum hop_status status = order_there(e, placement, SEARCHES * left, &mixed, diag);
    if (status == HOP_OK)
        status = mix_there(e, SEARCHES * left - 1, &mixed, diag);
    if (status == HOP_OK && mixed.schedule && mixed.value_s < HOP_PLAN_BETTER(e->best_s))
        status = hop_plan_grants(e->f, e->direct, mixed.schedule, &gain, &granted, diag);
    if (status == HOP_OK && granted) {
        hop_schedule_destroy(e->best.schedule);
        hop_gain_destroy(e->gain);
        e->best = mixed;
        e->best_s = mixed.value_s;
        e->gain = gain;
        e->placement = placement;
        return HOP_OK;
    }
    hop_schedule_destroy(mixed.schedule);
    hop_gain_destroy(gain);
    return status;
}

/* ---- all ---- */

static enum hop_status add_rung(struct together *e, struct hop_diag *diag)
{
    struct hop_plan_made *made = e->f->made;
    struct hop_plan_ways *ways = &made->result.ways;
    struct hop_placement *placement;
    HOP_CHECK(hop_plan_same_placement(e->placement, &placement, diag));
    struct hop_plan_rung *rung = &made->rungs[made->result.rung_count++];
    *rung = (struct hop_plan_rung){.step = HOP_PLAN_TOGETHER,
                                   .name = hop_plan_step_name(HOP_PLAN_TOGETHER),
                                   .value_s = e->best.value_s,
                                   .clean = e->best.clean,
                                   .waits = e->best.waits,
                                   .placement = placement,
                                   .schedule = e->best.schedule};
    hop_gain_destroy((struct hop_gain *)ways->gain);
    ways->gain = e->gain;
    ways->taken = true;
    ways->staged = e->best.staged;
    ways->packet_bytes = e->best.packet_bytes;
    if (!e->best.staged) /* another placement or order alone */
        made->result.direct_s = e->best.value_s;
    e->best.schedule = NULL;
    e->gain = NULL;
    return hop_plan_compare(e->f->call, e->f->topology, made->rungs, rung, diag);
}

enum hop_status hop_plan_ways_together(struct hop_plan_further *f, struct hop_network *network, uint32_t direct,
                                       struct hop_diag *diag)
{
    const struct hop_plan_result *r = &f->made->result;
    struct together e = {.f = f, .network = network, .direct = &f->made->rungs[direct]};
    e.best_s = r->ways.taken ? r->rungs[r->rung_count - 1].value_s : e.direct->value_s;
    if (!(r->any_way_s < HOP_PLAN_BETTER(e.best_s)))
        return HOP_OK;
    enum hop_status status = look_at_all(&e, diag);
    if (status == HOP_OK)
        status = add_known(&e, diag);
    for (uint32_t i = 0; i < e.count && status == HOP_OK && hop_plan_further_goes_on(f); i++)
        status = try_there(&e, e.seats[i].placement, e.count - i, diag);
    if (status == HOP_OK && e.placement)
        status = add_rung(&e, diag);
    for (uint32_t i = 0; i < e.count; i++)
        hop_placement_destroy(e.seats[i].placement);
    hop_schedule_destroy(e.best.schedule);
    hop_gain_destroy(e.gain);
    return status;
}
