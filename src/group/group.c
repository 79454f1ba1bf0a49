/* SPDX-License-Identifier: BSD-3-Clause */
/* Group: the caller's side. Every wait ends at a loss, when stop is set, or when the carrier's thread no longer comes
 * back from MPI. */
#include "group/group.h"
#include "base/thread.h"

#include <math.h>
#include <stdatomic.h>
#include <stdio.h>

#define TIMEOUT_S 10.0
#define SLICE_S 0.05  /* between two looks at stop */
#define PARTING_S 0.5 /* that the carrier has to come back from MPI */

/* ---- time ---- */

/* With the lock held: waits for the carrier, until_s at most. */
static void sleep_until(struct hop_group *group, double until_s)
{
    const struct timespec at = hop_clock_until(hop_min(until_s, hop_now_s() + SLICE_S));
    (void)pthread_cond_timedwait(&group->for_callers, &group->lock, &at);
}

/* With the lock held. A carrier that stays in MPI for the whole timeout never comes back: this rank is cut off. */
static bool is_lost(struct hop_group *group)
{
    if (group->mpi && group->lost < 0 && group->phase == HOP_GROUP_RUNS &&
        hop_watch_expired(&group->carrier_watch, group->ticks, hop_now_s(), group->timeout_s)) {
        group->lost = group->rank;
        (void)hop_fail(&group->loss, HOP_ERR_IO, "%s has not come back from a call for %g s", group->carrier,
                       group->timeout_s);
    }
    return group->lost >= 0;
}

/* With the lock held. */
static bool is_interrupted(struct hop_group *group)
{
    return is_lost(group) || (group->stop && *group->stop);
}

/* With the lock held, after is_interrupted: why. */
static enum hop_status fail_interrupted(const struct hop_group *group, struct hop_diag *diag)
{
    if (group->lost < 0)
        return hop_fail(diag, HOP_ERR_STOPPED, "stopped while waiting for the other ranks");
    if (diag)
        *diag = group->loss;
    return group->loss.status;
}

/* ---- start and end ---- */

static void release(struct hop_group *group)
{
    hop_messages_finish(&group->inbox);
    hop_messages_finish(&group->outbox);
    hop_messages_finish(&group->sending);
    hop_messages_finish(&group->arriving);
    hop_messages_finish(&group->broken);
    (void)pthread_mutex_destroy(&group->lock);
    (void)pthread_cond_destroy(&group->for_callers);
    (void)pthread_cond_destroy(&group->for_carrier);
    free(group->peers);
    free(group);
}

static struct hop_group *allocate(void)
{
    struct hop_group *group = calloc(1, sizeof *group);
    pthread_condattr_t monotonic;
    if (!group || pthread_condattr_init(&monotonic) != 0) {
        free(group);
        return NULL;
    }
    (void)pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
    (void)pthread_mutex_init(&group->lock, NULL);
    (void)pthread_cond_init(&group->for_callers, &monotonic);
    (void)pthread_cond_init(&group->for_carrier, &monotonic);
    (void)pthread_condattr_destroy(&monotonic);
    hop_messages_init(&group->outbox);
    hop_messages_init(&group->inbox);
    hop_messages_init(&group->sending);
    hop_messages_init(&group->arriving);
    hop_messages_init(&group->broken);
    group->size = 1;
    group->carrier = "none";
    group->lost = group->given = -1;
    return group;
}

/* With the lock held: MPI's start waits for all ranks, and knows no time. Should it come back after we gave up, the
 * carrier leaves. */
static enum hop_status await_start(struct hop_group *group, double start_s, const char *rank, struct hop_diag *diag)
{
    double until_s = hop_now_s() + start_s;
    bool stopped = false;
    while (group->phase == HOP_GROUP_STARTS && !group->abandoned) {
        sleep_until(group, until_s);
        stopped = group->stop && *group->stop;
        group->abandoned = group->phase == HOP_GROUP_STARTS && (stopped || hop_now_s() > until_s);
    }
    if (!group->abandoned)
        return group->phase == HOP_GROUP_FAILED ? fail_interrupted(group, diag) : HOP_OK;
    group->wish = HOP_GROUP_STOP;
    if (stopped)
        return hop_fail(diag, HOP_ERR_STOPPED, "rank %s was stopped by a signal while %s started", rank,
                        group->carrier);
    return hop_fail(diag, HOP_ERR_LOST,
                    "rank %s: %s has not started for %g s, as when another rank stands still\nall ranks to start "
                    "within the timeout",
                    rank, group->carrier, start_s);
}

/* What MPI starts from the carrier blocks all signals, too. */
static enum hop_status start_carrier(struct hop_group *group, double start_s, const char *rank, struct hop_diag *diag)
{
    int error = hop_thread_start(&group->thread, hop_group_carry, group);
    group->joined = error != 0;
    if (error)
        return hop_fail(diag, hop_status_of_error(error), "cannot start a thread: %s", strerror(error));
    (void)pthread_mutex_lock(&group->lock);
    enum hop_status status = await_start(group, start_s, rank, diag);
    (void)pthread_mutex_unlock(&group->lock);
    if (group->abandoned) {
        (void)pthread_detach(group->thread);
    } else if (status != HOP_OK) {
        (void)pthread_join(group->thread, NULL);
        group->joined = true;
    }
    return status;
}

enum hop_status hop_group_create(const struct hop_group_options *options, struct hop_group **group,
                                 struct hop_diag *diag)
{
    struct hop_group_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct hop_group_launch launch;
    double timeout_s = options->timeout_s != 0.0 ? options->timeout_s : TIMEOUT_S;
    if (!(timeout_s > 0.0 && isfinite(timeout_s)))
        return hop_fail(diag, HOP_ERR_INVALID, "the timeout of a group is %g s", timeout_s);
    enum hop_status status = hop_launch_detect(&launch, diag);
    if (status != HOP_OK)
        return status;
    struct hop_group *created = allocate();
    if (!created)
        return hop_fail_memory(diag);
    created->timeout_s = timeout_s;
    created->stop = options->stop;
    created->end_s = options->end_s;
    if (launch.carriers[0] && launch.size != 1) {
        /* Told that it shares processors, Open MPI yields at every look; the carrier sleeps between two itself. */
        (void)setenv("OMPI_MCA_mpi_yield_when_idle", "0", 1);
        const struct hop_launch_table wanted = {HOP_MPI_SYMBOL, HOP_MPI_VERSION};
        const void *table = NULL;
        status = hop_launch_load(&launch, &wanted, &table, &created->carrier, diag);
        created->mpi = table;
        if (status == HOP_OK)
            status = start_carrier(created, options->start_s > 0 ? options->start_s : timeout_s, launch.rank, diag);
        /* One that was started by the other MPI's launcher believes to be alone. */
        if (status == HOP_OK && launch.size && launch.size != created->size) {
            if (created->size == 1)
                (void)hop_group_finish(created, NULL);
            status = hop_fail(diag, HOP_ERR_INVALID,
                              "the launcher started %d ranks, but %s sees %d\nthe mpirun of the same MPI", launch.size,
                              created->carrier, created->size);
        }
    }
    if (status != HOP_OK)
        hop_group_destroy(created);
    else
        *group = created;
    return status;
}

/* With the lock held. */
static void wish(struct hop_group *group, enum hop_group_wish what)
{
    group->wish = what;
    group->ordered = true;
    (void)pthread_cond_signal(&group->for_carrier);
}

enum hop_status hop_group_finish(struct hop_group *group, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    if (!group->mpi || group->joined)
        return HOP_OK;
    (void)pthread_mutex_lock(&group->lock);
    wish(group, HOP_GROUP_FINISH);
    while (group->phase == HOP_GROUP_RUNS && !is_interrupted(group))
        sleep_until(group, INFINITY);
    if (group->phase != HOP_GROUP_FINISHED)
        status = fail_interrupted(group, diag);
    (void)pthread_mutex_unlock(&group->lock);
    if (status == HOP_OK) {
        (void)pthread_join(group->thread, NULL);
        group->joined = true;
    }
    return status;
}

void hop_group_leave(struct hop_group *group)
{
    if (!group->mpi || group->joined || group->abandoned)
        return;
    (void)pthread_mutex_lock(&group->lock);
    double until_s = hop_now_s() + group->timeout_s;
    if (group->rank != 0)
        wish(group, HOP_GROUP_LEAVE);
    while (group->rank != 0 && !group->head_gone && group->phase == HOP_GROUP_RUNS && hop_now_s() < until_s &&
           !(is_lost(group) && group->lost == group->rank))
        sleep_until(group, until_s);
    wish(group, HOP_GROUP_STOP);
    until_s = hop_now_s() + PARTING_S;
    while (group->phase == HOP_GROUP_RUNS && hop_now_s() < until_s)
        sleep_until(group, until_s);
    group->joined = group->phase != HOP_GROUP_RUNS;
    group->abandoned = !group->joined;
    (void)pthread_mutex_unlock(&group->lock);
    if (group->joined)
        (void)pthread_join(group->thread, NULL);
    else
        (void)pthread_detach(group->thread);
}

/* Kept for their carriers, the last one first. */
static _Atomic(struct hop_group *) stuck;

void hop_group_destroy(struct hop_group *group)
{
    if (!group)
        return;
    hop_group_leave(group);
    if (!group->abandoned)
        release(group);
    else /* the carrier is stuck in MPI, and what it uses stays */
        group->stuck_before = atomic_exchange(&stuck, group);
}

/* ---- looking ---- */

int hop_group_rank(const struct hop_group *group)
{
    return group->rank;
}

int hop_group_size(const struct hop_group *group)
{
    return group->size;
}

const char *hop_group_carrier(const struct hop_group *group)
{
    return group->carrier;
}

int hop_group_lost(struct hop_group *group, struct hop_diag *diag)
{
    (void)pthread_mutex_lock(&group->lock);
    int lost = is_lost(group) ? group->lost : -1;
    if (lost >= 0 && diag)
        *diag = group->loss;
    (void)pthread_mutex_unlock(&group->lock);
    return lost;
}

void hop_group_give_reason(struct hop_group *group, int rank, const struct hop_diag *reason)
{
    (void)pthread_mutex_lock(&group->lock);
    if (group->mpi && group->given < 0 && rank >= 0 && rank < group->size) {
        group->given = rank;
        group->reason = *reason;
        group->ordered = true;
        (void)pthread_cond_signal(&group->for_carrier);
    }
    (void)pthread_mutex_unlock(&group->lock);
}

/* ---- messages ---- */

enum hop_status hop_group_send_two(struct hop_group *group, int to, int tag, const void *head, size_t head_bytes,
                                   const void *bytes, size_t size_bytes, struct hop_diag *diag)
{
    size_t whole = head_bytes + size_bytes;
    if (to < 0 || to >= group->size)
        return hop_fail(diag, HOP_ERR_INVALID, "there is no rank %d in a group of %d", to, group->size);
    if (tag < 0 || tag > HOP_GROUP_TAG_MAX)
        return hop_fail(diag, HOP_ERR_INVALID, "a message's tag is %d, not 0 to %d", tag, HOP_GROUP_TAG_MAX);
    if (whole < size_bytes || whole > HOP_GROUP_MESSAGE_BYTES_MAX)
        return hop_fail(diag, HOP_ERR_LIMIT, "a message of %zu bytes: at most 1 GiB", size_bytes);
    struct hop_message *message = hop_message_create(to, tag, NULL, whole);
    if (!message)
        return hop_fail_memory(diag);
    if (head_bytes)
        memcpy(message->bytes, head, head_bytes);
    if (size_bytes)
        memcpy(message->bytes + head_bytes, bytes, size_bytes);
    (void)pthread_mutex_lock(&group->lock);
    struct hop_mail *queue = to == group->rank ? &group->inbox : &group->outbox;
    bool full = queue->bytes && queue->bytes + whole > HOP_GROUP_WAITING_BYTES_MAX;
    if (!full) {
        hop_messages_put(queue, message);
        group->ordered = true;
        (void)pthread_cond_signal(&group->for_carrier);
        if (to == group->rank)
            (void)pthread_cond_broadcast(&group->for_callers);
    }
    (void)pthread_mutex_unlock(&group->lock);
    if (full) {
        hop_message_destroy(message);
        return hop_fail(diag, HOP_ERR_LIMIT, "more than 1 GiB of messages wait to be received");
    }
    return HOP_OK;
}

enum hop_status hop_group_send(struct hop_group *group, int to, int tag, const void *bytes, size_t size_bytes,
                               struct hop_diag *diag)
{
    return hop_group_send_two(group, to, tag, NULL, 0, bytes, size_bytes, diag);
}

/* With the lock held. */
static bool take_wanted(struct hop_group *group, int tag, hop_message_wanted *wanted, const void *context,
                        struct hop_group_message *message)
{
    struct hop_message **at = &group->inbox.first, *found;
    for (; (found = *at) != NULL; at = &found->next) {
        *message = (struct hop_group_message){found->peer, found->tag, found->size_bytes, found->bytes};
        if ((tag == HOP_MPI_TAG_ANY || found->tag == tag) && (!wanted || wanted(message, context)))
            break;
    }
    group->starves = !found && group->inbox.first;
    free(hop_messages_take(&group->inbox, at));
    return found != NULL;
}

bool hop_group_receive_wanted(struct hop_group *group, int tag, hop_message_wanted *wanted, const void *context,
                              double wait_s, struct hop_group_message *message)
{
    double until_s = wait_s > 0.0 ? hop_now_s() + wait_s : 0.0;
    (void)pthread_mutex_lock(&group->lock);
    bool taken = take_wanted(group, tag, wanted, context, message);
    while (!taken && wait_s > 0.0 && !is_interrupted(group) && hop_now_s() < until_s) {
        sleep_until(group, until_s);
        taken = take_wanted(group, tag, wanted, context, message);
    }
    (void)pthread_mutex_unlock(&group->lock);
    return taken;
}

bool hop_group_receive(struct hop_group *group, double wait_s, struct hop_group_message *message)
{
    return hop_group_receive_wanted(group, HOP_MPI_TAG_ANY, NULL, NULL, wait_s, message);
}

enum hop_status hop_group_barrier(struct hop_group *group, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    if (!group->mpi)
        return HOP_OK;
    (void)pthread_mutex_lock(&group->lock);
    group->barriers_entered++;
    group->ordered = true;
    (void)pthread_cond_signal(&group->for_carrier);
    while (group->barriers_passed < group->barriers_entered && !is_interrupted(group))
        sleep_until(group, INFINITY);
    if (group->barriers_passed < group->barriers_entered)
        status = fail_interrupted(group, diag);
    (void)pthread_mutex_unlock(&group->lock);
    return status;
}
