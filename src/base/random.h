/* SPDX-License-Identifier: BSD-3-Clause */
/* Random numbers, the same for the same seed everywhere, and hashes of integers: splitmix64 (Steele, Lea, Flood 2014).
 * Hashes of bytes: FNV-1a. */
#ifndef HOP_BASE_RANDOM_H
#define HOP_BASE_RANDOM_H

#include <stddef.h>
#include <stdint.h>

#define HOP_MIX_STEP 0x9e3779b97f4a7c15u /* from one state of the generator to the next */

/* Every bit of the value depends on every bit of x; of 0 it is 0. */
static inline uint64_t hop_mix(uint64_t x)
{
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
    return x ^ (x >> 31);
}

/* What a generator in state x draws next: a hash that is not 0 of 0. */
static inline uint64_t hop_draw_from(uint64_t x)
{
    return hop_mix(x + HOP_MIX_STEP);
}

static inline uint64_t hop_draw(uint64_t *rng)
{
    return hop_mix(*rng += HOP_MIX_STEP);
}

static inline uint32_t hop_draw_below(uint64_t *rng, uint32_t limit)
{
    return (uint32_t)((hop_draw(rng) >> 32) * limit >> 32);
}

static inline double hop_draw_unit(uint64_t *rng)
{
    return (double)(hop_draw(rng) >> 11) * 0x1p-53;
}

#define HOP_HASH_BEGIN 0xcbf29ce484222325u
/* Of the bytes behind those that `hash` is of. */
static inline uint64_t hop_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *at = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ at[i]) * 0x100000001b3u;
    return hash;
}

#endif
