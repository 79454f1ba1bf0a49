/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast map: the answer for people. */
#include "map.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

enum { RANKS_SHOWN = 64 };

const char *map_show_metric(enum hop_map_metric metric, double value)
{
    if (isnan(value))
        return "-";
    return hop_map_metric_at(metric)->is_time ? tool_text("%s", SECONDS(value)) : tool_text("%.4g", value);
}

/* "1.83", "" where there is nothing to compare */
static const char *show_gain(double before, double after)
{
    return before > 0 && after > 0 ? tool_text("%.2f", before / after) : "";
}

static void print_metrics(FILE *out, const struct map_request *request, const struct map_input *input,
                          const struct hop_map_result *result)
{
    fprintf(out, "%-12s %14s %14s %8s\n", "metric", "before", "after", "gain");
    for (unsigned m = 0; m < HOP_MAP_METRIC_COUNT; m++) {
        double was = result->before.metric[m], is = result->after.metric[m];
        if (isnan(was) && isnan(is))
            continue;
        fprintf(out, "%-12s %14s %14s %8s%s\n", hop_map_metric_at(m)->name, map_show_metric(m, was),
                map_show_metric(m, is), show_gain(was, is), m == result->metric ? "  <- minimised" : "");
    }
    double credit[2];
    if (map_by_credit(request, input, result, credit))
        fprintf(out, "%-12s %14s %14s %8s\n", "by credit", SECONDS(credit[0]), SECONDS(credit[1]),
                show_gain(credit[0], credit[1]));
}

static void print_seats(FILE *out, const struct map_input *input, const struct hop_map_result *result)
{
    bool cores = result->ranks && result->seats[0].core != HOP_NONE;
    uint32_t shown = result->ranks <= RANKS_SHOWN ? result->ranks : RANKS_SHOWN;
    fprintf(out, "\n%-6s %-16s %-16s%s\n", "rank", "before", "after", cores ? " core" : "");
    for (uint32_t r = 0; r < shown; r++) {
        const struct hop_seat *seat = &result->seats[r];
        const char *before = hop_topology_node(input->topology, result->before_devices[r])->name;
        const char *after = hop_topology_node(input->topology, seat->device)->name;
        fprintf(out, "%-6u %-16s %-16s", r, before, after);
        if (cores)
            fprintf(out, " %u:%u (processor %u)", seat->package, seat->in_package, seat->processor);
        fprintf(out, "\n");
    }
    if (shown < result->ranks)
        fprintf(out, "... %u more ranks: -o FILE writes all\n", result->ranks - shown);
}

static void print_answer(FILE *out, const struct map_request *request, const struct map_input *input,
                         const struct hop_map_result *result)
{
    double after = result->after.metric[result->metric];
    fprintf(out, "%u rank%s of %s on %s: %s of device traffic", result->ranks, result->ranks == 1 ? "" : "s",
            request->source, hop_topology_name(input->topology),
            BYTES(hop_traffic_bytes(input->traffic, HOP_MEMORY_DEVICE)));
    if (hop_traffic_bytes(input->traffic, HOP_MEMORY_HOST))
        fprintf(out, ", %s of host traffic", BYTES(hop_traffic_bytes(input->traffic, HOP_MEMORY_HOST)));
    fprintf(out, "\n%s %s, by %s", hop_map_metric_at(result->metric)->name, map_show_metric(result->metric, after),
            result->method);
    if (result->proved)
        fprintf(out, ": no mapping is better");
    else if (result->bound > 0)
        fprintf(out, "; none is better than %s", map_show_metric(result->metric, result->bound));
    if (!result->complete)
        fprintf(out, "; the search was stopped");
    fprintf(out, "\n");
    if (result->note)
        fprintf(out, "note: %s\n", result->note);
    if (input->on_devices && request->output)
        fprintf(out,
                "note: the schedule names devices and no ranks: `hopcast predict --map` cannot put it where -o says; "
                "--placed FILE writes it on its new devices\n");
    else if (input->on_devices && !request->placed)
        fprintf(out, "note: the schedule names devices; --placed FILE writes it on its new ones\n");
    fprintf(out, "\n");
    print_metrics(out, request, input, result);
    if (!request->quiet)
        print_seats(out, input, result);
    fprintf(out, "\nfound in %s", SECONDS(result->elapsed_s));
    if (result->simulated)
        fprintf(out, ", %" PRIu64 " operations simulated", result->simulated);
    fprintf(out, "\n");
}

static void print_drawing(FILE *out, const struct map_request *request, const struct map_input *input,
                          const struct hop_map_result *result)
{
    struct map_notes notes = {.result = result, .before = result->before_devices};
    const struct hop_loads_options options = {.width = tool_columns(),
                                              .colour = tool_colour(out),
                                              .ascii = request->ascii,
                                              .note = map_note,
                                              .context = &notes};
    fprintf(out, "\n");
    tool_print(out, hop_topology_to_loads(input->topology, map_loads(input, result), &options));
}

static bool is_dash(const char *path)
{
    return path && strcmp(path, "-") == 0;
}

void map_show(const struct map_request *request, const struct map_input *input, const struct hop_map_result *result)
{
    FILE *out = is_dash(request->output) || is_dash(request->placed) || is_dash(request->svg) ? stderr : stdout;
    if (request->json)
        tool_write_text(NULL, hop_map_result_to_json(input->topology, input->traffic, result));
    else if (!tool_given(&request->given, "launch")) /* what is pasted stands alone */
        print_answer(out, request, input, result);
    if (request->draw && !tool_given(&request->given, "launch"))
        print_drawing(out, request, input, result);
}
