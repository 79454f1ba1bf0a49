/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What the subcommands share. The command uses the public headers, what is in base, how drawings say
 * quantities, and the builder of topologies.
 *
 * Exit status: 0 done, 1 a negative answer, 2 bad usage or input, or output that cannot be written.
 */
#ifndef HOP_TOOL_H
#define HOP_TOOL_H

#include <stdbool.h>
#include <stdio.h>

#include "base/base.h"
#include "hopcast/hopcast.h"
#include "options.h"
#include "report/draw.h"

#define LINK(topology, directed) hop_topology_link_name(topology, directed, (char[160]){0}, 160)
#define BYTES(bytes) hop_format_bytes(bytes, (char[32]){0}, 32) /* as SECONDS and RATE */

enum { TOOL_OK = 0, TOOL_NEGATIVE = 1, TOOL_BAD = 2 };

struct tool_command {
    const char *name;
    const char *summary; /* one line */
    const char *usage;   /* after "hopcast NAME" */
    const char *about;   /* --help: before the options */
    const char *notes;   /* and behind them, an example among it */
    const struct tool_option *options;
    bool starts_program;                     /* from the first word that is no option on all are the program's */
    const struct tool_command *const *parts; /* commands of its own, NULL behind the last; or NULL */
    int (*run)(int argc, char **argv);       /* argv[0] is the subcommand's name; the exit status */
};
extern const struct tool_command tool_topology, tool_predict, tool_make, tool_order, tool_calibrate, tool_compare,
    tool_sweep, tool_export, tool_tune, tool_run, tool_measure, tool_map_command, tool_plan, tool_launch, tool_amb,
    tool_traffic;

/* ---- the end ---- */

/* What fails says so to standard error and ends the command: nobody asks whether it went well. What was in use then is
 * given back by the system. "hopcast NAME: message" and where help is: */
/* How often what was measured lay in the ranges, if there are any. */
void tool_print_ranges(const struct hop_compare_summary *summary);
_Noreturn void tool_bad_usage(const struct tool_command *command, const char *format, ...) HOP_PRINTF(2, 3);
/* A diagnostic. TOOL_NEGATIVE where a process was lost or all were stopped, else TOOL_BAD. */
_Noreturn void tool_fail(const struct hop_diag *diag);
_Noreturn void tool_out_of_memory(void);
/* tool_try(hop_...(..., &tool_diag)) goes on where that is HOP_OK; tool_try_at says the place of what names none. */
extern struct hop_diag tool_diag;
void tool_try(enum hop_status status);
void tool_try_at(enum hop_status status, const char *format, ...) HOP_PRINTF(2, 3);
/* What is expected of a file that cannot be read. */
void tool_try_file(enum hop_status status, const char *expected);
#define MEASUREMENTS_ARE_EXPECTED "a file of measurements (docs/compare.md says which there are)"
void *tool_have(void *made); /* which is there until the command ends; NULL: out of memory */
uint32_t tool_counted(uint32_t count); /* the same; HOP_NONE: out of memory */
/* Zeroed, until the command ends; and arrays that grow. */
void *tool_alloc(size_t count, size_t size);
char *tool_text(const char *format, ...) HOP_PRINTF(1, 2);
extern struct hop_arena tool_arena;
#define TOOL_GROW(array, need) (HOP_GROW(&tool_arena, (array), (need)) ? (void)0 : tool_out_of_memory())
/* A diagnostic that ends nothing; the exit status that it would have ended with. */
int tool_say(const struct hop_diag *diag);
/* "hopcast: message", which ends nothing either. */
void tool_warn(const char *format, ...) HOP_PRINTF(1, 2);
/* Said behind a failure, until it is NULL: "in cases.txt:3". */
extern const char *tool_where;
extern bool tool_hushed; /* another process says what fails */
/* Ends well, too: output that could not be written turns TOOL_OK into TOOL_BAD, with a message. */
_Noreturn void tool_end(int status);
/* Before that other processes are told: `leave` gets and gives the exit status. NULL: there are none. */
void tool_at_end(int (*leave)(int status));
/* The first half of it, for who ends in another way. */
int tool_finish(int status);
/* Memory (memory.c): before anything is allocated; when it is said why the command fails; the status where some was
 * lacking, which is said if nothing else was. */
void tool_watch_memory(void);
void tool_memory_told(void);
bool tool_memory_lacked(void);
int tool_memory_verdict(int status);

/* ---- input ---- */

/* What --gpu and --cpu say of every topology that the command reads. */
extern struct hop_beside tool_beside;
/* SOURCE with the assignments (--set). */
struct hop_topology *tool_load_topology(const char *source, const struct tool_words *sets);
/* The same with a fabric's forwarding tables in a second file (NULL: none). */
struct hop_topology *tool_load_routed(const char *source, const char *routes, const struct tool_words *sets);
/* Measurements, and as warnings what of the file was left out or assumed. Where a topology is given, what collectives took is
 * read, too, and its GPUs are those of which the file says no names. */
struct hop_measurements *tool_load_measurements(const char *path, const struct hop_topology *topology);
void tool_note_measurements(const struct hop_measurements *measurements);
struct hop_network *tool_network(const struct hop_topology *topology, const char *models);
/* A schedule in any form, which must hold operations, from a source as option_schedule and option_expression keep it:
 * 'f' and a file, or 'e' and a text. */
struct hop_schedule *tool_read_schedule(const char *source, const char *collective);
const char *tool_source_name(const char *source); /* "-e", or the file */
/* What tool_diag expects, unless it says so, of a name that is no file; how one is made of a pattern's or a
 * collective's. */
void tool_expect_schedule(const char *expected, const char *name);
/* What a command names that works on one schedule. */
struct tool_input {
    struct tool_words schedules, sets;
    const char *machine, *models, *map, *collective;
};
/* Reads both (the topology where one is named, else it is NULL), and puts ranks on its devices. */
struct hop_schedule *tool_load_input(const struct tool_input *input, struct hop_topology **topology);
/* The schedule with its ranks on the topology's devices, in its place. */
struct hop_schedule *tool_place(const char *map, const struct hop_topology *topology, struct hop_schedule *schedule);
/* Where ranks go (--map): a placement file, read once, or an order in which each topology's devices take them. */
struct tool_map {
    enum hop_placement_order order;
    struct hop_placement *file; /* NULL: none, the order is meant */
};
/* choice: packed (also for NULL), cyclic, else the path of a file. */
struct tool_map tool_map_load(const char *choice);
/* *placed becomes a new schedule on the topology's devices, or NULL when the schedule names no ranks. */
enum hop_status tool_map_place(const struct tool_map *map, const struct hop_topology *topology,
                               const struct hop_schedule *schedule, struct hop_schedule **placed,
                               struct hop_diag *diag);

/* ---- words ---- */

/* ", NAME: model MODEL" for each domain that is used (NULL: all); where these are many, those of one family and model in
 * one. */
void tool_print_models(FILE *out, const struct hop_topology *topology, const struct hop_network *network,
                       const bool *used);
/* The size becomes what nccl-tests would run (hop_collective_round). In words from what to what; "": it was that. */
const char *tool_round_collective(struct hop_collective_options *options, uint32_t ranks);
/* --algorithm auto=TABLE: the algorithm and, unless it is given, the size of segments become what the table says for
 * so many ranks. The table; NULL: any other algorithm, which stays as it is. */
const char *tool_choose_algorithm(struct hop_collective_options *options, uint32_t ranks);

/* ---- output ---- */

/* Before anything is opened: streams that are closed, a reader that leaves and the limit of a file's size are errors. */
void tool_watch_streams(void);
/* Writes a text to a file, which takes its place when the command ends without TOOL_BAD, or, for NULL and "-", to standard
 * output. */
void tool_write(const char *path, const char *text);
/* The same for a text that is made here and given away; NULL: out of memory. */
void tool_write_text(const char *path, char *text);
void tool_show_text(const char *path, char *text); /* the same for people, whose terminal may be narrow */
/* A schedule's text, which is never whole in memory. */
void tool_write_schedule(const char *path, const struct hop_schedule *schedule);
/* Writes a copy of the schedule with a remark or two (NULL: one) more at its head. */
void tool_write_remarked(const char *path, const struct hop_schedule *schedule, const char *remark, const char *second);
/* The same at once, whatever becomes of the command; false: it said why not. */
bool tool_keep_remarked(const char *path, const struct hop_schedule *schedule, const char *remark);
/* Says so, by errno; NULL: to standard output. */
void tool_cannot_write(const char *path);
/* Whether tool_write could write there, told before long work. NULL and "-": yes. */
void tool_check_output(const char *path);
void tool_make_directory(const char *path);   /* unless it is there */
const char *tool_short_bytes(uint64_t bytes); /* "64KiB", "1.5MiB": four digits */
void tool_print(FILE *out, char *text);       /* that is made here and given away; NULL: out of memory */
/* Of processes that move real bytes: refuses what does not go together. */
void tool_check_program(const struct tool_command *command, const struct hop_program_options *program, bool threads,
                        bool emulated);
#define TOOL_COLLECTIVES "allreduce reduce broadcast bcast allgather reduce-scatter alltoall gather scatter barrier"
/* Of a collective; "bcast" is one, too. */
bool tool_collective(const char *name, size_t length, enum hop_collective_kind *kind);
/* ---- the screen (screen.c) ---- */

/* From here on, what is printed to standard output is broken between words where a terminal shows it. */
void tool_screen_begin(void);
/* Standard output for what machines read, which goes out as it is. */
FILE *tool_plain_output(void);
/* Broken between words, with a line's end; the first line begins behind what stands there already. */
void tool_print_wrapped(const char *text, unsigned indent, unsigned width);
void tool_put_message(const char *line); /* to standard error */
bool tool_colour(const FILE *stream);    /* a terminal, and NO_COLOR is not set */
unsigned tool_columns(void);             /* of the terminal, or 100 */

/* A table: begin prints the titles, a row's cells stand between tabs. Where a terminal is too narrow, columns are left out,
 * those of the highest `drop` first and those of 0 never, then texts are cut. In a pipe all is there. */
struct tool_column {
    const char *title;
    int width;     /* at least: of numbers, to the right; negative: of texts, to the left; 0: prose, the last one */
    unsigned drop; /* the first column's is 0 */
};
enum { TOOL_COLUMNS = 24 };
struct tool_table {
    FILE *out;
    unsigned limit, count; /* limit 0: any width */
    struct tool_column columns[TOOL_COLUMNS];
    bool left_out[TOOL_COLUMNS];
    struct hop_buffer line;
};
void tool_table_begin(struct tool_table *table, FILE *out, const struct tool_column *columns, unsigned count);
void tool_table_row(struct tool_table *table, const char *format, ...) HOP_PRINTF(2, 3);
void tool_table_end(struct tool_table *table);

/* Lines of progress on a terminal, each over the last: begin, show one whenever a tick says so (a second has passed, and
 * a quarter of one since the last), end. */
struct tool_ticker {
    bool terminal;
    unsigned shown;                    /* columns of the line that stands there */
    double begun_s, shown_s, passed_s; /* passed_s: from the line before to this one */
};
struct tool_ticker tool_tick_begin(void);
bool tool_tick(struct tool_ticker *ticker);
void tool_tick_show(struct tool_ticker *ticker, const char *format, ...) HOP_PRINTF(2, 3);
void tool_tick_end(const struct tool_ticker *ticker);
/* The same of a share: begin, pass what that returns (NULL without a terminal) with the struct as its context, end. */
struct tool_progress {
    const char *what; /* what the share is of; may change on the way */
    struct tool_ticker ticker;
};
typedef void tool_progress_show(double done, void *context);
tool_progress_show *tool_progress_begin(struct tool_progress *progress, const char *what);
void tool_progress_end(const struct tool_progress *progress);

/* What an answer of least regret and the best one (`what`: an order, a plan) take in each case. */
void tool_print_regrets(FILE *out, const struct hop_order_robust *robust, const char *what);

#endif
