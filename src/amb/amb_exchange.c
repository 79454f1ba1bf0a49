/* SPDX-License-Identifier: BSD-3-Clause */
/* What a rank sends and receives of a pattern: the flows of its traffic, one message each. */
#include "amb/amb.h"

#include <stdio.h>

#include "base/random.h"
#include "hopcast/pattern.h"

enum { WORD = 8 };

static struct hop_amb_peer *add(struct hop_arena *arena, struct hop_amb_peer **list, uint32_t *count, uint64_t *total,
                                uint32_t rank, uint64_t bytes)
{
    if (!HOP_GROW(arena, *list, *count + 1))
        return NULL;
    struct hop_amb_peer *peer = &(*list)[(*count)++];
    *peer = (struct hop_amb_peer){rank, *total, bytes};
    *total += bytes;
    return peer;
}

/* An alltoall has a block for this rank, too, in its place among the others. */
static void list(struct hop_amb_side *side, const struct hop_traffic *traffic, struct hop_arena *arena)
{
    const struct hop_traffic_flow *flows = hop_traffic_flows(traffic);
    uint32_t count = hop_traffic_count(traffic), rank = side->rank;
    bool own_to = !side->together, own_from = own_to;
    side->colour = rank;
    for (uint32_t f = 0; f < count; f++) {
        uint64_t bytes = flows[f].bytes[HOP_MEMORY_HOST] + flows[f].bytes[HOP_MEMORY_DEVICE];
        side->all_bytes += bytes;
        if (flows[f].from == rank) {
            if (!own_to && flows[f].to > rank)
                own_to = add(arena, &side->to, &side->to_count, &side->out_bytes, rank, bytes);
            (void)add(arena, &side->to, &side->to_count, &side->out_bytes, flows[f].to, bytes);
            side->colour = flows[f].to < side->colour ? flows[f].to : side->colour;
        } else if (flows[f].to == rank) {
            if (!own_from && flows[f].from > rank)
                own_from = add(arena, &side->from, &side->from_count, &side->in_bytes, rank, bytes);
            (void)add(arena, &side->from, &side->from_count, &side->in_bytes, flows[f].from, bytes);
        }
    }
    if (!own_to && side->to_count)
        (void)add(arena, &side->to, &side->to_count, &side->out_bytes, rank, side->to[0].bytes);
    if (!own_from && side->from_count)
        (void)add(arena, &side->from, &side->from_count, &side->in_bytes, rank, side->from[0].bytes);
}

enum hop_status hop_amb_side_make(const char *words, uint64_t bytes, enum hop_memory memory, uint32_t rank,
                                  struct hop_arena *arena, struct hop_amb_side *side, struct hop_diag *diag)
{
    struct hop_traffic *traffic = NULL;
    *side = (struct hop_amb_side){.memory = memory, .rank = rank, .together = strncmp(words, "coll", 4) == 0};
    if (strcmp(words, HOP_AMB_NONE) == 0)
        return HOP_OK;
    struct hop_buffer text = {0};
    hop_buffer_printf(&text, "%s,bytes=%llu", words, (unsigned long long)bytes);
    enum hop_status status =
        text.failed ? hop_fail_memory(diag) : hop_pattern_traffic(text.text, memory, &traffic, diag);
    hop_buffer_finish(&text);
    if (status != HOP_OK)
        return status;
    list(side, traffic, arena);
    const struct hop_traffic_flow *flows = hop_traffic_flows(traffic);
    for (uint32_t f = 0; f < hop_traffic_count(traffic) && status == HOP_OK; f++) {
        uint64_t most = flows[f].bytes[HOP_MEMORY_HOST] + flows[f].bytes[HOP_MEMORY_DEVICE];
        if (most > HOP_AMB_BYTES_MAX)
            status = hop_fail(diag, HOP_ERR_LIMIT,
                              "%s has a message of %llu bytes from rank %u to rank %u\n1 GiB a message at most", words,
                              (unsigned long long)most, flows[f].from, flows[f].to);
    }
    hop_traffic_destroy(traffic);
    return status == HOP_OK && arena->failed ? hop_fail_memory(diag) : status;
}

/* ---- what is in the bytes ---- */

/* Of a message: who sends it to whom, in which memory and iteration. */
static uint64_t first_word(enum hop_memory memory, uint64_t iteration, uint32_t from, uint32_t to)
{
    return hop_draw_from(hop_draw_from((uint64_t)from << 32 | to) ^ (2 * iteration + (memory == HOP_MEMORY_DEVICE)));
}

void hop_amb_fill(const struct hop_amb_side *side, uint64_t iteration, char *out)
{
    for (uint32_t i = 0; i < side->to_count; i++) {
        const struct hop_amb_peer *peer = &side->to[i];
        uint64_t word = first_word(side->memory, iteration, side->rank, peer->rank);
        for (uint64_t at = 0; at < peer->bytes; at += WORD, word += HOP_MIX_STEP)
            memcpy(out + peer->offset + at, &word, peer->bytes - at < WORD ? (size_t)(peer->bytes - at) : WORD);
    }
}

static unsigned bytes_apart(const char *a, const void *b, size_t size)
{
    const char *other = b;
    unsigned apart = 0;
    for (size_t i = 0; i < size; i++)
        apart += a[i] != other[i];
    return apart;
}

uint64_t hop_amb_wrong(const struct hop_amb_side *side, uint64_t iteration, const char *in)
{
    uint64_t wrong = 0;
    for (uint32_t i = 0; i < side->from_count; i++) {
        const struct hop_amb_peer *peer = &side->from[i];
        uint64_t word = first_word(side->memory, iteration, peer->rank, side->rank);
        for (uint64_t at = 0; at < peer->bytes; at += WORD, word += HOP_MIX_STEP) {
            size_t size = peer->bytes - at < WORD ? (size_t)(peer->bytes - at) : WORD;
            const char *here = in + peer->offset + at;
            wrong += memcmp(here, &word, size) == 0 ? 0 : bytes_apart(here, &word, size);
        }
    }
    return wrong;
}
