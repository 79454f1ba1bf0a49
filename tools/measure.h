/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast measure: what its files share. measure.c reads options, measures and writes files, measure_show.c prints. */
#ifndef HOP_MEASURE_TOOL_H
#define HOP_MEASURE_TOOL_H

#include "tool.h"

/* time_s: what was asked for; 0: nothing. */
void measure_show(const struct hop_measure_result *result, double time_s);

#endif
