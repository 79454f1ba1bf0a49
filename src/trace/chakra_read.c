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
#include <jansson.h>
#include <stdio.h>

#include "base/protobuf.h"
#include "schedule/schedule.h"

struct reader {
    struct hop_chakra_trace *trace;
    struct hop_protobuf_wire wire; /* the whole file */
    struct hop_diag *diag;
    bool control;     /* control dependencies count too */
    struct dep *deps; /* of all nodes, one after the other */
    uint32_t dep_count, dep_capacity;
};

/* A dependency until all nodes are known. */
struct dep {
    uint64_t id;
    uint32_t node;
};

enum { NAME_LIMIT = 80 }; /* bytes of a node's name that an operation's can hold beside rank and id */

void hop_chakra_place(const struct hop_chakra_trace *trace, const struct hop_chakra_node *node, struct hop_diag *diag)
{
    hop_diag_place(diag, "%.160s: node %llu (byte 0x%zx)", trace->file, (unsigned long long)node->id, node->at);
}

/* Says where in the file, for fields of messages that are no node yet. */
static enum hop_status refuse_at(const struct reader *r, size_t at, enum hop_status status)
{
    hop_diag_place(r->diag, "%.180s: byte 0x%zx", r->trace->file, at);
    return status;
}

static enum hop_status expect_type(const struct reader *r, const struct hop_wire_field *field, enum hop_wire_type type,
                                   const char *name)
{
    if (field->type == type)
        return HOP_OK;
    hop_fail(r->diag, HOP_ERR_SYNTAX, "field %u (%s) is %s\n%s", field->number, name, hop_wire_type_name(field->type),
             hop_wire_type_name(type));
    return refuse_at(r, field->at, HOP_ERR_SYNTAX);
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

static enum hop_status read_attribute(const struct reader *r, struct hop_protobuf_wire wire,
                                      struct attribute *attribute)
{
    const struct attribute_field *known = r->trace->old ? fields_old : fields_now;
    *attribute = (struct attribute){.name = ""};
    while (wire.at < wire.end) {
        struct hop_wire_field field;
        enum hop_status status = hop_wire_next(&wire, &field, r->diag);
        if (status == HOP_OK && field.number == 1)
            status = expect_type(r, &field, HOP_WIRE_BYTES, "an attribute's name");
        bool value = field.number < ATTRIBUTE_FIELDS && known[field.number].kind != FIELD_SKIP;
        if (status == HOP_OK && value)
            status = expect_type(r, &field, known[field.number].type, "an attribute's value");
        if (status != HOP_OK)
            return status;
        if (field.number == 1) {
            attribute->name = (const char *)field.body.data + field.body.at;
            attribute->name_length = (size_t)field.value;
        } else if (value) {
            set_value(attribute, known[field.number].kind, &field);
        } else if (field.number > 3 && attribute->kind == VALUE_NONE) {
            attribute->kind = VALUE_OTHER;
        }
    }
    return HOP_OK;
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

static enum hop_status wrong_value(const struct reader *r, const struct hop_chakra_node *node,
                                   const struct attribute *attribute, const char *expected)
{
    int length = (int)attribute->name_length, text = (int)(attribute->text_length < 60 ? attribute->text_length : 60);
    if (attribute->kind == VALUE_INTEGER)
        hop_fail(r->diag, HOP_ERR_INVALID, "attribute %.*s is %lld", length, attribute->name,
                 (long long)attribute->integer);
    else if (attribute->kind == VALUE_REAL)
        hop_fail(r->diag, HOP_ERR_INVALID, "attribute %.*s is %g", length, attribute->name, attribute->real);
    else if (attribute->kind == VALUE_TEXT)
        hop_fail(r->diag, HOP_ERR_INVALID, "attribute %.*s is the text '%.*s'", length, attribute->name, text,
                 attribute->text);
    else
        hop_fail(r->diag, HOP_ERR_INVALID, "attribute %.*s has no single value", length, attribute->name);
    hop_chakra_place(r->trace, node, r->diag);
    hop_diag_expect(r->diag, "%s", expected);
    return HOP_ERR_INVALID;
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

static enum hop_status set_number(const struct reader *r, struct hop_chakra_node *node,
                                  const struct attribute *attribute, size_t row)
{
    int64_t value = attribute->integer;
    bool fine = attribute->kind == VALUE_INTEGER || (attribute->kind == VALUE_TEXT && digits(attribute, &value));
    if (!fine || value < 0 || value > numbers[row].most)
        return wrong_value(r, node, attribute, numbers[row].expected);
    node->numbers[numbers[row].number] = value;
    return HOP_OK;
}

static enum hop_status set_duration(const struct reader *r, struct hop_chakra_node *node,
                                    const struct attribute *attribute)
{
    int64_t value = attribute->integer;
    bool whole = attribute->kind == VALUE_INTEGER || (attribute->kind == VALUE_TEXT && digits(attribute, &value));
    double us = whole ? (double)value : attribute->kind == VALUE_REAL ? attribute->real : -1;
    if (!(us >= 0 && us <= 1e18))
        return wrong_value(r, node, attribute, "microseconds from 0 to 1e18");
    node->duration_s = us / 1e6;
    return HOP_OK;
}

static enum hop_status set_group(const struct reader *r, struct hop_chakra_node *node,
                                 const struct attribute *attribute)
{
    char text[24];
    size_t length = attribute->text_length;
    const char *name = attribute->text;
    if (attribute->kind == VALUE_INTEGER) {
        length = (size_t)snprintf(text, sizeof text, "%lld", (long long)attribute->integer);
        name = text;
    }
    if ((attribute->kind != VALUE_TEXT && attribute->kind != VALUE_INTEGER) || memchr(name, '\0', length))
        return wrong_value(r, node, attribute, "the name or number of a process group");
    node->group = hop_arena_string(&r->trace->arena, name, length);
    return node->group ? HOP_OK : hop_fail_memory(r->diag);
}

static enum hop_status set_attribute(const struct reader *r, struct hop_chakra_node *node,
                                     const struct attribute *attribute)
{
    for (size_t i = 0; i < HOP_COUNT(numbers); i++) {
        if (is_named(attribute, numbers[i].name))
            return set_number(r, node, attribute, i);
    }
    if (is_named(attribute, "runtime") || is_named(attribute, "duration_micros"))
        return set_duration(r, node, attribute);
    if (is_named(attribute, "pg_name") || is_named(attribute, "comm_group"))
        return set_group(r, node, attribute);
    if (is_named(attribute, "stream") && attribute->kind == VALUE_INTEGER && attribute->integer >= 0)
        node->numbers[HOP_CHAKRA_STREAM] = attribute->integer;
    return HOP_OK;
}

/* ---- process groups ---- */

static enum hop_status add_group(struct hop_chakra_trace *trace, const json_t *entry, bool *fine, struct hop_diag *diag)
{
    const char *name = json_string_value(json_object_get(entry, "pg_name"));
    const json_t *ranks = json_object_get(entry, "ranks");
    struct hop_chakra_group group = {.count = (uint32_t)json_array_size(ranks)};
    *fine = name && json_is_array(ranks) && json_array_size(ranks) <= HOP_CHAKRA_RANKS;
    if (!*fine)
        return HOP_OK;
    group.name = hop_arena_string(&trace->arena, name, strlen(name));
    group.ranks = hop_arena_alloc(&trace->arena, (group.count + 1) * sizeof *group.ranks);
    if (!group.name || !group.ranks ||
        !hop_grow(&trace->groups, &trace->group_capacity, trace->group_count + 1, sizeof *trace->groups))
        return hop_fail_memory(diag);
    for (uint32_t i = 0; i < group.count; i++) {
        const json_t *rank = json_array_get(ranks, i);
        *fine = *fine && json_is_integer(rank) && json_integer_value(rank) >= 0 &&
                json_integer_value(rank) < HOP_CHAKRA_RANKS;
        group.ranks[i] = (uint32_t)json_integer_value(rank);
    }
    trace->groups[trace->group_count++] = group;
    return HOP_OK;
}

/* A metadata node's inputs that list process groups: JSON, in ['...']. */
static enum hop_status read_groups(const struct reader *r, const struct hop_chakra_node *node, const char *text,
                                   size_t length)
{
    static const char key[] = "\"pg_name\"";
    if (length < 4 || !memmem(text, length, key, sizeof key - 1))
        return HOP_OK;
    json_t *list = json_loadb(text + 2, length - 4, 0, NULL);
    bool fine = json_is_array(list);
    enum hop_status status = HOP_OK;
    for (size_t i = 0; fine && status == HOP_OK && i < json_array_size(list); i++)
        status = add_group(r->trace, json_array_get(list, i), &fine, r->diag);
    json_decref(list);
    if (status == HOP_OK && !fine) {
        status = hop_fail(r->diag, HOP_ERR_SYNTAX, "the process groups that a metadata node lists cannot be read");
        hop_chakra_place(r->trace, node, r->diag);
        hop_diag_expect(r->diag, "['[{\"pg_name\": \"1\", \"ranks\": [0, 1]}, ...]']");
    }
    return status;
}

/* ---- nodes ---- */

/* One dependency, or many in one field; kept, or only counted. */
static enum hop_status read_deps(struct reader *r, const struct hop_wire_field *field, bool keep)
{
    struct hop_protobuf_wire rest = field->body;
    bool packed = field->type == HOP_WIRE_BYTES;
    enum hop_status status = packed ? HOP_OK : expect_type(r, field, HOP_WIRE_VARINT, "dependencies");
    while (status == HOP_OK && (!packed || rest.at < rest.end)) {
        uint64_t id = field->value;
        if (packed)
            status = hop_wire_varint(&rest, &id, r->diag);
        if (status != HOP_OK)
            return status;
        if (keep && !hop_grow(&r->deps, &r->dep_capacity, r->dep_count + 1, sizeof *r->deps))
            return hop_fail_memory(r->diag);
        if (keep)
            r->deps[r->dep_count++] = (struct dep){id, r->trace->count};
        r->trace->left_out += !keep;
        if (!packed)
            break;
    }
    return status;
}

/* Kept with a '.' in front, as it will stand in an operation's name; dropped if it cannot. */
static enum hop_status set_name(const struct reader *r, struct hop_chakra_node *node,
                                const struct hop_wire_field *field)
{
    char text[NAME_LIMIT + 2] = ".";
    size_t length = (size_t)field->value;
    node->name = NULL;
    if (length == 0 || length > NAME_LIMIT)
        return HOP_OK;
    memcpy(text + 1, field->body.data + field->body.at, length);
    if (!hop_op_name_check(text, length + 1, NULL))
        return HOP_OK;
    node->name = hop_arena_string(&r->trace->arena, text, length + 1);
    return node->name ? HOP_OK : hop_fail_memory(r->diag);
}

static enum hop_status read_type(const struct reader *r, struct hop_chakra_node *node,
                                 const struct hop_wire_field *field)
{
    if (field->value >= HOP_CHAKRA_TYPES) {
        hop_fail(r->diag, HOP_ERR_INVALID, "a node has the unknown type %llu", (unsigned long long)field->value);
        hop_chakra_place(r->trace, node, r->diag);
        hop_diag_expect(r->diag, "0 to %d (7: a collective, 5 and 6: send and receive, 4: computation)",
                        HOP_CHAKRA_TYPES - 1);
        return HOP_ERR_INVALID;
    }
    node->type = (enum hop_chakra_type)field->value;
    return HOP_OK;
}

static enum hop_status read_field(struct reader *r, struct hop_chakra_node *node, const struct hop_wire_field *field)
{
    bool old = r->trace->old;
    enum hop_status status = HOP_OK;
    struct attribute attribute;
    if (field->number == (old ? 11 : 10)) {
        status = expect_type(r, field, HOP_WIRE_BYTES, "an attribute");
        if (status == HOP_OK)
            status = read_attribute(r, field->body, &attribute);
        return status == HOP_OK ? set_attribute(r, node, &attribute) : status;
    }
    switch (field->number) {
    case 2:
        status = expect_type(r, field, HOP_WIRE_BYTES, "name");
        return status == HOP_OK ? set_name(r, node, field) : status;
    case 3:
        status = expect_type(r, field, HOP_WIRE_VARINT, "type");
        return status == HOP_OK ? read_type(r, node, field) : status;
    case 4:
        return read_deps(r, field, old || r->control);
    case 5:
        return old ? HOP_OK : read_deps(r, field, true);
    case 7:
        if (old)
            return HOP_OK;
        status = expect_type(r, field, HOP_WIRE_VARINT, "duration_micros");
        if (status == HOP_OK && field->value > 0)
            node->duration_s = (double)field->value / 1e6;
        return status;
    default:
        return HOP_OK;
    }
}

/* The id is wanted for diagnostics, wherever it stands. */
static enum hop_status find_id(const struct reader *r, struct hop_protobuf_wire wire, uint64_t *id)
{
    *id = 0;
    while (wire.at < wire.end) {
        struct hop_wire_field field;
        enum hop_status status = hop_wire_next(&wire, &field, r->diag);
        if (status == HOP_OK && field.number == 1)
            status = expect_type(r, &field, HOP_WIRE_VARINT, "id");
        if (status != HOP_OK)
            return status;
        if (field.number == 1)
            *id = field.value;
    }
    return HOP_OK;
}

/* A metadata node's field 8 holds, in its field 1, what it was called with. */
static enum hop_status read_inputs(const struct reader *r, const struct hop_chakra_node *node,
                                   struct hop_protobuf_wire wire)
{
    while (wire.at < wire.end) {
        struct hop_wire_field field, value;
        enum hop_status status = hop_wire_next(&wire, &field, r->diag);
        if (status != HOP_OK)
            return status;
        if (field.number != 8)
            continue;
        status = expect_type(r, &field, HOP_WIRE_BYTES, "inputs");
        for (struct hop_protobuf_wire rest = field.body; status == HOP_OK && rest.at < rest.end;) {
            status = hop_wire_next(&rest, &value, r->diag);
            if (status == HOP_OK && value.number == 1)
                status = expect_type(r, &value, HOP_WIRE_BYTES, "inputs.values");
            if (status == HOP_OK && value.number == 1)
                status = read_groups(r, node, (const char *)value.body.data + value.body.at, (size_t)value.value);
        }
        if (status != HOP_OK)
            return status;
    }
    return HOP_OK;
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

static enum hop_status read_node(struct reader *r, struct hop_protobuf_wire wire)
{
    struct hop_chakra_trace *trace = r->trace;
    struct hop_chakra_node node = {.at = wire.at, .duration_s = -1};
    memset(node.numbers, -1, sizeof node.numbers);
    enum hop_status status = find_id(r, wire, &node.id);
    for (struct hop_protobuf_wire rest = wire; status == HOP_OK && rest.at < rest.end;) {
        struct hop_wire_field field;
        status = hop_wire_next(&rest, &field, r->diag);
        if (status == HOP_OK)
            status = read_field(r, &node, &field);
    }
    if (status == HOP_OK && node.type == HOP_CHAKRA_METADATA && !trace->old)
        status = read_inputs(r, &node, wire);
    if (status != HOP_OK)
        return status;
    if (is_call(&node)) {
        node.type = HOP_CHAKRA_COMPUTE;
        trace->calls++;
    }
    if (trace->count >= HOP_CHAKRA_NODES) {
        hop_fail(r->diag, HOP_ERR_LIMIT, "more than %u nodes", HOP_CHAKRA_NODES);
        return refuse_at(r, node.at, HOP_ERR_LIMIT);
    }
    if (!hop_grow(&trace->nodes, &trace->capacity, trace->count + 1, sizeof *trace->nodes))
        return hop_fail_memory(r->diag);
    trace->nodes[trace->count++] = node;
    return HOP_OK;
}

/* ---- dependencies ---- */

struct place_of_id {
    uint64_t id;
    uint32_t node;
};

static int compare_ids(const void *a, const void *b)
{
    const struct place_of_id *left = a, *right = b;
    if (left->id != right->id)
        return left->id < right->id ? -1 : 1;
    return left->node < right->node ? -1 : 1;
}

static uint32_t find_node(const struct place_of_id *index, uint32_t count, uint64_t id)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (index[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return low < count && index[low].id == id ? index[low].node : HOP_NONE;
}

/* The ids of its dependencies, first to end - 1 of all, become nodes, each once, in file order. */
static enum hop_status resolve_node(const struct reader *r, struct hop_chakra_node *node, uint32_t first, uint32_t end,
                                    const struct place_of_id *index)
{
    uint32_t kept = 0, own = (uint32_t)(node - r->trace->nodes);
    node->after = hop_arena_alloc(&r->trace->arena, (end - first) * sizeof *node->after);
    if (!node->after)
        return hop_fail_memory(r->diag);
    for (uint32_t i = first; i < end; i++) {
        uint32_t found = find_node(index, r->trace->count, r->deps[i].id);
        if (found == HOP_NONE || found == own) {
            hop_fail(r->diag, HOP_ERR_INVALID, "a node depends on %s %llu",
                     found == own ? "itself, node" : "a missing node,", (unsigned long long)r->deps[i].id);
            hop_chakra_place(r->trace, node, r->diag);
            hop_diag_expect(r->diag, "the id of another node in the same file; is the file cut short?");
            return HOP_ERR_INVALID;
        }
        node->after[kept++] = found;
    }
    qsort(node->after, kept, sizeof *node->after, hop_ascending_u32);
    for (uint32_t i = 0; i < kept; i++) {
        if (i == 0 || node->after[i] != node->after[i - 1])
            node->after[node->after_count++] = node->after[i];
    }
    return HOP_OK;
}

static enum hop_status resolve(const struct reader *r)
{
    struct hop_chakra_trace *trace = r->trace;
    struct place_of_id *index = malloc(((size_t)trace->count + 1) * sizeof *index);
    enum hop_status status = index ? HOP_OK : hop_fail_memory(r->diag);
    for (uint32_t i = 0; index && i < trace->count; i++)
        index[i] = (struct place_of_id){trace->nodes[i].id, i};
    if (index)
        qsort(index, trace->count, sizeof *index, compare_ids);
    for (uint32_t i = 1; i < trace->count && status == HOP_OK; i++) {
        if (index[i].id == index[i - 1].id) {
            status = hop_fail(r->diag, HOP_ERR_INVALID, "there are two nodes with the id %llu",
                              (unsigned long long)index[i].id);
            hop_chakra_place(trace, &trace->nodes[index[i].node], r->diag);
            hop_diag_expect(r->diag, "ids used once; the first is at byte 0x%zx", trace->nodes[index[i - 1].node].at);
        }
    }
    for (uint32_t i = 0, first = 0, next = 0; i < trace->count && status == HOP_OK; i++, first = next) {
        while (next < r->dep_count && r->deps[next].node == i)
            next++;
        status = resolve_node(r, &trace->nodes[i], first, next, index);
    }
    free(index);
    return status;
}

/* ---- the file ---- */

/* The metadata tell which schema it is: an attribute in field 1, which is a version now. */
static enum hop_status read_metadata(struct reader *r)
{
    struct hop_protobuf_wire message;
    enum hop_status status = hop_wire_message(&r->wire, &message, r->diag);
    while (status == HOP_OK && message.at < message.end) {
        struct hop_wire_field field;
        status = hop_wire_next(&message, &field, r->diag);
        if (status == HOP_OK && field.number <= 2)
            status = expect_type(r, &field, HOP_WIRE_BYTES, field.number == 1 ? "version" : "metadata attribute");
        if (status == HOP_OK && field.number > 2) {
            hop_fail(r->diag, HOP_ERR_SYNTAX,
                     "the first message is no metadata: it has a field %u\na Chakra trace: metadata (version, "
                     "attributes), then nodes",
                     field.number);
            status = refuse_at(r, field.at, HOP_ERR_SYNTAX);
        }
        if (status == HOP_OK && field.number == 1 && field.value > 0 && field.body.data[field.body.at] == 0x0a)
            r->trace->old = true; /* an attribute begins with its name, field 1; no version begins with a line feed */
    }
    return status;
}

enum hop_status hop_chakra_read(const struct hop_source *source, bool control, struct hop_chakra_trace *trace,
                                struct hop_diag *diag)
{
    struct hop_chakra_trace made = {0};
    struct reader r = {.trace = &made, .diag = diag, .control = control};
    made.file = hop_arena_string(&made.arena, source->name, strlen(source->name));
    if (!made.file) {
        hop_chakra_finish(&made);
        return hop_fail_memory(diag);
    }
    r.wire = (struct hop_protobuf_wire){made.file, (const uint8_t *)source->text, 0, source->size};
    enum hop_status status = read_metadata(&r);
    while (status == HOP_OK && r.wire.at < r.wire.end) {
        struct hop_protobuf_wire message;
        status = hop_wire_message(&r.wire, &message, diag);
        if (status == HOP_OK)
            status = read_node(&r, message);
    }
    if (status == HOP_OK)
        status = resolve(&r);
    free(r.deps);
    if (status == HOP_OK)
        *trace = made;
    else
        hop_chakra_finish(&made);
    return status;
}

void hop_chakra_finish(struct hop_chakra_trace *trace)
{
    free(trace->nodes);
    free(trace->groups);
    hop_arena_finish(&trace->arena);
    *trace = (struct hop_chakra_trace){0};
}
