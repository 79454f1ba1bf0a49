/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Cards that work: puts of all sizes and alignments between host and GPU buffers, every byte compared.
 *
 * Every rank has a zone for each other rank in a buffer of the host and in one of a GPU. What a rank puts is drawn
 * from who puts to whom, so that the receiver draws it again, in the same order, since later puts of a rank overwrite
 * its earlier ones; and has then what its zones must be.
 */
#include "apenet/apenet_test.h"

enum { ZONE = 30000, EDGE = 64 };

struct job {
    uint32_t shape[3];
    enum hop_ring_protection rings;
    uint32_t link_packets, tx_bytes, puts, count, most, mappings;
    uint32_t shift; /* 0: to all ranks by turns; else to the one so far ahead along each dimension */
};

struct plan {
    uint64_t rng;
    uint32_t offset, bytes, align;
    bool from_gpu, to_gpu;
};

static uint64_t seed_of(uint32_t from, uint32_t to)
{
    return hop_draw_from((uint64_t)from << 32 | to);
}

/* The next put of a pair. */
static void draw(const struct job *job, struct plan *plan)
{
    static const uint32_t special[] = {0, 1, 4095, 4096, 4097, 8192};
    uint64_t *rng = &plan->rng;
    uint32_t kind = hop_draw_below(rng, 3);
    plan->bytes = kind == 0   ? special[hop_draw_below(rng, HOP_COUNT(special))]
                  : kind == 1 ? hop_draw_below(rng, 100)
                              : hop_draw_below(rng, job->most);
    plan->bytes = plan->bytes < job->most ? plan->bytes : job->most;
    plan->offset = hop_draw_below(rng, ZONE - plan->bytes + 1);
    plan->align = hop_draw_below(rng, EDGE);
    plan->from_gpu = hop_draw(rng) & 1;
    plan->to_gpu = hop_draw(rng) & 1;
}

static unsigned char byte_of(const struct plan *plan, uint32_t i)
{
    return (unsigned char)(hop_mix(plan->rng) >> (i % 7 * 8)) ^ (unsigned char)(i * 131 >> 3);
}

/* Whom a rank puts to. */
static uint32_t target(const struct job *job, uint32_t rank, uint32_t k)
{
    const struct hop_apenet_torus torus = {.extent = {job->shape[0], job->shape[1], job->shape[2]}};
    uint32_t position[3];
    if (job->shift == 0)
        return (rank + k) % (job->shape[0] * job->shape[1] * job->shape[2]);
    hop_apenet_coordinates(&torus, rank, position);
    for (int a = 0; a < 3; a++)
        position[a] = (position[a] + job->shift) % job->shape[a];
    return hop_apenet_rank_at(&torus, position);
}

struct rank {
    struct hop_team *team;
    struct hop_apenet *card;
    const struct job *job;
    int gpu;
    unsigned char *host, *sources, *expected;
    void *on_gpu, *gpu_sources;
    uint64_t (*addresses)[2]; /* of each rank's two buffers */
    uint64_t *ids, ended;
    uint32_t puts, sent, received, *from; /* messages of each rank */
};

static int set_up(struct rank *r)
{
    struct hop_team *team = r->team;
    const struct job *job = r->job;
    const struct hop_apenet_options options = {.shape = {job->shape[0], job->shape[1], job->shape[2]},
                                               .rings = job->rings,
                                               .link_packets = job->link_packets,
                                               .tx_bytes = job->tx_bytes,
                                               .puts = job->puts,
                                               .mappings = job->mappings};
    TRY(hop_apenet_open(team, &options, &r->card, D));
    uint32_t size = r->card->size;
    size_t whole = (size_t)size * ZONE, source = (size_t)job->count * (job->most + EDGE);
    TRY(hop_apenet_gpu(r->card, tested_device(), 0, &r->gpu, D));
    TRY(hop_apenet_gpu_allocate(r->card, r->gpu, whole, &r->on_gpu, D));
    TRY(hop_apenet_gpu_allocate(r->card, r->gpu, source, &r->gpu_sources, D));
    r->host = calloc(1, whole + 1);
    r->sources = calloc(1, source);
    r->expected = calloc(2, whole);
    r->addresses = calloc(size, sizeof *r->addresses);
    r->from = calloc(size, sizeof *r->from);
    REQUIRE(r->host && r->sources && r->expected && r->addresses && r->from);
    TRY(hop_apenet_register(r->card, r->host + 1, whole, HOP_APENET_HOST, D));
    TRY(hop_apenet_register(r->card, r->on_gpu, whole, r->gpu, D));
    const uint64_t mine[2] = {(uintptr_t)r->host + 1, (uintptr_t)r->on_gpu};
    TRY(hop_apenet_gather(r->card, mine, sizeof mine, r->addresses, D));
    return 0;
}

static int put(struct rank *r, uint32_t k, struct plan *plan)
{
    struct hop_team *team = r->team;
    uint32_t to = target(r->job, r->card->rank, k);
    size_t at = (size_t)k * (r->job->most + EDGE) + plan->align;
    for (uint32_t i = 0; i < plan->bytes; i++)
        r->sources[at + i] = byte_of(plan, i);
    if (plan->from_gpu && plan->bytes > 0)
        TRY(hop_apenet_gpu_copy(r->card, r->gpu, (char *)r->gpu_sources + at, r->sources + at, plan->bytes, D));
    const struct hop_apenet_put what = {
        .rank = to,
        .process = hop_apenet_process(r->card, to),
        .address = r->addresses[to][plan->to_gpu] + (uint64_t)r->card->rank * ZONE + plan->offset,
        .source = plan->from_gpu ? (char *)r->gpu_sources + at : (char *)r->sources + at,
        .bytes = plan->bytes,
        .place = plan->from_gpu ? r->gpu : HOP_APENET_HOST,
        .tag = (uint64_t)r->card->rank << 32 | k};
    TRY(hop_apenet_put(r->card, &what, NULL, D));
    return 0;
}

/* Each event says what is so, and messages of a rank come in their order. */
static int take(struct rank *r, const struct hop_apenet_event *event)
{
    struct hop_team *team = r->team;
    REQUIRE(event->error == HOP_APENET_FINE);
    if (event->kind == HOP_APENET_SENT) {
        REQUIRE(event->tag >> 32 == r->card->rank &&
                event->rank == target(r->job, r->card->rank, (uint32_t)event->tag));
        r->sent++;
        return 0;
    }
    REQUIRE(event->kind == HOP_APENET_RECEIVED && event->tag >> 32 == event->rank);
    REQUIRE((uint32_t)event->tag >= r->from[event->rank]);
    r->from[event->rank] = (uint32_t)event->tag + 1;
    r->received++;
    return 0;
}

static int compare(struct rank *r, uint32_t expected_messages)
{
    struct hop_team *team = r->team;
    size_t whole = (size_t)r->card->size * ZONE;
    struct hop_apenet_event event;
    while (r->sent < r->job->count || r->received < expected_messages) {
        REQUIRE(hop_apenet_wait(r->card, INFINITY, &event));
        REQUIRE(take(r, &event) == 0);
    }
    REQUIRE(!hop_apenet_poll(r->card, &event));
    unsigned char *got = malloc(whole);
    REQUIRE(got);
    TRY(hop_apenet_gpu_copy(r->card, r->gpu, got, r->on_gpu, whole, D));
    REQUIRE(memcmp(r->host + 1, r->expected, whole) == 0);
    REQUIRE(memcmp(got, r->expected + whole, whole) == 0);
    free(got);
    return 0;
}

/* What the puts of a rank make of this rank's zones; how many there are. */
static uint32_t expect(struct rank *r, uint32_t from)
{
    struct plan plan = {.rng = seed_of(from, r->card->rank)};
    uint32_t messages = 0;
    for (uint32_t k = 0; k < r->job->count; k++) {
        if (target(r->job, from, k) != r->card->rank)
            continue;
        draw(r->job, &plan);
        unsigned char *zone = r->expected + ((size_t)plan.to_gpu * r->card->size + from) * ZONE + plan.offset;
        for (uint32_t i = 0; i < plan.bytes; i++)
            zone[i] = byte_of(&plan, i);
        messages++;
    }
    return messages;
}

static void tear_down(struct rank *r)
{
    free(r->host);
    free(r->sources);
    free(r->expected);
    free(r->addresses);
    free(r->from);
}

static int exchange(struct hop_team *team, void *context)
{
    struct rank r = {.team = team, .job = context};
    if (set_up(&r) != 0)
        return 1;
    struct plan *plans = calloc(r.card->size, sizeof *plans);
    REQUIRE(plans);
    for (uint32_t to = 0; to < r.card->size; to++)
        plans[to].rng = seed_of(r.card->rank, to);
    for (uint32_t k = 0; k < r.job->count; k++) {
        struct plan *plan = &plans[target(r.job, r.card->rank, k)];
        draw(r.job, plan);
        if (put(&r, k, plan) != 0)
            return 1;
    }
    uint32_t messages = 0;
    for (uint32_t from = 0; from < r.card->size; from++)
        messages += expect(&r, from);
    if (compare(&r, messages) != 0)
        return 1;
    TRY(hop_apenet_close(r.card, D));
    tear_down(&r);
    free(plans);
    return 0;
}

static void try_exchange(struct job job, bool threads)
{
    launch_cards(job.shape[0] * job.shape[1] * job.shape[2], threads, exchange, &job);
}

/* ---- tests ---- */

static void all_shapes_exchange_all_bytes(void **state)
{
    static const uint32_t shapes[][3] = {{1, 1, 1}, {2, 1, 1}, {3, 1, 1}, {2, 2, 1}, {2, 2, 2}, {4, 2, 1}};
    (void)state;
    for (size_t s = 0; s < HOP_COUNT(shapes); s++) {
        struct job job = {.shape = {shapes[s][0], shapes[s][1], shapes[s][2]}, .count = REPEATED(40, 20), .most = ZONE};
        job.rings = s % 2 ? HOP_RING_BUBBLE : HOP_RING_DATELINE;
        job.mappings = 8;
        try_exchange(job, s % 2 == 0);
    }
}

/* As much traffic as there can be, through the smallest buffers. */
static void saturate(uint32_t x, uint32_t y, uint32_t z, uint32_t shift)
{
    for (int bubble = 0; bubble < 2; bubble++) {
        const struct job job = {.shape = {x, y, z},
                                .rings = bubble ? HOP_RING_BUBBLE : HOP_RING_DATELINE,
                                .link_packets = bubble ? 2 : 1,
                                .tx_bytes = HOP_APENET_PACKET_BYTES,
                                .puts = 4,
                                .mappings = 2,
                                .count = soaked(3 * x * y * z, REPEATED(30, 12)),
                                .most = ZONE,
                                .shift = shift};
        try_exchange(job, true);
    }
}

static void nothing_blocks_at_minimal_buffers(void **state)
{
    (void)state;
    saturate(5, 1, 1, 2);
    saturate(8, 1, 1, 4);
    saturate(4, 2, 1, 0);
    saturate(3, 3, 1, 1);
    saturate(2, 2, 2, 1);
    for (uint32_t shape = 0; shape < soaked(64, 0); shape++)
        saturate(1 + shape % 4, 1 + shape / 4 % 4, 1 + shape / 16, shape % 3);
    for (uint32_t ring = 5; ring <= soaked(8, 0); ring++) {
        for (uint32_t shift = 1; shift < ring; shift++)
            saturate(ring, 2, 1, shift);
    }
}

/* Under mpirun, several ranks of which are a machine each (HOPCAST_NODE_SIZE). */
static void machines_exchange_all_bytes(void **state)
{
    const struct hop_team_options patient = {.timeout_s = 60};
    struct hop_group *group = NULL;
    struct hop_team *team;
    (void)state;
    if (!getenv("OMPI_COMM_WORLD_RANK") && !getenv("PMI_RANK"))
        skip();
    CHECK(hop_team_start(&patient, &group, &team, D));
    for (uint32_t c = 0; c < 4; c++) {
        const uint32_t half = c % 2 && hop_team_size(team) % 2 == 0 ? 2 : 1;
        const bool bubble = c >= 2;
        struct job job = {.shape = {hop_team_size(team) / half, half, 1},
                          .rings = bubble ? HOP_RING_BUBBLE : HOP_RING_DATELINE,
                          .link_packets = c == 0   ? 1
                                          : c == 2 ? 2
                                                   : 0,
                          .mappings = 4,
                          .count = 20,
                          .most = ZONE};
        assert_int_equal(exchange(team, &job), 0);
    }
    CHECK(hop_team_finish(team, D));
    hop_team_destroy(team);
    CHECK(hop_group_finish(group, D));
    hop_group_destroy(group);
}

TEST_GROUP(exchange)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(machines_exchange_all_bytes),
        cmocka_unit_test(all_shapes_exchange_all_bytes),
        cmocka_unit_test(nothing_blocks_at_minimal_buffers),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
