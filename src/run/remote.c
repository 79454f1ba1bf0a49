/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Other machines: copies that cross, and words to ranks there that wait.
 *
 * A copy between two machines is sent by the rank that has the bytes, in pieces, and taken by the rank that gets
 * them. It ends there. The end of an operation is told to every rank of another machine that waits for it; that rank
 * raises the flag on its own machine, and waits for that like everyone else.
 */
#include "base/clock.h"
#include "run/program.h"

#define PIECE_BYTES (UINT64_C(4) << 20)
#define FULL_S 1e-4

enum letter_kind { LETTER_DATA, LETTER_ENDED, LETTER_BEGUN };

struct heading {
    uint32_t program, kind, op, unused;
    uint64_t team, launch, offset;
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
 * the same rank does no harm but is left out where it repeats at once. told NULL: only counts them, by operation; else
 * count says where each goes. */
static void list_told(const struct hop_program *program, bool begun, uint32_t *count, uint32_t *told)
{
    const struct hop_layout *layout = &program->layout;
    uint32_t here = program->team->node_of[program->team->rank];
    for (uint32_t i = 0; i < layout->op_count; i++) {
        const struct hop_op *waiting = hop_schedule_op(program->schedule, i);
        const struct hop_run_op *run = &layout->ops[i];
        const uint32_t *after = begun ? waiting->after_start : layout->after + run->after_first;
        uint32_t after_count = begun ? waiting->after_start_count : run->after_count;
        for (uint32_t a = 0; a < after_count && program->team->node_of[run->begins_at] != here; a++) {
            const struct hop_run_op *awaited = &layout->ops[after[a]];
            if ((begun ? awaited->begins_at : awaited->ends_at) != program->team->rank)
                continue;
            if (told)
                told[count[after[a]]] = run->begins_at;
            count[after[a]]++;
        }
    }
}

static void make_told(struct hop_program *program, bool begun, struct told *told)
{
    uint32_t ops = program->layout.op_count, *count = hop_program_alloc(program, ops, sizeof *count);
    told->first = hop_program_alloc(program, (size_t)ops + 1, sizeof *told->first);
    if (!hop_program_is_fine(program))
        return;
    list_told(program, begun, count, NULL);
    for (uint32_t i = 0; i < ops; i++) {
        told->first[i + 1] = told->first[i] + count[i];
        count[i] = told->first[i];
    }
    told->ranks = hop_program_alloc(program, told->first[ops], sizeof *told->ranks);
    if (told->ranks)
        list_told(program, begun, count, told->ranks);
}

void hop_remote_create(struct hop_program *program)
{
    struct hop_remote *remote = hop_program_alloc(program, 1, sizeof *remote);
    program->remote = remote;
    if (!remote)
        return;
    make_told(program, false, &remote->ended);
    make_told(program, true, &remote->begun);
    remote->letter = malloc(sizeof(struct heading) + PIECE_BYTES);
    if (!remote->letter && hop_program_is_fine(program))
        (void)hop_fail_memory(&program->failure);
}

void hop_remote_destroy(struct hop_program *program)
{
    if (program->remote)
        free(program->remote->letter);
}

/* ---- words and bytes ---- */

/* While too much is to be sent already, what comes is taken, since others may wait for that. */
static enum hop_status send_in_time(struct hop_program *program, uint32_t to, const void *letter, size_t size,
                                    struct hop_diag *diag)
{
    struct hop_team *team = program->team;
    enum hop_status status;
    while ((status = hop_group_send(team->group, hop_team_in_group(team, to), HOP_TAG_PLAN, letter, size, diag)) ==
           HOP_ERR_LIMIT) {
        bool moved = false;
        if (!hop_team_attend(team))
            return hop_team_fail(team, diag);
        hop_remote_progress(program, &moved);
        if (!moved)
            hop_sleep_s(FULL_S);
    }
    return status;
}

static void send(struct hop_program *program, uint32_t to, const void *letter, size_t size)
{
    struct hop_diag diag;
    if (!hop_program_is_fine(program) || send_in_time(program, to, letter, size, &diag) == HOP_OK)
        return;
    if (hop_program_is_fine(program))
        program->failure = diag;
}

static struct heading heading_of(const struct hop_program *program, enum letter_kind kind, uint32_t op, uint64_t offset)
{
    return (struct heading){program->number, kind, op, 0, program->team->channel, program->launch, offset};
}

void hop_remote_tell(struct hop_program *program, uint32_t op, bool begun)
{
    const struct told *told = begun ? &program->remote->begun : &program->remote->ended;
    const struct heading heading = heading_of(program, begun ? LETTER_BEGUN : LETTER_ENDED, op, 0);
    for (uint32_t t = told->first[op]; t < told->first[op + 1]; t++) {
        if (t == told->first[op] || told->ranks[t] != told->ranks[t - 1])
            send(program, told->ranks[t], &heading, sizeof heading);
    }
}

void hop_remote_send(struct hop_program *program, const struct hop_run_step *step)
{
    char *letter = program->remote->letter;
    const char *from = hop_step_places(program, step)[0];
    uint64_t at = 0;
    do {
        uint64_t bytes = step->bytes - at < PIECE_BYTES ? step->bytes - at : PIECE_BYTES;
        struct heading heading = heading_of(program, LETTER_DATA, step->op, at);
        struct hop_device_copy copy = {letter + sizeof heading, from + at, bytes, HOP_NO_WAY, NULL};
        memcpy(letter, &heading, sizeof heading);
        if (bytes)
            (void)HOP_DEVICE(program, copy, HOP_STREAM_NOW, &copy);
        send(program, program->layout.ops[step->op].ends_at, letter, sizeof heading + bytes);
        hop_team_beat(program->team);
        at += bytes;
    } while (at < step->bytes && hop_program_is_fine(program));
}

static void take(struct hop_program *program, const struct heading *heading, const char *piece, uint64_t bytes)
{
    uint32_t index = program->step_of[heading->op];
    struct hop_run_step *step = index == HOP_NONE ? NULL : &program->steps[index];
    if (!step || step->kind != HOP_STEP_TAKE || heading->offset > step->bytes ||
        bytes > step->bytes - heading->offset) {
        (void)hop_fail(&program->failure, HOP_ERR_INVALID, "rank %u got bytes that it does not wait for",
                       program->team->rank);
        return;
    }
    struct hop_device_copy copy = {(char *)hop_step_places(program, step)[1] + heading->offset, piece, bytes,
                                   HOP_NO_WAY, NULL};
    if (bytes)
        (void)HOP_DEVICE(program, copy, HOP_STREAM_NOW, &copy);
    if (hop_program_is_fine(program) && heading->offset + bytes == step->bytes)
        step->arrived = program->launch;
}

/* Not those of other programs, or of a launch to come. */
static bool is_of_now(const struct hop_group_message *message, const void *context)
{
    const struct hop_program *program = context;
    struct heading heading;
    if (message->size_bytes < sizeof heading)
        return true;
    memcpy(&heading, message->bytes, sizeof heading);
    return heading.team == program->team->channel && heading.program == program->number &&
           heading.launch <= program->launch;
}

void hop_remote_progress(struct hop_program *program, bool *moved)
{
    struct hop_group_message message;
    while (hop_program_is_fine(program) &&
           hop_group_receive_wanted(program->team->group, HOP_TAG_PLAN, is_of_now, program, 0, &message)) {
        struct heading heading = {.op = HOP_NONE};
        if (message.size_bytes >= sizeof heading)
            memcpy(&heading, message.bytes, sizeof heading);
        bool now = heading.op < program->layout.op_count &&
                   heading.launch == program->launch; /* a word told twice may be late */
        if (now && heading.kind == LETTER_DATA)
            take(program, &heading, message.bytes + sizeof heading, message.size_bytes - sizeof heading);
        else if (now && program->flag_of[heading.op] != HOP_NONE)
            hop_flag_raise(hop_program_flag(program, program->flag_of[heading.op], heading.launch),
                           2 * heading.launch + (heading.kind == LETTER_ENDED));
        free(message.bytes);
        *moved = true;
    }
}
