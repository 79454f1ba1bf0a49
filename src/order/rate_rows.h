/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows: the rates of every active set of a small simple problem, in a table addressed by arithmetic.
 *
 * Each source carries one of its sends or nothing: a digit, 0 to its number of sends. A set is the number whose bit fields are all
 * digits, source s having the bits from shift[s] on. So sources that end or begin sends change the number without any search.
 *
 *     row i:  [ rate of source 0, 1, ... | pace of source 0, 1, ... ]     rate: shares of the send a second, pace: 1 / rate
 *
 * A source that carries nothing has the rate 0 and the pace INFINITY: whatever it has left, it never ends.
 *
 * Rows are filled when they are first met, together with their images under the symmetries of the routes. Many threads
 * may use one table, each with its own model.
 */
#ifndef HOP_ORDER_RATE_ROWS_H
#define HOP_ORDER_RATE_ROWS_H

#include <stdatomic.h>

#include "order/sets.h"

enum { HOP_ROW_SOURCES = 16, HOP_ROW_SENDS = 15, HOP_ROW_ALL_SENDS = 64 };

/* Filled ones come last. A run met an unclean one if its states, or, have HOP_ROW_MARK. */
enum hop_row_state { HOP_ROW_EMPTY, HOP_ROW_BUSY, HOP_ROW_CLEAN, HOP_ROW_UNCLEAN };
enum { HOP_ROW_MARK = HOP_ROW_UNCLEAN & ~HOP_ROW_CLEAN };

struct hop_rows {
    const struct hop_problem *problem;
    uint32_t sources, width; /* width: of a half row, sources rounded up to a multiple of 4 */
    uint32_t count;          /* rows */
    uint32_t shift[HOP_ROW_SOURCES], bits[HOP_ROW_SOURCES], sends[HOP_ROW_SOURCES]; /* bits: a mask */
    uint8_t source_of[32];                                                          /* by bit of a row's number */
    uint32_t field[HOP_ROW_SOURCES / 4][16]; /* the bits of sources 4 i + {those of a mask} */
    uint64_t sends_of[HOP_ROW_SOURCES];      /* bit i is problem->sends[i] */
    uint32_t digit[HOP_ROW_ALL_SENDS];       /* of problem->sends[i], in its source's bits */
    double *row;                             /* 2 * width each, aligned to 64 bytes */
    _Atomic(uint8_t) *state;
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

static inline enum hop_row_state hop_rows_state(struct hop_rows *rows, struct hop_sets *sets, uint32_t index)
{
    uint8_t state = atomic_load_explicit(&rows->state[index], memory_order_acquire);
    return state >= HOP_ROW_CLEAN ? (enum hop_row_state)state : hop_rows_fill(rows, sets, index);
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
