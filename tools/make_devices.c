/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast make: the devices that take part, listed or those of the topology. */
#include "make.h"

#include <stdlib.h>

int make_find_devices(struct request *r)
{
    int status = r->device_list ? devices_listed(&tool_make, r->device_list, r->topology, &r->found)
                                : devices_of(&tool_make, r->topology, &r->found);
    if (status != TOOL_OK)
        return status;
    r->devices = malloc(r->found.count * sizeof *r->devices);
    if (!r->devices)
        return tool_out_of_memory();
    for (uint32_t i = 0; i < r->found.count; i++)
        r->devices[i] = r->found.names[i];
    r->ranks = (struct hop_ranks){r->devices, r->found.count};
    return TOOL_OK;
}
