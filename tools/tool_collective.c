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

const char *tool_nearest_collective(const char *word)
{
    static char nearest[32];
    return tool_nearest_word(TOOL_COLLECTIVES, word, nearest, sizeof nearest);
}

enum hop_status tool_choose_algorithm(struct hop_collective_options *options, uint32_t ranks,
                                      struct tool_choice *choice, struct hop_diag *diag)
{
    struct hop_algorithm_table *table;
    const struct hop_algorithm_row *row;
    *choice = (struct tool_choice){.table = NULL};
    if (!options->algorithm || strncmp(options->algorithm, "auto", 4) != 0)
        return HOP_OK;
    if (options->algorithm[4] != '=' || !options->algorithm[5]) {
        *diag = (struct hop_diag){.place = "--algorithm",
                                  .what = "auto needs a table",
                                  .expected = "auto=FILE, a table that `hopcast tune collective -o FILE` wrote"};
        return HOP_ERR_INVALID;
    }
    choice->table = options->algorithm + 5;
    enum hop_status status = hop_algorithm_table_load(choice->table, &table, diag);
    if (status != HOP_OK)
        return status;
    status = hop_algorithm_table_find(table, options->kind, ranks, options->bytes, &row, diag);
    if (status == HOP_OK) {
        (void)snprintf(choice->name, sizeof choice->name, "%s", row->algorithm);
        options->algorithm = choice->name;
        if (options->segment_bytes == 0)
            options->segment_bytes = row->segment_bytes;
    } else {
        (void)snprintf(diag->place, sizeof diag->place, "%.180s", choice->table);
    }
    hop_algorithm_table_destroy(table);
    return status;
}
