/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Schedule JSON (docs/schedule.schema.json), read and written.
 *
 * Places are written as in the text form, [rank@]device[:buffer[+offset]]; numbers are in SI units. Dependencies are
 * names, also of operations that come later, so a first pass over the document maps names to indices.
 */
#include "base/json.h"
#include "base/json_write.h"
#include "schedule/schedule.h"

#include <inttypes.h>

#define VERSION 1
#define TIME_MAX_S 1e18
#define NEAREST_MAX 10000u /* names that are compared with a misspelt one */

/* ---- reading ---- */

struct reader {
    struct hop_schedule *schedule;
    const json_t *operations;
    struct hop_names indices; /* of all operations, by name */
    struct hop_arena scratch; /* what hop_schedule_add copies */
    struct hop_failure failure;
};

static const char *const kinds[] = {[HOP_OP_COPY] = "copy",
                                    [HOP_OP_REDUCE] = "reduce",
                                    [HOP_OP_WORK] = "work",
                                    [HOP_OP_SEND] = "send",
                                    [HOP_OP_RECEIVE] = "receive"};
static const char *const queues[] = {"strict", "ready"};

/* Context: an array of names. */
static const char *listed(const void *context, uint32_t index)
{
    return ((const char *const *)context)[index];
}

/* The name of an operation of the document, "" when it has none. */
static const char *operation_id(const void *context, uint32_t index)
{
    const char *id = json_string_value(json_object_get(json_array_get(context, index), "id"));
    return id ? id : "";
}

static bool ok(const struct reader *r)
{
    return r->failure.status == HOP_OK;
}

static void *reserve(struct reader *r, size_t size)
{
    void *piece = hop_arena_alloc(&r->scratch, size);
    if (!piece)
        hop_failure_set(&r->failure, HOP_ERR_MEMORY, "out of memory");
    return piece;
}

static void read_place(struct reader *r, const struct hop_json *at, struct hop_place *place)
{
    const char *text = hop_json_name(at);
    if (text)
        hop_json_check(at, hop_place_parse(text, strlen(text), place, &r->scratch, r->failure.diag));
}

static void read_places(struct reader *r, const struct hop_json *at, const struct hop_place **places, uint32_t *length)
{
    size_t count = hop_json_array(at, 1);
    struct hop_place *list = count > 0 ? reserve(r, count * sizeof *list) : NULL;
    for (size_t i = 0; i < count && ok(r); i++) {
        const struct hop_json place = hop_json_element(at, i);
        read_place(r, &place, &list[i]);
    }
    *places = list;
    *length = (uint32_t)count;
}

static void fail_unknown(struct reader *r, const struct hop_json *at, const char *name)
{
    size_t all = json_array_size(r->operations);
    uint32_t compared = all < NEAREST_MAX ? (uint32_t)all : NEAREST_MAX;
    uint32_t nearest = hop_text_nearest(name, operation_id, r->operations, compared);
    if (nearest != UINT32_MAX)
        hop_json_fail(at, HOP_ERR_NOT_FOUND, "there is no operation '%.80s'\n'%s'?", name,
                      operation_id(r->operations, nearest));
    hop_json_fail(at, HOP_ERR_NOT_FOUND, "there is no operation '%.80s'\nthe id of an operation of this schedule",
                  name);
}

/* Names of operations as indices; nothing when the key is absent. */
static void read_names(struct reader *r, const struct hop_json *at, const uint32_t **list, uint32_t *length)
{
    size_t count = hop_json_array(at, 0);
    uint32_t *indices = count > 0 ? reserve(r, count * sizeof *indices) : NULL;
    for (size_t i = 0; i < count && ok(r); i++) {
        const struct hop_json element = hop_json_element(at, i);
        const char *name = hop_json_name(&element);
        indices[i] = name ? hop_names_get(&r->indices, name) : UINT32_MAX;
        if (name && indices[i] == UINT32_MAX)
            fail_unknown(r, &element, name);
    }
    *list = indices;
    *length = (uint32_t)count;
}

/* What operations have, and which kinds have it, must have it. */
#define KEYS(X)                                                                                                        \
    X(id, ALL, ALL)                                                                                                    \
    X(kind, ALL, ALL)                                                                                                  \
    X(after, ALL, 0)                                                                                                   \
    X(after_start, ALL, 0)                                                                                             \
    X(at_s, ALL, 0)                                                                                                    \
    X(operator, REDUCE, REDUCE)                                                                                        \
    X(type, REDUCE, REDUCE)                                                                                            \
    X(inputs, REDUCE, REDUCE)                                                                                          \
    X(from, COPY | MESSAGE, COPY | MESSAGE)                                                                            \
    X(to, COPY | MESSAGE | REDUCE, COPY | MESSAGE | REDUCE)                                                            \
    X(outputs, REDUCE, 0)                                                                                              \
    X(bytes, COPY | MESSAGE | REDUCE, COPY | MESSAGE | REDUCE)                                                         \
    X(by, COPY | REDUCE, 0)                                                                                            \
    X(via, COPY, 0)                                                                                                    \
    X(packet_bytes, COPY, 0)                                                                                           \
    X(tag, MESSAGE, 0)                                                                                                 \
    X(device, WORK, WORK)                                                                                              \
    X(duration_s, WORK, WORK)                                                                                          \
    X(cpu, MESSAGE | WORK, 0)                                                                                          \
    X(nic, MESSAGE, 0)                                                                                                 \
    X(eager, 1 << HOP_OP_SEND, 0)
enum {
    COPY = 1 << HOP_OP_COPY,
    REDUCE = 1 << HOP_OP_REDUCE,
    WORK = 1 << HOP_OP_WORK,
    MESSAGE = 1 << HOP_OP_SEND | 1 << HOP_OP_RECEIVE,
    ALL = COPY | REDUCE | WORK | MESSAGE
};
enum {
#define KEY(name, kinds, needed) KEY_##name,
    KEYS(KEY) KEY_COUNT
};

/* The members of an operation's object, absent those that its kind has not. */
static void read_members(const struct hop_json *at, enum hop_op_kind kind, struct hop_json members[KEY_COUNT])
{
    static const struct {
        const char *name;
        unsigned kinds, needed;
    } all[KEY_COUNT] = {
#define ROW(name, kinds, needed) {#name, kinds, needed},
        KEYS(ROW)};
    struct hop_json_key keys[KEY_COUNT];
    struct hop_json found[KEY_COUNT];
    uint32_t count = 0, place[KEY_COUNT];
    for (uint32_t k = 0; k < KEY_COUNT; k++) {
        members[k] = (struct hop_json){.parent = at, .key = all[k].name, .failure = at->failure};
        place[count] = k;
        keys[count] = (struct hop_json_key){all[k].name, all[k].needed >> kind & 1};
        count += all[k].kinds >> kind & 1;
    }
    hop_json_object(at, keys, count, found);
    for (uint32_t i = 0; i < count; i++)
        members[place[i]] = found[i];
}

/* "*": of a receive's source, of its tag. */
static bool is_any(const struct hop_json *at)
{
    const char *text = json_string_value(at->value);
    return text && strcmp(text, "*") == 0;
}

/* After the places: it is the rank of one of them. */
static void read_by(struct reader *r, const struct hop_json *at, struct hop_op *op)
{
    if (!at->value)
        return;
    op->by = (int32_t)hop_json_whole(at, 0, HOP_PLACE_RANK_LIMIT, 0, NULL);
    if (ok(r) && !hop_op_by_check(op, r->failure.diag))
        hop_json_check(at, HOP_ERR_INVALID);
}

static void read_operation(struct reader *r, const struct hop_json *at)
{
    const struct hop_json key = hop_json_member(at, "kind", true);
    uint32_t kind = hop_json_choice(&key, listed, kinds, HOP_COUNT(kinds), HOP_OP_COPY);
    struct hop_op op = hop_op_default((enum hop_op_kind)kind);
    struct hop_json m[KEY_COUNT];
    read_members(at, op.kind, m);
    op.name = hop_json_name(&m[KEY_id]);
    read_names(r, &m[KEY_after], &op.after, &op.after_count);
    read_names(r, &m[KEY_after_start], &op.after_start, &op.after_start_count);
    op.at_s = hop_json_number(&m[KEY_at_s], 0, TIME_MAX_S, 0, NULL);
    op.reduce = (enum hop_reduce)hop_json_choice(&m[KEY_operator], hop_reduce_listed, NULL, HOP_REDUCE_COUNT, 0);
    op.type = (enum hop_type)hop_json_choice(&m[KEY_type], hop_type_listed, NULL, HOP_TYPE_COUNT, 0);
    read_places(r, &m[KEY_inputs], &op.inputs, &op.input_count);
    op.any_source = op.kind == HOP_OP_RECEIVE && is_any(&m[KEY_from]);
    op.any_tag = op.kind == HOP_OP_RECEIVE && is_any(&m[KEY_tag]);
    if (!op.any_source)
        read_place(r, &m[op.kind == HOP_OP_WORK ? KEY_device : KEY_from], &op.from);
    read_place(r, &m[KEY_to], &op.to);
    if (op.any_source)
        op.from = op.to;
    read_places(r, &m[KEY_outputs], &op.outputs, &op.output_count);
    op.bytes = hop_json_whole(&m[KEY_bytes], 0, HOP_BYTES_MAX, 0, NULL);
    read_by(r, &m[KEY_by], &op);
    op.via = (enum hop_via)hop_json_choice(&m[KEY_via], hop_via_listed, NULL, HOP_VIA_AUTO + 1, HOP_VIA_P2P);
    if (m[KEY_packet_bytes].value && op.via == HOP_VIA_P2P)
        hop_json_fail(&m[KEY_packet_bytes], HOP_ERR_INVALID,
                      "a packet size without staging\npacket_bytes only beside \"via\": \"staged\" or \"auto\"");
    op.packet_bytes = hop_json_whole(&m[KEY_packet_bytes], 1, HOP_BYTES_MAX, 0, NULL);
    op.tag = op.any_tag ? 0 : (uint32_t)hop_json_whole(&m[KEY_tag], 0, UINT32_MAX, 0, NULL);
    op.eager = hop_json_flag(&m[KEY_eager]);
    op.duration_s = hop_json_number(&m[KEY_duration_s], 0, TIME_MAX_S, 0, NULL);
    op.cpu = (uint16_t)hop_json_whole(&m[KEY_cpu], 0, UINT16_MAX, 0, NULL);
    op.nic = (uint16_t)hop_json_whole(&m[KEY_nic], 0, UINT16_MAX, 0, NULL);
    if (!ok(r))
        return;
    (void)hop_schedule_add(r->schedule, &op);
    hop_json_check(at, hop_schedule_failure(r->schedule, r->failure.diag));
}

static void read_operations(struct reader *r, const struct hop_json *at)
{
    size_t count = hop_json_array(at, 0);
    r->operations = at->value;
    for (size_t i = 0; i < count; i++) {
        const char *id = operation_id(at->value, (uint32_t)i);
        if (*id && !hop_names_put(&r->indices, id, (uint32_t)i))
            hop_failure_set(&r->failure, HOP_ERR_MEMORY, "out of memory");
    }
    for (size_t i = 0; i < count && ok(r); i++) {
        const struct hop_json operation = hop_json_element(at, i);
        read_operation(r, &operation);
    }
}

static void read_comments(struct reader *r, const struct hop_json *at)
{
    size_t count = at->value ? hop_json_array(at, 0) : 0;
    for (size_t i = 0; i < count && i < HOP_COMMENTS_KEPT; i++) {
        const struct hop_json comment = hop_json_element(at, i);
        const char *text = hop_json_name(&comment);
        if (text)
            hop_schedule_keep_comment(r->schedule, text, strlen(text));
    }
}

static void read_document(struct reader *r, const struct hop_json *document)
{
    enum { FORMAT, NAME, COMMENTS, QUEUE, OPERATIONS, MEMBERS };
    static const struct hop_json_key keys[MEMBERS] = {
        {"hopcast_schedule", true}, {"name", false}, {"comments", false}, {"queue", false}, {"operations", true}};
    struct hop_json m[MEMBERS];
    hop_json_check_format(document, keys[FORMAT].name, VERSION);
    hop_json_object(document, keys, MEMBERS, m);
    const char *name = hop_json_name(&m[NAME]);
    uint32_t queue = hop_json_choice(&m[QUEUE], listed, queues, HOP_COUNT(queues), 0);
    if (!ok(r))
        return;
    r->schedule = hop_schedule_create(name ? name : document->key);
    if (r->schedule)
        r->schedule->file = hop_arena_string(&r->schedule->arena, document->key, strlen(document->key));
    if (!r->schedule || !r->schedule->file) {
        hop_failure_set(&r->failure, HOP_ERR_MEMORY, "out of memory");
        return;
    }
    hop_schedule_set_queue_ready(r->schedule, queue != 0);
    read_comments(r, &m[COMMENTS]);
    read_operations(r, &m[OPERATIONS]);
}

enum hop_status hop_schedule_read_json(const struct hop_source *source, struct hop_schedule **schedule,
                                       struct hop_diag *diag)
{
    struct hop_json document;
    struct reader r = {.failure.diag = diag};
    hop_json_load(source, &document, &r.failure);
    read_document(&r, &document);
    if (ok(&r))
        *schedule = r.schedule;
    else
        hop_schedule_destroy(r.schedule);
    hop_names_finish(&r.indices);
    hop_arena_finish(&r.scratch);
    hop_json_finish(&document);
    return r.failure.status;
}

/* ---- writing ---- */

static void put_place(struct hop_buffer *out, const struct hop_place *place)
{
    struct hop_buffer text = {0};
    hop_place_print(place, &text);
    out->failed = out->failed || text.failed;
    hop_json_put(out, "%s", text.text);
    hop_buffer_finish(&text);
}

static void put_places(struct hop_buffer *out, const char *key, const struct hop_place *places, uint32_t count)
{
    hop_json_put(out, ", %s: [", key);
    for (uint32_t i = 0; i < count; i++) {
        hop_json_put(out, i ? ", " : "");
        put_place(out, &places[i]);
    }
    hop_json_put(out, "]");
}

static void put_names(struct hop_buffer *out, const struct hop_schedule *schedule, const char *key,
                      const uint32_t *list, uint32_t count)
{
    if (count == 0)
        return;
    hop_json_put(out, ", %s: [", key);
    for (uint32_t i = 0; i < count; i++)
        hop_json_put(out, i ? ", %s" : "%s", hop_schedule_op(schedule, list[i])->name);
    hop_json_put(out, "]");
}

static void put_whole(struct hop_buffer *out, const char *key, uint64_t value)
{
    hop_json_put(out, ", %s: %llu", key, (unsigned long long)value);
}

/* Where it runs and how much. */
static void put_work(struct hop_buffer *out, const struct hop_op *op)
{
    if (op->kind == HOP_OP_WORK) {
        hop_json_put(out, ", device: ");
        put_place(out, &op->from);
        hop_json_put(out, ", duration_s: %g", op->duration_s + 0.0); /* no -0, which would come back as 0 */
        return;
    }
    if (op->kind == HOP_OP_REDUCE) {
        hop_json_put(out, ", operator: %s, type: %s", hop_reduce_name(op->reduce), hop_type_name(op->type));
        put_places(out, "inputs", op->inputs, op->input_count);
    } else {
        hop_json_put(out, op->any_source ? ", from: %s" : ", from: ", "*");
        if (!op->any_source)
            put_place(out, &op->from);
    }
    hop_json_put(out, ", to: ");
    put_place(out, &op->to);
    if (op->kind == HOP_OP_REDUCE && op->output_count)
        put_places(out, "outputs", op->outputs, op->output_count);
    put_whole(out, "bytes", op->bytes);
}

static void put_op(struct hop_buffer *out, const struct hop_schedule *schedule, const struct hop_op *op)
{
    hop_json_put(out, "\n    {id: %s, kind: %s", op->name, kinds[op->kind]);
    put_work(out, op);
    if (op->by >= 0)
        put_whole(out, "by", (uint64_t)op->by);
    if (op->any_tag)
        hop_json_put(out, ", tag: %s", "*");
    else if (op->tag)
        put_whole(out, "tag", op->tag);
    if (op->cpu)
        put_whole(out, "cpu", op->cpu);
    if (op->nic)
        put_whole(out, "nic", op->nic);
    if (op->eager)
        hop_json_put(out, ", eager: true");
    if (op->at_s > 0)
        hop_json_put(out, ", at_s: %g", op->at_s);
    if (op->kind == HOP_OP_COPY && op->via != HOP_VIA_P2P) {
        hop_json_put(out, ", via: %s", hop_via_name(op->via));
        if (op->packet_bytes)
            put_whole(out, "packet_bytes", op->packet_bytes);
    }
    put_names(out, schedule, "after", op->after, op->after_count);
    put_names(out, schedule, "after_start", op->after_start, op->after_start_count);
    hop_json_put(out, "}");
}

char *hop_schedule_to_json(const struct hop_schedule *schedule)
{
    struct hop_buffer out = {0};
    uint32_t count = hop_schedule_count(schedule);
    hop_json_put(&out, "{\n  hopcast_schedule: %d,\n  name: %s", VERSION, hop_schedule_name(schedule));
    for (uint32_t i = 0; i < schedule->comment_count; i++)
        hop_json_put(&out, i ? "\n    %s" : "\n  comments: [\n    %s", schedule->comments[i]);
    if (schedule->comment_count > 0)
        hop_json_put(&out, "\n  ]");
    if (hop_schedule_queue_ready(schedule))
        hop_json_put(&out, "\n  queue: %s", "ready");
    hop_json_put(&out, "\n  operations: [");
    for (uint32_t i = 0; i < count; i++)
        put_op(&out, schedule, hop_schedule_op(schedule, i));
    hop_json_put(&out, count ? "\n  ]\n}\n" : "]\n}\n");
    return hop_buffer_take(&out);
}
