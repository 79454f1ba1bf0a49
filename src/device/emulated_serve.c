/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The clock of an emulation, and the hand-over between who copies and who serves: see emulated_links.h.
 *
 * A process claims a free copy, fills it in, with the time, and says that it is posted; no lock is held, so it may die
 * anywhere. What the dead leave is freed by who next finds no copy free. The server sleeps
 * until the next thing is due or something is posted, a process until half of what is missing has arrived, so that it
 * is woken a few times only and yet has little left to copy at the end.
 */
#include <errno.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "device/emulated_links.h"

enum {
    LEAST_STEP = 64 << 10, /* bytes: less is not worth being woken for */
    LEAST_NAP_NS = 100000, /* of the server, between chunks: what it does late is exact, and 16 processes want to run */
    LOOK_NS = 500000000,   /* how often who waits looks whether the server lives */
    SWEEP_NS = 10000000,   /* and who finds no copy free, whether another one's process died */
    HOLD_NS = 20000000     /* and who works in its own memory, whether the emulation goes on */
};

static uint64_t now_ps(const struct hop_emulation *e)
{
    return (hop_now_ns() - e->epoch_ns) * 1000;
}

/* ---- serving ---- */

static void end_emulation(struct hop_emulation *e, enum hop_emulation_ending ending)
{
    uint32_t runs = HOP_EMULATION_RUNS;
    int error = errno; /* a signal handler must keep it */
    (void)atomic_compare_exchange_strong(&e->ending, &runs, ending);
    hop_counter_ring(&e->posts);
    hop_counter_ring(&e->freed);
    for (uint32_t i = 0; i < e->copy_count; i++)
        hop_counter_ring(&e->copies[i].bell);
    errno = error;
}

void hop_emulation_stop(struct hop_emulation *emulation)
{
    end_emulation(emulation, HOP_EMULATION_STOPPED);
}

void hop_emulation_serve(struct hop_emulated_machine *machine)
{
    struct hop_emulation *e = machine->e;
    int64_t nobody = 0;
    if (!atomic_compare_exchange_strong(&e->server, &nobody, getpid()))
        return;
    atomic_store(&e->server_started, hop_process_started((long)getpid()));
    /* Sleep to the microsecond; the default is 50 of them. */
    int slack = prctl(PR_GET_TIMERSLACK);
    (void)prctl(PR_SET_TIMERSLACK, 1000UL);
    while (atomic_load(&e->ending) == HOP_EMULATION_RUNS) {
        uint32_t posts = atomic_load(&e->posts.value);
        uint64_t due = hop_emulation_advance(machine, now_ps(e));
        if (due == HOP_EMULATED_NEVER && machine->under_way) {
            end_emulation(e, HOP_EMULATION_STUCK);
        } else {
            uint64_t until_ns = due == HOP_EMULATED_NEVER ? due : e->epoch_ns + (due + 999) / 1000;
            uint64_t least_ns = hop_now_ns() + LEAST_NAP_NS;
            hop_counter_sleep(&e->posts, posts, until_ns > least_ns ? until_ns : least_ns);
        }
    }
    if (slack > 0)
        (void)prctl(PR_SET_TIMERSLACK, (unsigned long)slack);
}

/* ---- copying ---- */

/* Whether it is worth waiting. */
static enum hop_status look_at_server(struct hop_emulation *e, struct hop_diag *diag)
{
    long server = (long)atomic_load(&e->server);
    switch ((enum hop_emulation_ending)atomic_load(&e->ending)) {
    case HOP_EMULATION_STOPPED:
        return hop_fail(diag, HOP_ERR_IO, "the emulation of links was stopped");
    case HOP_EMULATION_STUCK:
        return hop_fail(diag, HOP_ERR_DEADLOCK,
                        "the buffers of emulated links wait for each other in a circle\n"
                        "ways that form no circle of links");
    case HOP_EMULATION_RUNS:
        break;
    }
    if (!server || hop_process_lives(server, atomic_load(&e->server_started)))
        return HOP_OK;
    if (atomic_load(&e->ending) != HOP_EMULATION_RUNS) /* it ended because of that, after the look above */
        return look_at_server(e, diag);
    return hop_fail(diag, HOP_ERR_IO, "process %ld, which emulated the links, is gone", server);
}

static uint64_t owner_word(enum hop_emulated_copy_state state)
{
    return (uint64_t)getpid() << 8 | state;
}

/* Copies whose process is gone: those that it had not posted, and those that have ended. */
static void sweep(struct hop_emulation *e)
{
    for (uint32_t i = 0; i < e->copy_count; i++) {
        uint64_t owner = atomic_load(&e->copies[i].owner);
        enum hop_emulated_copy_state state = hop_copy_state(owner);
        if ((state == HOP_COPY_CLAIMED || state == HOP_COPY_ENDED) && !hop_process_lives((long)(owner >> 8), 0))
            (void)atomic_compare_exchange_strong(&e->copies[i].owner, &owner, HOP_COPY_FREE);
    }
}

static bool claim_free(struct hop_emulation *e, uint64_t ticket, uint32_t *copy)
{
    for (uint32_t i = 0; i < e->copy_count; i++) {
        uint32_t at = (uint32_t)((ticket + i) % e->copy_count);
        uint64_t owner = HOP_COPY_FREE;
        if (atomic_load(&e->copies[at].owner) == HOP_COPY_FREE &&
            atomic_compare_exchange_strong(&e->copies[at].owner, &owner, owner_word(HOP_COPY_CLAIMED))) {
            *copy = at;
            return true;
        }
    }
    return false;
}

static enum hop_status claim(struct hop_emulation *e, uint64_t ticket, uint32_t *copy, struct hop_diag *diag)
{
    for (;;) {
        uint32_t freed = atomic_load(&e->freed.value);
        HOP_CHECK(look_at_server(e, diag));
        if (claim_free(e, ticket, copy))
            return HOP_OK;
        sweep(e);
        if (claim_free(e, ticket, copy))
            return HOP_OK;
        hop_counter_sleep(&e->freed, freed, hop_now_ns() + SWEEP_NS);
    }
}

enum hop_status hop_emulation_post(struct hop_emulation *e, uint32_t way, uint64_t bytes, const uint64_t *at_ps,
                                   uint32_t *copy, struct hop_diag *diag)
{
    if (way >= e->way_count)
        return hop_fail(diag, HOP_ERR_INVALID, "a copy on way %u of an emulation of %u ways", way, e->way_count);
    uint64_t ticket = atomic_fetch_add(&e->tickets, 1);
    uint32_t index;
    HOP_CHECK(claim(e, ticket, &index, diag));
    struct hop_emulated_copy *c = &e->copies[index];
    c->way = way;
    c->bytes = bytes;
    c->ticket = ticket;
    atomic_store(&c->arrived, 0);
    atomic_store(&c->wanted, UINT64_MAX);
    c->posted_ps = at_ps ? *at_ps : now_ps(e);
    atomic_store(&c->owner, owner_word(HOP_COPY_POSTED));
    hop_counter_ring(&e->posts);
    *copy = index;
    return HOP_OK;
}

enum hop_status hop_emulation_wait(struct hop_emulation *e, uint32_t copy, uint64_t wanted, uint64_t *arrived,
                                   struct hop_diag *diag)
{
    struct hop_emulated_copy *c = &e->copies[copy];
    bool last = wanted >= c->bytes;
    atomic_store(&c->wanted, last ? UINT64_MAX : wanted); /* the end rings anyway */
    for (;;) {
        uint32_t bell = atomic_load(&c->bell.value);
        bool ended = hop_copy_state(atomic_load(&c->owner)) == HOP_COPY_ENDED;
        *arrived = atomic_load(&c->arrived);
        if (last ? ended : *arrived >= wanted)
            return HOP_OK;
        HOP_CHECK(look_at_server(e, diag));
        hop_counter_sleep(&c->bell, bell, hop_now_ns() + LOOK_NS);
    }
}

enum hop_status hop_emulation_hold(struct hop_emulation *emulation, double start_s, double traffic_bytes, double *end_s,
                                   struct hop_diag *diag)
{
    double rate_Bps = emulation->memory_Bps / emulation->slower;
    double due_s = rate_Bps > 0 ? start_s + traffic_bytes / rate_Bps : start_s;
    uint64_t now_ns = hop_now_ns(), due_ns = (uint64_t)(due_s * 1e9);
    *end_s = hop_max((double)now_ns * 1e-9, due_s);
    while (now_ns < due_ns) {
        if (atomic_load(&emulation->ending) != HOP_EMULATION_RUNS)
            return look_at_server(emulation, diag);
        uint64_t until_ns = due_ns - now_ns < HOLD_NS ? due_ns : now_ns + HOLD_NS;
        const struct timespec until = hop_clock_until((double)until_ns * 1e-9);
        (void)clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &until, NULL);
        now_ns = hop_now_ns();
    }
    return HOP_OK;
}

double hop_emulation_clock_s(const struct hop_emulation *emulation, double time_s)
{
    return (double)emulation->epoch_ns * 1e-9 + time_s * emulation->slower;
}

void hop_emulation_release(struct hop_emulation *e, uint32_t copy, struct hop_emulated_times *times)
{
    struct hop_emulated_copy *c = &e->copies[copy];
    double unit_s = 1e-12 / e->slower;
    if (times)
        *times = (struct hop_emulated_times){.posted_s = (double)c->posted_ps * unit_s,
                                             .start_s = (double)c->start_ps * unit_s,
                                             .end_s = (double)c->end_ps * unit_s};
    atomic_store(&c->owner, HOP_COPY_FREE);
    hop_counter_ring(&e->freed);
}

enum hop_status hop_emulation_copy(struct hop_emulation *emulation, uint32_t way, void *to, const void *from,
                                   uint64_t bytes, struct hop_emulated_times *times, struct hop_diag *diag)
{
    uint32_t copy;
    HOP_CHECK(hop_emulation_post(emulation, way, bytes, NULL, &copy, diag));
    uint64_t done = 0;
    do {
        uint64_t left = bytes - done, step = left / 2 > LEAST_STEP ? left / 2 : LEAST_STEP, arrived;
        HOP_CHECK(hop_emulation_wait(emulation, copy, step < left ? done + step : bytes, &arrived, diag));
        if (arrived > done)
            memcpy((char *)to + done, (const char *)from + done, arrived - done);
        done = arrived;
    } while (done < bytes);
    hop_emulation_release(emulation, copy, times);
    return HOP_OK;
}
