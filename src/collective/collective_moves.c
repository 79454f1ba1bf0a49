/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Moves: dependencies from the elements touched.
 *
 * Every buffer of a rank is a list of stretches in ascending order, each with who wrote it (sources) and, in a
 * schedule, who has read it since (readers). A read waits for the sources; a write waits for both and makes one stretch
 * of all it covers. Accesses are mostly near the last one, so a finger stays there.
 *
 *     data of rank 3:  [0, 8) by t4, read by t5 | [8, 16) by t7 | ... never touched ...
 *
 * As steps, what a reduction makes has the sources of its inputs; where these are many, a join stands for them,
 * made when the first message needs it.
 */
#include "collective/collective_moves.h"

#include <stdio.h>

#include "pattern/make.h"
#include "schedule/schedule.h"

#define NONE HOP_MOVE_NONE
#define LOOKS 100000000u   /* half a second */
#define PENDING (1u << 31) /* a join's number, in place of a step's */

struct stretch {
    uint64_t begin, end;
    uint32_t sources, readers; /* links */
    uint32_t previous, next;
};
struct link {
    uint32_t move, next;
};
struct track {
    uint32_t first, last, finger;
};
struct join {
    uint32_t member, step; /* NONE: not made yet */
    uint32_t first, count; /* of what it waits for, in `joined` */
};

struct hop_moves_inside {
    /* where moves go: one of the two */
    struct hop_schedule *schedule;
    struct hop_steps *steps;
    const char **devices; /* of each rank; these names and those of buffers are the schedule's */
    enum hop_reduce reduce;
    enum hop_type type;
    const char *names[HOP_MOVE_BUFFERS];
    uint32_t buffers;

    struct track *tracks[HOP_MOVE_BUFFERS]; /* by rank */
    struct stretch *stretches;
    uint32_t stretch_count, free;
    struct link *links;
    uint32_t link_count;
    uint32_t *wanted; /* what the move at hand waits for */
    uint32_t wanted_count;
    struct join *joins;
    uint32_t join_count;
    uint32_t *joined;
    uint32_t joined_count;
    uint32_t *last; /* 1 + each member's last message that went in turn */
};

/* ---- room ---- */

static bool fits(struct hop_moves *m, bool fine)
{
    if (!fine)
        hop_failure_set(&m->failure, HOP_ERR_MEMORY, "out of memory");
    return hop_moves_ok(m);
}

/* Of arrays that are the arena's. */
#define ROOM(m, array, need) fits((m), HOP_GROW(&(m)->arena, (array), (need)))

void *hop_moves_room(struct hop_moves *m, uint64_t count, size_t size)
{
    void *room = hop_moves_ok(m) && count < SIZE_MAX / size ? hop_arena_alloc(&m->arena, (count + 1) * size) : NULL;
    return fits(m, room != NULL) ? room : NULL;
}

static uint32_t new_link(struct hop_moves *m, uint32_t move, uint32_t next)
{
    struct hop_moves_inside *in = m->inside;
    if (!ROOM(m, in->links, in->link_count + 1))
        return NONE;
    in->links[in->link_count] = (struct link){move, next};
    return in->link_count++;
}

/* ---- stretches ---- */

static struct track *track_of(struct hop_moves *m, const struct hop_at *at)
{
    struct hop_moves_inside *in = m->inside;
    struct track **tracks = &in->tracks[at->buffer];
    if (!*tracks) {
        *tracks = hop_moves_room(m, m->ranks, sizeof **tracks);
        if (!*tracks)
            return NULL;
        memset(*tracks, 0xff, m->ranks * sizeof **tracks); /* NONE */
    }
    return *tracks + at->rank;
}

/* A new stretch in front of `next` (NONE: at the end). */
static uint32_t insert(struct hop_moves *m, struct track *track, uint64_t begin, uint64_t end, uint32_t next)
{
    struct hop_moves_inside *in = m->inside;
    uint32_t s = in->free;
    if (s != NONE) {
        in->free = in->stretches[s].next;
    } else {
        if (!ROOM(m, in->stretches, in->stretch_count + 1))
            return NONE;
        s = in->stretch_count++;
    }
    uint32_t previous = next != NONE ? in->stretches[next].previous : track->last;
    in->stretches[s] = (struct stretch){begin, end, NONE, NONE, previous, next};
    *(previous != NONE ? &in->stretches[previous].next : &track->first) = s;
    *(next != NONE ? &in->stretches[next].previous : &track->last) = s;
    return s;
}

static void take_out(struct hop_moves *m, struct track *track, uint32_t s)
{
    struct hop_moves_inside *in = m->inside;
    struct stretch *old = &in->stretches[s];
    *(old->previous != NONE ? &in->stretches[old->previous].next : &track->first) = old->next;
    *(old->next != NONE ? &in->stretches[old->next].previous : &track->last) = old->previous;
    old->next = in->free;
    in->free = s;
}

/* The first stretch that ends behind `begin`. */
static uint32_t seek(struct hop_moves *m, struct track *track, uint64_t begin)
{
    const struct stretch *all = m->inside->stretches;
    uint32_t s = track->finger != NONE ? track->finger : track->first;
    while (s != NONE && all[s].previous != NONE && all[all[s].previous].end > begin)
        s = all[s].previous;
    while (s != NONE && all[s].end <= begin)
        s = all[s].next;
    track->finger = s != NONE ? s : track->last;
    return s;
}

/* Cuts a stretch at `at`, inside it; returns the right half. */
static uint32_t cut(struct hop_moves *m, struct track *track, uint32_t s, uint64_t at)
{
    struct stretch left = m->inside->stretches[s];
    uint32_t right = insert(m, track, at, left.end, left.next);
    if (right != NONE) {
        struct stretch *all = m->inside->stretches;
        all[right].sources = left.sources;
        all[right].readers = left.readers; /* lists only grow at their heads: halves may share the rest */
        all[s].end = at;
    }
    return right;
}

/* Makes stretches cover [begin, end) exactly; returns the first. */
static uint32_t cover(struct hop_moves *m, struct track *track, uint64_t begin, uint64_t end)
{
    uint32_t s = seek(m, track, begin), first = NONE;
    if (s != NONE && m->inside->stretches[s].begin < begin)
        s = cut(m, track, s, begin);
    for (uint64_t at = begin; at < end && hop_moves_ok(m);) {
        uint64_t here = s != NONE ? m->inside->stretches[s].begin : end;
        if (here > at)
            s = insert(m, track, at, here < end ? here : end, s);
        else if (m->inside->stretches[s].end > end)
            (void)cut(m, track, s, end);
        if (!hop_moves_ok(m))
            return NONE;
        first = first == NONE ? s : first;
        at = m->inside->stretches[s].end;
        s = m->inside->stretches[s].next;
    }
    track->finger = first;
    return first;
}

/* ---- what a move waits for ---- */

static void want(struct hop_moves *m, uint32_t links)
{
    struct hop_moves_inside *in = m->inside;
    for (; links != NONE; links = in->links[links].next) {
        if (!ROOM(m, in->wanted, in->wanted_count + 1))
            return;
        in->wanted[in->wanted_count++] = in->links[links].move;
    }
}

static void want_read(struct hop_moves *m, const struct hop_at *at, uint64_t count)
{
    struct track *track = track_of(m, at);
    if (!track)
        return;
    uint64_t end = at->offset + count;
    for (uint32_t s = seek(m, track, at->offset); s != NONE && m->inside->stretches[s].begin < end;
         s = m->inside->stretches[s].next)
        want(m, m->inside->stretches[s].sources);
}

static void want_write(struct hop_moves *m, const struct hop_at *at, uint64_t count)
{
    struct track *track = m->inside->schedule ? track_of(m, at) : NULL;
    if (!track)
        return;
    uint64_t end = at->offset + count;
    for (uint32_t s = seek(m, track, at->offset); s != NONE && m->inside->stretches[s].begin < end;
         s = m->inside->stretches[s].next) {
        want(m, m->inside->stretches[s].sources);
        want(m, m->inside->stretches[s].readers);
    }
}

static void mark_read(struct hop_moves *m, const struct hop_at *at, uint64_t count, uint32_t move)
{
    struct track *track = m->inside->schedule && hop_moves_ok(m) ? track_of(m, at) : NULL;
    uint64_t end = at->offset + count;
    uint32_t s = track ? cover(m, track, at->offset, end) : NONE;
    for (; s != NONE && m->inside->stretches[s].begin < end; s = m->inside->stretches[s].next) {
        uint32_t readers = new_link(m, move, m->inside->stretches[s].readers);
        m->inside->stretches[s].readers = readers;
    }
}

static void mark_write(struct hop_moves *m, const struct hop_at *at, uint64_t count, uint32_t sources)
{
    struct track *track = hop_moves_ok(m) ? track_of(m, at) : NULL;
    uint64_t end = at->offset + count;
    uint32_t first = track ? cover(m, track, at->offset, end) : NONE;
    if (first == NONE)
        return;
    struct stretch *all = m->inside->stretches;
    for (uint32_t next = all[first].next; next != NONE && all[next].begin < end; next = all[first].next)
        take_out(m, track, next);
    all[first].end = end;
    all[first].sources = sources;
    all[first].readers = NONE;
}

static void sort_wanted(struct hop_moves *m)
{
    struct hop_moves_inside *in = m->inside;
    uint32_t kept = 0;
    if (in->wanted_count > 1)
        qsort(in->wanted, in->wanted_count, sizeof *in->wanted, hop_ascending_u32);
    for (uint32_t i = 0; i < in->wanted_count; i++) {
        if (kept == 0 || in->wanted[i] != in->wanted[kept - 1])
            in->wanted[kept++] = in->wanted[i];
    }
    in->wanted_count = kept;
}

/* Of wanted ones, PENDING or not. */
static int by_move(const void *a, const void *b)
{
    uint32_t x = *(const uint32_t *)a & ~PENDING, y = *(const uint32_t *)b & ~PENDING;
    return HOP_ORDER(x, y);
}

/* Leaves out what another one that is waited for has waited for itself. */
static void thin_wanted(struct hop_moves *m)
{
    struct hop_moves_inside *in = m->inside;
    uint32_t kept = 0, count = in->wanted_count;
    for (uint32_t i = count; i-- > 1;) {
        const struct hop_op *op = hop_schedule_op(in->schedule, in->wanted[i] & ~PENDING);
        for (uint32_t k = 0; k < op->after_count; k++) {
            uint32_t *same = bsearch(&op->after[k], in->wanted, i, sizeof *in->wanted, by_move);
            if (same)
                *same |= PENDING; /* here: to be left out */
        }
    }
    for (uint32_t i = 0; i < count; i++) {
        if (!(in->wanted[i] & PENDING))
            in->wanted[kept++] = in->wanted[i];
    }
    in->wanted_count = kept;
}

/* ---- counting, and limits ---- */

void hop_moves_refuse_steps(struct hop_failure *failure, uint32_t ranks)
{
    hop_failure_set(failure, HOP_ERR_LIMIT,
                    "a collective of %u ranks takes more than %u messages\nfewer ranks, or an algorithm with fewer "
                    "messages",
                    ranks, HOP_COLLECTIVE_STEPS);
}

uint64_t hop_moves_repeat(struct hop_moves *m, uint64_t times)
{
    uint64_t before = m->times;
    if (__builtin_mul_overflow(m->times, times, &m->times))
        m->times = UINT64_MAX;
    return before;
}

void hop_moves_look(struct hop_moves *m, uint64_t count)
{
    m->looked += count;
    if (m->looked > LOOKS)
        hop_failure_set(
            &m->failure, HOP_ERR_LIMIT,
            "a collective of %u ranks goes through %llu pairs of them\nat most %u pairs: fewer ranks, or an "
            "algorithm in which not everyone meets everyone",
            m->ranks, (unsigned long long)m->looked, LOOKS);
}

/* Whether a move is only counted. */
static bool is_counted(struct hop_moves *m, bool does)
{
    if (!m->counting)
        return false;
    if (does && __builtin_add_overflow(m->counted, m->times, &m->counted))
        m->counted = UINT64_MAX;
    return true;
}

/* ---- into steps ---- */

/* Appends; what it waits for is `after`, ascending. Returns its number. */
static uint32_t add_step(struct hop_moves *m, struct hop_collective_step step, const uint32_t *after,
                         uint32_t after_count)
{
    struct hop_steps *steps = m->inside->steps;
    if (steps->count >= HOP_COLLECTIVE_STEPS || after_count >= HOP_COLLECTIVE_STEPS ||
        steps->after_count >= UINT32_MAX / 2 - after_count)
        hop_moves_refuse_steps(&m->failure, m->ranks);
    if (!hop_moves_ok(m) || !fits(m, HOP_GROW(&steps->arena, steps->steps, steps->count + 1) &&
                                         HOP_GROW(&steps->arena, steps->after, steps->after_count + after_count)))
        return NONE;
    step.first_after = steps->after_count;
    step.after_count = after_count;
    if (after_count)
        memcpy(steps->after + steps->after_count, after, after_count * sizeof *after);
    steps->after_count += after_count;
    steps->steps[steps->count] = step;
    return steps->count++;
}

/* Replaces joins by their steps, making those that are not made yet. */
static void resolve_joins(struct hop_moves *m, uint32_t *list, uint32_t count)
{
    struct hop_moves_inside *in = m->inside;
    for (uint32_t i = 0; i < count && hop_moves_ok(m); i++) {
        if (!(list[i] & PENDING))
            continue;
        uint32_t number = list[i] & ~PENDING;
        struct join *join = &in->joins[number];
        if (join->step == NONE) {
            resolve_joins(m, in->joined + join->first, join->count);
            struct hop_collective_step step = {.from = join->member, .to = join->member, .sums = true};
            join->step = add_step(m, step, in->joined + join->first, join->count);
        }
        list[i] = join->step;
    }
}

static uint32_t list_wanted(struct hop_moves *m)
{
    uint32_t list = NONE;
    for (uint32_t i = m->inside->wanted_count; i-- > 0;)
        list = new_link(m, m->inside->wanted[i], list);
    return list;
}

/* A join of what the move at hand waits for, as sources. */
static uint32_t new_join(struct hop_moves *m, uint32_t member)
{
    struct hop_moves_inside *in = m->inside;
    uint32_t count = in->wanted_count;
    if (!ROOM(m, in->joins, in->join_count + 1) || !ROOM(m, in->joined, in->joined_count + count))
        return NONE;
    in->joins[in->join_count] = (struct join){member, NONE, in->joined_count, count};
    memcpy(in->joined + in->joined_count, in->wanted, count * sizeof *in->wanted);
    in->joined_count += count;
    return new_link(m, PENDING | in->join_count++, NONE);
}

/* The sources of what a copy brings. */
static uint32_t step_copy(struct hop_moves *m, const struct hop_copy *copy)
{
    struct hop_moves_inside *in = m->inside;
    if (copy->from.rank == copy->to.rank)
        return list_wanted(m);
    resolve_joins(m, in->wanted, in->wanted_count);
    sort_wanted(m);
    struct hop_collective_step step = {.from = copy->from.rank,
                                       .to = copy->to.rank,
                                       .bytes = copy->count * m->width,
                                       .offset = copy->offset * m->width,
                                       .sums = copy->sums,
                                       .behind = copy->in_turn ? in->last[copy->from.rank] : 0};
    uint32_t made = add_step(m, step, in->wanted, in->wanted_count);
    if (copy->in_turn && made != NONE)
        in->last[copy->from.rank] = made + 1;
    return new_link(m, made, NONE);
}

/* ---- into a schedule ---- */

static struct hop_place place_of(const struct hop_moves *m, const struct hop_at *at)
{
    return (struct hop_place){.device = m->inside->devices[at->rank],
                              .buffer = m->inside->names[at->buffer],
                              .offset_bytes = at->offset * m->width,
                              .rank = (int32_t)at->rank};
}

/* Behind what stands at `at`: a text of up to 16 characters, and a number. Returns where they end. */
static char *put(char *at, const char *text, uint32_t number)
{
    size_t length = strnlen(text, 16);
    memcpy(at, text, length);
    return number != NONE ? hop_text_put_number(at + length, number) : at + length;
}

/* What checks and copying would do to each of millions is not done: a move is well formed, its names are unique. */
static uint32_t add_op(struct hop_moves *m, struct hop_op *op, const struct hop_label *label)
{
    struct hop_moves_inside *in = m->inside;
    struct hop_arena *arena = &in->schedule->arena;
    char name[160], *end = put(name, m->level, NONE);
    end = put(end, label->phase, label->round);
    if (label->rank != NONE)
        end = put(end, ".r", label->rank);
    if (label->other != NONE)
        end = put(end, ".to", label->other);
    if (m->segment != NONE)
        end = put(end, ".s", m->segment);
    if (m->piece != NONE && m->piece > 0)
        end = put(end, ".p", m->piece);
    thin_wanted(m);
    op->name = hop_arena_string(arena, name, (size_t)(end - name));
    op->after = hop_arena_numbers(arena, in->wanted, in->wanted_count);
    op->after_count = in->wanted_count;
    uint32_t index = hop_schedule_append(in->schedule, op);
    m->failure.status = hop_schedule_failure(in->schedule, m->failure.diag);
    return hop_moves_ok(m) ? new_link(m, index, NONE) : NONE;
}

static uint32_t op_copy(struct hop_moves *m, const struct hop_copy *copy)
{
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    op.from = place_of(m, &copy->from);
    op.to = place_of(m, &copy->to);
    op.bytes = copy->count * m->width;
    if (copy->pull && copy->from.rank != copy->to.rank)
        op.by = (int32_t)copy->to.rank;
    return add_op(m, &op, &copy->label);
}

static uint32_t op_reduce(struct hop_moves *m, const struct hop_label *label, const struct hop_at *inputs,
                          uint32_t input_count, const struct hop_at *outputs, uint32_t output_count, uint64_t count)
{
    struct hop_moves_inside *in = m->inside;
    uint32_t more = output_count - 1;
    struct hop_place *places = hop_arena_alloc(&in->schedule->arena, (input_count + more) * sizeof *places);
    if (!fits(m, places != NULL))
        return NONE;
    for (uint32_t i = 0; i < input_count; i++)
        places[i] = place_of(m, &inputs[i]);
    for (uint32_t i = 0; i < more; i++)
        places[input_count + i] = place_of(m, &outputs[i + 1]);
    struct hop_op op = hop_op_default(HOP_OP_REDUCE);
    op.reduce = in->reduce;
    op.type = in->type;
    op.inputs = places;
    op.input_count = input_count;
    op.from = op.to = place_of(m, &outputs[0]);
    op.outputs = more ? places + input_count : NULL;
    op.output_count = more;
    op.bytes = count * m->width;
    return add_op(m, &op, label);
}

/* ---- the two moves ---- */

static bool same_place(const struct hop_at *a, const struct hop_at *b)
{
    return a->rank == b->rank && a->buffer == b->buffer && a->offset == b->offset;
}

void hop_moves_copy(struct hop_moves *m, const struct hop_copy *copy)
{
    struct hop_moves_inside *in = m->inside;
    bool does = copy->count > 0 && !same_place(&copy->from, &copy->to);
    if (!hop_moves_ok(m) || is_counted(m, does) || !does)
        return;
    in->wanted_count = 0;
    want_read(m, &copy->from, copy->count);
    if (copy->also_count)
        want_read(m, &copy->also, copy->also_count);
    want_write(m, &copy->to, copy->count);
    if (!hop_moves_ok(m))
        return;
    sort_wanted(m);
    uint32_t sources = in->schedule ? op_copy(m, copy) : step_copy(m, copy);
    uint32_t move = sources != NONE ? in->links[sources].move : NONE;
    mark_read(m, &copy->from, copy->count, move);
    if (copy->also_count)
        mark_read(m, &copy->also, copy->also_count, move);
    mark_write(m, &copy->to, copy->count, sources);
}

/* Few enough places for one. */
static void reduce_once(struct hop_moves *m, const struct hop_label *label, const struct hop_at *inputs,
                        uint32_t input_count, const struct hop_at *outputs, uint32_t output_count, uint64_t count)
{
    struct hop_moves_inside *in = m->inside;
    if (!hop_moves_ok(m) || is_counted(m, true))
        return;
    in->wanted_count = 0;
    for (uint32_t i = 0; i < input_count; i++)
        want_read(m, &inputs[i], count);
    for (uint32_t i = 0; i < output_count; i++)
        want_write(m, &outputs[i], count);
    sort_wanted(m);
    uint32_t sources = in->schedule ? op_reduce(m, label, inputs, input_count, outputs, output_count, count)
                       : input_count > 2 && in->wanted_count > 1 ? new_join(m, outputs[0].rank)
                                                                 : list_wanted(m);
    uint32_t move = sources != NONE ? in->links[sources].move : NONE;
    for (uint32_t i = 0; i < input_count; i++)
        mark_read(m, &inputs[i], count, move);
    for (uint32_t i = 0; i < output_count; i++)
        mark_write(m, &outputs[i], count, sources);
}

/* Too many inputs: the first ones into a scratch place, then that and the next ones, and so on. Too many outputs: what
 * is left over is filled from there. */
static void reduce_in_turn(struct hop_moves *m, const struct hop_label *label, const struct hop_at *inputs,
                           uint32_t input_count, const struct hop_at *outputs, uint32_t output_count, uint64_t count)
{
    struct hop_at partial = {outputs[0].rank, hop_moves_scratch(m, "partial"), 0};
    struct hop_at some[HOP_MOVE_PLACES];
    uint32_t piece = m->piece;
    m->piece = piece != NONE ? piece * 100 : 0;
    for (uint32_t i = 0; i < input_count; m->piece++) {
        uint32_t used = i > 0, room = HOP_MOVE_PLACES - used;
        some[0] = partial;
        room = input_count - i < room ? input_count - i : room;
        memcpy(some + used, inputs + i, room * sizeof *some);
        reduce_once(m, label, some, used + room, &partial, 1, count);
        i += room;
    }
    for (uint32_t i = 0; i < output_count; i += HOP_MOVE_PLACES, m->piece++) {
        uint32_t room = output_count - i < HOP_MOVE_PLACES ? output_count - i : HOP_MOVE_PLACES;
        reduce_once(m, label, &partial, 1, outputs + i, room, count);
    }
    m->piece = piece;
}

void hop_moves_reduce(struct hop_moves *m, const struct hop_label *label, const struct hop_at *inputs,
                      uint32_t input_count, const struct hop_at *outputs, uint32_t output_count, uint64_t count)
{
    if (!hop_moves_ok(m) || count == 0)
        return;
    if (input_count == 1 && output_count == 1) {
        struct hop_copy copy = {.label = *label, .from = inputs[0], .to = outputs[0], .count = count, .pull = true};
        hop_moves_copy(m, &copy);
    } else if (!m->inside->steps && (input_count > HOP_MOVE_PLACES || output_count > HOP_MOVE_PLACES)) {
        reduce_in_turn(m, label, inputs, input_count, outputs, output_count, count);
    } else {
        reduce_once(m, label, inputs, input_count, outputs, output_count, count);
    }
}

/* Of a device or a buffer. */
static const char *keep_name(struct hop_moves *m, const char *name)
{
    struct hop_schedule *schedule = m->inside->schedule;
    const char *kept = schedule ? hop_schedule_intern(schedule, name) : hop_arena_string(&m->arena, name, strlen(name));
    return fits(m, kept != NULL) ? kept : NULL;
}

uint32_t hop_moves_scratch(struct hop_moves *m, const char *name)
{
    struct hop_moves_inside *in = m->inside;
    char full[48];
    (void)snprintf(full, sizeof full, "%.16s%.16s", m->level, name);
    for (uint32_t b = HOP_MOVE_OUT + 1; b < in->buffers; b++) {
        if (strcmp(in->names[b], full) == 0)
            return b;
    }
    if (in->buffers == HOP_MOVE_BUFFERS) {
        hop_failure_set(&m->failure, HOP_ERR_LIMIT, "a collective takes more than %d buffers", HOP_MOVE_BUFFERS);
        return HOP_MOVE_OUT;
    }
    in->names[in->buffers] = keep_name(m, full);
    return hop_moves_ok(m) ? in->buffers++ : HOP_MOVE_OUT;
}

/* ---- begin and end ---- */

static bool begin(struct hop_moves *m, uint32_t ranks, struct hop_diag *diag)
{
    *m = (struct hop_moves){
        .ranks = ranks, .width = 1, .level = "", .segment = NONE, .piece = NONE, .times = 1, .failure.diag = diag};
    m->inside = hop_moves_room(m, 1, sizeof *m->inside);
    m->device = hop_moves_room(m, ranks, sizeof *m->device);
    uint32_t *last = hop_moves_room(m, ranks, sizeof *last);
    if (!hop_moves_ok(m))
        return false;
    m->inside->free = NONE;
    m->inside->buffers = HOP_MOVE_OUT + 1;
    m->inside->last = last;
    for (uint32_t r = 0; r < ranks; r++)
        m->device[r] = r;
    return true;
}

/* Numbers the devices: ranks of one share a number, that of their first rank. */
static void number_devices(struct hop_moves *m, const struct hop_ranks *ranks)
{
    struct hop_names seen = {0};
    for (uint32_t r = 0; r < ranks->count && hop_moves_ok(m); r++) {
        uint32_t first = hop_names_get(&seen, ranks->devices[r]);
        m->device[r] = first != UINT32_MAX ? first : r;
        if (first == UINT32_MAX)
            (void)fits(m, hop_names_put(&seen, ranks->devices[r], r));
    }
    hop_names_finish(&seen);
}

void hop_moves_begin_schedule(struct hop_moves *m, struct hop_schedule *schedule, const struct hop_ranks *ranks,
                              enum hop_reduce reduce, enum hop_type type, bool in_place, struct hop_diag *diag)
{
    if (!begin(m, ranks->count, diag))
        return;
    m->inside->schedule = schedule;
    m->inside->reduce = reduce;
    m->inside->type = type;
    m->inside->names[HOP_MOVE_IN] = keep_name(m, in_place ? "data" : "in");
    m->inside->names[HOP_MOVE_OUT] = keep_name(m, "out");
    m->inside->devices = hop_moves_room(m, ranks->count, sizeof *m->inside->devices);
    for (uint32_t r = 0; r < ranks->count && hop_moves_ok(m); r++)
        m->inside->devices[r] = keep_name(m, ranks->devices[r]);
    m->width = hop_type_bytes(type);
    number_devices(m, ranks);
}

void hop_moves_begin_count(struct hop_moves *m, const struct hop_ranks *ranks, enum hop_type type,
                           struct hop_diag *diag)
{
    if (!begin(m, ranks->count, diag))
        return;
    m->counting = true;
    m->width = hop_type_bytes(type);
    number_devices(m, ranks);
}

void hop_moves_begin_steps(struct hop_moves *m, struct hop_steps *steps, uint32_t members, struct hop_diag *diag)
{
    if (begin(m, members, diag))
        m->inside->steps = steps;
}

enum hop_status hop_moves_end(struct hop_moves *m)
{
    hop_arena_finish(&m->arena);
    return m->failure.status;
}
