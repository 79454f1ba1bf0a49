/* SPDX-License-Identifier: BSD-3-Clause */
/* The operations table over one MPI; compiled once against each. Messages are at most HOP_GROUP_MESSAGE_BYTES_MAX, so
 * sizes fit an int. */
#include "group/mpi.h"

#include <mpi.h>
#include <stdio.h>
#include <string.h>

_Static_assert(sizeof(MPI_Request) <= sizeof(uint64_t) && sizeof(MPI_Message) <= sizeof(uint64_t),
               "handles pass as 64 bits");

static uint64_t pack(const void *handle, size_t size)
{
    uint64_t packed = 0;
    memcpy(&packed, handle, size);
    return packed;
}

static int start(int *rank, int *size)
{
    int used = 0, level = MPI_THREAD_SINGLE;
    int error = MPI_Initialized(&used);
    if (!error && used)
        error = HOP_MPI_IN_USE;
    if (!error)
        error = MPI_Init_thread(NULL, NULL, MPI_THREAD_FUNNELED, &level);
    if (!error && level < MPI_THREAD_FUNNELED)
        error = HOP_MPI_NO_THREADS;
    if (!error)
        error = MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    if (!error)
        error = MPI_Comm_rank(MPI_COMM_WORLD, rank);
    if (!error)
        error = MPI_Comm_size(MPI_COMM_WORLD, size);
    return error;
}

static int send(int to, int tag, const void *bytes, size_t size_bytes, uint64_t *request)
{
    MPI_Request handle;
    int error = MPI_Isend(bytes, (int)size_bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, &handle);
    if (!error)
        *request = pack(&handle, sizeof handle);
    return error;
}

static int probe(int tag, bool *arrived, struct hop_mpi_arrival *arrival)
{
    int flag = 0, bytes = 0;
    MPI_Message message = MPI_MESSAGE_NULL;
    MPI_Status status;
    int error = MPI_Improbe(MPI_ANY_SOURCE, tag == HOP_MPI_TAG_ANY ? MPI_ANY_TAG : tag, MPI_COMM_WORLD, &flag, &message,
                            &status);
    if (!error && flag)
        error = MPI_Get_count(&status, MPI_BYTE, &bytes);
    if (error)
        return error;
    *arrived = flag != 0;
    if (flag)
        *arrival =
            (struct hop_mpi_arrival){pack(&message, sizeof message), status.MPI_SOURCE, status.MPI_TAG, (size_t)bytes};
    return 0;
}

static int receive(const struct hop_mpi_arrival *arrival, void *bytes, uint64_t *request)
{
    MPI_Message message;
    MPI_Request handle;
    memcpy(&message, &arrival->message, sizeof message);
    int error = MPI_Imrecv(bytes, (int)arrival->size_bytes, MPI_BYTE, &message, &handle);
    if (!error)
        *request = pack(&handle, sizeof handle);
    return error;
}

static int test(uint64_t *request, bool *done)
{
    int flag = 0;
    MPI_Request handle;
    memcpy(&handle, request, sizeof handle);
    int error = MPI_Test(&handle, &flag, MPI_STATUS_IGNORE);
    if (!error) {
        *request = pack(&handle, sizeof handle);
        *done = flag != 0;
    }
    return error;
}

static void describe(int error, char *text, size_t size)
{
    char own[MPI_MAX_ERROR_STRING] = "";
    int length = 0;
    if (error == HOP_MPI_IN_USE)
        (void)snprintf(text, size, "this process has started MPI already");
    else if (error == HOP_MPI_NO_THREADS)
        (void)snprintf(text, size, "this MPI was built without threads");
    else if (MPI_Error_string(error, own, &length) == MPI_SUCCESS)
        (void)snprintf(text, size, "%s", own);
    else
        (void)snprintf(text, size, "error %d", error);
}

__attribute__((visibility("default"))) const void *hop_mpi_table(void)
{
    static const struct hop_mpi table = {
        .version = HOP_MPI_VERSION,
        .start = start,
        .send = send,
        .probe = probe,
        .receive = receive,
        .test = test,
        .finish = MPI_Finalize,
        .describe = describe,
    };
    return &table;
}
