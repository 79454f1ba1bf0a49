/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Inside the traffic noun: what its readers share.
 *
 *     text -> traffic_read.c: which form? -> traffic_profile.c  \
 *                                            traffic_matrix.c    > cells (traffic_cells.c) -> hop_traffic_add
 *                                            traffic_market.c   /
 *                                            traffic_json.c      -> JSON (base/json.h) -> hop_traffic_add
 *
 * A reader adds to an empty traffic that has one rank, and makes it wider; on failure its caller destroys it.
 */
#ifndef HOP_TRAFFIC_H
#define HOP_TRAFFIC_H

#include "base/fields.h"
#include "hopcast/traffic.h"

/* From now on there are at least `ranks`, which are not beyond HOP_TRAFFIC_RANKS. */
void hop_traffic_widen(struct hop_traffic *traffic, uint32_t ranks);

/* Fills the diagnostic when there is no such memory. */
enum hop_status hop_traffic_check_memory(enum hop_memory memory, struct hop_diag *diag);

/* Fills the diagnostic for an operation that moves bytes of host memory where no place says a rank. */
enum hop_status hop_traffic_refuse_host(const struct hop_schedule *schedule, uint32_t index,
                                        const struct hop_place *place, struct hop_diag *diag);

/* ---- lines of cells ---- */

/* One separator rules a whole text. It is the first line's: a semicolon if there is one, else a comma, else a tab, else
 * blanks. A cell may stand in double quotes; what is empty behind the last separator is no cell. */
struct hop_cells {
    struct hop_fields lines; /* at the line whose cells these are */
    char separator;          /* 0: not chosen yet; ' ': any blanks */
    struct hop_field *cells;
    uint32_t count, capacity;
};

void hop_cells_begin(struct hop_cells *cells, const struct hop_source *source, struct hop_failure *failure);
void hop_cells_finish(struct hop_cells *cells);
/* The next line that has cells; false: there is none, or that failed. */
bool hop_cells_next(struct hop_cells *cells);

/* Whether it begins like a number and has no characters that neither numbers nor units have. */
bool hop_cell_is_number(struct hop_field cell);
/* Bytes: a whole number of up to 2^63, a size with a unit, or a real number, which is rounded. Refused with its place:
 * negative, not finite, a size or real number above 2^60, not 0 but rounded to it. */
uint64_t hop_cell_bytes(const struct hop_fields *lines, struct hop_field cell);
/* A whole number in digits, up to `most`; `what` names it in diagnostics. */
uint64_t hop_cell_whole(const struct hop_fields *lines, struct hop_field cell, const char *what, uint64_t most);

/* ---- forms ---- */

/* Whether a line of cells names columns of a profile. */
bool hop_profile_detect(const struct hop_cells *header);
/* Whether a text whose first two lines these are (`second` NULL: it has one) looks like a matrix. */
bool hop_matrix_detect(const struct hop_cells *first, const struct hop_cells *second);
/* Whether it begins as what libhopcast_mpi writes. */
bool hop_traffic_json_detect(const struct hop_source *source);

void hop_traffic_read_profile(const struct hop_source *source, struct hop_traffic *traffic,
                              struct hop_failure *failure);
void hop_traffic_read_matrix(const struct hop_source *source, enum hop_memory memory, struct hop_traffic *traffic,
                             struct hop_failure *failure);
void hop_traffic_read_market(const struct hop_source *source, enum hop_memory memory, struct hop_traffic *traffic,
                             struct hop_failure *failure);
void hop_traffic_read_json(const struct hop_source *source, struct hop_traffic *traffic, struct hop_failure *failure);

#endif
