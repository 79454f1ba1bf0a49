/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast tune: lists of sizes on the command line. */
#include "tune.h"

#include <string.h>

bool tune_read_bytes(const struct tool_command *command, const char *option, const char *text, size_t length,
                     uint64_t *bytes)
{
    struct hop_diag diag;
    if (hop_parse_bytes(text, length, bytes, &diag) == HOP_OK && *bytes > 0)
        return true;
    tool_bad_usage(command, "%s: '%.*s' is no size from 1 byte to 1EiB, such as 64KiB", option, (int)length, text);
    return false;
}

static bool add_size(const struct tool_command *command, const char *option, uint64_t size, uint64_t *list,
                     uint32_t *count)
{
    if (*count == HOP_TUNE_SIZES)
        tool_bad_usage(command, "%s: more than %d sizes", option, HOP_TUNE_SIZES);
    else if (*count > 0 && size <= list[*count - 1])
        tool_bad_usage(command, "%s: %llu bytes after %llu, but sizes ascend", option, (unsigned long long)size,
                       (unsigned long long)list[*count - 1]);
    else {
        list[(*count)++] = size;
        return true;
    }
    return false;
}

/* LOW:HIGH*FACTOR */
static bool add_range(const struct tool_command *command, const char *option, const char *text, size_t length,
                      uint64_t *list, uint32_t *count)
{
    const char *colon = memchr(text, ':', length), *star = memchr(text, '*', length), *end = text + length;
    uint64_t low, high, factor;
    char digits[24];
    if (!star || star < colon || (size_t)(end - star - 1) >= sizeof digits) {
        tool_bad_usage(command, "%s: '%.*s' is no range LOW:HIGH*FACTOR", option, (int)length, text);
        return false;
    }
    (void)snprintf(digits, sizeof digits, "%.*s", (int)(end - star - 1), star + 1);
    if (!tune_read_bytes(command, option, text, (size_t)(colon - text), &low) ||
        !tune_read_bytes(command, option, colon + 1, (size_t)(star - colon - 1), &high) ||
        !tool_whole(command, option, digits, 2, 1 << 20, &factor))
        return false;
    for (uint64_t size = low; size <= high; size *= factor) {
        if (!add_size(command, option, size, list, count))
            return false;
    }
    return true;
}

/* Sizes and ranges, separated by commas. */
bool tune_read_sizes(const struct tool_command *command, const char *option, const char *text, uint64_t *list,
                     uint32_t *count)
{
    uint64_t size;
    *count = 0;
    for (const char *from = text;; from++) {
        size_t length = strcspn(from, ",");
        bool read = memchr(from, ':', length) ? add_range(command, option, from, length, list, count)
                                              : tune_read_bytes(command, option, from, length, &size) &&
                                                    add_size(command, option, size, list, count);
        if (!read)
            return false;
        from += length;
        if (!*from)
            break;
    }
    if (*count == 0)
        tool_bad_usage(command, "%s: no size", option);
    return *count > 0;
}
