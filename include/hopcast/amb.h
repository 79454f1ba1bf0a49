/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The Accelerated MPI Benchmark (Faraji 2018, section 6.4): what patterns take that the ranks of an MPI job exchange by
 * its own calls, one among buffers of the host and one among buffers of devices, at once.
 *
 *     hop_amb_start, hop_amb_run, hop_amb_to_json on rank 0, hop_amb_result_destroy, hop_amb_finish
 *
 * All ranks call all of them with the same arguments, in one process each, from one thread. What is wrong is found by
 * all of them alike: a call fails on all ranks, with one diagnostic, or on none, and none waits for one that failed.
 */
#ifndef HOPCAST_AMB_H
#define HOPCAST_AMB_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "hopcast/status.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HOP_AMB_BYTES_MAX ((uint64_t)1 << 30) /* of a message */

/* How the device pattern's bytes get to MPI. */
enum hop_amb_staging {
    HOP_AMB_STAGED_IF_NEEDED, /* straight where the MPI says that it takes addresses of devices */
    HOP_AMB_STAGED,           /* by copies through memory of the host, which are part of the time */
    HOP_AMB_STRAIGHT          /* without a question */
};

struct hop_amb_row {
    const char *host, *device;         /* patterns in words (docs/generators.md), or "none" */
    uint64_t size_bytes; /* of a message, more along a dimension with a weight; or of a collective's vector
                          * (hop_pattern_parts) */
    uint64_t host_bytes, device_bytes; /* of all messages between different ranks, once */
    /* Of one exchange, from a barrier on: the mean of a rank's iterations; the least, the mean and the largest of the
     * ranks. */
    double min_s, avg_s, max_s;
    uint32_t iterations;
    uint64_t wrong_bytes; /* received, in all iterations; 0 where they were not looked at */
};

struct hop_amb_options {
    size_t size; /* see hop_version */
    /* Patterns by words; 2d, 3d and coll stand for the thesis' grids of the job's ranks, none for nothing. Every one of
     * the host is run with every one of the device, but for none with none. */
    const char *const *hosts, *const *devices;
    uint32_t host_count, device_count;
    const uint64_t *sizes; /* in bytes, of a message or a vector; every pair is run with each */
    uint32_t size_count;
    double weight;                /* of the first dimension of 2d and 3d; 0: 1 */
    bool wrap;                    /* the ends of 2d and 3d are joined */
    uint32_t iterations, warm_up; /* that are timed, at least 1, and before them */
    bool validate;                /* every byte that arrives is compared with what its sender's pattern says */
    const char *device;           /* whose memory: "cuda", "hip", or "host" for buffers of the host; NULL: "cuda" */
    enum hop_amb_staging staging;
    void (*row_done)(const struct hop_amb_row *row, void *context); /* on every rank; may be NULL */
    void *context;
};

/* The job and what the benchmark found. */
struct hop_amb_job {
    const char *carrier; /* "openmpi", "mpich", or the path of a shim for another MPI */
    char library[256];   /* as the MPI calls itself, the first line */
    uint32_t rank, ranks, hosts;
    bool takes_devices; /* the MPI says that it takes addresses of CUDA devices */
};

struct hop_amb_result {
    struct hop_amb_job job;
    char device[64]; /* of rank 0: "NVIDIA H200"; "host": asked for; "none": no pattern of devices */
    bool staged;     /* through memory of the host, by us */
    bool validated;
    uint32_t iterations, warm_up;
    struct hop_amb_row *rows; /* by host pattern, then device pattern, then size */
    uint32_t row_count;
    uint64_t wrong_bytes; /* of all rows */
};

struct hop_amb;

/* The number of this rank as its launcher says it, before anything is started; 0 where it does not. */
HOP_API uint32_t hop_amb_rank_told(void);
/* Finds the MPI whose launcher started this process (docs/processes.md), and starts it. HOP_ERR_INVALID: no launcher
 * did, or MPI has started already. */
HOP_API enum hop_status hop_amb_start(struct hop_amb **amb, struct hop_diag *diag);
HOP_API const struct hop_amb_job *hop_amb_job(const struct hop_amb *amb);
/* HOP_ERR_INVALID: a pattern is none or of another number of ranks, the ranks were not given the same options.
 * HOP_ERR_LIMIT: more than a GiB in a message. HOP_ERR_NOT_FOUND, HOP_ERR_UNSUPPORTED: no such device, or no driver. */
HOP_API enum hop_status hop_amb_run(struct hop_amb *amb, const struct hop_amb_options *options,
                                    struct hop_amb_result **result, struct hop_diag *diag);
HOP_API void hop_amb_result_destroy(struct hop_amb_result *result); /* NULL is allowed */
/* docs/amb.schema.json. A new string that the caller frees; NULL: out of memory. */
HOP_API char *hop_amb_to_json(const struct hop_amb_result *result);
/* Ends MPI. NULL is allowed. */
HOP_API void hop_amb_finish(struct hop_amb *amb);

#ifdef __cplusplus
}
#endif
#endif
