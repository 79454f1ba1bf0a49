/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads of the library's own. Signals are for the threads of the program: those that are started block them all. */
#ifndef HOP_BASE_THREAD_H
#define HOP_BASE_THREAD_H

#include <errno.h>
#include <pthread.h>
#include <signal.h>

/* 0, or what pthread_create failed with; ENOMEM where memory lacks, which glibc calls EAGAIN. */
static inline int hop_thread_create(pthread_t *thread, void *(*body)(void *), void *context)
{
    errno = 0;
    int error = pthread_create(thread, NULL, body, context);
    return error == EAGAIN && errno == ENOMEM ? ENOMEM : error;
}

/* As hop_thread_create. */
static inline int hop_thread_start(pthread_t *thread, void *(*body)(void *), void *context)
{
    sigset_t all, before;
    (void)sigfillset(&all);
    (void)pthread_sigmask(SIG_SETMASK, &all, &before);
    int error = hop_thread_create(thread, body, context);
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    return error;
}

#endif
