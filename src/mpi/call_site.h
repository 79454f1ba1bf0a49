/* SPDX-License-Identifier: BSD-3-Clause */
/* Where in a program a call was made. A binding to another language, which an MPI brings along, is not the program:
 * what called it is looked for behind it. */
#ifndef HOP_MPI_CALL_SITE_H
#define HOP_MPI_CALL_SITE_H

#include "mpi/traffic_counts.h"

/* Whether code at an address is an MPI's binding to Fortran or C++. */
bool hop_site_is_binding(const void *code);
/* Where the program goes on that called the binding; NULL: not known. *slot: how many words above the frame that
 * address stands each time that the binding makes this call; 0: at no place of its own. */
const void *hop_site_behind_binding(const void *frame, uint32_t *slot);
/* What is at that place now. */
const void *hop_site_at(const void *frame, uint32_t slot);

/* For people: the file that the code is from, how far behind its beginning (that of the call, not where it returns
 * to), as addr2line takes it, and the function with an offset if it has a name. */
struct hop_mpi_place {
    uint64_t offset;
    char module[160], function[96];
};
void hop_site_describe(const void *returns_to, struct hop_mpi_place *place);

#endif
