/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What MPI calls take, in nanoseconds of a rank's processor time each: bench_mpi_calls under mpirun. bench/mpi_overhead runs it with
 * and without libhopcast_mpi.so, in turns.
 */
#include <mpi.h>
#include <stdio.h>
#include <time.h>

enum { MANY = 200000, SOME = 2000, LONG = 64 * 1024 };

static char out[LONG], in[LONG];

/* To itself, so that no other rank's turn is in it: three calls. */
static void message(void)
{
    MPI_Request request;
    MPI_Irecv(in, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF, &request);
    MPI_Send(out, 8, MPI_BYTE, 0, 0, MPI_COMM_SELF);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
}

static void probe(void)
{
    int flag;
    MPI_Iprobe(0, 1, MPI_COMM_SELF, &flag, MPI_STATUS_IGNORE);
}

static void nobody(void)
{
    MPI_Send(out, 8, MPI_BYTE, MPI_PROC_NULL, 0, MPI_COMM_SELF);
}

static void allreduce_8(void)
{
    MPI_Allreduce(out, in, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static void allreduce_64k(void)
{
    MPI_Allreduce(out, in, LONG / 8, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
}

static double processor_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

int main(int count, char **words)
{
    static const struct {
        const char *name;
        void (*body)(void);
        int times, calls;
    } cases[] = {{"message", message, MANY, 3},
                 {"probe", probe, MANY, 1},
                 {"send_to_nobody", nobody, MANY, 1},
                 {"allreduce_8", allreduce_8, SOME, 1},
                 {"allreduce_64k", allreduce_64k, SOME, 1}};
    int rank;
    MPI_Init(&count, &words);
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    for (unsigned c = 0; c < sizeof cases / sizeof *cases; c++) {
        cases[c].body();
        MPI_Barrier(MPI_COMM_WORLD);
        double begin = processor_s();
        for (int i = 0; i < cases[c].times; i++)
            cases[c].body();
        double took = processor_s() - begin;
        if (rank == 0)
            (void)printf("%s %.1f\n", cases[c].name, 1e9 * took / cases[c].times / cases[c].calls);
    }
    MPI_Finalize();
    return 0;
}
