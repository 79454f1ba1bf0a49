/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * When a GPU did what it was told, by events of its own: one before a copy and one behind it, and an earlier one of which it
 * is known when it was by the host's clock.
 *
 *     host     ... | before   after | ...
 *     device         reference           start ---- end
 *
 * The reference is taken anew now and then, since the two clocks run apart, and a time between events is a float of
 * milliseconds. Where either side was kept waiting it may be off by half of what lies between `before` and `after`; but no work
 * starts before it was queued, nor ends after it was seen to have ended. Events are used again, so that none is made once
 * so many copies were timed at once.
 */
#include "base/clock.h"
#include "device/gpu.h"

#define REFERENCE_LASTS_S 0.5
enum { TRIES = 3 };

static void refer(struct hop_gpu_call *call)
{
    struct hop_gpu_timing *timing = &call->device->timing;
    struct hop_gpu_stream *now = call->device->streams[HOP_DEVICE_STREAMS];
    double width_s = 1e30;
    if (!timing->reference)
        (void)HOP_GPU(call, cuEventCreate, &timing->reference, 0);
    for (int i = 0; i < TRIES && width_s > 20e-6 && call->status == HOP_OK; i++) {
        double before_s = hop_now_s();
        (void)HOP_GPU(call, cuEventRecord, timing->reference, now);
        (void)HOP_GPU(call, cuStreamSynchronize, now);
        width_s = hop_now_s() - before_s;
        timing->reference_s = before_s + width_s / 2;
    }
}

static void free_timer(const struct hop_gpu_device *device, struct hop_gpu_timer *timer)
{
    if (timer->start)
        (void)device->driver->cuEventDestroy(timer->start);
    if (timer->end)
        (void)device->driver->cuEventDestroy(timer->end);
    free(timer);
}

static void put(struct hop_gpu_timing *timing, struct hop_gpu_timer *timer)
{
    timer->next = timing->idle;
    timing->idle = timer;
}

void hop_gpu_time_finish(struct hop_gpu_device *device)
{
    struct hop_gpu_timing *timing = &device->timing;
    for (unsigned s = 0; s <= HOP_DEVICE_STREAMS; s++) {
        for (struct hop_gpu_timer *timer = timing->first[s], *next; timer; timer = next) {
            next = timer->next;
            put(timing, timer);
        }
    }
    for (struct hop_gpu_timer *timer = timing->idle, *next; timer; timer = next) {
        next = timer->next;
        free_timer(device, timer);
    }
    if (timing->reference)
        (void)device->driver->cuEventDestroy(timing->reference);
    *timing = (struct hop_gpu_timing){0};
}

/* ---- around work ---- */

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
        free_timer(call->device, timer);
    return call->status == HOP_OK ? timer : NULL;
}

struct hop_gpu_timer *hop_gpu_time_begin(struct hop_gpu_call *call, unsigned stream, double *span_s)
{
    struct hop_gpu_timing *timing = &call->device->timing;
    if (!span_s || call->status != HOP_OK)
        return NULL;
    if (timing->running == 0 && !(hop_now_s() - timing->reference_s < REFERENCE_LASTS_S))
        refer(call);
    struct hop_gpu_timer *timer = call->status == HOP_OK ? take(call) : NULL;
    if (timer) {
        timer->span_s = span_s;
        timer->queued_s = hop_now_s();
        (void)HOP_GPU(call, cuEventRecord, timer->start, hop_gpu_stream(call, stream));
    }
    return timer;
}

void hop_gpu_time_end(struct hop_gpu_call *call, unsigned stream, struct hop_gpu_timer *timer)
{
    struct hop_gpu_timing *timing = &call->device->timing;
    unsigned place = stream == HOP_STREAM_NOW ? HOP_DEVICE_STREAMS : stream;
    if (!timer)
        return;
    if (!HOP_GPU(call, cuEventRecord, timer->end, hop_gpu_stream(call, stream))) {
        put(timing, timer);
        return;
    }
    timer->next = NULL;
    if (timing->first[place])
        timing->last[place]->next = timer;
    else
        timing->first[place] = timer;
    timing->last[place] = timer;
    timing->running++;
}

/* ---- what they say ---- */

/* When an event was, by the host's clock. */
static double when(struct hop_gpu_call *call, struct hop_gpu_event *event)
{
    const struct hop_gpu_timing *timing = &call->device->timing;
    float ms = 0;
    (void)HOP_GPU(call, cuEventElapsedTime, &ms, timing->reference, event);
    return timing->reference_s + 1e-3 * (double)ms;
}

/* In their order on a stream. */
static void look_at(struct hop_gpu_call *call, unsigned place)
{
    struct hop_gpu_timing *timing = &call->device->timing;
    struct hop_gpu_timer *timer;
    while ((timer = timing->first[place]) != NULL && call->status == HOP_OK) {
        int code = call->device->driver->cuEventQuery(timer->end);
        if (code == HOP_GPU_NOT_READY || !hop_gpu_check(call, "cuEventQuery", code))
            return;
        double seen_s = hop_now_s();
        timer->span_s[0] = hop_min(hop_max(when(call, timer->start), timer->queued_s), seen_s);
        timer->span_s[1] = hop_min(hop_max(when(call, timer->end), timer->queued_s), seen_s);
        timing->first[place] = timer->next;
        timing->running--;
        put(timing, timer);
    }
}

void hop_gpu_time_look(struct hop_gpu_call *call)
{
    for (unsigned place = 0; place <= HOP_DEVICE_STREAMS && call->device->timing.running; place++)
        look_at(call, place);
}
