/* SPDX-License-Identifier: BSD-3-Clause */
/* Inside measurements: what the readers of their dialects fill. */
#ifndef HOP_MEASUREMENTS_H
#define HOP_MEASUREMENTS_H

#include "base/base.h"
#include "hopcast/measurements.h"
#include "hopcast/topology.h"

struct hop_measurements {
    struct hop_arena arena;     /* every string and array */
    struct hop_failure failure; /* while it is read; nothing is added once it is set */
    const char *name;
    struct hop_measurement *list;
    uint32_t count;
    struct hop_measurement_rows {
        const char *name;
        uint32_t first, count; /* rows[first .. first + count) once all are read */
    } * groups;
    uint32_t group_count;
    uint32_t *group_of; /* per row */
    uint32_t *rows;
    struct hop_names names; /* of groups */
    struct hop_names runs;  /* how often a benchmark's output began a group of this name */
    struct hop_measurements_options options;
    struct hop_measurements_note {
        const char *text;
        uint32_t count, line; /* of what is left out: how many, the first of them; 0: a remark */
    } * notes;
    uint32_t note_count;
};

static inline bool hop_measurements_good(const struct hop_measurements *m)
{
    return m->failure.status == HOP_OK && !m->arena.failed;
}

/* Fills in what the notes say (notes.c). */
void hop_measurement_read_notes(struct hop_measurement *m);
/* grouping.c. Appends a row, whose strings are in the arena; its group may be NULL: a row of its own. */
void hop_measurements_add(struct hop_measurements *m, const struct hop_measurement *row);
/* A text in the arena. */
const char *hop_measurements_text(struct hop_measurements *m, const char *format, ...) HOP_PRINTF(2, 3);
/* What is wrong at a place of the text (line 0: with all of it). */
void hop_measurements_refuse(struct hop_measurements *m, enum hop_status status, uint32_t line, uint32_t column,
                             const char *format, ...) HOP_PRINTF(5, 6);
/* Several as one, as hop_measurements_load_all makes it of files. */
enum hop_status hop_measurements_join(const struct hop_measurements *const *parts, uint32_t count,
                                      struct hop_measurements **measurements, struct hop_diag *diag);
/* Something that no row has, by a text that is the same for all of its kind; line 0: a remark of its own. */
void hop_measurements_leave_out(struct hop_measurements *m, uint32_t line, const char *what);
/* Whether the first line names columns of a measurement CSV: notes there may say what is the mark of a benchmark. */
bool hop_measurements_is_csv(const struct hop_source *source);
void hop_measurements_read_csv(const struct hop_source *source, struct hop_measurements *m);
/* The transfers of `predict --json`, as one group; their times are their ends (read_prediction.c). */
void hop_measurements_read_prediction(const struct hop_source *source, struct hop_measurements *m);

/* ---- the text of benchmarks ---- */

/* One benchmark's output, known by its content. What a reader refuses has its place. */
struct hop_measurements_reader {
    bool (*detect)(const struct hop_source *source);
    void (*read)(const struct hop_source *source, struct hop_measurements *m);
};
extern const struct hop_measurements_reader hop_reader_p2p;         /* read_p2p.c */
extern const struct hop_measurements_reader hop_reader_nvbandwidth; /* read_nvbandwidth.c: text and JSON */
extern const struct hop_measurements_reader hop_reader_nccl_tests;  /* read_nccl_tests.c */
extern const struct hop_measurements_reader hop_reader_osu;         /* read_osu.c */
extern const struct hop_measurements_reader hop_reader_bandwidth_test; /* read_bandwidth_test.c */
extern const struct hop_measurements_reader hop_reader_transferbench;  /* read_transferbench.c */
extern const struct hop_measurements_reader hop_reader_rocm_bandwidth; /* read_rocm_bandwidth.c */

/* What these readers fill measurements through. */
struct hop_row_builder {
    struct hop_measurements *made;
    const char *group;
    uint32_t line, column; /* where the values of the next rows stand */
    bool timed;            /* times were printed, not rates */
    /* of a row for a whole collective, see struct hop_measurement */
    const char *collective;
    const char *const *devices;
    uint32_t ranks, root;
};
/* The group of the next rows. A name that is there already, as from a second run in one file, gets a number. */
void hop_rows_group(struct hop_row_builder *b, const char *format, ...) HOP_PRINTF(2, 3);
/* A row between two devices; bytes 0: not stated; rate NAN: a flow in the background, whose rate was not printed. */
void hop_rows_add(struct hop_row_builder *b, const char *const ends[2], uint64_t bytes, double rate_Bps,
                  const char *notes, ...) HOP_PRINTF(5, 6);

#endif
