/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers for searches: splitmix64, the same for the same seed everywhere. */
#ifndef HOP_BASE_DRAW_H
#define HOP_BASE_DRAW_H

#include <stdint.h>

static inline uint64_t hop_draw(uint64_t *rng)
{
    uint64_t x = *rng += 0x9e3779b97f4a7c15u; /* splitmix64 */
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

static inline uint32_t hop_draw_below(uint64_t *rng, uint32_t limit)
{
    return (uint32_t)((hop_draw(rng) >> 32) * limit >> 32);
}

static inline double hop_draw_unit(uint64_t *rng)
{
    return (double)(hop_draw(rng) >> 11) * 0x1p-53;
}

#endif
