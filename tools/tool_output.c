/* SPDX-License-Identifier: BSD-3-Clause */
/* Writing files, whole or not at all, and whether one can be written, told before what is to be in it has been worked
 * out. */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/replace.h"
#include "tool.h"

static bool cannot_write(const char *path)
{
    fprintf(stderr, "hopcast: cannot write %s%s%s: %s\n", path ? "'" : "to ", path ? path : "standard output",
            path ? "'" : "", strerror(errno));
    return false;
}

static bool is_standard(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

static bool try_write(const char *path, const char *text)
{
    if (is_standard(path))
        return (fputs(text, stdout) >= 0 && fflush(stdout) == 0) || cannot_write(NULL);
    return hop_replace_file(path, text) || cannot_write(path);
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

static bool write_file(void *context, const char *text, size_t size)
{
    return hop_replacing_write(context, text, size);
}

static bool write_standard(void *context, const char *text, size_t size)
{
    return (void)context, fwrite(text, 1, size, stdout) == size;
}

static bool try_write_schedule(const char *path, const struct hop_schedule *schedule)
{
    struct hop_replacing file;
    bool standard = is_standard(path);
    errno = ENOMEM; /* unless writing fails */
    bool fine = standard ? hop_schedule_write_text(schedule, write_standard, NULL) && fflush(stdout) == 0
                         : hop_replacing_begin(&file, path) &&
                               hop_replacing_end(&file, hop_schedule_write_text(schedule, write_file, &file));
    return fine || cannot_write(standard ? NULL : path);
}

void tool_write_schedule(const char *path, const struct hop_schedule *schedule)
{
    if (!try_write_schedule(path, schedule))
        tool_end(TOOL_BAD);
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
    bool written = try_write_schedule(path, copy);
    hop_schedule_destroy(copy);
    return written;
}

void tool_check_output(const char *path)
{
    if (path && strcmp(path, "-") != 0 && !hop_can_replace(path) && !cannot_write(path))
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
