/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which measurements say most. Beliefs about a topology as it was given are values that may be off, each by its own
 * amount: a column says by how much that changes the (logarithm of the) rate of every candidate,
 *
 *     P = C C'     the covariance of the rates of all candidates under these beliefs
 *
 * Measuring candidate i with noise s leaves P - p p' / (P(i, i) + s^2), p being column i of P, and so takes |p|^2 / (P(i, i) + s^2)
 * away from the sum of the variances (an A-optimal design for predictions). The best one is taken, again and again; then each
 * is exchanged for a better one, if there is one beside the others.
 */
#include "calibrate/fit.h"

#include <math.h>
#include <stdio.h>

enum { CANDIDATES_MAX = 2048, DEVICES_MAX = 16, EXCHANGES = 3 };
#define NOISE 0.02
#define SLOW_DEVICE 0.8   /* a riser, a slot of fewer lanes: of what its link was given as */
#define EXCHANGE_WORK 3e9 /* multiplications */

struct design {
    const struct hop_measurements *candidates;
    uint32_t *usable, count; /* groups that may be chosen */
    double *first, *now;     /* covariances: before, and with what is chosen */
    double *column;
    uint32_t *chosen; /* places in usable */
    double *unsure;
    struct hop_arena arena;
};

struct owned_suggestion {
    struct hop_suggestion public; /* first */
    struct hop_measurements *made;
    struct hop_arena arena;
};

/* ---- beliefs ---- */

/* Both directions of one device's PCIe link. */
static bool is_device_link(const struct hop_fitting *f, const struct hop_knob *knob)
{
    const struct hop_link *link = hop_topology_link(f->topology, knob->members[0] / 2);
    return knob->count == 2 && link->kind == HOP_LINK_PCIE &&
           hop_node_is_device(hop_topology_node(f->topology, link->ends[0])->kind);
}

/* What a value may be instead, as likely as what it is within one deviation. */
static double alternative(const struct hop_fitting *f, const struct hop_knob *knob)
{
    bool limit = knob->kind == HOP_KNOB_CAPACITY && knob->parent == HOP_NONE &&
                 hop_topology_link(f->topology, knob->members[0] / 2)->kind != HOP_LINK_PCIE;
    double fastest = 0;
    for (uint32_t d = 0; d < f->directed && limit; d++) {
        const struct hop_link *link = hop_topology_link(f->topology, d / 2);
        if (link->kind == HOP_LINK_PCIE)
            fastest = hop_max(fastest, link->capacity_Bps[d & 1] / link->count);
    }
    if (limit && fastest > 0 && knob->value > 3 * fastest) /* what some devices together would feel */
        return 2 * fastest;
    switch (knob->kind) {
    case HOP_KNOB_LATENCY:
        return knob->value + 1e-5;
    case HOP_KNOB_CAPACITY:
        return knob->value * (knob->parent == HOP_NONE  ? 0.75
                              : knob->count > 2         ? 0.85
                              : is_device_link(f, knob) ? SLOW_DEVICE
                                                        : 0.9);
    case HOP_KNOB_CROSSING:
        return knob->value * (knob->parent == HOP_NONE ? 0.85 : 0.93);
    default:
        return knob->value * 0.75;
    }
}

/* By how much each candidate changes in the trial of a value (NULL: of something that all may feel), as a column of C. */
static void add_column(const struct hop_fitting *f, struct design *d, const struct hop_knob *knob)
{
    double *column = d->column;
    for (uint32_t i = 0; i < d->count && hop_fit_good(f); i++) {
        struct hop_measurement_group rows = hop_measurements_group(d->candidates, d->usable[i]);
        double sum = 0;
        uint32_t count = 0;
        for (uint32_t r = 0; r < rows.count && hop_fit_touches(f, knob, d->usable[i]); r++) {
            double change = f->trial.row[rows.rows[r]] - f->now.row[rows.rows[r]];
            sum += isnan(change) ? 0 : change;
            count += !isnan(change);
        }
        column[i] = count ? sum / count : 0;
    }
    for (uint32_t i = 0; i < d->count; i++) {
        for (uint32_t j = 0; j < d->count && column[i] != 0; j++)
            d->first[(size_t)i * d->count + j] += column[i] * column[j];
    }
}

/* Candidates that may be chosen, and how they vary together. */
static void find_beliefs(struct hop_fitting *f, struct design *d)
{
    d->usable = hop_arena_alloc(&d->arena, (f->groups + 1) * sizeof *d->usable);
    for (uint32_t k = 0; k < f->knob_count; k++)
        hop_knob_set(f, &f->knobs[k], f->knobs[k].value); /* parts that differed are one now */
    hop_fit_evaluate(f, NULL, &f->now);
    for (uint32_t g = 0; d->usable && g < f->groups && d->count < CANDIDATES_MAX && hop_fit_good(f); g++) {
        struct hop_measurement_group rows = hop_measurements_group(d->candidates, g);
        bool valued = false;
        for (uint32_t i = 0; i < rows.count; i++)
            valued = valued || !isnan(f->now.row[rows.rows[i]]);
        if (valued)
            d->usable[d->count++] = g;
    }
    size_t square = (size_t)d->count * d->count + 1;
    d->first = hop_arena_alloc(&d->arena, square * sizeof *d->first);
    d->now = hop_arena_alloc(&d->arena, square * sizeof *d->now);
    d->column = hop_arena_alloc(&d->arena, (d->count + 1) * sizeof *d->column);
    uint32_t proposed = 0, pairs[HOP_CHIPS_TRIED][2], chips = hop_fit_good(f) ? hop_fit_list_chips(f, pairs) : 0;
    struct hop_knob *proposals = hop_fit_good(f) ? hop_knobs_propose(f, &proposed) : NULL;
    for (uint32_t k = 0; k < f->knob_count + proposed && !d->arena.failed && hop_fit_good(f); k++) {
        const struct hop_knob *knob = k < f->knob_count ? &f->knobs[k] : &proposals[k - f->knob_count];
        (void)hop_fit_try(f, knob, hop_knob_clamp(f, knob, alternative(f, knob)));
        hop_knob_set(f, knob, knob->value);
        add_column(f, d, knob);
    }
    for (uint32_t c = 0; c < chips && !d->arena.failed && hop_fit_good(f); c++) {
        hop_fit_try_chip(f, pairs[c]);
        add_column(f, d, NULL);
    }
}

/* ---- choosing ---- */

static double gain_of(const struct design *d, uint32_t i)
{
    const double *p = d->now + (size_t)i * d->count;
    double sum = 0;
    for (uint32_t j = 0; j < d->count; j++)
        sum += p[j] * p[j];
    return sum / (p[i] + NOISE * NOISE);
}

static void take(struct design *d, uint32_t i)
{
    double own = d->now[(size_t)i * d->count + i] + NOISE * NOISE;
    double *p = d->unsure; /* scratch behind what is written there */
    memcpy(p, d->now + (size_t)i * d->count, d->count * sizeof *p);
    for (uint32_t j = 0; j < d->count; j++) {
        for (uint32_t k = 0; k < d->count && p[j] != 0; k++)
            d->now[(size_t)j * d->count + k] -= p[j] * p[k] / own;
    }
}

/* The best of those that are not among the first `taken` of the chosen but `except`. */
static uint32_t best_of(const struct design *d, uint32_t taken, uint32_t except)
{
    uint32_t best = 0;
    double most = -1;
    for (uint32_t i = 0; i < d->count; i++) {
        bool used = false;
        for (uint32_t c = 0; c < taken && !used; c++)
            used = c != except && d->chosen[c] == i;
        double gain = used ? -1 : gain_of(d, i);
        if (gain > most * (1 + 1e-9)) {
            most = gain;
            best = i;
        }
    }
    return best;
}

static void restart(struct design *d)
{
    memcpy(d->now, d->first, (size_t)d->count * d->count * sizeof *d->now);
}

static double unsure_of(const struct design *d)
{
    double sum = 0;
    for (uint32_t i = 0; i < d->count; i++)
        sum += hop_max(0, d->now[(size_t)i * d->count + i]);
    return sqrt(sum / (d->count ? d->count : 1));
}

static void exchange(struct design *d, uint32_t wanted)
{
    bool changed = (double)wanted * wanted * d->count * d->count < EXCHANGE_WORK;
    for (unsigned pass = 0; pass < EXCHANGES && changed; pass++) {
        changed = false;
        for (uint32_t c = 0; c < wanted; c++) {
            restart(d);
            for (uint32_t o = 0; o < wanted; o++) {
                if (o != c)
                    take(d, d->chosen[o]);
            }
            uint32_t best = best_of(d, wanted, c);
            if (best != d->chosen[c] && gain_of(d, best) > gain_of(d, d->chosen[c]) * (1 + 1e-6)) {
                d->chosen[c] = best;
                changed = true;
            }
        }
    }
}

/* Which of the chosen helps most comes first. */
static void put_in_order(struct design *d, uint32_t wanted, struct owned_suggestion *s, uint32_t *groups,
                         double *unsure)
{
    restart(d);
    s->public.unsure_before = unsure_of(d);
    for (uint32_t n = 0; n < wanted; n++) {
        uint32_t best = n;
        double most = -1;
        for (uint32_t c = n; c < wanted; c++) {
            double gain = gain_of(d, d->chosen[c]);
            if (gain > most) {
                most = gain;
                best = c;
            }
        }
        uint32_t kept = d->chosen[n];
        d->chosen[n] = d->chosen[best];
        d->chosen[best] = kept;
        take(d, d->chosen[n]);
        groups[n] = d->usable[d->chosen[n]];
        unsure[n] = unsure_of(d);
    }
}

static void choose(struct design *d, uint32_t wanted, struct owned_suggestion *s)
{
    uint32_t *groups = hop_arena_alloc(&s->arena, (wanted + 1) * sizeof *groups);
    double *unsure = hop_arena_alloc(&s->arena, (wanted + 1) * sizeof *unsure);
    d->chosen = hop_arena_alloc(&d->arena, (wanted + 1) * sizeof *d->chosen);
    d->unsure = hop_arena_alloc(&d->arena, (d->count + 1) * sizeof *d->unsure);
    if (d->arena.failed || s->arena.failed)
        return;
    restart(d);
    for (uint32_t c = 0; c < wanted; c++) {
        d->chosen[c] = best_of(d, c, HOP_NONE);
        take(d, d->chosen[c]);
    }
    exchange(d, wanted);
    put_in_order(d, wanted, s, groups, unsure);
    s->public.groups = groups;
    s->public.unsure = unsure;
    s->public.count = wanted;
}

/* ---- candidates of a topology ---- */

struct devices {
    const char *names[DEVICES_MAX];
    bool hosted; /* all of them reach host memory */
    uint32_t count;
    struct hop_buffer out;
};

static void put_copy(struct devices *d, const char *from, const char *to, const char *group, uint32_t a, uint32_t b)
{
    hop_buffer_printf(&d->out, "%s,%s,,%s-%u-%u,1,\n", from, to, group, a, b);
}

/* Copies with host memory of so many devices, a stride apart from the first on: in (1), out (2), or both ways (3). */
static void put_hosts(struct devices *d, uint32_t first, uint32_t count, uint32_t stride, unsigned ways,
                      const char *group)
{
    uint32_t number = count > 1 ? count : first;
    for (uint32_t i = first, k = 0; i < d->count && k < count; i += stride, k++) {
        if (ways & 1)
            put_copy(d, "host", d->names[i], group, number, count > 1 ? d->count + stride : 0);
        if (ways & 2)
            put_copy(d, d->names[i], "host", group, number, count > 1 ? d->count + stride : 0);
    }
}

static void put_candidates(struct devices *d)
{
    static const char *const ways[] = {"", "host-to", "to-host", "host-both"};
    uint32_t n = d->count;
    hop_buffer_puts(&d->out, "from,to,bytes,concurrent_group,measured_GBps,notes\n");
    for (uint32_t a = 0; a < n; a++) {
        for (unsigned way = 1; way <= 3 && d->hosted; way++)
            put_hosts(d, a, 1, 1, way, ways[way]);
        for (uint32_t b = 0; b < n; b++) {
            if (a == b)
                continue;
            put_copy(d, d->names[a], d->names[b], "alone", a, b);
            put_copy(d, d->names[a], d->names[b], "out-of", a, a);
            put_copy(d, d->names[b], d->names[a], "into", a, a);
            put_copy(d, d->names[a], d->names[b], "shift", (b + n - a) % n, n);
            if (a < b) {
                put_copy(d, d->names[a], d->names[b], "both-ways", a, b);
                put_copy(d, d->names[b], d->names[a], "both-ways", a, b);
            }
        }
    }
    for (unsigned way = 1; way <= 3 && d->hosted; way++) {
        for (uint32_t count = 2; count < 2 * n; count *= 2) {
            put_hosts(d, 0, count < n ? count : n, 1, way, ways[way]);
            if (2 * count <= n)
                put_hosts(d, 0, count, n / count, way, ways[way]);
        }
    }
}

static struct hop_measurements *make_candidates(const struct hop_topology *topology, struct hop_failure *failure)
{
    struct devices d = {.hosted = true};
    struct hop_measurements *made = NULL;
    for (uint32_t n = 0; n < hop_topology_node_count(topology) && d.count < DEVICES_MAX; n++) {
        uint32_t host = HOP_NONE;
        if (hop_topology_node(topology, n)->kind != HOP_NODE_GPU)
            continue;
        d.names[d.count++] = hop_topology_node(topology, n)->name;
        if (failure->status == HOP_OK)
            failure->status = hop_topology_nearest_host(topology, n, &host, failure->diag);
        d.hosted = d.hosted && host != HOP_NONE;
    }
    if (d.count < 2)
        hop_failure_set(failure, HOP_ERR_INVALID, "topology %s has %u GPUs\ntwo at least", hop_topology_name(topology),
                        d.count);
    else
        put_candidates(&d);
    if (d.out.failed)
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
    if (failure->status == HOP_OK)
        failure->status = hop_measurements_parse("candidates", d.out.text, d.out.length, &made, failure->diag);
    hop_buffer_finish(&d.out);
    return made;
}

/* ---- the whole ---- */

enum hop_status hop_calibrate_suggest(const struct hop_topology *topology, const struct hop_measurements *candidates,
                                      const struct hop_fit_options *options, uint32_t count,
                                      struct hop_suggestion **suggestion, struct hop_diag *diag)
{
    struct hop_fit_options own = {0};
    struct hop_failure failure = {.diag = diag};
    struct owned_suggestion *s = calloc(1, sizeof *s);
    if (!s)
        return hop_fail_memory(diag);
    hop_fit_take_options(&own, options, &failure);
    if (failure.status == HOP_OK && !candidates)
        s->made = make_candidates(topology, &failure);
    struct design d = {.candidates = candidates ? candidates : s->made};
    struct hop_fitting *f =
        failure.status == HOP_OK ? hop_fit_begin(d.candidates, topology, &own, NULL, true, &failure) : NULL;
    if (f)
        find_beliefs(f, &d);
    if (f && hop_fit_good(f) && !d.arena.failed)
        choose(&d, count < d.count ? count : d.count, s);
    if (d.arena.failed || s->arena.failed || (f && f->arena.failed))
        hop_failure_set(&failure, HOP_ERR_MEMORY, "out of memory");
    hop_fit_finish(f);
    hop_arena_finish(&d.arena);
    s->public.candidates = d.candidates;
    if (failure.status == HOP_OK)
        *suggestion = &s->public;
    else
        hop_suggestion_destroy(&s->public);
    return failure.status;
}

void hop_suggestion_destroy(struct hop_suggestion *suggestion)
{
    struct owned_suggestion *s = (struct owned_suggestion *)suggestion; /* its first member */
    if (!s)
        return;
    hop_measurements_destroy(s->made);
    hop_arena_finish(&s->arena);
    free(s);
}

char *hop_suggestion_to_csv(const struct hop_suggestion *s)
{
    struct hop_buffer out = {0};
    hop_buffer_puts(&out, "from,to,bytes,concurrent_group,measured_GBps,notes\n");
    for (uint32_t i = 0; i < s->count; i++) {
        struct hop_measurement_group rows = hop_measurements_group(s->candidates, s->groups[i]);
        for (uint32_t r = 0; r < rows.count; r++) {
            const struct hop_measurement *m = hop_measurements_at(s->candidates, rows.rows[r]);
            hop_buffer_printf(&out, "%s,%s,,%s,,\n", m->from, m->to, rows.name);
        }
    }
    return hop_buffer_take(&out);
}
