/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast tune: what its files share. tune.c picks what is tuned; tune_paths.c, tune_collective.c, tune_copies.c,
 * tune_stages.c and tune_puts.c read the options of each and run it, *_show.c print.
 */
#ifndef HOP_TOOL_TUNE_H
#define HOP_TOOL_TUNE_H

#include "devices.h"
#include "hopcast/tune.h"

extern const struct tool_command tool_tune_paths, tool_tune_collective, tool_tune_copies, tool_tune_stages,
    tool_tune_puts;

/* Collectives by name, separated by commas, or all. */
struct tune_kinds {
    enum hop_collective_kind at[HOP_COLLECTIVE_COUNT];
    uint32_t count;
};
extern const struct tool_option option_kinds; /* into struct tune_kinds */

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
void tune_paths_write(const char *path, const struct hop_network *network, const struct tune_case *of,
                      const char *settings);

/* What was asked for, for people and for the head of the table. */
struct tune_collective_head {
    const char *machine; /* "t2, pcie: model pcie; predicted" */
    const char *data;    /* "sum of f32, root 0" */
    const char *rounds_are_free, *lacks; /* notes of what the answer rests on; NULL: none */
};
void tune_collective_print(const struct hop_network *network, const struct tune_collective_head *head,
                           const struct hop_tuned_collective *const *tuned, uint32_t count);

/* tune_puts_figures.c: prints the published figures of APEnet+ beside what its mechanism gives. */
int tune_puts_figures(void);

#endif
