/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of rows: a row is claimed by a thread, filled with all its images, and then shown to the others. */
#include "plan/rows.h"

#include <sched.h>

#define BYTES_LIMIT ((size_t)512 << 20)

static size_t count_rows(const struct hop_problem *p)
{
    size_t count = 1;
    for (uint32_t s = 0; s < p->source_count && count <= BYTES_LIMIT; s++)
        count *= p->sources[s].count + 1;
    return count;
}

static uint32_t width_of(const struct hop_problem *p)
{
    return (p->source_count + 3) & ~3u;
}

bool hop_rows_fit(const struct hop_problem *p)
{
    bool fits = p->simple && p->objective != HOP_ORDER_MARKED && p->source_count <= HOP_ROW_SOURCES;
    for (uint32_t s = 0; s < p->source_count && fits; s++)
        fits = p->sources[s].count <= HOP_ROW_SENDS;
    return fits && count_rows(p) * 2 * width_of(p) * sizeof(double) <= BYTES_LIMIT;
}

enum hop_status hop_rows_create(const struct hop_problem *problem, const uint32_t *images, uint32_t image_count,
                                struct hop_rows **rows, struct hop_diag *diag)
{
    struct hop_rows *r = calloc(1, sizeof *r);
    if (!r)
        return hop_fail_memory(diag);
    *r = (struct hop_rows){.problem = problem,
                           .sources = problem->source_count,
                           .width = width_of(problem),
                           .images = images,
                           .image_count = image_count,
                           .count = 1};
    for (uint32_t s = 0; s < r->sources; s++) {
        r->radix[s] = r->count;
        r->sends[s] = problem->sources[s].count;
        r->count *= problem->sources[s].count + 1;
    }
    r->row = aligned_alloc(64, (size_t)r->count * 2 * r->width * sizeof *r->row);
    r->state = calloc(r->count, 1);
    if (!r->row || !r->state) {
        hop_rows_destroy(r);
        return hop_fail_memory(diag);
    }
    *rows = r;
    return HOP_OK;
}

void hop_rows_destroy(struct hop_rows *r)
{
    if (!r)
        return;
    free(r->row);
    free((void *)r->state);
    free(r);
}

/* The digit that an operation is. */
static uint32_t digit_of(const struct hop_problem *p, uint32_t op)
{
    const struct hop_problem_source *source = &p->sources[p->ops[op].source];
    uint32_t digit = 1;
    while (p->sends[source->first + digit - 1] != op)
        digit++;
    return digit;
}

/* Writes the image of a set under symmetry g, if nobody has: op[s] is what source s carries, HOP_NONE nothing. */
static void fill_image(struct hop_rows *r, const uint32_t *op, const double *rate_Bps, uint32_t g, bool clean)
{
    const struct hop_problem *p = r->problem;
    uint32_t index = 0, image[HOP_ROW_SOURCES];
    for (uint32_t s = 0; s < r->sources; s++) {
        if (op[s] == HOP_NONE)
            continue;
        image[s] = r->images ? r->images[(size_t)g * p->op_count + op[s]] : op[s];
        index += r->radix[p->ops[image[s]].source] * digit_of(p, image[s]);
    }
    uint8_t empty = HOP_ROW_EMPTY;
    if (!atomic_compare_exchange_strong(&r->state[index], &empty, HOP_ROW_BUSY))
        return;
    double *rate = r->row + (size_t)index * 2 * r->width, *pace = rate + r->width;
    for (uint32_t s = 0; s < r->width; s++) {
        rate[s] = 0;
        pace[s] = 1;
    }
    for (uint32_t s = 0; s < r->sources; s++) {
        if (op[s] == HOP_NONE)
            continue;
        uint32_t to = p->ops[image[s]].source;
        rate[to] = rate_Bps[s] / p->ops[image[s]].bytes;
        pace[to] = 1 / rate[to];
    }
    atomic_store_explicit(&r->state[index], clean ? HOP_ROW_CLEAN : HOP_ROW_UNCLEAN, memory_order_release);
}

enum hop_row_state hop_rows_fill(struct hop_rows *r, struct hop_sets *sets, uint32_t index)
{
    const struct hop_problem *p = r->problem;
    uint8_t state = atomic_load_explicit(&r->state[index], memory_order_acquire);
    if (state == HOP_ROW_EMPTY) {
        uint32_t op[HOP_ROW_SOURCES];
        uint16_t flow[HOP_ROW_SOURCES];
        double rate_Bps[HOP_ROW_SOURCES];
        bool clean;
        for (uint32_t s = 0; s < r->sources; s++) {
            uint32_t digit = index / r->radix[s] % (r->sends[s] + 1);
            op[s] = digit ? p->sends[p->sources[s].first + digit - 1] : HOP_NONE;
            flow[s] = digit ? (uint16_t)(p->ops[op[s]].class_index + 1) : 0;
        }
        if (!hop_sets_evaluate(sets, flow, rate_Bps, &clean))
            return HOP_ROW_EMPTY;
        for (uint32_t g = 0; g < (r->images ? r->image_count : 1); g++)
            fill_image(r, op, rate_Bps, g, clean);
    }
    while ((state = atomic_load_explicit(&r->state[index], memory_order_acquire)) == HOP_ROW_BUSY)
        sched_yield(); /* another thread is at it */
    return (enum hop_row_state)state;
}
