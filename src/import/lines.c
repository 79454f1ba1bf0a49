/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines and words of tables in terminal output. */
#include "import/lines.h"
#include "base/fields.h"

#include <math.h>

static bool separates(char c)
{
    return (unsigned char)c <= ' ' || (unsigned char)c >= 0x7f;
}

/* Length of a colour code without its escape byte ("[4m", "[0;31m"), 0: there is none. */
static size_t colour_code(const char *text, size_t length)
{
    size_t i = 1;
    if (length < 2 || text[0] != '[')
        return 0;
    while (i < length && ((text[i] >= '0' && text[i] <= '9') || text[i] == ';'))
        i++;
    return i < length && text[i] == 'm' ? i + 1 : 0;
}

static void split(struct hop_lines *lines)
{
    const char *text = lines->text;
    size_t i = 0, length = lines->length;
    lines->count = 0;
    while (i < length && lines->count < HOP_WORDS_LIMIT) {
        size_t code = colour_code(text + i, length - i);
        if (code > 0 || separates(text[i])) {
            i += code > 0 ? code : 1;
            continue;
        }
        size_t start = i++;
        while (i < length && !separates(text[i]) && colour_code(text + i, length - i) == 0)
            i++;
        lines->words[lines->count++] = (struct hop_word){text + start, (uint32_t)(i - start), (uint32_t)start + 1};
    }
}

void hop_lines_init(struct hop_lines *lines, const struct hop_source *source)
{
    memset(lines, 0, sizeof *lines);
    lines->source = source;
    lines->text = lines->at = lines->end = source->text;
}

bool hop_lines_next(struct hop_lines *lines)
{
    const struct hop_source *source = lines->source;
    while (lines->next < source->size && (!lines->failure || lines->failure->status == HOP_OK)) {
        const char *start = source->text + lines->next;
        const char *end = memchr(start, '\n', source->size - lines->next);
        size_t length = end ? (size_t)(end - start) : source->size - lines->next;
        lines->next += length + (end ? 1 : 0);
        lines->line++;
        length -= length > 0 && start[length - 1] == '\r';
        lines->text = lines->at = start;
        lines->end = start + length;
        lines->length = (uint32_t)length;
        split(lines);
        if (lines->count > 0)
            return true;
    }
    lines->count = 0;
    return false;
}

void hop_lines_place(const struct hop_lines *lines, uint32_t column, struct hop_diag *diag)
{
    hop_diag_place(diag, "%.180s:%u:%u", lines->source->name, lines->line ? lines->line : 1, column);
}

void hop_lines_refuse(const struct hop_lines *lines, enum hop_status status, uint32_t column, const char *format, ...)
{
    va_list arguments;
    if (lines->failure->status != HOP_OK)
        return;
    va_start(arguments, format);
    lines->failure->status = hop_fail_with(lines->failure->diag, status, format, arguments);
    va_end(arguments);
    hop_lines_place(lines, column, lines->failure->diag);
}

uint32_t hop_lines_column(const struct hop_lines *lines, bool more)
{
    return more ? lines->words[0].column : lines->length + 1;
}

bool hop_word_is(const struct hop_word *word, const char *text)
{
    return strlen(text) == word->length && memcmp(word->text, text, word->length) == 0;
}

int hop_word_number(const struct hop_word *word, const char *prefix)
{
    size_t skip = strlen(prefix);
    int value = 0;
    if (word->length <= skip || word->length > skip + 9 || memcmp(word->text, prefix, skip) != 0)
        return -1;
    for (size_t i = skip; i < word->length; i++) {
        if (word->text[i] < '0' || word->text[i] > '9')
            return -1;
        value = value * 10 + (word->text[i] - '0');
    }
    return value;
}

bool hop_word_whole(const struct hop_word *word, uint64_t *value)
{
    return hop_field_whole((struct hop_field){word->text, word->length}, value);
}

bool hop_word_decimal(const struct hop_word *word, double *value)
{
    char text[HOP_WORD_MAX + 1], *end = NULL;
    if (word->length > HOP_WORD_MAX)
        return false;
    memcpy(text, word->text, word->length);
    text[word->length] = '\0';
    if (text[0] < '0' || text[0] > '9' || strspn(text, "0123456789.eE+-") != word->length)
        return false;
    double number = hop_text_number(text, &end);
    if (*end || !isfinite(number))
        return false;
    *value = number;
    return true;
}

bool hop_word_rate(const struct hop_word *word, double *value)
{
    static const char *const none[] = {"N/A", "nan", "-nan", "inf"};
    double number = 0;
    bool known = hop_word_decimal(word, &number);
    *value = number >= 1e-6 && number <= 1e6 ? number : NAN;
    for (size_t i = 0; i < HOP_COUNT(none); i++)
        known = known || hop_word_is(word, none[i]);
    return known;
}

bool hop_lines_hold(const struct hop_lines *lines, const char *text)
{
    return memmem(lines->text, lines->length, text, strlen(text)) != NULL;
}

/* ---- from left to right ---- */

static const char *skip_blanks(const struct hop_lines *lines)
{
    const char *at = lines->at;
    while (at < lines->end && (*at == ' ' || *at == '\t'))
        at++;
    return at;
}

uint32_t hop_lines_here(const struct hop_lines *lines)
{
    return (uint32_t)(skip_blanks(lines) - lines->text) + 1;
}

bool hop_lines_take(struct hop_lines *lines, const char *word)
{
    const char *at = skip_blanks(lines);
    size_t length = strlen(word);
    if ((size_t)(lines->end - at) < length || memcmp(at, word, length) != 0)
        return false;
    lines->at = at + length;
    return true;
}

bool hop_lines_number(struct hop_lines *lines, unsigned base, uint64_t high, uint64_t *value)
{
    const char *first = skip_blanks(lines), *at = first;
    uint64_t sum = 0;
    for (; at < lines->end && hop_text_digit(*at) < base; at++) {
        uint64_t digit = hop_text_digit(*at);
        if (digit > high || sum > (high - digit) / base)
            return false;
        sum = sum * base + digit;
    }
    if (at == first)
        return false;
    lines->at = at;
    *value = sum;
    return true;
}

bool hop_lines_skip_to(struct hop_lines *lines, const char *word)
{
    const char *found = memmem(lines->at, (size_t)(lines->end - lines->at), word, strlen(word));
    if (found)
        lines->at = found + strlen(word);
    return found;
}

bool hop_lines_quoted(struct hop_lines *lines, const char **start, size_t *length)
{
    const char *before = lines->at;
    if (hop_lines_take(lines, "\"")) {
        *start = lines->at;
        if (hop_lines_skip_to(lines, "\"")) {
            *length = (size_t)(lines->at - *start) - 1;
            return true;
        }
    }
    lines->at = before;
    return false;
}

void hop_lines_wrong(const struct hop_lines *lines, const char *message)
{
    const char *feed = strchr(message, '\n');
    hop_lines_refuse(lines, HOP_ERR_SYNTAX, hop_lines_here(lines), "%.*s\n%s", (int)(feed - message), message,
                     feed + 1);
}

void hop_lines_need(struct hop_lines *lines, const char *word, const char *message)
{
    if (lines->failure->status == HOP_OK && !hop_lines_take(lines, word))
        hop_lines_wrong(lines, message);
}

uint64_t hop_lines_need_number(struct hop_lines *lines, unsigned base, uint64_t high, const char *message)
{
    uint64_t value = 0;
    if (lines->failure->status == HOP_OK && !hop_lines_number(lines, base, high, &value))
        hop_lines_wrong(lines, message);
    return value;
}
