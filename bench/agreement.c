/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fluid models against the packet simulation (docs/packet.md): agreement between simulations, not with hardware.
 *
 *     agreement [GRAPHS]     tables over GRAPHS (2,000) random graphs on t1 and on t2, a quarter of them on a tree of
 *                            five levels, on t2 with all GPUs sending at once, and on t2 with host
 *                            memory among the ends
 *
 * A graph is 2 to 8 transfers between random GPUs, sources repeating, all alike in size. The error of a transfer is the
 * fluid model's end over the packet simulation's, less 1. Seeds are fixed: the same tables on every machine. Exit 1:
 * model `credit` misses the target.
 */
#include "hopcast/hopcast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MIB ((uint64_t)1 << 20)
enum { GRAPHS = 2000, SIZE_GRAPHS = 200, DEVICE_MAX = 64, TRANSFER_LEAST = 2, TRANSFER_MOST = 8 };
#define CLOSE 0.01
#define TARGET 0.99 /* share of transfers on t2 that credit has within CLOSE of shared */

static const char *const models[] = {"pcie", "credit", "fair"};
/* With host memory, of which the packets are read: server under host_pull = 1. */
static const char *const host_models[] = {"pcie", "server", "fair"};
enum { MODELS = 3, VARIANTS = 3, CREDIT = 1 };

/* Of the packet simulation; the first one is the default. */
struct variant {
    const char *name;
    struct hop_packet_options options;
};
static const struct variant organisations[VARIANTS] = {
    {"shared", {0}}, {"fifo", {.queues = HOP_PACKET_FIFO}}, {"per-transfer", {.queues = HOP_PACKET_PER_TRANSFER}}};
/* How much of a transfer out of host memory is under way. */
static const struct variant reads[VARIANTS] = {
    {"shared", {0}}, {"read=512B", {.read_bytes = 512}}, {"read=1GiB", {.read_bytes = 1024 * MIB}}};

static void need(enum hop_status status, const struct hop_diag *diag)
{
    if (status == HOP_OK)
        return;
    fprintf(stderr, "agreement: %s: %s (%s)\n", diag->place, diag->what, diag->expected);
    exit(2);
}

/* ---- graphs ---- */

/* A binary tree of switches under one root complex: 16 GPUs, five levels of nodes. */
static struct hop_topology *make_tree(void)
{
    enum { LEVELS = 4 };
    struct hop_diag diag = {0};
    struct hop_topology *topology = hop_topology_create("tree");
    char name[32];
    uint32_t first = 0, count = 1;
    struct hop_node root = hop_node_default(HOP_NODE_ROOT, "root0");
    need(hop_topology_add_node(topology, &root, &first, &diag), &diag);
    for (unsigned level = 1; level <= LEVELS; level++) {
        uint32_t next = 0;
        for (uint32_t i = 0; i < 2 * count; i++) {
            uint32_t node;
            bool leaf = level == LEVELS;
            if (leaf)
                (void)snprintf(name, sizeof name, "gpu%u", i);
            else
                (void)snprintf(name, sizeof name, "switch%u_%u", level, i);
            struct hop_node made = hop_node_default(leaf ? HOP_NODE_GPU : HOP_NODE_SWITCH, name);
            need(hop_topology_add_node(topology, &made, &node, &diag), &diag);
            struct hop_link link = hop_link_default(HOP_LINK_PCIE, node, first + i / 2);
            link.capacity_Bps[0] = link.capacity_Bps[1] = 12e9;
            need(hop_topology_add_link(topology, &link, NULL, &diag), &diag);
            next = i == 0 ? node : next;
        }
        first = next;
        count *= 2;
    }
    need(hop_topology_finish(topology, &diag), &diag);
    return topology;
}

static struct hop_topology *load(const char *name)
{
    struct hop_diag diag = {0};
    struct hop_topology *topology = NULL;
    if (strcmp(name, "tree") == 0)
        topology = make_tree();
    else
        need(hop_topology_load(name, &topology, &diag), &diag);
    need(hop_topology_set(topology, "head_of_line=1", &diag), &diag); /* packets wait behind others */
    return topology;
}

/* Between GPUs; each of them sends once; host memory is an end like the GPUs. */
enum kind { USUAL, ALL_SEND, WITH_HOST };
static const char *const kinds[] = {"", ", every GPU sends once", " with its host memory"};

static struct hop_schedule *make_graph(const struct hop_topology *topology, enum kind graphs, uint32_t graph,
                                       uint64_t bytes)
{
    struct hop_diag diag = {0};
    const char *devices[DEVICE_MAX];
    struct hop_ranks ranks = {devices, 0};
    for (uint32_t n = 0; n < hop_topology_node_count(topology) && ranks.count < DEVICE_MAX; n++) {
        enum hop_node_kind kind = hop_topology_node(topology, n)->kind;
        if (kind == HOP_NODE_GPU || (graphs == WITH_HOST && kind == HOP_NODE_HOST))
            devices[ranks.count++] = hop_topology_node(topology, n)->name;
    }
    struct hop_random random = {.transfers = TRANSFER_LEAST + graph % (TRANSFER_MOST - TRANSFER_LEAST + 1),
                                .seed = graph + 1,
                                .min_bytes = bytes,
                                .max_bytes = bytes,
                                .distinct_sources = graphs == ALL_SEND};
    if (graphs == ALL_SEND)
        random.transfers = ranks.count;
    struct hop_schedule *schedule;
    need(hop_make_random(&ranks, &random, &schedule, &diag), &diag);
    return schedule;
}

/* When each transfer ends. */
static void predict(struct hop_network *network, const struct hop_schedule *schedule,
                    const struct hop_packet_options *packet, double *ends_s)
{
    struct hop_diag diag = {0};
    struct hop_simulate_options options = {
        .detail = HOP_DETAIL_ENDS, .fidelity = packet ? HOP_FIDELITY_PACKET : HOP_FIDELITY_FLUID, .packet = packet};
    struct hop_timeline *timeline;
    need(hop_simulate(network, schedule, &options, &timeline, &diag), &diag);
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++)
        ends_s[i] = hop_timeline_span(timeline, i).end_s;
    hop_timeline_destroy(timeline);
}

/* ---- errors ---- */

struct errors {
    double *values;
    uint32_t count;
};

static struct errors make_errors(uint32_t graphs)
{
    struct errors made = {malloc((size_t)graphs * TRANSFER_MOST * sizeof(double)), 0};
    if (!made.values)
        exit(2);
    return made;
}

static void add_errors(struct errors *errors, const double *fluid_s, const double *packet_s, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        errors->values[errors->count++] = fluid_s[i] / packet_s[i] - 1;
}

static int by_size(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

static double within(const struct errors *errors, double limit)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < errors->count; i++)
        count += fabs(errors->values[i]) <= limit;
    return (double)count / errors->count;
}

/* After sorting by size. */
static double quantile(const struct errors *errors, double share)
{
    return errors->values[(uint32_t)(share * (errors->count - 1))];
}

static void print_errors(const char *model, const char *variant, struct errors *errors)
{
    qsort(errors->values, errors->count, sizeof *errors->values, by_size);
    printf("%-7s %-13s %8u %8.2f %8.2f %8.2f %9.3f %9.3f %+9.2f\n", model, variant, errors->count,
           100 * within(errors, CLOSE), 100 * within(errors, 0.05), 100 * within(errors, 0.15),
           100 * fabs(quantile(errors, 0.5)), 100 * fabs(quantile(errors, 0.9)), 100 * quantile(errors, 1));
}

/* ---- tables ---- */

/* Returns the share of transfers that credit has within 1 % of the first variant. */
static double compare_models(const char *name, enum kind kind, uint32_t graphs)
{
    struct hop_diag diag = {0};
    struct hop_topology *topology = load(name);
    struct hop_network *networks[MODELS];
    struct errors errors[VARIANTS][MODELS];
    const struct variant *variants = kind == WITH_HOST ? reads : organisations;
    const char *const *names = kind == WITH_HOST ? host_models : models;
    if (kind == WITH_HOST)
        need(hop_topology_set(topology, "host_pull=1", &diag), &diag);
    for (int m = 0; m < MODELS; m++)
        need(hop_network_create(topology, names[m], &networks[m], &diag), &diag);
    for (int v = 0; v < VARIANTS; v++) {
        for (int m = 0; m < MODELS; m++)
            errors[v][m] = make_errors(graphs);
    }
    for (uint32_t graph = 0; graph < graphs; graph++) {
        struct hop_schedule *schedule = make_graph(topology, kind, graph, 4 * MIB);
        double fluid_s[MODELS][TRANSFER_MOST], packet_s[TRANSFER_MOST];
        for (int m = 0; m < MODELS; m++)
            predict(networks[m], schedule, NULL, fluid_s[m]);
        for (int v = 0; v < VARIANTS; v++) {
            predict(networks[0], schedule, &variants[v].options, packet_s);
            for (int m = 0; m < MODELS; m++)
                add_errors(&errors[v][m], fluid_s[m], packet_s, hop_schedule_count(schedule));
        }
        hop_schedule_destroy(schedule);
    }
    printf("%s%s: %u random graphs of up to %d transfers of 4 MiB\n", name, kinds[kind], graphs, TRANSFER_MOST);
    printf("%-7s %-13s %8s %8s %8s %8s %9s %9s %9s\n", "model", "packets", "number", "1 %", "5 %", "15 %", "median %",
           "90th %", "worst %");
    double share = 0;
    for (int v = 0; v < VARIANTS; v++) {
        for (int m = 0; m < MODELS; m++) {
            print_errors(names[m], variants[v].name, &errors[v][m]);
            if (v == 0 && m == CREDIT)
                share = within(&errors[v][m], CLOSE);
            free(errors[v][m].values);
        }
    }
    printf("\n");
    fflush(stdout);
    for (int m = 0; m < MODELS; m++)
        hop_network_destroy(networks[m]);
    hop_topology_destroy(topology);
    return share;
}

/* Where fluids stop being valid: credit against shared on t2, by size of message and depth of buffer. */
static void compare_sizes(uint32_t graphs)
{
    static const uint32_t sizes_kib[] = {40, 64, 128, 256, 1024, 4096}, buffers_kib[] = {2, 4, 8, 16, 32};
    enum { SIZES = 6, BUFFERS = 5 };
    struct hop_diag diag = {0};
    struct hop_topology *topology = load("t2");
    struct hop_network *network;
    need(hop_network_create(topology, models[CREDIT], &network, &diag), &diag);
    printf("credit against shared on t2, %u graphs a cell: median and 90th percentile of the error in %%\n", graphs);
    printf("%-12s", "message");
    for (int b = 0; b < BUFFERS; b++)
        printf("  %6u KiB     ", buffers_kib[b]);
    printf("\n");
    for (int z = 0; z < SIZES; z++) {
        printf("%6u KiB  ", sizes_kib[z]);
        for (int b = 0; b < BUFFERS; b++) {
            struct errors errors = make_errors(graphs);
            struct hop_packet_options packet = {.buffer_bytes = (uint64_t)buffers_kib[b] << 10};
            for (uint32_t graph = 0; graph < graphs; graph++) {
                struct hop_schedule *schedule = make_graph(topology, USUAL, graph, (uint64_t)sizes_kib[z] << 10);
                double fluid_s[TRANSFER_MOST], packet_s[TRANSFER_MOST];
                predict(network, schedule, NULL, fluid_s);
                predict(network, schedule, &packet, packet_s);
                add_errors(&errors, fluid_s, packet_s, hop_schedule_count(schedule));
                hop_schedule_destroy(schedule);
            }
            qsort(errors.values, errors.count, sizeof *errors.values, by_size);
            printf("  %6.2f %6.2f  ", 100 * fabs(quantile(&errors, 0.5)), 100 * fabs(quantile(&errors, 0.9)));
            free(errors.values);
        }
        printf("\n");
        fflush(stdout);
    }
    hop_network_destroy(network);
    hop_topology_destroy(topology);
}

int main(int argc, char **argv)
{
    long graphs = argc > 1 ? strtol(argv[1], NULL, 10) : GRAPHS;
    if (argc > 2 || graphs < 4 || graphs > 100000) {
        fprintf(stderr, "usage: agreement [GRAPHS, 4 to 100000]\n");
        return 2;
    }
    (void)compare_models("t1", USUAL, (uint32_t)graphs);
    double share = compare_models("t2", USUAL, (uint32_t)graphs);
    (void)compare_models("tree", USUAL, (uint32_t)graphs / 4);
    (void)compare_models("t2", ALL_SEND, (uint32_t)graphs / 4);
    (void)compare_models("t2", WITH_HOST, (uint32_t)graphs / 4);
    compare_sizes((uint32_t)(graphs < SIZE_GRAPHS ? graphs : SIZE_GRAPHS));
    printf("\ncredit within 1 %% of shared on t2: %.2f %% of the transfers, target %g %%  %s\n", 100 * share,
           100 * TARGET, share >= TARGET ? "held" : "missed");
    return share >= TARGET ? 0 : 1;
}
