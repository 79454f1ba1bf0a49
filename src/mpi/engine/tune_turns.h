/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Turns of one collective, by us or by the MPI: as many calls as fill a turn, each timed by itself behind a barrier of
 * the library's, with new data in new places or with the same again, which caches hold then, as benchmarks have it.
 */
#ifndef HOP_TUNE_TURNS_H
#define HOP_TUNE_TURNS_H

#include "mpi/engine/mpi_table.h"
#include "mpi/mpi_engine.h"

/* Does a call as ours, whatever any table says. */
typedef enum hop_mpi_whose hop_do_ours(enum hop_mpi_call call, const uintptr_t *arguments, int *error);

struct hop_tune_job {
    const struct hop_mpi_job *job;
    const int *machine; /* of each rank of the job, the lowest rank there */
    hop_do_ours *ours;
    void (*go_by)(const char *algorithm); /* from the next of those calls on */
    void (*forget)(uintptr_t comm);       /* before a communicator of those calls goes */
    const char *path;                     /* of the table */
    double until_s;                       /* by hop_now_s, no measurement begins later; INFINITY: no limit */
};

/* One collective, among so many ranks, of one size. */
struct hop_trial {
    const struct hop_tune_job *tune;
    unsigned kind; /* enum hop_collective_kind, or HOP_MPI_TABLE_NEIGHBOURS */
    uintptr_t comm;
    int ranks, rank;
    const char *only; /* what ours is called; NULL: by an algorithm */
    bool again;       /* the same data every time, from one place to one place */
    uint64_t bytes; /* of the vector, as struct hop_collective_options has it, or of a neighbour's block */
    char *in, *out; /* twice so many bytes each */
    double until_s; /* as of the job */
};

/* How a call is done, and the barrier behind it: by an algorithm of ours; NULL: the library's. */
struct hop_turn_way {
    const char *by, *barrier;
};

enum { HOP_TURN_PAIRS = 15 };

struct hop_ratios {
    uint32_t count;
    double of[HOP_TURN_PAIRS];
};

/* Whether the time is over for one of the ranks: the same on all of them. */
bool hop_trial_over(const struct hop_trial *t);
/* Seconds a call, the mean of all ranks, the same on all of them; negative: it failed on one. */
double hop_turn(const struct hop_trial *t, struct hop_turn_way way, uint32_t calls);
/* How many calls a turn is of, where a call takes half of `twice_s`. */
uint32_t hop_turn_calls(double twice_s);
/* The lesser time of two turns, from which the first calls are left out: what disturbs one of them says nothing. */
double hop_turn_brief(const struct hop_trial *t, struct hop_turn_way way);
/* The second's times in the first's, behind those that are there, of new data and of the same again in turns, the one
 * to begin changing; false: one failed. */
bool hop_take_turns(const struct hop_trial *t, struct hop_turn_way first, struct hop_turn_way second, uint32_t calls,
                    uint32_t pairs, struct hop_ratios *ratios);

#endif
