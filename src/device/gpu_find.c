/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Which GPU is meant, and which others it reaches.
 *
 * A driver numbers the devices that it shows to this process, in an order of its own. By PCI bus ids, in whose order tools
 * list them, a device is the same one for everybody.
 */
#include "device/gpu.h"

#include <stdio.h>

#include "base/numa.h"

struct seen {
    uint64_t place;
    int ordinal;
};

static void look(const struct hop_gpu *driver, struct seen *seen, int count, int *code, const char **function)
{
    for (int i = 0; i < count && *code == 0; i++) {
        char text[32] = "";
        int number = i;
        *function = "cuDeviceGet";
        *code = driver->cuDeviceGet(&number, i);
        if (*code != 0)
            return;
        *function = "cuDeviceGetPCIBusId";
        *code = driver->cuDeviceGetPCIBusId(text, (int)sizeof text, number);
        seen[i] = (struct seen){hop_pci_address(text), i};
    }
}

static int by_place(const void *a, const void *b)
{
    const struct seen *x = a, *y = b;
    return HOP_ORDER(x->place, y->place) ? HOP_ORDER(x->place, y->place) : HOP_ORDER(x->ordinal, y->ordinal);
}

/* All, in the order of their bus ids; at most HOP_GPU_SEEN of them. */
static enum hop_status look_at_all(const struct hop_gpu *driver, struct seen *seen, int *count, struct hop_diag *diag)
{
    const char *function = "cuDeviceGetCount";
    int code = driver->cuDeviceGetCount(count);
    *count = *count < HOP_GPU_SEEN ? *count : HOP_GPU_SEEN;
    if (code == 0)
        look(driver, seen, *count, &code, &function);
    if (code != 0)
        return hop_gpu_fail(driver, function, code, diag);
    qsort(seen, (size_t)*count, sizeof *seen, by_place);
    return HOP_OK;
}

static enum hop_status fail_absent(const struct hop_gpu *driver, const char *place, const struct seen *seen, int count,
                                   struct hop_diag *diag)
{
    char list[160] = "";
    size_t used = 0;
    for (int i = 0; i < count && used < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, "%s%02x:%02x.%x", i ? ", " : "",
                                 (unsigned)(seen[i].place >> 8 & 255), (unsigned)(seen[i].place >> 3 & 31),
                                 (unsigned)(seen[i].place & 7));
    return hop_fail(diag, HOP_ERR_NOT_FOUND,
                    "the %s driver shows no device at %s to this process\none of those that it shows: %s (%s)",
                    driver->dialect->name, place, list, driver->dialect->hidden);
}

/* The bus id of the device whose context is current; false: none is, which HIP never says. */
static bool is_current(const struct hop_gpu *driver, char text[32])
{
    struct hop_gpu_context *context = NULL;
    int number = 0;
    return driver->cuCtxGetCurrent(&context) == 0 && context && driver->cuCtxGetDevice(&number) == 0 &&
           driver->cuDeviceGetPCIBusId(text, 32, number) == 0;
}

enum hop_status hop_gpu_seek(const struct hop_gpu *driver, const struct hop_device_options *options, int *ordinal,
                             struct hop_diag *diag)
{
    struct seen seen[HOP_GPU_SEEN];
    char current[32];
    struct hop_device_options there = {0};
    if (options->current && is_current(driver, current)) {
        there.place = current;
        options = &there;
    }
    uint64_t wanted = options->place ? hop_pci_address(options->place) : 0;
    int count = 0, at = 0;
    HOP_CHECK(look_at_all(driver, seen, &count, diag));
    if (!options->place && options->index >= (uint32_t)count)
        return hop_fail(
            diag, HOP_ERR_NOT_FOUND,
            "there is no %s device %u\none of the %d that the driver shows to this process, counted from 0 in "
            "the order of their bus ids (%s)",
            driver->dialect->name, options->index, count, driver->dialect->hidden);
    while (options->place && at < count && seen[at].place != wanted)
        at++;
    if (at == count)
        return fail_absent(driver, options->place ? options->place : "all", seen, count, diag);
    *ordinal = seen[options->place ? at : (int)options->index].ordinal;
    return HOP_OK;
}

enum hop_status hop_gpu_reaches(struct hop_device *base, const char *place, bool *reaches, struct hop_diag *diag)
{
    struct hop_gpu_call call = hop_gpu_begin(base, diag);
    struct seen seen[HOP_GPU_SEEN];
    int count = 0, can = 0, peer = 0;
    const uint64_t wanted = hop_pci_address(place);
    *reaches = wanted == hop_pci_address(call.device->properties.place);
    if (call.status != HOP_OK || *reaches)
        return hop_gpu_end(&call);
    call.status = look_at_all(call.device->driver, seen, &count, diag);
    for (int i = 0; i < count && call.status == HOP_OK; i++) {
        if (seen[i].place == wanted && HOP_GPU(&call, cuDeviceGet, &peer, seen[i].ordinal) &&
            HOP_GPU(&call, cuDeviceCanAccessPeer, &can, call.device->number, peer))
            *reaches = can != 0;
    }
    return hop_gpu_end(&call);
}
