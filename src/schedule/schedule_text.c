/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The text form, .hop: one operation a line (or up to ';'), '#' begins a comment.
 *
 *     [NAME:] PLACE -> PLACE SIZE                         {CLAUSE}
 *     [NAME:] reduce OPERATOR TYPE PLACE ... -> PLACE ... SIZE {CLAUSE}
 *     [NAME:] work DEVICE TIME                             {CLAUSE}
 *     [NAME:] send|receive PLACE -> PLACE SIZE             {CLAUSE}
 *     queue strict|ready
 *
 *     CLAUSE:  at TIME | via p2p|staged|auto [SIZE] | by N | tag N | cpu N | nic N
 *              | after NAME ... | after-start NAME ...
 *
 * The words by, tag, cpu and nic are no keywords in a list of names, nor are send and receive in front of '->'.
 * A line is split into words first; '->' is a word of its own wherever it stands, ',' separates like space. Dependencies
 * may name later lines, so they are kept as words and resolved when all lines are read.
 */
#include "schedule/schedule.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>

struct word {
    const char *text;
    uint32_t length, column;
};

/* A dependency as written: the operation that waits, the name that it waits for. */
struct wanted {
    uint32_t op;
    bool start;
    struct word name;
    uint32_t line;
};

struct reader {
    const struct hop_source *source;
    struct hop_schedule *schedule;
    struct hop_diag *diag;
    uint32_t line;
    struct word *words;
    uint32_t word_count, word_capacity, next;
    uint32_t end_column;
    struct wanted *wanted;
    uint32_t wanted_count, wanted_capacity;
    struct hop_place *inputs, *outputs;
    uint32_t input_capacity, output_capacity;
    uint32_t by_column;       /* of the line's clause `by`, 0: it has none */
    struct hop_arena scratch; /* strings of one line */
};

static enum hop_status at_column(struct reader *r, uint32_t column, enum hop_status status)
{
    hop_diag_place(r->diag, "%s:%u:%u", r->source->name, r->line, column);
    return status;
}

static bool is(const struct word *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->text, text, word->length) == 0;
}

static const struct word *peek(const struct reader *r)
{
    return r->next < r->word_count ? &r->words[r->next] : NULL;
}

static bool is_keyword(const struct word *word)
{
    return is(word, "at") || is(word, "via") || is(word, "after") || is(word, "after-start");
}

/* Clauses of a number; an operation may bear these names, so they begin no clause behind a list of names. */
static bool is_numbered(const struct word *word)
{
    return is(word, "by") || is(word, "tag") || is(word, "cpu") || is(word, "nic");
}

/* Fails at the next word, or at the end of the line. */
static enum hop_status unexpected(struct reader *r, const char *expected)
{
    const struct word *word = peek(r);
    if (word)
        hop_fail(r->diag, HOP_ERR_SYNTAX, "unexpected '%.*s'", (int)(word->length < 60 ? word->length : 60),
                 word->text);
    else
        hop_fail(r->diag, HOP_ERR_SYNTAX, "the line ends too early");
    hop_diag_expect(r->diag, "%s", expected);
    return at_column(r, word ? word->column : r->end_column, HOP_ERR_SYNTAX);
}

/* Splits text[0..length) into words; a comment ends it. */
static enum hop_status split(struct reader *r, const char *text, size_t length, uint32_t first_column)
{
    r->word_count = r->next = 0;
    size_t i = 0;
    while (i < length && text[i] != '#') {
        if (isspace((unsigned char)text[i]) || text[i] == ',') {
            i++;
            continue;
        }
        size_t start = i;
        if (text[i] == '-' && i + 1 < length && text[i + 1] == '>') {
            i += 2;
        } else {
            while (i < length && !isspace((unsigned char)text[i]) && text[i] != ',' && text[i] != '#' &&
                   !(text[i] == '-' && i + 1 < length && text[i + 1] == '>')) {
                if (text[i] == '\0') {
                    hop_fail(r->diag, HOP_ERR_SYNTAX, "a NUL byte\ntext");
                    return at_column(r, first_column + (uint32_t)i, HOP_ERR_SYNTAX);
                }
                i++;
            }
        }
        if (!hop_grow(&r->words, &r->word_capacity, r->word_count + 1, sizeof *r->words))
            return hop_fail_memory(r->diag);
        r->words[r->word_count++] = (struct word){text + start, (uint32_t)(i - start), first_column + (uint32_t)start};
    }
    r->end_column = first_column + (uint32_t)i;
    return HOP_OK;
}

static enum hop_status read_place(struct reader *r, struct hop_place *place)
{
    const struct word *word = peek(r);
    if (!word || is(word, "->"))
        return unexpected(r, "a device, such as gpu0");
    enum hop_status status = hop_place_parse(word->text, word->length, place, &r->scratch, r->diag);
    if (status != HOP_OK)
        return at_column(r, word->column, status);
    place->column = word->column;
    r->next++;
    return HOP_OK;
}

static enum hop_status read_arrow(struct reader *r)
{
    const struct word *word = peek(r);
    if (!word || !is(word, "->"))
        return unexpected(r, "'->' between source and destination");
    r->next++;
    return HOP_OK;
}

typedef enum hop_status quantity_parser(const char *text, size_t length, void *value, struct hop_diag *diag);

static enum hop_status parse_bytes(const char *text, size_t length, void *value, struct hop_diag *diag)
{
    return hop_parse_bytes(text, length, value, diag);
}

static enum hop_status parse_seconds(const char *text, size_t length, void *value, struct hop_diag *diag)
{
    return hop_parse_seconds(text, length, value, diag);
}

/* A number with its unit, in one word or in two ("300 MiB"). */
static enum hop_status read_quantity(struct reader *r, quantity_parser *parse, void *value, const char *expected)
{
    const struct word *word = peek(r);
    if (!word || is_keyword(word) || is(word, "->"))
        return unexpected(r, expected);
    const char *end = word->text + word->length;
    r->next++;
    bool bare = word->length > 0;
    for (uint32_t i = 0; i < word->length; i++)
        bare = bare && (isdigit((unsigned char)word->text[i]) || word->text[i] == '.');
    const struct word *unit = peek(r);
    if (bare && unit && isalpha((unsigned char)unit->text[0]) && !is_keyword(unit) && !is_numbered(unit)) {
        end = unit->text + unit->length;
        r->next++;
    }
    enum hop_status status = parse(word->text, (size_t)(end - word->text), value, r->diag);
    return status == HOP_OK ? HOP_OK : at_column(r, word->column, status);
}

static enum hop_status read_copy(struct reader *r, struct hop_op *op)
{
    enum hop_status status = read_place(r, &op->from);
    if (status == HOP_OK)
        status = read_arrow(r);
    if (status == HOP_OK)
        status = read_place(r, &op->to);
    return status == HOP_OK ? read_quantity(r, parse_bytes, &op->bytes, "a size, such as 300MiB") : status;
}

static enum hop_status read_work(struct reader *r, struct hop_op *op)
{
    r->next++;
    enum hop_status status = read_place(r, &op->from);
    return status == HOP_OK ? read_quantity(r, parse_seconds, &op->duration_s, "a time, such as 30us") : status;
}

/* Behind the first output, what begins like a number and names neither rank nor buffer is the size; a clause is left
 * to whoever misses the size. */
static bool begins_size(const struct word *word)
{
    bool number = isdigit((unsigned char)word->text[0]) || strchr(".+-", word->text[0]);
    return is_keyword(word) || is_numbered(word) ||
           (number && !memchr(word->text, '@', word->length) && !memchr(word->text, ':', word->length));
}

static enum hop_status add_place(struct reader *r, struct hop_place **places, uint32_t *capacity, uint32_t *count)
{
    if (!hop_grow(places, capacity, *count + 1, sizeof **places))
        return hop_fail_memory(r->diag);
    enum hop_status status = read_place(r, &(*places)[*count]);
    *count += status == HOP_OK;
    return status;
}

static enum hop_status read_reduce(struct reader *r, struct hop_op *op)
{
    r->next++;
    const struct word *op_word = peek(r);
    unsigned reduce = 0, type = 0;
    while (op_word && reduce < HOP_REDUCE_COUNT && !is(op_word, hop_reduce_name((enum hop_reduce)reduce)))
        reduce++;
    if (!op_word || reduce == HOP_REDUCE_COUNT)
        return unexpected(r, "an operator: sum, prod, min or max");
    r->next++;
    const struct word *name = peek(r);
    while (name && type < HOP_TYPE_COUNT && !is(name, hop_type_name((enum hop_type)type)))
        type++;
    if (!name || type == HOP_TYPE_COUNT)
        return unexpected(r, "a type: f64, f32, f16, bf16, i32 or i64");
    r->next++;
    op->reduce = (enum hop_reduce)reduce;
    op->type = (enum hop_type)type;
    enum hop_status status = HOP_OK;
    for (const struct word *word = peek(r); status == HOP_OK && word && !is(word, "->"); word = peek(r))
        status = add_place(r, &r->inputs, &r->input_capacity, &op->input_count);
    op->inputs = r->inputs;
    if (status == HOP_OK)
        status = read_arrow(r);
    if (status == HOP_OK)
        status = read_place(r, &op->to);
    for (const struct word *word = peek(r); status == HOP_OK && word && !begins_size(word); word = peek(r))
        status = add_place(r, &r->outputs, &r->output_capacity, &op->output_count);
    op->outputs = r->outputs;
    return status == HOP_OK ? read_quantity(r, parse_bytes, &op->bytes, "a size, such as 300MiB") : status;
}

static enum hop_status read_via(struct reader *r, struct hop_op *op)
{
    const struct word *mode = peek(r);
    if (op->kind != HOP_OP_COPY) {
        r->next--;
        return unexpected(r, "via only with a transfer");
    }
    if (!mode || (!is(mode, "p2p") && !is(mode, "staged") && !is(mode, "auto")))
        return unexpected(r, "p2p, staged or auto");
    op->via = is(mode, "p2p") ? HOP_VIA_P2P : is(mode, "staged") ? HOP_VIA_STAGED : HOP_VIA_AUTO;
    r->next++;
    const struct word *size = peek(r);
    if (!size || is_keyword(size) || is_numbered(size))
        return HOP_OK;
    if (op->via == HOP_VIA_P2P)
        return unexpected(r, "no packet size for p2p");
    uint32_t column = size->column;
    enum hop_status status = read_quantity(r, parse_bytes, &op->packet_bytes, "a packet size, such as 2MiB");
    if (status == HOP_OK && op->packet_bytes == 0) {
        hop_fail(r->diag, HOP_ERR_INVALID, "a packet of no bytes\na packet size above zero, or none for one packet");
        return at_column(r, column, HOP_ERR_INVALID);
    }
    return status;
}

static enum hop_status read_names(struct reader *r, bool start)
{
    if (!peek(r) || is_keyword(peek(r)))
        return unexpected(r, "the names of one or more operations");
    for (const struct word *word = peek(r); word && !is_keyword(word); word = peek(r)) {
        if (!hop_grow(&r->wanted, &r->wanted_capacity, r->wanted_count + 1, sizeof *r->wanted))
            return hop_fail_memory(r->diag);
        r->wanted[r->wanted_count++] = (struct wanted){r->schedule->count, start, *word, r->line};
        r->next++;
    }
    return HOP_OK;
}

/* A whole number up to `most`. */
static enum hop_status read_number(struct reader *r, uint64_t most, uint64_t *value)
{
    const struct word *word = peek(r);
    bool fine = word && word->length <= 10;
    *value = 0;
    for (uint32_t i = 0; fine && i < word->length; i++) {
        fine = isdigit((unsigned char)word->text[i]);
        *value = *value * 10 + (uint64_t)(word->text[i] - '0');
    }
    if (!fine || *value > most) {
        char expected[48];
        (void)snprintf(expected, sizeof expected, "a whole number up to %" PRIu64, most);
        return unexpected(r, expected);
    }
    r->next++;
    return HOP_OK;
}

static enum hop_status read_by(struct reader *r, struct hop_op *op)
{
    uint64_t rank;
    if (op->kind != HOP_OP_COPY && op->kind != HOP_OP_REDUCE)
        return unexpected(r, "by only with a transfer or a reduction");
    if (r->by_column)
        return unexpected(r, "by once");
    r->by_column = peek(r)->column;
    r->next++;
    enum hop_status status = read_number(r, HOP_PLACE_RANK_LIMIT, &rank);
    op->by = (int32_t)rank;
    return status;
}

/* by, tag, cpu or nic, where the operation has one. */
static enum hop_status read_numbered(struct reader *r, struct hop_op *op, bool *seen)
{
    const struct word *word = peek(r);
    bool message = hop_op_is_message(op), tag = is(word, "tag"), cpu = is(word, "cpu");
    uint64_t value;
    if (is(word, "by"))
        return read_by(r, op);
    if (!message && !(cpu && op->kind == HOP_OP_WORK))
        return unexpected(r, cpu ? "cpu only with send, receive and work" : "tag and nic only with send and receive");
    if (seen[tag ? 0 : cpu ? 1 : 2])
        return unexpected(r, "each of tag, cpu and nic once");
    seen[tag ? 0 : cpu ? 1 : 2] = true;
    r->next++;
    enum hop_status status = read_number(r, tag ? UINT32_MAX : UINT16_MAX, &value);
    if (status != HOP_OK)
        return status;
    if (tag)
        op->tag = (uint32_t)value;
    else
        *(cpu ? &op->cpu : &op->nic) = (uint16_t)value;
    return HOP_OK;
}

static enum hop_status read_clauses(struct reader *r, struct hop_op *op)
{
    bool seen_at = false, seen_via = false, seen_number[3] = {false};
    for (const struct word *word = peek(r); word; word = peek(r)) {
        enum hop_status status;
        if (is_numbered(word)) {
            status = read_numbered(r, op, seen_number);
            if (status != HOP_OK)
                return status;
            continue;
        }
        bool twice = (is(word, "at") && seen_at) || (is(word, "via") && seen_via);
        if (twice || !is_keyword(word))
            return unexpected(
                r, twice ? "each of at and via once"
                         : "at TIME, via MODE, after NAME ..., after-start NAME ..., or the end of the line");
        r->next++;
        if (is(word, "at")) {
            seen_at = true;
            status = read_quantity(r, parse_seconds, &op->at_s, "a time, such as 1.5ms");
        } else if (is(word, "via")) {
            seen_via = true;
            status = read_via(r, op);
        } else {
            status = read_names(r, is(word, "after-start"));
        }
        if (status != HOP_OK)
            return status;
    }
    return HOP_OK;
}

static enum hop_status read_queue(struct reader *r)
{
    r->next++;
    const struct word *discipline = peek(r);
    if (!discipline || (!is(discipline, "strict") && !is(discipline, "ready")))
        return unexpected(r, "strict or ready");
    r->schedule->queue_ready = is(discipline, "ready");
    r->next++;
    return peek(r) ? unexpected(r, "the end of the line") : HOP_OK;
}

/* Whether the word begins a message: a device may bear that name, and then '->' follows. */
static bool begins_message(const struct reader *r, const char *keyword)
{
    const struct word *word = peek(r);
    return word && is(word, keyword) && !(r->next + 1 < r->word_count && is(&r->words[r->next + 1], "->"));
}

static enum hop_status read_line(struct reader *r)
{
    const struct word *word = peek(r);
    if (!word)
        return HOP_OK;
    if (is(word, "queue"))
        return read_queue(r);
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    op.line = r->line;
    r->by_column = 0;
    uint32_t column = word->column;
    if (word->text[word->length - 1] == ':') {
        if (!hop_op_name_check(word->text, word->length - 1, r->diag))
            return at_column(r, column, HOP_ERR_SYNTAX);
        op.name = hop_arena_string(&r->scratch, word->text, word->length - 1);
        if (!op.name)
            return hop_fail_memory(r->diag);
        r->next++;
        word = peek(r);
    }
    enum hop_status status;
    if (word && is(word, "work")) {
        op.kind = HOP_OP_WORK;
        status = read_work(r, &op);
    } else if (word && is(word, "reduce")) {
        op.kind = HOP_OP_REDUCE;
        status = read_reduce(r, &op);
    } else {
        if (begins_message(r, "send"))
            op.kind = HOP_OP_SEND;
        else if (begins_message(r, "receive"))
            op.kind = HOP_OP_RECEIVE;
        r->next += op.kind != HOP_OP_COPY;
        status = read_copy(r, &op);
    }
    if (status == HOP_OK)
        status = read_clauses(r, &op);
    if (status != HOP_OK)
        return status;
    if (r->by_column && !hop_op_by_check(&op, r->diag))
        return at_column(r, r->by_column, HOP_ERR_INVALID);
    (void)hop_schedule_add(r->schedule, &op);
    status = hop_schedule_failure(r->schedule, r->diag);
    return status == HOP_OK ? HOP_OK : at_column(r, column, status);
}

static const char *op_name(const void *context, uint32_t index)
{
    return ((const struct hop_schedule *)context)->ops[index].name;
}

/* Turns the wanted names of each operation into its index lists. */
static enum hop_status resolve(struct reader *r)
{
    struct hop_schedule *schedule = r->schedule;
    for (uint32_t i = 0; i < r->wanted_count;) {
        struct hop_op *op = &schedule->ops[r->wanted[i].op];
        uint32_t end = i, starts = 0;
        while (end < r->wanted_count && r->wanted[end].op == r->wanted[i].op)
            starts += r->wanted[end++].start;
        uint32_t *after = hop_arena_alloc(&schedule->arena, (end - i) * sizeof *after);
        if (!after)
            return hop_fail_memory(r->diag);
        uint32_t *after_start = after + (end - i - starts);
        for (; i < end; i++) {
            const struct wanted *wanted = &r->wanted[i];
            char name[HOP_OP_NAME_LIMIT + 1];
            (void)snprintf(name, sizeof name, "%.*s", (int)wanted->name.length, wanted->name.text);
            uint32_t index = wanted->name.length < sizeof name ? hop_schedule_find(schedule, name) : HOP_NONE;
            if (index == HOP_NONE) {
                uint32_t near =
                    hop_text_nearest(name, op_name, schedule, schedule->count < 10000 ? schedule->count : 10000);
                hop_fail(r->diag, HOP_ERR_NOT_FOUND, "there is no operation '%.80s'", name);
                if (is_numbered(&wanted->name))
                    hop_diag_expect(r->diag, "%s in front of after and after-start", name);
                else if (near != UINT32_MAX)
                    hop_diag_expect(r->diag, "'%s'?", schedule->ops[near].name);
                else
                    hop_diag_expect(r->diag, "the name of an operation of this schedule");
                r->line = wanted->line;
                return at_column(r, wanted->name.column, HOP_ERR_NOT_FOUND);
            }
            if (wanted->start)
                after_start[op->after_start_count++] = index;
            else
                after[op->after_count++] = index;
        }
        op->after = after;
        op->after_start = after_start;
    }
    return HOP_OK;
}

enum hop_status hop_schedule_read_text(const struct hop_source *source, struct hop_schedule **schedule,
                                       struct hop_diag *diag)
{
    struct reader r = {.source = source, .diag = diag, .schedule = hop_schedule_create(source->name)};
    enum hop_status status = r.schedule ? HOP_OK : hop_fail_memory(diag);
    const char *at = source->text, *end = source->text + source->size;
    while (status == HOP_OK && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        const char *line_end = newline ? newline : end, *line = at;
        r.line++;
        if ((size_t)(line_end - line) > 1u << 24) {
            hop_fail(diag, HOP_ERR_LIMIT, "a line of more than 16 MiB");
            status = at_column(&r, 1, HOP_ERR_LIMIT);
        }
        while (status == HOP_OK && at < line_end) { /* statements up to ';'; a comment hides what follows */
            const char *stop = at;
            while (stop < line_end && *stop != ';' && *stop != '#')
                stop++;
            bool comment = stop < line_end && *stop == '#';
            status = split(&r, at, (size_t)(stop - at), (uint32_t)(at - line) + 1);
            if (status == HOP_OK)
                status = read_line(&r);
            hop_arena_reset(&r.scratch);
            at = comment ? line_end : stop < line_end ? stop + 1 : line_end;
        }
        at = line_end < end ? line_end + 1 : end;
    }
    if (status == HOP_OK)
        status = resolve(&r);
    hop_arena_finish(&r.scratch);
    free(r.words);
    free(r.wanted);
    free(r.inputs);
    free(r.outputs);
    if (status == HOP_OK)
        *schedule = r.schedule;
    else
        hop_schedule_destroy(r.schedule);
    return status;
}

/* ---- printing ---- */

static void print_names(const struct hop_schedule *schedule, const char *keyword, const uint32_t *list, uint32_t count,
                        struct hop_buffer *out)
{
    if (count)
        hop_buffer_puts(out, keyword);
    for (uint32_t i = 0; i < count; i++)
        hop_buffer_printf(out, " %s", schedule->ops[list[i]].name);
}

static void print_places(const struct hop_place *places, uint32_t count, struct hop_buffer *out)
{
    for (uint32_t i = 0; i < count; i++) {
        hop_buffer_puts(out, " ");
        hop_place_print(&places[i], out);
    }
}

static void print_op(const struct hop_schedule *schedule, const struct hop_op *op, struct hop_buffer *out)
{
    char text[32];
    hop_buffer_printf(out, "%s: ", op->name);
    if (op->kind == HOP_OP_WORK) {
        hop_buffer_puts(out, "work ");
        hop_place_print(&op->from, out);
        hop_buffer_printf(out, " %s", hop_format_seconds(op->duration_s, text, sizeof text));
    } else {
        if (op->kind == HOP_OP_REDUCE) {
            hop_buffer_printf(out, "reduce %s %s", hop_reduce_name(op->reduce), hop_type_name(op->type));
            print_places(op->inputs, op->input_count, out);
        } else {
            hop_buffer_puts(out, op->kind == HOP_OP_SEND ? "send " : op->kind == HOP_OP_RECEIVE ? "receive " : "");
            hop_place_print(&op->from, out);
        }
        hop_buffer_puts(out, " -> ");
        hop_place_print(&op->to, out);
        print_places(op->outputs, op->output_count, out);
        hop_buffer_printf(out, " %s", hop_format_bytes(op->bytes, text, sizeof text));
    }
    if (op->by >= 0)
        hop_buffer_printf(out, " by %" PRId32, op->by);
    if (op->tag)
        hop_buffer_printf(out, " tag %" PRIu32, op->tag);
    if (op->cpu)
        hop_buffer_printf(out, " cpu %u", op->cpu);
    if (op->nic)
        hop_buffer_printf(out, " nic %u", op->nic);
    if (op->at_s > 0)
        hop_buffer_printf(out, " at %s", hop_format_seconds(op->at_s, text, sizeof text));
    if (op->via != HOP_VIA_P2P) {
        hop_buffer_printf(out, " via %s", hop_via_name(op->via));
        if (op->packet_bytes)
            hop_buffer_printf(out, " %s", hop_format_bytes(op->packet_bytes, text, sizeof text));
    }
    print_names(schedule, " after", op->after, op->after_count, out);
    print_names(schedule, " after-start", op->after_start, op->after_start_count, out);
    hop_buffer_puts(out, "\n");
}

char *hop_schedule_to_text(const struct hop_schedule *schedule)
{
    struct hop_buffer out = {0};
    for (uint32_t i = 0; i < schedule->comment_count; i++)
        hop_buffer_printf(&out, "# %s\n", schedule->comments[i]);
    if (schedule->queue_ready)
        hop_buffer_puts(&out, "queue ready\n");
    for (uint32_t i = 0; i < schedule->count; i++)
        print_op(schedule, &schedule->ops[i], &out);
    return hop_buffer_take(&out);
}
