/* SPDX-License-Identifier: BSD-3-Clause */
/* The limit of a file's size: see limit.h. */
#include "base/limit.h"

#include <errno.h>
#include <time.h>

static bool is_pending(void)
{
    sigset_t waiting;
    return sigpending(&waiting) == 0 && sigismember(&waiting, SIGXFSZ) == 1;
}

static sigset_t oversize(void)
{
    sigset_t set;
    (void)sigemptyset(&set);
    (void)sigaddset(&set, SIGXFSZ);
    return set;
}

void hop_limit_hold(struct hop_limit *limit)
{
    const sigset_t set = oversize();
    (void)pthread_sigmask(SIG_BLOCK, &set, &limit->before);
    limit->pending = is_pending();
}

void hop_limit_release(const struct hop_limit *limit)
{
    const sigset_t set = oversize();
    int why = errno;
    if (!limit->pending && is_pending())
        (void)sigtimedwait(&set, NULL, &(struct timespec){0});
    (void)pthread_sigmask(SIG_SETMASK, &limit->before, NULL);
    errno = why;
}
