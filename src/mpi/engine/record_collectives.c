/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A rank's part in a collective: by the rule of the traffic file, or, where that is asked for and the collective is one of
 * equal parts, by an algorithm of `make`. What is asked of all alike is told by what each sends by the rule.
 */
#include "mpi/engine/record_emit.h"

/* ---- which collective it is ---- */

/* What the members of a collective send by the rule. */
struct sent_parts {
    uint32_t members, senders, root; /* root: a member that sends */
    uint32_t least, most;            /* parts of a member that sends */
    uint64_t bytes, first;           /* a part; the first parts to a member, together */
    bool equal;                      /* all parts */
    uint32_t to;                     /* to whom the last went, a rank */
};

static void look_at_member(const struct hop_mpi_record *record, uint32_t item, uint32_t member, struct sent_parts *sent)
{
    uint32_t count = 0;
    for (uint32_t p = item + 1; record->items[p].kind == ITEM_PART; p++) {
        const struct hop_item *part = &record->items[p];
        sent->equal = sent->equal && (sent->bytes == part->size || (sent->senders == 0 && count == 0));
        sent->bytes = part->size;
        sent->to = (uint32_t)part->peer;
        count += part->tag;
    }
    if (count == 0)
        return;
    sent->root = member;
    sent->least = sent->senders == 0 || count < sent->least ? count : sent->least;
    sent->most = count > sent->most ? count : sent->most;
    sent->senders++;
}

static struct sent_parts look_at(const struct hop_mpi_record *record, uint32_t collective)
{
    uint32_t first = record->member_first[collective], end = record->member_first[collective + 1];
    struct sent_parts sent = {.members = end - first, .equal = true};
    for (uint32_t m = first; m < end; m++)
        look_at_member(record, record->members[m], m - first, &sent);
    return sent;
}

/* 0: it takes no part, as only who sends to another job knows of. */
static uint32_t member_of(const struct hop_mpi_record *record, uint32_t collective, uint32_t rank)
{
    uint32_t member = hop_record_member(record, collective, rank);
    return member == HOP_NONE ? 0 : member - record->member_first[collective];
}

static enum hop_collective_kind kind_of(uint32_t call)
{
    static const enum hop_collective_kind kinds[] = {[KIND_BCAST] = HOP_COLLECTIVE_BROADCAST,
                                                     [KIND_SCATTER] = HOP_COLLECTIVE_SCATTER,
                                                     [KIND_GATHER] = HOP_COLLECTIVE_GATHER,
                                                     [KIND_ALLGATHER] = HOP_COLLECTIVE_ALLGATHER,
                                                     [KIND_ALLTOALL] = HOP_COLLECTIVE_ALLTOALL,
                                                     [KIND_ALLREDUCE] = HOP_COLLECTIVE_ALLREDUCE,
                                                     [KIND_REDUCE_SCATTER] = HOP_COLLECTIVE_REDUCE_SCATTER};
    enum hop_mpi_kind kind = hop_calls_kind(call);
    if (kind < KIND_POINT)
        return HOP_COLLECTIVE_BARRIER;
    if (kind < KIND_BCAST || kind > KIND_REDUCE_SCATTER)
        return HOP_COLLECTIVE_COUNT;
    return kind == KIND_GATHER && strstr(hop_calls_name(call), "educe") ? HOP_COLLECTIVE_REDUCE : kinds[kind];
}

/* The vector of an allreduce: what a member sends of it in the first turn, and the part that it gets from another. */
static uint64_t vector_of(const struct hop_mpi_record *record, uint32_t collective)
{
    uint32_t first = record->members[record->member_first[collective]];
    uint32_t next = record->members[record->member_first[collective] + 1], owner = hop_record_owner(record, first);
    uint64_t bytes = 0;
    for (uint32_t p = first + 1; record->items[p].kind == ITEM_PART; p++)
        bytes += record->items[p].flags & ITEM_SECOND ? 0 : record->items[p].size * record->items[p].tag;
    for (uint32_t p = next + 1; record->items[p].kind == ITEM_PART; p++) {
        const struct hop_item *part = &record->items[p];
        bytes += !(part->flags & ITEM_SECOND) && hop_part_goes_to(part, owner) ? part->size : 0;
    }
    return bytes;
}

/* False: it is not one of equal parts, or by no algorithm. */
static bool describe(const struct hop_emitter *e, uint32_t collective, struct hop_collective *what)
{
    const struct hop_mpi_record *record = e->record;
    enum hop_collective_kind kind = kind_of(record->items[record->members[record->member_first[collective]]].call);
    uint32_t n = record->member_first[collective + 1] - record->member_first[collective];
    enum hop_algorithm algorithm = kind < HOP_COLLECTIVE_COUNT ? record->algorithms[kind] : HOP_ALGORITHM_DEFAULT;
    *what = (struct hop_collective){.kind = kind, .algorithm = algorithm, .members = n};
    if (kind == HOP_COLLECTIVE_BARRIER) {
        what->algorithm = algorithm ? algorithm : hop_collective_default(kind);
        return true;
    }
    if (algorithm == HOP_ALGORITHM_DEFAULT)
        return false;
    struct sent_parts sent = look_at(record, collective);
    bool rooted = hop_collective_is_rooted(kind), from_root = sent.senders == 1 && sent.most == n - 1;
    bool to_root = sent.senders == n - 1 && sent.most == 1, each = sent.senders == n && sent.least == sent.most;
    what->root = !rooted ? 0
                 : kind == HOP_COLLECTIVE_BROADCAST || kind == HOP_COLLECTIVE_SCATTER
                     ? sent.root
                     : member_of(record, collective, sent.to);
    what->vector_bytes = hop_collective_has_parts(kind) ? sent.bytes * n : sent.bytes;
    if (kind == HOP_COLLECTIVE_ALLREDUCE) {
        what->vector_bytes = each && sent.most == 2 * (n - 1) ? vector_of(record, collective) : 0;
        return what->vector_bytes > 0;
    }
    return sent.equal && sent.bytes > 0 &&
           (rooted
                ? n == 2 || (kind == HOP_COLLECTIVE_BROADCAST || kind == HOP_COLLECTIVE_SCATTER ? from_root : to_root)
                : each && sent.most == n - 1);
}

/* That of its communicator; who goes on beside others has its own, as its messages may come among theirs. */
static uint32_t tag_of(const struct hop_emitter *e, uint32_t item)
{
    const struct hop_item *about = &e->record->items[item];
    return about->flags & ITEM_LATER ? e->next_tag + e->record->partner[item]
                                     : hop_emit_tag(e, about->where, UINT32_MAX);
}

/* ---- by an algorithm ---- */

static uint32_t expand(struct hop_emitter *e, const struct hop_collective *what)
{
    for (uint32_t i = 0; i < e->expansion_count; i++) {
        const struct hop_collective *other = &e->expansions[i].what;
        if (other->kind == what->kind && other->members == what->members && other->root == what->root &&
            other->vector_bytes == what->vector_bytes)
            return i;
    }
    if (!HOP_GROW(&e->arena, e->expansions, e->expansion_count + 1)) {
        e->failed = true;
        return HOP_NONE;
    }
    struct hop_expansion *made = &e->expansions[e->expansion_count];
    made->what = *what;
    made->fine = hop_collective_expand(what, &made->steps, NULL) == HOP_OK; /* else it does not fit so many */
    return e->expansion_count++;
}

/* How a collective is made; NULL: by the rule. */
static const struct hop_expansion *expansion_of(struct hop_emitter *e, uint32_t collective)
{
    struct hop_collective what;
    if (!e->made_by[collective])
        e->made_by[collective] = describe(e, collective, &what) ? 2 + expand(e, &what) : 1;
    const struct hop_expansion *made =
        e->failed || e->made_by[collective] == 1 ? NULL : &e->expansions[e->made_by[collective] - 2];
    return made && made->fine ? made : NULL;
}

uint64_t hop_emit_count(struct hop_emitter *e, uint32_t collective)
{
    const struct hop_mpi_record *record = e->record;
    const struct hop_expansion *made = expansion_of(e, collective);
    uint64_t messages = made ? made->steps.count : 0;
    for (uint32_t m = record->member_first[collective]; m < record->member_first[collective + 1] && !made; m++) {
        for (uint32_t p = record->members[m] + 1; record->items[p].kind == ITEM_PART; p++)
            messages += record->items[p].tag;
    }
    return 3 * messages; /* both ends, and a sum */
}

void hop_emit_finish_collectives(struct hop_emitter *e)
{
    for (uint32_t i = 0; i < e->expansion_count; i++)
        hop_steps_finish(&e->expansions[i].steps);
}

/* What a step of this member waits for: earlier ones that ended here, or that it entered. */
static const struct hop_op_list *waits_for(struct hop_emitter *e, const struct hop_steps *steps, uint32_t step)
{
    const struct hop_collective_step *s = &steps->steps[step];
    if (s->after_count == 0 && !s->behind)
        return &e->together;
    e->came.count = 0;
    for (uint32_t i = 0; i < s->after_count; i++)
        hop_emit_add_to(e, &e->came, e->step_ops[steps->after[s->first_after + i]]);
    if (s->behind)
        hop_emit_add_to(e, &e->came, e->step_ops[s->behind - 1]);
    return &e->came;
}

static void add_steps(struct hop_emitter *e, uint32_t item, const struct hop_expansion *made)
{
    const struct hop_mpi_record *record = e->record;
    const struct hop_steps *steps = &made->steps;
    uint32_t collective = record->partner[item], own = member_of(record, collective, e->rank);
    uint32_t tag = tag_of(e, item);
    uint64_t messages = e->messages, bytes = e->bytes;
    if (!HOP_GROW(&e->arena, e->step_ops, steps->count + 1)) {
        e->failed = true;
        return;
    }
    e->last.count = 0;
    for (uint32_t i = 0; i < steps->count; i++) {
        const struct hop_collective_step *s = &steps->steps[i];
        bool sends = s->from == own, takes = s->to == own;
        if (!sends && !takes)
            continue;
        uint32_t peer =
            hop_record_owner(record, record->members[record->member_first[collective] + (sends ? s->to : s->from)]);
        e->step_ops[i] = sends && takes ? hop_emit_join(e, waits_for(e, steps, i))
                         : sends        ? hop_emit_message(e, HOP_OP_SEND, peer, s->bytes, tag, waits_for(e, steps, i))
                                        : hop_emit_message(e, HOP_OP_RECEIVE, peer, s->bytes, tag, &e->together);
        if (takes && s->sums && !sends)
            e->step_ops[i] = hop_emit_sum(e, s->bytes, e->step_ops[i]);
        hop_emit_add_to(e, &e->last, e->step_ops[i]);
    }
    if (made->what.kind == HOP_COLLECTIVE_BARRIER) {
        e->rounds += e->messages - messages;
        e->messages = messages;
        e->bytes = bytes;
    }
    hop_emit_copy_to(e, &e->together, &e->last);
}

/* ---- by the rule ---- */

static void send_parts(struct hop_emitter *e, uint32_t item, uint8_t turn, const struct hop_op_list *after)
{
    uint32_t tag = tag_of(e, item);
    for (uint32_t p = item + 1; e->record->items[p].kind == ITEM_PART; p++) {
        const struct hop_item *part = &e->record->items[p];
        for (uint32_t k = 0; k < part->tag && (part->flags & ITEM_SECOND) == turn; k++) {
            uint32_t to = (uint32_t)part->peer + k * part->own_ns;
            if (to != e->rank)
                hop_emit_add_to(e, &e->last, hop_emit_message(e, HOP_OP_SEND, to, part->size, tag, after));
        }
    }
}

/* Whether what is sent first is summed by who gets it. */
static bool is_summed(uint32_t call)
{
    enum hop_mpi_kind kind = hop_calls_kind(call);
    return kind == KIND_SCAN || kind == KIND_ALLREDUCE || kind == KIND_REDUCE_SCATTER ||
           kind_of(call) == HOP_COLLECTIVE_REDUCE;
}

/* What another member sends to this rank. */
static void receive_parts(struct hop_emitter *e, uint32_t item, uint32_t sender)
{
    bool chain = hop_calls_kind(e->record->items[item].call) == KIND_SCAN;
    uint32_t tag = tag_of(e, item), from = hop_record_owner(e->record, sender);
    for (uint32_t p = sender + 1; e->record->items[p].kind == ITEM_PART; p++) {
        const struct hop_item *part = &e->record->items[p];
        if (!hop_part_goes_to(part, e->rank))
            continue;
        uint32_t op = hop_emit_message(e, HOP_OP_RECEIVE, from, part->size, tag, &e->together);
        if (is_summed(e->record->items[item].call) && (chain || !(part->flags & ITEM_SECOND)))
            op = hop_emit_sum(e, part->size, op);
        hop_emit_add_to(e, &e->last, op);
        if (chain || !(part->flags & ITEM_SECOND))
            hop_emit_add_to(e, &e->came, op);
    }
}

/* What it sends first and what comes; then what it sends in return for what has come. */
static void add_parts(struct hop_emitter *e, uint32_t item)
{
    const struct hop_mpi_record *record = e->record;
    uint32_t collective = record->partner[item];
    e->last.count = e->came.count = 0;
    send_parts(e, item, 0, &e->together);
    for (uint32_t m = record->member_first[collective]; m < record->member_first[collective + 1]; m++) {
        if (record->members[m] != item)
            receive_parts(e, item, record->members[m]);
    }
    send_parts(e, item, ITEM_SECOND, e->came.count ? &e->came : &e->together);
    hop_emit_copy_to(e, &e->together, &e->last);
}

/* What the rank has itself is copied before anything else. */
static void add_kept(struct hop_emitter *e, uint32_t item)
{
    const struct hop_mpi_record *record = e->record;
    uint32_t end = record->first[e->rank] + (uint32_t)record->rank[e->rank].count, p = item + 1;
    while (p < end && record->items[p].kind == ITEM_PART)
        p++;
    if (!e->local || p == end || record->items[p].kind != ITEM_KEPT)
        return;
    uint32_t copy = hop_emit_copy(e, record->items[p].size, &e->together);
    e->together.count = 0;
    hop_emit_add_to(e, &e->together, copy);
}

void hop_emit_collective(struct hop_emitter *e, uint32_t item)
{
    add_kept(e, item);
    const struct hop_expansion *made = expansion_of(e, e->record->partner[item]);
    if (made)
        add_steps(e, item, made);
    else
        add_parts(e, item);
}
