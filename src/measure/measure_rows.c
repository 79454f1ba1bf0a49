/* SPDX-License-Identifier: BSD-3-Clause */
/* From samples to rows, and to whether the machine held still. */
#include <math.h>

#include "measure/measure.h"

static void count_row(struct hop_measuring *m, uint32_t r, struct hop_measure_row *row, double *samples)
{
    const double *own = m->samples + (size_t)r * m->public.rounds;
    *row = *m->ops[r].row;
    row->drifts = hop_samples_drift(own, m->public.rounds);
    memcpy(samples, own, m->public.rounds * sizeof *samples);
    hop_samples_summarise(samples, m->public.rounds, &row->time_s);
    row->unsteady = row->drifts || row->time_s.mad > HOP_UNSTEADY_MAD * row->time_s.median;
    m->public.outliers += row->time_s.outliers;
    m->public.unsteady += row->unsteady;
}

/* What reductions and copies within a device say of its memory. */
static void find_memory(struct hop_measuring *m, const struct hop_measure_row *rows, double *rates)
{
    struct hop_sample_summary summary;
    uint32_t count = 0;
    m->public.memory_Bps = m->public.memory_spread_Bps = NAN;
    for (uint32_t r = 0; r < m->op_count && count < HOP_SAMPLES_MAX; r++) {
        if (rows[r].traffic_bytes > 0)
            rates[count++] = (double)rows[r].traffic_bytes / rows[r].time_s.median;
    }
    if (count == 0)
        return;
    hop_samples_summarise(rates, count, &summary);
    m->public.memory_Bps = summary.median;
    m->public.memory_spread_Bps = summary.mad;
}

enum hop_status hop_measure_count(struct hop_measuring *m, struct hop_diag *diag)
{
    struct hop_measure_row *rows = hop_arena_alloc(&m->arena, m->op_count * sizeof *rows);
    double *scratch = malloc(HOP_SAMPLES_MAX * sizeof *scratch);
    if (!rows || !scratch) {
        free(scratch);
        return hop_fail_memory(diag);
    }
    for (uint32_t r = 0; r < m->op_count; r++)
        count_row(m, r, &rows[r], scratch);
    find_memory(m, rows, scratch);
    free(scratch);
    m->public.rows = rows;
    m->public.row_count = m->op_count;
    m->public.samples = m->samples;
    m->public.too_noisy = m->public.unsteady > HOP_UNSTEADY_ROWS * m->op_count;
    return HOP_OK;
}
