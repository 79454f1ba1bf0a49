/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job's record from end to end. Rank 0 asks each rank's clock behind MPI_Init and before MPI_Finalize; between the two a
 * clock is taken to go evenly.
 */
#include "base/clock.h"
#include "base/replace.h"
#include "mpi/engine/record.h"
#include "mpi/say.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

enum { ASKED_OFTEN = 10 };
#define LIMIT_BYTES ((uint64_t)64 << 20) /* of all ranks together */

/* How far a rank's clock was ahead of rank 0's, to within error_ns, at a time of rank 0's. */
struct clock_read {
    int64_t ahead_ns;
    uint64_t error_ns, at_ns;
};

static struct {
    const struct hop_mpi_job *job;
    struct clock_read *first, *last; /* by rank, at rank 0 */
    uint64_t begin_ns;
    struct hop_trace_options options; /* how collectives are made */
    struct hop_buffer json, text;
    struct hop_mpi_record record; /* at rank 0, at the end */
    bool whole;
} own;

/* ---- clocks ---- */

static struct clock_read read_clock(int rank)
{
    struct clock_read best = {.error_ns = UINT64_MAX};
    for (int i = 0; i < ASKED_OFTEN; i++) {
        uint64_t begin = hop_now_ns(), theirs = 0;
        if (own.job->mpi->reply(rank, &begin, sizeof begin) != 0 ||
            own.job->mpi->receive(rank, &theirs, sizeof theirs) != 0)
            break;
        uint64_t end = hop_now_ns(), middle = begin + (end - begin) / 2;
        if ((end - begin) / 2 < best.error_ns)
            best = (struct clock_read){(int64_t)(theirs - middle), (end - begin) / 2, middle};
    }
    return best;
}

/* All ranks call it. NULL but at rank 0. */
static struct clock_read *read_clocks(void)
{
    struct clock_read *clocks = own.job->rank == 0 ? calloc((size_t)own.job->ranks, sizeof *clocks) : NULL;
    for (int r = 1; r < own.job->ranks && own.job->rank == 0; r++) {
        struct clock_read clock = read_clock(r);
        if (clocks)
            clocks[r] = clock;
    }
    for (int i = 0; i < ASKED_OFTEN && own.job->rank > 0; i++) {
        uint64_t now = 0;
        (void)own.job->mpi->receive(0, &now, sizeof now);
        now = hop_now_ns();
        (void)own.job->mpi->send(&now, sizeof now);
    }
    return clocks;
}

static bool may_be_none(const struct clock_read *clock)
{
    return (uint64_t)llabs(clock->ahead_ns) <= clock->error_ns;
}

/* A time by that rank's clock as one by rank 0's. Clocks that may be one clock are. */
static uint64_t by_rank_0(uint32_t rank, uint64_t ns)
{
    if (!own.first || !own.last)
        return ns;
    const struct clock_read *a = &own.first[rank], *b = &own.last[rank];
    if (may_be_none(a) && may_be_none(b))
        return ns;
    double part = b->at_ns > a->at_ns
                      ? (double)((int64_t)ns - a->ahead_ns - (int64_t)a->at_ns) / (double)(b->at_ns - a->at_ns)
                      : 0;
    return (uint64_t)((int64_t)ns - a->ahead_ns - (int64_t)(part * (double)(b->ahead_ns - a->ahead_ns)));
}

/* ---- beginning ---- */

static uint64_t limit_of(const struct hop_mpi_job *job)
{
    const char *text = job->asked[ASKED_RECORD_LIMIT];
    struct hop_diag diag;
    uint64_t bytes = LIMIT_BYTES;
    if (text[0] && hop_parse_bytes(text, strlen(text), &bytes, &diag) != HOP_OK) {
        bytes = LIMIT_BYTES;
        if (job->rank == 0)
            hop_mpi_tell("HOPCAST_MPI_RECORD_LIMIT=%s: %s; it is 64MiB", text, diag.what);
    }
    return bytes / (uint64_t)job->ranks;
}

static void choose_algorithms(const struct hop_mpi_job *job)
{
    const char *text = job->asked[ASKED_RECORD_COLLECTIVES];
    struct hop_diag diag;
    own.options = (struct hop_trace_options){.size = sizeof own.options};
    if (text[0] && hop_trace_options_parse(text, &own.options, &diag) != HOP_OK && job->rank == 0)
        hop_mpi_tell("HOPCAST_MPI_RECORD_COLLECTIVES=%s: %s; expected %s", text, diag.what, diag.expected);
}

/* A job that another one has spawned puts its number before the name's end. */
static const char *name_file(void)
{
    static char path[HOP_MPI_ASKED_SIZE + 32];
    const char *name = own.job->asked[ASKED_RECORD], *slash = strrchr(name, '/'), *end = strrchr(slash ? slash : name, '.');
    int length = end ? (int)(end - name) : (int)strlen(name);
    if (!name[0] || !own.job->mpi->is_spawned())
        return name;
    (void)snprintf(path, sizeof path, "%.*s.job%ld%s", length, name, (long)getpid(), end ? end : "");
    return path;
}

static const char *name_times(void)
{
    return own.job->mpi->is_spawned() ? "" : own.job->asked[ASKED_RECORD_TIMES];
}

/* Before hours of a run, and not behind them. All ranks alike. */
static bool can_be_written(void)
{
    const char *const paths[] = {name_file(), name_times()};
    bool fine = true;
    for (size_t i = 0; i < HOP_COUNT(paths) && own.job->rank == 0; i++) {
        if (!paths[i][0] || hop_can_replace(paths[i]))
            continue;
        hop_mpi_tell("%s cannot be written: %s; expected: a folder that is there, and may be "
                     "written to; nothing is recorded",
                     paths[i], strerror(errno));
        fine = false;
    }
    return own.job->mpi->all_agree(fine);
}

bool hop_record_begin(const struct hop_mpi_job *job)
{
    if (!job->asked[ASKED_RECORD][0] && strcmp(job->asked[ASKED_WAITING], "1") != 0) {
        if (job->asked[ASKED_RECORD_TIMES][0] && job->rank == 0)
            hop_mpi_tell("HOPCAST_MPI_RECORD_TIMES does nothing without HOPCAST_MPI_RECORD or "
                         "HOPCAST_MPI_WAITING=1");
        return false;
    }
    own.job = job;
    if (!can_be_written()) {
        own.job = NULL;
        return false;
    }
    hop_calls_begin(job->mpi);
    hop_log_begin(limit_of(job));
    choose_algorithms(job);
    own.first = read_clocks();
    own.begin_ns = hop_now_ns();
    return true;
}

/* ---- all ranks' together ---- */

/* At rank 0, which has read how many there are. */
static bool receive_items(struct hop_mpi_record *record, const struct hop_item *mine)
{
    bool fine = true;
    memcpy(record->items, mine, record->rank[0].count * sizeof *mine);
    for (uint32_t r = 1; r < record->ranks && fine; r++)
        fine = own.job->mpi->receive((int)r, record->items + record->first[r],
                                     record->rank[r].count * sizeof *record->items) == 0;
    return fine;
}

static bool make_room(struct hop_mpi_record *record)
{
    uint64_t all = 0;
    record->first = hop_arena_alloc(&record->arena, (record->ranks + 1) * sizeof *record->first);
    for (uint32_t r = 0; r < record->ranks; r++) {
        if (record->first)
            record->first[r] = (uint32_t)all;
        all += record->rank[r].count;
    }
    if (record->first && all < HOP_NONE) {
        record->first[record->ranks] = (uint32_t)all;
        record->items = hop_arena_alloc(&record->arena, (all + 1) * sizeof *record->items);
    }
    return record->items != NULL;
}

/* All ranks call it. True: at rank 0, all is there. */
static bool gather(struct hop_mpi_record *record, const struct hop_mpi_record_rank *about, const struct hop_item *mine)
{
    const struct hop_mpi_shim *mpi = own.job->mpi;
    record->ranks = (uint32_t)own.job->ranks;
    record->library = own.job->library;
    record->rank = hop_arena_alloc(&record->arena, record->ranks * sizeof *record->rank);
    if (!mpi->all_agree(record->rank && mine) || mpi->gather(about, sizeof *about, record->rank) != 0)
        return false;
    bool fine = own.job->rank > 0 || make_room(record);
    if (!mpi->all_agree(fine))
        return false;
    if (own.job->rank > 0)
        return mpi->send(mine, about->count * sizeof *mine) == 0 && false;
    return receive_items(record, mine);
}

/* ---- one time for all ---- */

/* When the first rank could keep no more; UINT64_MAX: all was kept. */
static uint64_t cut_of(const struct hop_mpi_record *record)
{
    uint64_t cut = UINT64_MAX;
    for (uint32_t r = 0; r < record->ranks; r++) {
        uint64_t full = record->rank[r].full_ns;
        if (full && by_rank_0(r, full) < cut)
            cut = by_rank_0(r, full);
    }
    return cut;
}

/* What a rank began from then on is no part of the record: where its log is cut. */
static uint32_t items_before(const struct hop_mpi_record *record, uint32_t rank, uint64_t cut)
{
    uint32_t i = record->first[rank];
    for (; i < record->first[rank] + record->rank[rank].count; i++) {
        if (record->items[i].kind == ITEM_CALL && by_rank_0(rank, record->items[i].where) >= cut)
            break;
    }
    return i - record->first[rank];
}

static void set_times(struct hop_mpi_record *record)
{
    uint64_t zero = UINT64_MAX, cut = cut_of(record);
    for (uint32_t r = 0; r < record->ranks; r++) {
        record->rank[r].begin_ns = by_rank_0(r, record->rank[r].begin_ns);
        if (record->rank[r].begin_ns < zero)
            zero = record->rank[r].begin_ns;
    }
    for (uint32_t r = 0; r < record->ranks; r++) {
        struct hop_mpi_record_rank *rank = &record->rank[r];
        uint64_t end = by_rank_0(r, rank->end_ns);
        rank->count = items_before(record, r, cut);
        rank->begin_ns -= zero;
        rank->end_ns = (end < cut ? end : cut) - zero;
        rank->full_ns = rank->full_ns ? by_rank_0(r, rank->full_ns) - zero : 0;
        for (uint32_t i = record->first[r]; i < record->first[r] + rank->count; i++) {
            struct hop_item *item = &record->items[i];
            if (item->kind != ITEM_CALL)
                continue;
            uint64_t took = item->size - item->where, begin = by_rank_0(r, item->where);
            item->where = begin > zero ? begin - zero : 0;
            item->size = item->where + took;
        }
    }
}

/* ---- ending ---- */

static void say_full(const struct hop_mpi_record *record)
{
    uint64_t cut = UINT64_MAX;
    uint32_t rank = 0;
    for (uint32_t r = 0; r < record->ranks; r++) {
        if (record->rank[r].full_ns && record->rank[r].full_ns < cut) {
            cut = record->rank[r].full_ns;
            rank = r;
        }
    }
    if (cut != UINT64_MAX)
        hop_mpi_tell("rank %" PRIu32 " could keep no more calls after %.3f s: what is recorded "
                     "ends there; HOPCAST_MPI_RECORD_LIMIT (64MiB, of all ranks together) says how much is kept",
                     rank, (double)cut * 1e-9);
}

void hop_record_end(void)
{
    uint32_t count = 0;
    if (!own.job)
        return;
    struct hop_mpi_record_rank about = {own.begin_ns, hop_now_ns(), hop_log_full_ns(), 0};
    struct hop_item *mine = hop_log_take(&count);
    about.count = count;
    own.last = read_clocks();
    bool fine = gather(&own.record, &about, mine);
    if (fine) {
        memcpy(own.record.algorithms, own.options.algorithm, sizeof own.record.algorithms);
        set_times(&own.record);
        say_full(&own.record);
        own.whole = hop_record_match(&own.record) && hop_record_waiting(&own.record, &own.json, &own.text);
    }
    if (own.job->rank == 0 && !own.whole)
        hop_mpi_tell("the record is lost: no %s", fine ? "memory" : "memory or no connection");
    free(mine);
}

void hop_record_write_files(void)
{
    struct hop_diag diag = {0};
    if (!own.job)
        return;
    const char *path = name_file(), *times = name_times();
    if (own.whole && path[0] && hop_record_write(&own.record, path, &diag) != HOP_OK)
        hop_mpi_tell("no schedule %s: %s%s%s", path, diag.what, diag.expected[0] ? "; expected: " : "", diag.expected);
    if (own.whole && times[0] && hop_record_write_times(&own.record, times, &diag) != HOP_OK)
        hop_mpi_tell("no times %s: %s", times, diag.what);
    free(own.first);
    free(own.last);
    hop_arena_finish(&own.record.arena);
    own.record = (struct hop_mpi_record){0};
    own.whole = false;
    own.job = NULL;
}

const char *hop_record_json(void)
{
    return own.json.failed ? NULL : own.json.text;
}

const char *hop_record_text(void)
{
    return own.text.failed ? NULL : own.text.text;
}
