/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Group: what its files share.
 *
 *     callers' threads (group.c)         carrier thread (carrier.c)
 *     send     -> outbox ------------->  sending  -> MPI
 *     receive  <- inbox  <-------------  arriving <- MPI
 *
 * Only the carrier calls MPI. So callers keep their time when a call into MPI never returns, as happens when another
 * rank dies with a lock of their shared memory.
 */
#ifndef HOP_GROUP_H
#define HOP_GROUP_H

#include "base/base.h"
#include "base/clock.h"
#include "group/mpi.h"
#include "hopcast/group.h"

#include <pthread.h>

/* ---- who started us, and the MPI to load (launcher.c) ---- */

struct hop_group_launch {
    const char *carriers[2]; /* in the order to try, NULL: none */
    const char *variable;    /* of the environment, that says so */
    const char *rank;        /* this one's number, as the launcher says it; "?": it does not */
    int size;                /* ranks; 0: not said */
};
enum hop_status hop_launch_detect(struct hop_group_launch *launch, struct hop_diag *diag);
/* A table of the shim, whose first member is the version: `symbol` is the function that returns it. carrier is one of
 * launch->carriers. */
struct hop_launch_table {
    const char *symbol;
    int version;
};
enum hop_status hop_launch_load(const struct hop_group_launch *launch, const struct hop_launch_table *wanted,
                                const void **table, const char **carrier, struct hop_diag *diag);

/* ---- messages on their way (message.c) ---- */

struct hop_message {
    struct hop_message *next;
    int peer, tag;
    size_t size_bytes;
    char *bytes; /* a NUL byte follows them */
    uint64_t request;
    bool done;
};

struct hop_mail {
    struct hop_message *first, **end; /* end: the last next */
    size_t bytes;
    unsigned count;
};

/* ---- the group ---- */

struct hop_peer {
    uint64_t heard; /* messages */
    struct hop_watch watch;
    double told_s;            /* when it was last told that we live */
    struct hop_message *beat; /* on its way */
    uint64_t blocked;         /* the round in which an earlier message was found incomplete */
    bool gone;                /* lost */
    bool leaves, done;        /* said so: that it leaves, that it finishes */
};

enum hop_group_wish { HOP_GROUP_WORK, HOP_GROUP_FINISH, HOP_GROUP_LEAVE, HOP_GROUP_STOP };
enum hop_group_phase { HOP_GROUP_STARTS, HOP_GROUP_RUNS, HOP_GROUP_FAILED, HOP_GROUP_FINISHED, HOP_GROUP_LEFT };

struct hop_group {
    int rank, size;
    const char *carrier;
    double timeout_s, end_s;
    const volatile sig_atomic_t *stop;
    const struct hop_mpi *mpi; /* NULL: a group of one */
    pthread_t thread;
    bool joined, abandoned; /* the thread: it ended; it is stuck in MPI and left to itself */
    struct hop_group *stuck_before;

    pthread_mutex_t lock; /* for what follows */
    pthread_cond_t for_callers, for_carrier;
    enum hop_group_wish wish;
    enum hop_group_phase phase;
    bool ordered; /* the caller put something into the outbox, or a wish */
    struct hop_mail outbox, inbox;
    bool starves; /* what a caller looked for last was not in the inbox: more comes in, however full it is */
    unsigned barriers_entered, barriers_passed;
    uint64_t ticks; /* of the carrier */
    int lost;
    bool head_gone; /* rank 0 */
    struct hop_diag loss;
    int given; /* the rank that this caller gave a reason for, -1: none yet */
    struct hop_diag reason;

    struct hop_watch carrier_watch;
    uint32_t channels; /* given to teams of this process, which tell their messages by them */

    struct hop_peer *peers;                     /* from here on the carrier's own */
    struct hop_mail sending, arriving, broken; /* broken: failed, kept because MPI may still touch them */
    unsigned barriers_told, entries;
    uint64_t round;
    bool told_leave, told_done, told_reason;
    unsigned idle; /* us to sleep next time */
};

struct hop_message *hop_message_create(int peer, int tag, const void *bytes,
                                       size_t size_bytes); /* bytes NULL: to be filled */
void hop_message_destroy(struct hop_message *message);
void hop_messages_init(struct hop_mail *queue);
void hop_messages_put(struct hop_mail *queue, struct hop_message *message);
/* Out of the queue: what stands `at` its first, or a message's next; NULL: nothing does. */
struct hop_message *hop_messages_take(struct hop_mail *queue, struct hop_message **at);
void hop_messages_finish(struct hop_mail *queue);

/* ---- for those who know more of the ranks than that they are heard of ---- */

/* This process knows why that rank is lost, or (of itself) why it gives up: all others hear the reason. The first
 * counts. */
void hop_group_give_reason(struct hop_group *group, int rank, const struct hop_diag *reason);
/* As hop_group_receive, the first message of a tag for which `wanted` (NULL: any will do) says true; the others stay. */
typedef bool hop_message_wanted(const struct hop_group_message *message, const void *context);
bool hop_group_receive_wanted(struct hop_group *group, int tag, hop_message_wanted *wanted, const void *context,
                              double wait_s, struct hop_group_message *message);
/* As hop_group_send, two pieces as one message. */
enum hop_status hop_group_send_two(struct hop_group *group, int to, int tag, const void *head, size_t head_bytes,
                                   const void *bytes, size_t size_bytes, struct hop_diag *diag);

/* ---- the carrier's thread (carrier.c) ---- */

void *hop_group_carry(void *group);

#endif
