/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measurements: transfers that somebody timed, read from CSV, one row a transfer.
 *
 *     transfer,from,to,bytes,concurrent_group,measured_GBps,notes
 *     t1,gpu0,gpu4,268435456,two,28.2,printed sum 56.4
 *     t2,gpu1,gpu5,268435456,two,28.2,printed sum 56.4
 *
 * RFC 4180: fields may be quoted, lines end in LF or CRLF. The header names the columns, which stand in any order; from
 * and to and one of measured_GBps (1e9 bytes/s) and measured_s (seconds) must be there. Rows of one concurrent_group
 * started together, one copy each; an empty group is a row that ran alone. A row with measured_s needs bytes.
 *
 * A prediction (`hopcast predict --json`) is read too: its transfers are one group, their times are their ends. So is
 * the output of p2pBandwidthLatencyTest, nvbandwidth (text or JSON), bandwidthTest, TransferBench,
 * rocm-bandwidth-test, nccl-tests and the OSU micro-benchmarks, known by its content; docs/compare.md says what becomes of
 * it. What such an output holds and no row has is counted in notes.
 */
#ifndef HOPCAST_MEASUREMENTS_H
#define HOPCAST_MEASUREMENTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hopcast/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_MEASUREMENTS_MAX (1u << 20) /* rows of one file */

/* What a value is, as the notes say; see docs/compare.md. */
enum hop_measured {
    HOP_MEASURED_OWN,   /* this transfer's own */
    HOP_MEASURED_MEAN,  /* the mean of the rates of its group */
    HOP_MEASURED_TOTAL, /* the bytes of its group over the time until all were there, over the number of transfers */
};
enum hop_way { HOP_WAY_DIRECT, HOP_WAY_STAGED, HOP_WAY_STAGED_UNLESS_JOINED /* by an accelerator link */ };

struct hop_measurement {
    const char *transfer; /* its name; "row7" for a row of line 7 that has none */
    const char *from, *to;
    const char *group;    /* the transfer's name where the group is empty */
    const char *notes;    /* never NULL */
    uint64_t bytes;       /* 0: not stated */
    double rate_Bps;      /* NAN: not known */
    double time_s;        /* from the group's start to this transfer's end; NAN: not known, or bytes are not stated */
    double start_s, end_s; /* of a trace: its own, and time_s is between them; NAN: no trace */
    bool rate_given;       /* a rate was measured, not a time */
    enum hop_measured value;
    enum hop_way way;
    bool in_turn;          /* transfers into one device took turns */
    bool pulled;           /* the receiver read: its engine worked, not the source's */
    double spread;         /* of samples that were unsteady, as the notes say: their MAD over the median; 0: steady */
    bool collapse;         /* said to show the collapse of posted writes, which no model predicts */
    const char *file;
    uint32_t line, from_column, to_column; /* in the file, 1-based; of a prediction the transfer's number */
    /* NULL: a transfer. Else the time is that of a whole collective, such as "allreduce", of which nobody says what it
     * copied: among these devices, by rank, of a vector of so many `bytes` (HOP_COLLECTIVE_LIST); from and to are the first and the
     * last of them. */
    const char *collective;
    const char *const *devices;
    uint32_t ranks, root;
};

/* Rows that ran at the same time, in the order of the file. */
struct hop_measurement_group {
    const char *name;
    const uint32_t *rows;
    uint32_t count;
};

struct hop_measurements;

/* Reads a file, "-" being standard input. The caller frees the result with hop_measurements_destroy. A file without
 * rows is HOP_ERR_INVALID. */
HOP_API enum hop_status hop_measurements_load(const char *path, struct hop_measurements **measurements,
                                              struct hop_diag *diag);
/* The same from memory; name stands for the file in diagnostics. */
HOP_API enum hop_status hop_measurements_parse(const char *name, const char *text, size_t size,
                                               struct hop_measurements **measurements, struct hop_diag *diag);
/* What is known of the machine that a benchmark ran on, where its output does not say it. */
struct hop_measurements_options {
    size_t size;             /* see hop_version */
    const char *const *gpus; /* names, in the order of their numbers; NULL: not known */
    uint32_t gpu_count;
    bool collectives; /* read those whose copies are not known, too; else they are passed over, and refused alone */
};
/* Reads a file, or text where that is not NULL, in which case name stands for the file in diagnostics. options may be
 * NULL. As hop_measurements_load in all else. */
HOP_API enum hop_status hop_measurements_read(const char *name, const char *text, size_t size,
                                              const struct hop_measurements_options *options,
                                              struct hop_measurements **measurements, struct hop_diag *diag);
/* Several files of one machine as one: groups of the second and later ones are named "FILE:GROUP", FILE without its folder. */
HOP_API enum hop_status hop_measurements_load_all(const char *const *paths, uint32_t count,
                                                  struct hop_measurements **measurements, struct hop_diag *diag);
HOP_API void hop_measurements_destroy(struct hop_measurements *measurements); /* NULL is allowed */

/* What was left out or assumed, by index; NULL past the last. */
HOP_API const char *hop_measurements_note(const struct hop_measurements *measurements, uint32_t index);
HOP_API const char *hop_measurements_name(const struct hop_measurements *measurements);
HOP_API uint32_t hop_measurements_count(const struct hop_measurements *measurements);
HOP_API const struct hop_measurement *hop_measurements_at(const struct hop_measurements *measurements, uint32_t index);
/* Groups in the order of their first rows; valid as long as the measurements. */
HOP_API uint32_t hop_measurements_group_count(const struct hop_measurements *measurements);
HOP_API struct hop_measurement_group hop_measurements_group(const struct hop_measurements *measurements,
                                                            uint32_t group);

#ifdef __cplusplus
}
#endif
#endif
