/* SPDX-License-Identifier: BSD-3-Clause */
/* Names: a table of them (open addressing, linear probing), the nearest to a misspelt one, characters and numbers. */
#include "base/base.h"

#include <ctype.h>
#include <locale.h>

uint32_t hop_names_hash(const char *key)
{
    uint32_t h = 2166136261u; /* FNV-1a */
    for (const unsigned char *c = (const unsigned char *)key; *c; c++)
        h = (h ^ *c) * 16777619u;
    return h;
}

/* The entry of that name, or the free one where it belongs. */
static struct hop_name_entry *entry_of(const struct hop_names *names, const char *key, uint32_t hashed)
{
    struct hop_name_entry *entry;
    for (uint32_t slot = hashed;; slot++) {
        entry = &names->entries[slot & (names->slots - 1)];
        if (!entry->key || (entry->hash == hashed && strcmp(entry->key, key) == 0))
            return entry;
    }
}

static bool resize(struct hop_names *names, uint32_t slots)
{
    struct hop_names fresh = {calloc(slots, sizeof *fresh.entries), slots, names->used};
    if (!fresh.entries)
        return false;
    for (uint32_t i = 0; i < names->slots; i++) {
        const struct hop_name_entry *entry = &names->entries[i];
        uint32_t slot = entry->hash & (slots - 1);
        while (entry->key && fresh.entries[slot].key) /* keys differ: the first free slot */
            slot = (slot + 1) & (slots - 1);
        if (entry->key)
            fresh.entries[slot] = *entry;
    }
    hop_names_finish(names);
    *names = fresh;
    return true;
}

bool hop_names_put(struct hop_names *names, const char *key, uint32_t value)
{
    if (names->used * 2 >= names->slots) {
        if (names->slots > UINT32_MAX / 4 || !resize(names, names->slots ? names->slots * 2 : 16))
            return false;
    }
    uint32_t hashed = hop_names_hash(key);
    struct hop_name_entry *entry = entry_of(names, key, hashed);
    names->used += !entry->key;
    *entry = (struct hop_name_entry){key, hashed, value};
    return true;
}

uint32_t hop_names_get(const struct hop_names *names, const char *key)
{
    if (!names->slots)
        return UINT32_MAX;
    const struct hop_name_entry *entry = entry_of(names, key, hop_names_hash(key));
    return entry->key ? entry->value : UINT32_MAX;
}

void hop_names_empty(struct hop_names *names)
{
    if (names->slots > 64)
        hop_names_finish(names); /* a large one would have to be worth clearing */
    if (names->slots)
        memset(names->entries, 0, names->slots * sizeof *names->entries);
    names->used = 0;
}

void hop_names_finish(struct hop_names *names)
{
    free(names->entries);
    *names = (struct hop_names){0};
}

enum { NAME_LIMIT = 63 };

unsigned hop_text_distance(const char *a, const char *b, unsigned limit)
{
    size_t n = strlen(a), m = strlen(b);
    size_t gap = n > m ? n - m : m - n;
    if (n > NAME_LIMIT || m > NAME_LIMIT || gap > limit)
        return limit + 1;
    unsigned rows[3][NAME_LIMIT + 2]; /* optimal string alignment: the last three rows */
    for (size_t j = 0; j <= m; j++)
        rows[0][j] = (unsigned)j;
    for (size_t i = 1; i <= n; i++) {
        unsigned *row = rows[i % 3], *above = rows[(i + 2) % 3], *twice = rows[(i + 1) % 3];
        row[0] = (unsigned)i;
        for (size_t j = 1; j <= m; j++) {
            unsigned best = above[j - 1] + (tolower((unsigned char)a[i - 1]) != tolower((unsigned char)b[j - 1]));
            if (above[j] + 1 < best)
                best = above[j] + 1;
            if (row[j - 1] + 1 < best)
                best = row[j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] && twice[j - 2] + 1 < best)
                best = twice[j - 2] + 1;
            row[j] = best;
        }
    }
    unsigned distance = rows[n % 3][m];
    return distance > limit ? limit + 1 : distance;
}

uint32_t hop_text_nearest(const char *name, const char *(*candidate)(const void *, uint32_t), const void *context,
                          uint32_t count)
{
    size_t length = strlen(name);
    unsigned best = length <= 2 ? 1 : length <= 8 ? 2 : 3;
    uint32_t nearest = UINT32_MAX;
    for (uint32_t i = 0; i < count; i++) {
        const char *other = candidate(context, i);
        if (!other || !*other)
            continue;
        unsigned distance = hop_text_distance(name, other, best);
        if (distance < best || (distance == best && nearest == UINT32_MAX)) {
            best = distance;
            nearest = i;
        }
    }
    return nearest;
}

char *hop_text_put_number(char *at, uint64_t number)
{
    char digits[20];
    unsigned count = 0;
    do
        digits[count++] = (char)('0' + number % 10);
    while ((number /= 10) > 0);
    while (count > 0)
        *at++ = digits[--count];
    return at;
}

unsigned hop_text_digit(char c)
{
    return c >= '0' && c <= '9'   ? (unsigned)(c - '0')
           : c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
           : c >= 'A' && c <= 'F' ? (unsigned)(c - 'A') + 10
                                  : 16;
}

unsigned hop_text_utf8(const char *text)
{
    const unsigned char *c = (const unsigned char *)text;
    if (c[0] < 0x80)
        return 1;
    unsigned length = c[0] >= 0xc2 && c[0] <= 0xdf   ? 2
                      : (c[0] & 0xf0) == 0xe0        ? 3
                      : c[0] >= 0xf0 && c[0] <= 0xf4 ? 4
                                                     : 0;
    for (unsigned i = 1; i < length; i++) {
        if ((c[i] & 0xc0) != 0x80)
            return 0;
    }
    /* overlong forms, surrogates, beyond U+10FFFF */
    if ((c[0] == 0xe0 && c[1] < 0xa0) || (c[0] == 0xed && c[1] > 0x9f) || (c[0] == 0xf0 && c[1] < 0x90) ||
        (c[0] == 0xf4 && c[1] > 0x8f))
        return 0;
    return length;
}

unsigned hop_text_shown(const char *text)
{
    unsigned char c = (unsigned char)text[0];
    if (c < 0x7f) /* nearly always */
        return c >= ' ';
    unsigned length = hop_text_utf8(text);
    bool control = c == 0x7f || (c == 0xc2 && length == 2 && (unsigned char)text[1] < 0xa0);
    return control ? 0 : length;
}

char *hop_text_quote(char *text)
{
    char *to = text;
    for (const char *c = text; c && *c;) {
        unsigned length = hop_text_utf8(c), shown = hop_text_shown(c);
        if (!shown)
            *to++ = '?';
        for (unsigned i = 0; i < shown; i++)
            *to++ = c[i];
        c += length ? length : 1;
    }
    if (to)
        *to = '\0';
    return text;
}

double hop_text_number(const char *text, char **end)
{
    return strtod_l(text, end,
                    newlocale(LC_ALL_MASK, "C", (locale_t)0)); /* glibc keeps one "C" locale: nothing to free */
}
