/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast calibrate: parameters from measurements. A topology fitted to what was measured on it (calibrate_fit.c), or
 * the penalties of contention graphs and the bandwidth of the links that they need; either as a machine file.
 */
#include <math.h>
#include <string.h>

#include "calibrate.h"
#include "options_shared.h"

/* ---- showing penalties ---- */

static void print_penalty(double penalty)
{
    if (isnan(penalty))
        printf(" %10s", "-");
    else
        printf(" %10.4f", penalty);
}

static void print_group(const struct hop_penalty_result *result, uint32_t index)
{
    struct hop_measurement_group group = hop_measurements_group(result->measurements, index);
    printf("\n%s\n", group.name);
    for (uint32_t i = 0; i < group.count; i++) {
        const struct hop_measurement *row = hop_measurements_at(result->measurements, group.rows[i]);
        const struct hop_penalty *penalty = &result->penalties[group.rows[i]];
        char way[80], time[32] = "-";
        (void)snprintf(way, sizeof way, "%.36s -> %.36s", row->from, row->to);
        if (!isnan(row->time_s))
            (void)hop_show_seconds(row->time_s, time, sizeof time);
        printf("  %-12s %-24s %12s", row->transfer, way, time);
        print_penalty(penalty->measured);
        print_penalty(penalty->infiniband);
        print_penalty(penalty->infiniband_full);
        printf("\n");
    }
    if (result->missing[index])
        printf("  missing: %s\n", result->missing[index]);
}

static void print_penalties(const struct hop_penalty_result *result)
{
    printf("alone: %.6g s/B, %s", result->alpha_s, RATE(1 / result->alpha_s));
    if (result->alone > 0)
        printf(", from %u group%s of one row, %s %% apart at most", result->alone, result->alone == 1 ? "" : "s",
               PERCENT(result->alone_spread, 2));
    printf("\n\n%-14s %-24s %12s %10s %10s %10s\n", "first step", "", "time", "measured", "infiniband", "-full");
    for (uint32_t g = 0; g < hop_measurements_group_count(result->measurements); g++)
        print_group(result, g);
}

/* ---- the machine file ---- */

/* Every InfiniBand and Ethernet link carries what a lone transfer was measured with. */
static void write_machine(const struct calibrate_request *r, struct hop_topology *topology, double rate_Bps)
{
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        if (link->kind != HOP_LINK_INFINIBAND && link->kind != HOP_LINK_ETHERNET)
            continue;
        const char *assignment =
            tool_text("%s--%s:%s.capacity=%.17gB/s", hop_topology_node(topology, link->ends[0])->name,
                      hop_topology_node(topology, link->ends[1])->name, hop_link_kind_name(link->kind), rate_Bps);
        tool_try(hop_topology_set(topology, assignment, &tool_diag));
    }
    tool_write_text(r->output, hop_topology_to_json(topology));
}

static int calibrate_penalties(const struct calibrate_request *r, struct hop_topology *topology)
{
    struct hop_measurements *measurements = tool_load_measurements(r->penalties, NULL);
    struct hop_penalty_result *result;
    struct hop_penalty_options options = {.topology = topology, .together = r->together, .fill = r->fill};
    tool_try(hop_calibrate_penalties(measurements, &options, &result, &tool_diag));
    if (r->json)
        tool_write_text(NULL, hop_penalty_result_to_json(result));
    else
        print_penalties(result);
    if (r->output)
        write_machine(r, topology, 1 / result->alpha_s);
    int status = result->missing_count > 0 ? TOOL_NEGATIVE : TOOL_OK;
    hop_penalty_result_destroy(result);
    hop_measurements_destroy(measurements);
    return status;
}

/* ---- the command ---- */

static const struct tool_option table[] = {
    {.kind = OPTION_LIST, .use = USE_INPUT, .argument = "FILE", AT(calibrate_request, files)},
    SHARED(on, AT(calibrate_request, topology),
           .help =
               "what was measured: a built-in machine, a file of any dialect, or live; with --penalties, graphs are "
               "made of its network ports, not of the names in FILE"),
    SHARED(model, AT(calibrate_request, model), .excludes = "penalties",
           .help = "the model that is to predict it (server; fair where that rules no link)"),
    OPTION("folds", 0, WHOLE, AT(calibrate_request, folds), "N", "hold every group out once, in N parts (5); 0: do not",
           .high = HOP_FIT_FOLDS_MAX, .excludes = "penalties"),
    OPTION("kinds", 0, WHOLE, AT(calibrate_request, kinds), "N",
           "add a value only where N kinds of rows determine it (2): alone, both ways, several, many at once, between "
           "devices, with host memory",
           .low = 1, .high = 16, .excludes = "penalties"),
    OPTION("curve", 0, TEXT, AT(calibrate_request, curve), "FILE",
           "how well all groups are predicted by fits to 5, 10, 20 and 40 of them, suggested and random ones: printed, "
           "and "
           "drawn into FILE (SVG)",
           .use = USE_FILE, .excludes = "penalties folds output json"),
    OPTION("draws", 0, WHOLE, AT(calibrate_request, draws), "N", "with --curve: random choices (5)", .low = 1,
           .high = HOP_CURVE_DRAWS_MAX, .needs = "curve"),
    FLAG("alone", 0, AT(calibrate_request, alone),
         "beside what was held out: what the same fits say of each copy by itself, as if nothing ran beside it",
         .excludes = "penalties"),
    SHARED(name, AT(calibrate_request, renamed), .excludes = "penalties"),
    SHARED(case_bytes, AT(calibrate_request, compare.bytes), .excludes = "penalties"),
    SHARED(set, AT(calibrate_request, sets), .needs = "on",
           .help = "change the topology first (see hopcast topology --help)"),
    SHARED(output, AT(calibrate_request, output), .use = USE_FILE, .needs = "on",
           .help = "write the machine file: the topology with what was found (its fabric's links with the measured "
                   "bandwidth)"),
    SHARED(json, AT(calibrate_request, json),
           .help = "everything, for machines (docs/fit.schema.json, docs/penalties.schema.json)"),
    HEADING(
        "Penalties: how many times slower than alone every transfer of a contention graph is, from the times of\n"
        "transfers that started together and of the smaller graphs that are left when some have ended. A graph for\n"
        "each concurrent_group; groups of one row give the bandwidth."),
    OPTION("penalties", 0, TEXT, AT(calibrate_request, penalties), "FILE", "measurements, - for standard input",
           .use = USE_INPUT),
    OPTION("together", 0, NUMBER, AT(calibrate_request, together), "SHARE",
           "transfers whose times are that near end together (0.01)", .most = 1, .needs = "penalties"),
    FLAG("fill", 0, AT(calibrate_request, fill),
         "smaller graphs that were not measured: take what model infiniband says", .needs = "penalties"),
    END_OF_OPTIONS,
};

static void check(struct calibrate_request *r)
{
    r->compare.renamed = (const char *const *)r->renamed.at;
    r->compare.renamed_count = r->renamed.count / 2;
    if (!r->penalties && r->files.count == 0)
        tool_bad_usage(&tool_calibrate, "measurements are missing: FILE.csv --on TOPOLOGY, or --penalties FILE.csv");
    if (r->penalties && r->files.count > 0)
        tool_bad_usage(&tool_calibrate, "'%s' is too much: measurements follow --penalties", r->files.at[0]);
    if (!r->penalties && !r->topology)
        tool_bad_usage(&tool_calibrate, "--on TOPOLOGY is missing");
    if (r->alone && r->folds == 0)
        tool_bad_usage(&tool_calibrate, "--alone stands beside what was held out, and --folds 0 holds nothing out");
    if (r->folds == 1)
        tool_bad_usage(&tool_calibrate, "--folds 1 would hold everything out: 0 or 2 to %d", HOP_FIT_FOLDS_MAX);
}

static int run(int argc, char **argv)
{
    static struct calibrate_request r = {.together = -1, .folds = UINT64_MAX};
    tool_read(&tool_calibrate, argc, argv, &r);
    tool_check_outputs(&r.given);
    check(&r);
    struct hop_topology *topology = r.topology ? tool_load_topology(r.topology, &r.sets) : NULL;
    if (r.penalties)
        return calibrate_penalties(&r, topology);
    calibrate_fit(&r, topology);
    return TOOL_OK;
}

const struct tool_command tool_calibrate = {
    .name = "calibrate",
    .summary = "parameters from measurements",
    .usage = "FILE ... --on TOPOLOGY [OPTION ...] | --penalties FILE.csv [OPTION ...]",
    .about =
        "Fits TOPOLOGY to measurements of it (see hopcast compare --help): one capacity for all links of a kind and\n"
        "one loss for all crossings of root complexes; a link, direction, pair or limit of its own only where the\n"
        "measurements ask for it. Every value is shown with its uncertainty and the groups that determine it, then\n"
        "the errors before, after, and of groups that were held out. Several FILEs are of one machine.\n"
        "docs/calibrate.md says how.\n"
        "\n",
    .options = table,
    .notes = "Exit status 1: a smaller graph is missing; it is named.\n"
             "\n"
             "example: hopcast calibrate data/measurements/pcie-2016.csv --on t2 --folds 0\n",
    .run = run,
};
