/* SPDX-License-Identifier: BSD-3-Clause */
/* Program: a schedule made ready to be run again and again by a team, and taken apart again; its buffers. */
#include <math.h>

#include "run/bindings.h"
#include "run/definition.h"
#include "run/emulate.h"
#include "run/program.h"

#define PACKET_BYTES (UINT64_C(512) << 10)
#define SLOWER 1000.0
#define OPENING                                                                                                        \
    6000000000u /* bytes that starting a GPU's driver takes as long as: many seconds, where nothing else keeps it */
#define MAPPING 100000u /* bytes that letting go of one takes as long as */
#define SLOWEST 100e6   /* bytes/s that any machine moves and adds, however many ranks share it */

/* ---- the device ---- */

static enum hop_status find_device(struct hop_program *program, uint32_t *count, struct hop_diag *diag)
{
    const struct hop_device_facts *facts;
    HOP_CHECK(hop_device_named(program->options.device, &facts, diag));
    if (program->options.emulate && !facts->on_processors)
        return hop_fail(diag, HOP_ERR_INVALID, "only the host's copies can be emulated, not those of %s", facts->name);
    program->ops = hop_device_ops_of(facts);
    hop_team_allow(program->team, facts->on_processors ? 0 : OPENING);
    enum hop_status status = program->ops->count(count, diag);
    if (status == HOP_OK && *count == 0)
        status = hop_fail(diag, HOP_ERR_UNSUPPORTED, "there is no %s device on this machine", facts->name);
    return status;
}

static void open_device(struct hop_program *program)
{
    struct hop_device_options options = {.copy_streams = program->options.engines};
    struct hop_device_properties properties;
    uint32_t count = 1;
    (void)HOP_TRY(program, find_device(program, &count, &program->failure));
    if (program->options.emulate)
        (void)HOP_TRY(program, hop_emulator_create(program, &program->emulator, &options.emulation, &program->failure));
    hop_program_seek(program, count, &options);
    bool opened = HOP_TRY(program, program->ops->open(&options, &program->device, &program->failure));
    hop_team_allow(program->team, 0);
    if (!opened)
        return;
    program->ops->properties(program->device, &properties);
    hop_numa_bind(properties.numa, &program->binding);
    program->immediate = properties.immediate && program->options.engines == 0;
    program->mapped = properties.mapped;
    program->copy_streams = properties.copy_streams;
    program->spans = properties.timed && !program->immediate && program->options.record;
}

/* ---- all together ---- */

/* How long at most nothing begins in a run although all is well: what the schedule and the options wait for, and bytes
 * that move slowly. */
static double longest_pause_s(const struct hop_program *program)
{
    double slower = program->options.emulate ? program->options.slower : 1, pause_s = 0, bytes = 0;
    for (uint32_t i = 0; i < program->layout.op_count; i++) {
        const struct hop_op *op = hop_schedule_op(program->schedule, i);
        pause_s = hop_max(pause_s, hop_max(op->at_s, op->duration_s));
        bytes += (double)op->bytes * (op->kind == HOP_OP_REDUCE ? program->layout.ops[i].reads : 1);
    }
    for (size_t way = 0; way < HOP_COUNT(program->hooks.delay_s); way++)
        pause_s += isfinite(program->hooks.delay_s[way]) ? program->hooks.delay_s[way] : 0;
    if (program->options.copies == HOP_COPIES_DYNAMIC)
        pause_s += 4 * HOP_COPIES_STALL_S; /* either mechanism is given up, tried again, and given up */
    return (pause_s + bytes / SLOWEST) * slower;
}

#define DEFINED_MOST ((uint64_t)1 << 46) /* bytes, as of a layout */

static void build(struct hop_program *program)
{
    struct hop_team *team = program->team;
    struct hop_diag *diag = &program->failure;
    (void)HOP_TRY(program, hop_program_agree(program, diag));
    (void)HOP_TRY(program, hop_layout_create(program->schedule, program->options.pipelined, &program->layout, diag));
    if (program->layout.ranks > team->size)
        (void)HOP_TRY(program, hop_fail(diag, HOP_ERR_INVALID,
                                        "the schedule has %u ranks, the team %u\nat least as many processes as ranks",
                                        program->layout.ranks, team->size));
    const struct hop_collective_options *what = program->options.definition;
    if (what && hop_program_is_fine(program) && what->vector_bytes > DEFINED_MOST / (hop_definition_ranks(program) + 1))
        (void)HOP_TRY(program, hop_fail(diag, HOP_ERR_LIMIT, "a rank of %s would have more than 64 TiB",
                                        hop_collective_name(what->kind)));
    if (hop_program_is_fine(program) && what) {
        hop_definition_extend(&program->layout, what, hop_definition_ranks(program));
        (void)HOP_TRY(program, hop_layout_arrange(&program->layout, program->options.pipelined ? 2 : 1, diag));
    }
    (void)HOP_TRY(program, hop_layout_place(&program->layout, team->node_of, diag));
    open_device(program);
    hop_program_reach(program);
    hop_copies_create(program);
    hop_program_find_fault(program);
    hop_bound_plan(program);
    hop_program_compile(program);
    hop_team_expect(team, longest_pause_s(program));
    hop_tiny_find(program);
    hop_program_share(program);
    if (hop_program_is_fine(program))
        hop_relay_create(program);
    for (uint32_t s = 0; s < program->step_count && hop_program_is_fine(program); s++)
        hop_step_prepare(program, &program->steps[s]);
    if (team->nodes > 1)
        hop_remote_create(program);
    (void)HOP_TRY(program, hop_team_barrier(team, diag));
}

enum hop_status hop_program_create(struct hop_team *team, const struct hop_schedule *schedule,
                                   const struct hop_program_options *options, struct hop_program **program,
                                   struct hop_diag *diag)
{
    return hop_program_create_hooked(team, schedule, options, NULL, program, diag);
}

enum hop_status hop_program_create_hooked(struct hop_team *team, const struct hop_schedule *schedule,
                                          const struct hop_program_options *options, const struct hop_run_hooks *hooks,
                                          struct hop_program **program, struct hop_diag *diag)
{
    struct hop_program *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    made->team = team;
    made->number = team->programs++;
    made->schedule = schedule;
    (void)HOP_TRY(made, hop_options_take(&made->options, sizeof made->options, options, &made->failure));
    if (hooks)
        made->hooks = *hooks;
    made->packet_bytes = made->options.packet_bytes ? made->options.packet_bytes : PACKET_BYTES;
    if (!(made->options.slower >= 1))
        made->options.slower = SLOWER;
    const struct hop_doing preparing = hop_doing_named("(preparing)");
    hop_team_do(team, &preparing);
    if (made->failure.status == HOP_OK)
        build(made);
    hop_team_do(team, NULL);
    enum hop_status status = made->failure.status;
    if (status == HOP_OK) {
        *program = made;
        return HOP_OK;
    }
    if (hop_team_lost(team) < 0)
        hop_team_abort(team, &made->failure); /* the others would wait for us */
    if (diag)
        *diag = made->failure;
    hop_program_destroy(made);
    return status;
}

/* The rank that serves the emulated links goes last: others may still be on them. */
static void await_others(struct hop_program *program)
{
    struct hop_team_wait wait = {0};
    for (uint32_t l = 0; l < program->team->local_size && !program->team->failed; l++) {
        while (atomic_load_explicit(&program->seats[l].left, memory_order_acquire) < program->launch) {
            if (!hop_team_turn(program->team, &wait))
                return;
        }
    }
}

/* What a GPU's process gives back others must not have open: whether nobody has. */
static bool let_go(struct hop_program *program)
{
    if (program->mapped || !program->bases)
        return true;
    if (!program->ops->release(program->device))
        atomic_store(&program->seats[0].holds, true);
    return hop_team_barrier_local(program->team, NULL) == HOP_OK && !atomic_load(&program->seats[0].holds);
}

/* After a loss the streams may wait for events of a rank that is gone, and others may have our memory open. */
void hop_program_destroy(struct hop_program *program)
{
    if (!program)
        return;
    if (program->emulator && program->seats)
        await_others(program);
    hop_team_allow(program->team,
                   program->layout.rank_bytes ? hop_program_bytes(program) + program->team->local_size * MAPPING : 0);
    hop_remote_destroy(program);
    bool lost = program->team->failed || (program->bases && hop_team_lost(program->team) >= 0);
    bool open = program->device && (lost || !let_go(program));
    bool abandoned = open && program->ops->abandon != program->ops->close;
    if (abandoned) {
        program->ops->abandon(program->device);
        program->staging = NULL; /* a copy may be under way there */
    } else if (program->device) { /* its events go with it */
        if (program->staging)
            program->ops->unregister_host(program->device, program->staging);
        program->ops->close(program->device);
    }
    hop_relay_destroy(program, abandoned);
    hop_copies_destroy(program);
    hop_emulator_destroy(program->emulator);
    hop_shared_finish(&program->shared);
    hop_team_allow(program->team, 0);
    hop_layout_finish(&program->layout);
    hop_arena_finish(&program->arena);
    hop_numa_release(&program->binding);
    free(program->staging);
    free(program->bounce);
    free(program);
}

const char *hop_program_note(const struct hop_program *program)
{
    return program->note[0] ? program->note : NULL;
}

/* ---- buffers ---- */

/* The rank's buffers by index are those of the layout, others left out. */
static const struct hop_run_buffer *find_buffer(const struct hop_program *program, uint32_t index)
{
    for (uint32_t b = 0; b < program->layout.buffer_count; b++) {
        if (program->layout.buffers[b].rank == program->team->rank && index-- == 0)
            return &program->layout.buffers[b];
    }
    return NULL;
}

bool hop_program_buffer(const struct hop_program *program, uint32_t index, const char **name, uint64_t *bytes)
{
    const struct hop_run_buffer *buffer = find_buffer(program, index);
    if (!buffer)
        return false;
    *name = buffer->name;
    *bytes = buffer->bytes;
    return true;
}

uint32_t hop_program_find(const struct hop_program *program, const char *name)
{
    const char *known;
    uint64_t bytes;
    for (uint32_t b = 0; hop_program_buffer(program, b, &known, &bytes); b++) {
        if (strcmp(known, name) == 0)
            return b;
    }
    return UINT32_MAX;
}

bool hop_program_binds(const struct hop_program *program, uint32_t index)
{
    const struct hop_run_buffer *buffer = find_buffer(program, index);
    return buffer && buffer->callers;
}

enum hop_status hop_program_bind(struct hop_program *program, const struct hop_binding *bindings, uint32_t count,
                                 struct hop_diag *diag)
{
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_run_buffer *buffer = find_buffer(program, bindings[i].buffer);
        if (!buffer || !buffer->callers)
            return hop_fail(diag, HOP_ERR_INVALID, "buffer %u of rank %u is not the caller's to bind\n%s",
                            bindings[i].buffer, program->team->rank,
                            program->bound ? "one of which hop_program_binds says so"
                                           : "a program whose options say bound");
    }
    return hop_bound_set(program, bindings, count, find_buffer, diag);
}

void *hop_program_address(const struct hop_program *program, uint32_t index)
{
    const struct hop_run_buffer *buffer = find_buffer(program, index);
    if (buffer && buffer->callers)
        return hop_bound_address(program, buffer);
    return buffer && program->mapped ? (char *)program->memory + buffer->offset : NULL;
}

enum hop_status hop_program_move(struct hop_program *program, const struct hop_run_buffer *buffer, uint64_t offset,
                                 void *to, const void *from, uint64_t bytes, struct hop_diag *diag)
{
    char *own = buffer->callers ? hop_bound_address(program, buffer) : (char *)program->memory + buffer->offset;
    struct hop_device_copy copy = {to ? to : own + offset, from ? from : own + offset, bytes, HOP_NO_WAY, NULL};
    if (bytes && buffer->callers && !own)
        return hop_bound_missing(program, buffer, diag);
    if (bytes && buffer->callers) {
        memmove(to ? to : own + offset, from ? from : own + offset, bytes);
        return HOP_OK;
    }
    return bytes ? program->ops->copy(program->device, HOP_STREAM_NOW, &copy, diag) : HOP_OK;
}

static enum hop_status move(struct hop_program *program, uint32_t index, uint64_t offset, void *to, const void *from,
                            uint64_t bytes, struct hop_diag *diag)
{
    const struct hop_run_buffer *buffer = find_buffer(program, index);
    if (!buffer || offset > buffer->bytes || bytes > buffer->bytes - offset)
        return hop_fail(diag, HOP_ERR_INVALID, "no such bytes in buffer %u of rank %u", index, program->team->rank);
    return hop_program_move(program, buffer, offset, to, from, bytes, diag);
}

enum hop_status hop_program_write(struct hop_program *program, uint32_t buffer, uint64_t offset, const void *from,
                                  uint64_t bytes, struct hop_diag *diag)
{
    return move(program, buffer, offset, NULL, from, bytes, diag);
}

enum hop_status hop_program_read(struct hop_program *program, uint32_t buffer, uint64_t offset, void *to,
                                 uint64_t bytes, struct hop_diag *diag)
{
    return move(program, buffer, offset, to, NULL, bytes, diag);
}
