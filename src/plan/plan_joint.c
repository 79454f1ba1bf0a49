/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Placement and order as one, where placements are too many to look at all: two ranks change places, or one goes to where
 * there is room; the order stays and is mended by small changes. What comes of it is taken as in simulated annealing.
 *
 *     lane    an order problem whose ranks move (order/placed.h), with what models said of active sets on all placements
 *     starts  what the steps found, where links are evenly loaded, the best sketches
 *     round   each lane anneals from its best, then changes its order alone; the worse half goes on from the better
 *             half's best. Rounds are longer and longer.
 *
 * Lanes meet between rounds only, so that a limit of states gives the same however many threads and ranks there are: what a lane comes
 * to in a round is a question, which its state answers (plan_ask.c).
 */
#include "base/random.h"
#include "order/improve.h"
#include "order/placed.h"
#include "plan/plan.h"

enum { LANES_MOST = 16, STARTS = 16, LANE_NODES = 1000000, FEW_LANES = 4, FIRST_ROUND = 20000, ROUND_MORE = 2 };
enum { START_NODES = 1500, MEND_FIRST = 300, MEND_MORE = 3, MEND_STAGES = 3, POLISH = 3, APART_PASSES = 8 };
#define HOT 2e-2 /* of changes to placements, as shares of the value */
#define COLD 5e-4
#define ORDER_HEAT 3e-3
#define ORDER_COOL 1e-4

/* A placement with an order on it. */
struct pair {
    uint32_t *place;
    struct hop_sequence sequence;
    double value_s;
};

struct lane {
    struct joint *joint;
    struct hop_placed *placed;
    struct hop_sets *sets;
    struct hop_improver *improver;
    struct pair in_hand, next, best;
    uint32_t *rank_at; /* per place, of what is in hand, HOP_NONE: nobody */
    uint64_t rng, nodes, quota, polled; /* quota: up to which nodes may go in this round */
    uint32_t looked_at;
    bool tells;
    enum hop_status status;
    struct hop_diag diag;
};

struct joint {
    struct hop_plan_work *work;
    struct hop_plan_loads *loads;
    uint32_t ranks, places, ops;
    struct lane lanes[LANES_MOST];
    uint32_t lane_count;
    struct pair starts[STARTS + 4];
    uint32_t start_count;
    double enough_s;
    struct hop_arena arena;
};

/* ---- pairs ---- */

static enum hop_status create_pair(struct joint *j, const struct hop_placed *placed, struct pair *pair,
                                   struct hop_diag *diag)
{
    pair->place = hop_arena_alloc(&j->arena, ((size_t)j->ranks + 1) * sizeof *pair->place);
    pair->value_s = INFINITY;
    return pair->place ? hop_sequence_create(&placed->problem, &pair->sequence, diag) : hop_fail_memory(diag);
}

static void copy_pair(const struct joint *j, const struct pair *from, struct pair *to)
{
    memcpy(to->place, from->place, j->ranks * sizeof *to->place);
    memcpy(to->sequence.order, from->sequence.order, j->ops * sizeof *to->sequence.order);
    memcpy(to->sequence.after, from->sequence.after, j->ops * sizeof *to->sequence.after);
    to->value_s = from->value_s;
}

/* ---- orders ---- */

static bool goes_on(struct lane *l)
{
    struct hop_plan_work *w = l->joint->work;
    if (l->tells)
        (void)hop_plan_goes_on(w);
    else if (hop_plan_time_left(w) <= 0)
        atomic_store(&w->stopped, true);
    return !atomic_load(&w->stopped) && l->status == HOP_OK && !(l->best.value_s <= l->joint->enough_s);
}

static bool poll(void *lane, uint64_t nodes)
{
    (void)nodes;
    return goes_on(lane);
}

/* Small changes to the order in hand, on the placement that is put; INFINITY: the order does not count. */
static double improve(struct lane *l, struct hop_sequence *sequence, uint64_t nodes, double heat)
{
    uint64_t left = l->quota - (l->nodes < l->quota ? l->nodes : l->quota);
    const struct hop_improve_options options = {.seed = hop_draw(&l->rng),
                                                .enough = l->joint->enough_s,
                                                .heat = heat,
                                                .cool = hop_min(heat, ORDER_COOL),
                                                .max_nodes = nodes < left ? nodes : left,
                                                .no_waits = l->joint->work->options.no_waits,
                                                .poll = poll,
                                                .context = l};
    double value_s = INFINITY;
    if (l->status == HOP_OK)
        l->status = hop_improve(l->improver, &options, sequence, &value_s, &l->nodes, &l->diag);
    return value_s;
}

static void list_apart(struct lane *l, struct hop_sequence *sequence)
{
    const struct hop_problem *p = &l->placed->problem;
    if (l->status == HOP_OK)
        l->status = hop_apart_order(p, APART_PASSES, hop_draw(&l->rng), sequence, &l->diag);
    if (l->joint->work->options.no_waits)
        memset(sequence->after, 0xff, p->op_count * sizeof *sequence->after); /* HOP_NONE */
    l->nodes += p->op_count;
}

/* Longer and longer, as long as it may come below the limit. */
static double mend(struct lane *l, struct hop_sequence *sequence, double limit_s)
{
    static const double hopes[] = {1.06, 1.02, 1.005};
    uint64_t nodes = MEND_FIRST;
    double value_s = improve(l, sequence, nodes, ORDER_HEAT);
    if (isinf(value_s)) {
        list_apart(l, sequence);
        value_s = improve(l, sequence, nodes, ORDER_HEAT);
    }
    for (uint32_t stage = 0; stage < MEND_STAGES && value_s > limit_s && value_s < limit_s * hopes[stage]; stage++) {
        nodes *= MEND_MORE;
        value_s = improve(l, sequence, nodes, ORDER_HEAT);
    }
    l->looked_at++;
    return value_s;
}

static void keep_best(struct lane *l, const struct pair *pair)
{
    if (pair->value_s < l->best.value_s)
        copy_pair(l->joint, pair, &l->best);
}

/* ---- placements ---- */

static void find_ranks(struct lane *l)
{
    memset(l->rank_at, 0xff, l->joint->places * sizeof *l->rank_at); /* HOP_NONE */
    for (uint32_t r = 0; r < l->joint->ranks; r++)
        l->rank_at[l->in_hand.place[r]] = r;
}

static void put_in_hand(struct lane *l, const struct pair *pair)
{
    copy_pair(l->joint, pair, &l->in_hand);
    find_ranks(l);
}

/* Into `next`: a rank goes to a place drawn at random, who is there to where it was. false: that may not be. */
static bool change(struct lane *l)
{
    const struct joint *j = l->joint;
    const struct hop_map_places *places = &j->work->map.places;
    uint32_t a = hop_draw_below(&l->rng, j->ranks), to = hop_draw_below(&l->rng, j->places), b = l->rank_at[to],
             was = l->in_hand.place[a];
    if (to == was || !places->room[to] || !hop_assign_allows(&places->who, a, to) ||
        (b != HOP_NONE && !hop_assign_allows(&places->who, b, was)))
        return false;
    copy_pair(j, &l->in_hand, &l->next);
    l->next.place[a] = to;
    if (b != HOP_NONE)
        l->next.place[b] = was;
    return true;
}

static void try_change(struct lane *l, double heat)
{
    double limit_s = l->in_hand.value_s * (1 - heat * log(1 - hop_draw_unit(&l->rng)));
    l->nodes++;
    if (!change(l))
        return;
    if (hop_placed_put(l->placed, l->next.place) < limit_s) {
        l->next.value_s = mend(l, &l->next.sequence, limit_s);
        keep_best(l, &l->next);
        if (l->next.value_s < limit_s)
            put_in_hand(l, &l->next);
    }
}

/* ---- rounds ---- */

static void start(void *joint, uint32_t i, bool tells)
{
    struct joint *j = joint;
    struct lane *l = &j->lanes[i];
    l->tells = tells;
    for (uint32_t k = i; k < j->start_count && l->nodes < l->quota && goes_on(l); k += j->lane_count) {
        struct pair *s = &j->starts[k];
        bool known = isfinite(s->value_s);
        (void)hop_placed_put(l->placed, s->place);
        if (!known)
            list_apart(l, &s->sequence);
        s->value_s = mend(l, &s->sequence, 0);
        s->value_s = hop_min(s->value_s, improve(l, &s->sequence, START_NODES, ORDER_HEAT));
        keep_best(l, s);
    }
}

static void anneal(void *joint, uint32_t i, bool tells)
{
    struct joint *j = joint;
    struct lane *l = &j->lanes[i];
    uint64_t begun = l->nodes, part = l->quota - l->quota / POLISH;
    l->tells = tells;
    if (isinf(l->best.value_s))
        return;
    put_in_hand(l, &l->best);
    while (l->nodes - begun < part && goes_on(l))
        try_change(l, HOT * pow(COLD / HOT, (double)(l->nodes - begun) / (double)part));
    copy_pair(j, &l->best, &l->next);
    (void)hop_placed_put(l->placed, l->next.place);
    if (l->nodes - begun < l->quota && goes_on(l))
        l->next.value_s = improve(l, &l->next.sequence, l->quota - (l->nodes - begun), ORDER_HEAT);
    keep_best(l, &l->next);
}

/* ---- rounds as questions ---- */

struct round {
    struct joint *joint;
    void (*run)(void *joint, uint32_t i, bool tells);
};

/* What a lane works on: its best, or, to begin with, its part of the starts, and its best behind these. NULL: no more. */
static struct pair *pair_of(const struct round *round, uint32_t i, uint32_t k)
{
    struct joint *j = round->joint;
    uint32_t at = i + k * j->lane_count, starts = round->run != start || at < i ? 0 : j->start_count;
    uint32_t own = starts > i ? (starts - i - 1) / j->lane_count + 1 : 0;
    return k < own ? &j->starts[at] : k == own ? &j->lanes[i].best : NULL;
}

static uint64_t key_of(void *round, uint32_t i)
{
    const struct round *r = round;
    const struct joint *j = r->joint;
    const struct lane *l = &j->lanes[i];
    const uint64_t numbers[] = {i, l->rng, l->quota};
    uint64_t hash = hop_hash(hop_plan_hash_text(j->work->about, "lane"), numbers, sizeof numbers);
    hash = hop_hash(hash, &j->enough_s, sizeof j->enough_s);
    for (uint32_t k = 0; pair_of(r, i, k); k++) {
        const struct pair *pair = pair_of(r, i, k);
        hash = hop_hash(hash, &pair->value_s, sizeof pair->value_s);
        if (pair == &l->best && isinf(pair->value_s))
            continue;
        hash = hop_hash(hash, pair->place, j->ranks * sizeof *pair->place);
        hash = hop_hash(hash, pair->sequence.order, j->ops * sizeof *pair->sequence.order);
        hash = hop_hash(hash, pair->sequence.after, j->ops * sizeof *pair->sequence.after);
    }
    return hash;
}

static enum hop_status find(void *round, uint32_t i, bool tells, bool *whole, struct hop_diag *diag)
{
    const struct round *r = round;
    struct lane *l = &r->joint->lanes[i];
    (void)whole;
    r->run(r->joint, i, tells);
    if (l->status != HOP_OK)
        *diag = l->diag;
    return l->status;
}

static void write_pair(const struct joint *j, const struct pair *pair, struct hop_buffer *out)
{
    hop_plan_put_value(out, pair->value_s);
    for (uint32_t r = 0; r < j->ranks && isfinite(pair->value_s); r++)
        hop_plan_put_whole(out, pair->place[r]);
    for (uint32_t op = 0; op < j->ops && isfinite(pair->value_s); op++) {
        hop_plan_put_whole(out, pair->sequence.order[op]);
        hop_plan_put_whole(out, pair->sequence.after[op] == HOP_NONE ? 0 : pair->sequence.after[op] + (uint64_t)1);
    }
}

static void write_lane(void *round, uint32_t i, struct hop_buffer *out)
{
    const struct round *r = round;
    const struct lane *l = &r->joint->lanes[i];
    hop_plan_put_whole(out, l->rng);
    hop_plan_put_whole(out, l->nodes);
    hop_plan_put_whole(out, l->looked_at);
    for (uint32_t k = 0; pair_of(r, i, k); k++)
        write_pair(r->joint, pair_of(r, i, k), out);
}

static bool read_pair(struct lane *l, struct pair *pair, struct hop_plan_reading *in)
{
    const struct joint *j = l->joint;
    l->next.value_s = hop_plan_get_value(in);
    if (isinf(l->next.value_s)) {
        pair->value_s = INFINITY;
        return !in->failed;
    }
    for (uint32_t r = 0; r < j->ranks; r++)
        l->next.place[r] = (uint32_t)hop_plan_get_whole(in, j->places - 1);
    for (uint32_t op = 0; op < j->ops; op++) {
        l->next.sequence.order[op] = (uint32_t)hop_plan_get_whole(in, UINT32_MAX);
        l->next.sequence.after[op] = (uint32_t)hop_plan_get_whole(in, j->ops) - 1; /* HOP_NONE */
    }
    if (in->failed || !hop_map_fits(&j->work->map.places, l->next.place) ||
        isinf(hop_placed_put(l->placed, l->next.place)) || !hop_sequence_check(&l->placed->problem, &l->next.sequence))
        return false;
    copy_pair(j, &l->next, pair);
    return true;
}

static bool read_lane(void *round, uint32_t i, struct hop_plan_reading *in)
{
    const struct round *r = round;
    struct lane *l = &r->joint->lanes[i];
    uint64_t rng = hop_plan_get_whole(in, UINT64_MAX), nodes = hop_plan_get_whole(in, UINT64_MAX / 4);
    uint32_t looked_at = (uint32_t)hop_plan_get_whole(in, UINT32_MAX);
    for (uint32_t k = 0; pair_of(r, i, k); k++) {
        if (!read_pair(l, pair_of(r, i, k), in))
            return false;
    }
    l->rng = rng;
    l->nodes = nodes;
    l->looked_at = looked_at;
    return true;
}

static enum hop_status work_off(struct joint *j, void (*run)(void *joint, uint32_t i, bool tells))
{
    struct round round = {j, run};
    const struct hop_plan_questions questions = {
        .count = j->lane_count, .context = &round, .key = key_of, .find = find, .write = write_lane, .read = read_lane};
    return hop_plan_ask(j->work, &questions);
}

/* ---- between rounds ---- */

static int by_value(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;
    return HOP_ORDER(x->value_s, y->value_s);
}

/* What lanes found becomes the plan's, what they visited is counted. */
static enum hop_status gather(struct joint *j, struct hop_diag *diag)
{
    struct hop_plan_work *w = j->work;
    struct lane *best = NULL;
    for (uint32_t i = 0; i < j->lane_count; i++) {
        struct lane *l = &j->lanes[i];
        w->result->nodes += l->nodes;
        w->result->searched += l->looked_at;
        w->left -= l->nodes < w->left ? l->nodes : w->left;
        l->nodes = l->looked_at = 0;
        if (isfinite(l->best.value_s))
            hop_plan_pool_add(w, l->best.place, l->best.value_s);
        if (!best || l->best.value_s < best->best.value_s)
            best = l;
    }
    if (!(best->best.value_s < HOP_PLAN_BETTER(w->best_s)))
        return HOP_OK;
    struct hop_problem *p = &best->placed->problem;
    struct hop_plan_try found = {.place = best->best.place, .value_s = best->best.value_s, .clean = true};
    struct hop_schedule *placed;
    (void)hop_placed_put(best->placed, best->best.place);
    HOP_CHECK(hop_sequence_drop_waits(p, best->sets, &best->best.sequence, best->best.value_s, diag));
    found.waits = hop_sequence_waits(p, &best->best.sequence);
    HOP_CHECK(hop_map_play_copy(w->map.play, best->best.place, &placed, diag));
    p->schedule = placed;
    enum hop_status status = hop_sequence_schedule(p, &best->best.sequence, &found.schedule, diag);
    p->schedule = w->exchange;
    hop_schedule_destroy(placed);
    if (status == HOP_OK)
        (void)hop_plan_take(w, &found);
    return status;
}

/* The worse half of the lanes goes on from the better half's best. */
static void share(struct joint *j)
{
    uint32_t order[LANES_MOST];
    for (uint32_t i = 0; i < j->lane_count; i++) {
        uint32_t at = i;
        for (; at > 0 && j->lanes[order[at - 1]].best.value_s > j->lanes[i].best.value_s; at--)
            order[at] = order[at - 1];
        order[at] = i;
    }
    for (uint32_t k = (j->lane_count + 1) / 2; k < j->lane_count; k++)
        copy_pair(j, &j->lanes[order[k - (j->lane_count + 1) / 2]].best, &j->lanes[order[k]].best);
}

static enum hop_status rounds(struct joint *j, struct hop_diag *diag)
{
    struct hop_plan_work *w = j->work;
    for (uint32_t i = 0; i < j->lane_count; i++)
        j->lanes[i].quota = w->left / 2 / j->lane_count + 1;
    HOP_CHECK(work_off(j, start));
    HOP_CHECK(gather(j, diag));
    for (uint32_t k = 0; k < j->start_count; k++)
        j->starts[k].value_s = j->starts[k].value_s > 0 ? j->starts[k].value_s : INFINITY; /* its turn did not come */
    qsort(j->starts, j->start_count, sizeof *j->starts, by_value);
    for (uint32_t i = 0; i < j->lane_count && i < j->start_count; i++)
        copy_pair(j, &j->starts[i], &j->lanes[i].best);
    if (isinf(j->lanes[0].best.value_s)) /* on none of them an order counts, so that there is nothing to go on from */
        return HOP_OK;
    uint64_t before = 0; /* states that were left when the last round began */
    for (uint64_t quota = FIRST_ROUND; w->left != before && hop_plan_goes_on(w); quota *= ROUND_MORE) {
        before = w->left;
        uint64_t most = w->left / j->lane_count + 1;
        for (uint32_t i = 0; i < j->lane_count; i++)
            j->lanes[i].quota = most < quota * (ROUND_MORE + 1) ? most : quota;
        HOP_CHECK(work_off(j, anneal));
        HOP_CHECK(gather(j, diag));
        share(j);
    }
    return HOP_OK;
}

/* ---- starts ---- */

static enum hop_status add_start(struct joint *j, const uint32_t *place, const struct hop_schedule *order,
                                 struct hop_diag *diag)
{
    struct pair *s = &j->starts[j->start_count];
    struct hop_placed *placed = j->lanes[0].placed;
    if (!hop_map_fits(&j->work->map.places, place) || isinf(hop_placed_put(placed, place)))
        return HOP_OK;
    HOP_CHECK(create_pair(j, placed, s, diag));
    j->start_count++;
    memcpy(s->place, place, j->ranks * sizeof *s->place);
    if (order && hop_sequence_read(&placed->problem, order, &s->sequence, NULL) == HOP_OK)
        s->value_s = 0; /* it has an order */
    return HOP_OK;
}

static enum hop_status find_starts(struct joint *j, struct hop_plan_sketch *sketch, const uint32_t *even,
                                   struct hop_diag *diag)
{
    struct hop_plan_work *w = j->work;
    enum { WORK = 400000, SHARE = 8 };
    uint32_t *rows = hop_arena_alloc(&j->arena, STARTS * (size_t)j->ranks * sizeof *rows), count = 0;
    if (!rows)
        return hop_fail_memory(diag);
    for (uint32_t k = 0; k < w->known_count; k++)
        HOP_CHECK(add_start(j, w->known[k].place, w->known[k].best, diag));
    HOP_CHECK(add_start(j, even, NULL, diag));
    if (sketch) {
        uint64_t steps = WORK / j->ops + 1, most = w->left / SHARE / hop_plan_sketch_states(sketch) + 1;
        count = hop_plan_sketch_search(sketch, even, (uint32_t)(steps < most ? steps : most), w->options.seed, rows,
                                       STARTS);
    }
    for (uint32_t k = 0; k < count; k++)
        HOP_CHECK(add_start(j, rows + (size_t)k * j->ranks, NULL, diag));
    return HOP_OK;
}

/* ---- the whole ---- */

static enum hop_status create_lane(struct joint *j, struct lane *l, uint64_t seed, struct hop_diag *diag)
{
    const struct hop_plan_loads *loads = j->loads;
    l->joint = j;
    l->rng = hop_draw_from(seed);
    HOP_CHECK(hop_placed_create(loads->problem, loads->pair_op, loads->places, j->work->exchange, &l->placed, diag));
    if (!l->placed)
        return HOP_OK;
    HOP_CHECK(hop_sets_create(&l->placed->problem, &l->sets, diag));
    HOP_CHECK(create_pair(j, l->placed, &l->in_hand, diag));
    HOP_CHECK(create_pair(j, l->placed, &l->next, diag));
    HOP_CHECK(create_pair(j, l->placed, &l->best, diag));
    l->rank_at = hop_arena_alloc(&j->arena, ((size_t)j->places + 1) * sizeof *l->rank_at);
    if (!l->rank_at)
        return hop_fail_memory(diag);
    return hop_improver_create(&l->placed->problem, l->sets, &l->improver, diag);
}

static void destroy_lane(struct lane *l)
{
    hop_improver_destroy(l->improver);
    hop_sets_destroy(l->sets);
    hop_sequence_finish(&l->in_hand.sequence);
    hop_sequence_finish(&l->next.sequence);
    hop_sequence_finish(&l->best.sequence);
    hop_placed_destroy(l->placed);
}

/* threads: of all ranks */
static uint32_t lanes_of(const struct hop_plan_work *w, uint32_t threads)
{
    if (w->left >= UINT64_MAX / 2) /* against the clock */
        return threads < LANES_MOST ? threads : LANES_MOST;
    return w->left >= FEW_LANES * (uint64_t)LANE_NODES ? FEW_LANES : (uint32_t)(w->left / LANE_NODES) + 1;
}

enum hop_status hop_plan_joint(struct hop_plan_work *work, struct hop_plan_loads *loads, struct hop_plan_sketch *sketch,
                               const uint32_t *even, bool *done, struct hop_diag *diag)
{
    struct joint *j = calloc(1, sizeof *j);
    uint32_t threads = hop_plan_threads(work) * (uint32_t)work->call->ranks;
    *done = false;
    if (!j)
        return hop_fail_memory(diag);
    enum hop_status status = hop_plan_hear(work->call, &threads, sizeof threads, diag);
    *j = (struct joint){.work = work,
                        .loads = loads,
                        .ranks = work->ranks,
                        .places = work->places,
                        .ops = hop_schedule_count(work->exchange),
                        .lane_count = lanes_of(work, threads),
                        .enough_s = work->floor_s * (1 + hop_max(work->options.gap, HOP_PLAN_TOLERANCE))};
    bool can = loads->plain && loads->problem && loads->pair_op;
    for (uint32_t i = 0; can && i < j->lane_count && status == HOP_OK; i++) {
        status = create_lane(j, &j->lanes[i], work->options.seed + i, diag);
        can = j->lanes[i].improver;
    }
    if (status == HOP_ERR_LIMIT) /* too many operations */
        status = HOP_OK;
    if (can && status == HOP_OK)
        status = find_starts(j, sketch, even, diag);
    *done = can && j->start_count > 0;
    if (*done && status == HOP_OK)
        status = rounds(j, diag);
    *done = *done && isfinite(j->lanes[0].best.value_s);
    for (uint32_t i = 0; i < j->lane_count; i++)
        destroy_lane(&j->lanes[i]);
    for (uint32_t i = 0; i < j->start_count; i++)
        hop_sequence_finish(&j->starts[i].sequence);
    hop_arena_finish(&j->arena);
    free(j);
    return status;
}
