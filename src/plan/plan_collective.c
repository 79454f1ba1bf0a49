/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A collective: its algorithm is chosen, too. Which algorithms are fast where ranks are says hop_tune_collective; the
 * default and the best few of these are planned, each as a schedule of its own.
 */
#include "hopcast/tune.h"
#include "plan/plan.h"

#include <stdio.h>

#include "base/clock.h"
#include "base/random.h"

enum { PLANNED = 6, SHOWN = 24 };
#define TUNE_SHARE 0.5 /* of the time that is left, for looking at algorithms where ranks are */

struct chooser {
    struct hop_plan_call call;
    const struct hop_topology *topology;
    struct hop_collective_options collective;
    struct hop_plan_options options;
    uint32_t ranks;
    const char **devices, **placeholders;
    uint32_t *nodes;
    struct hop_plan_algorithm list[PLANNED + SHOWN + 1]; /* one that shape adds */
    uint32_t planned, count;
    uint32_t chosen;
    uint64_t step_nodes, left; /* states: of a step's search of orders; that the limit still allows */
    struct hop_plan_result *best;
    struct hop_schedule *given; /* by the default algorithm, where ranks are */
    double begun_s;
    struct hop_arena arena;
};

/* ---- ranks ---- */

/* Their devices, and which nodes these are of. */
static void take_seats(struct chooser *c, const struct hop_placement *placement)
{
    for (uint32_t r = 0; r < c->ranks; r++) {
        uint32_t device = hop_topology_find(c->topology, hop_placement_device(placement, r));
        c->devices[r] = hop_topology_node(c->topology, device)->name;
        c->nodes[r] = hop_topology_server_of(c->topology, device);
    }
}

/* Where there are not enough devices, all are taken for one node's: planning says what is wrong. */
static enum hop_status seat_ranks(struct chooser *c, struct hop_diag *diag)
{
    const struct hop_placement *start = c->options.start;
    struct hop_placement *packed = NULL;
    c->devices = hop_arena_alloc(&c->arena, c->ranks * sizeof *c->devices);
    c->placeholders = hop_arena_alloc(&c->arena, c->ranks * sizeof *c->placeholders);
    c->nodes = hop_arena_alloc(&c->arena, c->ranks * sizeof *c->nodes);
    if (c->arena.failed)
        return hop_fail_memory(diag);
    for (uint32_t r = 0; r < c->ranks; r++) {
        char name[32];
        (void)snprintf(name, sizeof name, "rank%u", r);
        c->placeholders[r] = hop_arena_string(&c->arena, name, strlen(name));
    }
    if (start)
        HOP_CHECK(hop_placement_check(start, c->topology, c->ranks, diag));
    if (start && hop_placement_count(start) < c->ranks)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the placement has %u ranks, the collective has %u\na line for every rank",
                        hop_placement_count(start), c->ranks);
    if (!start && hop_placement_make(c->topology, c->ranks, HOP_PLACEMENT_PACKED, &packed, NULL) == HOP_OK)
        start = packed;
    if (start)
        take_seats(c, start);
    hop_placement_destroy(packed);
    return c->arena.failed ? hop_fail_memory(diag) : HOP_OK;
}

/* On the devices where ranks are, or between ranks. */
static enum hop_status make(const struct chooser *c, const char *const *devices, const char *algorithm,
                            uint64_t segment_bytes, char by[HOP_ALGORITHM_NAME_SIZE], struct hop_schedule **schedule,
                            struct hop_diag *diag)
{
    struct hop_collective_options options = c->collective;
    const struct hop_ranks ranks = {devices, c->ranks};
    struct hop_schedule *staged;
    options.algorithm = algorithm;
    options.segment_bytes = segment_bytes;
    options.nodes = c->nodes;
    hop_collective_grid(c->topology, &ranks, options.grid);
    HOP_CHECK(hop_make_collective_by(&ranks, &options, by, schedule, diag));
    enum hop_status status = hop_plan_stage(&c->options, *schedule, &staged, diag);
    if (status != HOP_OK || staged) {
        hop_schedule_destroy(*schedule);
        *schedule = staged;
    }
    return status;
}

/* ---- planning one ---- */

static bool is_stopped(struct chooser *c)
{
    bool stopped = (c->best && !c->best->complete && !c->options.max_nodes) || atomic_load(&c->call.stopped) ||
                   (c->options.time_limit_s > 0 && hop_now_s() - c->begun_s >= c->options.time_limit_s);
    return hop_plan_hear(&c->call, &stopped, sizeof stopped, NULL) != HOP_OK || stopped;
}

static enum hop_status plan_one(struct chooser *c, const struct hop_plan_algorithm *wanted, uint32_t left,
                                struct hop_diag *diag)
{
    struct hop_plan_algorithm *made = &c->list[c->planned];
    struct hop_plan_options options = c->options;
    struct hop_schedule *schedule;
    struct hop_plan_result *result;
    *made = *wanted;
    HOP_CHECK(make(c, c->placeholders, wanted->name[0] ? wanted->name : NULL, wanted->segment_bytes, made->name,
                   &schedule, diag));
    options.cut_s = c->best && isfinite(c->best->value_s) ? c->best->value_s : 0;
    options.max_nodes = options.max_nodes ? options.max_nodes / (left > 1 ? PLANNED : 1) + 1 : 0;
    if (options.time_limit_s > 0)
        options.time_limit_s = hop_max(1e-3, (options.time_limit_s - (hop_now_s() - c->begun_s)) / left);
    uint64_t step_nodes = c->planned == 0 ? c->step_nodes : 0; /* the first is what was given */
    enum hop_status status = hop_plan_direct(&c->call, c->topology, schedule, &options, step_nodes, &result, diag);
    hop_schedule_destroy(schedule);
    if (status != HOP_OK)
        return status;
    made->given_s = isfinite(wanted->given_s) && wanted->given_s > 0 ? wanted->given_s : result->rungs[0].value_s;
    made->value_s = result->value_s;
    made->bound_s = result->bound_s;
    uint64_t spent = options.max_nodes ? options.max_nodes - ((struct hop_plan_made *)result)->left : 0;
    c->left -= spent < c->left ? spent : c->left;
    bool better = !c->best || result->value_s < HOP_PLAN_BETTER(c->best->value_s);
    if (better) {
        struct hop_plan_result *other = c->best;
        c->best = result;
        c->chosen = c->planned;
        result = other;
    }
    c->planned++;
    if (result) { /* what was spent on others counts as well */
        c->best->nodes += result->nodes;
        hop_plan_result_destroy(result);
    }
    return HOP_OK;
}

/* ---- which ---- */

static int by_time(const void *a, const void *b)
{
    const struct hop_plan_algorithm *x = a, *y = b;
    return HOP_ORDER(x->given_s, y->given_s);
}

/* Of each algorithm the best size of segments, the fastest first; `list` has room for SHOWN. */
static uint32_t rank_algorithms(const struct hop_tuned_collective *tuned, struct hop_plan_algorithm *list)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < tuned->candidate_count && tuned->size_count; i++) {
        const struct hop_tune_candidate *candidate = &tuned->candidates[i];
        struct hop_plan_algorithm one = {
            .segment_bytes = candidate->segment_bytes, .given_s = tuned->sizes[0].times[i].time_s, .value_s = INFINITY};
        uint32_t at = 0;
        (void)snprintf(one.name, sizeof one.name, "%s", candidate->algorithm);
        while (at < count && strcmp(list[at].name, one.name) != 0)
            at++;
        if (candidate->refused || !isfinite(one.given_s) || at >= SHOWN ||
            (at < count && list[at].given_s <= one.given_s))
            continue;
        list[at] = one;
        count += at == count;
    }
    qsort(list, count, sizeof *list, by_time);
    return count;
}

static enum hop_status tune(struct chooser *c, struct hop_plan_algorithm *list, uint32_t *count, struct hop_diag *diag)
{
    struct hop_network *network;
    struct hop_tuned_collective *tuned = NULL;
    const struct hop_ranks ranks = {c->devices, c->ranks};
    const uint64_t least = hop_type_bytes(c->collective.type) * c->ranks;
    const uint64_t bytes = c->collective.vector_bytes > least ? c->collective.vector_bytes : least;
    struct hop_plan_watch watch = hop_plan_watch(&c->call, "algorithms", TUNE_SHARE);
    const struct hop_tune_collective_options options = {
        .sizes = &bytes, .size_count = 1, .stop = hop_plan_is_over, .context = &watch};
    HOP_CHECK(hop_network_create(c->topology, c->options.models, &network, diag));
    enum hop_status status = hop_tune_collective(network, &ranks, &c->collective, &options, &tuned, diag);
    if (status == HOP_OK)
        *count = rank_algorithms(tuned, list);
    hop_tuned_collective_destroy(tuned);
    hop_network_destroy(network);
    c->best->complete = c->best->complete && !watch.over;
    return status;
}

static bool is_planned(const struct chooser *c, const struct hop_plan_algorithm *one)
{
    for (uint32_t i = 0; i < c->planned; i++) {
        if (strcmp(c->list[i].name, one->name) == 0 && c->list[i].segment_bytes == one->segment_bytes)
            return true;
    }
    return false;
}

static enum hop_status plan_all(struct chooser *c, struct hop_plan_algorithm *ranked, uint32_t *count,
                                struct hop_diag *diag)
{
    struct hop_plan_algorithm first = {.segment_bytes = c->collective.segment_bytes, .value_s = INFINITY};
    bool fixed = c->collective.algorithm && strcmp(c->collective.algorithm, "default") != 0;
    if (fixed)
        (void)snprintf(first.name, sizeof first.name, "%s", c->collective.algorithm);
    HOP_CHECK(plan_one(c, &first, fixed ? 1 : PLANNED, diag)); /* which checks ranks and restrictions */
    take_seats(c, c->best->rungs[0].placement);
    HOP_CHECK(make(c, c->devices, c->list[0].name, c->list[0].segment_bytes, NULL, &c->given, diag));
    if (fixed)
        return HOP_OK;
    if (hop_plan_does(&c->call))
        HOP_CHECK(tune(c, ranked, count, diag));
    HOP_CHECK(hop_plan_hear(&c->call, count, sizeof *count, diag));
    HOP_CHECK(hop_plan_hear(&c->call, ranked, *count * sizeof *ranked, diag));
    for (uint32_t i = 0; i < *count && c->planned < PLANNED && !is_stopped(c); i++) {
        struct hop_diag ignored;
        if (!is_planned(c, &ranked[i]) && plan_one(c, &ranked[i], PLANNED - c->planned, &ignored) == HOP_ERR_MEMORY)
            return hop_fail_memory(diag);
    }
    c->count = c->planned;
    for (uint32_t i = 0; i < *count; i++) {
        if (!is_planned(c, &ranked[i]))
            c->list[c->count++] = ranked[i];
    }
    return HOP_OK;
}

/* ---- the answer ---- */

/* A barrier's messages have no size: only latencies tell its algorithms apart. */
static const char *note_of(const struct chooser *c)
{
    for (uint32_t l = 0; l < hop_topology_link_count(c->topology); l++) {
        if (hop_topology_link(c->topology, l)->latency_s > 0)
            return NULL;
    }
    return c->collective.kind != HOP_COLLECTIVE_BARRIER ? NULL
                                                        : "no link has a latency, so that a barrier takes next to no "
                                                          "time here, whatever its algorithm, places and "
                                                          "order; --set link_latency= says what a round costs";
}

/* What was given is the default algorithm; the fastest one where ranks are is a step of its own. */
static enum hop_status extend_ladder(struct chooser *c, const struct hop_plan_algorithm *fastest, struct hop_diag *diag)
{
    struct hop_plan_made *made = (struct hop_plan_made *)c->best; /* its first member */
    struct hop_plan_rung *rungs = made->rungs;
    struct hop_schedule *schedule;
    struct hop_placement *same;
    HOP_CHECK(make(c, c->devices, fastest->name, fastest->segment_bytes, NULL, &schedule, diag));
    memmove(rungs + 2, rungs + 1, (made->result.rung_count - 1) * sizeof *rungs);
    made->result.rung_count++;
    rungs[1] = (struct hop_plan_rung){.step = HOP_PLAN_ALGORITHM,
                                      .name = hop_plan_step_name(HOP_PLAN_ALGORITHM),
                                      .value_s = fastest->given_s,
                                      .clean = true,
                                      .schedule = schedule};
    HOP_CHECK(hop_placement_of(c->devices, c->ranks, &same, diag));
    rungs[1].placement = same;
    hop_schedule_destroy((struct hop_schedule *)rungs[0].schedule);
    rungs[0].schedule = c->given;
    c->given = NULL;
    rungs[0].value_s = c->list[0].given_s;
    for (uint32_t i = 1; i < made->result.rung_count; i++)
        HOP_CHECK(hop_plan_compare(&c->call, c->topology, rungs, &rungs[i], diag));
    return HOP_OK;
}

static enum hop_status tell(struct chooser *c, const struct hop_plan_algorithm *ranked, uint32_t count,
                            struct hop_diag *diag)
{
    struct hop_plan_made *made = (struct hop_plan_made *)c->best;
    struct hop_plan_result *r = c->best;
    bool proved = r->proved;
    if (count)
        HOP_CHECK(extend_ladder(c, ranked, diag));
    for (uint32_t i = 0; i < c->planned; i++) {
        r->bound_s = hop_min(r->bound_s, c->list[i].bound_s);
        proved = proved && !(r->value_s > c->list[i].bound_s * (1 + HOP_PLAN_TOLERANCE));
    }
    if (!proved && r->proved) { /* another algorithm might be better yet */
        r->proved = r->proved_with_waits = r->proved_without_waits = false;
        r->without_s = r->bound_s;
    }
    c->count = c->count ? c->count : c->planned;
    r->algorithms = hop_arena_copy(&made->arena, c->list, c->count * sizeof *c->list);
    r->algorithm_count = c->count;
    r->algorithm = c->chosen;
    r->elapsed_s = hop_now_s() - c->begun_s;
    r->note = r->note ? r->note : note_of(c);
    return made->arena.failed ? hop_fail_memory(diag) : HOP_OK;
}

/* The shape anew; where that is better, *exchange is that of it. */
static enum hop_status reshape(struct chooser *c, struct hop_plan_further *f, struct hop_schedule **exchange,
                               struct hop_diag *diag)
{
    struct hop_plan_result *r = c->best;
    struct hop_plan_algorithm row = {.name = ""};
    struct hop_collective_options shape = {0};
    HOP_CHECK(hop_plan_shape(f, &shape, &row, diag));
    if (!row.name[0])
        return HOP_OK;
    hop_schedule_destroy(*exchange);
    *exchange = NULL;
    memmove(c->list + c->planned + 1, c->list + c->planned, (c->count - c->planned) * sizeof *c->list);
    c->list[c->planned] = row;
    r->algorithm = c->planned;
    r->algorithm_count = ++c->count;
    r->algorithms = hop_arena_copy(&f->made->arena, c->list, c->count * sizeof *c->list);
    if (f->made->arena.failed)
        return hop_fail_memory(diag);
    const struct hop_ranks ranks = {c->placeholders, c->ranks};
    shape.nodes = shape.nodes ? shape.nodes : c->nodes;
    return hop_make_collective(&ranks, &shape, exchange, diag);
}

/* What comes after placement and order, of the algorithm that was chosen. */
static enum hop_status go_further(struct chooser *c, const struct hop_plan_options *whole, struct hop_diag *diag)
{
    const struct hop_plan_algorithm *chosen = &c->list[c->chosen];
    struct hop_schedule *exchange;
    HOP_CHECK(make(c, c->placeholders, chosen->name, chosen->segment_bytes, NULL, &exchange, diag));
    struct hop_plan_further further = {.call = &c->call,
                                       .topology = c->topology,
                                       .exchange = exchange,
                                       .collective = c->best->algorithm_count > 1 ? &c->collective : NULL,
                                       .options = whole,
                                       .made = (struct hop_plan_made *)c->best,
                                       .left = c->left,
                                       .begun_s = c->begun_s};
    enum hop_status status = further.collective && c->best->best ? reshape(c, &further, &exchange, diag) : HOP_OK;
    further.exchange = exchange;
    if (status == HOP_OK)
        status = hop_plan_go_further(&further, diag);
    hop_schedule_destroy(exchange);
    return status;
}

static enum hop_status check(const struct chooser *c, struct hop_diag *diag)
{
    if (c->ranks == 0)
        return hop_fail(diag, HOP_ERR_INVALID, "no ranks\nat least one");
    if (c->options.way == HOP_PLAN_STAGED && !c->collective.algorithm)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "all copies are to be staged, and which algorithm is fast then is not known\n"
                        "the name of an algorithm, or ways that are free");
    return HOP_OK;
}

static uint64_t hash_collective(const struct chooser *c)
{
    const struct hop_collective_options *o = &c->collective;
    const uint64_t numbers[] = {c->ranks, o->kind, o->vector_bytes, o->segment_bytes, o->reduce, o->type, o->root};
    return hop_plan_hash_text(hop_hash(HOP_HASH_BEGIN, numbers, sizeof numbers), o->algorithm);
}

enum hop_status hop_plan_collective(const struct hop_topology *topology, uint32_t ranks,
                                    const struct hop_collective_options *collective,
                                    const struct hop_plan_options *options, struct hop_plan_result **result,
                                    struct hop_diag *diag)
{
    struct chooser c = {.topology = topology, .ranks = ranks, .options = {.seed = 1}, .begun_s = hop_now_s()};
    struct hop_plan_algorithm ranked[SHOWN];
    struct hop_diag ignored;
    uint32_t count = 0;
    diag = diag ? diag : &ignored;
    HOP_CHECK(hop_options_take(&c.options, sizeof c.options, options, diag));
    HOP_CHECK(hop_options_take(&c.collective, sizeof c.collective, collective, diag));
    HOP_CHECK(check(&c, diag));
    const struct hop_plan_options whole = c.options;
    c.step_nodes = c.left = whole.max_nodes;
    hop_plan_leave_share(&c.options);
    enum hop_status status = hop_plan_call_begin(&c.call, topology, &whole, hash_collective(&c), diag);
    if (status == HOP_OK)
        status = seat_ranks(&c, diag);
    if (status == HOP_OK)
        status = plan_all(&c, ranked, &count, diag);
    if (status == HOP_OK)
        status = tell(&c, ranked, count, diag);
    if (status == HOP_OK && c.call.rank == 0)
        status = go_further(&c, &whole, diag);
    status = hop_plan_call_end(&c.call, status, c.best, diag);
    bool keeps = status == HOP_OK && c.call.rank == 0;
    *result = keeps ? c.best : NULL;
    if (!keeps)
        hop_plan_result_destroy(c.best);
    hop_schedule_destroy(c.given);
    hop_arena_finish(&c.arena);
    return status;
}
