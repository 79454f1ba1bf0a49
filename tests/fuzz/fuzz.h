/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz targets share. */
#ifndef HOP_FUZZ_H
#define HOP_FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "replay.h"

/* The name that libFuzzer calls. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Like assert, but in every build type. */
#define MUST(condition)                                                                                                \
    do {                                                                                                               \
        if (!(condition)) {                                                                                            \
            fprintf(stderr, "%s:%d: not so: %s\n", __FILE__, __LINE__, #condition);                                    \
            abort();                                                                                                   \
        }                                                                                                              \
    } while (0)

#endif
