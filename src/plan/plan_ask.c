/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Questions, and who answers them. What stands in the checkpoint needs no answer; the rest is dealt to the ranks, each of which plans
 * as all others do and works in its threads. When all have come to the end of their parts, rank 0 has every answer and hands them to all,
 * and says whether to stop: so no rank decides anything that another one decides otherwise.
 *
 * Both messages, a rank's part and all of them, are a verdict and, of each answer, its number, key, size and whether it is whole, then
 * its text.
 */
#include "plan/plan.h"

#include "hopcast/group.h"

/* ---- asking ---- */

struct item {
    uint64_t key;
    bool begun, whole;
};

/* What a rank came to. */
struct verdict {
    enum hop_status status;
    bool stopped;
    struct hop_diag diag;
};

struct asking {
    struct hop_plan_work *work;
    const struct hop_plan_questions *questions;
    struct item *items;
    uint32_t *open, count;  /* questions without an answer */
    uint32_t first, stride; /* of these the own ones */
    uint32_t failed;        /* of the failures the first one counts, whatever the threads */
    struct verdict verdict;
};

static void find(void *asking, uint32_t k, bool tells)
{
    struct asking *a = asking;
    const struct hop_plan_questions *q = a->questions;
    uint32_t i = a->open[a->first + k * a->stride];
    struct hop_diag diag;
    bool whole = true;
    enum hop_status status = q->find(q->context, i, tells, &whole, &diag);
    a->items[i].begun = true;
    a->items[i].whole = whole && status == HOP_OK && !atomic_load(&a->work->stopped);
    pthread_mutex_lock(&a->work->mutex);
    if (status != HOP_OK && i < a->failed) {
        a->failed = i;
        a->verdict.status = status;
        a->verdict.diag = diag;
    }
    pthread_mutex_unlock(&a->work->mutex);
}

static bool recall(struct asking *a, uint32_t i)
{
    struct hop_plan_answers *answers = &a->work->call->answers;
    const struct hop_plan_answer *known = hop_plan_answers_find(answers, a->items[i].key);
    if (!known)
        return false;
    struct hop_plan_reading in = {known->text, known->text + known->size, false, false};
    bool read = a->questions->read(a->questions->context, i, &in);
    if (in.lacks)
        a->verdict.status = hop_fail_memory(&a->verdict.diag);
    answers->heard += read;
    return read;
}

/* What this rank found, as ranks send it; what is whole is kept. */
static void write_own(struct asking *a, struct hop_buffer *out)
{
    const struct hop_plan_questions *q = a->questions;
    for (uint32_t k = a->first; k < a->count; k += a->stride) {
        struct item *item = &a->items[a->open[k]];
        struct hop_buffer text = {0};
        if (!item->begun)
            continue;
        q->write(q->context, a->open[k], &text);
        hop_plan_put_whole(out, a->open[k]);
        hop_plan_put_whole(out, item->key);
        hop_plan_put_whole(out, text.length);
        hop_plan_put_whole(out, item->whole);
        hop_buffer_add(out, text.text, text.length);
        out->failed = out->failed || text.failed;
        if (item->whole && !text.failed)
            hop_plan_answers_add(&a->work->call->answers, &(struct hop_plan_answer){item->key, text.text, text.length});
        hop_buffer_finish(&text);
    }
}

/* What other ranks found. */
static enum hop_status read_theirs(struct asking *a, const char *text, size_t size, struct hop_diag *diag)
{
    const struct hop_plan_questions *q = a->questions;
    struct hop_plan_reading in = {text, text + size, false, false};
    while (in.at < in.end && !in.failed) {
        uint32_t i = (uint32_t)hop_plan_get_whole(&in, q->count - 1);
        struct hop_plan_answer answer = {.key = hop_plan_get_whole(&in, UINT64_MAX)};
        answer.size = (size_t)hop_plan_get_whole(&in, size);
        bool whole = hop_plan_get_whole(&in, 1);
        answer.text = hop_plan_get_bytes(&in, answer.size);
        struct hop_plan_reading body = {answer.text, answer.text + answer.size, in.failed, false};
        if (in.failed || answer.key != a->items[i].key)
            break;
        if (a->items[i].begun)
            continue; /* the own answer */
        in.failed = !q->read(q->context, i, &body);
        if (body.lacks)
            return hop_fail_memory(diag);
        if (whole)
            hop_plan_answers_add(&a->work->call->answers, &answer);
    }
    if (in.at == in.end && !in.failed)
        return HOP_OK;
    return hop_fail(diag, HOP_ERR_LOST, "the ranks plan different things\nthe same hopcast on every machine");
}

/* Of rank 0: gathers what the others found, and hands all of it on. */
static enum hop_status gather(struct asking *a, struct hop_buffer *all)
{
    struct hop_plan_call *call = a->work->call;
    struct hop_group_message message;
    for (int left = call->ranks - 1; left > 0; left--) {
        struct verdict theirs;
        bool came = false;
        while (!(came = hop_plan_receive(call, HOP_PLAN_TAG_PART, &message)) && !hop_plan_lost(call))
            (void)hop_plan_goes_on(a->work);
        if (!came) { /* what it had is as if it had not begun */
            atomic_store(&a->work->stopped, true);
            call->ranks = 1;
            break;
        }
        memcpy(&theirs, message.bytes, sizeof theirs);
        if (a->verdict.status == HOP_OK && theirs.status != HOP_OK)
            a->verdict = theirs;
        if (theirs.stopped)
            atomic_store(&a->work->stopped, true);
        const char *text = (const char *)message.bytes + sizeof theirs;
        size_t size = message.size_bytes - sizeof theirs;
        struct hop_diag diag;
        enum hop_status status = a->questions->together ? HOP_OK : read_theirs(a, text, size, &diag);
        if (a->verdict.status == HOP_OK && status != HOP_OK)
            a->verdict = (struct verdict){.status = status, .diag = diag};
        if (!a->questions->together)
            hop_buffer_add(all, text, size);
        free(message.bytes);
    }
    a->verdict.stopped = a->work->agreed = atomic_load(&a->work->stopped);
    if (all->failed)
        return hop_fail_memory(a->work->diag); /* the others lose this rank */
    memcpy(all->text, &a->verdict, sizeof a->verdict);
    hop_plan_send_all(call, HOP_PLAN_TAG_ALL, all->text, all->length);
    return HOP_OK;
}

/* Of the others. */
static enum hop_status hand_over(struct asking *a, struct hop_buffer *own)
{
    struct hop_plan_call *call = a->work->call;
    struct hop_group_message message;
    if (own->failed)
        return hop_fail_memory(a->work->diag);
    a->verdict.stopped = atomic_load(&a->work->stopped);
    memcpy(own->text, &a->verdict, sizeof a->verdict);
    (void)hop_group_send(call->group, 0, HOP_PLAN_TAG_PART, own->text, own->length, NULL);
    HOP_CHECK(hop_plan_await(call, HOP_PLAN_TAG_ALL, &message, a->work->diag));
    memcpy(&a->verdict, message.bytes, sizeof a->verdict);
    a->work->agreed = a->verdict.stopped;
    if (a->verdict.stopped)
        atomic_store(&a->work->stopped, true);
    if (a->questions->together) /* rank 0's answer is everybody's */
        a->items[0].begun = false;
    enum hop_status status = a->verdict.status != HOP_OK
                                 ? HOP_OK
                                 : read_theirs(a, (const char *)message.bytes + sizeof a->verdict,
                                               message.size_bytes - sizeof a->verdict, a->work->diag);
    free(message.bytes);
    return status;
}

static enum hop_status work_off(struct asking *a)
{
    struct hop_plan_call *call = a->work->call;
    bool together = a->questions->together;
    struct hop_buffer out = {0};
    a->first = together ? 0 : (uint32_t)call->rank;
    a->stride = together ? 1 : (uint32_t)call->ranks;
    call->asking = !together;
    call->told = false;
    hop_plan_together(a->work, a->count > a->first ? (a->count - a->first - 1) / a->stride + 1 : 0, find, a);
    if (call->ranks == 1 && !call->answers.path)
        return HOP_OK;
    hop_buffer_add(&out, (const char *)&a->verdict, sizeof a->verdict);
    if (!together || call->rank == 0)
        write_own(a, &out);
    call->asking = true;
    enum hop_status status = HOP_OK;
    if (call->ranks > 1)
        status = call->rank == 0 ? gather(a, &out) : hand_over(a, &out);
    else if (out.failed)
        status = hop_fail_memory(a->work->diag);
    hop_buffer_finish(&out);
    return status;
}

enum hop_status hop_plan_ask(struct hop_plan_work *work, const struct hop_plan_questions *questions)
{
    struct hop_plan_call *call = work->call;
    struct asking a = {.work = work, .questions = questions, .failed = UINT32_MAX, .verdict = {.status = HOP_OK}};
    a.items = calloc(questions->count + (size_t)1, sizeof *a.items);
    a.open = malloc((questions->count + (size_t)1) * sizeof *a.open);
    enum hop_status status = a.items && a.open ? HOP_OK : hop_fail_memory(work->diag);
    bool kept = call->ranks > 1 || call->answers.path;
    for (uint32_t i = 0; i < questions->count && status == HOP_OK; i++) {
        if (kept)
            a.items[i].key = questions->key(questions->context, i);
        if (!kept || !recall(&a, i))
            a.open[a.count++] = i;
    }
    if (status == HOP_OK && a.verdict.status == HOP_OK && a.count)
        status = work_off(&a);
    call->asking = false;
    if (status == HOP_OK && a.verdict.status != HOP_OK) {
        *work->diag = a.verdict.diag;
        status = a.verdict.status;
    }
    free(a.items);
    free(a.open);
    return status;
}
