/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast tune paths: direct, staged through host memory, or a mix; for every pair of GPUs and for whole patterns.
 */
#include "options_shared.h"
#include "tune.h"

enum { CASE_LIMIT = 64, EVALUATIONS_MAX = 1000000 };

struct request {
    struct tool_given given;
    const char *topology, *model, *map, *output;
    struct tool_words sets, cases; /* cases: 'p' and a pattern, or 'f' and a file */
    struct tool_sizes sizes, packets;
    uint64_t bytes, evaluations;
    double copy_latency_s; /* below 0: as the topology says */
    bool json;
};

static void take_case(const struct tool_taking *t, char *text)
{
    struct tool_words *cases = t->to;
    if (cases->count == CASE_LIMIT)
        tool_bad_usage(t->command, "more than %d patterns and schedules", CASE_LIMIT);
    tool_words_add(cases, tool_text("%c%s", t->option->use == USE_INPUT ? 'f' : 'p', text));
}

static const struct tool_option table[] = {
    SHARED(on, AT(request, topology), .missing = ON_IS_MISSING),
    SHARED(model, AT(request, model)),
    SHARED(set, AT(request, sets)),
    OPTION("copy-latency", 0, TIME, AT(request, copy_latency_s), "TIME",
           "what a copy into or out of host memory costs before its first byte (the latency of the memory links; "
           "without any, packets cost nothing and the smallest one wins)"),
    OPTION("sizes", 0, SIZES, AT(request, sizes), "LIST",
           "of a lone copy: SIZE,... or LOW:HIGH*FACTOR (64KiB:256MiB*4)"),
    OPTION("packets", 0, SIZES, AT(request, packets), "LIST", "of a staged copy, beside unpacketised (128KiB:8MiB*2)"),
    OPTION("pattern", 'p', CALL, AT(request, cases), "PATTERN",
           "such as pairs or halo:4x2 (docs/generators.md); may be repeated", .take = take_case),
    OPTION("bytes", 0, SIZE, AT(request, bytes), "SIZE", "of each copy of a pattern (64MiB); of alltoall, scatter, gather and coll of all that is cut into copies", .low = 1),
    OPTION("schedule", 0, CALL, AT(request, cases), "FILE", "the copies of a schedule instead; may be repeated",
           .use = USE_INPUT, .take = take_case),
    SHARED(map, AT(request, map), .needs = "schedule"),
    OPTION("evaluations", 0, WHOLE, AT(request, evaluations), "N",
           "simulations that the search for a mix may take (5000)", .low = 1, .high = EVALUATIONS_MAX),
    SHARED(json, AT(request, json), .help = "everything, for machines (docs/tune_paths.schema.json)"),
    SHARED(output, AT(request, output), .use = USE_FILE,
           .help = "write the best schedule of the one pattern or schedule"),
    END_OF_OPTIONS,
};

/* What the request names. */
struct work {
    struct hop_topology *topology;
    struct hop_network *network;
    struct hop_tuned_paths *paths;
    struct tune_case cases[CASE_LIMIT];
    int case_count;
    const char *settings; /* as options of predict */
};

/* ---- the machine ---- */

/* Notes an option, to be repeated where the result is used. */
static void note_setting(struct work *w, const char *option, const char *value)
{
    w->settings = tool_text("%s%s%s %s", w->settings, *w->settings ? " " : "", option, value);
}

/* Every copy into or out of host memory passes one memory link once: its latency is what such a copy costs before its
 * first byte. */
static void set_copy_latency(const struct request *r, struct work *w)
{
    for (uint32_t l = 0; l < hop_topology_link_count(w->topology); l++) {
        const struct hop_link *link = hop_topology_link(w->topology, l);
        char time[32];
        if (link->kind != HOP_LINK_MEMORY)
            continue;
        const char *assignment = tool_text("%s--%s.latency=%s", hop_topology_node(w->topology, link->ends[0])->name,
                                           hop_topology_node(w->topology, link->ends[1])->name,
                                           hop_format_seconds(r->copy_latency_s, time, sizeof time));
        tool_try(hop_topology_set(w->topology, assignment, &tool_diag));
        note_setting(w, "--set", assignment);
    }
}

static void load_machine(const struct request *r, struct work *w)
{
    w->topology = tool_load_topology(r->topology, &r->sets);
    w->settings = r->model ? tool_text("--model %s", r->model) : "";
    for (uint32_t i = 0; i < r->sets.count; i++)
        note_setting(w, "--set", r->sets.at[i]);
    if (r->copy_latency_s >= 0)
        set_copy_latency(r, w);
    w->network = tool_network(w->topology, r->model);
}

/* ---- the cases ---- */

/* Messages of what --bytes says, or of a part of it where the pattern is a collective; without it of 64 MiB. */
static enum hop_status make_pattern(const struct request *r, const struct work *w, const char *pattern,
                                    struct hop_schedule **schedule)
{
    uint32_t gpus = 0, parts = 1;
    for (uint32_t n = 0; n < hop_topology_node_count(w->topology); n++)
        gpus += hop_topology_node(w->topology, n)->kind == HOP_NODE_GPU;
    if (tool_given(&r->given, "bytes") && hop_pattern_parts(pattern, gpus, &parts, &tool_diag) != HOP_OK)
        parts = 1; /* hop_tune_make says what is wrong */
    return hop_tune_make(pattern, w->topology, r->bytes / parts, schedule, &tool_diag);
}

static void add_case(const struct request *r, struct work *w, const char *named)
{
    struct tune_case *c = &w->cases[w->case_count++];
    c->name = named + 1;
    if (*named == 'f') {
        struct hop_simulation *simulation; /* refuses what the machine has not, before anything is tried */
        c->schedule = tool_place(r->map, w->topology, tool_read_schedule(named, NULL));
        tool_try(hop_simulation_create(w->network, c->schedule, NULL, &simulation, &tool_diag));
        hop_simulation_destroy(simulation);
    } else
        tool_try_at(make_pattern(r, w, c->name, &c->schedule), "--pattern");
}

/* Those asked for, or every pattern that the machine has GPUs for. */
static void add_cases(const struct request *r, struct work *w)
{
    const char *name;
    for (uint32_t i = 0; i < r->cases.count; i++)
        add_case(r, w, r->cases.at[i]);
    for (size_t i = 0; r->cases.count == 0 && (name = hop_tune_pattern(i)) != NULL; i++) {
        struct tune_case *c = &w->cases[w->case_count];
        if (make_pattern(r, w, name, &c->schedule) != HOP_OK)
            continue;
        c->name = name;
        w->case_count++;
    }
}

static void tune(const struct request *r, struct work *w)
{
    struct tool_progress progress;
    const struct hop_tune_options options = {.sizes = r->sizes.count ? r->sizes.at : NULL,
                                             .size_count = r->sizes.count,
                                             .packets = r->packets.count ? r->packets.at : NULL,
                                             .packet_count = r->packets.count,
                                             .max_evaluations = (uint32_t)r->evaluations,
                                             .progress = tool_progress_begin(&progress, "pairs"),
                                             .context = &progress};
    enum hop_status status = hop_tune_paths(w->network, &options, &w->paths, &tool_diag);
    for (int i = 0; i < w->case_count && status == HOP_OK; i++) {
        progress.what = w->cases[i].name;
        status = hop_tune_mix(w->network, w->cases[i].schedule, &options, &w->cases[i].mix, &tool_diag);
    }
    tool_progress_end(&progress);
    tool_try_at(status, "--on %.180s", r->topology);
}

/* ---- the answer ---- */

static void print_json(const struct work *w)
{
    struct hop_tune_named_mix mixes[CASE_LIMIT];
    for (int i = 0; i < w->case_count; i++)
        mixes[i] = (struct hop_tune_named_mix){w->cases[i].name, w->cases[i].schedule, w->cases[i].mix};
    tool_write_text(NULL, hop_tune_to_json(w->network, w->paths, mixes, (uint32_t)w->case_count));
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

/* ---- the command ---- */

static int run(int argc, char **argv)
{
    static struct request r = {.bytes = 64u << 20, .copy_latency_s = -1};
    static struct work w;
    tool_read(&tool_tune_paths, argc, argv, &r);
    if (r.output && r.cases.count != 1)
        tool_bad_usage(&tool_tune_paths, "--output takes one --pattern or one --schedule");
    tool_check_outputs(&r.given);
    load_machine(&r, &w);
    add_cases(&r, &w);
    tune(&r, &w);
    if (r.json)
        print_json(&w);
    else
        tune_paths_print(w.network, w.paths, w.cases, w.case_count);
    if (r.output)
        tune_paths_write(r.output, w.network, &w.cases[0], w.settings);
    return is_stageable(&w) ? TOOL_OK : TOOL_NEGATIVE;
}

const struct tool_command tool_tune_paths = {
    .name = "tune paths",
    .summary = "direct, staged through host memory, or a mix",
    .usage = "--on TOPOLOGY [OPTION ...]",
    .about =
        "Which is faster, a direct copy between two GPUs or one staged through the host memory nearest to the\n"
        "source? For every pair of GPUs alone, pairs that are alike shown once, by size; then for patterns in which\n"
        "many copy at once: all direct, all staged, and the best mix found.\n"
        "\n",
    .options = table,
    .notes = "Exit status 1: there is no host memory to stage through.\n"
             "\n"
             "example: hopcast tune paths --on helios --copy-latency 10us\n",
    .run = run,
};
