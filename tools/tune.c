/* SPDX-License-Identifier: BSD-3-Clause */
/* hopcast tune: picks what is to be tuned; collectives on the command line. */
#include "tune.h"

#include <string.h>

static const struct tool_command *const parts[] = {&tool_tune_paths,  &tool_tune_collective, &tool_tune_copies,
                                                   &tool_tune_stages, &tool_tune_puts,       NULL};

static int run(int argc, char **argv)
{
    if (argc < 2)
        tool_bad_usage(&tool_tune, "what to tune is missing: paths, collective, copies, stages or puts");
    if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0)
        tool_help(&tool_tune);
    for (size_t i = 0; parts[i]; i++) {
        if (strcmp(argv[1], strchr(parts[i]->name, ' ') + 1) == 0)
            return parts[i]->run(argc - 1, argv + 1);
    }
    enum hop_collective_kind kind;
    tool_bad_usage(
        &tool_tune, "there is nothing called '%s' to tune; there are paths, collective%s, copies, stages and puts",
        argv[1], tool_collective(argv[1], strlen(argv[1]), &kind) ? tool_text(" (tune collective %s)", argv[1]) : "");
}

const struct tool_command tool_tune = {
    .name = "tune",
    .summary = "which way copies go, in which packets, which algorithm a collective takes",
    .usage = "paths|collective|copies|stages|puts [OPTION ...]",
    .about = "  paths         direct peer copies, staging through host memory, or a mix; predicted\n"
             "  collective    which algorithm at which size; predicted, or measured on this machine\n"
             "  copies        how many of a collective's copies to stage; measured on this machine\n"
             "  stages        packets and overlap of transfers of several steps; by a closed form\n"
             "  puts          of a network card that reads device memory: directly, staged or pipelined; predicted\n"
             "\n"
             "hopcast tune paths --help shows the options, and so on.\n"
             "\n",
    .notes = "example: hopcast tune paths --on helios\n"
             "         hopcast tune collective allreduce --on dgx-1\n",
    .parts = parts,
    .run = run,
};

/* ---- collectives ---- */

static void add(const struct tool_taking *t, const char *name, size_t length)
{
    struct tune_kinds *kinds = t->to;
    enum hop_collective_kind kind;
    if (!tool_collective(name, length, &kind))
        tool_bad_usage(t->command,
                       "'%.*s' is no collective: allreduce, reduce, broadcast, allgather, reduce-scatter, "
                       "alltoall, gather, scatter and barrier are",
                       (int)(length < 60 ? length : 60), name);
    for (uint32_t i = 0; i < kinds->count; i++) {
        if (kinds->at[i] == kind)
            tool_bad_usage(t->command, "%s is named twice", hop_collective_name(kind));
    }
    kinds->at[kinds->count++] = kind;
}

static void take_kinds(const struct tool_taking *t, char *text)
{
    struct tune_kinds *kinds = t->to;
    bool all = strcmp(text, "all") == 0;
    for (unsigned k = 0; all && k < HOP_COLLECTIVE_COUNT; k++)
        kinds->at[kinds->count++] = (enum hop_collective_kind)k;
    for (size_t length; !all; text += length + 1) {
        length = strcspn(text, ",");
        add(t, text, length);
        if (!text[length])
            break;
    }
}

const struct tool_option option_kinds = {
    .kind = OPTION_CALL, .once = true, .argument = "COLLECTIVE,...", .take = take_kinds};
