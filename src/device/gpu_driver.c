/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding the CUDA driver and wording its errors.
 *
 * The library is libcuda.so.1, or what HOPCAST_CUDA_LIBRARY names. It stays loaded until the process ends: its threads
 * may still run, and others in this process may use it.
 */
#include "device/gpu_driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include "base/base.h"

static const char *library_name(void)
{
    const char *named = getenv("HOPCAST_CUDA_LIBRARY");
    return named && named[0] ? named : "libcuda.so.1";
}

static enum hop_status find_functions(void *library, struct hop_gpu *found, struct hop_diag *diag)
{
    const struct {
        const char *symbol;
        void *slot;
    } functions[] = {
#define FUNCTION(name, symbol, parameters) {symbol, &found->name},
        HOP_GPU_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };
    for (size_t i = 0; i < HOP_COUNT(functions); i++) {
        void *symbol = dlsym(library, functions[i].symbol);
        if (!symbol) {
            (void)hop_fail(diag, HOP_ERR_UNSUPPORTED, "the CUDA driver has no function %s", functions[i].symbol);
            hop_diag_place(diag, "%s", library_name());
            hop_diag_expect(diag, "a driver of CUDA 11 or newer");
            return HOP_ERR_UNSUPPORTED;
        }
        memcpy(functions[i].slot, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
    }
    return HOP_OK;
}

static enum hop_status load(struct hop_gpu *driver, struct hop_diag *diag)
{
    struct hop_gpu found;
    void *library = dlopen(library_name(), RTLD_NOW | RTLD_LOCAL);
    if (!library) {
        const char *why = dlerror();
        (void)hop_fail(diag, HOP_ERR_UNSUPPORTED, "no CUDA driver: %s", why ? why : "not found");
        hop_diag_place(diag, "%s", library_name());
        hop_diag_expect(diag, "NVIDIA's driver installed, or HOPCAST_CUDA_LIBRARY naming its libcuda.so.1; "
                              "the device `host` works everywhere");
        return HOP_ERR_UNSUPPORTED;
    }
    enum hop_status status = find_functions(library, &found, diag);
    if (status != HOP_OK) {
        (void)dlclose(library);
        return status;
    }
    int code = found.cuInit(0);
    if (code != 0)
        return hop_gpu_fail(&found, "cuInit", code, diag);
    *driver = found;
    return HOP_OK;
}

enum hop_status hop_gpu_load(const struct hop_gpu **driver, struct hop_diag *diag)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct hop_gpu loaded;
    static bool is_loaded;
    enum hop_status status = HOP_OK;
    (void)pthread_mutex_lock(&mutex);
    if (!is_loaded) {
        status = load(&loaded, diag);
        is_loaded = status == HOP_OK;
    }
    (void)pthread_mutex_unlock(&mutex);
    if (status == HOP_OK)
        *driver = &loaded;
    return status;
}

static const char *advice(int code)
{
    switch (code) {
    case HOP_GPU_OUT_OF_MEMORY:
        return "less device memory in use, by this or other processes";
    case HOP_GPU_DEVICE_UNAVAILABLE:
        return "a device that several processes may use (nvidia-smi: compute mode Default)";
    case HOP_GPU_NO_DEVICE:
        return "a device that the driver sees (nvidia-smi, CUDA_VISIBLE_DEVICES)";
    case HOP_GPU_NO_BINARY:
    case HOP_GPU_UNSUPPORTED_PTX:
        return "a driver as new as the nvcc that compiled the kernels";
    default:
        return "";
    }
}

enum hop_status hop_gpu_fail(const struct hop_gpu *driver, const char *function, int code, struct hop_diag *diag)
{
    const char *name = NULL, *text = NULL;
    enum hop_status status = code == HOP_GPU_OUT_OF_MEMORY ? HOP_ERR_MEMORY
                             : code == HOP_GPU_NO_DEVICE   ? HOP_ERR_NOT_FOUND
                                                           : HOP_ERR_IO;
    if (driver->cuGetErrorName(code, &name) != 0 || !name)
        name = "unknown error";
    if (driver->cuGetErrorString(code, &text) != 0 || !text)
        text = "no description";
    (void)hop_fail(diag, status, "%s: %s (%d): %s", function, name, code, text);
    hop_diag_expect(diag, "%s", advice(code));
    return status;
}
