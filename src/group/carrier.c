/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Carrier: the thread of a group that calls MPI.
 *
 * It goes round: post what the caller sends, look for what arrives, hand that over, tell rank 0 (rank 0: everyone) that
 * we live, and sleep. Asleep it wakes for the caller at once. MPI cannot wake anyone, so it looks: 20 to 100 us later
 * while messages move, up to 5 ms later when none does.
 *
 * Ranks talk about themselves in control messages, all to or from rank 0, so their number grows with the ranks, not
 * with their square.
 */
#include "group/group.h"

#include <math.h>
#include <stdio.h>

enum {
    CONTROL_TAG = 32767, /* the largest that every MPI has */
    MOVING_LIMIT = 1024, /* messages posted to MPI, each way */
    ARRIVAL_LIMIT = 64,  /* looked for in one round */
    IDLE_SHORTEST_US = 20,
    IDLE_MOVING_US = 100,
    IDLE_LONGEST_US = 5000,
};
#define BEAT_S 0.5      /* or a fifth of the timeout */
#define FAREWELL_S 0.25 /* that the last words have */

enum control {
    BEAT,    /* I live */
    LOST,    /* `rank` is lost, or gives up */
    LEAVE,   /* I leave */
    ENTER,   /* to rank 0: I am in the barrier */
    RELEASE, /* from rank 0: all are */
    DONE     /* to rank 0: I finish, this is my last word; from rank 0: so do all */
};

struct control_message {
    int32_t kind, rank;
    struct hop_diag reason; /* LOST: where somebody gave one; else empty, and only kind and rank are sent */
};
#define PLAIN_SIZE offsetof(struct control_message, reason)

/* ---- losses ---- */

static void say(struct hop_group *group, int to, const struct control_message *content, size_t size);

/* To rank 0, or from it to all. reason NULL: none is known. */
static void tell_loss(struct hop_group *group, int rank, const struct hop_diag *reason)
{
    struct control_message content = {.kind = LOST, .rank = rank};
    if (reason)
        content.reason = *reason;
    for (int to = 0; to < group->size; to++) {
        if ((group->rank == 0) != (to == 0))
            say(group, to, &content, reason ? sizeof content : PLAIN_SIZE);
    }
}

/* The first loss is the one that the caller hears of and the others are told. */
static void report(struct hop_group *group, int rank, const struct hop_diag *why, bool reasoned)
{
    (void)pthread_mutex_lock(&group->lock);
    bool first = group->lost < 0;
    if (first) {
        group->lost = rank;
        group->loss = *why;
    }
    if (rank == 0 && (!reasoned || group->peers[0].gone)) /* who gives up leaves later */
        group->head_gone = true;
    (void)pthread_cond_broadcast(&group->for_callers);
    (void)pthread_mutex_unlock(&group->lock);
    if (first && rank != group->rank)
        tell_loss(group, rank, reasoned ? why : NULL);
}

/* From now on nothing is sent to that rank. */
static void lose(struct hop_group *group, int rank, const char *format, ...) HOP_PRINTF(3, 4);
static void lose(struct hop_group *group, int rank, const char *format, ...)
{
    char text[256];
    struct hop_diag why;
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    if (group->peers && group->peers[rank].gone)
        return;
    if (group->peers)
        group->peers[rank].gone = true;
    (void)hop_fail(&why, rank == group->rank ? HOP_ERR_IO : HOP_ERR_LOST, "%s", text);
    report(group, rank, &why, false);
}

/* That rank leaves; until rank 0 has left too, it lives and waits for that. */
static void let_go(struct hop_group *group, int rank)
{
    struct hop_diag why;
    (void)hop_fail(&why, HOP_ERR_STOPPED, "rank %d left", rank);
    group->peers[rank].leaves = true;
    report(group, rank, &why, false);
}

/* Somebody says that a rank is lost. One that says it of itself gives up: it lives, and leaves next. */
static void believe(struct hop_group *group, int from, const struct control_message *said)
{
    if (said->rank < 0 || said->rank >= group->size || said->rank == group->rank)
        return;
    if (!said->reason.what[0]) {
        lose(group, said->rank, "rank %d is lost, says rank %d", said->rank, from);
        return;
    }
    if (said->rank == from)
        group->peers[from].leaves = true;
    else
        group->peers[said->rank].gone = true;
    report(group, said->rank, &said->reason, true);
}

/* What the caller found out itself. */
static void pass_reason_on(struct hop_group *group)
{
    (void)pthread_mutex_lock(&group->lock);
    int rank = group->given;
    struct hop_diag reason = group->reason;
    bool known = group->lost >= 0;
    (void)pthread_mutex_unlock(&group->lock);
    if (rank < 0 || group->told_reason)
        return;
    group->told_reason = true;
    if (rank != group->rank) {
        group->peers[rank].gone = true;
        report(group, rank, &reason, true);
    } else if (!known) {
        tell_loss(group, rank, &reason);
    }
}

/* This process is cut off from the others. */
static void lose_mpi(struct hop_group *group, int error)
{
    char text[256];
    group->mpi->describe(error, text, sizeof text);
    lose(group, group->rank, "%s failed: %s", group->carrier, text);
}

/* ---- sending ---- */

/* Takes the message. What goes to the dead is dropped. */
static bool post(struct hop_group *group, struct hop_message *message)
{
    int peer = message->peer, error = 0;
    if (!group->peers[peer].gone) {
        error = group->mpi->send(peer, message->tag, message->bytes, message->size_bytes, &message->request);
        if (!error) {
            hop_messages_put(&group->sending, message);
            return true;
        }
    }
    hop_message_destroy(message);
    if (error)
        lose(group, peer, "the connection to rank %d broke", peer);
    return false;
}

static void say(struct hop_group *group, int to, const struct control_message *content, size_t size)
{
    struct hop_message *message = hop_message_create(to, CONTROL_TAG, content, size);
    if (!message) {
        lose(group, group->rank, "out of memory");
        return;
    }
    if (post(group, message)) {
        group->peers[to].told_s = hop_now_s();
        if (content->kind == BEAT)
            group->peers[to].beat = message;
    }
}

static void tell(struct hop_group *group, int to, enum control kind)
{
    const struct control_message content = {.kind = kind};
    say(group, to, &content, PLAIN_SIZE);
}

static void tell_all(struct hop_group *group, enum control kind)
{
    for (int to = 1; to < group->size; to++)
        tell(group, to, kind);
}

/* Posts what the caller sent; the wish as it stands now. */
static enum hop_group_wish take_orders(struct hop_group *group, unsigned *entered)
{
    struct hop_mail taken;
    hop_messages_init(&taken);
    (void)pthread_mutex_lock(&group->lock);
    enum hop_group_wish wish = group->wish;
    *entered = group->barriers_entered;
    group->ticks++;
    group->ordered = false;
    while (group->outbox.first && group->sending.count + taken.count < MOVING_LIMIT)
        hop_messages_put(&taken, hop_messages_take(&group->outbox, &group->outbox.first));
    (void)pthread_mutex_unlock(&group->lock);
    struct hop_message *message;
    while ((message = hop_messages_take(&taken, &taken.first)) != NULL) {
        group->idle = 0;
        (void)post(group, message);
    }
    return wish;
}

/* What a loss adds meanwhile stands behind, and is looked at too. */
static void progress_sends(struct hop_group *group)
{
    for (struct hop_message **at = &group->sending.first, *message; (message = *at) != NULL;) {
        int rank = message->peer;
        bool done = false;
        int error = group->mpi->test(&message->request, &done);
        if (!done && !error) {
            at = &message->next;
            continue;
        }
        (void)hop_messages_take(&group->sending, at);
        if (group->peers[rank].beat == message)
            group->peers[rank].beat = NULL;
        if (done)
            hop_message_destroy(message);
        else
            hop_messages_put(&group->broken, message); /* MPI may still read it */
        if (error)
            lose(group, rank, "the connection to rank %d broke", rank);
        group->idle = 0;
    }
}

/* ---- receiving ---- */

static void hear(struct hop_group *group, int from, const struct control_message *said)
{
    switch ((enum control)said->kind) {
    case BEAT:
        break;
    case LOST:
        believe(group, from, said);
        break;
    case LEAVE:
        let_go(group, from);
        break;
    case ENTER:
        group->entries++;
        break;
    case RELEASE:
        (void)pthread_mutex_lock(&group->lock);
        group->barriers_passed++;
        (void)pthread_cond_broadcast(&group->for_callers);
        (void)pthread_mutex_unlock(&group->lock);
        break;
    case DONE:
        group->peers[from].done = true;
        break;
    }
}

/* Starts to receive one message that arrived, if any. */
static bool accept_one(struct hop_group *group, int tag)
{
    bool arrived = false;
    struct hop_mpi_arrival arrival = {0};
    int error = group->mpi->probe(tag, &arrived, &arrival);
    if (!error && arrived) {
        struct hop_message *message = hop_message_create(arrival.from, arrival.tag, NULL, arrival.size_bytes);
        if (!message) {
            lose(group, group->rank, "no memory for %zu bytes from rank %d", arrival.size_bytes, arrival.from);
            return false;
        }
        error = group->mpi->receive(&arrival, message->bytes, &message->request);
        hop_messages_put(error ? &group->broken : &group->arriving, message);
        group->peers[arrival.from].heard++;
        group->idle = 0;
    }
    if (error)
        lose_mpi(group, error);
    return !error && arrived;
}

/* Control messages come first and always; others while the caller takes them. */
static void accept_arrivals(struct hop_group *group)
{
    (void)pthread_mutex_lock(&group->lock);
    bool full = group->inbox.bytes >= HOP_GROUP_WAITING_BYTES_MAX && !group->starves;
    (void)pthread_mutex_unlock(&group->lock);
    unsigned left = ARRIVAL_LIMIT;
    while (left > 0 && accept_one(group, CONTROL_TAG))
        left--;
    while (left > 0 && !full && group->arriving.count < MOVING_LIMIT &&
           group->arriving.bytes < HOP_GROUP_WAITING_BYTES_MAX && accept_one(group, HOP_MPI_TAG_ANY))
        left--;
}

/* Takes a control message, and what it says. */
static void hear_message(struct hop_group *group, struct hop_message *message)
{
    struct control_message said = {.kind = BEAT};
    memcpy(&said, message->bytes, message->size_bytes < sizeof said ? message->size_bytes : sizeof said);
    said.reason.place[sizeof said.reason.place - 1] = said.reason.what[sizeof said.reason.what - 1] =
        said.reason.expected[sizeof said.reason.expected - 1] = '\0';
    hear(group, message->peer, &said);
    hop_message_destroy(message);
}

/* Hands over what is complete, each sender's messages in their order. */
static void progress_arrivals(struct hop_group *group)
{
    for (struct hop_message **at = &group->arriving.first, *message; (message = *at) != NULL;) {
        struct hop_peer *peer = &group->peers[message->peer];
        bool control = message->tag == CONTROL_TAG;
        int error = message->done ? 0 : group->mpi->test(&message->request, &message->done);
        if (!error && (!message->done || (!control && peer->blocked == group->round))) {
            if (!control)
                peer->blocked = group->round;
            at = &message->next;
            continue;
        }
        (void)hop_messages_take(&group->arriving, at);
        if (error) {
            hop_messages_put(&group->broken, message);
            lose(group, message->peer, "the connection to rank %d broke", message->peer);
        } else if (control) {
            hear_message(group, message);
        } else {
            (void)pthread_mutex_lock(&group->lock);
            hop_messages_put(&group->inbox, message);
            (void)pthread_cond_broadcast(&group->for_callers);
            (void)pthread_mutex_unlock(&group->lock);
        }
    }
}

/* ---- living and dying ---- */

/* Rank 0 and each other rank watch each other. */
static void watch_peers(struct hop_group *group)
{
    double now_s = hop_now_s(), beat_s = hop_min(BEAT_S, group->timeout_s / 5);
    int first = group->rank == 0 ? 1 : 0, end = group->rank == 0 ? group->size : 1;
    for (int i = first; i < end; i++) {
        struct hop_peer *peer = &group->peers[i];
        if (peer->gone)
            continue;
        if (!peer->done && !peer->leaves && hop_watch_expired(&peer->watch, peer->heard, now_s, group->timeout_s))
            lose(group, i, "rank %d was not heard of for %g s", i, group->timeout_s);
        if (!group->told_done && !peer->beat && now_s - peer->told_s > beat_s)
            tell(group, i, BEAT);
    }
}

static void pass_barrier(struct hop_group *group, unsigned entered)
{
    if (entered == group->barriers_told)
        return;
    if (group->rank != 0) {
        tell(group, 0, ENTER);
        group->barriers_told = entered;
    } else if (group->entries == (unsigned)group->size - 1) {
        group->entries = 0;
        group->barriers_told = entered;
        tell_all(group, RELEASE);
        hear(group, 0, &(struct control_message){.kind = RELEASE});
    }
}

/* Nothing is left to be sent to the living. */
static bool is_flushed(struct hop_group *group)
{
    for (const struct hop_message *message = group->sending.first; message; message = message->next) {
        if (!group->peers[message->peer].gone)
            return false;
    }
    (void)pthread_mutex_lock(&group->lock);
    bool flushed = !group->outbox.first;
    (void)pthread_mutex_unlock(&group->lock);
    return flushed;
}

/* Nobody is left to miss a rank that is stopped between MPI's last barrier and its end: the kernel ends it then. */
static void set_end(const struct hop_group *group)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    const struct itimerspec end = {.it_value = {(time_t)group->end_s, (long)(fmod(group->end_s, 1) * 1e9)}};
    timer_t timer;
    if (group->end_s > 0 && timer_create(CLOCK_MONOTONIC, &event, &timer) == 0)
        (void)timer_settime(timer, 0, &end, NULL);
}

/* One step towards the end: all tell rank 0, rank 0 tells all, and then none has anything on the way. */
static bool has_finished(struct hop_group *group)
{
    bool all_done = true;
    if (!is_flushed(group))
        return false;
    for (int i = 0; i < group->size; i++)
        all_done = all_done && (group->peers[i].done || (group->rank == 0 ? i == 0 : i != 0));
    if (!group->told_done && (group->rank != 0 || all_done)) {
        group->told_done = true;
        if (group->rank == 0)
            tell_all(group, DONE);
        else
            tell(group, 0, DONE);
        return false;
    }
    if (!all_done || !group->told_done)
        return false;
    set_end(group);
    int error = group->mpi->finish();
    if (error)
        lose_mpi(group, error);
    return !error;
}

/* The last words, sent for as long as FAREWELL_S. */
static void part(struct hop_group *group)
{
    double until_s = hop_now_s() + FAREWELL_S;
    if (group->rank == 0)
        tell_all(group, LEAVE);
    while (!is_flushed(group) && hop_now_s() < until_s) {
        progress_sends(group);
        hop_sleep_s(IDLE_SHORTEST_US * 1e-6);
    }
}

static void rest(struct hop_group *group)
{
    unsigned longest = group->sending.first || group->arriving.first ? IDLE_MOVING_US : IDLE_LONGEST_US;
    group->idle = group->idle ? group->idle * 2 : IDLE_SHORTEST_US;
    if (group->idle > longest)
        group->idle = longest;
    const struct timespec at = hop_clock_until(hop_now_s() + group->idle * 1e-6);
    (void)pthread_mutex_lock(&group->lock);
    if (!group->ordered)
        (void)pthread_cond_timedwait(&group->for_carrier, &group->lock, &at);
    (void)pthread_mutex_unlock(&group->lock);
}

static void enter_phase(struct hop_group *group, enum hop_group_phase phase)
{
    (void)pthread_mutex_lock(&group->lock);
    group->phase = phase;
    (void)pthread_cond_broadcast(&group->for_callers);
    (void)pthread_mutex_unlock(&group->lock);
}

static enum hop_group_phase go_round(struct hop_group *group)
{
    for (;;) {
        unsigned entered;
        enum hop_group_wish wish = take_orders(group, &entered);
        group->round++;
        progress_sends(group);
        accept_arrivals(group);
        progress_arrivals(group);
        watch_peers(group);
        pass_barrier(group, entered);
        pass_reason_on(group);
        if (wish == HOP_GROUP_FINISH && has_finished(group))
            return HOP_GROUP_FINISHED;
        if (wish == HOP_GROUP_LEAVE && !group->told_leave) {
            group->told_leave = true;
            tell(group, 0, LEAVE);
        }
        if (wish == HOP_GROUP_STOP) {
            part(group);
            return HOP_GROUP_LEFT;
        }
        rest(group);
    }
}

void *hop_group_carry(void *argument)
{
    struct hop_group *group = argument;
    int rank = 0, size = 1;
    int error = group->mpi->start(&rank, &size);
    if (!error) {
        group->rank = rank;
        group->size = size;
        group->peers = calloc((size_t)size, sizeof *group->peers);
    }
    if (error || !group->peers) {
        if (error)
            lose_mpi(group, error);
        else
            lose(group, rank, "out of memory");
        enter_phase(group, HOP_GROUP_FAILED);
        return NULL;
    }
    enter_phase(group, HOP_GROUP_RUNS);
    enter_phase(group, go_round(group));
    return NULL;
}
