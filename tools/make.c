/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast make: writes a schedule of a well-known pattern. */
#include <string.h>

#include "make.h"
#include "options_shared.h"

/* ---- patterns ---- */

/* Without a grid, the devices say how many ranks there are. */
static struct hop_schedule *make_pattern(struct request *r)
{
    struct hop_schedule *schedule;
    uint32_t parts = 1;
    if (tool_given(&r->given, "bytes"))
        tool_try(hop_pattern_parts(r->name, r->ranks.count, &parts, &tool_diag));
    tool_try(hop_pattern_schedule(r->name, &r->ranks, r->bytes / parts, &schedule, &tool_diag));
    if (r->bytes % parts)
        hop_schedule_add_comment(schedule, "note: rounded down from %llu bytes to whole bytes in each rank's part",
                                 (unsigned long long)r->bytes);
    return schedule;
}

#define COMMON "on gpu cpu set devices bytes format json "
#define COLLECTIVE COMMON "output algorithm ranks ranks-per-device type in-place segment list "
static const struct pattern in_words = {NULL, COMMON "output", make_pattern};
static const struct pattern patterns[] = {
    {"graphs", COMMON "max-transfers list output-dir", NULL},
    {"allreduce", COLLECTIVE "operator", make_collective},
    {"reduce", COLLECTIVE "operator root", make_collective},
    {"broadcast", COLLECTIVE "root", make_collective},
    {"bcast", COLLECTIVE "root", make_collective},
    {"allgather", COLLECTIVE, make_collective},
    {"reduce-scatter", COLLECTIVE "operator", make_collective},
    {"barrier", "on gpu cpu set devices format json output algorithm ranks ranks-per-device list", make_collective},
    /* what the patterns of these names are with --algorithm or --list */
    {"alltoall", COLLECTIVE, make_collective},
    {"scatter", COLLECTIVE "root", make_collective},
    {"gather", COLLECTIVE "root", make_collective},
};
enum { PATTERN_COUNT = sizeof patterns / sizeof patterns[0] };
#define PATTERNS                                                                                                       \
    "halo stencil coll alltoall ring scatter gather neighbours pairs random staged staged-gather graphs allreduce "    \
    "reduce broadcast allgather reduce-scatter barrier"
#define PATTERN_NAMES                                                                                                  \
    "halo, stencil, coll, alltoall, ring, scatter, gather, neighbours, pairs, random, staged, staged-gather and "      \
    "graphs, and the collectives allreduce, reduce, broadcast, allgather, reduce-scatter and barrier"

static const struct pattern *find_pattern(const char *name)
{
    for (const struct pattern *p = patterns; p < patterns + PATTERN_COUNT; p++) {
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}

/* ---- options ---- */

static const struct tool_option table[] = {
    {.kind = OPTION_TEXT,
     .once = true,
     .argument = "PATTERN",
     .choices = PATTERNS,
     AT(request, name),
     .missing = "which pattern? There are " PATTERN_NAMES},
    SHARED(on, AT(request, source)),
    SHARED(set, AT(request, sets), .needs = "on"),
    SHARED(devices, AT(request, device_list),
           .help = "who takes part, in rank order: gpu0,gpu4 or ranges as in gpu0-7; by default all gpus of the "
                   "topology, all nics where it has none"),
    SHARED(bytes, AT(request, bytes),
           .help = "of each transfer; of a collective, also where it is a pattern (alltoall, scatter, gather, coll), "
                   SIZE_OF_A_COLLECTIVE " (1MiB)"),
    OPTION("format", 0, CHOICE, AT(request, format), NULL, "of the schedule (hop)", .choices = "hop json"),
    SHARED(json, AT(request, json), .help = "the same as --format json"),
    SHARED(output, AT(request, output)),
    GONE("grid", "part of the pattern, halo:4x2,order=column"),
    GONE("weights", "part of the pattern, halo:4x2,order=column,weights=3/1"),
    GONE("wrap", "part of the pattern, halo:4x2,order=column,wrap"),
    GONE("steps", "part of the pattern, stencil,steps=10"),
    GONE("work", "part of the pattern, stencil,steps=10,work=30us"),
    GONE("order", "part of the pattern, alltoall,order=xor"),
    GONE("rounds", "part of the pattern, ring,rounds=1"),
    GONE("transfers", "part of the pattern, random,transfers=20"),
    GONE("seed", "part of the pattern, random,seed=7"),
    GONE("min-bytes", "part of the pattern, random,min-bytes=1KiB"),
    GONE("max-bytes", "part of the pattern, random,max-bytes=1MiB"),
    GONE("distinct-sources", "part of the pattern, random,distinct-sources"),
    GONE("distinct-edges", "part of the pattern, random,distinct-edges"),
    GONE("depend", "part of the pattern, random,depend=0.5"),
    HEADING("graphs: all sets of up to K transfers, one for each class under the topology's symmetries: how many"),
    OPTION("max-transfers", 0, COUNT, AT(request, max_transfers), "K", "(3)", .low = 1),
    FLAG("list", 0, AT(request, list),
         "each graph as a line for `hopcast predict -e`; of a collective: the algorithms that there are",
         .excludes = "output-dir json"),
    OPTION("output-dir", 0, TEXT, AT(request, output_dir), "DIR", "each graph as a file"),
    HEADING("Collectives: allreduce, reduce, broadcast, allgather, reduce-scatter, barrier, and with --algorithm\n"
            "alltoall, gather, scatter: copies and reductions between the ranks' buffers (docs/collectives.md)"),
    SHARED(algorithm, AT(request, collective.algorithm),
           .help = "how; by default what suits the devices. --list shows which there are. Two or three joined, as in "
                   "gsb-btb-ring: within a device, across those of a node, across nodes; auto=FILE: by a table"),
    SHARED(ranks, AT(request, rank_count), .high = DEVICES_MAX,
           .help = "on the devices in order, as many on each; without --on and --devices on rank0, rank1, ..., for "
                   "`hopcast predict --map` to place"),
    OPTION("ranks-per-device", 0, COUNT, AT(request, ranks_per_device), "K", "on each device (1)", .low = 1,
           .high = DEVICES_MAX),
    SHARED(root, AT(request, collective.root), .high = UINT32_MAX, .help = "of reduce, broadcast, gather, scatter (0)"),
    SHARED(operator, AT(request, collective.reduce)),
    SHARED(type, AT(request, collective.type)),
    SHARED(in_place, AT(request, collective.in_place)),
    SHARED(segment, AT(request, collective.segment_bytes), .low = 1),
    END_OF_OPTIONS,
};

/* What the pattern is, takes and needs. */
static void check(struct request *r)
{
    bool words = hop_pattern_is(r->name);
    const struct pattern *named = find_pattern(r->name);
    if (!words && !named) {
        const char *near = tool_nearest_word(PATTERNS, r->name);
        tool_bad_usage(&tool_make, "there is no pattern '%s'%s; the patterns are %s", r->name,
                       near ? tool_text(" (is %s meant?)", near) : "", PATTERN_NAMES);
    }
    bool both = words && named;
    r->pattern = !named || (words && !r->collective.algorithm && !r->list) ? &in_words : named;
    const char *strange = tool_given_beyond(&r->given, r->pattern->takes);
    if (strange && both && strcmp(strange, "root") == 0)
        tool_bad_usage(&tool_make, "--root is part of the pattern, %s,root=1", r->name);
    if (strange)
        tool_bad_usage(&tool_make, "the pattern %s takes no --%s%s", r->name, strange,
                       both && r->pattern == &in_words && tool_has_word(COLLECTIVE, strange)
                           ? "; the collective does: --algorithm default"
                       : strcmp(strange, "ranks") == 0
                           ? ": what stands behind it says how many, as in halo:4x2 or ring:8"
                           : "");
    if (words && tool_given(&r->given, "bytes") && strstr(r->name, ",bytes="))
        tool_bad_usage(&tool_make, "the pattern %s says itself how many bytes: no --bytes", r->name);
    bool makes_collective = r->pattern->make == make_collective, nowhere = !r->source && !r->device_list;
    if (makes_collective && nowhere && r->ranks_per_device)
        tool_bad_usage(&tool_make, "--ranks-per-device needs devices: --on TOPOLOGY or --devices LIST");
    if (makes_collective && nowhere && !r->list && !r->rank_count)
        tool_bad_usage(&tool_make, "-n RANKS, --on TOPOLOGY or --devices LIST is needed: which ranks take part?");
    if (r->pattern == &in_words && nowhere && !strchr(r->name, ':'))
        tool_bad_usage(&tool_make, "--on TOPOLOGY or --devices LIST is needed: which devices take part?");
    if (r->pattern->make)
        return;
    if (!r->source)
        tool_bad_usage(&tool_make, "--on TOPOLOGY is needed: graphs are counted up to its symmetries");
    static const char *const of_graphs[] = {"json", "format", "bytes"}; /* which counts have not */
    for (size_t i = 0; i < HOP_COUNT(of_graphs) && !r->output_dir; i++) {
        if (tool_given(&r->given, of_graphs[i]) && !(r->list && strcmp(of_graphs[i], "bytes") == 0))
            tool_bad_usage(&tool_make, "--%s goes with graphs that are written: --output-dir DIR%s", of_graphs[i],
                           strcmp(of_graphs[i], "bytes") == 0 ? " or --list" : "");
    }
}

/* ---- output ---- */

void make_show_command(const struct request *r, char *text, size_t size)
{
    size_t length = (size_t)snprintf(text, size, "hopcast");
    for (int i = 0; i < r->argc && length < size; i++) {
        const char *word = r->argv[i];
        bool plain =
            *word &&
            word[strspn(word, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=.,:/@%")] == '\0';
        length += (size_t)snprintf(text + length, size - length, plain ? " %s" : " '%s'", word);
    }
    (void)hop_text_quote(text);
}

static void run_pattern(struct request *r)
{
    struct hop_schedule *schedule = r->pattern->make(r);
    char command[480];
    make_show_command(r, command, sizeof command);
    hop_schedule_add_comment(schedule, "%s", command);
    if (r->format == MAKE_JSON)
        tool_write_text(r->output, hop_schedule_to_json(schedule));
    else
        tool_write_schedule(r->output, schedule);
    hop_schedule_destroy(schedule);
}

/* ---- the command ---- */

/* The devices that take part, and the ranks on them: one on each, unless it is a collective's. A pattern that names its
 * ranks has the machine's first devices, or placeholders. */
static void find_ranks(struct request *r)
{
    uint32_t ranks = 0;
    if (r->source || r->device_list)
        devices_find(&tool_make, r->topology, r->device_list, &r->found);
    if (r->pattern == &in_words) {
        tool_try(hop_pattern_ranks(r->name, r->found.count, &ranks, &tool_diag));
        r->rank_count = r->found.count == 0 ? ranks : 0;
    }
    if (r->pattern->make == make_collective || r->rank_count)
        make_spread_ranks(r);
    else
        make_ranks(r, r->device_list || ranks == 0 || ranks > r->found.count ? r->found.count : ranks, 1);
}

static int run(int argc, char **argv)
{
    static struct request r = {.bytes = 1 << 20, .max_transfers = 3, .collective = {.type = HOP_TYPE_F32}};
    r.argc = argc;
    r.argv = argv;
    tool_read(&tool_make, argc, argv, &r);
    tool_check_outputs(&r.given);
    r.format = r.json ? MAKE_JSON : r.format;
    check(&r);
    if (r.list && r.pattern->make == make_collective) {
        make_list_algorithms(&r);
        return TOOL_OK;
    }
    if (r.source)
        r.topology = tool_load_topology(r.source, &r.sets);
    find_ranks(&r);
    if (r.pattern->make)
        run_pattern(&r);
    else
        make_run_graphs(&r);
    return TOOL_OK;
}

const struct tool_command tool_make = {
    .name = "make",
    .summary = "write a schedule: halo, stencil, alltoall, ..., or a collective such as allreduce",
    .usage = "PATTERN [--on TOPOLOGY] [--devices LIST] [--bytes SIZE] [-o FILE] [OPTION ...]",
    .about = "Writes a schedule of a well-known pattern or collective. Patterns are NAME[:GRID][,SETTING]..., without "
             "a grid on\n"
             "all devices, as in halo:4x2,wrap stencil:2x2x4,weight=3,steps=10,work=30us coll:4x2 ring:8,rounds=7\n"
             "alltoall,order=naive|shift|xor scatter,root=1 gather neighbours pairs random,transfers=20,seed=7\n"
             "staged,packet=2MiB,groups=2/1 staged-gather:4x3,approach=3\n"
             "(docs/generators.md).\n"
             "\n",
    .options = table,
    .notes = "Example: a two-dimensional halo exchange on eight GPUs, and how long it takes\n"
             "  hopcast make halo:4x2 --on t2 --bytes 300MiB | hopcast predict - --on t2\n"
             "and an allreduce of four ranks on each of two of them\n"
             "  hopcast make allreduce --devices gpu0,gpu4 -n 8 --algorithm gsb-btb | hopcast predict - --on t2\n",
    .run = run,
};
