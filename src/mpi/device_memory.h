/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a buffer lies in a GPU's memory, by NVIDIA's or AMD's driver, once the program has loaded one; without it
 * all memory is the host's. */
#ifndef HOP_MPI_DEVICE_MEMORY_H
#define HOP_MPI_DEVICE_MEMORY_H

#include <stddef.h>

#include "mpi/traffic_counts.h"

enum hop_mpi_memory hop_mpi_memory_of(const void *buffer);
/* By whom a clock is read anyway: its ticks before each call of a thread, so that a driver is not looked for all the
 * time. */
extern __thread uint64_t hop_memory_ticks;

/* Whether there is such a driver. */
bool hop_mpi_has_driver(void);
/* By that driver, in the context that the calling thread has; false: it does not. */
bool hop_mpi_device_copy(void *to, const void *from, size_t bytes);

#endif
