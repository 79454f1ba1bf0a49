/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives on the command line, and what a table of algorithms says of one. */
#include <string.h>

#include "tool.h"

bool tool_collective(const char *name, size_t length, enum hop_collective_kind *kind)
{
    if (length == 5 && memcmp(name, "bcast", 5) == 0) {
        *kind = HOP_COLLECTIVE_BROADCAST;
        return true;
    }
    for (unsigned k = 0; k < HOP_COLLECTIVE_COUNT; k++) {
        const char *known = hop_collective_name((enum hop_collective_kind)k);
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            *kind = (enum hop_collective_kind)k;
            return true;
        }
    }
    return false;
}

const char *tool_round_collective(struct hop_collective_options *options, uint32_t ranks)
{
    uint64_t asked_bytes = options->vector_bytes;
    char asked[32];
    options->vector_bytes = hop_collective_round(options->kind, options->type, ranks, asked_bytes);
    return asked_bytes == options->vector_bytes || options->kind == HOP_COLLECTIVE_BARRIER
               ? ""
               : tool_text("rounded down from %s to whole %s%s", hop_format_bytes(asked_bytes, asked, sizeof asked),
                           hop_type_name(options->type),
                           hop_collective_has_parts(options->kind) ? " in each rank's part" : "");
}

const char *tool_choose_algorithm(struct hop_collective_options *options, uint32_t ranks)
{
    struct hop_algorithm_table *all;
    const struct hop_algorithm_row *row;
    if (!options->algorithm || strncmp(options->algorithm, "auto", 4) != 0)
        return NULL;
    const char *table = options->algorithm + 5;
    if (table[-1] != '=' || !*table)
        tool_try_at(hop_fail(&tool_diag, HOP_ERR_INVALID,
                             "auto needs a table\nauto=FILE, a table that `hopcast tune collective -o FILE` wrote"),
                    "--algorithm");
    tool_try_file(hop_algorithm_table_load(table, &all, &tool_diag),
                  "a table that `hopcast tune collective -o FILE` wrote");
    enum hop_status status =
        hop_algorithm_table_find(all, options->kind, ranks, options->vector_bytes, &row, &tool_diag);
    if (status != HOP_OK)
        hop_diag_place(&tool_diag, "%.180s", table);
    tool_try(status);
    options->algorithm = tool_text("%s", row->algorithm);
    if (options->segment_bytes == 0)
        options->segment_bytes = row->segment_bytes;
    hop_algorithm_table_destroy(all);
    return table;
}
