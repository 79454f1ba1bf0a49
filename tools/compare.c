/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast compare: timings beside a reference. The reference is measurements or a prediction; it is set beside what
 * models predict (--on) or beside other files.
 */
#include <math.h>
#include <string.h>

#include "options_shared.h"
#include "tool.h"

enum { ROWS_SHOWN = 60, COLUMN = 20 };

struct request {
    struct tool_given given;
    struct tool_words files, models, sets, renamed;
    const char *topology, *svg, *output;
    struct hop_compare_options options;
    bool json, ascii, all;
};

static const struct tool_option table[] = {
    {.kind = OPTION_LIST,
     .use = USE_INPUT,
     .argument = "REFERENCE",
     AT(request, files),
     .missing = "the reference is missing (measurements, or predict --json)"},
    SHARED(on, AT(request, topology)),
    SHARED(model, AT(request, models), .kind = OPTION_LIST, .needs = "on"),
    SHARED(set, AT(request, sets), .needs = "on"),
    SHARED(name, AT(request, renamed), .needs = "on"),
    SHARED(algorithm, AT(request, options.algorithm), .needs = "on",
           .help = "by which measured collectives are predicted, such as ring (`hopcast make allreduce --list`; "
                   "default: that of hopcast make)"),
    SHARED(case_bytes, AT(request, options.bytes)),
    SHARED(sources_unlimited, AT(request, options.sources_unlimited), .needs = "on"),
    FLAG(
        "ranges", 0, AT(request, options.ranges),
        "how often what was measured lies in the range of what is predicted, nine times out of ten if ranges are right",
        .needs = "on"),
    FLAG("all", 0, AT(request, all), "list every transfer, however many"),
    OPTION("svg", 0, TEXT, AT(request, svg), "FILE", "also draw the distribution of the errors", .use = USE_OUTPUT),
    SHARED(ascii, AT(request, ascii)),
    SHARED(json, AT(request, json), .excludes = "all ascii",
           .help = "everything, for machines (docs/comparison.schema.json)"),
    SHARED(output, AT(request, output), .needs = "json", .help = "write --json there"),
    END_OF_OPTIONS,
};

/* ---- showing ---- */

/* In per cent to two decimals, 0 without a sign of its own. */
static double percent(double value)
{
    return round(1e4 * value) / 100 + 0.0;
}

static void print_percent(double value)
{
    if (isnan(value))
        printf(" %*s", COLUMN, "-");
    else
        printf(" %*.2f %%", COLUMN - 2, percent(value));
}

/* The end of a long name says more than its beginning. */
static const char *tail(const char *name, size_t most)
{
    size_t length = strlen(name);
    return length > most ? name + length - most : name;
}

/* "MEDIAN, SHARE within 15 %" */
static void print_errors(const struct hop_compare_errors *errors)
{
    if (errors->count == 0)
        printf(" %*s", COLUMN, "-");
    else
        printf("  %6.2f %% %7.1f %%", percent(errors->median), 100 * errors->within[2] + 0.0);
}

/* Groups, and what they show. */
static void print_effects(const struct hop_comparison *c)
{
    printf("\n%-24s %6s", "median, within 15 %", "groups");
    for (uint32_t i = 0; i < c->candidate_count; i++)
        printf(" %*s", COLUMN, tail(c->candidates[i].name, COLUMN));
    printf("\n");
    for (uint32_t e = 0; e < c->effect_count; e++) {
        uint32_t count = 0;
        for (uint32_t i = 0; i < c->candidate_count; i++)
            count = c->effects[e].errors[i].count > count ? c->effects[e].errors[i].count : count;
        printf("%-24s %6u", c->effects[e].name, count);
        for (uint32_t i = 0; i < c->candidate_count; i++)
            print_errors(&c->effects[e].errors[i]);
        printf("\n");
    }
    printf("%-24s %6u", "all", c->candidates[0].groups.count);
    for (uint32_t i = 0; i < c->candidate_count; i++)
        print_errors(&c->candidates[i].groups);
    printf("\n");
}

static void print_lines(const struct hop_comparison *c)
{
    static const struct {
        const char *name;
        size_t at;
    } lines[] = {{"mean", offsetof(struct hop_compare_summary, mean_error)},
                 {"mean absolute", offsetof(struct hop_compare_summary, mean_absolute_error)},
                 {"median absolute", offsetof(struct hop_compare_summary, median_absolute_error)},
                 {"90 % do not exceed", offsetof(struct hop_compare_summary, p90_absolute_error)},
                 {"worst", offsetof(struct hop_compare_summary, worst_error)},
                 {"worst group's mean abs.", offsetof(struct hop_compare_summary, worst_group_error)},
                 {"share within  5 %", offsetof(struct hop_compare_summary, within[0])},
                 {"share within 10 %", offsetof(struct hop_compare_summary, within[1])},
                 {"share within 15 %", offsetof(struct hop_compare_summary, within[2])}};
    for (size_t k = 0; k < sizeof lines / sizeof lines[0]; k++) {
        printf("%-24s", lines[k].name);
        for (uint32_t i = 0; i < c->candidate_count; i++) {
            const struct hop_compare_summary *summary = &c->candidates[i];
            print_percent(summary->count ? *(const double *)((const char *)summary + lines[k].at) : NAN);
        }
        printf("\n");
    }
}

/* By which algorithms collectives are predicted, each once. */
static void print_algorithms(const struct hop_comparison *c, bool asked)
{
    for (uint32_t g = 0; g < c->group_count; g++) {
        const struct hop_compare_group *group = &c->groups[g];
        bool said = !group->algorithm || group->count == 0;
        for (uint32_t k = 0; k < g && !said; k++)
            said = c->groups[k].algorithm && c->groups[k].count && !strcmp(c->groups[k].algorithm, group->algorithm) &&
                   !strcmp(c->rows[c->groups[k].first].of->collective, c->rows[group->first].of->collective);
        if (!said)
            printf("%s: predicted by algorithm %s%s; by which it was measured is not printed\n",
                   c->rows[group->first].of->collective, group->algorithm,
                   asked ? "" : ", which hopcast takes here (--algorithm names another)");
    }
}

static void print_summary(const struct hop_comparison *c, bool asked)
{
    printf("reference: %s, %u transfer%s in %u group%s", c->reference, c->row_count, c->row_count == 1 ? "" : "s",
           c->group_count, c->group_count == 1 ? "" : "s");
    if (c->left_out)
        printf("; %u without a measured value left out", c->left_out);
    printf("\n");
    print_algorithms(c, asked);
    printf("\n%-24s", "error");
    for (uint32_t i = 0; i < c->candidate_count; i++)
        printf(" %*s", COLUMN, tail(c->candidates[i].name, COLUMN));
    printf("\n");
    print_lines(c);
    print_effects(c);
    for (uint32_t i = 0; i < c->candidate_count; i++)
        tool_print_ranges(&c->candidates[i]);
}

static void print_row(const struct hop_comparison *c, const struct hop_compare_row *row)
{
    char way[80];
    if (row->of->collective)
        (void)snprintf(way, sizeof way, "%s, %u ranks", row->of->collective, row->of->ranks);
    else
        (void)snprintf(way, sizeof way, "%.30s -> %.30s", row->of->from, row->of->to);
    printf("  %-12s %-24s %10s", row->of->transfer, way, SECONDS(row->reference_s));
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        double error = hop_compare_error(row, i);
        if (isnan(error))
            printf(" %*s", COLUMN, "-");
        else
            printf(" %10s %+7.2f %%", SECONDS(row->candidate_s[i]), percent(error));
    }
    printf("\n");
}

static void print_rows(const struct hop_comparison *c)
{
    printf("\n  %-12s %-24s %10s", "transfer", "", "reference");
    for (uint32_t i = 0; i < c->candidate_count; i++)
        printf(" %*s", COLUMN, tail(c->candidates[i].name, COLUMN));
    printf("\n");
    for (uint32_t g = 0; g < c->group_count; g++) {
        const struct hop_compare_group *group = &c->groups[g];
        if (group->count == 0)
            continue;
        printf("%-*.*s", 2 + 12 + 1 + 24 + 1 + 10, 48, group->name);
        for (uint32_t i = 0; i < c->candidate_count; i++) {
            if (isnan(group->mean_absolute_error[i]))
                printf(" %*s", COLUMN, "-");
            else
                printf("      mean %7.2f %%", percent(group->mean_absolute_error[i]));
        }
        printf("\n");
        for (uint32_t r = group->first; r < group->first + group->count; r++)
            print_row(c, &c->rows[r]);
    }
}

static void show(const struct request *r, const struct hop_comparison *c)
{
    if (r->svg)
        tool_write_text(r->svg, hop_comparison_to_svg(c));
    if (r->json) {
        tool_write_text(r->output, hop_comparison_to_json(c));
        return;
    }
    struct hop_histogram_options options = {.width = tool_columns(), .ascii = r->ascii};
    print_summary(c, r->options.algorithm);
    printf("\n");
    tool_print(stdout, hop_comparison_to_histogram(c, &options));
    if (r->all || c->row_count <= ROWS_SHOWN)
        print_rows(c);
    else
        printf("\n(--all lists every transfer)\n");
}

/* ---- the command ---- */

static void check(struct request *r)
{
    if (r->files.count > 1 + HOP_COMPARE_CANDIDATES_MAX)
        tool_bad_usage(&tool_compare, "more than %d files beside the reference", HOP_COMPARE_CANDIDATES_MAX);
    if (r->models.count > HOP_COMPARE_CANDIDATES_MAX)
        tool_bad_usage(&tool_compare, "more than %d models", HOP_COMPARE_CANDIDATES_MAX);
    if (r->topology && r->files.count > 1)
        tool_bad_usage(&tool_compare, "--on compares models with one file; leave it out to compare files");
    if (!r->topology && r->files.count == 1)
        tool_bad_usage(&tool_compare, "with what? --on TOPOLOGY predicts, or name a second file");
    r->options.renamed = (const char *const *)r->renamed.at;
    r->options.renamed_count = r->renamed.count / 2;
}

static int run(int argc, char **argv)
{
    static struct request r;
    static struct hop_measurements *files[1 + HOP_COMPARE_CANDIDATES_MAX];
    struct hop_comparison *comparison;
    const char *by_default = NULL;
    tool_read(&tool_compare, argc, argv, &r);
    tool_check_outputs(&r.given);
    check(&r);
    const struct hop_topology *topology = r.topology ? tool_load_topology(r.topology, &r.sets) : NULL;
    for (uint32_t i = 0; i < r.files.count; i++)
        files[i] = tool_load_measurements(r.files.at[i], topology);
    if (topology)
        tool_try(hop_compare_models(files[0], topology, r.models.count ? (const char *const *)r.models.at : &by_default,
                                    r.models.count ? r.models.count : 1, &r.options, &comparison, &tool_diag));
    else
        tool_try(hop_compare_timings(files[0], (const struct hop_measurements *const *)files + 1, r.files.count - 1,
                                     &r.options, &comparison, &tool_diag));
    show(&r, comparison);
    hop_comparison_destroy(comparison);
    return TOOL_OK;
}

const struct tool_command tool_compare = {
    .name = "compare",
    .summary = "errors between predictions and measurements, and their distribution",
    .usage = "REFERENCE (--on TOPOLOGY | FILE ...) [OPTION ...]",
    .about =
        "REFERENCE and FILE are measurements (CSV) or predictions (predict --json), - for standard input. With --on,\n"
        "models predict what REFERENCE measured; else transfers of the same names are set side by side. An error is\n"
        "the rate (or time, where that was measured) over the reference's, less 1. CSV has the columns transfer, "
        "from,\n"
        "to, bytes, concurrent_group, measured_GBps (or measured_s), notes in any order; rows of one concurrent_group\n"
        "start together.\n"
        "What p2pBandwidthLatencyTest, nvbandwidth, bandwidthTest, TransferBench, rocm-bandwidth-test, nccl-tests\n"
        "and the OSU micro-benchmarks print is read, too (docs/compare.md).\n"
        "\n",
    .options = table,
    .notes = "example: hopcast compare data/measurements/infiniband-2011.csv --on ib-9node --model infiniband --model "
             "fair\n",
    .run = run,
};
