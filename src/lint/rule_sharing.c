/* SPDX-License-Identifier: BSD-3-Clause */
/* Lint: GPUs behind one shared uplink. What they get of their host's memory alone and all at once is predicted. */
#include "lint/lint.h"

#include <math.h>

/* A switch that hangs from a root complex, with the GPUs below it. */
struct shared {
    uint32_t top;
    uint32_t *gpus, count;
    bool told;
};

/* What GPUs read from the host memory nearest to them: alone, and all at once. */
static void predict(struct hop_lint *l, const uint32_t *gpus, uint32_t count, double *alone, double *together)
{
    uint32_t *routes = hop_arena_alloc(&l->arena, ((size_t)count + 1) * sizeof *routes), used = 0;
    *alone = *together = NAN;
    for (uint32_t i = 0; routes && i < count; i++) {
        uint32_t host = hop_lint_nearest_host(l, gpus[i]);
        uint32_t route = host == HOP_NONE ? HOP_NONE : hop_lint_route(l, host, gpus[i]);
        if (route != HOP_NONE)
            routes[used++] = route;
    }
    if (used) {
        *alone = hop_lint_alone_Bps(l, routes[0]);
        *together = hop_lint_together_Bps(l, routes, used);
    }
}

static void tell(struct hop_lint *l, const struct shared *like, struct shared *all, uint32_t count)
{
    struct hop_lint_text text = {0};
    const struct hop_link *uplink = hop_lint_upstream(l, like->top);
    double alone, together;
    uint32_t switches = 0;
    for (uint32_t i = 0; i < count; i++) {
        const struct hop_link *other = hop_lint_upstream(l, all[i].top);
        if (all[i].told || all[i].count != like->count || fabs(hop_lint_capacity(other) / hop_lint_capacity(uplink) - 1) > 1e-3)
            continue;
        all[i].told = true;
        hop_buffer_printf(&text.subject, "%s%s", switches++ ? ", " : "", hop_lint_name(l, all[i].top));
    }
    hop_buffer_printf(&text.evidence, "%s%u GPUs share %s (%s), such as %s below %s", switches > 1 ? "each: " : "",
                      like->count, switches > 1 ? "its uplink" : "its one uplink", hop_lint_link(l, uplink),
                      hop_lint_names(l, like->gpus, like->count), hop_lint_name(l, like->top));
    predict(l, like->gpus, like->count, &alone, &together);
    if (isnan(alone))
        hop_buffer_printf(&text.effect,
                          "traffic of all of them with host memory or other switches at once gets %s each",
                          hop_lint_rate(l, hop_lint_capacity(uplink) / like->count));
    else
        hop_buffer_printf(&text.effect, "host memory to one of them: %s, to all of them at once: %s each",
                          hop_lint_rate(l, alone), hop_lint_rate(l, together));
    hop_lint_add(l, HOP_LINT_UPLINK_SHARED, HOP_LINT_INFO, &text,
                 "keep traffic between these GPUs below their switch, and load from the host in turn");
}

/* Finds the switches; returns how many there are. */
static uint32_t group(struct hop_lint *l, struct hop_lint_nodes gpus, struct shared **all)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < gpus.count; i++) {
        uint32_t top = hop_lint_top_switch(l, gpus.list[i]), at = 0;
        while (at < count && (*all)[at].top != top)
            at++;
        if (top == HOP_NONE || !HOP_GROW(&l->arena, *all, at + 1) ||
            !HOP_GROW(&l->arena, (*all)[at].gpus, (*all)[at].count + 1))
            continue;
        struct shared *shared = &(*all)[at];
        shared->top = top;
        shared->gpus[shared->count++] = gpus.list[i];
        count += at == count;
    }
    return count;
}

void hop_lint_rule_sharing(struct hop_lint *l, uint32_t server)
{
    struct shared *all = NULL;
    uint32_t count = group(l, hop_lint_nodes_of(l, server, HOP_NODE_GPU), &all);
    for (uint32_t i = 0; i < count; i++) {
        if (!all[i].told && all[i].count > 1)
            tell(l, &all[i], all, count);
    }
}
