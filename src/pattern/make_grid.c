/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Process grids: halo exchange and stencil.
 *
 * A stencil of `steps` halos, S sends each, on n ranks is laid out step by step, rank by rank; from step 1 on, each
 * rank's work stands before its sends:
 *
 *     step 0: r0 sends | r1 sends | ...      step k: r0 work, sends | r1 work, sends | ...
 *     0                                      S + (k - 1) (S + n)
 *
 * Every dependency points to an earlier operation, so source queues in file order cannot deadlock.
 */
#include "pattern/make.h"

#include <math.h>
#include <stdio.h>

enum { NEIGHBOURS_MAX = 2 * HOP_GRID_MAX };

struct neighbour {
    uint32_t rank;
    unsigned dimension;
    char sign;
};

/* A checked grid. */
struct layout {
    const struct hop_grid *grid;
    uint64_t bytes[HOP_GRID_MAX];  /* of a send along each dimension */
    uint64_t sends;                /* of one halo */
    char name[HOP_MAKE_NAME_SIZE]; /* "4x2" */
};

/* The ranks that `rank` sends to, in the order -x +x -y +y -z +z. They are the ones that send to it, too. */
static unsigned neighbours_of(const struct hop_grid *grid, uint32_t rank, struct neighbour *list)
{
    unsigned count = 0;
    uint32_t stride = 1;
    for (unsigned d = 0; d < grid->dimensions; d++) {
        uint32_t extent = grid->extent[d], c = rank / stride % extent;
        bool around = grid->wrap && extent > 2; /* at extent 2 the way around leads to the same neighbour */
        if (c > 0 || around)
            list[count++] = (struct neighbour){c > 0 ? rank - stride : rank + (extent - 1) * stride, d, '-'};
        if (c + 1 < extent || around)
            list[count++] = (struct neighbour){c + 1 < extent ? rank + stride : rank - c * stride, d, '+'};
        stride *= extent;
    }
    return count;
}

/* The position of rank `to` among the neighbours of `from`. */
static unsigned position_of(const struct hop_grid *grid, uint32_t from, uint32_t to)
{
    struct neighbour list[NEIGHBOURS_MAX];
    unsigned count = neighbours_of(grid, from, list), i = 0;
    while (i < count && list[i].rank != to)
        i++;
    return i;
}

static enum hop_status weigh(const struct hop_grid *grid, unsigned d, uint64_t bytes, uint64_t *weighted,
                             struct hop_diag *diag)
{
    double weight = grid->weight[d];
    if (!(weight >= 0) || isinf(weight))
        return hop_fail(diag, HOP_ERR_INVALID, "the weight of dimension %u of the grid is %g\na positive number", d + 1,
                        weight);
    double product = (double)bytes * weight;
    if (bytes > HOP_BYTES_MAX || product > (double)HOP_BYTES_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT,
                        "%llu bytes with the weight %g of dimension %u of the grid are too many\nat most 2^60 bytes (1 "
                        "EiB) a transfer",
                        (unsigned long long)bytes, weight, d + 1);
    /* bytes itself where nothing is to be weighed: a double holds 53 bits only */
    *weighted = weight == 0 || weight == 1 ? bytes : (uint64_t)(product + 0.5);
    return HOP_OK;
}

static enum hop_status check_grid(const struct hop_ranks *ranks, const struct hop_grid *grid, uint64_t bytes,
                                  struct layout *layout, struct hop_diag *diag)
{
    if (grid->dimensions < 1 || grid->dimensions > HOP_GRID_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "the grid has %u dimensions\n1 to %d", grid->dimensions, HOP_GRID_MAX);
    *layout = (struct layout){.grid = grid};
    uint64_t product = 1;
    size_t length = 0;
    bool fits = true;
    for (unsigned d = 0; d < grid->dimensions; d++) {
        fits = fits && !__builtin_mul_overflow(product, (uint64_t)grid->extent[d], &product);
        length +=
            (size_t)snprintf(layout->name + length, sizeof layout->name - length, d ? "x%u" : "%u", grid->extent[d]);
        enum hop_status status = weigh(grid, d, bytes, &layout->bytes[d], diag);
        if (status != HOP_OK)
            return status;
    }
    if (!fits || product != ranks->count || product == 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the grid %s does not hold %u devices\nextents whose product is the number of devices",
                        layout->name, ranks->count);
    for (unsigned d = 0; d < grid->dimensions; d++) {
        uint64_t extent = grid->extent[d], lines = product / extent;
        layout->sends += lines * (grid->wrap && extent > 2 ? 2 * extent : 2 * (extent - 1));
    }
    return HOP_OK;
}

/* The sends of one rank. step 0 of a halo alone has no number in its names. */
static void add_sends(struct hop_schedule *made, const struct hop_ranks *ranks, const struct layout *layout,
                      uint32_t rank, const char *prefix, const uint32_t *work)
{
    struct neighbour list[NEIGHBOURS_MAX];
    unsigned count = neighbours_of(layout->grid, rank, list);
    for (unsigned i = 0; i < count; i++) {
        struct hop_send send = {rank, list[i].rank, layout->bytes[list[i].dimension], work, work != NULL};
        hop_make_send(made, ranks, &send, "%sr%u.%c%c", prefix, rank, "xyz"[list[i].dimension], list[i].sign);
    }
}

enum hop_status hop_make_halo(const struct hop_ranks *ranks, const struct hop_grid *grid, uint64_t bytes,
                              struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct layout layout;
    enum hop_status status = check_grid(ranks, grid, bytes, &layout, diag);
    if (status != HOP_OK)
        return status;
    char name[2 * HOP_MAKE_NAME_SIZE];
    (void)snprintf(name, sizeof name, "halo-%s", layout.name);
    struct hop_schedule *made;
    status = hop_make_begin(ranks, layout.sends, name, &made, diag);
    if (status != HOP_OK)
        return status;
    for (uint32_t r = 0; r < ranks->count; r++)
        add_sends(made, ranks, &layout, r, "", NULL);
    return hop_schedule_finish(made, schedule, diag);
}

/* Indices of a stencil's operations; first_send[r] is where rank r's sends begin in step 0. */
struct places {
    const uint32_t *first_send;
    uint32_t sends, ranks;
};

static uint32_t work_place(const struct places *places, uint32_t step, uint32_t rank)
{
    return places->sends + (step - 1) * (places->sends + places->ranks) + places->first_send[rank] + rank;
}

static uint32_t send_place(const struct places *places, uint32_t step, uint32_t rank, unsigned position)
{
    return (step ? work_place(places, step, rank) + 1 : places->first_send[rank]) + position;
}

/* The work before a rank's sends of `step`: after what it received in the step before and after its previous work. */
static void add_work(struct hop_schedule *made, const char *device, const struct layout *layout,
                     const struct places *places, uint32_t step, uint32_t rank, double work_s)
{
    struct neighbour list[NEIGHBOURS_MAX];
    unsigned count = neighbours_of(layout->grid, rank, list);
    uint32_t after[NEIGHBOURS_MAX + 1], after_count = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned position = position_of(layout->grid, list[i].rank, rank);
        after[after_count++] = send_place(places, step - 1, list[i].rank, position);
    }
    if (step > 1)
        after[after_count++] = work_place(places, step - 1, rank);
    char name[HOP_MAKE_NAME_SIZE];
    (void)snprintf(name, sizeof name, "s%u.r%u.work", step, rank);
    struct hop_op op = hop_op_default(HOP_OP_WORK);
    op.name = name;
    op.from.device = device;
    op.duration_s = work_s;
    op.after = after;
    op.after_count = after_count;
    (void)hop_schedule_add(made, &op);
}

static enum hop_status add_steps(struct hop_schedule *made, const struct hop_ranks *ranks, const struct layout *layout,
                                 uint32_t steps, double work_s, struct hop_diag *diag)
{
    uint32_t n = ranks->count, *first_send = calloc(n, sizeof *first_send);
    if (!first_send)
        return hop_fail_memory(diag);
    struct neighbour list[NEIGHBOURS_MAX];
    for (uint32_t r = 1; r < n; r++)
        first_send[r] = first_send[r - 1] + neighbours_of(layout->grid, r - 1, list);
    struct places places = {first_send, (uint32_t)layout->sends, n};
    for (uint32_t k = 0; k < steps; k++) {
        char prefix[16];
        (void)snprintf(prefix, sizeof prefix, "s%u.", k);
        for (uint32_t r = 0; r < n; r++) {
            uint32_t work = k ? work_place(&places, k, r) : 0;
            if (k)
                add_work(made, ranks->devices[r], layout, &places, k, r, work_s);
            add_sends(made, ranks, layout, r, prefix, k ? &work : NULL);
        }
    }
    free(first_send);
    return HOP_OK;
}

enum hop_status hop_make_stencil(const struct hop_ranks *ranks, const struct hop_grid *grid, uint64_t bytes,
                                 uint32_t steps, double work_s, struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct layout layout;
    enum hop_status status = check_grid(ranks, grid, bytes, &layout, diag);
    if (status != HOP_OK)
        return status;
    if (steps == 0 || !(work_s >= 0) || isinf(work_s))
        return hop_fail(diag, HOP_ERR_INVALID,
                        "a stencil cannot have %u steps with %g s of work between them\nat least 1 step, and a time "
                        "that is finite and not negative",
                        steps, work_s);
    char name[2 * HOP_MAKE_NAME_SIZE];
    (void)snprintf(name, sizeof name, "stencil-%s", layout.name);
    uint64_t operations = layout.sends * steps + (uint64_t)ranks->count * (steps - 1);
    struct hop_schedule *made;
    status = hop_make_begin(ranks, operations, name, &made, diag);
    if (status != HOP_OK)
        return status;
    return hop_schedule_end(made, add_steps(made, ranks, &layout, steps, work_s, diag), schedule, diag);
}
