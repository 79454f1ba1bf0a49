/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Bound buffers: the caller's own memory as buffers of a program, and how other ranks get at it.
 *
 *     own       nobody else touches it: operations work on it where it is
 *     window    small, or the device cannot reach it: what is read is copied into the program's memory when a launch
 *               begins, what was written is copied out when it ends
 *     direct    others reach it where it is: as threads of one process, in a region that all have mapped, or by the
 *               kernel, which copies between processes (kernel_copy.h). Where it refuses, memory outside of regions has a
 *               window, too
 *
 * Small programs in which some rank hears of no other one have many sets of windows, scratch and flags (eager slots):
 * such a rank runs ahead until it comes round to a set that somebody still reads.
 */
#ifndef HOP_RUN_BINDINGS_H
#define HOP_RUN_BINDINGS_H

#include "run/program.h"

/* Of a direct buffer, by its owner for the launch that it enters; a region's number plus one, or one of these. */
enum { HOP_AT_POINTER = 0, HOP_AT_WINDOW = UINT16_MAX };
struct hop_published {
    _Alignas(64) uint64_t where; /* address in its process, or offset in its part of the region */
    uint32_t region;
};

/* A piece of a window: in the caller's buffer and, for each set, in the program's memory. */
struct hop_window_part {
    uint64_t offset, bytes;
    void **places;
};

/* A place of a step of this rank in a bound buffer of its own. */
struct hop_bound_slot {
    uint32_t step, place;
    uint64_t offset;
};

struct hop_bound_buffer {
    uint32_t buffer, region;
    char *address, *before; /* before: while others are bound, too */
    char *base, **pointed;  /* where it is for steps; where those of each set have it */
    struct hop_window_part *in, *out;
    uint32_t in_count, out_count;
    struct hop_bound_slot *slots;
    uint32_t slot_count;
};

struct hop_bound {
    struct hop_bound_buffer *own; /* this rank's */
    uint32_t own_count;
    bool complete;                   /* all are bound */
    struct hop_published *published; /* per buffer of the layout, in shared memory */
};

/* Which buffers are the caller's, of what kind, and how many sets there are; before it is compiled. */
void hop_bound_plan(struct hop_program *program);
size_t hop_bound_shared_size(const struct hop_program *program);
/* Once places have addresses. */
void hop_bound_create(struct hop_program *program);
/* A launch begins: what is given goes into windows, and direct buffers are published. It ends: what was written comes out. */
void hop_bound_enter(struct hop_program *program);
void hop_bound_leave(struct hop_program *program);
/* Where a step's places are in this launch, of those whose owners publish them. */
void hop_bound_resolve(struct hop_program *program, struct hop_run_step *step);
/* Where byte 0 of a buffer of this rank is; NULL: it is not bound, which the other one says. */
char *hop_bound_address(const struct hop_program *program, const struct hop_run_buffer *buffer);
enum hop_status hop_bound_missing(const struct hop_program *program, const struct hop_run_buffer *buffer,
                                  struct hop_diag *diag);
/* All or none of them; `find` gives the buffer of a handle, which is the caller's. */
enum hop_status hop_bound_set(struct hop_program *program, const struct hop_binding *bindings, uint32_t count,
                              const struct hop_run_buffer *(*find)(const struct hop_program *program, uint32_t handle),
                              struct hop_diag *diag);

#endif
