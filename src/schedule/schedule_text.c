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
    struct hop_failure *failure; /* the schedule's; after it no words are left */
    uint32_t line;
    struct word *words;
    uint32_t word_count, next;
    uint32_t end_column;
    struct wanted *wanted; /* and not found yet */
    uint32_t wanted_count;
    uint32_t *found; /* of one operation's */
    uint32_t near;   /* the last one found: what waits for one is often followed by what waits for the next */
    struct hop_place *inputs, *outputs;
    uint32_t by_column;       /* of the line's clause `by`, 0: it has none */
    struct hop_arena arrays;  /* those above */
    struct hop_arena scratch; /* strings of one line */
};

static bool is_fine(const struct reader *r)
{
    return r->failure->status == HOP_OK;
}

/* What went wrong, if anything did, did so at that column. */
static void check(struct reader *r, uint32_t column)
{
    if (is_fine(r))
        return;
    hop_failure_place(r->failure, "%s:%u:%u", r->source->name, r->line, column);
    r->next = r->word_count;
}

static bool has_room(struct reader *r, bool room)
{
    (void)hop_failure_none(r->failure, room);
    check(r, 1);
    return is_fine(r);
}

static bool is(const struct word *word, const char *text)
{
    return word->text[0] == text[0] && word->length == strlen(text) && memcmp(word->text, text, word->length) == 0;
}

static const struct word *peek(const struct reader *r)
{
    return r->next < r->word_count ? &r->words[r->next] : NULL;
}

static bool next_is(const struct reader *r, const char *text)
{
    return peek(r) && is(peek(r), text);
}

static bool is_keyword(const struct word *word)
{
    return is(word, "at") || is(word, "via") || is(word, "after") || is(word, "after-start");
}

/* Clauses of a number; an operation may bear these names, so they begin no clause behind a list of names. */
static bool is_numbered(const struct word *word)
{
    return is(word, "by") || is(word, "tag") || is(word, "cpu") || is(word, "nic") || is(word, "eager");
}

/* Fails at the next word, or at the end of the line. */
static void unexpected(struct reader *r, const char *expected)
{
    const struct word *word = peek(r);
    if (word)
        hop_failure_set(r->failure, HOP_ERR_SYNTAX, "unexpected '%.*s'\n%s",
                        (int)(word->length < 60 ? word->length : 60), word->text, expected);
    else
        hop_failure_set(r->failure, HOP_ERR_SYNTAX, "the line ends too early\n%s", expected);
    check(r, word ? word->column : r->end_column);
}

/* What most words are made of, told from the rest at once. */
static inline bool is_plain(char c)
{
    return (unsigned)((c | 32) - 'a') < 26 || (unsigned)(c - '0') < 10;
}

static bool ends_word(const char *at, bool more)
{
    return !*at || isspace((unsigned char)*at) || *at == ',' || *at == '#' || (*at == '-' && more && at[1] == '>');
}

/* Splits text[0..length) into words; a comment ends it. */
static void split(struct reader *r, const char *text, size_t length, uint32_t first_column)
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
            while (i < length && (is_plain(text[i]) || !ends_word(text + i, i + 1 < length)))
                i++;
        }
        if (i < length && !text[i]) {
            hop_failure_set(r->failure, HOP_ERR_SYNTAX, "a NUL byte\ntext");
            check(r, first_column + (uint32_t)i);
        }
        if (!has_room(r, HOP_GROW(&r->arrays, r->words, r->word_count + 1)))
            return;
        r->words[r->word_count++] = (struct word){text + start, (uint32_t)(i - start), first_column + (uint32_t)start};
    }
    r->end_column = first_column + (uint32_t)i;
}

static struct hop_place read_place(struct reader *r)
{
    struct hop_place place = {.rank = -1};
    const struct word *word = peek(r);
    if (!word || is(word, "->")) {
        unexpected(r, "a device, such as gpu0");
        return place;
    }
    r->failure->status = hop_place_parse(word->text, word->length, &place, &r->scratch, r->failure->diag);
    place.column = word->column;
    r->next++;
    check(r, word->column);
    return place;
}

static void read_arrow(struct reader *r)
{
    if (next_is(r, "->"))
        r->next++;
    else
        unexpected(r, "'->' between source and destination");
}

/* A number with its unit, in one word or in two ("300 MiB"); false: there is none. */
static bool cut_quantity(struct reader *r, struct word *quantity)
{
    const struct word *word = peek(r);
    if (!word || is_keyword(word) || is(word, "->"))
        return false;
    *quantity = *word;
    r->next++;
    bool bare = word->length > 0;
    for (uint32_t i = 0; i < word->length; i++)
        bare = bare && (isdigit((unsigned char)word->text[i]) || word->text[i] == '.');
    const struct word *unit = peek(r);
    if (bare && unit && isalpha((unsigned char)unit->text[0]) && !is_keyword(unit) && !is_numbered(unit)) {
        quantity->length = (uint32_t)(unit->text + unit->length - word->text);
        r->next++;
    }
    return true;
}

static uint64_t read_bytes(struct reader *r, const char *expected)
{
    struct word word;
    uint64_t bytes = 0;
    if (!cut_quantity(r, &word)) {
        unexpected(r, expected);
        return 0;
    }
    r->failure->status = hop_parse_bytes(word.text, word.length, &bytes, r->failure->diag);
    check(r, word.column);
    return bytes;
}

static double read_seconds(struct reader *r, const char *expected)
{
    struct word word;
    double seconds = 0;
    if (!cut_quantity(r, &word)) {
        unexpected(r, expected);
        return 0;
    }
    r->failure->status = hop_parse_seconds(word.text, word.length, &seconds, r->failure->diag);
    check(r, word.column);
    return seconds;
}

/* Behind the first output, what begins like a number and names neither rank nor buffer is the size; a clause is left
 * to whoever misses the size. */
static bool begins_size(const struct word *word)
{
    bool number = isdigit((unsigned char)word->text[0]) || strchr(".+-", word->text[0]);
    return is_keyword(word) || is_numbered(word) ||
           (number && !memchr(word->text, '@', word->length) && !memchr(word->text, ':', word->length));
}

static void add_place(struct reader *r, struct hop_place **places, uint32_t *count)
{
    if (has_room(r, HOP_GROW(&r->arrays, *places, *count + 1)))
        (*places)[(*count)++] = read_place(r);
}

/* Which of some names the next word is; else that is a failure. what: "an operator: ". */
static unsigned read_choice(struct reader *r, const char *(*name)(const void *, uint32_t), unsigned count,
                            const char *what)
{
    char expected[128];
    size_t used = (size_t)snprintf(expected, sizeof expected, "%s", what);
    unsigned i = 0;
    for (; i < count && !next_is(r, name(NULL, i)) && used < sizeof expected; i++)
        used += (size_t)snprintf(expected + used, sizeof expected - used, "%s%s",
                                 i == 0          ? ""
                                 : i + 1 < count ? ", "
                                                 : " or ",
                                 name(NULL, i));
    if (i < count)
        r->next++;
    else
        unexpected(r, expected);
    return i < count ? i : 0;
}

static void read_reduce(struct reader *r, struct hop_op *op)
{
    op->reduce = (enum hop_reduce)read_choice(r, hop_reduce_listed, HOP_REDUCE_COUNT, "an operator: ");
    op->type = (enum hop_type)read_choice(r, hop_type_listed, HOP_TYPE_COUNT, "a type: ");
    while (peek(r) && !next_is(r, "->"))
        add_place(r, &r->inputs, &op->input_count);
    op->inputs = r->inputs;
    read_arrow(r);
    op->to = read_place(r);
    while (peek(r) && !begins_size(peek(r)))
        add_place(r, &r->outputs, &op->output_count);
    op->outputs = r->outputs;
}

static void read_via(struct reader *r, struct hop_op *op)
{
    if (op->kind != HOP_OP_COPY) {
        r->next--;
        unexpected(r, "via only with a transfer");
    }
    op->via = (enum hop_via)read_choice(r, hop_via_listed, HOP_VIA_AUTO + 1, "");
    const struct word *size = peek(r);
    if (!size || is_keyword(size) || is_numbered(size))
        return;
    if (op->via == HOP_VIA_P2P)
        unexpected(r, "no packet size for p2p");
    op->packet_bytes = read_bytes(r, "a packet size, such as 2MiB");
    if (op->packet_bytes == 0)
        hop_failure_set(r->failure, HOP_ERR_INVALID,
                        "a packet of no bytes\na packet size above zero, or none for one packet");
    check(r, size->column);
}

static void read_names(struct reader *r, bool start)
{
    if (!peek(r) || is_keyword(peek(r)))
        unexpected(r, "the names of one or more operations");
    for (; peek(r) && !is_keyword(peek(r)); r->next++) {
        if (!has_room(r, HOP_GROW(&r->arrays, r->wanted, r->wanted_count + 1)))
            return;
        r->wanted[r->wanted_count++] = (struct wanted){r->schedule->count, start, *peek(r), r->line};
    }
}

/* A whole number up to `most`. */
static uint64_t read_number(struct reader *r, uint64_t most)
{
    const struct word *word = peek(r);
    bool fine = word && word->length <= 10;
    uint64_t value = 0;
    for (uint32_t i = 0; fine && i < word->length; i++) {
        fine = isdigit((unsigned char)word->text[i]);
        value = value * 10 + (uint64_t)(word->text[i] - '0');
    }
    if (fine && value <= most) {
        r->next++;
        return value;
    }
    char expected[48];
    (void)snprintf(expected, sizeof expected, "a whole number up to %" PRIu64, most);
    unexpected(r, expected);
    return 0;
}

static void read_by(struct reader *r, struct hop_op *op)
{
    if (op->kind != HOP_OP_COPY && op->kind != HOP_OP_REDUCE)
        unexpected(r, "by only with a transfer or a reduction");
    if (r->by_column)
        unexpected(r, "by once");
    if (!is_fine(r))
        return;
    r->by_column = peek(r)->column;
    r->next++;
    op->by = (int32_t)read_number(r, HOP_PLACE_RANK_LIMIT);
}

/* tag, cpu or nic, where the operation has one. */
static void read_numbered(struct reader *r, struct hop_op *op, bool *seen)
{
    bool message = hop_op_is_message(op), tag = next_is(r, "tag"), cpu = next_is(r, "cpu");
    bool *mine = &seen[tag ? 0 : cpu ? 1 : 2];
    if (!message && !(cpu && op->kind == HOP_OP_WORK))
        unexpected(r, cpu ? "cpu only with send, receive and work" : "tag and nic only with send and receive");
    if (*mine)
        unexpected(r, "each of tag, cpu and nic once");
    *mine = true;
    r->next += is_fine(r);
    if (tag && op->kind == HOP_OP_RECEIVE && next_is(r, "*")) {
        op->any_tag = true;
        r->next++;
        return;
    }
    uint64_t value = read_number(r, tag ? UINT32_MAX : UINT16_MAX);
    if (tag)
        op->tag = (uint32_t)value;
    else
        *(cpu ? &op->cpu : &op->nic) = (uint16_t)value;
}

static void read_eager(struct reader *r, struct hop_op *op)
{
    if (op->kind != HOP_OP_SEND || op->eager)
        unexpected(r, "eager once, and only with send");
    op->eager = true;
    r->next += is_fine(r);
}

/* at or via, each once. */
static void read_once(struct reader *r, struct hop_op *op, bool *seen)
{
    bool at = next_is(r, "at");
    if (seen[at])
        unexpected(r, "each of at and via once");
    seen[at] = true;
    r->next += is_fine(r);
    if (at)
        op->at_s = read_seconds(r, "a time, such as 1.5ms");
    else if (is_fine(r))
        read_via(r, op);
}

static void read_clauses(struct reader *r, struct hop_op *op)
{
    bool seen[2] = {false}, seen_number[3] = {false};
    while (peek(r)) {
        bool start = next_is(r, "after-start");
        if (next_is(r, "by")) {
            read_by(r, op);
        } else if (next_is(r, "eager")) {
            read_eager(r, op);
        } else if (is_numbered(peek(r))) {
            read_numbered(r, op, seen_number);
        } else if (next_is(r, "at") || next_is(r, "via")) {
            read_once(r, op, seen);
        } else if (start || next_is(r, "after")) {
            r->next++;
            read_names(r, start);
        } else {
            unexpected(r, "at TIME, via MODE, after NAME ..., after-start NAME ..., or the end of the line");
        }
    }
}

static void read_queue(struct reader *r)
{
    r->next++;
    r->schedule->queue_ready = next_is(r, "ready");
    if (!r->schedule->queue_ready && !next_is(r, "strict"))
        unexpected(r, "strict or ready");
    r->next += is_fine(r);
    if (peek(r))
        unexpected(r, "the end of the line");
}

static enum hop_op_kind read_kind(struct reader *r)
{
    static const struct {
        const char *word;
        enum hop_op_kind kind;
    } kinds[] = {{"work", HOP_OP_WORK}, {"reduce", HOP_OP_REDUCE}, {"send", HOP_OP_SEND}, {"receive", HOP_OP_RECEIVE}};
    for (size_t i = 0; i < HOP_COUNT(kinds); i++) {
        bool device = r->next + 1 < r->word_count && is(&r->words[r->next + 1], "->"); /* a device may be called send */
        if (next_is(r, kinds[i].word) &&
            !(device && (kinds[i].kind == HOP_OP_SEND || kinds[i].kind == HOP_OP_RECEIVE))) {
            r->next++;
            return kinds[i].kind;
        }
    }
    return HOP_OP_COPY;
}

static void read_name(struct reader *r, struct hop_op *op)
{
    const struct word *word = peek(r);
    if (word->text[word->length - 1] != ':')
        return;
    if (!hop_op_name_check(word->text, word->length - 1, r->failure->diag))
        r->failure->status = HOP_ERR_SYNTAX;
    op->name = hop_arena_string(&r->scratch, word->text, word->length - 1);
    if (op->name)
        hop_schedule_expect(r->schedule, op->name);
    r->next++;
    check(r, word->column);
    (void)has_room(r, op->name);
}

static const char *op_name(const void *context, uint32_t index)
{
    return ((const struct hop_schedule *)context)->ops[index].name;
}

/* The operation of a name, HOP_NONE: there is none yet. */
static uint32_t look_up(struct reader *r, const struct word *word)
{
    const struct hop_schedule *schedule = r->schedule;
    char name[HOP_OP_NAME_LIMIT + 1];
    const char *next = r->near + 1 < schedule->count ? schedule->ops[r->near + 1].name : NULL;
    if (next && is(word, next))
        return ++r->near;
    if (word->length >= sizeof name)
        return HOP_NONE;
    memcpy(name, word->text, word->length);
    name[word->length] = '\0';
    return r->near = hop_schedule_find(schedule, name);
}

static void refuse_wanted(struct reader *r, const struct wanted *wanted)
{
    const struct hop_schedule *schedule = r->schedule;
    char name[HOP_OP_NAME_LIMIT + 1];
    (void)snprintf(name, sizeof name, "%.*s", (int)wanted->name.length, wanted->name.text);
    uint32_t near = hop_text_nearest(name, op_name, schedule, schedule->count < 10000 ? schedule->count : 10000);
    bool numbered = is_numbered(&wanted->name), known = !numbered && near != UINT32_MAX;
    hop_failure_set(r->failure, HOP_ERR_NOT_FOUND, "there is no operation '%.80s'\n%s%s%s", name, known ? "'" : "",
                    numbered ? name
                    : known  ? schedule->ops[near].name
                             : "the name of an operation of this schedule",
                    numbered ? " in front of after and after-start"
                    : known  ? "'?"
                             : "");
    r->line = wanted->line;
    check(r, wanted->name.column);
}

/* Turns the wanted names [first, end), all of one operation, into its lists. Returns whether all are there. */
static bool find_wanted(struct reader *r, uint32_t first, uint32_t end)
{
    struct hop_schedule *schedule = r->schedule;
    struct hop_op *op = &schedule->ops[r->wanted[first].op];
    uint32_t count = 0, ends = 0;
    if (!has_room(r, HOP_GROW(&r->arrays, r->found, end - first)))
        return false;
    for (uint32_t start = 0; start < 2; start++) {
        for (uint32_t i = first; i < end; i++) {
            if (r->wanted[i].start != start)
                continue;
            r->found[count] = look_up(r, &r->wanted[i].name);
            if (r->found[count++] == HOP_NONE)
                return false;
        }
        ends = start ? ends : count;
    }
    const uint32_t *kept = hop_arena_numbers(&schedule->arena, r->found, count);
    if (!has_room(r, kept))
        return false;
    op->after = kept;
    op->after_count = ends;
    op->after_start = kept + ends;
    op->after_start_count = count - ends;
    return true;
}

static void read_line(struct reader *r)
{
    if (!peek(r))
        return;
    if (next_is(r, "queue")) {
        read_queue(r);
        return;
    }
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    op.line = r->line;
    r->by_column = 0;
    uint32_t column = peek(r)->column, waits = r->wanted_count;
    read_name(r, &op);
    op.kind = read_kind(r);
    if (op.kind == HOP_OP_REDUCE) {
        read_reduce(r, &op);
    } else {
        op.any_source = op.kind == HOP_OP_RECEIVE && next_is(r, "*");
        r->next += op.any_source;
        if (!op.any_source)
            op.from = read_place(r);
        if (op.kind != HOP_OP_WORK) {
            read_arrow(r);
            op.to = read_place(r);
        }
        if (op.any_source)
            op.from = op.to;
    }
    if (op.kind == HOP_OP_WORK)
        op.duration_s = read_seconds(r, "a time, such as 30us");
    else
        op.bytes = read_bytes(r, "a size, such as 300MiB");
    read_clauses(r, &op);
    if (is_fine(r) && r->by_column && !hop_op_by_check(&op, r->failure->diag))
        r->failure->status = HOP_ERR_INVALID;
    check(r, r->by_column);
    (void)hop_schedule_add(r->schedule, &op);
    check(r, column);
    if (is_fine(r) && r->wanted_count > waits && find_wanted(r, waits, r->wanted_count))
        r->wanted_count = waits;
}

/* What was not there yet when its line was read. */
static void resolve(struct reader *r)
{
    for (uint32_t i = 0, end; i < r->wanted_count && is_fine(r); i = end) {
        for (end = i; end < r->wanted_count && r->wanted[end].op == r->wanted[i].op;)
            end++;
        if (find_wanted(r, i, end) || !is_fine(r))
            continue;
        for (; i < end && look_up(r, &r->wanted[i].name) != HOP_NONE;)
            i++;
        refuse_wanted(r, &r->wanted[i]);
    }
}

/* The statements of a line, up to ';' each; a comment hides what follows. */
static void read_statements(struct reader *r, const char *line, const char *end)
{
    if ((size_t)(end - line) > 1u << 24)
        hop_failure_set(r->failure, HOP_ERR_LIMIT, "a line of more than 16 MiB");
    check(r, 1);
    for (const char *at = line; at < end && is_fine(r);) {
        const char *stop = memchr(at, ';', (size_t)(end - at));
        stop = stop ? stop : end;
        const char *comment = memchr(at, '#', (size_t)(stop - at));
        stop = comment ? comment : stop;
        split(r, at, (size_t)(stop - at), (uint32_t)(at - line) + 1);
        if (is_fine(r))
            read_line(r);
        hop_arena_reset(&r->scratch);
        at = stop < end && *stop == ';' ? stop + 1 : end;
    }
}

struct hop_schedule *hop_schedule_read_text(const struct hop_source *source)
{
    struct reader r = {.source = source, .schedule = hop_schedule_create(source->name)};
    if (!r.schedule)
        return NULL;
    r.failure = &r.schedule->failure;
    const char *end = source->text + source->size;
    bool head = true; /* only comments until now: these are kept */
    for (const char *at = source->text; at < end && is_fine(&r);) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *stop = newline ? newline : end;
        r.line++;
        head = head && *at == '#';
        if (head)
            hop_schedule_keep_comment(r.schedule, at + 1, (size_t)(stop - at - 1));
        read_statements(&r, at, stop);
        at = newline ? newline + 1 : end;
    }
    if (is_fine(&r))
        resolve(&r);
    hop_arena_finish(&r.scratch);
    hop_arena_finish(&r.arrays);
    return r.schedule;
}

/* ---- printing ---- */

static void print_word(const char *word, struct hop_buffer *out)
{
    hop_buffer_puts(out, " ");
    hop_buffer_puts(out, word);
}

static void print_number(const char *keyword, uint64_t number, struct hop_buffer *out)
{
    hop_buffer_puts(out, keyword);
    hop_buffer_number(out, number);
}

static void print_names(const struct hop_schedule *schedule, const char *keyword, const uint32_t *list, uint32_t count,
                        struct hop_buffer *out)
{
    if (count)
        hop_buffer_puts(out, keyword);
    for (uint32_t i = 0; i < count; i++)
        print_word(schedule->ops[list[i]].name, out);
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
    hop_buffer_puts(out, op->name);
    hop_buffer_puts(out, ": ");
    if (op->kind == HOP_OP_WORK) {
        hop_buffer_puts(out, "work ");
        hop_place_print(&op->from, out);
        print_word(hop_format_seconds(op->duration_s, text, sizeof text), out);
    } else {
        if (op->kind == HOP_OP_REDUCE) {
            hop_buffer_puts(out, "reduce");
            print_word(hop_reduce_name(op->reduce), out);
            print_word(hop_type_name(op->type), out);
            print_places(op->inputs, op->input_count, out);
        } else {
            hop_buffer_puts(out, op->kind == HOP_OP_SEND ? "send " : op->kind == HOP_OP_RECEIVE ? "receive " : "");
            if (op->any_source)
                hop_buffer_puts(out, "*");
            else
                hop_place_print(&op->from, out);
        }
        hop_buffer_puts(out, " -> ");
        hop_place_print(&op->to, out);
        print_places(op->outputs, op->output_count, out);
        print_word(hop_format_bytes(op->bytes, text, sizeof text), out);
    }
    if (op->by >= 0)
        print_number(" by ", (uint64_t)op->by, out);
    if (op->any_tag)
        hop_buffer_puts(out, " tag *");
    else if (op->tag)
        print_number(" tag ", op->tag, out);
    if (op->cpu)
        print_number(" cpu ", op->cpu, out);
    if (op->nic)
        print_number(" nic ", op->nic, out);
    if (op->eager)
        hop_buffer_puts(out, " eager");
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

bool hop_schedule_write_text(const struct hop_schedule *schedule,
                             bool (*write)(void *context, const char *text, size_t size), void *context)
{
    enum { PIECE = 1 << 20 };
    struct hop_buffer out = {0};
    for (uint32_t i = 0; i < schedule->comment_count; i++)
        hop_buffer_printf(&out, "# %s\n", schedule->comments[i]);
    if (schedule->queue_ready)
        hop_buffer_puts(&out, "queue ready\n");
    bool fine = true;
    for (uint32_t i = 0; i < schedule->count && fine; i++) {
        print_op(schedule, &schedule->ops[i], &out);
        if (out.length < PIECE || out.failed)
            continue;
        fine = write(context, out.text, out.length);
        out.length = 0;
    }
    fine = fine && !out.failed && (out.length == 0 || write(context, out.text, out.length));
    hop_buffer_finish(&out);
    return fine;
}

static bool add_piece(void *context, const char *text, size_t size)
{
    struct hop_buffer *out = context;
    hop_buffer_add(out, text, size);
    return !out->failed;
}

char *hop_schedule_to_text(const struct hop_schedule *schedule)
{
    struct hop_buffer out = {0};
    out.failed = !hop_schedule_write_text(schedule, add_piece, &out);
    return hop_buffer_take(&out);
}
