/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/engine/tune_caches.h"

#include <math.h>
#include <stdio.h>

#include "base/clock.h"
#include "base/numa.h"
#include "mpi/say.h"
#include "run/plans.h"

#define VARIES 2.0  /* times as long: caches that come and go, no noise */
#define WAIT_S 60.0 /* for them, in all, among so many ranks */
#define PROBE (UINT64_C(256) << 10)
enum { PROBES = 24 };

struct hop_caches hop_caches_begin(const struct hop_trial *t)
{
    struct hop_plan_shape shape = {.kind = HOP_COLLECTIVE_REDUCE_SCATTER,
                                   .type = HOP_TYPE_F32,
                                   .vector_bytes = PROBE,
                                   .algorithm = hop_algorithm_name(HOP_ALGORITHM_DIRECT)};
    bool known = !t->only && hop_plans_can(&shape, (uint32_t)t->ranks), expected = hop_processors_are_virtual();
    return (struct hop_caches){.known = known, .expected = t->tune->job->mpi->comm_all_agree(t->comm, expected)};
}

static double probe(const struct hop_trial *t, struct hop_caches *caches)
{
    struct hop_trial own = *t;
    struct hop_turn_way direct = {hop_algorithm_name(HOP_ALGORITHM_DIRECT), NULL};
    double least_s = INFINITY;
    own.kind = HOP_COLLECTIVE_REDUCE_SCATTER;
    own.bytes = PROBE;
    for (int i = 0; i < PROBES; i++) { /* short: no other program's turn on the processor is in all of them */
        double now_s = hop_turn(&own, direct, 2);
        least_s = now_s > 0 ? hop_min(least_s, now_s) : least_s;
    }
    caches->least_s = caches->most_s > 0 ? hop_min(caches->least_s, least_s) : least_s;
    caches->most_s = hop_max(caches->most_s, least_s);
    return least_s;
}

static bool come_and_go(const struct hop_caches *caches)
{
    return isfinite(caches->most_s) && caches->most_s > VARIES * caches->least_s;
}

/* Whether now is the state that earlier passes have seen less of. */
static bool is_new(const struct hop_caches *caches, const double *earlier_s, int count, double now_s)
{
    double apart_s = VARIES * caches->least_s;
    int same = 0;
    for (int i = 0; i < count; i++)
        same += (earlier_s[i] > apart_s) == (now_s > apart_s);
    return 2 * same <= count;
}

double hop_caches_await(const struct hop_trial *t, struct hop_caches *caches, const double *earlier_s, int count,
                        int looks)
{
    double now_s = probe(t, caches);
    while ((caches->expected || come_and_go(caches)) && !is_new(caches, earlier_s, count, now_s) &&
           caches->waited_s < WAIT_S && !hop_trial_over(t)) {
        if (caches->waited_s == 0 && t->rank == 0)
            hop_mpi_tell("processors of a virtual machine may share a cache at times: waiting, "
                         "%.0f s at most, to measure with and without",
                         WAIT_S);
        uint64_t begin_ns = hop_now_ns();
        now_s = probe(t, caches);
        caches->waited_s += t->tune->job->mpi->collectives->mean((double)(hop_now_ns() - begin_ns) * 1e-9, t->comm);
    }
    caches->missed = caches->missed || (count == looks - 1 && !is_new(caches, earlier_s, count, now_s));
    return now_s;
}

void hop_caches_say(int ranks, const struct hop_caches *caches, struct hop_table *table, struct hop_failure *failure)
{
    char line[HOP_MPI_TABLE_LINE], times[64] = "the same time throughout";
    const char *so = "; on a virtual machine that may change";
    if (come_and_go(caches)) {
        (void)snprintf(times, sizeof times, "%.1f times as long at times", caches->most_s / caches->least_s);
        so = caches->missed ? ": not all rows were measured at both" : ": all rows were measured at both";
    }
    (void)snprintf(line, sizeof line, "among %d ranks, what one writes where another has read took %s%s", ranks, times,
                   so);
    if (failure->status == HOP_OK && (caches->expected || come_and_go(caches)))
        failure->status = hop_table_note(table, line, failure->diag);
}
