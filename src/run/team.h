/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Team: what its files share.
 *
 * The ranks of one machine share a board. Each rank writes its own member alone; the loss belongs to whoever finds it
 * first.
 *
 *     board | loss | barrier | member 0 | member 1 | ... | slot 0 | slot 1 | ...
 */
#ifndef HOP_RUN_TEAM_H
#define HOP_RUN_TEAM_H

#include <stdatomic.h>

#include "base/base.h"
#include "base/shared.h"
#include "group/group.h"
#include "hopcast/run.h"

enum { HOP_SLOT_BYTES = 512, HOP_DOING_SIZE = 64, HOP_DOING_WORDS = HOP_DOING_SIZE / 8 };

enum hop_member_phase { HOP_MEMBER_ABSENT, HOP_MEMBER_PRESENT, HOP_MEMBER_FINISHED, HOP_MEMBER_LEFT };

struct hop_team_member {
    _Alignas(64) atomic_uint_fast64_t beat; /* grows while it lives, waiting or not */
    atomic_uint_fast64_t moved;             /* grows while it gets on */
    atomic_uint_fast64_t waits;             /* that lasted long enough to be told */
    atomic_uint_fast64_t allowed_ms; /* that it may stand still beyond the timeout: a call that cannot be cut up */
    atomic_int phase;
    atomic_bool leaves; /* hop_team_leave */
    long pid, thread;
    unsigned long long started;
    _Alignas(64)
        atomic_uint_fast64_t doing[HOP_DOING_WORDS]; /* the operation's name, for whoever finds it dead; 0: none */
};

struct hop_board {
    uint64_t magic;
    uint32_t size;    /* ranks on this machine */
    atomic_bool stop; /* set by whoever gets the signal: the launcher or a rank */
    atomic_uint stopped;           /* 1 + the rank that got it first; 0: none, or the launcher */
    atomic_uint_fast64_t launcher; /* grows while the launcher lives; 0: there is none */
    long launcher_pid;
    bool threads;     /* its ranks are threads of one process */
    atomic_int ended; /* 1 + the exit status with which a rank ended them all; 0: none did */
    atomic_uint joined, parted, leavers;
    atomic_int loss_state; /* 0 none, 1 being written, 2 there */
    int lost;
    struct hop_diag loss;
    _Alignas(64) atomic_uint arrived;
    _Alignas(64) atomic_uint passed;
    struct hop_team_member members[];
};

/* A beat that is watched. One whose thread is ready to run but gets no processor does not stand still. */
struct hop_beat_watch {
    struct hop_watch beat;
    bool marked; /* it has stood still for half the timeout, when the thread had run for ran_s */
    double ran_s;
};
bool hop_beat_expired(struct hop_beat_watch *watch, uint64_t beat, long pid, long thread, double now_s,
                      double timeout_s);

struct hop_team {
    uint32_t rank, size;
    uint32_t local, local_size;   /* on this machine */
    uint32_t *node_of, *local_of; /* per rank */
    uint32_t *rank_of;            /* per local index */
    uint32_t nodes;
    struct hop_shared shared;
    struct hop_board *board;
    struct hop_group *group; /* NULL: one machine */
    uint32_t *group_rank;    /* of each rank, the group's number; NULL: the same */
    uint64_t channel;        /* the number of this team, in its letters */
    double timeout_s;
    const volatile sig_atomic_t *stop;
    bool parting; /* hop_team_part was called */
    bool gently;
    void (*idle)(void *context); /* of its options */
    void *idle_context;
    struct hop_beat_watch *watches; /* per local rank */
    struct hop_beat_watch launcher;
    struct hop_watch joining;
    double looked_s;
    uint32_t looked_at;          /* the local rank whose process is looked for next */
    double patience_s;           /* that all may wait for each other in a program's run; 0: there is no program */
    struct hop_watch standstill; /* of all that moves on this machine */
    double leave_s;              /* that others may wait beside one that leaves; 0: for ever */
    struct hop_watch leaving;
    unsigned looks_in_vain;   /* in a row, after that time */
    unsigned left;            /* how often it has left, since it may begin again */
    struct hop_team *whole;  /* whose rank this one is, too, and waits as well when it waits here; NULL: none */
    double crowd;                /* ranks for each processor, at least 1 */
    unsigned spins;              /* before a waiting rank gives way */
    bool failed, finished;
    bool begun_again; /* its ranks finish, and may come again */
    bool in_barrier; /* on this machine, the one after `round` others */
    bool attends;    /* waits for messages, a barrier by them included */
    unsigned round;
    uint32_t programs; /* made so far: names of messages */
    void *guest;       /* what works with this team in threads of its own, a card; NULL: nothing does */
    void (*leave)(void *guest); /* called before the team goes, if the guest is still there */
    bool asked, reaches;        /* kernel_copy.c: whether ranks of this machine read each other's memory */
    char unreached[256];        /* why they do not */
    long *far_pid;              /* per local rank; 0: of this process */
    struct hop_region *regions; /* regions.c */
    uint32_t region_count;
};

/* Tags of messages between machines. */
enum {
    HOP_TAG_GATHER = 1,
    HOP_TAG_PLAN,
    HOP_TAG_TIMES,
    HOP_TAG_BARRIER,
    HOP_TAG_ASK,
    HOP_TAG_ANSWER,
    HOP_TAG_MARK,
    HOP_TAG_APENET
};
/* The group's number of a rank of the team, and back; `size`: of none. */
static inline int hop_team_in_group(const struct hop_team *team, uint32_t rank)
{
    return team->group_rank ? (int)team->group_rank[rank] : (int)rank;
}
static inline uint32_t hop_team_of_group(const struct hop_team *team, int rank)
{
    uint32_t r = team->group_rank ? 0 : (uint32_t)rank;
    while (team->group_rank && r < team->size && team->group_rank[r] != (uint32_t)rank)
        r++;
    return r;
}
/* Ranks of another team, in this order; all of them call it, and no others. Their messages are its group's, which it has.
 */
enum hop_status hop_team_join_some(const struct hop_team *of, const uint32_t *ranks, uint32_t size, uint32_t rank,
                                   const struct hop_team_options *options, struct hop_team **team,
                                   struct hop_diag *diag);

/* Ranks for each processor that this process may use, at least 1. A pinned rank sees one processor, and each of the
 * others has its own. */
double hop_team_crowd(uint32_t ranks, bool *each_has_one);
size_t hop_board_size(uint32_t size);
/* The first loss is the one that all hear of. */
void hop_board_lose(struct hop_board *board, int rank, const char *format, ...) HOP_PRINTF(3, 4);
/* Of a member, saying what it was doing. */
void hop_board_lose_member(struct hop_board *board, uint32_t local, uint32_t rank, const char *format, ...)
    HOP_PRINTF(4, 5);
/* Whether a member's beat stands still for so long; then it is lost. Read now_s before. */
void hop_board_watch(struct hop_board *board, uint32_t local, uint32_t rank, struct hop_beat_watch *watch, double now_s,
                     double timeout_s);
/* Whether nobody has joined for so long although some have not; then the first of these is lost. rank_of NULL: ranks are
 * numbered as the members are. */
void hop_board_watch_joining(struct hop_board *board, const uint32_t *rank_of, struct hop_watch *watch,
                             double timeout_s);
void hop_board_lose_with(struct hop_board *board, int rank, const struct hop_diag *loss);
/* This rank ends all of them with that exit status, of the first that says so: the launcher kills the others. */
static inline void hop_board_end(struct hop_board *board, int status)
{
    int none = 0;
    (void)atomic_compare_exchange_strong(&board->ended, &none, 1 + (status & 0xff));
}
/* That all were stopped, and by whose signal. */
enum hop_status hop_board_fail_stopped(const struct hop_board *board, struct hop_diag *diag);
/* NULL: none is lost. */
const struct hop_diag *hop_board_loss(const struct hop_board *board, int *rank);
/* " in operation 'x'": what a member was doing; its process may be gone in the middle of writing it. */
void hop_member_doing(const struct hop_team_member *member, char *text, size_t size);

static inline struct hop_team_member *hop_team_self(struct hop_team *team)
{
    return &team->board->members[team->local];
}

/* ---- memory that all ranks of the machine have mapped (regions.c) ---- */

struct hop_region {
    struct hop_shared *parts; /* per local rank; NULL: given back */
    char *own;                /* where the caller has this rank's part, which may be mapped a second time */
    uint64_t bytes;
    bool borrowed; /* its parts belong to another team */
};
/* As hop_team_allocate and hop_team_register do: `mine` is new shared memory, its name there still, which the caller has
 * at `own`. Where it fails, it is gone. */
enum hop_status hop_region_add(struct hop_team *team, struct hop_shared *mine, char *own, uint64_t bytes,
                               struct hop_diag *diag);
/* Where a part of this machine is here. */
static inline char *hop_region_part(const struct hop_region *region, uint32_t local)
{
    return region->parts[local].memory;
}
/* The regions of another team of this machine, which lives longer; rank_of: each of this team's ranks in that one. */
enum hop_status hop_regions_borrow(struct hop_team *team, const struct hop_team *from, const uint32_t *rank_of,
                                   struct hop_diag *diag);
/* The region that has all of these bytes, plus one; 0: none has. */
uint32_t hop_region_of(const struct hop_team *team, const char *address, uint64_t bytes);
void hop_regions_finish(struct hop_team *team);
/* hop_team_finish without waiting, of a team of one machine: this rank does nothing more with it. Whether all have said
 * so: until then the team has to stay, and this is asked again. */
bool hop_team_part(struct hop_team *team);
/* This rank does nothing more with the team but finish, and waits until all say so, of a team of one machine. Where those that
 * do not say so wait, too, and nothing has moved for leave_s, it is lost: they wait for what it does not do any more. */
enum hop_status hop_team_leave(struct hop_team *team, struct hop_diag *diag);
/* After hop_team_finish: this rank is there again, without memory that the others reach. */
void hop_team_begin_again(struct hop_team *team);

/* ---- waiting (wait.c) ---- */

struct hop_team_wait {
    unsigned turns;
    bool told;      /* the others know that it waits */
    double begun_s; /* 0: not looked at the clock yet */
};
/* One turn of a wait: spins, gives way, or sleeps, the longer it lasts; looks after the others now and then. false: a
 * rank is lost or stop was set (hop_team_fail says which). */
bool hop_team_turn(struct hop_team *team, struct hop_team_wait *wait);
/* The same where something else is waited for, such as a message: looks after the others, and spends no time. */
bool hop_team_attend(struct hop_team *team);
/* Whether the process of a rank of this machine is there no more, which had not taken leave. Any thread may ask. */
bool hop_team_is_gone(const struct hop_team *team, uint32_t local);
/* Looks at once whether the others on this machine are there. */
void hop_team_look(struct hop_team *team);
/* For so long, beyond the timeout, a program may wait without anything moving: what it is asked to wait for. */
void hop_team_expect(struct hop_team *team, double extra_s);
/* Until it is said again with 0: one call works on so many bytes, and no beat comes meanwhile. */
void hop_team_allow(struct hop_team *team, uint64_t bytes);
/* Whether so much shared memory is free on this machine; what: "the buffers of 4 ranks". */
enum hop_status hop_team_room(uint64_t bytes, const char *what, struct hop_diag *diag);
/* Why a turn was false. */
enum hop_status hop_team_fail(struct hop_team *team, struct hop_diag *diag);
/* Gives every local rank's bytes (at most HOP_SLOT_BYTES) to all: all[l * size] are those of local rank l. */
enum hop_status hop_team_exchange(struct hop_team *team, const void *mine, void *all, size_t size,
                                  struct hop_diag *diag);
/* The same among all ranks, by their numbers. */
enum hop_status hop_team_gather(struct hop_team *team, const void *mine, void *all, size_t size, struct hop_diag *diag);
/* The first rank of a machine has made shared memory; the others, where it is zeroed, attach to it, and its name goes. */
enum hop_status hop_team_share(struct hop_team *team, struct hop_shared *shared, struct hop_diag *diag);
/* Of the ranks on this machine only. */
enum hop_status hop_team_barrier_local(struct hop_team *team, struct hop_diag *diag);

/* What this rank does from here on, for the diagnostics of others; NULL: nothing. In words, since every step says it.
 * */
struct hop_doing {
    uint64_t words[HOP_DOING_WORDS];
};
struct hop_doing hop_doing_named(const char *name);
static inline void hop_team_do(struct hop_team *team, const struct hop_doing *doing)
{
    struct hop_team_member *self = hop_team_self(team);
    for (int i = 0; doing && i < HOP_DOING_WORDS; i++)
        atomic_store_explicit(&self->doing[i], doing->words[i], memory_order_relaxed);
    if (!doing)
        atomic_store_explicit(&self->doing[0], 0, memory_order_relaxed);
}

/* I live. */
static inline void hop_team_breathe(struct hop_team *team)
{
    struct hop_team_member *self = hop_team_self(team);
    atomic_store_explicit(&self->beat, atomic_load_explicit(&self->beat, memory_order_relaxed) + 1,
                          memory_order_relaxed);
}

/* I get on. */
static inline void hop_team_beat(struct hop_team *team)
{
    struct hop_team_member *self = hop_team_self(team);
    atomic_store_explicit(&self->moved, atomic_load_explicit(&self->moved, memory_order_relaxed) + 1,
                          memory_order_relaxed);
    hop_team_breathe(team);
}

/* I wait, for what I have waited for (again), or for something else. */
static inline void hop_team_wait_on(struct hop_team *team, bool again)
{
    if (!again)
        (void)atomic_fetch_add_explicit(&hop_team_self(team)->waits, 1, memory_order_relaxed);
    hop_team_breathe(team);
}

#endif
