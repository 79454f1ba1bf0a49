/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Data segment: global and static variables of the program are symmetric, too. They are copied into shared memory, which
 * then takes their place, so that other PEs reach them as they reach the heap:
 *
 *     program:  | constants | made constant | data, zeroed data |        the last, in whole pages
 *                                            ^ shared memory mapped here
 *
 * A child process gets a copy of its own, as it would have without this.
 */
#include "shmem/world.h"

#include <link.h>
#include <sys/mman.h>
#include <unistd.h>

static struct {
    uintptr_t begin, end; /* 0: not asked yet */
    bool shared;
} data;

/* The first object is the program. */
static int look(struct dl_phdr_info *info, size_t size, void *context)
{
    uintptr_t page = (uintptr_t)sysconf(_SC_PAGESIZE), constant = 0;
    (void)size;
    (void)context;
    for (int i = 0; i < info->dlpi_phnum; i++) {
        const ElfW(Phdr) *part = &info->dlpi_phdr[i];
        uintptr_t begin = info->dlpi_addr + part->p_vaddr, end = begin + part->p_memsz;
        if (part->p_type == PT_GNU_RELRO)
            constant = end;
        if (part->p_type != PT_LOAD || !(part->p_flags & PF_W))
            continue;
        data.begin = data.begin && data.begin < begin ? data.begin : begin;
        data.end = data.end > end ? data.end : end;
    }
    if (constant > data.begin)
        data.begin = constant;
    data.begin = data.begin / page * page;
    data.end = (data.end + page - 1) / page * page;
    return 1;
}

/* Sanitizers do not watch it: what they put between the variables is copied, too. */
__attribute__((no_sanitize_address, no_sanitize_thread)) static void
copy_all(volatile uint64_t *to, const volatile uint64_t *from, size_t bytes)
{
    for (size_t i = 0; i < bytes / sizeof *to; i++)
        to[i] = from[i];
}

/* Everything in between may change no more, so no library is called that might write to it. */
static bool replace(void *by, size_t bytes, void *place)
{
    copy_all(by, place, bytes);
    return hop_shared_move(by, bytes, place);
}

static void keep_own(void)
{
    size_t bytes = data.end - data.begin;
    if (!data.shared)
        return;
    void *own = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (own == MAP_FAILED || !replace(own, bytes, (void *)data.begin))
        _exit(127); /* it would write into its parent */
}

void hop_shmem_data_create(void)
{
    struct hop_shmem_segment *segment = &hop_shmem.segments[HOP_SHMEM_DATA];
    struct hop_shared memory, view;
    struct hop_diag diag;
    bool first = data.begin == 0;
    if (first)
        (void)dl_iterate_phdr(look, NULL);
    size_t bytes = data.end - data.begin;
    if (first)
        (void)pthread_atfork(NULL, NULL, keep_own);
    HOP_SHMEM_NEED("shmem_init", hop_shared_create(bytes, &memory, &diag_));
    HOP_SHMEM_NEED("shmem_init", hop_shared_attach(memory.name, &view, &diag_));
    if (!replace(view.memory, bytes, (void *)data.begin))
        hop_shmem_die("shmem_init", "the program's global variables cannot be shared: %zu bytes at %p", bytes,
                      (void *)data.begin);
    data.shared = true;
    if (hop_region_add(hop_shmem.team, &memory, (char *)data.begin, bytes, &diag) != HOP_OK)
        hop_shmem_fail("shmem_init", &diag);
    const struct hop_region *region = &hop_shmem.team->regions[hop_shmem.team->region_count - 1];
    *segment = (struct hop_shmem_segment){data.begin, bytes, hop_shmem_parts(region)};
}

void hop_shmem_data_destroy(void)
{
    free(hop_shmem.segments[HOP_SHMEM_DATA].here);
    hop_shmem.segments[HOP_SHMEM_DATA] = (struct hop_shmem_segment){0};
}
