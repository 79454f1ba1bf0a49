/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside compare: the rows as they are made, before they are counted. */
#ifndef HOP_COMPARE_H
#define HOP_COMPARE_H

#include "base/base.h"
#include "hopcast/compare.h"

struct hop_expect;

struct hop_comparing {
    struct hop_comparison result; /* first: what callers hold */
    struct hop_failure *failure;  /* until the end; nothing is done once it is set */
    struct hop_arena arena;
    struct hop_compare_row *rows;
    struct hop_compare_group *groups;
    struct hop_compare_summary *summaries;
    double *times_s;  /* candidates of row i: times_s[i * candidate_count ..] */
    struct hop_compare_effect *effects; /* room for HOP_EFFECTS */
    unsigned *effect_of;                /* per group */
    struct hop_compare_range *ranges;   /* candidates of group g: ranges[g * candidate_count ..]; NULL: not asked for */
    double *scratch_s;                  /* per measurement */
    uint32_t *row_of; /* measurement -> row, HOP_NONE: it has no time */
};

/* One row for each measurement that has a value, by groups; no candidate has a time yet. NULL: out of memory. */
struct hop_comparing *hop_comparing_begin(const struct hop_measurements *reference, uint32_t candidates,
                                          const struct hop_compare_options *options, struct hop_failure *failure);
/* What a model of the topology, NULL being the default, says of the measurements that are not left_out (NULL: none is). */
void hop_comparing_predict(struct hop_comparing *c, const struct hop_expect *expect,
                           const struct hop_topology *topology, const char *model, uint32_t candidate,
                           const uint8_t *left_out);
/* Between what that lies, of the groups of which no row is left out. */
void hop_comparing_find_ranges(struct hop_comparing *c, const struct hop_expect *expect,
                               const struct hop_topology *topology, const char *model, uint32_t candidate,
                               const uint8_t *left_out);
/* Counts the errors. NULL: something failed, and all is freed. */
const struct hop_comparison *hop_comparing_end(struct hop_comparing *c);
/* Statistics, when all times are there (statistics.c). */
void hop_comparing_count(struct hop_comparing *c);

/* The effect that a group shows, by name and by number below HOP_EFFECTS (effects.c). */
enum { HOP_EFFECTS = 7 * 5 };
const char *hop_effect_name(unsigned effect);
unsigned hop_effect_of(const struct hop_measurements *measurements, uint32_t group);
/* The same; of a trace, that of its i-th row. */
unsigned hop_effect_of_row(const struct hop_measurements *measurements, uint32_t group, uint32_t i);

/* The seconds of a measurement of that many bytes. */
double hop_measured_time_s(const struct hop_measurement *m, uint64_t bytes);

#endif
