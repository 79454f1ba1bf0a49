/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated device: a host device (host.c) with another copier. A copy with a way goes through emulated links and
 * keeps its thread, a stream's or the caller's, until it has arrived. What reads and writes the device's own memory, a
 * reduction or a copy there, keeps it for as long as the emulated memory takes. All else is the host's.
 */
#include <stdio.h>

#include "base/base.h"
#include "base/clock.h"
#include "device/emulated.h"
#include "device/host.h"
#include "device/reduce_host.h"

static void tell_span(double *span_s, double start_s, double end_s)
{
    if (!span_s)
        return;
    span_s[0] = start_s;
    span_s[1] = end_s;
}

/* Every byte is read and written. */
static enum hop_status copy_in_memory(void *emulation, const struct hop_device_copy *copy, struct hop_diag *diag)
{
    double start_s = hop_now_s(), end_s;
    hop_copy_on_host(copy->to, copy->from, copy->bytes);
    double traffic_bytes = copy->way == HOP_MEMORY_WAY ? 2.0 * (double)copy->bytes : 0;
    enum hop_status status = hop_emulation_hold(emulation, start_s, traffic_bytes, &end_s, diag);
    tell_span(copy->span_s, start_s, end_s);
    return status;
}

static enum hop_status emulated_copy(void *emulation, const struct hop_device_copy *copy, struct hop_diag *diag)
{
    struct hop_emulated_times times;
    if (copy->way == HOP_NO_WAY || copy->way == HOP_MEMORY_WAY)
        return copy_in_memory(emulation, copy, diag);
    enum hop_status status = hop_emulation_copy(emulation, copy->way, copy->to, copy->from, copy->bytes, &times, diag);
    if (status == HOP_OK)
        tell_span(copy->span_s, hop_emulation_clock_s(emulation, times.posted_s),
                  hop_emulation_clock_s(emulation, times.end_s));
    return status;
}

static enum hop_status emulated_reduce(void *emulation, const struct hop_reduction *reduction, struct hop_diag *diag)
{
    double start_s = hop_now_s(), end_s;
    double places = reduction->input_count + (double)reduction->output_count;
    double traffic_bytes = places * (double)(reduction->count * hop_type_bytes(reduction->type));
    enum hop_status status = hop_reduce_on_host(reduction, diag);
    return status == HOP_OK ? hop_emulation_hold(emulation, start_s, traffic_bytes, &end_s, diag) : status;
}

static enum hop_status emulated_open(const struct hop_device_options *options, struct hop_device **device,
                                     struct hop_diag *diag)
{
    if (!options->emulation)
        return hop_fail(diag, HOP_ERR_INVALID, "an emulated device needs an emulation of links");
    struct hop_host_copier copier = {.copy = emulated_copy, .reduce = emulated_reduce, .context = options->emulation};
    enum hop_status status = hop_host_open(options, &copier, device, diag);
    if (status == HOP_OK)
        (*device)->ops = &hop_device_emulated;
    return status;
}

static void emulated_properties(const struct hop_device *device, struct hop_device_properties *properties)
{
    hop_device_host.properties(device, properties);
    (void)snprintf(properties->name, sizeof properties->name, "emulated");
    properties->immediate = false;
}

/* ---- the host's, by its table ---- */

static enum hop_status emulated_count(uint32_t *count, struct hop_diag *diag)
{
    return hop_device_host.count(count, diag);
}

static void emulated_close(struct hop_device *device)
{
    hop_device_host.close(device);
}

static enum hop_status emulated_allocate(struct hop_device *device, uint64_t bytes, void **address,
                                         struct hop_diag *diag)
{
    return hop_device_host.allocate(device, bytes, address, diag);
}

static void emulated_free(struct hop_device *device, void *address)
{
    hop_device_host.free(device, address);
}

static enum hop_status emulated_export(struct hop_device *device, void *address, struct hop_device_handle *handle,
                                       struct hop_diag *diag)
{
    return hop_device_host.export_memory(device, address, handle, diag);
}

static enum hop_status emulated_import(struct hop_device *device, const struct hop_device_handle *handle,
                                       void **address, struct hop_diag *diag)
{
    return hop_device_host.import_memory(device, handle, address, diag);
}

static void emulated_withdraw(struct hop_device *device, void *address)
{
    hop_device_host.withdraw(device, address);
}

static enum hop_status emulated_register(struct hop_device *device, void *address, uint64_t bytes,
                                         struct hop_diag *diag)
{
    return hop_device_host.register_host(device, address, bytes, diag);
}

static void emulated_unregister(struct hop_device *device, void *address)
{
    hop_device_host.unregister_host(device, address);
}

const struct hop_device_ops hop_device_emulated = {
    .name = "emulated",
    .count = emulated_count,
    .open = emulated_open,
    .close = emulated_close,
    .abandon = emulated_close,
    .properties = emulated_properties,
    .allocate = emulated_allocate,
    .free = emulated_free,
    .export_memory = emulated_export,
    .import_memory = emulated_import,
    .withdraw = emulated_withdraw,
    .register_host = emulated_register,
    .unregister_host = emulated_unregister,
    .copy = hop_host_copy,
    .reduce = hop_host_reduce,
    .synchronize = hop_host_synchronize,
    .create_event = hop_host_create_event,
    .destroy_event = hop_host_destroy_event,
    .export_event = hop_host_export_event,
    .import_event = hop_host_import_event,
    .record = hop_host_record,
    .query = hop_host_query,
    .await = hop_host_await,
};
