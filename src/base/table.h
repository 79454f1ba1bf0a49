/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Tables by collective, number of ranks and size: read, put together, written, asked. What a row says of these is its
 * kind's.
 *
 *     # a note
 *     allreduce 8 64KiB WHAT THE KIND SAYS   # a remark
 */
#ifndef HOP_BASE_TABLE_H
#define HOP_BASE_TABLE_H

#include "base/fields.h"

/* How every row begins. */
struct hop_table_row {
    unsigned collective;
    uint32_t ranks; /* from 1 */
    uint64_t from_bytes;
    const char *remark; /* NULL: none */
    uint32_t line;      /* where it was read, 0: added */
};
/* This is true of a struct that begins as struct hop_table_row does, with its member `from` in the place of from_bytes. */
#define HOP_IS_TABLE_ROW(type, from)                                                                                       \
    (offsetof(struct type, collective) == offsetof(struct hop_table_row, collective) &&                                \
     offsetof(struct type, ranks) == offsetof(struct hop_table_row, ranks) &&                                          \
     offsetof(struct type, from) == offsetof(struct hop_table_row, from_bytes) &&                                \
     offsetof(struct type, remark) == offsetof(struct hop_table_row, remark) &&                                        \
     offsetof(struct type, line) == offsetof(struct hop_table_row, line))

/* In the head of a table of vectors. Tables from before had the sizes of a rank's part where ranks put parts together. */
#define HOP_TABLE_SIZES "sizes: whole vectors, as nccl-tests prints them"

struct hop_table_kind {
    const char *title;   /* written above the rows; read, it is no note */
    const char *notes;   /* what the lines at the head are */
    const char *columns; /* of a row, in words */
    const char *example;
    const char *(*name)(unsigned collective);
    unsigned collectives, broadcast; /* how many names; the one that may be written "bcast" */
    bool any;                        /* the last one is "any" */
    bool of_vectors; /* sizes are those of HOP_COLLECTIVE_LIST: the head says so, and one that does not is refused */
    uint32_t ranks_most, rows_most, notes_most;
    size_t size; /* of a row */
    /* What stands behind the size; its texts go into the arena. */
    void (*read)(struct hop_fields *fields, void *row, struct hop_arena *arena);
    void (*write)(const void *row, struct hop_buffer *text); /* without its remark */
};

/* Zeroed but for its kind, it is an empty table. */
struct hop_table {
    const struct hop_table_kind *kind;
    struct hop_arena arena;
    const char *name; /* what it was read from; NULL: put together */
    char *rows;       /* by collective, ranks and size */
    uint32_t count, capacity;
    bool says_sizes; /* HOP_TABLE_SIZES was read */
    const char **notes;
    uint32_t note_count;
};

/* What fails to be read leaves the table empty. */
enum hop_status hop_table_load(struct hop_table *table, const char *path, struct hop_diag *diag);
enum hop_status hop_table_parse(struct hop_table *table, const char *name, const char *text, size_t size,
                                struct hop_diag *diag);
void hop_table_finish(struct hop_table *table);
enum hop_status hop_table_note(struct hop_table *table, const char *text, struct hop_diag *diag);
/* A copy of the row at its place in the order, a copy of its remark, and no line. Refused: a second one for the same. */
enum hop_status hop_table_add(struct hop_table *table, const void *row, struct hop_diag *diag);
/* What reads back to the same; the caller frees it; NULL: out of memory. */
char *hop_table_to_text(const struct hop_table *table);
bool hop_table_collective(const struct hop_table_kind *kind, const char *text, size_t length, unsigned *collective);
/* First the ranks that are nearest (the fewer of two equally near), then the largest size that is not above, or the
 * smallest there is. NULL: no rows for the collective. */
const void *hop_table_find(const struct hop_table *table, unsigned collective, uint32_t ranks, uint64_t bytes);

#endif
