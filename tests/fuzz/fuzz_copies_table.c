/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a copies table: refused with a diagnostic, or read; then what is written reads back to the same text,
 * and a row is found. */
#include "fuzz.h"

#include "run/copies_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_copies_table table, same;
    const struct hop_copies_row *row = NULL;
    struct hop_diag diag;
    if (hop_copies_table_parse("input", (const char *)data, size, &table, &diag) != HOP_OK) {
        MUST(diag.what[0] && diag.place[0]);
        return 0;
    }
    char *text = hop_copies_table_to_text(&table), *again = NULL;
    MUST(text);
    MUST(hop_copies_table_parse("again", text, strlen(text), &same, &diag) == HOP_OK);
    again = hop_copies_table_to_text(&same);
    MUST(again && strcmp(text, again) == 0);
    if (hop_copies_table_find(&table, "allreduce", 5, size, &row, &diag) == HOP_OK)
        MUST(row->staged <= row->of && (row->packet_bytes > 0) == (row->staged > 0));
    else
        MUST(diag.what[0]);
    hop_copies_table_finish(&same);
    hop_copies_table_finish(&table);
    free(text);
    free(again);
    return 0;
}
