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
