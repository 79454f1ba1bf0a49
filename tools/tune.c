/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast tune: picks what is to be tuned. */
#include "tune.h"

#include <string.h>

static const struct {
    const char *name;
    const struct tool_command *command;
} subjects[] = {{"paths", &tool_tune_paths}, {"collective", &tool_tune_collective}, {"copies", &tool_tune_copies}};

static int run(int argc, char **argv)
{
    if (argc < 2)
        return tool_bad_usage(&tool_tune, "what to tune is missing: paths, collective or copies");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        return tool_help(&tool_tune);
    for (size_t i = 0; i < sizeof subjects / sizeof subjects[0]; i++) {
        if (strcmp(argv[1], subjects[i].name) == 0)
            return subjects[i].command->run(argc - 1, argv + 1);
    }
    return tool_bad_usage(&tool_tune, "there is nothing called '%s' to tune; there are paths, collective and copies",
                          argv[1]);
}

const struct tool_command tool_tune = {
    .name = "tune",
    .summary = "which way copies go, which algorithm a collective takes",
    .usage = "paths|collective|copies [OPTION ...]",
    .help = "  paths         direct peer copies, staging through host memory, or a mix; predicted\n"
            "  collective    which algorithm at which size; predicted, or measured on this machine\n"
            "  copies        how many of a collective's copies to stage; measured on this machine\n"
            "\n"
            "hopcast tune paths --help shows the options, and so on.\n"
            "\n"
            "example: hopcast tune paths --on helios\n"
            "         hopcast tune collective allreduce --on dgx-1\n",
    .run = run,
};
