/* SPDX-License-Identifier: BSD-3-Clause */
/* What goes beyond OpenSHMEM: see shmemx.h. */
#include <stdio.h>

#include "shmem/spaces.h"

#define ZEROS_BYTES ((size_t)64 << 10)

static hop_shmem_space *space_of(shmemx_space_t space, const char *who)
{
    if (space == SHMEMX_SPACE_INVALID)
        hop_shmem_die(who, "the space is SHMEMX_SPACE_INVALID\nwhat shmemx_space_create gave");
    return space;
}

static void find_profile(hop_shmem_space *space, bool again, const char *who)
{
    void *symmetric = hop_shmem.team->group ? pshmem_malloc(HOP_SHMEM_SLOT_BYTES) : NULL;
    if (hop_shmem.team->group && !symmetric)
        hop_shmem_die(who, "no room in the symmetric heap to measure the network\nSHMEM_SYMMETRIC_SIZE of 16M or more");
    hop_shmem_profile(space, again, symmetric);
    pshmem_free(symmetric);
}

void shmemx_space_create(shmemx_space_config_t config, shmemx_space_t *space)
{
    struct hop_diag diag = {0};
    *space = SHMEMX_SPACE_INVALID;
    if (!hop_shmem.pes)
        hop_shmem_die(__func__, "the library is not initialised\nshmem_init before");
    if (config.sheap_size == 0 || config.memkind < SHMEMX_MEM_HOST || config.memkind > SHMEMX_MEM_HIP ||
        config.read_rate < 0 || config.write_rate < 0 || config.latency < 0)
        hop_shmem_die(__func__, "a space of %zu bytes, of kind %d\n1 byte or more, and a kind of memory that there is",
                      config.sheap_size, (int)config.memkind);
    hop_shmem_space *made = hop_shmem_space_create(&config, &diag);
    if (!made) {
        if (diag.status != HOP_OK)
            (void)fprintf(stderr, "hopcast-shmem: PE %u, %s: %s\n", hop_shmem.pe, __func__, diag.what);
        return;
    }
    hop_shmem_desk_open();
    pshmem_sync_all();
    if (config.memkind != SHMEMX_MEM_HOST)
        find_profile(made, false, __func__);
    *space = made;
}

void shmemx_space_destroy(shmemx_space_t space)
{
    hop_shmem_space *gone = space_of(space, __func__);
    pshmem_barrier_all();
    hop_shmem_space_destroy(gone);
}

void shmemx_space_attach(shmemx_space_t space)
{
    space_of(space, __func__)->detached = false;
}

void shmemx_space_detach(shmemx_space_t space)
{
    space_of(space, __func__)->detached = true;
}

int shmemx_space_create_ctx(shmemx_space_t space, long options, shmem_ctx_t *ctx)
{
    return space == SHMEMX_SPACE_INVALID ? -1 : pshmem_ctx_create(options, ctx);
}

/* All PEs choose the same offset, and have come here. */
void *shmemx_space_align(shmemx_space_t space, size_t alignment, size_t size)
{
    hop_shmem_space *of = space_of(space, __func__);
    if (alignment == 0 || (alignment & (alignment - 1)) != 0 || alignment > 256 || size == 0)
        return NULL;
    size_t offset = hop_extents_take(&of->extents, size, alignment);
    pshmem_sync_all();
    return offset == SIZE_MAX ? NULL : of->begin + offset;
}

void *shmemx_space_malloc(shmemx_space_t space, size_t size)
{
    return shmemx_space_align(space, HOP_EXTENT_ALIGNMENT, size);
}

void *shmemx_space_calloc(shmemx_space_t space, size_t count, size_t size)
{
    static const char zeros[ZEROS_BYTES];
    if (size && count > SIZE_MAX / size)
        return NULL;
    char *address = shmemx_space_malloc(space, count * size);
    for (size_t done = 0; address && done < count * size; done += ZEROS_BYTES)
        hop_shmem_space_copy(space, address + done, zeros,
                             count * size - done < ZEROS_BYTES ? count * size - done : ZEROS_BYTES, __func__);
    pshmem_sync_all();
    return address;
}

void shmemx_space_free(shmemx_space_t space, void *ptr)
{
    hop_shmem_space *of = space_of(space, __func__);
    if (!ptr)
        return;
    size_t offset = (size_t)((char *)ptr - of->begin);
    if (!hop_extents_find(&of->extents, offset))
        hop_shmem_die(__func__, "nothing of the space that is in use begins at %p\nwhat shmemx_space_malloc gave, once",
                      ptr);
    pshmem_barrier_all();
    hop_extents_give_back(&of->extents, offset);
}

void shmemx_copy(void *dest, const void *source, size_t bytes)
{
    if (!hop_shmem_space_move(true, dest, (void *)(uintptr_t)source, bytes, (int)hop_shmem.pe, __func__))
        memmove(dest, source, bytes);
}

int shmemx_explain(int is_put, const void *symmetric, const void *local, size_t bytes, int pe, shmemx_choice_t *choice)
{
    return hop_shmem_space_explain(is_put != 0, symmetric, local, bytes, pe, choice);
}

void shmemx_tune(shmemx_space_t space)
{
    hop_shmem_space *of = space_of(space, __func__);
    pshmem_barrier_all();
    if (of->config.memkind != SHMEMX_MEM_HOST)
        find_profile(of, true, __func__);
}

char *shmemx_profile(shmemx_space_t space)
{
    const hop_shmem_space *of = space_of(space, __func__);
    char *text = of->profile ? hop_stages_to_text(of->profile) : NULL;
    if (of->profile && !text)
        hop_shmem_die(__func__, "out of memory");
    return text;
}

void shmemx_set_packet(shmemx_space_t space, size_t packet_bytes)
{
    space_of(space, __func__)->forced = packet_bytes;
}

void hop_shmem_spaces_destroy(void)
{
    hop_shmem_desk_close();
    while (hop_shmem_space_first())
        hop_shmem_space_destroy(hop_shmem_space_first());
}
