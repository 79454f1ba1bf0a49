/* SPDX-License-Identifier: BSD-3-Clause */
/* GOAL, the text form of LogGOPSim's schedules. */
#ifndef HOP_TRACE_GOAL_H
#define HOP_TRACE_GOAL_H

#include "base/base.h"
#include "hopcast/schedule.h"

#define HOP_GOAL_RANK_LIMIT (1u << 20)
#define HOP_GOAL_LABEL_LIMIT 100u               /* bytes */
#define HOP_GOAL_CALC_LIMIT ((uint64_t)1 << 53) /* ns: exact in a double */

/* Whether a text begins like GOAL: with num_ranks, comments aside. */
bool hop_goal_detect(const char *text);
/* An unfinished schedule, which keeps the first failure; NULL: out of memory. */
struct hop_schedule *hop_schedule_read_goal(const struct hop_source *source);

#endif
