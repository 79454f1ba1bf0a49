/* SPDX-License-Identifier: BSD-3-Clause */
#include "mpi/completions.h"

#include "base/base.h"

static void want_statuses(struct hop_completions *c, const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row,
                          char letter, uintptr_t ignore, uint32_t count)
{
    uintptr_t *at = (uintptr_t *)hop_role(row, c->words, letter);
    if (at && *at == ignore && hop_grow(&c->statuses, &c->status_room, count + 1, mpi->status_size))
        *at = (uintptr_t)c->statuses;
}

static void keep_handles(struct hop_completions *c, const struct hop_mpi_shim *mpi, const struct hop_mpi_row *row)
{
    const uintptr_t *one = hop_role(row, c->words, 'W'), *length = hop_role(row, c->words, 'l');
    const uintptr_t *requests = one ? one : hop_role(row, c->words, 'R');
    int count = one ? 1 : length ? (int)*length : 0;
    c->handle_count = 0;
    if (count <= 0 || !requests || !hop_grow(&c->handles, &c->handle_room, (uint32_t)count, sizeof *c->handles))
        return;
    for (int i = 0; i < count; i++)
        c->handles[c->handle_count++] = mpi->request_at(*requests, i);
}

const uintptr_t *hop_completions_enter(struct hop_completions *c, const struct hop_mpi_shim *mpi,
                                       const struct hop_mpi_row *row, const uintptr_t *arguments)
{
    memcpy(c->words, arguments, strlen(row->roles) * sizeof *arguments);
    if (row->kind == KIND_COMPLETE)
        keep_handles(c, mpi, row);
    want_statuses(c, mpi, row, 'S', mpi->status_ignore, 1);
    want_statuses(c, mpi, row, 'A', mpi->statuses_ignore, c->handle_count);
    return c->words;
}

/* What came out at a role. */
static int out(const struct hop_mpi_row *row, const uintptr_t *arguments, char letter, int otherwise)
{
    const uintptr_t *at = hop_role(row, arguments, letter);
    return at ? *(const int *)*at : otherwise;
}

bool hop_completions_each(const struct hop_completions *c, const struct hop_mpi_row *row, const uintptr_t *a,
                          hop_completion *ended)
{
    const uintptr_t *one = hop_role(row, a, 'S'), *all = hop_role(row, a, 'A'), *index = hop_role(row, a, 'I');
    const void *statuses = (const void *)(one ? *one : all ? *all : 0);
    int number = out(row, a, 'O', index ? 1 : (int)c->handle_count);
    if (!out(row, a, 'F', 1) || (hop_role(row, a, 'O') && number == 0))
        return false;
    for (int i = 0; i < number; i++) { /* a number that is not defined is negative */
        int at = index ? ((const int *)*index)[i] : i;
        if (at >= 0 && (uint32_t)at < c->handle_count)
            ended(c->handles[at], statuses, i);
    }
    return true;
}
