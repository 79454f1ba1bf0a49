/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Waiting for other ranks, and noticing that they are gone.
 *
 * A wait spins first (a message is there within a microsecond where every rank has a processor), then gives way, then
 * sleeps. Every LOOK_S a waiting rank looks whether the others' processes live and their beats move.
 */
#include <sched.h>
#include <stdio.h>

#include "run/team.h"

#define LOOK_S 0.1 /* and the less often the more ranks share a processor, but this often within the timeout */
#define LOOKS_A_TIMEOUT 10
#define YIELD_S 0.002 /* of a wait: then it sleeps */
#define SLEEP_S 50e-6 /* for each rank of a processor at most, and a fraction of what it has waited */
#define SLEEP_FRACTION 16
#define NEWS_S 0.5           /* that the reason has to come from another machine, when all are stopped because of it */
#define STARVED 0.1          /* of a time: who ran for less of it had no processor */
#define BYTES_A_SECOND 100e6 /* that any machine allocates */
enum { TURNS_AN_IDLE = 16, TURNS_A_LOOK = 64, PROCESSES_A_LOOK = 4, NAMED = 4, LOOKS_IN_VAIN = 2 };

size_t hop_board_size(uint32_t size)
{
    return sizeof(struct hop_board) + size * (sizeof(struct hop_team_member) + HOP_SLOT_BYTES);
}

static char *board_slot(struct hop_board *board, uint32_t local)
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
    va_list arguments;
    va_start(arguments, format);
    (void)hop_fail_with(&loss, HOP_ERR_LOST, format, arguments);
    va_end(arguments);
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

void hop_member_doing(const struct hop_team_member *member, char *text, size_t size)
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

void hop_board_lose_member(struct hop_board *board, uint32_t local, uint32_t rank, const char *format, ...)
{
    char what[128], doing[HOP_DOING_SIZE + 32];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(what, sizeof what, format, arguments);
    va_end(arguments);
    hop_member_doing(&board->members[local], doing, sizeof doing);
    hop_board_lose(board, (int)rank, "rank %u %s%s", rank, what, doing);
}

/* Where a thousand ranks share a few processors, one may wait for its turn for longer than the timeout. It has another
 * half of it then, as often as it ran for less than a tenth of the last. */
bool hop_beat_expired(struct hop_beat_watch *watch, uint64_t beat, long pid, long thread, double now_s,
                      double timeout_s)
{
    bool expired = hop_watch_expired(&watch->beat, beat, now_s, timeout_s), ready;
    if (watch->beat.silent_s < timeout_s / 2)
        watch->marked = false;
    if (watch->beat.silent_s < timeout_s / 2 || (watch->marked && !expired))
        return false;
    double ran_s = hop_thread_ran_s(pid, thread, &ready), since_s = ran_s - watch->ran_s;
    bool starves = expired && watch->marked && ready && since_s < STARVED * timeout_s / 2;
    watch->ran_s = ran_s;
    watch->marked = true;
    if (starves)
        watch->beat.silent_s = timeout_s / 2;
    return expired && !starves;
}

/* What it is allowed is read before the beat. */
void hop_board_watch(struct hop_board *board, uint32_t local, uint32_t rank, struct hop_beat_watch *watch, double now_s,
                     double timeout_s)
{
    struct hop_team_member *member = &board->members[local];
    timeout_s += (double)atomic_load_explicit(&member->allowed_ms, memory_order_acquire) * 1e-3;
    uint64_t beat = atomic_load_explicit(&member->beat, memory_order_relaxed);
    if (hop_beat_expired(watch, beat, member->pid, member->thread, now_s, timeout_s))
        hop_board_lose_member(board, local, rank, "has not moved for %g s", timeout_s);
}

void hop_board_watch_joining(struct hop_board *board, const uint32_t *rank_of, struct hop_watch *watch,
                             double timeout_s)
{
    uint32_t joined = atomic_load(&board->joined);
    if (joined == board->size || !hop_watch_expired(watch, joined, hop_now_s(), timeout_s))
        return;
    for (uint32_t l = 0; l < board->size; l++) {
        if (atomic_load(&board->members[l].phase) == HOP_MEMBER_ABSENT)
            hop_board_lose_member(board, l, rank_of ? rank_of[l] : l, "has not joined the others for %g s", timeout_s);
    }
}

/* Ranks whose launcher stands still would be left when they have ended. */
static void look_at_launcher(struct hop_team *team, double now_s)
{
    uint64_t beat = atomic_load_explicit(&team->board->launcher, memory_order_relaxed);
    long pid = team->board->launcher_pid;
    if (beat && hop_beat_expired(&team->launcher, beat, pid, pid, now_s, team->timeout_s))
        hop_board_lose(team->board, (int)team->rank, "the launcher has not moved for %g s, says rank %u",
                       team->timeout_s, team->rank);
}

/* A rank finishes once all have come to its last barrier. Who waits then for anything but having left it waits in
 * vain; by messages one may leave it long before another. */
static bool all_came(const struct hop_team *team)
{
    return team->attends ||
           (team->in_barrier && atomic_load_explicit(&team->board->passed, memory_order_acquire) != team->round);
}

bool hop_team_is_gone(const struct hop_team *team, uint32_t local)
{
    const struct hop_team_member *member = &team->board->members[local];
    int phase = atomic_load_explicit(&member->phase, memory_order_acquire);
    return phase == HOP_MEMBER_PRESENT && member->pid != team->board->members[team->local].pid &&
           !hop_process_lives(member->pid, member->started) &&
           atomic_load(&member->phase) == phase; /* it did not finish just now */
}

/* Asking the system costs much more than looking at a beat: a few processes at a time. All ranks that wait ask, and
 * begin with different ones. */
static void look_for_processes(struct hop_team *team, uint32_t most)
{
    char doing[HOP_DOING_SIZE + 32];
    for (uint32_t i = 0; i < most && i < team->local_size; i++) {
        uint32_t l = team->looked_at = (team->looked_at + 1) % team->local_size;
        if (l == team->local || !hop_team_is_gone(team, l))
            continue;
        hop_member_doing(&team->board->members[l], doing, sizeof doing);
        hop_board_lose(team->board, (int)team->rank_of[l], "rank %u died%s (its process %ld is gone)", team->rank_of[l],
                       doing, team->board->members[l].pid);
    }
}

static bool may_begin_again(const struct hop_team *team, uint32_t local)
{
    const struct hop_team_member *member = &team->board->members[local];
    return team->begun_again && hop_process_lives(member->pid, member->started);
}

static void look_at_beats(struct hop_team *team, double now_s)
{
    for (uint32_t l = 0; l < team->local_size; l++) {
        int phase = atomic_load_explicit(&team->board->members[l].phase, memory_order_acquire);
        uint32_t rank = team->rank_of[l];
        if (l == team->local || phase == HOP_MEMBER_ABSENT || (phase == HOP_MEMBER_FINISHED && all_came(team)))
            continue;
        if (phase == HOP_MEMBER_FINISHED && may_begin_again(team, l))
            continue;
        if (phase == HOP_MEMBER_FINISHED)
            hop_board_lose(team->board, (int)rank, "rank %u has finished, others still wait for it", rank);
        else if (phase == HOP_MEMBER_LEFT && hop_team_stopping(team) && !team->gently)
            continue; /* all are stopped: why is still to be heard */
        else if (phase == HOP_MEMBER_LEFT)
            hop_board_lose_member(team->board, l, rank, "left");
        else
            hop_board_watch(team->board, l, rank, &team->watches[l], now_s, team->timeout_s);
    }
}

/* ---- ranks that all live, and wait for each other for ever ---- */

/* Nobody's own beat is about to be missed, which would be the better reason. */
static bool all_breathe(const struct hop_team *team)
{
    bool breathe = true;
    for (uint32_t l = 0; l < team->local_size && breathe; l++)
        breathe = l == team->local || atomic_load(&team->board->members[l].phase) != HOP_MEMBER_PRESENT ||
                  team->watches[l].beat.silent_s < team->timeout_s / 2;
    return breathe;
}

/* Names the operations that were begun last. */
static void lose_all(struct hop_team *team)
{
    char text[(HOP_DOING_SIZE + 64) * NAMED] = "";
    int first = -1;
    for (uint32_t l = 0, named = 0; l < team->local_size && named < NAMED; l++) {
        char doing[HOP_DOING_SIZE + 32];
        size_t used = strlen(text);
        hop_member_doing(&team->board->members[l], doing, sizeof doing);
        if (!doing[0])
            continue;
        first = named++ ? first : (int)team->rank_of[l];
        (void)snprintf(text + used, sizeof text - used, "%s rank %u%s", used ? "," : ":", team->rank_of[l], doing);
    }
    hop_board_lose(team->board, first < 0 ? (int)team->rank : first, "nothing has moved for %g s%s", team->patience_s,
                   text);
}

static void look_for_standstill(struct hop_team *team, double now_s)
{
    uint64_t moved = 0;
    if (team->patience_s <= 0 || team->in_barrier || team->attends)
        return;
    for (uint32_t l = 0; l < team->local_size; l++)
        moved += atomic_load_explicit(&team->board->members[l].moved, memory_order_relaxed);
    if (hop_watch_expired(&team->standstill, moved, now_s, team->patience_s) && all_breathe(team))
        lose_all(team);
}

/* What ranks of other machines do is not seen here; that they are silent, the group finds out before. */
void hop_team_expect(struct hop_team *team, double extra_s)
{
    double own_s = team->nodes > 1 ? 2 * team->timeout_s + 1 : team->timeout_s;
    team->patience_s = hop_max(team->patience_s, own_s + extra_s);
}

void hop_team_allow(struct hop_team *team, uint64_t bytes)
{
    double ms = (double)bytes / BYTES_A_SECOND * team->crowd * 1e3;
    hop_team_beat(team);
    atomic_store_explicit(&hop_team_self(team)->allowed_ms, (uint64_t)ms, memory_order_release);
}

/* ---- ranks that all wait, for one that has left ---- */

static void lose_leavers(struct hop_team *team)
{
    char text[16 * NAMED] = "";
    uint32_t named = 0, first = 0;
    for (uint32_t l = 0; l < team->local_size && named < NAMED; l++) {
        size_t used = strlen(text);
        if (!atomic_load(&team->board->members[l].leaves))
            continue;
        first = named++ ? first : team->rank_of[l];
        (void)snprintf(text + used, sizeof text - used, "%s%u", used ? ", " : "", team->rank_of[l]);
    }
    hop_board_lose(team->board, (int)first,
                   "rank%s %s %s finished or ended with status 0, and all others have waited in vain for %g s",
                   named > 1 ? "s" : "", text, named > 1 ? "have" : "has", team->leave_s);
}

/* Who waits breathes, and the number of its waits stays. A beat that stands still is that of a rank which computes; its wait
 * may have ended just before a look, so that more than one look has to find all beats moved. */
static void look_for_leavers(struct hop_team *team, double now_s)
{
    uint64_t moved = 0;
    uint32_t leave = 0, stay = 0;
    bool all_wait = true;
    if (team->leave_s <= 0 || team->nodes > 1)
        return;
    for (uint32_t l = 0; l < team->local_size; l++) {
        const struct hop_team_member *member = &team->board->members[l];
        if (atomic_load(&member->phase) != HOP_MEMBER_PRESENT)
            continue;
        bool leaves = atomic_load(&member->leaves);
        leave += leaves;
        stay += !leaves;
        moved += atomic_load_explicit(&member->moved, memory_order_relaxed) +
                 atomic_load_explicit(&member->waits, memory_order_relaxed);
        all_wait = all_wait && (l == team->local || team->watches[l].beat.silent_s <= 0);
    }
    bool in_vain =
        hop_watch_expired(&team->leaving, moved, now_s, team->leave_s) && all_wait && leave > 0 && stay > 0;
    team->looks_in_vain = in_vain ? team->looks_in_vain + 1 : 0;
    if (team->looks_in_vain > LOOKS_IN_VAIN)
        lose_leavers(team);
}

/* ---- turns ---- */

/* So that ranks that wait in a crowd leave the processors to those that work. */
static bool is_time_to_look(const struct hop_team *team, double now_s)
{
    return now_s - team->looked_s > hop_max(LOOK_S, hop_min(LOOK_S * team->crowd, team->timeout_s / LOOKS_A_TIMEOUT));
}

static void look_after(struct hop_team *team, uint32_t processes)
{
    double now_s = hop_now_s();
    team->looked_s = now_s;
    look_for_processes(team, processes);
    look_at_beats(team, now_s);
    look_at_launcher(team, now_s);
    look_for_standstill(team, now_s);
    look_for_leavers(team, now_s);
}

void hop_team_look(struct hop_team *team)
{
    look_after(team, team->local_size);
}

static bool goes_on(struct hop_team *team)
{
    bool stopping = hop_team_stopping(team);
    return !hop_board_loss(team->board, NULL) && !(stopping && !team->gently) &&
           !(team->group && hop_group_lost(team->group, NULL) >= 0);
}

bool hop_team_attend(struct hop_team *team)
{
    if (!team->board) /* the ranks have yet to meet */
        return hop_team_lost(team) < 0 && !hop_team_stopping(team);
    hop_team_breathe(team);
    team->attends = true;
    if (is_time_to_look(team, hop_now_s()))
        look_after(team, PROCESSES_A_LOOK);
    team->attends = false;
    return goes_on(team);
}

bool hop_team_turn(struct hop_team *team, struct hop_team_wait *wait)
{
    wait->turns++;
    if (team->idle && (wait->turns > team->spins || wait->turns % TURNS_AN_IDLE == 0))
        team->idle(team->idle_context);
    if (wait->turns <= team->spins && wait->turns % TURNS_A_LOOK != 0) {
        hop_relax();
        return true;
    }
    hop_team_wait_on(team, wait->told);
    if (team->whole)
        hop_team_wait_on(team->whole, wait->told);
    wait->told = true;
    if (!goes_on(team))
        return false;
    if (wait->turns <= team->spins)
        return true;
    double now_s = hop_now_s();
    if (wait->begun_s <= 0)
        wait->begun_s = now_s;
    if (is_time_to_look(team, now_s))
        look_after(team, PROCESSES_A_LOOK);
    if (now_s - wait->begun_s < YIELD_S)
        return sched_yield() == 0;
    double most_s = team->idle ? SLEEP_S : SLEEP_S * team->crowd;
    double nap_s = hop_max(hop_min((now_s - wait->begun_s) / SLEEP_FRACTION, most_s), SLEEP_S);
    hop_sleep_s(nap_s);
    return true;
}

/* What one rank of a machine gets is meant for all. */
bool hop_team_stopping(const struct hop_team *team)
{
    bool own = team->stop && *team->stop;
    if (own && team->board && !atomic_exchange_explicit(&team->board->stop, true, memory_order_relaxed))
        atomic_store_explicit(&team->board->stopped, team->rank + 1, memory_order_relaxed);
    return own || (team->board && atomic_load_explicit(&team->board->stop, memory_order_relaxed));
}

/* A reason better than that all are stopped, or that others left because they were. */
static bool has_reason(const struct hop_team *team, struct hop_diag *reason)
{
    return hop_team_why(team, reason) && reason->status != HOP_ERR_STOPPED;
}

/* Launchers stop all when a process dies: then that is the reason, and who shares a machine with the dead knows it. */
static void ask_for_reason(struct hop_team *team)
{
    double until_s = hop_now_s() + NEWS_S;
    struct hop_diag reason;
    if (team->board)
        look_for_processes(team, team->local_size);
    while (team->group && !has_reason(team, &reason) && hop_now_s() < until_s)
        hop_sleep_s(1e-3);
}

enum hop_status hop_board_fail_stopped(const struct hop_board *board, struct hop_diag *diag)
{
    unsigned stopped = board ? atomic_load_explicit(&board->stopped, memory_order_relaxed) : 0;
    return stopped ? hop_fail(diag, HOP_ERR_STOPPED, "rank %u was stopped by a signal", stopped - 1)
                   : hop_fail(diag, HOP_ERR_STOPPED, "stopped by a signal");
}

enum hop_status hop_team_fail(struct hop_team *team, struct hop_diag *diag)
{
    struct hop_diag reason;
    int rank = -1;
    bool stopping = hop_team_stopping(team);
    if (!team->failed && stopping && !has_reason(team, &reason))
        ask_for_reason(team);
    team->failed = true;
    if (!has_reason(team, &reason) && (stopping || !hop_team_why(team, &reason)))
        return hop_board_fail_stopped(team->board, diag);
    /* What the machine knows is told to the others, and what they told, to those of the machine before this rank leaves. */
    if (team->group && team->board && hop_board_loss(team->board, &rank))
        hop_group_give_reason(team->group, hop_team_in_group(team, (uint32_t)rank), &reason);
    else if (team->board && (rank = hop_team_lost(team)) >= 0)
        hop_board_lose_with(team->board, rank, &reason);
    if (diag)
        *diag = reason;
    return reason.status;
}

void hop_team_abort(struct hop_team *team, const struct hop_diag *reason)
{
    team->failed = true;
    hop_board_lose_with(team->board, (int)team->rank, reason);
    (void)hop_team_fail(team, NULL);
}

/* A process that is cut off from the others is lost, too. */
bool hop_team_why(const struct hop_team *team, struct hop_diag *reason)
{
    const struct hop_diag *loss = team->board ? hop_board_loss(team->board, NULL) : NULL;
    if (loss)
        *reason = *loss;
    if (loss || !team->group || hop_group_lost(team->group, reason) < 0)
        return loss != NULL;
    if (reason->status == HOP_ERR_IO)
        reason->status = HOP_ERR_LOST;
    return true;
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
    struct hop_team_wait wait = {0};
    HOP_SHARED_TELL();
    if (atomic_fetch_add(&board->arrived, 1) + 1 == board->size) {
        HOP_SHARED_HEAR();
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
    HOP_SHARED_HEAR();
    return HOP_OK;
}

enum hop_status hop_team_exchange(struct hop_team *team, const void *mine, void *all, size_t size,
                                  struct hop_diag *diag)
{
    memcpy(board_slot(team->board, team->local), mine, size);
    enum hop_status status = hop_team_barrier_local(team, diag);
    for (uint32_t l = 0; status == HOP_OK && l < team->local_size; l++)
        memcpy((char *)all + l * size, board_slot(team->board, l), size);
    return status == HOP_OK ? hop_team_barrier_local(team, diag) : status;
}

enum hop_status hop_team_share(struct hop_team *team, struct hop_shared *shared, struct hop_diag *diag)
{
    char *names = calloc(team->local_size, sizeof shared->name);
    enum hop_status status =
        names ? hop_team_exchange(team, shared->name, names, sizeof shared->name, diag) : hop_fail_memory(diag);
    if (status == HOP_OK && team->local != 0)
        status = hop_shared_attach(names, shared, diag);
    free(names);
    if (status == HOP_OK)
        status = hop_team_barrier_local(team, diag);
    hop_shared_withdraw(shared);
    return status;
}
