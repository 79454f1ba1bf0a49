/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast compare: timings beside a reference. The reference is measurements or a prediction; it is set beside what
 * models predict (--on) or beside other files.
 */
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { SET_LIMIT = 256, NAME_LIMIT = 256, ROWS_SHOWN = 60, COLUMN = 20 };

struct request {
    const char *files[1 + HOP_COMPARE_CANDIDATES_MAX];
    int file_count;
    const char *topology;
    const char *models[HOP_COMPARE_CANDIDATES_MAX];
    int model_count;
    char *sets[SET_LIMIT];
    int set_count;
    const char *renamed[2 * NAME_LIMIT];
    struct hop_compare_options options;
    const char *svg, *output;
    bool json, ascii, all;
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

static void print_line(const struct hop_comparison *c, const char *what,
                       double (*value)(const struct hop_compare_summary *))
{
    printf("%-24s", what);
    for (uint32_t i = 0; i < c->candidate_count; i++)
        print_percent(c->candidates[i].count ? value(&c->candidates[i]) : NAN);
    printf("\n");
}

static double mean_of(const struct hop_compare_summary *s)
{
    return s->mean_error;
}

static double size_of(const struct hop_compare_summary *s)
{
    return s->mean_absolute_error;
}

static double median_of(const struct hop_compare_summary *s)
{
    return s->median_absolute_error;
}

static double p90_of(const struct hop_compare_summary *s)
{
    return s->p90_absolute_error;
}

static double worst_of(const struct hop_compare_summary *s)
{
    return s->worst_error;
}

static double group_of(const struct hop_compare_summary *s)
{
    return s->worst_group_error;
}

static double within_5(const struct hop_compare_summary *s)
{
    return s->within[0];
}

static double within_10(const struct hop_compare_summary *s)
{
    return s->within[1];
}

static double within_15(const struct hop_compare_summary *s)
{
    return s->within[2];
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

static void print_summary(const struct hop_comparison *c)
{
    printf("reference: %s, %u transfer%s in %u group%s", c->reference, c->row_count, c->row_count == 1 ? "" : "s",
           c->group_count, c->group_count == 1 ? "" : "s");
    if (c->left_out)
        printf("; %u without a measured value left out", c->left_out);
    printf("\n\n%-24s", "error");
    for (uint32_t i = 0; i < c->candidate_count; i++)
        printf(" %*s", COLUMN, tail(c->candidates[i].name, COLUMN));
    printf("\n");
    print_line(c, "mean", mean_of);
    print_line(c, "mean absolute", size_of);
    print_line(c, "median absolute", median_of);
    print_line(c, "90 % do not exceed", p90_of);
    print_line(c, "worst", worst_of);
    print_line(c, "worst group's mean abs.", group_of);
    print_line(c, "share within  5 %", within_5);
    print_line(c, "share within 10 %", within_10);
    print_line(c, "share within 15 %", within_15);
    print_effects(c);
}

static void print_row(const struct hop_comparison *c, const struct hop_compare_row *row)
{
    char way[80], time[32];
    (void)snprintf(way, sizeof way, "%.30s -> %.30s", row->of->from, row->of->to);
    printf("  %-12s %-24s %10s", row->of->transfer, way, hop_show_seconds(row->reference_s, time, sizeof time));
    for (uint32_t i = 0; i < c->candidate_count; i++) {
        double error = hop_compare_error(row, i);
        if (isnan(error))
            printf(" %*s", COLUMN, "-");
        else
            printf(" %10s %+7.2f %%", hop_show_seconds(row->candidate_s[i], time, sizeof time), percent(error));
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

static int show(const struct request *r, const struct hop_comparison *c)
{
    int status = TOOL_OK;
    if (r->svg) {
        char *svg = hop_comparison_to_svg(c);
        status = svg ? tool_write(r->svg, svg) : tool_out_of_memory();
        free(svg);
    }
    if (status != TOOL_OK)
        return status;
    if (r->json) {
        char *text = hop_comparison_to_json(c);
        status = text ? tool_write(r->output, text) : tool_out_of_memory();
        free(text);
        return status;
    }
    struct hop_histogram_options options = {tool_columns(), r->ascii};
    char *histogram = hop_comparison_to_histogram(c, &options);
    if (!histogram)
        return tool_out_of_memory();
    print_summary(c);
    printf("\n%s", histogram);
    free(histogram);
    if (r->all || c->row_count <= ROWS_SHOWN)
        print_rows(c);
    else
        printf("\n(--all lists every transfer)\n");
    return TOOL_OK;
}

/* ---- comparing ---- */

static int compare_models(const struct request *r, const struct hop_measurements *reference)
{
    struct hop_topology *topology = NULL;
    struct hop_comparison *comparison = NULL;
    struct hop_diag diag;
    int status =
        tool_load_topology(r->topology, &(struct tool_words){(char **)r->sets, (uint32_t)r->set_count, 0}, &topology);
    if (status != TOOL_OK)
        return status;
    if (hop_compare_models(reference, topology, r->models, (uint32_t)r->model_count, &r->options, &comparison, &diag) !=
        HOP_OK)
        status = tool_fail(&diag);
    else
        status = show(r, comparison);
    hop_comparison_destroy(comparison);
    hop_topology_destroy(topology);
    return status;
}

static int compare_files(const struct request *r, struct hop_measurements *const *files)
{
    const struct hop_measurements *others[HOP_COMPARE_CANDIDATES_MAX];
    struct hop_comparison *comparison = NULL;
    struct hop_diag diag;
    int status;
    for (int i = 1; i < r->file_count; i++)
        others[i - 1] = files[i];
    if (hop_compare_timings(files[0], others, (uint32_t)r->file_count - 1, &r->options, &comparison, &diag) != HOP_OK)
        status = tool_fail(&diag);
    else
        status = show(r, comparison);
    hop_comparison_destroy(comparison);
    return status;
}

/* ---- command line ---- */

static int check_request(struct request *r)
{
    int dashes = r->topology && strcmp(r->topology, "-") == 0;
    for (int i = 0; i < r->file_count; i++)
        dashes += strcmp(r->files[i], "-") == 0;
    if (dashes > 1)
        return tool_bad_usage(&tool_compare, "standard input (-) is read once");
    if (r->file_count == 0)
        return tool_bad_usage(&tool_compare, "the reference is missing (measurements, or predict --json)");
    if (r->topology && r->file_count > 1)
        return tool_bad_usage(&tool_compare, "--on compares models with one file; leave it out to compare files");
    if (!r->topology && r->file_count == 1)
        return tool_bad_usage(&tool_compare, "with what? --on TOPOLOGY predicts, or name a second file");
    if (!r->topology && (r->model_count || r->set_count || r->options.renamed_count || r->options.sources_unlimited))
        return tool_bad_usage(&tool_compare, "--model, --set, --name and --sources-unlimited go with --on TOPOLOGY");
    if (r->output && !r->json)
        return tool_bad_usage(&tool_compare, "--output goes with --json");
    if (r->json && (r->all || r->ascii))
        return tool_bad_usage(&tool_compare, "--all and --ascii do not go with --json, which says everything");
    if (r->model_count == 0)
        r->models[r->model_count++] = NULL;
    r->options.renamed = r->renamed;
    return TOOL_OK;
}

static int read_options(struct request *r, int argc, char **argv)
{
    static const struct option options[] = {
        {"on", required_argument, NULL, 't'},
        {"model", required_argument, NULL, 'm'},
        {"set", required_argument, NULL, 's'},
        {"name", required_argument, NULL, 'n'},
        {"bytes", required_argument, NULL, 'b'},
        {"sources-unlimited", no_argument, NULL, 'u'},
        {"svg", required_argument, NULL, 'v'},
        {"ascii", no_argument, NULL, 'a'},
        {"all", no_argument, NULL, 'l'},
        {"json", no_argument, NULL, 'j'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    tool_options_begin();
    for (int option; (option = tool_option(&tool_compare, argc, argv, ":m:s:jo:h", options)) != -1;) {
        switch (option) {
        case 't':
            r->topology = optarg;
            break;
        case 'm':
            if (r->model_count == HOP_COMPARE_CANDIDATES_MAX)
                return tool_bad_usage(&tool_compare, "more than %d models", HOP_COMPARE_CANDIDATES_MAX);
            r->models[r->model_count++] = optarg;
            break;
        case 's':
            if (r->set_count == SET_LIMIT)
                return tool_bad_usage(&tool_compare, "too many assignments");
            r->sets[r->set_count++] = optarg;
            break;
        case 'n':
            if (!tool_rename(&tool_compare, optarg, r->renamed, NAME_LIMIT, &r->options.renamed_count))
                return TOOL_BAD;
            break;
        case 'b':
            if (!tool_bytes(&tool_compare, "--bytes", optarg, &r->options.bytes))
                return TOOL_BAD;
            break;
        case 'u':
            r->options.sources_unlimited = true;
            break;
        case 'v':
            r->svg = optarg;
            break;
        case 'a':
            r->ascii = true;
            break;
        case 'l':
            r->all = true;
            break;
        case 'j':
            r->json = true;
            break;
        case 'o':
            r->output = optarg;
            break;
        case 'h':
            return -1;
        default:
            return TOOL_BAD;
        }
    }
    for (; optind < argc; optind++) {
        if (r->file_count == 1 + HOP_COMPARE_CANDIDATES_MAX)
            return tool_bad_usage(&tool_compare, "more than %d files beside the reference", HOP_COMPARE_CANDIDATES_MAX);
        r->files[r->file_count++] = argv[optind];
    }
    return check_request(r);
}

static int run(int argc, char **argv)
{
    static struct request r;
    struct hop_measurements *files[1 + HOP_COMPARE_CANDIDATES_MAX] = {NULL};
    struct hop_diag diag;
    int status = read_options(&r, argc, argv);
    if (status == -1)
        return tool_help(&tool_compare);
    for (int i = 0; i < r.file_count && status == TOOL_OK; i++) {
        if (hop_measurements_load(r.files[i], &files[i], &diag) != HOP_OK)
            status = tool_fail(&diag);
    }
    if (status == TOOL_OK)
        status = r.topology ? compare_models(&r, files[0]) : compare_files(&r, files);
    for (int i = 0; i < r.file_count; i++)
        hop_measurements_destroy(files[i]);
    return status;
}

const struct tool_command tool_compare = {
    .name = "compare",
    .summary = "errors between predictions and measurements, and their distribution",
    .usage = "REFERENCE (--on TOPOLOGY | FILE ...) [OPTION ...]",
    .help =
        "REFERENCE and FILE are measurements (CSV) or predictions (predict --json), - for standard input. With --on, "
        "models\n"
        "predict what REFERENCE measured; else transfers of the same names are set side by side. An error is the rate "
        "(or time,\n"
        "where that was measured) over the reference's, less 1. CSV has the columns transfer, from, to, bytes,\n"
        "concurrent_group, measured_GBps (or measured_s), notes in any order; rows of one concurrent_group start "
        "together.\n"
        "What p2pBandwidthLatencyTest, nvbandwidth, nccl-tests and the OSU micro-benchmarks print is read, too\n"
        "(docs/compare.md).\n"
        "\n"
        "      --on TOPOLOGY       a built-in machine, a fabric such as star:16, a file of any dialect, or live\n"
        "  -m, --model NAME        a model, or DOMAIN=NAME,... by domain; may be repeated\n"
        "  -s, --set NAME=VALUE    change the topology (see hopcast topology --help); may be repeated\n"
        "      --name NAME=DEVICE  what REFERENCE calls NAME is DEVICE in the topology; may be repeated\n"
        "      --bytes SIZE        of transfers that do not state theirs (256MiB)\n"
        "      --sources-unlimited every source starts all its transfers at once (step A off)\n"
        "      --all               list every transfer, however many\n"
        "      --svg FILE          also draw the distribution of the errors\n"
        "      --ascii             keep to ASCII\n"
        "  -j, --json              everything, for machines (docs/comparison.schema.json)\n"
        "  -o, --output FILE       write --json there\n"
        "\n"
        "example: hopcast compare data/measurements/infiniband-2011.csv --on ib-9node --model infiniband --model "
        "fair\n",
    .run = run,
};
