/* SPDX-License-Identifier: BSD-3-Clause */
/* How long a plan goes on, and its threads. */
#include "plan/plan.h"

#include <unistd.h>

#include "base/clock.h"

enum { THREADS_MOST = 64 };
#define WATCH_S 0.005
#define TELL_S 0.1

/* ---- limits ---- */

#define SHOW_SHARE 0.05 /* of the limit, longer: */
#define SHOW_MOST_S 0.25

struct hop_plan_watch hop_plan_watch(struct hop_plan_call *call, const char *phase, double share)
{
    double now_s = hop_now_s(), left_s = hop_max(0, call->until_s - now_s);
    return (struct hop_plan_watch){call, phase, now_s + share * left_s, false};
}

struct hop_plan_watch hop_plan_watch_show(struct hop_plan_call *call)
{
    double longer_s = hop_min(SHOW_MOST_S, SHOW_SHARE * (call->until_s - call->begun_s));
    return (struct hop_plan_watch){call, "gains", call->until_s + longer_s, false};
}

bool hop_plan_is_over(void *context)
{
    struct hop_plan_watch *watch = context;
    struct hop_plan_call *call = watch->call;
    const struct hop_plan_options *o = call->options;
    double now_s = hop_now_s();
    if (o->progress && now_s - call->told_s >= TELL_S) {
        const struct hop_plan_progress progress = {
            .phase = watch->phase, .value_s = INFINITY, .elapsed_s = now_s - call->begun_s};
        call->told_s = now_s;
        if (!o->progress(&progress, o->context))
            atomic_store(&call->stopped, true);
    }
    watch->over = watch->over || now_s >= watch->until_s || atomic_load(&call->stopped);
    return watch->over;
}

double hop_plan_time_left(const struct hop_plan_work *work)
{
    double limit_s = work->options.time_limit_s;
    return limit_s > 0 ? hop_max(0, work->begun_s + limit_s - hop_now_s()) : INFINITY;
}

static void tell(struct hop_plan_work *work)
{
    double now_s = hop_now_s();
    struct hop_plan_call *call = work->call;
    hop_plan_look(work);
    if (call->unsaved.status == HOP_OK &&
        hop_plan_answers_save(&call->answers, false, &call->unsaved) != HOP_OK) /* which is told at the end */
        atomic_store(&work->stopped, true);
    if (atomic_load(&call->stopped))
        atomic_store(&work->stopped, true);
    if (!work->options.progress || now_s - work->told_s < TELL_S)
        return;
    work->told_s = now_s;
    const struct hop_plan_progress progress = {
        .phase = work->phase,
        .value_s = work->best_s,
        .bound_s = work->floor_s,
        .placements = work->result->classes,
        .closed = work->result->bounded + work->result->searched,
        .elapsed_s = now_s - work->begun_s,
    };
    if (!work->options.progress(&progress, work->options.context))
        atomic_store(&work->stopped, true);
}

static bool is_near(const struct hop_plan_work *work)
{
    return work->floor_s > 0 && work->best_s <= work->floor_s * (1 + hop_max(work->options.gap, HOP_PLAN_TOLERANCE));
}

bool hop_plan_is_stopped(const struct hop_plan_work *work)
{
    return work->call->ranks > 1 && !work->call->asking ? work->agreed : atomic_load(&work->stopped);
}

bool hop_plan_goes_on(struct hop_plan_work *work)
{
    tell(work);
    if (hop_plan_time_left(work) <= 0)
        atomic_store(&work->stopped, true);
    return !hop_plan_is_stopped(work) && work->left > 0 && !is_near(work);
}

/* ---- threads ---- */

struct pack {
    struct hop_plan_work *work;
    void (*run)(void *context, uint32_t i, bool tells);
    void *context;
    uint32_t count;
    _Atomic(uint32_t) next, ended;
};

static void work_off(struct pack *pack, bool tells)
{
    for (uint32_t i; (i = atomic_fetch_add(&pack->next, 1)) < pack->count;) {
        if (pack->count == 1 || !atomic_load(&pack->work->stopped)) /* one alone is always begun: a step shows it */
            pack->run(pack->context, i, tells);
        atomic_fetch_add(&pack->ended, 1);
    }
}

static void *thread_main(void *pack)
{
    work_off(pack, false);
    return NULL;
}

uint32_t hop_plan_threads(const struct hop_plan_work *work)
{
    long threads =
        work->options.threads ? (long)work->options.threads : sysconf(_SC_NPROCESSORS_ONLN) / work->call->ranks;
    return threads < 1 ? 1 : threads > THREADS_MOST ? THREADS_MOST : (uint32_t)threads;
}

void hop_plan_together(struct hop_plan_work *work, uint32_t count, void (*run)(void *context, uint32_t i, bool tells),
                       void *context)
{
    struct pack pack = {.work = work, .run = run, .context = context, .count = count};
    pthread_t thread[THREADS_MOST];
    uint32_t most = hop_plan_threads(work), threads = most < count ? most : count, started = 0;
    while (started + 1 < threads && pthread_create(&thread[started], NULL, thread_main, &pack) == 0)
        started++;
    work_off(&pack, true);
    while (atomic_load(&pack.ended) < count) {
        (void)hop_plan_goes_on(work);
        hop_sleep_s(WATCH_S);
    }
    for (uint32_t t = 0; t < started; t++)
        pthread_join(thread[t], NULL);
}
