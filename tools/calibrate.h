/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two modes of hopcast calibrate share. */
#ifndef HOP_TOOL_CALIBRATE_H
#define HOP_TOOL_CALIBRATE_H

#include "tool.h"

enum { CALIBRATE_FILES = 64, CALIBRATE_SETS = 256, CALIBRATE_NAMES = 256, CALIBRATE_FOLDS = 5 };

struct calibrate_request {
    const char *penalties, *topology, *output, *model;
    const char *files[CALIBRATE_FILES];
    int file_count;
    char *sets[CALIBRATE_SETS];
    int set_count;
    const char *renamed[2 * CALIBRATE_NAMES];
    struct hop_compare_options compare;
    uint64_t folds;
    double together;
    bool json, fill, folds_given;
};

/* calibrate_fit.c */
int calibrate_fit(const struct calibrate_request *r, const struct hop_topology *topology);
/* The same with measurements that are there already. */
int calibrate_fit_measurements(const struct calibrate_request *r, const struct hop_topology *topology,
                               const struct hop_measurements *measurements);

#endif
