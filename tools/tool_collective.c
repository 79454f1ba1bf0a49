/* SPDX-License-Identifier: BSD-3-Clause */
/* Collectives, operators and element types on the command line. */
#include <string.h>

#include "tool.h"

bool tool_collective(const char *name, size_t length, enum hop_collective_kind *kind)
{
    if (length == 5 && memcmp(name, "bcast", 5) == 0) {
        *kind = HOP_COLLECTIVE_BROADCAST;
        return true;
    }
    for (unsigned k = 0; k < HOP_COLLECTIVE_COUNT; k++) {
        const char *known = hop_collective_name((enum hop_collective_kind)k);
        if (strlen(known) == length && memcmp(known, name, length) == 0) {
            *kind = (enum hop_collective_kind)k;
            return true;
        }
    }
    return false;
}

size_t tool_distance(const char *a, const char *b)
{
    size_t row[32], n = strlen(a), m = strlen(b);
    if (n >= 32 || m >= 32)
        return 32;
    for (size_t j = 0; j <= m; j++)
        row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0]++;
        for (size_t j = 1; j <= m; j++) {
            size_t best = diagonal + (a[i - 1] != b[j - 1]);
            diagonal = row[j];
            best = best < row[j] + 1 ? best : row[j] + 1;
            row[j] = best < row[j - 1] + 1 ? best : row[j - 1] + 1;
        }
    }
    return row[m];
}

const char *tool_nearest_collective(const char *word)
{
    const char *nearest = NULL;
    size_t least = 3;
    for (unsigned k = 0; k < HOP_COLLECTIVE_COUNT; k++) {
        const char *name = hop_collective_name((enum hop_collective_kind)k);
        size_t far = tool_distance(word, name);
        if (strlen(word) > 2 && strncmp(word, name, strlen(word)) == 0)
            far = 1; /* cut short */
        if (far < least) {
            least = far;
            nearest = name;
        }
    }
    return tool_distance(word, "bcast") < least ? "bcast" : nearest;
}

bool tool_operator(const struct tool_command *command, const char *text, enum hop_reduce *reduce)
{
    for (unsigned i = 0; i < HOP_REDUCE_COUNT; i++) {
        if (strcmp(text, hop_reduce_name((enum hop_reduce)i)) == 0) {
            *reduce = (enum hop_reduce)i;
            return true;
        }
    }
    tool_bad_usage(command, "--operator cannot be '%.60s': sum, prod, min or max is expected", text);
    return false;
}

bool tool_type(const struct tool_command *command, const char *text, enum hop_type *type)
{
    for (unsigned i = 0; i < HOP_TYPE_COUNT; i++) {
        if (strcmp(text, hop_type_name((enum hop_type)i)) == 0) {
            *type = (enum hop_type)i;
            return true;
        }
    }
    tool_bad_usage(command, "--type cannot be '%.60s': f64, f32, f16, bf16, i32 or i64 is expected", text);
    return false;
}
