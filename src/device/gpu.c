/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The devices `cuda` and `hip`: a GPU through the API of NVIDIA's or AMD's driver.
 *
 * Streams are the driver's, created at opening; none waits for the driver's default stream. A copy between device
 * memory and ordinary memory that was not registered is staged by the driver: the call returns late, and from device
 * memory only once what was queued before it has ended. Registered memory has no such waits.
 */
#include "device/gpu.h"

#include "base/numa.h"

#define GRAIN_BYTES ((uint64_t)2 << 20)
enum { NOW = HOP_DEVICE_STREAMS }; /* the place of HOP_STREAM_NOW in streams */

static struct hop_gpu_event *event_of(const struct hop_event *event)
{
    return (struct hop_gpu_event *)((const struct hop_gpu_held *)(const void *)event)->what;
}

static struct hop_event *event_held(struct hop_gpu_held *held)
{
    return (struct hop_event *)(void *)held;
}

/* ---- opening ---- */

static enum hop_status count(const struct hop_gpu_dialect *dialect, uint32_t *number, struct hop_diag *diag)
{
    const struct hop_gpu *driver;
    int found = 0;
    HOP_CHECK(hop_gpu_load(dialect, &driver, diag));
    int code = driver->cuDeviceGetCount(&found);
    if (code != 0)
        return hop_gpu_fail(driver, "cuDeviceGetCount", code, diag);
    *number = (uint32_t)found;
    return HOP_OK;
}

/* What the driver cannot be asked, or does not answer, is `otherwise`. */
static int attribute(struct hop_gpu_call *call, enum hop_gpu_attribute which, int otherwise)
{
    int found = otherwise, number = call->device->driver->dialect->attributes[which];
    if (number >= 0)
        (void)HOP_GPU(call, cuDeviceGetAttribute, &found, number, call->device->number);
    return found;
}

/* One that drivers before CUDA 12.2 do not know; -1: not known. */
static int attribute_if_known(const struct hop_gpu_call *call, enum hop_gpu_attribute which)
{
    int found = -1, number = call->device->driver->dialect->attributes[which];
    if (call->status != HOP_OK || number < 0 ||
        call->device->driver->cuDeviceGetAttribute(&found, number, call->device->number) != 0)
        found = -1;
    return found;
}

/* Two streams in one of the driver's queues may wait for each other, which they must not where other processes wait for them. So
 * there are no more streams than queues: one for reductions, one for `now`, copies to and from the host one each, or one
 * together where queues are few (they wait for nobody), and the rest for other copies. */
static bool has_two_ways(const struct hop_gpu_device *device)
{
    return device->driver->dialect->queues >= 8;
}

static void read_properties(struct hop_gpu_call *call, unsigned copy_streams)
{
    struct hop_gpu_device *device = call->device;
    struct hop_device_properties *properties = &device->properties;
    const unsigned most = device->driver->dialect->queues - (has_two_ways(device) ? 4 : 3); /* what others leave */
    size_t bytes = 0;
    (void)HOP_GPU(call, cuDeviceGetPCIBusId, properties->place, (int)sizeof properties->place, device->number);
    (void)HOP_GPU(call, cuDeviceGetName, properties->name, (int)sizeof properties->name - 1, device->number);
    (void)HOP_GPU(call, cuDeviceTotalMem, &bytes, device->number);
    device->processors = (unsigned)attribute(call, HOP_GPU_PROCESSORS, 1);
    if (copy_streams == 0)
        copy_streams = (unsigned)attribute(call, HOP_GPU_COPY_ENGINES, 2);
    if (!attribute(call, HOP_GPU_UNIFIED_ADDRESSING, 1))
        hop_gpu_refuse(call, HOP_ERR_UNSUPPORTED, "%s has no unified addressing", properties->name);
    properties->copy_streams = copy_streams < 1 ? 1 : copy_streams < most ? copy_streams : most;
    properties->memory_bytes = bytes;
    properties->numa = attribute_if_known(call, HOP_GPU_HOST_NUMA);
    if (properties->numa < 0)
        properties->numa = hop_numa_of_pci(hop_pci_address(properties->place));
    device->shares_events = attribute_if_known(call, HOP_GPU_SHARES_EVENTS) != 0;
    properties->timed = true;
}

static void close_device(struct hop_device *base)
{
    struct hop_gpu_device *device = (struct hop_gpu_device *)base;
    struct hop_gpu_context *popped;
    if (!base)
        return;
    /* In the order of use: work, then what it works on. After a fatal error calls fail, which leaves no more to do. */
    bool entered = device->context && device->driver->cuCtxPushCurrent(device->context) == 0;
    for (unsigned i = 0; i <= NOW && entered; i++) {
        if (device->streams[i])
            (void)device->driver->cuStreamSynchronize(device->streams[i]);
    }
    (void)hop_gpu_drop_all(device, UINT32_MAX, entered);
    hop_gpu_time_finish(device);
    if (entered && device->kernels)
        (void)device->driver->cuModuleUnload(device->kernels);
    for (unsigned i = 0; i <= NOW && entered; i++) {
        if (device->streams[i] && (i != HOP_STREAM_FROM_HOST || has_two_ways(device)))
            (void)device->driver->cuStreamDestroy(device->streams[i]);
    }
    if (entered)
        (void)device->driver->cuCtxPopCurrent(&popped);
    if (device->context)
        (void)device->driver->cuDevicePrimaryCtxRelease(device->number);
    free(device);
}

/* Every call that frees waits for the device's work. So the driver keeps all it has until the process ends. */
static void abandon(struct hop_device *base)
{
    struct hop_gpu_device *device = (struct hop_gpu_device *)base;
    if (device) {
        (void)hop_gpu_drop_all(device, UINT32_MAX, false);
        hop_gpu_time_finish(device);
    }
    free(base);
}

static enum hop_status start(struct hop_gpu_device *device, const struct hop_device_options *options,
                             struct hop_diag *diag)
{
    struct hop_gpu_call opening = {.device = device, .diag = diag};
    if (HOP_GPU(&opening, cuDeviceGet, &device->number, device->ordinal))
        read_properties(&opening, options->copy_streams);
    if (!HOP_GPU(&opening, cuDevicePrimaryCtxRetain, &device->context, device->number))
        return opening.status;
    struct hop_gpu_call call = hop_gpu_begin(&device->base, diag);
    for (unsigned i = 0; i <= NOW; i++) {
        if (i == HOP_STREAM_FROM_HOST && !has_two_ways(device))
            device->streams[i] = device->streams[HOP_STREAM_TO_HOST];
        else if (i < device->properties.copy_streams || i >= HOP_STREAM_TO_HOST)
            (void)HOP_GPU(&call, cuStreamCreate, &device->streams[i], HOP_GPU_STREAM_NON_BLOCKING);
    }
    if (call.status == HOP_OK)
        hop_gpu_kernels_load(device);
    return hop_gpu_end(&call);
}

static enum hop_status open_device(const struct hop_device_ops *ops, const struct hop_gpu_dialect *dialect,
                                   const struct hop_device_options *options, struct hop_device **opened,
                                   struct hop_diag *diag)
{
    const struct hop_gpu *driver;
    int ordinal = 0;
    HOP_CHECK(hop_gpu_load(dialect, &driver, diag));
    HOP_CHECK(hop_gpu_seek(driver, options, &ordinal, diag));
    struct hop_gpu_device *device = calloc(1, sizeof *device);
    if (!device)
        return hop_fail_memory(diag);
    device->base.ops = ops;
    device->driver = driver;
    device->ordinal = ordinal;
    enum hop_status status = start(device, options, diag);
    if (status == HOP_OK)
        *opened = &device->base;
    else
        close_device(&device->base);
    return status;
}

static void properties(const struct hop_device *base, struct hop_device_properties *found)
{
    *found = ((const struct hop_gpu_device *)base)->properties;
}

/* ---- memory ---- */

/* The driver shares memory between processes in grains of 2 MiB and packs small allocations into one; an allocation is
 * rounded up to whole grains, so that nothing is shared but what was asked for. It is zeroed on a stream of ours, since
 * those do not wait for the default one. */
static enum hop_status allocate(struct hop_device *base, uint64_t bytes, void **address, struct hop_diag *diag)
{
    hop_gpu_address found = 0;
    if (bytes > UINT64_MAX - GRAIN_BYTES)
        return hop_fail_memory(diag);
    uint64_t whole = bytes ? (bytes + GRAIN_BYTES - 1) / GRAIN_BYTES * GRAIN_BYTES : GRAIN_BYTES;
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    (void)HOP_GPU(&call, cuMemAlloc, &found, whole);
    struct hop_gpu_held *held = hop_gpu_hold(&call, HOP_GPU_ALLOCATED, (uintptr_t)found);
    if (held) {
        (void)HOP_GPU(&call, cuMemsetD8Async, found, 0, whole, call.device->streams[NOW]);
        hop_gpu_queued(&call, HOP_STREAM_NOW);
        if (call.status == HOP_OK)
            *address = (void *)(uintptr_t)found;
        else
            hop_gpu_drop(call.device, held);
    }
    return hop_gpu_end(&call);
}

static void free_memory(struct hop_device *base, void *address)
{
    struct hop_gpu_device *device = (struct hop_gpu_device *)base;
    hop_gpu_drop(device, hop_gpu_find(device, HOP_GPU_MEMORY, (uintptr_t)address));
}

static enum hop_status export_memory(struct hop_device *base, void *address, struct hop_device_handle *handle,
                                     struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    if (!hop_gpu_find(call.device, HOP_GPU_ALLOCATED, (uintptr_t)address))
        hop_gpu_refuse(&call, HOP_ERR_INVALID,
                       "%p was not allocated on this device\nthe address that `allocate` returned", address);
    hop_gpu_export(&call, HOP_GPU_ALLOCATED, (uintptr_t)address, handle);
    return hop_gpu_end(&call);
}

static enum hop_status import_memory(struct hop_device *base, const struct hop_device_handle *handle, void **address,
                                     struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    const struct hop_gpu_held *held = hop_gpu_import(&call, HOP_GPU_ALLOCATED, handle);
    if (held)
        *address = (void *)held->what;
    return hop_gpu_end(&call);
}

/* Memory of a GPU has no name in the system. */
static void withdraw(struct hop_device *device, void *address)
{
    (void)device;
    (void)address;
}

/* Memory that another device of this process registered already is as fast here. */
static enum hop_status register_host(struct hop_device *base, void *address, uint64_t bytes, struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    int code =
        call.entered ? call.device->driver->cuMemHostRegister(address, bytes, HOP_GPU_REGISTER_PORTABLE) : HOP_OK;
    if (code != HOP_GPU_HOST_ALREADY_REGISTERED && hop_gpu_check(&call, "cuMemHostRegister", code))
        (void)hop_gpu_hold(&call, HOP_GPU_REGISTERED, (uintptr_t)address);
    return hop_gpu_end(&call);
}

static void unregister_host(struct hop_device *base, void *address)
{
    struct hop_gpu_device *device = (struct hop_gpu_device *)base;
    hop_gpu_drop(device, hop_gpu_find(device, HOP_GPU_REGISTERED, (uintptr_t)address));
}

static bool release(struct hop_device *base)
{
    struct hop_gpu_call call = hop_gpu_begin(base, NULL);
    bool all = hop_gpu_drop_all(call.device, HOP_GPU_OTHERS, call.entered);
    (void)hop_gpu_end(&call);
    return all;
}

/* ---- work ---- */

static enum hop_status copy(struct hop_device *base, unsigned stream, const struct hop_device_copy *work,
                            struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    struct hop_gpu_stream *on = hop_gpu_stream(&call, stream);
    struct hop_gpu_timer *timer = hop_gpu_time_begin(&call, stream, work->span_s);
    if (work->bytes)
        (void)HOP_GPU(&call, cuMemcpyAsync, (uintptr_t)work->to, (uintptr_t)work->from, work->bytes, on);
    hop_gpu_time_end(&call, stream, timer);
    if (work->bytes)
        hop_gpu_queued(&call, stream);
    return hop_gpu_end(&call);
}

static enum hop_status synchronize(struct hop_device *base, unsigned stream, struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    struct hop_gpu_stream *on = hop_gpu_stream(&call, stream);
    if (HOP_GPU(&call, cuStreamSynchronize, on))
        hop_gpu_time_look(&call);
    return hop_gpu_end(&call);
}

/* ---- events: the driver's, without time stamps; one that is exported is made anew, for use between processes ---- */

static enum hop_status create_event(struct hop_device *base, struct hop_event **event, struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    struct hop_gpu_event *made = NULL;
    (void)HOP_GPU(&call, cuEventCreate, &made, HOP_GPU_EVENT_DISABLE_TIMING);
    struct hop_gpu_held *held = hop_gpu_hold(&call, HOP_GPU_EVENT, (uintptr_t)made);
    if (held)
        *event = event_held(held);
    return hop_gpu_end(&call);
}

static enum hop_status export_event(struct hop_device *base, struct hop_event *event, struct hop_device_handle *handle,
                                    struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    struct hop_gpu_held *held = (struct hop_gpu_held *)(void *)event;
    struct hop_gpu_event *made = NULL;
    const unsigned flags = HOP_GPU_EVENT_DISABLE_TIMING | HOP_GPU_EVENT_INTERPROCESS;
    bool hip = call.device->driver->dialect == &hop_gpu_hip; /* ROCm 5.2 cannot be asked, and then says 1 */
    if (!call.device->shares_events ||
        (call.status == HOP_OK && hip && call.device->driver->cuEventCreate(&made, flags) != 0))
        hop_gpu_refuse(&call, HOP_ERR_UNSUPPORTED, "this driver has no events for use between processes");
    else if (!hip)
        (void)HOP_GPU(&call, cuEventCreate, &made, flags);
    if (made) {
        (void)HOP_GPU(&call, cuEventDestroy, event_of(event));
        held->what = (uintptr_t)made;
    }
    hop_gpu_export(&call, HOP_GPU_EVENT, held->what, handle);
    return hop_gpu_end(&call);
}

static enum hop_status import_event(struct hop_device *base, const struct hop_device_handle *handle,
                                    struct hop_event **event, struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    struct hop_gpu_held *held = hop_gpu_import(&call, HOP_GPU_EVENT, handle);
    if (held)
        *event = event_held(held);
    return hop_gpu_end(&call);
}

static enum hop_status record(struct hop_device *base, unsigned stream, struct hop_event *event, struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    struct hop_gpu_stream *on = hop_gpu_stream(&call, stream);
    (void)HOP_GPU(&call, cuEventRecord, event_of(event), on);
    return hop_gpu_end(&call);
}

static enum hop_status query(struct hop_device *base, struct hop_event *event, bool *ended, struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    int code = call.entered ? call.device->driver->cuEventQuery(event_of(event)) : HOP_GPU_NOT_READY;
    *ended = code == 0;
    if (code != HOP_GPU_NOT_READY && hop_gpu_check(&call, "cuEventQuery", code))
        hop_gpu_time_look(&call);
    return hop_gpu_end(&call);
}

static enum hop_status await(struct hop_device *base, unsigned stream, struct hop_event *event, struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    struct hop_gpu_stream *on = hop_gpu_stream(&call, stream);
    (void)HOP_GPU(&call, cuStreamWaitEvent, on, event_of(event), 0);
    hop_gpu_queued(&call, stream);
    return hop_gpu_end(&call);
}

/* ---- the tables ---- */

static enum hop_status count_cuda(uint32_t *number, struct hop_diag *diag)
{
    return count(&hop_gpu_cuda, number, diag);
}

static enum hop_status count_hip(uint32_t *number, struct hop_diag *diag)
{
    return count(&hop_gpu_hip, number, diag);
}

static enum hop_status open_cuda(const struct hop_device_options *options, struct hop_device **opened,
                                 struct hop_diag *diag)
{
    return open_device(&hop_device_cuda, &hop_gpu_cuda, options, opened, diag);
}

static enum hop_status open_hip(const struct hop_device_options *options, struct hop_device **opened,
                                struct hop_diag *diag)
{
    return open_device(&hop_device_hip, &hop_gpu_hip, options, opened, diag);
}

#define SAME                                                                                                           \
    .close = close_device, .abandon = abandon, .properties = properties, .reaches = hop_gpu_reaches,                   \
    .allocate = allocate, .free = free_memory, .export_memory = export_memory, .import_memory = import_memory,         \
    .withdraw = withdraw, .release = release, .register_host = register_host, .unregister_host = unregister_host,      \
    .copy = copy, .reduce = hop_gpu_reduce, .synchronize = synchronize, .create_event = create_event,                  \
    .export_event = export_event, .import_event = import_event, .record = record, .query = query, .await = await

const struct hop_device_ops hop_device_cuda = {
    .facts = {.name = "cuda", .what = "NVIDIA GPUs"}, .count = count_cuda, .open = open_cuda, SAME};
const struct hop_device_ops hop_device_hip = {
    .facts = {.name = "hip", .what = "AMD GPUs"}, .count = count_hip, .open = open_hip, SAME};
