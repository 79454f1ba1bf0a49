/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast tune paths: the tables, and the schedule that is written. */
#include "tune.h"

#include <math.h>
#include <string.h>

enum { NAMES_SHOWN = 12, CELL = 7, LINE = 100 };

static const char *name_of(const struct hop_topology *topology, uint32_t node)
{
    return hop_topology_node(topology, node)->name;
}

/* ---- pairs ---- */

static const char *show_packet(uint64_t bytes, bool is_there)
{
    return !is_there ? "-" : bytes ? tool_short_bytes(bytes) : "whole";
}

/* Whether another model that can rule the links, or the end of a range, says that the other way is faster. */
static bool is_doubted(const struct hop_tune_point *point)
{
    return point->gain.models > 0 && point->gain.verdict == HOP_GAIN_UNSURE;
}

static void print_cell(const struct hop_tune_point *point)
{
    double factor;
    char letter = hop_tune_winner(point, &factor) == HOP_VIA_STAGED ? 'S' : 'D';
    printf(" %*s", CELL,
           isnan(point->direct_s) && isnan(point->staged_s) ? "-"
           : isnan(factor)                                  ? tool_text("%c only", letter)
                           : tool_text("%c%c%5s", letter, is_doubted(point) ? '?' : ' ', FIXED(factor, 2)));
}

/* "gpu0 -> gpu1" */
static const char *name_pair(const struct hop_topology *topology, const struct hop_tune_class *class)
{
    return tool_text("%.60s -> %.60s", name_of(topology, class->pairs[0][0]), name_of(topology, class->pairs[0][1]));
}

static void print_pairs(const struct hop_topology *topology, const struct hop_tuned_paths *paths)
{
    uint32_t last = paths->size_count - 1;
    int width = 20;
    for (uint32_t c = 0; c < paths->class_count; c++) {
        int length = (int)strlen(name_pair(topology, &paths->classes[c]));
        width = length > width ? length : width;
    }
    printf("\n%-*s %-13s %5s", width, "pair alone", "over", "pairs");
    for (uint32_t s = 0; s < paths->size_count; s++)
        printf(" %*s", CELL, tool_short_bytes(paths->sizes[s]));
    printf(" %9s %7s\n", "crossover", "packet");
    for (uint32_t c = 0; c < paths->class_count; c++) {
        const struct hop_tune_class *class = &paths->classes[c];
        printf("%-*s %-13s %5u", width, name_pair(topology, class), class->way, class->pair_count);
        for (uint32_t s = 0; s < paths->size_count; s++)
            print_cell(&class->points[s]);
        printf(" %9s %7s\n", class->crossover_bytes ? tool_short_bytes(class->crossover_bytes) : "-",
               show_packet(class->points[last].packet_bytes, !isnan(class->points[last].staged_s)));
    }
    printf("D direct, S staged: the faster one, and how many times as fast as the other; crossover: from that size on "
           "the\n"
           "other one wins; packet: the best one for staging %s; pairs: that many are alike; ?: by another\n"
           "model that can rule these links, or within the ranges of parameters, the other way is faster: no reliable "
           "gain\n",
           tool_short_bytes(paths->sizes[last]));
}

/* The latency of memory links is what copies through host memory cost; without it small packets are free. */
static void print_doubt(const struct hop_topology *topology)
{
    bool memory = false, latency = false;
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        memory = memory || link->kind == HOP_LINK_MEMORY;
        latency = latency || (link->latency_s > 0 && (link->kind == HOP_LINK_PCIE || link->kind == HOP_LINK_MEMORY));
    }
    if (memory && !latency)
        printf(
            "note: no link has a latency, so a packet costs nothing and small ones win; --copy-latency says what one\n"
            "costs, --set link_latency= what every link does\n");
}

/* ---- patterns ---- */

static void print_time(double time_s)
{
    printf(" %11s", isnan(time_s) ? "-" : SECONDS(time_s));
}

static void print_names(const struct tune_case *c)
{
    uint32_t shown = 0, staged = 0;
    size_t column = 0;
    for (uint32_t i = 0; i < hop_schedule_count(c->schedule); i++)
        staged += c->mix->staged[i];
    if (staged == 0 || c->mix->staged_count == c->mix->transfers)
        return;
    printf("  staged:");
    for (uint32_t i = 0; i < hop_schedule_count(c->schedule) && shown < NAMES_SHOWN; i++) {
        const struct hop_op *op = hop_schedule_op(c->schedule, i);
        if (!c->mix->staged[i])
            continue;
        size_t length = strlen(op->name) + strlen(op->from.device) + strlen(op->to.device) + 8;
        bool wraps = column > 0 && column + length > LINE;
        printf("%s %s (%s -> %s)", wraps ? "\n         " : "", op->name, op->from.device, op->to.device);
        column = wraps ? length : column + length;
        shown++;
    }
    if (staged > shown)
        printf(" and %u more", staged - shown);
    printf("\n");
}

static void print_case(const struct tune_case *c)
{
    const struct hop_tuned_mix *mix = c->mix;
    printf("%-23s %6u", c->name, mix->transfers);
    print_time(mix->direct_s);
    print_time(mix->staged_s);
    printf(" %8s", show_packet(mix->staged_packet_bytes, !isnan(mix->staged_s)));
    print_time(mix->mix_s);
    printf(" %8s %6s %8u  %s\n", show_packet(mix->mix_packet_bytes, mix->staged_count),
           FIXED(mix->direct_s / mix->mix_s, 2), mix->staged_count, mix->exact ? "exact" : "searched");
    if (mix->stuck)
        printf("  %u of the candidates cannot run: transfers would wait for each other in a circle\n", mix->stuck);
    if (mix->gain)
        printf("  over all direct: %s\n", hop_gain_words(&mix->gain->range, (char[112]){0}, 112));
    if (!mix->gain || mix->gain->range.verdict != HOP_GAIN_UNSURE)
        print_names(c);
}

static void print_cases(const struct tune_case *cases, int count)
{
    printf("\n%-23s %6s %11s %11s %8s %11s %8s %6s %8s\n", "all at once", "copies", "all direct", "all staged",
           "packet", "mix", "packet", "gain", "staged");
    for (int i = 0; i < count; i++)
        print_case(&cases[i]);
    printf("gain: all direct over mix; exact: no other choice of copies is faster at the packet size of all staged\n");
}

void tune_paths_print(struct hop_network *network, const struct hop_tuned_paths *paths, const struct tune_case *cases,
                      int case_count)
{
    const struct hop_topology *topology = hop_network_topology(network);
    printf("%s, %u GPUs", hop_topology_name(topology), paths->gpu_count);
    tool_print_models(stdout, topology, network, NULL);
    printf("\n");
    print_pairs(topology, paths);
    print_doubt(topology);
    if (case_count)
        print_cases(cases, case_count);
}

/* ---- writing ---- */

void tune_paths_write(const char *path, const struct hop_network *network, const struct tune_case *of,
                      const char *settings)
{
    const char *remark = tool_text("hopcast tune paths: %s on %s, %u of %u copies staged, %s", of->name,
                                   hop_topology_name(hop_network_topology(network)), of->mix->staged_count,
                                   of->mix->transfers, SECONDS(of->mix->mix_s));
    tool_write_remarked(path, of->mix->best, remark, *settings ? tool_text("found with %s", settings) : NULL);
}
