/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * An MPI that misbehaves: rank 0 of two, of which rank 1 does not exist. FAKE in the environment says how:
 *
 *     silent  sends never end, nothing arrives
 *     refuse  start fails
 *     alone   start says that there is one rank only
 *     broken  sends fail
 *     failed  looking for messages fails
 *     hang    looking for messages never returns
 *     stuck   start never returns
 */
#include "group/mpi.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#ifndef FAKE_VERSION
#define FAKE_VERSION HOP_MPI_VERSION
#endif
enum { REFUSED = 11, BROKEN = 12, FAILED = 13 };

static bool is(const char *mode)
{
    const char *fake = getenv("FAKE");
    return fake && strcmp(fake, mode) == 0;
}

static int start(int *rank, int *size)
{
    *rank = 0;
    while (is("stuck"))
        (void)sleep(1);
    *size = is("alone") ? 1 : 2;
    return is("refuse") ? REFUSED : 0;
}

static int send(int to, int tag, const void *bytes, size_t size_bytes, uint64_t *request)
{
    (void)to, (void)tag, (void)bytes, (void)size_bytes;
    *request = 1;
    return is("broken") ? BROKEN : 0;
}

static int probe(int tag, bool *arrived, struct hop_mpi_arrival *arrival)
{
    (void)tag, (void)arrival;
    *arrived = false;
    while (is("hang"))
        (void)sleep(1);
    return is("failed") ? FAILED : 0;
}

static int receive(const struct hop_mpi_arrival *arrival, void *bytes, uint64_t *request)
{
    (void)arrival, (void)bytes, (void)request;
    return FAILED;
}

static int test(uint64_t *request, bool *done)
{
    (void)request;
    *done = false;
    return 0;
}

static int finish(void)
{
    return 0;
}

static void describe(int error, char *text, size_t size)
{
    (void)snprintf(text, size, "fake error %d", error);
}

const void *hop_mpi_table(void)
{
    static const struct hop_mpi table = {FAKE_VERSION, start, send, probe, receive, test, finish, describe};
    return &table;
}
