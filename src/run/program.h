/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Program: a schedule compiled for one rank.
 *
 *     layout (the same everywhere) -> steps of this rank -> device memory, flags and seats shared with the others
 *
 * A flag is a word of an operation that another rank waits for: 2 x launch once it was started, 2 x launch + 1 once
 * it has ended. Launches only count up, so a word of an earlier launch never passes for one of this (the thesis
 * toggles a bit; a number cannot be taken for the one before last either). A seat is a rank's: the launch that it
 * entered and the one that it left.
 *
 * Two ways to perform:
 *
 *     immediate   the rank itself copies and reduces; a flag says that an operation has ended
 *     queued      streams of the device do; a flag says that an operation was queued, its event that it has ended
 *
 * Memory that ranks share is used again launch after launch. Before a rank touches another one's:
 *
 *     in, out, data   the owner has entered this launch (`ENTERED`)
 *     scratch         the owner has left the launch before last, of which this set of the two was (`LEFT`); of
 *                     small programs on the caller's memory there are more sets (bindings.h)
 *
 * and a rank leaves once everything that touches its memory has ended.
 */
#ifndef HOP_RUN_PROGRAM_H
#define HOP_RUN_PROGRAM_H

#include "base/numa.h"
#include "device/device.h"
#include "run/hooks.h"
#include "run/layout.h"
#include "run/team.h"

enum { HOP_TINY_BYTES = 56, HOP_SETS_MOST = 64 };
struct hop_flag {
    _Alignas(64) atomic_uint_fast64_t value;
    char tiny[HOP_TINY_BYTES]; /* tiny.c */
};

struct hop_attendance {
    _Alignas(64) atomic_uint_fast64_t entered;
    double entered_s;
    _Alignas(64) atomic_uint_fast64_t left;
    atomic_bool holds; /* the first: somebody could not give back memory of another rank's device */
};

struct hop_program_record {
    double start_s, end_s; /* CLOCK_MONOTONIC */
    uint32_t via, resent;
};

enum hop_wait_kind {
    HOP_WAIT_STEP,       /* a step of this rank has ended */
    HOP_WAIT_STEP_BEGUN, /* it has started */
    HOP_WAIT_FLAG,       /* an operation of another rank has ended */
    HOP_WAIT_FLAG_BEGUN,
    HOP_WAIT_ENTERED, /* a rank is in this launch */
    HOP_WAIT_LEFT     /* a rank has left the launch that had this launch's set of memory before */
};

struct hop_run_wait {
    uint8_t kind;
    bool queued;             /* STEP, FLAG: it is enough that it was queued, its event is awaited */
    uint32_t index;          /* step, flag or rank */
    uint32_t owner;          /* FLAG: the rank that raises it */
    struct hop_event *event; /* queued: to await; NULL: same stream */
};

enum hop_run_kind {
    HOP_STEP_COPY,   /* straight */
    HOP_STEP_STAGED, /* through a buffer of the host, in packets */
    HOP_STEP_CHOSEN, /* the leader assigns one of the two */
    HOP_STEP_REDUCE,
    HOP_STEP_WORK,
    HOP_STEP_NOTHING,     /* a receive: ends with what it waits for */
    HOP_STEP_SEND,        /* to another machine */
    HOP_STEP_TAKE,        /* from another machine */
    HOP_STEP_RELAY,       /* through memory of the host: out of this rank's device, */
    HOP_STEP_TAKE_RELAYED /* and into that of the rank for which it is */
};

struct hop_run_step {
    struct hop_doing name;
    uint32_t op;
    uint8_t kind, queue;
    unsigned stream;
    uint32_t flag; /* HOP_NONE: nobody waits */
    uint32_t first_wait, wait_count;
    uint64_t bytes;
    uint32_t ways[3];        /* emulated: by enum HOP_LEG_PEER ... of emulate.h */
    uint64_t packet_bytes;   /* staged */
    uint32_t cpu;            /* that it computes on, among those of this rank; HOP_NONE: none */
    double at_s, duration_s; /* by the clock on the wall */
    void **places;           /* for each set: what it reads, then what it writes */
    long *far; /* NULL: no caller's memory is among them; else of each place the process that has it; 0: this one */
    uint32_t reads, writes;
    struct hop_event *event; /* queued */
    /* of the running launch */
    uint64_t begun, ended; /* launches */
    uint32_t next_wait;
    double start_s;
    double span_s[2];    /* start and end by who does it, a stream or the emulated links; end 0: not known */
    double legs_s[2][2]; /* staged: of the first packet's way in and the last one's out; reduce: of marks around it */
    uint64_t arrived;    /* from another machine, relayed: the launch of which all bytes are there, or out of here */
    uint64_t came;       /* relayed to here: bytes of the launch at hand that are there */
    uint32_t arriving;   /* packets of it that are under way to the device */
};

struct hop_program {
    struct hop_team *team;
    struct hop_program_options options;
    const struct hop_schedule *schedule;
    struct hop_layout layout;
    struct hop_arena arena;
    struct hop_diag failure; /* the first */
    uint32_t number; /* of the team's programs */

    const struct hop_device_ops *ops;
    struct hop_device *device;
    bool immediate;
    bool mapped; /* the processor reaches the device's memory */
    bool spans; /* records are of what streams say, not of when the rank looks */
    unsigned copy_streams;
    struct hop_emulator *emulator; /* NULL: none */
    void *memory;                  /* this rank's */
    struct hop_numa_binding binding; /* of the thread that made the program, while it lasts */
    bool *reach;             /* per two local ranks: the first one's device may touch the other's memory; NULL: all
                                    * may */
    char note[256];          /* see hop_program_note; "": there is none */
    void **bases;            /* per rank; NULL: not mapped here */
    struct hop_relay *relay; /* copies through host memory that two ranks do; NULL: none */
    void *staging;           /* host memory, two packets, for those that one does */
    struct hop_event *staging_events[4]; /* a packet is in slot 0, in slot 1; it has left slot 0, slot 1 */
    uint64_t packet_bytes;               /* of those that the schedule says nothing of */
    uint64_t slot_bytes;                 /* room of a packet in staging */

    struct hop_shared shared; /* of the program, on this machine */
    struct hop_attendance *seats; /* per local rank */
    struct hop_flag *flags;       /* for each set: flag_count */
    struct hop_program_record *records;
    struct hop_device_handle *handles; /* of flags' events */
    uint32_t flag_count;
    uint32_t *flag_of; /* per operation */
    uint32_t *step_of; /* per operation: this rank's step, HOP_NONE */

    struct hop_run_step *steps;
    uint32_t step_count;
    struct hop_run_wait *waits;
    uint32_t wait_count;
    uint32_t *queues[HOP_QUEUES + 1]; /* steps; the last: those in no queue */
    uint32_t queue_count[HOP_QUEUES + 1], queue_next[HOP_QUEUES + 1];
    uint32_t first_leave, leave_count; /* waits before leaving */
    uint32_t settle_count;             /* behind these: waits before this launch's set is used again */
    uint32_t sets;                     /* of scratch, windows and flags, used by turns; a power of two */
    struct hop_bound *bound;           /* bindings.c; NULL: no buffer is the caller's */
    char *bounce;                      /* NULL, or HOP_BOUNCE_BYTES for what is not where this process can work on it */
    bool *computing;                   /* per CPU: a work has begun there and has not ended */
    uint32_t *flying;                  /* steps begun, not ended */
    uint32_t flying_count;
    struct {
        uint64_t entered, left;
    } * known; /* per rank: launches that it has entered and left for sure */
    uint64_t launch;
    uint32_t ended_count;
    double origin_s; /* of this launch; 0: nobody needs it */
    bool timed;      /* some step has an earliest start */

    uint32_t *tiny; /* operations whose bytes lie beside their flags */
    uint32_t tiny_count;
    struct hop_copies_state *copies; /* copies whose mechanism a leader assigns; NULL: none */
    struct hop_remote *remote;       /* other machines; NULL: none */
    struct hop_measured_op *times;
    struct hop_run_hooks hooks;
    uint32_t fault_op; /* of this rank; HOP_NONE */
    int fault_signal;
};

/* ---- its first failure, which it keeps ---- */

static inline bool hop_program_is_fine(const struct hop_program *program)
{
    return program->failure.status == HOP_OK;
}
/* Calls what returns a status and describes its failure in `failure`, unless the program has failed before. Whether all is
 * well. */
#define HOP_TRY(program, call) ((program)->failure.status == HOP_OK && ((program)->failure.status = (call)) == HOP_OK)
/* A slot of the device's table: HOP_DEVICE(program, copy, stream, &copy). */
#define HOP_DEVICE(program, slot, ...)                                                                                 \
    HOP_TRY(program, (program)->ops->slot((program)->device, __VA_ARGS__, &(program)->failure))
#define HOP_TEAM(program, call, ...) HOP_TRY(program, call((program)->team, __VA_ARGS__, &(program)->failure))
/* Memory of the program's arena, zeroed; NULL: it has failed. */
static inline void *hop_program_alloc(struct hop_program *program, size_t count, size_t size)
{
    void *memory = hop_program_is_fine(program) ? hop_arena_alloc(&program->arena, (count + 1) * size) : NULL;
    if (!memory && hop_program_is_fine(program))
        (void)hop_fail_memory(&program->failure);
    return memory;
}

/* Seconds of the machine that the schedule is for, by the clock on the wall: emulated links are slow. */
static inline double hop_program_wall_s(const struct hop_program *program, double seconds)
{
    return program->emulator ? seconds * program->options.slower : seconds;
}

static inline struct hop_flag *hop_program_flag(const struct hop_program *program, uint32_t index, uint64_t launch)
{
    return &program->flags[(launch & (program->sets - 1)) * program->flag_count + index];
}

/* Of the running launch. */
static inline void **hop_step_places(const struct hop_program *program, const struct hop_run_step *step)
{
    return step->places + (program->launch & (program->sets - 1)) * (step->reads + step->writes);
}

static inline void hop_flag_raise(struct hop_flag *flag, uint64_t value)
{
    uint64_t old = atomic_load_explicit(&flag->value, memory_order_relaxed);
    while (old < value && !atomic_compare_exchange_weak_explicit(&flag->value, &old, value, memory_order_release,
                                                                 memory_order_relaxed))
        ;
}

/* ---- what its files do for each other, the lower one first ---- */

/* agree.c: whether all ranks have the same schedule and options; all call it. */
enum hop_status hop_program_agree(const struct hop_program *program, struct hop_diag *diag);

/* hooks.c: what hooks.fault says is to happen. Refused where nothing would come of it. */
void hop_program_find_fault(struct hop_program *program);

/* reach.c: devices of this machine. Before it is opened: which one, of so many. */
void hop_program_seek(struct hop_program *program, uint32_t count, struct hop_device_options *options);
/* Once all are open: who reaches whom. Refused: reductions of memory that is not reached. */
void hop_program_reach(struct hop_program *program);
/* Whether the rank that is to perform it reaches all memory that it touches. */
bool hop_program_reaches(const struct hop_program *program, uint32_t op);
/* Whether this rank's device may touch what another one's device has, both on this machine. */
bool hop_program_reaches_rank(const struct hop_program *program, uint32_t rank);

/* copies.c: which copies have a mechanism that is not the schedule's. */
/* Without any completion: hop_choice_stalled; twice as long after each that follows another. */
#define HOP_COPIES_STALL_S 0.05
void hop_copies_create(struct hop_program *program);
void hop_copies_destroy(struct hop_program *program);
size_t hop_copies_shared_size(const struct hop_program *program);
bool hop_copies_is_chosen(const struct hop_program *program, uint32_t op); /* while it runs */
bool hop_copies_is_staged(const struct hop_program *program, uint32_t op); /* by the table */

/* compile.c: steps, waits and flags. */
void hop_program_compile(struct hop_program *program);
/* Bytes of a packet of a copy that goes staged, the same on every rank. */
uint64_t hop_program_packet(const struct hop_program *program, uint32_t op);
/* Whether it runs on a device's streams, so that its flag may come before its end. */
bool hop_program_is_queued(const struct hop_program *program, uint32_t op);

/* tiny.c: finds tiny copies, once flags are numbered. */
void hop_tiny_find(struct hop_program *program);
/* Where the p-th place of an operation lies in the program's memory, beside a flag maybe; NULL: it is not mapped here. */
void *hop_program_place(const struct hop_program *program, uint32_t op, uint32_t p, uint64_t launch);

/* program_share.c: memory, flags and events of the other ranks of this machine; all of them at once. */
void hop_program_share(struct hop_program *program);

/* relay.c: copies that two ranks of a machine do, the one whose device has the bytes and the one whose device gets them,
 * through memory of the host. A copy whose mechanism is chosen while it runs goes on while it is wanted. */
void hop_relay_create(struct hop_program *program);
/* abandoned: what was registered stays where it is. */
void hop_relay_destroy(struct hop_program *program, bool abandoned);
void hop_relay_enter(struct hop_program *program);                           /* a launch */
void hop_relay_send(struct hop_program *program, struct hop_run_step *step); /* HOP_STEP_RELAY */
/* Of a chosen one whose bytes this rank has; step: its own, or NULL. */
void hop_relay_want(struct hop_program *program, uint32_t op, struct hop_run_step *step, bool wanted);
/* Of a chosen one that this rank sent: whether what it sent has all been taken; and whether that was everything. */
bool hop_relay_is_quiet(const struct hop_program *program, uint32_t op);
bool hop_relay_is_through(const struct hop_program *program, uint32_t op);
void hop_relay_progress(struct hop_program *program, bool *moved);
/* Bytes of buffers of all ranks on this machine. */
uint64_t hop_program_bytes(const struct hop_program *program);

/* remote.c: other machines. What arrives for a step is in its place once arrived is the launch. */
void hop_remote_create(struct hop_program *program);
void hop_remote_destroy(struct hop_program *program);
void hop_remote_send(struct hop_program *program, const struct hop_run_step *step);
/* Tells the ranks of other machines that wait for its end, or its start. */
void hop_remote_tell(struct hop_program *program, uint32_t op, bool begun);
void hop_remote_progress(struct hop_program *program, bool *moved);

/* step.c: a step ends, and is said to have. */
void hop_step_end(struct hop_program *program, struct hop_run_step *step);
/* Before launches: what would hold up the first one. */
void hop_step_prepare(struct hop_program *program, const struct hop_run_step *step);
/* Performs what has bytes at once, on this thread; or queues it, its event recorded behind it. */
void hop_step_perform(struct hop_program *program, struct hop_run_step *step);
void hop_step_queue(struct hop_program *program, struct hop_run_step *step);
/* A copy straight, whole. */
void hop_step_copy(struct hop_program *program, struct hop_run_step *step);
/* The packet of a staged copy that begins at byte `at`, through slot 0 or 1 of the host buffer; the stream `out` brings it
 * there, and records that in staging_events[2 + slot] unless it is HOP_STREAM_NOW. Its bytes. */
uint64_t hop_step_packet(struct hop_program *program, struct hop_run_step *step, uint64_t at, unsigned slot,
                         unsigned in, unsigned out);

/* copies_move.c: copies whose mechanism is chosen while they run. */
void hop_copies_begin(struct hop_program *program); /* a launch */
/* A step that is ready asks its leader. */
void hop_copies_request(struct hop_program *program, struct hop_run_step *step);
/* Moves this rank's copies and those that it leads; *moved: something happened. */
void hop_copies_progress(struct hop_program *program, bool *moved);
bool hop_copies_done(const struct hop_program *program); /* all that this rank leads are */

/* program.c: between ordinary memory (to or from) and a buffer of this rank. */
enum hop_status hop_program_move(struct hop_program *program, const struct hop_run_buffer *buffer, uint64_t offset,
                                 void *to, const void *from, uint64_t bytes, struct hop_diag *diag);

/* numbers.c: what hop_program_fill puts into a rank's buffer from byte `first` on. */
void hop_program_make_bytes(const struct hop_program *program, uint64_t seed, uint32_t rank, const char *buffer,
                            uint64_t first, uint64_t bytes, char *to);

/* times.c: when an operation of measured times was ready, and so when it can have started; see there. */
struct hop_times_rules {
    bool queued_before; /* starts are of the queueing, which may be before it was ready */
    bool crosses;       /* between machines: start is the sender's, end the receiver's, by their own clocks */
};
void hop_times_settle(struct hop_measured_op *times, double ready_s, struct hop_times_rules rules);

#endif
