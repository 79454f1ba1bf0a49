/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast tune copies: how many of a collective's copies to stage, measured; the table of `run --copies static=FILE`. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/json_write.h"
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
           "of what a rank puts in: SIZE,... or LOW:HIGH*FACTOR (4KiB:16MiB*4)"),
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

/* ---- the answer ---- */

/* A row of the table, "allgather 16 16KiB 10 15 512KiB # remark"; a line of its head, "# remark". */
static void add_line(struct hop_buffer *notes, struct hop_buffer *rows, char *line)
{
    char collective[32], from[32], packet[32], *remark = strchr(line, '#');
    unsigned ranks, staged, of;
    uint64_t from_bytes = 0, packet_bytes = 0;
    if (remark)
        *remark++ = '\0';
    remark = remark ? remark + strspn(remark, " ") : NULL;
    if (sscanf(line, "%31s %u %31s %u %u %31s", collective, &ranks, from, &staged, &of, packet) == 6) {
        (void)hop_parse_bytes(from, strlen(from), &from_bytes, NULL);
        (void)hop_parse_bytes(packet, strlen(packet), &packet_bytes, NULL);
        hop_json_put(rows, "\n  {collective:%s,ranks:%u,from_bytes:%llu,staged:%u,of:%u", collective, ranks,
                     (unsigned long long)from_bytes, staged, of);
        if (staged)
            hop_json_put(rows, "packet_bytes:%llu", (unsigned long long)packet_bytes);
        if (remark)
            hop_json_put(rows, "remark:%s", remark);
        hop_json_put(rows, "}");
    } else if (remark && strncmp(remark, "collective ", 11) != 0) { /* the names of the columns */
        hop_json_put(notes, "\n  %s", remark);
    }
}

static char *make_json(const char *text)
{
    struct hop_buffer notes = {0}, rows = {0};
    char *copy = strdup(text), *next;
    hop_json_put(&notes, "{\nhopcast_tune_copies:1,\nnotes:[");
    hop_json_put(&rows, "],\nrows:[");
    for (char *line = copy; line && *line; line = next) {
        next = line + strcspn(line, "\n");
        if (*next)
            *next++ = '\0';
        add_line(&notes, &rows, line);
    }
    hop_json_put(&rows, "]\n}\n");
    notes.failed = notes.failed || rows.failed || !copy;
    if (!notes.failed)
        hop_buffer_puts(&notes, rows.text);
    free(copy);
    hop_buffer_finish(&rows);
    return hop_buffer_take(&notes);
}

/* ---- the command ---- */

static int run(int argc, char **argv)
{
    static struct request r = {.rounds = 7};
    struct device_list list = {0};
    struct tool_progress progress;
    char *text;
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
    enum hop_status status = hop_copies_tune(&options, note, &text, &tool_diag);
    tool_progress_end(&progress);
    tool_try(status);
    if (r.json)
        tool_write_text(NULL, make_json(text));
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
