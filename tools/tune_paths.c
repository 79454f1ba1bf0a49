/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast tune paths: direct, staged through host memory, or a mix; for every pair of GPUs and for whole patterns.
 */
#include "tune.h"

#include <stdlib.h>
#include <string.h>

enum { SET_LIMIT = 256, CASE_LIMIT = 64, EVALUATIONS_MAX = 1000000 };

struct request {
    const char *topology, *model, *map, *output;
    char *sets[SET_LIMIT];
    int set_count;
    struct {
        const char *text;
        bool is_file;
    } cases[CASE_LIMIT];
    int case_count;
    uint64_t sizes[HOP_TUNE_SIZES], packets[HOP_TUNE_SIZES], bytes, evaluations;
    uint32_t size_count, packet_count;
    double copy_latency_s; /* below 0: as the topology says */
    bool json;
};

/* What the request names. */
struct work {
    struct hop_topology *topology;
    struct hop_network *network;
    struct hop_tuned_paths *paths;
    struct tune_case cases[CASE_LIMIT];
    int case_count;
    char settings[1024]; /* as options of predict */
};

/* ---- the machine ---- */

/* Notes an option, to be repeated where the result is used; "..." stands for those without room. */
static void note_setting(struct work *w, const char *option, const char *value)
{
    size_t used = strlen(w->settings), room = sizeof w->settings - used - sizeof " ...";
    int more = snprintf(NULL, 0, " %s %s", option, value);
    if (used > 3 && strcmp(w->settings + used - 3, "...") == 0)
        return;
    if ((size_t)more < room)
        (void)snprintf(w->settings + used, room, "%s%s %s", used ? " " : "", option, value);
    else
        (void)snprintf(w->settings + used, sizeof " ...", " ...");
}

/* Every copy into or out of host memory passes one memory link once: its latency is what such a copy costs before its
 * first byte. */
static int set_copy_latency(const struct request *r, struct work *w)
{
    for (uint32_t l = 0; l < hop_topology_link_count(w->topology); l++) {
        const struct hop_link *link = hop_topology_link(w->topology, l);
        char assignment[512], time[32];
        struct hop_diag diag;
        if (link->kind != HOP_LINK_MEMORY)
            continue;
        (void)snprintf(assignment, sizeof assignment, "%.180s--%.180s.latency=%s",
                       hop_topology_node(w->topology, link->ends[0])->name,
                       hop_topology_node(w->topology, link->ends[1])->name,
                       hop_format_seconds(r->copy_latency_s, time, sizeof time));
        if (hop_topology_set(w->topology, assignment, &diag) != HOP_OK)
            return tool_fail(&diag);
        note_setting(w, "--set", assignment);
    }
    return TOOL_OK;
}

static int load_machine(const struct request *r, struct work *w)
{
    struct hop_diag diag;
    int status = tool_load_topology(r->topology, &(struct tool_words){(char **)r->sets, (uint32_t)r->set_count, 0},
                                    &w->topology);
    if (r->model)
        note_setting(w, "--model", r->model);
    for (int i = 0; i < r->set_count; i++)
        note_setting(w, "--set", r->sets[i]);
    if (status == TOOL_OK && r->copy_latency_s >= 0)
        status = set_copy_latency(r, w);
    if (status == TOOL_OK && hop_network_create(w->topology, r->model, &w->network, &diag) != HOP_OK)
        status = tool_fail(&diag);
    return status;
}

/* ---- the cases ---- */

static int place(const struct request *r, const struct work *w, struct tune_case *c)
{
    struct tool_map map;
    struct hop_schedule *placed = NULL;
    int status = tool_map_load(r->map, &map);
    if (status == TOOL_OK)
        status = tool_map_apply(&map, w->topology, c->schedule, &placed);
    tool_map_finish(&map);
    if (placed) {
        hop_schedule_destroy(c->schedule);
        c->schedule = placed;
    }
    return status;
}

static int add_case(const struct request *r, struct work *w, const char *text, bool is_file)
{
    struct tune_case *c = &w->cases[w->case_count++];
    struct hop_diag diag;
    c->name = text;
    if (is_file) {
        int status = tool_load_schedule(text, false, NULL, &c->schedule);
        return status == TOOL_OK ? place(r, w, c) : status;
    }
    if (hop_tune_make(text, w->topology, r->bytes, &c->schedule, &diag) == HOP_OK)
        return TOOL_OK;
    if (!diag.place[0])
        (void)snprintf(diag.place, sizeof diag.place, "--pattern");
    return tool_fail(&diag);
}

/* Those asked for, or every pattern that the machine has GPUs for. */
static int add_cases(const struct request *r, struct work *w)
{
    const char *name, *summary;
    int status = TOOL_OK;
    for (int i = 0; i < r->case_count && status == TOOL_OK; i++)
        status = add_case(r, w, r->cases[i].text, r->cases[i].is_file);
    for (size_t i = 0; r->case_count == 0 && status == TOOL_OK && hop_tune_pattern(i, &name, &summary); i++) {
        struct tune_case *c = &w->cases[w->case_count];
        if (hop_tune_make(name, w->topology, r->bytes, &c->schedule, NULL) != HOP_OK)
            continue;
        c->name = name;
        w->case_count++;
    }
    return status;
}

static int tune(const struct request *r, struct work *w)
{
    struct tool_progress progress;
    const struct hop_tune_options options = {.sizes = r->size_count ? r->sizes : NULL,
                                             .size_count = r->size_count,
                                             .packets = r->packet_count ? r->packets : NULL,
                                             .packet_count = r->packet_count,
                                             .max_evaluations = (uint32_t)r->evaluations,
                                             .progress = tool_progress_begin(&progress, "pairs"),
                                             .context = &progress};
    struct hop_diag diag;
    enum hop_status status = hop_tune_paths(w->network, &options, &w->paths, &diag);
    for (int i = 0; i < w->case_count && status == HOP_OK; i++) {
        progress.what = w->cases[i].name;
        status = hop_tune_mix(w->network, w->cases[i].schedule, &options, &w->cases[i].mix, &diag);
    }
    tool_progress_end(&progress);
    if (status != HOP_OK && !diag.place[0])
        (void)snprintf(diag.place, sizeof diag.place, "--on %.180s", r->topology);
    return status == HOP_OK ? TOOL_OK : tool_fail(&diag);
}

/* ---- the answer ---- */

static int print_json(const struct work *w)
{
    struct hop_tune_named_mix mixes[CASE_LIMIT];
    for (int i = 0; i < w->case_count; i++)
        mixes[i] = (struct hop_tune_named_mix){w->cases[i].name, w->cases[i].schedule, w->cases[i].mix};
    char *text = hop_tune_to_json(w->network, w->paths, mixes, (uint32_t)w->case_count);
    int status = text ? tool_write(NULL, text) : tool_out_of_memory();
    free(text);
    return status;
}

/* Whether anything can be staged at all. */
static bool is_stageable(const struct work *w)
{
    for (uint32_t c = 0; c < w->paths->class_count; c++) {
        if (w->paths->classes[c].host)
            return true;
    }
    return false;
}

static int answer(const struct request *r, struct work *w)
{
    int status = TOOL_OK;
    if (r->json)
        status = print_json(w);
    else
        tune_paths_print(w->network, w->paths, w->cases, w->case_count);
    if (status == TOOL_OK && r->output)
        status = tune_paths_write(r->output, w->network, &w->cases[0], w->settings);
    return status == TOOL_OK && !is_stageable(w) ? TOOL_NEGATIVE : status;
}

/* ---- command line ---- */

static bool read_latency(const char *text, double *latency_s)
{
    struct hop_diag diag;
    if (hop_parse_seconds(text, strlen(text), latency_s, &diag) == HOP_OK)
        return true;
    tool_bad_usage(&tool_tune_paths, "--copy-latency: '%s' is no time, such as 10us", text);
    return false;
}

static bool add_request(struct request *r, const char *text, bool is_file)
{
    if (r->case_count == CASE_LIMIT) {
        tool_bad_usage(&tool_tune_paths, "more than %d patterns and schedules", CASE_LIMIT);
        return false;
    }
    r->cases[r->case_count].text = text;
    r->cases[r->case_count++].is_file = is_file;
    return true;
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
        if (r->set_count == SET_LIMIT) {
            tool_bad_usage(&tool_tune_paths, "too many assignments");
            return false;
        }
        r->sets[r->set_count++] = optarg;
        return true;
    case 'z':
        return tune_read_sizes(&tool_tune_paths, "--sizes", optarg, r->sizes, &r->size_count);
    case 'k':
        return tune_read_sizes(&tool_tune_paths, "--packets", optarg, r->packets, &r->packet_count);
    case 'p':
        return add_request(r, optarg, false);
    case 'f':
        return add_request(r, optarg, true);
    case 'b':
        return tune_read_bytes(&tool_tune_paths, "--bytes", optarg, strlen(optarg), &r->bytes);
    case 'M':
        r->map = optarg;
        return true;
    case 'l':
        return read_latency(optarg, &r->copy_latency_s);
    case 'e':
        return tool_whole(&tool_tune_paths, "--evaluations", optarg, 1, EVALUATIONS_MAX, &r->evaluations);
    case 'j':
        return r->json = true;
    case 'o':
        r->output = optarg;
        return true;
    default:
        return false;
    }
}

static int check(const struct request *r)
{
    int dashes = r->topology && strcmp(r->topology, "-") == 0;
    for (int i = 0; i < r->case_count; i++)
        dashes += r->cases[i].is_file && strcmp(r->cases[i].text, "-") == 0;
    if (optind > 0 && !r->topology)
        return tool_bad_usage(&tool_tune_paths,
                              "--on TOPOLOGY is missing (`hopcast topology --list` shows built-in ones)");
    if (dashes > 1 || (dashes && r->map && strcmp(r->map, "-") == 0))
        return tool_bad_usage(&tool_tune_paths, "standard input (-) is read once");
    if (r->output && r->case_count != 1)
        return tool_bad_usage(&tool_tune_paths, "--output takes one --pattern or one --schedule");
    if (r->output && strcmp(r->output, "-") == 0)
        return tool_bad_usage(&tool_tune_paths, "--output needs a file: standard output shows the times");
    return TOOL_OK;
}

static int read_options(struct request *r, int argc, char **argv)
{
    static const struct option options[] = {
        {"on", required_argument, NULL, 't'},
        {"model", required_argument, NULL, 'm'},
        {"set", required_argument, NULL, 's'},
        {"sizes", required_argument, NULL, 'z'},
        {"packets", required_argument, NULL, 'k'},
        {"pattern", required_argument, NULL, 'p'},
        {"schedule", required_argument, NULL, 'f'},
        {"bytes", required_argument, NULL, 'b'},
        {"map", required_argument, NULL, 'M'},
        {"copy-latency", required_argument, NULL, 'l'},
        {"evaluations", required_argument, NULL, 'e'},
        {"json", no_argument, NULL, 'j'},
        {"output", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    tool_options_begin();
    for (int code; (code = tool_option(&tool_tune_paths, argc, argv, ":m:s:p:jo:h", options)) != -1;) {
        if (code == 'h')
            return -1;
        if (code == '?' || !take_option(r, code))
            return TOOL_BAD;
    }
    if (optind < argc)
        return tool_bad_usage(&tool_tune_paths, "'%s' is too much: schedules follow --schedule", argv[optind]);
    return check(r);
}

static int run(int argc, char **argv)
{
    static struct request r;
    static struct work w;
    r = (struct request){.bytes = 64u << 20, .copy_latency_s = -1};
    w = (struct work){0};
    int status = read_options(&r, argc, argv);
    if (status == -1)
        return tool_help(&tool_tune_paths);
    if (status == TOOL_OK)
        status = load_machine(&r, &w);
    if (status == TOOL_OK)
        status = add_cases(&r, &w);
    if (status == TOOL_OK)
        status = tune(&r, &w);
    if (status == TOOL_OK)
        status = answer(&r, &w);
    for (int i = 0; i < w.case_count; i++) {
        hop_tune_mix_destroy(w.cases[i].mix);
        hop_schedule_destroy(w.cases[i].schedule);
    }
    hop_tune_paths_destroy(w.paths);
    hop_network_destroy(w.network);
    hop_topology_destroy(w.topology);
    return status;
}

const struct tool_command tool_tune_paths = {
    .name = "tune paths",
    .summary = "direct, staged through host memory, or a mix",
    .usage = "--on TOPOLOGY [OPTION ...]",
    .help =
        "Which is faster, a direct copy between two GPUs or one staged through the host memory nearest to the source?\n"
        "For every pair of GPUs alone, pairs that are alike shown once, by size; then for patterns in which many copy "
        "at\n"
        "once: all direct, all staged, and the best mix found.\n"
        "\n"
        "      --on TOPOLOGY       a built-in machine, a file of any dialect, or live\n"
        "  -m, --model NAME        see hopcast predict --help\n"
        "  -s, --set NAME=VALUE    change the topology (see hopcast topology --help); may be repeated\n"
        "      --copy-latency TIME what a copy into or out of host memory costs before its first byte (the latency of "
        "the\n"
        "                          memory links; without any, packets cost nothing and the smallest one wins)\n"
        "      --sizes LIST        of a lone copy: SIZE,... or LOW:HIGH*FACTOR (64KiB:256MiB*4)\n"
        "      --packets LIST      of a staged copy, beside unpacketised (128KiB:8MiB*2)\n"
        "  -p, --pattern NAME      neighbours, pairs, ring, halo or alltoall; may be repeated (default: all)\n"
        "      --bytes SIZE        of each copy of a pattern (64MiB)\n"
        "      --schedule FILE     the copies of a schedule instead; may be repeated\n"
        "      --map MAP           where the ranks of a schedule go (see hopcast predict --help)\n"
        "      --evaluations N     simulations that the search for a mix may take (5000)\n"
        "  -j, --json              everything, for machines (docs/tune_paths.schema.json)\n"
        "  -o, --output FILE       write the best schedule of the one pattern or schedule\n"
        "\n"
        "Exit status 1: there is no host memory to stage through.\n"
        "\n"
        "example: hopcast tune paths --on helios --copy-latency 10us\n",
    .run = run,
};
