/* SPDX-License-Identifier: BSD-3-Clause */
/* Fault: what a program's option `fault` may say. One that would never happen passes for a run that has stood it. */
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>

#include "run/program.h"

/* A copy between machines is taken up at both ends. */
static bool performs(const struct hop_program *program, uint32_t op, uint32_t rank)
{
    return hop_program_begins_at(program, op) == rank || hop_program_ends_at(program, op) == rank;
}

/* In a process of threads the signal would reach them all. */
static bool shares_process(const struct hop_team *team)
{
    bool shares = team->board->threads;
    for (uint32_t l = 0; l < team->local_size && !shares; l++)
        shares = l != team->local && team->board->members[l].pid == team->board->members[team->local].pid;
    return shares;
}

enum hop_status hop_fault_read(const struct hop_program *program, struct hop_fault *fault, struct hop_diag *diag)
{
    const char *text = program->options.fault;
    char what[8] = "", name[128] = "";
    uint32_t rank = 0;
    *fault = (struct hop_fault){.op = HOP_NONE};
    if (!text)
        return HOP_OK;
    int read = sscanf(text, "%7s %" SCNu32 " %127s", what, &rank, name);
    uint32_t op = read == 3 ? hop_schedule_find(program->schedule, name) : HOP_NONE;
    if (read != 3 || (strcmp(what, "kill") != 0 && strcmp(what, "stop") != 0)) {
        hop_fail(diag, HOP_ERR_INVALID, "no fault '%.150s'", text);
        hop_diag_expect(diag, "kill RANK OPERATION or stop RANK OPERATION");
    } else if (op == HOP_NONE) {
        hop_fail(diag, HOP_ERR_INVALID, "no fault '%.150s': the schedule has no operation '%s'", text, name);
        hop_diag_expect(diag, "one that it has, such as %s",
                        program->layout.op_count ? hop_schedule_op(program->schedule, 0)->name : "a");
    } else if (!performs(program, op, rank)) {
        hop_fail(diag, HOP_ERR_INVALID, "no fault '%.150s': rank %u has no part in operation '%s'", text, rank, name);
        hop_diag_expect(diag, "%s %u %s", what, hop_program_ends_at(program, op), name);
    } else if (shares_process(program->team)) {
        hop_fail(diag, HOP_ERR_INVALID, "no fault '%.150s': the ranks are threads, and all would be hit", text);
        hop_diag_expect(diag, "ranks that are processes");
    } else {
        *fault = (struct hop_fault){rank, op, strcmp(what, "kill") == 0 ? SIGKILL : SIGSTOP};
        return HOP_OK;
    }
    return HOP_ERR_INVALID;
}
