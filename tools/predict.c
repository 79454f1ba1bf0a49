/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast predict: when each transfer ends, and why. One case, a schedule on a topology, is shown in full; several (more schedules,
 * more topologies) side by side.
 */
#include "predict.h"
#include "options_shared.h"

/* QUICK_EFFORT: a fifth of a second (hop_scenario_options). */
enum { CASE_LIMIT = 64, DETAILED_OPS = 20000, QUICK_EFFORT = 60000 };

struct request {
    struct tool_given given;
    struct tool_words schedules, topologies, models, sets, faults;
    const char *trace, *explain, *output, *map, *collective;
    uint64_t rows;
    bool gantt, json, intervals, ascii, sources_unlimited;
    enum ranges { RANGES_QUICK, RANGES_ALL, RANGES_NONE } ranges;
    enum hop_fidelity fidelity;
    struct hop_packet_options packet;
};

static const struct tool_option packet_settings[] = {
    {.argument = "payload", .kind = OPTION_SIZE, .low = 1, AT(hop_packet_options, payload_bytes)},
    {.argument = "buffer", .kind = OPTION_SIZE, .low = 1, AT(hop_packet_options, buffer_bytes)},
    {.argument = "read", .kind = OPTION_SIZE, .low = 1, AT(hop_packet_options, read_bytes)},
    {.argument = "credit-delay", .kind = OPTION_TIME, AT(hop_packet_options, credit_delay_s)},
    {.argument = "startup", .kind = OPTION_TIME, AT(hop_packet_options, startup_s)},
    {.argument = "queues",
     .kind = OPTION_CHOICE,
     .choices = "shared fifo per-transfer",
     AT(hop_packet_options, queues)},
    {.argument = "rings", .kind = OPTION_CHOICE, .choices = "dateline bubble none", AT(hop_packet_options, rings)},
    END_OF_OPTIONS,
};

static void take_packet(const struct tool_taking *t, char *text)
{
    tool_assign(t, packet_settings, text);
}

static const struct tool_option table[] = {
    SHARED(schedule, AT(request, schedules), .missing = SCHEDULE_IS_MISSING),
    SHARED(expression, AT(request, schedules),
           .help = "a schedule as text, operations separated by ';'; may be repeated"),
    SHARED(on, AT(request, topologies), .kind = OPTION_LIST, .missing = ON_IS_MISSING),
    SHARED(model, AT(request, models), .kind = OPTION_LIST),
    SHARED(set, AT(request, sets)),
    OPTION("fidelity", 0, CHOICE, AT(request, fidelity), NULL,
           "fluid (the default: rates by models) or packet: every packet on every link (docs/packet.md)",
           .choices = "fluid packet"),
    OPTION("packet-set", 0, CALL, AT(request, packet), "NAME=VALUE",
           "with --fidelity packet: payload=256B, buffer=8KiB (of a link's far end), read=SIZE (under way from host "
           "memory), credit-delay=0s, startup=0s, queues=shared, fifo or per-transfer, "
           "rings=dateline, bubble or none (of a torus); may be repeated",
           .take = take_packet),
    GONE("packet", "--packet-set"),
    OPTION(
        "fault", 0, LIST, AT(request, faults), "FAULT",
        "with --fidelity packet: what breaks, when: 'link A--B at 20us' (both directions; A->B one), 'credit A->B at "
        "20us', 'reset NODE at 20us for 10us' (docs/packet.md)"),
    SHARED(map, AT(request, map)),
    SHARED(collective, AT(request, collective)),
    SHARED(sources_unlimited, AT(request, sources_unlimited)),
    OPTION("range", 0, CHOICE, AT(request, ranges), NULL,
           "quick (the default): the range of the makespan, or of the gain of one schedule over another, by ranges of "
           "parameters and by other models, as far as that "
           "takes no longer than 0.3 s; all: whatever it takes; none",
           .choices = "quick all none"),
    SHARED(gantt, AT(request, gantt), .excludes = "json explain"),
    SHARED(ascii, AT(request, ascii), .needs = "gantt", .help = "with --gantt: keep to ASCII"),
    SHARED(json, AT(request, json), .help = "everything, for machines (docs/prediction.schema.json)"),
    OPTION("intervals", 0, FLAG, AT(request, intervals), NULL,
           "with --json: also what moves in every interval between events (as much as the square of the transfers)",
           .needs = "json"),
    SHARED(trace, AT(request, trace)),
    OPTION("explain", 0, TEXT, AT(request, explain), "ID", "what held that transfer back, phase by phase",
           .excludes = "json"),
    SHARED(rows, AT(request, rows),
           .help = "list the N transfers that end last (0: all; default all up to 1,000, else 20)",
           .excludes = "json gantt explain"),
    SHARED(output, AT(request, output), .needs = "json gantt", .help = "write --json or --gantt there"),
    END_OF_OPTIONS,
};

/* What the request names, each read once: cases share it, and standard input gives its text but once. */
struct inputs {
    struct hop_schedule *schedules[CASE_LIMIT];
    struct hop_topology *topologies[CASE_LIMIT];
    struct tool_map map;
};

/* Of ranges, as hop_uncertainty_options and hop_gain_options take it. */
static uint64_t effort_of(const struct request *r)
{
    return r->ranges == RANGES_ALL ? UINT64_MAX : QUICK_EFFORT;
}

struct plan {
    struct prediction p;
    struct hop_packet_options packet;
    struct hop_simulate_options options;
};

/* Where it is and under what, all of which can be refused: places, routes, deadlocks, what is to be explained. */
static void prepare(const struct request *r, const struct inputs *in, uint32_t at, struct plan *plan)
{
    const uint32_t models = r->models.count ? r->models.count : 1, schedule = at % r->schedules.count,
                   model = at / r->schedules.count % models, topology = at / r->schedules.count / models;
    struct prediction *p = &plan->p;
    struct hop_schedule *placed;
    *p = (struct prediction){.topology = in->topologies[topology],
                             .schedule = in->schedules[schedule],
                             .models = r->models.count ? r->models.at[model] : NULL,
                             .sources_unlimited = r->sources_unlimited,
                             .fidelity = r->fidelity,
                             .rows = tool_given(&r->given, "rows") && !r->rows ? UINT32_MAX : r->rows};
    plan->packet = r->packet;
    plan->packet.faults = predict_read_faults(p->topology, &r->faults);
    plan->packet.fault_count = r->faults.count;
    tool_try(tool_map_place(&in->map, p->topology, p->schedule, &placed, &tool_diag));
    if (placed)
        p->schedule = tool_have(placed);
    p->network = tool_network(p->topology, p->models);
    bool wanted = r->gantt || r->json || r->trace || r->explain;
    plan->options = (struct hop_simulate_options){
        .detail = wanted || hop_schedule_count(p->schedule) <= DETAILED_OPS ? HOP_DETAIL_SEGMENTS : HOP_DETAIL_ENDS,
        .sources_unlimited = r->sources_unlimited,
        .fidelity = r->fidelity,
        .packet = &plan->packet};
    (void)snprintf(p->label, sizeof p->label, "%.60s on %.60s%s%.30s", tool_source_name(r->schedules.at[schedule]),
                   r->topologies.at[topology], p->models ? ", model " : "", p->models ? p->models : "");
    if (!r->explain && r->schedules.count * r->topologies.count * models == 1)
        return; /* nothing is computed before its simulation refuses it */
    struct hop_simulation *simulation;
    tool_try(hop_simulation_create(p->network, p->schedule, &plan->options, &simulation, &tool_diag));
    if (r->explain)
        predict_check_name(p->schedule, hop_timeline_schedule(hop_simulation_timeline(simulation)), r->explain);
    hop_simulation_destroy(simulation);
}

static struct prediction predict(const struct request *r, struct plan *plan)
{
    struct prediction *p = &plan->p;
    struct tool_progress progress;
    plan->options.progress = tool_progress_begin(&progress, "operations that have ended");
    plan->options.context = &progress;
    enum hop_status done = hop_simulate(p->network, p->schedule, &plan->options, &p->timeline, &tool_diag);
    tool_progress_end(&progress);
    tool_try(done);
    (void)tool_have(p->timeline);
    const struct hop_uncertainty_options scope = {.simulate = &plan->options, .max_effort = effort_of(r)};
    bool one = r->schedules.count * r->topologies.count == 1 && r->models.count <= 1;
    if (one && r->ranges != RANGES_NONE && !r->explain && !r->gantt)
        tool_try(hop_uncertainty_find(p->timeline, &scope, &p->range, &tool_diag));
    return *p;
}

static void show_one(const struct request *r, const struct prediction *p)
{
    if (r->trace)
        tool_write_text(r->trace, hop_timeline_to_trace(p->timeline));
    if (r->json) {
        tool_write_text(r->output, hop_timeline_to_json(p->timeline, p->range, r->intervals));
    } else if (r->explain) {
        predict_show_explanation(p, r->explain);
    } else if (r->gantt) {
        struct hop_gantt_options options = {.width = tool_columns(), .colour = tool_colour(stdout), .ascii = r->ascii};
        tool_show_text(r->output, hop_timeline_to_gantt(p->timeline, &options));
    } else {
        predict_show_table(p);
    }
}

/* ---- the command ---- */

static void check(const struct request *r)
{
    bool several = r->schedules.count > 1 || r->topologies.count > 1 || r->models.count > 1;
    uint64_t models = r->models.count ? r->models.count : 1;
    if (r->fidelity == HOP_FIDELITY_PACKET && r->models.count)
        tool_bad_usage(&tool_predict,
                       "--model goes with --fidelity fluid: packets queue for links, and no model is asked");
    const char *alone = tool_given(&r->given, "packet-set") ? "packet-set" : r->faults.count ? "fault" : NULL;
    if (alone && r->fidelity != HOP_FIDELITY_PACKET)
        tool_bad_usage(&tool_predict, "--%s goes with --fidelity packet", alone);
    if (several && (r->gantt || r->json || r->trace || r->explain || tool_given(&r->given, "rows")))
        tool_bad_usage(&tool_predict, "--gantt, --json, --trace, --explain and --rows take one schedule on one topology "
                                      "with one model");
    if ((uint64_t)r->schedules.count * r->topologies.count > CASE_LIMIT / models)
        tool_bad_usage(&tool_predict, "more than %d cases", CASE_LIMIT);
}

static int run(int argc, char **argv)
{
    static struct request r;
    static struct inputs in;
    static struct plan plans[CASE_LIMIT];
    static struct prediction cases[CASE_LIMIT];
    tool_read(&tool_predict, argc, argv, &r);
    tool_check_outputs(&r.given);
    check(&r);
    uint32_t models = r.models.count ? r.models.count : 1, count = r.topologies.count * models * r.schedules.count;
    in.map = tool_map_load(r.map);
    for (uint32_t i = 0; i < r.topologies.count; i++)
        in.topologies[i] = tool_load_topology(r.topologies.at[i], &r.sets);
    for (uint32_t i = 0; i < r.schedules.count; i++)
        in.schedules[i] = tool_read_schedule(r.schedules.at[i], r.collective);
    for (uint32_t i = 0; i < count; i++)
        prepare(&r, &in, i, &plans[i]);
    for (uint32_t i = 0; i < count; i++)
        cases[i] = predict(&r, &plans[i]);
    if (count == 1)
        show_one(&r, &cases[0]);
    else
        predict_show_side_by_side(cases, count, r.ranges != RANGES_NONE, effort_of(&r));
    int status = TOOL_OK;
    for (uint32_t i = 0; i < count; i++) {
        uint64_t lost = predict_lost_bytes(&cases[i]);
        status = lost > 0 ? TOOL_NEGATIVE : status;
        if (lost > 0 && (count > 1 || r.gantt || r.explain)) /* else it was told */
            tool_warn("warning: %llu bytes of %s are lost by faults", (unsigned long long)lost, cases[i].label);
    }
    return status;
}

const struct tool_command tool_predict = {
    .name = "predict",
    .summary = "when each transfer ends, and why",
    .usage = "SCHEDULE ... --on TOPOLOGY ... [OPTION ...]",
    .about = SCHEDULE_IS "Several schedules, topologies or models are set side by side.\n"
                         "\n",
    .options = table,
    .notes = "Exit status 1: bytes were lost (--fault).\n"
             "\n"
             "example: hopcast predict -e 'a: gpu0 -> gpu2 300MiB; b: gpu1 -> gpu4 300MiB' --on t2 --set tau=0.2\n",
    .run = run,
};
