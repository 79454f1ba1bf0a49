/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast order: the best order of every source's sends, with a proof, or all orders (--all).
 *
 * Under mpirun every rank searches; rank 0 reads, prints and writes (order_ranks.c). SIGINT and SIGTERM end the search with
 * the best so far.
 */
#include "order.h"
#include "ranks.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CHUNKS_MAX = 4096, THREADS_MAX = 256 };
#define GAP_MAX 1000.0

/* ---- progress ---- */

struct watch {
    const struct order_request *request;
    const struct order_input *input;
    bool failed;   /* the best so far cannot be written */
    bool terminal; /* that someone looks at */
    bool shown;
    double shown_s;
    uint64_t shown_nodes;
    double nodes_per_s;
};

static void show_progress(struct watch *watch, const struct hop_order_progress *p)
{
    char best[32] = "none", bound[80] = "", rate[32];
    double passed = p->elapsed_s - watch->shown_s;
    if (p->elapsed_s < 1 || passed < 0.25)
        return;
    if (p->nodes >= watch->shown_nodes)
        watch->nodes_per_s = (double)(p->nodes - watch->shown_nodes) / passed;
    watch->shown_s = p->elapsed_s;
    watch->shown_nodes = p->nodes;
    watch->shown = true;
    if (isfinite(p->best_s))
        hop_show_seconds(p->best_s, best, sizeof best);
    if (watch->request->all)
        (void)snprintf(bound, sizeof bound, "%.1f %% of the orders", 100 * p->done);
    else if (p->bound_s > 0 && isfinite(p->best_s))
        (void)snprintf(bound, sizeof bound, "bound %s, gap %.2g %%", hop_show_seconds(p->bound_s, rate, sizeof rate),
                       100 * fmax(0, p->best_s / p->bound_s - 1));
    fprintf(stderr, "\r%.0f s: best %s, %s, %.2f M states/s  ", p->elapsed_s, best, bound, watch->nodes_per_s / 1e6);
    fflush(stderr);
}

static bool watch_search(const struct hop_order_progress *progress, void *context)
{
    struct watch *watch = context;
    if (watch->terminal)
        show_progress(watch, progress);
    return !ranks_stop;
}

/* Who is killed without notice leaves the best so far. */
static void keep_best(const struct hop_schedule *best, double value_s, void *context)
{
    struct watch *watch = context;
    char about[80], value[32];
    (void)snprintf(about, sizeof about, "%s, the search goes on", hop_show_seconds(value_s, value, sizeof value));
    if (!watch->failed)
        watch->failed = order_write(watch->request, watch->input, best, about) != TOOL_OK;
}

static void end_progress(const struct watch *watch, double elapsed_s, uint64_t nodes)
{
    if (watch->shown)
        fprintf(stderr, "\r%76s\r%.1f s, %" PRIu64 " states\n", "", elapsed_s, nodes);
}

/* ---- options that are values ---- */

static bool take_time(const char *option, const char *text, double *seconds)
{
    struct hop_diag diag;
    if (hop_parse_seconds(text, strlen(text), seconds, &diag) != HOP_OK) {
        tool_bad_usage(&tool_order, "%s: %s; %s is expected", option, diag.what, diag.expected);
        return false;
    }
    if (*seconds > 0)
        return true;
    tool_bad_usage(&tool_order, "%s cannot be '%s': a time above 0, such as 10s, is expected", option, text);
    return false;
}

static bool take_gap(const char *text, double *gap)
{
    char *end;
    double number = strtod(text, &end);
    bool fine = end != text && (strcmp(end, "%") == 0 || *end == '\0');
    if (fine && *end == '%')
        number /= 100;
    if (fine && number >= 0 && number <= GAP_MAX) {
        *gap = number;
        return true;
    }
    tool_bad_usage(&tool_order, "--gap cannot be '%s': a share such as 1%% or 0.01 is expected", text);
    return false;
}

static bool take_objective(const char *text, enum hop_order_objective *objective)
{
    static const char *const names[] = {"makespan", "mean", "marked"};
    for (int i = 0; i < 3; i++) {
        if (strcmp(text, names[i]) == 0) {
            *objective = (enum hop_order_objective)i;
            return true;
        }
    }
    tool_bad_usage(&tool_order, "--objective cannot be '%s': makespan, mean or marked is expected", text);
    return false;
}

/* ---- command line ---- */

static const struct option options[] = {
    {"expression", required_argument, NULL, 'e'},
    {"on", required_argument, NULL, 't'},
    {"model", required_argument, NULL, 'm'},
    {"set", required_argument, NULL, 's'},
    {"map", required_argument, NULL, 'P'},
    {"collective", required_argument, NULL, 'K'},
    {"all", no_argument, NULL, 'a'},
    {"allow-unclean", no_argument, NULL, 'u'},
    {"no-waits", no_argument, NULL, 'w'},
    {"objective", required_argument, NULL, 'O'},
    {"mark", required_argument, NULL, 'M'},
    {"chunks", required_argument, NULL, 'k'},
    {"count", no_argument, NULL, 'c'},
    {"time-limit", required_argument, NULL, 'l'},
    {"max-nodes", required_argument, NULL, 'n'},
    {"gap", required_argument, NULL, 'p'},
    {"threads", required_argument, NULL, 'd'},
    {"seed", required_argument, NULL, 'S'},
    {"checkpoint", required_argument, NULL, 'C'},
    {"checkpoint-every", required_argument, NULL, 'E'},
    {"svg", required_argument, NULL, 'v'},
    {"histogram", required_argument, NULL, 'H'},
    {"gantt", no_argument, NULL, 'g'},
    {"ascii", no_argument, NULL, 'A'},
    {"json", no_argument, NULL, 'j'},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* What was given, beyond the request itself. */
struct given {
    bool objective, seed, gap;
    int sources;
};

static bool take_source(struct order_request *r, struct given *given, const char *text, bool is_text)
{
    r->source = text;
    r->is_text = is_text;
    if (given->sources++ == 0)
        return true;
    tool_bad_usage(&tool_order, "one schedule at a time");
    return false;
}

static bool take_once(const char **value, const char *option, const char *text)
{
    if (*value) {
        tool_bad_usage(&tool_order, "%s is given twice", option);
        return false;
    }
    *value = text;
    return true;
}

static bool take_option(struct order_request *r, struct given *given, int code, const char *text)
{
    const struct tool_command *me = &tool_order;
    struct hop_order_options *o = &r->options;
    uint64_t number = 0;
    bool fine = true;
    switch (code) {
    case 'e':
        return take_source(r, given, text, true);
    case 't':
        return take_once(&r->machine, "--on", text);
    case 'm':
        return take_once(&o->models, "--model", text);
    case 'P':
        return take_once(&r->map, "--map", text);
    case 'K':
        return take_once(&r->collective, "--collective", text);
    case 's':
        if (r->set_count == ORDER_SETS_MAX) {
            tool_bad_usage(me, "more than %d --set", ORDER_SETS_MAX);
            return false;
        }
        r->sets[r->set_count++] = (char *)text;
        return true;
    case 'a':
        return r->all = true;
    case 'u':
        return o->allow_unclean = true;
    case 'w':
        return o->no_waits = true;
    case 'O':
        given->objective = true;
        return take_objective(text, &o->objective);
    case 'M':
        return take_once(&r->marks, "--mark", text);
    case 'k':
        return tool_whole(me, "--chunks", text, 1, CHUNKS_MAX, &r->chunks);
    case 'c':
        return o->count = true;
    case 'l':
        return take_time("--time-limit", text, &o->time_limit_s);
    case 'n':
        return tool_whole(me, "--max-nodes", text, 1, UINT64_MAX, &o->max_nodes);
    case 'p':
        given->gap = true;
        return take_gap(text, &o->gap);
    case 'd':
        fine = tool_whole(me, "--threads", text, 1, THREADS_MAX, &number);
        o->threads = (unsigned)number;
        return fine;
    case 'S':
        given->seed = true;
        return tool_whole(me, "--seed", text, 0, UINT64_MAX, &o->seed);
    case 'C':
        return take_once(&o->checkpoint, "--checkpoint", text);
    case 'E':
        return take_time("--checkpoint-every", text, &o->checkpoint_s);
    case 'v':
        return take_once(&r->svg, "--svg", text);
    case 'H':
        return take_once(&r->histogram, "--histogram", text);
    case 'g':
        return r->gantt = true;
    case 'A':
        return r->ascii = true;
    case 'j':
        return r->json = true;
    default: /* 'o' */
        return take_once(&r->output, "--output", text);
    }
}

static bool is_dash(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

static int check_options(struct order_request *r, const struct given *given)
{
    const struct tool_command *me = &tool_order;
    struct hop_order_options *o = &r->options;
    if (!r->source)
        return tool_bad_usage(me, "a schedule is missing (a file, - or -e 'gpu0 -> gpu1 1MiB; gpu0 -> gpu2 1MiB')");
    if (!r->machine)
        return tool_bad_usage(me, "--on TOPOLOGY is missing (`hopcast topology --list` shows built-in ones)");
    if ((!r->is_text && is_dash(r->source)) + is_dash(r->machine) + is_dash(r->map) > 1)
        return tool_bad_usage(
            me, "standard input (-) is read once: the schedule, the topology or the map can come from it");
    if (r->marks && given->objective && o->objective != HOP_ORDER_MARKED)
        return tool_bad_usage(me, "--mark is for --objective marked");
    if (r->marks)
        o->objective = HOP_ORDER_MARKED;
    else if (o->objective == HOP_ORDER_MARKED)
        return tool_bad_usage(me, "--objective marked needs --mark NAME,...");
    if (r->all && (o->count || o->no_waits || given->gap || given->seed))
        return tool_bad_usage(me, "--all tries every order: --count, --no-waits, --gap and --seed are without it");
    if (r->histogram && !r->all)
        return tool_bad_usage(me, "--histogram goes with --all");
    if (o->checkpoint_s > 0 && !o->checkpoint)
        return tool_bad_usage(me, "--checkpoint-every goes with --checkpoint");
    if (r->json && (r->gantt || r->ascii))
        return tool_bad_usage(me, "--json is without --gantt and --ascii");
    if (r->ascii && !r->gantt && !r->all)
        return tool_bad_usage(me, "--ascii goes with --gantt or --all");
    if (is_dash(r->output) + r->json + is_dash(r->svg) + is_dash(r->histogram) > 1)
        return tool_bad_usage(me, "standard output takes one of --json, --output -, --svg - and --histogram -");
    return TOOL_OK;
}

static int read_options(struct order_request *r, int argc, char **argv)
{
    struct given given = {0};
    tool_options_begin();
    for (int code; (code = tool_option(&tool_order, argc, argv, ":e:m:s:gjo:h", options)) != -1;) {
        if (code == 'h')
            return -1;
        if (code == '?' || !take_option(r, &given, code, optarg))
            return TOOL_BAD;
    }
    for (; optind < argc; optind++) {
        if (!take_source(r, &given, argv[optind], false))
            return TOOL_BAD;
    }
    return check_options(r, &given);
}

/* ---- input ---- */

static int cut_into_chunks(const struct order_request *r, struct order_input *input)
{
    struct hop_diag diag;
    struct hop_schedule *chunked;
    if (r->chunks <= 1)
        return TOOL_OK;
    if (hop_order_chunk(input->schedule, (uint32_t)r->chunks, &chunked, &diag) != HOP_OK)
        return tool_fail(&diag);
    hop_schedule_destroy(input->schedule);
    input->schedule = chunked;
    return TOOL_OK;
}

/* Ranks, where the schedule names some, become devices. */
static int place(const struct order_request *r, struct order_input *input)
{
    struct tool_map map;
    struct hop_schedule *placed = NULL;
    int status = tool_map_load(r->map, &map);
    if (status == TOOL_OK)
        status = tool_map_apply(&map, input->topology, input->schedule, &placed);
    tool_map_finish(&map);
    if (placed) {
        hop_schedule_destroy(input->schedule);
        input->schedule = placed;
    }
    return status;
}

static int load_input(const struct order_request *r, struct order_input *input)
{
    int status = tool_load_topology(r->machine, &(struct tool_words){(char **)r->sets, (uint32_t)r->set_count, 0},
                                    &input->topology);
    if (status != TOOL_OK)
        return status;
    status = tool_load_schedule(r->source, r->is_text, r->collective, &input->schedule);
    if (status != TOOL_OK)
        return status;
    status = place(r, input);
    return status == TOOL_OK ? cut_into_chunks(r, input) : status;
}

/* A file that cannot be written is found out before the search rather than after it. */
static int check_output(const char *path)
{
    char *folder = path ? strdup(path) : NULL, *slash = folder ? strrchr(folder, '/') : NULL;
    const char *written = path;
    int status = TOOL_OK;
    if (path && !folder)
        return tool_out_of_memory();
    if (path && !is_dash(path)) {
        if (access(path, F_OK) != 0) { /* a new one: its folder must take it */
            if (slash)
                slash[slash == folder] = '\0';
            written = slash ? folder : ".";
        }
        if (access(written, W_OK) != 0) {
            fprintf(stderr, "hopcast: cannot write '%s': %s\n", path, strerror(errno));
            status = TOOL_BAD;
        }
    }
    free(folder);
    return status;
}

static int check_outputs(const struct order_request *r)
{
    const char *const paths[] = {r->output, r->svg, r->histogram, r->options.checkpoint};
    int status = TOOL_OK;
    for (size_t i = 0; i < sizeof paths / sizeof paths[0] && status == TOOL_OK; i++)
        status = check_output(paths[i]);
    return status;
}

/* ---- marks ---- */

/* Edit distance, at most `limit` + 1. */
static size_t distance(const char *a, const char *b, size_t limit)
{
    size_t row[64], n = strlen(a), m = strlen(b);
    if (n >= 64 || m >= 64)
        return limit + 1;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0]++;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            diagonal = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[m];
}

static int unknown_mark(const struct hop_schedule *schedule, const char *name)
{
    const char *nearest = NULL;
    size_t least = 3;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        size_t far = distance(name, hop_schedule_op(schedule, i)->name, least);
        if (far < least) {
            least = far;
            nearest = hop_schedule_op(schedule, i)->name;
        }
    }
    fprintf(stderr, "hopcast: --mark: there is no operation '%s'\n  expected: ", name);
    if (nearest)
        fprintf(stderr, "'%s'?\n", nearest);
    else
        fprintf(stderr, "the name of one, such as %s\n", hop_schedule_op(schedule, 0)->name);
    return TOOL_BAD;
}

/* Whether an operation has that name, or is a chunk of what had it. */
static bool is_marked(const struct order_request *r, const char *op, const char *mark)
{
    size_t length = strlen(mark);
    if (strncmp(op, mark, length) != 0)
        return false;
    if (op[length] == '\0')
        return true;
    return r->chunks > 1 && op[length] == '.' && op[length + 1] &&
           strspn(op + length + 1, "0123456789") == strlen(op + length + 1);
}

static int mark(const struct order_request *r, const struct hop_schedule *schedule, const char *name, bool *marked)
{
    bool found = false;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        if (!is_marked(r, hop_schedule_op(schedule, i)->name, name))
            continue;
        marked[i] = true;
        found = true;
    }
    return found ? TOOL_OK : unknown_mark(schedule, name);
}

/* Fills options.marked from the names; the list is the caller's. */
static int find_marks(struct order_request *r, const struct hop_schedule *schedule, uint32_t **list)
{
    uint32_t ops = hop_schedule_count(schedule), count = 0;
    bool *marked = calloc((size_t)ops + 1, sizeof *marked);
    char *names = r->marks ? strdup(r->marks) : NULL, *rest = NULL;
    uint32_t *made = malloc(((size_t)ops + 1) * sizeof *made);
    int status = marked && made && (names || !r->marks) ? TOOL_OK : tool_out_of_memory();
    for (char *name = names ? strtok_r(names, ", ", &rest) : NULL; name && status == TOOL_OK;
         name = strtok_r(NULL, ", ", &rest))
        status = mark(r, schedule, name, marked);
    for (uint32_t i = 0; i < ops && status == TOOL_OK; i++) {
        if (marked[i])
            made[count++] = i;
    }
    if (status == TOOL_OK && r->marks && count == 0)
        status = tool_bad_usage(&tool_order, "--mark '%s' names no operation", r->marks);
    r->options.marked = made;
    r->options.marked_count = count;
    *list = made;
    free(marked);
    free(names);
    return status;
}

/* ---- the run ---- */

static int lost(struct hop_group *group, int rank)
{
    struct hop_diag diag = {.what = ""};
    (void)hop_group_lost(group, &diag);
    fflush(stdout);
    fprintf(stderr, "hopcast: rank %d was lost%s%s; what stands above is the best until then\n", rank,
            diag.what[0] ? ": " : "", diag.what);
    return TOOL_NEGATIVE;
}

/* Rank 0 shows, the others only search. */
static int search(struct order_request *r, const struct order_input *input, struct hop_group *group,
                  struct watch *watch)
{
    struct hop_diag diag;
    struct hop_order_result *result = NULL;
    struct hop_order_distribution *distribution = NULL;
    enum hop_status done =
        r->all ? hop_order_enumerate(input->topology, input->schedule, &r->options, &distribution, &diag)
               : hop_order_search(input->topology, input->schedule, &r->options, &result, &diag);
    int status = TOOL_OK;
    if (done == HOP_OK)
        end_progress(watch, r->all ? distribution->elapsed_s : result->elapsed_s,
                     r->all ? distribution->nodes : result->nodes);
    if (hop_group_rank(group) != 0) {
        status = done == HOP_OK ? TOOL_OK : TOOL_BAD;
    } else if (done != HOP_OK) {
        status = tool_fail(&diag);
    } else {
        int lost_rank = r->all ? distribution->lost_rank : result->lost_rank;
        status = r->all ? order_show_distribution(r, input, distribution) : order_show_result(r, input, result);
        if (lost_rank >= 0 && status != TOOL_BAD)
            status = lost(group, lost_rank);
    }
    hop_order_result_destroy(result);
    hop_order_distribution_destroy(distribution);
    return status;
}

/* "halo.hop on t2", names as they were given. */
static char *make_title(const struct order_request *r)
{
    const char *source = r->is_text ? "-e" : r->source;
    size_t size = strlen(source) + strlen(r->machine) + 8;
    char *title = malloc(size);
    if (title)
        (void)snprintf(title, size, "%s on %s", source, r->machine);
    return title;
}

static int run_in_group(struct order_request *r, struct hop_group *group, int argc, char **argv)
{
    struct order_input input = {0};
    struct watch watch = {.request = r, .input = &input};
    uint32_t *marks = NULL;
    bool first = hop_group_rank(group) == 0;
    int status = TOOL_OK;
    if (first) {
        status = read_options(r, argc, argv);
        if (status == TOOL_OK)
            status = load_input(r, &input);
        if (status == TOOL_OK)
            status = check_outputs(r);
        if (status == TOOL_OK)
            status = find_marks(r, input.schedule, &marks);
    }
    bool goes_on = order_group_share(group, &input, &status);
    if (goes_on && !first) { /* what rank 0 found fine */
        status = read_options(r, argc, argv);
        if (status == TOOL_OK)
            status = find_marks(r, input.schedule, &marks);
    }
    if (goes_on && status == TOOL_OK) {
        input.title = make_title(r);
        watch.terminal = first && isatty(STDERR_FILENO);
        r->options.group = group;
        r->options.progress = watch_search;
        r->options.improved = first && r->output && !is_dash(r->output) ? keep_best : NULL;
        r->options.context = &watch;
        status = input.title ? search(r, &input, group, &watch) : tool_out_of_memory();
    }
    hop_topology_destroy(input.topology);
    hop_schedule_destroy(input.schedule);
    free(input.title);
    free(marks);
    return status;
}

static int run(int argc, char **argv)
{
    static struct order_request r;
    struct hop_group *group;
    r = (struct order_request){.argc = argc, .argv = argv, .chunks = 1};
    int status = ranks_join(&group);
    if (status != TOOL_OK)
        return status;
    status = run_in_group(&r, group, argc, argv);
    if (status == -1)
        status = tool_help(&tool_order);
    return ranks_end(group, status);
}

const struct tool_command tool_order = {
    .name = "order",
    .summary = "the best order of every source's transfers, proved",
    .usage = "SCHEDULE --on TOPOLOGY [OPTION ...]",
    .help =
        "Searches the order in which every source sends, and says how far it is from the best possible; --all tries "
        "every\n"
        "order instead. SCHEDULE is a .hop or JSON file, or - for standard input. An order is clean if it loads no link\n"
        "above its limit; only clean ones count.\n"
        "\n"
        "  -e, --expression TEXT   a schedule as text, operations separated by ';'\n"
        "      --on TOPOLOGY       a built-in machine, a fabric such as star:16, a file of any dialect, or live\n"
        "  -m, --model NAME        pcie (the default on PCIe) or credit; fair (elsewhere); infiniband or infiniband-full\n"
        "                          on network fabrics; loggp for all; DOMAIN=NAME,... by domain (pcie*: all)\n"
        "  -s, --set NAME=VALUE    change the topology, as in tau=0.2 (see hopcast topology --help); may be repeated\n"
        "      --map MAP           where the ranks of a schedule go: packed (default), cyclic, or a file "
        "(hop_placement(3))\n"
        "      --collective KIND=ALGORITHM,...  how collectives of Chakra traces are made (docs/traces.md)\n"
        "      --chunks N          cut every copy into N pieces that are ordered each for itself\n"
        "\n"
        "      --objective WHAT    the end of the last transfer (makespan, the default), the mean of all ends (mean), "
        "the end of\n"
        "                          the last of those named by --mark (marked)\n"
        "      --mark NAME,...     what counts; implies --objective marked\n"
        "      --allow-unclean     orders that load a link above its limit count, too\n"
        "      --no-waits          sources never wait for each other where they could send\n"
        "\n"
        "      --all               every order: fastest, slowest, deciles, histogram, the rank of the given order\n"
        "      --count             also count the best orders\n"
        "      --time-limit TIME   stop after that, with the best so far; so do Ctrl-C and SIGTERM\n"
        "      --max-nodes N       stop after N states; with one thread, the same result each time\n"
        "      --gap SHARE         good enough: stop once the best is proved to be within 1% or so of the best "
        "possible\n"
        "      --threads N         default: one a processor; `mpirun hopcast order` shares the work over processes\n"
        "      --seed N            of the choices made at random\n"
        "      --checkpoint FILE   save what is done there, and go on from it; --checkpoint-every TIME (default 10s)\n"
        "\n"
        "  -o, --output FILE       write the best order there, as .hop (- for standard output, all else to standard "
        "error)\n"
        "      --svg FILE          draw its steps over the machine: the first sends of all sources, their second, ...\n"
        "      --histogram FILE    with --all: draw the distribution (SVG)\n"
        "  -g, --gantt             also show the best order's timeline; --ascii keeps this and the histogram to ASCII\n"
        "  -j, --json              everything, for machines (docs/order.schema.json)\n"
        "\n"
        "example: hopcast make halo --grid 2x2x2 --bytes 64MiB --on t2 | hopcast order - --on t2 -o best.hop\n",
    .run = run,
};
