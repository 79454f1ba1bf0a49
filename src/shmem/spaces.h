/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Spaces: heaps in other memories than the host's, and how bytes get there.
 *
 *     memory here --step--> slot of this PE --step by that PE's desk--> device there          (put)
 *     memory here <--step-- slot of this PE <--step by that PE's desk-- device there          (get)
 *     memory here --step--> slot of this PE --message--> that PE's thread --> device there    (put, another machine)
 *
 * A slot is host memory that all PEs of the machine have mapped. Every PE has a desk: a thread that does what other PEs order of
 * its device. Where a device reaches another one's memory, a copy goes there directly instead.
 *
 *     spaces.c          spaces, their memory, copies by this PE's device
 *     desk.c            slots, orders, and the thread that serves them
 *     space_profile.c   what each step takes, measured and stored
 *     space_moves.c     a transfer: directly, or in packets as the model chooses
 *     shmemx_calls.c    the interface
 */
#ifndef HOP_SHMEM_SPACES_H
#define HOP_SHMEM_SPACES_H

#include <shmemx.h>

#include "device/accelerator.h"
#include "hopcast/tune.h"
#include "shmem/extents.h"
#include "shmem/world.h"

/* Steps that are measured: by the processor into a slot; by this PE's device out of its memory and into it; the same by a
 * desk, with the order and its answer; between machines. */
enum hop_shmem_step {
    HOP_SHMEM_COPY,
    HOP_SHMEM_READ,
    HOP_SHMEM_WRITE,
    HOP_SHMEM_SERVED_READ,
    HOP_SHMEM_SERVED_WRITE,
    HOP_SHMEM_NETWORK, /* from PE 0 to the first PE of another machine; where there is none, it is not measured */
    HOP_SHMEM_STEPS
};

struct shmemx_internal_space {
    uint32_t number;
    shmemx_space_config_t config;
    bool detached;
    const struct hop_device_ops *ops;
    struct hop_device *own, *served; /* as this PE's threads use it, one at a time (lock), and as its desk does */
    pthread_mutex_t lock, serve_lock;
    struct hop_accelerator accelerator;
    char *begin;   /* this PE's part */
    char **direct; /* where the own device reaches another PE's part; NULL: it does not */
    struct hop_extents extents;
    struct hop_stages *profile; /* of enum hop_shmem_step; NULL: not measured */
    size_t forced;              /* bytes of packets; SIZE_MAX: as the model says */
    struct shmemx_internal_space *next;
};
typedef struct shmemx_internal_space hop_shmem_space;

/* ---- spaces (spaces.c) ---- */

/* All PEs; NULL: one of them cannot, and diag says why where it is this one. */
hop_shmem_space *hop_shmem_space_create(const shmemx_space_config_t *config, struct hop_diag *diag);
void hop_shmem_space_destroy(hop_shmem_space *space);
hop_shmem_space *hop_shmem_space_first(void);
/* In whose part of this PE an address is; NULL: in none, or it is detached. */
hop_shmem_space *hop_shmem_space_of(const void *address);
hop_shmem_space *hop_shmem_space_numbered(uint32_t number);
/* By the device, from or to its memory, on the calling thread. */
void hop_shmem_space_copy(hop_shmem_space *space, void *to, const void *from, size_t bytes, const char *who);
enum hop_status hop_shmem_space_serve(hop_shmem_space *space, void *to, const void *from, size_t bytes,
                                      struct hop_diag *diag);

/* ---- desks (desk.c) ---- */

enum { HOP_SHMEM_SLOTS = 4 };
#define HOP_SHMEM_SLOT_BYTES ((size_t)8 << 20)

/* All PEs, before the first space is used; and after the last one is gone. */
void hop_shmem_desk_open(void);
void hop_shmem_desk_close(void);
char *hop_shmem_slot(uint32_t slot);
/* Orders a copy between a slot of this PE and a space's part of that PE, and whether it is done; one thread at a time. */
void hop_shmem_order(int pe, uint32_t slot, bool writes, const hop_shmem_space *space, uint64_t offset, size_t bytes);
void hop_shmem_order_wait(int pe, uint32_t slot);

/* ---- what steps take (space_profile.c) ---- */

/* All PEs; again: though it is stored; symmetric: HOP_SHMEM_SLOT_BYTES to measure the network with, where there is one. */
void hop_shmem_profile(hop_shmem_space *space, bool again, void *symmetric);
/* A transfer of these steps, 3 at most, all of them overlapping or none; packets of `most` bytes at most. */
void hop_shmem_choose(hop_shmem_space *space, const enum hop_shmem_step *steps, uint32_t count, size_t bytes,
                      size_t most, shmemx_choice_t *choice);

/* ---- transfers (space_moves.c) ---- */

/* False: neither address is in a space. */
bool hop_shmem_space_move(bool puts, void *symmetric, void *local, size_t bytes, int pe, const char *who);
/* False: there is nothing to choose. */
bool hop_shmem_space_explain(bool puts, const void *symmetric, const void *local, size_t bytes, int pe,
                             shmemx_choice_t *choice);

/* All that is left of them (shmemx_calls.c). */
void hop_shmem_spaces_destroy(void);

#endif
