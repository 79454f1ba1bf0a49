/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The record as a schedule, rank by rank in the order of its calls. What a thread does next waits for its front, the
 * operations that its last call waited for:
 *
 *     the time since that call      work, behind the front, and then the front itself
 *     what a call begins            behind the front
 *     what it waits for             becomes the front, or a part of it
 */
#include "base/replace.h"
#include "mpi/engine/record_emit.h"
#include "schedule/schedule.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

enum { FRONT_MOST = 2 };

/* ---- operations ---- */

static uint32_t add_work(struct hop_emitter *e, const char *name, uint64_t ns, const struct hop_thread_front *t)
{
    struct hop_op op = hop_op_default(HOP_OP_WORK);
    op.from = op.to = hop_emit_place(e, e->rank);
    op.duration_s = (double)ns / 1e9;
    op.cpu = (uint16_t)(t - e->threads);
    return hop_emit_op(e, &op, name, &t->front);
}

/* What comes next waits for few. */
static void join(struct hop_emitter *e, struct hop_thread_front *t)
{
    uint32_t op = t->front.count > FRONT_MOST ? hop_emit_join(e, &t->front) : HOP_NONE;
    t->front.count = op == HOP_NONE ? t->front.count : 0;
    hop_emit_add_to(e, &t->front, op);
}

static bool is_used(const struct hop_emitter *e, uint32_t item)
{
    uint32_t partner = e->record->partner[item];
    return partner != HOP_NONE && !hop_record_paused(e->record, item) && !hop_record_paused(e->record, partner);
}

/* ---- collectives ---- */

static void find_left_out(struct hop_emitter *e)
{
    const struct hop_mpi_record *record = e->record;
    for (uint32_t c = 0; c < record->collectives; c++) {
        for (uint32_t m = record->member_first[c]; m < record->member_first[c + 1]; m++)
            e->left_out[c] = e->left_out[c] || hop_record_paused(record, record->members[m]);
    }
}

static void add_together(struct hop_emitter *e, uint32_t item, struct hop_thread_front *t)
{
    const struct hop_item *about = &e->record->items[item];
    if (e->record->partner[item] == HOP_NONE || e->left_out[e->record->partner[item]])
        return;
    hop_emit_copy_to(e, &e->together, &t->front);
    hop_emit_collective(e, item);
    if (e->together.count == 0)
        return; /* nothing for this rank */
    if (about->flags & ITEM_LATER) {
        e->op_of[item] = hop_emit_join(e, &e->together);
    } else {
        hop_emit_copy_to(e, &t->front, &e->together);
    }
}

/* ---- calls ---- */

static void add_one_sided(struct hop_emitter *e, uint32_t item, struct hop_thread_front *t)
{
    const struct hop_item *about = &e->record->items[item];
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    if (about->peer < 0 || about->peer == (int32_t)e->rank || hop_record_paused(e->record, item))
        return;
    op.from = hop_emit_place(e, about->kind == ITEM_PUT ? e->rank : (uint32_t)about->peer);
    op.to = hop_emit_place(e, about->kind == ITEM_PUT ? (uint32_t)about->peer : e->rank);
    op.by = about->kind == ITEM_PUT ? -1 : (int32_t)e->rank;
    op.bytes = about->size;
    e->op_of[item] = hop_emit_op(e, &op, e->name, &t->front);
    e->named++;
    e->messages++;
    e->bytes += about->size;
    if (!HOP_GROW(&e->arena, e->under_way, e->under_way_count + 1))
        e->failed = true;
    else
        e->under_way[e->under_way_count++] = (struct hop_under_way){about->where, about->peer, e->op_of[item]};
}

static void sync(struct hop_emitter *e, const struct hop_item *about, struct hop_thread_front *t)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < e->under_way_count; i++) {
        struct hop_under_way one = e->under_way[i];
        if (one.window == about->where && (about->peer < 0 || about->peer == one.peer))
            hop_emit_add_to(e, &t->front, one.op);
        else
            e->under_way[kept++] = one;
    }
    e->under_way_count = kept;
}

/* A synchronous send ends when an answer comes from who has received. */
static uint32_t add_answer(struct hop_emitter *e, const struct hop_item *about, const struct hop_item *sent,
                           uint32_t op)
{
    const char *name = e->name;
    e->came.count = 0;
    hop_emit_add_to(e, &e->came, op);
    e->name = "answer";
    uint32_t answer = hop_emit_message(e, about == sent ? HOP_OP_RECEIVE : HOP_OP_SEND, (uint32_t)about->peer, 0,
                                       hop_emit_tag(e, ~about->where, about->tag | HOP_TAG_ANSWERS), &e->came);
    e->name = name;
    e->messages -= about != sent;
    e->rounds += about != sent;
    return about == sent ? answer : op;
}

static void add_begun(struct hop_emitter *e, uint32_t item, struct hop_thread_front *t)
{
    const struct hop_item *about = &e->record->items[item];
    enum hop_op_kind kind = about->kind == ITEM_SEND ? HOP_OP_SEND : HOP_OP_RECEIVE;
    if (!is_used(e, item))
        return;
    const struct hop_item *sent = about->kind == ITEM_SEND ? about : &e->record->items[e->record->partner[item]];
    e->eager = (about->flags & ITEM_EAGER) != 0;
    uint32_t op = hop_emit_message(e, kind, (uint32_t)about->peer, sent->size,
                                   hop_emit_tag(e, about->where, about->tag), &e->before);
    e->eager = false;
    if (sent->flags & ITEM_ANSWERED)
        op = add_answer(e, about, sent, op);
    if (about == sent && hop_calls_kind(e->record->items[e->record->call[item]].call) < KIND_POINT) { /* of an epoch */
        e->messages--;
        e->rounds++;
    }
    e->op_of[item] = op;
    if (!(about->flags & ITEM_LATER))
        hop_emit_add_to(e, &t->front, op);
}

static struct hop_thread_front *thread_of(struct hop_emitter *e, uint32_t thread)
{
    for (uint32_t i = 0; i < e->thread_count; i++) {
        if (e->threads[i].thread == thread)
            return &e->threads[i];
    }
    if (!HOP_GROW(&e->arena, e->threads, e->thread_count + 1)) {
        e->failed = true;
        return NULL;
    }
    struct hop_thread_front *t = &e->threads[e->thread_count++]; /* with the room of another rank's */
    *t = (struct hop_thread_front){.thread = thread, .front.ops = t->front.ops};
    return t;
}

/* What went by between a thread's calls was its own; but not where it asked again at once. */
static void add_gap(struct hop_emitter *e, struct hop_thread_front *t, uint64_t until_ns, uint32_t own_ns)
{
    uint64_t gap = until_ns > t->left_ns + own_ns ? until_ns - t->left_ns - own_ns : 0;
    if (gap == 0 || (t->asked && gap < HOP_RECORD_POLL_NS))
        return;
    uint32_t op = add_work(e, "work", gap, t);
    t->front.count = 0;
    hop_emit_add_to(e, &t->front, op);
}

static void add_items(struct hop_emitter *e, uint32_t call, struct hop_thread_front *t)
{
    const struct hop_mpi_record *record = e->record;
    uint32_t first = record->first[e->rank], end = first + (uint32_t)record->rank[e->rank].count;
    bool blocking = false;
    hop_emit_copy_to(e, &e->before, &t->front);
    for (uint32_t i = call + 1; i < end && record->items[i].kind != ITEM_CALL; i++) {
        const struct hop_item *item = &record->items[i];
        bool message = item->kind == ITEM_SEND || item->kind == ITEM_RECEIVE;
        if (message && !(item->flags & ITEM_LATER) && is_used(e, i) && !blocking) {
            t->front.count = 0; /* what it waits for itself is behind that */
            blocking = true;
        }
        if (message)
            add_begun(e, i, t);
        else if (item->kind == ITEM_TOGETHER)
            add_together(e, i, t);
        else if (item->kind == ITEM_PUT || item->kind == ITEM_GET)
            add_one_sided(e, i, t);
        else if (item->kind == ITEM_SYNC)
            sync(e, item, t);
        if (item->kind == ITEM_SYNC && i + 1 < end && record->items[i + 1].kind == ITEM_RECEIVE)
            hop_emit_copy_to(e, &e->before, &t->front); /* MPI_Win_complete is told to targets behind what was put */
        for (int32_t k = 0; item->kind == ITEM_DONE && k <= item->peer; k++)
            hop_emit_add_to(e, &t->front, e->op_of[first + item->where + (uint32_t)k]);
    }
}

static void add_call(struct hop_emitter *e, uint32_t item)
{
    const struct hop_item *call = &e->record->items[item];
    struct hop_thread_front *t = thread_of(e, call->tag);
    if (!t)
        return;
    e->name = hop_calls_name(call->call) + strlen("MPI_");
    e->named = 0;
    add_gap(e, t, call->where, call->own_ns);
    add_items(e, item, t);
    join(e, t);
    t->left_ns = call->size;
    t->asked = call->flags & ITEM_POLL;
    e->call++;
}

static void add_rank(struct hop_emitter *e, uint32_t rank)
{
    const struct hop_mpi_record *record = e->record;
    struct hop_thread_front *last = NULL;
    e->rank = rank;
    e->call = e->thread_count = e->under_way_count = 0;
    for (uint32_t i = record->first[rank]; i < record->first[rank] + record->rank[rank].count && !e->failed; i++) {
        if (record->items[i].kind == ITEM_CALL)
            add_call(e, i);
    }
    for (uint32_t t = 0; t < e->thread_count; t++)
        last = !last || e->threads[t].left_ns > last->left_ns ? &e->threads[t] : last;
    e->named = 0;
    if (!last)
        last = thread_of(e, 0); /* who did nothing is a rank, too */
    if (last)
        add_gap(e, last, record->rank[rank].end_ns, 0);
}

/* ---- all ---- */

struct not_predicted {
    uint64_t recording_ns, paused_ns;
};

/* Of the rank where that is most: what is in the time that was measured and in no prediction. */
static struct not_predicted find_not_predicted(const struct hop_mpi_record *record)
{
    struct not_predicted most = {0};
    for (uint32_t r = 0; r < record->ranks; r++) {
        struct not_predicted own = {0};
        for (uint32_t i = record->first[r]; i < record->first[r] + record->rank[r].count; i++) {
            const struct hop_item *item = &record->items[i];
            bool call = item->kind == ITEM_CALL;
            own.recording_ns += call ? item->own_ns : 0;
            own.paused_ns += call && (item->flags & ITEM_PAUSED) ? item->size - item->where : 0;
        }
        if (own.recording_ns + own.paused_ns > most.recording_ns + most.paused_ns)
            most = own;
    }
    return most;
}

static void add_head(struct hop_emitter *e, uint64_t end_ns)
{
    const struct hop_mpi_record *record = e->record;
    hop_schedule_add_comment(e->schedule, "recorded by libhopcast_mpi.so: %" PRIu32 " ranks of %s", record->ranks,
                             record->library);
    hop_schedule_add_comment(e->schedule, "measured %.9f s, from the first MPI_Init's end to the last MPI_Finalize",
                             (double)end_ns / 1e9);
    hop_schedule_add_comment(
        e->schedule, "%" PRIu64 " messages of %" PRIu64 " bytes, and %" PRIu64 " of barriers, epochs and answers",
        e->messages, e->bytes, e->rounds);
    struct not_predicted more = find_not_predicted(record);
    if (more.recording_ns + more.paused_ns)
        hop_schedule_add_comment(e->schedule, "recording took %.9f s, calls that MPI_Pcontrol left out %.9f s",
                                 (double)more.recording_ns / 1e9, (double)more.paused_ns / 1e9);
    for (int kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        if (record->algorithms[kind] != HOP_ALGORITHM_DEFAULT)
            hop_schedule_add_comment(e->schedule, "%s of equal parts: %s",
                                     hop_collective_name((enum hop_collective_kind)kind),
                                     hop_algorithm_name(record->algorithms[kind]));
    }
    if (record->to_itself)
        hop_schedule_add_comment(e->schedule, "left out: %" PRIu64 " messages of ranks to themselves",
                                 record->to_itself);
    if (record->alone)
        hop_schedule_add_comment(e->schedule,
                                 "left out: %" PRIu64 " sends, receives and collectives without the other side's",
                                 record->alone);
}

static bool make_room(struct hop_emitter *e)
{
    const struct hop_mpi_record *record = e->record;
    size_t count = (size_t)record->first[record->ranks] + 2;
    e->devices = hop_arena_alloc(&e->arena, record->ranks * sizeof *e->devices);
    e->op_of = hop_arena_alloc(&e->arena, count * sizeof *e->op_of);
    e->left_out = hop_arena_alloc(&e->arena, count * sizeof *e->left_out);
    e->made_by = hop_arena_alloc(&e->arena, count * sizeof *e->made_by);
    if (!e->devices || !e->op_of || !e->made_by || !e->left_out)
        return false;
    memset(e->op_of, 0xff, count * sizeof *e->op_of); /* HOP_NONE */
    for (uint32_t r = 0; r < record->ranks; r++)
        (void)snprintf(e->devices[r], sizeof e->devices[r], "rank%" PRIu32, r);
    return true;
}

/* About as many operations as there will be, told before they take memory that the program's machine does not have. */
static enum hop_status check_count(struct hop_emitter *e, struct hop_diag *diag)
{
    const struct hop_mpi_record *record = e->record;
    uint64_t others = 0, collectives = 0;
    for (uint32_t i = 0; i < record->first[record->ranks]; i++)
        others += record->items[i].kind != ITEM_PART && record->items[i].kind != ITEM_DONE;
    for (uint32_t c = 0; c < record->collectives; c++)
        collectives += e->left_out[c] ? 0 : hop_emit_count(e, c);
    enum hop_status status =
        hop_schedule_check_count("the recorded run", false, others + collectives, HOP_OP_LIMIT, diag);
    if (status != HOP_OK && collectives > others) {
        size_t used = strlen(diag->expected);
        (void)snprintf(diag->expected + used, sizeof diag->expected - used,
                       "; %.0f %% are of collectives, which have fewer by an algorithm "
                       "(HOPCAST_MPI_RECORD_COLLECTIVES=allreduce=doubling)",
                       100 * (double)collectives / (double)(others + collectives));
    }
    return status;
}

static enum hop_status make(struct hop_emitter *e, struct hop_schedule **schedule, struct hop_diag *diag)
{
    uint64_t end_ns = 0;
    enum hop_status status = HOP_OK;
    e->schedule = hop_schedule_create("recorded");
    e->failed = !e->schedule || !make_room(e);
    if (!e->failed) {
        hop_schedule_set_queue_ready(e->schedule, true);
        find_left_out(e);
        hop_emit_number_tags(e);
        status = check_count(e, diag);
    }
    if (status != HOP_OK) {
        hop_schedule_destroy(e->schedule);
        return status;
    }
    for (uint32_t r = 0; r < e->record->ranks && !e->failed; r++) {
        add_rank(e, r);
        end_ns = e->record->rank[r].end_ns > end_ns ? e->record->rank[r].end_ns : end_ns;
    }
    if (e->failed) {
        hop_schedule_destroy(e->schedule);
        return hop_fail_memory(diag);
    }
    add_head(e, end_ns);
    return hop_schedule_finish(e->schedule, schedule, diag);
}

static bool ends_in(const char *path, const char *end)
{
    size_t length = strlen(path), own = strlen(end);
    return length > own && strcmp(path + length - own, end) == 0;
}

static bool write_piece(void *context, const char *text, size_t size)
{
    return hop_replacing_write(context, text, size);
}

static enum hop_status write_file(const struct hop_schedule *schedule, const char *path, struct hop_diag *diag)
{
    struct hop_replacing file;
    char *text = NULL;
    if (ends_in(path, ".goal"))
        HOP_CHECK(hop_schedule_to_goal(schedule, 0, &text, diag));
    else if (ends_in(path, ".json") && !(text = hop_schedule_to_json(schedule)))
        return hop_fail_memory(diag);
    bool begun = hop_replacing_begin(&file, path);
    bool fine = begun && (text ? hop_replacing_write(&file, text, strlen(text))
                               : hop_schedule_write_text(schedule, write_piece, &file));
    fine = begun && hop_replacing_end(&file, fine);
    free(text);
    return fine ? HOP_OK : hop_fail(diag, hop_status_of_error(errno), "%s", strerror(errno));
}

enum hop_status hop_record_write(const struct hop_mpi_record *record, const char *path, struct hop_diag *diag)
{
    struct hop_emitter e = {.record = record, .local = !ends_in(path, ".goal")};
    struct hop_schedule *schedule = NULL;
    enum hop_status status = make(&e, &schedule, diag);
    if (status == HOP_OK)
        status = write_file(schedule, path, diag);
    hop_schedule_destroy(schedule);
    hop_emit_finish_collectives(&e);
    hop_arena_finish(&e.arena);
    return status;
}

enum hop_status hop_record_write_times(const struct hop_mpi_record *record, const char *path, struct hop_diag *diag)
{
    struct hop_buffer text = {0};
    hop_buffer_puts(&text, "rank,call,function,begin_s,took_s\n");
    for (uint32_t r = 0; r < record->ranks; r++) {
        uint32_t number = 0;
        for (uint32_t i = record->first[r]; i < record->first[r] + record->rank[r].count; i++) {
            const struct hop_item *item = &record->items[i];
            if (item->kind == ITEM_CALL)
                hop_buffer_printf(&text, "%" PRIu32 ",%" PRIu32 ",%s,%.9f,%.9f\n", r, number++,
                                  hop_calls_name(item->call), (double)item->where / 1e9,
                                  (double)(item->size - item->where) / 1e9);
        }
    }
    char *whole = hop_buffer_take(&text);
    if (!whole)
        return hop_fail_memory(diag);
    bool fine = hop_replace_file(path, whole);
    free(whole);
    return fine ? HOP_OK : hop_fail(diag, hop_status_of_error(errno), "%s", strerror(errno));
}
