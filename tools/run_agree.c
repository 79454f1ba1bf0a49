/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast run under mpirun: which machine each rank is on, and whether all ranks are ready. One that is not, its machine
 * lacking a file perhaps, would be waited for by those that are. */
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "ranks.h"
#include "run.h"

enum { TAG = 1, ANSWER_TAG, HOST_TAG, NODES_TAG };
#define WAIT_S 1.0

/* The next such message, and whose; false: a rank is lost, or all are stopped. */
static bool hear(struct hop_group *group, int tag, int *from, void *bytes, size_t size)
{
    struct hop_group_message message;
    while (!hop_group_receive(group, WAIT_S, &message)) {
        if (ranks_stop || hop_group_lost(group, NULL) >= 0)
            return false;
    }
    bool fits = message.tag == tag && message.size_bytes == size;
    if (fits)
        memcpy(bytes, message.bytes, size);
    *from = message.from;
    free(message.bytes);
    return fits;
}

/* ---- machines ---- */

struct host {
    char name[HOST_NAME_MAX + 1];
};

/* Rank 0 numbers the hosts by the first rank of each, and tells all. */
static bool number_hosts(struct hop_group *group, const struct host *own, uint32_t *nodes)
{
    int size = hop_group_size(group), from;
    struct host *hosts = tool_alloc((size_t)size, sizeof *hosts), its;
    hosts[0] = *own;
    for (int i = 1; i < size; i++) {
        if (!hear(group, HOST_TAG, &from, &its, sizeof its))
            return false;
        hosts[from] = its;
    }
    for (uint32_t r = 0; r < (uint32_t)size; r++) {
        while (strcmp(hosts[nodes[r]].name, hosts[r].name) != 0)
            nodes[r]++;
    }
    for (int rank = 1; rank < size; rank++)
        (void)hop_group_send(group, rank, NODES_TAG, nodes, (size_t)size * sizeof *nodes, NULL);
    return true;
}

const uint32_t *run_nodes(struct hop_group *group, uint32_t node_size)
{
    int size = hop_group_size(group), from;
    uint32_t *nodes = tool_alloc((size_t)size, sizeof *nodes);
    struct host own = {""};
    bool several = false;
    (void)gethostname(own.name, HOST_NAME_MAX);
    bool known = hop_group_rank(group) == 0 ? number_hosts(group, &own, nodes)
                                            : hop_group_send(group, 0, HOST_TAG, &own, sizeof own, NULL) == HOP_OK &&
                                                  hear(group, NODES_TAG, &from, nodes, (size_t)size * sizeof *nodes);
    for (uint32_t r = 0; r < (uint32_t)size; r++) {
        nodes[r] = node_size ? r / node_size : nodes[r];
        several = several || nodes[r] != nodes[0];
    }
    return known && several ? nodes : NULL;
}

/* ---- readiness ---- */

/* Rank 0 hears all, and tells them the worst. */
static int collect(struct hop_group *group, int status)
{
    int size = hop_group_size(group), own = status, from, its, bad = 0;
    for (int i = 1; i < size; i++) {
        if (!hear(group, TAG, &from, &its, sizeof its))
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
             !hear(group, ANSWER_TAG, &from, &all, sizeof all))
        return status;
    /* nobody goes on to the next messages before all have taken these; who fails then finds out there */
    (void)hop_group_barrier(group, NULL);
    return all;
}
