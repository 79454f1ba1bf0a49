/* SPDX-License-Identifier: BSD-3-Clause */
/* Asked of cuPointerGetAttribute or hipPointerGetAttribute, whose attributes have one number. A program may load the
 * driver at any time: it is looked for again when libraries have come, as often as it could have made memory since. */
#include "mpi/device_memory.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

enum { MEMORY_TYPE = 2, CUDA_DEVICE = 2 };                          /* of cuda.h and hip_runtime_api.h */
enum { HIP_DEVICE = 2, HIP_DEVICE_BEFORE_6 = 1, HIP_6 = 60000000 }; /* ROCm 6 counts otherwise */

typedef int ask_pointer(void *data, int attribute, unsigned long long pointer);

static ask_pointer *ask;                /* NULL: no driver yet */
/* HIP's last error, which asking of other memory sets; NULL: CUDA's driver has none. */
static int (*peek_error)(void), (*clear_error)(void);
static unsigned device_type;            /* what it says of a device's memory */
#define OFTEN (1u << 16)                /* ticks, tens of microseconds; making a context takes milliseconds */

__thread uint64_t hop_memory_ticks __attribute__((tls_model("initial-exec")));
static __thread uint64_t looked_at __attribute__((tls_model("initial-exec")));
static unsigned long long libraries_at; /* how many had come when it was looked for */

static int count_libraries(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1; /* the first knows */
}

/* A function of a library that is loaded: of the one that the variable names, else of any of the others. */
static void *loaded(const char *variable, const char *const *names, const char *function)
{
    const char *named = getenv(variable);
    void *library = named && named[0] ? dlopen(named, RTLD_LAZY | RTLD_NOLOAD) : NULL;
    for (; !library && *names && !(named && named[0]); names++)
        library = dlopen(*names, RTLD_LAZY | RTLD_NOLOAD);
    return library ? dlsym(library, function) : NULL;
}

static const char *const cuda[] = {"libcuda.so.1", NULL};
static const char *const hip[] = {"libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5", "libamdhip64.so", NULL};

static void look_for_driver(void)
{
    void *symbol = loaded("HOPCAST_CUDA_LIBRARY", cuda, "cuPointerGetAttribute"), *version;
    int (*get_version)(int *number) = NULL;
    int number = 0;
    ask_pointer *found;
    device_type = CUDA_DEVICE;
    if (!symbol && (symbol = loaded("HOPCAST_HIP_LIBRARY", hip, "hipPointerGetAttribute"))) {
        version = loaded("HOPCAST_HIP_LIBRARY", hip, "hipRuntimeGetVersion");
        memcpy(&get_version, &version, sizeof version);
        void *peek = loaded("HOPCAST_HIP_LIBRARY", hip, "hipPeekAtLastError"),
             *clear = loaded("HOPCAST_HIP_LIBRARY", hip, "hipGetLastError");
        memcpy(&peek_error, &peek, sizeof peek);
        memcpy(&clear_error, &clear, sizeof clear);
        device_type = get_version && get_version(&number) == 0 && number < HIP_6 ? HIP_DEVICE_BEFORE_6 : HIP_DEVICE;
    }
    memcpy(&found, &symbol, sizeof found);
    __atomic_store_n(&ask, found, __ATOMIC_RELEASE);
}

static ask_pointer *driver(void)
{
    ask_pointer *known = __atomic_load_n(&ask, __ATOMIC_ACQUIRE);
    unsigned long long count = 0;
    if (known || (hop_memory_ticks && hop_memory_ticks - looked_at < OFTEN))
        return known;
    looked_at = hop_memory_ticks;
    (void)dl_iterate_phdr(count_libraries, &count);
    if (count == __atomic_load_n(&libraries_at, __ATOMIC_RELAXED))
        return NULL;
    __atomic_store_n(&libraries_at, count, __ATOMIC_RELAXED);
    look_for_driver();
    return __atomic_load_n(&ask, __ATOMIC_ACQUIRE);
}

bool hop_mpi_has_driver(void)
{
    return driver() != NULL;
}

enum hop_mpi_memory hop_mpi_memory_of(const void *buffer)
{
    ask_pointer *known = driver();
    unsigned type = 0;
    if (!known)
        return MEMORY_HOST;
    bool fails = peek_error && clear_error && peek_error() != 0; /* the program's, which it has yet to see */
    bool told = known(&type, MEMORY_TYPE, (unsigned long long)(uintptr_t)buffer) == 0;
    if (!told && clear_error && !fails)
        (void)clear_error();
    return told && type == device_type ? MEMORY_DEVICE : MEMORY_HOST;
}

typedef int make_stream(void **stream, unsigned flags);
typedef int do_copy(unsigned long long to, unsigned long long from, size_t bytes, void *stream);
typedef int use_stream(void *stream);

static bool copy_by_cuda(void *to, const void *from, size_t bytes)
{
    enum { NON_BLOCKING = 1 };
    void *symbols[] = {loaded("HOPCAST_CUDA_LIBRARY", cuda, "cuStreamCreate"),
                       loaded("HOPCAST_CUDA_LIBRARY", cuda, "cuMemcpyAsync"),
                       loaded("HOPCAST_CUDA_LIBRARY", cuda, "cuStreamSynchronize"),
                       loaded("HOPCAST_CUDA_LIBRARY", cuda, "cuStreamDestroy_v2")};
    make_stream *make;
    do_copy *copy;
    use_stream *wait, *drop;
    void *stream = NULL;
    memcpy(&make, &symbols[0], sizeof make);
    memcpy(&copy, &symbols[1], sizeof copy);
    memcpy(&wait, &symbols[2], sizeof wait);
    memcpy(&drop, &symbols[3], sizeof drop);
    if (!make || !copy || !wait || !drop || make(&stream, NON_BLOCKING) != 0)
        return false;
    bool fine = copy((uintptr_t)to, (uintptr_t)from, bytes, stream) == 0 && wait(stream) == 0;
    return drop(stream) == 0 && fine;
}

bool hop_mpi_device_copy(void *to, const void *from, size_t bytes)
{
    enum { AS_ADDRESSES_SAY = 4 };
    void *symbol = loaded("HOPCAST_HIP_LIBRARY", hip, "hipMemcpy");
    int (*copy)(void *to, const void *from, size_t bytes, int kind) = NULL;
    memcpy(&copy, &symbol, sizeof copy);
    return copy_by_cuda(to, from, bytes) || (copy && copy(to, from, bytes, AS_ADDRESSES_SAY) == 0);
}
