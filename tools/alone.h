/* SPDX-License-Identifier: BSD-3-Clause */
/* Subcommands that start ranks of their own: under mpirun each of its processes would do everything once more. */
#ifndef HOP_TOOL_ALONE_H
#define HOP_TOOL_ALONE_H

#include "tool.h"

/* TOOL_OK in a process that works by itself; else refuses, rank 0 with a message. */
int alone_check(const struct tool_command *command);

#endif
