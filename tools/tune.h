/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * hopcast tune: what its files share. tune.c picks what is tuned; tune_paths.c, tune_collective.c and tune_copies.c
 * read the options of each and run it, *_show.c print; tune_sizes.c and tune_ranks.c are for several.
 */
#ifndef HOP_TOOL_TUNE_H
#define HOP_TOOL_TUNE_H

#include "devices.h"
#include "hopcast/tune.h"

extern const struct tool_command tool_tune_paths, tool_tune_collective, tool_tune_copies;

/* A size of at least 1 byte; sizes in ascending order and ranges LOW:HIGH*FACTOR, HOP_TUNE_SIZES at most. */
bool tune_read_bytes(const struct tool_command *command, const char *option, const char *text, size_t length,
                     uint64_t *bytes);
bool tune_read_sizes(const struct tool_command *command, const char *option, const char *text, uint64_t *list,
                     uint32_t *count);

/* Collectives by name, separated by commas, or all. */
bool tune_read_collectives(const struct tool_command *command, const char *text,
                           enum hop_collective_kind kinds[HOP_COLLECTIVE_COUNT], uint32_t *count);

/* Ranks on devices: those listed, else the topology's GPUs, or NICs where it has none, else "host0". They fill the
 * devices in order, as evenly as they can. */
struct tune_ranks {
    struct device_list names;
    const char **devices; /* of each rank */
    struct hop_ranks ranks;
};
/* topology and list may be NULL; ranks 0: one for each device. */
int tune_find_ranks(const struct tool_command *command, const struct hop_topology *topology, const char *list,
                    uint32_t ranks, struct tune_ranks *found);
void tune_ranks_finish(struct tune_ranks *found);

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

/* What was asked for, for people and for the head of the table. */
struct tune_collective_head {
    char machine[256]; /* "t2, pcie: model pcie; predicted" */
    char data[160];    /* "sum of f32, root 0" */
};
void tune_collective_print(const struct hop_network *network, const struct tune_collective_head *head,
                           const struct hop_tuned_collective *const *tuned, uint32_t count);

#endif
