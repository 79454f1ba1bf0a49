/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON written after templates. */
#include "base/json_write.h"

#include <assert.h>
#include <ctype.h>
#include <math.h>

/* Whether what was written last ends a value, so that a comma has to come before the next one. */
static bool ends_value(const struct hop_buffer *out)
{
    size_t end = out->length;
    while (end > 0 && isspace((unsigned char)out->text[end - 1]))
        end--;
    return end > 0 && !strchr("{[:,", out->text[end - 1]);
}

/* White space up to the next token, which is returned. A comma at the end of the template is for what comes next. */
static const char *put_gap(struct hop_buffer *out, const char *format)
{
    const char *token = format + strspn(format, ", \n");
    bool goes_on = *token ? !strchr("}]:", *token) : *format == ',';
    if (goes_on && ends_value(out))
        hop_buffer_puts(out, ",");
    for (; format < token; format++) {
        if (*format != ',')
            hop_buffer_add(out, format, 1);
    }
    return token;
}

static const char *put_word(struct hop_buffer *out, const char *word)
{
    size_t length = strspn(word, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_-");
    const char *quote = word[length] == ':' ? "\"" : "";
    assert(length > 0);
    hop_buffer_puts(out, quote);
    hop_buffer_add(out, word, length);
    hop_buffer_puts(out, quote);
    return word + length;
}

static void put_number(struct hop_buffer *out, double value, bool in_full)
{
    if (in_full && isfinite(value))
        hop_buffer_printf(out, "%.17g", value);
    else
        hop_buffer_json_number(out, value);
}

/* The value that a conversion names; returns what is behind the conversion. */
static const char *put_value(struct hop_buffer *out, const char *conversion, va_list *arguments)
{
    size_t size = strspn(conversion, "hl.17");
    switch (conversion[size]) {
    case 's':
        hop_buffer_json_string(out, va_arg(*arguments, const char *));
        break;
    case 'g':
        put_number(out, va_arg(*arguments, double), *conversion == '.');
        break;
    case 'd':
        hop_buffer_printf(out, "%d", va_arg(*arguments, int));
        break;
    default: /* u */
        if (*conversion == 'h')
            hop_buffer_puts(out, va_arg(*arguments, unsigned) ? "true" : "false");
        else if (size == 0)
            hop_buffer_printf(out, "%u", va_arg(*arguments, unsigned));
        else if (size == 1)
            hop_buffer_printf(out, "%lu", va_arg(*arguments, unsigned long));
        else
            hop_buffer_printf(out, "%llu", va_arg(*arguments, unsigned long long));
    }
    return conversion + size + 1;
}

void hop_json_put(struct hop_buffer *out, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    while (*(format = put_gap(out, format))) {
        if (*format == '%')
            format = put_value(out, format + 1, &arguments);
        else if (strchr("{}[]:", *format))
            hop_buffer_add(out, format++, 1);
        else
            format = put_word(out, format);
    }
    va_end(arguments);
}

void hop_json_embed(struct hop_buffer *out, char *document)
{
    size_t length = document ? strlen(document) : 0;
    out->failed = out->failed || !document;
    if (length > 0 && document[length - 1] == '\n')
        length--;
    hop_buffer_add(out, document ? document : "", length);
    free(document);
}
