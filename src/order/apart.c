/* SPDX-License-Identifier: BSD-3-Clause */
/* Transfers kept apart: lists of what may begin, by what is left of the resources. */
#include "order/apart.h"

#include <math.h>

#include "base/random.h"

#define MOST (1 + 1e-6)
#define SAME_S 1e-12 /* ends as near as that, as a share of the time, are one */
#define NOISE 1.5    /* how much preferences count beside what is left */
#define CHANGED 8    /* one of so many preferences changes from pass to pass */
#define SUM 0.0625   /* what is left of all resources of a transfer, beside that of the one with most, counts so much */
enum { BY_MOST = 2 /* the pass in which it does not count, nor do preferences */ };

struct candidate {
    double key;
    uint32_t op;
};

struct hop_apart_pass {
    double *preference, *kept; /* per operation, 0 to 1; as they were */
    double sum;                /* SUM or 0 */
    double *left_s, *used;     /* per resource: of all that has not begun; by what moves */
    double *end_s;             /* per operation; INFINITY: it has not ended */
    uint8_t *state;            /* per operation: enum */
    bool *waited;              /* per queue: it could have sent at an earlier event */
    uint32_t *busy;            /* per queue: sends under way */
    uint32_t *active, active_count;
    uint32_t *open, open_count;   /* what has not begun */
    uint32_t *ended, ended_count; /* at this event */
    struct candidate *list;
    uint32_t *begun, *wait;
    struct hop_arena arena;
};

enum { OPEN, MOVING, OVER };

enum hop_status hop_apart_create(uint32_t ops, uint32_t queues, uint32_t resources, struct hop_apart **apart,
                                 struct hop_diag *diag)
{
    struct hop_arena arena = {0};
    size_t n = (size_t)ops + 1, q = (size_t)queues + 1;
    struct hop_apart *a = hop_arena_alloc(&arena, sizeof *a);
    struct hop_apart_pass *pass = hop_arena_alloc(&arena, sizeof *pass);
    if (a && pass) {
        *a = (struct hop_apart){.op_count = ops, .queue_count = queues, .resource_count = resources, .most = MOST};
        a->pass = pass;
        a->ops = hop_arena_alloc(&arena, n * sizeof *a->ops);
        a->at_once = hop_arena_alloc(&arena, q * sizeof *a->at_once);
        a->begun = hop_arena_alloc(&arena, n * sizeof *a->begun);
        a->wait = hop_arena_alloc(&arena, n * sizeof *a->wait);
        pass->preference = hop_arena_alloc(&arena, n * sizeof *pass->preference);
        pass->kept = hop_arena_alloc(&arena, n * sizeof *pass->kept);
        pass->left_s = hop_arena_alloc(&arena, ((size_t)resources + 1) * sizeof *pass->left_s);
        pass->used = hop_arena_alloc(&arena, ((size_t)resources + 1) * sizeof *pass->used);
        pass->end_s = hop_arena_alloc(&arena, n * sizeof *pass->end_s);
        pass->state = hop_arena_alloc(&arena, n * sizeof *pass->state);
        pass->waited = hop_arena_alloc(&arena, q * sizeof *pass->waited);
        pass->busy = hop_arena_alloc(&arena, q * sizeof *pass->busy);
        pass->active = hop_arena_alloc(&arena, n * sizeof *pass->active);
        pass->open = hop_arena_alloc(&arena, n * sizeof *pass->open);
        pass->ended = hop_arena_alloc(&arena, n * sizeof *pass->ended);
        pass->list = hop_arena_alloc(&arena, n * sizeof *pass->list);
        pass->begun = hop_arena_alloc(&arena, n * sizeof *pass->begun);
        pass->wait = hop_arena_alloc(&arena, n * sizeof *pass->wait);
    }
    if (arena.failed) {
        hop_arena_finish(&arena);
        return hop_fail_memory(diag);
    }
    pass->arena = arena; /* which holds itself */
    *apart = a;
    return HOP_OK;
}

void hop_apart_destroy(struct hop_apart *apart)
{
    if (!apart)
        return;
    struct hop_arena arena = apart->pass->arena;
    hop_arena_finish(&arena);
}

/* ---- a pass ---- */

static void take(struct hop_apart_pass *p, const struct hop_apart_use *use, double seconds, double times)
{
    p->left_s[use->resource] += use->share * seconds;
    p->used[use->resource] += use->share * times;
}

static void begin_pass(const struct hop_apart *a)
{
    struct hop_apart_pass *p = a->pass;
    p->active_count = p->open_count = p->ended_count = 0;
    for (uint32_t r = 0; r < a->resource_count; r++)
        p->left_s[r] = p->used[r] = 0;
    for (uint32_t q = 0; q < a->queue_count; q++) {
        p->waited[q] = false;
        p->busy[q] = 0;
    }
    for (uint32_t i = 0; i < a->op_count; i++) {
        const struct hop_apart_op *op = &a->ops[i];
        p->end_s[i] = INFINITY;
        p->state[i] = OPEN;
        p->wait[i] = HOP_NONE;
        p->open[p->open_count++] = i;
        for (uint32_t u = 0; u < op->use_count; u++)
            take(p, &op->uses[u], op->moves_s, 0);
    }
}

static bool is_ready(const struct hop_apart *a, const struct hop_apart_op *op)
{
    const uint8_t *state = a->pass->state;
    for (uint32_t i = 0; i < op->after_count; i++) {
        if (state[op->after[i]] != OVER)
            return false;
    }
    for (uint32_t i = 0; i < op->after_start_count; i++) {
        if (state[op->after_start[i]] == OPEN)
            return false;
    }
    return true;
}

/* What others take of a resource at a time. */
static double used_at(const struct hop_apart *a, uint32_t resource, double time_s)
{
    const struct hop_apart_pass *p = a->pass;
    double sum = 0;
    for (uint32_t k = 0; k < p->active_count; k++) {
        const struct hop_apart_op *op = &a->ops[p->active[k]];
        for (uint32_t u = 0; u < op->use_count && p->end_s[p->active[k]] > time_s * (1 + SAME_S); u++)
            sum += op->uses[u].resource == resource ? op->uses[u].share : 0;
    }
    return sum;
}

/* Whether there is room by the time of its first byte. */
static bool fits(const struct hop_apart *a, const struct hop_apart_op *op, double now_s)
{
    for (uint32_t u = 0; u < op->use_count; u++) {
        const struct hop_apart_use *use = &op->uses[u];
        if (a->pass->used[use->resource] + use->share > a->most &&
            used_at(a, use->resource, now_s + op->latency_s) + use->share > a->most)
            return false;
    }
    return true;
}

static int by_key(const void *x, const void *y)
{
    const struct candidate *a = x, *b = y;
    return a->key != b->key ? HOP_ORDER(b->key, a->key) : HOP_ORDER(a->op, b->op);
}

/* One that ended now and was in the way, or any that did. */
static uint32_t waited_for(const struct hop_apart *a, const struct hop_apart_op *op)
{
    const struct hop_apart_pass *p = a->pass;
    for (uint32_t k = 0; k < p->ended_count; k++) {
        const struct hop_apart_op *other = &a->ops[p->ended[k]];
        for (uint32_t v = 0; v < other->use_count; v++) {
            for (uint32_t u = 0; u < op->use_count; u++) {
                if (other->uses[v].resource == op->uses[u].resource)
                    return p->ended[k];
            }
        }
    }
    return p->ended_count ? p->ended[0] : HOP_NONE;
}

static void begin_op(const struct hop_apart *a, uint32_t i, double now_s, uint32_t *begun)
{
    struct hop_apart_pass *p = a->pass;
    const struct hop_apart_op *op = &a->ops[i];
    p->end_s[i] = now_s + op->latency_s + op->moves_s;
    p->state[i] = MOVING;
    p->active[p->active_count++] = i;
    p->begun[(*begun)++] = i;
    for (uint32_t u = 0; u < op->use_count; u++)
        take(p, &op->uses[u], -op->moves_s, 1);
    if (op->queue == HOP_NONE)
        return;
    p->busy[op->queue]++;
    if (p->waited[op->queue])
        p->wait[i] = waited_for(a, op);
    p->waited[op->queue] = false;
}

static double key_of(const struct hop_apart *a, uint32_t i)
{
    const struct hop_apart_op *op = &a->ops[i];
    double most_s = 0, sum_s = 0;
    for (uint32_t u = 0; u < op->use_count; u++) {
        most_s = hop_max(most_s, a->pass->left_s[op->uses[u].resource]);
        sum_s += a->pass->left_s[op->uses[u].resource];
    }
    return (most_s + sum_s * a->pass->sum) * (1 + NOISE * a->pass->preference[i]);
}

/* What can begin at an event does, in the order of what is left. */
static void begin_some(const struct hop_apart *a, double now_s, uint32_t *begun)
{
    struct hop_apart_pass *p = a->pass;
    uint32_t count = 0;
    for (uint32_t k = 0; k < p->open_count; k++) {
        const struct hop_apart_op *op = &a->ops[p->open[k]];
        bool idle = op->queue == HOP_NONE || p->busy[op->queue] < a->at_once[op->queue];
        if (idle && is_ready(a, op))
            p->list[count++] = (struct candidate){op->queue == HOP_NONE ? INFINITY : key_of(a, p->open[k]), p->open[k]};
    }
    qsort(p->list, count, sizeof *p->list, by_key);
    for (uint32_t k = 0; k < count; k++) {
        const struct hop_apart_op *op = &a->ops[p->list[k].op];
        if (op->queue == HOP_NONE || (p->busy[op->queue] < a->at_once[op->queue] && fits(a, op, now_s)))
            begin_op(a, p->list[k].op, now_s, begun);
    }
    for (uint32_t k = 0; k < count; k++) {
        uint32_t queue = a->ops[p->list[k].op].queue;
        if (queue != HOP_NONE && p->busy[queue] < a->at_once[queue])
            p->waited[queue] = true;
    }
    uint32_t kept = 0;
    for (uint32_t k = 0; k < p->open_count; k++) {
        if (p->state[p->open[k]] == OPEN)
            p->open[kept++] = p->open[k];
    }
    p->open_count = kept;
}

/* To the next end. */
static double end_some(const struct hop_apart *a)
{
    struct hop_apart_pass *p = a->pass;
    double next_s = INFINITY;
    uint32_t kept = 0;
    for (uint32_t k = 0; k < p->active_count; k++)
        next_s = hop_min(next_s, p->end_s[p->active[k]]);
    p->ended_count = 0;
    for (uint32_t k = 0; k < p->active_count; k++) {
        uint32_t i = p->active[k];
        if (p->end_s[i] > next_s * (1 + SAME_S)) {
            p->active[kept++] = i;
            continue;
        }
        for (uint32_t u = 0; u < a->ops[i].use_count; u++)
            take(p, &a->ops[i].uses[u], 0, -1);
        p->state[i] = OVER;
        p->ended[p->ended_count++] = i;
        if (a->ops[i].queue != HOP_NONE)
            p->busy[a->ops[i].queue]--;
    }
    p->active_count = kept;
    return next_s;
}

/* The time that it takes, INFINITY: dependencies wait for each other, or it takes limit_s or more. */
static double run_pass(const struct hop_apart *a, double limit_s)
{
    double now_s = 0;
    uint32_t begun = 0;
    begin_pass(a);
    while (now_s < limit_s) {
        begin_some(a, now_s, &begun);
        if (a->pass->active_count == 0)
            return begun == a->op_count ? now_s : INFINITY;
        now_s = end_some(a);
    }
    return INFINITY;
}

static void keep(struct hop_apart *a, double value_s)
{
    a->value_s = value_s;
    memcpy(a->begun, a->pass->begun, a->op_count * sizeof *a->begun);
    memcpy(a->wait, a->pass->wait, a->op_count * sizeof *a->wait);
}

double hop_apart_search(struct hop_apart *a, uint32_t passes, uint64_t seed, double enough_s)
{
    struct hop_apart_pass *p = a->pass;
    size_t size = a->op_count * sizeof *p->preference;
    a->value_s = INFINITY;
    p->sum = SUM;
    memset(p->preference, 0, size);
    for (uint32_t k = 0; k < passes && !(a->value_s <= enough_s); k++) {
        double sum = p->sum;
        memcpy(p->kept, p->preference, size);
        if (k == BY_MOST) {
            p->sum = 0;
            memset(p->preference, 0, size);
        }
        for (uint32_t i = 0; k && k != BY_MOST && i < a->op_count; i++) {
            if (hop_draw_below(&seed, CHANGED) == 0)
                p->preference[i] = hop_draw_unit(&seed);
        }
        double value_s = run_pass(a, a->value_s * (1 + 1e-9));
        if (value_s <= a->value_s * (1 + 1e-9) && isfinite(value_s)) {
            keep(a, value_s);
            continue;
        }
        p->sum = sum;
        memcpy(p->preference, p->kept, size);
    }
    return a->value_s;
}

/* ---- of an order problem ---- */

struct hop_apart_op hop_apart_take(const struct hop_problem *problem, uint32_t index, struct hop_apart_use *uses)
{
    const struct hop_problem_op *op = &problem->ops[index];
    struct hop_apart_op made = {.queue = op->source,
                                .latency_s = op->latency_s,
                                .moves_s = op->class_index == HOP_NONE ? 0 : op->least_s - op->latency_s,
                                .uses = uses};
    for (uint32_t w = op->first_weight; made.moves_s > 0 && w < op[1].first_weight; w++) {
        const struct hop_problem_weight *weight = &problem->weights[w];
        double share = hop_min(1, weight->per_byte_s * op->bytes / made.moves_s);
        if (share > 0)
            uses[made.use_count++] = (struct hop_apart_use){weight->bound, share};
    }
    return made;
}

static enum hop_status take_ops(const struct hop_problem *problem, struct hop_apart *a, struct hop_arena *arena,
                                struct hop_diag *diag)
{
    uint32_t total = problem->ops[problem->op_count].first_weight;
    struct hop_apart_use *uses = hop_arena_alloc(arena, ((size_t)total + 1) * sizeof *uses);
    if (!uses)
        return hop_fail_memory(diag);
    for (uint32_t q = 0; q < problem->source_count; q++)
        a->at_once[q] = problem->sources[q].limit;
    for (uint32_t i = 0; i < problem->op_count; i++) {
        const struct hop_problem_op *op = &problem->ops[i];
        a->ops[i] = hop_apart_take(problem, i, uses + op->first_weight);
        a->ops[i].after = op->after;
        a->ops[i].after_start = op->after_start;
        a->ops[i].after_count = op->after_count;
        a->ops[i].after_start_count = op->after_start_count;
    }
    return HOP_OK;
}

enum hop_status hop_apart_order(const struct hop_problem *problem, uint32_t passes, uint64_t seed,
                                struct hop_sequence *sequence, struct hop_diag *diag)
{
    struct hop_apart *a;
    struct hop_arena arena = {0};
    HOP_CHECK(hop_apart_create(problem->op_count, problem->source_count, problem->bound_count, &a, diag));
    uint32_t *taken = hop_arena_alloc(&arena, ((size_t)problem->source_count + 1) * sizeof *taken);
    enum hop_status status = taken ? take_ops(problem, a, &arena, diag) : hop_fail_memory(diag);
    if (status == HOP_OK && isfinite(hop_apart_search(a, passes, seed, 0))) {
        for (uint32_t k = 0; k < problem->op_count; k++) {
            uint32_t op = a->begun[k], source = problem->ops[op].source;
            if (source == HOP_NONE)
                continue;
            sequence->order[problem->sources[source].first + taken[source]++] = op;
            sequence->after[op] = a->wait[op];
        }
    }
    hop_apart_destroy(a);
    hop_arena_finish(&arena);
    return status;
}
