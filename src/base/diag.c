/* SPDX-License-Identifier: BSD-3-Clause */
/* Status texts and diagnostics. */
#include "base/base.h"

#include <stdio.h>

#ifndef HOP_VERSION
#define HOP_VERSION "0.0.0"
#endif

const char *hop_version(void)
{
    return HOP_VERSION;
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

enum hop_status hop_fail(struct hop_diag *diag, enum hop_status status, const char *format, ...)
{
    if (diag) {
        va_list arguments;
        va_start(arguments, format);
        diag->status = status;
        diag->place[0] = diag->expected[0] = '\0';
        (void)vsnprintf(diag->what, sizeof diag->what, format, arguments);
        va_end(arguments);
    }
    return status;
}

void hop_diag_place(struct hop_diag *diag, const char *format, ...)
{
    if (diag) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(diag->place, sizeof diag->place, format, arguments);
        va_end(arguments);
    }
}

void hop_diag_expect(struct hop_diag *diag, const char *format, ...)
{
    if (diag) {
        va_list arguments;
        va_start(arguments, format);
        (void)vsnprintf(diag->expected, sizeof diag->expected, format, arguments);
        va_end(arguments);
    }
}

enum hop_status hop_fail_memory(struct hop_diag *diag)
{
    return hop_fail(diag, HOP_ERR_MEMORY, "out of memory");
}
