/* SPDX-License-Identifier: BSD-3-Clause */
/* Ranks on nodes, wherever there: what links and sources of a node need of copies that leave it and of others. */
#ifndef HOP_PLAN_BLOCKS_H
#define HOP_PLAN_BLOCKS_H

#include "plan/plan.h"

enum { RECEIVED, SENT, WAYS };
enum { HERE, ELSEWHERE, EITHER, WHERES };
enum { NODES_MOST = 64 };

/* Of a source or link: what a byte and a copy take of it. */
struct hop_plan_need {
    double head_s, per_byte_s[WAYS][WHERES], late_s[WAYS][WHERES];
};

struct hop_plan_needs {
    struct hop_plan_need *list;
    uint32_t count;
};

struct hop_plan_block {
    uint32_t part, room, held;
    struct hop_plan_needs *places, whole; /* of places that differ */
    uint32_t place_count;
    uint32_t like; /* the first node that costs the same */
};

/* Bytes and copies. */
struct hop_plan_amounts {
    double bytes[WAYS][WHERES], copies[WAYS][WHERES];
};

struct hop_plan_partner {
    uint32_t rank;
    double bytes, copies;
};

struct hop_plan_nodes {
    struct hop_plan_work *work;
    struct hop_plan_loads *loads;
    struct hop_plan_block nodes[NODES_MOST];
    uint32_t node_count;
    const uint32_t *part_of; /* of a place: its node, or, where there is one, the host memory nearest to it */
    struct hop_plan_rank_flows {
        struct hop_plan_partner *list[WAYS]; /* ascending by bytes */
        uint32_t count[WAYS];
    } * ranks;
    uint32_t *order, *node_of; /* of ranks; the second HOP_NONE: none yet */
    double threshold_s, left_s;
    uint64_t steps, steps_most;
    bool over;
    struct hop_arena arena;
};

/* No plan takes less, whichever ranks are on which node: by how many are. */
void hop_plan_counts(struct hop_plan_nodes *blocks, double *least_s);

#endif
