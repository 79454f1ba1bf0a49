/* SPDX-License-Identifier: BSD-3-Clause */
/* Spaces: made by all PEs alike; their memory, and copies by this PE's device. */
#include "shmem/spaces.h"

static struct {
    hop_shmem_space *first;
    uint32_t made;
    pthread_mutex_t lock; /* between who adds and removes, and the threads that serve other PEs */
} spaces = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* ---- the device ---- */

static const struct hop_device_ops *ops_of(shmemx_memkind_t kind)
{
    switch (kind) {
    case SHMEMX_MEM_CUDA:
        return &hop_device_cuda;
    case SHMEMX_MEM_HIP:
        return &hop_device_hip;
    default:
        return &hop_device_host;
    }
}

static enum hop_status open_one(hop_shmem_space *space, uint32_t count, struct hop_device **device,
                                struct hop_diag *diag)
{
    const struct hop_device_options options = {.index = hop_shmem.team->local % count};
    if (space->config.memkind == SHMEMX_MEM_ACCELERATOR)
        return hop_accelerator_open(&space->accelerator, device, diag);
    return space->ops->open(&options, device, diag);
}

static enum hop_status open_device(hop_shmem_space *space, struct hop_diag *diag)
{
    uint32_t count;
    void *begin;
    space->ops = ops_of(space->config.memkind);
    space->accelerator = (struct hop_accelerator){.read_Bps = space->config.read_rate,
                                                  .write_Bps = space->config.write_rate,
                                                  .latency_s = space->config.latency,
                                                  .bytes = space->config.sheap_size};
    HOP_CHECK(space->ops->count(&count, diag));
    if (count == 0)
        return hop_fail(diag, HOP_ERR_UNSUPPORTED, "there is no %s device on this machine", space->ops->facts.name);
    HOP_CHECK(open_one(space, count, &space->own, diag));
    HOP_CHECK(open_one(space, count, &space->served, diag));
    HOP_CHECK(space->ops->allocate(space->own, space->config.sheap_size, &begin, diag));
    space->begin = begin;
    space->accelerator.begin = begin;
    return HOP_OK;
}

/* ---- whom it reaches ---- */

struct part {
    struct hop_device_handle handle;
    char place[16];
    bool fine, direct; /* there is one; others may reach it */
};

static void reach(hop_shmem_space *space, uint32_t pe, const struct part *part)
{
    bool reaches = false;
    void *address;
    if (pe == hop_shmem.pe || !part->direct || hop_shmem_is_far((int)pe))
        return;
    if (space->ops->reaches(space->own, part->place, &reaches, NULL) == HOP_OK && reaches &&
        space->ops->import_memory(space->own, &part->handle, &address, NULL) == HOP_OK)
        space->direct[pe] = address;
}

/* Everybody hears whether all have theirs. */
static bool exchange_parts(hop_shmem_space *space, bool fine)
{
    struct part mine = {.fine = fine}, *parts = calloc(hop_shmem.pes, sizeof *parts);
    struct hop_device_properties properties;
    if (!parts)
        hop_shmem_die("shmemx_space_create", "out of memory");
    if (fine) {
        space->ops->properties(space->own, &properties);
        memcpy(mine.place, properties.place, sizeof mine.place);
        mine.direct = space->config.memkind != SHMEMX_MEM_ACCELERATOR && /* it has no peers */
                      space->ops->export_memory(space->own, space->begin, &mine.handle, NULL) == HOP_OK;
    }
    (void)pthread_mutex_lock(&hop_shmem.turn);
    HOP_SHMEM_NEED("shmemx_space_create", hop_team_gather(hop_shmem.team, &mine, parts, sizeof mine, &diag_));
    for (uint32_t pe = 0; pe < hop_shmem.pes; pe++)
        fine = fine && parts[pe].fine;
    for (uint32_t pe = 0; fine && pe < hop_shmem.pes; pe++)
        reach(space, pe, &parts[pe]);
    HOP_SHMEM_NEED("shmemx_space_create", hop_team_barrier(hop_shmem.team, &diag_));
    (void)pthread_mutex_unlock(&hop_shmem.turn);
    if (fine && mine.direct)
        space->ops->withdraw(space->own, space->begin);
    free(parts);
    return fine;
}

/* ---- the list ---- */

static void finish(hop_shmem_space *space)
{
    if (space->served)
        space->ops->close(space->served);
    if (space->own)
        space->ops->close(space->own);
    hop_extents_destroy(&space->extents);
    hop_stages_destroy(space->profile);
    (void)pthread_mutex_destroy(&space->lock);
    (void)pthread_mutex_destroy(&space->serve_lock);
    free(space->direct);
    free(space);
}

hop_shmem_space *hop_shmem_space_create(const shmemx_space_config_t *config, struct hop_diag *diag)
{
    hop_shmem_space *space = calloc(1, sizeof *space);
    if (!space)
        hop_shmem_die("shmemx_space_create", "out of memory");
    space->config = *config;
    space->number = spaces.made++;
    space->forced = SIZE_MAX;
    (void)pthread_mutex_init(&space->lock, NULL);
    (void)pthread_mutex_init(&space->serve_lock, NULL);
    space->direct = calloc(hop_shmem.pes, sizeof *space->direct);
    enum hop_status status = space->direct && hop_extents_create(&space->extents, config->sheap_size)
                                 ? open_device(space, diag)
                                 : hop_fail_memory(diag);
    if (!exchange_parts(space, status == HOP_OK)) {
        finish(space);
        return NULL;
    }
    (void)pthread_mutex_lock(&spaces.lock);
    space->next = spaces.first;
    spaces.first = space;
    (void)pthread_mutex_unlock(&spaces.lock);
    hop_shmem.spaces++;
    return space;
}

void hop_shmem_space_destroy(hop_shmem_space *space)
{
    hop_shmem_space **at = &spaces.first;
    (void)pthread_mutex_lock(&spaces.lock);
    while (*at != space)
        at = &(*at)->next;
    *at = space->next;
    (void)pthread_mutex_unlock(&spaces.lock);
    hop_shmem.spaces--;
    space->ops->release(space->own);
    (void)pthread_mutex_lock(&hop_shmem.turn);
    HOP_SHMEM_NEED("shmemx_space_destroy", hop_team_barrier(hop_shmem.team, &diag_));
    (void)pthread_mutex_unlock(&hop_shmem.turn);
    finish(space);
}

hop_shmem_space *hop_shmem_space_first(void)
{
    return spaces.first;
}

hop_shmem_space *hop_shmem_space_of(const void *address)
{
    hop_shmem_space *space = spaces.first;
    while (space && (space->detached || (uintptr_t)address - (uintptr_t)space->begin >= space->config.sheap_size))
        space = space->next;
    return space;
}

hop_shmem_space *hop_shmem_space_numbered(uint32_t number)
{
    (void)pthread_mutex_lock(&spaces.lock);
    hop_shmem_space *space = spaces.first;
    while (space && space->number != number)
        space = space->next;
    (void)pthread_mutex_unlock(&spaces.lock);
    return space;
}

/* ---- copies ---- */

void hop_shmem_space_copy(hop_shmem_space *space, void *to, const void *from, size_t bytes, const char *who)
{
    const struct hop_device_copy copy = {.to = to, .from = from, .bytes = bytes, .way = HOP_NO_WAY};
    struct hop_diag diag;
    (void)pthread_mutex_lock(&space->lock);
    enum hop_status status = space->ops->copy(space->own, HOP_STREAM_NOW, &copy, &diag);
    (void)pthread_mutex_unlock(&space->lock);
    if (status != HOP_OK)
        hop_shmem_fail(who, &diag);
}

enum hop_status hop_shmem_space_serve(hop_shmem_space *space, void *to, const void *from, size_t bytes,
                                      struct hop_diag *diag)
{
    const struct hop_device_copy copy = {.to = to, .from = from, .bytes = bytes, .way = HOP_NO_WAY};
    (void)pthread_mutex_lock(&space->serve_lock);
    enum hop_status status = space->ops->copy(space->served, HOP_STREAM_NOW, &copy, diag);
    (void)pthread_mutex_unlock(&space->serve_lock);
    return status;
}
