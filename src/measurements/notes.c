/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a measurement's value means, from the tokens in its notes:
 *
 *     mean-of-group of N      the mean of the flows' own rates
 *     mean-of-group, half of  the bytes of all over the time of all, over the number of flows
 *     symmetric               as the first; by symmetry all flows are alike
 *     background              loads the machine
 *     start_us=, end_us=      a trace: its own times
 *     staged, P2P disabled    through host memory; "those are staged": where no accelerator link joins the two
 *     serialise               copies into one device take turns, in the order of the rows
 *     pulled                  the receiver reads; its engine works, not the source's
 *     MAD 13 %, ... unsteady  its samples scattered by so much, or drifted (docs/measure.md): by a tenth at least
 *     COLLAPSE                the published pattern of posted writes that no model here predicts
 */
#include "measurements/measurements.h"

#include <math.h>

#define SPREAD_LEAST 0.10 /* where it is not said, or the samples drifted */

static bool says(const struct hop_measurement *m, const char *token)
{
    return strstr(m->notes, token) != NULL;
}

/* The value behind a token such as start_us=, times a unit; NAN: none. */
static double number(const struct hop_measurement *m, const char *token, double unit)
{
    const char *at = strstr(m->notes, token);
    char *end;
    if (!at)
        return NAN;
    at += strlen(token);
    double value = hop_text_number(at, &end);
    return end == at || !(value >= 0 && value <= 1e15) ? NAN : value * unit;
}

void hop_measurement_read_notes(struct hop_measurement *m)
{
    bool mean = says(m, "mean-of-group");
    m->value = (mean && says(m, "mean-of-group of ")) || says(m, "symmetric") ? HOP_MEASURED_MEAN
               : mean || says(m, "half of ")                                  ? HOP_MEASURED_TOTAL
                                                                              : HOP_MEASURED_OWN;
    m->way = says(m, "those are staged")                                        ? HOP_WAY_STAGED_UNLESS_JOINED
             : says(m, "P2P disabled") || says(m, "staged through host memory") ? HOP_WAY_STAGED
                                                                                : HOP_WAY_DIRECT;
    m->in_turn = says(m, "serialise");
    m->pulled = says(m, "pulled by");
    m->collapse = says(m, "COLLAPSE");
    m->spread = says(m, "unsteady") ? fmax(SPREAD_LEAST, number(m, "MAD ", 0.01)) : 0;
    m->start_s = number(m, "start_us=", 1e-6);
    m->end_s = number(m, "end_us=", 1e-6);
    if (isnan(m->start_s) || !(m->end_s > m->start_s)) {
        m->start_s = m->end_s = NAN;
        return;
    }
    m->time_s = m->end_s - m->start_s;
    m->rate_given = false;
    if (m->bytes > 0)
        m->rate_Bps = (double)m->bytes / m->time_s;
}
