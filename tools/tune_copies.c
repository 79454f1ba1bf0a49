/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast tune copies: how many of a collective's copies to stage, measured; the table of `run --copies static=FILE`. */
#include <stdlib.h>
#include <unistd.h>

#include "options_shared.h"
#include "ranks.h"
#include "tune.h"

enum { ROUNDS_MAX = 1000 };

struct request {
    struct tool_given given;
    struct tune_kinds kinds;
    const char *devices, *output;
    uint64_t rounds;
    uint32_t ranks;
    struct tool_sizes sizes, packets;
    struct hop_program_options program;
    struct hop_launch_options launch;
    bool json;
};

static const struct tool_option table[] = {
    SHARED(kinds, AT(request, kinds)),
    GONE("collective", "a word, as in `hopcast tune copies allgather,allreduce -n 4`"),
    SHARED(ranks, AT(request, ranks), .low = 2, .missing = "-n RANKS is missing", .help = "how many ranks"),
    OPTION("sizes", 0, SIZES, AT(request, sizes), "LIST",
           "SIZE,... or LOW:HIGH*FACTOR (4KiB:16MiB*4), " SIZE_OF_A_COLLECTIVE),
    OPTION("packets", 0, SIZES, AT(request, packets), "LIST", "of a staged copy (128KiB:2MiB*4)"),
    SHARED(device, AT(request, program.device)),
    SHARED(devices, AT(request, devices), .help = "that the ranks share (one), such as gpu0-3"),
    OPTION("rounds", 0, WHOLE, AT(request, rounds), "N", "of turns (7)", .low = 1, .high = ROUNDS_MAX),
    SHARED(engines, AT(request, program.engines)),
    SHARED(in_process, AT(request, launch.threads)),
    SHARED(was_threads, .at = 0),
    SHARED(pin, AT(request, launch.pin)),
    SHARED(timeout, AT(request, launch.timeout_s)),
    SHARED(json, AT(request, json), .use = USE_PRINT, .help = "the rows, for machines (docs/tune_copies.schema.json)"),
    SHARED(output, AT(request, output), .help = "where to write the table (standard output)"),
    END_OF_OPTIONS,
};

/* ---- the command ---- */

static int run(int argc, char **argv)
{
    static struct request r = {.rounds = 7};
    struct device_list list = {0};
    struct tool_progress progress;
    char *text, *json = NULL;
    tool_read(&tool_tune_copies, argc, argv, &r);
    tool_check_program(&tool_tune_copies, &r.program, r.launch.threads, false);
    ranks_alone(&tool_tune_copies);
    tool_check_outputs(&r.given);
    devices_find(&tool_tune_copies, NULL, r.devices, &list);
    struct hop_copies_tune_options options = {.ways = {.launch = r.launch, .rounds = (uint32_t)r.rounds},
                                              .program = r.program,
                                              .devices = devices_spread(&list, r.ranks, 0),
                                              .collectives = r.kinds.count ? r.kinds.at : NULL,
                                              .collective_count = r.kinds.count,
                                              .sizes = r.sizes.count ? r.sizes.at : NULL,
                                              .size_count = r.sizes.count,
                                              .packets = r.packets.count ? r.packets.at : NULL,
                                              .packet_count = r.packets.count,
                                              .progress = tool_progress_begin(&progress, "sizes"),
                                              .context = &progress};
    options.ways.launch.ranks = r.ranks;
    const char *note = tool_text("device %.40s, %u ranks on %ld processors, medians of %llu round%s",
                                 r.program.device ? r.program.device : hop_device_at(0)->name, r.ranks,
                                 sysconf(_SC_NPROCESSORS_ONLN), (unsigned long long)r.rounds, r.rounds == 1 ? "" : "s");
    enum hop_status status = hop_copies_tune(&options, note, &text, r.json ? &json : NULL, &tool_diag);
    tool_progress_end(&progress);
    tool_try(status);
    if (r.json)
        tool_write_text(NULL, json);
    if (r.output || !r.json)
        tool_write(r.output, text);
    free(text);
    return TOOL_OK;
}

const struct tool_command tool_tune_copies = {
    .name = "tune copies",
    .summary = "how many of a collective's copies to stage, and in which packets",
    .usage = "[COLLECTIVE[,...]|all] -n RANKS [OPTION ...]",
    .about = "Runs collectives (allgather,allreduce) by gsb on this machine with none, some and all of their copies\n"
             "staged, in packets of several sizes, in turns, and writes what was fastest as a table for `hopcast run\n"
             "--copies static=FILE`. What the first collective likes best also stands there for those that were not\n"
             "measured, and for schedules.\n"
             "\n",
    .options = table,
    .notes = "example: hopcast tune copies -n 4 -o copies.txt\n",
    .run = run,
};
