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
    hop_arena_finish(&sweep->arena);
    free(sweep);
}

enum hop_status hop_sweep_add_schedule(struct hop_sweep *sweep, const struct hop_schedule *schedule, uint32_t *index,
                                       struct hop_diag *diag)
{
    if (sweep->schedule_count == NOUNS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than %d schedules in a sweep", NOUNS_MAX);
    if (!HOP_GROW(&sweep->arena, sweep->schedules, sweep->schedule_count + 1))
        return hop_fail_memory(diag);
    sweep->schedules[sweep->schedule_count].given = schedule;
    *index = sweep->schedule_count++;
    return HOP_OK;
}

enum hop_status hop_sweep_add_topology(struct hop_sweep *sweep, const struct hop_topology *topology, uint32_t *index,
                                       struct hop_diag *diag)
{
    if (sweep->topology_count == NOUNS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than %d topologies in a sweep", NOUNS_MAX);
    char *json =
        HOP_GROW(&sweep->arena, sweep->topologies, sweep->topology_count + 1) ? hop_topology_to_json(topology) : NULL;
    if (!json)
        return hop_fail_memory(diag);
    sweep->topologies[sweep->topology_count].json = json;
    *index = sweep->topology_count++;
    return HOP_OK;
}

/* ---- cases ---- */

static bool is_same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

/* The key of a case: the last one, or a new one. */
static enum hop_status find_key(struct hop_sweep *sweep, const struct hop_sweep_case *one, uint32_t *key,
                                struct hop_diag *diag)
{
    struct hop_buffer text = {0};
    for (uint32_t i = 0; i < one->assignment_count; i++)
        hop_buffer_printf(&text, "%s\n", one->assignments[i]);
    const char *settings = text.text ? text.text : "";
    const struct hop_sweep_key *last = sweep->key_count ? &sweep->keys[sweep->key_count - 1] : NULL;
    bool same = last && last->topology == one->topology && is_same_text(last->models, one->models) &&
                strcmp(last->settings, settings) == 0;
    if (!same && !text.failed && HOP_GROW(&sweep->arena, sweep->keys, sweep->key_count + 1))
        sweep->keys[sweep->key_count++] = (struct hop_sweep_key){
            .topology = one->topology,
            .models = one->models ? hop_arena_string(&sweep->arena, one->models, strlen(one->models)) : NULL,
            .settings = hop_arena_string(&sweep->arena, settings, strlen(settings)),
        };
    bool fine = !text.failed && !sweep->arena.failed;
    hop_buffer_finish(&text);
    *key = sweep->key_count - 1;
    return fine ? HOP_OK : hop_fail_memory(diag);
}

static enum hop_status check_case(const struct hop_sweep *sweep, const struct hop_sweep_case *one,
                                  struct hop_diag *diag)
{
    if (one->schedule >= sweep->schedule_count || one->topology >= sweep->topology_count)
        return hop_fail(diag, HOP_ERR_NOT_FOUND, "a case names a schedule or topology that was not added");
    if (one->resize && one->bytes > HOP_BYTES_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "a size above 1 EiB");
    if (!(one->scale >= 0 && one->scale <= 1e18)) {
        return hop_fail(diag, HOP_ERR_INVALID, "sizes cannot be scaled by %g\na factor above 0, up to 1e18",
                        one->scale);
    }
    if (one->assignment_count > ASSIGNMENTS_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than %d assignments in a case", ASSIGNMENTS_MAX);
    for (uint32_t i = 0; i < one->assignment_count; i++) {
        if (strchr(one->assignments[i], '\n'))
            return hop_fail(diag, HOP_ERR_SYNTAX, "an assignment goes over several lines");
    }
    if (sweep->entry_count == HOP_SWEEP_CASES_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "more than %u cases", HOP_SWEEP_CASES_MAX);
    return HOP_OK;
}

enum hop_status hop_sweep_add(struct hop_sweep *sweep, const struct hop_sweep_case *one, struct hop_diag *diag)
{
    uint32_t key = 0;
    enum hop_status status = check_case(sweep, one, diag);
    if (status == HOP_OK)
        status = find_key(sweep, one, &key, diag);
    if (status != HOP_OK)
        return status;
    if (!HOP_GROW(&sweep->arena, sweep->entries, sweep->entry_count + 1))
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
            if (!HOP_GROW(&sweep->arena, sweep->blocks, sweep->block_count + 1))
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
