/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Measure: microbenchmarks of a machine, as measurements that calibrating and comparing take.
 *
 *     cases (what moves at once) --> a schedule a round, all cases in a random order --> samples --> rows
 *
 * Nothing but schedules is executed: a round is a schedule in which every case waits for the one before; it is run by
 * ranks, one a device, and the times of its operations are the samples. Every round has an order of its own, so that
 * what changes on the machine meanwhile falls on all cases alike.
 *
 * A row's value is the median of its samples. Outliers are counted, and stay among the samples.
 */
#ifndef HOPCAST_MEASURE_H
#define HOPCAST_MEASURE_H

#include <signal.h>
#include <stdbool.h>

#include "hopcast/run.h"
#include "hopcast/topology.h"

#ifdef __cplusplus
extern "C" {
#endif

/* ---- samples ---- */

#define HOP_OUTLIER_MADS 5.0  /* a sample farther from the median, in MADs, is an outlier, */
#define HOP_OUTLIER_SAMPLES 6 /* if there are so many: of fewer the MAD says nothing */
#define HOP_CONFIDENCE 0.95
#define HOP_SAMPLES_MAX 1000 /* of one row */

struct hop_sample_summary {
    uint32_t count;
    double median;
    double mad; /* median of the distances from the median */
    /* The median of what was sampled lies between these two samples (order statistics: no distribution is assumed)
     * with probability `confidence`: the nearest two for which it is at least HOP_CONFIDENCE; of fewer than 6
     * samples the least and the largest. */
    double low, high, confidence;
    uint32_t outliers;
};
/* Sorts the samples, 1 to HOP_SAMPLES_MAX of them. */
HOP_API void hop_samples_summarise(double *samples, uint32_t count, struct hop_sample_summary *summary);

/* ---- levels ---- */

/* Which kind of way joins two devices, the nearest first (Faraji 2018, chapter 6). */
#define HOP_LEVEL_LIST(X)                                                                                              \
    X(HOP_LEVEL_ACCELERATOR, "accelerator link")                                                                       \
    X(HOP_LEVEL_SWITCH, "one switch")                                                                                  \
    X(HOP_LEVEL_SWITCHES, "several switches")                                                                          \
    X(HOP_LEVEL_ROOT, "root complex")                                                                                  \
    X(HOP_LEVEL_SOCKET, "socket link")                                                                                 \
    X(HOP_LEVEL_NETWORK, "network")
enum hop_level {
#define HOP_LEVEL_ENUM(code, name) code,
    HOP_LEVEL_LIST(HOP_LEVEL_ENUM)
#undef HOP_LEVEL_ENUM
        HOP_LEVEL_COUNT
};
HOP_API const char *hop_level_name(enum hop_level level);

/* ---- measuring ---- */

enum { HOP_MEASURE_DEVICES_MAX = 32, HOP_MEASURE_SIZES_MAX = 16, HOP_MEASURE_SAMPLES_LEAST = 3 };

enum hop_measure_kind {
    HOP_MEASURE_PAIRS,    /* every device to every other, alone; performed by the source */
    HOP_MEASURE_READS,    /* the same, performed by the destination */
    HOP_MEASURE_TOGETHER, /* several copies at once */
    HOP_MEASURE_ENGINES,  /* several copies out of one device, performed by it */
    HOP_MEASURE_REDUCE,   /* reductions within the first device, by operator and type */
    HOP_MEASURE_MEMORY,   /* copies within the first device */
    HOP_MEASURE_KINDS
};
HOP_API const char *hop_measure_kind_name(enum hop_measure_kind kind); /* "pairs", ... */

struct hop_measure_options {
    size_t size;                         /* see hop_version */
    const struct hop_topology *topology; /* its first `devices` GPUs are measured; must outlive the result */
    uint32_t devices;                    /* 0: all, at most HOP_MEASURE_DEVICES_MAX */
    uint32_t kinds;                      /* bits 1 << enum hop_measure_kind; 0: all that make sense */
    const uint64_t *sizes;               /* ascending; NULL: such as suit the device */
    uint32_t size_count;
    double time_s;                    /* rounds begin until then; 0: 20 s. 3 samples at least, unless stopped */
    uint64_t seed;                    /* of the order of cases */
    struct hop_program_options program; /* device, emulate (then the same topology), slower, ... */
    struct hop_launch_options launch; /* ranks are set */
    void (*progress)(double done,
                     void *context); /* called by rank 0, a process of its own, 1 at the end; may be NULL */
    void *context;
};

struct hop_measure_row {
    enum hop_measure_kind kind;
    const char *name;      /* of the transfer */
    const char *group;     /* NULL: it ran alone */
    const char *from, *to; /* devices */
    enum hop_level level;  /* of copies between devices */
    uint64_t bytes;
    uint64_t traffic_bytes;           /* memory traffic, of reductions and copies within a device; else 0 */
    struct hop_sample_summary time_s; /* from the start of its group to its end */
    bool drifts, unsteady;            /* see hop_measure_result */
};

/* A row is unsteady if its MAD is more than a tenth of its median, or if it drifts. The machine was too noisy if
 * more than a tenth of the rows are. */
#define HOP_UNSTEADY_MAD 0.10
#define HOP_UNSTEADY_ROWS 0.10

struct hop_measure_result {
    const struct hop_topology *topology;
    const struct hop_measure_row *rows;
    uint32_t row_count, device_count;
    const double *samples; /* of row r in round i: samples[r * rounds + i] */
    uint32_t rounds;
    uint32_t outliers; /* of row_count * rounds samples */
    uint32_t unsteady; /* rows */
    bool too_noisy;
    double elapsed_s;
    bool emulated;
    /* Memory traffic of reductions and copies within the device, bytes/s: the median over them, and what half of
     * them are away from it at most; NAN: not measured. */
    double memory_Bps, memory_spread_Bps;
};

/* Ranks are processes made by forking (hop_launch): the caller has no other threads. The caller frees the result. */
HOP_API enum hop_status hop_measure(const struct hop_measure_options *options, struct hop_measure_result **result,
                                    struct hop_diag *diag);
HOP_API void hop_measure_result_destroy(struct hop_measure_result *result); /* NULL is allowed */

/* Where nothing is known but the number of devices: gpu0, gpu1, ... on one switch. A device sends one copy at a
 * time, as a rank does. */
HOP_API enum hop_status hop_measure_flat(uint32_t devices, struct hop_topology **topology, struct hop_diag *diag);

/* New strings that the caller frees, NULL: out of memory. Rows between devices in the form of hopcast/measurements.h
 * (no rows: NULL too); every sample of every row; all of it (docs/measure.schema.json). */
HOP_API char *hop_measure_to_csv(const struct hop_measure_result *result);
HOP_API char *hop_measure_to_raw(const struct hop_measure_result *result);
HOP_API char *hop_measure_to_json(const struct hop_measure_result *result);

/* ---- repeated launches of one schedule ---- */

/* samples: what hop_program_times said of operation i after launch l, at samples[l * ops + i]; 1 to HOP_SAMPLES_MAX
 * launches. medians[i]: the medians of its times, each by itself, which keep their order; the rest is the last
 * launch's. took_s[i]: what it took from its start to its end; count 0: no launch, or not every one, recorded it. */
HOP_API void hop_launches_summarise(const struct hop_measured_op *samples, uint32_t ops, uint32_t launches,
                                    struct hop_measured_op *medians, struct hop_sample_summary *took_s);
/* The copies between devices in the form of hopcast/measurements.h: as one group where all may start at once, else as a
 * trace. A new string that the caller frees; NULL: out of memory, or there is no such copy. */
HOP_API char *hop_launches_to_csv(const struct hop_schedule *schedule, const struct hop_measured_op *medians,
                                  const struct hop_sample_summary *took_s);

#ifdef __cplusplus
}
#endif
#endif
