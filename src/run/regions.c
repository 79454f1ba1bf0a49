/* SPDX-License-Identifier: BSD-3-Clause */
/* Regions: memory of each rank that all ranks of the machine have mapped; a region has a part of every rank. */
#include "run/team.h"

uint32_t hop_region_of(const struct hop_team *team, const char *address, uint64_t bytes)
{
    uintptr_t from = (uintptr_t)address;
    for (uint32_t r = 0; r < team->region_count; r++) {
        const struct hop_region *region = &team->regions[r];
        uintptr_t begin = (uintptr_t)region->own;
        if (region->parts && from >= begin && bytes <= region->bytes && from - begin <= region->bytes - bytes)
            return r + 1;
    }
    return 0;
}

static void finish(struct hop_team *team, struct hop_region *region)
{
    for (uint32_t l = 0; region->parts && l < team->local_size && !region->borrowed; l++)
        hop_shared_finish(&region->parts[l]);
    free(region->parts);
    region->parts = NULL;
}

void hop_regions_finish(struct hop_team *team)
{
    for (uint32_t r = 0; r < team->region_count; r++)
        finish(team, &team->regions[r]);
    free(team->regions);
}

/* Every rank's part, mapped here; `mine` is this rank's, which is mapped already where it was made here. */
static enum hop_status map_parts(struct hop_team *team, struct hop_shared *mine, struct hop_region *region,
                                 struct hop_diag *diag)
{
    char *names = calloc(team->local_size, sizeof mine->name);
    region->parts = calloc(team->local_size, sizeof *region->parts);
    enum hop_status status = names && region->parts ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = hop_team_exchange(team, mine->name, names, sizeof mine->name, diag);
    for (uint32_t l = 0; l < team->local_size && status == HOP_OK; l++) {
        if (l == team->local && mine->memory)
            region->parts[l] = *mine;
        else
            status = hop_shared_attach(names + l * sizeof mine->name, &region->parts[l], diag);
        if (status == HOP_OK && l == team->local && region->parts[l].size < region->bytes)
            status = hop_fail(diag, HOP_ERR_INVALID, "%s has %zu bytes, not %llu\nas many as are mapped", mine->name,
                              region->parts[l].size, (unsigned long long)region->bytes);
        hop_team_beat(team);
    }
    free(names);
    if (status == HOP_OK)
        status = hop_team_barrier_local(team, diag);
    if (status == HOP_OK)
        hop_shared_withdraw(&region->parts[team->local]);
    return status;
}

static enum hop_status make_room(struct hop_team *team, uint32_t more, struct hop_diag *diag)
{
    struct hop_region *grown = realloc(team->regions, (team->region_count + more) * sizeof *grown);
    if (!grown && more > 0)
        return hop_fail_memory(diag);
    team->regions = grown;
    return HOP_OK;
}

enum hop_status hop_region_add(struct hop_team *team, struct hop_shared *mine, char *own, uint64_t bytes,
                               struct hop_diag *diag)
{
    struct hop_region region = {.own = own, .bytes = bytes};
    enum hop_status status = make_room(team, 1, diag);
    if (status == HOP_OK)
        status = map_parts(team, mine, &region, diag);
    if (status == HOP_OK) {
        team->regions[team->region_count++] = region;
        return HOP_OK;
    }
    if (region.parts && region.parts[team->local].memory == mine->memory)
        mine->memory = NULL;
    finish(team, &region);
    hop_shared_finish(mine);
    hop_team_look(team); /* the memory of one that died is gone */
    if (hop_team_lost(team) >= 0)
        return hop_team_fail(team, diag);
    hop_team_abort(team, diag); /* the others would wait for us */
    return status;
}

enum hop_status hop_regions_borrow(struct hop_team *team, const struct hop_team *from, const uint32_t *rank_of,
                                   struct hop_diag *diag)
{
    HOP_CHECK(make_room(team, from->region_count, diag));
    for (uint32_t r = 0; r < from->region_count; r++) {
        struct hop_region region = from->regions[r];
        region.borrowed = true;
        region.parts = calloc(team->local_size, sizeof *region.parts);
        if (!region.parts)
            return hop_fail_memory(diag);
        for (uint32_t l = 0; from->regions[r].parts && l < team->local_size; l++)
            region.parts[l] = from->regions[r].parts[from->local_of[rank_of[team->rank_of[l]]]];
        team->regions[team->region_count++] = region;
    }
    return HOP_OK;
}

enum hop_status hop_team_allocate(struct hop_team *team, uint64_t bytes, void **address, struct hop_diag *diag)
{
    struct hop_shared mine;
    struct hop_diag own;
    diag = diag ? diag : &own;
    hop_team_allow(team, bytes);
    enum hop_status status = hop_shared_create(bytes, &mine, diag);
    hop_team_allow(team, 0);
    if (status == HOP_OK)
        status = hop_region_add(team, &mine, *address = mine.memory, bytes, diag);
    else if (hop_team_lost(team) < 0)
        hop_team_abort(team, diag);
    return status;
}

enum hop_status hop_team_register(struct hop_team *team, const char *name, void *address, uint64_t bytes,
                                  struct hop_diag *diag)
{
    struct hop_shared mine = {0};
    struct hop_diag own;
    if (strlen(name) >= sizeof mine.name)
        return hop_fail(diag, HOP_ERR_LIMIT, "the name %.80s is too long\nat most %zu characters", name,
                        sizeof mine.name - 1);
    memcpy(mine.name, name, strlen(name) + 1);
    return hop_region_add(team, &mine, address, bytes, diag ? diag : &own);
}

enum hop_status hop_team_free(struct hop_team *team, void *address, struct hop_diag *diag)
{
    uint32_t region = hop_region_of(team, address, 0);
    if (!region || team->regions[region - 1].own != address)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "nothing of rank %u begins at %p\nwhat hop_team_allocate gave, or "
                        "hop_team_register got",
                        team->rank, address);
    enum hop_status status = hop_team_barrier_local(team, diag);
    finish(team, &team->regions[region - 1]);
    return status;
}
