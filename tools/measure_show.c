/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast measure: what came of it, for people. Pairs by level and size, groups beside what their copies take alone. */
#include "measure.h"

#include <math.h>
#include <string.h>

/* The rows that a line is about: a kind, and for copies between devices a level and a size. */
struct line {
    enum hop_measure_kind kind;
    enum hop_level level;
    uint64_t bytes;
};

static bool is_of(const struct hop_measure_row *row, const struct line *line)
{
    return row->kind == line->kind && row->level == line->level && row->bytes == line->bytes;
}

/* Medians of all pairs of a level: their median, the fastest and the slowest. */
static void print_pairs(const struct hop_measure_result *result, const struct line *line, double *times_s)
{
    struct hop_sample_summary of;
    char time[3][32];
    uint32_t count = 0;
    for (uint32_t r = 0; r < result->row_count && count < HOP_SAMPLES_MAX; r++) {
        if (is_of(&result->rows[r], line))
            times_s[count++] = result->rows[r].time_s.median;
    }
    if (count == 0)
        return;
    hop_samples_summarise(times_s, count, &of);
    printf("%-18s %-6s %9s %6u %12s %12s %12s %12s\n", hop_level_name(line->level),
           line->kind == HOP_MEASURE_READS ? "read" : "write", BYTES(line->bytes), count,
           hop_show_seconds(of.median, time[0], sizeof time[0]), hop_show_seconds(times_s[0], time[1], sizeof time[1]),
           hop_show_seconds(times_s[count - 1], time[2], sizeof time[2]), RATE((double)line->bytes / of.median));
}

static void show_pairs(const struct hop_measure_result *result, double *times_s)
{
    bool any = false;
    for (unsigned level = 0; level < HOP_LEVEL_COUNT; level++) {
        for (unsigned kind = HOP_MEASURE_PAIRS; kind <= HOP_MEASURE_READS; kind++) {
            uint64_t last = 0;
            for (;;) { /* sizes in ascending order */
                struct line line = {(enum hop_measure_kind)kind, (enum hop_level)level, UINT64_MAX};
                for (uint32_t r = 0; r < result->row_count; r++) {
                    const struct hop_measure_row *row = &result->rows[r];
                    if (row->kind == line.kind && row->level == line.level && row->bytes > last &&
                        row->bytes < line.bytes)
                        line.bytes = row->bytes;
                }
                if (line.bytes == UINT64_MAX)
                    break;
                if (!any)
                    printf("\n%-18s %-6s %9s %6s %12s %12s %12s %12s\n", "alone, by level", "", "size", "pairs",
                           "median", "fastest", "slowest", "rate");
                any = true;
                last = line.bytes;
                print_pairs(result, &line, times_s);
            }
        }
    }
}

/* What the same copy takes alone; NAN: not measured. */
static double alone_s(const struct hop_measure_result *result, const struct hop_measure_row *row)
{
    for (uint32_t r = 0; r < result->row_count; r++) {
        const struct hop_measure_row *other = &result->rows[r];
        if (other->kind == HOP_MEASURE_PAIRS && strcmp(other->from, row->from) == 0 &&
            strcmp(other->to, row->to) == 0 && other->bytes == row->bytes)
            return other->time_s.median;
    }
    return NAN;
}

static void show_groups(const struct hop_measure_result *result)
{
    bool any = false;
    for (uint32_t r = 0, end; r < result->row_count; r = end) {
        const struct hop_measure_row *row = &result->rows[r];
        end = r + 1;
        if (!row->group)
            continue;
        while (end < result->row_count && result->rows[end].group && strcmp(result->rows[end].group, row->group) == 0)
            end++;
        if (!any)
            printf("\n%-12s %6s  each: %s\n", "together", "copies",
                   isnan(alone_s(result, row)) ? "its time, as it was not measured alone"
                                               : "how many times as long as alone");
        any = true;
        printf("%-12s %6u ", row->group, end - r);
        for (uint32_t i = r; i < end && i < r + 4; i++) {
            const struct hop_measure_row *one = &result->rows[i];
            double alone = alone_s(result, one);
            printf(" %s->%s %s%s", one->from, one->to,
                   isnan(alone) ? SECONDS(one->time_s.median) : FIXED(one->time_s.median / alone, 2),
                   i + 1 < end ? "," : "");
        }
        printf("%s\n", end > r + 4 ? " ..." : "");
    }
}

static void show_within(const struct hop_measure_result *result)
{
    bool any = false;
    for (uint32_t r = 0; r < result->row_count; r++) {
        const struct hop_measure_row *row = &result->rows[r];
        if (row->traffic_bytes == 0)
            continue;
        if (!any)
            printf("\n%-12s %9s %12s %18s\n", "within", "size", "median", "memory traffic");
        any = true;
        printf("%-12s %9s %12s %18s\n", row->name, BYTES(row->bytes), SECONDS(row->time_s.median),
               RATE((double)row->traffic_bytes / row->time_s.median));
    }
}

void measure_show(const struct hop_measure_result *result, double time_s)
{
    bool late = time_s > 0 && result->elapsed_s > time_s && result->rounds <= HOP_MEASURE_SAMPLES_LEAST;
    double *times_s = tool_alloc(HOP_SAMPLES_MAX, sizeof *times_s);
    printf("%s, %u devices: %u rows, %u samples of each%s, in %s%s\n", hop_topology_name(result->topology),
           result->device_count, result->row_count, result->rounds, late ? " (fewer do not count)" : "",
           SECONDS(result->elapsed_s), result->emulated ? "; emulated links" : "");
    show_pairs(result, times_s);
    show_groups(result);
    show_within(result);
    if (result->rounds < HOP_OUTLIER_SAMPLES)
        printf("\ntoo few samples to tell outliers");
    else
        printf("\noutliers %.2f %% of the samples",
               100.0 * result->outliers / ((double)result->row_count * result->rounds));
    printf("; unsteady rows %u of %u%s\n", result->unsteady, result->row_count, result->too_noisy ? ": too noisy" : "");
}
