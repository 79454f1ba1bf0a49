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

static enum hop_status fail_at(const struct hop_measurements *of, const struct hop_measurement *row, uint32_t column,
                               struct hop_diag *diag)
{
    hop_diag_place(diag, "%s:%u:%u", hop_measurements_name(of), row->line, column);
    return HOP_ERR_INVALID;
}

enum hop_status hop_comparing_begin(const struct hop_measurements *reference, uint32_t candidates,
                                    const struct hop_compare_options *options, struct hop_comparing **made,
                                    struct hop_diag *diag)
{
    struct hop_comparing *c = calloc(1, sizeof *c);
    if (!c)
        return hop_fail_memory(diag);
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
    if (c->arena.failed) {
        hop_comparison_destroy(&c->result);
        return hop_fail_memory(diag);
    }
    uint32_t row = 0;
    for (uint32_t g = 0; g < groups; g++) {
        struct hop_measurement_group group = hop_measurements_group(reference, g);
        c->effect_of[g] = hop_effect_of(reference, g);
        c->groups[g] = (struct hop_compare_group){group.name, hop_effect_name(c->effect_of[g]), row, 0,
                                                  false,      means + (size_t)g * candidates};
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
    c->result.effects = c->effects;
    c->result.candidates = c->summaries;
    c->result.candidate_count = candidates;
    *made = c;
    return HOP_OK;
}

static enum hop_status finish(struct hop_comparing *c, enum hop_status status, struct hop_comparison **comparison,
                              struct hop_diag *diag)
{
    if (status == HOP_OK)
        status = hop_comparing_count(c, diag);
    if (status == HOP_OK)
        *comparison = &c->result;
    else
        hop_comparison_destroy(&c->result);
    return status;
}

static enum hop_status check_count(uint32_t count, struct hop_diag *diag)
{
    if (count >= 1 && count <= HOP_COMPARE_CANDIDATES_MAX)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_LIMIT, "%u candidates\n1 to %d", count, HOP_COMPARE_CANDIDATES_MAX);
}

/* ---- models ---- */

/* Times of a group under the model of the network, as candidate c. */
static enum hop_status time_group(struct hop_comparing *c, const struct hop_expect *expect, struct hop_network *network,
                                  uint32_t group, uint32_t candidate, double *times_s, struct hop_diag *diag)
{
    struct hop_measurement_group rows = hop_measurements_group(expect->measurements, group);
    enum hop_status status = hop_expect_times(expect, network, group, times_s, diag);
    for (uint32_t i = 0; i < rows.count && status == HOP_OK; i++) {
        uint32_t row = c->row_of[rows.rows[i]];
        if (row != HOP_NONE)
            c->times_s[(size_t)row * c->result.candidate_count + candidate] = times_s[i];
    }
    return status;
}

enum hop_status hop_compare_models(const struct hop_measurements *reference, const struct hop_topology *topology,
                                   const char *const *models, uint32_t count, const struct hop_compare_options *options,
                                   struct hop_comparison **comparison, struct hop_diag *diag)
{
    struct hop_compare_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct hop_comparing *c = NULL;
    struct hop_expect *expect = NULL;
    enum hop_status status = check_count(count, diag);
    if (status == HOP_OK)
        status = hop_comparing_begin(reference, count, options, &c, diag);
    if (status != HOP_OK)
        return status;
    double *times_s = malloc((hop_measurements_count(reference) + 1) * sizeof *times_s);
    status = times_s ? hop_expect_create(reference, topology, options, &expect, diag) : hop_fail_memory(diag);
    for (uint32_t m = 0; m < count && status == HOP_OK; m++) {
        struct hop_network *network = NULL;
        const char *name = models[m] ? models[m] : "default";
        c->summaries[m].name = hop_arena_string(&c->arena, name, strlen(name));
        status = c->arena.failed ? hop_fail_memory(diag) : hop_network_create(topology, models[m], &network, diag);
        for (uint32_t g = 0; g < hop_measurements_group_count(reference) && status == HOP_OK; g++)
            status = time_group(c, expect, network, g, m, times_s, diag);
        hop_network_destroy(network);
    }
    free(times_s);
    hop_expect_destroy(expect);
    return finish(c, status, comparison, diag);
}

/* ---- other timings ---- */

/* "GROUP\nTRANSFER", or the transfer alone. */
static const char *key_of(struct hop_arena *arena, const struct hop_measurement *m, bool grouped)
{
    size_t group = strlen(m->group), transfer = strlen(m->transfer);
    char *key = hop_arena_alloc(arena, group + transfer + 2);
    if (key && grouped) {
        memcpy(key, m->group, group);
        key[group] = '\n';
        memcpy(key + group + 1, m->transfer, transfer);
    } else if (key) {
        memcpy(key, m->transfer, transfer);
    }
    return key;
}

static enum hop_status index_names(const struct hop_measurements *of, bool grouped, struct hop_arena *arena,
                                   struct hop_names *names, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < hop_measurements_count(of); i++) {
        const struct hop_measurement *m = hop_measurements_at(of, i);
        const char *key = key_of(arena, m, grouped);
        if (!key)
            return hop_fail_memory(diag);
        if (hop_names_get(names, key) != UINT32_MAX) {
            hop_fail(diag, HOP_ERR_INVALID,
                     "the name '%.60s' stands here a second time\nnames by which transfers can be set side by side",
                     m->transfer);
            return fail_at(of, m, 1, diag);
        }
        if (!hop_names_put(names, key, i))
            return hop_fail_memory(diag);
    }
    return HOP_OK;
}

static enum hop_status join(struct hop_comparing *c, uint32_t candidate, const struct hop_measurements *other,
                            const struct hop_names *names, bool grouped, struct hop_diag *diag)
{
    uint32_t found = 0;
    for (uint32_t r = 0; r < c->result.row_count; r++) {
        const struct hop_compare_row *row = &c->rows[r];
        const char *key = key_of(&c->arena, row->of, grouped);
        uint32_t index = key ? hop_names_get(names, key) : UINT32_MAX;
        if (!key)
            return hop_fail_memory(diag);
        if (index == UINT32_MAX)
            continue;
        const struct hop_measurement *there = hop_measurements_at(other, index);
        if (strcmp(there->from, row->of->from) != 0 || strcmp(there->to, row->of->to) != 0) {
            hop_fail(diag, HOP_ERR_INVALID,
                     "%.40s goes from %.40s to %.40s here, from %.40s to %.40s in %.60s\ntransfers of one name to be "
                     "the same",
                     there->transfer, there->from, there->to, row->of->from, row->of->to, c->result.reference);
            return fail_at(other, there, there->from_column, diag);
        }
        if (row->of->bytes && there->bytes && row->of->bytes != there->bytes) {
            hop_fail(diag, HOP_ERR_INVALID,
                     "%.40s has %llu bytes here, %llu in %.60s\ntransfers of one name to be the same", there->transfer,
                     (unsigned long long)there->bytes, (unsigned long long)row->of->bytes, c->result.reference);
            return fail_at(other, there, there->from_column, diag);
        }
        /* Without bytes only rates can be compared, as times of the bytes that are assumed. */
        c->times_s[(size_t)r * c->result.candidate_count + candidate] =
            isnan(row->of->time_s) ? (double)row->bytes / there->rate_Bps : hop_measured_time_s(there, row->bytes);
        found++;
    }
    if (found)
        return HOP_OK;
    hop_fail(diag, HOP_ERR_INVALID, "no transfer has the name of one in %.80s", c->result.reference);
    hop_diag_place(diag, "%s", hop_measurements_name(other));
    hop_diag_expect(diag, "the same names in both; `hopcast predict -e 'NAME: gpu0 -> gpu1 1MiB'` gives them");
    return HOP_ERR_INVALID;
}

enum hop_status hop_compare_timings(const struct hop_measurements *reference,
                                    const struct hop_measurements *const *candidates, uint32_t count,
                                    const struct hop_compare_options *options, struct hop_comparison **comparison,
                                    struct hop_diag *diag)
{
    struct hop_compare_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct hop_comparing *c = NULL;
    enum hop_status status = check_count(count, diag);
    if (status == HOP_OK)
        status = hop_comparing_begin(reference, count, options, &c, diag);
    if (status != HOP_OK)
        return status;
    for (uint32_t i = 0; i < count && status == HOP_OK; i++) {
        struct hop_names names = {0};
        bool grouped = hop_measurements_group_count(candidates[i]) > 1;
        c->summaries[i].name = hop_arena_string(&c->arena, hop_measurements_name(candidates[i]),
                                                strlen(hop_measurements_name(candidates[i])));
        status = c->arena.failed ? hop_fail_memory(diag) : index_names(candidates[i], grouped, &c->arena, &names, diag);
        if (status == HOP_OK)
            status = join(c, i, candidates[i], &names, grouped, diag);
        hop_names_finish(&names);
    }
    return finish(c, status, comparison, diag);
}

void hop_comparison_destroy(struct hop_comparison *comparison)
{
    struct hop_comparing *c = (struct hop_comparing *)comparison; /* its first member */
    if (!c)
        return;
    hop_arena_finish(&c->arena);
    free(c);
}
