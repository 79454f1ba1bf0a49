/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast tune collective: every algorithm over sizes, predicted or measured; who wins where, as a table for
 * `--algorithm auto`.
 */
#include <stdlib.h>
#include <unistd.h>

#include "options_shared.h"
#include "ranks.h"
#include "tune.h"

enum { ALGORITHM_LIMIT = 64, ROUNDS_MAX = 1000 };

/* To measure by default: a rank's vectors and scratch of larger ones may not fit. */
static const uint64_t measured_sizes[] = {4,        16,       64,        256,     1 << 10, 4 << 10,
                                          16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};

struct request {
    struct tool_given given;
    struct tune_kinds kinds;
    const char *topology, *model, *devices, *output;
    struct tool_words sets, algorithms;
    uint64_t rounds;
    uint32_t ranks;
    struct tool_sizes sizes, segments;
    struct hop_collective_options collective;
    struct hop_program_options program;
    struct hop_launch_options launch;
    bool measured, json;
};

static const struct tool_option table[] = {
    SHARED(kinds, AT(request, kinds), .missing = "a collective is missing: allreduce, a list with commas, or all"),
    SHARED(
        on, AT(request, topology),
        .help =
            "a built-in machine, a fabric such as star:16, a file of any dialect, or live; ranks are on its GPUs, or "
            "its NICs where it has none"),
    SHARED(model, AT(request, model)),
    SHARED(set, AT(request, sets)),
    SHARED(ranks, AT(request, ranks)),
    SHARED(devices, AT(request, devices), .help = "these devices instead, such as gpu0,gpu4 or gpu0-7"),
    OPTION("sizes", 0, SIZES, AT(request, sizes), "LIST",
           "SIZE,... or LOW:HIGH*FACTOR (4:256MiB*4; measured: to 16MiB), " SIZE_OF_A_COLLECTIVE),
    OPTION(
        "algorithms", 'a', NAMES, AT(request, algorithms), "LIST",
        "these alone, such as ring,gsb-btb (`hopcast make allreduce --list`); by default all, and hierarchies of gsb "
        "and btb where ranks share devices or there are several nodes"),
    OPTION("segments", 0, SIZES, AT(request, segments), "LIST", "of pipelines, beside not cutting (64KiB:4MiB*4)"),
    SHARED(operator, AT(request, collective.reduce)),
    SHARED(type, AT(request, collective.type)),
    SHARED(root, AT(request, collective.root)),
    SHARED(in_place, AT(request, collective.in_place)),
    SHARED(json, AT(request, json), .help = "everything, for machines (docs/tune_collective.schema.json)"),
    SHARED(output, AT(request, output), .use = USE_FILE,
           .help = "the table, to be edited and used: hopcast run allreduce --algorithm auto=FILE"),
    HEADING("Measured:"),
    FLAG("measured", 0, AT(request, measured),
         "run them, in turns, and take the medians; without --on all ranks share one device"),
    OPTION("rounds", 0, WHOLE, AT(request, rounds), "N", "of turns (7)", .low = 1, .high = ROUNDS_MAX,
           .needs = "measured"),
    SHARED(device, AT(request, program.device), .needs = "measured"),
    SHARED(engines, AT(request, program.engines), .needs = "measured"),
    SHARED(in_process, AT(request, launch.threads), .needs = "measured"),
    SHARED(was_threads, .at = 0),
    SHARED(pin, AT(request, launch.pin), .needs = "measured"),
    SHARED(timeout, AT(request, launch.timeout_s), .needs = "measured"),
    END_OF_OPTIONS,
};

struct work {
    const struct request *request;
    struct hop_topology *topology;
    struct hop_network *network;
    struct hop_ranks ranks;
    struct tune_collective_head head;
    struct hop_tuned_collective *tuned[HOP_COLLECTIVE_COUNT];
    uint32_t count;
    bool used[ALGORITHM_LIMIT]; /* of the listed algorithms: some collective can be made by it */
    struct hop_diag why[ALGORITHM_LIMIT];
};

/* ---- measuring ---- */

static enum hop_status measure(const struct hop_schedule *const *schedules, uint32_t count, struct hop_tune_time *times,
                               void *context, struct hop_diag *diag)
{
    const struct work *w = context;
    const struct request *r = w->request;
    struct hop_ways_options options = {.launch = r->launch, .rounds = (uint32_t)r->rounds};
    struct hop_run_way *ways = tool_alloc(count, sizeof *ways);
    options.launch.ranks = w->ranks.count;
    for (uint32_t i = 0; i < count; i++) {
        ways[i].schedule = schedules[i];
        ways[i].program = r->program;
    }
    enum hop_status status = hop_measure_ways(ways, count, &options, diag);
    for (uint32_t i = 0; i < count && status == HOP_OK; i++)
        times[i] = (struct hop_tune_time){ways[i].median_s, ways[i].low_s, ways[i].high_s};
    return status;
}

/* ---- comparing ---- */

/* Of the listed algorithms those that this collective can be made by. */
static uint32_t find_listed(struct work *w, const struct hop_collective_options *collective, const char **names)
{
    uint32_t count = 0;
    for (uint32_t a = 0; a < w->request->algorithms.count; a++) {
        struct hop_collective_options options = *collective;
        struct hop_schedule *schedule;
        options.algorithm = w->request->algorithms.at[a];
        options.vector_bytes = options.segment_bytes = 0;
        if (hop_make_collective(&w->ranks, &options, &schedule, &w->why[a]) != HOP_OK)
            continue;
        hop_schedule_destroy(schedule);
        w->used[a] = true;
        names[count++] = options.algorithm;
    }
    return count;
}

/* checks: what can be refused is, before anything is timed. */
static enum hop_status compare(struct work *w, enum hop_collective_kind kind,
                               struct hop_tune_collective_options *options, bool checks, struct hop_diag *diag)
{
    const char *names[ALGORITHM_LIMIT];
    struct hop_collective_options collective = w->request->collective;
    collective.kind = kind;
    if (w->request->algorithms.count > 0) {
        options->algorithms = names;
        options->algorithm_count = find_listed(w, &collective, names);
        if (options->algorithm_count == 0)
            return HOP_OK;
    }
    enum hop_status status = hop_tune_collective(w->network, &w->ranks, &collective, options,
                                                 checks ? NULL : &w->tuned[w->count], diag);
    w->count += status == HOP_OK && !checks;
    return status;
}

static void compare_all(struct work *w)
{
    const struct request *r = w->request;
    struct tool_progress progress;
    struct hop_tune_collective_options options = {.sizes = r->sizes.count ? r->sizes.at : NULL,
                                                  .size_count = r->sizes.count,
                                                  .segments = r->segments.count ? r->segments.at : NULL,
                                                  .segment_count = r->segments.count,
                                                  .progress = tool_progress_begin(&progress, "algorithms"),
                                                  .context = &progress};
    enum hop_status status = HOP_OK;
    if (r->measured) {
        options.measure = measure;
        options.measure_context = w;
    }
    if (r->measured && !r->sizes.count) {
        options.sizes = measured_sizes;
        options.size_count = HOP_COUNT(measured_sizes);
    }
    for (uint32_t k = 0; k < r->kinds.count && status == HOP_OK; k++)
        status = compare(w, r->kinds.at[k], &options, true, &tool_diag);
    for (uint32_t a = 0; a < r->algorithms.count && status == HOP_OK; a++) {
        if (w->used[a])
            continue;
        hop_diag_place(&w->why[a], "--algorithms %.60s", r->algorithms.at[a]);
        tool_fail(&w->why[a]);
    }
    for (uint32_t k = 0; k < r->kinds.count && status == HOP_OK; k++) {
        progress.what = hop_collective_name(r->kinds.at[k]);
        status = compare(w, r->kinds.at[k], &options, false, &tool_diag);
    }
    tool_progress_end(&progress);
    if (status != HOP_ERR_INVALID && r->topology)
        tool_try_at(status, "--on %.180s", r->topology);
    tool_try(status);
}

/* ---- the answer ---- */

/* Rounds, which tell most algorithms apart at small sizes, then cost nothing. */
static bool is_without_latency(const struct hop_topology *topology)
{
    for (uint32_t l = 0; l < hop_topology_link_count(topology); l++) {
        if (hop_topology_link(topology, l)->latency_s > 0)
            return false;
    }
    return true;
}

static void describe(struct work *w)
{
    const struct request *r = w->request;
    struct tune_collective_head *head = &w->head;
    char *models = NULL;
    size_t size = 0;
    FILE *out = tool_have(open_memstream(&models, &size));
    if (w->network)
        tool_print_models(out, w->topology, w->network, NULL);
    (void)fclose(out);
    const char *how = r->measured ? tool_text(", device %.20s; measured, medians of %llu rounds, %ld processors",
                                              r->program.device ? r->program.device : hop_device_at(0)->name,
                                              (unsigned long long)r->rounds, sysconf(_SC_NPROCESSORS_ONLN))
                                  : "; predicted";
    head->machine = tool_text("%s%s%s", w->topology ? hop_topology_name(w->topology) : "this machine",
                              (char *)tool_have(models), how);
    free(models);
    head->data = tool_text("%s of %s%s%s", hop_reduce_name(r->collective.reduce), hop_type_name(r->collective.type),
                           r->collective.root ? tool_text(", root %u", r->collective.root) : "",
                           r->collective.in_place ? ", in place" : "");
    if (w->network && is_without_latency(w->topology))
        head->rounds_are_free = "no link has a latency, so a round costs nothing, and what wins at small sizes says "
                                "little; --set link_latency= says what a round costs";
    if (w->network)
        head->lacks = hop_topology_lacks(w->topology);
}

static void write_table(const struct work *w)
{
    struct hop_algorithm_table *rows = tool_have(hop_algorithm_table_create());
    tool_try(hop_algorithm_table_note(rows, w->head.machine, &tool_diag));
    tool_try(hop_algorithm_table_note(rows, w->head.data, &tool_diag));
    if (w->head.rounds_are_free)
        tool_try(hop_algorithm_table_note(rows, w->head.rounds_are_free, &tool_diag));
    if (w->head.lacks)
        tool_try(hop_algorithm_table_note(rows, w->head.lacks, &tool_diag));
    for (uint32_t i = 0; i < w->request->sets.count; i++)
        tool_try(hop_algorithm_table_note(rows, tool_text("--set %s", w->request->sets.at[i]), &tool_diag));
    for (uint32_t i = 0; i < w->count; i++)
        tool_try(hop_algorithm_table_add_tuned(rows, w->tuned[i], &tool_diag));
    tool_write_text(w->request->output, hop_algorithm_table_to_text(rows));
    hop_algorithm_table_destroy(rows);
}

/* ---- the command ---- */

static void check(const struct request *r)
{
    const struct tool_command *me = &tool_tune_collective;
    if (!r->topology && !r->measured)
        tool_bad_usage(me, "--on TOPOLOGY is missing (`hopcast topology --list` shows built-in ones); without it "
                           "only --measured");
    if (r->measured && !r->topology && !r->devices && r->ranks == 0)
        tool_bad_usage(me, "-n RANKS is missing: how many to measure with");
    if (r->algorithms.count > ALGORITHM_LIMIT)
        tool_bad_usage(me, "--algorithms: more than %d names", ALGORITHM_LIMIT);
    tool_check_program(me, &r->program, r->launch.threads, false);
}

static int run(int argc, char **argv)
{
    static struct request r = {
        .rounds = 7, .collective = {.reduce = HOP_REDUCE_SUM, .type = HOP_TYPE_F32}, .program = {.pipelined = true}};
    static struct work w = {.request = &r};
    struct device_list devices = {0};
    tool_read(&tool_tune_collective, argc, argv, &r);
    check(&r);
    if (r.measured)
        ranks_alone(&tool_tune_collective);
    tool_check_outputs(&r.given);
    w.topology = r.topology ? tool_load_topology(r.topology, &r.sets) : NULL;
    w.network = r.measured ? NULL : tool_network(w.topology, r.model);
    devices_find(&tool_tune_collective, w.topology, r.devices, &devices);
    w.ranks.count = r.ranks ? r.ranks : devices.count;
    w.ranks.devices = devices_spread(&devices, w.ranks.count, 0);
    describe(&w);
    compare_all(&w);
    const struct hop_tuned_collective *const *tuned = (const struct hop_tuned_collective *const *)w.tuned;
    if (r.json)
        tool_write_text(NULL, hop_tuned_collectives_to_json(w.network, tuned, w.count));
    else
        tune_collective_print(w.network, &w.head, tuned, w.count);
    if (r.output)
        write_table(&w);
    return TOOL_OK;
}

const struct tool_command tool_tune_collective = {
    .name = "tune collective",
    .summary = "which algorithm, at which size",
    .usage = "COLLECTIVE[,...]|all --on TOPOLOGY [-n RANKS] [OPTION ...]",
    .about =
        "Every algorithm that a collective can be made by, over sizes: what each takes, who wins from which size on,\n"
        "and what holds the winner up. Predicted on a topology, or, with --measured, run on this machine.\n"
        "\n",
    .options = table,
    .notes = "example: hopcast tune collective allreduce,broadcast --on dgx-1 -o dgx-1.algorithms\n",
    .run = run,
};
