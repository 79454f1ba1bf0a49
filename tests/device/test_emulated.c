/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emulated links against closed forms, a max-plus recurrence and the packet simulation, which shares the assumptions
 * but no code. Most run in given time, without a clock; where processes copy by the clock, the emulation's own times
 * are looked at, never the test's.
 */
#include "test.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>

#include "base/clock.h"
#include "device/device.h"
#include "device/emulated_links.h"
#include "hopcast/hopcast.h"

enum { MOST = 64, CHUNK = 1000 };
#define KEY UINT32_MAX /* no source engine */

/* ---- a machine of its own ---- */

struct rig {
    struct hop_emulated_link links[MOST];
    struct hop_emulated_way ways[MOST];
    uint32_t hops[MOST][MOST];
    struct hop_emulation_options options;
    struct hop_shared shared;
    struct hop_emulation *emulation; /* there */
    struct hop_emulated_machine *machine;
};

/* Links of 1000 bytes/s, chunks of 1000 bytes: a chunk takes a second of the emulated machine. */
static void add_links(struct rig *rig, uint32_t count, double rate_Bps)
{
    for (uint32_t i = 0; i < count; i++)
        rig->links[rig->options.link_count++] = (struct hop_emulated_link){.rate_Bps = rate_Bps, .buffer_chunks = 8};
}

static struct hop_emulated_way *add_way(struct rig *rig, uint32_t source, uint32_t count, const uint32_t *links)
{
    uint32_t i = rig->options.way_count++;
    memcpy(rig->hops[i], links, count * sizeof *links);
    rig->ways[i] =
        (struct hop_emulated_way){.links = rig->hops[i], .link_count = count, .crossing = count, .source = source};
    if (source != KEY && source >= rig->options.source_count)
        rig->options.source_count = source + 1;
    return &rig->ways[i];
}
#define WAY(rig, source, ...)                                                                                          \
    add_way(rig, source, sizeof((uint32_t[]){__VA_ARGS__}) / sizeof(uint32_t), (uint32_t[]){__VA_ARGS__})

static void create(struct rig *rig)
{
    rig->options.links = rig->links;
    rig->options.ways = rig->ways;
    if (!rig->options.chunk_bytes)
        rig->options.chunk_bytes = CHUNK;
    if (rig->options.slower == 0)
        rig->options.slower = 1;
    CHECK(hop_emulation_create(&rig->options, &rig->shared, &rig->machine, D));
    hop_shared_withdraw(&rig->shared);
    rig->emulation = rig->shared.memory;
}

static void finish(struct rig *rig)
{
    hop_emulated_machine_destroy(rig->machine);
    hop_shared_finish(&rig->shared);
}

/* ---- given time ---- */

static uint32_t post(struct rig *rig, uint32_t way, uint64_t bytes, double at_s)
{
    uint32_t copy = 0;
    uint64_t at_ps = (uint64_t)llround(at_s * 1e12);
    CHECK(hop_emulation_post(rig->emulation, way, bytes, &at_ps, &copy, D));
    return copy;
}

/* ---- a census of every buffer ---- */

struct census {
    uint64_t bytes;
    uint32_t slots;
};

static void count_queue(const struct hop_emulated_machine *m, const struct hop_emulated_queue *queue,
                        struct census *census)
{
    for (uint32_t i = queue->head; i != HOP_EMULATED_NONE && census->slots <= m->slot_count; i = m->slots[i].next) {
        census->bytes += m->slots[i].bytes;
        census->slots++;
    }
}

/* What lies in the buffer at a link's far end. */
static struct census count_buffer(const struct hop_emulated_machine *m, uint32_t index)
{
    const struct hop_link_state *link = &m->links[index];
    struct census census = {0};
    count_queue(m, &link->flight, &census);
    if (link->sending != HOP_EMULATED_NONE) {
        census.bytes += m->slots[link->sending].bytes;
        census.slots++;
    }
    for (uint32_t i = 0; i < m->lane_count; i++) {
        const struct hop_emulated_lane *lane = &m->lanes[i];
        if (lane->input == index)
            count_queue(m, &lane->queue, &census);
        uint32_t leaving = m->links[lane->output].leaving;
        bool first = i == m->links[lane->output].lane_first; /* each link once */
        if (first && leaving != HOP_EMULATED_NONE && hop_emulated_link_of(m, &m->slots[leaving]) == index) {
            census.bytes += m->slots[leaving].bytes;
            census.slots++;
        }
    }
    return census;
}

/* Between events: NULL, or what is wrong with credit, slots or bytes. */
static const char *check_emulation(const struct hop_emulated_machine *machine)
{
    for (uint32_t i = 0; i < machine->link_count; i++) {
        const struct hop_link_state *link = &machine->links[i];
        struct census census = count_buffer(machine, i);
        uint32_t left = 0;
        for (uint32_t k = link->slot_free; k != HOP_EMULATED_NONE && left <= link->slot_count;
             k = machine->slots[k].next)
            left++;
        if (census.bytes > link->buffer_bytes || link->room_bytes > link->buffer_bytes)
            return "a buffer holds more than its credit";
        if (census.bytes + link->room_bytes != link->buffer_bytes)
            return "credit is lost or made";
        if (census.slots + left != link->slot_count)
            return "slots are lost or made";
        if (link->turn >= link->lane_count && link->lane_count)
            return "a turn of nobody";
    }
    for (uint32_t i = 0; i < machine->e->copy_count; i++) {
        const struct hop_emulated_copy *copy = &machine->copies[i];
        if (hop_copy_state(atomic_load(&copy->owner)) != HOP_COPY_TAKEN)
            continue;
        if (copy->sent > copy->bytes || atomic_load(&copy->arrived) > copy->sent)
            return "more arrives than was sent";
    }
    return NULL;
}

/* To the end, event by event, with everything checked after each. */
static void run(struct rig *rig)
{
    uint64_t due = 0;
    while ((due = hop_emulation_advance(rig->machine, due)) != HOP_EMULATED_NEVER) {
        const char *wrong = check_emulation(rig->machine);
        if (wrong)
            fail_msg("at %llu ps: %s", (unsigned long long)due, wrong);
    }
    assert_null(check_emulation(rig->machine));
}

static struct hop_emulated_times times_of(struct rig *rig, uint32_t copy)
{
    struct hop_emulated_times times;
    struct hop_emulated_copy *c = &rig->emulation->copies[copy];
    assert_int_equal(hop_copy_state(c->owner), HOP_COPY_ENDED);
    assert_int_equal(c->arrived, c->bytes);
    hop_emulation_release(rig->emulation, copy, &times);
    return times;
}

static double end_of(struct rig *rig, uint32_t copy)
{
    return times_of(rig, copy).end_s;
}

static void assert_near(double value, double expected, double tolerance)
{
    if (!(fabs(value - expected) <= tolerance))
        fail_msg("%.12g is not within %g of %.12g", value, tolerance, expected);
}
#define EXACT 1e-9 /* seconds: picoseconds of rounding, chunk by chunk */

static void a_lone_copy_takes_its_bytes_a_chunk_a_further_link_and_the_latencies(void **state)
{
    (void)state;
    for (uint32_t chunks = 1; chunks < 40; chunks += 13) {
        struct rig rig = {0};
        add_links(&rig, 4, 1000);
        rig.links[1].latency_s = 2.5;
        rig.links[3].latency_s = 70;
        (void)WAY(&rig, 0, 0, 1, 2, 3);
        create(&rig);
        uint32_t copy = post(&rig, 0, (uint64_t)chunks * CHUNK, 3);
        run(&rig);
        struct hop_emulated_times times = times_of(&rig, copy);
        assert_near(times.posted_s, 3, EXACT);
        assert_near(times.start_s, 3, EXACT);
        assert_near(times.end_s, 3 + chunks + 3 + 72.5, EXACT);
        finish(&rig);
    }
}

static void a_lone_copy_over_unequal_links_follows_the_max_plus_recurrence(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 50; round++) {
        struct rig rig = {0};
        uint32_t hops = 1 + random_below(6), links[6] = {0, 1, 2, 3, 4, 5};
        for (uint32_t i = 0; i < hops; i++) {
            add_links(&rig, 1, 100 + random_below(2000));
            rig.links[i].latency_s = random_below(3) ? 0 : random_below(5000) * 1e-3;
            rig.links[i].buffer_chunks = 1000; /* back-pressure would only delay who waits anyway */
        }
        (void)add_way(&rig, 0, hops, links);
        create(&rig);
        uint64_t bytes = 1 + random_below(60 * CHUNK);
        uint32_t copy = post(&rig, 0, bytes, 0);
        run(&rig);
        double arrives[6] = {0}, free_s[6] = {0};
        for (uint64_t sent = 0; sent < bytes; sent += CHUNK) {
            double part = bytes - sent < CHUNK ? (double)(bytes - sent) : CHUNK, at = 0;
            for (uint32_t i = 0; i < hops; i++) {
                free_s[i] = (at > free_s[i] ? at : free_s[i]) + part / rig.links[i].rate_Bps;
                at = arrives[i] = free_s[i] + rig.links[i].latency_s;
            }
        }
        assert_near(end_of(&rig, copy), arrives[hops - 1], EXACT);
        finish(&rig);
    }
}

static void small_buffers_do_not_hold_back_a_lone_copy(void **state)
{
    (void)state;
    struct rig rig = {0};
    add_links(&rig, 3, 1000);
    for (uint32_t i = 0; i < 3; i++)
        rig.links[i] = (struct hop_emulated_link){.rate_Bps = 1000, .latency_s = 33.3, .buffer_chunks = 2};
    (void)WAY(&rig, 0, 0, 1, 2);
    create(&rig);
    uint32_t copy = post(&rig, 0, 500 * CHUNK, 0);
    run(&rig);
    assert_near(end_of(&rig, copy), 500 + 2 + 3 * 33.3, EXACT);
    finish(&rig);
}

static void two_copies_into_one_link_share_it_equally(void **state)
{
    (void)state;
    struct rig rig = {0};
    add_links(&rig, 3, 1000);
    (void)WAY(&rig, 0, 0, 2);
    (void)WAY(&rig, 1, 1, 2);
    create(&rig);
    uint32_t a = post(&rig, 0, 30 * CHUNK, 0), b = post(&rig, 1, 30 * CHUNK, 0);
    run(&rig);
    double end_a = end_of(&rig, a), end_b = end_of(&rig, b);
    assert_near(fmax(end_a, end_b), 61, EXACT);
    assert_near(fmin(end_a, end_b), 60, EXACT);
    finish(&rig);
}

/*  0 and 1 enter a switch whose uplink is 2; 3 comes by itself; all leave over 4. */
static void a_link_takes_turns_by_where_chunks_come_from_not_by_copy(void **state)
{
    (void)state;
    struct rig rig = {0};
    add_links(&rig, 5, 1000);
    (void)WAY(&rig, 0, 0, 2, 4);
    (void)WAY(&rig, 1, 1, 2, 4);
    (void)WAY(&rig, 2, 3, 4);
    create(&rig);
    uint32_t a = post(&rig, 0, 100 * CHUNK, 0), b = post(&rig, 1, 100 * CHUNK, 0), c = post(&rig, 2, 100 * CHUNK, 0);
    run(&rig);
    /* Half, a quarter, a quarter, until c has ended; then a half each. */
    assert_near(end_of(&rig, c), 200, 4);
    double end_a = end_of(&rig, a), end_b = end_of(&rig, b);
    assert_near(fmax(end_a, end_b), 302, 4);
    assert_near(fabs(end_a - end_b), 1, EXACT);
    finish(&rig);
}

static void a_slow_link_fills_the_buffer_before_it_and_holds_back_what_goes_elsewhere(void **state)
{
    (void)state;
    struct rig rig = {0};
    add_links(&rig, 3, 1000);
    rig.links[0].buffer_chunks = 4;
    rig.links[1].rate_Bps = 50; /* 20 s a chunk */
    (void)WAY(&rig, KEY, 0, 1);
    (void)WAY(&rig, KEY, 0, 2);
    create(&rig);
    uint32_t a = post(&rig, 0, 40 * CHUNK, 0), b = post(&rig, 1, 20 * CHUNK, 0);
    struct hop_emulated_copy *slow = &rig.emulation->copies[a];
    uint64_t due = 0, most = 0, least_room = UINT64_MAX;
    while ((due = hop_emulation_advance(rig.machine, due)) != HOP_EMULATED_NEVER) {
        assert_null(check_emulation(rig.machine));
        uint64_t under_way = slow->sent - slow->arrived;
        most = under_way > most ? under_way : most;
        least_room = rig.machine->links[0].room_bytes < least_room ? rig.machine->links[0].room_bytes : least_room;
    }
    assert_int_equal(most, 4 * CHUNK); /* what the slow link sends has its place in the buffer before it until sent */
    assert_int_equal(least_room, 0);
    /* Where the source's turns alternate and the pool is full, b moves at the pace of a: 20 s a chunk. */
    assert_near(end_of(&rig, b), 20 * 20, 5 * 20);
    assert_near(end_of(&rig, a), 1 + 40 * 20, EXACT);
    finish(&rig);
}

static void a_source_engine_takes_one_copy_at_a_time_in_order(void **state)
{
    (void)state;
    struct rig rig = {0};
    add_links(&rig, 3, 1000);
    (void)WAY(&rig, 0, 0, 1);
    (void)WAY(&rig, 0, 0, 2);
    create(&rig);
    uint32_t copies[5];
    copies[4] = post(&rig, 0, 10 * CHUNK, 2); /* later */
    for (uint32_t i = 0; i < 3; i++)
        copies[i] = post(&rig, i % 2, 10 * CHUNK, 0);
    copies[3] = post(&rig, 1, 0, 0);
    run(&rig);
    double before_s = 0;
    for (uint32_t i = 0; i < 5; i++) {
        struct hop_emulated_times times = times_of(&rig, copies[i]);
        assert_near(times.start_s, before_s, EXACT);
        assert_near(times.end_s, before_s + (i == 3 ? 0 : 11), EXACT);
        before_s = times.end_s;
    }
    finish(&rig);
}

static void copies_without_an_engine_take_turns_at_their_source(void **state)
{
    (void)state;
    struct rig rig = {0};
    add_links(&rig, 1, 1000);
    (void)WAY(&rig, KEY, 0);
    create(&rig);
    uint32_t copies[3];
    for (uint32_t i = 0; i < 3; i++)
        copies[i] = post(&rig, 0, 10 * CHUNK, 0);
    run(&rig);
    for (uint32_t i = 0; i < 3; i++)
        assert_near(end_of(&rig, copies[i]), 28 + i, EXACT);
    finish(&rig);
}

static void chunks_take_longer_once_they_have_crossed(void **state)
{
    (void)state;
    struct rig rig = {0};
    add_links(&rig, 4, 1000);
    struct hop_emulated_way *way = WAY(&rig, 0, 0, 1, 2, 3);
    way->crossing = 2;
    way->tau = 0.2;
    create(&rig);
    uint32_t copy = post(&rig, 0, 40 * CHUNK, 0);
    run(&rig);
    assert_near(end_of(&rig, copy), 2 + (40 + 1) * 1.25, EXACT);
    finish(&rig);
}

/* Both share the last link; the first one's chunks come in halves, each of which takes a turn. */
static void pieces_of_chunks_take_turns_of_their_own(void **state)
{
    (void)state;
    struct rig rig = {0};
    add_links(&rig, 3, 1000);
    struct hop_emulated_way *way = WAY(&rig, 0, 0, 2);
    way->crossing = 1;
    way->pieces = 2;
    (void)WAY(&rig, 1, 1, 2);
    create(&rig);
    uint32_t cut = post(&rig, 0, 90 * CHUNK, 0), whole = post(&rig, 1, 90 * CHUNK, 0);
    run(&rig);
    assert_near(end_of(&rig, whole), 90 * 1.5, 3);
    assert_near(end_of(&rig, cut), 181, 1);
    finish(&rig);
}

static void the_mean_of_pieces_is_kept(void **state)
{
    (void)state;
    struct rig rig = {0};
    add_links(&rig, 2, 1000);
    struct hop_emulated_way *way = WAY(&rig, 0, 0, 1);
    way->crossing = 1;
    way->pieces = 2.75;
    create(&rig);
    uint32_t copy = post(&rig, 0, 40 * CHUNK, 0), pieces = 0;
    uint64_t due = 0, arrived = 0;
    while ((due = hop_emulation_advance(rig.machine, due)) != HOP_EMULATED_NEVER) {
        assert_null(check_emulation(rig.machine));
        pieces += rig.emulation->copies[copy].arrived > arrived;
        arrived = rig.emulation->copies[copy].arrived;
    }
    pieces += rig.emulation->copies[copy].arrived > arrived;
    assert_int_equal(pieces, 110);
    assert_near(end_of(&rig, copy), 41, EXACT);
    finish(&rig);
}

/* Two switches below a root, 6 leaves: links 2 i up and 2 i + 1 down for leaf i, 12 to 15 for the switches. */
static void make_tree(struct rig *rig)
{
    add_links(rig, 16, 1000);
    for (uint32_t i = 0; i < 16; i++) {
        rig->links[i].buffer_chunks = 2 + random_below(8);
        rig->links[i].latency_s = random_below(2) * 0.25 * random_below(8);
    }
    for (uint32_t from = 0; from < 6; from++) {
        for (uint32_t to = 0; to < 6; to++) {
            uint32_t up = 12 + from / 3 * 2, down = 13 + to / 3 * 2;
            if (from == to)
                continue;
            if (from / 3 == to / 3) {
                (void)WAY(rig, from, from * 2, to * 2 + 1);
                continue;
            }
            struct hop_emulated_way *way = WAY(rig, from, from * 2, up, down, to * 2 + 1);
            way->crossing = 2;
            way->tau = 0.2;
            way->pieces = 2.75;
        }
    }
    create(rig);
}

static void every_byte_of_random_copies_arrives_and_credit_is_kept(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 8; round++) {
        struct rig rig = {0};
        make_tree(&rig);
        uint32_t count = 1 + random_below(30), copies[30];
        for (uint32_t i = 0; i < count; i++)
            copies[i] = post(&rig, random_below(30), random_below(20 * CHUNK), random_below(100));
        run(&rig);
        for (uint32_t i = 0; i < count; i++) {
            struct hop_emulated_times times = times_of(&rig, copies[i]);
            assert_true(times.posted_s <= times.start_s && times.start_s <= times.end_s);
        }
        for (uint32_t i = 0; i < 16; i++)
            assert_int_equal(rig.machine->links[i].room_bytes, rig.machine->links[i].buffer_bytes);
        finish(&rig);
    }
}

/* What is dealt with late is dealt with as of its time: steps of the clock make no difference. */
static void times_do_not_depend_on_how_often_the_clock_is_looked_at(void **state)
{
    (void)state;
    struct rig rig = {0};
    make_tree(&rig);
    uint32_t way[25];
    uint64_t bytes[25];
    double at_s[25], ends[2][25];
    for (uint32_t i = 0; i < 25; i++) {
        way[i] = random_below(30);
        bytes[i] = random_below(30 * CHUNK);
        at_s[i] = random_below(60);
    }
    for (uint32_t coarse = 0; coarse < 2; coarse++) {
        uint32_t copies[25];
        rig.machine->now_ps = 0;
        for (uint32_t i = 0; i < rig.machine->link_count; i++)
            rig.machine->links[i].turn = 0;
        for (uint32_t i = 0; i < 25; i++)
            copies[i] = post(&rig, way[i], bytes[i], at_s[i]);
        if (!coarse)
            run(&rig);
        for (uint64_t time = 0; coarse && hop_emulation_advance(rig.machine, time) != HOP_EMULATED_NEVER;)
            time += UINT64_C(7300000000000);
        for (uint32_t i = 0; i < 25; i++)
            ends[coarse][i] = end_of(&rig, copies[i]);
    }
    assert_memory_equal(ends[0], ends[1], sizeof ends[0]);
    finish(&rig);
}

static void what_is_posted_too_late_starts_now(void **state)
{
    (void)state;
    struct rig rig = {.options = {.slower = 4}};
    add_links(&rig, 2, 1000);
    (void)WAY(&rig, 0, 0);
    (void)WAY(&rig, 1, 1);
    create(&rig);
    uint32_t a = post(&rig, 0, 10 * CHUNK, 0);
    (void)hop_emulation_advance(rig.machine, UINT64_C(22000000000000));
    uint32_t b = post(&rig, 1, 10 * CHUNK, 8); /* by the clock on the wall; the last event was at 20 s */
    run(&rig);
    assert_near(end_of(&rig, a), 10, EXACT);
    struct hop_emulated_times times = times_of(&rig, b);
    assert_near(times.posted_s, 2, EXACT);
    assert_near(times.start_s, 5, EXACT);
    assert_near(times.end_s, 15, EXACT);
    finish(&rig);
}

static void a_circle_of_full_buffers_is_found(void **state)
{
    (void)state;
    struct rig rig = {0};
    add_links(&rig, 3, 1e9);
    for (uint32_t i = 0; i < 3; i++) {
        rig.links[i].buffer_chunks = 2;
        (void)WAY(&rig, KEY, i, (i + 1) % 3, (i + 2) % 3);
    }
    create(&rig);
    uint32_t copies[3];
    uint64_t arrived, at_ps = 0;
    struct hop_diag diag = {0};
    for (uint32_t i = 0; i < 3; i++)
        CHECK(hop_emulation_post(rig.emulation, i, 100 * CHUNK, &at_ps, &copies[i], D));
    hop_emulation_serve(rig.machine);
    assert_int_equal(hop_emulation_wait(rig.emulation, copies[0], 100 * CHUNK, &arrived, &diag), HOP_ERR_DEADLOCK);
    assert_true(strlen(diag.what) > 0 && arrived < 100 * CHUNK);
    finish(&rig);
}

static void what_makes_no_sense_is_refused(void **state)
{
    (void)state;
    const uint32_t hops[2] = {0, 1};
    for (uint32_t wrong = 0; wrong < 9; wrong++) {
        struct hop_emulated_link links[2] = {{.rate_Bps = 1e9}, {.rate_Bps = 1e9}};
        struct hop_emulated_way way = {.links = hops, .link_count = 2, .crossing = 2, .source = 0};
        struct hop_emulation_options options = {
            .links = links, .ways = &way, .link_count = 2, .way_count = 1, .source_count = 1};
        switch (wrong) {
        case 0:
            links[1].rate_Bps = 0;
            break;
        case 1:
            links[1].rate_Bps = NAN;
            break;
        case 2:
            links[1].rate_Bps = 1e-9;
            break;
        case 3:
            links[0].latency_s = -1;
            break;
        case 4:
            links[0].latency_s = INFINITY;
            break;
        case 5:
            links[0].buffer_chunks = 1;
            break;
        case 6:
            way.pieces = 0.5;
            break;
        case 7:
            options.slower = 0.5;
            break;
        case 8:
            options.chunk_bytes = UINT64_C(1) << 40;
            break;
        }
        struct hop_shared shared;
        struct hop_emulated_machine *machine = NULL;
        struct hop_diag diag = {0};
        assert_int_equal(hop_emulation_create(&options, &shared, &machine, &diag), HOP_ERR_INVALID);
        assert_null(machine);
        assert_true(strlen(diag.what) > 0);
    }
}

/* ---- the packet simulation, a peer ---- */

/* As an emulation sees a topology: link i is the directed link i; a way is a route between two devices. */
static void take_topology(struct rig *rig, const struct hop_topology *topology, uint32_t buffer_chunks)
{
    for (uint32_t i = 0; i < 2 * hop_topology_link_count(topology); i++) {
        const struct hop_link *link = hop_topology_link(topology, i / 2);
        rig->links[rig->options.link_count++] = (struct hop_emulated_link){
            .rate_Bps = link->capacity_Bps[i % 2], .latency_s = link->latency_s, .buffer_chunks = buffer_chunks};
    }
}

static uint32_t end_node(const struct hop_topology *topology, uint32_t directed)
{
    return hop_topology_link(topology, directed / 2)->ends[directed % 2 ? 0 : 1];
}

static void take_route(struct rig *rig, const struct hop_topology *topology, const struct hop_route *route)
{
    struct hop_emulated_way *way = add_way(rig, route->from, route->link_count, route->links);
    for (uint32_t k = 0; k + 1 < route->link_count; k++) {
        uint32_t node = end_node(topology, route->links[k]);
        if (hop_topology_node(topology, node)->kind == HOP_NODE_ROOT) {
            way->crossing = k + 1;
            way->tau = hop_topology_tau_between(topology, node, node);
            way->pieces = hop_topology_parameter(topology, "crossing_packets")->value;
        }
    }
}

/* Random copies between the GPUs of t2, sources repeating, no dependencies. Ties that have two balances aside (see
 * docs/packet.md), two implementations of the same assumptions should agree to within a few buffers over the bytes. */
static void compare_with_packets(const char *assignment)
{
    enum { PAYLOAD = 2048, BUFFER = 4, ROUNDS = 24, KIBS = 1024 };
    struct hop_topology *topology = load_topology("t2");
    CHECK(hop_topology_set(topology, assignment, D));
    struct hop_router *router = hop_router_create(topology);
    struct hop_network *network;
    CHECK(hop_network_create(topology, NULL, &network, D));
    struct hop_packet_options packet = {.payload_bytes = PAYLOAD, .buffer_bytes = BUFFER * PAYLOAD};
    struct hop_simulate_options options = {
        .detail = HOP_DETAIL_ENDS, .fidelity = HOP_FIDELITY_PACKET, .packet = &packet};
    uint32_t transfers = 0, close = 0;
    double worst = 0;
    for (uint32_t round = 0; round < ROUNDS; round++) {
        static struct rig rig;
        rig = (struct rig){.options = {.chunk_bytes = PAYLOAD}};
        take_topology(&rig, topology, BUFFER);
        char text[1024] = "";
        uint32_t count = 2 + random_below(7), copies[8], gpus = count_kind(topology, HOP_NODE_GPU);
        for (uint32_t i = 0; i < count; i++) {
            uint32_t from = random_below(gpus), to = (from + 1 + random_below(gpus - 1)) % gpus, route;
            char names[2][16];
            (void)snprintf(names[0], 16, "gpu%u", from);
            (void)snprintf(names[1], 16, "gpu%u", to);
            CHECK(hop_router_find(router, find_node(topology, names[0]), find_node(topology, names[1]), &route, D));
            take_route(&rig, topology, hop_router_route(router, route));
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), "%s -> %s %dKiB\n", names[0], names[1],
                           KIBS);
        }
        create(&rig);
        for (uint32_t i = 0; i < count; i++)
            copies[i] = post(&rig, i, (uint64_t)KIBS << 10, 0);
        assert_int_equal(hop_emulation_advance(rig.machine, HOP_EMULATED_NEVER - 1), HOP_EMULATED_NEVER);
        struct hop_schedule *schedule;
        struct hop_timeline *timeline;
        CHECK(hop_schedule_parse("random", text, strlen(text), &schedule, D));
        CHECK(hop_simulate(network, schedule, &options, &timeline, D));
        for (uint32_t i = 0; i < count; i++) {
            double ours = end_of(&rig, copies[i]), theirs = hop_timeline_span(timeline, i).end_s;
            double error = fabs(ours / theirs - 1);
            transfers++;
            close += error < 0.01;
            if (error > worst)
                worst = error;
        }
        hop_timeline_destroy(timeline);
        hop_schedule_destroy(schedule);
        finish(&rig);
    }
    print_message("emulation and packets, %s: %u of %u ends within 1 %%, the worst %.2f %% off\n", assignment, close,
                  transfers, 100 * worst);
    assert_true(worst < 0.05);
    assert_true(close > transfers * 95 / 100);
    hop_network_destroy(network);
    hop_router_destroy(router);
    hop_topology_destroy(topology);
}

static void ends_agree_with_the_packet_simulation(void **state)
{
    (void)state;
    compare_with_packets("link_latency=0s");
    compare_with_packets("link_latency=0.7us");
    compare_with_packets("crossing_packets=1");
    compare_with_packets("gpu3--board1.capacity=3GB/s");
}

/* ---- by the clock ---- */

/* A child does not outlive a test that fails. */
static pid_t fork_child(void)
{
    pid_t pid = fork();
    if (pid == 0)
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    assert_true(pid >= 0);
    return pid;
}

/* A process that serves. */
static pid_t serve(struct rig *rig)
{
    pid_t pid = fork_child();
    if (pid == 0) {
        hop_emulation_serve(rig->machine);
        _exit(0);
    }
    return pid;
}

static int wait_for(pid_t pid)
{
    int status = 0;
    while (waitpid(pid, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    return status;
}

static void stop(struct rig *rig, pid_t server)
{
    hop_emulation_stop(rig->emulation);
    assert_int_equal(wait_for(server), 0);
    finish(rig);
}

static void by_the_clock_times_are_those_of_given_time(void **state)
{
    (void)state;
    struct rig rig = {.options = {.slower = 3}};
    add_links(&rig, 3, 3e7); /* 100 us a chunk on the wall */
    rig.links[1].latency_s = 1e-3;
    (void)WAY(&rig, 0, 0, 1, 2);
    create(&rig);
    pid_t server = serve(&rig);
    char from[30 * CHUNK], to[30 * CHUNK];
    for (uint32_t round = 0; round < 5; round++) {
        struct hop_emulated_times times;
        memset(from, 'a' + (int)round, sizeof from);
        CHECK(hop_emulation_copy(rig.emulation, 0, to, from, sizeof from, &times, D));
        assert_memory_equal(to, from, sizeof from);
        assert_near(times.end_s - times.start_s, 32 * (CHUNK / 3e7) + 1e-3, 1e-9);
        assert_true(times.start_s >= times.posted_s);
        assert_true(hop_emulation_clock_s(rig.emulation, times.end_s) <= hop_now_s());
    }
    stop(&rig, server);
}

/* What copier `who` writes at byte i of its n-th copy. */
static unsigned char pattern(uint32_t who, uint32_t n, size_t i)
{
    return (unsigned char)(who * 67 + n * 31 + i * 7 + (i >> 8));
}

enum { COPIERS = 5, COPIES = 12, LARGEST = 300000 };

static int copy_patterns(struct rig *rig, uint32_t who, unsigned char *to)
{
    unsigned char *from = malloc(LARGEST);
    for (uint32_t n = 0; n < COPIES; n++) {
        size_t bytes = (size_t)(who * 7919 + n * 104729) % LARGEST;
        for (size_t i = 0; i < bytes; i++)
            from[i] = pattern(who, n, i);
        if (hop_emulation_copy(rig->emulation, who, to + (size_t)n * LARGEST, from, bytes, NULL, NULL) != HOP_OK)
            return 1;
    }
    free(from);
    return 0;
}

static void bytes_arrive_intact_in_other_processes(void **state)
{
    (void)state;
    struct rig rig = {.options = {.chunk_bytes = 4096, .copies = 3}};
    add_links(&rig, COPIERS + 1, 2e9);
    for (uint32_t i = 0; i < COPIERS; i++)
        (void)WAY(&rig, i, i, COPIERS);
    create(&rig);
    size_t size = (size_t)COPIERS * COPIES * LARGEST;
    unsigned char *to = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(to, MAP_FAILED);
    pid_t server = serve(&rig), copiers[COPIERS];
    for (uint32_t who = 0; who < COPIERS; who++) {
        copiers[who] = fork_child();
        if (copiers[who] == 0)
            _exit(copy_patterns(&rig, who, to + (size_t)who * COPIES * LARGEST));
    }
    for (uint32_t who = 0; who < COPIERS; who++)
        assert_int_equal(wait_for(copiers[who]), 0);
    for (uint32_t who = 0; who < COPIERS; who++) {
        for (uint32_t n = 0; n < COPIES; n++) {
            const unsigned char *at = to + ((size_t)who * COPIES + n) * LARGEST;
            size_t bytes = (size_t)(who * 7919 + n * 104729) % LARGEST, i = 0;
            while (i < bytes && at[i] == pattern(who, n, i))
                i++;
            assert_int_equal(i, bytes);
            assert_int_equal(at[bytes], 0);
        }
    }
    (void)munmap(to, size);
    stop(&rig, server);
}

static int copy_some(struct rig *rig, uint32_t way, uint32_t count)
{
    char from[10 * CHUNK] = "", to[10 * CHUNK];
    for (uint32_t i = 0; i < count; i++) {
        if (hop_emulation_copy(rig->emulation, way, to, from, sizeof to, NULL, NULL) != HOP_OK)
            return 1;
    }
    return 0;
}

/* All share a source engine and the places of copies with those who are killed. */
static void a_killed_process_holds_up_nobody(void **state)
{
    (void)state;
    struct rig rig = {.options = {.copies = 4}};
    add_links(&rig, 2, 1e8);
    (void)WAY(&rig, 0, 0, 1);
    create(&rig);
    pid_t server = serve(&rig), survivor = fork_child();
    if (survivor == 0)
        _exit(copy_some(&rig, 0, 60));
    for (uint32_t i = 0; i < 60; i++) {
        pid_t victim = fork_child();
        if (victim == 0)
            _exit(copy_some(&rig, 0, UINT32_MAX));
        (void)usleep(random_below(2000));
        (void)kill(victim, SIGKILL);
        (void)wait_for(victim);
    }
    assert_int_equal(wait_for(survivor), 0);
    assert_int_equal(copy_some(&rig, 0, 10), 0);
    uint32_t copies[4];
    for (uint32_t i = 0; i < 4; i++) /* every place can be had again */
        CHECK(hop_emulation_post(rig.emulation, 0, CHUNK, NULL, &copies[i], D));
    for (uint32_t i = 0; i < 4; i++) {
        uint64_t arrived = 0;
        CHECK(hop_emulation_wait(rig.emulation, copies[i], CHUNK, &arrived, D));
        assert_int_equal(arrived, CHUNK);
        hop_emulation_release(rig.emulation, copies[i], NULL);
    }
    stop(&rig, server);
}

static void places_claimed_or_not_fetched_by_the_dead_are_free_again(void **state)
{
    (void)state;
    struct rig rig = {.options = {.copies = 2}};
    add_links(&rig, 1, 1e9);
    (void)WAY(&rig, 0, 0);
    create(&rig);
    pid_t server = serve(&rig), child = fork_child();
    if (child == 0) {
        uint32_t copy;
        uint64_t arrived;
        bool good = hop_emulation_post(rig.emulation, 0, CHUNK, NULL, &copy, NULL) == HOP_OK &&
                    hop_emulation_wait(rig.emulation, copy, CHUNK, &arrived, NULL) == HOP_OK;
        atomic_store(&rig.emulation->copies[!copy].owner, (uint64_t)getpid() << 8 | HOP_COPY_CLAIMED);
        _exit(!good);
    }
    assert_int_equal(wait_for(child), 0);
    uint32_t copies[2];
    for (uint32_t i = 0; i < 2; i++)
        CHECK(hop_emulation_post(rig.emulation, 0, CHUNK, NULL, &copies[i], D));
    stop(&rig, server);
}

/* A way that takes days, and a thread that copies on it. */
struct endless {
    struct rig rig;
    enum hop_status status;
    struct hop_diag diag;
    pthread_t thread;
};

static void *copy_endlessly(void *context)
{
    struct endless *endless = context;
    char from[10 * CHUNK] = "", to[10 * CHUNK];
    endless->status = hop_emulation_copy(endless->rig.emulation, 0, to, from, sizeof to, NULL, &endless->diag);
    return NULL;
}

static void start_endless(struct endless *endless)
{
    add_links(&endless->rig, 2, 1);
    (void)WAY(&endless->rig, 0, 0, 1);
    create(&endless->rig);
    assert_int_equal(pthread_create(&endless->thread, NULL, copy_endlessly, endless), 0);
}

static void *serve_here(void *machine)
{
    hop_emulation_serve(machine);
    return NULL;
}

static void stopping_ends_the_server_and_those_who_copy(void **state)
{
    (void)state;
    for (uint32_t pause_us = 0; pause_us <= 2000; pause_us += 1000) {
        struct endless endless = {0};
        pthread_t server;
        start_endless(&endless);
        assert_int_equal(pthread_create(&server, NULL, serve_here, endless.rig.machine), 0);
        (void)usleep(pause_us); /* any moment will do */
        hop_emulation_stop(endless.rig.emulation);
        assert_int_equal(pthread_join(server, NULL), 0);
        assert_int_equal(pthread_join(endless.thread, NULL), 0);
        assert_int_equal(endless.status, HOP_ERR_IO);
        assert_non_null(strstr(endless.diag.what, "stopped"));
        assert_int_equal(copy_some(&endless.rig, 0, 1), 1);
        finish(&endless.rig);
    }
}

static void a_server_that_dies_is_told_to_those_who_copy(void **state)
{
    (void)state;
    struct endless endless = {0};
    start_endless(&endless);
    pid_t server = serve(&endless.rig);
    while (!atomic_load(&endless.rig.emulation->server))
        (void)usleep(1000);
    hop_emulation_serve(endless.rig.machine); /* returns: there is one */
    (void)kill(server, SIGKILL);
    (void)wait_for(server);
    assert_int_equal(pthread_join(endless.thread, NULL), 0);
    assert_int_equal(endless.status, HOP_ERR_IO);
    assert_non_null(strstr(endless.diag.what, "is gone"));
    finish(&endless.rig);
}

/* ---- the device ---- */

/* Two ways: 0 takes 10 ms for ten chunks, 1 days. */
static void make_device(struct rig *rig, struct hop_device **device)
{
    add_links(rig, 2, 1e6);
    rig->links[1].rate_Bps = 1;
    (void)WAY(rig, 0, 0);
    (void)WAY(rig, 1, 1);
    create(rig);
    struct hop_device_options options = {.emulation = rig->emulation};
    CHECK(hop_device_host.open(&options, device, D));
}

static void the_device_copies_through_links_and_else_is_the_host(void **state)
{
    (void)state;
    struct rig rig = {0};
    struct hop_device *device;
    struct hop_device_properties properties;
    make_device(&rig, &device);
    pid_t server = serve(&rig);
    const struct hop_device_ops *ops = device->ops;
    assert_ptr_equal(ops, &hop_device_host);
    ops->properties(device, &properties);
    assert_string_equal(properties.name, "emulated");
    assert_true(properties.mapped && !properties.immediate);

    char *a, *b, *c;
    struct hop_event *event;
    bool ended = false;
    CHECK(ops->allocate(device, 10 * CHUNK, (void **)&a, D));
    CHECK(ops->allocate(device, 10 * CHUNK, (void **)&b, D));
    CHECK(ops->allocate(device, 10 * CHUNK, (void **)&c, D));
    CHECK(ops->create_event(device, &event, D));
    memset(a, 'a', 10 * CHUNK);
    /* In order on its stream: through the links, then on from there without; the other stream waits for the event. */
    const struct hop_device_copy first = {b, a, 10 * CHUNK, 0, NULL}, second = {c, b, 10 * CHUNK, HOP_NO_WAY, NULL},
                                 back = {a, c, 10 * CHUNK, HOP_NO_WAY, NULL};
    CHECK(ops->copy(device, 0, &first, D));
    CHECK(ops->copy(device, 0, &second, D));
    CHECK(ops->record(device, 0, event, D));
    CHECK(ops->await(device, HOP_STREAM_COMPUTE, event, D));
    CHECK(ops->copy(device, HOP_STREAM_COMPUTE, &back, D));
    CHECK(ops->synchronize(device, 0, D));
    assert_memory_equal(c, a, 10 * CHUNK);
    CHECK(ops->query(device, event, &ended, D));
    assert_true(ended);
    CHECK(ops->synchronize(device, HOP_STREAM_COMPUTE, D));
    assert_int_equal(atomic_load(&rig.emulation->tickets), 1);
    memset(a, 'z', 10 * CHUNK);
    CHECK(ops->copy(device, HOP_STREAM_NOW, &first, D));
    assert_memory_equal(a, b, 10 * CHUNK);
    assert_int_equal(atomic_load(&rig.emulation->tickets), 2);

    struct hop_device_copy nowhere = {b, a, 1, 2, NULL};
    assert_int_equal(ops->copy(device, HOP_STREAM_NOW, &nowhere, NULL), HOP_ERR_INVALID);
    ops->close(device);
    stop(&rig, server);
}

static void another_process_copies_into_memory_that_it_imported(void **state)
{
    (void)state;
    struct rig rig = {0};
    struct hop_device *device;
    struct hop_device_handle handle;
    char *memory;
    make_device(&rig, &device);
    pid_t server = serve(&rig);
    CHECK(device->ops->allocate(device, 10 * CHUNK, (void **)&memory, D));
    CHECK(device->ops->export_memory(device, memory, &handle, D));
    pid_t child = fork_child();
    if (child == 0) {
        struct hop_device_options options = {.emulation = rig.emulation};
        char from[10 * CHUNK];
        struct hop_device_copy copy = {NULL, from, sizeof from, 0, NULL};
        memset(from, 'q', sizeof from);
        bool good = hop_device_host.open(&options, &device, NULL) == HOP_OK &&
                    device->ops->import_memory(device, &handle, &copy.to, NULL) == HOP_OK &&
                    device->ops->copy(device, 0, &copy, NULL) == HOP_OK &&
                    device->ops->synchronize(device, 0, NULL) == HOP_OK;
        if (good)
            device->ops->close(device);
        _exit(!good);
    }
    assert_int_equal(wait_for(child), 0);
    for (uint32_t i = 0; i < 10 * CHUNK; i++)
        assert_int_equal(memory[i], 'q');
    device->ops->close(device);
    stop(&rig, server);
}

static void a_stopped_emulation_fails_the_device(void **state)
{
    (void)state;
    struct rig rig = {0};
    struct hop_device *device;
    struct hop_diag diag = {0};
    struct hop_event *event;
    bool ended = true;
    char from[CHUNK * 10] = "", to[CHUNK * 10];
    make_device(&rig, &device);
    pid_t server = serve(&rig);
    const struct hop_device_copy copy = {to, from, sizeof to, 1, NULL};
    CHECK(device->ops->create_event(device, &event, D));
    CHECK(device->ops->copy(device, 0, &copy, D));
    CHECK(device->ops->record(device, 0, event, D));
    hop_emulation_stop(rig.emulation);
    assert_int_equal(device->ops->synchronize(device, 0, &diag), HOP_ERR_IO);
    assert_non_null(strstr(diag.what, "stopped"));
    assert_true(device->ops->query(device, event, &ended, NULL) != HOP_OK || !ended);
    device->ops->close(device);
    stop(&rig, server);
}

TEST_GROUP(emulated)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_lone_copy_takes_its_bytes_a_chunk_a_further_link_and_the_latencies),
        cmocka_unit_test(a_lone_copy_over_unequal_links_follows_the_max_plus_recurrence),
        cmocka_unit_test(small_buffers_do_not_hold_back_a_lone_copy),
        cmocka_unit_test(two_copies_into_one_link_share_it_equally),
        cmocka_unit_test(a_link_takes_turns_by_where_chunks_come_from_not_by_copy),
        cmocka_unit_test(a_slow_link_fills_the_buffer_before_it_and_holds_back_what_goes_elsewhere),
        cmocka_unit_test(a_source_engine_takes_one_copy_at_a_time_in_order),
        cmocka_unit_test(copies_without_an_engine_take_turns_at_their_source),
        cmocka_unit_test(chunks_take_longer_once_they_have_crossed),
        cmocka_unit_test(pieces_of_chunks_take_turns_of_their_own),
        cmocka_unit_test(the_mean_of_pieces_is_kept),
        cmocka_unit_test(every_byte_of_random_copies_arrives_and_credit_is_kept),
        cmocka_unit_test(times_do_not_depend_on_how_often_the_clock_is_looked_at),
        cmocka_unit_test(what_is_posted_too_late_starts_now),
        cmocka_unit_test(a_circle_of_full_buffers_is_found),
        cmocka_unit_test(what_makes_no_sense_is_refused),
        cmocka_unit_test(ends_agree_with_the_packet_simulation),
        cmocka_unit_test(by_the_clock_times_are_those_of_given_time),
        cmocka_unit_test(bytes_arrive_intact_in_other_processes),
        cmocka_unit_test(a_killed_process_holds_up_nobody),
        cmocka_unit_test(places_claimed_or_not_fetched_by_the_dead_are_free_again),
        cmocka_unit_test(stopping_ends_the_server_and_those_who_copy),
        cmocka_unit_test(a_server_that_dies_is_told_to_those_who_copy),
        cmocka_unit_test(the_device_copies_through_links_and_else_is_the_host),
        cmocka_unit_test(another_process_copies_into_memory_that_it_imported),
        cmocka_unit_test(a_stopped_emulation_fails_the_device),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
