/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Symmetric heap: blocks of it lie at the same offset on every PE, since all PEs ask for the same in the same order and
 * choose alike.
 *
 * Pages come when the heap reaches them for the first time; PEs agree then whether all of them have them.
 */
#include "shmem/extents.h"
#include "shmem/far.h"

#include <stdio.h>
#include <sys/mman.h>

#define HEAP_BYTES ((uint64_t)1 << 30)
#define BASE_BYTES ((size_t)1 << 30)  /* it begins at a multiple of it, so that offsets tell alignment */
#define PAGES_BYTES ((size_t)2 << 20) /* are made at once */
static struct {
    struct hop_shared memory;
    struct hop_extents extents;
    size_t committed;
} heap;

/* Of what was handed out; ends the program where it was not. */
static struct hop_extent taken_at(const void *address, const char *who)
{
    const struct hop_extent *extent =
        hop_extents_find(&heap.extents, (uintptr_t)address - hop_shmem.segments[HOP_SHMEM_HEAP].begin);
    if (!extent)
        hop_shmem_die(who, "nothing that is in use begins at %p\nwhat shmem_malloc and its kin gave, once", address);
    return *extent;
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
    hop_shmem_far_quiet(); /* who frees it has ended what was under way to it */
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
    size_t offset = hop_extents_take(&heap.extents, bytes, alignment);
    bool had = offset != SIZE_MAX && commit(offset + bytes), all;
    agree(who, (struct request){ALLOCATES, bytes, alignment, had}, &all);
    if (!all && offset != SIZE_MAX)
        hop_extents_give_back(&heap.extents, offset);
    return all ? (char *)hop_shmem.segments[HOP_SHMEM_HEAP].begin + offset : NULL;
}

static void release(const char *who, void *address)
{
    bool all;
    size_t offset = taken_at(address, who).offset;
    agree(who, (struct request){FREES, offset, 0, true}, &all);
    hop_extents_give_back(&heap.extents, offset);
}

/* ---- the interface ---- */

HOP_SHMEM_API(void *, malloc, (size_t size))
{
    return allocate(__func__, size, HOP_EXTENT_ALIGNMENT);
}

/* Any memory here is good for atomics and signals. */
HOP_SHMEM_API(void *, malloc_with_hints, (size_t size, long hints))
{
    (void)hints;
    return allocate(__func__, size, HOP_EXTENT_ALIGNMENT);
}

HOP_SHMEM_API(void *, calloc, (size_t count, size_t size))
{
    if (size && count > SIZE_MAX / size)
        return NULL;
    void *address = allocate(__func__, count * size, HOP_EXTENT_ALIGNMENT);
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
        return allocate(__func__, size, HOP_EXTENT_ALIGNMENT);
    if (size == 0) {
        release(__func__, ptr);
        return NULL;
    }
    size_t had = taken_at(ptr, __func__).bytes;
    bool all;
    if (size <= had) {
        agree(__func__, (struct request){SHRINKS, size, 0, true}, &all);
        return ptr;
    }
    void *moved = allocate(__func__, size, HOP_EXTENT_ALIGNMENT);
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
    bool moved = hop_shared_move(memory->memory, memory->size, room + before);
    if (before > 0)
        (void)munmap(room, before);
    if (before < BASE_BYTES)
        (void)munmap(room + before + memory->size, BASE_BYTES - before);
    if (moved)
        memory->memory = room + before;
    return moved;
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
    const struct hop_region *region = &hop_shmem.team->regions[hop_shmem.team->region_count - 1];
    *segment = (struct hop_shmem_segment){(uintptr_t)own, bytes, hop_shmem_parts(region)};
    if (!hop_extents_create(&heap.extents, bytes))
        hop_shmem_die("shmem_init", "out of memory");
}

void hop_shmem_heap_destroy(void)
{
    free(hop_shmem.segments[HOP_SHMEM_HEAP].here);
    hop_shmem.segments[HOP_SHMEM_HEAP] = (struct hop_shmem_segment){0};
    hop_extents_destroy(&heap.extents);
    memset(&heap, 0, sizeof heap);
}
