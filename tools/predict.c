/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast predict: when each transfer ends, and why. One case, a schedule on a topology, is shown in full; several (more schedules,
 * more topologies) side by side.
 */
#include "tool.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { CASE_LIMIT = 64, SET_LIMIT = 256, LINKS_SHOWN = 5, PACKETS_SHOWN = 8, PROGRESS_OPS = 20000 };

struct request {
    const char *schedules[CASE_LIMIT]; /* files; inline texts have inline_[i] */
    bool is_inline[CASE_LIMIT];
    int schedule_count;
    const char *topologies[CASE_LIMIT];
    int topology_count;
    char *sets[SET_LIMIT];
    int set_count;
    const char *model, *trace, *explain, *output;
    bool gantt, json, ascii, sources_unlimited;
};

/* What the request names, each read once: cases share it, and standard input gives its text but once. */
struct inputs {
    struct hop_schedule *schedules[CASE_LIMIT];
    struct hop_topology *topologies[CASE_LIMIT];
};

/* A schedule on a topology, predicted. */
struct prediction {
    const struct hop_topology *topology;
    const struct hop_schedule *schedule;
    struct hop_network *network;
    struct hop_timeline *timeline;
    char label[128];
};

static void finish_prediction(struct prediction *p)
{
    hop_timeline_destroy(p->timeline);
    hop_network_destroy(p->network);
}

static void finish_inputs(struct inputs *in)
{
    for (int i = 0; i < CASE_LIMIT; i++) {
        hop_schedule_destroy(in->schedules[i]);
        hop_topology_destroy(in->topologies[i]);
    }
}

static int load_inputs(const struct request *r, struct inputs *in)
{
    struct hop_diag diag;
    int status = TOOL_OK;
    for (int i = 0; i < r->topology_count && status == TOOL_OK; i++)
        status = tool_load_topology(r->topologies[i], r->sets, r->set_count, &in->topologies[i]);
    for (int i = 0; i < r->schedule_count && status == TOOL_OK; i++) {
        const char *source = r->schedules[i];
        enum hop_status done = r->is_inline[i] ? hop_schedule_parse("(-e)", source, strlen(source), &in->schedules[i], &diag)
                                               : hop_schedule_load(source, &in->schedules[i], &diag);
        if (done != HOP_OK) {
            status = tool_fail(&diag);
        } else if (hop_schedule_count(in->schedules[i]) == 0) {
            fprintf(stderr, "hopcast: %s: the schedule holds no operation\n  expected: at least one, such as a: gpu0 -> gpu1 1MiB\n",
                    r->is_inline[i] ? "(-e)" : source);
            status = TOOL_BAD;
        }
    }
    return status;
}

static void show_progress(double done, void *context)
{
    (void)context;
    fprintf(stderr, "\r%3.0f %% of the transfers have ended", done * 100);
    fflush(stderr);
}

static int predict(const struct request *r, const struct inputs *in, int schedule, int topology, struct prediction *p)
{
    struct hop_diag diag;
    *p = (struct prediction){.topology = in->topologies[topology], .schedule = in->schedules[schedule]};
    enum hop_status done = hop_network_create(p->topology, r->model, &p->network, &diag);
    bool terminal = done == HOP_OK && isatty(STDERR_FILENO) && hop_schedule_count(p->schedule) > PROGRESS_OPS;
    struct hop_simulate_options options = {.detail = HOP_DETAIL_SEGMENTS,
                                           .sources_unlimited = r->sources_unlimited,
                                           .progress = terminal ? show_progress : NULL};
    if (done == HOP_OK)
        done = hop_simulate(p->network, p->schedule, &options, &p->timeline, &diag);
    if (terminal)
        fprintf(stderr, "\r%40s\r", "");
    if (done != HOP_OK)
        return tool_fail(&diag);
    (void)snprintf(p->label, sizeof p->label, "%s on %s", r->is_inline[schedule] ? "-e" : r->schedules[schedule], r->topologies[topology]);
    return TOOL_OK;
}

/* ---- one case ---- */

static const char *name_of(const struct prediction *p, uint32_t op)
{
    return hop_schedule_op(hop_timeline_schedule(p->timeline), op)->name;
}

/* "head-of-line behind b, board1->gpu2" */
static void describe_loss(const struct prediction *p, const struct hop_loss *loss, char *text, size_t size)
{
    char link[160] = "", blocker[160] = "";
    if (loss->link != HOP_NONE)
        hop_topology_link_name(p->topology, loss->link, link, sizeof link);
    if (loss->blocker != HOP_NONE)
        (void)snprintf(blocker, sizeof blocker, "%s %.60s",
                       loss->rule == HOP_RULE_HEAD_OF_LINE || loss->rule == HOP_RULE_BACK_PRESSURE || loss->rule == HOP_RULE_SOURCE_BUSY
                           ? " behind"
                           : " with",
                       name_of(p, loss->blocker));
    (void)snprintf(text, size, "%s%s%s%s", hop_rule_name(loss->rule), link[0] ? " on " : "", link, blocker);
}

/* The largest loss on the way: not the time in the source's own queue, which has a column of its own. */
static bool main_loss(struct prediction *p, uint32_t op, struct hop_loss *loss)
{
    struct hop_loss largest[2];
    uint32_t count = hop_timeline_losses(p->timeline, op, largest, 2);
    for (uint32_t i = 0; i < count && i < 2; i++) {
        if (largest[i].rule != HOP_RULE_SOURCE_BUSY) {
            *loss = largest[i];
            return true;
        }
    }
    return false;
}

static void print_op(struct prediction *p, uint32_t op, int indent, int width)
{
    const struct hop_op *what = hop_schedule_op(hop_timeline_schedule(p->timeline), op);
    struct hop_span span = hop_timeline_span(p->timeline, op);
    double alone = hop_timeline_alone_s(p->timeline, op), lost = fmax(0, span.end_s - span.start_s - alone);
    char way[140], size[32] = "", why[400] = "";
    if (what->kind == HOP_OP_COPY)
        (void)snprintf(way, sizeof way, "%s -> %s", what->from.device, what->to.device);
    else
        (void)snprintf(way, sizeof way, "%s %s", what->kind == HOP_OP_WORK ? "work" : "reduce", what->to.device);
    if (what->kind != HOP_OP_WORK)
        hop_format_bytes(what->bytes, size, sizeof size);
    struct hop_loss loss;
    if (lost > alone * 1e-9 && main_loss(p, op, &loss)) {
        char cause[360];
        describe_loss(p, &loss, cause, sizeof cause);
        (void)snprintf(why, sizeof why, "  %3.0f %% %s", 100 * loss.lost_s / lost, cause);
    }
    printf("%*s%-*s  %-16s %9s %10.4f %10.4f %10.4f %10.4f %10.4f%s\n", indent, "", width - indent, what->name, way, size,
           (span.start_s - span.ready_s) * 1e3, span.start_s * 1e3, span.end_s * 1e3, alone * 1e3, lost * 1e3, why);
}

/* A staged copy: one line for all its packets, then the packets themselves when they are few. */
static void print_staged(struct prediction *p, uint32_t first, uint32_t end, int width)
{
    const struct hop_op *parent =
        hop_schedule_op(hop_timeline_original(p->timeline), hop_schedule_op(hop_timeline_schedule(p->timeline), first)->parent);
    double end_s = 0;
    char way[140], size[32];
    for (uint32_t i = first; i < end; i++)
        end_s = fmax(end_s, hop_timeline_span(p->timeline, i).end_s);
    (void)snprintf(way, sizeof way, "%s -> %s", parent->from.device, parent->to.device);
    struct hop_span span = hop_timeline_span(p->timeline, first);
    printf("%-*s  %-16s %9s %10.4f %10.4f %10.4f %10s %10s  staged through host memory, %u packet%s\n", width, parent->name, way,
           hop_format_bytes(parent->bytes, size, sizeof size), (span.start_s - span.ready_s) * 1e3, span.start_s * 1e3, end_s * 1e3,
           "", "", (end - first) / 2, end - first > 2 ? "s" : "");
    for (uint32_t i = first; i < end && end - first <= PACKETS_SHOWN; i++)
        print_op(p, i, 2, width);
}

static void print_table(struct prediction *p)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(p->timeline);
    uint32_t count = hop_schedule_count(schedule);
    int width = 8;
    for (uint32_t i = 0; i < count; i++) {
        int length = (int)strlen(hop_schedule_op(schedule, i)->name) + 2;
        width = length > width && length <= 24 ? length : width;
    }
    printf("%-*s  %-16s %9s %10s %10s %10s %10s %10s  %s\n", width, "transfer", "", "size", "queued ms", "start ms", "end ms",
           "alone ms", "lost ms", "mostly to");
    for (uint32_t i = 0; i < count;) {
        uint32_t parent = hop_schedule_op(schedule, i)->parent, end = i + 1;
        while (parent != HOP_NONE && end < count && hop_schedule_op(schedule, end)->parent == parent)
            end++;
        if (end > i + 1)
            print_staged(p, i, end, width);
        else
            print_op(p, i, 0, width);
        i = end;
    }
}

struct busy_link {
    uint32_t link;
    double use; /* share of the makespan's capacity that was carried */
    struct hop_link_use detail;
};

static int by_use(const void *a, const void *b)
{
    const struct busy_link *x = a, *y = b;
    if (x->use != y->use)
        return x->use < y->use ? 1 : -1;
    return x->link < y->link ? -1 : x->link > y->link;
}

static uint64_t total_bytes(const struct prediction *p)
{
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < hop_schedule_count(p->schedule); i++) {
        if (hop_schedule_op(p->schedule, i)->kind == HOP_OP_COPY)
            bytes += hop_schedule_op(p->schedule, i)->bytes;
    }
    return bytes;
}

static void print_models(const struct prediction *p)
{
    bool used[256] = {false};
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(p->topology); l++) {
        uint32_t domain = hop_topology_link_domain(p->topology, l / 2);
        if (domain < 256 && hop_timeline_link_use(p->timeline, l).bytes)
            used[domain] = true;
    }
    for (uint32_t d = 0; d < hop_topology_domain_count(p->topology) && d < 256; d++) {
        if (used[d])
            printf(", %s: model %s", hop_topology_domain(p->topology, d)->name, hop_network_model(p->network, d));
    }
}

static int print_summary(struct prediction *p)
{
    double makespan = hop_timeline_makespan_s(p->timeline);
    uint64_t bytes = total_bytes(p);
    char text[32], rate[32];
    uint32_t links = 2 * hop_topology_link_count(p->topology), used = 0;
    struct busy_link *busy = malloc((links + 1) * sizeof *busy);
    if (!busy)
        return tool_out_of_memory();
    printf("\n%s", hop_topology_name(p->topology));
    print_models(p);
    printf("\nmakespan %s", hop_show_seconds(makespan, text, sizeof text));
    if (makespan > 0)
        printf(", %s together", hop_show_rate((double)bytes / makespan, rate, sizeof rate));
    printf("\n");
    double oversubscribed = 0;
    for (uint32_t l = 0; l < links; l++) {
        struct hop_link_use use = hop_timeline_link_use(p->timeline, l);
        double capacity = hop_topology_link(p->topology, l / 2)->capacity_Bps[l & 1];
        if (use.bytes && makespan > 0)
            busy[used++] = (struct busy_link){l, (double)use.bytes / (capacity * makespan), use};
        oversubscribed = fmax(oversubscribed, use.peak);
    }
    qsort(busy, used, sizeof *busy, by_use);
    if (used)
        printf("busiest links:\n");
    for (uint32_t i = 0; i < used && i < LINKS_SHOWN; i++) {
        char name[160], size[32];
        printf("  %-28s %10s  %5.1f %% of its capacity, in use %5.1f %% of the time\n",
               hop_topology_link_name(p->topology, busy[i].link, name, sizeof name),
               hop_format_bytes(busy[i].detail.bytes, size, sizeof size), 100 * busy[i].use, 100 * busy[i].detail.busy_s / makespan);
    }
    if (oversubscribed > 1 + 1e-6)
        printf("note: the model loads a link up to %.2f times its capacity here (a known weakness of the published model; "
               "--model credit conserves bandwidth)\n", oversubscribed);
    free(busy);
    return TOOL_OK;
}

static int explain(struct prediction *p, const char *id)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(p->timeline);
    uint32_t op = hop_schedule_find(schedule, id), original = hop_schedule_find(p->schedule, id);
    if (op == HOP_NONE && original == HOP_NONE) {
        fprintf(stderr, "hopcast: --explain: there is no operation '%s'\n  expected: the name of one, such as %s\n", id,
                hop_schedule_count(schedule) ? hop_schedule_op(schedule, 0)->name : "(the schedule is empty)");
        return TOOL_BAD;
    }
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        if (i != op && (op != HOP_NONE || hop_schedule_op(schedule, i)->parent != original))
            continue;
        char *text = hop_timeline_explain(p->timeline, i);
        if (!text)
            return tool_out_of_memory();
        printf("%s\n", text);
        free(text);
    }
    return TOOL_OK;
}

static int write_text(const char *path, char *text)
{
    int status = text ? tool_write(path, text) : tool_out_of_memory();
    free(text);
    return status;
}

static int show_one(const struct request *r, struct prediction *p)
{
    int status = TOOL_OK;
    if (r->trace)
        status = write_text(r->trace, hop_timeline_to_trace(p->timeline));
    if (status != TOOL_OK)
        return status;
    if (r->json)
        return write_text(r->output, hop_timeline_to_json(p->timeline));
    if (r->explain)
        return explain(p, r->explain);
    if (r->gantt) {
        struct hop_gantt_options options = {tool_columns(), tool_colour(stdout), r->ascii};
        return write_text(r->output, hop_timeline_to_gantt(p->timeline, &options));
    }
    print_table(p);
    return print_summary(p);
}

/* ---- several cases ---- */

static void print_case_row(const struct prediction *cases, int count, const char *name)
{
    double first = NAN;
    printf("%-24s", name);
    for (int i = 0; i < count; i++) {
        uint32_t op = hop_schedule_find(hop_timeline_schedule(cases[i].timeline), name);
        double end = op == HOP_NONE ? NAN : hop_timeline_span(cases[i].timeline, op).end_s;
        if (i == 0)
            first = end;
        if (isnan(end))
            printf(" %12s %8s", "-", "");
        else if (i == 0 || isnan(first) || first == 0)
            printf(" %12.4f %8s", end * 1e3, "");
        else
            printf(" %12.4f %7.3fx", end * 1e3, end / first);
    }
    printf("\n");
}

static void show_side_by_side(struct prediction *cases, int count)
{
    for (int i = 0; i < count; i++)
        printf("%c: %s\n", 'A' + i % 26, cases[i].label);
    printf("\n%-24s", "end in ms");
    for (int i = 0; i < count; i++)
        printf(" %12c %8s", 'A' + i % 26, i ? "to A" : "");
    printf("\n");
    for (int i = 0; i < count; i++) { /* every name once, in the order of its first appearance */
        const struct hop_schedule *schedule = hop_timeline_schedule(cases[i].timeline);
        for (uint32_t op = 0; op < hop_schedule_count(schedule); op++) {
            const char *name = hop_schedule_op(schedule, op)->name;
            bool shown = false;
            for (int j = 0; j < i && !shown; j++)
                shown = hop_schedule_find(hop_timeline_schedule(cases[j].timeline), name) != HOP_NONE;
            if (!shown)
                print_case_row(cases, count, name);
        }
    }
    printf("%-24s", "makespan");
    double first = hop_timeline_makespan_s(cases[0].timeline);
    for (int i = 0; i < count; i++) {
        double makespan = hop_timeline_makespan_s(cases[i].timeline);
        printf(" %12.4f", makespan * 1e3);
        if (i && first > 0)
            printf(" %7.3fx", makespan / first);
        else
            printf(" %8s", "");
    }
    printf("\n");
}

/* ---- command line ---- */

/* How many of the sources are standard input, which is read but once. */
static int count_dashes(const struct request *r)
{
    int dashes = 0;
    for (int i = 0; i < r->schedule_count; i++)
        dashes += !r->is_inline[i] && strcmp(r->schedules[i], "-") == 0;
    for (int i = 0; i < r->topology_count; i++)
        dashes += strcmp(r->topologies[i], "-") == 0;
    return dashes;
}

static int read_options(struct request *r, int argc, char **argv)
{
    static const struct option options[] = {
        {"expression", required_argument, NULL, 'e'}, {"on", required_argument, NULL, 't'},      {"model", required_argument, NULL, 'm'},
        {"set", required_argument, NULL, 's'},        {"gantt", no_argument, NULL, 'g'},         {"json", no_argument, NULL, 'j'},
        {"trace", required_argument, NULL, 'r'},      {"explain", required_argument, NULL, 'x'}, {"sources-unlimited", no_argument, NULL, 'u'},
        {"ascii", no_argument, NULL, 'a'},            {"output", required_argument, NULL, 'o'},  {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    tool_options_begin();
    for (int option; (option = tool_option(&tool_predict, argc, argv, ":e:m:s:gjo:h", options)) != -1;) {
        if ((option == 'e' && r->schedule_count == CASE_LIMIT) || (option == 't' && r->topology_count == CASE_LIMIT) ||
            (option == 's' && r->set_count == SET_LIMIT))
            return tool_bad_usage(&tool_predict, "too many cases or assignments");
        switch (option) {
        case 'e':
            r->is_inline[r->schedule_count] = true;
            r->schedules[r->schedule_count++] = optarg;
            break;
        case 't':
            r->topologies[r->topology_count++] = optarg;
            break;
        case 'm':
            if (r->model)
                return tool_bad_usage(&tool_predict, "one --model; several domains in one, as in pcie=credit,nvlink=fair");
            r->model = optarg;
            break;
        case 's':
            r->sets[r->set_count++] = optarg;
            break;
        case 'g':
            r->gantt = true;
            break;
        case 'j':
            r->json = true;
            break;
        case 'r':
            r->trace = optarg;
            break;
        case 'x':
            r->explain = optarg;
            break;
        case 'u':
            r->sources_unlimited = true;
            break;
        case 'a':
            r->ascii = true;
            break;
        case 'o':
            r->output = optarg;
            break;
        case 'h':
            return -1;
        default:
            return TOOL_BAD;
        }
    }
    for (; optind < argc; optind++) {
        if (r->schedule_count == CASE_LIMIT)
            return tool_bad_usage(&tool_predict, "too many schedules");
        r->schedules[r->schedule_count++] = argv[optind];
    }
    if (r->schedule_count == 0)
        return tool_bad_usage(&tool_predict, "a schedule is missing (a file, - or -e 'gpu0 -> gpu1 1MiB')");
    if (r->topology_count == 0)
        return tool_bad_usage(&tool_predict, "--on TOPOLOGY is missing (`hopcast topology --list` shows built-in ones)");
    if (count_dashes(r) > 1)
        return tool_bad_usage(&tool_predict, "standard input (-) is read once: one schedule or one topology can come from it");
    bool several = r->schedule_count > 1 || r->topology_count > 1;
    if (several && (r->gantt || r->json || r->trace || r->explain))
        return tool_bad_usage(&tool_predict, "--gantt, --json, --trace and --explain take one schedule on one topology");
    if (r->output && !r->gantt && !r->json)
        return tool_bad_usage(&tool_predict, "--output goes with --json or --gantt");
    if (r->ascii && !r->gantt)
        return tool_bad_usage(&tool_predict, "--ascii goes with --gantt");
    if (r->gantt + r->json + (r->explain != NULL) > 1)
        return tool_bad_usage(&tool_predict, "one of --gantt, --json and --explain at a time");
    if (r->schedule_count * r->topology_count > CASE_LIMIT)
        return tool_bad_usage(&tool_predict, "more than %d cases", CASE_LIMIT);
    return TOOL_OK;
}

static int run(int argc, char **argv)
{
    static struct request r;
    static struct inputs in;
    static struct prediction cases[CASE_LIMIT];
    int status = read_options(&r, argc, argv), count = 0;
    if (status == -1)
        return tool_help(&tool_predict);
    if (status == TOOL_OK)
        status = load_inputs(&r, &in);
    for (int t = 0; status == TOOL_OK && t < r.topology_count; t++) {
        for (int s = 0; status == TOOL_OK && s < r.schedule_count; s++)
            status = predict(&r, &in, s, t, &cases[count++]);
    }
    if (status == TOOL_OK && count == 1)
        status = show_one(&r, &cases[0]);
    else if (status == TOOL_OK)
        show_side_by_side(cases, count);
    for (int i = 0; i < count; i++)
        finish_prediction(&cases[i]);
    finish_inputs(&in);
    return status;
}

const struct tool_command tool_predict = {
    .name = "predict",
    .summary = "when each transfer ends, and why",
    .usage = "SCHEDULE ... --on TOPOLOGY ... [OPTION ...]",
    .help = "SCHEDULE is a .hop or JSON file, or - for standard input; several schedules or topologies are set side by side.\n"
            "\n"
            "  -e, --expression TEXT   a schedule as text, operations separated by ';'\n"
            "      --on TOPOLOGY       a built-in machine, a file of any dialect, or live; may be repeated\n"
            "  -m, --model NAME        pcie (published, the default on PCIe), credit or fair; DOMAIN=NAME,... by domain\n"
            "  -s, --set NAME=VALUE    change the topology, as in tau=0.2 (see hopcast topology --help); may be repeated\n"
            "      --sources-unlimited every source starts all its ready transfers at once (step A off)\n"
            "  -g, --gantt             draw the timeline; --ascii keeps to ASCII\n"
            "  -j, --json              everything, for machines (docs/prediction.schema.json)\n"
            "      --trace FILE        also write a trace that Perfetto opens\n"
            "      --explain ID        what held that transfer back, phase by phase\n"
            "  -o, --output FILE       write --json or --gantt there\n"
            "\n"
            "example: hopcast predict -e 'a: gpu0 -> gpu2 300MiB; b: gpu1 -> gpu4 300MiB' --on t2 --set tau=0.2\n",
    .run = run,
};
