/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The oracle's simulator: at every start and every end the rates of all that moves are asked for anew; the next event
 * is the nearest of all ends, starts and latencies run out.
 */
#include "oracle/oracle.h"

#undef NDEBUG /* it checks itself in every build */
#include <assert.h>
#include <math.h>

enum phase { WAITING, HELD, MOVING, ENDED };

struct run {
    const struct oracle_tree *tree;
    const struct oracle_job *jobs;
    int count;
    double now_s;
    enum phase phase[ORACLE_JOBS];
    double flows_s[ORACLE_JOBS]; /* when its bytes begin to flow */
    double left[ORACLE_JOBS];
};

static bool may_start(const struct run *r, int job)
{
    const struct oracle_job *j = &r->jobs[job];
    if (r->phase[job] != WAITING || j->at_s > r->now_s)
        return false;
    for (int d = 0; d < j->after_count; d++) {
        if (r->phase[j->after[d]] != ENDED)
            return false;
    }
    if (r->tree->kind[j->transfer.from] == ORACLE_MEMORY)
        return true;
    for (int other = 0; other < job; other++) {
        if (r->jobs[other].transfer.from == j->transfer.from && r->phase[other] != ENDED)
            return false;
    }
    return true;
}

static void start_all(struct run *r)
{
    for (int job = 0; job < r->count; job++) {
        if (may_start(r, job)) {
            r->phase[job] = HELD;
            r->flows_s[job] = r->now_s + r->jobs[job].latency_s;
        }
        if (r->phase[job] == HELD && r->flows_s[job] <= r->now_s)
            r->phase[job] = MOVING;
    }
}

/* The time of the next event, given the rates of what moves. */
static double next_event(const struct run *r, const int *active, int moving, const double *rates)
{
    double next_s = INFINITY;
    for (int a = 0; a < moving; a++)
        next_s = fmin(next_s, r->now_s + r->left[active[a]] / rates[a]);
    for (int job = 0; job < r->count; job++) {
        if (r->phase[job] == WAITING && r->jobs[job].at_s > r->now_s)
            next_s = fmin(next_s, r->jobs[job].at_s);
        if (r->phase[job] == HELD)
            next_s = fmin(next_s, r->flows_s[job]);
    }
    return next_s;
}

double oracle_simulate(const struct oracle_tree *tree, const struct oracle_job *jobs, int count, oracle_rates *rates,
                       void *context, double *ends_s)
{
    struct run r = {.tree = tree, .jobs = jobs, .count = count};
    int ended = 0;
    assert(count <= ORACLE_JOBS);
    for (int job = 0; job < count; job++)
        r.left[job] = jobs[job].bytes;
    while (ended < count) {
        int active[ORACLE_JOBS], moving = 0;
        double rate[ORACLE_JOBS];
        start_all(&r);
        for (int job = 0; job < count; job++) {
            if (r.phase[job] == MOVING)
                active[moving++] = job;
        }
        if (moving > 0)
            rates(context, jobs, active, moving, rate);
        double next_s = next_event(&r, active, moving, rate);
        assert(next_s < INFINITY); /* else what waits would wait for ever */
        for (int a = 0; a < moving; a++) {
            int job = active[a];
            bool ends = r.now_s + r.left[job] / rate[a] <= next_s * (1 + 1e-13);
            r.left[job] -= rate[a] * (next_s - r.now_s);
            if (ends) {
                r.phase[job] = ENDED;
                ends_s[job] = next_s;
                ended++;
            }
        }
        r.now_s = next_s;
    }
    return r.now_s;
}
