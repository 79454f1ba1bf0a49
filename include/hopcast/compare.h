/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Compare: how far predictions are from measurements, or any timings from others.
 *
 * A reference (measurements, as a rule) is set beside candidates: what models predict for its groups, or other timings.
 * The error of a transfer is (its candidate's value - the reference's) / the reference's. Rates are compared where the
 * reference measured rates, times where it measured times, durations where it is a trace.
 */
#ifndef HOPCAST_COMPARE_H
#define HOPCAST_COMPARE_H

#include <stdbool.h>

#include "hopcast/measurements.h"
#include "hopcast/report.h"
#include "hopcast/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_COMPARE_CANDIDATES_MAX 16
#define HOP_COMPARE_BYTES ((uint64_t)256 << 20)

struct hop_compare_options {
    size_t size;                /* see hop_version */
    const char *const *renamed; /* pairs: a name in the measurements, the device of the topology; NULL: none */
    uint32_t renamed_count;     /* pairs */
    uint64_t bytes;             /* of transfers that do not state theirs; 0: HOP_COMPARE_BYTES */
    bool sources_unlimited;     /* see struct hop_simulate_options */
    bool ranges;                /* say between what predictions lie (uncertainty.h) */
    const char *algorithm;      /* of collectives, see struct hop_collective_options */
};

/* Between what a prediction of a group lies, nine times out of ten: its value, and what was measured, are geometric means over the
 * rows that have a reference time. */
struct hop_compare_range {
    double value_s, low_s, high_s, reference_s; /* NAN: there is none, as for traces */
    bool contending;                            /* its transfers slow each other down */
};

/* A transfer that has a reference time. */
struct hop_compare_row {
    const struct hop_measurement *of;
    uint64_t bytes; /* assumed where they are not stated */
    uint32_t group;
    bool rate; /* the error is that of the rates, bytes / seconds */
    double reference_s;
    const double *candidate_s; /* one a candidate; NAN: it does not have this transfer */
};

struct hop_compare_group {
    const char *name;
    const char *effect;                /* see struct hop_compare_effect */
    uint32_t first, count;             /* rows */
    bool collapse;                     /* its notes say that it shows a collapse that no model predicts */
    const double *mean_absolute_error; /* one a candidate; NAN: it has none of them */
    const struct hop_compare_range *ranges; /* one a candidate; NULL: not asked for */
    const char
        *algorithm; /* by which models predict a collective: nobody says by which it was measured; NULL: transfers */
};

/* A distribution of sizes of errors; relative, 0.1 being 10 %. */
struct hop_compare_errors {
    uint32_t count;
    double median, p90, worst; /* NAN: count is 0 */
    double within[3];          /* shares within 5, 10 and 15 % */
};

/* Groups that show the same effect: the pattern of their transfers (alone, two-way, fan-out, fan-in, several, trace) and where
 * these go (peer, staged, to host, from host, host both ways). Each group counts once, of a trace each transfer. */
struct hop_compare_effect {
    const char *name;
    const struct hop_compare_errors *errors; /* one a candidate */
};

/* Of one candidate; errors are relative, 0.1 being 10 %. */
struct hop_compare_summary {
    const char *name;
    uint32_t count; /* transfers */
    double mean_error, mean_absolute_error, median_absolute_error, p90_absolute_error;
    double worst_error;       /* the largest in size, with its sign */
    uint32_t worst_row;
    double within[3];         /* shares of the transfers within 5, 10 and 15 % */
    double worst_group_error; /* the largest mean absolute error of a group */
    uint32_t worst_group;
    uint32_t ranges,
        in_range; /* groups that have a range and show no collapse; of them those whose reference lies in it */
    double wide;  /* the median of high over low of these ranges; NAN: there are none */
    struct hop_compare_errors groups; /* each group by its mean absolute error, of a trace each transfer */
};

struct hop_comparison {
    const char *reference; /* its name */
    const struct hop_compare_row *rows;
    uint32_t row_count;
    const struct hop_compare_group *groups;
    uint32_t group_count;
    const struct hop_compare_effect *effects; /* those that occur */
    uint32_t effect_count;
    const struct hop_compare_summary *candidates;
    uint32_t candidate_count;
    uint32_t left_out; /* transfers of the reference without a measured value */
};

/* What models (see hop_network_create; a NULL among them is the default) predict for every group: a copy for each row,
 * all started together, unless the notes say otherwise (docs/compare.md); a collective as hop_make_collective has it. `host` is the memory nearest to the other end. Measurements must outlive the result, which the caller frees; the topology is only read. A
 * device that the topology does not have is HOP_ERR_INVALID at its place. */
HOP_API enum hop_status hop_compare_models(const struct hop_measurements *reference,
                                           const struct hop_topology *topology, const char *const *models,
                                           uint32_t count,
                                           const struct hop_compare_options *options,
                                           struct hop_comparison **comparison, struct hop_diag *diag);
/* Other timings: transfers of the same names (and groups, where a candidate has several) are set side by side. options
 * may be NULL. */
HOP_API enum hop_status hop_compare_timings(const struct hop_measurements *reference,
                                            const struct hop_measurements *const *candidates, uint32_t count,
                                            const struct hop_compare_options *options,
                                            struct hop_comparison **comparison, struct hop_diag *diag);
HOP_API void hop_comparison_destroy(struct hop_comparison *comparison); /* NULL is allowed */

/* The error of a row's candidate, NAN: it does not have it. */
HOP_API double hop_compare_error(const struct hop_compare_row *row, uint32_t candidate);

/* New strings that the caller frees, NULL: out of memory. A histogram of errors for each candidate: for the terminal,
 * as a drawing. */
HOP_API char *hop_comparison_to_histogram(const struct hop_comparison *comparison,
                                          const struct hop_histogram_options *options);
HOP_API char *hop_comparison_to_svg(const struct hop_comparison *comparison);
/* docs/comparison.schema.json */
HOP_API char *hop_comparison_to_json(const struct hop_comparison *comparison);

#ifdef __cplusplus
}
#endif
#endif
