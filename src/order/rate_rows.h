/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows: the rates of every active set of a small simple problem, in a table addressed by arithmetic.
 *
 * Each source carries one of its sends or nothing: a digit, 0 to its number of sends. A set is the number whose bit fields are all
 * digits, source s having the bits from shift[s] on. So sources that end or begin sends change the number without any search.
 *
 *     row i:  [ part of sources 0 to 3 | part of sources 4 to 7 | ... ], by number
 *     part:   [ four rates | four paces ]     rate: shares of the send a second, pace: 1 / rate
 *
 * A source that carries nothing has the rate 0 and the pace INFINITY: whatever it has left, it never ends. What four sources do is the
 * same in many sets, so that parts that are equal are kept once: a walk reads 8 bytes a row for eight sources and a few thousand
 * parts, which stay in a processor's cache where rows written out would not (the 65,536 sets of a halo of eight GPUs: 0.7 MB, not 8).
 *
 * Rows are filled when they are first met, together with their images under the symmetries of the routes. Many threads
 * may use one table, each with its own model.
 */
#ifndef HOP_ORDER_RATE_ROWS_H
#define HOP_ORDER_RATE_ROWS_H

#include <pthread.h>
#include <stdatomic.h>

#include "order/sets.h"

enum { HOP_ROW_SOURCES = 16, HOP_ROW_SENDS = 15, HOP_ROW_ALL_SENDS = 64 };

/* A run met an unclean row if its states, or, have HOP_ROW_MARK. */
enum hop_row_state { HOP_ROW_EMPTY, HOP_ROW_CLEAN = 2, HOP_ROW_UNCLEAN };
enum { HOP_ROW_MARK = HOP_ROW_UNCLEAN & ~HOP_ROW_CLEAN, HOP_ROW_STATES = 3 /* a mask */ };

struct hop_row_part {
    _Alignas(64) double rate[4];
    double pace[4];
};

struct hop_rows {
    const struct hop_problem *problem;
    uint32_t sources, width; /* width: sources rounded up to a multiple of 4 */
    uint32_t count;          /* rows */
    uint32_t shift[HOP_ROW_SOURCES], bits[HOP_ROW_SOURCES], sends[HOP_ROW_SOURCES]; /* bits: a mask */
    uint8_t source_of[32];                                                          /* by bit of a row's number */
    uint32_t field[HOP_ROW_SOURCES / 4][16]; /* the bits of sources 4 i + {those of a mask} */
    uint64_t sends_of[HOP_ROW_SOURCES];      /* bit i is problem->sends[i] */
    uint32_t digit[HOP_ROW_ALL_SENDS];       /* of problem->sends[i], in its source's bits */
    _Atomic(uint32_t)
        *row; /* width / 4 each: 4 times a part's number; of the first, the row's state in the lowest bits */
    struct hop_row_part *part;
    uint32_t part_count;         /* this, the next and parts that no row has yet: with the mutex held */
    uint32_t *known, known_size; /* parts by their rates, number + 1, 0: none; a power of two */
    pthread_mutex_t mutex;
    struct hop_row_image *images;
    uint32_t image_count;
    double bytes[HOP_ROW_SOURCES][HOP_ROW_SENDS + 1];  /* of a digit; 1 of digit 0 */
    uint16_t flow[HOP_ROW_SOURCES][HOP_ROW_SENDS + 1]; /* as in sets: class + 1 */
};

/* Whether a problem fits: simple, few sources, few sends, few sets. */
bool hop_rows_fit(const struct hop_problem *problem);
/* images: of operations, images[g * op_count + op], under symmetries of the routes (sizes may differ), the identity first. */
enum hop_status hop_rows_create(const struct hop_problem *problem, const uint32_t *images, uint32_t image_count,
                                struct hop_rows **rows, struct hop_diag *diag);
void hop_rows_destroy(struct hop_rows *rows); /* NULL is allowed */
/* Fills a row that is empty; HOP_ROW_EMPTY: a model failed (hop_sets_status says what). */
enum hop_row_state hop_rows_fill(struct hop_rows *rows, struct hop_sets *sets, uint32_t index);

/* The part that a word of a row names. */
static inline const struct hop_row_part *hop_row_part(const struct hop_row_part *parts, uint32_t word)
{
    return (const void *)((const char *)parts + (size_t)(word & ~(uint32_t)HOP_ROW_STATES) * (sizeof *parts / 4));
}

static inline enum hop_row_state hop_rows_state(struct hop_rows *rows, struct hop_sets *sets, uint32_t index)
{
    uint32_t word = atomic_load_explicit(&rows->row[(size_t)index * (rows->width / 4)], memory_order_acquire);
    return word != HOP_ROW_EMPTY ? (enum hop_row_state)(word & HOP_ROW_STATES) : hop_rows_fill(rows, sets, index);
}

/* What sources 4 i to 4 i + 3 do in a row that is filled. */
static inline const struct hop_row_part *hop_rows_part(const struct hop_rows *rows, uint32_t index, uint32_t i)
{
    const _Atomic(uint32_t) *row = &rows->row[(size_t)index * (rows->width / 4)];
    return hop_row_part(rows->part, atomic_load_explicit(&row[i], memory_order_relaxed));
}

/* The bits of the sources of a mask. */
static inline uint32_t hop_rows_fields(const struct hop_rows *rows, uint32_t sources)
{
    uint32_t fields = 0;
    for (uint32_t i = 0; sources; i++, sources >>= 4)
        fields |= rows->field[i][sources & 15];
    return fields;
}

#endif
