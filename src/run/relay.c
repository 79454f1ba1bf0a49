/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Relay: copies between two devices of a machine through memory of the host, each rank with the engine of its own device.
 * None maps the other one's memory, so it needs no peer access.
 *
 *     rank that has the bytes     device ==> slot 0, 1, 2, 3, 0, ...     `sent` counts those that are there
 *     rank that gets them                    slot 0, 1, 2, 3, 0, ... ==> device     `taken` counts those that have left
 *
 * Each pair has a lane of its own, in memory near the device that gets the bytes, since what is read keeps a device waiting
 * for longer than what is written. Ranks see by events of their own that a packet has come or left and say it by the
 * counts: no event is shared. Packets of a lane follow each other whatever copy and launch they are of; which one that is
 * stands beside them. One that belongs to a copy that is over, as when another mechanism was faster, is thrown away.
 */
#include "base/shared.h"
#include "run/program.h"

enum { SLOTS = 4, PAGE = 4096 };

struct slot {
    uint64_t launch, at, bytes;
    uint32_t op;
    double start_s, end_s; /* of the way in, of the way out */
};

struct lane {
    _Alignas(64) atomic_uint_fast64_t sent;
    _Alignas(64) atomic_uint_fast64_t taken;
    struct slot slots[SLOTS];
};

/* What one of its two ranks keeps of a lane. */
struct end {
    uint32_t rank; /* the other one */
    uint64_t packet_bytes;
    struct lane *lane;
    char *data;
    uint64_t queued, seen; /* packets of this rank's own way; those that the other one was seen to have taken */
    struct hop_event *events[SLOTS];
    double spans_s[SLOTS][2];
    bool thrown[SLOTS];
};

/* A copy of which this rank has the bytes. */
struct sending {
    struct hop_run_step *step; /* this rank's own; NULL: another one performs it */
    uint32_t op;
    struct end *end;
    bool wanted;
    uint64_t moved;  /* bytes that were queued */
    uint64_t behind; /* the count of the lane behind its last packet */
};

struct hop_relay {
    struct hop_shared own, *others; /* memory for what comes to here; per end of `out`, what goes out */
    struct end *in, *out;
    uint32_t in_count, out_count;
    struct sending *sendings;
    uint32_t sending_count;
};

/* ---- lanes ---- */

static uint32_t rank_at(const struct hop_program *program, uint32_t op, bool to)
{
    const struct hop_run_op *run = &program->layout.ops[op];
    return hop_layout_rank(&program->layout, run, to ? run->reads : 0);
}

/* Bytes of the packets of each pair of local ranks, [from * local_size + to]; 0: they have no lane. *any: some have. */
static uint64_t *size_lanes(struct hop_program *program, bool *any)
{
    const struct hop_team *team = program->team;
    uint64_t *sizes = hop_program_alloc(program, (size_t)team->local_size * team->local_size, sizeof *sizes);
    for (uint32_t i = 0; sizes && i < program->layout.op_count; i++) {
        if (!program->layout.ops[i].relayed && !hop_copies_is_chosen(program, i))
            continue;
        uint32_t from = rank_at(program, i, false), to = rank_at(program, i, true);
        uint64_t *size = &sizes[team->local_of[from] * team->local_size + team->local_of[to]];
        uint64_t packet = hop_program_packet(program, i);
        if (team->node_of[from] != team->node_of[team->rank])
            continue;
        *size = packet > *size ? packet : *size;
        *any = true;
    }
    return sizes;
}

static uint64_t whole_pages(uint64_t bytes)
{
    return (bytes + PAGE - 1) / PAGE * PAGE;
}

/* In the memory of the rank `to`: where the lane from another one lies; or, behind all, how long it is. */
static uint64_t offset_of(const struct hop_program *program, const uint64_t *sizes, uint32_t from, uint32_t to)
{
    const uint32_t count = program->team->local_size;
    uint64_t offset = 0;
    for (uint32_t l = 0; l < from; l++)
        offset +=
            sizes[l * count + to] ? whole_pages(sizeof(struct lane)) + SLOTS * whole_pages(sizes[l * count + to]) : 0;
    return offset;
}

static void take_end(struct hop_program *program, struct end *end, const uint64_t *sizes, uint32_t from, uint32_t to,
                     const struct hop_shared *shared)
{
    const struct hop_team *team = program->team;
    char *lane = (char *)shared->memory + offset_of(program, sizes, from, to);
    *end = (struct end){.rank = team->rank_of[from == team->local ? to : from],
                        .packet_bytes = whole_pages(sizes[from * team->local_size + to]),
                        .lane = (struct lane *)(void *)lane,
                        .data = lane + whole_pages(sizeof(struct lane))};
    (void)HOP_DEVICE(program, register_host, end->data, SLOTS * end->packet_bytes);
    for (size_t e = 0; e < SLOTS; e++)
        (void)HOP_DEVICE(program, create_event, &end->events[e]);
}

static void take_ends(struct hop_program *program, const uint64_t *sizes)
{
    struct hop_relay *relay = program->relay;
    const struct hop_team *team = program->team;
    char(*names)[HOP_SHARED_NAME_SIZE] = hop_program_alloc(program, team->local_size, sizeof *names);
    uint64_t bytes = offset_of(program, sizes, team->local_size, team->local);
    if (bytes && hop_program_is_fine(program))
        (void)HOP_TRY(program, hop_shared_create(bytes, &relay->own, &program->failure));
    if (!HOP_TEAM(program, hop_team_exchange, relay->own.name, names, sizeof *names))
        return;
    for (uint32_t l = 0; l < team->local_size && hop_program_is_fine(program); l++) {
        if (sizes[l * team->local_size + team->local])
            take_end(program, &relay->in[relay->in_count++], sizes, l, team->local, &relay->own);
        if (sizes[team->local * team->local_size + l] == 0)
            continue;
        struct hop_shared *theirs = &relay->others[relay->out_count];
        if (HOP_TRY(program, hop_shared_attach(names[l], theirs, &program->failure)))
            take_end(program, &relay->out[relay->out_count++], sizes, team->local, l, theirs);
    }
    (void)HOP_TRY(program, hop_team_barrier_local(program->team, &program->failure));
    hop_shared_withdraw(&relay->own);
}

void hop_relay_create(struct hop_program *program)
{
    const uint32_t count = program->team->local_size;
    bool any = false;
    if (program->mapped)
        return;
    const uint64_t *sizes = size_lanes(program, &any);
    if (!any || !hop_program_is_fine(program))
        return;
    struct hop_relay *relay = program->relay = hop_program_alloc(program, 1, sizeof *relay);
    if (!relay)
        return;
    relay->others = hop_program_alloc(program, count, sizeof *relay->others);
    relay->in = hop_program_alloc(program, count, sizeof *relay->in);
    relay->out = hop_program_alloc(program, count, sizeof *relay->out);
    relay->sendings = hop_program_alloc(program, program->layout.op_count, sizeof *relay->sendings);
    take_ends(program, sizes);
}

void hop_relay_destroy(struct hop_program *program, bool abandoned)
{
    struct hop_relay *relay = program->relay;
    if (!relay)
        return;
    hop_shared_withdraw(&relay->own);
    if (abandoned) /* a copy may be under way there */
        return;
    for (uint32_t e = 0; e < relay->out_count; e++)
        hop_shared_finish(&relay->others[e]);
    hop_shared_finish(&relay->own);
}

/* ---- what is sent ---- */

void hop_relay_enter(struct hop_program *program)
{
    program->relay->sending_count = 0;
}

static struct sending *find_sending(const struct hop_program *program, uint32_t op)
{
    for (uint32_t s = 0; s < program->relay->sending_count; s++) {
        if (program->relay->sendings[s].op == op)
            return &program->relay->sendings[s];
    }
    return NULL;
}

static void add_sending(struct hop_program *program, uint32_t op, struct hop_run_step *step)
{
    struct hop_relay *relay = program->relay;
    uint32_t to = rank_at(program, op, true), e = 0;
    while (relay->out[e].rank != to)
        e++;
    relay->sendings[relay->sending_count++] =
        (struct sending){.step = step, .op = op, .end = &relay->out[e], .wanted = true};
}

void hop_relay_send(struct hop_program *program, struct hop_run_step *step)
{
    add_sending(program, step->op, step);
}

void hop_relay_want(struct hop_program *program, uint32_t op, struct hop_run_step *step, bool wanted)
{
    struct sending *sending = find_sending(program, op);
    if (sending)
        sending->wanted = wanted;
    else if (wanted)
        add_sending(program, op, step);
}

bool hop_relay_is_quiet(const struct hop_program *program, uint32_t op)
{
    const struct sending *sending = find_sending(program, op);
    return !sending || sending->end->seen >= sending->behind;
}

bool hop_relay_is_through(const struct hop_program *program, uint32_t op)
{
    const struct sending *sending = find_sending(program, op);
    return sending && sending->behind && sending->moved == hop_schedule_op(program->schedule, op)->bytes &&
           sending->end->seen >= sending->behind;
}

static bool is_all_queued(const struct hop_program *program, const struct sending *sending)
{
    return sending->behind && sending->moved == hop_schedule_op(program->schedule, sending->op)->bytes;
}

static void queue_packet(struct hop_program *program, struct sending *sending)
{
    struct end *end = sending->end;
    uint32_t place = end->queued % SLOTS;
    struct slot *slot = &end->lane->slots[place];
    uint64_t rest = hop_schedule_op(program->schedule, sending->op)->bytes - sending->moved,
             most = hop_program_packet(program, sending->op);
    *slot = (struct slot){program->launch, sending->moved, rest < most ? rest : most, sending->op, 0, 0};
    const char *from = hop_program_place(program, sending->op, 0, program->launch);
    struct hop_device_copy copy = {.to = end->data + place * end->packet_bytes,
                                   .from = from + sending->moved,
                                   .bytes = slot->bytes,
                                   .way = HOP_NO_WAY,
                                   .span_s = program->spans ? end->spans_s[place] : NULL};
    (void)HOP_DEVICE(program, copy, HOP_STREAM_TO_HOST, &copy);
    (void)HOP_DEVICE(program, record, HOP_STREAM_TO_HOST, end->events[place]);
    sending->moved += slot->bytes;
    sending->behind = ++end->queued;
}

static bool has_ended(struct hop_program *program, struct end *end, uint64_t packet)
{
    bool ended = false;
    return HOP_DEVICE(program, query, end->events[packet % SLOTS], &ended) && ended;
}

/* Tells what has come into the lane, hears what has left it. */
static void look_at_lane(struct hop_program *program, struct end *end, bool *moved)
{
    uint64_t sent = atomic_load_explicit(&end->lane->sent, memory_order_relaxed);
    while (sent < end->queued && has_ended(program, end, sent)) {
        struct slot *slot = &end->lane->slots[sent % SLOTS];
        struct sending *sending = slot->launch == program->launch ? find_sending(program, slot->op) : NULL;
        slot->start_s = end->spans_s[sent % SLOTS][0];
        if (sending && sending->step && slot->at == 0)
            sending->step->legs_s[0][0] = slot->start_s;
        atomic_store_explicit(&end->lane->sent, ++sent, memory_order_release);
        if (sending && sending->step && sending->step->kind == HOP_STEP_RELAY && is_all_queued(program, sending) &&
            sent >= sending->behind)
            sending->step->arrived = program->launch;
        *moved = true;
    }
    uint64_t taken = atomic_load_explicit(&end->lane->taken, memory_order_acquire);
    for (; end->seen < taken; end->seen++) {
        const struct slot *slot = &end->lane->slots[end->seen % SLOTS];
        struct sending *sending = slot->launch == program->launch ? find_sending(program, slot->op) : NULL;
        if (sending && sending->step)
            sending->step->legs_s[1][1] = slot->end_s;
        *moved = true;
    }
}

static void send(struct hop_program *program, bool *moved)
{
    struct hop_relay *relay = program->relay;
    for (uint32_t e = 0; e < relay->out_count && hop_program_is_fine(program); e++)
        look_at_lane(program, &relay->out[e], moved);
    for (uint32_t s = 0; s < relay->sending_count && hop_program_is_fine(program); s++) {
        struct sending *sending = &relay->sendings[s];
        while (sending->wanted && !is_all_queued(program, sending) &&
               sending->end->queued - sending->end->seen < SLOTS && hop_program_is_fine(program)) {
            queue_packet(program, sending);
            *moved = true;
        }
    }
}

/* ---- what comes ---- */

/* The step that ends with the packet's copy; NULL: another rank's does. */
static struct hop_run_step *step_of(const struct hop_program *program, const struct slot *slot)
{
    uint32_t step = program->step_of[slot->op];
    return step == HOP_NONE ? NULL : &program->steps[step];
}

static void queue_taking(struct hop_program *program, struct end *end)
{
    uint32_t place = end->queued % SLOTS;
    const struct slot *slot = &end->lane->slots[place];
    struct hop_run_step *step = step_of(program, slot);
    uint32_t to = program->layout.ops[slot->op].reads;
    end->thrown[place] = step && step->ended >= slot->launch;
    if (!end->thrown[place]) {
        char *at = hop_program_place(program, slot->op, to, slot->launch);
        struct hop_device_copy copy = {.to = at + slot->at,
                                       .from = end->data + place * end->packet_bytes,
                                       .bytes = slot->bytes,
                                       .way = HOP_NO_WAY,
                                       .span_s = program->spans ? end->spans_s[place] : NULL};
        (void)HOP_DEVICE(program, copy, HOP_STREAM_FROM_HOST, &copy);
        (void)HOP_DEVICE(program, record, HOP_STREAM_FROM_HOST, end->events[place]);
        if (step)
            step->arriving++;
    }
    end->queued++;
}

static void take(struct hop_program *program, struct end *end, uint64_t packet)
{
    struct slot *slot = &end->lane->slots[packet % SLOTS];
    struct hop_run_step *step = end->thrown[packet % SLOTS] ? NULL : step_of(program, slot);
    slot->end_s = end->spans_s[packet % SLOTS][1];
    if (!step)
        return;
    if (slot->at == 0)
        step->legs_s[0][0] = slot->start_s;
    step->legs_s[1][1] = slot->end_s;
    step->arriving--;
    step->came += slot->bytes;
    if (step->kind == HOP_STEP_TAKE_RELAYED && step->came == step->bytes) {
        step->arrived = slot->launch;
        step->came = 0;
    }
}

static void receive(struct hop_program *program, struct end *end, bool *moved)
{
    uint64_t sent = atomic_load_explicit(&end->lane->sent, memory_order_acquire);
    uint64_t taken = atomic_load_explicit(&end->lane->taken, memory_order_relaxed);
    for (; end->queued < sent && hop_program_is_fine(program); *moved = true)
        queue_taking(program, end);
    while (taken < end->queued && hop_program_is_fine(program) &&
           (end->thrown[taken % SLOTS] || has_ended(program, end, taken))) {
        take(program, end, taken);
        atomic_store_explicit(&end->lane->taken, ++taken, memory_order_release);
        *moved = true;
    }
}

void hop_relay_progress(struct hop_program *program, bool *moved)
{
    struct hop_relay *relay = program->relay;
    for (uint32_t e = 0; e < relay->in_count && hop_program_is_fine(program); e++)
        receive(program, &relay->in[e], moved);
    send(program, moved);
}
