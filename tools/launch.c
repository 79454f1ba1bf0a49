/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast launch: starts a program on this machine several times, as ranks that join one session (hopcast-shmemrun). */
#include "options_shared.h"
#include "ranks.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

struct request {
    struct tool_given given;
    struct tool_words program;
    const char *heap;
    double patience_s;
    struct input {
        enum hop_launch_input who;
        uint32_t rank;
    } input;
    uint32_t ranks;
    bool pin;
};

static void take_input(const struct tool_taking *t, char *text)
{
    struct input *input = t->to;
    unsigned word;
    char *end;
    unsigned long rank = strtoul(text, &end, 10);
    if (tool_choice("all none", text, strlen(text), &word))
        input->who = word == 0 ? HOP_INPUT_ALL : HOP_INPUT_NONE;
    else if (isdigit((unsigned char)text[0]) && !*end && rank < HOP_RANKS_MAX)
        *input = (struct input){HOP_INPUT_ONE, (uint32_t)rank};
    else
        tool_bad_usage(t->command, "--stdin cannot be '%.60s': a rank, all or none is expected", text);
}

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
    OPTION("stdin", 0, CALL, AT(request, input), "RANK",
           "who reads standard input: that rank (0); all, each of them all of it; or none. The others' is empty",
           .take = take_input),
    END_OF_OPTIONS,
};

static int run(int argc, char **argv)
{
    static struct request r = {.input = {.who = HOP_INPUT_ONE}};
    tool_read(&tool_launch, argc, argv, &r);
    if (r.input.who == HOP_INPUT_ONE && r.input.rank >= r.ranks)
        tool_bad_usage(&tool_launch, "--stdin %u: there are %u ranks, from 0 on", r.input.rank, r.ranks);
    ranks_alone(&tool_launch);
    char **program = tool_alloc(r.program.count + 1, sizeof *program);
    for (uint32_t i = 0; i < r.program.count; i++)
        program[i] = r.program.at[i];
    if (r.heap && setenv("SHMEM_SYMMETRIC_SIZE", r.heap, 1) != 0)
        tool_out_of_memory();
    if (tool_given(&r.given, "patience") && setenv("HOPCAST_PATIENCE", tool_text("%.17g", r.patience_s), 1) != 0)
        tool_out_of_memory();
    ranks_catch();
    const struct hop_launch_options options = {.ranks = r.ranks,
                                               .pin = r.pin,
                                               .stop = &ranks_stop,
                                               .program = program,
                                               .input = r.input.who,
                                               .input_rank = r.input.rank,
                                               .whole_lines = true};
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
