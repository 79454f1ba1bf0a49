/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * NVLink from NVIDIA's management library, which is opened at run time: a machine without it is a normal machine.
 * The functions come in a table, so that a test can stand in for the library.
 */
#ifndef HOP_IMPORT_NVML_H
#define HOP_IMPORT_NVML_H

#include "topology/build.h"

struct hop_nvml_device; /* the library's own */

/* The library's structure of third version, member for member. */
struct hop_nvml_pci {
    char legacy_bus_id[16];
    unsigned domain, bus, device;
    unsigned device_id; /* device << 16 | vendor */
    unsigned subsystem_id;
    char bus_id[32];
};

/* Every function returns 0 for success. */
struct hop_nvml {
    void *library;
    int (*shutdown)(void);
    int (*device_count)(unsigned *count);
    int (*device_by_index)(unsigned index, struct hop_nvml_device **device);
    int (*pci_info)(struct hop_nvml_device *device, struct hop_nvml_pci *pci);
    int (*name)(struct hop_nvml_device *device, char *name, unsigned size);
    int (*link_state)(struct hop_nvml_device *device, unsigned link, unsigned *active);
    int (*link_remote)(struct hop_nvml_device *device, unsigned link, struct hop_nvml_pci *pci);
    int (*link_version)(struct hop_nvml_device *device, unsigned link, unsigned *version);
};

/* False when there is no library, no driver, or a function is missing; nothing is then left open. */
bool hop_nvml_open(struct hop_nvml *nvml);
void hop_nvml_close(struct hop_nvml *nvml);

/* Labels the GPUs of an unfinished topology (found by their PCI address) and adds the NVLinks among them; whatever an
 * active link leads to that is no such GPU is an NVSwitch, and all NVSwitches are one node. */
void hop_nvml_read(const struct hop_nvml *nvml, struct hop_build *build);

#endif
