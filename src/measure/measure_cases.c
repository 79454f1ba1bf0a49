/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What is measured: every pair alone, and several copies at once where they can get in each other's way.
 *
 * Two ways meet in a certain manner: the links that they share, by their places on both, and those that they take in
 * opposite directions. Of all couples of copies that meet in one manner, on ways of the same levels and rates, one
 * couple, drawn by the seed, stands for all. So a couple is measured for everything that a topology knows how to tell
 * apart. What needs more than two copies is all into one device, and all shifts by k (everybody sends, everybody
 * receives).
 */
#include <stdio.h>

#include "base/random.h"
#include "measure/measure.h"

enum { PAIRS_A_LEVEL = 64, COUPLES_MAX = 64, MANNER_SIZE = 512, ENGINES_MOST = 4 };
#define REDUCE_BYTES ((uint64_t)4 << 20)

static bool wants(const struct hop_measuring *m, enum hop_measure_kind kind)
{
    uint32_t kinds = m->options->kinds;
    bool within = kind == HOP_MEASURE_REDUCE || kind == HOP_MEASURE_MEMORY;
    if (m->public.emulated && (within || kind == HOP_MEASURE_READS))
        return false; /* the emulation has links alone, and the same ones for who reads */
    return kinds == 0 || (kinds >> kind & 1);
}

static uint64_t largest(const struct hop_measuring *m)
{
    return m->sizes[m->size_count - 1];
}

/* ---- adding ---- */

static enum hop_status begin_case(struct hop_measuring *m, struct hop_diag *diag)
{
    if (!hop_grow(&m->cases, &m->case_capacity, m->case_count + 1, sizeof *m->cases))
        return hop_fail_memory(diag);
    m->cases[m->case_count++] = (struct hop_measure_case){m->op_count, 0};
    return HOP_OK;
}

/* An operation of the case begun last. */
static enum hop_status add(struct hop_measuring *m, struct hop_measure_op op, struct hop_measure_row row,
                           struct hop_diag *diag)
{
    struct hop_measure_case *its = &m->cases[m->case_count - 1];
    op.row = hop_arena_copy(&m->arena, &row, sizeof row);
    if (!op.row || !row.name || !hop_grow(&m->ops, &m->op_capacity, m->op_count + 1, sizeof *m->ops))
        return hop_fail_memory(diag);
    m->ops[m->op_count++] = op;
    its->count++;
    return HOP_OK;
}

static const char *keep(struct hop_measuring *m, const char *text)
{
    return hop_arena_string(&m->arena, text, strlen(text));
}

static enum hop_status find_route(const struct hop_measuring *m, uint32_t from, uint32_t to,
                                  const struct hop_route **route, struct hop_diag *diag)
{
    const struct hop_topology *t = m->public.topology;
    uint32_t index;
    enum hop_status status = hop_router_find(m->router, hop_topology_find(t, m->devices[from]),
                                             hop_topology_find(t, m->devices[to]), &index, diag);
    if (status == HOP_OK)
        *route = hop_router_route(m->router, index);
    return status;
}

static enum hop_status add_copy(struct hop_measuring *m, enum hop_measure_kind kind, const char *group, uint32_t from,
                                uint32_t to, uint64_t bytes, struct hop_diag *diag)
{
    const struct hop_measure_case *its = &m->cases[m->case_count - 1];
    const struct hop_route *route;
    struct hop_measure_op op = {.from = from, .to = to, .by_receiver = kind == HOP_MEASURE_READS};
    struct hop_measure_row row = {
        .kind = kind, .group = group, .from = m->devices[from], .to = m->devices[to], .bytes = bytes};
    char size[32], name[256];
    for (uint32_t i = its->first; i < its->first + its->count; i++)
        op.slot += m->ops[i].to == to;
    enum hop_status status = find_route(m, from, to, &route, diag);
    if (status != HOP_OK)
        return status;
    row.level = hop_route_level(m->public.topology, route);
    if (group)
        (void)snprintf(name, sizeof name, "%.120s.%u", group, its->count);
    else
        (void)snprintf(name, sizeof name, "%.80s-%.80s-%s%s", row.from, row.to,
                       hop_format_bytes(bytes, size, sizeof size), op.by_receiver ? "-read" : "");
    row.name = keep(m, name);
    return add(m, op, row, diag);
}

static const char *begin_group(struct hop_measuring *m, struct hop_diag *diag, const char *format, ...)
    HOP_PRINTF(3, 4);
static const char *begin_group(struct hop_measuring *m, struct hop_diag *diag, const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    const char *kept = keep(m, text);
    if (!kept)
        (void)hop_fail_memory(diag);
    return kept && begin_case(m, diag) == HOP_OK ? kept : NULL;
}

/* ---- pairs ---- */

/* Of many pairs of a level, those that stand at even distances in their order. */
static enum hop_status add_pairs(struct hop_measuring *m, enum hop_measure_kind kind, struct hop_diag *diag)
{
    uint32_t n = m->public.device_count, of_level[HOP_LEVEL_COUNT] = {0}, seen[HOP_LEVEL_COUNT] = {0};
    enum hop_status status = HOP_OK;
    for (uint32_t pass = 0; pass < 2; pass++) {
        for (uint32_t p = 0; p < n * n && status == HOP_OK; p++) {
            uint32_t from = p / n, to = p % n;
            const struct hop_route *route;
            if (from == to)
                continue;
            status = find_route(m, from, to, &route, diag);
            if (status != HOP_OK)
                break;
            enum hop_level level = hop_route_level(m->public.topology, route);
            if (pass == 0) {
                of_level[level]++;
                continue;
            }
            uint32_t stride = (of_level[level] + PAIRS_A_LEVEL - 1) / PAIRS_A_LEVEL;
            bool taken = seen[level]++ % stride == 0;
            for (uint32_t s = 0; taken && s < m->size_count && status == HOP_OK; s++) {
                status = begin_case(m, diag);
                if (status == HOP_OK)
                    status = add_copy(m, kind, NULL, from, to, m->sizes[s], diag);
            }
        }
    }
    return status;
}

/* ---- couples ---- */

struct couple {
    uint32_t ends[4]; /* from, to, from, to */
};

/* How the second way meets the first, seen from the first. */
static void put_manner(const struct hop_measuring *m, const struct hop_route *a, const struct hop_route *b, char *text,
                       size_t size)
{
    size_t used = (size_t)snprintf(text, size, "%u/%u/%.3g/%.3g:", (unsigned)hop_route_level(m->public.topology, a),
                                   (unsigned)hop_route_level(m->public.topology, b), a->capacity_Bps, b->capacity_Bps);
    used += (size_t)snprintf(text + used, size - used, "%u%u%u%u:", a->from == b->from, a->from == b->to,
                             a->to == b->from, a->to == b->to);
    for (uint32_t i = 0; i < a->link_count; i++) {
        for (uint32_t j = 0; j < b->link_count && used + 24 < size; j++) {
            if (a->links[i] / 2 == b->links[j] / 2)
                used +=
                    (size_t)snprintf(text + used, size - used, "%c%u.%u", a->links[i] == b->links[j] ? 's' : 'o', i, j);
        }
    }
}

static enum hop_status put_couple_manner(const struct hop_measuring *m, const struct couple *c, char *manner,
                                         struct hop_diag *diag)
{
    const struct hop_route *a = NULL, *b = NULL;
    char other[MANNER_SIZE];
    enum hop_status status = find_route(m, c->ends[0], c->ends[1], &a, diag);
    if (status == HOP_OK)
        status = find_route(m, c->ends[2], c->ends[3], &b, diag);
    if (status != HOP_OK)
        return status;
    put_manner(m, a, b, manner, MANNER_SIZE);
    put_manner(m, b, a, other, sizeof other);
    if (strcmp(other, manner) < 0)
        memcpy(manner, other, sizeof other);
    return HOP_OK;
}

/* One of each manner, as likely as any other (the i-th of its kind replaces the one kept with probability 1 / i). */
static enum hop_status find_couples(struct hop_measuring *m, struct couple *couples, uint32_t *count,
                                    struct hop_diag *diag)
{
    uint32_t n = m->public.device_count, seen[COUPLES_MAX] = {0};
    uint64_t rng = m->options->seed;
    struct hop_names manners = {0};
    enum hop_status status = HOP_OK;
    *count = 0;
    for (uint32_t p = 0; p < n * n && status == HOP_OK; p++) {
        for (uint32_t q = p + 1; q < n * n && status == HOP_OK; q++) {
            struct couple c = {{p / n, p % n, q / n, q % n}};
            char manner[MANNER_SIZE];
            if (c.ends[0] == c.ends[1] || c.ends[2] == c.ends[3])
                continue;
            status = put_couple_manner(m, &c, manner, diag);
            if (status != HOP_OK)
                break;
            uint32_t at = hop_names_get(&manners, manner);
            if (at == UINT32_MAX && *count < COUPLES_MAX) {
                const char *kept = keep(m, manner);
                if (!kept || !hop_names_put(&manners, kept, at = (*count)++))
                    status = hop_fail_memory(diag);
            }
            if (at != UINT32_MAX && hop_draw(&rng) % ++seen[at] == 0)
                couples[at] = c;
        }
    }
    hop_names_finish(&manners);
    return status;
}

static enum hop_status add_couples(struct hop_measuring *m, struct hop_diag *diag)
{
    struct couple couples[COUPLES_MAX];
    uint32_t count;
    enum hop_status status = find_couples(m, couples, &count, diag);
    for (uint32_t c = 0; c < count && status == HOP_OK; c++) {
        const char *group = begin_group(m, diag, "couple%u", c);
        status = group ? HOP_OK : HOP_ERR_MEMORY;
        for (int e = 0; e < 4 && status == HOP_OK; e += 2)
            status =
                add_copy(m, HOP_MEASURE_TOGETHER, group, couples[c].ends[e], couples[c].ends[e + 1], largest(m), diag);
    }
    return status;
}

/* ---- more than two ---- */

static enum hop_status add_into(struct hop_measuring *m, struct hop_diag *diag)
{
    uint32_t n = m->public.device_count;
    enum hop_status status = HOP_OK;
    for (uint32_t d = 0; d < n && n > 2 && status == HOP_OK; d += n - 1) { /* the first and the last */
        const char *group = begin_group(m, diag, "into-%.60s", m->devices[d]);
        status = group ? HOP_OK : HOP_ERR_MEMORY;
        for (uint32_t s = 0; s < n && status == HOP_OK; s++) {
            if (s != d)
                status = add_copy(m, HOP_MEASURE_TOGETHER, group, s, d, largest(m), diag);
        }
    }
    return status;
}

static enum hop_status add_shifts(struct hop_measuring *m, struct hop_diag *diag)
{
    uint32_t n = m->public.device_count;
    enum hop_status status = HOP_OK;
    for (uint32_t k = 1; k < n && n > 2 && status == HOP_OK; k++) {
        const char *group = begin_group(m, diag, "shift%u", k);
        status = group ? HOP_OK : HOP_ERR_MEMORY;
        for (uint32_t r = 0; r < n && status == HOP_OK; r++)
            status = add_copy(m, HOP_MEASURE_TOGETHER, group, r, (r + k) % n, largest(m), diag);
    }
    return status;
}

/* k copies out of the first device, to k others. */
static enum hop_status add_engines(struct hop_measuring *m, struct hop_diag *diag)
{
    uint32_t n = m->public.device_count;
    enum hop_status status = HOP_OK;
    for (uint32_t k = 2; k < n && k <= ENGINES_MOST && status == HOP_OK; k++) {
        const char *group = begin_group(m, diag, "engines%u", k);
        status = group ? HOP_OK : HOP_ERR_MEMORY;
        for (uint32_t i = 0; i < k && status == HOP_OK; i++)
            status = add_copy(m, HOP_MEASURE_ENGINES, group, 0, i + 1, largest(m), diag);
    }
    return status;
}

/* ---- within the first device ---- */

static enum hop_status add_within(struct hop_measuring *m, enum hop_measure_kind kind, enum hop_reduce reduce,
                                  enum hop_type type, struct hop_diag *diag)
{
    uint64_t bytes = largest(m) < REDUCE_BYTES ? REDUCE_BYTES : largest(m) / 8 * 8;
    struct hop_measure_op op = {.reduce = reduce, .type = type};
    struct hop_measure_row row = {.kind = kind,
                                  .from = m->devices[0],
                                  .to = m->devices[0],
                                  .bytes = bytes,
                                  .traffic_bytes = kind == HOP_MEASURE_REDUCE ? 3 * bytes : 2 * bytes};
    char name[64];
    if (kind == HOP_MEASURE_REDUCE)
        (void)snprintf(name, sizeof name, "%s-%s", hop_reduce_name(reduce), hop_type_name(type));
    row.name = kind == HOP_MEASURE_REDUCE ? keep(m, name) : "copy";
    enum hop_status status = begin_case(m, diag);
    return status == HOP_OK ? add(m, op, row, diag) : status;
}

static enum hop_status add_reductions(struct hop_measuring *m, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (unsigned r = 0; r < HOP_REDUCE_COUNT; r++) {
        for (unsigned t = 0; t < HOP_TYPE_COUNT && status == HOP_OK; t++)
            status = add_within(m, HOP_MEASURE_REDUCE, (enum hop_reduce)r, (enum hop_type)t, diag);
    }
    return status;
}

enum hop_status hop_measure_choose(struct hop_measuring *m, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    if (wants(m, HOP_MEASURE_PAIRS))
        status = add_pairs(m, HOP_MEASURE_PAIRS, diag);
    if (status == HOP_OK && wants(m, HOP_MEASURE_READS))
        status = add_pairs(m, HOP_MEASURE_READS, diag);
    if (status == HOP_OK && wants(m, HOP_MEASURE_TOGETHER))
        status = add_couples(m, diag);
    if (status == HOP_OK && wants(m, HOP_MEASURE_TOGETHER))
        status = add_into(m, diag);
    if (status == HOP_OK && wants(m, HOP_MEASURE_TOGETHER))
        status = add_shifts(m, diag);
    if (status == HOP_OK && wants(m, HOP_MEASURE_ENGINES))
        status = add_engines(m, diag);
    if (status == HOP_OK && wants(m, HOP_MEASURE_REDUCE))
        status = add_reductions(m, diag);
    if (status == HOP_OK && wants(m, HOP_MEASURE_MEMORY))
        status = add_within(m, HOP_MEASURE_MEMORY, HOP_REDUCE_SUM, HOP_TYPE_F32, diag);
    if (status == HOP_OK && m->case_count == 0) {
        hop_fail(diag, HOP_ERR_INVALID, "there is nothing to measure");
        hop_diag_expect(diag, m->public.emulated ? "pairs, together or engines between at least two devices"
                                                 : "at least two devices, or reductions or memory of one");
        status = HOP_ERR_INVALID;
    }
    return status;
}
