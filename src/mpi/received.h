/* SPDX-License-Identifier: BSD-3-Clause */
/* What this process receives into a device's memory by messages, told by statuses when the receives end. Nothing is
 * done before a driver of such memory is there. */
#ifndef HOP_MPI_RECEIVED_H
#define HOP_MPI_RECEIVED_H

#include "mpi/decompose.h"

/* The arguments by which to make the call: those given, or the same with a place for statuses. */
const uintptr_t *hop_received_enter(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row,
                                    const uintptr_t *arguments);
/* It went well, with the arguments that enter gave. paused: nothing counts. */
void hop_received_leave(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row, const uintptr_t *arguments,
                        bool paused);

#endif
