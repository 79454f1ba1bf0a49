/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithms compared, as JSON: docs/tune_collective.schema.json. */
#include <inttypes.h>

#include "hopcast/tune.h"
#include "report/report.h"

static void put_number(struct hop_buffer *out, const char *key, double value)
{
    hop_buffer_printf(out, ",\"%s\":", key);
    hop_buffer_json_number(out, value); /* null when there is none */
}

static void put_index(struct hop_buffer *out, const char *key, uint32_t index)
{
    if (index == HOP_NONE)
        hop_buffer_printf(out, ",\"%s\":null", key);
    else
        hop_buffer_printf(out, ",\"%s\":%u", key, index);
}

static void put_models(struct hop_buffer *out, const struct hop_network *network)
{
    const struct hop_topology *topology = hop_network_topology(network);
    hop_buffer_puts(out, ",\n\"topology\":");
    hop_buffer_json_string(out, hop_topology_name(topology));
    hop_buffer_puts(out, ",\n\"model\":{");
    for (uint32_t d = 0; d < hop_topology_domain_count(topology); d++) {
        hop_buffer_puts(out, d ? "," : "");
        hop_buffer_json_string(out, hop_topology_domain(topology, d)->name);
        hop_buffer_puts(out, ":");
        hop_buffer_json_string(out, hop_network_model(network, d));
    }
    hop_buffer_puts(out, "}");
}

static void put_candidates(struct hop_buffer *out, const struct hop_tuned_collective *tuned)
{
    hop_buffer_puts(out, ",\n \"candidates\":[");
    for (uint32_t c = 0; c < tuned->candidate_count; c++) {
        hop_buffer_puts(out, c ? ",\n  {\"algorithm\":" : "\n  {\"algorithm\":");
        hop_buffer_json_string(out, tuned->candidates[c].algorithm);
        hop_buffer_printf(out, ",\"segment_bytes\":%" PRIu64 ",\"refused\":", tuned->candidates[c].segment_bytes);
        hop_buffer_json_string(out, tuned->candidates[c].refused);
        hop_buffer_puts(out, "}");
    }
    hop_buffer_puts(out, "]");
}

static void put_link(struct hop_buffer *out, const struct hop_network *network, const struct hop_tune_size *size)
{
    hop_buffer_puts(out, ",\"link\":");
    if (size->link == HOP_NONE) {
        hop_buffer_puts(out, "null");
        return;
    }
    const struct hop_topology *topology = hop_network_topology(network);
    const struct hop_link *link = hop_topology_link(topology, size->link / 2);
    hop_buffer_puts(out, "{\"from\":");
    hop_buffer_json_string(out, hop_topology_node(topology, link->ends[size->link % 2])->name);
    hop_buffer_puts(out, ",\"to\":");
    hop_buffer_json_string(out, hop_topology_node(topology, link->ends[1 - size->link % 2])->name);
    put_number(out, "busy", size->link_busy);
    hop_buffer_puts(out, "}");
}

static void put_size(struct hop_buffer *out, const struct hop_network *network,
                     const struct hop_tuned_collective *tuned, const struct hop_tune_size *size)
{
    hop_buffer_printf(out, "{\"bytes\":%" PRIu64, size->bytes);
    put_index(out, "winner", size->winner);
    put_index(out, "second", size->second);
    if (!tuned->measured) {
        put_link(out, network, size);
        hop_buffer_printf(out, ",\"rule\":\"%s\"", hop_rule_name(size->rule));
    }
    hop_buffer_puts(out, ",\"times\":[");
    for (uint32_t c = 0; c < tuned->candidate_count; c++) {
        const struct hop_tune_time *time = &size->times[c];
        hop_buffer_puts(out, c ? "," : "");
        if (!tuned->measured) {
            hop_buffer_json_number(out, time->time_s);
            continue;
        }
        hop_buffer_puts(out, "{\"median_s\":");
        hop_buffer_json_number(out, time->time_s);
        put_number(out, "low_s", time->low_s);
        put_number(out, "high_s", time->high_s);
        hop_buffer_puts(out, "}");
    }
    hop_buffer_puts(out, "]}");
}

static void put_collective(struct hop_buffer *out, const struct hop_network *network,
                           const struct hop_tuned_collective *tuned)
{
    hop_buffer_printf(out, "{\"collective\":\"%s\",\"ranks\":%u", hop_collective_name(tuned->kind), tuned->ranks);
    put_candidates(out, tuned);
    hop_buffer_puts(out, ",\n \"sizes\":[");
    for (uint32_t s = 0; s < tuned->size_count; s++) {
        hop_buffer_puts(out, s ? ",\n  " : "\n  ");
        put_size(out, network, tuned, &tuned->sizes[s]);
    }
    hop_buffer_puts(out, "],\n \"rows\":[");
    for (uint32_t s = 0; s < tuned->span_count; s++) {
        const struct hop_tune_candidate *candidate = &tuned->candidates[tuned->spans[s].candidate];
        hop_buffer_printf(out, "%s{\"from_bytes\":%" PRIu64 ",\"algorithm\":", s ? ",\n  " : "\n  ",
                          tuned->spans[s].from_bytes);
        hop_buffer_json_string(out, candidate->algorithm);
        hop_buffer_printf(out, ",\"segment_bytes\":%" PRIu64 "}", candidate->segment_bytes);
    }
    hop_buffer_puts(out, "]}");
}

char *hop_tuned_collectives_to_json(const struct hop_network *network, const struct hop_tuned_collective *const *tuned,
                                    uint32_t count)
{
    struct hop_buffer out = {0};
    hop_buffer_printf(&out, "{\"hopcast_tune_collective\":1,\n\"measured\":%s", network ? "false" : "true");
    if (network)
        put_models(&out, network);
    hop_buffer_puts(&out, ",\n\"collectives\":[");
    for (uint32_t i = 0; i < count; i++) {
        hop_buffer_puts(&out, i ? ",\n" : "\n");
        put_collective(&out, network, tuned[i]);
    }
    hop_buffer_puts(&out, "]}\n");
    return hop_buffer_take(&out);
}
