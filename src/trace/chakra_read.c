/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One rank's Chakra trace: messages with their length in front, first the metadata, then the nodes.
 *
 *     metadata:  1 version | before 0.0.4: 1 attribute ...
 *     node:      1 id, 2 name, 3 type, 4 ctrl_deps ..., 5 data_deps ..., 7 duration (us), 8 inputs, 10 attribute ...
 *                before 0.0.4: 1 id, 2 name, 3 type, 4 parent ..., 11 attribute ...
 *     attribute: 1 name, and one of many fields as its value, by type
 *
 * Attributes are known by name, whatever integer type their value has. Fields that are not needed here are only stepped
 * over.
 */
#include "trace/chakra.h"

#include <ctype.h>
#include <stdio.h>

#include "base/json.h"
#include "base/protobuf.h"
#include "schedule/schedule.h"

struct reader {
    struct hop_chakra_trace *trace;
    struct hop_protobuf_wire wire; /* the whole file */
    struct hop_failure *failure;
    bool control;     /* control dependencies count too */
    struct hop_arena scratch;
    struct id_of *deps; /* of all nodes, one after the other: on which id a node depends, until all nodes are known */
    uint32_t dep_count;
};

/* A node that has an id, or depends on it. */
struct id_of {
    uint64_t id;
    uint32_t node;
};

enum { NAME_LIMIT = 80 }; /* bytes of a node's name that an operation's can hold beside rank and id */

void hop_chakra_place(const struct hop_chakra_trace *trace, const struct hop_chakra_node *node,
                      struct hop_failure *failure)
{
    if (failure->status != HOP_OK)
        hop_failure_place(failure, "%.160s: node %llu (byte 0x%zx)", trace->file, (unsigned long long)node->id,
                          node->at);
}

/* ---- attributes ---- */

enum value_kind { VALUE_NONE, VALUE_INTEGER, VALUE_REAL, VALUE_TEXT, VALUE_OTHER };

struct attribute {
    const char *name, *text; /* in the file, not ended by a NUL */
    size_t name_length, text_length;
    enum value_kind kind;
    int64_t integer; /* INT64_MAX also for more */
    double real;
};

/* How the fields of an attribute are read. */
enum field_kind { FIELD_SKIP, FIELD_INT, FIELD_UINT, FIELD_ZIGZAG, FIELD_INT32, FIELD_DOUBLE, FIELD_FLOAT, FIELD_TEXT };
struct attribute_field {
    enum hop_wire_type type;
    enum field_kind kind;
};

enum { ATTRIBUTE_FIELDS = 32 };
/* What has no row is stepped over: lists, bytes, comments. */
static const struct attribute_field fields_now[ATTRIBUTE_FIELDS] = {
    [3] = {HOP_WIRE_FIXED64, FIELD_DOUBLE}, [5] = {HOP_WIRE_FIXED32, FIELD_FLOAT},
    [7] = {HOP_WIRE_VARINT, FIELD_INT},     [9] = {HOP_WIRE_VARINT, FIELD_INT},
    [11] = {HOP_WIRE_VARINT, FIELD_UINT},   [13] = {HOP_WIRE_VARINT, FIELD_UINT},
    [15] = {HOP_WIRE_VARINT, FIELD_ZIGZAG}, [17] = {HOP_WIRE_VARINT, FIELD_ZIGZAG},
    [19] = {HOP_WIRE_FIXED32, FIELD_UINT},  [21] = {HOP_WIRE_FIXED64, FIELD_UINT},
    [23] = {HOP_WIRE_FIXED32, FIELD_INT32}, [25] = {HOP_WIRE_FIXED64, FIELD_INT},
    [27] = {HOP_WIRE_VARINT, FIELD_UINT},   [29] = {HOP_WIRE_BYTES, FIELD_TEXT},
};
static const struct attribute_field fields_old[ATTRIBUTE_FIELDS] = {
    [4] = {HOP_WIRE_VARINT, FIELD_UINT}, [5] = {HOP_WIRE_FIXED32, FIELD_FLOAT}, [6] = {HOP_WIRE_VARINT, FIELD_UINT},
    [7] = {HOP_WIRE_VARINT, FIELD_INT},  [8] = {HOP_WIRE_BYTES, FIELD_TEXT},
};

static void set_value(struct attribute *attribute, enum field_kind kind, const struct hop_wire_field *field)
{
    attribute->kind = VALUE_INTEGER;
    switch (kind) {
    case FIELD_INT:
        attribute->integer = (int64_t)field->value;
        break;
    case FIELD_UINT:
        attribute->integer = field->value > INT64_MAX ? INT64_MAX : (int64_t)field->value;
        break;
    case FIELD_ZIGZAG:
        attribute->integer = hop_wire_zigzag(field->value);
        break;
    case FIELD_INT32:
        attribute->integer = (int32_t)(uint32_t)field->value;
        break;
    case FIELD_DOUBLE:
    case FIELD_FLOAT:
        attribute->kind = VALUE_REAL;
        attribute->real = kind == FIELD_DOUBLE ? hop_wire_double(field->value) : hop_wire_float(field->value);
        break;
    case FIELD_TEXT:
        attribute->kind = VALUE_TEXT;
        attribute->text = (const char *)field->body.data + field->body.at;
        attribute->text_length = (size_t)field->value;
        break;
    case FIELD_SKIP:
        break;
    }
}

static struct attribute read_attribute(const struct reader *r, struct hop_protobuf_wire wire)
{
    const struct attribute_field *fields = r->trace->old ? fields_old : fields_now;
    struct attribute attribute = {.name = ""};
    struct hop_wire_field field;
    while (hop_wire_next(&wire, &field)) {
        const struct attribute_field *known = field.number < ATTRIBUTE_FIELDS ? &fields[field.number] : NULL;
        if (field.number == 1 && hop_wire_expect(&wire, &field, HOP_WIRE_BYTES, "an attribute's name")) {
            attribute.name = (const char *)field.body.data + field.body.at;
            attribute.name_length = (size_t)field.value;
        } else if (known && known->kind != FIELD_SKIP) {
            if (hop_wire_expect(&wire, &field, known->type, "an attribute's value"))
                set_value(&attribute, known->kind, &field);
        } else if (field.number > 3 && attribute.kind == VALUE_NONE) {
            attribute.kind = VALUE_OTHER;
        }
    }
    return attribute;
}

static bool is_named(const struct attribute *attribute, const char *name)
{
    return strlen(name) == attribute->name_length && memcmp(name, attribute->name, attribute->name_length) == 0;
}

/* A text of digits is an integer too. */
static bool digits(const struct attribute *attribute, int64_t *value)
{
    *value = 0;
    for (size_t i = 0; i < attribute->text_length && i < 18; i++) {
        if (!isdigit((unsigned char)attribute->text[i]))
            return false;
        *value = *value * 10 + (attribute->text[i] - '0');
    }
    return attribute->text_length > 0 && attribute->text_length <= 18;
}

static void refuse_value(const struct reader *r, const struct attribute *attribute, const char *expected)
{
    int length = (int)attribute->name_length, text = (int)(attribute->text_length < 60 ? attribute->text_length : 60);
    char value[80] = "has no single value";
    if (attribute->kind == VALUE_INTEGER)
        (void)snprintf(value, sizeof value, "is %lld", (long long)attribute->integer);
    else if (attribute->kind == VALUE_REAL)
        (void)snprintf(value, sizeof value, "is %g", attribute->real);
    else if (attribute->kind == VALUE_TEXT)
        (void)snprintf(value, sizeof value, "is the text '%.*s'", text, attribute->text);
    hop_failure_set(r->failure, HOP_ERR_INVALID, "attribute %.*s %s\n%s", length, attribute->name, value, expected);
}

static const struct {
    const char *name;
    enum hop_chakra_number number;
    int64_t most;
    const char *expected;
} numbers[] = {
    {"comm_type", HOP_CHAKRA_COMM_TYPE, INT32_MAX, "the number of a collective"},
    {"comm_size", HOP_CHAKRA_COMM_SIZE, (int64_t)HOP_BYTES_MAX, "a number of bytes from 0 to 2^60"},
    {"comm_src", HOP_CHAKRA_COMM_SRC, INT32_MAX, "a rank"},
    {"comm_dst", HOP_CHAKRA_COMM_DST, INT32_MAX, "a rank"},
    {"comm_tag", HOP_CHAKRA_COMM_TAG, UINT32_MAX - 1, "a tag from 0 to 4294967294"},
    {"comm_root", HOP_CHAKRA_ROOT, INT32_MAX, "a rank"},
    {"root", HOP_CHAKRA_ROOT, INT32_MAX, "a rank"},
    {"root_rank", HOP_CHAKRA_ROOT, INT32_MAX, "a rank"},
    {"is_cpu_op", HOP_CHAKRA_CPU_OP, 1, "true or false"},
};

static void set_number(const struct reader *r, struct hop_chakra_node *node, const struct attribute *attribute,
                       size_t row)
{
    int64_t value = attribute->integer;
    bool fine = attribute->kind == VALUE_INTEGER || (attribute->kind == VALUE_TEXT && digits(attribute, &value));
    if (!fine || value < 0 || value > numbers[row].most)
        refuse_value(r, attribute, numbers[row].expected);
    node->numbers[numbers[row].number] = value;
}

static void set_duration(const struct reader *r, struct hop_chakra_node *node, const struct attribute *attribute)
{
    int64_t value = attribute->integer;
    bool whole = attribute->kind == VALUE_INTEGER || (attribute->kind == VALUE_TEXT && digits(attribute, &value));
    double us = whole ? (double)value : attribute->kind == VALUE_REAL ? attribute->real : -1;
    if (!(us >= 0 && us <= 1e18))
        refuse_value(r, attribute, "microseconds from 0 to 1e18");
    node->duration_s = us / 1e6;
}

static void set_group(const struct reader *r, struct hop_chakra_node *node, const struct attribute *attribute)
{
    char text[24];
    size_t length = attribute->text_length;
    const char *name = attribute->text;
    if (attribute->kind == VALUE_INTEGER) {
        length = (size_t)snprintf(text, sizeof text, "%lld", (long long)attribute->integer);
        name = text;
    }
    if ((attribute->kind != VALUE_TEXT && attribute->kind != VALUE_INTEGER) || memchr(name, '\0', length)) {
        refuse_value(r, attribute, "the name or number of a process group");
        return;
    }
    node->group = hop_arena_string(&r->trace->arena, name, length);
    (void)hop_failure_none(r->failure, node->group);
}

static void set_attribute(const struct reader *r, struct hop_chakra_node *node, const struct attribute *attribute)
{
    for (size_t i = 0; i < HOP_COUNT(numbers); i++) {
        if (is_named(attribute, numbers[i].name))
            set_number(r, node, attribute, i);
    }
    if (is_named(attribute, "runtime") || is_named(attribute, "duration_micros"))
        set_duration(r, node, attribute);
    if (is_named(attribute, "pg_name") || is_named(attribute, "comm_group"))
        set_group(r, node, attribute);
    bool number = attribute->kind == VALUE_INTEGER && attribute->integer >= 0;
    if (number && is_named(attribute, "stream"))
        node->numbers[HOP_CHAKRA_STREAM] = attribute->integer;
    if (number && is_named(attribute, "tid"))
        node->numbers[HOP_CHAKRA_THREAD] = attribute->integer;
}

/* ---- process groups ---- */

/* false: it is no list of ranks with a name. */
static bool add_group(const struct reader *r, const json_t *entry)
{
    struct hop_chakra_trace *trace = r->trace;
    const char *name = json_string_value(json_object_get(entry, "pg_name"));
    const json_t *ranks = json_object_get(entry, "ranks");
    struct hop_chakra_group group = {.count = (uint32_t)json_array_size(ranks)};
    if (!name || !json_is_array(ranks) || json_array_size(ranks) > HOP_CHAKRA_RANKS)
        return false;
    group.name = hop_arena_string(&trace->arena, name, strlen(name));
    group.ranks = hop_arena_alloc(&trace->arena, (group.count + 1) * sizeof *group.ranks);
    if (!hop_failure_none(r->failure,
                          group.name && group.ranks && HOP_GROW(&trace->arena, trace->groups, trace->group_count + 1)))
        return true;
    for (uint32_t i = 0; i < group.count; i++) {
        const json_t *rank = json_array_get(ranks, i);
        if (!json_is_integer(rank) || json_integer_value(rank) < 0 || json_integer_value(rank) >= HOP_CHAKRA_RANKS)
            return false;
        group.ranks[i] = (uint32_t)json_integer_value(rank);
    }
    trace->groups[trace->group_count++] = group;
    return true;
}

/* A metadata node's inputs that list process groups: JSON, in ['...']. */
static void read_groups(const struct reader *r, const char *text, size_t length)
{
    static const char key[] = "\"pg_name\"";
    if (length < 4 || !memmem(text, length, key, sizeof key - 1))
        return;
    json_error_t error = {0};
    json_t *list = hop_json_parse(text + 2, length - 4, 0, &error);
    bool fine = json_is_array(list);
    for (size_t i = 0; fine && i < json_array_size(list); i++)
        fine = add_group(r, json_array_get(list, i));
    json_decref(list);
    if (json_error_code(&error) == json_error_out_of_memory)
        hop_failure_set(r->failure, HOP_ERR_MEMORY, "out of memory");
    else if (!fine)
        hop_failure_set(r->failure, HOP_ERR_SYNTAX,
                        "the process groups that a metadata node lists cannot be read\n"
                        "['[{\"pg_name\": \"1\", \"ranks\": [0, 1]}, ...]']");
}

/* ---- nodes ---- */

static void add_dep(struct reader *r, uint64_t id, bool keep)
{
    r->trace->left_out += !keep;
    if (keep && hop_failure_none(r->failure, HOP_GROW(&r->scratch, r->deps, r->dep_count + 1)))
        r->deps[r->dep_count++] = (struct id_of){id, r->trace->count};
}

/* One dependency, or many in one field; kept, or only counted. */
static void read_deps(struct reader *r, const struct hop_wire_field *field, bool keep)
{
    struct hop_protobuf_wire rest = field->body;
    uint64_t id;
    if (field->type != HOP_WIRE_BYTES && hop_wire_expect(&r->wire, field, HOP_WIRE_VARINT, "dependencies"))
        add_dep(r, field->value, keep);
    while (field->type == HOP_WIRE_BYTES && hop_wire_varint(&rest, &id))
        add_dep(r, id, keep);
}

/* Kept with a '.' in front, as it will stand in an operation's name; dropped if it cannot. */
static void set_name(const struct reader *r, struct hop_chakra_node *node, const struct hop_wire_field *field)
{
    char text[NAME_LIMIT + 2] = ".";
    size_t length = (size_t)field->value;
    node->name = NULL;
    if (length == 0 || length > NAME_LIMIT)
        return;
    memcpy(text + 1, field->body.data + field->body.at, length);
    if (hop_op_name_check(text, length + 1, NULL)) {
        node->name = hop_arena_string(&r->trace->arena, text, length + 1);
        (void)hop_failure_none(r->failure, node->name);
    }
}

static void set_type(const struct reader *r, struct hop_chakra_node *node, const struct hop_wire_field *field)
{
    if (field->value >= HOP_CHAKRA_TYPES)
        hop_failure_set(r->failure, HOP_ERR_INVALID,
                        "a node has the unknown type %llu\n"
                        "0 to %d (7: a collective, 5 and 6: send and receive, 4: computation)",
                        (unsigned long long)field->value, HOP_CHAKRA_TYPES - 1);
    else
        node->type = (enum hop_chakra_type)field->value;
}

static void read_field(struct reader *r, struct hop_chakra_node *node, const struct hop_wire_field *field)
{
    const struct hop_protobuf_wire *wire = &r->wire;
    bool old = r->trace->old;
    if (field->number == (old ? 11 : 10) && hop_wire_expect(wire, field, HOP_WIRE_BYTES, "an attribute")) {
        struct attribute attribute = read_attribute(r, field->body);
        if (r->failure->status == HOP_OK)
            set_attribute(r, node, &attribute);
    }
    if (field->number == 2 && hop_wire_expect(wire, field, HOP_WIRE_BYTES, "name"))
        set_name(r, node, field);
    if (field->number == 3 && hop_wire_expect(wire, field, HOP_WIRE_VARINT, "type"))
        set_type(r, node, field);
    if (field->number == 4 || (field->number == 5 && !old))
        read_deps(r, field, field->number == 5 || old || r->control);
    if (field->number == 7 && !old && hop_wire_expect(wire, field, HOP_WIRE_VARINT, "duration_micros") &&
        field->value > 0)
        node->duration_s = (double)field->value / 1e6;
}

/* The id is wanted for diagnostics, wherever it stands. */
static uint64_t find_id(struct hop_protobuf_wire wire)
{
    struct hop_wire_field field;
    uint64_t id = 0;
    while (hop_wire_next(&wire, &field)) {
        if (field.number == 1 && hop_wire_expect(&wire, &field, HOP_WIRE_VARINT, "id"))
            id = field.value;
    }
    return id;
}

/* A metadata node's field 8 holds, in its field 1, what it was called with. */
static void read_inputs(const struct reader *r, struct hop_protobuf_wire wire)
{
    struct hop_wire_field field, value;
    while (hop_wire_next(&wire, &field)) {
        if (field.number != 8 || !hop_wire_expect(&wire, &field, HOP_WIRE_BYTES, "inputs"))
            continue;
        while (hop_wire_next(&field.body, &value)) {
            if (value.number == 1 && hop_wire_expect(&wire, &value, HOP_WIRE_BYTES, "inputs.values"))
                read_groups(r, (const char *)value.body.data + value.body.at, (size_t)value.value);
        }
    }
}

/* PyTorch's traces hold, beside a communication on the GPU, the function on the host that asked for it, under the same
 * type. */
static bool is_call(const struct hop_chakra_node *node)
{
    bool communicates =
        node->type == HOP_CHAKRA_SEND || node->type == HOP_CHAKRA_RECEIVE || node->type == HOP_CHAKRA_COLLECTIVE;
    return communicates && node->numbers[HOP_CHAKRA_CPU_OP] == 1 && node->numbers[HOP_CHAKRA_COMM_TYPE] < 0 &&
           node->numbers[HOP_CHAKRA_COMM_SIZE] < 0;
}

static void read_node(struct reader *r, struct hop_protobuf_wire wire)
{
    struct hop_chakra_trace *trace = r->trace;
    struct hop_chakra_node node = {.id = find_id(wire), .at = wire.at, .duration_s = -1};
    struct hop_wire_field field;
    memset(node.numbers, -1, sizeof node.numbers);
    for (struct hop_protobuf_wire rest = wire; hop_wire_next(&rest, &field);)
        read_field(r, &node, &field);
    if (node.type == HOP_CHAKRA_METADATA && !trace->old)
        read_inputs(r, wire);
    if (is_call(&node)) {
        node.type = HOP_CHAKRA_COMPUTE;
        trace->calls++;
    }
    hop_chakra_place(trace, &node, r->failure);
    if (trace->count >= HOP_CHAKRA_NODES) {
        hop_failure_set(r->failure, HOP_ERR_LIMIT, "more than %u nodes", HOP_CHAKRA_NODES);
        hop_failure_place(r->failure, "%.180s: byte 0x%zx", trace->file, node.at);
    }
    if (hop_failure_none(r->failure, HOP_GROW(&trace->arena, trace->nodes, trace->count + 1)))
        trace->nodes[trace->count++] = node;
}

/* ---- dependencies ---- */

static int by_id(const void *a, const void *b)
{
    const struct id_of *left = a, *right = b;
    return HOP_ORDER(left->id, right->id);
}

static int by_id_and_node(const void *a, const void *b)
{
    const struct id_of *left = a, *right = b;
    return left->id != right->id ? HOP_ORDER(left->id, right->id) : HOP_ORDER(left->node, right->node);
}

/* The ids of its dependencies, first to end - 1 of all, become nodes, each once, in file order. */
static void resolve_node(const struct reader *r, struct hop_chakra_node *node, uint32_t first, uint32_t end,
                         const struct id_of *index)
{
    uint32_t kept = 0, own = (uint32_t)(node - r->trace->nodes);
    node->after = hop_arena_alloc(&r->trace->arena, (end - first) * sizeof *node->after);
    if (!hop_failure_none(r->failure, node->after))
        return;
    for (uint32_t i = first; i < end; i++) {
        const struct id_of *place = bsearch(&r->deps[i], index, r->trace->count, sizeof *index, by_id);
        uint32_t found = place ? place->node : HOP_NONE;
        if (found == HOP_NONE || found == own)
            hop_failure_set(
                r->failure, HOP_ERR_INVALID,
                "a node depends on %s %llu\nthe id of another node in the same file; is the file cut short?",
                found == own ? "itself, node" : "a missing node,", (unsigned long long)r->deps[i].id);
        node->after[kept++] = found;
    }
    hop_chakra_place(r->trace, node, r->failure);
    qsort(node->after, kept, sizeof *node->after, hop_ascending_u32);
    for (uint32_t i = 0; i < kept; i++) {
        if (i == 0 || node->after[i] != node->after[i - 1])
            node->after[node->after_count++] = node->after[i];
    }
}

static void resolve(struct reader *r)
{
    struct hop_chakra_trace *trace = r->trace;
    struct id_of *index = hop_arena_alloc(&r->scratch, trace->count * sizeof *index);
    if (!hop_failure_none(r->failure, index))
        return;
    for (uint32_t i = 0; i < trace->count; i++)
        index[i] = (struct id_of){trace->nodes[i].id, i};
    qsort(index, trace->count, sizeof *index, by_id_and_node);
    for (uint32_t i = 1; i < trace->count; i++) {
        if (index[i].id != index[i - 1].id)
            continue;
        hop_failure_set(r->failure, HOP_ERR_INVALID,
                        "there are two nodes with the id %llu\nids used once; the first is at byte 0x%zx",
                        (unsigned long long)index[i].id, trace->nodes[index[i - 1].node].at);
        hop_chakra_place(trace, &trace->nodes[index[i].node], r->failure);
    }
    for (uint32_t i = 0, first = 0, next = 0; i < trace->count && r->failure->status == HOP_OK; i++, first = next) {
        while (next < r->dep_count && r->deps[next].node == i)
            next++;
        resolve_node(r, &trace->nodes[i], first, next, index);
    }
}

/* ---- the file ---- */

/* The metadata tell which schema it is: an attribute in field 1, which is a version now. */
static void read_metadata(struct reader *r)
{
    struct hop_protobuf_wire message;
    struct hop_wire_field field;
    if (r->wire.at == r->wire.end)
        hop_failure_set(r->failure, HOP_ERR_SYNTAX,
                        "the input ends within a number\na whole message; is the file cut short?");
    hop_failure_place(r->failure, "%.180s: byte 0x%zx", r->trace->file, r->wire.at);
    if (!hop_wire_message(&r->wire, &message))
        return;
    while (hop_wire_next(&message, &field)) {
        if (field.number > 2)
            hop_failure_set(
                r->failure, HOP_ERR_SYNTAX,
                "the first message is no metadata: it has a field %u\na Chakra trace: metadata (version, attributes), "
                "then nodes",
                field.number);
        else if (hop_wire_expect(&message, &field, HOP_WIRE_BYTES,
                                 field.number == 1 ? "version" : "metadata attribute") &&
                 field.number == 1 && field.value > 0 && field.body.data[field.body.at] == 0x0a)
            r->trace->old = true; /* an attribute begins with its name, field 1; no version begins with a line feed */
        hop_failure_place(r->failure, "%.180s: byte 0x%zx", r->trace->file, field.at);
    }
}

void hop_chakra_read(const struct hop_source *source, bool control, struct hop_chakra_trace *trace,
                     struct hop_failure *failure)
{
    struct reader r = {.trace = trace, .failure = failure, .control = control};
    struct hop_protobuf_wire message;
    trace->file = hop_arena_string(&trace->arena, source->name, strlen(source->name));
    if (!hop_failure_none(failure, trace->file))
        return;
    r.wire = (struct hop_protobuf_wire){trace->file, (const uint8_t *)source->text, 0, source->size, failure};
    read_metadata(&r);
    while (hop_wire_message(&r.wire, &message))
        read_node(&r, message);
    if (failure->status == HOP_OK)
        resolve(&r);
    hop_arena_finish(&r.scratch);
}
