/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The CUDA driver's functions, found at run time: a machine without the driver is a normal machine.
 *
 * The declarations are ours, so that the build needs no cuda.h. A member has the name of the documentation; the symbol
 * beside it is the version of that function whose parameters stand here. Device addresses are plain 64-bit numbers
 * (unified addressing: they mean the same as pointers), and every function returns a code, 0 for success.
 */
#ifndef HOP_DEVICE_GPU_DRIVER_H
#define HOP_DEVICE_GPU_DRIVER_H

#include <stddef.h>

#include "hopcast/status.h"

struct hop_gpu_context; /* the driver's own */
struct hop_gpu_stream;
struct hop_gpu_event;
struct hop_gpu_module;
struct hop_gpu_function;
typedef unsigned long long hop_gpu_address;

struct hop_gpu_ipc { /* passed by value */
    char bytes[64];
};

/* X(name, symbol, parameters) */
#define HOP_GPU_FUNCTIONS(X)                                                                                           \
    X(cuInit, "cuInit", (unsigned flags))                                                                              \
    X(cuGetErrorName, "cuGetErrorName", (int code, const char **text))                                                 \
    X(cuGetErrorString, "cuGetErrorString", (int code, const char **text))                                             \
    X(cuDeviceGetCount, "cuDeviceGetCount", (int *count))                                                              \
    X(cuDeviceGet, "cuDeviceGet", (int *device, int ordinal))                                                          \
    X(cuDeviceGetName, "cuDeviceGetName", (char *name, int size, int device))                                          \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", (int *value, int attribute, int device))                           \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", (size_t * bytes, int device))                                           \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", (struct hop_gpu_context * *context, int device))           \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", (int device))                                         \
    X(cuCtxPushCurrent, "cuCtxPushCurrent_v2", (struct hop_gpu_context * context))                                     \
    X(cuCtxPopCurrent, "cuCtxPopCurrent_v2", (struct hop_gpu_context * *context))                                      \
    X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", (struct hop_gpu_context * peer, unsigned flags))                 \
    X(cuMemAlloc, "cuMemAlloc_v2", (hop_gpu_address * address, size_t bytes))                                          \
    X(cuMemFree, "cuMemFree_v2", (hop_gpu_address address))                                                            \
    X(cuMemsetD8Async, "cuMemsetD8Async",                                                                              \
      (hop_gpu_address address, unsigned char value, size_t bytes, struct hop_gpu_stream *stream))                     \
    X(cuMemcpyAsync, "cuMemcpyAsync",                                                                                  \
      (hop_gpu_address to, hop_gpu_address from, size_t bytes, struct hop_gpu_stream * stream))                        \
    X(cuMemHostRegister, "cuMemHostRegister_v2", (void *address, size_t bytes, unsigned flags))                        \
    X(cuMemHostUnregister, "cuMemHostUnregister", (void *address))                                                     \
    X(cuIpcGetMemHandle, "cuIpcGetMemHandle", (struct hop_gpu_ipc * handle, hop_gpu_address address))                  \
    X(cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2",                                                                     \
      (hop_gpu_address * address, struct hop_gpu_ipc handle, unsigned flags))                                          \
    X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", (hop_gpu_address address))                                           \
    X(cuIpcGetEventHandle, "cuIpcGetEventHandle", (struct hop_gpu_ipc * handle, struct hop_gpu_event * event))         \
    X(cuIpcOpenEventHandle, "cuIpcOpenEventHandle", (struct hop_gpu_event * *event, struct hop_gpu_ipc handle))        \
    X(cuStreamCreate, "cuStreamCreate", (struct hop_gpu_stream * *stream, unsigned flags))                             \
    X(cuStreamDestroy, "cuStreamDestroy_v2", (struct hop_gpu_stream * stream))                                         \
    X(cuStreamSynchronize, "cuStreamSynchronize", (struct hop_gpu_stream * stream))                                    \
    X(cuStreamWaitEvent, "cuStreamWaitEvent",                                                                          \
      (struct hop_gpu_stream * stream, struct hop_gpu_event * event, unsigned flags))                                  \
    X(cuEventCreate, "cuEventCreate", (struct hop_gpu_event * *event, unsigned flags))                                 \
    X(cuEventDestroy, "cuEventDestroy_v2", (struct hop_gpu_event * event))                                             \
    X(cuEventRecord, "cuEventRecord", (struct hop_gpu_event * event, struct hop_gpu_stream * stream))                  \
    X(cuEventQuery, "cuEventQuery", (struct hop_gpu_event * event))                                                    \
    X(cuModuleLoadData, "cuModuleLoadData", (struct hop_gpu_module * *module, const void *image))                      \
    X(cuModuleUnload, "cuModuleUnload", (struct hop_gpu_module * module))                                              \
    X(cuModuleGetFunction, "cuModuleGetFunction",                                                                      \
      (struct hop_gpu_function * *function, struct hop_gpu_module * module, const char *name))                         \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                      \
      (int *blocks, struct hop_gpu_function *function, int threads, size_t shared_bytes))                              \
    X(cuLaunchKernel, "cuLaunchKernel",                                                                                \
      (struct hop_gpu_function * function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, struct hop_gpu_stream *stream, void **parameters,    \
       void **extra))

struct hop_gpu {
#define HOP_GPU_MEMBER(name, symbol, parameters) int(*name) parameters;
    HOP_GPU_FUNCTIONS(HOP_GPU_MEMBER)
#undef HOP_GPU_MEMBER
};

/* Values of the driver's enumerations that we use. */
enum {
    HOP_GPU_NOT_READY = 600, /* results */
    HOP_GPU_OUT_OF_MEMORY = 2,
    HOP_GPU_DEVICE_UNAVAILABLE = 46,
    HOP_GPU_NO_DEVICE = 100,
    HOP_GPU_NO_BINARY = 209,
    HOP_GPU_PEER_UNSUPPORTED = 217,
    HOP_GPU_PEER_ALREADY_ENABLED = 704,
    HOP_GPU_HOST_ALREADY_REGISTERED = 712,
    HOP_GPU_UNSUPPORTED_PTX = 222,

    HOP_GPU_PROCESSORS = 16, /* device attributes */
    HOP_GPU_COPY_ENGINES = 40,
    HOP_GPU_UNIFIED_ADDRESSING = 41,

    HOP_GPU_EVENT_DISABLE_TIMING = 2, /* flags */
    HOP_GPU_EVENT_INTERPROCESS = 4,
    HOP_GPU_STREAM_NON_BLOCKING = 1,
    HOP_GPU_REGISTER_PORTABLE = 1,
    HOP_GPU_IPC_LAZY_PEER_ACCESS = 1,
};

/* Loads the driver and initialises it, once in a process and for good; a failure is tried again by the next call. */
enum hop_status hop_gpu_load(const struct hop_gpu **driver, struct hop_diag *diag);

/* Describes a code other than success that the named function returned. */
enum hop_status hop_gpu_fail(const struct hop_gpu *driver, const char *function, int code, struct hop_diag *diag);

#endif
