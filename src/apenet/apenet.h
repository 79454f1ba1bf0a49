/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Card: what its files share, the lower one first.
 *
 *     apenet_route.c     positions; which way a packet goes, and in which channel
 *     apenet_pages.c     page tables: HOST_V2P, GPU_V2P
 *     apenet_memory.c    BUF_LIST; sources mapped on the fly; reading and writing by pages
 *     apenet_event.c     events, and puts that have not ended
 *     apenet_link.c      buffers behind links, in shared memory or by messages
 *     apenet_circle.c    buffers that wait for each other
 *     apenet_tx.c        puts become packets
 *     apenet_rx.c        packets are validated and written, and answered
 *     apenet_router.c    the thread: moves packets from buffer to buffer; looks who is gone
 *     apenet.c           opening, closing, the calls
 *
 *     put -> queue -> TX (32 KiB) -+-> link's buffer of the next card -> ... -> RX -> memory, event
 *                        answers --+                                             |
 *     event <- put ends  <----------------- the same way back <----------- answer
 *
 * Every card takes what is for it at once, whatever else waits: an answer has its place from the beginning, since a
 * rank has only so many puts that have not ended. So a packet waits for nothing but room in the next buffer of its
 * way, and the argument in topology/channels.c holds: these are its buffers and channels.
 */
#ifndef HOP_APENET_H
#define HOP_APENET_H

#include <pthread.h>
#include <stdatomic.h>

#include "base/base.h"
#include "device/device.h"
#include "device/host.h"
#include "hopcast/apenet.h"
#include "run/team.h"

/* ---- the torus (apenet_route.c) ---- */

enum { HOP_APENET_AXES = 3, HOP_APENET_DIRECTIONS = 2 * HOP_APENET_AXES, HOP_APENET_CHANNELS = 2 };
#define HOP_APENET_HERE ((unsigned)HOP_APENET_DIRECTIONS)

struct hop_apenet_torus {
    uint32_t extent[HOP_APENET_AXES];
    enum hop_ring_protection rings;
};
void hop_apenet_coordinates(const struct hop_apenet_torus *torus, uint32_t rank, uint32_t position[HOP_APENET_AXES]);
uint32_t hop_apenet_rank_at(const struct hop_apenet_torus *torus, const uint32_t position[HOP_APENET_AXES]);
/* Directions are x+, x-, y+, y-, z+, z-. The next one on the way to a rank; HOP_APENET_HERE: it is there. */
unsigned hop_apenet_direction(const struct hop_apenet_torus *torus, uint32_t at, uint32_t to);
uint32_t hop_apenet_neighbour(const struct hop_apenet_torus *torus, uint32_t rank, unsigned direction);
/* The channel in which a packet leaves, that came in another (before: the direction that it goes already,
 * HOP_APENET_HERE: it begins here). */
unsigned hop_apenet_channel(const struct hop_apenet_torus *torus, uint32_t at, unsigned direction, unsigned before,
                            unsigned channel);
/* Room that a packet must find: 2 where it enters a ring that a bubble protects. */
unsigned hop_apenet_need(const struct hop_apenet_torus *torus, unsigned direction, unsigned before);
const char *hop_apenet_direction_name(unsigned direction);

/* ---- page tables (apenet_pages.c) ---- */

struct hop_apenet_page {
    uint64_t number; /* of the virtual page */
    void *physical;  /* where the card reaches it */
    uint32_t users;  /* buffers and mappings that have it; 0: free */
};
struct hop_apenet_pages {
    unsigned shift; /* a page has 2^shift bytes */
    struct hop_apenet_page *slots;
    uint32_t capacity, used;
};
enum { HOP_APENET_HOST_SHIFT = 12, HOP_APENET_GPU_SHIFT = 16 };
bool hop_apenet_pages_add(struct hop_apenet_pages *pages, uint64_t address, uint64_t bytes); /* false: out of memory */
void hop_apenet_pages_remove(struct hop_apenet_pages *pages, uint64_t address, uint64_t bytes);
/* NULL: the page is not mapped. */
char *hop_apenet_pages_find(const struct hop_apenet_pages *pages, uint64_t address);
void hop_apenet_pages_finish(struct hop_apenet_pages *pages);

/* ---- memory (apenet_memory.c) ---- */

struct hop_apenet_buffer {
    uint64_t begin, bytes, serial; /* serial: no other one has it */
    uint32_t process;
    int place;
};
/* A source that is not registered. */
struct hop_apenet_mapping {
    uint64_t begin, bytes, used; /* used: when it was last, by the order of puts; 0: the place is free */
    uint32_t puts;               /* that have not ended; then it stays */
    int place;
};
struct hop_apenet_gpu {
    const struct hop_device_ops *ops;
    struct hop_device *own, *served; /* for the program's threads, and the card's */
    pthread_mutex_t lock;            /* of own */
    struct hop_apenet_pages pages;
};
struct hop_apenet_memory {
    pthread_mutex_t lock;              /* for all of it */
    struct hop_apenet_buffer *buffers; /* BUF_LIST */
    uint32_t buffer_count, buffer_limit;
    struct hop_apenet_mapping *mappings;
    uint32_t mapping_limit;
    struct hop_apenet_pages host;
    struct hop_apenet_gpu gpus[HOP_APENET_GPUS_MAX];
    atomic_int gpu_count;
    uint64_t serials, puts;
    uint64_t scanned, looked_up, made, found, evicted;
};
/* Where a put reads: a registered buffer, or a mapping. */
struct hop_apenet_source {
    uint64_t serial; /* 0: a mapping */
    uint32_t mapping;
};
enum hop_status hop_apenet_memory_create(struct hop_apenet_memory *memory, uint32_t buffers, uint32_t mappings,
                                         struct hop_diag *diag);
void hop_apenet_memory_destroy(struct hop_apenet_memory *memory);
enum hop_status hop_apenet_memory_register(struct hop_apenet_memory *memory, uint64_t address, uint64_t bytes,
                                           int place, uint32_t process, struct hop_diag *diag);
enum hop_status hop_apenet_memory_unregister(struct hop_apenet_memory *memory, uint64_t address, struct hop_diag *diag);
void hop_apenet_memory_empty(struct hop_apenet_memory *memory); /* of BUF_LIST */
/* For a put; released once it has ended. */
enum hop_status hop_apenet_memory_take(struct hop_apenet_memory *memory, uint64_t address, uint64_t bytes, int place,
                                       struct hop_apenet_source *source, struct hop_diag *diag);
void hop_apenet_memory_release(struct hop_apenet_memory *memory, const struct hop_apenet_source *source);
enum hop_apenet_error hop_apenet_memory_read(struct hop_apenet_memory *memory, const struct hop_apenet_source *source,
                                             int place, uint64_t address, uint64_t bytes, void *to);
/* A packet of the message that begins at `message` and has `total` bytes. */
enum hop_apenet_error hop_apenet_memory_write(struct hop_apenet_memory *memory, uint32_t process, uint64_t message,
                                              uint64_t total, uint64_t address, uint64_t bytes, const void *from);

/* ---- packets ---- */

enum hop_apenet_packet { HOP_APENET_DATA, HOP_APENET_ANSWER };
struct hop_apenet_head {
    uint64_t address, id, tag;
    uint64_t total, offset;   /* of the message, and where this packet is in it; answer: total bytes were written */
    uint32_t process, source; /* source: the rank that it is from */
    uint16_t position[HOP_APENET_AXES]; /* of the destination */
    uint16_t bytes;
    uint8_t kind, error, last, unused[5];
};
struct hop_apenet_slot {
    struct hop_apenet_head head;
    unsigned char bytes[HOP_APENET_PACKET_BYTES];
};

/* ---- puts and events (apenet_event.c) ---- */

enum hop_apenet_put_state { HOP_APENET_FREE, HOP_APENET_QUEUED, HOP_APENET_CUT, HOP_APENET_ABANDONED };
struct hop_apenet_sending {
    enum hop_apenet_put_state state;
    struct hop_apenet_put put;
    struct hop_apenet_source source;
    uint64_t id, sent;
};
struct hop_apenet_events {
    struct hop_apenet_event *ring;
    uint32_t capacity, first, count, promised; /* promised: to puts and messages that have begun */
};

/* ---- links (apenet_link.c) ---- */

/* The buffer behind a channel of a link. The card before it pushes, the card that has it pops; both grow, also across
 * 2^32. */
struct hop_apenet_channel {
    _Alignas(64) atomic_uint pushed;
    _Alignas(64) atomic_uint popped;
    atomic_uint_fast64_t wants; /* popped << 8 | 1 + the channel that its first packet waits for; circle.c reads it */
};
/* What the others of the machine see of a card. */
struct hop_apenet_face {
    struct hop_counter bell;
    atomic_bool closed;
    atomic_int verdict; /* 0 none, 1 being written, 2 there: a circle was found by one of the cards */
    struct hop_diag why;
    struct hop_apenet_channel channels[HOP_APENET_DIRECTIONS][HOP_APENET_CHANNELS];
    struct hop_apenet_slot slots[]; /* [direction][channel][link_packets] */
};
struct hop_apenet_link {
    uint32_t to, from; /* ranks: of the card ahead, and of the one whose packets come in this direction */
    bool there;        /* a dimension of 1 has none */
    struct hop_apenet_face *ahead, *behind;                 /* NULL: on another machine */
    struct hop_apenet_channel credits[HOP_APENET_CHANNELS]; /* of the one ahead, which is far */
};

/* A message that comes; messages of one rank come one after the other. */
struct hop_apenet_arrival {
    uint64_t id, ended; /* 0: none */
    uint64_t written, address, tag;
    enum hop_apenet_error error;
    bool promised; /* a place for its event */
};

struct hop_apenet {
    struct hop_team *team;
    struct hop_apenet_options options;
    struct hop_apenet_torus torus;
    uint32_t rank, size, *processes, number; /* number: of this card of the team's */
    struct hop_apenet_memory memory;
    struct hop_apenet_face *face, **faces; /* per local rank */
    struct hop_apenet_link links[HOP_APENET_DIRECTIONS];
    pthread_t router, mail;
    bool routes, reads_mail; /* these threads run */
    atomic_bool stops;
    atomic_int takes; /* for tests: so many packets more come in from links; -1: all do */

    pthread_mutex_t lock; /* for what follows */
    struct hop_counter news;
    struct hop_apenet_events events;
    struct hop_apenet_sending *sending;
    uint32_t *queue, queue_first, queue_count, unended; /* puts that TX has not cut yet; that have not ended */
    uint64_t generation;
    bool closing, failed;
    enum hop_apenet_error failed_with;
    struct hop_diag failure;
    bool *gone; /* per rank */
    uint32_t gone_count;

    /* from here on the router's own */
    struct hop_apenet_slot *tx;
    uint32_t tx_capacity;
    uint32_t tx_first, tx_count;
    struct hop_apenet_head *answers;
    uint32_t answer_capacity, answer_first, answer_count;
    struct hop_apenet_arrival *arrivals; /* per rank */
    uint64_t moved_ns, looked_ns;
    atomic_uint_fast64_t sent, received, forwarded, dropped;
};

/* With card->lock held, unless it says otherwise: */
enum hop_status hop_apenet_promise(struct hop_apenet *card); /* a place for an event; HOP_ERR_LIMIT: there is none */
void hop_apenet_post(struct hop_apenet *card, const struct hop_apenet_event *event, bool promised);
struct hop_apenet_sending *hop_apenet_sending_of(struct hop_apenet *card, uint64_t id); /* NULL: it has ended */
void hop_apenet_end_put(struct hop_apenet *card, struct hop_apenet_sending *sending, enum hop_apenet_error error,
                        uint64_t bytes);
/* Whether a card that is gone is one of these or stands between them, on the way of messages or of their answers. */
bool hop_apenet_are_cut_off(const struct hop_apenet *card, uint32_t a, uint32_t b);
/* Takes the lock. The card works no more. */
void hop_apenet_fail(struct hop_apenet *card, enum hop_apenet_error error, const struct hop_diag *why);

void hop_apenet_links_create(struct hop_apenet *card);
struct hop_apenet_slot *hop_apenet_slot_of(const struct hop_apenet *card, struct hop_apenet_face *face,
                                           unsigned direction, unsigned channel, uint32_t number);
unsigned hop_apenet_room(const struct hop_apenet *card, unsigned direction, unsigned channel);
/* There is room. */
void hop_apenet_push(struct hop_apenet *card, unsigned direction, unsigned channel, const struct hop_apenet_head *head,
                     const void *bytes);
/* The first packet that came in this direction; NULL: there is none. */
struct hop_apenet_slot *hop_apenet_first(struct hop_apenet *card, unsigned direction, unsigned channel);
void hop_apenet_pop(struct hop_apenet *card, unsigned direction, unsigned channel);
/* The thread that receives packets and credits of other machines. */
enum hop_status hop_apenet_mail_begin(struct hop_apenet *card, struct hop_diag *diag);
void hop_apenet_mail_end(struct hop_apenet *card);

/* Whether a packet of this card waits in a circle; says so to all. */
bool hop_apenet_find_circle(struct hop_apenet *card);

/* A packet is cut where there is a put and room; false: none was. */
bool hop_apenet_cut(struct hop_apenet *card);

/* A packet that is for this rank. */
void hop_apenet_receive(struct hop_apenet *card, const struct hop_apenet_head *head, const void *bytes);
/* Messages end that can come no more, since a card is gone. Takes the lock. */
void hop_apenet_end_arrivals(struct hop_apenet *card);

enum hop_status hop_apenet_router_begin(struct hop_apenet *card, struct hop_diag *diag);
void hop_apenet_router_end(struct hop_apenet *card);

#endif
