/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as measurements, also with collectives and the names of the GPUs: refused with a diagnostic, or read; then every row
 * is in one group, and its values make sense. */
#include "fuzz.h"

#include "hopcast/measurements.h"

#include <math.h>
#include <string.h>

static void check_row(const struct hop_measurement *m)
{
    MUST(m->transfer && m->from[0] && m->to[0] && m->group && m->notes && strcmp(m->from, m->to) != 0);
    MUST(m->line > 0 && m->from_column > 0 && m->to_column > 0);
    MUST(isnan(m->rate_Bps) || (m->rate_Bps > 0 && isfinite(m->rate_Bps)));
    MUST(isnan(m->time_s) || (m->time_s > 0 && isfinite(m->time_s)));
    if (m->bytes > 0 && !isnan(m->rate_Bps))
        MUST(fabs(m->rate_Bps * m->time_s / (double)m->bytes - 1) < 1e-12);
}

static void check_collective(const struct hop_measurement *m)
{
    MUST(m->ranks > 1 && m->root < m->ranks && m->bytes > 0 && m->time_s > 0 && !m->rate_given);
    MUST(strcmp(m->from, m->devices[0]) == 0 && strcmp(m->to, m->devices[m->ranks - 1]) == 0);
}

static void read_with(const uint8_t *data, size_t size, const struct hop_measurements_options *options)
{
    struct hop_measurements *measurements;
    struct hop_diag diag;
    uint32_t rows = 0, notes = 0;
    if (hop_measurements_read("input", (const char *)data, size, options, &measurements, &diag) != HOP_OK) {
        MUST(is_said(diag.what) && is_said(diag.place) && diag.status != HOP_OK);
        return;
    }
    while (hop_measurements_note(measurements, notes))
        MUST(is_said(hop_measurements_note(measurements, notes++)));
    for (uint32_t i = 0; i < hop_measurements_count(measurements); i++) {
        const struct hop_measurement *m = hop_measurements_at(measurements, i);
        MUST(!m->collective || (options && options->collectives));
        check_row(m);
        if (m->collective)
            check_collective(m);
    }
    for (uint32_t g = 0; g < hop_measurements_group_count(measurements); g++) {
        struct hop_measurement_group group = hop_measurements_group(measurements, g);
        rows += group.count;
        MUST(group.count > 0);
        for (uint32_t i = 0; i < group.count; i++) {
            MUST(i == 0 || group.rows[i] > group.rows[i - 1]);
            MUST(hop_measurements_at(measurements, group.rows[i])->group == group.name);
        }
    }
    MUST(rows > 0 && rows == hop_measurements_count(measurements));
    hop_measurements_destroy(measurements);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const char *const gpus[] = {"tray0.gpu0", "tray0.gpu1", "tray1.gpu0", "tray1.gpu1"};
    const struct hop_measurements_options options = {.gpus = gpus, .gpu_count = 4, .collectives = true};
    read_with(data, size, NULL);
    read_with(data, size, &options);
    return 0;
}
