/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Events of a CUDA device: the driver's, made for use between processes and without time stamps.
 *
 * The driver refuses to open the handle of an event in the process that made it; there another device borrows the event
 * itself, which lives as long as its maker keeps it.
 */
#include "device/cuda.h"

#include "base/base.h"

static enum hop_status add(struct hop_cuda_device *device, struct hop_cuda_event *made, bool borrowed,
                           struct hop_event **event, struct hop_diag *diag)
{
    struct hop_event *added = malloc(sizeof *added);
    if (!added) {
        if (!borrowed)
            (void)device->cuda->cuEventDestroy(made);
        return hop_fail_memory(diag);
    }
    *added = (struct hop_event){made, device->events, borrowed};
    device->events = added;
    *event = added;
    return HOP_OK;
}

static void finish(const struct hop_cuda *cuda, struct hop_event *event)
{
    if (!event->borrowed)
        (void)cuda->cuEventDestroy(event->event);
    free(event);
}

void hop_cuda_event_finish(struct hop_cuda_device *device)
{
    while (device->events) {
        struct hop_event *event = device->events;
        device->events = event->next;
        finish(device->cuda, event);
    }
}

void hop_cuda_event_forget(struct hop_cuda_device *device)
{
    while (device->events) {
        struct hop_event *event = device->events;
        device->events = event->next;
        free(event);
    }
}

enum hop_status hop_cuda_create_event(struct hop_device *base, struct hop_event **event, struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    struct hop_cuda_event *made;
    enum hop_status status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    status = HOP_CUDA(device, diag, cuEventCreate, &made, HOP_CUDA_EVENT_DISABLE_TIMING | HOP_CUDA_EVENT_INTERPROCESS);
    if (status == HOP_OK)
        status = add(device, made, false, event, diag);
    return hop_cuda_leave(device, status);
}

void hop_cuda_destroy_event(struct hop_device *base, struct hop_event *event)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    struct hop_event **place = &device->events;
    while (*place && *place != event)
        place = &(*place)->next;
    if (!*place)
        return;
    *place = event->next;
    bool entered = hop_cuda_enter(device, NULL) == HOP_OK;
    finish(device->cuda, event);
    if (entered)
        (void)hop_cuda_leave(device, HOP_OK);
}

enum hop_status hop_cuda_export_event(struct hop_device *base, struct hop_event *event,
                                      struct hop_device_handle *handle, struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    struct hop_cuda_ipc ipc;
    enum hop_status status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    status = HOP_CUDA(device, diag, cuIpcGetEventHandle, &ipc, event->event);
    if (status == HOP_OK)
        hop_cuda_handle_write(device, HOP_CUDA_KIND_EVENT, (uintptr_t)event->event, &ipc, handle);
    return hop_cuda_leave(device, status);
}

enum hop_status hop_cuda_import_event(struct hop_device *base, const struct hop_device_handle *handle,
                                      struct hop_event **event, struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    struct hop_cuda_event *found;
    struct hop_cuda_handle read;
    bool own;
    enum hop_status status = hop_cuda_handle_read(handle, HOP_CUDA_KIND_EVENT, &read, &own, diag);
    if (status == HOP_OK)
        status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    if (own)
        found = (struct hop_cuda_event *)(uintptr_t)read.address;
    else
        status = HOP_CUDA(device, diag, cuIpcOpenEventHandle, &found, read.ipc);
    if (status == HOP_OK)
        status = add(device, found, own, event, diag);
    return hop_cuda_leave(device, status);
}

enum hop_status hop_cuda_record(struct hop_device *base, unsigned stream, struct hop_event *event,
                                struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    struct hop_cuda_stream *found;
    enum hop_status status = hop_cuda_stream_find(device, stream, &found, diag);
    if (status == HOP_OK)
        status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    return hop_cuda_leave(device, HOP_CUDA(device, diag, cuEventRecord, event->event, found));
}

enum hop_status hop_cuda_query(struct hop_device *base, struct hop_event *event, bool *ended, struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    enum hop_status status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    int code = device->cuda->cuEventQuery(event->event);
    if (code == HOP_CUDA_NOT_READY)
        *ended = false;
    else
        status = hop_cuda_check(device, "cuEventQuery", code, diag);
    if (code == 0)
        *ended = true;
    return hop_cuda_leave(device, status);
}

enum hop_status hop_cuda_await(struct hop_device *base, unsigned stream, struct hop_event *event, struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    struct hop_cuda_stream *found;
    enum hop_status status = hop_cuda_stream_find(device, stream, &found, diag);
    if (status == HOP_OK)
        status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    status = HOP_CUDA(device, diag, cuStreamWaitEvent, found, event->event, 0);
    return hop_cuda_leave(device, hop_cuda_queued(device, stream, status, diag));
}
