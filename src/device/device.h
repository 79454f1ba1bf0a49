/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device: memory, copies and reductions behind one operations table.
 *
 *     host       its memory is POSIX shared memory, its streams are threads (host.c); its copies may go through
 *                rate-limited links (emulated.c)
 *     cuda, hip  GPUs by the driver's API, which is found by dlopen (gpu.c)
 *
 * A device knows bytes, not topologies. Several processes open one device, each for itself; memory and events of one
 * are handed to another as plain bytes (a handle). Work is queued on streams: what is queued on one runs in that order,
 * streams run side by side. No call of the data path allocates.
 *
 * Addresses: what `allocate` and `import` return is for this table's calls. Where `mapped` is set the processor may
 * read and write there too; else it takes copies to and from ordinary memory (`register_host` makes those fast).
 *
 * One thread at a time uses a device. No slot of a table is NULL: what a back end cannot do is a function that says so.
 */
#ifndef HOP_DEVICE_H
#define HOP_DEVICE_H

#include <stdbool.h>
#include <stdint.h>

#include "hopcast/device.h"
#include "hopcast/element.h"
#include "hopcast/status.h"

struct hop_device;
struct hop_event;

/* Memory or an event of this process, to be passed to another one of the same machine. */
struct hop_device_handle {
    unsigned char bytes[128];
};

struct hop_device_properties {
    char name[64];            /* "host", "NVIDIA H200" */
    char place[16];           /* its PCI bus id, "0000:1b:00.0"; "": it has none */
    int numa;                 /* the NUMA node near it; -1: not known */
    uint64_t memory_bytes;    /* 0: not known */
    unsigned copy_streams;    /* 1 to HOP_DEVICE_STREAMS - 1, if not mapped at most - 3 */
    bool mapped;              /* the processor reads and writes its memory */
    bool immediate;           /* HOP_STREAM_NOW costs no more than the work itself */
    bool timed;               /* span_s of copies is filled, of those without bytes too; else 0 */
};

enum { HOP_DEVICE_STREAMS = 8 };
/* Streams 0 .. copy_streams - 1 copy; HOP_STREAM_COMPUTE reduces and copies too. HOP_STREAM_NOW is no stream: the call
 * returns when the work is done, whatever else is queued. */
#define HOP_STREAM_COMPUTE ((unsigned)HOP_DEVICE_STREAMS - 1)
/* Of a device that is not mapped, for copies to and from memory of the host: nothing else is in their way there. */
#define HOP_STREAM_TO_HOST ((unsigned)HOP_DEVICE_STREAMS - 3)
#define HOP_STREAM_FROM_HOST ((unsigned)HOP_DEVICE_STREAMS - 2)
#define HOP_STREAM_NOW UINT32_MAX

#define HOP_NO_WAY UINT32_MAX
#define HOP_MEMORY_WAY (UINT32_MAX - 1)
struct hop_device_copy {
    void *to;         /* device memory of any process that was imported here, or ordinary memory */
    const void *from;
    uint64_t bytes;
    uint32_t way;     /* emulated: its route in the flat table, HOP_MEMORY_WAY: within a device's memory, HOP_NO_WAY: it
                       * takes what it takes; others take no notice */
    double *span_s;   /* timed: gets the start and the end by CLOCK_MONOTONIC (emulated: by the links' own clock) before
                       * an event behind it, or its stream, is seen to have ended; or NULL */
};

#define HOP_REDUCTION_PLACES 64
/* Element by element, from the first input to the last, one rounding at the end for f16 and bf16 (which add up in f32).
 * min: the later one if it is less, else the earlier one; max likewise. Integers wrap. An output may be an input;
 * otherwise memory does not overlap. All on this device. Addresses are aligned to the element. */
struct hop_reduction {
    enum hop_reduce reduce;
    enum hop_type type;
    uint64_t count; /* elements; 0: it does nothing but make ready what the first such reduction would wait for
                                  * in the midst of work: a driver may wait for all streams to load a kernel */
    const void *const *inputs;
    void *const *outputs;        /* all get the result */
    uint32_t input_count;        /* 1 (a copy) to HOP_REDUCTION_PLACES */
    uint32_t output_count;       /* 1 to HOP_REDUCTION_PLACES */
};

/* The type by whose kernel a reduction is done, since the bits are the same: sums and products of integers are those of
 * the signed ones, and, or and xor those of bytes, of which there are more. HOP_TYPE_COUNT: there is no such reduction. */
enum hop_type hop_reduction_kernel(enum hop_reduce reduce, enum hop_type type);
/* The same reduction, of that type. */
struct hop_reduction hop_reduction_by_kernel(const struct hop_reduction *reduction);

struct hop_device_options {
    uint32_t index;          /* which, of those that this process sees, in the order of their places; of the host's any
                              * number may be opened */
    const char *place;       /* or the one there; NULL: the index says it */
    bool current;            /* GPUs: rather the one that is current in this thread, if one is */
    unsigned copy_streams;   /* host: threads that copy; 0: 1 */
    struct hop_emulation *emulation; /* host: its copies go through emulated links, attached by this process
                                      * (device/emulated.h); NULL: not */
};

struct hop_device_ops {
    struct hop_device_facts facts; /* first */
    /* How many there are; UINT32_MAX: as many as one likes. Fails, saying why, where the back end cannot be used. */
    enum hop_status (*count)(uint32_t *count, struct hop_diag *diag);
    enum hop_status (*open)(const struct hop_device_options *options, struct hop_device **device, struct hop_diag *diag);
    /* Waits for its streams; frees what was allocated and imported. */
    void (*close)(struct hop_device *device);
    /* Instead of closing, where what is queued may never end because another process is gone: waits for nothing that
     * may not come. Memory that was registered must stay where it is, unless this is `close`. */
    void (*abandon)(struct hop_device *device);
    void (*properties)(const struct hop_device *device, struct hop_device_properties *properties);
    /* Whether its copies and kernels may touch the memory of the device at that place; not if this process does not see
     * that one. */
    enum hop_status (*reaches)(struct hop_device *device, const char *place, bool *reaches, struct hop_diag *diag);

    /* Zeroed, aligned to 256 bytes at least. */
    enum hop_status (*allocate)(struct hop_device *device, uint64_t bytes, void **address, struct hop_diag *diag);
    void (*free)(struct hop_device *device, void *address); /* allocated here, or imported */
    enum hop_status (*export_memory)(struct hop_device *device, void *address, struct hop_device_handle *handle,
                                     struct hop_diag *diag);
    enum hop_status (*import_memory)(struct hop_device *device, const struct hop_device_handle *handle, void **address,
                                     struct hop_diag *diag);
    /* All who need it have imported it: no name of it stays in the system, whatever happens from here on. NULL: the
     * events of this device. */
    void (*withdraw)(struct hop_device *device, void *address);
    /* Before others close: gives back what was imported of them, where that must not outlive them; false: not all of it. */
    bool (*release)(struct hop_device *device);
    enum hop_status (*register_host)(struct hop_device *device, void *address, uint64_t bytes, struct hop_diag *diag);
    void (*unregister_host)(struct hop_device *device, void *address);

    enum hop_status (*copy)(struct hop_device *device, unsigned stream, const struct hop_device_copy *copy,
                            struct hop_diag *diag);
    enum hop_status (*reduce)(struct hop_device *device, unsigned stream, const struct hop_reduction *reduction,
                              struct hop_diag *diag);
    enum hop_status (*synchronize)(struct hop_device *device, unsigned stream, struct hop_diag *diag);

    /* An event is recorded on a stream and ends when what was queued there before it has. One never recorded has
     * ended. A new record replaces the old one. Closing frees events, imported ones too. Another process that imported it may query and await it, not record
     * it; the record must be known to have been made (the ranks' flags say so). An event is exported before it is first
     * recorded. HOP_ERR_MEMORY and HOP_ERR_UNSUPPORTED of exporting and importing: this event cannot be shared, or not with
     * this device, and all else goes on. */
    enum hop_status (*create_event)(struct hop_device *device, struct hop_event **event, struct hop_diag *diag);
    enum hop_status (*export_event)(struct hop_device *device, struct hop_event *event, struct hop_device_handle *handle,
                                    struct hop_diag *diag);
    enum hop_status (*import_event)(struct hop_device *device, const struct hop_device_handle *handle,
                                    struct hop_event **event, struct hop_diag *diag);
    enum hop_status (*record)(struct hop_device *device, unsigned stream, struct hop_event *event, struct hop_diag *diag);
    enum hop_status (*query)(struct hop_device *device, struct hop_event *event, bool *ended, struct hop_diag *diag);
    /* What is queued on the stream after this starts once the event has ended. */
    enum hop_status (*await)(struct hop_device *device, unsigned stream, struct hop_event *event, struct hop_diag *diag);
};

extern const struct hop_device_ops hop_device_host, hop_device_cuda, hop_device_hip; /* listed in device.c */
static inline const struct hop_device_ops *hop_device_ops_of(const struct hop_device_facts *facts)
{
    return (const struct hop_device_ops *)facts;
}

/* Every back end's struct begins with it. */
struct hop_device {
    const struct hop_device_ops *ops;
};

/* reduce_host.c: on the calling thread, any addresses that it can read and write. Fails for places out of range only.
 * */
enum hop_status hop_reduce_on_host(const struct hop_reduction *reduction, struct hop_diag *diag);

#endif
