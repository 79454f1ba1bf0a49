/* SPDX-License-Identifier: BSD-3-Clause */
/* Keys of a kind and two words, each with the number that it was given when it came first. */
#ifndef HOP_BASE_KEYS_H
#define HOP_BASE_KEYS_H

#include "base/base.h"

struct hop_keys {
    struct hop_key {
        uint64_t a, b;
        uint32_t kind, number; /* number: UINT32_MAX in a free slot */
    } * slots;
    uint32_t slot_count, count;
};

/* The number of a key, which is `fresh` if it is new; UINT32_MAX: out of memory. */
uint32_t hop_keys_number(struct hop_keys *keys, uint32_t kind, uint64_t a, uint64_t b, uint32_t fresh);
void hop_keys_finish(struct hop_keys *keys);

#endif
