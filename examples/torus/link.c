/* SPDX-License-Identifier: BSD-3-Clause */
/* Link: gathering by puts. Boxes of two turns, since a rank may be one turn ahead of another, and not more. */
#include "link.h"

#include <string.h>
#include <time.h>

static struct {
    size_t in, out; /* where the boxes begin */
    unsigned turn;
} l;

void link_begin(const struct link_needs *needs)
{
    struct link_needs own = *needs;
    own.in_a_rank += sizeof(char[2][LINK_GATHER_BYTES]);
    own.out += sizeof(char[2][LINK_GATHER_BYTES]);
    link_open(&own);
    l.in = needs->in + needs->in_a_rank * (size_t)link_size();
    l.out = needs->out + needs->out_a_rank * (size_t)link_size();
    link_barrier();
}

void link_end(void)
{
    link_barrier();
    link_close();
}

void link_put(int to, size_t in, size_t out, size_t bytes)
{
    link_record_put(to, bytes, 0);
    link_put_bytes(to, in, out, bytes);
}

void link_wait(int from)
{
    link_wait_for(from);
    link_record_wait(from);
}

static size_t box(unsigned turn, int rank)
{
    return l.in + ((size_t)(turn % 2) * (size_t)link_size() + (size_t)rank) * LINK_GATHER_BYTES;
}

void link_record_gather(size_t bytes)
{
    for (int i = 1; i < link_size(); i++)
        link_record_put((link_rank() + i) % link_size(), bytes, 1);
    for (int r = 0; r < link_size(); r++) {
        if (r != link_rank())
            link_record_wait(r);
    }
}

void link_gather(const void *mine, size_t bytes, void *all)
{
    const unsigned turn = l.turn++;
    const size_t sent = l.out + turn % 2 * LINK_GATHER_BYTES;
    if (bytes > 0)
        link_write(sent, mine, bytes);
    for (int i = 1; i < link_size(); i++)
        link_put_bytes((link_rank() + i) % link_size(), box(turn, link_rank()), sent, bytes);
    link_record_gather(bytes);
    for (int r = 0; r < link_size(); r++) {
        char *one = bytes > 0 ? (char *)all + (size_t)r * bytes : NULL;
        if (r != link_rank())
            link_wait_for(r);
        if (bytes > 0 && r == link_rank())
            memcpy(one, mine, bytes);
        else if (bytes > 0)
            link_read(one, box(turn, r), bytes);
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
