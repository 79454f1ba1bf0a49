/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of what programs rarely do, and of many ranks; a part of patterns.c. */

/* ---- the same collectives again and again ---- */

/* Types come and go, and a handle is another type's then. */
static void of_types(int times)
{
    for (int k = 1; k <= times; k++) {
        MPI_Datatype type;
        MPI_Type_contiguous(k, MPI_INT, &type);
        MPI_Type_commit(&type);
        MPI_Bcast(out, 3, type, 2, MPI_COMM_WORLD);
        MPI_Type_free(&type);
        for (int r = 0; r < ranks && rank == 2; r++) {
            if (r != rank)
                expect("collective", rank, r, 12 * k, 1);
        }
    }
}

/* And so do communicators, whose ranks are others then. */
static void of_communicators(int times)
{
    for (int k = 0; k < times; k++) {
        MPI_Comm comm;
        int first = k % 2 ? ranks - 1 : 0;
        MPI_Comm_split(MPI_COMM_WORLD, 0, k % 2 ? -rank : rank, &comm);
        for (int i = 0; i < 3; i++)
            MPI_Gather(out, 5, MPI_BYTE, in, 5, MPI_BYTE, 0, comm);
        MPI_Comm_free(&comm);
        if (rank != first)
            expect("collective", rank, first, 15, 3);
    }
}

/* Among more ranks than eight each collective is decomposed once. */
static void repeat(void)
{
    int *numbers = (int *)in;
    MPI_Request persistent, idle;
    for (int i = 0; i < 5; i++) {
        MPI_Allreduce(out, in, ranks, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        MPI_Alltoall(out, 3 + i % 2, MPI_BYTE, in, 3 + i % 2, MPI_BYTE, MPI_COMM_WORLD);
        MPI_Allgather(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, numbers, 2, MPI_INT, MPI_COMM_WORLD);
        MPI_Allgather(out, 1, MPI_INT, numbers, 1, MPI_INT, MPI_COMM_WORLD);
        expect_all("collective", 2 * 4 + 3 + i % 2 + 8 + 4);
        for (int r = 0; r < ranks; r++) {
            if (r != rank)
                expect("collective", rank, r, 0, 4); /* five messages, one of which stands above */
        }
    }
    for (int i = 0; i < 2; i++) {
        bool root = rank == 1;
        MPI_Gather(out, 2, MPI_INT, root ? in : NULL, root ? 2 : 0, root ? MPI_INT : MPI_DATATYPE_NULL, 1, MPI_COMM_WORLD);
        MPI_Scatter(root ? out : NULL, root ? 3 : 0, root ? MPI_BYTE : MPI_DATATYPE_NULL, in, 3, MPI_BYTE, 1, MPI_COMM_WORLD);
        if (!root)
            expect("collective", rank, 1, 8, 1);
        for (int r = 0; r < ranks && root; r++) {
            if (r != rank)
                expect("collective", rank, r, 3, 1);
        }
    }
    of_types(5);
    of_communicators(6);
    MPI_Pcontrol(0);
    MPI_Send_init(out, 50, MPI_BYTE, (rank + 1) % ranks, 0, MPI_COMM_WORLD, &persistent);
    MPI_Recv_init(in, 50, MPI_BYTE, (rank + ranks - 1) % ranks, 0, MPI_COMM_WORLD, &idle);
    MPI_Bcast(out, 9, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Pcontrol(1);
    for (int i = 0; i < 3; i++) {
        MPI_Start(&idle);
        MPI_Start(&persistent);
        MPI_Wait(&persistent, MPI_STATUS_IGNORE);
        MPI_Wait(&idle, MPI_STATUS_IGNORE);
        expect("point_to_point", rank, (rank + 1) % ranks, 50, 1);
    }
    MPI_Pcontrol(0);
    MPI_Request_free(&persistent);
    MPI_Request_free(&idle);
    MPI_Pcontrol(1);
}

/* ---- what a record may get wrong ---- */

static void send(int bytes, int to, int tag, MPI_Comm comm)
{
    MPI_Send(out, bytes, MPI_BYTE, to, tag, comm);
    expect("point_to_point", rank, to, bytes, 1);
}

static void receive(int bytes, int from, int tag, MPI_Comm comm)
{
    MPI_Recv(in, bytes, MPI_BYTE, from, tag, comm, MPI_STATUS_IGNORE);
}

/* Two synchronous sends that are received the other way round, a message between them. */
static void answers(void)
{
    MPI_Request one, two;
    if (rank == 0) {
        MPI_Issend(out, 11, MPI_BYTE, 1, 1, MPI_COMM_WORLD, &one);
        MPI_Issend(out, 12, MPI_BYTE, 1, 2, MPI_COMM_WORLD, &two);
        expect("point_to_point", 0, 1, 11 + 12, 2);
        MPI_Wait(&two, MPI_STATUS_IGNORE);
        send(13, 1, 3, MPI_COMM_WORLD);
        MPI_Wait(&one, MPI_STATUS_IGNORE);
    } else if (rank == 1) {
        receive(12, 0, 2, MPI_COMM_WORLD);
        receive(13, 0, 3, MPI_COMM_WORLD);
        receive(11, 0, 1, MPI_COMM_WORLD);
    }
}

/* A receive that is cancelled, and whose end nobody asks for, before one that gets a message. */
static void cancelled(void)
{
    MPI_Request request;
    if (rank == 1) {
        MPI_Irecv(in, 100, MPI_BYTE, 0, 5, MPI_COMM_WORLD, &request);
        MPI_Cancel(&request);
        MPI_Request_free(&request);
    }
    MPI_Barrier(MPI_COMM_WORLD);
    if (rank == 0)
        send(40, 1, 5, MPI_COMM_WORLD);
    else if (rank == 1)
        receive(40, 0, 5, MPI_COMM_WORLD);
}

/* A message that is found and taken, which costs time that is no computation. */
static void found(void)
{
    MPI_Message message;
    if (rank == 0) {
        send(60, 1, 6, MPI_COMM_WORLD);
    } else if (rank == 1) {
        MPI_Mprobe(0, 6, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
        MPI_Mrecv(in, 60, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    }
}

/* Communicators that come later, which the last rank does not use. */
static void promised(void)
{
    MPI_Comm some, others, all;
    MPI_Request requests[2];
    MPI_Comm_idup(MPI_COMM_WORLD, &some, &requests[0]);
    MPI_Comm_idup(MPI_COMM_WORLD, &others, &requests[1]);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    if (rank == 0) {
        send(70, 1, 7, some);
        send(71, 1, 7, others);
    } else if (rank == 1) {
        receive(71, 0, 7, others);
        receive(70, 0, 7, some);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &all);
    if (rank == 1)
        send(72, 2, 7, all);
    else if (rank == 2)
        receive(72, 1, 7, all);
    MPI_Comm_free(&all);
    MPI_Comm_free(&others);
    MPI_Comm_free(&some);
}

/* What a partitioned request sends leaves when its last partition may. */
static void partitioned(void)
{
#if MPI_VERSION >= 4
    MPI_Request request;
    if (rank == 0) {
        MPI_Psend_init(out, 2, 40, MPI_BYTE, 1, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
        MPI_Pready(1, request);
        (void)usleep(200000);
        MPI_Pready(0, request);
        expect("point_to_point", 0, 1, 80, 1);
    } else if (rank == 1) {
        MPI_Precv_init(in, 2, 40, MPI_BYTE, 0, 8, MPI_COMM_WORLD, MPI_INFO_NULL, &request);
        MPI_Start(&request);
    }
    if (rank < 2) {
        MPI_Wait(&request, MPI_STATUS_IGNORE);
        MPI_Request_free(&request);
    }
#endif
}

static void rare(void)
{
    answers();
    cancelled();
    found();
    promised();
    partitioned();
}

/* ---- an end inside a call ---- */

static void give_up(MPI_Comm *comm, int *error, ...)
{
    (void)error;
    MPI_Abort(*comm, 3);
}

static void handler(void)
{
    MPI_Errhandler own;
    MPI_Comm_create_errhandler(give_up, &own);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, own);
    if (rank == 1)
        MPI_Send(out, 1, MPI_BYTE, 9999, 0, MPI_COMM_WORLD);
}
