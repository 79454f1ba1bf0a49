/* SPDX-License-Identifier: BSD-3-Clause */
/* Whether a file can be written, told before what is to be in it has been worked out. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tool.h"

/* tool_write makes a new file beside the old one; so whether the folder takes one is tried in the same way. */
static bool takes_files(const char *path)
{
    size_t length = strlen(path) + 32;
    char *temporary = malloc(length);
    if (!temporary)
        return false;
    (void)snprintf(temporary, length, "%s.%ld.tmp", path, (long)getpid());
    int made = open(temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600), why = errno;
    if (made >= 0) {
        (void)close(made);
        (void)remove(temporary);
    }
    free(temporary);
    errno = why;
    return made >= 0;
}

int tool_check_output(const char *path)
{
    struct stat there;
    bool fine;
    if (!path || strcmp(path, "-") == 0)
        return TOOL_OK;
    bool exists = stat(path, &there) == 0;
    if (exists && S_ISDIR(there.st_mode)) {
        fine = false;
        errno = EISDIR;
    } else if (exists && !S_ISREG(there.st_mode)) { /* a device or a pipe is written to, never replaced */
        fine = access(path, W_OK) == 0;
    } else {
        char *target = exists ? realpath(path, NULL) : NULL;
        fine = takes_files(target ? target : path);
        int why = errno;
        free(target);
        errno = why;
    }
    if (fine)
        return TOOL_OK;
    fprintf(stderr, "hopcast: cannot write '%s': %s\n", path, strerror(errno));
    return TOOL_BAD;
}
