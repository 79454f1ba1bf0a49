/* SPDX-License-Identifier: BSD-3-Clause */
/* PCIe links as Linux shows them in /sys/bus/pci/devices/BUS_ID/. */
#ifndef HOP_IMPORT_PCI_SYSFS_H
#define HOP_IMPORT_PCI_SYSFS_H

#include <stdbool.h>

#define HOP_PCI_SYSFS "/sys/bus/pci/devices"

/* The link of a function towards its upstream port; 0: unknown. */
struct hop_pci_link {
    unsigned generation;     /* negotiated now: an idle GPU lowers it */
    unsigned max_generation; /* what this end of the link can do */
    unsigned width;          /* negotiated lanes */
    unsigned max_width;      /* what this end of the link can do */
};

/* folder is HOP_PCI_SYSFS, or a test's. What the files do not say stays 0. */
struct hop_pci_link hop_pci_sysfs_link(const char *folder, const char *bus_id);

/* Whether a link, read at its lower end (own) and at the port above, runs below what both ends can do, which could
 * receives; `idle`: a generation that is lower now says nothing. Unknown values never do. */
bool hop_pci_link_is_below(struct hop_pci_link own, struct hop_pci_link port, bool idle, struct hop_pci_link *could);

#endif
