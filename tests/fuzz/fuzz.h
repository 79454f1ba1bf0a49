/* SPDX-License-Identifier: BSD-3-Clause */
/* What the fuzz targets share. */
#ifndef HOP_FUZZ_H
#define HOP_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/base.h"
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

/* An output, which is freed, says in words what is no number: it holds neither nan nor inf, unless the input does. */
static inline void no_nan(char *text, const uint8_t *data, size_t size)
{
    static const char *const words[] = {"nan", "inf"};
    for (size_t w = 0; text && w < 2; w++) {
        bool given = false;
        for (size_t i = 0; i + 3 <= size; i++)
            given = given || strncasecmp((const char *)data + i, words[w], 3) == 0;
        for (const char *at = text; !given && (at = strstr(at, words[w])); at += 3)
            MUST((at > text && at[-1] >= 'a' && at[-1] <= 'z') || (at[3] >= 'a' && at[3] <= 'z'));
    }
    free(text);
}

/* Something is said, and nothing that is quoted moves a terminal's cursor. */
static inline bool is_said(const char *text)
{
    const char *c = text;
    while (hop_text_shown(c))
        c += hop_text_shown(c);
    return c > text && !*c;
}

#endif
