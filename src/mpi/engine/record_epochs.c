/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Epochs of windows by post, start, complete and wait. A target's post is a message to each origin, which the origin's
 * complete takes, and its start waits for where the MPI has it wait there; an origin's complete is one to each target,
 * which the target's wait takes. Nobody waits in a post.
 */
#include "mpi/engine/record.h"

#include <pthread.h>

#define EPOCHS UINT64_C(0x57696e646f777321) /* tells these from messages of communicators */
enum { POSTED = 1, COMPLETED = 2 };         /* tags */

struct epoch {
    struct epoch *next;
    uint64_t window;
    bool exposes; /* of the two that a window may have at once */
    struct hop_mpi_ranks *with;
};

static struct epoch *first;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static void keep(const struct hop_mpi_shim *mpi, uint64_t window, bool exposes, struct hop_mpi_ranks *with)
{
    struct epoch *epoch = calloc(1, sizeof *epoch);
    if (!epoch) {
        mpi->drop(with);
        return;
    }
    *epoch = (struct epoch){.window = window, .exposes = exposes, .with = with};
    (void)pthread_mutex_lock(&guard);
    epoch->next = first;
    first = epoch;
    (void)pthread_mutex_unlock(&guard);
}

/* With whom; NULL: there is none, as after a failure. */
static struct hop_mpi_ranks *take(uint64_t window, bool exposes)
{
    (void)pthread_mutex_lock(&guard);
    struct epoch **at = &first, *found;
    while (*at && ((*at)->window != window || (*at)->exposes != exposes))
        at = &(*at)->next;
    found = *at;
    if (found)
        *at = found->next;
    (void)pthread_mutex_unlock(&guard);
    struct hop_mpi_ranks *with = found ? found->with : NULL;
    free(found);
    return with;
}

static void say(const struct hop_mpi_ranks *with, const struct hop_mpi_ranks *window, struct hop_item item,
                void (*push)(struct hop_item item))
{
    int own = window->world ? window->world[window->own] : window->own;
    item.where = window->id ^ EPOCHS;
    item.flags = item.kind == ITEM_SEND ? ITEM_EAGER : 0;
    for (int i = 0; with && i < with->size; i++) {
        item.peer = with->world ? with->world[i] : i;
        if (item.peer >= 0 && item.peer != own)
            push(item);
    }
}

void hop_epochs_add(const struct hop_mpi_shim *mpi, enum hop_mpi_call call, const uintptr_t *arguments,
                    const struct hop_mpi_ranks *window, void (*push)(struct hop_item item))
{
    bool posts = call == CALL_MPI_Win_post, starts = call == CALL_MPI_Win_start, ends = call == CALL_MPI_Win_complete;
    struct hop_mpi_ranks *with = posts || starts ? mpi->group(arguments[0]) : take(window->id, !ends);
    if (posts)
        say(with, window, (struct hop_item){.kind = ITEM_SEND, .tag = POSTED}, push);
    else if (starts)
        say(with, window, (struct hop_item){.kind = ITEM_PROBED, .tag = POSTED}, push);
    else if (ends)
        say(with, window, (struct hop_item){.kind = ITEM_RECEIVE, .tag = POSTED}, push);
    if (ends)
        say(with, window, (struct hop_item){.kind = ITEM_SEND, .tag = COMPLETED}, push);
    else if (!posts && !starts)
        say(with, window, (struct hop_item){.kind = ITEM_RECEIVE, .tag = COMPLETED}, push);
    if (with && (posts || starts))
        keep(mpi, window->id, posts, with);
    else
        mpi->drop(with);
}
