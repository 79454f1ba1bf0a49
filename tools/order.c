/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast order: the best order of every source's sends, with a proof, or all orders (--all).
 *
 * Under mpirun every rank searches; rank 0 reads, prints and writes (ranks_input.c). SIGINT and SIGTERM end the search with
 * the best so far.
 */
#include "order.h"
#include "options_shared.h"
#include "ranks.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { CHUNKS_MAX = 4096, THREADS_MAX = 256 };

/* ---- progress ---- */

struct watch {
    const struct order_request *request;
    const struct order_input *input;
    bool failed; /* the best so far could not be written */
    struct tool_ticker ticker;
    uint64_t shown_nodes;
    double nodes_per_s;
};

static void show_progress(struct watch *watch, const struct hop_order_progress *p)
{
    char best[32] = "none", bound[96] = "";
    if (p->nodes >= watch->shown_nodes)
        watch->nodes_per_s = (double)(p->nodes - watch->shown_nodes) / watch->ticker.passed_s;
    watch->shown_nodes = p->nodes;
    if (isfinite(p->best_s))
        hop_show_seconds(p->best_s, best, sizeof best);
    if (watch->request->all)
        (void)snprintf(bound, sizeof bound, "%.1f %% of the orders, ", 100 * p->done);
    else if (p->bound_s > 0 && isfinite(p->best_s))
        (void)snprintf(bound, sizeof bound, "bound %s, gap %s %%, ", SECONDS(p->bound_s),
                       PERCENT(fmax(0, p->best_s / p->bound_s - 1), 2));
    tool_tick_show(&watch->ticker, "%.0f s: best %s, %s%.2f M states/s", p->elapsed_s, best, bound,
                   watch->nodes_per_s / 1e6);
}

static bool watch_search(const struct hop_order_progress *progress, void *context)
{
    struct watch *watch = context;
    if (tool_tick(&watch->ticker))
        show_progress(watch, progress);
    return !ranks_stop;
}

/* Who is killed without notice leaves the best so far. */
static void keep_best(const struct hop_schedule *best, double value_s, void *context)
{
    struct watch *watch = context;
    char about[80];
    (void)snprintf(about, sizeof about, "%s, the search goes on", SECONDS(value_s));
    watch->failed = watch->failed || !order_write(watch->request, watch->input, best, about);
}

static void end_progress(const struct watch *watch, double elapsed_s, uint64_t nodes)
{
    tool_tick_end(&watch->ticker);
    if (watch->ticker.shown)
        fprintf(stderr, "%.1f s, %" PRIu64 " states\n", elapsed_s, nodes);
}

/* ---- options ---- */

static const struct tool_option table[] = {
    SHARED(schedule, AT(order_request, input.schedules), .high = 1, .missing = SCHEDULE_IS_MISSING),
    SHARED(expression, AT(order_request, input.schedules), .high = 1),
    SHARED(on, AT(order_request, input.machine), .missing = ON_IS_MISSING),
    SHARED(model, AT(order_request, options.models)),
    SHARED(set, AT(order_request, input.sets)),
    SHARED(map, AT(order_request, input.map)),
    SHARED(collective, AT(order_request, input.collective)),
    OPTION("chunks", 0, WHOLE, AT(order_request, chunks), "N",
           "cut every copy into N pieces that are ordered each for itself", .low = 1, .high = CHUNKS_MAX),
    HEADING("What is searched:"),
    OPTION("objective", 0, CHOICE, AT(order_request, options.objective), NULL,
           "the end of the last transfer (makespan, the default), the mean of all ends (mean), the end of the last of "
           "those named by --mark (marked)",
           .choices = "makespan mean marked"),
    OPTION("mark", 0, NAMES, AT(order_request, marks), "NAME,...", "what counts; implies --objective marked",
           .once = true),
    FLAG("allow-unclean", 0, AT(order_request, options.allow_unclean),
         "orders that load a link above its limit count, too"),
    FLAG("no-waits", 0, AT(order_request, options.no_waits), "sources never wait for each other where they could send"),
    HEADING("How:"),
    FLAG("all", 0, AT(order_request, all),
         "every order: fastest, slowest, deciles, histogram, the rank of the given order",
         .excludes = "count no-waits gap seed"),
    FLAG("count", 0, AT(order_request, options.count), "also count the best orders"),
    FLAG("robust", 0, AT(order_request, robust),
         "also the order of least regret over the models that apply and the ends of what parameters may be; it is what "
         "--output gets",
         .excludes = "all"),
    OPTION("time-limit", 0, TIME, AT(order_request, options.time_limit_s), "TIME",
           "stop after that, with the best so far; so do Ctrl-C and SIGTERM", .least = 1e-9),
    OPTION("max-nodes", 0, WHOLE, AT(order_request, options.max_nodes), "N",
           "stop after N states; with one thread, the same result each time", .low = 1),
    SHARED(gap, AT(order_request, options.gap)),
    OPTION("threads", 0, COUNT, AT(order_request, options.threads), "N",
           "default: one a processor; `mpirun hopcast order` shares the work over processes", .low = 1,
           .high = THREADS_MAX),
    SHARED(seed, AT(order_request, options.seed), .help = "of the choices made at random"),
    OPTION("checkpoint", 0, TEXT, AT(order_request, options.checkpoint), "FILE",
           "save what is done there, and go on from it", .use = USE_FILE, .once = true),
    OPTION("checkpoint-every", 0, TIME, AT(order_request, options.checkpoint_s), "TIME", "how often (10s)",
           .least = 1e-9, .needs = "checkpoint"),
    HEADING("What is shown:"),
    SHARED(output, AT(order_request, output), .once = true,
           .help = "write the best order there, as .hop (- for standard output, all else to standard error)"),
    OPTION("svg", 0, TEXT, AT(order_request, svg), "FILE",
           "draw its steps over the machine: the first sends of all sources, their second, ...", .use = USE_OUTPUT,
           .once = true),
    OPTION("histogram", 0, TEXT, AT(order_request, histogram), "FILE", "with --all: draw the distribution (SVG)",
           .use = USE_OUTPUT, .once = true, .needs = "all"),
    SHARED(gantt, AT(order_request, gantt), .help = "also show the best order's timeline"),
    SHARED(ascii, AT(order_request, ascii), .needs = "gantt all", .help = "keep this and the histogram to ASCII"),
    SHARED(json, AT(order_request, json), .use = USE_PRINT, .excludes = "gantt ascii",
           .help = "everything, for machines (docs/order.schema.json)"),
    END_OF_OPTIONS,
};

static void read_options(struct order_request *r, int argc, char **argv)
{
    tool_read(&tool_order, argc, argv, r);
    if (r->marks.count && tool_given(&r->given, "objective") && r->options.objective != HOP_ORDER_MARKED)
        tool_bad_usage(&tool_order, "--mark is for --objective marked");
    if (!r->marks.count && r->options.objective == HOP_ORDER_MARKED)
        tool_bad_usage(&tool_order, "--objective marked needs --mark NAME,...");
    if (r->marks.count)
        r->options.objective = HOP_ORDER_MARKED;
}

/* ---- input ---- */

static void load_input(const struct order_request *r, struct order_input *input)
{
    input->schedule = tool_load_input(&r->input, &input->topology);
    if (r->chunks > 1) {
        tool_try(hop_order_chunk(input->schedule, (uint32_t)r->chunks, &input->schedule, &tool_diag));
        (void)tool_have(input->schedule);
    }
}

/* ---- marks ---- */

static const char *name_at(const void *schedule, uint32_t i)
{
    return hop_schedule_op(schedule, i)->name;
}

static _Noreturn void unknown_mark(const struct hop_schedule *schedule, const char *name)
{
    uint32_t nearest = hop_text_nearest(name, name_at, schedule, hop_schedule_count(schedule));
    bool near = nearest != UINT32_MAX;
    (void)hop_fail(&tool_diag, HOP_ERR_NOT_FOUND, "there is no operation '%s'\n%s%s%s", name,
                   near ? "'" : "the name of one, such as ", name_at(schedule, near ? nearest : 0), near ? "'?" : "");
    hop_diag_place(&tool_diag, "--mark");
    tool_fail(&tool_diag);
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

/* Fills options.marked from the names. */
static void find_marks(struct order_request *r, const struct hop_schedule *schedule)
{
    uint32_t ops = hop_schedule_count(schedule), *list = tool_alloc(ops, sizeof *list);
    bool *found = tool_alloc(r->marks.count, sizeof *found);
    r->options.marked = list;
    for (uint32_t i = 0; i < ops; i++) {
        bool marked = false;
        for (uint32_t m = 0; m < r->marks.count; m++) {
            bool it_is = is_marked(r, hop_schedule_op(schedule, i)->name, r->marks.at[m]);
            found[m] = found[m] || it_is;
            marked = marked || it_is;
        }
        if (marked)
            list[r->options.marked_count++] = i;
    }
    for (uint32_t m = 0; m < r->marks.count; m++) {
        if (!found[m])
            unknown_mark(schedule, r->marks.at[m]);
    }
}

/* ---- the run ---- */

/* Rank 0 shows, the others only search. */
static int search(struct order_request *r, const struct order_input *input, struct hop_group *group,
                  struct watch *watch)
{
    static struct hop_order_result *result;
    static struct hop_order_distribution *distribution;
    static struct hop_order_robust *robust;
    struct hop_diag diag;
    enum hop_status done =
        r->all ? hop_order_enumerate(input->topology, input->schedule, &r->options, &distribution, &diag)
               : hop_order_search(input->topology, input->schedule, &r->options, &result, &diag);
    if (done == HOP_OK && r->robust && hop_group_rank(group) == 0 && result->best && !ranks_stop)
        done = hop_order_robust(input->topology, input->schedule, &r->options, result->best, &robust, &diag);
    if (done == HOP_OK)
        end_progress(watch, r->all ? distribution->elapsed_s : result->elapsed_s,
                     r->all ? distribution->nodes : result->nodes);
    if (hop_group_rank(group) != 0)
        return done == HOP_OK ? TOOL_OK : TOOL_BAD;
    if (done != HOP_OK)
        tool_fail(&diag);
    int lost_rank = r->all ? distribution->lost_rank : result->lost_rank;
    int status = r->all ? order_show_distribution(r, input, distribution) : order_show_result(r, input, result, robust);
    return lost_rank >= 0 ? ranks_lost(group, lost_rank) : status;
}

static int run(int argc, char **argv)
{
    static struct order_request r = {.chunks = 1};
    static struct order_input input;
    struct watch watch = {.request = &r, .input = &input};
    struct hop_group *group = ranks_join();
    bool first = hop_group_rank(group) == 0;
    if (first) {
        ranks_read(group);
        read_options(&r, argc, argv);
        load_input(&r, &input);
        tool_check_outputs(&r.given);
        find_marks(&r, input.schedule);
        ranks_catch();
        ranks_send_input(group, &(struct ranks_input){input.topology, input.schedule, NULL});
    } else { /* what rank 0 found fine */
        struct ranks_input read;
        ranks_catch();
        if (!ranks_receive_input(group, &read))
            return TOOL_OK;
        input.topology = read.topology;
        input.schedule = read.schedule;
        read_options(&r, argc, argv);
        find_marks(&r, input.schedule);
    }
    input.title = tool_text("%s on %s", tool_source_name(r.input.schedules.at[0]), r.input.machine);
    watch.ticker = tool_tick_begin();
    watch.ticker.terminal = watch.ticker.terminal && first;
    r.options.group = group;
    r.options.time_limit_s /= r.robust ? 2 : 1; /* half for the best order */
    r.options.progress = watch_search;
    r.options.improved = first && r.output && strcmp(r.output, "-") != 0 ? keep_best : NULL;
    r.options.context = &watch;
    return search(&r, &input, group, &watch);
}

const struct tool_command tool_order = {
    .name = "order",
    .summary = "the best order of every source's transfers, proved",
    .usage = "SCHEDULE --on TOPOLOGY [OPTION ...]",
    .about =
        "Searches the order in which every source sends, and says how far it is from the best possible; --all tries\n"
        "every order instead. SCHEDULE is a .hop or JSON file, or - for standard input. An order is clean if it\n"
        "loads no link above its limit; only clean ones count.\n"
        "\n",
    .options = table,
    .notes =
        "example: hopcast make halo:2x2x2,order=column --bytes 64MiB --on t2 | hopcast order - --on t2 -o best.hop\n",
    .run = run,
};
