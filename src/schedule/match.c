/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Matching messages: the k-th send from one place to another under a tag with the k-th receive of the same places and
 * tag.
 *
 * One pass in schedule order. Each (from, to, tag) has a queue of those still alone, which are all sends or all
 * receives: one
 * of the other kind takes the first away, one of the same kind stands behind the last.
 */
#include "base/random.h"
#include "schedule/schedule.h"

#include <inttypes.h>
#include <stdio.h>

/* Who sends or receives: a rank, or where none is said, a device (its address: names are kept once). */
struct party {
    uint64_t id;
    bool is_rank;
};

struct line {
    struct party from, to;
    uint32_t tag;
    uint32_t first, last; /* waiting; HOP_NONE: nobody */
    bool used;
};

struct lines {
    struct line *slots;
    uint32_t count, used;
};

static struct party party_of(const struct hop_place *place)
{
    if (place->rank >= 0)
        return (struct party){(uint64_t)place->rank, true};
    return (struct party){(uintptr_t)place->device, false};
}

static bool same_party(struct party a, struct party b)
{
    return a.id == b.id && a.is_rank == b.is_rank;
}

static struct line *find(const struct lines *lines, struct party from, struct party to, uint32_t tag)
{
    uint32_t slot = (uint32_t)hop_mix(hop_mix(hop_mix(from.id) + to.id) + tag) & (lines->count - 1);
    for (; lines->slots[slot].used; slot = (slot + 1) & (lines->count - 1)) {
        const struct line *line = &lines->slots[slot];
        if (line->tag == tag && same_party(line->from, from) && same_party(line->to, to))
            break;
    }
    return &lines->slots[slot];
}

static bool reserve(struct lines *lines)
{
    if (lines->used * 2 < lines->count)
        return true;
    if (lines->count > UINT32_MAX / 4)
        return false;
    struct lines more = {NULL, lines->count ? lines->count * 2 : 64, lines->used};
    more.slots = calloc(more.count, sizeof *more.slots);
    if (!more.slots)
        return false;
    for (uint32_t i = 0; i < lines->count; i++) {
        const struct line *line = &lines->slots[i];
        if (line->used)
            *find(&more, line->from, line->to, line->tag) = *line;
    }
    free(lines->slots);
    *lines = more;
    return true;
}

static enum hop_status alone(const struct hop_schedule *schedule, uint32_t index, struct hop_diag *diag)
{
    const struct hop_op *op = &schedule->ops[index];
    const char *other = op->kind == HOP_OP_SEND ? "receive" : "send";
    struct hop_buffer places = {0};
    char size[32], tag[24] = "";
    hop_place_print(&op->from, &places);
    hop_buffer_puts(&places, " -> ");
    hop_place_print(&op->to, &places);
    const char *shown = places.failed ? "?" : places.text;
    if (op->tag)
        (void)snprintf(tag, sizeof tag, " tag %" PRIu32, op->tag);
    hop_fail(diag, HOP_ERR_INVALID, "no %s matches '%s', %s from %s to %s\none '%s %s %s%s' for each such %s", other,
             op->name, op->kind == HOP_OP_SEND ? "a send" : "a receive", op->from.device, op->to.device, other, shown,
             hop_format_bytes(op->bytes, size, sizeof size), tag, op->kind == HOP_OP_SEND ? "send" : "receive");
    hop_buffer_finish(&places);
    return hop_schedule_blame(schedule, index, 0, diag, HOP_ERR_INVALID);
}

static enum hop_status check_pairs(const struct hop_schedule *schedule, const uint32_t *partner, struct hop_diag *diag)
{
    char sent[32], taken[32];
    for (uint32_t i = 0; i < schedule->count; i++) {
        const struct hop_op *op = &schedule->ops[i];
        if (!hop_op_is_message(op))
            continue;
        if (partner[i] == HOP_NONE)
            return alone(schedule, i, diag);
        const struct hop_op *other = &schedule->ops[partner[i]];
        if (op->kind != HOP_OP_SEND || op->bytes == other->bytes)
            continue;
        hop_fail(diag, HOP_ERR_INVALID,
                 "'%s' sends %s, but its receive '%s' takes %s\nthe k-th send and the k-th receive between two places "
                 "under a tag to have one size",
                 op->name, hop_format_bytes(op->bytes, sent, sizeof sent), other->name,
                 hop_format_bytes(other->bytes, taken, sizeof taken));
        return hop_schedule_blame(schedule, i, 0, diag, HOP_ERR_INVALID);
    }
    return HOP_OK;
}

static enum hop_status refuse_any(const struct hop_schedule *schedule, uint32_t index, struct hop_diag *diag)
{
    hop_fail(diag, HOP_ERR_UNSUPPORTED,
             "'%s' receives from any source or of any tag: which message that is, times decide\n"
             "a prediction, or receives that say whose message they take",
             schedule->ops[index].name);
    return hop_schedule_blame(schedule, index, 0, diag, HOP_ERR_UNSUPPORTED);
}

enum hop_status hop_schedule_match(const struct hop_schedule *schedule, uint32_t *partner, struct hop_diag *diag)
{
    struct lines lines = {0};
    uint32_t *next = malloc(((size_t)schedule->count + 1) * sizeof *next);
    enum hop_status status = next ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t i = 0; i < schedule->count && status == HOP_OK; i++) {
        const struct hop_op *op = &schedule->ops[i];
        partner[i] = next[i] = HOP_NONE;
        if (!hop_op_is_message(op))
            continue;
        if (hop_op_takes_any(op)) {
            status = refuse_any(schedule, i, diag);
            break;
        }
        if (!reserve(&lines)) {
            status = hop_fail_memory(diag);
            break;
        }
        struct party from = party_of(&op->from), to = party_of(&op->to);
        struct line *line = find(&lines, from, to, op->tag);
        if (!line->used) {
            *line = (struct line){from, to, op->tag, HOP_NONE, HOP_NONE, true};
            lines.used++;
        }
        if (line->first == HOP_NONE) {
            line->first = line->last = i;
        } else if (schedule->ops[line->first].kind == op->kind) {
            next[line->last] = i;
            line->last = i;
        } else {
            partner[i] = line->first;
            partner[line->first] = i;
            line->first = next[line->first];
        }
    }
    free(lines.slots);
    free(next);
    return status == HOP_OK ? check_pairs(schedule, partner, diag) : status;
}
