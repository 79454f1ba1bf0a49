/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives whose results are known: collectives MODE. Every rank puts in numbers that depend on its rank and on
 * the place alone, and computes by itself what has to come out; exit status 1 where something else did.
 *
 * Modes: all (all full: every type with every operation), machines (machines more: as many sizes), again (the
 * same calls four times), threads, device, order (prints the bits of sums), die.
 */
#include <dlfcn.h>
#include <fcntl.h>
#include <mpi.h>
#include <pthread.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

enum { MOST = 1 << 17, OPS = 10 };

static int world_rank, world_ranks, failures;
static bool full, few;

static void check(bool holds, const char *what, long a, long b)
{
    if (!holds && ++failures <= 5)
        (void)fprintf(stderr, "rank %d: %s, %ld, %ld\n", world_rank, what, a, b);
}

#include "elements.h"

static char *in, *out;

static void fill(const struct element *e, char *at, int rank, long first, long count)
{
    for (long i = 0; i < count; i++)
        put(e, at + i * e->size, input(rank, first + i));
}

/* ---- reductions ---- */

static void see_reduced(const struct element *e, MPI_Op op, int ranks, long first, long count, const char *what)
{
    for (long i = 0; i < count; i++)
        check(get(e, out + i * e->size) == reduced(e, op, ranks, first + i), what, count, i);
}

static void reductions(MPI_Comm comm, const struct element *e, MPI_Op op, int count, int way)
{
    int rank, ranks, counts[64];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    bool in_place = way % 2 == 1;
    int each = count / ranks, root = in_place ? 0 : way / 2 % ranks; /* else MPICH 4.0.2 crashes */
    void *from = in_place ? MPI_IN_PLACE : in;
    for (long i = 0; i < count; i++)
        put(e, in + i * e->size, given(op, rank, i));
    memcpy(out, in, (size_t)count * (size_t)e->size);
    MPI_Allreduce(from, out, count, e->type, op, comm);
    see_reduced(e, op, ranks, 0, count, "allreduce");
    memcpy(out, in, (size_t)count * (size_t)e->size);
    MPI_Reduce(in_place && rank == root ? MPI_IN_PLACE : in, out, count, e->type, op, root, comm);
    if (rank == root)
        see_reduced(e, op, ranks, 0, count, "reduce");
    memcpy(out, in, (size_t)count * (size_t)e->size);
    MPI_Reduce_scatter_block(from, out, each, e->type, op, comm);
    see_reduced(e, op, ranks, (long)rank * each, each, "reduce_scatter_block");
    int more = count % ranks;
    for (int r = 0; r < ranks; r++)
        counts[r] = each + (r < more);
    memcpy(out, in, (size_t)count * (size_t)e->size);
    MPI_Reduce_scatter(from, out, counts, e->type, op, comm);
    see_reduced(e, op, ranks, (long)rank * each + (rank < more ? rank : more), counts[rank], "reduce_scatter");
    if (each > 0) { /* parts that differ */
        for (int r = 0; r < ranks; r++)
            counts[r] = each;
        counts[0] += more + 1;
        counts[ranks - 1]--;
        memcpy(out, in, (size_t)count * (size_t)e->size);
        MPI_Reduce_scatter(from, out, counts, e->type, op, comm);
        see_reduced(e, op, ranks, rank * (long)each + (rank > 0 ? more + 1 : 0), counts[rank],
                    "reduce_scatter of parts that differ");
    }
}

/* ---- moving ---- */

/* Each rank says the same bytes by a type of its own: ints, four at once, or with holes between them. */
struct view {
    MPI_Datatype type;
    int count;     /* of the type, of so many ints */
    int step, per; /* ints from one to the next; in an item */
};
static MPI_Datatype fours, spread;

static struct view view_of(int rank, int ints)
{
    if (rank % 3 == 1 && ints % 4 == 0)
        return (struct view){fours, ints / 4, 1, 4};
    if (rank % 3 == 2)
        return (struct view){spread, ints, 2, 1};
    return (struct view){MPI_INT, ints, 1, 1};
}

static void write_view(struct view view, char *at, int rank, long first, long ints)
{
    int *to = (int *)(void *)at;
    for (long i = 0; i < ints; i++)
        to[i * view.step] = (int)input(rank, first + i);
}

static void see_view(struct view view, const char *at, int rank, long first, long ints, const char *what)
{
    const int *from = (const int *)(const void *)at;
    for (long i = 0; i < ints; i++)
        check(from[i * view.step] == input(rank, first + i), what, ints, i);
}

static char *part(struct view view, char *at, long i, int ints)
{
    return at + i * ints * view.step * (long)sizeof(int);
}

/* Every second rank's part is four ints longer; they lie the other way round. */
static void uneven(MPI_Comm comm, struct view view, int ints, bool in_place)
{
    int rank, ranks, counts[64], places[64], at = 0, own = 0;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    for (int r = ranks - 1; r >= 0; r--) {
        counts[r] = (ints + r % 2 * 4) / view.per;
        places[r] = at;
        at += counts[r];
    }
    own = places[rank] * view.per;
    memset(out, 0, (size_t)at * (size_t)(view.per * view.step) * sizeof(int));
    write_view(view, in_place ? part(view, out, own, 1) : in, rank, 0, ints + rank % 2 * 4);
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : in, counts[rank], view.type, out, counts, places, view.type, comm);
    for (int r = 0; r < ranks; r++)
        see_view(view, part(view, out, (long)places[r] * view.per, 1), r, 0, ints + r % 2 * 4,
                 "allgatherv of parts that differ");
}

static void moves(MPI_Comm comm, int ints, int way)
{
    int rank, ranks, counts[64], places[64];
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    bool mixed = way % 2 == 1, in_place = way / 2 == 1;
    int root = (ints + way) % ranks;
    struct view view = view_of(mixed ? rank : 0, ints);
    write_view(view, in, rank, 0, ints);
    if (rank == root)
        memcpy(out, in, (size_t)ints * 8);
    MPI_Bcast(out, view.count, view.type, root, comm);
    see_view(view, out, root, 0, ints, "bcast");
    write_view(view, part(view, out, rank, ints), rank, 0, ints);
    bool rooted = in_place && rank == root;
    MPI_Gather(rooted ? MPI_IN_PLACE : in, view.count, view.type, out, view.count, view.type, root, comm);
    for (int r = 0; r < ranks && rank == root; r++)
        see_view(view, part(view, out, r, ints), r, 0, ints, "gather");
    memset(out, 0, (size_t)ints * 8 * (size_t)ranks);
    write_view(view, part(view, out, rank, ints), rank, 0, ints);
    MPI_Allgather(in_place ? MPI_IN_PLACE : in, view.count, view.type, out, view.count, view.type, comm);
    for (int r = 0; r < ranks; r++)
        see_view(view, part(view, out, r, ints), r, 0, ints, "allgather");
    for (int r = 0; r < ranks; r++) {
        counts[r] = view.count;
        places[r] = (ranks - 1 - r) * view.count; /* the other way round */
    }
    memset(out, 0, (size_t)ints * 8 * (size_t)ranks);
    write_view(view, part(view, out, ranks - 1 - rank, ints), rank, 0, ints);
    MPI_Allgatherv(in_place ? MPI_IN_PLACE : in, view.count, view.type, out, counts, places, view.type, comm);
    for (int r = 0; r < ranks; r++)
        see_view(view, part(view, out, ranks - 1 - r, ints), r, 0, ints, "allgatherv");
    uneven(comm, view, ints, in_place);
    for (int r = 0; r < ranks; r++)
        write_view(view, part(view, in, r, ints), rank, (long)r * ints, ints);
    memcpy(out, in, (size_t)ints * 8 * (size_t)ranks);
    MPI_Alltoall(in_place ? MPI_IN_PLACE : in, view.count, view.type, out, view.count, view.type, comm);
    for (int r = 0; r < ranks; r++)
        see_view(view, part(view, out, r, ints), r, (long)rank * ints, ints, "alltoall");
    MPI_Scatter(in, view.count, view.type, rooted ? MPI_IN_PLACE : out, view.count, view.type, root, comm);
    see_view(view, rooted ? part(view, in, rank, ints) : out, root, (long)rank * ints, ints, "scatter");
    MPI_Barrier(comm);
}

/* What is the library's affair, between calls that are not. */
static void others(MPI_Comm comm)
{
    int rank, ranks, sum = 0, after = 0;
    struct {
        double value;
        int at;
    } mine, most;
    MPI_Request request;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &ranks);
    mine.value = -(rank % 2);
    mine.at = rank;
    MPI_Allreduce(&mine, &most, 1, MPI_DOUBLE_INT, MPI_MAXLOC, comm);
    check(most.at == 0 && most.value == 0, "maxloc", most.at, (long)most.value);
    MPI_Iallreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, comm, &request);
    MPI_Allreduce(&rank, &after, 1, MPI_INT, MPI_SUM, comm);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    check(sum == ranks * (ranks - 1) / 2 && after == sum, "iallreduce beside allreduce", sum, after);
    MPI_Allreduce(NULL, NULL, 0, MPI_INT, MPI_SUM, comm);
    MPI_Bcast(NULL, 0, MPI_INT, 0, comm);
    MPI_Errhandler before;
    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    check(MPI_Allreduce(&rank, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_NULL) != MPI_SUCCESS, "allreduce among nobody", 0,
          0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
}

static void on(MPI_Comm comm)
{
    static const int counts[] = {1, 3, 8, 64, 1000, 5000, 32768};
    const struct element kinds[] = {
        {"double", MPI_DOUBLE, 8, 'f'},
        {"float", MPI_FLOAT, 4, 'f'},
        {"int", MPI_INT, 4, 'i'},
        {"long", MPI_LONG, 8, 'i'},
        {"short", MPI_SHORT, 2, 'i'},
        {"signed char", MPI_SIGNED_CHAR, 1, 'i'},
        {"unsigned", MPI_UNSIGNED, 4, 'u'},
        {"unsigned long", MPI_UNSIGNED_LONG, 8, 'u'},
        {"unsigned short", MPI_UNSIGNED_SHORT, 2, 'u'},
        {"unsigned char", MPI_UNSIGNED_CHAR, 1, 'u'},
        {"int64_t", MPI_INT64_T, 8, 'i'},
        {"uint32_t", MPI_UINT32_T, 4, 'u'},
        {"byte", MPI_BYTE, 1, 'b'},
        {"logical", MPI_LOGICAL, 4, 't'},
        {"double complex", MPI_C_DOUBLE_COMPLEX, 16, 'c'},
        {"float complex", MPI_C_FLOAT_COMPLEX, 8, 'c'},
    };
    const MPI_Op ops[] = {MPI_SUM, MPI_MAX,  MPI_MIN,  MPI_PROD, MPI_LAND,
                          MPI_LOR, MPI_LXOR, MPI_BAND, MPI_BOR,  MPI_BXOR};
    int types = (int)(sizeof kinds / sizeof *kinds), sizes = (int)(sizeof counts / sizeof *counts), turn = 0;
    for (int c = 0; c < sizes; c += few ? 4 : 1) {
        for (int t = 0; t < types; t++) {
            for (int o = 0; o < OPS; o++) {
                int first = kinds[t].kind == 'b' ? 7 : kinds[t].kind == 't' ? 4 : 0;
                int end = kinds[t].kind == 'c' ? 1 : kinds[t].kind == 'f' ? 4 : kinds[t].kind == 't' ? 7 : OPS;
                if (o < first || o >= end || (!full && (t * OPS + o + c) % 17 != 0))
                    continue;
                reductions(comm, &kinds[t], ops[o], counts[c], turn++);
            }
        }
        for (int way = 0; way < 4; way++)
            moves(comm, counts[c] < 20000 ? counts[c] : 20000, way);
    }
    others(comm);
}

static void all(void)
{
    MPI_Comm made;
    int color = world_rank % 2;
    on(MPI_COMM_WORLD);
    MPI_Comm_split(MPI_COMM_WORLD, 0, -world_rank, &made); /* the other way round */
    on(made);
    MPI_Comm_free(&made);
    MPI_Comm_split(MPI_COMM_WORLD, color ? MPI_UNDEFINED : color, world_rank, &made);
    if (made != MPI_COMM_NULL) {
        on(made);
        MPI_Comm_free(&made);
    }
    MPI_Comm_split(MPI_COMM_WORLD, world_rank == 0, world_rank, &made); /* one alone */
    others(made);
    MPI_Comm_free(&made);
    on(MPI_COMM_SELF);
}

/* Each rank tells its neighbours something of a length that depends on both ends, or on nothing. */
static void among_neighbours(MPI_Comm comm, int ins, const int *from, int outs, const int *to, int scale)
{
    int rank, counts[2][16], places[2][16], at = 0;
    MPI_Comm_rank(comm, &rank);
    memset(out, 0, (size_t)MOST * 4);
    for (int i = 0; i < outs; i++) {
        counts[0][i] = to[i] < 0 ? 0 : (1 + (rank + 2 * to[i]) % 5) * scale;
        places[0][i] = at;
        fill(&(struct element){"int", MPI_INT, 4, 'i'}, in + at * 4, rank, to[i], counts[0][i]);
        at += counts[0][i];
    }
    for (int i = 0, end = MOST / 2; i < ins; i++) {
        counts[1][i] = from[i] < 0 ? 0 : (1 + (from[i] + 2 * rank) % 5) * scale / 4;
        places[1][i] = (end -= counts[1][i] * 4) / 4;
    }
    MPI_Neighbor_alltoallv(in, counts[0], places[0], MPI_INT, out, counts[1], places[1], fours, comm);
    for (int i = 0; i < ins; i++)
        for (long k = 0; from[i] >= 0 && k < counts[1][i] * 4; k++)
            check(((int *)(void *)out)[places[1][i] * 4 + k] == input(from[i], rank + k), "neighbor_alltoallv", from[i],
                  k);
    for (int i = 0; i < outs; i++)
        fill(&(struct element){"int", MPI_INT, 4, 'i'}, in + (long)i * scale * 4, rank, to[i], scale);
    MPI_Neighbor_alltoall(in, scale, MPI_INT, out, scale / 4, fours, comm);
    for (int i = 0; i < ins; i++)
        for (long k = 0; from[i] >= 0 && k < scale; k++)
            check(((int *)(void *)out)[i * scale + k] == input(from[i], rank + k), "neighbor_alltoall", from[i], k);
    fill(&(struct element){"int", MPI_INT, 4, 'i'}, in, rank, 0, scale);
    MPI_Neighbor_allgather(in, scale, MPI_INT, out, scale / 4, fours, comm);
    for (int i = 0; i < ins; i++)
        for (long k = 0; from[i] >= 0 && k < scale; k++)
            check(((int *)(void *)out)[i * scale + k] == input(from[i], k), "neighbor_allgather", from[i], k);
    for (int i = 0; i < ins; i++) {
        counts[1][i] = from[i] < 0 ? 0 : scale / 4;
        places[1][i] = (ins - i) * scale / 4;
    }
    MPI_Neighbor_allgatherv(in, scale, MPI_INT, out, counts[1], places[1], fours, comm);
    for (int i = 0; i < ins; i++)
        for (long k = 0; from[i] >= 0 && k < scale; k++)
            check(((int *)(void *)out)[(ins - i) * scale + k] == input(from[i], k), "neighbor_allgatherv", from[i], k);
}

/* A line, a ring if it is long enough, and a graph whose edges go one way, on ranks to and fro. */
static void neighbours(void)
{
    MPI_Comm made;
    int ends[16], others_of[16], to[16], from[16], outs = 0, ins = 0, rank;
    for (int ring = 0; ring < 2; ring++) {
        MPI_Cart_create(MPI_COMM_WORLD, 1, &world_ranks, &ring, 0, &made);
        MPI_Cart_shift(made, 0, 1, &ends[0], &ends[1]);
        for (int scale = 4; scale <= 4096 && (!ring || world_ranks > 2); scale *= 32)
            among_neighbours(made, 2, ends, 2, ends, scale);
        MPI_Comm_free(&made);
    }
    rank = world_ranks - 1 - world_rank;
    MPI_Comm_split(MPI_COMM_WORLD, 0, rank, &made);
    for (int r = 0; r < world_ranks && r < 16; r++) {
        if ((r + rank * 2) % 3 != 1)
            from[ins++] = r;
        if ((rank + r * 2) % 3 != 1)
            to[outs++] = r;
    }
    MPI_Comm graph;
    MPI_Dist_graph_create_adjacent(made, ins, from, MPI_UNWEIGHTED, outs, to, MPI_UNWEIGHTED, MPI_INFO_NULL, 0, &graph);
    MPI_Dist_graph_neighbors(graph, ins, ends, MPI_UNWEIGHTED, outs, others_of, MPI_UNWEIGHTED);
    for (int scale = 4; scale <= 4096; scale *= 32)
        among_neighbours(graph, ins, ends, outs, others_of, scale);
    MPI_Comm_free(&graph);
    MPI_Comm_free(&made);
}

/* Two machines, of ranks in a row: in order, in one that is not its own inverse, the last alone on its machine, one of
 * each. */
static void machines(void)
{
    int half = world_ranks / 2, keys[] = {world_rank, world_rank == 1 ? world_ranks : world_rank, -world_rank},
        parts[] = {0, 0, world_rank > half};
    MPI_Comm made;
    for (int i = 0; i < 3; i++) {
        MPI_Comm_split(MPI_COMM_WORLD, parts[i], keys[i], &made);
        on(made);
        MPI_Comm_free(&made);
    }
    MPI_Comm_split(MPI_COMM_WORLD, world_rank % half, world_rank, &made);
    others(made);
    MPI_Comm_disconnect(&made);
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    others(made);
    MPI_Comm_disconnect(&made);
}

/* ---- what else has to get on ---- */

/* Rank 0 has a message under way that is far too long for any buffer, and rank 1 takes it before it comes. */
static void progress(void)
{
    enum { LONG = 16 << 20 };
    char *message = malloc(LONG);
    long one = 1, sum = 0, *exposed;
    MPI_Request request;
    MPI_Win window;
    memset(message, world_rank, LONG);
    for (int turn = 0; turn < 2; turn++) {
        if (world_rank == 0)
            MPI_Isend(message, LONG, MPI_CHAR, 1, 5, MPI_COMM_WORLD, &request);
        if (world_rank == 1)
            MPI_Recv(message, LONG, MPI_CHAR, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
        if (world_rank == 0)
            MPI_Wait(&request, MPI_STATUS_IGNORE);
        check(sum == world_ranks && (world_rank != 1 || message[LONG - 1] == 0), "isend, then allreduce", sum, turn);
    }
    MPI_Win_allocate(sizeof *exposed, sizeof *exposed, MPI_INFO_NULL, MPI_COMM_WORLD, &exposed, &window);
    *exposed = 0;
    MPI_Barrier(MPI_COMM_WORLD);
    if (world_rank == 1) { /* the target is in a collective meanwhile */
        for (int i = 0; i < 20; i++) {
            MPI_Win_lock(MPI_LOCK_EXCLUSIVE, 0, 0, window);
            MPI_Accumulate(&one, 1, MPI_LONG, 0, 0, 1, MPI_LONG, MPI_SUM, window);
            MPI_Win_unlock(0, window);
        }
    }
    MPI_Allreduce(&one, &sum, 1, MPI_LONG, MPI_SUM, MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Win_lock(MPI_LOCK_SHARED, world_rank, 0, window);
    check(world_rank != 0 || *exposed == 20, "accumulate into one that waits", *exposed, 20);
    MPI_Win_unlock(world_rank, window);
    MPI_Win_free(&window);
    free(message);
}

enum { THREADS = 3, ROUNDS = 60 };
static MPI_Comm of_thread[THREADS];

/* Collectives on a communicator of its own, and messages between ranks beside them. */
static void *thread(void *number)
{
    int t = *(int *)number, next = (world_rank + 1) % world_ranks,
        before = (world_rank + world_ranks - 1) % world_ranks;
    for (int i = 0; i < ROUNDS; i++) {
        long mine[100], sum[100], got = -1, sent = world_rank * 1000L + i;
        for (int k = 0; k < 100; k++)
            mine[k] = world_rank + k + t;
        if (t == 0)
            MPI_Sendrecv(&sent, 1, MPI_LONG, next, i, &got, 1, MPI_LONG, before, i, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        check(t != 0 || got == before * 1000L + i, "message beside collectives", got, i);
        MPI_Allreduce(mine, sum, 1 + i % 100, MPI_LONG, MPI_SUM, of_thread[t]);
        check(sum[0] == world_ranks * (world_ranks - 1) / 2 + (long)t * world_ranks, "allreduce of a thread", sum[0],
              i);
        MPI_Bcast(mine, 100, MPI_LONG, i % world_ranks, of_thread[t]);
        check(mine[99] == i % world_ranks + 99 + t, "bcast of a thread", mine[99], i);
    }
    return NULL;
}

static void threads(void)
{
    pthread_t made[THREADS];
    int numbers[THREADS];
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_dup(MPI_COMM_WORLD, &of_thread[t]);
    for (int t = 0; t < THREADS; t++) {
        numbers[t] = t;
        (void)pthread_create(&made[t], NULL, thread, &numbers[t]);
    }
    for (int t = 0; t < THREADS; t++)
        (void)pthread_join(made[t], NULL);
    for (int t = 0; t < THREADS; t++)
        MPI_Comm_free(&of_thread[t]);
}

/* ---- memory of a device on every second rank ---- */

static void *driver;
static void *call(const char *name)
{
    void *found = dlsym(driver, name);
    if (!found)
        MPI_Abort(MPI_COMM_WORLD, 4);
    return found;
}

static void device(void)
{
    typedef unsigned long long address;
    enum { COUNT = 3000 };
    static int host[COUNT], back[COUNT];
    address from = (uintptr_t)host, to = (uintptr_t)back;
    void *context = NULL, *stream = NULL;
    const char *named = getenv("HOPCAST_CUDA_LIBRARY");
    bool on_device = world_rank % 2 == 1;
    for (int i = 0; i < COUNT; i++)
        host[i] = (int)input(world_rank, i);
    if (on_device) {
        driver = dlopen(named ? named : "libcuda.so.1", RTLD_NOW);
        if (!driver || ((int (*)(unsigned))call("cuInit"))(0) != 0 ||
            ((int (*)(void **, int))call("cuDevicePrimaryCtxRetain"))(&context, 0) != 0 ||
            ((int (*)(void *))call("cuCtxPushCurrent_v2"))(context) != 0 ||
            ((int (*)(address *, size_t))call("cuMemAlloc_v2"))(&from, sizeof host) != 0 ||
            ((int (*)(address *, size_t))call("cuMemAlloc_v2"))(&to, sizeof host) != 0 ||
            ((int (*)(void **, unsigned))call("cuStreamCreate"))(&stream, 1) != 0)
            MPI_Abort(MPI_COMM_WORLD, 5);
        ((int (*)(address, address, size_t, void *))call("cuMemcpyAsync"))(from, (uintptr_t)host, sizeof host, stream);
        ((int (*)(void *))call("cuStreamSynchronize"))(stream);
    }
    MPI_Allreduce((void *)(uintptr_t)from, (void *)(uintptr_t)to, COUNT, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (on_device) {
        ((int (*)(address, address, size_t, void *))call("cuMemcpyAsync"))((uintptr_t)back, to, sizeof back, stream);
        ((int (*)(void *))call("cuStreamSynchronize"))(stream);
    }
    const struct element ints = {"int", MPI_INT, 4, 'i'};
    for (int i = 0; i < COUNT; i++)
        check(back[i] == reduced(&ints, MPI_SUM, world_ranks, i), "host beside device", i, back[i]);
}

/* ---- the same array, other counts ---- */

/* Whose a call is, goes by what is in the array, on a rank that was asked last about another communicator, too. */
static void counts_change(void)
{
    int rank, ranks, counts[64];
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    for (int i = 0; i < 60; i++) {
        int each = i % 3 ? 2 : 2000 + i % 2;
        for (int r = 0; r < ranks; r++)
            counts[r] = each;
        if (rank == 0 && i % 5 == 0)
            MPI_Reduce_scatter(in, out, &each, MPI_INT, MPI_SUM, MPI_COMM_SELF);
        for (int k = 0; k < each * ranks; k++)
            ((int *)(void *)in)[k] = k + i * rank;
        MPI_Reduce_scatter(in, out, counts, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
        for (int k = 0; k < each; k++)
            check(((int *)(void *)out)[k] == ranks * (rank * each + k) + i * (ranks * (ranks - 1) / 2),
                  "counts that change", k, ((int *)(void *)out)[k]);
    }
}

/* ---- bits ---- */

/* A sum that depends on its order, as a number of its bits; long double, too, which no schedule adds up. */
static void order(void)
{
    enum { COUNT = 1000 };
    static double mine[COUNT], sum[COUNT];
    static long double wide[COUNT], wide_sum[COUNT];
    uint64_t hash = 0, bits;
    for (int i = 0; i < COUNT; i++) {
        mine[i] = (world_rank % 2 ? -1 : 1) * 1e10 / (3 + i + world_rank * 7) + 1.0 / (7 + world_rank);
        wide[i] = mine[i];
    }
    for (int count = 1; count <= COUNT; count *= 10) {
        MPI_Allreduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        MPI_Allreduce(wide, wide_sum, count, MPI_LONG_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        for (int i = 0; i < count; i++) {
            double folded = 0, theirs;
            long double wide_folded = 0;
            for (int r = 0; r < world_ranks; r++) {
                theirs = (r % 2 ? -1 : 1) * 1e10 / (3 + i + r * 7) + 1.0 / (7 + r);
                folded = r == 0 ? theirs : folded + theirs;
                wide_folded = r == 0 ? (long double)theirs : wide_folded + (long double)theirs;
            }
            memcpy(&bits, &sum[i], sizeof bits);
            hash = hash * 31 + bits;
            check(getenv("HOPCAST_MPI_REPRODUCIBLE") == NULL || (folded == sum[i] && wide_folded == wide_sum[i]),
                  "sum in the order of ranks", count, i);
        }
        static double part[COUNT];
        int parts[64] = {count}, first = 0;
        for (int r = 1; r < world_ranks; r++)
            parts[0] -= parts[r] = r < count / world_ranks ? r : 0; /* parts that differ */
        for (int r = 0; r < world_rank; r++)
            first += parts[r];
        MPI_Reduce_scatter(mine, part, parts, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
        check(getenv("HOPCAST_MPI_REPRODUCIBLE") == NULL ||
                  memcmp(part, sum + first, (size_t)parts[world_rank] * sizeof *part) == 0,
              "parts of a sum in the order of ranks", count, first);
        MPI_Reduce(mine, sum, count, MPI_DOUBLE, MPI_SUM, 1, MPI_COMM_WORLD);
        memcpy(&bits, &sum[count - 1], sizeof bits);
        hash = world_rank == 1 ? hash * 31 + bits : hash;
    }
    if (world_rank == 1)
        (void)printf("%016llx\n", (unsigned long long)hash);
}

/* What a rank need not say may be nothing at all; what is wrong, the MPI refuses as ever. */
static void odd(void)
{
    MPI_Datatype none = (MPI_Datatype)0;
    MPI_Comm made;
    int one = world_rank + 1, *all = (int *)in;
    for (int i = 0; i < 4; i++) {
        void *to = world_rank == 0 ? all : NULL, *from = world_rank == 0 ? in : NULL;
        MPI_Gather(&one, 1, MPI_INT, to, world_rank == 0, world_rank == 0 ? MPI_INT : none, 0, MPI_COMM_WORLD);
        check(world_rank > 0 || all[world_ranks - 1] == world_ranks, "gather to nowhere", i, all[world_ranks - 1]);
        MPI_Scatter(from, world_rank == 0, world_rank == 0 ? MPI_INT : none, out, 1, MPI_INT, 0, MPI_COMM_WORLD);
        check(*(int *)out == one, "scatter from nowhere", i, *(int *)out);
        all[world_rank] = one + i;
        MPI_Allgather(MPI_IN_PLACE, 0, none, all, 1, MPI_INT, MPI_COMM_WORLD);
        check(all[0] == 1 + i && all[1] == 2 + i, "allgather in place", all[0], all[1]);
        int counts[64] = {[0] = 1};
        MPI_Reduce_scatter(&one, world_rank == 0 ? out : NULL, counts, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
        check(world_rank > 0 || *(int *)out == world_ranks, "reduce_scatter to one", i, *(int *)out);
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &made);
    MPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN); /* Open MPI asks that one */
    check(MPI_Allreduce(&one, MPI_IN_PLACE, 1, MPI_INT, MPI_SUM, made) != MPI_SUCCESS, "no result wanted", 0, 0);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_ARE_FATAL);
    check(MPI_Allreduce(in, out, 1, MPI_2INT, MPI_SUM, made) != MPI_SUCCESS, "a sum of pairs", 0, 0);
    MPI_Comm_free(&made);
}

/* A rank frees a communicator before what it does for the others, as MPIs let it. */
static void part_early(void)
{
    for (int i = 0; i < 4; i++) {
        MPI_Comm made;
        int one = 1, sum = 0;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        for (int k = 0; k < 3; k++)
            MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, made);
        check(sum == world_ranks, "a sum before it is freed", i, sum);
        if (world_rank == 1)
            MPI_Recv(&one, 1, MPI_INT, 0, 5, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        MPI_Comm_free(&made);
        if (world_rank == 0)
            MPI_Send(&one, 1, MPI_INT, 1, 5, MPI_COMM_WORLD);
    }
}

/* ---- what belongs to the program ---- */

/* The root of a broadcast may have what it gives where nobody writes, in any type. */
static void give_read_only(void)
{
    long page = sysconf(_SC_PAGESIZE);
    int *given = mmap(NULL, (size_t)page, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    MPI_Datatype every_second;
    MPI_Type_vector(100, 1, 2, MPI_INT, &every_second);
    MPI_Type_commit(&every_second);
    for (int i = 0; i < 200; i++)
        given[i] = i;
    check(mprotect(given, (size_t)page, PROT_READ) == 0, "read only", 0, 0);
    for (int i = 0; i < 4; i++) {
        memset(out, 0, 800);
        MPI_Bcast(world_rank == 0 ? (void *)given : out, 1, every_second, 0, MPI_COMM_WORLD);
        check(world_rank == 0 || (((int *)out)[198] == 198 && ((int *)out)[1] == 0), "given", i, ((int *)out)[198]);
    }
    MPI_Type_free(&every_second);
    (void)munmap(given, (size_t)page);
}

static int free_inner(MPI_Comm comm, int key, void *value, void *extra)
{
    (void)comm, (void)key, (void)extra;
    return MPI_Comm_free(value);
}

static long mapped(void)
{
    char line[512];
    long count = 0;
    FILE *file = fopen("/proc/self/maps", "r");
    while (file && fgets(line, sizeof line, file))
        count += strstr(line, "/dev/shm/hopcast") != NULL;
    if (file)
        (void)fclose(file);
    return count;
}

/* A library's own communicator is an attribute of its user's, and goes with that, within the call that frees it. */
static void free_within(void)
{
    int key;
    long before = 0;
    MPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, free_inner, &key, NULL);
    for (int i = 0; i < 12; i++) {
        MPI_Comm outer, inner;
        MPI_Comm_dup(MPI_COMM_WORLD, &outer);
        MPI_Comm_dup(outer, &inner);
        MPI_Comm_set_attr(outer, key, &inner);
        for (int k = 0; k < 4; k++)
            MPI_Allreduce(MPI_IN_PLACE, out, 1, MPI_INT, MPI_MAX, inner);
        MPI_Comm_free(&outer);
        MPI_Barrier(MPI_COMM_WORLD);
        before = i == 3 ? mapped() : before;
    }
    check(mapped() <= before + 12, "what goes within another call is gone", before, mapped()); /* of 32 and more; the last may not be gone yet */
    MPI_Comm_free_keyval(&key);
}

/* Nobody is dead because this rank cannot ask. */
static void no_files(void)
{
    int files[4096], count = 0, one = 1, sum = 0;
    struct rlimit limit;
    (void)getrlimit(RLIMIT_NOFILE, &limit);
    limit.rlim_cur = limit.rlim_cur > 1024 ? 1024 : limit.rlim_cur;
    for (int i = 0; i < 4; i++)
        MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    if (world_rank == 0)
        (void)setrlimit(RLIMIT_NOFILE, &limit);
    while (world_rank == 0 && count < 4096 && (files[count] = open("/dev/null", O_RDONLY)) >= 0)
        count++;
    if (world_rank == 1)
        (void)usleep(500000);
    MPI_Allreduce(&one, &sum, 1, MPI_INT, MPI_SUM, MPI_COMM_WORLD);
    check(sum == world_ranks && (world_rank > 0 || count < 4096), "a sum without files", sum, count);
    for (int i = 0; i < count; i++)
        (void)close(files[i]);
}

/* ---- ends ---- */

static void die(void)
{
    double one = 1, sum;
    for (int i = 0;; i++) {
        if (i == 50 && world_rank == 1)
            (void)raise(SIGKILL);
        MPI_Allreduce(&one, &sum, 1, MPI_DOUBLE, MPI_SUM, MPI_COMM_WORLD);
    }
}

/* Communicators that come and go, and more shapes than are kept. */
static void many(void)
{
    for (int i = 0; i < 40; i++) {
        MPI_Comm made;
        MPI_Comm_dup(MPI_COMM_WORLD, &made);
        reductions(made, &(struct element){"int", MPI_INT, 4, 'i'}, MPI_SUM, 10 + i, i);
        MPI_Comm_free(&made);
    }
    for (int i = 1; i < 200; i++)
        reductions(MPI_COMM_WORLD, &(struct element){"double", MPI_DOUBLE, 8, 'f'}, MPI_SUM, i * 5, i);
}

int main(int argc, char **argv)
{
    const char *mode = argc > 1 ? argv[1] : "all";
    int provided;
    full = argc > 2 && strcmp(argv[2], "full") == 0;
    MPI_Init_thread(&argc, &argv, strcmp(mode, "threads") == 0 ? MPI_THREAD_MULTIPLE : MPI_THREAD_SINGLE, &provided);
    MPI_Comm_rank(MPI_COMM_WORLD, &world_rank);
    MPI_Comm_size(MPI_COMM_WORLD, &world_ranks);
    in = calloc(MOST, 16);
    out = calloc(MOST, 16);
    MPI_Type_contiguous(4, MPI_INT, &fours);
    MPI_Type_create_resized(MPI_INT, 0, 2 * sizeof(int), &spread);
    MPI_Type_commit(&fours);
    MPI_Type_commit(&spread);
    if (strcmp(mode, "all") == 0) {
        all();
        progress();
        many();
    } else if (strcmp(mode, "machines") == 0) {
        few = argc < 3;
        machines();
        neighbours();
        if (!few)
            progress();
        if (!few)
            many();
    } else if (strcmp(mode, "again") == 0) {
        few = true;
        for (int i = 0; i < 4; i++)
            on(MPI_COMM_WORLD);
        neighbours();
    } else if (strcmp(mode, "threads") == 0 && provided == MPI_THREAD_MULTIPLE) {
        threads();
    } else if (strcmp(mode, "device") == 0) {
        device();
    } else if (strcmp(mode, "order") == 0) {
        if (argc > 2)
            counts_change();
        order();
        odd();
        part_early();
        give_read_only();
        free_within();
        no_files();
    } else if (strcmp(mode, "die") == 0) {
        die();
    }
    int worst = failures;
    MPI_Reduce(&failures, &worst, 1, MPI_INT, MPI_MAX, 0, MPI_COMM_WORLD);
    MPI_Type_free(&fours);
    MPI_Type_free(&spread);
    free(in);
    free(out);
    MPI_Finalize();
    return failures > 0 || worst > 0;
}
