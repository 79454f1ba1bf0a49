/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for other ranks, and noticing that they are gone.
 *
 * A wait spins first (a message is there within a microsecond where every rank has a processor), then gives way, then
 * sleeps. Every LOOK_S a waiting rank looks whether the others' processes live and their beats move.
 */
#include <sched.h>
#include <stdio.h>
#include <time.h>

#include "run/team.h"

#define LOOK_S 0.1
#define YIELD_S 0.002 /* of a wait: then it sleeps */
enum { TURNS_A_LOOK = 64, SLEEP_NS = 50000 };

static inline void relax(void)
{
#if defined(__x86_64__) || defined(__i386__)
    __builtin_ia32_pause();
#endif
}

size_t hop_board_size(uint32_t size)
{
    return sizeof(struct hop_board) + size * (sizeof(struct hop_member) + HOP_SLOT_BYTES);
}

char *hop_board_slot(struct hop_board *board, uint32_t local)
{
    return (char *)(board->members + board->size) + (size_t)local * HOP_SLOT_BYTES;
}

void hop_board_lose_with(struct hop_board *board, int rank, const struct hop_diag *loss)
{
    int none = 0;
    if (!atomic_compare_exchange_strong(&board->loss_state, &none, 1))
        return;
    board->loss = *loss;
    board->lost = rank;
    atomic_store(&board->loss_state, 2);
}

void hop_board_lose(struct hop_board *board, int rank, const char *format, ...)
{
    struct hop_diag loss;
    char text[sizeof loss.what];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    (void)hop_fail(&loss, HOP_ERR_LOST, "%s", text);
    hop_board_lose_with(board, rank, &loss);
}

const struct hop_diag *hop_board_loss(const struct hop_board *board, int *rank)
{
    if (atomic_load_explicit(&board->loss_state, memory_order_acquire) != 2)
        return NULL;
    if (rank)
        *rank = board->lost;
    return &board->loss;
}

struct hop_doing hop_doing_named(const char *name)
{
    char text[HOP_DOING_SIZE] = "";
    struct hop_doing doing;
    (void)snprintf(text, sizeof text, "%s", name);
    memcpy(doing.words, text, sizeof text);
    return doing;
}

void hop_member_doing(const struct hop_member *member, char *text, size_t size)
{
    struct hop_doing doing;
    char name[HOP_DOING_SIZE];
    for (int i = 0; i < HOP_DOING_WORDS; i++)
        doing.words[i] = atomic_load_explicit(&member->doing[i], memory_order_relaxed);
    memcpy(name, doing.words, sizeof name);
    name[sizeof name - 1] = '\0';
    if (name[0])
        (void)snprintf(text, size, " in operation '%s'", name);
    else
        text[0] = '\0';
}

/* A rank finishes once all have come to its last barrier. Who waits then for anything but having left it waits in
 * vain. */
static bool all_came(const struct hop_team *team)
{
    return team->in_barrier && atomic_load_explicit(&team->board->passed, memory_order_acquire) != team->round;
}

static void look_after(struct hop_team *team, double now_s)
{
    for (uint32_t l = 0; l < team->local_size; l++) {
        struct hop_member *member = &team->board->members[l];
        int phase = atomic_load_explicit(&member->phase, memory_order_acquire), rank = (int)team->rank_of[l];
        char doing[HOP_DOING_SIZE + 32];
        if (l == team->local || phase == HOP_MEMBER_ABSENT)
            continue;
        if (phase == HOP_MEMBER_FINISHED) {
            if (!all_came(team))
                hop_board_lose(team->board, rank, "rank %d has finished, others still wait for it", rank);
            continue;
        }
        hop_member_doing(member, doing, sizeof doing);
        if (phase == HOP_MEMBER_LEFT)
            hop_board_lose(team->board, rank, "rank %d left%s", rank, doing);
        else if (member->pid != hop_team_self(team)->pid && !hop_process_lives(member->pid, member->started) &&
                 atomic_load(&member->phase) == phase) /* it did not finish just now */
            hop_board_lose(team->board, rank, "rank %d died%s (its process %ld is gone)", rank, doing, member->pid);
        else if (hop_watch_expired(&team->watches[l], atomic_load_explicit(&member->beat, memory_order_relaxed), now_s,
                                   team->timeout_s))
            hop_board_lose(team->board, rank, "rank %d has not moved for %g s%s", rank, team->timeout_s, doing);
    }
}

void hop_team_look(struct hop_team *team)
{
    look_after(team, hop_group_now_s());
}

bool hop_team_turn(struct hop_team *team, struct hop_wait *wait)
{
    wait->turns++;
    if (wait->turns <= team->spins && wait->turns % TURNS_A_LOOK != 0) {
        relax();
        return true;
    }
    hop_team_beat(team);
    if (hop_board_loss(team->board, NULL) || (!team->gently && hop_team_stopping(team)) ||
        (team->group && hop_group_lost(team->group, NULL) >= 0))
        return false;
    if (wait->turns <= team->spins)
        return true;
    double now_s = hop_group_now_s();
    if (wait->begun_s <= 0)
        wait->begun_s = now_s;
    if (now_s - team->looked_s > LOOK_S) {
        team->looked_s = now_s;
        look_after(team, now_s);
    }
    if (now_s - wait->begun_s < YIELD_S)
        return sched_yield() == 0;
    const struct timespec nap = {0, SLEEP_NS};
    (void)nanosleep(&nap, NULL);
    return true;
}

bool hop_team_stopping(const struct hop_team *team)
{
    return (team->stop && *team->stop) ||
           (team->board && atomic_load_explicit(&team->board->stop, memory_order_relaxed));
}

enum hop_status hop_team_fail(struct hop_team *team, struct hop_diag *diag)
{
    const struct hop_diag *loss = team->board ? hop_board_loss(team->board, NULL) : NULL;
    team->failed = true;
    if (loss) {
        if (diag)
            *diag = *loss;
        return loss->status;
    }
    if (team->group && hop_group_lost(team->group, diag) >= 0) {
        if (diag)
            diag->status = HOP_ERR_LOST;
        return HOP_ERR_LOST;
    }
    return hop_fail(diag, HOP_ERR_STOPPED, "stopped by a signal");
}

void hop_team_abort(struct hop_team *team, const struct hop_diag *reason)
{
    team->failed = true;
    hop_board_lose_with(team->board, (int)team->rank, reason);
}

bool hop_team_why(const struct hop_team *team, struct hop_diag *reason)
{
    const struct hop_diag *loss = team->board ? hop_board_loss(team->board, NULL) : NULL;
    if (loss)
        *reason = *loss;
    return loss || (team->group && hop_group_lost(team->group, reason) >= 0);
}

int hop_team_lost(const struct hop_team *team)
{
    int rank = -1;
    if (team->board && hop_board_loss(team->board, &rank))
        return rank;
    return team->group ? hop_group_lost(team->group, NULL) : -1;
}

enum hop_status hop_team_barrier_local(struct hop_team *team, struct hop_diag *diag)
{
    struct hop_board *board = team->board;
    unsigned round = atomic_load_explicit(&board->passed, memory_order_acquire);
    struct hop_wait wait = {0};
    if (atomic_fetch_add(&board->arrived, 1) + 1 == board->size) {
        atomic_store_explicit(&board->arrived, 0, memory_order_relaxed);
        atomic_store_explicit(&board->passed, round + 1, memory_order_release);
        return HOP_OK;
    }
    team->in_barrier = true;
    team->round = round;
    while (atomic_load_explicit(&board->passed, memory_order_acquire) == round) {
        if (!hop_team_turn(team, &wait))
            return hop_team_fail(team, diag);
    }
    team->in_barrier = false;
    return HOP_OK;
}

enum hop_status hop_team_barrier(struct hop_team *team, struct hop_diag *diag)
{
    if (!team->group)
        return hop_team_barrier_local(team, diag);
    return hop_group_barrier(team->group, diag) == HOP_OK ? HOP_OK : hop_team_fail(team, diag);
}

enum hop_status hop_team_exchange(struct hop_team *team, const void *mine, void *all, size_t size,
                                  struct hop_diag *diag)
{
    memcpy(hop_board_slot(team->board, team->local), mine, size);
    enum hop_status status = hop_team_barrier_local(team, diag);
    for (uint32_t l = 0; status == HOP_OK && l < team->local_size; l++)
        memcpy((char *)all + l * size, hop_board_slot(team->board, l), size);
    return status == HOP_OK ? hop_team_barrier_local(team, diag) : status;
}
