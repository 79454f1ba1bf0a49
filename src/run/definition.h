/* SPDX-License-Identifier: BSD-3-Clause */
/* What a collective is defined to give, apart from any schedule: the sizes of its buffers, and which bytes of whose input
 * stand where in whose result. */
#ifndef HOP_RUN_DEFINITION_H
#define HOP_RUN_DEFINITION_H

#include "run/program.h"

/* The ranks that a program's collective is among. */
static inline uint32_t hop_definition_ranks(const struct hop_program *program)
{
    return program->options.definition_ranks ? program->options.definition_ranks : program->layout.ranks;
}
/* Buffers of the layout become as long as MPI has them, also where the schedule leaves their end alone. */
void hop_definition_extend(struct hop_layout *layout, const struct hop_collective_options *what, uint32_t ranks);
/* Whether the results depend on no order: sums and products of the numbers that buffers are filled with. */
bool hop_definition_is_exact(const struct hop_collective_options *what, uint32_t ranks);
/* Where a rank's result begins in its buffer ("out", in place "data"), and how long it is. */
uint64_t hop_definition_result(const struct hop_collective_options *what, uint32_t ranks, uint32_t rank,
                               uint64_t *bytes);
/* Where part p of a vector begins, which is cut among so many ranks. */
uint64_t hop_definition_part(const struct hop_collective_options *what, uint32_t ranks, uint32_t p);
/* Where in its buffer what a rank puts in begins, and how long it is. */
uint64_t hop_definition_input(const struct hop_collective_options *what, uint32_t ranks, uint32_t rank,
                              uint64_t *bytes);
/* definition_check.c: counts the bytes of all results in `memory` (buffer b at start[b]) that are not what the definition says of buffers
 * filled from the seed; the first is in diag. */
enum hop_status hop_definition_check(struct hop_program *program, uint64_t seed, const uint64_t *start,
                                     const char *memory, uint64_t *wrong, struct hop_diag *diag);

#endif
