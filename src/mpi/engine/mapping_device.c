/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The device of this process. The CUDA runtime works on the context that is current in a thread, and takes device 0's
 * where there is none: so the device's primary context, which the runtime uses too, is made current in this thread, in
 * each that starts from now on, and in older ones when they first call the MPI. A cudaSetDevice of the program's puts
 * another one in its place, and stays. HIP's contexts are its devices, and device 0's is current where there was none.
 */
#include "mpi/engine/mapping.h"

#include "base/numa.h"
#include "device/gpu.h"
#include "mpi/say.h"

#include <dlfcn.h>
#include <stdio.h>
#include <unistd.h>

static struct {
    const struct hop_gpu *driver;
    struct hop_gpu_context *context; /* NULL: none was chosen */
    int number;                      /* the driver's */
    pid_t process;                   /* CUDA is of no use in a child that it forks */
    char bus_id[32];
    char other[32]; /* what the program chose later */
} own;
static bool chosen, other_claimed, other_seen; /* other_seen: own.other is whole */
static _Thread_local bool met;

enum hop_status hop_mapped_driver(const struct hop_gpu **driver, struct hop_diag *diag)
{
    struct hop_diag why;
    const struct hop_gpu *amd;
    int count = 0;
    enum hop_status status = hop_gpu_load(&hop_gpu_cuda, driver, &why);
    if (status == HOP_OK && (*driver)->cuDeviceGetCount(&count) == 0 && count > 0)
        return HOP_OK;
    if (hop_gpu_load(&hop_gpu_hip, &amd, NULL) == HOP_OK && amd->cuDeviceGetCount(&count) == 0 && count > 0) {
        *driver = amd;
        return HOP_OK;
    }
    if (status != HOP_OK && diag)
        *diag = why;
    return status;
}

static void name_device(const struct hop_gpu *driver, int number, char text[32])
{
    if (driver->cuDeviceGetPCIBusId(text, 32, number) != 0)
        (void)snprintf(text, 32, "device %d", number);
}

static int numa_of(const struct hop_gpu *driver, int number, const char *bus_id)
{
    int numa = hop_numa_of_pci(hop_pci_address(bus_id)), attribute = driver->dialect->attributes[HOP_GPU_HOST_NUMA];
    if (numa < 0 && (attribute < 0 || driver->cuDeviceGetAttribute(&numa, attribute, number) != 0))
        numa = -1;
    return numa;
}

/* Whether the calling thread has a context on another device; its name is then told. */
static bool is_elsewhere(const struct hop_gpu *driver, int number, char text[32])
{
    struct hop_gpu_context *current = NULL;
    int other = number;
    if (driver->cuCtxGetCurrent(&current) != 0 || !current || driver->cuCtxGetDevice(&other) != 0 || other == number)
        return false;
    name_device(driver, other, text);
    return true;
}

/* Whether the calling thread has chosen none, as far as that is to be told. */
static bool is_fresh(const struct hop_gpu *driver)
{
    struct hop_gpu_context *current = NULL;
    int number = -1;
    if (driver->cuCtxGetCurrent(&current) != 0)
        return false;
    return !current || (driver->dialect == &hop_gpu_hip && driver->cuCtxGetDevice(&number) == 0 && number == 0);
}

static enum hop_status take(const struct hop_gpu *driver, int number, struct hop_diag *diag)
{
    struct hop_gpu_context *context = NULL;
    int code = driver->cuDevicePrimaryCtxRetain(&context, number);
    if (code != 0)
        return hop_gpu_fail(driver, "cuDevicePrimaryCtxRetain", code, diag);
    code = driver->cuCtxSetCurrent(context);
    if (code != 0) {
        (void)driver->cuDevicePrimaryCtxRelease(number);
        return hop_gpu_fail(driver, "cuCtxSetCurrent", code, diag);
    }
    own.driver = driver;
    own.context = context;
    own.number = number;
    own.process = getpid();
    met = true;
    __atomic_store_n(&chosen, true, __ATOMIC_RELEASE);
    return HOP_OK;
}

enum hop_status hop_mapped_device_choose(const char *bus_id, uint32_t index, uint32_t of,
                                         struct hop_mapped_device *found, struct hop_diag *diag)
{
    const struct hop_gpu *driver;
    const struct hop_device_options options = {.place = bus_id, .index = index};
    int number = 0;
    *found = (struct hop_mapped_device){.numa = -1};
    HOP_CHECK(hop_mapped_driver(&driver, diag));
    int code = driver->cuDeviceGetCount(&found->visible);
    if (code != 0)
        return hop_gpu_fail(driver, "cuDeviceGetCount", code, diag);
    if (!bus_id && found->visible != (int)of)
        return hop_fail(diag, HOP_ERR_NOT_FOUND,
                        "the topology has %u GPUs and tells no PCI addresses, and the driver shows %d to this process\n"
                        "all GPUs of that machine visible (%s), or a topology with PCI addresses",
                        of, found->visible, driver->dialect->hidden);
    HOP_CHECK(hop_gpu_seek(driver, &options, &found->ordinal, diag));
    code = driver->cuDeviceGet(&number, found->ordinal);
    if (code != 0)
        return hop_gpu_fail(driver, "cuDeviceGet", code, diag);
    name_device(driver, number, found->bus_id);
    memcpy(own.bus_id, found->bus_id, sizeof own.bus_id);
    found->numa = numa_of(driver, number, found->bus_id);
    bool stays = !is_fresh(driver) && is_elsewhere(driver, number, found->earlier);
    return stays ? HOP_OK : take(driver, number, diag);
}

void hop_mapped_device_drop(void)
{
    struct hop_gpu_context *current = NULL;
    if (!__atomic_exchange_n(&chosen, false, __ATOMIC_ACQ_REL))
        return;
    if (own.driver->cuCtxGetCurrent(&current) == 0 && current == own.context)
        (void)own.driver->cuCtxSetCurrent(NULL);
    (void)own.driver->cuDevicePrimaryCtxRelease(own.number);
}

/* ---- threads ---- */

/* The driver's own threads may be started while it holds locks that a call of it would wait for. */
static bool is_drivers(const void *start)
{
    Dl_info info;
    static const char *const names[] = {"/libcuda", "/libnvidia", "/libamdhip", "/libhsa"};
    const char *slash = dladdr(start, &info) && info.dli_fname ? strrchr(info.dli_fname, '/') : NULL;
    bool is = false;
    for (size_t i = 0; i < HOP_COUNT(names) && slash; i++)
        is = is || strncmp(slash, names[i], strlen(names[i])) == 0;
    return is;
}

bool hop_mapped_device_takes(const void *start)
{
    return __atomic_load_n(&chosen, __ATOMIC_ACQUIRE) && own.process == getpid() && !is_drivers(start);
}

/* Once in a thread, so that one whose context the program took away stays without. */
void hop_mapped_device_thread(void)
{
    if (met || !__atomic_load_n(&chosen, __ATOMIC_ACQUIRE))
        return;
    met = true;
    if (is_fresh(own.driver))
        (void)own.driver->cuCtxSetCurrent(own.context);
}

void hop_mapped_device_look(bool verbose, int rank)
{
    char other[32] = "";
    if (!__atomic_load_n(&chosen, __ATOMIC_ACQUIRE) || own.process != getpid())
        return;
    hop_mapped_device_thread();
    if (!is_elsewhere(own.driver, own.number, other) || __atomic_exchange_n(&other_claimed, true, __ATOMIC_ACQ_REL))
        return;
    memcpy(own.other, other, sizeof own.other);
    __atomic_store_n(&other_seen, true, __ATOMIC_RELEASE);
    if (verbose)
        hop_mpi_tell("rank %d: the program chose %s itself, not %s of the map; so it is", rank, other, own.bus_id);
}

const char *hop_mapped_device_other(void)
{
    return __atomic_load_n(&other_seen, __ATOMIC_ACQUIRE) ? own.other : NULL;
}
