/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of rows: a thread asks the model about a set and shows its row, with all images, to the others. */
#include "order/rate_rows.h"

#include <math.h>

#define BYTES_LIMIT ((size_t)512 << 20) /* if every set had parts of its own */
enum { KNOWN_AT_FIRST = 8192 };

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
    return bits < 32 && (width_of(p) / 4 * sizeof(struct hop_row_part)) << bits <= BYTES_LIMIT;
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
    const size_t parts = (size_t)r->count * (r->width / 4);
    r->known_size = KNOWN_AT_FIRST;
    r->row = calloc(parts, sizeof *r->row);
    r->part = aligned_alloc(64, parts * sizeof *r->part); /* of which few are used */
    r->known = calloc(r->known_size, sizeof *r->known);
    r->images = calloc(r->image_count, sizeof *r->images);
    pthread_mutex_init(&r->mutex, NULL);
    if (!r->row || !r->part || !r->known || !r->images) {
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
    pthread_mutex_destroy(&r->mutex);
    free((void *)r->row);
    free(r->part);
    free(r->known);
    free(r->images);
    free(r);
}

/* ---- parts ---- */

/* Where a part with these rates is among those known, or would be. */
static uint32_t *find_part(const struct hop_rows *r, const double rate[4])
{
    uint64_t bits[4], hash = 0;
    memcpy(bits, rate, sizeof bits);
    for (uint32_t i = 0; i < 4; i++)
        hash = (hash ^ bits[i]) * 0x9e3779b97f4a7c15u, hash ^= hash >> 32;
    uint32_t at = (uint32_t)hash & (r->known_size - 1);
    while (r->known[at] && memcmp(r->part[r->known[at] - 1].rate, rate, sizeof bits) != 0)
        at = (at + 1) & (r->known_size - 1);
    return &r->known[at];
}

static bool grow_known(struct hop_rows *r)
{
    uint32_t *known = calloc(2 * (size_t)r->known_size, sizeof *known);
    if (!known)
        return false;
    free(r->known);
    r->known = known;
    r->known_size *= 2;
    for (uint32_t i = 0; i < r->part_count; i++)
        *find_part(r, r->part[i].rate) = i + 1;
    return true;
}

/* The number of the part with these rates. */
static uint32_t part_of(struct hop_rows *r, const double rate[4])
{
    uint32_t *known = find_part(r, rate);
    if (*known)
        return *known - 1;
    const uint32_t number = r->part_count++;
    struct hop_row_part *part = &r->part[number];
    memcpy(part->rate, rate, sizeof part->rate);
    for (uint32_t i = 0; i < 4; i++)
        part->pace[i] = 1 / rate[i];
    *known = number + 1;
    if (r->part_count > r->known_size / 2 && !grow_known(r))
        memset(r->known, 0, r->known_size * sizeof *r->known); /* parts may then be kept twice */
    return number;
}

/* ---- filling ---- */

/* A set: what each source carries, and how fast; past the last source nothing. */
struct set {
    uint8_t digit[HOP_ROW_SOURCES];
    double rate_Bps[HOP_ROW_SOURCES];
    double rate[HOP_ROW_SOURCES]; /* as in the row, without images of other sizes */
    bool clean;
};

/* Writes the image of a set, if nobody has, with the mutex held. */
static void fill_image(struct hop_rows *r, const struct set *set, const struct hop_row_image *image)
{
    uint32_t index = 0, part[HOP_ROW_SOURCES / 4];
    double rate[HOP_ROW_SOURCES];
    for (uint32_t s = 0; s < r->sources; s++)
        index += image->place[s][set->digit[s]];
    _Atomic(uint32_t) *row = &r->row[(size_t)index * (r->width / 4)];
    if (atomic_load_explicit(row, memory_order_relaxed) != HOP_ROW_EMPTY)
        return;
    for (uint32_t s = 0; s < r->width; s++) {
        uint32_t to = image->to[s];
        rate[to] = image->keeps_sizes ? set->rate[s] : set->rate_Bps[s] / r->bytes[to][image->digit[s][set->digit[s]]];
    }
    for (uint32_t i = 0; i < r->width / 4; i++)
        part[i] = 4 * part_of(r, rate + 4 * i);
    for (uint32_t i = 1; i < r->width / 4; i++)
        atomic_store_explicit(&row[i], part[i], memory_order_relaxed);
    atomic_store_explicit(row, part[0] | (set->clean ? HOP_ROW_CLEAN : HOP_ROW_UNCLEAN), memory_order_release);
}

static bool evaluate(const struct hop_rows *r, struct hop_sets *sets, uint32_t index, struct set *set)
{
    uint16_t flow[HOP_ROW_SOURCES];
    *set = (struct set){0};
    for (uint32_t s = 0; s < r->width; s++) {
        set->digit[s] = (uint8_t)((index & r->bits[s]) >> r->shift[s]);
        flow[s] = r->flow[s][set->digit[s]];
    }
    if (!hop_sets_evaluate(sets, flow, set->rate_Bps, &set->clean))
        return false;
    for (uint32_t s = 0; s < r->width; s++)
        set->rate[s] = set->rate_Bps[s] / r->bytes[s][set->digit[s]];
    return true;
}

enum hop_row_state hop_rows_fill(struct hop_rows *r, struct hop_sets *sets, uint32_t index)
{
    struct set set;
    if (!evaluate(r, sets, index, &set))
        return HOP_ROW_EMPTY;
    pthread_mutex_lock(&r->mutex);
    for (uint32_t g = 0; g < r->image_count; g++)
        fill_image(r, &set, &r->images[g]);
    pthread_mutex_unlock(&r->mutex);
    return set.clean ? HOP_ROW_CLEAN : HOP_ROW_UNCLEAN;
}
