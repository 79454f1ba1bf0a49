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
 * the labels of one rank live in a table that is emptied by a new stamp, and its dependencies are resolved at the
 * closing brace. These texts have millions of lines, so nothing is allocated per line but the operation and its name.
 */
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

/* A label of the rank whose stamp it bears, as it stands in the text. */
struct slot {
    const char *label;
    uint32_t length, hash, stamp, op;
};

struct reader {
    const struct hop_source *source;
    struct hop_schedule *schedule;
    struct hop_diag *diag;
    const char *at, *line_start; /* the next word: blanks and comments are behind us */
    uint32_t line;
    uint32_t ranks, rank, first; /* rank and first: the block that is read, and its first operation */
    const char **devices;        /* per rank, NULL while it is not named */
    bool *seen;
    char prefix[16]; /* "r12." */
    uint32_t prefix_length;
    struct slot *slots;
    uint32_t slot_count, label_count;
    struct wanted *wanted;
    uint32_t wanted_count, wanted_capacity;
};

/* ---- words ---- */

static enum hop_status at(const struct reader *r, uint32_t line, uint32_t column, enum hop_status status)
{
    hop_diag_place(r->diag, "%s:%u:%u", r->source->name, line, column);
    return status;
}

static enum hop_status here(const struct reader *r, enum hop_status status)
{
    return at(r, r->line, (uint32_t)(r->at - r->line_start) + 1, status);
}

static enum hop_status unexpected(const struct reader *r, const char *expected)
{
    size_t length = strcspn(r->at, " \t\r\n");
    if (r->at >= r->source->text + r->source->size) {
        hop_fail(r->diag, HOP_ERR_SYNTAX, "the text ends too early");
    } else if (r->at[0] == '/' && r->at[1] == '*') {
        hop_fail(r->diag, HOP_ERR_SYNTAX, "the comment that begins here is never closed");
        expected = "*/ behind it";
    } else {
        hop_fail(r->diag, HOP_ERR_SYNTAX, "unexpected '%.*s'", (int)(length ? length < 60 ? length : 60 : 1), r->at);
    }
    hop_diag_expect(r->diag, "%s", expected);
    return here(r, HOP_ERR_SYNTAX);
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

static enum hop_status read_number(struct reader *r, const char *what, uint64_t most, uint64_t *value)
{
    const char *digits = r->at;
    if (!is_digit(*digits)) {
        char expected[80];
        (void)snprintf(expected, sizeof expected, "%s: a whole number up to %" PRIu64, what, most);
        return unexpected(r, expected);
    }
    uint64_t number = 0;
    for (; is_digit(*r->at); r->at++) {
        uint64_t digit = (uint64_t)(*r->at - '0');
        if (digit > most || number > (most - digit) / 10) {
            r->at = digits;
            hop_fail(r->diag, HOP_ERR_LIMIT, "%s is too large\nup to %" PRIu64, what, most);
            return here(r, HOP_ERR_LIMIT);
        }
        number = number * 10 + digit;
    }
    *value = number;
    return HOP_OK;
}

/* ---- labels ---- */

static uint32_t hash(const char *text, uint32_t length)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (uint32_t i = 0; i < length; i++)
        h = (h ^ (unsigned char)text[i]) * 16777619u;
    return h;
}

/* The slot of a label of this rank, or the free one where it belongs. */
static struct slot *find(const struct reader *r, const char *label, uint32_t length, uint32_t hashed)
{
    uint32_t i = hashed & (r->slot_count - 1), stamp = r->rank + 1;
    for (; r->slots[i].stamp == stamp; i = (i + 1) & (r->slot_count - 1)) {
        const struct slot *slot = &r->slots[i];
        if (slot->hash == hashed && slot->length == length && memcmp(slot->label, label, length) == 0)
            break;
    }
    return &r->slots[i];
}

/* Room for one more label. */
static bool reserve(struct reader *r)
{
    if (r->label_count * 2 < r->slot_count)
        return true;
    if (r->slot_count > UINT32_MAX / 4)
        return false;
    struct slot *old = r->slots;
    uint32_t old_count = r->slot_count, stamp = r->rank + 1;
    r->slot_count = old_count ? old_count * 2 : 256;
    r->slots = calloc(r->slot_count, sizeof *r->slots);
    for (uint32_t i = 0; r->slots && i < old_count; i++) {
        if (old[i].stamp == stamp)
            *find(r, old[i].label, old[i].length, old[i].hash) = old[i];
    }
    free(old);
    return r->slots != NULL;
}

/* The operation of a label of this rank. */
static enum hop_status look_up(struct reader *r, const struct text *label, uint32_t *op)
{
    const struct slot *slot =
        r->slot_count ? find(r, label->start, label->length, hash(label->start, label->length)) : NULL;
    if (slot && slot->stamp == r->rank + 1) {
        *op = slot->op;
        return HOP_OK;
    }
    hop_fail(r->diag, HOP_ERR_NOT_FOUND,
             "rank %u has no label '%.*s'\nthe label of an operation of the same rank; what requires another stands "
             "above the line that says so",
             r->rank, (int)(label->length < 80 ? label->length : 80), label->start);
    return at(r, label->line, label->column, HOP_ERR_NOT_FOUND);
}

/* "r0.l3": the name of the operation that comes next. */
static enum hop_status name_op(struct reader *r, const struct text *label, const char **name)
{
    if (label->length > HOP_GOAL_LABEL_LIMIT) {
        hop_fail(r->diag, HOP_ERR_LIMIT, "a label of %u bytes\nup to %u", label->length, HOP_GOAL_LABEL_LIMIT);
        return at(r, label->line, label->column, HOP_ERR_LIMIT);
    }
    if (!reserve(r))
        return hop_fail_memory(r->diag);
    uint32_t hashed = hash(label->start, label->length);
    struct slot *slot = find(r, label->start, label->length, hashed);
    if (slot->stamp == r->rank + 1) {
        hop_fail(r->diag, HOP_ERR_INVALID,
                 "rank %u has two operations labelled '%.*s'\nlabels used once in a rank; the first is in line %u",
                 r->rank, (int)label->length, label->start, r->schedule->ops[slot->op].line);
        return at(r, label->line, label->column, HOP_ERR_INVALID);
    }
    char *text = hop_arena_alloc(&r->schedule->arena, r->prefix_length + label->length + 1);
    if (!text)
        return hop_fail_memory(r->diag);
    memcpy(text, r->prefix, r->prefix_length);
    memcpy(text + r->prefix_length, label->start, label->length);
    *slot = (struct slot){label->start, label->length, hashed, r->rank + 1, r->schedule->count};
    r->label_count++;
    *name = text;
    return HOP_OK;
}

/* ---- operations ---- */

static enum hop_status set_place(struct reader *r, uint32_t rank, struct hop_place *place)
{
    if (!r->devices[rank]) {
        char name[16];
        (void)snprintf(name, sizeof name, "rank%" PRIu32, rank);
        r->devices[rank] = hop_schedule_intern(r->schedule, name);
    }
    place->device = r->devices[rank];
    place->rank = (int32_t)rank;
    return place->device ? HOP_OK : hop_fail_memory(r->diag);
}

static enum hop_status no_wildcard(const struct reader *r, const char *what)
{
    if (*r->at != '-')
        return HOP_OK;
    hop_fail(r->diag, HOP_ERR_UNSUPPORTED, "any %s (a negative one) is not supported\na %s", what, what);
    return here(r, HOP_ERR_UNSUPPORTED);
}

/* "to 1" or "from 1", and the places of both. */
static enum hop_status read_peer(struct reader *r, struct hop_op *op)
{
    bool send = op->kind == HOP_OP_SEND;
    uint64_t peer;
    if (!take(r, send ? "to" : "from"))
        return unexpected(r, send ? "to RANK" : "from RANK");
    enum hop_status status = no_wildcard(r, "rank");
    if (status == HOP_OK)
        status = read_number(r, "a rank", r->ranks - 1, &peer);
    if (status != HOP_OK)
        return status;
    skip(r);
    status = set_place(r, r->rank, send ? &op->from : &op->to);
    return status == HOP_OK ? set_place(r, (uint32_t)peer, send ? &op->to : &op->from) : status;
}

static enum hop_status read_size(struct reader *r, uint64_t *bytes)
{
    enum hop_status status = read_number(r, "a size in bytes", HOP_BYTES_MAX, bytes);
    if (status != HOP_OK)
        return status;
    bool apart = !is_label(*r->at);
    skip(r);
    return take(r, "b") || apart ? HOP_OK : unexpected(r, "bytes, as in 4096b");
}

/* tag, cpu and nic, each at most once. */
static enum hop_status read_options(struct reader *r, struct hop_op *op)
{
    bool tag = false, cpu = false, nic = false, message = op->kind != HOP_OP_WORK;
    for (enum hop_status status = HOP_OK;; skip(r)) {
        uint64_t value = 0;
        if (message && !tag && take(r, "tag")) {
            tag = true;
            status = no_wildcard(r, "tag");
            if (status == HOP_OK)
                status = read_number(r, "a tag", UINT32_MAX, &value);
            op->tag = (uint32_t)value;
        } else if (!cpu && take(r, "cpu")) {
            cpu = true;
            status = read_number(r, "a cpu", UINT16_MAX, &value);
            op->cpu = (uint16_t)value;
        } else if (message && !nic && take(r, "nic")) {
            nic = true;
            status = read_number(r, "a nic", UINT16_MAX, &value);
            op->nic = (uint16_t)value;
        } else {
            return HOP_OK;
        }
        if (status != HOP_OK)
            return status;
    }
}

static enum hop_status read_calc(struct reader *r, struct hop_op *op)
{
    uint64_t duration_ns = 0;
    enum hop_status status = read_number(r, "a time in ns", HOP_GOAL_CALC_LIMIT, &duration_ns);
    skip(r);
    op->duration_s = (double)duration_ns / 1e9;
    if (status == HOP_OK)
        status = set_place(r, r->rank, &op->from);
    op->to = op->from;
    return status;
}

static enum hop_status read_op(struct reader *r, const struct text *label, const struct text *verb)
{
    struct hop_op op = hop_op_default(HOP_OP_WORK);
    enum hop_status status = HOP_OK;
    op.line = verb->line;
    if (label)
        status = name_op(r, label, &op.name);
    if (status != HOP_OK)
        return status;
    if (is(verb, "calc")) {
        status = read_calc(r, &op);
    } else {
        op.kind = is(verb, "send") ? HOP_OP_SEND : HOP_OP_RECEIVE;
        status = read_size(r, &op.bytes);
        if (status == HOP_OK)
            status = read_peer(r, &op);
    }
    if (status == HOP_OK)
        status = read_options(r, &op);
    if (status == HOP_OK)
        (void)hop_schedule_append(r->schedule, &op);
    return status == HOP_OK ? r->schedule->failure.status : status;
}

static enum hop_status read_dependency(struct reader *r, const struct text *label)
{
    struct wanted wanted = {.start = next_is(r, "irequires")};
    (void)take(r, wanted.start ? "irequires" : "requires");
    wanted.other = read_label(r);
    if (wanted.other.length == 0)
        return unexpected(r, "the label of an operation");
    if (!hop_grow(&r->wanted, &r->wanted_capacity, r->wanted_count + 1, sizeof *r->wanted))
        return hop_fail_memory(r->diag);
    enum hop_status status = look_up(r, label, &wanted.op);
    r->wanted[r->wanted_count++] = wanted;
    return status;
}

static enum hop_status read_statement(struct reader *r)
{
    static const char *const expected = "an operation (calc, send or recv, a label in front or not), LABEL requires "
                                        "LABEL, LABEL irequires LABEL, or }";
    if (!begins_label(*r->at))
        return unexpected(r, expected);
    struct text word = read_label(r), verb = word;
    bool labelled = *r->at == ':';
    if (!labelled && (next_is(r, "requires") || next_is(r, "irequires")))
        return read_dependency(r, &word);
    if (labelled) {
        r->at++;
        skip(r);
        verb = read_label(r);
    }
    if (verb.length == 0)
        return unexpected(r, "calc, send or recv");
    if (is(&verb, "calc") || is(&verb, "send") || is(&verb, "recv"))
        return read_op(r, labelled ? &word : NULL, &verb);
    hop_fail(r->diag, HOP_ERR_SYNTAX, "'%.*s' is no operation\n%s", (int)(verb.length < 60 ? verb.length : 60),
             verb.start, labelled ? "calc, send or recv" : expected);
    return at(r, verb.line, verb.column, HOP_ERR_SYNTAX);
}

/* ---- blocks ---- */

/* The dependencies of the block's operations, in one piece of memory: their numbers, their places, then they
 * themselves in the order of the lines. */
static enum hop_status link_block(struct reader *r)
{
    uint32_t count = r->schedule->count - r->first;
    if (r->wanted_count == 0)
        return HOP_OK;
    uint32_t *lists = hop_arena_alloc(&r->schedule->arena, r->wanted_count * sizeof *lists);
    if (!lists)
        return hop_fail_memory(r->diag);
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
        uint32_t other, *place = (uint32_t *)*end - 1;
        enum hop_status status = look_up(r, &wanted->other, &other);
        if (status != HOP_OK)
            return status;
        *place = other;
        *end = place;
    }
    return HOP_OK;
}

static enum hop_status read_block(struct reader *r)
{
    const char *number_start = r->at;
    uint64_t rank = 0;
    enum hop_status status = read_number(r, "a rank", r->ranks - 1, &rank);
    if (status != HOP_OK)
        return status;
    if (r->seen[rank]) {
        r->at = number_start;
        hop_fail(r->diag, HOP_ERR_INVALID,
                 "there are two blocks of rank %" PRIu64 "\n"
                 "every rank once",
                 rank);
        return here(r, HOP_ERR_INVALID);
    }
    skip(r);
    if (*r->at != '{')
        return unexpected(r, "{");
    r->at++;
    skip(r);
    r->seen[rank] = true;
    r->rank = (uint32_t)rank;
    r->first = r->schedule->count;
    r->label_count = r->wanted_count = 0;
    r->prefix_length = (uint32_t)snprintf(r->prefix, sizeof r->prefix, "r%" PRIu32 ".", r->rank);
    while (status == HOP_OK && *r->at != '}')
        status = read_statement(r);
    if (status == HOP_OK)
        status = link_block(r);
    if (status != HOP_OK)
        return status;
    r->at++;
    skip(r);
    return HOP_OK;
}

static enum hop_status check_all_seen(const struct reader *r)
{
    uint32_t rank = 0;
    while (rank < r->ranks && r->seen[rank])
        rank++;
    if (rank == r->ranks)
        return HOP_OK;
    hop_fail(r->diag, HOP_ERR_INVALID,
             "there is no block of rank %u\na block of each of the %u ranks, an empty one where a rank does nothing",
             rank, r->ranks);
    return here(r, HOP_ERR_INVALID);
}

static enum hop_status read_all(struct reader *r)
{
    uint64_t ranks = 0;
    skip(r);
    if (!take(r, "num_ranks"))
        return unexpected(r, "num_ranks N");
    const char *number = r->at;
    enum hop_status status = read_number(r, "a number of ranks", HOP_GOAL_RANK_LIMIT, &ranks);
    if (status != HOP_OK)
        return status;
    if (ranks == 0) {
        r->at = number;
        return unexpected(r, "at least one rank");
    }
    skip(r);
    r->ranks = (uint32_t)ranks;
    r->devices = calloc(ranks, sizeof *r->devices);
    r->seen = calloc(ranks, sizeof *r->seen);
    if (!r->devices || !r->seen)
        return hop_fail_memory(r->diag);
    while (status == HOP_OK && r->at < r->source->text + r->source->size)
        status = take(r, "rank") ? read_block(r) : unexpected(r, "rank N {");
    return status == HOP_OK ? check_all_seen(r) : status;
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
                       .diag = made->failure.diag,
                       .schedule = made,
                       .at = source->text,
                       .line_start = source->text,
                       .line = 1};
    made->failure.status = read_all(&r);
    free(r.devices);
    free(r.seen);
    free(r.slots);
    free(r.wanted);
    hop_schedule_set_queue_ready(made, true);
    return made;
}
