/* SPDX-License-Identifier: BSD-3-Clause */
/* What all that writes a schedule of a record goes by: lists of operations, operations themselves, and tags. */
#include "mpi/engine/record_emit.h"

#include <inttypes.h>
#include <stdio.h>

void hop_emit_add_to(struct hop_emitter *e, struct hop_op_list *list, uint32_t op)
{
    if (op == HOP_NONE || e->failed)
        return;
    if (HOP_GROW(&e->arena, list->ops, list->count + 1))
        list->ops[list->count++] = op;
    else
        e->failed = true;
}

void hop_emit_copy_to(struct hop_emitter *e, struct hop_op_list *list, const struct hop_op_list *from)
{
    list->count = 0;
    for (uint32_t i = 0; i < from->count; i++)
        hop_emit_add_to(e, list, from->ops[i]);
}

/* ---- operations ---- */

uint32_t hop_emit_op(struct hop_emitter *e, struct hop_op *op, const char *name, const struct hop_op_list *after)
{
    char text[96];
    if (e->named)
        (void)snprintf(text, sizeof text, "r%" PRIu32 ".%" PRIu32 ".%s.%" PRIu32, e->rank, e->call, name, e->named);
    else
        (void)snprintf(text, sizeof text, "r%" PRIu32 ".%" PRIu32 ".%s", e->rank, e->call, name);
    op->name = text;
    op->after = after->ops;
    op->after_count = after->count;
    return hop_schedule_add(e->schedule, op);
}

struct hop_place hop_emit_place(const struct hop_emitter *e, uint32_t rank)
{
    return (struct hop_place){.device = e->devices[rank], .rank = (int32_t)rank};
}

uint32_t hop_emit_join(struct hop_emitter *e, const struct hop_op_list *after)
{
    struct hop_op op = hop_op_default(HOP_OP_WORK);
    op.from = op.to = hop_emit_place(e, e->rank);
    uint32_t index = hop_emit_op(e, &op, e->name, after);
    e->named++;
    return index;
}

uint32_t hop_emit_sum(struct hop_emitter *e, uint64_t bytes, uint32_t brought)
{
    const struct hop_place place = hop_emit_place(e, e->rank), inputs[] = {place, place};
    const struct hop_op_list after = {&brought, 1};
    struct hop_op op = hop_op_default(HOP_OP_REDUCE);
    if (!e->local || bytes == 0 || brought == HOP_NONE)
        return brought;
    op.type = HOP_TYPE_U8; /* whatever it is: what counts is memory's traffic */
    op.from = op.to = place;
    op.inputs = inputs;
    op.input_count = HOP_COUNT(inputs);
    op.bytes = bytes;
    uint32_t index = hop_emit_op(e, &op, e->name, &after);
    e->named++;
    return index;
}

uint32_t hop_emit_copy(struct hop_emitter *e, uint64_t bytes, const struct hop_op_list *after)
{
    struct hop_op op = hop_op_default(HOP_OP_COPY);
    op.from = op.to = hop_emit_place(e, e->rank);
    op.from.buffer = "in";
    op.to.buffer = "out";
    op.bytes = bytes;
    uint32_t index = hop_emit_op(e, &op, e->name, after);
    e->named++;
    return index;
}

uint32_t hop_emit_message(struct hop_emitter *e, enum hop_op_kind kind, uint32_t peer, uint64_t bytes, uint32_t tag,
                          const struct hop_op_list *after)
{
    struct hop_op op = hop_op_default(kind);
    bool sends = kind == HOP_OP_SEND;
    op.from = hop_emit_place(e, sends ? e->rank : peer);
    op.to = hop_emit_place(e, sends ? peer : e->rank);
    op.bytes = bytes;
    op.tag = tag;
    op.eager = sends && e->eager;
    e->messages += sends;
    e->bytes += sends ? bytes : 0;
    uint32_t index = hop_emit_op(e, &op, e->name, after);
    e->named++;
    return index;
}

/* ---- tags ---- */

static int by_tag(const void *a, const void *b)
{
    const struct hop_tag_pair *x = a, *y = b;
    int order = HOP_ORDER(x->tag, y->tag);
    return order ? order : HOP_ORDER(x->where, y->where);
}

/* A tag is its own number, where no other communicator has it, too; those of the others and of collectives follow. */
void hop_emit_number_tags(struct hop_emitter *e)
{
    uint32_t count = 0, kept = 0, items = e->record->first[e->record->ranks];
    for (uint32_t i = 0; i < items; i++) {
        const struct hop_item *item = &e->record->items[i];
        bool message = item->kind == ITEM_SEND, together = item->kind == ITEM_TOGETHER;
        if ((!message && !together) || e->record->partner[i] == HOP_NONE)
            continue;
        if (!HOP_GROW(&e->arena, e->tags, count + 2)) {
            e->failed = true;
            return;
        }
        e->tags[count++] = (struct hop_tag_pair){item->where, together ? UINT32_MAX : item->tag, 0};
        if (item->flags & ITEM_ANSWERED)
            e->tags[count++] = (struct hop_tag_pair){~item->where, item->tag | HOP_TAG_ANSWERS, 0};
    }
    if (count)
        qsort(e->tags, count, sizeof *e->tags, by_tag);
    for (uint32_t i = 0; i < count; i++) {
        if (kept == 0 || by_tag(&e->tags[kept - 1], &e->tags[i]) != 0)
            e->tags[kept++] = e->tags[i];
    }
    for (uint32_t i = 0; i < kept; i++)
        e->next_tag = e->tags[i].tag < HOP_TAG_ANSWERS ? e->tags[i].tag + 1 : e->next_tag;
    for (uint32_t i = 0; i < kept; i++) {
        bool own = e->tags[i].tag < HOP_TAG_ANSWERS && (i == 0 || e->tags[i - 1].tag != e->tags[i].tag);
        e->tags[i].number = own ? e->tags[i].tag : e->next_tag++;
    }
    e->tag_count = kept;
}

uint32_t hop_emit_tag(const struct hop_emitter *e, uint64_t where, uint32_t tag)
{
    const struct hop_tag_pair key = {where, tag, 0}, *found = bsearch(&key, e->tags, e->tag_count, sizeof key, by_tag);
    return found ? found->number : 0;
}
