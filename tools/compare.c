/* SPDX-License-Identifier: BSD-3-Clause */
#include "tool.h"

static int run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return TOOL_BAD;
}

const struct tool_command tool_compare = {
    .name = "compare", .summary = "errors between predictions and measurements, and their distribution", .usage = "", .help = "", .run = run};
