/* SPDX-License-Identifier: BSD-3-Clause */
/* The thesis' grids: those of 16 and 64 ranks that it prints (section 6.4.2, table 6.1) and, for other numbers, those
 * that one rule gives which gives these, too: the extents whose sum is least, ascending for stencils, descending for
 * coll. */
#include "amb/amb.h"

#include <stdio.h>

static void even_grid(uint32_t ranks, unsigned dimensions, uint32_t *extents)
{
    uint64_t least = UINT64_MAX;
    for (uint32_t a = 1; (uint64_t)a * a <= ranks; a++) {
        uint32_t rest = ranks / a, best = dimensions == 2 ? rest : 0;
        for (uint32_t b = a; dimensions == 3 && (uint64_t)b * b <= rest; b++)
            best = rest % b == 0 ? b : best; /* the largest: the rest is least then */
        uint64_t sum = dimensions == 2 ? (uint64_t)a + best : best ? (uint64_t)a + best + rest / best : UINT64_MAX;
        if (ranks % a == 0 && sum < least) {
            least = sum;
            extents[0] = a;
            extents[1] = best;
            extents[2] = dimensions == 3 ? rest / best : 0;
        }
    }
}

/* The length of a name with its end, ':' or ',' behind it; 0: it is another. */
static size_t named(const char *word, const char *name)
{
    size_t length = strlen(name);
    return strncmp(word, name, length) == 0 && strchr(":,", word[length]) ? length : 0;
}

const char *hop_amb_words(struct hop_arena *arena, const char *word, uint32_t ranks, double weight, bool wrap)
{
    size_t flat = named(word, "2d"), deep = named(word, "3d"), groups = named(word, "coll");
    struct hop_buffer text = {0};
    uint32_t e[3] = {1, 1, 1};
    if (!flat && !deep && !groups)
        return hop_arena_string(arena, word, strlen(word));
    const char *rest = word + flat + deep + groups;
    even_grid(ranks, flat ? 2 : 3, e);
    hop_buffer_puts(&text, groups ? "coll" : "stencil");
    if (*rest != ':' && flat)
        hop_buffer_printf(&text, ":%ux%u", e[0], e[1]);
    else if (*rest != ':')
        hop_buffer_printf(&text, ":%ux%ux%u", e[groups ? 2 : 0], e[1], e[groups ? 0 : 2]);
    hop_buffer_puts(&text, rest);
    if (!groups && weight > 0 && weight != 1)
        hop_buffer_printf(&text, ",weight=%.15g", weight);
    if (!groups && wrap)
        hop_buffer_puts(&text, ",wrap");
    char *made = text.failed ? NULL : hop_arena_string(arena, text.text, text.length);
    hop_buffer_finish(&text);
    return made;
}
