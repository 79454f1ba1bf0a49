/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One CUDA device, opened by this process: what the files cuda*.c share, the lower one first.
 *
 *     cuda_driver.c    the driver's functions, its errors
 *     cuda_call.c      calls of the table: context, failures, streams
 *     cuda_held.c      what the device holds: memory and events, of here and of other processes
 *     cuda_reduce.c    which kernel, over which grid; cuda_reduce.cu the kernels, cuda_image.c holds them compiled
 *     cuda.c           the table
 */
#ifndef HOP_DEVICE_CUDA_H
#define HOP_DEVICE_CUDA_H

#include "base/base.h"
#include "device/cuda_driver.h"
#include "device/device.h"

/* A kernel, looked up when it is first used. */
struct hop_cuda_kernel {
    struct hop_cuda_function *function; /* NULL: not yet */
    unsigned blocks;                    /* that run at once on the whole device */
};

struct hop_cuda_device {
    struct hop_device base;
    const struct hop_cuda *cuda;
    struct hop_cuda_context *context;
    int number;          /* the driver's */
    unsigned ordinal;    /* ours: options.index */
    unsigned processors; /* multiprocessors */
    struct hop_device_properties properties;
    struct hop_cuda_stream *streams[HOP_DEVICE_STREAMS + 1]; /* the last one: HOP_STREAM_NOW; NULL: there is none */
    struct hop_cuda_held *held;
    struct hop_cuda_module *kernels; /* NULL: see no_kernels */
    struct hop_diag no_kernels;
    struct hop_cuda_kernel kernel[HOP_REDUCE_COUNT][HOP_TYPE_COUNT];
    struct hop_diag broken; /* HOP_OK, or the error after which the context is of no use */
};

/* ---- cuda_call.c ---- */

/* A call of the table. From begin to end the device's primary context is current, so any thread may call and the program
 * around us keeps the context that it had. The first failure counts; after it no function of the driver is called. */
struct hop_cuda_call {
    struct hop_cuda_device *device;
    struct hop_diag *diag;
    enum hop_status status;
    bool entered;
};
struct hop_cuda_call hop_cuda_begin(struct hop_device *device, struct hop_diag *diag);
enum hop_status hop_cuda_end(struct hop_cuda_call *call);
void hop_cuda_refuse(struct hop_cuda_call *call, enum hop_status status, const char *format, ...) HOP_PRINTF(3, 4);
/* What the function returned: whether it is success. */
bool hop_cuda_check(struct hop_cuda_call *call, const char *function, int code);
#define HOP_CUDA(call, function, ...)                                                                                  \
    ((call)->status == HOP_OK && hop_cuda_check((call), #function, (call)->device->cuda->function(__VA_ARGS__)))
/* NULL: there is none, and the call has failed. */
struct hop_cuda_stream *hop_cuda_stream(struct hop_cuda_call *call, unsigned stream);
/* After work was queued: waits for it if the stream is HOP_STREAM_NOW. */
void hop_cuda_queued(struct hop_cuda_call *call, unsigned stream);

/* ---- cuda_held.c ---- */

enum hop_cuda_kind {
    HOP_CUDA_ALLOCATED = 1,
    HOP_CUDA_IMPORTED = 2,   /* memory that the driver opened */
    HOP_CUDA_BORROWED = 4,   /* memory of another device of this process */
    HOP_CUDA_REGISTERED = 8, /* memory of the host */
    HOP_CUDA_EVENT = 16,
    HOP_CUDA_BORROWED_EVENT = 32,
    HOP_CUDA_MEMORY = HOP_CUDA_ALLOCATED | HOP_CUDA_IMPORTED | HOP_CUDA_BORROWED
};

/* Whatever a device holds stands in one list, so that closing can give it all back. */
struct hop_cuda_held {
    struct hop_cuda_held *next;
    enum hop_cuda_kind kind;
    uintptr_t what; /* an address, or a struct hop_cuda_event * */
};

/* Of a call that has failed, or fails now, nothing is held, and NULL is returned. */
struct hop_cuda_held *hop_cuda_hold(struct hop_cuda_call *call, enum hop_cuda_kind kind, uintptr_t what);
/* What was held last of these kinds (bits); NULL: nothing. */
struct hop_cuda_held *hop_cuda_find(struct hop_cuda_device *device, unsigned kinds, uintptr_t what);
/* Gives it back; NULL, or what this device does not hold: does nothing. */
void hop_cuda_drop(struct hop_cuda_device *device, struct hop_cuda_held *held);
/* Gives back all; not entered: without the driver, which keeps it. */
void hop_cuda_drop_all(struct hop_cuda_device *device, bool entered);

/* kind: HOP_CUDA_ALLOCATED or HOP_CUDA_EVENT. */
void hop_cuda_export(struct hop_cuda_call *call, enum hop_cuda_kind kind, uintptr_t what,
                     struct hop_device_handle *handle);
struct hop_cuda_held *hop_cuda_import(struct hop_cuda_call *call, enum hop_cuda_kind kind,
                                      const struct hop_device_handle *handle);

/* ---- cuda_reduce.c, cuda_image.c ---- */

extern const unsigned char hop_cuda_image[];
extern const bool hop_cuda_has_image; /* false: built without nvcc */
/* Loads the kernels; where they cannot be, device.no_kernels says why. The context being current. */
void hop_cuda_kernels_load(struct hop_cuda_device *device);
enum hop_status hop_cuda_reduce(struct hop_device *device, unsigned stream, const struct hop_reduction *reduction,
                                struct hop_diag *diag);

#endif
