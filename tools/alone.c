/* SPDX-License-Identifier: BSD-3-Clause */
/* Being the only process: see alone.h. */
#include "alone.h"

#include "ranks.h"

int alone_check(const struct tool_command *command)
{
    struct hop_group *group;
    struct hop_diag diag;
    int status = TOOL_OK;
    if (hop_group_create(NULL, &group, &diag) != HOP_OK)
        return tool_fail(&diag);
    int size = hop_group_size(group);
    if (size == 1) {
        hop_group_destroy(group);
        return TOOL_OK;
    }
    if (hop_group_rank(group) == 0)
        status =
            tool_bad_usage(command,
                           "mpirun started %d of it, which would disturb each other: one is expected, with -n RANKS "
                           "of its own (HOPCAST_MPI=none: all the same)",
                           size);
    (void)ranks_end(group, status);
    return TOOL_BAD;
}
