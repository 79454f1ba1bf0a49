/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record: what each rank did in MPI and when, kept in memory until MPI_Finalize, when rank 0 holds what all ranks
 * kept together. No rank waits for another one on the way.
 *
 *     calls -> record_calls.c -> record_log.c       items, on each rank
 *                             -> record_requests.c  what is under way
 *                             -> record_epochs.c    on windows
 *     rank 0: record_job.c    -> record_match.c     who met whom
 *                             -> record_waiting.c   who waited for whom, and how long
 *                             -> record_schedule.c  the schedule, and record_collectives.c
 */
#ifndef HOP_MPI_RECORD_H
#define HOP_MPI_RECORD_H

#include "base/base.h"
#include "hopcast/trace.h"
#include "mpi/mpi_engine.h"

/* A call, and behind it what it began, found or ended. */
enum hop_item_kind {
    ITEM_CALL,
    ITEM_SEND,
    ITEM_RECEIVE,
    ITEM_TOGETHER, /* a rank's part in a collective, and behind it */
    ITEM_PART,     /* what it sends there: as much to each of some ranks */
    ITEM_KEPT,     /* behind all parts: what it copies within the rank */
    ITEM_PUT,      /* one-sided */
    ITEM_GET,
    ITEM_DONE,   /* what an earlier call began */
    ITEM_PROBED, /* a message was there, and was left there */
    ITEM_SYNC    /* all that was begun on a window */
};

enum hop_item_flag {
    ITEM_PAUSED = 1,     /* call: between MPI_Pcontrol(0) and (1) */
    ITEM_POLL = 2,       /* call: asked, and nothing was there */
    ITEM_LATER = 4,      /* what was begun: an ITEM_DONE says when it ended, if anybody asked */
    ITEM_EAGER = 8,      /* send: buffered */
    ITEM_UNKNOWN = 16,   /* receive: from whom is not known yet */
    ITEM_OFF = 32,       /* send, receive: cancelled */
    ITEM_ANSWERED = 128, /* send: synchronous */
    ITEM_SECOND = 64     /* part: after all first parts have come */
};

struct hop_item {
    uint8_t kind, flags;
    uint16_t call;   /* call, together: enum hop_mpi_call */
    int32_t peer;    /* rank of the job; done: how many items behind that one are done, too */
    uint32_t tag;    /* call: its thread; part: to how many ranks, */
    uint32_t own_ns; /* call: what recording took between the call before and this one; part: how far apart they are */
    uint64_t where;  /* communicator or window; call: its begin in ns; done: the item */
    uint64_t size;   /* bytes; call: its end in ns; together: how many ranks take part */
};

/* ---- the log of this rank (record_log.c) ---- */

void hop_log_begin(uint64_t limit_bytes);
/* Appends them together; the number of the first, or HOP_NONE: there is no room, and nothing is kept from now on. */
uint32_t hop_log_add(const struct hop_item *items, uint32_t count);
/* A call that only asked is made one with the call of its thread before it, if that asked as well, just before; HOP_NONE:
 * that did not ask. */
bool hop_log_extend_poll(uint32_t poll, uint64_t begin_ns, uint64_t end_ns, uint32_t own_ns);
/* From whom a receive got its message. */
void hop_log_resolve(uint32_t index, const struct hop_item *known);
/* It was cancelled. */
void hop_log_leave_out(uint32_t index);
uint64_t hop_log_full_ns(void); /* when there was no room; 0: there was */
uint32_t hop_log_count(void);
/* All items, one behind the other, which the caller frees; the log is empty. NULL: no memory. */
struct hop_item *hop_log_take(uint32_t *count);

/* ---- what is under way (record_requests.c) ---- */

struct hop_request {
    struct hop_request *next;
    uintptr_t handle;
    uint64_t number;          /* how many were there before it */
    uint32_t first, count;    /* items that it began; first HOP_NONE: it is not under way */
    uint32_t receive;         /* which of them takes a message; HOP_NONE: none does */
    bool cancels;             /* somebody has asked for that */
    bool makes;               /* a communicator, which is whole at its end, and has a number then */
    uintptr_t comm;
    uint64_t comm_id;
    int partitions, unready;  /* of a partitioned send; unready: it waits for these */
    struct hop_item received; /* as it began */
    int *world, ranks;        /* those of whom it may come, as struct hop_mpi_ranks has them */
    struct hop_item *kept;    /* persistent: what it begins; else NULL */
    uint32_t kept_count;
};

/* Takes it, with what it points to. */
void hop_requests_add(const struct hop_request *request);
/* How many there have been. */
uint64_t hop_requests_count(void);
/* The latest of that handle among the first so many, taken out: the caller gives it back or drops it. NULL: none. A call
 * asks for those that were there when it began: what it ends may have given its handle to another thread's meanwhile. */
struct hop_request *hop_requests_take(uintptr_t handle, uint64_t until);
/* So many of its partitions are ready, which threads may say at once: taken out with the last, else NULL. */
struct hop_request *hop_requests_ready(uintptr_t handle, uint64_t until, int partitions);
void hop_requests_give_back(struct hop_request *request);
void hop_requests_drop(struct hop_request *request);

/* ---- epochs of windows (record_epochs.c) ---- */

/* What MPI_Win_post, start, complete, wait and a successful test say to other ranks and hear from them, as messages of no
 * bytes; a window by its number, its ranks those of the job. */
void hop_epochs_add(const struct hop_mpi_shim *mpi, enum hop_mpi_call call, const uintptr_t *arguments,
                    const struct hop_mpi_ranks *window, void (*push)(struct hop_item item));

/* ---- calls (record_calls.c), and a job's record from end to end (record_job.c) ---- */

#define HOP_RECORD_POLL_NS 1000 /* who asks again within that time waits, and does not compute */

void hop_calls_begin(const struct hop_mpi_shim *mpi);
const char *hop_calls_name(uint32_t call);
enum hop_mpi_kind hop_calls_kind(uint32_t call);
const uintptr_t *hop_record_enter(enum hop_mpi_call call, const uintptr_t *arguments);
void hop_record_leave(enum hop_mpi_call call, const uintptr_t *arguments, uint64_t end_ns, bool paused);

bool hop_record_begin(const struct hop_mpi_job *job);
void hop_record_end(void);
const char *hop_record_json(void);
const char *hop_record_text(void);
void hop_record_write_files(void);

/* ---- rank 0: what all ranks kept ---- */

struct hop_mpi_record_rank {
    uint64_t begin_ns, end_ns; /* of its MPI_Init and MPI_Finalize, by rank 0's clock as far as it is known */
    uint64_t full_ns;          /* 0: all was kept */
    uint64_t count;
};

/* Times are nanoseconds since the first rank's MPI_Init. */
struct hop_mpi_record {
    uint32_t ranks;
    const char *library;
    enum hop_algorithm
        algorithms[HOP_COLLECTIVE_COUNT]; /* HOP_ALGORITHM_DEFAULT: by the rule, a barrier by dissemination */
    struct hop_mpi_record_rank *rank;
    struct hop_item *items;
    uint32_t *first; /* per rank, one more: its items */
    uint32_t *call;  /* per item: the call that it stands behind */
    uint32_t
        *partner; /* of sends and receives that met: the other one; of a probe: the send. HOP_NONE: nobody. Of a rank's
                          part in a collective: the number of the collective, HOP_NONE: others' parts are missing */
    uint32_t *members;      /* by collective: the parts, in order of ranks */
    uint32_t *member_first; /* per collective, one more */
    uint32_t collectives;
    uint64_t to_itself,
        alone; /* messages that a rank sent to itself; ends of messages, and collectives, that met nobody */
    struct hop_arena arena;
};

/* Fills call, partner and members. False: no memory. */
bool hop_record_match(struct hop_mpi_record *record);
/* Whether what is sent goes to that rank, too. */
static inline bool hop_part_goes_to(const struct hop_item *part, uint32_t rank)
{
    uint32_t apart = rank - (uint32_t)part->peer;
    return rank >= (uint32_t)part->peer &&
           (apart == 0 || (part->tag > 1 && apart % part->own_ns == 0 && apart / part->own_ns < part->tag));
}
/* Where in `members` that rank's part of a collective stands; HOP_NONE: it takes no part. */
uint32_t hop_record_member(const struct hop_mpi_record *record, uint32_t collective, uint32_t rank);
/* The rank whose item it is. */
uint32_t hop_record_owner(const struct hop_mpi_record *record, uint32_t item);
static inline uint64_t hop_record_began(const struct hop_mpi_record *record, uint32_t item)
{
    return record->items[record->call[item]].where;
}
static inline bool hop_record_paused(const struct hop_mpi_record *record, uint32_t item)
{
    return (record->items[record->call[item]].flags & ITEM_PAUSED) != 0;
}

/* As members for the traffic file, and as lines. */
bool hop_record_waiting(const struct hop_mpi_record *record, struct hop_buffer *json, struct hop_buffer *text);
/* In the form that the name's end says. */
enum hop_status hop_record_write(const struct hop_mpi_record *record, const char *path, struct hop_diag *diag);
/* When each call began and what it took, as CSV; the operations of rank 3's call 17 are r3.17. in the schedule. */
enum hop_status hop_record_write_times(const struct hop_mpi_record *record, const char *path, struct hop_diag *diag);

#endif
