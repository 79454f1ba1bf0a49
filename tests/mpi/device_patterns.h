/* SPDX-License-Identifier: BSD-3-Clause */
/* Patterns of two ranks that have memory of a device, over the stand-in for its driver; a part of patterns.c. */

/* The driver comes late, as a program's own library would load it. */
static void *call_driver(void *driver, const char *name)
{
    void *found = driver ? dlsym(driver, name) : NULL;
    if (!found)
        MPI_Abort(MPI_COMM_WORLD, 4);
    return found;
}

/* Memory of a device, as the processor sees it: the stand-in's address is another. */
static char *allocate(void)
{
    const char *cuda = getenv("HOPCAST_CUDA_LIBRARY"), *hip = getenv("HOPCAST_HIP_LIBRARY");
    struct context *context = NULL;
    unsigned long long address = 0;
    void *driver = dlopen(cuda ? cuda : hip, RTLD_NOW | RTLD_LOCAL);
    int error = ((int (*)(unsigned))call_driver(driver, cuda ? "cuInit" : "hipInit"))(0);
    error |= ((int (*)(struct context **, int))call_driver(driver, cuda ? "cuDevicePrimaryCtxRetain"
                                                                        : "hipDevicePrimaryCtxRetain"))(&context, 0);
    error |=
        ((int (*)(struct context *))call_driver(driver, cuda ? "cuCtxPushCurrent_v2" : "hipCtxPushCurrent"))(context);
    error |= ((int (*)(unsigned long long *, size_t))call_driver(driver, cuda ? "cuMemAlloc_v2" : "hipMalloc"))(
        &address, 4096);
    if (error)
        MPI_Abort(MPI_COMM_WORLD, 5);
    return (char *)(uintptr_t)(address & ((1ull << 47) - 1));
}

/* What each of two ranks gets from the other into a device's memory. */
static void expect_received(const char *class, long bytes, long messages)
{
    char name[64];
    (void)snprintf(name, sizeof name, "%s.received", class);
    expect(name, 1 - rank, rank, bytes, messages);
}

/* Into a device's memory by each way of receiving, of which the sender knows nothing; buffers are larger than
 * messages. */
static void receive_on_device(char *bytes)
{
    int other = 1 - rank, at, done = 0, places[2];
    MPI_Request requests[2], often;
    MPI_Comm turned;
    MPI_Comm_split(MPI_COMM_WORLD, 0, -rank, &turned);
    MPI_Irecv(bytes, 500, MPI_BYTE, MPI_ANY_SOURCE, 1, turned, &requests[0]);
    MPI_Isend(out, 21, MPI_BYTE, rank, 1, turned, &requests[1]); /* to the other: ranks are turned round */
    MPI_Comm_free(&turned);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    MPI_Recv_init(bytes, 500, MPI_BYTE, other, 2, MPI_COMM_WORLD, &often);
    for (int i = 0; i < 2; i++) {
        MPI_Start(&often);
        MPI_Isend(out, 10, MPI_BYTE, other, 2, MPI_COMM_WORLD, &requests[0]);
        requests[1] = often;
        for (int left = 2; left > 0; left -= done)
            MPI_Waitsome(2, requests, &done, places, MPI_STATUSES_IGNORE);
    }
    MPI_Request_free(&often);
    MPI_Irecv(bytes, 500, MPI_BYTE, other, 3, MPI_COMM_WORLD, &requests[0]);
    MPI_Irecv(in, 500, MPI_BYTE, other, 4, MPI_COMM_WORLD, &requests[1]);
    MPI_Sendrecv(out, 5, MPI_BYTE, other, 3, bytes + 500, 500, MPI_BYTE, other, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Sendrecv(out, 7, MPI_BYTE, other, 4, bytes + 500, 500, MPI_BYTE, other, 6, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    for (int i = 0; i < 2; i++)
        MPI_Waitany(2, requests, &at, MPI_STATUS_IGNORE);
    MPI_Irecv(bytes, 500, MPI_BYTE, other, 8, MPI_COMM_WORLD, &requests[0]);
    MPI_Cancel(&requests[0]);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    MPI_Message message;
    MPI_Isend(out, 9, MPI_BYTE, other, 9, MPI_COMM_WORLD, &requests[0]);
    MPI_Mprobe(MPI_ANY_SOURCE, 9, MPI_COMM_WORLD, &message, MPI_STATUS_IGNORE);
    MPI_Mrecv(bytes, 500, MPI_BYTE, &message, MPI_STATUS_IGNORE);
    MPI_Wait(&requests[0], MPI_STATUS_IGNORE);
    expect_received("point_to_point", 21 + 2 * 10 + 5 + 9, 5);
}

/* Nobody sends to itself here: what a Sendrecv above waits for. */
static void send_to_device(char *bytes, MPI_Request *requests)
{
    int other = 1 - rank;
    MPI_Isend(bytes, 30, MPI_BYTE, other, 5, MPI_COMM_WORLD, &requests[0]);
    MPI_Isend(bytes, 31, MPI_BYTE, other, 6, MPI_COMM_WORLD, &requests[1]);
    expect("point_to_point.device", rank, other, 61, 2);
    expect("point_to_point.host", rank, other, 21 + 2 * 10 + 5 + 7 + 9, 6);
    expect_received("point_to_point", 61, 2);
}

/* Of two ranks: an allreduce of 9 is 5 and 4, there and back. */
static void collect_on_device(char *bytes)
{
    int *i = (int *)bytes, *o = (int *)out, other = 1 - rank;
    MPI_Bcast(bytes, 50, MPI_BYTE, 0, MPI_COMM_WORLD);
    MPI_Allreduce(o, i, 9, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    MPI_Alltoall(bytes, 6, MPI_BYTE, in, 6, MPI_BYTE, MPI_COMM_WORLD);
    MPI_Gather(o, 3, MPI_INT, rank ? NULL : i, 3, MPI_INT, 0, MPI_COMM_WORLD);
    MPI_Scan(o, i, 2, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    expect("collective.host", rank, other, 36, 2);
    expect("collective.device", rank, other, 6, 1);
    expect_received("collective", 36, 2);
    if (rank == 0) {
        expect("collective.device", 0, 1, 50, 1);
        expect("collective.host", 0, 1, 8, 1);
        expect_received("collective", 12, 1);
    } else {
        expect("collective.host", 1, 0, 12, 1);
        expect_received("collective", 50 + 8, 2);
    }
}

/* Of one of two ranks a window shows a device's memory. */
static void put_on_device(char *bytes)
{
    int other = 1 - rank;
    MPI_Win window;
    memset(bytes, 0, 100);
    memset(in, 0, 100);
    MPI_Win_create(rank ? bytes : in, 100, 1, MPI_INFO_NULL, MPI_COMM_WORLD, &window);
    MPI_Win_fence(0, window);
    MPI_Put(out, 40, MPI_BYTE, other, 0, 40, MPI_BYTE, window);
    MPI_Accumulate(out, 2, MPI_INT, other, 40, 2, MPI_INT, MPI_SUM, window);
    MPI_Get(out + 100, 7, MPI_BYTE, other, 80, 7, MPI_BYTE, window);
    MPI_Win_fence(0, window);
    MPI_Win_lock(MPI_LOCK_EXCLUSIVE, other, 0, window);
    MPI_Fetch_and_op(out, out + 200, MPI_INT, other, 60, MPI_SUM, window);
    MPI_Fetch_and_op(out, out + 204, MPI_INT, other, 60, MPI_NO_OP, window);
    MPI_Compare_and_swap(out, out + 4, out + 208, MPI_INT, other, 64, window);
    MPI_Win_unlock(other, window);
    MPI_Win_free(&window);
    expect("one_sided.host", rank, other, 40 + 8 + 4 + 8, 4);
    expect("one_sided.host", other, rank, 7 + 3 * 4, 4);
    if (rank == 0)
        expect("one_sided.received", 0, 1, 40 + 8 + 4 + 8, 4);
}

static void device(void)
{
    MPI_Request requests[2];
    MPI_Sendrecv(out, 10, MPI_BYTE, 1 - rank, 0, in, 10, MPI_BYTE, 1 - rank, 0, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    expect("point_to_point.host", rank, 1 - rank, 10, 1);
    char *bytes = allocate();
    send_to_device(bytes + 2000, requests);
    receive_on_device(bytes);
    MPI_Waitall(2, requests, MPI_STATUSES_IGNORE);
    collect_on_device(bytes);
    put_on_device(bytes);
    void *hip = getenv("HOPCAST_HIP_LIBRARY") ? dlopen(getenv("HOPCAST_HIP_LIBRARY"), RTLD_NOW | RTLD_LOCAL) : NULL;
    if (hip && ((int (*)(void))call_driver(hip, "hipGetLastError"))() != 0)
        MPI_Abort(MPI_COMM_WORLD, 6); /* an error that the program did not make */
}
