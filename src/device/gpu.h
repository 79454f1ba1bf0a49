/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One GPU, opened by this process: what the files gpu*.c share, the lower one first.
 *
 *     gpu_image.c     the kernels of gpu_reduce.cu, compiled
 *     gpu_driver.c    the driver's functions in either dialect, its errors
 *     gpu_call.c      calls of the table: context, failures, streams
 *     gpu_find.c      which device; whom it reaches
 *     gpu_time.c      when it did what
 *     gpu_held.c      what the device holds: memory and events, of here and of other processes
 *     gpu_reduce.c    which kernel, over which grid
 *     gpu.c           the table
 */
#ifndef HOP_DEVICE_GPU_H
#define HOP_DEVICE_GPU_H

#include "base/base.h"
#include "device/device.h"
#include "device/gpu_driver.h"

/* A kernel, looked up when it is first used. */
struct hop_gpu_kernel {
    struct hop_gpu_function *function; /* NULL: not yet */
    unsigned blocks;                   /* that run at once on the whole device */
};

/* A copy that is timed: gpu_time.c. */
struct hop_gpu_timer {
    struct hop_gpu_timer *next;
    struct hop_gpu_event *start, *end;
    double queued_s, *span_s;
};
struct hop_gpu_timing {
    struct hop_gpu_event *reference;
    double reference_s;
    struct hop_gpu_timer *first[HOP_DEVICE_STREAMS + 1], *last[HOP_DEVICE_STREAMS + 1]; /* running, of each stream */
    uint32_t running;
    struct hop_gpu_timer *idle;
};

struct hop_gpu_device {
    struct hop_device base;
    const struct hop_gpu *driver;
    struct hop_gpu_context *context;
    int number;          /* the driver's */
    int ordinal;         /* its place among those that the driver shows to this process */
    unsigned processors; /* multiprocessors */
    bool shares_events;  /* with other processes, as far as is known */
    struct hop_device_properties properties;
    struct hop_gpu_stream *streams[HOP_DEVICE_STREAMS + 1]; /* the last one: HOP_STREAM_NOW; NULL: there is none */
    struct hop_gpu_timing timing;
    struct hop_gpu_held *held;
    struct hop_gpu_module *kernels; /* NULL: see no_kernels */
    struct hop_diag no_kernels;
    struct hop_gpu_kernel kernel[HOP_REDUCE_COUNT][HOP_TYPE_COUNT];
    struct hop_diag broken; /* HOP_OK, or the error after which the context is of no use */
};

/* ---- gpu_call.c ---- */

/* A call of the table. From begin to end the device's primary context is current, so any thread may call and the program
 * around us keeps the context that it had. The first failure counts; after it no function of the driver is called. */
struct hop_gpu_call {
    struct hop_gpu_device *device;
    struct hop_diag *diag;
    enum hop_status status;
    bool entered;
};
struct hop_gpu_call hop_gpu_begin(struct hop_device *device, struct hop_diag *diag);
enum hop_status hop_gpu_end(struct hop_gpu_call *call);
void hop_gpu_refuse(struct hop_gpu_call *call, enum hop_status status, const char *format, ...) HOP_PRINTF(3, 4);
/* What the function returned: whether it is success. */
bool hop_gpu_check(struct hop_gpu_call *call, const char *function, int code);
#define HOP_GPU(call, function, ...)                                                                                   \
    ((call)->status == HOP_OK && hop_gpu_check((call), #function, (call)->device->driver->function(__VA_ARGS__)))
/* NULL: there is none, and the call has failed. */
struct hop_gpu_stream *hop_gpu_stream(struct hop_gpu_call *call, unsigned stream);
/* After work was queued: waits for it if the stream is HOP_STREAM_NOW. */
void hop_gpu_queued(struct hop_gpu_call *call, unsigned stream);

/* ---- gpu_find.c ---- */

enum { HOP_GPU_SEEN = 128 }; /* devices of a process; those behind are not looked at */
enum hop_status hop_gpu_seek(const struct hop_gpu *driver, const struct hop_device_options *options, int *ordinal,
                             struct hop_diag *diag);
enum hop_status hop_gpu_reaches(struct hop_device *device, const char *place, bool *reaches, struct hop_diag *diag);

/* ---- gpu_time.c ---- */

/* Around work on a stream of the table; NULL: it is not to be timed, or the call has failed. */
struct hop_gpu_timer *hop_gpu_time_begin(struct hop_gpu_call *call, unsigned stream, double *span_s);
void hop_gpu_time_end(struct hop_gpu_call *call, unsigned stream, struct hop_gpu_timer *timer);
/* Says when the work was of which all has ended. */
void hop_gpu_time_look(struct hop_gpu_call *call);
void hop_gpu_time_finish(struct hop_gpu_device *device);

/* ---- gpu_held.c ---- */

enum hop_gpu_kind {
    HOP_GPU_ALLOCATED = 1,
    HOP_GPU_IMPORTED = 2,   /* memory that the driver opened */
    HOP_GPU_BORROWED = 4,   /* memory of another device of this process */
    HOP_GPU_REGISTERED = 8, /* memory of the host */
    HOP_GPU_EVENT = 16,
    HOP_GPU_BORROWED_EVENT = 32,
    HOP_GPU_IMPORTED_EVENT = 64,
    HOP_GPU_MEMORY = HOP_GPU_ALLOCATED | HOP_GPU_IMPORTED | HOP_GPU_BORROWED,
    HOP_GPU_OTHERS = HOP_GPU_IMPORTED | HOP_GPU_BORROWED | HOP_GPU_IMPORTED_EVENT | HOP_GPU_BORROWED_EVENT
};

/* Whatever a device holds stands in one list, so that closing can give it all back. */
struct hop_gpu_held {
    struct hop_gpu_held *next;
    enum hop_gpu_kind kind;
    uintptr_t what; /* an address, or a struct hop_gpu_event * */
};

/* Of a call that has failed, or fails now, nothing is held, and NULL is returned. */
struct hop_gpu_held *hop_gpu_hold(struct hop_gpu_call *call, enum hop_gpu_kind kind, uintptr_t what);
/* What was held last of these kinds (bits); NULL: nothing. */
struct hop_gpu_held *hop_gpu_find(struct hop_gpu_device *device, unsigned kinds, uintptr_t what);
/* Gives it back; NULL, or what this device does not hold: does nothing. */
void hop_gpu_drop(struct hop_gpu_device *device, struct hop_gpu_held *held);
/* Gives back all of these kinds, and says whether the driver took all; not entered: without the driver, which keeps it. */
bool hop_gpu_drop_all(struct hop_gpu_device *device, unsigned kinds, bool entered);

/* kind: HOP_GPU_ALLOCATED or HOP_GPU_EVENT. */
void hop_gpu_export(struct hop_gpu_call *call, enum hop_gpu_kind kind, uintptr_t what,
                    struct hop_device_handle *handle);
struct hop_gpu_held *hop_gpu_import(struct hop_gpu_call *call, enum hop_gpu_kind kind,
                                    const struct hop_device_handle *handle);

/* ---- gpu_reduce.c ---- */

/* Loads the kernels; where they cannot be, device.no_kernels says why. The context being current. */
void hop_gpu_kernels_load(struct hop_gpu_device *device);
enum hop_status hop_gpu_reduce(struct hop_device *device, unsigned stream, const struct hop_reduction *reduction,
                               struct hop_diag *diag);

#endif
