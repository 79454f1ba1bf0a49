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

enum { PACKETS_MOST = 32, EVALUATIONS = 5000 };
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
    bool *forced;                    /* per operation: can only be staged */
    uint32_t forced_count;
    uint64_t longest; /* bytes of a copy that can be staged */
    uint32_t evaluations, limit;
    double work, work_limit; /* operations simulated */
    struct choice best, trial;
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

static enum hop_status evaluate(struct search *s, struct choice *choice)
{
    struct hop_schedule *candidate;
    enum hop_status status = build(s, choice, &candidate);
    if (status != HOP_OK)
        return status;
    status = hop_tune_simulate(s->network, candidate, &choice->score, s->diag);
    hop_schedule_destroy(candidate);
    s->evaluations++;
    s->work += count_operations(s, choice);
    if (status == HOP_OK && s->options && s->options->progress)
        s->options->progress(hop_min(1, hop_max((double)s->evaluations / s->limit, s->work / s->work_limit)),
                             s->options->context);
    return status;
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

/* Classes of free copies: the same three routes by their looks, and the same size. */
static enum hop_status classify(struct search *s, struct hop_names *classes, const struct hop_tune_ways *ways,
                                uint64_t bytes, uint32_t *class)
{
    struct hop_buffer text = {0};
    hop_buffer_printf(&text, "%llu ", (unsigned long long)bytes);
    enum hop_status status = hop_tune_describe(s->network, ways, &text, s->diag);
    if (status == HOP_OK)
        *class = hop_names_get(classes, text.text);
    if (status == HOP_OK && *class == UINT32_MAX) {
        const char *key = hop_arena_string(s->arena, text.text, text.length);
        *class = s->class_count++;
        if (!key || !hop_names_put(classes, key, *class))
            status = hop_fail_memory(s->diag);
    }
    hop_buffer_finish(&text);
    return status;
}

static enum hop_status look_at(struct search *s, uint32_t index, struct hop_names *classes)
{
    const struct hop_op *op = hop_schedule_op(s->schedule, index);
    const struct hop_topology *topology = hop_network_topology(s->network);
    struct hop_tune_ways ways;
    if (op->kind != HOP_OP_COPY)
        return HOP_OK;
    uint32_t from = hop_topology_find(topology, op->from.device), to = hop_topology_find(topology, op->to.device);
    if (from == HOP_NONE || to == HOP_NONE || from == to)
        return HOP_OK; /* the simulation says what is wrong, if it is */
    enum hop_status status = hop_tune_find_ways(s->network, from, to, &ways, s->diag);
    if (status != HOP_OK || !hop_tune_can_stage(&ways))
        return status;
    s->longest = op->bytes > s->longest ? op->bytes : s->longest;
    if (ways.direct == HOP_NONE) {
        s->forced[index] = true;
        s->forced_count++;
        return HOP_OK;
    }
    s->list[s->free_count] = index;
    return classify(s, classes, &ways, op->bytes, &s->class_of[s->free_count++]);
}

static enum hop_status prepare(struct search *s)
{
    size_t count = (size_t)hop_schedule_count(s->schedule) + 1;
    struct hop_names classes = {0};
    s->list = hop_arena_alloc(s->arena, count * sizeof *s->list);
    s->class_of = hop_arena_alloc(s->arena, count * sizeof *s->class_of);
    s->forced = hop_arena_alloc(s->arena, count * sizeof *s->forced);
    s->best.staged = hop_arena_alloc(s->arena, count * sizeof *s->best.staged);
    s->trial.staged = hop_arena_alloc(s->arena, count * sizeof *s->trial.staged);
    enum hop_status status = s->arena->failed ? hop_fail_memory(s->diag) : HOP_OK;
    for (uint32_t i = 0; i < hop_schedule_count(s->schedule) && status == HOP_OK; i++)
        status = look_at(s, i, &classes);
    hop_names_finish(&classes);
    if (status == HOP_OK) {
        memcpy(s->best.staged, s->forced, count * sizeof *s->forced);
        memcpy(s->trial.staged, s->forced, count * sizeof *s->forced);
    }
    return status;
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
static enum hop_status try_packets(struct search *s)
{
    struct hop_tune_score best;
    uint64_t best_packet = 0;
    s->trial.packet_bytes = 0;
    enum hop_status status = evaluate(s, &s->trial);
    best = s->trial.score;
    for (uint32_t i = s->lists.packet_count; i-- > 0 && status == HOP_OK;) {
        if (!is_tried(s, i))
            continue;
        s->trial.packet_bytes = s->lists.packets[i];
        status = evaluate(s, &s->trial);
        if (status == HOP_OK && hop_tune_less(s->trial.score.makespan_s, best.makespan_s)) {
            best = s->trial.score;
            best_packet = s->trial.packet_bytes;
        }
    }
    s->trial.packet_bytes = best_packet;
    s->trial.score = best;
    return status;
}

static enum hop_status try_extremes(struct search *s, struct hop_tuned_mix *mix)
{
    enum hop_status status = HOP_OK;
    s->best.score = (struct hop_tune_score){INFINITY, INFINITY};
    mix->direct_s = mix->staged_s = NAN;
    if (s->forced_count == 0) {
        status = evaluate(s, &s->best);
        mix->direct_s = s->best.score.makespan_s;
    }
    if (status != HOP_OK || s->forced_count + s->free_count == 0)
        return status;
    set_all(s, &s->trial, true);
    status = try_packets(s);
    if (status != HOP_OK)
        return status;
    mix->staged_s = s->trial.score.makespan_s;
    mix->staged_packet_bytes = s->trial.packet_bytes;
    if (hop_tune_less(mix->staged_s, s->best.score.makespan_s))
        copy_choice(s, &s->best, &s->trial);
    s->best.packet_bytes = s->trial.packet_bytes; /* the search goes on with it */
    return HOP_OK;
}

/* ---- every choice ---- */

static enum hop_status try_every_choice(struct search *s)
{
    enum hop_status status = HOP_OK;
    uint32_t choices = 1u << s->free_count, fewest = count_staged(s, &s->best);
    s->trial.packet_bytes = s->best.packet_bytes;
    for (uint32_t mask = 0; mask + 1 < choices && status == HOP_OK; mask++) {
        if (mask == 0 && s->forced_count == 0)
            continue; /* all direct is known, as is all staged */
        for (uint32_t i = 0; i < s->free_count; i++)
            s->trial.staged[s->list[i]] = mask >> i & 1;
        status = evaluate(s, &s->trial);
        if (status != HOP_OK)
            break;
        uint32_t staged = count_staged(s, &s->trial);
        bool less = hop_tune_less(s->trial.score.makespan_s, s->best.score.makespan_s);
        bool same = !less && !hop_tune_less(s->best.score.makespan_s, s->trial.score.makespan_s);
        if (less || (same && staged < fewest)) {
            copy_choice(s, &s->best, &s->trial);
            fewest = staged;
        }
    }
    return status;
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
    return s->evaluations < s->limit && s->work < s->work_limit;
}

/* Evaluates the trial, keeps it if it is better. */
static enum hop_status offer(struct search *s, bool *better)
{
    enum hop_status status = evaluate(s, &s->trial);
    if (status == HOP_OK && is_better(&s->trial.score, &s->best.score)) {
        copy_choice(s, &s->best, &s->trial);
        *better = true;
    }
    return status;
}

static enum hop_status flip_classes(struct search *s, bool *better)
{
    enum hop_status status = HOP_OK;
    for (uint32_t c = 0; c < 2 * s->class_count && status == HOP_OK && goes_on(s); c++) {
        bool changed = false;
        copy_choice(s, &s->trial, &s->best);
        for (uint32_t i = 0; i < s->free_count; i++) {
            if (s->class_of[i] != c / 2)
                continue;
            changed = changed || s->trial.staged[s->list[i]] != (c & 1);
            s->trial.staged[s->list[i]] = c & 1;
        }
        if (changed)
            status = offer(s, better);
    }
    return status;
}

static enum hop_status flip_copies(struct search *s, bool *better)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < s->free_count && status == HOP_OK && goes_on(s); i++) {
        copy_choice(s, &s->trial, &s->best);
        s->trial.staged[s->list[i]] = !s->trial.staged[s->list[i]];
        status = offer(s, better);
    }
    return status;
}

/* Two at once, up to the first pair that makes something better. */
static enum hop_status flip_pairs(struct search *s, bool *better)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < s->free_count && status == HOP_OK && !*better; i++) {
        for (uint32_t j = i + 1; j < s->free_count && status == HOP_OK && !*better && goes_on(s); j++) {
            copy_choice(s, &s->trial, &s->best);
            s->trial.staged[s->list[i]] = !s->trial.staged[s->list[i]];
            s->trial.staged[s->list[j]] = !s->trial.staged[s->list[j]];
            status = offer(s, better);
        }
    }
    return status;
}

/* Copies whose staging gained nothing go direct again. */
static enum hop_status tidy(struct search *s)
{
    enum hop_status status = HOP_OK;
    double best_s = s->best.score.makespan_s;
    for (uint32_t i = 0; i < s->free_count && status == HOP_OK && goes_on(s); i++) {
        if (!s->best.staged[s->list[i]])
            continue;
        copy_choice(s, &s->trial, &s->best);
        s->trial.staged[s->list[i]] = false;
        status = evaluate(s, &s->trial);
        if (status == HOP_OK && !hop_tune_less(best_s, s->trial.score.makespan_s))
            copy_choice(s, &s->best, &s->trial);
    }
    return status;
}

static enum hop_status search_locally(struct search *s)
{
    enum hop_status status = HOP_OK;
    for (bool better = true; better && status == HOP_OK && goes_on(s);) {
        better = false;
        status = flip_classes(s, &better);
        if (status == HOP_OK)
            status = flip_copies(s, &better);
        if (status == HOP_OK && !better)
            status = flip_pairs(s, &better);
    }
    return status == HOP_OK ? tidy(s) : status;
}

/* ---- all ---- */

/* What is no better than one way for all gives place to it. */
static void settle(struct search *s, const struct hop_tuned_mix *mix)
{
    if (!isnan(mix->direct_s) && !hop_tune_less(s->best.score.makespan_s, mix->direct_s)) {
        set_all(s, &s->best, false);
        s->best.score.makespan_s = mix->direct_s;
    } else if (s->best.score.makespan_s > mix->staged_s) {
        set_all(s, &s->best, true);
        s->best.packet_bytes = mix->staged_packet_bytes;
        s->best.score.makespan_s = mix->staged_s;
    }
}

static enum hop_status choose(struct search *s, struct hop_tuned_mix *mix)
{
    enum hop_status status = try_extremes(s, mix);
    if (status != HOP_OK)
        return status;
    uint64_t choices = s->free_count <= HOP_TUNE_EXACT ? (uint64_t)1 << s->free_count : UINT64_MAX;
    mix->exact = choices <= s->limit;
    if (s->free_count > 0)
        status = mix->exact ? try_every_choice(s) : search_locally(s);
    if (status == HOP_OK && count_staged(s, &s->best) + s->forced_count > 0) {
        copy_choice(s, &s->trial, &s->best);
        status = try_packets(s);
        if (status == HOP_OK && hop_tune_less(s->trial.score.makespan_s, s->best.score.makespan_s))
            copy_choice(s, &s->best, &s->trial);
    }
    if (status == HOP_OK)
        settle(s, mix);
    return status;
}

static enum hop_status run(struct search *s, struct hop_tune_chosen *chosen)
{
    struct hop_tuned_mix *mix = &chosen->mix;
    enum hop_status status = prepare(s);
    if (status == HOP_OK)
        status = choose(s, mix);
    if (status == HOP_OK)
        status = build(s, &s->best, &chosen->best);
    if (status != HOP_OK)
        return status;
    mix->transfers = s->free_count;
    mix->mix_s = s->best.score.makespan_s;
    mix->staged_count = count_staged(s, &s->best);
    mix->mix_packet_bytes = mix->staged_count + s->forced_count > 0 ? s->best.packet_bytes : 0;
    mix->staged = s->best.staged;
    mix->evaluations = s->evaluations;
    mix->best = chosen->best;
    return HOP_OK;
}

enum hop_status hop_tune_mix(struct hop_network *network, const struct hop_schedule *schedule,
                             const struct hop_tune_options *options, struct hop_tuned_mix **mix, struct hop_diag *diag)
{
    struct search s = {.network = network, .schedule = schedule, .options = options, .diag = diag};
    enum hop_status status = hop_tune_check(network, options, &s.lists, diag);
    if (status != HOP_OK)
        return status;
    s.limit = options && options->max_evaluations ? options->max_evaluations : EVALUATIONS;
    s.work_limit = options && options->max_evaluations ? INFINITY : WORK;
    struct hop_tune_chosen *chosen = calloc(1, sizeof *chosen);
    if (!chosen)
        return hop_fail_memory(diag);
    s.arena = &chosen->arena;
    status = run(&s, chosen);
    if (status == HOP_OK)
        *mix = &chosen->mix;
    else
        hop_tune_mix_destroy(&chosen->mix);
    return status;
}

void hop_tune_mix_destroy(struct hop_tuned_mix *mix)
{
    if (!mix)
        return;
    struct hop_tune_chosen *chosen = (struct hop_tune_chosen *)mix;
    hop_schedule_destroy(chosen->best);
    hop_arena_finish(&chosen->arena);
    free(chosen);
}
