/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launch: starts the ranks of a team on this machine and sees them end.
 *
 * The launcher is no rank. It hears of a rank's death first (it is its parent) and tells the others by the board; it
 * kills those that do not end then. Should the launcher itself be killed, the kernel kills its ranks.
 */
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/pidfd.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "run/team.h"

#define TIMEOUT_S 10.0
#define GRACE_S 3.0 /* that the others have to end after a loss; less than the timeout */
enum { POLL_MS = 200 };

struct child {
    const struct launch *launch;
    uint32_t rank;
    pid_t pid;
    int pidfd; /* -1: it has ended */
    pthread_t thread;
    struct hop_watch watch;
    int result;
};

struct launch {
    const struct hop_launch_options *options;
    double timeout_s;
    char session[HOP_SESSION_SIZE];
    struct hop_shared shared;
    struct hop_board *board;
    hop_rank_body *body;
    void *context;
    struct child *children;
};

/* ---- a rank ---- */

static void pin(uint32_t rank)
{
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || CPU_COUNT(&all) == 0)
        return;
    uint32_t nth = rank % (uint32_t)CPU_COUNT(&all);
    for (int cpu = 0; cpu < CPU_SETSIZE; cpu++) {
        if (CPU_ISSET(cpu, &all) && nth-- == 0) {
            CPU_ZERO(&one);
            CPU_SET(cpu, &one);
            (void)sched_setaffinity(0, sizeof one, &one);
            return;
        }
    }
}

static int be_rank(const struct launch *launch, uint32_t rank)
{
    const struct hop_launch_options *o = launch->options;
    const struct hop_team_options options = {.timeout_s = launch->timeout_s, .stop = o->stop, .gently = o->gently};
    struct hop_team *team;
    struct hop_diag diag;
    if (hop_team_join(launch->session, rank, &options, &team, &diag) != HOP_OK) {
        hop_board_lose_with(launch->board, (int)rank, &diag);
        return 125;
    }
    int result = launch->body(team, launch->context);
    if (hop_team_lost(team) < 0)
        (void)hop_team_finish(team, NULL);
    hop_team_destroy(team);
    return result < 0 || result > 125 ? 125 : result;
}

static void *run_thread(void *context)
{
    struct child *child = context;
    child->result = be_rank(child->launch, child->rank);
    return NULL;
}

/* ---- processes ---- */

static enum hop_status start_process(struct launch *launch, struct child *child, struct hop_diag *diag)
{
    pid_t parent = getpid();
    child->pid = fork();
    if (child->pid < 0)
        return hop_fail(diag, HOP_ERR_IO, "cannot start rank %u: %s", child->rank, strerror(errno));
    if (child->pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(125);
        for (uint32_t r = 0; r < child->rank; r++) /* those before it, which it has no use for */
            (void)close(launch->children[r].pidfd);
        if (launch->options->pin)
            pin(child->rank);
        int result = be_rank(launch, child->rank);
        (void)fflush(NULL);
        _exit(result);
    }
    child->pidfd = pidfd_open(child->pid, 0);
    if (child->pidfd >= 0)
        return HOP_OK;
    int error = errno;
    (void)kill(child->pid, SIGKILL);
    while (waitpid(child->pid, NULL, 0) < 0 && errno == EINTR)
        ;
    hop_fail(diag, HOP_ERR_LIMIT, "cannot watch rank %u: %s", child->rank, strerror(error));
    if (error == EMFILE)
        hop_diag_expect(diag, "an open file for each of %u ranks: fewer ranks, or a higher limit (ulimit -n)",
                        launch->options->ranks);
    return HOP_ERR_LIMIT;
}

/* It ended: well, or is it a loss? */
static void reap(struct launch *launch, struct child *child)
{
    int status = 0;
    while (waitpid(child->pid, &status, 0) < 0 && errno == EINTR)
        ;
    (void)close(child->pidfd);
    child->pidfd = -1;
    child->result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    if (atomic_load(&launch->board->members[child->rank].phase) == HOP_MEMBER_FINISHED)
        return; /* nobody needs it any more */
    if (WIFSIGNALED(status))
        hop_board_lose_member(launch->board, child->rank, child->rank, "was killed by signal %d (%s)", WTERMSIG(status),
                              strsignal(WTERMSIG(status)));
    else
        hop_board_lose_member(launch->board, child->rank, child->rank, "ended with exit status %d", child->result);
}

static void kill_all(const struct launch *launch)
{
    for (uint32_t r = 0; r < launch->options->ranks; r++) {
        if (launch->children[r].pidfd >= 0)
            (void)kill(launch->children[r].pid, SIGKILL);
    }
}

/* A rank whose beat stands still is lost, even when no other one waits for it. */
static void watch(struct launch *launch)
{
    for (uint32_t r = 0; r < launch->options->ranks; r++) {
        if (launch->children[r].pidfd >= 0 && atomic_load(&launch->board->members[r].phase) == HOP_MEMBER_PRESENT)
            hop_board_watch(launch->board, r, r, &launch->children[r].watch, hop_now_s(), launch->timeout_s);
    }
}

/* Passes a stop on. All must end: something is lost, or they were told to stop at once. */
static bool must_end(struct launch *launch)
{
    bool stop = launch->options->stop && *launch->options->stop;
    if (stop)
        atomic_store(&launch->board->stop, true);
    return hop_board_loss(launch->board, NULL) || (stop && !launch->options->gently);
}

/* Waits a little, and reaps who has ended. How many are left. Only those that run are polled, since no more may be than
 * files may be open; should the system refuse all the same, each is asked. */
static uint32_t wait_a_little(struct launch *launch, struct pollfd *polls, struct child **polled)
{
    uint32_t running = 0, left;
    for (uint32_t r = 0; r < launch->options->ranks; r++) {
        if (launch->children[r].pidfd < 0)
            continue;
        polled[running] = &launch->children[r];
        polls[running++] = (struct pollfd){launch->children[r].pidfd, POLLIN, 0};
    }
    left = running;
    bool answered = poll(polls, running, hop_clock_wait_ms(POLL_MS)) >= 0;
    if (!answered && errno != EINTR)
        hop_sleep_s(POLL_MS * 1e-3);
    for (uint32_t i = 0; i < running; i++) {
        siginfo_t info = {0};
        bool ended = answered ? polls[i].revents != 0
                              : waitid(P_PID, (id_t)polled[i]->pid, &info, WEXITED | WNOHANG | WNOWAIT) == 0 &&
                                    info.si_pid == polled[i]->pid;
        if (!ended)
            continue;
        reap(launch, polled[i]);
        left--;
    }
    return left;
}

static void wait_processes(struct launch *launch, struct pollfd *polls, struct child **polled)
{
    double ending_s = 0;
    while (wait_a_little(launch, polls, polled) > 0) {
        watch(launch);
        if (!must_end(launch))
            continue;
        if (ending_s <= 0)
            ending_s = hop_now_s();
        if (hop_now_s() - ending_s > hop_min(GRACE_S, launch->timeout_s)) {
            struct hop_diag stopped;
            (void)hop_fail(&stopped, HOP_ERR_STOPPED, "stopped by a signal");
            hop_board_lose_with(launch->board, 0, &stopped); /* unless there is another reason */
            kill_all(launch);
        }
    }
}

static enum hop_status launch_processes(struct launch *launch, struct hop_diag *diag)
{
    struct pollfd *polls = calloc(launch->options->ranks, sizeof *polls);
    struct child **polled = calloc(launch->options->ranks, sizeof(struct child *));
    enum hop_status status = polls && polled ? HOP_OK : hop_fail_memory(diag);
    for (uint32_t r = 0; r < launch->options->ranks && status == HOP_OK; r++)
        status = start_process(launch, &launch->children[r], diag);
    if (status != HOP_OK)
        kill_all(launch);
    if (polls && polled)
        wait_processes(launch, polls, polled);
    free(polls);
    free(polled);
    return status;
}

/* ---- threads ---- */

static enum hop_status launch_threads(struct launch *launch, struct hop_diag *diag)
{
    uint32_t started = 0;
    enum hop_status status = HOP_OK;
    for (; started < launch->options->ranks && status == HOP_OK; started++) {
        struct child *child = &launch->children[started];
        int error = pthread_create(&child->thread, NULL, run_thread, child);
        if (error) {
            status = hop_fail(diag, HOP_ERR_IO, "cannot start rank %u: %s", started, strerror(error));
            hop_board_lose_with(launch->board, (int)started, diag ? diag : &(struct hop_diag){.status = status});
            break;
        }
    }
    for (uint32_t r = 0; r < started; r++)
        (void)pthread_join(launch->children[r].thread, NULL);
    return status;
}

enum hop_status hop_launch(const struct hop_launch_options *options, hop_rank_body *body, void *context, int *result,
                           struct hop_diag *diag)
{
    struct hop_launch_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct launch launch = {.options = options, .body = body, .context = context};
    launch.timeout_s = options->timeout_s > 0 ? options->timeout_s : TIMEOUT_S;
    enum hop_status status = hop_session_create(options->ranks, launch.session, diag);
    if (status != HOP_OK)
        return status;
    status = hop_shared_attach(launch.session, &launch.shared, diag);
    memcpy(launch.shared.name, launch.session, sizeof launch.shared.name); /* to be withdrawn, even if that failed */
    launch.board = launch.shared.memory;
    if (launch.board)
        launch.board->threads = options->threads;
    launch.children = calloc(options->ranks, sizeof *launch.children);
    if (status == HOP_OK && !launch.children)
        status = hop_fail_memory(diag);
    for (uint32_t r = 0; launch.children && r < options->ranks; r++)
        launch.children[r] = (struct child){.launch = &launch, .rank = r, .pidfd = -1};
    if (status == HOP_OK) {
        (void)fflush(NULL);
        status = options->threads ? launch_threads(&launch, diag) : launch_processes(&launch, diag);
    }
    *result = 0;
    for (uint32_t r = 0; launch.children && r < options->ranks; r++)
        *result = launch.children[r].result > *result ? launch.children[r].result : *result;
    const struct hop_diag *loss = launch.board ? hop_board_loss(launch.board, NULL) : NULL;
    if (status == HOP_OK && loss) {
        if (diag)
            *diag = *loss;
        status = loss->status;
    }
    launch.shared.named = true; /* gone already when all joined */
    hop_shared_finish(&launch.shared);
    free(launch.children);
    return status;
}
