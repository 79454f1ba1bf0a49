/* SPDX-License-Identifier: BSD-3-Clause */
/* What reports share: the order and the words in which topologies and timelines are shown. */
#ifndef HOP_REPORT_H
#define HOP_REPORT_H

#include "base/base.h"
#include "hopcast/gain.h"
#include "hopcast/report.h"

/* ---- texts ---- */

/* Columns that a UTF-8 text takes, a code point being one. */
unsigned hop_text_columns(const char *text);
/* "copy", "work", "reduce", "send" or "receive" */
const char *hop_op_kind_text(const struct hop_op *op);
/* Where it runs: a receive at its destination, all else at its source. */
const char *hop_op_home(const struct hop_op *op);
/* The original where the operation stands for a message without being its copy (a receive), else the operation
 * itself. */
const struct hop_op *hop_told_op(const struct hop_timeline *timeline, uint32_t op);
/* How many operations from `op` on are the packets of one staged copy; 1 where it is none. */
uint32_t hop_staged_count(const struct hop_timeline *timeline, uint32_t op);
/* Of a directed link and of an operation as executed; NULL for HOP_NONE. */
const char *hop_limit_name(const struct hop_timeline *timeline, uint32_t link, char *name, size_t size);
const char *hop_blocker_name(const struct hop_timeline *timeline, uint32_t op);
/* "8 gpu, 2 nic, 1 root": the nodes of a topology by kind. */
void hop_add_kinds(struct hop_buffer *out, const struct hop_topology *topology);

/* A link in words. */
struct hop_link_text {
    char what[64];            /* "gen4 x16", "2 x nvlink gen3" */
    char rate[128];           /* "28.81 GB/s", "6.000 GB/s up, 5.000 GB/s down, 1.000 us", the last its latency */
    const char *direction[2]; /* "up" and "down" in the tree, else "forth" and "back" */
};
struct hop_link_text hop_describe_link(const struct hop_topology *topology, const struct hop_link *link);

/* ---- JSON (json_parts.c) ---- */

/* What models say of a gain as the member `key`: an object; NULL: null. */
void hop_put_gain(struct hop_buffer *out, const char *key, const struct hop_gain *gain);
/* The same without each model's times; of no models: null. */
void hop_put_gain_range(struct hop_buffer *out, const char *key, const struct hop_gain_range *range);
/* Its object, to be closed by "}": an order or plan of least regret. */
void hop_put_robust(struct hop_buffer *out, const struct hop_order_robust *robust);
/* An object: the model of each domain by the domain's name. NULL: empty. */
void hop_put_models(struct hop_buffer *out, const struct hop_network *network, enum hop_fidelity fidelity);

/* The text of a report, whose arrays are freed; NULL: out of memory for either. */
char *hop_take_report(struct hop_buffer *out, struct hop_arena *arena);

/* ---- topologies ---- */

/* PCIe and memory links make trees. */
bool hop_in_tree(const struct hop_link *link);
/* A node that a tree hangs from. */
bool hop_is_top(const struct hop_topology *topology, uint32_t node);
/* The nodes right below a node in its tree, one after another, HOP_NONE after the last; *at begins as 0. */
uint32_t hop_next_child(const struct hop_topology *topology, uint32_t node, uint32_t *at);
/* A node is no longer hidden, nor is what is above it. */
void hop_show_up(const struct hop_topology *topology, bool *hidden, uint32_t node);
/* The nodes of a branch, the one on top included. */
uint32_t hop_count_below(const struct hop_topology *topology, uint32_t node);
/* A line of the tree. */
struct hop_tree_row {
    uint32_t node; /* HOP_NONE: stands for hidden ones */
    unsigned depth;
    uint64_t open; /* bit d: the ancestor at depth d + 1, or the node itself, has a later sibling */
    uint32_t last; /* of a run of alike nodes without links in a tree, shown in one row; else the node; of hidden ones:
                    * how many there are */
};
struct hop_tree_rows {
    const bool *hidden; /* nodes left out with all that is below them; NULL: none */
    struct hop_tree_row *row;
    uint32_t count;
    struct hop_arena *arena; /* of the rows */
};
/* Tops of trees come first, then what has no PCIe at all (NVSwitch, fabric switches, sockets). */
void hop_collect_rows(struct hop_tree_rows *rows, const struct hop_topology *topology);
/* "│  ├─ ": what stands before a node of a tree, three columns a level. */
void hop_add_branches(struct hop_buffer *out, unsigned depth, uint64_t open, bool ascii);
/* 0: links that look alike, that is in everything but their ends. */
int hop_compare_looks(const struct hop_link *a, const struct hop_link *b);
/* The width of a link's line: 1 to 5, by capacity. */
double hop_link_stroke(const struct hop_link *link);

/* ---- timelines ---- */

/* The segments of one operation; one array, the arena's, serves many operations. */
struct hop_segments {
    struct hop_segment *list;
    uint32_t count;
};
/* None below detail segments, nor when out of memory. */
void hop_segments_load(struct hop_segments *segments, struct hop_timeline *timeline, uint32_t op,
                       struct hop_arena *arena);
/* The rate of a copy that has the machine to itself, once its latency has passed; 0: no copy, or it never moves. */
double hop_alone_Bps(struct hop_timeline *timeline, uint32_t op);

#endif
