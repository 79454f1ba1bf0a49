/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How much of the time in calls went by before the partner came: before a message's sender called its send, before a
 * receiver had begun its receive, before those came who send to a rank in a collective. Of a call that ends several, the
 * last partner counts. A send that returned before its receive was begun waited for nobody, as did an MPI_Win_start that
 * returned before a post.
 */
#include "base/json_write.h"
#include "mpi/engine/record.h"

enum waiting { LATE_SENDER, LATE_RECEIVER, COLLECTIVE, WAITING_COUNT };

struct waited {
    uint64_t calls, time_ns, before_ns[WAITING_COUNT];
};

struct waited_on {
    uint32_t rank, on;
    uint64_t ns;
};

/* When the last partner came, and who that was. */
struct arrival {
    uint64_t ns;
    uint32_t rank;
    enum waiting how;
};

struct account {
    const struct hop_mpi_record *record;
    struct hop_arena arena;
    struct waited *ranks, calls[HOP_MPI_CALL_COUNT], all;
    struct arrival *met; /* by part in a collective: by item */
    struct waited_on *pairs;
    uint32_t pair_count;
};

/* ---- collectives ---- */

static void note(struct account *a, uint32_t item, uint32_t other)
{
    uint64_t ns = hop_record_began(a->record, other);
    if (ns >= a->met[item].ns)
        a->met[item] = (struct arrival){ns, hop_record_owner(a->record, other), COLLECTIVE};
}

/* All wait for the last, who waits for the one before. */
static void meet_all(struct account *a, const uint32_t *members, uint32_t count)
{
    uint32_t last = 0, before = HOP_NONE;
    for (uint32_t i = 1; i < count; i++) {
        uint64_t ns = hop_record_began(a->record, members[i]);
        if (ns > hop_record_began(a->record, members[last])) {
            before = last;
            last = i;
        } else if (before == HOP_NONE || ns > hop_record_began(a->record, members[before])) {
            before = i;
        }
    }
    for (uint32_t i = 0; i < count; i++)
        note(a, members[i], members[i == last ? before : last]);
}

/* Who is sent to waits for who sends. */
static void meet_sender(struct account *a, uint32_t collective, uint32_t member)
{
    for (uint32_t p = member + 1; a->record->items[p].kind == ITEM_PART; p++) {
        const struct hop_item *part = &a->record->items[p];
        for (uint32_t k = 0; k < part->tag; k++) {
            uint32_t to = hop_record_member(a->record, collective, (uint32_t)part->peer + k * part->own_ns);
            if (to != HOP_NONE && a->record->members[to] != member)
                note(a, a->record->members[to], member);
        }
    }
}

/* By what the first of them does: a kind in which all do alike. */
static bool all_send_to_all(const struct hop_mpi_record *record, uint32_t member, uint32_t members)
{
    enum hop_mpi_kind kind = hop_calls_kind(record->items[member].call);
    uint32_t count = 0;
    for (uint32_t p = member + 1; record->items[p].kind == ITEM_PART; p++)
        count += record->items[p].flags & ITEM_SECOND ? 0 : record->items[p].tag;
    return kind >= KIND_ALLGATHER && kind <= KIND_REDUCE_SCATTER && count + 1 == members;
}

static void meet(struct account *a)
{
    for (uint32_t c = 0; c < a->record->collectives; c++) {
        const uint32_t *members = a->record->members + a->record->member_first[c];
        uint32_t count = a->record->member_first[c + 1] - a->record->member_first[c];
        if (hop_calls_kind(a->record->items[members[0]].call) < KIND_POINT ||
            all_send_to_all(a->record, members[0], count))
            meet_all(a, members, count);
        else {
            for (uint32_t i = 0; i < count; i++)
                meet_sender(a, c, members[i]);
        }
    }
}

/* ---- calls ---- */

/* The later of what is known and when that item's partner came. */
static struct arrival later(const struct account *a, uint32_t item, uint64_t end_ns, struct arrival known)
{
    const struct hop_mpi_record *record = a->record;
    uint32_t kind = record->items[item].kind, partner = record->partner[item];
    struct arrival other = {0};
    if (partner == HOP_NONE || (kind == ITEM_SEND && record->items[item].flags & ITEM_EAGER))
        return known;
    if (kind == ITEM_TOGETHER)
        other = a->met[item];
    else if (kind == ITEM_SEND || kind == ITEM_RECEIVE || kind == ITEM_PROBED)
        other = (struct arrival){hop_record_began(record, partner), hop_record_owner(record, partner),
                                 kind == ITEM_SEND ? LATE_RECEIVER : LATE_SENDER};
    bool waited = (other.how != LATE_RECEIVER && kind != ITEM_PROBED) || other.ns < end_ns;
    return waited && other.ns > known.ns ? other : known;
}

static struct arrival last_partner(const struct account *a, uint32_t rank, uint32_t call)
{
    const struct hop_mpi_record *record = a->record;
    struct arrival last = {0};
    uint64_t end_ns = record->items[call].size;
    uint32_t end = record->first[rank] + (uint32_t)record->rank[rank].count;
    for (uint32_t i = call + 1; i < end && record->items[i].kind != ITEM_CALL; i++) {
        const struct hop_item *item = &record->items[i];
        if (item->kind == ITEM_DONE) {
            for (int32_t k = 0; k <= item->peer; k++)
                last = later(a, record->first[rank] + (uint32_t)item->where + (uint32_t)k, end_ns, last);
        } else if (!(item->flags & ITEM_LATER)) {
            last = later(a, i, end_ns, last);
        }
    }
    return last;
}

static void add(struct waited *sum, uint64_t time_ns, enum waiting how, uint64_t before_ns)
{
    sum->calls++;
    sum->time_ns += time_ns;
    sum->before_ns[how] += before_ns;
}

static bool count_call(struct account *a, uint32_t rank, uint32_t call)
{
    const struct hop_item *item = &a->record->items[call];
    struct arrival last = last_partner(a, rank, call);
    uint64_t come = last.ns < item->size ? last.ns : item->size,
             before_ns = come > item->where ? come - item->where : 0;
    if (item->flags & (ITEM_PAUSED | ITEM_POLL))
        return true;
    add(&a->ranks[rank], item->size - item->where, last.how, before_ns);
    add(&a->calls[item->call], item->size - item->where, last.how, before_ns);
    add(&a->all, item->size - item->where, last.how, before_ns);
    if (!before_ns)
        return true;
    if (!HOP_GROW(&a->arena, a->pairs, a->pair_count + 1))
        return false;
    a->pairs[a->pair_count++] = (struct waited_on){rank, last.rank, before_ns};
    return true;
}

static int by_pair(const void *a, const void *b)
{
    const struct waited_on *x = a, *y = b;
    int order = HOP_ORDER(x->rank, y->rank);
    return order ? order : HOP_ORDER(x->on, y->on);
}

static void sum_pairs(struct account *a)
{
    uint32_t kept = 0;
    if (a->pair_count)
        qsort(a->pairs, a->pair_count, sizeof *a->pairs, by_pair);
    for (uint32_t i = 0; i < a->pair_count; i++) {
        if (kept && by_pair(&a->pairs[kept - 1], &a->pairs[i]) == 0)
            a->pairs[kept - 1].ns += a->pairs[i].ns;
        else
            a->pairs[kept++] = a->pairs[i];
    }
    a->pair_count = kept;
}

static bool count_all(struct account *a)
{
    const struct hop_mpi_record *record = a->record;
    for (uint32_t r = 0; r < record->ranks; r++) {
        for (uint32_t i = record->first[r]; i < record->first[r] + record->rank[r].count; i++) {
            if (record->items[i].kind == ITEM_CALL && !count_call(a, r, i))
                return false;
        }
    }
    sum_pairs(a);
    return true;
}

/* ---- what is said ---- */

#define WAITED "seconds:%g,late_sender_seconds:%g,late_receiver_seconds:%g,collective_seconds:%g}"
#define SECONDS(waited)                                                                                                \
    (double)(waited).time_ns / 1e9, (double)(waited).before_ns[LATE_SENDER] / 1e9,                                     \
        (double)(waited).before_ns[LATE_RECEIVER] / 1e9, (double)(waited).before_ns[COLLECTIVE] / 1e9

static void put_json(const struct account *a, struct hop_buffer *json)
{
    hop_buffer_puts(json, ",\n  ");
    hop_json_put(json, "waiting:{\n    ranks:[");
    for (uint32_t r = 0; r < a->record->ranks; r++)
        hop_json_put(json, "\n      {rank:%u," WAITED, r, SECONDS(a->ranks[r]));
    hop_json_put(json, "],\n    calls:[");
    for (uint32_t c = 0; c < HOP_MPI_CALL_COUNT; c++) {
        if (a->calls[c].calls)
            hop_json_put(json, "\n      {name:%s," WAITED, hop_calls_name(c), SECONDS(a->calls[c]));
    }
    hop_json_put(json, "],\n    pairs:[");
    for (uint32_t i = 0; i < a->pair_count; i++)
        hop_json_put(json, "\n      {rank:%u,on:%u,seconds:%g}", a->pairs[i].rank, a->pairs[i].on,
                     (double)a->pairs[i].ns / 1e9);
    hop_json_put(json, "]\n  }");
}

static uint64_t before(const struct waited *waited)
{
    return waited->before_ns[LATE_SENDER] + waited->before_ns[LATE_RECEIVER] + waited->before_ns[COLLECTIVE];
}

static void put_line(struct hop_buffer *text, const char *name, const struct waited *waited)
{
    double time_s = (double)waited->time_ns / 1e9, before_s = (double)before(waited) / 1e9;
    hop_buffer_printf(text, "  %-28s %12.6f %12.6f %7.2f %12.6f %12.6f %12.6f\n", name, time_s, before_s,
                      time_s > 0 ? 100 * before_s / time_s : 0, (double)waited->before_ns[LATE_SENDER] / 1e9,
                      (double)waited->before_ns[LATE_RECEIVER] / 1e9, (double)waited->before_ns[COLLECTIVE] / 1e9);
}

/* The calls in which most was waited for. */
static void put_text(const struct account *a, struct hop_buffer *text)
{
    bool said[HOP_MPI_CALL_COUNT] = {0};
    hop_buffer_printf(text, "  %-28s %12s %12s %7s %12s %12s %12s\n", "before the partner came", "seconds", "waited",
                      "%", "late sender", "receiver", "collective");
    put_line(text, "all", &a->all);
    for (int i = 0; i < 10; i++) {
        uint32_t most = HOP_MPI_CALL_COUNT;
        for (uint32_t c = 0; c < HOP_MPI_CALL_COUNT; c++) {
            bool more = most == HOP_MPI_CALL_COUNT || before(&a->calls[c]) > before(&a->calls[most]);
            most = !said[c] && before(&a->calls[c]) && more ? c : most;
        }
        if (most == HOP_MPI_CALL_COUNT)
            return;
        said[most] = true;
        put_line(text, hop_calls_name(most), &a->calls[most]);
    }
}

bool hop_record_waiting(const struct hop_mpi_record *record, struct hop_buffer *json, struct hop_buffer *text)
{
    struct account *a = calloc(1, sizeof *a);
    if (!a)
        return false;
    a->record = record;
    a->ranks = hop_arena_alloc(&a->arena, record->ranks * sizeof *a->ranks);
    a->met = hop_arena_alloc(&a->arena, ((size_t)record->first[record->ranks] + 1) * sizeof *a->met);
    bool fine = a->ranks && a->met;
    if (fine) {
        meet(a);
        fine = count_all(a);
    }
    if (fine) {
        put_json(a, json);
        put_text(a, text);
    }
    hop_arena_finish(&a->arena);
    free(a);
    return fine && !json->failed && !text->failed;
}
