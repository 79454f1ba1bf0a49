/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Times of the last run. Ranks of one machine wrote them side by side; those of other machines are sent to rank 0,
 * counted from their own machine's first entry, since clocks of two machines have nothing in common but the launch.
 * Emulated links are slow; times are those of the machine that they stand for.
 */
#include <math.h>

#include "run/program.h"

/* When the first rank of this machine entered the launch. */
static double origin_of(const struct hop_program *program)
{
    double origin_s = INFINITY;
    for (uint32_t l = 0; l < program->team->local_size; l++)
        origin_s = hop_min(origin_s, program->seats[l].entered_s);
    return origin_s;
}

/* Whether a rank is of that machine. */
static bool is_on(const struct hop_program *program, uint32_t rank, uint32_t node)
{
    return program->team->node_of[rank] == node;
}

static void take_own(struct hop_program *program)
{
    double origin_s = origin_of(program), slower = program->emulator ? program->options.slower : 1;
    uint32_t node = program->team->node_of[program->team->rank];
    for (uint32_t i = 0; i < program->layout.op_count; i++) {
        const struct hop_program_record *record = &program->records[i];
        program->times[i] = (struct hop_measured_op){NAN, NAN, NAN, program->layout.ops[i].owner, HOP_VIA_P2P, false};
        if (record->end_s <= 0)
            continue;
        if (is_on(program, program->layout.ops[i].begins_at, node))
            program->times[i].start_s = hop_max(record->start_s - origin_s, 0) / slower;
        if (!is_on(program, program->layout.ops[i].ends_at, node))
            continue;
        program->times[i].end_s = hop_max(record->end_s - origin_s, 0) / slower;
        program->times[i].via = record->via ? HOP_VIA_STAGED : HOP_VIA_P2P;
        program->times[i].resent = record->resent != 0;
    }
}

static void take_other(struct hop_program *program, uint32_t node, const struct hop_measured_op *times)
{
    for (uint32_t i = 0; i < program->layout.op_count; i++) {
        const struct hop_run_op *run = &program->layout.ops[i];
        double start_s = is_on(program, run->begins_at, node) ? times[i].start_s : program->times[i].start_s;
        if (is_on(program, run->ends_at, node))
            program->times[i] = times[i];
        program->times[i].start_s = start_s;
    }
}

/* The first rank of each other machine sends all that it knows; rank 0 takes what was done there. */
static enum hop_status collect(struct hop_program *program, struct hop_diag *diag)
{
    struct hop_team *team = program->team;
    size_t size = program->layout.op_count * sizeof *program->times;
    if (team->local == 0 && team->rank != 0)
        return hop_group_send(team->group, hop_team_in_group(team, 0), HOP_TAG_TIMES, program->times, size, diag);
    for (uint32_t left = team->rank == 0 ? team->nodes - 1 : 0; left > 0;) {
        struct hop_group_message message;
        if (!hop_group_receive_wanted(team->group, HOP_TAG_TIMES, NULL, NULL, 0.1, &message)) {
            if (hop_group_lost(team->group, diag) >= 0)
                return hop_team_fail(team, diag);
            hop_team_beat(team);
            continue;
        }
        if (message.size_bytes == size)
            take_other(program, team->node_of[hop_team_of_group(team, message.from)], (const void *)message.bytes);
        free(message.bytes);
        left--;
    }
    return HOP_OK;
}

/*
 * An operation starts once it is ready, and where the times at hand say otherwise they are of something else: of the
 * queueing, or of another machine's clock. An operation between machines is said to take no time at all where its start
 * is not known, or would be behind its end.
 */
void hop_times_settle(struct hop_measured_op *times, double ready_s, struct hop_times_rules rules)
{
    bool known = isfinite(times->end_s);
    if (rules.crosses && known && !(times->start_s <= times->end_s))
        times->start_s = times->end_s;
    if ((rules.queued_before || rules.crosses) && times->start_s < ready_s)
        times->start_s = hop_min(ready_s, times->end_s);
    if (known && times->end_s < times->start_s)
        times->end_s = times->start_s;
    times->ready_s = known ? hop_min(ready_s, times->start_s) : NAN;
}

/* An operation was ready when the last that it waited for had ended. */
static void find_ready(struct hop_program *program)
{
    for (uint32_t i = 0; i < program->layout.op_count; i++) {
        const struct hop_run_op *run = &program->layout.ops[i];
        double ready_s = hop_schedule_op(program->schedule, i)->at_s;
        for (uint32_t a = 0; a < run->after_count; a++) {
            double end_s = program->times[program->layout.after[run->after_first + a]].end_s;
            ready_s = end_s > ready_s ? end_s : ready_s;
        }
        bool queued_before = !program->immediate && !program->spans;
        hop_times_settle(&program->times[i], ready_s, (struct hop_times_rules){queued_before, run->crosses});
    }
}

enum hop_status hop_program_times(struct hop_program *program, const struct hop_measured_op **times,
                                  struct hop_diag *diag)
{
    if (!program->options.record)
        return hop_fail(diag, HOP_ERR_INVALID, "the program records no times");
    if (!program->times)
        program->times =
            hop_arena_alloc(&program->arena, ((size_t)program->layout.op_count + 1) * sizeof *program->times);
    if (!program->times)
        return hop_fail_memory(diag);
    enum hop_status status = hop_team_barrier(program->team, diag);
    if (status == HOP_OK) {
        take_own(program);
        if (program->team->group)
            status = collect(program, diag);
    }
    if (status == HOP_OK) {
        find_ready(program);
        *times = program->times;
        status = hop_team_barrier(program->team, diag);
    }
    return status;
}
