/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of rows: a row is claimed by a thread, filled with all its images, and then shown to the others. */
#include "order/rate_rows.h"

#include <math.h>
#include <sched.h>
#include <sys/mman.h>

#define BYTES_LIMIT ((size_t)512 << 20)
#define HUGE_PAGE ((size_t)2 << 20)
#define HUGE_LIMIT ((size_t)64 << 20) /* larger tables are met in few places, and would take memory for all of them */

/* A symmetry: what source s carries as digit d is carried by source to[s], and adds place[s][d] to the set's number. */
struct hop_row_image {
    uint32_t place[HOP_ROW_SOURCES][HOP_ROW_SENDS + 1];
    uint8_t digit[HOP_ROW_SOURCES][HOP_ROW_SENDS + 1];
    uint8_t to[HOP_ROW_SOURCES];
    bool keeps_sizes;
};

static uint32_t bits_of(uint32_t sends)
{
    uint32_t bits = 0;
    while (sends >> bits)
        bits++;
    return bits;
}

static uint32_t width_of(const struct hop_problem *p)
{
    return (p->source_count + 3) & ~3u;
}

bool hop_rows_fit(const struct hop_problem *p)
{
    uint32_t bits = 0;
    if (!p->simple || p->whole || p->objective == HOP_ORDER_MARKED || p->source_count > HOP_ROW_SOURCES ||
        p->op_count > HOP_ROW_ALL_SENDS)
        return false;
    for (uint32_t s = 0; s < p->source_count; s++) {
        if (p->sources[s].count > HOP_ROW_SENDS)
            return false;
        bits += bits_of(p->sources[s].count);
    }
    return bits < 32 && ((size_t)2 * width_of(p) * sizeof(double)) << bits <= BYTES_LIMIT;
}

static void lay_out(struct hop_rows *r)
{
    const struct hop_problem *p = r->problem;
    uint32_t shift = 0;
    for (uint32_t s = 0; s < HOP_ROW_SOURCES; s++)
        r->bytes[s][0] = 1;
    for (uint32_t s = 0; s < r->sources; s++) {
        uint32_t bits = bits_of(p->sources[s].count);
        r->shift[s] = shift;
        r->sends[s] = p->sources[s].count;
        r->bits[s] = ((1u << bits) - 1) << shift;
        for (uint32_t d = 1; d <= r->sends[s]; d++) {
            const struct hop_problem_op *op = &p->ops[p->sends[p->sources[s].first + d - 1]];
            r->bytes[s][d] = op->bytes;
            r->digit[p->sources[s].first + d - 1] = d << shift;
            r->sends_of[s] |= (uint64_t)1 << (p->sources[s].first + d - 1);
            r->flow[s][d] = (uint16_t)(op->class_index + 1);
        }
        for (uint32_t i = 0; i < bits; i++)
            r->source_of[shift + i] = (uint8_t)s;
        shift += bits;
    }
    r->count = 1u << shift;
    for (uint32_t i = 0; i < HOP_ROW_SOURCES; i++) {
        for (uint32_t mask = 0; mask < 16; mask++)
            r->field[i / 4][mask] |= mask >> i % 4 & 1 ? r->bits[i] : 0;
    }
}

/* ---- images ---- */

/* The digit that an operation is. */
static uint8_t digit_of(const struct hop_problem *p, uint32_t op)
{
    const struct hop_problem_source *source = &p->sources[p->ops[op].source];
    uint8_t digit = 1;
    while (p->sends[source->first + digit - 1u] != op)
        digit++;
    return digit;
}

static void list_image(const struct hop_rows *r, const uint32_t *map, struct hop_row_image *image)
{
    const struct hop_problem *p = r->problem;
    image->keeps_sizes = true;
    for (uint32_t s = 0; s < HOP_ROW_SOURCES; s++)
        image->to[s] = (uint8_t)s;
    for (uint32_t s = 0; s < r->sources; s++) {
        for (uint32_t d = 1; d <= r->sends[s]; d++) {
            uint32_t op = p->sends[p->sources[s].first + d - 1], to = map ? map[op] : op;
            image->to[s] = (uint8_t)p->ops[to].source;
            image->digit[s][d] = digit_of(p, to);
            image->place[s][d] = (uint32_t)image->digit[s][d] << r->shift[image->to[s]];
            image->keeps_sizes = image->keeps_sizes && p->ops[op].bytes == p->ops[to].bytes;
        }
    }
}

/* ---- life ---- */

/* Tables are read at random: large pages, where the system has them, spare it looking up addresses. */
static double *allocate_rows(size_t bytes)
{
    size_t alignment = bytes >= HUGE_PAGE ? HUGE_PAGE : 64;
    double *row = aligned_alloc(alignment, (bytes + alignment - 1) & ~(alignment - 1));
#ifdef MADV_HUGEPAGE
    if (row && bytes >= HUGE_PAGE && bytes <= HUGE_LIMIT)
        (void)madvise(row, bytes, MADV_HUGEPAGE);
#endif
    return row;
}

enum hop_status hop_rows_create(const struct hop_problem *problem, const uint32_t *images, uint32_t image_count,
                                struct hop_rows **rows, struct hop_diag *diag)
{
    struct hop_rows *r = calloc(1, sizeof *r);
    if (!r)
        return hop_fail_memory(diag);
    r->problem = problem;
    r->sources = problem->source_count;
    r->width = width_of(problem);
    r->image_count = images ? image_count : 1;
    lay_out(r);
    r->row = allocate_rows((size_t)r->count * 2 * r->width * sizeof *r->row);
    r->state = calloc(r->count, 1);
    r->images = calloc(r->image_count, sizeof *r->images);
    if (!r->row || !r->state || !r->images) {
        hop_rows_destroy(r);
        return hop_fail_memory(diag);
    }
    for (uint32_t g = 0; g < r->image_count; g++)
        list_image(r, images ? images + (size_t)g * problem->op_count : NULL, &r->images[g]);
    *rows = r;
    return HOP_OK;
}

void hop_rows_destroy(struct hop_rows *r)
{
    if (!r)
        return;
    free(r->row);
    free((void *)r->state);
    free(r->images);
    free(r);
}

/* ---- filling ---- */

/* A set: what each source carries, and how fast; past the last source nothing. */
struct set {
    uint8_t digit[HOP_ROW_SOURCES];
    double rate_Bps[HOP_ROW_SOURCES];
    double rate[HOP_ROW_SOURCES], pace[HOP_ROW_SOURCES]; /* as in the row, without images of other sizes */
    bool clean;
};

static void write_row(double *rate, double *pace, const double *rate_Bps, const double *bytes, uint32_t width)
{
    for (uint32_t s = 0; s < width; s++)
        rate[s] = rate_Bps[s] / bytes[s];
    for (uint32_t s = 0; s < width; s++)
        pace[s] = 1 / rate[s];
}

/* Writes the image of a set, if nobody has. */
static void fill_image(struct hop_rows *r, const struct set *set, const struct hop_row_image *image)
{
    uint32_t index = 0;
    uint8_t empty = HOP_ROW_EMPTY;
    for (uint32_t s = 0; s < r->sources; s++)
        index += image->place[s][set->digit[s]];
    if (atomic_load_explicit(&r->state[index], memory_order_relaxed) != HOP_ROW_EMPTY ||
        !atomic_compare_exchange_strong(&r->state[index], &empty, HOP_ROW_BUSY))
        return;
    double *rate = r->row + (size_t)index * 2 * r->width, *pace = rate + r->width;
    if (image->keeps_sizes) {
        for (uint32_t s = 0; s < r->width; s++) {
            rate[image->to[s]] = set->rate[s];
            pace[image->to[s]] = set->pace[s];
        }
    } else {
        double rate_Bps[HOP_ROW_SOURCES], bytes[HOP_ROW_SOURCES];
        for (uint32_t s = 0; s < r->width; s++) {
            uint32_t to = image->to[s];
            rate_Bps[to] = set->rate_Bps[s];
            bytes[to] = r->bytes[to][image->digit[s][set->digit[s]]];
        }
        write_row(rate, pace, rate_Bps, bytes, r->width);
    }
    atomic_store_explicit(&r->state[index], set->clean ? HOP_ROW_CLEAN : HOP_ROW_UNCLEAN, memory_order_release);
}

static bool evaluate(const struct hop_rows *r, struct hop_sets *sets, uint32_t index, struct set *set)
{
    uint16_t flow[HOP_ROW_SOURCES];
    double bytes[HOP_ROW_SOURCES];
    *set = (struct set){0};
    for (uint32_t s = 0; s < r->width; s++) {
        set->digit[s] = (uint8_t)((index & r->bits[s]) >> r->shift[s]);
        flow[s] = r->flow[s][set->digit[s]];
        bytes[s] = r->bytes[s][set->digit[s]];
    }
    if (!hop_sets_evaluate(sets, flow, set->rate_Bps, &set->clean))
        return false;
    write_row(set->rate, set->pace, set->rate_Bps, bytes, r->width);
    return true;
}

enum hop_row_state hop_rows_fill(struct hop_rows *r, struct hop_sets *sets, uint32_t index)
{
    uint8_t state = atomic_load_explicit(&r->state[index], memory_order_acquire);
    if (state == HOP_ROW_EMPTY) {
        struct set set;
        if (!evaluate(r, sets, index, &set))
            return HOP_ROW_EMPTY;
        for (uint32_t g = 0; g < r->image_count; g++)
            fill_image(r, &set, &r->images[g]);
    }
    while ((state = atomic_load_explicit(&r->state[index], memory_order_acquire)) == HOP_ROW_BUSY)
        sched_yield(); /* another thread is at it */
    return (enum hop_row_state)state;
}
