/* SPDX-License-Identifier: BSD-3-Clause */
/* The numbers that buffers are filled with. */
#include "base/random.h"
#include "run/program.h"

/* The element type in which numbers are small and whole: that of the first reduction. */
static enum hop_type element_type(const struct hop_schedule *schedule, bool *typed)
{
    *typed = false;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (op->kind == HOP_OP_REDUCE) {
            *typed = true;
            return op->type;
        }
    }
    return HOP_TYPE_I32;
}

/* 1 to 4, so that products of a few dozen ranks stay finite and sums exact. 1.0 to 4.0 in f16 and bf16 by their bits. */
static void put_element(enum hop_type type, uint64_t random, char *at)
{
    static const uint16_t half[] = {0x3c00, 0x4000, 0x4200, 0x4400}, brain[] = {0x3f80, 0x4000, 0x4040, 0x4080};
    uint64_t value = 1 + random % 4;
    double f64 = (double)value;
    float f32 = (float)value;
    int32_t i32 = (int32_t)value;
    int16_t i16 = (int16_t)value;
    int8_t i8 = (int8_t)value;
    const void *bytes[] = {[HOP_TYPE_F64] = &f64,
                           [HOP_TYPE_F32] = &f32,
                           [HOP_TYPE_F16] = &half[value - 1],
                           [HOP_TYPE_BF16] = &brain[value - 1],
                           [HOP_TYPE_I32] = &i32,
                           [HOP_TYPE_I64] = &value,
                           [HOP_TYPE_I8] = &i8,
                           [HOP_TYPE_U8] = &i8,
                           [HOP_TYPE_I16] = &i16,
                           [HOP_TYPE_U16] = &i16,
                           [HOP_TYPE_U32] = &i32,
                           [HOP_TYPE_U64] = &value};
    memcpy(at, bytes[type], hop_type_bytes(type));
}


void hop_program_make_bytes(const struct hop_program *program, uint64_t seed, uint32_t rank, const char *buffer,
                            uint64_t first, uint64_t bytes, char *to)
{
    bool typed;
    enum hop_type type = element_type(program->schedule, &typed);
    uint64_t size = typed ? hop_type_bytes(type) : 8, name = 0;
    for (const char *c = buffer; *c; c++)
        name = name * 131 + (unsigned char)*c;
    uint64_t key = hop_draw_from(seed ^ hop_draw_from(name ^ hop_draw_from(rank)));
    for (uint64_t at = 0, piece; at < bytes; at += piece) {
        char element[8];
        uint64_t random = hop_draw_from(key + (first + at) / size), skip = (first + at) % size;
        if (typed)
            put_element(type, random, element);
        else
            memcpy(element, &random, sizeof element);
        piece = bytes - at < size - skip ? bytes - at : size - skip;
        memcpy(to + at, element + skip, piece);
    }
}
