/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The run: rank 0 hands out blocks in order and keeps each other rank a few ahead; a rank sends a block's outcomes
 * back when all of it is done. In a small group rank 0 computes, too, looking for messages between two cases.
 *
 *     rank 0                      rank r
 *     topologies, schedules ----> kept
 *     block ------------------->  evaluated, case by case
 *            <------------------- outcomes
 *     end --------------------->  (all done)
 *            <------------------- bye (at the end, when stopped, or when a rank is lost)
 */
#include "sweep/sweep.h"

#include <time.h>

enum { AHEAD = 4, HEAD_WORKS_UP_TO = 8 /* ranks */ };
#define WAIT_S 0.05
#define BYE_S 0.3 /* launchers kill a second after they said so */

struct rank {
    uint32_t held[AHEAD]; /* blocks, oldest first */
    uint32_t count;
    uint8_t *known;
    bool gone; /* it said bye */
};

struct run {
    struct hop_sweep *sweep;
    const struct hop_sweep_options *options;
    struct hop_sweep_evaluator evaluator;
    struct hop_group *group;
    int size;
    struct rank *ranks; /* by rank; the first is not used */
    struct hop_sweep_outcome *outcomes;
    uint8_t *done; /* by case */
    uint32_t done_count;
    uint32_t next_block; /* to be handed out */
    uint32_t next_case;  /* to be delivered */
    uint32_t culprit;    /* the first case that failed, with keep_going for memory */
    bool stopped;
    bool refused; /* the caller takes no more results */
    int lost;
    struct hop_sweep_summary *summary;
    struct hop_arena arena;
};

static bool is_stopped(struct run *run)
{
    if (!run->stopped && run->options->progress && !run->options->progress(run->done_count, run->options->context))
        run->stopped = true;
    return run->stopped;
}

/* ---- results ---- */

static void take_outcome(struct run *run, uint32_t index, const struct hop_sweep_outcome *outcome)
{
    if (run->done[index])
        return;
    run->outcomes[index] = *outcome;
    run->done[index] = 1;
    run->done_count++;
    bool ends = outcome->status == HOP_ERR_MEMORY || (outcome->status != HOP_OK && !run->options->keep_going);
    if (ends && index < run->culprit)
        run->culprit = index;
}

/* Once more, here: the caller's schedules know their places. */
static void find_reason(struct run *run, uint32_t index, struct hop_diag *diag)
{
    enum hop_status was = (enum hop_status)run->outcomes[index].status;
    if (was == HOP_ERR_MEMORY) {
        (void)hop_fail_memory(diag);
        return;
    }
    struct hop_sweep_outcome again;
    const struct hop_sweep_entry *entry = &run->sweep->entries[index];
    struct hop_sweep_evaluator evaluator = {.sweep = run->sweep, .sources_unlimited = run->options->sources_unlimited};
    hop_sweep_end(&run->evaluator); /* its topology changes; the block begins anew */
    enum hop_status status = hop_sweep_begin(&evaluator, &run->sweep->keys[entry->key], diag);
    if (status == HOP_OK)
        status = hop_sweep_evaluate(&evaluator, entry, &again, diag);
    hop_sweep_end(&evaluator);
    if (status == HOP_OK)
        (void)hop_fail(diag, was, "%s, on another rank", hop_status_text(was));
}

static void deliver_one(struct run *run, uint32_t index)
{
    struct hop_diag diag = {.what = ""};
    const struct hop_sweep_outcome *o = &run->outcomes[index];
    struct hop_sweep_result result = {.status = (enum hop_status)o->status,
                                      .makespan_s = o->makespan_s,
                                      .bytes = o->bytes,
                                      .rate_Bps = o->makespan_s > 0 ? (double)o->bytes / o->makespan_s : 0,
                                      .slowest = o->slowest,
                                      .slowest_s = o->slowest_s,
                                      .events = o->events};
    if (result.status != HOP_OK) {
        find_reason(run, index, &diag);
        if (diag.status == HOP_ERR_MEMORY) {
            run->outcomes[index].status = HOP_ERR_MEMORY;
            run->culprit = index;
            return;
        }
        result.diag = &diag;
        run->summary->failed++;
    }
    if (run->options->result && !run->options->result(index, &result, run->options->context))
        run->stopped = run->refused = true;
}

/* All that is complete up to the first case that is not. Between blocks only: reasons need the topologies. */
static void deliver(struct run *run)
{
    while (run->next_case < run->sweep->entry_count && run->next_case < run->culprit && run->done[run->next_case] &&
           !run->stopped)
        deliver_one(run, run->next_case++);
}

static void deliver_rest(struct run *run)
{
    for (; run->next_case < run->sweep->entry_count && run->next_case < run->culprit && !run->refused;
         run->next_case++) {
        if (run->done[run->next_case])
            deliver_one(run, run->next_case);
    }
}

/* ---- other ranks, seen from rank 0 ---- */

static bool is_needed(const struct run *run, uint32_t block)
{
    return block < run->sweep->block_count && run->sweep->blocks[block].first < run->culprit;
}

/* How many blocks a rank may have at a time: fewer towards the end, so that all end together. */
static uint32_t depth(const struct run *run)
{
    uint32_t left = run->sweep->block_count - run->next_block, each = left / (2 * (uint32_t)run->size);
    return each > AHEAD ? AHEAD : each < 1 ? 1 : each;
}

static enum hop_status refill(struct run *run, struct hop_diag *diag)
{
    enum hop_status status = HOP_OK;
    for (uint32_t level = 0; level < AHEAD; level++) { /* one each before anyone has two */
        for (int to = 1; to < run->size; to++) {
            struct rank *rank = &run->ranks[to];
            if (rank->count > level || rank->count >= depth(run) || rank->gone || !is_needed(run, run->next_block))
                continue;
            status = hop_sweep_send_block(run->sweep, run->options, to, run->next_block, rank->known, diag);
            if (status != HOP_OK)
                return status;
            rank->held[rank->count++] = run->next_block++;
        }
    }
    return HOP_OK;
}

static void read_done(struct run *run, const struct hop_group_message *message)
{
    struct rank *rank = &run->ranks[message->from];
    uint32_t number;
    if (message->size_bytes < sizeof number)
        return;
    memcpy(&number, message->bytes, sizeof number);
    if (number >= run->sweep->block_count)
        return;
    const struct hop_sweep_block *block = &run->sweep->blocks[number];
    if (message->size_bytes != sizeof number + block->count * sizeof(struct hop_sweep_outcome))
        return;
    for (uint32_t i = 0; i < block->count; i++) {
        struct hop_sweep_outcome outcome;
        memcpy(&outcome, (const char *)message->bytes + sizeof number + i * sizeof outcome, sizeof outcome);
        take_outcome(run, block->first + i, &outcome);
    }
    for (uint32_t k = 0; k < rank->count; k++) {
        if (rank->held[k] == number) {
            memmove(&rank->held[k], &rank->held[k + 1], (rank->count - k - 1) * sizeof rank->held[0]);
            rank->count--;
            break;
        }
    }
}

static void take_messages(struct run *run, double wait_s)
{
    struct hop_group_message message;
    while (hop_group_receive(run->group, wait_s, &message)) {
        wait_s = 0;
        if (message.tag == HOP_SWEEP_TAG_DONE)
            read_done(run, &message);
        else if (message.tag == HOP_SWEEP_TAG_BYE)
            run->ranks[message.from].gone = true;
        free(message.bytes);
    }
}

static enum hop_status read_messages(struct run *run, double wait_s, struct hop_diag *diag)
{
    take_messages(run, wait_s);
    run->lost = hop_group_lost(run->group, &run->summary->lost);
    return run->lost < 0 && !run->stopped ? refill(run, diag) : HOP_OK;
}

/* ---- the work of one process ---- */

static enum hop_status work_here(struct run *run, struct hop_diag *diag)
{
    const struct hop_sweep_block block = run->sweep->blocks[run->next_block++];
    struct hop_sweep_outcome outcome;
    enum hop_status begun = hop_sweep_begin(&run->evaluator, &run->sweep->keys[block.key], diag), status = HOP_OK;
    for (uint32_t i = 0; i < block.count && status == HOP_OK && run->lost < 0; i++) {
        if (is_stopped(run))
            break;
        if (begun == HOP_OK)
            (void)hop_sweep_evaluate(&run->evaluator, &run->sweep->entries[block.first + i], &outcome, NULL);
        else
            outcome = (struct hop_sweep_outcome){.slowest = HOP_NONE, .status = begun};
        take_outcome(run, block.first + i, &outcome);
        if (run->size > 1)
            status = read_messages(run, 0, diag);
        if (block.first + i >= run->culprit)
            break;
    }
    return status;
}

/* ---- the end ---- */

/* After a stop or a loss. A launcher that saw a rank die signals the others, which then leave: the one that is
 * missing is the one that says no bye. */
static void wait_for_byes(struct run *run)
{
    const struct timespec shortly = {0, 2000000};
    int silent = 1;
    for (int look = 0; look < (int)(BYE_S / 2e-3) && silent < run->size; look++) {
        take_messages(run, 0);
        while (silent < run->size && run->ranks[silent].gone)
            silent++;
        if (silent < run->size)
            (void)nanosleep(&shortly, NULL);
    }
    if (run->lost >= 0 && !run->ranks[run->lost].gone)
        return;
    run->lost = silent < run->size ? silent : -1;
    run->stopped = true;
    if (run->lost >= 0)
        (void)hop_fail(&run->summary->lost, HOP_ERR_IO, "rank %d did not answer within %g s of the stop", silent,
                       BYE_S);
}

/* The cases that the lost rank had. */
static void name_lost(struct run *run)
{
    struct hop_sweep_summary *summary = run->summary;
    summary->lost_rank = run->lost;
    if (run->lost <= 0 || !run->ranks[run->lost].count)
        return;
    const struct hop_sweep_block *block = &run->sweep->blocks[run->ranks[run->lost].held[0]];
    summary->lost_first = block->first;
    summary->lost_count = block->count;
}

static enum hop_status finish(struct run *run, enum hop_status status, struct hop_diag *diag)
{
    struct hop_sweep_summary *summary = run->summary;
    bool complete = run->done_count == run->sweep->entry_count && status == HOP_OK;
    for (int to = 1; to < run->size && run->lost < 0; to++)
        (void)hop_group_send(run->group, to, HOP_SWEEP_TAG_END, "", 0, NULL);
    if (run->size > 1 && !complete && !run->refused && (run->stopped || run->lost > 0))
        wait_for_byes(run);
    deliver_rest(run);
    name_lost(run);
    summary->done = run->done_count;
    summary->networks = run->evaluator.networks;
    summary->complete = complete;
    summary->culprit = run->culprit;
    hop_sweep_end(&run->evaluator);
    if (status == HOP_OK && run->culprit != HOP_NONE) {
        struct hop_diag reason;
        find_reason(run, run->culprit, &reason);
        if (diag)
            *diag = reason;
        status = reason.status;
    }
    return status;
}

/* ---- rank 0 ---- */

static bool goes_on(const struct run *run)
{
    uint32_t end = run->culprit == HOP_NONE ? run->sweep->entry_count : run->culprit;
    uint32_t next = run->next_case; /* delivered up to here; what lacks may be before the culprit */
    while (next < end && run->done[next])
        next++;
    return next < end && run->lost < 0 && !run->stopped;
}

static enum hop_status lead(struct run *run, struct hop_diag *diag)
{
    uint32_t culprit = HOP_NONE;
    run->evaluator =
        (struct hop_sweep_evaluator){.sweep = run->sweep, .sources_unlimited = run->options->sources_unlimited};
    enum hop_status status = run->options->keep_going ? HOP_OK : hop_sweep_check(&run->evaluator, &culprit, diag);
    if (status != HOP_OK) {
        run->culprit = run->sweep->entry_count ? culprit : HOP_NONE;
        return finish(run, status, diag);
    }
    bool works = run->size <= HEAD_WORKS_UP_TO;
    if (run->size > 1)
        status = read_messages(run, 0, diag);
    while (status == HOP_OK && goes_on(run) && !is_stopped(run)) {
        bool here = works && is_needed(run, run->next_block);
        if (here)
            status = work_here(run, diag);
        else
            status = read_messages(run, WAIT_S, diag);
        deliver(run);
    }
    return finish(run, status, diag);
}

static enum hop_status prepare(struct run *run, struct hop_diag *diag)
{
    struct hop_sweep *sweep = run->sweep;
    size_t nouns = (size_t)sweep->schedule_count + sweep->topology_count;
    run->outcomes = hop_arena_alloc(&run->arena, sweep->entry_count * sizeof *run->outcomes);
    run->done = hop_arena_alloc(&run->arena, sweep->entry_count);
    run->ranks = hop_arena_alloc(&run->arena, (size_t)run->size * sizeof *run->ranks);
    for (int r = 1; r < run->size && run->ranks; r++)
        run->ranks[r].known = hop_arena_alloc(&run->arena, nouns);
    return run->arena.failed ? hop_fail_memory(diag) : hop_sweep_cut(sweep, diag);
}

/* ---- the others ---- */

static bool work_on(struct run *run, const struct hop_group_message *message)
{
    struct hop_sweep_parcel parcel;
    struct hop_buffer answer = {0};
    if (!hop_sweep_read_parcel(message, &parcel))
        return false;
    hop_buffer_add(&answer, (const char *)&parcel.block, sizeof parcel.block);
    run->evaluator.sources_unlimited = parcel.sources_unlimited;
    enum hop_status begun = hop_sweep_begin(&run->evaluator, &parcel.key, NULL);
    for (uint32_t i = 0; i < parcel.count && !is_stopped(run); i++) {
        struct hop_sweep_outcome outcome = {.slowest = HOP_NONE, .status = begun};
        if (begun == HOP_OK)
            (void)hop_sweep_evaluate(&run->evaluator, &parcel.entries[i], &outcome, NULL);
        hop_buffer_add(&answer, (const char *)&outcome, sizeof outcome);
    }
    bool fine = !answer.failed && (run->stopped || hop_group_send(run->group, 0, HOP_SWEEP_TAG_DONE, answer.text,
                                                                  answer.length, NULL) == HOP_OK);
    hop_buffer_finish(&answer);
    return fine;
}

static enum hop_status follow(struct run *run, struct hop_diag *diag)
{
    struct hop_group_message message;
    bool fine = true, ended = false;
    run->evaluator = (struct hop_sweep_evaluator){.sweep = run->sweep};
    while (fine && !ended && !is_stopped(run) && run->lost < 0) {
        if (!hop_group_receive(run->group, WAIT_S, &message)) {
            run->lost = hop_group_lost(run->group, &run->summary->lost);
            continue;
        }
        if (message.tag == HOP_SWEEP_TAG_BLOCK)
            fine = work_on(run, &message);
        else if (message.tag == HOP_SWEEP_TAG_END)
            ended = true;
        else
            fine = hop_sweep_take_noun(run->sweep, &message);
        free(message.bytes);
    }
    hop_sweep_end(&run->evaluator);
    if (fine)
        (void)hop_group_send(run->group, 0, HOP_SWEEP_TAG_BYE, "", 0, NULL);
    run->summary->lost_rank = run->lost;
    run->summary->complete = ended;
    return fine ? HOP_OK : hop_fail_memory(diag);
}

enum hop_status hop_sweep_run(struct hop_sweep *sweep, const struct hop_sweep_options *options,
                              struct hop_sweep_summary *summary, struct hop_diag *diag)
{
    struct hop_sweep_options own = {0};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    options = &own;
    struct run run = {.sweep = sweep,
                      .options = options,
                      .group = options->group,
                      .size = options->group ? hop_group_size(options->group) : 1,
                      .culprit = HOP_NONE,
                      .lost = -1,
                      .summary = summary};
    *summary = (struct hop_sweep_summary){.culprit = HOP_NONE, .lost_rank = -1};
    if (options->group && hop_group_rank(options->group) != 0)
        return follow(&run, diag);
    enum hop_status status = prepare(&run, diag);
    if (status == HOP_OK)
        status = lead(&run, diag);
    hop_arena_finish(&run.arena);
    return status;
}
