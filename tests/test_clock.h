/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A clock for tests of waits that take seconds. It goes like the system's, and jumps ahead while this process, its
 * threads and all that it started only sleep, are stopped or have ended: then nothing but time can change anything. Who
 * wants a processor, and may have to wait for one, holds it; so a busy machine makes nobody look lost.
 */
#ifndef HOP_TEST_CLOCK_H
#define HOP_TEST_CLOCK_H

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <time.h>

#include "base/clock.h"
#include "test.h"

enum { CLOCK_LOOK_NS = 1000000, CLOCK_JUMP_NS = 50000000 };

struct test_clock { /* in memory that children share */
    atomic_uint_fast64_t ahead_ns, looked_ns;
    pid_t root;
};

static inline uint64_t test_clock_system_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* The beginning of a file of /proc, "" if it is gone; false: it cannot be read now. */
static inline bool test_clock_read(const char *path, char *text, size_t size)
{
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, size - 1);
    bool gone = length < 0 && (errno == ENOENT || errno == ESRCH);
    if (file >= 0)
        (void)close(file);
    text[length > 0 ? length : 0] = '\0';
    return length >= 0 || gone;
}

/* Sleeping for an event, stopped, or ended; this thread, which looks, does not count. */
static inline bool test_clock_thread_rests(long process, long thread)
{
    char path[64], text[512];
    (void)snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", process, thread);
    if (thread == (long)gettid())
        return true;
    if (!test_clock_read(path, text, sizeof text))
        return false;
    const char *name_end = strrchr(text, ')');
    return !text[0] || (name_end && name_end[1] && strchr("STtZX", name_end[2]));
}

static inline bool test_clock_all_rest(long process)
{
    char path[64], children[1024];
    (void)snprintf(path, sizeof path, "/proc/%ld/task", process);
    DIR *folder = opendir(path);
    bool rest = folder || errno == ENOENT;
    for (struct dirent *entry; rest && folder && (entry = readdir(folder)) != NULL;) {
        long thread = strtol(entry->d_name, NULL, 10);
        if (thread <= 0)
            continue;
        rest = test_clock_thread_rests(process, thread);
        (void)snprintf(path, sizeof path, "/proc/%ld/task/%ld/children", process, thread);
        rest = rest && test_clock_read(path, children, sizeof children);
        for (char *at = children, *end; rest; at = end) {
            long child = strtol(at, &end, 10);
            if (end == at)
                break;
            rest = test_clock_all_rest(child);
        }
    }
    if (folder)
        (void)closedir(folder);
    return rest;
}

static inline uint64_t test_clock_ns(void *context)
{
    struct test_clock *clock = context;
    uint64_t now_ns = test_clock_system_ns(), looked_ns = atomic_load(&clock->looked_ns);
    if (now_ns > looked_ns + CLOCK_LOOK_NS && atomic_compare_exchange_strong(&clock->looked_ns, &looked_ns, now_ns) &&
        test_clock_all_rest(clock->root))
        (void)atomic_fetch_add(&clock->ahead_ns, CLOCK_JUMP_NS);
    return now_ns + atomic_load(&clock->ahead_ns);
}

/* From now on, for this process and those that it starts. */
static inline void start_test_clock(void)
{
    struct test_clock *clock = mmap(NULL, sizeof *clock, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(clock != MAP_FAILED);
    clock->root = getpid();
    hop_clock_set(test_clock_ns, clock);
}

/* A wait by that clock. */
static inline void sleep_by_test_clock(double seconds)
{
    for (double until_s = hop_now_s() + seconds; hop_now_s() < until_s;)
        hop_sleep_s(seconds);
}

#endif
