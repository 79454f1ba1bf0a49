/* SPDX-License-Identifier: BSD-3-Clause */
/* Algorithms compared, as JSON: docs/tune_collective.schema.json. */
#include "base/json_write.h"
#include "hopcast/tune.h"
#include "report/report.h"

static void put_index(struct hop_buffer *out, const char *key, uint32_t index)
{
    hop_json_put(out, index == HOP_NONE ? "%s:null" : "%s:%u", key, index);
}

static void put_link(struct hop_buffer *out, const struct hop_topology *topology, const struct hop_tune_size *size)
{
    if (size->link == HOP_NONE) {
        hop_json_put(out, "link:null");
        return;
    }
    const struct hop_link *link = hop_topology_link(topology, size->link / 2);
    hop_json_put(out, "link:{from:%s,to:%s,busy:%g}", hop_topology_node(topology, link->ends[size->link % 2])->name,
                 hop_topology_node(topology, link->ends[1 - size->link % 2])->name, size->link_busy);
}

static void put_size(struct hop_buffer *out, const struct hop_network *network,
                     const struct hop_tuned_collective *tuned, const struct hop_tune_size *size)
{
    hop_json_put(out, "\n  {bytes:%llu,asked_bytes:%llu", (unsigned long long)size->vector_bytes,
                 (unsigned long long)size->asked_bytes);
    put_index(out, "winner", size->winner);
    put_index(out, "second", size->second);
    if (!tuned->measured) {
        put_link(out, hop_network_topology(network), size);
        hop_json_put(out, "rule:%s", hop_rule_name(size->rule));
        hop_put_gain_range(out, "by_model", &size->gain);
    }
    hop_json_put(out, "times:[");
    for (uint32_t c = 0; c < tuned->candidate_count; c++) {
        const struct hop_tune_time *time = &size->times[c];
        hop_json_put(out, tuned->measured ? "{median_s:%g,low_s:%g,high_s:%g}" : "%g", time->time_s, time->low_s,
                     time->high_s);
    }
    hop_json_put(out, "]}");
}

static void put_collective(struct hop_buffer *out, const struct hop_network *network,
                           const struct hop_tuned_collective *tuned)
{
    hop_json_put(out, "\n{collective:%s,ranks:%u,\n candidates:[", hop_collective_name(tuned->kind), tuned->ranks);
    for (uint32_t c = 0; c < tuned->candidate_count; c++) {
        const struct hop_tune_candidate *candidate = &tuned->candidates[c];
        hop_json_put(out, "\n  {algorithm:%s,segment_bytes:%llu,refused:%s}", candidate->algorithm,
                     (unsigned long long)candidate->segment_bytes, candidate->refused);
    }
    hop_json_put(out, "],\n sizes:[");
    for (uint32_t s = 0; s < tuned->size_count; s++)
        put_size(out, network, tuned, &tuned->sizes[s]);
    hop_json_put(out, "],\n rows:[");
    for (uint32_t s = 0; s < tuned->span_count; s++) {
        const struct hop_tune_candidate *candidate = &tuned->candidates[tuned->spans[s].candidate];
        hop_json_put(out, "\n  {from_bytes:%llu,algorithm:%s,segment_bytes:%llu}",
                     (unsigned long long)tuned->spans[s].from_vector_bytes, candidate->algorithm,
                     (unsigned long long)candidate->segment_bytes);
    }
    hop_json_put(out, "]}");
}

char *hop_tuned_collectives_to_json(const struct hop_network *network, const struct hop_tuned_collective *const *tuned,
                                    uint32_t count)
{
    struct hop_buffer out = {0};
    hop_json_put(&out, "{hopcast_tune_collective:2,\nmeasured:%hhu", !network);
    if (network) {
        hop_json_put(&out, "\ntopology:%s,\nmodel:", hop_topology_name(hop_network_topology(network)));
        hop_put_models(&out, network, HOP_FIDELITY_FLUID);
    }
    hop_json_put(&out, "\ncollectives:[");
    for (uint32_t i = 0; i < count; i++)
        put_collective(&out, network, tuned[i]);
    hop_json_put(&out, "]}\n");
    return hop_buffer_take(&out);
}
