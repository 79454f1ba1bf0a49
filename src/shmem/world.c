/* SPDX-License-Identifier: BSD-3-Clause */
/* World: how its PEs wait, and how they end when something is wrong. */
#include "shmem/world.h"

#include <sched.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <unistd.h>

enum { POLLS = 32,        /* in vain, before others have the processor */
       WORK_NS = 1000 }; /* less than that between two of them is none */

struct hop_shmem_world hop_shmem = {.turn = PTHREAD_MUTEX_INITIALIZER};

/* The launcher says what it hears of a loss, and that it stops all; what kept this PE from joining, it does not hear. Without it
 * who finds something wrong says so, and that another machine's PE is lost, PE 0 does, or 1 of PE 0. */
static _Noreturn void end(const struct hop_diag *diag)
{
    static atomic_flag ending = ATOMIC_FLAG_INIT; /* threads of a PE may find out at the same time */
    while (atomic_flag_test_and_set(&ending))
        (void)pause();
    int lost = hop_shmem.team ? hop_team_lost(hop_shmem.team) : -1;
    bool first = hop_shmem.team && lost < 0;
    bool tells =
        first || (lost >= 0 && hop_shmem.team->group && diag->status == HOP_ERR_LOST && hop_shmem.pe == (lost == 0));
    if (first)
        hop_team_abort(hop_shmem.team, diag);
    if ((tells && hop_shmem.alone) ||
        (!hop_shmem.team && diag->status != HOP_ERR_STOPPED && diag->status != HOP_ERR_LOST))
        (void)fprintf(stderr, "hopcast-shmem: %s%s%s%s%s\n", diag->place, diag->place[0] ? ": " : "", diag->what,
                      diag->expected[0] ? "; expected: " : "", diag->expected);
    (void)fflush(NULL);
    if (hop_shmem.team && hop_shmem.team->group)
        hop_group_leave(hop_shmem.team->group);
    _exit(1);
}

void hop_shmem_die(const char *who, const char *format, ...)
{
    struct hop_diag diag;
    va_list arguments;
    va_start(arguments, format);
    (void)hop_fail_with(&diag, HOP_ERR_INVALID, format, arguments);
    va_end(arguments);
    who += who[0] == 'p'; /* the call is known by its first name */
    if (hop_shmem.pes)
        hop_diag_place(&diag, "PE %u, %s", hop_shmem.pe, who);
    else
        hop_diag_place(&diag, "%s", who);
    end(&diag);
}

void hop_shmem_fail(const char *who, const struct hop_diag *diag)
{
    struct hop_diag own = *diag;
    who += who[0] == 'p';
    if (!own.place[0])
        hop_diag_place(&own, "PE %u, %s", hop_shmem.pe, who);
    end(&own);
}

/* Others of this process wait for another thread's turn: it looks after the PEs for all of them. wait NULL: only looks. */
static void look_after(struct hop_team_wait *wait)
{
    struct hop_diag diag;
    if (!hop_shmem.team || pthread_mutex_trylock(&hop_shmem.turn) != 0) {
        (void)sched_yield();
        return;
    }
    bool goes_on = wait ? hop_team_turn(hop_shmem.team, wait) : hop_team_attend(hop_shmem.team);
    if (!goes_on)
        (void)hop_team_fail(hop_shmem.team, &diag);
    (void)pthread_mutex_unlock(&hop_shmem.turn);
    if (!goes_on)
        hop_shmem_fail("waiting", &diag);
}

void hop_shmem_turn(struct hop_shmem_wait *wait)
{
    look_after(&wait->team);
}

/* Nothing is looked after here: the launcher, or a PE that waits, ends who notices nothing. Polls that follow each other with
 * next to no work between are a wait. */
void hop_shmem_polled(bool holds)
{
    static _Thread_local unsigned in_vain;
    static _Thread_local uint64_t since_ns;
    static _Thread_local bool waits;
    waits = waits && !holds;
    in_vain = holds ? 0 : in_vain + 1;
    if (in_vain < POLLS)
        return;
    if (hop_shmem.team && hop_now_ns() - since_ns < POLLS * WORK_NS) {
        hop_team_wait_on(hop_shmem.team, waits);
        waits = true;
    }
    in_vain = 0;
    (void)sched_yield();
    since_ns = hop_now_ns();
}

void hop_shmem_look(void)
{
    look_after(NULL);
}
