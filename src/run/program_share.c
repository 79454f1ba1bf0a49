/* SPDX-License-Identifier: BSD-3-Clause */
/* What the ranks of a machine share before a plan can run: flags, memory, staging, events; and where all that lies. */
#include <stdio.h>

#include "run/program.h"

/* ---- memory ---- */

uint64_t hop_plan_bytes(const struct hop_plan *plan)
{
    uint64_t bytes = 0;
    for (uint32_t r = 0; r < plan->layout.ranks && r < plan->team->size; r++)
        bytes += plan->team->node_of[r] == plan->team->node_of[plan->team->rank] ? plan->layout.rank_bytes[r] : 0;
    return bytes;
}

/* The first rank of a machine looks whether all will fit, before any takes its part. The others have let go of earlier
 * plans by now. */
static enum hop_status find_room(const struct hop_plan *plan, struct hop_diag *diag)
{
    struct hop_device_properties properties;
    char what[64];
    plan->ops->properties(plan->device, &properties);
    if (!properties.mapped || plan->team->local != 0)
        return HOP_OK;
    (void)snprintf(what, sizeof what, "the buffers of %u ranks", plan->team->local_size);
    return hop_team_room(hop_plan_bytes(plan), what, diag);
}

static enum hop_status import(struct hop_plan *plan, uint32_t rank, const struct hop_device_handle *handle,
                              struct hop_diag *diag)
{
    if (rank >= plan->layout.ranks || plan->layout.rank_bytes[rank] == 0)
        return HOP_OK;
    return plan->ops->import_memory(plan->device, handle, &plan->bases[rank], diag);
}

static enum hop_status share_memory(struct hop_plan *plan, struct hop_diag *diag)
{
    struct hop_team *team = plan->team;
    uint64_t bytes = team->rank < plan->layout.ranks ? plan->layout.rank_bytes[team->rank] : 0;
    struct hop_device_handle mine = {{0}}, *all = calloc(team->local_size, sizeof *all);
    plan->bases = hop_arena_alloc(&plan->arena, ((size_t)team->size + 1) * sizeof *plan->bases);
    enum hop_status status = all && plan->bases ? find_room(plan, diag) : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = hop_team_barrier_local(team, diag);
    hop_team_allow(team, bytes);
    if (status == HOP_OK)
        status = plan->ops->allocate(plan->device, bytes ? bytes : 1, &plan->memory, diag);
    hop_team_allow(team, 0);
    if (status == HOP_OK)
        status = plan->ops->export_memory(plan->device, plan->memory, &mine, diag);
    if (status == HOP_OK)
        status = hop_team_exchange(team, &mine, all, sizeof mine, diag);
    for (uint32_t l = 0; status == HOP_OK && l < team->local_size; l++) {
        if (l == team->local)
            plan->bases[team->rank] = plan->memory;
        else
            status = import(plan, team->rank_of[l], &all[l], diag);
        hop_team_beat(team);
    }
    if (status == HOP_OK)
        status = hop_team_barrier_local(team, diag);
    if (status == HOP_OK)
        plan->ops->withdraw(plan->device, plan->memory);
    free(all);
    return status;
}

/* The two packets that staged copies go through, in memory of the host. */
static enum hop_status make_staging(struct hop_plan *plan, struct hop_diag *diag)
{
    bool needed = false;
    for (uint32_t s = 0; s < plan->step_count; s++)
        needed = needed || plan->steps[s].kind == HOP_STEP_STAGED || plan->steps[s].kind == HOP_STEP_CHOSEN;
    if (!needed)
        return HOP_OK;
    plan->staging = aligned_alloc(4096, (2 * plan->packet_bytes + 4095) / 4096 * 4096);
    if (!plan->staging)
        return hop_fail_memory(diag);
    enum hop_status status = plan->ops->register_host(plan->device, plan->staging, 2 * plan->packet_bytes, diag);
    for (size_t e = 0; status == HOP_OK && !plan->immediate && e < HOP_COUNT(plan->staging_events); e++)
        status = plan->ops->create_event(plan->device, &plan->staging_events[e], diag);
    return status;
}

/* ---- flags ---- */

static enum hop_status share_flags(struct hop_plan *plan, struct hop_diag *diag)
{
    struct hop_team *team = plan->team;
    size_t seats = team->local_size * sizeof(struct hop_seat), flags = plan->flag_count * sizeof(struct hop_flag);
    size_t records = plan->options.record ? plan->layout.op_count * sizeof(struct hop_record) : 0;
    size_t handles = plan->immediate ? 0 : plan->flag_count * sizeof(struct hop_device_handle);
    size_t size = seats + flags + records + handles + hop_copies_shared_size(plan);
    char names[HOP_SHARED_NAME_SIZE] = "", *all = calloc(team->local_size, sizeof names);
    enum hop_status status = all ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK && team->local == 0) {
        status = hop_shared_create(size, &plan->shared, diag);
        memcpy(names, plan->shared.name, sizeof names);
    }
    if (status == HOP_OK)
        status = hop_team_exchange(team, names, all, sizeof names, diag);
    if (status == HOP_OK && team->local != 0)
        status = hop_shared_attach(all, &plan->shared, diag);
    free(all);
    if (status == HOP_OK)
        status = hop_team_barrier_local(team, diag);
    hop_shared_withdraw(&plan->shared);
    if (status != HOP_OK)
        return status;
    char *at = plan->shared.memory;
    plan->seats = (struct hop_seat *)(void *)at;
    plan->flags = (struct hop_flag *)(void *)(at + seats);
    plan->handles = handles ? (struct hop_device_handle *)(void *)(at + seats + flags) : NULL;
    plan->records = records ? (struct hop_record *)(void *)(at + seats + flags + handles) : NULL;
    if (plan->copies)
        hop_copies_attach(plan, at + seats + flags + handles + records);
    return HOP_OK;
}

/* Every queued step has an event; those of flags are handed to the ranks that await them. */
static enum hop_status share_events(struct hop_plan *plan, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    if (plan->immediate)
        return HOP_OK;
    for (uint32_t s = 0; s < plan->step_count && status == HOP_OK; s++) {
        struct hop_run_step *step = &plan->steps[s];
        if (!hop_plan_is_queued(plan, step->op) && step->kind != HOP_STEP_CHOSEN)
            continue;
        status = plan->ops->create_event(plan->device, &step->event, diag);
        if (status == HOP_OK && step->flag != HOP_NONE && step->kind != HOP_STEP_CHOSEN)
            status = plan->ops->export_event(plan->device, step->event, &plan->handles[step->flag], diag);
    }
    if (status == HOP_OK)
        status = hop_team_barrier_local(plan->team, diag);
    for (uint32_t w = 0; w < plan->wait_count && status == HOP_OK; w++) {
        struct hop_run_wait *wait = &plan->waits[w];
        if (wait->queued && wait->kind == HOP_WAIT_FLAG)
            status = plan->ops->import_event(plan->device, &plan->handles[wait->index], &wait->event, diag);
        else if (wait->queued && wait->kind == HOP_WAIT_STEP)
            wait->event = plan->steps[wait->index].event;
    }
    if (status == HOP_OK)
        status = hop_team_barrier_local(plan->team, diag);
    plan->ops->withdraw(plan->device, NULL);
    return status;
}

/* ---- addresses ---- */

static enum hop_status find_addresses(struct hop_plan *plan, struct hop_diag *diag)
{
    const struct hop_layout *layout = &plan->layout;
    uint32_t copies = 0;
    for (uint32_t s = 0; s < plan->step_count; s++) {
        struct hop_run_step *step = &plan->steps[s];
        const struct hop_run_op *run = &layout->ops[step->op];
        for (int parity = 0; parity < 2; parity++) {
            step->places[parity] = hop_arena_alloc(&plan->arena, (run->reads + run->writes + 1) * sizeof(void *));
            if (!step->places[parity])
                return hop_fail_memory(diag);
            for (uint32_t p = 0; p < run->reads + run->writes; p++) {
                const struct hop_run_place *place = &layout->places[run->first + p];
                const struct hop_run_buffer *buffer = &layout->buffers[place->buffer];
                char *base = plan->bases[buffer->rank];
                void *tiny = hop_tiny_address(plan, place, hop_schedule_op(plan->schedule, step->op)->bytes, parity);
                if (tiny)
                    step->places[parity][p] = tiny;
                else if (base)
                    step->places[parity][p] = base + buffer->offset + (parity ? buffer->other : 0) + place->offset;
            }
        }
        if (step->queue == HOP_QUEUE_COPY && !plan->immediate && step->kind != HOP_STEP_STAGED) /* staged.c: stream 0 */
            step->stream = copies++ % plan->copy_streams;
    }
    return HOP_OK;
}

/* ---- all together ---- */

enum hop_status hop_plan_share(struct hop_plan *plan, struct hop_diag *diag)
{
    enum hop_status status = share_flags(plan, diag);
    if (status == HOP_OK)
        status = share_memory(plan, diag);
    if (status == HOP_OK)
        status = find_addresses(plan, diag);
    if (status == HOP_OK)
        status = make_staging(plan, diag);
    if (status == HOP_OK)
        status = share_events(plan, diag);
    return status;
}
