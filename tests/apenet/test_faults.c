/* SPDX-License-Identifier: BSD-3-Clause */
/* Cards where something is wrong: each error comes to the sender, and to the receiver where a message has come; nothing is
 * written elsewhere; nobody waits for ever. */
#include "apenet/apenet_test.h"

#include <signal.h>
#include <sys/mman.h>

enum { BYTES = 20000, MARK = 0x5a };

/* ---- two ranks: 0 puts, 1 receives ---- */

struct pair {
    struct hop_team *team;
    struct hop_apenet *card;
    unsigned char *memory; /* of both: BYTES between two parts that nobody may write */
    uint64_t there;        /* where rank 1 has its BYTES */
};

static int open_pair(struct pair *p, const struct hop_apenet_options *options)
{
    struct hop_team *team = p->team;
    uint64_t all[2] = {0, 0};
    TRY(hop_apenet_open(team, options, &p->card, D));
    p->memory = malloc(3 * BYTES);
    REQUIRE(p->memory);
    memset(p->memory, MARK, 3 * BYTES);
    const uint64_t mine = (uintptr_t)p->memory + BYTES;
    TRY(hop_apenet_gather(p->card, &mine, sizeof mine, all, D));
    p->there = all[1];
    return 0;
}

static int close_pair(struct pair *p)
{
    struct hop_team *team = p->team;
    TRY(hop_apenet_close(p->card, D));
    free(p->memory);
    return 0;
}

static bool is_unwritten(const struct pair *p, size_t from, size_t to)
{
    while (from < to && p->memory[from] == MARK)
        from++;
    return from == to;
}

static struct hop_apenet_put to_rank_1(const struct pair *p, int64_t offset, uint64_t bytes)
{
    static unsigned char zeros[4 * BYTES];
    return (struct hop_apenet_put){.rank = 1,
                                   .process = hop_apenet_process(p->card, 1),
                                   .address = p->there + (uint64_t)offset,
                                   .source = zeros,
                                   .bytes = bytes,
                                   .place = HOP_APENET_HOST};
}

/* ---- the destination ---- */

static const struct wrong {
    int64_t offset;
    uint64_t bytes;
    uint32_t process; /* added to the right one */
    enum hop_apenet_error error;
} wrongs[] = {
    {-1, 1, 0, HOP_APENET_UNREGISTERED},         {-5000, 10000, 0, HOP_APENET_UNREGISTERED},
    {BYTES, 1, 0, HOP_APENET_UNREGISTERED},      {BYTES - 1, 2, 0, HOP_APENET_OUT_OF_BOUNDS},
    {0, BYTES + 1, 0, HOP_APENET_OUT_OF_BOUNDS}, {4096, BYTES, 0, HOP_APENET_OUT_OF_BOUNDS},
    {0, 100, 1, HOP_APENET_WRONG_PROCESS},       {0, 0, 1, HOP_APENET_WRONG_PROCESS},
};

static int put_wrongly(struct hop_team *team, void *context)
{
    struct pair p = {.team = team};
    struct hop_apenet_event event;
    (void)context;
    if (open_pair(&p, NULL) != 0)
        return 1;
    if (hop_team_rank(team) == 1)
        TRY(hop_apenet_register(p.card, p.memory + BYTES, BYTES, HOP_APENET_HOST, D));
    TRY(hop_team_barrier(team, D));
    for (size_t w = 0; w < HOP_COUNT(wrongs); w++) {
        if (hop_team_rank(team) == 0) {
            struct hop_apenet_put put = to_rank_1(&p, wrongs[w].offset, wrongs[w].bytes);
            uint64_t id;
            put.process += wrongs[w].process;
            TRY(hop_apenet_put(p.card, &put, &id, D));
            EXPECT(p.card, HOP_APENET_SENT, wrongs[w].error, &event);
            REQUIRE(event.id == id && event.rank == 1 && event.bytes == 0);
        } else {
            EXPECT(p.card, HOP_APENET_RECEIVED, wrongs[w].error, &event);
            REQUIRE(event.rank == 0 && event.bytes == 0);
        }
    }
    REQUIRE(is_unwritten(&p, 0, 3 * BYTES));
    return close_pair(&p);
}

static void wrong_destinations_are_refused(void **state)
{
    (void)state;
    launch_cards(2, true, put_wrongly, NULL);
}

/* ---- torn down on the way ---- */

/* The receiver takes two packets, unregisters its buffer, and takes the rest. */
static int tear_down_destination(struct pair *p)
{
    struct hop_team *team = p->team;
    struct hop_apenet_event event;
    const bool receives = hop_team_rank(team) == 1;
    if (receives) {
        atomic_store(&p->card->takes, 2);
        TRY(hop_apenet_register(p->card, p->memory + BYTES, BYTES, HOP_APENET_HOST, D));
    }
    TRY(hop_team_barrier(team, D));
    if (!receives) {
        const struct hop_apenet_put put = to_rank_1(p, 0, BYTES);
        TRY(hop_apenet_put(p->card, &put, NULL, D));
    } else {
        await_packets(p->card, 2);
        TRY(hop_apenet_unregister(p->card, p->memory + BYTES, D));
        atomic_store(&p->card->takes, -1);
    }
    EXPECT(p->card, receives ? HOP_APENET_RECEIVED : HOP_APENET_SENT, HOP_APENET_TORN_DOWN, &event);
    REQUIRE(event.bytes == (uint64_t)2 * HOP_APENET_PACKET_BYTES);
    if (receives)
        REQUIRE(is_unwritten(p, 0, BYTES) && is_unwritten(p, BYTES + 2 * HOP_APENET_PACKET_BYTES, 3 * BYTES));
    return 0;
}

/* The sender unregisters its source while its first packets wait. */
static int tear_down_source(struct pair *p)
{
    struct hop_team *team = p->team;
    struct hop_apenet_event event;
    const bool receives = hop_team_rank(team) == 1;
    TRY(hop_apenet_register(p->card, p->memory + BYTES, BYTES, HOP_APENET_HOST, D));
    if (receives)
        atomic_store(&p->card->takes, 0);
    TRY(hop_team_barrier(team, D));
    if (!receives) {
        struct hop_apenet_put put = to_rank_1(p, 0, BYTES);
        put.source = p->memory + BYTES;
        TRY(hop_apenet_put(p->card, &put, NULL, D));
        TRY(hop_apenet_unregister(p->card, p->memory + BYTES, D));
    }
    TRY(hop_team_barrier(team, D));
    atomic_store(&p->card->takes, -1);
    EXPECT(p->card, receives ? HOP_APENET_RECEIVED : HOP_APENET_SENT, HOP_APENET_TORN_DOWN, &event);
    REQUIRE(event.bytes < BYTES);
    return 0;
}

static int tear_down(struct hop_team *team, void *context)
{
    const struct hop_apenet_options small = {.link_packets = 1, .tx_bytes = HOP_APENET_PACKET_BYTES};
    struct pair p = {.team = team};
    (void)context;
    if (open_pair(&p, &small) != 0 || tear_down_destination(&p) != 0 || tear_down_source(&p) != 0)
        return 1;
    return close_pair(&p);
}

static void buffers_go_while_messages_are_on_their_way(void **state)
{
    (void)state;
    launch_cards(2, true, tear_down, NULL);
}

/* ---- calls that are refused ---- */

static int fill_lists(struct hop_team *team, void *context)
{
    const struct hop_apenet_options few = {.buffers = 2, .mappings = 2};
    struct pair p = {.team = team};
    struct hop_apenet_counts counts;
    struct hop_apenet_event event;
    struct hop_diag diag;
    (void)context;
    if (open_pair(&p, &few) != 0)
        return 1;
    TRY(hop_apenet_register(p.card, p.memory, 10, HOP_APENET_HOST, D));
    TRY(hop_apenet_register(p.card, p.memory + BYTES, BYTES, HOP_APENET_HOST, D));
    REQUIRE(hop_apenet_register(p.card, p.memory + 20, 10, HOP_APENET_HOST, &diag) == HOP_ERR_LIMIT);
    TRY(hop_apenet_unregister(p.card, p.memory, D));
    REQUIRE(hop_apenet_unregister(p.card, p.memory, &diag) == HOP_ERR_INVALID);
    REQUIRE(hop_apenet_register(p.card, p.memory + BYTES, 1, HOP_APENET_HOST, &diag) == HOP_ERR_INVALID);
    REQUIRE(hop_apenet_register(p.card, p.memory, 0, HOP_APENET_HOST, &diag) == HOP_ERR_INVALID);
    REQUIRE(hop_apenet_register(p.card, p.memory, 1, 0, &diag) == HOP_ERR_INVALID);
    REQUIRE(hop_apenet_register(p.card, (void *)(uintptr_t)64, 64, HOP_APENET_HOST, &diag) == HOP_ERR_INVALID);
    struct hop_apenet_put put = {.rank = 1};
    REQUIRE(hop_apenet_put(p.card, &put, NULL, &diag) == HOP_ERR_INVALID); /* there is no rank 1 */
    put = (struct hop_apenet_put){.process = hop_apenet_process(p.card, 0),
                                  .address = (uintptr_t)p.memory + BYTES,
                                  .bytes = 5000,
                                  .place = HOP_APENET_HOST,
                                  .source = (void *)(uintptr_t)64};
    REQUIRE(hop_apenet_put(p.card, &put, NULL, &diag) == HOP_ERR_INVALID);
    /* Three sources by turns have two places: each is mapped anew, unless it was the last one. */
    for (int turn = 0; turn < 6; turn++) {
        put.source = p.memory + turn % 3 * 6000 - (turn % 3 == 2 ? 12000 - 2 * BYTES : 0);
        for (int twice = 0; twice < 2; twice++) {
            TRY(hop_apenet_put(p.card, &put, NULL, D));
            EXPECT(p.card, HOP_APENET_RECEIVED, HOP_APENET_FINE, &event);
            EXPECT(p.card, HOP_APENET_SENT, HOP_APENET_FINE, &event);
        }
    }
    hop_apenet_count(p.card, &counts);
    REQUIRE(counts.mappings_made == 6 && counts.mappings_found == 6 && counts.mappings_evicted == 4);
    REQUIRE(counts.packets_sent == 24 && counts.packets_received == 24 && counts.entries_scanned == 24);
    return close_pair(&p);
}

static int refuse_options(struct hop_team *team, void *context)
{
    struct hop_apenet *card;
    struct hop_diag diag;
    const struct hop_apenet_options wrong[] = {{.shape = {3, 1, 1}},
                                               {.shape = {2, 0, 1}},
                                               {.rings = (enum hop_ring_protection)7},
                                               {.rings = HOP_RING_BUBBLE, .link_packets = 1},
                                               {.link_packets = 1025},
                                               {.tx_bytes = 4095}};
    (void)context;
    for (size_t w = 0; w < HOP_COUNT(wrong); w++)
        REQUIRE(hop_apenet_open(team, &wrong[w], &card, &diag) != HOP_OK && diag.expected[0]);
    const struct hop_apenet_options differ = {.puts = 5 + hop_team_rank(team)};
    REQUIRE(hop_apenet_open(team, &differ, &card, &diag) == HOP_ERR_INVALID && strstr(diag.what, "number of puts"));
    return 0;
}

static void what_cannot_be_is_refused(void **state)
{
    (void)state;
    launch_cards(1, true, fill_lists, NULL);
    launch_cards(2, true, refuse_options, NULL);
}

/* ---- what neither calls nor addresses show ---- */

/* As if a million events waited. */
static void fill_events(struct hop_apenet *card, int many)
{
    (void)pthread_mutex_lock(&card->lock);
    card->events.promised += (uint32_t)many;
    (void)pthread_mutex_unlock(&card->lock);
}

static int flood(struct hop_team *team, void *context)
{
    const int many = 1 << 20;
    struct pair p = {.team = team};
    struct hop_apenet_event event;
    struct hop_diag diag;
    (void)context;
    if (open_pair(&p, NULL) != 0)
        return 1;
    const struct hop_apenet_put put = to_rank_1(&p, 0, BYTES);
    if (hop_team_rank(team) == 1) {
        TRY(hop_apenet_register(p.card, p.memory + BYTES, BYTES, HOP_APENET_HOST, D));
        fill_events(p.card, many);
        REQUIRE(hop_apenet_put(p.card, &put, NULL, &diag) == HOP_ERR_LIMIT);
    }
    TRY(hop_team_barrier(team, D));
    if (hop_team_rank(team) == 0) {
        TRY(hop_apenet_put(p.card, &put, NULL, D));
        EXPECT(p.card, HOP_APENET_SENT, HOP_APENET_NO_ROOM, &event);
    }
    TRY(hop_team_barrier(team, D));
    REQUIRE(is_unwritten(&p, 0, 3 * BYTES) && !hop_apenet_poll(p.card, &event));
    if (hop_team_rank(team) == 1)
        fill_events(p.card, -many);
    return close_pair(&p);
}

static void events_that_nobody_takes_refuse_messages(void **state)
{
    (void)state;
    launch_cards(2, true, flood, NULL);
}

/* Addresses of a GPU (of the stand-in's: they have bit 62) at which it has no memory: of the source, then of the
 * destination. */
static int miss(struct hop_team *team, void *context)
{
    struct pair p = {.team = team};
    struct hop_apenet_event event;
    void *none = (void *)((uintptr_t)1 << 62 | (uintptr_t)1 << 20);
    int gpu;
    (void)context;
    if (open_pair(&p, NULL) != 0)
        return 1;
    TRY(hop_apenet_gpu(p.card, tested_device(), 0, &gpu, D));
    TRY(hop_apenet_register(p.card, p.memory + BYTES, BYTES, HOP_APENET_HOST, D));
    TRY(hop_apenet_register(p.card, none, BYTES, gpu, D));
    struct hop_apenet_put put = {.process = hop_apenet_process(p.card, 0),
                                 .address = (uintptr_t)p.memory + BYTES,
                                 .source = none,
                                 .bytes = BYTES,
                                 .place = gpu};
    for (int turn = 0; turn < 2; turn++) {
        TRY(hop_apenet_put(p.card, &put, NULL, D));
        EXPECT(p.card, HOP_APENET_RECEIVED, HOP_APENET_UNREADABLE, &event);
        EXPECT(p.card, HOP_APENET_SENT, HOP_APENET_UNREADABLE, &event);
        REQUIRE(event.bytes == 0);
        put.address = (uintptr_t)none;
        put.source = p.memory;
        put.place = HOP_APENET_HOST;
    }
    REQUIRE(is_unwritten(&p, 0, 3 * BYTES));
    return close_pair(&p);
}

static void what_a_driver_refuses_is_an_event(void **state)
{
    (void)state;
    if (!tested_device())
        skip(); /* the processor would not refuse */
    launch_cards(1, false, miss, NULL);
}

/* ---- a circle ---- */

/* All cards put to the one two ahead, and take nothing until each has filled the buffer before it. */
static int fill_ring(struct hop_team *team, void *context)
{
    const enum hop_ring_protection *rings = context;
    const uint32_t size = hop_team_size(team), to = (hop_team_rank(team) + 2) % size;
    const struct hop_apenet_options options = {
        .rings = *rings, .link_packets = *rings == HOP_RING_BUBBLE ? 2 : 1, .tx_bytes = HOP_APENET_PACKET_BYTES};
    const struct hop_apenet_channel *before;
    struct hop_apenet *card;
    struct hop_apenet_event event;
    struct hop_diag why;
    TRY(hop_apenet_open(team, &options, &card, D));
    before = &card->face->channels[0][0];
    atomic_store(&card->takes, 0);
    TRY(hop_team_barrier(team, D));
    const struct hop_apenet_put put = {.rank = to, .process = hop_apenet_process(card, to)};
    for (int twice = 0; twice < 2; twice++)
        TRY(hop_apenet_put(card, &put, NULL, D));
    while (atomic_load(&before[0].pushed) == 0 && (*rings != HOP_RING_DATELINE || hop_team_rank(team) > 0))
        sched_yield();
    TRY(hop_team_barrier(team, D));
    atomic_store(&card->takes, -1);
    if (*rings == HOP_RING_NONE) {
        for (int twice = 0; twice < 2; twice++)
            EXPECT(card, HOP_APENET_SENT, HOP_APENET_DEADLOCK, &event);
        EXPECT(card, HOP_APENET_STUCK, HOP_APENET_DEADLOCK, &event);
        REQUIRE(hop_apenet_failure(card, &why) == HOP_ERR_DEADLOCK);
        REQUIRE(strstr(why.what, "a circle of 5 full buffers") && strstr(why.what, "x+ of (0,0,0)") &&
                strstr(why.what, "x+ of (4,0,0)"));
        REQUIRE(hop_apenet_put(card, &put, NULL, &why) == HOP_ERR_DEADLOCK);
    } else {
        for (int four = 0; four < 4; four++)
            REQUIRE(hop_apenet_wait(card, INFINITY, &event) && event.error == HOP_APENET_FINE);
        REQUIRE(hop_apenet_failure(card, NULL) == HOP_OK);
    }
    TRY(hop_apenet_close(card, D));
    return 0;
}

static void a_deadlock_names_its_circle(void **state)
{
    enum hop_ring_protection rings[] = {HOP_RING_NONE, HOP_RING_DATELINE, HOP_RING_BUBBLE};
    (void)state;
    for (size_t r = 0; r < HOP_COUNT(rings); r++)
        launch_cards(5, true, fill_ring, &rings[r]);
}

/* ---- a rank that dies ---- */

/* Of a ring of four, rank 1 dies when half of its message to rank 2 was taken, and the rest stands there; a message from 0 to 2
 * stands in the way before it. Between 0 and 2 it was on the way there, or that of the answer; 3 reaches both. */
struct deaths {
    atomic_int stands, fine[4];
};

static struct hop_apenet_put to(const struct hop_apenet *card, const uint64_t there[4], uint32_t rank, uint64_t bytes,
                                const void *source)
{
    return (struct hop_apenet_put){.rank = rank,
                                   .process = hop_apenet_process(card, rank),
                                   .address = there[rank] + card->rank * UINT64_C(8192),
                                   .source = source,
                                   .bytes = bytes,
                                   .place = HOP_APENET_HOST};
}

/* What was on its way is lost, which is said once. */
static int hear(struct hop_team *team, struct hop_apenet *card)
{
    const uint32_t me = hop_team_rank(team);
    struct hop_apenet_event event;
    bool knows = false, lost = me == 3;
    while (!knows || !lost) {
        REQUIRE(hop_apenet_wait(card, INFINITY, &event));
        if (event.kind == HOP_APENET_RECEIVED && event.error == HOP_APENET_FINE)
            continue; /* of a rank that heard before */
        REQUIRE(event.error == HOP_APENET_LOST);
        REQUIRE(event.rank == (event.kind == HOP_APENET_SENT ? 2u : 1u));
        REQUIRE(event.kind == HOP_APENET_GONE || event.kind == (me == 0 ? HOP_APENET_SENT : HOP_APENET_RECEIVED));
        knows = knows || event.kind == HOP_APENET_GONE;
        lost = lost || event.kind != HOP_APENET_GONE;
    }
    atomic_store(&card->takes, -1);
    return 0;
}

static int survive(struct hop_team *team, struct hop_apenet *card, uint64_t there[4], unsigned char *memory)
{
    const uint32_t me = hop_team_rank(team);
    struct hop_apenet_event event;
    REQUIRE(hear(team, card) == 0);
    for (uint32_t rank = 0; rank < 4; rank++) {
        const bool reached = rank == me || rank == 3 || (me == 3 && rank != 1);
        const struct hop_apenet_put put = to(card, there, rank, 8192, memory + 4 * 8192);
        TRY(hop_apenet_put(card, &put, NULL, D));
        do {
            REQUIRE(hop_apenet_wait(card, INFINITY, &event));
            REQUIRE(event.kind == HOP_APENET_SENT || (event.kind == HOP_APENET_RECEIVED && event.rank != 1));
        } while (event.kind != HOP_APENET_SENT);
        REQUIRE(event.error == (reached ? HOP_APENET_FINE : HOP_APENET_LOST));
    }
    return 0;
}

/* Until rank 1 is dead, or about to be. */
static int block(struct hop_team *team, struct hop_apenet *card, uint64_t there[4], unsigned char *memory,
                 struct deaths *deaths)
{
    const uint32_t me = hop_team_rank(team);
    struct hop_apenet_counts counts = {0};
    struct hop_apenet_put put = to(card, there, 2, 8192, memory);
    if (me == 1)
        TRY(hop_apenet_put(card, &put, NULL, D));
    while (me == 1)
        pause(); /* rank 2 kills it */
    while (me == 2 && atomic_load(&card->face->channels[0][0].pushed) < 2)
        sched_yield();
    if (me == 2)
        atomic_store(&deaths->stands, 1);
    while (me == 0 && atomic_load(&deaths->stands) == 0)
        sched_yield();
    put.bytes = 4 * 8192;
    if (me == 0) {
        TRY(hop_apenet_put(card, &put, NULL, D));
        for (; counts.packets_sent < 2; hop_apenet_count(card, &counts))
            sched_yield();
        atomic_store(&deaths->stands, 2);
    }
    while (me == 2 && atomic_load(&deaths->stands) < 2)
        sched_yield();
    if (me == 2)
        (void)kill((pid_t)hop_apenet_process(card, 1), SIGKILL);
    return 0;
}

static int lose_one(struct hop_team *team, void *context)
{
    struct deaths *deaths = context;
    const struct hop_apenet_options small = {.link_packets = 1, .tx_bytes = HOP_APENET_PACKET_BYTES};
    const uint32_t me = hop_team_rank(team);
    unsigned char *memory = calloc(8, 8192);
    uint64_t there[4], mine = (uintptr_t)memory;
    struct hop_apenet *card;
    REQUIRE(memory);
    TRY(hop_apenet_open(team, &small, &card, D));
    TRY(hop_apenet_register(card, memory, 8 * 8192, HOP_APENET_HOST, D));
    TRY(hop_apenet_gather(card, &mine, sizeof mine, there, D));
    if (me == 2)
        atomic_store(&card->takes, 1);
    TRY(hop_team_barrier(team, D));
    REQUIRE(block(team, card, there, memory, deaths) == 0);
    atomic_store(&deaths->fine[me], survive(team, card, there, memory) == 0);
    for (uint32_t other = 0; other < 4; other++) { /* what one closes, others do not reach any more */
        while (other != 1 && !atomic_load(&deaths->fine[other]))
            sched_yield();
    }
    REQUIRE(hop_apenet_close(card, NULL) == HOP_ERR_LOST);
    free(memory);
    return 0;
}

static void a_rank_that_dies_is_an_event(void **state)
{
    const struct hop_launch_options how = {.ranks = 4, .timeout_s = 30};
    struct deaths *deaths = mmap(NULL, sizeof *deaths, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct hop_diag diag;
    int result;
    (void)state;
    assert_ptr_not_equal(deaths, MAP_FAILED);
    assert_int_equal(hop_launch(&how, lose_one, deaths, &result, &diag), HOP_ERR_LOST);
    for (int rank = 0; rank < 4; rank++)
        assert_int_equal(atomic_load(&deaths->fine[rank]), rank != 1);
    munmap(deaths, sizeof *deaths);
}

/* ---- a team that goes with a card open ---- */

static void a_card_stops_with_its_team(void **state)
{
    unsigned char from[BYTES] = {1}, to[BYTES] = {0};
    char session[HOP_SESSION_SIZE];
    struct hop_apenet_event event;
    struct hop_apenet *card, *other;
    struct hop_team *team;
    struct hop_diag diag;
    (void)state;
    CHECK(hop_session_create(1, session, D));
    CHECK(hop_team_join(session, 0, NULL, &team, D));
    CHECK(hop_apenet_open(team, NULL, &card, D));
    CHECK(hop_apenet_register(card, to, BYTES, HOP_APENET_HOST, D));
    const struct hop_apenet_put put = {.process = hop_apenet_process(card, 0),
                                       .address = (uintptr_t)to,
                                       .source = from,
                                       .bytes = BYTES,
                                       .place = HOP_APENET_HOST};
    assert_int_equal(hop_apenet_open(team, NULL, &other, &diag), HOP_ERR_INVALID);
    assert_int_equal(hop_team_finish(team, &diag), HOP_ERR_INVALID);
    assert_non_null(strstr(diag.what, "still open"));
    CHECK(hop_apenet_put(card, &put, NULL, D));
    hop_team_destroy(team);
    assert_int_equal(hop_apenet_put(card, &put, NULL, &diag), HOP_ERR_LOST);
    assert_int_equal(hop_apenet_gather(card, from, 1, to, &diag), HOP_ERR_LOST);
    do
        assert_true(hop_apenet_wait(card, 10, &event));
    while (event.kind != HOP_APENET_STUCK);
    assert_int_equal(hop_apenet_close(card, &diag), HOP_ERR_LOST);
}

TEST_GROUP(faults)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(wrong_destinations_are_refused),
        cmocka_unit_test(buffers_go_while_messages_are_on_their_way),
        cmocka_unit_test(what_cannot_be_is_refused),
        cmocka_unit_test(events_that_nobody_takes_refuse_messages),
        cmocka_unit_test(what_a_driver_refuses_is_an_event),
        cmocka_unit_test(a_deadlock_names_its_circle),
        cmocka_unit_test(a_rank_that_dies_is_an_event),
        cmocka_unit_test(a_card_stops_with_its_team),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
