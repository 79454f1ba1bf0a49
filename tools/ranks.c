/* SPDX-License-Identifier: BSD-3-Clause */
/* Being one rank of several: see ranks.h. */
#include "ranks.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "tool.h"

volatile sig_atomic_t ranks_stop;

/* SIGINT comes twice within microseconds where a launcher (timeout, a batch system) signals the process and then its
   group; only a person who presses again, this much later, means to end it without an answer. */
#define AGAIN_NS 500000000LL
#define TIMEOUT_S 10.0 /* of teams and groups */
#define LATER_S 2.0    /* at most */
#define END_S 1.0      /* after that */
#define START_S 60.0   /* of groups whose commands have no --timeout */

static volatile sig_atomic_t interrupted;
static struct timespec interrupted_at; /* written before interrupted, by the handler alone */

static void on_term(int number)
{
    (void)number;
    ranks_stop = 1;
}

static void on_interrupt(int number)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    if (!interrupted) {
        interrupted_at = now;
        interrupted = 1;
        ranks_stop = 1;
        return;
    }
    if ((now.tv_sec - interrupted_at.tv_sec) * 1000000000LL + now.tv_nsec - interrupted_at.tv_nsec >= AGAIN_NS) {
        signal(number, SIG_DFL);
        raise(number); /* takes effect when the handler returns */
    }
}

void ranks_catch(void)
{
    struct sigaction action = {.sa_handler = on_term, .sa_flags = SA_RESTART};
    ranks_stop = 0;
    interrupted = 0;
    (void)sigaction(SIGTERM, &action, NULL);
    action.sa_handler = on_interrupt;
    (void)sigaction(SIGINT, &action, NULL);
    sigset_t both; /* which whoever started this process may have blocked */
    (void)sigemptyset(&both);
    (void)sigaddset(&both, SIGTERM);
    (void)sigaddset(&both, SIGINT);
    (void)pthread_sigmask(SIG_UNBLOCK, &both, NULL);
}

static double later(double timeout_s)
{
    double own_s = timeout_s > 0 ? timeout_s : TIMEOUT_S;
    return own_s + (own_s / 2 < LATER_S ? own_s / 2 : LATER_S);
}

static struct hop_group *of_command;

static int leave(int status)
{
    return ranks_end(of_command, status);
}

void ranks_end_with(struct hop_group *group)
{
    of_command = group;
    tool_at_end(group ? leave : NULL);
}

static struct hop_group *join(struct hop_group_options options)
{
    struct hop_group *group;
    options.end_s = (options.timeout_s > 0 ? options.timeout_s : TIMEOUT_S) + END_S;
    enum hop_status status = hop_group_create(&options, &group, &tool_diag);
    if (status == HOP_ERR_LOST) { /* in the middle of MPI's start, whose handlers exit would run */
        tool_hushed = strncmp(tool_diag.what, "rank 0:", 7) != 0 && strncmp(tool_diag.what, "rank 1:", 7) != 0;
        _exit(tool_finish(tool_say(&tool_diag)));
    }
    tool_try(status);
    ranks_end_with(group);
    return group;
}

struct hop_group *ranks_join(void)
{
    return join((struct hop_group_options){.stop = &ranks_stop, .start_s = START_S});
}

struct hop_group *ranks_join_within(double timeout_s)
{
    /* Unless a time was said, MPI has as long to start as it has for every other command. */
    return join((struct hop_group_options){
        .timeout_s = later(timeout_s), .stop = &ranks_stop, .start_s = timeout_s > 0 ? 0 : START_S});
}

int ranks_end(struct hop_group *group, int status)
{
    bool others = hop_group_size(group) > 1, first = hop_group_rank(group) == 0;
    status = tool_finish(status); /* however slowly somebody reads it: once all finish, there is an end */
    if (hop_group_lost(group, NULL) < 0 && !ranks_stop && hop_group_finish(group, NULL) == HOP_OK) {
        hop_group_destroy(group);
        return first ? status : TOOL_OK; /* rank 0's counts */
    }
    /* Without a good end that of any rank may be what the launcher hands on. */
    hop_group_leave(group);
    if (others)
        _exit(status); /* exit would run MPI's own handlers, which wait for the dead */
    hop_group_destroy(group);
    return status;
}

void ranks_alone(const struct tool_command *command)
{
    struct hop_group *group = join((struct hop_group_options){.start_s = START_S});
    int size = hop_group_size(group);
    if (size > 1 && hop_group_rank(group) == 0)
        tool_bad_usage(command,
                       "mpirun started %d of it, which would disturb each other: one is expected, which starts ranks "
                       "of its own (HOPCAST_MPI=none: all the same)",
                       size);
    if (size > 1)
        tool_end(TOOL_BAD);
    ranks_end_with(NULL);
    hop_group_destroy(group);
}
