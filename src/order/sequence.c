/* SPDX-License-Identifier: BSD-3-Clause */
/* Sequences: playing one on the state machine, unfolding a quotient's, writing one out as a schedule. */
#include "order/sequence.h"
#include "schedule/schedule.h"
#include "simulate/simulation.h"

#include <math.h>

enum hop_status hop_sequence_create(const struct hop_problem *p, struct hop_sequence *sequence, struct hop_diag *diag)
{
    size_t ops = (size_t)p->op_count + 1;
    uint32_t *block = malloc(2 * ops * sizeof *block);
    *sequence = (struct hop_sequence){0};
    if (!block)
        return hop_fail_memory(diag);
    *sequence = (struct hop_sequence){block, block + ops};
    memcpy(sequence->order, p->sends, p->op_count * sizeof *block); /* what lies behind the sends is never read */
    memset(sequence->after, 0xff, ops * sizeof *block);
    return HOP_OK;
}

void hop_sequence_finish(struct hop_sequence *sequence)
{
    free(sequence->order);
    *sequence = (struct hop_sequence){0};
}

void hop_sequence_copy(const struct hop_problem *p, const struct hop_sequence *from, struct hop_sequence *to)
{
    memcpy(to->order, from->order, p->op_count * sizeof *to->order);
    memcpy(to->after, from->after, p->op_count * sizeof *to->after);
}

bool hop_sequence_check(const struct hop_problem *p, const struct hop_sequence *sequence)
{
    for (uint32_t s = 0; s < p->source_count; s++) {
        const struct hop_problem_source *source = &p->sources[s];
        for (uint32_t i = source->first; i < source->first + source->count; i++) {
            uint32_t op = sequence->order[i];
            if (op >= p->op_count || p->ops[op].source != s)
                return false;
            for (uint32_t j = source->first; j < i; j++) {
                if (sequence->order[j] == op)
                    return false;
            }
        }
    }
    for (uint32_t op = 0; op < p->op_count; op++) {
        if (sequence->after[op] != HOP_NONE && (sequence->after[op] >= p->op_count || sequence->after[op] == op))
            return false;
    }
    return true;
}

bool hop_sequence_waits(const struct hop_problem *p, const struct hop_sequence *sequence)
{
    for (uint32_t op = 0; op < p->op_count; op++) {
        if (sequence->after[op] != HOP_NONE)
            return true;
    }
    return false;
}

/* ---- playing ---- */

enum { EVENTS = 128 }; /* after so many it asks whether it goes on */

struct player {
    const struct hop_problem *p;
    const struct hop_sequence *sequence;
    const uint32_t *round_of; /* per operation, NULL: there are none */
    uint32_t round;
    struct hop_state *state;
    uint32_t *next; /* per source: how many sends it has taken */
};

/* Nothing is under way: the lowest round of any source's next send begins. */
static void begin_round(struct player *player)
{
    const struct hop_problem *p = player->p;
    uint32_t round = UINT32_MAX;
    for (uint32_t slot = 0; slot < p->slot_count; slot++) {
        if (hop_state_phase(p, player->state)[slot] != HOP_PHASE_IDLE &&
            p->ops[hop_state_op(p, player->state)[slot]].source != HOP_NONE)
            return;
    }
    for (uint32_t s = 0; s < p->source_count; s++) {
        uint32_t next = p->sources[s].first + player->next[s];
        if (player->next[s] < p->sources[s].count && player->round_of[player->sequence->order[next]] < round)
            round = player->round_of[player->sequence->order[next]];
    }
    player->round = round;
}

/* Every source takes its next send, or rests while that one waits. */
static void choose(struct player *player)
{
    const struct hop_problem *p = player->p;
    if (player->round_of)
        begin_round(player);
    for (uint32_t s; (s = hop_state_choice(p, player->state)) != HOP_NONE;) {
        uint32_t op = player->sequence->order[p->sources[s].first + player->next[s]];
        uint32_t after = player->sequence->after[op];
        if ((after != HOP_NONE && !hop_state_ended(p, player->state, after)) ||
            (player->round_of && player->round_of[op] != player->round)) {
            hop_state_rest(p, player->state, s);
        } else {
            hop_state_take(p, player->state, op);
            player->next[s]++;
        }
    }
}

static enum hop_status play(struct player *player, struct hop_sets *sets, struct hop_played *played,
                            struct hop_diag *diag)
{
    struct hop_state *state = player->state;
    struct hop_played result = {.value = INFINITY};
    enum hop_advanced advanced = HOP_ADVANCED;
    hop_state_begin(player->p, state);
    for (uint32_t events = 1; advanced == HOP_ADVANCED; events++) {
        if (events % EVENTS == 0 && player->p->goes_on && !player->p->goes_on(player->p->watch))
            break;
        choose(player);
        const struct hop_set *set = hop_sets_find(sets, state->key, hop_state_flow(player->p, state));
        if (set)
            result.fullest = hop_max(result.fullest, set->fullest);
        advanced = set ? hop_state_advance(player->p, sets, state) : HOP_ADVANCED_FAILED;
    }
    if (advanced == HOP_ADVANCED_FAILED)
        return hop_sets_status(sets, diag);
    result.makespan_s = state->now_s;
    if (advanced == HOP_ADVANCED_END)
        result.value = hop_state_value(player->p, state);
    *played = result;
    return HOP_OK;
}

enum hop_status hop_sequence_play(const struct hop_problem *p, struct hop_sets *sets,
                                  const struct hop_sequence *sequence, const uint32_t *round_of,
                                  struct hop_played *played, struct hop_diag *diag)
{
    struct player player = {
        p, sequence, round_of, 0, malloc(p->state_size), calloc((size_t)p->source_count + 1, sizeof *player.next)};
    enum hop_status status = player.state && player.next ? play(&player, sets, played, diag) : hop_fail_memory(diag);
    free(player.state);
    free(player.next);
    return status;
}

enum hop_status hop_sequence_drop_waits(const struct hop_problem *p, struct hop_sets *sets,
                                        struct hop_sequence *sequence, double value, struct hop_diag *diag)
{
    enum { WAITS_TRIED = 200, WORK = 40000 /* operations that are played: more take longer than some searches may */ };
    struct hop_played played;
    uint32_t tried = 0, most = WORK / (p->op_count + 1) + 1;
    for (uint32_t op = 0; op < p->op_count && tried < WAITS_TRIED && tried < most; op++) {
        uint32_t wait = sequence->after[op];
        if (wait == HOP_NONE)
            continue;
        tried++;
        sequence->after[op] = HOP_NONE;
        HOP_CHECK(hop_sequence_play(p, sets, sequence, NULL, &played, diag));
        if (!(played.value <= value * (1 + HOP_VALUE_TOLERANCE)))
            sequence->after[op] = wait;
    }
    return HOP_OK;
}

/* ---- unfolding ---- */

enum hop_status hop_sequence_unfold(const struct hop_problem *q, const uint32_t *images, uint32_t order,
                                    const struct hop_sequence *sequence, struct hop_sequence *whole,
                                    struct hop_diag *diag)
{
    /* The quotient's operations are those of the first source of each orbit of sources, in their order. */
    const struct hop_problem *p = q->whole;
    uint32_t *from = malloc(((size_t)q->op_count + 1) * sizeof *from);
    bool *seen = calloc((size_t)p->source_count + 1, sizeof *seen);
    if (!from || !seen) {
        free(from);
        free(seen);
        return hop_fail_memory(diag);
    }
    for (uint32_t s = 0, made = 0; s < p->source_count; s++) {
        if (seen[s])
            continue;
        for (uint32_t i = 0; i < p->sources[s].count; i++) {
            from[made] = p->sends[p->sources[s].first + i];
            for (uint32_t g = 0; g < order; g++)
                seen[p->ops[images[(size_t)g * p->op_count + from[made]]].source] = true;
            made++;
        }
    }
    for (uint32_t g = 0; g < order; g++) {
        const uint32_t *image = images + (size_t)g * p->op_count;
        for (uint32_t l = 0; l < q->source_count; l++) {
            const struct hop_problem_source *lane = &q->sources[l];
            const struct hop_problem_source *source = &p->sources[p->ops[image[from[lane->first]]].source];
            for (uint32_t i = 0; i < lane->count; i++) {
                uint32_t mine = sequence->order[lane->first + i], after = sequence->after[mine];
                whole->order[source->first + i] = image[from[mine]];
                whole->after[image[from[mine]]] = after == HOP_NONE ? HOP_NONE : image[from[after]];
            }
        }
    }
    free(from);
    free(seen);
    return HOP_OK;
}

/* ---- writing out ---- */

struct writing {
    const struct hop_problem *p;
    const struct hop_sequence *sequence;
    uint32_t *at, *place; /* which operation stands at each place, and back */
    uint32_t *before;     /* the place of the one that its source sends before, HOP_NONE: none */
};

/* The i-th place that must come before one: dependencies, what the sequence waits for, its source's send or its twin before. */
static uint32_t comes_after(const void *context, uint32_t place, uint32_t i)
{
    const struct writing *w = context;
    const struct hop_op *op = hop_schedule_op(w->p->schedule, w->at[place]);
    uint32_t wait = w->sequence->after[w->at[place]];
    if (i < op->after_count)
        return w->place[op->after[i]];
    i -= op->after_count;
    if (i < op->after_start_count)
        return w->place[op->after_start[i]];
    i -= op->after_start_count;
    if (i == 0 && wait != HOP_NONE)
        return w->place[wait];
    return i <= (wait != HOP_NONE) ? w->before[place] : HOP_NONE;
}

static bool same_list(const uint32_t *a, uint32_t a_count, const uint32_t *b, uint32_t b_count)
{
    return a_count == b_count && (a_count == 0 || memcmp(a, b, a_count * sizeof *a) == 0);
}

/* The last one before an operation that becomes ready when it does and takes the same memory or CPU: their places say which of them is
 * first, so they stay in this order. */
static uint32_t twin_before(const struct hop_problem *p, uint32_t index)
{
    const struct hop_problem_op *op = &p->ops[index], *other;
    const struct hop_simulation *s = p->simulation; /* in whose queues operations have their places */
    for (uint32_t k = op->memory == HOP_NONE ? 0 : s->tasks[index].position; k-- > 0;) {
        uint32_t i = s->queue[s->engines[op->memory].first + k];
        other = &p->ops[i];
        if (other->at_s == op->at_s &&
            same_list(other->after, other->after_count, op->after, op->after_count) &&
            same_list(other->after_start, other->after_start_count, op->after_start, op->after_start_count))
            return i;
    }
    return HOP_NONE;
}

/* Each source's sends stand at the places where its sends stood. */
static void put_sources(struct writing *w)
{
    const struct hop_problem *p = w->p;
    for (uint32_t i = 0; i < p->op_count; i++) {
        w->at[i] = i;
        w->before[i] = twin_before(p, i);
    }
    for (uint32_t s = 0; s < p->source_count; s++) {
        const struct hop_problem_source *source = &p->sources[s];
        for (uint32_t i = source->first; i < source->first + source->count; i++) {
            w->at[p->sends[i]] = w->sequence->order[i];
            w->before[p->sends[i]] = i > source->first ? p->sends[i - 1] : HOP_NONE;
        }
    }
    for (uint32_t i = 0; i < p->op_count; i++)
        w->place[w->at[i]] = i;
}

/* Then each stands behind what it waits for, so that copies which go another way later, and so by another engine of their device, do
 * not wait for each other in a circle. */
static enum hop_status put_behind(struct writing *w, struct hop_diag *diag)
{
    uint32_t count = w->p->op_count, *order = malloc(((size_t)count + 1) * sizeof *order), *cycle, length;
    if (!order)
        return hop_fail_memory(diag);
    enum hop_status status = hop_cycle_find(count, comes_after, w, order, &cycle, &length, diag);
    free(cycle);
    for (uint32_t i = 0; status == HOP_OK && length == 0 && i < count; i++)
        order[i] = w->at[order[i]];
    for (uint32_t i = 0; status == HOP_OK && length == 0 && i < count; i++) {
        w->at[i] = order[i];
        w->place[order[i]] = i;
    }
    free(order);
    return status;
}

/* Appends an operation with its dependencies at their new places; `list` has room for all of them and one more. */
static void add_op(const struct writing *w, uint32_t index, uint32_t *list, struct hop_schedule *made)
{
    struct hop_op op = *hop_schedule_op(w->p->schedule, index);
    uint32_t *after = list, *after_start = list + op.after_count + 1, wait = w->sequence->after[index];
    bool known = wait == HOP_NONE;
    for (uint32_t d = 0; d < op.after_count; d++) {
        after[d] = w->place[op.after[d]];
        known = known || op.after[d] == wait;
    }
    for (uint32_t d = 0; d < op.after_start_count; d++)
        after_start[d] = w->place[op.after_start[d]];
    if (!known)
        after[op.after_count++] = w->place[wait];
    op.after = after;
    op.after_start = after_start;
    op.line = 0; /* it stands somewhere else now */
    (void)hop_schedule_add(made, &op);
}

enum hop_status hop_sequence_schedule(const struct hop_problem *p, const struct hop_sequence *sequence,
                                      struct hop_schedule **schedule, struct hop_diag *diag)
{
    uint32_t most = 2;
    for (uint32_t i = 0; i < p->op_count; i++) {
        uint32_t count = p->ops[i].after_count + p->ops[i].after_start_count + 1;
        most = count > most ? count : most;
    }
    struct hop_schedule *made = hop_schedule_create(hop_schedule_name(p->schedule));
    size_t room = (size_t)p->op_count + 1;
    uint32_t *rows = malloc((3 * room + most) * sizeof *rows), *list = rows + 3 * room;
    struct writing w = {p, sequence, rows, rows + room, rows + 2 * room};
    enum hop_status status = rows ? HOP_OK : hop_fail_memory(diag);
    if (status == HOP_OK) {
        put_sources(&w);
        status = put_behind(&w, diag);
    }
    for (uint32_t i = 0; status == HOP_OK && i < p->op_count; i++)
        add_op(&w, w.at[i], list, made);
    status = hop_schedule_end(made, status, schedule, diag);
    free(rows);
    return status;
}

static bool waits_for(const struct hop_problem_op *op, uint32_t other)
{
    for (uint32_t i = 0; i < op->after_count; i++) {
        if (op->after[i] == other)
            return true;
    }
    return false;
}

/* Takes one operation of the schedule; false: the problem has none of that name, or its source has enough. */
static bool read_op(const struct hop_problem *p, const struct hop_schedule *schedule, const struct hop_op *op,
                    uint32_t *begun, struct hop_sequence *sequence)
{
    uint32_t index = hop_schedule_find(p->schedule, op->name), source = index < p->op_count ? p->ops[index].source : 0;
    if (index >= p->op_count)
        return false;
    if (source == HOP_NONE)
        return true;
    if (begun[source] == p->sources[source].count)
        return false;
    sequence->order[p->sources[source].first + begun[source]++] = index;
    for (uint32_t i = 0; i < op->after_count; i++) {
        uint32_t other = hop_schedule_find(p->schedule, hop_schedule_op(schedule, op->after[i])->name);
        if (other < p->op_count && !waits_for(&p->ops[index], other))
            sequence->after[index] = other;
    }
    return true;
}

enum hop_status hop_sequence_read(const struct hop_problem *p, const struct hop_schedule *schedule,
                                  struct hop_sequence *sequence, struct hop_diag *diag)
{
    uint32_t *begun = calloc(p->source_count + (size_t)1, sizeof *begun);
    bool fine = hop_schedule_count(schedule) == p->op_count;
    if (!begun)
        return hop_fail_memory(diag);
    for (uint32_t op = 0; op < p->op_count; op++)
        sequence->after[op] = HOP_NONE;
    for (uint32_t i = 0; fine && i < p->op_count; i++)
        fine = read_op(p, schedule, hop_schedule_op(schedule, i), begun, sequence);
    free(begun);
    return fine && hop_sequence_check(p, sequence)
               ? HOP_OK
               : hop_fail(diag, HOP_ERR_INVALID, "schedule %s is no order of the sends of %s",
                          hop_schedule_name(schedule), hop_schedule_name(p->schedule));
}
