/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Run: the executor that moves real bytes. It takes the schedule that hop_simulate takes and returns a timeline of the
 * same type, measured.
 *
 *     hop_launch      starts the ranks on this machine, as processes or threads
 *       each rank:
 *         hop_team        who runs together, and who is lost
 *         hop_program        a schedule compiled for this rank: buffers, copies, reductions, whom to wait for
 *         hop_program_run    executes it, as often as one likes
 *
 * A rank is a process (or a thread). The rank that performs an operation is that of its clause `by`, else of its
 * source; of a reduction that of its output. Without ranks in the schedule every device is a rank, in order of
 * appearance. A rank performs its copies in schedule order, one after the other, as a source engine does, and so its
 * reductions. Ranks on one machine touch each other's memory; what crosses machines goes through the group's MPI.
 *
 * Buffers: each buffer that the schedule names of a rank is as long as the furthest byte that any operation touches. A
 * place without a buffer has bytes of its own. In a pipelined program the buffers "in", "out" and "data" are the
 * caller's and all others scratch, of which there are two sets, used by turns.
 *
 * When a rank dies or stays silent for timeout_s, every call of the others fails within seconds, naming it and what
 * it was doing; after that only destroying is left. The same happens when all live, but wait for each other for so
 * long.
 */
#ifndef HOPCAST_RUN_H
#define HOPCAST_RUN_H

#include <signal.h>

#include "hopcast/device.h"
#include "hopcast/group.h"
#include "hopcast/placement.h"
#include "hopcast/schedule.h"
#include "hopcast/timeline.h"
#include "hopcast/trace.h" /* collectives by name */

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_RANKS_MAX 1024 /* of one team */

/* ---- teams ---- */

struct hop_team;

struct hop_team_options {
    size_t size;                       /* see hop_version */
    double timeout_s;                  /* a rank that does not move for so long is lost; 0: 10 s */
    const volatile sig_atomic_t *stop; /* waiting ends with HOP_ERR_STOPPED once this is set; may be NULL */
    bool gently;                       /* waiting goes on; ranks ask hop_team_stopping and end by themselves */
    void (*idle)(void *context); /* called again and again by a rank that waits, such as for another library to get on
                                  * with what it has begun; may be NULL */
    void *context;
};

/* The ranks of one machine meet under the session's name: who makes it passes the text on, each rank joins. Nothing is
 * left behind once all have joined, however they end. options may be NULL. */
enum { HOP_SESSION_SIZE = 64 };
HOP_API enum hop_status hop_session_create(uint32_t size, char session[HOP_SESSION_SIZE], struct hop_diag *diag);
HOP_API enum hop_status hop_team_join(const char *session, uint32_t rank, const struct hop_team_options *options,
                                      struct hop_team **team, struct hop_diag *diag);
/* All ranks of a group (hopcast/group.h), on one or several machines. node_size 0: ranks of one host name are on one
 * machine; else every node_size ranks in a row are. The group stays the caller's and must outlive the team. */
HOP_API enum hop_status hop_team_join_group(struct hop_group *group, uint32_t node_size,
                                            const struct hop_team_options *options, struct hop_team **team,
                                            struct hop_diag *diag);
/* As this process was started: by `hopcast launch`, a team of what that started; by mpirun, of all its ranks, on one
 * machine or several (HOPCAST_NODE_SIZE in the environment: so many ranks in a row are a machine); else a team of
 * one. *group is NULL before, and gets the group where one was made, also of a failure: the caller's, who ends it
 * after the team (hop_group_finish, or hop_group_leave after a failure, and hop_group_destroy). */
HOP_API enum hop_status hop_team_start(const struct hop_team_options *options, struct hop_group **group,
                                       struct hop_team **team, struct hop_diag *diag);
HOP_API void hop_team_destroy(struct hop_team *team); /* NULL is allowed */
HOP_API uint32_t hop_team_rank(const struct hop_team *team);
HOP_API uint32_t hop_team_size(const struct hop_team *team);
/* The machine of a rank, from 0. */
HOP_API uint32_t hop_team_node(const struct hop_team *team, uint32_t rank);
HOP_API enum hop_status hop_team_barrier(struct hop_team *team, struct hop_diag *diag);
/* Whether all ranks, each of which calls it with a list of the same length (at most 64), have the same values in it: else
 * HOP_ERR_INVALID on all of them, and diag names the ranks and the first thing in which they differ. */
struct hop_agreement {
    const char *what; /* "number of launches" */
    uint64_t value;
    bool hashed; /* the value says nothing to people */
};
HOP_API enum hop_status hop_team_agree(struct hop_team *team, const struct hop_agreement *items, uint32_t count,
                                       struct hop_diag *diag);
/* Waits for all and takes leave: a rank that ends without it is lost. From then on nobody waits for this one, or looks
 * after it; saying it again does nothing. */
HOP_API enum hop_status hop_team_finish(struct hop_team *team, struct hop_diag *diag);
/* The stop of the options, of hop_launch, or of another rank of this machine is set. Ranks may see it at different
 * times. */
HOP_API bool hop_team_stopping(const struct hop_team *team);
/* This rank gives up: the others' calls fail with its reason, unless another rank was lost before. */
HOP_API void hop_team_abort(struct hop_team *team, const struct hop_diag *reason);
/* The first rank that is lost, -1: none; hop_team_why gives the reason, false: none is lost. */
HOP_API int hop_team_lost(const struct hop_team *team);
HOP_API bool hop_team_why(const struct hop_team *team, struct hop_diag *reason);

/* Starts `ranks` ranks of one team, each of which calls body and ends with its result (0 to 125); returns when all have
 * ended. Processes are forked: the caller has no other threads. threads: ranks are threads of this process. When one
 * rank fails, the others get timeout_s to end, then they are killed. */
struct hop_launch_options {
    size_t size; /* see hop_version */
    uint32_t ranks;
    bool threads;
    bool pin;         /* rank r runs on the r-th processor that this process may use, modulo their number */
    double timeout_s; /* 0: 10 s; so many times as long as a processor has 32 ranks */
    const volatile sig_atomic_t *stop; /* once the caller's is set, ranks stop, as those of a team do; may be NULL */
    bool gently;
    /* A program and its arguments, NULL behind the last: each rank becomes that program, body is not called. It joins by
     * hop_team_join with what HOPCAST_SESSION and HOPCAST_RANK say, or it never does; how long it is silent meanwhile
     * is its own affair. One that ends without taking leave is lost to those that have joined. NULL: body is called. */
    char *const *program;
    /* Says who has this process's standard input when programs are started: with HOP_INPUT_ONE it is input_rank. The others' is empty. */
    enum hop_launch_input { HOP_INPUT_SHARED, HOP_INPUT_ONE, HOP_INPUT_ALL, HOP_INPUT_NONE } input;
    uint32_t input_rank;
    /* With this, lines of several programs come whole where standard output or standard error is no terminal, each once its end
     * has come; one of more than 1 MiB comes in pieces. A thread of this process passes them on. */
    bool whole_lines;
};
#define HOP_LAUNCH_SESSION "HOPCAST_SESSION"
#define HOP_LAUNCH_RANK "HOPCAST_RANK"
typedef int hop_rank_body(struct hop_team *team, void *context);
/* *result: the highest that a body returned; 128 + its signal of one that was killed after it took leave (diag then says
 * which; the status is HOP_OK all the same). Fails when a rank was lost (killed, or silent), or all were stopped.
 * Meanwhile this thread blocks SIGCHLD, and a process that ignores it does not: exit statuses would be lost. */
HOP_API enum hop_status hop_launch(const struct hop_launch_options *options, hop_rank_body *body, void *context,
                                   int *result, struct hop_diag *diag);

/* Memory that every rank of this machine can work on where it is; all ranks of the team call it, each with a size of its
 * own. What is bound and lies in it is not copied by the kernel. Zeroed. */
HOP_API enum hop_status hop_team_allocate(struct hop_team *team, uint64_t bytes, void **address, struct hop_diag *diag);
/* The same for memory that the caller has already: POSIX shared memory (shm_open) by its name, "/...", of at most 62
 * characters, mapped at address from its beginning on. The name may go afterwards; the memory stays the caller's. */
HOP_API enum hop_status hop_team_register(struct hop_team *team, const char *name, void *address, uint64_t bytes,
                                          struct hop_diag *diag);
/* Gives one of either back, by this rank's address; all ranks call it. No program may use it any more. */
HOP_API enum hop_status hop_team_free(struct hop_team *team, void *address, struct hop_diag *diag);

/* ---- programs ---- */

struct hop_program;

enum hop_copies { HOP_COPIES_SCHEDULE, HOP_COPIES_PEER, HOP_COPIES_STAGED, HOP_COPIES_STATIC, HOP_COPIES_DYNAMIC };

/* What a row of the table of copies says: of so many copies of a stage so many go staged. */
struct hop_copies_mix {
    uint32_t staged, of;
    uint64_t packet_bytes;
};

struct hop_program_options {
    size_t size;                 /* see hop_version */
    const char *device;          /* a back end of hopcast/device.h; NULL: host */
    unsigned engines;            /* host: threads that copy, of each rank; 0: the rank copies itself */
    const struct hop_topology *emulate; /* copies between its devices go through its links, slowed down; NULL: none */
    double slower;               /* emulate: how many times; 0: 1000 */
    uint64_t chunk_bytes, buffer_bytes; /* emulate: of a packet, of an input buffer; 0: 4096, 32 packets */
    enum hop_copies copies;      /* how copies between ranks travel; what the schedule says (via), or one way for all */
    const char *table;           /* HOP_COPIES_STATIC: path of the table that `hopcast tune copies` wrote */
    const char *collective;      /* HOP_COPIES_STATIC: the row to look up; NULL: any */
    const struct hop_copies_mix *mix; /* HOP_COPIES_STATIC: instead of a table; NULL: the table says it */
    uint64_t packet_bytes;       /* staged; 0: the schedule's, else 512 KiB; emulated: else one packet */
    bool pipelined;              /* launches follow each other without waiting for all; see above */
    bool record;                 /* times of operations, for hop_program_timeline */
    const struct hop_topology
        *machine; /* GPUs: whose devices the schedule names; where they have a PCI bus id, that says
                                         * which is meant. Else, and NULL: gpu3 is the fourth that the process sees, in
                                         * the order of bus ids */
    bool bound;                  /* the caller's buffers lie in its own memory, each bound before the first launch */
    const struct hop_collective_options
        *definition; /* what the schedule is to be: its buffers are as long as MPI's, and
                                                      * checking compares with what that gives, too; NULL: unknown */
    uint32_t definition_ranks; /* that it is among; 0: those of the schedule. Some may have nothing to do in it */
};

/* Every rank of the team calls it with the same schedule and options, which must outlive the program; options may be
 * NULL. Refused: ranks whose schedules or options differ (of a table of copies, only that there is one), a schedule that
 * can never end, ranks outside the team, more memory than there is. */
HOP_API enum hop_status hop_program_create(struct hop_team *team, const struct hop_schedule *schedule,
                                           const struct hop_program_options *options, struct hop_program **program,
                                           struct hop_diag *diag);
/* What there is to be told of how this machine runs it, such as copies that had to go another way; NULL: nothing. All ranks
 * say the same. */
HOP_API const char *hop_program_note(const struct hop_program *program);
/* NULL is allowed. On GPUs it waits for the other ranks of the machine: all destroy their programs in one order. */
HOP_API void hop_program_destroy(struct hop_program *program);
/* Returns the number of ranks that a schedule needs: the highest rank plus one, or, without ranks, the number of its devices;
 * HOP_NONE where memory lacks. */
HOP_API uint32_t hop_schedule_run_ranks(const struct hop_schedule *schedule);

/* Whether two operations touch the same bytes, one of them writing, with neither waiting for the other; diag then
 * says which (the status is HOP_OK all the same). Schedules of more than 16,384 operations are not looked at. */
HOP_API enum hop_status hop_schedule_find_race(const struct hop_schedule *schedule, bool *race, struct hop_diag *diag);

/* This rank's buffers by index: name and size; false past the last. */
HOP_API bool hop_program_buffer(const struct hop_program *program, uint32_t index, const char **name, uint64_t *bytes);
/* The index of the one of that name; UINT32_MAX: nothing touches such a buffer of this rank. */
HOP_API uint32_t hop_program_find(const struct hop_program *program, const char *name);

/* ---- the caller's own memory ---- */

/* A program whose options say `bound` has no memory for the caller's buffers ("in", "out" and "data"; without
 * `pipelined`, in a schedule that has none of these, all; see hop_program_binds): they are where this says, from the next launch on. Each rank binds its own,
 * without asking others, as often as it likes between launches; of other ranks' programs and bindings it knows nothing.
 *
 * The memory stays the caller's. It begins at the address, is as long as hop_program_buffer says, and may lie anywhere
 * and at any address, odd ones too. From hop_program_run's beginning to its return nobody else may change it, or read
 * what it gets, and it stays mapped, readable and writable; between launches it may change, be freed or bound elsewhere.
 * One buffer may not overlap another of the same program if either is written: to work in place is another schedule,
 * whose buffer is "data".
 *
 * How others get there is the library's business: small buffers are copied into memory that ranks share and out of it,
 * others are read and written in place, by threads of one process, or in memory of hop_team_allocate and
 * hop_team_register; else the kernel copies between the processes (process_vm_readv), which they allow each other by
 * prctl(PR_SET_PTRACER). Where it refuses, or the device is not the processor, they are copied like small ones:
 * hop_program_note then says that it refuses, and why. */
struct hop_binding {
    uint32_t buffer; /* as in hop_program_buffer */
    void *address;   /* NULL: only of a buffer without bytes */
};
/* All of them or, where it fails, none. */
HOP_API enum hop_status hop_program_bind(struct hop_program *program, const struct hop_binding *bindings,
                                         uint32_t count, struct hop_diag *diag);
/* Whether a buffer is to be bound. */
HOP_API bool hop_program_binds(const struct hop_program *program, uint32_t buffer);

/* Moves bytes between ordinary memory and a buffer, bound or not. */
HOP_API enum hop_status hop_program_write(struct hop_program *program, uint32_t buffer, uint64_t offset,
                                          const void *from, uint64_t bytes, struct hop_diag *diag);
HOP_API enum hop_status hop_program_read(struct hop_program *program, uint32_t buffer, uint64_t offset, void *to,
                                         uint64_t bytes, struct hop_diag *diag);
/* Where it lies, of a device whose memory the processor reaches; NULL: of another one. */
HOP_API void *hop_program_address(const struct hop_program *program, uint32_t buffer);

/* Executes the schedule once; all ranks call it. Returns when this rank's operations have ended and nobody touches
 * its buffers any more. No allocation. */
HOP_API enum hop_status hop_program_run(struct hop_program *program, struct hop_diag *diag);

/* Fills every buffer of this rank with numbers that depend on seed, rank, buffer and place alone: small whole numbers
 * in the element type of the schedule's reductions (bytes where it has none), so that sums are exact. */
HOP_API enum hop_status hop_program_fill(struct hop_program *program, uint64_t seed, struct hop_diag *diag);
/* After filling and one run: compares every buffer with what executing the schedule one operation after the other
 * gives. All ranks call it. *wrong: bytes that differ, of all ranks; the first of this rank's is in diag (the status
 * is HOP_OK all the same). */
HOP_API enum hop_status hop_program_check(struct hop_program *program, uint64_t seed, uint64_t *wrong,
                                          struct hop_diag *diag);

/* How an operation travelled in the last run. */
struct hop_measured_op {
    double ready_s, start_s, end_s; /* from the earliest start of the launch; NAN: not recorded. Emulated: of the
                                     * emulated machine; start = end where only the end is known */
    uint32_t rank;                  /* who performed it */
    enum hop_via via;               /* p2p (peer) or staged */
    bool resent;                    /* the other mechanism did it in the end */
};
/* record: of the last run, on every rank after this call that all make; the array (one an operation) is the program's. */
HOP_API enum hop_status hop_program_times(struct hop_program *program, const struct hop_measured_op **times,
                                          struct hop_diag *diag);

/* Of a measured timeline: who performed an operation, and how; NULL: predicted. */
HOP_API const struct hop_measured_op *hop_timeline_measured_op(const struct hop_timeline *timeline, uint32_t op);
/* The timeline of measured times, beside a network that says what each copy takes alone; both and the schedule must
 * outlive it. */
HOP_API enum hop_status hop_timeline_measured(struct hop_network *network, const struct hop_schedule *schedule,
                                              const struct hop_measured_op *times, struct hop_timeline **timeline,
                                              struct hop_diag *diag);

/* ---- several ways, in turns ---- */

/* A way of doing something, and what a launch of it takes: from when the first rank begins to when the last has ended,
 * many launches in a row. */
struct hop_run_way {
    const struct hop_schedule *schedule;
    struct hop_program_options program; /* record: not looked at */
    double median_s, low_s, high_s; /* comes out: of the rounds; low and high are the quartiles */
};

struct hop_ways_options {
    size_t size; /* see hop_version */
    struct hop_launch_options launch;
    uint32_t rounds; /* in each all ways take their turn; 0: 7 */
    double round_s;  /* launches of a way in a round take about so long; 0: 3 ms */
};

/* Starts the ranks once and has them run all ways, in an order that turns from round to round. A way that is 3 times
 * as slow as the fastest after two rounds takes no further turns. */
HOP_API enum hop_status hop_measure_ways(struct hop_run_way *ways, uint32_t count,
                                         const struct hop_ways_options *options, struct hop_diag *diag);

/* ---- which copies go staged ---- */

struct hop_copies_tune_options {
    size_t size; /* see hop_version */
    struct hop_ways_options ways;
    struct hop_program_options program; /* device, engines and so on; copies, table, mix, collective: not looked at */
    const char *const *devices;   /* of each rank */
    const enum hop_collective_kind *collectives; /* NULL: allgather and allreduce */
    uint32_t collective_count;
    const uint64_t *sizes;   /* bytes of the collectives, ascending, rounded up to elements of f32; NULL: 4 KiB to 16 MiB,
                              * each 4 times the last */
    uint32_t size_count;
    const uint64_t *packets; /* ascending; NULL: 128 KiB, 512 KiB, 2 MiB */
    uint32_t packet_count;
    void (*progress)(double done, void *context); /* may be NULL */
    void *context;
};

/* Measures collectives by gsb: at which size of packets is staging fastest, then how many of the copies to stage: none,
 * a quarter, half, three quarters, all, and what lies half way to either side of the best of these. *text: the table
 * for HOP_COPIES_STATIC (docs/copies.md); *json (json may be NULL): the same as in docs/tune_copies.schema.json; the
 * caller frees both. note (may be NULL): a line for its head. */
HOP_API enum hop_status hop_copies_tune(const struct hop_copies_tune_options *options, const char *note, char **text,
                                        char **json, struct hop_diag *diag);

#ifdef __cplusplus
}
#endif
#endif
