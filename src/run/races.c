/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Races: two operations that touch the same bytes, one of them writing, and neither waits for the other, however far
 * round. Which of them comes first is then a matter of luck.
 *
 * Who waits for whom is a bit for each pair; overlaps are found buffer by buffer, by their places in order.
 */
#include "run/layout.h"

enum { OPERATIONS = 1 << 14 }; /* a bit for each pair of them: 32 MiB */
#define PAIRS 50000000u        /* overlaps that are looked at */

struct touch {
    uint32_t buffer, op;
    uint64_t begin, end;
    bool writes;
};

static int by_place(const void *a, const void *b)
{
    const struct touch *x = a, *y = b;
    if (x->buffer != y->buffer)
        return x->buffer < y->buffer ? -1 : 1;
    if (x->begin != y->begin)
        return x->begin < y->begin ? -1 : 1;
    return x->op < y->op ? -1 : x->op > y->op;
}

/* before[op] has a bit for each operation that op waits for, those before it in its rank's queue among them. */
static void find_before(const struct hop_layout *layout, uint64_t *before, uint32_t words)
{
    for (uint32_t i = 0; i < layout->op_count; i++) {
        uint32_t op = layout->order[i];
        const struct hop_run_op *run = &layout->ops[op];
        uint64_t *own = before + (size_t)op * words;
        for (uint32_t a = 0; a <= run->after_count; a++) {
            uint32_t other = a < run->after_count ? layout->after[run->after_first + a] : run->before;
            if (other == HOP_NONE)
                continue;
            const uint64_t *theirs = before + (size_t)other * words;
            for (uint32_t w = 0; w < words; w++)
                own[w] |= theirs[w];
            own[other / 64] |= UINT64_C(1) << other % 64;
        }
    }
}

static uint32_t list_touches(const struct hop_layout *layout, struct touch *touches)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < layout->op_count; i++) {
        const struct hop_run_op *run = &layout->ops[i];
        uint64_t bytes = hop_schedule_op(layout->schedule, i)->bytes;
        for (uint32_t p = 0; p < run->reads + run->writes && bytes; p++) {
            const struct hop_run_place *place = &layout->places[run->first + p];
            touches[count++] = (struct touch){place->buffer, i, place->offset, place->offset + bytes, p >= run->reads};
        }
    }
    qsort(touches, count, sizeof *touches, by_place);
    return count;
}

static bool is_race(const struct touch *a, const struct touch *b, const uint64_t *before, uint32_t words)
{
    return a->op != b->op && (a->writes || b->writes) &&
           !(before[(size_t)a->op * words + b->op / 64] >> b->op % 64 & 1) &&
           !(before[(size_t)b->op * words + a->op / 64] >> a->op % 64 & 1);
}

static bool look(const struct touch *touches, uint32_t count, const uint64_t *before, uint32_t words,
                 const struct touch *found[2])
{
    uint64_t pairs = 0;
    for (uint32_t i = 0; i < count; i++) {
        for (uint32_t k = i + 1;
             k < count && touches[k].buffer == touches[i].buffer && touches[k].begin < touches[i].end; k++) {
            if (is_race(&touches[i], &touches[k], before, words)) {
                found[0] = &touches[i];
                found[1] = &touches[k];
                return true;
            }
            if (++pairs > PAIRS)
                return false;
        }
    }
    return false;
}

static void describe(const struct hop_layout *layout, const struct touch *found[2], struct hop_diag *diag)
{
    const struct hop_run_buffer *buffer = &layout->buffers[found[0]->buffer];
    uint32_t first = found[0]->op < found[1]->op ? 0 : 1, a = found[first]->op, b = found[!first]->op;
    char where[192];
    hop_fail(diag, HOP_ERR_INVALID,
             "'%s' and '%s' touch the same bytes of buffer %s of rank %u, and neither waits for the other",
             hop_schedule_op(layout->schedule, a)->name, hop_schedule_op(layout->schedule, b)->name, buffer->name,
             buffer->rank);
    hop_diag_place(diag, "%s", hop_schedule_place(layout->schedule, b, 0, where, sizeof where));
    hop_diag_expect(diag, "'%s' after '%s', or bytes of its own", hop_schedule_op(layout->schedule, b)->name,
                    hop_schedule_op(layout->schedule, a)->name);
}

enum hop_status hop_schedule_find_race(const struct hop_schedule *schedule, bool *race, struct hop_diag *diag)
{
    struct hop_layout layout;
    struct hop_diag own;
    *race = false;
    if (hop_schedule_count(schedule) > OPERATIONS)
        return HOP_OK;
    enum hop_status status = hop_layout_create(schedule, false, &layout, diag);
    if (status != HOP_OK)
        return status;
    uint32_t words = layout.op_count / 64 + 1;
    uint64_t *before = calloc((size_t)layout.op_count * words + 1, sizeof *before);
    struct touch *touches = malloc(((size_t)layout.place_count + 1) * sizeof *touches);
    const struct touch *found[2];
    if (before && touches) {
        find_before(&layout, before, words);
        *race = look(touches, list_touches(&layout, touches), before, words, found);
        if (*race)
            describe(&layout, found, diag ? diag : &own);
    } else {
        status = hop_fail_memory(diag);
    }
    free(before);
    free(touches);
    hop_layout_finish(&layout);
    return status;
}
