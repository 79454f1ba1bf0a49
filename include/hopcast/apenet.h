/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Card: the APEnet+ network card (Ammendola et al. 2013) in software, one for each rank of a team, in a torus of X x
 * Y x Z.
 *
 *     hop_team_start           who runs together: hopcast launch, mpirun, or this process alone
 *     hop_apenet_open            all ranks: a card each, rank r at (r % X, r / X % Y, r / XY)
 *     hop_apenet_register        memory of the host or of a GPU that others may put to
 *     hop_apenet_gather          tells all ranks where that is
 *     hop_apenet_put             bytes of this rank's memory to an address of another rank's process
 *     hop_apenet_wait            what has ended: puts of this rank, and messages of others that have come
 *
 * A put is a message. The card cuts it into packets of 4 KiB, whose heads carry the destination's position, the virtual
 * address and the process id; packets go from card to card, along x first, then y, then z, each the shorter way
 * round, through the cards of all ranks between. The receiving card looks in its list of buffers for the one that has
 * all of the message (BUF_LIST, from its first entry on), looks up each page (HOST_V2P of 4 KiB pages, a GPU_V2P of
 * 64 KiB pages a GPU) and only then writes. Messages of one rank to another arrive in order, and none is lost while
 * the cards on its way live.
 *
 * The paper names neither events nor error codes, nor what keeps packets from blocking each other in a ring: these
 * are this library's. The sender hears of each put once, when its bytes are there or why they are not; the receiver
 * of each message that came to it, good or not. Bytes are only ever written into a registered buffer that has room
 * for the whole message.
 *
 * On one machine cards hand packets on in shared memory, between machines in messages of the group. A thread of each
 * process is its card. Calls may come from several threads at a time but for hop_apenet_open, hop_apenet_close,
 * hop_apenet_gather and hop_apenet_gpu. docs/torus.md says more.
 */
#ifndef HOPCAST_APENET_H
#define HOPCAST_APENET_H

#include <stdint.h>

#include "hopcast/run.h"
#include "hopcast/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_APENET_PACKET_BYTES 4096 /* that a packet carries at most */
#define HOP_APENET_HOST (-1)         /* a place of memory: the host's; else the number of a GPU (hop_apenet_gpu) */
#define HOP_APENET_GPUS_MAX 8
#define HOP_APENET_GATHER_BYTES_MAX 512

struct hop_apenet;

struct hop_apenet_options {
    size_t size;                    /* see hop_version */
    uint32_t shape[3];              /* X, Y, Z; their product is the number of ranks. All 0: a ring of all ranks */
    enum hop_ring_protection rings; /* what keeps packets from blocking each other: dateline, bubble, or nothing */
    uint32_t
        link_packets;  /* room in the buffer behind each channel of a link, 1 to 1024 (bubble: 2); 0: 8. So many credits
                            * its sender has */
    uint32_t tx_bytes; /* of packets that are cut and not yet sent; 0: 32 KiB, at least one packet */
    uint32_t puts;     /* that have not ended yet, at most; 0: 128 */
    uint32_t buffers;  /* entries of BUF_LIST; 0: 256 */
    uint32_t mappings; /* of sources that are not registered, which stay mapped until others need the place; 0: 64 */
    uint32_t process;  /* the id of this process; 0: the system's. Ranks may have different ones */
};

/* All ranks of the team call it with the same shape, rings, link_packets and puts; options may be NULL. A team has
 * one card a rank at a time, and outlives it. HOP_ERR_INVALID: the shape is not one of so many ranks, ranks differ, or
 * a card of the team is open. hop_team_finish fails until the card is closed. hop_team_destroy before that stops the
 * card: others hear that it is gone, its own calls fail with HOP_ERR_LOST, and closing it only gives memory back. */
HOP_API enum hop_status hop_apenet_open(struct hop_team *team, const struct hop_apenet_options *options,
                                        struct hop_apenet **card, struct hop_diag *diag);
/* All ranks call it, whatever has happened. First nothing can be put here any more; then this rank's puts end; then
 * all wait for each other, since packets of others go through this card; memory of its GPUs goes. Events that were
 * not taken are dropped. Fails, and gives all back nevertheless, when a rank is lost. NULL is allowed. */
HOP_API enum hop_status hop_apenet_close(struct hop_apenet *card, struct hop_diag *diag);

/* The coordinates of a rank. */
HOP_API void hop_apenet_position(const struct hop_apenet *card, uint32_t rank, uint32_t position[3]);
/* The process id that a rank's buffers have. */
HOP_API uint32_t hop_apenet_process(const struct hop_apenet *card, uint32_t rank);
/* Gives every rank's bytes, such as addresses, to all: all[r * bytes] are those of rank r. All ranks call it, with
 * the same number of bytes, at most HOP_APENET_GATHER_BYTES_MAX. */
HOP_API enum hop_status hop_apenet_gather(struct hop_apenet *card, const void *mine, size_t bytes, void *all,
                                          struct hop_diag *diag);

/* ---- memory ---- */

/* A GPU of this process, by a back end (hopcast/device.h; NULL: "host", memory that stands for a GPU's) and its index
 * there. Its number is the place of its memory in the calls below. */
HOP_API enum hop_status hop_apenet_gpu(struct hop_apenet *card, const char *device, uint32_t index, int *gpu,
                                       struct hop_diag *diag);
/* Zeroed memory of a GPU, the card's, until it is freed or the card closed. The processor may not touch it. Memory
 * that the program has of the same GPU will do as well in all other calls. */
HOP_API enum hop_status hop_apenet_gpu_allocate(struct hop_apenet *card, int gpu, uint64_t bytes, void **address,
                                                struct hop_diag *diag);
/* It is neither registered nor being put. NULL is allowed. */
HOP_API void hop_apenet_gpu_free(struct hop_apenet *card, int gpu, void *address);
/* Copies between memory of a GPU and of the host, or within either; returns when it is done. */
HOP_API enum hop_status hop_apenet_gpu_copy(struct hop_apenet *card, int gpu, void *to, const void *from,
                                            uint64_t bytes, struct hop_diag *diag);

/* From now on others may put to these bytes, which stay the caller's, mapped and where they are. Place:
 * HOP_APENET_HOST, or a GPU. HOP_ERR_LIMIT: BUF_LIST is full. HOP_ERR_INVALID: not all of it is mapped, or a buffer
 * begins there already. */
HOP_API enum hop_status hop_apenet_register(struct hop_apenet *card, void *address, uint64_t bytes, int place,
                                            struct hop_diag *diag);
/* By its beginning. Once it returns nothing is written there any more; messages on their way there, and puts from
 * there, end with HOP_APENET_TORN_DOWN or HOP_APENET_UNREGISTERED. */
HOP_API enum hop_status hop_apenet_unregister(struct hop_apenet *card, void *address, struct hop_diag *diag);

/* ---- puts and events ---- */

enum hop_apenet_error {
    HOP_APENET_FINE,
    HOP_APENET_UNREGISTERED,  /* no buffer is registered where the message was to go */
    HOP_APENET_OUT_OF_BOUNDS, /* it begins in a buffer and would end outside */
    HOP_APENET_WRONG_PROCESS, /* the destination is another process's, or its card is that of another one */
    HOP_APENET_TORN_DOWN,     /* the buffer, or the source, was unregistered while the message was on its way */
    HOP_APENET_NO_ROOM,       /* too many events wait at the receiver */
    HOP_APENET_UNREADABLE, /* the source could not be read, or the destination not be written: a GPU's driver refused */
    HOP_APENET_LOST,       /* a rank died whose card the message, or the answer to it, has to go through */
    HOP_APENET_DEADLOCK    /* packets block each other in a circle (rings: none) */
};
/* In a few words: "no buffer is registered there". */
HOP_API const char *hop_apenet_error_text(enum hop_apenet_error error);

struct hop_apenet_put {
    uint32_t rank;      /* destination */
    uint32_t process;   /* hop_apenet_process of it */
    uint64_t address;   /* virtual, there: anywhere in a registered buffer */
    const void *source; /* any memory of this process; mapped on the fly where it is not registered */
    uint64_t bytes;     /* 0: only the events; the address does not count then */
    int place;          /* of the source: HOP_APENET_HOST, or a GPU */
    uint64_t tag;       /* both events have it; the card takes no notice */
};
/* Hands a put to the card, waiting while as many as the options say have not ended. The source may not change before
 * its event has come. id (NULL: not wanted): that of its event, never 0. HOP_ERR_LIMIT: a million events wait to be
 * taken here. HOP_ERR_LOST, HOP_ERR_DEADLOCK: this card works no more. HOP_ERR_INVALID: there is no such rank or place,
 * or not all of the source is mapped. All else that goes wrong is an event. */
HOP_API enum hop_status hop_apenet_put(struct hop_apenet *card, const struct hop_apenet_put *put, uint64_t *id,
                                       struct hop_diag *diag);

enum hop_apenet_event_kind {
    HOP_APENET_SENT,     /* a put of this rank has ended; without error all its bytes are there */
    HOP_APENET_RECEIVED, /* a message has come; without error all its bytes are there */
    HOP_APENET_GONE,     /* the card of `rank` is gone, with its process or before it; said once a rank */
    HOP_APENET_STUCK     /* this card works no more: hop_apenet_failure says why */
};
struct hop_apenet_event {
    enum hop_apenet_event_kind kind;
    enum hop_apenet_error error;
    uint32_t rank;    /* the other one */
    uint64_t id, tag; /* of the put; received: the id is the sender's */
    uint64_t address; /* at the destination */
    uint64_t
        bytes; /* that were written: all of the message, where there is no error. Sent, with HOP_APENET_LOST or
                * _DEADLOCK: 0,
                       * which means that it is not known */
};
/* The next event, in the order in which they came; false: there is none. */
HOP_API bool hop_apenet_poll(struct hop_apenet *card, struct hop_apenet_event *event);
/* The same, waiting so many seconds (INFINITY: for ever) until there is one. */
HOP_API bool hop_apenet_wait(struct hop_apenet *card, double timeout_s, struct hop_apenet_event *event);

/* ---- looking ---- */

/* Why this card works no more; HOP_OK: it works. HOP_ERR_DEADLOCK names the circle of buffers, each of which is full
 * of packets that wait for the next one. */
HOP_API enum hop_status hop_apenet_failure(struct hop_apenet *card, struct hop_diag *diag);

struct hop_apenet_counts {
    uint64_t packets_sent, packets_received, packets_forwarded; /* of data; forwarded: between others, answers, too */
    uint64_t packets_dropped;                                   /* on their way to a card that is gone */
    uint64_t entries_scanned;                                   /* of BUF_LIST */
    uint64_t pages_looked_up;
    uint64_t mappings_made, mappings_found, mappings_evicted; /* of sources that are not registered */
};
/* So far. */
HOP_API void hop_apenet_count(struct hop_apenet *card, struct hop_apenet_counts *counts);

#ifdef __cplusplus
}
#endif
#endif
