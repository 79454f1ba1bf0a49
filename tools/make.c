/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast make: writes a schedule of a well-known pattern. */
#include "make.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#define COMMON (BIT(OPT_ON) | BIT(OPT_SET) | BIT(OPT_DEVICES) | BIT(OPT_BYTES) | BIT(OPT_FORMAT) | BIT(OPT_JSON))

static const struct option options[] = {
    {"on", required_argument, NULL, OPT_ON},
    {"set", required_argument, NULL, OPT_SET},
    {"devices", required_argument, NULL, OPT_DEVICES},
    {"bytes", required_argument, NULL, OPT_BYTES},
    {"format", required_argument, NULL, OPT_FORMAT},
    {"json", no_argument, NULL, OPT_JSON},
    {"output", required_argument, NULL, OPT_OUTPUT},
    {"grid", required_argument, NULL, OPT_GRID},
    {"weights", required_argument, NULL, OPT_WEIGHTS},
    {"wrap", no_argument, NULL, OPT_WRAP},
    {"steps", required_argument, NULL, OPT_STEPS},
    {"work", required_argument, NULL, OPT_WORK},
    {"order", required_argument, NULL, OPT_ORDER},
    {"rounds", required_argument, NULL, OPT_ROUNDS},
    {"root", required_argument, NULL, OPT_ROOT},
    {"transfers", required_argument, NULL, OPT_TRANSFERS},
    {"seed", required_argument, NULL, OPT_SEED},
    {"min-bytes", required_argument, NULL, OPT_MIN_BYTES},
    {"max-bytes", required_argument, NULL, OPT_MAX_BYTES},
    {"distinct-sources", no_argument, NULL, OPT_DISTINCT_SOURCES},
    {"distinct-edges", no_argument, NULL, OPT_DISTINCT_EDGES},
    {"depend", required_argument, NULL, OPT_DEPEND},
    {"max-transfers", required_argument, NULL, OPT_MAX_TRANSFERS},
    {"list", no_argument, NULL, OPT_LIST},
    {"output-dir", required_argument, NULL, OPT_OUTPUT_DIR},
    {"algorithm", required_argument, NULL, OPT_ALGORITHM},
    {"ranks", required_argument, NULL, OPT_RANKS},
    {"ranks-per-device", required_argument, NULL, OPT_RANKS_PER_DEVICE},
    {"operator", required_argument, NULL, OPT_OPERATOR},
    {"type", required_argument, NULL, OPT_TYPE},
    {"in-place", no_argument, NULL, OPT_IN_PLACE},
    {"segment", required_argument, NULL, OPT_SEGMENT},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

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
    return hop_make_stencil(&r->ranks, &r->grid, r->bytes, (uint32_t)r->steps, r->work_s, schedule, diag);
}

static enum hop_status make_alltoall(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    return hop_make_alltoall(&r->ranks, r->order, r->bytes, schedule, diag);
}

static enum hop_status make_ring(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    bool given = r->given & BIT(OPT_ROUNDS);
    return hop_make_ring(&r->ranks, given ? (uint32_t)r->rounds : r->ranks.count - 1, r->bytes, schedule, diag);
}

static enum hop_status make_scatter(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    return hop_make_scatter(&r->ranks, (uint32_t)r->root, r->bytes, schedule, diag);
}

static enum hop_status make_gather(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    return hop_make_gather(&r->ranks, (uint32_t)r->root, r->bytes, schedule, diag);
}

static enum hop_status make_random(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag)
{
    r->random.transfers = r->given & BIT(OPT_TRANSFERS) ? (uint32_t)r->transfers : r->ranks.count;
    if (!(r->given & BIT(OPT_MIN_BYTES)))
        r->random.min_bytes = r->bytes;
    if (!(r->given & BIT(OPT_MAX_BYTES)))
        r->random.max_bytes = r->bytes > r->random.min_bytes ? r->bytes : r->random.min_bytes;
    return hop_make_random(&r->ranks, &r->random, schedule, diag);
}

#define GRID_OPTIONS (BIT(OPT_OUTPUT) | BIT(OPT_GRID) | BIT(OPT_WEIGHTS) | BIT(OPT_WRAP))
#define COLLECTIVE                                                                                                     \
    (COMMON | BIT(OPT_OUTPUT) | BIT(OPT_ALGORITHM) | BIT(OPT_RANKS) | BIT(OPT_RANKS_PER_DEVICE) | BIT(OPT_TYPE) |      \
     BIT(OPT_IN_PLACE) | BIT(OPT_SEGMENT) | BIT(OPT_LIST))
static const struct pattern patterns[] = {
    {"halo", COMMON | GRID_OPTIONS, make_halo},
    {"stencil", COMMON | GRID_OPTIONS | BIT(OPT_STEPS) | BIT(OPT_WORK), make_stencil},
    {"alltoall", COMMON | BIT(OPT_OUTPUT) | BIT(OPT_ORDER), make_alltoall},
    {"ring", COMMON | BIT(OPT_OUTPUT) | BIT(OPT_ROUNDS), make_ring},
    {"scatter", COMMON | BIT(OPT_OUTPUT) | BIT(OPT_ROOT), make_scatter},
    {"gather", COMMON | BIT(OPT_OUTPUT) | BIT(OPT_ROOT), make_gather},
    {"random",
     COMMON | BIT(OPT_OUTPUT) | BIT(OPT_TRANSFERS) | BIT(OPT_SEED) | BIT(OPT_MIN_BYTES) | BIT(OPT_MAX_BYTES) |
         BIT(OPT_DISTINCT_SOURCES) | BIT(OPT_DISTINCT_EDGES) | BIT(OPT_DEPEND),
     make_random},
    {"graphs", COMMON | BIT(OPT_MAX_TRANSFERS) | BIT(OPT_LIST) | BIT(OPT_OUTPUT_DIR), NULL},
    {"allreduce", COLLECTIVE | BIT(OPT_OPERATOR), make_collective},
    {"reduce", COLLECTIVE | BIT(OPT_OPERATOR) | BIT(OPT_ROOT), make_collective},
    {"broadcast", COLLECTIVE | BIT(OPT_ROOT), make_collective},
    {"bcast", COLLECTIVE | BIT(OPT_ROOT), make_collective},
    {"allgather", COLLECTIVE, make_collective},
    {"reduce-scatter", COLLECTIVE | BIT(OPT_OPERATOR), make_collective},
    {"barrier", COLLECTIVE, make_collective},
    /* what the plain patterns of these names are with --algorithm or --list */
    {"alltoall", COLLECTIVE, make_collective},
    {"scatter", COLLECTIVE | BIT(OPT_ROOT), make_collective},
    {"gather", COLLECTIVE | BIT(OPT_ROOT), make_collective},
};
enum { PATTERN_COUNT = sizeof patterns / sizeof patterns[0] };

static const char pattern_names[] = "halo, stencil, alltoall, ring, scatter, gather, random and graphs, and the "
                                    "collectives allreduce, reduce, broadcast, allgather, reduce-scatter and barrier";

static int find_pattern(struct request *r, const char *name)
{
    const char *nearest = NULL;
    size_t least = 3;
    for (size_t i = 0; i < PATTERN_COUNT; i++) {
        size_t far = tool_distance(name, patterns[i].name);
        if (far == 0) {
            r->pattern = &patterns[i];
            return TOOL_OK;
        }
        if (far > 0 && strlen(name) > 1 && strncmp(name, patterns[i].name, strlen(name)) == 0)
            far = 1; /* cut short */
        if (far < least) {
            least = far;
            nearest = patterns[i].name;
        }
    }
    return tool_bad_usage(&tool_make, "there is no pattern '%s'%s%s%s; the patterns are %s", name,
                          nearest ? " (is " : "", nearest ? nearest : "", nearest ? " meant?)" : "", pattern_names);
}

/* The collective of a plain pattern's name; NULL: there is none. */
static const struct pattern *has_collective(const struct pattern *plain)
{
    for (size_t i = 0; i < PATTERN_COUNT; i++) {
        if (&patterns[i] != plain && strcmp(patterns[i].name, plain->name) == 0)
            return &patterns[i];
    }
    return NULL;
}

/* ---- options ---- */

static bool take_bytes(const char *option, const char *text, uint64_t *bytes)
{
    struct hop_diag diag;
    if (hop_parse_bytes(text, strlen(text), bytes, &diag) == HOP_OK)
        return true;
    tool_bad_usage(&tool_make, "%s: %s; %s is expected", option, diag.what, diag.expected);
    return false;
}

static bool take_grid(struct request *r, const char *text)
{
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
    tool_bad_usage(&tool_make, "--grid cannot be '%s': one to three extents such as 8, 4x2 or 2x2x2 are expected",
                   text);
    return false;
}

static bool take_weights(struct request *r, const char *text)
{
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
    tool_bad_usage(&tool_make, "--weights cannot be '%s': numbers above 0, one a dimension, as in 3,1, are expected",
                   text);
    return false;
}

static bool take_order(struct request *r, const char *text)
{
    static const char *const names[] = {"naive", "shift", "xor"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            r->order = (enum hop_alltoall)i;
            return true;
        }
    }
    tool_bad_usage(&tool_make, "--order cannot be '%s': naive, shift or xor is expected", text);
    return false;
}

static bool take_format(struct request *r, const char *text)
{
    r->json = strcmp(text, "json") == 0;
    if (r->json || strcmp(text, "hop") == 0)
        return true;
    tool_bad_usage(&tool_make, "--format cannot be '%s': hop or json is expected", text);
    return false;
}

static bool take_work(struct request *r, const char *text)
{
    struct hop_diag diag;
    if (hop_parse_seconds(text, strlen(text), &r->work_s, &diag) == HOP_OK)
        return true;
    tool_bad_usage(&tool_make, "--work: %s; %s is expected", diag.what, diag.expected);
    return false;
}

static bool take_set(struct request *r, const char *text)
{
    if (r->set_count == SETS_MAX) {
        tool_bad_usage(&tool_make, "there are more than %d --set", SETS_MAX);
        return false;
    }
    r->sets[r->set_count++] = text;
    return true;
}

static bool take_option(struct request *r, int code, const char *text)
{
    const struct tool_command *me = &tool_make;
    switch (code) {
    case OPT_ON:
        return r->source = text, true;
    case OPT_SET:
        return take_set(r, text);
    case OPT_DEVICES:
        return r->device_list = text, true;
    case OPT_BYTES:
        return take_bytes("--bytes", text, &r->bytes);
    case OPT_FORMAT:
        return take_format(r, text);
    case OPT_JSON:
        return take_format(r, "json");
    case OPT_OUTPUT:
        return r->output = text, true;
    case OPT_GRID:
        return take_grid(r, text);
    case OPT_WEIGHTS:
        return take_weights(r, text);
    case OPT_WRAP:
        return r->grid.wrap = true;
    case OPT_STEPS:
        return tool_whole(me, "--steps", text, 1, UINT32_MAX, &r->steps);
    case OPT_WORK:
        return take_work(r, text);
    case OPT_ORDER:
        return take_order(r, text);
    case OPT_ROUNDS:
        return tool_whole(me, "--rounds", text, 1, UINT32_MAX, &r->rounds);
    case OPT_ROOT:
        return tool_whole(me, "--root", text, 0, UINT32_MAX, &r->root);
    case OPT_TRANSFERS:
        return tool_whole(me, "--transfers", text, 1, UINT32_MAX, &r->transfers);
    case OPT_SEED:
        return tool_whole(me, "--seed", text, 0, UINT64_MAX, &r->random.seed);
    case OPT_MIN_BYTES:
        return take_bytes("--min-bytes", text, &r->random.min_bytes);
    case OPT_MAX_BYTES:
        return take_bytes("--max-bytes", text, &r->random.max_bytes);
    case OPT_DISTINCT_SOURCES:
        return r->random.distinct_sources = true;
    case OPT_DISTINCT_EDGES:
        return r->random.distinct_edges = true;
    case OPT_DEPEND:
        return tool_number(me, "--depend", text, 0, 1, &r->random.depend);
    case OPT_MAX_TRANSFERS:
        return tool_whole(me, "--max-transfers", text, 1, UINT32_MAX, &r->max_transfers);
    case OPT_LIST:
        return r->list = true;
    case OPT_ALGORITHM:
        return r->collective.algorithm = text, true;
    case OPT_RANKS:
        return tool_whole(me, "-n", text, 1, DEVICES_MAX, &r->rank_count);
    case OPT_RANKS_PER_DEVICE:
        return tool_whole(me, "--ranks-per-device", text, 1, DEVICES_MAX, &r->ranks_per_device);
    case OPT_OPERATOR:
        return tool_operator(&tool_make, text, &r->collective.reduce);
    case OPT_TYPE:
        return tool_type(&tool_make, text, &r->collective.type);
    case OPT_IN_PLACE:
        return r->collective.in_place = true;
    case OPT_SEGMENT:
        return tool_bytes(me, "--segment", text, &r->collective.segment_bytes);
    default: /* OPT_OUTPUT_DIR */
        return r->output_dir = text, true;
    }
}

/* The pattern takes every option that was given, and they go together. */
static int check_options(const struct request *r)
{
    uint64_t strange = r->given & ~r->pattern->takes;
    for (size_t i = 0; options[i].name && strange; i++) {
        if (options[i].val >= OPT_ON && strange & BIT(options[i].val))
            return tool_bad_usage(&tool_make, "the pattern %s takes no --%s%s", r->pattern->name, options[i].name,
                                  COLLECTIVE & strange & BIT(options[i].val) && has_collective(r->pattern)
                                      ? "; the collective does: --algorithm default"
                                      : "");
    }
    bool collective = r->pattern->make == make_collective;
    if (collective && (r->list || r->rank_count) && !r->source && !r->device_list)
        return r->ranks_per_device
                   ? tool_bad_usage(&tool_make, "--ranks-per-device needs devices: --on TOPOLOGY or --devices LIST")
                   : TOOL_OK;
    if (collective && !r->source && !r->device_list)
        return tool_bad_usage(&tool_make,
                              "-n RANKS, --on TOPOLOGY or --devices LIST is needed: which ranks take part?");
    if (!r->source && !r->device_list)
        return tool_bad_usage(&tool_make, "--on TOPOLOGY or --devices LIST is needed: which devices take part?");
    if (!r->source && r->set_count)
        return tool_bad_usage(&tool_make, "--set changes a topology: --on is needed");
    if (!r->source && !r->pattern->make)
        return tool_bad_usage(&tool_make, "--on TOPOLOGY is needed: graphs are counted up to its symmetries");
    if (r->weight_count > (r->grid.dimensions ? r->grid.dimensions : 2))
        return tool_bad_usage(&tool_make, "there are %u --weights and fewer dimensions", r->weight_count);
    if (r->list && r->output_dir)
        return tool_bad_usage(&tool_make, "--list and --output-dir exclude each other");
    if (r->list && r->json)
        return tool_bad_usage(&tool_make, "--list has a form of its own: --format is for --output-dir");
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

static int write_schedule(const struct request *r, struct hop_schedule *schedule, const char *path)
{
    char *text = r->json ? hop_schedule_to_json(schedule) : hop_schedule_to_text(schedule);
    if (!text)
        return tool_out_of_memory();
    int status = tool_write(path, text);
    free(text);
    return status;
}

static int run_pattern(struct request *r)
{
    struct hop_diag diag;
    struct hop_schedule *schedule;
    if (r->pattern->make(r, &schedule, &diag) != HOP_OK)
        return tool_fail(&diag);
    char command[480];
    make_show_command(r, command, sizeof command);
    int status = TOOL_BAD;
    if (hop_schedule_add_comment(schedule, "%s", command) == HOP_OK)
        status = write_schedule(r, schedule, r->output);
    else
        status = tool_out_of_memory();
    hop_schedule_destroy(schedule);
    return status;
}

/* ---- the command ---- */

static int read_arguments(struct request *r, int argc, char **argv, bool *help)
{
    int code;
    const char *name = NULL;
    tool_options_begin();
    while ((code = tool_option(&tool_make, argc, argv, "-:o:n:h", options)) != -1) {
        if (code == '?')
            return TOOL_BAD;
        if (code == 'h') {
            *help = true;
            return TOOL_OK;
        }
        if (code == 1 && name) /* a word that is no option */
            return tool_bad_usage(&tool_make, "one pattern at a time: '%s' or '%s'?", name, optarg);
        if (code == 1) {
            name = optarg;
            continue;
        }
        code = code == 'o' ? OPT_OUTPUT : code == 'n' ? OPT_RANKS : code;
        r->given |= BIT(code);
        if (!take_option(r, code, optarg))
            return TOOL_BAD;
    }
    if (optind < argc && !name)
        name = argv[optind++];
    if (optind < argc)
        return tool_bad_usage(&tool_make, "one pattern at a time: '%s' or '%s'?", name, argv[optind]);
    if (!name)
        return tool_bad_usage(&tool_make, "which pattern? There are %s", pattern_names);
    int status = find_pattern(r, name);
    if (status == TOOL_OK && r->given & (BIT(OPT_ALGORITHM) | BIT(OPT_LIST)) && has_collective(r->pattern))
        r->pattern = has_collective(r->pattern);
    return status == TOOL_OK ? check_options(r) : status;
}

static int run(int argc, char **argv)
{
    struct request r = {.argc = argc, .argv = argv, .bytes = 1 << 20, .steps = 10, .work_s = 30e-6, .max_transfers = 3};
    r.collective.type = HOP_TYPE_F32;
    r.random.seed = 1;
    bool help = false;
    int status = read_arguments(&r, argc, argv, &help);
    if (help)
        return tool_help(&tool_make);
    bool collective = status == TOOL_OK && r.pattern->make == make_collective;
    if (collective && r.list)
        return make_list_algorithms(&r);
    if (status == TOOL_OK && r.source)
        status =
            tool_load_topology(r.source, &(struct tool_words){(char **)r.sets, (uint32_t)r.set_count, 0}, &r.topology);
    if (status == TOOL_OK && (r.source || r.device_list))
        status = make_find_devices(&r);
    if (status == TOOL_OK && collective)
        status = make_spread_ranks(&r);
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
    .help =
        "Writes a schedule of a well-known pattern or collective.\n"
        "\n"
        "  --on TOPOLOGY         the machine: a built-in name, a file, `live`, or - for standard input\n"
        "  --set NAME=VALUE      change the topology (LINK.capacity=12GB/s, tau=0.1, ...); repeatable\n"
        "  --devices LIST        who takes part, in rank order: gpu0,gpu4 or ranges as in gpu0-7;\n"
        "                        by default all gpus of the topology, all nics where it has none\n"
        "  --bytes SIZE          of each transfer (1MiB)\n"
        "  --format hop|json     of the schedule (hop)\n"
        "  --json                the same as --format json\n"
        "  -o, --output FILE     where to write it (- : standard output)\n"
        "\n"
        "Patterns and their options:\n"
        "  halo      every rank sends to each neighbour in a grid\n"
        "            --grid 4x2 (nearly square) --weights 3,1 (1 each) --wrap\n"
        "  stencil   halo exchanges with work between them; those of halo, and\n"
        "            --steps N (10) --work TIME (30us)\n"
        "  alltoall  every rank sends to every other; --order naive|shift|xor (naive)\n"
        "  ring      every rank sends to the next, round after round; --rounds N (devices - 1)\n"
        "  scatter   the root sends to every other rank; --root RANK (0)\n"
        "  gather    every other rank sends to the root; --root RANK (0)\n"
        "  random    --transfers N (as many as devices) --seed S (1) --min-bytes SIZE --max-bytes SIZE\n"
        "            --distinct-sources --distinct-edges --depend P (0: chance to wait for an earlier one)\n"
        "  graphs    all sets of up to K transfers, one for each class under the topology's symmetries:\n"
        "            --max-transfers K (3); prints how many, or\n"
        "            --list (each as a line for `hopcast predict -e`) or --output-dir DIR (each a file)\n"
        "\n"
        "Collectives: allreduce, reduce, broadcast, allgather, reduce-scatter, barrier, and with --algorithm\n"
        "alltoall, gather, scatter: copies and reductions between the ranks' buffers (docs/collectives.md)\n"
        "  --algorithm NAME      how; by default what suits the devices. --list shows which there are. Two or three\n"
        "                        joined, as in gsb-btb-ring: within a device, across those of a node, across nodes; auto=FILE: by a table\n"
        "  -n, --ranks N         on the devices in order, as many on each; without --on and --devices on rank0,\n"
        "                        rank1, ..., for `hopcast predict --map` to place\n"
        "  --ranks-per-device K  on each device (1)\n"
        "  --bytes SIZE          that a rank puts in: its vector, or its part of an allgather or gather (1MiB)\n"
        "  --operator OP         sum, prod, min or max (sum)\n"
        "  --type TYPE           of the elements: f64, f32, f16, bf16, i32 or i64 (f32)\n"
        "  --root RANK           of reduce, broadcast, gather, scatter (0)\n"
        "  --in-place            one buffer in and out\n"
        "  --segment SIZE        pipelined in pieces of this size (chain, binomial, btb, gsb)\n"
        "\n"
        "Example: a two-dimensional halo exchange on eight GPUs, and how long it takes\n"
        "  hopcast make halo --on t2 --grid 4x2 --bytes 300MiB | hopcast predict - --on t2\n"
        "and an allreduce of four ranks on each of two of them\n"
        "  hopcast make allreduce --devices gpu0,gpu4 -n 8 --algorithm gsb-btb | hopcast predict - --on t2\n",
    .run = run,
};
