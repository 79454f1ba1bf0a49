/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Unwinding takes microseconds. But a function's frame has one size wherever it makes a given call, so the address
 * behind a binding stands at one distance from the frame: it is unwound once, and looked for on the stack.
 */
#include "mpi/call_site.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <limits.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEPTH = 16, STACK_WORDS = 512 };

/* How their files' names begin. */
static const char *const bindings[] = {"libmpi_mpifh",   "libmpi_usempi", "libmpi_cxx", "libmpichfort",
                                       "libmpichf90",    "libmpichcxx",   "libmpifort", "libmpicxx",
                                       "libmpi_abi_mpi", "libhopcast_mpi"};

bool hop_site_is_binding(const void *code)
{
    Dl_info info;
    if (!dladdr(code, &info) || !info.dli_fname)
        return false;
    const char *slash = strrchr(info.dli_fname, '/'), *name = slash ? slash + 1 : info.dli_fname;
    for (size_t i = 0; i < sizeof bindings / sizeof *bindings; i++) {
        if (strncmp(name, bindings[i], strlen(bindings[i])) == 0)
            return true;
    }
    return false;
}

const void *hop_site_at(const void *frame, uint32_t slot)
{
    return ((const void *const *)frame)[slot];
}

static const void *end_of_stack(void)
{
    pthread_attr_t attributes;
    void *low = NULL;
    size_t size = 0;
    if (pthread_getattr_np(pthread_self(), &attributes) != 0)
        return NULL;
    (void)pthread_attr_getstack(&attributes, &low, &size);
    (void)pthread_attr_destroy(&attributes);
    return (char *)low + size;
}

/* The one place above the frame where the address stands; 0: none, or several. */
static uint32_t find_on_stack(const void *frame, const void *wanted, const void *end)
{
    uint32_t found = 0;
    for (uint32_t slot = 1; slot < STACK_WORDS && (const void *const *)frame + slot < (const void *const *)end;
         slot++) {
        if (hop_site_at(frame, slot) == wanted) {
            if (found)
                return 0;
            found = slot;
        }
    }
    return found;
}

const void *hop_site_behind_binding(const void *frame, uint32_t *slot)
{
    void *addresses[DEPTH];
    int count = backtrace(addresses, DEPTH), at = 0;
    while (at < count && hop_site_is_binding(addresses[at]))
        at++;
    *slot = at < count ? find_on_stack(frame, addresses[at], end_of_stack()) : 0;
    return at < count ? addresses[at] : NULL;
}

/* Of C++, which a program of it can read; NULL: it is no such name. */
static char *demangled(const char *name)
{
    char *(*demangle)(const char *name, char *text, size_t *size, int *status) = NULL;
    int status = -1;
    void *symbol = name[0] == '_' && name[1] == 'Z' ? dlsym(RTLD_DEFAULT, "__cxa_demangle") : NULL;
    memcpy(&demangle, &symbol, sizeof symbol);
    return demangle ? demangle(name, NULL, NULL, &status) : NULL;
}

void hop_site_describe(const void *returns_to, struct hop_mpi_place *place)
{
    Dl_info info;
    void *map = NULL;
    const char *code = returns_to;
    char whole[PATH_MAX];
    *place = (struct hop_mpi_place){.module = "?"};
    if (!code || !dladdr1(--code, &info, &map, RTLD_DL_LINKMAP) || !map) /* the call stands before */
        return;
    const struct link_map *file = map;
    place->offset = (uint64_t)((uintptr_t)code - file->l_addr);
    const char *name = realpath(file->l_name[0] ? file->l_name : "/proc/self/exe", whole) ? whole : file->l_name;
    size_t length = strlen(name), most = sizeof place->module - 1;
    memcpy(place->module, length > most ? name + length - most : name, length > most ? most : length);
    char *plain = info.dli_sname ? demangled(info.dli_sname) : NULL;
    if (info.dli_sname)
        (void)snprintf(place->function, sizeof place->function, "%.72s+0x%lx", plain ? plain : info.dli_sname,
                       (unsigned long)(code - (const char *)info.dli_saddr));
    free(plain);
}
