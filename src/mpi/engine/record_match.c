/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who met whom. The k-th message that a rank sent to another one by a communicator and tag was taken by the k-th receive
 * there that got such a message, in the order in which receives were begun, as MPI has it. The k-th collectives of a
 * communicator's ranks are one.
 */
#include "mpi/engine/record.h"

/* Of a message: where it was sent, taken, or found. */
struct message_end {
    uint64_t where;
    uint32_t from, to, tag;
    uint32_t item;
    bool sent;
};

/* A rank's part in a collective. */
struct collective_part {
    uint64_t where;
    uint32_t number, rank, item;
};

static int by_channel(const void *a, const void *b)
{
    const struct message_end *x = a, *y = b;
    int order = HOP_ORDER(x->where, y->where);
    order = order ? order : HOP_ORDER(x->from, y->from);
    order = order ? order : HOP_ORDER(x->to, y->to);
    return order ? order : HOP_ORDER(x->tag, y->tag);
}

static int by_channel_and_time(const void *a, const void *b)
{
    const struct message_end *x = a, *y = b;
    int order = by_channel(a, b);
    order = order ? order : HOP_ORDER(y->sent, x->sent); /* sends first */
    return order ? order : HOP_ORDER(x->item, y->item);
}

static int by_rank_and_time(const void *a, const void *b)
{
    const struct collective_part *x = a, *y = b;
    int order = HOP_ORDER(x->where, y->where);
    order = order ? order : HOP_ORDER(x->rank, y->rank);
    return order ? order : HOP_ORDER(x->item, y->item);
}

static int by_number(const void *a, const void *b)
{
    const struct collective_part *x = a, *y = b;
    int order = HOP_ORDER(x->where, y->where);
    order = order ? order : HOP_ORDER(x->number, y->number);
    return order ? order : HOP_ORDER(x->rank, y->rank);
}

/* ---- messages ---- */

/* Whether somebody may have been met. */
static bool is_end(struct hop_mpi_record *record, uint32_t rank, const struct hop_item *item)
{
    bool sent = item->kind == ITEM_SEND;
    if (!sent && item->kind != ITEM_RECEIVE && item->kind != ITEM_PROBED)
        return false;
    if (item->flags & ITEM_OFF)
        return false;
    if (item->flags & ITEM_UNKNOWN) {
        record->alone++;
        return false;
    }
    record->to_itself += sent && item->peer == (int32_t)rank;
    return item->peer >= 0 && item->peer != (int32_t)rank;
}

static struct message_end *list_ends(struct hop_mpi_record *record, uint32_t *count)
{
    struct message_end *ends = NULL;
    *count = 0;
    for (uint32_t r = 0; r < record->ranks; r++) {
        for (uint32_t i = record->first[r]; i < record->first[r] + record->rank[r].count; i++) {
            const struct hop_item *item = &record->items[i];
            if (!is_end(record, r, item))
                continue;
            if (!HOP_GROW(&record->arena, ends, *count + 1))
                return NULL;
            bool sent = item->kind == ITEM_SEND;
            uint32_t peer = (uint32_t)item->peer;
            ends[(*count)++] = (struct message_end){item->where, sent ? r : peer, sent ? peer : r, item->tag, i, sent};
        }
    }
    return ends;
}

/* Ends of one channel, sends first. */
static void match_channel(struct hop_mpi_record *record, const struct message_end *ends, uint32_t count)
{
    uint32_t sends = 0, taken = 0;
    while (sends < count && ends[sends].sent)
        sends++;
    for (uint32_t i = sends; i < count; i++) {
        bool takes = record->items[ends[i].item].kind == ITEM_RECEIVE;
        if (taken < sends) {
            record->partner[ends[i].item] = ends[taken].item;
            if (takes)
                record->partner[ends[taken].item] = ends[i].item;
        } else {
            record->alone += takes;
        }
        taken += takes;
    }
    record->alone += taken < sends ? sends - taken : 0;
}

static bool match_messages(struct hop_mpi_record *record)
{
    uint32_t count;
    struct message_end *ends = list_ends(record, &count);
    if (count && !ends)
        return false;
    if (count)
        qsort(ends, count, sizeof *ends, by_channel_and_time);
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && by_channel(&ends[i], &ends[next]) == 0; next++) {
        }
        match_channel(record, ends + i, next - i);
    }
    return true;
}

/* ---- collectives ---- */

uint32_t hop_record_owner(const struct hop_mpi_record *record, uint32_t item)
{
    uint32_t low = 0, high = record->ranks - 1;
    while (low < high) {
        uint32_t middle = low + (high - low + 1) / 2;
        if (record->first[middle] <= item)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}

static struct collective_part *list_parts(struct hop_mpi_record *record, uint32_t *count)
{
    struct collective_part *parts = NULL;
    *count = 0;
    for (uint32_t r = 0; r < record->ranks; r++) {
        for (uint32_t i = record->first[r]; i < record->first[r] + record->rank[r].count; i++) {
            if (record->items[i].kind != ITEM_TOGETHER)
                continue;
            if (!HOP_GROW(&record->arena, parts, *count + 1))
                return NULL;
            parts[(*count)++] = (struct collective_part){record->items[i].where, 0, r, i};
        }
    }
    return parts;
}

static void number_parts(struct collective_part *parts, uint32_t count)
{
    qsort(parts, count, sizeof *parts, by_rank_and_time);
    for (uint32_t i = 1; i < count; i++) {
        bool same = parts[i].where == parts[i - 1].where && parts[i].rank == parts[i - 1].rank;
        parts[i].number = same ? parts[i - 1].number + 1 : 0;
    }
    qsort(parts, count, sizeof *parts, by_number);
}

uint32_t hop_record_member(const struct hop_mpi_record *record, uint32_t collective, uint32_t rank)
{
    uint32_t low = record->member_first[collective], high = record->member_first[collective + 1];
    while (low + 1 < high) {
        uint32_t middle = low + (high - low) / 2;
        if (hop_record_owner(record, record->members[middle]) <= rank)
            low = middle;
        else
            high = middle;
    }
    return hop_record_owner(record, record->members[low]) == rank ? low : HOP_NONE;
}

static bool match_collectives(struct hop_mpi_record *record)
{
    uint32_t count, filled = 0;
    struct collective_part *parts = list_parts(record, &count);
    record->members = hop_arena_alloc(&record->arena, (count + 1) * sizeof *record->members);
    record->member_first = hop_arena_alloc(&record->arena, (count + 1) * sizeof *record->member_first);
    if ((count && !parts) || !record->members || !record->member_first)
        return false;
    if (count)
        number_parts(parts, count);
    for (uint32_t i = 0, next; i < count; i = next) {
        for (next = i + 1; next < count && parts[next].where == parts[i].where && parts[next].number == parts[i].number;
             next++) {
        }
        bool whole = next - i == record->items[parts[i].item].size;
        for (uint32_t k = i; whole && k < next; k++) {
            record->partner[parts[k].item] = record->collectives;
            record->members[filled++] = parts[k].item;
        }
        record->alone += !whole;
        record->collectives += whole;
        record->member_first[record->collectives] = filled;
    }
    return true;
}

/* ---- all ---- */

bool hop_record_match(struct hop_mpi_record *record)
{
    uint32_t count = record->first[record->ranks];
    record->call = hop_arena_alloc(&record->arena, ((size_t)count + 1) * sizeof *record->call);
    record->partner = hop_arena_alloc(&record->arena, ((size_t)count + 1) * sizeof *record->partner);
    if (!record->call || !record->partner)
        return false;
    for (uint32_t i = 0, call = 0; i < count; i++) {
        call = record->items[i].kind == ITEM_CALL ? i : call;
        record->call[i] = call;
        record->partner[i] = HOP_NONE;
    }
    return match_messages(record) && match_collectives(record);
}
