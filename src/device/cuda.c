/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device `cuda`: a GPU through NVIDIA's driver API.
 *
 * Streams are the driver's, created at opening; none waits for the driver's default stream. A copy between device
 * memory and ordinary memory that was not registered is staged by the driver: the call returns late, and from device
 * memory only once what was queued before it has ended. Registered memory has no such waits.
 */
#include "device/cuda.h"

#include "base/base.h"

enum { NOW = HOP_DEVICE_STREAMS }; /* the place of HOP_STREAM_NOW in streams */

/* ---- calls and their errors ---- */

enum hop_status hop_cuda_enter(struct hop_cuda_device *device, struct hop_diag *diag)
{
    if (device->broken.status != HOP_OK) {
        if (diag)
            *diag = device->broken;
        return device->broken.status;
    }
    return HOP_CUDA(device, diag, cuCtxPushCurrent, device->context);
}

enum hop_status hop_cuda_leave(struct hop_cuda_device *device, enum hop_status status)
{
    struct hop_cuda_context *popped;
    (void)device->cuda->cuCtxPopCurrent(&popped);
    return status;
}

/* Errors of earlier work on the device, after which the driver does nothing more in this process. */
static bool is_fatal(int code)
{
    switch (code) {
    case 214: /* ECC_UNCORRECTABLE */
    case 220: /* NVLINK_UNCORRECTABLE */
    case 226: /* CONTAINED */
    case 700: /* ILLEGAL_ADDRESS */
    case 702: /* LAUNCH_TIMEOUT */
    case 709: /* CONTEXT_IS_DESTROYED */
    case 710: /* ASSERT */
    case 714: /* HARDWARE_STACK_ERROR */
    case 715: /* ILLEGAL_INSTRUCTION */
    case 716: /* MISALIGNED_ADDRESS */
    case 717: /* INVALID_ADDRESS_SPACE */
    case 718: /* INVALID_PC */
    case 719: /* LAUNCH_FAILED */
    case 911: /* EXTERNAL_DEVICE */
    case 999: /* UNKNOWN */
        return true;
    default:
        return false;
    }
}

enum hop_status hop_cuda_check(struct hop_cuda_device *device, const char *function, int code, struct hop_diag *diag)
{
    if (code == 0)
        return HOP_OK;
    enum hop_status status = hop_cuda_fail(device->cuda, function, code, diag);
    hop_diag_place(diag, "cuda %u", device->ordinal);
    if (is_fatal(code)) {
        (void)hop_cuda_fail(device->cuda, function, code, &device->broken);
        hop_diag_place(&device->broken, "cuda %u, earlier", device->ordinal);
        hop_diag_expect(&device->broken, "a new process: this one cannot use the device any more");
    }
    return status;
}

/* ---- streams ---- */

enum hop_status hop_cuda_stream_find(struct hop_cuda_device *device, unsigned stream, struct hop_cuda_stream **found,
                                     struct hop_diag *diag)
{
    unsigned place = stream == HOP_STREAM_NOW ? NOW : stream;
    if ((stream == HOP_STREAM_NOW || stream < HOP_DEVICE_STREAMS) && device->streams[place]) {
        *found = device->streams[place];
        return HOP_OK;
    }
    (void)hop_fail(diag, HOP_ERR_INVALID, "there is no stream %u", stream);
    hop_diag_place(diag, "cuda %u", device->ordinal);
    hop_diag_expect(diag, "0 to %u, %u (compute) or now", device->properties.copy_streams - 1, HOP_STREAM_COMPUTE);
    return HOP_ERR_INVALID;
}

enum hop_status hop_cuda_queued(struct hop_cuda_device *device, unsigned stream, enum hop_status status,
                                struct hop_diag *diag)
{
    if (status == HOP_OK && stream == HOP_STREAM_NOW)
        status = HOP_CUDA(device, diag, cuStreamSynchronize, device->streams[NOW]);
    return status;
}

static enum hop_status synchronize(struct hop_device *base, unsigned stream, struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    struct hop_cuda_stream *found;
    enum hop_status status = hop_cuda_stream_find(device, stream, &found, diag);
    if (status == HOP_OK)
        status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    return hop_cuda_leave(device, HOP_CUDA(device, diag, cuStreamSynchronize, found));
}

static enum hop_status copy(struct hop_device *base, unsigned stream, const struct hop_device_copy *work,
                            struct hop_diag *diag)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    struct hop_cuda_stream *found;
    enum hop_status status = hop_cuda_stream_find(device, stream, &found, diag);
    if (status == HOP_OK)
        status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    if (work->bytes) {
        status = HOP_CUDA(device, diag, cuMemcpyAsync, (uintptr_t)work->to, (uintptr_t)work->from, work->bytes, found);
        status = hop_cuda_queued(device, stream, status, diag);
    }
    return hop_cuda_leave(device, status);
}

/* ---- opening ---- */

static enum hop_status count(uint32_t *number, struct hop_diag *diag)
{
    const struct hop_cuda *cuda;
    int found = 0;
    enum hop_status status = hop_cuda_load(&cuda, diag);
    if (status != HOP_OK)
        return status;
    int code = cuda->cuDeviceGetCount(&found);
    if (code != 0)
        return hop_cuda_fail(cuda, "cuDeviceGetCount", code, diag);
    *number = (uint32_t)found;
    return HOP_OK;
}

static enum hop_status attribute(struct hop_cuda_device *device, int which, unsigned *value, struct hop_diag *diag)
{
    int found = 0;
    enum hop_status status = HOP_CUDA(device, diag, cuDeviceGetAttribute, &found, which, device->number);
    *value = found > 0 ? (unsigned)found : 0;
    return status;
}

static enum hop_status read_properties(struct hop_cuda_device *device, unsigned copy_streams, struct hop_diag *diag)
{
    struct hop_device_properties *properties = &device->properties;
    unsigned engines = 0, unified = 0;
    size_t bytes = 0;
    enum hop_status status =
        HOP_CUDA(device, diag, cuDeviceGetName, properties->name, (int)sizeof properties->name - 1, device->number);
    if (status == HOP_OK)
        status = HOP_CUDA(device, diag, cuDeviceTotalMem, &bytes, device->number);
    if (status == HOP_OK)
        status = attribute(device, HOP_CUDA_PROCESSORS, &device->processors, diag);
    if (status == HOP_OK)
        status = attribute(device, HOP_CUDA_COPY_ENGINES, &engines, diag);
    if (status == HOP_OK)
        status = attribute(device, HOP_CUDA_UNIFIED_ADDRESSING, &unified, diag);
    if (status != HOP_OK)
        return status;
    if (!unified) {
        (void)hop_fail(diag, HOP_ERR_UNSUPPORTED, "%s has no unified addressing", properties->name);
        hop_diag_place(diag, "cuda %u", device->ordinal);
        return HOP_ERR_UNSUPPORTED;
    }
    if (copy_streams == 0)
        copy_streams = engines ? engines : 1;
    properties->copy_streams = copy_streams < HOP_STREAM_COMPUTE ? copy_streams : HOP_STREAM_COMPUTE;
    properties->memory_bytes = bytes;
    return HOP_OK;
}

static enum hop_status create_streams(struct hop_cuda_device *device, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (unsigned i = 0; i <= NOW && status == HOP_OK; i++) {
        if (i < device->properties.copy_streams || i >= HOP_STREAM_COMPUTE)
            status = HOP_CUDA(device, diag, cuStreamCreate, &device->streams[i], HOP_CUDA_STREAM_NON_BLOCKING);
    }
    return status;
}

static void close_device(struct hop_device *base)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    if (!base)
        return;
    /* In the order of use: work, then what it works on. After a fatal error calls fail, which leaves no more to do. */
    if (device->context && device->cuda->cuCtxPushCurrent(device->context) == 0) {
        for (unsigned i = 0; i <= NOW; i++) {
            if (device->streams[i])
                (void)device->cuda->cuStreamSynchronize(device->streams[i]);
        }
        hop_cuda_event_finish(device);
        hop_cuda_memory_finish(device);
        if (device->kernels)
            (void)device->cuda->cuModuleUnload(device->kernels);
        for (unsigned i = 0; i <= NOW; i++) {
            if (device->streams[i])
                (void)device->cuda->cuStreamDestroy(device->streams[i]);
        }
        (void)hop_cuda_leave(device, HOP_OK);
    }
    if (device->context)
        (void)device->cuda->cuDevicePrimaryCtxRelease(device->number);
    free(device);
}

/* Every call that frees waits for the device's work. So the driver keeps all it has until the process ends. */
static void abandon(struct hop_device *base)
{
    struct hop_cuda_device *device = (struct hop_cuda_device *)base;
    if (!base)
        return;
    hop_cuda_event_forget(device);
    hop_cuda_memory_forget(device);
    free(device);
}

static enum hop_status start(struct hop_cuda_device *device, const struct hop_device_options *options,
                             struct hop_diag *diag)
{
    enum hop_status status = HOP_CUDA(device, diag, cuDeviceGet, &device->number, (int)options->index);
    if (status == HOP_OK)
        status = read_properties(device, options->copy_streams, diag);
    if (status == HOP_OK)
        status = HOP_CUDA(device, diag, cuDevicePrimaryCtxRetain, &device->context, device->number);
    if (status == HOP_OK)
        status = hop_cuda_enter(device, diag);
    if (status != HOP_OK)
        return status;
    status = create_streams(device, diag);
    if (status == HOP_OK)
        hop_cuda_kernels_load(device);
    return hop_cuda_leave(device, status);
}

static enum hop_status open_device(const struct hop_device_options *options, struct hop_device **opened,
                                   struct hop_diag *diag)
{
    const struct hop_cuda *cuda;
    uint32_t devices = 0;
    enum hop_status status = count(&devices, diag);
    if (status == HOP_OK)
        status = hop_cuda_load(&cuda, diag);
    if (status != HOP_OK)
        return status;
    if (options->index >= devices) {
        (void)hop_fail(diag, HOP_ERR_NOT_FOUND, "there is no CUDA device %u", options->index);
        hop_diag_expect(diag, "one of the %u that the driver sees, counted from 0", devices);
        return HOP_ERR_NOT_FOUND;
    }
    struct hop_cuda_device *device = calloc(1, sizeof *device);
    if (!device)
        return hop_fail_memory(diag);
    device->base.ops = &hop_device_cuda;
    device->cuda = cuda;
    device->ordinal = options->index;
    status = start(device, options, diag);
    if (status == HOP_OK)
        *opened = &device->base;
    else
        close_device(&device->base);
    return status;
}

static void properties(const struct hop_device *base, struct hop_device_properties *found)
{
    *found = ((const struct hop_cuda_device *)base)->properties;
}

/* Memory of a GPU has no name in the system. */
static void withdraw(struct hop_device *device, void *address)
{
    (void)device;
    (void)address;
}

const struct hop_device_ops hop_device_cuda = {
    .name = "cuda",
    .count = count,
    .open = open_device,
    .close = close_device,
    .abandon = abandon,
    .properties = properties,
    .allocate = hop_cuda_allocate,
    .free = hop_cuda_free,
    .export_memory = hop_cuda_export_memory,
    .import_memory = hop_cuda_import_memory,
    .release_memory = hop_cuda_release_memory,
    .withdraw = withdraw,
    .register_host = hop_cuda_register_host,
    .unregister_host = hop_cuda_unregister_host,
    .copy = copy,
    .reduce = hop_cuda_reduce,
    .synchronize = synchronize,
    .create_event = hop_cuda_create_event,
    .destroy_event = hop_cuda_destroy_event,
    .export_event = hop_cuda_export_event,
    .import_event = hop_cuda_import_event,
    .record = hop_cuda_record,
    .query = hop_cuda_query,
    .await = hop_cuda_await,
};
