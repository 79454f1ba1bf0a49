/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Files that are there whole or not at all. What is written has no name until it is whole and on the disk, so that
 * nothing is left however the process ends; then it takes its place. Where another file had that, it is renamed over it
 * from a name beside, which nobody can know before; only SIGKILL in that moment leaves this name. A link stays, and the file
 * behind it is replaced or made; a device or a pipe is written to, never replaced.
 */
#ifndef HOP_BASE_REPLACE_H
#define HOP_BASE_REPLACE_H

#include <stdbool.h>
#include <sys/types.h>

struct hop_replacing {
    int file;       /* to write to */
    char *path;     /* where it takes its place; NULL: it is written to itself */
    mode_t mode;    /* of the file that was there; 0: none was */
    bool in_memory; /* the file system has no files without a name */
};

/* False: it cannot be written, errno says why, and there is nothing to end. */
bool hop_replacing_begin(struct hop_replacing *r, const char *path);
/* False: errno says why. */
bool hop_replacing_write(struct hop_replacing *r, const char *text, size_t size);
/* whole: puts it into its place; else it is dropped. False: what was there before still is, errno says why. */
bool hop_replacing_end(struct hop_replacing *r, bool whole);
/* The whole of a text at once. */
bool hop_replace_file(const char *path, const char *text);
/* Whether it could be written by now; nothing is. */
bool hop_can_replace(const char *path);

#endif
