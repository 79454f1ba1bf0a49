/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast sweep: many predictions, the cross product of schedules, topologies, models, assignments, maps and sizes, or
 * a list of cases from a file; by one process or by the ranks of mpirun, with the same rows.
 *
 * Rank 0 reads the input, hands out cases and writes; the others are sent what they need. SIGINT and SIGTERM end the
 * sweep with the rows that are complete.
 */
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/clock.h"
#include "options_shared.h"
#include "ranks.h"
#include "sweep.h"

enum { BEST_MAX = 1 << 20, LINES_MAX = 1 << 24 };

struct request {
    struct tool_given given;
    struct sweep_product product;
    const char *cases, *output, *collective;
    uint64_t best;
    bool json, keep_going, sources_unlimited;
};

/* ---- options ---- */

#define AXIS(name) AT(request, product.of[SWEEP_##name])
/* What a line of --cases can say, too. */
#define AXIS_NAMES "expression on model set map bytes scale-bytes"
static const struct tool_option table[] = {
    SHARED(schedule, AXIS(SCHEDULES)),
    SHARED(expression, AXIS(SCHEDULES), .help = "a schedule as text, operations separated by ';'; may be repeated"),
    SHARED(on, AXIS(MACHINES), .kind = OPTION_LIST),
    SHARED(model, AXIS(MODELS), .kind = OPTION_LIST),
    SHARED(set, AXIS(SETS), .argument = "NAME=VALUES",
           .help = "change the topology (see hopcast topology --help); VALUES is V,V,... where a V may be a range, "
                   "LOW:HIGH:STEP or LOW:HIGH*FACTOR"),
    SHARED(map, AXIS(MAPS), .kind = OPTION_NAMES, .argument = "MAPS",
           .help = "where the ranks of a schedule go: MAP,MAP,... of packed (default), cyclic and files of "
                   "hop_placement(3)"),
    SHARED(collective, AT(request, collective)),
    OPTION("bytes", 0, LIST, AXIS(SIZES), "SIZES", "every transfer has that size, as in 64KiB:1MiB*2"),
    OPTION("scale-bytes", 0, LIST, AXIS(SCALES), "LIST", "all sizes times a factor, as in 0.5,1,2"),
    OPTION(
        "cases", 0, TEXT, AT(request, cases), "FILE",
        "a line a case, or a product: the words above, as in `a.hop --on t2 --set tau=0.1`; what a line does not say "
        "is taken from here",
        .use = USE_INPUT, .once = true),
    SHARED(sources_unlimited, AT(request, sources_unlimited)),
    FLAG("keep-going", 0, AT(request, keep_going),
         "a case that fails has its reason in the column error; else it ends the sweep"),
    OPTION("best", 0, WHOLE, AT(request, best), "N", "also a table of the N fastest cases", .low = 1, .high = BEST_MAX),
    SHARED(output, AT(request, output), .once = true, .help = "write the rows there"),
    SHARED(json, AT(request, json), .help = "everything as JSON, at the end (docs/sweep.schema.json)"),
    END_OF_OPTIONS,
};

static void check_product(const struct sweep_product *product, bool cases_from_input)
{
    const enum sweep_axis inputs[] = {SWEEP_SCHEDULES, SWEEP_MACHINES, SWEEP_MAPS};
    uint32_t dashes = cases_from_input;
    if (!product->of[SWEEP_SCHEDULES].count)
        tool_bad_usage(&tool_sweep, SCHEDULE_IS_MISSING);
    if (!product->of[SWEEP_MACHINES].count)
        tool_bad_usage(&tool_sweep, ON_IS_MISSING);
    for (size_t k = 0; k < HOP_COUNT(inputs); k++) {
        const struct tool_words *words = &product->of[inputs[k]];
        for (uint32_t i = 0; i < words->count; i++)
            dashes += strcmp(words->at[i], k == 0 ? "f-" : "-") == 0;
    }
    if (dashes > 1) /* which gives its text but once */
        tool_bad_usage(&tool_sweep,
                       "standard input (-) is read once: one schedule, one topology, one map or the cases");
}

/* ---- cases from a file ---- */

static bool is_set_in(const struct tool_words *sets, const char *set)
{
    size_t length = strcspn(set, "=");
    for (uint32_t i = 0; i < sets->count; i++) {
        if (strcspn(sets->at[i], "=") == length && memcmp(sets->at[i], set, length) == 0)
            return true;
    }
    return false;
}

/* What the line does not say, the command line does; its --set stand first. */
static struct sweep_product inherit(const struct sweep_product *own, const struct sweep_product *from)
{
    bool sized = own->of[SWEEP_SIZES].count || own->of[SWEEP_SCALES].count;
    struct sweep_product line = {0};
    for (size_t k = 0; k < SWEEP_AXES; k++) {
        bool sets = k == SWEEP_SETS, size = k == SWEEP_SIZES || k == SWEEP_SCALES;
        for (uint32_t i = 0; i < from->of[k].count; i++) {
            if (sets ? !is_set_in(&own->of[k], from->of[k].at[i]) : size ? !sized : !own->of[k].count)
                tool_words_add(&line.of[k], from->of[k].at[i]);
        }
        for (uint32_t i = 0; i < own->of[k].count; i++)
            tool_words_add(&line.of[k], own->of[k].at[i]);
    }
    return line;
}

static void read_line(const struct request *r, uint32_t number, const char *text, struct sweep_list *list,
                      struct hop_sweep *sweep)
{
    struct hop_arena kept = tool_arena; /* its words last as long as the line: there may be millions */
    struct tool_words words = {0};
    struct request line = {0};
    struct sweep_product product = {0};
    tool_arena = (struct hop_arena){0};
    tool_where = tool_text("in %s:%" PRIu32, strcmp(r->cases, "-") == 0 ? "(standard input)" : r->cases, number);
    tool_words_add(&words, "sweep");
    sweep_cut_line(text, &words);
    if (words.count > 1) {
        tool_read(&tool_sweep, (int)words.count, words.at, &line);
        if (tool_given_beyond(&line.given, AXIS_NAMES))
            tool_bad_usage(&tool_sweep,
                           "a case is schedules, -e, --on, --model, --set, --map, --bytes and --scale-bytes");
        product = inherit(&line.product, &r->product);
        check_product(&product, strcmp(r->cases, "-") == 0);
    }
    struct hop_arena of_line = tool_arena;
    tool_arena = kept;
    if (words.count > 1)
        sweep_add_product(list, sweep, &product);
    hop_arena_finish(&of_line);
}

static void read_cases(const struct request *r, struct sweep_list *list, struct hop_sweep *sweep)
{
    bool standard = strcmp(r->cases, "-") == 0;
    FILE *file = standard ? stdin : fopen(r->cases, "r");
    char *line = NULL;
    size_t capacity = 0;
    uint32_t number = 0;
    if (!file)
        tool_try_at(hop_fail(&tool_diag, HOP_ERR_IO, "cannot open: %s", strerror(errno)), "%.200s", r->cases);
    while (getline(&line, &capacity, file) >= 0) {
        if (++number > LINES_MAX)
            tool_bad_usage(&tool_sweep, "more than %d lines", LINES_MAX);
        read_line(r, number, line, list, sweep);
    }
    tool_where = NULL;
    if (ferror(file))
        tool_try_at(hop_fail(&tool_diag, HOP_ERR_IO, "cannot read: %s", strerror(errno)), "%.200s", r->cases);
    free(line);
    if (!standard)
        (void)fclose(file);
    if (list->count == 0)
        tool_bad_usage(&tool_sweep, "%s holds no case", r->cases);
}

/* ---- the run ---- */

struct watch {
    struct sweep_show show;
    uint32_t cases;
    struct tool_ticker ticker;
};

static bool take_result(uint32_t index, const struct hop_sweep_result *result, void *context)
{
    struct watch *watch = context;
    const struct hop_diag *refusal = watch->show.list->cases[index].refusal;
    struct hop_sweep_result refused = {.status = HOP_ERR_INVALID, .diag = refusal, .slowest = HOP_NONE};
    return sweep_show_result(&watch->show, index, refusal ? &refused : result);
}

static bool watch_run(uint32_t done, void *context)
{
    struct watch *watch = context;
    if (tool_tick(&watch->ticker)) {
        double passed_s = watch->ticker.shown_s - watch->ticker.begun_s;
        tool_tick_show(&watch->ticker, "%" PRIu32 " of %" PRIu32 " cases, %.0f s, %.0f cases/s", done, watch->cases,
                       passed_s, done / passed_s);
    }
    return !ranks_stop;
}

static void end_progress(const struct watch *watch, uint32_t done)
{
    tool_tick_end(&watch->ticker);
    if (watch->ticker.terminal)
        fprintf(stderr, "%" PRIu32 " cases in %.3g s\n", done, hop_now_s() - watch->ticker.begun_s);
}

static int say_culprit(const struct sweep_list *list, uint32_t index)
{
    if (index != HOP_NONE && index < list->count)
        tool_warn("case %" PRIu32 " (%s):", index + 1, sweep_describe(list, index));
    return tool_say(&tool_diag);
}

/* Why not all cases have a row. */
static int say_end(const struct sweep_list *list, const struct hop_sweep_summary *summary)
{
    if (summary->lost_rank >= 0) {
        tool_warn("rank %d was lost%s%s", summary->lost_rank, summary->lost.what[0] ? ": " : "", summary->lost.what);
        if (summary->lost_count)
            tool_warn("rank %d had cases %" PRIu32 " to %" PRIu32, summary->lost_rank, summary->lost_first + 1,
                      summary->lost_first + summary->lost_count);
    }
    if (!summary->complete)
        tool_warn("stopped; %" PRIu32 " of %" PRIu32 " cases are complete", summary->done, list->count);
    if (summary->failed)
        tool_warn("%" PRIu32 " of %" PRIu32 " cases failed, see their column error", summary->failed, list->count);
    return summary->complete && !summary->failed ? TOOL_OK : TOOL_NEGATIVE;
}

/* When the input is bad the others are told so by a sweep without cases. */
static struct hop_group *group;

static int give_up(int status)
{
    const struct hop_sweep_options how = {.group = group};
    struct hop_sweep *empty;
    struct hop_sweep_summary summary;
    if (hop_sweep_create(&empty, NULL) == HOP_OK) {
        (void)hop_sweep_run(empty, &how, &summary, NULL);
        hop_sweep_destroy(empty);
    }
    return ranks_end(group, status);
}

/* Rank 0. */
static int lead(struct hop_sweep *sweep, int argc, char **argv)
{
    static struct request r;
    static struct sweep_list list;
    static struct watch watch = {.show = {.list = &list, .file = -1}};
    struct hop_sweep_summary summary;
    watch.ticker = tool_tick_begin();
    tool_at_end(give_up);
    tool_read(&tool_sweep, argc, argv, &r);
    list.collective = r.collective;
    list.keep_going = r.keep_going;
    watch.show.json = r.json;
    if (r.cases) {
        read_cases(&r, &list, sweep);
    } else {
        check_product(&r.product, false);
        sweep_add_product(&list, sweep, &r.product);
    }
    sweep_show_open(&watch.show, r.output);
    watch.cases = list.count;
    ranks_end_with(group);
    ranks_catch();
    const struct hop_sweep_options how = {.group = group,
                                          .keep_going = r.keep_going,
                                          .sources_unlimited = r.sources_unlimited,
                                          .result = take_result,
                                          .progress = watch_run,
                                          .context = &watch};
    enum hop_status done = hop_sweep_run(sweep, &how, &summary, &tool_diag);
    end_progress(&watch, summary.done);
    bool written = sweep_show_close(&watch.show, &summary, done == HOP_OK);
    if (done != HOP_OK)
        return say_culprit(&list, summary.culprit);
    int status = written ? say_end(&list, &summary) : TOOL_BAD;
    if (r.best)
        sweep_show_best(&watch.show, watch.show.path ? stdout : stderr, (uint32_t)r.best);
    return status;
}

static int follow(struct hop_sweep *sweep)
{
    struct hop_sweep_summary summary;
    struct watch watch = {0};
    const struct hop_sweep_options how = {.group = group, .progress = watch_run, .context = &watch};
    ranks_catch();
    if (hop_sweep_run(sweep, &how, &summary, &tool_diag) != HOP_OK) {
        ranks_stop = 1; /* leave: the others must not wait */
        (void)tool_say(&tool_diag);
    }
    return TOOL_OK;
}

static int run(int argc, char **argv)
{
    static struct hop_sweep *sweep;
    group = ranks_join();
    tool_try(hop_sweep_create(&sweep, &tool_diag));
    return hop_group_rank(group) == 0 ? lead(sweep, argc, argv) : follow(sweep);
}

const struct tool_command tool_sweep = {
    .name = "sweep",
    .summary = "many predictions, over MPI ranks when there are any",
    .usage = "SCHEDULE ... --on TOPOLOGY ... [OPTION ...]",
    .about =
        "Predicts every combination of schedules, topologies, models, assignments, maps and sizes, and writes a row\n"
        "of CSV for each case. `mpirun -n N hopcast sweep` shares the cases over N processes and writes the same "
        "bytes.\n" SCHEDULE_IS "\n",
    .options = table,
    .notes = "example: hopcast make halo --on t2 | hopcast sweep - --on t2 --set tau=0:0.3:0.1 --bytes 64KiB:64MiB*4\n"
             "           --model pcie --model credit -o halo.csv --best 5\n",
    .run = run,
};
