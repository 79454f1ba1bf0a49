/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The counters. What a thread counts of its calls, it alone writes, without a lock; what goes to a rank, all add to. A
 * rank's cells come when it is first sent to, so that a job of many ranks of which each knows a few has few of them.
 */
#include "mpi/call_site.h"

#include <pthread.h>
#include <stdlib.h>

enum { FIRST_SITES = 64, MOST_SITES = 4096 }; /* of a thread, powers of two; half of them are used */

/* A site, or a binding's, of which the program's own is to be found. */
struct entry {
    struct hop_mpi_site site;
    bool binding;
    uint32_t slot; /* hop_site_behind_binding */
};

struct site_table {
    struct site_table *before; /* a smaller one, which a reader may still look at */
    uint32_t size, used;
    struct entry at[];
};

/* What one thread has counted; others only read it. A thread that ends leaves it to one that comes. */
struct of_thread {
    struct of_thread *next;
    bool taken;
    struct site_table *sites;
    uint64_t sizes[CLASS_COUNT][SIZE_BINS];
};

static struct hop_mpi_cell **peers; /* of each rank and, last, of other jobs; by class */
static int rank_count;
static struct of_thread *threads;
static pthread_key_t thread_key;
static __thread struct of_thread *mine __attribute__((tls_model("initial-exec")));

static void add(uint64_t *sum, uint64_t number)
{
    (void)__atomic_fetch_add(sum, number, __ATOMIC_RELAXED);
}

/* Where only this thread writes. */
static void add_mine(uint64_t *sum, uint64_t number)
{
    __atomic_store_n(sum, *sum + number, __ATOMIC_RELAXED);
}

static void leave(void *thread)
{
    mine = NULL;
    __atomic_store_n(&((struct of_thread *)thread)->taken, false, __ATOMIC_RELEASE);
}

bool hop_counts_begin(int ranks)
{
    peers = calloc((size_t)ranks + 1, sizeof *peers);
    rank_count = ranks;
    return peers != NULL && pthread_key_create(&thread_key, leave) == 0;
}

/* ---- by thread ---- */

static struct site_table *make_sites(uint32_t size)
{
    struct site_table *sites = calloc(1, sizeof *sites + size * sizeof *sites->at);
    if (sites)
        sites->size = size;
    return sites;
}

static struct of_thread *find_left(void)
{
    struct of_thread *thread = __atomic_load_n(&threads, __ATOMIC_ACQUIRE);
    while (thread && __atomic_exchange_n(&thread->taken, true, __ATOMIC_ACQUIRE))
        thread = thread->next;
    return thread;
}

static struct of_thread *make_thread(void)
{
    struct of_thread *thread = calloc(1, sizeof *thread);
    if (!thread || !(thread->sites = make_sites(FIRST_SITES))) {
        free(thread);
        return NULL;
    }
    thread->taken = true;
    thread->next = __atomic_load_n(&threads, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&threads, &thread->next, thread, true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
    return thread;
}

/* NULL: no memory. */
static struct of_thread *own(void)
{
    if (!mine) {
        mine = find_left();
        mine = mine ? mine : make_thread();
        (void)pthread_setspecific(thread_key, mine);
    }
    return mine;
}

/* ---- sites ---- */

static struct entry *find(struct site_table *sites, const void *from, uint32_t call)
{
    uint32_t at = (uint32_t)(((uintptr_t)from ^ call) * (uintptr_t)0x9e3779b97f4a7c15u >> 40);
    for (;; at++) {
        struct entry *entry = &sites->at[at & (sites->size - 1)];
        if (!entry->site.calls || (entry->site.returns_to == from && entry->site.call == call))
            return entry;
    }
}

/* Twice as large. */
static void grow(struct of_thread *thread)
{
    struct site_table *old = thread->sites, *sites = make_sites(2 * old->size);
    if (!sites)
        return;
    for (uint32_t i = 0; i < old->size; i++) {
        if (old->at[i].site.calls)
            *find(sites, old->at[i].site.returns_to, old->at[i].site.call) = old->at[i];
    }
    sites->used = old->used;
    sites->before = old;
    __atomic_store_n(&thread->sites, sites, __ATOMIC_RELEASE);
}

/* A table that is full has one more entry a function, for all other places together. NULL: no memory for that. */
static struct entry *entry_of(struct of_thread *thread, const void *from, uint32_t call)
{
    struct entry *entry = find(thread->sites, from, call);
    if (entry->site.calls)
        return entry;
    if (2 * thread->sites->used >= thread->sites->size && thread->sites->size < MOST_SITES)
        grow(thread);
    if (4 * thread->sites->used >= 3 * thread->sites->size)
        from = NULL;
    entry = find(thread->sites, from, call);
    if (!entry->site.calls && thread->sites->used + 1 >= thread->sites->size)
        return NULL;
    if (!entry->site.calls) {
        thread->sites->used++;
        entry->site.returns_to = from;
        entry->site.call = call;
        entry->binding = from && hop_site_is_binding(from);
    }
    return entry;
}

/* What stands where the program's address stood last is it if it has been met, and is looked at well if it has not. */
static struct entry *behind_binding(struct of_thread *thread, const struct hop_mpi_site *site, uint32_t slot,
                                    const void *frame)
{
    uint32_t found_slot = 0;
    const void *from = slot ? hop_site_at(frame, slot) : NULL;
    struct entry *entry = from ? find(thread->sites, from, site->call) : NULL;
    if (entry && entry->site.calls)
        return entry;
    struct hop_mpi_site binding = *site;
    from = hop_site_behind_binding(frame, &found_slot);
    entry = find(thread->sites, binding.returns_to, binding.call);
    entry->slot = entry->site.calls > 1 && entry->slot != found_slot ? 0 : found_slot;
    return entry_of(thread, from, binding.call);
}

void hop_counts_call(enum hop_mpi_call call, const struct hop_mpi_caller *caller, uint64_t bytes, uint64_t ticks)
{
    struct of_thread *thread = own();
    if (!thread)
        return;
    struct entry *entry = entry_of(thread, caller->returns_to, call);
    if (entry && entry->binding) {
        add_mine(&entry->site.calls, 1);
        entry = behind_binding(thread, &entry->site, entry->slot, caller->frame);
    }
    if (!entry)
        return;
    add_mine(&entry->site.bytes, bytes);
    add_mine(&entry->site.ticks, ticks);
    __atomic_store_n(&entry->site.calls, entry->site.calls + 1, __ATOMIC_RELEASE); /* what makes it one */
}

void hop_counts_sites(void (*take)(void *context, const struct hop_mpi_site *site), void *context)
{
    for (const struct of_thread *t = __atomic_load_n(&threads, __ATOMIC_ACQUIRE); t; t = t->next) {
        const struct site_table *sites = __atomic_load_n(&t->sites, __ATOMIC_ACQUIRE);
        for (uint32_t i = 0; i < sites->size; i++) {
            const struct hop_mpi_site *site = &sites->at[i].site;
            if (__atomic_load_n(&site->calls, __ATOMIC_ACQUIRE) && !sites->at[i].binding)
                take(context, &(struct hop_mpi_site){site->returns_to, site->call, site->calls,
                                                     __atomic_load_n(&site->bytes, __ATOMIC_RELAXED),
                                                     __atomic_load_n(&site->ticks, __ATOMIC_RELAXED)});
        }
    }
}

/* ---- messages ---- */

static struct hop_mpi_cell **place_of(int peer)
{
    return &peers[peer >= 0 && peer < rank_count ? peer : rank_count];
}

static struct hop_mpi_cell *cells_of(int peer)
{
    struct hop_mpi_cell **place = place_of(peer), *cells = __atomic_load_n(place, __ATOMIC_ACQUIRE), *made;
    if (cells || !(made = calloc(CLASS_COUNT, sizeof *made)))
        return cells;
    if (__atomic_compare_exchange_n(place, &cells, made, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
        return made;
    free(made); /* another thread was first */
    return cells;
}

void hop_counts_message(const struct hop_mpi_message *message, uint64_t times)
{
    struct hop_mpi_cell *cells = cells_of(message->peer);
    if (!cells)
        return;
    if (message->received) {
        add(&cells[message->class].to_device_bytes, times * message->bytes);
        add(&cells[message->class].to_device_messages, times);
        return;
    }
    add(&cells[message->class].bytes[message->memory], times * message->bytes);
    add(&cells[message->class].messages[message->memory], times);
    struct of_thread *thread = own();
    if (thread)
        add_mine(&thread->sizes[message->class][message->bytes ? 64 - __builtin_clzll(message->bytes) : 0], times);
}

const struct hop_mpi_cell *hop_counts_peer(int peer)
{
    return __atomic_load_n(place_of(peer), __ATOMIC_ACQUIRE);
}

void hop_counts_sizes(uint64_t sizes[CLASS_COUNT][SIZE_BINS])
{
    for (const struct of_thread *t = __atomic_load_n(&threads, __ATOMIC_ACQUIRE); t; t = t->next) {
        for (unsigned c = 0; c < CLASS_COUNT; c++) {
            for (unsigned b = 0; b < SIZE_BINS; b++)
                sizes[c][b] += __atomic_load_n(&t->sizes[c][b], __ATOMIC_RELAXED);
        }
    }
}
