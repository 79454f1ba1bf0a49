/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The standard ABI of MPI 5 (MPI 5.0, chapter 20), as far as the shim goes: it stands in for mpi.h where the shim is
 * compiled for an MPI that says by MPI_Abi_get_version that it keeps to it. The test mpi.names holds it against that
 * MPI's own header.
 */
#ifndef HOP_MPI_ABI_H
#define HOP_MPI_ABI_H

#include <stdint.h>

#define MPI_VERSION 5

typedef intptr_t MPI_Aint;
typedef int64_t MPI_Count, MPI_Offset;
typedef struct MPI_ABI_Comm *MPI_Comm;
typedef struct MPI_ABI_Group *MPI_Group;
typedef struct MPI_ABI_Win *MPI_Win;
typedef struct MPI_ABI_Datatype *MPI_Datatype;
typedef struct MPI_ABI_Op *MPI_Op;
typedef struct MPI_ABI_Request *MPI_Request;
typedef struct MPI_ABI_Message *MPI_Message;
typedef struct MPI_ABI_Info *MPI_Info;
typedef struct MPI_ABI_Errhandler *MPI_Errhandler;
typedef struct MPI_ABI_Session *MPI_Session;
typedef struct {
    int MPI_SOURCE, MPI_TAG, MPI_ERROR, MPI_internal[5];
} MPI_Status;
typedef int MPI_Comm_copy_attr_function(MPI_Comm, int, void *, void *, void *, int *);
typedef int MPI_Comm_delete_attr_function(MPI_Comm, int, void *, void *);
typedef int MPI_Win_copy_attr_function(MPI_Win, int, void *, void *, void *, int *);
typedef int MPI_Win_delete_attr_function(MPI_Win, int, void *, void *);

#define MPI_COMM_NULL ((MPI_Comm)0x100)
#define MPI_COMM_WORLD ((MPI_Comm)0x101)
#define MPI_COMM_SELF ((MPI_Comm)0x102)
#define MPI_GROUP_NULL ((MPI_Group)0x108)
#define MPI_WIN_NULL ((MPI_Win)0x110)
#define MPI_SESSION_NULL ((MPI_Session)0x120)
#define MPI_MESSAGE_NULL ((MPI_Message)0x128)
#define MPI_INFO_NULL ((MPI_Info)0x130)
#define MPI_ERRORS_ARE_FATAL ((MPI_Errhandler)0x141)
#define MPI_ERRORS_RETURN ((MPI_Errhandler)0x143)
#define MPI_REQUEST_NULL ((MPI_Request)0x180)
#define MPI_DATATYPE_NULL ((MPI_Datatype)0x200)
#define MPI_INT ((MPI_Datatype)0x209)
#define MPI_DOUBLE ((MPI_Datatype)0x214)
#define MPI_BYTE ((MPI_Datatype)0x247)
#define MPI_INT64_T ((MPI_Datatype)0x258)
#define MPI_UINT64_T ((MPI_Datatype)0x259)
#define MPI_OP_NULL ((MPI_Op)0x20)
#define MPI_SUM ((MPI_Op)0x21)
#define MPI_MIN ((MPI_Op)0x22)
#define MPI_MAX ((MPI_Op)0x23)
#define MPI_PROD ((MPI_Op)0x24)
#define MPI_NO_OP ((MPI_Op)0x3d)
#define MPI_IN_PLACE ((void *)1)
#define MPI_BOTTOM ((void *)0)
#define MPI_STATUS_IGNORE ((MPI_Status *)0)
#define MPI_STATUSES_IGNORE ((MPI_Status *)0)
#define MPI_COMM_NULL_COPY_FN ((MPI_Comm_copy_attr_function *)0)
#define MPI_WIN_NULL_COPY_FN ((MPI_Win_copy_attr_function *)0)

#define MPI_SUCCESS 0
#define MPI_ANY_SOURCE (-1)
#define MPI_ANY_TAG (-2)
#define MPI_PROC_NULL (-3)
#define MPI_ROOT (-4)
#define MPI_UNDEFINED (-32766)
#define MPI_KEYVAL_INVALID 0
#define MPI_CART 211
#define MPI_GRAPH 212
#define MPI_DIST_GRAPH 213
#define MPI_COMM_TYPE_SHARED 221
#define MPI_THREAD_SINGLE 0
#define MPI_THREAD_MULTIPLE 4096
#define MPI_MAX_LIBRARY_VERSION_STRING 8192

double PMPI_Wtime(void);
int PMPI_Abort(MPI_Comm, int);
int PMPI_Comm_get_parent(MPI_Comm *);
int PMPI_Comm_rank(MPI_Comm, int *);
int PMPI_Comm_size(MPI_Comm, int *);
int PMPI_Comm_remote_size(MPI_Comm, int *);
int PMPI_Comm_test_inter(MPI_Comm, int *);
int PMPI_Comm_group(MPI_Comm, MPI_Group *);
int PMPI_Comm_remote_group(MPI_Comm, MPI_Group *);
int PMPI_Comm_dup(MPI_Comm, MPI_Comm *);
int PMPI_Comm_split(MPI_Comm, int, int, MPI_Comm *);
int PMPI_Comm_split_type(MPI_Comm, int, int, MPI_Info, MPI_Comm *);
int PMPI_Comm_free(MPI_Comm *);
int PMPI_Comm_set_errhandler(MPI_Comm, MPI_Errhandler);
int PMPI_Comm_create_keyval(MPI_Comm_copy_attr_function *, MPI_Comm_delete_attr_function *, int *, void *);
int PMPI_Comm_get_attr(MPI_Comm, int, void *, int *);
int PMPI_Comm_set_attr(MPI_Comm, int, void *);
int PMPI_Group_rank(MPI_Group, int *);
int PMPI_Group_size(MPI_Group, int *);
int PMPI_Group_free(MPI_Group *);
int PMPI_Group_translate_ranks(MPI_Group, int, const int *, MPI_Group, int *);
int PMPI_Group_from_session_pset(MPI_Session, const char *, MPI_Group *);
int PMPI_Session_init(MPI_Info, MPI_Errhandler, MPI_Session *);
int PMPI_Session_finalize(MPI_Session *);
int PMPI_Topo_test(MPI_Comm, int *);
int PMPI_Cartdim_get(MPI_Comm, int *);
int PMPI_Cart_shift(MPI_Comm, int, int, int *, int *);
int PMPI_Graph_neighbors_count(MPI_Comm, int, int *);
int PMPI_Graph_neighbors(MPI_Comm, int, int, int *);
int PMPI_Dist_graph_neighbors_count(MPI_Comm, int *, int *, int *);
int PMPI_Dist_graph_neighbors(MPI_Comm, int, int *, int *, int, int *, int *);
int PMPI_Win_get_group(MPI_Win, MPI_Group *);
int PMPI_Win_create_keyval(MPI_Win_copy_attr_function *, MPI_Win_delete_attr_function *, int *, void *);
int PMPI_Win_get_attr(MPI_Win, int, void *, int *);
int PMPI_Win_set_attr(MPI_Win, int, void *);
int PMPI_Type_size_x(MPI_Datatype, MPI_Count *);
int PMPI_Type_get_extent(MPI_Datatype, MPI_Aint *, MPI_Aint *);
int PMPI_Type_get_true_extent(MPI_Datatype, MPI_Aint *, MPI_Aint *);
int PMPI_Get_elements_x(const MPI_Status *, MPI_Datatype, MPI_Count *);
int PMPI_Pack(const void *, int, MPI_Datatype, void *, int, int *, MPI_Comm);
int PMPI_Unpack(const void *, int, int *, void *, int, MPI_Datatype, MPI_Comm);
int PMPI_Send(const void *, int, MPI_Datatype, int, int, MPI_Comm);
int PMPI_Isend(const void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int PMPI_Recv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Status *);
int PMPI_Irecv(void *, int, MPI_Datatype, int, int, MPI_Comm, MPI_Request *);
int PMPI_Sendrecv(const void *, int, MPI_Datatype, int, int, void *, int, MPI_Datatype, int, int, MPI_Comm,
                  MPI_Status *);
int PMPI_Iprobe(int, int, MPI_Comm, int *, MPI_Status *);
int PMPI_Wait(MPI_Request *, MPI_Status *);
int PMPI_Test(MPI_Request *, int *, MPI_Status *);
int PMPI_Test_cancelled(const MPI_Status *, int *);
int PMPI_Barrier(MPI_Comm);
int PMPI_Bcast(void *, int, MPI_Datatype, int, MPI_Comm);
int PMPI_Gather(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm);
int PMPI_Allgather(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, MPI_Comm);
int PMPI_Scatter(const void *, int, MPI_Datatype, void *, int, MPI_Datatype, int, MPI_Comm);
int PMPI_Reduce(const void *, void *, int, MPI_Datatype, MPI_Op, int, MPI_Comm);
int PMPI_Allreduce(const void *, void *, int, MPI_Datatype, MPI_Op, MPI_Comm);

#endif
