/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Streams: what the programs of a launch read and write.
 *
 *     standard input  -> spool -> a pipe to each rank           (to all; else one rank inherits it, the others have none)
 *     a pipe of each rank -> its unfinished line -> standard output, standard error
 *
 * Programs write blocks of 4 KiB to what is no terminal, and lines of several would be cut where these end. A thread of the
 * launcher passes on whole lines; to a terminal, where programs write line by line, they write themselves.
 */
#include "run/streams.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/thread.h"

enum { BLOCK = 65536, LINE_MOST = 1 << 20, LOOK_MS = 100, OUTPUTS = 2 };
#define SPOOL_MOST ((off_t)1 << 30) /* that one rank is behind another */

/* A pipe: the launcher's end, the rank's end; -1: closed. */
struct channel {
    int ours, theirs;
    off_t had;    /* input: of the spool */
    char *line;   /* output: read, but not passed on */
    size_t bytes; /* of it */
};

struct hop_streams {
    const struct hop_launch_options *options;
    struct channel *inputs;           /* per rank; NULL: not to all */
    struct channel *outputs[OUTPUTS]; /* of standard output and standard error; NULL: inherited */
    bool same;                        /* both are one file: the first is for both */
    int none;                         /* an input without bytes; -1: nobody has it */
    int spool;
    off_t spooled, released;
    bool ended; /* the input */
    int wake[2];
    bool runs;
    pthread_t thread;
    atomic_bool stop;
    struct pollfd *polls;
    struct rlimit files; /* before */
};

/* ---- making ---- */

/* Of so many pipes the system may have too few files to spare, which the programs need not see. */
static void raise_limit(struct hop_streams *streams)
{
    struct rlimit most;
    (void)getrlimit(RLIMIT_NOFILE, &streams->files);
    most = streams->files;
    most.rlim_cur = most.rlim_max;
    (void)setrlimit(RLIMIT_NOFILE, &most);
}

static enum hop_status open_channels(uint32_t ranks, bool to_rank, struct channel **channels, struct hop_diag *diag)
{
    *channels = calloc(ranks, sizeof **channels);
    if (!*channels)
        return hop_fail_memory(diag);
    for (uint32_t r = 0; r < ranks; r++)
        (*channels)[r] = (struct channel){.ours = -1, .theirs = -1};
    for (uint32_t r = 0; r < ranks; r++) {
        struct channel *channel = &(*channels)[r];
        int ends[2];
        if (pipe2(ends, O_CLOEXEC) != 0)
            return hop_fail(diag, HOP_ERR_LIMIT, "no pipe to rank %u: %s\nfewer ranks, or a larger ulimit -n", r,
                            strerror(errno));
        channel->ours = ends[to_rank];
        channel->theirs = ends[!to_rank];
        (void)fcntl(channel->ours, F_SETFL, O_NONBLOCK);
    }
    return HOP_OK;
}

/* A file, a pipe or a socket, in which lines of several meet. */
static bool is_shared(int fd, struct stat *info)
{
    return fstat(fd, info) == 0 && (S_ISREG(info->st_mode) || S_ISFIFO(info->st_mode) || S_ISSOCK(info->st_mode));
}

static enum hop_status open_outputs(struct hop_streams *streams, struct hop_diag *diag)
{
    struct stat info[OUTPUTS];
    bool shared[OUTPUTS];
    for (int o = 0; o < OUTPUTS; o++)
        shared[o] = is_shared(STDOUT_FILENO + o, &info[o]);
    streams->same = shared[0] && shared[1] && info[0].st_dev == info[1].st_dev && info[0].st_ino == info[1].st_ino;
    for (int o = 0; o < OUTPUTS; o++) {
        if (shared[o] && !(o > 0 && streams->same))
            HOP_CHECK(open_channels(streams->options->ranks, false, &streams->outputs[o], diag));
    }
    return HOP_OK;
}

static enum hop_status open_inputs(struct hop_streams *streams, struct hop_diag *diag)
{
    if (streams->options->input == HOP_INPUT_SHARED)
        return HOP_OK;
    if (streams->options->input != HOP_INPUT_ALL) {
        streams->none = open("/dev/null", O_RDONLY | O_CLOEXEC);
        return streams->none >= 0 ? HOP_OK : hop_fail(diag, HOP_ERR_IO, "cannot open /dev/null: %s", strerror(errno));
    }
    streams->spool = memfd_create("hopcast-input", MFD_CLOEXEC);
    if (streams->spool < 0)
        return hop_fail(diag, hop_status_of_error(errno), "no memory for standard input: %s", strerror(errno));
    return open_channels(streams->options->ranks, true, &streams->inputs, diag);
}

enum hop_status hop_streams_create(const struct hop_launch_options *options, struct hop_streams **out,
                                   struct hop_diag *diag)
{
    struct hop_streams *streams = calloc(1, sizeof *streams);
    if (!streams)
        return hop_fail_memory(diag);
    *streams = (struct hop_streams){.options = options, .none = -1, .spool = -1, .wake = {-1, -1}};
    raise_limit(streams);
    streams->polls = calloc(1 + (size_t)options->ranks * (1 + OUTPUTS) + 1, sizeof *streams->polls);
    enum hop_status status = streams->polls ? open_inputs(streams, diag) : hop_fail_memory(diag);
    if (status == HOP_OK && options->whole_lines && options->ranks > 1)
        status = open_outputs(streams, diag);
    if (status == HOP_OK && pipe2(streams->wake, O_CLOEXEC) != 0)
        status = hop_fail(diag, HOP_ERR_LIMIT, "no pipe: %s\nfewer ranks, or a larger ulimit -n", strerror(errno));
    if (status == HOP_OK)
        *out = streams;
    else
        hop_streams_destroy(streams);
    return status;
}

bool hop_streams_take(struct hop_streams *streams, uint32_t rank)
{
    const struct hop_launch_options *options = streams->options;
    int input = streams->inputs ? streams->inputs[rank].theirs : streams->none;
    bool has_own =
        options->input == HOP_INPUT_SHARED || (options->input == HOP_INPUT_ONE && options->input_rank == rank);
    bool fine = has_own || dup2(input, STDIN_FILENO) >= 0;
    for (int o = 0; o < OUTPUTS; o++) {
        const struct channel *of = streams->outputs[streams->same ? 0 : o];
        fine = fine && (!of || dup2(of[rank].theirs, STDOUT_FILENO + o) >= 0);
    }
    return setrlimit(RLIMIT_NOFILE, &streams->files) == 0 && fine;
}

static void close_end(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

void hop_streams_given(struct hop_streams *streams, uint32_t rank)
{
    if (streams->inputs)
        close_end(&streams->inputs[rank].theirs);
    for (int o = 0; o < OUTPUTS; o++) {
        if (streams->outputs[o])
            close_end(&streams->outputs[o][rank].theirs);
    }
}

/* ---- passing on ---- */

/* Pieces that a pipe takes at once where it takes any: who reads nothing does not keep the launcher from its end. */
static bool put(struct hop_streams *streams, int fd, const char *bytes, size_t size)
{
    while (size > 0) {
        struct pollfd poll_fd = {.fd = fd, .events = POLLOUT};
        const volatile sig_atomic_t *stop = streams->options->stop;
        if (poll(&poll_fd, 1, LOOK_MS) == 0) {
            if (stop && *stop && atomic_load(&streams->stop))
                return false;
            continue;
        }
        ssize_t done = write(fd, bytes, size < PIPE_BUF ? size : PIPE_BUF);
        if (done < 0 && errno != EINTR && errno != EAGAIN)
            return false;
        bytes += done > 0 ? done : 0;
        size -= done > 0 ? (size_t)done : 0;
    }
    return true;
}

/* The lines that are whole, and what is too long for one; at its end all. false: nothing is there now. */
static bool pass_output(struct hop_streams *streams, struct channel *channel, int fd)
{
    if (!channel->line)
        channel->line = malloc(LINE_MOST);
    if (!channel->line || channel->ours < 0)
        return false;
    ssize_t had = read(channel->ours, channel->line + channel->bytes, LINE_MOST - channel->bytes);
    if (had < 0)
        return errno == EINTR;
    channel->bytes += (size_t)had;
    const char *last = had > 0 ? memrchr(channel->line, '\n', channel->bytes) : NULL;
    size_t whole = last ? (size_t)(last + 1 - channel->line) : 0;
    if (had == 0 || (!last && channel->bytes == LINE_MOST))
        whole = channel->bytes;
    bool fine = put(streams, fd, channel->line, whole);
    channel->bytes -= whole;
    memmove(channel->line, channel->line + whole, channel->bytes);
    if (had == 0 || !fine) /* who writes more gets SIGPIPE, as from the file itself */
        close_end(&channel->ours);
    return true;
}

static void spool_more(struct hop_streams *streams)
{
    static char block[BLOCK];
    ssize_t had = read(STDIN_FILENO, block, sizeof block);
    if (had > 0 && pwrite(streams->spool, block, (size_t)had, streams->spooled) == had)
        streams->spooled += had;
    else if (had >= 0 || (errno != EINTR && errno != EAGAIN))
        streams->ended = true;
}

static void pass_input(struct hop_streams *streams, struct channel *channel)
{
    static char block[BLOCK];
    ssize_t had = pread(streams->spool, block, sizeof block, channel->had);
    ssize_t done = had > 0 ? write(channel->ours, block, (size_t)had) : had;
    if (done > 0)
        channel->had += done;
    else if (done == 0 || (errno != EINTR && errno != EAGAIN))
        close_end(&channel->ours);
}

static void ask(struct hop_streams *streams, uint32_t *count, int fd, short events)
{
    streams->polls[(*count)++] = (struct pollfd){.fd = fd, .events = events};
}

/* More is read once the first of those that read has all there is, unless the last is too far behind. */
static void ask_of_input(struct hop_streams *streams, uint32_t *count)
{
    off_t first = 0, last = streams->spooled;
    uint32_t open = 0;
    for (uint32_t r = 0; r < streams->options->ranks; r++) {
        struct channel *channel = &streams->inputs[r];
        if (channel->ours >= 0 && streams->ended && channel->had == streams->spooled)
            close_end(&channel->ours);
        ask(streams, count, channel->ours, channel->had < streams->spooled ? POLLOUT : 0);
        if (channel->ours < 0)
            continue;
        open++;
        first = channel->had > first ? channel->had : first;
        last = channel->had < last ? channel->had : last;
    }
    if (last - streams->released >= LINE_MOST &&
        fallocate(streams->spool, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 0, last) == 0)
        streams->released = last;
    bool more = open > 0 && !streams->ended && first == streams->spooled && streams->spooled - last < SPOOL_MOST;
    ask(streams, count, more ? STDIN_FILENO : -1, POLLIN);
}

static void pass_on(struct hop_streams *streams)
{
    const uint32_t ranks = streams->options->ranks;
    uint32_t count = 0;
    ask(streams, &count, streams->wake[0], POLLIN);
    for (int o = 0; o < OUTPUTS; o++) {
        for (uint32_t r = 0; streams->outputs[o] && r < ranks; r++)
            ask(streams, &count, streams->outputs[o][r].ours, POLLIN);
    }
    if (streams->inputs)
        ask_of_input(streams, &count);
    if (poll(streams->polls, count, -1) <= 0)
        return;
    const struct pollfd *at = streams->polls + 1;
    for (int o = 0; o < OUTPUTS; o++) {
        for (uint32_t r = 0; streams->outputs[o] && r < ranks; r++, at++) {
            if (at->revents)
                (void)pass_output(streams, &streams->outputs[o][r], STDOUT_FILENO + o);
        }
    }
    for (uint32_t r = 0; streams->inputs && r < ranks; r++, at++) {
        if (at->revents & POLLERR) /* it reads no more */
            close_end(&streams->inputs[r].ours);
        else if (at->revents)
            pass_input(streams, &streams->inputs[r]);
    }
    if (streams->inputs && at->revents)
        spool_more(streams);
}

static void *run_thread(void *context)
{
    struct hop_streams *streams = context;
    while (!atomic_load(&streams->stop))
        pass_on(streams);
    return NULL;
}

enum hop_status hop_streams_begin(struct hop_streams *streams, struct hop_diag *diag)
{
    if (!streams->inputs && !streams->outputs[0] && !streams->outputs[1])
        return HOP_OK;
    /* without signals: a reader that has gone is an error here, and they are the launcher's */
    int error = hop_thread_start(&streams->thread, run_thread, streams);
    streams->runs = error == 0;
    return error == 0 ? HOP_OK
                      : hop_fail(diag, hop_status_of_error(error), "cannot start a thread: %s", strerror(error));
}

/* ---- the end ---- */

/* What is in the pipe, and the line without an end; processes that the rank left behind may have the pipe still. */
static void drain(struct hop_streams *streams, struct channel *channel, int fd)
{
    while (pass_output(streams, channel, fd))
        ;
    if (channel->ours >= 0 && channel->bytes > 0)
        (void)put(streams, fd, channel->line, channel->bytes);
}

static void destroy_channels(struct hop_streams *streams, struct channel *channels)
{
    for (uint32_t r = 0; channels && r < streams->options->ranks; r++) {
        close_end(&channels[r].ours);
        close_end(&channels[r].theirs);
        free(channels[r].line);
    }
    free(channels);
}

void hop_streams_destroy(struct hop_streams *streams)
{
    if (!streams)
        return;
    atomic_store(&streams->stop, true);
    close_end(&streams->wake[1]);
    if (streams->runs)
        (void)pthread_join(streams->thread, NULL);
    for (int o = 0; o < OUTPUTS; o++) {
        for (uint32_t r = 0; streams->runs && streams->outputs[o] && r < streams->options->ranks; r++)
            drain(streams, &streams->outputs[o][r], STDOUT_FILENO + o);
        destroy_channels(streams, streams->outputs[o]);
    }
    destroy_channels(streams, streams->inputs);
    close_end(&streams->wake[0]);
    close_end(&streams->none);
    close_end(&streams->spool);
    (void)setrlimit(RLIMIT_NOFILE, &streams->files);
    free(streams->polls);
    free(streams);
}
