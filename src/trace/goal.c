/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reading GOAL: a program of messages, one block a rank (Hoefler et al. 2009, as LogGOPSim's converter takes it).
 *
 *     num_ranks 2
 *     rank 0 {
 *     l1: calc 100 cpu 1                                nanoseconds
 *     l2: send 4096b to 1 tag 7 cpu 0 nic 0             -> r0.l2: send rank0 -> rank1 4KiB tag 7
 *     l2 requires l1                                    after l1 has ended
 *     l3: recv 8b from 1 tag 2
 *     l3 irequires l2                                   after l2 has started
 *     }
 *
 * Comments are // and C's. Blanks separate words and mean nothing else. Words come one after the other from the text;
 * the labels of one rank live in a table of their own, and its dependencies are resolved at the closing brace. These texts have millions of lines, so nothing is allocated per line but the operation and its name.
 */
#include "trace/goal.h"
#include "schedule/schedule.h"

#include <inttypes.h>
#include <stdio.h>

struct text {
    const char *start;
    uint32_t length, line, column;
};

/* "a requires b" as written. */
struct wanted {
    uint32_t op;
    struct text other;
    bool start;
};

struct reader {
    const struct hop_source *source;
    struct hop_schedule *schedule;
    struct hop_failure *failure; /* the schedule's; after it the text is at its end */
    const char *at, *line_start; /* the next word: blanks and comments are behind us */
    uint32_t line;
    uint32_t ranks, rank, first; /* rank and first: the block that is read, and its first operation */
    const char **devices;        /* per rank, NULL while it is not named */
    bool *seen;
    char name[16 + HOP_GOAL_LABEL_LIMIT + 1]; /* "r12." and a label */
    uint32_t prefix_length;
    struct hop_names labels; /* the operations of this rank, by their names */
    struct wanted *wanted;
    uint32_t wanted_count;
    struct hop_arena scratch;
};

/* ---- words ---- */

static bool is_fine(const struct reader *r)
{
    return r->failure->status == HOP_OK;
}

/* What went wrong, if anything did, did so there. */
static void check_at(struct reader *r, uint32_t line, uint32_t column)
{
    if (is_fine(r))
        return;
    hop_failure_place(r->failure, "%s:%u:%u", r->source->name, line, column);
    r->at = r->source->text + r->source->size;
}

static void check(struct reader *r, const char *at)
{
    check_at(r, r->line, (uint32_t)(at - r->line_start) + 1);
}

static bool has_room(struct reader *r, bool room)
{
    (void)hop_failure_none(r->failure, room);
    check(r, r->at);
    return is_fine(r);
}

static void unexpected(struct reader *r, const char *expected)
{
    size_t length = strcspn(r->at, " \t\r\n");
    if (r->at >= r->source->text + r->source->size)
        hop_failure_set(r->failure, HOP_ERR_SYNTAX, "the text ends too early\n%s", expected);
    else if (r->at[0] == '/' && r->at[1] == '*')
        hop_failure_set(r->failure, HOP_ERR_SYNTAX, "the comment that begins here is never closed\n*/ behind it");
    else
        hop_failure_set(r->failure, HOP_ERR_SYNTAX, "unexpected '%.*s'\n%s",
                        (int)(length ? length < 60 ? length : 60 : 1), r->at, expected);
    check(r, r->at);
}

/* To the next word. A comment that is not closed is left as the next word, which nothing expects. */
static void skip(struct reader *r)
{
    for (;;) {
        if (*r->at == ' ' || *r->at == '\t' || *r->at == '\r') {
            r->at++;
        } else if (*r->at == '\n') {
            r->line_start = ++r->at;
            r->line++;
        } else if (r->at[0] == '/' && r->at[1] == '/') {
            r->at += strcspn(r->at, "\n");
        } else if (r->at[0] == '/' && r->at[1] == '*') {
            const char *close = strstr(r->at + 2, "*/");
            if (!close)
                return;
            for (; r->at < close; r->at++) {
                if (*r->at == '\n') {
                    r->line_start = r->at + 1;
                    r->line++;
                }
            }
            r->at += 2;
        } else {
            return;
        }
    }
}

static bool begins_label(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || c == '_';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_label(char c)
{
    return begins_label(c) || is_digit(c);
}

static struct text read_label(struct reader *r)
{
    struct text word = {r->at, 0, r->line, (uint32_t)(r->at - r->line_start) + 1};
    if (begins_label(*r->at)) {
        while (is_label(*r->at))
            r->at++;
    }
    word.length = (uint32_t)(r->at - word.start);
    skip(r);
    return word;
}

static bool is(const struct text *word, const char *text)
{
    return word->length == strlen(text) && memcmp(word->start, text, word->length) == 0;
}

/* Whether the next word is that one; it stays. */
static bool next_is(const struct reader *r, const char *text)
{
    size_t length = strlen(text);
    return *r->at == *text && strncmp(r->at, text, length) == 0 && !is_label(r->at[length]);
}

static bool take(struct reader *r, const char *text)
{
    bool taken = next_is(r, text);
    if (taken) {
        r->at += strlen(text);
        skip(r);
    }
    return taken;
}

static uint64_t read_number(struct reader *r, const char *what, uint64_t most)
{
    const char *digits = r->at;
    uint64_t number = 0;
    if (!is_digit(*digits)) {
        char expected[80];
        (void)snprintf(expected, sizeof expected, "%s: a whole number up to %" PRIu64, what, most);
        unexpected(r, expected);
    }
    for (; is_digit(*r->at); r->at++) {
        uint64_t digit = (uint64_t)(*r->at - '0');
        if (digit > most || number > (most - digit) / 10) {
            hop_failure_set(r->failure, HOP_ERR_LIMIT, "%s is too large\nup to %" PRIu64, what, most);
            check(r, digits);
            return 0;
        }
        number = number * 10 + digit;
    }
    return number;
}

/* ---- labels ---- */

/* The name of the operation with that label, which is no longer than the limit. */
static const char *full_name(struct reader *r, const struct text *label)
{
    memcpy(r->name + r->prefix_length, label->start, label->length);
    r->name[r->prefix_length + label->length] = '\0';
    return r->name;
}

/* The operation of a label of this rank. */
static uint32_t look_up(struct reader *r, const struct text *label)
{
    uint32_t op = label->length <= HOP_GOAL_LABEL_LIMIT ? hop_names_get(&r->labels, full_name(r, label)) : UINT32_MAX;
    if (op != UINT32_MAX)
        return op;
    hop_failure_set(r->failure, HOP_ERR_NOT_FOUND,
                    "rank %u has no label '%.*s'\n"
                    "the label of an operation of the same rank; what requires another stands above the line that says "
                    "so",
                    r->rank, (int)(label->length < 80 ? label->length : 80), label->start);
    check_at(r, label->line, label->column);
    return 0;
}

/* "r0.l3": the name of the operation that comes next; NULL after a failure. */
static const char *name_op(struct reader *r, const struct text *label)
{
    if (label->length > HOP_GOAL_LABEL_LIMIT)
        hop_failure_set(r->failure, HOP_ERR_LIMIT, "a label of %u bytes\nup to %u", label->length,
                        HOP_GOAL_LABEL_LIMIT);
    check_at(r, label->line, label->column);
    if (!is_fine(r))
        return NULL;
    uint32_t same = hop_names_get(&r->labels, full_name(r, label));
    if (same != UINT32_MAX)
        hop_failure_set(r->failure, HOP_ERR_INVALID,
                        "rank %u has two operations labelled '%.*s'\n"
                        "labels used once in a rank; the first is in line %u",
                        r->rank, (int)label->length, label->start, r->schedule->ops[same].line);
    check_at(r, label->line, label->column);
    char *name = hop_arena_copy(&r->schedule->arena, r->name, r->prefix_length + label->length + 1);
    return has_room(r, name && hop_names_put(&r->labels, name, r->schedule->count)) ? name : NULL;
}

/* ---- operations ---- */

static struct hop_place place_of(struct reader *r, uint32_t rank)
{
    if (!r->devices[rank]) {
        char name[16];
        (void)snprintf(name, sizeof name, "rank%" PRIu32, rank);
        r->devices[rank] = hop_schedule_intern(r->schedule, name);
    }
    return (struct hop_place){.device = r->devices[rank], .rank = (int32_t)rank};
}

/* "-1": any, where a receive says so. */
static bool take_any(struct reader *r, const struct hop_op *op)
{
    bool any = op->kind == HOP_OP_RECEIVE && r->at[0] == '-' && r->at[1] == '1' && !is_label(r->at[2]);
    if (any) {
        r->at += 2;
        skip(r);
    }
    return any;
}

/* "to 1" or "from 1", and the places of both. */
static void read_peer(struct reader *r, struct hop_op *op)
{
    bool send = op->kind == HOP_OP_SEND;
    if (!take(r, send ? "to" : "from"))
        unexpected(r, send ? "to RANK" : "from RANK");
    op->any_source = take_any(r, op);
    uint32_t peer = op->any_source
                        ? r->rank
                        : (uint32_t)read_number(r, send ? "a rank" : "-1 for any source, or a rank", r->ranks - 1);
    skip(r);
    op->from = place_of(r, send ? r->rank : peer);
    op->to = place_of(r, send ? peer : r->rank);
}

static uint64_t read_size(struct reader *r)
{
    uint64_t bytes = read_number(r, "a size in bytes", HOP_BYTES_MAX);
    bool apart = !is_label(*r->at);
    skip(r);
    if (!take(r, "b") && !apart)
        unexpected(r, "bytes, as in 4096b");
    return bytes;
}

/* tag, cpu and nic, each at most once. */
static void read_options(struct reader *r, struct hop_op *op)
{
    bool tag = false, cpu = false, nic = false, message = op->kind != HOP_OP_WORK;
    for (;; skip(r)) {
        if (message && !tag && take(r, "tag")) {
            tag = true;
            op->any_tag = take_any(r, op);
            op->tag = op->any_tag
                          ? 0
                          : (uint32_t)read_number(r, op->kind == HOP_OP_RECEIVE ? "-1 for any tag, or a tag" : "a tag",
                                                  UINT32_MAX);
        } else if (!cpu && take(r, "cpu")) {
            cpu = true;
            op->cpu = (uint16_t)read_number(r, "a cpu", UINT16_MAX);
        } else if (message && !nic && take(r, "nic")) {
            nic = true;
            op->nic = (uint16_t)read_number(r, "a nic", UINT16_MAX);
        } else {
            return;
        }
    }
}

static void read_op(struct reader *r, const struct text *label, const struct text *verb)
{
    struct hop_op op = hop_op_default(HOP_OP_WORK);
    op.line = verb->line;
    if (label)
        op.name = name_op(r, label);
    if (is(verb, "calc")) {
        op.duration_s = (double)read_number(r, "a time in ns", HOP_GOAL_CALC_LIMIT) / 1e9;
        skip(r);
        op.from = op.to = place_of(r, r->rank);
    } else {
        op.kind = is(verb, "send") ? HOP_OP_SEND : HOP_OP_RECEIVE;
        op.bytes = read_size(r);
        read_peer(r, &op);
    }
    read_options(r, &op);
    if (is_fine(r))
        (void)hop_schedule_append(r->schedule, &op);
}

static void read_dependency(struct reader *r, const struct text *label)
{
    struct wanted wanted = {.start = next_is(r, "irequires")};
    (void)take(r, wanted.start ? "irequires" : "requires");
    wanted.other = read_label(r);
    if (wanted.other.length == 0)
        unexpected(r, "the label of an operation");
    wanted.op = look_up(r, label);
    if (has_room(r, HOP_GROW(&r->scratch, r->wanted, r->wanted_count + 1)))
        r->wanted[r->wanted_count++] = wanted;
}

static void read_statement(struct reader *r)
{
    static const char *const expected = "an operation (calc, send or recv, a label in front or not), LABEL requires "
                                        "LABEL, LABEL irequires LABEL, or }";
    if (!begins_label(*r->at)) {
        unexpected(r, expected);
        return;
    }
    struct text word = read_label(r), verb = word;
    bool labelled = *r->at == ':';
    if (!labelled && (next_is(r, "requires") || next_is(r, "irequires"))) {
        read_dependency(r, &word);
        return;
    }
    if (labelled) {
        r->at++;
        skip(r);
        verb = read_label(r);
    }
    if (verb.length == 0)
        unexpected(r, "calc, send or recv");
    else if (is(&verb, "calc") || is(&verb, "send") || is(&verb, "recv"))
        read_op(r, labelled ? &word : NULL, &verb);
    else
        hop_failure_set(r->failure, HOP_ERR_SYNTAX, "'%.*s' is no operation\n%s",
                        (int)(verb.length < 60 ? verb.length : 60), verb.start,
                        labelled ? "calc, send or recv" : expected);
    check_at(r, verb.line, verb.column);
}

/* ---- blocks ---- */

/* The dependencies of the block's operations, in one piece of memory: their numbers, their places, then they
 * themselves in the order of the lines. */
static void link_block(struct reader *r)
{
    uint32_t count = r->schedule->count - r->first;
    uint32_t *lists = r->wanted_count ? hop_arena_alloc(&r->schedule->arena, r->wanted_count * sizeof *lists) : NULL;
    if (r->wanted_count == 0 || !has_room(r, lists))
        return;
    struct hop_op *ops = r->schedule->ops + r->first;
    for (uint32_t i = 0; i < r->wanted_count; i++) {
        struct hop_op *op = &r->schedule->ops[r->wanted[i].op];
        *(r->wanted[i].start ? &op->after_start_count : &op->after_count) += 1;
    }
    for (uint32_t i = 0; i < count; i++) { /* the ends of both lists, from which they are filled backwards */
        lists += ops[i].after_count;
        ops[i].after = lists;
        lists += ops[i].after_start_count;
        ops[i].after_start = lists;
    }
    for (uint32_t i = r->wanted_count; i-- > 0;) {
        const struct wanted *wanted = &r->wanted[i];
        struct hop_op *op = &r->schedule->ops[wanted->op];
        const uint32_t **end = wanted->start ? &op->after_start : &op->after;
        uint32_t *place = (uint32_t *)*end - 1;
        *place = look_up(r, &wanted->other);
        *end = place;
    }
}

/* A rank that does nothing is one all the same. */
static void add_idle(struct reader *r)
{
    static const struct text label = {.start = "idle", .length = 4};
    struct hop_op op = hop_op_default(HOP_OP_WORK);
    op.line = r->line;
    op.name = name_op(r, &label);
    op.from = op.to = place_of(r, r->rank);
    if (is_fine(r))
        (void)hop_schedule_append(r->schedule, &op);
}

static void read_block(struct reader *r)
{
    const char *number = r->at;
    r->rank = (uint32_t)read_number(r, "a rank", r->ranks - 1);
    if (r->seen[r->rank])
        hop_failure_set(r->failure, HOP_ERR_INVALID, "there are two blocks of rank %" PRIu32 "\nevery rank once",
                        r->rank);
    check(r, number);
    skip(r);
    if (*r->at != '{')
        unexpected(r, "{");
    r->at += is_fine(r);
    skip(r);
    r->seen[r->rank] = true;
    r->first = r->schedule->count;
    r->wanted_count = 0;
    hop_names_empty(&r->labels);
    r->prefix_length = (uint32_t)snprintf(r->name, sizeof r->name, "r%" PRIu32 ".", r->rank);
    while (is_fine(r) && *r->at != '}')
        read_statement(r);
    if (is_fine(r))
        link_block(r);
    if (is_fine(r) && r->schedule->count == r->first)
        add_idle(r);
    r->at += is_fine(r);
    skip(r);
}

static void check_all_seen(struct reader *r)
{
    uint32_t rank = 0;
    while (rank < r->ranks && r->seen[rank])
        rank++;
    if (rank < r->ranks)
        hop_failure_set(r->failure, HOP_ERR_INVALID,
                        "there is no block of rank %u\n"
                        "a block of each of the %u ranks, an empty one where a rank does nothing",
                        rank, r->ranks);
    check(r, r->at);
}

static void read_all(struct reader *r)
{
    skip(r);
    if (!take(r, "num_ranks"))
        unexpected(r, "num_ranks N");
    const char *number = r->at;
    r->ranks = (uint32_t)read_number(r, "a number of ranks", HOP_GOAL_RANK_LIMIT);
    if (is_fine(r) && r->ranks == 0) {
        r->at = number;
        unexpected(r, "at least one rank");
    }
    skip(r);
    r->devices = hop_arena_alloc(&r->scratch, r->ranks * sizeof *r->devices);
    r->seen = hop_arena_alloc(&r->scratch, r->ranks * sizeof *r->seen);
    if (!has_room(r, r->devices && r->seen))
        return;
    while (is_fine(r) && r->at < r->source->text + r->source->size) {
        if (take(r, "rank"))
            read_block(r);
        else
            unexpected(r, "rank N {");
    }
    check_all_seen(r);
}

bool hop_goal_detect(const char *text)
{
    struct reader r = {.at = text, .line_start = text};
    skip(&r);
    return next_is(&r, "num_ranks");
}

struct hop_schedule *hop_schedule_read_goal(const struct hop_source *source)
{
    struct hop_schedule *made = hop_schedule_create(source->name);
    if (!made)
        return NULL;
    struct reader r = {.source = source,
                       .failure = &made->failure,
                       .schedule = made,
                       .at = source->text,
                       .line_start = source->text,
                       .line = 1};
    read_all(&r);
    hop_names_finish(&r.labels);
    hop_arena_finish(&r.scratch);
    hop_schedule_set_queue_ready(made, true);
    return made;
}
