/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of wrapped calls (mpi/calls.h) to look things up in: what a call is, and where its arguments stand. */
#ifndef HOP_MPI_ROWS_H
#define HOP_MPI_ROWS_H

#include "mpi/calls.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { FIRST_ROLE = 'A', LAST_ROLE = 'z' };

struct hop_mpi_row {
    const char *name, *roles;
    enum hop_mpi_kind kind;
    bool large;                                   /* its counts are */
    unsigned char at[LAST_ROLE - FIRST_ROLE + 1]; /* by role: where its argument stands, from 1; 0: it has none */
};

/* By enum hop_mpi_call; complete behind hop_rows_begin, which may be called again. */
extern struct hop_mpi_row hop_mpi_rows[HOP_MPI_CALL_COUNT];
void hop_rows_begin(void);

static inline bool hop_has_role(const struct hop_mpi_row *row, char role)
{
    return row->at[role - FIRST_ROLE] != 0;
}

/* The argument of a role; NULL: it has none. */
static inline const uintptr_t *hop_role(const struct hop_mpi_row *row, const uintptr_t *arguments, char role)
{
    unsigned at = row->at[role - FIRST_ROLE];
    return at ? &arguments[at - 1] : NULL;
}

#endif
