/* SPDX-License-Identifier: BSD-3-Clause */
/* Link over the APEnet+ card in software: one registered buffer a rank, and an event for each put that has come. */
#include "link.h"

#include <hopcast/apenet.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static struct {
    struct hop_group *group;
    struct hop_team *team;
    struct hop_apenet *card;
    char *memory;
    uint64_t *there; /* of each rank */
    uint64_t *came;  /* puts of each rank that nobody has waited for yet */
} l;

_Noreturn static void give_up(void)
{
    (void)fflush(NULL);
    if (l.group)
        hop_group_leave(l.group);
    _Exit(1);
}

void link_fail(const char *what, const char *why)
{
    struct hop_diag diag = {.status = HOP_ERR_LOST};
    (void)fprintf(stderr, "%s%s%s\n", what, why[0] ? ": " : "", why);
    (void)snprintf(diag.what, sizeof diag.what, "rank %u gave up", l.team ? hop_team_rank(l.team) : 0);
    if (l.team)
        hop_team_abort(l.team, &diag);
    give_up();
}

#define MUST(call)                                                                                                     \
    do {                                                                                                               \
        struct hop_diag diag;                                                                                          \
        if ((call) != HOP_OK)                                                                                          \
            link_fail(diag.what, diag.expected);                                                                       \
    } while (0)

static void *room(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (!memory)
        link_fail("out of memory", "");
    return memory;
}

char *link_open(size_t bytes, size_t bytes_a_rank, const char *torus)
{
    const struct hop_team_options patient = {.timeout_s = INFINITY};
    struct hop_apenet_options options = {.puts = 1024};
    if (torus && sscanf(torus, "%ux%ux%u", &options.shape[0], &options.shape[1], &options.shape[2]) != 3)
        link_fail(torus, "a torus is XxYxZ");
    MUST(hop_team_start(&patient, &l.group, &l.team, &diag));
    MUST(hop_apenet_open(l.team, &options, &l.card, &diag));
    const size_t size = hop_team_size(l.team), whole = (bytes + bytes_a_rank * size + 4095) / 4096 * 4096;
    l.memory = aligned_alloc(4096, whole);
    l.there = room(size, sizeof *l.there);
    l.came = room(size, sizeof *l.came);
    if (!l.memory)
        link_fail("out of memory", "");
    memset(l.memory, 0, whole);
    MUST(hop_apenet_register(l.card, l.memory, whole, HOP_APENET_HOST, &diag));
    const uint64_t mine = (uintptr_t)l.memory;
    MUST(hop_apenet_gather(l.card, &mine, sizeof mine, l.there, &diag));
    return l.memory;
}

void link_close(void)
{
    MUST(hop_apenet_close(l.card, &diag));
    MUST(hop_team_finish(l.team, &diag));
    hop_team_destroy(l.team);
    l.team = NULL;
    if (l.group)
        MUST(hop_group_finish(l.group, &diag));
    hop_group_destroy(l.group);
    free(l.memory);
    free(l.there);
    free(l.came);
}

int link_rank(void)
{
    return (int)hop_team_rank(l.team);
}

int link_size(void)
{
    return (int)hop_team_size(l.team);
}

const char *link_name(void)
{
    return "card";
}

static void take(const struct hop_apenet_event *event)
{
    struct hop_diag diag;
    if (event->kind == HOP_APENET_GONE)
        give_up(); /* the launcher says why */
    if (event->kind == HOP_APENET_STUCK)
        link_fail(hop_apenet_failure(l.card, &diag) == HOP_OK ? "" : diag.what, diag.expected);
    if (event->error)
        link_fail("a put ended", hop_apenet_error_text(event->error));
    if (event->kind == HOP_APENET_RECEIVED)
        l.came[event->rank]++;
}

void link_put_bytes(int to, size_t offset, const void *source, size_t bytes)
{
    const struct hop_apenet_put put = {.rank = (uint32_t)to,
                                       .process = hop_apenet_process(l.card, (uint32_t)to),
                                       .address = l.there[to] + offset,
                                       .source = source,
                                       .bytes = bytes,
                                       .place = HOP_APENET_HOST};
    struct hop_apenet_event event;
    MUST(hop_apenet_put(l.card, &put, NULL, &diag));
    while (hop_apenet_poll(l.card, &event))
        take(&event);
}

void link_wait_for(int from)
{
    struct hop_apenet_event event;
    while (l.came[from] == 0 && hop_apenet_wait(l.card, INFINITY, &event))
        take(&event);
    l.came[from]--;
}
