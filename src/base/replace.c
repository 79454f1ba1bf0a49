/* SPDX-License-Identifier: BSD-3-Clause */
/* Files that are there whole or not at all: see replace.h. */
#include "base/replace.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/limit.h"

static void forget(struct hop_replacing *r)
{
    int why = errno;
    free(r->path);
    *r = (struct hop_replacing){.file = -1};
    errno = why;
}

/* Its name among those that every process has for its own files; where they are not shown, none can be linked. */
static const char *own_name(int file, char name[32])
{
    (void)snprintf(name, 32, "/proc/self/fd/%d", file);
    return name;
}

/* For its owner alone until it is whole if the file was there, else as any new file. A file system that has no files
 * without a name gets its file in the end; until then the text is kept in memory. */
static int create_unnamed(struct hop_replacing *r)
{
    char name[32], *copy = strdup(r->path);
    if (!copy)
        return -1;
    const char *folder = dirname(copy);
    int file = open(folder, O_TMPFILE | O_WRONLY | O_CLOEXEC, r->mode ? 0600 : 0666);
    r->in_memory = file < 0 ? errno == EOPNOTSUPP || errno == EISDIR : access(own_name(file, name), F_OK) != 0;
    if (r->in_memory) {
        if (file >= 0)
            (void)close(file);
        file = access(folder, W_OK | X_OK) == 0 ? memfd_create("hopcast", MFD_CLOEXEC) : -1;
    }
    free(copy);
    return file;
}

/* The path behind links, of which the last one may lead to what is not there yet. NULL: errno says why. */
static char *follow(const char *path)
{
    struct stat info;
    char *at = strdup(path), to[PATH_MAX];
    while (at && lstat(at, &info) == 0 && S_ISLNK(info.st_mode)) {
        ssize_t length = readlink(at, to, sizeof to - 1);
        char *next = NULL;
        if (length >= 0) {
            to[length] = '\0';
            if (to[0] == '/' ? !(next = strdup(to)) : asprintf(&next, "%s/%s", dirname(at), to) < 0)
                next = NULL;
        }
        free(at);
        at = next;
    }
    if (!at || at[strlen(at) - 1] != '/')
        return at;
    free(at);
    errno = EISDIR;
    return NULL;
}

bool hop_replacing_begin(struct hop_replacing *r, const char *path)
{
    struct stat there;
    bool exists = stat(path, &there) == 0;
    *r = (struct hop_replacing){.file = -1, .mode = exists ? S_IFREG | (there.st_mode & 0777) : 0};
    if (exists && S_ISDIR(there.st_mode))
        errno = EISDIR;
    else if (exists && !S_ISREG(there.st_mode))
        r->file = open(path, O_WRONLY | O_CLOEXEC);
    else if (exists || (path[0] && errno == ENOENT))
        r->path = exists ? realpath(path, NULL) : follow(path);
    if (r->path)
        r->file = create_unnamed(r);
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

static bool finish_file(const struct hop_replacing *r, int file)
{
    return (!r->mode || fchmod(file, r->mode & 0777) == 0) && fsync(file) == 0;
}

static bool copy_from_memory(const struct hop_replacing *r, const char *name)
{
    int to = open(name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, r->mode ? 0600 : 0666);
    off_t size = lseek(r->file, 0, SEEK_END), done = 0;
    bool fine = to >= 0;
    while (fine && done < size)
        fine = sendfile(to, r->file, &done, (size_t)(size - done)) > 0;
    fine = fine && finish_file(r, to);
    int why = errno;
    if (to >= 0 && close(to) != 0 && fine) {
        fine = false;
        why = errno;
    }
    if (to >= 0 && !fine)
        (void)unlink(name);
    errno = why;
    return fine;
}

static bool give_name(const struct hop_replacing *r, const char *name)
{
    char own[32];
    return r->in_memory ? copy_from_memory(r, name)
                        : linkat(AT_FDCWD, own_name(r->file, own), AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

/* No call puts a file without a name into the place of another one: that takes a name beside it, for a moment. */
static bool replace_there(const struct hop_replacing *r)
{
    for (;;) {
        uint64_t random;
        char *temporary;
        if (getrandom(&random, sizeof random, 0) != (ssize_t)sizeof random ||
            asprintf(&temporary, "%s.%016" PRIx64 ".tmp", r->path, random) < 0)
            return false;
        bool named = give_name(r, temporary), whole = named && rename(temporary, r->path) == 0;
        int why = errno;
        if (named && !whole)
            (void)unlink(temporary);
        free(temporary);
        errno = why;
        if (named || why != EEXIST)
            return whole;
    }
}

/* No signal that may end the process comes between a name and the next. */
static bool take_place(const struct hop_replacing *r)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    bool fresh = !r->mode && !r->in_memory && give_name(r, r->path);
    bool whole = fresh || ((r->mode || r->in_memory || errno == EEXIST) && replace_there(r));
    int why = errno;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    errno = why;
    return whole;
}

bool hop_replacing_end(struct hop_replacing *r, bool whole)
{
    struct hop_limit limit;
    hop_limit_hold(&limit);
    if (whole && r->path)
        whole = (r->in_memory || finish_file(r, r->file)) && take_place(r);
    int why = errno;
    if (close(r->file) != 0 && whole && !r->path) {
        whole = false;
        why = errno;
    }
    if (whole && r->path)
        flush_folder(r->path);
    hop_limit_release(&limit);
    errno = why;
    forget(r);
    return whole;
}

bool hop_replacing_write(struct hop_replacing *r, const char *text, size_t size)
{
    struct hop_limit limit;
    bool whole = true;
    hop_limit_hold(&limit);
    for (size_t done = 0; done < size && whole;) {
        ssize_t wrote = write(r->file, text + done, size - done);
        whole = wrote >= 0 || errno == EINTR;
        done += wrote > 0 ? (size_t)wrote : 0;
    }
    hop_limit_release(&limit);
    return whole;
}

bool hop_replace_file(const char *path, const char *text)
{
    struct hop_replacing r;
    return hop_replacing_begin(&r, path) && hop_replacing_end(&r, hop_replacing_write(&r, text, strlen(text)));
}
