/* SPDX-License-Identifier: BSD-3-Clause */
/* Combinations of first sends, each compared with its images: the lexicographically smallest stands for its class. */
#include "order/first.h"

enum { LISTS_MAX = 200000 };
#define WORK_MAX 2e7 /* images looked at, times sources */

/* The sends of a source that can come first, and its rest. */
static uint32_t alternatives(const struct hop_problem *p, bool rests, uint32_t source, uint32_t *ops)
{
    const struct hop_problem_source *s = &p->sources[source];
    uint32_t count = 0;
    for (uint32_t i = s->first; i < s->first + s->count; i++) {
        if (p->ops[p->sends[i]].alike == HOP_NONE)
            ops[count++] = p->sends[i];
    }
    if (rests && s->count)
        ops[count++] = HOP_NONE;
    return count;
}

/* The first of the sends alike to op. */
static uint32_t leader(const struct hop_problem *p, uint32_t op)
{
    while (p->ops[op].alike != HOP_NONE)
        op = p->ops[op].alike;
    return op;
}

/*
 * How many symmetries leave the list as it is; 0: one makes it smaller, and so it stands for no class. images[g * op_count + op]: first of
 * the sends alike to op's image; from[g * source_count + s]: the source whose sends become those of s.
 */
static uint32_t stabilizer(const struct hop_problem *p, const uint32_t *list, const uint32_t *images,
                           const uint32_t *from, uint32_t count)
{
    uint32_t fixed = 0;
    for (uint32_t g = 0; g < count; g++, images += p->op_count, from += p->source_count) {
        uint32_t s = 0, image = 0;
        for (; s < p->source_count; s++) {
            image = list[from[s]] == HOP_NONE ? HOP_NONE : images[list[from[s]]];
            if (image != list[s])
                break;
        }
        if (s < p->source_count && image < list[s])
            return 0;
        fixed += s == p->source_count;
    }
    return fixed;
}

struct listing {
    const struct hop_problem *problem;
    struct hop_first *first;
    uint32_t *choice[2];                  /* per source of the prefix: which alternative, the list itself */
    uint32_t *alternative;                /* all sources', in a row */
    uint32_t *begin;                      /* per source: where its alternatives begin; sources + 1 */
    uint32_t *images, *from, image_count; /* see stabilizer */
    struct hop_arena arena;
};

static bool add(struct listing *l, uint32_t members)
{
    struct hop_first *f = l->first;
    if (!HOP_GROW(&f->arena, f->ops, (f->count + (size_t)1) * f->sources + 1) ||
        !HOP_GROW(&f->arena, f->members, f->count + (size_t)1))
        return false;
    memcpy(f->ops + (size_t)f->count * f->sources, l->choice[1], f->sources * sizeof *f->ops);
    f->members[f->count++] = members;
    return true;
}

/* All combinations, the last source's alternatives changing fastest. */
static bool list_all(struct listing *l)
{
    struct hop_first *f = l->first;
    for (;;) {
        uint32_t members = 1;
        for (uint32_t s = 0; s < f->sources; s++)
            l->choice[1][s] = l->alternative[l->begin[s] + l->choice[0][s]];
        if (l->image_count > 1) {
            uint32_t fixed = stabilizer(l->problem, l->choice[1], l->images, l->from, l->image_count);
            members = fixed ? l->image_count / fixed : 0;
        }
        if (members && !add(l, members))
            return false;
        uint32_t s = f->sources;
        while (s > 0 && ++l->choice[0][s - 1] == l->begin[s] - l->begin[s - 1])
            l->choice[0][--s] = 0;
        if (s == 0)
            return true;
    }
}

static enum hop_status find_images(struct listing *l, double combinations, struct hop_diag *diag)
{
    const struct hop_problem *p = l->problem;
    double limit = WORK_MAX / (combinations * p->source_count);
    if (limit < 2)
        return HOP_OK;
    uint32_t most = limit < 4096 ? (uint32_t)limit : 4096;
    HOP_CHECK(hop_problem_images(p, true, most, &l->images, &l->image_count, diag));
    l->from = hop_arena_alloc(&l->arena, ((size_t)l->image_count * p->source_count + 1) * sizeof *l->from);
    if (!l->from)
        return hop_fail_memory(diag);
    for (uint32_t g = 0; g < l->image_count; g++) {
        uint32_t *images = l->images + (size_t)g * p->op_count, *from = l->from + (size_t)g * p->source_count;
        for (uint32_t op = 0; op < p->op_count; op++) {
            images[op] = leader(p, images[op]);
            from[p->ops[images[op]].source] = p->ops[op].source;
        }
    }
    return HOP_OK;
}

enum hop_status hop_first_find(const struct hop_problem *p, bool rests, struct hop_first *first, struct hop_diag *diag)
{
    *first = (struct hop_first){.symmetries = 1};
    struct listing l = {.problem = p, .first = first, .image_count = 1};
    l.choice[0] = hop_arena_alloc(&l.arena, (p->source_count + 1) * sizeof(uint32_t));
    l.choice[1] = hop_arena_alloc(&l.arena, (p->source_count + 1) * sizeof(uint32_t));
    l.begin = hop_arena_alloc(&l.arena, (p->source_count + 1) * sizeof(uint32_t));
    l.alternative = hop_arena_alloc(&l.arena, (p->op_count + p->source_count + 1) * sizeof(uint32_t));
    enum hop_status status = l.arena.failed ? hop_fail_memory(diag) : HOP_OK;
    double combinations = 1;
    while (status == HOP_OK && p->simple && first->sources < p->source_count) {
        uint32_t s = first->sources, count = alternatives(p, rests, s, l.alternative + l.begin[s]);
        if (combinations * count > LISTS_MAX)
            break;
        combinations *= count;
        l.begin[s + 1] = l.begin[s] + count;
        first->sources++;
    }
    if (status == HOP_OK && p->simple && first->sources == p->source_count)
        status = find_images(&l, combinations, diag);
    if (status == HOP_OK && !list_all(&l))
        status = hop_fail_memory(diag);
    first->symmetries = l.image_count;
    free(l.images);
    hop_arena_finish(&l.arena);
    if (status != HOP_OK)
        hop_first_finish(first);
    return status;
}

void hop_first_finish(struct hop_first *first)
{
    hop_arena_finish(&first->arena);
    *first = (struct hop_first){0};
}

void hop_first_take(const struct hop_problem *p, const struct hop_first *first, uint64_t index, struct hop_state *state)
{
    for (uint32_t s = 0; s < first->sources; s++) {
        uint32_t op = first->ops[index * first->sources + s];
        if (op == HOP_NONE)
            hop_state_rest(p, state, s);
        else
            hop_state_take(p, state, op);
    }
}
