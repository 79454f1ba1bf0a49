/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire format of protocol buffers, bounds checked. */
#include "base/protobuf.h"

#define FIELD_LIMIT ((1u << 29) - 1) /* the highest number that the format allows */

/* Places a failure just set at a byte of the file. */
static bool refuse(const struct hop_protobuf_wire *wire, size_t at)
{
    hop_failure_place(wire->failure, "%.180s: byte 0x%zx", wire->file, at);
    return false;
}

bool hop_wire_varint(struct hop_protobuf_wire *wire, uint64_t *value)
{
    enum { BYTES = 10 }; /* of 64 bits, 7 a byte */
    const uint8_t *bytes = wire->data + wire->at;
    size_t left = wire->end - wire->at;
    if (wire->failure->status != HOP_OK || left == 0)
        return false;
    *value = 0;
    for (unsigned i = 0; i < BYTES && i < left && !(i == BYTES - 1 && bytes[i] > 1); i++) {
        *value |= (uint64_t)(bytes[i] & 0x7f) << (7 * i);
        if (bytes[i] < 0x80) {
            wire->at += i + 1;
            return true;
        }
    }
    if (left < BYTES)
        hop_failure_set(wire->failure, HOP_ERR_SYNTAX,
                        "the input ends within a number\na whole message; is the file cut short?");
    hop_failure_set(wire->failure, HOP_ERR_SYNTAX, "a number has more than 64 bits\na varint of at most %u bytes",
                    (unsigned)BYTES);
    return refuse(wire, wire->at);
}

/* A number that must be there. */
static bool read_number(struct hop_protobuf_wire *wire, uint64_t *value)
{
    if (wire->at == wire->end)
        hop_failure_set(wire->failure, HOP_ERR_SYNTAX,
                        "the input ends within a number\na whole message; is the file cut short?");
    return hop_wire_varint(wire, value) || refuse(wire, wire->at);
}

/* Takes so many bytes. */
static bool take(struct hop_protobuf_wire *wire, uint64_t size, size_t start, struct hop_protobuf_wire *body)
{
    if (size > wire->end - wire->at) {
        hop_failure_set(wire->failure, HOP_ERR_SYNTAX,
                        "%llu bytes are announced, %zu are left\na whole message; is the file cut short?",
                        (unsigned long long)size, wire->end - wire->at);
        return refuse(wire, start);
    }
    *body = *wire;
    wire->at += (size_t)size;
    body->end = wire->at;
    return true;
}

bool hop_wire_message(struct hop_protobuf_wire *wire, struct hop_protobuf_wire *message)
{
    size_t start = wire->at;
    uint64_t size;
    return hop_wire_varint(wire, &size) && take(wire, size, start, message);
}

static bool read_fixed(struct hop_protobuf_wire *wire, struct hop_wire_field *field, unsigned size)
{
    if (!take(wire, size, field->at, &field->body))
        return false;
    for (unsigned i = 0; i < size; i++)
        field->value |= (uint64_t)field->body.data[field->body.at + i] << (8 * i);
    return true;
}

bool hop_wire_next(struct hop_protobuf_wire *wire, struct hop_wire_field *field)
{
    uint64_t key;
    *field = (struct hop_wire_field){.at = wire->at};
    if (!hop_wire_varint(wire, &key))
        return false;
    field->type = (enum hop_wire_type)(key & 7);
    if (key >> 3 == 0 || key >> 3 > FIELD_LIMIT) {
        hop_failure_set(wire->failure, HOP_ERR_SYNTAX, "a field has the number %llu\n1 to %u",
                        (unsigned long long)(key >> 3), FIELD_LIMIT);
        return refuse(wire, field->at);
    }
    field->number = (uint32_t)(key >> 3);
    switch (field->type) {
    case HOP_WIRE_VARINT:
        return read_number(wire, &field->value);
    case HOP_WIRE_FIXED64:
        return read_fixed(wire, field, 8);
    case HOP_WIRE_FIXED32:
        return read_fixed(wire, field, 4);
    case HOP_WIRE_BYTES:
        return read_number(wire, &field->value) && take(wire, field->value, field->at, &field->body);
    }
    hop_failure_set(wire->failure, HOP_ERR_SYNTAX,
                    "field %u has the wire type %u\n0 (varint), 1 (8 bytes), 2 (bytes) or 5 (4 bytes)", field->number,
                    (unsigned)field->type);
    return refuse(wire, field->at);
}

bool hop_wire_expect(const struct hop_protobuf_wire *wire, const struct hop_wire_field *field, enum hop_wire_type type,
                     const char *name)
{
    static const char *const names[] = {[HOP_WIRE_VARINT] = "a varint",
                                        [HOP_WIRE_FIXED64] = "8 bytes",
                                        [HOP_WIRE_BYTES] = "bytes with a length",
                                        [HOP_WIRE_FIXED32] = "4 bytes"};
    if (field->type == type)
        return true;
    hop_failure_set(wire->failure, HOP_ERR_SYNTAX, "field %u (%s) is %s\n%s", field->number, name, names[field->type],
                    names[type]);
    return refuse(wire, field->at);
}

int64_t hop_wire_zigzag(uint64_t value)
{
    return (int64_t)(value >> 1 ^ (0 - (value & 1)));
}

double hop_wire_double(uint64_t bits)
{
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

double hop_wire_float(uint64_t bits)
{
    uint32_t half = (uint32_t)bits;
    float value;
    memcpy(&value, &half, sizeof value);
    return value;
}
