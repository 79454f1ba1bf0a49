/* SPDX-License-Identifier: BSD-3-Clause */
/* What a call says of messages: its requests as they were before it, and statuses, which are ours where the program
 * wants none. */
#ifndef HOP_MPI_COMPLETIONS_H
#define HOP_MPI_COMPLETIONS_H

#include "mpi/decompose.h"

/* Of one call at a time: a thread's. */
struct hop_completions {
    uintptr_t words[16]; /* the arguments by which it is made */
    uintptr_t *handles;  /* its requests */
    uint32_t handle_count, handle_room;
    char *statuses;
    uint32_t status_room;
};

/* Before it: the arguments by which to make it. */
const uintptr_t *hop_completions_enter(struct hop_completions *c, const struct hop_mpi_shim *mpi,
                                       const struct hop_mpi_row *row, const uintptr_t *arguments);
/* Behind it: each request that it ended, and the place of its status; statuses may be those that MPI ignores. False:
 * it asked in vain. */
typedef void hop_completion(uintptr_t handle, const void *statuses, int index);
bool hop_completions_each(const struct hop_completions *c, const struct hop_mpi_row *row, const uintptr_t *arguments,
                          hop_completion *ended);

#endif
