/* SPDX-License-Identifier: BSD-3-Clause */
/* A table by what tells calls apart, under one lock; who finds another's place taken counts that one out first. */
#include "mpi/repeats.h"

#include "base/base.h"
#include "base/random.h"
#include "mpi/device_memory.h"

#include <pthread.h>
#include <string.h>
#include <time.h>

enum { FEW = 8, PLACES = 64, FEWEST = 4, WORDS = 12, TRIES = 100, ROOM = 16 << 20 /* bytes of messages, about */ };

/* All by which the messages of two calls may differ: which call; the communicator's number, since handles come again,
 * and so do types', whose bytes stand here; where the buffers are; the arguments, of buffers whether they are
 * MPI_IN_PLACE. */
struct key {
    uint64_t words[5 + WORDS];
};

static struct repeat {
    struct key key;
    struct hop_mpi_messages messages;
    uint64_t bytes, times;
} repeats[PLACES];
static uint32_t places = PLACES;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

void hop_repeats_begin(int ranks)
{
    uint64_t room = ROOM / (2 * sizeof(struct hop_mpi_message) * ((uint64_t)ranks + 1));
    places = room > PLACES ? PLACES : room < FEWEST ? FEWEST : (uint32_t)room;
}

/* Collectives that are a message to each of many ranks, and whose parts no array counts. */
static bool may_come_again(const struct hop_mpi_row *row)
{
    return row->kind >= KIND_BCAST && row->kind <= KIND_NEIGHBOUR_ALLTOALL && row->kind != KIND_GATHER &&
           row->kind != KIND_SCAN && strlen(row->roles) <= WORDS && !strpbrk(row->roles, "vkTU");
}

static uint64_t memory_of(const uintptr_t *buffer)
{
    return buffer ? (uint64_t)hop_mpi_memory_of((const void *)*buffer) : 0;
}

/* A type of which there is nothing may be none at all, and an MPI ends who asks of that. */
static uint64_t bytes_of(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row, const uintptr_t *arguments,
                         char type, char count)
{
    const uintptr_t *what = hop_role(row, arguments, type), *items = hop_role(row, arguments, count);
    bool some = what && (row->large ? (int64_t)*items : (int)*items) > 0;
    return some ? (uint64_t)mpi->type_size(*what) : 0;
}

static struct key key_of(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row, const uintptr_t *arguments,
                         uint64_t comm)
{
    const uintptr_t *from = hop_role(row, arguments, 's');
    bool in_place = from && *from == mpi->in_place, scatters = row->kind == KIND_SCATTER;
    struct key key = {{(uintptr_t)row, comm,
                       in_place && hop_has_role(row, 'u') ? 0 : bytes_of(mpi, row, arguments, 't', 'n'),
                       scatters ? 0 : bytes_of(mpi, row, arguments, 'u', 'm'),
                       memory_of(hop_role(row, arguments, 's')) | memory_of(hop_role(row, arguments, 'r')) << 1}};
    for (size_t i = 0; row->roles[i]; i++) {
        char role = row->roles[i];
        key.words[5 + i] = role == 's' || role == 'r' ? arguments[i] == mpi->in_place : role == 'q' ? 0 : arguments[i];
    }
    return key;
}

static struct repeat *place_of(const struct key *key)
{
    uint64_t hash = 0;
    for (size_t i = 0; i < HOP_COUNT(key->words); i++)
        hash = (hash ^ key->words[i]) * HOP_MIX_STEP;
    return &repeats[hop_mix(hash) % places];
}

/* What it stands for becomes counts. Under the lock. */
static void count_out(struct repeat *repeat)
{
    for (uint32_t i = 0; i < repeat->messages.count && repeat->times > 0; i++)
        hop_counts_message(&repeat->messages.items[i], repeat->times);
    repeat->times = 0;
}

static void count(void *context, const struct hop_mpi_message *message)
{
    (void)context;
    hop_counts_message(message, 1);
}

uint64_t hop_repeats_count(const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row, const uintptr_t *arguments)
{
    const struct hop_mpi_ranks *ranks = may_come_again(row) ? mpi->ranks(*hop_role(row, arguments, 'c')) : NULL;
    const uintptr_t *root = hop_role(row, arguments, 'd');
    if (!ranks || ranks->size <= FEW || ranks->inter || (root && (int)*root != ranks->own))
        return hop_mpi_decompose(mpi, row, arguments, count, NULL);
    struct key key = key_of(mpi, row, arguments, ranks->id);
    struct repeat *repeat = place_of(&key);
    (void)pthread_mutex_lock(&guard);
    if (memcmp(&repeat->key, &key, sizeof key) != 0) {
        count_out(repeat);
        repeat->messages.count = 0;
        repeat->key = key;
        repeat->bytes = hop_mpi_decompose(mpi, row, arguments, hop_mpi_keep, &repeat->messages);
    }
    repeat->times++;
    uint64_t bytes = repeat->bytes;
    (void)pthread_mutex_unlock(&guard);
    return bytes;
}

/* A signal's handler that ends the program may stand above the thread that has the lock: then this does without. */
void hop_repeats_end(void)
{
    for (int i = 0; i < TRIES && pthread_mutex_trylock(&guard) != 0; i++) {
        if (i == TRIES - 1)
            return;
        (void)nanosleep(&(struct timespec){0, 1000000}, NULL);
    }
    for (uint32_t i = 0; i < PLACES; i++)
        count_out(&repeats[i]);
    (void)pthread_mutex_unlock(&guard);
}
