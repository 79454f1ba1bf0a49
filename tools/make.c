/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast make: writes a schedule of a well-known pattern. */
#include "tool.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { DEVICES_MAX = 1 << 20, SETS_MAX = 64, FILES_MAX = 99999, NAME_SIZE = 64 };

/* Every option has a bit: a pattern lists those that it takes. */
enum option_code {
    OPT_ON = 256,
    OPT_SET,
    OPT_DEVICES,
    OPT_BYTES,
    OPT_FORMAT,
    OPT_JSON,
    OPT_OUTPUT,
    OPT_GRID,
    OPT_WEIGHTS,
    OPT_WRAP,
    OPT_STEPS,
    OPT_WORK,
    OPT_ORDER,
    OPT_ROUNDS,
    OPT_ROOT,
    OPT_TRANSFERS,
    OPT_SEED,
    OPT_MIN_BYTES,
    OPT_MAX_BYTES,
    OPT_DISTINCT_SOURCES,
    OPT_DISTINCT_EDGES,
    OPT_DEPEND,
    OPT_MAX_TRANSFERS,
    OPT_LIST,
    OPT_OUTPUT_DIR
};
#define BIT(code) (1u << ((code)-OPT_ON))
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
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

struct request {
    int argc; /* the command as given */
    char **argv;
    const struct pattern *pattern;
    uint32_t given; /* options, by bit */
    const char *source, *sets[SETS_MAX], *device_list;
    int set_count;
    struct hop_topology *topology;
    char (*names)[NAME_SIZE]; /* of devices; ranks.devices points into them */
    const char **devices;
    uint32_t name_capacity;
    struct hop_ranks ranks;
    uint64_t bytes;
    bool json;
    const char *output, *output_dir;
    bool list;
    struct hop_grid grid;
    unsigned weight_count;
    uint64_t steps, rounds, root, max_transfers;
    double work_s;
    enum hop_alltoall order;
    struct hop_random random;
    uint64_t transfers;
};

struct pattern {
    const char *name;
    uint32_t takes;
    enum hop_status (*make)(struct request *r, struct hop_schedule **schedule, struct hop_diag *diag);
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
};
enum { PATTERN_COUNT = sizeof patterns / sizeof patterns[0] };

static const char pattern_names[] = "halo, stencil, alltoall, ring, scatter, gather, random and graphs";

/* Edit distance of two short words. */
static size_t distance(const char *a, const char *b)
{
    size_t row[32], n = strlen(a), m = strlen(b);
    if (n >= 32 || m >= 32)
        return 32;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0]++;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[m];
}

static int find_pattern(struct request *r, const char *name)
{
    const char *nearest = NULL;
    size_t least = 3;
    for (size_t i = 0; i < PATTERN_COUNT; i++) {
        size_t far = distance(name, patterns[i].name);
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
    default: /* OPT_OUTPUT_DIR */
        return r->output_dir = text, true;
    }
}

/* The pattern takes every option that was given, and they go together. */
static int check_options(const struct request *r)
{
    uint32_t strange = r->given & ~r->pattern->takes;
    for (size_t i = 0; options[i].name && strange; i++) {
        if (options[i].val >= OPT_ON && strange & BIT(options[i].val))
            return tool_bad_usage(&tool_make, "the pattern %s takes no --%s", r->pattern->name, options[i].name);
    }
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

/* ---- devices ---- */

static int add_device(struct request *r, const char *name, size_t length)
{
    if (length == 0 || length >= NAME_SIZE)
        return tool_bad_usage(&tool_make, "--devices '%s' names no device at '%.*s'", r->device_list,
                              (int)(length < 80 ? length : 80), name);
    if (r->ranks.count == DEVICES_MAX)
        return tool_bad_usage(&tool_make, "more than %d devices take part", DEVICES_MAX);
    if (r->ranks.count == r->name_capacity) {
        uint32_t capacity = r->name_capacity ? 2 * r->name_capacity : 64;
        void *grown = realloc(r->names, capacity * sizeof *r->names);
        if (!grown) {
            fprintf(stderr, "hopcast: out of memory\n");
            return TOOL_BAD;
        }
        r->names = grown;
        r->name_capacity = capacity;
    }
    char *kept = r->names[r->ranks.count++];
    memcpy(kept, name, length);
    kept[length] = '\0';
    return TOOL_OK;
}

/* "gpu0-7": the parts of a range, or false. A leading zero in its first number asks for numbers of that width. */
static bool split_range(const char *item, size_t length, size_t *prefix, unsigned *first, unsigned *last, int *width)
{
    size_t end = length, dash, start;
    while (end > 0 && isdigit((unsigned char)item[end - 1]))
        end--;
    if (end == 0 || end == length || length - end > 9 || item[end - 1] != '-')
        return false;
    dash = start = end - 1;
    while (start > 0 && isdigit((unsigned char)item[start - 1]))
        start--;
    if (start == dash || start == 0 || dash - start > 9)
        return false;
    *prefix = start;
    *first = (unsigned)strtoul(item + start, NULL, 10);
    *last = (unsigned)strtoul(item + end, NULL, 10);
    *width = item[start] == '0' ? (int)(dash - start) : 1;
    return true;
}

static int add_item(struct request *r, const char *item, size_t length)
{
    char name[NAME_SIZE + 16];
    size_t prefix;
    unsigned first, last;
    int width, status = TOOL_OK;
    if (length >= NAME_SIZE || !split_range(item, length, &prefix, &first, &last, &width))
        return add_device(r, item, length);
    (void)snprintf(name, sizeof name, "%.*s", (int)length, item);
    if (r->topology && hop_topology_find(r->topology, name) != HOP_NONE) /* a name that looks like a range */
        return add_device(r, item, length);
    if (first > last)
        return tool_bad_usage(&tool_make, "--devices: the range '%s' goes down; it is written lowest first", name);
    for (unsigned i = first; i <= last && status == TOOL_OK; i++) {
        int written = snprintf(name, sizeof name, "%.*s%0*u", (int)prefix, item, width, i);
        status = add_device(r, name, (size_t)written);
    }
    return status;
}

/* Every device is one of the topology's. */
static int check_devices(const struct request *r)
{
    for (uint32_t i = 0; i < r->ranks.count; i++) {
        const char *name = r->names[i];
        uint32_t node = hop_topology_find(r->topology, name);
        if (node != HOP_NONE && hop_node_is_device(hop_topology_node(r->topology, node)->kind))
            continue;
        const char *nearest = hop_topology_nearest(r->topology, name);
        if (node != HOP_NONE)
            return tool_bad_usage(&tool_make, "--devices: %s is no device but a node of kind %s", name,
                                  hop_node_kind_name(hop_topology_node(r->topology, node)->kind));
        return tool_bad_usage(&tool_make, "--devices: topology %s has no device '%s'%s%s%s",
                              hop_topology_name(r->topology), name, nearest ? "; is " : "", nearest ? nearest : "",
                              nearest ? " meant?" : "");
    }
    return TOOL_OK;
}

static int find_devices(struct request *r)
{
    int status = TOOL_OK;
    if (r->device_list) {
        const char *at = r->device_list;
        for (bool more = true; more && status == TOOL_OK;) {
            size_t length = strcspn(at, ",");
            status = add_item(r, at, length);
            more = at[length] == ',';
            at += length + 1;
        }
        if (status == TOOL_OK && r->topology)
            status = check_devices(r);
    } else {
        const enum hop_node_kind kinds[] = {HOP_NODE_GPU, HOP_NODE_NIC}; /* a bare fabric has no GPUs, but ports of hosts */
        for (size_t k = 0; k < 2 && r->ranks.count == 0; k++) {
            for (uint32_t n = 0; n < hop_topology_node_count(r->topology) && status == TOOL_OK; n++) {
                const struct hop_node *node = hop_topology_node(r->topology, n);
                if (node->kind == kinds[k])
                    status = add_device(r, node->name, strlen(node->name));
            }
        }
        if (status == TOOL_OK && r->ranks.count == 0)
            return tool_bad_usage(&tool_make, "topology %s has no gpu and no nic: --devices says which devices take part",
                                  hop_topology_name(r->topology));
    }
    if (status != TOOL_OK)
        return status;
    r->devices = malloc(r->ranks.count * sizeof *r->devices);
    if (!r->devices) {
        fprintf(stderr, "hopcast: out of memory\n");
        return TOOL_BAD;
    }
    for (uint32_t i = 0; i < r->ranks.count; i++)
        r->devices[i] = r->names[i];
    r->ranks.devices = r->devices;
    return TOOL_OK;
}

/* ---- output ---- */

/* The command on one line, for the head of the schedule: words with other than plain characters are quoted. */
static void show_command(const struct request *r, char *text, size_t size)
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
    if (!text) {
        fprintf(stderr, "hopcast: out of memory\n");
        return TOOL_BAD;
    }
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
    show_command(r, command, sizeof command);
    int status = TOOL_BAD;
    if (hop_schedule_add_comment(schedule, "%s", command) == HOP_OK)
        status = write_schedule(r, schedule, r->output);
    else
        fprintf(stderr, "hopcast: out of memory\n");
    hop_schedule_destroy(schedule);
    return status;
}

/* ---- graphs ---- */

/* What the visitor keeps between graphs. */
struct gathering {
    const struct request *request;
    uint32_t size;
    uint64_t of_size, number;
    int status;
};

static void print_size(const struct gathering *g)
{
    printf("%9" PRIu32 "  %12" PRIu64 "\n", g->size, g->of_size);
    (void)fflush(stdout); /* the next size takes longer */
}

static bool count_graph(const struct hop_schedule *graph, void *context)
{
    struct gathering *g = context;
    uint32_t size = hop_schedule_count(graph);
    if (size != g->size) {
        if (g->size)
            print_size(g);
        g->size = size;
        g->of_size = 0;
    }
    g->of_size++;
    return true;
}

static bool list_graph(const struct hop_schedule *graph, void *context)
{
    struct gathering *g = context;
    char bytes[32];
    for (uint32_t i = 0; i < hop_schedule_count(graph); i++) {
        const struct hop_op *op = hop_schedule_op(graph, i);
        printf("%s%s -> %s %s", i ? "; " : "", op->from.device, op->to.device,
               hop_format_bytes(op->bytes, bytes, sizeof bytes));
    }
    if (putchar('\n') == EOF)
        g->status = TOOL_BAD;
    return g->status == TOOL_OK;
}

/* The text of a graph's file, the command at its head; NULL: out of memory. */
static char *graph_text(const struct request *r, const struct hop_schedule *graph)
{
    if (r->json)
        return hop_schedule_to_json(graph);
    char command[480], *text = hop_schedule_to_text(graph);
    size_t size = text ? strlen(text) + sizeof command + 8 : 0;
    char *whole = text ? malloc(size) : NULL;
    show_command(r, command, sizeof command);
    if (whole)
        (void)snprintf(whole, size, "# %s\n%s", command, text);
    free(text);
    return whole;
}

static bool file_graph(const struct hop_schedule *graph, void *context)
{
    struct gathering *g = context;
    if (++g->number > FILES_MAX) {
        g->status = tool_bad_usage(
            &tool_make, "there are more than %d graphs, too many for files; --list prints any number", FILES_MAX);
        return false;
    }
    size_t size = strlen(g->request->output_dir) + 32;
    char *path = malloc(size);
    char *text = graph_text(g->request, graph);
    if (path && text) {
        (void)snprintf(path, size, "%s/graph-%05" PRIu64 ".%s", g->request->output_dir, g->number,
                       g->request->json ? "json" : "hop");
        g->status = tool_write(path, text);
    } else {
        fprintf(stderr, "hopcast: out of memory\n");
        g->status = TOOL_BAD;
    }
    free(path);
    free(text);
    return g->status == TOOL_OK;
}

static int run_graphs(struct request *r)
{
    struct hop_diag diag;
    struct gathering g = {.request = r, .status = TOOL_OK};
    uint64_t count;
    if (r->output_dir && mkdir(r->output_dir, 0777) != 0 && errno != EEXIST) {
        fprintf(stderr, "hopcast: cannot make the directory %s: %s\n", r->output_dir, strerror(errno));
        return TOOL_BAD;
    }
    hop_graph_visitor *each = r->output_dir ? file_graph : r->list ? list_graph : count_graph;
    if (each == count_graph)
        printf("transfers        graphs\n");
    enum hop_status status =
        hop_make_graphs(&r->ranks, r->topology, (uint32_t)r->max_transfers, r->bytes, each, &g, &count, &diag);
    if (g.status == TOOL_OK && status != HOP_OK)
        return tool_fail(&diag);
    if (g.status == TOOL_OK && each == count_graph) {
        if (g.size)
            print_size(&g);
        printf("%9s  %12" PRIu64 "\n", "all", count);
    }
    if (fflush(stdout) != 0 || ferror(stdout)) {
        fprintf(stderr, "hopcast: cannot write to standard output: %s\n", strerror(errno));
        return TOOL_BAD;
    }
    return g.status;
}

/* ---- the command ---- */

static int read_arguments(struct request *r, int argc, char **argv, bool *help)
{
    int code;
    const char *name = NULL;
    tool_options_begin();
    while ((code = tool_option(&tool_make, argc, argv, "-:o:h", options)) != -1) {
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
        if (code == 'o')
            code = OPT_OUTPUT;
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
    return status == TOOL_OK ? check_options(r) : status;
}

static int run(int argc, char **argv)
{
    struct request r = {.argc = argc, .argv = argv, .bytes = 1 << 20, .steps = 10, .work_s = 30e-6, .max_transfers = 3};
    r.random.seed = 1;
    bool help = false;
    int status = read_arguments(&r, argc, argv, &help);
    if (help)
        return tool_help(&tool_make);
    if (status == TOOL_OK && r.source)
        status = tool_load_topology(r.source, (char *const *)r.sets, r.set_count, &r.topology);
    if (status == TOOL_OK)
        status = find_devices(&r);
    if (status == TOOL_OK)
        status = r.pattern->make ? run_pattern(&r) : run_graphs(&r);
    hop_topology_destroy(r.topology);
    free(r.names);
    free(r.devices);
    return status;
}

const struct tool_command tool_make = {
    .name = "make",
    .summary = "write a schedule: halo, stencil, alltoall, ring, scatter, gather, random, graphs",
    .usage = "PATTERN [--on TOPOLOGY] [--devices LIST] [--bytes SIZE] [-o FILE] [OPTION ...]",
    .help = "Writes a schedule of a well-known pattern.\n"
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
            "Example: a two-dimensional halo exchange on eight GPUs, and how long it takes\n"
            "  hopcast make halo --on t2 --grid 4x2 --bytes 300MiB | hopcast predict - --on t2\n",
    .run = run,
};
