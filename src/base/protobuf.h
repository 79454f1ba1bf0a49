/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Protocol buffers, wire format: walks through the fields of a message without knowing its schema.
 *
 *     message:   field field ...                      field:   key value
 *     key:       varint, number << 3 | type           varint:  7 bits a byte, low ones first, high bit set: more follow
 *     value:     varint | 8 bytes | length, bytes | 4 bytes
 *
 * Every step is checked against the end of its message. A place in a diagnostic is "file: byte 0x1a3", counted from the
 * start of the file.
 */
#ifndef HOP_BASE_PROTOBUF_H
#define HOP_BASE_PROTOBUF_H

#include "base/base.h"

enum hop_wire_type { HOP_WIRE_VARINT = 0, HOP_WIRE_FIXED64 = 1, HOP_WIRE_BYTES = 2, HOP_WIRE_FIXED32 = 5 };

/* What is left of a message, or of a file. */
struct hop_protobuf_wire {
    const char *file;            /* for diagnostics */
    const uint8_t *data;         /* the whole file */
    size_t at, end;              /* of the rest, in data */
    struct hop_failure *failure; /* after it there is nothing more to read */
};

struct hop_wire_field {
    uint32_t number;
    enum hop_wire_type type;
    size_t at;            /* of its key */
    uint64_t value;       /* a varint's or the fixed bits; of bytes: their number */
    struct hop_protobuf_wire body; /* bytes: them, also as a message */
};

/* Each takes what it reads from the front; false: nothing is left, or that failed. */
/* A number. Refused: an end within it, more than 64 bits. */
bool hop_wire_varint(struct hop_protobuf_wire *wire, uint64_t *value);
/* A message with its length in front (what stands in a file one after the other). */
bool hop_wire_message(struct hop_protobuf_wire *wire, struct hop_protobuf_wire *message);
/* The next field. Refused: ends within it, groups, unknown types. */
bool hop_wire_next(struct hop_protobuf_wire *wire, struct hop_wire_field *field);

/* Whether a field called `name` has that type, which is a failure otherwise. */
bool hop_wire_expect(const struct hop_protobuf_wire *wire, const struct hop_wire_field *field, enum hop_wire_type type,
                     const char *name);
/* The bits as what a schema says they are. */
int64_t hop_wire_zigzag(uint64_t value);
double hop_wire_double(uint64_t bits);
double hop_wire_float(uint64_t bits);

#endif
