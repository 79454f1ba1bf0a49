/* SPDX-License-Identifier: BSD-3-Clause */
/* Link over the APEnet+ card in software: a registered buffer a rank, and an event for each put that has come. */
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
    char *in, *out;
    int place;       /* of both */
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

static void *memory(size_t bytes)
{
    const size_t pages = (bytes + 4095) / 4096;
    void *memory = NULL;
    if (l.place != HOP_APENET_HOST)
        MUST(hop_apenet_gpu_allocate(l.card, l.place, pages * 4096, &memory, &diag));
    else if (posix_memalign(&memory, 4096, pages * 4096) != 0)
        link_fail("out of memory", "");
    else
        memset(memory, 0, pages * 4096);
    return memory;
}

static void open_place(const char *place)
{
    l.place = HOP_APENET_HOST;
    if (place && strcmp(place, "host") != 0)
        MUST(hop_apenet_gpu(l.card, strcmp(place, "gpu") == 0 ? NULL : place, 0, &l.place, &diag));
}

void link_open(const struct link_needs *needs)
{
    const struct hop_team_options patient = {.timeout_s = INFINITY};
    struct hop_apenet_options options = {.puts = 1024};
    const char *torus = needs->torus;
    if (torus && sscanf(torus, "%ux%ux%u", &options.shape[0], &options.shape[1], &options.shape[2]) != 3)
        link_fail(torus, "a torus is XxYxZ");
    MUST(hop_team_start(&patient, &l.group, &l.team, &diag));
    MUST(hop_apenet_open(l.team, &options, &l.card, &diag));
    open_place(needs->place);
    const size_t size = hop_team_size(l.team), in = needs->in + needs->in_a_rank * size;
    l.in = memory(in);
    l.out = memory(needs->out + needs->out_a_rank * size);
    l.there = room(size, sizeof *l.there);
    l.came = room(size, sizeof *l.came);
    MUST(hop_apenet_register(l.card, l.in, in, l.place, &diag));
    const uint64_t mine = (uintptr_t)l.in;
    MUST(hop_apenet_gather(l.card, &mine, sizeof mine, l.there, &diag));
}

void link_close(void)
{
    const int of_host = l.place == HOP_APENET_HOST; /* a GPU's goes with the card */
    MUST(hop_apenet_close(l.card, &diag));
    MUST(hop_team_finish(l.team, &diag));
    hop_team_destroy(l.team);
    l.team = NULL;
    if (l.group)
        MUST(hop_group_finish(l.group, &diag));
    hop_group_destroy(l.group);
    free(of_host ? l.in : NULL);
    free(of_host ? l.out : NULL);
    free(l.there);
    free(l.came);
}

static void copy(void *to, const void *from, size_t bytes)
{
    if (l.place == HOP_APENET_HOST)
        memcpy(to, from, bytes);
    else
        MUST(hop_apenet_gpu_copy(l.card, l.place, to, from, bytes, &diag));
}

void link_read(void *to, size_t in, size_t bytes)
{
    copy(to, l.in + in, bytes);
}

void link_write(size_t out, const void *from, size_t bytes)
{
    copy(l.out + out, from, bytes);
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

void link_put_bytes(int to, size_t in, size_t out, size_t bytes)
{
    const struct hop_apenet_put put = {.rank = (uint32_t)to,
                                       .process = hop_apenet_process(l.card, (uint32_t)to),
                                       .address = l.there[to] + in,
                                       .source = l.out + out,
                                       .bytes = bytes,
                                       .place = l.place};
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
