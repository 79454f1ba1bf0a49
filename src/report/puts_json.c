/* SPDX-License-Identifier: BSD-3-Clause */
/* What puts of a network card take, as JSON (docs/tune_puts.schema.json). */
#include "base/json_write.h"
#include "hopcast/tune.h"
#include "report/report.h"

#include <math.h>

static void put_row(struct hop_buffer *out, const struct hop_put_row *row)
{
    bool first = true;
    hop_json_put(out, "{from: %s, to: %s, bytes: %llu, methods: [", row->from, row->to, (unsigned long long)row->bytes);
    for (unsigned m = 0; m < HOP_PUT_METHODS; m++) {
        const struct hop_put_times *times = &row->times[m];
        if (isnan(times->gap_s))
            continue;
        hop_json_put(out, first ? "" : ", ");
        hop_json_put(out, "{method: %s, latency_s: %g, gap_s: %g, rate_Bps: %g}",
                     hop_put_method_name((enum hop_put_method)m), times->latency_s, times->gap_s, times->rate_Bps);
        first = false;
    }
    hop_json_put(out, "]}");
}

char *hop_puts_to_json(const struct hop_put_row *rows, uint32_t count)
{
    struct hop_buffer out = {0};
    hop_json_put(&out, "{\n  hopcast_tune_puts: %d,\n  rows: [", 1);
    for (uint32_t i = 0; i < count; i++) {
        hop_json_put(&out, i ? ",\n    " : "\n    ");
        put_row(&out, &rows[i]);
    }
    hop_json_put(&out, "\n  ]\n}\n");
    return hop_buffer_take(&out);
}
