/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a model expects each group of measurements to show. A group becomes a schedule once, whatever parameters the
 * topology has later; evaluating it gives, per row, the seconds that its printed value would stand for.
 */
#ifndef HOP_COMPARE_EXPECT_H
#define HOP_COMPARE_EXPECT_H

#include "base/base.h"
#include "hopcast/compare.h"
#include "hopcast/schedule.h"
#include "hopcast/simulate.h"

struct hop_expect_group {
    struct hop_schedule *schedule; /* copies; a staged one is two, into host memory and out of it */
    uint32_t *row_of;              /* per operation: place of its row in the group */
    uint32_t copies;               /* of every row, one after the other */
    bool trace, sources_unlimited;
    const char *algorithm; /* of a collective; NULL: copies */
};

struct hop_expect {
    struct hop_failure *failure; /* whoever made it asks for it; nothing is done once it is set */
    const struct hop_measurements *measurements;
    const struct hop_topology *topology;
    const struct hop_compare_options *options;
    struct hop_arena arena;
    struct hop_expect_group *groups; /* or each measurement by itself, as if nothing ran beside it: */
    uint32_t *alone;                 /* their numbers; NULL: by groups */
};

/* The bytes of a row: its own, or those that the options assume. */
uint64_t hop_expect_bytes(const struct hop_expect *e, const struct hop_measurement *m);

/* Devices that the topology does not have are refused at their place; then it is NULL. Measurements, topology, options
 * and failure must outlive what is made. */
struct hop_expect *hop_expect_create(const struct hop_measurements *measurements, const struct hop_topology *topology,
                                     const struct hop_compare_options *options, bool alone,
                                     struct hop_failure *failure);
void hop_expect_destroy(struct hop_expect *e); /* NULL is allowed */

/* How many there are, and the rows of one. */
uint32_t hop_expect_count(const struct hop_expect *e);
struct hop_measurement_group hop_expect_rows(const struct hop_expect *e, uint32_t group);

/* One value for each row of the group, comparable with hop_measured_time_s. The network's topology has the nodes and
 * links of the one that the expectations were made for. */
void hop_expect_times(const struct hop_expect *e, struct hop_network *network, uint32_t group, double *times_s);
/* The geometric mean of those whose rows have a measured value, and between what that lies. */
void hop_expect_range(const struct hop_expect *e, struct hop_network *network, uint32_t group,
                      struct hop_compare_range *range);

#endif
