/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checking a run: the schedule is executed once more, one operation after the other, by the first rank of each
 * machine, in memory of its own; then every rank compares its buffers with that.
 */
#include <stdio.h>

#include "run/definition.h"

#define PIECE_BYTES (UINT64_C(1) << 20) /* between two beats; a multiple of every element */

static uint64_t piece_at(uint64_t at, uint64_t bytes)
{
    return bytes - at < PIECE_BYTES ? bytes - at : PIECE_BYTES;
}

enum hop_status hop_program_fill(struct hop_program *program, uint64_t seed, struct hop_diag *diag)
{
    char *piece = malloc(PIECE_BYTES);
    enum hop_status status = piece ? HOP_OK : hop_fail_memory(diag);
    const struct hop_doing filling = hop_doing_named("(filling)");
    hop_team_do(program->team, &filling);
    for (uint32_t b = 0; b < program->layout.buffer_count; b++) {
        const struct hop_run_buffer *buffer = &program->layout.buffers[b];
        bool own = buffer->rank == program->team->rank;
        for (uint64_t at = 0; own && at < buffer->bytes && status == HOP_OK; at += PIECE_BYTES) {
            uint64_t bytes = piece_at(at, buffer->bytes);
            hop_program_make_bytes(program, seed, buffer->rank, buffer->name, at, bytes, piece);
            status = hop_program_move(program, buffer, at, NULL, piece, bytes, diag);
            hop_team_beat(program->team);
        }
    }
    hop_team_do(program->team, NULL);
    free(piece);
    return status;
}

/* ---- one after the other ---- */

/* As memmove does; where it moves upwards, from its end on. */
static void copy_in_pieces(struct hop_team *team, char *to, const char *from, uint64_t bytes)
{
    for (uint64_t done = 0, piece; done < bytes; done += piece) {
        piece = piece_at(done, bytes);
        uint64_t at = to > from ? bytes - done - piece : done;
        memmove(to + at, from + at, piece);
        hop_team_beat(team);
    }
}

static enum hop_status reduce_in_pieces(struct hop_team *team, const struct hop_op *op, const struct hop_run_op *run,
                                        char *const *places, struct hop_diag *diag)
{
    void *moved[2 * HOP_REDUCTION_PLACES];
    struct hop_reduction piece = {.reduce = op->reduce,
                                  .type = op->type,
                                  .inputs = (const void *const *)moved,
                                  .outputs = moved + run->reads,
                                  .input_count = run->reads,
                                  .output_count = run->writes};
    enum hop_status status = HOP_OK;
    for (uint64_t at = 0; at < op->bytes && status == HOP_OK; at += PIECE_BYTES) {
        for (uint32_t p = 0; p < run->reads + run->writes; p++)
            moved[p] = places[p] + at;
        piece.count = piece_at(at, op->bytes) / hop_type_bytes(op->type);
        status = hop_reduce_on_host(&piece, diag);
        hop_team_beat(team);
    }
    return status;
}

static enum hop_status interpret(const struct hop_program *program, const uint64_t *start, char *memory,
                                 struct hop_diag *diag)
{
    const struct hop_layout *layout = &program->layout;
    for (uint32_t i = 0; i < layout->op_count; i++) {
        uint32_t index = layout->order[i];
        const struct hop_op *op = hop_schedule_op(program->schedule, index);
        const struct hop_run_op *run = &layout->ops[index];
        char *places[2 * HOP_REDUCTION_PLACES];
        if (run->reads + run->writes > HOP_COUNT(places))
            return hop_fail(diag, HOP_ERR_LIMIT, "'%s' has more than %d places", op->name, 2 * HOP_REDUCTION_PLACES);
        for (uint32_t p = 0; p < run->reads + run->writes; p++) {
            const struct hop_run_place *place = &layout->places[run->first + p];
            places[p] = memory + start[place->buffer] + place->offset;
        }
        if (op->kind == HOP_OP_REDUCE) {
            enum hop_status status = reduce_in_pieces(program->team, op, run, places, diag);
            if (status != HOP_OK)
                return status;
        } else if (run->writes) {
            copy_in_pieces(program->team, places[1], places[0], op->bytes);
        }
        hop_team_beat(program->team);
    }
    return HOP_OK;
}

static enum hop_status create_reference(struct hop_team *team, uint64_t bytes, struct hop_shared *shared,
                                        struct hop_diag *diag)
{
    enum hop_status status = hop_team_room(bytes, "checking (a copy of all buffers)", diag);
    hop_team_allow(team, bytes);
    if (status == HOP_OK)
        status = hop_shared_create(bytes, shared, diag);
    hop_team_allow(team, 0);
    return status;
}

/* Buffer b as it was filled. */
static void fill_reference(struct hop_program *program, uint64_t seed, uint32_t b, char *to)
{
    const struct hop_run_buffer *buffer = &program->layout.buffers[b];
    for (uint64_t at = 0; at < buffer->bytes; at += PIECE_BYTES) {
        hop_program_make_bytes(program, seed, buffer->rank, buffer->name, at, piece_at(at, buffer->bytes), to + at);
        hop_team_beat(program->team);
    }
}

/* All ranks' buffers after the schedule, in shared memory; start[b] is where buffer b begins. */
static enum hop_status make_reference(struct hop_program *program, uint64_t seed, uint64_t *start,
                                      struct hop_shared *shared, uint64_t *wrong, struct hop_diag *diag)
{
    const struct hop_layout *layout = &program->layout;
    struct hop_team *team = program->team;
    uint64_t bytes = 0;
    for (uint32_t b = 0; b < layout->buffer_count; b++) {
        start[b] = bytes;
        bytes += (layout->buffers[b].bytes + 63) / 64 * 64;
    }
    enum hop_status status = HOP_OK;
    if (team->local == 0) {
        status = create_reference(team, bytes, shared, diag);
        for (uint32_t b = 0; b < layout->buffer_count && status == HOP_OK; b++)
            fill_reference(program, seed, b, (char *)shared->memory + start[b]);
        if (status == HOP_OK)
            status = interpret(program, start, shared->memory, diag);
        if (status == HOP_OK && program->options.definition && team->rank == 0 &&
            hop_definition_is_exact(program->options.definition, hop_definition_ranks(program)))
            status = hop_definition_check(program, seed, start, shared->memory, wrong, diag);
    }
    return status == HOP_OK ? hop_team_share(team, shared, diag) : status;
}

/* ---- comparing ---- */

static enum hop_status compare(struct hop_program *program, const struct hop_run_buffer *buffer, const char *wanted,
                               uint64_t *wrong, struct hop_diag *diag)
{
    char *piece = malloc(PIECE_BYTES);
    enum hop_status status = piece ? HOP_OK : hop_fail_memory(diag);
    for (uint64_t at = 0; at < buffer->bytes && status == HOP_OK; at += PIECE_BYTES) {
        uint64_t bytes = piece_at(at, buffer->bytes);
        status = hop_program_move(program, buffer, at, piece, NULL, bytes, diag);
        hop_team_beat(program->team);
        if (status != HOP_OK || memcmp(piece, wanted + at, bytes) == 0)
            continue;
        for (uint64_t i = 0; i < bytes; i++) {
            if (piece[i] != wanted[at + i] && (*wrong)++ == 0)
                hop_fail(diag, HOP_ERR_INVALID, "rank %u has 0x%02x in byte %llu of buffer %s\n0x%02x", buffer->rank,
                         (unsigned char)piece[i], (unsigned long long)(at + i), buffer->name,
                         (unsigned char)wanted[at + i]);
        }
    }
    free(piece);
    return status;
}

enum hop_status hop_program_check(struct hop_program *program, uint64_t seed, uint64_t *wrong, struct hop_diag *diag)
{
    const struct hop_layout *layout = &program->layout;
    struct hop_shared shared = {0};
    struct hop_diag own;
    diag = diag ? diag : &own;
    const struct hop_doing checking = hop_doing_named("(checking)");
    hop_team_do(program->team, &checking);
    uint64_t *start = calloc((size_t)layout->buffer_count + 1, sizeof *start), found = 0;
    enum hop_status status =
        start ? make_reference(program, seed, start, &shared, &found, diag) : hop_fail_memory(diag);
    for (uint32_t b = 0; b < layout->buffer_count && status == HOP_OK; b++) {
        const struct hop_run_buffer *buffer = &layout->buffers[b];
        if (buffer->rank == program->team->rank && (!buffer->scratch || buffer->callers))
            status = compare(program, buffer, (const char *)shared.memory + start[b], &found, diag);
    }
    uint64_t *all = calloc(program->team->size, sizeof *all);
    if (status == HOP_OK)
        status = all ? hop_team_gather(program->team, &found, all, sizeof found, diag) : hop_fail_memory(diag);
    for (uint32_t r = 0; status == HOP_OK && r < program->team->size; r++)
        found += r == program->team->rank ? 0 : all[r];
    free(all);
    if (status == HOP_OK)
        *wrong = found;
    else if (hop_team_lost(program->team) < 0)
        hop_team_abort(program->team, diag);
    hop_team_allow(program->team, shared.size);
    hop_shared_finish(&shared);
    hop_team_allow(program->team, 0);
    hop_team_do(program->team, NULL);
    free(start);
    return status;
}
