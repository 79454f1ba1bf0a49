/* SPDX-License-Identifier: BSD-3-Clause */
/* Signals that end the process, as a launcher sends them when another rank has failed or the user gives up: what it had
 * counted is written before it goes. */
#ifndef HOP_MPI_KILLED_H
#define HOP_MPI_KILLED_H

/* From now on, where the program has no handler of its own; if it gets one later, that is in force. */
void hop_killed_begin(void (*write)(const char *why));
void hop_killed_end(void);

#endif
