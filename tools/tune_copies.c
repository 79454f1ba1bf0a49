/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast tune copies: how many of a collective's copies to stage, measured; the table of `run --copies static=FILE`.
 * */
#include "tune.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "alone.h"

enum { ROUNDS_MAX = 1000 };

struct request {
    enum hop_collective_kind kinds[HOP_COLLECTIVE_COUNT];
    uint32_t kind_count;
    const char *devices, *output;
    uint64_t ranks, rounds;
    uint64_t sizes[HOP_TUNE_SIZES], packets[HOP_TUNE_SIZES];
    uint32_t size_count, packet_count;
    struct hop_program_options program;
    struct hop_launch_options launch;
};

static const struct option long_options[] = {
    {"ranks", required_argument, NULL, 'n'},   {"collective", required_argument, NULL, 'c'},
    {"devices", required_argument, NULL, 'd'}, {"device", required_argument, NULL, 'D'},
    {"engines", required_argument, NULL, 'E'}, {"sizes", required_argument, NULL, 'z'},
    {"packets", required_argument, NULL, 'k'}, {"rounds", required_argument, NULL, 'r'},
    {"threads", no_argument, NULL, 'H'},       {"pin", no_argument, NULL, 'P'},
    {"timeout", required_argument, NULL, 'w'}, {"output", required_argument, NULL, 'o'},
    {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0}};

static bool take_option(struct request *r, int code)
{
    uint64_t whole;
    switch (code) {
    case 'n':
        return tool_whole(&tool_tune_copies, "--ranks", optarg, 2, HOP_RANKS_MAX, &r->ranks);
    case 'c':
        return tune_read_collectives(&tool_tune_copies, optarg, r->kinds, &r->kind_count);
    case 'd':
        r->devices = optarg;
        return true;
    case 'D':
        r->program.device = optarg;
        return true;
    case 'E':
        if (!tool_whole(&tool_tune_copies, "--engines", optarg, 0, 6, &whole))
            return false;
        r->program.engines = (unsigned)whole;
        return true;
    case 'z':
        return tune_read_sizes(&tool_tune_copies, "--sizes", optarg, r->sizes, &r->size_count);
    case 'k':
        return tune_read_sizes(&tool_tune_copies, "--packets", optarg, r->packets, &r->packet_count);
    case 'r':
        return tool_whole(&tool_tune_copies, "--rounds", optarg, 1, ROUNDS_MAX, &r->rounds);
    case 'H':
        return r->launch.threads = true;
    case 'P':
        return r->launch.pin = true;
    case 'w':
        return tool_number(&tool_tune_copies, "--timeout", optarg, 0.1, 1e6, &r->launch.timeout_s);
    case 'o':
        r->output = optarg;
        return true;
    default:
        return false;
    }
}

/* -1: help was asked for. */
static int read_options(struct request *r, int argc, char **argv)
{
    *r = (struct request){.rounds = 7};
    tool_options_begin();
    for (int option; (option = tool_option(&tool_tune_copies, argc, argv, ":n:o:h", long_options)) != -1;) {
        if (option == 'h')
            return -1;
        if (option == '?' || !take_option(r, option))
            return TOOL_BAD;
    }
    if (optind < argc)
        return tool_bad_usage(&tool_tune_copies, "'%s' is too much: collectives follow --collective", argv[optind]);
    if (r->ranks == 0)
        return tool_bad_usage(&tool_tune_copies, "-n RANKS is missing");
    if (r->launch.threads && r->program.device && strcmp(r->program.device, "host") != 0)
        return tool_bad_usage(&tool_tune_copies, "--threads goes with the device host");
    if (r->program.engines && r->program.device && strcmp(r->program.device, "host") != 0)
        return tool_bad_usage(&tool_tune_copies, "--engines goes with the device host");
    return TOOL_OK;
}

static int tune(const struct request *r, const struct tune_ranks *ranks)
{
    struct tool_progress progress;
    struct hop_copies_tune_options options = {.ways = {.launch = r->launch, .rounds = (uint32_t)r->rounds},
                                              .program = r->program,
                                              .devices = ranks->devices,
                                              .collectives = r->kind_count ? r->kinds : NULL,
                                              .collective_count = r->kind_count,
                                              .sizes = r->size_count ? r->sizes : NULL,
                                              .size_count = r->size_count,
                                              .packets = r->packet_count ? r->packets : NULL,
                                              .packet_count = r->packet_count,
                                              .progress = tool_progress_begin(&progress, "sizes"),
                                              .context = &progress};
    struct hop_diag diag;
    char note[160], *text;
    options.ways.launch.ranks = ranks->ranks.count;
    (void)snprintf(note, sizeof note, "device %.40s, %u ranks on %ld processors, medians of %llu round%s",
                   r->program.device ? r->program.device : "host", ranks->ranks.count, sysconf(_SC_NPROCESSORS_ONLN),
                   (unsigned long long)r->rounds, r->rounds == 1 ? "" : "s");
    enum hop_status status = hop_copies_tune(&options, note, &text, &diag);
    tool_progress_end(&progress);
    if (status != HOP_OK)
        return tool_fail(&diag);
    int answer = tool_write(r->output, text);
    free(text);
    return answer;
}

static int run(int argc, char **argv)
{
    static struct request r;
    struct tune_ranks ranks = {0};
    int status = read_options(&r, argc, argv);
    if (status == -1)
        return tool_help(&tool_tune_copies);
    if (status == TOOL_OK)
        status = alone_check(&tool_tune_copies);
    if (status == TOOL_OK)
        status = tool_check_output(r.output);
    if (status == TOOL_OK)
        status = tune_find_ranks(&tool_tune_copies, NULL, r.devices, (uint32_t)r.ranks, &ranks);
    if (status == TOOL_OK)
        status = tune(&r, &ranks);
    tune_ranks_finish(&ranks);
    return status;
}

const struct tool_command tool_tune_copies = {
    .name = "tune copies",
    .summary = "how many of a collective's copies to stage, and in which packets",
    .usage = "-n RANKS [OPTION ...]",
    .help =
        "Runs collectives by gsb on this machine with none, some and all of their copies staged, in packets of "
        "several\n"
        "sizes, in turns, and writes what was fastest as a table for `hopcast run --copies static=FILE`. What the "
        "first\n"
        "collective likes best also stands there for those that were not measured, and for schedules.\n"
        "\n"
        "  -n, --ranks N           how many ranks\n"
        "      --collective LIST   with commas between, or all (allgather,allreduce)\n"
        "      --sizes LIST        of what a rank puts in: SIZE,... or LOW:HIGH*FACTOR (4KiB:16MiB*4)\n"
        "      --packets LIST      of a staged copy (128KiB:2MiB*4)\n"
        "      --device NAME       host (default) or cuda; --devices LIST: that the ranks share (one), such as gpu0-3\n"
        "      --rounds N          of turns (7)\n"
        "      --engines (to 6), --threads, --pin, --timeout are as for hopcast run\n"
        "  -o, --output FILE       where to write the table (standard output)\n"
        "\n"
        "example: hopcast tune copies -n 4 -o copies.txt\n",
    .run = run,
};
