/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rows: the rates of every active set of a small simple problem, in a table addressed by arithmetic.
 *
 * Each source carries one of its sends or nothing: a digit, 0 to its number of sends. A set is the number made of all digits, source s
 * counting radix[s]. A source that ends send d and begins send e takes the set from i to i + (e - d) radix[s]: no search.
 *
 *     row i:  [ rate of source 0, 1, ... | pace of source 0, 1, ... ]     rate: shares of the send a second, pace: 1 / rate
 *
 * Rows are filled when they are first met, together with their images under the symmetries of the routes. Many threads
 * may use one table, each with its own model.
 */
#ifndef HOP_PLAN_ROWS_H
#define HOP_PLAN_ROWS_H

#include <stdatomic.h>

#include "plan/sets.h"

enum { HOP_ROW_SOURCES = 16, HOP_ROW_SENDS = 15 };

enum hop_row_state { HOP_ROW_EMPTY, HOP_ROW_CLEAN, HOP_ROW_UNCLEAN, HOP_ROW_BUSY };

struct hop_rows {
    const struct hop_problem *problem;
    uint32_t sources, width; /* width: of a half row, sources rounded up to a multiple of 4 */
    uint32_t count;          /* rows */
    uint32_t radix[HOP_ROW_SOURCES], sends[HOP_ROW_SOURCES];
    double *row;             /* 2 * width each, aligned to 64 bytes */
    _Atomic(uint8_t) *state;
    const uint32_t *images; /* of operations: images[g * op_count + op] */
    uint32_t image_count;
};

/* Whether a problem fits: simple, few sources, few sends, few sets. */
bool hop_rows_fit(const struct hop_problem *problem);
/* images: symmetries of the routes (sizes may differ), the identity first; they must outlive the rows. */
enum hop_status hop_rows_create(const struct hop_problem *problem, const uint32_t *images, uint32_t image_count,
                                struct hop_rows **rows, struct hop_diag *diag);
void hop_rows_destroy(struct hop_rows *rows); /* NULL is allowed */
/* Fills a row that is empty; HOP_ROW_EMPTY: a model failed (hop_sets_status says what). */
enum hop_row_state hop_rows_fill(struct hop_rows *rows, struct hop_sets *sets, uint32_t index);

static inline enum hop_row_state hop_rows_state(struct hop_rows *rows, struct hop_sets *sets, uint32_t index)
{
    uint8_t state = atomic_load_explicit(&rows->state[index], memory_order_acquire);
    return state == HOP_ROW_CLEAN || state == HOP_ROW_UNCLEAN ? (enum hop_row_state)state
                                                              : hop_rows_fill(rows, sets, index);
}

#endif
