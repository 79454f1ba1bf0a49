/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory: BUF_LIST, which holds what others may put to, and mappings of sources that nobody registered.
 *
 * Both have their pages in the page tables. The list is scanned from its first entry on. A mapping is found again by
 * the next put from there; where all places are taken, the one that was used longest ago goes, unless a put still
 * reads it. A mapping is no destination: nobody asked to be written to.
 *
 * What moves bytes of a GPU is its device (device/device.h), one for the program's threads and one for the card's.
 */
#include <inttypes.h>
#include <sys/mman.h>
#include <unistd.h>

#include "apenet/apenet.h"

enum { LOOKED_AT = 4096 }; /* pages at a time */

enum hop_status hop_apenet_memory_create(struct hop_apenet_memory *memory, uint32_t buffers, uint32_t mappings,
                                         struct hop_diag *diag)
{
    (void)pthread_mutex_init(&memory->lock, NULL);
    memory->buffer_limit = buffers;
    memory->mapping_limit = mappings;
    memory->host.shift = HOP_APENET_HOST_SHIFT;
    memory->buffers = calloc(buffers, sizeof *memory->buffers);
    memory->mappings = calloc(mappings, sizeof *memory->mappings);
    return memory->buffers && memory->mappings ? HOP_OK : hop_fail_memory(diag);
}

void hop_apenet_memory_destroy(struct hop_apenet_memory *memory)
{
    for (int g = 0; g < memory->gpu_count; g++) {
        struct hop_apenet_gpu *gpu = &memory->gpus[g];
        gpu->ops->close(gpu->served);
        gpu->ops->close(gpu->own);
        (void)pthread_mutex_destroy(&gpu->lock);
        hop_apenet_pages_finish(&gpu->pages);
    }
    hop_apenet_pages_finish(&memory->host);
    free(memory->buffers);
    free(memory->mappings);
    (void)pthread_mutex_destroy(&memory->lock);
}

/* ---- what may be mapped ---- */

/* The kernel says whether each page is there. */
static bool is_mapped(uint64_t address, uint64_t bytes)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE), at = address & ~(page - 1), end = address + bytes;
    unsigned char states[LOOKED_AT];
    for (uint64_t step; at < end; at += step) {
        step = end - at < LOOKED_AT * page ? end - at : LOOKED_AT * page;
        if (mincore((void *)(uintptr_t)at, step, states) != 0)
            return false;
    }
    return true;
}

static enum hop_status check(const struct hop_apenet_memory *memory, uint64_t address, uint64_t bytes, int place,
                             struct hop_diag *diag)
{
    if (place < HOP_APENET_HOST || place >= memory->gpu_count)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "there is no place %d of memory\nHOP_APENET_HOST, or what hop_apenet_gpu gave", place);
    if (bytes == 0 || address + bytes - 1 < address)
        return hop_fail(diag, HOP_ERR_INVALID, "%" PRIu64 " bytes at %#" PRIx64 " are no memory\n1 byte or more", bytes,
                        address);
    if (place == HOP_APENET_HOST && !is_mapped(address, bytes))
        return hop_fail(diag, HOP_ERR_INVALID,
                        "%" PRIu64 " bytes at %#" PRIx64
                        " are not all memory of the host\nmemory that is mapped, or the place of the GPU that has it",
                        bytes, address);
    return HOP_OK;
}

static struct hop_apenet_pages *pages_of(struct hop_apenet_memory *memory, int place)
{
    return place == HOP_APENET_HOST ? &memory->host : &memory->gpus[place].pages;
}

/* ---- BUF_LIST ---- */

static uint32_t entry_at(const struct hop_apenet_memory *memory, uint64_t address)
{
    uint32_t b = 0;
    while (b < memory->buffer_count && memory->buffers[b].begin != address)
        b++;
    return b;
}

static enum hop_status add_entry(struct hop_apenet_memory *memory, const struct hop_apenet_buffer *buffer,
                                 struct hop_diag *diag)
{
    if (entry_at(memory, buffer->begin) < memory->buffer_count)
        return hop_fail(diag, HOP_ERR_INVALID, "a buffer is registered at %#" PRIx64 " already\nanother address",
                        buffer->begin);
    if (memory->buffer_count == memory->buffer_limit)
        return hop_fail(diag, HOP_ERR_LIMIT, "the card's list of buffers is full: it has %u\nfewer or larger buffers",
                        memory->buffer_limit);
    if (!hop_apenet_pages_add(pages_of(memory, buffer->place), buffer->begin, buffer->bytes))
        return hop_fail_memory(diag);
    memory->buffers[memory->buffer_count] = *buffer;
    memory->buffers[memory->buffer_count++].serial = ++memory->serials;
    return HOP_OK;
}

enum hop_status hop_apenet_memory_register(struct hop_apenet_memory *memory, uint64_t address, uint64_t bytes,
                                           int place, uint32_t process, struct hop_diag *diag)
{
    const struct hop_apenet_buffer buffer = {.begin = address, .bytes = bytes, .process = process, .place = place};
    HOP_CHECK(check(memory, address, bytes, place, diag));
    (void)pthread_mutex_lock(&memory->lock);
    enum hop_status status = add_entry(memory, &buffer, diag);
    (void)pthread_mutex_unlock(&memory->lock);
    return status;
}

static void remove_entry(struct hop_apenet_memory *memory, uint32_t b)
{
    hop_apenet_pages_remove(pages_of(memory, memory->buffers[b].place), memory->buffers[b].begin,
                            memory->buffers[b].bytes);
    memory->buffer_count--;
    memmove(&memory->buffers[b], &memory->buffers[b + 1], (memory->buffer_count - b) * sizeof *memory->buffers);
}

enum hop_status hop_apenet_memory_unregister(struct hop_apenet_memory *memory, uint64_t address, struct hop_diag *diag)
{
    (void)pthread_mutex_lock(&memory->lock);
    uint32_t b = entry_at(memory, address);
    bool there = b < memory->buffer_count;
    if (there)
        remove_entry(memory, b);
    (void)pthread_mutex_unlock(&memory->lock);
    return there
               ? HOP_OK
               : hop_fail(diag, HOP_ERR_INVALID,
                          "no buffer that is registered begins at %#" PRIx64 "\nwhat hop_apenet_register got", address);
}

void hop_apenet_memory_empty(struct hop_apenet_memory *memory)
{
    (void)pthread_mutex_lock(&memory->lock);
    while (memory->buffer_count > 0)
        remove_entry(memory, memory->buffer_count - 1);
    (void)pthread_mutex_unlock(&memory->lock);
}

/* ---- sources ---- */

static bool holds(uint64_t begin, uint64_t size, uint64_t address, uint64_t bytes)
{
    return address >= begin && bytes <= size && address - begin <= size - bytes;
}

static const struct hop_apenet_buffer *registered(const struct hop_apenet_memory *memory, uint64_t address,
                                                  uint64_t bytes, int place)
{
    for (uint32_t b = 0; b < memory->buffer_count; b++) {
        const struct hop_apenet_buffer *buffer = &memory->buffers[b];
        if (buffer->place == place && holds(buffer->begin, buffer->bytes, address, bytes))
            return buffer;
    }
    return NULL;
}

/* That has it, or a free one, or the one that was used longest ago; the limit: puts read all of them. */
static uint32_t find_mapping(const struct hop_apenet_memory *memory, uint64_t address, uint64_t bytes, int place)
{
    uint32_t best = memory->mapping_limit;
    for (uint32_t m = 0; m < memory->mapping_limit; m++) {
        const struct hop_apenet_mapping *mapping = &memory->mappings[m];
        if (mapping->used > 0 && mapping->place == place && holds(mapping->begin, mapping->bytes, address, bytes))
            return m;
        if (mapping->puts == 0 && (best == memory->mapping_limit || mapping->used < memory->mappings[best].used))
            best = m;
    }
    return best;
}

static void evict(struct hop_apenet_memory *memory, struct hop_apenet_mapping *mapping)
{
    if (mapping->used == 0)
        return;
    hop_apenet_pages_remove(pages_of(memory, mapping->place), mapping->begin, mapping->bytes);
    mapping->used = 0;
    memory->evicted++;
}

static enum hop_status map(struct hop_apenet_memory *memory, uint64_t address, uint64_t bytes, int place, uint32_t *at,
                           struct hop_diag *diag)
{
    *at = find_mapping(memory, address, bytes, place);
    if (*at == memory->mapping_limit)
        return HOP_ERR_LIMIT;
    struct hop_apenet_mapping *mapping = &memory->mappings[*at];
    if (mapping->used > 0 && mapping->place == place && holds(mapping->begin, mapping->bytes, address, bytes)) {
        memory->found++;
    } else {
        HOP_CHECK(check(memory, address, bytes, place, diag));
        evict(memory, mapping);
        if (!hop_apenet_pages_add(pages_of(memory, place), address, bytes))
            return hop_fail_memory(diag);
        *mapping = (struct hop_apenet_mapping){.begin = address, .bytes = bytes, .place = place};
        memory->made++;
    }
    mapping->used = ++memory->puts;
    mapping->puts++;
    return HOP_OK;
}

enum hop_status hop_apenet_memory_take(struct hop_apenet_memory *memory, uint64_t address, uint64_t bytes, int place,
                                       struct hop_apenet_source *source, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    *source = (struct hop_apenet_source){.mapping = memory->mapping_limit};
    if (bytes == 0)
        return HOP_OK;
    (void)pthread_mutex_lock(&memory->lock);
    const struct hop_apenet_buffer *buffer = registered(memory, address, bytes, place);
    if (buffer)
        source->serial = buffer->serial;
    else
        status = map(memory, address, bytes, place, &source->mapping, diag);
    (void)pthread_mutex_unlock(&memory->lock);
    return status;
}

void hop_apenet_memory_release(struct hop_apenet_memory *memory, const struct hop_apenet_source *source)
{
    (void)pthread_mutex_lock(&memory->lock);
    if (!source->serial && source->mapping < memory->mapping_limit)
        memory->mappings[source->mapping].puts--;
    (void)pthread_mutex_unlock(&memory->lock);
}

/* ---- bytes ---- */

/* One of the two is the card's own memory. */
static bool copy(struct hop_apenet_memory *memory, int place, void *to, const void *from, uint64_t bytes)
{
    const struct hop_device_copy work = {.to = to, .from = from, .bytes = bytes, .way = HOP_NO_WAY};
    if (place != HOP_APENET_HOST)
        return memory->gpus[place].ops->copy(memory->gpus[place].served, HOP_STREAM_NOW, &work, NULL) == HOP_OK;
    memcpy(to, from, bytes);
    return true;
}

/* Page by page; with the lock held. */
static enum hop_apenet_error move(struct hop_apenet_memory *memory, int place, uint64_t address, uint64_t bytes,
                                  char *own, bool writes)
{
    struct hop_apenet_pages *pages = pages_of(memory, place);
    for (uint64_t size = (uint64_t)1 << pages->shift, step; bytes > 0; bytes -= step, address += step, own += step) {
        char *physical = hop_apenet_pages_find(pages, address);
        step = size - (address & (size - 1)) < bytes ? size - (address & (size - 1)) : bytes;
        memory->looked_up++;
        if (!physical)
            return HOP_APENET_TORN_DOWN;
        if (!copy(memory, place, writes ? physical : own, writes ? own : physical, step))
            return HOP_APENET_UNREADABLE;
    }
    return HOP_APENET_FINE;
}

static bool is_registered_still(const struct hop_apenet_memory *memory, uint64_t serial)
{
    for (uint32_t b = 0; b < memory->buffer_count; b++) {
        if (memory->buffers[b].serial == serial)
            return true;
    }
    return false;
}

enum hop_apenet_error hop_apenet_memory_read(struct hop_apenet_memory *memory, const struct hop_apenet_source *source,
                                             int place, uint64_t address, uint64_t bytes, void *to)
{
    (void)pthread_mutex_lock(&memory->lock);
    enum hop_apenet_error error = source->serial && !is_registered_still(memory, source->serial)
                                      ? HOP_APENET_TORN_DOWN
                                      : move(memory, place, address, bytes, to, false);
    (void)pthread_mutex_unlock(&memory->lock);
    return error;
}

/* The first entry that has all of it; else the error of one that has its beginning. */
static enum hop_apenet_error validate(struct hop_apenet_memory *memory, uint32_t process, uint64_t address,
                                      uint64_t bytes, int *place)
{
    enum hop_apenet_error error = HOP_APENET_UNREGISTERED;
    for (uint32_t b = 0; b < memory->buffer_count; b++) {
        const struct hop_apenet_buffer *buffer = &memory->buffers[b];
        memory->scanned++;
        if (!holds(buffer->begin, buffer->bytes, address, 1))
            continue;
        *place = buffer->place;
        if (buffer->process == process && holds(buffer->begin, buffer->bytes, address, bytes))
            return HOP_APENET_FINE;
        error = buffer->process == process ? HOP_APENET_OUT_OF_BOUNDS : HOP_APENET_WRONG_PROCESS;
    }
    return error;
}

enum hop_apenet_error hop_apenet_memory_write(struct hop_apenet_memory *memory, uint32_t process, uint64_t message,
                                              uint64_t total, uint64_t address, uint64_t bytes, const void *from)
{
    int place = HOP_APENET_HOST;
    (void)pthread_mutex_lock(&memory->lock);
    enum hop_apenet_error error = validate(memory, process, message, total, &place);
    if (error == HOP_APENET_FINE)
        error = holds(message, total, address, bytes)
                    ? move(memory, place, address, bytes, (char *)(uintptr_t)from, true)
                    : HOP_APENET_OUT_OF_BOUNDS;
    (void)pthread_mutex_unlock(&memory->lock);
    return error;
}
