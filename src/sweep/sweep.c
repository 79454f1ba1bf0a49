/* SPDX-License-Identifier: BSD-3-Clause */
/* The list of cases. */
#include "sweep/sweep.h"

#include <math.h>

enum { NOUNS_MAX = 1 << 24, ASSIGNMENTS_MAX = 1024, BLOCK_CASES = 64, BLOCK_OPS = 4096 };

enum hop_status hop_sweep_create(struct hop_sweep **sweep, struct hop_diag *diag)
{
    struct hop_sweep *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    *sweep = made;
    return HOP_OK;
}

void hop_sweep_destroy(struct hop_sweep *sweep)
{
    if (!sweep)
        return;
    hop_sweep_forget_sizes(sweep);
    for (uint32_t i = 0; i < sweep->schedule_count; i++) {
        hop_schedule_destroy(sweep->schedules[i].own);
        free(sweep->schedules[i].text);
    }
    for (uint32_t i = 0; i < sweep->topology_count; i++) {
        hop_topology_destroy(sweep->topologies[i].copy);
        free(sweep->topologies[i].json);
        free(sweep->topologies[i].settings);
    }
    free(sweep->schedules);
    free(sweep->topologies);
    free(sweep->keys);
    free(sweep->entries);
    free(sweep->blocks);
    hop_arena_finish(&sweep->arena);
    free(sweep);
}

enum hop_status hop_sweep_add_schedule(struct hop_sweep *sweep, const struct hop_schedule *schedule, uint32_t *index,
                                       struct hop_diag *diag)
{
    if (sweep->schedule_count == NOUNS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than %d schedules in a sweep", NOUNS_MAX);
    if (!hop_grow(&sweep->schedules, &sweep->schedule_capacity, sweep->schedule_count + 1, sizeof *sweep->schedules))
        return hop_fail_memory(diag);
    sweep->schedules[sweep->schedule_count] = (struct hop_sweep_schedule){.given = schedule};
    *index = sweep->schedule_count++;
    return HOP_OK;
}

enum hop_status hop_sweep_add_topology(struct hop_sweep *sweep, const struct hop_topology *topology, uint32_t *index,
                                       struct hop_diag *diag)
{
    if (sweep->topology_count == NOUNS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than %d topologies in a sweep", NOUNS_MAX);
    if (!hop_grow(&sweep->topologies, &sweep->topology_capacity, sweep->topology_count + 1, sizeof *sweep->topologies))
        return hop_fail_memory(diag);
    char *json = hop_topology_to_json(topology);
    if (!json)
        return hop_fail_memory(diag);
    sweep->topologies[sweep->topology_count] = (struct hop_sweep_topology){.json = json};
    *index = sweep->topology_count++;
    return HOP_OK;
}

/* ---- cases ---- */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static enum hop_status join(const struct hop_sweep_case *one, char **settings, struct hop_diag *diag)
{
    struct hop_buffer text = {0};
    if (one->assignment_count > ASSIGNMENTS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than %d assignments in a case", ASSIGNMENTS_MAX);
    for (uint32_t i = 0; i < one->assignment_count; i++) {
        if (strchr(one->assignments[i], '\n')) {
            hop_buffer_finish(&text);
            return hop_fail(diag, HOP_ERR_SYNTAX, "an assignment goes over several lines");
        }
        hop_buffer_puts(&text, one->assignments[i]);
        hop_buffer_puts(&text, "\n");
    }
    *settings = hop_buffer_take(&text);
    return *settings ? HOP_OK : hop_fail_memory(diag);
}

/* The key of a case: the last one, or a new one. */
static enum hop_status find_key(struct hop_sweep *sweep, const struct hop_sweep_case *one, const char *settings,
                                uint32_t *key, struct hop_diag *diag)
{
    if (sweep->key_count) {
        const struct hop_sweep_key *last = &sweep->keys[sweep->key_count - 1];
        *key = sweep->key_count - 1;
        if (last->topology == one->topology && is_same_text(last->models, one->models) &&
            strcmp(last->settings, settings) == 0)
            return HOP_OK;
    }
    if (!hop_grow(&sweep->keys, &sweep->key_capacity, sweep->key_count + 1, sizeof *sweep->keys))
        return hop_fail_memory(diag);
    const struct hop_sweep_key made = {
        .topology = one->topology,
        .models = one->models ? hop_arena_string(&sweep->arena, one->models, strlen(one->models)) : NULL,
        .settings = hop_arena_string(&sweep->arena, settings, strlen(settings)),
    };
    if (sweep->arena.failed)
        return hop_fail_memory(diag);
    sweep->keys[sweep->key_count] = made;
    *key = sweep->key_count++;
    return HOP_OK;
}

static enum hop_status check_case(const struct hop_sweep *sweep, const struct hop_sweep_case *one,
                                  struct hop_diag *diag)
{
    if (one->schedule >= sweep->schedule_count || one->topology >= sweep->topology_count)
        return hop_fail(diag, HOP_ERR_NOT_FOUND, "a case names a schedule or topology that was not added");
    if (one->resize && one->bytes > HOP_BYTES_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "a size above 1 EiB");
    if (!(one->scale >= 0 && one->scale <= 1e18)) {
        hop_fail(diag, HOP_ERR_INVALID, "sizes cannot be scaled by %g", one->scale);
        hop_diag_expect(diag, "a factor above 0, up to 1e18");
        return HOP_ERR_INVALID;
    }
    if (sweep->entry_count == HOP_SWEEP_CASES_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than %u cases", HOP_SWEEP_CASES_MAX);
    return HOP_OK;
}

enum hop_status hop_sweep_add(struct hop_sweep *sweep, const struct hop_sweep_case *one, struct hop_diag *diag)
{
    char *settings = NULL;
    uint32_t key = 0;
    enum hop_status status = check_case(sweep, one, diag);
    if (status == HOP_OK)
        status = join(one, &settings, diag);
    if (status == HOP_OK)
        status = find_key(sweep, one, settings, &key, diag);
    free(settings);
    if (status != HOP_OK)
        return status;
    if (!hop_grow(&sweep->entries, &sweep->entry_capacity, sweep->entry_count + 1, sizeof *sweep->entries))
        return hop_fail_memory(diag);
    sweep->entries[sweep->entry_count++] = (struct hop_sweep_entry){.scale = one->scale == 0 ? 1 : one->scale,
                                                                    .bytes = one->resize ? one->bytes : 0,
                                                                    .schedule = one->schedule,
                                                                    .key = key,
                                                                    .resize = one->resize};
    return HOP_OK;
}

uint32_t hop_sweep_count(const struct hop_sweep *sweep)
{
    return sweep->entry_count;
}

/* ---- blocks ---- */

enum hop_status hop_sweep_cut(struct hop_sweep *sweep, struct hop_diag *diag)
{
    uint64_t ops = 0;
    struct hop_sweep_block *block = NULL;
    sweep->block_count = 0;
    for (uint32_t i = 0; i < sweep->entry_count; i++) {
        const struct hop_sweep_entry *entry = &sweep->entries[i];
        uint32_t more = hop_schedule_count(sweep->schedules[entry->schedule].given);
        if (!block || block->key != entry->key || block->count == BLOCK_CASES || ops + more > BLOCK_OPS) {
            if (!hop_grow(&sweep->blocks, &sweep->block_capacity, sweep->block_count + 1, sizeof *sweep->blocks))
                return hop_fail_memory(diag);
            block = &sweep->blocks[sweep->block_count++];
            *block = (struct hop_sweep_block){.key = entry->key, .first = i};
            ops = 0;
        }
        block->count++;
        ops += more;
    }
    return HOP_OK;
}
