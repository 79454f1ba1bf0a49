/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast launch: starts a program on this machine several times, as ranks that join one session (hopcast-shmemrun). */
#include "options_shared.h"
#include "ranks.h"

struct request {
    struct tool_given given;
    struct tool_words program;
    const char *heap;
    double patience_s;
    uint32_t ranks;
    bool pin;
};

static const struct tool_option table[] = {
    OPTION(NULL, 0, LIST, AT(request, program), "PROGRAM [ARGUMENT ...]", "",
           .missing = "which program is missing: hopcast launch -n 4 ./program"),
    OPTION("ranks", 'n', COUNT, AT(request, ranks), "N", "start it N times", .low = 1, .high = HOP_RANKS_MAX,
           .missing = "-n says how many there are"),
    OPTION("heap", 0, TEXT, AT(request, heap), "SIZE",
           "of OpenSHMEM: the symmetric heap of each, as in 64M (SHMEM_SYMMETRIC_SIZE)"),
    OPTION("patience", 0, TIME, AT(request, patience_s), "TIME",
           "of OpenSHMEM: the PEs end where one has finished or ended and all others wait in vain for so long; 0: never "
           "(30s; HOPCAST_PATIENCE)",
           .least = 0, .most = 1e9),
    SHARED(pin, AT(request, pin)),
    END_OF_OPTIONS,
};

static int run(int argc, char **argv)
{
    static struct request r;
    tool_read(&tool_launch, argc, argv, &r);
    ranks_alone(&tool_launch);
    char **program = tool_alloc(r.program.count + 1, sizeof *program);
    for (uint32_t i = 0; i < r.program.count; i++)
        program[i] = r.program.at[i];
    if (r.heap && setenv("SHMEM_SYMMETRIC_SIZE", r.heap, 1) != 0)
        tool_out_of_memory();
    if (tool_given(&r.given, "patience") && setenv("HOPCAST_PATIENCE", tool_text("%.17g", r.patience_s), 1) != 0)
        tool_out_of_memory();
    ranks_catch();
    const struct hop_launch_options options = {
        .ranks = r.ranks, .pin = r.pin, .stop = &ranks_stop, .program = program};
    int result = TOOL_OK;
    tool_diag.what[0] = '\0';
    tool_try(hop_launch(&options, NULL, NULL, &result, &tool_diag));
    if (tool_diag.what[0]) /* one was killed after it took leave */
        (void)tool_say(&tool_diag);
    return result;
}

const struct tool_command tool_launch = {
    .name = "launch",
    .summary = "start an OpenSHMEM program's PEs on this machine",
    .usage = "-n N [OPTION ...] PROGRAM [ARGUMENT ...]",
    .about = "Each of the N processes is a rank of one session, which it joins by what HOPCAST_SESSION and HOPCAST_RANK\n"
             "say: libhopcast_shmem in shmem_init, other programs by hop_team_start. When one of them dies, the others\n"
             "end with a message that names it. The exit status is the highest of theirs. hopcast-shmemrun is the same.\n",
    .notes = "example: hopcast-shmemcc hello.c -o hello && hopcast launch -n 4 ./hello\n",
    .options = table,
    .starts_program = true,
    .run = run,
};
