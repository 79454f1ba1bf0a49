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

/* Whether a later case says the same: of models that do, the last stands for all. */
static bool is_repeated(const struct hop_gain *gain, uint32_t c)
{
    for (uint32_t k = c + 1; k < gain->range.models; k++) {
        if (fabs(gain->cases[k].before_s - gain->cases[c].before_s) <= 1e-9 * gain->cases[c].before_s &&
            fabs(gain->cases[k].after_s - gain->cases[c].after_s) <= 1e-9 * gain->cases[c].after_s)
            return true;
    }
    return false;
}

static void print_metrics(FILE *out, const struct hop_map_result *result)
{
    struct tool_column columns[] = {{"metric", -12, 0}, {"before", 14, 1}, {"after", 14, 0}, {"gain", 8, 0}, {"", 0, 0}};
    struct tool_table table;
    for (uint32_t c = 1; result->gain && c < result->gain->range.models; c++) {
        int width = -(int)strlen(result->gain->cases[c].scenario.name) - (int)strlen("by ");
        columns[0].width = width < columns[0].width && !is_repeated(result->gain, c) ? width : columns[0].width;
    }
    tool_table_begin(&table, out, columns, HOP_COUNT(columns));
    for (unsigned m = 0; m < HOP_MAP_METRIC_COUNT; m++) {
        double was = result->before.metric[m], is = result->after.metric[m];
        if (isnan(was) && isnan(is))
            continue;
        tool_table_row(&table, "%s\t%s\t%s\t%s\t%s", hop_map_metric_at(m)->name, map_show_metric(m, was),
                       map_show_metric(m, is), show_gain(was, is), m == result->metric ? "<- minimised" : "");
    }
    for (uint32_t c = 1; result->gain && c < result->gain->range.models; c++) {
        const struct hop_gain_case *by = &result->gain->cases[c];
        if (is_repeated(result->gain, c))
            continue;
        tool_table_row(&table, "%s\t%s\t%s\t%s", tool_text("by %s", by->scenario.name), SECONDS(by->before_s),
                       SECONDS(by->after_s), show_gain(by->before_s, by->after_s));
    }
    tool_table_end(&table);
}

/* The gain that is the places', the one that sending in another order would have where ranks were, and what the models
 * say together. */
static void print_exchange(FILE *out, const struct hop_map_result *result, const struct hop_order_result *order)
{
    char words[112];
    double after_s = result->after.metric[HOP_MAP_SIMULATED];
    if (order && isfinite(order->value_s)) {
        double given_s = order->candidates[0].makespan_s;
        fprintf(out, "reordering the sends on the placement as given: %s, %s times as fast%s", SECONDS(order->value_s),
                FIXED(given_s / order->value_s, 2), order->waits ? ", sources waiting for each other" : "");
        if (order->value_s <= order->floor_s * (1 + 1e-9))
            fprintf(out, "; no order gives less");
        else if (order->proved)
            fprintf(out, "; no order without waits gives less");
        else if (order->floor_s > 0)
            fprintf(out, "; no order gives less than %s", SECONDS(order->floor_s));
        fprintf(out, "\n");
        if (order->value_s < after_s)
            fprintf(out, "  so the order of sends costs more here than the places do: `hopcast order` writes a better "
                         "one\n");
        else if (order->value_s < given_s * (1 - HOP_GAIN_SAME))
            fprintf(out, "  so some of the gain is had without moving a rank\n");
    }
    if (result->gain && !isnan(result->gain->range.low))
        fprintf(out, "the exchange on its new places: %s\n", hop_gain_words(&result->gain->range, words, sizeof words));
}

static void print_seats(FILE *out, const struct map_input *input, const struct hop_map_result *result)
{
    bool cores = result->ranks && result->seats[0].core != HOP_NONE;
    uint32_t shown = result->ranks <= RANKS_SHOWN ? result->ranks : RANKS_SHOWN;
    int width = cores ? 16 : 0; /* of what is last on a line without cores */
    fprintf(out, "\n%-6s %-16s %-*s%s\n", "rank", "before", width, "after", cores ? " core" : "");
    for (uint32_t r = 0; r < shown; r++) {
        const struct hop_seat *seat = &result->seats[r];
        const char *before = hop_topology_node(input->topology, result->before_devices[r])->name;
        const char *after = hop_topology_node(input->topology, seat->device)->name;
        fprintf(out, "%-6u %-16s %-*s", r, before, width, after);
        if (cores)
            fprintf(out, " %u:%u (processor %u)", seat->package, seat->in_package, seat->processor);
        fprintf(out, "\n");
    }
    if (shown < result->ranks)
        fprintf(out, "... %u more ranks: -o FILE writes all\n", result->ranks - shown);
}

/* A proof is about what was searched. */
static void print_proof(FILE *out, const struct map_request *request, const struct hop_map_result *result)
{
    const char *placement =
        request->options.keep_count || request->options.excluded_count ? "allowed placement" : "placement";
    if (result->proved && result->metric == HOP_MAP_SIMULATED)
        fprintf(out, ": no %s has less with this order of sends, under this model", placement);
    else if (result->proved)
        fprintf(out, ": no %s has less", placement);
    else if (result->bound > 0)
        fprintf(out, "; no %s has less than %s", placement, map_show_metric(result->metric, result->bound));
}

static void print_answer(FILE *out, const struct map_request *request, const struct map_input *input,
                         const struct hop_map_result *result, const struct hop_order_result *order)
{
    double after = result->after.metric[result->metric];
    fprintf(out, "%u rank%s of %s on %s: %s of device traffic", result->ranks, result->ranks == 1 ? "" : "s",
            request->source, hop_topology_name(input->topology),
            BYTES(hop_traffic_bytes(input->traffic, HOP_MEMORY_DEVICE)));
    if (hop_traffic_bytes(input->traffic, HOP_MEMORY_HOST))
        fprintf(out, ", %s of host traffic", BYTES(hop_traffic_bytes(input->traffic, HOP_MEMORY_HOST)));
    fprintf(out, "\n%s %s, by %s", hop_map_metric_at(result->metric)->name, map_show_metric(result->metric, after),
            result->method);
    print_proof(out, request, result);
    if (!result->complete && !result->proved)
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
    print_metrics(out, result);
    print_exchange(out, result, order);
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
    bool pasted = tool_given(&request->given, "launch"); /* stands alone */
    struct hop_order_result *order = pasted ? NULL : map_order(request, input, result);
    if (request->json)
        tool_write_text(NULL, hop_map_result_to_json(input->topology, input->traffic, result, order));
    else if (!pasted)
        print_answer(out, request, input, result, order);
    if (request->draw && !pasted)
        print_drawing(out, request, input, result);
    hop_order_result_destroy(order);
}
