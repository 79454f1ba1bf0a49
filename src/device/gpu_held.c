/* SPDX-License-Identifier: BSD-3-Clause */
/* What a GPU's device holds, and how it is handed to other processes: see gpu.h. */
#include "device/gpu.h"

#include <unistd.h>

#include "base/shared.h"

/* Whether the driver took it. */
static bool give_back(const struct hop_gpu *driver, enum hop_gpu_kind kind, uintptr_t what)
{
    int code = 0;
    if (kind == HOP_GPU_ALLOCATED)
        code = driver->cuMemFree(what);
    else if (kind == HOP_GPU_IMPORTED)
        code = driver->cuIpcCloseMemHandle(what);
    else if (kind == HOP_GPU_REGISTERED)
        code = driver->cuMemHostUnregister((void *)what);
    else if (kind == HOP_GPU_EVENT || kind == HOP_GPU_IMPORTED_EVENT)
        code = driver->cuEventDestroy((struct hop_gpu_event *)what);
    return code == 0;
}

struct hop_gpu_held *hop_gpu_hold(struct hop_gpu_call *call, enum hop_gpu_kind kind, uintptr_t what)
{
    struct hop_gpu_held *held = call->status == HOP_OK ? malloc(sizeof *held) : NULL;
    if (held) {
        *held = (struct hop_gpu_held){call->device->held, kind, what};
        call->device->held = held;
    } else if (call->status == HOP_OK) {
        (void)give_back(call->device->driver, kind, what);
        call->status = hop_fail_memory(call->diag);
    }
    return held;
}

struct hop_gpu_held *hop_gpu_find(struct hop_gpu_device *device, unsigned kinds, uintptr_t what)
{
    struct hop_gpu_held *held = device->held;
    while (held && !(held->kind & kinds && held->what == what))
        held = held->next;
    return held;
}

void hop_gpu_drop(struct hop_gpu_device *device, struct hop_gpu_held *held)
{
    struct hop_gpu_held **place = &device->held;
    while (*place && *place != held)
        place = &(*place)->next;
    if (!held || !*place)
        return;
    *place = held->next;
    struct hop_gpu_call call = hop_gpu_begin(&device->base, NULL);
    if (call.entered || held->kind & (HOP_GPU_EVENT | HOP_GPU_IMPORTED_EVENT)) /* events need no context */
        (void)give_back(device->driver, held->kind, held->what);
    (void)hop_gpu_end(&call);
    free(held);
}

bool hop_gpu_drop_all(struct hop_gpu_device *device, unsigned kinds, bool entered)
{
    struct hop_gpu_held **place = &device->held;
    bool all = true;
    while (*place) {
        struct hop_gpu_held *held = *place;
        if (!(held->kind & kinds)) {
            place = &held->next;
            continue;
        }
        *place = held->next;
        all = entered && give_back(device->driver, held->kind, held->what) && all;
        free(held);
    }
    return all;
}

/* ---- handles ---- */

/*
 * What is handed to another process, or to another device of this one, in the bytes of a struct hop_device_handle. The
 * driver refuses to open a handle in the process that made it, so that process goes by the address; an event lives as
 * long as its maker keeps it.
 */
struct handle {
    uint32_t kind;   /* a pattern of enum hop_gpu_kind that other bytes are not likely to have */
    int32_t ordinal; /* of the device, in the process that made it */
    uint64_t process, started;
    uint64_t what;
    struct hop_gpu_ipc ipc;
};
enum { MARK = 0x43554400 };
_Static_assert(sizeof(struct handle) <= sizeof(struct hop_device_handle), "a handle has room for ours");

void hop_gpu_export(struct hop_gpu_call *call, enum hop_gpu_kind kind, uintptr_t what, struct hop_device_handle *handle)
{
    struct handle written = {
        MARK | (uint32_t)kind, call->device->ordinal, (uint64_t)getpid(), hop_process_started(getpid()), what, {{0}}};
    if (kind == HOP_GPU_EVENT)
        (void)HOP_GPU(call, cuIpcGetEventHandle, &written.ipc, (struct hop_gpu_event *)what);
    else
        (void)HOP_GPU(call, cuIpcGetMemHandle, &written.ipc, what);
    if (call->status != HOP_OK)
        return;
    memset(handle, 0, sizeof *handle);
    memcpy(handle->bytes, &written, sizeof written);
}

/* Kernels here may read and write another device of this process. Where the machine has no way between the two, copies
 * still work, by way of the host. */
static void enable_peer(struct hop_gpu_call *call, int ordinal)
{
    struct hop_gpu_context *peer;
    int number;
    if (ordinal == call->device->ordinal || !HOP_GPU(call, cuDeviceGet, &number, ordinal) ||
        !HOP_GPU(call, cuDevicePrimaryCtxRetain, &peer, number))
        return;
    int code = call->device->driver->cuCtxEnablePeerAccess(peer, 0);
    if (code != HOP_GPU_PEER_ALREADY_ENABLED && code != HOP_GPU_PEER_UNSUPPORTED)
        (void)hop_gpu_check(call, "cuCtxEnablePeerAccess", code);
    (void)call->device->driver->cuDevicePrimaryCtxRelease(number); /* the exporter holds it too */
}

struct hop_gpu_held *hop_gpu_import(struct hop_gpu_call *call, enum hop_gpu_kind kind,
                                    const struct hop_device_handle *handle)
{
    bool event = kind == HOP_GPU_EVENT;
    struct hop_gpu_event *opened = NULL;
    hop_gpu_address address = 0;
    struct handle read;
    memcpy(&read, handle->bytes, sizeof read);
    if (read.kind != (MARK | (uint32_t)kind)) {
        hop_gpu_refuse(call, HOP_ERR_INVALID,
                       "this is no handle of %s %s\n"
                       "the bytes that export gave, whole, from a process that uses the same back end",
                       call->device->driver->dialect->name, event ? "events" : "memory");
        return NULL;
    }
    if (read.process == (uint64_t)getpid() && read.started == hop_process_started(getpid())) {
        if (!event)
            enable_peer(call, read.ordinal);
        return hop_gpu_hold(call, event ? HOP_GPU_BORROWED_EVENT : HOP_GPU_BORROWED, (uintptr_t)read.what);
    }
    if (event) {
        (void)HOP_GPU(call, cuIpcOpenEventHandle, &opened, read.ipc);
        return hop_gpu_hold(call, HOP_GPU_IMPORTED_EVENT, (uintptr_t)opened);
    }
    (void)HOP_GPU(call, cuIpcOpenMemHandle, &address, read.ipc, HOP_GPU_IPC_LAZY_PEER_ACCESS);
    return hop_gpu_hold(call, HOP_GPU_IMPORTED, (uintptr_t)address);
}
