/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Launch: starts the ranks of a team on this machine and sees them end.
 *
 * The launcher is no rank. It hears of a rank's death first (SIGCHLD, for which it waits) and tells the others by the
 * board; it kills those that do not end then. Should the launcher itself be killed, the kernel kills its ranks.
 */
#include <errno.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/thread.h"
#include "base/unnamed.h"
#include "run/streams.h"
#include "run/team.h"

#define TIMEOUT_S 10.0
#define GRACE_S 2.0 /* that the others have to end after a loss; less than the timeout */
#define END_S 0.2   /* that a rank which ends all has to write what it still has to */
#define CROWD 32.0  /* ranks of a processor: more of them have the longer, since each waits for its turn */
enum { LOOK_MS = 200 };

struct child {
    const struct launch *launch;
    uint32_t rank;
    pid_t pid; /* 0: it has not begun, or has ended */
    pthread_t thread;
    struct hop_beat_watch watch;
    struct hop_watch standing; /* that it is stopped */
    bool stopped;
    bool stranger; /* a program that ended without having joined */
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
    struct hop_watch joining;
    sigset_t signals; /* that were blocked before */
    struct hop_streams *streams; /* of programs */
    struct hop_diag *late; /* who was killed after it took leave */
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

/* The program takes this process; 127: there is none. */
static int be_program(const struct launch *launch, uint32_t rank)
{
    char number[16];
    char *const *program = launch->options->program;
    struct hop_diag diag;
    (void)snprintf(number, sizeof number, "%u", rank);
    if (setenv(HOP_LAUNCH_SESSION, launch->session, 1) == 0 && setenv(HOP_LAUNCH_RANK, number, 1) == 0 &&
        hop_streams_take(launch->streams, rank))
        (void)execvp(program[0], program);
    hop_fail(&diag, HOP_ERR_NOT_FOUND, "cannot start %s: %s", program[0], strerror(errno));
    hop_board_lose_with(launch->board, (int)rank, &diag);
    return 127;
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
    pid_t parent = getpid(), pid = fork();
    if (pid < 0)
        return hop_fail(diag, hop_status_of_error(errno), "cannot start rank %u: %s", child->rank, strerror(errno));
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
        if (getppid() != parent)
            _exit(125);
        (void)pthread_sigmask(SIG_SETMASK, &launch->signals, NULL);
        if (launch->options->pin)
            pin(child->rank);
        int result = launch->options->program ? be_program(launch, child->rank) : be_rank(launch, child->rank);
        (void)fflush(NULL);
        _exit(result);
    }
    child->pid = pid;
    return HOP_OK;
}

static bool is_told_to_stop(const struct launch *launch)
{
    return launch->options->stop && *launch->options->stop;
}

/* Unless there is another reason. */
static void lose_stopped(struct launch *launch)
{
    struct hop_diag stopped;
    (void)hop_board_fail_stopped(launch->board, &stopped);
    hop_board_lose_with(launch->board, 0, &stopped);
}

/* It ended: well, or is it a loss? */
static void take_leave(struct launch *launch, struct child *child, int status)
{
    child->pid = 0;
    child->result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
    int phase = atomic_load(&launch->board->members[child->rank].phase);
    bool finished = phase == HOP_MEMBER_FINISHED;
    child->stranger = launch->options->program && phase == HOP_MEMBER_ABSENT && WIFEXITED(status);
    if (child->stranger) /* nobody has met it: see watch */
        return;
    if (finished && WIFSIGNALED(status)) /* nobody needs it any more */
        (void)hop_fail(launch->late, HOP_ERR_LOST, "rank %u was killed by signal %d (%s) after it took leave",
                       child->rank, WTERMSIG(status), strsignal(WTERMSIG(status)));
    if (finished)
        return;
    if (WIFSIGNALED(status))
        hop_board_lose_member(launch->board, child->rank, child->rank, "was killed by signal %d (%s)", WTERMSIG(status),
                              strsignal(WTERMSIG(status)));
    else if (is_told_to_stop(launch) && !launch->options->gently)
        lose_stopped(launch);
    else
        hop_board_lose_member(launch->board, child->rank, child->rank, "ended with exit status %d", child->result);
}

static void kill_all(const struct launch *launch, bool only_stopped)
{
    for (uint32_t r = 0; r < launch->options->ranks; r++) {
        if (launch->children[r].pid && (launch->children[r].stopped || !only_stopped))
            (void)kill(launch->children[r].pid, SIGKILL);
    }
}

/* A rank whose beat stands still is lost, even when no other one waits for it; and one that took leave and was stopped
 * before it ended, as by a debugger, would keep us for ever. */
static void watch(struct launch *launch)
{
    bool programs = launch->options->program != NULL;
    atomic_fetch_add_explicit(&launch->board->launcher, 1, memory_order_relaxed);
    if (!programs)
        hop_board_watch_joining(launch->board, NULL, &launch->joining, launch->timeout_s);
    for (uint32_t r = 0; r < launch->options->ranks; r++) {
        struct child *child = &launch->children[r];
        if (child->stranger && atomic_load(&launch->board->joined) > 0)
            hop_board_lose(launch->board, (int)r, "rank %u ended with exit status %d before it joined the others", r,
                           child->result);
        if (programs) /* may be stopped and be silent as they like */
            continue;
        if (child->pid && atomic_load(&launch->board->members[r].phase) == HOP_MEMBER_PRESENT)
            hop_board_watch(launch->board, r, r, &child->watch, hop_now_s(), launch->timeout_s);
        if (!child->stopped)
            child->standing = (struct hop_watch){0};
        else if (hop_watch_expired(&child->standing, 0, hop_now_s(), launch->timeout_s))
            hop_board_lose_member(launch->board, r, r, "has not moved for %g s, stopped by a signal",
                                  launch->timeout_s);
    }
}

/* Passes a stop on. All must end: something is lost, or they were told to stop at once. */
static bool must_end(struct launch *launch)
{
    bool stop = is_told_to_stop(launch);
    if (stop)
        atomic_store(&launch->board->stop, true);
    return hop_board_loss(launch->board, NULL) || atomic_load(&launch->board->ended) ||
           (stop && !launch->options->gently);
}

/* It is gone, and its status with it: another part of this process asked for it, say. */
static void take_lost_status(struct launch *launch, struct child *child, int error)
{
    child->pid = 0;
    child->result = 125;
    hop_board_lose_member(launch->board, child->rank, child->rank, "ended, and its exit status is lost: %s",
                          strerror(error));
}

/* Who has ended is asked for one by one: a signal may stand for several. How many are left. */
static uint32_t reap(struct launch *launch)
{
    uint32_t left = 0;
    for (uint32_t r = 0; r < launch->options->ranks; r++) {
        struct child *child = &launch->children[r];
        int status = 0;
        pid_t ended = child->pid ? waitpid(child->pid, &status, WNOHANG | WUNTRACED | WCONTINUED) : 0;
        if (ended > 0 && (WIFSTOPPED(status) || WIFCONTINUED(status)))
            child->stopped = WIFSTOPPED(status);
        else if (ended > 0)
            take_leave(launch, child, status);
        else if (ended < 0 && errno != EINTR)
            take_lost_status(launch, child, errno);
        left += child->pid != 0;
    }
    return left;
}

static void wait_processes(struct launch *launch, const sigset_t *child_ends)
{
    const int wait_ms = hop_clock_wait_ms(LOOK_MS);
    const struct timespec wait = {wait_ms / 1000, wait_ms % 1000 * 1000000L};
    double ending_s = 0;
    for (;;) {
        (void)sigtimedwait(child_ends, NULL, &wait);
        if (reap(launch) == 0)
            return;
        watch(launch);
        if (!must_end(launch))
            continue;
        if (ending_s <= 0)
            ending_s = hop_now_s();
        double grace_s = atomic_load(&launch->board->ended) ? END_S : GRACE_S;
        bool enough = hop_now_s() - ending_s > hop_min(grace_s, launch->timeout_s);
        if (enough)
            lose_stopped(launch);
        kill_all(launch, !enough);
    }
}

/* Whoever started this process may ignore SIGCHLD and hand that on: then the system keeps no exit statuses. Returns what was set
 * before. */
static struct sigaction keep_statuses(void)
{
    struct sigaction before, now;
    (void)sigaction(SIGCHLD, NULL, &before);
    now = before;
    now.sa_flags &= ~SA_NOCLDWAIT;
    if (!(now.sa_flags & SA_SIGINFO) && now.sa_handler == SIG_IGN)
        now.sa_handler = SIG_DFL;
    (void)sigaction(SIGCHLD, &now, NULL);
    return before;
}

static enum hop_status launch_processes(struct launch *launch, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    const struct sigaction before = keep_statuses();
    sigset_t child_ends;
    (void)sigemptyset(&child_ends);
    (void)sigaddset(&child_ends, SIGCHLD);
    (void)pthread_sigmask(SIG_BLOCK, &child_ends, &launch->signals);
    uint32_t r = 0;
    for (; r < launch->options->ranks && status == HOP_OK && !must_end(launch); r++) {
        status = start_process(launch, &launch->children[r], diag);
        if (launch->streams)
            hop_streams_given(launch->streams, r);
        atomic_fetch_add_explicit(&launch->board->launcher, 1, memory_order_relaxed);
    }
    if (status == HOP_OK && launch->streams)
        status = hop_streams_begin(launch->streams, diag);
    if (status != HOP_OK)
        kill_all(launch, false);
    else if (r < launch->options->ranks)
        lose_stopped(launch);
    wait_processes(launch, &child_ends);
    (void)sigaction(SIGCHLD, &before, NULL);
    (void)pthread_sigmask(SIG_SETMASK, &launch->signals, NULL);
    return status;
}

/* ---- threads ---- */

static enum hop_status launch_threads(struct launch *launch, struct hop_diag *diag)
{
    uint32_t started = 0;
    enum hop_status status = HOP_OK;
    for (; started < launch->options->ranks && status == HOP_OK; started++) {
        struct child *child = &launch->children[started];
        int error = hop_thread_create(&child->thread, run_thread, child);
        if (error) {
            status = hop_fail(diag, hop_status_of_error(error), "cannot start rank %u: %s", started, strerror(error));
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
    struct launch launch = {.options = options, .body = body, .context = context, .late = diag};
    bool each_has_one;
    launch.timeout_s = options->timeout_s > 0 ? options->timeout_s : TIMEOUT_S;
    launch.timeout_s *= hop_max(hop_team_crowd(options->ranks, &each_has_one) / CROWD, 1);
    const bool unnamed = hop_unnamed_use(true); /* all ranks are started here, and see each other */
    enum hop_status status = hop_session_create(options->ranks, launch.session, diag);
    if (status != HOP_OK) {
        (void)hop_unnamed_use(unnamed);
        return status;
    }
    status = hop_shared_attach(launch.session, &launch.shared, diag);
    memcpy(launch.shared.name, launch.session, sizeof launch.shared.name); /* to be withdrawn, even if that failed */
    launch.board = launch.shared.memory;
    if (launch.board)
        launch.board->threads = options->threads;
    if (launch.board)
        launch.board->launcher_pid = (long)getpid();
    launch.children = calloc(options->ranks, sizeof *launch.children);
    if (status == HOP_OK && !launch.children)
        status = hop_fail_memory(diag);
    for (uint32_t r = 0; launch.children && r < options->ranks; r++)
        launch.children[r] = (struct child){.launch = &launch, .rank = r};
    if (status == HOP_OK && options->program)
        status = hop_streams_create(options, &launch.streams, diag);
    if (status == HOP_OK) {
        (void)fflush(NULL);
        status = options->threads ? launch_threads(&launch, diag) : launch_processes(&launch, diag);
    }
    hop_streams_destroy(launch.streams);
    *result = 0;
    for (uint32_t r = 0; launch.children && r < options->ranks; r++)
        *result = launch.children[r].result > *result ? launch.children[r].result : *result;
    const struct hop_diag *loss = launch.board ? hop_board_loss(launch.board, NULL) : NULL;
    int ended = launch.board ? atomic_load(&launch.board->ended) : 0;
    if (ended) { /* what became of the others is no loss */
        *result = ended - 1;
        loss = NULL;
    }
    if (status == HOP_OK && loss) {
        status = loss->status;
        if (status == HOP_ERR_STOPPED && is_told_to_stop(&launch))
            (void)hop_fail(diag, status, "stopped by a signal"); /* whichever rank got it, too */
        else if (diag)
            *diag = *loss;
    }
    launch.shared.named = true; /* gone already when all joined */
    hop_shared_finish(&launch.shared);
    if (status != HOP_OK)
        (void)hop_shared_sweep(); /* of ranks that were lost */
    free(launch.children);
    (void)hop_unnamed_use(unnamed);
    return status;
}
