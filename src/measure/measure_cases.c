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
#include "device/device.h"
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

static const char *keep(struct hop_measuring *m, const char *text)
{
    return hop_arena_string(&m->arena, text, strlen(text));
}

static void begin_case(struct hop_measuring *m)
{
    if (HOP_GROW(&m->arena, m->cases, m->case_count + 1))
        m->cases[m->case_count++].first = m->op_count;
}

/* An operation of the case begun last. */
static void add(struct hop_measuring *m, struct hop_measure_op op, const struct hop_measure_row *row)
{
    op.row = hop_arena_copy(&m->arena, row, sizeof *row);
    if (!HOP_GROW(&m->arena, m->ops, m->op_count + 1) || !hop_measuring_good(m))
        return;
    m->ops[m->op_count++] = op;
    m->cases[m->case_count - 1].count++;
}

/* NULL: there is none, and that is a failure. */
static const struct hop_route *route_of(struct hop_measuring *m, uint32_t from, uint32_t to)
{
    const struct hop_topology *t = m->public.topology;
    uint32_t index;
    if (hop_measuring_good(m))
        m->failure.status = hop_router_find(m->router, hop_topology_find(t, m->devices[from]),
                                            hop_topology_find(t, m->devices[to]), &index, m->failure.diag);
    return hop_measuring_good(m) ? hop_router_route(m->router, index) : NULL;
}

static void add_copy(struct hop_measuring *m, enum hop_measure_kind kind, const char *group, uint32_t from, uint32_t to,
                     uint64_t bytes)
{
    const struct hop_route *route = route_of(m, from, to);
    struct hop_measure_op op = {.from = from, .to = to, .by_receiver = kind == HOP_MEASURE_READS};
    struct hop_measure_row row = {
        .kind = kind, .group = group, .from = m->devices[from], .to = m->devices[to], .bytes = bytes};
    char size[32], name[256];
    if (!route)
        return;
    const struct hop_measure_case *its = &m->cases[m->case_count - 1];
    for (uint32_t i = its->first; i < its->first + its->count; i++)
        op.slot += m->ops[i].to == to;
    row.level = hop_route_level(m->public.topology, route);
    if (group)
        (void)snprintf(name, sizeof name, "%.120s.%u", group, its->count);
    else
        (void)snprintf(name, sizeof name, "%.80s-%.80s-%s%s", row.from, row.to,
                       hop_format_bytes(bytes, size, sizeof size), op.by_receiver ? "-read" : "");
    row.name = keep(m, name);
    add(m, op, &row);
}

/* A case of several copies, and its name. */
static const char *begin_group(struct hop_measuring *m, const char *format, ...) HOP_PRINTF(2, 3);
static const char *begin_group(struct hop_measuring *m, const char *format, ...)
{
    char text[128];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    begin_case(m);
    return keep(m, text);
}

/* ---- pairs ---- */

/* Of many pairs of a level, those that stand at even distances in their order. */
static void add_pairs(struct hop_measuring *m, enum hop_measure_kind kind)
{
    uint32_t n = m->public.device_count, of_level[HOP_LEVEL_COUNT] = {0}, seen[HOP_LEVEL_COUNT] = {0};
    for (uint32_t p = 0; p < 2 * n * n && hop_measuring_good(m); p++) {
        uint32_t from = p / n % n, to = p % n;
        const struct hop_route *route = from == to ? NULL : route_of(m, from, to);
        if (!route)
            continue;
        enum hop_level level = hop_route_level(m->public.topology, route);
        if (p < n * n) { /* first they are counted */
            of_level[level]++;
            continue;
        }
        uint32_t stride = (of_level[level] + PAIRS_A_LEVEL - 1) / PAIRS_A_LEVEL;
        bool taken = seen[level]++ % stride == 0;
        for (uint32_t s = 0; taken && s < m->size_count; s++) {
            begin_case(m);
            add_copy(m, kind, NULL, from, to, m->sizes[s]);
        }
    }
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

/* false: there is no way. */
static bool put_couple_manner(struct hop_measuring *m, const struct couple *c, char *manner)
{
    const struct hop_route *a = route_of(m, c->ends[0], c->ends[1]), *b = route_of(m, c->ends[2], c->ends[3]);
    char other[MANNER_SIZE];
    if (!a || !b)
        return false;
    put_manner(m, a, b, manner, MANNER_SIZE);
    put_manner(m, b, a, other, sizeof other);
    if (strcmp(other, manner) < 0)
        memcpy(manner, other, sizeof other);
    return true;
}

/* One of each manner, as likely as any other (the i-th of its kind replaces the one kept with probability 1 / i). */
static uint32_t find_couples(struct hop_measuring *m, struct couple *couples)
{
    uint32_t n = m->public.device_count, seen[COUPLES_MAX] = {0}, count = 0;
    uint64_t rng = m->options->seed;
    struct hop_names manners = {0};
    for (uint32_t p = 0; p < n * n; p++) {
        for (uint32_t q = p + 1; q < n * n; q++) {
            struct couple c = {{p / n, p % n, q / n, q % n}};
            char manner[MANNER_SIZE];
            if (c.ends[0] == c.ends[1] || c.ends[2] == c.ends[3] || !put_couple_manner(m, &c, manner))
                continue;
            uint32_t at = hop_names_get(&manners, manner);
            if (at == UINT32_MAX && count < COUPLES_MAX) {
                const char *kept = keep(m, manner);
                m->arena.failed |= !kept || !hop_names_put(&manners, kept, at = count++);
            }
            if (at != UINT32_MAX && hop_draw(&rng) % ++seen[at] == 0)
                couples[at] = c;
        }
    }
    hop_names_finish(&manners);
    return count;
}

static void add_couples(struct hop_measuring *m)
{
    struct couple couples[COUPLES_MAX];
    uint32_t count = find_couples(m, couples);
    for (uint32_t c = 0; c < count; c++) {
        const char *group = begin_group(m, "couple%u", c);
        for (int e = 0; e < 4; e += 2)
            add_copy(m, HOP_MEASURE_TOGETHER, group, couples[c].ends[e], couples[c].ends[e + 1], largest(m));
    }
}

/* ---- more than two ---- */

/* All into one, which is the first device and then the last; all to the one k places on. */
static void add_all(struct hop_measuring *m)
{
    uint32_t n = m->public.device_count;
    for (uint32_t d = 0; d < n && n > 2; d += n - 1) {
        const char *group = begin_group(m, "into-%.60s", m->devices[d]);
        for (uint32_t s = 0; s < n; s++) {
            if (s != d)
                add_copy(m, HOP_MEASURE_TOGETHER, group, s, d, largest(m));
        }
    }
    for (uint32_t k = 1; k < n && n > 2; k++) {
        const char *group = begin_group(m, "shift%u", k);
        for (uint32_t r = 0; r < n; r++)
            add_copy(m, HOP_MEASURE_TOGETHER, group, r, (r + k) % n, largest(m));
    }
}

/* k copies out of the first device, to k others. */
static void add_engines(struct hop_measuring *m)
{
    for (uint32_t k = 2; k < m->public.device_count && k <= ENGINES_MOST; k++) {
        const char *group = begin_group(m, "engines%u", k);
        for (uint32_t i = 0; i < k; i++)
            add_copy(m, HOP_MEASURE_ENGINES, group, 0, i + 1, largest(m));
    }
}

/* ---- within the first device ---- */

static void add_within(struct hop_measuring *m, enum hop_measure_kind kind, enum hop_reduce reduce, enum hop_type type)
{
    uint64_t bytes = largest(m) < REDUCE_BYTES ? REDUCE_BYTES : largest(m) / 8 * 8;
    struct hop_measure_op op = {.reduce = reduce, .type = type};
    struct hop_measure_row row = {.kind = kind,
                                  .name = "copy",
                                  .from = m->devices[0],
                                  .to = m->devices[0],
                                  .bytes = bytes,
                                  .traffic_bytes = kind == HOP_MEASURE_REDUCE ? 3 * bytes : 2 * bytes};
    char name[64];
    (void)snprintf(name, sizeof name, "%s-%s", hop_reduce_name(reduce), hop_type_name(type));
    if (kind == HOP_MEASURE_REDUCE)
        row.name = keep(m, name);
    begin_case(m);
    add(m, op, &row);
}

void hop_measure_choose(struct hop_measuring *m)
{
    if (wants(m, HOP_MEASURE_PAIRS))
        add_pairs(m, HOP_MEASURE_PAIRS);
    if (wants(m, HOP_MEASURE_READS))
        add_pairs(m, HOP_MEASURE_READS);
    if (wants(m, HOP_MEASURE_TOGETHER)) {
        add_couples(m);
        add_all(m);
    }
    if (wants(m, HOP_MEASURE_ENGINES))
        add_engines(m);
    for (unsigned i = 0; i < HOP_REDUCE_COUNT * HOP_TYPE_COUNT && wants(m, HOP_MEASURE_REDUCE); i++) {
        const enum hop_reduce reduce = (enum hop_reduce)(i / HOP_TYPE_COUNT);
        const enum hop_type type = (enum hop_type)(i % HOP_TYPE_COUNT);
        if (hop_reduction_kernel(reduce, type) == type) /* others are done by one of these */
            add_within(m, HOP_MEASURE_REDUCE, reduce, type);
    }
    if (wants(m, HOP_MEASURE_MEMORY))
        add_within(m, HOP_MEASURE_MEMORY, HOP_REDUCE_SUM, HOP_TYPE_F32);
    if (m->case_count == 0 && hop_failure_none(&m->failure, !m->arena.failed))
        hop_failure_set(&m->failure, HOP_ERR_INVALID, "there is nothing to measure\n%s",
                        m->public.emulated ? "pairs, together or engines between at least two devices"
                                           : "at least two devices, or reductions or memory of one");
}
