/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Record: what the ranks of a program put, wait for and compute, as a schedule.
 *
 * A rank's work follows its earlier work and all that it has waited for; a put follows the work before it and what
 * was waited for since. The k-th put from one rank to another is the k-th that this one waits for. Each rank writes
 * its lines to a file of its own, which rank 0 puts together: all are on one machine.
 */
#include "link.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64, PATH_BYTES = 4096, LINE_BYTES = 4096 };
enum { COPY_US = 10 }; /* that a call of a copy out of a GPU takes besides (Ammendola et al. 2013, section 5) */

static struct {
    const char *path, *p2p;
    FILE *file;             /* NULL: nothing is noted */
    uint64_t *put, *waited; /* of each rank */
    uint64_t works;
    char (*after)[NAME_BYTES]; /* what the next line waits for */
    size_t after_count, after_capacity;
} r;

static void path_of(int rank, char path[PATH_BYTES])
{
    if (snprintf(path, PATH_BYTES, "%s.%d", r.path, rank) >= PATH_BYTES)
        link_fail(r.path, "is too long");
}

void link_record_begin(const char *path, const char *p2p)
{
    char own[PATH_BYTES];
    const size_t size = (size_t)link_size();
    r.path = path;
    r.p2p = p2p;
    path_of(link_rank(), own);
    r.put = calloc(size, sizeof *r.put);
    r.waited = calloc(size, sizeof *r.waited);
    r.file = fopen(own, "w");
    if (!r.put || !r.waited || !r.file)
        link_fail(own, "cannot be written");
}

static void follow(const char *name)
{
    if (r.after_count == r.after_capacity) {
        r.after_capacity = r.after_capacity ? 2 * r.after_capacity : 16;
        r.after = realloc(r.after, r.after_capacity * sizeof *r.after);
        if (!r.after)
            link_fail("out of memory", "");
    }
    (void)snprintf(r.after[r.after_count++], NAME_BYTES, "%s", name);
}

static void end_line(void)
{
    for (size_t i = 0; i < r.after_count; i++)
        (void)fprintf(r.file, "%s %s", i ? "," : " after", r.after[i]);
    (void)fputc('\n', r.file);
}

void link_record_work(double seconds)
{
    char name[NAME_BYTES];
    if (!r.file)
        return;
    (void)snprintf(name, sizeof name, "w%d.%llu", link_rank(), (unsigned long long)r.works++);
    (void)fprintf(r.file, "%s: work gpu%d %.3fns", name, link_rank(), seconds * 1e9);
    end_line();
    r.after_count = 0;
    follow(name);
}

static void name_put(char name[NAME_BYTES], int from, int to, uint64_t number)
{
    (void)snprintf(name, NAME_BYTES, "p%d.%d.%llu", from, to, (unsigned long long)number);
}

/* The steps before the last one, which has the name. */
void link_record_put(int to, size_t bytes)
{
    char name[NAME_BYTES];
    const int me = link_rank();
    if (!r.file)
        return;
    if (r.after_count > 1)
        link_record_work(0);
    name_put(name, me, to, r.put[to]++);
    if (to == me || strcmp(r.p2p, "on") == 0) {
        if (to == me) /* it stays where it is */
            (void)fprintf(r.file, "%s: work gpu%d 0ns", name, me);
        else
            (void)fprintf(r.file, "%s: gpu%d -> gpu%d %zuB", name, me, to, bytes);
        end_line();
        return;
    }
    (void)fprintf(r.file, "%s.call: work host%d %dus", name, me, COPY_US);
    end_line();
    (void)fprintf(r.file, "%s.out: gpu%d -> host%d %zuB after %s.call\n", name, me, me, bytes, name);
    if (strcmp(r.p2p, "rx") == 0)
        (void)fprintf(r.file, "%s: host%d -> gpu%d %zuB after %s.out\n", name, me, to, bytes, name);
    else
        (void)fprintf(r.file, "%s.net: host%d -> host%d %zuB after %s.out\n%s: host%d -> gpu%d %zuB after %s.net\n",
                      name, me, to, bytes, name, name, to, to, bytes, name);
}

void link_record_wait(int from)
{
    char name[NAME_BYTES];
    if (!r.file)
        return;
    name_put(name, from, link_rank(), r.waited[from]++);
    follow(name);
}

static void append(FILE *whole, int rank)
{
    char path[PATH_BYTES], line[LINE_BYTES];
    path_of(rank, path);
    FILE *part = fopen(path, "r");
    if (!part)
        link_fail(path, "cannot be read");
    while (fgets(line, sizeof line, part))
        (void)fputs(line, whole);
    (void)fclose(part);
    (void)unlink(path);
}

void link_record_end(void)
{
    FILE *file = r.file;
    r.file = NULL;
    if (fclose(file) != 0)
        link_fail(r.path, "cannot be written");
    link_barrier();
    if (link_rank() == 0) {
        FILE *whole = fopen(r.path, "w");
        if (!whole)
            link_fail(r.path, "cannot be written");
        (void)fputs("queue ready\n", whole);
        for (int rank = 0; rank < link_size(); rank++)
            append(whole, rank);
        if (fclose(whole) != 0)
            link_fail(r.path, "cannot be written");
    }
    free(r.put);
    free(r.waited);
    free(r.after);
    r.after = NULL;
    r.after_count = r.after_capacity = 0;
}
