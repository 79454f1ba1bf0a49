/* SPDX-License-Identifier: BSD-3-Clause */
/* A handler may do next to nothing, and the thread that it interrupts may hold any lock: it wakes a thread that
 * writes, and then has the signal do what it does by default. */
#include "mpi/killed.h"

#include "base/base.h"

#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <unistd.h>

enum { STACK = 256 * 1024 };

static const int ending[] = {SIGTERM, SIGINT, SIGHUP, SIGXCPU};
static void (*write_all)(const char *why);
static volatile sig_atomic_t got;
static sem_t woken;
static pid_t process;

static void on_signal(int signal)
{
    if (getpid() != process) { /* a child that was forked has no such thread */
        (void)sigaction(signal, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
        (void)kill(getpid(), signal);
    } else if (!got) {
        got = signal;
        (void)sem_post(&woken);
    }
}

static void *wait_and_write(void *unused)
{
    char why[32];
    while (sem_wait(&woken) != 0) {
    }
    (void)snprintf(why, sizeof why, "signal %d", (int)got);
    write_all(why);
    (void)sigaction(got, &(struct sigaction){.sa_handler = SIG_DFL}, NULL);
    (void)kill(process, got);
    return unused;
}

/* The signals are the other threads'. */
static bool start_thread(void)
{
    pthread_t thread;
    pthread_attr_t attributes;
    sigset_t all, before;
    (void)sigfillset(&all);
    if (pthread_attr_init(&attributes) != 0)
        return false;
    (void)pthread_attr_setstacksize(&attributes, STACK);
    (void)pthread_attr_setdetachstate(&attributes, PTHREAD_CREATE_DETACHED);
    (void)pthread_sigmask(SIG_BLOCK, &all, &before);
    bool fine = sem_init(&woken, 0, 0) == 0 && pthread_create(&thread, &attributes, wait_and_write, NULL) == 0;
    (void)pthread_sigmask(SIG_SETMASK, &before, NULL);
    (void)pthread_attr_destroy(&attributes);
    return fine;
}

static void change(void (*from)(int), void (*to)(int))
{
    struct sigaction now;
    for (size_t i = 0; i < HOP_COUNT(ending); i++) {
        if (sigaction(ending[i], NULL, &now) == 0 && !(now.sa_flags & SA_SIGINFO) && now.sa_handler == from)
            (void)sigaction(ending[i], &(struct sigaction){.sa_handler = to, .sa_flags = SA_RESTART}, NULL);
    }
}

void hop_killed_begin(void (*write)(const char *why))
{
    write_all = write;
    process = getpid();
    if (start_thread())
        change(SIG_DFL, on_signal);
}

void hop_killed_end(void)
{
    change(on_signal, SIG_DFL);
}
