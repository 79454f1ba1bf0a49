/* SPDX-License-Identifier: BSD-3-Clause */
/* Persistent requests: what was described once is counted each time that it is started. */
#ifndef HOP_MPI_PERSISTENT_H
#define HOP_MPI_PERSISTENT_H

#include "mpi/decompose.h"

/* Takes the messages; an older request of that handle is forgotten. */
void hop_persistent_add(uintptr_t request, struct hop_mpi_messages *messages);
void hop_persistent_forget(uintptr_t request);
/* Counts them; the sum of their bytes. */
uint64_t hop_persistent_start(uintptr_t request);

#endif
