/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A sweep inside: what cases refer to, the cases, and how they fall into blocks.
 *
 * A block is a run of cases with one key (topology, models, assignments). It is computed by one rank from a new
 * network on: what a network remembers from earlier cases, and the order of its routes, may change the last bit of a
 * rate, so blocks are cut by the list of cases alone, never by the number of ranks.
 */
#ifndef HOP_SWEEP_H
#define HOP_SWEEP_H

#include "base/base.h"
#include "hopcast/sweep.h"

struct hop_sweep_schedule {
    const struct hop_schedule *given; /* rank 0: the caller's; others: the own one */
    struct hop_schedule *own;
    char *text; /* rank 0: what others are sent, made when first needed */
    /* The last few sizes, so that schedules need not be made again for every network. */
    struct hop_sweep_resized *resized;
};

struct hop_sweep_topology {
    char *json;
    struct hop_topology *copy; /* with the assignments of `settings`; NULL: not made yet */
    char *settings;
};

/* What a network is made of. settings: the assignments, each followed by a newline. */
struct hop_sweep_key {
    uint32_t topology;
    const char *models; /* or NULL */
    const char *settings;
};

struct hop_sweep_entry {
    double scale;
    uint64_t bytes;
    uint32_t schedule, key;
    uint32_t resize;
};

struct hop_sweep_block {
    uint32_t key, first, count;
};

struct hop_sweep {
    struct hop_arena arena; /* the arrays, texts of keys */
    struct hop_sweep_schedule *schedules;
    struct hop_sweep_topology *topologies;
    struct hop_sweep_key *keys;
    struct hop_sweep_entry *entries;
    struct hop_sweep_block *blocks;
    uint32_t schedule_count, topology_count, key_count, entry_count, block_count;
    uint64_t kept_ops; /* in resized schedules */
};

/* A result as it travels. */
struct hop_sweep_outcome {
    double makespan_s, slowest_s;
    uint64_t bytes, events;
    uint32_t slowest;
    int32_t status;
};

enum hop_status hop_sweep_cut(struct hop_sweep *sweep, struct hop_diag *diag); /* into blocks */

/* ---- sizes.c ---- */

/* The schedule of a case with its sizes; the sweep's own until the next call. */
enum hop_status hop_sweep_sized(struct hop_sweep *sweep, const struct hop_sweep_entry *entry,
                                const struct hop_schedule **schedule, struct hop_diag *diag);
void hop_sweep_forget_sizes(struct hop_sweep *sweep);

/* ---- sweep_case.c ---- */

struct hop_sweep_evaluator {
    struct hop_sweep *sweep;
    bool sources_unlimited;
    struct hop_network *network;
    uint32_t networks;
    struct hop_arena arena;
    struct hop_span *spans; /* by operation of the given schedule */
};

/* The network of a block. An error is one of every case in it. */
enum hop_status hop_sweep_begin(struct hop_sweep_evaluator *evaluator, const struct hop_sweep_key *key,
                                struct hop_diag *diag);
/* outcome->status is the returned one; the rest is set on success. */
enum hop_status hop_sweep_evaluate(struct hop_sweep_evaluator *evaluator, const struct hop_sweep_entry *entry,
                                   struct hop_sweep_outcome *outcome, struct hop_diag *diag);
void hop_sweep_end(struct hop_sweep_evaluator *evaluator);
/* What can be wrong and is found without simulating: assignments, models, names of devices. */
enum hop_status hop_sweep_check(struct hop_sweep_evaluator *evaluator, uint32_t *culprit, struct hop_diag *diag);

/* ---- sweep_ranks.c: what ranks send each other ---- */

enum {
    HOP_SWEEP_TAG_TOPOLOGY = 2000,
    HOP_SWEEP_TAG_SCHEDULE,
    HOP_SWEEP_TAG_BLOCK,
    HOP_SWEEP_TAG_DONE,
    HOP_SWEEP_TAG_BYE,
    HOP_SWEEP_TAG_END
};

/* Rank 0: sends a block, and before it what the rank does not have yet. known: a byte for each schedule and then
 * each topology. */
enum hop_status hop_sweep_send_block(struct hop_sweep *sweep, const struct hop_sweep_options *options, int to,
                                     uint32_t block, uint8_t *known, struct hop_diag *diag);
/* Others: takes in a schedule or a topology. */
bool hop_sweep_take_noun(struct hop_sweep *sweep, const struct hop_group_message *message);
/* A block as it was received; pointers lead into the message. */
struct hop_sweep_parcel {
    uint32_t block, count;
    bool sources_unlimited;
    struct hop_sweep_key key;
    struct hop_sweep_entry *entries;
};
bool hop_sweep_read_parcel(const struct hop_group_message *message, struct hop_sweep_parcel *parcel);

#endif
