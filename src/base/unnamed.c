/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory without a name: see unnamed.h. */
#include "base/unnamed.h"

#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

static atomic_bool used;

struct number {
    long pid;
    int file;
    unsigned long inode;
};

static bool read_number(const char *text, struct number *number)
{
    return sscanf(text, "#%ld.%d.%lu", &number->pid, &number->file, &number->inode) == 3;
}

bool hop_unnamed_use(bool use)
{
    return atomic_exchange(&used, use);
}

bool hop_unnamed_is(const char *text)
{
    struct number number;
    return read_number(text, &number);
}

int hop_unnamed_own(const char *text)
{
    struct number number;
    return read_number(text, &number) && number.pid == (long)getpid() ? number.file : -1;
}

int hop_unnamed_open(const char *text)
{
    char path[64];
    struct number number;
    struct stat info;
    if (!read_number(text, &number)) {
        errno = EINVAL;
        return -1;
    }
    (void)snprintf(path, sizeof path, "/proc/%ld/fd/%d", number.pid, number.file);
    int file = open(path, O_RDWR | O_CLOEXEC | O_NONBLOCK);
    if (file < 0 || (fstat(file, &info) == 0 && info.st_ino == number.inode && info.st_nlink == 0))
        return file;
    (void)close(file); /* the number is another file's by now */
    errno = ENOENT;
    return -1;
}

int hop_file_above_streams(int file)
{
    if (file < 0 || file > STDERR_FILENO)
        return file;
    int higher = fcntl(file, F_DUPFD_CLOEXEC, STDERR_FILENO + 1), error = errno;
    (void)close(file);
    errno = error;
    return higher;
}

/* Whoever may not be looked at (prctl(2), PR_SET_DUMPABLE) keeps its files to itself. */
int hop_unnamed_create(char *text, size_t size)
{
    struct stat info;
    bool seen = atomic_load(&used) && prctl(PR_GET_DUMPABLE) == 1;
    int file = seen ? hop_file_above_streams(open("/dev/shm", O_TMPFILE | O_RDWR | O_CLOEXEC, 0600)) : -1;
    if (file < 0 || fstat(file, &info) != 0)
        return -1;
    (void)snprintf(text, size, "#%ld.%d.%lu", (long)getpid(), file, (unsigned long)info.st_ino);
    int again = hop_unnamed_open(text);
    (void)close(again < 0 ? file : again);
    return again < 0 ? -1 : file;
}
