/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic by rank. Flows are ascending, by sender and then by receiver, so no row needs to be sorted. */
#include "assign/congest_rows.h"

bool hop_congest_rows_make(const struct hop_traffic *traffic, struct hop_congest_rows *rows)
{
    uint32_t ranks = hop_traffic_ranks(traffic), flows = hop_traffic_count(traffic);
    *rows = (struct hop_congest_rows){.flows = hop_traffic_flows(traffic)};
    rows->block = calloc(2 * ((size_t)ranks + 2) + flows, sizeof *rows->block);
    if (!rows->block)
        return false;
    rows->first_out = rows->block;
    rows->first_in = rows->first_out + ranks + 1;
    rows->in = rows->first_in + ranks + 2;
    uint32_t *next = rows->first_in + 1; /* where the next flow of a row goes; afterwards, where the next row begins */
    for (uint32_t f = 0; f < flows; f++) {
        rows->first_out[rows->flows[f].from + 1]++;
        next[rows->flows[f].to + 1]++;
    }
    for (uint32_t r = 0; r < ranks; r++) {
        rows->first_out[r + 1] += rows->first_out[r];
        next[r + 1] += next[r];
    }
    for (uint32_t f = 0; f < flows; f++)
        rows->in[next[rows->flows[f].to]++] = f;
    return true;
}

bool hop_congest_rows_next(const struct hop_congest_rows *rows, struct hop_congest_walk *walk,
                           struct hop_congest_pair *pair)
{
    uint32_t out = rows->first_out[walk->rank] + walk->outs, in = rows->first_in[walk->rank] + walk->ins;
    bool sends = out < rows->first_out[walk->rank + 1], receives = in < rows->first_in[walk->rank + 1];
    if (!sends && !receives)
        return false;
    const struct hop_traffic_flow *there = sends ? &rows->flows[out] : NULL,
                                  *back = receives ? &rows->flows[rows->in[in]] : NULL;
    if (there && back && there->to != back->from)
        *(there->to < back->from ? &back : &there) = NULL;
    *pair = (struct hop_congest_pair){there ? there->to : back->from, there, back};
    walk->outs += there != NULL;
    walk->ins += back != NULL;
    return true;
}

void hop_congest_rows_finish(struct hop_congest_rows *rows)
{
    free(rows->block);
    *rows = (struct hop_congest_rows){0};
}
