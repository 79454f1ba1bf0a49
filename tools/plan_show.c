/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast plan: the answer for people. */
#include "plan.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { PLAN_RANKS_SHOWN = 64 };

static void print_ladder(FILE *out, const struct hop_plan_result *result)
{
    char words[112];
    double given_s = result->rungs[0].value_s;
    static const struct tool_column columns[] = {
        {"step", -29, 0}, {"time", 12, 0}, {"gain", 8, 0}, {"by all models that apply", 0, 1}};
    struct tool_table table;
    tool_table_begin(&table, out, columns, HOP_COUNT(columns));
    for (uint32_t i = 0; i < result->rung_count; i++) {
        const struct hop_plan_rung *rung = &result->rungs[i];
        bool found = isfinite(rung->value_s), compared = rung->gain && !isnan(rung->gain->range.low);
        tool_table_row(&table, "%s\t%s\t%s\t%s%s%s", rung->name, found ? SECONDS(rung->value_s) : "-",
                       found && i ? FIXED(given_s / rung->value_s, 2) : "",
                       compared ? hop_gain_words(&rung->gain->range, words, sizeof words) : "",
                       rung->waits ? "; sources wait for each other" : "",
                       found && !rung->clean ? "; a link is above its limit: does not count" : "");
    }
    tool_table_end(&table);
}

static const struct hop_plan_rung *rung_of(const struct hop_plan_result *result, enum hop_plan_step step)
{
    for (uint32_t i = 0; i < result->rung_count; i++) {
        if (result->rungs[i].step == step)
            return &result->rungs[i];
    }
    return NULL;
}

/* Whether a step was taken and is as good. */
static bool is_as_good(const struct hop_plan_rung *rung, double value_s)
{
    return rung && rung->value_s <= value_s * (1 + HOP_GAIN_SAME);
}

/* Steps that can be left out; where the search was stopped, some were not taken. */
static void print_worth(FILE *out, const struct hop_plan_result *result)
{
    const struct hop_plan_rung *given = &result->rungs[0], *order = rung_of(result, HOP_PLAN_ORDER),
                               *after = rung_of(result, HOP_PLAN_AFTER), *fast = rung_of(result, HOP_PLAN_ALGORITHM);
    if (!isfinite(result->value_s) || !rung_of(result, HOP_PLAN_BOTH))
        return;
    if (given->clean && is_as_good(given, result->value_s))
        fprintf(out, "nothing is worth its trouble: what was given is as good to %.0f %%\n", 100 * HOP_GAIN_SAME);
    else if (is_as_good(fast, result->value_s))
        fprintf(out, "order and places are not worth their trouble: the best algorithm alone is as good to %.0f %%\n",
                100 * HOP_GAIN_SAME);
    else if (is_as_good(order, result->direct_s))
        fprintf(out, "moving ranks is not worth its trouble: the best order alone is as good to %.0f %%\n",
                100 * HOP_GAIN_SAME);
    else if (after && !is_as_good(after, result->direct_s))
        fprintf(out, "placing first and ordering after gives away %s %%\n",
                FIXED(100 * (after->value_s / result->direct_s - 1), 1));
}

/* The same of what was chosen for placement and order. */
static void print_ways(FILE *out, const struct hop_plan_result *result)
{
    const struct hop_plan_ways *w = &result->ways;
    const struct hop_plan_rung *whole = rung_of(result, HOP_PLAN_WAYS), *packets = rung_of(result, HOP_PLAN_PACKETS);
    char words[112];
    if (!packets || !isfinite(result->value_s))
        return;
    double value_s = result->rungs[result->rung_count - 1].value_s;
    const char *size =
        w->packet_bytes ? tool_text("in packets of %s", tool_short_bytes(w->packet_bytes)) : "in one piece";
    if (!(value_s < result->direct_s) && !result->complete)
        fprintf(out, "the search was stopped before a choice of %s was found that gains anything\n",
                w->way == HOP_PLAN_STAGED ? "packets" : "ways");
    else if (!(value_s < result->direct_s))
        fprintf(out, "%s trouble: no choice was found that gains anything\n",
                w->way == HOP_PLAN_STAGED ? "packets are not worth their" : "staging copies is not worth its");
    else if (w->gain)
        fprintf(out, "staging %u of %u copies %s %s: %s\n", w->staged, w->copies, size,
                w->taken ? "gains" : "is not worth its trouble, and not in the plan",
                hop_gain_words(&w->gain->range, words, sizeof words));
    if (w->taken && whole && whole->value_s <= value_s * (1 + HOP_GAIN_SAME))
        fprintf(out, "packets are not worth their trouble: copies staged in one piece are as good to %.0f %%\n",
                100 * HOP_GAIN_SAME);
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
    const int width = result->algorithms[result->algorithm].islands ? 34 : 22;
    fprintf(out, "\n%-*s %12s %12s\n", width, "algorithm", "as given", "planned");
    for (uint32_t i = 0; i < result->algorithm_count && i < ALGORITHMS_SHOWN; i++) {
        const struct hop_plan_algorithm *a = &result->algorithms[i];
        const char *name =
            a->segment_bytes ? tool_text("%s, %s", a->name, tool_short_bytes(a->segment_bytes)) : a->name;
        name = a->rings ? tool_text("%s, %u ring%s", name, a->rings, a->rings > 1 ? "s" : "") : name;
        name = a->islands ? tool_text("%s, %u islands", name, a->islands) : name;
        fprintf(out, "%-*s %12s %12s%s\n", width, name, SECONDS(a->given_s), planned_text(result, a),
                i == result->algorithm ? "  <- the plan" : "");
    }
    if (result->algorithm_count > ALGORITHMS_SHOWN)
        fprintf(out, "... %u more, slower where ranks are: --json has all\n",
                result->algorithm_count - ALGORITHMS_SHOWN);
}

static void print_ranks(FILE *out, const struct hop_plan_result *result)
{
    const struct hop_plan_robust *robust = result->robust && !result->robust->is_plan ? result->robust : NULL;
    uint32_t ranks = hop_placement_count(result->placement),
             shown = ranks < PLAN_RANKS_SHOWN ? ranks : PLAN_RANKS_SHOWN;
    fprintf(out, "\n%-6s %-16s %-*s%s\n", "rank", "as given", robust ? 16 : 0, "planned",
            robust ? " least regret" : "");
    for (uint32_t r = 0; r < shown; r++) {
        fprintf(out, "%-6u %-16s %-*s", r, hop_placement_device(result->rungs[0].placement, r), robust ? 16 : 0,
                hop_placement_device(result->placement, r));
        fprintf(out, "%s%s\n", robust ? " " : "", robust ? hop_placement_device(robust->placement, r) : "");
    }
    if (shown < ranks)
        fprintf(out, "... %u more ranks: --placement FILE writes all\n", ranks - shown);
}

static void print_robust(FILE *out, const struct hop_plan_robust *robust)
{
    tool_print_regrets(out, &robust->order, "plan");
    fprintf(out, "the plan of least regret is %s\n",
            robust->is_plan ? "the best plan" : tool_text("that of \"%s\"", robust->name));
}

/* "of direct copies", where others were looked at. */
static const char *copies_of(const struct hop_plan_ways *ways)
{
    return ways->copies == 0              ? ""
           : ways->way == HOP_PLAN_STAGED ? " of copies staged in one piece"
                                          : " of direct copies";
}

static void print_bounds(FILE *out, const struct hop_plan_result *result)
{
    bool met = !(result->direct_s > result->bound_s * (1 + 1e-9));
    if (result->proved || !isfinite(result->value_s))
        return;
    if (result->bound_s > 0 && !met && result->bound_s != result->any_way_s)
        fprintf(out, "bound: no plan%s%s takes less than %s\n", copies_of(&result->ways),
                result->algorithm_count > 1 ? " of the algorithms planned" : "", SECONDS(result->bound_s));
    if (result->any_way_s > 0)
        fprintf(
            out,
            "bound: no plan takes less than %s, whichever way its copies go%s: this one is at most %.3g times that\n",
            SECONDS(result->any_way_s), result->algorithm_count > 1 ? " and by any algorithm" : "",
            result->value_s / result->any_way_s);
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
    fprintf(out, ", %" PRIu64 " states", result->nodes);
    if (result->recalled)
        fprintf(out, "; %" PRIu64 " steps of the search were in the checkpoint", result->recalled);
    fprintf(out, "\n");
}

static void print_answer(FILE *out, const struct plan_request *request, const struct map_input *input,
                         const struct hop_plan_result *result)
{
    uint32_t ranks = hop_placement_count(result->placement);
    struct hop_network *network = tool_network(input->topology, request->options.models);
    fprintf(out, "%u rank%s of %s on %s", ranks, ranks == 1 ? "" : "s", request->what,
            hop_topology_name(input->topology));
    tool_print_models(out, input->topology, network, NULL);
    fprintf(out, "\n%s%s%s\n", isfinite(result->value_s) ? "plan: " : "", plan_remark(result),
            result->complete || result->proved || result->proved_with_waits ? ""
            : result->proved_without_waits ? "; the search for plans with waits was stopped"
                                           : "; the search was stopped");
    if (result->note)
        fprintf(out, "note: %s\n", result->note);
    print_bounds(out, result);
    fprintf(out, "\n");
    print_ladder(out, result);
    print_worth(out, result);
    print_ways(out, result);
    if (result->algorithm_count)
        print_algorithms(out, result);
    if (result->robust)
        print_robust(out, result->robust);
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
    FILE *out = is_dash(request->output) || is_dash(request->map.output) || is_dash(request->svg) ? stderr : stdout;
    if (request->map.json)
        tool_write_text(NULL, hop_plan_result_to_json(input->topology, request->what, result));
    else if (!tool_given(&request->map.given, "launch")) /* which stands alone */
        print_answer(out, request, input, result);
}

void plan_draw(const struct plan_request *request, const struct map_input *input, const struct hop_plan_result *result)
{
    static const char *const titles[] = {"as given", "planned"}, *const robust[] = {"as given", "of least regret"};
    const struct hop_schedule *schedules[] = {result->rungs[0].schedule,
                                              result->robust ? result->robust->order.best : result->best};
    struct hop_network *network = tool_network(input->topology, request->options.models);
    struct hop_timeline *timelines[2];
    for (unsigned i = 0; i < 2; i++)
        tool_try(hop_simulate(network, schedules[i], NULL, &timelines[i], &tool_diag));
    tool_write_text(request->svg, hop_timelines_to_svg(timelines[0], timelines[1], request->map.source,
                                                       result->robust ? robust : titles));
    hop_timeline_destroy(timelines[0]);
    hop_timeline_destroy(timelines[1]);
    hop_network_destroy(network);
}
