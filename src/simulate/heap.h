/* SPDX-License-Identifier: BSD-3-Clause */
/* A binary heap of operations by a key, equal keys by operation; the caller owns the array and its count. */
#ifndef HOP_SIMULATE_HEAP_H
#define HOP_SIMULATE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

struct hop_entry {
    double key;
    uint32_t op;
    uint32_t what; /* the caller's */
};

static inline bool hop_entry_before(const struct hop_entry *a, const struct hop_entry *b)
{
    return a->key != b->key ? a->key < b->key : a->op < b->op;
}

static inline void hop_heap_push(struct hop_entry *heap, uint32_t *count, struct hop_entry entry)
{
    uint32_t i = (*count)++;
    for (; i > 0 && hop_entry_before(&entry, &heap[(i - 1) / 2]); i = (i - 1) / 2)
        heap[i] = heap[(i - 1) / 2];
    heap[i] = entry;
}

static inline struct hop_entry hop_heap_pop(struct hop_entry *heap, uint32_t *count)
{
    struct hop_entry top = heap[0], last = heap[--*count];
    uint32_t i = 0;
    for (uint32_t child = 1; child < *count; child = 2 * i + 1) {
        if (child + 1 < *count && hop_entry_before(&heap[child + 1], &heap[child]))
            child++;
        if (!hop_entry_before(&heap[child], &last))
            break;
        heap[i] = heap[child];
        i = child;
    }
    heap[i] = last;
    return top;
}

#endif
