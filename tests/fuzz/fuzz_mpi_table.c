/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a table of an MPI's collectives: refused with a diagnostic, or read; then what is written reads back
 * to the same text, a row says the library or an algorithm that there is, blocks of neighbours that are the longest to
 * travel together do by their row, unless shorter ones do not, and the head fits this machine or says why not. */
#include "fuzz.h"

#include "mpi/engine/mpi_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_table table = {.kind = &hop_mpi_table_kind}, same = table;
    struct hop_diag diag;
    if (hop_table_parse(&table, "input", (const char *)data, size, &diag) != HOP_OK) {
        MUST(is_said(diag.what) && is_said(diag.place));
        return 0;
    }
    char *text = hop_table_to_text(&table), *again = NULL;
    MUST(text);
    MUST(hop_table_parse(&same, "again", text, strlen(text), &diag) == HOP_OK);
    again = hop_table_to_text(&same);
    MUST(again && strcmp(text, again) == 0);
    const char *by = hop_mpi_table_find(&table, HOP_COLLECTIVE_ALLREDUCE, 2, size % 2, size);
    MUST(!by || (strcmp(by, HOP_MPI_TABLE_LIBRARY) != 0 && hop_mpi_table_has(&table, 2, size % 2)));
    int64_t travels = hop_mpi_table_travels(&table, 2);
    by = hop_mpi_table_find(&table, HOP_MPI_TABLE_NEIGHBOURS, 2, true, travels < 0 ? 0 : (uint64_t)travels);
    MUST(travels >= -1 && travels <= HOP_MPI_TRAVELS_MOST && (travels >= 0) == (by != NULL));
    MUST(hop_mpi_table_check(&table, "an MPI", &diag) == HOP_OK || is_said(diag.what));
    hop_table_finish(&same);
    hop_table_finish(&table);
    free(text);
    free(again);
    return 0;
}
