/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI calls that are wrapped: CALL(number of arguments, name, kind, roles), a letter of the roles an argument.
 *
 *     s n t   buffer, count and type of what is sent          r m u   of what is received
 *     v T     an array of counts, of types, that are sent     k U     that are received
 *     d       destination, target or root                     c w     communicator, window
 *     p       partitions                                      N       a count, large even without _c
 *     o       operation                                       Q q     where a persistent, another request comes out
 *     f       source                                          g h     tag of what is sent, of what is received
 *     W l R   a request; how many, and their array            S A     a status, an array of them
 *     F O I   where a flag, a number, an index or several come out
 *     C X     where a communicator, a window comes out        V       where a window stands that goes
 *     M       a message that was found                        b       memory that a window shows
 *     G       a group                                         .       not looked at
 *
 * Of a call whose name ends in _c, all counts are large: BOTH makes it of the same row. What only waits, receives or
 * orders is TIMED, or ASIDE where that is no computation: the sender's side says what is moved.
 */
#ifndef HOP_MPI_CALLS_H
#define HOP_MPI_CALLS_H

enum hop_mpi_kind {
    KIND_TIMED,
    KIND_INIT,
    KIND_FINALIZE,
    KIND_SESSION,
    KIND_SESSION_COMM, /* a communicator of a group alone */
    KIND_SESSION_END,
    KIND_ABORT,
    KIND_PCONTROL,
    KIND_COMM_FREE,
    KIND_START,
    KIND_START_ALL,
    KIND_FREE,
    KIND_CANCEL,
    KIND_READY, /* a part of what a partitioned request sends */
    KIND_ASIDE,
    KIND_RECEIVE,
    KIND_PROBE,  /* looks for a message */
    KIND_MPROBE, /* takes it, too */
    KIND_COMPLETE,
    KIND_BARRIER,
    KIND_COMM,   /* makes a communicator */
    KIND_WINDOW, /* makes a window, or frees it */
    KIND_FENCE,
    KIND_SYNC,  /* ends what this rank began on a window */
    KIND_EPOCH, /* begins an epoch with some ranks, or waits for the end of theirs */
    KIND_POINT,
    KIND_BCAST,
    KIND_GATHER, /* and reduce: everybody's to the root */
    KIND_SCATTER,
    KIND_ALLGATHER,
    KIND_ALLTOALL,
    KIND_ALLREDUCE,
    KIND_REDUCE_SCATTER,
    KIND_SCAN,
    KIND_NEIGHBOUR_GATHER,
    KIND_NEIGHBOUR_ALLTOALL,
    KIND_PUT,
    KIND_GET,
    KIND_FETCH, /* there and back */
    KIND_SWAP,
    KIND_IO
};

#define HOP_MPI_BOTH(CALL, arity, name, kind, roles) CALL(arity, name, kind, roles) CALL(arity, name##_c, kind, roles)

/* A collective: blocking, nonblocking, persistent (of MPI 4, and as Open MPI 4 has it), with one and two more arguments. */
#define HOP_MPI_COLLECTIVE(CALL, arity, more, most, name, iname, kind, roles)                                          \
    HOP_MPI_BOTH(CALL, arity, MPI_##name, kind, roles)                                                                 \
    HOP_MPI_BOTH(CALL, more, MPI_##iname, kind, roles "q")                                                             \
    HOP_MPI_BOTH(CALL, most, MPI_##name##_init, kind, roles ".Q")                                                      \
    CALL(most, MPIX_##name##_init, kind, roles ".Q")

#define HOP_MPI_CALLS(CALL)                                                                                            \
    CALL(2, MPI_Init, INIT, "..")                                                                                      \
    CALL(4, MPI_Init_thread, INIT, "....")                                                                             \
    CALL(0, MPI_Finalize, FINALIZE, "")                                                                                \
    CALL(3, MPI_Session_init, SESSION, "...")                                                                          \
    CALL(5, MPI_Comm_create_from_group, SESSION_COMM, "....C")                                                         \
    CALL(1, MPI_Session_finalize, SESSION_END, ".")                                                                    \
    CALL(2, MPI_Abort, ABORT, "..")                                                                                    \
    CALL(1, MPI_Comm_free, COMM_FREE, ".")                                                                             \
    CALL(1, MPI_Comm_disconnect, COMM_FREE, ".")                                                                       \
    CALL(1, MPI_Pcontrol, PCONTROL, ".")                                                                               \
    HOP_MPI_POINT_TO_POINT(CALL)                                                                                       \
    HOP_MPI_COLLECTIVES(CALL)                                                                                          \
    HOP_MPI_MAKERS(CALL)                                                                                               \
    HOP_MPI_ONE_SIDED(CALL)                                                                                            \
    HOP_MPI_FILES(CALL)

#define HOP_MPI_POINT_TO_POINT(CALL)                                                                                   \
    HOP_MPI_BOTH(CALL, 6, MPI_Send, POINT, "sntdgc")                                                                   \
    HOP_MPI_BOTH(CALL, 6, MPI_Bsend, POINT, "sntdgc")                                                                  \
    HOP_MPI_BOTH(CALL, 6, MPI_Ssend, POINT, "sntdgc")                                                                  \
    HOP_MPI_BOTH(CALL, 6, MPI_Rsend, POINT, "sntdgc")                                                                  \
    HOP_MPI_BOTH(CALL, 7, MPI_Isend, POINT, "sntdgcq")                                                                 \
    HOP_MPI_BOTH(CALL, 7, MPI_Ibsend, POINT, "sntdgcq")                                                                \
    HOP_MPI_BOTH(CALL, 7, MPI_Issend, POINT, "sntdgcq")                                                                \
    HOP_MPI_BOTH(CALL, 7, MPI_Irsend, POINT, "sntdgcq")                                                                \
    HOP_MPI_BOTH(CALL, 7, MPI_Send_init, POINT, "sntdgcQ")                                                             \
    HOP_MPI_BOTH(CALL, 7, MPI_Bsend_init, POINT, "sntdgcQ")                                                            \
    HOP_MPI_BOTH(CALL, 7, MPI_Ssend_init, POINT, "sntdgcQ")                                                            \
    HOP_MPI_BOTH(CALL, 7, MPI_Rsend_init, POINT, "sntdgcQ")                                                            \
    HOP_MPI_BOTH(CALL, 12, MPI_Sendrecv, POINT, "sntdgrmufhcS")                                                        \
    HOP_MPI_BOTH(CALL, 9, MPI_Sendrecv_replace, POINT, "sntdgfhcS")                                                    \
    HOP_MPI_BOTH(CALL, 12, MPI_Isendrecv, POINT, "sntdgrmufhcq")                                                       \
    HOP_MPI_BOTH(CALL, 9, MPI_Isendrecv_replace, POINT, "sntdgfhcq")                                                   \
    HOP_MPI_BOTH(CALL, 9, MPI_Psend_init, POINT, "spNtdgc.Q")                                                          \
    HOP_MPI_BOTH(CALL, 9, MPI_Precv_init, RECEIVE, "rpNufhc.Q")                                                        \
    CALL(2, MPI_Pready, READY, "..")                                                                                   \
    CALL(3, MPI_Pready_range, READY, "...")                                                                            \
    CALL(3, MPI_Pready_list, READY, "...")                                                                             \
    CALL(3, MPI_Parrived, ASIDE, "..F")                                                                                \
    HOP_MPI_BOTH(CALL, 7, MPI_Recv, RECEIVE, "rmufhcS")                                                                \
    HOP_MPI_BOTH(CALL, 7, MPI_Irecv, RECEIVE, "rmufhcq")                                                               \
    HOP_MPI_BOTH(CALL, 7, MPI_Recv_init, RECEIVE, "rmufhcQ")                                                           \
    HOP_MPI_BOTH(CALL, 5, MPI_Mrecv, ASIDE, "rmuM.")                                                                   \
    HOP_MPI_BOTH(CALL, 5, MPI_Imrecv, ASIDE, "rmuM.")                                                                  \
    CALL(4, MPI_Probe, PROBE, "fhcS")                                                                                  \
    CALL(5, MPI_Iprobe, PROBE, "fhcFS")                                                                                \
    CALL(5, MPI_Mprobe, MPROBE, "fhcMS")                                                                               \
    CALL(6, MPI_Improbe, MPROBE, "fhcFMS")                                                                             \
    CALL(2, MPI_Wait, COMPLETE, "WS")                                                                                  \
    CALL(3, MPI_Waitall, COMPLETE, "lRA")                                                                              \
    CALL(4, MPI_Waitany, COMPLETE, "lRIS")                                                                             \
    CALL(5, MPI_Waitsome, COMPLETE, "lROIA")                                                                           \
    CALL(3, MPI_Test, COMPLETE, "WFS")                                                                                 \
    CALL(4, MPI_Testall, COMPLETE, "lRFA")                                                                             \
    CALL(5, MPI_Testany, COMPLETE, "lRIFS")                                                                            \
    CALL(5, MPI_Testsome, COMPLETE, "lROIA")                                                                           \
    CALL(1, MPI_Start, START, ".")                                                                                     \
    CALL(2, MPI_Startall, START_ALL, "..")                                                                             \
    CALL(1, MPI_Cancel, CANCEL, ".")                                                                                   \
    CALL(1, MPI_Request_free, FREE, ".")

#define HOP_MPI_COLLECTIVES(CALL)                                                                                      \
    CALL(1, MPI_Barrier, BARRIER, "c")                                                                                 \
    CALL(2, MPI_Ibarrier, BARRIER, "cq")                                                                               \
    CALL(3, MPI_Barrier_init, BARRIER, "c.Q")                                                                          \
    CALL(3, MPIX_Barrier_init, BARRIER, "c.Q")                                                                         \
    HOP_MPI_COLLECTIVE(CALL, 5, 6, 7, Bcast, Ibcast, BCAST, "sntdc")                                                   \
    HOP_MPI_COLLECTIVE(CALL, 8, 9, 10, Gather, Igather, GATHER, "sntrmudc")                                            \
    HOP_MPI_COLLECTIVE(CALL, 9, 10, 11, Gatherv, Igatherv, GATHER, "sntrk.udc")                                        \
    HOP_MPI_COLLECTIVE(CALL, 7, 8, 9, Reduce, Ireduce, GATHER, "srnt.dc")                                              \
    HOP_MPI_COLLECTIVE(CALL, 8, 9, 10, Scatter, Iscatter, SCATTER, "sntrmudc")                                         \
    HOP_MPI_COLLECTIVE(CALL, 9, 10, 11, Scatterv, Iscatterv, SCATTER, "sv.trmudc")                                     \
    HOP_MPI_COLLECTIVE(CALL, 7, 8, 9, Allgather, Iallgather, ALLGATHER, "sntrmuc")                                     \
    HOP_MPI_COLLECTIVE(CALL, 8, 9, 10, Allgatherv, Iallgatherv, ALLGATHER, "sntrk.uc")                                 \
    HOP_MPI_COLLECTIVE(CALL, 7, 8, 9, Alltoall, Ialltoall, ALLTOALL, "sntrmuc")                                        \
    HOP_MPI_COLLECTIVE(CALL, 9, 10, 11, Alltoallv, Ialltoallv, ALLTOALL, "sv.trk.uc")                                  \
    HOP_MPI_COLLECTIVE(CALL, 9, 10, 11, Alltoallw, Ialltoallw, ALLTOALL, "sv.Trk.Uc")                                  \
    HOP_MPI_COLLECTIVE(CALL, 6, 7, 8, Allreduce, Iallreduce, ALLREDUCE, "srnt.c")                                      \
    HOP_MPI_COLLECTIVE(CALL, 6, 7, 8, Reduce_scatter, Ireduce_scatter, REDUCE_SCATTER, "srvt.c")                       \
    HOP_MPI_COLLECTIVE(CALL, 6, 7, 8, Reduce_scatter_block, Ireduce_scatter_block, REDUCE_SCATTER, "srnt.c")           \
    HOP_MPI_COLLECTIVE(CALL, 6, 7, 8, Scan, Iscan, SCAN, "srnt.c")                                                     \
    HOP_MPI_COLLECTIVE(CALL, 6, 7, 8, Exscan, Iexscan, SCAN, "srnt.c")                                                 \
    HOP_MPI_COLLECTIVE(CALL, 7, 8, 9, Neighbor_allgather, Ineighbor_allgather, NEIGHBOUR_GATHER, "sntrmuc")            \
    HOP_MPI_COLLECTIVE(CALL, 8, 9, 10, Neighbor_allgatherv, Ineighbor_allgatherv, NEIGHBOUR_GATHER, "sntrk.uc")        \
    HOP_MPI_COLLECTIVE(CALL, 7, 8, 9, Neighbor_alltoall, Ineighbor_alltoall, NEIGHBOUR_ALLTOALL, "sntrmuc")            \
    HOP_MPI_COLLECTIVE(CALL, 9, 10, 11, Neighbor_alltoallv, Ineighbor_alltoallv, NEIGHBOUR_ALLTOALL, "sv.trk.uc")      \
    HOP_MPI_COLLECTIVE(CALL, 9, 10, 11, Neighbor_alltoallw, Ineighbor_alltoallw, NEIGHBOUR_ALLTOALL, "sv.Trk.Uc")

/* What makes communicators and windows moves nothing of the program's, but waits for all of their ranks. */
#define HOP_MPI_MAKERS(CALL)                                                                                           \
    CALL(2, MPI_Comm_dup, COMM, "cC")                                                                                  \
    CALL(3, MPI_Comm_dup_with_info, COMM, "c.C")                                                                       \
    CALL(3, MPI_Comm_idup, COMM, "cCq")                                                                                \
    CALL(4, MPI_Comm_idup_with_info, COMM, "c.Cq")                                                                     \
    CALL(3, MPI_Comm_create, COMM, "c.C")                                                                              \
    CALL(4, MPI_Comm_create_group, COMM, "c..C")                                                                       \
    CALL(4, MPI_Comm_split, COMM, "c..C")                                                                              \
    CALL(5, MPI_Comm_split_type, COMM, "c...C")                                                                        \
    CALL(6, MPI_Cart_create, COMM, "c....C")                                                                           \
    CALL(3, MPI_Cart_sub, COMM, "c.C")                                                                                 \
    CALL(6, MPI_Graph_create, COMM, "c....C")                                                                          \
    CALL(9, MPI_Dist_graph_create, COMM, "c.......C")                                                                  \
    CALL(10, MPI_Dist_graph_create_adjacent, COMM, "c........C")                                                       \
    CALL(6, MPI_Intercomm_create, COMM, "c....C")                                                                      \
    CALL(3, MPI_Intercomm_merge, COMM, "c.C")                                                                          \
    HOP_MPI_BOTH(CALL, 6, MPI_Win_create, WINDOW, "b...cX")                                                            \
    HOP_MPI_BOTH(CALL, 6, MPI_Win_allocate, WINDOW, "...c.X")                                                          \
    HOP_MPI_BOTH(CALL, 6, MPI_Win_allocate_shared, WINDOW, "...c.X")                                                   \
    CALL(3, MPI_Win_create_dynamic, WINDOW, ".cX")                                                                     \
    CALL(1, MPI_Win_free, WINDOW, "V")

#define HOP_MPI_ONE_SIDED(CALL)                                                                                        \
    HOP_MPI_BOTH(CALL, 8, MPI_Put, PUT, "sntd...w")                                                                    \
    HOP_MPI_BOTH(CALL, 9, MPI_Rput, PUT, "sntd...wq")                                                                  \
    HOP_MPI_BOTH(CALL, 9, MPI_Accumulate, PUT, "sntd....w")                                                            \
    HOP_MPI_BOTH(CALL, 10, MPI_Raccumulate, PUT, "sntd....wq")                                                         \
    HOP_MPI_BOTH(CALL, 8, MPI_Get, GET, "sntd...w")                                                                    \
    HOP_MPI_BOTH(CALL, 9, MPI_Rget, GET, "sntd...wq")                                                                  \
    HOP_MPI_BOTH(CALL, 12, MPI_Get_accumulate, FETCH, "sntrmud...ow")                                                  \
    HOP_MPI_BOTH(CALL, 13, MPI_Rget_accumulate, FETCH, "sntrmud...owq")                                                \
    CALL(7, MPI_Fetch_and_op, FETCH, "srtd.ow")                                                                        \
    CALL(7, MPI_Compare_and_swap, SWAP, "s.rtd.w")                                                                     \
    CALL(2, MPI_Win_fence, FENCE, ".w")                                                                                \
    CALL(3, MPI_Win_start, EPOCH, "G.w")                                                                               \
    CALL(1, MPI_Win_complete, SYNC, "w")                                                                               \
    CALL(3, MPI_Win_post, EPOCH, "G.w")                                                                                \
    CALL(1, MPI_Win_wait, EPOCH, "w")                                                                                  \
    CALL(2, MPI_Win_test, EPOCH, "wF")                                                                                 \
    CALL(4, MPI_Win_lock, ASIDE, "....")                                                                               \
    CALL(2, MPI_Win_unlock, SYNC, "dw")                                                                                \
    CALL(2, MPI_Win_lock_all, ASIDE, "..")                                                                             \
    CALL(1, MPI_Win_unlock_all, SYNC, "w")                                                                             \
    CALL(2, MPI_Win_flush, SYNC, "dw")                                                                                 \
    CALL(1, MPI_Win_flush_all, SYNC, "w")                                                                              \
    CALL(2, MPI_Win_flush_local, SYNC, "dw")                                                                           \
    CALL(1, MPI_Win_flush_local_all, SYNC, "w")

/* Files move no bytes between ranks. An MPI may do them by messages of its own, which do not count: they come from inside
 * a call that is wrapped. */
#define HOP_MPI_FILES(CALL)                                                                                            \
    CALL(5, MPI_File_open, TIMED, ".....")                                                                             \
    CALL(1, MPI_File_close, TIMED, ".")                                                                                \
    CALL(1, MPI_File_sync, TIMED, ".")                                                                                 \
    CALL(2, MPI_File_set_size, TIMED, "..")                                                                            \
    CALL(6, MPI_File_set_view, TIMED, "......")                                                                        \
    HOP_MPI_FILE(CALL, read)                                                                                           \
    HOP_MPI_FILE(CALL, write)

#define HOP_MPI_FILE(CALL, verb)                                                                                       \
    HOP_MPI_BOTH(CALL, 5, MPI_File_##verb, IO, ".snt.")                                                                \
    HOP_MPI_BOTH(CALL, 5, MPI_File_##verb##_all, IO, ".snt.")                                                          \
    HOP_MPI_BOTH(CALL, 5, MPI_File_##verb##_shared, IO, ".snt.")                                                       \
    HOP_MPI_BOTH(CALL, 5, MPI_File_##verb##_ordered, IO, ".snt.")                                                      \
    HOP_MPI_BOTH(CALL, 6, MPI_File_##verb##_at, IO, "..snt.")                                                          \
    HOP_MPI_BOTH(CALL, 6, MPI_File_##verb##_at_all, IO, "..snt.")                                                      \
    HOP_MPI_BOTH(CALL, 5, MPI_File_i##verb, IO, ".snt.")                                                               \
    HOP_MPI_BOTH(CALL, 5, MPI_File_i##verb##_all, IO, ".snt.")                                                         \
    HOP_MPI_BOTH(CALL, 5, MPI_File_i##verb##_shared, IO, ".snt.")                                                      \
    HOP_MPI_BOTH(CALL, 6, MPI_File_i##verb##_at, IO, "..snt.")                                                         \
    HOP_MPI_BOTH(CALL, 6, MPI_File_i##verb##_at_all, IO, "..snt.")                                                     \
    HOP_MPI_BOTH(CALL, 4, MPI_File_##verb##_all_begin, IO, ".snt")                                                     \
    HOP_MPI_BOTH(CALL, 5, MPI_File_##verb##_at_all_begin, IO, "..snt")                                                 \
    HOP_MPI_BOTH(CALL, 4, MPI_File_##verb##_ordered_begin, IO, ".snt")                                                 \
    CALL(3, MPI_File_##verb##_all_end, TIMED, "...")                                                                   \
    CALL(3, MPI_File_##verb##_at_all_end, TIMED, "...")                                                                \
    CALL(3, MPI_File_##verb##_ordered_end, TIMED, "...")

#define HOP_MPI_NUMBER(arity, name, kind, roles) CALL_##name,
enum hop_mpi_call { HOP_MPI_CALLS(HOP_MPI_NUMBER) HOP_MPI_CALL_COUNT };
#undef HOP_MPI_NUMBER

#endif
