/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bucket: an allreduce on a torus, by rings along one dimension after the other. A reduce-scatter along x leaves each member a part of
 * its row's sum, one along y a part of that, and so on; allgathers in the opposite order bring everything back (Sack and Gropp,
 * PPoPP 2012). It sends as few bytes as one ring and takes 2 (X + Y + Z - 3) rounds instead of 2 (XYZ - 1).
 *
 * An allgather and a reduce-scatter are the halves of that, one way round and one dimension after the other.
 *
 * Of an allreduce, one after the other, dimensions would leave the links of the others idle. So the vector is cut into two parts a dimension, one each
 * way round, and every part begins with another dimension.
 *
 *     part 0   x up,   then y, z        part 2   y up,   then z, x
 *     part 1   x down, then y, z        part 3   y down, then z, x      ...
 */
#include "collective/collective_job.h"

/* A part of the vector, on its way. */
struct part {
    struct hop_job job; /* of all members: spots and elements of the part */
    uint32_t first;     /* the dimension that it begins with */
    bool down;
};

struct bucket {
    struct hop_job *job;
    uint32_t extent[HOP_COLLECTIVE_GRID]; /* without those of 1 */
    uint32_t stride[HOP_COLLECTIVE_GRID], dimensions;
    struct part *parts;
    uint32_t part_count;
    struct hop_spot *in, *out; /* of one line's members */
    uint32_t *ranks;
};

/* As equal as three factors can be, the largest first. */
static void factor(uint32_t n, uint32_t extent[HOP_COLLECTIVE_GRID])
{
    uint32_t least = 0;
    for (uint32_t a = 1; (uint64_t)a * a * a <= n; a++) {
        for (uint32_t b = a; n % a == 0 && (uint64_t)b * b <= n / a; b++) {
            uint32_t c = n / a / b;
            if (n / a % b != 0 || (least && a + b + c >= least))
                continue;
            least = a + b + c;
            extent[0] = c;
            extent[1] = b;
            extent[2] = a;
        }
    }
}

static void find_grid(struct bucket *b)
{
    uint32_t extent[HOP_COLLECTIVE_GRID], stride = 1;
    factor(b->job->n, extent);
    for (uint32_t d = 0; d < HOP_COLLECTIVE_GRID; d++) {
        uint32_t along = b->job->grid ? b->job->grid[d] : extent[d];
        b->extent[b->dimensions] = along;
        b->stride[b->dimensions] = stride;
        b->dimensions += along > 1;
        stride *= along;
    }
}

static bool cut_parts(struct bucket *b)
{
    struct hop_moves *moves = b->job->moves;
    uint32_t n = b->job->n;
    b->part_count = 2 * b->dimensions;
    b->parts = hop_moves_room(moves, b->part_count, sizeof *b->parts);
    b->in = hop_moves_room(moves, n, sizeof *b->in);
    b->out = hop_moves_room(moves, n, sizeof *b->out);
    b->ranks = hop_moves_room(moves, n, sizeof *b->ranks);
    for (uint32_t p = 0; p < b->part_count && hop_moves_ok(moves); p++) {
        struct part *part = &b->parts[p];
        uint64_t start = hop_part_start(b->job->total, b->part_count, p);
        struct hop_spot *in = hop_moves_room(moves, n, sizeof *in), *out = hop_moves_room(moves, n, sizeof *out);
        for (uint32_t m = 0; in && out && m < n; m++) {
            in[m] = (struct hop_spot){b->job->in[m].buffer, b->job->in[m].base + start};
            out[m] = (struct hop_spot){b->job->out[m].buffer, b->job->out[m].base + start};
        }
        part->job = *b->job;
        part->job.in = in;
        part->job.out = out;
        part->job.start = b->job->start + start;
        part->job.total = hop_part_start(b->job->total, b->part_count, p + 1) - start;
        part->first = p / 2;
        part->down = p % 2;
    }
    return hop_moves_ok(moves);
}

/* The members of a member's line along a dimension, in the direction of the part: a ring, whose vector is what dimensions before left the
 * line of the part. From the line's first member. */
static struct hop_job line_of(struct bucket *b, const struct part *part, uint32_t step, uint32_t member)
{
    struct hop_job line = part->job;
    uint32_t dimension = (part->first + step) % b->dimensions;
    uint64_t start = 0, total = part->job.total;
    for (uint32_t s = 0; s < step; s++) {
        uint32_t d = (part->first + s) % b->dimensions, at = member / b->stride[d] % b->extent[d];
        uint32_t own = part->down ? b->extent[d] - 1 - at : at;
        uint64_t next = hop_part_start(total, b->extent[d], own + 1);
        start += hop_part_start(total, b->extent[d], own);
        total = next - hop_part_start(total, b->extent[d], own);
    }
    line.n = line.parts = b->extent[dimension];
    line.start += start;
    line.total = total;
    for (uint32_t i = 0; i < line.n; i++) {
        uint32_t at = member + (part->down ? line.n - 1 - i : i) * b->stride[dimension];
        const struct hop_spot *from = step ? part->job.out : part->job.in;
        b->ranks[i] = part->job.ranks[at];
        b->in[i] = (struct hop_spot){from[at].buffer, from[at].base + start};
        b->out[i] = (struct hop_spot){part->job.out[at].buffer, part->job.out[at].base + start};
    }
    line.ranks = b->ranks;
    line.in = b->in;
    line.out = b->out;
    return line;
}

/* Round k of a part's all: reduce-scatters, dimension by dimension, and allgathers the other way. */
static void make_round(struct bucket *b, uint32_t number, uint32_t k)
{
    /* of parts and steps: what moves and buffers are called */
    static const char *const levels[2 * HOP_COLLECTIVE_GRID][HOP_COLLECTIVE_GRID] = {
        {"p0.", "p0s1.", "p0s2."}, {"p1.", "p1s1.", "p1s2."}, {"p2.", "p2s1.", "p2s2."},
        {"p3.", "p3s1.", "p3s2."}, {"p4.", "p4s1.", "p4s2."}, {"p5.", "p5s1.", "p5s2."}};
    const struct part *part = &b->parts[number];
    uint32_t step = 0, down = 0, way_up = 0;
    for (uint32_t d = 0; d < b->dimensions; d++)
        way_up += b->extent[d] - 1;
    bool gathers = k >= way_up;
    k = gathers ? 2 * way_up - 1 - k
                : k; /* counted from the other end, where the order of dimensions is that of the way up */
    while (k - down >= b->extent[(part->first + step) % b->dimensions] - 1)
        down += b->extent[(part->first + step++) % b->dimensions] - 1;
    uint32_t dimension = (part->first + step) % b->dimensions, extent = b->extent[dimension];
    uint32_t round = gathers ? extent - 2 - (k - down) : k - down;
    b->job->moves->level = levels[number][step];
    for (uint32_t m = 0; m < b->job->n && hop_moves_ok(b->job->moves); m++) {
        if (m / b->stride[dimension] % extent != 0)
            continue;
        struct hop_job line = line_of(b, part, step, m);
        if (gathers)
            hop_ring_gather_round(&line, line.out, round);
        else
            hop_ring_scatter_round(&line, line.out, round);
    }
}

static void bucket_allreduce(struct hop_job *job)
{
    struct bucket b = {.job = job};
    struct hop_moves *moves = job->moves;
    const char *level = moves->level;
    uint32_t rounds = 0;
    find_grid(&b);
    if (!cut_parts(&b))
        return;
    for (uint32_t d = 0; d < b.dimensions; d++)
        rounds += 2 * (b.extent[d] - 1);
    for (uint32_t k = 0; k < rounds && hop_moves_ok(moves); k++) {
        for (uint32_t p = 0; p < b.part_count; p++)
            make_round(&b, p, k);
    }
    moves->level = level;
}

/* ---- reduce-scatter and allgather ---- */

/*
 * One ring a line, dimension by dimension. What a line's member owns is what all ranks behind it own that later dimensions reach: in a
 * row in the vector if a reduce-scatter goes along the slowest dimension first, and an allgather along it last.
 */
struct rows {
    struct bucket b;
    uint32_t *owned_first, *owned; /* of a line's members */
    struct hop_spot *from, *to;    /* of all members: where a dimension begins, and where it leaves its sums */
};

static bool make_rows(struct rows *rows, struct hop_job *job)
{
    struct hop_moves *moves = job->moves;
    rows->b.job = job;
    find_grid(&rows->b);
    rows->b.in = hop_moves_room(moves, job->n, sizeof *rows->b.in);
    rows->b.out = hop_moves_room(moves, job->n, sizeof *rows->b.out);
    rows->b.ranks = hop_moves_room(moves, job->n, sizeof *rows->b.ranks);
    rows->owned_first = hop_moves_room(moves, job->n + 1, sizeof *rows->owned_first);
    rows->owned = hop_moves_room(moves, job->n, sizeof *rows->owned);
    rows->from = hop_moves_room(moves, job->n, sizeof *rows->from);
    rows->to = hop_moves_room(moves, job->n, sizeof *rows->to);
    if (hop_moves_ok(moves)) {
        memcpy(rows->from, job->in, job->n * sizeof *rows->from);
        memcpy(rows->to, job->out, job->n * sizeof *rows->to);
    }
    return hop_moves_ok(moves);
}

/* The members of a line along a dimension from its first one on. */
static struct hop_job row_of(struct rows *rows, uint32_t dimension, uint32_t first)
{
    struct hop_job line = *rows->b.job;
    uint32_t stride = rows->b.stride[dimension], used = 0, block = first / stride * stride;
    line.n = rows->b.extent[dimension];
    for (uint32_t i = 0; i < line.n; i++) {
        rows->b.ranks[i] = rows->b.job->ranks[first + i * stride];
        rows->b.in[i] = rows->from[first + i * stride];
        rows->b.out[i] = rows->to[first + i * stride];
        rows->owned_first[i] = used;
        for (uint32_t p = 0; p < stride; p++)
            rows->owned[used++] = block + i * stride + p;
    }
    rows->owned_first[line.n] = used;
    line.ranks = rows->b.ranks;
    line.in = rows->b.in;
    line.out = rows->b.out;
    line.owned_first = rows->owned_first;
    line.owned = rows->owned;
    return line;
}

static void go_along(struct rows *rows, uint32_t dimension, bool gathers)
{
    static const char *const levels[HOP_COLLECTIVE_GRID] = {"s0.", "s1.", "s2."};
    struct hop_job *job = rows->b.job;
    uint32_t stride = rows->b.stride[dimension], extent = rows->b.extent[dimension];
    const char *level = job->moves->level;
    job->moves->level = levels[dimension];
    for (uint32_t m = 0; m < job->n && !gathers && dimension > 0; m++)
        rows->to[m] = (struct hop_spot){hop_moves_scratch(job->moves, "sum"), 0};
    for (uint32_t k = 0; k + 1 < extent; k++) {
        for (uint32_t m = 0; m < job->n && hop_moves_ok(job->moves); m++) {
            if (m / stride % extent != 0)
                continue;
            struct hop_job line = row_of(rows, dimension, m);
            if (gathers)
                hop_ring_gather_round(&line, line.in, k);
            else
                hop_ring_scatter_round(&line, line.out, k);
        }
    }
    job->moves->level = level;
}

static void bucket_allgather(struct hop_job *job)
{
    struct rows rows = {0};
    if (!make_rows(&rows, job))
        return;
    for (uint32_t d = 0; d < rows.b.dimensions; d++) {
        go_along(&rows, d, true);
        memcpy(rows.from, job->out, job->n * sizeof *rows.from);
    }
}

static void bucket_reduce_scatter(struct hop_job *job)
{
    struct rows rows = {0};
    if (!make_rows(&rows, job))
        return;
    for (uint32_t d = rows.b.dimensions; d-- > 0;) {
        memcpy(rows.to, job->out, job->n * sizeof *rows.to);
        go_along(&rows, d, false);
        memcpy(rows.from, rows.to, job->n * sizeof *rows.from);
    }
}

const struct hop_algorithm_about hop_algorithm_bucket = {
    .algorithm = HOP_ALGORITHM_BUCKET,
    .summary = "rings along one dimension of a torus after the other; large vectors, many ranks",
    .make = {HOP_MAKE(ALLREDUCE) = bucket_allreduce, HOP_MAKE(ALLGATHER) = bucket_allgather,
             HOP_MAKE(REDUCE_SCATTER) = bucket_reduce_scatter},
};
