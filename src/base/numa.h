/* SPDX-License-Identifier: BSD-3-Clause */
/* Where things are on this machine: PCI addresses, and the processors and memory of NUMA nodes. */
#ifndef HOP_BASE_NUMA_H
#define HOP_BASE_NUMA_H

#include <sched.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* "0000:1b:00.0", "1B:00.0", "00000000:1b:00" and the like as one number, by which they compare and are in order; the domain
 * is 0 unless it is said, and so is the function. UINT64_MAX: this is no such address. */
uint64_t hop_pci_address(const char *text);
/* The NUMA node of a PCI device by /sys; -1: not known. */
int hop_numa_of_pci(uint64_t address);

/* What the processors are called, "unknown" where the system does not say. */
void hop_processor_name(char *text, size_t size);
bool hop_processors_are_virtual(void); /* of a virtual machine, where the system says so */

/* "0-3,8" as a set of processors, those that do not fit into it left out; false: this is no such list. */
bool hop_numa_list(const char *text, cpu_set_t *set);

/* What a thread was bound to before. */
struct hop_numa_binding {
    bool bound, preferred;
    cpu_set_t processors;
    int mode;
    unsigned long nodes[16];
};
/* From here on the calling thread runs on those processors of a node that it may use, and takes new memory there where there
 * is some. What the system refuses, or a node of which none of its processors is, changes nothing; -1: neither. */
void hop_numa_bind(int node, struct hop_numa_binding *before);
void hop_numa_release(struct hop_numa_binding *before); /* as it was; zeroed is allowed */

#endif
