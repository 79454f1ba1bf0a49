/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How many of a collective's copies go staged, and in which packets? Measured, and written as the table of `static`.
 *
 * For each size three comparisons, each by measuring in turns:
 *
 *     1  all staged, at each size of packets                       which packets
 *     2  none, a quarter, half, three quarters, all, at these      about how many
 *     3  none, half way down, the best of 2, half way up, all      how many
 *
 * The first collective's rows stand there once more for "any": what was not measured is asked by the size of its
 * copies, too.
 */
#include <stdio.h>

#include "base/json_write.h"
#include "hopcast/collective.h"
#include "run/copies_table.h"
#include "run/program.h"

enum { WAYS = 64, FIRST_SIZE = 4 << 10, LAST_SIZE = 16 << 20 };

static const enum hop_collective_kind default_collectives[] = {HOP_COLLECTIVE_ALLGATHER, HOP_COLLECTIVE_ALLREDUCE};
static const uint64_t default_packets[] = {128 << 10, 512 << 10, 2 << 20};

struct tuning {
    const struct hop_copies_tune_options *options;
    const uint64_t *packets;
    uint32_t packet_count;
    struct hop_table table;
    struct hop_failure failure;
    /* of one size of one collective */
    struct hop_schedule *schedule;
    uint64_t copy_bytes; /* the largest copy between ranks: what the table is asked with */
    struct hop_copies_mix mixes[WAYS];
    struct hop_run_way ways[WAYS];
    uint32_t count;
};

static bool is_fine(const struct tuning *t)
{
    return t->failure.status == HOP_OK;
}

static void add_mix(struct tuning *t, uint32_t staged, uint64_t packet_bytes)
{
    uint32_t of = t->options->ways.launch.ranks - 1;
    for (uint32_t i = 0; i < t->count; i++) {
        if (t->mixes[i].staged == staged && (staged == 0 || t->mixes[i].packet_bytes == packet_bytes))
            return;
    }
    if (t->count == WAYS)
        return;
    struct hop_copies_mix *mix = &t->mixes[t->count];
    struct hop_run_way *way = &t->ways[t->count++];
    *mix = (struct hop_copies_mix){staged, of, staged ? packet_bytes : 0};
    *way = (struct hop_run_way){.schedule = t->schedule, .program = t->options->program};
    way->program.copies = HOP_COPIES_STATIC;
    way->program.mix = mix;
    way->program.packet_bytes = 0; /* the mix says it */
    way->program.pipelined = true;
}

/* The best of the mixes. */
static uint32_t compare(struct tuning *t)
{
    uint32_t best = 0;
    if (is_fine(t) && t->count > 1)
        t->failure.status = hop_measure_ways(t->ways, t->count, &t->options->ways, t->failure.diag);
    for (uint32_t i = 1; i < t->count; i++) {
        if (t->ways[i].median_s < t->ways[best].median_s)
            best = i;
    }
    return best;
}

/* Those smaller than a copy, and one that takes it whole. */
static uint64_t find_packet(struct tuning *t)
{
    bool whole = false;
    t->count = 0;
    for (uint32_t i = 0; i < t->packet_count && !whole; i++) {
        whole = t->packets[i] >= t->copy_bytes;
        add_mix(t, t->options->ways.launch.ranks - 1, t->packets[i]);
    }
    return t->mixes[compare(t)].packet_bytes;
}

static uint32_t find_share(const struct tuning *t, uint32_t staged)
{
    uint32_t i = 0;
    while (i < t->count && t->mixes[i].staged != staged)
        i++;
    return i;
}

static void add_row(struct tuning *t, enum hop_collective_kind kind, uint32_t best)
{
    const struct hop_copies_mix *mix = &t->mixes[best];
    uint32_t none = find_share(t, 0), all = find_share(t, mix->of);
    char own[32], peer[32], staged[32], remark[160];
    (void)snprintf(remark, sizeof remark, "%s; all peer %s, all staged %s",
                   hop_show_seconds(t->ways[best].median_s, own, sizeof own),
                   hop_show_seconds(t->ways[none].median_s, peer, sizeof peer),
                   hop_show_seconds(t->ways[all].median_s, staged, sizeof staged));
    const struct hop_copies_row row = {.collective = kind,
                                       .ranks = mix->of + 1,
                                       .from_bytes = t->copy_bytes,
                                       .staged = mix->staged,
                                       .of = mix->of,
                                       .packet_bytes = mix->packet_bytes,
                                       .remark = remark};
    if (is_fine(t))
        t->failure.status = hop_copies_add(&t->table, &row, t->failure.diag);
}

static void find_share_of(struct tuning *t, enum hop_collective_kind kind, uint64_t packet_bytes)
{
    uint32_t of = t->options->ways.launch.ranks - 1;
    t->count = 0;
    for (uint32_t quarter = 0; quarter <= 4; quarter++)
        add_mix(t, (of * quarter + 2) / 4, packet_bytes);
    uint32_t staged = t->mixes[compare(t)].staged, step = (of + 7) / 8;
    const uint32_t tried[] = {0, staged > step ? staged - step : 0, staged, staged + step < of ? staged + step : of,
                              of};
    t->count = 0;
    for (size_t i = 0; i < HOP_COUNT(tried); i++)
        add_mix(t, tried[i], packet_bytes);
    add_row(t, kind, compare(t));
}

static void find_copy_bytes(struct tuning *t)
{
    t->copy_bytes = 0;
    for (uint32_t i = 0; i < hop_schedule_count(t->schedule); i++) {
        const struct hop_op *op = hop_schedule_op(t->schedule, i);
        if (op->kind == HOP_OP_COPY && op->from.rank != op->to.rank && op->bytes > t->copy_bytes)
            t->copy_bytes = op->bytes;
    }
}

static void tune_size(struct tuning *t, enum hop_collective_kind kind, uint64_t bytes)
{
    const struct hop_ranks ranks = {t->options->devices, t->options->ways.launch.ranks};
    const struct hop_collective_options collective = {
        .kind = kind, .algorithm = "gsb", .vector_bytes = bytes, .reduce = HOP_REDUCE_SUM, .type = HOP_TYPE_F32};
    t->failure.status = hop_make_collective(&ranks, &collective, &t->schedule, t->failure.diag);
    if (!is_fine(t))
        return;
    find_copy_bytes(t);
    if (t->copy_bytes > 0)
        find_share_of(t, kind, find_packet(t));
    hop_schedule_destroy(t->schedule);
    t->schedule = NULL;
}

static void tune(struct tuning *t, const enum hop_collective_kind *collectives, uint32_t collective_count,
                 const uint64_t *sizes, uint32_t size_count)
{
    uint32_t total = collective_count * size_count, ranks = t->options->ways.launch.ranks;
    for (uint32_t i = 0; i < total && is_fine(t); i++) {
        uint32_t at = size_count - 1 - i % size_count; /* what has no room is refused first */
        enum hop_collective_kind kind = collectives[i / size_count];
        uint64_t bytes = hop_collective_round(kind, HOP_TYPE_F32, ranks, sizes[at]);
        uint64_t before = at ? hop_collective_round(kind, HOP_TYPE_F32, ranks, sizes[at - 1]) : 0;
        if (bytes > before)
            tune_size(t, kind, bytes);
        if (t->options->progress)
            t->options->progress((i + 1.0) / total, t->options->context);
    }
}

static void add_any(struct tuning *t, enum hop_collective_kind like)
{
    char remark[64];
    (void)snprintf(remark, sizeof remark, "as %s", hop_collective_name(like));
    for (uint32_t i = 0, count = t->table.count; i < count && is_fine(t); i++) {
        struct hop_copies_row row = *hop_copies_row_at(&t->table, i); /* those of any come behind all others */
        if (row.collective != (unsigned)like)
            continue;
        row.collective = HOP_COPIES_ANY;
        row.remark = remark;
        t->failure.status = hop_copies_add(&t->table, &row, t->failure.diag);
    }
}

static enum hop_status check(const struct hop_copies_tune_options *o, struct hop_diag *diag)
{
    uint32_t ranks = o->ways.launch.ranks;
    if (ranks < 2 || ranks > HOP_RANKS_MAX || !o->devices)
        return hop_fail(diag, HOP_ERR_INVALID, "copies between %u ranks\n2 to %d ranks, and a device for each", ranks,
                        HOP_RANKS_MAX);
    for (uint32_t i = 0; i < (o->packets ? o->packet_count : 0); i++) {
        if (o->packets[i] == 0 || o->packet_count > WAYS / 2)
            return hop_fail(diag, HOP_ERR_INVALID, "a packet has no bytes, or there are more than %d sizes", WAYS / 2);
    }
    if ((o->packets && o->packet_count == 0) || (o->sizes && o->size_count == 0))
        return hop_fail(diag, HOP_ERR_INVALID, "an empty list of sizes or packets");
    return HOP_OK;
}

static char *make_json(const struct hop_table *table)
{
    struct hop_buffer out = {0};
    hop_json_put(&out, "{\nhopcast_tune_copies:1,\nnotes:[");
    for (uint32_t i = 0; i < table->note_count; i++)
        hop_json_put(&out, "\n  %s", table->notes[i]);
    hop_json_put(&out, "],\nrows:[");
    for (uint32_t i = 0; i < table->count; i++) {
        const struct hop_copies_row *row = hop_copies_row_at(table, i);
        hop_json_put(&out, "\n  {collective:%s,ranks:%u,from_bytes:%llu,staged:%u,of:%u",
                     row->collective == HOP_COPIES_ANY ? "any" : hop_collective_name(row->collective), row->ranks,
                     (unsigned long long)row->from_bytes, row->staged, row->of);
        if (row->staged)
            hop_json_put(&out, "packet_bytes:%llu", (unsigned long long)row->packet_bytes);
        hop_json_put(&out, "remark:%s}", row->remark);
    }
    hop_json_put(&out, "]\n}\n");
    return hop_buffer_take(&out);
}

enum hop_status hop_copies_tune(const struct hop_copies_tune_options *options, const char *note, char **text,
                                char **json, struct hop_diag *diag)
{
    struct hop_copies_tune_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct tuning t = {.options = options,
                       .packets = options->packets ? options->packets : default_packets,
                       .packet_count = options->packets ? options->packet_count : HOP_COUNT(default_packets),
                       .table = {.kind = &hop_copies_kind},
                       .failure = {diag, check(options, diag)}};
    uint64_t sizes[32];
    uint32_t size_count = 0;
    for (uint64_t size = FIRST_SIZE; size <= LAST_SIZE; size *= 4)
        sizes[size_count++] = size;
    if (is_fine(&t) && note)
        t.failure.status = hop_table_note(&t.table, note, diag);
    if (is_fine(&t))
        t.failure.status =
            hop_table_note(&t.table, "measured; from: bytes of the largest copy between two ranks", diag);
    const enum hop_collective_kind *collectives = options->collectives ? options->collectives : default_collectives;
    tune(&t, collectives, options->collectives ? options->collective_count : HOP_COUNT(default_collectives),
         options->sizes ? options->sizes : sizes, options->sizes ? options->size_count : size_count);
    add_any(&t, collectives[0]);
    if (is_fine(&t) && json && !(*json = make_json(&t.table)))
        t.failure.status = hop_fail_memory(diag);
    if (is_fine(&t) && !(*text = hop_table_to_text(&t.table)))
        t.failure.status = hop_fail_memory(diag);
    hop_table_finish(&t.table);
    return t.failure.status;
}
