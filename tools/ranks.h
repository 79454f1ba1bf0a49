/* SPDX-License-Identifier: BSD-3-Clause */
/* What subcommands that mpirun starts share: the group of processes, and being told to stop. */
#ifndef HOP_TOOL_RANKS_H
#define HOP_TOOL_RANKS_H

#include <signal.h>

#include "hopcast/group.h"
#include "hopcast/placement.h"
#include "tool.h"

/* Set by SIGINT and SIGTERM. */
extern volatile sig_atomic_t ranks_stop;
/* Lets them set it; a second Ctrl-C ends the program at once. Before, while input is read and schedules are made, of
 * which nothing would be left, either signal ends it as it ends any program. */
void ranks_catch(void);

/* Joins the group that mpirun started, or makes one of this process alone. The command's end leaves
 * it. */
struct hop_group *ranks_join(void);
/* The same where the ranks look after each other themselves, and lose who is silent for timeout_s (0: 10 s): they know
 * more, and come first; the group waits a little longer. */
struct hop_group *ranks_join_within(double timeout_s);
/* The command's end leaves this group (NULL: none), and does nothing else. */
void ranks_end_with(struct hop_group *group);
/* Leaves it; does not return where MPI cannot end well. For a function of tool_at_end. */
int ranks_end(struct hop_group *group, int status);

/* Of subcommands whose ranks share one input (ranks_input.c): NULL where there is none. */
struct ranks_input {
    struct hop_topology *topology;
    struct hop_schedule *schedule;
    struct hop_placement *placement;
};
/* Rank 0 reads it: what fails from here on is told to the others, which have nothing to do then. */
void ranks_read(struct hop_group *group);
/* It has, and sends it to all. What fails from here on ends as that of a group. */
void ranks_send_input(struct hop_group *group, const struct ranks_input *input);
/* The others receive it; false: there is nothing to do. */
bool ranks_receive_input(struct hop_group *group, struct ranks_input *input);
/* Says behind the answer that a rank was lost. Returns the exit status. */
int ranks_lost(struct hop_group *group, int rank);

/* For subcommands that start ranks of their own, of which each process of mpirun would start some: returns in a process
 * that works by itself; else refuses, rank 0 with a message. */
void ranks_alone(const struct tool_command *command);

#endif
