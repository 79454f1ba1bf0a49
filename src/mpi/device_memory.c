/* SPDX-License-Identifier: BSD-3-Clause */
/* Asked of cuPointerGetAttribute. A program may load the driver at any time: it is looked for again when libraries have
 * come. */
#include "mpi/device_memory.h"

#include <dlfcn.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

enum { ATTRIBUTE_MEMORY_TYPE = 2, TYPE_DEVICE = 2 }; /* of cuda.h */

typedef int ask_pointer(void *data, int attribute, unsigned long long pointer);

static ask_pointer *ask;                /* NULL: no driver yet */
static unsigned long long libraries_at; /* how many had come when it was looked for */

static int count_libraries(struct dl_phdr_info *info, size_t size, void *count)
{
    (void)size;
    *(unsigned long long *)count = info->dlpi_adds;
    return 1; /* the first knows */
}

static void look_for_driver(void)
{
    const char *named = getenv("HOPCAST_CUDA_LIBRARY");
    void *driver = dlopen(named && named[0] ? named : "libcuda.so.1", RTLD_LAZY | RTLD_NOLOAD);
    void *symbol = driver ? dlsym(driver, "cuPointerGetAttribute") : NULL;
    ask_pointer *found;
    memcpy(&found, &symbol, sizeof found);
    __atomic_store_n(&ask, found, __ATOMIC_RELEASE);
}

enum hop_mpi_memory hop_mpi_memory_of(const void *buffer)
{
    ask_pointer *driver = __atomic_load_n(&ask, __ATOMIC_ACQUIRE);
    unsigned long long count = 0;
    unsigned type = 0;
    if (!driver) {
        (void)dl_iterate_phdr(count_libraries, &count);
        if (count == __atomic_load_n(&libraries_at, __ATOMIC_RELAXED))
            return MEMORY_HOST;
        __atomic_store_n(&libraries_at, count, __ATOMIC_RELAXED);
        look_for_driver();
        driver = __atomic_load_n(&ask, __ATOMIC_ACQUIRE);
    }
    return driver && driver(&type, ATTRIBUTE_MEMORY_TYPE, (unsigned long long)(uintptr_t)buffer) == 0 &&
                   type == TYPE_DEVICE
               ? MEMORY_DEVICE
               : MEMORY_HOST;
}
