/* SPDX-License-Identifier: BSD-3-Clause */
/* Building a schedule, checking it, looking at it. */
#include "schedule/schedule.h"

#include <math.h>
#include <stdio.h>
#include <sys/resource.h>
#include <unistd.h>

static const char *const via_names[] = {"p2p", "staged", "auto"};

const char *hop_via_name(enum hop_via via)
{
    return (unsigned)via < HOP_COUNT(via_names) ? via_names[via] : "?";
}

struct hop_schedule *hop_schedule_create(const char *name)
{
    struct hop_schedule *schedule = calloc(1, sizeof *schedule);
    if (!schedule)
        return NULL;
    schedule->failure.diag = &schedule->diag;
    schedule->file = schedule->name = hop_text_quote(hop_arena_string(&schedule->arena, name, strlen(name)));
    schedule->index = calloc(1, sizeof *schedule->index);
    if (schedule->index && pthread_mutex_init(&schedule->index->lock, NULL) != 0) {
        free(schedule->index);
        schedule->index = NULL;
    }
    if (!schedule->name || !schedule->index) {
        hop_schedule_destroy(schedule);
        return NULL;
    }
    return schedule;
}

struct hop_schedule *hop_schedule_create_like(const struct hop_schedule *other)
{
    struct hop_schedule *made = hop_schedule_create(other->name);
    if (!made)
        return NULL;
    made->file = hop_arena_string(&made->arena, other->file, strlen(other->file));
    made->queue_ready = other->queue_ready;
    for (uint32_t i = 0; i < other->comment_count; i++)
        hop_schedule_add_comment(made, "%s", other->comments[i]);
    return made;
}

enum hop_status hop_schedule_clone(const struct hop_schedule *from, struct hop_schedule **clone, struct hop_diag *diag)
{
    struct hop_schedule *made = hop_schedule_create_like(from);
    for (uint32_t i = 0; i < from->count; i++)
        (void)hop_schedule_add(made, &from->ops[i]);
    return hop_schedule_finish(made, clone, diag);
}

void hop_schedule_destroy(struct hop_schedule *schedule)
{
    if (!schedule)
        return;
    free(schedule->ops);
    if (schedule->index) {
        free(schedule->index->slots);
        (void)pthread_mutex_destroy(&schedule->index->lock);
        free(schedule->index);
    }
    hop_names_finish(&schedule->strings);
    hop_arena_finish(&schedule->arena);
    free(schedule);
}

struct hop_op hop_op_default(enum hop_op_kind kind)
{
    return (struct hop_op){.kind = kind, .from.rank = -1, .to.rank = -1, .by = -1, .parent = HOP_NONE};
}

/* Device and buffer names repeat: each is kept once. */
const char *hop_schedule_intern(struct hop_schedule *schedule, const char *text)
{
    if (!text)
        return NULL;
    uint32_t found = hop_names_get(&schedule->strings, text);
    if (found != UINT32_MAX)
        return schedule->interned[found];
    char *kept = hop_arena_string(&schedule->arena, text, strlen(text));
    if (!kept || !HOP_GROW(&schedule->arena, schedule->interned, schedule->interned_count + 1) ||
        !hop_names_put(&schedule->strings, kept, schedule->interned_count)) {
        schedule->arena.failed = true;
        return NULL;
    }
    return schedule->interned[schedule->interned_count++] = kept;
}

static void intern_place(struct hop_schedule *schedule, struct hop_place *place)
{
    if (place->rank < 0 && place->device)
        place->rank = hop_placeholder_rank(place->device);
    place->device = hop_schedule_intern(schedule, place->device);
    place->buffer = hop_schedule_intern(schedule, place->buffer);
    if (!place->buffer)
        place->offset_bytes = 0;
}

bool hop_op_name_check(const char *name, size_t length, struct hop_diag *diag)
{
    static const char *const reserved[] = {"at", "via", "after", "after-start", "work", "reduce", "queue"};
    bool fine = length > 0 && length <= HOP_OP_NAME_LIMIT && !strchr("{[<", name[0]) && /* these begin JSON and XML */
                strncmp(name, "\xef\xbb\xbf", 3) != 0; /* and a byte order mark is dropped in front */
    for (size_t i = 0, step; fine && i < length; i += step) {
        char c = name[i];
        step = hop_text_shown(name + i); /* the text goes on behind the name, so looking past its end is safe */
        fine = step && i + step <= length && c != ' ' && c != ':' && c != ';' && c != '#' && c != ',' &&
               !(c == '-' && i + 1 < length && name[i + 1] == '>');
    }
    for (size_t i = 0; fine && i < HOP_COUNT(reserved); i++)
        fine = strlen(reserved[i]) != length || memcmp(reserved[i], name, length) != 0;
    if (!fine) {
        hop_fail(diag, HOP_ERR_SYNTAX,
                 "'%.*s' cannot name an operation\nup to %u characters without space, ':', ';', ',', '#', '->' or a "
                 "leading '{', '[', '<', and none of the words at, via, after, after-start, work, reduce, queue",
                 (int)(length < 80 ? length : 80), name, HOP_OP_NAME_LIMIT);
    }
    return fine;
}

/* Whether both places say a rank: then they may share a device, and a rank may even send itself a message. */
static bool has_rank(const struct hop_place *a, const struct hop_place *b)
{
    return (a->rank >= 0 && b->rank >= 0) || hop_placeholder_rank(a->device) >= 0;
}

/* Whether both places say a buffer, and not the same bytes. */
static bool has_buffers(const struct hop_place *a, const struct hop_place *b)
{
    return a->buffer && b->buffer &&
           (strcmp(a->buffer, b->buffer) != 0 || a->offset_bytes != b->offset_bytes || a->rank != b->rank);
}

bool hop_op_goes_nowhere(const struct hop_op *op)
{
    if (strcmp(op->from.device, op->to.device) != 0)
        return false;
    bool ranked = has_rank(&op->from, &op->to);
    if (hop_op_is_message(op))
        return !ranked;
    return op->kind == HOP_OP_COPY && (!ranked || op->from.rank == op->to.rank) && !has_buffers(&op->from, &op->to);
}

const struct hop_place *hop_op_place(const struct hop_op *op, uint32_t i)
{
    if (i < 2)
        return i == 0 ? &op->from : &op->to;
    i -= 2;
    if (i < op->input_count)
        return &op->inputs[i];
    return i - op->input_count < op->output_count ? &op->outputs[i - op->input_count] : NULL;
}

static bool is_rank(const struct hop_place *place, int32_t rank)
{
    return place->device && (place->rank >= 0 ? place->rank : hop_placeholder_rank(place->device)) == rank;
}

bool hop_op_by_check(const struct hop_op *op, struct hop_diag *diag)
{
    const struct hop_place *place;
    bool known = op->by < 0;
    for (uint32_t i = 0; !known && (place = hop_op_place(op, i)) != NULL; i++)
        known = is_rank(place, op->by);
    if (!known) {
        hop_fail(
            diag, HOP_ERR_INVALID,
            "%s by rank %d, of which it has no place\nthe rank of one of its places, as in 0@gpu0 -> 1@gpu1 4KiB by 1",
            op->kind == HOP_OP_COPY ? "a copy" : "a reduction", op->by);
    }
    return known;
}

const struct hop_place *hop_op_engine_place(const struct hop_op *op)
{
    return op->by >= 0 && op->by == op->to.rank && op->by != op->from.rank ? &op->to : &op->from;
}

bool hop_op_is_local(const struct hop_op *op)
{
    return op->kind == HOP_OP_REDUCE || (op->kind == HOP_OP_COPY && strcmp(op->from.device, op->to.device) == 0);
}

double hop_op_traffic_bytes(const struct hop_op *op)
{
    uint32_t read = op->kind == HOP_OP_REDUCE ? op->input_count : 1;
    return (double)op->bytes * (read + 1.0 + op->output_count);
}

/* Placeholders may be placed on one device later. */
static bool is_beside(const struct hop_place *place, const struct hop_place *to)
{
    return strcmp(place->device, to->device) == 0 || hop_placeholder_rank(place->device) >= 0 ||
           hop_placeholder_rank(to->device) >= 0;
}

bool hop_op_one_device(const struct hop_op *op, const struct hop_place **astray, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < op->input_count; i++) {
        *astray = &op->inputs[i];
        if (is_beside(*astray, &op->to))
            continue;
        hop_fail(diag, HOP_ERR_INVALID,
                 "a reduction into %s takes an input on %s\nall inputs on the device of the output; copy the others "
                 "there first",
                 op->to.device, (*astray)->device);
        return false;
    }
    for (uint32_t i = 0; i < op->output_count; i++) {
        *astray = &op->outputs[i];
        if (is_beside(*astray, &op->to))
            continue;
        hop_fail(
            diag, HOP_ERR_INVALID,
            "a reduction into %s has another output on %s\nall outputs on one device; copy to the others from there",
            op->to.device, (*astray)->device);
        return false;
    }
    return true;
}

/* Behind the first output, a bare device of such a name would be read as the size or as a clause. */
static bool ends_outputs(const struct hop_place *place)
{
    static const char *const clauses[] = {"at", "via", "after", "after-start", "by", "tag", "cpu", "nic", "eager"};
    if (place->rank >= 0 || place->buffer)
        return false;
    bool ends = strchr("0123456789.+-", place->device[0]) != NULL;
    for (size_t i = 0; i < HOP_COUNT(clauses); i++)
        ends = ends || strcmp(place->device, clauses[i]) == 0;
    return ends;
}

static enum hop_status check_op(const struct hop_op *op, struct hop_diag *diag)
{
    if ((unsigned)op->kind > HOP_OP_RECEIVE || (unsigned)op->via > HOP_VIA_AUTO ||
        (unsigned)op->reduce >= HOP_REDUCE_COUNT || (unsigned)op->type >= HOP_TYPE_COUNT)
        return hop_fail(diag, HOP_ERR_INVALID, "an operation of no known kind, way, operator or type");
    if (op->kind == HOP_OP_REDUCE && !hop_reduce_suits(op->reduce, op->type))
        return hop_fail(diag, HOP_ERR_INVALID, "no %s of %s\nsum, prod, min or max, or an integer type",
                        hop_reduce_name(op->reduce), hop_type_name(op->type));
    bool moves = op->kind != HOP_OP_WORK;
    if (!(op->at_s >= 0 && op->at_s <= 1e18) || !(op->duration_s >= 0 && op->duration_s <= 1e18))
        return hop_fail(diag, HOP_ERR_INVALID, "an operation has a time of %g s\n0 to 1e18 seconds",
                        op->at_s >= 0 ? op->duration_s : op->at_s);
    if (op->bytes > HOP_BYTES_MAX || op->packet_bytes > HOP_BYTES_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "an operation moves more than 2^60 bytes");
    if (op->from.rank > HOP_PLACE_RANK_LIMIT || op->to.rank > HOP_PLACE_RANK_LIMIT || op->by > HOP_PLACE_RANK_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "an operation has a rank above %d", HOP_PLACE_RANK_LIMIT);
    if (!op->from.device && (op->kind != HOP_OP_REDUCE))
        return hop_fail(diag, HOP_ERR_INVALID, "an operation names no device");
    if (moves && !op->to.device)
        return hop_fail(diag, HOP_ERR_INVALID, "an operation names no destination");
    bool fine = (op->kind == HOP_OP_REDUCE || hop_place_check(&op->from)) && (!moves || hop_place_check(&op->to));
    for (uint32_t i = 0; i < op->input_count; i++)
        fine = fine && hop_place_check(&op->inputs[i]) && op->inputs[i].rank <= HOP_PLACE_RANK_LIMIT;
    for (uint32_t i = 0; i < op->output_count; i++)
        fine = fine && hop_place_check(&op->outputs[i]) && op->outputs[i].rank <= HOP_PLACE_RANK_LIMIT &&
               !ends_outputs(&op->outputs[i]);
    if (!fine)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "an operation names no well-formed place\ndevices and buffers of 1 to 63 letters, digits, '_', "
                        "'.', '-'; no device named work, reduce or queue");
    if (op->kind == HOP_OP_COPY && hop_op_goes_nowhere(op))
        return hop_fail(diag, HOP_ERR_INVALID,
                        "a transfer from %s to itself\ntwo different devices, or two places of buffers on one",
                        op->from.device);
    if (hop_op_is_message(op) && !op->any_source && hop_op_goes_nowhere(op))
        return hop_fail(diag, HOP_ERR_INVALID, "a message from %s to itself\ntwo different devices, or ranks",
                        op->from.device);
    if (op->kind == HOP_OP_REDUCE) {
        if (op->input_count == 0)
            return hop_fail(diag, HOP_ERR_INVALID,
                            "a reduction has no inputs\nreduce OPERATOR TYPE INPUT ... -> OUTPUT SIZE");
        const struct hop_place *astray;
        if (!hop_op_one_device(op, &astray, diag))
            return HOP_ERR_INVALID;
        if (op->bytes % hop_type_bytes(op->type) != 0)
            return hop_fail(diag, HOP_ERR_INVALID,
                            "the size of a reduction is no multiple of its type %s\na multiple of %llu bytes",
                            hop_type_name(op->type), (unsigned long long)hop_type_bytes(op->type));
    }
    if ((op->kind == HOP_OP_COPY || op->kind == HOP_OP_REDUCE) && !hop_op_by_check(op, diag))
        return HOP_ERR_INVALID;
    return op->name && !hop_op_name_check(op->name, strlen(op->name), diag) ? HOP_ERR_SYNTAX : HOP_OK;
}

static bool fails_for_memory(struct hop_schedule *schedule, bool fine)
{
    if (!fine || schedule->arena.failed)
        hop_failure_set(&schedule->failure, HOP_ERR_MEMORY, "out of memory");
    return schedule->failure.status != HOP_OK;
}

uint32_t hop_schedule_append(struct hop_schedule *schedule, const struct hop_op *op)
{
    if (schedule->count >= HOP_OP_LIMIT)
        hop_failure_set(&schedule->failure, HOP_ERR_LIMIT, "more than %u operations", HOP_OP_LIMIT);
    bool room = hop_grow(&schedule->ops, &schedule->capacity, schedule->count + 1, sizeof *schedule->ops);
    if (fails_for_memory(schedule, room))
        return HOP_NONE;
    schedule->ops[schedule->count] = *op;
    return schedule->count++;
}

static const struct hop_place *keep_places(struct hop_schedule *schedule, const struct hop_place *places,
                                           uint32_t count)
{
    struct hop_place *kept = count ? hop_arena_copy(&schedule->arena, places, count * sizeof *places) : NULL;
    for (uint32_t i = 0; kept && i < count; i++)
        intern_place(schedule, &kept[i]);
    return kept;
}

static enum hop_status check_name(const struct hop_schedule *schedule, const char *name, struct hop_diag *diag)
{
    uint32_t same = name ? hop_schedule_find(schedule, name) : HOP_NONE;
    if (same == HOP_NONE)
        return HOP_OK;
    uint32_t line = schedule->ops[same].line;
    hop_fail(diag, HOP_ERR_INVALID, "there are two operations named '%s'", name);
    hop_diag_expect(diag, line ? "names used once; the first is in line %u" : "names used once", line);
    return HOP_ERR_INVALID;
}

/* Without what its kind has no use for. */
static struct hop_op tidy(const struct hop_op *op)
{
    struct hop_op kept = *op;
    bool engine = op->kind == HOP_OP_COPY || op->kind == HOP_OP_REDUCE;
    if (op->kind != HOP_OP_COPY)
        kept.via = HOP_VIA_P2P;
    if (kept.via == HOP_VIA_P2P)
        kept.packet_bytes = 0;
    if (!hop_op_is_message(op))
        kept.tag = kept.nic = 0;
    if (op->any_tag)
        kept.tag = 0;
    if (op->any_source)
        kept.from = kept.to;
    if (engine)
        kept.cpu = 0;
    if (!engine || kept.by < 0)
        kept.by = -1;
    if (op->kind == HOP_OP_REDUCE)
        kept.from = kept.to;
    else
        kept.input_count = kept.output_count = 0;
    if (op->kind == HOP_OP_WORK)
        kept.to = kept.from;
    return kept;
}

enum hop_status hop_schedule_check_count(const char *what, bool at_least, uint64_t count, uint64_t limit,
                                         struct hop_diag *diag)
{
    struct rlimit space;
    long pages = sysconf(_SC_PHYS_PAGES), page = sysconf(_SC_PAGESIZE);
    uint64_t memory = pages > 0 && page > 0 ? (uint64_t)pages * (uint64_t)page : UINT64_MAX;
    char held[64] = "";
    if (getrlimit(RLIMIT_AS, &space) == 0 && space.rlim_cur != RLIM_INFINITY && space.rlim_cur < memory)
        memory = space.rlim_cur;
    if (memory / HOP_OP_MEMORY < limit) {
        limit = memory / HOP_OP_MEMORY;
        (void)snprintf(held, sizeof held, " in %.3g GiB of memory", (double)memory / 0x1p30);
    }
    return count <= limit
               ? HOP_OK
               : hop_fail(diag, HOP_ERR_LIMIT, "%s would have %s%llu operations\nat most %llu%s", what,
                          at_least ? "at least " : "", (unsigned long long)count, (unsigned long long)limit, held);
}

uint32_t hop_schedule_add(struct hop_schedule *schedule, const struct hop_op *op)
{
    if (!schedule || schedule->failure.status != HOP_OK)
        return HOP_NONE;
    enum hop_status status = check_op(op, &schedule->diag);
    if (status == HOP_OK)
        status = check_name(schedule, op->name, &schedule->diag);
    schedule->failure.status = status;
    if (status != HOP_OK)
        return HOP_NONE;
    struct hop_op kept = tidy(op);
    struct hop_arena *arena = &schedule->arena;
    if (kept.name)
        kept.name = hop_arena_string(arena, op->name, strlen(op->name));
    intern_place(schedule, &kept.from);
    intern_place(schedule, &kept.to);
    kept.after = hop_arena_numbers(arena, op->after, op->after_count);
    kept.after_start = hop_arena_numbers(arena, op->after_start, op->after_start_count);
    kept.inputs = keep_places(schedule, op->inputs, kept.input_count);
    kept.outputs = keep_places(schedule, op->outputs, kept.output_count);
    return hop_schedule_append(schedule, &kept);
}

uint32_t hop_schedule_copy(struct hop_schedule *schedule, const char *from, const char *to, uint64_t bytes,
                           const uint32_t *after, uint32_t after_count)
{
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    op.from.device = from;
    op.to.device = to;
    op.bytes = bytes;
    op.after = after;
    op.after_count = after_count;
    return hop_schedule_add(schedule, &op);
}

void hop_schedule_set_queue_ready(struct hop_schedule *schedule, bool ready)
{
    if (schedule)
        schedule->queue_ready = ready;
}

void hop_schedule_keep_comment(struct hop_schedule *schedule, const char *text, size_t length)
{
    for (; length > 0 && (unsigned char)*text <= ' '; length--)
        text++;
    while (length > 0 && (unsigned char)text[length - 1] <= ' ')
        length--;
    char *kept = length > 0 && length <= HOP_COMMENT_LIMIT && schedule->comment_count < HOP_COMMENTS_KEPT
                     ? hop_arena_string(&schedule->arena, text, length)
                     : NULL;
    for (size_t i = 0, step; kept && i < length; i += step) {
        step = hop_text_shown(kept + i);
        if (step == 0)
            return;
    }
    if (kept)
        hop_schedule_add_comment(schedule, "%s", kept);
}

void hop_schedule_add_comment(struct hop_schedule *schedule, const char *format, ...)
{
    char text[512];
    if (!schedule)
        return;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    for (char *c = text; *c; c++) {
        if (*c == '\n' || *c == '\r')
            *c = ' ';
    }
    char *kept = hop_arena_string(&schedule->arena, text, strlen(text));
    bool room = HOP_GROW(&schedule->arena, schedule->comments, schedule->comment_count + 1);
    if (!fails_for_memory(schedule, kept && room))
        schedule->comments[schedule->comment_count++] = kept;
}

const char *hop_schedule_note(const struct hop_schedule *schedule, uint32_t index)
{
    const size_t begins = strlen(HOP_COMMENT_NOTE);
    for (uint32_t i = 0; i < schedule->comment_count; i++) {
        if (strncmp(schedule->comments[i], HOP_COMMENT_NOTE, begins) == 0 && index-- == 0)
            return schedule->comments[i] + begins;
    }
    return NULL;
}

/* ---- names ---- */

static bool looks_chosen(const char *name)
{
    return name[0] == 't' && name[1] >= '0' && name[1] <= '9';
}

/* The operation whose number is in its name: chosen names are in no table. */
static uint32_t find_numbered(const struct hop_schedule *schedule, const char *name)
{
    if (!looks_chosen(name))
        return HOP_NONE;
    unsigned long number = strtoul(name + 1, NULL, 10);
    const char *given = number < schedule->count ? schedule->ops[number].name : NULL;
    return given && strcmp(given, name) == 0 ? (uint32_t)number : HOP_NONE;
}

static uint32_t find_slowly(const struct hop_schedule *schedule, const char *name)
{
    for (uint32_t i = 0; i < schedule->count; i++) {
        if (schedule->ops[i].name && strcmp(schedule->ops[i].name, name) == 0)
            return i;
    }
    return HOP_NONE;
}

/* The slot of that name, or the free one where it belongs. */
static struct hop_schedule_slot *slot_of(const struct hop_schedule *schedule, const char *name, uint32_t hash)
{
    const struct hop_schedule_index *index = schedule->index;
    for (uint32_t at = hash;; at++) {
        struct hop_schedule_slot *slot = &index->slots[at & (index->size - 1)];
        if (!slot->op || (slot->hash == hash && strcmp(schedule->ops[slot->op - 1].name, name) == 0))
            return slot;
    }
}

/* At least half of the slots stay free. */
static bool make_slots(struct hop_schedule_index *index)
{
    uint32_t size = index->size ? 2 * index->size : 64;
    if (index->used < index->size / 2)
        return true;
    struct hop_schedule_slot *slots = calloc(size, sizeof *slots);
    if (!slots)
        return false;
    for (uint32_t i = 0; i < index->size; i++) {
        uint32_t at = index->slots[i].hash & (size - 1);
        while (index->slots[i].op && slots[at].op) /* names differ: the first free one */
            at = (at + 1) & (size - 1);
        if (index->slots[i].op)
            slots[at] = index->slots[i];
    }
    free(index->slots);
    index->slots = slots;
    index->size = size;
    return true;
}

static bool put_names(const struct hop_schedule *schedule)
{
    struct hop_schedule_index *index = schedule->index;
    if (!make_slots(index))
        return false;
    for (; index->count < schedule->count; index->count++) {
        const char *name = schedule->ops[index->count].name;
        if (!name || find_numbered(schedule, name) == index->count)
            continue;
        uint32_t hash = hop_names_hash(name);
        *slot_of(schedule, name, hash) = (struct hop_schedule_slot){hash, index->count + 1};
        index->used++;
        if (!make_slots(index))
            return false;
    }
    return true;
}

static uint32_t find_indexed(const struct hop_schedule *schedule, const char *name)
{
    struct hop_schedule_index *index = schedule->index;
    (void)pthread_mutex_lock(&index->lock);
    uint32_t found;
    if (put_names(schedule)) {
        uint32_t op = slot_of(schedule, name, hop_names_hash(name))->op;
        found = op ? op - 1 : HOP_NONE;
    } else {
        found = find_slowly(schedule, name);
    }
    (void)pthread_mutex_unlock(&index->lock);
    return found;
}

static void forget_names(struct hop_schedule_index *index)
{
    free(index->slots);
    index->slots = NULL;
    index->size = index->used = index->count = 0;
}

void hop_schedule_expect(const struct hop_schedule *schedule, const char *name)
{
    const struct hop_schedule_index *index = schedule->index;
#if defined(__GNUC__)
    if (index->size)
        __builtin_prefetch(&index->slots[hop_names_hash(name) & (index->size - 1)]);
#else
    (void)index, (void)name;
#endif
}

uint32_t hop_schedule_find(const struct hop_schedule *schedule, const char *name)
{
    uint32_t found = find_numbered(schedule, name);
    return found != HOP_NONE ? found : find_indexed(schedule, name);
}

enum { CHOSEN_SIZE = 16 }; /* "t4294967295" and what makes it unique */

/* One piece of memory holds all chosen names. */
static enum hop_status choose_names(struct hop_schedule *schedule, struct hop_diag *diag)
{
    size_t unnamed = 0;
    bool alike = false; /* a given name could be a chosen one */
    for (uint32_t i = 0; i < schedule->count; i++) {
        unnamed += !schedule->ops[i].name;
        alike = alike || (schedule->ops[i].name && looks_chosen(schedule->ops[i].name));
    }
    char *name = unnamed ? hop_arena_alloc(&schedule->arena, unnamed * CHOSEN_SIZE) : NULL;
    if (unnamed && !name)
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < schedule->count; i++) {
        if (schedule->ops[i].name)
            continue;
        name[0] = 't';
        size_t length = (size_t)(hop_text_put_number(name + 1, i) - name);
        while (alike && hop_schedule_find(schedule, name) != HOP_NONE && length < CHOSEN_SIZE - 1)
            name[length++] = '_';
        schedule->ops[i].name = name;
        name += CHOSEN_SIZE;
    }
    return HOP_OK;
}

/* ---- the order ---- */

/* The i-th operation that an operation waits for, of both kinds. */
static uint32_t dependency(const struct hop_op *op, uint32_t i)
{
    return i < op->after_count ? op->after[i] : op->after_start[i - op->after_count];
}

static uint32_t waits_for(const void *context, uint32_t index, uint32_t i)
{
    const struct hop_op *op = &((const struct hop_schedule *)context)->ops[index];
    return i < op->after_count + op->after_start_count ? dependency(op, i) : UINT32_MAX;
}

static enum hop_status check_order(const struct hop_schedule *schedule, struct hop_diag *diag)
{
    enum { SHOWN = 12 };
    uint32_t *cycle, length;
    enum hop_status status = hop_cycle_find(schedule->count, waits_for, schedule, NULL, &cycle, &length, diag);
    if (status != HOP_OK || length == 0)
        return status;
    char text[448] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < length && i < SHOWN; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "%.20s waits for ", schedule->ops[cycle[i]].name);
    (void)snprintf(text + used, sizeof text - used, "%s%.20s", length > SHOWN ? "... waits for " : "",
                   schedule->ops[cycle[0]].name);
    status = hop_fail(diag, HOP_ERR_DEADLOCK, "cyclic dependency: %s\ndependencies without a cycle", text);
    (void)hop_schedule_blame(schedule, cycle[0], 0, diag, status);
    free(cycle);
    return status;
}

static enum hop_status check_dependencies(const struct hop_schedule *schedule, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct hop_op *op = &schedule->ops[i];
        for (uint32_t d = 0; d < op->after_count + op->after_start_count; d++) {
            if (dependency(op, d) >= schedule->count)
                return hop_fail(diag, HOP_ERR_INVALID, "operation %u waits for operation %u, which does not exist", i,
                                dependency(op, d));
        }
    }
    return HOP_OK;
}

enum hop_status hop_schedule_blame(const struct hop_schedule *schedule, uint32_t index, uint32_t column,
                                   struct hop_diag *diag, enum hop_status status)
{
    if (diag)
        (void)hop_schedule_place(schedule, index, column, diag->place, sizeof diag->place);
    return status;
}

enum hop_status hop_schedule_failure(const struct hop_schedule *made, struct hop_diag *diag)
{
    if (!made)
        return hop_fail_memory(diag);
    if (made->failure.status != HOP_OK && diag)
        *diag = made->diag;
    return made->failure.status;
}

enum hop_status hop_schedule_end(struct hop_schedule *made, enum hop_status status, struct hop_schedule **schedule,
                                 struct hop_diag *diag)
{
    if (status == HOP_OK)
        status = hop_schedule_failure(made, diag);
    if (status == HOP_OK)
        status = check_dependencies(made, diag);
    if (status == HOP_OK)
        status = choose_names(made, diag);
    if (made)
        forget_names(made->index);
    if (status == HOP_OK)
        status = check_order(made, diag);
    if (status == HOP_OK)
        *schedule = made;
    else
        hop_schedule_destroy(made);
    return status;
}

enum hop_status hop_schedule_finish(struct hop_schedule *made, struct hop_schedule **schedule, struct hop_diag *diag)
{
    return hop_schedule_end(made, HOP_OK, schedule, diag);
}

const char *hop_schedule_name(const struct hop_schedule *schedule)
{
    return schedule->name;
}

uint32_t hop_schedule_count(const struct hop_schedule *schedule)
{
    return schedule->count;
}

const struct hop_op *hop_schedule_op(const struct hop_schedule *schedule, uint32_t index)
{
    return &schedule->ops[index];
}

bool hop_schedule_queue_ready(const struct hop_schedule *schedule)
{
    return schedule->queue_ready;
}

char *hop_schedule_place(const struct hop_schedule *schedule, uint32_t index, uint32_t column, char *buffer,
                         size_t size)
{
    const struct hop_op *op = &schedule->ops[index];
    if (op->line && column)
        (void)snprintf(buffer, size, "%s:%u:%u", schedule->file, op->line, column);
    else if (op->line)
        (void)snprintf(buffer, size, "%s:%u:1", schedule->file, op->line);
    else
        (void)snprintf(buffer, size, "%s: operation %s", schedule->file, op->name ? op->name : "?");
    return buffer;
}
