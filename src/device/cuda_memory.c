/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Memory of a CUDA device: allocated here, imported from other processes, and host memory registered with the driver.
 *
 * Whatever a device holds stands in one list, so that closing can give it all back. The driver shares memory between
 * processes in grains of 2 MiB and packs small allocations into one; an allocation is rounded up to whole grains, so
 * that nothing is shared but what was asked for.
 */
#include "device/cuda.h"

#include <unistd.h>

#include "base/base.h"
#include "base/shared.h"

#define GRAIN_BYTES ((uint64_t)2 << 20)

enum holding {
    ALLOCATED,
    IMPORTED,  /* opened by the driver */
    BORROWED,  /* of another device of this process */
    REGISTERED /* host memory */
};

struct hop_cuda_memory {
    struct hop_cuda_memory *next;
    uintptr_t address;
    enum holding holding;
};

static enum hop_status hold(struct hop_cuda_device *device, enum holding holding, uintptr_t address,
                            struct hop_diag *diag)
{
    struct hop_cuda_memory *memory = malloc(sizeof *memory);
    if (!memory)
        return hop_fail_memory(diag);
    *memory = (struct hop_cuda_memory){device->memories, address, holding};
    device->memories = memory;
    return HOP_OK;
}

static void give_back(const struct hop_cuda *cuda, enum holding holding, uintptr_t address)
{
    if (holding == ALLOCATED)
        (void)cuda->cuMemFree(address);
    else if (holding == IMPORTED)
        (void)cuda->cuIpcCloseMemHandle(address);
    else if (holding == REGISTERED)
        (void)cuda->cuMemHostUnregister((void *)address);
}

/* Where the pointer to it stands; it points to NULL when the device holds nothing of that kind there. */
static struct hop_cuda_memory **find(struct hop_cuda_device *device, enum holding holding, uintptr_t address)
{
    struct hop_cuda_memory **place = &device->memories;
    while (*place && !((*place)->holding == holding && (*place)->address == address))
        place = &(*place)->next;
    return place;
}

/* Nothing happens where there is no such thing. */
static void drop(struct hop_cuda_device *device, struct hop_cuda_memory **place)
{
    struct hop_cuda_memory *memory = *place;
    if (!memory)
        return;
    *place = memory->next;
    if (hop_cuda_enter(device, NULL) == HOP_OK) {
        give_back(device->cuda, memory->holding, memory->address);
        (void)hop_cuda_leave(device, HOP_OK);
    }
    free(memory);
}

void hop_cuda_memory_finish(struct hop_cuda_device *device)
{
    while (device->memories) {
        struct hop_cuda_memory *memory = device->memories;
        device->memories = memory->next;
        give_back(device->cuda, memory->holding, memory->address);
        free(memory);
    }
}

void hop_cuda_memory_forget(struct hop_cuda_device *device)
{
    while (device->memories) {
        struct hop_cuda_memory *memory = device->memories;
        device->memories = memory->next;
        free(memory);
    }
}

/* ---- memory of the device ---- */

/* The default stream is not used: our streams do not wait for it. */
static enum hop_status zero(struct hop_cuda_device *device, hop_cuda_address address, uint64_t bytes,
                            struct hop_diag *diag)
{
    struct hop_cuda_stream *now;
    enum hop_status status = hop_cuda_stream_find(device, HOP_STREAM_NOW, &now, diag);
    if (status == HOP_OK)
        status = HOP_CUDA(device, diag, cuMemsetD8Async, address, 0, bytes, now);
    return hop_cuda_queued(device, HOP_STREAM_NOW, status, diag);
}

enum hop_status hop_cuda_allocate(struct hop_device *base, uint64_t bytes, void **address, struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    hop_cuda_address found;
    if (bytes > UINT64_MAX - GRAIN_BYTES)
        return hop_fail_memory(diag);
    uint64_t whole = bytes ? (bytes + GRAIN_BYTES - 1) / GRAIN_BYTES * GRAIN_BYTES : GRAIN_BYTES;
    enum hop_status status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    status = HOP_CUDA(device, diag, cuMemAlloc, &found, whole);
    if (status != HOP_OK)
        return hop_cuda_leave(device, status);
    status = zero(device, found, whole, diag);
    if (status == HOP_OK)
        status = hold(device, ALLOCATED, (uintptr_t)found, diag);
    if (status == HOP_OK)
        *address = (void *)(uintptr_t)found;
    else
        give_back(device->cuda, ALLOCATED, (uintptr_t)found);
    return hop_cuda_leave(device, status);
}

void hop_cuda_free(struct hop_device *base, void *address)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    drop(device, find(device, ALLOCATED, (uintptr_t)address));
}

/* ---- memory of other processes ---- */

_Static_assert(sizeof(struct hop_cuda_handle) <= sizeof(struct hop_device_handle), "a handle has room for ours");

void hop_cuda_handle_write(const struct hop_cuda_device *device, enum hop_cuda_kind kind, uint64_t address,
                           const struct hop_cuda_ipc *ipc, struct hop_device_handle *handle)
{
    const struct hop_cuda_handle written = {.kind = kind,
                                            .ordinal = device->ordinal,
                                            .process = (uint64_t)getpid(),
                                            .started = hop_process_started(getpid()),
                                            .address = address,
                                            .ipc = *ipc};
    memset(handle, 0, sizeof *handle);
    memcpy(handle->bytes, &written, sizeof written);
}

enum hop_status hop_cuda_handle_read(const struct hop_device_handle *handle, enum hop_cuda_kind kind,
                                     struct hop_cuda_handle *read, bool *own, struct hop_diag *diag)
{
    struct hop_cuda_handle found;
    memcpy(&found, handle->bytes, sizeof found);
    if (found.kind != (uint32_t)kind) {
        (void)hop_fail(diag, HOP_ERR_INVALID, "this is no handle of CUDA %s",
                       kind == HOP_CUDA_KIND_MEMORY ? "memory" : "events");
        hop_diag_expect(diag, "the bytes that export gave, whole, from a process that uses the device `cuda` too");
        return HOP_ERR_INVALID;
    }
    *own = found.process == (uint64_t)getpid() && found.started == hop_process_started(getpid());
    *read = found;
    return HOP_OK;
}

enum hop_status hop_cuda_export_memory(struct hop_device *base, void *address, struct hop_device_handle *handle,
                                       struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    struct hop_cuda_ipc ipc;
    if (!*find(device, ALLOCATED, (uintptr_t)address)) {
        (void)hop_fail(diag, HOP_ERR_INVALID, "%p was not allocated on this device", address);
        hop_diag_place(diag, "cuda %u", device->ordinal);
        hop_diag_expect(diag, "the address that `allocate` returned");
        return HOP_ERR_INVALID;
    }
    enum hop_status status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    status = HOP_CUDA(device, diag, cuIpcGetMemHandle, &ipc, (uintptr_t)address);
    if (status == HOP_OK)
        hop_cuda_handle_write(device, HOP_CUDA_KIND_MEMORY, (uintptr_t)address, &ipc, handle);
    return hop_cuda_leave(device, status);
}

/* Kernels here may read and write another device of this process. Where the machine has no way between the two, copies
 * still work, by way of the host. */
static enum hop_status enable_peer(struct hop_cuda_device *device, uint32_t ordinal, struct hop_diag *diag)
{
    struct hop_cuda_context *peer;
    int number;
    if (ordinal == device->ordinal)
        return HOP_OK;
    enum hop_status status = HOP_CUDA(device, diag, cuDeviceGet, &number, (int)ordinal);
    if (status == HOP_OK)
        status = HOP_CUDA(device, diag, cuDevicePrimaryCtxRetain, &peer, number);
    if (status != HOP_OK)
        return status;
    int code = device->cuda->cuCtxEnablePeerAccess(peer, 0);
    if (code != HOP_CUDA_PEER_ALREADY_ENABLED && code != HOP_CUDA_PEER_UNSUPPORTED)
        status = hop_cuda_check(device, "cuCtxEnablePeerAccess", code, diag);
    (void)device->cuda->cuDevicePrimaryCtxRelease(number); /* the exporter holds it too */
    return status;
}

enum hop_status hop_cuda_import_memory(struct hop_device *base, const struct hop_device_handle *handle, void **address,
                                       struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    struct hop_cuda_handle read;
    hop_cuda_address found;
    bool own;
    enum hop_status status = hop_cuda_handle_read(handle, HOP_CUDA_KIND_MEMORY, &read, &own, diag);
    if (status == HOP_OK)
        status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    if (own) {
        found = read.address;
        status = enable_peer(device, read.ordinal, diag);
    } else {
        status = HOP_CUDA(device, diag, cuIpcOpenMemHandle, &found, read.ipc, HOP_CUDA_IPC_LAZY_PEER_ACCESS);
    }
    if (status != HOP_OK)
        return hop_cuda_leave(device, status);
    status = hold(device, own ? BORROWED : IMPORTED, (uintptr_t)found, diag);
    if (status == HOP_OK)
        *address = (void *)(uintptr_t)found;
    else
        give_back(device->cuda, own ? BORROWED : IMPORTED, (uintptr_t)found);
    return hop_cuda_leave(device, status);
}

void hop_cuda_release_memory(struct hop_device *base, void *address)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    struct hop_cuda_memory **place = find(device, IMPORTED, (uintptr_t)address);
    drop(device, *place ? place : find(device, BORROWED, (uintptr_t)address));
}

/* ---- host memory ---- */

/* Memory that another device of this process registered already is as fast here. */
enum hop_status hop_cuda_register_host(struct hop_device *base, void *address, uint64_t bytes, struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    enum hop_status status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    int code = device->cuda->cuMemHostRegister(address, bytes, HOP_CUDA_REGISTER_PORTABLE);
    if (code == HOP_CUDA_HOST_ALREADY_REGISTERED)
        return hop_cuda_leave(device, HOP_OK);
    status = hop_cuda_check(device, "cuMemHostRegister", code, diag);
    if (status == HOP_OK) {
        status = hold(device, REGISTERED, (uintptr_t)address, diag);
        if (status != HOP_OK)
            give_back(device->cuda, REGISTERED, (uintptr_t)address);
    }
    return hop_cuda_leave(device, status);
}

void hop_cuda_unregister_host(struct hop_device *base, void *address)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    drop(device, find(device, REGISTERED, (uintptr_t)address));
}
