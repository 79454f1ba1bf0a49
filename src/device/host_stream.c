/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams of the host: one thread queues, the stream's own thread works.
 *
 *     queued ---------------v
 *     ring   | . | . | w | w | . |     work done + 1 .. queued waits
 *     done   --------^
 *
 * Both ends are counters that the other side waits for. A full ring makes the caller wait.
 */
#include "base/base.h"
#include "base/clock.h"
#include "base/thread.h"
#include "device/host.h"
#include "device/reduce_host.h"

static enum hop_status check_device(struct hop_host *host, struct hop_diag *diag)
{
    if (!atomic_load_explicit(&host->failed, memory_order_acquire))
        return HOP_OK;
    if (diag)
        *diag = host->failure;
    return host->failure.status;
}

enum hop_status hop_host_check(struct hop_host *host, unsigned stream, struct hop_diag *diag)
{
    if (stream < host->copy_streams || stream == HOP_STREAM_COMPUTE || stream == HOP_STREAM_NOW)
        return check_device(host, diag);
    return hop_fail(diag, HOP_ERR_INVALID, "the device has no stream %u\nbelow %u, or the one that computes", stream,
                    host->copy_streams);
}

/* The first failure counts. */
static void fail_device(struct hop_host *host, const struct hop_diag *diag)
{
    if (atomic_flag_test_and_set(&host->failing))
        return;
    host->failure = *diag;
    atomic_store(&host->leaving, true);
    atomic_store(&host->failed, true);
}

/* ---- the worker ---- */

enum hop_status hop_host_copy_now(struct hop_host *host, const struct hop_device_copy *copy, struct hop_diag *diag)
{
    enum hop_status status = check_device(host, diag);
    if (status != HOP_OK)
        return status;
    if (host->copier.copy)
        return host->copier.copy(host->copier.context, copy, diag);
    double start_s = copy->span_s ? hop_now_s() : 0;
    hop_copy_on_host(copy->to, copy->from, copy->bytes);
    if (copy->span_s) {
        copy->span_s[0] = start_s;
        copy->span_s[1] = hop_now_s();
    }
    return HOP_OK;
}

static enum hop_status await_now(struct hop_host *host, const struct hop_host_work *work, struct hop_diag *diag)
{
    if (hop_counter_wait(work->counter, work->sequence, work->foreign ? &host->leaving : &host->failed)) {
        HOP_SHARED_HEAR();
        return HOP_OK;
    }
    enum hop_status status = check_device(host, diag);
    return status != HOP_OK ? status
                            : hop_fail(diag, HOP_ERR_DEADLOCK,
                                       "the device was closed while a stream waited for another device's event");
}

static enum hop_status perform(struct hop_host *host, const struct hop_host_work *work, struct hop_diag *diag)
{
    switch (work->task) {
    case HOP_HOST_COPY:
        return hop_host_copy_now(host, &work->copy, diag);
    case HOP_HOST_REDUCE:
        return host->copier.reduce ? host->copier.reduce(host->copier.context, work->reduction, diag)
                                   : hop_reduce_on_host(work->reduction, diag);
    case HOP_HOST_RECORD:
        HOP_SHARED_TELL();
        hop_counter_advance(work->counter, work->sequence);
        return HOP_OK;
    case HOP_HOST_AWAIT:
        return await_now(host, work, diag);
    case HOP_HOST_STOP:
        break;
    }
    return HOP_OK;
}

/* Work is dropped once the device has failed, records too: whoever waits for them must not go on. */
static void *work_on(void *argument)
{
    struct hop_host_stream *stream = argument;
    struct hop_host *host = stream->host;
    for (uint32_t number = 0;; number++) {
        const struct hop_host_work *work = &stream->ring[number % HOP_HOST_RING].work;
        struct hop_diag diag = {0};
        (void)hop_counter_wait(&stream->queued, number + 1, NULL);
        if (work->task == HOP_HOST_STOP)
            return NULL;
        if (!atomic_load(&host->failed) && perform(host, work, &diag) != HOP_OK)
            fail_device(host, &diag);
        hop_counter_advance(&stream->done, number + 1);
    }
}

/* ---- queueing ---- */

static enum hop_status start(struct hop_host_stream *stream, struct hop_diag *diag)
{
    int error = hop_thread_start(&stream->thread, work_on, stream);
    if (error)
        return hop_fail(diag, HOP_ERR_MEMORY, "cannot start a stream's thread: %s", strerror(error));
    stream->started = true;
    return HOP_OK;
}

static uint32_t count_queued(const struct hop_host_stream *s)
{
    return atomic_load_explicit(&s->queued.value, memory_order_relaxed);
}

static void queue(struct hop_host_stream *s, const struct hop_host_work *work)
{
    uint32_t queued = count_queued(s);
    struct hop_host_slot *slot = &s->ring[queued % HOP_HOST_RING];
    if (!hop_counter_reached(&s->done, queued + 1 - HOP_HOST_RING))
        (void)hop_counter_wait(&s->done, queued + 1 - HOP_HOST_RING, NULL);
    slot->work = *work;
    if (work->task == HOP_HOST_REDUCE) {
        struct hop_reduction *r = &slot->reduction;
        *r = *work->reduction;
        memcpy(slot->inputs, r->inputs, r->input_count * sizeof *r->inputs);
        memcpy(slot->outputs, r->outputs, r->output_count * sizeof *r->outputs);
        r->inputs = slot->inputs;
        r->outputs = slot->outputs;
        slot->work.reduction = r;
    }
    hop_counter_advance(&s->queued, queued + 1);
}

enum hop_status hop_host_submit(struct hop_host *host, unsigned stream, const struct hop_host_work *work,
                                struct hop_diag *diag)
{
    enum hop_status status = hop_host_check(host, stream, diag);
    if (status != HOP_OK)
        return status;
    if (stream == HOP_STREAM_NOW || (!host->streams[stream].started && work->task == HOP_HOST_RECORD))
        return perform(host, work, diag);
    struct hop_host_stream *s = &host->streams[stream];
    if (!s->started)
        status = start(s, diag);
    if (status == HOP_OK)
        queue(s, work);
    return status;
}

enum hop_status hop_host_synchronize(struct hop_device *device, unsigned stream, struct hop_diag *diag)
{
    struct hop_host *host = (struct hop_host *)device;
    if (stream < HOP_DEVICE_STREAMS && host->streams[stream].started) {
        struct hop_host_stream *s = &host->streams[stream];
        (void)hop_counter_wait(&s->done, count_queued(s), NULL);
    }
    return hop_host_check(host, stream, diag);
}

/* What is queued is done first, unless it waits for another device. */
void hop_host_streams_finish(struct hop_host *host)
{
    atomic_store(&host->leaving, true);
    for (unsigned i = 0; i < HOP_DEVICE_STREAMS; i++) {
        struct hop_host_stream *s = &host->streams[i];
        if (!s->started)
            continue;
        (void)hop_counter_wait(&s->done, count_queued(s), NULL);
        queue(s, &(struct hop_host_work){.task = HOP_HOST_STOP});
        (void)pthread_join(s->thread, NULL);
    }
}
