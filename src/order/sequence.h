/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sequence: what a search found, per source the order of its sends, some of which also wait for an operation's end.
 *
 *     order:  [ sends of source 0 in their order | sends of source 1 | ... ]     as problem->sends
 *     after:  per operation: it waits for the end of that one, HOP_NONE: it does not wait
 *
 * A wait holds the source's queue like a dependency does: what stands behind it waits, too. Written out as a schedule,
 * a wait is one more `after`.
 */
#ifndef HOP_ORDER_SEQUENCE_H
#define HOP_ORDER_SEQUENCE_H

#include "order/state.h"

struct hop_sequence {
    uint32_t *order;
    uint32_t *after;
};

/* The order of the schedule, without waits. For a quotient: of its operations. */
enum hop_status hop_sequence_create(const struct hop_problem *problem, struct hop_sequence *sequence,
                                    struct hop_diag *diag);
void hop_sequence_finish(struct hop_sequence *sequence); /* all zeros are allowed */
void hop_sequence_copy(const struct hop_problem *problem, const struct hop_sequence *from, struct hop_sequence *to);
/* Whether every source's sends stand there once, and waits name operations; for what comes from outside. */
bool hop_sequence_check(const struct hop_problem *problem, const struct hop_sequence *sequence);
bool hop_sequence_waits(const struct hop_problem *problem, const struct hop_sequence *sequence);

/* What a sequence gives. */
struct hop_played {
    double value;      /* the objective; INFINITY: it does not count or does not end */
    double makespan_s;
    double fullest;    /* load / limit of the fullest link; of an order that does not count: up to there */
};
/* round_of, per operation: a source rests rather than begin a later round before all have ended this one; NULL: no rounds. */
enum hop_status hop_sequence_play(const struct hop_problem *problem, struct hop_sets *sets,
                                  const struct hop_sequence *sequence, const uint32_t *round_of,
                                  struct hop_played *played, struct hop_diag *diag);

#define HOP_VALUE_TOLERANCE 1e-9 /* relative: values as near as that are one */
/* Drops waits, one after another, without which it takes no longer than value. */
enum hop_status hop_sequence_drop_waits(const struct hop_problem *problem, struct hop_sets *sets,
                                        struct hop_sequence *sequence, double value, struct hop_diag *diag);

/* The sequence of the whole problem that a quotient's stands for; images as for hop_problem_quotient. `whole` is made
 * by hop_sequence_create(quotient->whole). */
enum hop_status hop_sequence_unfold(const struct hop_problem *quotient, const uint32_t *images, uint32_t order,
                                    const struct hop_sequence *sequence, struct hop_sequence *whole,
                                    struct hop_diag *diag);

/* The sequence that such a schedule has, by the names of its operations; `sequence` is made by hop_sequence_create.
 * HOP_ERR_INVALID: it is of another problem. */
enum hop_status hop_sequence_read(const struct hop_problem *problem, const struct hop_schedule *schedule,
                                  struct hop_sequence *sequence, struct hop_diag *diag);

/* The problem's (lowered) schedule with each source's sends in that order, in the places that its sends had; other
 * operations stay where they are. A new schedule. */
enum hop_status hop_sequence_schedule(const struct hop_problem *problem, const struct hop_sequence *sequence,
                                      struct hop_schedule **schedule, struct hop_diag *diag);

#endif
