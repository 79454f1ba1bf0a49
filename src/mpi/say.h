/* SPDX-License-Identifier: BSD-3-Clause */
/* A line of libhopcast_mpi on standard error, written in one piece: other ranks write there, too. */
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
    (void)fprintf(stderr, "libhopcast_mpi.so: %s\n", line);
}

#endif
