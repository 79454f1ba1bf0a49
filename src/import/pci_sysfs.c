/* SPDX-License-Identifier: BSD-3-Clause */
/* The link attributes of a PCI function: one short line a file, "16.0 GT/s PCIe", "16", or "Unknown". */
#include "import/pci_sysfs.h"

#include "base/base.h"

#include <stdio.h>

/* The number that begins an attribute's line, 0 when there is none. */
static double attribute(const char *folder, const char *bus_id, const char *name)
{
    char path[512], line[64];
    double value = 0;
    if (snprintf(path, sizeof path, "%s/%s/%s", folder, bus_id, name) >= (int)sizeof path)
        return 0;
    FILE *file = fopen(path, "r");
    if (!file)
        return 0;
    if (fgets(line, sizeof line, file) && sscanf(line, "%lf", &value) != 1)
        value = 0;
    (void)fclose(file);
    return value;
}

static unsigned generation_of(double transfers)
{
    static const double speeds[] = {2.5, 5, 8, 16, 32, 64}; /* GT/s of generations 1 to 6 */
    for (unsigned i = 0; i < HOP_COUNT(speeds); i++) {
        if (transfers == speeds[i])
            return i + 1;
    }
    return 0;
}

struct hop_pci_link hop_pci_sysfs_link(const char *folder, const char *bus_id)
{
    double width = attribute(folder, bus_id, "current_link_width"),
           max_width = attribute(folder, bus_id, "max_link_width");
    return (struct hop_pci_link){
        .generation = generation_of(attribute(folder, bus_id, "current_link_speed")),
        .max_generation = generation_of(attribute(folder, bus_id, "max_link_speed")),
        .width = width >= 1 && width <= 32 ? (unsigned)width : 0,
        .max_width = max_width >= 1 && max_width <= 32 ? (unsigned)max_width : 0,
    };
}

/* What both ends can do, and no less than what runs now. */
static unsigned both(unsigned own, unsigned port, unsigned now)
{
    unsigned least = own < port ? own : port;
    return least > now ? least : now;
}

bool hop_pci_link_is_below(struct hop_pci_link own, struct hop_pci_link port, bool idle, struct hop_pci_link *could)
{
    *could = (struct hop_pci_link){.generation = both(own.max_generation, port.max_generation, own.generation),
                                   .width = both(own.max_width, port.max_width, own.width)};
    if (!own.generation || !own.width)
        return false;
    return (!idle && could->generation > own.generation) || could->width > own.width;
}
