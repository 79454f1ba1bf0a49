/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which algorithm, in which segments? Every candidate is a schedule; what it takes, hop_simulate says, or whoever measures.
 *
 * Where two neighbouring sizes have different winners, a predicted crossover is found by halving the ratio of the sizes
 * around it, looking at these two winners alone.
 */
#include "tune/tune_collective.h"

#include <math.h>
#include <stdio.h>

#include "hopcast/simulate.h"

#define CROSSOVER_NEAR 1.01 /* the two sizes around a crossover are that near */
enum { LOSSES = 32 };       /* of an operation, looked at; the largest come first */

struct whole {
    struct hop_tuned_collective tuned; /* what the caller sees; first */
    struct hop_arena arena;
    struct hop_tune_candidate *candidates;
    struct hop_tune_size *sizes;
    struct hop_tune_span *spans;
    uint32_t capacity;
};

struct tuning {
    struct hop_network *network;
    const struct hop_ranks *ranks;
    struct hop_collective_options collective; /* algorithm, bytes and segment_bytes change */
    const struct hop_tune_collective_options *options;
    struct whole *whole;
    uint64_t element;
    uint32_t done, total;
    struct hop_diag *diag;
};

/* ---- what is compared ---- */

static const uint64_t default_segments[] = {64 << 10, 256 << 10, 1 << 20, 4 << 20};
static const uint64_t first_size = 4, last_size = 256 << 20;

static enum hop_status check_ascending(const uint64_t *list, uint32_t count, const char *what, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] == 0 || list[i] > HOP_BYTES_MAX || (i > 0 && list[i] <= list[i - 1])) {
            hop_fail(diag, HOP_ERR_INVALID, "%s %u is %llu bytes", what, i, (unsigned long long)list[i]);
            hop_diag_expect(diag, "1 byte to 1 EiB, each more than the last");
            return HOP_ERR_INVALID;
        }
    }
    if (count <= HOP_TUNE_SIZES)
        return HOP_OK;
    hop_fail(diag, HOP_ERR_LIMIT, "%u times %s", count, what);
    hop_diag_expect(diag, "at most %d", HOP_TUNE_SIZES);
    return HOP_ERR_LIMIT;
}

static enum hop_status add_candidate(struct tuning *t, const char *algorithm, uint64_t segment_bytes)
{
    struct whole *w = t->whole;
    if (w->tuned.candidate_count == HOP_TUNE_CANDIDATES) {
        hop_fail(t->diag, HOP_ERR_LIMIT, "more than %d algorithms and sizes of segments", HOP_TUNE_CANDIDATES);
        hop_diag_expect(t->diag, "a shorter list of algorithms");
        return HOP_ERR_LIMIT;
    }
    if (!hop_grow(&w->candidates, &w->capacity, w->tuned.candidate_count + 1, sizeof *w->candidates))
        return hop_fail_memory(t->diag);
    w->candidates[w->tuned.candidate_count++] = (struct hop_tune_candidate){algorithm, segment_bytes, NULL};
    return HOP_OK;
}

static enum hop_status add_algorithm(struct tuning *t, const char *name)
{
    bool given = t->options && t->options->segments;
    const uint64_t *segments = given ? t->options->segments : default_segments;
    uint32_t count = given ? t->options->segment_count : HOP_COUNT(default_segments);
    enum hop_status status = add_candidate(t, name, 0);
    for (uint32_t s = 0; s < count && status == HOP_OK; s++) {
        if (hop_tune_check_algorithm(t->collective.kind, name, segments[s], NULL) == HOP_OK)
            status = add_candidate(t, name, segments[s]);
    }
    return status;
}

static enum hop_status find_candidates(struct tuning *t)
{
    struct hop_tune_names names = {.arena = &t->whole->arena};
    enum hop_status status = HOP_OK;
    if (t->options && t->options->algorithms) {
        for (uint32_t i = 0; i < t->options->algorithm_count && status == HOP_OK; i++) {
            const char *text = t->options->algorithms[i];
            char *name = hop_arena_string(names.arena, text, strlen(text));
            status = name ? add_algorithm(t, name) : hop_fail_memory(t->diag);
        }
        return status;
    }
    status = hop_tune_list_algorithms(t->ranks, &t->collective, &names, t->diag);
    for (uint32_t i = 0; i < names.count && status == HOP_OK; i++)
        status = add_algorithm(t, names.names[i]);
    free(names.names);
    return status;
}

static enum hop_status add_size(struct tuning *t, uint64_t bytes)
{
    struct whole *w = t->whole;
    struct hop_tune_size *size = &w->sizes[w->tuned.size_count];
    bytes = (bytes + t->element - 1) / t->element * t->element;
    if (w->tuned.size_count > 0 && bytes <= size[-1].bytes) /* rounded up to the same */
        return HOP_OK;
    struct hop_tune_time *times = hop_arena_alloc(&w->arena, (w->tuned.candidate_count + 1) * sizeof *times);
    if (!times)
        return hop_fail_memory(t->diag);
    for (uint32_t c = 0; c < w->tuned.candidate_count; c++)
        times[c] = (struct hop_tune_time){NAN, NAN, NAN};
    *size = (struct hop_tune_size){bytes, times, HOP_NONE, HOP_NONE, HOP_NONE, 0, HOP_RULE_FULL};
    w->tuned.size_count++;
    return HOP_OK;
}

static enum hop_status find_sizes(struct tuning *t)
{
    struct whole *w = t->whole;
    enum hop_status status = HOP_OK;
    w->sizes = hop_arena_alloc(&w->arena, HOP_TUNE_SIZES * sizeof *w->sizes);
    w->spans = hop_arena_alloc(&w->arena, HOP_TUNE_SIZES * sizeof *w->spans);
    if (!w->sizes || !w->spans)
        return hop_fail_memory(t->diag);
    if (t->collective.kind == HOP_COLLECTIVE_BARRIER)
        return add_size(t, 0);
    if (t->options && t->options->sizes) {
        for (uint32_t i = 0; i < t->options->size_count && status == HOP_OK; i++)
            status = add_size(t, t->options->sizes[i]);
        return status;
    }
    for (uint64_t size = first_size; size <= last_size && status == HOP_OK; size *= 4)
        status = add_size(t, size);
    return status;
}

/* ---- what it takes ---- */

/* Without its schedule: it cannot be made on so many ranks. */
static enum hop_status make(struct tuning *t, uint32_t candidate, uint64_t bytes, struct hop_schedule **schedule)
{
    struct hop_tune_candidate *c = &t->whole->candidates[candidate];
    struct hop_diag why = {0};
    t->collective.algorithm = c->algorithm;
    t->collective.bytes = bytes;
    t->collective.segment_bytes = c->segment_bytes;
    *schedule = NULL;
    enum hop_status status = hop_make_collective(t->ranks, &t->collective, schedule, &why);
    if (status == HOP_ERR_INVALID || status == HOP_ERR_LIMIT) {
        c->refused = hop_arena_string(&t->whole->arena, why.what, strlen(why.what));
        return c->refused ? HOP_OK : hop_fail_memory(t->diag);
    }
    if (status != HOP_OK && t->diag)
        *t->diag = why;
    return status;
}

static enum hop_status predict(struct tuning *t, const struct hop_schedule *schedule, double *time_s)
{
    const struct hop_simulate_options options = {.detail = HOP_DETAIL_NONE};
    struct hop_timeline *timeline;
    enum hop_status status = hop_simulate(t->network, schedule, &options, &timeline, t->diag);
    if (status != HOP_OK)
        return status;
    *time_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    return HOP_OK;
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
    if (t->options && t->options->progress)
        t->options->progress((double)t->done / t->total, t->options->context);
}

static enum hop_status predict_size(struct tuning *t, uint64_t bytes, struct hop_tune_time *times)
{
    enum hop_status status = HOP_OK;
    for (uint32_t c = 0; c < t->whole->tuned.candidate_count && status == HOP_OK; c++) {
        struct hop_schedule *schedule = NULL;
        double time_s = NAN;
        if (fits(&t->whole->candidates[c], bytes))
            status = make(t, c, bytes, &schedule);
        if (status == HOP_OK && schedule)
            status = predict(t, schedule, &time_s);
        times[c] = (struct hop_tune_time){time_s, time_s, time_s};
        hop_schedule_destroy(schedule);
        step(t);
    }
    return status;
}

/* All at once, so that whoever measures can take turns. */
static enum hop_status measure_size(struct tuning *t, uint64_t bytes, struct hop_tune_time *times)
{
    uint32_t count = t->whole->tuned.candidate_count, made = 0;
    struct hop_schedule **schedules = calloc(count, sizeof *schedules);
    uint32_t *candidate = calloc(count, sizeof *candidate);
    struct hop_tune_time *measured = calloc(count, sizeof *measured);
    enum hop_status status = schedules && candidate && measured ? HOP_OK : hop_fail_memory(t->diag);
    for (uint32_t c = 0; c < count && status == HOP_OK; c++) {
        if (!fits(&t->whole->candidates[c], bytes))
            continue;
        status = make(t, c, bytes, &schedules[made]);
        if (status == HOP_OK && schedules[made])
            candidate[made++] = c;
    }
    if (status == HOP_OK && made > 0)
        status = t->options->measure((const struct hop_schedule *const *)schedules, made, measured,
                                     t->options->measure_context, t->diag);
    for (uint32_t i = 0; i < made; i++) {
        if (status == HOP_OK)
            times[candidate[i]] = measured[i];
        hop_schedule_destroy(schedules[i]);
    }
    for (uint32_t c = 0; c < count; c++)
        step(t);
    free(schedules);
    free(candidate);
    free(measured);
    return status;
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

static void find_largest_loss(const struct hop_timeline *timeline, struct hop_tune_size *size)
{
    double lost_s[HOP_RULE_COUNT] = {0}, most_s = 0;
    struct hop_loss losses[LOSSES];
    for (uint32_t op = 0; op < hop_schedule_count(hop_timeline_schedule(timeline)); op++) {
        uint32_t count = hop_timeline_losses(timeline, op, losses, LOSSES);
        for (uint32_t i = 0; i < count && i < LOSSES; i++)
            lost_s[losses[i].rule] += losses[i].lost_s;
    }
    for (unsigned rule = 0; rule < HOP_RULE_COUNT; rule++) {
        if (hop_tune_less(most_s, lost_s[rule])) {
            most_s = lost_s[rule];
            size->rule = (enum hop_rule)rule;
        }
    }
}

/* Why the winner is not faster still. */
static enum hop_status explain(struct tuning *t, struct hop_tune_size *size)
{
    struct hop_schedule *schedule;
    struct hop_timeline *timeline;
    enum hop_status status = make(t, size->winner, size->bytes, &schedule);
    if (status != HOP_OK || !schedule)
        return status;
    status = hop_simulate(t->network, schedule, NULL, &timeline, t->diag);
    if (status == HOP_OK) {
        find_busiest_link(timeline, size);
        find_largest_loss(timeline, size);
        hop_timeline_destroy(timeline);
    }
    hop_schedule_destroy(schedule);
    return status;
}

/* ---- where another one begins to win ---- */

static enum hop_status predict_candidate(struct tuning *t, uint32_t candidate, uint64_t bytes, double *time_s)
{
    struct hop_schedule *schedule;
    enum hop_status status = make(t, candidate, bytes, &schedule);
    *time_s = INFINITY;
    if (status == HOP_OK && schedule)
        status = predict(t, schedule, time_s);
    hop_schedule_destroy(schedule);
    return status;
}

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
static enum hop_status find_crossover(struct tuning *t, const struct hop_tune_size *earlier,
                                      const struct hop_tune_size *later, uint64_t *from_bytes)
{
    uint64_t low = earlier->bytes / t->element, high = later->bytes / t->element; /* in elements */
    enum hop_status status = HOP_OK;
    while (high - low > 1 && (double)high > CROSSOVER_NEAR * (double)low && status == HOP_OK) {
        uint64_t middle = (uint64_t)sqrt((double)low * (double)high);
        double earlier_s, later_s;
        if (middle <= low)
            middle = low + 1;
        status = predict_candidate(t, earlier->winner, middle * t->element, &earlier_s);
        if (status == HOP_OK)
            status = predict_candidate(t, later->winner, middle * t->element, &later_s);
        if (status == HOP_OK && hop_tune_less(later_s, earlier_s))
            high = middle;
        else
            low = middle;
    }
    *from_bytes = smaller(round_up(high * t->element), later->bytes);
    return status;
}

static enum hop_status find_spans(struct tuning *t)
{
    struct whole *w = t->whole;
    enum hop_status status = HOP_OK;
    for (uint32_t s = 0; s < w->tuned.size_count && status == HOP_OK; s++) {
        const struct hop_tune_size *size = &w->sizes[s];
        uint64_t from_bytes = s > 0 ? size->bytes : 0;
        if (w->tuned.span_count > 0 && w->spans[w->tuned.span_count - 1].candidate == size->winner)
            continue;
        if (s > 0 && !w->tuned.measured)
            status = find_crossover(t, size - 1, size, &from_bytes);
        w->spans[w->tuned.span_count++] = (struct hop_tune_span){from_bytes, size->winner, s};
    }
    return status;
}

/* ---- all together ---- */

static enum hop_status check(const struct tuning *t)
{
    const struct hop_tune_collective_options *o = t->options;
    if (!t->network && !(o && o->measure))
        return hop_fail(t->diag, HOP_ERR_INVALID, "algorithms are to be predicted, without a network");
    if (t->ranks->count == 0 || t->ranks->count > HOP_TUNE_RANKS) {
        hop_fail(t->diag, HOP_ERR_LIMIT, "%u ranks", t->ranks->count);
        hop_diag_expect(t->diag, "1 to %d", HOP_TUNE_RANKS);
        return HOP_ERR_LIMIT;
    }
    enum hop_status status = HOP_OK;
    if (o && o->sizes)
        status = check_ascending(o->sizes, o->size_count, "size", t->diag);
    if (status == HOP_OK && o && o->segments)
        status = check_ascending(o->segments, o->segment_count, "size of segments", t->diag);
    if (status == HOP_OK &&
        ((o && o->sizes && o->size_count == 0) || (o && o->algorithms && o->algorithm_count == 0))) {
        hop_fail(t->diag, HOP_ERR_INVALID, "an empty list of sizes or algorithms");
        hop_diag_expect(t->diag, "at least one, or NULL");
        status = HOP_ERR_INVALID;
    }
    return status;
}

/* A reason in the words of who refused it. */
static enum hop_status refuse_all(struct tuning *t, uint64_t bytes)
{
    struct hop_schedule *schedule = NULL;
    t->collective.algorithm = t->whole->candidates[0].algorithm;
    t->collective.segment_bytes = 0;
    t->collective.bytes = bytes;
    enum hop_status status = hop_make_collective(t->ranks, &t->collective, &schedule, t->diag);
    hop_schedule_destroy(schedule);
    return status != HOP_OK ? status : hop_fail(t->diag, HOP_ERR_INVALID, "no algorithm was timed");
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

static enum hop_status compare_sizes(struct tuning *t)
{
    struct whole *w = t->whole;
    enum hop_status status = HOP_OK;
    t->total = w->tuned.size_count * w->tuned.candidate_count;
    for (uint32_t s = 0; s < w->tuned.size_count && status == HOP_OK; s++) {
        struct hop_tune_size *size = &w->sizes[s];
        struct hop_tune_time *times = (struct hop_tune_time *)size->times; /* ours until it is handed out */
        status = w->tuned.measured ? measure_size(t, size->bytes, times) : predict_size(t, size->bytes, times);
        if (status != HOP_OK)
            return status;
        find_winner(w, size);
        if (size->winner == HOP_NONE)
            return refuse_all(t, size->bytes);
        if (!w->tuned.measured)
            status = explain(t, size);
    }
    if (status == HOP_OK)
        status = find_spans(t);
    forgive(w);
    return status;
}

enum hop_status hop_tune_collective(struct hop_network *network, const struct hop_ranks *ranks,
                                    const struct hop_collective_options *collective,
                                    const struct hop_tune_collective_options *options,
                                    struct hop_tuned_collective **tuned, struct hop_diag *diag)
{
    struct tuning t = {.network = network, .ranks = ranks, .collective = *collective, .options = options, .diag = diag};
    if ((unsigned)collective->kind >= HOP_COLLECTIVE_COUNT || (unsigned)collective->type >= HOP_TYPE_COUNT)
        return hop_fail(diag, HOP_ERR_INVALID, "a collective has an unknown kind or type");
    enum hop_status status = check(&t);
    if (status != HOP_OK)
        return status;
    struct whole *w = t.whole = calloc(1, sizeof *w);
    if (!w)
        return hop_fail_memory(diag);
    t.element = hop_type_bytes(collective->type);
    w->tuned.kind = collective->kind;
    w->tuned.ranks = ranks->count;
    w->tuned.measured = options && options->measure;
    status = find_candidates(&t);
    if (status == HOP_OK)
        status = find_sizes(&t);
    if (status == HOP_OK)
        status = compare_sizes(&t);
    w->tuned.candidates = w->candidates;
    w->tuned.sizes = w->sizes;
    w->tuned.spans = w->spans;
    if (status == HOP_OK)
        *tuned = &w->tuned;
    else
        hop_tuned_collective_destroy(&w->tuned);
    return status;
}

void hop_tuned_collective_destroy(struct hop_tuned_collective *tuned)
{
    struct whole *w = (struct whole *)tuned;
    if (!w)
        return;
    free(w->candidates);
    hop_arena_finish(&w->arena);
    free(w);
}
