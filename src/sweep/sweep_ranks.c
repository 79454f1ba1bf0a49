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

static enum hop_status send(struct hop_group *group, int to, int tag, struct hop_buffer *message, struct hop_diag *diag)
{
    enum hop_status status =
        message->failed ? hop_fail_memory(diag) : hop_group_send(group, to, tag, message->text, message->length, diag);
    hop_buffer_finish(message);
    return status;
}

static enum hop_status send_text(struct hop_group *group, int to, int tag, uint32_t index, const char *text,
                                 struct hop_diag *diag)
{
    struct hop_buffer message = {.failed = !text};
    hop_buffer_add(&message, (const char *)&index, sizeof index);
    hop_buffer_puts(&message, text ? text : "");
    return send(group, to, tag, &message, diag);
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
        uint32_t index = sweep->entries[block->first + i].schedule;
        struct hop_sweep_schedule *schedule = &sweep->schedules[index];
        if (known[index])
            continue;
        if (!schedule->text)
            schedule->text = hop_schedule_to_text(schedule->given);
        status = send_text(group, to, HOP_SWEEP_TAG_SCHEDULE, index, schedule->text, diag);
        known[index] = 1;
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
    struct hop_buffer message = {0};
    enum hop_status status = send_nouns(sweep, options->group, to, block, known, diag);
    if (status != HOP_OK)
        return status;
    hop_buffer_add(&message, (const char *)&head, sizeof head);
    hop_buffer_add(&message, (const char *)&sweep->entries[block->first], block->count * sizeof *sweep->entries);
    hop_buffer_add(&message, key->settings, strlen(key->settings) + 1);
    hop_buffer_add(&message, models, strlen(models) + 1);
    return send(options->group, to, HOP_SWEEP_TAG_BLOCK, &message, diag);
}

/* ---- on the other side ---- */

static bool take_topology(struct hop_sweep *sweep, uint32_t index, const char *text)
{
    if (!HOP_GROW(&sweep->arena, sweep->topologies, (size_t)index + 1))
        return false;
    sweep->topology_count = sweep->topology_count > index ? sweep->topology_count : index + 1;
    free(sweep->topologies[index].json);
    sweep->topologies[index].json = strdup(text);
    return sweep->topologies[index].json != NULL;
}

static bool take_schedule(struct hop_sweep *sweep, uint32_t index, const char *text)
{
    if (!HOP_GROW(&sweep->arena, sweep->schedules, (size_t)index + 1))
        return false;
    sweep->schedule_count = sweep->schedule_count > index ? sweep->schedule_count : index + 1;
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
