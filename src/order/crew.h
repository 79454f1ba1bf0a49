/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A crew: threads, and the ranks of a group, that work through numbered tasks and share the best that each has found.
 *
 *     rank r takes the tasks r, r + size, r + 2 size, ...; its threads take them one after another
 *     records: the best value so far of some kind, with the task that found it and its sequence
 *     counts:  values found by finished tasks (enumeration)
 *
 * A record is beaten by a lower value, or by an equal one (1e-9) of an earlier task: so the same one is left in the end, however the
 * tasks were spread. What is done is saved to a checkpoint now and then and need not be done again.
 */
#ifndef HOP_ORDER_CREW_H
#define HOP_ORDER_CREW_H

#include <stdatomic.h>

#include "hopcast/group.h"
#include "order/sequence.h"

enum { HOP_RECORDS_MAX = 3 };

struct hop_record_kept {
    double value; /* INFINITY: none */
    uint64_t task;
    struct hop_sequence sequence;
};

/* A value that some orders have. */
struct hop_value_count {
    double value;
    uint32_t orders;
    bool clean;
};

struct hop_crew;

struct hop_crew_job {
    const char *kind; /* in checkpoints: what the tasks are (order/checkpoint.h); NULL: they are in none */
    uint64_t tasks;
    uint32_t records;   /* kinds of records */
    bool counts;
    bool open; /* it may end with tasks left open; a checkpoint of a later phase does not say so: it is done again */
    /* A thread's own state; its tasks; its end. run returns early once hop_crew_stopped. */
    enum hop_status (*begin)(void *context, struct hop_crew *crew, void **worker, struct hop_diag *diag);
    enum hop_status (*run)(void *worker, uint64_t task, struct hop_diag *diag);
    void (*end)(void *worker);
    void *context;
    double bound_s; /* for progress */
};

/* What came of a job, over all ranks. */
struct hop_crew_totals {
    uint64_t nodes, sets;
    double walked;
    uint64_t tasks_done;
    bool complete; /* every task was done */
    bool stopped;
};

/* Threads of all ranks together. */
uint32_t hop_crew_threads(const struct hop_order_options *options);
/* problem, options and fingerprint (of everything that the result depends on) must outlive it. The clock starts here. */
enum hop_status hop_crew_create(const struct hop_problem *problem, const struct hop_order_options *options,
                                uint64_t fingerprint, struct hop_crew **crew, struct hop_diag *diag);
void hop_crew_destroy(struct hop_crew *crew); /* NULL is allowed */

/* Works through a job's tasks; records stay from job to job. Ranks of a group must all call it with the same job. If the checkpoint is
 * of a later phase, the job is over already. */
enum hop_status hop_crew_work(struct hop_crew *crew, const struct hop_crew_job *job, struct hop_crew_totals *totals,
                              struct hop_diag *diag);

/* Every rank runs it once, in a thread that is watched; it returns early once hop_crew_stopped. *done: all ranks know that
 * all came to the end. */
enum hop_status hop_crew_all(struct hop_crew *crew,
                             enum hop_status (*run)(void *context, struct hop_crew *crew, struct hop_diag *diag),
                             void *context, double bound_s, bool *done, struct hop_diag *diag);

/* ---- for workers ---- */

bool hop_crew_stopped(const struct hop_crew *crew);
void hop_crew_stop(struct hop_crew *crew);
/* Offers a value; the sequence is copied if it is a record. */
void hop_crew_offer(struct hop_crew *crew, uint32_t kind, double value, uint64_t task,
                    const struct hop_sequence *sequence);
/* The version of the records changes whenever one does: ask for a record again only then. */
uint32_t hop_crew_version(const struct hop_crew *crew);
double hop_crew_record(struct hop_crew *crew, uint32_t kind, uint64_t *task);
/* Counts work; stops the crew at options->max_nodes. */
void hop_crew_count(struct hop_crew *crew, uint64_t nodes, uint64_t sets);
/* Of options->max_nodes, if there is such a limit. */
uint64_t hop_crew_nodes_left(const struct hop_crew *crew);
/* Keeps the counts of a task and how many orders it walked; it is done by that: a checkpoint holds all or nothing. false: out of memory. */
bool hop_crew_keep(struct hop_crew *crew, uint64_t task, const struct hop_value_count *counts, size_t count, double walked);

/* A task gives up: it does not count as done. */
void hop_crew_leave_open(struct hop_crew *crew, uint64_t task);

/* ---- for the caller ---- */

/* A record with its sequence, NULL: there is none. */
struct hop_record_kept *hop_crew_kept(struct hop_crew *crew, uint32_t kind);
struct hop_value_count *hop_crew_counts(struct hop_crew *crew, size_t *count); /* the crew's; may be sorted in place */
bool hop_crew_is_done(const struct hop_crew *crew, uint64_t task); /* as far as this rank knows, of the last job */
double hop_crew_elapsed_s(const struct hop_crew *crew);
int hop_crew_lost(const struct hop_crew *crew); /* rank, -1: none */
/* Sorts by value and cleanness and makes near values (HOP_VALUE_TOLERANCE) with equal cleanness one; returns how many are left
 * (counts.c). */
size_t hop_value_counts_merge(struct hop_value_count *counts, size_t count);

#endif
