/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Fidelity `packet`: transfers cut into packets that cross one link after another, under credit-based flow control
 * (docs/packet.md). simulate.c keeps operations, dependencies and source queues; here is what moves bytes.
 * packet_build.c makes it, packet.c runs it.
 *
 * A link sends one packet at a time. At its far end lies an input buffer of so many credits (bytes); a packet takes its
 * credits when it begins to be sent and gives them back when its last byte has left the buffer.
 *
 *     source --link 0--> [ buffer: a queue for link 1, one for link 5 ] --link 1--> [ ... ] --link 2--> destination
 *                                                                       \-link 5--> ...
 *
 * Who wants to go over link m stands in one of its feeds: one a buffer that leads to it, one a source that begins there.
 * Link m takes a packet of each in turn. Behind a link of a torus's ring lie two buffers, one a virtual channel
 * (topology/channels.c). A step is one link of one transfer's route; every packet knows the step it is
 * at.
 *
 * An engine of a network card (topology/card.c) is a link here, too, beside that over which it moves packets: it takes
 * longer for a packet, and waits for the card's processor.
 *
 * Time is in whole picoseconds. An instant has two parts: what happens at it (a packet has been sent, one arrives,
 * credits come back), then who sends next, so that the order in which things of one instant are looked at makes no
 * difference.
 */
#ifndef HOP_SIMULATE_PACKET_H
#define HOP_SIMULATE_PACKET_H

#include "simulate/simulation.h"

struct hop_packets;

/* After hop_simulation_prepare; gives every copy a class of the timeline of its own. The simulation must outlive it. */
enum hop_status hop_packets_create(struct hop_simulation *simulation, struct hop_packets **packets,
                                   struct hop_diag *diag);
void hop_packets_destroy(struct hop_packets *packets); /* NULL is allowed */
void hop_packets_reset(struct hop_packets *packets);
/* The bytes of a copy begin to move; it has some. */
void hop_packets_begin(struct hop_packets *packets, uint32_t op, double now_s);
/* Goes on until transfers end or until that time, INFINITY: none. Returns how many ended; they are *ended. */
uint32_t hop_packets_advance(struct hop_packets *packets, double until_s, double *now_s, const uint32_t **ended);
/* With faults, where nothing moves any more: ends what is under way as lost, and says what it waits for. Returns how many ended; they
 * are *ended. 0: nothing is under way. */
uint32_t hop_packets_give_up(struct hop_packets *packets, const uint32_t **ended);
/* Says, after a run that cannot go on, that buffers wait for each other, or that memory or time ran out. */
enum hop_status hop_packets_stuck(const struct hop_packets *packets, struct hop_diag *diag);
/* After a run: packet-hops to the timeline's events, and with segments one record a copy. */
enum hop_status hop_packets_note(struct hop_packets *packets, struct hop_diag *diag);

/* ---- inside ---- */

enum { HOP_CREDIT_BYTES = 16 }; /* the unit of data credits on PCIe */
enum { HOP_PACKET_KINDS = 4 };  /* of events: see packet_moves.h */
#define HOP_PACKET_CLOCK_LIMIT ((uint64_t)1 << 62)

/* A link of a transfer's route. */
struct hop_packet_step {
    uint32_t link;  /* in use, or engine, from 0 */
    uint32_t feed;  /* through which it wants to get there */
    uint32_t queue; /* where it waits; HOP_NONE: at its source */
    uint32_t buffer; /* behind this link */
    uint32_t pool;   /* credits of it, or of the transfer's part of it; HOP_NONE: the destination, which takes all */
    uint32_t transfer;
    uint32_t next; /* in its feed's ring of waiting members */
    bool begins : 1, ends : 1; /* its transfer's way */
    bool cuts;     /* what arrives here has just crossed a root complex */
    bool passes;   /* cut through: its packets go on while they come */
    bool whole : 1;  /* bubble: every packet takes a full one's credits */
    bool enters : 1; /* bubble: a ring; it leaves room for another packet */
    double ps_per_byte;
};

struct hop_moving {
    uint64_t bytes, left, delivered; /* left: to be sent by the source */
    uint32_t first, last;            /* steps */
    uint32_t op, from, to;           /* nodes */
    uint32_t number;        /* of the next packet */
    double cut_owed;        /* of the mean number of pieces, what the whole numbers so far leave */
    double gap_ps_per_byte; /* the route's ceiling, but for cards'; 0: none; 0: none */
    uint64_t not_before;    /* of its next packet, under a ceiling */
    bool waking;            /* an event is due then */
    double window;          /* most bytes under way; INFINITY: what buffers take */

    /* faults */
    uint64_t lost, resent;       /* lost: and not to be sent again as yet */
    uint64_t answer;             /* ps: from the loss of a packet until its source knows */
    const struct hop_route *way; /* at the beginning, with its steps */
    uint32_t way_first, way_last;
    const char *why; /* it cannot arrive; NULL: it can */
    bool network, begun, over, again; /* again: all that it sends was sent before */
};

/* A transfer goes another way, or none, from a fault on. */
struct hop_packet_change {
    uint32_t fault, transfer;
    uint32_t first, last; /* steps */
    const char *why;      /* there is none; NULL: there is one */
};

struct hop_packet {
    uint64_t due;       /* on a wire, or as credits: when it arrives; in a queue: when it came */
    uint64_t busy_then; /* then: its link's busy */
    double wire;        /* bytes that it counts for on links before crossing; pieces: their part */
    uint32_t next;      /* in its queue or list */
    uint32_t step;
    uint32_t bytes;
    uint32_t held;  /* credits in the buffer where it is */
    uint32_t taken; /* credits in the buffer where it goes */
    uint32_t number : 31, broken : 1; /* broken: its end is lost, and the next one who looks drops it */
};

struct hop_fifo {
    uint32_t head, tail;
    bool sending; /* queues=fifo: its head is on its way out */
};

/* What feeds a link: another link, or a source. */
struct hop_feed {
    uint32_t queue; /* HOP_NONE: a ring of members, steps */
    uint32_t last;  /* ring: the one after it is next; HOP_NONE: nobody */
};

/* What only one of several links has at a time. */
struct hop_packet_processor {
    uint64_t until;         /* then it is free */
    uint32_t holder;        /* link that has it until then; HOP_NONE: none */
    uint32_t card;          /* whose it is: a node */
    uint32_t *links, count; /* that need it */
};

struct hop_wire {
    uint32_t first, count, turn; /* feeds; whose turn it is, from first */
    uint32_t sending;            /* packet; HOP_NONE: idle */
    struct hop_fifo flight;      /* packets on the wire */
    struct hop_fifo returning;   /* credits on their way back, looked at when some are needed */
    uint64_t latency;
    uint64_t busy; /* so long it has sent, the packet in hand included */
    uint32_t directed;
    const struct hop_card_engine *engine; /* NULL: none */
    uint32_t processor;                   /* HOP_NONE: none */
    double residue; /* of a picosecond, carried to the next packet */
    bool touched;
    bool expecting; /* an event is due when the first credits are back */
    bool dead;
    uint16_t stopped; /* dead, or so many resets at its ends: sends nothing */
    bool apart;       /* its feeds wait for different buffers: one that lacks credits does not hold up the others */
    uint32_t buffer;  /* the first of those behind it */
};

/* Of a step: how long its link kept packets of its transfer waiting since it last sent one of them. */
struct hop_packet_wait {
    uint64_t last_sent, busy_then; /* then, and what the link's busy was */
    uint64_t busy;                 /* the link sent others' */
    uint64_t idle;                 /* it had no credits */
};

struct hop_instant {
    uint64_t time;
    uint32_t stream; /* link * HOP_PACKET_KINDS + kind; then, one a transfer, the end of a ceiling's gap; then one for
                      * hop_packets_switch */
};

struct hop_packets {
    struct hop_simulation *simulation;
    struct hop_arena arena;
    enum hop_packet_queues queues;
    enum hop_ring_protection rings;
    double payload, header, cut_mean, startup_s, read_bytes;
    uint64_t delay; /* of credits */
    uint64_t hops_planned;

    /* built */
    struct hop_packet_step *steps;
    struct hop_moving *transfers;
    uint32_t *transfer_of; /* per operation */
    struct hop_feed *feeds;
    struct hop_wire *wires;
    struct hop_fifo *fifos;
    struct hop_packet_processor *processors;
    uint32_t processor_count;
    uint32_t *pool_size;
    uint32_t step_count, transfer_count, feed_count, wire_count, buffer_count, fifo_count, pool_count;
    struct hop_fault *faults;
    uint32_t fault_count;
    struct hop_packet_trouble {
        uint64_t time;
        uint32_t fault;
        bool over; /* a reset is */
    } * troubles;  /* by time; then one that never comes */
    uint32_t trouble_count;
    struct hop_packet_change *changes;
    uint32_t change_count;

    /* a run */
    uint32_t *gone,
        *owed; /* per pool, with faults: credits that are lost, and of these the ones that are to come back yet */
    uint32_t trouble;   /* the next one */
    uint64_t trouble_at; /* its time */
    uint64_t under_way; /* bytes of transfers over a network */
    uint32_t fault;     /* whose changes wait for the network to be empty; HOP_NONE: none, sources send */
    bool switching;     /* an event is due for that */
    uint64_t clock, hops;
    uint32_t *credits; /* per pool */
    struct hop_packet *packets;
    uint32_t packet_count, free_packet;
    struct hop_instant *heap;
    uint32_t heap_count;
    uint32_t *touched, touched_count;
    uint32_t *ended, ended_count;
    struct hop_packet_wait *waits; /* per step; NULL without segments */
    uint32_t *order;        /* per step: number of the last packet that passed; for asserts */
    bool lacking;           /* who was asked last to send had too few credits */
    bool failed;            /* out of memory */
    bool late;              /* beyond the last picosecond */
};

/* ---- packet_faults.c ---- */

/* What is due by now of troubles. */
void hop_packets_trouble(struct hop_packets *packets);
/* The network is empty: transfers take their new ways. */
void hop_packets_switch(struct hop_packets *packets);
/* The packet is nowhere any more. */
void hop_packets_lose(struct hop_packets *packets, uint32_t packet);
/* A broken packet has come over its step's link: false, its end is still under way, and it goes on. */
bool hop_packets_break(struct hop_packets *packets, uint32_t packet);
/* Where nothing of a transfer is under way: it is over, or what is lost is sent again. */
void hop_packets_settle(struct hop_packets *packets, struct hop_moving *transfer);
/* It cannot arrive: what its source still has is lost. */
void hop_packets_cut_off(struct hop_packets *packets, struct hop_moving *transfer, const char *why);
/* Drops what waits in a queue for a link, HOP_NONE: for any, but for what is on its way out. */
void hop_packets_purge(struct hop_packets *packets, uint32_t queue, uint32_t link);

#endif
