/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A topology from p2pBandwidthLatencyTest, which prints bandwidths and bus numbers, not wiring: all of the tree is a
 * guess, and its notes say so. A PCIe tree is numbered depth first, so that it is enough to say how far apart
 * neighbours in the order of bus numbers are; two others are as far as the farthest between (guess_gap says by what).
 * A pair faster than PCIe x16 of its GPU's generation has NVLink. Rates are trusted as what links carry at least.
 */
#include "import/facts.h"
#include "import/importer.h"
#include "import/infer.h"
#include "import/p2p_text.h"

#include <math.h>
#include <stdio.h>

#define GB 1e9
#define DROP 0.92        /* of the best neighbours: less is a drop */
#define STAGED_DROP 0.85 /* the same for staged two-way copies, which vary more */
#define LINK_EFFICIENCY 0.93
#define ALIKE 0.15         /* NVLink rates that differ by less have the same number of links */
#define SECOND_SOCKET 0x80 /* the first bus number of a second socket, by habit */
#define OTHER_ROOT 0x10    /* bus numbers so far apart are not below one root complex */
#define SWITCH_BUS 3       /* the lowest bus number below a switch: its two sides take 1 and 2 */
#define NVLINKS_MAX 18.0   /* of one GPU */

enum { RATES_MAX = 16 };

struct guess {
    const struct hop_p2p *p2p;
    uint32_t n;
    uint32_t order[HOP_P2P_LIMIT];  /* devices by bus number */
    uint8_t between[HOP_P2P_LIMIT]; /* enum hop_relation of neighbours order[k], order[k + 1] */
    unsigned generation;            /* PCIe */
    bool known_model;
    double nvlink_Bps[RATES_MAX]; /* rates met so far, for telling how many links they take */
    uint32_t nvlink_rates;
    uint32_t by_bus, by_drop, by_staging, staged_pairs, nvlink_pairs;
    bool any_access;
    struct hop_relations relations;
    struct hop_related devices[HOP_P2P_LIMIT];
    struct hop_build *build;
};

/* ---- generations ---- */

/* GB/s of an x16 link before any overhead. */
static const double raw_GBps[] = {0, 4, 8, 15.75, 31.5, 63, 121};

/* ---- rates ---- */

/* The rate from GPU i to GPU j of the one-way matrix, bytes/s; NAN: not printed. */
static double rate_Bps(const struct guess *g, uint32_t i, uint32_t j)
{
    if (!g->p2p->matrix[HOP_P2P_ONE_WAY])
        return NAN;
    bool row = g->p2p->from_row;
    return hop_p2p_at(g->p2p, HOP_P2P_ONE_WAY, row ? i : j, row ? j : i)->value * GB;
}

/* The better of both ways, NAN: neither is printed. */
static double better(double a, double b)
{
    return isnan(a) || b > a ? b : a;
}

static bool is_staged(const struct guess *g, uint32_t i, uint32_t j)
{
    return hop_p2p_staged(g->p2p, i, j) || hop_p2p_staged(g->p2p, j, i);
}

static bool has_nvlink(const struct guess *g, uint32_t i, uint32_t j)
{
    return !is_staged(g, i, j) && better(rate_Bps(g, i, j), rate_Bps(g, j, i)) > raw_GBps[g->generation] * GB;
}

/* Between peers over PCIe, NAN: not so or not printed. */
static double pcie_rate(const struct guess *g, uint32_t i, uint32_t j)
{
    return is_staged(g, i, j) || has_nvlink(g, i, j) ? NAN : better(rate_Bps(g, i, j), rate_Bps(g, j, i));
}

/* Of two copies there and back, staged through host memory. */
static double staged_rate(const struct guess *g, uint32_t i, uint32_t j)
{
    if (!g->p2p->matrix[HOP_P2P_TWO_WAY_DISABLED])
        return NAN;
    return better(hop_p2p_at(g->p2p, HOP_P2P_TWO_WAY_DISABLED, i, j)->value,
                  hop_p2p_at(g->p2p, HOP_P2P_TWO_WAY_DISABLED, j, i)->value) *
           GB;
}

/* The extreme over the pairs of up to two GPUs on each side of the gap behind place k, for these may have gaps of their
 * own next to it: the best between peers, the least of staged copies. NAN: nothing is known. */
static double across(const struct guess *g, uint32_t k, bool staged)
{
    double found = NAN;
    for (uint32_t a = k > 0 ? k - 1 : 0; a <= k; a++) {
        for (uint32_t b = k + 1; b <= k + 2 && b < g->n; b++) {
            double rate = (staged ? staged_rate : pcie_rate)(g, g->order[a], g->order[b]);
            found = staged ? -better(-found, -rate) : better(found, rate);
        }
    }
    return found;
}

static double best_gap(const struct guess *g, bool staged)
{
    double best = NAN;
    for (uint32_t k = 0; k + 1 < g->n; k++)
        best = better(best, across(g, k, staged));
    return best;
}

/* ---- neighbours ---- */

static bool comes_before(const struct hop_p2p_device *a, const struct hop_p2p_device *b)
{
    return a->domain != b->domain ? a->domain < b->domain : a->bus != b->bus ? a->bus < b->bus : a->slot < b->slot;
}

static void sort_by_bus(struct guess *g)
{
    for (uint32_t i = 0; i < g->n; i++) {
        uint32_t at = i;
        for (; at > 0 && comes_before(&g->p2p->devices[i], &g->p2p->devices[g->order[at - 1]]); at--)
            g->order[at] = g->order[at - 1];
        g->order[at] = i;
    }
}

/* Whether no pair next to a gap has peer access while others have. */
static bool is_blocked(const struct guess *g, uint32_t k)
{
    for (uint32_t a = k > 0 ? k - 1 : 0; a <= k; a++) {
        for (uint32_t b = k + 1; b <= k + 2 && b < g->n; b++) {
            if (!is_staged(g, g->order[a], g->order[b]))
                return false;
        }
    }
    return g->any_access;
}

static enum hop_relation guess_gap(struct guess *g, uint32_t k, double best, double best_staged)
{
    const struct hop_p2p_device *a = &g->p2p->devices[g->order[k]], *b = &g->p2p->devices[g->order[k + 1]];
    double here = across(g, k, false), staged = across(g, k, true);
    bool placed = g->p2p->has_devices, domains = placed && a->domain != b->domain;
    bool halves = placed && !domains && a->bus < SECOND_SOCKET && b->bus >= SECOND_SOCKET;
    bool drop = here < DROP * best, blocked = is_blocked(g, k);
    unsigned gap = placed && !domains ? b->bus - a->bus : 0;
    if (halves || domains) {
        g->by_bus++;
        g->by_drop += drop || blocked;
        return drop || blocked || (halves && isnan(here)) ? HOP_RELATION_SYS : HOP_RELATION_NODE;
    }
    if (drop || blocked) {
        g->by_drop++;
        return gap >= OTHER_ROOT ? HOP_RELATION_NODE : HOP_RELATION_PHB;
    }
    if (staged < STAGED_DROP * best_staged) {
        g->by_staging++;
        return HOP_RELATION_PIX;
    }
    g->by_bus += placed;
    if (gap == 1 && a->bus >= SWITCH_BUS)
        return HOP_RELATION_PIX;
    return gap >= OTHER_ROOT ? HOP_RELATION_NODE : HOP_RELATION_PHB;
}

/* ---- pairs ---- */

/* How many NVLinks a rate takes; rates that are alike take the same. */
static uint16_t links_for(struct guess *g, double rate)
{
    uint32_t i = 0;
    while (i < g->nvlink_rates && fabs(rate / g->nvlink_Bps[i] - 1) > ALIKE)
        i++;
    if (i < g->nvlink_rates)
        rate = g->nvlink_Bps[i];
    else if (i < RATES_MAX)
        g->nvlink_Bps[g->nvlink_rates++] = rate;
    double one = (g->p2p->has_devices && strstr(g->p2p->devices[0].label, "P100") ? 20 : 25) * GB * LINK_EFFICIENCY;
    return (uint16_t)hop_max(1, hop_min(NVLINKS_MAX, round(rate / one)));
}

static void relate(struct guess *g)
{
    double best = best_gap(g, false), best_staged = best_gap(g, true);
    for (uint32_t k = 0; k + 1 < g->n; k++)
        g->between[k] = (uint8_t)guess_gap(g, k, best, best_staged);
    for (uint32_t a = 0; a < g->n; a++) {
        enum hop_relation farthest = HOP_RELATION_UNKNOWN;
        for (uint32_t b = a + 1; b < g->n; b++) {
            uint32_t i = g->order[a], j = g->order[b];
            struct hop_pair pair = {.line = 1, .column = 1};
            if (g->between[b - 1] > farthest)
                farthest = (enum hop_relation)g->between[b - 1];
            pair.relation = (uint8_t)farthest;
            if (has_nvlink(g, i, j))
                pair.links = links_for(g, better(rate_Bps(g, i, j), rate_Bps(g, j, i)));
            g->nvlink_pairs += pair.links > 0;
            g->staged_pairs += is_staged(g, i, j);
            g->relations.pairs[(size_t)i * g->n + j] = g->relations.pairs[(size_t)j * g->n + i] = pair;
        }
    }
}

/* The generation of the slowest model; staged copies cannot be faster than PCIe, so they may show a newer one. */
static void choose_generation(struct guess *g)
{
    double staged = 0;
    g->generation = 0;
    for (uint32_t i = 0; i < g->n; i++) {
        const struct hop_gpu_facts *facts = hop_gpu_facts(g->build->gpu ? g->build->gpu : g->p2p->devices[i].label);
        unsigned generation = facts ? facts->pcie : 0;
        if (generation > 0 && (g->generation == 0 || generation < g->generation))
            g->generation = generation;
    }
    g->known_model = g->generation > 0;
    if (!g->known_model)
        g->generation = 4;
    for (size_t i = 0; g->p2p->matrix[HOP_P2P_ONE_WAY_DISABLED] && i < (size_t)g->n * g->n; i++) {
        if (g->p2p->matrix[HOP_P2P_ONE_WAY_DISABLED][i].value > staged)
            staged = g->p2p->matrix[HOP_P2P_ONE_WAY_DISABLED][i].value;
    }
    while (g->generation + 1 < HOP_COUNT(raw_GBps) && staged > raw_GBps[g->generation])
        g->generation++;
}

static void prepare(struct guess *g, const struct hop_source *source)
{
    static const char *const words[] = {"N/A", "PIX", "PXB", "PHB", "NODE", "SYS"};
    memcpy(g->relations.relation_names, words, sizeof words);
    g->n = g->p2p->count;
    g->relations.file = source->name;
    g->relations.count = g->n;
    g->relations.devices = g->devices;
    g->relations.link_kind = HOP_LINK_NVLINK;
    g->relations.knows_speeds = true;
    g->relations.pairs = hop_build_alloc(g->build, (size_t)g->n * g->n * sizeof *g->relations.pairs);
    for (uint32_t i = 0; i < g->n; i++)
        g->devices[i] = (struct hop_related){.kind = HOP_NODE_GPU,
                                             .numa = -1,
                                             .label = g->p2p->devices[i].label,
                                             .name = hop_build_text(g->build, "gpu%u", i),
                                             .title = hop_build_text(g->build, "GPU%u", i)};
    for (size_t i = 0; g->p2p->access && i < (size_t)g->n * g->n; i++)
        g->any_access = g->any_access || g->p2p->access[i] == 1;
    choose_generation(g);
    g->relations.pcie_generation = g->generation;
    sort_by_bus(g);
}

/* ---- what the matrix says about capacities ---- */

static void set_capacity(struct hop_topology *topology, uint32_t link, unsigned direction, double rate)
{
    if (!(rate >= HOP_CAPACITY_LEAST))
        return;
    topology->links[link].capacity_Bps[direction] = rate;
    topology->links[link].origin = "p2pBandwidthLatencyTest, the best of its pairs";
    topology->follows[link].capacity[direction] = false;
}

/* The best rate of GPU i to (else from) others: those with NVLink, or those behind the same switch. */
static double best_of(const struct guess *g, uint32_t i, bool to_others, bool nvlink)
{
    double best = NAN;
    for (uint32_t j = 0; j < g->n; j++) {
        const struct hop_pair *pair = &g->relations.pairs[(size_t)i * g->n + j];
        if (i != j && (nvlink ? pair->links > 0 : pair->relation == HOP_RELATION_PIX && !isnan(pcie_rate(g, i, j))))
            best = better(best, to_others ? rate_Bps(g, i, j) : rate_Bps(g, j, i));
    }
    return best;
}

static void set_links(struct guess *g, const uint32_t *gpu_of)
{
    struct hop_topology *topology = g->build->topology;
    for (uint32_t l = 0; l < topology->link_count; l++) {
        const struct hop_link *link = &topology->links[l];
        uint32_t a = gpu_of[link->ends[0]], b = gpu_of[link->ends[1]];
        bool nvlink = link->kind == HOP_LINK_NVLINK;
        if (a == HOP_NONE || (!nvlink && link->kind != HOP_LINK_PCIE))
            continue;
        set_capacity(topology, l, 0, b == HOP_NONE ? best_of(g, a, true, nvlink) : rate_Bps(g, a, b));
        set_capacity(topology, l, 1, b == HOP_NONE ? best_of(g, a, false, nvlink) : rate_Bps(g, b, a));
    }
}

/* The link between sockets carries at least what the best pair across it gets. */
static void set_socket(struct guess *g)
{
    double best = NAN;
    for (uint32_t i = 0; i < g->n; i++) {
        for (uint32_t j = 0; j < i; j++) {
            if (g->relations.pairs[(size_t)i * g->n + j].relation == HOP_RELATION_SYS)
                best = better(best, pcie_rate(g, i, j));
        }
    }
    if (!isnan(best))
        hop_build_parameter(g->build, "socket", best, "the best pair across sockets, p2pBandwidthLatencyTest");
}

static void set_bus_ids(struct guess *g, const uint32_t *gpu_of)
{
    struct hop_topology *topology = g->build->topology;
    for (uint32_t node = 0; node < topology->node_count && g->p2p->has_devices; node++) {
        char text[32];
        if (gpu_of[node] == HOP_NONE)
            continue;
        const struct hop_p2p_device *device = &g->p2p->devices[gpu_of[node]];
        (void)snprintf(text, sizeof text, "%04x:%02x:%02x.0", device->domain, device->bus, device->slot);
        topology->nodes[node].bus_id = hop_arena_string(&topology->arena, text, strlen(text));
    }
}

/* ---- notes ---- */

static void add_notes(struct guess *g)
{
    hop_build_note(
        g->build,
        "guessed from p2pBandwidthLatencyTest, which prints no wiring; of %u neighbours in bus order %u are told "
        "apart by a drop of bandwidth or missing peer access, %u by copies that share the way to host memory, the "
        "others by their bus numbers%s; the output of `nvidia-smi topo -m` says it better",
        g->n > 0 ? g->n - 1 : 0, g->by_drop, g->by_staging,
        g->p2p->has_devices ? " (80 on: a second socket; in succession: one switch)" : ", which are not printed");
    hop_build_note(
        g->build,
        "PCIe generation %u x16 is %s; links of GPUs behind one switch carry what the best of their pairs got",
        g->generation, g->known_model ? "that of the GPU's model" : "assumed, the GPU's model is not known");
    if (g->nvlink_pairs > 0)
        hop_build_note(g->build,
                       "%u pairs are faster than PCIe generation %u x16 (%g GB/s) and are taken to have NVLink, at the "
                       "rates measured",
                       g->nvlink_pairs, g->generation, raw_GBps[g->generation]);
    if (g->staged_pairs > 0)
        hop_build_note(g->build,
                       "%u pairs have no peer access: their copies are staged through host memory, which a topology "
                       "cannot say",
                       g->staged_pairs);
}

/* ---- reading ---- */

/* What the matrix says beyond the tree. */
static void refine(struct guess *g)
{
    struct hop_topology *topology = g->build->topology;
    uint32_t *gpu_of = hop_build_alloc(g->build, ((size_t)topology->node_count + 1) * sizeof *gpu_of);
    if (!gpu_of)
        return;
    memset(gpu_of, 0xff, topology->node_count * sizeof *gpu_of); /* HOP_NONE */
    for (uint32_t i = 0; i < g->n; i++)
        gpu_of[hop_topology_find(topology, g->devices[i].name)] = i;
    set_links(g, gpu_of);
    set_bus_ids(g, gpu_of);
    set_socket(g);
    add_notes(g);
}

static void read_p2p_matrix(const struct hop_source *source, struct hop_build *build)
{
    struct hop_p2p *p2p = hop_build_alloc(build, sizeof *p2p);
    struct guess *g = hop_build_alloc(build, sizeof *g);
    if (!g)
        return;
    build->failure.status = hop_p2p_read(source, 0, p2p, build->failure.diag);
    g->p2p = p2p;
    g->build = build;
    if (hop_build_ok(build))
        prepare(g, source);
    if (hop_build_ok(build))
        relate(g);
    if (hop_build_ok(build))
        hop_relations_infer(&g->relations, build);
    if (hop_build_ok(build))
        refine(g);
    hop_p2p_finish(p2p);
}

const struct hop_importer hop_importer_p2p_matrix = {.detect = hop_p2p_detect, .read = read_p2p_matrix};
