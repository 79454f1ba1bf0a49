/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Knobs. A machine starts with one value for all links of a kind that were given the same capacity (nearly), and one loss
 * for all crossings; devices whose lone copies are far slower than others' have a value of their own. Data may ask for
 * parts:
 *
 *     capacity of PCIe links
 *        +-- ..., down            one direction
 *        +-- ..., to switches     uplinks apart from devices' links
 *        +-- gpu3--switch1        one link, or one direction of it
 *
 * and for limits that nobody spoke of: host memory, root complex to socket, two-way capacities, a copy's latency.
 */
#include "calibrate/fit.h"
#include "topology/topology.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { PROPOSALS_MAX = 1024, CLASSES_MAX = 8, SPEEDS_MAX = 4 };
#define SLOWER 0.55 /* a device whose lone copies are slower than this share of others' has a narrower link */
#define ALIKE 1.05
#define ALONE_MARGIN 1.05

static bool is_to_switch(const struct hop_fitting *f, uint32_t directed)
{
    return !hop_node_is_device(
        hop_topology_node(f->topology, hop_topology_link(f->topology, directed / 2)->ends[0])->kind);
}

static double capacity_each(const struct hop_fitting *f, uint32_t directed)
{
    const struct hop_link *link = hop_topology_link(f->topology, directed / 2);
    return link->capacity_Bps[directed & 1] / link->count;
}

static bool is_parameter(enum hop_knob_kind kind)
{
    return kind >= HOP_KNOB_LATENCY;
}

/* ---- into the topology ---- */

/* A direction of a link with a capacity, and with its two-way share of that, where it has one. */
static void set_direction(struct hop_fitting *f, uint32_t directed, double capacity_Bps)
{
    double share = f->share[directed], duplex_Bps = f->topology->links[directed / 2].duplex_Bps[directed & 1];
    if (share != 0)
        duplex_Bps = share == 1 ? NAN : share * capacity_Bps;
    else if (f->topology->follows[directed / 2].duplex[directed & 1])
        duplex_Bps = NAN;
    hop_link_calibrate(f->topology, directed, capacity_Bps, duplex_Bps);
}

static void set_crossing(struct hop_fitting *f, uint32_t pair, double value)
{
    uint32_t a = f->roots[pair / f->root_count], b = f->roots[pair % f->root_count];
    char text[256];
    (void)snprintf(text, sizeof text, "%s.tau=%.17g", hop_topology_node(f->topology, a)->name, 1 - value);
    f->failure->status = a == b ? hop_topology_set(f->topology, text, f->failure->diag)
                                : hop_topology_add_crossing(f->topology, a, b, 1 - value, f->failure->diag);
}

void hop_knob_set_parameter(struct hop_fitting *f, const char *name, double value)
{
    const struct hop_parameter *given = hop_topology_parameter(f->given, name);
    bool same = value == given->value;
    if (hop_fit_good(f))
        f->failure->status = hop_topology_set_parameter(f->topology, name, value, same ? given->origin : "calibrated",
                                                        same ? given->uncertainty : NAN, f->failure->diag);
}

const char *hop_knob_parameter(enum hop_knob_kind kind)
{
    return kind == HOP_KNOB_HOST ? "host_duplex" : kind == HOP_KNOB_STREAM ? "ceiling_network" : "copy_latency";
}

void hop_knob_set(struct hop_fitting *f, const struct hop_knob *knob, double value)
{
    if (is_parameter(knob->kind))
        hop_knob_set_parameter(f, hop_knob_parameter(knob->kind), value);
    for (uint32_t i = 0; i < knob->count && !is_parameter(knob->kind) && hop_fit_good(f); i++) {
        uint32_t member = knob->members[i];
        if (knob->kind == HOP_KNOB_CROSSING) {
            set_crossing(f, member, value);
            continue;
        }
        const struct hop_link *link = hop_topology_link(f->topology, member / 2);
        bool capacity = knob->kind == HOP_KNOB_CAPACITY;
        if (!capacity)
            f->share[member] = value;
        set_direction(f, member, capacity ? value * link->count : link->capacity_Bps[member & 1]);
    }
}

/* What the topology says now; members may differ, the first one speaks for them. */
static double present(const struct hop_fitting *f, const struct hop_knob *knob)
{
    uint32_t member = knob->count ? knob->members[0] : 0;
    if (is_parameter(knob->kind))
        return hop_topology_parameter(f->topology, hop_knob_parameter(knob->kind))->value;
    if (knob->kind == HOP_KNOB_CROSSING)
        return 1 - hop_topology_tau_between(f->topology, f->roots[member / f->root_count],
                                            f->roots[member % f->root_count]);
    const struct hop_link *link = hop_topology_link(f->topology, member / 2);
    return knob->kind == HOP_KNOB_CAPACITY ? capacity_each(f, member)
                                           : link->duplex_Bps[member & 1] / link->capacity_Bps[member & 1];
}

struct hop_knob_range hop_knob_bounds(const struct hop_fitting *f, const struct hop_knob *knob)
{
    static const struct hop_knob_range bounds[] = {[HOP_KNOB_CAPACITY] = {1e6, 1e14},
                                                   [HOP_KNOB_DUPLEX] = {0.05, 1},
                                                   [HOP_KNOB_CROSSING] = {0.02, 1},
                                                   [HOP_KNOB_LATENCY] = {0, 1e-2},
                                                   [HOP_KNOB_HOST] = {0.05, 1},
                                                   [HOP_KNOB_STREAM] = {1e6, 1e18}};
    enum hop_link_kind link = knob->kind == HOP_KNOB_CAPACITY || knob->kind == HOP_KNOB_DUPLEX
                                  ? hop_topology_link(f->topology, knob->members[0] / 2)->kind
                                  : HOP_LINK_TORUS;
    struct hop_knob_range range = bounds[knob->kind];
    /* A PCIe link carries no more than it gives the fastest of those that have it to themselves; an uplink of narrower devices may
     * be what it was given as. */
    if (knob->kind == HOP_KNOB_CAPACITY && link == HOP_LINK_PCIE && f->most_alone_Bps > 0)
        range.high = ALONE_MARGIN * hop_max(f->most_alone_Bps, is_to_switch(f, knob->members[0]) ? knob->nominal : 0);
    /* Links between sockets widen under load on some processors. */
    if (knob->kind == HOP_KNOB_DUPLEX && link == HOP_LINK_SOCKET)
        range.high = 1.5;
    return range;
}

double hop_knob_clamp(const struct hop_fitting *f, const struct hop_knob *knob, double value)
{
    struct hop_knob_range range = hop_knob_bounds(f, knob);
    return hop_min(range.high, hop_max(range.low, value));
}

/* ---- families of links ---- */

enum family { ANY, PCIE, ACCELERATOR, SOCKETS, NETWORK, MEMORY, ON_DIE, FAMILIES };
static const char *const family_names[FAMILIES] = {
    "links",         "PCIe links",  "accelerator links",        "links between sockets",
    "network links", "host memory", "root complexes to sockets"};

static enum family family_of(const struct hop_fitting *f, uint32_t directed)
{
    const struct hop_link *link = hop_topology_link(f->topology, directed / 2);
    bool equals =
        hop_topology_node(f->topology, link->ends[0])->kind == hop_topology_node(f->topology, link->ends[1])->kind;
    if (hop_link_is_accelerator(link->kind))
        return ACCELERATOR;
    if (hop_link_is_network(link->kind))
        return NETWORK;
    return link->kind == HOP_LINK_MEMORY   ? MEMORY
           : link->kind == HOP_LINK_SOCKET ? (equals ? SOCKETS : ON_DIE)
           : link->kind == HOP_LINK_CHIP   ? FAMILIES
                                           : PCIE;
}

/* Links of a family whose capacity, each of the bonded ones, was given as something between, and, of those that lead to a device,
 * whose device's best lone copy moved at something between. */
struct class
{
    enum family family;
    double low, high;
    double slowest_Bps, fastest_Bps;
};

/* The rate of the fastest lone copy from or to the device below a PCIe link; that of all devices for other links, and where no
 * lone copy says anything. */
static double best_alone(const struct hop_fitting *f, uint32_t directed)
{
    double best = 0;
    if (family_of(f, directed) != PCIE || is_to_switch(f, directed))
        return f->most_alone_Bps;
    for (uint32_t g = 0; g < f->groups; g++) {
        const uint8_t *on = f->on_link + (size_t)g * f->directed;
        if (on[directed] || on[directed ^ 1u])
            best = hop_max(best, hop_fit_alone(f, g));
    }
    return best > 0 ? best : f->most_alone_Bps;
}

static bool is_of_class(const struct hop_fitting *f, uint32_t directed, const struct class *class)
{
    double capacity = capacity_each(f, directed);
    double alone = best_alone(f, directed);
    return family_of(f, directed) == class->family && capacity >= class->low && capacity <= class->high &&
           alone >= class->slowest_Bps && alone <= class->fastest_Bps;
}

/* ---- choosing members ---- */

/* What members of a knob are. */
enum { UP = 1, DOWN = 2, UPLINK = 4, DEVICE = 8, BONDED = 16, SINGLE = 32, NEAR = 64, FAR = 128 };

/* Which members a knob is to have: those that are all of this. Zeroed: any. */
struct filter {
    unsigned is;
    enum family family;
    bool free;             /* no knob of this kind has them */
    uint32_t first, count; /* the members first .. first + count - 1 only; 0: any */
    const uint32_t *below; /* their lower end hangs, at any depth, under that node */
    const uint32_t *of;    /* their lower end is that node */
    const struct class *class;
};

/* Where knobs are gathered; those to come are of this kind, and parts of this parent if there is one. */
struct chosen {
    struct hop_fitting *f;
    struct hop_knob *list;
    uint32_t count, capacity;
    enum hop_knob_kind kind;
    uint32_t parent;
};

static unsigned features_of(const struct hop_fitting *f, enum hop_knob_kind kind, uint32_t member)
{
    if (kind == HOP_KNOB_CROSSING)
        return f->far[member] ? FAR : NEAR;
    return (member & 1 ? DOWN : UP) | (is_to_switch(f, member) ? UPLINK : DEVICE) |
           (hop_topology_link(f->topology, member / 2)->count > 1 ? BONDED : SINGLE);
}

static bool is_below(const struct hop_fitting *f, uint32_t directed, uint32_t top)
{
    uint32_t lower = hop_topology_link(f->topology, directed / 2)->ends[0];
    return lower != top && hop_fit_is_below(f->topology, lower, top);
}

static bool has_kind(const struct hop_fitting *f, enum hop_knob_kind kind, uint32_t directed)
{
    for (uint32_t k = 0; k < f->knob_count; k++) {
        for (uint32_t i = 0; f->knobs[k].kind == kind && i < f->knobs[k].count; i++) {
            if (f->knobs[k].members[i] == directed)
                return true;
        }
    }
    return false;
}

static bool is_pair_used(const struct hop_fitting *f, uint32_t pair)
{
    uint32_t g = 0, all = f->root_count * f->root_count;
    while (g < f->groups && !f->on_pair[(size_t)g * all + pair])
        g++;
    return g < f->groups;
}

static bool keeps(const struct chosen *c, const struct filter *filter, uint32_t member)
{
    if (is_parameter(c->kind))
        return true;
    return (c->kind == HOP_KNOB_CROSSING ? is_pair_used(c->f, member)
            : c->kind == HOP_KNOB_DUPLEX ? c->f->two_way[member]
                                         : c->f->reached[member]) &&
           (!filter->count || member - filter->first < filter->count) &&
           (filter->is & ~features_of(c->f, c->kind, member)) == 0 &&
           (filter->family == ANY || family_of(c->f, member) == filter->family) &&
           (!filter->free || !has_kind(c->f, c->kind, member)) &&
           (!filter->of || hop_topology_link(c->f->topology, member / 2)->ends[0] == *filter->of) &&
           (!filter->below || is_below(c->f, member, *filter->below)) &&
           (!filter->class || is_of_class(c->f, member, filter->class));
}

/* Whether rows that count determine a member. */
static bool is_measured(const struct chosen *c, uint32_t member)
{
    return is_parameter(c->kind) || c->kind == HOP_KNOB_CROSSING || c->f->measured[member];
}

/* Adds a knob of the parent's members, or of all there are, that groups reach and the filter keeps. Nothing is added where
 * none that is measured is left, or all of a parent. */
static void choose(struct chosen *c, struct filter filter, const char *what, ...) HOP_PRINTF(3, 4);
static void choose(struct chosen *c, struct filter filter, const char *what, ...)
{
    struct hop_fitting *f = c->f;
    const struct hop_knob *parent = c->parent == HOP_NONE ? NULL : &f->knobs[c->parent];
    uint32_t count = 0, measured = 0, others = 0,
             all = parent                         ? parent->count
                   : is_parameter(c->kind)        ? 1
                   : c->kind == HOP_KNOB_CROSSING ? f->root_count * f->root_count
                                                  : f->directed;
    if (c->count == c->capacity) /* enough to try */
        return;
    uint32_t *members = hop_arena_alloc(&f->arena, (all + 1) * sizeof *members);
    for (uint32_t i = 0; members && i < all; i++) {
        uint32_t member = parent ? parent->members[i] : i;
        bool kept = keeps(c, &filter, member);
        *(kept ? &measured : &others) += is_measured(c, member);
        if (kept)
            members[count++] = member;
    }
    if (measured == 0 || (parent && others == 0))
        return;
    struct hop_knob *knob = &c->list[c->count++];
    va_list arguments;
    *knob = (struct hop_knob){.kind = c->kind, .members = members, .count = count, .parent = c->parent};
    va_start(arguments, what);
    (void)vsnprintf(knob->what, sizeof knob->what, what, arguments);
    va_end(arguments);
    knob->value = knob->given = parent ? parent->value : present(f, knob);
    knob->nominal = parent ? parent->nominal : knob->given;
}

/* ---- knobs of every machine ---- */

/* The classes of a family: values within ALIKE of the lowest are alike; all are, where there are too many. */
static uint32_t list_classes(const struct hop_fitting *f, enum family family, struct class classes[CLASSES_MAX])
{
    uint32_t count = 0;
    double above = 0;
    for (;;) {
        double lowest = INFINITY;
        for (uint32_t d = 0; d < f->directed; d++) {
            double capacity = capacity_each(f, d);
            if (family_of(f, d) == family && capacity > above && f->reached[d])
                lowest = hop_min(lowest, capacity);
        }
        if (lowest == INFINITY)
            return count;
        if (count == CLASSES_MAX)
            break;
        above = ALIKE * lowest;
        classes[count++] = (struct class){family, lowest, above, 0, INFINITY};
    }
    classes[0] = (struct class){family, 0, INFINITY, 0, INFINITY};
    return 1;
}

/* The fastest of those lone copies that are slower than `below` among the links of a class, 0: none. */
static double next_speed(const struct hop_fitting *f, const struct class *class, double below)
{
    double fastest = 0;
    for (uint32_t d = 0; d < f->directed; d++) {
        if (f->reached[d] && is_of_class(f, d, class) && best_alone(f, d) < below)
            fastest = hop_max(fastest, best_alone(f, d));
    }
    return fastest;
}

/* The knobs of a class: one for each speed, everything down to SLOWER of the fastest taken together. */
static void begin_class(struct chosen *c, struct class class, const char *what)
{
    char rate[32];
    double speed = next_speed(c->f, &class, INFINITY);
    for (unsigned i = 0; i < SPEEDS_MAX && (i == 0 || speed != 0); i++) {
        struct class part = class;
        part.fastest_Bps = i == 0 ? INFINITY : speed;
        part.slowest_Bps = i + 1 == SPEEDS_MAX ? 0 : SLOWER * speed;
        if (i == 0)
            choose(c, (struct filter){.class = &part}, "%s", what);
        else
            choose(c, (struct filter){.class = &part}, "%.50s, %s at most", what,
                   hop_show_rate(speed, rate, sizeof rate));
        if (i > 0 && c->count > 0) /* near where it will be: errors far off say nothing */
            c->list[c->count - 1].value = hop_min(c->list[c->count - 1].value, ALONE_MARGIN * speed);
        speed = next_speed(c->f, &class, part.slowest_Bps);
    }
}

static void begin_family(struct chosen *c, enum family family)
{
    struct class classes[CLASSES_MAX];
    char what[80], rate[32];
    uint32_t count = list_classes(c->f, family, classes);
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(what, sizeof what, "capacity of %s%s%s", family_names[family], count > 1 ? ", given as " : "",
                       count > 1 ? hop_show_rate(classes[i].low, rate, sizeof rate) : "");
        begin_class(c, classes[i], what);
    }
}

void hop_knobs_begin(struct hop_fitting *f)
{
    struct chosen c = {f, f->knobs, 0, HOP_KNOBS_MAX, HOP_KNOB_CAPACITY, HOP_NONE};
    for (enum family family = PCIE; family <= NETWORK; family++)
        begin_family(&c, family);
    c.kind = HOP_KNOB_CROSSING;
    choose(&c, (struct filter){0}, "1 - tau of crossings");
    f->knob_count = c.count;
}

bool hop_knob_is_device(const struct hop_fitting *f, const struct hop_knob *knob)
{
    return !is_to_switch(f, knob->members[0]);
}

bool hop_knob_is_network(const struct hop_fitting *f, const struct hop_knob *knob)
{
    return knob->kind == HOP_KNOB_CAPACITY && knob->count > 0 && family_of(f, knob->members[0]) == NETWORK;
}

/* ---- from links between sockets, and crossings, to the ways out of root complexes ---- */

static bool is_between(const struct hop_fitting *f, const struct hop_knob *knob, enum hop_knob_kind kind)
{
    return knob->kind == kind && knob->count > 0 && family_of(f, knob->members[0]) == SOCKETS;
}

/* Adds a knob of the ways out, with the value that links between sockets have now, which become wide both ways. */
static struct hop_knob *move_out(struct hop_fitting *f, enum hop_knob_kind kind, const char *what)
{
    struct hop_knob way, *between = NULL;
    struct chosen c = {f, &way, 0, 1, kind, HOP_NONE};
    choose(&c, (struct filter){.is = UP, .family = ON_DIE, .free = true}, "%s of %s, towards the host side", what,
           family_names[ON_DIE]);
    for (uint32_t k = f->knob_count; k-- > 0;)
        between = is_between(f, &f->knobs[k], kind) ? &f->knobs[k] : between;
    if (c.count == 0 || (kind == HOP_KNOB_DUPLEX && !between))
        return NULL;
    double wide = way.given;
    way.value = between ? between->value : wide;
    for (uint32_t k = 0; k < f->knob_count; k++) {
        struct hop_knob *knob = &f->knobs[k];
        if (is_between(f, knob, kind))
            knob->value = kind == HOP_KNOB_CAPACITY ? hop_max(knob->value, wide) : wide;
        hop_knob_set(f, knob, knob->value);
    }
    hop_knobs_add(f, &way);
    return &f->knobs[f->knob_count - 1];
}

struct hop_knob *hop_knobs_move_out(struct hop_fitting *f)
{
    struct hop_knob *way = f->knob_count + 2 <= HOP_KNOBS_MAX ? move_out(f, HOP_KNOB_CAPACITY, "capacity") : NULL;
    if (!way)
        return NULL;
    (void)move_out(f, HOP_KNOB_DUPLEX, "two-way share");
    for (uint32_t k = 0; k < f->knob_count; k++) {
        if (f->knobs[k].kind == HOP_KNOB_CROSSING)
            hop_knob_set(f, &f->knobs[k], f->knobs[k].value = 1);
    }
    return way;
}

void hop_knobs_add_stream(struct hop_fitting *f)
{
    struct hop_knob stream;
    struct chosen c = {f, &stream, 0, 1, HOP_KNOB_STREAM, HOP_NONE};
    choose(&c, (struct filter){0}, "rate of one copy over a network");
    if (c.count > 0)
        hop_knobs_add(f, &stream);
}

/* ---- proposals ---- */

static void propose_parameter(struct chosen *c, enum hop_knob_kind kind, const char *what)
{
    for (uint32_t k = 0; k < c->f->knob_count; k++) {
        if (c->f->knobs[k].kind == kind)
            return;
    }
    c->kind = kind;
    choose(c, (struct filter){0}, "%s", what);
}

/* Whether links of devices were timed in either direction while the other one was busy. */
static bool is_two_way_timed(const struct hop_fitting *f)
{
    bool timed[2] = {false, false};
    for (uint32_t d = 0; d < f->directed; d++)
        timed[d & 1] |= (f->timed[d] & HOP_BOTH_WAYS) && family_of(f, d) == PCIE && !is_to_switch(f, d);
    return timed[0] && timed[1];
}

static void propose_limits(struct chosen *c)
{
    static const struct {
        unsigned is;
        const char *inward, *memory;
    } ways[] = {{0, "", ""}, {UP, ", towards the host side", ", read"}, {DOWN, ", away from it", ", written"}};
    const struct hop_topology *topology = c->f->topology;
    c->kind = HOP_KNOB_DUPLEX; /* first: what only shows while both directions are busy limits no single one */
    for (enum family family = PCIE; family < FAMILIES; family++)
        choose(c, (struct filter){.family = family, .free = true}, "two-way share of %s", family_names[family]);
    c->kind = HOP_KNOB_CAPACITY; /* of what explains as much, the nearer one */
    for (size_t i = 0; i < HOP_COUNT(ways); i++)
        choose(c, (struct filter){.is = ways[i].is, .family = ON_DIE, .free = true}, "capacity of %s%s",
               family_names[ON_DIE], ways[i].inward);
    for (size_t i = 0; i < HOP_COUNT(ways); i++)
        choose(c, (struct filter){.is = ways[i].is, .family = MEMORY, .free = true}, "capacity of %s%s",
               family_names[MEMORY], ways[i].memory);
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) { /* memory by NUMA nodes */
        const struct hop_node *host = hop_topology_node(topology, n);
        c->kind = HOP_KNOB_CAPACITY;
        for (size_t i = 0; i < HOP_COUNT(ways) && host->kind == HOP_NODE_HOST; i++)
            choose(c, (struct filter){.is = ways[i].is, .family = MEMORY, .free = true, .of = &n},
                   "capacity of memory %.40s%s", host->name, ways[i].memory);
        c->kind = HOP_KNOB_DUPLEX;
        if (host->kind == HOP_NODE_HOST)
            choose(c, (struct filter){.family = MEMORY, .free = true, .of = &n}, "two-way share of memory %.40s",
                   host->name);
    }
    choose(c, (struct filter){.is = UPLINK, .family = PCIE, .free = true}, "two-way share of PCIe links to switches");
    if (is_two_way_timed(c->f))
        propose_parameter(c, HOP_KNOB_HOST, "two-way share of devices' copies with host memory");
    propose_parameter(c, HOP_KNOB_LATENCY, "latency of a copy");
}

static void propose_links(struct chosen *c)
{
    const struct hop_fitting *f = c->f;
    const struct hop_knob *knob = &f->knobs[c->parent];
    const char *short_name = c->kind == HOP_KNOB_CAPACITY ? "capacity" : "two-way share";
    char name[160];
    /* Either half may be the one with a value of its own. */
    static const struct {
        unsigned is;
        const char *which;
    } halves[] = {{DOWN, "down"},      {UP, "up"},         {UPLINK, "to switches"},
                  {DEVICE, "devices"}, {BONDED, "bonded"}, {SINGLE, "single"}};
    for (size_t h = 0; h < HOP_COUNT(halves); h++)
        choose(c, (struct filter){.is = halves[h].is}, "%.60s, %s", knob->what, halves[h].which);
    for (uint32_t n = 0; n < hop_topology_node_count(f->topology); n++) {
        const struct hop_node *node = hop_topology_node(f->topology, n);
        if (node->kind == HOP_NODE_SWITCH || node->kind == HOP_NODE_ROOT)
            choose(c, (struct filter){.below = &n}, "%.44s, below %.24s", knob->what, node->name);
    }
    bool traces = true; /* nothing else: see appraise in select.c */
    for (uint32_t g = 0; g < f->groups && traces; g++)
        traces = f->expect->groups[g].trace;
    for (uint32_t i = 0; i < knob->count && !traces; i++) {
        uint32_t directed = knob->members[i];
        const struct hop_link *link = hop_topology_link(f->topology, directed / 2);
        choose(c, (struct filter){.first = directed, .count = 1}, "%s of %.56s", short_name,
               hop_topology_link_name(f->topology, directed, name, sizeof name));
        if (!(directed & 1))
            choose(c, (struct filter){.first = directed, .count = 2}, "%s of %.24s--%.24s", short_name,
                   hop_topology_node(f->topology, link->ends[0])->name,
                   hop_topology_node(f->topology, link->ends[1])->name);
    }
}

static void propose_pairs(struct chosen *c)
{
    const struct hop_fitting *f = c->f;
    const struct hop_knob *knob = &f->knobs[c->parent];
    choose(c, (struct filter){.is = FAR}, "1 - tau of crossings between sockets");
    choose(c, (struct filter){.is = NEAR}, "1 - tau of crossings inside a socket");
    for (uint32_t i = 0; i < knob->count; i++) {
        uint32_t pair = knob->members[i];
        choose(c, (struct filter){.first = pair, .count = 1}, "1 - tau of %.30s--%.30s",
               hop_topology_node(f->topology, f->roots[pair / f->root_count])->name,
               hop_topology_node(f->topology, f->roots[pair % f->root_count])->name);
    }
}

struct hop_knob *hop_knobs_propose(struct hop_fitting *f, uint32_t *count)
{
    struct chosen c = {.f = f, .capacity = PROPOSALS_MAX, .parent = HOP_NONE};
    c.list = hop_arena_alloc(&f->arena, PROPOSALS_MAX * sizeof *c.list);
    if (c.list)
        propose_limits(&c);
    for (c.parent = 0; c.list && c.parent < f->knob_count; c.parent++) {
        c.kind = f->knobs[c.parent].kind;
        if (c.kind == HOP_KNOB_CROSSING)
            propose_pairs(&c);
        else if (!is_parameter(c.kind))
            propose_links(&c);
    }
    *count = c.count;
    return c.list;
}

void hop_knobs_add(struct hop_fitting *f, const struct hop_knob *proposal)
{
    if (proposal->parent != HOP_NONE) {
        struct hop_knob *parent = &f->knobs[proposal->parent];
        uint32_t *left = hop_arena_alloc(&f->arena, (parent->count + 1) * sizeof *left), count = 0;
        for (uint32_t i = 0, taken = 0; left && i < parent->count; i++) {
            bool mine = taken < proposal->count && proposal->members[taken] == parent->members[i];
            taken += mine;
            if (!mine)
                left[count++] = parent->members[i];
        }
        parent->members = left;
        parent->count = count;
    }
    f->knobs[f->knob_count++] = *proposal;
    hop_knob_set(f, proposal, proposal->value);
}
