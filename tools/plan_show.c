/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast plan: the answer for people. */
#include "plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PLAN_RANKS_SHOWN = 64 };

static void print_ladder(FILE *out, const struct hop_plan_result *result)
{
    char words[96];
    double given_s = result->rungs[0].value_s;
    fprintf(out, "%-29s %12s %8s  %s\n", "step", "time", "gain", "by all models that apply");
    for (uint32_t i = 0; i < result->rung_count; i++) {
        const struct hop_plan_rung *rung = &result->rungs[i];
        bool found = isfinite(rung->value_s), compared = rung->gain && !isnan(rung->gain->range.low);
        fprintf(out, "%-29s %12s %8s  %s%s%s\n", rung->name, found ? SECONDS(rung->value_s) : "-",
                found && i ? tool_text("%.2f", given_s / rung->value_s) : "",
                compared ? hop_gain_words(&rung->gain->range, words, sizeof words) : "",
                rung->waits ? "; sources wait for each other" : "",
                found && !rung->clean ? "; a link is above its limit: does not count" : "");
    }
}

static const struct hop_plan_rung *rung_of(const struct hop_plan_result *result, enum hop_plan_step step)
{
    for (uint32_t i = 0; i < result->rung_count; i++) {
        if (result->rungs[i].step == step)
            return &result->rungs[i];
    }
    return NULL;
}

/* Steps that can be left out. */
static void print_worth(FILE *out, const struct hop_plan_result *result)
{
    const struct hop_plan_rung *given = &result->rungs[0], *order = rung_of(result, HOP_PLAN_ORDER),
                               *after = rung_of(result, HOP_PLAN_AFTER);
    double value_s = result->value_s * (1 + HOP_GAIN_SAME);
    if (!isfinite(result->value_s) || result->rung_count <= 2)
        return;
    if (given->clean && given->value_s <= value_s)
        fprintf(out, "nothing is worth its trouble: what was given is as good to %.0f %%\n", 100 * HOP_GAIN_SAME);
    else if (rung_of(result, HOP_PLAN_ALGORITHM) && rung_of(result, HOP_PLAN_ALGORITHM)->value_s <= value_s)
        fprintf(out, "order and places are not worth their trouble: the best algorithm alone is as good to %.0f %%\n",
                100 * HOP_GAIN_SAME);
    else if (order->value_s <= value_s)
        fprintf(out, "moving ranks is not worth its trouble: the best order alone is as good to %.0f %%\n",
                100 * HOP_GAIN_SAME);
    else if (after->value_s > value_s)
        fprintf(out, "placing first and ordering after gives away %.1f %%\n",
                100 * (after->value_s / result->value_s - 1));
}

static const char *planned_text(const struct hop_plan_result *result, const struct hop_plan_algorithm *a)
{
    if (isfinite(a->value_s))
        return tool_text("%s", SECONDS(a->value_s));
    return a->bound_s <= 0 ? "-" : a->bound_s >= result->value_s * (1 - 1e-9) ? "ruled out" : "not better";
}

/* Those that were planned, then some that were not. */
static void print_algorithms(FILE *out, const struct hop_plan_result *result)
{
    enum { ALGORITHMS_SHOWN = 10 };
    fprintf(out, "\n%-22s %12s %12s\n", "algorithm", "as given", "planned");
    for (uint32_t i = 0; i < result->algorithm_count && i < ALGORITHMS_SHOWN; i++) {
        const struct hop_plan_algorithm *a = &result->algorithms[i];
        const char *name =
            a->segment_bytes ? tool_text("%s, %s", a->name, tool_short_bytes(a->segment_bytes)) : a->name;
        fprintf(out, "%-22s %12s %12s%s\n", name, SECONDS(a->given_s), planned_text(result, a),
                i == result->algorithm ? "  <- the plan" : "");
    }
    if (result->algorithm_count > ALGORITHMS_SHOWN)
        fprintf(out, "... %u more, slower where ranks are: --json has all\n",
                result->algorithm_count - ALGORITHMS_SHOWN);
}

static void print_ranks(FILE *out, const struct hop_plan_result *result)
{
    uint32_t ranks = hop_placement_count(result->placement),
             shown = ranks < PLAN_RANKS_SHOWN ? ranks : PLAN_RANKS_SHOWN;
    fprintf(out, "\n%-6s %-16s %s\n", "rank", "as given", "planned");
    for (uint32_t r = 0; r < shown; r++)
        fprintf(out, "%-6u %-16s %s\n", r, hop_placement_device(result->rungs[0].placement, r),
                hop_placement_device(result->placement, r));
    if (shown < ranks)
        fprintf(out, "... %u more ranks: --placement FILE writes all\n", ranks - shown);
}

static void print_search(FILE *out, const struct hop_plan_result *result)
{
    fprintf(out, "\nfound in %s: ", SECONDS(result->elapsed_s));
    if (result->classes > 0)
        fprintf(out,
                "%.0f placement%s, %.0f of them different (%.0f symmetries of the machine, %.0f of the exchange), "
                "%.0f ruled out by bounds, %.0f searched",
                result->placements, result->placements > 1 ? "s" : "", result->classes, result->machine_symmetries,
                result->exchange_symmetries, result->bounded, result->searched);
    else
        fprintf(out, "%.3g placement%s, %.0f searched", result->placements, result->placements > 1 ? "s" : "",
                result->searched);
    fprintf(out, ", %" PRIu64 " states\n", result->nodes);
}

static void print_answer(FILE *out, const struct plan_request *request, const struct map_input *input,
                         const struct hop_plan_result *result)
{
    uint32_t ranks = hop_placement_count(result->placement);
    struct hop_network *network = tool_network(input->topology, request->options.models);
    fprintf(out, "%u rank%s of %s on %s", ranks, ranks == 1 ? "" : "s", request->map.source,
            hop_topology_name(input->topology));
    tool_print_models(out, input->topology, network, NULL);
    fprintf(out, "\n%s%s%s\n", isfinite(result->value_s) ? "plan: " : "", plan_remark(result),
            result->complete ? "" : "; the search was stopped");
    if (result->note)
        fprintf(out, "note: %s\n", result->note);
    if (result->bound_s > 0 && !result->proved)
        fprintf(out, "bound: no plan%s takes less than %s\n",
                result->algorithm_count > 1 ? " of the algorithms planned" : "", SECONDS(result->bound_s));
    fprintf(out, "\n");
    print_ladder(out, result);
    print_worth(out, result);
    if (result->algorithm_count)
        print_algorithms(out, result);
    if (!request->map.quiet)
        print_ranks(out, result);
    print_search(out, result);
    hop_network_destroy(network);
}

static bool is_dash(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

void plan_show(const struct plan_request *request, const struct map_input *input, const struct hop_plan_result *result)
{
    FILE *out = is_dash(request->output) || is_dash(request->map.output) ? stderr : stdout;
    if (request->map.json)
        tool_write_text(NULL, hop_plan_result_to_json(input->topology, request->map.source, result));
    else if (!tool_given(&request->map.given, "launch")) /* which stands alone */
        print_answer(out, request, input, result);
}
