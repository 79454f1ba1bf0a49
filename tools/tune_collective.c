/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast tune collective: every algorithm over sizes, predicted or measured; who wins where, as a table for
 * `--algorithm auto`.
 */
#include "tune.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alone.h"

enum { SET_LIMIT = 64, ALGORITHM_LIMIT = 64, ROUNDS_MAX = 1000 };

/* To measure by default: a rank's vectors and scratch of larger ones may not fit. */
static const uint64_t measured_sizes[] = {4,        16,       64,        256,     1 << 10, 4 << 10,
                                          16 << 10, 64 << 10, 256 << 10, 1 << 20, 4 << 20, 16 << 20};

struct request {
    enum hop_collective_kind kinds[HOP_COLLECTIVE_COUNT];
    uint32_t kind_count;
    const char *topology, *model, *devices, *output;
    char *sets[SET_LIMIT];
    int set_count;
    uint64_t ranks, root, rounds;
    uint64_t sizes[HOP_TUNE_SIZES], segments[HOP_TUNE_SIZES];
    uint32_t size_count, segment_count;
    char *algorithms[ALGORITHM_LIMIT];
    uint32_t algorithm_count;
    struct hop_collective_options collective;
    struct hop_program_options program;
    struct hop_launch_options launch;
    bool measured, json;
    const char *only_measured; /* an option that needs --measured, NULL: none was given */
};

struct work {
    const struct request *request;
    struct hop_topology *topology;
    struct hop_network *network;
    struct tune_ranks ranks;
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
    options.launch.ranks = w->ranks.ranks.count;
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
    for (uint32_t a = 0; a < w->request->algorithm_count; a++) {
        struct hop_collective_options options = *collective;
        struct hop_schedule *schedule;
        options.algorithm = w->request->algorithms[a];
        options.bytes = options.segment_bytes = 0;
        if (hop_make_collective(&w->ranks.ranks, &options, &schedule, &w->why[a]) != HOP_OK)
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
    if (w->request->algorithm_count > 0) {
        options->algorithms = names;
        options->algorithm_count = find_listed(w, &collective, names);
        if (options->algorithm_count == 0)
            return HOP_OK;
    }
    enum hop_status status =
        hop_tune_collective(w->network, &w->ranks.ranks, &collective, options, &w->tuned[w->count], diag);
    w->count += status == HOP_OK;
    return status;
}

static int compare_all(struct work *w)
{
    const struct request *r = w->request;
    struct tool_progress progress;
    struct hop_tune_collective_options options = {.sizes = r->size_count ? r->sizes : NULL,
                                                  .size_count = r->size_count,
                                                  .segments = r->segment_count ? r->segments : NULL,
                                                  .segment_count = r->segment_count,
                                                  .progress = tool_progress_begin(&progress, "algorithms"),
                                                  .context = &progress};
    struct hop_diag diag = {0};
    enum hop_status status = HOP_OK;
    if (r->measured) {
        options.measure = measure;
        options.measure_context = w;
    }
    if (r->measured && !r->size_count) {
        options.sizes = measured_sizes;
        options.size_count = sizeof measured_sizes / sizeof *measured_sizes;
    }
    for (uint32_t k = 0; k < r->kind_count && status == HOP_OK; k++) {
        progress.what = hop_collective_name(r->kinds[k]);
        status = compare(w, r->kinds[k], &options, &diag);
    }
    tool_progress_end(&progress);
    if (status != HOP_OK && status != HOP_ERR_INVALID && !diag.place[0] && r->topology)
        (void)snprintf(diag.place, sizeof diag.place, "--on %.180s", r->topology);
    for (uint32_t a = 0; a < r->algorithm_count && status == HOP_OK; a++) {
        if (w->used[a])
            continue;
        (void)snprintf(w->why[a].place, sizeof w->why[a].place, "--algorithms %.60s", r->algorithms[a]);
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
    bool used[64];
    FILE *out = open_memstream(&models, &size);
    if (!out)
        return tool_out_of_memory();
    memset(used, true, sizeof used);
    if (w->network && hop_topology_domain_count(w->topology) <= sizeof used / sizeof used[0])
        tool_print_models(out, w->topology, w->network, used);
    if (fclose(out) != 0)
        return tool_out_of_memory();
    int length = snprintf(head->machine, sizeof head->machine, "%.60s%.120s",
                          w->topology ? hop_topology_name(w->topology) : "this machine", models);
    free(models);
    if (r->measured)
        (void)snprintf(head->machine + length, sizeof head->machine - (size_t)length,
                       ", device %.20s; measured, medians of %llu rounds, %ld processors",
                       r->program.device ? r->program.device : "host", (unsigned long long)r->rounds,
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

static int note_sets(const struct request *r, struct hop_algorithm_table *table, struct hop_diag *diag)
{
    for (int i = 0; i < r->set_count; i++) {
        char note[300];
        (void)snprintf(note, sizeof note, "--set %.280s", r->sets[i]);
        if (hop_algorithm_table_note(table, note, diag) != HOP_OK)
            return tool_fail(diag);
    }
    return TOOL_OK;
}

static int write_table(const struct work *w)
{
    struct hop_algorithm_table *table = hop_algorithm_table_create();
    struct hop_diag diag;
    char *text = NULL;
    if (!table)
        return tool_out_of_memory();
    enum hop_status status = hop_algorithm_table_note(table, w->head.machine, &diag);
    if (status == HOP_OK)
        status = hop_algorithm_table_note(table, w->head.data, &diag);
    int answer = status == HOP_OK ? note_sets(w->request, table, &diag) : TOOL_OK;
    for (uint32_t i = 0; i < w->count && status == HOP_OK; i++)
        status = hop_algorithm_table_add_tuned(table, w->tuned[i], &diag);
    if (status != HOP_OK)
        answer = tool_fail(&diag);
    else if (answer == TOOL_OK && !(text = hop_algorithm_table_to_text(table)))
        answer = tool_out_of_memory();
    if (text)
        answer = tool_write(w->request->output, text);
    free(text);
    hop_algorithm_table_destroy(table);
    return answer;
}

static int show(const struct work *w)
{
    const struct hop_tuned_collective *const *tuned = (const struct hop_tuned_collective *const *)w->tuned;
    if (!w->request->json) {
        tune_collective_print(w->network, &w->head, tuned, w->count);
        return TOOL_OK;
    }
    char *text = hop_tuned_collectives_to_json(w->network, tuned, w->count);
    int status = text ? tool_write(NULL, text) : tool_out_of_memory();
    free(text);
    return status;
}

/* ---- command line ---- */

/* Cuts text at its commas. */
static bool read_algorithms(struct request *r, char *text)
{
    r->algorithm_count = 0;
    for (char *at = text; at;) {
        char *comma = strchr(at, ',');
        if (comma)
            *comma = '\0';
        if (!*at || r->algorithm_count == ALGORITHM_LIMIT) {
            tool_bad_usage(&tool_tune_collective, "--algorithms: expected 1 to %d names with commas between",
                           ALGORITHM_LIMIT);
            return false;
        }
        r->algorithms[r->algorithm_count++] = at;
        at = comma ? comma + 1 : NULL;
    }
    return true;
}

static const struct option long_options[] = {{"on", required_argument, NULL, 't'},
                                             {"model", required_argument, NULL, 'm'},
                                             {"set", required_argument, NULL, 's'},
                                             {"ranks", required_argument, NULL, 'n'},
                                             {"devices", required_argument, NULL, 'd'},
                                             {"sizes", required_argument, NULL, 'z'},
                                             {"segments", required_argument, NULL, 'S'},
                                             {"algorithms", required_argument, NULL, 'a'},
                                             {"operator", required_argument, NULL, 'O'},
                                             {"type", required_argument, NULL, 'T'},
                                             {"root", required_argument, NULL, 'R'},
                                             {"in-place", no_argument, NULL, 'i'},
                                             {"measured", no_argument, NULL, 'M'},
                                             {"device", required_argument, NULL, 'D'},
                                             {"engines", required_argument, NULL, 'E'},
                                             {"rounds", required_argument, NULL, 'r'},
                                             {"threads", no_argument, NULL, 'H'},
                                             {"pin", no_argument, NULL, 'P'},
                                             {"timeout", required_argument, NULL, 'w'},
                                             {"json", no_argument, NULL, 'j'},
                                             {"output", required_argument, NULL, 'o'},
                                             {"help", no_argument, NULL, 'h'},
                                             {NULL, 0, NULL, 0}};

/* Those that are for --measured alone. */
static bool take_measured(struct request *r, int code)
{
    uint64_t whole;
    switch (code) {
    case 'D':
        r->only_measured = "--device";
        r->program.device = optarg;
        return true;
    case 'E':
        r->only_measured = "--engines";
        if (!tool_whole(&tool_tune_collective, "--engines", optarg, 0, 6, &whole))
            return false;
        r->program.engines = (unsigned)whole;
        return true;
    case 'r':
        r->only_measured = "--rounds";
        return tool_whole(&tool_tune_collective, "--rounds", optarg, 1, ROUNDS_MAX, &r->rounds);
    case 'H':
        r->only_measured = "--threads";
        return r->launch.threads = true;
    case 'P':
        r->only_measured = "--pin";
        return r->launch.pin = true;
    case 'w':
        r->only_measured = "--timeout";
        return tool_number(&tool_tune_collective, "--timeout", optarg, 0.1, 1e6, &r->launch.timeout_s);
    default:
        return false;
    }
}

static bool take_option(struct request *r, int code)
{
    switch (code) {
    case 't':
        r->topology = optarg;
        return true;
    case 'm':
        r->model = optarg;
        return true;
    case 's':
        if (r->set_count == SET_LIMIT)
            return tool_bad_usage(&tool_tune_collective, "too many assignments") == TOOL_OK;
        r->sets[r->set_count++] = optarg;
        return true;
    case 'n':
        return tool_whole(&tool_tune_collective, "--ranks", optarg, 1, HOP_RANKS_MAX, &r->ranks);
    case 'd':
        r->devices = optarg;
        return true;
    case 'z':
        return tune_read_sizes(&tool_tune_collective, "--sizes", optarg, r->sizes, &r->size_count);
    case 'S':
        return tune_read_sizes(&tool_tune_collective, "--segments", optarg, r->segments, &r->segment_count);
    case 'a':
        return read_algorithms(r, optarg);
    case 'O':
        return tool_operator(&tool_tune_collective, optarg, &r->collective.reduce);
    case 'T':
        return tool_type(&tool_tune_collective, optarg, &r->collective.type);
    case 'R':
        return tool_whole(&tool_tune_collective, "--root", optarg, 0, HOP_RANKS_MAX - 1, &r->root);
    case 'i':
        return r->collective.in_place = true;
    case 'M':
        return r->measured = true;
    case 'j':
        return r->json = true;
    case 'o':
        r->output = optarg;
        return true;
    default:
        return take_measured(r, code);
    }
}

static int check(struct request *r)
{
    if (r->kind_count == 0)
        return tool_bad_usage(&tool_tune_collective, "a collective is missing: allreduce, a list with commas, or all");
    if (!r->topology && !r->measured)
        return tool_bad_usage(&tool_tune_collective,
                              "--on TOPOLOGY is missing (`hopcast topology --list` shows built-in "
                              "ones); without it only --measured");
    if (r->only_measured && !r->measured)
        return tool_bad_usage(&tool_tune_collective, "%s goes with --measured", r->only_measured);
    if (r->measured && !r->topology && !r->devices && r->ranks == 0)
        return tool_bad_usage(&tool_tune_collective, "-n RANKS is missing: how many to measure with");
    if (r->program.engines && r->program.device && strcmp(r->program.device, "host") != 0)
        return tool_bad_usage(&tool_tune_collective, "--engines goes with the device host");
    if (r->launch.threads && r->program.device && strcmp(r->program.device, "host") != 0)
        return tool_bad_usage(&tool_tune_collective, "--threads goes with the device host");
    if (r->output && strcmp(r->output, "-") == 0)
        return tool_bad_usage(&tool_tune_collective, "--output needs a file: standard output shows the times");
    return TOOL_OK;
}

/* -1: help was asked for. */
static int read_options(struct request *r, int argc, char **argv)
{
    *r = (struct request){.rounds = 7};
    r->collective = (struct hop_collective_options){.reduce = HOP_REDUCE_SUM, .type = HOP_TYPE_F32};
    r->program.pipelined = true;
    tool_options_begin();
    for (int option; (option = tool_option(&tool_tune_collective, argc, argv, ":n:m:s:a:jo:h", long_options)) != -1;) {
        if (option == 'h')
            return -1;
        if (option == '?' || !take_option(r, option))
            return TOOL_BAD;
    }
    r->collective.root = (uint32_t)r->root;
    if (optind < argc && !tune_read_collectives(&tool_tune_collective, argv[optind++], r->kinds, &r->kind_count))
        return TOOL_BAD;
    if (optind < argc)
        return tool_bad_usage(&tool_tune_collective, "'%s' is too much: several collectives have commas between",
                              argv[optind]);
    return check(r);
}

static int load(const struct request *r, struct work *w)
{
    struct hop_diag diag;
    int status =
        r->topology ? tool_load_topology(r->topology, &(struct tool_words){(char **)r->sets, (uint32_t)r->set_count, 0},
                                         &w->topology)
                    : TOOL_OK;
    if (status == TOOL_OK && !r->measured && hop_network_create(w->topology, r->model, &w->network, &diag) != HOP_OK)
        status = tool_fail(&diag);
    if (status == TOOL_OK)
        status = tune_find_ranks(&tool_tune_collective, w->topology, r->devices, (uint32_t)r->ranks, &w->ranks);
    if (status == TOOL_OK)
        status = describe(w);
    return status;
}

static int run(int argc, char **argv)
{
    static struct request r;
    struct work w = {.request = &r};
    int status = read_options(&r, argc, argv);
    if (status == -1)
        return tool_help(&tool_tune_collective);
    if (status == TOOL_OK && r.measured)
        status = alone_check(&tool_tune_collective);
    if (status == TOOL_OK)
        status = tool_check_output(r.output);
    if (status == TOOL_OK)
        status = load(&r, &w);
    if (status == TOOL_OK)
        status = compare_all(&w);
    if (status == TOOL_OK)
        status = show(&w);
    if (status == TOOL_OK && r.output)
        status = write_table(&w);
    for (uint32_t i = 0; i < w.count; i++)
        hop_tuned_collective_destroy(w.tuned[i]);
    tune_ranks_finish(&w.ranks);
    hop_network_destroy(w.network);
    hop_topology_destroy(w.topology);
    return status;
}

const struct tool_command tool_tune_collective = {
    .name = "tune collective",
    .summary = "which algorithm, at which size",
    .usage = "COLLECTIVE[,...]|all --on TOPOLOGY [-n RANKS] [OPTION ...]",
    .help =
        "Every algorithm that a collective can be made by, over sizes: what each takes, who wins from which size on, "
        "and\n"
        "what holds the winner up. Predicted on a topology, or, with --measured, run on this machine.\n"
        "\n"
        "      --on TOPOLOGY       a built-in machine, a file of any dialect, or live; ranks are on its GPUs\n"
        "  -m, --model NAME        see hopcast predict --help\n"
        "  -s, --set NAME=VALUE    change the topology (see hopcast topology --help); may be repeated\n"
        "  -n, --ranks N           that fill the devices in order (one a device)\n"
        "      --devices LIST      these devices instead, such as gpu0,gpu4 or gpu0-7\n"
        "      --sizes LIST        of what a rank puts in: SIZE,... or LOW:HIGH*FACTOR (4:256MiB*4; measured: to "
        "16MiB)\n"
        "  -a, --algorithms LIST   these alone, such as ring,gsb-btb (`hopcast make allreduce --list`); by default "
        "all, and\n"
        "                          hierarchies of gsb and btb where ranks share devices or there are several nodes\n"
        "      --segments LIST     of pipelines, beside not cutting (64KiB:4MiB*4)\n"
        "      --operator OP       sum, prod, min or max; --type f64, f32, f16, bf16, i32 or i64; --root R; "
        "--in-place\n"
        "      --measured          run them, in turns, and take the medians; without --on all ranks share one device, "
        "and\n"
        "                          --device, --engines, --threads, --pin, --timeout are as for hopcast run\n"
        "      --rounds N          of turns (7)\n"
        "  -j, --json              everything, for machines (docs/tune_collective.schema.json)\n"
        "  -o, --output FILE       the table, to be edited and used: hopcast run allreduce --algorithm auto=FILE\n"
        "\n"
        "example: hopcast tune collective allreduce,broadcast --on dgx-1 -o dgx-1.algorithms\n",
    .run = run,
};
