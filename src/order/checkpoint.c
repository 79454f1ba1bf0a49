/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints, written and read. */
#include "order/checkpoint.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <unistd.h>

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
    hop_buffer_printf(out, "work %" PRIu64 " %" PRIu64 " ", c->own.nodes, c->own.sets);
    hop_buffer_json_number(out, c->own.walked);
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
    char name[PATH_SIZE], temporary[PATH_SIZE + 8];
    struct hop_buffer out = {0};
    name_file(path, rank, name);
    (void)snprintf(temporary, sizeof temporary, "%s.new", name);
    write_text(&out, checkpoint);
    char *text = hop_buffer_take(&out);
    if (!text)
        return hop_fail_memory(diag);
    FILE *file = fopen(temporary, "w");
    bool written = file && fputs(text, file) >= 0 && fflush(file) == 0 && fsync(fileno(file)) == 0;
    int cause = errno;
    written = (!file || fclose(file) == 0) && written;
    free(text);
    if (written && rename(temporary, name) == 0)
        return HOP_OK;
    cause = written ? errno : cause;
    (void)remove(temporary);
    return hop_fail(diag, HOP_ERR_IO, "cannot write the checkpoint %s: %s", name, strerror(cause));
}

/* ---- reading ---- */

struct reader {
    const struct hop_source *source;
    const char *at;
    unsigned line;
    struct hop_checkpoint *checkpoint;
    struct hop_diag *diag;
};

static enum hop_status bad(const struct reader *r, const char *expected)
{
    hop_fail(r->diag, HOP_ERR_SYNTAX, "malformed checkpoint");
    hop_diag_place(r->diag, "%s:%u", r->source->name, r->line);
    hop_diag_expect(r->diag, "%s", expected);
    return HOP_ERR_SYNTAX;
}

static bool word(struct reader *r, const char *text)
{
    size_t length = strlen(text);
    if (strncmp(r->at, text, length) != 0 || (r->at[length] != ' ' && r->at[length] != '\n'))
        return false;
    r->at += length;
    return true;
}

static bool whole(struct reader *r, uint64_t limit, uint64_t *value)
{
    char *end;
    if (*r->at == ' ')
        r->at++;
    if (*r->at < '0' || *r->at > '9')
        return false;
    errno = 0;
    unsigned long long number = strtoull(r->at, &end, 10);
    if (errno || number > limit)
        return false;
    r->at = end;
    *value = number;
    return true;
}

static bool number(struct reader *r, double *value)
{
    char *end;
    if (*r->at == ' ')
        r->at++;
    *value = hop_text_number(r->at, &end);
    bool fine = end != r->at && isfinite(*value) && *r->at != ' ' && *r->at != '\n';
    r->at = end;
    return fine;
}

static bool line_end(struct reader *r)
{
    if (*r->at != '\n')
        return false;
    r->at++;
    r->line++;
    return true;
}

/* The place of a kind among the phases, which follow each other. */
static uint32_t phase_of(const char *kind)
{
    static const char *const phases[] = {"anytime", "waits", "search", "count", "more"};
    uint32_t phase = 0;
    while (phase < HOP_COUNT(phases) && (strncmp(kind, phases[phase], strlen(phases[phase])) != 0 ||
                                         (kind[strlen(phases[phase])] != 0 && kind[strlen(phases[phase])] != '\n')))
        phase++;
    return phase < HOP_COUNT(phases) ? phase : 0;
}

static enum hop_status read_head(struct reader *r, bool *same_kind)
{
    struct hop_checkpoint *c = r->checkpoint;
    char expected[64];
    uint64_t tasks;
    if (strncmp(r->at, FIRST_LINE "\n", sizeof FIRST_LINE) != 0)
        return bad(r, "a file that hopcast order --checkpoint wrote: " FIRST_LINE);
    r->at += sizeof FIRST_LINE;
    r->line++;
    if (!word(r, "kind") || *r->at++ != ' ')
        return bad(r, "kind NAME");
    bool later = phase_of(r->at) > phase_of(c->kind);
    *same_kind = word(r, c->kind);
    r->at += strcspn(r->at, "\n");
    if (!line_end(r))
        return bad(r, "kind NAME");
    (void)snprintf(expected, sizeof expected, "fingerprint %016" PRIx64 "\n", c->fingerprint);
    if (strncmp(r->at, expected, strlen(expected)) != 0) {
        hop_fail(r->diag, HOP_ERR_INVALID, "the checkpoint belongs to another schedule, machine or set of options");
        hop_diag_place(r->diag, "%s:%u", r->source->name, r->line);
        hop_diag_expect(r->diag, "the same call as the one that wrote it, or another file");
        return HOP_ERR_INVALID;
    }
    c->later = c->later || later;
    r->at += strlen(expected);
    r->line++;
    if (!word(r, "tasks") || !whole(r, UINT64_MAX, &tasks) || !line_end(r))
        return bad(r, "tasks NUMBER");
    *same_kind = *same_kind && tasks == c->tasks; /* cut up in another way, by other threads: as good as another phase */
    return HOP_OK;
}

static enum hop_status read_done(struct reader *r, enum hop_task_done mark, struct hop_checkpoint_part *part)
{
    if (!word(r, "done"))
        return bad(r, "done TASK FIRST-LAST ...");
    while (*r->at == ' ') {
        uint64_t first, last;
        if (!whole(r, r->checkpoint->tasks - 1, &first))
            return bad(r, "the number of a task");
        last = first;
        if (*r->at == '-' && (r->at++, !whole(r, r->checkpoint->tasks - 1, &last) || last < first))
            return bad(r, "the number of a task");
        for (uint64_t t = first; t <= last; t++) {
            if (r->checkpoint->done[t])
                return bad(r, "every task in one checkpoint only");
            r->checkpoint->done[t] = (uint8_t)mark;
            if (part)
                part->tasks_done++;
        }
    }
    return line_end(r) ? HOP_OK : bad(r, "the end of the line");
}

static enum hop_status read_record(struct reader *r)
{
    const struct hop_problem *p = r->checkpoint->problem;
    struct hop_sequence sequence;
    uint64_t kind, task, op, on;
    double value;
    if (!whole(r, r->checkpoint->record_count - 1, &kind) || !number(r, &value) || !whole(r, UINT64_MAX, &task))
        return bad(r, "record KIND VALUE TASK");
    enum hop_status status = hop_sequence_create(p, &sequence, r->diag);
    for (uint32_t s = 0; s < p->source_count && status == HOP_OK; s++) {
        for (uint32_t i = 0; i < p->sources[s].count && status == HOP_OK; i++) {
            if (!whole(r, p->op_count - 1, &op))
                status = bad(r, "the number of an operation");
            else
                sequence.order[p->sources[s].first + i] = (uint32_t)op;
        }
    }
    if (status == HOP_OK && !word(r, " |"))
        status = bad(r, "|");
    while (status == HOP_OK && *r->at == ' ') {
        if (!whole(r, p->op_count - 1, &op) || *r->at++ != ':' || !whole(r, p->op_count - 1, &on))
            status = bad(r, "OPERATION:OPERATION");
        else
            sequence.after[op] = (uint32_t)on;
    }
    if (status == HOP_OK && (!hop_sequence_check(p, &sequence) || !line_end(r)))
        status = bad(r, "every source's sends, each once");
    struct hop_record_kept *record = &r->checkpoint->records[kind];
    if (status == HOP_OK && (!isfinite(record->value) || value < record->value ||
                             (value == record->value && task < record->task))) {
        hop_sequence_copy(p, &sequence, &record->sequence);
        record->value = value;
        record->task = task;
    }
    hop_sequence_finish(&sequence);
    return status;
}

static enum hop_status read_value(struct reader *r, struct hop_checkpoint_part *part)
{
    struct hop_value_count count = {0};
    uint64_t orders, clean;
    if (!number(r, &count.value) || !whole(r, UINT32_MAX, &orders) || !whole(r, 1, &clean) || !line_end(r))
        return bad(r, "value VALUE ORDERS CLEAN");
    if (!part)
        return HOP_OK;
    count.orders = (uint32_t)orders;
    count.clean = clean;
    if (!hop_grow(&part->counts, &part->count_capacity, part->count + 1, sizeof *part->counts))
        return hop_fail_memory(r->diag);
    part->counts[part->count++] = count;
    return HOP_OK;
}

enum hop_status hop_checkpoint_parse(const struct hop_source *source, struct hop_checkpoint *checkpoint,
                                     enum hop_task_done mark, struct hop_checkpoint_part *part, struct hop_diag *diag)
{
    struct reader r = {source, source->text, 1, checkpoint, diag};
    uint64_t nodes, sets;
    double walked;
    bool same_kind = false;
    enum hop_status status = read_head(&r, &same_kind);
    if (status == HOP_OK && !same_kind) { /* of another phase of the same search: its tasks mean nothing here, its records do */
        for (; *r.at && strncmp(r.at, "record ", 7) != 0 && strncmp(r.at, "end\n", 4) != 0; r.line++)
            r.at += strcspn(r.at, "\n") + (r.at[strcspn(r.at, "\n")] == '\n');
        while (status == HOP_OK && word(&r, "record"))
            status = read_record(&r);
        return status;
    }
    if (status == HOP_OK)
        status = read_done(&r, mark, part);
    if (status == HOP_OK && (!word(&r, "work") || !whole(&r, UINT64_MAX, &nodes) || !whole(&r, UINT64_MAX, &sets) ||
                             !number(&r, &walked) || !line_end(&r)))
        status = bad(&r, "work NODES SETS ORDERS");
    if (status == HOP_OK && part) {
        part->nodes += nodes;
        part->sets += sets;
        part->walked += walked;
    }
    while (status == HOP_OK && word(&r, "record"))
        status = read_record(&r);
    while (status == HOP_OK && word(&r, "value"))
        status = read_value(&r, part);
    if (status == HOP_OK && strcmp(r.at, "end\n") != 0)
        status = bad(&r, "end");
    return status;
}

enum hop_status hop_checkpoint_load(const char *path, int rank, int size, struct hop_checkpoint *checkpoint,
                                    struct hop_diag *diag)
{
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
                                                : NULL,
                                      diag);
        hop_source_finish(&source);
    }
    return status;
}
