/* SPDX-License-Identifier: BSD-3-Clause */
/* Placements that were looked at, for what is chosen after placement and order. */
#include "plan/plan.h"

enum { POOL = 256 };

void hop_plan_pool_add(struct hop_plan_work *work, const uint32_t *place, double promise_s)
{
    struct hop_plan_pool *pool = &work->pool;
    size_t ranks = work->ranks, size = work->map.size;
    if (!pool->rows) {
        pool->rows = hop_arena_alloc(&work->map.arena, (POOL + 1) * size);
        pool->promise_s = hop_arena_alloc(&work->map.arena, (POOL + 1) * sizeof *pool->promise_s);
    }
    if (work->map.arena.failed || !hop_map_fits(&work->map.places, place) ||
        (pool->count == POOL && promise_s >= pool->promise_s[POOL - 1]))
        return;
    uint32_t at = 0, last = pool->count;
    for (uint32_t i = 0; i < pool->count; i++) { /* the same again: once, with the better promise */
        at += pool->promise_s[i] <= promise_s;
        if (memcmp(pool->rows + i * ranks, place, size) == 0)
            last = i;
    }
    if (last < at)
        return;
    memmove(pool->rows + (at + 1) * ranks, pool->rows + at * ranks, (last - at) * size);
    memmove(pool->promise_s + at + 1, pool->promise_s + at, (last - at) * sizeof *pool->promise_s);
    memcpy(pool->rows + at * ranks, place, size);
    pool->promise_s[at] = promise_s;
    pool->count += last == pool->count && pool->count < POOL;
}

void hop_plan_pool_give(const struct hop_plan_work *work, struct hop_plan_made *made)
{
    const struct hop_plan_pool *pool = &work->pool;
    size_t count = pool->count * (size_t)work->ranks;
    made->pool.rows = hop_arena_alloc(&made->arena, (count + 1) * sizeof *made->pool.rows);
    for (size_t i = 0; made->pool.rows && i < count; i++)
        made->pool.rows[i] = work->map.places.device[pool->rows[i]];
    made->pool.promise_s = hop_arena_copy(&made->arena, pool->promise_s, pool->count * sizeof *pool->promise_s);
    made->pool.count = made->arena.failed ? 0 : pool->count;
}
