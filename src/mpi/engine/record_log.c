/* SPDX-License-Identifier: BSD-3-Clause */
/* Items in blocks under one lock: what is there never moves, and a call waits for no large copy. */
#include "mpi/engine/record.h"

#include "base/clock.h"

#include <pthread.h>

enum { BLOCK = 4096 };

static struct {
    struct hop_item **blocks;
    uint32_t block_count, block_room;
    uint32_t count, most;
    uint64_t full_ns;
} kept;
static pthread_mutex_t guard = PTHREAD_MUTEX_INITIALIZER;

static struct hop_item *at(uint32_t index)
{
    return &kept.blocks[index / BLOCK][index % BLOCK];
}

void hop_log_begin(uint64_t limit_bytes)
{
    uint64_t most = limit_bytes / sizeof(struct hop_item);
    kept.most = most < UINT32_MAX - BLOCK ? (uint32_t)most : UINT32_MAX - BLOCK;
}

static bool has_room(uint32_t count)
{
    if (kept.full_ns || count > kept.most - kept.count)
        return false;
    while (kept.block_count * (uint64_t)BLOCK < (uint64_t)kept.count + count) {
        struct hop_item *block = hop_grow(&kept.blocks, &kept.block_room, kept.block_count + 1, sizeof *kept.blocks)
                                     ? malloc(BLOCK * sizeof *block)
                                     : NULL;
        if (!block)
            return false;
        kept.blocks[kept.block_count++] = block;
    }
    return true;
}

uint32_t hop_log_add(const struct hop_item *items, uint32_t count)
{
    uint32_t first = HOP_NONE;
    (void)pthread_mutex_lock(&guard);
    if (has_room(count)) {
        first = kept.count;
        for (uint32_t i = 0; i < count; i++)
            *at(kept.count++) = items[i];
    } else if (!kept.full_ns) {
        kept.full_ns = items[0].where; /* its begin */
    }
    (void)pthread_mutex_unlock(&guard);
    return first;
}

bool hop_log_extend_poll(uint32_t poll, uint64_t begin_ns, uint64_t end_ns, uint32_t own_ns)
{
    bool extended = false;
    (void)pthread_mutex_lock(&guard);
    struct hop_item *last = poll < kept.count && !kept.full_ns ? at(poll) : NULL;
    if (last && begin_ns - last->size < HOP_RECORD_POLL_NS + (uint64_t)own_ns) {
        last->size = end_ns;
        extended = true;
    }
    (void)pthread_mutex_unlock(&guard);
    return extended;
}

void hop_log_resolve(uint32_t index, const struct hop_item *known)
{
    (void)pthread_mutex_lock(&guard);
    struct hop_item *item = at(index);
    item->peer = known->peer;
    item->tag = known->tag;
    item->flags = known->flags;
    (void)pthread_mutex_unlock(&guard);
}

void hop_log_leave_out(uint32_t index)
{
    (void)pthread_mutex_lock(&guard);
    at(index)->flags |= ITEM_OFF;
    (void)pthread_mutex_unlock(&guard);
}

uint64_t hop_log_full_ns(void)
{
    return kept.full_ns;
}

uint32_t hop_log_count(void)
{
    return kept.count;
}

struct hop_item *hop_log_take(uint32_t *count)
{
    (void)pthread_mutex_lock(&guard);
    struct hop_item *all = malloc(((size_t)kept.count + 1) * sizeof *all);
    *count = all ? kept.count : 0;
    for (uint32_t i = 0; i < *count; i++) {
        all[i] = *at(i);
        if (i % BLOCK == BLOCK - 1) {
            free(kept.blocks[i / BLOCK]);
            kept.blocks[i / BLOCK] = NULL;
        }
    }
    for (uint32_t b = 0; b < kept.block_count; b++)
        free(kept.blocks[b]);
    free(kept.blocks);
    kept.blocks = NULL;
    kept.count = kept.most = kept.block_count = kept.block_room = 0;
    (void)pthread_mutex_unlock(&guard);
    return all;
}
