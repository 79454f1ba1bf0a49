/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory with a name (POSIX), for processes of one machine and one user.
 *
 *     /dev/shm/hopcast-<pid>-<start time of that process>-<number>
 *
 * A name lives from creation until all who need the memory have attached to it; from then on nothing of it can stay
 * behind, however its processes end. A name whose process is gone is swept away by whoever comes next.
 */
#ifndef HOP_BASE_SHARED_H
#define HOP_BASE_SHARED_H

#include <stdbool.h>
#include <stddef.h>

#include "hopcast/status.h"

enum { HOP_SHARED_NAME_SIZE = 64 };

struct hop_shared {
    void *memory; /* NULL: none */
    size_t size;
    char name[HOP_SHARED_NAME_SIZE];
    bool named; /* created here and not yet withdrawn */
};

/* Zeroed memory under a new name, its pages there already (an overfull /dev/shm fails here, not with SIGBUS later). */
enum hop_status hop_shared_create(size_t size, struct hop_shared *shared, struct hop_diag *diag);
enum hop_status hop_shared_attach(const char *name, struct hop_shared *shared, struct hop_diag *diag);
void hop_shared_withdraw(struct hop_shared *shared); /* the name goes, the memory stays */
void hop_shared_finish(struct hop_shared *shared);   /* withdraws and unmaps; zeroed is allowed */
/* Removes the names of processes that are gone; how many. */
unsigned hop_shared_sweep(void);
/* Whether a process lives and is the one that started at that time (clock ticks since boot); 0: not asked. */
bool hop_process_lives(long pid, unsigned long long started);
unsigned long long hop_process_started(long pid); /* 0: not known */

#endif
