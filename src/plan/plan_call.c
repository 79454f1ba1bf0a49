/* SPDX-License-Identifier: BSD-3-Clause */
/* What all that is planned in a call shares: its ranks, and what the checkpoint has, which belongs to one exchange, machine and set of
 * options. */
#include "plan/plan.h"

#include <unistd.h>

#include "base/clock.h"
#include "base/random.h"
#include "hopcast/group.h"

#define WAIT_S 0.02
#define AGAIN_S 0.002 /* where waiting ends at once, since this process is to stop */
#define LOOK_S 0.005

/* ---- messages ---- */

void hop_plan_send_all(struct hop_plan_call *call, enum hop_plan_tag tag, const void *bytes, size_t size)
{
    for (int r = 1; r < call->ranks; r++)
        (void)hop_group_send(call->group, r, tag, bytes, size, NULL); /* a lost rank shows soon */
}

bool hop_plan_lost(struct hop_plan_call *call)
{
    if (call->ranks > 1 && call->lost < 0)
        call->lost = hop_group_lost(call->group, NULL);
    return call->lost >= 0;
}

bool hop_plan_receive(struct hop_plan_call *call, enum hop_plan_tag tag, struct hop_group_message *message)
{
    if (!hop_group_receive(call->group, WAIT_S, message)) {
        hop_sleep_s(AGAIN_S);
        return false;
    }
    if (message->tag == (int)tag)
        return true;
    free(message->bytes); /* what a search of orders counted, or a wish to stop */
    return false;
}

enum hop_status hop_plan_await(struct hop_plan_call *call, enum hop_plan_tag tag, struct hop_group_message *message,
                               struct hop_diag *diag)
{
    while (!hop_plan_lost(call)) {
        if (hop_plan_receive(call, tag, message))
            return HOP_OK;
    }
    (void)hop_group_lost(call->group, diag);
    return HOP_ERR_LOST;
}

bool hop_plan_does(struct hop_plan_call *call)
{
    call->told = call->asking = call->rank == 0;
    return call->asking;
}

enum hop_status hop_plan_hear(struct hop_plan_call *call, void *bytes, size_t size, struct hop_diag *diag)
{
    struct hop_group_message message;
    call->asking = false;
    if (call->rank == 0) {
        hop_plan_send_all(call, HOP_PLAN_TAG_SAYS, bytes, size);
        return HOP_OK;
    }
    HOP_CHECK(hop_plan_await(call, HOP_PLAN_TAG_SAYS, &message, diag));
    memcpy(bytes, message.bytes, message.size_bytes < size ? message.size_bytes : size);
    free(message.bytes);
    return HOP_OK;
}

void hop_plan_look(struct hop_plan_work *work)
{
    struct hop_plan_call *call = work->call;
    struct hop_group_message message;
    double now_s = hop_now_s();
    if (call->lost >= 0) /* also in an algorithm that is planned next */
        atomic_store(&work->stopped, true);
    if (call->ranks == 1 || now_s - call->looked_s < LOOK_S)
        return;
    call->looked_s = now_s;
    while (call->asking && call->rank != 0 && hop_group_receive(call->group, 0, &message)) {
        if (message.tag == HOP_PLAN_TAG_STOP)
            atomic_store(&work->stopped, true);
        free(message.bytes);
    }
    if (hop_plan_lost(call))
        atomic_store(&work->stopped, true);
    if (call->asking && call->rank == 0 && !call->told && atomic_load(&work->stopped)) {
        hop_plan_send_all(call, HOP_PLAN_TAG_STOP, "", 0);
        call->told = true;
    }
}

/* ---- the call ---- */

uint64_t hop_plan_hash_text(uint64_t hash, const char *text)
{
    return text ? hop_hash(hash, text, strlen(text) + 1) : hash; /* with its end, so that two are not one */
}

uint64_t hop_plan_hash_exchange(const struct hop_schedule *exchange)
{
    char *text = hop_schedule_to_text(exchange);
    uint64_t hash = hop_plan_hash_text(HOP_HASH_BEGIN, text);
    hash = hash ? hash : 1;
    free(text);
    return text ? hash : 0;
}

/* Limits, threads and what is found after placement and order may differ. 0: out of memory. */
static uint64_t fingerprint_of(const struct hop_topology *topology, const struct hop_plan_options *o, uint64_t exchange)
{
    const uint64_t numbers[] = {exchange, o->keep_placement, o->allow_unclean, o->no_waits, o->seed, o->way};
    uint64_t hash = hop_hash(HOP_HASH_BEGIN, numbers, sizeof numbers);
    char *machine = hop_topology_to_json(topology);
    if (!machine || !exchange) {
        free(machine);
        return 0;
    }
    hash = hop_plan_hash_text(hop_plan_hash_text(hash, machine), hop_version());
    free(machine);
    hash = hop_plan_hash_text(hash, o->models);
    for (uint32_t r = 0; o->start && r < hop_placement_count(o->start); r++)
        hash = hop_plan_hash_text(hash, hop_placement_device(o->start, r));
    for (uint32_t i = 0; i < o->excluded_count; i++)
        hash = hop_plan_hash_text(hash, o->excluded[i]);
    for (uint32_t i = 0; i < o->keep_count; i++)
        hash = hop_plan_hash_text(hop_plan_hash_text(hash, "keep"), o->keep[i]);
    return hash;
}

/* Of rank 0: the file, if it is there, which the others get. */
static enum hop_status load(struct hop_plan_call *call, const char *path, struct hop_diag *diag)
{
    struct hop_source source = {0};
    if (access(path, F_OK) == 0) {
        HOP_CHECK(hop_source_load(path, &source, diag));
        HOP_CHECK(hop_plan_answers_read(&call->answers, source, diag));
    }
    hop_plan_send_all(call, HOP_PLAN_TAG_SAYS, source.text ? source.text : "", source.size);
    return HOP_OK;
}

static enum hop_status receive_file(struct hop_plan_call *call, struct hop_diag *diag)
{
    struct hop_group_message message;
    struct hop_source source = {0};
    enum hop_status status = HOP_OK;
    HOP_CHECK(hop_plan_await(call, HOP_PLAN_TAG_SAYS, &message, diag));
    if (message.size_bytes)
        status = hop_source_copy("checkpoint", message.bytes, message.size_bytes, &source, diag);
    free(message.bytes);
    return status == HOP_OK && source.text ? hop_plan_answers_read(&call->answers, source, diag) : status;
}

enum hop_status hop_plan_call_begin(struct hop_plan_call *call, const struct hop_topology *topology,
                                    const struct hop_plan_options *o, uint64_t exchange, struct hop_diag *diag)
{
    *call = (struct hop_plan_call){.group = o->group,
                                   .rank = o->group ? hop_group_rank(o->group) : 0,
                                   .ranks = o->group ? hop_group_size(o->group) : 1,
                                   .lost = -1,
                                   .options = o,
                                   .begun_s = hop_now_s()};
    call->until_s = o->time_limit_s > 0 ? call->begun_s + o->time_limit_s : INFINITY;
    if (!(o->checkpoint_s >= 0))
        return hop_fail(diag, HOP_ERR_INVALID, "an interval of checkpoints that is negative or no number");
    if (!o->checkpoint)
        return HOP_OK;
    uint64_t fingerprint = fingerprint_of(topology, o, exchange);
    if (!fingerprint)
        return hop_fail_memory(diag);
    HOP_CHECK(hop_plan_hear(call, &fingerprint, sizeof fingerprint, diag));
    HOP_CHECK(hop_plan_answers_begin(&call->answers, call->rank == 0 ? o->checkpoint : NULL, o->checkpoint_s,
                                     fingerprint, diag));
    return call->rank == 0 ? load(call, o->checkpoint, diag) : receive_file(call, diag);
}

enum hop_status hop_plan_call_end(struct hop_plan_call *call, enum hop_status status, struct hop_plan_result *found,
                                  struct hop_diag *diag)
{
    if (status == HOP_OK)
        status = hop_plan_answers_save(&call->answers, true, diag);
    if (status == HOP_OK && call->unsaved.status != HOP_OK) {
        status = call->unsaved.status;
        if (diag)
            *diag = call->unsaved;
    }
    if (status == HOP_OK) {
        found->lost_rank = call->lost;
        found->recalled = call->answers.heard;
    }
    hop_plan_answers_finish(&call->answers);
    return status;
}
