/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives that come again. Among many ranks one is as many messages as there are ranks, and a program does a few over
 * and over: each is decomposed once, and how often it came is multiplied out at the end.
 */
#ifndef HOP_MPI_REPEATS_H
#define HOP_MPI_REPEATS_H

#include "mpi/decompose.h"

/* Among so many ranks. */
void hop_repeats_begin(int ranks);
/* Counts a call, whichever it is; the sum of its messages' bytes. */
uint64_t hop_repeats_count(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row, const uintptr_t *arguments);
/* Before the counts are read. */
void hop_repeats_end(void);

#endif
