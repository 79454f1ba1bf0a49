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

static bool is_parameter(enum hop_knob_kind kind)
{
    return kind == HOP_KNOB_LATENCY || kind == HOP_KNOB_HOST;
}

/* ---- into the topology ---- */

static enum hop_status set_link(struct hop_fitting *f, uint32_t directed, const char *field, double value_Bps,
                                struct hop_diag *diag)
{
    char text[256], name[160];
    const struct hop_link *link = hop_topology_link(f->topology, directed / 2);
    (void)snprintf(text, sizeof text, "%s:%s.%s=%.17gB/s",
                   hop_topology_link_name(f->topology, directed, name, sizeof name), hop_link_kind_name(link->kind),
                   field, value_Bps);
    return hop_topology_set(f->topology, text, diag);
}

/* Writes a link's two-way share for its present capacity. */
static enum hop_status follow_share(struct hop_fitting *f, uint32_t directed, struct hop_diag *diag)
{
    char text[256], name[160];
    const struct hop_link *link = hop_topology_link(f->topology, directed / 2);
    if (f->share[directed] == 0)
        return HOP_OK;
    if (f->share[directed] != 1)
        return set_link(f, directed, "duplex", f->share[directed] * link->capacity_Bps[directed & 1], diag);
    (void)snprintf(text, sizeof text, "%s:%s.duplex=none",
                   hop_topology_link_name(f->topology, directed, name, sizeof name), hop_link_kind_name(link->kind));
    return hop_topology_set(f->topology, text, diag);
}

static enum hop_status set_duplex(struct hop_fitting *f, const struct hop_knob *knob, double share,
                                  struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < knob->count && status == HOP_OK; i++) {
        f->share[knob->members[i]] = share;
        status = follow_share(f, knob->members[i], diag);
    }
    return status;
}

static enum hop_status set_capacity(struct hop_fitting *f, const struct hop_knob *knob, double value,
                                    struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < knob->count && status == HOP_OK; i++) {
        uint32_t directed = knob->members[i];
        unsigned bonded = hop_topology_link(f->topology, directed / 2)->count;
        status = set_link(f, directed, "capacity", value * bonded, diag);
        if (status == HOP_OK)
            status = follow_share(f, directed, diag);
    }
    return status;
}

static enum hop_status set_crossing(struct hop_fitting *f, const struct hop_knob *knob, double value,
                                    struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < knob->count && status == HOP_OK; i++) {
        uint32_t a = f->roots[knob->members[i] / f->root_count], b = f->roots[knob->members[i] % f->root_count];
        char text[256];
        if (a == b) {
            (void)snprintf(text, sizeof text, "%s.tau=%.17g", hop_topology_node(f->topology, a)->name, 1 - value);
            status = hop_topology_set(f->topology, text, diag);
        } else {
            status = hop_topology_add_crossing(f->topology, a, b, 1 - value, diag);
        }
    }
    return status;
}

enum hop_status hop_knob_set_parameter(struct hop_fitting *f, const char *name, double value, struct hop_diag *diag)
{
    const struct hop_parameter *given = hop_topology_parameter(f->given, name);
    bool same = value == given->value;
    return hop_topology_set_parameter(f->topology, name, value, same ? given->origin : "calibrated",
                                      same ? given->uncertainty : NAN, diag);
}

enum hop_status hop_knob_set(struct hop_fitting *f, const struct hop_knob *knob, double value, struct hop_diag *diag)
{
    switch (knob->kind) {
    case HOP_KNOB_CAPACITY:
        return set_capacity(f, knob, value, diag);
    case HOP_KNOB_DUPLEX:
        return set_duplex(f, knob, value, diag);
    case HOP_KNOB_CROSSING:
        return set_crossing(f, knob, value, diag);
    case HOP_KNOB_HOST:
        return hop_knob_set_parameter(f, "host_duplex", value, diag);
    default:
        return hop_knob_set_parameter(f, "copy_latency", value, diag);
    }
}

/* What the topology says now; members may differ, the first one speaks for them. */
static double present(const struct hop_fitting *f, const struct hop_knob *knob)
{
    uint32_t member = knob->count ? knob->members[0] : 0;
    if (knob->kind == HOP_KNOB_LATENCY || knob->kind == HOP_KNOB_HOST)
        return hop_topology_parameter(f->topology, knob->kind == HOP_KNOB_HOST ? "host_duplex" : "copy_latency")->value;
    if (knob->kind == HOP_KNOB_CROSSING)
        return 1 - hop_topology_tau_between(f->topology, f->roots[member / f->root_count],
                                            f->roots[member % f->root_count]);
    const struct hop_link *link = hop_topology_link(f->topology, member / 2);
    return knob->kind == HOP_KNOB_CAPACITY ? link->capacity_Bps[member & 1] / link->count
                                           : link->duplex_Bps[member & 1] / link->capacity_Bps[member & 1];
}

void hop_knob_bounds(const struct hop_fitting *f, const struct hop_knob *knob, double *low, double *high)
{
    static const double bounds[][2] = {[HOP_KNOB_CAPACITY] = {1e6, 1e14},
                                       [HOP_KNOB_DUPLEX] = {0.05, 1},
                                       [HOP_KNOB_CROSSING] = {0.02, 1},
                                       [HOP_KNOB_LATENCY] = {0, 1e-2},
                                       [HOP_KNOB_HOST] = {0.05, 1}};
    enum hop_link_kind link = knob->kind == HOP_KNOB_CAPACITY || knob->kind == HOP_KNOB_DUPLEX
                                  ? hop_topology_link(f->topology, knob->members[0] / 2)->kind
                                  : HOP_LINK_TORUS;
    *low = bounds[knob->kind][0];
    *high = bounds[knob->kind][1];
    /* A PCIe link carries no more than it gives the fastest of those that have it to themselves; an uplink of narrower devices may
     * be what it was given as. */
    if (knob->kind == HOP_KNOB_CAPACITY && link == HOP_LINK_PCIE && f->most_alone_Bps > 0)
        *high = ALONE_MARGIN * hop_max(f->most_alone_Bps, is_to_switch(f, knob->members[0]) ? knob->nominal : 0);
    /* Links between sockets widen under load on some processors. */
    if (knob->kind == HOP_KNOB_DUPLEX && link == HOP_LINK_SOCKET)
        *high = 1.5;
}

/* ---- choosing members ---- */

struct chosen {
    struct hop_fitting *f;
    struct hop_knob *list;
    uint32_t count, capacity;
};

static bool is_between_sockets(const struct hop_fitting *f, const struct hop_link *link)
{
    return link->kind == HOP_LINK_SOCKET &&
           hop_topology_node(f->topology, link->ends[0])->kind == hop_topology_node(f->topology, link->ends[1])->kind;
}

static bool is_accelerator(const struct hop_link *link)
{
    return link->kind == HOP_LINK_NVLINK || link->kind == HOP_LINK_XGMI || link->kind == HOP_LINK_C2C;
}

static bool is_network(const struct hop_link *link)
{
    return link->kind == HOP_LINK_INFINIBAND || link->kind == HOP_LINK_ETHERNET || link->kind == HOP_LINK_TORUS;
}

enum family { PCIE, ACCELERATOR, SOCKETS, NETWORK, MEMORY, ON_DIE, FAMILIES };
static const char *const family_names[FAMILIES] = {"PCIe links",    "accelerator links", "links between sockets",
                                                   "network links", "host memory",       "root complexes to sockets"};

static enum family family_of(const struct hop_fitting *f, uint32_t directed)
{
    const struct hop_link *link = hop_topology_link(f->topology, directed / 2);
    return is_accelerator(link)            ? ACCELERATOR
           : is_network(link)              ? NETWORK
           : link->kind == HOP_LINK_MEMORY ? MEMORY
           : is_between_sockets(f, link)   ? SOCKETS
           : link->kind == HOP_LINK_SOCKET ? ON_DIE
           : link->kind == HOP_LINK_CHIP   ? FAMILIES
                                           : PCIE;
}

static bool is_used(const struct hop_fitting *f, uint32_t directed)
{
    for (uint32_t g = 0; g < f->groups; g++) {
        if (f->on_link[(size_t)g * f->directed + directed])
            return true;
    }
    return false;
}

/* A knob of those among `from` (NULL: all directed links) that `keep` keeps; members that no group uses are left out.
 * Nothing is proposed when none is left, or all of a parent. */
typedef bool keep_member(const struct hop_fitting *f, uint32_t member, const void *context);

static enum hop_status choose(struct chosen *c, enum hop_knob_kind kind, uint32_t parent, const uint32_t *from,
                              uint32_t from_count, keep_member *keep, const void *context, const char *what,
                              struct hop_diag *diag)
{
    struct hop_fitting *f = c->f;
    if (c->count == c->capacity)
        return HOP_OK; /* enough to try */
    uint32_t *members = hop_arena_alloc(&f->arena, (from_count + 1) * sizeof *members), count = 0;
    if (!members)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < from_count; i++) {
        uint32_t member = from ? from[i] : i;
        bool used = is_parameter(kind) || kind == HOP_KNOB_CROSSING || is_used(f, member);
        if (used && keep(f, member, context))
            members[count++] = member;
    }
    if (count == 0 || (parent != HOP_NONE && count == from_count))
        return HOP_OK;
    struct hop_knob *knob = &c->list[c->count++];
    *knob = (struct hop_knob){.kind = kind, .members = members, .count = count, .parent = parent};
    (void)snprintf(knob->what, sizeof knob->what, "%.79s", what);
    knob->value = knob->given = parent != HOP_NONE ? f->knobs[parent].value : present(f, knob);
    knob->nominal = parent != HOP_NONE ? f->knobs[parent].nominal : knob->given;
    return HOP_OK;
}

static bool is_of_family(const struct hop_fitting *f, uint32_t directed, const void *family)
{
    return family_of(f, directed) == *(const enum family *)family;
}

static bool is_any(const struct hop_fitting *f, uint32_t member, const void *unused)
{
    (void)f, (void)member, (void)unused;
    return true;
}

static bool is_down(const struct hop_fitting *f, uint32_t directed, const void *unused)
{
    (void)f, (void)unused;
    return directed & 1;
}

static bool is_up(const struct hop_fitting *f, uint32_t directed, const void *unused)
{
    (void)f, (void)unused;
    return !(directed & 1);
}

static bool is_device_link(const struct hop_fitting *f, uint32_t directed, const void *unused)
{
    (void)unused;
    return !is_to_switch(f, directed);
}

static bool is_uplink(const struct hop_fitting *f, uint32_t directed, const void *unused)
{
    (void)unused;
    return is_to_switch(f, directed);
}

static bool is_uplink_of_pcie(const struct hop_fitting *f, uint32_t directed, const void *unused)
{
    (void)unused;
    return family_of(f, directed) == PCIE && is_to_switch(f, directed);
}

static bool is_link(const struct hop_fitting *f, uint32_t directed, const void *link)
{
    (void)f;
    return directed / 2 == *(const uint32_t *)link;
}

static bool is_same(const struct hop_fitting *f, uint32_t member, const void *other)
{
    (void)f;
    return member == *(const uint32_t *)other;
}

/* Its lower end hangs, at any depth, under that node. */
static bool is_below_node(const struct hop_fitting *f, uint32_t directed, const void *top)
{
    uint32_t node = hop_topology_link(f->topology, directed / 2)->ends[0];
    while (node != HOP_NONE) {
        uint32_t up = hop_topology_upstream(f->topology, node);
        node = up == HOP_NONE ? HOP_NONE : hop_topology_link(f->topology, up)->ends[1];
        if (node == *(const uint32_t *)top)
            return true;
    }
    return false;
}

static bool is_bonded(const struct hop_fitting *f, uint32_t directed, const void *unused)
{
    (void)unused;
    return hop_topology_link(f->topology, directed / 2)->count > 1;
}

static bool is_single(const struct hop_fitting *f, uint32_t directed, const void *unused)
{
    return !is_bonded(f, directed, unused);
}

static bool is_near(const struct hop_fitting *f, uint32_t pair, const void *unused)
{
    (void)unused;
    return !f->far[pair];
}

static bool is_far(const struct hop_fitting *f, uint32_t pair, const void *unused)
{
    (void)unused;
    return f->far[pair];
}

/* Pairs that some group crosses. */
static uint32_t list_pairs(struct hop_fitting *f, uint32_t *pairs)
{
    uint32_t count = 0, all = f->root_count * f->root_count;
    for (uint32_t p = 0; p < all; p++) {
        bool used = false;
        for (uint32_t g = 0; g < f->groups && !used; g++)
            used = f->on_pair[(size_t)g * all + p];
        if (used)
            pairs[count++] = p;
    }
    return count;
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
        struct hop_measurement_group rows = hop_measurements_group(f->measurements, g);
        const struct hop_measurement *m = hop_measurements_at(f->measurements, rows.rows[0]);
        const uint8_t *on = f->on_link + (size_t)g * f->directed;
        bool counts = rows.count == 1 && !isnan(m->rate_Bps) && (!f->train || f->train[rows.rows[0]]);
        if (counts && (on[directed] || on[directed ^ 1u]))
            best = hop_max(best, m->rate_Bps);
    }
    return best > 0 ? best : f->most_alone_Bps;
}

static double capacity_each(const struct hop_fitting *f, uint32_t directed)
{
    const struct hop_link *link = hop_topology_link(f->topology, directed / 2);
    return link->capacity_Bps[directed & 1] / link->count;
}

static bool is_of_class(const struct hop_fitting *f, uint32_t directed, const void *context)
{
    const struct class *class = context;
    double capacity = capacity_each(f, directed);
    double alone = best_alone(f, directed);
    return family_of(f, directed) == class->family && capacity >= class->low && capacity <= class->high &&
           alone >= class->slowest_Bps && alone <= class->fastest_Bps;
}

/* The classes of a family: values within ALIKE of the lowest are alike; all are, where there are too many. */
static uint32_t list_classes(const struct hop_fitting *f, enum family family, struct class classes[CLASSES_MAX])
{
    uint32_t count = 0;
    double above = 0;
    for (;;) {
        double lowest = INFINITY;
        for (uint32_t d = 0; d < f->directed; d++) {
            double capacity = capacity_each(f, d);
            if (family_of(f, d) == family && capacity > above && is_used(f, d))
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
        if (is_used(f, d) && is_of_class(f, d, class) && best_alone(f, d) < below)
            fastest = hop_max(fastest, best_alone(f, d));
    }
    return fastest;
}

/* The knobs of a class: one for each speed, everything down to SLOWER of the fastest taken together. */
static enum hop_status begin_class(struct chosen *c, struct class class, const char *what, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    char text[80], rate[32];
    double speed = next_speed(c->f, &class, INFINITY);
    for (unsigned i = 0; status == HOP_OK && i < SPEEDS_MAX; i++) {
        struct class part = class;
        part.fastest_Bps = i == 0 ? INFINITY : speed;
        part.slowest_Bps = i + 1 == SPEEDS_MAX ? 0 : SLOWER * speed;
        if (i == 0)
            (void)snprintf(text, sizeof text, "%s", what);
        else
            (void)snprintf(text, sizeof text, "%.50s, %s at most", what, hop_show_rate(speed, rate, sizeof rate));
        status = choose(c, HOP_KNOB_CAPACITY, HOP_NONE, NULL, c->f->directed, is_of_class, &part, text, diag);
        speed = next_speed(c->f, &class, part.slowest_Bps);
        if (speed == 0)
            break;
    }
    return status;
}

static enum hop_status begin_family(struct chosen *c, enum family family, struct hop_diag *diag)
{
    struct class classes[CLASSES_MAX];
    enum hop_status status = HOP_OK;
    char what[80], rate[32];
    uint32_t count = list_classes(c->f, family, classes);
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        (void)snprintf(what, sizeof what, "capacity of %s%s%s", family_names[family], count > 1 ? ", given as " : "",
                       count > 1 ? hop_show_rate(classes[i].low, rate, sizeof rate) : "");
        status = begin_class(c, classes[i], what, diag);
    }
    return status;
}

enum hop_status hop_knobs_begin(struct hop_fitting *f, struct hop_diag *diag)
{
    struct chosen c = {f, f->knobs, 0, HOP_KNOBS_MAX};
    uint32_t all = f->root_count * f->root_count, *pairs = hop_arena_alloc(&f->arena, (all + 1) * sizeof *pairs);
    enum hop_status status = pairs ? HOP_OK : hop_fail_memory(diag);
    for (enum family family = PCIE; family <= NETWORK && status == HOP_OK; family++)
        status = begin_family(&c, family, diag);
    uint32_t count = status == HOP_OK ? list_pairs(f, pairs) : 0;
    if (count > 0)
        status = choose(&c, HOP_KNOB_CROSSING, HOP_NONE, pairs, count, is_any, NULL, "1 - tau of crossings", diag);
    f->knob_count = c.count;
    return status;
}

/* ---- proposals ---- */

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

static bool is_free_capacity(const struct hop_fitting *f, uint32_t directed, const void *family)
{
    return is_of_family(f, directed, family) && !has_kind(f, HOP_KNOB_CAPACITY, directed);
}

static bool is_free_capacity_down(const struct hop_fitting *f, uint32_t directed, const void *family)
{
    return (directed & 1) && is_free_capacity(f, directed, family);
}

static bool is_free_capacity_up(const struct hop_fitting *f, uint32_t directed, const void *family)
{
    return !(directed & 1) && is_free_capacity(f, directed, family);
}

static bool is_free_duplex(const struct hop_fitting *f, uint32_t directed, const void *family)
{
    return is_of_family(f, directed, family) && !has_kind(f, HOP_KNOB_DUPLEX, directed);
}

static bool is_free_duplex_uplink(const struct hop_fitting *f, uint32_t directed, const void *unused)
{
    (void)unused;
    return is_uplink_of_pcie(f, directed, NULL) && !has_kind(f, HOP_KNOB_DUPLEX, directed);
}

static bool has_parameter(const struct hop_fitting *f, enum hop_knob_kind kind)
{
    bool has = false;
    for (uint32_t k = 0; k < f->knob_count; k++)
        has = has || f->knobs[k].kind == kind;
    return has;
}

static enum hop_status propose_limits(struct chosen *c, struct hop_diag *diag)
{
    struct hop_fitting *f = c->f;
    enum hop_status status = HOP_OK;
    char what[80];
    static const struct {
        keep_member *keep;
        const char *which;
    } ways[] = {{is_free_capacity, ""},
                {is_free_capacity_up, ", towards the host side"},
                {is_free_capacity_down, ", away from it"}};
    static const enum family inner[] = {ON_DIE, MEMORY}; /* of what explains as much, the nearer one */
    for (size_t i = 0; i < HOP_COUNT(inner); i++) {
        enum family family = inner[i];
        for (size_t w = 0; w < HOP_COUNT(ways) && status == HOP_OK; w++) {
            (void)snprintf(what, sizeof what, "capacity of %s%s", family_names[family], ways[w].which);
            status = choose(c, HOP_KNOB_CAPACITY, HOP_NONE, NULL, f->directed, ways[w].keep, &family, what, diag);
        }
    }
    for (enum family family = PCIE; family < FAMILIES && status == HOP_OK; family++) {
        (void)snprintf(what, sizeof what, "two-way share of %s", family_names[family]);
        status = choose(c, HOP_KNOB_DUPLEX, HOP_NONE, NULL, f->directed, is_free_duplex, &family, what, diag);
    }
    if (status == HOP_OK)
        status = choose(c, HOP_KNOB_DUPLEX, HOP_NONE, NULL, f->directed, is_free_duplex_uplink, NULL,
                        "two-way share of PCIe links to switches", diag);
    if (status == HOP_OK && !has_parameter(f, HOP_KNOB_HOST))
        status = choose(c, HOP_KNOB_HOST, HOP_NONE, NULL, 1, is_any, NULL,
                        "two-way share of devices' copies with host memory", diag);
    if (status == HOP_OK && !has_parameter(f, HOP_KNOB_LATENCY))
        status = choose(c, HOP_KNOB_LATENCY, HOP_NONE, NULL, 1, is_any, NULL, "latency of a copy", diag);
    return status;
}

static const char *short_name(enum hop_knob_kind kind)
{
    return kind == HOP_KNOB_CAPACITY ? "capacity" : kind == HOP_KNOB_DUPLEX ? "two-way share" : "1 - tau";
}

static enum hop_status propose_links(struct chosen *c, uint32_t parent, struct hop_diag *diag)
{
    struct hop_fitting *f = c->f;
    const struct hop_knob *knob = &f->knobs[parent];
    enum hop_status status = HOP_OK;
    char what[80], name[160];
    /* Either half may be the one with a value of its own. */
    static const struct {
        keep_member *keep;
        const char *which;
    } halves[] = {{is_down, "down"},           {is_up, "up"},         {is_uplink, "to switches"},
                  {is_device_link, "devices"}, {is_bonded, "bonded"}, {is_single, "single"}};
    for (size_t h = 0; h < HOP_COUNT(halves) && status == HOP_OK; h++) {
        (void)snprintf(what, sizeof what, "%.60s, %s", knob->what, halves[h].which);
        status = choose(c, knob->kind, parent, knob->members, knob->count, halves[h].keep, NULL, what, diag);
    }
    for (uint32_t n = 0; n < hop_topology_node_count(f->topology) && status == HOP_OK; n++) {
        enum hop_node_kind kind = hop_topology_node(f->topology, n)->kind;
        if (kind != HOP_NODE_SWITCH && kind != HOP_NODE_ROOT)
            continue;
        (void)snprintf(what, sizeof what, "%.44s, below %.24s", knob->what, hop_topology_node(f->topology, n)->name);
        status = choose(c, knob->kind, parent, knob->members, knob->count, is_below_node, &n, what, diag);
    }
    bool traces = true; /* nothing else: see appraise in fit.c */
    for (uint32_t g = 0; g < f->groups && traces; g++)
        traces = f->expect->groups[g].trace;
    for (uint32_t i = 0; i < knob->count && status == HOP_OK && !traces; i++) {
        uint32_t directed = knob->members[i], link = directed / 2;
        (void)hop_topology_link_name(f->topology, directed, name, sizeof name);
        (void)snprintf(what, sizeof what, "%s of %.56s", short_name(knob->kind), name);
        status = choose(c, knob->kind, parent, knob->members, knob->count, is_same, &directed, what, diag);
        if (status != HOP_OK || directed & 1)
            continue;
        (void)snprintf(what, sizeof what, "%s of %.24s--%.24s", short_name(knob->kind),
                       hop_topology_node(f->topology, hop_topology_link(f->topology, link)->ends[0])->name,
                       hop_topology_node(f->topology, hop_topology_link(f->topology, link)->ends[1])->name);
        status = choose(c, knob->kind, parent, knob->members, knob->count, is_link, &link, what, diag);
    }
    return status;
}

static enum hop_status propose_pairs(struct chosen *c, uint32_t parent, struct hop_diag *diag)
{
    struct hop_fitting *f = c->f;
    const struct hop_knob *knob = &f->knobs[parent];
    char what[80];
    enum hop_status status = choose(c, knob->kind, parent, knob->members, knob->count, is_far, NULL,
                                    "1 - tau of crossings between sockets", diag);
    if (status == HOP_OK)
        status = choose(c, knob->kind, parent, knob->members, knob->count, is_near, NULL,
                        "1 - tau of crossings inside a socket", diag);
    for (uint32_t i = 0; i < knob->count && status == HOP_OK; i++) {
        uint32_t pair = knob->members[i];
        (void)snprintf(what, sizeof what, "1 - tau of %.30s--%.30s",
                       hop_topology_node(f->topology, f->roots[pair / f->root_count])->name,
                       hop_topology_node(f->topology, f->roots[pair % f->root_count])->name);
        status = choose(c, knob->kind, parent, knob->members, knob->count, is_same, &pair, what, diag);
    }
    return status;
}

enum hop_status hop_knobs_propose(struct hop_fitting *f, struct hop_knob **proposals, uint32_t *count,
                                  struct hop_diag *diag)
{
    struct chosen c = {f, NULL, 0, PROPOSALS_MAX};
    c.list = hop_arena_alloc(&f->arena, PROPOSALS_MAX * sizeof *c.list);
    enum hop_status status = c.list ? propose_limits(&c, diag) : hop_fail_memory(diag);
    for (uint32_t k = 0; k < f->knob_count && status == HOP_OK; k++) {
        if (f->knobs[k].kind == HOP_KNOB_CROSSING)
            status = propose_pairs(&c, k, diag);
        else if (!is_parameter(f->knobs[k].kind))
            status = propose_links(&c, k, diag);
    }
    *proposals = c.list;
    *count = c.count;
    return status;
}

enum hop_status hop_knobs_add(struct hop_fitting *f, const struct hop_knob *proposal, struct hop_diag *diag)
{
    if (proposal->parent != HOP_NONE) {
        struct hop_knob *parent = &f->knobs[proposal->parent];
        uint32_t *left = hop_arena_alloc(&f->arena, (parent->count + 1) * sizeof *left), count = 0;
        if (!left)
            return hop_fail_memory(diag);
        for (uint32_t i = 0, taken = 0; i < parent->count; i++) {
            bool mine = taken < proposal->count && proposal->members[taken] == parent->members[i];
            taken += mine;
            if (!mine)
                left[count++] = parent->members[i];
        }
        parent->members = left;
        parent->count = count;
    }
    f->knobs[f->knob_count++] = *proposal;
    return hop_knob_set(f, proposal, proposal->value, diag);
}
