/* SPDX-License-Identifier: BSD-3-Clause */
/* Tables as text: lines, words, numbers. */
#include "base/fields.h"

#include <stdio.h>
#include <strings.h>

void hop_fields_begin(struct hop_fields *fields, const struct hop_source *source, struct hop_failure *failure)
{
    *fields = (struct hop_fields){.source = source, .failure = failure, .start = source->text, .rest = source->text};
}

bool hop_fields_next(struct hop_fields *fields)
{
    const char *end = fields->source->text + fields->source->size;
    if (fields->rest == end || fields->failure->status != HOP_OK)
        return false;
    fields->start = fields->next = fields->rest;
    const char *newline = memchr(fields->start, '\n', (size_t)(end - fields->start));
    const char *line_end = newline ? newline : end;
    const char *mark = memchr(fields->start, '#', (size_t)(line_end - fields->start));
    fields->end = mark ? mark : line_end;
    fields->remark = mark ? mark + 1 : NULL;
    fields->remark_length = mark ? (size_t)(line_end - mark - 1) : 0;
    fields->rest = newline ? newline + 1 : end;
    fields->number++;
    return true;
}

static bool is_blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

struct hop_field hop_fields_word(struct hop_fields *fields)
{
    while (fields->next < fields->end && is_blank(*fields->next))
        fields->next++;
    struct hop_field word = {fields->next, 0};
    while (fields->next < fields->end && !is_blank(*fields->next))
        fields->next++;
    word.length = (size_t)(fields->next - word.text);
    return word;
}

bool hop_field_is(struct hop_field word, const char *text)
{
    return strlen(text) == word.length && memcmp(word.text, text, word.length) == 0;
}

bool hop_field_is_any_case(struct hop_field word, const char *text)
{
    return strlen(text) == word.length && strncasecmp(word.text, text, word.length) == 0;
}

bool hop_field_whole(struct hop_field word, uint64_t *value)
{
    uint64_t read = 0;
    for (size_t i = 0; i < word.length; i++) {
        if (word.text[i] < '0' || word.text[i] > '9' || __builtin_mul_overflow(read, (uint64_t)10, &read) ||
            __builtin_add_overflow(read, (uint64_t)(word.text[i] - '0'), &read))
            return false;
    }
    *value = read;
    return word.length > 0;
}

char *hop_field_show(struct hop_field word, char text[HOP_FIELD_SIZE])
{
    (void)snprintf(text, HOP_FIELD_SIZE, "%.*s", (int)(word.length < HOP_FIELD_SIZE ? word.length : HOP_FIELD_SIZE - 1),
                   word.text);
    return text;
}

static void place(const struct hop_fields *fields, const char *where)
{
    hop_failure_place(fields->failure, "%.180s:%u:%u", fields->source->name, fields->number,
                      (unsigned)(where - fields->start) + 1);
}

void hop_fields_fail(const struct hop_fields *fields, const char *where, enum hop_status status, const char *format,
                     ...)
{
    va_list arguments;
    if (fields->failure->status != HOP_OK)
        return;
    va_start(arguments, format);
    fields->failure->status = hop_fail_with(fields->failure->diag, status, format, arguments);
    va_end(arguments);
    place(fields, where);
}

void hop_fields_check(const struct hop_fields *fields, const char *where, enum hop_status status)
{
    if (fields->failure->status != HOP_OK || status == HOP_OK)
        return;
    fields->failure->status = status;
    if (fields->failure->diag)
        fields->failure->diag->place[0] = '\0';
    place(fields, where);
}

void hop_fields_refuse(const struct hop_fields *fields, struct hop_field word, const char *what, const char *expected)
{
    char text[HOP_FIELD_SIZE];
    if (word.length > 0)
        hop_fields_fail(fields, word.text, HOP_ERR_SYNTAX, "'%s' is no %s\n%s", hop_field_show(word, text), what,
                        expected);
    else
        hop_fields_fail(fields, word.text, HOP_ERR_SYNTAX, "the %s is missing\n%s", what, expected);
}

uint32_t hop_fields_count(struct hop_fields *fields, const char *what, uint32_t least, uint32_t most)
{
    struct hop_field word = hop_fields_word(fields);
    uint64_t value;
    char expected[64];
    if (hop_field_whole(word, &value) && value >= least && value <= most)
        return (uint32_t)value;
    (void)snprintf(expected, sizeof expected, "%u to %u", least, most);
    hop_fields_refuse(fields, word, what, expected);
    return 0;
}

uint64_t hop_fields_bytes(struct hop_fields *fields, const char *what)
{
    struct hop_field word = hop_fields_word(fields);
    uint64_t bytes = 0;
    if (word.length == 0)
        hop_fields_refuse(fields, word, what, "bytes, such as 16KiB");
    else if (fields->failure->status == HOP_OK)
        hop_fields_check(fields, word.text, hop_parse_bytes(word.text, word.length, &bytes, fields->failure->diag));
    return bytes;
}

void hop_fields_end(struct hop_fields *fields, const char *expected)
{
    struct hop_field extra = hop_fields_word(fields);
    char text[HOP_FIELD_SIZE];
    if (extra.length > 0)
        hop_fields_fail(fields, extra.text, HOP_ERR_SYNTAX, "unexpected '%s'\n%s", hop_field_show(extra, text),
                        expected);
}

char *hop_text_clean(struct hop_arena *arena, const char *text, size_t length)
{
    char *copy = hop_arena_string(arena, text, length);
    if (!copy)
        return NULL;
    for (size_t i = 0; i < length; i++)
        copy[i] = copy[i] && strchr("\t\r\n", copy[i]) ? ' ' : copy[i];
    length = strlen(hop_text_quote(copy));
    while (length > 0 && copy[length - 1] == ' ')
        copy[--length] = '\0';
    return copy + strspn(copy, " ");
}
