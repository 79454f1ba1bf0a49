/* SPDX-License-Identifier: BSD-3-Clause */
/* What all sources of topologies have in common: each adds what it reads to a topology under construction. */
#ifndef HOP_IMPORT_IMPORTER_H
#define HOP_IMPORT_IMPORTER_H

#include "topology/build.h"

/* A dialect of texts, known by one of the signs that it has; a failure of read has its place. */
struct hop_importer {
    const char *roots[2];                            /* the first element of its XML */
    const char *marks[4];                            /* words of it */
    bool (*detect)(const struct hop_source *source); /* looks at the head of a text and must be cheap */
    void (*read)(const struct hop_source *source, struct hop_build *build);
};
/* load_topology.c: whether a text is in that dialect. */
bool hop_importer_knows(const struct hop_importer *importer, const struct hop_source *source);
extern const struct hop_importer hop_importer_nccl_xml;      /* nccl_xml.c: NCCL and RCCL */
extern const struct hop_importer hop_importer_nvidia_smi;    /* nvidia_smi.c */
extern const struct hop_importer hop_importer_rocm_smi;      /* rocm_smi.c */
extern const struct hop_importer hop_importer_p2p_matrix;    /* p2p_matrix.c: p2pBandwidthLatencyTest */
extern const struct hop_importer hop_importer_hwloc_xml;     /* hwloc.c */
extern const struct hop_importer hop_importer_ibnetdiscover; /* ibnetdiscover.c */
void hop_import_live(struct hop_build *build);               /* hwloc.c */

/* builtin.c */
bool hop_builtin_find(const char *name);
const char *hop_builtin_nearest(const char *name); /* NULL: none is near */
void hop_import_builtin(const char *name, struct hop_build *build);

#endif
