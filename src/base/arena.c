/* SPDX-License-Identifier: BSD-3-Clause */
/* The arena and growing arrays. */
#include "base/base.h"

#include <stdalign.h>

struct hop_arena_block {
    struct hop_arena_block *next;
    size_t used, size;
    alignas(max_align_t) unsigned char bytes[];
};

/* Blocks double from the first size to the last, so that many small pieces are few blocks. */
enum { BLOCK_FIRST = 16 * 1024, BLOCK_LAST = 1024 * 1024 };

static size_t next_block_size(const struct hop_arena_block *last)
{
    size_t size = last ? 2 * (last->size + sizeof *last) : BLOCK_FIRST;
    return (size < BLOCK_LAST ? size : BLOCK_LAST) - sizeof *last;
}

static size_t aligned(const struct hop_arena_block *block, size_t align)
{
    return (block->used + align - 1) & ~(align - 1);
}

static void *take(struct hop_arena *arena, size_t size, size_t align)
{
    if (arena->failed || size > SIZE_MAX / 2) {
        arena->failed = true;
        return NULL;
    }
    struct hop_arena_block *block = arena->first;
    if (!block || block->size < size || aligned(block, align) > block->size - size) {
        size_t usual = next_block_size(block), room = size > usual ? size : usual;
        struct hop_arena_block *fresh = calloc(1, sizeof *fresh + room);
        if (!fresh) {
            arena->failed = true;
            return NULL;
        }
        fresh->size = room;
        if (block && size > usual / 2) {
            /* A large piece gets its own block behind the first, which keeps serving small ones. */
            fresh->next = block->next;
            block->next = fresh;
        } else {
            fresh->next = block;
            arena->first = fresh;
        }
        block = fresh;
    }
    block->used = aligned(block, align);
    void *piece = block->bytes + block->used;
    block->used += size;
    return piece;
}

void *hop_arena_alloc(struct hop_arena *arena, size_t size)
{
    return take(arena, size, alignof(max_align_t));
}

char *hop_arena_string(struct hop_arena *arena, const char *text, size_t length)
{
    char *copy = take(arena, length + 1, 1);
    if (copy)
        memcpy(copy, text, length);
    return copy;
}

uint32_t *hop_arena_numbers(struct hop_arena *arena, const uint32_t *numbers, size_t count)
{
    uint32_t *copy = count <= SIZE_MAX / sizeof *copy ? take(arena, count * sizeof *copy, alignof(uint32_t)) : NULL;
    if (copy && count)
        memcpy(copy, numbers, count * sizeof *copy);
    return copy;
}

void *hop_arena_copy(struct hop_arena *arena, const void *data, size_t size)
{
    void *copy = hop_arena_alloc(arena, size);
    if (copy && size)
        memcpy(copy, data, size);
    return copy;
}

static void free_blocks(struct hop_arena *arena)
{
    for (struct hop_arena_block *block = arena->first, *next; block; block = next) {
        next = block->next;
        free(block);
    }
    arena->first = NULL;
}

void hop_arena_reset(struct hop_arena *arena)
{
    struct hop_arena_block *kept = arena->first;
    if (!kept)
        return;
    arena->first = kept->next;
    free_blocks(arena);
    memset(kept->bytes, 0, kept->used);
    kept->used = 0;
    kept->next = NULL;
    arena->first = kept;
}

void hop_arena_finish(struct hop_arena *arena)
{
    free_blocks(arena);
    for (struct hop_arena_array *array = arena->arrays, *next; array; array = next) {
        next = array->next;
        free(array);
    }
    *arena = (struct hop_arena){0};
}

bool hop_arena_grow(struct hop_arena *arena, void *array, size_t need, size_t size)
{
    void *items;
    memcpy(&items, array, sizeof items);
    struct hop_arena_array *old = items ? (struct hop_arena_array *)items - 1 : NULL;
    size_t had = old ? old->capacity : 0, room = had ? had : 8;
    if (need <= had)
        return true;
    while (room < need && room <= SIZE_MAX / 4)
        room *= 2;
    bool fits = room >= need && room <= (SIZE_MAX / 4 - sizeof *old) / size;
    struct hop_arena_array *grown = fits && !arena->failed ? realloc(old, sizeof *old + room * size) : NULL;
    if (!grown) {
        arena->failed = true;
        return false;
    }
    if (!old) {
        grown->next = arena->arrays;
        grown->before = NULL;
    }
    *(grown->before ? &grown->before->next : &arena->arrays) = grown;
    if (grown->next)
        grown->next->before = grown;
    grown->capacity = room;
    items = grown + 1;
    memset((unsigned char *)items + had * size, 0, (room - had) * size);
    memcpy(array, &items, sizeof items);
    return true;
}

bool hop_grow(void *array, uint32_t *capacity, uint32_t need, size_t size)
{
    if (need <= *capacity)
        return true;
    if (need > UINT32_MAX / 2)
        return false;
    uint32_t room = *capacity ? *capacity : 8;
    while (room < need)
        room *= 2;
    void *old, *grown;
    memcpy(&old, array, sizeof old);
    grown = realloc(old, (size_t)room * size);
    if (!grown)
        return false;
    memcpy(array, &grown, sizeof grown);
    *capacity = room;
    return true;
}
