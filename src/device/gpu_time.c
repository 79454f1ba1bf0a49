/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a GPU did what it was told, by events of its own: one before a copy and one behind it, and an earlier one of which it
 * is known when it was by the host's clock.
 *
 *     host     ... | before   after | ...
 *     device         reference           start ---- end
 *
 * The reference is taken anew now and then, since the two clocks run apart, and a time between events is a float of
 * milliseconds. Events are used again, so that none is made once so many copies were timed at once.
 */
#include "base/clock.h"
#include "device/gpu.h"

#define REFERENCE_LASTS_S 0.5
enum { TRIES = 3 };

static void refer(struct hop_gpu_call *call)
{
    struct hop_gpu_timing *timing = &call->device->timing;
    struct hop_gpu_stream *now = call->device->streams[HOP_DEVICE_STREAMS];
    double narrowest_s = 1e30;
    if (!timing->reference)
        (void)HOP_GPU(call, cuEventCreate, &timing->reference, 0);
    for (int i = 0; i < TRIES && narrowest_s > 20e-6 && call->status == HOP_OK; i++) {
        double before_s = hop_now_s();
        (void)HOP_GPU(call, cuEventRecord, timing->reference, now);
        (void)HOP_GPU(call, cuStreamSynchronize, now);
        narrowest_s = hop_now_s() - before_s;
        timing->reference_s = before_s + narrowest_s / 2;
    }
}

static struct hop_gpu_timer *take(struct hop_gpu_call *call)
{
    struct hop_gpu_timing *timing = &call->device->timing;
    struct hop_gpu_timer *timer = timing->idle;
    if (timer) {
        timing->idle = timer->next;
        return timer;
    }
    timer = calloc(1, sizeof *timer);
    if (!timer)
        call->status = hop_fail_memory(call->diag);
    else if (!HOP_GPU(call, cuEventCreate, &timer->start, 0) || !HOP_GPU(call, cuEventCreate, &timer->end, 0))
        hop_gpu_timer_free(call->device, timer);
    return call->status == HOP_OK ? timer : NULL;
}

void hop_gpu_timer_free(const struct hop_gpu_device *device, struct hop_gpu_timer *timer)
{
    if (timer->start)
        (void)device->driver->cuEventDestroy(timer->start);
    if (timer->end)
        (void)device->driver->cuEventDestroy(timer->end);
    free(timer);
}

struct hop_gpu_timer *hop_gpu_time_begin(struct hop_gpu_call *call, struct hop_gpu_stream *on, double *span_s)
{
    struct hop_gpu_timing *timing = &call->device->timing;
    if (!span_s || call->status != HOP_OK)
        return NULL;
    if (!timing->running && !(hop_now_s() - timing->reference_s < REFERENCE_LASTS_S))
        refer(call);
    struct hop_gpu_timer *timer = call->status == HOP_OK ? take(call) : NULL;
    if (timer) {
        timer->span_s = span_s;
        (void)HOP_GPU(call, cuEventRecord, timer->start, on);
    }
    return timer;
}

void hop_gpu_time_end(struct hop_gpu_call *call, struct hop_gpu_stream *on, struct hop_gpu_timer *timer)
{
    if (!timer)
        return;
    (void)HOP_GPU(call, cuEventRecord, timer->end, on);
    struct hop_gpu_timer **list = call->status == HOP_OK ? &call->device->timing.running : &call->device->timing.idle;
    timer->next = *list;
    *list = timer;
}

/* When an event was, by the host's clock. */
static double when(struct hop_gpu_call *call, struct hop_gpu_event *event)
{
    const struct hop_gpu_timing *timing = &call->device->timing;
    float ms = 0;
    (void)HOP_GPU(call, cuEventElapsedTime, &ms, timing->reference, event);
    return timing->reference_s + 1e-3 * (double)ms;
}

void hop_gpu_time_look(struct hop_gpu_call *call)
{
    struct hop_gpu_timing *timing = &call->device->timing;
    struct hop_gpu_timer **place = &timing->running;
    while (*place && call->status == HOP_OK) {
        struct hop_gpu_timer *timer = *place;
        int code = call->device->driver->cuEventQuery(timer->end);
        if (code == HOP_GPU_NOT_READY) {
            place = &timer->next;
            continue;
        }
        if (!hop_gpu_check(call, "cuEventQuery", code))
            return;
        timer->span_s[0] = when(call, timer->start);
        timer->span_s[1] = when(call, timer->end);
        *place = timer->next;
        timer->next = timing->idle;
        timing->idle = timer;
    }
}
