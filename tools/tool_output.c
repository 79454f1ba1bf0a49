/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing files, whole or not at all, and whether one can be written, told before what is to be in it has been worked
 * out. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

/* Where a file is written to. A link stays, the file behind it is replaced by a new one; a device or a pipe is written
 * to, never replaced. */
struct target {
    char *path, *temporary; /* temporary NULL: it is written to itself */
    mode_t mode;            /* 0: there is none yet */
};

static void finish(struct target *t)
{
    int why = errno;
    free(t->path);
    free(t->temporary);
    errno = why;
}

/* False: not a place for a file, errno says why. */
static bool find_target(const char *path, struct target *t)
{
    struct stat there;
    bool exists = stat(path, &there) == 0;
    *t = (struct target){.path = exists ? realpath(path, NULL) : strdup(path),
                         .mode = exists ? there.st_mode & 0777 : 0};
    if (exists && S_ISDIR(there.st_mode))
        errno = EISDIR;
    else if (t->path && (!exists || S_ISREG(there.st_mode)) &&
             asprintf(&t->temporary, "%s.%ld.tmp", t->path, (long)getpid()) < 0)
        t->temporary = NULL;
    return t->path &&
           (exists ? !S_ISDIR(there.st_mode) && (t->temporary || !S_ISREG(there.st_mode)) : t->temporary != NULL);
}

static bool cannot_write(const char *path)
{
    fprintf(stderr, "hopcast: cannot write %s%s%s: %s\n", path ? "'" : "to ", path ? path : "standard output",
            path ? "'" : "", strerror(errno));
    return false;
}

static bool write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "wb");
    bool written = file && fputs(text, file) >= 0;
    if (file)
        written = fclose(file) == 0 && written;
    return written;
}

static bool replace(const struct target *t, const char *text)
{
    bool written = write_file(t->temporary, text) && (!t->mode || chmod(t->temporary, t->mode) == 0) &&
                   rename(t->temporary, t->path) == 0;
    int why = errno;
    if (!written)
        (void)remove(t->temporary);
    errno = why;
    return written;
}

static bool try_write(const char *path, const char *text)
{
    struct target t;
    if (!path || strcmp(path, "-") == 0)
        return (fputs(text, stdout) >= 0 && fflush(stdout) == 0) || cannot_write(NULL);
    bool written = find_target(path, &t) && (t.temporary ? replace(&t, text) : write_file(t.path, text));
    finish(&t);
    return written || cannot_write(path);
}

void tool_write(const char *path, const char *text)
{
    if (!try_write(path, text))
        tool_end(TOOL_BAD);
}

void tool_write_text(const char *path, char *text)
{
    tool_write(path, tool_have(text));
    free(text);
}

bool tool_write_remarked(const char *path, const struct hop_schedule *schedule, const char *remark, const char *second)
{
    struct hop_schedule *copy;
    char *text = tool_have(hop_schedule_to_text(schedule));
    tool_try(hop_schedule_parse(hop_schedule_name(schedule), text, strlen(text), &copy, &tool_diag));
    free(text);
    hop_schedule_add_comment(copy, "%s", remark);
    if (second)
        hop_schedule_add_comment(copy, "%s", second);
    text = tool_have(hop_schedule_to_text(copy));
    hop_schedule_destroy(copy);
    bool written = try_write(path, text);
    free(text);
    return written;
}

/* As it would be replaced: whether its folder takes a new file is tried. */
static bool takes_files(const struct target *t)
{
    int made = open(t->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (made < 0)
        return false;
    (void)close(made);
    (void)remove(t->temporary);
    return true;
}

void tool_check_output(const char *path)
{
    struct target t;
    if (!path || strcmp(path, "-") == 0)
        return;
    bool fine = find_target(path, &t) && (t.temporary ? takes_files(&t) : access(t.path, W_OK) == 0);
    finish(&t);
    if (!fine && !cannot_write(path))
        tool_end(TOOL_BAD);
}

void tool_make_directory(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return;
    fprintf(stderr, "hopcast: %s: %s\n  expected: a directory, or the name of a new one\n", path, strerror(errno));
    tool_end(TOOL_BAD);
}

int tool_finish(int status)
{
    status = tool_memory_verdict(status);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == TOOL_OK && !cannot_write(NULL))
        status = TOOL_BAD;
    return status;
}
