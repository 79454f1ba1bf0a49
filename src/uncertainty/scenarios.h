/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the uncertainty room. */
#ifndef HOP_UNCERTAINTY_SCENARIOS_H
#define HOP_UNCERTAINTY_SCENARIOS_H

#include "base/base.h"

/* "names, name", from the arena; names may be NULL. NULL: out of memory. */
const char *hop_scenario_names(struct hop_arena *arena, const char *names, const char *name);

#endif
