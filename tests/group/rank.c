/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * What each rank runs in the tests of groups, started by launch.sh.
 *
 *     rank ring           messages of many sizes round a ring, then a storm from all to rank 0, barriers, finish
 *     rank search FOLDER  all count, rank 0 keeps FOLDER/best up to date; ends at a loss or a signal
 *
 * Exit status: 0 as expected, 1 not.
 */
#include "hopcast/group.h"

#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static volatile sig_atomic_t stop;
static int rank, size;

static void on_signal(int number)
{
    (void)number;
    stop = 1;
}

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec * 1e-9;
}

__attribute__((format(printf, 1, 2), noreturn)) static void fail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)fprintf(stderr, "rank %d of %d: ", rank, size);
    (void)vfprintf(stderr, format, arguments);
    (void)fputc('\n', stderr);
    va_end(arguments);
    _exit(1);
}

#define CHECK(call)                                                                                                    \
    do {                                                                                                               \
        struct hop_diag diag_ = {0};                                                                                   \
        if ((call) != HOP_OK)                                                                                          \
            fail("%s: %s (%s)", #call, diag_.what, diag_.expected);                                                    \
    } while (0)
#define D (&diag_)

/* ---- ring and storm ---- */

enum { RING = 1, STORM = 2, STORM_COUNT = 2000, LARGE = 8 << 20 };
static const size_t sizes[] = {0, 1, 7, 4096, 70000, LARGE, 0, 100, 1 << 20};
enum { SIZES = sizeof sizes / sizeof sizes[0] };

/* Different for every sender, message and place. */
static unsigned char content(int from, int number, size_t i)
{
    return (unsigned char)((unsigned)from * 31 + (unsigned)number * 7 + (i >> 8) * 13 + i);
}

static struct hop_group_message take(struct hop_group *group, double wait_s)
{
    struct hop_group_message message;
    if (!hop_group_receive(group, wait_s, &message)) {
        struct hop_diag diag = {.what = "nobody is lost"};
        (void)hop_group_lost(group, &diag);
        fail("nothing came in %g s: %s", wait_s, diag.what);
    }
    return message;
}

/* Every rank sends all sizes to its right neighbour before it takes any: sending does not wait for the receiver. */
static void ring(struct hop_group *group)
{
    unsigned char *bytes = malloc(LARGE);
    int left = (rank + size - 1) % size;
    for (int n = 0; n < SIZES && bytes; n++) {
        for (size_t i = 0; i < sizes[n]; i++)
            bytes[i] = content(rank, n, i);
        CHECK(hop_group_send(group, (rank + 1) % size, RING + n, bytes, sizes[n], D));
        memset(bytes, 0, sizes[n]); /* sending took a copy */
    }
    free(bytes);
    for (int n = 0; n < SIZES; n++) {
        struct hop_group_message message = take(group, 600);
        if (message.from != left || message.tag != RING + n || message.size_bytes != sizes[n])
            fail("message %d: tag %d, %zu bytes from rank %d", n, message.tag, message.size_bytes, message.from);
        const unsigned char *got = message.bytes;
        for (size_t i = 0; i < sizes[n]; i++) {
            if (got[i] != content(left, n, i))
                fail("message %d: byte %zu is %d", n, i, got[i]);
        }
        if (got[sizes[n]] != 0)
            fail("message %d: no NUL byte follows", n);
        free(message.bytes);
    }
    struct hop_group_message more;
    if (hop_group_receive(group, 0, &more))
        fail("a message too many: tag %d from rank %d", more.tag, more.from);
}

/* All send numbers to rank 0, itself included, which must see each sender's in order. */
static void storm(struct hop_group *group)
{
    for (int n = 0; n < STORM_COUNT; n++)
        CHECK(hop_group_send(group, 0, STORM, &n, sizeof n, D));
    int *next = calloc((size_t)size, sizeof *next);
    for (int n = 0; rank == 0 && next && n < STORM_COUNT * size; n++) {
        struct hop_group_message message = take(group, 600);
        int number;
        memcpy(&number, message.bytes, sizeof number);
        if (message.tag != STORM || number != next[message.from]++)
            fail("number %d from rank %d, tag %d, after %d", number, message.from, message.tag, next[message.from] - 2);
        free(message.bytes);
    }
    free(next);
}

/* Nobody is through before the last has come: the ranks, on one machine, share a clock. */
static void barriers(struct hop_group *group)
{
    const struct timespec late = {0, 20000000};
    for (int n = 0; n < 20; n++) {
        double entered_s, times_s[2], last_in_s = 0.0, first_out_s = INFINITY;
        if (n % size == rank)
            (void)nanosleep(&late, NULL);
        entered_s = now_s();
        CHECK(hop_group_barrier(group, D));
        CHECK(hop_group_send(group, 0, RING, (double[]){entered_s, now_s()}, sizeof times_s, D));
        for (int i = 0; rank == 0 && i < size; i++) {
            struct hop_group_message message = take(group, 600);
            memcpy(times_s, message.bytes, sizeof times_s);
            free(message.bytes);
            last_in_s = fmax(last_in_s, times_s[0]);
            first_out_s = fmin(first_out_s, times_s[1]);
        }
        if (rank == 0 && first_out_s < last_in_s)
            fail("barrier %d let a rank out %g s before the last came", n, last_in_s - first_out_s);
        CHECK(hop_group_barrier(group, D));
    }
}

/* Waiting for nothing takes its time and no processor. */
static void idle(struct hop_group *group)
{
    struct rusage before, after;
    struct hop_group_message message;
    CHECK(hop_group_barrier(group, D));
    (void)getrusage(RUSAGE_SELF, &before);
    double start_s = now_s();
    if (hop_group_receive(group, 1.0, &message))
        fail("a message came from rank %d", message.from);
    double waited_s = now_s() - start_s;
    (void)getrusage(RUSAGE_SELF, &after);
    double busy_s =
        (double)(after.ru_utime.tv_sec - before.ru_utime.tv_sec + after.ru_stime.tv_sec - before.ru_stime.tv_sec) +
        (double)(after.ru_utime.tv_usec - before.ru_utime.tv_usec + after.ru_stime.tv_usec - before.ru_stime.tv_usec) *
            1e-6;
    if (waited_s < 0.99 || busy_s > 0.3 * waited_s)
        fail("waiting for 1 s took %g s, %g s of them busy", waited_s, busy_s);
    if (rank == 0)
        printf("idle: %.1f %% of a processor\n", 100 * busy_s / waited_s);
}

static int run_ring(struct hop_group *group, int expected)
{
    if (size != expected)
        fail("expected %d ranks", expected);
    ring(group);
    CHECK(hop_group_barrier(group, D));
    storm(group);
    CHECK(hop_group_barrier(group, D));
    barriers(group);
    idle(group);
    if (hop_group_lost(group, NULL) != -1)
        fail("rank %d is said to be lost", hop_group_lost(group, NULL));
    CHECK(hop_group_finish(group, D));
    if (rank == 0)
        printf("done: %d ranks, %s\n", size, hop_group_carrier(group));
    hop_group_destroy(group);
    return 0;
}

/* ---- search ---- */

static void write_file(const char *folder, const char *name, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
static void write_file(const char *folder, const char *name, const char *format, ...)
{
    char path[4096], fresh[4096];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    (void)snprintf(fresh, sizeof fresh, "%s/%s.%d", folder, name, rank);
    FILE *file = fopen(fresh, "w");
    if (!file)
        fail("cannot write %s", fresh);
    va_list arguments;
    va_start(arguments, format);
    (void)vfprintf(file, format, arguments);
    va_end(arguments);
    if (fclose(file) != 0 || rename(fresh, path) != 0)
        fail("cannot write %s", path);
}

/* Workers count, and pass blobs round, so that a death hits MPI in the middle of one. */
static void work(struct hop_group *group, long n)
{
    static unsigned char blob[1 << 20];
    const struct timespec pause = {0, 5000000};
    struct hop_group_message message;
    (void)nanosleep(&pause, NULL);
    (void)hop_group_send(group, 0, RING, &n, sizeof n, NULL);
    if (n % 4 == 0)
        (void)hop_group_send(group, (rank + 1) % size, STORM, blob, sizeof blob, NULL);
    while (hop_group_receive(group, 0, &message))
        free(message.bytes);
}

static int run_search(struct hop_group *group, const char *folder)
{
    char name[32];
    long best = 0;
    double written_s = 0.0;
    struct hop_diag diag = {.what = "a signal"};
    (void)snprintf(name, sizeof name, "pid.%d", rank);
    write_file(folder, name, "%ld\n", (long)getpid());
    for (long n = 1; !stop && hop_group_lost(group, &diag) < 0; n++) {
        struct hop_group_message message;
        if (rank != 0) {
            work(group, n);
        } else if (hop_group_receive(group, 0.05, &message)) {
            long number = 0;
            if (message.tag == RING)
                memcpy(&number, message.bytes, sizeof number);
            free(message.bytes);
            best = number > best ? number : best;
        }
        if (rank == 0 && now_s() - written_s > 0.1) { /* a launcher may kill all without notice: never far behind */
            write_file(folder, "best", "best %ld\nsearching\n", best);
            written_s = now_s();
        }
    }
    if (rank == 0) {
        const struct timespec slowly = {0, 300000000}; /* meanwhile the others must not leave */
        (void)nanosleep(&slowly, NULL);
        write_file(folder, "best", "best %ld\nended by %s\n", best, diag.what);
    }
    hop_group_leave(group);
    _exit(0);
}

int main(int argc, char **argv)
{
    struct hop_group *group = NULL;
    const char *timeout = getenv("RANK_TIMEOUT_S");
    /* What is tested comes after the start, which takes MPI its time on a busy machine. */
    const struct hop_group_options options = {
        .timeout_s = timeout ? strtod(timeout, NULL) : 0.0, .stop = &stop, .start_s = 300};
    const struct sigaction action = {.sa_handler = on_signal, .sa_flags = SA_RESTART};
    bool searches = argc == 3 && strcmp(argv[1], "search") == 0;
    if (!searches && !(argc == 3 && strcmp(argv[1], "ring") == 0)) {
        (void)fprintf(stderr, "usage: rank ring RANKS | rank search FOLDER\n");
        return 2;
    }
    (void)sigaction(SIGTERM, &action, NULL);
    (void)sigaction(SIGINT, &action, NULL);
    CHECK(hop_group_create(&options, &group, D));
    rank = hop_group_rank(group);
    size = hop_group_size(group);
    return searches ? run_search(group, argv[2]) : run_ring(group, atoi(argv[2]));
}
