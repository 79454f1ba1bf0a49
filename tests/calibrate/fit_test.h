/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What tests of fits share. They check by synthesis: a machine with known parameters is measured by predicting on it,
 * with or without noise, and a fit starts from nominal values.
 */
#ifndef HOP_FIT_TEST_H
#define HOP_FIT_TEST_H

#include "test.h"

#include "hopcast/calibrate.h"

#include <math.h>

/* ---- machines ---- */

/* sockets x roots of a socket, a switch under each root (or none), devices under each; GPUs 2k and 2k + 1 joined. */
struct plan {
    unsigned sockets, roots, devices;
    bool switches, nvlink, ports; /* ports: the last root complex has links to the others */
};

static const struct plan two_switches = {1, 2, 2, true, false, false}, two_sockets = {2, 2, 2, true, false, false},
                         direct = {1, 4, 1, false, false, false}, pairs = {1, 2, 2, true, true, false};

static inline uint32_t add_node(struct hop_topology *t, enum hop_node_kind kind, const char *name, unsigned number)
{
    char text[32];
    uint32_t index = HOP_NONE;
    (void)snprintf(text, sizeof text, "%s%u", name, number);
    struct hop_node node = hop_node_default(kind, text);
    CHECK(hop_topology_add_node(t, &node, &index, D));
    return index;
}

static inline void add_link(struct hop_topology *t, enum hop_link_kind kind, uint32_t from, uint32_t to,
                            double capacity_Bps)
{
    struct hop_link link = hop_link_default(kind, from, to);
    link.capacity_Bps[0] = link.capacity_Bps[1] = capacity_Bps;
    CHECK(hop_topology_add_link(t, &link, NULL, D));
}

/* With nominal values: PCIe 32 GB/s, NVLink 40, sockets 20, memory and on-die links wide, tau as it is by default. */
static inline struct hop_topology *build(const struct plan *p, bool chip)
{
    struct hop_topology *t = hop_topology_create("made");
    uint32_t first_socket = HOP_NONE, gpu = 0, root = 0, last_gpu = HOP_NONE, last_root = HOP_NONE,
             switches[2] = {HOP_NONE, HOP_NONE};
    for (unsigned s = 0; s < p->sockets; s++) {
        uint32_t socket = add_node(t, HOP_NODE_SOCKET, "socket", s);
        add_link(t, HOP_LINK_MEMORY, add_node(t, HOP_NODE_HOST, "host", s), socket, 1e12);
        if (s == 0)
            first_socket = socket;
        else
            add_link(t, HOP_LINK_SOCKET, first_socket, socket, 2e10);
        for (unsigned r = 0; r < p->roots; r++, root++) {
            uint32_t top = last_root = add_node(t, HOP_NODE_ROOT, "root", root);
            add_link(t, HOP_LINK_SOCKET, top, socket, 1e12);
            if (p->switches) {
                uint32_t below = add_node(t, HOP_NODE_SWITCH, "switch", root);
                add_link(t, HOP_LINK_PCIE, below, top, 3.2e10);
                top = below;
                switches[root == 0 ? 0 : 1] = below;
            }
            for (unsigned d = 0; d < p->devices; d++, gpu++) {
                uint32_t device = add_node(t, HOP_NODE_GPU, "gpu", gpu);
                add_link(t, HOP_LINK_PCIE, device, top, 3.2e10);
                if (p->nvlink && gpu % 2)
                    add_link(t, HOP_LINK_NVLINK, last_gpu, device, 4e10);
                last_gpu = device;
            }
        }
    }
    for (unsigned r = 0; p->ports && r + 1 < p->roots; r++) {
        char name[32];
        (void)snprintf(name, sizeof name, "root%u", r);
        add_link(t, HOP_LINK_SOCKET, last_root, hop_topology_find(t, name), 1e12);
    }
    if (chip)
        add_link(t, HOP_LINK_CHIP, switches[0], switches[1], 1e12);
    CHECK(hop_topology_finish(t, D));
    return t;
}

static inline void set(struct hop_topology *t, const char *assignment)
{
    CHECK(hop_topology_set(t, assignment, D));
}

/* The capacity of every link of a kind. */
static inline void set_capacities(struct hop_topology *t, enum hop_link_kind kind, double capacity_Bps)
{
    for (uint32_t l = 0; l < hop_topology_link_count(t); l++) {
        const struct hop_link *link = hop_topology_link(t, l);
        char text[128];
        if (link->kind != kind)
            continue;
        (void)snprintf(text, sizeof text, "%s--%s:%s.capacity=%.17gB/s", hop_topology_node(t, link->ends[0])->name,
                       hop_topology_node(t, link->ends[1])->name, hop_link_kind_name(kind), capacity_Bps);
        set(t, text);
    }
}

static inline unsigned gpus_of(const struct plan *p)
{
    return p->sockets * p->roots * p->devices;
}

static inline double between(double low, double high)
{
    return low + (high - low) * random_below(1000000) / 1e6;
}

/* ---- what is measured ---- */

struct text {
    char data[1 << 16];
    size_t size;
};

static inline void put(struct text *t, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    t->size += (size_t)vsnprintf(t->data + t->size, sizeof t->data - t->size, format, arguments);
    va_end(arguments);
    assert_true(t->size < sizeof t->data);
}

#define HEADER "from,to,bytes,concurrent_group,measured_GBps,notes\n"
#define MOVES ",1000000000,%s,1,\n"

static inline void put_move(struct text *t, const char *group, unsigned from, unsigned to)
{
    put(t, "gpu%u,gpu%u" MOVES, from, to, group);
}

/* Every pair alone, every pair both ways, into each device from two others, everyone to the one half round. */
static inline void put_peers(struct text *t, unsigned gpus)
{
    char group[32];
    for (unsigned a = 0; a < gpus; a++) {
        for (unsigned b = 0; b < gpus; b++) {
            (void)snprintf(group, sizeof group, "%u-%u", a, b);
            if (a != b)
                put_move(t, group, a, b);
            (void)snprintf(group, sizeof group, "%u=%u", a, b);
            if (a < b) {
                put_move(t, group, a, b);
                put_move(t, group, b, a);
            }
        }
        (void)snprintf(group, sizeof group, "into%u", a);
        put_move(t, group, (a + 1) % gpus, a);
        put_move(t, group, (a + gpus / 2) % gpus, a);
        put_move(t, "shift", a, (a + gpus / 2) % gpus);
        if (a < gpus / 2)
            put_move(t, "forth", a, a + gpus / 2);
    }
}

static inline void put_hosts(struct text *t, unsigned gpus)
{
    for (unsigned a = 0; a < gpus; a++) {
        put(t, "host,gpu%u,1000000000,from%u,1,\ngpu%u,host,1000000000,to%u,1,\n", a, a, a, a);
        put(t, "host,gpu%u,1000000000,from-all,1,\ngpu%u,host,1000000000,to-all,1,\n", a, a);
    }
}

/* Sum of twelve: nearly normal, deviation 1. */
static inline double normal(void)
{
    double sum = -6;
    for (unsigned i = 0; i < 12; i++)
        sum += between(0, 1);
    return sum;
}

static inline struct hop_measurements *parse(const struct text *t)
{
    struct hop_measurements *m = NULL;
    CHECK(hop_measurements_parse("made.csv", t->data, t->size, &m, D));
    return m;
}

/* The same rows with the rates that the machine shows, each off by noise (one deviation, relative). */
static const char *model = "server";

static inline void measure(const struct hop_topology *truth, const struct text *rows, double noise,
                           struct text *measured)
{
    const char *const models[] = {model};
    struct hop_measurements *m = parse(rows);
    struct hop_comparison *c = NULL;
    CHECK(hop_compare_models(m, truth, models, 1, NULL, &c, D));
    measured->size = 0;
    put(measured, HEADER);
    for (uint32_t r = 0; r < c->row_count; r++) {
        const struct hop_measurement *of = c->rows[r].of;
        put(measured, "%s,%s,%llu,%s,%.12g,\"%s\"\n", of->from, of->to, (unsigned long long)of->bytes, of->group,
            (double)of->bytes / c->rows[r].candidate_s[0] / 1e9 * (1 + noise * normal()), of->notes);
    }
    hop_comparison_destroy(c);
    hop_measurements_destroy(m);
}

/* ---- what is found ---- */

struct found {
    struct hop_measurements *measurements;
    struct hop_fit_result *result;
};

static inline struct found fit(const struct text *measured, const struct hop_topology *start, uint32_t folds)
{
    struct hop_fit_options options = {.folds = folds, .model = model};
    struct found found = {.measurements = parse(measured)};
    CHECK(hop_calibrate_fit(found.measurements, start, &options, &found.result, D));
    return found;
}

static inline void finish(struct found found)
{
    hop_fit_result_destroy(found.result);
    hop_measurements_destroy(found.measurements);
}

static inline void list(const struct hop_fit_result *r)
{
    for (uint32_t i = 0; i < r->parameter_count; i++)
        print_message("  %s: %.6g +- %.2g, given %.6g, gain %.3g, %u places\n", r->parameters[i].name,
                      r->parameters[i].value, r->parameters[i].uncertainty, r->parameters[i].given,
                      r->parameters[i].gain, r->parameters[i].place_count);
}

static const struct hop_fit_parameter *parameter(const struct hop_fit_result *r, const char *name)
{
    for (uint32_t i = 0; i < r->parameter_count; i++) {
        if (strcmp(r->parameters[i].name, name) == 0)
            return &r->parameters[i];
    }
    list(r);
    fail_msg("there is no parameter '%s'", name);
    return NULL;
}

static inline void must_be(const struct hop_fit_result *r, const char *name, double value, double tolerance)
{
    const struct hop_fit_parameter *p = parameter(r, name);
    if (!(fabs(p->value - value) <= tolerance)) {
        list(r);
        fail_msg("%s is %.6g, not %.6g", name, p->value, value);
    }
}

static inline void must_number(const struct hop_fit_result *r, uint32_t count)
{
    if (r->parameter_count != count) {
        list(r);
        fail_msg("%u parameters, not %u", r->parameter_count, count);
    }
}

/* Errors of groups after the fit, and of those held out. */
static inline void must_predict(const struct hop_fit_result *r, double worst)
{
    for (uint32_t c = 1; c < r->comparison->candidate_count; c++) {
        const struct hop_compare_summary *s = &r->comparison->candidates[c];
        if (!(s->groups.worst <= worst)) {
            list(r);
            fail_msg("%s: group %s is off by %.3g", s->name, r->comparison->groups[s->worst_group].name,
                     s->worst_group_error);
        }
    }
}

/* A machine like a plan with that PCIe rate and tau 0.1, changed by `set_truth` (NULL: not), measured peer to peer and
 * to and from hosts. */
static inline struct found find(const struct plan *plan, bool chip, double pcie, const char *set_truth, uint32_t folds)
{
    static struct text rows, measured;
    struct hop_topology *truth = build(plan, chip), *nominal = build(plan, false);
    set_capacities(truth, HOP_LINK_PCIE, pcie);
    set(truth, "tau=0.1");
    if (set_truth)
        set(truth, set_truth);
    rows.size = 0;
    put(&rows, HEADER);
    put_peers(&rows, gpus_of(plan));
    put_hosts(&rows, gpus_of(plan));
    measure(truth, &rows, 0.005, &measured);
    struct found f = fit(&measured, nominal, folds);
    hop_topology_destroy(truth);
    hop_topology_destroy(nominal);
    return f;
}

static inline double parameter_of(const struct hop_topology *t, const char *name)
{
    return hop_topology_parameter(t, name)->value;
}

#endif
