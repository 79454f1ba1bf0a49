/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Preloaded (LD_PRELOAD), makes an allocation fail. Allocations are counted from main on, in this program and in the
 * libraries that it uses; a child goes on with its parent's number.
 *
 *     HOP_FAIL_AT=N        the N-th returns NULL, with ENOMEM; N+ (as in 7+): all from there on
 *     HOP_FAIL_BUT=NAMES   those that a library makes whose path holds one of these words are not counted (hwloc,scotch)
 *     HOP_FAIL_LIST=FILE   none fails; FILE gets how many there were, then the numbers of those that were the first of
 *                          their place in the program: of their innermost callers
 */
#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <malloc.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "places.h"

enum { DEPTH = 24, RANGES = 16 };

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *memory, size_t size);
void *__libc_memalign(size_t alignment, size_t size);

static atomic_bool counting;
static atomic_ulong number;
static unsigned long fails_at;
static bool and_later;
static const char *list;
static pid_t listing_process;
static struct places places;
static _Thread_local bool inside;

/* The code of a library that is left alone. */
static struct range {
    uintptr_t begin, end;
} ranges[RANGES];
static unsigned range_count;

static int note_library(struct dl_phdr_info *library, size_t size, void *names)
{
    char words[256], *rest = words;
    (void)size;
    (void)snprintf(words, sizeof words, "%s", (const char *)names);
    for (char *word; (word = strsep(&rest, ",")) != NULL;) {
        for (int i = 0; strstr(library->dlpi_name, word) && i < library->dlpi_phnum && range_count < RANGES; i++) {
            uintptr_t begin = library->dlpi_addr + library->dlpi_phdr[i].p_vaddr;
            if (library->dlpi_phdr[i].p_type == PT_LOAD && library->dlpi_phdr[i].p_flags & PF_X)
                ranges[range_count++] = (struct range){begin, begin + library->dlpi_phdr[i].p_memsz};
        }
    }
    return 0;
}

static bool is_left_alone(void)
{
    void *callers[DEPTH];
    int count = backtrace(callers, DEPTH);
    for (int i = 0; i < count; i++) {
        for (unsigned r = 0; r < range_count; r++) {
            if ((uintptr_t)callers[i] >= ranges[r].begin && (uintptr_t)callers[i] < ranges[r].end)
                return true;
        }
    }
    return false;
}

/* For a debugger's breakpoint. */
__attribute__((noinline)) static void failed_here(void)
{
    errno = ENOMEM;
}

static bool fails(void)
{
    if (!atomic_load(&counting) || inside)
        return false;
    inside = true;
    bool counts = range_count == 0 || !is_left_alone();
    unsigned long n = counts ? atomic_fetch_add(&number, 1) + 1 : 0;
    if (counts && list)
        places_note(&places, n, 3);
    inside = false;
    if (!counts)
        return false;
    if (!fails_at || (and_later ? n < fails_at : n != fails_at))
        return false;
    failed_here();
    return true;
}

void *malloc(size_t size)
{
    return fails() ? NULL : __libc_malloc(size);
}

void *calloc(size_t count, size_t size)
{
    return fails() ? NULL : __libc_calloc(count, size);
}

void *realloc(void *memory, size_t size)
{
    return fails() ? NULL : __libc_realloc(memory, size);
}

void *reallocarray(void *memory, size_t count, size_t size)
{
    size_t bytes;
    if (__builtin_mul_overflow(count, size, &bytes)) {
        errno = ENOMEM;
        return NULL;
    }
    return realloc(memory, bytes);
}

void *aligned_alloc(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

void *memalign(size_t alignment, size_t size)
{
    return fails() ? NULL : __libc_memalign(alignment, size);
}

int posix_memalign(void **memory, size_t alignment, size_t size)
{
    if (fails())
        return ENOMEM;
    *memory = __libc_memalign(alignment, size);
    return *memory ? 0 : ENOMEM;
}

static void write_list(void)
{
    atomic_store(&counting, false);
    FILE *file = getpid() == listing_process ? fopen(list, "w") : NULL;
    if (!file)
        return;
    (void)fprintf(file, "%lu\n", atomic_load(&number));
    for (unsigned i = 0; i < places.first_count; i++)
        (void)fprintf(file, "%lu\n", places.firsts[i]);
    (void)fclose(file);
}

static int (*program_main)(int, char **, char **);

static int counted_main(int argc, char **argv, char **environment)
{
    const char *at = getenv("HOP_FAIL_AT");
    list = getenv("HOP_FAIL_LIST");
    fails_at = at ? strtoul(at, NULL, 10) : 0;
    and_later = at && at[0] && at[strlen(at) - 1] == '+';
    void *first[1];
    (void)backtrace(first, 1); /* loads what it needs */
    if (getenv("HOP_FAIL_BUT"))
        (void)dl_iterate_phdr(note_library, getenv("HOP_FAIL_BUT"));
    if (list) {
        listing_process = getpid();
        (void)atexit(write_list);
    }
    atomic_store(&counting, true);
    return program_main(argc, argv, environment);
}

int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end);
int __libc_start_main(int (*main)(int, char **, char **), int argc, char **argv, void (*init)(void), void (*fini)(void),
                      void (*rtld_fini)(void), void *stack_end)
{
    int (*start)(int (*)(int, char **, char **), int, char **, void (*)(void), void (*)(void), void (*)(void), void *);
    void *symbol = dlsym(RTLD_NEXT, "__libc_start_main");
    memcpy(&start, &symbol, sizeof symbol);
    program_main = main;
    return start(counted_main, argc, argv, init, fini, rtld_fini, stack_end);
}
