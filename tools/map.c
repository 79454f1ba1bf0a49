/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast map: which rank goes where, so that heavy traffic meets strong links.
 *
 * SIGINT and SIGTERM end the search with the best so far.
 */
#include "map.h"
#include "ranks.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PER_MAX = 65536 };

/* ---- progress ---- */

struct watch {
    bool terminal, shown;
    double shown_s;
};

static bool watch_map(const struct hop_map_progress *progress, void *context)
{
    struct watch *watch = context;
    char value[32];
    if (watch->terminal && progress->elapsed_s >= 1 && progress->elapsed_s - watch->shown_s >= 0.25) {
        watch->shown_s = progress->elapsed_s;
        watch->shown = true;
        fprintf(stderr, "\r%.0f s: %s", progress->elapsed_s, progress->phase);
        if (isfinite(progress->value))
            fprintf(stderr, ": best %s", map_show_metric(progress->metric, progress->value, value, sizeof value));
        fputs("          ", stderr);
        fflush(stderr);
    }
    return !ranks_stop;
}

/* ---- options that are values ---- */

static bool take_names(const char *option, char *text, const char **names, uint32_t *count)
{
    for (char *name = strtok(text, ","); name; name = strtok(NULL, ",")) {
        if (*count == MAP_NAMES_MAX) {
            tool_bad_usage(&tool_map_command, "%s: more than %d names", option, MAP_NAMES_MAX);
            return false;
        }
        names[(*count)++] = name;
    }
    return true;
}

static bool take_metric(const char *text, enum hop_map_metric *metric)
{
    for (unsigned m = 0; m < HOP_MAP_METRIC_COUNT; m++) {
        if (strcmp(text, hop_map_metric_name(m)) == 0) {
            *metric = m;
            return true;
        }
    }
    tool_bad_usage(&tool_map_command,
                   "--metric cannot be '%s': latency, bandwidth, distance, congestion or simulated is expected", text);
    return false;
}

static bool take_solver(const char *text, enum hop_map_solver *solver)
{
    for (unsigned s = 0; s <= HOP_MAP_EXCHANGE; s++) {
        if (strcmp(text, hop_map_solver_name(s)) == 0) {
            *solver = s;
            return true;
        }
    }
    tool_bad_usage(&tool_map_command, "--solver cannot be '%s': auto, exact, scotch or exchange is expected", text);
    return false;
}

static bool take_phases(char *text, unsigned *phases)
{
    static const struct {
        const char *name;
        unsigned phase;
    } known[] = {
        {"nodes", HOP_MAP_NODES}, {"cores", HOP_MAP_CORES}, {"devices", HOP_MAP_DEVICES}, {"refine", HOP_MAP_REFINE}};
    *phases = 0;
    for (char *name = strtok(text, ","); name; name = strtok(NULL, ",")) {
        unsigned phase = 0;
        for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
            phase = strcmp(name, known[i].name) == 0 ? known[i].phase : phase;
        if (!phase) {
            tool_bad_usage(&tool_map_command, "--phase cannot be '%s': nodes, devices, refine or cores is expected",
                           name);
            return false;
        }
        *phases |= phase;
    }
    return *phases || (tool_bad_usage(&tool_map_command, "--phase names no phase"), false);
}

static bool take_memory(const char *text, enum hop_memory *memory)
{
    *memory = strcmp(text, "host") == 0 ? HOP_MEMORY_HOST : HOP_MEMORY_DEVICE;
    if (*memory == HOP_MEMORY_HOST || strcmp(text, "device") == 0)
        return true;
    tool_bad_usage(&tool_map_command, "--memory cannot be '%s': device or host is expected", text);
    return false;
}

static bool take_time(const char *text, double *seconds)
{
    struct hop_diag diag;
    if (hop_parse_seconds(text, strlen(text), seconds, &diag) == HOP_OK && *seconds > 0)
        return true;
    tool_bad_usage(&tool_map_command, "--time-limit cannot be '%s': a time above 0, such as 10s, is expected", text);
    return false;
}

static bool take_each(const char *option, const char *text, uint32_t *each)
{
    uint64_t number;
    if (!tool_whole(&tool_map_command, option, text, 1, PER_MAX, &number))
        return false;
    *each = (uint32_t)number;
    return true;
}

static bool take_set(struct map_request *r, char *text)
{
    if (r->set_count == MAP_SETS_MAX) {
        tool_bad_usage(&tool_map_command, "too many assignments");
        return false;
    }
    r->sets[r->set_count++] = text;
    return true;
}

static bool take_keep(struct map_request *r, const char *text)
{
    if (r->options.keep_count == MAP_NAMES_MAX) {
        tool_bad_usage(&tool_map_command, "--keep: more than %d", MAP_NAMES_MAX);
        return false;
    }
    r->keep[r->options.keep_count++] = text;
    return true;
}

/* ---- the command line ---- */

static const struct option options[] = {
    {"on", required_argument, NULL, 't'},
    {"set", required_argument, NULL, 's'},
    {"host", required_argument, NULL, 'H'},
    {"memory", required_argument, NULL, 'y'},
    {"metric", required_argument, NULL, 'r'},
    {"solver", required_argument, NULL, 'v'},
    {"phase", required_argument, NULL, 'p'},
    {"ranks-per-device", required_argument, NULL, 'd'},
    {"ranks-per-node", required_argument, NULL, 'n'},
    {"exclude", required_argument, NULL, 'x'},
    {"keep", required_argument, NULL, 'k'},
    {"cores", required_argument, NULL, 'c'},
    {"start", required_argument, NULL, 'b'},
    {"model", required_argument, NULL, 'm'},
    {"seed", required_argument, NULL, 'e'},
    {"max-operations", required_argument, NULL, 'O'},
    {"time-limit", required_argument, NULL, 'T'},
    {"no-simulation", no_argument, NULL, 'N'},
    {"draw", no_argument, NULL, 'w'},
    {"ascii", no_argument, NULL, 'a'},
    {"quiet", no_argument, NULL, 'q'},
    {"svg", required_argument, NULL, 'g'},
    {"json", no_argument, NULL, 'j'},
    {"output", required_argument, NULL, 'o'},
    {"placed", required_argument, NULL, 'D'},
    {"launch", required_argument, NULL, 'l'},
    {"launch-dir", required_argument, NULL, 'L'},
    {"hosts", required_argument, NULL, 'A'},
    {"program", required_argument, NULL, 'P'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* What is to be mapped, onto what, and how. */
static bool take_question(struct map_request *r, int code)
{
    struct hop_map_options *o = &r->options;
    switch (code) {
    case 't':
        r->machine = optarg;
        return true;
    case 's':
        return take_set(r, optarg);
    case 'H':
        r->host = optarg;
        return true;
    case 'y':
        return take_memory(optarg, &r->memory);
    case 'r':
        return take_metric(optarg, &o->metric);
    case 'v':
        return take_solver(optarg, &o->solver);
    case 'p':
        return take_phases(optarg, &o->phases);
    case 'd':
        return take_each("--ranks-per-device", optarg, &o->ranks_per_device);
    case 'n':
        return take_each("--ranks-per-node", optarg, &o->ranks_per_node);
    case 'x':
        return take_names("--exclude", optarg, r->excluded, &o->excluded_count);
    case 'k':
        return take_keep(r, optarg);
    case 'c':
        o->cores = optarg;
        return true;
    case 'b':
        r->start = optarg;
        return true;
    case 'm':
        o->models = optarg;
        return true;
    case 'e':
        return tool_whole(&tool_map_command, "--seed", optarg, 0, UINT64_MAX, &o->seed);
    case 'O':
        return tool_whole(&tool_map_command, "--max-operations", optarg, 1, UINT64_MAX, &o->max_operations);
    case 'T':
        return take_time(optarg, &o->time_limit_s);
    case 'N':
        return o->no_simulation = true;
    default:
        return false;
    }
}

static bool take_option(struct map_request *r, int code)
{
    switch (code) {
    case 'w':
        return r->draw = true;
    case 'a':
        return r->ascii = r->draw = true;
    case 'q':
        return r->quiet = true;
    case 'g':
        r->svg = optarg;
        return true;
    case 'j':
        return r->json = true;
    case 'o':
        r->output = optarg;
        return true;
    case 'D':
        r->placed = optarg;
        return true;
    case 'l':
        r->launch = optarg;
        return true;
    case 'L':
        r->directory = optarg;
        return true;
    case 'A':
        return take_names("--hosts", optarg, r->hosts, &r->host_count);
    case 'P':
        r->program = optarg;
        return true;
    default:
        return take_question(r, code);
    }
}

static bool is_launch_form(const char *text)
{
    unsigned form = 0;
    while (form < HOP_LAUNCH_FORMAT_COUNT && strcmp(text, hop_launch_format_name(form)) != 0)
        form++;
    return form < HOP_LAUNCH_FORMAT_COUNT;
}

static int check(struct map_request *r, int argc, char **argv)
{
    if (optind == argc)
        return tool_bad_usage(&tool_map_command,
                              "TRAFFIC is missing: a traffic file, a schedule, a pattern such as stencil:4x4, or -");
    if (optind + 1 < argc)
        return tool_bad_usage(&tool_map_command, "'%s' is too much: one TRAFFIC is expected", argv[optind + 1]);
    r->source = argv[optind];
    if (!r->machine)
        return tool_bad_usage(&tool_map_command,
                              "--on TOPOLOGY is missing (`hopcast topology --list` shows built-in ones)");
    const char *inputs[] = {r->source, r->machine, r->host, r->start};
    int dashes = 0;
    for (size_t i = 0; i < sizeof inputs / sizeof inputs[0]; i++)
        dashes += inputs[i] && strcmp(inputs[i], "-") == 0;
    if (dashes > 1)
        return tool_bad_usage(&tool_map_command, "standard input (-) is read once");
    const char *outputs[] = {r->json ? "-" : NULL, r->launch ? "-" : NULL, r->output, r->placed, r->svg};
    int printed = 0;
    for (size_t i = 0; i < sizeof outputs / sizeof outputs[0]; i++)
        printed += outputs[i] && strcmp(outputs[i], "-") == 0;
    if (printed > 1)
        return tool_bad_usage(&tool_map_command, "only one of --json, --launch, --output -, --placed - and --svg - "
                                                 "can have standard output");
    if ((r->host_count || r->program) && !r->launch && !r->directory)
        return tool_bad_usage(&tool_map_command, "--hosts and --program go with --launch or --launch-dir");
    if (r->json && r->draw)
        return tool_bad_usage(&tool_map_command, "--json has all loads; --draw goes without it");
    if (r->launch && !is_launch_form(r->launch))
        return tool_bad_usage(
            &tool_map_command,
            "--launch cannot be '%s': rankfile, hostfile, machinefile, devices, slurm, openmpi or mpich "
            "is expected",
            r->launch);
    r->options.excluded = r->excluded;
    r->options.keep = r->keep;
    if (r->options.no_simulation && r->options.metric == HOP_MAP_SIMULATED)
        return tool_bad_usage(&tool_map_command, "--no-simulation goes with another --metric than simulated");
    return TOOL_OK;
}

static int read_options(struct map_request *r, int argc, char **argv)
{
    tool_options_begin();
    for (int code; (code = tool_option(&tool_map_command, argc, argv, ":s:m:k:x:jqo:h", options)) != -1;) {
        if (code == 'h')
            return -1;
        if (code == '?' || !take_option(r, code))
            return TOOL_BAD;
    }
    return check(r, argc, argv);
}

/* ---- the work ---- */

static int find(const struct map_request *r, const struct map_input *input, struct hop_map_result **result)
{
    struct hop_map_options own = r->options;
    struct watch watch = {.terminal = tool_progress_begin(&(struct tool_progress){0}, "") != NULL};
    struct hop_diag diag;
    own.start = input->start;
    own.exchange = input->exchange;
    own.progress = watch_map;
    own.context = &watch;
    ranks_catch();
    enum hop_status status = hop_map(input->topology, input->traffic, &own, result, &diag);
    if (watch.shown)
        fprintf(stderr, "\r%50s\r", "");
    if (status != HOP_OK && !diag.place[0])
        (void)snprintf(diag.place, sizeof diag.place, "%.100s --on %.100s", r->source, r->machine);
    return status == HOP_OK ? TOOL_OK : tool_fail(&diag);
}

static int run(int argc, char **argv)
{
    static struct map_request r;
    struct map_input input = {0};
    struct hop_map_result *result = NULL;
    r = (struct map_request){.options = {.metric = HOP_MAP_SIMULATED, .seed = 1}};
    int status = read_options(&r, argc, argv);
    if (status == -1)
        return tool_help(&tool_map_command);
    if (status == TOOL_OK)
        status = tool_load_topology(r.machine, &(struct tool_words){(char **)r.sets, (uint32_t)r.set_count, 0},
                                    &input.topology);
    if (status == TOOL_OK)
        status = map_read_traffic(&r, &input);
    if (status == TOOL_OK && r.placed && !input.exchange)
        status = tool_bad_usage(&tool_map_command, "--placed goes with a schedule, which %s is not", r.source);
    if (status == TOOL_OK)
        status = map_read_start(&r, &input);
    if (status == TOOL_OK)
        status = find(&r, &input, &result);
    if (status == TOOL_OK)
        status = map_show(&r, &input, result);
    if (status == TOOL_OK)
        status = map_write_files(&r, &input, result);
    hop_map_result_destroy(result);
    hop_placement_destroy(input.start);
    hop_schedule_destroy(input.exchange);
    hop_traffic_destroy(input.traffic);
    hop_topology_destroy(input.topology);
    return status;
}

const struct tool_command tool_map_command = {
    .name = "map",
    .summary = "which rank goes on which node, device and core",
    .usage = "TRAFFIC --on TOPOLOGY [OPTION ...]",
    .help =
        "Assigns ranks to nodes, devices and cores so that heavy traffic meets strong links, and says what that "
        "gives.\n"
        "\n"
        "TRAFFIC is device traffic between ranks: a profile or byte matrix (CSV, Matrix Market; docs/traffic.md), a\n"
        "schedule (.hop, GOAL, a trace), whose own exchange is then simulated, or a pattern:\n"
        "  stencil:2x2x4,weight=3,wrap   coll:4x2x2   ring:8   alltoall:16   halo:2x2x2   (bytes=1MiB)\n"
        "\n"
        "      --on TOPOLOGY       a built-in machine, a file of any dialect (clusters, too), or live\n"
        "  -s, --set NAME=VALUE    change the topology (see hopcast topology --help); may be repeated\n"
        "      --host TRAFFIC      traffic between the ranks' host memories, besides\n"
        "      --memory device|host  what the bytes of TRAFFIC are, where it does not say (device)\n"
        "      --metric METRIC     what is minimised: latency, bandwidth, distance (sums over pairs of ranks),\n"
        "                          congestion (of the fullest link) or simulated (the exchange's time; the default)\n"
        "      --solver SOLVER     auto, exact (up to 12 ranks and devices, with proof), scotch or exchange\n"
        "      --phase LIST        of nodes, devices, refine, cores (all that apply); the rest stays as it is at the "
        "start\n"
        "      --ranks-per-device K  (1)    --ranks-per-node K  (what its devices take)\n"
        "  -x, --exclude NAMES     devices or nodes that nobody gets: gpu3,node1\n"
        "  -k, --keep RANKS=PLACES ranks that stay on nodes or devices: 3=node1, 0-3=gpu0,gpu1; may be repeated\n"
        "      --cores SPEC        of every node: 'package:2 core:12 pu:1', an hwloc XML file, or live\n"
        "      --start PLACEMENT   to compare with: packed (the default), cyclic, random[=SEED], or a file\n"
        "  -m, --model NAME        see hopcast predict --help\n"
        "      --seed N            (1); the same seed gives the same answer\n"
        "      --max-operations N  simulated while searching (docs/map.md)  --time-limit TIME   best answer until then\n"
        "      --no-simulation     not even to compare\n"
        "      --draw              every link's load before and after, on the tree; --ascii: in ASCII\n"
        "      --svg FILE          the same as a drawing\n"
        "  -q, --quiet             without the list of ranks\n"
        "  -j, --json              everything, for machines (docs/map.schema.json)\n"
        "  -o, --output FILE       the placement, for `hopcast predict --map` and `hopcast run --map`\n"
        "      --placed FILE       write the schedule that was given, on its new devices\n"
        "      --launch FORM       print one of rankfile, hostfile, machinefile, devices, slurm, openmpi, mpich\n"
        "      --launch-dir DIR    write all of them (docs/launch.md); --hosts NAMES of the nodes, --program COMMAND\n"
        "\n"
        "Ctrl-C ends the search with the best mapping so far.\n"
        "\n"
        "example: hopcast map stencil:2x2x4,weight=3 --on helios --draw\n",
    .run = run,
};
