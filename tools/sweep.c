/* SPDX-License-Identifier: BSD-3-Clause */
#include "tool.h"

static int run(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    return TOOL_BAD;
}

const struct tool_command tool_sweep = {
    .name = "sweep", .summary = "many predictions, over MPI ranks when there are any", .usage = "", .help = "", .run = run};
