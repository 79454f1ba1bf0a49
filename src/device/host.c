/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The host as a device. Its memory is shared memory, a segment an allocation: a handle is the segment's name, to import
 * is to map it, and once everybody has, the name is withdrawn. The processor copies and reduces, on the calling thread
 * (HOP_STREAM_NOW) or on those of streams.
 */
#include "device/host.h"

#include <stdio.h>
#include <sys/statvfs.h>

#include "base/base.h"

static struct hop_host *host_of(struct hop_device *device)
{
    return (struct hop_host *)device;
}

/* ---- opening ---- */

static enum hop_status host_count(uint32_t *count, struct hop_diag *diag)
{
    (void)diag;
    *count = UINT32_MAX;
    return HOP_OK;
}

enum hop_status hop_host_open(const struct hop_device_options *options, const struct hop_host_copier *copier,
                              struct hop_device **device, struct hop_diag *diag)
{
    if (options->copy_streams >= HOP_DEVICE_STREAMS)
        return hop_fail(diag, HOP_ERR_LIMIT, "%u copy streams\n1 to %d", options->copy_streams, HOP_DEVICE_STREAMS - 1);
    struct hop_host *host = aligned_alloc(_Alignof(struct hop_host), sizeof *host);
    if (!host)
        return hop_fail_memory(diag);
    memset(host, 0, offsetof(struct hop_host, streams)); /* rings stay untouched until they are used */
    host->device.ops = &hop_device_host;
    host->copy_streams = options->copy_streams ? options->copy_streams : 1;
    host->emulated = options->emulation != NULL;
    if (copier || options->emulation)
        host->copier = copier ? *copier : hop_emulated_copier(options->emulation);
    for (unsigned i = 0; i < HOP_DEVICE_STREAMS; i++) {
        memset(&host->streams[i], 0, offsetof(struct hop_host_stream, ring));
        host->streams[i].host = host;
    }
    atomic_flag_clear(&host->failing);
    *device = &host->device;
    return HOP_OK;
}

static enum hop_status host_open(const struct hop_device_options *options, struct hop_device **device,
                                 struct hop_diag *diag)
{
    return hop_host_open(options, NULL, device, diag);
}

static void host_close(struct hop_device *device)
{
    struct hop_host *host = host_of(device);
    if (!host)
        return;
    hop_host_streams_finish(host);
    hop_host_events_finish(host);
    for (uint32_t b = 0; b < host->block_count; b++)
        hop_shared_finish(&host->blocks[b]);
    free(host->blocks);
    free(host);
}

static void host_properties(const struct hop_device *device, struct hop_device_properties *properties)
{
    const struct hop_host *host = (const struct hop_host *)device;
    struct statvfs info;
    bool emulated = host->emulated;
    *properties = (struct hop_device_properties){
        .numa = -1, .copy_streams = host->copy_streams, .mapped = true, .immediate = !emulated, .timed = true};
    (void)snprintf(properties->name, sizeof properties->name, "%s", emulated ? "emulated" : "host");
    if (statvfs("/dev/shm", &info) == 0)
        properties->memory_bytes = (uint64_t)info.f_blocks * info.f_frsize;
}

/* ---- memory ---- */

static struct hop_shared *find_block(struct hop_host *host, const void *address)
{
    for (uint32_t b = 0; b < host->block_count; b++) {
        if (host->blocks[b].memory == address)
            return &host->blocks[b];
    }
    return NULL;
}

static enum hop_status add_block(struct hop_host *host, struct hop_shared *shared, void **address,
                                 struct hop_diag *diag)
{
    if (!hop_grow(&host->blocks, &host->block_capacity, host->block_count + 1, sizeof *host->blocks)) {
        hop_shared_finish(shared);
        return hop_fail_memory(diag);
    }
    host->blocks[host->block_count++] = *shared;
    *address = shared->memory;
    return HOP_OK;
}

static enum hop_status host_allocate(struct hop_device *device, uint64_t bytes, void **address, struct hop_diag *diag)
{
    struct hop_shared shared;
    enum hop_status status = hop_shared_create(bytes, &shared, diag);
    return status == HOP_OK ? add_block(host_of(device), &shared, address, diag) : status;
}

static void host_free(struct hop_device *device, void *address)
{
    struct hop_host *host = host_of(device);
    struct hop_shared *block = address ? find_block(host, address) : NULL;
    if (!block)
        return;
    hop_shared_finish(block);
    *block = host->blocks[--host->block_count];
}

static enum hop_status host_export_memory(struct hop_device *device, void *address, struct hop_device_handle *handle,
                                          struct hop_diag *diag)
{
    const struct hop_shared *block = find_block(host_of(device), address);
    if (!block || !block->named)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "memory at %p cannot be exported\n"
                        "the beginning of an allocation of this device that was not withdrawn",
                        address);
    hop_host_handle_write(HOP_HOST_MEMORY, block, 0, handle);
    return HOP_OK;
}

static enum hop_status host_import_memory(struct hop_device *device, const struct hop_device_handle *handle,
                                          void **address, struct hop_diag *diag)
{
    struct hop_host_handle content;
    struct hop_shared shared;
    enum hop_status status = hop_host_handle_read(handle, HOP_HOST_MEMORY, &content, diag);
    if (status == HOP_OK)
        status = hop_shared_attach(content.name, &shared, diag);
    return status == HOP_OK ? add_block(host_of(device), &shared, address, diag) : status;
}

/* NULL: its events. */
static void host_withdraw(struct hop_device *device, void *address)
{
    struct hop_shared *block = address ? find_block(host_of(device), address) : NULL;
    if (block)
        hop_shared_withdraw(block);
    else if (!address)
        hop_host_events_withdraw(host_of(device));
}

/* All are mapped alike. */
static enum hop_status host_reaches(struct hop_device *device, const char *place, bool *reaches, struct hop_diag *diag)
{
    (void)device;
    (void)place;
    (void)diag;
    *reaches = true;
    return HOP_OK;
}

/* Memory and events of others last as long as somebody has them. */
static bool host_release(struct hop_device *device)
{
    (void)device;
    return true;
}

static enum hop_status host_register(struct hop_device *device, void *address, uint64_t bytes, struct hop_diag *diag)
{
    (void)device;
    (void)address;
    (void)bytes;
    (void)diag;
    return HOP_OK;
}

static void host_unregister(struct hop_device *device, void *address)
{
    (void)device;
    (void)address;
}

/* ---- work ---- */

static enum hop_status host_copy(struct hop_device *device, unsigned stream, const struct hop_device_copy *copy,
                                 struct hop_diag *diag)
{
    const struct hop_host_work work = {.task = HOP_HOST_COPY, .copy = *copy};
    return stream == HOP_STREAM_NOW ? hop_host_copy_now(host_of(device), copy, diag)
                                    : hop_host_submit(host_of(device), stream, &work, diag);
}

static enum hop_status host_reduce(struct hop_device *device, unsigned stream, const struct hop_reduction *reduction,
                                   struct hop_diag *diag)
{
    struct hop_reduction none = *reduction;
    none.count = 0;
    enum hop_status status = hop_reduce_on_host(&none, diag); /* checks it */
    const struct hop_host_work work = {.task = HOP_HOST_REDUCE, .reduction = reduction};
    return status == HOP_OK ? hop_host_submit(host_of(device), stream, &work, diag) : status;
}

const struct hop_device_ops hop_device_host = {
    .facts = {.name = "host", .what = "shared memory of this machine", .on_processors = true},
    .count = host_count,
    .open = host_open,
    .close = host_close,
    .abandon = host_close, /* does not wait for others */
    .properties = host_properties,
    .reaches = host_reaches,
    .allocate = host_allocate,
    .free = host_free,
    .export_memory = host_export_memory,
    .import_memory = host_import_memory,
    .withdraw = host_withdraw,
    .release = host_release,
    .register_host = host_register,
    .unregister_host = host_unregister,
    .copy = host_copy,
    .reduce = host_reduce,
    .synchronize = hop_host_synchronize,
    .create_event = hop_host_create_event,
    .export_event = hop_host_export_event,
    .import_event = hop_host_import_event,
    .record = hop_host_record,
    .query = hop_host_query,
    .await = hop_host_await,
};
