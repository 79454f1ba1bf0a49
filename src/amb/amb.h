/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The benchmark's files, the lower one first:
 *
 *     amb_words.c      what 2d, 3d and coll stand for
 *     amb_exchange.c   what a rank sends and receives of a pattern, and what is in the bytes
 *     amb_buffers.c    where the bytes are, and how they get to MPI
 *     amb.c            the job, and each pair of patterns with each size
 *     amb_json.c       what came out
 */
#ifndef HOP_AMB_H
#define HOP_AMB_H

#include "amb/amb_mpi.h"
#include "base/base.h"
#include "device/device.h"
#include "hopcast/amb.h"
#include "hopcast/traffic.h"

/* ---- amb_words.c ---- */

#define HOP_AMB_NONE "none"
/* The pattern in words that the pattern room knows, the arena's. Whether it is of as many ranks is not looked at. */
const char *hop_amb_words(struct hop_arena *arena, const char *word, uint32_t ranks, double weight, bool wrap);

/* ---- amb_exchange.c ---- */

struct hop_amb_peer {
    uint32_t rank;
    uint64_t offset, bytes; /* in the buffer out of which it gets, or into which it gives */
};

/* What one rank does of a pattern. */
struct hop_amb_side {
    enum hop_memory memory; /* whose the pattern is */
    uint32_t rank;
    bool together;   /* an alltoall of the group in which it and those that it sends to are, itself among them */
    uint32_t colour; /* of that group: its lowest rank */
    struct hop_amb_peer *to, *from; /* ascending by rank */
    uint32_t to_count, from_count;
    uint64_t out_bytes, in_bytes; /* of the buffers */
    uint64_t all_bytes;           /* that all ranks send to others */
};
/* Of the pattern in words, "none" too, with messages of so many bytes; the arena's. HOP_ERR_LIMIT: too many in one. */
enum hop_status hop_amb_side_make(const char *words, uint64_t bytes, enum hop_memory memory, uint32_t rank,
                                  struct hop_arena *arena, struct hop_amb_side *side, struct hop_diag *diag);
/* What this rank sends in that iteration, and how many bytes of what it received are not what was sent. */
void hop_amb_fill(const struct hop_amb_side *side, uint64_t iteration, char *out);
uint64_t hop_amb_wrong(const struct hop_amb_side *side, uint64_t iteration, const char *in);

/* ---- amb_buffers.c ---- */

/* Of a side: memory of the host, and, for a pattern of devices, the device's. */
struct hop_amb_buffers {
    struct hop_device *device; /* NULL: none */
    bool staged;               /* MPI gets the host's, else the device's */
    char *out, *in;
    void *device_out, *device_in;
    uint64_t out_bytes, in_bytes;
    struct hop_failure failure; /* the device's; exchanges go on */
    struct hop_diag diag;
};
/* Fills it from what is set: device, staged and how many bytes. To be finished also where it fails. */
enum hop_status hop_amb_buffers_make(struct hop_amb_buffers *buffers, struct hop_diag *diag);
void hop_amb_buffers_finish(struct hop_amb_buffers *buffers);
/* What was written to `out` is what will be sent, and `in` is what has come. */
void hop_amb_buffers_load(struct hop_amb_buffers *buffers);
void hop_amb_buffers_unload(struct hop_amb_buffers *buffers);
/* What MPI gets. Where bytes are staged, these copy them before MPI sends and after it has received. */
const char *hop_amb_source(const struct hop_amb_buffers *buffers);
char *hop_amb_target(const struct hop_amb_buffers *buffers);
void hop_amb_before(struct hop_amb_buffers *buffers);
void hop_amb_after(struct hop_amb_buffers *buffers);

#endif
