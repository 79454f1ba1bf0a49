/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of a machine share before a program can run: flags, memory, staging, events; and where all that lies. */
#include <stdio.h>

#include "run/copies_state.h"
#include "run/program.h"

/* ---- flags ---- */

static void share_flags(struct hop_program *program)
{
    size_t seats = program->team->local_size * sizeof(struct hop_attendance),
           flags = program->flag_count * sizeof(struct hop_flag);
    size_t records = program->options.record ? program->layout.op_count * sizeof(struct hop_program_record) : 0;
    size_t handles = program->immediate ? 0 : program->flag_count * sizeof(struct hop_device_handle);
    size_t size = seats + flags + records + handles + hop_copies_shared_size(program);
    if (program->team->local == 0)
        (void)HOP_TRY(program, hop_shared_create(size, &program->shared, &program->failure));
    if (!HOP_TEAM(program, hop_team_share, &program->shared))
        return;
    char *at = program->shared.memory;
    program->seats = (struct hop_attendance *)(void *)at;
    program->flags = (struct hop_flag *)(void *)(at + seats);
    program->handles = handles ? (struct hop_device_handle *)(void *)(at + seats + flags) : NULL;
    program->records = records ? (struct hop_program_record *)(void *)(at + seats + flags + handles) : NULL;
    if (program->copies)
        program->copies->words = (word *)(void *)(at + seats + flags + handles + records);
}

/* ---- memory ---- */

uint64_t hop_program_bytes(const struct hop_program *program)
{
    uint64_t bytes = 0;
    for (uint32_t r = 0; r < program->layout.ranks && r < program->team->size; r++)
        bytes += program->team->node_of[r] == program->team->node_of[program->team->rank]
                     ? program->layout.rank_bytes[r]
                     : 0;
    return bytes;
}

/* The first rank of a machine looks whether all will fit, before any takes its part. The others have let go of earlier
 * programs by now. */
static void find_room(struct hop_program *program)
{
    char what[64];
    (void)snprintf(what, sizeof what, "the buffers of %u ranks", program->team->local_size);
    if (program->mapped && program->team->local == 0)
        (void)HOP_TRY(program, hop_team_room(hop_program_bytes(program), what, &program->failure));
    (void)HOP_TRY(program, hop_team_barrier_local(program->team, &program->failure));
}

static void share_memory(struct hop_program *program)
{
    struct hop_team *team = program->team;
    uint64_t bytes = team->rank < program->layout.ranks ? program->layout.rank_bytes[team->rank] : 0;
    struct hop_device_handle mine = {{0}}, *all = hop_program_alloc(program, team->local_size, sizeof *all);
    program->bases = hop_program_alloc(program, team->size, sizeof *program->bases);
    find_room(program);
    hop_team_allow(team, bytes);
    (void)HOP_DEVICE(program, allocate, bytes ? bytes : 1, &program->memory);
    hop_team_allow(team, 0);
    (void)HOP_DEVICE(program, export_memory, program->memory, &mine);
    (void)HOP_TEAM(program, hop_team_exchange, &mine, all, sizeof mine);
    for (uint32_t l = 0; hop_program_is_fine(program) && l < team->local_size; l++) {
        uint32_t rank = team->rank_of[l];
        if (l == team->local)
            program->bases[rank] = program->memory;
        else if (rank < program->layout.ranks && program->layout.rank_bytes[rank] > 0)
            (void)HOP_DEVICE(program, import_memory, &all[l], &program->bases[rank]);
        hop_team_beat(team);
    }
    if (HOP_TRY(program, hop_team_barrier_local(team, &program->failure)))
        program->ops->withdraw(program->device, program->memory);
}

/* The two packets that staged copies go through, in memory of the host. */
static void make_staging(struct hop_program *program)
{
    bool needed = false;
    for (uint32_t s = 0; s < program->step_count; s++)
        needed = needed || program->steps[s].kind == HOP_STEP_STAGED || program->steps[s].kind == HOP_STEP_CHOSEN;
    if (!needed || !hop_program_is_fine(program))
        return;
    program->staging = aligned_alloc(4096, (2 * program->packet_bytes + 4095) / 4096 * 4096);
    if (!program->staging)
        (void)hop_fail_memory(&program->failure);
    (void)HOP_DEVICE(program, register_host, program->staging, 2 * program->packet_bytes);
    for (size_t e = 0; !program->immediate && e < HOP_COUNT(program->staging_events); e++)
        (void)HOP_DEVICE(program, create_event, &program->staging_events[e]);
}

/* ---- events ---- */

/* Every queued step has an event; those of flags are handed to the ranks that await them. */
static void share_events(struct hop_program *program)
{
    if (program->immediate)
        return;
    for (uint32_t s = 0; s < program->step_count; s++) {
        struct hop_run_step *step = &program->steps[s];
        if (!hop_program_is_queued(program, step->op) && step->kind != HOP_STEP_CHOSEN)
            continue;
        (void)HOP_DEVICE(program, create_event, &step->event);
        if (step->flag != HOP_NONE && step->kind != HOP_STEP_CHOSEN)
            (void)HOP_DEVICE(program, export_event, step->event, &program->handles[step->flag]);
    }
    (void)HOP_TRY(program, hop_team_barrier_local(program->team, &program->failure));
    for (uint32_t w = 0; w < program->wait_count; w++) {
        struct hop_run_wait *wait = &program->waits[w];
        if (wait->queued && wait->kind == HOP_WAIT_FLAG)
            (void)HOP_DEVICE(program, import_event, &program->handles[wait->index], &wait->event);
        else if (wait->queued && wait->kind == HOP_WAIT_STEP)
            wait->event = program->steps[wait->index].event;
    }
    (void)HOP_TRY(program, hop_team_barrier_local(program->team, &program->failure));
    program->ops->withdraw(program->device, NULL);
}

/* ---- addresses ---- */

static void *address_of(const struct hop_program *program, uint32_t op, const struct hop_run_place *place, int parity)
{
    const struct hop_run_buffer *buffer = &program->layout.buffers[place->buffer];
    char *base = program->bases[buffer->rank];
    void *tiny = hop_tiny_address(program, place, hop_schedule_op(program->schedule, op)->bytes, parity);
    return tiny || !base ? tiny : base + buffer->offset + (parity ? buffer->other : 0) + place->offset;
}

static void find_addresses(struct hop_program *program)
{
    uint32_t copies = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        struct hop_run_step *step = &program->steps[s];
        const struct hop_run_op *run = &program->layout.ops[step->op];
        for (int parity = 0; parity < 2; parity++) {
            step->places[parity] = hop_program_alloc(program, run->reads + run->writes, sizeof(void *));
            for (uint32_t p = 0; hop_program_is_fine(program) && p < run->reads + run->writes; p++)
                step->places[parity][p] =
                    address_of(program, step->op, &program->layout.places[run->first + p], parity);
        }
        if (step->queue == HOP_QUEUE_COPY && !program->immediate &&
            step->kind != HOP_STEP_STAGED) /* whose packets take stream 0 */
            step->stream = copies++ % program->copy_streams;
    }
}

void hop_program_share(struct hop_program *program)
{
    if (!hop_program_is_fine(program))
        return;
    share_flags(program);
    share_memory(program);
    find_addresses(program);
    make_staging(program);
    share_events(program);
}
