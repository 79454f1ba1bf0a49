/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Copies between two ranks whose mechanism is chosen while or before they run (Faraji 2018, chapter 5; docs/copies.md).
 *
 * The leader of a copy is the rank at its other end. A leader has two stages, as in gather and broadcast: copies into
 * its memory, then copies out of it. Where some copy in waits for a copy out, there is but one stage.
 *
 * static: the table says how many of a stage's copies are staged; which, every rank knows beforehand. dynamic: for each
 * copy there is a word that both can see,
 *
 *     launch << 8 | state        RTS, *_INIT and *_CMP are written by the rank that copies, *_ASGN by the leader
 *
 * and the leader asks hop_choice. A rank that is told to send again drops a staged copy between packets; a peer copy
 * that has begun goes on, and its end is waited for before the rank leaves the launch.
 */
#include "run/copies_state.h"

bool hop_copies_is_chosen(const struct hop_program *program, uint32_t op)
{
    return program->copies && !program->copies->row && program->copies->number[op] != HOP_NONE;
}

bool hop_copies_is_staged(const struct hop_program *program, uint32_t op)
{
    const struct hop_copies_state *c = program->copies;
    return c && c->row && c->number[op] != HOP_NONE &&
           hop_copies_row_staged(c->row, c->of[c->number[op]], c->index[c->number[op]]);
}

size_t hop_copies_shared_size(const struct hop_program *program)
{
    return program->copies && !program->copies->row ? program->copies->count * sizeof(word) : 0;
}

/* ---- which copies, which stage ---- */

static bool is_between(const struct hop_program *program, uint32_t op)
{
    const struct hop_run_op *run = &program->layout.ops[op];
    return hop_schedule_op(program->schedule, op)->kind == HOP_OP_COPY && run->owner != run->leader &&
           !hop_program_crosses(program, op);
}

static bool is_out(const struct hop_program *program, uint32_t op)
{
    const struct hop_layout *layout = &program->layout;
    return layout->buffers[layout->places[layout->ops[op].first].buffer].rank == layout->ops[op].leader;
}

/*
 * Whether some copy into a leader's memory waits, on whatever way, for one out of a leader's: then stages could wait
 * for each other in a circle, and there is but one. A rank's copies begin in turn, so that one waits for what those
 * before it in its queue wait for.
 */
static bool is_mixed(const struct hop_program *program, bool *after_out, bool *behind_out)
{
    const struct hop_layout *layout = &program->layout;
    for (uint32_t i = 0; i < layout->op_count; i++) {
        uint32_t op = layout->order[i];
        const struct hop_run_op *run = &layout->ops[op];
        enum hop_run_queue queue = hop_layout_queue(layout, op);
        bool *behind = &behind_out[run->owner * HOP_QUEUES + (queue == HOP_QUEUE_NONE ? 0 : queue)];
        bool led = program->copies->number[op] != HOP_NONE, after = queue != HOP_QUEUE_NONE && *behind;
        for (uint32_t a = 0; a < run->after_count && !after; a++)
            after = after_out[layout->after[run->after_first + a]];
        if (led && after && !is_out(program, op))
            return true;
        if (queue != HOP_QUEUE_NONE)
            *behind = after;
        after_out[op] = after || (led && is_out(program, op));
    }
    return false;
}

static enum hop_status number_copies(struct hop_program *program, struct hop_diag *diag)
{
    struct hop_copies_state *c = program->copies;
    uint32_t ops = program->layout.op_count, ranks = program->layout.ranks;
    uint32_t *counts = calloc(2 * (size_t)ranks + 1, sizeof *counts);
    bool *after_out = calloc((size_t)ops + 1, 1), *behind_out = calloc((size_t)ranks * HOP_QUEUES + 1, 1),
         mixed = false;
    enum hop_status status = counts && after_out && behind_out ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t i = 0; i < ops && status == HOP_OK; i++) {
        c->number[i] = HOP_NONE;
        if (!is_between(program, i))
            continue;
        uint32_t *led = &counts[2 * program->layout.ops[i].leader];
        if (*led >= HOP_CHOICE_RANKS) /* more than a choice can tell apart: these go straight */
            continue;
        ++*led;
        c->ops[c->count] = i;
        c->number[i] = c->count++;
    }
    if (status == HOP_OK) {
        memset(counts, 0, 2 * (size_t)ranks * sizeof *counts);
        mixed = is_mixed(program, after_out, behind_out);
    }
    for (uint32_t i = 0; i < c->count && status == HOP_OK; i++) {
        uint32_t leader = program->layout.ops[c->ops[i]].leader;
        c->second[i] = !mixed && is_out(program, c->ops[i]);
        c->index[i] = counts[2 * leader + c->second[i]]++;
    }
    for (uint32_t i = 0; i < c->count && status == HOP_OK; i++)
        c->of[i] = counts[2 * program->layout.ops[c->ops[i]].leader + c->second[i]];
    free(counts);
    free(after_out);
    free(behind_out);
    return status;
}

/* Those that this rank leads, first stage first. */
static void find_led(struct hop_program *program)
{
    struct hop_copies_state *c = program->copies;
    for (uint32_t stage = 0, at = 0; stage < 2; stage++) {
        for (uint32_t i = 0; i < c->count; i++) {
            if (program->layout.ops[c->ops[i]].leader == program->team->rank && c->second[i] == (stage == 1)) {
                c->lead.copies[at++] = i;
                c->lead.count[stage]++;
            }
        }
    }
}

static enum hop_status take_mix(struct hop_program *program, const struct hop_copies_mix *mix, struct hop_diag *diag)
{
    struct hop_copies_state *c = program->copies;
    if (mix->of == 0 || mix->staged > mix->of)
        return hop_fail(diag, HOP_ERR_INVALID, "%u of %u copies are to go staged", mix->staged, mix->of);
    c->mix = (struct hop_copies_row){.staged = mix->staged, .of = mix->of, .packet_bytes = mix->packet_bytes};
    c->row = &c->mix;
    return HOP_OK;
}

/* By the largest of the copies. */
static enum hop_status ask_table(struct hop_program *program, struct hop_diag *diag)
{
    struct hop_copies_state *c = program->copies;
    uint64_t bytes = 0;
    if (!program->options.table)
        return hop_fail(diag, HOP_ERR_INVALID, "copies by a table, and no table is said");
    for (uint32_t i = 0; i < c->count; i++) {
        uint64_t own = hop_schedule_op(program->schedule, c->ops[i])->bytes;
        bytes = own > bytes ? own : bytes;
    }
    c->table.kind = &hop_copies_kind;
    enum hop_status status = hop_table_load(&c->table, program->options.table, diag);
    if (status == HOP_OK)
        status = hop_copies_find(&c->table, program->options.collective, program->layout.ranks, bytes, &c->row, diag);
    return status;
}

static enum hop_status find_row(struct hop_program *program, struct hop_diag *diag)
{
    struct hop_copies_state *c = program->copies;
    enum hop_status status =
        program->options.mix ? take_mix(program, program->options.mix, diag) : ask_table(program, diag);
    if (status == HOP_OK && program->options.packet_bytes == 0 && c->row->packet_bytes > 0)
        program->packet_bytes = c->row->packet_bytes;
    return status;
}

enum hop_status hop_copies_create(struct hop_program *program, struct hop_diag *diag)
{
    bool fixed = program->options.copies == HOP_COPIES_STATIC;
    if (!fixed && program->options.copies != HOP_COPIES_DYNAMIC)
        return HOP_OK;
    size_t ops = (size_t)program->layout.op_count + 1;
    struct hop_copies_state *c = calloc(1, sizeof *c);
    if (!c)
        return hop_fail_memory(diag);
    program->copies = c;
    c->number = malloc(ops * sizeof *c->number);
    c->ops = malloc(ops * sizeof *c->ops);
    c->second = calloc(ops, sizeof *c->second);
    c->index = calloc(ops, sizeof *c->index);
    c->of = calloc(ops, sizeof *c->of);
    c->flights = calloc(ops, sizeof *c->flights);
    c->lead.copies = calloc(ops, sizeof *c->lead.copies);
    c->lead.state = calloc(ops, sizeof *c->lead.state);
    if (!c->number || !c->ops || !c->second || !c->index || !c->of || !c->flights || !c->lead.copies || !c->lead.state)
        return hop_fail_memory(diag);
    enum hop_status status = number_copies(program, diag);
    if (status == HOP_OK && fixed)
        status = find_row(program, diag);
    if (status == HOP_OK)
        find_led(program);
    return status;
}

void hop_copies_destroy(struct hop_program *program)
{
    struct hop_copies_state *c = program->copies;
    if (!c)
        return;
    free(c->number);
    free(c->ops);
    free(c->second);
    free(c->index);
    free(c->of);
    free(c->flights);
    free(c->lead.copies);
    free(c->lead.state);
    hop_table_finish(&c->table);
    free(c);
    program->copies = NULL;
}
