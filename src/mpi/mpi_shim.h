/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the profiling layer asks of the MPI that it finds in the process. Handles differ in size and value from MPI to
 * MPI, so src/mpi/mpi_shim.c is compiled once against each (hopcast-mpi-openmpi.so, hopcast-mpi-mpich.so) and loaded
 * when MPI_Init returns. It brings no MPI along: its calls are those of the MPI that is there.
 *
 * Handles pass as 64-bit words, as the calls themselves got them.
 */
#ifndef HOP_MPI_SHIM_H
#define HOP_MPI_SHIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "mpi/mpi_shim_collectives.h"

#define HOP_MPI_SHIM_VERSION 13 /* of this table */
#define HOP_MPI_ELSEWHERE (-1) /* a rank of another job */

/* Whom the ranks of a communicator or window name, as ranks of MPI_COMM_WORLD. It lives as long as the communicator. */
struct hop_mpi_ranks {
    int own;        /* this process's rank in its own group */
    int size;       /* ranks that may be named: the remote group's of an inter-communicator */
    int local_size; /* of its own group */
    bool inter;
    int *world;     /* of each; NULL: a rank is its own */
    bool is_grid;   /* a Cartesian topology */
    int neighbours; /* to whom a neighbourhood collective sends */
    int *neighbour; /* their ranks in the communicator, negative: nobody */
    int sources;    /* from whom it receives */
    int *source;    /* NULL: from those to whom it sends */
    int *device;    /* of each rank of a window, whether its memory is a device's; NULL: not known */
    void *own_state; /* what the engine keeps with it (mpi_engine.h); NULL: nothing */
    /* One number on all ranks of it: of its ranks, and how many of the same ranks a process had met before. Where these
     * are met in an order of their own, it says nothing. */
    uint64_t id;
};

struct hop_mpi_status {
    int source, tag; /* of its communicator */
    bool cancelled;
};

struct hop_mpi_shim {
    int version;
    /* Handles and numbers that calls are compared with. */
    uintptr_t in_place;
    int proc_null, root;
    bool (*is_no_op)(uintptr_t op);
    /* Collective, first of all: whether all ranks of the job have this layer, and where this one is. Who has it not is
     * waited for a while. Then the job has to end: a message of ours may be there that the program would take for its
     * own. */
    bool (*begin)(uintptr_t comm, int *rank, int *size); /* one of is_whole, 0: MPI_COMM_WORLD */
    void (*give_up)(int code);
    void (*end)(void); /* the last */
    /* Whether a communicator that was made of a session has all ranks of the job; NULL: sessions are not known. */
    bool (*is_whole)(uintptr_t comm);
    int64_t (*type_size)(uintptr_t type); /* bytes; negative: not known */
    uintptr_t (*type_at)(uintptr_t types, int index);
    uintptr_t (*request_at)(uintptr_t requests, int index);
    uintptr_t (*message_at)(uintptr_t message);
    struct hop_mpi_ranks *(*ranks)(uintptr_t comm); /* NULL: not known */
    const struct hop_mpi_ranks *(*window)(uintptr_t window);
    /* All ranks of the communicator of which the window was made call it, where all are of this job. */
    void (*window_memory)(uintptr_t window, uintptr_t comm, bool device);
    struct hop_mpi_ranks *(*group)(uintptr_t group); /* which the caller drops; NULL: not known */
    void (*drop)(struct hop_mpi_ranks *ranks);       /* NULL: nothing */
    /* Between rank 0 and another, apart from the program's messages; 0 or an error. */
    int (*send)(const void *bytes, size_t size);
    int (*receive)(int from, void *bytes, size_t size);

    /* ---- what the engine asks, apart from the program's messages; 0 or an error ---- */
    uintptr_t (*comm_at)(uintptr_t comms, int index);
    /* Who gets own_state when its communicator goes, on whichever rank that happens; NULL: nobody. */
    void (*dropped)(void (*drop)(void *own_state));
    /* Among all ranks of the job; all of them call it. */
    int (*broadcast)(void *bytes, size_t size);              /* rank 0's */
    int (*gather)(const void *mine, size_t size, void *all); /* to rank 0, by rank; all: looked at there only */
    bool (*all_agree)(bool own);                             /* whether each says true */
    /* The lowest rank of the job on this rank's machine, as MPI splits by shared memory; negative: not known. */
    int (*machine)(void);
    bool (*is_spawned)(void); /* whether another job has spawned this one */
    /* Among the ranks of a communicator, inside a collective call on it. */
    int (*comm_broadcast)(uintptr_t comm, void *bytes, size_t size);
    bool (*comm_all_agree)(uintptr_t comm, bool own);
    void (*progress)(void); /* has the MPI get on with what it has begun */
    uintptr_t (*apart)(void); /* the communicator of all this, which has all ranks of the job */
    const struct hop_mpi_shim_collectives *collectives; /* NULL: none of this MPI are replaced */

    /* ---- what the recorder asks ---- */
    uintptr_t comm_null, status_ignore, statuses_ignore;
    int any_source, any_tag;
    size_t status_size;
    struct hop_mpi_status (*status_at)(const void *statuses, int index);
    uint64_t (*status_bytes)(const void *statuses, int index);
    uintptr_t (*window_at)(uintptr_t windows, int index);
    /* A communicator of the same ranks as that one will come, in an order that ranks need not share: the number that it has
     * then, and giving it that, before anybody else asks of it. */
    uint64_t (*promise)(uintptr_t comm);
    void (*keep_promise)(uintptr_t comm, uint64_t id);
    int (*reply)(int to, const void *bytes, size_t size); /* from rank 0 */
};

#define HOP_MPI_SHIM_SYMBOL "hop_mpi_shim_table"
const struct hop_mpi_shim *hop_mpi_shim_table(void);

#endif
