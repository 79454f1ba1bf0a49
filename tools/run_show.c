/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast run: what came of it, as a table or JSON. */
#include "run.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/json_write.h"
#include "predict.h"
#include "run/definition.h"

enum { ROWS = 40 };

static void describe(const struct hop_op *op, char *way, size_t size)
{
    if (op->kind == HOP_OP_COPY || op->kind == HOP_OP_SEND)
        (void)snprintf(way, size, "%s -> %s", op->from.device, op->to.device);
    else
        (void)snprintf(way, size, "%s %s",
                       op->kind == HOP_OP_REDUCE ? "reduce"
                       : op->kind == HOP_OP_WORK ? "work"
                                                 : "receive",
                       op->to.device);
}

static void print_op(const struct run_request *r, const struct run_result *result, uint32_t i, struct time_unit unit,
                     struct tool_table *table)
{
    const struct hop_op *op = hop_schedule_op(r->schedule, i);
    const struct hop_measured_op *measured = hop_timeline_measured_op(result->timeline, i);
    struct hop_span span = hop_timeline_span(result->timeline, i);
    char way[160], size[32] = "", rate[32] = "";
    double seconds = span.end_s - span.start_s;
    describe(op, way, sizeof way);
    if (op->kind != HOP_OP_WORK)
        hop_format_bytes(op->bytes, size, sizeof size);
    if (op->bytes > 0 && seconds > 0 && op->kind != HOP_OP_RECEIVE) /* it takes what another operation moved */
        (void)snprintf(rate, sizeof rate, "%.3f", (double)op->bytes / seconds * 1e-9);
    tool_table_row(table, "%.60s\t%u\t%s\t%s\t%.2f\t%.2f\t%s\t%s%s", op->name, measured->rank, way, size,
                   span.start_s * unit.a_second, span.end_s * unit.a_second, rate,
                   op->kind == HOP_OP_COPY ? measured->via == HOP_VIA_STAGED ? "staged" : "peer" : "",
                   measured->resent ? ", sent again" : "");
}

/* What the repeated launches took. */
struct launches {
    uint64_t count;
    double median_s, least_s, p90_s;
};

static struct launches sum_up(const struct run_result *result)
{
    uint64_t n = result->time_count;
    if (n == 0)
        return (struct launches){0};
    double *sorted = tool_alloc(n, sizeof *sorted);
    memcpy(sorted, result->times_s, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, hop_ascending_double);
    return (struct launches){n, sorted[n / 2], sorted[0], sorted[n - 1 - n / 10]};
}

static void print_times(const struct run_request *r, const struct run_result *result)
{
    struct launches l = sum_up(result);
    if (l.count == 0)
        return;
    printf("%llu launches: median %.2f us, least %.2f us, 90th percentile %.2f us", (unsigned long long)l.count,
           l.median_s * 1e6, l.least_s * 1e6, l.p90_s * 1e6);
    if (r->collective && r->collective->vector_bytes)
        printf(", %s GB/s by its size", FIXED((double)r->collective->vector_bytes / l.median_s * 1e-9, 3));
    printf("\n");
}

/* What each operation took from its start to its end. */
static void put_operations(struct hop_buffer *out, const struct hop_schedule *schedule, const struct run_result *result)
{
    hop_json_put(out, "\noperations: [");
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_sample_summary *s = &result->took_s[i];
        if (s->count > 0)
            hop_json_put(out,
                         "\n{id: %s, samples: %u, median_s: %g, mad_s: %g, low_s: %g, high_s: %g, confidence: %g, "
                         "outliers: %u}",
                         hop_schedule_op(schedule, i)->name, s->count, s->median, s->mad, s->low, s->high,
                         s->confidence, s->outliers);
    }
    hop_json_put(out, "]");
}

/* The timeline, and of repeated launches what they took, as its last member. */
static char *make_json(const struct run_request *r, const struct run_result *result)
{
    struct launches l = sum_up(result);
    char *timeline = hop_timeline_to_json(result->timeline, NULL, false),
         *end = timeline ? strrchr(timeline, '}') : NULL;
    struct hop_buffer out = {0};
    if (!end || l.count == 0)
        return timeline;
    hop_buffer_add(&out, timeline, (size_t)(end - timeline));
    free(timeline);
    hop_json_put(&out, "\nlaunches: {median_s: %g, least_s: %g, p90_s: %g, times_s: [", l.median_s, l.least_s, l.p90_s);
    for (uint64_t i = 0; i < l.count; i++)
        hop_json_put(&out, i ? ", %g" : "%g", result->times_s[i]);
    hop_json_put(&out, "]");
    put_operations(&out, r->schedule, result);
    hop_json_put(&out, "}\n}\n");
    return hop_buffer_take(&out);
}

/* "4 ranks on host, emulated links"; those beyond the schedule's have nothing to do. */
static void print_ranks(const struct run_request *r)
{
    uint32_t busy = tool_counted(hop_schedule_run_ranks(r->schedule));
    printf("%s: %u rank%s", r->what, r->ranks, r->ranks == 1 ? "" : "s");
    if (busy < r->ranks && !r->collective)
        printf(", %u of them idle,", r->ranks - busy);
    printf(" on %s%s\n", r->plan.device ? r->plan.device : hop_device_at(0)->name,
           r->plan.emulate ? ", emulated links" : "");
}

/* Whether copies go as the schedule says, which is what a prediction knows. */
static bool as_written(const struct run_request *r)
{
    return r->plan.copies == HOP_COPIES_SCHEDULE || r->plan.copies == HOP_COPIES_PEER;
}

/* Whether results were compared with what the collective is defined to give, too. */
static bool is_defined(const struct run_request *r)
{
    return r->plan.definition && hop_definition_is_exact(r->plan.definition, r->plan.definition_ranks);
}

static void print_ops(const struct run_request *r, const struct run_result *result, uint32_t shown,
                      struct time_unit unit)
{
    struct tool_column columns[] = {{"operation", -16, 0},
                                    {"rank", 4, 5},
                                    {"", -22, 2},
                                    {"size", 9, 4},
                                    {tool_text("start %s", unit.name), 10, 0},
                                    {tool_text("end %s", unit.name), 10, 0},
                                    {"GB/s", 9, 1},
                                    {"way", 0, 3}};
    struct tool_table table;
    for (uint32_t i = 0; i < shown; i++) {
        int name = (int)strlen(hop_schedule_op(r->schedule, i)->name);
        columns[0].width = -name < columns[0].width ? -(name < 60 ? name : 60) : columns[0].width;
    }
    tool_table_begin(&table, stdout, columns, HOP_COUNT(columns));
    for (uint32_t i = 0; i < shown; i++)
        print_op(r, result, i, unit, &table);
    tool_table_end(&table);
}

static void show_table(const struct run_request *r, const struct run_result *result)
{
    uint32_t count = hop_schedule_count(r->schedule), shown = r->rows < count ? (uint32_t)r->rows : count;
    double makespan_s = hop_timeline_makespan_s(result->timeline);
    struct time_unit unit = predict_unit(makespan_s);
    print_ranks(r);
    if (r->plan.emulate)
        printf("emulated: %s, %g times as slow; its arbitration is an assumption (docs/emulated.md)\n",
               hop_topology_name(r->plan.emulate), r->plan.slower);
    if (shown > 0)
        print_ops(r, result, shown, unit);
    if (shown < count)
        printf("... and %u more (--rows 0: all)\n", count - shown);
    printf("makespan %.4f %s%s\n", makespan_s * unit.a_second, unit.name,
           !r->check       ? ""
           : result->wrong ? ", WRONG"
           : is_defined(r) ? ", every byte as it should be"
                           : ", every byte as the schedule says");
    if (r->predict)
        printf("predicted %.4f %s%s%s\n", result->predicted_s * unit.a_second, unit.name,
               as_written(r) ? "" : " without --copies",
               result->predicted_s > 0 ? tool_text(", measured %.2f times that", makespan_s / result->predicted_s)
                                       : ", as nothing moves over a link");
    print_times(r, result);
}

static void write_csv(const struct run_request *r, const struct run_result *result)
{
    char *csv = hop_launches_to_csv(r->schedule, result->ops, result->took_s);
    if (!csv) {
        (void)hop_fail(
            &tool_diag, HOP_ERR_INVALID,
            "--csv has nothing to write: no copy between devices was timed\na schedule between devices; with "
            "--on TOPOLOGY the ranks of a collective are on several");
        tool_fail(&tool_diag);
    }
    tool_write_text(r->csv, csv);
}

void run_show(const struct run_request *r, const struct run_result *result)
{
    struct hop_gantt_options gantt = {
        .width = tool_columns(), .colour = !r->output && tool_colour(stdout), .ascii = r->ascii};
    if (r->trace)
        tool_write_text(r->trace, hop_timeline_to_trace(result->timeline));
    if (r->csv)
        write_csv(r, result);
    if (r->json)
        tool_write_text(r->output, make_json(r, result));
    else if (r->gantt)
        tool_show_text(r->output, hop_timeline_to_gantt(result->timeline, &gantt));
    else
        show_table(r, result);
}
