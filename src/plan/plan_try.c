/* SPDX-License-Identifier: BSD-3-Clause */
/* One placement and the best order on it; several at once. */
#include "plan/plan.h"

#include <unistd.h>

#include "base/clock.h"

enum { THREADS_MOST = 64, WATCHED_WORK = 500000 /* states times operations */ };
#define CLEAN (1 + 1e-9)
#define WATCH_S 0.05

/* ---- limits ---- */

double hop_plan_time_left(const struct hop_plan_work *work)
{
    double limit_s = work->options.time_limit_s;
    return limit_s > 0 ? hop_max(0, work->begun_s + limit_s - hop_now_s()) : INFINITY;
}

static void tell(struct hop_plan_work *work)
{
    double now_s = hop_now_s();
    if (!work->options.progress || now_s - work->told_s < 0.1)
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

bool hop_plan_goes_on(struct hop_plan_work *work)
{
    tell(work);
    if (hop_plan_time_left(work) <= 0)
        atomic_store(&work->stopped, true);
    return !atomic_load(&work->stopped) && work->left > 0 && !is_near(work);
}

/* ---- one ---- */

struct watch {
    struct hop_plan_work *work;
    bool tells; /* from the caller's thread */
};

static bool watch_order(const struct hop_order_progress *progress, void *context)
{
    const struct watch *watch = context;
    (void)progress;
    if (watch->tells)
        tell(watch->work);
    return !atomic_load(&watch->work->stopped);
}

static enum hop_status put(struct hop_plan_work *work, const uint32_t *place, struct hop_schedule **placed,
                           struct hop_diag *diag)
{
    pthread_mutex_lock(&work->mutex);
    enum hop_status status = hop_map_play_copy(work->map.play, place, placed, diag);
    pthread_mutex_unlock(&work->mutex);
    return status;
}

/* Of sources that take what is ready first. */
static enum hop_status simulate(struct hop_plan_work *work, struct hop_plan_try *try, struct hop_schedule *placed)
{
    struct hop_network *network;
    struct hop_timeline *timeline = NULL;
    const struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS};
    HOP_CHECK(hop_network_create(work->topology, work->options.models, &network, &try->diag));
    enum hop_status status = hop_simulate(network, placed, &options, &timeline, &try->diag);
    if (status == HOP_OK) {
        try->value_s = try->given_s = try->floor_s = try->bound_s = hop_timeline_makespan_s(timeline);
        try->clean = try->given_clean = try->complete = true;
        try->schedule = placed;
        try->nodes = hop_schedule_count(placed);
    }
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    return status;
}

static void tell_order(struct hop_plan_try *try, struct hop_order_result *found)
{
    const struct hop_order_candidate *given = &found->candidates[0],
                                     *best = &found->candidates[found->candidate_count - 1];
    try->given_s = given->value_s;
    try->given_clean = given->fullest <= CLEAN;
    try->floor_s = found->floor_s;
    try->bound_s = found->bound_s;
    try->complete = found->complete;
    try->nodes = found->nodes + hop_schedule_count(given->schedule); /* none comes for nothing */
    if (!found->best)
        return;
    try->value_s = found->value_s;
    try->waits = found->waits;
    try->clean = best->fullest <= CLEAN;
    try->schedule = best->schedule;
    found->candidates[found->candidate_count - 1].schedule = NULL; /* taken over */
}

static void try_one(struct hop_plan_work *work, struct hop_plan_try *try, bool tells)
{
    struct hop_schedule *placed = NULL;
    struct hop_order_result *found = NULL;
    struct watch watch = {work, tells};
    bool known = isfinite(try->cut_s),
         watched = !try->max_nodes || try->max_nodes > WATCHED_WORK / hop_schedule_count(work->exchange);
    const struct hop_order_options options = {.models = work->options.models,
                                              .allow_unclean = work->options.allow_unclean,
                                              .no_waits = try->no_waits,
                                              .max_nodes = try->max_nodes,
                                              .time_limit_s = watched ? try->time_limit_s : 0,
                                              .gap = work->options.gap,
                                              .cut_s = known ? try->cut_s : 0,
                                              .or_given = true,
                                              .threads = try->threads,
                                              .seed = work->options.seed,
                                              .progress = watched ? watch_order : NULL,
                                              .context = &watch};
    try->value_s = INFINITY;
    try->status = put(work, try->place, &placed, &try->diag);
    if (try->status == HOP_OK && work->by_ready)
        try->status = simulate(work, try, placed);
    else if (try->status == HOP_OK)
        try->status = hop_order_search(work->topology, placed, &options, &found, &try->diag);
    if (found)
        tell_order(try, found);
    if (try->schedule != placed)
        hop_schedule_destroy(placed);
    hop_order_result_destroy(found);
}

void hop_plan_try(struct hop_plan_work *work, struct hop_plan_try *try)
{
    try_one(work, try, true);
}

/* ---- several ---- */

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
        if (!atomic_load(&pack->work->stopped))
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
    long threads = work->options.threads ? (long)work->options.threads : sysconf(_SC_NPROCESSORS_ONLN);
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
        hop_sleep_s(WATCH_S / 10);
    }
    for (uint32_t t = 0; t < started; t++)
        pthread_join(thread[t], NULL);
}

struct tries {
    struct hop_plan_work *work;
    struct hop_plan_try *list;
};

static void try_it(void *tries, uint32_t i, bool tells)
{
    const struct tries *t = tries;
    try_one(t->work, &t->list[i], tells);
}

enum hop_status hop_plan_try_all(struct hop_plan_work *work, struct hop_plan_try *tries, uint32_t count)
{
    struct tries all = {work, tries};
    for (uint32_t i = 0; i < count; i++) { /* those that are not begun found nothing */
        tries[i].value_s = INFINITY;
        tries[i].threads = 1;
    }
    hop_plan_together(work, count, try_it, &all);
    for (uint32_t i = 0; i < count; i++) {
        if (tries[i].status != HOP_OK) {
            *work->diag = tries[i].diag;
            return tries[i].status;
        }
    }
    return HOP_OK;
}

bool hop_plan_take(struct hop_plan_work *work, struct hop_plan_try *try)
{
    bool better = try->schedule && (!isfinite(work->best_s) || try->value_s < HOP_PLAN_BETTER(work->best_s));
    work->result->nodes += try->nodes;
    work->left -= try->nodes < work->left ? try->nodes : work->left;
    if (better) {
        hop_schedule_destroy(work->best);
        work->best = try->schedule;
        work->best_s = try->value_s;
        work->waits = try->waits;
        work->clean = try->clean;
        memmove(work->place, try->place, work->ranks * sizeof *work->place);
    } else {
        hop_schedule_destroy(try->schedule);
    }
    try->schedule = NULL;
    return better;
}
