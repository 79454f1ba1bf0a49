/* SPDX-License-Identifier: BSD-3-Clause */
/* A line of libhopcast_mpi on standard error, written in one piece, as other ranks write there, too, and fit to be shown,
 * whatever it quotes. */
#ifndef HOP_MPI_SAY_H
#define HOP_MPI_SAY_H

#include <stdarg.h>
#include <stdio.h>

#include "base/base.h"
#include "mpi/mpi_engine.h"

static inline void hop_mpi_say(const char *format, va_list arguments) HOP_PRINTF(1, 0);
static inline void hop_mpi_say(const char *format, va_list arguments)
{
    char line[4096 + HOP_MPI_ASKED_SIZE];
    (void)vsnprintf(line, sizeof line, format, arguments);
    char *second = strstr(line, "\n  expected: ");
    if (second)
        *second++ = '\0';
    (void)fprintf(stderr, "libhopcast_mpi.so: %s%s%s\n", hop_text_quote(line), second ? "\n" : "",
                  second ? hop_text_quote(second) : "");
}

static inline void hop_mpi_tell(const char *format, ...) HOP_PRINTF(1, 2);
static inline void hop_mpi_tell(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    hop_mpi_say(format, arguments);
    va_end(arguments);
}

#endif
