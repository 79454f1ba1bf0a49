/* SPDX-License-Identifier: BSD-3-Clause */
/* Kernel copies: memory of other processes of this machine that is not shared, through the kernel (process_vm_readv). */
#ifndef HOP_RUN_KERNEL_COPY_H
#define HOP_RUN_KERNEL_COPY_H

#include "run/program.h"

/* Bytes somewhere: pid 0: in this process. */
struct hop_kernel_place {
    char *address;
    long pid;
};

enum { HOP_BOUNCE_BYTES = 512 << 10 };

/* Whether the ranks of this machine may do so, all of each other's; asked once for a team, whose far_pid says it of each.
 * All call it. */
enum hop_status hop_kernel_ask(struct hop_team *team, bool *may, struct hop_diag *diag);
/* Copies; through program->bounce where both are elsewhere. Waits for the loss to be found when a process is
 * gone. */
void hop_kernel_copy(struct hop_program *program, struct hop_kernel_place to, struct hop_kernel_place from,
                    uint64_t bytes);

#endif
