/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Letters: what the ranks of a team on several machines tell each other by messages of their group. Each letter begins with the
 * number of its team, since a group's ranks may be in several. Letters of one rank arrive in their order, and all ranks of
 * a team gather and wait in the same order, so that the next letter of a rank is the one that is meant.
 */
#include "run/team.h"

#define ATTEND_S 0.1

/* ---- one letter ---- */

static enum hop_status send_letter(struct hop_team *team, uint32_t to, int tag, const void *bytes, size_t size,
                                   struct hop_diag *diag)
{
    return hop_group_send_two(team->group, hop_team_in_group(team, to), tag, &team->channel, sizeof team->channel,
                              bytes, size, diag);
}

struct awaited {
    const struct hop_team *team;
    uint32_t from;   /* that rank, where had is NULL */
    const bool *had; /* per rank: those that are awaited no more */
};

static bool is_awaited(const struct hop_group_message *message, const void *context)
{
    const struct awaited *awaited = context;
    uint64_t channel = 0;
    if (message->size_bytes < sizeof channel)
        return false;
    memcpy(&channel, message->bytes, sizeof channel);
    if (channel != awaited->team->channel)
        return false;
    uint32_t from = hop_team_of_group(awaited->team, message->from);
    return from < awaited->team->size && (awaited->had ? !awaited->had[from] : from == awaited->from);
}

static enum hop_status receive_letter(struct hop_team *team, int tag, const struct awaited *awaited,
                                      struct hop_group_message *message, struct hop_diag *diag)
{
    while (!hop_group_receive_wanted(team->group, tag, is_awaited, awaited, ATTEND_S, message)) {
        if (!hop_team_attend(team))
            return hop_team_fail(team, diag);
    }
    return HOP_OK;
}

/* ---- all together ---- */

enum hop_status hop_team_gather(struct hop_team *team, const void *mine, void *all, size_t size, struct hop_diag *diag)
{
    if (!team->group)
        return hop_team_exchange(team, mine, all, size, diag);
    bool *had = calloc(team->size, sizeof *had);
    enum hop_status status = had ? HOP_OK : hop_fail_memory(diag);
    memcpy((char *)all + team->rank * size, mine, size);
    for (uint32_t to = 0; to < team->size && status == HOP_OK; to++) {
        if (to != team->rank)
            status = send_letter(team, to, HOP_TAG_GATHER, mine, size, diag);
    }
    for (uint32_t left = team->size - 1; left > 0 && status == HOP_OK; left--) {
        const struct awaited awaited = {.team = team, .had = had};
        struct hop_group_message message;
        had[team->rank] = true;
        status = receive_letter(team, HOP_TAG_GATHER, &awaited, &message, diag);
        if (status != HOP_OK)
            break;
        uint32_t from = hop_team_of_group(team, message.from);
        had[from] = true;
        if (message.size_bytes == sizeof team->channel + size)
            memcpy((char *)all + from * size, message.bytes + sizeof team->channel, size);
        else
            status = hop_fail(diag, HOP_ERR_INVALID, "rank %u sent %zu bytes, not %zu\nthe same call on all ranks",
                              from, message.size_bytes - sizeof team->channel, size);
        free(message.bytes);
    }
    free(had);
    return status;
}

/* Each tells the one 1, 2, 4 ... ranks behind it that it has heard from as many before it. */
enum hop_status hop_team_barrier(struct hop_team *team, struct hop_diag *diag)
{
    if (!team->group)
        return hop_team_barrier_local(team, diag);
    for (uint32_t step = 1; step < team->size; step *= 2) {
        const struct awaited awaited = {.team = team, .from = (team->rank + team->size - step) % team->size};
        struct hop_group_message message;
        HOP_CHECK(send_letter(team, (team->rank + step) % team->size, HOP_TAG_BARRIER, NULL, 0, diag));
        HOP_CHECK(receive_letter(team, HOP_TAG_BARRIER, &awaited, &message, diag));
        free(message.bytes);
    }
    return HOP_OK;
}
