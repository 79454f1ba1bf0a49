/* SPDX-License-Identifier: BSD-3-Clause */
/* Accelerator: the host device with a copier that ends a copy when its engine would have. */
#include "device/accelerator.h"

#include "base/base.h"
#include "base/clock.h"
#include "device/host.h"
#include "device/reduce_host.h"

#define SPIN_S 60e-6 /* before the end, since sleeping ends late */

static bool is_own(const struct hop_accelerator *accelerator, const void *address)
{
    uintptr_t at = (uintptr_t)address - (uintptr_t)accelerator->begin;
    return at < accelerator->bytes;
}

static void wait_until(double end_s)
{
    double left_s = end_s - hop_now_s();
    if (left_s > SPIN_S)
        hop_sleep_s(left_s - SPIN_S);
    while (hop_now_s() < end_s)
        hop_relax();
}

/* Within its memory it reads and writes. */
static enum hop_status copy_in_time(void *context, const struct hop_device_copy *copy, struct hop_diag *diag)
{
    const struct hop_accelerator *a = context;
    double begun_s = hop_now_s(), takes_s = a->latency_s;
    (void)diag;
    if (is_own(a, copy->from) && a->read_Bps > 0)
        takes_s += (double)copy->bytes / a->read_Bps;
    if (is_own(a, copy->to) && a->write_Bps > 0)
        takes_s += (double)copy->bytes / a->write_Bps;
    hop_copy_on_host(copy->to, copy->from, copy->bytes);
    wait_until(begun_s + takes_s);
    if (copy->span_s) {
        copy->span_s[0] = begun_s;
        copy->span_s[1] = hop_now_s();
    }
    return HOP_OK;
}

enum hop_status hop_accelerator_open(struct hop_accelerator *accelerator, struct hop_device **device,
                                     struct hop_diag *diag)
{
    const struct hop_device_options options = {0};
    const struct hop_host_copier copier = {.copy = copy_in_time, .context = accelerator};
    return hop_host_open(&options, &copier, device, diag);
}
