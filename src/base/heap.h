/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Binary and wider heaps over the caller's array, the first one in front.
 *
 * HOP_HEAP(name, width, context, element, before, put) makes two functions for one kind of element:
 *
 *     name_up(c, heap, at, e)            e, which belongs at `at` or nearer to the front, finds its place
 *     name_down(c, heap, count, at, e)   e, which belongs at `at` or farther from the front
 *
 * before(c, a, b) says whether a comes before b, put(c, heap, at, e) writes an element; HOP_HEAP_PUT does just that.
 */
#ifndef HOP_BASE_HEAP_H
#define HOP_BASE_HEAP_H

#include <stdbool.h>
#include <stdint.h>

#define HOP_HEAP_PUT(c, heap, at, e) ((heap)[at] = (e))

#define HOP_HEAP(name, width, context, element, before, put)                                                           \
    static inline void name##_up(context c, element *heap, uint32_t at, element e)                                     \
    {                                                                                                                  \
        (void)c;                                                                                                       \
        for (; at > 0 && before(c, e, heap[(at - 1) / (width)]); at = (at - 1) / (width))                              \
            put(c, heap, at, heap[(at - 1) / (width)]);                                                                \
        put(c, heap, at, e);                                                                                           \
    }                                                                                                                  \
    static inline void name##_down(context c, element *heap, uint32_t count, uint32_t at, element e)                   \
    {                                                                                                                  \
        (void)c;                                                                                                       \
        for (uint32_t child = (width)*at + 1; child < count; child = (width)*at + 1) {                                 \
            uint32_t end = child + (width) < count ? child + (width) : count, first = child;                           \
            for (uint32_t k = child + 1; k < end; k++)                                                                 \
                first = before(c, heap[k], heap[first]) ? k : first;                                                   \
            if (!before(c, heap[first], e))                                                                            \
                break;                                                                                                 \
            put(c, heap, at, heap[first]);                                                                             \
            at = first;                                                                                                \
        }                                                                                                              \
        put(c, heap, at, e);                                                                                           \
    }                                                                                                                  \
    _Static_assert((width) > 1, "a heap is at least binary")

#endif
