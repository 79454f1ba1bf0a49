/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What a rank waits for its neighbours, in microseconds a call of MPI_Neighbor_alltoall: bench_mpi_neighbours AROUND
 * BYTES... under mpirun, a line a size of blocks, and "wrong" where one is not what was sent. Neighbours are those on a
 * grid of two dimensions (AROUND 0), or the AROUND ranks before and behind in a ring. bench/mpi_neighbours runs it with
 * and without libhopcast_mpi.so, in turns.
 */
#include <mpi.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EDGES = 64, LONG = 1 << 16, WARM = 10, CALLS = 100 };

static char out[EDGES * LONG], in[EDGES * LONG];
static int ends[EDGES], edges;

static MPI_Comm make_grid(int ranks)
{
    int sides[2] = {0};
    MPI_Comm made;
    MPI_Dims_create(ranks, 2, sides);
    MPI_Cart_create(MPI_COMM_WORLD, 2, sides, (int[]){sides[0] > 2, sides[1] > 2}, 0, &made);
    for (int d = 0; d < 2; d++)
        MPI_Cart_shift(made, d, 1, &ends[2 * d], &ends[2 * d + 1]);
    edges = 4;
    return made;
}

static MPI_Comm make_ring(int rank, int ranks, int around)
{
    MPI_Comm made;
    for (int i = 1; i <= around && 2 * i < ranks && edges + 2 <= EDGES; i++) {
        ends[edges++] = (rank + i) % ranks;
        ends[edges++] = (rank + ranks - i) % ranks;
    }
    MPI_Dist_graph_create_adjacent(MPI_COMM_WORLD, edges, ends, MPI_UNWEIGHTED, edges, ends, MPI_UNWEIGHTED,
                                   MPI_INFO_NULL, 0, &made);
    return made;
}

/* A block says from whom it is. */
static int wrong(int bytes)
{
    int found = 0;
    for (int e = 0; e < edges; e++)
        found += ends[e] >= 0 && (in[e * bytes] != (char)ends[e] || in[(e + 1) * bytes - 1] != (char)ends[e]);
    return found;
}

static double measure(MPI_Comm comm, int bytes)
{
    double begin_s = 0, own_s, most_s;
    for (int i = 0; i < WARM + CALLS; i++) {
        if (i == WARM) {
            MPI_Barrier(comm);
            begin_s = MPI_Wtime();
        }
        MPI_Neighbor_alltoall(out, bytes, MPI_BYTE, in, bytes, MPI_BYTE, comm);
    }
    own_s = (MPI_Wtime() - begin_s) / CALLS;
    MPI_Allreduce(&own_s, &most_s, 1, MPI_DOUBLE, MPI_MAX, comm);
    return most_s;
}

int main(int count, char **words)
{
    int rank, ranks;
    MPI_Init(&count, &words);
    MPI_Comm_size(MPI_COMM_WORLD, &ranks);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    int around = count > 1 ? atoi(words[1]) : 0;
    MPI_Comm comm = around > 0 ? make_ring(rank, ranks, around) : make_grid(ranks);
    memset(out, rank, sizeof out);
    for (int i = 2; i < count && atoi(words[i]) <= LONG; i++) {
        double call_s = measure(comm, atoi(words[i]));
        int own = wrong(atoi(words[i])), all;
        MPI_Allreduce(&own, &all, 1, MPI_INT, MPI_SUM, comm);
        if (rank == 0)
            printf("%s %.1f%s\n", words[i], call_s * 1e6, all ? " wrong" : "");
    }
    MPI_Comm_free(&comm);
    MPI_Finalize();
    return 0;
}
