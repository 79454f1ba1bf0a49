/* SPDX-License-Identifier: BSD-3-Clause */
/* Numbers of processes and of their CPUs. */
#include "schedule/processes.h"

enum { KEY_RANK, KEY_DEVICE, KEY_CPU };

uint32_t hop_process_of(struct hop_processes *processes, const struct hop_place *place)
{
    bool ranked = place->rank >= 0;
    uint32_t found = hop_keys_number(&processes->keys, ranked ? KEY_RANK : KEY_DEVICE,
                                     ranked ? (uint64_t)place->rank : (uintptr_t)place->device, 0, processes->count);
    processes->count += found == processes->count;
    return found;
}

uint32_t hop_cpu_of(struct hop_processes *processes, const struct hop_op *work)
{
    uint32_t process = hop_process_of(processes, &work->from), found = HOP_NONE;
    if (process != HOP_NONE)
        found = hop_keys_number(&processes->keys, KEY_CPU, process, work->cpu, processes->cpus);
    processes->cpus += found == processes->cpus;
    return found;
}

void hop_processes_finish(struct hop_processes *processes)
{
    hop_keys_finish(&processes->keys);
}
