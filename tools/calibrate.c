/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast calibrate: parameters from measurements. A topology fitted to what was measured on it (calibrate_fit.c), or
 * the penalties of contention graphs and the bandwidth of the links that they need; either as a machine file.
 */
#include "calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

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
    char rate[32];
    printf("alone: %.6g s/B, %s", result->alpha_s, hop_show_rate(1 / result->alpha_s, rate, sizeof rate));
    if (result->alone > 0)
        printf(", from %u group%s of one row, %.2g %% apart at most", result->alone, result->alone == 1 ? "" : "s",
               100 * result->alone_spread);
    printf("\n\n%-14s %-24s %12s %10s %10s %10s\n", "first step", "", "time", "measured", "infiniband", "-full");
    for (uint32_t g = 0; g < hop_measurements_group_count(result->measurements); g++)
        print_group(result, g);
}

/* ---- the machine file ---- */

/* Every InfiniBand and Ethernet link carries what a lone transfer was measured with. */
static int write_machine(const struct calibrate_request *r, struct hop_topology *topology, double rate_Bps)
{
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        struct hop_diag diag;
        char assignment[512];
        if (link->kind != HOP_LINK_INFINIBAND && link->kind != HOP_LINK_ETHERNET)
            continue;
        (void)snprintf(assignment, sizeof assignment, "%.180s--%.180s:%s.capacity=%.17gB/s",
                       hop_topology_node(topology, link->ends[0])->name,
                       hop_topology_node(topology, link->ends[1])->name, hop_link_kind_name(link->kind), rate_Bps);
        if (hop_topology_set(topology, assignment, &diag) != HOP_OK)
            return tool_fail(&diag);
    }
    char *text = hop_topology_to_json(topology);
    int status = text ? tool_write(r->output, text) : tool_out_of_memory();
    free(text);
    return status;
}

static int calibrate_penalties(const struct calibrate_request *r, struct hop_topology *topology)
{
    struct hop_measurements *measurements = NULL;
    struct hop_penalty_result *result = NULL;
    struct hop_diag diag;
    struct hop_penalty_options options = {.topology = topology, .together = r->together, .fill = r->fill};
    int status = TOOL_OK;
    if (hop_measurements_load(r->penalties, &measurements, &diag) != HOP_OK ||
        hop_calibrate_penalties(measurements, &options, &result, &diag) != HOP_OK) {
        status = tool_fail(&diag);
    } else if (r->json) {
        char *text = hop_penalty_result_to_json(result);
        status = text ? tool_write(NULL, text) : tool_out_of_memory();
        free(text);
    } else {
        print_penalties(result);
    }
    if (status == TOOL_OK && r->output)
        status = write_machine(r, topology, 1 / result->alpha_s);
    if (status == TOOL_OK && result->missing_count > 0)
        status = TOOL_NEGATIVE;
    hop_penalty_result_destroy(result);
    hop_measurements_destroy(measurements);
    return status;
}

/* ---- command line ---- */

static bool reads_standard_input(const struct calibrate_request *r)
{
    bool reads = r->penalties && strcmp(r->penalties, "-") == 0;
    for (int i = 0; i < r->file_count; i++)
        reads = reads || strcmp(r->files[i], "-") == 0;
    return reads;
}

static int read_options(struct calibrate_request *r, int argc, char **argv)
{
    static const struct option options[] = {
        {"penalties", required_argument, NULL, 'p'},
        {"on", required_argument, NULL, 't'},
        {"set", required_argument, NULL, 's'},
        {"together", required_argument, NULL, 'w'},
        {"fill", no_argument, NULL, 'f'},
        {"folds", required_argument, NULL, 'k'},
        {"model", required_argument, NULL, 'm'},
        {"name", required_argument, NULL, 'n'},
        {"bytes", required_argument, NULL, 'b'},
        {"json", no_argument, NULL, 'j'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    tool_options_begin();
    for (int option; (option = tool_option(&tool_calibrate, argc, argv, ":s:m:jo:h", options)) != -1;) {
        switch (option) {
        case 'p':
            r->penalties = optarg;
            break;
        case 't':
            r->topology = optarg;
            break;
        case 's':
            if (r->set_count == CALIBRATE_SETS)
                return tool_bad_usage(&tool_calibrate, "too many assignments");
            r->sets[r->set_count++] = optarg;
            break;
        case 'w':
            if (!tool_number(&tool_calibrate, "--together", optarg, 0, 1, &r->together))
                return TOOL_BAD;
            break;
        case 'f':
            r->fill = true;
            break;
        case 'k':
            if (!tool_whole(&tool_calibrate, "--folds", optarg, 0, HOP_FIT_FOLDS_MAX, &r->folds))
                return TOOL_BAD;
            r->folds_given = true;
            break;
        case 'm':
            r->model = optarg;
            break;
        case 'n':
            if (!tool_rename(&tool_calibrate, optarg, r->renamed, CALIBRATE_NAMES, &r->compare.renamed_count))
                return TOOL_BAD;
            break;
        case 'b':
            if (!tool_bytes(&tool_calibrate, "--bytes", optarg, &r->compare.bytes))
                return TOOL_BAD;
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
        if (r->file_count == CALIBRATE_FILES)
            return tool_bad_usage(&tool_calibrate, "more than %d files", CALIBRATE_FILES);
        r->files[r->file_count++] = argv[optind];
    }
    r->compare.renamed = r->renamed;
    if (!r->penalties && r->file_count == 0)
        return tool_bad_usage(&tool_calibrate,
                              "measurements are missing: FILE.csv --on TOPOLOGY, or --penalties FILE.csv");
    if (r->penalties && r->file_count > 0)
        return tool_bad_usage(&tool_calibrate, "'%s' is too much: measurements follow --penalties", r->files[0]);
    if (r->penalties && (r->folds_given || r->model || r->compare.renamed_count || r->compare.bytes))
        return tool_bad_usage(&tool_calibrate, "--folds, --model, --name and --bytes do not go with --penalties");
    if (!r->penalties && (r->fill || r->together >= 0))
        return tool_bad_usage(&tool_calibrate, "--fill and --together go with --penalties");
    if (!r->penalties && !r->topology)
        return tool_bad_usage(&tool_calibrate, "--on TOPOLOGY is missing");
    if (r->folds == 1)
        return tool_bad_usage(&tool_calibrate, "--folds 1 would hold everything out: 0 or 2 to %d", HOP_FIT_FOLDS_MAX);
    if (!r->topology && (r->output || r->set_count))
        return tool_bad_usage(&tool_calibrate, "--output and --set go with --on TOPOLOGY");
    if (r->topology && strcmp(r->topology, "-") == 0 && reads_standard_input(r))
        return tool_bad_usage(&tool_calibrate, "standard input (-) is read once");
    if (r->output && strcmp(r->output, "-") == 0)
        return tool_bad_usage(&tool_calibrate, "--output needs a file: standard output shows what was found");
    return TOOL_OK;
}

static int run(int argc, char **argv)
{
    static struct calibrate_request r = {.together = -1};
    struct hop_topology *topology = NULL;
    int status = read_options(&r, argc, argv);
    if (status == -1)
        return tool_help(&tool_calibrate);
    if (status == TOOL_OK && r.topology)
        status =
            tool_load_topology(r.topology, &(struct tool_words){(char **)r.sets, (uint32_t)r.set_count, 0}, &topology);
    if (status == TOOL_OK)
        status = r.penalties ? calibrate_penalties(&r, topology) : calibrate_fit(&r, topology);
    hop_topology_destroy(topology);
    return status;
}

const struct tool_command tool_calibrate = {
    .name = "calibrate",
    .summary = "parameters from measurements",
    .usage = "FILE ... --on TOPOLOGY [OPTION ...] | --penalties FILE.csv [OPTION ...]",
    .help =
        "Fits TOPOLOGY to measurements of it (see hopcast compare --help): one capacity for all links of a kind and "
        "one loss\n"
        "for all crossings of root complexes; a link, direction, pair or limit of its own only where the "
        "measurements ask for it.\n"
        "Every value is shown with its uncertainty and the groups that determine it, then the errors before, after, "
        "and of groups\n"
        "that were held out. Several FILEs are of one machine. docs/calibrate.md says how.\n"
        "\n"
        "      --on TOPOLOGY       what was measured: a built-in machine, a file of any dialect, or live\n"
        "  -m, --model NAME        the model that is to predict it (server; fair where that rules no link)\n"
        "      --folds N           hold every group out once, in N parts (5); 0: do not\n"
        "      --name NAME=DEVICE  what FILE calls NAME is DEVICE in the topology; may be repeated\n"
        "      --bytes SIZE        of transfers that do not state theirs (256MiB)\n"
        "  -s, --set NAME=VALUE    change the topology first (see hopcast topology --help); may be repeated\n"
        "  -o, --output FILE       write the machine file: the topology with what was found\n"
        "  -j, --json              everything, for machines (docs/fit.schema.json, docs/penalties.schema.json)\n"
        "\n"
        "Penalties: how many times slower than alone every transfer of a contention graph is, from the times of "
        "transfers that\n"
        "started together and of the smaller graphs that are left when some have ended. A graph for each "
        "concurrent_group; groups\n"
        "of one row give the bandwidth.\n"
        "\n"
        "      --penalties FILE    measurements, - for standard input\n"
        "      --on TOPOLOGY       graphs are made of this topology's network ports, not of the names in FILE\n"
        "      --together SHARE    transfers whose times are that near end together (0.01)\n"
        "      --fill              smaller graphs that were not measured: take what model infiniband says\n"
        "  -o, --output FILE       write the topology as a machine file, its fabric's links with the measured "
        "bandwidth\n"
        "\n"
        "Exit status 1: a smaller graph is missing; it is named.\n"
        "\n"
        "example: hopcast calibrate data/measurements/pcie-2016.csv --on t2 --folds 0\n",
    .run = run,
};
