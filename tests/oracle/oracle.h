/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Oracle: the models pcie, credit and fair and a simulator once more, straight from their definitions and as slow as
 * that is, to hold against the library. It shares no code, no types and no data structures with it.
 *
 *            root            A machine is parent[] with a capacity up and down for every node that has a
 *           /    \           parent, and socket links between the tops. Directed links are numbers:
 *      switch    memory      up(x) = x, down(x) = ORACLE_NODES + x, then two for each socket link.
 *       /   \                Rates and capacities are bytes/s.
 *   device  device
 *
 * A caller's mistake (too many nodes, a transfer to itself) is an assertion.
 */
#ifndef ORACLE_H
#define ORACLE_H

#include <stdbool.h>

enum {
    ORACLE_NODES = 128,
    ORACLE_SOCKETS = 4,
    ORACLE_LINKS = 2 * ORACLE_NODES + 2 * ORACLE_SOCKETS,
    ORACLE_TRANSFERS = 32, /* active at once */
    ORACLE_PATH = 24,      /* links of a path */
    ORACLE_JOBS = 64,      /* transfers of a schedule */
    ORACLE_DEPENDENCIES = 4
};

#define ORACLE_TOLERANCE 1e-9 /* relative: what is above a capacity, what is below an arriving rate */

enum oracle_kind { ORACLE_DEVICE, ORACLE_MEMORY, ORACLE_SWITCH, ORACLE_ROOT };

struct oracle_tree {
    int count;
    int parent[ORACLE_NODES]; /* -1: a top */
    enum oracle_kind kind[ORACLE_NODES];
    double up[ORACLE_NODES], down[ORACLE_NODES];
    int sockets;
    int socket_end[ORACLE_SOCKETS][2];
    double socket_capacity[ORACLE_SOCKETS][2]; /* from end 0 to end 1, from end 1 to end 0 */
    double tau;
    double crossing_packets; /* packets per unit of rate after crossing a root complex */
};

struct oracle_transfer {
    int from, to; /* leaves */
};

/* ---- the machine (oracle_pcie.c) ---- */

void oracle_tree_clear(struct oracle_tree *tree, double tau);
int oracle_tree_add(struct oracle_tree *tree, int parent, enum oracle_kind kind, double up, double down);
void oracle_tree_join(struct oracle_tree *tree, int from, int to, double capacity, double capacity_back);
double oracle_capacity(const struct oracle_tree *tree, int link);
/* The node where a directed link begins, and where it ends. */
int oracle_tail(const struct oracle_tree *tree, int link);
int oracle_head(const struct oracle_tree *tree, int link);

/* What all models start from: the paths of a set of transfers. */
struct oracle_paths {
    int count;
    int length[ORACLE_TRANSFERS];
    int link[ORACLE_TRANSFERS][ORACLE_PATH];
    signed char position[ORACLE_TRANSFERS][ORACLE_LINKS]; /* of each link on the path, -1: not on it */
    bool crossed[ORACLE_TRANSFERS][ORACLE_PATH];          /* on this link the transfer has crossed a root complex */
    int links; /* directed links in use, each after all that come before it on a path */
    int order[ORACLE_LINKS];
};
void oracle_paths_of(const struct oracle_tree *tree, const struct oracle_transfer *transfers, int count,
                     struct oracle_paths *paths);
/* Where a transfer enters its i-th link from: the link before, or a number of its own for each source. */
int oracle_entry(const struct oracle_paths *paths, const struct oracle_transfer *transfers, int transfer, int i);

/* ---- models ---- */

struct oracle_pcie {
    struct oracle_paths paths;
    double arriving[ORACLE_TRANSFERS][ORACLE_PATH]; /* rho at each link */
    double leaving[ORACLE_TRANSFERS][ORACLE_PATH];  /* rho' */
    bool blocked[ORACLE_TRANSFERS];                 /* by step D */
    double after_b[ORACLE_TRANSFERS], after_c[ORACLE_TRANSFERS], after_d[ORACLE_TRANSFERS];
    double rate[ORACLE_TRANSFERS]; /* after D' */
};
void oracle_pcie(const struct oracle_tree *tree, const struct oracle_transfer *transfers, int count,
                 struct oracle_pcie *result);
/* Rule C for groups that arrive with the sums R at a link of that capacity; out: R'. */
void oracle_rule_c(const double *sums, const bool *crossed, int groups, double capacity, double tau, double *out);

/* The rounds taken; 300: possibly not settled. */
int oracle_credit(const struct oracle_tree *tree, const struct oracle_transfer *transfers, int count, double *rates);
/* The share of its capacity that a link carries in wire time. */
double oracle_wire_load(const struct oracle_tree *tree, const struct oracle_paths *paths, const double *rates,
                        int link);

void oracle_fair(const struct oracle_tree *tree, const struct oracle_transfer *transfers, int count, double *rates);

/* ---- simulator ---- */

struct oracle_job {
    struct oracle_transfer transfer;
    double bytes;
    double at_s;
    double latency_s; /* of its path: its source is held, nothing flows */
    int after[ORACLE_DEPENDENCIES];
    int after_count;
};

/* The rates of the jobs whose numbers are in active[]. */
typedef void oracle_rates(void *context, const struct oracle_job *jobs, const int *active, int count, double *rates);

/* One transfer at a time from each device (memory sends any number), in list order; the end of each job and the last of
 * them. */
double oracle_simulate(const struct oracle_tree *tree, const struct oracle_job *jobs, int count, oracle_rates *rates,
                       void *context, double *ends_s);

#endif
