/* SPDX-License-Identifier: BSD-3-Clause */
/* What a plan's bound is about. */
#include "plan/plan.h"

#include <stdio.h>

/* In per cent. */
static const char *excess(const struct hop_plan_result *r, char text[16])
{
    double share = 100 * (r->value_s / r->bound_s - 1);
    (void)snprintf(text, 16, share < 10 ? "%.2g" : "%.0f", share);
    return text;
}

/* Whether there are algorithms that nobody planned. */
static bool leaves_out(const struct hop_plan_result *r)
{
    bool left = false;
    for (uint32_t i = 0; i < r->algorithm_count; i++)
        left = left || (isinf(r->algorithms[i].value_s) && !(r->algorithms[i].bound_s > 0));
    return left;
}

const char *hop_plan_words(const struct hop_plan_result *r, char *text, size_t size)
{
    char share[16], who[64];
    (void)snprintf(who, sizeof who, "%s%s",
                   r->rungs[r->rung_count - 1].step != HOP_PLAN_BOTH ? "no order on this placement"
                   : r->all_placements                               ? "no placement and no order"
                                                                     : "no allowed placement and no order",
                   leaves_out(r) ? " of the algorithms planned" : "");
    if (!isfinite(r->value_s))
        (void)snprintf(text, size, "no plan was found that keeps every link to its limit");
    else if (r->proved_with_waits)
        (void)snprintf(text, size, "proved: %s takes less, without waits or with waits until another transfer ends",
                       who);
    else if (r->proved_without_waits && (r->proved || !(r->bound_s > 0)))
        (void)snprintf(text, size, "proved: %s without waits takes less", who);
    else if (r->proved_without_waits)
        (void)snprintf(text, size,
                       "proved: %s without waits takes less; with waits it is at most %s %% above the least", who,
                       excess(r, share));
    else if (r->bound_s > 0)
        (void)snprintf(text, size, "not proved: at most %s %% above the least possible%s", excess(r, share),
                       leaves_out(r) ? " by the algorithms planned" : "");
    else
        (void)snprintf(text, size, "not proved, and nothing is known of what would be least");
    return text;
}
