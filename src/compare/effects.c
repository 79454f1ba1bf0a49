/* SPDX-License-Identifier: BSD-3-Clause */
/* Which effect a group of measurements shows: the pattern of its transfers, and where they go. */
#include "compare/compare.h"

#include <math.h>

enum pattern { ALONE, TWO_WAY, FAN_OUT, FAN_IN, SEVERAL, TRACE, COLLECTIVE, PATTERNS };
enum where { PEER, STAGED, TO_HOST, FROM_HOST, HOST_BOTH, WHERES };

const char *hop_effect_name(unsigned effect)
{
    static const char *const names[PATTERNS][WHERES] = {
        [ALONE] = {"alone, peer", "alone, staged", "alone, to host", "alone, from host", "alone, between hosts"},
        [TWO_WAY] = {"two-way, peer", "two-way, staged", "two-way, to host", "two-way, from host", "two-way, host"},
        [FAN_OUT] = {"fan-out, peer", "fan-out, staged", "fan-out, to host", "fan-out, from host", "fan-out, host"},
        [FAN_IN] = {"fan-in, peer", "fan-in, staged", "fan-in, to host", "fan-in, from host", "fan-in, host"},
        [SEVERAL] = {"several, peer", "several, staged", "several, to host", "several, from host",
                     "several, host both ways"},
        [TRACE] = {"trace, peer", "trace, staged", "trace, to host", "trace, from host", "trace, host both ways"},
        [COLLECTIVE] = {"collective"},
    };
    return names[effect / WHERES][effect % WHERES];
}

static bool is_host(const char *name)
{
    return strncmp(name, "host", 4) == 0;
}

static enum where where_of(const struct hop_measurement *m)
{
    bool from = is_host(m->from), to = is_host(m->to);
    return from && to ? HOST_BOTH : from ? FROM_HOST : to ? TO_HOST : m->way == HOP_WAY_STAGED ? STAGED : PEER;
}

unsigned hop_effect_of(const struct hop_measurements *measurements, uint32_t group)
{
    struct hop_measurement_group rows = hop_measurements_group(measurements, group);
    const struct hop_measurement *first = hop_measurements_at(measurements, rows.rows[0]), *second = NULL;
    bool one_source = true, one_end = true;
    enum where where = where_of(first);
    if (first->collective)
        return COLLECTIVE * WHERES + PEER;
    for (uint32_t i = 1; i < rows.count; i++) {
        const struct hop_measurement *m = hop_measurements_at(measurements, rows.rows[i]);
        second = i == 1 ? m : second;
        one_source = one_source && strcmp(m->from, first->from) == 0;
        one_end = one_end && strcmp(m->to, first->to) == 0;
        enum where its = where_of(m);
        where = its == where || its == PEER ? where : where == PEER ? its : HOST_BOTH; /* peers say the least */
    }
    bool two_way = rows.count == 2 && strcmp(first->from, second->to) == 0 && strcmp(first->to, second->from) == 0;
    enum pattern pattern = !isnan(first->start_s)             ? TRACE
                           : rows.count == 1                  ? ALONE
                           : two_way                          ? TWO_WAY
                           : one_source && where != FROM_HOST ? FAN_OUT
                           : one_end && where != TO_HOST      ? FAN_IN
                                                              : SEVERAL;
    return pattern * WHERES + where;
}

unsigned hop_effect_of_row(const struct hop_measurements *measurements, uint32_t group, uint32_t i)
{
    const struct hop_measurement *m =
        hop_measurements_at(measurements, hop_measurements_group(measurements, group).rows[i]);
    return isnan(m->start_s) ? hop_effect_of(measurements, group) : (unsigned)TRACE * WHERES + where_of(m);
}
