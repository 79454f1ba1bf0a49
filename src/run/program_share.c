/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of a machine share before a program can run: flags, memory, staging, events; and where all that lies. */
#include <stdio.h>

#include "run/program.h"

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
static enum hop_status find_room(const struct hop_program *program, struct hop_diag *diag)
{
    struct hop_device_properties properties;
    char what[64];
    program->ops->properties(program->device, &properties);
    if (!properties.mapped || program->team->local != 0)
        return HOP_OK;
    (void)snprintf(what, sizeof what, "the buffers of %u ranks", program->team->local_size);
    return hop_team_room(hop_program_bytes(program), what, diag);
}

static enum hop_status import(struct hop_program *program, uint32_t rank, const struct hop_device_handle *handle,
                              struct hop_diag *diag)
{
    if (rank >= program->layout.ranks || program->layout.rank_bytes[rank] == 0)
        return HOP_OK;
    return program->ops->import_memory(program->device, handle, &program->bases[rank], diag);
}

static enum hop_status share_memory(struct hop_program *program, struct hop_diag *diag)
{
    struct hop_team *team = program->team;
    uint64_t bytes = team->rank < program->layout.ranks ? program->layout.rank_bytes[team->rank] : 0;
    struct hop_device_handle mine = {{0}}, *all = calloc(team->local_size, sizeof *all);
    program->bases = hop_arena_alloc(&program->arena, ((size_t)team->size + 1) * sizeof *program->bases);
    enum hop_status status = all && program->bases ? find_room(program, diag) : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = hop_team_barrier_local(team, diag);
    hop_team_allow(team, bytes);
    if (status == HOP_OK)
        status = program->ops->allocate(program->device, bytes ? bytes : 1, &program->memory, diag);
    hop_team_allow(team, 0);
    if (status == HOP_OK)
        status = program->ops->export_memory(program->device, program->memory, &mine, diag);
    if (status == HOP_OK)
        status = hop_team_exchange(team, &mine, all, sizeof mine, diag);
    for (uint32_t l = 0; status == HOP_OK && l < team->local_size; l++) {
        if (l == team->local)
            program->bases[team->rank] = program->memory;
        else
            status = import(program, team->rank_of[l], &all[l], diag);
        hop_team_beat(team);
    }
    if (status == HOP_OK)
        status = hop_team_barrier_local(team, diag);
    if (status == HOP_OK)
        program->ops->withdraw(program->device, program->memory);
    free(all);
    return status;
}

/* The two packets that staged copies go through, in memory of the host. */
static enum hop_status make_staging(struct hop_program *program, struct hop_diag *diag)
{
    bool needed = false;
    for (uint32_t s = 0; s < program->step_count; s++)
        needed = needed || program->steps[s].kind == HOP_STEP_STAGED || program->steps[s].kind == HOP_STEP_CHOSEN;
    if (!needed)
        return HOP_OK;
    program->staging = aligned_alloc(4096, (2 * program->packet_bytes + 4095) / 4096 * 4096);
    if (!program->staging)
        return hop_fail_memory(diag);
    enum hop_status status =
        program->ops->register_host(program->device, program->staging, 2 * program->packet_bytes, diag);
    for (size_t e = 0; status == HOP_OK && !program->immediate && e < HOP_COUNT(program->staging_events); e++)
        status = program->ops->create_event(program->device, &program->staging_events[e], diag);
    return status;
}

/* ---- flags ---- */

static enum hop_status share_flags(struct hop_program *program, struct hop_diag *diag)
{
    struct hop_team *team = program->team;
    size_t seats = team->local_size * sizeof(struct hop_attendance),
           flags = program->flag_count * sizeof(struct hop_flag);
    size_t records = program->options.record ? program->layout.op_count * sizeof(struct hop_program_record) : 0;
    size_t handles = program->immediate ? 0 : program->flag_count * sizeof(struct hop_device_handle);
    size_t size = seats + flags + records + handles + hop_copies_shared_size(program);
    char names[HOP_SHARED_NAME_SIZE] = "", *all = calloc(team->local_size, sizeof names);
    enum hop_status status = all ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK && team->local == 0) {
        status = hop_shared_create(size, &program->shared, diag);
        memcpy(names, program->shared.name, sizeof names);
    }
    if (status == HOP_OK)
        status = hop_team_exchange(team, names, all, sizeof names, diag);
    if (status == HOP_OK && team->local != 0)
        status = hop_shared_attach(all, &program->shared, diag);
    free(all);
    if (status == HOP_OK)
        status = hop_team_barrier_local(team, diag);
    hop_shared_withdraw(&program->shared);
    if (status != HOP_OK)
        return status;
    char *at = program->shared.memory;
    program->seats = (struct hop_attendance *)(void *)at;
    program->flags = (struct hop_flag *)(void *)(at + seats);
    program->handles = handles ? (struct hop_device_handle *)(void *)(at + seats + flags) : NULL;
    program->records = records ? (struct hop_program_record *)(void *)(at + seats + flags + handles) : NULL;
    if (program->copies)
        hop_copies_attach(program, at + seats + flags + handles + records);
    return HOP_OK;
}

/* Every queued step has an event; those of flags are handed to the ranks that await them. */
static enum hop_status share_events(struct hop_program *program, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    if (program->immediate)
        return HOP_OK;
    for (uint32_t s = 0; s < program->step_count && status == HOP_OK; s++) {
        struct hop_run_step *step = &program->steps[s];
        if (!hop_program_is_queued(program, step->op) && step->kind != HOP_STEP_CHOSEN)
            continue;
        status = program->ops->create_event(program->device, &step->event, diag);
        if (status == HOP_OK && step->flag != HOP_NONE && step->kind != HOP_STEP_CHOSEN)
            status = program->ops->export_event(program->device, step->event, &program->handles[step->flag], diag);
    }
    if (status == HOP_OK)
        status = hop_team_barrier_local(program->team, diag);
    for (uint32_t w = 0; w < program->wait_count && status == HOP_OK; w++) {
        struct hop_run_wait *wait = &program->waits[w];
        if (wait->queued && wait->kind == HOP_WAIT_FLAG)
            status = program->ops->import_event(program->device, &program->handles[wait->index], &wait->event, diag);
        else if (wait->queued && wait->kind == HOP_WAIT_STEP)
            wait->event = program->steps[wait->index].event;
    }
    if (status == HOP_OK)
        status = hop_team_barrier_local(program->team, diag);
    program->ops->withdraw(program->device, NULL);
    return status;
}

/* ---- addresses ---- */

static enum hop_status find_addresses(struct hop_program *program, struct hop_diag *diag)
{
    const struct hop_layout *layout = &program->layout;
    uint32_t copies = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        struct hop_run_step *step = &program->steps[s];
        const struct hop_run_op *run = &layout->ops[step->op];
        for (int parity = 0; parity < 2; parity++) {
            step->places[parity] = hop_arena_alloc(&program->arena, (run->reads + run->writes + 1) * sizeof(void *));
            if (!step->places[parity])
                return hop_fail_memory(diag);
            for (uint32_t p = 0; p < run->reads + run->writes; p++) {
                const struct hop_run_place *place = &layout->places[run->first + p];
                const struct hop_run_buffer *buffer = &layout->buffers[place->buffer];
                char *base = program->bases[buffer->rank];
                void *tiny =
                    hop_tiny_address(program, place, hop_schedule_op(program->schedule, step->op)->bytes, parity);
                if (tiny)
                    step->places[parity][p] = tiny;
                else if (base)
                    step->places[parity][p] = base + buffer->offset + (parity ? buffer->other : 0) + place->offset;
            }
        }
        if (step->queue == HOP_QUEUE_COPY && !program->immediate &&
            step->kind != HOP_STEP_STAGED) /* staged.c: stream 0 */
            step->stream = copies++ % program->copy_streams;
    }
    return HOP_OK;
}

/* ---- all together ---- */

enum hop_status hop_program_share(struct hop_program *program, struct hop_diag *diag)
{
    enum hop_status status = share_flags(program, diag);
    if (status == HOP_OK)
        status = share_memory(program, diag);
    if (status == HOP_OK)
        status = find_addresses(program, diag);
    if (status == HOP_OK)
        status = make_staging(program, diag);
    if (status == HOP_OK)
        status = share_events(program, diag);
    return status;
}
