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
    uint32_t plan, kind;
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
static void list_told(const struct hop_plan *plan, bool begun, uint32_t *count, uint32_t *told)
{
    const struct hop_layout *layout = &plan->layout;
    uint32_t here = plan->team->node_of[plan->team->rank];
    for (uint32_t i = 0; i < layout->op_count; i++) {
        const struct hop_op *waiting = hop_schedule_op(plan->schedule, i);
        const uint32_t *after = begun ? waiting->after_start : layout->after + layout->ops[i].after_first;
        uint32_t waiter = hop_plan_begins_at(plan, i),
                 after_count = begun ? waiting->after_start_count : layout->ops[i].after_count;
        for (uint32_t a = 0; a < after_count; a++) {
            uint32_t op = after[a], where = begun ? hop_plan_begins_at(plan, op) : hop_plan_ends_at(plan, op);
            if (where != plan->team->rank || plan->team->node_of[waiter] == here)
                continue;
            if (told)
                told[count[op]] = waiter;
            count[op]++;
        }
    }
}

static bool make_told(const struct hop_plan *plan, bool begun, struct told *told)
{
    uint32_t ops = plan->layout.op_count;
    uint32_t *count = calloc((size_t)ops + 1, sizeof *count);
    told->first = calloc((size_t)ops + 2, sizeof *told->first);
    if (count && told->first) {
        list_told(plan, begun, count, NULL);
        for (uint32_t i = 0; i < ops; i++) {
            told->first[i + 1] = told->first[i] + count[i];
            count[i] = told->first[i];
        }
        told->ranks = calloc((size_t)told->first[ops] + 1, sizeof *told->ranks);
        if (told->ranks)
            list_told(plan, begun, count, told->ranks);
    }
    free(count);
    return told->ranks != NULL;
}

enum hop_status hop_remote_create(struct hop_plan *plan, struct hop_diag *diag)
{
    struct hop_remote *remote = calloc(1, sizeof *remote);
    plan->remote = remote;
    if (!remote)
        return hop_fail_memory(diag);
    remote->letter = malloc(sizeof(struct heading) + PIECE_BYTES);
    bool fine = remote->letter && make_told(plan, false, &remote->ended) && make_told(plan, true, &remote->begun);
    return fine ? HOP_OK : hop_fail_memory(diag);
}

void hop_remote_destroy(struct hop_plan *plan)
{
    if (!plan->remote)
        return;
    free(plan->remote->letter);
    free(plan->remote->ended.ranks);
    free(plan->remote->ended.first);
    free(plan->remote->begun.ranks);
    free(plan->remote->begun.first);
    free(plan->remote);
}

static enum hop_status tell(struct hop_plan *plan, const struct told *told, enum letter_kind kind, uint32_t op,
                            struct hop_diag *diag)
{
    struct heading heading = {plan->number, kind, op, 0, plan->launch, 0};
    enum hop_status status = HOP_OK;
    for (uint32_t t = told->first[op]; t < told->first[op + 1] && status == HOP_OK; t++) {
        if (t > told->first[op] && told->ranks[t] == told->ranks[t - 1])
            continue;
        status = hop_group_send(plan->team->group, (int)told->ranks[t], HOP_TAG_PLAN, &heading, sizeof heading, diag);
    }
    return status;
}

enum hop_status hop_remote_tell(struct hop_plan *plan, uint32_t op, struct hop_diag *diag)
{
    return tell(plan, &plan->remote->ended, LETTER_ENDED, op, diag);
}

enum hop_status hop_remote_tell_begun(struct hop_plan *plan, uint32_t op, struct hop_diag *diag)
{
    return tell(plan, &plan->remote->begun, LETTER_BEGUN, op, diag);
}

/* ---- bytes ---- */

enum hop_status hop_remote_send(struct hop_plan *plan, struct hop_run_step *step, struct hop_diag *diag)
{
    char *letter = plan->remote->letter;
    const char *from = step->places[plan->launch & 1][0];
    uint32_t to = hop_plan_ends_at(plan, step->op);
    enum hop_status status = HOP_OK;
    uint64_t at = 0;
    do {
        uint64_t bytes = step->bytes - at < PIECE_BYTES ? step->bytes - at : PIECE_BYTES;
        struct heading heading = {plan->number, LETTER_DATA, step->op, 0, plan->launch, at};
        struct hop_device_copy copy = {letter + sizeof heading, from + at, bytes, HOP_NO_WAY, NULL};
        memcpy(letter, &heading, sizeof heading);
        if (bytes)
            status = plan->ops->copy(plan->device, HOP_STREAM_NOW, &copy, diag);
        if (status == HOP_OK)
            status = hop_group_send(plan->team->group, (int)to, HOP_TAG_PLAN, letter, sizeof heading + bytes, diag);
        hop_team_beat(plan->team);
        at += bytes;
    } while (at < step->bytes && status == HOP_OK);
    return status;
}

static enum hop_status take(struct hop_plan *plan, const struct heading *heading, const char *piece, uint64_t bytes,
                            struct hop_diag *diag)
{
    struct hop_run_step *step = heading->op < plan->layout.op_count && plan->step_of[heading->op] != HOP_NONE
                                    ? &plan->steps[plan->step_of[heading->op]]
                                    : NULL;
    if (!step || step->kind != HOP_STEP_TAKE || heading->offset > step->bytes || bytes > step->bytes - heading->offset)
        return hop_fail(diag, HOP_ERR_INVALID, "rank %u got bytes that it does not wait for", plan->team->rank);
    struct hop_device_copy copy = {(char *)step->places[plan->launch & 1][1] + heading->offset, piece, bytes,
                                   HOP_NO_WAY, NULL};
    enum hop_status status = bytes ? plan->ops->copy(plan->device, HOP_STREAM_NOW, &copy, diag) : HOP_OK;
    if (status != HOP_OK || heading->offset + bytes < step->bytes)
        return status;
    hop_plan_step_end(plan, step);
    return hop_remote_tell(plan, step->op, diag);
}

/* Not those of other plans, or of a launch to come. */
static bool is_of_now(const struct hop_group_message *message, const void *context)
{
    const struct hop_plan *plan = context;
    struct heading heading;
    if (message->size_bytes < sizeof heading)
        return true;
    memcpy(&heading, message->bytes, sizeof heading);
    return heading.plan == plan->number && heading.launch <= plan->launch;
}

enum hop_status hop_remote_progress(struct hop_plan *plan, bool *moved, struct hop_diag *diag)
{
    struct hop_group_message message;
    enum hop_status status = HOP_OK;
    while (status == HOP_OK && hop_team_receive(plan->team, HOP_TAG_PLAN, is_of_now, plan, 0, &message)) {
        struct heading heading = {.op = HOP_NONE};
        if (message.size_bytes >= sizeof heading)
            memcpy(&heading, message.bytes, sizeof heading);
        bool now =
            heading.op < plan->layout.op_count && heading.launch == plan->launch; /* a word told twice may be late */
        if (now && heading.kind != LETTER_DATA && plan->flag_of[heading.op] != HOP_NONE)
            hop_flag_raise(&plan->flags[plan->flag_of[heading.op]],
                           2 * heading.launch + (heading.kind == LETTER_ENDED));
        else if (now && heading.kind == LETTER_DATA)
            status = take(plan, &heading, message.bytes + sizeof heading, message.size_bytes - sizeof heading, diag);
        free(message.bytes);
        *moved = true;
    }
    return status;
}
