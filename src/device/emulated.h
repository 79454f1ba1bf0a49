/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emulated links: a machine that the host does not have, at a scaled-down speed.
 *
 *     copies --> source engine --> link --> buffer --> link --> buffer --> link --> arrived
 *                (one at a time)            credits             credits
 *
 * A machine is a flat table of directed links, each with a rate and a buffer at its far end, and of ways, each a list of
 * links. A copy on a way is cut into chunks. A chunk moves from link to link in real
 * time: it needs its turn on the link (round robin among the links that chunks come from, a source being one) and
 * credit, room in the buffer at the link's far end, which it gives back once it has left that buffer. A buffer keeps a
 * queue for each link that it leads to, all in one pool of credit. So chunks wait for each other, and back-pressure
 * reaches back to the sources. The copy's process moves the bytes once they have arrived.
 *
 * One process or thread serves: the machine is its own, and it alone moves chunks on (hop_emulation_serve), by the
 * clock; what it does late, it does as of the time at which it was due. Copies lie in memory that all processes share,
 * the emulation. The copies of a process that dies travel on as if it lived.
 *
 *     emulated_build.c    the tables, checked
 *     emulated_links.c    chunks on links, in time that somebody else gives: a simulation
 *     emulated_serve.c    the clock, and the hand-over between processes that copy and the one that serves
 *     emulated.c          a host device's copies and reductions
 *
 * Times and rates in this header are the emulated machine's; by the clock on the wall all is `slower` times as slow.
 */
#ifndef HOP_DEVICE_EMULATED_H
#define HOP_DEVICE_EMULATED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/shared.h"

struct hop_emulated_link {
    double rate_Bps;
    double latency_s;
    uint32_t buffer_chunks; /* at its far end, beyond what is on its way during the latency; at least 2; 0: 8 */
};
struct hop_emulated_way {
    const uint32_t *links;
    uint32_t link_count; /* 1 and more */
    uint32_t crossing;   /* position in links from which on chunks take 1 / (1 - tau) times as long: the link that
                          * leaves the root complex that it crosses; link_count: none */
    double tau;          /* 0 to less than 1 */
    double pieces;       /* how many chunks one is cut into at `crossing`, in the mean, 1 to 16; 0: 1 */
    uint32_t source;     /* copies of one source engine take turns, first come first served; UINT32_MAX: no engine */
};
struct hop_emulation_options {
    const struct hop_emulated_link *links;
    const struct hop_emulated_way *ways;
    uint32_t link_count, way_count, source_count;
    uint32_t copies;      /* under way at once, all processes together: more wait for a place; 0: 256 */
    uint64_t chunk_bytes; /* 0: 4096 */
    double slower;        /* 1 and more; how many times as slow as the machine; 0: 1000 */
    double memory_Bps;    /* what a device reads and writes in its own memory, at most; 0: as the processor does */
};

struct hop_emulation; /* in shared memory, position independent */
struct hop_emulated_machine;

/* emulation: new memory, which others attach to. The machine is for who serves, a thread of this process or a child of
 * it. The options are copied. */
enum hop_status hop_emulation_create(const struct hop_emulation_options *options, struct hop_shared *emulation,
                                     struct hop_emulated_machine **machine, struct hop_diag *diag);
void hop_emulated_machine_destroy(struct hop_emulated_machine *machine); /* NULL is allowed */

/* ---- serving (emulated_serve.c) ---- */

/* Moves chunks until hop_emulation_stop. Sleeps while nothing is due. Returns, too, when all chunks wait for each other
 * in a circle; who copies is told then. An emulation has one server: for a second one it returns at once. */
void hop_emulation_serve(struct hop_emulated_machine *machine);
void hop_emulation_stop(struct hop_emulation *emulation); /* async-signal-safe; copies fail from here on */

/* ---- copying, any process and thread (emulated_serve.c) ---- */

/* Since creation. */
struct hop_emulated_times {
    double posted_s, start_s, end_s;
};
/* Such a time by CLOCK_MONOTONIC, in seconds. */
double hop_emulation_clock_s(const struct hop_emulation *emulation, double time_s);
/* Of what a device does in its own memory, from start_s on, and no sooner done than by now: when it ends, at
 * memory_Bps. Both by CLOCK_MONOTONIC. Returns then; fails when the emulation was stopped. */
enum hop_status hop_emulation_hold(struct hop_emulation *emulation, double start_s, double traffic_bytes, double *end_s,
                                   struct hop_diag *diag);
/* Returns when the bytes are there: their time on the links has passed and they have been copied. times: may be NULL.
 * Fails when the emulation was stopped, or its server died or found a circle. */
enum hop_status hop_emulation_copy(struct hop_emulation *emulation, uint32_t way, void *to, const void *from,
                                   uint64_t bytes, struct hop_emulated_times *times, struct hop_diag *diag);

#endif
