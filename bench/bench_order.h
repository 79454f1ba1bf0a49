/* SPDX-License-Identifier: BSD-3-Clause */
/* What bench_order needs of SimGrid (bench_order_simgrid.cc), and what it does where there is none. */
#ifndef BENCH_ORDER_H
#define BENCH_ORDER_H

#include <hopcast/hopcast.h>

#ifdef __cplusplus
extern "C" {
#endif

struct bench_send {
    uint32_t from, to; /* nodes */
    uint64_t bytes;
};

#ifdef BENCH_HAVE_SIMGRID
/* Calls body from inside SimGrid, which knows the topology by then, so that it may play sends there. Once in a process. */
void bench_within_simgrid(int argc, char **argv, const struct hop_topology *topology, void (*body)(void *),
                          void *context);
/* When the last send ends, in seconds after the first; each source sends one at a time, in list order. */
double bench_simgrid_play(const struct bench_send *sends, uint32_t count);
enum { BENCH_HAS_SIMGRID = 1 };
#else
static inline void bench_within_simgrid(int argc, char **argv, const struct hop_topology *topology,
                                        void (*body)(void *), void *context)
{
    (void)argc;
    (void)argv;
    (void)topology;
    body(context);
}

static inline double bench_simgrid_play(const struct bench_send *sends, uint32_t count)
{
    (void)sends;
    (void)count;
    return 0;
}
enum { BENCH_HAS_SIMGRID = 0 };
#endif

#ifdef __cplusplus
}
#endif
#endif
