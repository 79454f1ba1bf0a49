/* SPDX-License-Identifier: BSD-3-Clause */
/* Penalties as JSON, docs/penalties.schema.json. */
#include "base/json_write.h"
#include "hopcast/calibrate.h"

char *hop_penalty_result_to_json(const struct hop_penalty_result *result)
{
    struct hop_buffer out = {0};
    const struct hop_measurements *m = result->measurements;
    hop_json_put(&out,
                 "{hopcast_penalties:1,\nmeasurements:%s,alpha_s_per_B:%g,bandwidth_Bps:%g,alone:%u,alone_spread:%g,\n"
                 "graphs:[",
                 hop_measurements_name(m), result->alpha_s, 1 / result->alpha_s, result->alone, result->alone_spread);
    for (uint32_t g = 0; g < hop_measurements_group_count(m); g++) {
        struct hop_measurement_group group = hop_measurements_group(m, g);
        hop_json_put(&out, "\n  {group:%s,missing:%s,transfers:[", group.name, result->missing[g]);
        for (uint32_t i = 0; i < group.count; i++) {
            const struct hop_measurement *row = hop_measurements_at(m, group.rows[i]);
            const struct hop_penalty *penalty = &result->penalties[group.rows[i]];
            hop_json_put(&out,
                         "\n    {transfer:%s,from:%s,to:%s,time_s:%g,measured:%g,infiniband:%g,infiniband-full:%g}",
                         row->transfer, row->from, row->to, row->time_s, penalty->measured, penalty->infiniband,
                         penalty->infiniband_full);
        }
        hop_json_put(&out, "]}");
    }
    hop_json_put(&out, "]}\n");
    return hop_buffer_take(&out);
}
