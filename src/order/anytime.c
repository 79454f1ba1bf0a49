/* SPDX-License-Identifier: BSD-3-Clause */
/* The anytime search: which beam runs on which problem, and when. */
#include "order/anytime.h"

#include <math.h>

#include "base/random.h"
#include "order/beam.h"
#include "order/improve.h"
#include "order/problem_symmetry.h"

#define ENOUGH (1 + 1e-9) /* as good as the bound */
#define BETTER (1 - 1e-9) /* a value below the best times this is better */
enum { LANES_MOST = 8, GROUPS_EACH = 32, ROUNDS = 5, FIRST_WIDTH = 4, FIRST_SAMPLES = 24 };
enum { WIDTH_MOST = 1 << 14, WIDENINGS = 16, WHOLE_SAMPLES = 6, IMPROVE_LEAST = 100000, NODES_EACH = 4 };
#define POWER 32 /* of the beam's score */
#define JITTER 1e-4
#define NOISE 0.5
#define QUOTIENT_PRESS 16
#define HEAT 3e-3
#define HEAT_LONG 1e-2 /* what has time to cool may begin hotter */
#define COOL 1e-4

struct search {
    const struct hop_problem *p;
    struct hop_sets *sets;
    const struct hop_anytime_options *options;
    struct hop_diag *diag;
    struct hop_sequence *best, work;
    struct hop_improver *improver; /* NULL: none yet */
    double value, bound, enough;
    uint64_t nodes;
    bool over; /* good enough, or told to stop */
};

static uint64_t mix(uint64_t a, uint64_t b)
{
    return hop_draw_from(a ^ hop_draw_from(b));
}

static bool report(void *context, uint64_t nodes)
{
    struct search *s = context;
    s->nodes += nodes;
    s->over = s->over || (s->options->max_nodes && s->nodes >= s->options->max_nodes) ||
              (s->options->poll && !s->options->poll(s->options->context, s->value, nodes));
    return !s->over;
}

static uint64_t nodes_left(const struct search *s)
{
    return !s->options->max_nodes             ? UINT64_MAX
           : s->options->max_nodes > s->nodes ? s->options->max_nodes - s->nodes
                                              : 0;
}

static bool is_mine(const struct search *s, uint32_t task)
{
    return s->options->parts < 2 || task % s->options->parts == s->options->part;
}

/* Plays an order of the whole problem and keeps it if it is the best. */
static enum hop_status consider(struct search *s, const struct hop_sequence *sequence)
{
    struct hop_played played;
    HOP_CHECK(hop_sequence_play(s->p, s->sets, sequence, NULL, &played, s->diag));
    (void)report(s, s->p->op_count);
    if (played.value < s->value) {
        s->value = played.value;
        if (sequence != s->best)
            hop_sequence_copy(s->p, sequence, s->best);
        s->over = s->over || s->value <= s->enough;
    }
    return HOP_OK;
}

static struct hop_beam_options beam_options(struct search *s, uint32_t width, uint32_t samples, uint64_t seed)
{
    return (struct hop_beam_options){.width = width,
                                     .samples = samples,
                                     .seed = seed,
                                     .enough = s->enough,
                                     .cut = s->value * BETTER,
                                     .spread = POWER,
                                     .jitter = JITTER,
                                     .rests = !s->options->no_waits,
                                     .max_nodes = nodes_left(s),
                                     .poll = report,
                                     .context = s};
}

/* ---- quotients ---- */

/* A group and what came of it. */
struct candidate {
    const struct hop_quotient_group *group;
    uint32_t index;
    double merit; /* the less the better */
};

static int by_merit(const void *a, const void *b)
{
    const struct candidate *x = a, *y = b;
    return x->merit != y->merit ? HOP_ORDER(x->merit, y->merit) : HOP_ORDER(x->index, y->index);
}

/* What a pass over the groups does: looks for orders that lose no time at all, where a group that cannot have one is
 * found out at once, by choices drawn blindly, which costs least; or for any, by good ones. */
enum pass { PASS_BLIND, PASS_OPEN, PASSES };

/* Searches one quotient. */
static enum hop_status search_quotient(struct search *s, struct candidate *candidate, uint32_t round, enum pass pass)
{
    const struct hop_quotient_group *group = candidate->group;
    struct hop_problem *quotient = NULL;
    struct hop_sets *sets = NULL;
    struct hop_sequence folded = {0};
    struct hop_beam_result result;
    struct hop_beam_options options =
        beam_options(s, FIRST_WIDTH << (2 * round), FIRST_SAMPLES << round,
                     mix(s->options->seed, candidate->index * 64 + round * PASSES + pass));
    options.press = QUOTIENT_PRESS;
    options.noise = pass == PASS_BLIND ? 0 : NOISE;
    if (pass == PASS_BLIND)
        options.cut = hop_min(options.cut, s->enough * ENOUGH);
    enum hop_status status = hop_problem_quotient(s->p, group->images, group->order, &quotient, s->diag);
    if (status == HOP_OK)
        status = hop_sets_create(quotient, &sets, s->diag);
    if (status == HOP_OK)
        status = hop_sequence_create(quotient, &folded, s->diag);
    if (status == HOP_OK)
        status = hop_beam_search(quotient, sets, &options, &folded, &result, s->diag);
    if (status == HOP_OK) {
        candidate->merit = result.value < INFINITY ? result.value / s->bound : 1e9 * (2 - result.depth);
        if (result.value < INFINITY)
            status = hop_sequence_unfold(quotient, group->images, group->order, &folded, &s->work, s->diag);
        if (status == HOP_OK && result.value < INFINITY)
            status = consider(s, &s->work);
    }
    hop_sequence_finish(&folded);
    hop_sets_destroy(sets);
    hop_problem_destroy(quotient);
    return status;
}

/* Successive halving: all groups with narrow beams, the better half with wider ones, and so on, groups of few lanes
 * first. */
static enum hop_status search_quotients(struct search *s)
{
    struct hop_quotient_groups groups;
    enum hop_status status =
        hop_quotient_groups_find(s->p, LANES_MOST, GROUPS_EACH, s->options->seed, &groups, s->diag);
    if (status != HOP_OK)
        return status;
    struct candidate *list = malloc((groups.count + (size_t)1) * sizeof *list);
    uint32_t alive = 0;
    for (uint32_t i = 0; list && i < groups.count; i++) {
        if (is_mine(s, i))
            list[alive++] = (struct candidate){&groups.list[i], i, 0};
    }
    status = list ? HOP_OK : hop_fail_memory(s->diag);
    for (uint32_t round = 0; round < ROUNDS && alive && status == HOP_OK && !s->over; round++) {
        for (enum pass pass = PASS_BLIND; pass < PASSES; pass++) {
            for (uint32_t i = 0; i < alive && status == HOP_OK && !s->over; i++)
                status = search_quotient(s, &list[i], round, pass);
        }
        qsort(list, alive, sizeof *list, by_merit);
        alive = (alive + 1) / 2;
    }
    free(list);
    hop_quotient_groups_finish(&groups);
    return status;
}

/* ---- the whole problem ---- */

static uint64_t seed_of(const struct search *s, uint32_t round, uint32_t task)
{
    return mix(mix(s->options->seed, s->options->part), 1000 + (uint64_t)round * 256 + task);
}

/* A beam on the whole problem. */
static enum hop_status run_beam(struct search *s, uint32_t round, uint64_t *spent)
{
    static const double powers[][2] = {{128, 2}, {32, 16}, {512, 2}, {128, 8}}; /* of the score, of the pressure */
    uint32_t width = round < 2 ? 1 : round < 2 * WIDENINGS ? 2u << (round / 2) : WIDTH_MOST;
    if (nodes_left(s) / NODES_EACH < width) /* what is never visited needs no room */
        width = (uint32_t)(nodes_left(s) / NODES_EACH) + 1;
    struct hop_beam_options options =
        beam_options(s, width > WIDTH_MOST ? WIDTH_MOST : width, round == 0 ? 1 : WHOLE_SAMPLES, seed_of(s, round, 0));
    struct hop_beam_result result;
    options.spread = powers[round % HOP_COUNT(powers)][0];
    options.press = powers[round % HOP_COUNT(powers)][1];
    options.noise = NOISE;
    uint64_t before = s->nodes;
    enum hop_status status = hop_beam_search(s->p, s->sets, &options, &s->work, &result, s->diag);
    *spent = status == HOP_OK ? result.nodes : 0;
    if (s->nodes == before) /* it ended before it was polled: rounds of such beams end, too */
        (void)report(s, *spent);
    if (status == HOP_OK && result.value < INFINITY)
        status = consider(s, &s->work);
    return status;
}

static enum hop_status improve_best(struct search *s, uint32_t round, uint64_t spent)
{
    uint64_t most = nodes_left(s), nodes = spent > IMPROVE_LEAST ? spent : IMPROVE_LEAST;
    struct hop_improve_options options = {.seed = seed_of(s, round, 1),
                                          .enough = s->enough,
                                          .heat = most < IMPROVE_LEAST ? HEAT : HEAT_LONG,
                                          .cool = COOL,
                                          .max_nodes = nodes < most ? nodes : most,
                                          .no_waits = s->options->no_waits,
                                          .poll = report,
                                          .context = s};
    double value;
    enum hop_status status = s->improver ? HOP_OK : hop_improver_create(s->p, s->sets, &s->improver, s->diag);
    if (status == HOP_ERR_LIMIT) /* too many operations for it: beams alone */
        return HOP_OK;
    hop_sequence_copy(s->p, s->best, &s->work);
    if (status == HOP_OK)
        status = hop_improve(s->improver, &options, &s->work, &value, NULL, s->diag);
    return status == HOP_OK ? consider(s, &s->work) : status;
}

/* Wider and wider beams; in between, changes to the best order for as long. */
static enum hop_status search_whole(struct search *s)
{
    enum hop_status status = HOP_OK;
    for (uint32_t round = 0; status == HOP_OK && !s->over && (!s->options->rounds || round < s->options->rounds);
         round++) {
        uint64_t spent = 0, before = s->nodes;
        status = run_beam(s, round, &spent);
        if (status == HOP_OK && !s->over && s->value < INFINITY && round > 0)
            status = improve_best(s, round, spent);
        if (s->nodes == before) /* the beam ended at once: its states count, too, or this never ended */
            (void)report(s, spent + 1);
    }
    return status;
}

enum hop_status hop_anytime_search(const struct hop_problem *p, struct hop_sets *sets,
                                   const struct hop_anytime_options *options, struct hop_sequence *best,
                                   struct hop_anytime_result *result, struct hop_diag *diag)
{
    struct search s = {.p = p, .sets = sets, .options = options, .diag = diag, .best = best, .value = INFINITY};
    struct hop_state *state = malloc(p->state_size);
    enum hop_status status = state ? hop_sequence_create(p, &s.work, diag) : hop_fail_memory(diag);
    if (status == HOP_OK) {
        hop_state_begin(p, state);
        s.bound = hop_state_bound(p, state);
        s.enough = s.bound * (1 + options->gap) * ENOUGH;
    }
    for (uint32_t i = 0; status == HOP_OK && i < options->start_count; i++)
        status = consider(&s, &options->starts[i]);
    if (status == HOP_OK && !s.over)
        status = search_quotients(&s);
    if (status == HOP_OK && !s.over)
        status = search_whole(&s);
    if (status == HOP_OK)
        *result = (struct hop_anytime_result){s.value, s.bound, s.nodes};
    free(state);
    hop_improver_destroy(s.improver);
    hop_sequence_finish(&s.work);
    return status;
}
