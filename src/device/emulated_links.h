/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emulated links, inside: what the server keeps, what lies in the shared memory, and moving chunks in given time. See
 * emulated.h.
 *
 * A slot is a place in the buffer at a link's far end: a chunk takes one, and as much of the link's credit as it has
 * bytes, when the link begins to send it, and has it until the next link has sent it on. A lane is a queue between what
 * a chunk comes from (a link, a source, or no source engine) and the link that it goes to: of slots behind a link, of
 * copies behind a source. Queues are linked by index; everything has its place from the start.
 *
 * Time is whole picoseconds of the wall's clock since creation; a uint64 lasts for 200 days.
 */
#ifndef HOP_DEVICE_EMULATED_LINKS_H
#define HOP_DEVICE_EMULATED_LINKS_H

#include <stdatomic.h>

#include "base/base.h"
#include "device/emulated.h"
#include "device/host.h"

#define HOP_EMULATED_NONE UINT32_MAX
#define HOP_EMULATED_NEVER UINT64_MAX

struct hop_emulated_queue {
    uint32_t head, tail; /* HOP_EMULATED_NONE: empty */
};

struct hop_link_state {
    double byte_ps;
    uint64_t latency_ps;
    uint64_t buffer_bytes, room_bytes; /* credit in all, and left */
    uint32_t slot_first, slot_count, slot_free; /* its slots; the free ones are linked */
    uint32_t lane_first, lane_count, turn;      /* the lanes that lead to it; whose turn it is */
    uint32_t sending;                           /* slot of the chunk that is being sent */
    uint32_t leaving;                           /* slot that becomes free then, in the buffer before */
    struct hop_emulated_queue flight;           /* slots whose chunks were sent and have not arrived */
    uint32_t next_woken;                        /* in the list of links that may send now; itself: is not in it */
};

struct hop_emulated_lane {
    uint32_t input, output; /* input: link; link_count + source; link_count + source_count: no engine */
    struct hop_emulated_queue queue;
};

struct hop_slot {
    uint64_t arrives_ps;
    uint32_t copy, hop; /* hop: the link that the chunk came over, counted on its way */
    uint32_t bytes;
    uint32_t next;
    uint16_t pieces, sent_pieces; /* once it is its turn to be cut; 0: whole */
};

struct hop_way_state {
    uint32_t hop_first, hop_count; /* its lanes, in the array of hops */
    uint32_t crossing, source;
    double stretch, pieces;
};

struct hop_source_state {
    struct hop_emulated_queue waiting;
    uint32_t current;
};

enum hop_emulated_copy_state {
    HOP_COPY_FREE,
    HOP_COPY_CLAIMED, /* by a process, which fills it in */
    HOP_COPY_POSTED,  /* for the server */
    HOP_COPY_TAKEN,   /* the server's */
    HOP_COPY_ENDED    /* the process' again, which frees it */
};

struct hop_emulated_copy {
    /* Shared. owner: the process' id << 8 | enum hop_emulated_copy_state. */
    _Atomic uint64_t owner;
    uint64_t posted_ps, ticket, bytes;
    uint32_t way;
    struct hop_counter bell;  /* rung when as much has arrived as is wanted, and at the end */
    _Atomic uint64_t arrived; /* bytes */
    _Atomic uint64_t wanted;
    uint64_t start_ps, end_ps; /* once ended */
    /* The server's. */
    uint64_t sent, crossed; /* bytes that left the source; chunks that were cut */
    uint32_t next;
};

struct hop_emulated_event {
    uint64_t time_ps, order; /* order: among events of one time */
    uint32_t index;
    enum { HOP_EVENT_POST, HOP_EVENT_SENT, HOP_EVENT_ARRIVAL } kind;
};

enum hop_emulation_ending { HOP_EMULATION_RUNS, HOP_EMULATION_STOPPED, HOP_EMULATION_STUCK };

/* What all share. */
struct hop_emulation {
    uint32_t way_count, copy_count;
    uint64_t epoch_ns;
    double slower, memory_Bps;
    struct hop_counter posts; /* what the server should look at */
    struct hop_counter freed; /* copies */
    _Atomic uint64_t tickets;
    _Atomic uint32_t ending; /* enum hop_emulation_ending */
    _Atomic int64_t server;  /* process id; 0: not yet */
    _Atomic uint64_t server_started;
    struct hop_emulated_copy copies[];
};

/* The server's own. */
struct hop_emulated_machine {
    struct hop_emulation *e;
    struct hop_emulated_copy *copies; /* the emulation's */
    struct hop_arena arena;
    struct hop_link_state *links;
    struct hop_emulated_lane *lanes;
    struct hop_slot *slots;
    uint32_t *hops; /* lane by which a way's hop is entered */
    struct hop_way_state *ways;
    struct hop_source_state *sources;
    struct hop_emulated_event *events; /* a heap: a post a copy, two a link */
    uint32_t link_count, lane_count, slot_count;
    uint64_t chunk_bytes;
    uint64_t now_ps; /* of the last event */
    uint32_t seen_posts, event_count, under_way;
    uint32_t woken; /* list of links */
};

static inline enum hop_emulated_copy_state hop_copy_state(uint64_t owner)
{
    return (enum hop_emulated_copy_state)(owner & 0xff);
}

/* The link that a slot's chunk came over, or is sent over. */
static inline uint32_t hop_emulated_link_of(const struct hop_emulated_machine *m, const struct hop_slot *slot)
{
    const struct hop_way_state *way = &m->ways[m->copies[slot->copy].way];
    return m->lanes[m->hops[way->hop_first + slot->hop]].output;
}

/* ---- emulated_links.c ---- */

/* Takes what was posted, then does all that is due until then. Returns when the next thing is due, HOP_EMULATED_NEVER:
 * nothing is. */
uint64_t hop_emulation_advance(struct hop_emulated_machine *machine, uint64_t until_ps);

/* ---- emulated_serve.c ---- */

/* The parts of hop_emulation_copy. A post at a time of its own is for tests, which then advance by themselves. */
enum hop_status hop_emulation_post(struct hop_emulation *emulation, uint32_t way, uint64_t bytes, const uint64_t *at_ps,
                                   uint32_t *copy, struct hop_diag *diag);
enum hop_status hop_emulation_wait(struct hop_emulation *emulation, uint32_t copy, uint64_t wanted, uint64_t *arrived,
                                   struct hop_diag *diag);
void hop_emulation_release(struct hop_emulation *emulation, uint32_t copy, struct hop_emulated_times *times);

#endif
