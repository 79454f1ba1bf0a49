/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast run: executes a schedule, or a collective that it makes, with real bytes between real processes. */
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "options_shared.h"
#include "ranks.h"
#include "run.h"

enum { REPEAT_MAX = 10000000 };
#define TIMEOUT_S 10.0
#define VISIT_S 1e-6 /* that a rank takes to prepare an operation, its own or not */
#define BYTES_A_VISIT 250.0

/* Until all have agreed to run, who cannot tells the others. */
static struct hop_group *group;

/* ---- options ---- */

/* schedule, peer, staged, dynamic or static=FILE. */
static void take_copies(const struct tool_taking *t, char *text)
{
    struct hop_program_options *plan = t->to;
    unsigned way;
    if (strncmp(text, "static=", 7) == 0 && text[7]) {
        plan->copies = HOP_COPIES_STATIC;
        plan->table = text + 7;
        return;
    }
    if (!tool_choice("schedule peer staged static dynamic", text, strlen(text), &way) || way == HOP_COPIES_STATIC)
        tool_bad_usage(t->command,
                       "--copies cannot be '%.60s': schedule, peer, staged, dynamic or static=FILE is expected", text);
    plan->copies = (enum hop_copies)way;
}

/* peer=1ms, staged=never */
static void take_delay(const struct tool_taking *t, char *text)
{
    double *delay_s = t->to;
    const char *time = strchr(text, '=');
    unsigned way;
    if (!time || !tool_choice("peer staged", text, (size_t)(time - text), &way) ||
        !(strcmp(time + 1, "never") == 0 || tool_seconds(time + 1, &delay_s[way], NULL)))
        tool_bad_usage(t->command, "--delay cannot be '%.60s': peer=TIME or staged=TIME is expected, TIME may be never",
                       text);
    if (strcmp(time + 1, "never") == 0)
        delay_s[way] = INFINITY;
}

static const struct tool_option table[] = {
    SHARED(schedule, AT(run_options, schedules), .high = 1, .argument = "SCHEDULE|COLLECTIVE",
           .missing = "a schedule is missing (a file, -, -e TEXT, or a collective such as allreduce)"),
    SHARED(expression, AT(run_options, schedules), .high = 1),
    SHARED(ranks, AT(run_options, ranks), .help = "how many ranks (default: as many as the schedule has)"),
    SHARED(device, AT(run_options, request.plan.device)),
    SHARED(engines, AT(run_options, request.plan.engines)),
    SHARED(map, AT(run_options, map),
           .help =
               "the device of every rank, a file (hop_placement(3)); with --on also packed (the default) or cyclic"),
    SHARED(on, AT(run_options, topology),
           .help = "whose devices these are; a GPU is the one at the bus id that it says"),
    SHARED(set, AT(run_options, sets), .needs = "on emulate"),
    SHARED(model, AT(run_options, request.models), .needs = "on emulate",
           .help = "of the topology, for --predict and what held transfers back (see hopcast predict --help)"),
    FLAG("predict", 0, AT(run_options, request.predict), "with a topology: also what a prediction says",
         .needs = "on emulate"),
    SHARED(emulate, AT(run_options, emulate)),
    SHARED(slower, AT(run_options, request.plan.slower), .help = "emulated links are so many times as slow (1000)"),
    SHARED(chunk, AT(run_options, request.plan.chunk_bytes)),
    SHARED(buffer, AT(run_options, request.plan.buffer_bytes)),
    OPTION("copies", 0, CALL, AT(run_options, request.plan), "WAY",
           "schedule (default: as it says), peer, staged, dynamic, static=FILE (docs/copies.md)", .take = take_copies),
    OPTION("packet", 0, SIZE, AT(run_options, request.plan.packet_bytes), "SIZE", "of staged copies (512KiB)",
           .low = 1),
    OPTION("repeat", 0, WHOLE, AT(run_options, request.repeat), "N",
           "launch it N times more, timed; with --json or --csv each operation, and the timeline is of medians",
           .high = REPEAT_MAX),
    OPTION("warmup", 0, WHOLE, AT(run_options, request.warmup), "N", "and N times before, not timed",
           .high = REPEAT_MAX, .needs = "repeat"),
    FLAG("bound", 0, AT(run_options, request.plan.bound),
         "buffers are ordinary memory of each rank, bound as a caller's own (hop_program_bind(3))"),
    FLAG("no-check", 0, AT(run_options, no_check), "do not check the bytes"),
    OPTION("save", 0, TEXT, AT(run_options, request.save), "DIR",
           "write what each rank has after the first launch there: its result, rank0.out, or its buffers"),
    SHARED(seed, AT(run_options, request.seed), .help = "other numbers in the buffers (1)"),
    SHARED(in_process, AT(run_options, threads)),
    SHARED(was_threads, .at = 0),
    SHARED(pin, AT(run_options, pin)),
    SHARED(timeout, AT(run_options, timeout_s)),
    OPTION("node-size", 0, COUNT, AT(run_options, node_size), "K",
           "under mpirun: every K ranks are taken for a machine of their own", .low = 1, .high = HOP_RANKS_MAX),
    OPTION("delay", 0, CALL, AT(run_options, request.delay_s), "WAY=TIME",
           "for tests, with --copies dynamic: before each peer or staged copy; never: it does not come",
           .take = take_delay),
    OPTION("fault", 0, TEXT, AT(run_options, request.fault), "'kill R OP'",
           "for tests: rank R kills itself before operation OP; stop: it stands still"),
    SHARED(rows, AT(run_options, request.rows), .help = "list N operations (40; 0: all)"),
    SHARED(gantt, AT(run_options, request.gantt), .excludes = "json predict repeat rows"),
    SHARED(ascii, AT(run_options, request.ascii), .needs = "gantt", .help = "with --gantt: keep to ASCII"),
    SHARED(json, AT(run_options, request.json), .excludes = "predict rows",
           .help = "the timeline, as predict --json has it, with the times of --repeat"),
    SHARED(output, AT(run_options, request.output), .needs = "json gantt", .help = "write --json or --gantt there"),
    OPTION("csv", 0, TEXT, AT(run_options, request.csv), "FILE",
           "the copies as measurement CSV, which calibrate and compare read", .use = USE_FILE),
    SHARED(trace, AT(run_options, request.trace)),
    HEADING("of a collective:"),
    SHARED(algorithm, AT(run_options, collective.algorithm)),
    SHARED(bytes, AT(run_options, collective.vector_bytes), .help = SIZE_OF_A_COLLECTIVE " (1MiB)"),
    SHARED(operator, AT(run_options, collective.reduce)),
    SHARED(type, AT(run_options, collective.type)),
    SHARED(root, AT(run_options, collective.root)),
    SHARED(in_place, AT(run_options, collective.in_place)),
    SHARED(segment, AT(run_options, collective.segment_bytes)),
    SHARED(devices, AT(run_options, devices),
           .help = "that the ranks share, such as gpu0,gpu4 or gpu0-7 (default: one, or the topology's GPUs)"),
    END_OF_OPTIONS,
};

static void check_options(const struct run_options *o)
{
    const struct hop_program_options *plan = &o->request.plan;
    if (tool_given(&o->given, "delay") && plan->copies != HOP_COPIES_DYNAMIC)
        tool_bad_usage(&tool_run, "--delay goes with --copies dynamic");
    if (plan->packet_bytes && plan->copies == HOP_COPIES_PEER)
        tool_bad_usage(&tool_run, "--packet is of staged copies: --copies peer has none");
    tool_check_program(&tool_run, plan, o->threads, o->emulate);
}

/* Under mpirun its ranks run; some options are about ranks that are started here, one about the others. */
static void check_launch(const struct run_options *o, uint32_t size)
{
    if (size == 1 && o->node_size)
        tool_bad_usage(&tool_run, "--node-size is for several ranks that mpirun starts");
    if (size > 1 && o->ranks && o->ranks != size)
        tool_bad_usage(&tool_run, "-n %u, and mpirun started %u ranks: it says how many there are", o->ranks, size);
    if (size > 1 && (o->threads || o->pin))
        tool_bad_usage(&tool_run, "--in-process and --pin are for ranks that are started here, not by mpirun");
}

/* ---- running ---- */

/* One speaks for all: rank 0, or where that is lost the next. */
static int say_loss(void)
{
    tool_hushed = hop_group_rank(group) != (strncmp(tool_diag.what, "rank 0 ", 7) == 0 ? 1 : 0);
    return tool_say(&tool_diag);
}

static int run_in_group(const struct run_options *o)
{
    const struct hop_team_options options = {.timeout_s = o->timeout_s, .stop = &ranks_stop};
    struct hop_team *team;
    if (hop_team_join_group(group, o->node_size, &options, &team, &tool_diag) != HOP_OK)
        return say_loss();
    int status = run_rank(team, (void *)&o->request);
    if (hop_team_lost(team) < 0)
        (void)hop_team_finish(team, NULL);
    else if (hop_team_why(team, &tool_diag))
        status = say_loss();
    hop_team_destroy(team);
    return status;
}

static int run_here(const struct run_options *o)
{
    struct hop_launch_options options = {.ranks = o->request.ranks,
                                         .threads = o->threads,
                                         .pin = o->pin,
                                         .timeout_s = o->timeout_s,
                                         .stop = &ranks_stop};
    int result = TOOL_OK;
    tool_try(hop_launch(&options, run_rank, (void *)&o->request, &result, &tool_diag));
    /* One that nobody reads any more ends quietly. */
    return result > 128 && result != 128 + SIGPIPE ? tool_say(&tool_diag) : result;
}

/* Every rank compiles the whole schedule, which many ranks on few processors would do for hours, or until memory is
 * full. */
static uint64_t find_preparations_most(double timeout_s)
{
    double processors = fmax((double)sysconf(_SC_NPROCESSORS_ONLN), 1);
    double memory = (double)sysconf(_SC_PHYS_PAGES) * (double)sysconf(_SC_PAGE_SIZE);
    double may_s = RUN_TIMEOUTS * (timeout_s > 0 ? timeout_s : TIMEOUT_S);
    return (uint64_t)fmin(fmax(fmin(may_s * processors / VISIT_S, memory / BYTES_A_VISIT), 1), 1e15);
}

static void check_work(const struct run_options *o, const struct run_request *r)
{
    uint64_t most = o->preparations_most / r->ranks + 1;
    if (o->preparations_most == 0 || hop_schedule_count(r->schedule) <= most)
        return;
    (void)hop_fail(&tool_diag, HOP_ERR_LIMIT, "%u ranks would each prepare %u operations\n" RUN_WORK_EXPECTED, r->ranks,
                   hop_schedule_count(r->schedule), (unsigned long long)most, r->ranks, RUN_TIMEOUTS);
    tool_fail(&tool_diag);
}

static void prepare(const struct run_options *o, struct run_request *r, bool first)
{
    bool race;
    uint32_t needed = tool_counted(hop_schedule_run_ranks(r->schedule));
    needed = needed > r->plan.definition_ranks ? needed : r->plan.definition_ranks;
    r->ranks = o->ranks ? o->ranks : needed;
    if (r->ranks == 0)
        tool_bad_usage(&tool_run, "the schedule has no operations: -n says how many ranks there are");
    if (r->ranks < needed)
        tool_bad_usage(&tool_run, "the schedule has %u ranks: %u %s too few", needed, r->ranks,
                       r->ranks == 1 ? "is" : "are");
    check_work(o, r);
    tool_try(hop_schedule_find_race(r->schedule, &race, &tool_diag));
    if (race && first)
        fprintf(stderr, "hopcast: warning: %s%s%s\n  better: %s\n", tool_diag.place, tool_diag.place[0] ? ": " : "",
                tool_diag.what, tool_diag.expected);
    tool_check_output(first ? r->output : NULL); /* rank 0 writes, the others' file systems may have other folders */
    tool_check_output(first ? r->trace : NULL);
    tool_check_output(first ? r->csv : NULL);
    if (r->save)
        tool_make_directory(r->save);
}

static int disagree(int status)
{
    return ranks_end(group, run_agree(group, status));
}

/* Under a launcher its ranks run, as many as it started; alone, ranks are started here. */
static int run(int argc, char **argv)
{
    static struct run_options o = {
        .request = {.seed = 1, .rows = 40, .plan = {.slower = 1000}},
        .collective = {.vector_bytes = 1 << 20, .reduce = HOP_REDUCE_SUM, .type = HOP_TYPE_F32},
    };
    static struct run_loaded l;
    tool_read(&tool_run, argc, argv, &o);
    check_options(&o);
    o.request.rows = o.request.rows ? o.request.rows : UINT32_MAX;
    o.request.check = !o.no_check;
    group = ranks_join_within(o.timeout_s);
    uint32_t size = (uint32_t)hop_group_size(group);
    bool alone = size == 1;
    o.collective.nodes = alone ? NULL : run_nodes(group, o.node_size);
    tool_hushed = hop_group_rank(group) > 0; /* what is wrong with the input is the same for all ranks */
    if (!alone)
        tool_at_end(disagree);
    check_launch(&o, size);
    o.ranks = alone ? o.ranks : size;
    o.preparations_most = alone ? find_preparations_most(o.timeout_s) : 0;
    run_load(&o, &l);
    prepare(&o, &o.request, hop_group_rank(group) == 0);
    tool_hushed = false;
    ranks_catch();
    if (alone) {
        ranks_end_with(NULL);
        hop_group_destroy(group);
        return run_here(&o);
    }
    ranks_end_with(group);
    int status = run_agree(group, TOOL_OK);
    return status == TOOL_OK ? run_in_group(&o) : status;
}

const struct tool_command tool_run = {
    .name = "run",
    .summary = "execute a schedule with real bytes, and measure it",
    .usage = "SCHEDULE|COLLECTIVE [-n RANKS] [OPTION ...]",
    .about = SCHEDULE_IS
    "COLLECTIVE is allreduce, reduce, broadcast (or bcast), allgather, reduce-scatter, alltoall, gather, scatter or\n"
    "barrier. Ranks are processes started here, or those of mpirun. The second launch is recorded, and every byte\n"
    "of the first is checked.\n"
    "\n",
    .options = table,
    .notes = "example: hopcast run allreduce -n 4 --algorithm ring --bytes 16MiB --repeat 20\n",
    .run = run,
};
