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
           hop_copies_row_staged(c->row, c->copies[c->number[op]].of, c->copies[c->number[op]].index);
}

size_t hop_copies_shared_size(const struct hop_program *program)
{
    return program->copies && !program->copies->row ? program->copies->count * sizeof(word) : 0;
}

/* ---- which copies, which stage ---- */

static bool is_between(const struct hop_program *program, uint32_t op)
{
    const struct hop_run_op *run = &program->layout.ops[op];
    bool pair = run->owner == hop_layout_rank(&program->layout, run, 0) ||
                run->owner == hop_layout_rank(&program->layout, run, run->reads);
    return hop_schedule_op(program->schedule, op)->kind == HOP_OP_COPY && run->owner != run->leader && !run->crosses &&
           (program->mapped || (pair && hop_program_reaches(program, op)));
}

static bool is_out(const struct hop_program *program, uint32_t op)
{
    const struct hop_run_op *run = &program->layout.ops[op];
    return hop_layout_rank(&program->layout, run, 0) == run->leader;
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

/* Each leader's copies, counted by stage. */
static void number_copies(struct hop_program *program)
{
    struct hop_copies_state *c = program->copies;
    uint32_t ops = program->layout.op_count, ranks = program->layout.ranks;
    uint32_t *counts = hop_program_alloc(program, 2 * (size_t)ranks, sizeof *counts);
    bool *after_out = hop_program_alloc(program, ops, 1);
    bool *behind_out = hop_program_alloc(program, (size_t)ranks * HOP_QUEUES, 1);
    if (!hop_program_is_fine(program))
        return;
    for (uint32_t i = 0; i < ops; i++) {
        uint32_t *led = &counts[2 * program->layout.ops[i].leader];
        c->number[i] = HOP_NONE;
        if (!is_between(program, i) ||
            *led >= HOP_CHOICE_RANKS) /* more than a choice can tell apart: these go straight */
            continue;
        ++*led;
        c->copies[c->count].op = i;
        c->number[i] = c->count++;
    }
    memset(counts, 0, 2 * (size_t)ranks * sizeof *counts);
    bool mixed = is_mixed(program, after_out, behind_out);
    for (uint32_t i = 0; i < c->count; i++) {
        c->copies[i].second = !mixed && is_out(program, c->copies[i].op);
        c->copies[i].index = counts[2 * program->layout.ops[c->copies[i].op].leader + c->copies[i].second]++;
    }
    for (uint32_t i = 0; i < c->count; i++)
        c->copies[i].of = counts[2 * program->layout.ops[c->copies[i].op].leader + c->copies[i].second];
}

/* Those that this rank leads, first stage first. */
static void find_led(struct hop_program *program)
{
    struct hop_copies_state *c = program->copies;
    for (uint32_t stage = 0, at = 0; stage < 2; stage++) {
        for (uint32_t i = 0; i < c->count; i++) {
            if (program->layout.ops[c->copies[i].op].leader == program->team->rank &&
                c->copies[i].second == (stage == 1)) {
                c->lead.copies[at++] = i;
                c->lead.count[stage]++;
            }
        }
    }
}

/* ---- static: the row ---- */

static void take_mix(struct hop_program *program, const struct hop_copies_mix *mix)
{
    struct hop_copies_state *c = program->copies;
    if (mix->of == 0 || mix->staged > mix->of)
        (void)HOP_TRY(program, hop_fail(&program->failure, HOP_ERR_INVALID, "%u of %u copies are to go staged",
                                        mix->staged, mix->of));
    c->mix = (struct hop_copies_row){.staged = mix->staged, .of = mix->of, .packet_bytes = mix->packet_bytes};
    c->row = &c->mix;
}

/* By the largest of the copies. */
static void ask_table(struct hop_program *program)
{
    struct hop_copies_state *c = program->copies;
    const struct hop_program_options *o = &program->options;
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < c->count; i++) {
        uint64_t own = hop_schedule_op(program->schedule, c->copies[i].op)->bytes;
        bytes = own > bytes ? own : bytes;
    }
    c->table.kind = &hop_copies_kind;
    (void)HOP_TRY(program,
                  o->table ? hop_table_load(&c->table, o->table, &program->failure)
                           : hop_fail(&program->failure, HOP_ERR_INVALID, "copies by a table, and no table is said"));
    (void)HOP_TRY(program,
                  hop_copies_find(&c->table, o->collective, program->layout.ranks, bytes, &c->row, &program->failure));
}

void hop_copies_create(struct hop_program *program)
{
    bool fixed = program->options.copies == HOP_COPIES_STATIC;
    if (!fixed && program->options.copies != HOP_COPIES_DYNAMIC)
        return;
    size_t ops = program->layout.op_count;
    struct hop_copies_state *c = program->copies = hop_program_alloc(program, 1, sizeof *c);
    if (!c)
        return;
    c->number = hop_program_alloc(program, ops, sizeof *c->number);
    c->copies = hop_program_alloc(program, ops, sizeof *c->copies);
    c->flights = hop_program_alloc(program, ops, sizeof *c->flights);
    c->lead.copies = hop_program_alloc(program, ops, sizeof *c->lead.copies);
    c->lead.state = hop_program_alloc(program, ops, sizeof *c->lead.state);
    number_copies(program);
    if (fixed && program->options.mix)
        take_mix(program, program->options.mix);
    else if (fixed)
        ask_table(program);
    if (!hop_program_is_fine(program))
        return;
    if (fixed && program->options.packet_bytes == 0 && c->row->packet_bytes > 0)
        program->packet_bytes = c->row->packet_bytes;
    find_led(program);
}

void hop_copies_destroy(struct hop_program *program)
{
    if (program->copies)
        hop_table_finish(&program->copies->table);
}
