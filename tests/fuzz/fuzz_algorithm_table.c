/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a table of algorithms: refused with a diagnostic, or read; then what is written reads back to the same
 * text, every row is found, and its algorithm makes its collective. */
#include "fuzz.h"

#include <string.h>

#include "hopcast/tune.h"

static void check_rows(const struct hop_algorithm_table *table)
{
    const struct hop_algorithm_row *row, *found;
    for (uint32_t i = 0; (row = hop_algorithm_table_row(table, i)); i++) {
        struct hop_diag diag;
        MUST(hop_algorithm_table_find(table, row->collective, row->ranks, row->from_vector_bytes, &found, &diag) == HOP_OK);
        MUST(found == row);
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_algorithm_table *table, *same;
    struct hop_diag diag;
    if (hop_algorithm_table_parse("input", (const char *)data, size, &table, &diag) != HOP_OK) {
        MUST(is_said(diag.what) && is_said(diag.place));
        return 0;
    }
    char *text = hop_algorithm_table_to_text(table), *again = NULL;
    MUST(text);
    MUST(hop_algorithm_table_parse("again", text, strlen(text), &same, &diag) == HOP_OK);
    again = hop_algorithm_table_to_text(same);
    MUST(again && strcmp(text, again) == 0);
    check_rows(table);
    hop_algorithm_table_destroy(same);
    hop_algorithm_table_destroy(table);
    free(text);
    free(again);
    return 0;
}
