/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * One CUDA device, opened by this process: what the files cuda*.c share.
 *
 *     cuda_driver.c    the driver's functions, its errors
 *     cuda.c           opening, streams, copies; the table
 *     cuda_memory.c    memory here, in other processes, and of the host
 *     cuda_event.c     events
 *     cuda_reduce.c    which kernel, over which grid; cuda_reduce.cu the kernels, cuda_image.c holds them compiled
 *
 * Every slot of the table makes the device's primary context current for its own duration (enter, leave), so any thread
 * may call and the program around us keeps the context that it had.
 */
#ifndef HOP_DEVICE_CUDA_H
#define HOP_DEVICE_CUDA_H

#include "device/cuda_driver.h"
#include "device/device.h"

struct hop_event {
    struct hop_cuda_event *event;
    struct hop_event *next;
    bool borrowed; /* of another device of this process */
};

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
    struct hop_cuda_memory *memories;
    struct hop_event *events;
    struct hop_cuda_module *kernels; /* NULL: see no_kernels */
    struct hop_diag no_kernels;
    struct hop_cuda_kernel kernel[HOP_REDUCE_COUNT][HOP_TYPE_COUNT];
    struct hop_diag broken; /* HOP_OK, or the error after which the context is of no use */
};

/* ---- cuda.c ---- */

/* Each enter that succeeds is followed by one leave, which hands the status through. */
enum hop_status hop_cuda_enter(struct hop_cuda_device *device, struct hop_diag *diag);
enum hop_status hop_cuda_leave(struct hop_cuda_device *device, enum hop_status status);
/* HOP_OK for code 0, else describes what the function returned. */
enum hop_status hop_cuda_check(struct hop_cuda_device *device, const char *function, int code, struct hop_diag *diag);
#define HOP_CUDA(device, diag, function, ...)                                                                          \
    hop_cuda_check((device), #function, (device)->cuda->function(__VA_ARGS__), (diag))
enum hop_status hop_cuda_stream_find(struct hop_cuda_device *device, unsigned stream, struct hop_cuda_stream **found,
                                     struct hop_diag *diag);
/* After work was queued: waits for it if the stream is HOP_STREAM_NOW. */
enum hop_status hop_cuda_queued(struct hop_cuda_device *device, unsigned stream, enum hop_status status,
                                struct hop_diag *diag);

/* ---- cuda_memory.c ---- */

/*
 * What is handed to another process, or to another device of this one, in the bytes of a struct hop_device_handle. The
 * driver refuses to open a handle in the process that made it, so that process goes by the address.
 */
enum hop_cuda_kind { HOP_CUDA_KIND_MEMORY = 0x6d656d43, HOP_CUDA_KIND_EVENT = 0x76654543 };
struct hop_cuda_handle {
    uint32_t kind;
    uint32_t ordinal; /* of the device, in the process that made it */
    uint64_t process, started;
    uint64_t address;
    struct hop_cuda_ipc ipc;
};
void hop_cuda_handle_write(const struct hop_cuda_device *device, enum hop_cuda_kind kind, uint64_t address,
                           const struct hop_cuda_ipc *ipc, struct hop_device_handle *handle);
/* *own: it was made in this process. */
enum hop_status hop_cuda_handle_read(const struct hop_device_handle *handle, enum hop_cuda_kind kind,
                                     struct hop_cuda_handle *read, bool *own, struct hop_diag *diag);

enum hop_status hop_cuda_allocate(struct hop_device *device, uint64_t bytes, void **address, struct hop_diag *diag);
void hop_cuda_free(struct hop_device *device, void *address);
enum hop_status hop_cuda_export_memory(struct hop_device *device, void *address, struct hop_device_handle *handle,
                                       struct hop_diag *diag);
enum hop_status hop_cuda_import_memory(struct hop_device *device, const struct hop_device_handle *handle,
                                       void **address, struct hop_diag *diag);
void hop_cuda_release_memory(struct hop_device *device, void *address);
enum hop_status hop_cuda_register_host(struct hop_device *device, void *address, uint64_t bytes, struct hop_diag *diag);
void hop_cuda_unregister_host(struct hop_device *device, void *address);
void hop_cuda_memory_finish(struct hop_cuda_device *device); /* the context being current */
void hop_cuda_memory_forget(struct hop_cuda_device *device); /* without the driver */

/* ---- cuda_event.c ---- */

enum hop_status hop_cuda_create_event(struct hop_device *device, struct hop_event **event, struct hop_diag *diag);
void hop_cuda_destroy_event(struct hop_device *device, struct hop_event *event);
enum hop_status hop_cuda_export_event(struct hop_device *device, struct hop_event *event,
                                      struct hop_device_handle *handle, struct hop_diag *diag);
enum hop_status hop_cuda_import_event(struct hop_device *device, const struct hop_device_handle *handle,
                                      struct hop_event **event, struct hop_diag *diag);
enum hop_status hop_cuda_record(struct hop_device *device, unsigned stream, struct hop_event *event,
                                struct hop_diag *diag);
enum hop_status hop_cuda_query(struct hop_device *device, struct hop_event *event, bool *ended, struct hop_diag *diag);
enum hop_status hop_cuda_await(struct hop_device *device, unsigned stream, struct hop_event *event,
                               struct hop_diag *diag);
void hop_cuda_event_finish(struct hop_cuda_device *device); /* the context being current */
void hop_cuda_event_forget(struct hop_cuda_device *device); /* without the driver */

/* ---- cuda_reduce.c, cuda_image.c ---- */

extern const unsigned char hop_cuda_image[];
extern const bool hop_cuda_has_image; /* false: built without nvcc */
/* Loads the kernels; where they cannot be, device.no_kernels says why. The context being current. */
void hop_cuda_kernels_load(struct hop_cuda_device *device);
enum hop_status hop_cuda_reduce(struct hop_device *device, unsigned stream, const struct hop_reduction *reduction,
                                struct hop_diag *diag);

#endif
