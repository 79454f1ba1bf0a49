/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A launch of copies whose mechanism is chosen while they run: the rank that copies asks by its word, does as it is
 * told, and says what has come of it; the leader hears, and assigns.
 */
#include "base/clock.h"
#include "run/copies_state.h"

/* ---- a launch ---- */

static uint64_t word_of(const struct hop_program *program, enum hop_choice_state state)
{
    return program->launch << 8 | (uint64_t)state;
}

/* The state in a word; INIT while it is still that of an earlier launch. */
static unsigned state_in(const struct hop_program *program, uint32_t copy)
{
    uint64_t value = atomic_load_explicit(&program->copies->words[copy], memory_order_acquire);
    return value >> 8 == program->launch ? (unsigned)(value & 0xff) : HOP_COPY_INIT;
}

/* From one state to another, unless the other side was faster. */
static bool change(const struct hop_program *program, uint32_t copy, unsigned from, unsigned to)
{
    uint64_t old = word_of(program, (enum hop_choice_state)from);
    return atomic_compare_exchange_strong(&program->copies->words[copy], &old,
                                          word_of(program, (enum hop_choice_state)to));
}

void hop_copies_begin(struct hop_program *program)
{
    struct hop_copies_state *c = program->copies;
    c->flight_count = 0;
    c->lead.stage = 0;
    if (c->row)
        return;
    memset(c->lead.state, HOP_COPY_INIT, c->lead.count[0]);
    hop_choice_begin(&c->lead.choice);
    hop_choice_stage(&c->lead.choice, c->lead.count[0]);
    c->lead.last_s = hop_now_s();
    c->lead.stall_s = hop_program_wall_s(program, HOP_COPIES_STALL_S);
}

void hop_copies_request(struct hop_program *program, struct hop_run_step *step)
{
    struct hop_copies_state *c = program->copies;
    uint32_t copy = c->number[step->op];
    step->came = 0;
    c->flights[c->flight_count++] = (struct flight){.step = step, .copy = copy};
    atomic_store_explicit(&c->words[copy], word_of(program, HOP_COPY_RTS), memory_order_release);
}

/* ---- the rank that copies ---- */

static const unsigned assigned_state[] = {HOP_COPY_IPC_ASGN, HOP_COPY_HS_ASGN};
static const unsigned begun_state[] = {HOP_COPY_IPC_INIT, HOP_COPY_HS_INIT};
static const unsigned completed_state[] = {HOP_COPY_IPC_CMP, HOP_COPY_HS_CMP};

/* Queued: whether what an event stands behind has ended; immediate: it has. */
static bool has_ended(struct hop_program *program, struct hop_event *event)
{
    bool ended = program->immediate;
    return ended || (HOP_DEVICE(program, query, event, &ended) && ended);
}

/* ---- staged: by this rank alone, or, where both ranks take part, by relay: then who has the bytes sends them ---- */

static bool has_the_bytes(const struct hop_program *program, uint32_t op)
{
    return hop_layout_rank(&program->layout, &program->layout.ops[op], 0) == program->team->rank;
}

/* Whether packets of it are under way. */
static bool has_packets(struct hop_program *program, struct flight *flight)
{
    struct hop_run_step *step = flight->step;
    if (program->relay)
        return has_the_bytes(program, step->op) ? !hop_relay_is_quiet(program, step->op) : step->arriving > 0;
    for (unsigned slot = 0; slot < 2; slot++)
        flight->slots[slot] = flight->slots[slot] && !has_ended(program, program->staging_events[2 + slot]);
    return flight->slots[0] || flight->slots[1];
}

/* No further packets; those under way go on. */
static void stop_sending(struct hop_program *program, struct flight *flight)
{
    if (program->relay && has_the_bytes(program, flight->step->op))
        hop_relay_want(program, flight->step->op, flight->step, false);
}

/* In two slots, so that the next packet is queued while one is under way. The way in has a stream that no peer copy is on,
 * where there is another one: one that stalls is not in its way. Whether all is there. */
static bool advance_staged(struct hop_program *program, struct flight *flight)
{
    struct hop_run_step *step = flight->step;
    if (program->relay) {
        if (!has_the_bytes(program, step->op))
            return step->came == step->bytes && step->arriving == 0;
        hop_relay_want(program, step->op, step, true);
        return hop_relay_is_through(program, step->op);
    }
    bool under_way = has_packets(program, flight);
    if (flight->moved == step->bytes)
        return !under_way;
    unsigned out = program->immediate ? HOP_STREAM_NOW : HOP_STREAM_COMPUTE,
             in = !program->immediate && program->copy_streams > 1 ? program->copy_streams - 1 : out;
    for (int i = 0; i < 2 && !flight->slots[flight->slot] && flight->moved < step->bytes; i++) {
        flight->moved += hop_step_packet(program, step, flight->moved, flight->slot, in, out);
        flight->slots[flight->slot] = !program->immediate;
        flight->slot = !flight->slot;
        if (program->immediate)
            break; /* the word is looked at between two packets */
    }
    return false;
}

/* Takes a new assignment from the word. */
static void hear_leader(struct hop_program *program, struct flight *flight)
{
    unsigned state = state_in(program, flight->copy);
    if (state != HOP_COPY_IPC_ASGN && state != HOP_COPY_HS_ASGN)
        return;
    enum hop_mechanism mechanism = state == HOP_COPY_IPC_ASGN ? HOP_PEER : HOP_STAGED;
    if (flight->assigned && flight->mechanism == mechanism) {
        /* Sent another way and back again before we looked: it goes on, and its word must say that it has begun. */
        if (flight->begun)
            (void)change(program, flight->copy, state, begun_state[mechanism]);
        return;
    }
    flight->again = flight->assigned;
    flight->overtaken = flight->overtaken || (flight->again && flight->mechanism == HOP_PEER && flight->begun);
    if (flight->again && flight->mechanism == HOP_STAGED)
        stop_sending(program, flight);
    if (flight->again)
        HOP_SHARED_TWICE(hop_step_places(program, flight->step)[1], flight->step->bytes,
                         "a copy sent again another way: the bytes of one source, and its end waits for both");
    flight->assigned = true;
    flight->begun = false;
    flight->moved = 0;
    flight->mechanism = mechanism;
    flight->assigned_s = hop_now_s();
}

/* Whether its data is there. */
static bool advance(struct hop_program *program, struct flight *flight)
{
    struct hop_run_step *step = flight->step;
    if (!flight->begun) {
        double delay_s = hop_program_wall_s(program, program->hooks.delay_s[flight->mechanism]);
        if (hop_now_s() - flight->assigned_s < delay_s)
            return false;
        if (!change(program, flight->copy, assigned_state[flight->mechanism], begun_state[flight->mechanism]))
            return false; /* sent again another way before it began */
        flight->begun = true;
        if (flight->mechanism == HOP_PEER) {
            hop_step_copy(program, step);
            if (!program->immediate)
                (void)HOP_DEVICE(program, record, step->stream, step->event);
        }
    }
    if (flight->mechanism == HOP_PEER)
        return has_ended(program, step->event) && hop_program_is_fine(program);
    return advance_staged(program, flight);
}

/* What was overtaken has begun, and must end before the launch does: by either mechanism, if it was sent again twice. Of one
 * that another rank sends, packets may come for some time after it was overtaken; once the step has ended they are thrown
 * away. */
static bool late_ended(struct hop_program *program, struct flight *flight)
{
    return (!flight->overtaken || has_ended(program, flight->step->event)) && !has_packets(program, flight);
}

static void take_way(struct hop_program *program, const struct flight *flight, enum hop_mechanism by)
{
    struct hop_program_record *record = &program->records[flight->step->op];
    record->via = by == HOP_STAGED;
    record->resent = flight->again && by == flight->mechanism;
}

/* Whether it has ended. *staging_used: one staged copy at a time, there is room for one's packets. A peer copy that was
 * overtaken may have brought the data before the staged one in its place has: then the rest of that is dropped. */
static bool move_flight(struct hop_program *program, struct flight *flight, bool *staging_used)
{
    hear_leader(program, flight);
    bool staged = flight->mechanism == HOP_STAGED;
    bool brought = flight->overtaken && staged && has_ended(program, flight->step->event), ended = false;
    enum hop_mechanism by = brought ? HOP_PEER : flight->mechanism;
    if (brought) {
        stop_sending(program, flight);
        ended = !has_packets(program, flight);
    } else if (flight->assigned && !(staged && *staging_used)) {
        ended = advance(program, flight);
    }
    *staging_used = *staging_used || (staged && !program->relay && (flight->slots[0] || flight->slots[1]));
    if (!ended || !late_ended(program, flight) || !hop_program_is_fine(program))
        return false;
    unsigned from = flight->begun ? begun_state[flight->mechanism] : assigned_state[flight->mechanism];
    if (!change(program, flight->copy, from, completed_state[by]))
        return false; /* told to send again at the very end: it does */
    if (program->records)
        take_way(program, flight, by);
    hop_step_end(program, flight->step);
    return true;
}

static void fly(struct hop_program *program, bool *moved)
{
    struct hop_copies_state *c = program->copies;
    bool staging_used = false;
    for (uint32_t i = 0; i < c->flight_count && hop_program_is_fine(program);) {
        if (move_flight(program, &c->flights[i], &staging_used)) {
            c->flights[i] = c->flights[--c->flight_count];
            *moved = true;
        } else {
            i++;
        }
    }
}

/* ---- the leader ---- */

static uint32_t led_copy(const struct lead *lead, uint32_t i)
{
    return lead->copies[(lead->stage ? lead->count[0] : 0) + i];
}

static void hear_ranks(struct hop_program *program, bool *moved)
{
    struct lead *lead = &program->copies->lead;
    for (uint32_t i = 0; i < lead->count[lead->stage]; i++) {
        unsigned state = state_in(program, led_copy(lead, i)), old = lead->state[i];
        if (state == old || state == HOP_COPY_INIT)
            continue;
        lead->state[i] = (uint8_t)state;
        if (old == HOP_COPY_INIT)
            hop_choice_arrived(&lead->choice, i);
        if (state == HOP_COPY_IPC_CMP || state == HOP_COPY_HS_CMP) {
            (void)hop_choice_completed(&lead->choice, i, state == HOP_COPY_IPC_CMP ? HOP_PEER : HOP_STAGED);
            hop_choice_forget(&lead->choice, i); /* a rank says so after what was overtaken has ended, too */
            lead->stall_s = hop_program_wall_s(program, HOP_COPIES_STALL_S);
        }
        lead->last_s = hop_now_s();
        *moved = true;
    }
}

/* The word of a copy that is sent again may say ASGN or INIT of the other mechanism, or by now that it is there. */
static void assign(struct hop_program *program, const struct hop_assignment *assignment)
{
    struct lead *lead = &program->copies->lead;
    uint32_t copy = led_copy(lead, assignment->rank);
    unsigned to = assigned_state[assignment->mechanism],
             other = assignment->mechanism == HOP_PEER ? HOP_STAGED : HOP_PEER;
    if (assignment->again) {
        if (change(program, copy, assigned_state[other], to))
            hop_choice_forget(&lead->choice, assignment->rank); /* it never began */
        else
            (void)change(program, copy, begun_state[other], to);
    } else {
        (void)change(program, copy, HOP_COPY_RTS, to);
    }
}

static void lead_copies(struct hop_program *program, bool *moved)
{
    struct lead *lead = &program->copies->lead;
    struct hop_assignment assignment;
    while (lead->stage < 2) {
        hear_ranks(program, moved);
        if (hop_now_s() - lead->last_s > lead->stall_s) {
            hop_choice_stalled(&lead->choice);
            lead->stall_s *= 2;
            lead->last_s = hop_now_s();
        }
        while (hop_choice_next(&lead->choice, &assignment)) {
            assign(program, &assignment);
            *moved = true;
        }
        if (!hop_choice_stage_ended(&lead->choice))
            return;
        if (++lead->stage < 2) {
            memset(lead->state, HOP_COPY_INIT, lead->count[1]);
            hop_choice_stage(&lead->choice, lead->count[1]);
        }
    }
}

/* The bytes of some copies that this rank leads are its own: it sends them while their ranks want them staged. */
static void send_led(struct hop_program *program)
{
    const struct lead *lead = &program->copies->lead;
    for (uint32_t i = 0; i < lead->count[0] + lead->count[1]; i++) {
        uint32_t op = program->copies->copies[lead->copies[i]].op;
        if (has_the_bytes(program, op))
            hop_relay_want(program, op, NULL, state_in(program, lead->copies[i]) == HOP_COPY_HS_INIT);
    }
}

void hop_copies_progress(struct hop_program *program, bool *moved)
{
    struct hop_copies_state *c = program->copies;
    if (!c->row && program->relay)
        send_led(program);
    if (!c->row && c->lead.stage < 2)
        lead_copies(program, moved);
    if (!c->row && c->flight_count)
        fly(program, moved);
}

bool hop_copies_done(const struct hop_program *program)
{
    return program->copies->row || (program->copies->lead.stage == 2 && program->copies->flight_count == 0);
}
