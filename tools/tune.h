/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast tune: what its files share. tune.c picks what is tuned, tune_paths.c reads the options of `tune paths` and
 * runs it, tune_paths_show.c prints.
 */
#ifndef HOP_TOOL_TUNE_H
#define HOP_TOOL_TUNE_H

#include "hopcast/tune.h"
#include "tool.h"

extern const struct tool_command tool_tune_paths;

/* A schedule and its mix. */
struct tune_case {
    const char *name; /* the pattern's, or the file */
    struct hop_schedule *schedule;
    struct hop_tuned_mix *mix;
};

/* paths NULL: no pairs were asked for. */
void tune_paths_print(struct hop_network *network, const struct hop_tuned_paths *paths, const struct tune_case *cases,
                      int case_count);
/* Writes the best schedule to `path`, with remarks. settings: the options that it was found with. */
int tune_paths_write(const char *path, const struct hop_network *network, const struct tune_case *of,
                     const char *settings);

#endif
