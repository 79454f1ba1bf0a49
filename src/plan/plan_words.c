/* SPDX-License-Identifier: BSD-3-Clause */
/* What a plan's bound is about. */
#include "plan/plan.h"

#include <stdio.h>

#include "hopcast/units.h"

/* In per cent. */
static const char *excess(const struct hop_plan_result *r, char text[16])
{
    return hop_show_percent(r->direct_s / r->bound_s - 1, 2, text, 16);
}

/* Whether there are algorithms that nobody planned, and the bound is not about all of them. */
static bool leaves_out(const struct hop_plan_result *r)
{
    bool left = false;
    for (uint32_t i = 0; i < r->algorithm_count && r->bound_s != r->any_way_s; i++)
        left = left || (isinf(r->algorithms[i].value_s) && !(r->algorithms[i].bound_s > 0));
    return left;
}

/* Which copies the proof is about, where there are others. */
static const char *copies_of(const struct hop_plan_result *r)
{
    return r->ways.copies == 0              ? ""
           : r->ways.way == HOP_PLAN_DIRECT ? " of direct copies"
           : r->proved                      ? ""
           : r->ways.way == HOP_PLAN_STAGED ? " of copies staged in one piece"
                                            : " of direct copies";
}

static const char *who(const struct hop_plan_result *r, char *text, size_t size)
{
    bool places = false;
    for (uint32_t i = 0; i < r->rung_count; i++)
        places = places || r->rungs[i].step == HOP_PLAN_BOTH;
    (void)snprintf(text, size, "%s%s%s%s",
                   places && !r->all_placements ? "no allowed placement and no order"
                   : places                     ? "no placement and no order"
                                                : "no order",
                   copies_of(r), places ? "" : " on this placement", leaves_out(r) ? " of the algorithms planned" : "");
    return text;
}

const char *hop_plan_words(const struct hop_plan_result *r, char *text, size_t size)
{
    char share[16], about[160], seconds[32], chosen[96] = "";
    (void)who(r, about, sizeof about);
    (void)hop_show_seconds(r->direct_s, seconds, sizeof seconds);
    if (r->ways.taken && r->ways.way == HOP_PLAN_STAGED)
        (void)snprintf(chosen, sizeof chosen, "in packets; in one piece %s, ", seconds);
    else if (r->ways.taken && r->ways.staged)
        (void)snprintf(chosen, sizeof chosen, "%u of %u copies staged; with direct ones alone %s, ", r->ways.staged,
                       r->ways.copies, seconds);
    if (!isfinite(r->value_s))
        (void)snprintf(text, size, "no plan was found that keeps every link to its limit");
    else if (r->proved_with_waits)
        (void)snprintf(text, size, "%sproved: %s takes less, without waits or with waits until another transfer ends",
                       chosen, about);
    else if (r->proved_without_waits && (r->proved || !(r->bound_s > 0) || r->bound_s >= r->without_s))
        (void)snprintf(text, size, "%sproved: %s without waits takes less", chosen, about);
    else if (r->proved_without_waits)
        (void)snprintf(text, size,
                       "%sproved: %s without waits takes less; with waits it is at most %s %% above the least", chosen,
                       about, excess(r, share));
    else if (r->bound_s > 0)
        (void)snprintf(text, size, "%snot proved: at most %s %% above the least possible%s%s", chosen, excess(r, share),
                       copies_of(r), leaves_out(r) ? " by the algorithms planned" : "");
    else
        (void)snprintf(text, size, "%snot proved, and nothing is known of what would be least", chosen);
    return text;
}
