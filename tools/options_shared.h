/* SPDX-License-Identifier: BSD-3-Clause */
/* Options that several subcommands have: one meaning a word. */
#ifndef HOP_TOOL_OPTIONS_SHARED_H
#define HOP_TOOL_OPTIONS_SHARED_H

#include "options.h"

/* Input. option_schedule is the word that is no option; both put what they take into struct tool_words, as
 * tool_read_schedule wants it, `high` at most. */
extern const struct tool_option option_schedule, option_expression, option_on, option_gpu, option_cpu, option_set,
    option_model, option_map, option_collective, option_sources_unlimited;
/* Output. */
extern const struct tool_option option_json, option_output, option_gantt, option_ascii, option_trace, option_rows;
/* Of a collective: members of struct hop_collective_options, and which ranks there are. */
extern const struct tool_option option_algorithm, option_bytes, option_operator, option_type, option_root,
    option_in_place, option_segment, option_ranks, option_devices;
/* Of processes that move real bytes: members of struct hop_program_options and hop_launch_options. */
extern const struct tool_option option_device, option_engines, option_emulate, option_slower, option_chunk,
    option_buffer, option_in_process, option_was_threads, option_pin, option_timeout, option_seed;
/* Of searches; of a mapping for launchers. */
extern const struct tool_option option_gap, option_launch, option_launch_dir, option_hosts, option_program;
/* Of measurements. */
extern const struct tool_option option_name, option_case_bytes;

#define SIZE_OF_A_COLLECTIVE                                                                                           \
    "as nccl-tests prints it: of the vector; of allgather, reduce-scatter, gather and scatter of all ranks' parts "    \
    "together; of alltoall of all that a rank sends"
#define ON_IS_MISSING "--on TOPOLOGY is missing (`hopcast topology --list` shows built-in ones)"
#define SCHEDULE_IS "SCHEDULE is a .hop, JSON or GOAL file, a Chakra trace, or - for standard input.\n"
#define SCHEDULE_IS_MISSING "a schedule is missing (a file, - or -e 'gpu0 -> gpu1 1MiB')"

#endif
