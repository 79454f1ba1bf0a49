/* SPDX-License-Identifier: BSD-3-Clause */
/* A mapping as JSON, docs/map.schema.json. */
#include <math.h>

#include "base/json_write.h"
#include "hopcast/map.h"
#include "hopcast/order.h"
#include "report/report.h"

static void put_score(struct hop_buffer *out, const char *key, const struct hop_map_score *score)
{
    hop_json_put(out, "\n%s:{", key);
    for (unsigned m = 0; m < HOP_MAP_METRIC_COUNT; m++)
        hop_json_put(out, "%s:%g", hop_map_metric_at(m)->name, score->metric[m]);
    hop_json_put(out, "}");
}

static void put_index(struct hop_buffer *out, const char *key, uint32_t value)
{
    if (value != HOP_NONE)
        hop_json_put(out, "%s:%u", key, value);
}

static void put_seat(struct hop_buffer *out, const struct hop_topology *topology, const struct hop_map_result *result,
                     uint32_t rank)
{
    const struct hop_seat *seat = &result->seats[rank];
    hop_json_put(out, "\n{rank:%u,node:%s,local_rank:%u,device:%s", rank, result->nodes[seat->node].name,
                 seat->local_rank, hop_topology_node(topology, seat->device)->name);
    put_index(out, "local_device", seat->local_device);
    put_index(out, "core", seat->core);
    put_index(out, "package", seat->package);
    put_index(out, "core_in_package", seat->in_package);
    put_index(out, "processor", seat->processor);
    if (seat->bus_id)
        hop_json_put(out, "bus_id:%s", seat->bus_id);
    if (seat->nic)
        hop_json_put(out, "nic:%s", seat->nic);
    hop_json_put(out, "before:%s}", hop_topology_node(topology, result->before_devices[rank])->name);
}

/* Links that carry something, each direction apart. */
static void put_links(struct hop_buffer *out, const struct hop_topology *topology, const struct hop_map_result *result)
{
    for (uint32_t l = 0; l < 2 * hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l / 2);
        double before_s = result->before.load_s[l], after_s = result->after.load_s[l];
        if (before_s > 0 || after_s > 0)
            hop_json_put(out, "\n{from:%s,to:%s,kind:%s,before_s:%g,after_s:%g}",
                         hop_topology_node(topology, link->ends[l % 2])->name,
                         hop_topology_node(topology, link->ends[1 - l % 2])->name, hop_link_kind_name(link->kind),
                         before_s, after_s);
    }
}

static void put_order(struct hop_buffer *out, const struct hop_order_result *order)
{
    if (order && isfinite(order->value_s))
        hop_json_put(out, "\nreordered:{given_s:%g,best_s:%g,floor_s:%g,proved:%hhu}", order->candidates[0].makespan_s,
                     order->value_s, order->floor_s, order->value_s <= order->floor_s * (1 + 1e-9));
    else
        hop_json_put(out, "\nreordered:null");
}

char *hop_map_result_to_json(const struct hop_topology *topology, const struct hop_traffic *traffic,
                             const struct hop_map_result *result, const struct hop_order_result *reordered)
{
    struct hop_buffer out = {0};
    hop_json_put(&out,
                 "{hopcast_map:1,\ntopology:%s,\ndevice_bytes:%g,\nhost_bytes:%g,\nmetric:%s,\nsolver:%s,\nmethod:%s",
                 hop_topology_name(topology), (double)hop_traffic_bytes(traffic, HOP_MEMORY_DEVICE),
                 (double)hop_traffic_bytes(traffic, HOP_MEMORY_HOST), hop_map_metric_at(result->metric)->name,
                 hop_map_solver_name(result->solver), result->method);
    put_score(&out, "before", &result->before);
    put_score(&out, "after", &result->after);
    put_order(&out, reordered);
    hop_put_gain(&out, "by_model", result->gain);
    hop_json_put(&out,
                 "\ngain:%g,\nbound:%g,\nproved:%hhu,\ncomplete:%hhu,\nnote:%s,\noperations_simulated:%g,\n"
                 "elapsed_s:%g,\nnodes:[",
                 hop_map_gain(result), result->bound > 0 || result->proved ? result->bound : NAN, result->proved,
                 result->complete, result->note, (double)result->simulated, result->elapsed_s);
    for (uint32_t n = 0; n < result->node_count; n++)
        hop_json_put(&out, "\n{name:%s,devices:%u,ranks:%u}", result->nodes[n].name, result->nodes[n].devices,
                     result->nodes[n].ranks);
    hop_json_put(&out, "],\nranks:[");
    for (uint32_t r = 0; r < result->ranks; r++)
        put_seat(&out, topology, result, r);
    hop_json_put(&out, "],\nlinks:[");
    put_links(&out, topology, result);
    hop_json_put(&out, "]}\n");
    return hop_buffer_take(&out);
}
