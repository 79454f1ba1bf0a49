/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Group: processes that work together.
 *
 * `mpirun -n 4 program` starts four ranks that pass messages; a program started plainly is a group of one and loads no
 * MPI. No call waits for a rank that died: rank 0 watches all others, they watch rank 0, and a loss is told to
 * everyone. Then rank 0 saves what there is, and all leave:
 *
 *     while (!done && !stop && hop_group_lost(group, &diag) < 0)
 *         search; rank 0 writes its result to a file now and then
 *     if (done)
 *         hop_group_finish(group, &diag), exit
 *     else
 *         rank 0 writes the last result, hop_group_leave(group), _exit
 *
 * stop is set on SIGTERM and SIGINT. Some launchers give no notice before they kill all (docs/processes.md), therefore
 * "now and then". Threads may send, receive and ask who is lost at the same time; the other calls are of one thread at a
 * time. A thread of the group's own is the only one that calls MPI.
 */
#ifndef HOPCAST_GROUP_H
#define HOPCAST_GROUP_H

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>

#include "hopcast/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_GROUP_TAG_MAX 32000 /* tags are 0 and more */
#define HOP_GROUP_MESSAGE_BYTES_MAX ((size_t)1 << 30)
/* Of one rank, each way, sent or received but not yet taken; a single message may be larger. */
#define HOP_GROUP_WAITING_BYTES_MAX ((size_t)1 << 30)

struct hop_group;

struct hop_group_options {
    size_t size;      /* see hop_version */
    double timeout_s; /* a rank that is not heard of for so long is lost; 0: 10 s */
    /* Waiting calls return early once this is set, by a signal handler say; may be NULL. */
    const volatile sig_atomic_t *stop;
    double start_s; /* that all ranks have to start; 0: timeout_s */
    double end_s; /* for processes that end with the group: so long after all have come to finish, the kernel kills one
                     * that is still there, as it would be if it was stopped; 0: it lives on */
};

struct hop_group_message {
    int from, tag;
    size_t size_bytes;
    void *bytes; /* the caller's, from malloc; a NUL byte follows them */
};

/* Once in a process; under a launcher every rank must call it, and MPI starts here. options may be NULL. Should some rank
 * stand still meanwhile, the others fail after start_s with HOP_ERR_LOST, and with HOP_ERR_STOPPED once stop is set: MPI
 * is left in the middle of its start, and only _exit is left. The
 * environment says which MPI; HOPCAST_MPI (openmpi, mpich, none, or the path of a library for another MPI) overrules it, HOPCAST_MPI_PATH is the folder to load
 * hopcast-openmpi.so and hopcast-mpich.so from. */
HOP_API enum hop_status hop_group_create(const struct hop_group_options *options, struct hop_group **group,
                                         struct hop_diag *diag);
/* Leaves first when it was neither finished nor left. NULL is allowed. */
HOP_API void hop_group_destroy(struct hop_group *group);

HOP_API int hop_group_rank(const struct hop_group *group);
HOP_API int hop_group_size(const struct hop_group *group);
/* Which MPI carries the messages: "openmpi", "mpich", "none", or what HOPCAST_MPI says. */
HOP_API const char *hop_group_carrier(const struct hop_group *group);

/* Copies the bytes and returns at once. Messages from one rank to another arrive in order. */
HOP_API enum hop_status hop_group_send(struct hop_group *group, int to, int tag, const void *bytes, size_t size_bytes,
                                       struct hop_diag *diag);
/* The next message from any rank; false: none came within wait_s (0: look only), or a rank is lost, or stop was set.
 * Sleeps while it waits. */
HOP_API bool hop_group_receive(struct hop_group *group, double wait_s, struct hop_group_message *message);
/* Waits for all ranks. Fails when one is lost, with the status of that, or stop was set (HOP_ERR_STOPPED). */
HOP_API enum hop_status hop_group_barrier(struct hop_group *group, struct hop_diag *diag);

/* The first rank that was lost, with the reason in diag (may be NULL); -1: none. Status HOP_ERR_LOST: it died or is
 * silent; HOP_ERR_STOPPED: it left; the own rank and HOP_ERR_IO: this process is cut off from the others. */
HOP_API int hop_group_lost(struct hop_group *group, struct hop_diag *diag);

/* The good end: waits for all ranks, ends MPI. Messages that nobody took by then are dropped. After a failure only
 * leaving is left. */
HOP_API enum hop_status hop_group_finish(struct hop_group *group, struct hop_diag *diag);
/* The bad end, without MPI_Finalize, which would wait for the dead. Ranks other than 0 wait here (timeout_s at most)
 * until rank 0 has left, for a launcher may kill all once one is gone. After it call _exit: exit would run MPI's own
 * exit handlers. */
HOP_API void hop_group_leave(struct hop_group *group);

#ifdef __cplusplus
}
#endif
#endif
