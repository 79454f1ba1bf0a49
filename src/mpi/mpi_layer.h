/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The layer between a program and its MPI: when it is on, and what a call that has ended adds to the counts.
 *
 *     program -> wrapped_calls.c -> the MPI
 *                     |
 *                mpi_layer.c -> decompose.c -> traffic_counts.c -> traffic_file.c
 *                     |
 *                 the engine, where it is asked for (mpi_engine.h)
 */
#ifndef HOP_MPI_LAYER_H
#define HOP_MPI_LAYER_H

#include "mpi/decompose.h"

/* On from a successful MPI_Init to MPI_Finalize, or from and to where sessions are (docs/mpi.md). */
bool hop_layer_is_on(void);
/* Before MPI_Init: what the MPI may look at when it begins. */
void hop_layer_prepare(void);
/* Behind MPI_Init: finds out which MPI is there, and begins to count if it is one that is known. */
void hop_layer_begin(void);
/* Without MPI_Init: behind MPI_Session_init; behind what makes a communicator of a group, at that address; before
 * MPI_Session_finalize. */
void hop_layer_session(void);
void hop_layer_session_comm(uintptr_t comm);
void hop_layer_session_end(void);
/* Before MPI_Finalize: writes what all ranks have counted. */
void hop_layer_end(void);
/* Before MPI_Abort, or without MPI_Finalize: writes what this rank has. */
void hop_layer_break_off(const char *why);
/* Whether calls are counted: not with HOPCAST_MPI_TRAFFIC=none. */
bool hop_layer_counts(void);
/* Calls are neither counted nor recorded nor looked at, but by the engine's collectives: they may take the short way.
 * */
extern bool hop_layer_quick;
/* Calls that the engine is to be asked of. What it left to the MPI stays left as long as the epoch is the same, which is
 * never 0. */
extern bool hop_layer_takes[HOP_MPI_CALL_COUNT];
extern unsigned hop_layer_epoch;
/* Whether the engine did the call, and with what result. */
enum hop_mpi_whose hop_layer_instead(enum hop_mpi_call call, const uintptr_t *arguments, int *error);
/* Around a call, where calls are recorded: the arguments to make it by, and that it went well. */
bool hop_layer_records(void);
const uintptr_t *hop_layer_enter(enum hop_mpi_call call, const uintptr_t *arguments);
void hop_layer_leave(enum hop_mpi_call call, const uintptr_t *arguments, uint64_t end_ns, bool paused);
/* At a thread's calls 1, 2, 4, 8 ... */
void hop_layer_look(void);
/* Whether the engine wants to be asked when a thread starts with that routine, and asking it, in that thread. */
bool hop_layer_takes_thread(const void *routine);
void hop_layer_thread(void);
/* How many ranks a communicator has; INT_MAX: nobody knows, or it joins two groups. */
int hop_layer_ranks(uintptr_t comm);
/* Before a communicator goes, at that address. */
void hop_layer_comm_free(uintptr_t comm);
/* Before a request goes, at that address. */
void hop_layer_request_free(uintptr_t request);
/* Around a call that may end receives: the arguments by which to make it; those, when it went well. */
const uintptr_t *hop_layer_receiving(const struct hop_mpi_row *row, const uintptr_t *arguments);
void hop_layer_received(const struct hop_mpi_row *row, const uintptr_t *arguments, bool paused);
/* A call that went well: what a persistent request that it made will send; its messages, and their bytes. */
void hop_layer_describe(const struct hop_mpi_row *row, const uintptr_t *arguments);
uint64_t hop_layer_count(const struct hop_mpi_row *row, const uintptr_t *arguments);

/* The function of that name in the MPI that is there; NULL: it has none. */
void *hop_layer_next(const char *name);

#endif
