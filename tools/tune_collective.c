/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast tune collective: every algorithm over sizes, predicted or measured; who wins where, as a table for
 * `--algorithm auto`.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>
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
    SHARED(on, AT(request, topology),
           .help = "a built-in machine, a file of any dialect, or live; ranks are on its GPUs"),
    SHARED(model, AT(request, model)),
    SHARED(set, AT(request, sets)),
    SHARED(ranks, AT(request, ranks)),
    SHARED(devices, AT(request, devices), .help = "these devices instead, such as gpu0,gpu4 or gpu0-7"),
    OPTION("sizes", 0, SIZES, AT(request, sizes), "LIST",
           "of what a rank puts in: SIZE,... or LOW:HIGH*FACTOR (4:256MiB*4; measured: to 16MiB)"),
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
    struct device_list devices;
    const char **device_of;
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
    struct hop_run_way *ways = calloc(count, sizeof *ways);
    if (!ways) {
        (void)snprintf(diag->what, sizeof diag->what, "out of memory");
        return HOP_ERR_MEMORY;
    }
    options.launch.ranks = w->ranks.count;
    for (uint32_t i = 0; i < count; i++) {
        ways[i].schedule = schedules[i];
        ways[i].program = r->program;
    }
    enum hop_status status = hop_measure_ways(ways, count, &options, diag);
    for (uint32_t i = 0; i < count && status == HOP_OK; i++)
        times[i] = (struct hop_tune_time){ways[i].median_s, ways[i].low_s, ways[i].high_s};
    free(ways);
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
        options.bytes = options.segment_bytes = 0;
        if (hop_make_collective(&w->ranks, &options, &schedule, &w->why[a]) != HOP_OK)
            continue;
        hop_schedule_destroy(schedule);
        w->used[a] = true;
        names[count++] = options.algorithm;
    }
    return count;
}

static enum hop_status compare(struct work *w, enum hop_collective_kind kind,
                               struct hop_tune_collective_options *options, struct hop_diag *diag)
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
    enum hop_status status =
        hop_tune_collective(w->network, &w->ranks, &collective, options, &w->tuned[w->count], diag);
    w->count += status == HOP_OK;
    return status;
}

static int compare_all(struct work *w)
{
    const struct request *r = w->request;
    struct tool_progress progress;
    struct hop_tune_collective_options options = {.sizes = r->sizes.count ? r->sizes.at : NULL,
                                                  .size_count = r->sizes.count,
                                                  .segments = r->segments.count ? r->segments.at : NULL,
                                                  .segment_count = r->segments.count,
                                                  .progress = tool_progress_begin(&progress, "algorithms"),
                                                  .context = &progress};
    struct hop_diag diag = {0};
    enum hop_status status = HOP_OK;
    if (r->measured) {
        options.measure = measure;
        options.measure_context = w;
    }
    if (r->measured && !r->sizes.count) {
        options.sizes = measured_sizes;
        options.size_count = sizeof measured_sizes / sizeof *measured_sizes;
    }
    for (uint32_t k = 0; k < r->kinds.count && status == HOP_OK; k++) {
        progress.what = hop_collective_name(r->kinds.at[k]);
        status = compare(w, r->kinds.at[k], &options, &diag);
    }
    tool_progress_end(&progress);
    if (status != HOP_OK && status != HOP_ERR_INVALID && !diag.place[0] && r->topology)
        (void)snprintf(diag.place, sizeof diag.place, "--on %.180s", r->topology);
    for (uint32_t a = 0; a < r->algorithms.count && status == HOP_OK; a++) {
        if (w->used[a])
            continue;
        (void)snprintf(w->why[a].place, sizeof w->why[a].place, "--algorithms %.60s", r->algorithms.at[a]);
        return tool_fail(&w->why[a]);
    }
    return status == HOP_OK ? TOOL_OK : tool_fail(&diag);
}

/* ---- the answer ---- */

static int describe(struct work *w)
{
    const struct request *r = w->request;
    struct tune_collective_head *head = &w->head;
    char *models = NULL;
    size_t size = 0;
    FILE *out = open_memstream(&models, &size);
    if (!out)
        return tool_out_of_memory();
    if (w->network)
        tool_print_models(out, w->topology, w->network, NULL);
    if (fclose(out) != 0 || !models)
        return tool_out_of_memory();
    int length = snprintf(head->machine, sizeof head->machine, "%.60s%.120s",
                          w->topology ? hop_topology_name(w->topology) : "this machine", models);
    free(models);
    if (r->measured)
        (void)snprintf(head->machine + length, sizeof head->machine - (size_t)length,
                       ", device %.20s; measured, medians of %llu rounds, %ld processors",
                       r->program.device ? r->program.device : hop_device_at(0)->name, (unsigned long long)r->rounds,
                       sysconf(_SC_NPROCESSORS_ONLN));
    else
        (void)snprintf(head->machine + length, sizeof head->machine - (size_t)length, "; predicted");
    length = snprintf(head->data, sizeof head->data, "%s of %s", hop_reduce_name(r->collective.reduce),
                      hop_type_name(r->collective.type));
    if (r->collective.root)
        length += snprintf(head->data + length, sizeof head->data - (size_t)length, ", root %u", r->collective.root);
    if (r->collective.in_place)
        (void)snprintf(head->data + length, sizeof head->data - (size_t)length, ", in place");
    return TOOL_OK;
}

static int note_sets(const struct request *r, struct hop_algorithm_table *rows, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < r->sets.count; i++) {
        char note[300];
        (void)snprintf(note, sizeof note, "--set %.280s", r->sets.at[i]);
        if (hop_algorithm_table_note(rows, note, diag) != HOP_OK)
            return tool_fail(diag);
    }
    return TOOL_OK;
}

static int write_table(const struct work *w)
{
    struct hop_algorithm_table *rows = hop_algorithm_table_create();
    struct hop_diag diag;
    char *text = NULL;
    if (!rows)
        return tool_out_of_memory();
    enum hop_status status = hop_algorithm_table_note(rows, w->head.machine, &diag);
    THEN(status, hop_algorithm_table_note(rows, w->head.data, &diag));
    int answer = status == HOP_OK ? note_sets(w->request, rows, &diag) : TOOL_OK;
    for (uint32_t i = 0; i < w->count && status == HOP_OK; i++)
        status = hop_algorithm_table_add_tuned(rows, w->tuned[i], &diag);
    if (status != HOP_OK)
        answer = tool_fail(&diag);
    else if (answer == TOOL_OK && !(text = hop_algorithm_table_to_text(rows)))
        answer = tool_out_of_memory();
    if (text)
        answer = tool_write(w->request->output, text);
    free(text);
    hop_algorithm_table_destroy(rows);
    return answer;
}

static int show(const struct work *w)
{
    const struct hop_tuned_collective *const *tuned = (const struct hop_tuned_collective *const *)w->tuned;
    if (!w->request->json) {
        tune_collective_print(w->network, &w->head, tuned, w->count);
        return TOOL_OK;
    }
    return tool_write_text(NULL, hop_tuned_collectives_to_json(w->network, tuned, w->count));
}

/* ---- the command ---- */

static int check(const struct request *r)
{
    const struct tool_command *me = &tool_tune_collective;
    if (!r->topology && !r->measured)
        return tool_bad_usage(me,
                              "--on TOPOLOGY is missing (`hopcast topology --list` shows built-in ones); without it "
                              "only --measured");
    if (r->measured && !r->topology && !r->devices && r->ranks == 0)
        return tool_bad_usage(me, "-n RANKS is missing: how many to measure with");
    if (r->algorithms.count > ALGORITHM_LIMIT)
        return tool_bad_usage(me, "--algorithms: more than %d names", ALGORITHM_LIMIT);
    return tool_check_program(me, &r->program, r->launch.threads, false);
}

static int load(const struct request *r, struct work *w)
{
    struct hop_diag diag;
    int status = r->topology ? tool_load_topology(r->topology, &r->sets, &w->topology) : TOOL_OK;
    if (status == TOOL_OK && !r->measured && hop_network_create(w->topology, r->model, &w->network, &diag) != HOP_OK)
        status = tool_fail(&diag);
    THEN(status, devices_find(&tool_tune_collective, w->topology, r->devices, &w->devices));
    if (status != TOOL_OK)
        return status;
    uint32_t ranks = r->ranks ? r->ranks : w->devices.count;
    w->device_of = devices_spread(&w->devices, ranks, 0);
    w->ranks = (struct hop_ranks){w->device_of, ranks};
    return w->device_of ? describe(w) : tool_out_of_memory();
}

static int run(int argc, char **argv)
{
    static struct request r = {
        .rounds = 7, .collective = {.reduce = HOP_REDUCE_SUM, .type = HOP_TYPE_F32}, .program = {.pipelined = true}};
    struct work w = {.request = &r};
    int status = tool_read(&tool_tune_collective, argc, argv, &r);
    THEN(status, check(&r));
    if (status == TOOL_OK && r.measured)
        status = ranks_alone(&tool_tune_collective);
    THEN(status, tool_check_outputs(&r.given));
    THEN(status, load(&r, &w));
    THEN(status, compare_all(&w));
    THEN(status, show(&w));
    if (status == TOOL_OK && r.output)
        status = write_table(&w);
    for (uint32_t i = 0; i < w.count; i++)
        hop_tuned_collective_destroy(w.tuned[i]);
    free(w.device_of);
    devices_finish(&w.devices);
    hop_network_destroy(w.network);
    hop_topology_destroy(w.topology);
    return status;
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
