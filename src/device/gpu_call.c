/* SPDX-License-Identifier: BSD-3-Clause */
/* Calls of a GPU's table: see gpu.h. */
#include "device/gpu.h"

struct hop_gpu_call hop_gpu_begin(struct hop_device *base, struct hop_diag *diag)
{
    struct hop_gpu_call call = {.device = (struct hop_gpu_device *)base, .diag = diag};
    call.status = call.device->broken.status;
    if (call.status != HOP_OK && diag)
        *diag = call.device->broken;
    call.entered = HOP_GPU(&call, cuCtxPushCurrent, call.device->context);
    return call;
}

enum hop_status hop_gpu_end(struct hop_gpu_call *call)
{
    struct hop_gpu_context *popped;
    if (call->entered)
        (void)call->device->driver->cuCtxPopCurrent(&popped);
    return call->status;
}

static void place(const struct hop_gpu_device *device, struct hop_diag *diag, const char *when)
{
    hop_diag_place(diag, "%s %s%s", device->base.ops->facts.name, device->properties.place, when);
}

void hop_gpu_refuse(struct hop_gpu_call *call, enum hop_status status, const char *format, ...)
{
    va_list arguments;
    if (call->status != HOP_OK)
        return;
    va_start(arguments, format);
    call->status = hop_fail_with(call->diag, status, format, arguments);
    va_end(arguments);
    place(call->device, call->diag, "");
}

/* Errors of earlier work on the device, after which the driver does nothing more in this process: memory or links that
 * fail (214, 220, 226), kernels that went wrong (700 to 719), devices outside (911), what is unknown (999). */
static bool is_fatal(int code)
{
    static const int fatal[] = {214, 220, 226, 700, 702, 709, 710, 714, 715, 716, 717, 718, 719, 911, 999};
    for (size_t i = 0; i < HOP_COUNT(fatal); i++) {
        if (fatal[i] == code)
            return true;
    }
    return false;
}

bool hop_gpu_check(struct hop_gpu_call *call, const char *function, int code)
{
    struct hop_gpu_device *device = call->device;
    if (code == 0)
        return true;
    call->status = hop_gpu_fail(device->driver, function, code, call->diag);
    place(device, call->diag, "");
    if (is_fatal(code)) {
        (void)hop_gpu_fail(device->driver, function, code, &device->broken);
        place(device, &device->broken, ", earlier");
        hop_diag_expect(&device->broken, "a new process: this one cannot use the device any more");
    }
    return false;
}

struct hop_gpu_stream *hop_gpu_stream(struct hop_gpu_call *call, unsigned stream)
{
    unsigned place = stream == HOP_STREAM_NOW ? HOP_DEVICE_STREAMS : stream;
    if ((stream == HOP_STREAM_NOW || stream < HOP_DEVICE_STREAMS) && call->device->streams[place])
        return call->device->streams[place];
    hop_gpu_refuse(call, HOP_ERR_INVALID, "there is no stream %u\n0 to %u, %u (compute) or now", stream,
                   call->device->properties.copy_streams - 1, HOP_STREAM_COMPUTE);
    return NULL;
}

void hop_gpu_queued(struct hop_gpu_call *call, unsigned stream)
{
    if (stream == HOP_STREAM_NOW)
        (void)HOP_GPU(call, cuStreamSynchronize, call->device->streams[HOP_DEVICE_STREAMS]);
}
