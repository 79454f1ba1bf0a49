/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of a machine share before a program can run: flags, memory, staging, events; and where all that lies. */
#include <stdio.h>

#include "run/bindings.h"
#include "run/copies_state.h"
#include "run/program.h"

/* ---- flags ---- */

static void share_flags(struct hop_program *program)
{
    size_t seats = program->team->local_size * sizeof(struct hop_attendance),
           flags = (size_t)program->sets * program->flag_count * sizeof(struct hop_flag);
    size_t records = program->options.record ? program->layout.op_count * sizeof(struct hop_program_record) : 0;
    size_t handles = program->immediate ? 0 : program->flag_count * sizeof(struct hop_device_handle);
    size_t words = hop_copies_shared_size(program), bindings = hop_bound_shared_size(program);
    size_t size = seats + flags + bindings + records + handles + words;
    if (program->team->local == 0)
        (void)HOP_TRY(program, hop_shared_create(size, &program->shared, &program->failure));
    if (!HOP_TEAM(program, hop_team_share, &program->shared))
        return;
    char *at = program->shared.memory;
    program->seats = (struct hop_attendance *)(void *)at;
    program->flags = (struct hop_flag *)(void *)(at + seats);
    at += seats + flags;
    if (program->bound)
        program->bound->published = (struct hop_published *)(void *)at;
    at += bindings;
    program->handles = handles ? (struct hop_device_handle *)(void *)at : NULL;
    program->records = records ? (struct hop_program_record *)(void *)(at + handles) : NULL;
    if (program->copies)
        program->copies->words = (word *)(void *)(at + handles + records);
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

/* Whose memory this rank's operations touch; for its own: whether any of another one does. */
static bool *find_touched(struct hop_program *program)
{
    const struct hop_layout *layout = &program->layout;
    const uint32_t own = program->team->rank;
    bool *touched = hop_program_alloc(program, program->team->size, sizeof *touched);
    for (uint32_t i = 0; touched && i < layout->op_count; i++) {
        const struct hop_run_op *run = &layout->ops[i];
        for (uint32_t p = 0; !run->crosses && !run->relayed && p < run->reads + run->writes; p++) {
            uint32_t rank = hop_layout_rank(layout, run, p);
            touched[rank] = touched[rank] || (run->owner != rank && (run->owner == own || rank == own));
        }
    }
    return touched;
}

static void share_memory(struct hop_program *program)
{
    struct hop_team *team = program->team;
    uint64_t bytes = team->rank < program->layout.ranks ? program->layout.rank_bytes[team->rank] : 0;
    struct hop_device_handle mine = {{0}}, *all = hop_program_alloc(program, team->local_size, sizeof *all);
    program->bases = hop_program_alloc(program, team->size, sizeof *program->bases);
    const bool *touched = find_touched(program);
    find_room(program);
    hop_team_allow(team, bytes);
    (void)HOP_DEVICE(program, allocate, bytes ? bytes : 1, &program->memory);
    hop_team_allow(team, 0);
    if (hop_program_is_fine(program) && touched[team->rank])
        (void)HOP_DEVICE(program, export_memory, program->memory, &mine);
    (void)HOP_TEAM(program, hop_team_exchange, &mine, all, sizeof mine);
    for (uint32_t l = 0; hop_program_is_fine(program) && l < team->local_size; l++) {
        uint32_t rank = team->rank_of[l];
        if (l == team->local)
            program->bases[rank] = program->memory;
        else if (touched[rank])
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
        needed = needed || program->steps[s].kind == HOP_STEP_STAGED ||
                 (program->steps[s].kind == HOP_STEP_CHOSEN && program->mapped);
    if (!needed || !hop_program_is_fine(program))
        return;
    program->staging = aligned_alloc(4096, (2 * program->slot_bytes + 4095) / 4096 * 4096);
    if (!program->staging)
        (void)hop_fail_memory(&program->failure);
    else /* its pages are where this thread is */
        memset(program->staging, 0, 2 * program->slot_bytes);
    (void)HOP_DEVICE(program, register_host, program->staging, 2 * program->slot_bytes);
    for (size_t e = 0; !program->immediate && e < HOP_COUNT(program->staging_events); e++)
        (void)HOP_DEVICE(program, create_event, &program->staging_events[e]);
}

/* ---- events ---- */

/* Operations whose events other ranks' streams await. */
static bool *find_awaited(struct hop_program *program)
{
    const struct hop_layout *layout = &program->layout;
    bool *awaited = hop_program_alloc(program, layout->op_count, sizeof *awaited);
    for (uint32_t i = 0; awaited && i < layout->op_count; i++) {
        const struct hop_run_op *run = &layout->ops[i];
        for (uint32_t a = 0; hop_program_is_queued(program, i) && a < run->after_count; a++) {
            uint32_t other = layout->after[run->after_first + a];
            awaited[other] = awaited[other] ||
                             (hop_program_is_queued(program, other) && layout->ops[other].ends_at != run->begins_at);
        }
    }
    return awaited;
}

/* An event that cannot be shared, since drivers have room for some only, or with that device, is done without: its end is
 * told by the flag, as if it was of no stream. */
static bool is_shared(struct hop_program *program, enum hop_status status, const struct hop_diag *diag)
{
    if (status != HOP_OK && status != HOP_ERR_MEMORY && status != HOP_ERR_UNSUPPORTED)
        program->failure = *diag;
    return status == HOP_OK;
}

static void import_event(struct hop_program *program, struct hop_run_wait *wait)
{
    static const struct hop_device_handle none;
    const struct hop_device_handle *handle = &program->handles[wait->index];
    struct hop_diag diag = {0};
    wait->queued = memcmp(handle, &none, sizeof none) != 0 && hop_program_reaches_rank(program, wait->owner) &&
                   is_shared(program, program->ops->import_event(program->device, handle, &wait->event, &diag), &diag);
}

/* Every queued step has an event; those of flags are handed to the ranks whose streams await them. */
static void share_events(struct hop_program *program)
{
    if (program->immediate)
        return;
    const bool *awaited = find_awaited(program);
    for (uint32_t s = 0; s < program->step_count && hop_program_is_fine(program); s++) {
        struct hop_run_step *step = &program->steps[s];
        struct hop_diag diag = {0};
        if (!hop_program_is_queued(program, step->op) && step->kind != HOP_STEP_CHOSEN)
            continue;
        if (HOP_DEVICE(program, create_event, &step->event) && awaited[step->op] &&
            !is_shared(program,
                       program->ops->export_event(program->device, step->event, &program->handles[step->flag], &diag),
                       &diag))
            memset(&program->handles[step->flag], 0, sizeof *program->handles);
    }
    (void)HOP_TRY(program, hop_team_barrier_local(program->team, &program->failure));
    for (uint32_t w = 0; w < program->wait_count && hop_program_is_fine(program); w++) {
        struct hop_run_wait *wait = &program->waits[w];
        if (wait->queued && wait->kind == HOP_WAIT_FLAG)
            import_event(program, wait);
        else if (wait->queued && wait->kind == HOP_WAIT_STEP)
            wait->event = program->steps[wait->index].event;
    }
    (void)HOP_TRY(program, hop_team_barrier_local(program->team, &program->failure));
    program->ops->withdraw(program->device, NULL);
}

/* ---- addresses ---- */

static void find_addresses(struct hop_program *program)
{
    uint32_t copies = 0;
    for (uint32_t s = 0; s < program->step_count; s++) {
        struct hop_run_step *step = &program->steps[s];
        const struct hop_run_op *run = &program->layout.ops[step->op];
        uint32_t count = run->reads + run->writes;
        step->places = hop_program_alloc(program, (size_t)program->sets * count, sizeof(void *));
        for (uint32_t i = 0; hop_program_is_fine(program) && i < program->sets * count; i++)
            step->places[i] = hop_program_place(program, step->op, i % count, i / count);
        if (step->queue == HOP_QUEUE_COPY && !program->immediate &&
            step->kind != HOP_STEP_STAGED) /* whose packets take stream 0 */
            step->stream = copies++ % (step->kind == HOP_STEP_CHOSEN && program->copy_streams > 1 && program->mapped
                                           ? program->copy_streams - 1 /* the last is for packets */
                                           : program->copy_streams);
    }
}

void hop_program_share(struct hop_program *program)
{
    if (!hop_program_is_fine(program))
        return;
    share_flags(program);
    share_memory(program);
    find_addresses(program);
    hop_bound_create(program);
    make_staging(program);
    share_events(program);
}
