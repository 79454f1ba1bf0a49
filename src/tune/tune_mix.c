/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which copies of a schedule to stage.
 *
 *     all direct, all staged at each packet size -> the better one -> every choice (few transfers) or local search
 *                                                -> other packet sizes for the choice found
 *
 * Local search flips classes of copies that no model can tell apart, then single copies, then two at once, as long as
 * something gets better: the makespan, or at the same makespan the sum of all ends, which leads over plateaus where
 * several copies end last. Then every copy goes back to direct where staging it gained nothing. No randomness: the same
 * input gives the same choice.
 */
#include "tune/tune.h"

#include <math.h>

#include "schedule/schedule.h"

enum {
    PACKETS_MOST = 32,
    EVALUATIONS = 5000,
    OPERATIONS_MOST = 400000 /* of one schedule, packets and all: more take seconds */
};
#define WORK 3e5 /* operations that a local search simulates, unless its evaluations are said */

/* A choice and what it is worth. */
struct choice {
    bool *staged; /* per operation */
    uint64_t packet_bytes;
    struct hop_tune_score score;
};

struct hop_tune_chosen {
    struct hop_tuned_mix mix; /* what the caller sees; first */
    struct hop_arena arena;
    struct hop_schedule *best;
};

struct search {
    struct hop_network *network;
    const struct hop_schedule *schedule;
    const struct hop_tune_options *options;
    struct hop_tune_lists lists;
    struct hop_arena *arena;
    uint32_t *list, free_count;      /* the operations that have both ways */
    uint32_t *class_of, class_count; /* of the free ones, by place in the list */
    bool *forced;                    /* per operation: can only be staged, or has to be */
    uint32_t forced_count;
    uint64_t longest; /* bytes of a copy that can be staged */
    uint32_t evaluations, stuck, limit;
    double work, work_limit; /* operations simulated */
    bool stopped;
    struct choice best, trial;
    enum hop_status status; /* the first failure, sticky */
    struct hop_diag *diag;
};

/* ---- candidates ---- */

static enum hop_status build(const struct search *s, const struct choice *choice, struct hop_schedule **built)
{
    struct hop_schedule *made = hop_schedule_create_like(s->schedule);
    for (uint32_t i = 0; i < hop_schedule_count(s->schedule); i++) {
        struct hop_op op = *hop_schedule_op(s->schedule, i);
        if (op.kind == HOP_OP_COPY) {
            op.via = choice->staged[i] ? HOP_VIA_STAGED : HOP_VIA_P2P;
            op.packet_bytes = choice->staged[i] ? choice->packet_bytes : 0;
        }
        (void)hop_schedule_add(made, &op);
    }
    return hop_schedule_finish(made, built, s->diag);
}

/* After staging, as the simulation sees them. */
static double count_operations(const struct search *s, const struct choice *choice)
{
    double count = 0;
    for (uint32_t i = 0; i < hop_schedule_count(s->schedule); i++) {
        uint64_t bytes = hop_schedule_op(s->schedule, i)->bytes;
        count += choice->staged[i] ? 2.0 * (double)hop_tune_packets_of(bytes, choice->packet_bytes) : 1;
    }
    return count;
}

static bool is_stopped(struct search *s)
{
    s->stopped = s->stopped || (s->options->stop && s->options->stop(s->options->context));
    return s->stopped;
}

static void evaluate(struct search *s, struct choice *choice)
{
    struct hop_schedule *candidate = NULL;
    choice->score = (struct hop_tune_score){INFINITY, INFINITY};
    if (s->evaluations > 0 && is_stopped(s))
        return;
    if (s->status == HOP_OK)
        s->status = build(s, choice, &candidate);
    if (s->status != HOP_OK)
        return;
    s->status = hop_tune_simulate(s->network, candidate, s->options, &choice->score, s->diag);
    hop_schedule_destroy(candidate);
    if (s->status == HOP_ERR_DEADLOCK || s->status == HOP_ERR_STOPPED) { /* worth nothing */
        s->stuck += s->status == HOP_ERR_DEADLOCK;
        s->stopped = s->stopped || s->status == HOP_ERR_STOPPED;
        s->status = HOP_OK;
    }
    s->evaluations++;
    s->work += count_operations(s, choice);
    if (s->status == HOP_OK && s->options->progress)
        s->options->progress(hop_min(1, hop_max((double)s->evaluations / s->limit, s->work / s->work_limit)),
                             s->options->context);
}

static void copy_choice(const struct search *s, struct choice *to, const struct choice *from)
{
    memcpy(to->staged, from->staged, hop_schedule_count(s->schedule) * sizeof *to->staged);
    to->packet_bytes = from->packet_bytes;
    to->score = from->score;
}

static uint32_t count_staged(const struct search *s, const struct choice *choice)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < s->free_count; i++)
        count += choice->staged[s->list[i]];
    return count;
}

static void set_all(const struct search *s, struct choice *choice, bool staged)
{
    for (uint32_t i = 0; i < s->free_count; i++)
        choice->staged[s->list[i]] = staged;
}

/* ---- what there is to choose ---- */

static void look_at(struct search *s, uint32_t index, struct hop_tune_classes *classes)
{
    const struct hop_op *op = hop_schedule_op(s->schedule, index);
    const struct hop_topology *topology = hop_network_topology(s->network);
    struct hop_tune_ways ways;
    if (op->kind != HOP_OP_COPY)
        return;
    uint32_t from = hop_topology_find(topology, op->from.device), to = hop_topology_find(topology, op->to.device);
    if (from == HOP_NONE || to == HOP_NONE || from == to)
        return; /* the simulation says what is wrong, if it is */
    s->status = hop_tune_find_ways(s->network, from, to, &ways, s->diag);
    if (s->status != HOP_OK || !hop_tune_can_stage(&ways))
        return;
    s->longest = op->bytes > s->longest ? op->bytes : s->longest;
    if (ways.direct == HOP_NONE || s->options->staged_alone) {
        s->forced[index] = true;
        s->forced_count++;
        return;
    }
    s->list[s->free_count] = index;
    s->status = hop_tune_classify(classes, &ways, op->bytes, &s->class_of[s->free_count++], s->diag);
}

static void prepare(struct search *s)
{
    size_t count = (size_t)hop_schedule_count(s->schedule) + 1;
    struct hop_tune_classes classes = {.network = s->network, .arena = s->arena};
    s->list = hop_arena_alloc(s->arena, count * sizeof *s->list);
    s->class_of = hop_arena_alloc(s->arena, count * sizeof *s->class_of);
    s->forced = hop_arena_alloc(s->arena, count * sizeof *s->forced);
    s->status = s->arena->failed ? hop_fail_memory(s->diag) : HOP_OK;
    for (uint32_t i = 0; i < hop_schedule_count(s->schedule) && s->status == HOP_OK; i++)
        look_at(s, i, &classes);
    hop_names_finish(&classes.names);
    s->class_count = classes.count;
    s->best.staged = hop_arena_copy(s->arena, s->forced, count * sizeof *s->forced);
    s->trial.staged = hop_arena_copy(s->arena, s->forced, count * sizeof *s->forced);
    if (s->status == HOP_OK && s->arena->failed)
        s->status = hop_fail_memory(s->diag);
}

/* ---- all of them one way ---- */

/* Few packets keep a search of many simulations short; of none that does, the largest. */
static bool is_tried(const struct search *s, uint32_t i)
{
    uint64_t packets = hop_tune_packets_of(s->longest, s->lists.packets[i]);
    bool largest = i + 1 == s->lists.packet_count;
    return s->lists.packets[i] < s->longest && packets <= (largest ? HOP_TUNE_PACKETS : PACKETS_MOST);
}

/* The trial at the best of the packet sizes. */
static void try_packets(struct search *s)
{
    uint64_t best_packet = s->trial.packet_bytes = 0;
    evaluate(s, &s->trial);
    struct hop_tune_score best = s->trial.score;
    for (uint32_t i = s->lists.packet_count; i-- > 0 && s->status == HOP_OK;) {
        if (!is_tried(s, i))
            continue;
        s->trial.packet_bytes = s->lists.packets[i];
        if (count_operations(s, &s->trial) > OPERATIONS_MOST)
            continue;
        evaluate(s, &s->trial);
        if (s->status == HOP_OK && hop_tune_less(s->trial.score.makespan_s, best.makespan_s)) {
            best = s->trial.score;
            best_packet = s->trial.packet_bytes;
        }
    }
    s->trial.packet_bytes = best_packet;
    s->trial.score = best;
}

static double finite_of(const struct hop_tune_score *score)
{
    return isfinite(score->makespan_s) ? score->makespan_s : NAN;
}

static void try_extremes(struct search *s, struct hop_tuned_mix *mix)
{
    s->best.score = (struct hop_tune_score){INFINITY, INFINITY};
    mix->direct_s = mix->staged_s = NAN;
    if (s->forced_count == 0) {
        evaluate(s, &s->best);
        mix->direct_s = finite_of(&s->best.score);
    }
    if (s->forced_count + s->free_count == 0)
        return;
    set_all(s, &s->trial, true);
    try_packets(s);
    mix->staged_s = finite_of(&s->trial.score);
    mix->staged_packet_bytes = s->trial.packet_bytes;
    if (hop_tune_less(mix->staged_s, s->best.score.makespan_s))
        copy_choice(s, &s->best, &s->trial);
    s->best.packet_bytes = s->trial.packet_bytes; /* the search goes on with it */
}

/* ---- every choice ---- */

static void try_every_choice(struct search *s)
{
    uint32_t choices = 1u << s->free_count, fewest = count_staged(s, &s->best);
    s->trial.packet_bytes = s->best.packet_bytes;
    for (uint32_t mask = s->forced_count == 0; mask + 1 < choices; mask++) { /* all direct is known, as is all staged */
        for (uint32_t i = 0; i < s->free_count; i++)
            s->trial.staged[s->list[i]] = mask >> i & 1;
        evaluate(s, &s->trial);
        if (s->status != HOP_OK || s->stopped)
            return;
        uint32_t staged = count_staged(s, &s->trial);
        bool less = hop_tune_less(s->trial.score.makespan_s, s->best.score.makespan_s);
        bool same = !less && !hop_tune_less(s->best.score.makespan_s, s->trial.score.makespan_s);
        if (less || (same && staged < fewest)) {
            copy_choice(s, &s->best, &s->trial);
            fewest = staged;
        }
    }
}

/* ---- local search ---- */

static bool is_better(const struct hop_tune_score *a, const struct hop_tune_score *b)
{
    if (hop_tune_less(a->makespan_s, b->makespan_s))
        return true;
    return !hop_tune_less(b->makespan_s, a->makespan_s) && hop_tune_less(a->ends_s, b->ends_s);
}

static bool goes_on(const struct search *s)
{
    return s->status == HOP_OK && !s->stopped && s->evaluations < s->limit && s->work < s->work_limit;
}

/* Evaluates the trial, keeps it if it is better. */
static bool offer(struct search *s)
{
    evaluate(s, &s->trial);
    bool better = s->status == HOP_OK && is_better(&s->trial.score, &s->best.score);
    if (better)
        copy_choice(s, &s->best, &s->trial);
    return better;
}

static bool flip_classes(struct search *s)
{
    bool better = false;
    for (uint32_t c = 0; c < 2 * s->class_count && goes_on(s); c++) {
        bool changed = false;
        copy_choice(s, &s->trial, &s->best);
        for (uint32_t i = 0; i < s->free_count; i++) {
            if (s->class_of[i] != c / 2)
                continue;
            changed = changed || s->trial.staged[s->list[i]] != (c & 1);
            s->trial.staged[s->list[i]] = c & 1;
        }
        better |= changed && offer(s);
    }
    return better;
}

/* One copy, or two at once. */
static bool flip(struct search *s, uint32_t i, uint32_t j)
{
    copy_choice(s, &s->trial, &s->best);
    s->trial.staged[s->list[i]] = !s->trial.staged[s->list[i]];
    if (j != i)
        s->trial.staged[s->list[j]] = !s->trial.staged[s->list[j]];
    return offer(s);
}

/* Up to the first pair that makes something better. */
static bool flip_pairs(struct search *s)
{
    bool better = false;
    for (uint32_t i = 0; i < s->free_count && !better; i++) {
        for (uint32_t j = i + 1; j < s->free_count && !better && goes_on(s); j++)
            better = flip(s, i, j);
    }
    return better;
}

static void search_locally(struct search *s)
{
    for (bool better = true; better && goes_on(s);) {
        better = flip_classes(s);
        for (uint32_t i = 0; i < s->free_count && goes_on(s); i++)
            better |= flip(s, i, i);
        better = better || flip_pairs(s);
    }
    double best_s = s->best.score.makespan_s; /* copies whose staging gained nothing go direct again */
    for (uint32_t i = 0; i < s->free_count && goes_on(s); i++) {
        if (!s->best.staged[s->list[i]])
            continue;
        copy_choice(s, &s->trial, &s->best);
        s->trial.staged[s->list[i]] = false;
        evaluate(s, &s->trial);
        if (s->status == HOP_OK && !hop_tune_less(best_s, s->trial.score.makespan_s))
            copy_choice(s, &s->best, &s->trial);
    }
}

/* ---- all ---- */

#define WORTHWHILE (1 + HOP_GAIN_SAME) /* times as fast: models know no less */

/* What is hardly better than one way for all gives place to it. */
static void settle(struct search *s, const struct hop_tuned_mix *mix)
{
    if (!isnan(mix->direct_s) && !hop_tune_less(WORTHWHILE * s->best.score.makespan_s, mix->direct_s)) {
        set_all(s, &s->best, false);
        s->best.score.makespan_s = mix->direct_s;
    } else if (s->best.score.makespan_s > mix->staged_s) {
        set_all(s, &s->best, true);
        s->best.packet_bytes = mix->staged_packet_bytes;
        s->best.score.makespan_s = mix->staged_s;
    }
}

static void choose(struct search *s, struct hop_tuned_mix *mix)
{
    try_extremes(s, mix);
    uint64_t choices = s->free_count <= HOP_TUNE_EXACT ? (uint64_t)1 << s->free_count : UINT64_MAX;
    bool all = choices <= s->limit;
    mix->exact = all && !hop_topology_lacks(hop_network_topology(s->network));
    if (s->status == HOP_OK && s->free_count > 0)
        (all ? try_every_choice : search_locally)(s);
    mix->exact = mix->exact && !s->stopped;
    if (s->status == HOP_OK && count_staged(s, &s->best) + s->forced_count > 0) {
        copy_choice(s, &s->trial, &s->best);
        try_packets(s);
        if (s->status == HOP_OK && hop_tune_less(s->trial.score.makespan_s, s->best.score.makespan_s))
            copy_choice(s, &s->best, &s->trial);
    }
    settle(s, mix);
    if (s->status == HOP_OK && s->stuck > 0 && s->stuck == s->evaluations)
        s->status = HOP_ERR_DEADLOCK; /* what was given cannot run, whichever way: the diagnostic of the last one says how */
}

/* Of the mix over all direct. */
static struct hop_gain *find_gain(struct search *s, const struct hop_schedule *best)
{
    struct hop_schedule *direct = NULL;
    struct hop_gain *gain = NULL;
    if (s->status != HOP_OK || s->options->no_gain || s->forced_count > 0 || count_staged(s, &s->best) == 0)
        return NULL;
    set_all(s, &s->trial, false);
    s->status = build(s, &s->trial, &direct);
    if (s->status == HOP_OK)
        s->status = hop_tune_gain(s->network, direct, best, &gain, s->diag);
    hop_schedule_destroy(direct);
    return gain;
}

enum hop_status hop_tune_mix(struct hop_network *network, const struct hop_schedule *schedule,
                             const struct hop_tune_options *options, struct hop_tuned_mix **mix, struct hop_diag *diag)
{
    struct hop_tune_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct search s = {.network = network, .schedule = schedule, .options = options, .diag = diag};
    enum hop_status status = hop_tune_check(network, options, &s.lists, diag);
    if (status != HOP_OK)
        return status;
    s.limit = options->max_evaluations ? options->max_evaluations : EVALUATIONS;
    s.work_limit = options->max_evaluations ? INFINITY : WORK;
    struct hop_tune_chosen *chosen = calloc(1, sizeof *chosen);
    if (!chosen)
        return hop_fail_memory(diag);
    s.arena = &chosen->arena;
    prepare(&s);
    if (s.status == HOP_OK)
        choose(&s, &chosen->mix);
    if (s.status == HOP_OK)
        s.status = build(&s, &s.best, &chosen->best);
    chosen->mix.transfers = s.free_count;
    chosen->mix.mix_s = s.best.score.makespan_s;
    chosen->mix.staged_count = s.status == HOP_OK ? count_staged(&s, &s.best) : 0;
    chosen->mix.mix_packet_bytes = chosen->mix.staged_count + s.forced_count > 0 ? s.best.packet_bytes : 0;
    chosen->mix.staged = s.best.staged;
    chosen->mix.evaluations = s.evaluations;
    chosen->mix.stuck = s.stuck;
    chosen->mix.best = chosen->best;
    chosen->mix.gain = find_gain(&s, chosen->best);
    if (s.status == HOP_OK)
        *mix = &chosen->mix;
    else
        hop_tune_mix_destroy(&chosen->mix);
    return s.status;
}

void hop_tune_mix_destroy(struct hop_tuned_mix *mix)
{
    if (!mix)
        return;
    struct hop_tune_chosen *chosen = (struct hop_tune_chosen *)mix;
    hop_schedule_destroy(chosen->best);
    hop_gain_destroy((struct hop_gain *)mix->gain);
    hop_arena_finish(&chosen->arena);
    free(chosen);
}
