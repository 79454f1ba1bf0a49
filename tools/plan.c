/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast plan: which rank goes where and in which order every source sends, chosen together.
 *
 * Under mpirun every rank searches; rank 0 reads, prints and writes (ranks_input.c). SIGINT and SIGTERM end the search with
 * the best so far.
 */
#include "plan.h"
#include "options_shared.h"
#include "ranks.h"

#include <math.h>
#include <string.h>

enum { PLAN_THREADS_MAX = 256 };

/* ---- progress ---- */

static bool watch_plan(const struct hop_plan_progress *progress, void *context)
{
    if (!tool_tick(context))
        return !ranks_stop;
    const char *best = isfinite(progress->value_s) ? tool_text(": best %s", SECONDS(progress->value_s)) : "", *gap = "";
    const char *closed = "";
    if (isfinite(progress->value_s) && progress->bound_s > 0)
        gap = tool_text(", gap %s %%", PERCENT(fmax(0, progress->value_s / progress->bound_s - 1), 2));
    if (progress->placements > 1)
        closed = tool_text(", %s of %s placements closed", COUNT(progress->closed), COUNT(progress->placements));
    tool_tick_show(context, "%.0f s: %s%s%s%s", progress->elapsed_s, progress->phase, best, gap, closed);
    return !ranks_stop;
}

/* ---- options ---- */

static const struct tool_option table[] = {
    {.kind = OPTION_TEXT,
     .use = USE_INPUT,
     .once = true,
     .argument = "WHAT",
     AT(plan_request, map.source),
     .missing = "WHAT is missing: a schedule, a traffic file, a pattern such as halo:2x2x2, or -"},
    SHARED(on, AT(plan_request, map.machine), .missing = ON_IS_MISSING),
    SHARED(set, AT(plan_request, map.sets)),
    OPTION("host", 0, TEXT, AT(plan_request, map.host), "TRAFFIC", "traffic between the ranks' host memories, besides",
           .use = USE_INPUT),
    OPTION("memory", 0, CHOICE, AT(plan_request, map.memory), NULL,
           "what the bytes of traffic are, where it does not say (device)", .choices = "device host"),
    SHARED(model, AT(plan_request, options.models)),
    HEADING("A collective:"),
    SHARED(bytes, AT(plan_request, collective.vector_bytes), .low = 1, .help = SIZE_OF_A_COLLECTIVE),
    SHARED(ranks, AT(plan_request, ranks), .help = "how many ranks (default: one a device)"),
    OPTION("algorithm", 0, TEXT, AT(plan_request, collective.algorithm), "NAME",
           "such as ring or gsb-btb; without it the algorithm is chosen, too"),
    SHARED(segment, AT(plan_request, collective.segment_bytes)),
    SHARED(operator, AT(plan_request, collective.reduce)),
    SHARED(type, AT(plan_request, collective.type)),
    SHARED(root, AT(plan_request, collective.root)),
    HEADING("What may change:"),
    FLAG("keep", 'k', AT(plan_request, options.keep_placement), "the placement stays: only the order is chosen"),
    OPTION("keep-ranks", 0, LIST, AT(plan_request, map.keep), "RANKS=PLACES",
           "ranks that stay on nodes or devices: 3=node1, 0-3=gpu0,gpu1"),
    OPTION("exclude", 'x', NAMES, AT(plan_request, map.excluded), "NAMES",
           "devices or nodes that nobody gets: gpu3,node1"),
    OPTION("start", 0, TEXT, AT(plan_request, map.start), "PLACEMENT",
           "where ranks are: packed (the default), cyclic, or a file; of a schedule, where it is", .use = USE_INPUT),
    OPTION("way", 0, CHOICE, AT(plan_request, options.way), "WAY",
           "of the copies between devices: one of {choices} (best: each directly or through host memory)",
           .choices = "best p2p staged"),
    FLAG("no-waits", 0, AT(plan_request, options.no_waits), "sources never wait for each other where they could send"),
    FLAG("allow-unclean", 0, AT(plan_request, options.allow_unclean),
         "orders that load a link above its limit count, too"),
    FLAG("robust", 0, AT(plan_request, options.robust),
         "also the plan of least regret over models and ranges; files get that one"),
    HEADING("How:"),
    OPTION("time-limit", 0, TIME, AT(plan_request, options.time_limit_s), "TIME",
           "stop after that, with the best so far; so do Ctrl-C and SIGTERM", .least = 1e-9),
    OPTION("max-nodes", 0, WHOLE, AT(plan_request, options.max_nodes), "N",
           "stop after N states of each step's search, and N of all that comes after: the same result each time, "
           "whatever the threads and processes",
           .low = 1),
    SHARED(gap, AT(plan_request, options.gap)),
    OPTION("threads", 0, COUNT, AT(plan_request, options.threads), "N",
           "default: one a processor; `mpirun hopcast plan` shares the work over processes", .low = 1,
           .high = PLAN_THREADS_MAX),
    SHARED(seed, AT(plan_request, options.seed), .help = "of the choices made at random (1)"),
    OPTION("checkpoint", 0, TEXT, AT(plan_request, options.checkpoint), "FILE",
           "save what is done there, and go on from it", .use = USE_FILE, .once = true),
    OPTION("checkpoint-every", 0, TIME, AT(plan_request, options.checkpoint_s), "TIME", "how often (10s)",
           .least = 1e-9, .needs = "checkpoint"),
    HEADING("What is shown:"),
    FLAG("quiet", 'q', AT(plan_request, map.quiet), "without the list of ranks"),
    SHARED(json, AT(plan_request, map.json), .use = USE_PRINT,
           .help = "everything, for machines (docs/plan.schema.json)"),
    SHARED(output, AT(plan_request, output), .once = true,
           .help = "the planned schedule, on devices, for `hopcast predict` and `hopcast run`"),
    OPTION("placement", 0, TEXT, AT(plan_request, map.output), "FILE",
           "the placement, a line a rank, as `hopcast map -o` writes it", .use = USE_OUTPUT),
    OPTION("svg", 0, TEXT, AT(plan_request, svg), "FILE",
           "a drawing of every source's transfers and the fullest links, as given and as planned", .use = USE_OUTPUT),
    SHARED(launch, AT(plan_request, map.launch)),
    SHARED(launch_dir, AT(plan_request, map.directory)),
    SHARED(hosts, AT(plan_request, map.hosts)),
    SHARED(program, AT(plan_request, map.program)),
    END_OF_OPTIONS,
};

/* ---- the work ---- */

/* A pattern as `hopcast make` writes it, each rank's sends in the same order; other traffic as copies, all at once. */
static void make_exchange(const struct plan_request *r, struct map_input *input)
{
    uint32_t ranks = hop_traffic_ranks(input->traffic);
    bool of_devices = r->map.memory == HOP_MEMORY_DEVICE && !r->map.host && !strstr(r->map.source, ",memory=");
    const char **devices = tool_alloc(ranks, sizeof *devices), **hosts = tool_alloc(ranks, sizeof *hosts);
    for (uint32_t i = 0; i < ranks; i++) {
        devices[i] = tool_text("rank%u", i);
        hosts[i] = tool_text("rank%u.host", i);
    }
    tool_try(hop_pattern_is(r->map.source) && of_devices
                 ? hop_pattern_schedule(r->map.source, &(struct hop_ranks){devices, ranks}, 1 << 20, &input->exchange,
                                        &tool_diag)
                 : hop_traffic_to_schedule(input->traffic, devices, hosts, &input->exchange, &tool_diag));
}

/* One rank a device that is not excluded. */
static uint32_t count_devices(const struct plan_request *r, const struct hop_topology *topology)
{
    uint32_t gpus = 0, nics = 0;
    for (uint32_t n = 0; n < hop_topology_node_count(topology); n++) {
        const struct hop_node *node = hop_topology_node(topology, n);
        bool excluded = false;
        for (uint32_t i = 0; i < r->map.excluded.count; i++)
            excluded = excluded || strcmp(r->map.excluded.at[i], node->name) == 0;
        gpus += !excluded && node->kind == HOP_NODE_GPU;
        nics += !excluded && node->kind == HOP_NODE_NIC;
    }
    return gpus ? gpus : nics;
}

/* Whether a collective is to be planned; then how many ranks have a part in it. */
static bool take_collective(struct plan_request *r, const struct hop_topology *topology)
{
    static const char *const own[] = {"bytes", "ranks", "algorithm", "segment", "operator", "type", "root"},
                             *const of_data[] = {"bytes", "segment", "operator", "type"};
    r->is_collective = tool_collective(r->map.source, strlen(r->map.source), &r->collective.kind);
    for (size_t i = 0; i < HOP_COUNT(own) && !r->is_collective; i++) {
        if (tool_given(&r->map.given, own[i]))
            tool_bad_usage(&tool_plan, "--%s goes with a collective, such as allreduce, which %s is not", own[i],
                           r->map.source);
    }
    if (r->is_collective && (tool_given(&r->map.given, "host") || tool_given(&r->map.given, "memory")))
        tool_bad_usage(&tool_plan, "--host and --memory go with traffic, not with a collective");
    bool barrier = r->is_collective && r->collective.kind == HOP_COLLECTIVE_BARRIER;
    for (size_t i = 0; i < HOP_COUNT(of_data) && barrier; i++) {
        if (tool_given(&r->map.given, of_data[i]))
            tool_bad_usage(&tool_plan,
                           "--%s goes with a collective that moves data, which a barrier does not: leave it out",
                           of_data[i]);
    }
    if (r->is_collective && !r->collective.vector_bytes && !barrier)
        tool_bad_usage(&tool_plan, "%s needs its size: --bytes 64MiB", r->map.source);
    r->ranks = r->ranks ? r->ranks : count_devices(r, topology);
    r->what = r->map.source;
    if (!r->is_collective || barrier)
        return r->is_collective;
    const char *rounded = tool_round_collective(&r->collective, r->ranks);
    if (r->collective.vector_bytes == 0)
        tool_bad_usage(&tool_plan, "--bytes is %s: nothing is left", rounded);
    if (*rounded)
        r->what = tool_text("%s of %s, %s,", r->what, tool_short_bytes(r->collective.vector_bytes), rounded);
    return true;
}

static void read_placement(struct plan_request *r, struct map_input *input)
{
    map_read_start(&r->map, input);
    if (r->map.options.start_order == HOP_MAP_RANDOM)
        tool_bad_usage(&tool_plan, "--start random is for `hopcast map`: packed, cyclic or a file is expected");
    if (r->map.options.start_order == HOP_MAP_CYCLIC)
        tool_try(hop_placement_make(input->topology, r->is_collective ? r->ranks : hop_schedule_ranks(input->exchange),
                                    HOP_PLACEMENT_CYCLIC, &input->start, &tool_diag));
}

/* What rank 0 reads, and what the others need of it. */
static struct ranks_input read_input(struct plan_request *r, struct map_input *input)
{
    input->topology = tool_load_topology(r->map.machine, &r->map.sets);
    if (take_collective(r, input->topology)) {
        (void)hop_traffic_create(r->ranks, &input->traffic, NULL); /* launch files are about its ranks alone */
    } else {
        map_read_traffic(&r->map, input);
        if (!input->exchange)
            make_exchange(r, input);
    }
    read_placement(r, input);
    map_check_files(&r->map, input);
    return (struct ranks_input){input->topology, input->exchange, input->start};
}

static struct hop_plan_result *find(struct plan_request *r, const struct ranks_input *input, bool terminal)
{
    struct hop_plan_result *result;
    struct tool_ticker ticker = tool_tick_begin();
    ticker.terminal = ticker.terminal && terminal;
    r->options.progress = watch_plan;
    r->options.context = &ticker;
    r->options.excluded = (const char *const *)r->map.excluded.at;
    r->options.excluded_count = r->map.excluded.count;
    r->options.keep = (const char *const *)r->map.keep.at;
    r->options.keep_count = r->map.keep.count;
    r->options.start = input->placement;
    enum hop_status status =
        r->is_collective
            ? hop_plan_collective(input->topology, r->ranks, &r->collective, &r->options, &result, &tool_diag)
            : hop_plan(input->topology, input->schedule, &r->options, &result, &tool_diag);
    tool_tick_end(&ticker);
    if (!terminal) /* rank 0 says what is wrong */
        return NULL;
    tool_try_at(status, "%.100s --on %.100s", r->map.source, r->map.machine);
    return tool_have(result);
}

const char *plan_remark(const struct hop_plan_result *result)
{
    char words[256];
    return tool_text("%s; %s", SECONDS(result->value_s), hop_plan_words(result, words, sizeof words));
}

static void show(struct plan_request *r, const struct map_input *input, const struct hop_plan_result *result)
{
    plan_show(r, input, result);
    r->map.remark = plan_remark(result);
    const struct hop_plan_robust *robust = result->robust;
    if (robust)
        r->map.remark = tool_text("of least regret, at most %s %% over %u cases",
                                  PERCENT(robust->order.robust_regret, 3), robust->order.case_count);
    if (result->best && r->output)
        tool_write_remarked(r->output, robust ? robust->order.best : result->best,
                            tool_text("hopcast plan %s --on %s", r->map.source, r->map.machine), r->map.remark);
    if (result->best && r->svg)
        plan_draw(r, input, result);
    map_write_files(&r->map, input, robust ? robust->mapping : result->mapping);
}

/* Of a rank that searches for rank 0. */
static int serve(struct plan_request *r, int argc, char **argv)
{
    struct ranks_input read;
    ranks_catch();
    if (!ranks_receive_input(r->options.group, &read))
        return TOOL_OK;
    tool_read(&tool_plan, argc, argv, r);
    (void)take_collective(r, read.topology);
    (void)find(r, &read, false);
    return TOOL_OK;
}

static int run(int argc, char **argv)
{
    static struct plan_request r = {
        .map = {.command = &tool_plan}, .options = {.seed = 1}, .collective = {.type = HOP_TYPE_F32}};
    static struct map_input input;
    struct hop_group *group = r.options.group = ranks_join();
    if (hop_group_rank(group) != 0)
        return serve(&r, argc, argv);
    ranks_read(group);
    tool_read(&tool_plan, argc, argv, &r);
    const struct ranks_input shared = read_input(&r, &input);
    ranks_catch();
    ranks_send_input(group, &shared);
    const struct hop_plan_result *result = find(&r, &shared, true);
    show(&r, &input, result);
    if (result->lost_rank >= 0)
        return ranks_lost(group, result->lost_rank);
    return result->best ? TOOL_OK : TOOL_NEGATIVE;
}

const struct tool_command tool_plan = {
    .name = "plan",
    .summary = "where ranks go and in which order they send, chosen together",
    .usage = "WHAT --on TOPOLOGY [OPTION ...]",
    .about = "Chooses the placement of ranks and the order of every source's sends together, and says what each alone "
             "gives\n"
             "and how far the plan is from the best possible.\n"
             "\n"
             "WHAT is a schedule (.hop, JSON, GOAL, a trace), traffic between ranks (a profile or byte matrix; "
             "docs/traffic.md),\n"
             "a pattern: halo:2x2x2   stencil:2x2x4,weight=3,wrap   coll:4x2x2   alltoall:16   (bytes=1MiB),\n"
             "or a collective with its size, whose algorithm is chosen, too: allreduce --bytes 64MiB\n"
             "\n",
    .options = table,
    .notes = "example: hopcast plan halo:2x2x2,bytes=64MiB --on t2 -o halo.hop && hopcast predict halo.hop --on t2\n",
    .run = run,
};
