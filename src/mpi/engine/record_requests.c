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

struct hop_request *hop_requests_take(uintptr_t handle, uint64_t until)
{
    struct hop_request **at = list_of(handle), *found;
    (void)pthread_mutex_lock(&guard);
    while (*at && ((*at)->handle != handle || (*at)->number >= until))
        at = &(*at)->next;
    found = *at;
    if (found)
        *at = found->next;
    (void)pthread_mutex_unlock(&guard);
    return found;
}
