/* SPDX-License-Identifier: BSD-3-Clause */
/* One placement and the best order on it; several at once. */
#include "plan/plan.h"

#include "base/clock.h"
#include "base/random.h"

enum {
    WATCHED_WORK = 500000 /* states times operations */,
    STATES_LEAST = 1024 /* which a search visits, whatever its limit */
};
#define CLEAN (1 + 1e-9)

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
        (void)hop_plan_goes_on(watch->work);
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
    try->given_s = given->value_s > 0 ? given->value_s : INFINITY; /* 0: it was not played to its end */
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

static void try_one(struct hop_plan_work *work, struct hop_plan_try *try, struct hop_group *together, bool tells)
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
                                              .group = together,
                                              .progress = watched ? watch_order : NULL,
                                              .context = &watch};
    try->status = put(work, try->place, &placed, &try->diag);
    if (try->status == HOP_OK && work->by_ready)
        try->status = simulate(work, try, placed);
    else if (try->status == HOP_OK)
        try->status = hop_order_search(work->topology, placed, &options, &found, &try->diag);
    if (found)
        tell_order(try, found);
    if (try->status == HOP_ERR_DEADLOCK && memcmp(try->place, work->map.before, work->map.size) != 0) {
        atomic_fetch_add(&work->call->stuck, 1); /* the order that was given does not fit there */
        try->status = HOP_OK;
        try->given_s = INFINITY;
        try->nodes = 1;
    }
    if (try->schedule != placed)
        hop_schedule_destroy(placed);
    hop_order_result_destroy(found);
}

/* ---- as answers ---- */

struct tries {
    struct hop_plan_work *work;
    struct hop_plan_try *list;
    struct hop_group *together;
    bool step; /* its schedule is shown; else only the best one is */
};

static uint64_t key_of(void *tries, uint32_t i)
{
    const struct tries *t = tries;
    const struct hop_plan_try *try = &t->list[i];
    const double values[] = {try->cut_s, t->work->options.gap};
    const uint64_t numbers[] = {try->no_waits, try->max_nodes};
    uint64_t hash = hop_hash(t->work->about, try->place, t->work->ranks * sizeof *try->place);
    return hop_hash(hop_hash(hash, values, sizeof values), numbers, sizeof numbers);
}

static enum hop_status find(void *tries, uint32_t i, bool tells, bool *whole, struct hop_diag *diag)
{
    const struct tries *t = tries;
    struct hop_plan_try *try = &t->list[i];
    double begun_s = hop_now_s();
    try_one(t->work, try, t->together, tells);
    if (try->status != HOP_OK)
        *diag = try->diag;
    *whole = try->complete || !(try->time_limit_s > 0) || hop_now_s() - begun_s < try->time_limit_s;
    return try->status;
}

enum { WAITS = 1, CLEAN_BEST = 2, COMPLETE = 4, CLEAN_GIVEN = 8, FLAGS = 15 };

/* Its schedule, if that is shown or may become the best. */
static void write_one(void *tries, uint32_t i, struct hop_buffer *out)
{
    const struct tries *t = tries;
    const struct hop_plan_try *try = &t->list[i];
    bool wanted = try->schedule && (t->step || try->value_s < HOP_PLAN_BETTER(t->work->best_s));
    char *text = wanted ? hop_schedule_to_text(try->schedule) : NULL;
    hop_plan_put_value(out, try->value_s);
    hop_plan_put_value(out, try->floor_s);
    hop_plan_put_value(out, try->bound_s);
    hop_plan_put_value(out, try->given_s);
    hop_plan_put_whole(out, try->nodes);
    hop_plan_put_whole(out, (try->waits ? WAITS : 0) | (try->clean ? CLEAN_BEST : 0) | (try->complete ? COMPLETE : 0) |
                                (try->given_clean ? CLEAN_GIVEN : 0));
    hop_buffer_puts(out, text ? text : "");
    out->failed = out->failed || (wanted && !text);
    free(text);
}

static bool read_one(void *tries, uint32_t i, struct hop_plan_reading *in)
{
    const struct tries *t = tries;
    struct hop_plan_try *try = &t->list[i], read = *try;
    read.value_s = hop_plan_get_value(in);
    read.floor_s = hop_plan_get_value(in);
    read.bound_s = hop_plan_get_value(in);
    read.given_s = hop_plan_get_value(in);
    read.nodes = hop_plan_get_whole(in, UINT64_MAX / 4);
    uint64_t flags = hop_plan_get_whole(in, FLAGS);
    read.waits = flags & WAITS;
    read.clean = flags & CLEAN_BEST;
    read.complete = flags & COMPLETE;
    read.given_clean = flags & CLEAN_GIVEN;
    read.schedule = NULL;
    enum hop_status status = HOP_OK;
    if (!in->failed && in->at < in->end)
        status = hop_schedule_parse(hop_schedule_name(t->work->exchange), in->at, (size_t)(in->end - in->at),
                                    &read.schedule, NULL);
    in->lacks = status == HOP_ERR_MEMORY;
    if (in->failed || status != HOP_OK)
        return false;
    hop_schedule_destroy(try->schedule); /* of a search together with other ranks */
    *try = read;
    return true;
}

static enum hop_status ask(struct tries *tries, uint32_t count)
{
    const struct hop_plan_questions questions = {.count = count,
                                                 .together = tries->together,
                                                 .context = tries,
                                                 .key = key_of,
                                                 .find = find,
                                                 .write = write_one,
                                                 .read = read_one};
    for (uint32_t i = 0; i < count; i++)
        tries->list[i].value_s = INFINITY; /* those that are not begun found nothing */
    return hop_plan_ask(tries->work, &questions);
}

enum hop_status hop_plan_try(struct hop_plan_work *work, struct hop_plan_try *try)
{
    struct tries one = {work, try,
                        try->max_nodes || work->by_ready || work->call->ranks == 1 ? NULL : work->call->group, true};
    return ask(&one, 1);
}

enum hop_status hop_plan_try_all(struct hop_plan_work *work, struct hop_plan_try *tries, uint32_t count)
{
    struct tries all = {work, tries, NULL, false};
    for (uint32_t i = 0; i < count; i++)
        tries[i].threads = 1;
    return ask(&all, count);
}

uint32_t hop_plan_at_once(const struct hop_plan_work *work, uint32_t most)
{
    return work->left / STATES_LEAST < most ? (uint32_t)(work->left / STATES_LEAST) + 1 : most;
}

/* ---- the best ---- */

bool hop_plan_take(struct hop_plan_work *work, struct hop_plan_try *try)
{
    bool better = try->schedule && (!isfinite(work->best_s) || try->value_s < HOP_PLAN_BETTER(work->best_s));
    work->result->nodes += try->nodes;
    work->left -= try->nodes < work->left ? try->nodes : work->left;
    if (try->nodes)
        hop_plan_pool_add(work, try->place, hop_min(try->value_s, try->given_s));
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
