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
    const char *file;    /* for diagnostics */
    const uint8_t *data; /* the whole file */
    size_t at, end;      /* of the rest, in data */
};

struct hop_wire_field {
    uint32_t number;
    enum hop_wire_type type;
    size_t at;            /* of its key */
    uint64_t value;       /* a varint's or the fixed bits; of bytes: their number */
    struct hop_protobuf_wire body; /* bytes: them, also as a message */
};

/* A number at the front, which is taken away. Refused: an end within it, more than 64 bits. */
enum hop_status hop_wire_varint(struct hop_protobuf_wire *wire, uint64_t *value, struct hop_diag *diag);
/* A message with its length in front (what stands in a file one after the other). */
enum hop_status hop_wire_message(struct hop_protobuf_wire *wire, struct hop_protobuf_wire *message,
                                 struct hop_diag *diag);
/* The next field; only to be called while wire->at < wire->end. Refused: ends within it, groups, unknown types. */
enum hop_status hop_wire_next(struct hop_protobuf_wire *wire, struct hop_wire_field *field, struct hop_diag *diag);

/* The type's name, as in "bytes". */
const char *hop_wire_type_name(enum hop_wire_type type);
/* The bits as what a schema says they are. */
int64_t hop_wire_zigzag(uint64_t value);
double hop_wire_double(uint64_t bits);
double hop_wire_float(uint64_t bits);

#endif
