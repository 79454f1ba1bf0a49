/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory without a name, of which nothing stays behind however its processes end: a file of /dev/shm that no folder
 * holds. Others find it as long as its maker has it open, by a text:
 *
 *     #<pid>.<file>.<inode>     /proc/<pid>/fd/<file> of its maker
 *
 * Processes that hopcast starts itself see each other in /proc. Those that others start may be in containers which share
 * /dev/shm alone, or may have given up what others need to look at them: they use names (shared.h).
 */
#ifndef HOP_BASE_UNNAMED_H
#define HOP_BASE_UNNAMED_H

#include <stdbool.h>
#include <stddef.h>

/* Whether this process and its children make their shared memory so from now on; returns what was before. */
bool hop_unnamed_use(bool use);
/* A new file, and its text; -1: memory needs a name. */
int hop_unnamed_create(char *text, size_t size);
bool hop_unnamed_is(const char *text);
/* -1: errno says why. */
int hop_unnamed_open(const char *text);
/* The file of this process that a text means; -1: it is another's. */
int hop_unnamed_own(const char *text);
/* The same file as none of the first three, which a program may have closed and prints to all the same. -1: errno says why. */
int hop_file_above_streams(int file);

#endif
