/* SPDX-License-Identifier: BSD-3-Clause */
/* What names of GPUs and processors tell: the facts that data sheets print, by patterns of names. */
#ifndef HOP_IMPORT_FACTS_H
#define HOP_IMPORT_FACTS_H

#include "topology/build.h"

struct hop_gpu_facts {
    const char *names;    /* extended regular expression, case ignored; PCI vendor:device among them (pci.ids) */
    unsigned pcie, width; /* generation and lanes of its slot */
    unsigned nvlink;      /* generation; 0: it has none */
    const char
        *link; /* parameter of one of its accelerator links; NULL: that of its NVLink's generation, if it has any */
    const char *source;
};

struct hop_cpu_facts {
    const char *names;
    const char *vendor; /* of CPUID; NULL: known by name alone */
    unsigned family, first_model, last_model;
    unsigned pcie;      /* generation of its root ports */
    const char *socket; /* parameter of the link between two of its sockets */
    const char *source;
};

/* NULL: the name is NULL, or known to none. */
const struct hop_gpu_facts *hop_gpu_facts(const char *name);
const struct hop_cpu_facts *hop_cpu_facts(const char *name);
/* By the name that was said beside the source, else by what CPUID says, else by the name in the source. Never NULL. */
const struct hop_cpu_facts *hop_cpu_facts_of(const struct hop_build *build, const char *vendor, long family, long model,
                                             const char *name);

/* The generation of a PCIe link: that of its slower end, each 0 where it is not known. */
unsigned hop_facts_generation(const struct hop_gpu_facts *gpu, const struct hop_cpu_facts *cpu);
/* Sets pcie_link to what copies get of 16 lanes, which is less than the arithmetic of packets says. */
void hop_facts_pcie(struct hop_build *build, unsigned generation, const char *because);

/* The names that were said beside a source must mean something: the failure says which do. */
void hop_facts_check(struct hop_build *build);

#endif
