/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emulate: a topology's links and routes as the flat table of the emulated device, shared by the ranks of one
 * machine. The first of them serves the links, by a thread.
 *
 *     peer      gpu0 -> gpu1             one way
 *     staged    gpu0 -> host0 -> gpu1    two ways, by the host memory nearest to the source, as predictions have it
 *
 * Like there, a way holds the copy engine of its source, or of its destination where that one's rank fetches the bytes.
 */
#ifndef HOP_RUN_EMULATE_H
#define HOP_RUN_EMULATE_H

#include "device/emulated.h"
#include "run/program.h"

struct hop_emulator;

/* All ranks of the machine call it. */
enum hop_status hop_emulator_create(struct hop_program *program, struct hop_emulator **emulator,
                                    struct hop_emulation **emulation, struct hop_diag *diag);
void hop_emulator_destroy(struct hop_emulator *emulator); /* NULL is allowed */
/* The ways of a copy: straight, into host memory, out of it; HOP_MEMORY_WAY: within one device, HOP_NO_WAY: it is never
 * gone. */
enum { HOP_LEG_PEER, HOP_LEG_IN, HOP_LEG_OUT, HOP_LEGS };
void hop_emulator_ways(const struct hop_emulator *emulator, const struct hop_op *op, uint32_t ways[HOP_LEGS]);
/* Whether the schedule sends it through host memory; `via auto` says so where there is no way straight on. */
bool hop_emulator_is_staged(const struct hop_emulator *emulator, const struct hop_op *op);

#endif
