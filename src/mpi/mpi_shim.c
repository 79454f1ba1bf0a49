/* SPDX-License-Identifier: BSD-3-Clause */
/* The table over one MPI; compiled once against each. What is known of a communicator is an attribute of it. */
#include "mpi/mpi_shim.h"

#include "base/random.h"

#ifdef HOP_MPI_STANDARD_ABI
#include "mpi/mpi_abi.h"
#else
#include <mpi.h>
#endif
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

_Static_assert(sizeof(MPI_Comm) <= sizeof(uintptr_t) && sizeof(MPI_Request) <= sizeof(uintptr_t) &&
                   sizeof(MPI_Datatype) <= sizeof(uintptr_t) && sizeof(MPI_Count) == sizeof(int64_t),
               "handles pass as words, large counts as 64 bits");

enum { TAG = 32767, PATIENCE_S = 300, SILENT_S = 10, PIECE = 1 << 30 };

static MPI_Comm apart = MPI_COMM_NULL; /* for messages of ours */
static MPI_Group everyone = MPI_GROUP_NULL; /* its ranks, those of the job */
static MPI_Comm first = MPI_COMM_NULL;      /* that all have: MPI_COMM_WORLD, or one made of a session */
static void (*drop_state)(void *own_state);
static int comm_key = MPI_KEYVAL_INVALID, window_key = MPI_KEYVAL_INVALID;

/* ---- what a communicator's ranks mean ---- */

static void drop(struct hop_mpi_ranks *ranks)
{
    if (ranks) {
        free(ranks->world);
        free(ranks->neighbour);
        free(ranks->source);
        free(ranks->device);
        free(ranks);
    }
}

static uint64_t gone = 1; /* how many communicators that were known */

static int drop_of_comm(MPI_Comm comm, int key, void *value, void *extra)
{
    struct hop_mpi_ranks *ranks = value;
    (void)comm, (void)key, (void)extra;
    if (ranks && ranks->own_state && drop_state)
        drop_state(ranks->own_state);
    drop(ranks);
    (void)__atomic_add_fetch(&gone, 1, __ATOMIC_RELEASE);
    return MPI_SUCCESS;
}

static int drop_of_window(MPI_Win window, int key, void *value, void *extra)
{
    (void)window, (void)key, (void)extra;
    drop(value);
    return MPI_SUCCESS;
}

static bool name_ranks(MPI_Group group, struct hop_mpi_ranks *ranks)
{
    bool same = true, fine = PMPI_Group_size(group, &ranks->size) == MPI_SUCCESS;
    int *own = calloc((size_t)ranks->size + 1, sizeof *own);
    ranks->world = calloc((size_t)ranks->size + 1, sizeof *ranks->world);
    for (int i = 0; own && i < ranks->size; i++)
        own[i] = i;
    fine = fine && own && ranks->world &&
           PMPI_Group_translate_ranks(group, ranks->size, own, everyone, ranks->world) == MPI_SUCCESS;
    for (int i = 0; fine && i < ranks->size; i++) {
        if (ranks->world[i] == MPI_UNDEFINED)
            ranks->world[i] = HOP_MPI_ELSEWHERE;
        same = same && ranks->world[i] == i;
    }
    if (fine && same) {
        free(ranks->world);
        ranks->world = NULL;
    }
    free(own);
    return fine;
}

/* Takes the group. */
static bool translate(MPI_Group group, struct hop_mpi_ranks *ranks)
{
    bool fine = name_ranks(group, ranks);
    (void)PMPI_Group_free(&group);
    return fine;
}

/* ---- one number for all of a communicator's ranks ---- */

enum { LISTS = 256 };

struct met {
    struct met *next;
    uint64_t group, times;
};

static uint64_t hash_of(const struct hop_mpi_ranks *ranks)
{
    uint64_t hash = HOP_HASH_BEGIN;
    for (int i = 0; i < ranks->size; i++) {
        int rank = ranks->world ? ranks->world[i] : i;
        hash = hop_hash(hash, &rank, sizeof rank);
    }
    return hop_mix(hash);
}

/* The ids of equal groups differ by how often one was met. Under the lock. */
static uint64_t id_of(uint64_t group)
{
    static struct met *lists[LISTS];
    struct met **at = &lists[group % LISTS];
    while (*at && (*at)->group != group)
        at = &(*at)->next;
    if (!*at && (*at = calloc(1, sizeof **at)))
        (*at)->group = group;
    return *at ? hop_mix(group + (*at)->times++ * HOP_MIX_STEP) : group;
}

/* Of an inter-communicator, both groups', whichever is one's own; 0: not known. Under the lock. */
static uint64_t next_id(MPI_Comm comm, const struct hop_mpi_ranks *ranks)
{
    struct hop_mpi_ranks own = {0};
    MPI_Group group = MPI_GROUP_NULL;
    uint64_t both = hash_of(ranks);
    bool fine = !ranks->inter || (PMPI_Comm_group(comm, &group) == MPI_SUCCESS && translate(group, &own));
    if (ranks->inter && fine)
        both += hash_of(&own);
    free(own.world);
    return fine ? id_of(both) : 0;
}

static bool cart_neighbours(MPI_Comm comm, struct hop_mpi_ranks *ranks)
{
    int dimensions = 0;
    bool fine = PMPI_Cartdim_get(comm, &dimensions) == MPI_SUCCESS &&
                (ranks->neighbour = calloc(2 * (size_t)dimensions + 1, sizeof(int)));
    for (int d = 0; fine && d < dimensions; d++)
        fine = PMPI_Cart_shift(comm, d, 1, &ranks->neighbour[2 * d], &ranks->neighbour[2 * d + 1]) == MPI_SUCCESS;
    ranks->neighbours = fine ? 2 * dimensions : 0;
    ranks->is_grid = true;
    return fine;
}

static bool graph_neighbours(MPI_Comm comm, struct hop_mpi_ranks *ranks)
{
    int count = 0;
    bool fine = PMPI_Graph_neighbors_count(comm, ranks->own, &count) == MPI_SUCCESS &&
                (ranks->neighbour = calloc((size_t)count + 1, sizeof(int))) &&
                PMPI_Graph_neighbors(comm, ranks->own, count, ranks->neighbour) == MPI_SUCCESS;
    ranks->neighbours = fine ? count : 0;
    return fine;
}

static bool dist_graph_neighbours(MPI_Comm comm, struct hop_mpi_ranks *ranks)
{
    int in = 0, out = 0, weighted = 0;
    bool fine = PMPI_Dist_graph_neighbors_count(comm, &in, &out, &weighted) == MPI_SUCCESS;
    int *from = calloc((size_t)in + 1, sizeof(int)), *weights = calloc((size_t)(in > out ? in : out) + 1, sizeof(int));
    ranks->neighbour = calloc((size_t)out + 1, sizeof(int));
    int *other = calloc((size_t)out + 1, sizeof(int));
    fine = fine && from && weights && other && ranks->neighbour &&
           PMPI_Dist_graph_neighbors(comm, in, from, weights, out, ranks->neighbour, other) == MPI_SUCCESS;
    free(weights);
    free(other);
    ranks->source = from;
    ranks->sources = fine ? in : 0;
    ranks->neighbours = fine ? out : 0;
    return fine;
}

static bool find_neighbours(MPI_Comm comm, struct hop_mpi_ranks *ranks)
{
    int kind = MPI_UNDEFINED;
    if (ranks->inter || PMPI_Topo_test(comm, &kind) != MPI_SUCCESS)
        return true;
    return kind == MPI_CART         ? cart_neighbours(comm, ranks)
           : kind == MPI_GRAPH      ? graph_neighbours(comm, ranks)
           : kind == MPI_DIST_GRAPH ? dist_graph_neighbours(comm, ranks)
                                    : true;
}

static struct hop_mpi_ranks *look_at(MPI_Comm comm, uint64_t id)
{
    struct hop_mpi_ranks *ranks = calloc(1, sizeof *ranks);
    MPI_Group group = MPI_GROUP_NULL;
    int inter = 0;
    bool fine = ranks && PMPI_Comm_test_inter(comm, &inter) == MPI_SUCCESS &&
                PMPI_Comm_rank(comm, &ranks->own) == MPI_SUCCESS &&
                PMPI_Comm_size(comm, &ranks->local_size) == MPI_SUCCESS &&
                (inter ? PMPI_Comm_remote_group(comm, &group) : PMPI_Comm_group(comm, &group)) == MPI_SUCCESS;
    if (fine)
        ranks->inter = inter != 0;
    if (fine && translate(group, ranks) && find_neighbours(comm, ranks) &&
        (ranks->id = id ? id : next_id(comm, ranks)) != 0)
        return ranks;
    drop(ranks);
    return NULL;
}

/* Two threads that meet a communicator at once: the first to come keeps its answer. */
static volatile char lock;

/* id: that it was promised; 0: the next. */
static struct hop_mpi_ranks *look_up(MPI_Comm comm, uint64_t id)
{
    void *known = NULL;
    int there = 0;
    if (comm == MPI_COMM_NULL || PMPI_Comm_get_attr(comm, comm_key, &known, &there) != MPI_SUCCESS || there)
        return known;
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {
    }
    if (PMPI_Comm_get_attr(comm, comm_key, &known, &there) == MPI_SUCCESS && !there) {
        known = look_at(comm, id);
        if (known && PMPI_Comm_set_attr(comm, comm_key, known) != MPI_SUCCESS) {
            drop(known);
            known = NULL;
        }
    }
    __atomic_clear(&lock, __ATOMIC_RELEASE);
    return known;
}

/* A thread's last one is known without asking until a communicator goes. */
static struct hop_mpi_ranks *ranks_of(uintptr_t comm)
{
    static __thread struct {
        uintptr_t comm;
        uint64_t gone;
        struct hop_mpi_ranks *ranks;
    } last __attribute__((tls_model("initial-exec")));
    uint64_t now = __atomic_load_n(&gone, __ATOMIC_ACQUIRE);
    if (last.gone != now || last.comm != comm) {
        last.ranks = look_up((MPI_Comm)comm, 0);
        last.comm = comm;
        last.gone = last.ranks ? now : 0;
    }
    return last.ranks;
}

static uint64_t promise(uintptr_t comm)
{
    const struct hop_mpi_ranks *ranks = ranks_of(comm);
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {
    }
    uint64_t id = ranks ? next_id((MPI_Comm)comm, ranks) : 0;
    __atomic_clear(&lock, __ATOMIC_RELEASE);
    return id;
}

static void keep_promise(uintptr_t comm, uint64_t id)
{
    (void)look_up((MPI_Comm)comm, id);
}

static struct hop_mpi_ranks *look_at_window(MPI_Win window)
{
    struct hop_mpi_ranks *ranks = calloc(1, sizeof *ranks);
    MPI_Group group = MPI_GROUP_NULL;
    bool fine = ranks && PMPI_Win_get_group(window, &group) == MPI_SUCCESS &&
                PMPI_Group_rank(group, &ranks->own) == MPI_SUCCESS;
    if (fine && translate(group, ranks)) {
        ranks->id = id_of(~hash_of(ranks));
        return ranks;
    }
    drop(ranks);
    return NULL;
}

static const struct hop_mpi_ranks *ranks_of_window(uintptr_t word)
{
    MPI_Win window = (MPI_Win)word;
    void *known = NULL;
    int there = 0;
    if (PMPI_Win_get_attr(window, window_key, &known, &there) != MPI_SUCCESS || there)
        return known;
    while (__atomic_test_and_set(&lock, __ATOMIC_ACQUIRE)) {
    }
    if (PMPI_Win_get_attr(window, window_key, &known, &there) == MPI_SUCCESS && !there) {
        known = look_at_window(window);
        if (known && PMPI_Win_set_attr(window, window_key, known) != MPI_SUCCESS) {
            drop(known);
            known = NULL;
        }
    }
    __atomic_clear(&lock, __ATOMIC_RELEASE);
    return known;
}

/* ---- other handles ---- */

static int64_t type_size(uintptr_t type)
{
    MPI_Count size = -1;
    return PMPI_Type_size_x((MPI_Datatype)type, &size) == MPI_SUCCESS && size >= 0 ? (int64_t)size : -1;
}

static uintptr_t type_at(uintptr_t types, int index)
{
    return (uintptr_t)((const MPI_Datatype *)types)[index];
}

static uintptr_t request_at(uintptr_t requests, int index)
{
    return (uintptr_t)((const MPI_Request *)requests)[index];
}

static uintptr_t message_at(uintptr_t message)
{
    return (uintptr_t) * (const MPI_Message *)message;
}

static bool is_no_op(uintptr_t op)
{
    return (MPI_Op)op == MPI_NO_OP;
}

/* ---- ranks together ---- */

static double patience_s(void)
{
    const char *own = getenv("HOPCAST_MPI_PATIENCE");
    double seconds = own ? strtod(own, NULL) : 0;
    return seconds > 0 ? seconds : PATIENCE_S;
}

static bool arrived(int from, double until)
{
    int flag = 0;
    double ask = PMPI_Wtime() + SILENT_S;
    while (!flag && PMPI_Iprobe(from, TAG, first, &flag, MPI_STATUS_IGNORE) == MPI_SUCCESS && PMPI_Wtime() < until) {
        (void)nanosleep(&(struct timespec){0, 20000}, NULL);
        if (PMPI_Wtime() > ask) {
            (void)fprintf(stderr, "libhopcast_mpi.so: waiting for rank %d in MPI_Init: is it preloaded there, too?\n",
                          from);
            ask = until;
        }
    }
    return flag != 0;
}

/* Rank 0 hears from every other one, and answers those that it heard. */
static bool all_are_here(int rank, int size)
{
    int all = 1;
    double until = PMPI_Wtime() + patience_s();
    if (rank > 0) {
        (void)PMPI_Send(&rank, 1, MPI_INT, 0, TAG, first);
        return arrived(0, until + patience_s() / 2) &&
               PMPI_Recv(&all, 1, MPI_INT, 0, TAG, first, MPI_STATUS_IGNORE) == MPI_SUCCESS && all;
    }
    for (int r = 1; r < size && all; r++) {
        int who;
        all = arrived(r, until) && PMPI_Recv(&who, 1, MPI_INT, r, TAG, first, MPI_STATUS_IGNORE) == MPI_SUCCESS;
    }
    for (int r = 1; r < size && all; r++)
        (void)PMPI_Send(&all, 1, MPI_INT, r, TAG, first);
    return all != 0;
}

static void give_up(int code)
{
    (void)PMPI_Abort(first, code);
}

/* This process among all of the job; a session of our own knows them. */
static bool find_in_job(int *rank, int *size)
{
#if MPI_VERSION >= 4
    MPI_Session session = MPI_SESSION_NULL;
    MPI_Group group = MPI_GROUP_NULL;
    bool fine = PMPI_Session_init(MPI_INFO_NULL, MPI_ERRORS_RETURN, &session) == MPI_SUCCESS &&
                PMPI_Group_from_session_pset(session, "mpi://WORLD", &group) == MPI_SUCCESS &&
                PMPI_Group_rank(group, rank) == MPI_SUCCESS && PMPI_Group_size(group, size) == MPI_SUCCESS;
    if (group != MPI_GROUP_NULL)
        (void)PMPI_Group_free(&group);
    if (session != MPI_SESSION_NULL)
        (void)PMPI_Session_finalize(&session);
    return fine;
#else
    (void)rank, (void)size;
    return false;
#endif
}

static bool is_whole(uintptr_t comm)
{
    int rank, all = -1, size = 0, inter = 0;
    return (MPI_Comm)comm != MPI_COMM_NULL && PMPI_Comm_test_inter((MPI_Comm)comm, &inter) == MPI_SUCCESS && !inter &&
           PMPI_Comm_size((MPI_Comm)comm, &size) == MPI_SUCCESS && find_in_job(&rank, &all) && size == all;
}

/* Ranks are the job's, whatever order that of a session has. */
static bool make_apart(uintptr_t comm)
{
    int rank, size;
    return comm ? find_in_job(&rank, &size) && PMPI_Comm_split(first, 0, rank, &apart) == MPI_SUCCESS
                : PMPI_Comm_dup(first, &apart) == MPI_SUCCESS;
}

/* Known from the beginning: a program may part from its parent. */
static bool spawned;

static bool is_spawned(void)
{
    return spawned;
}

static bool find_parent(void)
{
    MPI_Comm parent = MPI_COMM_NULL;
    bool fine = first != MPI_COMM_WORLD || PMPI_Comm_get_parent(&parent) == MPI_SUCCESS;
    spawned = parent != MPI_COMM_NULL;
    return fine;
}

static bool begin(uintptr_t comm, int *rank, int *size)
{
    first = comm ? (MPI_Comm)comm : MPI_COMM_WORLD;
    return PMPI_Comm_rank(first, rank) == MPI_SUCCESS && PMPI_Comm_size(first, size) == MPI_SUCCESS &&
           all_are_here(*rank, *size) && find_parent() && make_apart(comm) &&
           PMPI_Comm_rank(apart, rank) == MPI_SUCCESS && PMPI_Comm_group(apart, &everyone) == MPI_SUCCESS &&
           PMPI_Comm_set_errhandler(apart, MPI_ERRORS_RETURN) == MPI_SUCCESS &&
           PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, drop_of_comm, &comm_key, NULL) == MPI_SUCCESS &&
           PMPI_Win_create_keyval(MPI_WIN_NULL_COPY_FN, drop_of_window, &window_key, NULL) == MPI_SUCCESS &&
           ranks_of((uintptr_t)first); /* the first of these ranks, everywhere */
}

/* What is made of a session has to be gone before that ends. */
static void end(void)
{
    (void)PMPI_Group_free(&everyone);
    (void)PMPI_Comm_free(&apart);
}

static int reply(int to, const void *bytes, size_t size)
{
    int error = MPI_SUCCESS;
    for (size_t at = 0; at < size && !error; at += PIECE)
        error =
            PMPI_Send((const char *)bytes + at, (int)(size - at < PIECE ? size - at : PIECE), MPI_BYTE, to, TAG, apart);
    return error;
}

static int send(const void *bytes, size_t size)
{
    return reply(0, bytes, size);
}

static int receive(int from, void *bytes, size_t size)
{
    int error = MPI_SUCCESS;
    for (size_t at = 0; at < size && !error; at += PIECE)
        error = PMPI_Recv((char *)bytes + at, (int)(size - at < PIECE ? size - at : PIECE), MPI_BYTE, from, TAG, apart,
                          MPI_STATUS_IGNORE);
    return error;
}

/* ---- for the engine ---- */

static uintptr_t comm_at(uintptr_t comms, int index)
{
    return (uintptr_t)((const MPI_Comm *)comms)[index];
}

static void dropped(void (*drop_it)(void *own_state))
{
    drop_state = drop_it;
}

static int broadcast_on(MPI_Comm comm, void *bytes, size_t size)
{
    int error = MPI_SUCCESS;
    for (size_t at = 0; at < size && !error; at += PIECE)
        error = PMPI_Bcast((char *)bytes + at, (int)(size - at < PIECE ? size - at : PIECE), MPI_BYTE, 0, comm);
    return error;
}

static int broadcast(void *bytes, size_t size)
{
    return broadcast_on(apart, bytes, size);
}

static int gather(const void *mine, size_t size, void *all)
{
    return PMPI_Gather(mine, (int)size, MPI_BYTE, all, (int)size, MPI_BYTE, 0, apart);
}

static bool agree_on(MPI_Comm comm, bool own)
{
    int mine = own, all = 0;
    return PMPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, comm) == MPI_SUCCESS && all;
}

static bool all_agree(bool own)
{
    return agree_on(apart, own);
}

static int machine(void)
{
    MPI_Comm here = MPI_COMM_NULL;
    int lowest = -1, rank = -1;
    if (PMPI_Comm_rank(apart, &rank) != MPI_SUCCESS ||
        PMPI_Comm_split_type(apart, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &here) != MPI_SUCCESS)
        return -1;
    if (PMPI_Allreduce(&rank, &lowest, 1, MPI_INT, MPI_MIN, here) != MPI_SUCCESS)
        lowest = -1;
    (void)PMPI_Comm_free(&here);
    return lowest;
}

static int comm_broadcast(uintptr_t comm, void *bytes, size_t size)
{
    return broadcast_on((MPI_Comm)comm, bytes, size);
}

static bool comm_all_agree(uintptr_t comm, bool own)
{
    return agree_on((MPI_Comm)comm, own);
}

static struct hop_mpi_ranks *ranks_of_group(uintptr_t group)
{
    struct hop_mpi_ranks *ranks = calloc(1, sizeof *ranks);
    if (ranks && name_ranks((MPI_Group)group, ranks))
        return ranks;
    drop(ranks);
    return NULL;
}

static void window_memory(uintptr_t window, uintptr_t comm, bool device)
{
    struct hop_mpi_ranks *ranks = (struct hop_mpi_ranks *)(uintptr_t)ranks_of_window(window);
    int own = device, *all = ranks ? calloc((size_t)ranks->size, sizeof *all) : NULL;
    bool some = agree_on((MPI_Comm)comm, all != NULL) &&
                PMPI_Allgather(&own, 1, MPI_INT, all, 1, MPI_INT, (MPI_Comm)comm) == MPI_SUCCESS &&
                memchr(all, true, (size_t)ranks->size * sizeof *all);
    if (some)
        ranks->device = all;
    else
        free(all);
}

static uintptr_t own_comm(void)
{
    return (uintptr_t)apart;
}

static void progress(void)
{
    int flag;
    (void)PMPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, apart, &flag, MPI_STATUS_IGNORE);
}

/* ---- for the recorder ---- */

static struct hop_mpi_status status_at(const void *statuses, int index)
{
    const MPI_Status *status = (const MPI_Status *)statuses + index;
    int cancelled = 0;
    (void)PMPI_Test_cancelled(status, &cancelled);
    return (struct hop_mpi_status){status->MPI_SOURCE, status->MPI_TAG, cancelled != 0};
}

static uint64_t status_bytes(const void *statuses, int index)
{
    MPI_Count bytes = 0;
    int error = PMPI_Get_elements_x((const MPI_Status *)statuses + index, MPI_BYTE, &bytes);
    return error == MPI_SUCCESS && bytes > 0 ? (uint64_t)bytes : 0;
}

static uintptr_t window_at(uintptr_t windows, int index)
{
    return (uintptr_t)((const MPI_Win *)windows)[index];
}

__attribute__((visibility("default"))) const struct hop_mpi_shim *hop_mpi_shim_table(void)
{
    static struct hop_mpi_shim table;
    table = (struct hop_mpi_shim){
        .version = HOP_MPI_SHIM_VERSION,
        .in_place = (uintptr_t)MPI_IN_PLACE,
        .proc_null = MPI_PROC_NULL,
        .root = MPI_ROOT,
        .is_no_op = is_no_op,
        .begin = begin,
        .give_up = give_up,
        .end = end,
        .is_whole = MPI_VERSION >= 4 ? is_whole : NULL,
        .type_size = type_size,
        .type_at = type_at,
        .request_at = request_at,
        .message_at = message_at,
        .ranks = ranks_of,
        .window = ranks_of_window,
        .window_memory = window_memory,
        .group = ranks_of_group,
        .drop = drop,
        .send = send,
        .receive = receive,
        .comm_at = comm_at,
        .dropped = dropped,
        .broadcast = broadcast,
        .gather = gather,
        .all_agree = all_agree,
        .machine = machine,
        .is_spawned = is_spawned,
        .comm_broadcast = comm_broadcast,
        .comm_all_agree = comm_all_agree,
        .progress = progress,
        .apart = own_comm,
#ifndef HOP_MPI_STANDARD_ABI
        .collectives = &hop_mpi_shim_collectives,
#endif
        .comm_null = (uintptr_t)MPI_COMM_NULL,
        .status_ignore = (uintptr_t)MPI_STATUS_IGNORE,
        .statuses_ignore = (uintptr_t)MPI_STATUSES_IGNORE,
        .any_source = MPI_ANY_SOURCE,
        .any_tag = MPI_ANY_TAG,
        .status_size = sizeof(MPI_Status),
        .status_at = status_at,
        .status_bytes = status_bytes,
        .window_at = window_at,
        .promise = promise,
        .keep_promise = keep_promise,
        .reply = reply,
    };
    return &table;
}
