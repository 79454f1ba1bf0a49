/* SPDX-License-Identifier: BSD-3-Clause */
/* What was measured, written: as measurements, as samples, as JSON. Names are plain words: no field needs quotes. */
#include <math.h>

#include "measure/measure.h"

const char *hop_measure_kind_name(enum hop_measure_kind kind)
{
    static const char *const names[] = {"pairs", "reads", "together", "engines", "reduce", "memory"};
    return (unsigned)kind < HOP_MEASURE_KINDS ? names[kind] : "unknown";
}

/* Notes are words for people, but that a receiver read is said in the words that readers of measurements know. */
static void put_notes(struct hop_buffer *out, const struct hop_measure_result *result,
                      const struct hop_measure_row *row)
{
    const struct hop_sample_summary *s = &row->time_s;
    if (row->kind == HOP_MEASURE_READS)
        hop_buffer_printf(out, "pulled by %s; ", row->to);
    hop_buffer_printf(out, "%s%s; %u samples; median within %.4g to %.4g s (%.3g %%); MAD %.2g %%; %u outliers%s",
                      result->emulated ? "emulated; " : "", hop_level_name(row->level), s->count, s->low, s->high,
                      100 * s->confidence, 100 * s->mad / s->median, s->outliers, row->unsteady ? "; unsteady" : "");
}

char *hop_measure_to_csv(const struct hop_measure_result *result)
{
    struct hop_buffer out = {0};
    uint32_t count = 0;
    hop_buffer_puts(&out, "transfer,from,to,bytes,concurrent_group,measured_s,notes\n");
    for (uint32_t r = 0; r < result->row_count; r++) {
        const struct hop_measure_row *row = &result->rows[r];
        if (row->traffic_bytes > 0)
            continue; /* within a device */
        hop_buffer_printf(&out, "%s,%s,%s,%llu,%s,", row->name, row->from, row->to, (unsigned long long)row->bytes,
                          row->group ? row->group : "");
        hop_buffer_json_number(&out, row->time_s.median);
        hop_buffer_puts(&out, ",");
        put_notes(&out, result, row);
        hop_buffer_puts(&out, "\n");
        count++;
    }
    if (count > 0)
        return hop_buffer_take(&out);
    hop_buffer_finish(&out);
    return NULL;
}

char *hop_measure_to_raw(const struct hop_measure_result *result)
{
    struct hop_buffer out = {0};
    hop_buffer_puts(&out, "kind,name,from,to,bytes,concurrent_group,round,measured_s,outlier\n");
    for (uint32_t r = 0; r < result->row_count; r++) {
        const struct hop_measure_row *row = &result->rows[r];
        for (uint32_t i = 0; i < result->rounds; i++) {
            double sample_s = result->samples[(size_t)r * result->rounds + i];
            bool outlier = hop_sample_is_outlier(&row->time_s, sample_s);
            hop_buffer_printf(&out, "%s,%s,%s,%s,%llu,%s,%u,", hop_measure_kind_name(row->kind), row->name, row->from,
                              row->to, (unsigned long long)row->bytes, row->group ? row->group : "", i);
            hop_buffer_json_number(&out, sample_s);
            hop_buffer_puts(&out, outlier ? ",1\n" : ",0\n");
        }
    }
    return hop_buffer_take(&out);
}

static void put_number(struct hop_buffer *out, const char *key, double value)
{
    hop_buffer_printf(out, ",\"%s\":", key);
    hop_buffer_json_number(out, value);
}

static void put_row(struct hop_buffer *out, const struct hop_measure_row *row)
{
    const struct hop_sample_summary *s = &row->time_s;
    hop_buffer_printf(out, "{\"kind\":\"%s\",\"name\":", hop_measure_kind_name(row->kind));
    hop_buffer_json_string(out, row->name);
    hop_buffer_puts(out, ",\"group\":");
    hop_buffer_json_string(out, row->group);
    hop_buffer_puts(out, ",\"from\":");
    hop_buffer_json_string(out, row->from);
    hop_buffer_puts(out, ",\"to\":");
    hop_buffer_json_string(out, row->to);
    hop_buffer_puts(out, ",\"level\":");
    hop_buffer_json_string(out, row->traffic_bytes ? NULL : hop_level_name(row->level));
    hop_buffer_printf(out, ",\"bytes\":%llu,\"traffic_bytes\":%llu", (unsigned long long)row->bytes,
                      (unsigned long long)row->traffic_bytes);
    put_number(out, "median_s", s->median);
    put_number(out, "mad_s", s->mad);
    put_number(out, "low_s", s->low);
    put_number(out, "high_s", s->high);
    put_number(out, "confidence", s->confidence);
    hop_buffer_printf(out, ",\"samples\":%u,\"outliers\":%u,\"drifts\":%s,\"unsteady\":%s}", s->count, s->outliers,
                      row->drifts ? "true" : "false", row->unsteady ? "true" : "false");
}

char *hop_measure_to_json(const struct hop_measure_result *result)
{
    struct hop_buffer out = {0};
    hop_buffer_puts(&out, "{\"hopcast_measure\":1,\"machine\":");
    hop_buffer_json_string(&out, hop_topology_name(result->topology));
    hop_buffer_printf(&out, ",\"emulated\":%s,\"devices\":%u,\"rounds\":%u", result->emulated ? "true" : "false",
                      result->device_count, result->rounds);
    put_number(&out, "elapsed_s", result->elapsed_s);
    hop_buffer_printf(&out, ",\"outliers\":%u,\"unsteady\":%u,\"too_noisy\":%s", result->outliers, result->unsteady,
                      result->too_noisy ? "true" : "false");
    put_number(&out, "memory_Bps", result->memory_Bps);
    put_number(&out, "memory_spread_Bps", result->memory_spread_Bps);
    hop_buffer_puts(&out, ",\"rows\":[");
    for (uint32_t r = 0; r < result->row_count; r++) {
        hop_buffer_puts(&out, r ? ",\n" : "\n");
        put_row(&out, &result->rows[r]);
    }
    hop_buffer_puts(&out, "\n]}\n");
    return hop_buffer_take(&out);
}
