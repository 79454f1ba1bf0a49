/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What ranks send each other. Topologies travel as JSON, schedules as text: both read back to the very same.
 *
 *     topology, schedule   index, text
 *     block                struct block_head, the cases, settings and models as strings
 *     done                 the block's number, the outcomes
 */
#include "sweep/sweep.h"

enum { HAS_MODELS = 1, SOURCES_UNLIMITED = 2 };

struct block_head {
    uint32_t block, count, topology, flags;
};

static enum hop_status send_text(struct hop_group *group, int to, int tag, uint32_t index, const char *text,
                                 struct hop_diag *diag)
{
    size_t length = strlen(text);
    char *message = malloc(sizeof index + length);
    if (!message)
        return hop_fail_memory(diag);
    memcpy(message, &index, sizeof index);
    memcpy(message + sizeof index, text, length);
    enum hop_status status = hop_group_send(group, to, tag, message, sizeof index + length, diag);
    free(message);
    return status;
}

static enum hop_status send_schedule(struct hop_sweep *sweep, struct hop_group *group, int to, uint32_t index,
                                     struct hop_diag *diag)
{
    struct hop_sweep_schedule *schedule = &sweep->schedules[index];
    if (!schedule->text)
        schedule->text = hop_schedule_to_text(schedule->given);
    return schedule->text ? send_text(group, to, HOP_SWEEP_TAG_SCHEDULE, index, schedule->text, diag)
                          : hop_fail_memory(diag);
}

static enum hop_status send_nouns(struct hop_sweep *sweep, struct hop_group *group, int to,
                                  const struct hop_sweep_block *block, uint8_t *known, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    uint32_t topology = sweep->keys[block->key].topology;
    if (!known[sweep->schedule_count + topology])
        status = send_text(group, to, HOP_SWEEP_TAG_TOPOLOGY, topology, sweep->topologies[topology].json, diag);
    known[sweep->schedule_count + topology] = 1;
    for (uint32_t i = 0; i < block->count && status == HOP_OK; i++) {
        uint32_t schedule = sweep->entries[block->first + i].schedule;
        if (!known[schedule])
            status = send_schedule(sweep, group, to, schedule, diag);
        known[schedule] = 1;
    }
    return status;
}

enum hop_status hop_sweep_send_block(struct hop_sweep *sweep, const struct hop_sweep_options *options, int to,
                                     uint32_t index, uint8_t *known, struct hop_diag *diag)
{
    const struct hop_sweep_block *block = &sweep->blocks[index];
    const struct hop_sweep_key *key = &sweep->keys[block->key];
    const struct block_head head = {index, block->count, key->topology,
                                    (key->models ? HAS_MODELS : 0u) |
                                        (options->sources_unlimited ? SOURCES_UNLIMITED : 0u)};
    const char *models = key->models ? key->models : "";
    size_t entries = block->count * sizeof *sweep->entries, settings = strlen(key->settings) + 1;
    size_t size = sizeof head + entries + settings + strlen(models) + 1;
    enum hop_status status = send_nouns(sweep, options->group, to, block, known, diag);
    char *message = status == HOP_OK ? malloc(size) : NULL;
    if (status == HOP_OK && !message)
        return hop_fail_memory(diag);
    if (status != HOP_OK)
        return status;
    memcpy(message, &head, sizeof head);
    memcpy(message + sizeof head, &sweep->entries[block->first], entries);
    memcpy(message + sizeof head + entries, key->settings, settings);
    memcpy(message + sizeof head + entries + settings, models, strlen(models) + 1);
    status = hop_group_send(options->group, to, HOP_SWEEP_TAG_BLOCK, message, size, diag);
    free(message);
    return status;
}

/* ---- on the other side ---- */

static bool take_topology(struct hop_sweep *sweep, uint32_t index, const char *text)
{
    if (!hop_grow(&sweep->topologies, &sweep->topology_capacity, index + 1, sizeof *sweep->topologies))
        return false;
    while (sweep->topology_count <= index)
        sweep->topologies[sweep->topology_count++] = (struct hop_sweep_topology){0};
    free(sweep->topologies[index].json);
    sweep->topologies[index].json = strdup(text);
    return sweep->topologies[index].json != NULL;
}

static bool take_schedule(struct hop_sweep *sweep, uint32_t index, const char *text)
{
    if (!hop_grow(&sweep->schedules, &sweep->schedule_capacity, index + 1, sizeof *sweep->schedules))
        return false;
    while (sweep->schedule_count <= index)
        sweep->schedules[sweep->schedule_count++] = (struct hop_sweep_schedule){0};
    struct hop_sweep_schedule *schedule = &sweep->schedules[index];
    if (schedule->own || hop_schedule_parse("schedule", text, strlen(text), &schedule->own, NULL) != HOP_OK)
        return false;
    schedule->given = schedule->own;
    return true;
}

bool hop_sweep_take_noun(struct hop_sweep *sweep, const struct hop_group_message *message)
{
    uint32_t index;
    if (message->size_bytes < sizeof index)
        return false;
    memcpy(&index, message->bytes, sizeof index);
    const char *text = (const char *)message->bytes + sizeof index;
    return message->tag == HOP_SWEEP_TAG_TOPOLOGY ? take_topology(sweep, index, text)
                                                  : take_schedule(sweep, index, text);
}

bool hop_sweep_read_parcel(const struct hop_group_message *message, struct hop_sweep_parcel *parcel)
{
    struct block_head head;
    if (message->size_bytes < sizeof head)
        return false;
    memcpy(&head, message->bytes, sizeof head);
    size_t rest = message->size_bytes - sizeof head;
    if (rest / sizeof *parcel->entries < head.count)
        return false;
    char *entries = (char *)message->bytes + sizeof head, *settings = entries + head.count * sizeof *parcel->entries;
    rest -= head.count * sizeof *parcel->entries;
    size_t length = strnlen(settings, rest);
    if (length == rest)
        return false;
    *parcel = (struct hop_sweep_parcel){
        .block = head.block, .count = head.count, .sources_unlimited = head.flags & SOURCES_UNLIMITED};
    parcel->key =
        (struct hop_sweep_key){head.topology, head.flags & HAS_MODELS ? settings + length + 1 : NULL, settings};
    parcel->entries = (struct hop_sweep_entry *)(void *)entries; /* malloc's alignment, and the head is 16 bytes */
    return true;
}
