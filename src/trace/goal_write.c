/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing GOAL: one block a rank, in schedule order.
 *
 * What an operation is on a rank is its *side* there:
 *
 *     work, reduce    its device: calc                  so is a copy within one rank
 *     send            its source: send          receive    its destination: recv
 *     copy            its source: send, its destination: recv, under a tag that no message of the schedule bears
 *
 * A dependency is said between the sides that both operations have on one rank: what begins on a rank (a copy begins
 * at its source) waits for what the other is there.
 *
 * Labels are those that were read, where every name came from GOAL. Else they are the names, and l3 for operation 3
 * where its name cannot be a label; a copy's recv has an r behind it. Should two of these be the same, they are l0, l1,
 * ... for all.
 *
 * A calc is in whole nanoseconds; a comment says what was rounded.
 */
#include "schedule/schedule.h"
#include "trace/goal.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct writer {
    const struct hop_schedule *schedule;
    double reduce_rate_Bps;
    struct hop_diag *diag;
    struct hop_buffer out;
    bool by_rank;             /* the ranks of the places, else their devices */
    struct hop_names numbers; /* devices, where they are the ranks */
    uint32_t ranks;
    bool native;    /* every name is a label of GOAL or was chosen for an operation without one */
    bool named;     /* else: labels are names where these are labels */
    bool *referred; /* operations that a dependency names */
    uint32_t copy_tag;
    bool any;         /* some receive is from any source, or of any tag */
    uint32_t *starts; /* per rank: where its sides begin; one more */
    uint32_t *sides;  /* by rank, in schedule order: twice the operation, + 1 for a copy's recv */
};

/* At the first device that the operation names: a line of text may hold several operations. */
static enum hop_status fail_at(const struct writer *w, uint32_t index, enum hop_status status)
{
    const struct hop_op *op = &w->schedule->ops[index];
    uint32_t column = op->input_count ? op->inputs[0].column : op->from.column;
    return hop_schedule_blame(w->schedule, index, column, w->diag, status);
}

static uint32_t rank_of(const struct writer *w, const struct hop_place *place)
{
    return w->by_rank ? (uint32_t)place->rank : hop_names_get(&w->numbers, place->device);
}

/* Where an operation begins, and where else it has a side: a copy's destination. */
static uint32_t home(const struct writer *w, const struct hop_op *op)
{
    return rank_of(w, op->kind == HOP_OP_RECEIVE ? &op->to : &op->from);
}

static bool is_between(const struct writer *w, const struct hop_op *op)
{
    return op->kind == HOP_OP_COPY && rank_of(w, &op->from) != rank_of(w, &op->to);
}

static uint32_t far(const struct writer *w, const struct hop_op *op)
{
    return is_between(w, op) ? rank_of(w, &op->to) : HOP_NONE;
}

/* ---- what GOAL cannot say ---- */

/* What GOAL has as calc: all but messages and copies between ranks. */
static bool is_calc(const struct writer *w, const struct hop_op *op)
{
    return !hop_op_is_message(op) && !is_between(w, op);
}

/* In seconds. */
static double duration_of(const struct writer *w, const struct hop_op *op)
{
    return op->kind == HOP_OP_WORK ? op->duration_s : hop_op_traffic_bytes(op) / w->reduce_rate_Bps;
}

static enum hop_status check_op(const struct writer *w, uint32_t index)
{
    const struct hop_op *op = &w->schedule->ops[index];
    if (op->at_s > 0)
        hop_fail(
            w->diag, HOP_ERR_UNSUPPORTED,
            "'%s' has an earliest start, which GOAL cannot say\noperations that begin when those before them allow it",
            op->name);
    else if (is_between(w, op) && w->any)
        hop_fail(w->diag, HOP_ERR_UNSUPPORTED,
                 "'%s' is a copy, which a receive from any source or of any tag might take in GOAL\n"
                 "messages alone where receives take what comes first",
                 op->name);
    else if (op->kind == HOP_OP_COPY && op->via == HOP_VIA_STAGED)
        hop_fail(w->diag, HOP_ERR_UNSUPPORTED, "'%s' is staged, which GOAL cannot say\ncopies from device to device",
                 op->name);
    else if (is_calc(w, op) && op->kind != HOP_OP_WORK && !(w->reduce_rate_Bps > 0))
        hop_fail(w->diag, HOP_ERR_UNSUPPORTED,
                 "'%s' is a %s, which in GOAL is a calc of known length\na topology (--on), whose parameter "
                 "reduce_rate says how long it takes",
                 op->name, op->kind == HOP_OP_REDUCE ? "reduction" : "copy within a rank");
    else if (is_calc(w, op) && duration_of(w, op) * 1e9 > (double)HOP_GOAL_CALC_LIMIT)
        hop_fail(w->diag, HOP_ERR_UNSUPPORTED, "'%s' takes %g s, longer than a calc can\nup to 2^53 ns, 104 days",
                 op->name, duration_of(w, op));
    else
        return HOP_OK;
    return fail_at(w, index, HOP_ERR_UNSUPPORTED);
}

/* Whether the other's side on the rank where `op` begins says what it waits for. */
static enum hop_status check_dependency(const struct writer *w, uint32_t index, uint32_t other, bool start)
{
    const struct hop_op *op = &w->schedule->ops[index], *before = &w->schedule->ops[other];
    uint32_t rank = home(w, op);
    if (home(w, before) == rank || (!start && far(w, before) == rank))
        return HOP_OK;
    hop_fail(w->diag, HOP_ERR_UNSUPPORTED,
             "'%s' waits for the %s of '%s', which is on another rank\ndependencies between ranks to go with a "
             "message: GOAL has no others",
             op->name, start ? "start" : "end", before->name);
    return fail_at(w, index, HOP_ERR_UNSUPPORTED);
}

static enum hop_status check_all(struct writer *w)
{
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; i < w->schedule->count; i++)
        w->any = w->any || hop_op_takes_any(&w->schedule->ops[i]);
    for (uint32_t i = 0; i < w->schedule->count && status == HOP_OK; i++) {
        const struct hop_op *op = &w->schedule->ops[i];
        status = check_op(w, i);
        for (uint32_t d = 0; d < op->after_count && status == HOP_OK; d++) {
            status = check_dependency(w, i, op->after[d], false);
            w->referred[op->after[d]] = true;
        }
        for (uint32_t d = 0; d < op->after_start_count && status == HOP_OK; d++) {
            status = check_dependency(w, i, op->after_start[d], true);
            w->referred[op->after_start[d]] = true;
        }
    }
    return status;
}

/* ---- ranks, tags and labels ---- */

/* Ranks where every place has one; else the devices in order of appearance. */
static enum hop_status number_ranks(struct writer *w)
{
    const struct hop_schedule *s = w->schedule;
    w->by_rank = true;
    for (uint32_t i = 0; i < s->count; i++)
        w->by_rank = w->by_rank && s->ops[i].from.rank >= 0 && s->ops[i].to.rank >= 0;
    for (uint32_t i = 0; i < s->count; i++) {
        const struct hop_place *places[2] = {&s->ops[i].from, &s->ops[i].to};
        for (unsigned p = 0; p < 2; p++) {
            if (w->by_rank && (uint32_t)places[p]->rank >= w->ranks)
                w->ranks = (uint32_t)places[p]->rank + 1;
            else if (!w->by_rank && hop_names_get(&w->numbers, places[p]->device) == UINT32_MAX &&
                     !hop_names_put(&w->numbers, places[p]->device, w->ranks++))
                return hop_fail_memory(w->diag);
        }
    }
    if (w->ranks <= HOP_GOAL_RANK_LIMIT)
        return HOP_OK;
    hop_fail(w->diag, HOP_ERR_LIMIT, "%" PRIu32 " ranks\nup to %u", w->ranks, HOP_GOAL_RANK_LIMIT);
    hop_diag_place(w->diag, "%s", s->file);
    return HOP_ERR_LIMIT;
}

/* The copies' tag: the first above those of the messages. */
static enum hop_status choose_tag(struct writer *w)
{
    const struct hop_schedule *s = w->schedule;
    uint64_t tag = 0;
    uint32_t copy = HOP_NONE;
    for (uint32_t i = s->count; i-- > 0;) {
        if (hop_op_is_message(&s->ops[i]) && s->ops[i].tag >= tag)
            tag = (uint64_t)s->ops[i].tag + 1;
        if (is_between(w, &s->ops[i]))
            copy = i;
    }
    w->copy_tag = (uint32_t)tag;
    if (tag <= UINT32_MAX || copy == HOP_NONE)
        return HOP_OK;
    hop_fail(w->diag, HOP_ERR_LIMIT, "no tag is left for the copy '%s'\nmessages under tags below %" PRIu32,
             s->ops[copy].name, UINT32_MAX);
    return fail_at(w, copy, HOP_ERR_LIMIT);
}

/* Whether a text can be a label; the words that may follow an operation cannot. */
static bool is_label(const char *text)
{
    static const char *const words[] = {"calc", "send", "recv", "rank", "num_ranks", "tag", "cpu", "nic"};
    for (unsigned i = 0; i < HOP_COUNT(words); i++) {
        if (strcmp(text, words[i]) == 0)
            return false;
    }
    size_t length = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_");
    return length > 0 && !text[length] && length <= HOP_GOAL_LABEL_LIMIT && (*text < '0' || *text > '9');
}

/* The label in "r3.l2" of rank 3; NULL: it is no such name. */
static const char *label_in(const struct writer *w, const struct hop_op *op)
{
    char prefix[16];
    int length = snprintf(prefix, sizeof prefix, "r%" PRIu32 ".", home(w, op));
    bool fits = strncmp(op->name, prefix, (size_t)length) == 0 && is_label(op->name + length);
    return fits ? op->name + length : NULL;
}

/* The label of an operation, or of a copy's recv, where names are labels. */
static const char *chosen_label(const struct hop_op *op, uint32_t index, bool recv, char *buffer, size_t size)
{
    if (is_label(op->name) && strlen(op->name) < HOP_GOAL_LABEL_LIMIT)
        (void)snprintf(buffer, size, "%s%s", op->name, recv ? "r" : "");
    else
        (void)snprintf(buffer, size, "l%" PRIu32 "%s", index, recv ? "r" : "");
    return buffer;
}

/* Whether no label that is not a name is one. */
static bool is_named(const struct writer *w)
{
    bool named = true;
    for (uint32_t i = 0; i < w->schedule->count && named; i++) {
        const struct hop_op *op = &w->schedule->ops[i];
        for (unsigned recv = 0; recv <= is_between(w, op); recv++) {
            char buffer[HOP_GOAL_LABEL_LIMIT + 1];
            uint32_t other = hop_schedule_find(w->schedule, chosen_label(op, i, recv, buffer, sizeof buffer));
            named = named && (other == HOP_NONE || (other == i && !recv));
        }
    }
    return named;
}

static bool is_unlabelled(const struct writer *w, uint32_t index)
{
    const struct hop_op *op = &w->schedule->ops[index];
    char chosen[16];
    (void)snprintf(chosen, sizeof chosen, "t%" PRIu32, index);
    return strcmp(op->name, chosen) == 0 && !w->referred[index] && op->after_count == 0 && op->after_start_count == 0;
}

static bool is_native(const struct writer *w)
{
    bool native = true;
    for (uint32_t i = 0; i < w->schedule->count && native; i++) {
        const struct hop_op *op = &w->schedule->ops[i];
        native = op->kind != HOP_OP_COPY && op->kind != HOP_OP_REDUCE && (label_in(w, op) || is_unlabelled(w, i));
    }
    return native;
}

/* ---- printing ---- */

/* A text and a number; millions of them, so no printf. */
static void put(struct writer *w, const char *text, uint64_t number)
{
    char digits[20];
    unsigned first = sizeof digits;
    do
        digits[--first] = (char)('0' + number % 10);
    while (number /= 10);
    hop_buffer_puts(&w->out, text);
    hop_buffer_add(&w->out, digits + first, sizeof digits - first);
}

static void put_label(struct writer *w, uint32_t index, bool recv)
{
    char buffer[HOP_GOAL_LABEL_LIMIT + 1];
    if (w->native) {
        hop_buffer_puts(&w->out, strchr(w->schedule->ops[index].name, '.') + 1);
    } else if (w->named) {
        hop_buffer_puts(&w->out, chosen_label(&w->schedule->ops[index], index, recv, buffer, sizeof buffer));
    } else {
        put(w, "l", index);
        hop_buffer_puts(&w->out, recv ? "r" : "");
    }
}

static void put_options(struct writer *w, uint32_t tag, const struct hop_op *op)
{
    if (op->any_tag)
        hop_buffer_puts(&w->out, " tag -1");
    else if (tag)
        put(w, " tag ", tag);
    if (op->cpu)
        put(w, " cpu ", op->cpu);
    if (op->nic)
        put(w, " nic ", op->nic);
}

static uint64_t whole_ns(double duration_s)
{
    return (uint64_t)round(duration_s * 1e9);
}

/* What a calc does not say; a whole number of ns in seconds is one but for the last bits. */
static void put_rounding(struct writer *w, double duration_s)
{
    char text[32];
    if (fabs(duration_s * 1e9 - (double)whole_ns(duration_s)) > 1e-15 * duration_s * 1e9)
        hop_buffer_printf(&w->out, " // rounded from %s", hop_format_seconds(duration_s, text, sizeof text));
}

static void put_list(struct writer *w, uint32_t index, const char *keyword, const uint32_t *list, uint32_t count)
{
    uint32_t rank = home(w, &w->schedule->ops[index]);
    for (uint32_t d = 0; d < count; d++) {
        put_label(w, index, false);
        hop_buffer_puts(&w->out, keyword);
        put_label(w, list[d], home(w, &w->schedule->ops[list[d]]) != rank);
        hop_buffer_puts(&w->out, "\n");
    }
}

static void put_dependencies(struct writer *w, uint32_t index)
{
    const struct hop_op *op = &w->schedule->ops[index];
    put_list(w, index, " requires ", op->after, op->after_count);
    put_list(w, index, " irequires ", op->after_start, op->after_start_count);
}

/* Whether all that an operation waits for stands above it. */
static bool waits_above(const struct writer *w, uint32_t index)
{
    const struct hop_op *op = &w->schedule->ops[index];
    bool above = true;
    for (uint32_t d = 0; d < op->after_count; d++)
        above = above && op->after[d] < index;
    for (uint32_t d = 0; d < op->after_start_count; d++)
        above = above && op->after_start[d] < index;
    return above;
}

static void put_side(struct writer *w, uint32_t index, bool recv)
{
    const struct hop_op *op = &w->schedule->ops[index];
    if (!w->native || !is_unlabelled(w, index)) {
        put_label(w, index, recv);
        hop_buffer_puts(&w->out, ": ");
    }
    if (is_calc(w, op)) {
        put(w, "calc ", whole_ns(duration_of(w, op)));
    } else {
        bool send = op->kind == HOP_OP_SEND || (op->kind == HOP_OP_COPY && !recv);
        put(w, send ? "send " : "recv ", op->bytes);
        if (op->any_source)
            hop_buffer_puts(&w->out, "b from -1");
        else
            put(w, send ? "b to " : "b from ", rank_of(w, send ? &op->to : &op->from));
    }
    put_options(w, is_between(w, op) ? w->copy_tag : op->tag, op);
    if (is_calc(w, op))
        put_rounding(w, duration_of(w, op));
    hop_buffer_puts(&w->out, "\n");
    if (!recv && waits_above(w, index))
        put_dependencies(w, index);
}

/* Sorts the sides by rank, keeping their order. */
static bool sort_sides(struct writer *w)
{
    const struct hop_schedule *s = w->schedule;
    w->starts = calloc((size_t)w->ranks + 2, sizeof *w->starts);
    w->sides = malloc((2 * (size_t)s->count + 1) * sizeof *w->sides);
    if (!w->starts || !w->sides)
        return false;
    for (uint32_t i = 0; i < s->count; i++) {
        w->starts[home(w, &s->ops[i]) + 2]++;
        if (far(w, &s->ops[i]) != HOP_NONE)
            w->starts[far(w, &s->ops[i]) + 2]++;
    }
    for (uint32_t r = 2; r < w->ranks + 2; r++)
        w->starts[r] += w->starts[r - 1];
    for (uint32_t i = 0; i < s->count; i++) { /* starts[r + 1] moves from the start of rank r to its end */
        w->sides[w->starts[home(w, &s->ops[i]) + 1]++] = 2 * i;
        if (far(w, &s->ops[i]) != HOP_NONE)
            w->sides[w->starts[far(w, &s->ops[i]) + 1]++] = 2 * i + 1;
    }
    return true;
}

/* What reading made of a rank that does nothing. */
static bool is_idle(const struct writer *w, uint32_t rank)
{
    uint32_t side = w->sides[w->starts[rank]];
    const struct hop_op *op = &w->schedule->ops[side / 2];
    char name[24];
    (void)snprintf(name, sizeof name, "r%" PRIu32 ".idle", rank);
    return w->native && w->starts[rank + 1] - w->starts[rank] == 1 && op->kind == HOP_OP_WORK && op->duration_s == 0 &&
           op->after_count + op->after_start_count == 0 && !w->referred[side / 2] && strcmp(op->name, name) == 0;
}

/* Labels are defined above the lines that name them, so dependencies on later operations follow at the end of the
 * block. */
static void put_block(struct writer *w, uint32_t rank)
{
    put(w, "rank ", rank);
    hop_buffer_puts(&w->out, " {\n");
    bool idle = w->starts[rank] < w->starts[rank + 1] && is_idle(w, rank);
    for (uint32_t i = w->starts[rank]; i < w->starts[rank + 1] && !idle; i++)
        put_side(w, w->sides[i] / 2, w->sides[i] & 1);
    for (uint32_t i = w->starts[rank]; i < w->starts[rank + 1]; i++) {
        if (!(w->sides[i] & 1) && !waits_above(w, w->sides[i] / 2))
            put_dependencies(w, w->sides[i] / 2);
    }
    hop_buffer_puts(&w->out, "}\n");
}

static enum hop_status write_all(struct writer *w)
{
    if (!w->referred)
        return hop_fail_memory(w->diag);
    enum hop_status status = number_ranks(w);
    if (status == HOP_OK)
        status = check_all(w);
    if (status != HOP_OK)
        return status;
    w->native = is_native(w);
    w->named = !w->native && is_named(w);
    status = choose_tag(w);
    if (status != HOP_OK)
        return status;
    if (!sort_sides(w))
        return hop_fail_memory(w->diag);
    put(w, "num_ranks ", w->ranks ? w->ranks : 1);
    hop_buffer_puts(&w->out, "\n");
    for (uint32_t r = 0; r < w->ranks; r++)
        put_block(w, r);
    if (w->ranks == 0)
        hop_buffer_puts(&w->out, "rank 0 {\n}\n");
    return HOP_OK;
}

enum hop_status hop_schedule_to_goal(const struct hop_schedule *schedule, double reduce_rate_Bps, char **text,
                                     struct hop_diag *diag)
{
    struct writer w = {.schedule = schedule,
                       .reduce_rate_Bps = reduce_rate_Bps,
                       .diag = diag,
                       .referred = calloc((size_t)schedule->count + 1, sizeof *w.referred)};
    enum hop_status status = write_all(&w);
    if (status == HOP_OK) {
        *text = hop_buffer_take(&w.out);
        status = *text ? HOP_OK : hop_fail_memory(diag);
    } else {
        hop_buffer_finish(&w.out);
    }
    hop_names_finish(&w.numbers);
    free(w.referred);
    free(w.starts);
    free(w.sides);
    return status;
}
