/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests under way by handle. An MPI may give one handle to several sends that have ended already, so that a handle may
 * be there more than once: the latest is found first. */
#include "mpi/engine/record.h"

#include <pthread.h>

enum { LISTS = 16384 };

static struct hop_request *lists[LISTS];
static uint64_t count;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static struct hop_request **list_of(uintptr_t handle)
{
    return &lists[(handle * (uintptr_t)0x9e3779b97f4a7c15u >> 40) % LISTS];
}

void hop_requests_give_back(struct hop_request *request)
{
    struct hop_request **list = list_of(request->handle);
    (void)pthread_mutex_lock(&guard);
    request->next = *list;
    *list = request;
    (void)pthread_mutex_unlock(&guard);
}

void hop_requests_drop(struct hop_request *request)
{
    if (request) {
        free(request->world);
        free(request->kept);
        free(request);
    }
}

void hop_requests_add(const struct hop_request *request)
{
    struct hop_request *own = malloc(sizeof *own);
    if (!own) {
        free(request->world);
        free(request->kept);
        return;
    }
    *own = *request;
    own->number = __atomic_fetch_add(&count, 1, __ATOMIC_RELAXED);
    hop_requests_give_back(own);
}

uint64_t hop_requests_count(void)
{
    return __atomic_load_n(&count, __ATOMIC_RELAXED);
}

/* Under the lock. */
static struct hop_request **find(uintptr_t handle, uint64_t until)
{
    struct hop_request **at = list_of(handle);
    while (*at && ((*at)->handle != handle || (*at)->number >= until))
        at = &(*at)->next;
    return at;
}

static struct hop_request *take_out(struct hop_request **at)
{
    struct hop_request *found = *at;
    if (found)
        *at = found->next;
    return found;
}

struct hop_request *hop_requests_take(uintptr_t handle, uint64_t until)
{
    (void)pthread_mutex_lock(&guard);
    struct hop_request *found = take_out(find(handle, until));
    (void)pthread_mutex_unlock(&guard);
    return found;
}

struct hop_request *hop_requests_ready(uintptr_t handle, uint64_t until, int partitions)
{
    struct hop_request *found = NULL;
    (void)pthread_mutex_lock(&guard);
    struct hop_request **at = find(handle, until);
    if (*at && (*at)->unready > 0) {
        (*at)->unready -= partitions;
        found = (*at)->unready <= 0 ? take_out(at) : NULL;
    }
    (void)pthread_mutex_unlock(&guard);
    return found;
}
