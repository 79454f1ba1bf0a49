/* SPDX-License-Identifier: BSD-3-Clause */
/* Any bytes as a copies table: refused with a diagnostic, or read; then what is written reads back to the same text,
 * and a row is found. */
#include "fuzz.h"

#include "run/copies_table.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct hop_table table = {.kind = &hop_copies_kind}, same = table;
    const struct hop_copies_row *row = NULL;
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
    if (hop_copies_find(&table, "allreduce", 5, size, &row, &diag) == HOP_OK)
        MUST(row->staged <= row->of && (row->packet_bytes > 0) == (row->staged > 0));
    else
        MUST(is_said(diag.what));
    hop_table_finish(&same);
    hop_table_finish(&table);
    free(text);
    free(again);
    return 0;
}
