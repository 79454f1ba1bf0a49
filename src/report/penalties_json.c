/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalties as JSON, docs/penalties.schema.json. */
#include "base/base.h"
#include "hopcast/calibrate.h"

static void number(struct hop_buffer *out, const char *key, double value)
{
    hop_buffer_printf(out, ",\"%s\":", key);
    hop_buffer_json_number(out, value);
}

static void put_transfer(struct hop_buffer *out, const struct hop_measurement *row, const struct hop_penalty *penalty)
{
    hop_buffer_puts(out, "{\"transfer\":");
    hop_buffer_json_string(out, row->transfer);
    hop_buffer_puts(out, ",\"from\":");
    hop_buffer_json_string(out, row->from);
    hop_buffer_puts(out, ",\"to\":");
    hop_buffer_json_string(out, row->to);
    number(out, "time_s", row->time_s);
    number(out, "measured", penalty->measured);
    number(out, "infiniband", penalty->infiniband);
    number(out, "infiniband-full", penalty->infiniband_full);
    hop_buffer_puts(out, "}");
}

char *hop_penalty_result_to_json(const struct hop_penalty_result *result)
{
    struct hop_buffer out = {0};
    const struct hop_measurements *m = result->measurements;
    hop_buffer_puts(&out, "{\"hopcast_penalties\":1,\n\"measurements\":");
    hop_buffer_json_string(&out, hop_measurements_name(m));
    number(&out, "alpha_s_per_B", result->alpha_s);
    number(&out, "bandwidth_Bps", 1 / result->alpha_s);
    hop_buffer_printf(&out, ",\"alone\":%u", result->alone);
    number(&out, "alone_spread", result->alone_spread);
    hop_buffer_puts(&out, ",\n\"graphs\":[");
    for (uint32_t g = 0; g < hop_measurements_group_count(m); g++) {
        struct hop_measurement_group group = hop_measurements_group(m, g);
        hop_buffer_puts(&out, g ? ",\n  {\"group\":" : "\n  {\"group\":");
        hop_buffer_json_string(&out, group.name);
        hop_buffer_puts(&out, ",\"missing\":");
        hop_buffer_json_string(&out, result->missing[g]);
        hop_buffer_puts(&out, ",\"transfers\":[");
        for (uint32_t i = 0; i < group.count; i++) {
            hop_buffer_puts(&out, i ? ",\n    " : "\n    ");
            put_transfer(&out, hop_measurements_at(m, group.rows[i]), &result->penalties[group.rows[i]]);
        }
        hop_buffer_puts(&out, "]}");
    }
    hop_buffer_puts(&out, "]}\n");
    return hop_buffer_take(&out);
}
