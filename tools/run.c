/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast run: executes a schedule, or a collective that it makes, with real bytes between real processes. */
#include "run.h"

#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"

enum { REPEAT_MAX = 10000000, ENGINES_MAX = 6, CHUNK_BYTES = 4096 };

static const struct option long_options[] = {
    {"expression", required_argument, NULL, 'e'},
    {"ranks", required_argument, NULL, 'n'},
    {"on", required_argument, NULL, 't'},
    {"set", required_argument, NULL, 's'},
    {"model", required_argument, NULL, 'm'},
    {"map", required_argument, NULL, 'M'},
    {"devices", required_argument, NULL, 'd'},
    {"device", required_argument, NULL, 'D'},
    {"engines", required_argument, NULL, 'E'},
    {"emulate", required_argument, NULL, 'u'},
    {"slower", required_argument, NULL, 'w'},
    {"chunk", required_argument, NULL, 'C'},
    {"buffer", required_argument, NULL, 'B'},
    {"copies", required_argument, NULL, 'c'},
    {"packet", required_argument, NULL, 'p'},
    {"algorithm", required_argument, NULL, 'a'},
    {"bytes", required_argument, NULL, 'b'},
    {"operator", required_argument, NULL, 'O'},
    {"type", required_argument, NULL, 'T'},
    {"root", required_argument, NULL, 'R'},
    {"in-place", no_argument, NULL, 'i'},
    {"segment", required_argument, NULL, 'S'},
    {"repeat", required_argument, NULL, 'r'},
    {"warmup", required_argument, NULL, 'W'},
    {"seed", required_argument, NULL, 'x'},
    {"no-check", no_argument, NULL, 'N'},
    {"threads", no_argument, NULL, 'H'},
    {"pin", no_argument, NULL, 'P'},
    {"timeout", required_argument, NULL, 'L'},
    {"node-size", required_argument, NULL, 'k'},
    {"predict", no_argument, NULL, 'q'},
    {"rows", required_argument, NULL, 'l'},
    {"delay", required_argument, NULL, 'y'},
    {"fault", required_argument, NULL, 'f'},
    {"json", no_argument, NULL, 'j'},
    {"output", required_argument, NULL, 'o'},
    {"gantt", no_argument, NULL, 'g'},
    {"ascii", no_argument, NULL, 'A'},
    {"trace", required_argument, NULL, 'z'},
    {"help", no_argument, NULL, 'h'},
    {NULL, 0, NULL, 0},
};

/* ---- options ---- */

/* schedule, peer, staged, dynamic or static=FILE. */
static bool read_copies(const char *text, struct hop_program_options *plan)
{
    static const char *const names[] = {"schedule", "peer", "staged", "static", "dynamic"};
    if (strncmp(text, "static=", 7) == 0 && text[7]) {
        plan->copies = HOP_COPIES_STATIC;
        plan->table = text + 7;
        return true;
    }
    for (unsigned i = 0; i < sizeof names / sizeof names[0]; i++) {
        if (strcmp(names[i], text) == 0 && i != HOP_COPIES_STATIC) {
            plan->copies = (enum hop_copies)i;
            return true;
        }
    }
    tool_bad_usage(&tool_run, "--copies %.60s: expected schedule, peer, staged, dynamic or static=FILE", text);
    return false;
}

/* peer=1ms, staged=never */
static bool read_delay(const char *text, struct hop_program_options *plan)
{
    const char *equals = strchr(text, '=');
    struct hop_diag diag;
    int way = strncmp(text, "peer=", 5) == 0 ? 0 : strncmp(text, "staged=", 7) == 0 ? 1 : -1;
    if (way < 0) {
        tool_bad_usage(&tool_run, "--delay %.60s: expected peer=TIME or staged=TIME, TIME may be never", text);
        return false;
    }
    if (strcmp(equals + 1, "never") == 0) {
        plan->delay_s[way] = INFINITY;
        return true;
    }
    return hop_parse_seconds(equals + 1, strlen(equals + 1), &plan->delay_s[way], &diag) == HOP_OK ||
           (tool_fail(&diag), false);
}

static bool read_size(const char *option, const char *text, uint64_t *bytes)
{
    struct hop_diag diag;
    if (hop_parse_bytes(text, strlen(text), bytes, &diag) == HOP_OK)
        return true;
    tool_bad_usage(&tool_run, "%s %.60s: %s", option, text, diag.what);
    return false;
}

/* An option of collectives. */
static bool take_collective(struct run_options *o, int option)
{
    uint64_t whole = 0;
    struct hop_collective_options *c = &o->collective;
    switch (option) {
    case 'a':
        c->algorithm = optarg;
        return true;
    case 'b':
        return read_size("--bytes", optarg, &c->bytes);
    case 'O':
        return tool_operator(&tool_run, optarg, &c->reduce);
    case 'T':
        return tool_type(&tool_run, optarg, &c->type);
    case 'R':
        if (!tool_whole(&tool_run, "--root", optarg, 0, HOP_RANKS_MAX - 1, &whole))
            return false;
        c->root = (uint32_t)whole;
        return true;
    case 'S':
        return read_size("--segment", optarg, &c->segment_bytes);
    default:
        c->in_place = true;
        return true;
    }
}

static bool take_option(struct run_options *o, int option)
{
    struct run_request *r = &o->request;
    double number = 0;
    uint64_t whole = 0;
    switch (option) {
    case 'e':
        o->is_text = true;
        o->schedule = optarg;
        return true;
    case 'n':
        return tool_whole(&tool_run, "--ranks", optarg, 1, HOP_RANKS_MAX, &o->ranks);
    case 't':
        o->topology = optarg;
        return true;
    case 's':
        if (o->set_count == RUN_SETS)
            return tool_bad_usage(&tool_run, "more than %d assignments", RUN_SETS) == TOOL_OK;
        o->sets[o->set_count++] = optarg;
        return true;
    case 'm':
        r->models = optarg;
        return true;
    case 'M':
        o->map = optarg;
        return true;
    case 'd':
        o->devices = optarg;
        return true;
    case 'D':
        r->plan.device = optarg;
        return true;
    case 'E':
        if (!tool_whole(&tool_run, "--engines", optarg, 0, ENGINES_MAX, &whole))
            return false;
        r->plan.engines = (unsigned)whole;
        return true;
    case 'u':
        o->emulate = optarg;
        return true;
    case 'w':
        if (!tool_number(&tool_run, "--slower", optarg, 1, 1e9, &number))
            return false;
        r->plan.slower = number;
        return true;
    case 'C':
        return tool_bytes(&tool_run, "--chunk", optarg, &r->plan.chunk_bytes);
    case 'B':
        return tool_bytes(&tool_run, "--buffer", optarg, &r->plan.buffer_bytes);
    case 'c':
        return read_copies(optarg, &r->plan);
    case 'p':
        return tool_bytes(&tool_run, "--packet", optarg, &r->plan.packet_bytes);
    case 'r':
        return tool_whole(&tool_run, "--repeat", optarg, 0, REPEAT_MAX, &r->repeat);
    case 'W':
        return tool_whole(&tool_run, "--warmup", optarg, 0, REPEAT_MAX, &r->warmup);
    case 'x':
        return tool_whole(&tool_run, "--seed", optarg, 0, UINT64_MAX, &r->seed);
    case 'l':
        return tool_whole(&tool_run, "--rows", optarg, 0, UINT32_MAX, &o->rows);
    case 'k':
        return tool_whole(&tool_run, "--node-size", optarg, 1, HOP_RANKS_MAX, &o->node_size);
    case 'L':
        return tool_number(&tool_run, "--timeout", optarg, 0.1, 1e6, &o->timeout_s);
    case 'y':
        return read_delay(optarg, &r->plan);
    case 'f':
        r->plan.fault = optarg;
        return true;
    case 'N':
        o->no_check = true;
        return true;
    case 'H':
        o->threads = true;
        return true;
    case 'P':
        o->pin = true;
        return true;
    case 'q':
        r->predict = true;
        return true;
    case 'j':
        r->json = true;
        return true;
    case 'o':
        r->output = optarg;
        return true;
    case 'g':
        r->gantt = true;
        return true;
    case 'A':
        r->ascii = true;
        return true;
    case 'z':
        r->trace = optarg;
        return true;
    default:
        return option != '?' && take_collective(o, option);
    }
}

/* No option is left aside without a word. */
static int check_options(const struct run_options *o)
{
    const struct run_request *r = &o->request;
    bool machine = o->topology || o->emulate, other = r->json || r->gantt;
    bool host = !r->plan.device || strcmp(r->plan.device, "host") == 0;
    uint64_t chunk_bytes = r->plan.chunk_bytes ? r->plan.chunk_bytes : CHUNK_BYTES;
    const struct {
        bool wrong;
        const char *why;
    } rules[] = {
        {o->emulate && o->topology, "--emulate names the topology already: --on goes without it"},
        {!machine && r->predict, "--predict needs --on TOPOLOGY or --emulate TOPOLOGY"},
        {!machine && (o->set_count || r->models), "--set and --model go with --on TOPOLOGY or --emulate TOPOLOGY"},
        {!o->emulate && (run_given(o, 'w') || run_given(o, 'C') || run_given(o, 'B')),
         "--slower, --chunk and --buffer go with --emulate TOPOLOGY"},
        {run_given(o, 'B') && r->plan.buffer_bytes < chunk_bytes,
         "--buffer is less than a chunk (--chunk, 4KiB): a link's buffer holds one at least"},
        {o->emulate && !host, "--emulate goes with the device host"},
        {r->gantt && r->json, "one of --gantt and --json at a time"},
        {r->output && !other, "--output goes with --json or --gantt"},
        {r->ascii && !r->gantt, "--ascii goes with --gantt"},
        {other && (r->predict || run_given(o, 'l') || run_given(o, 'r')),
         "--predict, --repeat and --rows are about the table: --json and --gantt go without them"},
        {run_given(o, 'W') && !run_given(o, 'r'), "--warmup goes with --repeat"},
        {o->threads && !host, "--threads goes with the device host"},
        {run_given(o, 'E') && !host, "--engines goes with the device host"},
        {run_given(o, 'y') && r->plan.copies != HOP_COPIES_DYNAMIC, "--delay goes with --copies dynamic"},
        {run_given(o, 'p') && r->plan.copies == HOP_COPIES_PEER,
         "--packet is of staged copies: --copies peer has none"},
    };
    for (size_t i = 0; i < sizeof rules / sizeof rules[0]; i++) {
        if (rules[i].wrong)
            return tool_bad_usage(&tool_run, "%s", rules[i].why);
    }
    return TOOL_OK;
}

/* Under mpirun its ranks run; some options are about ranks that are started here, one about the others. */
static int check_launch(const struct run_options *o, const struct hop_group *group)
{
    uint32_t size = (uint32_t)hop_group_size(group);
    if (size == 1)
        return o->node_size ? tool_bad_usage(&tool_run, "--node-size is for several ranks that mpirun starts")
                            : TOOL_OK;
    if (run_given(o, 'n') && o->ranks != size)
        return tool_bad_usage(&tool_run, "-n %u, and mpirun started %u ranks: it says how many there are",
                              (uint32_t)o->ranks, size);
    if (o->threads || o->pin)
        return tool_bad_usage(&tool_run, "--threads and --pin are for ranks that are started here, not by mpirun");
    return TOOL_OK;
}

/* -1: help was asked for. */
static int read_options(struct run_options *o, int argc, char **argv)
{
    *o = (struct run_options){.rows = UINT64_MAX};
    o->request = (struct run_request){.seed = 1, .rows = 40, .check = true};
    o->request.plan.slower = 1000;
    o->collective = (struct hop_collective_options){.bytes = 1 << 20, .reduce = HOP_REDUCE_SUM, .type = HOP_TYPE_F32};
    tool_options_begin();
    for (int option; (option = tool_option(&tool_run, argc, argv, ":e:n:s:m:gjo:h", long_options)) != -1;) {
        if (option == 'h')
            return -1;
        if (option == '?' || !take_option(o, option))
            return TOOL_BAD;
        o->given[option / 64 % 2] |= UINT64_C(1) << option % 64;
    }
    if (o->rows != UINT64_MAX)
        o->request.rows = o->rows ? o->rows : UINT32_MAX;
    o->request.check = !o->no_check;
    if (optind < argc && o->schedule)
        return tool_bad_usage(&tool_run, "one schedule at a time");
    if (optind < argc)
        o->schedule = argv[optind++];
    if (optind < argc)
        return tool_bad_usage(&tool_run, "'%s' is one argument too many", argv[optind]);
    if (!o->schedule)
        return tool_bad_usage(&tool_run,
                              "a schedule is missing (a file, -, -e TEXT, or a collective such as allreduce)");
    return check_options(o);
}

/* ---- running ---- */

static int run_in_group(const struct run_options *o, struct hop_group *group)
{
    const struct hop_team_options options = {.timeout_s = o->timeout_s, .stop = &ranks_stop};
    struct hop_team *team;
    struct hop_diag diag;
    if (hop_team_join_group(group, (uint32_t)o->node_size, &options, &team, &diag) != HOP_OK)
        return hop_group_rank(group) == 0 ? tool_fail(&diag) : TOOL_BAD;
    int status = run_rank(team, (void *)&o->request);
    if (hop_team_lost(team) < 0)
        (void)hop_team_finish(team, NULL);
    else if (hop_team_why(team, &diag) && hop_group_rank(group) == 0)
        status = tool_fail(&diag);
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
    struct hop_diag diag;
    int result = TOOL_OK;
    enum hop_status status = hop_launch(&options, run_rank, (void *)&o->request, &result, &diag);
    return status == HOP_OK ? result : tool_fail(&diag);
}

static int prepare(const struct run_options *o, struct run_request *r, const struct hop_group *group)
{
    struct hop_diag diag;
    bool race;
    uint32_t needed = hop_schedule_run_ranks(r->schedule);
    r->ranks = o->ranks ? (uint32_t)o->ranks : needed;
    if (r->ranks == 0)
        return tool_bad_usage(&tool_run, "the schedule has no operations: -n says how many ranks there are");
    if (r->ranks < needed)
        return tool_bad_usage(&tool_run, "the schedule has %u ranks, %u are started", needed, r->ranks);
    if (hop_schedule_find_race(r->schedule, &race, &diag) != HOP_OK)
        return tool_fail(&diag);
    if (race && hop_group_rank(group) == 0)
        fprintf(stderr, "hopcast: warning: %s%s%s\n  better: %s\n", diag.place, diag.place[0] ? ": " : "", diag.what,
                diag.expected);
    /* rank 0 writes, and the others' file systems may have other folders */
    int status = hop_group_rank(group) == 0 ? tool_check_output(r->output) : TOOL_OK;
    return status == TOOL_OK && hop_group_rank(group) == 0 ? tool_check_output(r->trace) : status;
}

/* What is wrong with the input is the same for all ranks: rank 0 says it. Returns what to give back to hush_end. */
static int hush_begin(const struct hop_group *group)
{
    if (hop_group_rank(group) == 0)
        return -1;
    (void)fflush(stderr);
    int kept = dup(STDERR_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (nowhere >= 0 && kept >= 0)
        (void)dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0)
        (void)close(nowhere);
    return kept;
}

static void hush_end(int kept)
{
    (void)fflush(stderr);
    if (kept >= 0) {
        (void)dup2(kept, STDERR_FILENO);
        (void)close(kept);
    }
}

/* Under a launcher its ranks run, as many as it started; alone, ranks are started here. */
static int start(struct run_options *o, struct run_loaded *l)
{
    struct hop_group *group;
    int status = ranks_join_within(o->timeout_s, &group);
    if (status != TOOL_OK)
        return status;
    bool alone = hop_group_size(group) == 1;
    int kept = hush_begin(group);
    status = check_launch(o, group);
    if (!alone)
        o->ranks = (uint32_t)hop_group_size(group);
    if (status == TOOL_OK)
        status = run_load(o, l);
    if (status == TOOL_OK)
        status = prepare(o, &o->request, group);
    hush_end(kept);
    if (!alone) {
        status = run_agree(group, status);
        if (status == TOOL_OK)
            status = run_in_group(o, group);
        return ranks_end(group, status);
    }
    hop_group_destroy(group);
    return status == TOOL_OK ? run_here(o) : status;
}

static int run(int argc, char **argv)
{
    static struct run_options o;
    struct run_loaded l = {0};
    int status = read_options(&o, argc, argv);
    if (status == -1)
        return tool_help(&tool_run);
    if (status == TOOL_OK)
        status = start(&o, &l);
    run_loaded_finish(&l);
    return status;
}

const struct tool_command tool_run = {
    .name = "run",
    .summary = "execute a schedule with real bytes, and measure it",
    .usage = "SCHEDULE|COLLECTIVE [-n RANKS] [OPTION ...]",
    .help =
        "SCHEDULE is a .hop, JSON or GOAL file, - for standard input, or -e TEXT. COLLECTIVE is allreduce, reduce,\n"
        "broadcast (or bcast), allgather, reduce-scatter, alltoall, gather, scatter or barrier. Ranks are processes "
        "started\n"
        "here, or those of mpirun. The second launch is recorded, and every byte of the first is checked.\n"
        "\n"
        "  -e, --expression TEXT   a schedule as text, operations separated by ';'\n"
        "  -n, --ranks N           how many ranks (default: as many as the schedule has)\n"
        "      --device NAME       host (default: shared memory of this machine) or cuda\n"
        "      --engines N         host: N threads, 6 at most, copy for each rank; 0 (default): the rank itself does\n"
        "      --map FILE          the device of every rank (hop_placement(3)); with --on also packed (the default), "
        "cyclic\n"
        "      --on TOPOLOGY       whose devices these are\n"
        "  -s, --set NAME=VALUE    change the topology; -m, --model NAME: its models (see hopcast predict --help)\n"
        "      --predict           with it: also what a prediction says\n"
        "      --emulate TOPOLOGY  copies go through its links, in real time, slowed down\n"
        "      --slower X          so many times (1000); --chunk SIZE (4KiB), --buffer SIZE of a link (32 chunks; 1 at "
        "least)\n"
        "      --copies WAY        schedule (default: as it says), peer, staged, dynamic, static=FILE "
        "(docs/copies.md)\n"
        "      --packet SIZE       of staged copies (512KiB)\n"
        "      --repeat N          launch it N times more, timed, after --warmup N\n"
        "      --no-check          do not check the bytes; --seed N: other numbers\n"
        "      --threads           ranks are threads of one process; --pin: each on a processor of its own\n"
        "      --timeout S         a rank that does not move for so many seconds is lost (10)\n"
        "      --node-size K       under mpirun: every K ranks are taken for a machine of their own\n"
        "      --delay WAY=TIME    for tests, with --copies dynamic: before each peer or staged copy; never: it does "
        "not come\n"
        "      --fault 'kill R OP' for tests: rank R kills itself before operation OP; stop: it stands still\n"
        "      --rows N            list N operations (40; 0: all)\n"
        "  -g, --gantt             draw the timeline; --ascii keeps to ASCII\n"
        "  -j, --json              the timeline, as predict --json has it\n"
        "  -o, --output FILE       write --json or --gantt there\n"
        "      --trace FILE        also write a trace that Perfetto opens\n"
        "\n"
        "of a collective:\n"
        "      --algorithm NAME    such as ring or gsb-btb (`hopcast make allreduce --list`); auto=FILE: what the "
        "table says\n"
        "                          that `hopcast tune collective -o FILE` wrote\n"
        "      --bytes SIZE        what a rank puts in (1MiB; a barrier: nothing); --operator sum, prod, min, max; "
        "--type "
        "f32, ...\n"
        "      --root R            --in-place, --segment SIZE (docs/collectives.md)\n"
        "      --devices LIST      that the ranks share, such as gpu0,gpu4 or gpu0-7 (default: one, or the topology's "
        "GPUs)\n"
        "\n"
        "example: hopcast run allreduce -n 4 --algorithm ring --bytes 16MiB --repeat 20\n",
    .run = run,
};
