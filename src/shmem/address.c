/* SPDX-License-Identifier: BSD-3-Clause */
/* Address: which memory is symmetric, and where another PE's part of it is. */
#include "shmem/spaces.h"

const struct hop_shmem_segment *hop_shmem_segment_of(const void *address, size_t bytes)
{
    for (int s = 0; s < HOP_SHMEM_SEGMENTS; s++) {
        const struct hop_shmem_segment *segment = &hop_shmem.segments[s];
        uintptr_t offset = (uintptr_t)address - segment->begin;
        if (offset < segment->bytes && bytes <= segment->bytes - offset)
            return segment;
    }
    return NULL;
}

char **hop_shmem_parts(const struct hop_region *region)
{
    const struct hop_team *team = hop_shmem.team;
    char **parts = calloc(team->size, sizeof *parts);
    if (!parts)
        hop_shmem_die("shmem_init", "out of memory");
    for (uint32_t local = 0; local < team->local_size; local++)
        parts[team->rank_of[local]] = hop_region_part(region, local);
    return parts;
}

char *hop_shmem_seek(const void *address, size_t bytes, int pe, const char *who)
{
    if (!hop_shmem.pes)
        hop_shmem_die(who, "the library is not initialised\nshmem_init before, and shmem_finalize after it");
    if ((uint32_t)pe >= hop_shmem.pes)
        hop_shmem_die(who, "there is no PE %d\n0 to %u", pe, hop_shmem.pes - 1);
    const struct hop_shmem_segment *segment = hop_shmem_segment_of(address, bytes);
    if (!segment && (bytes == 0 || (hop_shmem.spaces > 0 && hop_shmem_space_of(address))))
        return NULL;
    if (!segment)
        hop_shmem_die(who,
                      "%zu bytes at %p are not symmetric\nmemory of shmem_malloc, or global and static variables of the "
                      "program itself",
                      bytes, address);
    return segment->here[pe] ? segment->here[pe] + ((uintptr_t)address - segment->begin) : NULL;
}

static char *find(const void *address, int pe)
{
    const struct hop_shmem_segment *segment = hop_shmem_segment_of(address, 1);
    bool there = segment && (uint32_t)pe < hop_shmem.pes && segment->here[pe];
    return there ? segment->here[pe] + ((uintptr_t)address - segment->begin) : NULL;
}

HOP_SHMEM_API(void *, ptr, (const void *dest, int pe))
{
    return pe == (int)hop_shmem.pe && hop_shmem_segment_of(dest, 1) ? (void *)(uintptr_t)dest : find(dest, pe);
}

HOP_SHMEM_API(int, addr_accessible, (const void *addr, int pe))
{
    return (uint32_t)pe < hop_shmem.pes && hop_shmem_segment_of(addr, 1) != NULL;
}

HOP_SHMEM_API(int, pe_accessible, (int pe))
{
    return (uint32_t)pe < hop_shmem.pes;
}
