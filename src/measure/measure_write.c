/* SPDX-License-Identifier: BSD-3-Clause */
/* What was measured, written: as measurements, as samples, as JSON. Names are plain words: no field needs quotes. */
#include <math.h>

#include "base/json_write.h"
#include "measure/measure.h"

const char *hop_measure_kind_name(enum hop_measure_kind kind)
{
    static const char *const names[] = {"pairs", "reads", "together", "engines", "reduce", "memory"};
    return (unsigned)kind < HOP_MEASURE_KINDS ? names[kind] : "?";
}

/* Notes are words for people, but that a receiver read is said in the words that readers of measurements know. */
static void put_notes(struct hop_buffer *out, const struct hop_measure_result *result,
                      const struct hop_measure_row *row)
{
    const struct hop_sample_summary *s = &row->time_s;
    if (row->kind == HOP_MEASURE_READS)
        hop_buffer_printf(out, "pulled by %s; ", row->to);
    hop_buffer_printf(out, "%s%s; %u samples; median within %.4g to %.4g s (%.3g %%); MAD %s %%; %u outliers%s",
                      result->emulated ? "emulated; " : "", hop_level_name(row->level), s->count, s->low, s->high,
                      100 * s->confidence, hop_show_percent(s->mad / s->median, 2, (char[40]){0}, 40), s->outliers,
                      row->unsteady ? "; unsteady" : "");
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

static void put_row(struct hop_buffer *out, const struct hop_measure_row *row)
{
    const struct hop_sample_summary *s = &row->time_s;
    hop_json_put(
        out,
        "\n{kind:%s,name:%s,group:%s,from:%s,to:%s,level:%s,bytes:%llu,traffic_bytes:%llu,median_s:%g,mad_s:%g,"
        "low_s:%g,high_s:%g,confidence:%g,samples:%u,outliers:%u,drifts:%hhu,unsteady:%hhu}",
        hop_measure_kind_name(row->kind), row->name, row->group, row->from, row->to,
        row->traffic_bytes ? NULL : hop_level_name(row->level), (unsigned long long)row->bytes,
        (unsigned long long)row->traffic_bytes, s->median, s->mad, s->low, s->high, s->confidence, s->count,
        s->outliers, row->drifts, row->unsteady);
}

char *hop_measure_to_json(const struct hop_measure_result *result)
{
    struct hop_buffer out = {0};
    hop_json_put(&out,
                 "{hopcast_measure:1,machine:%s,emulated:%hhu,devices:%u,rounds:%u,elapsed_s:%g,outliers:%u,"
                 "unsteady:%u,too_noisy:%hhu,memory_Bps:%g,memory_spread_Bps:%g,rows:[",
                 hop_topology_name(result->topology), result->emulated, result->device_count, result->rounds,
                 result->elapsed_s, result->outliers, result->unsteady, result->too_noisy, result->memory_Bps,
                 result->memory_spread_Bps);
    for (uint32_t r = 0; r < result->row_count; r++)
        put_row(&out, &result->rows[r]);
    hop_json_put(&out, "\n]}\n");
    return hop_buffer_take(&out);
}
