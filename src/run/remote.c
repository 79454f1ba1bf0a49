/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other machines: copies that cross, and words to ranks there that wait.
 *
 * A copy between two machines is sent by the rank that has the bytes, in pieces, and taken by the rank that gets
 * them. It ends there. The end of an operation is told to every rank of another machine that waits for it; that rank
 * raises the flag on its own machine, and waits for that like everyone else.
 */
#include "run/program.h"

#define PIECE_BYTES (UINT64_C(4) << 20)

enum letter_kind { LETTER_DATA, LETTER_ENDED, LETTER_BEGUN };

struct heading {
    uint32_t program, kind;
    uint32_t op, unused;
    uint64_t launch, offset;
};

/* Ranks elsewhere that wait for an operation's end, or its start. */
struct told {
    uint32_t *ranks; /* by operation */
    uint32_t *first; /* per operation, into ranks; one more at the end */
};

struct hop_remote {
    char *letter; /* a heading and a piece */
    struct told ended, begun;
};

/* ---- who is told ---- */

/* A rank for each pair of an operation that ends (begins) here and one that waits for that elsewhere; several times
 * the same rank does no harm but is left out where it repeats at once. */
static void list_told(const struct hop_program *program, bool begun, uint32_t *count, uint32_t *told)
{
    const struct hop_layout *layout = &program->layout;
    uint32_t here = program->team->node_of[program->team->rank];
    for (uint32_t i = 0; i < layout->op_count; i++) {
        const struct hop_op *waiting = hop_schedule_op(program->schedule, i);
        const uint32_t *after = begun ? waiting->after_start : layout->after + layout->ops[i].after_first;
        uint32_t waiter = hop_program_begins_at(program, i),
                 after_count = begun ? waiting->after_start_count : layout->ops[i].after_count;
        for (uint32_t a = 0; a < after_count; a++) {
            uint32_t op = after[a],
                     where = begun ? hop_program_begins_at(program, op) : hop_program_ends_at(program, op);
            if (where != program->team->rank || program->team->node_of[waiter] == here)
                continue;
            if (told)
                told[count[op]] = waiter;
            count[op]++;
        }
    }
}

static bool make_told(const struct hop_program *program, bool begun, struct told *told)
{
    uint32_t ops = program->layout.op_count;
    uint32_t *count = calloc((size_t)ops + 1, sizeof *count);
    told->first = calloc((size_t)ops + 2, sizeof *told->first);
    if (count && told->first) {
        list_told(program, begun, count, NULL);
        for (uint32_t i = 0; i < ops; i++) {
            told->first[i + 1] = told->first[i] + count[i];
            count[i] = told->first[i];
        }
        told->ranks = calloc((size_t)told->first[ops] + 1, sizeof *told->ranks);
        if (told->ranks)
            list_told(program, begun, count, told->ranks);
    }
    free(count);
    return told->ranks != NULL;
}

enum hop_status hop_remote_create(struct hop_program *program, struct hop_diag *diag)
{
    struct hop_remote *remote = calloc(1, sizeof *remote);
    program->remote = remote;
    if (!remote)
        return hop_fail_memory(diag);
    remote->letter = malloc(sizeof(struct heading) + PIECE_BYTES);
    bool fine = remote->letter && make_told(program, false, &remote->ended) && make_told(program, true, &remote->begun);
    return fine ? HOP_OK : hop_fail_memory(diag);
}

void hop_remote_destroy(struct hop_program *program)
{
    if (!program->remote)
        return;
    free(program->remote->letter);
    free(program->remote->ended.ranks);
    free(program->remote->ended.first);
    free(program->remote->begun.ranks);
    free(program->remote->begun.first);
    free(program->remote);
}

static enum hop_status tell(struct hop_program *program, const struct told *told, enum letter_kind kind, uint32_t op,
                            struct hop_diag *diag)
{
    struct heading heading = {program->number, kind, op, 0, program->launch, 0};
    enum hop_status status = HOP_OK;
    for (uint32_t t = told->first[op]; t < told->first[op + 1] && status == HOP_OK; t++) {
        if (t > told->first[op] && told->ranks[t] == told->ranks[t - 1])
            continue;
        status =
            hop_group_send(program->team->group, (int)told->ranks[t], HOP_TAG_PLAN, &heading, sizeof heading, diag);
    }
    return status;
}

enum hop_status hop_remote_tell(struct hop_program *program, uint32_t op, struct hop_diag *diag)
{
    return tell(program, &program->remote->ended, LETTER_ENDED, op, diag);
}

enum hop_status hop_remote_tell_begun(struct hop_program *program, uint32_t op, struct hop_diag *diag)
{
    return tell(program, &program->remote->begun, LETTER_BEGUN, op, diag);
}

/* ---- bytes ---- */

enum hop_status hop_remote_send(struct hop_program *program, struct hop_run_step *step, struct hop_diag *diag)
{
    char *letter = program->remote->letter;
    const char *from = step->places[program->launch & 1][0];
    uint32_t to = hop_program_ends_at(program, step->op);
    enum hop_status status = HOP_OK;
    uint64_t at = 0;
    do {
        uint64_t bytes = step->bytes - at < PIECE_BYTES ? step->bytes - at : PIECE_BYTES;
        struct heading heading = {program->number, LETTER_DATA, step->op, 0, program->launch, at};
        struct hop_device_copy copy = {letter + sizeof heading, from + at, bytes, HOP_NO_WAY, NULL};
        memcpy(letter, &heading, sizeof heading);
        if (bytes)
            status = program->ops->copy(program->device, HOP_STREAM_NOW, &copy, diag);
        if (status == HOP_OK)
            status = hop_group_send(program->team->group, (int)to, HOP_TAG_PLAN, letter, sizeof heading + bytes, diag);
        hop_team_beat(program->team);
        at += bytes;
    } while (at < step->bytes && status == HOP_OK);
    return status;
}

static enum hop_status take(struct hop_program *program, const struct heading *heading, const char *piece,
                            uint64_t bytes, struct hop_diag *diag)
{
    struct hop_run_step *step = heading->op < program->layout.op_count && program->step_of[heading->op] != HOP_NONE
                                    ? &program->steps[program->step_of[heading->op]]
                                    : NULL;
    if (!step || step->kind != HOP_STEP_TAKE || heading->offset > step->bytes || bytes > step->bytes - heading->offset)
        return hop_fail(diag, HOP_ERR_INVALID, "rank %u got bytes that it does not wait for", program->team->rank);
    struct hop_device_copy copy = {(char *)step->places[program->launch & 1][1] + heading->offset, piece, bytes,
                                   HOP_NO_WAY, NULL};
    enum hop_status status = bytes ? program->ops->copy(program->device, HOP_STREAM_NOW, &copy, diag) : HOP_OK;
    if (status != HOP_OK || heading->offset + bytes < step->bytes)
        return status;
    hop_program_step_end(program, step);
    return hop_remote_tell(program, step->op, diag);
}

/* Not those of other programs, or of a launch to come. */
static bool is_of_now(const struct hop_group_message *message, const void *context)
{
    const struct hop_program *program = context;
    struct heading heading;
    if (message->size_bytes < sizeof heading)
        return true;
    memcpy(&heading, message->bytes, sizeof heading);
    return heading.program == program->number && heading.launch <= program->launch;
}

enum hop_status hop_remote_progress(struct hop_program *program, bool *moved, struct hop_diag *diag)
{
    struct hop_group_message message;
    enum hop_status status = HOP_OK;
    while (status == HOP_OK && hop_team_receive(program->team, HOP_TAG_PLAN, is_of_now, program, 0, &message)) {
        struct heading heading = {.op = HOP_NONE};
        if (message.size_bytes >= sizeof heading)
            memcpy(&heading, message.bytes, sizeof heading);
        bool now = heading.op < program->layout.op_count &&
                   heading.launch == program->launch; /* a word told twice may be late */
        if (now && heading.kind != LETTER_DATA && program->flag_of[heading.op] != HOP_NONE)
            hop_flag_raise(&program->flags[program->flag_of[heading.op]],
                           2 * heading.launch + (heading.kind == LETTER_ENDED));
        else if (now && heading.kind == LETTER_DATA)
            status = take(program, &heading, message.bytes + sizeof heading, message.size_bytes - sizeof heading, diag);
        free(message.bytes);
        *moved = true;
    }
    return status;
}
