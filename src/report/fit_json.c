/* SPDX-License-Identifier: BSD-3-Clause */
/* A fit as JSON, docs/fit.schema.json: its parameters, and the comparison that they lead to. */
#include "base/base.h"
#include "base/json_write.h"
#include "hopcast/calibrate.h"

static void put_list(struct hop_buffer *out, const char *key, const char *const *list, uint32_t count)
{
    hop_json_put(out, "%s:[", key);
    for (uint32_t i = 0; i < count; i++)
        hop_json_put(out, "%s", list[i]);
    hop_json_put(out, "]");
}

static void put_parameter(struct hop_buffer *out, const struct hop_fit_parameter *p)
{
    hop_json_put(out, "\n  {name:%s,unit:%s,value:%g,uncertainty:%g,low:%g,high:%g,given:%g,gain:%g", p->name, p->unit,
                 p->value, p->uncertainty, p->low, p->high, p->given, p->gain);
    put_list(out, "places", p->places, p->place_count);
    hop_json_put(out, "inherited:%u,groups:%u", p->inherited_count, p->group_count);
    put_list(out, "determined_by", p->determined_by, p->named_count);
    hop_json_put(out, "}");
}

/* Pairs of switches that are parts of one chip, or of root complexes with a port to each other, found or given. */
static void put_joined(struct hop_buffer *out, const struct hop_topology *topology, enum hop_link_kind kind)
{
    for (uint32_t l = 0; topology && l < hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        const struct hop_node *from = hop_topology_node(topology, link->ends[0]),
                              *to = hop_topology_node(topology, link->ends[1]);
        if (link->kind == kind && from->kind == to->kind &&
            (kind == HOP_LINK_CHIP || (link->parameter && strcmp(link->parameter, "on_die") == 0)))
            hop_json_put(out, "[%s,%s]", from->name, to->name);
    }
}

char *hop_fit_result_to_json(const struct hop_fit_result *result)
{
    struct hop_buffer out = {0};
    hop_json_put(&out, "{hopcast_fit:1,\nparameters:[");
    for (uint32_t i = 0; i < result->parameter_count; i++)
        put_parameter(&out, &result->parameters[i]);
    hop_json_put(&out, "],\nspoilt:%u,most_spoilt:%s,\nchips:[", result->spoilt_count, result->spoilt);
    put_joined(&out, result->topology, HOP_LINK_CHIP);
    hop_json_put(&out, "],\nports:[");
    put_joined(&out, result->topology, HOP_LINK_SOCKET);
    hop_json_put(&out, "],\ncomparison:");
    hop_json_embed(&out, hop_comparison_to_json(result->comparison));
    hop_json_put(&out, "\n}\n");
    return hop_buffer_take(&out);
}
