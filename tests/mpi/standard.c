/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A stand-in for an MPI of the standard ABI, and (PROGRAM) a program for it: rank 0 of four, of which the others are
 * not there. What is sent is dropped, what is received is zeros; handles and constants are the ABI's. The one
 * communicator that a split makes has its ranks the other way round.
 */
#include "mpi/mpi_abi.h"

#include <string.h>

int MPI_Init(int *count, char ***words);
int MPI_Finalize(void);
int MPI_Send(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm);
int MPI_Isend(const void *buffer, int count, MPI_Datatype type, int to, int tag, MPI_Comm comm, MPI_Request *request);
int MPI_Bcast(void *buffer, int count, MPI_Datatype type, int root, MPI_Comm comm);
int MPI_Gather(const void *out, int count, MPI_Datatype type, void *in, int in_count, MPI_Datatype in_type, int root,
               MPI_Comm comm);
int MPI_Allgather(const void *out, int count, MPI_Datatype type, void *in, int in_count, MPI_Datatype in_type,
                  MPI_Comm comm);
int MPI_Comm_split(MPI_Comm comm, int colour, int key, MPI_Comm *made);

#ifdef PROGRAM

int main(int count, char **words)
{
    static int data[64];
    MPI_Comm turned;
    MPI_Request request;
    MPI_Init(&count, &words);
    MPI_Comm_split(MPI_COMM_WORLD, 0, 0, &turned);
    MPI_Send(data, 10, MPI_INT, 2, 0, MPI_COMM_WORLD);
    MPI_Send(data, 10, MPI_INT, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Isend(data, 5, MPI_DOUBLE, 0, 0, turned, &request);
    MPI_Bcast(data, 7, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Gather(data, 2, MPI_INT, NULL, 0, MPI_DATATYPE_NULL, 1, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, data, 3, MPI_INT, MPI_COMM_WORLD);
    return MPI_Finalize();
}

#else

#pragma GCC diagnostic ignored "-Wunused-parameter"
#define RANKS 4
#define TURNED ((MPI_Comm)0x1000)
#define TURNED_GROUP ((MPI_Group)0x1008)
#define WORLD_GROUP ((MPI_Group)0x2008)
/* Both names of a call. */
#define BOTH(name, takes, ...)                                                                                         \
    int P##name takes;                                                                                                 \
    int name takes;                                                                                                    \
    int P##name takes                                                                                                  \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
        return MPI_SUCCESS;                                                                                            \
    }                                                                                                                  \
    int name takes                                                                                                     \
    {                                                                                                                  \
        __VA_ARGS__;                                                                                                   \
        return MPI_SUCCESS;                                                                                            \
    }

static void *attributes[2]; /* of the world, and of the one that is turned */

static int64_t size_of(MPI_Datatype type)
{
    return type == MPI_BYTE ? 1 : type == MPI_INT ? 4 : type == MPI_DOUBLE ? 8 : -1;
}

BOTH(MPI_Init, (int *count, char ***words), )
BOTH(MPI_Finalize, (void), )
BOTH(MPI_Abort, (MPI_Comm comm, int code), )
BOTH(MPI_Send, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm), )
BOTH(MPI_Isend, (const void *b, int n, MPI_Datatype t, int to, int tag, MPI_Comm comm, MPI_Request *request), )
BOTH(MPI_Recv, (void *b, int n, MPI_Datatype t, int from, int tag, MPI_Comm comm, MPI_Status *status),
     memset(b, 0, (size_t)n *(size_t)size_of(t)))
BOTH(MPI_Iprobe, (int from, int tag, MPI_Comm comm, int *flag, MPI_Status *status), *flag = 1)
BOTH(MPI_Bcast, (void *b, int n, MPI_Datatype t, int root, MPI_Comm comm), )
BOTH(MPI_Gather, (const void *o, int n, MPI_Datatype t, void *in, int m, MPI_Datatype u, int root, MPI_Comm comm), )
BOTH(MPI_Allgather, (const void *o, int n, MPI_Datatype t, void *in, int m, MPI_Datatype u, MPI_Comm comm), )
BOTH(MPI_Comm_split, (MPI_Comm comm, int colour, int key, MPI_Comm *made), *made = TURNED)
BOTH(MPI_Comm_get_parent, (MPI_Comm * parent), *parent = MPI_COMM_NULL)
BOTH(MPI_Comm_dup, (MPI_Comm comm, MPI_Comm *made), *made = comm)
BOTH(MPI_Comm_rank, (MPI_Comm comm, int *rank), *rank = comm == TURNED ? RANKS - 1 : 0)
BOTH(MPI_Comm_size, (MPI_Comm comm, int *size), *size = RANKS)
BOTH(MPI_Comm_test_inter, (MPI_Comm comm, int *inter), *inter = 0)
BOTH(MPI_Comm_group, (MPI_Comm comm, MPI_Group *group), *group = comm == TURNED ? TURNED_GROUP : WORLD_GROUP)
BOTH(MPI_Comm_set_errhandler, (MPI_Comm comm, MPI_Errhandler handler), )
BOTH(MPI_Comm_create_keyval,
     (MPI_Comm_copy_attr_function * copy, MPI_Comm_delete_attr_function *drop, int *key, void *extra), *key = 1)
BOTH(MPI_Win_create_keyval,
     (MPI_Win_copy_attr_function * copy, MPI_Win_delete_attr_function *drop, int *key, void *extra), *key = 2)
BOTH(MPI_Comm_set_attr, (MPI_Comm comm, int key, void *value), attributes[comm == TURNED] = value)
BOTH(MPI_Comm_get_attr, (MPI_Comm comm, int key, void *value, int *there), *(void **)value = attributes[comm == TURNED];
     *there = attributes[comm == TURNED] != NULL)
BOTH(MPI_Group_size, (MPI_Group group, int *size), *size = RANKS)
BOTH(MPI_Group_free, (MPI_Group * group), )
BOTH(MPI_Group_translate_ranks, (MPI_Group group, int n, const int *from, MPI_Group all, int *to),
     for (int i = 0; i < n; i++) to[i] = group == TURNED_GROUP ? RANKS - 1 - from[i] : from[i])
BOTH(MPI_Topo_test, (MPI_Comm comm, int *kind), *kind = MPI_UNDEFINED)
BOTH(MPI_Type_size_x, (MPI_Datatype type, MPI_Count *size), *size = size_of(type))
BOTH(MPI_Abi_get_version, (int *major, int *minor), *major = 1; *minor = 0)
BOTH(MPI_Get_library_version, (char *text, int *length), *length = (int)strlen(strcpy(text, "stand-in 1.0, and more")))

/* What the shim needs to be loaded, and nobody calls here. */
#define OTHER(name)                                                                                                    \
    int other_##name(void) __asm__("P" #name);                                                                         \
    int other_##name(void)                                                                                             \
    {                                                                                                                  \
        return 16; /* MPI_ERR_OTHER */                                                                                 \
    }
OTHER(MPI_Comm_remote_size)
OTHER(MPI_Comm_remote_group)
OTHER(MPI_Comm_split_type)
OTHER(MPI_Comm_free)
OTHER(MPI_Group_rank)
OTHER(MPI_Group_from_session_pset)
OTHER(MPI_Session_init)
OTHER(MPI_Session_finalize)
OTHER(MPI_Cartdim_get)
OTHER(MPI_Cart_shift)
OTHER(MPI_Graph_neighbors_count)
OTHER(MPI_Graph_neighbors)
OTHER(MPI_Dist_graph_neighbors_count)
OTHER(MPI_Dist_graph_neighbors)
OTHER(MPI_Win_get_group)
OTHER(MPI_Win_get_attr)
OTHER(MPI_Win_set_attr)
OTHER(MPI_Type_get_extent)
OTHER(MPI_Type_get_true_extent)
OTHER(MPI_Get_elements_x)
OTHER(MPI_Pack)
OTHER(MPI_Unpack)
OTHER(MPI_Irecv)
OTHER(MPI_Sendrecv)
OTHER(MPI_Wait)
OTHER(MPI_Test)
OTHER(MPI_Test_cancelled)
OTHER(MPI_Barrier)
OTHER(MPI_Scatter)
OTHER(MPI_Reduce)
OTHER(MPI_Allreduce)

double PMPI_Wtime(void)
{
    return 0;
}

#endif
