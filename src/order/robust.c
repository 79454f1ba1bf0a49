/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order of least regret over what may hold of a machine.
 *
 * Each case is a problem of its own with the same operations, so that one sequence can be played in all of them. A search
 * in each tells its best time and makes a candidate. Then every order without waits is played in every case where they
 * are few; else the best candidate is changed, a send here or a wait there, as long as its largest regret hardly rises
 * (threshold accepting), and played in the worst case first, to be left as soon as its regret is too large.
 */
#include <math.h>

#include "base/clock.h"
#include "base/random.h"
#include "order/first.h"
#include "order/order.h"
#include "order/walk.h"

enum { CASES_MAX = 64, POLL_PLAYS = 64 };
#define PLAYS_ALL 1e5 /* orders times cases */
#define WORK 2e6      /* of changes: operations played */
#define HEAT 0.05     /* what a regret may rise by, at first */
#define NOTHING 1e-9  /* a regret */
#define CLEAN (1 + 1e-9)

struct hop_order_robust_case {
    struct hop_network *network;
    struct hop_problem *problem;
    struct hop_sets *sets;
    double best_s;
    bool proved; /* of it */
};

struct robust {
    struct hop_order_robust result; /* what the caller sees; first */
    struct hop_scenarios *scenarios;
    struct hop_order_case *shown;
    struct hop_arena arena;
};

struct robustness {
    const struct hop_topology *topology;
    const struct hop_schedule *schedule;
    struct hop_order_options options; /* of a search in a case */
    const struct hop_order_options *asked;
    struct robust *whole;
    struct hop_order_robust_case cases[CASES_MAX];
    uint32_t count, worst_first[CASES_MAX];
    struct hop_sequence nominal, best, hand;
    double regret; /* of `best` */
    bool moved;    /* a best time has become less since that was found */
    struct hop_order_progress last;
    double begun_s, passed_s; /* passed: in searches that ended */
    bool stopped;
    uint64_t asked_for, plays; /* sequences, in all cases */
    enum hop_status status;    /* of walks */
};

/* ---- time ---- */

static bool watch_case(const struct hop_order_progress *progress, void *context)
{
    struct robustness *r = context;
    r->last = *progress;
    r->last.elapsed_s += r->passed_s;
    r->last.bound_s = 0;
    bool goes_on = !r->asked->progress || r->asked->progress(&r->last, r->asked->context);
    r->stopped = r->stopped || !goes_on;
    return goes_on;
}

/* Asked before each play. */
static bool goes_on(struct robustness *r)
{
    if (++r->asked_for % POLL_PLAYS == 0) {
        r->last.elapsed_s = hop_now_s() - r->begun_s;
        r->stopped = r->stopped || (r->asked->progress && !r->asked->progress(&r->last, r->asked->context)) ||
                     (r->asked->time_limit_s > 0 && r->last.elapsed_s > r->asked->time_limit_s);
    }
    return !r->stopped;
}

/* ---- cases ---- */

static bool is_same(const struct hop_problem *a, const struct hop_problem *b)
{
    if (a->op_count != b->op_count || a->source_count != b->source_count ||
        memcmp(a->sends, b->sends, a->op_count * sizeof *a->sends) != 0)
        return false;
    for (uint32_t s = 0; s < a->source_count; s++) {
        if (a->sources[s].first != b->sources[s].first || a->sources[s].count != b->sources[s].count)
            return false;
    }
    return true;
}

/* Of the case of that index, what a sequence takes; only on the machine as told does an order have to be clean. */
static enum hop_status play(struct robustness *r, uint32_t index, const struct hop_sequence *sequence, double *value_s,
                            bool *counts, struct hop_diag *diag)
{
    struct hop_order_robust_case *c = &r->cases[index];
    struct hop_played played;
    r->plays++;
    c->problem->clean = index == 0 && !r->options.allow_unclean;
    HOP_CHECK(hop_sequence_play(c->problem, c->sets, sequence, NULL, &played, diag));
    *value_s = played.value;
    *counts = isfinite(played.value) && (r->options.allow_unclean || played.fullest <= CLEAN);
    return HOP_OK;
}

static void close_case(struct hop_order_robust_case *c)
{
    hop_sets_destroy(c->sets);
    hop_problem_destroy(c->problem);
    hop_network_destroy(c->network);
    *c = (struct hop_order_robust_case){0};
}

/* A case, unless its models refuse the schedule. */
static enum hop_status open_case(struct robustness *r, uint32_t scenario, struct hop_diag *diag)
{
    struct hop_order_robust_case *c = &r->cases[r->count];
    struct hop_order_options options = r->options;
    *c = (struct hop_order_robust_case){.best_s = INFINITY};
    options.models = hop_scenarios_at(r->whole->scenarios, scenario)->models;
    enum hop_status status = hop_scenarios_network(r->whole->scenarios, scenario, &c->network, diag);
    if (status == HOP_OK)
        status = hop_problem_create(hop_network_topology(c->network), r->schedule, &options, &c->problem, diag);
    if (status == HOP_OK)
        status = hop_sets_create(c->problem, &c->sets, diag);
    bool fits = status == HOP_OK && (r->count == 0 || is_same(c->problem, r->cases[0].problem));
    if (fits && HOP_GROW(&r->whole->arena, r->whole->shown, r->count + (size_t)1)) {
        r->whole->shown[r->count++] =
            (struct hop_order_case){.scenario = *hop_scenarios_at(r->whole->scenarios, scenario)};
        return HOP_OK;
    }
    close_case(c);
    return r->count == 0 || r->whole->arena.failed || status == HOP_ERR_MEMORY
               ? status == HOP_OK ? hop_fail_memory(diag) : status
               : HOP_OK;
}

static enum hop_status open_cases(struct robustness *r, const struct hop_schedule *nominal, struct hop_diag *diag)
{
    const struct hop_scenario *scenario;
    struct hop_timeline *timelines[2] = {0};
    struct hop_network *network;
    HOP_CHECK(hop_network_create(r->topology, r->options.models, &network, diag));
    enum hop_status status = hop_simulate(network, nominal, NULL, &timelines[0], diag);
    if (status == HOP_OK)
        status = hop_simulate(network, r->schedule, NULL, &timelines[1], diag);
    if (status == HOP_OK)
        status = hop_scenarios_find((const struct hop_timeline *const *)timelines, 2, NULL, &r->whole->scenarios, diag);
    for (uint32_t i = 0;
         status == HOP_OK && r->count < CASES_MAX && (scenario = hop_scenarios_at(r->whole->scenarios, i)); i++)
        status = open_case(r, i, diag);
    hop_timeline_destroy(timelines[0]);
    hop_timeline_destroy(timelines[1]);
    hop_network_destroy(network);
    if (status == HOP_OK)
        r->whole->result.left_out = hop_scenarios_left_out(r->whole->scenarios);
    return status;
}

/* What the nominal order and the given one take in a case, clean or not. */
static enum hop_status play_both(struct robustness *r, uint32_t index, const struct hop_sequence *given,
                                 double *times_s, struct hop_diag *diag)
{
    struct hop_order_robust_case *c = &r->cases[index];
    const struct hop_sequence *const orders[2] = {&r->nominal, given};
    c->problem->clean = false;
    for (uint32_t i = 0; i < 2; i++) {
        struct hop_played played;
        HOP_CHECK(hop_sequence_play(c->problem, c->sets, orders[i], NULL, &played, diag));
        times_s[i] = played.value;
    }
    return HOP_OK;
}

/* A range that does not change what the nominal order and the given one take is no case. */
static enum hop_status drop_needless(struct robustness *r, struct hop_diag *diag)
{
    struct hop_sequence given;
    double told_s[2], here_s[2];
    uint32_t kept = 0;
    HOP_CHECK(hop_sequence_create(r->cases[0].problem, &given, diag));
    enum hop_status status = play_both(r, 0, &given, told_s, diag);
    for (uint32_t k = 0; k < r->count; k++) {
        if (status == HOP_OK)
            status = play_both(r, k, &given, here_s, diag);
        bool changes = k == 0 || status != HOP_OK || r->whole->shown[k].scenario.kind == HOP_SCENARIO_MODEL;
        for (uint32_t i = 0; i < 2; i++)
            changes = changes || !(fabs(here_s[i] - told_s[i]) <= NOTHING * told_s[i]);
        struct hop_order_robust_case moved = r->cases[k];
        r->cases[k] = (struct hop_order_robust_case){0};
        if (changes) {
            r->cases[kept] = moved;
            r->whole->shown[kept++] = r->whole->shown[k];
        } else {
            close_case(&moved);
        }
    }
    hop_sequence_finish(&given);
    r->count = kept;
    return status;
}

/* ---- regrets ---- */

static double regret_of(const struct robustness *r, uint32_t index, double value_s)
{
    double best_s = r->cases[index].best_s;
    return isfinite(value_s) ? hop_max(0, best_s > 0 ? value_s / best_s - 1 : 0) : INFINITY;
}

/* The largest regret of a sequence, or one that is above the limit; worst: the case that has it. */
static enum hop_status judge(struct robustness *r, const struct hop_sequence *sequence, double limit, double *regret,
                             uint32_t *worst, struct hop_diag *diag)
{
    *regret = -1;
    for (uint32_t i = 0; i < r->count && *regret <= limit; i++) {
        uint32_t k = r->worst_first[i];
        double value_s;
        bool counts;
        HOP_CHECK(play(r, k, sequence, &value_s, &counts, diag));
        if (counts && value_s < r->cases[k].best_s * (1 - NOTHING)) {
            r->cases[k].best_s = value_s;
            r->moved = true;
        }
        if (regret_of(r, k, value_s) <= *regret)
            continue;
        *regret = regret_of(r, k, value_s);
        *worst = k;
        memmove(r->worst_first + 1, r->worst_first, i * sizeof *r->worst_first);
        r->worst_first[0] = k;
    }
    return HOP_OK;
}

/* What the best has to be beaten by, after a best time has become less. */
static enum hop_status judge_anew(struct robustness *r, struct hop_diag *diag)
{
    uint32_t worst;
    while (r->moved && isfinite(r->regret)) {
        r->moved = false;
        HOP_CHECK(judge(r, &r->best, INFINITY, &r->regret, &worst, diag));
    }
    return HOP_OK;
}

/* Takes a sequence if it is better than the best; `limit`: *regret need not be right above it. */
static enum hop_status take(struct robustness *r, const struct hop_sequence *sequence, double limit, double *regret,
                            struct hop_diag *diag)
{
    uint32_t worst;
    HOP_CHECK(
        judge(r, sequence, hop_max(limit, r->regret), regret, &worst, diag)); /* above that it is not its largest */
    bool moved = r->moved;
    HOP_CHECK(judge_anew(r, diag));
    if (moved)
        HOP_CHECK(judge(r, sequence, hop_max(limit, r->regret), regret, &worst, diag));
    if (*regret < r->regret * (1 - NOTHING)) {
        r->regret = *regret;
        hop_sequence_copy(r->cases[0].problem, sequence, &r->best);
    }
    return HOP_OK;
}

/* ---- candidates ---- */

/* The best order of a case, as a candidate; where none is clean, the best of all. */
static enum hop_status search_case(struct robustness *r, uint32_t index, struct hop_sequence *found, bool *has,
                                   struct hop_diag *diag)
{
    struct hop_order_robust_case *c = &r->cases[index];
    struct hop_order_options options = r->options;
    struct hop_order_result *result = NULL;
    enum hop_status status = HOP_OK;
    options.models = r->whole->shown[index].scenario.models;
    *has = false;
    for (uint32_t any = 0; any < 2 && !*has && status == HOP_OK && !r->stopped; any++) {
        if (r->asked->time_limit_s > 0) {
            double left_s = r->asked->time_limit_s - (hop_now_s() - r->begun_s);
            r->stopped = left_s <= 0;
            options.time_limit_s = hop_max(1e-3, left_s / 2 / (r->count - index));
        }
        options.allow_unclean = options.allow_unclean || any;
        status = hop_order_search(hop_network_topology(c->network), r->schedule, &options, &result, diag);
        r->passed_s = hop_now_s() - r->begun_s;
        *has = status == HOP_OK && result->best;
        if (*has) {
            c->best_s = result->value_s;
            c->proved = result->proved && !any;
            status = hop_sequence_read(c->problem, result->best, found, diag);
        }
        hop_order_result_destroy(result);
        result = NULL;
    }
    return status;
}

/* A search in each case, then every order in every case: the best known time of each, and the best order to begin with. */
static enum hop_status find_candidates(struct robustness *r, struct hop_diag *diag)
{
    struct hop_sequence candidates[CASES_MAX + 1] = {{0}};
    enum hop_status status = HOP_OK;
    uint32_t count = 0;
    bool has = true;
    for (uint32_t k = 0; k <= r->count && status == HOP_OK; k++) {
        status = hop_sequence_create(r->cases[0].problem, &candidates[count], diag);
        if (status == HOP_OK && k < r->count)
            status = search_case(r, k, &candidates[count], &has, diag);
        else if (status == HOP_OK)
            hop_sequence_copy(r->cases[0].problem, &r->nominal, &candidates[count]);
        count += status == HOP_OK && (has || k == r->count);
        if (!has)
            hop_sequence_finish(&candidates[count]);
    }
    for (uint32_t k = 0; k < r->count; k++) {
        for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
            double value_s = INFINITY;
            bool counts = false;
            status = play(r, k, &candidates[i], &value_s, &counts, diag);
            r->cases[k].best_s =
                counts || isinf(r->cases[k].best_s) ? hop_min(r->cases[k].best_s, value_s) : r->cases[k].best_s;
        }
    }
    for (uint32_t i = count; i-- > 0;) { /* the nominal order first: another one has to be better */
        double regret;
        if (status == HOP_OK)
            status = take(r, &candidates[i], r->regret, &regret, diag);
    }
    for (uint32_t i = 0; i <= count && i <= CASES_MAX; i++)
        hop_sequence_finish(&candidates[i]);
    return status;
}

/* ---- all orders ---- */

static void take_end(void *context, const struct hop_state *state, enum hop_advanced how)
{
    struct robustness *r = context;
    (void)state;
    double regret;
    if (how == HOP_ADVANCED_END && r->status == HOP_OK && goes_on(r))
        r->status = take(r, &r->hand, r->regret, &regret, NULL);
}

/* The walk leaves its sequence in hand. */
static enum hop_status try_all(struct robustness *r, struct hop_diag *diag)
{
    const struct hop_problem *p = r->cases[0].problem;
    struct hop_order_options options = {.threads = 1};
    struct hop_first first = {.count = 1};
    struct hop_crew *crew = NULL;
    struct hop_walk walk = {0};
    HOP_CHECK(hop_crew_create(p, &options, 0, &crew, diag));
    enum hop_status status = hop_walk_init(&walk, p, crew, diag);
    if (status == HOP_OK) {
        struct hop_sequence kept = r->hand;
        r->hand = walk.sequence;
        walk.ends = take_end;
        walk.context = r;
        hop_walk_from(&walk, &first, 0);
        r->hand = kept;
        status = walk.failed ? hop_sets_status(walk.sets, diag) : r->status;
        r->whole->result.tried_all = !r->stopped;
    }
    hop_walk_finish(&walk);
    hop_crew_destroy(crew);
    return status;
}

/* ---- changes ---- */

/* One send moves, or waits for another operation, or no longer does; false: nothing changes. */
static bool change(const struct hop_problem *p, bool waits, uint64_t *rng, struct hop_sequence *sequence)
{
    uint32_t op = hop_draw_below(rng, p->op_count), source = p->ops[op].source;
    if (source == HOP_NONE)
        return false;
    if (waits && hop_draw_below(rng, 4) == 0) {
        uint32_t other = hop_draw_below(rng, p->op_count), was = sequence->after[op];
        bool fits = was == HOP_NONE && p->ops[other].source != source;
        sequence->after[op] = fits ? other : HOP_NONE;
        return fits || was != HOP_NONE;
    }
    const struct hop_problem_source *s = &p->sources[source];
    uint32_t *order = sequence->order + s->first, i = hop_draw_below(rng, s->count), j = hop_draw_below(rng, s->count);
    uint32_t moved = order[i];
    bool swap = hop_draw_below(rng, 2) == 0;
    if (swap)
        order[i] = order[j];
    for (; !swap && i < j; i++)
        order[i] = order[i + 1];
    for (; !swap && i > j; i--)
        order[i] = order[i - 1];
    order[j] = moved;
    return order[i] != moved || swap;
}

static enum hop_status improve(struct robustness *r, struct hop_diag *diag)
{
    const struct hop_problem *p = r->cases[0].problem;
    uint64_t rng = r->options.seed;
    double plays = WORK / p->op_count, begun = (double)r->plays, done, regret = r->regret, changed;
    struct hop_sequence in_hand;
    HOP_CHECK(hop_sequence_create(p, &in_hand, diag));
    hop_sequence_copy(p, &r->best, &in_hand);
    enum hop_status status = HOP_OK;
    while ((done = ((double)r->plays - begun) / plays) < 1 && r->regret > NOTHING && status == HOP_OK && goes_on(r)) {
        double limit = hop_max(regret, r->regret) + HEAT * (1 - done) * hop_draw_unit(&rng);
        hop_sequence_copy(p, &in_hand, &r->hand);
        r->plays++; /* so that changes of nothing come to an end, too */
        if (!change(p, !r->options.no_waits, &rng, &r->hand))
            continue;
        status = take(r, &r->hand, limit, &changed, diag);
        if (status != HOP_OK || changed > limit)
            continue;
        regret = changed;
        hop_sequence_copy(p, &r->hand, &in_hand);
    }
    hop_sequence_finish(&in_hand);
    return status;
}

/* ---- the whole ---- */

static enum hop_status answer(struct robustness *r, struct hop_diag *diag)
{
    struct hop_order_robust *result = &r->whole->result;
    bool counts;
    double regret;
    HOP_CHECK(judge_anew(r, diag));
    HOP_CHECK(take(r, &r->nominal, INFINITY, &regret, diag)); /* which may be better now that best times are less */
    for (uint32_t k = 0; k < r->count; k++) {
        struct hop_order_case *shown = &r->whole->shown[k];
        shown->best_s = r->cases[k].best_s;
        shown->proved = r->cases[k].proved || (result->tried_all && r->options.no_waits);
        HOP_CHECK(play(r, k, &r->nominal, &shown->nominal_s, &counts, diag));
        HOP_CHECK(play(r, k, &r->best, &shown->robust_s, &counts, diag));
        double nominal = regret_of(r, k, shown->nominal_s), robust = regret_of(r, k, shown->robust_s);
        result->nominal_worst = nominal > result->nominal_regret ? k : result->nominal_worst;
        result->robust_worst = robust > result->robust_regret ? k : result->robust_worst;
        result->nominal_regret = hop_max(result->nominal_regret, nominal);
        result->robust_regret = hop_max(result->robust_regret, robust);
    }
    result->cases = r->whole->shown;
    result->case_count = r->count;
    result->complete = !r->stopped;
    return hop_sequence_schedule(r->cases[0].problem, &r->best, &result->best, diag);
}

static enum hop_status find(struct robustness *r, const struct hop_schedule *nominal, struct hop_diag *diag)
{
    HOP_CHECK(open_cases(r, nominal, diag));
    const struct hop_problem *p = r->cases[0].problem;
    HOP_CHECK(hop_sequence_create(p, &r->nominal, diag));
    HOP_CHECK(hop_sequence_create(p, &r->best, diag));
    HOP_CHECK(hop_sequence_create(p, &r->hand, diag));
    HOP_CHECK(hop_sequence_read(p, nominal, &r->nominal, diag));
    HOP_CHECK(drop_needless(r, diag));
    for (uint32_t k = 0; k < r->count; k++)
        r->worst_first[k] = k;
    HOP_CHECK(find_candidates(r, diag));
    if (r->regret > NOTHING && !r->stopped && hop_problem_orders(p) * r->count <= PLAYS_ALL)
        HOP_CHECK(try_all(r, diag));
    if (r->regret > NOTHING && !r->stopped)
        HOP_CHECK(improve(r, diag));
    return answer(r, diag);
}

enum hop_status hop_order_robust(const struct hop_topology *topology, const struct hop_schedule *schedule,
                                 const struct hop_order_options *options, const struct hop_schedule *nominal,
                                 struct hop_order_robust **robust, struct hop_diag *diag)
{
    struct hop_order_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    HOP_CHECK(hop_order_check(&own, diag));
    struct robustness r = {.topology = topology,
                           .schedule = schedule,
                           .options = own,
                           .asked = &own,
                           .whole = calloc(1, sizeof *r.whole),
                           .regret = INFINITY,
                           .begun_s = hop_now_s()};
    if (!r.whole)
        return hop_fail_memory(diag);
    r.options.gap = r.options.checkpoint_s = r.options.cut_s = 0;
    r.options.count = false;
    r.options.checkpoint = NULL;
    r.options.group = NULL;
    r.options.improved = NULL;
    r.options.progress = watch_case;
    r.options.context = &r;
    enum hop_status status = find(&r, nominal, diag);
    for (uint32_t k = 0; k < r.count; k++)
        close_case(&r.cases[k]);
    hop_sequence_finish(&r.nominal);
    hop_sequence_finish(&r.best);
    hop_sequence_finish(&r.hand);
    if (status == HOP_OK)
        *robust = &r.whole->result;
    else
        hop_order_robust_destroy(&r.whole->result);
    return status;
}

void hop_order_robust_destroy(struct hop_order_robust *robust)
{
    struct robust *r = (struct robust *)robust;
    if (!r)
        return;
    hop_schedule_destroy(robust->best);
    hop_scenarios_destroy(r->scenarios);
    hop_arena_finish(&r->arena);
    free(r);
}
