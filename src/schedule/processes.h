/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Who computes. A process is a rank, or a device where no rank is said; it has CPUs, numbered by `cpu` of its operations,
 * and each does one work at a time (a stream of a GPU is such a CPU, too). Whoever asks when works run goes by these numbers.
 */
#ifndef HOP_SCHEDULE_PROCESSES_H
#define HOP_SCHEDULE_PROCESSES_H

#include "base/keys.h"
#include "hopcast/schedule.h"

struct hop_processes {
    struct hop_keys keys;
    uint32_t count, cpus; /* how many there are by now */
};

/* By appearance, from 0; HOP_NONE: out of memory. The places are those of one schedule, whose strings they share. */
uint32_t hop_process_of(struct hop_processes *processes, const struct hop_place *place);
/* Whether it takes a CPU: a work of no time computes nothing, as those into which joins and receives are lowered. */
static inline bool hop_op_computes(const struct hop_op *op)
{
    return op->kind == HOP_OP_WORK && op->duration_s > 0;
}
/* The CPU that it takes then, by appearance. */
uint32_t hop_cpu_of(struct hop_processes *processes, const struct hop_op *work);
void hop_processes_finish(struct hop_processes *processes);

#endif
