/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire format of protocol buffers, bounds checked. */
#include "base/protobuf.h"

#define FIELD_LIMIT ((1u << 29) - 1) /* the highest number that the format allows */

/* Fails at a byte of the file. */
static enum hop_status refuse(const struct hop_protobuf_wire *wire, size_t at, struct hop_diag *diag)
{
    hop_diag_place(diag, "%s: byte 0x%zx", wire->file, at);
    return HOP_ERR_SYNTAX;
}

enum hop_status hop_wire_varint(struct hop_protobuf_wire *wire, uint64_t *value, struct hop_diag *diag)
{
    enum { BYTES = 10 }; /* of 64 bits, 7 a byte */
    uint64_t read = 0;
    for (unsigned i = 0; i < BYTES; i++) {
        if (wire->at + i >= wire->end) {
            hop_fail(diag, HOP_ERR_SYNTAX, "the input ends within a number");
            hop_diag_expect(diag, "a whole message; is the file cut short?");
            return refuse(wire, wire->at, diag);
        }
        uint8_t byte = wire->data[wire->at + i];
        if (i == BYTES - 1 && byte > 1)
            break;
        read |= (uint64_t)(byte & 0x7f) << (7 * i);
        if (byte < 0x80) {
            wire->at += i + 1;
            *value = read;
            return HOP_OK;
        }
    }
    hop_fail(diag, HOP_ERR_SYNTAX, "a number has more than 64 bits");
    hop_diag_expect(diag, "a varint of at most %u bytes", (unsigned)BYTES);
    return refuse(wire, wire->at, diag);
}

/* Takes so many bytes. */
static enum hop_status take(struct hop_protobuf_wire *wire, uint64_t size, size_t start, struct hop_protobuf_wire *body,
                            struct hop_diag *diag)
{
    if (size > wire->end - wire->at) {
        hop_fail(diag, HOP_ERR_SYNTAX, "%llu bytes are announced, %zu are left", (unsigned long long)size,
                 wire->end - wire->at);
        hop_diag_expect(diag, "a whole message; is the file cut short?");
        return refuse(wire, start, diag);
    }
    *body = (struct hop_protobuf_wire){wire->file, wire->data, wire->at, wire->at + (size_t)size};
    wire->at += (size_t)size;
    return HOP_OK;
}

enum hop_status hop_wire_message(struct hop_protobuf_wire *wire, struct hop_protobuf_wire *message,
                                 struct hop_diag *diag)
{
    size_t start = wire->at;
    uint64_t size;
    enum hop_status status = hop_wire_varint(wire, &size, diag);
    return status == HOP_OK ? take(wire, size, start, message, diag) : status;
}

static enum hop_status read_fixed(struct hop_protobuf_wire *wire, struct hop_wire_field *field, unsigned size,
                                  struct hop_diag *diag)
{
    struct hop_protobuf_wire body;
    enum hop_status status = take(wire, size, field->at, &body, diag);
    if (status != HOP_OK)
        return status;
    field->value = 0;
    for (unsigned i = 0; i < size; i++)
        field->value |= (uint64_t)body.data[body.at + i] << (8 * i);
    return HOP_OK;
}

enum hop_status hop_wire_next(struct hop_protobuf_wire *wire, struct hop_wire_field *field, struct hop_diag *diag)
{
    uint64_t key;
    *field = (struct hop_wire_field){.at = wire->at};
    enum hop_status status = hop_wire_varint(wire, &key, diag);
    if (status != HOP_OK)
        return status;
    if (key >> 3 == 0 || key >> 3 > FIELD_LIMIT) {
        hop_fail(diag, HOP_ERR_SYNTAX, "a field has the number %llu", (unsigned long long)(key >> 3));
        hop_diag_expect(diag, "1 to %u", FIELD_LIMIT);
        return refuse(wire, field->at, diag);
    }
    field->number = (uint32_t)(key >> 3);
    field->type = (enum hop_wire_type)(key & 7);
    switch (field->type) {
    case HOP_WIRE_VARINT:
        return hop_wire_varint(wire, &field->value, diag);
    case HOP_WIRE_FIXED64:
        return read_fixed(wire, field, 8, diag);
    case HOP_WIRE_FIXED32:
        return read_fixed(wire, field, 4, diag);
    case HOP_WIRE_BYTES:
        status = hop_wire_varint(wire, &field->value, diag);
        return status == HOP_OK ? take(wire, field->value, field->at, &field->body, diag) : status;
    }
    hop_fail(diag, HOP_ERR_SYNTAX, "field %u has the wire type %u", field->number, (unsigned)(key & 7));
    hop_diag_expect(diag, "0 (varint), 1 (8 bytes), 2 (bytes) or 5 (4 bytes)");
    return refuse(wire, field->at, diag);
}

const char *hop_wire_type_name(enum hop_wire_type type)
{
    switch (type) {
    case HOP_WIRE_VARINT:
        return "a varint";
    case HOP_WIRE_FIXED64:
        return "8 bytes";
    case HOP_WIRE_BYTES:
        return "bytes with a length";
    case HOP_WIRE_FIXED32:
        return "4 bytes";
    }
    return "?";
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
