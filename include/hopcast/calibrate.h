/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Calibrate: a model's parameters from measurements.
 *
 * Penalties (Martinasso and Mehaut 2011, section 3.3): a group of measurements is a graph of transfers that started
 * together. When one ends, those that are left go on as the graph without it. So the penalties of a graph's first step
 * follow from its times and from the first steps of smaller graphs, down to lone transfers, which give the bandwidth.
 * Parts of a graph that share no node are taken to ignore each other.
 *
 * Fitting: the values of a topology under which a model predicts measurements best. It starts with one capacity for all
 * links of a kind and one loss for all crossings; a link, a direction, a pair of root complexes or a limit that the
 * topology did not speak of gets a value of its own only where the measurements ask for it (docs/calibrate.md).
 */
#ifndef HOPCAST_CALIBRATE_H
#define HOPCAST_CALIBRATE_H

#include <stdbool.h>

#include "hopcast/compare.h"
#include "hopcast/measurements.h"
#include "hopcast/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_PENALTY_TRANSFERS_MAX 64 /* transfers of one group */
#define HOP_PENALTY_TOGETHER 0.01

struct hop_penalty_options {
    size_t size; /* see hop_version */
    /* Vertices are the ports at which transfers enter and leave a network fabric of this topology; NULL: the names in
     * the measurements. */
    const struct hop_topology *topology;
    double alpha_s;  /* seconds that a byte takes alone; 0: the mean over the groups of one row */
    double together; /* transfers whose times are within this share of the first one's end together; negative:
                      * HOP_PENALTY_TOGETHER */
    bool fill;       /* graphs that were not measured have the penalties of model infiniband, instead of being missed */
};

/* A transfer in the first step of its graph. */
struct hop_penalty {
    double measured;   /* NAN: not known, see `missing` of its group */
    double infiniband; /* what the models of these names say */
    double infiniband_full;
};

struct hop_penalty_result {
    const struct hop_measurements *measurements;
    double alpha_s;
    uint32_t alone;       /* groups of one row that alpha_s is the mean of, 0: it was given */
    double alone_spread;  /* their largest distance from it, relative */
    const struct hop_penalty *penalties; /* one a measurement */
    const char *const *missing; /* one a group: what its penalties would need, NULL: nothing */
    uint32_t missing_count;     /* groups that miss something */
};

/* The measurements must outlive the result, which the caller frees. Devices that the topology does not have, transfers
 * that use no fabric, and, without alpha_s, the lack of a group of one row are errors. */
HOP_API enum hop_status hop_calibrate_penalties(const struct hop_measurements *measurements,
                                                const struct hop_penalty_options *options,
                                                struct hop_penalty_result **result, struct hop_diag *diag);
HOP_API void hop_penalty_result_destroy(struct hop_penalty_result *result); /* NULL is allowed */
/* docs/penalties.schema.json; a new string that the caller frees, NULL: out of memory. */
HOP_API char *hop_penalty_result_to_json(const struct hop_penalty_result *result);

/* ---- fitting ---- */

#define HOP_FIT_FOLDS_MAX 20
#define HOP_FIT_KINDS_LEAST 2

struct hop_fit_options {
    size_t size;       /* see hop_version */
    const char *model; /* NULL: server */
    uint32_t folds;    /* hold every group (of a trace, every copy) out once, in so many parts; 0: none */
    struct hop_compare_options compare; /* what names mean, assumed bytes */
    void (*progress)(double done, void *context); /* may be NULL */
    void *context;
    /* A value beyond one for all links of a kind and one for all crossings is added only where so many kinds of rows determine it: alone,
     * both ways, several, many at once, between devices, to or from host memory; 0: HOP_FIT_KINDS_LEAST. */
    uint32_t kinds;
    bool alone; /* with folds: a candidate "each alone" in front of the last, what the same fits say of each copy by itself */
};

/* One value for several places. */
struct hop_fit_parameter {
    const char *name;  /* "capacity of PCIe links", "tau of root0--root2" */
    const char *unit;  /* B/s, s, or 1 */
    double value, given;
    double uncertainty; /* one standard deviation, same unit; NAN: the measurements do not bend around this value */
    double low, high;   /* a 90 % interval, same unit; NAN: nothing measured bounds it there */
    double gain;        /* cost that it took away when it was added (about 1 for each 2 % of error of a group), 0: it was there */
    const char *const *places; /* directed links, or pairs of root complexes */
    uint32_t place_count;
    uint32_t
        inherited_count; /* places that have it from others of their kind: no row took them; of limits, none filled them; of two-way
                               * shares, none was timed there while the other direction was busy */
    uint32_t group_count; /* groups of measurements that move with it */
    const char *const *determined_by; /* those that move most, the first the most */
    uint32_t named_count;
};

struct hop_fit_result {
    const struct hop_measurements *measurements;
    struct hop_topology *topology; /* with the fitted values; a caller who keeps it sets this to NULL */
    const struct hop_fit_parameter *parameters;
    uint32_t parameter_count;
    /* Groups that are predicted worse than before the fit by more than the fit is unsure of them (their ranges), and the one where
     * that is most; NULL: none. Only of those that were more than 1.65 times off before can there be any. */
    uint32_t spoilt_count;
    const char *spoilt;
    /* Errors under the topology as given, as fitted to everything, and, with folds, of what was held out. */
    const struct hop_comparison *comparison;
};

/* Measurements must outlive the result, which the caller frees; the topology is only read. options may be NULL. */
HOP_API enum hop_status hop_calibrate_fit(const struct hop_measurements *measurements,
                                          const struct hop_topology *topology, const struct hop_fit_options *options,
                                          struct hop_fit_result **result, struct hop_diag *diag);
HOP_API void hop_fit_result_destroy(struct hop_fit_result *result); /* NULL is allowed */
/* docs/fit.schema.json; a new string that the caller frees, NULL: out of memory. */
HOP_API char *hop_fit_result_to_json(const struct hop_fit_result *result);

/* ---- which measurements, and how many ---- */

/* Measurements, each transfers alone or together, of which the first say most about all others. Beliefs about a topology as it was
 * given, or as it was fitted to what is known (its values are off by so much, limits that it does not speak of may be there), say how
 * the rates of any two measurements vary together; chosen is what leaves the least variance in all of them, one after the other, then
 * exchanged as long as that helps; several at once come after what they get alone (docs/measure.md). */
struct hop_suggestion {
    const struct hop_measurements
        *candidates;        /* what was chosen among; a group is one measurement. Those made are the result's */
    const uint32_t *groups; /* chosen, in the order in which they help */
    const double *unsure;   /* how far predictions of all may be off (the root of the mean square) with so many */
    double unsure_before;   /* with none */
    uint32_t count;         /* as many as were asked for, or as there are */
};
/* candidates NULL: copies between the GPUs of the topology and with host memory, alone, both ways, and several at once. measured:
 * what is known already, of which nothing is named again; NULL: nothing is. options may be NULL; of them model, kinds and compare
 * count. The caller frees the result, which candidates must outlive; the topology is only read. What names no device of the topology
 * is refused at its place. */
HOP_API enum hop_status hop_calibrate_suggest(const struct hop_topology *topology,
                                              const struct hop_measurements *candidates,
                                              const struct hop_measurements *measured,
                                              const struct hop_fit_options *options, uint32_t count,
                                              struct hop_suggestion **suggestion, struct hop_diag *diag);
HOP_API void hop_suggestion_destroy(struct hop_suggestion *suggestion); /* NULL is allowed */
/* The chosen ones as measurement CSV whose values are to be filled in. A new string that the caller frees, NULL: out of memory. */
HOP_API char *hop_suggestion_to_csv(const struct hop_suggestion *suggestion);

/* How well all groups of measurements are predicted by fits to some of them. */
struct hop_curve_point {
    uint32_t count; /* groups that the fit has */
    double suggested,
        suggested_error; /* the share of all groups within 15 %, and their median error: fit to those suggested */
    double staged, staged_error;      /* the same where the second half was suggested after a fit to the first half */
    double random, random_error;      /* the means of the same over fits to random ones */
    double random_least, random_most; /* of the shares */
};
enum { HOP_CURVE_POINTS_MAX = 16, HOP_CURVE_DRAWS_MAX = 100 };
/* counts ascend; those above the number of groups that have values are left out, and all of them is the last point. Returns how many
 * points were written, at most count + 1. */
HOP_API enum hop_status hop_calibrate_curve(const struct hop_measurements *measurements,
                                            const struct hop_topology *topology, const struct hop_fit_options *options,
                                            const uint32_t *counts, uint32_t count, uint32_t draws,
                                            struct hop_curve_point points[HOP_CURVE_POINTS_MAX], uint32_t *point_count,
                                            struct hop_diag *diag);
/* The points as a picture (SVG) under a title. A new string that the caller frees, NULL: out of memory. */
HOP_API char *hop_curve_to_svg(const struct hop_curve_point *points, uint32_t count, const char *title);

#ifdef __cplusplus
}
#endif
#endif
