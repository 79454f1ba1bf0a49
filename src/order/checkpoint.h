/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checkpoints of a job: which tasks are done, the records, the counts. Each rank has a file of its own, FILE for rank
 * 0, FILE.1 for rank 1, ..., that holds what its own tasks gave; whoever resumes, with however many ranks, reads them
 * all. Text, a fact a line:
 *
 *     hopcast-order-checkpoint 1
 *     kind search
 *     fingerprint 8f0c52a1b7d3e694
 *     tasks 849
 *     done 0-15 17 20-30
 *     work 6921 410 0                       nodes, sets, orders walked
 *     record 0 0.126 17 3 1 2 ... | 4:7     kind, value, task, order of every source | waits: operation:the one it waits for
 *     value 0.131 8 1                       value, orders, clean
 *     end
 *
 * The phases of a search follow each other: kind anytime, waits, search, rests, late, more, count. The file is that
 * of the latest; of all orders: enumerate.
 */
#ifndef HOP_ORDER_CHECKPOINT_H
#define HOP_ORDER_CHECKPOINT_H

#include "order/crew.h"

/* What tasks gave. */
struct hop_checkpoint_part {
    struct hop_crew_totals totals;
    struct hop_value_count *counts;
    uint32_t count, count_capacity;
};

enum hop_task_done { HOP_TASK_OPEN, HOP_TASK_DONE, HOP_TASK_DONE_ELSEWHERE, HOP_TASK_LEFT };

struct hop_checkpoint {
    const struct hop_problem *problem;
    const char *kind;
    uint64_t fingerprint, tasks;
    uint8_t *done; /* enum hop_task_done, per task */
    struct hop_record_kept *records;
    uint32_t record_count;
    struct hop_checkpoint_part own;
    struct hop_checkpoint_part left; /* loading, rank 0: of ranks that there are no more */
    bool later; /* loading: a file is of a later phase of the same search, so that this one is over */
};

/* The own part, whole or not at all. */
enum hop_status hop_checkpoint_save(const char *path, int rank, const struct hop_checkpoint *checkpoint,
                                    struct hop_diag *diag);
/* Adds what the files say to done, records, own and left; the counts are new arrays that the caller frees. No file:
 * nothing. A file of another problem or another kind of search is refused. */
enum hop_status hop_checkpoint_load(const char *path, int rank, int size, struct hop_checkpoint *checkpoint,
                                    struct hop_diag *diag);
/* One file's text; done tasks are marked `mark`, work and counts go to part. */
enum hop_status hop_checkpoint_parse(const struct hop_source *source, struct hop_checkpoint *checkpoint,
                                     enum hop_task_done mark, struct hop_checkpoint_part *part, struct hop_diag *diag);

#endif
