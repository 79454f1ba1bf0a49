/* SPDX-License-Identifier: BSD-3-Clause */
/* Texts that grow. */
#include "base/base.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>

static bool reserve(struct hop_buffer *buffer, size_t more)
{
    if (buffer->failed)
        return false;
    if (buffer->capacity - buffer->length > more)
        return true;
    size_t capacity = buffer->capacity ? buffer->capacity : 256;
    while (capacity - buffer->length <= more)
        capacity *= 2;
    char *grown = realloc(buffer->text, capacity);
    if (!grown) {
        buffer->failed = true;
        return false;
    }
    buffer->text = grown;
    buffer->capacity = capacity;
    return true;
}

void hop_buffer_add(struct hop_buffer *buffer, const char *text, size_t length)
{
    if (!reserve(buffer, length))
        return;
    memcpy(buffer->text + buffer->length, text, length);
    buffer->length += length;
    buffer->text[buffer->length] = '\0';
}

void hop_buffer_puts(struct hop_buffer *buffer, const char *text)
{
    hop_buffer_add(buffer, text, strlen(text));
}

void hop_buffer_printf(struct hop_buffer *buffer, const char *format, ...)
{
    locale_t before =
        uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0)); /* decimal points, whatever the program's locale */
    va_list arguments, again;
    va_start(arguments, format);
    va_copy(again, arguments);
    size_t room = reserve(buffer, 64) ? buffer->capacity - buffer->length : 0;
    int length = room ? vsnprintf(buffer->text + buffer->length, room, format, arguments) : -1;
    if (length >= 0 && reserve(buffer, (size_t)length)) {
        if ((size_t)length >= room)
            (void)vsnprintf(buffer->text + buffer->length, (size_t)length + 1, format, again);
        buffer->length += (size_t)length;
    }
    va_end(again);
    va_end(arguments);
    (void)uselocale(before);
}

void hop_buffer_number(struct hop_buffer *buffer, uint64_t number)
{
    char digits[20];
    hop_buffer_add(buffer, digits, (size_t)(hop_text_put_number(digits, number) - digits));
}

void hop_buffer_json_string(struct hop_buffer *buffer, const char *text)
{
    if (!text) {
        hop_buffer_puts(buffer, "null");
        return;
    }
    hop_buffer_puts(buffer, "\"");
    for (const char *c = text; *c;) {
        unsigned length = hop_text_utf8(c);
        if (*c == '"' || *c == '\\')
            hop_buffer_printf(buffer, "\\%c", *c);
        else if (length && !hop_text_shown(c)) /* of two bytes, the first is 0xc2 and the second the character */
            hop_buffer_printf(buffer, "\\u%04x", (unsigned char)c[length - 1]);
        else if (length)
            hop_buffer_add(buffer, c, length);
        else
            hop_buffer_puts(buffer, "\xef\xbf\xbd"); /* U+FFFD */
        c += length ? length : 1;
    }
    hop_buffer_puts(buffer, "\"");
}

void hop_buffer_json_number(struct hop_buffer *buffer, double value)
{
    if (!isfinite(value)) {
        hop_buffer_puts(buffer, "null");
        return;
    }
    char text[32];
    locale_t before = uselocale(newlocale(LC_ALL_MASK, "C", (locale_t)0));
    for (int digits = 15; digits <= 17; digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (hop_text_number(text, NULL) == value)
            break;
    }
    (void)uselocale(before);
    hop_buffer_puts(buffer, text);
}

void hop_buffer_xml(struct hop_buffer *buffer, const char *text)
{
    for (const char *c = text; *c; c++) {
        switch (*c) {
        case '&':
            hop_buffer_puts(buffer, "&amp;");
            break;
        case '<':
            hop_buffer_puts(buffer, "&lt;");
            break;
        case '>':
            hop_buffer_puts(buffer, "&gt;");
            break;
        case '"':
            hop_buffer_puts(buffer, "&quot;");
            break;
        default:
            hop_buffer_add(buffer, c, 1);
        }
    }
}

char *hop_buffer_take(struct hop_buffer *buffer)
{
    if (!buffer->text)
        hop_buffer_puts(buffer, "");
    char *text = buffer->text;
    if (buffer->failed) {
        free(text);
        text = NULL;
    }
    *buffer = (struct hop_buffer){0};
    return text;
}

void hop_buffer_finish(struct hop_buffer *buffer)
{
    free(buffer->text);
    *buffer = (struct hop_buffer){0};
}
