/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Writing files, and whether one can be written, told before what is to be in it has been worked out. Files are written
 * as the command goes, and take their places together when it ends well: a command that fails leaves none.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/replace.h"
#include "tool.h"

enum { TOGETHER = 64 }; /* files that are open at once */

/* ---- the streams ---- */

static volatile sig_atomic_t broken_pipe;
static bool reader_left; /* of standard output */

static void on_broken_pipe(int number)
{
    (void)number;
    broken_pipe = 1;
}

static void on_size_limit(int number)
{
    (void)number; /* the call that exceeded it fails */
}

/* A handler, since a program that the command starts has the signal's own action again. */
static void catch_unless_ignored(int number, void (*handler)(int))
{
    struct sigaction was;
    const struct sigaction action = {.sa_handler = handler, .sa_flags = SA_RESTART};
    if (sigaction(number, NULL, &was) == 0 && was.sa_handler == SIG_DFL)
        (void)sigaction(number, &action, NULL);
}

void tool_watch_streams(void)
{
    /* A stream that was closed is none that a file which is opened could become; using it fails all the same. */
    for (int file = STDIN_FILENO; file <= STDERR_FILENO; file++) {
        if (fcntl(file, F_GETFD) < 0)
            (void)open("/dev/null", (file == STDIN_FILENO ? O_WRONLY : O_RDONLY) | O_CLOEXEC);
    }
    catch_unless_ignored(SIGPIPE, on_broken_pipe);
    catch_unless_ignored(SIGXFSZ, on_size_limit);
}

void tool_cannot_write(const char *path)
{
    reader_left = reader_left || (!path && broken_pipe);
    if (path || !reader_left)
        tool_warn("cannot write %s%s%s: %s", path ? "'" : "to ", path ? path : "standard output", path ? "'" : "",
                  strerror(errno));
}

static _Noreturn void end_unwritten(const char *path)
{
    tool_cannot_write(path);
    tool_end(reader_left ? TOOL_OK : TOOL_BAD);
}

/* ---- files ---- */

static struct output {
    struct hop_replacing replacing;
    const char *path;
} * outputs;
static size_t output_count;

static bool is_standard(const char *path)
{
    return !path || strcmp(path, "-") == 0;
}

/* They take their places, or (whole: false) are dropped. False: it said why not. */
static bool end_outputs(bool whole)
{
    bool fine = true;
    for (size_t i = 0; i < output_count; i++) {
        if (!hop_replacing_end(&outputs[i].replacing, whole) && whole) {
            tool_cannot_write(outputs[i].path);
            fine = false;
        }
    }
    output_count = 0;
    return fine;
}

static struct hop_replacing *begin_output(const char *path)
{
    if (output_count == TOGETHER && !end_outputs(true))
        tool_end(TOOL_BAD);
    TOOL_GROW(outputs, output_count + 1);
    struct output *output = &outputs[output_count];
    output->path = tool_text("%s", path);
    if (!hop_replacing_begin(&output->replacing, path))
        end_unwritten(path);
    output_count++;
    return &output->replacing;
}

void tool_write(const char *path, const char *text)
{
    if (is_standard(path) ? fputs(text, tool_plain_output()) < 0 || fflush(tool_plain_output()) != 0
                          : !hop_replacing_write(begin_output(path), text, strlen(text)))
        end_unwritten(is_standard(path) ? NULL : path);
}

void tool_show_text(const char *path, char *text)
{
    if (is_standard(path))
        tool_print(stdout, text);
    else
        tool_write_text(path, text);
}

void tool_write_text(const char *path, char *text)
{
    tool_write(path, tool_have(text));
}

static bool write_file(void *context, const char *text, size_t size)
{
    return hop_replacing_write(context, text, size);
}

static bool write_standard(void *context, const char *text, size_t size)
{
    return (void)context, fwrite(text, 1, size, tool_plain_output()) == size;
}

void tool_write_schedule(const char *path, const struct hop_schedule *schedule)
{
    struct hop_replacing *file = is_standard(path) ? NULL : begin_output(path);
    errno = ENOMEM; /* unless writing fails */
    if (!hop_schedule_write_text(schedule, file ? write_file : write_standard, file) ||
        (!file && fflush(tool_plain_output()) != 0))
        end_unwritten(file ? path : NULL);
}

static struct hop_schedule *remarked(const struct hop_schedule *schedule, const char *remark, const char *second)
{
    struct hop_schedule *copy;
    char *text = tool_have(hop_schedule_to_text(schedule));
    tool_try(hop_schedule_parse(hop_schedule_name(schedule), text, strlen(text), &copy, &tool_diag));
    free(text);
    hop_schedule_add_comment(copy, "%s", remark);
    if (second)
        hop_schedule_add_comment(copy, "%s", second);
    tool_try(hop_schedule_failure(copy, &tool_diag));
    return copy;
}

void tool_write_remarked(const char *path, const struct hop_schedule *schedule, const char *remark, const char *second)
{
    struct hop_schedule *copy = remarked(schedule, remark, second);
    tool_write_schedule(path, copy);
    hop_schedule_destroy(copy);
}

bool tool_keep_remarked(const char *path, const struct hop_schedule *schedule, const char *remark)
{
    struct hop_replacing file;
    struct hop_schedule *copy = remarked(schedule, remark, NULL);
    bool standard = is_standard(path);
    errno = ENOMEM; /* unless writing fails */
    bool fine = standard ? hop_schedule_write_text(copy, write_standard, NULL) && fflush(tool_plain_output()) == 0
                         : hop_replacing_begin(&file, path) &&
                               hop_replacing_end(&file, hop_schedule_write_text(copy, write_file, &file));
    if (!fine)
        tool_cannot_write(standard ? NULL : path);
    hop_schedule_destroy(copy);
    return fine;
}

void tool_check_output(const char *path)
{
    if (!is_standard(path) && !hop_can_replace(path))
        end_unwritten(path);
}

void tool_make_directory(const char *path)
{
    if (mkdir(path, 0777) == 0 || errno == EEXIST)
        return;
    tool_try_at(hop_fail(&tool_diag, HOP_ERR_IO, "%s\na directory, or the name of a new one", strerror(errno)), "%s",
                path);
}

int tool_finish(int status)
{
    status = tool_memory_verdict(status);
    (void)tool_plain_output(); /* a line that has no end, too */
    if ((fflush(stdout) != 0 || ferror(stdout)) && status != TOOL_BAD) {
        tool_cannot_write(NULL);
        status = reader_left ? status : TOOL_BAD;
    }
    if (!end_outputs(status != TOOL_BAD))
        status = TOOL_BAD;
    if (reader_left) { /* as it ends any program */
        (void)signal(SIGPIPE, SIG_DFL);
        (void)raise(SIGPIPE);
    }
    return status;
}
