/* SPDX-License-Identifier: BSD-3-Clause */
/* Compiling an order problem: the simulation's tasks, engines and routes become operations, sources, slots and classes. */
#include "order/problem.h"
#include "model/network.h"

#include <math.h>

#include "order/shares.h"
#include "order/state.h"
#include "schedule/schedule.h"
#include "simulate/simulation.h"

enum { CLASS_LIMIT = 65000 };
#define BOUNDS_SIZE (1u << 26) /* operations times bounds that are looked at first */

/* ---- compiling ---- */

static bool alike(const struct hop_problem_op *a, const struct hop_problem_op *b)
{
    return a->class_index == b->class_index && a->bytes == b->bytes && a->at_s == b->at_s && a->marked == b->marked &&
           a->after_count == b->after_count && a->after_start_count == b->after_start_count &&
           (a->after_count == 0 || memcmp(a->after, b->after, a->after_count * sizeof *a->after) == 0) &&
           (a->after_start_count == 0 ||
            memcmp(a->after_start, b->after_start, a->after_start_count * sizeof *a->after_start) == 0);
}

/* Operations that others wait for are not alike to any: it matters which of them comes first. */
static void find_alike(struct hop_problem *p, const bool *awaited)
{
    for (uint32_t s = 0; s < p->source_count; s++) {
        const uint32_t *sends = p->sends + p->sources[s].first;
        for (uint32_t i = 0; i < p->sources[s].count; i++) {
            struct hop_problem_op *op = &p->ops[sends[i]];
            for (uint32_t j = i; j-- > 0 && !awaited[sends[i]] && op->alike == HOP_NONE;) {
                if (!awaited[sends[j]] && alike(op, &p->ops[sends[j]]))
                    op->alike = sends[j];
            }
        }
    }
}

static void copy_ops(struct hop_problem *p, bool *awaited)
{
    const struct hop_simulation *s = p->simulation;
    p->simple = true;
    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct hop_op *op = hop_schedule_op(p->schedule, i);
        const struct hop_task *task = &s->tasks[i];
        bool sent =
            task->engine < p->source_count; /* memories and CPUs follow the copy engines, and have no choice to make */
        p->ops[i] = (struct hop_problem_op){.class_index = task->class_index,
                                            .source = sent ? task->engine : HOP_NONE,
                                            .memory = sent ? HOP_NONE : task->engine,
                                            .bytes = task->bytes,
                                            .latency_s = task->latency_s,
                                            .at_s = op->at_s,
                                            .after = op->after,
                                            .after_count = op->after_count,
                                            .after_start = op->after_start,
                                            .after_start_count = op->after_start_count,
                                            .alike = HOP_NONE};
        for (uint32_t d = 0; d < op->after_count; d++)
            awaited[op->after[d]] = true;
        for (uint32_t d = 0; d < op->after_start_count; d++)
            awaited[op->after_start[d]] = true;
        p->simple = p->simple && sent && hop_op_engine_place(op) == &op->from && task->latency_s == 0 &&
                    op->at_s == 0 && op->after_count == 0 && op->after_start_count == 0 && task->bytes > 0 &&
                    s->engines[task->engine].limit == 1;
    }
}

static void lay_out_slots(struct hop_problem *p)
{
    const struct hop_simulation *s = p->simulation;
    for (uint32_t e = 0; e < p->source_count; e++) {
        const struct hop_engine *engine = &s->engines[e];
        uint32_t limit = engine->limit < engine->count ? engine->limit : engine->count;
        p->sources[e] = (struct hop_problem_source){
            .node = engine->device, .limit = limit, .slot = p->slot_count, .first = engine->first,
            .count = engine->count};
        p->slot_count += limit;
        for (uint32_t i = 0; i < engine->count; i++) {
            uint32_t op = s->queue[engine->first + i];
            p->sends[engine->first + i] = op;
            p->ops[op].slot = p->sources[e].slot;
        }
    }
    for (uint32_t i = 0; i < p->op_count; i++) {
        if (p->ops[i].source == HOP_NONE)
            p->ops[i].slot = p->slot_count++;
    }
}

static void list_ats(struct hop_problem *p)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < p->op_count; i++) {
        if (p->ops[i].at_s > 0)
            p->ats[count++] = p->ops[i].at_s;
    }
    qsort(p->ats, count, sizeof *p->ats, hop_ascending_double);
    for (uint32_t i = 0; i < count; i++) {
        if (p->at_count == 0 || p->ats[i] > p->ats[p->at_count - 1])
            p->ats[p->at_count++] = p->ats[i];
    }
}

/* The state's parts, the widest first. */
void hop_problem_size_state(struct hop_problem *p)
{
    size_t slots = p->slot_count, at = hop_state_left_at() + slots * sizeof(double);
    p->word_count = (p->op_count + 63) / 64;
    p->rest_at = at;
    p->bound_room = (p->bound_count + 3) & ~3u;
    p->started_at = p->rest_at + p->bound_room * sizeof(double);
    p->ended_at = p->started_at + p->word_count * sizeof(uint64_t);
    p->op_at = p->ended_at + p->word_count * sizeof(uint64_t);
    p->flow_at = p->op_at + slots * sizeof(uint32_t);
    p->phase_at = p->flow_at + slots * sizeof(uint16_t);
    p->resting_at = p->phase_at + slots;
    p->state_size = (p->resting_at + p->source_count + 63) & ~(size_t)63;
}

static bool allocate(struct hop_problem *p)
{
    size_t ops = (size_t)p->op_count + 1;
    p->ops = hop_arena_alloc(&p->arena, ops * sizeof *p->ops);
    p->sends = hop_arena_alloc(&p->arena, ops * sizeof *p->sends);
    p->shortest = hop_arena_alloc(&p->arena, ops * sizeof *p->shortest);
    p->sources = hop_arena_alloc(&p->arena, ((size_t)p->source_count + 1) * sizeof *p->sources);
    p->classes = hop_arena_alloc(&p->arena, ((size_t)p->class_count + 1) * sizeof *p->classes);
    p->ats = hop_arena_alloc(&p->arena, ops * sizeof *p->ats);
    return !p->arena.failed;
}

static enum hop_status mark(struct hop_problem *p, const struct hop_order_options *options, struct hop_diag *diag)
{
    uint32_t original = hop_schedule_count(hop_timeline_original(p->simulation->timeline));
    for (uint32_t m = 0; p->objective == HOP_ORDER_MARKED && m < options->marked_count; m++) {
        if (options->marked[m] >= original)
            return hop_fail(diag, HOP_ERR_INVALID, "operation %u is marked, but there are %u", options->marked[m],
                            original);
        for (uint32_t i = 0; i < p->op_count; i++) {
            uint32_t parent = hop_schedule_op(p->schedule, i)->parent;
            if ((parent == HOP_NONE ? i : parent) == options->marked[m])
                p->ops[i].marked = true;
        }
    }
    for (uint32_t i = 0; i < p->op_count; i++)
        p->marked_count += p->ops[i].marked;
    if (p->objective == HOP_ORDER_MARKED && p->marked_count == 0)
        return hop_fail(diag, HOP_ERR_INVALID, "no operation is marked, and the objective is the end of marked ones");
    return HOP_OK;
}

/* ---- classes ---- */

struct class_key {
    uint32_t route; /* the simulation's class */
    bool marked;
    double bytes;
    uint32_t op;
};

static int by_class(const void *a, const void *b)
{
    const struct class_key *x = a, *y = b;
    if (x->route != y->route || x->bytes != y->bytes)
        return x->route != y->route ? HOP_ORDER(x->route, y->route) : HOP_ORDER(x->bytes, y->bytes);
    return x->marked != y->marked ? x->marked - y->marked : HOP_ORDER(x->op, y->op);
}

/* Divides the simulation's classes, which only share a route. */
static enum hop_status make_classes(struct hop_problem *p, struct hop_diag *diag)
{
    uint32_t copies = 0;
    struct class_key *keys = malloc(((size_t)p->op_count + 1) * sizeof *keys);
    if (!keys)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct hop_problem_op *op = &p->ops[i];
        if (op->class_index != HOP_NONE)
            keys[copies++] = (struct class_key){op->class_index, op->marked, op->bytes, i};
    }
    qsort(keys, copies, sizeof *keys, by_class);
    p->class_count = 0;
    for (uint32_t i = 0; i < copies; i++) {
        bool same = i > 0 && keys[i].route == keys[i - 1].route && keys[i].bytes == keys[i - 1].bytes &&
                    keys[i].marked == keys[i - 1].marked;
        if (!same) {
            const struct hop_class *class = &p->simulation->timeline->classes[keys[i].route];
            p->classes[p->class_count++] = (struct hop_problem_class){
                .from = class->way->from, .to = class->way->to, .route = class->route, .op = keys[i].op};
        }
        p->ops[keys[i].op].class_index = p->class_count - 1;
    }
    free(keys);
    return HOP_OK;
}

/* The least time that an operation can take. */
static enum hop_status find_least(struct hop_problem *p, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < p->op_count; i++) {
        struct hop_problem_op *op = &p->ops[i];
        op->least_s = op->latency_s;
        if (op->class_index == HOP_NONE)
            continue;
        const struct hop_route *way = hop_timeline_route(p->simulation->timeline, i);
        double most = hop_min(way->capacity_Bps, way->ceiling_Bps);
        for (uint32_t l = 0; p->clean && l < way->link_count; l++) {
            double wire;
            enum hop_status status =
                hop_network_wire(p->network, p->classes[op->class_index].route, l, &wire, diag);
            if (status != HOP_OK)
                return status;
            const struct hop_link *link = hop_topology_link(p->topology, way->links[l] / 2);
            most = hop_min(most, link->capacity_Bps[way->links[l] & 1] / wire);
        }
        op->least_s += op->bytes / most;
    }
    return HOP_OK;
}

/* Insertion sort: sources have few sends, and few of them out of order. */
static void sort_shortest(struct hop_problem *p)
{
    for (uint32_t s = 0; s < p->source_count; s++) {
        uint32_t *sorted = p->shortest + p->sources[s].first;
        for (uint32_t i = 0; i < p->sources[s].count; i++) {
            uint32_t op = p->sends[p->sources[s].first + i], at = i;
            for (; at > 0 && p->ops[sorted[at - 1]].least_s > p->ops[op].least_s; at--)
                sorted[at] = sorted[at - 1];
            sorted[at] = op;
        }
    }
}

/* ---- bounds ---- */

/* Rows of weights, one a bound; rows that another one exceeds everywhere are of no use. */
struct rows {
    double *weight; /* seconds per byte, then, in another row, of the latency */
    uint32_t count, ops;
};

static bool make_rows(struct rows *rows, size_t count, uint32_t ops)
{
    *rows = (struct rows){calloc(2 * count * ops + 1, sizeof(double)), 0, ops};
    return rows->weight != NULL;
}

static double *bytes_of(const struct rows *rows, size_t row)
{
    return rows->weight + 2 * row * rows->ops;
}

static double *late_of(const struct rows *rows, size_t row)
{
    return bytes_of(rows, row) + rows->ops;
}

/* Of a row, what an operation weighs; false: nothing. */
static bool weighs(const struct hop_problem *p, const struct rows *rows, uint32_t b, uint32_t i,
                   struct hop_problem_weight *weight)
{
    *weight = (struct hop_problem_weight){b, bytes_of(rows, b)[i], late_of(rows, b)[i]};
    return (weight->per_byte_s != 0 || weight->late_s != 0) && p->ops[i].class_index != HOP_NONE;
}

/* Replaces the problem's bounds. */
static enum hop_status set_bounds(struct hop_problem *p, const struct rows *rows, struct hop_diag *diag)
{
    uint32_t *next = calloc((size_t)p->op_count + 1, sizeof *next), used = 0; /* of each operation, its next weight */
    double *total = calloc((size_t)rows->count + 1, sizeof *total);
    struct hop_problem_weight weight, *weights = NULL;
    for (uint32_t b = 0; next && b < rows->count; b++) { /* row by row, as they lie */
        for (uint32_t i = 0; i < p->op_count; i++)
            next[i] += weighs(p, rows, b, i, &weight);
    }
    for (uint32_t i = 0; next && i <= p->op_count; i++) {
        uint32_t count = next[i];
        p->ops[i].first_weight = next[i] = used;
        used += count;
    }
    weights = malloc(((size_t)used + 1) * sizeof *weights);
    bool fine = next && total && weights;
    for (uint32_t b = 0; fine && b < rows->count; b++) {
        for (uint32_t i = 0; i < p->op_count; i++) {
            if (!weighs(p, rows, b, i, &weight))
                continue;
            weights[next[i]++] = weight;
            total[b] += weight.per_byte_s * p->ops[i].bytes + weight.late_s;
        }
    }
    free(next);
    free(p->weights);
    free(p->total);
    p->weights = weights;
    p->total = total;
    p->bound_count = rows->count;
    hop_problem_size_state(p);
    fine = fine && (p->objective != HOP_ORDER_MEAN || hop_shares_find(p, &p->shares));
    return fine ? HOP_OK : hop_fail_memory(diag);
}

enum hop_status hop_problem_add_bound(struct hop_problem *p, const double *y, const double *late, struct hop_diag *diag)
{
    struct rows rows;
    if (!make_rows(&rows, p->bound_count + (size_t)1, p->op_count))
        return hop_fail_memory(diag);
    rows.count = p->bound_count + 1;
    for (uint32_t i = 0; i < p->op_count; i++) {
        for (uint32_t w = p->ops[i].first_weight; w < p->ops[i + 1].first_weight; w++) {
            /* The new one stands behind the valid ones, before those that only guide. */
            uint32_t bound = p->weights[w].bound + (p->weights[w].bound >= p->valid_count);
            bytes_of(&rows, bound)[i] = p->weights[w].per_byte_s;
            late_of(&rows, bound)[i] = p->weights[w].late_s;
        }
        bytes_of(&rows, p->valid_count)[i] = p->ops[i].bytes > 0 ? y[i] / p->ops[i].bytes : 0;
        late_of(&rows, p->valid_count)[i] = late[i];
    }
    p->valid_count++;
    enum hop_status status = set_bounds(p, &rows, diag);
    free(rows.weight);
    return status;
}

/* first: of row b, before which it is 0. */
static bool covers(const struct rows *rows, uint32_t a, uint32_t b, uint32_t first)
{
    const double *x = bytes_of(rows, a), *y = bytes_of(rows, b);
    for (uint32_t i = first; i < 2 * rows->ops; i++) {
        if (x[i] < y[i] * (1 - 1e-12))
            return false;
    }
    return true;
}

/* *first: how many of the first rows there are, before and after. */
static void drop_covered(struct rows *rows, uint32_t *first)
{
    uint32_t kept = 0, count = *first;
    for (uint32_t b = 0; b < rows->count; b++) {
        uint32_t begin = 0; /* most rows are told apart there */
        if (b == count)
            *first = kept;
        while (begin < 2 * rows->ops && bytes_of(rows, b)[begin] == 0)
            begin++;
        bool needed = true;
        for (uint32_t a = 0; a < kept && needed; a++)
            needed = !covers(rows, a, b, begin);
        if (needed) {
            memmove(bytes_of(rows, kept), bytes_of(rows, b), 2 * rows->ops * sizeof(double));
            kept++;
        }
    }
    if (count == rows->count)
        *first = kept;
    rows->count = kept;
}

static enum hop_status add_link_loads(const struct hop_problem *p, const struct hop_problem *base, struct rows *rows,
                                      struct hop_diag *diag)
{
    struct hop_router *router = hop_network_router(base->network);
    for (uint32_t i = 0; i < p->op_count; i++) {
        const struct hop_problem_op *op = &p->ops[i];
        if (op->class_index == HOP_NONE)
            continue;
        const struct hop_problem_class *class = &p->classes[op->class_index];
        for (uint32_t w = 0; w < (class->ways ? class->ways : 1); w++) {
            uint32_t route = class->ways ? base->classes[p->ways[class->first_way + w]].route : class->route;
            const struct hop_route *way = hop_router_route(router, route);
            for (uint32_t l = 0; l < way->link_count; l++) {
                double wire,
                    capacity = hop_topology_link(p->topology, way->links[l] / 2)->capacity_Bps[way->links[l] & 1];
                enum hop_status status = hop_network_wire(base->network, route, l, &wire, diag);
                if (status != HOP_OK)
                    return status;
                bytes_of(rows, rows->count + (size_t)way->links[l])[i] += wire / capacity;
            }
        }
    }
    rows->count += 2 * hop_topology_link_count(p->topology);
    return HOP_OK;
}

static enum hop_status add_bounds(struct hop_problem *p, struct hop_diag *diag)
{
    const struct hop_problem *base = p->whole ? p->whole : p;
    size_t most = (size_t)p->source_count + 2 * (size_t)hop_topology_link_count(p->topology);
    struct rows rows;
    if (!make_rows(&rows, most, p->op_count))
        return hop_fail_memory(diag);
    for (uint32_t s = 0; s < p->source_count; s++, rows.count++) {
        for (uint32_t i = 0; i < p->sources[s].count; i++) {
            uint32_t op = p->sends[p->sources[s].first + i], limit = p->sources[s].limit;
            late_of(&rows, rows.count)[op] = p->ops[op].latency_s / limit;
            if (p->ops[op].bytes > 0)
                bytes_of(&rows, rows.count)[op] =
                    (p->ops[op].least_s - p->ops[op].latency_s) / p->ops[op].bytes / limit;
        }
    }
    uint32_t valid = rows.count;
    enum hop_status status = add_link_loads(p, base, &rows, diag);
    for (uint32_t i = 0; p->objective == HOP_ORDER_MARKED && i < p->op_count; i++) {
        for (uint32_t b = 0; b < rows.count && !p->ops[i].marked; b++)
            bytes_of(&rows, b)[i] = late_of(&rows, b)[i] = 0;
    }
    if (status == HOP_OK) {
        drop_covered(&rows, &valid);
        if (rows.count > HOP_BOUNDS_MAX) /* the sources' come first, then the links in the topology's order */
            rows.count = HOP_BOUNDS_MAX;
        p->valid_count = p->clean || valid > rows.count ? rows.count : valid;
        status = set_bounds(p, &rows, diag);
    }
    free(rows.weight);
    return status;
}

/* ---- all together ---- */

/* Whether any source sends one after another. */
static bool has_order(const struct hop_problem *p)
{
    bool any = false;
    for (uint32_t s = 0; s < p->source_count; s++)
        any = any || p->sources[s].count > 1;
    return any;
}

static enum hop_status check(const struct hop_problem *p, struct hop_diag *diag)
{
    const char *name = hop_schedule_name(p->schedule);
    if (p->class_count > CLASS_LIMIT || p->op_count > UINT32_MAX / 4) {
        hop_fail(diag, HOP_ERR_LIMIT, "%u different routes to order\nat most %d", p->class_count, CLASS_LIMIT);
    } else if (hop_schedule_queue_ready(p->schedule)) {
        return hop_fail(diag, HOP_ERR_INVALID,
                        "schedule %s says `queue ready`: its sources take what is ready first, so there is no order to "
                        "choose\na schedule without that line, which GOAL programs and Chakra traces always have",
                        name);
    } else if (!p->or_given && !has_order(p)) {
        return hop_fail(diag, HOP_ERR_INVALID,
                        "nothing to order in schedule %s: no source engine has two transfers that it sends one after "
                        "another\nseveral transfers from one device over PCIe (NVLink sends all at once; `--set "
                        "NODE.engines=1` limits a device's PCIe engines)",
                        name);
    } else {
        return HOP_OK;
    }
    return HOP_ERR_LIMIT;
}

/* Bounds that would take much memory are left out where the given order is the only one. */
static enum hop_status fill(struct hop_problem *p, const struct hop_order_options *options, struct hop_diag *diag)
{
    bool *awaited = hop_arena_alloc(&p->arena, (size_t)p->op_count + 1);
    if (!allocate(p) || !awaited)
        return hop_fail_memory(diag);
    copy_ops(p, awaited);
    lay_out_slots(p);
    list_ats(p);
    HOP_CHECK(mark(p, options, diag));
    HOP_CHECK(make_classes(p, diag));
    find_alike(p, awaited);
    HOP_CHECK(check(p, diag));
    HOP_CHECK(find_least(p, diag));
    sort_shortest(p);
    const struct rows none = {.ops = p->op_count};
    size_t size = (size_t)p->op_count * (p->source_count + 2 * (size_t)hop_topology_link_count(p->topology));
    return size > BOUNDS_SIZE && !has_order(p) ? set_bounds(p, &none, diag) : add_bounds(p, diag);
}

static enum hop_status compile(struct hop_problem *p, const struct hop_schedule *schedule,
                               const struct hop_order_options *options, struct hop_diag *diag)
{
    const struct hop_simulate_options simulate = {.detail = HOP_DETAIL_NONE};
    HOP_CHECK(hop_network_create(p->topology, p->models, &p->network, diag));
    HOP_CHECK(hop_simulation_create(p->network, schedule, &simulate, &p->simulation, diag));
    p->schedule = hop_timeline_schedule(p->simulation->timeline);
    p->op_count = p->simulation->count;
    p->source_count = p->simulation->source_count;
    p->class_count = p->op_count; /* at most */
    return fill(p, options, diag);
}

enum hop_status hop_problem_create(const struct hop_topology *topology, const struct hop_schedule *schedule,
                                   const struct hop_order_options *options, struct hop_problem **problem,
                                   struct hop_diag *diag)
{
    struct hop_problem *p = calloc(1, sizeof *p);
    if (!p)
        return hop_fail_memory(diag);
    p->topology = topology;
    p->models = options->models;
    p->objective = options->objective;
    p->clean = !options->allow_unclean;
    p->or_given = options->or_given;
    enum hop_status status = compile(p, schedule, options, diag);
    if (status == HOP_OK)
        *problem = p;
    else
        hop_problem_destroy(p);
    return status;
}

void hop_problem_destroy(struct hop_problem *p)
{
    if (!p)
        return;
    hop_simulation_destroy(p->simulation);
    hop_network_destroy(p->network);
    free(p->weights);
    free(p->total);
    hop_arena_finish(&p->arena);
    free(p);
}

/* ---- quotients ---- */

static enum hop_status quotient_ops(struct hop_problem *q, const uint32_t *images, uint32_t order,
                                    struct hop_diag *diag)
{
    const struct hop_problem *whole = q->whole;
    uint32_t *source_of = hop_arena_alloc(&q->arena, ((size_t)whole->source_count + 1) * sizeof *source_of);
    q->ways = hop_arena_alloc(&q->arena, (size_t)(whole->op_count + 1) * sizeof *q->ways);
    bool *taken = hop_arena_alloc(&q->arena, (size_t)whole->op_count + 1);
    if (!source_of || !q->ways || !taken)
        return hop_fail_memory(diag);
    memset(source_of, 0xff, whole->source_count * sizeof *source_of);
    uint32_t ways = 0;
    for (uint32_t s = 0; s < whole->source_count; s++) {
        const struct hop_problem_source *source = &whole->sources[s];
        if (source->count == 0 || source_of[s] != HOP_NONE)
            continue;
        struct hop_problem_source *made = &q->sources[q->source_count];
        *made = (struct hop_problem_source){.node = source->node, .limit = 1, .slot = q->slot_count++, .first = q->op_count, .count = source->count};
        for (uint32_t i = 0; i < source->count; i++) {
            uint32_t op = whole->sends[source->first + i], mine = q->op_count++;
            q->ops[mine] = whole->ops[op];
            q->ops[mine].source = q->source_count;
            q->ops[mine].slot = made->slot;
            q->ops[mine].class_index = q->class_count;
            q->ops[mine].alike = HOP_NONE;
            q->sends[mine] = mine;
            q->classes[q->class_count] = whole->classes[whole->ops[op].class_index];
            q->classes[q->class_count].first_way = ways;
            q->classes[q->class_count].op = mine;
            q->classes[q->class_count++].ways = order;
            for (uint32_t g = 0; g < order; g++) {
                uint32_t image = images[(size_t)g * whole->op_count + op];
                if (taken[image])
                    return hop_fail(diag, HOP_ERR_INVALID, "a symmetry maps a source to itself");
                taken[image] = true;
                source_of[whole->ops[image].source] = q->source_count;
                q->ways[ways++] = whole->ops[image].class_index;
                q->ops[mine].marked = q->ops[mine].marked || whole->ops[image].marked;
            }
            /* Sends that are alike in the whole share a class here, too, or the orbits would differ only in their number. */
            for (uint32_t j = 0; j < i; j++) {
                if (whole->ops[op].alike == whole->sends[source->first + j]) {
                    q->ops[mine].alike = made->first + j;
                    q->ops[mine].class_index = q->ops[made->first + j].class_index;
                    q->class_count--;
                    ways -= order;
                }
            }
        }
        q->source_count++;
    }
    for (uint32_t i = 0; i < q->op_count; i++)
        q->marked_count += q->ops[i].marked;
    return HOP_OK;
}

enum hop_status hop_problem_quotient(const struct hop_problem *whole, const uint32_t *images, uint32_t order,
                                     struct hop_problem **quotient, struct hop_diag *diag)
{
    struct hop_problem *q = calloc(1, sizeof *q);
    if (!q)
        return hop_fail_memory(diag);
    *q = (struct hop_problem){.topology = whole->topology, .models = whole->models, .schedule = whole->schedule,
                              .objective = whole->objective, .clean = whole->clean, .simple = true, .whole = whole};
    q->op_count = whole->op_count;
    q->source_count = whole->source_count;
    q->class_count = whole->op_count; /* at most */
    enum hop_status status = allocate(q) ? HOP_OK : hop_fail_memory(diag);
    q->op_count = q->source_count = q->class_count = 0;
    if (status == HOP_OK)
        status = quotient_ops(q, images, order, diag);
    if (status == HOP_OK) {
        sort_shortest(q);
        status = add_bounds(q, diag);
    }
    if (status == HOP_OK)
        *quotient = q;
    else
        hop_problem_destroy(q);
    return status;
}

/* ---- merging ---- */

/* The merged send of a source that goes the way of op; it is made at its first use. */
static uint32_t merged_send(struct hop_problem *m, const struct hop_problem *p, uint32_t op)
{
    const struct hop_problem_class *class = &p->classes[p->ops[op].class_index];
    struct hop_problem_source *source = &m->sources[m->source_count - 1];
    for (uint32_t i = source->first; i < m->op_count; i++) {
        if (m->classes[i].route == class->route)
            return i;
    }
    uint32_t made = m->op_count++;
    m->ops[made] = (struct hop_problem_op){.class_index = made,
                                           .source = m->source_count - 1,
                                           .memory = HOP_NONE,
                                           .slot = source->slot,
                                           .alike = HOP_NONE};
    m->classes[made] = (struct hop_problem_class){class->from, class->to, class->route, made, 0, 0};
    m->sends[made] = made;
    source->count++;
    return made;
}

enum hop_status hop_problem_merge(const struct hop_problem *p, uint32_t *into, struct hop_problem **merged,
                                  struct hop_diag *diag)
{
    *merged = NULL;
    memset(into, 0xff, p->op_count * sizeof *into);
    for (uint32_t op = 0; op < p->op_count; op++) {
        bool alone = p->ops[op].source != HOP_NONE && p->sources[p->ops[op].source].limit == 1;
        if (p->ops[op].class_index != HOP_NONE && p->ops[op].bytes > 0 && !alone)
            return HOP_OK;
    }
    struct hop_problem *m = calloc(1, sizeof *m);
    if (!m)
        return hop_fail_memory(diag);
    *m = (struct hop_problem){
        .topology = p->topology, .models = p->models, .schedule = p->schedule, .clean = p->clean, .simple = true};
    m->op_count = m->class_count = p->op_count; /* at most */
    m->source_count = p->source_count;
    if (!allocate(m)) {
        hop_problem_destroy(m);
        return hop_fail_memory(diag);
    }
    m->op_count = m->source_count = 0;
    for (uint32_t s = 0; s < p->source_count; s++) {
        m->sources[m->source_count] = (struct hop_problem_source){
            .node = p->sources[s].node, .limit = 1, .slot = m->source_count, .first = m->op_count};
        m->source_count++;
        for (uint32_t i = p->sources[s].first; i < p->sources[s].first + p->sources[s].count; i++) {
            uint32_t op = p->sends[i];
            if (p->ops[op].bytes > 0) {
                into[op] = merged_send(m, p, op);
                m->ops[into[op]].bytes += p->ops[op].bytes;
            }
        }
        m->source_count -= m->sources[m->source_count - 1].count == 0;
    }
    m->class_count = m->op_count;
    m->slot_count = m->source_count;
    hop_problem_size_state(m);
    if (m->op_count)
        *merged = m;
    else
        hop_problem_destroy(m);
    return HOP_OK;
}

double hop_problem_orders(const struct hop_problem *p)
{
    double orders = 1;
    for (uint32_t s = 0; s < p->source_count; s++)
        orders *= tgamma(p->sources[s].count + 1.0);
    return orders;
}

double hop_problem_alike(const struct hop_problem *p)
{
    double alike = 1;
    for (uint32_t i = 0; i < p->op_count; i++) {
        double before = 1; /* itself and those before it that are like it */
        for (uint32_t op = p->ops[i].alike; op != HOP_NONE; op = p->ops[op].alike)
            before++;
        alike *= before;
    }
    return alike;
}
