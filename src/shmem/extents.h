/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Extents: what of a heap is taken and what is free, by offset, kept outside of it, where a program that writes past its
 * blocks does no harm. The best fit is taken, and of several the first, so that all who ask for the same in the same order
 * get the same.
 */
#ifndef HOP_SHMEM_EXTENTS_H
#define HOP_SHMEM_EXTENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { HOP_EXTENT_ALIGNMENT = 64 }; /* of every offset and size */

struct hop_extent {
    size_t offset, bytes;
};
struct hop_extents {
    struct hop_extent *taken, *unused; /* ascending */
    uint32_t taken_count, taken_capacity, unused_count, unused_capacity;
};

/* A heap of so many bytes; false: out of memory. */
bool hop_extents_create(struct hop_extents *extents, size_t bytes);
void hop_extents_destroy(struct hop_extents *extents);
/* The offset of a block, whose size is rounded up; SIZE_MAX: there is no room. alignment: a power of two. */
size_t hop_extents_take(struct hop_extents *extents, size_t bytes, size_t alignment);
/* The block that begins there; NULL: none does. */
const struct hop_extent *hop_extents_find(const struct hop_extents *extents, size_t offset);
/* One that is there. */
void hop_extents_give_back(struct hop_extents *extents, size_t offset);

#endif
