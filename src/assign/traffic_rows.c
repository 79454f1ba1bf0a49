/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Flows are ascending, by sender and then by receiver: what a rank sends is a stretch of them already, what it receives
 * is listed, ascending by sender, and the two are merged.
 */
#include "assign/traffic_rows.h"

bool hop_traffic_rows_make(const struct hop_traffic *traffic, struct hop_traffic_rows *rows, struct hop_arena *arena)
{
    uint32_t ranks = hop_traffic_ranks(traffic), count = hop_traffic_count(traffic), end = 0;
    const struct hop_traffic_flow *flows = hop_traffic_flows(traffic), *out = flows;
    uint32_t *received = hop_arena_alloc(arena, ((size_t)ranks + 2) * sizeof *received); /* where a rank's begin */
    uint32_t *in = hop_arena_alloc(arena, ((size_t)count + 1) * sizeof *in);
    rows->first = hop_arena_alloc(arena, ((size_t)ranks + 1) * sizeof *rows->first);
    rows->pairs = hop_arena_alloc(arena, (2 * (size_t)count + 1) * sizeof *rows->pairs);
    if (arena->failed)
        return false;
    for (uint32_t f = 0; f < count; f++)
        received[flows[f].to + 2]++;
    for (uint32_t r = 0; r < ranks; r++)
        received[r + 2] += received[r + 1];
    for (uint32_t f = 0; f < count; f++)
        in[received[flows[f].to + 1]++] = f;
    for (uint32_t r = 0, i = 0; r < ranks; r++) {
        for (;;) {
            const struct hop_traffic_flow *there = out < flows + count && out->from == r ? out : NULL;
            const struct hop_traffic_flow *back = i < received[r + 1] ? &flows[in[i]] : NULL;
            if (!there && !back)
                break;
            if (there && back && there->to != back->from)
                *(there->to < back->from ? &back : &there) = NULL;
            rows->pairs[end++] = (struct hop_traffic_pair){there ? there->to : back->from, there, back};
            out += there != NULL;
            i += back != NULL;
        }
        rows->first[r + 1] = end;
    }
    return true;
}
