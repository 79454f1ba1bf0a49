/* SPDX-License-Identifier: BSD-3-Clause */
/* Devices on the command line: those of --devices, with ranges such as gpu0-7, or those of a topology. */
#ifndef HOP_TOOL_DEVICES_H
#define HOP_TOOL_DEVICES_H

#include "tool.h"

enum { DEVICES_MAX = 1 << 20, DEVICE_NAME_SIZE = 64 };

/* Zeroed is an empty one. */
struct device_list {
    const char **names;
    uint32_t count;
};

void devices_add(const struct tool_command *command, const char *name, size_t length, struct device_list *devices);
/* The topology's GPUs, or its NICs where it has none: a bare fabric has ports of hosts only. */
void devices_of(const struct tool_command *command, const struct hop_topology *topology, struct device_list *devices);
/* Those of ranks: as listed (NULL: not), else the topology's, else (NULL, too) one, "host0". */
void devices_find(const struct tool_command *command, const struct hop_topology *topology, const char *list,
                  struct device_list *devices);
/* A device for each rank, in order: `each` on every one, or (0) as evenly as they can. */
const char **devices_spread(const struct device_list *devices, uint32_t ranks, uint32_t each);
/* All devices that the schedule names must be there; ranks, rank3 and rank3.host, are left aside. */
void devices_check_all(const struct hop_topology *topology, const struct hop_schedule *schedule);
/* "rank3.host", the host memory of a rank. */
bool devices_host_rank(const char *name, uint32_t *rank);

#endif
