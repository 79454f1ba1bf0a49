/* SPDX-License-Identifier: BSD-3-Clause */
/* Brute force for orders: see brute_order.h. */
#include "oracle/brute_order.h"

#undef NDEBUG /* it checks itself in every build */
#include <assert.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPS = 40, SOURCES = 16, SEGMENTS = 256 };
/* ---- chance ---- */

uint64_t order_random(uint64_t *seed)
{
    uint64_t x = *seed += 0x9e3779b97f4a7c15u;
    x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
    x = (x ^ x >> 27) * 0x94d049bb133111ebu;
    return x ^ x >> 31;
}

uint32_t order_pick(uint64_t *seed, uint32_t count)
{
    return (uint32_t)(order_random(seed) % count);
}

static bool chance(uint64_t *seed, uint32_t one_in)
{
    return order_pick(seed, one_in) == 0;
}

static double fraction(uint64_t *seed)
{
    return (double)(order_random(seed) >> 11) * 0x1p-53;
}

/* ---- machines ---- */

struct maker {
    struct hop_topology *topology;
    uint64_t seed;
    enum case_kind kind;
    int capacities; /* 0: all equal, 1: steps, 2: any */
    uint32_t gpus, hosts;
    bool many; /* sends */
    char *text;
    size_t used;
};

static void say(struct maker *m, const char *format, ...)
{
    va_list list;
    va_start(list, format);
    int length = vsnprintf(m->text + m->used, CASE_TEXT - m->used, format, list);
    va_end(list);
    assert(length >= 0 && m->used + (size_t)length < CASE_TEXT);
    m->used += (size_t)length;
}

static uint32_t add_node(struct maker *m, enum hop_node_kind kind, const char *name, uint32_t number, int engines)
{
    char full[32];
    uint32_t index;
    (void)snprintf(full, sizeof full, "%s%u", name, number);
    struct hop_node node = hop_node_default(kind, full);
    node.engines = engines;
    enum hop_status status = hop_topology_add_node(m->topology, &node, &index, NULL);
    assert(status == HOP_OK);
    if (engines != HOP_ENGINES_DEFAULT)
        say(m, "# %s.engines=%d\n", full, engines);
    return index;
}

static double capacity(struct maker *m)
{
    static const double steps[] = {5e9, 1e10, 2e10};
    return m->capacities == 0 ? 1e10 : m->capacities == 1 ? steps[order_pick(&m->seed, 3)] : 4e9 + 2e10 * fraction(&m->seed);
}

static void add_link(struct maker *m, enum hop_link_kind kind, uint32_t from, uint32_t to, double latency_s)
{
    struct hop_link link = hop_link_default(kind, from, to);
    link.capacity_Bps[0] = capacity(m);
    link.capacity_Bps[1] = m->capacities == 2 ? capacity(m) : link.capacity_Bps[0];
    link.latency_s = latency_s;
    say(m, "# %s -- %s: %.17g %.17g B/s, %g s\n", hop_topology_node(m->topology, from)->name,
        hop_topology_node(m->topology, to)->name, link.capacity_Bps[0], link.capacity_Bps[1], latency_s);
    enum hop_status status = hop_topology_add_link(m->topology, &link, NULL, NULL);
    assert(status == HOP_OK);
}

static void add_gpus(struct maker *m, uint32_t parent, uint32_t count, double latency_s)
{
    for (uint32_t i = 0; i < count; i++) {
        bool several = m->kind == CASE_ANY && chance(&m->seed, 6);
        int engines = several ? (int)order_pick(&m->seed, 4) : HOP_ENGINES_DEFAULT;
        uint32_t gpu = add_node(m, HOP_NODE_GPU, "gpu", m->gpus++, engines);
        add_link(m, HOP_LINK_PCIE, gpu, parent, latency_s);
    }
}

static uint32_t add_switch(struct maker *m, uint32_t parent, double latency_s)
{
    uint32_t plx = add_node(m, HOP_NODE_SWITCH, "plx", hop_topology_node_count(m->topology), HOP_ENGINES_DEFAULT);
    add_link(m, HOP_LINK_PCIE, plx, parent, latency_s);
    return plx;
}

/* One or two roots (or one switch at the top); below each one GPU, or switches with GPUs or with switches with GPUs. */
static void make_machine(struct maker *m)
{
    static const double taus[] = {0.2, 0.2, 0.17355, 0, 0.4};
    bool any = m->kind == CASE_ANY;
    m->topology = hop_topology_create("random");
    double latency_s = any && chance(&m->seed, 3) ? 1e-3 * fraction(&m->seed) : 0;
    double tau = taus[order_pick(&m->seed, 5)];
    uint32_t shape = order_pick(&m->seed, 5), tops = shape < 2 ? 2 : 1, top[2];
    m->capacities = (int)order_pick(&m->seed, 3);
    say(m, "# tau %g\n", tau);
    for (uint32_t t = 0; t < tops; t++) {
        top[t] = add_node(m, shape == 4 ? HOP_NODE_SWITCH : HOP_NODE_ROOT, "top", t, HOP_ENGINES_DEFAULT);
        if (shape != 4 && any && chance(&m->seed, 2))
            add_link(m, HOP_LINK_MEMORY, add_node(m, HOP_NODE_HOST, "host", m->hosts++, HOP_ENGINES_DEFAULT), top[t],
                     latency_s);
        uint32_t children = 1 + (tops == 1) + order_pick(&m->seed, 2);
        for (uint32_t c = 0; c < children; c++) {
            bool deep = chance(&m->seed, 2);
            if (chance(&m->seed, 4)) {
                add_gpus(m, top[t], 1, latency_s);
                continue;
            }
            uint32_t plx = add_switch(m, top[t], latency_s);
            add_gpus(m, deep ? add_switch(m, plx, latency_s) : plx, 1 + order_pick(&m->seed, 3), latency_s);
            if (deep)
                add_gpus(m, add_switch(m, plx, latency_s), 1 + order_pick(&m->seed, 2), latency_s);
        }
    }
    if (tops == 2)
        add_link(m, HOP_LINK_SOCKET, top[0], top[1], latency_s);
    enum hop_status status = hop_topology_finish(m->topology, NULL);
    assert(status == HOP_OK);
    status = hop_topology_set_parameter(m->topology, "tau", tau, "test", NAN, NULL);
    assert(status == HOP_OK);
}

/* The printed machine: with all of its GPUs sending, its links often carry too much. */
static void load_t2(struct maker *m)
{
    enum hop_status status = hop_topology_load("t2", &m->topology, NULL);
    assert(status == HOP_OK);
    status = hop_topology_set_parameter(m->topology, "tau", 0.2, "test", NAN, NULL);
    assert(status == HOP_OK);
    m->gpus = 8;
    m->many = true;
    say(m, "# t2, tau 0.2\n");
}

/* ---- schedules ---- */

static void say_device(struct maker *m, uint32_t device)
{
    say(m, device < m->gpus ? "gpu%u" : "host%u", device < m->gpus ? device : device - m->gpus);
}

static void say_clauses(struct maker *m, uint32_t op, uint32_t ops)
{
    if (m->kind != CASE_ANY)
        return;
    if (chance(&m->seed, 8))
        say(m, " at %ums", 5 * (1 + order_pick(&m->seed, 8)));
    bool forward = chance(&m->seed, 20) && op + 1 < ops; /* on an operation that is yet to come */
    if ((op > 0 && chance(&m->seed, 4)) || forward)
        say(m, " after o%u", forward ? op + 1 + order_pick(&m->seed, ops - op - 1) : order_pick(&m->seed, op));
    if (op > 0 && chance(&m->seed, 10))
        say(m, " after-start o%u", order_pick(&m->seed, op));
}

/* Copies, mostly of few sources, often of one size, some like the one before. */
static void say_schedule(struct maker *m)
{
    uint32_t ops = (m->many ? 7 : 2) + order_pick(&m->seed, m->kind == CASE_ANY ? 7 : 10), devices = m->gpus + (m->kind == CASE_ANY ? m->hosts : 0);
    uint32_t from = 0, to = 0, sizes = order_pick(&m->seed, 3), among = devices > 3 && !m->many && chance(&m->seed, 3) ? 3 : devices;
    uint64_t bytes = 100000000;
    bool any = m->kind == CASE_ANY;
    for (uint32_t i = 0; i < ops; i++) {
        say(m, "o%u: ", i);
        if (any && chance(&m->seed, 10)) {
            say(m, "work gpu%u %ums", order_pick(&m->seed, m->gpus), chance(&m->seed, 4) ? 0 : 5 * (1 + order_pick(&m->seed, 4)));
        } else if (any && chance(&m->seed, 12)) {
            uint32_t gpu = order_pick(&m->seed, m->gpus);
            say(m, "reduce sum f32 gpu%u:x gpu%u:y -> gpu%u:x %uMB", gpu, gpu, gpu, 4 * order_pick(&m->seed, 1000));
        } else {
            if (i == 0 || !chance(&m->seed, 4)) {
                from = order_pick(&m->seed, among);
                to = (from + 1 + order_pick(&m->seed, devices - 1)) % devices;
                bytes = sizes == 0   ? 100000000
                        : sizes == 1 ? 50000000 * (1 + (uint64_t)order_pick(&m->seed, 4))
                                     : 1 + order_pick(&m->seed, 300000000);
                bytes = any && chance(&m->seed, 12) ? 0 : bytes;
            }
            say_device(m, from);
            say(m, " -> ");
            say_device(m, to);
            say(m, " %llu", (unsigned long long)bytes);
            if (m->hosts && bytes > 0 && from < m->gpus && to < m->gpus && chance(&m->seed, 12))
                say(m, chance(&m->seed, 2) ? " via staged" : " via staged %llu", (unsigned long long)(bytes + 1) / 2);
        }
        say_clauses(m, i, ops);
        say(m, "\n");
    }
}

static void choose_options(struct order_case *c, uint64_t *seed)
{
    static const char *const models[] = {"pcie", "pcie", "pcie", "credit", "fair"};
    uint32_t ops = hop_schedule_count(c->schedule);
    c->options = (struct hop_order_options){.models = models[order_pick(seed, 5)], .threads = 1, .no_waits = true};
    c->near = strcmp(c->options.models, "credit") == 0 ? 1e-6 : 1e-8; /* credit iterates to 1e-7 */
    c->options.objective = (enum hop_order_objective)(chance(seed, 2) ? 0 : 1 + order_pick(seed, 2));
    if (c->options.objective != HOP_ORDER_MARKED)
        return;
    for (uint32_t i = 0; i < ops && c->options.marked_count < CASE_MARKS; i++) {
        if (chance(seed, 3))
            c->marked[c->options.marked_count++] = i;
    }
    if (c->options.marked_count == 0)
        c->marked[c->options.marked_count++] = order_pick(seed, ops);
    c->options.marked = c->marked;
}

static double count_orders(const struct order_case *c);

void order_case_make(struct order_case *c, uint64_t seed, enum case_kind kind, double most)
{
    for (uint64_t attempt = 0;; attempt++) {
        struct maker m = {.seed = seed + (attempt << 32), .kind = kind, .text = c->text};
        memset(c, 0, sizeof *c);
        if (chance(&m.seed, 3))
            load_t2(&m);
        else
            make_machine(&m);
        c->topology = m.topology;
        size_t machine = m.used;
        if (m.gpus > 1) {
            say_schedule(&m);
            enum hop_status status =
                hop_schedule_parse("case", c->text + machine, m.used - machine, &c->schedule, NULL);
            if (status == HOP_OK) { /* else its dependencies form a cycle */
                choose_options(c, &m.seed);
                c->orders = count_orders(c);
                struct order_value value;
                if (c->orders > 1 && c->orders <= most && order_simulate(c, c->schedule, &value))
                    break;
            }
        }
        order_case_finish(c);
    }
    int used = snprintf(c->title, sizeof c->title, "seed %llu, kind %d, %s, objective %d, marked", (unsigned long long)seed,
                        (int)kind, c->options.models, (int)c->options.objective);
    for (uint32_t i = 0; i < c->options.marked_count; i++)
        used += snprintf(c->title + used, sizeof c->title - (size_t)used, " %u", c->marked[i]);
}

void order_case_finish(struct order_case *c)
{
    hop_topology_destroy(c->topology);
    hop_schedule_destroy(c->schedule);
    c->topology = NULL;
    c->schedule = NULL;
}

/* "gpu3" becomes the name of the GPU that stands for it. */
static void move_place(struct hop_place *place, const uint32_t *at, char *name)
{
    unsigned gpu;
    if (place->device && sscanf(place->device, "gpu%u", &gpu) == 1) {
        (void)snprintf(name, 32, "gpu%u", at[gpu]);
        place->device = name;
    }
}

void order_case_move(const struct order_case *c, const uint32_t *at, struct order_case *moved)
{
    *moved = *c;
    moved->schedule = hop_schedule_create("moved");
    for (uint32_t i = 0; i < hop_schedule_count(c->schedule); i++) {
        struct hop_op op = *hop_schedule_op(c->schedule, i);
        struct hop_place inputs[8];
        char names[10][32];
        move_place(&op.from, at, names[0]);
        move_place(&op.to, at, names[1]);
        assert(op.input_count <= 8 && op.output_count == 0);
        for (uint32_t k = 0; k < op.input_count; k++) {
            inputs[k] = op.inputs[k];
            move_place(&inputs[k], at, names[2 + k]);
        }
        op.inputs = inputs;
        op.line = 0;
        (void)hop_schedule_add(moved->schedule, &op);
    }
    enum hop_status status = hop_schedule_finish(moved->schedule, &moved->schedule, NULL);
    assert(status == HOP_OK);
    moved->orders = count_orders(moved);
}

/* ---- one order ---- */

struct way_wire {
    const struct hop_route *route;
    double weight[16]; /* of each link, per byte */
};

/* A byte weighs 1, and 1 / (1 - tau) on each way out of a root complex once the transfer has crossed one; memory
 * hangs inside. */
static void weigh(const struct order_case *c, const struct hop_route *route, struct way_wire *way)
{
    bool lossy = strcmp(c->options.models, "fair") != 0, by_port = false, crossed = false;
    double tau = 0;
    way->route = route;
    assert(route->link_count <= 16);
    for (uint32_t l = 0; l < route->link_count; l++) {
        const struct hop_link *link = hop_topology_link(c->topology, route->links[l] / 2);
        uint32_t tail = link->ends[route->links[l] & 1];
        bool out = hop_topology_node(c->topology, tail)->kind == HOP_NODE_ROOT && link->kind != HOP_LINK_MEMORY;
        if (out && by_port && !crossed) {
            crossed = true;
            tau = hop_topology_tau(c->topology, tail);
        }
        way->weight[l] = lossy && crossed && out ? 1 / (1 - tau) : 1;
        by_port = link->kind != HOP_LINK_MEMORY;
    }
}

struct piece {
    double start_s, end_s, rate_Bps;
    uint32_t op;
};

static double fullest_of(const struct order_case *c, const struct hop_timeline *timeline)
{
    static struct piece pieces[OPS * SEGMENTS];
    static struct way_wire ways[OPS];
    struct hop_segment segments[SEGMENTS];
    uint32_t count = hop_schedule_count(hop_timeline_schedule(timeline)), n = 0;
    double fullest = 0;
    for (uint32_t op = 0; op < count; op++) {
        const struct hop_route *route = hop_timeline_route(timeline, op);
        if (!route)
            continue;
        weigh(c, route, &ways[op]);
        uint32_t all = hop_timeline_segments(timeline, op, segments, SEGMENTS);
        assert(all <= SEGMENTS);
        for (uint32_t s = 0; s < all; s++) {
            if (segments[s].rate_Bps > 0)
                pieces[n++] = (struct piece){segments[s].start_s, segments[s].end_s, segments[s].rate_Bps, op};
        }
    }
    for (uint32_t i = 0; i < n; i++) { /* the highest load of a link begins with some piece */
        double at_s = pieces[i].start_s, load[256] = {0};
        for (uint32_t k = 0; k < n; k++) {
            if (pieces[k].start_s > at_s || pieces[k].end_s <= at_s)
                continue;
            const struct way_wire *way = &ways[pieces[k].op];
            for (uint32_t l = 0; l < way->route->link_count; l++) {
                uint32_t directed = way->route->links[l];
                assert(directed < 256);
                load[directed] += way->weight[l] * pieces[k].rate_Bps /
                                  hop_topology_link(c->topology, directed / 2)->capacity_Bps[directed & 1];
                fullest = fmax(fullest, load[directed]);
            }
        }
    }
    return fullest;
}

static bool is_marked(const struct order_case *c, uint32_t op)
{
    for (uint32_t m = 0; m < c->options.marked_count; m++) {
        if (c->options.marked[m] == op)
            return true;
    }
    return false;
}

/* Marks are by name, as orders put operations elsewhere; a part of a staged copy counts as the copy. */
static bool counts_as_marked(const struct order_case *c, const struct hop_schedule *schedule, uint32_t op)
{
    const char *name = hop_schedule_op(schedule, op)->name;
    uint32_t original = hop_schedule_find(c->schedule, name);
    if (original == HOP_NONE) { /* o3.to.1: of o3 */
        char first[64];
        (void)snprintf(first, sizeof first, "%.*s", (int)strcspn(name, "."), name);
        original = hop_schedule_find(c->schedule, first);
    }
    assert(original != HOP_NONE);
    return is_marked(c, original);
}

static struct hop_network *network_of(const struct order_case *c)
{
    struct hop_network *network;
    enum hop_status status = hop_network_create(c->topology, c->options.models, &network, NULL);
    assert(status == HOP_OK);
    return network;
}

bool order_simulate_on(const struct order_case *c, struct hop_network *network, const struct hop_schedule *schedule,
                       struct order_value *value)
{
    struct hop_timeline *timeline;
    struct hop_diag diag;
    enum hop_status status = hop_simulate(network, schedule, NULL, &timeline, &diag);
    assert(status == HOP_OK || status == HOP_ERR_DEADLOCK);
    if (status != HOP_OK)
        return false;
    const struct hop_schedule *run = hop_timeline_schedule(timeline);
    uint32_t count = hop_schedule_count(run);
    double sum = 0, last = 0, marked = 0;
    for (uint32_t op = 0; op < count; op++) {
        double end_s = hop_timeline_span(timeline, op).end_s;
        sum += end_s;
        last = fmax(last, end_s);
        if (counts_as_marked(c, run, op))
            marked = fmax(marked, end_s);
    }
    *value = (struct order_value){.makespan_s = last};
    value->value_s = c->options.objective == HOP_ORDER_MAKESPAN ? last
                     : c->options.objective == HOP_ORDER_MEAN   ? sum / count
                                                                : marked;
    value->fullest = fullest_of(c, timeline);
    hop_timeline_destroy(timeline);
    return true;
}

bool order_simulate(const struct order_case *c, const struct hop_schedule *schedule, struct order_value *value)
{
    struct hop_network *network = network_of(c);
    bool ends = order_simulate_on(c, network, schedule, value);
    hop_network_destroy(network);
    return ends;
}

/* ---- all orders ---- */

/* The sends of each source that queues them, as places in the (lowered) schedule. */
struct queues {
    struct hop_schedule *lowered;
    uint32_t sources, node[SOURCES], count[SOURCES], place[SOURCES][OPS];
};

static bool queues_at(const struct hop_topology *topology, struct hop_router *router, const struct hop_op *op,
                      uint32_t *node)
{
    uint32_t route, to;
    if (op->kind != HOP_OP_COPY)
        return false;
    *node = hop_topology_find(topology, op->from.device);
    to = hop_topology_find(topology, op->to.device);
    enum hop_status status = hop_router_find(router, *node, to, &route, NULL);
    assert(status == HOP_OK);
    const struct hop_route *way = hop_router_route(router, route);
    const struct hop_node *from = hop_topology_node(topology, *node);
    return hop_topology_link(topology, way->links[0] / 2)->kind == HOP_LINK_PCIE &&
           (from->engines > 0 || (from->engines == HOP_ENGINES_DEFAULT && from->kind == HOP_NODE_GPU));
}

static void find_queues(const struct order_case *c, struct queues *q)
{
    struct hop_router *router = hop_router_create(c->topology);
    enum hop_status status = hop_schedule_lower(c->schedule, c->topology, &q->lowered, NULL);
    assert(router && status == HOP_OK);
    q->sources = 0;
    for (uint32_t i = 0; i < hop_schedule_count(q->lowered); i++) {
        uint32_t node, s = 0;
        if (!queues_at(c->topology, router, hop_schedule_op(q->lowered, i), &node))
            continue;
        while (s < q->sources && q->node[s] != node)
            s++;
        if (s == q->sources) {
            q->node[q->sources++] = node;
            q->count[s] = 0;
        }
        q->place[s][q->count[s]++] = i;
    }
    hop_router_destroy(router);
    assert(hop_schedule_count(q->lowered) <= OPS && q->sources <= SOURCES);
}

static double count_orders(const struct order_case *c)
{
    struct queues q;
    double orders = 1;
    find_queues(c, &q);
    for (uint32_t s = 0; s < q.sources; s++)
        orders *= tgamma(q.count[s] + 1.0);
    hop_schedule_destroy(q.lowered);
    return orders;
}

/* The schedule with operation `at[i]` in place i. */
static struct hop_schedule *permute(const struct hop_schedule *schedule, const uint32_t *at)
{
    struct hop_schedule *made = hop_schedule_create("permuted");
    uint32_t count = hop_schedule_count(schedule), place[OPS], after[OPS], after_start[OPS];
    for (uint32_t i = 0; i < count; i++)
        place[at[i]] = i;
    for (uint32_t i = 0; i < count; i++) {
        struct hop_op op = *hop_schedule_op(schedule, at[i]);
        for (uint32_t d = 0; d < op.after_count; d++)
            after[d] = place[op.after[d]];
        for (uint32_t d = 0; d < op.after_start_count; d++)
            after_start[d] = place[op.after_start[d]];
        op.after = after;
        op.after_start = after_start;
        op.line = 0;
        (void)hop_schedule_add(made, &op);
    }
    enum hop_status status = hop_schedule_finish(made, &made, NULL);
    assert(status == HOP_OK);
    return made;
}

/* The next permutation in lexicographic order; false: that was the last, and now it is the first again. */
static bool next_permutation(uint32_t *list, uint32_t count)
{
    uint32_t i = count, j = count;
    while (i > 1 && list[i - 2] > list[i - 1])
        i--;
    bool more = i > 1;
    if (more) {
        while (list[j - 1] < list[i - 2])
            j--;
        uint32_t kept = list[i - 2];
        list[i - 2] = list[j - 1];
        list[j - 1] = kept;
    }
    i = more ? i - 1 : 0;
    for (j = count - 1; i < j; i++, j--) {
        uint32_t kept = list[i];
        list[i] = list[j];
        list[j] = kept;
    }
    return more;
}

static int by_value(const void *a, const void *b)
{
    const struct brute_count *x = a, *y = b;
    return (x->value_s > y->value_s) - (x->value_s < y->value_s);
}

static void merge(struct brute *b, double near)
{
    size_t kept = 0;
    qsort(b->counts, b->count, sizeof *b->counts, by_value);
    for (size_t i = 0; i < b->count; i++) {
        double last = i ? b->counts[i - 1].value_s : -1;
        b->blurred = b->blurred || (i > 0 && b->counts[i].value_s - last > 1e-10 * fabs(last) &&
                                    b->counts[i].value_s - last <= near * fabs(last));
        if (i > 0 && b->counts[i].value_s - last <= near * fabs(last)) {
            b->counts[kept - 1].orders += b->counts[i].orders;
            b->counts[kept - 1].clean += b->counts[i].clean;
        } else {
            b->counts[kept++] = b->counts[i];
        }
    }
    b->count = kept;
    b->clean_s = INFINITY;
    for (size_t i = kept; i-- > 0;) {
        if (b->counts[i].clean > 0) {
            b->clean_s = b->counts[i].value_s;
            b->clean_orders = b->counts[i].clean;
        }
    }
}

void brute_each(const struct order_case *c, void (*each)(void *context, const struct hop_schedule *schedule),
                void *context)
{
    struct queues q;
    uint32_t at[OPS], choice[SOURCES][OPS], s;
    find_queues(c, &q);
    for (uint32_t i = 0; i < hop_schedule_count(q.lowered); i++)
        at[i] = i;
    for (s = 0; s < q.sources; s++)
        memcpy(choice[s], q.place[s], sizeof choice[s]);
    do {
        for (s = 0; s < q.sources; s++) {
            for (uint32_t i = 0; i < q.count[s]; i++)
                at[q.place[s][i]] = choice[s][i];
        }
        struct hop_schedule *schedule = permute(q.lowered, at);
        each(context, schedule);
        hop_schedule_destroy(schedule);
        for (s = 0; s < q.sources && !next_permutation(choice[s], q.count[s]);)
            s++;
    } while (s < q.sources);
    hop_schedule_destroy(q.lowered);
}

struct counting {
    const struct order_case *c;
    struct hop_network *network;
    struct brute *b;
};

static void count_order(void *counting, const struct hop_schedule *schedule)
{
    const struct counting *counts = counting;
    struct brute *b = counts->b;
    struct order_value value;
    if (!order_simulate_on(counts->c, counts->network, schedule, &value)) {
        b->stuck++;
        return;
    }
    bool clean = value.fullest <= 1 + 1e-9;
    b->open = b->open || fabs(value.fullest - (1 + 1e-9)) < 5e-10;
    b->given_s = b->count + (size_t)b->stuck == 0 ? value.value_s : b->given_s;
    b->counts[b->count++] = (struct brute_count){value.value_s, 1, clean};
    b->orders++;
    b->clean += clean;
}

void brute_orders(const struct order_case *c, struct brute *b)
{
    *b = (struct brute){.counts = calloc((size_t)c->orders, sizeof *b->counts)};
    struct counting counting = {c, network_of(c), b};
    brute_each(c, count_order, &counting);
    hop_network_destroy(counting.network);
    merge(b, c->near);
}

void brute_finish(struct brute *brute)
{
    free(brute->counts);
}

/* ---- waits ---- */

/* One order, and what is decided of its sends: a send starts as soon as it can, or rests, and then it waits for what
 * ends first. */
struct waiter {
    const struct order_case *c;
    struct hop_network *network;
    const struct hop_schedule *lowered;
    const struct hop_op *dummy; /* work that takes longer than anything else: what rests waits for it */
    const uint32_t *at;         /* the order: operations by their places */
    uint32_t count, wait[OPS];  /* wait: for the end of that operation, HOP_NONE: it does not */
    enum { NO_SEND, UNDECIDED, STARTS, RESTS } state[OPS];
    double now_s; /* of the last decision */
    struct brute_waits *b;
};

#define DUMMY_S 1e6

static bool is_later(double a_s, double b_s)
{
    return a_s > b_s * (1 + 1e-9) && a_s > b_s + 1e-12;
}

static struct hop_schedule *write_waits(const struct waiter *w)
{
    struct hop_schedule *made = hop_schedule_create("waits");
    uint32_t place[OPS], after[OPS + 2], after_start[OPS];
    for (uint32_t i = 0; i < w->count; i++)
        place[w->at[i]] = i;
    for (uint32_t i = 0; i < w->count; i++) {
        struct hop_op op = *hop_schedule_op(w->lowered, w->at[i]);
        uint32_t wait = w->wait[w->at[i]];
        bool known = wait == HOP_NONE;
        for (uint32_t d = 0; d < op.after_count; d++) {
            after[d] = place[op.after[d]];
            known = known || op.after[d] == wait;
        }
        for (uint32_t d = 0; d < op.after_start_count; d++)
            after_start[d] = place[op.after_start[d]];
        if (!known)
            after[op.after_count++] = place[wait];
        if (w->state[w->at[i]] == RESTS)
            after[op.after_count++] = w->count;
        op.after = after;
        op.after_start = after_start;
        op.line = 0;
        (void)hop_schedule_add(made, &op);
    }
    (void)hop_schedule_add(made, w->dummy);
    enum hop_status status = hop_schedule_finish(made, &made, NULL);
    assert(status == HOP_OK);
    return made;
}

/* Starts and ends by operation, and the value, which is right once nothing rests; false: they wait for each other. */
static bool run_waits(struct waiter *w, double *start_s, double *end_s, struct order_value *value)
{
    struct hop_schedule *schedule = write_waits(w);
    struct hop_timeline *timeline;
    w->b->runs++;
    enum hop_status status = hop_simulate(w->network, schedule, NULL, &timeline, NULL);
    assert(status == HOP_OK || status == HOP_ERR_DEADLOCK);
    if (status == HOP_OK) {
        double sum = 0;
        *value = (struct order_value){0};
        for (uint32_t i = 0; i < w->count; i++) {
            uint32_t op = w->at[i];
            start_s[op] = hop_timeline_span(timeline, i).start_s;
            end_s[op] = hop_timeline_span(timeline, i).end_s;
            sum += end_s[op];
            value->makespan_s = fmax(value->makespan_s, end_s[op]);
            if (counts_as_marked(w->c, hop_timeline_schedule(timeline), i))
                value->value_s = fmax(value->value_s, end_s[op]);
        }
        if (w->c->options.objective != HOP_ORDER_MARKED)
            value->value_s = w->c->options.objective == HOP_ORDER_MEAN ? sum / w->count : value->makespan_s;
        value->fullest = fullest_of(w->c, timeline);
        hop_timeline_destroy(timeline);
    }
    hop_schedule_destroy(schedule);
    return status == HOP_OK;
}

static void decide(struct waiter *w);

/* What rests waits for the end of that operation. */
static void wake(struct waiter *w, uint32_t ended)
{
    const struct waiter before = *w;
    for (uint32_t op = 0; op < w->count; op++) {
        if (w->state[op] == RESTS) {
            w->state[op] = UNDECIDED;
            w->wait[op] = ended;
        }
    }
    decide(w);
    *w = before;
}

/* Every subset of the sends that would start at that time rests. */
static void choose(struct waiter *w, const double *start_s, double time_s)
{
    const struct waiter before = *w;
    uint32_t list[OPS], count = 0;
    for (uint32_t op = 0; op < w->count; op++) {
        if (w->state[op] == UNDECIDED && !is_later(start_s[op], time_s))
            list[count++] = op;
    }
    for (uint32_t rests = 0; rests < 1u << count; rests++) {
        for (uint32_t i = 0; i < count; i++)
            w->state[list[i]] = rests >> i & 1 ? RESTS : STARTS;
        w->now_s = time_s;
        decide(w);
        *w = before;
    }
}

/* The next decision in the order of time. */
static void decide(struct waiter *w)
{
    double start_s[OPS], end_s[OPS], first_s = INFINITY;
    uint32_t ended = HOP_NONE;
    bool rests = false;
    struct order_value value;
    if (w->b->runs > w->b->most_runs || !run_waits(w, start_s, end_s, &value))
        return;
    for (uint32_t op = 0; op < w->count; op++) {
        if (w->state[op] == STARTS && is_later(start_s[op], w->now_s)) /* what it waits for rests */
            w->state[op] = UNDECIDED;
        rests = rests || w->state[op] == RESTS;
        if (end_s[op] < DUMMY_S && is_later(end_s[op], w->now_s) && (ended == HOP_NONE || end_s[op] < end_s[ended]))
            ended = op;
        if (w->state[op] == UNDECIDED && start_s[op] < DUMMY_S)
            first_s = fmin(first_s, start_s[op]);
    }
    if (rests && ended != HOP_NONE && !is_later(end_s[ended], first_s)) {
        wake(w, ended);
    } else if (isfinite(first_s)) {
        choose(w, start_s, first_s);
    } else if (!rests) {
        w->b->best_s = fmin(w->b->best_s, value.value_s);
        if (value.fullest <= 1 + 1e-9)
            w->b->clean_s = fmin(w->b->clean_s, value.value_s);
        w->b->open = w->b->open || fabs(value.fullest - (1 + 1e-9)) < 5e-10;
    }
}

bool brute_waits(const struct order_case *c, double most_runs, struct brute_waits *b)
{
    static const char text[] = "dummy: work gpu0 1000000s\n";
    struct hop_schedule *dummy;
    struct queues q;
    uint32_t at[OPS], list[SOURCES][OPS];
    find_queues(c, &q);
    enum hop_status status = hop_schedule_parse("dummy", text, strlen(text), &dummy, NULL);
    assert(status == HOP_OK);
    *b = (struct brute_waits){.best_s = INFINITY, .clean_s = INFINITY, .most_runs = most_runs};
    struct waiter w = {.c = c,
                       .network = network_of(c),
                       .lowered = q.lowered,
                       .dummy = hop_schedule_op(dummy, 0),
                       .at = at,
                       .count = hop_schedule_count(q.lowered),
                       .now_s = -1,
                       .b = b};
    for (uint32_t i = 0; i < w.count; i++) {
        at[i] = i;
        w.wait[i] = HOP_NONE;
        w.state[i] = NO_SEND;
    }
    for (uint32_t s = 0; s < q.sources; s++) {
        for (uint32_t i = 0; i < q.count[s]; i++) {
            w.state[q.place[s][i]] = UNDECIDED;
            list[s][i] = q.place[s][i];
        }
    }
    for (bool more = true; more && b->runs <= most_runs;) {
        for (uint32_t s = 0; s < q.sources; s++) {
            for (uint32_t i = 0; i < q.count[s]; i++)
                at[q.place[s][i]] = list[s][i];
        }
        decide(&w);
        more = false;
        for (uint32_t s = 0; s < q.sources && !more; s++)
            more = next_permutation(list[s], q.count[s]);
    }
    hop_network_destroy(w.network);
    hop_schedule_destroy(dummy);
    hop_schedule_destroy(q.lowered);
    return b->runs <= most_runs;
}
