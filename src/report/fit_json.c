/* SPDX-License-Identifier: BSD-3-Clause */
/* A fit as JSON, docs/fit.schema.json: its parameters, and the comparison that they lead to. */
#include "base/base.h"
#include "hopcast/calibrate.h"

static void put_list(struct hop_buffer *out, const char *key, const char *const *list, uint32_t count)
{
    hop_buffer_printf(out, ",\"%s\":[", key);
    for (uint32_t i = 0; i < count; i++) {
        hop_buffer_puts(out, i ? "," : "");
        hop_buffer_json_string(out, list[i]);
    }
    hop_buffer_puts(out, "]");
}

static void put_number(struct hop_buffer *out, const char *key, double value)
{
    hop_buffer_printf(out, ",\"%s\":", key);
    hop_buffer_json_number(out, value);
}

static void put_parameter(struct hop_buffer *out, const struct hop_fit_parameter *p)
{
    hop_buffer_puts(out, "{\"name\":");
    hop_buffer_json_string(out, p->name);
    hop_buffer_printf(out, ",\"unit\":\"%s\"", p->unit);
    put_number(out, "value", p->value);
    put_number(out, "uncertainty", p->uncertainty);
    put_number(out, "given", p->given);
    put_number(out, "gain", p->gain);
    put_list(out, "places", p->places, p->place_count);
    hop_buffer_printf(out, ",\"groups\":%u", p->group_count);
    put_list(out, "determined_by", p->determined_by, p->named_count);
    hop_buffer_puts(out, "}");
}

/* Pairs of switches that are parts of one chip, found or given. */
static void put_chips(struct hop_buffer *out, const struct hop_topology *topology)
{
    bool any = false;
    for (uint32_t l = 0; topology && l < hop_topology_link_count(topology); l++) {
        const struct hop_link *link = hop_topology_link(topology, l);
        if (link->kind != HOP_LINK_CHIP)
            continue;
        hop_buffer_puts(out, any ? ",[" : "[");
        hop_buffer_json_string(out, hop_topology_node(topology, link->ends[0])->name);
        hop_buffer_puts(out, ",");
        hop_buffer_json_string(out, hop_topology_node(topology, link->ends[1])->name);
        hop_buffer_puts(out, "]");
        any = true;
    }
}

char *hop_fit_result_to_json(const struct hop_fit_result *result)
{
    struct hop_buffer out = {0};
    char *comparison = hop_comparison_to_json(result->comparison);
    if (!comparison)
        return NULL;
    hop_buffer_puts(&out, "{\"hopcast_fit\":1,\n\"parameters\":[");
    for (uint32_t i = 0; i < result->parameter_count; i++) {
        hop_buffer_puts(&out, i ? ",\n  " : "\n  ");
        put_parameter(&out, &result->parameters[i]);
    }
    hop_buffer_puts(&out, "],\n\"chips\":[");
    put_chips(&out, result->topology);
    hop_buffer_puts(&out, "],\n\"comparison\":");
    hop_buffer_puts(&out, comparison);
    hop_buffer_puts(&out, "}\n");
    free(comparison);
    return hop_buffer_take(&out);
}
