/* SPDX-License-Identifier: BSD-3-Clause */
/* Shared memory with a name: see shared.h. */
#include "base/shared.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"

#define FOLDER "/dev/shm"

/* Field 22 of /proc/PID/stat; the second one, the command in parentheses, may hold anything. A zombie is as good as
 * gone. */
unsigned long long hop_process_started(long pid)
{
    char path[64], text[1024];
    (void)snprintf(path, sizeof path, "/proc/%ld/stat", pid);
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0)
        return 0;
    ssize_t length = read(file, text, sizeof text - 1);
    (void)close(file);
    if (length <= 0)
        return 0;
    text[length] = '\0';
    const char *at = strrchr(text, ')');
    unsigned long long started = 0;
    char state = 0;
    if (!at || sscanf(at + 1, " %c %*d %*d %*d %*d %*d %*u %*u %*u %*u %*u %*u %*u %*d %*d %*d %*d %*d %*d %llu",
                      &state, &started) != 2)
        return 0;
    return state == 'Z' || state == 'X' ? 0 : started;
}

bool hop_process_lives(long pid, unsigned long long started)
{
    if (kill((pid_t)pid, 0) != 0 && errno == ESRCH)
        return false;
    unsigned long long now = hop_process_started(pid);
    return now != 0 && (started == 0 || now == started);
}

#if defined(__SANITIZE_THREAD__)
char hop_shared_others;
#endif

static void make_name(char name[HOP_SHARED_NAME_SIZE])
{
    static atomic_uint number;
    unsigned n = atomic_fetch_add(&number, 1);
    long pid = (long)getpid();
    (void)snprintf(name, HOP_SHARED_NAME_SIZE, "/hopcast-%ld-%llu-%u", pid, hop_process_started(pid), n);
}

static enum hop_status map(int file, struct hop_shared *shared, struct hop_diag *diag)
{
    shared->memory = mmap(NULL, shared->size, PROT_READ | PROT_WRITE, MAP_SHARED, file, 0);
    int error = errno;
    (void)close(file);
    if (shared->memory != MAP_FAILED)
        return HOP_OK;
    shared->memory = NULL;
    return hop_fail(diag, HOP_ERR_MEMORY, "cannot map %zu bytes of shared memory: %s", shared->size, strerror(error));
}

enum hop_status hop_shared_create(size_t size, struct hop_shared *shared, struct hop_diag *diag)
{
    struct hop_shared made = {.size = size ? size : 1, .named = true};
    make_name(made.name);
    int file = shm_open(made.name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    if (file < 0)
        return hop_fail(diag, HOP_ERR_IO, "cannot create shared memory %s: %s", made.name, strerror(errno));
    int error;
    while ((error = posix_fallocate(file, 0, (off_t)made.size)) == EINTR)
        ;
    if (error) {
        (void)close(file);
        (void)shm_unlink(made.name);
        hop_fail(diag, HOP_ERR_MEMORY, "no %zu bytes of shared memory: %s", made.size, strerror(error));
        hop_diag_expect(diag, "smaller buffers, fewer ranks, or a larger " FOLDER);
        return HOP_ERR_MEMORY;
    }
    enum hop_status status = map(file, &made, diag);
    if (status == HOP_OK)
        *shared = made;
    else
        (void)shm_unlink(made.name);
    return status;
}

enum hop_status hop_shared_attach(const char *name, struct hop_shared *shared, struct hop_diag *diag)
{
    struct hop_shared made = {0};
    struct stat info;
    (void)snprintf(made.name, sizeof made.name, "%s", name);
    int file = shm_open(name, O_RDWR | O_CLOEXEC, 0);
    if (file < 0 || fstat(file, &info) != 0 || info.st_size <= 0) {
        int error = errno;
        if (file >= 0)
            (void)close(file);
        return hop_fail(diag, HOP_ERR_IO, "cannot open shared memory %s: %s", name, strerror(error));
    }
    made.size = (size_t)info.st_size;
    enum hop_status status = map(file, &made, diag);
    if (status == HOP_OK)
        *shared = made;
    return status;
}

void hop_shared_withdraw(struct hop_shared *shared)
{
    if (shared->named)
        (void)shm_unlink(shared->name);
    shared->named = false;
}

void hop_shared_finish(struct hop_shared *shared)
{
    hop_shared_withdraw(shared);
    if (shared->memory)
        (void)munmap(shared->memory, shared->size);
    *shared = (struct hop_shared){0};
}

unsigned hop_shared_sweep(void)
{
    DIR *folder = opendir(FOLDER);
    unsigned removed = 0;
    if (!folder)
        return 0;
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        long pid;
        unsigned long long started;
        unsigned number;
        char name[HOP_SHARED_NAME_SIZE];
        if (sscanf(entry->d_name, "hopcast-%ld-%llu-%u", &pid, &started, &number) != 3 || pid <= 0 ||
            strlen(entry->d_name) + 2 > sizeof name || hop_process_lives(pid, started))
            continue;
        (void)snprintf(name, sizeof name, "/%.62s", entry->d_name);
        removed += shm_unlink(name) == 0;
    }
    (void)closedir(folder);
    return removed;
}
