/* SPDX-License-Identifier: BSD-3-Clause */
/* Being one rank of several: see ranks.h. */
#include "ranks.h"

#include <stdlib.h>
#include <unistd.h>

#include "tool.h"

volatile sig_atomic_t ranks_stop;

static void on_signal(int number)
{
    (void)number;
    ranks_stop = 1;
}

void ranks_catch(void)
{
    const struct sigaction gently = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    const struct sigaction once = {.sa_handler = on_signal, .sa_flags = (int)(SA_RESTART | SA_RESETHAND)};
    ranks_stop = 0;
    (void)sigaction(SIGTERM, &gently, NULL);
    (void)sigaction(SIGINT, &once, NULL);
}

int ranks_join(struct hop_group **group)
{
    struct hop_diag diag;
    const struct hop_group_options options = {.stop = &ranks_stop};
    ranks_catch();
    return hop_group_create(&options, group, &diag) == HOP_OK ? TOOL_OK : tool_fail(&diag);
}

int ranks_end(struct hop_group *group, int status)
{
    bool others = hop_group_size(group) > 1;
    if (others && hop_group_rank(group) != 0)
        status = TOOL_OK; /* rank 0's counts */
    if (hop_group_lost(group, NULL) < 0 && !ranks_stop && hop_group_finish(group, NULL) == HOP_OK) {
        hop_group_destroy(group);
        return status;
    }
    status = tool_finish(status);
    hop_group_leave(group);
    if (others)
        _exit(status); /* exit would run MPI's own handlers, which wait for the dead */
    hop_group_destroy(group);
    return status;
}
