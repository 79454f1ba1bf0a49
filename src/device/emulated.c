/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The emulated device: a host device (host.c) with another copier. A copy with a way goes through emulated links and
 * keeps its thread, a stream's or the caller's, until it has arrived. What reads and writes the device's own memory, a
 * reduction or a copy there, keeps it for as long as the emulated memory takes. All else is the host's.
 */
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

struct hop_host_copier hop_emulated_copier(struct hop_emulation *emulation)
{
    return (struct hop_host_copier){.copy = emulated_copy, .reduce = emulated_reduce, .context = emulation};
}
