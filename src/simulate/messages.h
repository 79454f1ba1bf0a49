/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The executor of model loggp: messages that occupy CPUs and NICs one after the other, under the LogGP parameters L, o,
 * g, G, O, S, with the meaning that LogGOPSim gives to them. messages_compile.c compiles a schedule, messages.c runs
 * it, messages_timeline.c makes a timeline of what was noted; messages_settle.c matches messages for other models.
 *
 * Times are whole picoseconds. Every CPU, every NIC's sending and receiving side has a clock: when it is free. An
 * element (an operation, later the message that it sent) has a time and a number; the smallest (time, number) is next.
 * Who finds a clock beyond its time waits in the line of its clocks, by number, since all who wait become due together:
 *
 *     process 3, cpu 0:            clock 5.2 us    line of its works        w4, w9, ...
 *     process 3, nic 0, sending:   clock 6.0 us    line (cpu 0, nic 0)      s2, s3, ...    due at the later of both
 *     process 3, nic 0, receiving                  line (cpu 0, nic 0)      messages that arrived
 *
 * Only the head of a line stands in the queue of what is next. It may stand there too early, since clocks advance
 * meanwhile: then it is put back, which is what every single waiter would have done.
 *
 * Sends and receives of one channel (from, to, tag) match in order, so a channel is one list: of receives that wait, or
 * of messages that came before theirs. Receives from any source or of any tag: see struct hop_channel.
 */
#ifndef HOP_SIMULATE_MESSAGES_H
#define HOP_SIMULATE_MESSAGES_H

#include "hopcast/simulate.h"
#include "timeline/timeline.h"

#define HOP_CLOCK_LIMIT ((uint64_t)1 << 62) /* ps: 53 days */

struct hop_messages;

/* The network's topology gives the parameters. Fills the timeline's own members; times and pieces come with a run. The
 * schedule, the network and the timeline must outlive what is made. options may not be NULL. */
enum hop_status hop_messages_create(struct hop_network *network, const struct hop_schedule *schedule,
                                    const struct hop_simulate_options *options, struct hop_timeline *timeline,
                                    struct hop_messages **messages, struct hop_diag *diag);
void hop_messages_destroy(struct hop_messages *messages); /* NULL is allowed */
enum hop_status hop_messages_run(struct hop_messages *messages, double *makespan_s, struct hop_diag *diag);

/* messages_settle.c: a schedule whose receives say which message they take, that which they take under model loggp. */
enum hop_status hop_messages_settle(struct hop_network *network, const struct hop_schedule *schedule,
                                    struct hop_schedule **settled, struct hop_diag *diag);

/* ---- inside: compiled ---- */

/* An operation; receives are posted on the CPU of their line, but wait in none. */
struct hop_action {
    uint32_t process;
    uint32_t line;    /* where it waits */
    uint32_t channel; /* send, receive */
    /* Send, put: of its message, at the receiver; receive: the sender's clocks that a rendezvous advances. */
    uint32_t far_line;
    uint32_t cost;
    uint32_t first_user, first_start_user; /* users that wait for its end, for its start; up to the next action's */
    uint8_t kind;                          /* enum hop_op_kind */
    bool timed;                            /* it may start no earlier than not_before: see there */
    bool open; /* send, receive: its receiver takes from any source or of any tag, see struct hop_channel */
};

/* What is released together goes by process, and there sends, receives, works. */
enum { HOP_CLASSES = 3 };
static inline uint32_t hop_action_class(const struct hop_action *action)
{
    uint32_t kind = action->kind == HOP_OP_SEND || action->kind == HOP_OP_COPY ? 0
                    : action->kind == HOP_OP_RECEIVE                           ? 1
                                                                               : 2;
    return action->process * HOP_CLASSES + kind;
}

/* What an operation or message of that length occupies. */
struct hop_cost {
    uint64_t cpu;  /* at the sender, or of work */
    uint64_t nic;  /* at either side */
    uint64_t back; /* of the other direction of either NIC, for acknowledgements */
    uint64_t take; /* CPU of the receiver */
    uint64_t late; /* by which its first byte leaves later, as all are copied first */
    bool rendezvous;
};

struct hop_line {
    uint32_t cpu, nic;   /* clocks; nic of works: clock 0, which never advances */
    uint32_t back;       /* clock of the NIC's other direction, where acknowledgements take time */
    uint32_t head, tail; /* operations, HOP_NONE: nobody waits */
};

/* A process that has a receive from any source or of any tag has two channels for all, one behind the other: of
 * receives that wait, and of messages that came before theirs. Who comes takes the first that fits. */
struct hop_channel {
    uint32_t head, tail; /* all receives, or all sends whose messages came; HOP_NONE: none */
};

enum hop_message_phase { HOP_PHASE_OWN, HOP_PHASE_MESSAGE, HOP_PHASE_READ, HOP_PHASE_ENDED };

struct hop_action_state {
    uint32_t blocked; /* dependencies not met */
    uint32_t number;  /* of its element */
    uint32_t next;    /* in its line or channel */
    uint8_t phase;
    bool in_line, in_queue;
};

/* What a run notes of each operation, for a timeline and for ends that other processes wait for. by: the operation that
 * kept the clock. */
struct hop_note {
    uint64_t start, cpu_until, end; /* own part; cpu_until: before it started its CPU was busy until then */
    uint64_t arrival, taken, taken_cpu, taken_end; /* of its message, at the receiver */
    uint32_t cpu_by, nic_by, taken_cpu_by, taken_nic_by;
    uint32_t partner; /* receive: its send; send: its receive */
};

struct hop_due {
    uint64_t time;
    uint32_t number, op;
};

/* Elements in ascending order, appended at the end only. */
struct hop_message_run {
    struct hop_due *ring;
    uint32_t head, count, capacity; /* a power of 2 */
};

struct hop_party {
    int32_t rank;       /* -1: none */
    const char *device; /* of its first place */
    uint32_t first;     /* the first operation that names it */
    uint32_t appeared;  /* its number among all, by appearance */
};

struct hop_messages {
    struct hop_simulate_options options;
    struct hop_timeline *timeline;
    const struct hop_schedule *schedule;
    struct hop_arena arena; /* of most of what follows */

    /* compiled */
    uint32_t count;
    struct hop_action *actions; /* count + 1: the last one ends the lists of users */
    uint32_t *users, *start_users;
    struct hop_cost *costs;
    struct hop_line *lines;
    struct hop_channel *channels;
    struct hop_party *processes;
    uint32_t *clock_process; /* per clock: the process whose CPU it is, else HOP_NONE */
    uint32_t cost_count, line_count, channel_count, process_count, clock_count;
    uint64_t delay;    /* from a send's start to the arrival of its message: o + L */
    uint64_t overhead; /* o */
    bool reads;        /* receivers read what is longer than S from their senders' memory */
    uint32_t *initially_blocked;
    uint64_t *initially_not_before;   /* NULL: no operation is timed */
    uint32_t *initial, initial_count; /* what waits for nothing, in the order in which it is released */

    /* a run */
    struct hop_action_state *states;
    uint64_t *clocks;
    uint32_t *clock_by;     /* noted: the operation that advanced it last */
    uint64_t *not_before;   /* earliest starts, and ends of dependencies at other processes */
    uint64_t *read_until;   /* by send: when its receiver has read it; NULL: senders do not wait for that */
    struct hop_note *notes; /* NULL: nothing is noted */
    struct hop_due *heap;
    uint32_t heap_count;
    struct hop_message_run posts, arrivals;
    uint32_t *freed, freed_count; /* operations that wait for nothing more, before they are released */
    uint64_t *order;              /* to sort them */
    uint32_t next_number;
    uint32_t ended, matched, sent;
    bool failed; /* out of memory */
};

enum hop_status hop_messages_compile(struct hop_messages *messages, struct hop_network *network, struct hop_diag *diag);
enum hop_status hop_messages_note_timeline(struct hop_messages *messages, struct hop_diag *diag);

#endif
