/* SPDX-License-Identifier: BSD-3-Clause */
/* Results beside the definition of their collective: see definition.h. */
#include <inttypes.h>
#include <stdio.h>

#include "collective/collective.h"
#include "run/definition.h"

enum { PIECE = 1 << 18 }; /* bytes; a multiple of every element */

struct checking {
    struct hop_program *program;
    const struct hop_collective_options *what;
    uint64_t seed, *wrong;
    const uint64_t *start;
    const char *memory;
    struct hop_diag *diag;
    char *wanted, *more; /* PIECE bytes each */
};

/* An element as a number, or its bits where C has no such type. */
static const char *show_element(enum hop_type type, const char *bytes, char *text, size_t size)
{
    union {
        double f64;
        float f32;
        int8_t i8;
        int16_t i16;
        int32_t i32;
        int64_t i64;
        uint64_t bits;
    } value = {.bits = 0};
    memcpy(&value, bytes, hop_type_bytes(type));
    if (type == HOP_TYPE_F64 || type == HOP_TYPE_F32)
        (void)snprintf(text, size, "%g", type == HOP_TYPE_F64 ? value.f64 : (double)value.f32);
    else if (type == HOP_TYPE_I8 || type == HOP_TYPE_I16)
        (void)snprintf(text, size, "%d", type == HOP_TYPE_I8 ? value.i8 : value.i16);
    else if (type == HOP_TYPE_I32 || type == HOP_TYPE_I64)
        (void)snprintf(text, size, "%" PRId64, type == HOP_TYPE_I64 ? value.i64 : (int64_t)value.i32);
    else if (hop_type_is_whole(type))
        (void)snprintf(text, size, "%" PRIu64, value.bits);
    else
        (void)snprintf(text, size, "0x%04" PRIx64, value.bits);
    return text;
}

/* The first wrong one: of that rank's result, whose bytes from `at` on stand at `has` (NULL: there is no such buffer). */
static void tell(const struct checking *c, uint32_t rank, uint64_t at, const char *name, const char *has,
                 const char *wanted)
{
    enum hop_type type = c->what->type;
    char it[32] = "nothing", other[32];
    (void)hop_fail(c->diag, HOP_ERR_INVALID,
                   "the schedule is no %s: it leaves %s in element %" PRIu64 " of rank %u's %s\n%s",
                   hop_collective_name(c->what->kind), has ? show_element(type, has, it, sizeof it) : it,
                   at / hop_type_bytes(type), rank, name, show_element(type, wanted, other, sizeof other));
}

static void compare(struct checking *c, uint32_t rank, uint64_t at, const char *wanted, uint64_t bytes)
{
    const struct hop_layout *layout = &c->program->layout;
    const char *name = c->what->in_place ? "data" : "out", *has = NULL;
    uint64_t width = hop_type_bytes(c->what->type);
    uint32_t b = 0;
    while (b < layout->buffer_count && !(layout->buffers[b].rank == rank && strcmp(layout->buffers[b].name, name) == 0))
        b++;
    if (b < layout->buffer_count && at + bytes <= layout->buffers[b].bytes)
        has = c->memory + c->start[b] + at;
    else if (c->what->in_place && hop_definition_ranks(c->program) <= 1)
        return; /* nothing moves: it stays where it is */
    for (uint64_t i = 0; i < bytes; i++) {
        if (has && has[i] == wanted[i])
            continue;
        uint64_t first = i - (at + i) % width;
        if ((*c->wrong)++ == 0)
            tell(c, rank, at + first, name, has ? has + first : NULL, wanted + first);
    }
    hop_team_beat(c->program->team);
}

/* What a rank put in, from that byte on. */
static void make_input(const struct checking *c, uint32_t rank, uint64_t at, uint64_t bytes, char *to)
{
    uint64_t all, first = hop_definition_input(c->what, hop_definition_ranks(c->program), rank, &all);
    hop_program_make_bytes(c->program, c->seed, rank, c->what->in_place ? "data" : "in", first + at, bytes, to);
}

static void check_moved(struct checking *c, uint32_t rank, uint64_t at, uint32_t from, uint64_t from_at, uint64_t bytes)
{
    for (uint64_t done = 0, piece; done < bytes; done += piece) {
        piece = bytes - done < PIECE ? bytes - done : PIECE;
        make_input(c, from, from_at + done, piece, c->wanted);
        compare(c, rank, at + done, c->wanted, piece);
    }
}

/* The element-wise result of all ranks' vectors, a piece of it. */
static enum hop_status combine(struct checking *c, uint64_t at, uint64_t bytes)
{
    const void *inputs[] = {c->wanted, c->more};
    void *output = c->wanted;
    const struct hop_reduction add = {.reduce = c->what->reduce,
                                      .type = c->what->type,
                                      .inputs = inputs,
                                      .outputs = &output,
                                      .input_count = 2,
                                      .output_count = 1,
                                      .count = bytes / hop_type_bytes(c->what->type)};
    make_input(c, 0, at, bytes, c->wanted);
    for (uint32_t r = 1; r < hop_definition_ranks(c->program); r++) {
        make_input(c, r, at, bytes, c->more);
        HOP_CHECK(hop_reduce_on_host(&add, c->diag));
        hop_team_beat(c->program->team);
    }
    return HOP_OK;
}

static enum hop_status check_reduced(struct checking *c)
{
    uint32_t ranks = hop_definition_ranks(c->program);
    for (uint64_t at = 0, piece; at < c->what->vector_bytes; at += piece) {
        piece = c->what->vector_bytes - at < PIECE ? c->what->vector_bytes - at : PIECE;
        HOP_CHECK(combine(c, at, piece));
        for (uint32_t r = 0; r < ranks; r++) {
            uint64_t bytes, end, begin = hop_definition_result(c->what, ranks, r, &bytes);
            uint64_t own = c->what->kind == HOP_COLLECTIVE_REDUCE_SCATTER ? hop_definition_part(c->what, ranks, r) : 0;
            end = own + bytes < at + piece ? own + bytes : at + piece;
            uint64_t from = own > at ? own : at;
            if (bytes > 0 && from < end)
                compare(c, r, begin + from - own, c->wanted + (from - at), end - from);
        }
    }
    return HOP_OK;
}

static void check_all_moved(struct checking *c)
{
    uint32_t ranks = hop_definition_ranks(c->program);
    for (uint32_t r = 0; r < ranks; r++) {
        uint64_t bytes, at = hop_definition_result(c->what, ranks, r, &bytes), part = bytes / ranks, begin, end;
        if (c->what->kind == HOP_COLLECTIVE_BROADCAST || c->what->kind == HOP_COLLECTIVE_SCATTER)
            check_moved(c, r, at, c->what->root,
                        c->what->kind == HOP_COLLECTIVE_SCATTER ? hop_definition_part(c->what, ranks, r) : 0, bytes);
        else
            for (uint32_t q = 0; q < ranks && bytes > 0; q++) {
                bool gathers = hop_collective_gathers(c->what->kind);
                begin = gathers ? hop_definition_part(c->what, ranks, q) : q * part;
                end = gathers ? hop_definition_part(c->what, ranks, q + 1) : begin + part;
                check_moved(c, r, at + begin, q, gathers ? 0 : hop_definition_part(c->what, ranks, r), end - begin);
            }
    }
}

enum hop_status hop_definition_check(struct hop_program *program, uint64_t seed, const uint64_t *start,
                                     const char *memory, uint64_t *wrong, struct hop_diag *diag)
{
    const struct hop_collective_options *what = program->options.definition;
    struct checking c = {program, what, seed, wrong, start, memory, diag, malloc(PIECE), malloc(PIECE)};
    enum hop_status status = c.wanted && c.more ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK && hop_collective_reduces(what->kind))
        status = check_reduced(&c);
    else if (status == HOP_OK)
        check_all_moved(&c);
    free(c.wanted);
    free(c.more);
    return status;
}
