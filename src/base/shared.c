/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory with a name: see shared.h. */
#include "base/shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "base/clock.h"
#include "base/limit.h"
#include "base/unnamed.h"

#define FOLDER "/dev/shm"
#define PIECE ((size_t)256 << 10) /* of what is allocated: a fraction of a millisecond */

struct process_stat {
    char state;
    unsigned long long user, system, started; /* ticks */
    long threads;
};

enum stat_read { STAT_READ, STAT_GONE, STAT_UNKNOWN /* no file descriptor was left, say */ };

/* Of a process or a thread: fields 3, 14, 15, 20 and 22; the second one, the command in parentheses, may hold anything. */
static enum stat_read read_stat(const char *path, struct process_stat *stat)
{
    char text[1024];
    int file = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
    int error = length < 0 ? errno : 0;
    if (file >= 0)
        (void)close(file);
    if (length <= 0)
        return error == ENOENT || error == ESRCH ? STAT_GONE : STAT_UNKNOWN;
    text[length] = '\0';
    const char *at = strrchr(text, ')');
    bool fine =
        at && sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %llu %llu %*d %*d %*d %*d %ld %*d %llu",
                     &stat->state, &stat->user, &stat->system, &stat->threads, &stat->started) == 5;
    return fine ? STAT_READ : STAT_UNKNOWN;
}

static enum stat_read read_process(long pid, struct process_stat *stat)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    return read_stat(path, stat);
}

/* A zombie is as good as gone, but for one whose first thread alone has ended. */
static bool is_gone(const struct process_stat *stat)
{
    return stat->state == 'X' || (stat->state == 'Z' && stat->threads <= 1);
}

unsigned long long hop_process_started(long pid)
{
    struct process_stat stat;
    return read_process(pid, &stat) == STAT_READ && !is_gone(&stat) ? stat.started : 0;
}

double hop_thread_ran_s(long pid, long thread, bool *ready)
{
    char path[64];
    struct process_stat stat;
    (void)snprintf(path, sizeof path, "/proc/%ld/task/%ld/stat", pid, thread);
    bool known = read_stat(path, &stat) == STAT_READ;
    *ready = known && stat.state == 'R';
    return known ? (double)(stat.user + stat.system) / (double)sysconf(_SC_CLK_TCK) : 0;
}

bool hop_process_lives(long pid, unsigned long long started)
{
    struct process_stat stat;
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return false;
    enum stat_read read = read_process(pid, &stat);
    return read == STAT_UNKNOWN || (read == STAT_READ && !is_gone(&stat) && (started == 0 || stat.started == started));
}

#if defined(__SANITIZE_THREAD__)
char hop_shared_others;
#endif

/* ---- names ---- */

/* Never one that was there before: who sweeps may be about to remove that. */
static void make_name(char name[HOP_SHARED_NAME_SIZE])
{
    static atomic_uint number;
    uint64_t random;
    if (getrandom(&random, sizeof random, GRND_NONBLOCK) != (ssize_t)sizeof random)
        random = hop_now_ns();
    (void)snprintf(name, HOP_SHARED_NAME_SIZE, "/hopcast-%ld-%016" PRIx64 "-%u", (long)getpid(), random,
                   atomic_fetch_add(&number, 1));
}

static bool is_name(const char *text)
{
    long pid;
    char random[17];
    unsigned number;
    return sscanf(text, "hopcast-%ld-%16[0-9a-f]-%u", &pid, random, &number) == 3 && strlen(random) == 16 &&
           strlen(text) + 2 <= HOP_SHARED_NAME_SIZE;
}

bool hop_shared_is_ours(const char *name)
{
    return ((name[0] == '/' && is_name(name + 1)) || hop_unnamed_is(name)) && !strchr(name + 1, '/');
}

static int open_new(const char *name)
{
    int file = hop_file_above_streams(shm_open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600)), error = errno;
    if (file < 0 && error != EEXIST)
        (void)shm_unlink(name);
    errno = error;
    return file;
}

/* A new file under a new name, with its lock. Before it has that, a sweep may remove it: then it has another. */
static int create_held(char name[HOP_SHARED_NAME_SIZE])
{
    struct stat info = {0};
    int file = hop_unnamed_create(name, HOP_SHARED_NAME_SIZE);
    while (file < 0) {
        make_name(name);
        file = open_new(name);
        if (file < 0 || flock(file, LOCK_SH) != 0 || fstat(file, &info) != 0 || info.st_nlink > 0)
            return file;
        (void)close(file);
        file = -1;
    }
    return file;
}

/* Files of names that others withdraw, and of sessions without one. */
static struct {
    pthread_mutex_t lock;
    struct left_file {
        int file;
        bool unnamed;
    } * files;
    uint32_t count, capacity;
} left = {.lock = PTHREAD_MUTEX_INITIALIZER};

/* Returns true for a file that still has a name, or never had one. */
static bool is_wanted(int file, bool unnamed)
{
    struct stat info;
    return unnamed || (fstat(file, &info) == 0 && info.st_nlink > 0);
}

/* Closes those of names that are gone and the file `gone`, and keeps one more; 0: none. */
static void keep_left(int file, bool unnamed, int gone)
{
    uint32_t kept = 0;
    (void)pthread_mutex_lock(&left.lock);
    for (uint32_t i = 0; i < left.count; i++) {
        if (left.files[i].file != gone && is_wanted(left.files[i].file, left.files[i].unnamed))
            left.files[kept++] = left.files[i];
        else
            (void)close(left.files[i].file);
    }
    left.count = kept;
    if (file && hop_grow(&left.files, &left.capacity, left.count + 1, sizeof *left.files))
        left.files[left.count++] = (struct left_file){file, unnamed};
    if (left.count == 0) {
        free(left.files);
        left.files = NULL;
        left.capacity = 0;
    }
    (void)pthread_mutex_unlock(&left.lock);
}

void hop_shared_leave_named(struct hop_shared *shared)
{
    keep_left(shared->held, hop_unnamed_is(shared->name), 0);
    shared->named = false;
    shared->held = 0;
}

static enum hop_status map(int file, struct hop_shared *shared, struct hop_diag *diag)
{
    shared->memory = mmap(NULL, shared->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int error = errno;
    if (shared->memory != MAP_FAILED)
        return HOP_OK;
    shared->memory = NULL;
    return hop_fail(diag, HOP_ERR_MEMORY, "cannot map %zu bytes of shared memory: %s", shared->size, strerror(error));
}

/* Pages for all of the file, or none where there is no room. A signal undoes what there is of a call, and a program may get
 * a thousand a second: then in pieces. */
static int give_pages(int file, size_t size)
{
    size_t done = 0, piece = size;
    int error = 0;
    while (done < size && (error == 0 || error == EINTR)) {
        size_t next = size - done < piece ? size - done : piece;
        error = posix_fallocate(file, (off_t)done, (off_t)next);
        done += error ? 0 : next;
        piece = error ? PIECE : piece;
    }
    return error;
}

/* The file gets its size, and its pages if it shall have them now; 0 or an error. */
static int give_size(int file, size_t size, bool pages)
{
    struct hop_limit limit;
    int error = EINTR;
    hop_limit_hold(&limit);
    if (pages)
        error = give_pages(file, size);
    while (error == EINTR)
        error = ftruncate(file, (off_t)size) == 0 ? 0 : errno;
    hop_limit_release(&limit);
    return error;
}

static enum hop_status create(size_t size, bool pages, struct hop_shared *shared, struct hop_diag *diag)
{
    struct hop_shared made = {.size = size ? size : 1, .named = true};
    int file = made.held = create_held(made.name);
    if (file < 0)
        return hop_fail(diag, hop_status_of_error(errno), "cannot create shared memory %s: %s", made.name,
                        strerror(errno));
    int error = give_size(file, made.size, pages);
    if (error) {
        hop_shared_withdraw(&made);
        hop_fail(diag, HOP_ERR_MEMORY, "no %zu bytes of shared memory: %s", made.size, strerror(error));
        hop_diag_expect(diag, "smaller buffers, fewer ranks, or a larger %s",
                        error == EFBIG ? "limit of a file's size (ulimit -f)" : FOLDER);
        return HOP_ERR_MEMORY;
    }
    enum hop_status status = map(file, &made, diag);
    if (status == HOP_OK)
        *shared = made;
    else
        hop_shared_withdraw(&made);
    return status;
}

enum hop_status hop_shared_create(size_t size, struct hop_shared *shared, struct hop_diag *diag)
{
    return create(size, true, shared, diag);
}

enum hop_status hop_shared_reserve(size_t size, struct hop_shared *shared, struct hop_diag *diag)
{
    return create(size, false, shared, diag);
}

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14; an older one takes pages when they are used */
#endif
bool hop_shared_commit(void *address, size_t size)
{
    return madvise(address, size, MADV_POPULATE_WRITE) == 0 || errno == EINVAL;
}

/* The kernel's own call: libraries that watch memory put theirs in the place of mremap, and it may drop the address (UCX's). */
bool hop_shared_move(void *from, size_t size, void *to)
{
    return syscall(SYS_mremap, from, size, size, MREMAP_MAYMOVE | MREMAP_FIXED, to) == (long)(intptr_t)to;
}

enum hop_status hop_shared_attach(const char *name, struct hop_shared *shared, struct hop_diag *diag)
{
    struct hop_shared made = {0};
    struct stat info;
    (void)snprintf(made.name, sizeof made.name, "%s", name);
    int file = hop_unnamed_is(name) ? hop_unnamed_open(name) : shm_open(name, O_RDWR | O_CLOEXEC, 0);
    if (file < 0 || fstat(file, &info) != 0 || info.st_size <= 0) {
        int error = errno;
        if (file >= 0)
            (void)close(file);
        return hop_fail(diag, hop_status_of_error(error), "cannot open shared memory %s: %s", name, strerror(error));
    }
    made.size = (size_t)info.st_size;
    enum hop_status status = map(file, &made, diag);
    (void)close(file);
    if (status == HOP_OK)
        *shared = made;
    return status;
}

void hop_shared_withdraw(struct hop_shared *shared)
{
    bool unnamed = hop_unnamed_is(shared->name);
    if (shared->named && !unnamed)
        (void)shm_unlink(shared->name);
    if (shared->named && shared->held)
        (void)close(shared->held);
    else if (shared->named)
        keep_left(0, false, unnamed ? hop_unnamed_own(shared->name) : 0);
    shared->named = false;
    shared->held = 0;
}

void hop_shared_finish(struct hop_shared *shared)
{
    hop_shared_withdraw(shared);
    if (shared->memory)
        (void)munmap(shared->memory, shared->size);
    *shared = (struct hop_shared){0};
}

/* Whoever gets the lock is alone with it. */
static bool sweep(const char *name)
{
    int file = shm_open(name, O_RDWR | O_CLOEXEC, 0);
    bool removed = file >= 0 && flock(file, LOCK_EX | LOCK_NB) == 0 && shm_unlink(name) == 0;
    if (file >= 0)
        (void)close(file);
    return removed;
}

unsigned hop_shared_sweep(void)
{
    DIR *folder = opendir(FOLDER);
    unsigned removed = 0;
    if (!folder)
        return 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        char name[HOP_SHARED_NAME_SIZE];
        if (!is_name(entry->d_name))
            continue;
        (void)snprintf(name, sizeof name, "/%.62s", entry->d_name);
        removed += sweep(name);
    }
    (void)closedir(folder);
    return removed;
}
