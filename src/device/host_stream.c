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
#include "device/host.h"

#include <signal.h>

#include "base/base.h"
#include "base/clock.h"
#include "device/reduce_host.h"

enum hop_status hop_host_check(struct hop_host *host, struct hop_diag *diag)
{
    if (!atomic_load_explicit(&host->failed, memory_order_acquire))
        return HOP_OK;
    if (diag)
        *diag = host->failure;
    return host->failure.status;
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

static enum hop_status copy_now(struct hop_host *host, const struct hop_device_copy *copy, struct hop_diag *diag)
{
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

static enum hop_status reduce_now(struct hop_host *host, const struct hop_reduction *reduction, struct hop_diag *diag)
{
    if (host->copier.reduce)
        return host->copier.reduce(host->copier.context, reduction, diag);
    return hop_reduce_on_host(reduction, diag);
}

static enum hop_status await_now(struct hop_host *host, const struct hop_host_work *work, struct hop_diag *diag)
{
    if (hop_counter_wait(work->counter, work->sequence, work->foreign ? &host->leaving : &host->failed))
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_DEADLOCK, "the device was closed while a stream waited for another device's event");
}

static enum hop_status perform(struct hop_host *host, struct hop_host_work *work, struct hop_diag *diag)
{
    switch (work->task) {
    case HOP_HOST_COPY:
        return copy_now(host, &work->copy, diag);
    case HOP_HOST_REDUCE:
        return reduce_now(host, &work->reduction, diag);
    case HOP_HOST_RECORD:
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
        struct hop_host_work *work = &stream->ring[number % HOP_HOST_RING];
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

/* Signals are for the threads of the program. */
static enum hop_status start(struct hop_host_stream *stream, struct hop_diag *diag)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = pthread_create(&stream->thread, NULL, work_on, stream);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (error)
        return hop_fail(diag, HOP_ERR_MEMORY, "cannot start a stream's thread: %s", strerror(error));
    stream->started = true;
    return HOP_OK;
}

static enum hop_status check_stream(const struct hop_host *host, unsigned stream, struct hop_diag *diag)
{
    if (stream < host->copy_streams || stream == HOP_STREAM_COMPUTE || stream == HOP_STREAM_NOW)
        return HOP_OK;
    hop_fail(diag, HOP_ERR_INVALID, "the device has no stream %u", stream);
    hop_diag_expect(diag, "below %u, or the one that computes", host->copy_streams);
    return HOP_ERR_INVALID;
}

static uint32_t count_queued(const struct hop_host_stream *s)
{
    return atomic_load_explicit(&s->queued.value, memory_order_relaxed);
}

enum hop_status hop_host_prepare(struct hop_host *host, unsigned stream, bool starts, struct hop_host_work **work,
                                 struct hop_diag *diag)
{
    enum hop_status status = check_stream(host, stream, diag);
    if (status == HOP_OK)
        status = hop_host_check(host, diag);
    *work = NULL;
    if (status != HOP_OK || stream == HOP_STREAM_NOW)
        return status;
    struct hop_host_stream *s = &host->streams[stream];
    if (!s->started && (!starts || (status = start(s, diag)) != HOP_OK))
        return status;
    uint32_t queued = count_queued(s);
    if (!hop_counter_reached(&s->done, queued + 1 - HOP_HOST_RING))
        (void)hop_counter_wait(&s->done, queued + 1 - HOP_HOST_RING, NULL);
    *work = &s->ring[queued % HOP_HOST_RING];
    return HOP_OK;
}

void hop_host_queue(struct hop_host *host, unsigned stream)
{
    struct hop_host_stream *s = &host->streams[stream];
    hop_counter_advance(&s->queued, count_queued(s) + 1);
}

enum hop_status hop_host_copy(struct hop_device *device, unsigned stream, const struct hop_device_copy *copy,
                              struct hop_diag *diag)
{
    struct hop_host *host = (struct hop_host *)device;
    struct hop_host_work *work;
    enum hop_status status = hop_host_prepare(host, stream, true, &work, diag);
    if (status != HOP_OK || !work)
        return status != HOP_OK ? status : copy_now(host, copy, diag);
    work->task = HOP_HOST_COPY;
    work->copy = *copy;
    hop_host_queue(host, stream);
    return HOP_OK;
}

enum hop_status hop_host_reduce(struct hop_device *device, unsigned stream, const struct hop_reduction *reduction,
                                struct hop_diag *diag)
{
    struct hop_host *host = (struct hop_host *)device;
    struct hop_host_work *work;
    const struct hop_reduction none = {.reduce = reduction->reduce,
                                       .type = reduction->type,
                                       .input_count = reduction->input_count,
                                       .output_count = reduction->output_count};
    enum hop_status status = hop_reduce_on_host(&none, diag); /* checks it */
    if (status == HOP_OK)
        status = hop_host_prepare(host, stream, true, &work, diag);
    if (status != HOP_OK || !work)
        return status != HOP_OK ? status : reduce_now(host, reduction, diag);
    memcpy(work->inputs, reduction->inputs, reduction->input_count * sizeof *work->inputs);
    memcpy(work->outputs, reduction->outputs, reduction->output_count * sizeof *work->outputs);
    work->task = HOP_HOST_REDUCE;
    work->reduction = *reduction;
    work->reduction.inputs = work->inputs;
    work->reduction.outputs = work->outputs;
    hop_host_queue(host, stream);
    return HOP_OK;
}

enum hop_status hop_host_synchronize(struct hop_device *device, unsigned stream, struct hop_diag *diag)
{
    struct hop_host *host = (struct hop_host *)device;
    enum hop_status status = check_stream(host, stream, diag);
    if (status != HOP_OK)
        return status;
    if (stream != HOP_STREAM_NOW && host->streams[stream].started) {
        struct hop_host_stream *s = &host->streams[stream];
        (void)hop_counter_wait(&s->done, count_queued(s), NULL);
    }
    return hop_host_check(host, diag);
}

/* What is queued is done first, unless it waits for another device. */
void hop_host_streams_finish(struct hop_host *host)
{
    atomic_store(&host->leaving, true);
    for (unsigned i = 0; i < HOP_DEVICE_STREAMS; i++) {
        struct hop_host_stream *s = &host->streams[i];
        if (!s->started)
            continue;
        uint32_t queued = count_queued(s);
        (void)hop_counter_wait(&s->done, queued, NULL);
        s->ring[queued % HOP_HOST_RING].task = HOP_HOST_STOP;
        hop_host_queue(host, i);
        (void)pthread_join(s->thread, NULL);
    }
}
