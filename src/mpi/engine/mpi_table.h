/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which collectives of an MPI program are ours: a table, measured on a machine beside its MPI.
 *
 *     # machine: Intel(R) Xeon(R) Processor @ 2.60GHz, 2 processors
 *     # mpi: Open MPI v4.1.4
 *     # hopcast: 1.0.0
 *     # sizes: whole vectors, as nccl-tests prints them
 *     # collective     ranks       from  by
 *     allreduce            2         0B  library
 *     allreduce            2      16KiB  default    # 0.41 to 0.47 of the library's time
 *     allreduce            2   16777217B  library
 *
 * A row counts from its size on, to the next one's of the same collective and ranks: the library's, ours by an
 * algorithm, or, on several machines, hierarchical. What has no row is the library's. It counts on the machine, beside
 * the MPI and for the hopcast that its head names.
 */
#ifndef HOP_MPI_TABLE_H
#define HOP_MPI_TABLE_H

#include "base/table.h"
#include "hopcast/collective.h"

#define HOP_MPI_TABLE_LIBRARY "library"
#define HOP_MPI_TABLE_MACHINES "hierarchical" /* ours among ranks on several machines, as others are on one */

#define HOP_MPI_TABLE_NEIGHBOURS ((unsigned)HOP_COLLECTIVE_COUNT) /* neighbourhood collectives, by their blocks */
enum { HOP_MPI_TRAVELS_MOST = 8192 };                             /* bytes of a block of these that is not alone */

struct hop_mpi_row_of_table {
    unsigned collective; /* enum hop_collective_kind */
    uint32_t ranks;
    uint64_t from_bytes;
    const char *remark;
    uint32_t line;
    const char *by; /* one address for each of HOP_MPI_TABLE_LIBRARY, _MACHINES, "default" and the algorithms' names */
};

extern const struct hop_table_kind hop_mpi_table_kind;
const char *hop_mpi_table_name(unsigned collective);

/* What the head is to say here, of that MPI; i from 0, NULL past the last. */
enum { HOP_MPI_TABLE_LINE = 320 };
const char *hop_mpi_table_head(int i, const char *library, char line[HOP_MPI_TABLE_LINE]);
/* Whether it says so. */
enum hop_status hop_mpi_table_check(const struct hop_table *table, const char *library, struct hop_diag *diag);
/* Whether anything is ours among so many ranks, on one machine or several; and how: NULL, the library's. */
bool hop_mpi_table_has(const struct hop_table *table, uint32_t ranks, bool machines);
const char *hop_mpi_table_find(const struct hop_table *table, unsigned kind, uint32_t ranks, bool machines,
                               uint64_t bytes);
/* Up to how many bytes blocks of neighbourhood collectives go together between machines; negative: none do. */
int64_t hop_mpi_table_travels(const struct hop_table *table, uint32_t ranks);

#endif
