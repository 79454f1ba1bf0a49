/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast make: writes a schedule of a well-known pattern. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "make.h"
#include "options_shared.h"

/* ---- patterns ---- */

/* As square as the number of ranks allows: 8 is 4x2. */
static void default_grid(struct request *r)
{
    uint32_t n = r->ranks.count, narrow = 1;
    for (uint32_t d = 2; (uint64_t)d * d <= n; d++) {
        if (n % d == 0)
            narrow = d;
    }
    if (r->grid.dimensions == 0) {
        r->grid.dimensions = 2;
        r->grid.extent[0] = n / narrow;
        r->grid.extent[1] = narrow;
    }
}

static enum hop_status make_halo(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    default_grid(r);
    return hop_make_halo(&r->ranks, &r->grid, r->bytes, schedule, diag);
}

static enum hop_status make_stencil(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    default_grid(r);
    return hop_make_stencil(&r->ranks, &r->grid, r->bytes, r->steps, r->work_s, schedule, diag);
}

static enum hop_status make_alltoall(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    return hop_make_alltoall(&r->ranks, r->order, r->bytes, schedule, diag);
}

static enum hop_status make_ring(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    return hop_make_ring(&r->ranks, r->rounds ? r->rounds : r->ranks.count - 1, r->bytes, schedule, diag);
}

static enum hop_status make_scatter(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    return hop_make_scatter(&r->ranks, r->collective.root, r->bytes, schedule, diag);
}

static enum hop_status make_gather(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    return hop_make_gather(&r->ranks, r->collective.root, r->bytes, schedule, diag);
}

static enum hop_status make_random(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    if (!r->random.transfers)
        r->random.transfers = r->ranks.count;
    if (!tool_given(&r->given, "min-bytes"))
        r->random.min_bytes = r->bytes;
    if (!tool_given(&r->given, "max-bytes"))
        r->random.max_bytes = r->bytes > r->random.min_bytes ? r->bytes : r->random.min_bytes;
    return hop_make_random(&r->ranks, &r->random, schedule, diag);
}

#define COMMON "on set devices bytes format json "
#define GRID COMMON "output grid weights wrap "
#define COLLECTIVE COMMON "output algorithm ranks ranks-per-device type in-place segment list "
static const struct pattern patterns[] = {
    {"halo", GRID, make_halo},
    {"stencil", GRID "steps work", make_stencil},
    {"alltoall", COMMON "output order", make_alltoall},
    {"ring", COMMON "output rounds", make_ring},
    {"scatter", COMMON "output root", make_scatter},
    {"gather", COMMON "output root", make_gather},
    {"random", COMMON "output transfers seed min-bytes max-bytes distinct-sources distinct-edges depend", make_random},
    {"graphs", COMMON "max-transfers list output-dir", NULL},
    {"allreduce", COLLECTIVE "operator", make_collective},
    {"reduce", COLLECTIVE "operator root", make_collective},
    {"broadcast", COLLECTIVE "root", make_collective},
    {"bcast", COLLECTIVE "root", make_collective},
    {"allgather", COLLECTIVE, make_collective},
    {"reduce-scatter", COLLECTIVE "operator", make_collective},
    {"barrier", COLLECTIVE, make_collective},
    /* what the plain patterns of these names are with --algorithm or --list */
    {"alltoall", COLLECTIVE, make_collective},
    {"scatter", COLLECTIVE "root", make_collective},
    {"gather", COLLECTIVE "root", make_collective},
};
enum { PATTERN_COUNT = sizeof patterns / sizeof patterns[0] };
#define PATTERNS                                                                                                       \
    "halo stencil alltoall ring scatter gather random graphs allreduce reduce broadcast allgather reduce-scatter "     \
    "barrier"
#define PATTERN_NAMES                                                                                                  \
    "halo, stencil, alltoall, ring, scatter, gather, random and graphs, and the collectives allreduce, reduce, "       \
    "broadcast, allgather, reduce-scatter and barrier"

/* The first pattern of that name after `after` (NULL: of all); NULL: there is none. */
static const struct pattern *find_pattern(const char *name, const struct pattern *after)
{
    for (const struct pattern *p = after ? after + 1 : patterns; p < patterns + PATTERN_COUNT; p++) {
        if (strcmp(p->name, name) == 0)
            return p;
    }
    return NULL;
}

/* ---- options ---- */

static bool take_grid(const struct tool_taking *t, char *text)
{
    struct request *r = t->to;
    const char *at = text;
    for (r->grid.dimensions = 0; r->grid.dimensions < HOP_GRID_MAX; at++) {
        char *end;
        unsigned long extent = isdigit((unsigned char)*at) ? strtoul(at, &end, 10) : 0;
        if (extent < 1 || extent > DEVICES_MAX)
            break;
        r->grid.extent[r->grid.dimensions++] = (uint32_t)extent;
        at = end;
        if (*at == '\0')
            return true;
        if (*at != 'x')
            break;
    }
    return tool_bad_usage(&tool_make,
                          "--grid cannot be '%s': one to three extents such as 8, 4x2 or 2x2x2 are expected",
                          text) == TOOL_OK;
}

static bool take_weights(const struct tool_taking *t, char *text)
{
    struct request *r = t->to;
    const char *at = text;
    for (unsigned d = 0; d < HOP_GRID_MAX; d++, at++) {
        char *end;
        double weight = strtod(at, &end);
        if (end == at || !(weight > 0 && weight <= 1e9))
            break;
        r->grid.weight[d] = weight;
        r->weight_count = d + 1;
        at = end;
        if (*at == '\0')
            return true;
        if (*at != ',')
            break;
    }
    return tool_bad_usage(&tool_make,
                          "--weights cannot be '%s': numbers above 0, one a dimension, as in 3,1, are expected",
                          text) == TOOL_OK;
}

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
           .help = "of each transfer; of a collective: that a rank puts in, its vector, or its part of an allgather or "
                   "gather (1MiB)"),
    OPTION("format", 0, CHOICE, AT(request, format), NULL, "of the schedule (hop)", .choices = "hop json"),
    SHARED(json, AT(request, json), .help = "the same as --format json"),
    SHARED(output, AT(request, output)),
    HEADING("halo: every rank sends to each neighbour in a grid; stencil: such exchanges with work between them"),
    OPTION("grid", 0, CALL, .at = 0, "4x2", "extents, one to three (nearly square)", .take = take_grid),
    OPTION("weights", 0, CALL, .at = 0, "3,1", "of the dimensions (1 each)", .take = take_weights),
    FLAG("wrap", 0, AT(request, grid.wrap), "the ends of a dimension are neighbours"),
    OPTION("steps", 0, COUNT, AT(request, steps), "N", "of a stencil (10)", .low = 1),
    OPTION("work", 0, TIME, AT(request, work_s), "TIME", "between them (30us)"),
    HEADING("alltoall: every rank sends to every other; ring: to the next, round after round"),
    OPTION("order", 0, CHOICE, AT(request, order), NULL, "of an alltoall (naive)", .choices = "naive shift xor"),
    OPTION("rounds", 0, COUNT, AT(request, rounds), "N", "of a ring (devices - 1)", .low = 1),
    HEADING("scatter: the root sends to every other rank; gather: every other rank sends to the root"),
    SHARED(root, AT(request, collective.root), .high = UINT32_MAX, .help = "of scatter, gather, reduce, broadcast (0)"),
    HEADING("random: transfers between devices"),
    OPTION("transfers", 0, COUNT, AT(request, random.transfers), "N", "so many (as many as devices)", .low = 1),
    SHARED(seed, AT(request, random.seed), .help = "of the choices made at random (1)"),
    OPTION("min-bytes", 0, SIZE, AT(request, random.min_bytes), "SIZE",
           "the smallest (--bytes); sizes are uniform up to --max-bytes"),
    OPTION("max-bytes", 0, SIZE, AT(request, random.max_bytes), "SIZE", "the largest (--bytes)"),
    FLAG("distinct-sources", 0, AT(request, random.distinct_sources), "no two have the same source"),
    FLAG("distinct-edges", 0, AT(request, random.distinct_edges), "no two have the same source and destination"),
    OPTION("depend", 0, NUMBER, AT(request, random.depend), "P", "the chance to wait for an earlier one (0)",
           .most = 1),
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
    SHARED(operator, AT(request, collective.reduce)),
    SHARED(type, AT(request, collective.type)),
    SHARED(in_place, AT(request, collective.in_place)),
    SHARED(segment, AT(request, collective.segment_bytes), .low = 1),
    END_OF_OPTIONS,
};

/* What the pattern is, takes and needs. */
static int check(struct request *r)
{
    char nearest[32];
    const struct pattern *plain = find_pattern(r->name, NULL),
                         *collective = plain ? find_pattern(r->name, plain) : NULL;
    if (!plain) {
        bool near = tool_nearest_word(PATTERNS, r->name, nearest, sizeof nearest);
        return tool_bad_usage(&tool_make, "there is no pattern '%s'%s%s%s; the patterns are %s", r->name,
                              near ? " (is " : "", near ? nearest : "", near ? " meant?)" : "", PATTERN_NAMES);
    }
    bool as_collective = collective && (r->collective.algorithm || r->list);
    r->pattern = as_collective ? collective : plain;
    const char *strange = tool_given_beyond(&r->given, r->pattern->takes);
    if (strange)
        return tool_bad_usage(&tool_make, "the pattern %s takes no --%s%s", r->name, strange,
                              !as_collective && collective && tool_has_word(COLLECTIVE, strange)
                                  ? "; the collective does: --algorithm default"
                                  : "");
    bool makes_collective = r->pattern->make == make_collective, nowhere = !r->source && !r->device_list;
    if (makes_collective && nowhere && r->ranks_per_device)
        return tool_bad_usage(&tool_make, "--ranks-per-device needs devices: --on TOPOLOGY or --devices LIST");
    if (makes_collective && nowhere && !r->list && !r->rank_count)
        return tool_bad_usage(&tool_make,
                              "-n RANKS, --on TOPOLOGY or --devices LIST is needed: which ranks take part?");
    if (!makes_collective && nowhere)
        return tool_bad_usage(&tool_make, "--on TOPOLOGY or --devices LIST is needed: which devices take part?");
    if (!r->source && !r->pattern->make)
        return tool_bad_usage(&tool_make, "--on TOPOLOGY is needed: graphs are counted up to its symmetries");
    if (r->weight_count > (r->grid.dimensions ? r->grid.dimensions : 2))
        return tool_bad_usage(&tool_make, "there are %u --weights and fewer dimensions", r->weight_count);
    return TOOL_OK;
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
    for (char *c = text; *c; c++) {
        if ((unsigned char)*c < ' ')
            *c = ' ';
    }
}

static int run_pattern(struct request *r)
{
    struct hop_diag diag;
    struct hop_schedule *schedule;
    if (r->pattern->make(r, &schedule, &diag) != HOP_OK)
        return tool_fail(&diag);
    char command[480];
    make_show_command(r, command, sizeof command);
    hop_schedule_add_comment(schedule, "%s", command);
    char *text = r->format == MAKE_JSON ? hop_schedule_to_json(schedule) : hop_schedule_to_text(schedule);
    hop_schedule_destroy(schedule);
    return tool_write_text(r->output, text);
}

/* ---- the command ---- */

/* The devices that take part, and the ranks on them: one on each, unless it is a collective's. */
static int find_ranks(struct request *r)
{
    int status = TOOL_OK;
    if (r->source || r->device_list)
        status = devices_find(&tool_make, r->topology, r->device_list, &r->found);
    if (status == TOOL_OK && r->pattern->make == make_collective)
        return make_spread_ranks(r);
    return status == TOOL_OK ? make_ranks(r, r->found.count, 0) : status;
}

static int run(int argc, char **argv)
{
    static struct request r = {.bytes = 1 << 20,
                               .steps = 10,
                               .work_s = 30e-6,
                               .max_transfers = 3,
                               .collective = {.type = HOP_TYPE_F32},
                               .random = {.seed = 1}};
    r.argc = argc;
    r.argv = argv;
    int status = tool_read(&tool_make, argc, argv, &r);
    r.format = r.json ? MAKE_JSON : r.format;
    if (status == TOOL_OK)
        status = check(&r);
    if (status == TOOL_OK && r.list && r.pattern->make == make_collective)
        return make_list_algorithms(&r);
    if (status == TOOL_OK && r.source)
        status = tool_load_topology(r.source, &r.sets, &r.topology);
    if (status == TOOL_OK)
        status = find_ranks(&r);
    if (status == TOOL_OK)
        status = r.pattern->make ? run_pattern(&r) : make_run_graphs(&r);
    hop_topology_destroy(r.topology);
    devices_finish(&r.found);
    free(r.devices);
    return status;
}

const struct tool_command tool_make = {
    .name = "make",
    .summary = "write a schedule: halo, stencil, alltoall, ..., or a collective such as allreduce",
    .usage = "PATTERN [--on TOPOLOGY] [--devices LIST] [--bytes SIZE] [-o FILE] [OPTION ...]",
    .about = "Writes a schedule of a well-known pattern or collective.\n"
             "\n",
    .options = table,
    .notes = "Example: a two-dimensional halo exchange on eight GPUs, and how long it takes\n"
             "  hopcast make halo --on t2 --grid 4x2 --bytes 300MiB | hopcast predict - --on t2\n"
             "and an allreduce of four ranks on each of two of them\n"
             "  hopcast make allreduce --devices gpu0,gpu4 -n 8 --algorithm gsb-btb | hopcast predict - --on t2\n",
    .run = run,
};
