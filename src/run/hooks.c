/* SPDX-License-Identifier: BSD-3-Clause */
/* Hooks: what a fault may say. One that would never happen passes for a run that has stood it. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "run/program.h"

/* In a process of threads the signal would reach them all. */
static bool shares_process(const struct hop_team *team)
{
    bool shares = team->board->threads;
    for (uint32_t l = 0; l < team->local_size && !shares; l++)
        shares = l != team->local && team->board->members[l].pid == team->board->members[team->local].pid;
    return shares;
}

void hop_program_find_fault(struct hop_program *program)
{
    const char *text = program->hooks.fault;
    struct hop_diag *diag = &program->failure;
    char what[8] = "", name[128] = "";
    uint32_t rank = 0;
    program->fault_op = HOP_NONE;
    if (!text || !hop_program_is_fine(program))
        return;
    int read = sscanf(text, "%7s %" SCNu32 " %127s", what, &rank, name);
    uint32_t op = read == 3 ? hop_schedule_find(program->schedule, name) : HOP_NONE;
    const struct hop_run_op *run = op == HOP_NONE ? NULL : &program->layout.ops[op];
    if (read != 3 || (strcmp(what, "kill") != 0 && strcmp(what, "stop") != 0))
        hop_fail(diag, HOP_ERR_INVALID, "no fault '%.150s'\nkill RANK OPERATION or stop RANK OPERATION", text);
    else if (!run)
        hop_fail(diag, HOP_ERR_INVALID,
                 "no fault '%.150s': the schedule has no operation '%s'\none that it has, such as %s", text, name,
                 program->layout.op_count ? hop_schedule_op(program->schedule, 0)->name : "a");
    else if (run->begins_at != rank && run->ends_at != rank)
        hop_fail(diag, HOP_ERR_INVALID, "no fault '%.150s': rank %u has no part in operation '%s'\n%s %u %s", text,
                 rank, name, what, run->ends_at, name);
    else if (shares_process(program->team))
        hop_fail(diag, HOP_ERR_INVALID,
                 "no fault '%.150s': the ranks are threads, and all would be hit\nranks that are processes", text);
    else if (rank == program->team->rank)
        program->fault_op = op;
    program->fault_signal = strcmp(what, "kill") == 0 ? SIGKILL : SIGSTOP;
}
