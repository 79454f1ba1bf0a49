/* SPDX-License-Identifier: BSD-3-Clause */
/* Link: gathering by puts. Boxes of two turns, since a rank may be one turn ahead of another, and not more. */
#include "link.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static struct {
    char *memory;
    size_t boxes; /* where they begin */
    unsigned turn;
    char (*sent)[LINK_GATHER_BYTES]; /* of two turns */
} l;

void link_begin(size_t bytes, size_t bytes_a_rank, const char *torus)
{
    l.memory = link_open(bytes, bytes_a_rank + sizeof(char[2][LINK_GATHER_BYTES]), torus);
    l.boxes = bytes + bytes_a_rank * (size_t)link_size();
    l.sent = calloc(2, sizeof *l.sent);
    if (!l.sent)
        link_fail("out of memory", "");
    link_barrier();
}

void link_end(void)
{
    link_barrier();
    link_close();
    free(l.sent);
}

char *link_memory(void)
{
    return l.memory;
}

void link_put(int to, size_t offset, const void *source, size_t bytes)
{
    link_record_put(to, bytes);
    link_put_bytes(to, offset, source, bytes);
}

void link_wait(int from)
{
    link_wait_for(from);
    link_record_wait(from);
}

static size_t box(unsigned turn, int rank)
{
    return l.boxes + ((size_t)(turn % 2) * (size_t)link_size() + (size_t)rank) * LINK_GATHER_BYTES;
}

void link_gather(const void *mine, size_t bytes, void *all)
{
    const unsigned turn = l.turn++;
    char *sent = l.sent[turn % 2];
    if (bytes > 0)
        memcpy(sent, mine, bytes);
    for (int i = 1; i < link_size(); i++)
        link_put((link_rank() + i) % link_size(), box(turn, link_rank()), sent, bytes);
    for (int r = 0; r < link_size(); r++) {
        if (r != link_rank())
            link_wait(r);
        if (bytes > 0)
            memcpy((char *)all + (size_t)r * bytes, r == link_rank() ? sent : l.memory + box(turn, r), bytes);
    }
}

void link_barrier(void)
{
    link_gather(NULL, 0, NULL);
}

double link_now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}
