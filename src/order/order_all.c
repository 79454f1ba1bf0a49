/* SPDX-License-Identifier: BSD-3-Clause */
/* Every order: the job for the crew, and the distribution made of what it counted. */
#include <math.h>

#include "order/enumerate.h"
#include "order/order.h"

#define WALKS_MAX 4e9

static enum hop_status check_size(const struct hop_enumeration *e, struct hop_diag *diag)
{
    double walks = hop_enumeration_walks(e), orders = hop_problem_orders(e->problem);
    if (walks <= WALKS_MAX)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_LIMIT,
                    "schedule %s has %.4g orders, too many to try them all (%.3g after symmetry)\nat most %.3g after "
                    "symmetry; without --all the best order is searched for, with a proof",
                    hop_schedule_name(e->problem->schedule), orders, walks, WALKS_MAX);
}

/* Sorted and merged counts into the distribution, clean and unclean of one value together. */
static enum hop_status fill_counts(struct hop_order_distribution *d, struct hop_crew *crew, double alike,
                                   struct hop_diag *diag)
{
    size_t count, used = 0;
    struct hop_value_count *values = hop_crew_counts(crew, &count);
    count = hop_value_counts_merge(values, count);
    d->counts = malloc((count + 1) * sizeof *d->counts);
    if (!d->counts)
        return hop_fail_memory(diag);
    for (size_t i = 0; i < count; i++) {
        struct hop_order_count *last = used ? &d->counts[used - 1] : NULL;
        double orders = values[i].orders * alike;
        if (!last || values[i].value - last->value_s > HOP_VALUE_TOLERANCE * fabs(last->value_s)) {
            last = &d->counts[used++];
            *last = (struct hop_order_count){.value_s = values[i].value};
        }
        last->orders += orders;
        last->clean += values[i].clean ? orders : 0;
        d->orders += orders;
        d->clean += values[i].clean ? orders : 0;
    }
    d->count = used;
    return HOP_OK;
}

static enum hop_status fill_order(const struct hop_problem *p, struct hop_sets *sets, const struct hop_sequence *sequence,
                                  struct hop_played_order *order, struct hop_diag *diag)
{
    struct hop_played played;
    HOP_CHECK(hop_sequence_play(p, sets, sequence, NULL, &played, diag));
    order->value_s = played.value;
    order->fullest = played.fullest;
    return hop_sequence_schedule(p, sequence, &order->schedule, diag);
}

static enum hop_status fill_orders(struct hop_order_distribution *d, const struct hop_problem *p, struct hop_crew *crew,
                                   struct hop_diag *diag)
{
    struct hop_sets *sets;
    struct hop_sequence given;
    enum hop_status status = hop_sets_create(p, &sets, diag);
    if (status != HOP_OK)
        return status;
    status = hop_sequence_create(p, &given, diag);
    if (status == HOP_OK)
        status = fill_order(p, sets, &given, &d->given, diag);
    struct hop_played_order *orders[HOP_RECORDS_MAX] = {&d->fastest, &d->fastest_clean, &d->slowest};
    for (uint32_t k = 0; k < HOP_RECORDS_MAX && status == HOP_OK; k++) {
        const struct hop_record_kept *record = hop_crew_kept(crew, k);
        if (record)
            status = fill_order(p, sets, &record->sequence, orders[k], diag);
    }
    hop_sequence_finish(&given);
    hop_sets_destroy(sets);
    for (size_t i = 0; i < d->count && d->counts[i].value_s < d->given.value_s * (1 - HOP_VALUE_TOLERANCE); i++)
        d->given_rank += d->counts[i].orders;
    return status;
}

static enum hop_status enumerate(const struct hop_problem *p, const struct hop_order_options *options,
                                 struct hop_enumeration *e, struct hop_order_distribution *d, struct hop_diag *diag)
{
    struct hop_crew *crew;
    struct hop_crew_totals totals;
    uint64_t fingerprint;
    enum hop_status status = check_size(e, diag);
    if (status == HOP_OK)
        status = hop_order_fingerprint(p, options, "enumerate", &fingerprint, diag);
    if (status == HOP_OK)
        status = hop_crew_create(p, options, fingerprint, &crew, diag);
    if (status != HOP_OK)
        return status;
    struct hop_crew_job job = hop_enumeration_job(e);
    status = hop_crew_work(crew, &job, &totals, diag);
    if (status == HOP_OK) {
        d->nodes = totals.nodes;
        d->sets = totals.sets;
        d->walked = totals.walked;
        d->complete = totals.complete;
        d->symmetries = e->first.symmetries;
        d->lost_rank = hop_crew_lost(crew);
        status = fill_counts(d, crew, e->alike, diag);
        d->stuck = d->complete ? hop_problem_orders(p) - d->orders : 0;
    }
    if (status == HOP_OK)
        status = fill_orders(d, p, crew, diag);
    d->elapsed_s = hop_crew_elapsed_s(crew);
    hop_crew_destroy(crew);
    return status;
}

enum hop_status hop_order_enumerate(const struct hop_topology *topology, const struct hop_schedule *schedule,
                                    const struct hop_order_options *options,
                                    struct hop_order_distribution **distribution, struct hop_diag *diag)
{
    struct hop_order_options all = {0};
    HOP_CHECK(hop_options_take(&all, sizeof all, options, diag));
    struct hop_problem *p = NULL;
    struct hop_enumeration e = {0};
    all.allow_unclean = true; /* unclean orders are counted, too */
    struct hop_order_distribution *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    made->objective = all.objective;
    made->lost_rank = -1;
    enum hop_status status = hop_order_check(&all, diag);
    if (status == HOP_OK)
        status = hop_problem_create(topology, schedule, &all, &p, diag);
    if (status == HOP_OK)
        status = hop_enumeration_init(&e, p, diag);
    if (status == HOP_OK)
        status = enumerate(p, &all, &e, made, diag);
    hop_enumeration_finish(&e);
    hop_problem_destroy(p);
    if (status == HOP_OK)
        *distribution = made;
    else
        hop_order_distribution_destroy(made);
    return status;
}

void hop_order_distribution_destroy(struct hop_order_distribution *d)
{
    if (!d)
        return;
    hop_schedule_destroy(d->given.schedule);
    hop_schedule_destroy(d->fastest.schedule);
    hop_schedule_destroy(d->fastest_clean.schedule);
    hop_schedule_destroy(d->slowest.schedule);
    free(d->counts);
    free(d);
}

double hop_order_quantile(const struct hop_order_distribution *d, double share)
{
    double rank = share * d->orders, below = 0;
    for (size_t i = 0; i + 1 < d->count; i++) {
        below += d->counts[i].orders;
        if (below >= rank * (1 - 1e-12))
            return d->counts[i].value_s;
    }
    return d->count ? d->counts[d->count - 1].value_s : NAN;
}
