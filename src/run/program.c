/* SPDX-License-Identifier: BSD-3-Clause */
/* Plan: a schedule made ready to be run again and again by a team, and taken apart again; its buffers. */
#include <math.h>

#include "run/emulate.h"
#include "run/program.h"

#define PACKET_BYTES (UINT64_C(512) << 10)
#define SLOWER 1000.0
#define MAPPING 100000u /* bytes that letting go of one takes as long as */
#define SLOWEST 100e6   /* bytes/s that any machine moves and adds, however many ranks share it */

/* ---- the device ---- */

/* The number in "gpu3" or "node0.gpu3"; without one, the rank's place on its machine. */
static uint32_t device_number(const struct hop_plan *plan)
{
    const struct hop_layout *layout = &plan->layout;
    for (uint32_t b = 0; b < layout->buffer_count; b++) {
        const struct hop_run_buffer *buffer = &layout->buffers[b];
        const char *end = buffer->device + strlen(buffer->device), *digits = end;
        while (digits > buffer->device && digits[-1] >= '0' && digits[-1] <= '9')
            digits--;
        if (buffer->rank == plan->team->rank && *digits && strncmp(buffer->device, "rank", 4) != 0)
            return (uint32_t)strtoul(digits, NULL, 10);
    }
    return plan->team->local;
}

static enum hop_status open_device(struct hop_plan *plan, struct hop_diag *diag)
{
    const char *name = plan->options.device ? plan->options.device : "host";
    struct hop_device_options options = {.index = device_number(plan), .copy_streams = plan->options.engines};
    uint32_t count = 0;
    if (strcmp(name, "host") != 0 && strcmp(name, "cuda") != 0) {
        hop_fail(diag, HOP_ERR_INVALID, "there is no device back end '%s'", name);
        hop_diag_expect(diag, "host or cuda");
        return HOP_ERR_INVALID;
    }
    if (plan->options.emulate && strcmp(name, "host") != 0)
        return hop_fail(diag, HOP_ERR_INVALID, "only the host's copies can be emulated, not those of %s", name);
    plan->ops = plan->options.emulate       ? &hop_device_emulated
                : strcmp(name, "host") == 0 ? &hop_device_host
                                            : &hop_device_cuda;
    enum hop_status status = plan->ops->count(&count, diag);
    if (status == HOP_OK && count == 0)
        status = hop_fail(diag, HOP_ERR_UNSUPPORTED, "there is no %s device on this machine", name);
    if (status == HOP_OK && plan->options.emulate)
        status = hop_emulator_create(plan, &plan->emulator, &options.emulation, diag);
    if (status != HOP_OK)
        return status;
    options.index %= count;
    status = plan->ops->open(&options, &plan->device, diag);
    if (status != HOP_OK)
        return status;
    struct hop_device_properties properties;
    plan->ops->properties(plan->device, &properties);
    plan->immediate = properties.immediate && plan->options.engines == 0;
    plan->copy_streams = properties.copy_streams;
    return HOP_OK;
}

/* ---- all together ---- */

/* How long at most nothing begins in a run although all is well: what the schedule and the options wait for, and bytes
 * that move slowly. */
static double longest_pause_s(const struct hop_plan *plan)
{
    double slower = plan->options.emulate ? plan->options.slower : 1, pause_s = 0, bytes = 0;
    for (uint32_t i = 0; i < plan->layout.op_count; i++) {
        const struct hop_op *op = hop_schedule_op(plan->schedule, i);
        pause_s = hop_max(pause_s, hop_max(op->at_s, op->duration_s));
        bytes += (double)op->bytes * (op->kind == HOP_OP_REDUCE ? plan->layout.ops[i].reads : 1);
    }
    for (size_t way = 0; way < HOP_COUNT(plan->options.delay_s); way++)
        pause_s += isfinite(plan->options.delay_s[way]) ? plan->options.delay_s[way] : 0;
    if (plan->options.copies == HOP_COPIES_DYNAMIC)
        pause_s += 4 * HOP_COPIES_STALL_S; /* either mechanism is given up, tried again, and given up */
    return (pause_s + bytes / SLOWEST) * slower;
}

static enum hop_status build(struct hop_plan *plan, struct hop_diag *diag)
{
    struct hop_team *team = plan->team;
    struct hop_fault fault;
    enum hop_status status = hop_layout_create(plan->schedule, plan->options.pipelined, &plan->layout, diag);
    if (status == HOP_OK && plan->layout.ranks > team->size) {
        hop_fail(diag, HOP_ERR_INVALID, "the schedule has %u ranks, the team %u", plan->layout.ranks, team->size);
        hop_diag_expect(diag, "at least as many processes as ranks");
        status = HOP_ERR_INVALID;
    }
    if (status == HOP_OK)
        status = open_device(plan, diag);
    if (status == HOP_OK)
        status = hop_copies_create(plan, diag);
    if (status == HOP_OK)
        status = hop_fault_read(plan, &fault, diag);
    if (status == HOP_OK)
        status = hop_plan_compile(plan, diag);
    if (status == HOP_OK) {
        plan->fault_step = fault.op != HOP_NONE && fault.rank == team->rank ? plan->step_of[fault.op] : HOP_NONE;
        plan->fault_signal = fault.signal;
        hop_team_expect(team, longest_pause_s(plan));
    }
    if (status == HOP_OK)
        status = hop_tiny_find(plan, diag);
    if (status == HOP_OK)
        status = hop_plan_share(plan, diag);
    if (status == HOP_OK && team->nodes > 1)
        status = hop_remote_create(plan, diag);
    return status == HOP_OK ? hop_team_barrier(team, diag) : status;
}

enum hop_status hop_plan_create(struct hop_team *team, const struct hop_schedule *schedule,
                                const struct hop_plan_options *options, struct hop_plan **plan, struct hop_diag *diag)
{
    struct hop_diag own;
    struct hop_plan *made = calloc(1, sizeof *made);
    if (!diag)
        diag = &own;
    if (!made)
        return hop_fail_memory(diag);
    made->team = team;
    made->number = team->plans++;
    made->schedule = schedule;
    if (options)
        made->options = *options;
    made->packet_bytes = made->options.packet_bytes ? made->options.packet_bytes : PACKET_BYTES;
    if (!(made->options.slower >= 1))
        made->options.slower = SLOWER;
    const struct hop_doing preparing = hop_doing_named("(preparing)");
    hop_team_do(team, &preparing);
    enum hop_status status = build(made, diag);
    hop_team_do(team, NULL);
    if (status == HOP_OK) {
        *plan = made;
        return HOP_OK;
    }
    if (hop_team_lost(team) < 0)
        hop_team_abort(team, diag); /* the others would wait for us */
    hop_plan_destroy(made);
    return status;
}

/* The rank that serves the emulated links goes last: others may still be on them. */
static void await_others(struct hop_plan *plan)
{
    struct hop_wait wait = {0};
    for (uint32_t l = 0; l < plan->team->local_size && !plan->team->failed; l++) {
        while (atomic_load_explicit(&plan->seats[l].left, memory_order_acquire) < plan->launch) {
            if (!hop_team_turn(plan->team, &wait))
                return;
        }
    }
}

/* Memory of a GPU must not be freed while others have it open. */
static void let_go(struct hop_plan *plan)
{
    struct hop_device_properties properties;
    plan->ops->properties(plan->device, &properties);
    if (properties.mapped || !plan->bases)
        return;
    for (uint32_t r = 0; r < plan->team->size; r++) {
        if (plan->bases[r] && r != plan->team->rank)
            plan->ops->release_memory(plan->device, plan->bases[r]);
    }
    (void)hop_team_barrier_local(plan->team, NULL);
}

static void close_device(struct hop_plan *plan)
{
    let_go(plan);
    for (uint32_t w = 0; w < plan->wait_count; w++) {
        if (plan->waits[w].kind == HOP_WAIT_FLAG && plan->waits[w].event)
            plan->ops->destroy_event(plan->device, plan->waits[w].event);
    }
    for (uint32_t s = 0; s < plan->step_count; s++) {
        if (plan->steps[s].event)
            plan->ops->destroy_event(plan->device, plan->steps[s].event);
    }
    for (size_t e = 0; e < HOP_COUNT(plan->staging_events); e++) {
        if (plan->staging_events[e])
            plan->ops->destroy_event(plan->device, plan->staging_events[e]);
    }
    if (plan->staging)
        plan->ops->unregister_host(plan->device, plan->staging);
    plan->ops->close(plan->device);
}

/* After a loss the streams may wait for events of a rank that is gone. */
void hop_plan_destroy(struct hop_plan *plan)
{
    if (!plan)
        return;
    if (plan->emulator && plan->seats)
        await_others(plan);
    hop_team_allow(plan->team, plan->layout.rank_bytes ? hop_plan_bytes(plan) + plan->team->local_size * MAPPING : 0);
    hop_remote_destroy(plan);
    if (plan->device && plan->team->failed && plan->ops->abandon != plan->ops->close) {
        plan->ops->abandon(plan->device);
        plan->staging = NULL; /* a copy may be under way there */
    } else if (plan->device) {
        close_device(plan);
    }
    hop_copies_destroy(plan);
    hop_emulator_destroy(plan->emulator);
    hop_shared_finish(&plan->shared);
    hop_team_allow(plan->team, 0);
    hop_layout_finish(&plan->layout);
    hop_arena_finish(&plan->arena);
    free(plan->staging);
    free(plan->waits);
    free(plan->times);
    free(plan);
}

/* ---- buffers ---- */

/* The rank's buffers by index are those of the layout, others left out. */
static const struct hop_run_buffer *find_buffer(const struct hop_plan *plan, uint32_t index)
{
    for (uint32_t b = 0; b < plan->layout.buffer_count; b++) {
        if (plan->layout.buffers[b].rank == plan->team->rank && index-- == 0)
            return &plan->layout.buffers[b];
    }
    return NULL;
}

bool hop_plan_buffer(const struct hop_plan *plan, uint32_t index, const char **name, uint64_t *bytes)
{
    const struct hop_run_buffer *buffer = find_buffer(plan, index);
    if (!buffer)
        return false;
    *name = buffer->name;
    *bytes = buffer->bytes;
    return true;
}

void *hop_plan_address(const struct hop_plan *plan, uint32_t index)
{
    const struct hop_run_buffer *buffer = find_buffer(plan, index);
    struct hop_device_properties properties;
    plan->ops->properties(plan->device, &properties);
    return buffer && properties.mapped ? (char *)plan->memory + buffer->offset : NULL;
}

static enum hop_status move(struct hop_plan *plan, uint32_t index, uint64_t offset, void *to, const void *from,
                            uint64_t bytes, struct hop_diag *diag)
{
    const struct hop_run_buffer *buffer = find_buffer(plan, index);
    if (!buffer || offset > buffer->bytes || bytes > buffer->bytes - offset)
        return hop_fail(diag, HOP_ERR_INVALID, "no such bytes in buffer %u of rank %u", index, plan->team->rank);
    char *own = (char *)plan->memory + buffer->offset + offset;
    struct hop_device_copy copy = {to ? to : own, from ? from : own, bytes, HOP_NO_WAY, NULL};
    return bytes ? plan->ops->copy(plan->device, HOP_STREAM_NOW, &copy, diag) : HOP_OK;
}

enum hop_status hop_plan_write(struct hop_plan *plan, uint32_t buffer, uint64_t offset, const void *from,
                               uint64_t bytes, struct hop_diag *diag)
{
    return move(plan, buffer, offset, NULL, from, bytes, diag);
}

enum hop_status hop_plan_read(struct hop_plan *plan, uint32_t buffer, uint64_t offset, void *to, uint64_t bytes,
                              struct hop_diag *diag)
{
    return move(plan, buffer, offset, to, NULL, bytes, diag);
}
