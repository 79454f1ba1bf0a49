/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside the generators: what all of them do first, for each transfer, and last. */
#ifndef HOP_PATTERN_MAKE_H
#define HOP_PATTERN_MAKE_H

#include "base/base.h"
#include "hopcast/generate.h"
#include "schedule/schedule.h"

#define HOP_MAKE_LIMIT 10000000u  /* operations of a generated schedule */
#define HOP_RANK_LIMIT (1u << 20) /* ranks of a generator */
enum { HOP_MAKE_NAME_SIZE = 64 }; /* the longest name of an operation, with room to spare */

/* At least one rank, every device once. */
enum hop_status hop_make_check_ranks(const struct hop_ranks *ranks, struct hop_diag *diag);
/* Checks the ranks, and that `operations` is within the limit; then an empty schedule. */
enum hop_status hop_make_begin(const struct hop_ranks *ranks, uint64_t operations, const char *name,
                               struct hop_schedule **schedule, struct hop_diag *diag);

struct hop_send {
    uint32_t from, to; /* ranks */
    uint64_t bytes;
    const uint32_t *after;
    uint32_t after_count;
};
/* Appends a copy; the name is printed from the format. */
void hop_make_send(struct hop_schedule *schedule, const struct hop_ranks *ranks, const struct hop_send *send,
                   const char *name, ...) HOP_PRINTF(4, 5);

#endif
