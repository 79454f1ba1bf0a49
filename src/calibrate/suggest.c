/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which measurements say most, by what is believed before they are made: of every value that a fit may turn, and of every one that
 * it may add, what it might be instead; and that each kind of measurement is off in a manner of its own. design.c chooses by that.
 *
 * Several copies at once say something beside what such copies get alone, so they are chosen after these. Where some measurements are
 * known already, a fit is made of them, and the beliefs are about what it found, and about the kinds of measurements that it is off in,
 * as far as it is off.
 */
#include "calibrate/design.h"
#include "calibrate/fit.h"
#include "measurements/measurements.h"

#include <math.h>

enum { CANDIDATES_MAX = 1024, SAME_BYTES = 1 << 20 };
#define SLOW_DEVICE 0.8 /* a riser, a slot of fewer lanes: of what its link was given as */
#define KIND_OFF 0.15   /* logarithm: what the model makes wrong of a kind of measurement */

struct owned_suggestion {
    struct hop_suggestion public; /* first */
    struct hop_measurements *made, *joined;
    struct hop_arena arena;
};

/* What is chosen among: groups of measurements, those that are known, too. */
struct candidates {
    struct hop_design design; /* first */
    const struct hop_fitting *f;
    uint32_t *group;
    uint64_t *way;  /* per row of the measurements: alike for copies over links that are alike */
    uint64_t *kind; /* per candidate: alike for groups of copies over alike ways */
    uint32_t count;
};

static struct hop_measurement_group rows_of(const struct candidates *c, uint32_t candidate)
{
    return hop_measurements_group(c->f->measurements, c->group[candidate]);
}

/* ---- beliefs ---- */

static bool is_of_device(const struct hop_fitting *f, uint32_t directed)
{
    const struct hop_link *link = hop_topology_link(f->topology, directed / 2);
    return link->kind == HOP_LINK_PCIE && hop_node_is_device(hop_topology_node(f->topology, link->ends[0])->kind);
}

/* One device's PCIe link, or a direction of it. */
static bool is_device_link(const struct hop_fitting *f, const struct hop_knob *knob)
{
    return knob->kind == HOP_KNOB_CAPACITY && knob->count <= 2 && knob->count > 0 &&
           is_of_device(f, knob->members[0]) && knob->members[0] / 2 == knob->members[knob->count - 1] / 2;
}

static double fastest(const struct hop_fitting *f, bool devices)
{
    double most = 0;
    for (uint32_t d = 0; d < f->directed; d++) {
        const struct hop_link *link = hop_topology_link(f->topology, d / 2);
        if (devices ? is_of_device(f, d) : link->kind == HOP_LINK_PCIE)
            most = hop_max(most, link->capacity_Bps[d & 1] / link->count);
    }
    return most;
}

/* What a value may be instead, as likely as what it is within one deviation. */
static double lower(const struct hop_fitting *f, const struct hop_knob *knob)
{
    bool limit = knob->kind == HOP_KNOB_CAPACITY && knob->parent == HOP_NONE &&
                 hop_topology_link(f->topology, knob->members[0] / 2)->kind != HOP_LINK_PCIE;
    double pcie = limit ? fastest(f, false) : 0;
    if (pcie > 0 && knob->value > 3 * pcie) /* what some devices together would feel */
        return 2 * pcie;
    switch (knob->kind) {
    case HOP_KNOB_LATENCY:
        return knob->value + 1e-5;
    case HOP_KNOB_CAPACITY:
        return knob->value * (knob->parent == HOP_NONE                      ? 0.75
                              : knob->count > 2                             ? 0.85
                              : is_device_link(f, knob) && knob->count == 2 ? SLOW_DEVICE
                                                                            : 0.9);
    case HOP_KNOB_CROSSING:
        return knob->value * (knob->parent == HOP_NONE ? 0.85 : 0.93);
    default:
        return knob->value * 0.75;
    }
}

/* A capacity may as well be larger, which shows elsewhere, where it is not the least on its way: of a device's link as large as that
 * of the fastest device. The value itself: nothing would show. */
static double higher(const struct hop_fitting *f, const struct hop_knob *knob)
{
    double low = lower(f, knob);
    if (knob->kind != HOP_KNOB_CAPACITY || low < knob->value / 3)
        return knob->value;
    double high = knob->value * knob->value / low;
    return is_device_link(f, knob) ? hop_max(high, fastest(f, true)) : high;
}

/* By how much each candidate changes in the trial of a value (NULL: of something that all may feel). */
static void believe(struct candidates *c, const struct hop_fitting *f, const struct hop_knob *knob)
{
    struct hop_design *d = &c->design;
    for (uint32_t i = 0; i < d->count && hop_fit_good(f); i++) {
        struct hop_measurement_group rows = rows_of(c, i);
        double sum = 0;
        uint32_t count = 0;
        for (uint32_t r = 0; r < rows.count && hop_fit_touches(f, knob, c->group[i]); r++) {
            double change = f->trial.row[rows.rows[r]] - f->now.row[rows.rows[r]];
            sum += isnan(change) ? 0 : change;
            count += !isnan(change);
        }
        d->change[i] = count ? sum / count : 0;
    }
    hop_design_believe(d);
}

static void believe_value(struct candidates *c, struct hop_fitting *f, const struct hop_knob *knob, double value)
{
    if (c->design.arena.failed || !hop_fit_good(f) || value == knob->value)
        return;
    (void)hop_fit_try(f, knob, hop_knob_clamp(f, knob, value));
    hop_knob_set(f, knob, knob->value);
    believe(c, f, knob);
}

/* All of a kind are off alike, by so much. */
static void believe_kind(struct candidates *c, uint64_t kind, double off)
{
    struct hop_design *d = &c->design;
    for (uint32_t i = 0; i < d->count; i++)
        d->change[i] = c->kind[i] == kind ? off : 0;
    hop_design_believe(d);
}

static void find_beliefs(struct candidates *c, struct hop_fitting *f)
{
    uint32_t proposed = 0, pairs[HOP_CHIPS_TRIED][2], chips = hop_fit_good(f) ? hop_fit_list_chips(f, pairs) : 0;
    struct hop_knob *proposals = hop_fit_good(f) ? hop_knobs_propose(f, &proposed) : NULL;
    for (uint32_t k = 0; k < f->knob_count + proposed && proposals; k++) {
        const struct hop_knob *knob = k < f->knob_count ? &f->knobs[k] : &proposals[k - f->knob_count];
        believe_value(c, f, knob, lower(f, knob));
        believe_value(c, f, knob, higher(f, knob));
    }
    for (uint32_t p = 0; p < chips && !c->design.arena.failed && hop_fit_good(f); p++) {
        hop_fit_try_chip(f, pairs[p]);
        believe(c, f, NULL);
    }
    for (uint32_t i = 0; i < c->design.count && !c->design.arena.failed; i++) {
        uint32_t first = 0;
        while (c->kind[first] != c->kind[i])
            first++;
        if (first == i)
            believe_kind(c, c->kind[i], KIND_OFF);
    }
}

/* ---- kinds of measurements ---- */

static uint64_t mix(uint64_t x)
{
    x = (x ^ x >> 31) * 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 29) * 0xbf58476d1ce4e5b9u;
    return x ^ x >> 32;
}

/* The links of a copy as what they are, whichever they are. */
static uint64_t way_of(const struct hop_fitting *f, uint32_t row)
{
    const struct hop_measurement *m = hop_measurements_at(f->measurements, row);
    uint64_t sum = m->pulled;
    for (uint32_t d = 0; d < f->directed; d++) {
        const struct hop_link *link = hop_topology_link(f->topology, d / 2);
        const unsigned what[] = {link->kind, (unsigned)link->generation, (unsigned)link->width,
                                 hop_topology_node(f->topology, link->ends[d & 1])->kind,
                                 hop_topology_node(f->topology, link->ends[!(d & 1)])->kind};
        uint64_t hash = 0;
        for (size_t i = 0; i < HOP_COUNT(what); i++)
            hash = mix(hash + what[i] + 1);
        sum += f->takes[(size_t)row * f->directed + d] ? hash : 0;
    }
    return mix(sum);
}

static bool has_value(const struct hop_measurement *m)
{
    return !isnan(m->rate_Bps) || !isnan(m->time_s);
}

static void find_kinds(struct candidates *c)
{
    const struct hop_measurements *m = c->f->measurements;
    uint32_t rows = hop_measurements_count(m);
    c->way = hop_arena_alloc(&c->design.arena, (rows + 1) * sizeof *c->way);
    c->kind = hop_arena_alloc(&c->design.arena, (c->design.count + 1) * sizeof *c->kind);
    for (uint32_t r = 0; c->way && r < rows; r++)
        c->way[r] = way_of(c->f, r);
    for (uint32_t i = 0; c->way && c->kind && i < c->design.count; i++) {
        struct hop_measurement_group its = rows_of(c, i);
        uint64_t sum = 0;
        for (uint32_t r = 0; r < its.count; r++)
            sum += mix(c->way[its.rows[r]] + has_value(hop_measurements_at(m, its.rows[r])));
        c->kind[i] = mix(sum + its.count);
    }
}

/* ---- what may be chosen ---- */

/* Of this way, there are as many groups of several as lone copies, without a candidate, though there are more of the latter. */
static bool lacks_lone(const struct candidates *c, uint64_t way, uint32_t but)
{
    const struct hop_design *d = &c->design;
    uint32_t alone = 0, several = 0, left = 0;
    for (uint32_t i = 0; i < d->count; i++) {
        struct hop_measurement_group rows = rows_of(c, i);
        bool takes = false, in = d->known[i];
        for (uint32_t r = 0; r < rows.count && !takes && i != but; r++)
            takes = c->way[rows.rows[r]] == way;
        for (uint32_t k = 0; k < d->chosen_count && takes && !in; k++)
            in = d->chosen[k] == i;
        alone += takes && in && rows.count == 1;
        several += takes && in && rows.count > 1;
        left += takes && !in && rows.count == 1;
    }
    return several >= alone && left > 0;
}

/* Several copies at once come after as many lone ones over each of their ways. */
static bool allows(const struct hop_design *d, uint32_t candidate)
{
    const struct candidates *c = d->context;
    struct hop_measurement_group rows = rows_of(c, candidate);
    for (uint32_t r = 0; r < rows.count && rows.count > 1; r++) {
        uint64_t way = c->way[rows.rows[r]];
        bool seen = false;
        for (uint32_t o = 0; o < r && !seen; o++)
            seen = c->way[rows.rows[o]] == way;
        if (!seen && lacks_lone(c, way, candidate))
            return false;
    }
    return true;
}

/* ---- what is known ---- */

/* Whether two groups are the same copies, each long enough for its rate. */
static bool is_same(const struct hop_fitting *f, uint32_t known, uint32_t other)
{
    const struct hop_schedule *a = f->expect->groups[known].schedule, *b = f->expect->groups[other].schedule;
    struct hop_measurement_group rows = hop_measurements_group(f->measurements, known),
                                 others = hop_measurements_group(f->measurements, other);
    bool same = rows.count == others.count && hop_schedule_count(a) == hop_schedule_count(b);
    for (uint32_t i = 0; i < rows.count && same; i++) {
        const struct hop_measurement *m = hop_measurements_at(f->measurements, rows.rows[i]);
        same = hop_expect_bytes(f->expect, m) >= SAME_BYTES && has_value(m) &&
               m->pulled == hop_measurements_at(f->measurements, others.rows[0])->pulled;
    }
    for (uint32_t i = 0; i < hop_schedule_count(a) && same; i++) {
        const struct hop_op *op = hop_schedule_op(a, i);
        int balance = 0;
        for (uint32_t k = 0; k < hop_schedule_count(a); k++) {
            const struct hop_op *mine = hop_schedule_op(a, k), *its = hop_schedule_op(b, k);
            balance += strcmp(mine->from.device, op->from.device) == 0 && strcmp(mine->to.device, op->to.device) == 0;
            balance -= strcmp(its->from.device, op->from.device) == 0 && strcmp(its->to.device, op->to.device) == 0;
        }
        same = balance == 0;
    }
    return same;
}

/* How far the fit to what is known is off there, as a mean square. */
static double off_of(const struct hop_fitting *fitted, struct hop_measurement_group rows)
{
    double sum = 0;
    uint32_t count = 0;
    for (uint32_t r = 0; r < rows.count; r++) {
        double error = fitted->now.row[rows.rows[r]];
        sum += isnan(error) ? 0 : error * error;
        count += !isnan(error);
    }
    return count ? sum / count : 0;
}

/* Takes what is known. Where the fit is off all the same, others of this kind may be off as far. */
static void take_known(struct candidates *c, const struct hop_fitting *fitted)
{
    struct hop_design *d = &c->design;
    hop_design_restart(d);
    for (uint32_t i = 0; i < d->count; i++) {
        if (d->known[i])
            hop_design_take(d, i);
    }
    hop_design_keep(d);
    for (uint32_t i = 0; i < d->count && fitted; i++) {
        if (d->known[i])
            believe_kind(c, c->kind[i], sqrt(off_of(fitted, rows_of(c, i))));
    }
}

/* Groups that have a value, and, of those that are not to be chosen, that are known. */
static void list_candidates(struct candidates *c, const uint8_t *known, uint32_t may)
{
    const struct hop_fitting *f = c->f;
    uint32_t count = 0;
    c->group = hop_arena_alloc(&c->design.arena, (f->groups + 1) * sizeof *c->group);
    for (uint32_t g = 0; c->group && g < f->groups && count < CANDIDATES_MAX; g++) {
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        bool valued = false;
        for (uint32_t i = 0; i < rows.count; i++)
            valued = valued || !isnan(f->now.row[rows.rows[i]]);
        if (valued && (g < may || known[rows.rows[0]]))
            c->group[count++] = g;
    }
    hop_design_begin(&c->design, count);
    for (uint32_t i = 0; !c->design.arena.failed && i < count; i++) {
        c->design.known[i] = known && known[rows_of(c, i).rows[0]];
        for (uint32_t g = may; g < f->groups && !c->design.known[i]; g++)
            c->design.known[i] = is_same(f, g, c->group[i]);
    }
}

static void choose(struct candidates *c, uint32_t wanted, struct owned_suggestion *s)
{
    struct hop_design *d = &c->design;
    uint32_t *groups = hop_arena_alloc(&s->arena, (d->count + 1) * sizeof *groups);
    double *unsure = hop_arena_alloc(&s->arena, (d->count + 1) * sizeof *unsure);
    if (!groups || !unsure)
        return;
    hop_design_restart(d);
    s->public.unsure_before = hop_design_unsure(d);
    hop_design_choose(d, wanted, unsure);
    for (uint32_t i = 0; i < d->chosen_count; i++)
        groups[i] = c->group[d->chosen[i]];
    s->public.groups = groups;
    s->public.unsure = unsure;
    s->public.count = d->chosen_count;
}

/* ---- the whole ---- */

static void suggest(const struct hop_topology *topology, const struct hop_measurements *all, const uint8_t *known,
                    uint32_t may, const struct hop_fit_options *options, uint32_t count, struct owned_suggestion *s,
                    struct hop_failure *failure)
{
    struct hop_fitting *fitted = known ? hop_fit_once(all, topology, options, known, failure) : NULL;
    struct hop_fitting *f = failure->status == HOP_OK
                                ? hop_fit_begin(all, fitted ? fitted->topology : topology, options, NULL, true, failure)
                                : NULL;
    struct candidates c = {.design = {.allows = allows, .context = &c}, .f = f};
    for (uint32_t k = 0; f && k < f->knob_count; k++)
        hop_knob_set(f, &f->knobs[k], f->knobs[k].value); /* parts that differed are one now */
    if (f) {
        hop_fit_evaluate(f, NULL, &f->now);
        list_candidates(&c, known, may);
        find_kinds(&c);
    }
    if (f && hop_fit_good(f) && !c.design.arena.failed)
        find_beliefs(&c, f);
    if (f && hop_fit_good(f) && !c.design.arena.failed) {
        take_known(&c, fitted);
        choose(&c, count, s);
    }
    if (c.design.arena.failed || s->arena.failed || (f && f->arena.failed))
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
    hop_fit_finish(f);
    hop_fit_finish(fitted);
    hop_arena_finish(&c.design.arena);
}

static enum hop_status hand_out(struct owned_suggestion *s, const struct hop_failure *failure,
                                struct hop_suggestion **suggestion)
{
    if (failure->status == HOP_OK)
        *suggestion = &s->public;
    else
        hop_suggestion_destroy(&s->public);
    return failure->status;
}

enum hop_status hop_fit_suggest_more(const struct hop_topology *topology, const struct hop_measurements *all,
                                     const uint8_t *known, const struct hop_fit_options *options, uint32_t count,
                                     struct hop_suggestion **suggestion, struct hop_diag *diag)
{
    struct hop_failure failure = {.diag = diag};
    struct owned_suggestion *s = calloc(1, sizeof *s);
    if (!s)
        return hop_fail_memory(diag);
    s->public.candidates = all;
    suggest(topology, all, known, hop_measurements_group_count(all), options, count, s, &failure);
    return hand_out(s, &failure, suggestion);
}

enum hop_status hop_calibrate_suggest(const struct hop_topology *topology, const struct hop_measurements *candidates,
                                      const struct hop_measurements *measured, const struct hop_fit_options *options,
                                      uint32_t count, struct hop_suggestion **suggestion, struct hop_diag *diag)
{
    struct hop_fit_options own = {0};
    struct hop_failure failure = {.diag = diag};
    struct owned_suggestion *s = calloc(1, sizeof *s);
    uint8_t *known = NULL;
    if (!s)
        return hop_fail_memory(diag);
    hop_fit_take_options(&own, options, &failure);
    if (failure.status == HOP_OK && !candidates)
        candidates = s->made = hop_fit_candidates(topology, &failure);
    s->public.candidates = candidates;
    if (failure.status == HOP_OK && measured)
        failure.status =
            hop_measurements_join((const struct hop_measurements *const[]){candidates, measured}, 2, &s->joined, diag);
    if (s->joined) {
        uint32_t rows = hop_measurements_count(s->joined), first = hop_measurements_count(candidates);
        known = hop_arena_alloc(&s->arena, rows);
        if (known)
            memset(known + first, 1, rows - first);
    }
    if (failure.status == HOP_OK && !s->arena.failed)
        suggest(topology, measured ? s->joined : candidates, known, hop_measurements_group_count(candidates), &own,
                count, s, &failure);
    return hand_out(s, &failure, suggestion);
}

void hop_suggestion_destroy(struct hop_suggestion *suggestion)
{
    struct owned_suggestion *s = (struct owned_suggestion *)suggestion; /* its first member */
    if (!s)
        return;
    hop_measurements_destroy(s->made);
    hop_measurements_destroy(s->joined);
    hop_arena_finish(&s->arena);
    free(s);
}
