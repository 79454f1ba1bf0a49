/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The crew at work. The calling thread watches: limits, progress, messages of other ranks, checkpoints. Without any of these and with one
 * thread it works itself.
 *
 * Messages of a job, from ranks to rank 0 and, marked *, from rank 0 to all:
 *
 *     RECORD*  a record was beaten         STOP*  end early
 *     COUNTED  work since the last one     FINAL  a rank is through: totals, records and counts      END*  all are through
 */
#include "order/crew.h"

#include <math.h>
#include <pthread.h>
#include <stdio.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "order/checkpoint.h"

enum { TAG_RECORD = 1, TAG_STOP, TAG_COUNTED, TAG_FINAL, TAG_END };
enum { THREADS_MAX = 256 };
#define WATCH_S 0.02     /* how often the watcher looks */
#define PROGRESS_S 0.1   /* how often it tells */
#define IMPROVED_S 1.0   /* how often it hands on a better order */
#define SAVE_DEFAULT_S 10.0

struct hop_crew {
    const struct hop_problem *problem;
    const struct hop_order_options *options;
    uint64_t fingerprint;
    int rank, size;
    double begun_s;
    int lost;

    /* a job */
    const struct hop_crew_job *job; /* the caller's; NULL: none is under way */
    uint8_t *done; /* per task */
    _Atomic(uint64_t) next, tasks_done, nodes, sets;
    _Atomic(bool) stopped;
    _Atomic(uint32_t) version;
    pthread_mutex_t mutex; /* of all that follows */
    pthread_cond_t changed;
    struct hop_record_kept records[HOP_RECORDS_MAX];
    bool news[HOP_RECORDS_MAX]; /* a record that the other ranks do not know */
    struct hop_value_count *counts;
    uint32_t count, count_capacity;
    double walked;
    uint64_t nodes_before; /* of earlier runs, from the checkpoint: max_nodes is for this one */
    uint64_t nodes_spent;  /* in earlier jobs */
    uint32_t working; /* threads */
    double handed_on, handed_on_s; /* the caller has this value, since then */
    enum hop_status status;
    struct hop_diag diag;

    /* rank 0, of the others */
    uint64_t their_nodes;
    struct hop_crew_totals theirs;
    struct hop_checkpoint_part left; /* of ranks of an earlier run that there are no more */
    uint32_t finals;
    bool ended; /* rank 0 said so */
};

/* ---- time ---- */

double hop_crew_elapsed_s(const struct hop_crew *crew)
{
    return hop_now_s() - crew->begun_s;
}

/* ---- workers ---- */

bool hop_crew_stopped(const struct hop_crew *crew)
{
    return atomic_load_explicit(&crew->stopped, memory_order_relaxed);
}

void hop_crew_stop(struct hop_crew *crew)
{
    atomic_store(&crew->stopped, true);
}

static bool beats(double value, uint64_t task, const struct hop_record_kept *record)
{
    if (!isfinite(record->value))
        return isfinite(value);
    double near = HOP_VALUE_TOLERANCE * fabs(record->value);
    return value < record->value - near || (value <= record->value + near && task < record->task);
}

/* With the mutex held. */
static bool take_record(struct hop_crew *crew, uint32_t kind, double value, uint64_t task,
                        const struct hop_sequence *sequence)
{
    struct hop_record_kept *record = &crew->records[kind];
    if (!beats(value, task, record))
        return false;
    record->value = value;
    record->task = task;
    hop_sequence_copy(crew->problem, sequence, &record->sequence);
    atomic_fetch_add(&crew->version, 1);
    return true;
}

void hop_crew_offer(struct hop_crew *crew, uint32_t kind, double value, uint64_t task,
                    const struct hop_sequence *sequence)
{
    pthread_mutex_lock(&crew->mutex);
    if (take_record(crew, kind, value, task, sequence))
        crew->news[kind] = true;
    pthread_mutex_unlock(&crew->mutex);
}

uint32_t hop_crew_version(const struct hop_crew *crew)
{
    return atomic_load_explicit(&crew->version, memory_order_acquire);
}

double hop_crew_record(struct hop_crew *crew, uint32_t kind, uint64_t *task)
{
    pthread_mutex_lock(&crew->mutex);
    double value = crew->records[kind].value;
    if (task)
        *task = crew->records[kind].task;
    pthread_mutex_unlock(&crew->mutex);
    return value;
}

void hop_crew_count(struct hop_crew *crew, uint64_t nodes, uint64_t sets)
{
    uint64_t all = crew->nodes_spent + atomic_fetch_add(&crew->nodes, nodes) + nodes - crew->nodes_before;
    atomic_fetch_add(&crew->sets, sets);
    if (crew->options->max_nodes && all >= crew->options->max_nodes)
        hop_crew_stop(crew);
}

/* With the mutex held. */
static bool add_counts(struct hop_crew *crew, const struct hop_value_count *counts, size_t count)
{
    enum { MANY = 1 << 24, TOO_MANY = 1 << 26 };
    if (crew->count + count > MANY)
        crew->count = (uint32_t)hop_value_counts_merge(crew->counts, crew->count);
    if (count == 0)
        return true;
    if (crew->count + count > TOO_MANY || !hop_grow(&crew->counts, &crew->count_capacity, crew->count + (uint32_t)count,
                                                    sizeof *crew->counts))
        return false;
    memcpy(crew->counts + crew->count, counts, count * sizeof *counts);
    crew->count += (uint32_t)count;
    return true;
}

/* With the mutex held. */
static void mark_done(struct hop_crew *crew, uint64_t task)
{
    if (crew->done[task])
        return;
    crew->done[task] = HOP_TASK_DONE;
    atomic_fetch_add(&crew->tasks_done, 1);
}

bool hop_crew_keep(struct hop_crew *crew, uint64_t task, const struct hop_value_count *counts, size_t count, double walked)
{
    pthread_mutex_lock(&crew->mutex);
    bool kept = add_counts(crew, counts, count);
    if (kept) {
        mark_done(crew, task);
        crew->walked += walked;
    }
    pthread_mutex_unlock(&crew->mutex);
    return kept;
}

void hop_crew_leave_open(struct hop_crew *crew, uint64_t task)
{
    pthread_mutex_lock(&crew->mutex);
    crew->done[task] = HOP_TASK_LEFT;
    pthread_mutex_unlock(&crew->mutex);
}

/* One thread's part of the job. */
static void work(struct hop_crew *crew)
{
    const struct hop_crew_job *job = crew->job;
    struct hop_diag diag;
    void *worker = NULL;
    enum hop_status status = job->begin(job->context, crew, &worker, &diag);
    while (status == HOP_OK && !hop_crew_stopped(crew)) {
        uint64_t task = atomic_fetch_add(&crew->next, (uint64_t)crew->size);
        if (task >= job->tasks)
            break;
        if (crew->done[task])
            continue;
        status = job->run(worker, task, &diag);
        if (status == HOP_OK && !hop_crew_stopped(crew)) {
            pthread_mutex_lock(&crew->mutex);
            mark_done(crew, task);
            pthread_mutex_unlock(&crew->mutex);
        }
    }
    job->end(worker);
    pthread_mutex_lock(&crew->mutex);
    if (status != HOP_OK && crew->status == HOP_OK) {
        crew->status = status;
        crew->diag = diag;
        hop_crew_stop(crew);
    }
    crew->working--;
    pthread_cond_signal(&crew->changed);
    pthread_mutex_unlock(&crew->mutex);
}

static void *thread_main(void *crew)
{
    work(crew);
    return NULL;
}

/* ---- messages ---- */

/* kind, value, task, order and waits. */
struct record_message {
    double value;
    uint64_t task;
    uint32_t kind, ops;
    uint32_t numbers[];
};

static size_t record_size(const struct hop_crew *crew)
{
    return sizeof(struct record_message) + 2 * (size_t)crew->problem->op_count * sizeof(uint32_t);
}

/* With the mutex held. */
static void write_record(const struct hop_crew *crew, uint32_t kind, struct record_message *message)
{
    const struct hop_record_kept *record = &crew->records[kind];
    uint32_t ops = crew->problem->op_count;
    *message = (struct record_message){record->value, record->task, kind, ops};
    memcpy(message->numbers, record->sequence.order, ops * sizeof(uint32_t));
    memcpy(message->numbers + ops, record->sequence.after, ops * sizeof(uint32_t));
}

static void send_to_all(struct hop_crew *crew, int tag, const void *bytes, size_t size)
{
    for (int r = 0; r < crew->size; r++) {
        if (r != crew->rank)
            (void)hop_group_send(crew->options->group, r, tag, bytes, size, NULL); /* a lost rank shows in hop_group_lost */
    }
}

/* Tells the other ranks (of rank 0: all, else rank 0) what is new. */
static void tell_news(struct hop_crew *crew)
{
    struct record_message *message = malloc(record_size(crew));
    for (uint32_t k = 0; message && k < crew->job->records; k++) {
        pthread_mutex_lock(&crew->mutex);
        bool fresh = crew->news[k];
        crew->news[k] = false;
        if (fresh)
            write_record(crew, k, message);
        pthread_mutex_unlock(&crew->mutex);
        if (fresh && crew->rank == 0)
            send_to_all(crew, TAG_RECORD, message, record_size(crew));
        else if (fresh)
            (void)hop_group_send(crew->options->group, 0, TAG_RECORD, message, record_size(crew), NULL);
    }
    free(message);
}

static void read_record(struct hop_crew *crew, const void *bytes, size_t size)
{
    const struct record_message *message = bytes;
    if (size != record_size(crew) || message->ops != crew->problem->op_count || message->kind >= crew->job->records)
        return;
    uint32_t *numbers = (uint32_t *)message->numbers;
    struct hop_sequence sequence = {numbers, numbers + message->ops};
    pthread_mutex_lock(&crew->mutex);
    if (isfinite(message->value) &&
        take_record(crew, message->kind, message->value, message->task, &sequence) && crew->rank == 0)
        crew->news[message->kind] = true; /* rank 0 passes it on */
    pthread_mutex_unlock(&crew->mutex);
}

/* A rank's end of a job: totals, then its counts. */
struct final_message {
    struct hop_crew_totals totals;
    uint64_t counts;
};

static struct hop_crew_totals own_totals(const struct hop_crew *crew)
{
    return (struct hop_crew_totals){crew->nodes, crew->sets, crew->walked, crew->tasks_done, false, false};
}

static void add_totals(struct hop_crew_totals *sum, const struct hop_crew_totals *more)
{
    sum->nodes += more->nodes;
    sum->sets += more->sets;
    sum->walked += more->walked;
    sum->tasks_done += more->tasks_done;
}

static void send_final(struct hop_crew *crew)
{
    tell_news(crew);
    struct final_message head = {own_totals(crew), crew->count};
    size_t size = sizeof head + crew->count * sizeof *crew->counts;
    char *bytes = malloc(size);
    if (!bytes)
        return; /* rank 0 hears nothing more and gives this rank up */
    memcpy(bytes, &head, sizeof head);
    if (crew->count)
        memcpy(bytes + sizeof head, crew->counts, crew->count * sizeof *crew->counts);
    (void)hop_group_send(crew->options->group, 0, TAG_FINAL, bytes, size, NULL);
    free(bytes);
}

static void read_final(struct hop_crew *crew, const char *bytes, size_t size)
{
    struct final_message head;
    if (size < sizeof head)
        return;
    memcpy(&head, bytes, sizeof head);
    if (size != sizeof head + head.counts * sizeof *crew->counts)
        return;
    add_totals(&crew->theirs, &head.totals);
    crew->finals++;
    /* Kept apart from the own ones, which alone belong in the own checkpoint. */
    struct hop_checkpoint_part *left = &crew->left;
    if (head.counts > UINT32_MAX / 2 ||
        !hop_grow(&left->counts, &left->count_capacity, left->count + (uint32_t)head.counts + 1, sizeof *left->counts)) {
        crew->status = hop_fail_memory(&crew->diag);
        hop_crew_stop(crew);
        return;
    }
    memcpy(left->counts + left->count, bytes + sizeof head, size - sizeof head);
    left->count += (uint32_t)head.counts;
}

static void read_messages(struct hop_crew *crew, double wait_s)
{
    struct hop_group_message message;
    while (hop_group_receive(crew->options->group, wait_s, &message)) {
        wait_s = 0;
        if (message.tag == TAG_RECORD) {
            read_record(crew, message.bytes, message.size_bytes);
        } else if (message.tag == TAG_STOP) {
            hop_crew_stop(crew);
        } else if (message.tag == TAG_COUNTED && message.size_bytes == sizeof(uint64_t)) {
            uint64_t nodes;
            memcpy(&nodes, message.bytes, sizeof nodes);
            crew->their_nodes += nodes;
        } else if (message.tag == TAG_FINAL) {
            read_final(crew, message.bytes, message.size_bytes);
        } else if (message.tag == TAG_END && message.size_bytes == sizeof crew->theirs) {
            memcpy(&crew->theirs, message.bytes, sizeof crew->theirs);
            crew->stopped = crew->theirs.stopped; /* all ranks go on, or none does */
            crew->ended = true;
        }
        free(message.bytes);
        if (crew->ended)
            return; /* what follows belongs to the next job */
    }
    int lost = hop_group_lost(crew->options->group, NULL);
    if (lost >= 0 && crew->lost < 0) {
        crew->lost = lost;
        hop_crew_stop(crew);
    }
}

/* ---- the watcher ---- */

static bool is_watched(const struct hop_crew *crew)
{
    const struct hop_order_options *o = crew->options;
    return crew->size > 1 || o->progress || o->improved || o->time_limit_s > 0 || o->checkpoint;
}

/* Hands on a record that the caller does not have yet. */
static void hand_on(struct hop_crew *crew, double now)
{
    struct hop_schedule *schedule;
    double value = hop_crew_record(crew, 0, NULL);
    if (!crew->options->improved || !(value < crew->handed_on) || now - crew->handed_on_s < IMPROVED_S)
        return;
    pthread_mutex_lock(&crew->mutex);
    value = crew->records[0].value;
    enum hop_status status = hop_sequence_schedule(crew->problem, &crew->records[0].sequence, &schedule, NULL);
    pthread_mutex_unlock(&crew->mutex);
    if (status != HOP_OK)
        return;
    crew->options->improved(schedule, value, crew->options->context);
    hop_schedule_destroy(schedule);
    crew->handed_on = value;
    crew->handed_on_s = hop_crew_elapsed_s(crew);
}

static void report(struct hop_crew *crew, double *reported)
{
    double now = hop_crew_elapsed_s(crew);
    hand_on(crew, now);
    if (!crew->options->progress || now - *reported < PROGRESS_S)
        return;
    *reported = now;
    struct hop_order_progress progress = {
        .best_s = hop_crew_record(crew, 0, NULL),
        .bound_s = crew->job->bound_s,
        .nodes = crew->nodes_spent + crew->nodes + crew->their_nodes,
        .elapsed_s = now,
        .done = crew->job->tasks ? (double)crew->tasks_done * crew->size / (double)crew->job->tasks : 1,
    };
    if (!crew->options->progress(&progress, crew->options->context))
        hop_crew_stop(crew);
}

static enum hop_status save(struct hop_crew *crew, struct hop_diag *diag)
{
    pthread_mutex_lock(&crew->mutex);
    const struct hop_checkpoint checkpoint = {.problem = crew->problem,
                                              .kind = crew->job->kind,
                                              .fingerprint = crew->fingerprint,
                                              .tasks = crew->job->tasks,
                                              .done = crew->done,
                                              .records = crew->records,
                                              .record_count = crew->job->records,
                                              .own = {own_totals(crew), crew->counts, crew->count, 0}};
    enum hop_status status = hop_checkpoint_save(crew->options->checkpoint, crew->rank, &checkpoint, diag);
    pthread_mutex_unlock(&crew->mutex);
    return status;
}

/* What the watcher has done so far. */
struct watch {
    double saved, reported;
    bool told_stop;
    uint64_t told; /* nodes */
};

/* Until something happens, but not for long. */
static void wait_a_little(struct hop_crew *crew)
{
    struct timespec until;
    if (crew->size > 1) {
        read_messages(crew, WATCH_S);
        return;
    }
    clock_gettime(CLOCK_REALTIME, &until);
    until.tv_nsec += (long)(WATCH_S * 1e9);
    until.tv_sec += until.tv_nsec / 1000000000;
    until.tv_nsec %= 1000000000;
    pthread_mutex_lock(&crew->mutex);
    if (crew->working)
        (void)pthread_cond_timedwait(&crew->changed, &crew->mutex, &until);
    pthread_mutex_unlock(&crew->mutex);
}

static void tell_others(struct hop_crew *crew, struct watch *w)
{
    uint64_t nodes = crew->nodes, more = nodes - w->told;
    tell_news(crew);
    if (crew->rank == 0 && hop_crew_stopped(crew) && !w->told_stop) {
        send_to_all(crew, TAG_STOP, "", 0);
        w->told_stop = true;
    } else if (crew->rank != 0 && more) {
        (void)hop_group_send(crew->options->group, 0, TAG_COUNTED, &more, sizeof more, NULL);
        w->told = nodes;
    }
}

static void look(struct hop_crew *crew, struct watch *w)
{
    const struct hop_order_options *o = crew->options;
    struct hop_diag diag;
    wait_a_little(crew);
    report(crew, &w->reported);
    if (o->time_limit_s > 0 && hop_crew_elapsed_s(crew) >= o->time_limit_s)
        hop_crew_stop(crew);
    if (o->checkpoint && crew->job->kind &&
        hop_crew_elapsed_s(crew) - w->saved >= (o->checkpoint_s > 0 ? o->checkpoint_s : SAVE_DEFAULT_S)) {
        enum hop_status saved = save(crew, &diag);
        if (saved != HOP_OK) {
            crew->status = saved;
            crew->diag = diag;
            hop_crew_stop(crew);
        }
        w->saved = hop_crew_elapsed_s(crew);
    }
    if (crew->size > 1)
        tell_others(crew, w);
}

/* Until the own threads, and then every rank, have come to the end of the job, or a rank is lost. */
static void watch(struct hop_crew *crew)
{
    struct watch w = {.saved = hop_crew_elapsed_s(crew), .reported = hop_crew_elapsed_s(crew)};
    for (bool working = true; working;) {
        look(crew, &w);
        pthread_mutex_lock(&crew->mutex);
        working = crew->working > 0;
        pthread_mutex_unlock(&crew->mutex);
    }
    if (crew->size == 1 || crew->lost >= 0)
        return;
    if (crew->rank != 0)
        send_final(crew);
    while (crew->lost < 0 && (crew->rank == 0 ? crew->finals + 1 < (uint32_t)crew->size : !crew->ended))
        look(crew, &w);
    if (crew->rank != 0 || crew->lost >= 0)
        return;
    struct hop_crew_totals own = own_totals(crew);
    add_totals(&crew->theirs, &own);
    crew->theirs.stopped = hop_crew_stopped(crew);
    tell_news(crew);
    send_to_all(crew, TAG_END, &crew->theirs, sizeof crew->theirs);
}

/* ---- the job ---- */

uint32_t hop_crew_threads(const struct hop_order_options *options)
{
    int size = options->group ? hop_group_size(options->group) : 1;
    long each = options->threads ? (long)options->threads : sysconf(_SC_NPROCESSORS_ONLN) / size;
    each = each < 1 || options->max_nodes ? 1 : each > THREADS_MAX ? THREADS_MAX : each;
    return (uint32_t)each * (uint32_t)size;
}

static uint32_t thread_count(const struct hop_crew *crew)
{
    uint64_t size = (uint64_t)crew->size, own = (crew->job->tasks + size - 1) / size;
    uint64_t wanted = hop_crew_threads(crew->options) / size;
    return wanted > own ? own ? (uint32_t)own : 1 : (uint32_t)wanted;
}

static void work_in_threads(struct hop_crew *crew, uint32_t threads)
{
    pthread_t thread[THREADS_MAX];
    uint32_t started = 0;
    crew->working = threads;
    while (started < threads && pthread_create(&thread[started], NULL, thread_main, crew) == 0)
        started++;
    pthread_mutex_lock(&crew->mutex);
    crew->working -= threads - started;
    pthread_mutex_unlock(&crew->mutex);
    if (started == 0) { /* no thread to be had: this one works, unwatched */
        crew->working = 1;
        work(crew);
    }
    watch(crew);
    for (uint32_t t = 0; t < started; t++)
        pthread_join(thread[t], NULL);
}

static enum hop_status prepare(struct hop_crew *crew, const struct hop_crew_job *job, bool *over, struct hop_diag *diag)
{
    *over = false;
    uint8_t *done = calloc(job->tasks + 1, 1);
    if (!done)
        return hop_fail_memory(diag);
    free(crew->done);
    crew->done = done;
    crew->job = job;
    crew->next = (uint64_t)crew->rank;
    crew->nodes_spent += crew->nodes - crew->nodes_before;
    crew->tasks_done = crew->nodes = crew->sets = crew->their_nodes = crew->nodes_before = 0;
    crew->count = 0;
    crew->walked = 0;
    crew->theirs = (struct hop_crew_totals){0};
    crew->finals = 0;
    crew->ended = false;
    if (!crew->options->checkpoint || !job->kind)
        return HOP_OK;
    struct hop_checkpoint checkpoint = {.problem = crew->problem,
                                        .kind = job->kind,
                                        .fingerprint = crew->fingerprint,
                                        .tasks = job->tasks,
                                        .done = crew->done,
                                        .records = crew->records,
                                        .record_count = job->records};
    enum hop_status status = hop_checkpoint_load(crew->options->checkpoint, crew->rank, crew->size, &checkpoint, diag);
    crew->tasks_done = checkpoint.own.totals.tasks_done;
    crew->nodes = crew->nodes_before = checkpoint.own.totals.nodes;
    crew->sets = checkpoint.own.totals.sets;
    crew->walked = checkpoint.own.totals.walked;
    free(crew->counts);
    crew->counts = checkpoint.own.counts;
    crew->count = checkpoint.own.count;
    crew->count_capacity = checkpoint.own.count_capacity;
    crew->left = checkpoint.left;
    *over = checkpoint.later && !job->open;
    return status;
}

static enum hop_status do_job(struct hop_crew *crew, const struct hop_crew_job *job, struct hop_crew_totals *totals,
                              struct hop_diag *diag)
{
    bool over;
    enum hop_status status = prepare(crew, job, &over, diag);
    if (status != HOP_OK)
        return status;
    if (over) {
        *totals = (struct hop_crew_totals){.tasks_done = job->tasks, .complete = true};
        return HOP_OK;
    }
    uint32_t threads = thread_count(crew);
    if (threads == 1 && !is_watched(crew)) {
        crew->working = 1;
        work(crew);
    } else {
        work_in_threads(crew, threads);
    }
    if (crew->options->checkpoint && job->kind && crew->status == HOP_OK)
        crew->status = save(crew, &crew->diag);
    *totals = crew->size > 1 && crew->lost < 0 ? crew->theirs : own_totals(crew);
    add_totals(totals, &crew->left.totals);
    if (crew->status == HOP_OK && !add_counts(crew, crew->left.counts, crew->left.count))
        crew->status = hop_fail_memory(&crew->diag);
    free(crew->left.counts);
    crew->left = (struct hop_checkpoint_part){0};
    totals->complete = totals->tasks_done == job->tasks;
    totals->stopped = hop_crew_stopped(crew);
    if (crew->status != HOP_OK && diag)
        *diag = crew->diag;
    return crew->status;
}

enum hop_status hop_crew_work(struct hop_crew *crew, const struct hop_crew_job *job, struct hop_crew_totals *totals,
                              struct hop_diag *diag)
{
    enum hop_status status = do_job(crew, job, totals, diag);
    crew->job = NULL;
    return status;
}

/* ---- what every rank does for itself ---- */

struct alone {
    enum hop_status (*run)(void *context, struct hop_crew *crew, struct hop_diag *diag);
    void *context;
    struct hop_crew *crew;
};

static enum hop_status begin_alone(void *alone, struct hop_crew *crew, void **worker, struct hop_diag *diag)
{
    (void)diag;
    ((struct alone *)alone)->crew = crew;
    *worker = alone;
    return HOP_OK;
}

static enum hop_status run_alone(void *alone, uint64_t task, struct hop_diag *diag)
{
    (void)task;
    struct alone *a = alone;
    return a->run(a->context, a->crew, diag);
}

static void end_alone(void *alone)
{
    (void)alone;
}

enum hop_status hop_crew_all(struct hop_crew *crew,
                             enum hop_status (*run)(void *context, struct hop_crew *crew, struct hop_diag *diag),
                             void *context, double bound_s, bool *done, struct hop_diag *diag)
{
    struct alone alone = {.run = run, .context = context};
    struct hop_crew_totals totals;
    const struct hop_crew_job job = {.tasks = (uint64_t)crew->size,
                                     .records = HOP_RECORDS_MAX,
                                     .begin = begin_alone,
                                     .run = run_alone,
                                     .end = end_alone,
                                     .context = &alone,
                                     .bound_s = bound_s};
    HOP_CHECK(hop_crew_work(crew, &job, &totals, diag));
    *done = totals.complete && !totals.stopped;
    return HOP_OK;
}

enum hop_status hop_crew_create(const struct hop_problem *problem, const struct hop_order_options *options,
                                uint64_t fingerprint, struct hop_crew **crew, struct hop_diag *diag)
{
    struct hop_crew *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    made->problem = problem;
    made->options = options;
    made->fingerprint = fingerprint;
    made->rank = options->group ? hop_group_rank(options->group) : 0;
    made->size = options->group ? hop_group_size(options->group) : 1;
    made->lost = -1;
    made->handed_on = options->cut_s > 0 ? options->cut_s : INFINITY;
    made->begun_s = hop_now_s();
    pthread_mutex_init(&made->mutex, NULL);
    pthread_cond_init(&made->changed, NULL);
    enum hop_status status = HOP_OK;
    for (uint32_t k = 0; k < HOP_RECORDS_MAX && status == HOP_OK; k++) {
        made->records[k].value = options->cut_s > 0 ? options->cut_s : INFINITY;
        status = hop_sequence_create(problem, &made->records[k].sequence, diag);
    }
    if (status == HOP_OK)
        *crew = made;
    else
        hop_crew_destroy(made);
    return status;
}

void hop_crew_destroy(struct hop_crew *crew)
{
    if (!crew)
        return;
    for (uint32_t k = 0; k < HOP_RECORDS_MAX; k++)
        hop_sequence_finish(&crew->records[k].sequence);
    pthread_mutex_destroy(&crew->mutex);
    pthread_cond_destroy(&crew->changed);
    free(crew->counts);
    free(crew->done);
    free(crew);
}

struct hop_record_kept *hop_crew_kept(struct hop_crew *crew, uint32_t kind)
{
    double value = crew->records[kind].value; /* the cut's: as at the start, only what is less beats it */
    return isfinite(value) && !(crew->options->cut_s > 0 && value == crew->options->cut_s) ? &crew->records[kind]
                                                                                           : NULL;
}

struct hop_value_count *hop_crew_counts(struct hop_crew *crew, size_t *count)
{
    *count = crew->count;
    return crew->counts;
}

bool hop_crew_is_done(const struct hop_crew *crew, uint64_t task)
{
    return crew->done[task] == HOP_TASK_DONE || crew->done[task] == HOP_TASK_DONE_ELSEWHERE;
}

uint64_t hop_crew_nodes_left(const struct hop_crew *crew)
{
    uint64_t most = crew->options->max_nodes, spent = crew->nodes_spent + crew->nodes - crew->nodes_before;
    return most > spent ? most - spent : 0;
}

int hop_crew_lost(const struct hop_crew *crew)
{
    return crew->lost;
}
