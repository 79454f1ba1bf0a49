/* SPDX-License-Identifier: BSD-3-Clause */
/* The benchmark's calls over one MPI; compiled once against each. Messages are at most 1 GiB, so sizes fit an int. */
#include "amb/amb_mpi.h"

#include <mpi.h>
#if defined(OPEN_MPI) && OPEN_MPI
#include <mpi-ext.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

_Static_assert(sizeof(MPI_Comm) <= sizeof(uint64_t), "communicators pass as 64 bits");

static MPI_Request *requests;
static int under_way, room;

static bool takes_devices(void)
{
#if defined(MPIX_CUDA_AWARE_SUPPORT)
    return MPIX_Query_cuda_support() == 1;
#elif defined(MPIX_GPU_SUPPORT_CUDA)
    int is = 0;
    return MPIX_GPU_query_support(MPIX_GPU_SUPPORT_CUDA, &is) == MPI_SUCCESS && is;
#else
    return false;
#endif
}

static bool start(struct hop_amb_world *world)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int used = 0, length = 0, first;
    MPI_Comm host;
    MPI_Initialized(&used);
    if (used)
        return false;
    MPI_Init(NULL, NULL);
    MPI_Pcontrol(0);
    MPI_Comm_rank(MPI_COMM_WORLD, &world->rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world->size);
    MPI_Comm_split_type(MPI_COMM_WORLD, MPI_COMM_TYPE_SHARED, world->rank, MPI_INFO_NULL, &host);
    MPI_Comm_rank(host, &world->place);
    MPI_Comm_free(&host);
    first = world->place == 0;
    MPI_Allreduce(&first, &world->hosts, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    MPI_Get_library_version(version, &length);
    (void)snprintf(world->library, sizeof world->library, "%.*s", (int)strcspn(version, "\n"), version);
    for (char *c = world->library; *c; c++)
        *c = *c == '\t' ? ' ' : *c;
    world->takes_devices = takes_devices();
    return true;
}

static void finish(void)
{
    free(requests);
    requests = NULL;
    room = 0;
    MPI_Finalize();
}

static void barrier(void)
{
    MPI_Barrier(MPI_COMM_WORLD);
}

static void largest(double *numbers, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static void sum(double *numbers, int count)
{
    MPI_Allreduce(MPI_IN_PLACE, numbers, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
}

static void broadcast(void *bytes, size_t size_bytes, int root)
{
    MPI_Bcast(bytes, (int)size_bytes, MPI_BYTE, root, MPI_COMM_WORLD);
}

static MPI_Comm group_of(uint64_t packed)
{
    MPI_Comm group;
    memcpy(&group, &packed, sizeof group);
    return group;
}

static uint64_t split(int colour)
{
    MPI_Comm group;
    uint64_t packed = 0;
    int rank;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_split(MPI_COMM_WORLD, colour < 0 ? MPI_UNDEFINED : colour, rank, &group);
    memcpy(&packed, &group, sizeof group);
    return packed;
}

static void forget(uint64_t packed)
{
    MPI_Comm group = group_of(packed);
    if (group != MPI_COMM_NULL)
        MPI_Comm_free(&group);
}

static void watch(bool on)
{
    MPI_Pcontrol(on);
}

static MPI_Request *next(void)
{
    if (under_way == room) {
        room = room ? 2 * room : 64;
        requests = realloc(requests, (size_t)room * sizeof *requests);
        if (!requests)
            MPI_Abort(MPI_COMM_WORLD, 2);
    }
    return &requests[under_way++];
}

static void receive(void *to, size_t size_bytes, int from, int tag)
{
    MPI_Irecv(to, (int)size_bytes, MPI_BYTE, from, tag, MPI_COMM_WORLD, next());
}

static void send(const void *from, size_t size_bytes, int to, int tag)
{
    MPI_Isend(from, (int)size_bytes, MPI_BYTE, to, tag, MPI_COMM_WORLD, next());
}

static void alltoall(const void *from, void *to, size_t size_bytes, uint64_t group)
{
    MPI_Ialltoall(from, (int)size_bytes, MPI_BYTE, to, (int)size_bytes, MPI_BYTE, group_of(group), next());
}

static void complete(void)
{
    MPI_Waitall(under_way, requests, MPI_STATUSES_IGNORE);
    under_way = 0;
}

__attribute__((visibility("default"))) const void *hop_amb_mpi_table(void)
{
    static const struct hop_amb_mpi table = {
        .version = HOP_AMB_MPI_VERSION,
        .start = start,
        .finish = finish,
        .barrier = barrier,
        .largest = largest,
        .sum = sum,
        .broadcast = broadcast,
        .split = split,
        .forget = forget,
        .watch = watch,
        .receive = receive,
        .send = send,
        .alltoall = alltoall,
        .complete = complete,
    };
    return &table;
}
