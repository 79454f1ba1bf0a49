/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast map: the answer for people. */
#include "map.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RANKS_SHOWN = 64 };

static const char *show_metric(enum hop_map_metric metric, double value, char *text, size_t size)
{
    if (isnan(value))
        (void)snprintf(text, size, "-");
    else if (metric == HOP_MAP_DISTANCE)
        (void)snprintf(text, size, "%.4g", value);
    else if (metric == HOP_MAP_LATENCY)
        (void)snprintf(text, size, "%.4g s", value);
    else
        hop_show_seconds(value, text, size);
    return text;
}

/* "1.83 times", "" where there is nothing to compare */
static const char *show_gain(double before, double after, char *text, size_t size)
{
    text[0] = '\0';
    if (before > 0 && after > 0)
        (void)snprintf(text, size, "%.2f", before / after);
    return text;
}

static void print_metrics(const struct hop_map_result *result)
{
    printf("%-12s %14s %14s %8s\n", "metric", "before", "after", "gain");
    for (unsigned m = 0; m < HOP_MAP_METRIC_COUNT; m++) {
        char before[32], after[32], gain[32];
        double was = result->before.metric[m], is = result->after.metric[m];
        if (isnan(was) && isnan(is))
            continue;
        printf("%-12s %14s %14s %8s%s\n", hop_map_metric_name(m), show_metric(m, was, before, sizeof before),
               show_metric(m, is, after, sizeof after), show_gain(was, is, gain, sizeof gain),
               m == result->metric ? "  <- minimised" : "");
    }
}

static void print_seats(const struct map_input *input, const struct hop_map_result *result)
{
    bool cores = result->ranks && result->seats[0].core != HOP_NONE;
    uint32_t shown = result->ranks <= RANKS_SHOWN ? result->ranks : RANKS_SHOWN;
    printf("\n%-6s %-16s %-16s%s\n", "rank", "before", "after", cores ? " core" : "");
    for (uint32_t r = 0; r < shown; r++) {
        const struct hop_seat *seat = &result->seats[r];
        const char *before = hop_topology_node(input->topology, result->before_devices[r])->name;
        const char *after = hop_topology_node(input->topology, seat->device)->name;
        printf("%-6u %-16s %-16s", r, before, after);
        if (cores)
            printf(" %u:%u (processor %u)", seat->package, seat->in_package, seat->processor);
        printf("\n");
    }
    if (shown < result->ranks)
        printf("... %u more ranks: -o FILE writes all\n", result->ranks - shown);
}

static void print_answer(const struct map_request *request, const struct map_input *input,
                         const struct hop_map_result *result)
{
    char value[32], bound[32], bytes[32], elapsed[32];
    double after = result->after.metric[result->metric];
    printf("%u ranks of %s on %s: %s of device traffic", result->ranks, request->source,
           hop_topology_name(input->topology),
           hop_format_bytes(hop_traffic_bytes(input->traffic, HOP_MEMORY_DEVICE), bytes, sizeof bytes));
    if (hop_traffic_bytes(input->traffic, HOP_MEMORY_HOST))
        printf(", %s of host traffic",
               hop_format_bytes(hop_traffic_bytes(input->traffic, HOP_MEMORY_HOST), bytes, sizeof bytes));
    printf("\n%s %s, by %s", hop_map_metric_name(result->metric),
           show_metric(result->metric, after, value, sizeof value), result->method);
    if (result->proved)
        printf(": no mapping is better");
    else if (result->bound > 0)
        printf("; none is better than %s", show_metric(result->metric, result->bound, bound, sizeof bound));
    if (!result->complete)
        printf("; the search was stopped");
    printf(" (%s", hop_show_seconds(result->elapsed_s, elapsed, sizeof elapsed));
    if (result->simulated)
        printf(", %" PRIu64 " operations simulated", result->simulated);
    printf(")\n");
    if (result->note)
        printf("note: %s\n", result->note);
    printf("\n");
    print_metrics(result);
    if (!request->quiet)
        print_seats(input, result);
}

static int print_drawing(const struct map_request *request, const struct map_input *input,
                         const struct hop_map_result *result)
{
    struct map_notes notes = {.result = result, .before = result->before_devices};
    const struct hop_loads_options options = {.width = tool_columns(),
                                              .colour = tool_colour(stdout),
                                              .ascii = request->ascii,
                                              .note = map_note,
                                              .context = &notes};
    struct hop_link_load *loads = map_loads(input, result);
    char *text = loads ? hop_topology_to_loads(input->topology, loads, &options) : NULL;
    if (text)
        printf("\n%s", text);
    free(loads);
    int status = text ? TOOL_OK : tool_out_of_memory();
    free(text);
    return status;
}

static int print_json(const struct map_input *input, const struct hop_map_result *result)
{
    char *text = hop_map_result_to_json(input->topology, input->traffic, result);
    int status = text ? tool_write(NULL, text) : tool_out_of_memory();
    free(text);
    return status;
}

int map_show(const struct map_request *request, const struct map_input *input, const struct hop_map_result *result)
{
    if (request->json)
        return print_json(input, result);
    if (request->launch)
        return TOOL_OK; /* what is pasted stands alone */
    print_answer(request, input, result);
    return request->draw ? print_drawing(request, input, result) : TOOL_OK;
}
