/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reductions in the order of ranks, so that results are the same bits in every run, wherever ranks are and beside
 * whichever MPI: ((x0 + x1) + x2) + ...
 *
 * A schedule's one-shot and two-shot fold so, part by part. Where there is no schedule, the library carries each part
 * to one rank, which folds it.
 */
#include "mpi/engine/run_collective.h"

enum { PLACES = 64 }; /* of one reduction, so many inputs are folded at once (docs/collectives.md) */

bool hop_is_of_an_order(const struct hop_mpi_shim *mpi, const struct hop_mpi_wanted *wanted)
{
    enum hop_reduce reduce;
    return wanted->op && wanted->shape.vector_bytes > 0 && wanted->shape.vector_bytes <= HOP_MPI_BYTES_MOST &&
           mpi->collectives->reduction(wanted->op, &reduce) &&
           (reduce == HOP_REDUCE_SUM || reduce == HOP_REDUCE_PROD) && mpi->collectives->rounded(wanted->type);
}

const char *hop_orderly_algorithm(enum hop_collective_kind kind, int ranks)
{
    if (ranks > PLACES)
        return NULL;
    return hop_algorithm_name(kind == HOP_COLLECTIVE_ALLREDUCE ? HOP_ALGORITHM_TWO_SHOT : HOP_ALGORITHM_ONE_SHOT);
}

/* ---- by the library's messages ---- */

/* Bytes of each rank's part, and where it begins. */
struct parts {
    int *bytes, *at;     /* in a vector */
    int *each, *each_at; /* of what this rank gets: as many of each */
    int own_items;
};

static bool cut(const struct hop_comm_state *state, const struct hop_mpi_wanted *wanted, struct parts *parts)
{
    int ranks = state->ranks->size, at = 0, size = (int)(wanted->shape.vector_bytes / wanted->items);
    parts->bytes = calloc((size_t)ranks * 4, sizeof(int));
    if (!parts->bytes)
        return false;
    parts->at = parts->bytes + ranks;
    parts->each = parts->at + ranks;
    parts->each_at = parts->each + ranks;
    for (int r = 0; r < ranks; r++) {
        parts->bytes[r] =
            wanted->parts
                ? (int)hop_mpi_part(wanted, r)
                : (int)(wanted->items / (uint64_t)ranks + ((uint64_t)r < wanted->items % (uint64_t)ranks)) * size;
        parts->at[r] = at;
        at += parts->bytes[r];
    }
    parts->own_items = parts->bytes[state->ranks->own] / size;
    for (int r = 0; r < ranks; r++) {
        parts->each[r] = parts->bytes[state->ranks->own];
        parts->each_at[r] = r * parts->each[r];
    }
    return true;
}

static int first_error(int error, int other)
{
    return error ? error : other;
}

int hop_run_orderly(const struct hop_mpi_job *job, struct hop_comm_state *state, const struct hop_mpi_wanted *wanted)
{
    const struct hop_mpi_shim_collectives *mpi = job->mpi->collectives;
    int ranks = state->ranks->size, own = state->ranks->own, error = 0;
    struct parts parts;
    if (!cut(state, wanted, &parts))
        hop_collective_die(job, "out of memory in a collective");
    const void *in = hop_items_in(job, state, wanted, &error);
    void *out = hop_items_out(job, state, wanted, &error);
    char *all = malloc((size_t)parts.bytes[own] * (size_t)ranks + 1);
    if (!all)
        hop_collective_die(job, "out of memory in a collective");
    error = first_error(error, mpi->alltoallv(in, parts.bytes, parts.at, all, parts.each, parts.each_at, wanted->comm));
    for (int r = 1; r < ranks && parts.own_items > 0; r++)
        error = first_error(error, mpi->fold(all + parts.each_at[r], all, parts.own_items, wanted->type, wanted->op));
    if (wanted->shape.kind == HOP_COLLECTIVE_ALLREDUCE)
        error = first_error(error, mpi->allgatherv(all, parts.bytes[own], out, parts.bytes, parts.at, wanted->comm));
    else if (wanted->shape.kind == HOP_COLLECTIVE_REDUCE)
        error = first_error(error, mpi->gatherv(all, parts.bytes[own], out, parts.bytes, parts.at,
                                                (int)wanted->shape.root, wanted->comm));
    else
        memcpy(out, all, (size_t)parts.bytes[own]);
    hop_items_end(job, state, wanted, out, &error);
    free(all);
    free(parts.bytes);
    return error;
}
