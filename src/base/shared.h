/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Shared memory with a name (POSIX), for processes of one machine and one user; or, where all of them can find it so, without
 * one (unnamed.h), which is called a name here all the same.
 *
 *     /dev/shm/hopcast-<pid>-<16 random hexadecimal digits of that process>-<number>
 *
 * A name lives from creation until all who need the memory have attached to it; from then on nothing of it can stay
 * behind, however its processes end. Meanwhile its maker holds a lock on it, which goes with the maker's last process:
 * a name that nobody holds is swept away by whoever comes next. Process numbers prove nothing, since containers with
 * numbers of their own may share the folder.
 */
#ifndef HOP_BASE_SHARED_H
#define HOP_BASE_SHARED_H

#include <stdbool.h>
#include <stddef.h>

#include "hopcast/status.h"

enum { HOP_SHARED_NAME_SIZE = 64 };

struct hop_shared {
    void *memory; /* NULL: none */
    size_t size;
    char name[HOP_SHARED_NAME_SIZE];
    bool named; /* created here and not yet withdrawn */
    int held;   /* named: the file that the lock is on; else 0 */
};

/* Zeroed memory under a new name, its pages there already (an overfull /dev/shm fails here, not with SIGBUS later). */
enum hop_status hop_shared_create(size_t size, struct hop_shared *shared, struct hop_diag *diag);
/* The same, but pages come when they are used, or by hop_shared_commit, which says whether there is room for them. */
enum hop_status hop_shared_reserve(size_t size, struct hop_shared *shared, struct hop_diag *diag);
bool hop_shared_commit(void *address, size_t size);
/* Pages move to another address, in place of what is there; false: they stay. */
bool hop_shared_move(void *from, size_t size, void *to);
enum hop_status hop_shared_attach(const char *name, struct hop_shared *shared, struct hop_diag *diag);
void hop_shared_withdraw(struct hop_shared *shared); /* the name goes, the memory stays */
void hop_shared_finish(struct hop_shared *shared);   /* withdraws and unmaps; zeroed is allowed */
/* It stays named and held until somebody withdraws it by its name, or this process and its children are gone. */
void hop_shared_leave_named(struct hop_shared *shared);
/* Returns true for a name that hop_shared_create gives. */
bool hop_shared_is_ours(const char *name);
/* Removes the names that nobody holds; how many. */
unsigned hop_shared_sweep(void);
/*
 * For ThreadSanitizer, which knows an order of two threads only by an address that both use. Two threads of one rank may be
 * ordered by way of others, who map the memory elsewhere or are other processes:
 *
 *     thread 1 writes, records an event --> another rank awaits it, acts, records its own --> thread 2 awaits that, writes
 *
 * So who tells others says it, and who hears of them; all that was told before counts as heard, which is more than is known.
 * What the threads of a rank order among themselves it sees as it is.
 */
#if defined(__SANITIZE_THREAD__)
void __tsan_acquire(void *address);
void __tsan_release(void *address);
void AnnotateBenignRaceSized(const char *file, int line, const volatile void *address, long size, const char *reason);
extern char hop_shared_others;
#define HOP_SHARED_TELL() __tsan_release(&hop_shared_others)
#define HOP_SHARED_HEAR() __tsan_acquire(&hop_shared_others)
/* Bytes that two threads may write at once, since both write the same. */
#define HOP_SHARED_TWICE(address, size, reason)                                                                        \
    AnnotateBenignRaceSized(__FILE__, __LINE__, (address), (long)(size), (reason))
#else
#define HOP_SHARED_TELL() ((void)0)
#define HOP_SHARED_HEAR() ((void)0)
#define HOP_SHARED_TWICE(address, size, reason) ((void)(address), (void)(size), (void)(reason))
#endif

/* Whether a process lives and is the one that started at that time (clock ticks since boot); 0: not asked. */
bool hop_process_lives(long pid, unsigned long long started);
unsigned long long hop_process_started(long pid); /* 0: not known */
/* How long a thread has had a processor, 0: not known; *ready: it has one now, or waits for one and nothing else. */
double hop_thread_ran_s(long pid, long thread, bool *ready);

#endif
