/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The engine: what the layer between a program and its MPI does beyond counting, with the whole library behind it. It
 * is a module of its own, hopcast-mpi-engine.so, loaded at MPI_Init where rank 0's environment asks for something of
 * it, since the layer itself is in every process of a job. It talks to the MPI by the shim alone (mpi_shim.h).
 *
 *     layer -> engine -> shim -> the MPI
 */
#ifndef HOP_MPI_ENGINE_H
#define HOP_MPI_ENGINE_H

#include "mpi/calls.h"
#include "mpi/mpi_shim.h"

#define HOP_MPI_ENGINE_VERSION 6 /* of this table */

/* What rank 0's environment may ask for, in this order. */
#define HOP_MPI_ASKED_LIST(X)                                                                                          \
    X(ASKED_COLLECTIVES, "HOPCAST_MPI_COLLECTIVES")                                                                    \
    X(ASKED_REPRODUCIBLE, "HOPCAST_MPI_REPRODUCIBLE")                                                                  \
    X(ASKED_MAP, "HOPCAST_MAP")                                                                                        \
    X(ASKED_RECORD, "HOPCAST_MPI_RECORD")                                                                              \
    X(ASKED_RECORD_COLLECTIVES, "HOPCAST_MPI_RECORD_COLLECTIVES")                                                      \
    X(ASKED_RECORD_LIMIT, "HOPCAST_MPI_RECORD_LIMIT")                                                                  \
    X(ASKED_RECORD_TIMES, "HOPCAST_MPI_RECORD_TIMES")                                                                  \
    X(ASKED_WAITING, "HOPCAST_MPI_WAITING")
enum hop_mpi_asked {
#define HOP_MPI_ASKED(code, name) code,
    HOP_MPI_ASKED_LIST(HOP_MPI_ASKED)
#undef HOP_MPI_ASKED
        HOP_MPI_ASKED_COUNT
};
enum { HOP_MPI_ASKED_SIZE = 4096 };

/* Whose a call was. */
enum hop_mpi_whose {
    HOP_MPI_OURS,
    HOP_MPI_LIBRARYS,
    HOP_MPI_LEFT /* the library's, and so are all with the same arguments and counts in arrays, but other buffers, until `forget` */
};

/* The job, which stays as it is until MPI_Finalize. */
struct hop_mpi_job {
    const struct hop_mpi_shim *mpi;
    int rank, ranks;
    const char *library; /* what the MPI calls itself, "MPICH Version: 4.0.2" */
    /* By enum hop_mpi_asked what rank 0's environment says, on all ranks alike; "": nothing. */
    const char (*asked)[HOP_MPI_ASKED_SIZE];
    bool verbose; /* HOPCAST_VERBOSE=1, here */
    /* Ends the job, what was counted so far kept; says nothing. */
    void (*give_up)(const char *why);
    /* A communicator has gone, and its handle may become another's. */
    void (*forget)(void);
};

/* No call of it prints more than what a user is to know, and none ends the program but where ranks are lost. */
struct hop_mpi_engine {
    int version;
    int calls; /* HOP_MPI_CALL_COUNT of its build */
    /* All ranks call it behind MPI_Init. takes[call]: whether `instead` is to be asked of it from now on. */
    void (*begin)(const struct hop_mpi_job *job, bool takes[HOP_MPI_CALL_COUNT]);
    /* A call with its arguments, and its result where it was done. */
    enum hop_mpi_whose (*instead)(enum hop_mpi_call call, const uintptr_t *arguments, int *error);
    void (*comm_free)(uintptr_t comm); /* before its ranks free it; collective */
    void (*end)(void);                 /* before MPI_Finalize; all ranks call it */
    /* All ranks call it behind begin: whether calls are to be shown to the two that follow. */
    bool (*record)(const struct hop_mpi_job *job);
    /* The arguments by which the call is to be made: those given, or the same with a place for what it says of messages. */
    const uintptr_t *(*enter)(enum hop_mpi_call call, const uintptr_t *arguments);
    /* It went well, with the arguments that enter gave, and ended then. */
    void (*leave)(enum hop_mpi_call call, const uintptr_t *arguments, uint64_t end_ns, bool paused);
    /* Behind end: what it has to say in the traffic file, as members of the JSON object each with a comma before it, and in the
     * summary. */
    const char *(*told_json)(void);
    const char *(*told_text)(void);
    void (*write)(void); /* behind all that, what it writes itself */
    /* Before the MPI's own MPI_Init, on ranks whose environment has it: HOPCAST_MAP. NULL, behind it: it shall not count. */
    void (*before)(const char *map);
    /* Whether a thread that is to start with that routine is to call `thread` first. */
    bool (*takes_thread)(const void *routine);
    void (*thread)(void);
    void (*look)(void); /* at a thread's calls 1, 2, 4, 8 ... */
};

#define HOP_MPI_ENGINE_SYMBOL "hop_mpi_engine_table"
const struct hop_mpi_engine *hop_mpi_engine_table(void);

#endif
