/* SPDX-License-Identifier: BSD-3-Clause */
#include "tool.h"

static int run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return TOOL_BAD;
}

const struct tool_command tool_export = {
    .name = "export", .summary = "hand the plan to another runtime", .usage = "", .help = "", .run = run};
