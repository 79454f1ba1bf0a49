/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The event loop.
 *
 *     dependencies met, earliest start reached  ->  ready  ->  source engine takes it  ->  latency  ->  bytes move  ->  end
 *
 * Between events all rates are constant. At each event: transfers and timers that are due end, their users and the engines
 * they free start others, and when the active set changed the network is asked for new rates.
 *
 * Ties: operations that end together leave together; what becomes ready at one instant starts in schedule order where a queue
 * decides. A transfer has ended when less than 1e-9 of its bytes are left, which is what "together" means.
 */
#include "model/model.h"
#include "simulate/messages.h"
#include "simulate/packet.h"
#include "simulate/simulation.h"

#include <math.h>

#define TOGETHER 1e-9
enum { PROGRESS_EVENTS = 256, WORK_AN_OP = 128, WORK_AN_EVENT = 32, WORK_A_CHANGE = 32 };

#define ENTRY_BEFORE(c, a, b) ((a).key != (b).key ? (a).key < (b).key : (a).op < (b).op)
HOP_HEAP(entries, 2, void *, struct hop_entry, ENTRY_BEFORE, HOP_HEAP_PUT);

static inline void push(struct hop_entry *heap, uint32_t *count, struct hop_entry entry)
{
    entries_up(NULL, heap, (*count)++, entry);
}

static inline struct hop_entry pop(struct hop_entry *heap, uint32_t *count)
{
    struct hop_entry first = heap[0];
    --*count;
    entries_down(NULL, heap, *count, 0, heap[*count]);
    return first;
}

static void push_timer(struct hop_simulation *s, double time_s, uint32_t op, enum hop_timer what)
{
    push(s->timers, &s->timer_count, (struct hop_entry){time_s, op, what});
}

/* ---- lanes: the transfers on one route by when they will be served ---- */

/* Nothing about the lane's rate is known at this instant: its count, or which of its transfers ends first, is another one. */
static inline void mark_moved(struct hop_simulation *s, uint32_t class, struct hop_lane *lane)
{
    if (lane->moved)
        return;
    lane->moved = true;
    s->moved[s->moved_count++] = class;
}

static inline void catch_up(const struct hop_simulation *s, struct hop_clock *clock)
{
    clock->served += clock->rate * (s->now - clock->since);
    clock->since = s->now;
}

static inline struct hop_clock *change_clock(struct hop_simulation *s, uint32_t index)
{
    struct hop_clock *clock = &s->clocks[index];
    catch_up(s, clock);
    if (!clock->changed)
        s->changed[s->changed_count++] = index;
    clock->changed = true;
    return clock;
}

static inline void leave_clock(struct hop_simulation *s, struct hop_lane *lane)
{
    if (lane->clock == HOP_NONE)
        return;
    struct hop_clock *clock = change_clock(s, lane->clock);
    clock->lost = clock->lost || lane->key - lane->ahead <= clock->first;
    lane->ahead += clock->served;
    lane->clock = HOP_NONE;
}

static inline double served(const struct hop_simulation *s, const struct hop_lane *lane)
{
    if (lane->clock == HOP_NONE)
        return lane->ahead;
    const struct hop_clock *clock = &s->clocks[lane->clock];
    return lane->ahead + clock->served + clock->rate * (s->now - clock->since);
}

static inline void enter_lane(struct hop_simulation *s, uint32_t op)
{
    const struct hop_task *task = &s->tasks[op];
    struct hop_lane *lane = &s->lanes[task->class_index];
    struct hop_entry entry = {task->bytes, op, 0};
    if (!lane->listed && !s->following) {
        lane->listed = true;
        s->active[s->active_count++] = task->class_index;
    }
    if (lane->count++ == 0) {
        leave_clock(s, lane);
        lane->ahead = 0;
    } else {
        struct hop_entry first = {lane->key, lane->op, 0};
        entry.key += served(s, lane);
        bool leads = ENTRY_BEFORE(NULL, entry, first);
        push(&s->heap[lane->heap], &lane->queued, leads ? first : entry);
        entry = leads ? entry : first;
    }
    lane->key = entry.key;
    lane->op = entry.op;
    mark_moved(s, task->class_index, lane);
}

/* The first transfer of a lane leaves; returns it. */
static inline uint32_t leave_lane(struct hop_simulation *s, struct hop_lane *lane)
{
    uint32_t op = lane->op;
    if (--lane->count > 0) {
        struct hop_entry next = pop(&s->heap[lane->heap], &lane->queued);
        lane->key = next.key;
        lane->op = next.op;
    }
    return op;
}

/* ---- clocks ---- */

/* The lane goes with this clock from now on, or its first transfer is another one. */
static inline void join_clock(struct hop_simulation *s, struct hop_lane *lane, uint32_t index)
{
    struct hop_clock *clock = change_clock(s, index);
    if (lane->clock != index) {
        leave_clock(s, lane);
        clock->served = clock->first < INFINITY ? clock->served : 0;
        lane->ahead -= clock->served;
        lane->clock = index;
    }
    clock->first = hop_min(clock->first, lane->key - lane->ahead);
}

/* The i-th lane that goes with a clock, NULL: there are no more. */
static struct hop_lane *lane_of(const struct hop_simulation *s, uint32_t clock, uint32_t i)
{
    const uint32_t classes = s->timeline->class_count;
    if (clock < classes)
        return i == 0 && s->lanes[clock].clock == clock ? &s->lanes[clock] : NULL;
    uint32_t route = hop_active_held(s->following, clock - classes, i);
    return route == HOP_NONE ? NULL : &s->lanes[s->class_of_route[route]];
}

/* Also begins to count anew, so that what is served stays as small as what it is compared with. */
static void find_first(struct hop_simulation *s, uint32_t index)
{
    struct hop_clock *clock = &s->clocks[index];
    struct hop_lane *lane;
    clock->first = INFINITY;
    for (uint32_t i = 0; (lane = lane_of(s, index, i)); i++) {
        lane->ahead += clock->served;
        clock->first = hop_min(clock->first, lane->key - lane->ahead);
    }
    clock->served = 0;
    clock->lost = false;
}

static void set_ends(struct hop_simulation *s)
{
    for (uint32_t i = 0; i < s->changed_count; i++) {
        uint32_t index = s->changed[i];
        struct hop_clock *clock = &s->clocks[index];
        clock->changed = false;
        if (clock->lost)
            find_first(s, index);
        hop_ends_set(&s->ends, index,
                     clock->first < INFINITY ? s->now + (clock->first - clock->served) / clock->rate : INFINITY);
    }
    s->changed_count = 0;
}

/* ---- starting and ending operations ---- */

static void unblock(struct hop_simulation *s, uint32_t op)
{
    if (--s->blocked[op] == 0)
        s->met[s->met_count++] = op;
}

static inline void finish_op(struct hop_simulation *s, uint32_t op)
{
    s->times[op].span.end_s = s->now;
    s->ended++;
    s->done[s->done_count++] = op;
}

static inline void begin_flow(struct hop_simulation *s, uint32_t op)
{
    s->times[op].flow_s = s->now;
    if (s->tasks[op].bytes > 0 && s->packets)
        hop_packets_begin(s->packets, op, s->now);
    else if (s->tasks[op].bytes > 0)
        enter_lane(s, op);
    else
        finish_op(s, op);
}

static inline void start_op(struct hop_simulation *s, uint32_t op)
{
    const struct hop_task *task = &s->tasks[op];
    s->times[op].span.start_s = s->now;
    bool flows = task->class_index != HOP_NONE;
    if (flows && task->latency_s == 0)
        begin_flow(s, op);
    else if (task->latency_s == 0)
        finish_op(s, op);
    else
        push_timer(s, s->now + task->latency_s, op, flows ? HOP_TIMER_FLOW : HOP_TIMER_END);
    for (uint32_t u = task->first_start_user; u < task[1].first_start_user; u++)
        unblock(s, s->start_users[u]);
}

/* The engine takes what it can: of a strict queue only its head, else the first ready ones. */
static void serve_engine(struct hop_simulation *s, uint32_t engine)
{
    struct hop_engine *e = &s->engines[engine];
    while (e->busy < e->limit) {
        uint32_t op;
        if (e->by_ready) {
            if (e->ready_count == 0)
                return;
            op = pop(&s->ready[e->first], &e->ready_count).op; /* first come, first served */
        } else {
            if (e->next == e->count || s->blocked[s->queue[e->first + e->next]] > 0)
                return;
            op = s->queue[e->first + e->next++];
        }
        e->busy++;
        s->times[op].waited_for = e->freed_by;
        start_op(s, op);
    }
}

static inline void touch(struct hop_simulation *s, uint32_t engine)
{
    if (!s->engines[engine].touched) {
        s->engines[engine].touched = true;
        s->touched[s->touched_count++] = engine;
    }
}

static void make_ready(struct hop_simulation *s, uint32_t op)
{
    const struct hop_task *task = &s->tasks[op];
    s->times[op].span.ready_s = s->now;
    if (task->engine == HOP_NONE) {
        s->times[op].waited_for = HOP_NONE;
        start_op(s, op);
        return;
    }
    struct hop_engine *engine = &s->engines[task->engine];
    if (engine->by_ready)
        push(&s->ready[engine->first], &engine->ready_count, (struct hop_entry){s->now, op, 0});
    touch(s, task->engine);
}

static inline void tell_users(struct hop_simulation *s, uint32_t op)
{
    const struct hop_task *task = &s->tasks[op];
    for (uint32_t u = task->first_user; u < task[1].first_user; u++)
        unblock(s, s->users[u]);
    if (task->engine != HOP_NONE) {
        s->engines[task->engine].busy--;
        s->engines[task->engine].freed_by = op;
        touch(s, task->engine);
    }
}

/* Those that choose among what is ready, or all others. */
static void serve_touched(struct hop_simulation *s, bool by_ready)
{
    uint32_t kept = 0;
    for (uint32_t i = 0; i < s->touched_count; i++) {
        uint32_t engine = s->touched[i];
        if (s->engines[engine].by_ready != by_ready) {
            s->touched[kept++] = engine;
            continue;
        }
        s->engines[engine].touched = false;
        serve_engine(s, engine);
    }
    s->touched_count = kept;
}

/* Tells everyone who waited for what has ended, and starts what can start; what ends or starts thereby is told in turn. Strict queues
 * go on when all ends of this instant are known; whoever chooses does so, all at once, when nothing else happens at this instant, so
 * that the choice does not hang on the order in which engines are looked at. */
static void settle(struct hop_simulation *s)
{
    do {
        uint32_t met = 0, done = 0;
        while (met < s->met_count || done < s->done_count) {
            while (done < s->done_count)
                tell_users(s, s->done[done++]);
            if (met < s->met_count)
                make_ready(s, s->met[met++]);
        }
        s->met_count = s->done_count = 0;
        serve_touched(s, false);
        if (!s->met_count && !s->done_count)
            serve_touched(s, true);
    } while (s->met_count || s->done_count);
}

static void fire_timers(struct hop_simulation *s)
{
    while (s->timer_count && s->timers[0].key <= s->now) {
        struct hop_entry timer = pop(s->timers, &s->timer_count);
        if (timer.what == HOP_TIMER_AT)
            unblock(s, timer.op);
        else if (timer.what == HOP_TIMER_FLOW)
            begin_flow(s, timer.op);
        else
            finish_op(s, timer.op);
    }
}

/* ---- recording ---- */

static void close_record(struct hop_simulation *s, struct hop_lane *lane)
{
    struct hop_timeline *t = s->timeline;
    if (lane->open != HOP_NONE)
        t->log[lane->open].end_s = s->now;
    lane->open = HOP_NONE;
}

/* After a new rate: a record that no longer holds is closed, another one opened. blocker: a class. false: out of memory. */
static bool record(struct hop_simulation *s, uint32_t class, const struct hop_share *share, uint32_t blocker_class)
{
    struct hop_timeline *t = s->timeline;
    struct hop_lane *lane = &s->lanes[class];
    uint32_t blocker = blocker_class == HOP_NONE ? HOP_NONE : s->lanes[blocker_class].op;
    if (s->options.detail < HOP_DETAIL_SEGMENTS)
        return true;
    if (lane->open != HOP_NONE) {
        const struct hop_record *open = &t->log[lane->open];
        if (open->rate_Bps == share->rate_Bps && open->rule == share->rule && open->link == share->link &&
            open->blocker == blocker && open->count == lane->count)
            return true;
    }
    close_record(s, lane);
    if (!hop_grow(&t->log, &t->log_capacity, t->log_count + 1, sizeof *t->log))
        return false;
    lane->open = t->log_count;
    t->log[t->log_count++] = (struct hop_record){class,           lane->count, s->now,      s->now,
                                                 share->rate_Bps, share->rule, share->link, blocker};
    return true;
}

/* ---- rates ---- */

/* Drops idle classes from the active list, sorts it, and makes the flows that the network takes. */
static void list_flows(struct hop_simulation *s)
{
    uint32_t kept = 0, count = s->active_count, *active = s->active;
    for (uint32_t i = 0; i < count; i++) {
        uint32_t class = active[i];
        struct hop_lane *lane = &s->lanes[class];
        if (lane->count == 0) {
            lane->listed = false;
            continue;
        }
        uint32_t at = kept++;
        for (; at > 0 && active[at - 1] > class; at--) {
            active[at] = active[at - 1];
            s->flows[at] = s->flows[at - 1];
        }
        active[at] = class;
        s->flows[at] = (struct hop_flow){lane->route, lane->count};
    }
    s->active_count = kept;
}

static enum hop_status ask_about_all(struct hop_simulation *s, struct hop_diag *diag)
{
    const struct hop_share *shares;
    list_flows(s);
    if (s->active_count == 0)
        return HOP_OK;
    enum hop_status status = hop_network_rates(s->network, s->flows, s->active_count, &shares, diag);
    for (uint32_t i = 0; status == HOP_OK && i < s->active_count; i++) {
        struct hop_lane *lane = &s->lanes[s->active[i]];
        if (lane->moved || s->clocks[s->active[i]].rate != shares[i].rate_Bps) {
            join_clock(s, lane, s->active[i]);
            s->clocks[s->active[i]].rate = shares[i].rate_Bps;
        }
        uint32_t blocker = shares[i].blocker == HOP_NONE ? HOP_NONE : s->active[shares[i].blocker];
        if (!record(s, s->active[i], &shares[i], blocker))
            return hop_fail_memory(diag);
    }
    return status;
}

static bool record_followed(struct hop_simulation *s, uint32_t class)
{
    if (s->options.detail < HOP_DETAIL_SEGMENTS)
        return true;
    struct hop_share share = hop_active_share(s->following, s->lanes[class].route);
    return record(s, class, &share, share.blocker == HOP_NONE ? HOP_NONE : s->class_of_route[share.blocker]);
}

/* The lane goes with the clock of the link that holds it, or with its own. */
static bool follow(struct hop_simulation *s, uint32_t class)
{
    struct hop_lane *lane = &s->lanes[class];
    uint32_t holder = hop_active_holder(s->following, lane->route);
    uint32_t clock = holder == HOP_NONE ? class : s->timeline->class_count + holder;
    join_clock(s, lane, clock);
    s->clocks[clock].rate = hop_active_rate(s->following, lane->route);
    return record_followed(s, class);
}

/* A link's level is another one. */
static bool follow_link(struct hop_simulation *s, uint32_t link)
{
    uint32_t route;
    change_clock(s, s->timeline->class_count + link)->rate = hop_active_level(s->following, link);
    for (uint32_t i = 0;
         s->options.detail >= HOP_DETAIL_SEGMENTS && (route = hop_active_held(s->following, link, i)) != HOP_NONE;
         i++) {
        if (!record_followed(s, s->class_of_route[route]))
            return false;
    }
    return true;
}

static enum hop_status ask_about_changes(struct hop_simulation *s, struct hop_diag *diag)
{
    struct hop_maxmin_changes changes;
    enum hop_status status = HOP_OK;
    for (uint32_t i = 0; status == HOP_OK && i < s->moved_count; i++) {
        const struct hop_lane *lane = &s->lanes[s->moved[i]];
        status = hop_active_set(s->following, lane->route, lane->count, diag);
    }
    if (status == HOP_OK)
        status = hop_active_settle(s->following, &changes, diag);
    if (status != HOP_OK)
        return status;
    bool fine = true;
    s->work += WORK_A_CHANGE * ((uint64_t)s->moved_count + changes.flow_count + changes.link_count);
    for (uint32_t i = 0; fine && i < s->moved_count; i++)
        fine = s->lanes[s->moved[i]].count == 0 || follow(s, s->moved[i]);
    for (uint32_t i = 0; fine && i < changes.flow_count; i++) {
        uint32_t class = s->class_of_route[changes.flows[i]];
        const struct hop_lane *lane = &s->lanes[class];
        fine = lane->count == 0 || lane->moved || follow(s, class);
    }
    for (uint32_t i = 0; fine && i < changes.link_count; i++)
        fine = follow_link(s, changes.links[i]);
    return fine ? HOP_OK : hop_fail_memory(diag);
}

static enum hop_status update_rates(struct hop_simulation *s, struct hop_diag *diag)
{
    for (uint32_t i = 0; i < s->moved_count; i++) {
        struct hop_lane *lane = &s->lanes[s->moved[i]];
        if (lane->count)
            continue;
        leave_clock(s, lane);
        close_record(s, lane);
    }
    enum hop_status status = s->following ? ask_about_changes(s, diag) : ask_about_all(s, diag);
    if (status == HOP_OK)
        set_ends(s);
    for (uint32_t i = 0; i < s->moved_count; i++)
        s->lanes[s->moved[i]].moved = false;
    s->moved_count = 0;
    return status;
}

/* ---- the loop ---- */

/* Fidelity packet: the same, where the next event is the end of transfers or a timer. */
static bool advance_packets(struct hop_simulation *s)
{
    const uint32_t *ended;
    double timer = s->timer_count ? s->timers[0].key : INFINITY, now;
    uint32_t count = hop_packets_advance(s->packets, timer, &now, &ended);
    if (count == 0 && timer == INFINITY)
        count = hop_packets_give_up(s->packets, &ended);
    if (count == 0 && timer == INFINITY)
        return false;
    s->now = count ? hop_max(s->now, now) : timer;
    for (uint32_t i = 0; i < count; i++)
        finish_op(s, ended[i]);
    return true;
}

static inline bool is_over(const struct hop_simulation *s, const struct hop_lane *lane)
{
    return lane->count &&
           lane->key - (lane->ahead + s->clocks[lane->clock].served) <= TOGETHER * s->tasks[lane->op].bytes;
}

/* The lanes of a clock whose first transfers end now, behind those that are due already. Returns how many it are then. */
static uint32_t list_due(struct hop_simulation *s, uint32_t index, uint32_t due)
{
    struct hop_clock *clock = &s->clocks[index];
    const struct hop_lane *lane;
    catch_up(s, clock);
    if (s->ends.level[0][index] <= s->now)
        clock->served = clock->first;
    for (uint32_t i = 0; (lane = lane_of(s, index, i)); i++) {
        if (is_over(s, lane))
            s->due[due++] = (uint32_t)(lane - s->lanes);
    }
    return due;
}

/* Moves to the next event; false: there is none. */
static bool advance(struct hop_simulation *s)
{
    if (s->packets)
        return advance_packets(s);
    double first = hop_ends_first(&s->ends), timer = s->timer_count ? s->timers[0].key : INFINITY;
    if (first == INFINITY && timer == INFINITY)
        return false;
    s->now = hop_min(first, timer);
    if (first > s->now * (1 + TOGETHER))
        return true;
    uint32_t due = 0, clocks = hop_ends_due(&s->ends, s->now * (1 + TOGETHER), s->due_clocks);
    for (uint32_t i = 0; i < clocks; i++)
        due = list_due(s, s->due_clocks[i], due);
    if (due > 1 && s->following)
        qsort(s->due, due, sizeof *s->due, hop_ascending_u32);
    for (uint32_t i = 0; i < due; i++) {
        struct hop_lane *lane = &s->lanes[s->due[i]];
        while (is_over(s, lane))
            finish_op(s, leave_lane(s, lane));
        s->clocks[lane->clock].lost = true;
        mark_moved(s, s->due[i], lane);
    }
    return true;
}

static void reset(struct hop_simulation *s)
{
    s->now = 0;
    s->ended = s->active_count = s->timer_count = s->met_count = s->done_count = s->touched_count = s->moved_count =
        s->changed_count = 0;
    s->timeline->events = 0;
    s->work = (uint64_t)WORK_AN_OP * s->count;
    s->work_before = hop_network_work(s->network);
    memcpy(s->blocked, s->initially_blocked, s->count * sizeof *s->blocked);
    for (uint32_t e = 0; e < s->engine_count; e++) {
        struct hop_engine *engine = &s->engines[e];
        engine->next = engine->busy = engine->ready_count = 0;
        engine->freed_by = HOP_NONE;
        engine->touched = false;
    }
    if (s->packets)
        hop_packets_reset(s->packets);
    for (uint32_t c = 0; !s->packets && s->under_way && c < s->timeline->class_count; c++) { /* a whole run leaves its lanes empty */
        if (s->following) /* cannot fail: the route is known */
            (void)hop_active_set(s->following, s->lanes[c].route, 0, NULL);
        s->lanes[c].count = s->lanes[c].queued = 0;
        s->lanes[c].open = s->lanes[c].clock = HOP_NONE;
        s->lanes[c].listed = s->lanes[c].moved = false;
    }
    for (uint32_t c = 0; !s->packets && c < s->clock_count; c++) {
        s->clocks[c] = (struct hop_clock){.first = INFINITY};
        if (s->under_way)
            hop_ends_set(&s->ends, c, INFINITY);
    }
    if (s->options.detail == HOP_DETAIL_SEGMENTS)
        hop_timeline_forget(s->timeline);
    s->under_way = true;
}

/* What waits for nothing starts. */
static void begin(struct hop_simulation *s)
{
    for (uint32_t i = 0; i < s->initial_count; i++) {
        uint32_t op = s->initial[i];
        if (s->tasks[op].at_s > 0)
            push_timer(s, s->tasks[op].at_s, op, HOP_TIMER_AT);
        else
            make_ready(s, op);
    }
    for (uint32_t e = 0; e < s->engine_count; e++)
        touch(s, e);
    settle(s);
}

enum hop_status hop_simulation_run(struct hop_simulation *s, double *makespan_s, struct hop_diag *diag)
{
    if (s->messages)
        return hop_messages_run(s->messages, makespan_s, diag);
    reset(s);
    begin(s);
    for (;;) {
        if (s->moved_count) {
            enum hop_status status = update_rates(s, diag);
            if (status != HOP_OK)
                return status;
        }
        s->work += WORK_AN_EVENT;
        s->timeline->work = s->work + hop_network_work(s->network) - s->work_before;
        if (s->options.max_work && s->timeline->work > s->options.max_work)
            return hop_fail(diag, HOP_ERR_LIMIT, "the simulation takes longer than it may");
        if (!advance(s))
            break;
        do {
            fire_timers(s);
            settle(s);
        } while (s->timer_count && s->timers[0].key <= s->now);
        if (++s->timeline->events % PROGRESS_EVENTS != 0)
            continue;
        if (s->options.progress)
            s->options.progress((double)s->ended / s->count, s->options.context);
        if (s->options.stop && s->options.stop(s->options.context))
            return hop_fail(diag, HOP_ERR_STOPPED, "the simulation was stopped");
    }
    if (s->ended < s->count && s->packets)
        return hop_packets_stuck(s->packets, diag);
    if (s->ended < s->count)
        return hop_fail(diag, HOP_ERR_DEADLOCK, "%u operations cannot go on", s->count - s->ended);
    s->under_way = false;
    s->timeline->makespan_s = s->now;
    *makespan_s = s->now;
    if (s->packets)
        return hop_packets_note(s->packets, diag);
    return s->options.detail == HOP_DETAIL_SEGMENTS ? hop_timeline_index(s->timeline, diag) : HOP_OK;
}

/* Hands model loggp and fidelity packet to their executors. */
static enum hop_status prepare(struct hop_simulation *s, const struct hop_schedule *schedule, struct hop_diag *diag)
{
    bool packet = s->options.fidelity == HOP_FIDELITY_PACKET, serial = hop_network_is_serial(s->network);
    if (packet && serial)
        return hop_fail(diag, HOP_ERR_INVALID,
                        "fidelity packet simulates links, of which model loggp has none\nfidelity packet without a "
                        "model, or model loggp without it");
    if (serial)
        return hop_messages_create(s->network, schedule, &s->options, s->timeline, &s->messages, diag);
    enum hop_status status = hop_simulation_prepare(s, schedule, diag);
    return status == HOP_OK && packet ? hop_packets_create(s, &s->packets, diag) : status;
}

struct hop_timeline *hop_simulation_timeline(struct hop_simulation *simulation)
{
    return simulation->timeline;
}

enum hop_status hop_simulation_create(struct hop_network *network, const struct hop_schedule *schedule,
                                      const struct hop_simulate_options *options, struct hop_simulation **simulation,
                                      struct hop_diag *diag)
{
    struct hop_simulate_options own = {.detail = HOP_DETAIL_SEGMENTS};
    HOP_CHECK(hop_options_take(&own, sizeof own, options, diag));
    struct hop_simulation *made = calloc(1, sizeof *made);
    if (!made)
        return hop_fail_memory(diag);
    made->network = network;
    made->options = own;
    made->timeline = calloc(1, sizeof *made->timeline);
    enum hop_status status = made->timeline ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK)
        status = prepare(made, schedule, diag);
    if (status == HOP_OK)
        *simulation = made;
    else
        hop_simulation_destroy(made);
    return status;
}

void hop_simulation_destroy(struct hop_simulation *s)
{
    if (!s)
        return;
    hop_messages_destroy(s->messages);
    hop_packets_destroy(s->packets);
    hop_timeline_destroy(s->timeline);
    hop_arena_finish(&s->arena);
    hop_active_destroy(s->following);
    free(s);
}

enum hop_status hop_simulate(struct hop_network *network, const struct hop_schedule *schedule,
                             const struct hop_simulate_options *options, struct hop_timeline **timeline,
                             struct hop_diag *diag)
{
    struct hop_simulation *simulation;
    double makespan_s;
    enum hop_status status = hop_simulation_create(network, schedule, options, &simulation, diag);
    if (status != HOP_OK)
        return status;
    status = hop_simulation_run(simulation, &makespan_s, diag);
    if (status == HOP_OK && simulation->options.detail == HOP_DETAIL_ENDS && !simulation->messages &&
        !hop_timeline_measure_use(simulation->timeline))
        status = hop_fail_memory(diag);
    if (status == HOP_OK) {
        *timeline = simulation->timeline;
        simulation->timeline = NULL;
    }
    hop_simulation_destroy(simulation);
    return status;
}
