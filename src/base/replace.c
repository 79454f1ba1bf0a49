/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are there whole or not at all: see replace.h. */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

static void forget(struct hop_replacing *r)
{
    int why = errno;
    free(r->path);
    free(r->temporary);
    *r = (struct hop_replacing){.file = -1};
    errno = why;
}

/* Beside the file, for its owner alone until it is whole if that was there, else as any new file. */
static int create_temporary(struct hop_replacing *r)
{
    for (;;) {
        uint64_t random;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random ||
            asprintf(&r->temporary, "%s.%016" PRIx64 ".tmp", r->path, random) < 0) {
            r->temporary = NULL;
            return -1;
        }
        int file = open(r->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, r->mode ? 0600 : 0666);
        if (file >= 0 || errno != EEXIST)
            return file;
        free(r->temporary);
    }
}

bool hop_replacing_begin(struct hop_replacing *r, const char *path)
{
    struct stat there;
    bool exists = stat(path, &there) == 0;
    *r = (struct hop_replacing){
        .file = -1, .path = exists ? realpath(path, NULL) : strdup(path), .mode = exists ? there.st_mode & 0777 : 0};
    if (!path[0])
        errno = ENOENT;
    else if (r->path && exists && S_ISDIR(there.st_mode))
        errno = EISDIR;
    else if (r->path && exists && !S_ISREG(there.st_mode))
        r->file = open(r->path, O_WRONLY | O_CLOEXEC);
    else if (r->path)
        r->file = create_temporary(r);
    if (r->file < 0)
        forget(r);
    return r->file >= 0;
}

bool hop_can_replace(const char *path)
{
    struct hop_replacing r;
    struct stat there;
    if (stat(path, &there) == 0 && !S_ISREG(there.st_mode) && !S_ISDIR(there.st_mode))
        return access(path, W_OK) == 0; /* opening a pipe would wait for its reader */
    return hop_replacing_begin(&r, path) && (hop_replacing_end(&r, false), true);
}

/* That it has its new name, too, is on the disk then. What cannot be flushed, as some file systems' folders, is not. */
static void flush_folder(char *path)
{
    int folder = open(dirname(path), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder);
        (void)close(folder);
    }
}

bool hop_replacing_end(struct hop_replacing *r, bool whole)
{
    if (whole && r->temporary)
        whole = fsync(r->file) == 0 && (!r->mode || fchmod(r->file, r->mode) == 0);
    int why = errno;
    if (close(r->file) != 0 && whole) {
        whole = false;
        why = errno;
    }
    errno = why;
    if (whole && r->temporary)
        whole = rename(r->temporary, r->path) == 0;
    why = errno;
    if (!whole && r->temporary)
        (void)unlink(r->temporary);
    else if (r->temporary)
        flush_folder(r->path);
    errno = why;
    forget(r);
    return whole;
}

bool hop_replacing_write(struct hop_replacing *r, const char *text, size_t size)
{
    bool whole = true;
    for (size_t done = 0; done < size && whole;) {
        ssize_t wrote = write(r->file, text + done, size - done);
        whole = wrote >= 0 || errno == EINTR;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    return whole;
}

bool hop_replace_file(const char *path, const char *text)
{
    struct hop_replacing r;
    return hop_replacing_begin(&r, path) && hop_replacing_end(&r, hop_replacing_write(&r, text, strlen(text)));
}
