/* SPDX-License-Identifier: BSD-3-Clause */
/* Seats from a placement's file, as `hopcast map -o` writes it. */
#include "mpi/engine/mapping.h"

#include "hopcast/placement.h"
#include "topology/servers.h"

#include <stdio.h>

static void copy(char *to, size_t size, const char *from)
{
    (void)snprintf(to, size, "%s", from ? from : "");
}

enum hop_status hop_mapping_read(const char *path, struct hop_mpi_seat **seats, uint32_t *ranks, struct hop_diag *diag)
{
    struct hop_placement *placement;
    HOP_CHECK(hop_placement_load(path, &placement, diag));
    struct hop_mpi_seat *made = calloc((size_t)hop_placement_count(placement) + 1, sizeof *made);
    for (uint32_t r = 0; made && r < hop_placement_count(placement); r++) {
        const struct hop_rank_place *at = hop_placement_at(placement, r);
        copy(made[r].device, sizeof made[r].device, at->device);
        copy(made[r].bus_id, sizeof made[r].bus_id, at->bus_id);
        copy(made[r].nic, sizeof made[r].nic, at->nic);
        made[r].cpu = at->cpu;
    }
    *ranks = hop_placement_count(placement);
    *seats = made;
    hop_placement_destroy(placement);
    return made ? HOP_OK : hop_fail_memory(diag);
}

/* The part of its name that says the node, kept; NULL: out of memory. */
static const char *node_of(const struct hop_mpi_seat *seat, struct hop_arena *arena)
{
    return hop_arena_string(arena, seat->device, hop_server_length(seat->device));
}

static const char *node_name(const char *node)
{
    return *node ? node : "one machine";
}

enum hop_status hop_mapping_check_machines(const struct hop_mpi_seat *seats, uint32_t ranks, const int *machines,
                                           struct hop_diag *diag)
{
    static const char expected[] =
        "ranks on the machines that the map has them on, as its rankfile or hostfile puts them "
        "(hopcast map --launch-dir), or a map made anew";
    struct hop_names first = {0}; /* a node's first rank */
    struct hop_arena arena = {0};
    enum hop_status status = HOP_OK;
    for (uint32_t r = 0; r < ranks && status == HOP_OK && machines[r] >= 0; r++) {
        const char *node = node_of(&seats[r], &arena), *here = node_of(&seats[machines[r]], &arena);
        uint32_t other = node ? hop_names_get(&first, node) : UINT32_MAX;
        if (arena.failed || (other == UINT32_MAX && !hop_names_put(&first, node, r)))
            status = hop_fail_memory(diag);
        else if (strcmp(node, here) != 0)
            status = hop_fail(diag, HOP_ERR_INVALID,
                              "ranks %d and %u are on the same machine, and the map has them on %s and %s\n%s",
                              machines[r], r, node_name(here), node_name(node), expected);
        else if (other != UINT32_MAX && machines[other] != machines[r])
            status =
                hop_fail(diag, HOP_ERR_INVALID, "ranks %u and %u are on two machines, and the map has both on %s\n%s",
                         other, r, node_name(node), expected);
    }
    hop_names_finish(&first);
    hop_arena_finish(&arena);
    return status;
}
