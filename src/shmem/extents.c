/* SPDX-License-Identifier: BSD-3-Clause */
/* Extents of a heap: see extents.h. */
#include "shmem/extents.h"

#include "base/base.h"

/* The first that does not begin before it. */
static uint32_t place_of(const struct hop_extent *list, uint32_t count, size_t offset)
{
    uint32_t low = 0, high = count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (list[middle].offset < offset)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* There is room for one more: see make_room. */
static void insert(struct hop_extent *list, uint32_t *count, struct hop_extent extent)
{
    uint32_t place = place_of(list, *count, extent.offset);
    memmove(list + place + 1, list + place, (*count - place) * sizeof *list);
    list[place] = extent;
    ++*count;
}

static void take_out(struct hop_extent *list, uint32_t *count, uint32_t place)
{
    --*count;
    memmove(list + place, list + place + 1, (*count - place) * sizeof *list);
}

/* Joins what lies side by side. */
static void add_unused(struct hop_extents *e, struct hop_extent extent)
{
    uint32_t place = place_of(e->unused, e->unused_count, extent.offset);
    if (place < e->unused_count && extent.offset + extent.bytes == e->unused[place].offset) {
        extent.bytes += e->unused[place].bytes;
        take_out(e->unused, &e->unused_count, place);
    }
    if (place > 0 && e->unused[place - 1].offset + e->unused[place - 1].bytes == extent.offset)
        e->unused[place - 1].bytes += extent.bytes;
    else if (extent.bytes > 0)
        insert(e->unused, &e->unused_count, extent);
}

/* For what one call adds at most: a block taken out of the middle leaves two free ones and itself. */
static bool make_room(struct hop_extents *e)
{
    return hop_grow(&e->taken, &e->taken_capacity, e->taken_count + 1, sizeof *e->taken) &&
           hop_grow(&e->unused, &e->unused_capacity, e->unused_count + e->taken_count + 2, sizeof *e->unused);
}

bool hop_extents_create(struct hop_extents *extents, size_t bytes)
{
    *extents = (struct hop_extents){0};
    if (!make_room(extents))
        return false;
    add_unused(extents, (struct hop_extent){0, bytes});
    return true;
}

void hop_extents_destroy(struct hop_extents *extents)
{
    free(extents->taken);
    free(extents->unused);
    *extents = (struct hop_extents){0};
}

/* The heap begins at a multiple of every alignment that is given. */
static size_t padding(const struct hop_extent *extent, size_t alignment)
{
    return (alignment - extent->offset % alignment) % alignment;
}

size_t hop_extents_take(struct hop_extents *extents, size_t bytes, size_t alignment)
{
    uint32_t best = UINT32_MAX;
    if (bytes > SIZE_MAX - HOP_EXTENT_ALIGNMENT || !make_room(extents))
        return SIZE_MAX;
    bytes = (bytes + HOP_EXTENT_ALIGNMENT - 1) / HOP_EXTENT_ALIGNMENT * HOP_EXTENT_ALIGNMENT;
    alignment = alignment > HOP_EXTENT_ALIGNMENT ? alignment : HOP_EXTENT_ALIGNMENT;
    for (uint32_t i = 0; i < extents->unused_count; i++) {
        const struct hop_extent *free_one = &extents->unused[i];
        size_t pad = padding(free_one, alignment);
        if (free_one->bytes >= pad && free_one->bytes - pad >= bytes &&
            (best == UINT32_MAX || free_one->bytes < extents->unused[best].bytes))
            best = i;
    }
    if (best == UINT32_MAX)
        return SIZE_MAX;
    struct hop_extent from = extents->unused[best], mine = {from.offset + padding(&from, alignment), bytes};
    take_out(extents->unused, &extents->unused_count, best);
    add_unused(extents, (struct hop_extent){from.offset, mine.offset - from.offset});
    add_unused(extents, (struct hop_extent){mine.offset + bytes, from.offset + from.bytes - mine.offset - bytes});
    insert(extents->taken, &extents->taken_count, mine);
    return mine.offset;
}

const struct hop_extent *hop_extents_find(const struct hop_extents *extents, size_t offset)
{
    uint32_t place = place_of(extents->taken, extents->taken_count, offset);
    return place < extents->taken_count && extents->taken[place].offset == offset ? &extents->taken[place] : NULL;
}

void hop_extents_give_back(struct hop_extents *extents, size_t offset)
{
    uint32_t place = place_of(extents->taken, extents->taken_count, offset);
    struct hop_extent extent = extents->taken[place];
    take_out(extents->taken, &extents->taken_count, place);
    add_unused(extents, extent);
}
