/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside measurements: what the readers of their dialects fill. */
#ifndef HOP_MEASUREMENTS_INTERNAL_H
#define HOP_MEASUREMENTS_INTERNAL_H

#include "base/base.h"
#include "hopcast/measurements.h"

struct hop_measurements {
    struct hop_arena arena; /* every string */
    const char *name;
    struct hop_measurement *list;
    uint32_t count, capacity;
    struct hop_rows {
        const char *name;
        uint32_t first, count; /* rows[first .. first + count) once all are read */
    } * groups;
    uint32_t group_count, group_capacity;
    uint32_t *group_of; /* per row */
    uint32_t group_of_capacity;
    uint32_t *rows;
    struct hop_names names; /* of groups */
};

/* Fills in what the notes say (notes.c). */
void hop_measurement_read_notes(struct hop_measurement *m);
/* Appends a row, whose strings are in the arena; its group may be NULL: a row of its own. */
enum hop_status hop_measurements_add(struct hop_measurements *m, const struct hop_measurement *row,
                                     struct hop_diag *diag);
/* The transfers of `predict --json`, as one group; their times are their ends (prediction.c). */
enum hop_status hop_measurements_read_prediction(const struct hop_source *source, struct hop_measurements *m,
                                                 struct hop_diag *diag);

#endif
