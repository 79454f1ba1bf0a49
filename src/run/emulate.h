/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Emulate: a topology's links and routes as the flat table of the emulated device, shared by the ranks of one
 * machine. The first of them serves the links, by a thread.
 */
#ifndef HOP_RUN_EMULATE_H
#define HOP_RUN_EMULATE_H

#include "device/emulated.h"
#include "run/plan.h"

struct hop_emulator;

/* All ranks of the machine call it. */
enum hop_status hop_emulator_create(struct hop_plan *plan, struct hop_emulator **emulator,
                                    struct hop_emulation **emulation, struct hop_diag *diag);
void hop_emulator_destroy(struct hop_emulator *emulator); /* NULL is allowed */
/* HOP_NO_WAY: within one device. */
uint32_t hop_emulator_way(const struct hop_emulator *emulator, const char *from, const char *to);

#endif
