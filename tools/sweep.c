/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast sweep: many predictions, the cross product of schedules, topologies, models, assignments, maps and sizes, or
 * a list of cases from a file; by one process or by the ranks of mpirun, with the same rows.
 *
 * Rank 0 reads the input, hands out cases and writes; the others are sent what they need. SIGINT and SIGTERM end the
 * sweep with the rows that are complete.
 */
#include "sweep.h"

#include "ranks.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { BEST_MAX = 1 << 20, LINES_MAX = 1 << 24 };

struct request {
    struct sweep_product product;
    const char *cases, *output, *collective;
    uint64_t best;
    bool json, keep_going, sources_unlimited, help;
};

/* ---- options ---- */

static const struct option options[] = {
    {"expression", required_argument, NULL, 'e'},
    {"on", required_argument, NULL, 't'},
    {"model", required_argument, NULL, 'm'},
    {"set", required_argument, NULL, 's'},
    {"map", required_argument, NULL, 'M'},
    {"collective", required_argument, NULL, 'K'},
    {"bytes", required_argument, NULL, 'b'},
    {"scale-bytes", required_argument, NULL, 'f'},
    {"cases", required_argument, NULL, 'c'},
    {"sources-unlimited", no_argument, NULL, 'u'},
    {"keep-going", no_argument, NULL, 'k'},
    {"best", required_argument, NULL, 'B'},
    {"json", no_argument, NULL, 'j'},
    {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

static bool add_schedule(struct sweep_product *product, char kind, const char *text)
{
    size_t size = strlen(text) + 2;
    char *word = malloc(size);
    if (!word)
        return tool_out_of_memory() == TOOL_OK;
    (void)snprintf(word, size, "%c%s", kind, text);
    bool added = sweep_add_word(&product->schedules, word);
    free(word);
    return added;
}

/* What may stand in a line of --cases, too. */
static bool take_axis(struct sweep_product *product, int code, const char *text)
{
    switch (code) {
    case 'e':
        return add_schedule(product, 'e', text);
    case 't':
        return sweep_add_word(&product->machines, text);
    case 'm':
        return sweep_add_word(&product->models, text);
    case 's':
        return sweep_add_word(&product->sets, text);
    case 'M':
        return sweep_add_list(&product->maps, text);
    case 'b':
        return sweep_add_word(&product->sizes, text);
    default: /* 'f' */
        return sweep_add_word(&product->scales, text);
    }
}

static bool take_once(const char **value, const char *option, const char *text)
{
    if (*value) {
        tool_bad_usage(&tool_sweep, "%s is given twice", option);
        return false;
    }
    *value = text;
    return true;
}

static bool take_option(struct request *r, int code, const char *text)
{
    switch (code) {
    case 'c':
        return take_once(&r->cases, "--cases", text);
    case 'K':
        return take_once(&r->collective, "--collective", text);
    case 'u':
        return r->sources_unlimited = true;
    case 'k':
        return r->keep_going = true;
    case 'B':
        return tool_whole(&tool_sweep, "--best", text, 1, BEST_MAX, &r->best);
    case 'j':
        return r->json = true;
    case 'o':
        return take_once(&r->output, "--output", text);
    case 'h':
        return r->help = true;
    default:
        return take_axis(&r->product, code, text);
    }
}

static int read_words(struct request *r, struct sweep_product *line, int argc, char **argv)
{
    tool_options_begin();
    for (int code; (code = tool_option(&tool_sweep, argc, argv, ":e:m:s:jo:h", options)) != -1;) {
        if (code == '?')
            return TOOL_BAD;
        if (line && !strchr("etmsMbf", code))
            return tool_bad_usage(&tool_sweep,
                                  "a case is schedules, -e, --on, --model, --set, --map, --bytes and --scale-bytes");
        if (!(line ? take_axis(line, code, optarg) : take_option(r, code, optarg)))
            return TOOL_BAD;
    }
    for (; optind < argc; optind++) {
        if (!add_schedule(line ? line : &r->product, 'f', argv[optind]))
            return TOOL_BAD;
    }
    return TOOL_OK;
}

/* How often standard input is asked for; it gives its text but once. */
static int count_dashes(const struct sweep_product *product)
{
    int count = 0;
    for (uint32_t i = 0; i < product->schedules.count; i++)
        count += strcmp(product->schedules.at[i], "f-") == 0;
    for (uint32_t i = 0; i < product->machines.count; i++)
        count += strcmp(product->machines.at[i], "-") == 0;
    for (uint32_t i = 0; i < product->maps.count; i++)
        count += strcmp(product->maps.at[i], "-") == 0;
    return count;
}

static int check_product(const struct sweep_product *product, bool cases_from_input)
{
    if (!product->schedules.count)
        return tool_bad_usage(&tool_sweep, "a schedule is missing (a file, - or -e 'gpu0 -> gpu1 1MiB')");
    if (!product->machines.count)
        return tool_bad_usage(&tool_sweep, "--on TOPOLOGY is missing (`hopcast topology --list` shows built-in ones)");
    if (count_dashes(product) + cases_from_input > 1)
        return tool_bad_usage(&tool_sweep,
                              "standard input (-) is read once: one schedule, one topology, one map or the cases");
    return TOOL_OK;
}

/* ---- cases from a file ---- */

static bool copy_words(struct sweep_words *to, const struct sweep_words *from)
{
    for (uint32_t i = 0; i < from->count; i++) {
        if (!sweep_add_word(to, from->at[i]))
            return false;
    }
    return true;
}

static bool is_set_in(const struct sweep_words *sets, const char *set)
{
    size_t length = strcspn(set, "=");
    for (uint32_t i = 0; i < sets->count; i++) {
        if (strcspn(sets->at[i], "=") == length && memcmp(sets->at[i], set, length) == 0)
            return true;
    }
    return false;
}

/* What the line does not say, the command line does. */
static bool inherit(struct sweep_product *line, const struct sweep_product *from)
{
    struct sweep_words own = line->sets;
    line->sets = (struct sweep_words){0};
    bool fine = true;
    for (uint32_t i = 0; i < from->sets.count && fine; i++)
        fine = is_set_in(&own, from->sets.at[i]) || sweep_add_word(&line->sets, from->sets.at[i]);
    fine = fine && copy_words(&line->sets, &own);
    sweep_free_words(&own);
    if (fine && !line->sizes.count && !line->scales.count)
        fine = copy_words(&line->sizes, &from->sizes) && copy_words(&line->scales, &from->scales);
    return fine && (line->schedules.count || copy_words(&line->schedules, &from->schedules)) &&
           (line->machines.count || copy_words(&line->machines, &from->machines)) &&
           (line->models.count || copy_words(&line->models, &from->models)) &&
           (line->maps.count || copy_words(&line->maps, &from->maps));
}

static int read_line(struct request *r, const char *text, struct sweep_list *list, struct hop_sweep *sweep)
{
    struct sweep_words words = {0};
    struct sweep_product line = {0};
    int status = sweep_add_word(&words, "sweep") ? sweep_cut_line(text, &words) : TOOL_BAD;
    if (status == TOOL_OK && words.count > 1) {
        /* A terminated list, as getopt wants it. */
        char **argv = calloc((size_t)words.count + 1, sizeof *argv);
        if (argv)
            memcpy(argv, words.at, words.count * sizeof *argv);
        status = argv ? read_words(r, &line, (int)words.count, argv) : tool_out_of_memory();
        if (status == TOOL_OK && !inherit(&line, &r->product))
            status = TOOL_BAD;
        if (status == TOOL_OK)
            status = check_product(&line, strcmp(r->cases, "-") == 0);
        if (status == TOOL_OK)
            status = sweep_add_product(list, sweep, &line);
        free(argv);
    }
    sweep_free_words(&words);
    sweep_free_product(&line);
    return status;
}

static int read_cases(struct request *r, struct sweep_list *list, struct hop_sweep *sweep)
{
    bool standard = strcmp(r->cases, "-") == 0;
    FILE *file = standard ? stdin : fopen(r->cases, "r");
    char *line = NULL;
    size_t capacity = 0;
    uint32_t number = 0;
    int status = TOOL_OK;
    if (!file) {
        fprintf(stderr, "hopcast: %s: cannot open: %s\n", r->cases, strerror(errno));
        return TOOL_BAD;
    }
    while (status == TOOL_OK && getline(&line, &capacity, file) >= 0) {
        if (++number > LINES_MAX)
            status = tool_bad_usage(&tool_sweep, "more than %d lines", LINES_MAX);
        else
            status = read_line(r, line, list, sweep);
        if (status != TOOL_OK)
            fprintf(stderr, "  in %s:%" PRIu32 "\n", standard ? "(standard input)" : r->cases, number);
    }
    if (status == TOOL_OK && ferror(file)) {
        fprintf(stderr, "hopcast: %s: cannot read: %s\n", r->cases, strerror(errno));
        status = TOOL_BAD;
    }
    free(line);
    if (!standard)
        (void)fclose(file);
    if (status == TOOL_OK && list->count == 0)
        status = tool_bad_usage(&tool_sweep, "%s holds no case", r->cases);
    return status;
}

static int read_input(struct request *r, struct sweep_list *list, struct hop_sweep *sweep)
{
    if (r->cases)
        return read_cases(r, list, sweep);
    int status = check_product(&r->product, false);
    return status == TOOL_OK ? sweep_add_product(list, sweep, &r->product) : status;
}

/* ---- the run ---- */

struct watch {
    struct sweep_show show;
    uint32_t cases;
    double begun_s, shown_s;
    bool terminal, shown;
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
    if (watch->terminal) {
        double now_s = sweep_now_s(), passed_s = now_s - watch->begun_s;
        if (passed_s >= 1 && now_s - watch->shown_s >= 0.25) {
            watch->shown = true;
            watch->shown_s = now_s;
            fprintf(stderr, "\r%" PRIu32 " of %" PRIu32 " cases, %.0f s, %.0f cases/s  ", done, watch->cases, passed_s,
                    done / passed_s);
            fflush(stderr);
        }
    }
    return !ranks_stop;
}

static void end_progress(const struct watch *watch, uint32_t done)
{
    double passed_s = sweep_now_s() - watch->begun_s;
    if (watch->shown)
        fprintf(stderr, "\r%76s\r", "");
    if (watch->terminal)
        fprintf(stderr, "%" PRIu32 " cases in %.3g s\n", done, passed_s);
}

static int say_culprit(const struct sweep_list *list, uint32_t index, struct hop_diag *diag)
{
    char what[sizeof diag->what], name[280];
    if (index == HOP_NONE || index >= list->count)
        return tool_fail(diag);
    (void)snprintf(what, sizeof what, "%s", diag->what);
    fprintf(stderr, "hopcast: case %" PRIu32 " (%s):\n", index + 1, sweep_describe(list, index, name, sizeof name));
    return tool_fail(diag);
}

/* Why not all cases have a row. */
static int say_end(const struct sweep_list *list, const struct hop_sweep_summary *summary)
{
    if (summary->lost_rank >= 0) {
        fprintf(stderr, "hopcast: rank %d was lost%s%s\n", summary->lost_rank, summary->lost.what[0] ? ": " : "",
                summary->lost.what);
        if (summary->lost_count)
            fprintf(stderr, "hopcast: rank %d had cases %" PRIu32 " to %" PRIu32 "\n", summary->lost_rank,
                    summary->lost_first + 1, summary->lost_first + summary->lost_count);
    }
    if (!summary->complete)
        fprintf(stderr, "hopcast: stopped; %" PRIu32 " of %" PRIu32 " cases are complete\n", summary->done,
                list->count);
    if (summary->failed)
        fprintf(stderr, "hopcast: %" PRIu32 " of %" PRIu32 " cases failed, see their column error\n", summary->failed,
                list->count);
    return summary->complete && !summary->failed ? TOOL_OK : TOOL_NEGATIVE;
}

/* Rank 0. When the input is bad the others are told so by a sweep without cases. */
static int lead(struct request *r, struct hop_group *group, struct hop_sweep *sweep, int status)
{
    struct hop_diag diag;
    struct sweep_list list = {.collective = r->collective, .keep_going = r->keep_going};
    struct hop_sweep_summary summary;
    struct watch watch = {.show = {.list = &list, .json = r->json, .file = -1}, .begun_s = sweep_now_s()};
    struct hop_sweep_options how = {
        .group = group, .keep_going = r->keep_going, .sources_unlimited = r->sources_unlimited};
    struct hop_sweep *empty = NULL;
    if (status == TOOL_OK && !r->help)
        status = read_input(r, &list, sweep);
    if (status == TOOL_OK && !r->help)
        status = sweep_show_open(&watch.show, r->output);
    if (status != TOOL_OK || r->help) {
        if (hop_sweep_create(&empty, NULL) == HOP_OK)
            (void)hop_sweep_run(empty, &how, &summary, NULL);
        hop_sweep_destroy(empty);
        hop_sweep_destroy(sweep);
        sweep_free_list(&list);
        return r->help ? tool_help(&tool_sweep) : status;
    }
    watch.cases = list.count;
    watch.terminal = isatty(STDERR_FILENO);
    how.result = take_result;
    how.progress = watch_run;
    how.context = &watch;
    enum hop_status done = hop_sweep_run(sweep, &how, &summary, &diag);
    end_progress(&watch, summary.done);
    status = sweep_show_close(&watch.show, &summary, done == HOP_OK);
    if (done != HOP_OK)
        status = say_culprit(&list, summary.culprit, &diag);
    else if (status == TOOL_OK)
        status = say_end(&list, &summary);
    if (r->best && done == HOP_OK)
        sweep_show_best(&watch.show, watch.show.path ? stdout : stderr, (uint32_t)r->best);
    free(watch.show.ranking);
    hop_sweep_destroy(sweep);
    sweep_free_list(&list);
    return status;
}

static int follow(struct hop_group *group, struct hop_sweep *sweep)
{
    struct hop_diag diag;
    struct hop_sweep_summary summary;
    struct watch watch = {.begun_s = sweep_now_s()};
    const struct hop_sweep_options how = {.group = group, .progress = watch_run, .context = &watch};
    enum hop_status done = hop_sweep_run(sweep, &how, &summary, &diag);
    if (done != HOP_OK) {
        ranks_stop = 1; /* leave: the others must not wait */
        (void)tool_fail(&diag);
    }
    hop_sweep_destroy(sweep);
    return TOOL_OK;
}

static int run(int argc, char **argv)
{
    struct request r = {0};
    struct hop_group *group;
    struct hop_sweep *sweep;
    struct hop_diag diag;
    int status = ranks_join(&group);
    if (status != TOOL_OK)
        return status;
    if (hop_sweep_create(&sweep, &diag) != HOP_OK)
        return ranks_end(group, tool_fail(&diag));
    if (hop_group_rank(group) == 0) {
        status = read_words(&r, NULL, argc, argv);
        status = lead(&r, group, sweep, status);
    } else {
        status = follow(group, sweep);
    }
    sweep_free_product(&r.product);
    return ranks_end(group, status);
}

const struct tool_command tool_sweep = {
    .name = "sweep",
    .summary = "many predictions, over MPI ranks when there are any",
    .usage = "SCHEDULE ... --on TOPOLOGY ... [OPTION ...]",
    .help =
        "Predicts every combination of schedules, topologies, models, assignments, maps and sizes, and writes a row of "
        "CSV for\n"
        "each case. SCHEDULE is a file in the form of hop(5), JSON, GOAL or a Chakra trace, or - for standard input.\n"
        "`mpirun -n N hopcast sweep` shares the cases over N processes and writes the same bytes.\n"
        "\n"
        "  -e, --expression TEXT   a schedule as text, operations separated by ';'; may be repeated\n"
        "      --on TOPOLOGY       a built-in machine, a fabric such as star:16, a file of any dialect, or live;\n"
        "                          may be repeated\n"
        "  -m, --model NAME        pcie (the default on PCIe) or credit; fair (elsewhere); infiniband or "
        "infiniband-full\n"
        "                          on network fabrics; loggp for all; DOMAIN=NAME,... by domain (pcie*: all);\n"
        "                          may be repeated\n"
        "  -s, --set NAME=VALUES   change the topology (see hopcast topology --help); VALUES is V,V,... where a V may "
        "be a\n"
        "                          range, LOW:HIGH:STEP or LOW:HIGH*FACTOR; may be repeated\n"
        "      --map MAPS          where the ranks of a schedule go: MAP,MAP,... of packed (default), cyclic and files "
        "of\n"
        "                          hop_placement(3); may be repeated\n"
        "      --collective KIND=ALGORITHM,...  how collectives of Chakra traces are made (docs/traces.md)\n"
        "      --bytes SIZES       every transfer has that size, as in 64KiB:1MiB*2\n"
        "      --scale-bytes LIST  all sizes times a factor, as in 0.5,1,2\n"
        "      --cases FILE        a line a case, or a product: the words above, as in `a.hop --on t2 --set tau=0.1`;\n"
        "                          what a line does not say is taken from here\n"
        "      --sources-unlimited every source starts all its ready transfers at once (step A off)\n"
        "\n"
        "      --keep-going        a case that fails has its reason in the column error; else it ends the sweep\n"
        "      --best N            also a table of the N fastest cases\n"
        "  -o, --output FILE       write the rows there\n"
        "  -j, --json              everything as JSON, at the end (docs/sweep.schema.json)\n"
        "\n"
        "example: hopcast make halo --on t2 | hopcast sweep - --on t2 --set tau=0:0.3:0.1 --bytes 64KiB:64MiB*4 "
        "--model pcie\n"
        "           --model credit -o halo.csv --best 5\n",
    .run = run,
};
