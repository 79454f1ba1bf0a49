/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Record: what the ranks of a program put, wait for and compute, as a schedule.
 *
 * A rank's work follows its earlier work and all that it has waited for; a put follows the work before it and what
 * was waited for since. The k-th put from one rank to another is the k-th that this one waits for. Each rank writes
 * its lines to a file of its own, which rank 0 puts together: all are on one machine.
 *
 * Where the host copies out of a GPU it waits for the copy (Ammendola et al. 2013, section 5: the call is "fully
 * synchronous with respect to the host"), so that these copies of a rank follow each other. Without cards ("copies") all
 * copies of a rank, in and out, are calls of one thread: each holds the GPU's engine, for the machine's copy_latency and
 * its bytes. A message longer than PIECE_BYTES goes in such pieces, whose steps overlap.
 */
#include "link.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { NAME_BYTES = 64, PATH_BYTES = 4096, LINE_BYTES = 4096 };
enum { PIECE_BYTES = 64 << 10 };
enum { COPY_US = 10 }; /* that a call of a copy out of a GPU takes besides (Ammendola et al. 2013, section 5) */

static struct {
    const char *path, *p2p;
    FILE *file;             /* NULL: nothing is noted */
    uint64_t *put, *waited; /* of each rank */
    uint64_t works;
    char out[NAME_BYTES];      /* the last copy out of the GPU */
    char (*after)[NAME_BYTES]; /* what the next line waits for */
    size_t after_count, after_capacity;
} r;

static void path_of(int rank, char path[PATH_BYTES])
{
    if (snprintf(path, PATH_BYTES, "%s.%d", r.path, rank) >= PATH_BYTES)
        link_fail(r.path, "is too long");
}

static int is(const char *p2p)
{
    return strcmp(r.p2p, p2p) == 0;
}

static const char *device(const char *kind, int rank)
{
    static char names[4][NAME_BYTES]; /* of a line */
    static unsigned turn;
    char *name = names[turn++ % 4];
    (void)snprintf(name, NAME_BYTES, is("copies") ? "node%d.%s0" : "%2$s%1$d", rank, kind);
    return name;
}

void link_record_begin(const char *path, const char *p2p)
{
    char own[PATH_BYTES];
    const size_t size = (size_t)link_size();
    r.path = path;
    r.p2p = p2p;
    r.out[0] = 0;
    if (!is("on") && !is("rx") && !is("off") && !is("copies"))
        link_fail(p2p, "puts are on, rx, off or copies");
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
    (void)fprintf(r.file, "%s: work %s %.3fns", name, device("gpu", link_rank()), seconds * 1e9);
    end_line();
    r.after_count = 0;
    follow(name);
}

static void name_put(char name[NAME_BYTES], int from, int to, uint64_t number)
{
    (void)snprintf(name, NAME_BYTES, "p%d.%d.%llu", from, to, (unsigned long long)number);
}

/* The host copies out of the GPU and puts; from the other host's memory what arrives is copied further at once. */
static void put_staged(const char *name, int to, size_t bytes)
{
    const int me = link_rank();
    (void)fprintf(r.file, "%s.call: work %s %dus", name, device("host", me), COPY_US);
    if (r.out[0])
        follow(r.out);
    end_line();
    if (r.out[0])
        r.after_count--;
    (void)snprintf(r.out, sizeof r.out, "%.58s.out", name);
    (void)fprintf(r.file, "%s: %s -> %s %zuB after %s.call\n", r.out, device("gpu", me), device("host", me), bytes,
                  name);
    if (is("rx")) {
        (void)fprintf(r.file, "%s: %s -> %s %zuB after %s\n", name, device("host", me), device("gpu", to), bytes,
                      r.out);
        return;
    }
    (void)fprintf(r.file, "%s.net: %s -> %s %zuB after %s\n", name, device("host", me), device("host", to), bytes,
                  r.out);
    (void)fprintf(r.file, "%s: %s -> %s %zuB after %s.net\n", name, device("host", to), device("gpu", to), bytes, name);
}

/* The last piece has the message's name, and waits for those before it. */
static void put_by_copies(const char *name, int to, size_t bytes)
{
    const int me = link_rank();
    const size_t pieces = bytes > PIECE_BYTES ? (bytes + PIECE_BYTES - 1) / PIECE_BYTES : 1;
    for (size_t p = 0; p < pieces; p++) {
        const size_t part = p + 1 < pieces ? PIECE_BYTES : bytes - p * PIECE_BYTES;
        char last[24] = "";
        if (p + 1 < pieces)
            (void)snprintf(last, sizeof last, ".%zu", p);
        (void)fprintf(r.file, "%s.out%zu: %s -> %s %zuB", name, p, device("gpu", me), device("host", me), part);
        end_line();
        (void)fprintf(r.file, "%s.net%zu: %s -> %s %zuB after %s.out%zu\n", name, p, device("host", me),
                      device("host", to), part, name, p);
        (void)fprintf(r.file, "%s%s: %d@%s -> %d@%s %zuB by %d after %s.net%zu", name, last, to, device("host", to), to,
                      device("gpu", to), part, to, name, p);
        (void)fprintf(r.file, p ? ",%s.%zu\n" : "\n", name, p - 1);
    }
}

/* The steps before the last one, which has the name. */
void link_record_put(int to, size_t bytes, int of_host)
{
    char name[NAME_BYTES];
    const int me = link_rank();
    if (!r.file)
        return;
    if (r.after_count > 1)
        link_record_work(0);
    name_put(name, me, to, r.put[to]++);
    if (to != me && of_host) {
        (void)fprintf(r.file, "%s: %s -> %s %zuB", name, device("host", me), device("host", to), bytes);
        end_line();
    } else if (to != me && is("copies")) {
        put_by_copies(name, to, bytes);
    } else if (to != me && !is("on")) {
        put_staged(name, to, bytes);
    } else {
        if (to == me) /* it stays where it is */
            (void)fprintf(r.file, "%s: work %s 0ns", name, device("gpu", me));
        else
            (void)fprintf(r.file, "%s: %s -> %s %zuB", name, device("gpu", me), device("gpu", to), bytes);
        end_line();
    }
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
