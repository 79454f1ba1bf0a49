/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the subcommands share. The command uses the public headers, what is in base, how drawings say
 * quantities, and the builder of topologies.
 *
 * Exit status: 0 done, 1 a negative answer, 2 bad usage or input.
 */
#ifndef HOP_TOOL_H
#define HOP_TOOL_H

#include <stdbool.h>
#include <stdio.h>

#include "hopcast/hopcast.h"
#include "options.h"
#include "report/draw.h"

#define LINK(topology, directed) hop_topology_link_name(topology, directed, (char[160]){0}, 160)
#define BYTES(bytes) hop_format_bytes(bytes, (char[32]){0}, 32) /* as SECONDS and RATE */

/* The first failure sticks: the step is taken while all has gone well. */
#define THEN(status, step) ((status) = (status) ? (status) : (step)) /* TOOL_OK and HOP_OK are 0 */
enum { TOOL_OK = 0, TOOL_NEGATIVE = 1, TOOL_BAD = 2, TOOL_HELP = -1 };

struct tool_command {
    const char *name;
    const char *summary; /* one line */
    const char *usage;   /* after "hopcast NAME" */
    const char *about;   /* --help: before the options */
    const char *notes;   /* and behind them, an example among it */
    const struct tool_option *options;
    const struct tool_command *const *parts; /* commands of its own, NULL behind the last; or NULL */
    int (*run)(int argc, char **argv);       /* argv[0] is the subcommand's name; TOOL_HELP: help was shown */
};
extern const struct tool_command tool_topology, tool_predict, tool_make, tool_order, tool_calibrate, tool_compare,
    tool_sweep, tool_export, tool_tune, tool_run, tool_measure, tool_map_command;

/* Prints "hopcast NAME: message" and where help is to standard error; TOOL_BAD. */
int tool_bad_usage(const struct tool_command *command, const char *format, ...) HOP_PRINTF(2, 3);
/* Prints a diagnostic to standard error; TOOL_BAD, or TOOL_NEGATIVE where a process was lost or all were stopped. */
int tool_fail(const struct hop_diag *diag);
/* Says so; TOOL_BAD. */
int tool_out_of_memory(void);

/* Reads SOURCE and applies the assignments (--set). */
int tool_load_topology(const char *source, const struct tool_words *sets, struct hop_topology **topology);
/* The same with a fabric's forwarding tables in a second file (NULL: none). */
int tool_load_routed(const char *source, const char *routes, const struct tool_words *sets,
                     struct hop_topology **topology);
/* Reads a schedule in any form, which must hold operations, from a source as option_schedule and option_expression keep
 * it: 'f' and a file, or 'e' and a text. */
int tool_read_schedule(const char *source, const char *collective, struct hop_schedule **schedule);
const char *tool_source_name(const char *source); /* "-e", or the file */
/* What a command names that works on one schedule. */
struct tool_input {
    struct tool_words schedules, sets;
    const char *machine, *models, *map, *collective;
};
/* Reads both (the topology where one is named), and puts ranks on its devices. */
int tool_load_input(const struct tool_input *input, struct hop_topology **topology, struct hop_schedule **schedule);
/* Puts the schedule's ranks on the topology's devices; the schedule is replaced. */
int tool_place(const char *map, const struct hop_topology *topology, struct hop_schedule **schedule);
/* Where ranks go (--map): a placement file, read once, or an order in which each topology's devices take them. */
struct tool_map {
    enum hop_placement_order order;
    struct hop_placement *file; /* NULL: none, the order is meant */
};
/* choice: packed (also for NULL), cyclic, else the path of a file. */
int tool_map_load(const char *choice, struct tool_map *map);
/* *placed becomes a new schedule on the topology's devices, or NULL when the schedule names no ranks. */
int tool_map_apply(const struct tool_map *map, const struct hop_topology *topology, const struct hop_schedule *schedule,
                   struct hop_schedule **placed);
/* The same, saying nothing: what is wrong is in *diag. */
enum hop_status tool_map_place(const struct tool_map *map, const struct hop_topology *topology,
                               const struct hop_schedule *schedule, struct hop_schedule **placed,
                               struct hop_diag *diag);
void tool_map_finish(struct tool_map *map);
/* ", NAME: model MODEL" for each domain that is used (NULL: all); where these are many, those of one family and model in
 * one. */
void tool_print_models(FILE *out, const struct hop_topology *topology, const struct hop_network *network,
                       const bool *used);
/* The choice of models, but credit in every domain that pcie rules: a new text; NULL: pcie rules none, or out of
 * memory. */
char *tool_credit_instead(const struct hop_topology *topology, const struct hop_network *network, const char *models);
/* --algorithm auto=TABLE: the algorithm and, unless it is given, the size of segments become what the table says for
 * so many ranks; choice must outlive options. Any other algorithm stays as it is. */
struct tool_choice {
    char name[HOP_ALGORITHM_NAME_SIZE];
    const char *table; /* NULL: nothing was to be chosen */
};
enum hop_status tool_choose_algorithm(struct hop_collective_options *options, uint32_t ranks,
                                      struct tool_choice *choice, struct hop_diag *diag);
/* The same for a text that is made here and given away; NULL: out of memory. */
int tool_write_text(const char *path, char *text);
/* Writes a text to a file (whole or not at all) or, for NULL and "-", to standard output. */
int tool_write(const char *path, const char *text);
/* Writes a copy of the schedule with a remark or two (NULL: one) more at its head. */
int tool_write_remarked(const char *path, const struct hop_schedule *schedule, const char *remark, const char *second);
/* Whether tool_write could write there, told before long work; tool_write's message if not. NULL and "-": yes. */
int tool_check_output(const char *path);
/* To end with: output that could not be written turns TOOL_OK into TOOL_BAD, with a message. */
int tool_finish(int status);
/* Broken between words, with a line's end; the first line begins behind what stands there already. */
void tool_print_wrapped(const char *text, unsigned indent, unsigned width);
/* "64KiB", "1.5MiB": four digits. Returns text. */
char *tool_show_bytes(uint64_t bytes, char *text, size_t size);
/* Of processes that move real bytes: refuses what does not go together. */
int tool_check_program(const struct tool_command *command, const struct hop_program_options *program, bool threads,
                       bool emulated);
/* Memory (memory.c): before anything is allocated; when it is said why the command fails; the status where some was
 * lacking, which is said if nothing else was. */
void tool_watch_memory(void);
void tool_memory_told(void);
int tool_memory_verdict(int status);
#define TOOL_COLLECTIVES "allreduce reduce broadcast bcast allgather reduce-scatter alltoall gather scatter barrier"
/* Of a collective; "bcast" is one, too. */
bool tool_collective(const char *name, size_t length, enum hop_collective_kind *kind);
/* The collective whose name is nearest to a word that is none; NULL: none is near. */
const char *tool_nearest_collective(const char *word);
/* Lines of progress on a terminal, each over the last: begin, print one to standard error whenever a tick says so (a
 * second has passed, and a quarter of one since the last), beginning with '\r', end. */
struct tool_ticker {
    bool terminal, shown;
    double begun_s, shown_s, passed_s; /* passed_s: from the line before to this one */
};
struct tool_ticker tool_tick_begin(void);
bool tool_tick(struct tool_ticker *ticker);
void tool_tick_end(const struct tool_ticker *ticker);
/* The same of a share: begin, pass what that returns (NULL without a terminal) with the struct as its context, end. */
struct tool_progress {
    const char *what; /* what the share is of; may change on the way */
    struct tool_ticker ticker;
};
typedef void tool_progress_show(double done, void *context);
tool_progress_show *tool_progress_begin(struct tool_progress *progress, const char *what);
void tool_progress_end(const struct tool_progress *progress);
bool tool_colour(FILE *stream); /* a terminal, and NO_COLOR is not set */
unsigned tool_columns(void);    /* of the terminal, or 100 */

#endif
