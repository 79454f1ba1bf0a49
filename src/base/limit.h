/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The limit of a file's size (ulimit -f) as an error like a full disk. Whoever exceeds it gets SIGXFSZ, which ends a
 * process without a word: between hold and release the thread does not get that signal, and the call fails with EFBIG.
 */
#ifndef HOP_BASE_LIMIT_H
#define HOP_BASE_LIMIT_H

#include <signal.h>
#include <stdbool.h>

struct hop_limit {
    sigset_t before; /* the signals that the thread had blocked */
    bool pending;    /* one was waiting already, which is somebody else's */
};

void hop_limit_hold(struct hop_limit *limit);
void hop_limit_release(const struct hop_limit *limit); /* errno stays */

#endif
