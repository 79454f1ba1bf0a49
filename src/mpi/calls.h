/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The MPI calls that are wrapped: CALL(number of arguments, name, kind, roles), a letter of the roles an argument.
 *
 *     s n t   buffer, count and type of what is sent          r m u   of what is received
 *     v T     an array of counts, of types, that are sent     k U     that are received
 *     d       destination, target or root                     c w     communicator, window
 *     p       partitions                                      N       a count that is always large (MPI_Count)
 *     o       operation                                       Q       where a persistent request comes out
 *     .       not looked at
 *
 * Of a call whose name ends in _c, all counts are large: BOTH makes it of the same row. What only waits, receives or
 * orders is TIMED: the sender's side says what is moved.
 */
#ifndef HOP_MPI_CALLS_H
#define HOP_MPI_CALLS_H

enum hop_mpi_kind {
    KIND_TIMED,
    KIND_INIT,
    KIND_FINALIZE,
    KIND_ABORT,
    KIND_PCONTROL,
    KIND_COMM_FREE,
    KIND_START,
    KIND_START_ALL,
    KIND_FREE,
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
    HOP_MPI_BOTH(CALL, more, MPI_##iname, kind, roles ".")                                                             \
    HOP_MPI_BOTH(CALL, most, MPI_##name##_init, kind, roles ".Q")                                                      \
    CALL(most, MPIX_##name##_init, kind, roles ".Q")

#define HOP_MPI_CALLS(CALL)                                                                                            \
    CALL(2, MPI_Init, INIT, "..")                                                                                      \
    CALL(4, MPI_Init_thread, INIT, "....")                                                                             \
    CALL(0, MPI_Finalize, FINALIZE, "")                                                                                \
    CALL(2, MPI_Abort, ABORT, "..")                                                                                    \
    CALL(1, MPI_Comm_free, COMM_FREE, ".")                                                                             \
    CALL(1, MPI_Comm_disconnect, COMM_FREE, ".")                                                                       \
    CALL(1, MPI_Pcontrol, PCONTROL, ".")                                                                               \
    HOP_MPI_POINT_TO_POINT(CALL)                                                                                       \
    HOP_MPI_COLLECTIVES(CALL)                                                                                          \
    HOP_MPI_ONE_SIDED(CALL)                                                                                            \
    HOP_MPI_FILES(CALL)

#define HOP_MPI_POINT_TO_POINT(CALL)                                                                                   \
    HOP_MPI_BOTH(CALL, 6, MPI_Send, POINT, "sntd.c")                                                                   \
    HOP_MPI_BOTH(CALL, 6, MPI_Bsend, POINT, "sntd.c")                                                                  \
    HOP_MPI_BOTH(CALL, 6, MPI_Ssend, POINT, "sntd.c")                                                                  \
    HOP_MPI_BOTH(CALL, 6, MPI_Rsend, POINT, "sntd.c")                                                                  \
    HOP_MPI_BOTH(CALL, 7, MPI_Isend, POINT, "sntd.c.")                                                                 \
    HOP_MPI_BOTH(CALL, 7, MPI_Ibsend, POINT, "sntd.c.")                                                                \
    HOP_MPI_BOTH(CALL, 7, MPI_Issend, POINT, "sntd.c.")                                                                \
    HOP_MPI_BOTH(CALL, 7, MPI_Irsend, POINT, "sntd.c.")                                                                \
    HOP_MPI_BOTH(CALL, 7, MPI_Send_init, POINT, "sntd.cQ")                                                             \
    HOP_MPI_BOTH(CALL, 7, MPI_Bsend_init, POINT, "sntd.cQ")                                                            \
    HOP_MPI_BOTH(CALL, 7, MPI_Ssend_init, POINT, "sntd.cQ")                                                            \
    HOP_MPI_BOTH(CALL, 7, MPI_Rsend_init, POINT, "sntd.cQ")                                                            \
    HOP_MPI_BOTH(CALL, 12, MPI_Sendrecv, POINT, "sntd.rmu..c.")                                                        \
    HOP_MPI_BOTH(CALL, 9, MPI_Sendrecv_replace, POINT, "sntd...c.")                                                    \
    HOP_MPI_BOTH(CALL, 12, MPI_Isendrecv, POINT, "sntd.rmu..c.")                                                       \
    HOP_MPI_BOTH(CALL, 9, MPI_Isendrecv_replace, POINT, "sntd...c.")                                                   \
    CALL(9, MPI_Psend_init, POINT, "spNtd.c.Q")                                                                        \
    CALL(9, MPI_Precv_init, TIMED, ".........")                                                                        \
    CALL(2, MPI_Pready, TIMED, "..")                                                                                   \
    CALL(3, MPI_Pready_range, TIMED, "...")                                                                            \
    CALL(3, MPI_Pready_list, TIMED, "...")                                                                             \
    CALL(3, MPI_Parrived, TIMED, "...")                                                                                \
    HOP_MPI_BOTH(CALL, 7, MPI_Recv, TIMED, ".......")                                                                  \
    HOP_MPI_BOTH(CALL, 7, MPI_Irecv, TIMED, ".......")                                                                 \
    HOP_MPI_BOTH(CALL, 7, MPI_Recv_init, TIMED, ".......")                                                             \
    HOP_MPI_BOTH(CALL, 5, MPI_Mrecv, TIMED, ".....")                                                                   \
    HOP_MPI_BOTH(CALL, 5, MPI_Imrecv, TIMED, ".....")                                                                  \
    CALL(4, MPI_Probe, TIMED, "....")                                                                                  \
    CALL(5, MPI_Iprobe, TIMED, ".....")                                                                                \
    CALL(5, MPI_Mprobe, TIMED, ".....")                                                                                \
    CALL(6, MPI_Improbe, TIMED, "......")                                                                              \
    CALL(2, MPI_Wait, TIMED, "..")                                                                                     \
    CALL(3, MPI_Waitall, TIMED, "...")                                                                                 \
    CALL(4, MPI_Waitany, TIMED, "....")                                                                                \
    CALL(5, MPI_Waitsome, TIMED, ".....")                                                                              \
    CALL(3, MPI_Test, TIMED, "...")                                                                                    \
    CALL(4, MPI_Testall, TIMED, "....")                                                                                \
    CALL(5, MPI_Testany, TIMED, ".....")                                                                               \
    CALL(5, MPI_Testsome, TIMED, ".....")                                                                              \
    CALL(1, MPI_Start, START, ".")                                                                                     \
    CALL(2, MPI_Startall, START_ALL, "..")                                                                             \
    CALL(1, MPI_Request_free, FREE, ".")

#define HOP_MPI_COLLECTIVES(CALL)                                                                                      \
    CALL(1, MPI_Barrier, TIMED, ".")                                                                                   \
    CALL(2, MPI_Ibarrier, TIMED, "..")                                                                                 \
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

#define HOP_MPI_ONE_SIDED(CALL)                                                                                        \
    HOP_MPI_BOTH(CALL, 8, MPI_Put, PUT, "sntd...w")                                                                    \
    HOP_MPI_BOTH(CALL, 9, MPI_Rput, PUT, "sntd...w.")                                                                  \
    HOP_MPI_BOTH(CALL, 9, MPI_Accumulate, PUT, "sntd....w")                                                            \
    HOP_MPI_BOTH(CALL, 10, MPI_Raccumulate, PUT, "sntd....w.")                                                         \
    HOP_MPI_BOTH(CALL, 8, MPI_Get, GET, "sntd...w")                                                                    \
    HOP_MPI_BOTH(CALL, 9, MPI_Rget, GET, "sntd...w.")                                                                  \
    HOP_MPI_BOTH(CALL, 12, MPI_Get_accumulate, FETCH, "sntrmud...ow")                                                  \
    HOP_MPI_BOTH(CALL, 13, MPI_Rget_accumulate, FETCH, "sntrmud...ow.")                                                \
    CALL(7, MPI_Fetch_and_op, FETCH, "srtd.ow")                                                                        \
    CALL(7, MPI_Compare_and_swap, SWAP, "s.rtd.w")                                                                     \
    CALL(2, MPI_Win_fence, TIMED, "..")                                                                                \
    CALL(3, MPI_Win_start, TIMED, "...")                                                                               \
    CALL(1, MPI_Win_complete, TIMED, ".")                                                                              \
    CALL(3, MPI_Win_post, TIMED, "...")                                                                                \
    CALL(1, MPI_Win_wait, TIMED, ".")                                                                                  \
    CALL(2, MPI_Win_test, TIMED, "..")                                                                                 \
    CALL(4, MPI_Win_lock, TIMED, "....")                                                                               \
    CALL(2, MPI_Win_unlock, TIMED, "..")                                                                               \
    CALL(2, MPI_Win_lock_all, TIMED, "..")                                                                             \
    CALL(1, MPI_Win_unlock_all, TIMED, ".")                                                                            \
    CALL(2, MPI_Win_flush, TIMED, "..")                                                                                \
    CALL(1, MPI_Win_flush_all, TIMED, ".")                                                                             \
    CALL(2, MPI_Win_flush_local, TIMED, "..")                                                                          \
    CALL(1, MPI_Win_flush_local_all, TIMED, ".")

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
