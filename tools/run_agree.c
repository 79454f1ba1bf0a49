/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast run under mpirun: whether all ranks are ready. One that is not, its machine lacking a file perhaps, would be
 * waited for by those that are. */
#include <stdlib.h>
#include <string.h>

#include "ranks.h"
#include "run.h"

enum { TAG = 1, ANSWER_TAG };
#define WAIT_S 1.0

/* The next such word, and whose; false: a rank is lost, or all are stopped. */
static bool hear(struct hop_group *group, int tag, int *from, int *status)
{
    struct hop_group_message message;
    while (!hop_group_receive(group, WAIT_S, &message)) {
        if (ranks_stop || hop_group_lost(group, NULL) >= 0)
            return false;
    }
    bool fits = message.tag == tag && message.size_bytes == sizeof *status;
    if (fits)
        memcpy(status, message.bytes, sizeof *status);
    *from = message.from;
    free(message.bytes);
    return fits;
}

/* Rank 0 hears all, and tells them the worst. */
static int collect(struct hop_group *group, int status)
{
    int size = hop_group_size(group), own = status, from, its, bad = 0;
    for (int i = 1; i < size; i++) {
        if (!hear(group, TAG, &from, &its))
            return own;
        bad = its != TOOL_OK && status == TOOL_OK ? from : bad;
        status = its > status ? its : status;
    }
    if (own == TOOL_OK && status != TOOL_OK) {
        (void)hop_fail(&tool_diag, HOP_ERR_INVALID,
                       "rank %d cannot run what rank 0 can\nthe same files on all machines, and the same options", bad);
        (void)tool_say(&tool_diag);
    }
    for (int rank = 1; rank < size; rank++)
        (void)hop_group_send(group, rank, ANSWER_TAG, &status, sizeof status, NULL);
    return status;
}

int run_agree(struct hop_group *group, int status)
{
    int from, all = status;
    if (hop_group_rank(group) == 0)
        all = collect(group, status);
    else if (hop_group_send(group, 0, TAG, &status, sizeof status, NULL) != HOP_OK ||
             !hear(group, ANSWER_TAG, &from, &all))
        return status;
    /* nobody goes on to the next messages before all have taken these; who fails then finds out there */
    (void)hop_group_barrier(group, NULL);
    return all;
}
