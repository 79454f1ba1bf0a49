/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Running messages under model loggp: see messages.h.
 *
 * What is next comes from three places: two sequences that are nearly always appended to in order (posted receives,
 * messages under way) and a heap for the rest, which holds little more than the heads of the lines.
 */
#include "simulate/messages.h"

#include <stdio.h>

#include "base/heap.h"
#include "schedule/schedule.h"

enum { PROGRESS_ELEMENTS = 1 << 16 };

/* ---- what is next ---- */

#define BEFORE(m, a, b) ((a).time != (b).time ? (a).time < (b).time : (a).number < (b).number)
HOP_HEAP(heap, 4, struct hop_messages *, struct hop_due, BEFORE, HOP_HEAP_PUT);

static void push_heap(struct hop_messages *m, struct hop_due due)
{
    if (!HOP_GROW(&m->arena, m->heap, (size_t)m->heap_count + 1)) {
        m->failed = true;
        return;
    }
    heap_up(m, m->heap, m->heap_count++, due);
}

static void pop_heap(struct hop_messages *m)
{
    uint32_t count = --m->heap_count;
    heap_down(m, m->heap, count, 0, m->heap[count]);
}

static bool grow_run(struct hop_message_run *run)
{
    uint32_t capacity = run->capacity ? run->capacity * 2 : 1024;
    struct hop_due *ring = capacity > run->capacity ? malloc((size_t)capacity * sizeof *ring) : NULL;
    if (!ring)
        return false;
    for (uint32_t i = 0; i < run->count; i++)
        ring[i] = run->ring[(run->head + i) & (run->capacity - 1)];
    free(run->ring);
    *run = (struct hop_message_run){ring, 0, run->count, capacity};
    return true;
}

/* Numbers ascend, so times decide whether it may stand behind the last. */
static inline void push_run(struct hop_messages *m, struct hop_message_run *run, struct hop_due due)
{
    if (run->count && run->ring[(run->head + run->count - 1) & (run->capacity - 1)].time > due.time) {
        push_heap(m, due);
        return;
    }
    if (run->count == run->capacity && !grow_run(run)) {
        m->failed = true;
        return;
    }
    run->ring[(run->head + run->count++) & (run->capacity - 1)] = due;
}

/* false: nothing is left. */
static inline bool pop(struct hop_messages *m, struct hop_due *due)
{
    struct hop_message_run *const runs[] = {&m->posts, &m->arrivals};
    struct hop_message_run *from = NULL;
    const struct hop_due *best = m->heap_count ? m->heap : NULL;
    for (size_t r = 0; r < HOP_COUNT(runs); r++) {
        if (runs[r]->count && (!best || BEFORE(m, runs[r]->ring[runs[r]->head], *best))) {
            from = runs[r];
            best = &from->ring[from->head];
        }
    }
    if (!best)
        return false;
    *due = *best;
    if (from) {
        from->head = (from->head + 1) & (from->capacity - 1);
        from->count--;
    } else {
        pop_heap(m);
    }
    return true;
}

/* ---- lines ---- */

static inline uint64_t later(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static inline uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

static inline uint64_t free_at(const struct hop_messages *m, const struct hop_line *line)
{
    return later(m->clocks[line->cpu], m->clocks[line->nic]);
}

/* By number; who comes is nearly always the last. */
static void enter_line(struct hop_messages *m, struct hop_line *line, uint32_t op)
{
    struct hop_action_state *state = &m->states[op];
    state->in_line = true;
    state->next = HOP_NONE;
    if (line->head == HOP_NONE) {
        line->head = line->tail = op;
    } else if (m->states[line->tail].number < state->number) {
        m->states[line->tail].next = op;
        line->tail = op;
    } else {
        uint32_t *at = &line->head;
        while (m->states[*at].number < state->number)
            at = &m->states[*at].next;
        state->next = *at;
        *at = op;
    }
}

/* The head of a line stands in the queue. */
static inline void queue_head(struct hop_messages *m, const struct hop_line *line)
{
    if (line->head == HOP_NONE || m->states[line->head].in_queue)
        return;
    m->states[line->head].in_queue = true;
    push_heap(m, (struct hop_due){free_at(m, line), m->states[line->head].number, line->head});
}

/* ---- releasing ---- */

static inline void release_op(struct hop_messages *m, uint32_t op)
{
    const struct hop_action *action = &m->actions[op];
    struct hop_line *line = &m->lines[action->line];
    struct hop_action_state *state = &m->states[op];
    uint64_t not_before = action->timed ? m->not_before[op] : 0;
    state->number = m->next_number++;
    if (action->kind == HOP_OP_RECEIVE) {
        push_run(m, &m->posts, (struct hop_due){later(m->clocks[line->cpu], not_before), state->number, op});
    } else if (not_before > free_at(m, line)) {
        state->in_queue = true;
        push_heap(m, (struct hop_due){not_before, state->number, op});
    } else {
        enter_line(m, line, op);
        if (line->head == op)
            queue_head(m, line);
    }
}

/* By class, and there in the order in which they were freed. */
static void sort_freed(struct hop_messages *m)
{
    uint32_t count = m->freed_count, i = 1;
    while (i < count && hop_action_class(&m->actions[m->freed[i - 1]]) <= hop_action_class(&m->actions[m->freed[i]]))
        i++;
    if (i >= count)
        return;
    for (i = 0; i < count; i++)
        m->order[i] = (uint64_t)hop_action_class(&m->actions[m->freed[i]]) << 32 | i;
    qsort(m->order, count, sizeof *m->order, hop_ascending_u64);
    for (i = 0; i < count; i++)
        m->order[i] = m->freed[(uint32_t)m->order[i]];
    for (i = 0; i < count; i++)
        m->freed[i] = (uint32_t)m->order[i];
}

static inline void release(struct hop_messages *m)
{
    if (m->freed_count > 1)
        sort_freed(m);
    for (uint32_t i = 0; i < m->freed_count; i++)
        release_op(m, m->freed[i]);
    m->freed_count = 0;
}

/* The time counts for users elsewhere only: at their own process they look at its clocks. */
static inline void unblock(struct hop_messages *m, uint32_t user, uint32_t process, uint64_t time)
{
    const struct hop_action *action = &m->actions[user];
    if (action->timed && action->process != process)
        m->not_before[user] = later(m->not_before[user], time);
    if (--m->states[user].blocked == 0)
        m->freed[m->freed_count++] = user;
}

static inline void started(struct hop_messages *m, uint32_t op, uint64_t time)
{
    const struct hop_action *action = &m->actions[op];
    for (uint32_t u = action->first_start_user; u < action[1].first_start_user; u++)
        unblock(m, m->start_users[u], action->process, time);
}

static inline void finished(struct hop_messages *m, uint32_t op, uint32_t process, uint64_t time)
{
    const struct hop_action *action = &m->actions[op];
    for (uint32_t u = action->first_user; u < action[1].first_user; u++)
        unblock(m, m->users[u], process, time);
    m->states[op].phase = HOP_PHASE_ENDED;
    m->ended++;
    if (m->notes) {
        m->notes[op].end = time;
        m->notes[op].start = earlier(m->notes[op].start, time); /* time ran backwards, see docs/models.md */
    }
}

/* ---- notes ---- */

/* Before the clocks advance: until when each of them kept the element, and for whom. */
static void note_wait(const struct hop_messages *m, const struct hop_line *line, uint64_t *cpu_until, uint32_t *cpu_by,
                      uint32_t *nic_by)
{
    *cpu_until = m->clocks[line->cpu];
    *cpu_by = m->clock_by[line->cpu];
    *nic_by = m->clock_by[line->nic];
}

static void note_start(struct hop_messages *m, const struct hop_line *line, uint32_t op, uint64_t time)
{
    struct hop_note *note = &m->notes[op];
    note->start = time;
    note_wait(m, line, &note->cpu_until, &note->cpu_by, &note->nic_by);
    m->clock_by[line->cpu] = op;
    if (m->actions[op].kind == HOP_OP_SEND || m->actions[op].kind == HOP_OP_COPY)
        m->clock_by[line->nic] = op;
}

static void note_taken(struct hop_messages *m, const struct hop_line *line, uint32_t op, uint64_t time)
{
    struct hop_note *note = &m->notes[op];
    note->taken = time;
    note_wait(m, line, &note->taken_cpu, &note->taken_cpu_by, &note->taken_nic_by);
    m->clock_by[line->cpu] = m->clock_by[line->nic] = op;
}

/* ---- elements ---- */

/* What was sent or taken over a NIC is acknowledged in its other direction. */
static inline void acknowledge(struct hop_messages *m, const struct hop_line *line, const struct hop_cost *cost,
                               uint64_t time)
{
    if (cost->back)
        m->clocks[line->back] = later(m->clocks[line->back], time) + cost->back;
}

static void run_work(struct hop_messages *m, uint32_t op, const struct hop_line *line, uint64_t time)
{
    if (m->notes)
        note_start(m, line, op, time);
    m->clocks[line->cpu] = time + m->costs[m->actions[op].cost].cpu;
    started(m, op, time);
    finished(m, op, m->actions[op].process, m->clocks[line->cpu]);
    release(m);
}

/* The message gets its number before what the send releases. */
static void run_send(struct hop_messages *m, uint32_t op, const struct hop_line *line, uint64_t time)
{
    const struct hop_action *action = &m->actions[op];
    const struct hop_cost *cost = &m->costs[action->cost];
    struct hop_action_state *state = &m->states[op];
    if (m->notes) {
        note_start(m, line, op, time);
        m->notes[op].arrival = time + m->delay + cost->late;
    }
    m->clocks[line->cpu] = time + cost->cpu;
    m->clocks[line->nic] = time + cost->nic;
    acknowledge(m, line, cost, time);
    state->phase = HOP_PHASE_MESSAGE;
    state->number = m->next_number++;
    state->in_queue = true;
    m->sent += action->kind == HOP_OP_SEND;
    push_run(m, &m->arrivals, (struct hop_due){time + m->delay + cost->late, state->number, op});
    started(m, op, time);
    if (action->kind == HOP_OP_SEND && !cost->rendezvous)
        finished(m, op, action->process, m->clocks[line->cpu]);
    /* An eager send has ended, its message has not. */
    state->phase = HOP_PHASE_MESSAGE;
    release(m);
}

/* A rendezvous ends; the clocks that it used, or those that its receive names, advance to now. */
static void let_go(struct hop_messages *m, uint32_t send, const struct hop_line *line, uint64_t time)
{
    uint64_t own = m->notes ? m->notes[send].start + m->costs[m->actions[send].cost].cpu : 0;
    m->clocks[line->cpu] = later(m->clocks[line->cpu], time);
    m->clocks[line->nic] = later(m->clocks[line->nic], time);
    finished(m, send, m->actions[send].process, later(time, own));
}

/* A send and its receive have met; a rendezvous ends now, or once its receiver has read it. */
static void meet(struct hop_messages *m, uint32_t send, uint32_t receive, const struct hop_line *line, uint64_t time)
{
    m->matched++;
    m->states[send].phase = HOP_PHASE_ENDED;
    if (m->notes) {
        m->notes[receive].partner = send;
        m->notes[send].partner = receive;
    }
    if (!m->costs[m->actions[send].cost].rendezvous)
        return;
    if (!m->read_until || m->read_until[send] <= time) {
        let_go(m, send, line, time);
        return;
    }
    struct hop_action_state *state = &m->states[send];
    state->phase = HOP_PHASE_READ;
    state->number = m->next_number++;
    push_heap(m, (struct hop_due){m->read_until[send], state->number, send});
}

static void append(struct hop_messages *m, struct hop_channel *channel, uint32_t op)
{
    m->states[op].next = HOP_NONE;
    if (channel->head == HOP_NONE)
        channel->head = op;
    else
        m->states[channel->tail].next = op;
    channel->tail = op;
}

/* Whether a receive takes a send to its process. */
static bool fits(const struct hop_messages *m, uint32_t receive, uint32_t send)
{
    const struct hop_op *takes = hop_schedule_op(m->schedule, receive);
    uint32_t from = m->clock_process[m->lines[m->actions[receive].far_line].cpu];
    return (takes->any_source || from == m->actions[send].process) &&
           (takes->any_tag || takes->tag == hop_schedule_op(m->schedule, send)->tag);
}

/* The first on the other side that matches who comes, a message or a receive, and out of its channel; HOP_NONE: it waits now. */
static uint32_t take_partner(struct hop_messages *m, uint32_t op, bool message)
{
    const struct hop_action *action = &m->actions[op];
    struct hop_channel *own = &m->channels[action->channel], *other = own;
    if (action->open)
        *(message ? &own : &other) = own + 1;
    uint32_t found = other->head, before = HOP_NONE;
    while (action->open && found != HOP_NONE && !fits(m, message ? found : op, message ? op : found)) {
        before = found;
        found = m->states[found].next;
    }
    if (found == HOP_NONE || (m->actions[found].kind == HOP_OP_RECEIVE) != message) {
        append(m, own, op);
        return HOP_NONE;
    }
    *(before == HOP_NONE ? &other->head : &m->states[before].next) = m->states[found].next;
    if (m->states[found].next == HOP_NONE)
        other->tail = before;
    return found;
}

static void run_message(struct hop_messages *m, uint32_t op, const struct hop_line *line, uint64_t time)
{
    const struct hop_action *action = &m->actions[op];
    const struct hop_cost *cost = &m->costs[action->cost];
    if (m->notes)
        note_taken(m, line, op, time);
    m->clocks[line->cpu] = time + cost->take;
    m->clocks[line->nic] = time + cost->nic;
    acknowledge(m, line, cost, time);
    if (m->notes)
        m->notes[op].taken_end = m->clocks[line->cpu];
    if (m->read_until)
        m->read_until[op] = m->clocks[line->cpu];
    if (action->kind == HOP_OP_COPY) {
        finished(m, op, m->clock_process[line->cpu], m->clocks[line->cpu]);
        release(m);
        return;
    }
    uint32_t receive = take_partner(m, op, true);
    if (receive == HOP_NONE)
        return;
    meet(m, op, receive, &m->lines[action->line], time);
    finished(m, receive, m->actions[receive].process, m->clocks[line->cpu]);
    release(m);
}

static void post_receive(struct hop_messages *m, uint32_t op, uint64_t time)
{
    const struct hop_action *action = &m->actions[op];
    if (m->notes) {
        m->notes[op].start = time;
        m->notes[op].cpu_by = m->notes[op].nic_by = HOP_NONE;
    }
    started(m, op, time);
    uint32_t send = take_partner(m, op, false);
    if (send != HOP_NONE) {
        bool any = hop_schedule_op(m->schedule, op)->any_source; /* its sender's clocks are those that the send used */
        meet(m, send, op, &m->lines[any ? m->actions[send].line : action->far_line], time);
        finished(m, op, action->process, m->notes ? later(time, m->notes[send].taken_end) : time);
    }
    release(m);
}

/* An operation or message that is due: it runs, or its clocks are late and it waits in their line. */
static void run_element(struct hop_messages *m, const struct hop_due *due)
{
    uint32_t op = due->op;
    struct hop_action_state *state = &m->states[op];
    bool message = state->phase == HOP_PHASE_MESSAGE;
    struct hop_line *line = &m->lines[message ? m->actions[op].far_line : m->actions[op].line];
    bool late = free_at(m, line) > due->time;
    state->in_queue = false;
    if (state->phase == HOP_PHASE_READ) {
        let_go(m, op, line, due->time);
        release(m);
        return;
    }
    if (state->in_line && line->head != op)
        return; /* somebody with a lower number came; he calls us */
    if (late) {
        if (!state->in_line)
            enter_line(m, line, op);
        if (line->head == op)
            queue_head(m, line);
        return;
    }
    bool headed = state->in_line;
    if (headed)
        line->head = state->next;
    state->in_line = false;
    if (message)
        run_message(m, op, line, due->time);
    else if (hop_action_class(&m->actions[op]) % HOP_CLASSES == 0)
        run_send(m, op, line, due->time);
    else
        run_work(m, op, line, due->time);
    if (headed)
        queue_head(m, line);
}

/* ---- a run ---- */

static void reset(struct hop_messages *m)
{
    for (uint32_t i = 0; i < m->count; i++)
        m->states[i] = (struct hop_action_state){.blocked = m->initially_blocked[i], .next = HOP_NONE};
    for (uint32_t l = 0; l < m->line_count; l++)
        m->lines[l].head = m->lines[l].tail = HOP_NONE;
    for (uint32_t c = 0; c < m->channel_count; c++)
        m->channels[c] = (struct hop_channel){HOP_NONE, HOP_NONE};
    memset(m->clocks, 0, m->clock_count * sizeof *m->clocks);
    if (m->not_before)
        memcpy(m->not_before, m->initially_not_before, m->count * sizeof *m->not_before);
    if (m->notes) {
        memset(m->notes, 0, m->count * sizeof *m->notes);
        memset(m->clock_by, 0xff, m->clock_count * sizeof *m->clock_by);
    }
    m->heap_count = m->posts.head = m->posts.count = m->arrivals.head = m->arrivals.count = m->next_number = 0;
    m->ended = m->matched = m->sent = m->freed_count = 0;
    m->failed = false;
}

/* ---- schedules that do not end ---- */

/* An eager send ends before its message. */
static bool has_ended(const struct hop_messages *m, uint32_t op)
{
    const struct hop_action *action = &m->actions[op];
    return m->states[op].phase == HOP_PHASE_ENDED ||
           (m->states[op].phase == HOP_PHASE_MESSAGE && action->kind == HOP_OP_SEND &&
            !m->costs[action->cost].rendezvous);
}

/* Of an operation that has not ended: what it waits for. */
static void describe_wait(const struct hop_messages *m, uint32_t index, char *text, size_t size)
{
    const struct hop_op *op = hop_schedule_op(m->schedule, index);
    const struct hop_action_state *state = &m->states[index];
    for (uint32_t d = 0; state->blocked && d < op->after_count + op->after_start_count; d++) {
        bool start = d >= op->after_count;
        uint32_t other = start ? op->after_start[d - op->after_count] : op->after[d];
        if (start ? m->states[other].blocked == 0 : has_ended(m, other))
            continue;
        (void)snprintf(text, size, "%.24s waits for %.24s", op->name, hop_schedule_op(m->schedule, other)->name);
        return;
    }
    char tag[24] = "any";
    if (!op->any_tag)
        (void)snprintf(tag, sizeof tag, "%u", op->tag);
    if (op->kind == HOP_OP_RECEIVE)
        (void)snprintf(text, size, "%.24s waits for a message from %.24s, tag %s", op->name,
                       op->any_source ? "any source" : op->from.device, tag);
    else
        (void)snprintf(text, size, "%.24s waits for a receive at %.24s, tag %u", op->name, op->to.device, op->tag);
}

/* Those that wait for no other operation say most: they come first. */
static enum hop_status incomplete(const struct hop_messages *m, struct hop_diag *diag)
{
    enum { SHOWN = 8 };
    char text[440] = "", wait[128], place[192];
    size_t used = 0;
    uint32_t shown = 0, all = 0, first = HOP_NONE;
    for (unsigned pass = 0; pass < 2; pass++) {
        for (uint32_t i = 0; i < m->count; i++) {
            const struct hop_action_state *state = &m->states[i];
            if (state->phase == HOP_PHASE_ENDED || (state->blocked != 0) != (pass == 1))
                continue;
            first = all++ == 0 ? i : first;
            if (shown == SHOWN)
                continue;
            describe_wait(m, i, wait, sizeof wait);
            if (used + strlen(wait) + 8 >= sizeof text - 64)
                continue;
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%s", shown++ ? ", " : "", wait);
        }
    }
    hop_fail(diag, HOP_ERR_DEADLOCK,
             "%u of %u operations do not end: %s%s\nevery send matched by a receive of its places and tag, without a "
             "cycle of waits",
             all, m->count, text, all > shown ? ", ..." : "");
    hop_diag_place(diag, "%s", hop_schedule_place(m->schedule, first, 0, place, sizeof place));
    return HOP_ERR_DEADLOCK;
}

static enum hop_status conclude(struct hop_messages *m, double *makespan_s, struct hop_diag *diag)
{
    uint64_t last = 0;
    if (m->failed)
        return hop_fail_memory(diag);
    for (uint32_t c = 0; c < m->clock_count; c++)
        last = later(last, m->clock_process[c] == HOP_NONE ? 0 : m->clocks[c]);
    if (last > HOP_CLOCK_LIMIT)
        return hop_fail(diag, HOP_ERR_LIMIT, "the schedule takes too long\nat most 53 days");
    if (m->ended < m->count || m->matched < m->sent)
        return incomplete(m, diag);
    m->timeline->events = m->next_number;
    m->timeline->makespan_s = *makespan_s = (double)last / 1e12;
    return hop_messages_note_timeline(m, diag);
}

enum hop_status hop_messages_run(struct hop_messages *m, double *makespan_s, struct hop_diag *diag)
{
    struct hop_due due;
    uint32_t count = 0;
    reset(m);
    memcpy(m->freed, m->initial, m->initial_count * sizeof *m->freed);
    m->freed_count = m->initial_count;
    release(m);
    while (!m->failed && pop(m, &due) && due.time <= HOP_CLOCK_LIMIT) {
        if (m->actions[due.op].kind == HOP_OP_RECEIVE)
            post_receive(m, due.op, due.time);
        else
            run_element(m, &due);
        if (++count % PROGRESS_ELEMENTS == 0 && m->options.progress)
            m->options.progress((double)m->ended / m->count, m->options.context);
    }
    return conclude(m, makespan_s, diag);
}

/* ---- creation ---- */

enum hop_status hop_messages_create(struct hop_network *network, const struct hop_schedule *schedule,
                                    const struct hop_simulate_options *options, struct hop_timeline *timeline,
                                    struct hop_messages **messages, struct hop_diag *diag)
{
    struct hop_messages *m = calloc(1, sizeof *m);
    if (!m)
        return hop_fail_memory(diag);
    m->options = *options;
    m->timeline = timeline;
    m->schedule = schedule;
    m->count = hop_schedule_count(schedule);
    timeline->topology = hop_network_topology(network);
    timeline->network = network;
    timeline->original = timeline->schedule = schedule;
    timeline->detail = options->detail;
    hop_timeline_read_rates(timeline);
    enum hop_status status = hop_messages_compile(m, network, diag);
    if (status == HOP_OK)
        *messages = m;
    else
        hop_messages_destroy(m);
    return status;
}

void hop_messages_destroy(struct hop_messages *m)
{
    if (!m)
        return;
    free(m->posts.ring);
    free(m->arrivals.ring);
    hop_arena_finish(&m->arena);
    free(m);
}
