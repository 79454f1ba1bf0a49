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

static int cannot_write(const char *path)
{
    fprintf(stderr, "hopcast: cannot write '%s': %s\n", path, strerror(errno));
    return TOOL_BAD;
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

int tool_write(const char *path, const char *text)
{
    struct target t;
    if (!path || strcmp(path, "-") == 0) {
        if (fputs(text, stdout) >= 0 && fflush(stdout) == 0)
            return TOOL_OK;
        fprintf(stderr, "hopcast: cannot write to standard output: %s\n", strerror(errno));
        return TOOL_BAD;
    }
    bool written = find_target(path, &t) && (t.temporary ? replace(&t, text) : write_file(t.path, text));
    finish(&t);
    return written ? TOOL_OK : cannot_write(path);
}

int tool_write_text(const char *path, char *text)
{
    int status = text ? tool_write(path, text) : tool_out_of_memory();
    free(text);
    return status;
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

int tool_check_output(const char *path)
{
    struct target t;
    if (!path || strcmp(path, "-") == 0)
        return TOOL_OK;
    bool fine = find_target(path, &t) && (t.temporary ? takes_files(&t) : access(t.path, W_OK) == 0);
    finish(&t);
    return fine ? TOOL_OK : cannot_write(path);
}

int tool_finish(int status)
{
    status = tool_memory_verdict(status == TOOL_HELP ? TOOL_OK : status);
    if ((fflush(stdout) != 0 || ferror(stdout)) && status == TOOL_OK) {
        fprintf(stderr, "hopcast: cannot write to standard output: %s\n", strerror(errno));
        status = TOOL_BAD;
    }
    return status;
}
