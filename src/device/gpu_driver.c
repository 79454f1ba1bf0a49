/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Finding the driver of either dialect, and wording its errors.
 *
 * It stays loaded until the process ends: its threads may still run, and others in this process may use it.
 */
#include "device/gpu_driver.h"

#include <dlfcn.h>
#include <pthread.h>

#include "base/base.h"

/* The numbers of attributes are those of CUDA 13's cuda.h, and of hip_runtime_api.h in ROCm 5.2 and 6.3, which agree. */
const struct hop_gpu_dialect hop_gpu_cuda = {.name = "CUDA",
                                             .maker = "NVIDIA's",
                                             .libraries = {"libcuda.so.1"},
                                             .library_variable = "HOPCAST_CUDA_LIBRARY",
                                             .kernels_variable = "HOPCAST_CUDA_KERNELS",
                                             .hidden = "nvidia-smi, CUDA_VISIBLE_DEVICES",
                                             .oldest = "CUDA 11",
                                             .queues = 8, /* CUDA_DEVICE_MAX_CONNECTIONS */
                                             .attributes = {16, 40, 41, 134, 125},
                                             .image = hop_gpu_image_cuda,
                                             .has_image = &hop_gpu_has_image_cuda,
                                             .compiler = "nvcc (the CUDA toolkit)"};
const struct hop_gpu_dialect hop_gpu_hip = {
    .name = "HIP",
    .maker = "AMD's",
    .libraries = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"},
    .library_variable = "HOPCAST_HIP_LIBRARY",
    .kernels_variable = "HOPCAST_HIP_KERNELS",
    .hidden = "rocm-smi, HIP_VISIBLE_DEVICES, ROCR_VISIBLE_DEVICES",
    .oldest = "ROCm 5.2",
    .queues = 4, /* GPU_MAX_HW_QUEUES */
    .attributes = {63, -1, -1, -1, -1},
    .image = hop_gpu_image_hip,
    .has_image = &hop_gpu_has_image_hip,
    .compiler = "hipcc (ROCm)"};

/* ---- what HIP has with other parameters ---- */

static struct {
    const char *(*hipGetErrorName)(int code);
    const char *(*hipGetErrorString)(int code);
    int (*hipMemcpyAsync)(void *to, const void *from, size_t bytes, int kind, struct hop_gpu_stream *stream);
    int (*hipIpcOpenMemHandle)(void **address, struct hop_gpu_ipc handle, unsigned flags);
} hip;

static int hip_error_name(int code, const char **text)
{
    *text = hip.hipGetErrorName(code);
    return 0;
}

static int hip_error_string(int code, const char **text)
{
    *text = hip.hipGetErrorString(code);
    return 0;
}

/* The kind is told by the addresses. */
static int hip_copy(hop_gpu_address to, hop_gpu_address from, size_t bytes, struct hop_gpu_stream *stream)
{
    enum { BY_ADDRESSES = 4 };
    return hip.hipMemcpyAsync((void *)(uintptr_t)to, (const void *)(uintptr_t)from, bytes, BY_ADDRESSES, stream);
}

/* The one flag that there is was 0 before ROCm 5.3. */
static int hip_open_memory(hop_gpu_address *address, struct hop_gpu_ipc handle, unsigned flags)
{
    void *opened = NULL;
    int code = hip.hipIpcOpenMemHandle(&opened, handle, flags);
    if (code == HOP_GPU_INVALID_VALUE)
        code = hip.hipIpcOpenMemHandle(&opened, handle, 0);
    *address = (uintptr_t)opened;
    return code;
}

/* ---- finding it ---- */

struct wanted {
    const char *symbol; /* NULL: not of this dialect */
    void *slot;
};

static const char *find_functions(void *library, const struct wanted *functions, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        void *symbol = functions[i].symbol ? dlsym(library, functions[i].symbol) : NULL;
        if (functions[i].symbol && !symbol)
            return functions[i].symbol;
        memcpy(functions[i].slot, &symbol, sizeof symbol); /* ISO C has no cast from object to function pointer */
    }
    return NULL;
}

static const char *find_cuda(void *library, struct hop_gpu *found)
{
    const struct wanted functions[] = {
#define FUNCTION(name, cuda, hip, parameters) {cuda, &found->name},
        HOP_GPU_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };
    return find_functions(library, functions, HOP_COUNT(functions));
}

static const char *find_hip(void *library, struct hop_gpu *found)
{
#define ADAPTED(name) NULL
    const struct wanted functions[] = {
#define FUNCTION(name, cuda, hip, parameters) {hip, &found->name},
        HOP_GPU_FUNCTIONS(FUNCTION)
#undef FUNCTION
#define FUNCTION(name) {#name, &hip.name}
            FUNCTION(hipGetErrorName),
        FUNCTION(hipGetErrorString),
        FUNCTION(hipMemcpyAsync),
        FUNCTION(hipIpcOpenMemHandle),
#undef FUNCTION
    };
#undef ADAPTED
    const char *missing = find_functions(library, functions, HOP_COUNT(functions));
    found->cuGetErrorName = hip_error_name;
    found->cuGetErrorString = hip_error_string;
    found->cuMemcpyAsync = hip_copy;
    found->cuIpcOpenMemHandle = hip_open_memory;
    return missing;
}

static void *open_library(const struct hop_gpu_dialect *dialect, const char **name)
{
    void *library = NULL;
    *name = getenv(dialect->library_variable);
    if (*name && (*name)[0])
        return dlopen(*name, RTLD_NOW | RTLD_LOCAL);
    for (size_t i = 0; i < HOP_COUNT(dialect->libraries) && dialect->libraries[i] && !library; i++)
        library = dlopen(*name = dialect->libraries[i], RTLD_NOW | RTLD_LOCAL);
    return library;
}

static enum hop_status load(const struct hop_gpu_dialect *dialect, struct hop_gpu *driver, struct hop_diag *diag)
{
    struct hop_gpu found = {.dialect = dialect};
    const char *name;
    void *library = open_library(dialect, &name);
    if (!library) {
        const char *why = dlerror();
        (void)hop_fail(diag, HOP_ERR_UNSUPPORTED, "no %s driver: %s", dialect->name, why ? why : "not found");
        hop_diag_place(diag, "%s", name);
        hop_diag_expect(diag, "%s driver installed, or %s naming its %s; the device `host` works everywhere",
                        dialect->maker, dialect->library_variable, dialect->libraries[0]);
        return HOP_ERR_UNSUPPORTED;
    }
    const char *missing = dialect == &hop_gpu_cuda ? find_cuda(library, &found) : find_hip(library, &found);
    if (missing) {
        (void)hop_fail(diag, HOP_ERR_UNSUPPORTED, "the %s driver has no function %s\na driver of %s or newer",
                       dialect->name, missing, dialect->oldest);
        hop_diag_place(diag, "%s", name);
        (void)dlclose(library);
        return HOP_ERR_UNSUPPORTED;
    }
    int code = found.cuInit(0);
    if (code != 0)
        return hop_gpu_fail(&found, "cuInit", code, diag);
    *driver = found;
    return HOP_OK;
}

enum hop_status hop_gpu_load(const struct hop_gpu_dialect *dialect, const struct hop_gpu **driver,
                             struct hop_diag *diag)
{
    static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
    static struct hop_gpu loaded[2];
    struct hop_gpu *own = &loaded[dialect == &hop_gpu_hip];
    enum hop_status status = HOP_OK;
    (void)pthread_mutex_lock(&mutex);
    if (!own->dialect)
        status = load(dialect, own, diag);
    (void)pthread_mutex_unlock(&mutex);
    if (status == HOP_OK)
        *driver = own;
    return status;
}

/* ---- errors ---- */

/* Of a function, as the dialect calls it. */
static const char *name_of(const struct hop_gpu *driver, const char *function)
{
#define ADAPTED(name) name
    static const char *const names[][2] = {
#define FUNCTION(name, cuda, hip, parameters) {#name, hip},
        HOP_GPU_FUNCTIONS(FUNCTION)
#undef FUNCTION
    };
#undef ADAPTED
    for (size_t i = 0; driver->dialect == &hop_gpu_hip && i < HOP_COUNT(names); i++) {
        if (strcmp(names[i][0], function) == 0)
            return names[i][1];
    }
    return function;
}

static void advise(const struct hop_gpu_dialect *dialect, int code, struct hop_diag *diag)
{
    switch (code) {
    case HOP_GPU_OUT_OF_MEMORY:
        hop_diag_expect(diag, "less device memory in use, by this or other processes");
        break;
    case HOP_GPU_DEVICE_UNAVAILABLE:
        hop_diag_expect(diag, "a device that several processes may use (nvidia-smi: compute mode Default)");
        break;
    case HOP_GPU_NO_DEVICE:
    case HOP_GPU_INVALID_DEVICE: /* so says HIP where there is none */
        hop_diag_expect(diag, "a device that the driver sees (%s)", dialect->hidden);
        break;
    case HOP_GPU_NO_BINARY:
    case HOP_GPU_UNSUPPORTED_PTX:
        hop_diag_expect(diag,
                        "a driver as new as the compiler of the kernels, and a device for which they were compiled");
        break;
    case HOP_GPU_MAP_FAILED:
    case HOP_GPU_TOO_MANY_PEERS:
    case HOP_GPU_NOT_SUPPORTED:
        hop_diag_expect(diag, "processes that may open each other's device memory (of one container, say); copies that "
                              "go staged do not need it");
        break;
    default:
        break;
    }
}

enum hop_status hop_gpu_fail(const struct hop_gpu *driver, const char *function, int code, struct hop_diag *diag)
{
    const char *name = NULL, *text = NULL;
    enum hop_status status = code == HOP_GPU_OUT_OF_MEMORY      ? HOP_ERR_MEMORY
                             : code == HOP_GPU_NO_DEVICE        ? HOP_ERR_NOT_FOUND
                             : code == HOP_GPU_PEER_UNSUPPORTED ? HOP_ERR_UNSUPPORTED
                                                                : HOP_ERR_IO;
    if (driver->cuGetErrorName(code, &name) != 0 || !name)
        name = "unknown error";
    if (driver->cuGetErrorString(code, &text) != 0 || !text)
        text = "no description";
    (void)hop_fail(diag, status, "%s: %s (%d): %s", name_of(driver, function), name, code, text);
    advise(driver->dialect, code, diag);
    return status;
}
