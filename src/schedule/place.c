/* SPDX-License-Identifier: BSD-3-Clause */
/* Places: [rank@]device[:buffer[+offset]]. */
#include "schedule/schedule.h"

static bool is_word_byte(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' || c == '.' ||
           c == '-';
}

static bool is_word(const char *text, size_t length)
{
    if (length == 0 || length > 63)
        return false;
    for (size_t i = 0; i < length; i++) {
        if (!is_word_byte(text[i]))
            return false;
    }
    return true;
}

bool hop_place_check(const struct hop_place *place)
{
    static const char *const reserved[] = {"work", "reduce", "queue"}; /* they begin other lines */
    for (size_t i = 0; i < HOP_COUNT(reserved); i++) {
        if (strcmp(place->device, reserved[i]) == 0)
            return false;
    }
    return is_word(place->device, strlen(place->device)) &&
           (!place->buffer || is_word(place->buffer, strlen(place->buffer)));
}

int32_t hop_placeholder_rank(const char *device)
{
    if (strncmp(device, "rank", 4) != 0)
        return -1;
    const char *digits = device + 4;
    size_t length = strspn(digits, "0123456789");
    if (length == 0 || length > 9 || digits[length] || (digits[0] == '0' && length > 1))
        return -1;
    return (int32_t)strtol(digits, NULL, 10);
}

int32_t hop_placeholder_host_rank(const char *device)
{
    char name[16];
    const char *dot = strchr(device, '.');
    if (!dot || strcmp(dot, ".host") != 0 || (size_t)(dot - device) >= sizeof name)
        return -1;
    memcpy(name, device, (size_t)(dot - device));
    name[dot - device] = '\0';
    return hop_placeholder_rank(name);
}

bool hop_device_is_host(const char *device)
{
    const char *dot = strrchr(device, '.'), *name = dot ? dot + 1 : device;
    return strncmp(name, "host", 4) == 0 && name[4 + strspn(name + 4, "0123456789")] == '\0';
}

static enum hop_status malformed(const char *what, const char *text, size_t length, struct hop_diag *diag)
{
    return hop_fail(diag, HOP_ERR_SYNTAX,
                    "%s '%.*s'\n[rank@]device[:buffer[+offset]], such as gpu0, 3@gpu1 or gpu0:send+4096", what,
                    (int)(length < 80 ? length : 80), text);
}

enum hop_status hop_place_parse(const char *text, size_t length, struct hop_place *place, struct hop_arena *arena,
                                struct hop_diag *diag)
{
    struct hop_place read = {.rank = -1};
    const char *at = memchr(text, '@', length), *device = text, *end = text + length;
    if (at) {
        read.rank = 0;
        if (at == text || at - text > 9)
            return malformed("there is no rank in", text, length, diag);
        for (const char *c = text; c < at; c++) {
            if (*c < '0' || *c > '9')
                return malformed("the rank is no number in", text, length, diag);
            read.rank = read.rank * 10 + (*c - '0');
        }
        device = at + 1;
    }
    const char *colon = memchr(device, ':', (size_t)(end - device));
    const char *device_end = colon ? colon : end;
    if (!is_word(device, (size_t)(device_end - device)))
        return malformed("there is no device name in", text, length, diag);
    if (colon) {
        const char *buffer = colon + 1, *plus = memchr(buffer, '+', (size_t)(end - buffer));
        const char *buffer_end = plus ? plus : end;
        if (!is_word(buffer, (size_t)(buffer_end - buffer)))
            return malformed("there is no buffer name in", text, length, diag);
        if (plus) {
            enum hop_status status = hop_parse_bytes(plus + 1, (size_t)(end - plus - 1), &read.offset_bytes, diag);
            if (status != HOP_OK)
                return status;
        }
        read.buffer = hop_arena_string(arena, buffer, (size_t)(buffer_end - buffer));
    }
    read.device = hop_arena_string(arena, device, (size_t)(device_end - device));
    if (arena->failed)
        return hop_fail_memory(diag);
    *place = read;
    return HOP_OK;
}

void hop_place_print(const struct hop_place *place, struct hop_buffer *buffer)
{
    char offset[32];
    if (place->rank >= 0 && place->rank != hop_placeholder_rank(place->device)) {
        hop_buffer_number(buffer, (uint64_t)place->rank);
        hop_buffer_puts(buffer, "@");
    }
    hop_buffer_puts(buffer, place->device);
    if (!place->buffer)
        return;
    hop_buffer_puts(buffer, ":");
    hop_buffer_puts(buffer, place->buffer);
    if (place->offset_bytes) {
        hop_buffer_puts(buffer, "+");
        hop_buffer_puts(buffer, hop_format_bytes(place->offset_bytes, offset, sizeof offset));
    }
}
