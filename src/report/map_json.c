/* SPDX-License-Identifier: BSD-3-Clause */
/* A mapping as JSON, docs/map.schema.json. */
#include "report/report.h"

#include <math.h>

#include "hopcast/map.h"

static void put_number(struct hop_buffer *out, const char *key, double value)
{
    hop_buffer_printf(out, ",\n\"%s\":", key);
    hop_buffer_json_number(out, value); /* null when there is none */
}

static void put_text(struct hop_buffer *out, const char *key, const char *value)
{
    hop_buffer_printf(out, ",\n\"%s\":", key);
    hop_buffer_json_string(out, value);
}

static void put_score(struct hop_buffer *out, const char *key, const struct hop_map_score *score)
{
    hop_buffer_printf(out, ",\n\"%s\":{", key);
    for (unsigned m = 0; m < HOP_MAP_METRIC_COUNT; m++) {
        hop_buffer_printf(out, "%s\"%s\":", m ? "," : "", hop_map_metric_name(m));
        hop_buffer_json_number(out, score->metric[m]);
    }
    hop_buffer_puts(out, "}");
}

static void put_index(struct hop_buffer *out, const char *key, uint32_t value)
{
    if (value != HOP_NONE)
        hop_buffer_printf(out, ",\"%s\":%u", key, value);
}

static void put_seats(struct hop_buffer *out, const struct hop_topology *topology, const struct hop_map_result *result)
{
    hop_buffer_puts(out, ",\n\"ranks\":[");
    for (uint32_t r = 0; r < result->ranks; r++) {
        const struct hop_seat *seat = &result->seats[r];
        hop_buffer_printf(out, "%s\n{\"rank\":%u,\"node\":", r ? "," : "", r);
        hop_buffer_json_string(out, result->nodes[seat->node].name);
        hop_buffer_printf(out, ",\"local_rank\":%u,\"device\":", seat->local_rank);
        hop_buffer_json_string(out, hop_topology_node(topology, seat->device)->name);
        put_index(out, "local_device", seat->local_device);
        put_index(out, "core", seat->core);
        put_index(out, "package", seat->package);
        put_index(out, "core_in_package", seat->in_package);
        put_index(out, "processor", seat->processor);
        hop_buffer_puts(out, ",\"before\":");
        hop_buffer_json_string(out, hop_topology_node(topology, result->before_devices[r])->name);
        hop_buffer_puts(out, "}");
    }
    hop_buffer_puts(out, "]");
}

static void put_nodes(struct hop_buffer *out, const struct hop_map_result *result)
{
    hop_buffer_puts(out, ",\n\"nodes\":[");
    for (uint32_t n = 0; n < result->node_count; n++) {
        hop_buffer_puts(out, n ? ",\n{\"name\":" : "\n{\"name\":");
        hop_buffer_json_string(out, result->nodes[n].name);
        hop_buffer_printf(out, ",\"devices\":%u,\"ranks\":%u}", result->nodes[n].devices, result->nodes[n].ranks);
    }
    hop_buffer_puts(out, "]");
}

/* Links that carry something, each direction apart. */
static void put_links(struct hop_buffer *out, const struct hop_topology *topology, const struct hop_map_result *result)
{
    bool first = true;
    hop_buffer_puts(out, ",\n\"links\":[");
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l / 2);
        double before = result->before.load_s[l], after = result->after.load_s[l];
        if (before <= 0 && after <= 0)
            continue;
        hop_buffer_puts(out, first ? "\n{\"from\":" : ",\n{\"from\":");
        hop_buffer_json_string(out, hop_topology_node(topology, link->ends[l % 2])->name);
        hop_buffer_puts(out, ",\"to\":");
        hop_buffer_json_string(out, hop_topology_node(topology, link->ends[1 - l % 2])->name);
        hop_buffer_printf(out, ",\"kind\":\"%s\",\"before_s\":", hop_link_kind_name(link->kind));
        hop_buffer_json_number(out, before);
        hop_buffer_puts(out, ",\"after_s\":");
        hop_buffer_json_number(out, after);
        hop_buffer_puts(out, "}");
        first = false;
    }
    hop_buffer_puts(out, "]");
}

char *hop_map_result_to_json(const struct hop_topology *topology, const struct hop_traffic *traffic,
                             const struct hop_map_result *result)
{
    struct hop_buffer out = {0};
    hop_buffer_puts(&out, "{\"hopcast_map\":1,\n\"topology\":");
    hop_buffer_json_string(&out, hop_topology_name(topology));
    put_number(&out, "device_bytes", (double)hop_traffic_bytes(traffic, HOP_MEMORY_DEVICE));
    put_number(&out, "host_bytes", (double)hop_traffic_bytes(traffic, HOP_MEMORY_HOST));
    put_text(&out, "metric", hop_map_metric_name(result->metric));
    put_text(&out, "solver", hop_map_solver_name(result->solver));
    put_text(&out, "method", result->method);
    put_score(&out, "before", &result->before);
    put_score(&out, "after", &result->after);
    put_number(&out, "gain", hop_map_gain(result));
    put_number(&out, "bound", result->bound > 0 || result->proved ? result->bound : NAN);
    hop_buffer_printf(&out, ",\n\"proved\":%s,\n\"complete\":%s", result->proved ? "true" : "false",
                      result->complete ? "true" : "false");
    put_text(&out, "note", result->note);
    put_number(&out, "operations_simulated", (double)result->simulated);
    put_number(&out, "elapsed_s", result->elapsed_s);
    put_nodes(&out, result);
    put_seats(&out, topology, result);
    put_links(&out, topology, result);
    hop_buffer_puts(&out, "}\n");
    return hop_buffer_take(&out);
}
