/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the simulate room: a schedule compiled for a network, and the state of a run. prepare.c compiles, simulate.c runs.
 */
#ifndef HOP_SIMULATE_SIMULATION_H
#define HOP_SIMULATE_SIMULATION_H

#include "base/heap.h"
#include "hopcast/simulate.h"
#include "model/active.h"
#include "simulate/ends.h"
#include "timeline/timeline.h"

struct hop_packets; /* packet.h */

/* Operations in a heap: by a key, equal keys by operation. */
struct hop_entry {
    double key;
    uint32_t op;
    uint32_t what; /* enum hop_timer, of a timer */
};

/* An operation, compiled. */
struct hop_task {
    uint32_t class_index; /* of its route; HOP_NONE: it takes a time of its own, and no link */
    uint32_t engine;      /* HOP_NONE: none holds it */
    uint32_t position;    /* in its engine's queue */
    double bytes;
    double latency_s; /* with a route: its latency; else: the duration */
    double at_s;
    uint32_t first_user, first_start_user; /* users that wait for its end, for its start; up to the next task's */
};

/* An engine and its queue, queue[first .. first + count), and where a run stands in it: a device's copy engine, a CPU, or a
 * device's memory, which reductions and copies within the device share. Sharing evenly or one after the other, they take the same
 * time together; one after the other is simpler, and as far as a reduction's kernel fills its device, what happens. */
struct hop_engine {
    uint32_t device; /* node */
    uint32_t limit;  /* operations at once */
    bool by_ready;  /* takes what became ready first, not what the schedule has first */
    uint32_t first, count;
    uint32_t next, busy;  /* position of the head, transfers under way */
    uint32_t ready_count; /* by_ready: ready[first .. first + ready_count) is a heap of operations */
    uint32_t freed_by;    /* the operation that ended here last */
    bool touched;         /* to be served when this instant's ends are known */
};

/* What goes at one rate: a route in use by itself, or all that one link holds. Served: bytes of each of its transfers, from any
 * beginning; whose change of rate then costs no more than one's. */
struct hop_clock {
    double served, since, rate; /* served: at the time `since`, and how fast it goes on */
    double first; /* what will have been served when the first of its transfers ends, INFINITY: there is none */
    bool changed; /* in the list of clocks whose first end is to be worked out */
    bool lost;    /* the first transfer is another one now, which is not known */
};

/* A route in use, during a run: its transfers by what each will have been served, since the lane was last idle, when it ends: the
 * first one here, the others in a heap. */
struct hop_lane {
    double key;            /* of the first: what it will have been served when it ends */
    double ahead;          /* served here less what its clock says; all of it without a clock */
    uint32_t op;           /* the first */
    uint32_t count;        /* transfers */
    uint32_t heap, queued; /* heap[heap .. heap + queued): all but the first */
    uint32_t route;        /* of the network's router */
    uint32_t clock;        /* HOP_NONE: none as yet */
    uint32_t open;         /* record in the log, HOP_NONE: none */
    bool listed;           /* in the active list, perhaps idle by now */
    bool moved;            /* in the moved list */
};
/* What is due when a timer fires: an earliest start, the first byte after the latency, the end of a reduction or of work. */
enum hop_timer { HOP_TIMER_AT, HOP_TIMER_FLOW, HOP_TIMER_END };
struct hop_simulation {
    struct hop_network *network;
    struct hop_simulate_options options;
    struct hop_timeline *timeline;
    struct hop_messages *messages; /* model loggp: nothing below is used; NULL: any other */
    struct hop_arena arena;        /* of most of what follows */
    struct hop_packets *packets;   /* fidelity packet: it moves the bytes, and lanes and rates are not used; NULL: fluid */

    /* compiled */
    uint32_t count;
    bool queue_ready;
    struct hop_task *tasks; /* count + 1 of them: the last one ends the lists of users */
    uint32_t *users, *start_users;
    struct hop_engine *engines;
    uint32_t engine_count, source_count; /* the copy engines come first */
    uint32_t *queue; /* operations by engine, in schedule order */
    uint32_t *class_of_route; /* of the network's router: of those in use */

    uint32_t *initially_blocked;      /* per operation: dependencies, plus one for an earliest start */
    uint32_t *initial, initial_count; /* operations to be looked at when a run begins: see make_initial */

    uint64_t work_before; /* of the network, when the run began */

    /* a run */
    double now;
    uint64_t work; /* of the run, beside what the network's answers take */
    bool under_way;             /* a run began and did not reach its end */
    struct hop_op_times *times; /* the timeline's */
    uint32_t ended;
    uint32_t *blocked;       /* per operation */
    struct hop_entry *ready; /* see hop_engine */
    struct hop_lane *lanes;  /* per class */
    struct hop_clock *clocks; /* one a class, then, when rates are followed, one a directed link */
    uint32_t clock_count;
    uint32_t *changed, changed_count; /* clocks */
    struct hop_entry *heap;
    struct hop_ends ends;             /* the first of each clock */
    uint32_t *due, *due_clocks;       /* lanes and clocks whose first transfers end now */
    uint32_t *moved, moved_count;     /* lanes with another count or another first than at the last rates */
    /* Few routes: the network is asked about the whole active set, which it remembers. */
    uint32_t *active, active_count;   /* classes in use; ascending when rates are asked for */
    struct hop_flow *flows;           /* the same, as the network takes them */
    /* Many: about what a change reaches. */
    struct hop_active *following; /* NULL: few */
    struct hop_entry *timers;
    uint32_t timer_count;
    uint32_t *met, met_count;         /* operations whose dependencies are met and that are to be made ready */
    uint32_t *touched, touched_count; /* engines */
    uint32_t *done, done_count;       /* operations that ended and whose users are to be told */
};

enum hop_status hop_simulation_prepare(struct hop_simulation *simulation, const struct hop_schedule *schedule,
                                       struct hop_diag *diag);

#endif
