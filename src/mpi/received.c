/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/received.h"

#include "base/base.h"
#include "mpi/completions.h"
#include "mpi/device_memory.h"

#include <pthread.h>

enum { LISTS = 1024 };

/* A receive under way, or a message that was found and is to be received. The communicator may be gone when it ends. */
struct receive {
    struct receive *next;
    uintptr_t request;
    uint64_t number; /* how many were there before it */
    bool persistent;
    int ranks, *world; /* as struct hop_mpi_ranks has them */
    int peer;          /* of a message */
    uint64_t bytes;
};

#define FOUND UINT64_C(0x6d657373) /* tells messages from requests of the same handle */

static struct receive *lists[LISTS];
static uint32_t under_way;
static uint64_t begun;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;
static __thread struct hop_completions about;
static __thread const struct hop_mpi_shim *shim; /* for what ends */
static __thread bool counts;
static __thread uintptr_t taken; /* the message that the call takes */
/* How many had been begun before the call: what it ends may give its handle to another thread's. */
static __thread uint64_t before;

static struct receive **list_of(uintptr_t request)
{
    return &lists[(request * (uintptr_t)0x9e3779b97f4a7c15u >> 40) % LISTS];
}

static void drop(struct receive *receive)
{
    free(receive->world);
    free(receive);
}

/* NULL: none of that handle was there before the call. */
static struct receive *take(uintptr_t request)
{
    (void)pthread_mutex_lock(&guard);
    struct receive **at = list_of(request), *found;
    while (*at && ((*at)->request != request || (*at)->number >= before))
        at = &(*at)->next;
    found = *at;
    if (found) {
        *at = found->next;
        (void)__atomic_sub_fetch(&under_way, 1, __ATOMIC_RELAXED);
    }
    (void)pthread_mutex_unlock(&guard);
    return found;
}

static void give(struct receive *receive)
{
    (void)pthread_mutex_lock(&guard);
    struct receive **at = list_of(receive->request);
    receive->next = *at;
    *at = receive;
    (void)__atomic_add_fetch(&under_way, 1, __ATOMIC_RELAXED);
    (void)pthread_mutex_unlock(&guard);
}

/* Where the call receives: NULL: it does not, or that is not known. */
static const void *buffer_of(const struct hop_mpi_row *row, const uintptr_t *arguments)
{
    if ((row->kind != KIND_RECEIVE && row->kind != KIND_POINT) || !hop_role(row, arguments, 'f'))
        return NULL;
    const uintptr_t *own = hop_role(row, arguments, 'r'); /* else what is sent is replaced */
    return (const void *)*(own ? own : hop_role(row, arguments, 's'));
}

static bool is_device(const void *buffer)
{
    return buffer && hop_mpi_memory_of(buffer) == MEMORY_DEVICE;
}

const uintptr_t *hop_received_enter(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row,
                                    const uintptr_t *arguments)
{
    about.handle_count = 0;
    before = __atomic_load_n(&begun, __ATOMIC_RELAXED);
    taken = row->kind == KIND_ASIDE && hop_has_role(row, 'M') && __atomic_load_n(&under_way, __ATOMIC_RELAXED)
                ? mpi->message_at(*hop_role(row, arguments, 'M'))
                : 0;
    if (row->kind == KIND_FREE && __atomic_load_n(&under_way, __ATOMIC_RELAXED)) {
        struct receive *gone = take(mpi->request_at(arguments[0], 0));
        if (gone)
            drop(gone);
    }
    bool found = row->kind == KIND_MPROBE && hop_mpi_has_driver();
    bool ends = row->kind == KIND_COMPLETE && __atomic_load_n(&under_way, __ATOMIC_RELAXED);
    if (!ends && !found && !(hop_role(row, arguments, 'S') && is_device(buffer_of(row, arguments))))
        return arguments;
    return hop_completions_enter(&about, mpi, row, arguments);
}

static void count_bytes(int peer, uint64_t bytes)
{
    if (counts)
        hop_counts_message(&(struct hop_mpi_message){
            .peer = peer, .class = CLASS_POINT, .memory = MEMORY_DEVICE, .received = true, .bytes = bytes}, 1);
}

static void count(const void *statuses, int index, const int *world, int ranks)
{
    struct hop_mpi_status status = shim->status_at(statuses, index);
    if (status.source >= 0 && status.source < ranks && !status.cancelled)
        count_bytes(world ? world[status.source] : status.source, shim->status_bytes(statuses, index));
}

static void end(uintptr_t request, const void *statuses, int index)
{
    struct receive *receive = take(request);
    if (!receive)
        return;
    if ((uintptr_t)statuses != shim->statuses_ignore)
        count(statuses, index, receive->world, receive->ranks);
    if (receive->persistent)
        give(receive);
    else
        drop(receive);
}

static void begin(uintptr_t request, bool persistent, const struct hop_mpi_ranks *ranks)
{
    struct receive *receive = calloc(1, sizeof *receive);
    int *world = ranks->world ? malloc((size_t)ranks->size * sizeof *world) : NULL;
    if (!receive || (ranks->world && !world)) {
        free(receive);
        free(world);
        return;
    }
    *receive = (struct receive){.request = request,
                                .number = __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED),
                                .persistent = persistent,
                                .ranks = ranks->size,
                                .world = world};
    if (world)
        memcpy(world, ranks->world, (size_t)ranks->size * sizeof *world);
    give(receive);
}

/* Who takes a message that was found knows whose it is and how long, but not yet where it goes. */
static void find_message(const struct hop_mpi_row *row, const uintptr_t *arguments)
{
    const uintptr_t *flag = hop_role(row, arguments, 'F');
    const void *status = (const void *)*hop_role(row, arguments, 'S');
    const struct hop_mpi_ranks *ranks = shim->ranks(*hop_role(row, arguments, 'c'));
    if ((flag && !*(const int *)*flag) || (uintptr_t)status == shim->status_ignore || !ranks)
        return;
    int source = shim->status_at(status, 0).source;
    struct receive *found = source >= 0 && source < ranks->size ? calloc(1, sizeof *found) : NULL;
    if (!found)
        return;
    *found = (struct receive){.request = shim->message_at(*hop_role(row, arguments, 'M')) ^ FOUND,
                              .number = __atomic_fetch_add(&begun, 1, __ATOMIC_RELAXED),
                              .peer = ranks->world ? ranks->world[source] : source,
                              .bytes = shim->status_bytes(status, 0)};
    give(found);
}

static void take_message(uintptr_t message, const void *buffer)
{
    struct receive *found = take(message ^ FOUND);
    if (found && is_device(buffer))
        count_bytes(found->peer, found->bytes);
    if (found)
        drop(found);
}

void hop_received_leave(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row, const uintptr_t *arguments,
                        bool paused)
{
    shim = mpi;
    counts = !paused;
    if (row->kind == KIND_COMPLETE) {
        if (about.handle_count)
            (void)hop_completions_each(&about, row, arguments, end);
        return;
    }
    if (row->kind == KIND_MPROBE && hop_mpi_has_driver())
        find_message(row, arguments);
    if (taken)
        take_message(taken, (const void *)arguments[0]);
    taken = 0;
    const void *buffer = buffer_of(row, arguments);
    if (!is_device(buffer))
        return;
    const struct hop_mpi_ranks *ranks = mpi->ranks(*hop_role(row, arguments, 'c'));
    const uintptr_t *status = hop_role(row, arguments, 'S'), *once = hop_role(row, arguments, 'q'),
                    *often = hop_role(row, arguments, 'Q');
    if (ranks && status && *status != mpi->status_ignore)
        count((const void *)*status, 0, ranks->world, ranks->size);
    else if (ranks && (once || often))
        begin(mpi->request_at(once ? *once : *often, 0), often != NULL, ranks);
}
