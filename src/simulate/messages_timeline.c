/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * From the notes of a run under model loggp to its timeline: the pieces of each operation's life.
 *
 *     send     ready | cpu-busy or nic-busy | start: o + (bytes - 1) (O + E) | partner (rendezvous) | end
 *     receive  ready | cpu-busy | start: partner | latency | cpu-busy or nic-busy | o + (bytes - 1) max(G, O) | end
 *     put      as its send, then as its receive
 */
#include "simulate/messages.h"

struct pieces {
    struct hop_timeline *timeline;
    uint64_t at; /* where the next piece begins */
    double alone_s;
    bool kept, failed;
};

static double seconds(uint64_t ps)
{
    return (double)ps / 1e12; /* divided, since the quotient is the double nearest to the decimal number */
}

/* A piece up to a time, if that is still to come. */
static void put(struct pieces *p, uint64_t until, enum hop_rule rule, uint32_t blocker, bool alone)
{
    struct hop_serial *serial = &p->timeline->serial;
    if (until <= p->at)
        return;
    const struct hop_piece piece = {seconds(p->at), seconds(until), rule, blocker};
    if (alone)
        p->alone_s += seconds(until - p->at);
    p->at = until;
    if (!p->kept)
        return;
    if (!hop_grow(&serial->pieces, &serial->piece_capacity, serial->piece_count + 1, sizeof *serial->pieces))
        p->failed = true;
    else
        serial->pieces[serial->piece_count++] = piece;
}

static uint64_t earlier(uint64_t a, uint64_t b)
{
    return a < b ? a : b;
}

/* A wait for a CPU and a NIC counts for the one that was free last. */
static void put_wait(struct pieces *p, uint64_t start, uint64_t cpu_until, uint32_t cpu_by, uint32_t nic_by)
{
    bool cpu = cpu_until >= start;
    put(p, start, cpu ? HOP_RULE_CPU_BUSY : HOP_RULE_NIC_BUSY, cpu ? cpu_by : nic_by, false);
}

/* The message's way to its receiver and into it. */
static void put_message(struct pieces *p, const struct hop_note *send, bool alone)
{
    put(p, send->arrival, HOP_RULE_LATENCY, HOP_NONE, alone);
    put_wait(p, send->taken, send->taken_cpu, send->taken_cpu_by, send->taken_nic_by);
    put(p, send->taken_end, HOP_RULE_FULL, HOP_NONE, true);
}

static void put_op(const struct hop_messages *m, struct pieces *p, uint32_t op)
{
    const struct hop_note *note = &m->notes[op];
    enum hop_op_kind kind = (enum hop_op_kind)m->actions[op].kind;
    const struct hop_cost *cost = &m->costs[m->actions[op].cost];
    if (kind == HOP_OP_RECEIVE) {
        const struct hop_note *send = &m->notes[note->partner];
        put(p, note->start, HOP_RULE_CPU_BUSY, note->cpu_by, false);
        uint64_t left = send->start + m->overhead + m->costs[m->actions[note->partner].cost].late;
        put(p, earlier(left, note->end), HOP_RULE_PARTNER, note->partner, false);
        put_message(p, send, false);
        return;
    }
    put_wait(p, note->start, note->cpu_until, note->cpu_by, note->nic_by);
    if (kind == HOP_OP_COPY) {
        put(p, note->start + m->overhead + cost->late, HOP_RULE_FULL, HOP_NONE, true);
        put_message(p, note, true);
        return;
    }
    put(p, note->start + cost->cpu, HOP_RULE_FULL, HOP_NONE, true);
    put(p, note->end, HOP_RULE_PARTNER, note->partner, false);
}

/* When its dependencies were met, or its start: on another CPU than theirs an operation may start before that. */
static uint64_t ready_of(const struct hop_messages *m, uint32_t index)
{
    const struct hop_op *op = hop_schedule_op(m->schedule, index);
    uint64_t ready = m->actions[index].timed ? m->initially_not_before[index] : 0;
    for (uint32_t d = 0; d < op->after_count; d++)
        ready = m->notes[op->after[d]].end > ready ? m->notes[op->after[d]].end : ready;
    for (uint32_t d = 0; d < op->after_start_count; d++)
        ready = m->notes[op->after_start[d]].start > ready ? m->notes[op->after_start[d]].start : ready;
    return earlier(ready, m->notes[index].start);
}

static bool note_ops(struct hop_messages *m)
{
    struct hop_timeline *t = m->timeline;
    struct hop_serial *serial = &t->serial;
    struct pieces p = {.timeline = t, .kept = t->detail == HOP_DETAIL_SEGMENTS};
    size_t count = (size_t)m->count + 1;
    if (!serial->alone_s)
        serial->alone_s = malloc(count * sizeof *serial->alone_s);
    if (!serial->first && p.kept)
        serial->first = malloc(count * sizeof *serial->first);
    if (!serial->alone_s || (p.kept && !serial->first))
        return false;
    serial->piece_count = 0;
    for (uint32_t i = 0; i < m->count; i++) {
        const struct hop_note *note = &m->notes[i];
        uint64_t ready = ready_of(m, i);
        t->times[i] = (struct hop_op_times){.span = {seconds(ready), seconds(note->start), seconds(note->end)},
                                            .flow_s = seconds(note->start),
                                            .waited_for = HOP_NONE};
        if (p.kept)
            serial->first[i] = serial->piece_count;
        p.at = ready;
        p.alone_s = 0;
        put_op(m, &p, i);
        serial->alone_s[i] = p.alone_s;
    }
    if (p.kept)
        serial->first[m->count] = serial->piece_count;
    return !p.failed;
}

enum hop_status hop_messages_note_timeline(struct hop_messages *m, struct hop_diag *diag)
{
    struct hop_timeline *t = m->timeline;
    struct hop_serial *serial = &t->serial;
    if (!serial->processes)
        serial->processes = malloc(((size_t)m->process_count + 1) * sizeof *serial->processes);
    if (!serial->processes)
        return hop_fail_memory(diag);
    t->is_serial = true;
    serial->process_count = m->process_count;
    for (uint32_t p = 0; p < m->process_count; p++)
        serial->processes[p] = (struct hop_process){m->processes[p].rank, m->processes[p].device, 0};
    for (uint32_t c = 0; c < m->clock_count; c++) {
        if (m->clock_process[c] != HOP_NONE) {
            struct hop_process *process = &serial->processes[m->clock_process[c]];
            process->finish_s = hop_max(process->finish_s, seconds(m->clocks[c]));
        }
    }
    return t->detail == HOP_DETAIL_NONE || note_ops(m) ? HOP_OK : hop_fail_memory(diag);
}
