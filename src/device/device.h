/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Device: memory, copies and reductions behind one operations table.
 *
 *     host       its memory is POSIX shared memory, its streams are threads (host.c); its copies may go through
 *                rate-limited links (emulated.c)
 *     cuda       the driver API, by dlopen (gpu.c)
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
    uint64_t memory_bytes;    /* 0: not known */
    unsigned copy_streams;    /* 1 to HOP_DEVICE_STREAMS - 1 */
    bool mapped;              /* the processor reads and writes its memory */
    bool immediate;           /* HOP_STREAM_NOW costs no more than the work itself */
    bool timed;               /* span_s of copies is filled, of those without bytes too */
};

enum { HOP_DEVICE_STREAMS = 8 };
/* Streams 0 .. copy_streams - 1 copy; HOP_STREAM_COMPUTE reduces and copies too. HOP_STREAM_NOW is no stream: the call
 * returns when the work is done, whatever else is queued. */
#define HOP_STREAM_COMPUTE ((unsigned)HOP_DEVICE_STREAMS - 1)
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
                       * what is queued behind it starts; or NULL */
};

#define HOP_REDUCTION_PLACES 64
/* Element by element, from the first input to the last, one rounding at the end for f16 and bf16 (which add up in f32).
 * min: the later one if it is less, else the earlier one; max likewise. Integers wrap. An output may be an input;
 * otherwise memory does not overlap. All on this device. Addresses are aligned to the element. */
struct hop_reduction {
    enum hop_reduce reduce;
    enum hop_type type;
    uint64_t count;              /* elements */
    const void *const *inputs;
    void *const *outputs;        /* all get the result */
    uint32_t input_count;        /* 1 (a copy) to HOP_REDUCTION_PLACES */
    uint32_t output_count;       /* 1 to HOP_REDUCTION_PLACES */
};

struct hop_device_options {
    uint32_t index;          /* which; of the host's any number may be opened */
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
    enum hop_status (*register_host)(struct hop_device *device, void *address, uint64_t bytes, struct hop_diag *diag);
    void (*unregister_host)(struct hop_device *device, void *address);

    enum hop_status (*copy)(struct hop_device *device, unsigned stream, const struct hop_device_copy *copy,
                            struct hop_diag *diag);
    enum hop_status (*reduce)(struct hop_device *device, unsigned stream, const struct hop_reduction *reduction,
                              struct hop_diag *diag);
    enum hop_status (*synchronize)(struct hop_device *device, unsigned stream, struct hop_diag *diag);

    /* An event is recorded on a stream and ends when what was queued there before it has. One never recorded has
     * ended. A new record replaces the old one. Closing frees events, imported ones too. Another process that imported it may query and await it, not record
     * it; the record must be known to have been made (the ranks' flags say so). */
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

extern const struct hop_device_ops hop_device_host, hop_device_cuda; /* listed in device.c */
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
