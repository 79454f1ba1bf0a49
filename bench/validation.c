/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The validation of the PCIe paper (Martinasso et al. 2016, section VII, Fig. 6) with packets in the place of hardware:
 * its congestion graphs on T1 and T2, predicted by the published model (`pcie`) and by `credit`, beside the packet
 * simulation. Agreement between simulations, not with hardware (docs/packet.md, docs/validation.md).
 *
 *     validation [--short] [--random N] [--svg DIRECTORY]
 *
 * The graphs: every class of up to seven transfers among four GPUs side by side and among the four even ones (the sets
 * that the paper says are complete), every class of up to three transfers among all eight, and N random graphs (500) of
 * each size from four to seven, seeds fixed. All transfers start together and move 4 MiB. --short: up to four transfers,
 * 1 MiB and 5 random graphs a size. --svg writes the histograms as drawings. Exit 1: the published model has fewer of
 * the transfers within 15 % than the target says. bench/graph_counts counts such graphs.
 */
#include "hopcast/hopcast.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PACKET, PCIE, CREDIT, WAYS, CANDIDATES = WAYS - 1 };
enum { SIDE_BY_SIDE, EVEN, ALL, RANDOM, PARTS };
enum { MOST = 7, ALL_MOST = 3 };
static const char *const ways[WAYS] = {"packets", "pcie", "credit"};
static const char *const part_names[PARTS] = {"gpu0 to gpu3, all", "gpu0, 2, 4, 6, all", "all eight, all",
                                              "all eight, random"};
#define TARGET_T1 0.97 /* share of the transfers within 15 %: what the paper found for its hardware on both */
#define TARGET_T2                                                                                                      \
    0.90 /* packets.md: on T2 the published model departs from packets more than from the paper's machine */

struct study {
    const struct hop_topology *topology;
    struct hop_network *network[WAYS];
    FILE *csv[WAYS];
    char *text[WAYS];
    size_t size[WAYS];
    uint32_t graphs, of_part[PARTS], part;
    uint64_t bytes;
    double lone_s; /* a transfer that has the machine to itself and passes one switch, by packets */
};

static void need(enum hop_status status, const struct hop_diag *diag)
{
    if (status == HOP_OK)
        return;
    fprintf(stderr, "validation: %s: %s (%s)\n", diag->place, diag->what, diag->expected);
    exit(2);
}

static void *need_memory(void *memory)
{
    if (!memory) {
        fprintf(stderr, "validation: out of memory\n");
        exit(2);
    }
    return memory;
}

/* ---- graphs ---- */

static struct hop_timeline *play(const struct study *s, unsigned way, const struct hop_schedule *graph)
{
    struct hop_diag diag = {0};
    struct hop_timeline *timeline = NULL;
    struct hop_simulate_options options = {.detail = HOP_DETAIL_ENDS,
                                           .fidelity = way == PACKET ? HOP_FIDELITY_PACKET : HOP_FIDELITY_FLUID};
    need(hop_simulate(s->network[way], graph, &options, &timeline, &diag), &diag);
    return timeline;
}

/* A group of each file: the graph's transfers and when they end. Its name begins with the part. */
static bool take_graph(const struct hop_schedule *graph, void *context)
{
    struct study *s = context;
    for (unsigned way = 0; way < WAYS; way++) {
        struct hop_timeline *timeline = play(s, way, graph);
        for (uint32_t i = 0; i < hop_schedule_count(graph); i++) {
            const struct hop_op *op = hop_schedule_op(graph, i);
            fprintf(s->csv[way], "%u-%06u,t%u,%s,%s,%llu,%.17g\n", s->part, s->graphs, i, op->from.device,
                    op->to.device, (unsigned long long)op->bytes, hop_timeline_span(timeline, i).end_s);
        }
        hop_timeline_destroy(timeline);
    }
    s->graphs++;
    s->of_part[s->part]++;
    return true;
}

static void take_classes(struct study *s, unsigned part, const struct hop_ranks *ranks, uint32_t most)
{
    struct hop_diag diag = {0};
    s->part = part;
    need(hop_make_graphs(ranks, s->topology, most, s->bytes, take_graph, s, NULL, &diag), &diag);
}

static void take_random(struct study *s, const struct hop_ranks *ranks, uint32_t each, uint32_t most)
{
    struct hop_diag diag = {0};
    s->part = RANDOM;
    for (uint32_t size = ALL_MOST + 1; size <= most; size++) {
        for (uint32_t i = 0; i < each; i++) {
            struct hop_random random = {.transfers = size,
                                        .seed = size * 1000003u + i,
                                        .min_bytes = s->bytes,
                                        .max_bytes = s->bytes,
                                        .distinct_edges = true};
            struct hop_schedule *graph;
            need(hop_make_random(ranks, &random, &graph, &diag), &diag);
            (void)take_graph(graph, s);
            hop_schedule_destroy(graph);
        }
    }
}

static void take_all(struct study *s, uint32_t random, uint32_t most)
{
    static const char *const gpus[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"};
    static const char *const even[] = {"gpu0", "gpu2", "gpu4", "gpu6"};
    take_classes(s, SIDE_BY_SIDE, &(struct hop_ranks){gpus, 4}, most);
    take_classes(s, EVEN, &(struct hop_ranks){even, 4}, most);
    take_classes(s, ALL, &(struct hop_ranks){gpus, 8}, ALL_MOST);
    take_random(s, &(struct hop_ranks){gpus, 8}, random, most);
}

static void find_lone(struct study *s)
{
    struct hop_diag diag = {0};
    struct hop_schedule *lone;
    char text[64];
    (void)snprintf(text, sizeof text, "a: gpu0 -> gpu1 %lluB", (unsigned long long)s->bytes);
    need(hop_schedule_parse("lone", text, strlen(text), &lone, &diag), &diag);
    struct hop_timeline *timeline = play(s, PACKET, lone);
    s->lone_s = hop_timeline_makespan_s(timeline);
    hop_timeline_destroy(timeline);
    hop_schedule_destroy(lone);
}

/* ---- errors ---- */

static int ascending(const void *a, const void *b)
{
    double x = fabs(*(const double *)a), y = fabs(*(const double *)b);
    return (x > y) - (x < y);
}

static double share_within(const double *errors, uint32_t count, double limit)
{
    uint32_t within = 0;
    for (uint32_t i = 0; i < count; i++)
        within += fabs(errors[i]) <= limit;
    return count ? (double)within / count : NAN;
}

/* The errors of rows: of a part or of graphs of a size, or of all; returns how many. */
static uint32_t collect(const struct hop_comparison *c, unsigned candidate, unsigned part, uint32_t size,
                        double *errors)
{
    uint32_t count = 0;
    for (uint32_t r = 0; r < c->row_count; r++) {
        const struct hop_compare_group *group = &c->groups[c->rows[r].group];
        if ((part == PARTS || (unsigned)(group->name[0] - '0') == part) && (size == 0 || group->count == size))
            errors[count++] = hop_compare_error(&c->rows[r], candidate);
    }
    return count;
}

static void print_head(const char *what)
{
    printf("%-20s %7s %10s  %-7s %6s %6s %6s %9s %8s %8s\n", what, "graphs", "transfers", "model", "1 %", "5 %", "15 %",
           "median %", "least %", "most %");
}

static void print_errors(const char *what, uint32_t graphs, const char *model, double *errors, uint32_t count)
{
    double least = 0, most = 0;
    for (uint32_t i = 0; i < count; i++) {
        least = fmin(least, errors[i]);
        most = fmax(most, errors[i]);
    }
    qsort(errors, count, sizeof *errors, ascending);
    printf("%-20s %7u %10u  %-7s %6.2f %6.2f %6.2f %9.3f %+8.1f %+8.1f\n", what, graphs, count, model,
           100 * share_within(errors, count, 0.01), 100 * share_within(errors, count, 0.05),
           100 * share_within(errors, count, 0.15), count ? 100 * fabs(errors[(count - 1) / 2]) : NAN, 100 * least,
           100 * most);
}

/* Fig. 6, above: what times the graphs of a size have, in those of a lone transfer. */
static void print_times(const struct study *s, const struct hop_comparison *c, uint32_t size)
{
    double least = INFINITY, most = 0;
    for (uint32_t r = 0; r < c->row_count; r++) {
        if (c->groups[c->rows[r].group].count != size)
            continue;
        least = fmin(least, c->rows[r].reference_s / s->lone_s);
        most = fmax(most, c->rows[r].reference_s / s->lone_s);
    }
    if (most > 0)
        printf("%4u transfers: %.2f to %.2f\n", size, least, most);
}

/* The graph whose prediction by the published model is furthest off, as `hopcast predict -e` reads it. */
static void print_worst(const struct study *s, const struct hop_comparison *c)
{
    const struct hop_compare_row *worst = &c->rows[c->candidates[0].worst_row];
    const struct hop_compare_group *group = &c->groups[worst->group];
    printf("\nworst of pcie, %+.1f %% of %s -> %s:\n ", 100 * c->candidates[0].worst_error, worst->of->from,
           worst->of->to);
    for (uint32_t r = 0; r < group->count; r++) {
        const struct hop_measurement *of = c->rows[group->first + r].of;
        printf(" %s: %s -> %s %lluMiB;", of->transfer, of->from, of->to, (unsigned long long)(s->bytes >> 20));
    }
    printf("\n");
}

static double report(const struct study *s, const struct hop_comparison *c)
{
    double *errors = need_memory(malloc(c->row_count * sizeof *errors)), share = 0;
    print_head("graphs of");
    for (unsigned part = 0; part <= PARTS; part++) {
        uint32_t graphs = part < PARTS ? s->of_part[part] : s->graphs;
        for (unsigned m = 0; m < CANDIDATES; m++) {
            uint32_t count = collect(c, m, part, 0, errors);
            print_errors(part < PARTS ? part_names[part] : "all of them", graphs, ways[m + 1], errors, count);
            share = part == PARTS && m == 0 ? share_within(errors, count, 0.15) : share;
        }
    }
    print_head("\ntransfers a graph");
    for (uint32_t size = 1; size <= MOST; size++) {
        char what[16];
        uint32_t count = collect(c, 0, PARTS, size, errors);
        (void)snprintf(what, sizeof what, "%u", size);
        if (count > 0)
            print_errors(what, count / size, ways[PCIE], errors, count);
    }
    printf("\ntimes by packets, in times of a lone transfer below one switch (%.4g ms):\n", 1e3 * s->lone_s);
    for (uint32_t size = 1; size <= MOST; size++)
        print_times(s, c, size);
    print_worst(s, c);
    free(errors);
    return share;
}

/* ---- a topology ---- */

static void write_drawing(const char *directory, const char *name, const struct hop_comparison *c)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/validation-%s.svg", directory, name);
    char *svg = need_memory(hop_comparison_to_svg(c));
    FILE *file = fopen(path, "w");
    if (!file || fputs(svg, file) < 0 || fclose(file) != 0) {
        fprintf(stderr, "validation: %s cannot be written\n", path);
        exit(2);
    }
    free(svg);
}

static struct hop_measurements *read_back(const struct study *s, unsigned way)
{
    struct hop_diag diag = {0};
    struct hop_measurements *read;
    need(hop_measurements_parse(ways[way], s->text[way], s->size[way], &read, &diag), &diag);
    return read;
}

struct choices {
    bool brief;
    uint32_t random;
    const char *directory;
};

/* Returns the share of the transfers that the published model has within 15 %. */
static double study(const char *name, const struct choices *choices)
{
    struct hop_diag diag = {0};
    struct hop_topology *topology;
    struct study s = {.bytes = (uint64_t)(choices->brief ? 1 : 4) << 20};
    struct hop_measurements *read[WAYS];
    struct hop_comparison *comparison;
    need(hop_topology_load(name, &topology, &diag), &diag);
    s.topology = topology;
    for (unsigned way = 0; way < WAYS; way++) {
        need(hop_network_create(topology, way == CREDIT ? "credit" : "pcie", &s.network[way], &diag), &diag);
        s.csv[way] = need_memory(open_memstream(&s.text[way], &s.size[way]));
        fprintf(s.csv[way], "concurrent_group,transfer,from,to,bytes,measured_s\n");
    }
    take_all(&s, choices->random, choices->brief ? ALL_MOST + 1 : MOST);
    find_lone(&s);
    for (unsigned way = 0; way < WAYS; way++) {
        (void)fclose(s.csv[way]);
        read[way] = read_back(&s, way);
    }
    const struct hop_measurements *const candidates[CANDIDATES] = {read[PCIE], read[CREDIT]};
    need(hop_compare_timings(read[PACKET], candidates, CANDIDATES, NULL, &comparison, &diag), &diag);
    printf("%s, transfers of %llu MiB\n", name, (unsigned long long)(s.bytes >> 20));
    double share = report(&s, comparison);
    char *histogram = need_memory(hop_comparison_to_histogram(comparison, NULL));
    printf("\n%s\n", histogram);
    fflush(stdout);
    free(histogram);
    if (choices->directory)
        write_drawing(choices->directory, name, comparison);
    hop_comparison_destroy(comparison);
    for (unsigned way = 0; way < WAYS; way++) {
        hop_measurements_destroy(read[way]);
        hop_network_destroy(s.network[way]);
        free(s.text[way]);
    }
    hop_topology_destroy(topology);
    return share;
}

static bool verdict(const char *name, double share, double target)
{
    printf("pcie within 15 %% of the packets on %s: %.2f %% of the transfers, target %g %%  %s\n", name, 100 * share,
           100 * target, share >= target ? "held" : "missed");
    return share >= target;
}

int main(int argc, char **argv)
{
    struct choices choices = {.random = 500};
    bool fine = true;
    for (int i = 1; i < argc; i++) {
        char *end = "";
        if (strcmp(argv[i], "--short") == 0) {
            choices.brief = true;
        } else if (strcmp(argv[i], "--random") == 0 && i + 1 < argc) {
            choices.random = (uint32_t)strtoul(argv[++i], &end, 10);
        } else if (strcmp(argv[i], "--svg") == 0 && i + 1 < argc) {
            choices.directory = argv[++i];
        } else {
            fine = false;
        }
        fine = fine && *end == '\0' && choices.random <= 20000;
    }
    choices.random = choices.brief && choices.random > 5 ? 5 : choices.random;
    if (!fine) {
        fprintf(stderr, "usage: validation [--short] [--random N, up to 20000] [--svg DIRECTORY]\n");
        return 2;
    }
    double t1 = study("t1", &choices), t2 = study("t2", &choices);
    bool held = verdict("t1", t1, TARGET_T1);
    held = verdict("t2", t2, TARGET_T2) && held;
    return held ? 0 : 1;
}
