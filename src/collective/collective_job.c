/* SPDX-License-Identifier: BSD-3-Clause */
/* Jobs: the short words of collective algorithms. */
#include "collective/collective_job.h"

#define NONE HOP_MOVE_NONE

/* ---- parts ---- */

static bool add_run(struct hop_moves *m, uint32_t *count, uint64_t begin, uint64_t end)
{
    struct hop_part_run *last = *count ? &m->runs[*count - 1] : NULL;
    if (begin == end)
        return true;
    if (last && last->offset + last->count == begin) {
        last->count += end - begin;
        return true;
    }
    uint64_t before = last ? last->before + last->count : 0;
    if (!HOP_GROW(&m->arena, m->runs, *count + 1)) {
        hop_failure_set(&m->failure, HOP_ERR_MEMORY, "out of memory");
        return false;
    }
    m->runs[(*count)++] = (struct hop_part_run){begin, end - begin, before};
    return true;
}

static bool add_parts(struct hop_job *job, uint32_t *count, uint32_t first, uint32_t parts)
{
    return add_run(job->moves, count, hop_part_start(job->total, job->parts, first),
                   hop_part_start(job->total, job->parts, first + parts));
}

uint32_t hop_job_runs(struct hop_job *job, uint32_t first, uint32_t members, const struct hop_part_run **runs)
{
    struct hop_moves *m = job->moves;
    uint32_t count = 0, last = members < job->n - first ? members : job->n - first;
    bool fine = job->owned || (add_parts(job, &count, first, last) && /* in a row, and behind the last one from 0 on */
                               add_parts(job, &count, 0, members - last));
    for (uint32_t k = 0; job->owned && k < members && fine; k++) {
        uint32_t member = (uint32_t)(((uint64_t)first + k) % job->n);
        for (uint32_t i = job->owned_first[member]; i < job->owned_first[member + 1] && fine; i++)
            fine = add_parts(job, &count, job->owned[i], 1);
    }
    *runs = m->runs;
    return fine ? count : 0;
}

uint64_t hop_job_share(struct hop_job *job, uint32_t member)
{
    const struct hop_part_run *runs;
    uint32_t count = hop_job_runs(job, member, 1, &runs);
    return count ? runs[count - 1].before + runs[count - 1].count : 0;
}

/* ---- moves ---- */

struct hop_at hop_job_at(const struct hop_job *job, uint32_t member, struct hop_spot spot, uint64_t offset)
{
    return (struct hop_at){job->ranks[member], spot.buffer, spot.base + offset};
}

static struct hop_copy make_copy(const struct hop_job *job, struct hop_style style, uint32_t from, uint32_t to)
{
    uint32_t performs = style.pull ? to : from, other = style.pull ? from : to;
    return (struct hop_copy){
        .label = {style.phase, style.round, job->ranks[performs], style.pair ? job->ranks[other] : NONE},
        .pull = style.pull,
        .sums = style.sums,
        .in_turn = style.in_turn};
}

void hop_job_copy(struct hop_job *job, struct hop_style style, uint32_t from, struct hop_spot source, uint32_t to,
                  struct hop_spot target, uint64_t offset, uint64_t count)
{
    struct hop_copy copy = make_copy(job, style, from, to);
    copy.from = hop_job_at(job, from, source, offset);
    copy.to = hop_job_at(job, to, target, offset);
    copy.count = count;
    copy.offset = job->start + offset;
    hop_moves_copy(job->moves, &copy);
}

void hop_job_copy_share(struct hop_job *job, struct hop_style style, uint32_t from, struct hop_spot source, uint32_t to,
                        struct hop_spot target, uint32_t first, uint32_t members)
{
    const struct hop_part_run *runs;
    uint32_t count = hop_job_runs(job, first, members, &runs);
    uint32_t piece = job->moves->piece;
    for (uint32_t i = 0; i < count; i++) {
        job->moves->piece = count > 1 ? i : piece;
        hop_job_copy(job, style, from, source, to, target, runs[i].offset, runs[i].count);
    }
    job->moves->piece = piece;
}

void hop_job_reduce_two(struct hop_job *job, const char *phase, uint32_t round, uint32_t member, struct hop_spot first,
                        struct hop_spot second, struct hop_spot target, uint64_t offset, uint64_t count)
{
    struct hop_label label = {phase, round, job->ranks[member], NONE};
    struct hop_at inputs[2] = {hop_job_at(job, member, first, offset), hop_job_at(job, member, second, offset)};
    struct hop_at output = hop_job_at(job, member, target, offset);
    hop_moves_reduce(job->moves, &label, inputs, 2, &output, 1, count);
}

/* ---- jobs from jobs ---- */

void hop_job_segments(struct hop_job *job, hop_range_maker *f)
{
    struct hop_moves *m = job->moves;
    if (job->segment == 0 || job->segment >= job->total) {
        f(job, 0, job->total);
        return;
    }
    uint32_t number = 0;
    if (m->counting) { /* a segment has as many moves as another one */
        uint64_t rest = job->total % job->segment, times = hop_moves_repeat(m, job->total / job->segment);
        f(job, 0, job->segment);
        m->times = times;
        f(job, job->total - rest, rest);
        return;
    }
    for (uint64_t at = 0; at < job->total && hop_moves_ok(m); at += job->segment) {
        m->segment = number++;
        f(job, at, job->total - at < job->segment ? job->total - at : job->segment);
    }
    m->segment = NONE;
}

struct hop_spot *hop_job_spots(struct hop_job *job, const struct hop_spot *spots, uint32_t member, struct hop_spot spot)
{
    struct hop_spot *changed = hop_moves_room(job->moves, job->n, sizeof *changed);
    if (changed) {
        memcpy(changed, spots, job->n * sizeof *changed);
        changed[member] = spot;
    }
    return changed;
}

void hop_job_to_and_from(struct hop_job *job, hop_algorithm_maker *to, hop_algorithm_maker *from, bool through_scratch)
{
    struct hop_job first = *job, second = *job;
    struct hop_spot middle = {hop_moves_scratch(job->moves, through_scratch ? "sum" : "all"), 0};
    first.root = second.root = 0;
    if (!through_scratch)
        middle = job->out[0];
    first.out = hop_job_spots(job, job->out, 0, middle);
    second.in = hop_job_spots(job, job->in, 0, middle);
    if (!first.out || !second.in)
        return;
    to(&first);
    from(&second);
}

void hop_job_flags(struct hop_job *job, struct hop_job *flags)
{
    struct hop_moves *m = job->moves;
    uint32_t flag = hop_moves_scratch(m, "flag"), all = hop_moves_scratch(m, "flags");
    struct hop_spot *in = hop_moves_room(m, job->n, sizeof *in), *out = hop_moves_room(m, job->n, sizeof *out);
    *flags = *job;
    for (uint32_t i = 0; in && out && i < job->n; i++) {
        in[i] = (struct hop_spot){flag, (uint64_t)0 - i};
        out[i] = (struct hop_spot){all, 0};
    }
    flags->in = in;
    flags->out = out;
    flags->total = flags->parts = job->n;
    flags->root = 0;
}

/* ---- a collective's own ---- */

static struct hop_spot shifted(uint32_t buffer, bool holds_part_only, uint64_t start)
{
    return (struct hop_spot){buffer, holds_part_only ? 0 - start : 0};
}

bool hop_job_begin(struct hop_job *job, struct hop_moves *m, enum hop_collective_kind kind, uint64_t bytes,
                   uint32_t root, bool in_place)
{
    bool parts_in = hop_collective_gathers(kind);
    bool parts_out = kind == HOP_COLLECTIVE_SCATTER || kind == HOP_COLLECTIVE_REDUCE_SCATTER;
    uint32_t n = m->ranks, out_buffer = in_place ? HOP_MOVE_IN : HOP_MOVE_OUT;
    uint64_t most = ((uint64_t)1 << 60) / (n < 64 ? 64 : n);
    if (bytes > most)
        hop_failure_set(&m->failure, HOP_ERR_LIMIT, "%s of %llu bytes among %u ranks\nat most %llu bytes",
                        hop_collective_name(kind), (unsigned long long)bytes, n, (unsigned long long)most);
    uint32_t *ranks = hop_moves_room(m, n, sizeof *ranks);
    struct hop_spot *in = hop_moves_room(m, n, sizeof *in), *out = hop_moves_room(m, n, sizeof *out);
    if (!hop_moves_ok(m))
        return false;
    uint64_t total = bytes / m->width;
    for (uint32_t r = 0; r < n; r++) {
        uint64_t start = hop_part_start(total, n, r);
        bool whole = in_place && (kind == HOP_COLLECTIVE_ALLGATHER || r == root); /* its part lies at its place */
        ranks[r] = r;
        in[r] = shifted(HOP_MOVE_IN, parts_in && !whole, start);
        out[r] = shifted(out_buffer, parts_out && !(whole && kind == HOP_COLLECTIVE_SCATTER), start);
    }
    *job = (struct hop_job){
        .moves = m, .n = n, .ranks = ranks, .in = in, .out = out, .root = root, .total = total, .parts = n};
    return true;
}
