/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast map: which rank goes where, so that heavy traffic meets strong links.
 *
 * SIGINT and SIGTERM end the search with the best so far.
 */
#include "map.h"
#include "options_shared.h"
#include "ranks.h"

#include <math.h>

enum { PER_MAX = 65536 };

/* ---- progress ---- */

static bool watch_map(const struct hop_map_progress *progress, void *context)
{
    if (tool_tick(context)) {
        bool any = isfinite(progress->value);
        tool_tick_show(context, "%.0f s: %s%s%s", progress->elapsed_s, progress->phase, any ? ": best " : "",
                       any ? map_show_metric(progress->metric, progress->value) : "");
    }
    return !ranks_stop;
}

/* ---- options ---- */

static const char *solver_at(unsigned index)
{
    return hop_map_solver_name((enum hop_map_solver)index);
}

static const char *metric_at(unsigned index)
{
    const struct hop_map_metric_facts *metric = hop_map_metric_at(index);
    return metric ? metric->name : NULL;
}

static const char *metric_is(unsigned index)
{
    return hop_map_metric_at(index)->what;
}

static const struct tool_option table[] = {
    {.kind = OPTION_TEXT,
     .use = USE_INPUT,
     .once = true,
     .argument = "TRAFFIC",
     AT(map_request, source),
     .missing = "TRAFFIC is missing: a traffic file, a schedule, a pattern such as stencil:4x4, or -"},
    SHARED(on, AT(map_request, machine), .missing = ON_IS_MISSING),
    SHARED(set, AT(map_request, sets)),
    SHARED(ranks, AT(map_request, ranks), .help = "how many, of a pattern that does not say it: alltoall -n 8"),
    OPTION("host", 0, TEXT, AT(map_request, host), "TRAFFIC", "traffic between the ranks' host memories, besides",
           .use = USE_INPUT),
    OPTION("memory", 0, CHOICE, AT(map_request, memory), NULL,
           "what the bytes of TRAFFIC are, where it does not say (device)", .choices = "device host"),
    OPTION("metric", 0, CHOICE, AT(map_request, options.metric), "METRIC",
           "what is minimised: {choices}; simulated by default", .choice_at = metric_at, .choice_is = metric_is),
    OPTION("solver", 0, CHOICE, AT(map_request, options.solver), "SOLVER",
           "auto, exact (up to 12 ranks and devices, with proof), scotch or exchange", .choice_at = solver_at),
    OPTION("phase", 0, CHOICES, AT(map_request, options.phases), "LIST",
           "of nodes, devices, refine, cores (all that apply); the rest stays as it is at the start",
           .choices = "nodes cores devices refine"),
    OPTION("ranks-per-device", 0, COUNT, AT(map_request, options.ranks_per_device), "K",
           "so many ranks a device at most (1)", .low = 1, .high = PER_MAX),
    OPTION("ranks-per-node", 0, COUNT, AT(map_request, options.ranks_per_node), "K",
           "so many a node at most (what its devices take)", .low = 1, .high = PER_MAX),
    OPTION("exclude", 'x', NAMES, AT(map_request, excluded), "NAMES", "devices or nodes that nobody gets: gpu3,node1"),
    OPTION("keep", 'k', LIST, AT(map_request, keep), "RANKS=PLACES",
           "ranks that stay on nodes or devices: 3=node1, 0-3=gpu0,gpu1"),
    OPTION("cores", 0, TEXT, AT(map_request, options.cores), "SPEC",
           "of every node: 'package:2 core:12 pu:1', an hwloc XML file, or live"),
    OPTION("start", 0, TEXT, AT(map_request, start), "PLACEMENT",
           "to compare with: packed (the default), cyclic, random[=SEED], or a file", .use = USE_INPUT, .once = true),
    SHARED(map, AT(map_request, start), .argument = "PLACEMENT", .excludes = "start", .help = "the same"),
    SHARED(model, AT(map_request, options.models)),
    SHARED(seed, AT(map_request, options.seed), .help = "(1); the same seed gives the same answer"),
    OPTION("max-operations", 0, WHOLE, AT(map_request, options.max_operations), "N",
           "simulated while searching (docs/map.md)", .low = 1),
    OPTION("time-limit", 0, TIME, AT(map_request, options.time_limit_s), "TIME", "the best answer until then",
           .least = 1e-9),
    FLAG("no-simulation", 0, AT(map_request, options.no_simulation), "not even to compare"),
    HEADING("What is shown:"),
    FLAG("draw", 0, AT(map_request, draw), "every link's load before and after, on the tree"),
    SHARED(ascii, AT(map_request, ascii), .help = "the same in ASCII"),
    OPTION("svg", 0, TEXT, AT(map_request, svg), "FILE", "the same as a drawing", .use = USE_OUTPUT),
    FLAG("quiet", 'q', AT(map_request, quiet), "without the list of ranks"),
    SHARED(json, AT(map_request, json), .use = USE_PRINT, .excludes = "draw ascii",
           .help = "everything, for machines (docs/map.schema.json)"),
    SHARED(output, AT(map_request, output),
           .help = "the placement, for --map of predict and run, and for HOPCAST_MAP of MPI programs (docs/mpi.md)"),
    OPTION("placed", 0, TEXT, AT(map_request, placed), "FILE", "write the schedule that was given, on its new devices",
           .use = USE_OUTPUT),
    SHARED(launch, AT(map_request, launch)),
    SHARED(launch_dir, AT(map_request, directory)),
    SHARED(hosts, AT(map_request, hosts)),
    SHARED(program, AT(map_request, program)),
    END_OF_OPTIONS,
};

/* ---- the work ---- */

static struct hop_map_result *find(const struct map_request *r, const struct map_input *input)
{
    struct hop_map_options own = r->options;
    struct hop_map_result *result;
    struct tool_ticker ticker = tool_tick_begin();
    own.start = input->start;
    own.exchange = input->exchange;
    own.progress = watch_map;
    own.context = &ticker;
    ranks_catch();
    enum hop_status status = hop_map(input->topology, input->traffic, &own, &result, &tool_diag);
    tool_tick_end(&ticker);
    tool_try_at(status, "%.100s --on %.100s", r->source, r->machine);
    return tool_have(result);
}

static int run(int argc, char **argv)
{
    static struct map_request r = {.command = &tool_map_command, .options = {.metric = HOP_MAP_SIMULATED, .seed = 1}};
    static struct map_input input;
    tool_read(&tool_map_command, argc, argv, &r);
    r.draw = r.draw || r.ascii;
    r.options.excluded = (const char *const *)r.excluded.at;
    r.options.excluded_count = r.excluded.count;
    r.options.keep = (const char *const *)r.keep.at;
    r.options.keep_count = r.keep.count;
    if (r.options.no_simulation && r.options.metric == HOP_MAP_SIMULATED)
        tool_bad_usage(&tool_map_command, "--no-simulation goes with another --metric than simulated");
    input.topology = tool_load_topology(r.machine, &r.sets);
    map_read_traffic(&r, &input);
    if (r.placed && !input.exchange)
        tool_bad_usage(&tool_map_command, "--placed goes with a schedule, which %s is not", r.source);
    map_read_start(&r, &input);
    map_check_files(&r, &input);
    const struct hop_map_result *result = find(&r, &input);
    map_show(&r, &input, result);
    map_write_files(&r, &input, result);
    return TOOL_OK;
}

const struct tool_command tool_map_command = {
    .name = "map",
    .summary = "which rank goes on which node, device and core",
    .usage = "TRAFFIC --on TOPOLOGY [OPTION ...]",
    .about =
        "Assigns ranks to nodes, devices and cores so that heavy traffic meets strong links, and says what that "
        "gives.\n"
        "\n"
        "TRAFFIC is device traffic between ranks: a profile or byte matrix (CSV, Matrix Market; docs/traffic.md), a\n"
        "schedule (.hop, GOAL, a trace), whose own exchange is then simulated, or a pattern:\n"
        "  stencil:2x2x4,weight=3,wrap   coll:4x2x2   ring:8   alltoall:16   halo:2x2x2   (bytes=1MiB)\n"
        "\n",
    .options = table,
    .notes = "Ctrl-C ends the search with the best mapping so far.\n"
             "\n"
             "example: hopcast map stencil:2x2x4,weight=3 --on helios --draw\n",
    .run = run,
};
