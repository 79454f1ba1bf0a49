/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calls of which it is known what they move: patterns FOLDER MODE. Beside each stands who sends how much to whom, and
 * every rank writes that to FOLDER/expected.RANK, a line "class from to bytes messages" each.
 *
 * Modes: calls, point (messages alone), plain (those without persistent ones), threads, sessions, alone (one of each
 * rank's), device, repeat (among many ranks), rare, abort, handler (which aborts), killed, exit, spawn.
 */
#include <dlfcn.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ROOM = 1 << 16, THREADS = 3, ROUNDS = 200, MANY = 8 };

static int rank, ranks;
static FILE *expected;
static char out[ROOM], in[ROOM];

static void expect(const char *class, int from, int to, long bytes, long messages)
{
    (void)fprintf(expected, "%s %d %d %ld %ld\n", class, from, to, bytes, messages);
}

static bool open_expected(const char *folder)
{
    char path[4096];
    (void)snprintf(path, sizeof path, "%s/expected.%d", folder, rank);
    expected = fopen(path, "w");
    return expected && ranks <= 64;
}

static void expect_all(const char *class, long bytes)
{
    for (int r = 0; r < ranks; r++) {
        if (r != rank)
            expect(class, rank, r, bytes, 1);
    }
}

/* ---- messages ---- */

/* Each rank to the next by call number `way`, with a size of its own. */
static void ring(int way)
{
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks, bytes = 100 * way + 10 * rank + 1;
    MPI_Request receive, send = MPI_REQUEST_NULL;
    expect("point_to_point", rank, to, bytes, 1);
    if (way >= 8) {
        MPI_Status status;
        if (way == 8)
            MPI_Sendrecv(out, bytes, MPI_BYTE, to, way, in, ROOM, MPI_BYTE, from, way, MPI_COMM_WORLD, &status);
        else
            MPI_Sendrecv_replace(out, 1001, MPI_CHAR, to, way, from, way, MPI_COMM_WORLD, &status);
        if (way == 9)
            expect("point_to_point", rank, to, 1001 - bytes, 0);
        return;
    }
    MPI_Irecv(in, ROOM, MPI_BYTE, MPI_ANY_SOURCE, way, MPI_COMM_WORLD, &receive);
    MPI_Barrier(MPI_COMM_WORLD); /* ready sends want a receive that is there */
    if (way == 0)
        MPI_Send(out, bytes, MPI_BYTE, to, way, MPI_COMM_WORLD);
    else if (way == 1)
        MPI_Bsend(out, bytes, MPI_BYTE, to, way, MPI_COMM_WORLD);
    else if (way == 2)
        MPI_Ssend(out, bytes, MPI_BYTE, to, way, MPI_COMM_WORLD);
    else if (way == 3)
        MPI_Rsend(out, bytes, MPI_BYTE, to, way, MPI_COMM_WORLD);
    else
        (way == 4   ? MPI_Isend
         : way == 5 ? MPI_Ibsend
         : way == 6 ? MPI_Issend
                    : MPI_Irsend)(out, bytes, MPI_BYTE, to, way, MPI_COMM_WORLD, &send);
    MPI_Wait(&send, MPI_STATUS_IGNORE);
    MPI_Wait(&receive, MPI_STATUS_IGNORE);
}

/* Started three times, of two kinds at once; then forgotten, and others are never started. */
static void persistent(void)
{
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    MPI_Request requests[3], idle;
    MPI_Send_init(out, 40 + rank, MPI_BYTE, to, 1, MPI_COMM_WORLD, &requests[0]);
    MPI_Ssend_init(out, 3, MPI_INT, to, 2, MPI_COMM_WORLD, &requests[1]);
    MPI_Recv_init(in, ROOM / 2, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &requests[2]);
    MPI_Send_init(out, 1000, MPI_BYTE, to, 3, MPI_COMM_WORLD, &idle);
    for (int i = 0; i < 3; i++) {
        MPI_Request other;
        MPI_Irecv(in + ROOM / 2, ROOM / 2, MPI_BYTE, from, MPI_ANY_TAG, MPI_COMM_WORLD, &other);
        MPI_Startall(2, requests);
        MPI_Start(&requests[2]);
        MPI_Wait(&other, MPI_STATUS_IGNORE);
        MPI_Waitall(3, requests, MPI_STATUSES_IGNORE);
        expect("point_to_point", rank, to, 40 + rank, 1);
        expect("point_to_point", rank, to, 12, 1);
    }
    MPI_Request_free(&idle);
    for (int i = 0; i < 3; i++)
        MPI_Request_free(&requests[i]);
}

/* Communicators whose ranks are others, types with holes, nobody, nothing, itself. */
static void odd_messages(void)
{
    MPI_Comm turned;
    MPI_Datatype columns;
    MPI_Request request;
    MPI_Comm_split(MPI_COMM_WORLD, 0, ranks - rank, &turned);
    MPI_Type_vector(5, 2, 7, MPI_DOUBLE, &columns);
    MPI_Type_commit(&columns);
    int own, to;
    MPI_Comm_rank(turned, &own);
    to = (own + 1) % ranks;
    MPI_Irecv(in, ROOM, MPI_BYTE, MPI_ANY_SOURCE, 0, turned, &request);
    MPI_Send(out, 2, columns, to, 0, turned);
    expect("point_to_point", rank, ranks - 1 - to, 160, 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Type_free(&columns);
    MPI_Comm_free(&turned);

    MPI_Comm even;
    MPI_Comm_split(MPI_COMM_WORLD, rank % 2, rank, &even);
    if (rank == 0 && ranks > 2) {
        MPI_Send(out, 77, MPI_BYTE, 1, 0, even);
        expect("point_to_point", 0, 2, 77, 1);
    } else if (rank == 2) {
        MPI_Recv(in, ROOM, MPI_BYTE, 0, 0, even, MPI_STATUS_IGNORE);
    }
    MPI_Comm_free(&even);

    MPI_Send(out, 500, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_WORLD);
    MPI_Irecv(in, ROOM, MPI_BYTE, rank, 9, MPI_COMM_WORLD, &request);
    MPI_Send(out, 33, MPI_BYTE, rank, 9, MPI_COMM_WORLD);
    expect("point_to_point", rank, rank, 33, 1);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    if (rank == 0) {
        MPI_Send(out, 0, MPI_INT, 1, 4, MPI_COMM_WORLD);
        expect("point_to_point", 0, 1, 0, 1);
    } else if (rank == 1) {
        MPI_Recv(in, 0, MPI_INT, 0, 4, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    }
}

/* Messages of sizes of their own to the next rank, and as many receives. */
static void begin_many(MPI_Request *requests, int tag)
{
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    for (int i = 0; i < MANY; i++)
        MPI_Irecv(in + i * 64, 64, MPI_BYTE, i % 2 ? MPI_ANY_SOURCE : from, tag + i, MPI_COMM_WORLD, &requests[i]);
    for (int i = 0; i < MANY; i++) {
        MPI_Isend(out, i + tag, MPI_BYTE, to, tag + i, MPI_COMM_WORLD, &requests[MANY + i]);
        expect("point_to_point", rank, to, i + tag, 1);
    }
}

/* Each way to end what was begun. */
static void ends(void)
{
    MPI_Request requests[2 * MANY];
    MPI_Status statuses[2 * MANY];
    int indices[2 * MANY], index, done, all = 0;
    begin_many(requests, 1);
    for (index = 0; index != MPI_UNDEFINED;)
        MPI_Waitany(2 * MANY, requests, &index, MPI_STATUS_IGNORE);
    begin_many(requests, 2);
    for (done = 0; done != MPI_UNDEFINED;)
        MPI_Waitsome(2 * MANY, requests, &done, indices, MPI_STATUSES_IGNORE);
    begin_many(requests, 3);
    while (!all)
        MPI_Testall(2 * MANY, requests, &all, statuses);
    begin_many(requests, 4);
    for (index = 0; index != MPI_UNDEFINED;) {
        int flag = 0;
        while (!flag)
            MPI_Testany(2 * MANY, requests, &index, &flag, statuses);
    }
    begin_many(requests, 5);
    for (done = 0; done != MPI_UNDEFINED;)
        MPI_Testsome(2 * MANY, requests, &done, indices, statuses);
    begin_many(requests, 6);
    for (int i = 0; i < 2 * MANY; i++) {
        int flag = 0;
        while (!flag)
            MPI_Test(&requests[i], &flag, MPI_STATUS_IGNORE);
    }
    MPI_Irecv(in, ROOM, MPI_BYTE, MPI_ANY_SOURCE, 99, MPI_COMM_WORLD, requests);
    MPI_Cancel(requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
}

/* Messages that are looked for, and those of communicators with the same ranks. */
static void looks(void)
{
    int to = (rank + 1) % ranks, flag = 0;
    MPI_Status status;
    MPI_Message message;
    MPI_Request requests[6];
    MPI_Comm one, two;
    for (int i = 0; i < 4; i++) {
        MPI_Isend(out, 200 + i, MPI_BYTE, to, i, MPI_COMM_WORLD, &requests[i]);
        expect("point_to_point", rank, to, 200 + i, 1);
    }
    MPI_Probe(MPI_ANY_SOURCE, 0, MPI_COMM_WORLD, &status);
    MPI_Recv(in, ROOM, MPI_BYTE, status.MPI_SOURCE, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    while (!flag)
        MPI_Iprobe(MPI_ANY_SOURCE, 1, MPI_COMM_WORLD, &flag, &status);
    MPI_Recv(in, ROOM, MPI_BYTE, status.MPI_SOURCE, 1, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Mprobe(MPI_ANY_SOURCE, 2, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(in, ROOM, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    for (flag = 0; !flag;)
        MPI_Improbe(MPI_ANY_SOURCE, 3, MPI_COMM_WORLD, &flag, &message, MPI_STATUS_IGNORE);
    MPI_Imrecv(in, ROOM, MPI_BYTE, &message, &requests[4]);
    MPI_Waitall(5, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_dup(MPI_COMM_WORLD, &one);
    MPI_Comm_dup(MPI_COMM_WORLD, &two);
    for (int i = 0; i < 2; i++) {
        MPI_Irecv(in + 1000 * i, 1000, MPI_BYTE, MPI_ANY_SOURCE, 5, i ? two : one, &requests[i]);
        MPI_Isend(out, 300 + i, MPI_BYTE, to, 5, i ? one : two, &requests[2 + i]);
        expect("point_to_point", rank, to, 300 + i, 1);
    }
    MPI_Waitall(4, requests, MPI_STATUSES_IGNORE);
    MPI_Comm_free(&two);
    MPI_Comm_free(&one);
}

/* From the first rank to the last, each behind the one before. */
static void chain(void)
{
    if (rank > 0)
        MPI_Recv(in, ROOM, MPI_BYTE, MPI_ANY_SOURCE, MPI_ANY_TAG, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    if (rank + 1 < ranks) {
        MPI_Send(out, 1000, MPI_BYTE, rank + 1, rank, MPI_COMM_WORLD);
        expect("point_to_point", rank, rank + 1, 1000, 1);
    }
}

static void messages(bool all)
{
    static char room[ROOM];
    MPI_Buffer_attach(room, ROOM);
    for (int way = 0; way < 10; way++)
        ring(way);
    void *buffer;
    int size;
    MPI_Buffer_detach(&buffer, &size);
    if (all) {
        persistent();
        ends();
        looks();
    }
    odd_messages();
}

/* ---- collectives ---- */

static void rooted(int root)
{
    int counts[64], places[64], *o = (int *)out, *i = (int *)in;
    for (int r = 0; r < ranks; r++) {
        counts[r] = r + 1;
        places[r] = 100 * r;
    }
    MPI_Bcast(out, 11, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Scatter(o, 3, MPI_INT, rank == root ? MPI_IN_PLACE : i, 3, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Scatterv(o, counts, places, MPI_INT, i, rank + 1, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Gather(rank == root ? MPI_IN_PLACE : o, 5, MPI_INT, i, 5, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Gatherv(o, rank + 1, MPI_INT, i, counts, places, MPI_INT, root, MPI_COMM_WORLD);
    MPI_Reduce(rank == root ? MPI_IN_PLACE : o, i, 9, MPI_INT, MPI_SUM, root, MPI_COMM_WORLD);
    if (rank != root) {
        expect("collective", rank, root, 20 + 4 * (rank + 1) + 36, 3);
        return;
    }
    expect_all("collective", 44);
    expect_all("collective", 12);
    for (int r = 0; r < ranks; r++) {
        if (r != root)
            expect("collective", root, r, 4 * (r + 1), 1);
    }
}

static void together(void)
{
    int counts[64], places[64], zero[64] = {0}, *o = (int *)out, *i = (int *)in;
    MPI_Datatype types[64];
    for (int r = 0; r < ranks; r++) {
        counts[r] = r + 1;
        places[r] = 100 * r;
        types[r] = MPI_SHORT;
    }
    MPI_Allgather(o, 2, MPI_INT, i, 2, MPI_INT, MPI_COMM_WORLD);
    MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, i, 3, MPI_INT, MPI_COMM_WORLD);
    expect_all("collective", 8);
    expect_all("collective", 12);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, i, counts, places, MPI_INT, MPI_COMM_WORLD);
    expect_all("collective", 4 * (rank + 1));
    MPI_Alltoall(o, 6, MPI_INT, i, 6, MPI_INT, MPI_COMM_WORLD);
    expect_all("collective", 24);
    /* r sends q as much as q and r have in common, so that both sides agree. */
    for (int r = 0; r < ranks; r++) {
        zero[r] = 1 + r + rank;
        if (r != rank) {
            expect("collective", rank, r, 4 * (1 + r + rank), 1);
            expect("collective", rank, r, 2 * (1 + r + rank), 1);
        }
    }
    MPI_Alltoallv(o, zero, places, MPI_INT, i, zero, places, MPI_INT, MPI_COMM_WORLD);
    MPI_Alltoallw(o, zero, places, types, i, zero, places, types, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
}

/* Of 4 n + 2 ints, the first two ranks of four have a block of n + 1. */
static void reductions(void)
{
    int counts[64], n = 10, *o = (int *)out, *i = (int *)in, total = n * ranks + 2;
    for (int r = 0; r < ranks; r++)
        counts[r] = 2 * r + 1;
    for (int r = 0; r < ranks; r++) {
        if (r == rank)
            continue;
        for (int k = 0; k < 2; k++) { /* blocking and not */
            expect("collective", rank, r, 4 * (n + (r < 2)), 1);
            expect("collective", rank, r, 4 * (n + (rank < 2)), 1);
        }
        expect("collective", rank, r, 4 * (2 * r + 1), 1);
        expect("collective", rank, r, 28, 1);
    }
    MPI_Request request;
    MPI_Allreduce(o, i, total, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Iallreduce(MPI_IN_PLACE, i, total, MPI_INT, MPI_SUM, MPI_COMM_WORLD, &request);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    MPI_Reduce_scatter(o, i, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Reduce_scatter_block(o, i, 7, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Scan(o, i, 5, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Exscan(o, i, 6, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (rank + 1 < ranks)
        expect("collective", rank, rank + 1, 44, 2);
}

/* A line whose ends have one neighbour, and a directed graph. */
static void neighbours(void)
{
    MPI_Comm line, graph;
    int periods = 0, to = (rank + 2) % ranks, from = (rank + ranks - 2) % ranks;
    MPI_Cart_create(MPI_COMM_WORLD, 1, &ranks, &periods, 0, &line);
    MPI_Neighbor_allgather(out, 3, MPI_INT, in, 3, MPI_INT, line);
    MPI_Neighbor_alltoall(out, 4, MPI_INT, in, 4, MPI_INT, line);
    for (int r = rank - 1; r <= rank + 1; r += 2) {
        if (r >= 0 && r < ranks)
            expect("neighbourhood", rank, r, 28, 2);
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, 1, &from, MPI_UNWEIGHTED, 1, &to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0,
                                   &graph);
    int sent[1] = {rank + 5}, got[1] = {from + 5}, places[1] = {0};
    MPI_Neighbor_alltoallv(out, sent, places, MPI_INT, in, got, places, MPI_INT, graph);
    expect("neighbourhood", rank, to, 4 * (rank + 5), 1);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&line);
}

static void one_sided(void)
{
    static int memory[256];
    int to = (rank + 1) % ranks, *o = (int *)out, *i = (int *)in;
    MPI_Win window;
    MPI_Win_create(memory, sizeof memory, sizeof(int), MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(o, 7, MPI_INT, to, 0, 7, MPI_INT, window);
    MPI_Accumulate(o, 3, MPI_INT, to, 20, 3, MPI_INT, MPI_SUM, window);
    MPI_Win_fence(0, window);
    MPI_Get(i, 9, MPI_INT, to, 0, 9, MPI_INT, window);
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, to, 0, window);
    MPI_Fetch_and_op(o, i, MPI_INT, to, 30, MPI_SUM, window);
    MPI_Get_accumulate(o, 4, MPI_INT, i, 4, MPI_INT, to, 40, 4, MPI_INT, MPI_SUM, window);
    MPI_Get_accumulate(NULL, 0, MPI_INT, i, 5, MPI_INT, to, 40, 5, MPI_INT, MPI_NO_OP, window);
    MPI_Compare_and_swap(o, o + 1, i, MPI_INT, to, 60, window);
    MPI_Win_unlock(to, window);
    MPI_Group all, targets, origins;
    int done = 0, from = (rank + ranks - 1) % ranks;
    MPI_Comm_group(MPI_COMM_WORLD, &all);
    MPI_Group_incl(all, 1, &to, &targets);
    MPI_Group_incl(all, 1, &from, &origins);
    for (int turn = 0; turn < 2; turn++) {
        MPI_Win_post(origins, 0, window);
        MPI_Win_start(targets, 0, window);
        MPI_Put(o, 5, MPI_INT, to, 100, 5, MPI_INT, window);
        MPI_Win_complete(window);
        while (turn && !done)
            MPI_Win_test(window, &done);
        if (!turn)
            MPI_Win_wait(window);
    }
    MPI_Group_free(&origins);
    MPI_Group_free(&targets);
    MPI_Group_free(&all);
    MPI_Win_free(&window);
    expect("one_sided", rank, to, 28 + 12 + 4 + 16 + 8 + 2 * 20, 7);
    expect("one_sided", to, rank, 36 + 4 + 16 + 20 + 4, 5);
}

/* Two groups: what has a root goes from it to the other group. */
static void between_groups(void)
{
    MPI_Comm half, both;
    int low = rank < ranks / 2, first = low ? 0 : ranks / 2, other = low ? ranks / 2 : 0,
        others = low ? ranks - ranks / 2 : ranks / 2;
    MPI_Comm_split(MPI_COMM_WORLD, low, rank, &half);
    MPI_Intercomm_create(half, 0, MPI_COMM_WORLD, other, 0, &both);
    MPI_Bcast(out, 13, MPI_BYTE, !low ? 0 : rank == first ? MPI_ROOT : MPI_PROC_NULL, both);
    MPI_Allgather(out, 3, MPI_BYTE, in, 3, MPI_BYTE, both);
    for (int r = 0; r < others; r++) {
        if (rank == 0)
            expect("collective", 0, other + r, 13, 1);
        expect("collective", rank, other + r, 3, 1);
    }
    MPI_Comm_free(&both);
    MPI_Comm_free(&half);
}

/* Files, whose messages are the MPI's own, and a pause. */
static void uncounted(const char *folder)
{
    char path[4096];
    MPI_File file;
    (void)snprintf(path, sizeof path, "%s/written", folder);
    MPI_File_open(MPI_COMM_WORLD, path, MPI_MODE_CREATE | MPI_MODE_WRONLY, MPI_INFO_NULL, &file);
    MPI_File_write_at_all(file, 1000 * rank, out, 1000, MPI_BYTE, MPI_STATUS_IGNORE);
    MPI_File_close(&file);
    MPI_Pcontrol(0);
    MPI_Allreduce(out, in, 100, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Pcontrol(1);
}

/* Large counts, partitions, persistent collectives. */
static void of_mpi_4(void)
{
#if MPI_VERSION >= 4
    int to = (rank + 1) % ranks, from = (rank + ranks - 1) % ranks;
    MPI_Count counts[64];
    MPI_Aint places[64];
    MPI_Request requests[2];
    MPI_Isendrecv(out, 21, MPI_BYTE, to, 0, in, 21, MPI_BYTE, from, 0, MPI_COMM_WORLD, requests);
    MPI_Wait(requests, MPI_STATUS_IGNORE);
    MPI_Sendrecv_c(out, 31, MPI_BYTE, to, 0, in, 31, MPI_BYTE, from, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("point_to_point", rank, to, 21 + 31, 2);
    for (int r = 0; r < ranks; r++) {
        counts[r] = r + 3;
        places[r] = 100 * r;
    }
    MPI_Allgatherv_c(out, rank + 3, MPI_BYTE, in, counts, places, MPI_BYTE, MPI_COMM_WORLD);
    expect_all("collective", rank + 3);
    MPI_Alltoall_init(out, 2, MPI_INT, in, 2, MPI_INT, MPI_COMM_WORLD, MPI_INFO_NULL, requests);
    for (int i = 0; i < 2; i++) {
        MPI_Start(requests);
        MPI_Wait(requests, MPI_STATUS_IGNORE);
        expect_all("collective", 8);
    }
    MPI_Request_free(requests);
    MPI_Psend_init(out, 4, 25, MPI_BYTE, to, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[0]);
    MPI_Precv_init(in, 4, 25, MPI_BYTE, from, 7, MPI_COMM_WORLD, MPI_INFO_NULL, &requests[1]);
    MPI_Startall(2, requests);
    MPI_Pready_range(0, 3, requests[0]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    expect("point_to_point", rank, to, 100, 1);
    MPI_Request_free(&requests[0]);
    MPI_Request_free(&requests[1]);
#endif
}

/* No MPI_Init: a communicator of this rank alone, then one of all (MPICH 4.0 makes no others), in their order and the
 * other way round. */
static int sessions(const char *folder, const char *mode)
{
    int done = 0;
#if MPI_VERSION >= 4
    MPI_Session session, other;
    MPI_Group all, self;
    MPI_Comm alone, world, turned;
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &session);
    MPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &other);
    MPI_Group_from_session_pset(session, "mpi://WORLD", &all);
    MPI_Group_from_session_pset(session, "mpi://SELF", &self);
    MPI_Group_rank(all, &rank);
    MPI_Group_size(all, &ranks);
    if (!open_expected(folder))
        return 2;
    MPI_Comm_create_from_group(self, "alone", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &alone);
    MPI_Sendrecv(out, 5, MPI_BYTE, 0, 0, in, 5, MPI_BYTE, 0, 0, alone, MPI_STATUS_IGNORE);
    if (strcmp(mode, "alone") != 0) {
        MPI_Comm_create_from_group(all, "all", MPI_INFO_NULL, MPI_ERRORS_ARE_FATAL, &world);
        MPI_Comm_split(world, 0, -rank, &turned);
        MPI_Bcast(out, 7, MPI_BYTE, 0, turned);
        MPI_Bcast(out, 11, MPI_BYTE, 0, world);
        for (int r = 0; r < ranks; r++) {
            if (rank == ranks - 1 && r != rank)
                expect("collective", rank, r, 7, 1);
            if (rank == 0 && r != rank)
                expect("collective", rank, r, 11, 1);
        }
        MPI_Sendrecv(out, 5, MPI_BYTE, 0, 0, in, 5, MPI_BYTE, 0, 0, alone, MPI_STATUS_IGNORE);
        expect("point_to_point", rank, rank, 5, 1);
        MPI_Comm_free(&turned);
        MPI_Comm_free(&world);
    }
    MPI_Comm_free(&alone);
    MPI_Group_free(&self);
    MPI_Group_free(&all);
    MPI_Session_finalize(&other);
    done = MPI_Session_finalize(&session);
    (void)fclose(expected);
#else
    (void)folder, (void)mode;
#endif
    return done;
}

/* ---- two jobs ---- */

/* Two ranks start two more of this program, for which sums need not be in order; what goes between them is expected in
 * counted.py. */
static void spawn(char **words)
{
    MPI_Comm between, all;
    MPI_Info info;
    double one = 1, sum = 0;
    MPI_Info_create(&info);
    MPI_Info_set(info, "env", "HOPCAST_MPI_REPRODUCIBLE=0");
    MPI_Comm_get_parent(&between);
    bool is_child = between != MPI_COMM_NULL;
    if (!is_child)
        MPI_Comm_spawn(words[0], words + 1, 2, info, 0, MPI_COMM_WORLD, &between, MPI_ERRCODES_IGNORE);
    if (!is_child && rank == 0)
        MPI_Send(out, 100, MPI_BYTE, 0, 0, between);
    else if (is_child && rank == 0)
        MPI_Recv(in, 100, MPI_BYTE, 0, 0, between, MPI_STATUS_IGNORE);
    else if (is_child)
        MPI_Send(out, 30, MPI_BYTE, 1, 0, between);
    else
        MPI_Recv(in, 30, MPI_BYTE, 1, 0, between, MPI_STATUS_IGNORE);
    MPI_Bcast(out, 11, MPI_BYTE, is_child ? 0 : rank == 0 ? MPI_ROOT : MPI_PROC_NULL, between);
    MPI_Intercomm_merge(between, is_child, &all);
    MPI_Allgather(out, 4, MPI_BYTE, in, 4, MPI_BYTE, all);
    MPI_Pcontrol(0);
    MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, all);
    if (sum < 4)
        MPI_Abort(MPI_COMM_WORLD, 1);
    MPI_Comm_free(&all);
    MPI_Comm_disconnect(&between);
    MPI_Info_free(&info);
    MPI_Finalize();
    exit(0);
}

/* ---- signals ---- */

static volatile sig_atomic_t handled;

static void on_signal(int signal)
{
    handled = signal;
}

/* Rank 2 has a handler of its own, and lives on; rank 1 has none. */
static void killed(void)
{
    if (rank == 2) {
        (void)signal(SIGTERM, on_signal);
        (void)raise(SIGTERM);
        if (handled != SIGTERM)
            MPI_Abort(MPI_COMM_WORLD, 6);
        MPI_Send(out, 3, MPI_BYTE, 1, 0, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Recv(in, 3, MPI_BYTE, 2, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        (void)raise(SIGTERM);
    }
    for (;;)
        (void)pause();
}

/* ---- threads ---- */

static void *many(void *number)
{
    int tag = *(int *)number;
    char byte[8] = "";
    for (int i = 0; i < ROUNDS; i++) {
        MPI_Request request;
        MPI_Irecv(byte + 4, 1, MPI_BYTE, (rank + ranks - 1) % ranks, tag, MPI_COMM_WORLD, &request);
        MPI_Send(byte, 1, MPI_BYTE, (rank + 1) % ranks, tag, MPI_COMM_WORLD);
        MPI_Wait(&request, MPI_STATUS_IGNORE);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t all[THREADS];
    int numbers[THREADS];
    for (int t = 0; t < THREADS; t++) {
        numbers[t] = t;
        (void)pthread_create(&all[t], NULL, many, &numbers[t]);
    }
    for (int t = 0; t < THREADS; t++)
        (void)pthread_join(all[t], NULL);
    expect("point_to_point", rank, (rank + 1) % ranks, THREADS * ROUNDS, THREADS * ROUNDS);
}

#include "device_patterns.h"
#include "rare_patterns.h"

int main(int count, char **words)
{
    const char *mode = count > 2 ? words[2] : "calls";
    int level = MPI_THREAD_SINGLE;
    if (strcmp(mode, "sessions") == 0 || strcmp(mode, "alone") == 0)
        return sessions(words[1], mode);
    if (strcmp(mode, "threads") == 0)
        MPI_Init_thread(&count, &words, MPI_THREAD_MULTIPLE, &level);
    else
        MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    if (strcmp(mode, "spawn") == 0)
        spawn(words);
    if (!open_expected(words[1]))
        MPI_Abort(MPI_COMM_WORLD, 2);
    if (strcmp(mode, "threads") == 0) {
        if (level == MPI_THREAD_MULTIPLE)
            threads();
    } else if (strcmp(mode, "device") == 0) {
        device();
    } else if (strcmp(mode, "chain") == 0) {
        chain();
    } else if (strcmp(mode, "repeat") == 0) {
        repeat();
    } else if (strcmp(mode, "rare") == 0) {
        rare();
    } else {
        messages(strcmp(mode, "plain") != 0);
    }
    if (strcmp(mode, "calls") == 0) {
        for (int root = 0; root < ranks; root++)
            rooted(root);
        together();
        reductions();
        neighbours();
        one_sided();
        between_groups();
        uncounted(words[1]);
        of_mpi_4();
    }
    (void)fclose(expected);
    if (strcmp(mode, "chain") != 0) /* its messages would keep the ranks of the chain busy */
        MPI_Barrier(MPI_COMM_WORLD);
    if (strcmp(mode, "abort") == 0 && rank == 1)
        MPI_Abort(MPI_COMM_WORLD, 3);
    if (strcmp(mode, "handler") == 0)
        handler();
    if (strcmp(mode, "killed") == 0)
        killed();
    if (strcmp(mode, "exit") == 0)
        exit(0);
    MPI_Finalize();
    return 0;
}
