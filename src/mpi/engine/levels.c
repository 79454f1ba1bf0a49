/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is where, and the communicators of both levels. */
#include "mpi/engine/levels.h"

#include <stdlib.h>

static int machine_of(const int *machine, const struct hop_mpi_ranks *ranks, int rank)
{
    int world = ranks->world ? ranks->world[rank] : rank;
    return world < 0 ? -1 : machine[world];
}

/* The first rank of the communicator on that rank's machine. */
static int leader_of(const int *machine, const struct hop_mpi_ranks *ranks, int rank)
{
    int own = machine_of(machine, ranks, rank), leader = 0;
    while (machine_of(machine, ranks, leader) != own)
        leader++;
    return leader;
}

/* No memory, since all ranks have to find the same. */
int hop_machines_of(const int *machine, const struct hop_mpi_ranks *ranks)
{
    int machines = 0, before = -1;
    for (int r = 0; r < ranks->size; r++) {
        int own = machine_of(machine, ranks, r);
        if (own < 0)
            return 0;
        machines += own != before && leader_of(machine, ranks, r) == r;
        before = own;
    }
    return machines;
}

static bool reserve(struct hop_two_levels *levels, int ranks)
{
    levels->machine = calloc((size_t)ranks * 10, sizeof(int));
    if (!levels->machine)
        return false;
    levels->place_of = levels->machine + ranks;
    levels->order = levels->place_of + ranks;
    levels->count = levels->order + ranks;
    levels->first = levels->count + ranks;
    levels->bytes = levels->first + ranks;
    levels->at = levels->bytes + ranks;
    levels->begin = levels->at + ranks;
    levels->near = levels->begin + ranks;
    return true;
}

static void arrange(struct hop_two_levels *levels, const int *machine, const struct hop_mpi_ranks *ranks)
{
    for (int r = 0; r < ranks->size; r++) {
        int leader = leader_of(machine, ranks, r);
        levels->machine[r] = leader == r ? levels->machines++ : levels->machine[leader];
        levels->place_of[r] = levels->count[levels->machine[r]]++;
    }
    for (int m = 1; m < levels->machines; m++)
        levels->first[m] = levels->first[m - 1] + levels->count[m - 1];
    levels->in_order = true;
    for (int r = 0; r < ranks->size; r++) {
        int at = levels->first[levels->machine[r]] + levels->place_of[r];
        levels->order[at] = r;
        levels->in_order = levels->in_order && at == r;
    }
    levels->own = levels->machine[ranks->own];
    levels->place = levels->place_of[ranks->own];
}

bool hop_two_levels_make(struct hop_two_levels *levels, const struct hop_mpi_shim *mpi, const int *machine,
                         const struct hop_mpi_ranks *ranks, uintptr_t comm)
{
    if (!mpi->comm_all_agree(comm, reserve(levels, ranks->size))) {
        free(levels->machine);
        *levels = (struct hop_two_levels){0};
        return false;
    }
    arrange(levels, machine, ranks);
    levels->here = mpi->collectives->split(comm, levels->own, levels->place);
    levels->leaders = mpi->collectives->split(comm, levels->place == 0 ? 0 : -1, levels->own);
    bool fine = levels->here != mpi->comm_null && (levels->place > 0 || levels->leaders != mpi->comm_null);
    if (mpi->comm_all_agree(comm, fine))
        return true;
    hop_two_levels_free(levels, mpi);
    return false;
}

bool hop_two_levels_everyone(struct hop_two_levels *levels, const struct hop_mpi_shim *mpi, uintptr_t comm, int rank)
{
    levels->everyone = mpi->collectives->split(comm, 0, rank);
    levels->has_everyone = levels->everyone != mpi->comm_null;
    return mpi->comm_all_agree(comm, levels->has_everyone);
}

void hop_two_levels_free(struct hop_two_levels *levels, const struct hop_mpi_shim *mpi)
{
    if (levels->has_everyone)
        mpi->collectives->free(levels->everyone);
    if (levels->machines > 0 && levels->leaders != mpi->comm_null)
        mpi->collectives->free(levels->leaders);
    if (levels->machines > 0 && levels->here != mpi->comm_null)
        mpi->collectives->free(levels->here);
    free(levels->machine);
    *levels = (struct hop_two_levels){0};
}
