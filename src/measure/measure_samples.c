/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What samples say, by their order alone.
 *
 * Of n samples, fewer than k lie below the true median with probability P(Binomial(n, 1/2) < k). So the k-th smallest
 * and the k-th largest have it between them with probability 1 - 2 P; k is as large as HOP_CONFIDENCE allows.
 */
#include <assert.h>
#include <math.h>

#include "measure/measure.h"

enum { TELLING = 6 }; /* samples of which the least and the largest hold the median with HOP_CONFIDENCE */

static double median_of(const double *sorted, uint32_t count)
{
    return (sorted[(count - 1) / 2] + sorted[count / 2]) / 2;
}

/* The distances from the median fall towards it from both ends: merging them from the inside sorts them. */
static double mad_of(const double *sorted, uint32_t count, double median)
{
    double before = 0, distance = 0;
    uint32_t low = 0, high;
    while (low < count && sorted[low] < median)
        low++;
    high = low;
    for (uint32_t taken = 0; taken <= count / 2; taken++) {
        before = distance;
        if (high == count || (low > 0 && median - sorted[low - 1] < sorted[high] - median))
            distance = median - sorted[--low];
        else
            distance = sorted[high++] - median;
    }
    return count % 2 ? distance : (before + distance) / 2;
}

/* The rank k of the interval's ends, counted from 1, and its confidence. */
static uint32_t interval_rank(uint32_t count, double *confidence)
{
    double share = ldexp(1, -(int)count), below = share; /* P(Binomial < k) for k = 1 */
    uint32_t k = 1;
    while (2 * (k + 1) <= count + 1) {
        share *= (double)(count - k + 1) / k;
        if (1 - 2 * (below + share) < HOP_CONFIDENCE)
            break;
        below += share;
        k++;
    }
    *confidence = hop_max(0, 1 - 2 * below);
    return k;
}

bool hop_sample_is_outlier(const struct hop_sample_summary *of, double sample)
{
    return of->count >= HOP_OUTLIER_SAMPLES && fabs(sample - of->median) > HOP_OUTLIER_MADS * of->mad;
}

void hop_samples_summarise(double *samples, uint32_t count, struct hop_sample_summary *summary)
{
    assert(count >= 1 && count <= HOP_SAMPLES_MAX);
    struct hop_sample_summary s = {.count = count};
    qsort(samples, count, sizeof *samples, hop_ascending_double);
    s.median = median_of(samples, count);
    s.mad = mad_of(samples, count, s.median);
    uint32_t k = interval_rank(count, &s.confidence);
    s.low = samples[k - 1];
    s.high = samples[count - k];
    for (uint32_t i = 0; i < count; i++)
        s.outliers += hop_sample_is_outlier(&s, samples[i]);
    *summary = s;
}

bool hop_samples_drift(const double *samples, uint32_t count)
{
    double half[HOP_SAMPLES_MAX];
    struct hop_sample_summary of[2];
    assert(count >= 1 && count <= HOP_SAMPLES_MAX);
    if (count / 2 < TELLING)
        return false;
    for (int h = 0; h < 2; h++) {
        uint32_t first = h ? count / 2 : 0, its = h ? count - count / 2 : count / 2;
        memcpy(half, samples + first, its * sizeof *half);
        hop_samples_summarise(half, its, &of[h]);
    }
    return of[0].low > of[1].high || of[1].low > of[0].high;
}
