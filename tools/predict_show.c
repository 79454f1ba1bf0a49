/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast predict: one case as a table with its summary, or one operation explained. */
#include "predict.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { LINKS_SHOWN = 5, PROCESSES_SHOWN = 16, PACKETS_SHOWN = 8, CAUSES_SHOWN = 3 };

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
                       loss->rule == HOP_RULE_HEAD_OF_LINE || loss->rule == HOP_RULE_BACK_PRESSURE ||
                               loss->rule == HOP_RULE_SOURCE_BUSY
                           ? " behind"
                           : " with",
                       name_of(p, loss->blocker));
    (void)snprintf(text, size, "%s%s%s%s", hop_rule_name(loss->rule), link[0] ? " on " : "", link, blocker);
}

/* The largest loss on the way and its share of all of them; the time in the source's own queue has a column of its own. */
static bool main_loss(const struct prediction *p, uint32_t op, struct hop_loss *main, double *share)
{
    struct hop_loss losses[32];
    uint32_t count = tool_counted(hop_timeline_losses(p->timeline, op, losses, 32));
    double sum = 0;
    bool found = false;
    for (uint32_t i = 0; i < count && i < 32 && losses[i].lost_s > 0; i++) {
        if (losses[i].rule == HOP_RULE_SOURCE_BUSY)
            continue;
        if (!found)
            *main = losses[i];
        found = true;
        sum += losses[i].lost_s;
    }
    *share = found ? main->lost_s / sum : 0;
    return found;
}

/* What of a lowered message is no copy is its receive. */
static void describe_way(const struct prediction *p, const struct hop_op *what, char *way, size_t size)
{
    static const char *const kinds[] = {
        [HOP_OP_REDUCE] = "reduce", [HOP_OP_WORK] = "work", [HOP_OP_SEND] = "send", [HOP_OP_RECEIVE] = "receive"};
    enum hop_op_kind kind = what->kind;
    if (kind == HOP_OP_WORK && what->parent != HOP_NONE)
        kind = hop_schedule_op(hop_timeline_original(p->timeline), what->parent)->kind;
    if (what->kind == HOP_OP_COPY && strcmp(what->from.device, what->to.device) == 0)
        (void)snprintf(way, size, "copy %s", what->to.device);
    else if (what->kind == HOP_OP_COPY || what->kind == HOP_OP_SEND)
        (void)snprintf(way, size, "%s -> %s", what->from.device, what->to.device);
    else
        (void)snprintf(way, size, "%s %s", kinds[kind], what->to.device);
}

/* How many operations from the i-th on are the packets of one staged copy. */
static uint32_t packets_from(const struct prediction *p, uint32_t i)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(p->timeline);
    uint32_t parent = hop_schedule_op(schedule, i)->parent, end = i + 1;
    if (parent == HOP_NONE || hop_schedule_op(hop_timeline_original(p->timeline), parent)->kind != HOP_OP_COPY)
        return 1;
    while (end < hop_schedule_count(schedule) && hop_schedule_op(schedule, end)->parent == parent)
        end++;
    return end - i;
}

struct time_unit predict_unit(double longest_s)
{
    return longest_s < 1e-3 ? (struct time_unit){"us", 1e6} : (struct time_unit){"ms", 1e3};
}

static void print_op(const struct prediction *p, uint32_t op, const char *indent, struct tool_table *table)
{
    const struct hop_op *what = hop_schedule_op(hop_timeline_schedule(p->timeline), op);
    struct hop_span span = hop_timeline_span(p->timeline, op);
    double alone = hop_timeline_alone_s(p->timeline, op), lost = fmax(0, span.end_s - span.start_s - alone);
    char way[140], size[32] = "", why[400] = "";
    describe_way(p, what, way, sizeof way);
    if (what->kind != HOP_OP_WORK)
        hop_format_bytes(what->bytes, size, sizeof size);
    struct hop_loss loss;
    double share, unit = predict_unit(hop_timeline_makespan_s(p->timeline)).a_second;
    if (lost > alone * 1e-9 && hop_timeline_detail(p->timeline) == HOP_DETAIL_SEGMENTS &&
        main_loss(p, op, &loss, &share) && loss.rule != HOP_RULE_FULL) { /* near enough to its time alone */
        char cause[360];
        describe_loss(p, &loss, cause, sizeof cause);
        (void)snprintf(why, sizeof why, "%3.0f %% %s", 100 * share, cause);
    }
    tool_table_row(table, "%s%s\t%s\t%s\t%.4f\t%.4f\t%.4f\t%.4f\t%.4f\t%s", indent, what->name, way, size,
                   (span.start_s - span.ready_s) * unit, span.start_s * unit, span.end_s * unit, alone * unit,
                   lost * unit, why);
}

/* A staged copy: one line for all its packets, then the packets themselves when they are few. */
static void print_staged(const struct prediction *p, uint32_t first, uint32_t end, struct tool_table *table)
{
    const struct hop_op *parent = hop_schedule_op(hop_timeline_original(p->timeline),
                                                  hop_schedule_op(hop_timeline_schedule(p->timeline), first)->parent);
    double end_s = 0, unit = predict_unit(hop_timeline_makespan_s(p->timeline)).a_second;
    char way[140];
    for (uint32_t i = first; i < end; i++)
        end_s = fmax(end_s, hop_timeline_span(p->timeline, i).end_s);
    (void)snprintf(way, sizeof way, "%s -> %s", parent->from.device, parent->to.device);
    struct hop_span span = hop_timeline_span(p->timeline, first);
    tool_table_row(table, "%s\t%s\t%s\t%.4f\t%.4f\t%.4f\t\t\tstaged through host memory, %u packet%s", parent->name,
                   way, BYTES(parent->bytes), (span.start_s - span.ready_s) * unit, span.start_s * unit, end_s * unit,
                   (end - first) / 2, end - first > 2 ? "s" : "");
    for (uint32_t i = first; i < end && end - first <= PACKETS_SHOWN; i++)
        print_op(p, i, "  ", table);
}

struct row {
    double end_s;
    uint32_t op;
};

static int later_first(const void *a, const void *b)
{
    const struct row *x = a, *y = b;
    return x->end_s != y->end_s ? HOP_ORDER(y->end_s, x->end_s) : HOP_ORDER(x->op, y->op);
}

/* The columns, the first two as wide as the longest names are; a narrow terminal leaves out what others tell, too. */
static void begin_table(const struct prediction *p, struct tool_table *table)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(p->timeline);
    const char *unit = predict_unit(hop_timeline_makespan_s(p->timeline)).name;
    struct tool_column columns[] = {{"transfer", -8, 0},
                                    {"", -16, 3},
                                    {"size", 9, 5},
                                    {tool_text("queued %s", unit), 10, 7},
                                    {tool_text("start %s", unit), 10, 0},
                                    {tool_text("end %s", unit), 10, 0},
                                    {tool_text("alone %s", unit), 10, 6},
                                    {tool_text("lost %s", unit), 10, 4},
                                    {"mostly to", 0, 2}};
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        bool two = op->kind == HOP_OP_COPY || op->kind == HOP_OP_SEND;
        int name = (int)strlen(op->name) + 2;
        int way = (int)strlen(op->to.device) + (two ? (int)strlen(op->from.device) + 4 : 8);
        columns[0].width = -name < columns[0].width ? -name : columns[0].width;
        columns[1].width = -way < columns[1].width ? -way : columns[1].width;
    }
    tool_table_begin(table, stdout, columns, HOP_COUNT(columns));
}

/* Those that end last, the last first; of a few times as many the others are left out again and again. */
static void print_last(const struct prediction *p, uint32_t rows, struct tool_table *table)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(p->timeline);
    uint32_t count = 0, kept = 0, room = 4 * rows + 1000;
    struct row *ends = tool_alloc(room, sizeof *ends);
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        if (hop_timeline_is_mark(p->timeline, i))
            continue;
        if (kept == room) {
            qsort(ends, kept, sizeof *ends, later_first);
            kept = rows;
        }
        ends[kept++] = (struct row){hop_timeline_span(p->timeline, i).end_s, i};
        count++;
    }
    qsort(ends, kept, sizeof *ends, later_first);
    for (uint32_t i = 0; i < kept && i < rows; i++)
        print_op(p, ends[i].op, "", table);
    if (count > rows)
        printf("these end last; %u more, --rows 0 lists all\n", count - rows);
}

static void print_table(const struct prediction *p)
{
    enum { ALL_UP_TO = 1000, ELSE = 20 };
    const struct hop_schedule *schedule = hop_timeline_schedule(p->timeline);
    uint32_t count = hop_schedule_count(schedule);
    uint64_t rows = p->rows ? p->rows : count <= ALL_UP_TO ? count : ELSE;
    struct tool_table table;
    begin_table(p, &table);
    if (rows < count) {
        print_last(p, (uint32_t)rows, &table);
    }
    for (uint32_t i = 0; i < count && rows >= count;) {
        uint32_t end = i + packets_from(p, i);
        if (end > i + 1) /* packets come in pairs */
            print_staged(p, i, end, &table);
        else if (!hop_timeline_is_mark(p->timeline, i))
            print_op(p, i, "", &table);
        i = end;
    }
    tool_table_end(&table);
}

static int by_use(const void *a, const void *b)
{
    const struct busy_link *x = a, *y = b;
    return x->use != y->use ? HOP_ORDER(y->use, x->use) : HOP_ORDER(x->link, y->link);
}

/* What stays within a device is no part of it, as no link carries that; model loggp sends it like the rest. */
static uint64_t total_bytes(const struct prediction *p)
{
    bool serial = hop_timeline_process_count(p->timeline) > 0;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < hop_schedule_count(p->schedule); i++) {
        const struct hop_op *op = hop_schedule_op(p->schedule, i);
        bool stays = !serial && op->via == HOP_VIA_P2P && strcmp(op->from.device, op->to.device) == 0;
        if ((op->kind == HOP_OP_COPY || op->kind == HOP_OP_SEND) && !stays)
            bytes += op->bytes;
    }
    return bytes;
}

static void print_models(const struct prediction *p)
{
    if (p->fidelity == HOP_FIDELITY_PACKET) {
        printf(", %llu packet-hops", (unsigned long long)hop_timeline_events(p->timeline));
        return;
    }
    if (hop_timeline_process_count(p->timeline) > 0) {
        printf(", model %s", hop_network_model(p->network, 0));
        return;
    }
    uint32_t domains = hop_topology_domain_count(p->topology);
    bool *used = tool_alloc(domains, sizeof *used);
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(p->topology); l++) {
        uint32_t domain = hop_topology_link_domain(p->topology, l / 2);
        if (domain < domains && hop_timeline_link_use(p->timeline, l).bytes)
            used[domain] = true;
    }
    tool_print_models(stdout, p->topology, p->network, used);
}

struct busy_link *predict_busy_links(const struct prediction *p, uint32_t *count)
{
    uint32_t links = 2 * hop_topology_link_count(p->topology);
    double makespan = hop_timeline_makespan_s(p->timeline);
    struct busy_link *busy = tool_alloc(links, sizeof *busy);
    *count = 0;
    for (uint32_t l = 0; l < links; l++) {
        struct hop_link_use use = hop_timeline_link_use(p->timeline, l);
        double capacity = hop_topology_link(p->topology, l / 2)->capacity_Bps[l & 1];
        if (use.bytes && makespan > 0)
            busy[(*count)++] = (struct busy_link){l, (double)use.bytes / (capacity * makespan), use};
    }
    qsort(busy, *count, sizeof *busy, by_use);
    return busy;
}

/* "12 to 57.6 GB/s" */
static const char *bounds_of(const struct hop_uncertainty_cause *cause)
{
    bool rate = strcmp(cause->unit, "B/s") == 0, plain = strcmp(cause->unit, "1") == 0;
    double by = rate ? 1e-9 : strcmp(cause->unit, "s") == 0 ? 1e6 : 1;
    return tool_text("%.3g to %.3g%s%s", cause->low * by, cause->high * by, plain ? "" : " ",
                     rate      ? "GB/s"
                     : plain   ? ""
                     : by == 1 ? cause->unit
                               : "us");
}

/* What the makespan may be, and which ranges make it so. */
static void print_range(const struct prediction *p)
{
    const struct hop_uncertainty *range = p->range;
    double makespan = hop_timeline_makespan_s(p->timeline);
    if (!range || !(makespan > 0))
        return;
    printf("9 times out of 10 %s to %s, by the range of", SECONDS(range->low_s), SECONDS(range->high_s));
    for (uint32_t i = 0; i < range->cause_count && i < CAUSES_SHOWN; i++)
        printf("%s %s (%s)", i ? "," : "", range->causes[i].what, bounds_of(&range->causes[i]));
    if (range->cause_count > CAUSES_SHOWN)
        printf(" and %u more", range->cause_count - CAUSES_SHOWN);
    printf("\n");
    if (range->left_out)
        printf("note: ranges of parameters were left out, as they take long here; --range all tries them\n");
    if (range->models_left_out)
        printf("note: %s would take long here and %s not asked; --range all asks\n", range->models_left_out,
               strchr(range->models_left_out, ',') ? "were" : "was");
    if (range->models_low_s < 0.99 * makespan || range->models_high_s > 1.01 * makespan)
        printf("other models that can rule these links (%s) say %s%s%s; --model NAME asks one\n", range->models,
               SECONDS(range->models_low_s), range->models_low_s < range->models_high_s ? " to " : "",
               range->models_low_s < range->models_high_s ? SECONDS(range->models_high_s) : "");
}

/* Model loggp: when each process has finished, in nanoseconds, as far as they are few. */
static void print_processes(const struct prediction *p)
{
    uint32_t count = hop_timeline_process_count(p->timeline);
    if (count)
        printf("finish times:\n");
    for (uint32_t i = 0; i < count && i < PROCESSES_SHOWN; i++) {
        int32_t rank;
        char name[96];
        const char *device = hop_timeline_process_name(p->timeline, i, &rank);
        if (rank >= 0)
            (void)snprintf(name, sizeof name, "rank %d, %s", (int)rank, device);
        printf("  %-28s %.15g ns\n", rank >= 0 ? name : device,
               nearbyint(hop_timeline_process_finish_s(p->timeline, i) * 1e12) / 1e3);
    }
    if (count > PROCESSES_SHOWN)
        printf("  ... and %u more; --json has them all\n", count - PROCESSES_SHOWN);
}

/* LogGP knows nothing of links: that its rate is nobody's is to be seen. */
static void print_loggp_default(const struct prediction *p)
{
    const struct hop_parameter *G = hop_topology_parameter(p->topology, "loggp_G");
    bool ruled = false;
    for (uint32_t d = 0; d < hop_topology_domain_count(p->topology); d++)
        ruled = ruled || hop_network_model_facts(p->network, d)->is_serial;
    if (ruled && G && G->origin && strstr(G->origin, "default"))
        printf("note: loggp_G is LogGOPSim's default, %s whatever the links are; `--set loggp_G=%.4g` stands for "
               "25 GB/s, see --parameters\n",
               RATE(1 / G->value), 1 / 25e9);
}

static void print_inherited(const struct prediction *p)
{
    uint32_t first, transfers = hop_timeline_inherited(p->timeline, &first);
    if (transfers)
        printf("note: %u route%s links whose parameters were inherited from links of their kind, not measured, such as "
               "%s\n",
               transfers, transfers == 1 ? " has" : "s have", LINK(p->topology, first));
}

static void print_never_two_way(const struct prediction *p)
{
    uint32_t first, transfers = tool_counted(hop_timeline_never_two_way(p->timeline, &first));
    if (transfers)
        printf("note: %u transfer%s a link that was never measured in this direction while the other one is busy, such "
               "as %s\n",
               transfers, transfers == 1 ? " takes" : "s take", LINK(p->topology, first));
}

/* Of a program that sends and computes, as recorded ones do: what there is beside its work. */
static void print_communication(const struct prediction *p, double makespan_s)
{
    const struct hop_schedule *schedule = hop_timeline_original(p->timeline);
    bool works = false, sends = false;
    double work_s = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule) && !(works && sends); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        works = works || (op->kind == HOP_OP_WORK && op->duration_s > 0);
        sends = sends || op->kind == HOP_OP_SEND;
    }
    if (works && sends && hop_schedule_work_chain_s(schedule, &work_s, NULL) == HOP_OK && work_s <= makespan_s)
        printf("without communication %s, its longest chain of work or busiest CPU; communication %s, %.1f %%\n",
               SECONDS(work_s), SECONDS(makespan_s - work_s), 100 * (1 - work_s / makespan_s));
}

/* What whoever made the schedule has to say beside its prediction. */
static void print_remarks(const struct prediction *p)
{
    for (uint32_t i = 0; hop_schedule_note(p->schedule, i); i++)
        printf("note: %s\n", hop_schedule_note(p->schedule, i));
}

static void print_summary(const struct prediction *p)
{
    double makespan = hop_timeline_makespan_s(p->timeline), oversubscribed = 0;
    uint32_t used;
    struct busy_link *busy = predict_busy_links(p, &used);
    printf("\n%s", hop_topology_name(p->topology));
    print_models(p);
    printf("\nmakespan %s", SECONDS(makespan));
    uint64_t bytes = total_bytes(p), lost = predict_lost_bytes(p);
    if (makespan > 0 && bytes > lost)
        printf(", %s together", RATE((double)(bytes - lost) / makespan));
    printf("\n");
    predict_show_faults(p);
    print_communication(p, makespan);
    print_range(p);
    print_processes(p);
    if (used)
        printf("busiest links:\n");
    for (uint32_t i = 0; i < used; i++) {
        oversubscribed = fmax(oversubscribed, busy[i].detail.peak);
        if (i >= LINKS_SHOWN)
            continue;
        printf("  %-28s %10s  %5.1f %% of its capacity", LINK(p->topology, busy[i].link), BYTES(busy[i].detail.bytes),
               100 * busy[i].use);
        if (busy[i].detail.busy_s > 0)
            printf(", in use %5.1f %% of the time", 100 * busy[i].detail.busy_s / makespan);
        printf("\n");
    }
    if (hop_timeline_detail(p->timeline) == HOP_DETAIL_ENDS)
        printf("note: so many operations are timed only; --explain ID says what held one back\n");
    if (oversubscribed > 1 + 1e-6)
        printf("note: the model loads a link up to %.2f times its capacity here, a known weakness of the published "
               "model\n",
               oversubscribed);
    print_remarks(p);
    print_loggp_default(p);
    print_inherited(p);
    print_never_two_way(p);
    predict_show_risks(p);
}

void predict_show_table(const struct prediction *p)
{
    print_table(p);
    print_summary(p);
}

/* A staged copy: what it became, then the packets that were delayed most, one into host memory and one out of it. */
static void explain_staged(const struct prediction *p, uint32_t original)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(p->timeline);
    const struct hop_op *parent = hop_schedule_op(p->schedule, original);
    uint32_t worst[2] = {HOP_NONE, HOP_NONE}, packets = 0;
    double most[2] = {-1, -1}, start = INFINITY, end = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        if (hop_schedule_op(schedule, i)->parent != original)
            continue;
        struct hop_span span = hop_timeline_span(p->timeline, i);
        double late = span.end_s - span.start_s - hop_timeline_alone_s(p->timeline, i);
        unsigned side = packets++ % 2; /* reads and writes take turns */
        start = fmin(start, span.start_s);
        end = fmax(end, span.end_s);
        if (late > most[side]) {
            most[side] = late;
            worst[side] = i;
        }
    }
    printf("%s moves %s from %s to %s through host memory in %u packet%s, from %s to %s.\n", parent->name,
           BYTES(parent->bytes), parent->from.device, parent->to.device, packets / 2, packets > 2 ? "s" : "",
           SECONDS(start), SECONDS(end));
    if (packets > 2)
        printf("Of its packets, these were delayed most on the way in and on the way out.\n");
    for (unsigned side = 0; side < 2; side++) {
        printf("\n");
        tool_print(stdout, hop_timeline_explain(p->timeline, worst[side]));
    }
}

void predict_check_name(const struct hop_schedule *given, const struct hop_schedule *became, const char *id)
{
    if (hop_schedule_find(given, id) == HOP_NONE && hop_schedule_find(became, id) == HOP_NONE)
        tool_try_at(hop_fail(&tool_diag, HOP_ERR_NOT_FOUND, "there is no operation '%s'\nthe name of one, such as %s",
                             id, hop_schedule_op(became, 0)->name),
                    "--explain");
}

void predict_show_explanation(const struct prediction *p, const char *id)
{
    const struct hop_schedule *schedule = hop_timeline_schedule(p->timeline);
    uint32_t op = hop_schedule_find(schedule, id), original = hop_schedule_find(p->schedule, id);
    if (op != HOP_NONE)
        tool_print(stdout, hop_timeline_explain(p->timeline, op));
    else
        explain_staged(p, original);
}
