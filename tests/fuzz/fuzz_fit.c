/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Any bytes as measurements of a small machine, which a fit then explains: refused with a diagnostic, or fitted; then
 * every value is finite and the fitted topology predicts every row again. The first byte chooses the folds.
 */
#include "fuzz.h"

#include "hopcast/calibrate.h"

#include <math.h>
#include <string.h>

enum { ROWS_MAX = 12 };

static struct hop_topology *machine(void)
{
    struct hop_topology *topology = NULL;
    struct hop_diag diag;
    MUST(hop_topology_load("t2", &topology, &diag) == HOP_OK);
    return topology;
}

static void check_result(const struct hop_fit_result *result, const uint8_t *data, size_t size)
{
    const struct hop_comparison *c = result->comparison;
    for (uint32_t i = 0; i < result->parameter_count; i++) {
        const struct hop_fit_parameter *p = &result->parameters[i];
        MUST(isfinite(p->value) && isfinite(p->given) && p->gain >= 0 && p->name[0]);
        MUST(isnan(p->uncertainty) || p->uncertainty > 0);
        MUST(p->named_count <= p->group_count);
    }
    for (uint32_t i = 0; i < c->candidate_count; i++)
        MUST(c->candidates[i].count == c->row_count); /* held out ones, too: once each */
    for (uint32_t r = 0; r < c->row_count; r++)
        MUST(c->rows[r].candidate_s[1] > 0 && isfinite(c->rows[r].candidate_s[1]));
    no_nan(hop_fit_result_to_json(result), data, size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_measurements *measurements;
    struct hop_fit_result *result = NULL;
    struct hop_diag diag;
    struct hop_fit_options options = {.folds = size > 0 && data[0] == '2' ? 2 : 0};
    size_t skipped = size > 0;
    if (hop_measurements_parse("input", (const char *)data + skipped, size - skipped, &measurements, &diag) != HOP_OK)
        return 0;
    struct hop_topology *topology = machine();
    if (hop_measurements_count(measurements) > ROWS_MAX) {
        /* larger ones take longer, and say no more */
    } else if (hop_calibrate_fit(measurements, topology, &options, &result, &diag) == HOP_OK) {
        check_result(result, data, size);
        hop_fit_result_destroy(result);
    } else {
        MUST(is_said(diag.what) && diag.status != HOP_OK && diag.status != HOP_ERR_MEMORY);
    }
    hop_topology_destroy(topology);
    hop_measurements_destroy(measurements);
    return 0;
}
