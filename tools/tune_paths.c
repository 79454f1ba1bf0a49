/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast tune paths: direct, staged through host memory, or a mix; for every pair of GPUs and for whole patterns.
 */
#include <stdlib.h>
#include <string.h>

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

static bool take_case(const struct tool_taking *t, char *text)
{
    struct tool_words *cases = t->to;
    char *named = NULL;
    if (cases->count == CASE_LIMIT)
        return tool_bad_usage(t->command, "more than %d patterns and schedules", CASE_LIMIT) == TOOL_OK;
    if (asprintf(&named, "%c%s", t->option->use == USE_INPUT ? 'f' : 'p', text) < 0)
        return tool_out_of_memory() == TOOL_OK;
    bool added = tool_words_add(cases, named);
    free(named);
    return added;
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
    OPTION("bytes", 0, SIZE, AT(request, bytes), "SIZE", "of each copy of a pattern (64MiB)", .low = 1),
    OPTION("schedule", 0, CALL, AT(request, cases), "FILE", "the copies of a schedule instead; may be repeated",
           .use = USE_INPUT, .take = take_case),
    SHARED(map, AT(request, map)),
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
    int status = tool_load_topology(r->topology, &r->sets, &w->topology);
    if (r->model)
        note_setting(w, "--model", r->model);
    for (uint32_t i = 0; i < r->sets.count; i++)
        note_setting(w, "--set", r->sets.at[i]);
    if (status == TOOL_OK && r->copy_latency_s >= 0)
        status = set_copy_latency(r, w);
    if (status == TOOL_OK && hop_network_create(w->topology, r->model, &w->network, &diag) != HOP_OK)
        status = tool_fail(&diag);
    return status;
}

/* ---- the cases ---- */

static int add_case(const struct request *r, struct work *w, const char *named)
{
    struct tune_case *c = &w->cases[w->case_count++];
    struct hop_diag diag;
    c->name = named + 1;
    if (*named == 'f') {
        int status = tool_read_schedule(named, NULL, &c->schedule);
        return status == TOOL_OK ? tool_place(r->map, w->topology, &c->schedule) : status;
    }
    if (hop_tune_make(c->name, w->topology, r->bytes, &c->schedule, &diag) == HOP_OK)
        return TOOL_OK;
    if (!diag.place[0])
        (void)snprintf(diag.place, sizeof diag.place, "--pattern");
    return tool_fail(&diag);
}

/* Those asked for, or every pattern that the machine has GPUs for. */
static int add_cases(const struct request *r, struct work *w)
{
    const char *name;
    int status = TOOL_OK;
    for (uint32_t i = 0; i < r->cases.count && status == TOOL_OK; i++)
        status = add_case(r, w, r->cases.at[i]);
    for (size_t i = 0; r->cases.count == 0 && status == TOOL_OK && (name = hop_tune_pattern(i)) != NULL; i++) {
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
    const struct hop_tune_options options = {.sizes = r->sizes.count ? r->sizes.at : NULL,
                                             .size_count = r->sizes.count,
                                             .packets = r->packets.count ? r->packets.at : NULL,
                                             .packet_count = r->packets.count,
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
    return tool_write_text(NULL, hop_tune_to_json(w->network, w->paths, mixes, (uint32_t)w->case_count));
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

/* ---- the command ---- */

static int run(int argc, char **argv)
{
    static struct request r = {.bytes = 64u << 20, .copy_latency_s = -1};
    static struct work w;
    int status = tool_read(&tool_tune_paths, argc, argv, &r);
    if (status == TOOL_OK && r.output && r.cases.count != 1)
        status = tool_bad_usage(&tool_tune_paths, "--output takes one --pattern or one --schedule");
    THEN(status, load_machine(&r, &w));
    THEN(status, add_cases(&r, &w));
    THEN(status, tune(&r, &w));
    THEN(status, answer(&r, &w));
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
