/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast predict: several cases side by side, the makespans first. */
#include "predict.h"

#include <math.h>

/* One value a case, and its ratio to the first; NAN: the case has none. */
static void print_row(const char *name, const double *values_s, uint32_t count, double unit)
{
    printf("%-24s", name);
    for (uint32_t i = 0; i < count; i++) {
        if (isnan(values_s[i]))
            printf(" %12s %8s", "-", "");
        else if (i == 0 || isnan(values_s[0]) || values_s[0] == 0)
            printf(" %12.4f %8s", values_s[i] * unit, "");
        else
            printf(" %12.4f %7.3fx", values_s[i] * unit, values_s[i] / values_s[0]);
    }
    printf("\n");
}

static uint32_t find(const struct prediction *p, const char *name)
{
    return hop_schedule_find(hop_timeline_schedule(p->timeline), name);
}

/* Every operation that at least two cases have, once, in the order of its first appearance. Returns how many were left out. */
static uint32_t print_operations(const struct prediction *cases, uint32_t count, double *ends, double unit)
{
    uint32_t left_out = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_schedule *schedule = hop_timeline_schedule(cases[i].timeline);
        for (uint32_t op = 0; op < hop_schedule_count(schedule); op++) {
            const char *name = hop_schedule_op(schedule, op)->name;
            uint32_t having = 0;
            bool before = false;
            for (uint32_t j = 0; j < count; j++) {
                uint32_t there = find(&cases[j], name);
                ends[j] = there == HOP_NONE ? NAN : hop_timeline_span(cases[j].timeline, there).end_s;
                having += there != HOP_NONE;
                before = before || (j < i && there != HOP_NONE);
            }
            if (having > 1 && !before)
                print_row(name, ends, count, unit);
            left_out += having == 1;
        }
    }
    return left_out;
}

/* Where cases differ by their schedules alone: whether the later one is faster whatever else may hold. */
static void print_gains(const struct prediction *cases, uint32_t count, uint64_t max_effort)
{
    for (uint32_t i = 1; i < count; i++) {
        const struct hop_gain_options options = {.network = cases[0].network, .max_effort = max_effort};
        struct hop_gain *gain;
        if (cases[i].topology != cases[0].topology || cases[i].models != cases[0].models ||
            cases[i].fidelity == HOP_FIDELITY_PACKET || cases[i].sources_unlimited)
            continue;
        if (hop_gain_find(cases[0].topology, cases[0].schedule, cases[i].schedule, &options, &gain, NULL) != HOP_OK)
            continue;
        printf("%c beside A: %s\n", (char)('A' + i % 26), hop_gain_words(&gain->range, (char[112]){0}, 112));
        hop_gain_destroy(gain);
    }
}

void predict_show_side_by_side(const struct prediction *cases, uint32_t count, bool ranges, uint64_t max_effort)
{
    double *values = tool_alloc(count, sizeof *values), longest_s = 0;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t used;
        struct busy_link *busy = predict_busy_links(&cases[i], &used);
        printf("%c: %s", (char)('A' + i % 26), cases[i].label);
        if (used)
            printf("; busiest link %s, %.1f %% of its capacity", LINK(cases[i].topology, busy[0].link),
                   100 * busy[0].use);
        printf("\n");
        values[i] = hop_timeline_makespan_s(cases[i].timeline);
        longest_s = fmax(longest_s, values[i]);
    }
    if (ranges)
        print_gains(cases, count, max_effort);
    struct time_unit unit = predict_unit(longest_s);
    char title[24];
    (void)snprintf(title, sizeof title, "end in %s", unit.name);
    printf("\n%-24s", title);
    for (uint32_t i = 0; i < count; i++)
        printf(" %12c %8s", (char)('A' + i % 26), i ? "to A" : "");
    printf("\n");
    print_row("makespan", values, count, unit.a_second);
    uint32_t left_out = print_operations(cases, count, values, unit.a_second);
    if (left_out)
        printf("(%u operation%s that only one case has)\n", left_out, left_out > 1 ? "s" : "");
}
