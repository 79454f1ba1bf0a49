/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Process grids: halo exchange, stencil, and groups along a dimension.
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

static uint32_t stride_of(const struct hop_grid *grid, unsigned dimension)
{
    uint32_t stride = 1;
    for (unsigned d = 0; d < grid->dimensions; d++)
        stride *= (grid->row ? d > dimension : d < dimension) ? grid->extent[d] : 1;
    return stride;
}

/* The ranks that `rank` sends to, in the order -x +x -y +y -z +z. They are the ones that send to it, too. */
static unsigned neighbours_of(const struct hop_grid *grid, uint32_t rank, struct neighbour *list)
{
    unsigned count = 0;
    for (unsigned d = 0; d < grid->dimensions; d++) {
        uint32_t stride = stride_of(grid, d), extent = grid->extent[d], c = rank / stride % extent;
        bool around = grid->wrap && extent > 2; /* at extent 2 the way around leads to the same neighbour */
        if (c > 0 || around)
            list[count++] = (struct neighbour){c > 0 ? rank - stride : rank + (extent - 1) * stride, d, '-'};
        if (c + 1 < extent || around)
            list[count++] = (struct neighbour){c + 1 < extent ? rank + stride : rank - c * stride, d, '+'};
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

static enum hop_status weigh(struct hop_pattern *p, unsigned d, struct hop_diag *diag)
{
    double weight = p->grid.weight[d], product = (double)p->bytes * weight;
    if (!(weight >= 0) || isinf(weight))
        return hop_fail(diag, HOP_ERR_INVALID, "the weight of dimension %u of the grid is %g\na positive number", d + 1,
                        weight);
    bool nothing = weight > 0 && p->bytes > 0 && product < 0.5;
    if (p->bytes > HOP_BYTES_MAX || product > (double)HOP_BYTES_MAX || nothing)
        return hop_fail(diag, HOP_ERR_LIMIT,
                        "%llu bytes with the weight %g of dimension %u of the grid are too %s\n"
                        "1 byte to 2^60 bytes (1 EiB) a transfer",
                        (unsigned long long)p->bytes, weight, d + 1, nothing ? "few" : "many");
    /* bytes itself where nothing is to be weighed: a double holds 53 bits only */
    p->weighted[d] = weight == 0 || weight == 1 ? p->bytes : (uint64_t)(product + 0.5);
    return HOP_OK;
}

/* Sends of one halo. */
static uint64_t count_sends(const struct hop_pattern *p)
{
    uint64_t sends = 0;
    for (unsigned d = 0; d < p->grid.dimensions; d++) {
        uint64_t extent = p->grid.extent[d], lines = p->ranks / extent;
        sends += lines * (p->grid.wrap && extent > 2 ? 2 * extent : 2 * (extent - 1));
    }
    return sends;
}

static enum hop_status check_grid(struct hop_pattern *p, struct hop_diag *diag)
{
    const struct hop_grid *grid = &p->grid;
    uint64_t product = 1;
    bool fits = true;
    char extents[HOP_MAKE_NAME_SIZE] = "";
    if (grid->dimensions < 1 || grid->dimensions > HOP_GRID_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "the grid has %u dimensions\n1 to %d", grid->dimensions, HOP_GRID_MAX);
    for (unsigned d = 0; d < grid->dimensions; d++) {
        size_t length = strlen(extents);
        fits = fits && !__builtin_mul_overflow(product, (uint64_t)grid->extent[d], &product);
        (void)snprintf(extents + length, sizeof extents - length, d ? "x%u" : "%u", grid->extent[d]);
        enum hop_status status = weigh(p, d, diag);
        if (status != HOP_OK)
            return status;
    }
    (void)snprintf(p->name, sizeof p->name, "%s-%s", p->kind->name, extents);
    if (!fits || product != p->ranks || product == 0)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "the grid %s does not hold %u devices\nextents whose product is the number of devices", extents,
                        p->ranks);
    return HOP_OK;
}

/* ---- halo ---- */

static enum hop_status check_halo(struct hop_pattern *p, struct hop_diag *diag)
{
    enum hop_status status = check_grid(p, diag);
    if (status == HOP_OK)
        p->messages = count_sends(p);
    return status;
}

/* The sends of one rank. */
static void add_sends(const struct hop_pattern *p, struct hop_pattern_sink *maker, uint32_t rank, const char *prefix,
                      const uint32_t *work)
{
    struct neighbour list[NEIGHBOURS_MAX];
    unsigned count = neighbours_of(&p->grid, rank, list);
    for (unsigned i = 0; i < count; i++) {
        struct hop_send send = {.from = rank,
                                .to = list[i].rank,
                                .bytes = p->weighted[list[i].dimension],
                                .after = work,
                                .after_count = work != NULL};
        hop_make_send(maker, &send, "%sr%u.%c%c", prefix, rank, "xyzuvw"[list[i].dimension], list[i].sign);
    }
}

static void make_halo(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    for (uint32_t r = 0; r < p->ranks; r++)
        add_sends(p, maker, r, "", NULL);
}

const struct hop_pattern_kind hop_pattern_halo = {
    "halo",
    "halo:AxBx...[,weight=W][,weights=U/V/...][,wrap]",
    "bytes to every face neighbour in a grid, W times as many along the first dimension",
    HOP_GRID_MAX,
    check_halo,
    make_halo};

enum hop_status hop_make_halo(const struct hop_ranks *ranks, const struct hop_grid *grid, uint64_t bytes,
                              struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_pattern p = {.grid = *grid, .bytes = bytes};
    return hop_make_schedule(&p, &hop_pattern_halo, ranks, schedule, diag);
}

/* ---- stencil ---- */

static enum hop_status check_stencil(struct hop_pattern *p, struct hop_diag *diag)
{
    enum hop_status status = check_grid(p, diag);
    if (status != HOP_OK)
        return status;
    if (p->steps == 0 || !(p->work_s >= 0) || isinf(p->work_s))
        return hop_fail(diag, HOP_ERR_INVALID,
                        "a stencil cannot have %u steps with %g s of work between them\n"
                        "at least 1 step, and a time that is finite and not negative",
                        p->steps, p->work_s);
    p->messages = count_sends(p) * p->steps + (uint64_t)p->ranks * (p->steps - 1);
    return HOP_OK;
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
static void add_work(const struct hop_pattern *p, struct hop_pattern_sink *maker, const struct places *places,
                     uint32_t step, uint32_t rank)
{
    struct neighbour list[NEIGHBOURS_MAX];
    unsigned count = neighbours_of(&p->grid, rank, list);
    uint32_t after[NEIGHBOURS_MAX + 1], after_count = 0;
    for (unsigned i = 0; i < count; i++) {
        unsigned position = position_of(&p->grid, list[i].rank, rank);
        after[after_count++] = send_place(places, step - 1, list[i].rank, position);
    }
    if (step > 1)
        after[after_count++] = work_place(places, step - 1, rank);
    hop_make_work(maker, rank, p->work_s, after, after_count, "s%u.r%u.work", step, rank);
}

static void make_stencil(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    uint32_t n = p->ranks, *first_send = calloc(n, sizeof *first_send);
    struct neighbour list[NEIGHBOURS_MAX];
    if (!first_send)
        hop_failure_set(&maker->failure, HOP_ERR_MEMORY, "out of memory");
    for (uint32_t r = 1; first_send && r < n; r++)
        first_send[r] = first_send[r - 1] + neighbours_of(&p->grid, r - 1, list);
    struct places places = {first_send, (uint32_t)count_sends(p), n};
    for (uint32_t k = 0; first_send && k < p->steps; k++) {
        char prefix[16];
        (void)snprintf(prefix, sizeof prefix, "s%u.", k);
        for (uint32_t r = 0; r < n; r++) {
            uint32_t work = k ? work_place(&places, k, r) : 0;
            if (k)
                add_work(p, maker, &places, k, r);
            add_sends(p, maker, r, prefix, k ? &work : NULL);
        }
    }
    free(first_send);
}

const struct hop_pattern_kind hop_pattern_stencil = {
    "stencil",
    "stencil:AxBx...[,weight=W][,weights=U/V/...][,wrap][,steps=K][,work=TIME]",
    "K halo exchanges with work between them",
    HOP_GRID_MAX,
    check_stencil,
    make_stencil};

enum hop_status hop_make_stencil(const struct hop_ranks *ranks, const struct hop_grid *grid, uint64_t bytes,
                                 uint32_t steps, double work_s, struct hop_schedule **schedule, struct hop_diag *diag)
{
    struct hop_pattern p = {.grid = *grid, .bytes = bytes, .steps = steps, .work_s = work_s};
    return hop_make_schedule(&p, &hop_pattern_stencil, ranks, schedule, diag);
}

/* ---- groups ---- */

static enum hop_status check_coll(struct hop_pattern *p, struct hop_diag *diag)
{
    enum hop_status status = check_grid(p, diag);
    if (status == HOP_OK)
        p->messages = (uint64_t)p->ranks * (p->grid.extent[0] - 1);
    return status;
}

static void make_coll(const struct hop_pattern *p, struct hop_pattern_sink *maker)
{
    uint32_t extent = p->grid.extent[0], stride = stride_of(&p->grid, 0);
    for (uint32_t r = 0; r < p->ranks; r++) {
        uint32_t base = r - r / stride % extent * stride;
        for (uint32_t i = 0; i < extent; i++) {
            struct hop_send send = {.from = r, .to = base + i * stride, .bytes = p->bytes};
            if (send.to != r)
                hop_make_send(maker, &send, "r%u.to%u", r, send.to);
        }
    }
}

const struct hop_pattern_kind hop_pattern_coll = {
    "coll",       "coll:AxBx...", "an alltoall in every group along the first dimension of a grid",
    HOP_GRID_MAX, check_coll,     make_coll};
