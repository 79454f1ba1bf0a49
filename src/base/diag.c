/* SPDX-License-Identifier: BSD-3-Clause */
/* Status texts and diagnostics. */
#include "base/base.h"

#include <errno.h>
#include <stdio.h>

#define TEXT_OF(number) #number
#define VERSION_TEXT(major, minor, patch) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(patch)

const char *hop_version(void)
{
    return VERSION_TEXT(HOP_VERSION_MAJOR, HOP_VERSION_MINOR, HOP_VERSION_PATCH);
}

const char *hop_status_text(enum hop_status status)
{
    switch (status) {
#define HOP_STATUS_TEXT(code, text)                                                                                    \
    case code:                                                                                                         \
        return text;
        HOP_STATUS_LIST(HOP_STATUS_TEXT)
#undef HOP_STATUS_TEXT
    }
    return "unknown status";
}

/* How long the text is that the part of a format before `end` becomes; what the rest takes stays unread. */
static size_t part_length(const char *format, const char *end, va_list arguments)
{
    char part[512];
    (void)snprintf(part, sizeof part, "%.*s", (int)(end - format), format);
    int length = vsnprintf(NULL, 0, part, arguments);
    return length > 0 ? (size_t)length : 0;
}

/* Parts of inputs stand in diagnostics: each text of one is made here. */
static void HOP_PRINTF(3, 0) fill(char *text, size_t size, const char *format, va_list arguments)
{
    (void)vsnprintf(text, size, format, arguments);
    (void)hop_text_quote(text);
}

enum hop_status hop_fail_with(struct hop_diag *diag, enum hop_status status, const char *format, va_list arguments)
{
    char text[sizeof diag->what + sizeof diag->expected] = "";
    const char *feed = strchr(format, '\n');
    size_t what = sizeof text;
    va_list again;
    if (!diag)
        return status;
    va_copy(again, arguments);
    if (feed)
        what = part_length(format, feed, again);
    va_end(again);
    (void)vsnprintf(text, sizeof text, format, arguments);
    diag->status = status;
    diag->place[0] = diag->expected[0] = '\0';
    (void)snprintf(diag->what, sizeof diag->what, "%.*s",
                   (int)(what < sizeof diag->what ? what : sizeof diag->what - 1), text);
    if (what < strlen(text))
        (void)snprintf(diag->expected, sizeof diag->expected, "%s", text + what + 1);
    (void)hop_text_quote(diag->what);
    (void)hop_text_quote(diag->expected);
    return status;
}

enum hop_status hop_fail(struct hop_diag *diag, enum hop_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)hop_fail_with(diag, status, format, arguments);
    va_end(arguments);
    return status;
}

void hop_failure_set(struct hop_failure *failure, enum hop_status status, const char *format, ...)
{
    va_list arguments;
    if (failure->status != HOP_OK)
        return;
    va_start(arguments, format);
    failure->status = hop_fail_with(failure->diag, status, format, arguments);
    va_end(arguments);
}

void hop_failure_place(struct hop_failure *failure, const char *format, ...)
{
    va_list arguments;
    struct hop_diag *diag = failure->diag;
    if (failure->status == HOP_OK || failure->status == HOP_ERR_MEMORY || !diag || diag->place[0])
        return;
    va_start(arguments, format);
    fill(diag->place, sizeof diag->place, format, arguments);
    va_end(arguments);
}

bool hop_failure_none(struct hop_failure *failure, bool room)
{
    if (!room)
        hop_failure_set(failure, HOP_ERR_MEMORY, "out of memory");
    return failure->status == HOP_OK;
}

void hop_diag_place(struct hop_diag *diag, const char *format, ...)
{
    if (diag) {
        va_list arguments;
        va_start(arguments, format);
        fill(diag->place, sizeof diag->place, format, arguments);
        va_end(arguments);
    }
}

void hop_diag_expect(struct hop_diag *diag, const char *format, ...)
{
    if (diag) {
        va_list arguments;
        va_start(arguments, format);
        fill(diag->expected, sizeof diag->expected, format, arguments);
        va_end(arguments);
    }
}

enum hop_status hop_fail_memory(struct hop_diag *diag)
{
    return hop_fail(diag, HOP_ERR_MEMORY, "out of memory");
}

enum hop_status hop_status_of_error(int error)
{
    return error == ENOMEM ? HOP_ERR_MEMORY : HOP_ERR_IO;
}
