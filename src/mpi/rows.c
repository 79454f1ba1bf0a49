/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/rows.h"

#include <string.h>

#define ROW(arity, name, kind, roles) [CALL_##name] = {#name, roles, KIND_##kind, false, {0}},
struct hop_mpi_row hop_mpi_rows[HOP_MPI_CALL_COUNT] = {HOP_MPI_CALLS(ROW)};

void hop_rows_begin(void)
{
    for (unsigned c = 0; c < HOP_MPI_CALL_COUNT; c++) {
        struct hop_mpi_row *row = &hop_mpi_rows[c];
        row->large = strcmp(row->name + strlen(row->name) - 2, "_c") == 0;
        for (unsigned i = 0; row->roles[i]; i++) {
            if (row->roles[i] != '.' && !hop_has_role(row, row->roles[i]))
                row->at[row->roles[i] - FIRST_ROLE] = (unsigned char)(i + 1);
        }
    }
}
