/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetric heap: blocks of it lie at the same offset on every PE, since all PEs ask for the same in the same order and
 * choose alike.
 *
 * What is free and what is taken is known outside of the heap, where a program that writes past its blocks does no harm to
 * it: two lists of extents by offset. The best fit is taken, and of several the first. Pages come when the heap reaches
 * them for the first time; PEs agree then whether all of them have them.
 */
#include "shmem/world.h"

#include <stdio.h>
#include <sys/mman.h>

#define HEAP_BYTES ((uint64_t)1 << 30)
#define BASE_BYTES ((size_t)1 << 30)  /* it begins at a multiple of it, so that offsets tell alignment */
#define PAGES_BYTES ((size_t)2 << 20) /* are made at once */
enum { ALIGNMENT = 64 };

struct extent {
    size_t offset, bytes;
};
struct extents {
    struct extent *at;
    uint32_t count, capacity;
};
static struct {
    struct hop_shared memory;
    struct extents taken, unused;
    size_t committed;
} heap;

/* ---- extents by offset ---- */

/* The first that does not begin before it. */
static uint32_t find(const struct extents *list, size_t offset)
{
    uint32_t low = 0, high = list->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list->at[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static void insert(struct extents *list, uint32_t place, struct extent extent)
{
    if (!hop_grow(&list->at, &list->capacity, list->count + 1, sizeof *list->at))
        hop_shmem_die("shmem_malloc", "out of memory");
    memmove(list->at + place + 1, list->at + place, (list->count - place) * sizeof *list->at);
    list->at[place] = extent;
    list->count++;
}

static void take_out(struct extents *list, uint32_t place)
{
    list->count--;
    memmove(list->at + place, list->at + place + 1, (list->count - place) * sizeof *list->at);
}

/* Joins what lies side by side. */
static void give_back(struct extent extent)
{
    struct extents *list = &heap.unused;
    uint32_t place = find(list, extent.offset);
    if (place < list->count && extent.offset + extent.bytes == list->at[place].offset) {
        extent.bytes += list->at[place].bytes;
        take_out(list, place);
    }
    if (place > 0 && list->at[place - 1].offset + list->at[place - 1].bytes == extent.offset)
        list->at[place - 1].bytes += extent.bytes;
    else if (extent.bytes > 0)
        insert(list, place, extent);
}

/* The heap begins at a multiple of every alignment that is given. */
static size_t padding(const struct extent *extent, size_t alignment)
{
    return (alignment - extent->offset % alignment) % alignment;
}

/* The offset, SIZE_MAX: there is no room. */
static size_t take(size_t bytes, size_t alignment)
{
    const struct extents *list = &heap.unused;
    uint32_t best = UINT32_MAX;
    for (uint32_t i = 0; i < list->count; i++) {
        size_t pad = padding(&list->at[i], alignment);
        if (list->at[i].bytes >= pad && list->at[i].bytes - pad >= bytes &&
            (best == UINT32_MAX || list->at[i].bytes < list->at[best].bytes))
            best = i;
    }
    if (best == UINT32_MAX)
        return SIZE_MAX;
    struct extent from = list->at[best], mine = {from.offset + padding(&from, alignment), bytes};
    take_out(&heap.unused, best);
    give_back((struct extent){from.offset, mine.offset - from.offset});
    give_back((struct extent){mine.offset + bytes, from.offset + from.bytes - mine.offset - bytes});
    insert(&heap.taken, find(&heap.taken, mine.offset), mine);
    return mine.offset;
}

/* Of what was handed out; ends the program where it was not. */
static uint32_t taken_at(const void *address, const char *who)
{
    size_t offset = (uintptr_t)address - hop_shmem.segments[HOP_SHMEM_HEAP].begin;
    uint32_t place = find(&heap.taken, offset);
    if (place == heap.taken.count || heap.taken.at[place].offset != offset)
        hop_shmem_die(who, "nothing that is in use begins at %p\nwhat shmem_malloc and its kin gave, once", address);
    return place;
}

/* ---- all PEs together ---- */

struct request {
    uint64_t what, bytes, alignment, had; /* what: by its place in `does`; had: all pages are there */
};
static const char *const does[] = {"allocates %llu bytes aligned to %llu", "frees the block at %llu of the heap",
                                   "shrinks a block to %llu bytes"};
enum { ALLOCATES, FREES, SHRINKS };

static void describe(const struct request *request, char *text, size_t size)
{
    (void)snprintf(text, size, does[request->what], (unsigned long long)request->bytes,
                   (unsigned long long)request->alignment);
}

static void agree(const char *who, struct request mine, bool *all)
{
    struct request *others = calloc(hop_shmem.pes, sizeof *others);
    if (!others)
        hop_shmem_die(who, "out of memory");
    (void)pthread_mutex_lock(&hop_shmem.turn);
    HOP_SHMEM_NEED(who, hop_team_gather(hop_shmem.team, &mine, others, sizeof mine, &diag_));
    (void)pthread_mutex_unlock(&hop_shmem.turn);
    *all = true;
    for (uint32_t pe = 0; pe < hop_shmem.pes; pe++) {
        if (memcmp(&others[pe], &mine, offsetof(struct request, had)) != 0) {
            char theirs[96], own[96];
            describe(&others[pe], theirs, sizeof theirs);
            describe(&mine, own, sizeof own);
            hop_shmem_die(who, "PE %u %s while PE %u %s\nall PEs allocate and free the same in the same order", pe,
                          theirs, hop_shmem.pe, own);
        }
        *all = *all && others[pe].had;
    }
    free(others);
}

static bool commit(size_t end)
{
    if (end <= heap.committed)
        return true;
    size_t to = (end + PAGES_BYTES - 1) / PAGES_BYTES * PAGES_BYTES;
    to = to < hop_shmem.segments[HOP_SHMEM_HEAP].bytes ? to : hop_shmem.segments[HOP_SHMEM_HEAP].bytes;
    if (!hop_shared_commit((char *)hop_shmem.segments[HOP_SHMEM_HEAP].begin + heap.committed, to - heap.committed))
        return false;
    heap.committed = to;
    return true;
}

static void *allocate(const char *who, size_t bytes, size_t alignment)
{
    if (!hop_shmem.pes)
        hop_shmem_die(who, "the library is not initialised\nshmem_init before");
    if (bytes == 0 || alignment > BASE_BYTES)
        return NULL;
    size_t whole = bytes > SIZE_MAX - ALIGNMENT ? bytes : (bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
    size_t offset = take(whole, alignment > ALIGNMENT ? alignment : ALIGNMENT);
    bool had = offset != SIZE_MAX && commit(offset + whole), all;
    agree(who, (struct request){ALLOCATES, bytes, alignment, had}, &all);
    if (!all && offset != SIZE_MAX) {
        uint32_t place = find(&heap.taken, offset);
        give_back(heap.taken.at[place]);
        take_out(&heap.taken, place);
    }
    return all ? (char *)hop_shmem.segments[HOP_SHMEM_HEAP].begin + offset : NULL;
}

static void release(const char *who, void *address)
{
    bool all;
    uint32_t place = taken_at(address, who);
    agree(who, (struct request){FREES, heap.taken.at[place].offset, 0, true}, &all);
    give_back(heap.taken.at[place]);
    take_out(&heap.taken, place);
}

/* ---- the interface ---- */

HOP_SHMEM_API(void *, malloc, (size_t size))
{
    return allocate(__func__, size, ALIGNMENT);
}

/* Any memory here is good for atomics and signals. */
HOP_SHMEM_API(void *, malloc_with_hints, (size_t size, long hints))
{
    (void)hints;
    return allocate(__func__, size, ALIGNMENT);
}

HOP_SHMEM_API(void *, calloc, (size_t count, size_t size))
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    void *address = allocate(__func__, count * size, ALIGNMENT);
    if (address)
        memset(address, 0, count * size);
    if (address)
        pshmem_barrier_all();
    return address;
}

HOP_SHMEM_API(void *, align, (size_t alignment, size_t size))
{
    if (alignment == 0 || (alignment & (alignment - 1)) != 0)
        return NULL;
    return allocate(__func__, size, alignment);
}

HOP_SHMEM_API(void, free, (void *ptr))
{
    if (ptr)
        release(__func__, ptr);
}

HOP_SHMEM_API(void *, realloc, (void *ptr, size_t size))
{
    if (!ptr)
        return allocate(__func__, size, ALIGNMENT);
    if (size == 0) {
        release(__func__, ptr);
        return NULL;
    }
    size_t had = heap.taken.at[taken_at(ptr, __func__)].bytes;
    bool all;
    if (size <= had) {
        agree(__func__, (struct request){SHRINKS, size, 0, true}, &all);
        return ptr;
    }
    void *moved = allocate(__func__, size, ALIGNMENT);
    if (!moved)
        return NULL;
    memcpy(moved, ptr, had);
    release(__func__, ptr);
    return moved;
}

void *shmalloc(size_t size)
{
    return pshmem_malloc(size);
}

void shfree(void *ptr)
{
    pshmem_free(ptr);
}

void *shrealloc(void *ptr, size_t size)
{
    return pshmem_realloc(ptr, size);
}

void *shmemalign(size_t alignment, size_t size)
{
    return pshmem_align(alignment, size);
}

/* ---- beginning and end ---- */

/* SHMEM_SYMMETRIC_SIZE: bytes, or as in 1.5G. */
static size_t wanted(void)
{
    const char *text = getenv("SHMEM_SYMMETRIC_SIZE"), *units = "KMGTkmgt", *unit;
    char *end;
    if (!text || !*text)
        return HEAP_BYTES;
    double bytes = hop_text_number(text, &end);
    if (*end && (unit = strchr(units, *end)) != NULL) {
        bytes *= (double)((uint64_t)1024 << 10 * ((unit - units) % 4));
        end++;
    }
    if (end == text || *end || !(bytes >= 1) || bytes > 0x1p46)
        hop_shmem_die("shmem_init", "SHMEM_SYMMETRIC_SIZE=%s is no size\nbytes, or as in 64M, 1.5G", text);
    return ((size_t)bytes + PAGES_BYTES - 1) / PAGES_BYTES * PAGES_BYTES;
}

/* Moves a mapping to an address that is a multiple of BASE_BYTES; false: there is no room. */
static bool align_base(struct hop_shared *memory)
{
    char *room = mmap(NULL, memory->size + BASE_BYTES, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (room == MAP_FAILED)
        return false;
    size_t before = (BASE_BYTES - (uintptr_t)room % BASE_BYTES) % BASE_BYTES;
    void *to = mremap(memory->memory, memory->size, memory->size, MREMAP_MAYMOVE | MREMAP_FIXED, room + before);
    if (before > 0)
        (void)munmap(room, before);
    if (before < BASE_BYTES)
        (void)munmap(room + before + memory->size, BASE_BYTES - before);
    if (to != MAP_FAILED)
        memory->memory = to;
    return to != MAP_FAILED;
}

void hop_shmem_heap_create(void)
{
    struct hop_shmem_segment *segment = &hop_shmem.segments[HOP_SHMEM_HEAP];
    size_t bytes = wanted();
    HOP_SHMEM_NEED("shmem_init", hop_shared_reserve(bytes, &heap.memory, &diag_));
    if (!align_base(&heap.memory))
        hop_shmem_die("shmem_init", "no room among the addresses for a heap of %zu bytes", bytes);
    char *own = heap.memory.memory;
    HOP_SHMEM_NEED("shmem_init", hop_region_add(hop_shmem.team, &heap.memory, own, bytes, &diag_));
    *segment = (struct hop_shmem_segment){(uintptr_t)own, bytes, calloc(hop_shmem.pes, sizeof *segment->here)};
    const struct hop_region *region = &hop_shmem.team->regions[hop_shmem.team->region_count - 1];
    for (uint32_t pe = 0; segment->here && pe < hop_shmem.pes; pe++)
        segment->here[pe] = hop_region_part(region, hop_shmem.team->local_of[pe]);
    give_back((struct extent){0, bytes});
}

void hop_shmem_heap_destroy(void)
{
    free(hop_shmem.segments[HOP_SHMEM_HEAP].here);
    hop_shmem.segments[HOP_SHMEM_HEAP] = (struct hop_shmem_segment){0};
    free(heap.taken.at);
    free(heap.unused.at);
    memset(&heap, 0, sizeof heap);
}
