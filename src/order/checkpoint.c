/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints, written and read. */
#include "order/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "base/replace.h"

#define FIRST_LINE "hopcast-order-checkpoint 1"
enum { RANKS_MAX = 65536, PATH_SIZE = 4096 };

/* ---- writing ---- */

static void write_done(struct hop_buffer *out, const struct hop_checkpoint *c)
{
    hop_buffer_puts(out, "done");
    for (uint64_t t = 0; t < c->tasks; t++) {
        if (c->done[t] != HOP_TASK_DONE)
            continue;
        uint64_t first = t;
        while (t + 1 < c->tasks && c->done[t + 1] == HOP_TASK_DONE)
            t++;
        hop_buffer_printf(out, t > first ? " %" PRIu64 "-%" PRIu64 : " %" PRIu64, first, t);
    }
    hop_buffer_puts(out, "\n");
}

static void write_record(struct hop_buffer *out, const struct hop_checkpoint *c, uint32_t kind)
{
    const struct hop_record_kept *record = &c->records[kind];
    if (!isfinite(record->value))
        return;
    hop_buffer_printf(out, "record %u ", kind);
    hop_buffer_json_number(out, record->value);
    hop_buffer_printf(out, " %" PRIu64, record->task);
    for (uint32_t s = 0; s < c->problem->source_count; s++) {
        for (uint32_t i = 0; i < c->problem->sources[s].count; i++)
            hop_buffer_printf(out, " %u", record->sequence.order[c->problem->sources[s].first + i]);
    }
    hop_buffer_puts(out, " |");
    for (uint32_t op = 0; op < c->problem->op_count; op++) {
        if (record->sequence.after[op] != HOP_NONE)
            hop_buffer_printf(out, " %u:%u", op, record->sequence.after[op]);
    }
    hop_buffer_puts(out, "\n");
}

static void write_text(struct hop_buffer *out, const struct hop_checkpoint *c)
{
    hop_buffer_printf(out, FIRST_LINE "\nkind %s\nfingerprint %016" PRIx64 "\ntasks %" PRIu64 "\n", c->kind,
                      c->fingerprint, c->tasks);
    write_done(out, c);
    hop_buffer_printf(out, "work %" PRIu64 " %" PRIu64 " ", c->own.totals.nodes, c->own.totals.sets);
    hop_buffer_json_number(out, c->own.totals.walked);
    hop_buffer_puts(out, "\n");
    for (uint32_t k = 0; k < c->record_count; k++)
        write_record(out, c, k);
    for (uint32_t i = 0; i < c->own.count; i++) {
        hop_buffer_puts(out, "value ");
        hop_buffer_json_number(out, c->own.counts[i].value);
        hop_buffer_printf(out, " %u %d\n", c->own.counts[i].orders, c->own.counts[i].clean);
    }
    hop_buffer_puts(out, "end\n");
}

static void name_file(const char *path, int rank, char *name)
{
    if (rank == 0)
        (void)snprintf(name, PATH_SIZE, "%s", path);
    else
        (void)snprintf(name, PATH_SIZE, "%s.%d", path, rank);
}

enum hop_status hop_checkpoint_save(const char *path, int rank, const struct hop_checkpoint *checkpoint,
                                    struct hop_diag *diag)
{
    char name[PATH_SIZE];
    struct hop_buffer out = {0};
    name_file(path, rank, name);
    write_text(&out, checkpoint);
    char *text = hop_buffer_take(&out);
    if (!text)
        return hop_fail_memory(diag);
    bool written = hop_replace_file(name, text);
    int cause = errno;
    free(text);
    if (written)
        return HOP_OK;
    return hop_fail(diag, hop_status_of_error(cause), "cannot write the checkpoint %s: %s", name, strerror(cause));
}

/* ---- reading ---- */

struct reader {
    const struct hop_source *source;
    const char *at;
    unsigned line;
    struct hop_checkpoint *checkpoint;
    struct hop_failure failure;
};

/* The first failure sticks; from there on no more is read. */
static void expect(struct reader *r, bool fits, const char *expected)
{
    if (fits || r->failure.status != HOP_OK)
        return;
    hop_failure_set(&r->failure, HOP_ERR_SYNTAX, "malformed checkpoint\n%s", expected);
    hop_failure_place(&r->failure, "%s:%u", r->source->name, r->line);
}

/* Whether these characters come next, which are then read. */
static bool skip(struct reader *r, const char *text)
{
    size_t length = strlen(text);
    bool comes = r->failure.status == HOP_OK && strncmp(r->at, text, length) == 0;
    r->at += comes ? length : 0;
    return comes;
}

static void end_line(struct reader *r, const char *expected)
{
    expect(r, skip(r, "\n"), expected);
    r->line++;
}

/* 0 where that fails. */
static uint64_t whole(struct reader *r, uint64_t limit, const char *expected)
{
    char *end = NULL;
    (void)skip(r, " ");
    errno = 0;
    unsigned long long number = *r->at >= '0' && *r->at <= '9' ? strtoull(r->at, &end, 10) : 0;
    expect(r, end && !errno && number <= limit, expected);
    r->at = end ? end : r->at;
    return r->failure.status == HOP_OK ? number : 0;
}

static double number(struct reader *r, const char *expected)
{
    char *end;
    (void)skip(r, " ");
    double value = hop_text_number(r->at, &end);
    expect(r, end != r->at && isfinite(value) && *r->at != ' ' && *r->at != '\n', expected);
    r->at = end;
    return r->failure.status == HOP_OK ? value : 0;
}

/* The place of a kind, a line's rest, among the phases, which follow each other. */
static uint32_t phase_of(const char *kind)
{
    static const char *const phases[] = {"anytime", "waits", "search", "late", "rests", "count"};
    for (uint32_t phase = 1; phase < HOP_COUNT(phases); phase++) {
        if (strcspn(kind, "\n") == strlen(phases[phase]) && strncmp(kind, phases[phase], strlen(phases[phase])) == 0)
            return phase;
    }
    return 0;
}

/* Whether the tasks are those of the checkpoint; cut up in another way, by other threads, they are as good as another
 * phase's. */
static bool read_head(struct reader *r)
{
    struct hop_checkpoint *c = r->checkpoint;
    char fingerprint[64];
    expect(r, skip(r, FIRST_LINE), "a file that hopcast order --checkpoint wrote: " FIRST_LINE);
    end_line(r, "a file that hopcast order --checkpoint wrote: " FIRST_LINE);
    expect(r, skip(r, "kind "), "kind NAME");
    size_t length = strcspn(r->at, "\n");
    bool later = phase_of(r->at) > phase_of(c->kind);
    bool same = length == strlen(c->kind) && strncmp(r->at, c->kind, length) == 0;
    r->at += length;
    end_line(r, "kind NAME");
    (void)snprintf(fingerprint, sizeof fingerprint, "fingerprint %016" PRIx64 "\n", c->fingerprint);
    if (!skip(r, fingerprint) && r->failure.status == HOP_OK) {
        hop_failure_set(&r->failure, HOP_ERR_INVALID,
                        "the checkpoint belongs to another schedule, machine or set of options\nthe same call as the "
                        "one that wrote it, or another file");
        hop_failure_place(&r->failure, "%s:%u", r->source->name, r->line);
    }
    r->line++;
    c->later = c->later || (later && r->failure.status == HOP_OK);
    expect(r, skip(r, "tasks"), "tasks NUMBER");
    same = whole(r, UINT64_MAX, "tasks NUMBER") == c->tasks && same;
    end_line(r, "tasks NUMBER");
    return same;
}

static void read_done(struct reader *r, enum hop_task_done mark, struct hop_checkpoint_part *part)
{
    uint64_t most = r->checkpoint->tasks - 1;
    expect(r, skip(r, "done"), "done TASK FIRST-LAST ...");
    while (skip(r, " ")) {
        uint64_t first = whole(r, most, "the number of a task"), last = first;
        if (skip(r, "-"))
            last = whole(r, most, "the number of a task");
        expect(r, last >= first, "the number of a task");
        for (uint64_t t = first; t <= last && r->failure.status == HOP_OK; t++) {
            expect(r, !r->checkpoint->done[t], "every task in one checkpoint only");
            part->totals.tasks_done += r->failure.status == HOP_OK;
            r->checkpoint->done[t] = r->failure.status == HOP_OK ? (uint8_t)mark : r->checkpoint->done[t];
        }
    }
    end_line(r, "the end of the line");
}

static void read_sequence(struct reader *r, struct hop_sequence *sequence)
{
    const struct hop_problem *p = r->checkpoint->problem;
    for (uint32_t s = 0; s < p->source_count; s++) {
        for (uint32_t i = 0; i < p->sources[s].count; i++)
            sequence->order[p->sources[s].first + i] =
                (uint32_t)whole(r, p->op_count - 1, "the number of an operation");
    }
    expect(r, skip(r, " |"), "|");
    while (skip(r, " ")) {
        uint64_t op = whole(r, p->op_count - 1, "OPERATION:OPERATION");
        expect(r, skip(r, ":"), "OPERATION:OPERATION");
        sequence->after[op] = (uint32_t)whole(r, p->op_count - 1, "OPERATION:OPERATION");
    }
    expect(r, hop_sequence_check(p, sequence), "every source's sends, each once");
    end_line(r, "every source's sends, each once");
}

static void read_record(struct reader *r)
{
    const char *expected = "record KIND VALUE TASK";
    struct hop_record_kept read;
    struct hop_record_kept *record = &r->checkpoint->records[whole(r, r->checkpoint->record_count - 1, expected)];
    read.value = number(r, expected);
    read.task = whole(r, UINT64_MAX, expected);
    if (hop_sequence_create(r->checkpoint->problem, &read.sequence, NULL) != HOP_OK) {
        r->failure.status = hop_fail_memory(r->failure.diag);
        return;
    }
    read_sequence(r, &read.sequence);
    if (r->failure.status == HOP_OK && (!isfinite(record->value) || read.value < record->value ||
                                        (read.value == record->value && read.task < record->task))) {
        hop_sequence_copy(r->checkpoint->problem, &read.sequence, &record->sequence);
        record->value = read.value;
        record->task = read.task;
    }
    hop_sequence_finish(&read.sequence);
}

static void read_value(struct reader *r, struct hop_checkpoint_part *part)
{
    const char *expected = "value VALUE ORDERS CLEAN";
    struct hop_value_count count = {0};
    count.value = number(r, expected);
    count.orders = (uint32_t)whole(r, UINT32_MAX, expected);
    count.clean = whole(r, 1, expected);
    end_line(r, expected);
    if (r->failure.status != HOP_OK)
        return;
    if (!hop_grow(&part->counts, &part->count_capacity, part->count + 1, sizeof *part->counts))
        r->failure.status = hop_fail_memory(r->failure.diag);
    else
        part->counts[part->count++] = count;
}

static void read_part(struct reader *r, enum hop_task_done mark, struct hop_checkpoint_part *part)
{
    const char *expected = "work NODES SETS ORDERS";
    read_done(r, mark, part);
    expect(r, skip(r, "work"), expected);
    part->totals.nodes += whole(r, UINT64_MAX, expected);
    part->totals.sets += whole(r, UINT64_MAX, expected);
    part->totals.walked += number(r, expected);
    end_line(r, expected);
    while (skip(r, "record"))
        read_record(r);
    while (skip(r, "value"))
        read_value(r, part);
    expect(r, strcmp(r->at, "end\n") == 0, "end");
}

/* Of another phase of the same search: its tasks mean nothing here, its records do. */
static void read_records(struct reader *r)
{
    for (; *r->at && strncmp(r->at, "record ", 7) != 0 && strncmp(r->at, "end\n", 4) != 0; r->line++)
        r->at += strcspn(r->at, "\n") + (r->at[strcspn(r->at, "\n")] == '\n');
    while (skip(r, "record"))
        read_record(r);
}

enum hop_status hop_checkpoint_parse(const struct hop_source *source, struct hop_checkpoint *checkpoint,
                                     enum hop_task_done mark, struct hop_checkpoint_part *part, struct hop_diag *diag)
{
    struct reader r = {source, source->text, 1, checkpoint, {diag, HOP_OK}};
    if (read_head(&r))
        read_part(&r, mark, part);
    else if (r.failure.status == HOP_OK)
        read_records(&r);
    return r.failure.status;
}

enum hop_status hop_checkpoint_load(const char *path, int rank, int size, struct hop_checkpoint *checkpoint,
                                    struct hop_diag *diag)
{
    struct hop_checkpoint_part others = {0};
    enum hop_status status = HOP_OK;
    for (int k = 0; k < RANKS_MAX && status == HOP_OK; k++) {
        char name[PATH_SIZE];
        struct hop_source source;
        name_file(path, k, name);
        if (access(name, F_OK) != 0) {
            if (k >= size)
                break;
            continue;
        }
        bool left = k >= size && rank == 0;
        status = hop_source_load(name, &source, diag);
        if (status != HOP_OK)
            break;
        status = hop_checkpoint_parse(&source, checkpoint, k == rank ? HOP_TASK_DONE : HOP_TASK_DONE_ELSEWHERE,
                                      k == rank ? &checkpoint->own
                                      : left    ? &checkpoint->left
                                                : &others,
                                      diag);
        hop_source_finish(&source);
    }
    free(others.counts);
    return status;
}
