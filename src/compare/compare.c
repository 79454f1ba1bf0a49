/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Setting timings side by side: rows from the reference, times from models (predicted group by group) or from other
 * timings (joined by name). What the errors amount to is counted in statistics.c.
 */
#include "compare/compare.h"
#include "compare/expect.h"

#include <math.h>
#include <stdio.h>

double hop_measured_time_s(const struct hop_measurement *m, uint64_t bytes)
{
    return isnan(m->time_s) ? (double)bytes / m->rate_Bps : m->time_s;
}

struct hop_comparing *hop_comparing_begin(const struct hop_measurements *reference, uint32_t candidates,
                                          const struct hop_compare_options *options, struct hop_failure *failure)
{
    struct hop_comparing *c = calloc(1, sizeof *c);
    if (!c) {
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
        return NULL;
    }
    c->failure = failure;
    uint32_t rows = hop_measurements_count(reference), groups = hop_measurements_group_count(reference);
    uint64_t assumed = options->bytes ? options->bytes : HOP_COMPARE_BYTES;
    c->rows = hop_arena_alloc(&c->arena, (rows + 1) * sizeof *c->rows);
    c->groups = hop_arena_alloc(&c->arena, (groups + 1) * sizeof *c->groups);
    c->summaries = hop_arena_alloc(&c->arena, (candidates + 1) * sizeof *c->summaries);
    c->times_s = hop_arena_alloc(&c->arena, ((size_t)rows * candidates + 1) * sizeof *c->times_s);
    c->row_of = hop_arena_alloc(&c->arena, (rows + 1) * sizeof *c->row_of);
    c->effects = hop_arena_alloc(&c->arena, HOP_EFFECTS * sizeof *c->effects);
    c->effect_of = hop_arena_alloc(&c->arena, (groups + 1) * sizeof *c->effect_of);
    double *means = hop_arena_alloc(&c->arena, ((size_t)groups * candidates + 1) * sizeof *means);
    c->scratch_s = hop_arena_alloc(&c->arena, (rows + 1) * sizeof *c->scratch_s);
    c->ranges =
        options->ranges ? hop_arena_alloc(&c->arena, ((size_t)groups * candidates + 1) * sizeof *c->ranges) : NULL;
    if (c->arena.failed) {
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
        hop_comparison_destroy(&c->result);
        return NULL;
    }
    uint32_t row = 0;
    for (uint32_t g = 0; g < groups; g++) {
        struct hop_measurement_group group = hop_measurements_group(reference, g);
        c->effect_of[g] = hop_effect_of(reference, g);
        c->groups[g] = (struct hop_compare_group){group.name,
                                                  hop_effect_name(c->effect_of[g]),
                                                  row,
                                                  0,
                                                  false,
                                                  means + (size_t)g * candidates,
                                                  c->ranges ? c->ranges + (size_t)g * candidates : NULL,
                                                  NULL};
        for (uint32_t i = 0; c->ranges && i < candidates; i++)
            c->ranges[(size_t)g * candidates + i] = (struct hop_compare_range){NAN, NAN, NAN, NAN, false};
        for (uint32_t i = 0; i < group.count; i++) {
            const struct hop_measurement *m = hop_measurements_at(reference, group.rows[i]);
            uint64_t bytes = m->bytes ? m->bytes : assumed;
            double time_s = hop_measured_time_s(m, bytes);
            c->groups[g].collapse |= m->collapse;
            c->row_of[group.rows[i]] = isnan(time_s) ? HOP_NONE : row;
            if (isnan(time_s)) {
                c->result.left_out++;
                continue;
            }
            c->rows[row] =
                (struct hop_compare_row){m, bytes, g, m->rate_given, time_s, c->times_s + (size_t)row * candidates};
            row++;
        }
        c->groups[g].count = row - c->groups[g].first;
    }
    for (size_t i = 0; i < (size_t)row * candidates; i++)
        c->times_s[i] = NAN;
    c->result.reference = hop_measurements_name(reference);
    c->result.rows = c->rows;
    c->result.row_count = row;
    c->result.groups = c->groups;
    c->result.group_count = groups;
    c->result.candidates = c->summaries;
    c->result.candidate_count = candidates;
    c->result.effects = c->effects;
    return c;
}

void hop_comparing_predict(struct hop_comparing *c, const struct hop_expect *expect,
                           const struct hop_topology *topology, const char *model, uint32_t candidate,
                           const uint8_t *left_out)
{
    struct hop_network *network = NULL;
    if (c->failure->status == HOP_OK)
        c->failure->status = hop_network_create(topology, model, &network, c->failure->diag);
    for (uint32_t g = 0; c->failure->status == HOP_OK && g < hop_expect_count(expect); g++) {
        struct hop_measurement_group rows = hop_expect_rows(expect, g);
        hop_expect_times(expect, network, g, c->scratch_s);
        for (uint32_t i = 0; i < rows.count; i++) {
            uint32_t row = c->row_of[rows.rows[i]];
            if (row != HOP_NONE && (!left_out || !left_out[rows.rows[i]]))
                c->times_s[(size_t)row * c->result.candidate_count + candidate] = c->scratch_s[i];
        }
    }
    hop_network_destroy(network);
}

/* The geometric mean of what was measured in a group, NAN: nothing was. */
static double reference_of(const struct hop_comparing *c, uint32_t group)
{
    const struct hop_compare_group *its = &c->groups[group];
    double sum = 0;
    for (uint32_t r = its->first; r < its->first + its->count; r++)
        sum += log(c->rows[r].reference_s);
    return its->count ? exp(sum / its->count) : NAN;
}

void hop_comparing_find_ranges(struct hop_comparing *c, const struct hop_expect *expect,
                               const struct hop_topology *topology, const char *model, uint32_t candidate,
                               const uint8_t *left_out)
{
    struct hop_network *network = NULL;
    if (c->ranges && c->failure->status == HOP_OK)
        c->failure->status = hop_network_create(topology, model, &network, c->failure->diag);
    for (uint32_t g = 0; network && c->failure->status == HOP_OK && g < hop_expect_count(expect); g++) {
        struct hop_measurement_group rows = hop_expect_rows(expect, g);
        struct hop_compare_range *range = &c->ranges[(size_t)g * c->result.candidate_count + candidate];
        double reference_s = reference_of(c, g);
        if (isnan(reference_s) || expect->groups[g].trace || (left_out && left_out[rows.rows[0]]))
            continue;
        range->reference_s = reference_s;
        hop_expect_range(expect, network, g, range);
    }
    hop_network_destroy(network);
}

const struct hop_comparison *hop_comparing_end(struct hop_comparing *c)
{
    struct hop_failure *failure = c->failure;
    if (failure->status == HOP_OK && !c->arena.failed)
        hop_comparing_count(c);
    if (c->arena.failed)
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
    if (failure->status == HOP_OK)
        return &c->result;
    hop_comparison_destroy(&c->result);
    return NULL;
}

/* NULL: it failed. */
static struct hop_comparing *begin(const struct hop_measurements *reference, uint32_t candidates,
                                   const struct hop_compare_options *given, struct hop_compare_options *own,
                                   struct hop_failure *failure)
{
    failure->status = hop_options_take(own, sizeof *own, given, failure->diag);
    if (candidates < 1 || candidates > HOP_COMPARE_CANDIDATES_MAX)
        hop_failure_set(failure, HOP_ERR_LIMIT, "%u candidates\n1 to %d", candidates, HOP_COMPARE_CANDIDATES_MAX);
    return failure->status == HOP_OK ? hop_comparing_begin(reference, candidates, own, failure) : NULL;
}

static enum hop_status end(struct hop_comparing *c, struct hop_failure *failure, struct hop_comparison **comparison)
{
    const struct hop_comparison *made = c ? hop_comparing_end(c) : NULL;
    if (made)
        *comparison = &c->result;
    return failure->status;
}

/* By which each collective is predicted; one that is asked for must be of use. expect NULL: that failed. */
static void name_algorithms(struct hop_comparing *c, const struct hop_expect *expect, const char *asked)
{
    bool any = false;
    for (uint32_t g = 0; expect && g < hop_expect_count(expect); g++) {
        const char *by = expect->groups[g].algorithm;
        c->groups[g].algorithm = by ? hop_arena_string(&c->arena, by, strlen(by)) : NULL;
        any = any || by;
    }
    if (expect && asked && !any)
        hop_failure_set(c->failure, HOP_ERR_INVALID,
                        "%.80s measures no collective that algorithm '%.40s' could be of\ncollectives, such as what "
                        "all_reduce_perf prints",
                        c->result.reference, asked);
}

enum hop_status hop_compare_models(const struct hop_measurements *reference, const struct hop_topology *topology,
                                   const char *const *models, uint32_t count, const struct hop_compare_options *options,
                                   struct hop_comparison **comparison, struct hop_diag *diag)
{
    struct hop_failure failure = {.diag = diag};
    struct hop_compare_options own = {0};
    struct hop_comparing *c = begin(reference, count, options, &own, &failure);
    struct hop_expect *expect = c ? hop_expect_create(reference, topology, &own, false, &failure) : NULL;
    name_algorithms(c, expect, own.algorithm);
    for (uint32_t m = 0; m < count && expect; m++) {
        const char *name = models[m] ? models[m] : "default";
        c->summaries[m].name = hop_arena_string(&c->arena, name, strlen(name));
        hop_comparing_predict(c, expect, topology, models[m], m, NULL);
        hop_comparing_find_ranges(c, expect, topology, models[m], m, NULL);
    }
    hop_expect_destroy(expect);
    return end(c, &failure, comparison);
}

/* ---- other timings ---- */

/* "GROUP\nTRANSFER", or the transfer alone. */
static const char *key_of(struct hop_arena *arena, const struct hop_measurement *m, bool grouped)
{
    size_t size = strlen(m->group) + strlen(m->transfer) + 2;
    char *key = hop_arena_alloc(arena, size);
    if (key)
        (void)snprintf(key, size, "%s%s%s", grouped ? m->group : "", grouped ? "\n" : "", m->transfer);
    return key;
}

/* What is wrong with a row of a candidate. */
static void refuse(struct hop_comparing *c, const struct hop_measurements *of, const struct hop_measurement *row,
                   uint32_t column, const char *format, ...) HOP_PRINTF(5, 6);
static void refuse(struct hop_comparing *c, const struct hop_measurements *of, const struct hop_measurement *row,
                   uint32_t column, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    c->failure->status = hop_fail_with(c->failure->diag, HOP_ERR_INVALID, format, arguments);
    va_end(arguments);
    hop_failure_place(c->failure, "%s:%u:%u", hop_measurements_name(of), row->line, column);
}

static void index_names(struct hop_comparing *c, const struct hop_measurements *of, bool grouped,
                        struct hop_names *names)
{
    for (uint32_t i = 0; i < hop_measurements_count(of) && c->failure->status == HOP_OK; i++) {
        const struct hop_measurement *m = hop_measurements_at(of, i);
        const char *key = key_of(&c->arena, m, grouped);
        if (key && hop_names_get(names, key) != UINT32_MAX)
            refuse(c, of, m, 1,
                   "the name '%.60s' stands here a second time\nnames by which transfers can be set side by side",
                   m->transfer);
        else if (!key || !hop_names_put(names, key, i))
            hop_failure_set(c->failure, HOP_ERR_MEMORY, "out of memory");
    }
}

/* The time of a row of the candidate as that of the reference's row. */
static double time_of(struct hop_comparing *c, const struct hop_compare_row *row, const struct hop_measurements *other,
                      const struct hop_measurement *there)
{
    const struct hop_measurement *here = row->of;
    if (strcmp(there->from, here->from) != 0 || strcmp(there->to, here->to) != 0)
        refuse(
            c, other, there, there->from_column,
            "%.40s goes from %.40s to %.40s here, from %.40s to %.40s in %.60s\ntransfers of one name to be the same",
            there->transfer, there->from, there->to, here->from, here->to, c->result.reference);
    else if (here->bytes && there->bytes && here->bytes != there->bytes)
        refuse(c, other, there, there->from_column,
               "%.40s has %llu bytes here, %llu in %.60s\ntransfers of one name to be the same", there->transfer,
               (unsigned long long)there->bytes, (unsigned long long)here->bytes, c->result.reference);
    /* Without bytes only rates can be compared, as times of the bytes that are assumed. */
    return isnan(here->time_s) ? (double)row->bytes / there->rate_Bps : hop_measured_time_s(there, row->bytes);
}

static void join(struct hop_comparing *c, uint32_t candidate, const struct hop_measurements *other, bool grouped,
                 const struct hop_names *names)
{
    uint32_t found = 0;
    for (uint32_t r = 0; r < c->result.row_count && c->failure->status == HOP_OK; r++) {
        const char *key = key_of(&c->arena, c->rows[r].of, grouped);
        uint32_t index = key ? hop_names_get(names, key) : UINT32_MAX;
        if (index == UINT32_MAX)
            continue;
        c->times_s[(size_t)r * c->result.candidate_count + candidate] =
            time_of(c, &c->rows[r], other, hop_measurements_at(other, index));
        found++;
    }
    if (found || c->arena.failed || c->failure->status != HOP_OK)
        return;
    hop_failure_set(c->failure, HOP_ERR_INVALID,
                    "no transfer has the name of one in %.80s\nthe same names in both; `hopcast predict -e 'NAME: gpu0 "
                    "-> gpu1 1MiB'` gives them",
                    c->result.reference);
    hop_failure_place(c->failure, "%s", hop_measurements_name(other));
}

enum hop_status hop_compare_timings(const struct hop_measurements *reference,
                                    const struct hop_measurements *const *candidates, uint32_t count,
                                    const struct hop_compare_options *options, struct hop_comparison **comparison,
                                    struct hop_diag *diag)
{
    struct hop_failure failure = {.diag = diag};
    struct hop_compare_options own = {0};
    struct hop_comparing *c = begin(reference, count, options, &own, &failure);
    for (uint32_t i = 0; i < count && c; i++) {
        struct hop_names names = {0};
        const char *name = hop_measurements_name(candidates[i]);
        bool grouped = hop_measurements_group_count(candidates[i]) > 1;
        c->summaries[i].name = hop_arena_string(&c->arena, name, strlen(name));
        index_names(c, candidates[i], grouped, &names);
        join(c, i, candidates[i], grouped, &names);
        hop_names_finish(&names);
    }
    return end(c, &failure, comparison);
}

void hop_comparison_destroy(struct hop_comparison *comparison)
{
    struct hop_comparing *c = (struct hop_comparing *)comparison; /* its first member */
    if (!c)
        return;
    hop_arena_finish(&c->arena);
    free(c);
}
