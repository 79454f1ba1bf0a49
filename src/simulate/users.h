/* SPDX-License-Identifier: BSD-3-Clause */
/* Who waits for whose end or start: lists in a row, each beginning where its operation's record says. */
#ifndef HOP_SIMULATE_USERS_H
#define HOP_SIMULATE_USERS_H

#include "base/base.h"
#include "hopcast/schedule.h"

/* The users of every operation's end, or start, from the arena: users[first of i .. first of i + 1), in the order of the schedule. first:
 * of operation 0, 0 as all of them, `stride` bytes apart; there is one more than operations. */
enum hop_status hop_users_make(const struct hop_schedule *schedule, bool of_starts, uint32_t *first, size_t stride,
                               struct hop_arena *arena, uint32_t **users, struct hop_diag *diag);

#endif
