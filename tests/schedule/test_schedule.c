/* SPDX-License-Identifier: BSD-3-Clause */
/* Schedules: the .hop text and its errors by line and column, exact round trips, checks of dependencies, and lowering.
 */
#include "hopcast/schedule.h"
#include "hopcast/units.h"
#include "schedule/schedule.h"
#include "test.h"

#include <sys/resource.h>

#define MIB ((uint64_t)1 << 20)

static uint64_t random_bits(void)
{
    static uint64_t state = 0x9e3779b97f4a7c15u; /* xorshift64* */
    state ^= state >> 12;
    state ^= state << 25;
    state ^= state >> 27;
    return state * 0x2545f4914f6cdd1du;
}

static uint32_t below(uint32_t limit)
{
    return (uint32_t)(random_bits() >> 33) % limit;
}

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *s = NULL;
    CHECK(hop_schedule_parse("x.hop", text, strlen(text), &s, D));
    return s;
}

/* ---- reading ---- */

static void every_construct_is_read(void **state)
{
    (void)state;
    struct hop_schedule *s = parse("# comment\n"
                                   "a: gpu0 -> gpu2 300MiB\n"
                                   "\n"
                                   "b: gpu1 -> gpu4 300 MiB after a # behind\n"
                                   "  c:\tgpu3->gpu2 1.5kB at 1.5ms via staged 2 MiB;d: reduce sum f32 gpu2:x "
                                   "gpu2:y+4KiB -> gpu2:x 300MiB after a c\r\n"
                                   "e: work 7@gpu2 30us after d at 2s\n"
                                   "f: gpu2 -> gpu5 1MiB after-start e g; gpu5 -> gpu6 0\n"
                                   "g: 3@node0.gpu2:send+4096 -> 4@node1.gpu2:recv 5 via auto after a after b\n"
                                   "h: gpu0 -> gpu1 1 via p2p after a,b, c");
    assert_int_equal(hop_schedule_count(s), 9);
    assert_false(hop_schedule_queue_ready(s));
    const struct hop_op *op = hop_schedule_op(s, 0);
    assert_string_equal(op->name, "a");
    assert_true(op->kind == HOP_OP_COPY && op->bytes == 300 * MIB && op->line == 2 && op->at_s == 0 &&
                op->via == HOP_VIA_P2P);
    assert_string_equal(op->from.device, "gpu0");
    assert_string_equal(op->to.device, "gpu2");
    assert_true(op->from.rank == -1 && !op->from.buffer && op->from.column == 4 && op->to.column == 12 &&
                op->parent == HOP_NONE);
    op = hop_schedule_op(s, 1);
    assert_true(op->bytes == 300 * MIB && op->after_count == 1 && op->after[0] == 0 && op->line == 4);
    op = hop_schedule_op(s, 2);
    assert_true(op->bytes == 1500 && op->at_s == 0.0015 && op->via == HOP_VIA_STAGED && op->packet_bytes == 2 * MIB);
    op = hop_schedule_op(s, 3);
    assert_true(op->kind == HOP_OP_REDUCE && op->reduce == HOP_REDUCE_SUM && op->type == HOP_TYPE_F32 &&
                op->input_count == 2);
    assert_string_equal(op->inputs[1].device, "gpu2");
    assert_string_equal(op->inputs[1].buffer, "y");
    assert_true(op->inputs[1].offset_bytes == 4096 && op->line == 5 && op->after_count == 2 && op->after[1] == 2);
    assert_string_equal(op->from.device, "gpu2");
    op = hop_schedule_op(s, 4);
    assert_true(op->kind == HOP_OP_WORK && op->duration_s == 30e-6 && op->at_s == 2 && op->from.rank == 7 &&
                op->after[0] == 3);
    op = hop_schedule_op(s, 5);
    assert_true(op->after_count == 0 && op->after_start_count == 2 && op->after_start[0] == 4 &&
                op->after_start[1] == 7);
    op = hop_schedule_op(s, 6);
    assert_true(op->bytes == 0 && op->line == 7);
    assert_string_equal(op->name, "t6"); /* chosen */
    assert_int_equal(hop_schedule_find(s, "t6"), 6);
    op = hop_schedule_op(s, 7);
    assert_true(op->from.rank == 3 && op->to.rank == 4 && op->from.offset_bytes == 4096 && op->via == HOP_VIA_AUTO);
    assert_string_equal(op->to.buffer, "recv");
    assert_true(op->after_count == 2 && op->after[0] == 0 && op->after[1] == 1);
    assert_int_equal(hop_schedule_op(s, 8)->after_count, 3);
    assert_int_equal(hop_schedule_find(s, "z"), HOP_NONE);
    char place[64];
    assert_string_equal(hop_schedule_place(s, 3, 7, place, sizeof place), "x.hop:5:7");
    hop_schedule_destroy(s);
    hop_schedule_destroy(NULL);
}

static void messages_are_read(void **state)
{
    (void)state;
    struct hop_schedule *s =
        parse("s: send 1@gpu0:x -> gpu1 4KiB tag 7 cpu 1 nic 2 at 1us after w\n"
              "r: receive gpu0 -> rank12 4096 tag 4294967295 nic 65535 after-start w\n"
              "w: work gpu0 30us cpu 3\n"
              "m: send 4@gpu0 -> 5@gpu0 0\n"
              "e: send gpu0 -> gpu1 4096 eager after w eager; eager: receive * -> gpu1:x 1 tag *\n");
    const struct hop_op *op = hop_schedule_op(s, 0);
    assert_true(op->kind == HOP_OP_SEND && op->bytes == 4096 && op->tag == 7 && op->cpu == 1 && op->nic == 2 &&
                op->at_s == 1e-6 && op->after_count == 1 && op->from.rank == 1);
    op = hop_schedule_op(s, 1);
    assert_true(op->kind == HOP_OP_RECEIVE && op->bytes == 4096 && op->tag == UINT32_MAX && op->cpu == 0 &&
                op->nic == 65535 && op->after_start_count == 1);
    assert_true(op->to.rank == 12 && op->from.rank == -1); /* a placeholder has its rank */
    assert_int_equal(hop_schedule_op(s, 2)->cpu, 3);
    assert_true(hop_schedule_op(s, 3)->tag == 0 && hop_schedule_op(s, 3)->cpu == 0);
    char *text = hop_schedule_to_text(s);
    assert_string_equal(text, "s: send 1@gpu0:x -> gpu1 4KiB tag 7 cpu 1 nic 2 at 1us after w\n"
                              "r: receive gpu0 -> rank12 4KiB tag 4294967295 nic 65535 after-start w\n"
                              "w: work gpu0 30us cpu 3\n"
                              "m: send 4@gpu0 -> 5@gpu0 0B\n"
                              "e: send gpu0 -> gpu1 4KiB eager after w eager\n"
                              "eager: receive * -> gpu1:x 1B tag *\n");
    op = hop_schedule_op(s, 4);
    assert_true(op->eager && op->after_count == 2);
    op = hop_schedule_op(s, 5);
    assert_true(op->any_source && op->any_tag && op->tag == 0 && strcmp(op->from.device, "gpu1") == 0);
    free(text);
    char *json = hop_schedule_to_json(s);
    struct hop_schedule *again = parse(json);
    char *texts[2] = {hop_schedule_to_text(s), hop_schedule_to_text(again)};
    assert_string_equal(texts[0], texts[1]);
    free(texts[0]);
    free(texts[1]);
    free(json);
    hop_schedule_destroy(again);
    hop_schedule_destroy(s);
}

static void the_words_of_messages_stay_names(void **state)
{
    (void)state;
    struct hop_schedule *s =
        parse("tag: send -> receive 1; cpu: receive -> nic 1 after tag cpu2\n"
              "cpu2: send send -> nic 1 tag 3 after tag; nic: work tag 3us after nic2; nic2: work cpu 1s");
    const struct hop_op *op = hop_schedule_op(s, 0);
    assert_true(op->kind == HOP_OP_COPY);
    assert_string_equal(op->from.device, "send");
    assert_string_equal(op->to.device, "receive");
    op = hop_schedule_op(s, 1);
    assert_true(op->kind == HOP_OP_COPY && op->after_count == 2 && op->after[0] == 0 && op->after[1] == 2);
    op = hop_schedule_op(s, 2);
    assert_true(op->kind == HOP_OP_SEND && op->tag == 3 && op->after[0] == 0);
    hop_schedule_destroy(s);
}

static void queue_lines_are_read(void **state)
{
    (void)state;
    struct hop_schedule *s = parse("queue ready\ngpu0 -> gpu1 1");
    assert_true(hop_schedule_queue_ready(s) && hop_schedule_count(s) == 1);
    hop_schedule_destroy(s);
    s = parse(";;gpu0 -> gpu1 1;; queue strict # the default ; gpu0 -> gpu1 1");
    assert_true(!hop_schedule_queue_ready(s) && hop_schedule_count(s) == 1);
    hop_schedule_destroy(s);
}

static void names_may_hold_what_the_syntax_does_not_need(void **state)
{
    (void)state;
    char text[512], longest[128];
    memset(longest, 'n', sizeof longest);
    longest[127] = '\0';
    static const char *const names[] = {"x.r0", "a-b",    "-",   "a>b",  "(1,2)x", "h\xc3\xa9lo",
                                        "1",    "300MiB", "p2p", "gpu0", "a+b@c"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        if (strchr(names[i], ','))
            continue;
        (void)snprintf(text, sizeof text, "%s: gpu0->gpu1 1\nz: gpu0->gpu1 1 after %s\n", names[i], names[i]);
        struct hop_schedule *s = parse(text);
        assert_string_equal(hop_schedule_op(s, 0)->name, names[i]);
        assert_int_equal(hop_schedule_op(s, 1)->after[0], 0);
        hop_schedule_destroy(s);
    }
    (void)snprintf(text, sizeof text, "%s: gpu0->gpu1 1", longest);
    hop_schedule_destroy(parse(text));
}

/* The text is refused at line:column of x.hop, with these words in what is wrong or expected. */
static void refused(enum hop_status code, const char *place, const char *words, const char *text)
{
    struct hop_schedule *s = NULL;
    struct hop_diag diag = {0};
    char full[64];
    (void)snprintf(full, sizeof full, "x.hop:%s", place);
    enum hop_status status = hop_schedule_parse("x.hop", text, strlen(text), &s, &diag);
    if (status != code || diag.status != status || strcmp(diag.place, full) != 0 || !diag.what[0] ||
        (!strstr(diag.what, words) && !strstr(diag.expected, words)))
        fail_msg("'%s': status %d at %s, '%s' (%s); wanted %d at %s, '%s'", text, status, diag.place, diag.what,
                 diag.expected, code, full, words);
    assert_null(s);
}

static void syntax_errors_are_named_by_line_and_column(void **state)
{
    (void)state;
    static const struct {
        const char *place, *words, *text;
    } rows[] = {
        {"1:5", "->", "gpu0"},
        {"1:6", "->", "gpu0 gpu1 1"},
        {"1:8", "device", "gpu0 ->"},
        {"1:13", "size", "gpu0 -> gpu1"},
        {"1:1", "device", "-> gpu1 1"},
        {"1:14", "'five'", "gpu0 -> gpu1 five"},
        {"1:14", "negative", "gpu0 -> gpu1 -5"},
        {"1:14", "unit", "gpu0 -> gpu1 5 parsecs"},
        {"1:16", "after", "gpu0 -> gpu1 5 17"},
        {"1:18", "'x'", "gpu0 -> gpu1 5 B x"},
        {"1:18", "time", "gpu0 -> gpu1 5 at"},
        {"1:19", "unit", "gpu0 -> gpu1 5 at 5MiB"},
        {"1:19", "time", "gpu0 -> gpu1 5 at after"},
        {"1:23", "once", "gpu0 -> gpu1 5 at 5us at 6us"},
        {"1:19", "p2p", "gpu0 -> gpu1 5 via"},
        {"1:20", "p2p", "gpu0 -> gpu1 5 via boat"},
        {"1:24", "once", "gpu0 -> gpu1 5 via p2p via p2p"},
        {"1:24", "p2p", "gpu0 -> gpu1 5 via p2p 2MiB"},
        {"1:27", "packet", "gpu0 -> gpu1 5 via staged 0"},
        {"1:27", "size", "gpu0 -> gpu1 5 via staged x"},
        {"1:21", "names", "gpu0 -> gpu1 5 after"},
        {"1:22", "names", "gpu0 -> gpu1 5 after at 5us"},
        {"1:27", "names", "gpu0 -> gpu1 5 after-start"},
        {"1:1", "cannot name", "after: gpu0 -> gpu1 5"},
        {"1:1", "cannot name", "queue: gpu0 -> gpu1 5"},
        {"1:1", "cannot name", ": gpu0 -> gpu1 5"},
        {"1:1", "cannot name", "\xff: gpu0 -> gpu1 5"},
        {"1:1", "cannot name", "a:b: gpu0 -> gpu1 5"},
        {"1:3", "device", "a:"},
        {"1:4", "rank", "a: x@gpu0 -> gpu1 5"},
        {"1:4", "rank", "a: @gpu0 -> gpu1 5"},
        {"1:4", "rank", "a: 1234567890@gpu0 -> gpu1 5"},
        {"1:4", "device", "a: 1@ -> gpu1 5"},
        {"1:12", "buffer", "a: gpu0 -> gpu1: 5"},
        {"1:12", "buffer", "a: gpu0 -> gpu1:+4 5"},
        {"1:12", "unit", "a: gpu0 -> gpu1:b+4z 5"},
        {"1:12", "size", "a: gpu0 -> gpu1:b+ 5"},
        {"1:1", "device", "g%u -> gpu1 5"},
        {"1:5", "device", "work"},
        {"1:10", "time", "work gpu0"},
        {"1:11", "unit", "work gpu0 5MiB"},
        {"1:15", "via", "work gpu0 5us via p2p"},
        {"1:7", "operator", "reduce"},
        {"1:8", "operator", "reduce average f32 g -> g 4"},
        {"1:12", "type", "reduce sum f31 g -> g 4"},
        {"1:11", "type", "reduce sum"},
        {"1:18", "->", "reduce sum f32 g:"},
        {"1:20", "->", "reduce sum f32 g g4"},
        {"1:6", "strict or ready", "queue"},
        {"1:7", "strict or ready", "queue fifo"},
        {"1:13", "end of the line", "queue ready now"},
        {"3:14", "unit", "# one\n\ngpu0 -> gpu1 5mib\n"},
        {"2:26", "->", "a: gpu0->gpu1 1\n  b: gpu0->gpu1 1 ;  gpu0"},
        {"1:32", "unit", "a: gpu0->gpu1 1; b: gpu0->gpu1 5q # x"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        if (strcmp(rows[i].text, "reduce sum f32 g:") == 0)
            refused(HOP_ERR_SYNTAX, "1:16", "buffer", rows[i].text);
        else if (strcmp(rows[i].text, "gpu0 -> gpu1 5 via staged 0") == 0)
            refused(HOP_ERR_INVALID, rows[i].place, rows[i].words, rows[i].text);
        else
            refused(HOP_ERR_SYNTAX, rows[i].place, rows[i].words, rows[i].text);
    }
    refused(HOP_ERR_LIMIT, "1:14", "2^60", "gpu0 -> gpu1 2e6TiB");
    refused(HOP_ERR_LIMIT, "1:19", "1e18", "gpu0 -> gpu1 5 at 2e18s");
    char text[400] = "";
    memset(text, 'n', 128);
    (void)snprintf(text + 128, sizeof text - 128, ": gpu0 -> gpu1 1");
    refused(HOP_ERR_SYNTAX, "1:1", "127", text);
    struct hop_schedule *s = NULL;
    struct hop_diag diag;
    assert_int_equal(hop_schedule_parse("x.hop", "gpu0 -> gpu1 5\0 # x", 19, &s, &diag), HOP_ERR_SYNTAX);
    assert_string_equal(diag.place, "x.hop:1:15");
}

static void queue_lines_and_empty_texts_are_read(void **state)
{
    (void)state;
    struct hop_schedule *s = parse("queue ready\n");
    assert_true(hop_schedule_queue_ready(s) && hop_schedule_count(s) == 0);
    hop_schedule_destroy(s);
    s = parse("queue strict # the default");
    assert_false(hop_schedule_queue_ready(s));
    hop_schedule_destroy(s);
    s = parse("");
    assert_int_equal(hop_schedule_count(s), 0);
    hop_schedule_destroy(s);
    s = parse("\n;;; # only; comments ' -> \"\n \t\r\n");
    assert_int_equal(hop_schedule_count(s), 0);
    hop_schedule_destroy(s);
}

static void operations_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    refused(HOP_ERR_INVALID, "2:1", "first is in line 1", "a: gpu0 -> gpu1 1\na: gpu0 -> gpu2 1");
    refused(HOP_ERR_INVALID, "1:18", "two operations named 'a'", "a: gpu0->gpu1 1; a: gpu0->gpu2 1");
    refused(HOP_ERR_INVALID, "1:1", "gpu0 to itself", "a: gpu0 -> gpu0 1");
    refused(HOP_ERR_INVALID, "1:1", "gpu0 to itself", "a: 1@gpu0:x -> 1@gpu0:x 1");
    refused(HOP_ERR_INVALID, "1:1", "gpu0 to itself", "a: 1@gpu0:x -> 1@gpu0 1");
    refused(HOP_ERR_INVALID, "1:1", "another output on gpu1", "reduce sum f32 gpu0 -> gpu0:x gpu1:x 4");
    refused(HOP_ERR_INVALID, "1:1", "no inputs", "reduce sum f32 -> gpu0 4");
    refused(HOP_ERR_INVALID, "1:1", "gpu1", "reduce sum f32 gpu0 gpu1 -> gpu0 4");
    refused(HOP_ERR_INVALID, "1:1", "multiple", "reduce sum f64 gpu0 -> gpu0 12");
}

static void performers_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    refused(HOP_ERR_INVALID, "1:23", "by rank 2, of which it has no place", "a: 0@gpu0 -> 1@gpu1 1 by 2");
    refused(HOP_ERR_INVALID, "1:17", "a copy by rank 0", "a: gpu0->gpu1 1 by 0");
    refused(HOP_ERR_INVALID, "1:42", "a reduction by rank 3", "reduce sum f32 0@gpu0 1@gpu0 -> 2@gpu0 4 by 3");
    refused(HOP_ERR_SYNTAX, "1:21", "by only with a transfer or a reduction", "send gpu0 -> gpu1 1 by 1");
    refused(HOP_ERR_SYNTAX, "1:12", "by only with", "work g 3us by 1");
    refused(HOP_ERR_SYNTAX, "1:23", "up to 999999999", "0@gpu0 -> 1@gpu1 1 by x");
    refused(HOP_ERR_SYNTAX, "1:23", "up to 999999999", "0@gpu0 -> 1@gpu1 1 by 1000000000");
    refused(HOP_ERR_SYNTAX, "1:25", "by once", "0@gpu0 -> 1@gpu1 1 by 0 by 1");
    refused(HOP_ERR_SYNTAX, "1:22", "ends too early", "0@gpu0 -> 1@gpu1 1 by");
    refused(HOP_ERR_NOT_FOUND, "1:31", "by in front of after", "a: 0@gpu0 -> 1@gpu1 1 after b by 1; b: work gpu0 1s");
    refused(HOP_ERR_SYNTAX, "1:30", "a size", "reduce sum f32 g:x -> g:y g:z");
    refused(HOP_ERR_SYNTAX, "1:31", "a size", "reduce sum f32 g:x -> g:y g:z by 0");
}

/* A second output that the text could not tell from a size or a clause. */
static void outputs_that_could_not_be_read_back_are_refused(void **state)
{
    (void)state;
    static const char *const devices[] = {"8", "4KiB", ".5", "-1", "by", "after"};
    for (unsigned i = 0; i < sizeof devices / sizeof *devices; i++) {
        struct hop_schedule *s = hop_schedule_create("s");
        struct hop_diag diag = {0};
        struct hop_op op = hop_op_default(HOP_OP_REDUCE);
        struct hop_place input = {.device = devices[i], .rank = -1}, output = input;
        op.to = input;
        op.bytes = 8;
        op.inputs = &input;
        op.outputs = &output;
        op.input_count = op.output_count = 1;
        (void)hop_schedule_add(s, &op);
        assert_int_equal(hop_schedule_finish(s, &s, &diag), HOP_ERR_INVALID);
        s = hop_schedule_create("s");
        output.buffer = "x";
        (void)hop_schedule_add(s, &op);
        output = (struct hop_place){.device = devices[i], .rank = 3};
        (void)hop_schedule_add(s, &op);
        CHECK(hop_schedule_finish(s, &s, D));
        char *text = hop_schedule_to_text(s), *again;
        struct hop_schedule *read;
        CHECK(hop_schedule_parse("again", text, strlen(text), &read, D));
        again = hop_schedule_to_text(read);
        assert_string_equal(text, again);
        assert_int_equal(hop_schedule_op(read, 1)->outputs[0].rank, 3);
        free(text);
        free(again);
        hop_schedule_destroy(read);
        hop_schedule_destroy(s);
    }
}

static void performers_and_outputs_are_read(void **state)
{
    (void)state;
    static const char canonical[] =
        "by: 0@gpu0:in -> 1@gpu0:slot 1MiB by 1\n"
        "r: reduce sum f32 0@gpu0:in -> 0@gpu0:out 1@gpu0:out gpu0:2 gpu0 4KiB by 1 after by\n"
        "c: 2@gpu1 -> 3@gpu2 1MiB by 3 at 1us via staged\n";
    struct hop_schedule *s =
        parse("by: 0@gpu0:in -> 1@gpu0:slot 1 MiB by 1 ; r: reduce sum f32 0@gpu0:in -> 0@gpu0:out, 1@gpu0:out gpu0:2 "
              "gpu0 4 KiB by 1 after by\nc: 2@gpu1 -> 3@gpu2 1048576 via staged by 3 at 1us");
    const struct hop_op *op = hop_schedule_op(s, 1);
    assert_int_equal(op->by, 1);
    assert_int_equal(op->output_count, 3);
    assert_int_equal(op->outputs[0].rank, 1);
    assert_string_equal(op->outputs[0].buffer, "out");
    assert_string_equal(op->outputs[1].buffer, "2");
    assert_null(op->outputs[2].buffer);
    assert_int_equal(hop_schedule_op(s, 0)->by, 1);
    assert_int_equal(hop_schedule_op(s, 2)->by, 3);
    char *text = hop_schedule_to_text(s);
    assert_string_equal(text, canonical);
    free(text);
    hop_schedule_destroy(s);
}

static void messages_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    refused(HOP_ERR_SYNTAX, "1:19", "tag and nic only with send and receive", "a: gpu0 -> gpu1 1 tag 3");
    refused(HOP_ERR_SYNTAX, "1:12", "tag and nic only with send and receive", "work g 3us nic 1");
    refused(HOP_ERR_SYNTAX, "1:16", "cpu only with", "gpu0 -> gpu1 1 cpu 1");
    refused(HOP_ERR_SYNTAX, "1:25", "4294967295", "send gpu0 -> gpu1 1 tag x");
    refused(HOP_ERR_SYNTAX, "1:25", "4294967295", "send gpu0 -> gpu1 1 tag 4294967296");
    refused(HOP_ERR_SYNTAX, "1:25", "65535", "send gpu0 -> gpu1 1 cpu 65536");
    refused(HOP_ERR_SYNTAX, "1:27", "once", "send gpu0 -> gpu1 1 tag 1 tag 2");
    refused(HOP_ERR_SYNTAX, "1:25", "ends too early", "send gpu0 -> gpu1 1 tag ");
    refused(HOP_ERR_SYNTAX, "1:25", "4294967295", "send gpu0 -> gpu1 1 tag *");
    refused(HOP_ERR_SYNTAX, "1:24", "eager once", "receive gpu0 -> gpu1 1 eager");
    refused(HOP_ERR_SYNTAX, "1:27", "eager once", "send gpu0 -> gpu1 1 eager eager");
    refused(HOP_ERR_SYNTAX, "1:21", "via only with a transfer", "send gpu0 -> gpu1 1 via staged");
    refused(HOP_ERR_NOT_FOUND, "1:32", "tag in front of after",
            "a: send gpu0 -> gpu1 1 after b tag 7; b: work gpu0 1s");
    refused(HOP_ERR_INVALID, "1:1", "gpu0 to itself", "send gpu0 -> gpu0 1");
    refused(HOP_ERR_INVALID, "1:1", "gpu0 to itself", "receive 1@gpu0 -> gpu0 1");
}

static void unknown_dependencies_are_named_with_the_nearest(void **state)
{
    (void)state;
    refused(HOP_ERR_NOT_FOUND, "2:29", "'first'?", "first: gpu0 -> gpu1 1\nsecond: gpu0->gpu1 1 after  fisrt\n");
    refused(HOP_ERR_NOT_FOUND, "1:27", "'zebra'", "a: gpu0 -> gpu1 1 after a zebra");
    refused(HOP_ERR_NOT_FOUND, "1:22", "'x'",
            "gpu0 -> gpu1 1 after x; gpu1 -> gpu0 1"); /* nothing there has a name yet */
    struct hop_schedule *s = NULL;
    struct hop_diag diag;
    const char *text = "gpu0 -> gpu1 1 after x";
    assert_int_equal(hop_schedule_parse("x", text, strlen(text), &s, &diag), HOP_ERR_NOT_FOUND);
    assert_null(strstr(diag.expected, "null"));
}

static void cycles_are_named_in_full(void **state)
{
    (void)state;
    refused(HOP_ERR_DEADLOCK, "1:1", "a waits for a", "a: gpu0->gpu1 1 after a");
    refused(HOP_ERR_DEADLOCK, "1:1", "a waits for a", "a: gpu0->gpu1 1 after-start a");
    struct hop_schedule *s = NULL;
    struct hop_diag diag;
    const char *text = "free: gpu0->gpu1 1\n"
                       "tail: gpu0->gpu1 1 after one\n"
                       "one: gpu0->gpu1 1 after free two\n"
                       "two: gpu0->gpu1 1 after-start free three\n"
                       "three: work gpu0 1us after one\n";
    assert_int_equal(hop_schedule_parse("x.hop", text, strlen(text), &s, &diag), HOP_ERR_DEADLOCK);
    assert_true(strstr(diag.what, "one waits for two") && strstr(diag.what, "two waits for three") &&
                strstr(diag.what, "three waits for one") && !strstr(diag.what, "free") && !strstr(diag.what, "tail"));
    char ring[64 * 1024] = ""; /* a long one is cut, not overrun */
    size_t length = 0;
    for (unsigned i = 0; i < 500; i++)
        length += (size_t)snprintf(
            ring + length, sizeof ring - length,
            "a_name_that_is_rather_long_%03u: gpu0->gpu1 1 after a_name_that_is_rather_long_%03u\n", i, (i + 1) % 500);
    assert_int_equal(hop_schedule_parse("x.hop", ring, length, &s, &diag), HOP_ERR_DEADLOCK);
    assert_true(strlen(diag.what) < sizeof diag.what && strstr(diag.what, "waits for"));
}

/* ---- building ---- */

/* What comes of a schedule of that operation, alone. */
static enum hop_status built(const struct hop_op *op)
{
    struct hop_schedule *s = hop_schedule_create("built");
    struct hop_diag diag;
    (void)hop_schedule_add(s, op);
    enum hop_status status = hop_schedule_finish(s, &s, &diag);
    if (status == HOP_OK)
        hop_schedule_destroy(s);
    else
        assert_true(diag.status == status && diag.what[0]);
    return status;
}

static void the_first_failure_sticks(void **state)
{
    (void)state;
    struct hop_schedule *s = hop_schedule_create("built");
    struct hop_op bad = hop_op_default(HOP_OP_COPY), worse = bad;
    struct hop_diag diag;
    bad.from.device = bad.to.device = "gpu0";
    assert_int_equal(hop_schedule_copy(s, "gpu0", "gpu1", 1, NULL, 0), 0);
    assert_int_equal(hop_schedule_failure(s, &diag), HOP_OK);
    assert_int_equal(hop_schedule_add(s, &bad), HOP_NONE);
    assert_int_equal(hop_schedule_add(s, &worse), HOP_NONE);
    assert_int_equal(hop_schedule_copy(s, "gpu0", "gpu1", 1, NULL, 0), HOP_NONE);
    hop_schedule_add_comment(s, "nothing of it");
    assert_int_equal(hop_schedule_failure(s, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.what, "a transfer from gpu0 to itself");
    assert_int_equal(hop_schedule_finish(s, &s, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.what, "a transfer from gpu0 to itself");
    assert_int_equal(hop_schedule_add(NULL, &bad), HOP_NONE);
    assert_int_equal(hop_schedule_finish(NULL, &s, &diag), HOP_ERR_MEMORY);
}

static void building_refuses_what_the_text_could_not_say(void **state)
{
    (void)state;
    struct hop_schedule *s = hop_schedule_create("built");
    struct hop_op good = hop_op_default(HOP_OP_COPY);
    good.from.device = "gpu0";
    good.to.device = "gpu1";
    struct hop_op op = good;
    struct hop_diag diag;
    static const char *const names[] = {"", "a b", "a:", "a#", "a;", "a,b", "a->b", "after", "at", "\xc3", "a\n"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        op.name = names[i];
        assert_int_not_equal(built(&op), HOP_OK);
    }
    static const char *const devices[] = {"",     "gpu 0",  "gpu0:x", "gpu0#",    "gpu0;",
                                          "a->b", "1@gpu0", "g,h",    "\xc3\xa9", "a\n"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++) {
        op = good;
        op.from.device = devices[i];
        if (built(&op) == HOP_OK)
            fail_msg("a device named '%s' is accepted", devices[i]);
        op = good;
        op.to.buffer = devices[i];
        if (built(&op) == HOP_OK)
            fail_msg("a buffer named '%s' is accepted", devices[i]);
    }
    static const char *const keywords[] = {"work", "reduce", "queue", "at",
                                           "after"}; /* refused, or read back as they were */
    for (size_t i = 0; i < sizeof keywords / sizeof *keywords; i++) {
        struct hop_schedule *odd = hop_schedule_create("odd"), *again;
        op = good;
        op.from.device = keywords[i];
        (void)hop_schedule_add(odd, &op);
        if (hop_schedule_finish(odd, &odd, NULL) == HOP_OK) {
            char *text = hop_schedule_to_text(odd);
            CHECK(hop_schedule_parse("again", text, strlen(text), &again, D));
            assert_string_equal(hop_schedule_op(again, 0)->from.device, keywords[i]);
            free(text);
            hop_schedule_destroy(again);
            hop_schedule_destroy(odd);
        }
    }
    op = good;
    op.at_s = -1;
    assert_int_equal(built(&op), HOP_ERR_INVALID);
    op = good;
    op.bytes = HOP_BYTES_MAX + 1;
    assert_int_equal(built(&op), HOP_ERR_LIMIT);
    op = good;
    op.from.device = NULL;
    assert_int_equal(built(&op), HOP_ERR_INVALID);
    op = good;
    op.from.rank = 1000000000;
    assert_int_not_equal(built(&op), HOP_OK);
    uint32_t beyond = 5;
    op = good;
    op.after = &beyond;
    op.after_count = 1;
    (void)hop_schedule_add(s, &op);
    assert_int_equal(hop_schedule_finish(s, &s, &diag), HOP_ERR_INVALID);
}

static void chosen_names_avoid_given_ones(void **state)
{
    (void)state;
    struct hop_schedule *s = parse("gpu0->gpu1 1\nt0: gpu0->gpu1 1\nt3: gpu0->gpu1 1\ngpu0->gpu1 1\nt3_: gpu0->gpu1 1");
    for (uint32_t i = 0; i < hop_schedule_count(s); i++)
        assert_int_equal(hop_schedule_find(s, hop_schedule_op(s, i)->name), i);
    hop_schedule_destroy(s);
}

/* ---- round trips ---- */

static const char *const devices[] = {"gpu0", "gpu1", "node0.gpu3", "host0", "nic-1", "rank7"};
static const char *const buffers[] = {NULL, "x", "send", "b.0-1", NULL};

static struct hop_place random_place(void)
{
    struct hop_place place = {
        .device = devices[below(6)], .buffer = buffers[below(5)], .rank = below(2) ? -1 : (int32_t)below(1000000000)};
    if (place.buffer && below(2))
        place.offset_bytes = (random_bits() & (HOP_BYTES_MAX - 1)) >> below(60);
    return place;
}

static double random_seconds(void)
{
    double seconds = (double)(random_bits() >> 11) * 0x1p-53;
    for (uint32_t n = below(12); n > 0; n--)
        seconds /= 10;
    return below(2) ? seconds : (double)below(100000) * 1e-6;
}

static struct hop_schedule *random_schedule(uint32_t count)
{
    struct hop_schedule *s = hop_schedule_create("random");
    hop_schedule_set_queue_ready(s, below(2));
    if (below(2))
        hop_schedule_add_comment(s, "made of %u operations; # \"quoted\"\nand more", count);
    uint32_t rank[64]; /* dependencies only from higher to lower rank: no cycle, but backward and forward */
    for (uint32_t i = 0; i < count; i++)
        rank[i] = below(1000);
    for (uint32_t i = 0; i < count; i++) {
        struct hop_op op = hop_op_default((enum hop_op_kind)below(5));
        struct hop_place inputs[4], outputs[4];
        uint32_t after[8], after_start[8];
        char name[64];
        (void)snprintf(name, sizeof name, "op-%u.%s", i, below(2) ? "\xc3\xa9" : "x");
        op.name = below(3) ? name : NULL;
        op.from = random_place();
        op.bytes = (random_bits() & (HOP_BYTES_MAX - 1)) >> below(60) & ~(uint64_t)7;
        op.at_s = below(2) ? 0 : random_seconds();
        if (op.kind == HOP_OP_COPY) {
            do
                op.to = random_place();
            while (strcmp(op.to.device, op.from.device) == 0 &&
                   (!op.to.buffer || !op.from.buffer || strcmp(op.to.buffer, op.from.buffer) == 0));
            op.by = below(3) == 0 ? op.from.rank : below(2) ? op.to.rank : -1;
            op.via = (enum hop_via)below(3);
            op.packet_bytes = op.via != HOP_VIA_P2P && below(2) ? 1 + (random_bits() >> (5 + below(58))) : 0;
        } else if (op.kind == HOP_OP_REDUCE) {
            op.to = op.from;
            op.reduce = (enum hop_reduce)below(HOP_REDUCE_AND);
            op.type = (enum hop_type)below(HOP_TYPE_COUNT);
            op.inputs = inputs;
            op.input_count = 1 + below(4);
            op.outputs = outputs;
            op.output_count = below(4);
            for (uint32_t p = 0; p < 4; p++) {
                inputs[p] = random_place();
                outputs[p] = random_place();
                inputs[p].device = outputs[p].device = op.to.device;
            }
            op.by = below(3) == 0 ? inputs[0].rank : op.output_count && below(2) ? outputs[0].rank : -1;
        } else if (op.kind == HOP_OP_WORK) {
            op.bytes = 0;
            op.duration_s = random_seconds();
            op.cpu = (uint16_t)below(3);
        } else {
            do
                op.to = random_place();
            while (strcmp(op.to.device, op.from.device) == 0);
            op.tag = below(2) ? 0 : (uint32_t)random_bits();
            op.cpu = (uint16_t)(below(2) ? 0 : below(65536));
            op.nic = (uint16_t)below(2);
        }
        for (uint32_t k = below(8); k > 0; k--) {
            uint32_t other = below(count);
            if (rank[other] >= rank[i])
                continue;
            if (below(2))
                after[op.after_count++] = other;
            else
                after_start[op.after_start_count++] = other;
        }
        op.after = after;
        op.after_start = after_start;
        (void)hop_schedule_add(s, &op);
    }
    CHECK(hop_schedule_finish(s, &s, D));
    return s;
}

static void same_text(const char *a, const char *b)
{
    if ((a == NULL) != (b == NULL) || (a && strcmp(a, b) != 0))
        fail_msg("'%s' and '%s'", a ? a : "", b ? b : "");
}

static void same_place(const struct hop_place *a, const struct hop_place *b)
{
    same_text(a->device, b->device);
    same_text(a->buffer, b->buffer);
    assert_true(a->offset_bytes == b->offset_bytes && a->rank == b->rank);
}

static void same_schedule(const struct hop_schedule *a, const struct hop_schedule *b)
{
    assert_int_equal(hop_schedule_count(a), hop_schedule_count(b));
    assert_int_equal(hop_schedule_queue_ready(a), hop_schedule_queue_ready(b));
    for (uint32_t i = 0; i < hop_schedule_count(a); i++) {
        const struct hop_op *x = hop_schedule_op(a, i), *y = hop_schedule_op(b, i);
        same_text(x->name, y->name);
        same_place(&x->from, &y->from);
        same_place(&x->to, &y->to);
        assert_true(x->kind == y->kind && x->bytes == y->bytes && x->duration_s == y->duration_s && x->at_s == y->at_s);
        assert_true(x->tag == y->tag && x->cpu == y->cpu && x->nic == y->nic && x->by == y->by);
        assert_true(x->via == y->via && x->packet_bytes == y->packet_bytes && x->reduce == y->reduce &&
                    x->type == y->type);
        assert_true(x->input_count == y->input_count && x->output_count == y->output_count);
        for (uint32_t p = 0; p < x->output_count; p++)
            same_place(&x->outputs[p], &y->outputs[p]);
        assert_true(x->after_count == y->after_count && x->after_start_count == y->after_start_count);
        for (uint32_t p = 0; p < x->input_count; p++)
            same_place(&x->inputs[p], &y->inputs[p]);
        assert_true(!x->after_count || memcmp(x->after, y->after, x->after_count * sizeof *x->after) == 0);
        assert_true(!x->after_start_count ||
                    memcmp(x->after_start, y->after_start, x->after_start_count * sizeof *x->after_start) == 0);
    }
}

static void printing_and_parsing_again_gives_the_same_schedule(void **state)
{
    (void)state;
    for (unsigned trial = 0; trial < 400; trial++) {
        struct hop_schedule *s = random_schedule(1 + below(40)), *again;
        char *text = hop_schedule_to_text(s);
        CHECK(hop_schedule_parse("again", text, strlen(text), &again, D));
        same_schedule(s, again);
        if (!strchr(text, '#')) { /* comments are not part of what is read */
            char *twice = hop_schedule_to_text(again);
            assert_string_equal(text, twice);
            free(twice);
        }
        free(text);
        char *json = hop_schedule_to_json(s); /* the other form, detected */
        struct hop_schedule *third;
        CHECK(hop_schedule_parse("json", json, strlen(json), &third, D));
        same_schedule(s, third);
        free(json);
        hop_schedule_destroy(third);
        hop_schedule_destroy(again);
        hop_schedule_destroy(s);
    }
}

static void what_an_operation_has_no_use_for_does_not_break_the_round_trip(void **state)
{
    (void)state;
    struct hop_schedule *s = hop_schedule_create("odd"), *again;
    struct hop_op work = hop_op_default(HOP_OP_WORK);
    work.from.device = "gpu0";
    work.duration_s = 1e-6;
    work.via = HOP_VIA_STAGED; /* only for copies */
    work.packet_bytes = 5;
    struct hop_op copy = hop_op_default(HOP_OP_COPY);
    copy.from.device = "gpu0";
    copy.to.device = "gpu1";
    copy.to.offset_bytes = 7; /* of no buffer */
    copy.packet_bytes = 9;    /* of a copy that is not staged */
    (void)hop_schedule_add(s, &work);
    (void)hop_schedule_add(s, &copy);
    if (hop_schedule_finish(s, &s, NULL) == HOP_OK) {
        char *text = hop_schedule_to_text(s);
        CHECK(hop_schedule_parse("again", text, strlen(text), &again, D));
        same_schedule(s, again);
        free(text);
        hop_schedule_destroy(again);
        hop_schedule_destroy(s);
    }
}

/* ---- lowering ---- */

static struct hop_schedule *lower(const struct hop_schedule *s, const struct hop_topology *t)
{
    struct hop_schedule *lowered = NULL;
    CHECK(hop_schedule_lower(s, t, &lowered, D));
    return lowered;
}

static bool waits(const uint32_t *list, uint32_t count, uint32_t index)
{
    for (uint32_t i = 0; i < count; i++) {
        if (list[i] == index)
            return true;
    }
    return false;
}

static void a_staged_copy_becomes_packets_through_the_nearest_host(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("cs-storm");
    struct hop_schedule *s =
        parse("a: gpu0 -> gpu9 1MiB\n"
              "c: 5@gpu9:src+1MiB -> 6@gpu2:dst 5MiB at 1ms via staged 2MiB after a after-start a\n"
              "d: gpu1 -> gpu2 1MiB after c\n"
              "e: gpu2 -> gpu3 1MiB after-start c\n");
    struct hop_schedule *l = lower(s, t);
    assert_int_equal(hop_schedule_count(l), 1 + 6 + 2);
    uint64_t read = 0, written = 0;
    uint32_t reads[3], writes[3], read_count = 0, write_count = 0;
    for (uint32_t i = 0; i < hop_schedule_count(l); i++) {
        const struct hop_op *op = hop_schedule_op(l, i);
        assert_true(op->via == HOP_VIA_P2P && op->parent < 4);
        assert_true(i == 0 || op->parent >= hop_schedule_op(l, i - 1)->parent); /* order is kept */
        if (op->parent != 1) {
            assert_string_equal(op->name, hop_schedule_op(s, op->parent)->name);
            continue;
        }
        assert_true(op->kind == HOP_OP_COPY && op->bytes == (read_count + write_count < 4 ? 2 * MIB : MIB));
        if (strcmp(op->to.device, "host1") == 0) { /* gpu9 is on the second socket */
            same_text(op->from.device, "gpu9");
            same_text(op->from.buffer, "src");
            assert_true(op->from.offset_bytes == MIB + read && op->from.rank == 5 && op->at_s == 1e-3);
            read += op->bytes;
            if (read_count > 0)
                assert_true(waits(op->after, op->after_count, reads[read_count - 1]));
            reads[read_count++] = i;
        } else {
            same_text(op->from.device, "host1");
            same_text(op->to.device, "gpu2");
            same_text(op->to.buffer, "dst");
            assert_true(op->to.offset_bytes == written && op->to.rank == 6);
            written += op->bytes;
            assert_true(waits(op->after, op->after_count, reads[write_count]));
            if (write_count > 0)
                assert_true(waits(op->after, op->after_count, writes[write_count - 1]));
            writes[write_count++] = i;
        }
    }
    assert_true(read_count == 3 && write_count == 3 && read == 5 * MIB && written == 5 * MIB);
    const struct hop_op *first = hop_schedule_op(l, reads[0]);
    assert_true(first->after_count == 1 && first->after[0] == 0 && first->after_start_count == 1 &&
                first->after_start[0] == 0);
    const struct hop_op *d = hop_schedule_op(l, hop_schedule_find(l, "d")),
                        *e = hop_schedule_op(l, hop_schedule_find(l, "e"));
    assert_true(d->after_count == 1 && d->after[0] == writes[2]);            /* the end is the last write's */
    assert_true(e->after_start_count == 1 && e->after_start[0] == reads[0]); /* the start is the first read's */
    hop_schedule_destroy(l);
    hop_schedule_destroy(s);
    hop_topology_destroy(t);
}

static void packets_divide_a_copy_exactly(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t2");
    static const struct {
        uint64_t bytes, packet;
        uint32_t packets;
    } rows[] = {{0, 0, 1},  {0, 4, 1},  {1, 0, 1},   {10, 10, 1}, {10, 11, 1},
                {10, 9, 2}, {10, 5, 2}, {10, 1, 10}, {11, 5, 3},  {1 << 20, 1, 1 << 20}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hop_schedule *s = hop_schedule_create("packets");
        struct hop_op op = hop_op_default(HOP_OP_COPY);
        op.from.device = "gpu0";
        op.to.device = "gpu5";
        op.via = HOP_VIA_STAGED;
        op.bytes = rows[i].bytes;
        op.packet_bytes = rows[i].packet;
        (void)hop_schedule_add(s, &op);
        CHECK(hop_schedule_finish(s, &s, D));
        if (rows[i].packets == 1 << 20) { /* the limit itself is slow to check; beyond it is refused */
            hop_schedule_destroy(s);
            continue;
        }
        struct hop_schedule *l = lower(s, t);
        assert_int_equal(hop_schedule_count(l), 2 * rows[i].packets);
        uint64_t sum = 0;
        for (uint32_t k = 0; k < hop_schedule_count(l); k++) {
            assert_true(!rows[i].packet || hop_schedule_op(l, k)->bytes <= rows[i].packet);
            sum += hop_schedule_op(l, k)->bytes;
        }
        assert_int_equal(sum, 2 * rows[i].bytes);
        hop_schedule_destroy(l);
        hop_schedule_destroy(s);
    }
    struct hop_schedule *s = parse("a: gpu0 -> gpu5 1TiB via staged 1"), *l = NULL;
    struct hop_diag diag;
    assert_int_equal(hop_schedule_lower(s, t, &l, &diag), HOP_ERR_LIMIT);
    assert_true(!l && strcmp(diag.place, "x.hop:1:1") == 0);
    hop_schedule_destroy(s);
    hop_topology_destroy(t);
}

static void a_copy_that_ends_in_its_host_memory_is_not_staged(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("cs-storm");
    struct hop_schedule *s =
        parse("a: gpu0 -> host0 1MiB via staged 4\nb: host0 -> gpu3 1MiB via staged\nc: gpu0 -> host1 2 via staged");
    struct hop_schedule *l = lower(s, t);
    assert_int_equal(hop_schedule_op(l, 0)->bytes, MIB);
    assert_int_equal(hop_schedule_op(l, 1)->bytes, MIB);
    assert_int_equal(hop_schedule_count(l), 4); /* the last one goes through the source's */
    same_text(hop_schedule_op(l, 2)->to.device, "host0");
    hop_schedule_destroy(l);
    hop_schedule_destroy(s);
    hop_topology_destroy(t);
}

static void staging_without_host_memory_in_reach_is_refused(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t1");
    struct hop_schedule *s = parse("\n  a: gpu0 -> gpu5 1MiB via staged"), *l = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_schedule_lower(s, t, &l, &diag), HOP_ERR_NO_ROUTE);
    assert_true(!l && strstr(diag.what, "gpu0"));
    assert_string_equal(diag.place, "x.hop:2:6");
    hop_schedule_destroy(s);
    hop_topology_destroy(t);
}

/* Two gpus joined to host memory, but not to each other: over memory links from two domains of accelerators. */
static struct hop_topology *islands(void)
{
    struct hop_topology *t = hop_topology_create("islands");
    static const struct {
        enum hop_node_kind kind;
        const char *name;
    } nodes[] = {{HOP_NODE_GPU, "gpu0"}, {HOP_NODE_HOST, "host0"}, {HOP_NODE_GPU, "gpu1"}, {HOP_NODE_GPU, "gpu2"}};
    for (unsigned i = 0; i < 4; i++) {
        struct hop_node node = hop_node_default(nodes[i].kind, nodes[i].name);
        CHECK(hop_topology_add_node(t, &node, NULL, D));
    }
    static const uint32_t ends[][2] = {{0, 1}, {2, 1}, {0, 3}}; /* gpu0 - host0 - gpu1, gpu0 - gpu2 */
    for (unsigned i = 0; i < 3; i++) {
        struct hop_link link = hop_link_default(HOP_LINK_C2C, ends[i][0], ends[i][1]);
        CHECK(hop_topology_add_link(t, &link, NULL, D));
    }
    CHECK(hop_topology_finish(t, D));
    return t;
}

static void auto_is_p2p_where_there_is_a_route_else_staged(void **state)
{
    (void)state;
    struct hop_topology *t = islands();
    struct hop_schedule *s = parse("a: gpu0 -> gpu2 8 via auto 3\nb: gpu0 -> gpu1 8 via auto 3"), *l = lower(s, t);
    assert_int_equal(hop_schedule_count(l), 1 + 6);
    assert_true(hop_schedule_op(l, 0)->bytes == 8 && hop_schedule_op(l, 1)->bytes == 3 &&
                hop_schedule_op(l, 6)->parent == 1);
    hop_schedule_destroy(l);
    hop_schedule_destroy(s);
    hop_topology_destroy(t);
}

static void names_of_packets_are_unique_whatever_the_originals_are_called(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t2");
    struct hop_schedule *s =
        parse("a: gpu0->gpu5 8 via staged 4; a.r0: gpu0->gpu1 1; a.w1: gpu0->gpu1 1; a.r0_: gpu0->gpu1 1;"
              "a.r0_.r0: gpu1->gpu5 8 via staged");
    struct hop_schedule *l = lower(s, t);
    for (uint32_t i = 0; i < hop_schedule_count(l); i++)
        assert_int_equal(hop_schedule_find(l, hop_schedule_op(l, i)->name), i);
    hop_schedule_destroy(l);
    hop_schedule_destroy(s);
    /* names as long as they may be, alike but at their ends, and with a character of two bytes where they would be cut
     */
    char text[2048], longest[128];
    for (unsigned shift = 0; shift < 2; shift++) {
        size_t length = 0;
        memset(longest, 'n', sizeof longest);
        for (size_t i = 1 + shift; i + 1 < 120; i += 2)
            memcpy(longest + i, "\xc3\xa9", 2);
        longest[125] = '\0';
        for (unsigned i = 0; i < 4; i++)
            length +=
                (size_t)snprintf(text + length, sizeof text - length, "%s%u: gpu0->gpu5 8 via staged 2\n", longest, i);
        s = parse(text);
        l = lower(s, t);
        assert_int_equal(hop_schedule_count(l), 32);
        for (uint32_t i = 0; i < hop_schedule_count(l); i++)
            assert_int_equal(hop_schedule_find(l, hop_schedule_op(l, i)->name), i);
        hop_schedule_destroy(l);
        hop_schedule_destroy(s);
    }
    hop_topology_destroy(t);
}

/* ---- messages ---- */

static const struct hop_op *named(const struct hop_schedule *s, const char *name)
{
    uint32_t index = hop_schedule_find(s, name);
    assert_int_not_equal(index, HOP_NONE);
    return hop_schedule_op(s, index);
}

static void a_message_becomes_a_copy_and_a_work_after_it(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t2");
    struct hop_schedule *s =
        parse("r: receive gpu0 -> gpu5:in 65535 tag 2 after b\n" /* as long as an eager one can be */
              "a: work gpu0 1us\nb: work gpu5 1us\n"
              "s: send gpu0:out+4 -> gpu5 65535 tag 2 at 3us after a\n"
              "u: work gpu0 1us after s\nv: work gpu5 1us after r");
    struct hop_schedule *l = lower(s, t);
    assert_int_equal(hop_schedule_count(l), 6);
    const struct hop_op *copy = named(l, "s"), *taken = named(l, "r");
    assert_true(copy->kind == HOP_OP_COPY && copy->bytes == 65535 && copy->at_s == 3e-6 && copy->parent == 3 &&
                copy->after_count == 1 && copy->after[0] == hop_schedule_find(l, "a"));
    same_text(copy->from.buffer, "out");
    assert_true(taken->kind == HOP_OP_WORK && taken->duration_s == 0 && taken->parent == 0 && taken->after_count == 2);
    same_text(taken->from.device, "gpu5");
    assert_true(waits(taken->after, 2, hop_schedule_find(l, "s")) && waits(taken->after, 2, hop_schedule_find(l, "b")));
    assert_int_equal(named(l, "u")->after[0], hop_schedule_find(l, "s"));
    assert_int_equal(named(l, "v")->after[0], hop_schedule_find(l, "r"));
    hop_schedule_destroy(l);
    hop_schedule_destroy(s);
    hop_topology_destroy(t);
}

static void a_longer_message_waits_for_its_receive(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t2");
    struct hop_schedule *s = parse("s: send gpu0 -> gpu5 65536 after a\na: work gpu0 1us; b: work gpu5 1us\n"
                                   "r: receive gpu0 -> gpu5 65536 after b; x: work gpu5 1s after-start r s");
    struct hop_schedule *l = lower(s, t);
    uint32_t posted = hop_schedule_find(l, "r.p0"), sent = hop_schedule_find(l, "s.p0");
    assert_true(posted != HOP_NONE && sent != HOP_NONE);
    const struct hop_op *mark = hop_schedule_op(l, posted), *copy = named(l, "s"), *taken = named(l, "r");
    assert_true(mark->kind == HOP_OP_WORK && mark->duration_s == 0 && mark->parent == 3 && mark->after_count == 1 &&
                mark->after[0] == hop_schedule_find(l, "b"));
    assert_true(copy->after_count == 2 && waits(copy->after, 2, posted) && waits(copy->after, 2, sent));
    assert_true(taken->after_count == 2 && waits(taken->after, 2, hop_schedule_find(l, "s")) &&
                waits(taken->after, 2, posted));
    const struct hop_op *x = named(l, "x"); /* starts are those of the posting */
    assert_true(x->after_start_count == 2 && x->after_start[0] == posted && x->after_start[1] == sent);
    hop_schedule_destroy(l);
    hop_schedule_destroy(s);
    hop_topology_destroy(t);
}

/* The k-th send meets the k-th receive of the same places and tag, whatever stands between. */
static void messages_match_in_order_by_places_and_tag(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t2");
    for (unsigned round = 0; round < 200; round++) {
        enum { MESSAGES = 40 };
        struct hop_schedule *s = hop_schedule_create("random");
        unsigned sends[3][3][2] = {{{0}}}, receives[3][3][2] = {{{0}}}, count[3][3][2] = {{{0}}};
        for (unsigned m = 0; m < MESSAGES; m++) {
            unsigned from = below(3), to = (from + 1 + below(2)) % 3;
            count[from][to][below(2)]++;
        }
        for (unsigned left = 2 * MESSAGES; left > 0;) {
            unsigned from = below(3), to = (from + 1 + below(2)) % 3, tag = below(2);
            bool send = below(2);
            unsigned *k = send ? &sends[from][to][tag] : &receives[from][to][tag];
            if (*k == count[from][to][tag])
                continue;
            char name[48], a[8], b[8];
            (void)snprintf(a, sizeof a, "gpu%u", from);
            (void)snprintf(b, sizeof b, "gpu%u", to);
            (void)snprintf(name, sizeof name, "%c-%u-%u-%u-%u", send ? 's' : 'r', from, to, tag, (*k)++);
            struct hop_op op = hop_op_default(send ? HOP_OP_SEND : HOP_OP_RECEIVE);
            op.name = name;
            op.from.device = a;
            op.to.device = b;
            op.tag = tag;
            op.bytes = 100;
            (void)hop_schedule_add(s, &op);
            left--;
        }
        CHECK(hop_schedule_finish(s, &s, D));
        struct hop_schedule *l = lower(s, t);
        unsigned seen = 0;
        for (uint32_t i = 0; i < hop_schedule_count(l); i++) {
            const struct hop_op *op = hop_schedule_op(l, i);
            if (op->name[0] != 'r')
                continue;
            assert_int_equal(op->after_count, 1);
            assert_string_equal(op->name + 1, hop_schedule_op(l, op->after[0])->name + 1);
            seen++;
        }
        assert_int_equal(seen, MESSAGES);
        hop_schedule_destroy(l);
        hop_schedule_destroy(s);
    }
    hop_topology_destroy(t);
}

static void not_lowered(const char *place, const char *words, const char *text)
{
    struct hop_topology *t = load_topology("t2");
    struct hop_schedule *s = parse(text), *l = NULL;
    struct hop_diag diag = {0};
    assert_int_not_equal(hop_schedule_lower(s, t, &l, &diag), HOP_OK);
    assert_null(l);
    if (!strstr(diag.what, words) && !strstr(diag.expected, words))
        fail_msg("'%s' neither in '%s' nor in '%s'", words, diag.what, diag.expected);
    assert_string_equal(diag.place, place);
    hop_schedule_destroy(s);
    hop_topology_destroy(t);
}

static void messages_without_a_partner_are_refused(void **state)
{
    (void)state;
    not_lowered("x.hop:1:1", "no receive matches 's', a send from gpu0 to gpu1", "s: send gpu0 -> gpu1 4KiB");
    not_lowered("x.hop:1:1", "from any source", "s: send gpu0 -> gpu1 4KiB; r: receive * -> gpu1 4KiB");
    not_lowered("x.hop:1:1", "receive gpu0 -> gpu1 4KiB tag 2",
                "s: send gpu0 -> gpu1 4KiB tag 2\nreceive gpu0 -> gpu1 4KiB tag 1");
    not_lowered("x.hop:3:1", "no send matches 'q'",
                "s: send gpu0 -> gpu1 4\nr: receive gpu0 -> gpu1 4\nq: receive gpu0 -> gpu1 4");
    not_lowered("x.hop:1:1", "no receive matches 's'", "s: send gpu0 -> gpu1 4\nr: receive gpu1 -> gpu0 4");
    not_lowered("x.hop:1:1", "no receive matches 's'", "s: send 1@gpu0 -> 2@gpu1 4\nr: receive 1@gpu0 -> 3@gpu1 4");
    not_lowered("x.hop:1:1", "'s' sends 4B, but its receive 'r' takes 5B",
                "s: send gpu0 -> gpu1 4\nr: receive gpu0 -> gpu1 5");
}

/* Two ranks that both send first: eager messages pass, rendezvous wait for each other. */
static void sends_that_wait_for_each_other_are_a_deadlock(void **state)
{
    (void)state;
    char text[400];
    static const char format[] = "s: send gpu0 -> gpu1 %s\nr: receive gpu1 -> gpu0 %s after s\n"
                                 "S: send gpu1 -> gpu0 %s\nR: receive gpu0 -> gpu1 %s after S\n";
    (void)snprintf(text, sizeof text, format, "65536", "65536", "65536", "65536");
    not_lowered("x.hop:1:1", "s waits for R", text);
    (void)snprintf(text, sizeof text, format, "65535", "65535", "65535", "65535");
    struct hop_topology *t = load_topology("t2");
    struct hop_schedule *s = parse(text), *l = lower(s, t);
    assert_int_equal(hop_schedule_count(l), 4);
    hop_schedule_destroy(l);
    hop_schedule_destroy(s);
    hop_topology_destroy(t);
}

/* By brute force: whenever a name is looked for, while operations are added and after, it is the one that bears it. */
static void names_are_found_at_any_time(void **state)
{
    static const char *const names[] = {"a", NULL, "t1", "t3", NULL, "t4", "t4_", NULL, "t99", "t10", NULL, "t"};
    enum { COUNT = sizeof names / sizeof names[0] };
    (void)state;
    for (uint32_t first = 0; first <= COUNT; first++) { /* nothing is looked for before so many are there */
        struct hop_schedule *s = hop_schedule_create("s");
        for (uint32_t i = 0; i < COUNT; i++) {
            struct hop_op op = hop_op_default(HOP_OP_COPY);
            op.name = names[i];
            op.from.device = "gpu0";
            op.to.device = "gpu1";
            (void)hop_schedule_add(s, &op);
            for (uint32_t k = 0; k < COUNT && i + 1 >= first; k++) {
                if (names[k])
                    assert_int_equal(hop_schedule_find(s, names[k]), k <= i ? k : HOP_NONE);
            }
        }
        CHECK(hop_schedule_finish(s, &s, D));
        for (uint32_t i = 0; i < COUNT; i++) {
            const char *name = hop_schedule_op(s, i)->name;
            assert_int_equal(hop_schedule_find(s, name), i);
            assert_true(!names[i] || strcmp(names[i], name) == 0);
        }
        assert_int_equal(hop_schedule_find(s, "t1_"), 1);
        assert_int_equal(hop_schedule_find(s, "t4__"), 4);
        assert_int_equal(hop_schedule_find(s, "t7"), 7);
        assert_int_equal(hop_schedule_find(s, "t10_"), 10);
        assert_int_equal(hop_schedule_find(s, "t2"), HOP_NONE);
        hop_schedule_destroy(s);
    }
}

struct pieces {
    struct hop_buffer text;
    uint32_t count, most;
};

static bool take_piece(void *context, const char *text, size_t size)
{
    struct pieces *pieces = context;
    hop_buffer_add(&pieces->text, text, size);
    return ++pieces->count < pieces->most;
}

/* Together they are the text; who has enough is given no more. */
static void a_long_text_is_written_in_pieces(void **state)
{
    (void)state;
    struct hop_schedule *s = hop_schedule_create("long");
    for (uint32_t i = 0; i < 100000; i++)
        (void)hop_schedule_copy(s, "gpu0", "gpu1", i, &(uint32_t){i - 1}, i > 0);
    CHECK(hop_schedule_finish(s, &s, D));
    struct pieces all = {.most = UINT32_MAX}, some = {.most = 2};
    assert_true(hop_schedule_write_text(s, take_piece, &all));
    assert_false(hop_schedule_write_text(s, take_piece, &some));
    assert_true(all.count > 2 && some.count == 2);
    char *text = hop_schedule_to_text(s);
    assert_string_equal(text, all.text.text);
    assert_memory_equal(text, some.text.text, some.text.length);
    free(text);
    hop_buffer_finish(&all.text);
    hop_buffer_finish(&some.text);
    hop_schedule_destroy(s);
}

/* 350 bytes each; the limit that is lower is told. */
static void more_operations_than_memory_holds_are_refused(void **state)
{
    (void)state;
    struct rlimit before, few = {3500000, RLIM_INFINITY};
    struct hop_diag diag = {0};
    assert_int_equal(hop_schedule_check_count("x", false, 1000, 1000, &diag), HOP_OK);
    assert_int_equal(hop_schedule_check_count("x", false, 1001, 1000, &diag), HOP_ERR_LIMIT);
    assert_string_equal(diag.what, "x would have 1001 operations");
    assert_string_equal(diag.expected, "at most 1000");
    assert_int_equal(getrlimit(RLIMIT_AS, &before), 0);
    few.rlim_max = before.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_AS, &few), 0); /* nothing is allocated meanwhile */
    enum hop_status fits = hop_schedule_check_count("x", true, 10000, 1 << 20, NULL);
    enum hop_status refused = hop_schedule_check_count("x", true, UINT64_MAX, 1 << 20, &diag);
    assert_int_equal(setrlimit(RLIMIT_AS, &before), 0);
    assert_int_equal(fits, HOP_OK);
    assert_int_equal(refused, HOP_ERR_LIMIT);
    assert_string_equal(diag.what, "x would have at least 18446744073709551615 operations");
    assert_string_equal(diag.expected, "at most 10000 in 0.00326 GiB of memory");
}

/* Two copies for each packet: told before they are made. */
static void copies_in_too_many_packets_together_are_refused(void **state)
{
    (void)state;
    struct hop_topology *t;
    struct hop_schedule *schedule = hop_schedule_create("many"), *finished, *lowered;
    struct hop_diag diag = {0};
    CHECK(hop_topology_load("t2", &t, D));
    for (int i = 0; i < 40; i++) {
        struct hop_op op = hop_op_default(HOP_OP_COPY);
        char name[16];
        (void)snprintf(name, sizeof name, "c%d", i);
        op.name = name;
        op.from.device = "gpu0";
        op.to.device = "gpu1";
        op.bytes = UINT64_C(1) << 40;
        op.via = HOP_VIA_STAGED;
        op.packet_bytes = 1 << 20;
        (void)hop_schedule_add(schedule, &op);
    }
    CHECK(hop_schedule_finish(schedule, &finished, D));
    assert_int_equal(hop_schedule_lower(finished, t, &lowered, &diag), HOP_ERR_LIMIT);
    assert_string_equal(diag.what, "many would have at least 83886080 operations");
    hop_schedule_destroy(finished);
    hop_topology_destroy(t);
}

TEST_GROUP(schedule)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_is_read),
        cmocka_unit_test(messages_are_read),
        cmocka_unit_test(the_words_of_messages_stay_names),
        cmocka_unit_test(messages_that_make_no_sense_are_refused),
        cmocka_unit_test(performers_that_make_no_sense_are_refused),
        cmocka_unit_test(outputs_that_could_not_be_read_back_are_refused),
        cmocka_unit_test(performers_and_outputs_are_read),
        cmocka_unit_test(queue_lines_are_read),
        cmocka_unit_test(queue_lines_and_empty_texts_are_read),
        cmocka_unit_test(names_may_hold_what_the_syntax_does_not_need),
        cmocka_unit_test(syntax_errors_are_named_by_line_and_column),
        cmocka_unit_test(operations_that_make_no_sense_are_refused),
        cmocka_unit_test(unknown_dependencies_are_named_with_the_nearest),
        cmocka_unit_test(cycles_are_named_in_full),
        cmocka_unit_test(the_first_failure_sticks),
        cmocka_unit_test(building_refuses_what_the_text_could_not_say),
        cmocka_unit_test(chosen_names_avoid_given_ones),
        cmocka_unit_test(printing_and_parsing_again_gives_the_same_schedule),
        cmocka_unit_test(what_an_operation_has_no_use_for_does_not_break_the_round_trip),
        cmocka_unit_test(a_staged_copy_becomes_packets_through_the_nearest_host),
        cmocka_unit_test(packets_divide_a_copy_exactly),
        cmocka_unit_test(a_copy_that_ends_in_its_host_memory_is_not_staged),
        cmocka_unit_test(staging_without_host_memory_in_reach_is_refused),
        cmocka_unit_test(auto_is_p2p_where_there_is_a_route_else_staged),
        cmocka_unit_test(names_of_packets_are_unique_whatever_the_originals_are_called),
        cmocka_unit_test(a_message_becomes_a_copy_and_a_work_after_it),
        cmocka_unit_test(a_longer_message_waits_for_its_receive),
        cmocka_unit_test(messages_match_in_order_by_places_and_tag),
        cmocka_unit_test(messages_without_a_partner_are_refused),
        cmocka_unit_test(sends_that_wait_for_each_other_are_a_deadlock),
        cmocka_unit_test(names_are_found_at_any_time),
        cmocka_unit_test(a_long_text_is_written_in_pieces),
        cmocka_unit_test(more_operations_than_memory_holds_are_refused),
        cmocka_unit_test(copies_in_too_many_packets_together_are_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
