/* SPDX-License-Identifier: BSD-3-Clause */
/* A table of lists by handle, under one lock: persistent requests are few, and made once. */
#include "mpi/persistent.h"

#include <pthread.h>
#include <stdlib.h>

enum { LISTS = 1024 };

struct known {
    struct known *next;
    uintptr_t request;
    struct hop_mpi_messages messages;
};

static struct known *lists[LISTS];
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

/* Where it stands, or the end of its list. */
static struct known **find(uintptr_t request)
{
    struct known **at = &lists[(request * (uintptr_t)0x9e3779b97f4a7c15u >> 40) % LISTS];
    while (*at && (*at)->request != request)
        at = &(*at)->next;
    return at;
}

static void remove_at(struct known **at)
{
    struct known *known = *at;
    if (!known)
        return;
    *at = known->next;
    free(known->messages.items);
    free(known);
}

void hop_persistent_add(uintptr_t request, struct hop_mpi_messages *messages)
{
    struct known *known = malloc(sizeof *known);
    if (!known) {
        free(messages->items);
        return;
    }
    (void)pthread_mutex_lock(&guard);
    remove_at(find(request));
    struct known **at = find(request);
    *known = (struct known){.request = request, .messages = *messages};
    *at = known;
    (void)pthread_mutex_unlock(&guard);
}

void hop_persistent_forget(uintptr_t request)
{
    (void)pthread_mutex_lock(&guard);
    remove_at(find(request));
    (void)pthread_mutex_unlock(&guard);
}

uint64_t hop_persistent_start(uintptr_t request)
{
    uint64_t bytes = 0;
    (void)pthread_mutex_lock(&guard);
    const struct known *known = *find(request);
    for (uint32_t i = 0; known && i < known->messages.count; i++) {
        hop_counts_message(&known->messages.items[i], 1);
        bytes += known->messages.items[i].received ? 0 : known->messages.items[i].bytes;
    }
    (void)pthread_mutex_unlock(&guard);
    return bytes;
}
