/* SPDX-License-Identifier: BSD-3-Clause */
/* Allocations by their place in the program: by their innermost callers. */
#ifndef HOP_ALLOC_PLACES_H
#define HOP_ALLOC_PLACES_H

#include <execinfo.h>
#include <stdbool.h>
#include <stdint.h>

enum { PLACES = 1 << 16, CALLERS = 7 };

struct places {
    uint64_t seen[PLACES];
    unsigned long firsts[PLACES]; /* the numbers of those that were the first of their place */
    unsigned first_count;
};

/* The n-th allocation; `own` callers are those that stand between it and backtrace. */
static inline void places_note(struct places *p, unsigned long n, int own)
{
    void *callers[CALLERS + 8];
    int count = backtrace(callers, CALLERS + own);
    uint64_t hash = 1;
    for (int i = own; i < count; i++)
        hash = (hash ^ (uintptr_t)callers[i]) * 0x9e3779b97f4a7c15u;
    for (unsigned at = (unsigned)(hash >> 48); p->seen[at] != hash; at = (at + 1) % PLACES) {
        if (p->seen[at] == 0 && p->first_count < PLACES / 2) {
            p->seen[at] = hash;
            p->firsts[p->first_count++] = n;
            break;
        }
    }
}

#endif
