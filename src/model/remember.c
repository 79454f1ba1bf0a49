/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The rates of active sets that a network has seen: a hash table of sets, each followed by its shares, in blocks of memory that are
 * never moved:
 *
 *     slot -> [ count | flows ... | shares ... ]
 */
#include "model/network.h"

void hop_network_remember(struct hop_network *network, size_t limit_bytes)
{
    hop_arena_finish(&network->memory);
    network->slots = NULL;
    network->slot_count = network->remembered_count = 0;
    network->remembered_bytes = 0;
    network->remember_limit = limit_bytes;
}

uint64_t hop_flows_hash(const struct hop_flow *flows, uint32_t count)
{
    uint64_t hash = count * 0x9e3779b97f4a7c15u;
    for (uint32_t f = 0; f < count; f++) {
        hash ^= (uint64_t)flows[f].count << 32 | flows[f].route;
        hash *= 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    return hash;
}

static struct hop_remembered *slot_of(const struct hop_network *network, uint64_t hash, const struct hop_flow *flows,
                                  uint32_t count)
{
    uint32_t i = (uint32_t)hash & (network->slot_count - 1);
    for (;; i = (i + 1) & (network->slot_count - 1)) {
        struct hop_remembered *slot = &network->slots[i];
        if (!slot->flows ||
            (slot->hash == hash && slot->count == count && memcmp(slot->flows, flows, count * sizeof *flows) == 0))
            return slot;
    }
}

static bool grow_slots(struct hop_network *network)
{
    uint32_t count = network->slot_count ? network->slot_count * 2 : 256;
    struct hop_remembered *old = network->slots, *fresh = hop_arena_alloc(&network->memory, count * sizeof *fresh);
    uint32_t old_count = network->slot_count;
    if (!fresh)
        return false;
    network->slots = fresh;
    network->slot_count = count;
    for (uint32_t i = 0; i < old_count; i++) {
        if (old[i].flows)
            *slot_of(network, old[i].hash, old[i].flows, old[i].count) = old[i];
    }
    return true;
}

const struct hop_share *hop_network_recall(const struct hop_network *network, uint64_t hash,
                                           const struct hop_flow *flows, uint32_t count)
{
    const struct hop_remembered *slot = network->slot_count ? slot_of(network, hash, flows, count) : NULL;
    return slot && slot->flows ? slot->shares : NULL;
}

void hop_network_keep(struct hop_network *network, uint64_t hash, const struct hop_flow *flows, uint32_t count,
                      const struct hop_share *shares)
{
    size_t bytes = count * (sizeof *flows + sizeof *shares) + 2 * sizeof(struct hop_remembered);
    if (network->remembered_bytes + bytes > network->remember_limit ||
        (network->remembered_count * 2 >= network->slot_count && !grow_slots(network)))
        return;
    struct hop_flow *kept = hop_arena_copy(&network->memory, flows, count * sizeof *flows);
    struct hop_share *kept_shares = hop_arena_copy(&network->memory, shares, count * sizeof *shares);
    if (!kept || !kept_shares) {
        network->memory.failed = false; /* what is not remembered is worked out again */
        return;
    }
    *slot_of(network, hash, flows, count) = (struct hop_remembered){hash, count, kept, kept_shares};
    network->remembered_count++;
    network->remembered_bytes += bytes;
}
