/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Threads of the program, when they start: one that is to have the device of its process gets it before it runs. Until
 * the engine asks for that, nothing is done here but to hand the call on.
 */
#include "mpi/mpi_layer.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <threads.h>

struct start {
    void *(*routine)(void *argument); /* one of both */
    thrd_start_t standard;
    void *argument;
};

static void *run(void *context)
{
    struct start start = *(struct start *)context;
    free(context);
    hop_layer_thread();
    return start.routine(start.argument);
}

static int run_standard(void *context)
{
    struct start start = *(struct start *)context;
    free(context);
    hop_layer_thread();
    return start.standard(start.argument);
}

/* NULL: it starts as it is. */
static struct start *prepare(const struct start *start, const void *routine)
{
    struct start *made = hop_layer_takes_thread(routine) ? malloc(sizeof *made) : NULL;
    if (made)
        *made = *start;
    return made;
}

static void *find(void **slot, const char *name)
{
    void *found = __atomic_load_n(slot, __ATOMIC_ACQUIRE);
    if (!found) {
        found = hop_layer_next(name);
        __atomic_store_n(slot, found, __ATOMIC_RELEASE);
    }
    return found;
}

/* Where the library is linked (cmake/mpi.cmake) they get the names of the C library's. */
#define EXPORTED __attribute__((visibility("default")))
EXPORTED int hop_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                                void *argument);
EXPORTED int hop_thrd_create(thrd_t *thread, thrd_start_t routine, void *argument);

EXPORTED int hop_pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*routine)(void *),
                                void *argument)
{
    static void *slot;
    const struct start start = {routine, NULL, argument};
    int (*create)(pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    void *found = find(&slot, "pthread_create"), *address;
    memcpy(&create, &found, sizeof create); /* ISO C has no cast from object to function pointer */
    memcpy(&address, &routine, sizeof address);
    struct start *made = create ? prepare(&start, address) : NULL;
    int error = create ? create(thread, attributes, made ? run : routine, made ? made : argument) : EAGAIN;
    if (error)
        free(made);
    return error;
}

EXPORTED int hop_thrd_create(thrd_t *thread, thrd_start_t routine, void *argument)
{
    static void *slot;
    const struct start start = {NULL, routine, argument};
    int (*create)(thrd_t *, thrd_start_t, void *);
    void *found = find(&slot, "thrd_create"), *address;
    memcpy(&create, &found, sizeof create);
    memcpy(&address, &routine, sizeof address);
    struct start *made = create ? prepare(&start, address) : NULL;
    int error = create ? create(thread, made ? run_standard : routine, made ? made : argument) : thrd_error;
    if (error != thrd_success)
        free(made);
    return error;
}
