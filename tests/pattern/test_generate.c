/* SPDX-License-Identifier: BSD-3-Clause */
/* Generators: exact orders, closed forms, independent counts, and the command `hopcast make`. */
#include "hopcast/pattern.h"
#include "hopcast/units.h"
#include "test.h"

#include <sys/wait.h>

#define MIB ((uint64_t)1 << 20)

/* ---- ranks and looking ---- */

enum { MANY = 4096 };

/* gpu0, gpu1, ... */
static struct hop_ranks gpus(uint32_t count)
{
    static char names[MANY][16];
    static const char *devices[MANY];
    assert_true(count <= MANY);
    for (uint32_t i = 0; i < count; i++) {
        (void)snprintf(names[i], sizeof names[i], "gpu%u", i);
        devices[i] = names[i];
    }
    return (struct hop_ranks){devices, count};
}

static uint32_t rank_of(const char *device)
{
    return (uint32_t)strtoul(device + 3, NULL, 10);
}

static uint32_t from(const struct hop_schedule *s, uint32_t i)
{
    return rank_of(hop_schedule_op(s, i)->from.device);
}

static uint32_t to(const struct hop_schedule *s, uint32_t i)
{
    return rank_of(hop_schedule_op(s, i)->to.device);
}

static bool waits_for(const struct hop_op *op, uint32_t index)
{
    for (uint32_t i = 0; i < op->after_count; i++) {
        if (op->after[i] == index)
            return true;
    }
    return false;
}

/* Where a rank sends, in order, as a text. */
static const char *targets(const struct hop_schedule *s, uint32_t rank)
{
    static char text[4096];
    size_t length = 0;
    text[0] = '\0';
    for (uint32_t i = 0; i < hop_schedule_count(s); i++) {
        if (hop_schedule_op(s, i)->kind == HOP_OP_COPY && from(s, i) == rank)
            length += (size_t)snprintf(text + length, sizeof text - length, length ? " %u" : "%u", to(s, i));
    }
    return text;
}

/* Reading the text gives the same text: names are unique, dependencies resolve. */
static void check_text(const struct hop_schedule *s)
{
    char *text = hop_schedule_to_text(s);
    assert_non_null(text);
    struct hop_schedule *again;
    CHECK(hop_schedule_parse("again", text, strlen(text), &again, D));
    char *second = hop_schedule_to_text(again);
    assert_string_equal(text, second);
    assert_int_equal(hop_schedule_count(s), hop_schedule_count(again));
    free(text);
    free(second);
    hop_schedule_destroy(again);
}

static void expect_text(struct hop_schedule *s, const char *expected)
{
    char *text = hop_schedule_to_text(s);
    assert_string_equal(text, expected);
    free(text);
    hop_schedule_destroy(s);
}

static void refused(enum hop_status status, enum hop_status expected, const struct hop_diag *diag, const char *what)
{
    assert_int_equal(status, expected);
    assert_int_equal(diag->status, expected);
    if (!strstr(diag->what, what))
        fail_msg("'%s' does not say '%s'", diag->what, what);
    assert_true(diag->expected[0] != '\0');
}

/* ---- halo ---- */

static void halo_of_4x2_is_the_published_exchange(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(8);
    struct hop_grid grid = {.dimensions = 2, .extent = {4, 2}};
    struct hop_schedule *s;
    CHECK(hop_make_halo(&ranks, &grid, 300 * MIB, &s, D));
    assert_int_equal(hop_schedule_count(s), 20);
    const char *const expected[] = {"1 4", "0 2 5", "1 3 6", "2 7", "5 0", "4 6 1", "5 7 2", "6 3"};
    for (uint32_t r = 0; r < 8; r++)
        assert_string_equal(targets(s, r), expected[r]);
    assert_string_equal(hop_schedule_op(s, 0)->name, "r0.x+");
    assert_string_equal(hop_schedule_op(s, 19)->name, "r7.y-");
    check_text(s);
    hop_schedule_destroy(s);
}

static void halo_of_2x2x2_sends_once_along_each_dimension(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(8);
    for (int wrap = 0; wrap < 2; wrap++) { /* the way around leads to the same neighbour */
        struct hop_grid grid = {.dimensions = 3, .extent = {2, 2, 2}, .wrap = wrap};
        struct hop_schedule *s;
        CHECK(hop_make_halo(&ranks, &grid, MIB, &s, D));
        assert_int_equal(hop_schedule_count(s), 24);
        for (uint32_t i = 0; i < 24; i++) {
            assert_int_equal(from(s, i), i / 3);
            assert_int_equal(to(s, i), (i / 3) ^ (1u << i % 3));
        }
        hop_schedule_destroy(s);
    }
}

/* Neighbours from coordinates: every pair of ranks is asked whether it differs by one in one dimension. */
static bool are_neighbours(const struct hop_grid *grid, uint32_t a, uint32_t b)
{
    unsigned apart = 0; /* in how many dimensions; two or more are no neighbours */
    for (unsigned d = 0; d < grid->dimensions; d++) {
        uint32_t extent = grid->extent[d], x = a % extent, y = b % extent, gap = x > y ? x - y : y - x;
        if (gap == 1 || (grid->wrap && gap > 0 && gap == extent - 1))
            apart += 1;
        else if (gap != 0)
            apart += 2;
        a /= extent;
        b /= extent;
    }
    return apart == 1;
}

static void check_halo(const struct hop_grid *grid)
{
    uint32_t n = 1, sends = 0, pairs = 0;
    for (unsigned d = 0; d < grid->dimensions; d++)
        n *= grid->extent[d];
    for (unsigned d = 0; d < grid->dimensions; d++) { /* the closed form */
        uint32_t extent = grid->extent[d];
        sends += n / extent * (grid->wrap && extent > 2 ? 2 * extent : 2 * extent - 2);
    }
    struct hop_ranks ranks = gpus(n);
    struct hop_schedule *s;
    CHECK(hop_make_halo(&ranks, grid, 7, &s, D));
    assert_int_equal(hop_schedule_count(s), sends);
    for (uint32_t a = 0; a < n; a++) {
        for (uint32_t b = 0; b < n; b++)
            pairs += are_neighbours(grid, a, b);
    }
    assert_int_equal(pairs, sends);
    bool seen[64][64] = {{false}};
    for (uint32_t i = 0; i < sends; i++) {
        assert_true(are_neighbours(grid, from(s, i), to(s, i)));
        assert_false(seen[from(s, i)][to(s, i)]);
        seen[from(s, i)][to(s, i)] = true;
        if (i > 0)
            assert_true(from(s, i - 1) <= from(s, i));
    }
    hop_schedule_destroy(s);
}

static void halo_has_each_pair_of_neighbours_once_both_ways(void **state)
{
    (void)state;
    for (unsigned wrap = 0; wrap < 2; wrap++) {
        for (uint32_t x = 1; x <= 5; x++) {
            check_halo(&(struct hop_grid){.dimensions = 1, .extent = {x}, .wrap = wrap});
            for (uint32_t y = 1; y <= 4; y++) {
                check_halo(&(struct hop_grid){.dimensions = 2, .extent = {x, y}, .wrap = wrap});
                for (uint32_t z = 1; z <= 3; z++)
                    check_halo(&(struct hop_grid){.dimensions = 3, .extent = {x, y, z}, .wrap = wrap});
            }
        }
    }
}

static void halo_around_keeps_minus_before_plus(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(12);
    struct hop_grid grid = {.dimensions = 2, .extent = {4, 3}, .wrap = true};
    struct hop_schedule *s;
    CHECK(hop_make_halo(&ranks, &grid, 7, &s, D));
    assert_string_equal(targets(s, 0), "3 1 8 4");
    assert_string_equal(targets(s, 5), "4 6 1 9");
    assert_string_equal(targets(s, 11), "10 8 7 3");
    assert_string_equal(hop_schedule_op(s, 0)->name, "r0.x-");
    hop_schedule_destroy(s);
}

static void weights_scale_and_round_the_bytes_of_a_dimension(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(4);
    struct hop_grid grid = {.dimensions = 2, .extent = {2, 2}, .weight = {2.5, 0}};
    struct hop_schedule *s;
    CHECK(hop_make_halo(&ranks, &grid, 3, &s, D));
    assert_int_equal(hop_schedule_op(s, 0)->bytes, 8); /* 7.5 */
    assert_int_equal(hop_schedule_op(s, 1)->bytes, 3);
    hop_schedule_destroy(s);

    grid.weight[0] = 1; /* no rounding through a double */
    CHECK(hop_make_halo(&ranks, &grid, HOP_BYTES_MAX - 1, &s, D));
    assert_true(hop_schedule_op(s, 0)->bytes == HOP_BYTES_MAX - 1);
    hop_schedule_destroy(s);

    CHECK(hop_make_halo(&ranks, &grid, 0, &s, D));
    assert_int_equal(hop_schedule_op(s, 0)->bytes, 0);
    check_text(s);
    hop_schedule_destroy(s);
}

static void impossible_grids_are_refused(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(8);
    struct hop_schedule *s = NULL;
    struct hop_diag diag;
    struct hop_grid grid = {.dimensions = 2, .extent = {3, 2}};
    refused(hop_make_halo(&ranks, &grid, 1, &s, &diag), HOP_ERR_INVALID, &diag, "3x2 does not hold 8");
    grid = (struct hop_grid){.dimensions = 3, .extent = {0, 8, 1}};
    refused(hop_make_halo(&ranks, &grid, 1, &s, &diag), HOP_ERR_INVALID, &diag, "0x8x1");
    grid = (struct hop_grid){.dimensions = 3, .extent = {UINT32_MAX, UINT32_MAX, UINT32_MAX}};
    refused(hop_make_halo(&ranks, &grid, 1, &s, &diag), HOP_ERR_INVALID, &diag, "does not hold");
    grid = (struct hop_grid){.dimensions = 7, .extent = {2, 2, 2}};
    refused(hop_make_halo(&ranks, &grid, 1, &s, &diag), HOP_ERR_INVALID, &diag, "7 dimensions");
    grid = (struct hop_grid){.dimensions = 1, .extent = {8}, .weight = {-1}};
    refused(hop_make_halo(&ranks, &grid, 1, &s, &diag), HOP_ERR_INVALID, &diag, "weight");
    grid.weight[0] = 1e30;
    refused(hop_make_halo(&ranks, &grid, 1, &s, &diag), HOP_ERR_LIMIT, &diag, "too many");
    assert_null(s);
}

/* ---- stencil ---- */

static void stencil_computes_when_its_halo_is_there_and_then_sends(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(12);
    struct hop_grid grid = {.dimensions = 2, .extent = {4, 3}, .wrap = true};
    enum { STEPS = 4, N = 12, SENDS = 48 };
    struct hop_schedule *s;
    CHECK(hop_make_stencil(&ranks, &grid, MIB, STEPS, 30e-6, &s, D));
    assert_int_equal(hop_schedule_count(s), STEPS * SENDS + (STEPS - 1) * N);
    unsigned works = 0;
    for (uint32_t i = 0; i < hop_schedule_count(s); i++) {
        const struct hop_op *op = hop_schedule_op(s, i);
        unsigned step, rank;
        assert_int_equal(sscanf(op->name, "s%u.r%u", &step, &rank), 2);
        assert_int_equal(from(s, i), rank);
        char name[32];
        if (op->kind == HOP_OP_COPY) {
            (void)snprintf(name, sizeof name, "s%u.r%u.work", step, rank);
            assert_int_equal(op->after_count, step > 0);
            assert_true(step == 0 || waits_for(op, hop_schedule_find(s, name)));
            continue;
        }
        works++;
        assert_true(op->duration_s == 30e-6);
        uint32_t received = 0;
        for (uint32_t j = 0; j < hop_schedule_count(s); j++) {
            (void)snprintf(name, sizeof name, "s%u.", step - 1);
            const struct hop_op *send = hop_schedule_op(s, j);
            if (send->kind == HOP_OP_COPY && to(s, j) == rank && !strncmp(send->name, name, strlen(name))) {
                assert_true(waits_for(op, j));
                received++;
            }
        }
        assert_int_equal(received, 4);
        (void)snprintf(name, sizeof name, "s%u.r%u.work", step - 1, rank);
        assert_true(step == 1 || waits_for(op, hop_schedule_find(s, name)));
        assert_int_equal(op->after_count, received + (step > 1));
    }
    assert_int_equal(works, (STEPS - 1) * N);
    check_text(s);
    hop_schedule_destroy(s);
}

static void stencil_of_two_ranks_reads_like_this(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(2);
    struct hop_grid grid = {.dimensions = 1, .extent = {2}};
    struct hop_schedule *s;
    CHECK(hop_make_stencil(&ranks, &grid, MIB, 3, 25e-6, &s, D));
    expect_text(s, "s0.r0.x+: gpu0 -> gpu1 1MiB\n"
                   "s0.r1.x-: gpu1 -> gpu0 1MiB\n"
                   "s1.r0.work: work gpu0 25us after s0.r1.x-\n"
                   "s1.r0.x+: gpu0 -> gpu1 1MiB after s1.r0.work\n"
                   "s1.r1.work: work gpu1 25us after s0.r0.x+\n"
                   "s1.r1.x-: gpu1 -> gpu0 1MiB after s1.r1.work\n"
                   "s2.r0.work: work gpu0 25us after s1.r1.x- s1.r0.work\n"
                   "s2.r0.x+: gpu0 -> gpu1 1MiB after s2.r0.work\n"
                   "s2.r1.work: work gpu1 25us after s1.r0.x+ s1.r1.work\n"
                   "s2.r1.x-: gpu1 -> gpu0 1MiB after s2.r1.work\n");
}

static void impossible_stencils_are_refused(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(8);
    struct hop_grid grid = {.dimensions = 1, .extent = {8}};
    struct hop_schedule *s = NULL;
    struct hop_diag diag;
    refused(hop_make_stencil(&ranks, &grid, 1, 0, 1, &s, &diag), HOP_ERR_INVALID, &diag, "0 steps");
    refused(hop_make_stencil(&ranks, &grid, 1, 1, -1, &s, &diag), HOP_ERR_INVALID, &diag, "-1 s");
    refused(hop_make_stencil(&ranks, &grid, 1, UINT32_MAX, 1, &s, &diag), HOP_ERR_LIMIT, &diag, "operations");
    assert_null(s);
}

/* ---- exchanges ---- */

static void alltoall_orders_are_exact(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(4);
    const char *const expected[3][4] = {{"1 2 3", "0 2 3", "0 1 3", "0 1 2"},
                                        {"1 2 3", "2 3 0", "3 0 1", "0 1 2"},
                                        {"1 2 3", "0 3 2", "3 0 1", "2 1 0"}};
    for (int order = 0; order < 3; order++) {
        struct hop_schedule *s;
        CHECK(hop_make_alltoall(&ranks, (enum hop_alltoall)order, MIB, &s, D));
        assert_int_equal(hop_schedule_count(s), 12);
        for (uint32_t r = 0; r < 4; r++)
            assert_string_equal(targets(s, r), expected[order][r]);
        check_text(s);
        hop_schedule_destroy(s);
    }
}

static void every_step_of_shift_and_xor_is_a_permutation(void **state)
{
    (void)state;
    static const struct {
        enum hop_alltoall order;
        uint32_t n;
    } cases[] = {{HOP_ALLTOALL_SHIFT, 7}, {HOP_ALLTOALL_SHIFT, 16}, {HOP_ALLTOALL_XOR, 16}, {HOP_ALLTOALL_XOR, 2}};
    for (size_t c = 0; c < sizeof cases / sizeof cases[0]; c++) {
        uint32_t n = cases[c].n;
        struct hop_ranks ranks = gpus(n);
        struct hop_schedule *s;
        CHECK(hop_make_alltoall(&ranks, cases[c].order, MIB, &s, D));
        for (uint32_t step = 0; step + 1 < n; step++) {
            uint32_t reached = 0;
            for (uint32_t r = 0; r < n; r++)
                reached |= 1u << to(s, r * (n - 1) + step);
            assert_int_equal(reached, (1u << n) - 1);
        }
        hop_schedule_destroy(s);
    }
}

static void alltoall_in_xor_order_needs_a_power_of_two(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(6);
    struct hop_schedule *s = NULL;
    struct hop_diag diag;
    refused(hop_make_alltoall(&ranks, HOP_ALLTOALL_XOR, 1, &s, &diag), HOP_ERR_INVALID, &diag, "6 devices");
    assert_null(s);
}

static void ring_sends_on_what_it_received(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(3);
    struct hop_schedule *s;
    CHECK(hop_make_ring(&ranks, 3, MIB, &s, D));
    expect_text(s, "k0.r0: gpu0 -> gpu1 1MiB\n"
                   "k0.r1: gpu1 -> gpu2 1MiB\n"
                   "k0.r2: gpu2 -> gpu0 1MiB\n"
                   "k1.r0: gpu0 -> gpu1 1MiB after k0.r2\n"
                   "k1.r1: gpu1 -> gpu2 1MiB after k0.r0\n"
                   "k1.r2: gpu2 -> gpu0 1MiB after k0.r1\n"
                   "k2.r0: gpu0 -> gpu1 1MiB after k1.r2\n"
                   "k2.r1: gpu1 -> gpu2 1MiB after k1.r0\n"
                   "k2.r2: gpu2 -> gpu0 1MiB after k1.r1\n");
    struct hop_diag diag;
    ranks.count = 1;
    refused(hop_make_ring(&ranks, 1, 1, &s, &diag), HOP_ERR_INVALID, &diag, "1 devices");
}

static void scatter_and_gather_go_from_and_to_the_root(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(4);
    struct hop_schedule *s;
    CHECK(hop_make_scatter(&ranks, 1, MIB, &s, D));
    expect_text(s, "to0: gpu1 -> gpu0 1MiB\nto2: gpu1 -> gpu2 1MiB\nto3: gpu1 -> gpu3 1MiB\n");
    CHECK(hop_make_gather(&ranks, 3, 0, &s, D));
    expect_text(s, "from0: gpu0 -> gpu3 0B\nfrom1: gpu1 -> gpu3 0B\nfrom2: gpu2 -> gpu3 0B\n");
    struct hop_diag diag;
    refused(hop_make_scatter(&ranks, 4, 1, &s, &diag), HOP_ERR_INVALID, &diag, "rank 4");
    refused(hop_make_gather(&ranks, UINT32_MAX, 1, &s, &diag), HOP_ERR_INVALID, &diag, "root");
}

static void ranks_are_distinct_devices(void **state)
{
    (void)state;
    const char *twice[] = {"gpu0", "gpu1", "gpu0"}, *odd[] = {"gpu0", "gpu1:x"};
    struct hop_schedule *s = NULL;
    struct hop_diag diag;
    refused(hop_make_scatter(&(struct hop_ranks){twice, 3}, 0, 1, &s, &diag), HOP_ERR_INVALID, &diag,
            "gpu0 takes part twice");
    refused(hop_make_gather(&(struct hop_ranks){odd, 2}, 0, 1, &s, &diag), HOP_ERR_INVALID, &diag, "gpu1:x");
    refused(hop_make_gather(&(struct hop_ranks){odd, 0}, 0, 1, &s, &diag), HOP_ERR_INVALID, &diag, "0 devices");
    assert_null(s);
}

static void more_than_ten_million_operations_are_refused(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(4000);
    struct hop_schedule *s = NULL;
    struct hop_diag diag;
    refused(hop_make_alltoall(&ranks, HOP_ALLTOALL_SHIFT, 1, &s, &diag), HOP_ERR_LIMIT, &diag, "15996000");
    refused(hop_make_ring(&ranks, UINT32_MAX, 1, &s, &diag), HOP_ERR_LIMIT, &diag, "operations");
    struct hop_random random = {.transfers = 10000001};
    refused(hop_make_random(&ranks, &random, &s, &diag), HOP_ERR_LIMIT, &diag, "10000001");
    assert_null(s);
}

/* ---- random ---- */

/* The expected texts come from an independent program that follows the description in docs/generators.md. */
static void a_seed_means_the_same_graph_everywhere(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(8);
    struct hop_random random = {.transfers = 6, .seed = 42, .min_bytes = 1001, .max_bytes = 9999, .depend = 0.5};
    struct hop_schedule *s;
    CHECK(hop_make_random(&ranks, &random, &s, D));
    expect_text(s, "t0: gpu5 -> gpu6 1627B\n"
                   "t1: gpu2 -> gpu3 4067B\n"
                   "t2: gpu2 -> gpu5 1007B after t1\n"
                   "t3: gpu5 -> gpu7 3291B\n"
                   "t4: gpu5 -> gpu6 3498B after t1\n"
                   "t5: gpu7 -> gpu6 5812B after t0\n");
    random = (struct hop_random){
        .transfers = 5, .seed = 7, .min_bytes = 1001, .max_bytes = 9999, .distinct_sources = true, .depend = 0.3};
    CHECK(hop_make_random(&ranks, &random, &s, D));
    expect_text(s, "t0: gpu6 -> gpu0 8743B\n"
                   "t1: gpu4 -> gpu7 9422B\n"
                   "t2: gpu2 -> gpu1 4239B\n"
                   "t3: gpu0 -> gpu7 7733B\n"
                   "t4: gpu3 -> gpu4 7278B\n");
    ranks = gpus(3);
    random =
        (struct hop_random){.transfers = 6, .seed = 7, .min_bytes = 1001, .max_bytes = 9999, .distinct_edges = true};
    CHECK(hop_make_random(&ranks, &random, &s, D));
    expect_text(s, "t0: gpu0 -> gpu1 8241B\n"
                   "t1: gpu1 -> gpu2 5712B\n"
                   "t2: gpu2 -> gpu1 8743B\n"
                   "t3: gpu0 -> gpu2 9737B\n"
                   "t4: gpu1 -> gpu0 7087B\n"
                   "t5: gpu2 -> gpu0 3748B\n");
}

static void check_random(const struct hop_ranks *ranks, const struct hop_random *random)
{
    struct hop_schedule *s;
    CHECK(hop_make_random(ranks, random, &s, D));
    assert_int_equal(hop_schedule_count(s), random->transfers);
    bool sources[64] = {false}, edges[64][64] = {{false}};
    uint32_t waiting = 0;
    for (uint32_t i = 0; i < random->transfers; i++) {
        const struct hop_op *op = hop_schedule_op(s, i);
        uint32_t a = from(s, i), b = to(s, i);
        assert_true(a < ranks->count && b < ranks->count && a != b);
        assert_true(op->bytes >= random->min_bytes && op->bytes <= random->max_bytes);
        assert_false(random->distinct_sources && sources[a]);
        assert_false(random->distinct_edges && edges[a][b]);
        sources[a] = edges[a][b] = true;
        assert_true(op->after_count <= 1 && (op->after_count == 0 || op->after[0] < i));
        waiting += op->after_count;
    }
    if (random->depend == 0)
        assert_int_equal(waiting, 0);
    if (random->depend == 1)
        assert_int_equal(waiting, random->transfers - 1);
    hop_schedule_destroy(s);
}

static void random_graphs_keep_their_promises(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 300; seed++) {
        uint32_t n = 2 + (uint32_t)(seed % 13);
        struct hop_ranks ranks = gpus(n);
        struct hop_random random = {
            .seed = seed * seed, .min_bytes = seed, .max_bytes = seed + seed % 7, .depend = (double)(seed % 3) / 2};
        random.transfers = 3 * n;
        check_random(&ranks, &random);
        random.distinct_edges = true;
        random.transfers = 1 + (uint32_t)seed % (n * (n - 1));
        check_random(&ranks, &random);
        random.transfers = n * (n - 1); /* all of them */
        check_random(&ranks, &random);
        random.distinct_sources = true;
        random.transfers = n;
        check_random(&ranks, &random);
    }
}

/* Every edge is drawn about equally often: chi-squared with 55 degrees of freedom stays below its 0.9999 quantile. */
static void random_edges_are_uniform(void **state)
{
    (void)state;
    enum { DRAWS = 56000 };
    struct hop_ranks ranks = gpus(8);
    for (int distinct = 0; distinct < 2; distinct++) {
        double often[8][8] = {{0}}, chi = 0;
        for (uint64_t seed = 0; seed < DRAWS / 14; seed++) {
            struct hop_random random = {.transfers = 14, .seed = seed, .distinct_edges = distinct};
            struct hop_schedule *s;
            CHECK(hop_make_random(&ranks, &random, &s, D));
            for (uint32_t i = 0; i < 14; i++)
                often[from(s, i)][to(s, i)]++;
            hop_schedule_destroy(s);
        }
        for (uint32_t a = 0; a < 8; a++) {
            for (uint32_t b = 0; b < 8; b++)
                chi += a == b ? often[a][b] : (often[a][b] - 1000) * (often[a][b] - 1000) / 1000;
        }
        assert_true(chi < 99.6);
    }
}

static void impossible_random_graphs_are_refused(void **state)
{
    (void)state;
    struct hop_ranks ranks = gpus(4);
    struct hop_schedule *s = NULL;
    struct hop_diag diag;
    struct hop_random random = {.transfers = 13, .distinct_edges = true};
    refused(hop_make_random(&ranks, &random, &s, &diag), HOP_ERR_INVALID, &diag, "13 random transfers");
    random = (struct hop_random){.transfers = 5, .distinct_sources = true};
    refused(hop_make_random(&ranks, &random, &s, &diag), HOP_ERR_INVALID, &diag, "distinct sources");
    random = (struct hop_random){.transfers = 5, .min_bytes = 2, .max_bytes = 1};
    refused(hop_make_random(&ranks, &random, &s, &diag), HOP_ERR_INVALID, &diag, "from 2 to 1");
    random = (struct hop_random){.transfers = 5, .depend = 1.5};
    refused(hop_make_random(&ranks, &random, &s, &diag), HOP_ERR_INVALID, &diag, "1.5");
    random = (struct hop_random){.transfers = 0};
    refused(hop_make_random(&ranks, &random, &s, &diag), HOP_ERR_INVALID, &diag, "0 random transfers");
    ranks.count = 1;
    random = (struct hop_random){.transfers = 1};
    refused(hop_make_random(&ranks, &random, &s, &diag), HOP_ERR_INVALID, &diag, "1 devices");
    assert_null(s);
}

/* ---- graphs ---- */

/* A group given by what its permutations keep: how far apart two devices are. */
typedef unsigned far_apart(uint32_t a, uint32_t b);

static unsigned far_on_t1(uint32_t a, uint32_t b)
{
    return a == b ? 0 : a / 2 == b / 2 ? 1 : 2;
}

static unsigned far_on_t2(uint32_t a, uint32_t b)
{
    return a == b ? 0 : a / 2 == b / 2 ? 1 : a / 4 == b / 4 ? 2 : 3;
}

static unsigned far_with_gpu0_apart(uint32_t a, uint32_t b)
{
    return far_on_t2(a, b) + (a == 0 || b == 0 ? 10 : 0);
}

struct group {
    uint32_t n, count;
    const uint32_t *devices;
    far_apart *far;
    uint32_t image[8];
    uint8_t found[40320][8];
};

static void find_group(struct group *g, uint32_t rank)
{
    if (rank == g->n) {
        for (uint32_t i = 0; i < g->n; i++)
            g->found[g->count][i] = (uint8_t)g->image[i];
        g->count++;
        return;
    }
    for (uint32_t image = 0; image < g->n; image++) {
        g->image[rank] = image;
        bool fits = true;
        for (uint32_t i = 0; i < rank && fits; i++)
            fits = g->image[i] != image &&
                   g->far(g->devices[i], g->devices[rank]) == g->far(g->devices[g->image[i]], g->devices[image]);
        if (fits && g->far(g->devices[rank], g->devices[rank]) == g->far(g->devices[image], g->devices[image]))
            find_group(g, rank + 1);
    }
}

static struct group *group_of(const uint32_t *devices, uint32_t n, far_apart *far)
{
    struct group *g = calloc(1, sizeof *g);
    assert_non_null(g);
    g->n = n;
    g->devices = devices;
    g->far = far;
    find_group(g, 0);
    return g;
}

/* Burnside: the number of classes of k edges is the mean over the group of how many sets of k edges stay as they are,
 * the coefficient of x^k in the product of (1 + x^length) over the cycles of edges. */
static uint64_t burnside(const struct group *g, uint32_t k)
{
    uint64_t sum = 0;
    for (uint32_t p = 0; p < g->count; p++) {
        uint64_t sets[9] = {1};
        bool seen[8][8] = {{false}};
        for (uint32_t a = 0; a < g->n; a++) {
            for (uint32_t b = 0; b < g->n; b++) {
                uint32_t x = a, y = b, length = 0;
                while (a != b && !seen[x][y]) {
                    seen[x][y] = true;
                    length++;
                    uint32_t next = g->found[p][x];
                    y = g->found[p][y];
                    x = next;
                }
                for (uint32_t i = k; length && i >= length; i--)
                    sets[i] += sets[i - length];
            }
        }
        sum += sets[k];
    }
    assert_int_equal(sum % g->count, 0);
    return sum / g->count;
}

static const uint32_t all_eight[] = {0, 1, 2, 3, 4, 5, 6, 7};

struct tally {
    uint64_t of_size[64];
    uint32_t last;
};

static bool tally(const struct hop_schedule *graph, void *context)
{
    struct tally *t = context;
    uint32_t size = hop_schedule_count(graph);
    assert_true(size < 64);
    assert_true(size >= t->last);
    t->last = size;
    t->of_size[size]++;
    return true;
}

static void check_burnside(const struct hop_topology *topology, const struct group *g, uint32_t most)
{
    struct hop_ranks ranks = gpus(8);
    struct tally t = {.last = 0};
    uint64_t count, sum = 0;
    CHECK(hop_make_graphs(&ranks, topology, most, MIB, tally, &t, &count, D));
    for (uint32_t k = 1; k <= most; k++) {
        assert_int_equal(t.of_size[k], burnside(g, k));
        sum += t.of_size[k];
    }
    assert_int_equal(count, sum);
}

static void graphs_on_t2_are_as_many_as_burnside_says(void **state)
{
    (void)state;
    struct group *g = group_of(all_eight, 8, far_on_t2);
    assert_int_equal(g->count, 128);
    struct hop_topology *topology = load_topology("t2");
    check_burnside(topology, g, 4);
    hop_topology_destroy(topology);
    free(g);
}

static void graphs_on_t1_are_as_many_as_burnside_says(void **state)
{
    (void)state;
    struct group *g = group_of(all_eight, 8, far_on_t1);
    assert_int_equal(g->count, 384);
    struct hop_topology *topology = load_topology("t1");
    check_burnside(topology, g, 4);
    hop_topology_destroy(topology);
    free(g);
}

static void a_narrower_link_breaks_the_symmetry_of_its_device(void **state)
{
    (void)state;
    struct group *g = group_of(all_eight, 8, far_with_gpu0_apart);
    assert_int_equal(g->count, 16);
    static const char *const changes[] = {"gpu0->board0.capacity=6GB/s", "board0->gpu0.capacity=6GB/s",
                                          "gpu0--board0.latency=1us", "gpu0.engines=2"};
    for (size_t i = 0; i < sizeof changes / sizeof changes[0]; i++) {
        struct hop_topology *topology = load_topology("t2");
        CHECK(hop_topology_set(topology, changes[i], D));
        check_burnside(topology, g, 3);
        hop_topology_destroy(topology);
    }
    free(g);
}

/* The edges of a graph as a set of bits. */
static uint64_t edge_bit(const struct group *g, uint32_t a, uint32_t b)
{
    return (uint64_t)1 << (a * g->n + b);
}

static uint64_t image_of(const struct group *g, uint32_t p, uint64_t set)
{
    uint64_t image = 0;
    for (uint32_t a = 0; a < g->n; a++) {
        for (uint32_t b = 0; b < g->n; b++) {
            if (set & edge_bit(g, a, b))
                image |= edge_bit(g, g->found[p][a], g->found[p][b]);
        }
    }
    return image;
}

struct gathered {
    const struct group *group;
    uint64_t sets[8192];
    uint32_t count;
};

static bool gather(const struct hop_schedule *graph, void *context)
{
    struct gathered *all = context;
    uint64_t set = 0;
    for (uint32_t i = 0; i < hop_schedule_count(graph); i++) {
        const struct hop_op *op = hop_schedule_op(graph, i);
        unsigned a, b;
        assert_int_equal(sscanf(op->name, "r%u.to%u", &a, &b), 2);
        assert_int_equal(from(graph, i), all->group->devices[a]);
        assert_int_equal(to(graph, i), all->group->devices[b]);
        assert_int_equal(op->bytes, 5);
        assert_int_equal(op->after_count, 0);
        set |= edge_bit(all->group, a, b);
    }
    assert_true(all->count < 8192);
    all->sets[all->count++] = set;
    return true;
}

/* Brute force: every set of edges is in the orbit of exactly one representative. */
static void check_brute_force(const char *machine, const uint32_t *devices, uint32_t n, far_apart *far)
{
    struct hop_topology *topology = load_topology(machine);
    struct group *g = group_of(devices, n, far);
    struct gathered *all = calloc(1, sizeof *all);
    uint8_t *covered = calloc((size_t)1 << (n * n), 1);
    assert_true(all && covered);
    all->group = g;
    struct hop_ranks eight = gpus(8);
    const char *names[8];
    for (uint32_t i = 0; i < n; i++)
        names[i] = eight.devices[devices[i]];
    uint64_t count;
    CHECK(hop_make_graphs(&(struct hop_ranks){names, n}, topology, UINT32_MAX, 5, gather, all, &count, D));
    assert_int_equal(count, all->count);
    for (uint32_t i = 0; i < all->count; i++) {
        assert_int_equal(covered[all->sets[i]], 0);
        for (uint32_t p = 0; p < g->count; p++)
            covered[image_of(g, p, all->sets[i])] = 1;
    }
    uint64_t sets = 0;
    for (uint64_t set = 1; set < (uint64_t)1 << (n * n); set++)
        sets += covered[set];
    assert_int_equal(sets, ((uint64_t)1 << n * (n - 1)) - 1);
    hop_topology_destroy(topology);
    free(g);
    free(all);
    free(covered);
}

static void graphs_are_one_of_each_class(void **state)
{
    (void)state;
    check_brute_force("t2", (const uint32_t[]){0, 1, 2}, 3, far_on_t2);
    check_brute_force("t2", (const uint32_t[]){0, 2, 4}, 3, far_on_t2);
    check_brute_force("t2", (const uint32_t[]){0, 1, 2, 3}, 4, far_on_t2);
    check_brute_force("t2", (const uint32_t[]){7, 2, 6, 0}, 4, far_on_t2);
    check_brute_force("t1", (const uint32_t[]){0, 3, 4, 6}, 4, far_on_t1);
    check_brute_force("t1", (const uint32_t[]){5, 4, 1, 0}, 4, far_on_t1);
}

/* On devices that are all alike the classes are the digraphs without labels: 3, 16, 218, 9608 of 2 to 5 nodes
 * (OEIS A000273), the empty one among them. */
static void graphs_among_equal_devices_are_the_unlabelled_digraphs(void **state)
{
    (void)state;
    static const uint64_t digraphs[] = {0, 1, 3, 16, 218, 9608};
    struct hop_topology *topology = load_topology("dgx-a100");
    for (uint32_t n = 1; n <= 5; n++) {
        struct hop_ranks ranks = gpus(n);
        struct tally t = {.last = 0};
        uint64_t count;
        CHECK(hop_make_graphs(&ranks, topology, n * n, MIB, tally, &t, &count, D));
        assert_int_equal(count, digraphs[n] - 1);
    }
    hop_topology_destroy(topology);
}

/* The hybrid cube mesh over the same kind of tree splits the classes of single transfers, and not all of them. */
static void links_off_the_tree_count(void **state)
{
    (void)state;
    struct hop_topology *mesh = load_topology("dgx-1"), *tree = load_topology("pcie-8gpu-2root");
    struct hop_ranks ranks = gpus(8);
    struct tally on_mesh = {.last = 0}, on_tree = {.last = 0};
    CHECK(hop_make_graphs(&ranks, mesh, 2, MIB, tally, &on_mesh, NULL, D));
    CHECK(hop_make_graphs(&ranks, tree, 2, MIB, tally, &on_tree, NULL, D));
    assert_int_equal(on_tree.of_size[1], 3);
    assert_true(on_mesh.of_size[1] > 3 && on_mesh.of_size[1] < 56);
    hop_topology_destroy(mesh);
    hop_topology_destroy(tree);
}

static bool stop_at_ten(const struct hop_schedule *graph, void *context)
{
    uint32_t *seen = context;
    (void)graph;
    return ++*seen < 10;
}

static void a_visitor_may_stop_the_walk(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    struct hop_ranks ranks = gpus(8);
    uint32_t seen = 0;
    uint64_t count = 0;
    CHECK(hop_make_graphs(&ranks, topology, 50, MIB, stop_at_ten, &seen, &count, D));
    assert_int_equal(seen, 10);
    assert_int_equal(count, 10);
    hop_topology_destroy(topology);
}

static void impossible_graphs_are_refused(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    const char *misspelt[] = {"gpu0", "gpv1"}, *inner[] = {"gpu0", "switch0"};
    struct tally t = {.last = 0};
    struct hop_diag diag;
    struct hop_ranks ranks = {misspelt, 2};
    refused(hop_make_graphs(&ranks, topology, 1, 1, tally, &t, NULL, &diag), HOP_ERR_NOT_FOUND, &diag, "gpv1");
    assert_non_null(strstr(diag.expected, "gpu1"));
    ranks.devices = inner;
    refused(hop_make_graphs(&ranks, topology, 1, 1, tally, &t, NULL, &diag), HOP_ERR_NOT_FOUND, &diag, "switch0");
    ranks = gpus(65);
    refused(hop_make_graphs(&ranks, topology, 1, 1, tally, &t, NULL, &diag), HOP_ERR_LIMIT, &diag, "65 devices");
    ranks = gpus(8);
    refused(hop_make_graphs(&ranks, topology, 0, 1, tally, &t, NULL, &diag), HOP_ERR_INVALID, &diag, "0 transfers");
    hop_topology_destroy(topology);
}

/* Twelve devices alike have 12! symmetries. */
static void too_much_symmetry_is_refused(void **state)
{
    (void)state;
    struct hop_topology *topology = hop_topology_create("star");
    struct hop_node top = hop_node_default(HOP_NODE_SWITCH, "switch0");
    uint32_t centre;
    CHECK(hop_topology_add_node(topology, &top, &centre, D));
    struct hop_ranks ranks = gpus(12);
    for (uint32_t i = 0; i < 12; i++) {
        struct hop_node node = hop_node_default(HOP_NODE_GPU, ranks.devices[i]);
        uint32_t index;
        CHECK(hop_topology_add_node(topology, &node, &index, D));
        struct hop_link link = hop_link_default(HOP_LINK_PCIE, index, centre);
        link.generation = 4;
        link.width = 16;
        CHECK(hop_topology_add_link(topology, &link, NULL, D));
    }
    CHECK(hop_topology_finish(topology, D));
    struct tally t = {.last = 0};
    struct hop_diag diag;
    refused(hop_make_graphs(&ranks, topology, 2, 1, tally, &t, NULL, &diag), HOP_ERR_LIMIT, &diag, "symmetries");
    hop_topology_destroy(topology);
}

/* ---- the command ---- */

/* Runs `hopcast make ARGUMENTS`; what it printed, both streams, in a buffer of its own. */
static int make(const char *arguments, char **output)
{
    static char text[65536];
    char command[2048];
    (void)snprintf(command, sizeof command, "%s make %s 2>&1", TEST_COMMAND, arguments);
    FILE *pipe = popen(command, "r");
    assert_non_null(pipe);
    text[fread(text, 1, sizeof text - 1, pipe)] = '\0';
    int status = pclose(pipe);
    assert_true(WIFEXITED(status));
    *output = text;
    return WEXITSTATUS(status);
}

static void made(const char *arguments, const char *expected)
{
    char *output;
    int status = make(arguments, &output);
    if (status != 0 || !strstr(output, expected))
        fail_msg("make %s: %d, '%s' does not say '%s'", arguments, status, output, expected);
}

static void made_exactly(const char *arguments, const char *expected)
{
    char *output;
    assert_int_equal(make(arguments, &output), 0);
    assert_string_equal(output, expected);
}

static void not_made(const char *arguments, const char *expected)
{
    char *output;
    int status = make(arguments, &output);
    if (status != 2 || !strstr(output, expected))
        fail_msg("make %s: %d, '%s' does not say '%s'", arguments, status, output, expected);
}

static void the_command_writes_what_made_it(void **state)
{
    (void)state;
    made_exactly("ring:2 --devices a,b --bytes 4KiB", "# hopcast make ring:2 --devices a,b --bytes 4KiB\n"
                                                      "k0.r0: a -> b 4KiB\n"
                                                      "k0.r1: b -> a 4KiB\n");
    made_exactly("--devices=a,b halo", "# hopcast make --devices=a,b halo\n"
                                       "r0.x+: a -> b 1MiB\n"
                                       "r1.x-: b -> a 1MiB\n");
}

static void the_command_has_sensible_defaults(void **state)
{
    (void)state;
    made("halo --on t2", "r7.y-: gpu7 -> gpu3 1MiB\n"); /* 4x2 */
    made("ring,rounds=7 --on t2", "k6.r7: gpu7 -> gpu0 1MiB after k5.r6\n");
    made("stencil,steps=10 --on t2", "s9.r7.work: work gpu7 ");
    made("random --on t2", "t7: ");
    made("halo:2x2x2,order=column,weights=3/1/1 --on t2 --bytes 1KiB",
         "r0.x+: gpu0 -> gpu1 3KiB\nr0.y+: gpu0 -> gpu2 1KiB\n");
    made("scatter --on dgx-1 --bytes 0", "to7: gpu0 -> gpu7 0B\n");
    made("--help", "hopcast make halo:4x2");
}

/* The same words are the same exchange: what a pattern's copies move is its traffic. */
static void words_mean_one_exchange(void **state)
{
    (void)state;
    static const char *const words[] = {"stencil:4x2x3,weight=3,wrap",
                                        "halo:3x2,weights=1/2.5,order=column",
                                        "halo:2x2x2x2",
                                        "stencil:4x3,steps=3,work=1ms",
                                        "coll:4x2x2",
                                        "coll:3x2,order=column",
                                        "ring:5",
                                        "ring:5,rounds=4",
                                        "alltoall:6",
                                        "alltoall:8,order=xor",
                                        "alltoall:5,order=shift,bytes=3",
                                        "scatter:4,root=2",
                                        "gather:7",
                                        "neighbours:7",
                                        "pairs:8",
                                        "random:6,transfers=40,seed=3",
                                        "random:6,distinct-sources,min-bytes=1,max-bytes=1KiB"};
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        char names[64][16];
        const char *devices[64];
        struct hop_ranks ranks = {devices, 0};
        struct hop_schedule *schedule;
        struct hop_traffic *said, *moved;
        CHECK(hop_pattern_ranks(words[i], 0, &ranks.count, D));
        for (uint32_t r = 0; r < ranks.count; r++) {
            (void)snprintf(names[r], sizeof names[r], "rank%u", r);
            devices[r] = names[r];
        }
        CHECK(hop_pattern_schedule(words[i], &ranks, MIB, &schedule, D));
        CHECK(hop_pattern_traffic(words[i], HOP_MEMORY_DEVICE, &said, D));
        CHECK(hop_traffic_of_schedule(schedule, &moved, D));
        assert_int_equal(hop_traffic_count(said), hop_traffic_count(moved));
        for (uint32_t f = 0; f < hop_traffic_count(said); f++) {
            const struct hop_traffic_flow *a = &hop_traffic_flows(said)[f], *b = &hop_traffic_flows(moved)[f];
            if (a->from != b->from || a->to != b->to || a->bytes[HOP_MEMORY_DEVICE] != b->bytes[HOP_MEMORY_DEVICE])
                fail_msg("%s: its copies move something else from %u to %u", words[i], b->from, b->to);
        }
        hop_traffic_destroy(said);
        hop_traffic_destroy(moved);
        hop_schedule_destroy(schedule);
    }
}

static void the_command_reads_lists_and_ranges_of_devices(void **state)
{
    (void)state;
    made("gather --devices gpu0-2,x", "from2: gpu2 -> gpu0 1MiB\nfrom3: x -> gpu0 1MiB\n");
    made("gather --devices n08-11", "from3: n11 -> n08 1MiB\n"); /* as wide as written */
    made("gather --devices a-1,b-2.c,7-8",
         "from1: b-2.c -> a-1 1MiB\nfrom2: 7-8"); /* no ranges: no name before, or after */
}

static void the_command_says_what_is_wrong(void **state)
{
    (void)state;
    not_made("", "which pattern?");
    not_made("hallo --on t2", "is halo meant?");
    not_made("sten --on t2", "is stencil meant?");
    not_made("halo ring --on t2", "one PATTERN is expected");
    not_made("halo", "--on TOPOLOGY or --devices LIST is needed");
    not_made("halo:3x3 --on t2", "has 9 ranks, but 8 devices");
    not_made("halo:4x --on t2", "'4x' is no such grid");
    not_made("halo --on t2 --grid 4x2", "halo:4x2,order=column");
    not_made("halo,weights=1/-1 --on t2", "are no weights");
    not_made("ring --on t2", "ring,rounds=7, or ring:8 for once");
    not_made("stencil --on t2", "stencil,steps=10");
    not_made("ring:8,memory=host --on t2", "a setting of traffic");
    not_made("ring:8,bytes=1 --bytes 2 --on t2", "no --bytes");
    not_made("halo,weights=1/1/1 --on t2", "are no weights");
    not_made("halo --on t2 --root 1", "takes no --root");
    not_made("halo --on t2 --bytes 1XB", "unknown unit 'XB'");
    not_made("halo --on t2 --format xml", "hop or json is expected");
    not_made("alltoall,order=xor --on t2 --devices gpu0-5", "power of two");
    not_made("alltoall,order=up --on t2", "order=naive, order=shift or order=xor");
    not_made("scatter,root=8 --on t2", "a rank from 0 to 7");
    not_made("random,transfers=57,distinct-edges --on t2", "1 to 56 transfers");
    not_made("gather --on t2 --devices gpu0,gpv1", "'gpu1'?");
    not_made("gather --on t2 --devices gpu0,switch0", "'switch0' is a switch, not a device");
    not_made("gather --on t2 --devices gpu0,gpu1,gpu0", "gpu0 takes part twice");
    not_made("gather --devices gpu3-1", "lowest first");
    not_made("gather --devices gpu0,", "names no device");
    not_made("gather --set tau=0 --devices gpu0,gpu1", "--set goes with --on");
    not_made("graphs --devices gpu0,gpu1", "--on TOPOLOGY is needed");
    not_made("ring,rounds=2000000 --on t2", "16000000 operations");
    not_made("halo --on t2 --grd 4x2", "no option --grd");
}

static void the_command_counts_lists_and_files_graphs(void **state)
{
    (void)state;
    made_exactly("graphs --on t2 --max-transfers 2", "transfers        graphs\n"
                                                     "        1             3\n"
                                                     "        2            43\n"
                                                     "      all            46\n");
    made_exactly("graphs --on t2 --max-transfers 2 --devices gpu0,gpu1 --list --bytes 1KiB",
                 "gpu0 -> gpu1 1KiB\n"
                 "gpu0 -> gpu1 1KiB; gpu1 -> gpu0 1KiB\n");
    char folder[] = "/tmp/hopcast-graphs-XXXXXX", arguments[256], path[128], text[256];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(arguments, sizeof arguments, "graphs --on t2 --max-transfers 1 --output-dir %s", folder);
    made_exactly(arguments, "");
    for (int i = 1; i <= 3; i++) {
        (void)snprintf(path, sizeof path, "%s/graph-%05d.hop", folder, i);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        text[fread(text, 1, sizeof text - 1, file)] = '\0';
        (void)fclose(file);
        assert_non_null(strstr(text, "# hopcast make graphs"));
        assert_non_null(strstr(text, ": gpu0 -> gpu"));
        assert_int_equal(remove(path), 0);
    }
    assert_int_equal(rmdir(folder), 0);
}

TEST_GROUP(generate)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(halo_of_4x2_is_the_published_exchange),
        cmocka_unit_test(halo_of_2x2x2_sends_once_along_each_dimension),
        cmocka_unit_test(halo_has_each_pair_of_neighbours_once_both_ways),
        cmocka_unit_test(halo_around_keeps_minus_before_plus),
        cmocka_unit_test(weights_scale_and_round_the_bytes_of_a_dimension),
        cmocka_unit_test(impossible_grids_are_refused),
        cmocka_unit_test(stencil_computes_when_its_halo_is_there_and_then_sends),
        cmocka_unit_test(stencil_of_two_ranks_reads_like_this),
        cmocka_unit_test(impossible_stencils_are_refused),
        cmocka_unit_test(alltoall_orders_are_exact),
        cmocka_unit_test(every_step_of_shift_and_xor_is_a_permutation),
        cmocka_unit_test(alltoall_in_xor_order_needs_a_power_of_two),
        cmocka_unit_test(ring_sends_on_what_it_received),
        cmocka_unit_test(scatter_and_gather_go_from_and_to_the_root),
        cmocka_unit_test(ranks_are_distinct_devices),
        cmocka_unit_test(more_than_ten_million_operations_are_refused),
        cmocka_unit_test(a_seed_means_the_same_graph_everywhere),
        cmocka_unit_test(random_graphs_keep_their_promises),
        cmocka_unit_test(random_edges_are_uniform),
        cmocka_unit_test(impossible_random_graphs_are_refused),
        cmocka_unit_test(graphs_on_t2_are_as_many_as_burnside_says),
        cmocka_unit_test(graphs_on_t1_are_as_many_as_burnside_says),
        cmocka_unit_test(a_narrower_link_breaks_the_symmetry_of_its_device),
        cmocka_unit_test(graphs_are_one_of_each_class),
        cmocka_unit_test(graphs_among_equal_devices_are_the_unlabelled_digraphs),
        cmocka_unit_test(links_off_the_tree_count),
        cmocka_unit_test(a_visitor_may_stop_the_walk),
        cmocka_unit_test(impossible_graphs_are_refused),
        cmocka_unit_test(too_much_symmetry_is_refused),
        cmocka_unit_test(the_command_writes_what_made_it),
        cmocka_unit_test(the_command_has_sensible_defaults),
        cmocka_unit_test(words_mean_one_exchange),
        cmocka_unit_test(the_command_reads_lists_and_ranges_of_devices),
        cmocka_unit_test(the_command_says_what_is_wrong),
        cmocka_unit_test(the_command_counts_lists_and_files_graphs),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
