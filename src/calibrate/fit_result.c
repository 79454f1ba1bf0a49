/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fit says of its values: how sure they are, where they stand, which groups determine them. */
#include "calibrate/fit.h"
#include "calibrate/matrix.h"
#include "topology/topology.h"

#include <math.h>
#include <stdio.h>

enum { NAMED_MAX = 8 };
#define UNIT 0.02        /* of errors, as in loss.c */
#define NOISE_LEAST 0.01 /* of the variance of errors, in squares of the unit: 0.2 % */
#define BELIEF 1.0       /* what is believed beforehand: that a scaled value is known to 1 */
#define LIKE_OTHERS 1.1  /* by which what nobody measured may be more or less than those of its kind */
#define UNSEEN                                                                                                         \
    0.5 /* the share of what others keep that a limit, or a direction under load, may have where nobody measured it */
#define NARROWER 0.97    /* of a link: what fills it takes longer */
#define FELT 1e-3        /* by as much at least, as a logarithm */
#define OPEN 1.0         /* cost: less than that is no reason against a value 2.7 times as large or as small */

/* Of Student's distribution: the quantile of 95 %, nearly. */
static double quantile(double freedom)
{
    static const double few[] = {6.314, 2.920, 2.353, 2.132, 2.015, 1.943, 1.895, 1.860, 1.833};
    return freedom < 1 ? few[0] : freedom < 10 ? few[(unsigned)freedom - 1] : 1.645 + 1.6 / freedom;
}

/* What groups, and rows of traces, tell of their values together. */
struct spread {
    double *matrix, *inverse, *scores; /* knob_count x knob_count; scores: the sum of their outer products */
    double squares;                    /* sum of the squares of errors, as the cost weighs them */
    uint32_t count;                    /* groups, and rows of traces */
};

/* Adds the part of a group, or of a row of a trace, that its rows pull the values with. */
static void add_score(const struct hop_fitting *f, struct spread *s, double *score)
{
    double none[HOP_KNOBS_MAX] = {0};
    hop_matrix_add(s->scores, f->knob_count, score, 1, 0, none);
    memset(score, 0, f->knob_count * sizeof *score);
    s->count++;
}

static void add_scores(const struct hop_fitting *f, const double *slopes, struct spread *s)
{
    uint32_t n = f->knob_count;
    double score[HOP_KNOBS_MAX] = {0};
    for (uint32_t g = 0; g < f->groups; g++) {
        struct hop_measurement_group its = hop_measurements_group(f->measurements, g);
        double weight = hop_fit_weight(f, g);
        bool any = false, trace = f->expect->groups[g].trace;
        for (uint32_t i = 0; i < its.count; i++) {
            double error = f->now.row[its.rows[i]], pull = weight * hop_fit_curvature(error) * error;
            if (isnan(error))
                continue;
            any = true;
            s->squares += pull * error;
            for (uint32_t k = 0; k < n; k++)
                score[k] += pull * slopes[(size_t)its.rows[i] * n + k];
            if (trace)
                add_score(f, s, score);
        }
        if (any && !trace)
            add_score(f, s, score);
    }
}

/* The variance of a scaled value: what the scatter of all errors makes of it, or, if that is more, how far the groups
 * pull apart; with the inverse I of the normal matrix, I and I S I. */
static double variance_of(const struct spread *s, uint32_t n, uint32_t k)
{
    double freedom = s->count > n ? s->count - n : 1, apart = 0;
    double scatter = hop_max(NOISE_LEAST, s->squares / freedom);
    for (uint32_t i = 0; i < n; i++) {
        for (uint32_t j = 0; j < n; j++)
            apart += s->inverse[(size_t)k * n + i] * s->scores[(size_t)i * n + j] * s->inverse[(size_t)k * n + j];
    }
    return hop_max(scatter * s->inverse[(size_t)k * n + k], apart * s->count / freedom);
}

/* Whether the measurements would let a value go that far. */
static bool is_open(struct hop_fitting *f, const struct hop_knob *knob, double far)
{
    double value = hop_knob_clamp(f, knob, hop_knob_unscaled(knob, hop_knob_scaled(knob, knob->value) + far));
    bool open = hop_fit_try(f, knob, value) - hop_fit_sum(f, knob, &f->now) < OPEN;
    hop_knob_set(f, knob, knob->value);
    return open;
}

static void find_range(struct hop_fitting *f, struct hop_knob *knob, double deviation, double wide)
{
    double x = hop_knob_scaled(knob, knob->value);
    double low = hop_knob_unscaled(knob, x - wide * deviation), high = hop_knob_unscaled(knob, x + wide * deviation);
    knob->deviation = knob->kind == HOP_KNOB_LATENCY ? hop_knob_unscaled(knob, deviation) : deviation * knob->value;
    knob->low = is_open(f, knob, -1) ? NAN : hop_knob_clamp(f, knob, low);
    knob->high = is_open(f, knob, 1) ? NAN : hop_max(knob->value, hop_knob_clamp(f, knob, high));
}

/* Deviations and ranges of all values, from one look at how the rows depend on them. */
static void find_ranges(struct hop_fitting *f)
{
    uint32_t n = f->knob_count;
    size_t rows = hop_measurements_count(f->measurements), square = (size_t)n * n;
    double *slopes = hop_arena_alloc(&f->arena, (rows * n + 3 * square + 1) * sizeof *slopes);
    double right[HOP_KNOBS_MAX], own[HOP_KNOBS_MAX];
    if (!slopes)
        return;
    struct spread s = {slopes + rows * n, slopes + rows * n + square, slopes + rows * n + 2 * square, 0, 0};
    hop_fit_slopes(f, slopes);
    hop_fit_normal(f, slopes, s.matrix, right);
    add_scores(f, slopes, &s);
    for (uint32_t k = 0; k < n; k++) {
        own[k] = s.matrix[(size_t)k * n + k];
        s.matrix[(size_t)k * n + k] += BELIEF;
    }
    bool known = hop_matrix_invert(s.matrix, n, s.inverse);
    for (uint32_t k = 0; k < n; k++) {
        f->knobs[k].deviation = f->knobs[k].low = f->knobs[k].high = NAN;
        if (known && own[k] > BELIEF && f->knobs[k].count > 0)
            find_range(f, &f->knobs[k], sqrt(variance_of(&s, n, k)), quantile(s.count > n ? s.count - n : 1));
    }
}

/* The groups whose cost changes most when the value does. */
static void name_groups(struct hop_fitting *f, const struct hop_knob *knob, const char **names,
                        struct hop_fit_parameter *parameter)
{
    double *change = f->trial.group;
    hop_fit_try(f, knob, knob->kind == HOP_KNOB_LATENCY ? knob->value + 5e-6 : knob->value * 0.97);
    for (uint32_t g = 0; g < f->groups; g++) {
        change[g] = hop_fit_touches(f, knob, g) ? fabs(f->trial.group[g] - f->now.group[g]) : 0;
        parameter->group_count += change[g] > 0.01;
    }
    while (parameter->named_count < NAMED_MAX) {
        uint32_t most = 0;
        for (uint32_t g = 1; g < f->groups; g++)
            most = change[g] > change[most] ? g : most;
        if (change[most] <= 0.01)
            break;
        names[parameter->named_count++] = hop_measurements_group(f->measurements, most).name;
        change[most] = 0;
    }
    hop_knob_set(f, knob, knob->value);
}

static const char *place_name(const struct hop_fitting *f, const struct hop_knob *knob, uint32_t member,
                              struct hop_arena *arena)
{
    char text[192];
    if (knob->kind == HOP_KNOB_CROSSING)
        (void)snprintf(text, sizeof text, "%s--%s",
                       hop_topology_node(f->topology, f->roots[member / f->root_count])->name,
                       hop_topology_node(f->topology, f->roots[member % f->root_count])->name);
    else
        (void)hop_topology_link_name(f->topology, member, text, sizeof text);
    return hop_arena_string(arena, text, strlen(text));
}

/* Whether no row says what a place has: of a limit, none fills it; of a two-way share, none was timed there while the other direction
 * was busy. publish has written what is asked of capacities. */
static bool is_inherited(const struct hop_fitting *f, const struct hop_knob *knob, uint32_t member)
{
    return knob->kind == HOP_KNOB_CAPACITY ? hop_topology_link(f->topology, member / 2)->inherited[member & 1]
                                           : knob->kind == HOP_KNOB_DUPLEX && !(f->timed[member] & HOP_BOTH_WAYS);
}

static void write_parameter(struct hop_fitting *f, const struct hop_knob *knob, struct hop_arena *arena,
                            struct hop_fit_parameter *p)
{
    static const char *const units[] = {
        [HOP_KNOB_CAPACITY] = "B/s", [HOP_KNOB_DUPLEX] = "1", [HOP_KNOB_CROSSING] = "1",
        [HOP_KNOB_LATENCY] = "s",    [HOP_KNOB_HOST] = "1",   [HOP_KNOB_STREAM] = "B/s"};
    bool tau = knob->kind == HOP_KNOB_CROSSING;
    const char *name = tau ? knob->what + strlen("1 - ") : knob->what;
    const char **places = hop_arena_alloc(arena, (knob->count + 1) * sizeof *places);
    const char **groups = hop_arena_alloc(arena, NAMED_MAX * sizeof *groups);
    *p = (struct hop_fit_parameter){.name = hop_arena_string(arena, name, strlen(name)),
                                    .unit = units[knob->kind],
                                    .value = tau ? 1 - knob->value : knob->value,
                                    .given = tau ? 1 - knob->given : knob->given,
                                    .uncertainty = knob->deviation,
                                    .low = tau ? 1 - knob->high : knob->low,
                                    .high = tau ? 1 - knob->low : knob->high,
                                    .gain = knob->gain,
                                    .places = places,
                                    .place_count =
                                        knob->kind >= HOP_KNOB_LATENCY ? 0 : knob->count,
                                    .determined_by = groups};
    if (!places || !groups)
        return;
    for (uint32_t i = 0; i < p->place_count; i++) {
        places[i] = place_name(f, knob, knob->members[i], arena);
        p->inherited_count += is_inherited(f, knob, knob->members[i]);
    }
    name_groups(f, knob, groups, p);
}

void hop_fit_publish(struct hop_fitting *f, const char *name, double value, double low, double high, double deviation)
{
    struct hop_failure *failure = f->failure;
    if (failure->status == HOP_OK)
        failure->status = hop_topology_set_parameter(f->topology, name, value, "calibrated", deviation, failure->diag);
    if (failure->status == HOP_OK && low <= value && value <= high)
        failure->status = hop_topology_set_range(f->topology, name, low, high, failure->diag);
}

/* Whether some row would take longer if a directed link were a little narrower. */
static bool is_filled(struct hop_fitting *f, uint32_t directed)
{
    struct hop_link *link = &f->topology->links[directed / 2], as_it_is = *link;
    struct hop_follows follows = f->topology->follows[directed / 2];
    const struct hop_knob knob = {.kind = HOP_KNOB_CAPACITY, .members = &directed, .count = 1};
    bool filled = false;
    (void)hop_fit_try(f, &knob, NARROWER * link->capacity_Bps[directed & 1] / link->count);
    for (uint32_t g = 0; g < f->groups && hop_fit_good(f) && !filled; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        for (uint32_t i = 0; i < rows.count && hop_fit_touches(f, &knob, g); i++)
            filled |= fabs(f->trial.row[rows.rows[i]] - f->now.row[rows.rows[i]]) > FELT;
    }
    *link = as_it_is;
    f->topology->follows[directed / 2] = follows;
    return filled;
}

/* Whether a value was no machine's from the start, or is a part of such a one. */
static bool is_limit(const struct hop_fitting *f, const struct hop_knob *knob)
{
    while (knob->parent != HOP_NONE)
        knob = &f->knobs[knob->parent];
    return knob->gain > 0;
}

/* Between what a capacity is, 0: nothing bounds it. Where it has it from others it may be a little more or less, and a limit
 * half of theirs or none. */
static struct hop_knob_range range_of(const struct hop_knob *knob, bool inherited, bool limit)
{
    bool known = knob->low > 0 && knob->high > 0; /* else an end is open */
    struct hop_knob_range range = {known ? knob->low : 0, known ? knob->high : 0};
    if (inherited && limit)
        return (struct hop_knob_range){UNSEEN * (known ? knob->low : knob->value),
                                       hop_max(known ? knob->high : knob->value, knob->nominal)};
    if (inherited)
        range = (struct hop_knob_range){range.low / LIKE_OTHERS, range.high * LIKE_OTHERS};
    return range;
}

/* What the topology is to know of a value: its range, and which links have it from others. */
static void publish(struct hop_fitting *f, const struct hop_knob *knob)
{
    bool limit = is_limit(f, knob);
    for (uint32_t i = 0; i < knob->count && knob->kind == HOP_KNOB_CAPACITY; i++) {
        uint32_t member = knob->members[i];
        bool inherited = limit ? !is_filled(f, member) : !f->measured[member];
        struct hop_link *link = &f->topology->links[member / 2];
        struct hop_knob_range range = range_of(knob, inherited, limit);
        link->low_Bps[member & 1] = range.low * link->count;
        link->high_Bps[member & 1] = range.high * link->count;
        link->inherited[member & 1] = inherited;
    }
    /* What all crossings have in common is believed of those that nobody measured, too. */
    if (knob->kind == HOP_KNOB_CROSSING && knob->parent == HOP_NONE)
        hop_fit_publish(f, "tau", 1 - knob->value, 1 - knob->high, 1 - knob->low, knob->deviation);
    if (knob->kind >= HOP_KNOB_LATENCY)
        hop_fit_publish(f, hop_knob_parameter(knob->kind), knob->value, knob->low, knob->high, knob->deviation);
}

/* Where only the other direction was timed while both were busy: half of what that keeps, or all. Off PCIe that is asked where it
 * keeps less than all. */
static void publish_two_way(struct hop_fitting *f)
{
    for (uint32_t d = 0; d < f->directed; d++) {
        struct hop_link *link = &f->topology->links[d / 2];
        double share = hop_min(1, link->duplex_Bps[!(d & 1)] / link->capacity_Bps[!(d & 1)]);
        link->duplex_low_Bps[d & 1] = (link->kind == HOP_LINK_PCIE || share < 1) &&
                                              hop_fit_is_timed_two_way(f, d ^ 1u) && !hop_fit_is_timed_two_way(f, d)
                                          ? UNSEEN * share * link->capacity_Bps[d & 1]
                                          : 0;
    }
}

void hop_fit_find_ranges(struct hop_fitting *f)
{
    find_ranges(f);
    for (uint32_t k = 0; k < f->knob_count; k++)
        publish(f, &f->knobs[k]);
    publish_two_way(f);
    hop_fit_know_no_error(f);
}

void hop_fit_write_parameters(struct hop_fitting *f, struct hop_fitted *r)
{
    struct hop_fit_parameter *list = hop_arena_alloc(&r->arena, (f->knob_count + 1) * sizeof *list);
    hop_fit_find_ranges(f);
    for (uint32_t k = 0; list && k < f->knob_count; k++) {
        if (f->knobs[k].count > 0)
            write_parameter(f, &f->knobs[k], &r->arena, &list[r->public.parameter_count++]);
    }
    r->public.parameters = list;
    if (r->arena.failed)
        hop_failure_set(f->failure, HOP_ERR_MEMORY, "out of memory");
}
