/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of keys: open addressing, linear probing, at most half full. */
#include "base/keys.h"

#include "base/random.h"

static struct hop_key *slot_of(const struct hop_keys *keys, uint32_t kind, uint64_t a, uint64_t b)
{
    uint32_t i = (uint32_t)hop_mix(hop_mix(a + kind) + b) & (keys->slot_count - 1);
    for (;; i = (i + 1) & (keys->slot_count - 1)) {
        struct hop_key *key = &keys->slots[i];
        if (key->number == UINT32_MAX || (key->a == a && key->b == b && key->kind == kind))
            return key;
    }
}

static bool grow(struct hop_keys *keys)
{
    struct hop_keys more = {NULL, keys->slot_count ? keys->slot_count * 2 : 64, keys->count};
    if (keys->slot_count <= UINT32_MAX / 4)
        more.slots = malloc((size_t)more.slot_count * sizeof *more.slots);
    if (!more.slots)
        return false;
    memset(more.slots, 0xff, (size_t)more.slot_count * sizeof *more.slots); /* every number UINT32_MAX */
    for (uint32_t i = 0; i < keys->slot_count; i++) {
        const struct hop_key *key = &keys->slots[i];
        if (key->number != UINT32_MAX)
            *slot_of(&more, key->kind, key->a, key->b) = *key;
    }
    free(keys->slots);
    *keys = more;
    return true;
}

uint32_t hop_keys_number(struct hop_keys *keys, uint32_t kind, uint64_t a, uint64_t b, uint32_t fresh)
{
    if (keys->count * 2 >= keys->slot_count && !grow(keys))
        return UINT32_MAX;
    struct hop_key *key = slot_of(keys, kind, a, b);
    if (key->number == UINT32_MAX) {
        *key = (struct hop_key){a, b, kind, fresh};
        keys->count++;
    }
    return key->number;
}

void hop_keys_finish(struct hop_keys *keys)
{
    free(keys->slots);
    *keys = (struct hop_keys){0};
}
