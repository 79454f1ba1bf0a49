/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Column generation. The master problem starts from each send alone and keeps the inverse of its basis. A round prices every row of the
 * table with the current y and puts the most promising ones into a pool; then the pool alone is priced, and its best enter one after another,
 * until nothing in it has a sum above 1. The end is when no row at all has.
 *
 * Right sides are not exactly what is left but a little more, each by another amount: equal sends would make every pivot a tie.
 */
#include "order/dual.h"

#include <math.h>

enum { ENTERING = 64, POOL = 8192, ROUNDS_MAX = 60, POOL_ROUNDS_MAX = 400 };
#define PIVOT_LEAST 1e-9
#define PERTURBED 1e-5
#define SETTLED (1 + 1e-7)

struct entering {
    double sum;
    uint32_t row;
};

struct master {
    struct hop_rows *rows;
    uint32_t m;          /* sends */
    double *inverse;     /* m x m */
    double *x, *y, *column, *direction;
    uint32_t *digit_op;  /* per source and digit: the operation */
    uint32_t *pool;      /* rows */
    uint8_t *pool_digits;
    uint32_t pooled;
};

/* What source i carries in a row. */
static uint32_t digit_of(const struct hop_rows *rows, uint32_t row, uint32_t i)
{
    return (row & rows->bits[i]) >> rows->shift[i];
}

double hop_dual_sets(const struct hop_problem *problem)
{
    double count = 1;
    for (uint32_t s = 0; s < problem->source_count; s++)
        count *= problem->sources[s].count + 1.0;
    return count;
}

/* The next row, counting in digits; false: that was the last one. */
static bool next_row(const struct hop_rows *rows, uint8_t *digits, uint32_t *row)
{
    uint32_t i = 0;
    for (; i < rows->sources && digits[i] == rows->sends[i]; i++) {
        *row -= (uint32_t)digits[i] << rows->shift[i];
        digits[i] = 0;
    }
    if (i == rows->sources)
        return false;
    digits[i]++;
    *row += 1u << rows->shift[i];
    return true;
}

/* Keeps the rows with the greatest sums above 1, the smallest one first in the list (a heap would not pay for so few). */
static void offer(struct entering *list, uint32_t *count, struct entering entry)
{
    uint32_t at = *count;
    if (*count == ENTERING) {
        if (entry.sum <= list[0].sum)
            return;
        memmove(list, list + 1, (ENTERING - 1) * sizeof *list);
        at = ENTERING - 1;
    } else {
        (*count)++;
    }
    for (; at > 0 && list[at - 1].sum > entry.sum; at--)
        list[at] = list[at - 1];
    list[at] = entry;
}

/* y of what each source carries as each digit. */
static void spread_y(const struct master *s, double y_of[][HOP_ROW_SENDS + 1])
{
    for (uint32_t i = 0; i < s->rows->sources; i++) {
        y_of[i][0] = 0;
        for (uint32_t d = 1; d <= s->rows->sends[i]; d++)
            y_of[i][d] = s->y[s->digit_op[i * (HOP_ROW_SENDS + 1) + d]];
    }
}

/* Prices all rows that count; returns the greatest sum. */
static double price_all(const struct master *s, struct entering *list, uint32_t *count)
{
    const struct hop_rows *rows = s->rows;
    double y_of[HOP_ROW_SOURCES][HOP_ROW_SENDS + 1], worst = 0;
    uint8_t digits[HOP_ROW_SOURCES] = {0};
    uint32_t row = 0;
    spread_y(s, y_of);
    *count = 0;
    while (next_row(rows, digits, &row)) {
        const double *rate = rows->row + (size_t)row * 2 * rows->width;
        double sum = 0;
        for (uint32_t i = 0; i < rows->sources; i++)
            sum += y_of[i][digits[i]] * rate[i];
        if (sum > SETTLED && (!rows->problem->clean ||
                              atomic_load_explicit(&rows->state[row], memory_order_relaxed) == HOP_ROW_CLEAN)) {
            worst = hop_max(worst, sum);
            offer(list, count, (struct entering){sum, row});
        }
    }
    return worst;
}

static double price_pool(const struct master *s, struct entering *list, uint32_t *count)
{
    const struct hop_rows *rows = s->rows;
    double y_of[HOP_ROW_SOURCES][HOP_ROW_SENDS + 1], worst = 0;
    spread_y(s, y_of);
    *count = 0;
    for (uint32_t k = 0; k < s->pooled; k++) {
        const double *rate = rows->row + (size_t)s->pool[k] * 2 * rows->width;
        const uint8_t *digits = s->pool_digits + (size_t)k * HOP_ROW_SOURCES;
        double sum = 0;
        for (uint32_t i = 0; i < rows->sources; i++)
            sum += y_of[i][digits[i]] * rate[i];
        worst = hop_max(worst, sum);
        if (sum > SETTLED)
            offer(list, count, (struct entering){sum, s->pool[k]});
    }
    return worst;
}

static void add_to_pool(struct master *s, uint32_t row)
{
    if (s->pooled == POOL)
        return;
    for (uint32_t i = 0; i < s->rows->sources; i++)
        s->pool_digits[(size_t)s->pooled * HOP_ROW_SOURCES + i] = (uint8_t)digit_of(s->rows, row, i);
    s->pool[s->pooled++] = row;
}

static void read_column(const struct master *s, uint32_t row)
{
    const struct hop_rows *rows = s->rows;
    memset(s->column, 0, s->m * sizeof *s->column);
    for (uint32_t i = 0; i < rows->sources; i++) {
        uint32_t digit = digit_of(rows, row, i);
        if (digit)
            s->column[s->digit_op[i * (HOP_ROW_SENDS + 1) + digit]] = rows->row[(size_t)row * 2 * rows->width + i];
    }
}

/* y = the sum of the inverse's rows: every basic set costs 1. */
static void find_y(const struct master *s)
{
    memset(s->y, 0, s->m * sizeof *s->y);
    for (uint32_t i = 0; i < s->m; i++) {
        for (uint32_t j = 0; j < s->m; j++)
            s->y[j] += s->inverse[i * s->m + j];
    }
}

/* Brings a set into the basis. */
static void enter(const struct master *s, uint32_t row)
{
    uint32_t m = s->m, out = UINT32_MAX;
    double cost = 1, least = INFINITY;
    read_column(s, row);
    for (uint32_t i = 0; i < m; i++) {
        double sum = 0;
        for (uint32_t j = 0; j < m; j++)
            sum += s->inverse[i * m + j] * s->column[j];
        s->direction[i] = sum;
        cost -= sum;
    }
    if (cost > -1e-12) /* the sets that entered before it have made it useless */
        return;
    for (uint32_t i = 0; i < m; i++) {
        if (s->direction[i] > PIVOT_LEAST && s->x[i] / s->direction[i] < least) {
            least = s->x[i] / s->direction[i];
            out = i;
        }
    }
    if (out == UINT32_MAX)
        return;
    double pivot = s->direction[out];
    for (uint32_t j = 0; j < m; j++)
        s->inverse[out * m + j] /= pivot;
    s->x[out] = least;
    for (uint32_t i = 0; i < m; i++) {
        if (i == out || s->direction[i] == 0)
            continue;
        for (uint32_t j = 0; j < m; j++)
            s->inverse[i * m + j] -= s->direction[i] * s->inverse[out * m + j];
        s->x[i] = hop_max(0, s->x[i] - s->direction[i] * least);
    }
}

/* The optimum over the sets of the pool. */
static void solve_pool(struct master *s)
{
    struct entering list[ENTERING];
    for (uint32_t round = 0; round < POOL_ROUNDS_MAX; round++) {
        uint32_t count;
        find_y(s);
        if (price_pool(s, list, &count) <= SETTLED)
            return;
        for (uint32_t few = count < 6 ? count : 6; few > 0; few--) /* the others change their sums too much meanwhile */
            enter(s, list[--count].row);
    }
}

static bool create(struct master *s, struct hop_rows *rows, struct hop_arena *arena)
{
    const struct hop_problem *p = rows->problem;
    uint32_t m = p->op_count;
    *s = (struct master){.rows = rows, .m = m};
    s->inverse = hop_arena_alloc(arena, (size_t)m * m * sizeof(double));
    s->x = hop_arena_alloc(arena, m * sizeof(double));
    s->y = hop_arena_alloc(arena, m * sizeof(double));
    s->column = hop_arena_alloc(arena, m * sizeof(double));
    s->direction = hop_arena_alloc(arena, m * sizeof(double));
    s->digit_op = hop_arena_alloc(arena, HOP_ROW_SOURCES * (HOP_ROW_SENDS + 1) * sizeof(uint32_t));
    s->pool = hop_arena_alloc(arena, POOL * sizeof *s->pool);
    s->pool_digits = hop_arena_alloc(arena, POOL * HOP_ROW_SOURCES);
    if (arena->failed)
        return false;
    for (uint32_t i = 0; i < rows->sources; i++) {
        for (uint32_t d = 1; d <= rows->sends[i]; d++) {
            uint32_t op = p->sends[p->sources[i].first + d - 1];
            double alone = rows->row[((size_t)d << rows->shift[i]) * 2 * rows->width + i];
            s->digit_op[i * (HOP_ROW_SENDS + 1) + d] = op;
            s->inverse[op * m + op] = 1 / alone;
            s->x[op] = (1 + PERTURBED * (op + 1) / m) / alone;
        }
    }
    return true;
}

enum hop_status hop_dual_solve(struct hop_rows *rows, struct hop_sets *sets, double *y, double *sum,
                               struct hop_diag *diag)
{
    struct hop_arena arena = {0};
    struct master s;
    struct entering list[ENTERING];
    double best = 0;
    uint8_t digits[HOP_ROW_SOURCES] = {0};
    uint32_t row = 0;
    while (next_row(rows, digits, &row)) {
        if (hop_rows_state(rows, sets, row) == HOP_ROW_EMPTY)
            return hop_sets_status(sets, diag);
    }
    bool fine = create(&s, rows, &arena);
    for (uint32_t round = 0, count = 1; fine && count && round < ROUNDS_MAX; round++) {
        find_y(&s);
        double worst = hop_max(1, price_all(&s, list, &count)), total = 0;
        for (uint32_t i = 0; i < s.m; i++)
            total += s.y[i] / worst;
        if (total > best) {
            best = total;
            for (uint32_t i = 0; i < s.m; i++)
                y[i] = s.y[i] / worst;
        }
        for (uint32_t i = 0; i < count; i++)
            add_to_pool(&s, list[i].row);
        solve_pool(&s);
    }
    hop_arena_finish(&arena);
    if (!fine)
        return hop_fail_memory(diag);
    *sum = best;
    return HOP_OK;
}
