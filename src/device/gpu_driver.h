/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The driver's functions, found at run time: a machine without a driver is a normal machine. There are two dialects of one
 * interface, NVIDIA's (CUDA's driver API) and AMD's (HIP), which differ in names and in little else.
 *
 * The declarations are ours, so that the build needs no cuda.h or hip_runtime_api.h. A member has the name that CUDA's
 * documentation gives it; the symbols beside it are the versions of that function whose parameters stand here, ADAPTED where
 * HIP's parameters are others (gpu_driver.c). Device addresses are plain 64-bit numbers (unified addressing: they mean the same as
 * pointers), and every function returns a code, 0 for success; the codes that we know are the same in both.
 */
#ifndef HOP_DEVICE_GPU_DRIVER_H
#define HOP_DEVICE_GPU_DRIVER_H

#include <stdbool.h>
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

/* X(name, CUDA's symbol, HIP's symbol, parameters) */
#define HOP_GPU_FUNCTIONS(X)                                                                                           \
    X(cuInit, "cuInit", "hipInit", (unsigned flags))                                                                   \
    X(cuGetErrorName, "cuGetErrorName", ADAPTED("hipGetErrorName"), (int code, const char **text))                     \
    X(cuGetErrorString, "cuGetErrorString", ADAPTED("hipGetErrorString"), (int code, const char **text))               \
    X(cuDeviceGetCount, "cuDeviceGetCount", "hipGetDeviceCount", (int *count))                                         \
    X(cuDeviceGet, "cuDeviceGet", "hipDeviceGet", (int *device, int ordinal))                                          \
    X(cuDeviceGetName, "cuDeviceGetName", "hipDeviceGetName", (char *name, int size, int device))                      \
    X(cuDeviceGetAttribute, "cuDeviceGetAttribute", "hipDeviceGetAttribute", (int *value, int attribute, int device))  \
    X(cuDeviceGetPCIBusId, "cuDeviceGetPCIBusId", "hipDeviceGetPCIBusId", (char *text, int size, int device))          \
    X(cuDeviceTotalMem, "cuDeviceTotalMem_v2", "hipDeviceTotalMem", (size_t * bytes, int device))                      \
    X(cuDevicePrimaryCtxRetain, "cuDevicePrimaryCtxRetain", "hipDevicePrimaryCtxRetain",                               \
      (struct hop_gpu_context * *context, int device))                                                                 \
    X(cuDevicePrimaryCtxRelease, "cuDevicePrimaryCtxRelease_v2", "hipDevicePrimaryCtxRelease", (int device))           \
    X(cuCtxPushCurrent, "cuCtxPushCurrent_v2", "hipCtxPushCurrent", (struct hop_gpu_context * context))                \
    X(cuCtxPopCurrent, "cuCtxPopCurrent_v2", "hipCtxPopCurrent", (struct hop_gpu_context * *context))                  \
    X(cuCtxGetCurrent, "cuCtxGetCurrent", "hipCtxGetCurrent", (struct hop_gpu_context * *context))                     \
    X(cuCtxSetCurrent, "cuCtxSetCurrent", "hipCtxSetCurrent", (struct hop_gpu_context * context))                      \
    X(cuCtxGetDevice, "cuCtxGetDevice", "hipCtxGetDevice", (int *device))                                              \
    X(cuCtxEnablePeerAccess, "cuCtxEnablePeerAccess", "hipCtxEnablePeerAccess",                                        \
      (struct hop_gpu_context * peer, unsigned flags))                                                                 \
    X(cuDeviceCanAccessPeer, "cuDeviceCanAccessPeer", "hipDeviceCanAccessPeer", (int *can, int device, int peer))      \
    X(cuMemAlloc, "cuMemAlloc_v2", "hipMalloc", (hop_gpu_address * address, size_t bytes))                             \
    X(cuMemFree, "cuMemFree_v2", "hipFree", (hop_gpu_address address))                                                 \
    X(cuMemsetD8Async, "cuMemsetD8Async", "hipMemsetD8Async",                                                          \
      (hop_gpu_address address, unsigned char value, size_t bytes, struct hop_gpu_stream *stream))                     \
    X(cuMemcpyAsync, "cuMemcpyAsync", ADAPTED("hipMemcpyAsync"),                                                       \
      (hop_gpu_address to, hop_gpu_address from, size_t bytes, struct hop_gpu_stream * stream))                        \
    X(cuMemHostRegister, "cuMemHostRegister_v2", "hipHostRegister", (void *address, size_t bytes, unsigned flags))     \
    X(cuMemHostUnregister, "cuMemHostUnregister", "hipHostUnregister", (void *address))                                \
    X(cuIpcGetMemHandle, "cuIpcGetMemHandle", "hipIpcGetMemHandle",                                                    \
      (struct hop_gpu_ipc * handle, hop_gpu_address address))                                                          \
    X(cuIpcOpenMemHandle, "cuIpcOpenMemHandle_v2", ADAPTED("hipIpcOpenMemHandle"),                                     \
      (hop_gpu_address * address, struct hop_gpu_ipc handle, unsigned flags))                                          \
    X(cuIpcCloseMemHandle, "cuIpcCloseMemHandle", "hipIpcCloseMemHandle", (hop_gpu_address address))                   \
    X(cuIpcGetEventHandle, "cuIpcGetEventHandle", "hipIpcGetEventHandle",                                              \
      (struct hop_gpu_ipc * handle, struct hop_gpu_event * event))                                                     \
    X(cuIpcOpenEventHandle, "cuIpcOpenEventHandle", "hipIpcOpenEventHandle",                                           \
      (struct hop_gpu_event * *event, struct hop_gpu_ipc handle))                                                      \
    X(cuStreamCreate, "cuStreamCreate", "hipStreamCreateWithFlags", (struct hop_gpu_stream * *stream, unsigned flags)) \
    X(cuStreamDestroy, "cuStreamDestroy_v2", "hipStreamDestroy", (struct hop_gpu_stream * stream))                     \
    X(cuStreamSynchronize, "cuStreamSynchronize", "hipStreamSynchronize", (struct hop_gpu_stream * stream))            \
    X(cuStreamWaitEvent, "cuStreamWaitEvent", "hipStreamWaitEvent",                                                    \
      (struct hop_gpu_stream * stream, struct hop_gpu_event * event, unsigned flags))                                  \
    X(cuEventCreate, "cuEventCreate", "hipEventCreateWithFlags", (struct hop_gpu_event * *event, unsigned flags))      \
    X(cuEventDestroy, "cuEventDestroy_v2", "hipEventDestroy", (struct hop_gpu_event * event))                          \
    X(cuEventRecord, "cuEventRecord", "hipEventRecord",                                                                \
      (struct hop_gpu_event * event, struct hop_gpu_stream * stream))                                                  \
    X(cuEventQuery, "cuEventQuery", "hipEventQuery", (struct hop_gpu_event * event))                                   \
    X(cuEventElapsedTime, "cuEventElapsedTime", "hipEventElapsedTime",                                                 \
      (float *ms, struct hop_gpu_event *start, struct hop_gpu_event *end))                                             \
    X(cuModuleLoadData, "cuModuleLoadData", "hipModuleLoadData", (struct hop_gpu_module * *module, const void *image)) \
    X(cuModuleUnload, "cuModuleUnload", "hipModuleUnload", (struct hop_gpu_module * module))                           \
    X(cuModuleGetFunction, "cuModuleGetFunction", "hipModuleGetFunction",                                              \
      (struct hop_gpu_function * *function, struct hop_gpu_module * module, const char *name))                         \
    X(cuOccupancyMaxActiveBlocksPerMultiprocessor, "cuOccupancyMaxActiveBlocksPerMultiprocessor",                      \
      "hipModuleOccupancyMaxActiveBlocksPerMultiprocessor",                                                            \
      (int *blocks, struct hop_gpu_function *function, int threads, size_t shared_bytes))                              \
    X(cuLaunchKernel, "cuLaunchKernel", "hipModuleLaunchKernel",                                                       \
      (struct hop_gpu_function * function, unsigned grid_x, unsigned grid_y, unsigned grid_z, unsigned block_x,        \
       unsigned block_y, unsigned block_z, unsigned shared_bytes, struct hop_gpu_stream *stream, void **parameters,    \
       void **extra))

/* The kernels, compiled (gpu_image.c); without their compiler there are none. */
extern const unsigned char hop_gpu_image_cuda[], hop_gpu_image_hip[];
extern const bool hop_gpu_has_image_cuda, hop_gpu_has_image_hip;

/* What else differs. */
enum hop_gpu_attribute {
    HOP_GPU_PROCESSORS,
    HOP_GPU_COPY_ENGINES,
    HOP_GPU_UNIFIED_ADDRESSING,
    HOP_GPU_HOST_NUMA,
    HOP_GPU_SHARES_EVENTS,
    HOP_GPU_ATTRIBUTES
};
struct hop_gpu_dialect {
    const char *name, *maker;                        /* "CUDA", "NVIDIA's" */
    const char *libraries[5];                        /* the first that is there */
    const char *library_variable, *kernels_variable; /* of the environment, say others */
    const char *hidden;                              /* how devices are hidden from a process */
    const char *oldest;                              /* that has all functions */
    unsigned queues;                    /* that a process has for its streams on a device, by default; at least 4 */
    int attributes[HOP_GPU_ATTRIBUTES]; /* numbers of the driver's; -1: it is not asked */
    const unsigned char *image;         /* the kernels */
    const bool *has_image;              /* false: built without their compiler, */
    const char *compiler;               /* which is this one */
};
extern const struct hop_gpu_dialect hop_gpu_cuda, hop_gpu_hip;

struct hop_gpu {
    const struct hop_gpu_dialect *dialect;
#define HOP_GPU_MEMBER(name, cuda, hip, parameters) int(*name) parameters;
    HOP_GPU_FUNCTIONS(HOP_GPU_MEMBER)
#undef HOP_GPU_MEMBER
};

/* Values of the driver's enumerations that we use. */
enum {
    HOP_GPU_NOT_READY = 600, /* results */
    HOP_GPU_INVALID_VALUE = 1,
    HOP_GPU_OUT_OF_MEMORY = 2,
    HOP_GPU_DEVICE_UNAVAILABLE = 46,
    HOP_GPU_NO_DEVICE = 100,
    HOP_GPU_INVALID_DEVICE = 101,
    HOP_GPU_MAP_FAILED = 205,
    HOP_GPU_NO_BINARY = 209,
    HOP_GPU_PEER_UNSUPPORTED = 217,
    HOP_GPU_PEER_ALREADY_ENABLED = 704,
    HOP_GPU_TOO_MANY_PEERS = 711,
    HOP_GPU_HOST_ALREADY_REGISTERED = 712,
    HOP_GPU_UNSUPPORTED_PTX = 222,
    HOP_GPU_NOT_SUPPORTED = 801,

    HOP_GPU_EVENT_DISABLE_TIMING = 2, /* flags */
    HOP_GPU_EVENT_INTERPROCESS = 4,
    HOP_GPU_STREAM_NON_BLOCKING = 1,
    HOP_GPU_REGISTER_PORTABLE = 1,
    HOP_GPU_IPC_LAZY_PEER_ACCESS = 1,
};

/* Loads the driver and initialises it, once in a process and for good; a failure is tried again by the next call. */
enum hop_status hop_gpu_load(const struct hop_gpu_dialect *dialect, const struct hop_gpu **driver,
                             struct hop_diag *diag);

/* Describes a code other than success that the function returned, by its name here. */
enum hop_status hop_gpu_fail(const struct hop_gpu *driver, const char *function, int code, struct hop_diag *diag);

#endif
