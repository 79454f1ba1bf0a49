/* SPDX-License-Identifier: BSD-3-Clause */
/* What the steps of a plan have found, written and read. */
#include "plan/plan_answers.h"

#include <errno.h>
#include <inttypes.h>
#include <math.h>

#include "base/clock.h"
#include "base/fields.h"
#include "base/random.h"
#include "base/replace.h"

#define TITLE "hopcast-plan-checkpoint"
#define SAVE_DEFAULT_S 10.0
enum { HASH_DIGITS = 16 };

/* ---- texts ---- */

void hop_plan_put_value(struct hop_buffer *out, double value)
{
    if (isfinite(value))
        hop_buffer_json_number(out, value);
    else
        hop_buffer_puts(out, "-");
    hop_buffer_puts(out, " ");
}

void hop_plan_put_whole(struct hop_buffer *out, uint64_t value)
{
    hop_buffer_number(out, value);
    hop_buffer_puts(out, " ");
}

/* What was read ends at a blank. */
static bool take_blank(struct hop_plan_reading *in, const char *end)
{
    in->failed = in->failed || end == in->at || end >= in->end || *end != ' ';
    if (!in->failed)
        in->at = end + 1;
    return !in->failed;
}

double hop_plan_get_value(struct hop_plan_reading *in)
{
    char *end = (char *)in->at;
    double value = INFINITY;
    if (!in->failed && in->at < in->end && *in->at == '-')
        end++;
    else if (!in->failed && in->at < in->end)
        value = hop_text_number(in->at, &end);
    in->failed = in->failed || !(value >= 0);
    return take_blank(in, end) ? value : 0;
}

uint64_t hop_plan_get_whole(struct hop_plan_reading *in, uint64_t most)
{
    const char *end = in->at;
    uint64_t value = 0;
    for (; !in->failed && end < in->end && *end >= '0' && *end <= '9'; end++) {
        in->failed = value > (UINT64_MAX - 9) / 10;
        value = value * 10 + (uint64_t)(*end - '0');
    }
    in->failed = in->failed || value > most;
    return take_blank(in, end) ? value : 0;
}

const char *hop_plan_get_bytes(struct hop_plan_reading *in, size_t size)
{
    in->failed = in->failed || size > (size_t)(in->end - in->at);
    if (in->failed)
        return NULL;
    in->at += size;
    return in->at - size;
}

/* ---- what is known ---- */

static int by_key(const void *a, const void *b)
{
    const struct hop_plan_answer *x = a, *y = b; /* of one key the last one first */
    return x->key != y->key ? HOP_ORDER(x->key, y->key) : HOP_ORDER(y->text, x->text);
}

const struct hop_plan_answer *hop_plan_answers_find(struct hop_plan_answers *a, uint64_t key)
{
    uint32_t low = 0, high = a->count;
    while (low < high) {
        uint32_t middle = low + (high - low) / 2;
        if (a->known[middle].key < key)
            low = middle + 1;
        else
            high = middle;
    }
    return low < a->count && a->known[low].key == key ? &a->known[low] : NULL;
}

void hop_plan_answers_add(struct hop_plan_answers *a, const struct hop_plan_answer *answer)
{
    if (!a->path)
        return;
    hop_buffer_printf(&a->log, "answer %016" PRIx64 " %zu\n", answer->key, answer->size);
    hop_buffer_add(&a->log, answer->text, answer->size);
    hop_buffer_puts(&a->log, "\n");
}

enum hop_status hop_plan_answers_save(struct hop_plan_answers *a, bool now, struct hop_diag *diag)
{
    double now_s = hop_now_s();
    if (!a->path || (!now && now_s - a->saved_s < a->every_s))
        return HOP_OK;
    size_t length = a->log.length;
    hop_buffer_printf(&a->log, "end %016" PRIx64 "\n", hop_hash(HOP_HASH_BEGIN, a->log.text, length));
    if (a->log.failed)
        return hop_fail_memory(diag);
    bool written = hop_replace_file(a->path, a->log.text);
    int cause = errno;
    a->log.length = length;
    a->saved_s = hop_now_s();
    if (written)
        return HOP_OK;
    return hop_fail(diag, hop_status_of_error(cause), "cannot write the checkpoint %s: %s", a->path, strerror(cause));
}

/* ---- reading ---- */

/* What is wrong with the line. */
#define REFUSE(fields, ...) hop_fields_fail((fields), (fields)->start, HOP_ERR_INVALID, __VA_ARGS__)

static uint64_t read_hash(struct hop_fields *f)
{
    struct hop_field word = hop_fields_word(f);
    uint64_t value = 0;
    bool good = word.length == HASH_DIGITS;
    for (size_t i = 0; i < HASH_DIGITS && good; i++) {
        good = hop_text_digit(word.text[i]) < 16;
        value = value << 4 | (hop_text_digit(word.text[i]) & 15);
    }
    if (!good)
        hop_fields_refuse(f, word, "hash", "16 hexadecimal digits");
    return value;
}

/* A line of the head, up to what stands behind its name. */
static void expect_line(struct hop_fields *f, const char *name, const char *expected)
{
    bool comes = hop_fields_next(f) && hop_field_is(hop_fields_word(f), name);
    f->number += f->number == 0; /* of nothing */
    if (!comes)
        REFUSE(f, "this is no checkpoint of a plan\n%s", expected);
}

static void read_head(struct hop_fields *f, uint64_t fingerprint)
{
    const char *expected = "a file that hopcast plan --checkpoint wrote: " TITLE " 1";
    expect_line(f, TITLE, expected);
    if (f->failure->status == HOP_OK && !hop_field_is(hop_fields_word(f), "1"))
        REFUSE(f, "a checkpoint of another form\n%s", expected);
    expect_line(f, "fingerprint", "fingerprint HASH");
    if (read_hash(f) != fingerprint)
        REFUSE(f, "the checkpoint belongs to another exchange, machine, set of options or version of hopcast\n"
                  "the call that wrote it (limits, threads and ranks may differ), or another file");
    hop_fields_end(f, "nothing behind the hash");
}

static void read_answer(struct hop_plan_answers *a, struct hop_fields *f)
{
    struct hop_plan_answer answer = {.key = read_hash(f)};
    struct hop_field word = hop_fields_word(f);
    size_t left = (size_t)(a->source.text + a->source.size - f->rest);
    uint64_t size;
    if (!hop_field_whole(word, &size) || size >= left || f->rest[size] != '\n') {
        hop_fields_refuse(f, word, "size of an answer",
                          "how many bytes follow this line, and a line's end behind them");
        return;
    }
    hop_fields_end(f, "nothing behind the size");
    answer.text = f->rest;
    answer.size = (size_t)size;
    for (size_t i = 0; i <= answer.size; i++)
        f->number += f->rest[i] == '\n';
    f->rest += answer.size + 1;
    if (hop_failure_none(f->failure, HOP_GROW(&a->arena, a->known, a->count + (size_t)1)))
        a->known[a->count++] = answer;
}

/* *ended: it was the last one; how long all before is. */
static void read_line(struct hop_plan_answers *a, struct hop_fields *f, size_t *ended)
{
    struct hop_field word = hop_fields_word(f);
    size_t before = (size_t)(f->start - a->source.text);
    if (hop_field_is(word, "answer")) {
        read_answer(a, f);
    } else if (!hop_field_is(word, "end")) {
        hop_fields_refuse(f, word, "line of a checkpoint", "answer or end");
    } else if (read_hash(f) != hop_hash(HOP_HASH_BEGIN, a->source.text, before)) {
        REFUSE(f, "the checkpoint is not as it was written: something in it was changed or is missing\n"
                  "the file as hopcast plan wrote it");
    } else {
        *ended = before;
        if (f->rest != a->source.text + a->source.size)
            REFUSE(f, "something stands behind the checkpoint's end\na line that begins with end as the last one");
    }
}

enum hop_status hop_plan_answers_begin(struct hop_plan_answers *a, const char *path, double every_s,
                                       uint64_t fingerprint, struct hop_diag *diag)
{
    *a = (struct hop_plan_answers){
        .path = path, .every_s = every_s > 0 ? every_s : SAVE_DEFAULT_S, .saved_s = hop_now_s()};
    hop_buffer_printf(&a->log, TITLE " 1\nfingerprint %016" PRIx64 "\n", fingerprint);
    return a->log.failed ? hop_fail_memory(diag) : HOP_OK;
}

enum hop_status hop_plan_answers_read(struct hop_plan_answers *a, struct hop_source source, struct hop_diag *diag)
{
    struct hop_failure failure = {diag, HOP_OK};
    struct hop_fields fields;
    size_t ended = 0, head = strlen(TITLE " 1\nfingerprint ");
    uint64_t fingerprint = strtoull(a->log.text + head, NULL, 16);
    a->source = source;
    hop_fields_begin(&fields, &a->source, &failure);
    read_head(&fields, fingerprint);
    while (!ended && failure.status == HOP_OK && hop_fields_next(&fields))
        read_line(a, &fields, &ended);
    if (!ended)
        REFUSE(&fields, "the checkpoint has no end: it was cut\na line that begins with end as the last one");
    if (failure.status != HOP_OK)
        return failure.status;
    if (a->count)
        qsort(a->known, a->count, sizeof *a->known, by_key);
    a->log.length = 0;
    hop_buffer_add(&a->log, source.text, ended);
    return a->log.failed ? hop_fail_memory(diag) : HOP_OK;
}

void hop_plan_answers_finish(struct hop_plan_answers *a)
{
    hop_buffer_finish(&a->log);
    hop_source_finish(&a->source);
    hop_arena_finish(&a->arena);
}
