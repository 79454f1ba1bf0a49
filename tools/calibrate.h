/* SPDX-License-Identifier: BSD-3-Clause */
/* What the two modes of hopcast calibrate share. */
#ifndef HOP_TOOL_CALIBRATE_H
#define HOP_TOOL_CALIBRATE_H

#include "tool.h"

enum { CALIBRATE_FOLDS = 5, CALIBRATE_DRAWS = 5 };

struct calibrate_request {
    struct tool_given given;
    struct tool_words files, sets, renamed;
    const char *penalties, *topology, *output, *model, *curve;
    struct hop_compare_options compare;
    uint64_t folds; /* UINT64_MAX: not said */
    uint64_t kinds, draws; /* 0: not said */
    double together;
    bool json, fill, alone;
};

/* calibrate_fit.c */
void calibrate_fit(const struct calibrate_request *r, const struct hop_topology *topology);
/* The same with measurements that are there already. */
void calibrate_fit_measurements(const struct calibrate_request *r, const struct hop_topology *topology,
                                const struct hop_measurements *measurements);

#endif
