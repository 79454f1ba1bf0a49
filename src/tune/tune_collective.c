/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm, in which segments? Every candidate is a schedule; what it takes, hop_simulate says, or whoever measures.
 *
 * Where two neighbouring sizes have different winners, a predicted crossover is found by halving the ratio of the sizes
 * around it, looking at these two winners alone.
 */
#include "tune/tune.h"

#include <math.h>
#include <stdio.h>

#include "collective/collective.h"
#include "hopcast/simulate.h"

#define CROSSOVER_NEAR 1.01 /* the two sizes around a crossover are that near */
enum {
    LOSSES = 32,            /* of an operation, looked at; the largest come first */
    GAIN_OPERATIONS = 20000 /* of winner and second: beyond that, other models are not asked */
};

struct whole {
    struct hop_tuned_collective tuned; /* what the caller sees; first */
    struct hop_arena arena;
    struct hop_tune_candidate *candidates;
    struct hop_tune_size *sizes;
    struct hop_tune_span *spans;
};

struct tuning {
    struct hop_network *network;
    const struct hop_ranks *ranks;
    struct hop_collective_options collective; /* algorithm, vector_bytes and segment_bytes change */
    const struct hop_tune_collective_options *options;
    struct whole *whole;
    uint64_t step; /* bytes of an element, or of one in each part */
    uint32_t done, total;
    bool stopped;
    enum hop_status status; /* the first failure, sticky */
    struct hop_diag *diag;
};

static bool failed(struct tuning *t, enum hop_status status)
{
    if (t->status == HOP_OK)
        t->status = status;
    return t->status != HOP_OK;
}

/* ---- what is compared ---- */

static const uint64_t default_segments[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20};
static const uint64_t first_size = 4, last_size = 256 << 20;

static void add_candidate(struct tuning *t, const char *algorithm, uint64_t segment_bytes)
{
    struct whole *w = t->whole;
    if (w->tuned.candidate_count == HOP_TUNE_CANDIDATES) {
        (void)failed(
            t, hop_fail(t->diag, HOP_ERR_LIMIT, "more than %d algorithms and sizes of segments", HOP_TUNE_CANDIDATES));
        hop_diag_expect(t->diag, "a shorter list of algorithms");
    } else if (!HOP_GROW(&w->arena, w->candidates, (size_t)w->tuned.candidate_count + 1)) {
        (void)failed(t, hop_fail_memory(t->diag));
    } else {
        w->candidates[w->tuned.candidate_count++] = (struct hop_tune_candidate){algorithm, segment_bytes, NULL};
    }
}

static void add_algorithm(struct tuning *t, const char *name)
{
    bool given = t->options->segments;
    const uint64_t *segments = given ? t->options->segments : default_segments;
    uint32_t count = given ? t->options->segment_count : HOP_COUNT(default_segments);
    if (!name)
        (void)failed(t, hop_fail_memory(t->diag));
    if (t->status == HOP_OK)
        add_candidate(t, name, 0);
    for (uint32_t s = 0; s < count && t->status == HOP_OK; s++) {
        enum hop_status can = hop_tune_check_algorithm(t->collective.kind, name, segments[s], NULL);
        if (can == HOP_OK)
            add_candidate(t, name, segments[s]);
        else if (can == HOP_ERR_MEMORY)
            (void)failed(t, hop_fail_memory(t->diag));
    }
}

static void find_candidates(struct tuning *t)
{
    struct hop_tune_names names = {.arena = &t->whole->arena};
    bool given = t->options->algorithms;
    for (uint32_t i = 0; given && i < t->options->algorithm_count; i++)
        add_algorithm(t, hop_arena_string(names.arena, t->options->algorithms[i], strlen(t->options->algorithms[i])));
    if (!given)
        (void)failed(t, hop_tune_list_algorithms(t->ranks, &t->collective, &names, t->diag));
    for (uint32_t i = 0; i < names.count; i++)
        add_algorithm(t, names.names[i]);
}

static void add_size(struct tuning *t, uint64_t asked_bytes)
{
    struct whole *w = t->whole;
    struct hop_tune_size *size = &w->sizes[w->tuned.size_count];
    uint64_t bytes = asked_bytes - asked_bytes % t->step;
    if (w->arena.failed || (bytes == 0 && asked_bytes > 0) ||
        (w->tuned.size_count > 0 && bytes <= size[-1].vector_bytes)) /* rounded down to nothing, or to the same */
        return;
    struct hop_tune_time *times = hop_arena_alloc(&w->arena, (w->tuned.candidate_count + 1) * sizeof *times);
    for (uint32_t c = 0; times && c < w->tuned.candidate_count; c++)
        times[c] = (struct hop_tune_time){NAN, NAN, NAN};
    *size = (struct hop_tune_size){bytes, asked_bytes, times, HOP_NONE, HOP_NONE, HOP_NONE, 0, HOP_RULE_FULL, {0}};
    w->tuned.size_count += times != NULL;
}

static void find_sizes(struct tuning *t)
{
    struct whole *w = t->whole;
    bool given = t->options->sizes, barrier = t->collective.kind == HOP_COLLECTIVE_BARRIER;
    w->sizes = hop_arena_alloc(&w->arena, HOP_TUNE_SIZES * sizeof *w->sizes);
    w->spans = hop_arena_alloc(&w->arena, HOP_TUNE_SIZES * sizeof *w->spans);
    if (barrier)
        add_size(t, 0);
    for (uint32_t i = 0; given && !barrier && i < t->options->size_count; i++)
        add_size(t, t->options->sizes[i]);
    for (uint64_t size = first_size; !given && !barrier && size <= last_size; size *= 4)
        add_size(t, size - size % t->step);
    if (w->arena.failed)
        (void)failed(t, hop_fail_memory(t->diag));
    else if (w->tuned.size_count == 0)
        (void)failed(t, hop_fail(t->diag, HOP_ERR_INVALID,
                                 "no size has a whole element for each rank's part\nsizes of %llu bytes or more",
                                 (unsigned long long)t->step));
}

/* ---- what it takes ---- */

/* NULL: it cannot be made on so many ranks, or something failed. The caller destroys it. */
static struct hop_schedule *make(struct tuning *t, uint32_t candidate, uint64_t bytes)
{
    struct hop_tune_candidate *c = &t->whole->candidates[candidate];
    struct hop_diag why = {0};
    struct hop_schedule *schedule = NULL;
    t->collective.algorithm = c->algorithm;
    t->collective.vector_bytes = bytes;
    t->collective.segment_bytes = c->segment_bytes;
    enum hop_status status =
        t->status == HOP_OK ? hop_make_collective(t->ranks, &t->collective, &schedule, &why) : HOP_OK;
    if (status == HOP_ERR_INVALID || status == HOP_ERR_LIMIT) {
        c->refused = hop_arena_string(&t->whole->arena, why.what, strlen(why.what));
        status = c->refused ? HOP_OK : hop_fail_memory(t->diag);
    } else if (status != HOP_OK && t->diag) {
        *t->diag = why;
    }
    (void)failed(t, status);
    return schedule;
}

static bool is_stopped(struct tuning *t)
{
    t->stopped = t->stopped || (t->options->stop && t->options->stop(t->options->context));
    return t->stopped;
}

/* NULL: it was stopped, or something failed. */
static struct hop_timeline *simulate(struct tuning *t, const struct hop_schedule *schedule, enum hop_detail detail)
{
    const struct hop_simulate_options options = {
        .detail = detail, .stop = t->options->stop, .context = t->options->context};
    struct hop_timeline *timeline = NULL;
    enum hop_status status = hop_simulate(t->network, schedule, &options, &timeline, t->diag);
    t->stopped = t->stopped || status == HOP_ERR_STOPPED;
    (void)failed(t, status == HOP_ERR_STOPPED ? HOP_OK : status);
    return timeline;
}

/* Destroys the schedule; without one the time is what `otherwise` says. */
static double predict(struct tuning *t, struct hop_schedule *schedule, double otherwise)
{
    struct hop_timeline *timeline = schedule ? simulate(t, schedule, HOP_DETAIL_NONE) : NULL;
    double time_s = timeline ? hop_timeline_makespan_s(timeline) : otherwise;
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(schedule);
    return time_s;
}

/* A size in few, small enough segments; those of the others are left out. */
static bool fits(const struct hop_tune_candidate *c, uint64_t bytes)
{
    return c->segment_bytes == 0 ||
           (c->segment_bytes < bytes && (bytes - 1) / c->segment_bytes + 1 <= HOP_TUNE_SEGMENTS);
}

static void step(struct tuning *t)
{
    t->done++;
    if (t->options->progress)
        t->options->progress((double)t->done / t->total, t->options->context);
}

static void predict_size(struct tuning *t, uint64_t bytes, struct hop_tune_time *times)
{
    for (uint32_t c = 0; c < t->whole->tuned.candidate_count && t->status == HOP_OK && !is_stopped(t); c++) {
        bool made = fits(&t->whole->candidates[c], bytes);
        double time_s = predict(t, made ? make(t, c, bytes) : NULL, NAN);
        times[c] = (struct hop_tune_time){time_s, time_s, time_s};
        step(t);
    }
}

/* All at once, so that whoever measures can take turns. */
static void measure_size(struct tuning *t, uint64_t bytes, struct hop_tune_time *times)
{
    uint32_t count = t->whole->tuned.candidate_count, made = 0;
    struct hop_arena arena = {0};
    struct hop_schedule **schedules = hop_arena_alloc(&arena, count * sizeof *schedules);
    uint32_t *candidate = hop_arena_alloc(&arena, count * sizeof *candidate);
    struct hop_tune_time *measured = hop_arena_alloc(&arena, count * sizeof *measured);
    if (arena.failed)
        (void)failed(t, hop_fail_memory(t->diag));
    for (uint32_t c = 0; c < count && t->status == HOP_OK; c++) {
        if (fits(&t->whole->candidates[c], bytes) && (schedules[made] = make(t, c, bytes)))
            candidate[made++] = c;
    }
    if (made > 0 && t->status == HOP_OK)
        (void)failed(t, t->options->measure((const struct hop_schedule *const *)schedules, made, measured,
                                            t->options->measure_context, t->diag));
    for (uint32_t i = 0; i < made; i++) {
        if (t->status == HOP_OK)
            times[candidate[i]] = measured[i];
        hop_schedule_destroy(schedules[i]);
    }
    for (uint32_t c = 0; c < count; c++)
        step(t);
    hop_arena_finish(&arena);
}

/* ---- who wins ---- */

static void find_winner(const struct whole *w, struct hop_tune_size *size)
{
    const struct hop_tune_time *times = size->times;
    double best_s = INFINITY, second_s = INFINITY;
    for (uint32_t c = 0; c < w->tuned.candidate_count; c++) {
        if (hop_tune_less(times[c].time_s, best_s)) { /* false for NAN */
            best_s = times[c].time_s;
            size->winner = c;
        }
    }
    for (uint32_t c = 0; c < w->tuned.candidate_count && size->winner != HOP_NONE; c++) {
        if (strcmp(w->candidates[c].algorithm, w->candidates[size->winner].algorithm) != 0 &&
            hop_tune_less(times[c].time_s, second_s)) {
            second_s = times[c].time_s;
            size->second = c;
        }
    }
}

static void find_busiest_link(const struct hop_timeline *timeline, struct hop_tune_size *size)
{
    double makespan_s = hop_timeline_makespan_s(timeline);
    uint32_t links = 2 * hop_topology_link_count(hop_timeline_topology(timeline));
    for (uint32_t l = 0; l < links && makespan_s > 0; l++) {
        double share = hop_timeline_link_use(timeline, l).busy_s / makespan_s;
        if (hop_tune_less(size->link_busy, share)) {
            size->link_busy = share;
            size->link = l;
        }
    }
}

static bool find_largest_loss(const struct hop_timeline *timeline, struct hop_tune_size *size)
{
    double lost_s[HOP_RULE_COUNT] = {0}, most_s = 0;
    struct hop_loss losses[LOSSES];
    for (uint32_t op = 0; op < hop_schedule_count(hop_timeline_schedule(timeline)); op++) {
        uint32_t count = hop_timeline_losses(timeline, op, losses, LOSSES);
        if (count == HOP_NONE)
            return false;
        for (uint32_t i = 0; i < count && i < LOSSES; i++)
            lost_s[losses[i].rule] += losses[i].lost_s;
    }
    for (unsigned rule = 0; rule < HOP_RULE_COUNT; rule++) {
        if (hop_tune_less(most_s, lost_s[rule])) {
            most_s = lost_s[rule];
            size->rule = (enum hop_rule)rule;
        }
    }
    return true;
}

/* Why the winner is not faster still. */
static void explain(struct tuning *t, struct hop_tune_size *size)
{
    struct hop_schedule *schedule = make(t, size->winner, size->vector_bytes);
    struct hop_timeline *timeline = schedule ? simulate(t, schedule, HOP_DETAIL_SEGMENTS) : NULL;
    if (timeline) {
        find_busiest_link(timeline, size);
        if (!find_largest_loss(timeline, size))
            (void)failed(t, hop_fail_memory(t->diag));
        hop_timeline_destroy(timeline);
    }
    hop_schedule_destroy(schedule);
}

/* What the winner gains over the second. */
static void find_gain(struct tuning *t, struct hop_tune_size *size)
{
    if (size->second == HOP_NONE)
        return;
    struct hop_schedule *second = make(t, size->second, size->vector_bytes), *winner = make(t, size->winner, size->vector_bytes);
    struct hop_gain *gain = NULL;
    if (second && winner && hop_schedule_count(second) + hop_schedule_count(winner) > GAIN_OPERATIONS)
        size->gain = hop_gain_alone(size->times[size->second].time_s, size->times[size->winner].time_s);
    else if (second && winner)
        (void)failed(t, hop_tune_gain(t->network, second, winner, &gain, t->diag));
    if (gain)
        size->gain = gain->range;
    hop_gain_destroy(gain);
    hop_schedule_destroy(second);
    hop_schedule_destroy(winner);
}

/* ---- where another one begins to win ---- */

static uint64_t smaller(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* To whole KiB, MiB ... where that is 1 % at most, to be read more easily. */
static uint64_t round_up(uint64_t bytes)
{
    uint64_t unit = 1;
    while (bytes >= unit * 1024 * 100)
        unit *= 1024;
    return (bytes + unit - 1) / unit * unit;
}

/* The size near which the later winner overtakes the earlier one. */
static uint64_t find_crossover(struct tuning *t, const struct hop_tune_size *earlier, const struct hop_tune_size *later)
{
    uint64_t low = earlier->vector_bytes / t->step, high = later->vector_bytes / t->step;
    while (high - low > 1 && (double)high > CROSSOVER_NEAR * (double)low && t->status == HOP_OK) {
        uint64_t middle = (uint64_t)sqrt((double)low * (double)high);
        middle = middle <= low ? low + 1 : middle;
        double earlier_s = predict(t, make(t, earlier->winner, middle * t->step), INFINITY);
        double later_s = predict(t, make(t, later->winner, middle * t->step), INFINITY);
        *(hop_tune_less(later_s, earlier_s) ? &high : &low) = middle;
    }
    return smaller(round_up(high * t->step), later->vector_bytes);
}

static void find_spans(struct tuning *t)
{
    struct whole *w = t->whole;
    for (uint32_t s = 0; s < w->tuned.size_count && t->status == HOP_OK; s++) {
        const struct hop_tune_size *size = &w->sizes[s];
        if (w->tuned.span_count > 0 && w->spans[w->tuned.span_count - 1].candidate == size->winner)
            continue;
        uint64_t from_bytes = s == 0 ? 0 : w->tuned.measured ? size->vector_bytes : find_crossover(t, size - 1, size);
        w->spans[w->tuned.span_count++] = (struct hop_tune_span){from_bytes, size->winner, s};
    }
}

/* ---- all together ---- */

static enum hop_status check(const struct tuning *t)
{
    const struct hop_tune_collective_options *o = t->options;
    if (!t->network && !o->measure)
        return hop_fail(t->diag, HOP_ERR_INVALID, "algorithms are to be predicted, without a network");
    if (t->ranks->count == 0 || t->ranks->count > HOP_TUNE_RANKS) {
        return hop_fail(t->diag, HOP_ERR_LIMIT, "%u ranks\n1 to %d", t->ranks->count, HOP_TUNE_RANKS);
    }
    if (o->sizes)
        HOP_CHECK(hop_tune_check_sizes("sizes", o->sizes, o->size_count, t->diag));
    if (o->segments && o->segment_count > 0)
        HOP_CHECK(hop_tune_check_sizes("sizes of segments", o->segments, o->segment_count, t->diag));
    HOP_CHECK(hop_collective_check_options(t->ranks, &t->collective, t->diag));
    if (o->algorithms && o->algorithm_count == 0)
        return hop_fail(t->diag, HOP_ERR_INVALID, "an empty list of algorithms\nat least one, or NULL");
    return HOP_OK;
}

/* A reason in the words of who refused it. */
static void refuse_all(struct tuning *t, uint64_t bytes)
{
    struct hop_schedule *schedule = NULL;
    t->collective.algorithm = t->whole->candidates[0].algorithm;
    t->collective.segment_bytes = 0;
    t->collective.vector_bytes = bytes;
    if (!failed(t, hop_make_collective(t->ranks, &t->collective, &schedule, t->diag)))
        (void)failed(t, hop_fail(t->diag, HOP_ERR_INVALID, "no algorithm was timed"));
    hop_schedule_destroy(schedule);
}

/* What could be made at some size is not refused. */
static void forgive(struct whole *w)
{
    for (uint32_t s = 0; s < w->tuned.size_count; s++) {
        for (uint32_t c = 0; c < w->tuned.candidate_count; c++) {
            if (!isnan(w->sizes[s].times[c].time_s))
                w->candidates[c].refused = NULL;
        }
    }
}

static void compare_sizes(struct tuning *t)
{
    struct whole *w = t->whole;
    t->total = w->tuned.size_count * w->tuned.candidate_count;
    /* The largest first, of which most can be refused. */
    for (uint32_t s = w->tuned.size_count; s-- > 0 && t->status == HOP_OK;) {
        struct hop_tune_size *size = &w->sizes[s];
        struct hop_tune_time *times = (struct hop_tune_time *)size->times; /* ours until it is handed out */
        (w->tuned.measured ? measure_size : predict_size)(t, size->vector_bytes, times);
        if (t->status != HOP_OK)
            return;
        find_winner(w, size);
        if (size->winner == HOP_NONE && !t->stopped) {
            refuse_all(t, size->vector_bytes);
        } else if (!w->tuned.measured && !is_stopped(t)) {
            explain(t, size);
            find_gain(t, size);
        }
    }
    if (!t->stopped)
        find_spans(t);
    forgive(w);
}

enum hop_status hop_tune_collective(struct hop_network *network, const struct hop_ranks *ranks,
                                    const struct hop_collective_options *collective,
                                    const struct hop_tune_collective_options *options,
                                    struct hop_tuned_collective **tuned, struct hop_diag *diag)
{
    struct hop_tune_collective_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct tuning t = {.network = network, .ranks = ranks, .collective = *collective, .options = options, .diag = diag};
    if ((unsigned)collective->kind >= HOP_COLLECTIVE_COUNT || (unsigned)collective->type >= HOP_TYPE_COUNT)
        return hop_fail(diag, HOP_ERR_INVALID, "a collective has an unknown kind or type");
    if (network && !t.collective.grid[0])
        hop_collective_grid(hop_network_topology(network), ranks, t.collective.grid);
    t.collective.vector_bytes = 0;
    enum hop_status status = check(&t);
    if (status != HOP_OK)
        return status;
    struct whole *w = t.whole = calloc(1, sizeof *w);
    if (!w)
        return hop_fail_memory(diag);
    t.step = hop_type_bytes(collective->type) * (hop_collective_has_parts(collective->kind) ? ranks->count : 1);
    w->tuned.kind = collective->kind;
    w->tuned.ranks = ranks->count;
    w->tuned.measured = options->measure;
    find_candidates(&t);
    if (t.status == HOP_OK)
        find_sizes(&t);
    if (t.status == HOP_OK && tuned)
        compare_sizes(&t);
    w->tuned.candidates = w->candidates;
    w->tuned.sizes = w->sizes;
    w->tuned.spans = w->spans;
    if (t.status == HOP_OK && tuned)
        *tuned = &w->tuned;
    else
        hop_tuned_collective_destroy(&w->tuned);
    return t.status;
}

void hop_tuned_collective_destroy(struct hop_tuned_collective *tuned)
{
    struct whole *w = (struct whole *)tuned;
    if (!w)
        return;
    hop_arena_finish(&w->arena);
    free(w);
}
