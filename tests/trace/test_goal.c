/* SPDX-License-Identifier: BSD-3-Clause */
/* GOAL: read, its errors by line and column, written and read back, and messages under the fluid models against
 * closed forms. */
#include "hopcast/placement.h"
#include "hopcast/schedule.h"
#include "hopcast/simulate.h"
#include "hopcast/timeline.h"
#include "test.h"

#include <math.h>

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *s = NULL;
    struct hop_diag diag = {0};
    if (hop_schedule_parse("x.goal", text, strlen(text), &s, &diag) != HOP_OK)
        fail_msg("%s: %s (%s)\n%s", diag.place, diag.what, diag.expected, text);
    return s;
}

/* What the text says, as .hop. */
static void reads_as(const char *goal, const char *hop)
{
    struct hop_schedule *s = parse(goal);
    char *text = hop_schedule_to_text(s);
    assert_string_equal(text, hop);
    free(text);
    hop_schedule_destroy(s);
}

static char *write_goal(const struct hop_schedule *s, double reduce_rate)
{
    char *text = NULL;
    CHECK(hop_schedule_to_goal(s, reduce_rate, &text, D));
    return text;
}

/* ---- reading ---- */

static void every_construct_is_read(void **state)
{
    (void)state;
    reads_as("/* two\n ranks */ num_ranks 2 // so it is\n"
             "rank 0 {\r\n"
             "l1: calc 100 cpu 1\n"
             "  l2 : send 4096b to 1 tag 7 cpu 2 nic 3\n"
             "\tl2 requires l1 /* and */ l3: recv 8 b from 1 nic 1 tag 2\n"
             "l3 irequires l2\n"
             "l2 irequires l4\n" /* named before it is there */
             "send 0b to 1 l4:calc 0\n"
             "}\n"
             "rank 1 { requires: recv 4096 from 0 tag 7 to: calc 123456789 requires requires to\n"
             "to2: send 8b to 0 tag 2\nto2 requires to to2 requires requires calc 5 }",
             "queue ready\n"
             "r0.l1: work rank0 100ns cpu 1\n"
             "r0.l2: send rank0 -> rank1 4KiB tag 7 cpu 2 nic 3 after r0.l1 after-start r0.l4\n"
             "r0.l3: receive rank1 -> rank0 8B tag 2 nic 1 after-start r0.l2\n"
             "t3: send rank0 -> rank1 0B\n"
             "r0.l4: work rank0 0s\n"
             "r1.requires: receive rank0 -> rank1 4KiB tag 7 after r1.to\n"
             "r1.to: work rank1 123.456789ms\n"
             "r1.to2: send rank1 -> rank0 8B tag 2 after r1.to r1.requires\n"
             "t8: work rank1 5ns\n");
}

static void ranks_stand_in_any_order_and_may_be_empty(void **state)
{
    (void)state;
    reads_as("num_ranks 3 rank 2 { a: send 1b to 0 } rank 0 { a: recv 1b from 2 } rank 1 {}",
             "queue ready\nr2.a: send rank2 -> rank0 1B\nr0.a: receive rank2 -> rank0 1B\nr1.idle: work rank1 0s\n");
    struct hop_schedule *s = parse("num_ranks 1\nrank 0 {\n}\n");
    assert_true(hop_schedule_count(s) == 1 && hop_schedule_queue_ready(s) && hop_schedule_ranks(s) == 1);
    hop_schedule_destroy(s);
}

static void any_source_and_any_tag_are_read_and_written(void **state)
{
    (void)state;
    static const char text[] = "num_ranks 2\n"
                               "rank 0 {\n"
                               "a: recv 8b from -1\n"
                               "b: recv 8b from 1 tag -1 cpu 1\n"
                               "c: recv 8b from -1 tag -1 nic 2\n"
                               "}\n"
                               "rank 1 {\n"
                               "}\n";
    reads_as(text, "queue ready\n"
                   "r0.a: receive * -> rank0 8B\n"
                   "r0.b: receive rank1 -> rank0 8B tag * cpu 1\n"
                   "r0.c: receive * -> rank0 8B tag * nic 2\n"
                   "r1.idle: work rank1 0s\n");
    struct hop_schedule *s = parse(text);
    char *written = write_goal(s, 0);
    assert_string_equal(written, text);
    free(written);
    hop_schedule_destroy(s);
}

static void labels_belong_to_their_rank(void **state)
{
    (void)state;
    char text[40000];
    size_t length = (size_t)snprintf(text, sizeof text, "num_ranks 20\n");
    for (unsigned r = 0; r < 20; r++) { /* more labels than the table begins with, others in every rank */
        length += (size_t)snprintf(text + length, sizeof text - length, "rank %u {\n", r);
        for (unsigned i = 0; i < 10 + 20 * (r % 3); i++)
            length += (size_t)snprintf(text + length, sizeof text - length, "l%u: calc %u\n", i * (r + 1), i);
        length += (size_t)snprintf(text + length, sizeof text - length, "l%u requires l%u\n}\n", r + 1, 3 * (r + 1));
    }
    struct hop_schedule *s = parse(text);
    for (unsigned r = 0; r < 20; r++) {
        char name[32];
        (void)snprintf(name, sizeof name, "r%u.l%u", r, r + 1);
        uint32_t index = hop_schedule_find(s, name);
        assert_int_not_equal(index, HOP_NONE);
        const struct hop_op *op = hop_schedule_op(s, index);
        assert_true(op->after_count == 1 && op->from.rank == (int32_t)r);
        assert_true(hop_schedule_op(s, op->after[0])->duration_s == 3e-9);
        assert_int_equal(hop_schedule_op(s, op->after[0])->from.rank, r);
    }
    hop_schedule_destroy(s);
}

static void refused(enum hop_status code, const char *place, const char *words, const char *text)
{
    struct hop_schedule *s = NULL;
    struct hop_diag diag = {0};
    enum hop_status status = hop_schedule_parse("x.goal", text, strlen(text), &s, &diag);
    if (status != code || strcmp(diag.place, place) != 0 ||
        (!strstr(diag.what, words) && !strstr(diag.expected, words)))
        fail_msg("'%s': %d at %s: %s (%s)", text, (int)status, diag.place, diag.what, diag.expected);
    assert_null(s);
}

static void errors_are_named_by_line_and_column(void **state)
{
    (void)state;
    refused(HOP_ERR_SYNTAX, "x.goal:1:11", "number of ranks", "num_ranks x");
    refused(HOP_ERR_SYNTAX, "x.goal:1:11", "at least one rank", "num_ranks 0");
    refused(HOP_ERR_LIMIT, "x.goal:1:11", "1048576", "num_ranks 1048577");
    refused(HOP_ERR_LIMIT, "x.goal:1:11", "1048576", "num_ranks 99999999999999999999999");
    refused(HOP_ERR_SYNTAX, "x.goal:2:1", "rank N {", "num_ranks 1\ncalc 5");
    refused(HOP_ERR_SYNTAX, "x.goal:2:8", "unexpected 'calc'", "num_ranks 1\nrank 0 calc 5 }");
    refused(HOP_ERR_LIMIT, "x.goal:2:6", "up to 0", "num_ranks 1\nrank 1 {}");
    refused(HOP_ERR_INVALID, "x.goal:3:6", "two blocks of rank 0", "num_ranks 2\nrank 0 {}\nrank 0 {}");
    refused(HOP_ERR_INVALID, "x.goal:3:1", "no block of rank 1", "num_ranks 2\nrank 0 {}\n");
    refused(HOP_ERR_SYNTAX, "x.goal:3:1", "ends too early", "num_ranks 1\nrank 0 { calc 5\n");
    refused(HOP_ERR_SYNTAX, "x.goal:1:22", "ends too early", "num_ranks 1 rank 0 { ");
    refused(HOP_ERR_SYNTAX, "x.goal:2:3", "never closed", "num_ranks 1 rank 0 {\n  /* for ever }\n");
    refused(HOP_ERR_SYNTAX, "x.goal:2:4", "never closed", "num_ranks 1 rank 0 {\na: /* for ever }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:6", "never closed", "num_ranks 1 rank 0 {\ncalc /* for ever }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:8", "never closed", "num_ranks 1 rank 0 {\ncalc 5 /* for ever }");
    refused(HOP_ERR_SYNTAX, "x.goal:3:1", "never closed", "num_ranks 2 rank 0 {\n}\n/*/ rank 1 { }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:2", "'calk' is no operation", "num_ranks 1 rank 0 {\n calk 5 }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:4", "calc, send or recv", "num_ranks 1 rank 0 {\na: calk 5 }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:6", "a time in ns", "num_ranks 1 rank 0 {\ncalc -5 }");
    refused(HOP_ERR_LIMIT, "x.goal:2:6", "9007199254740992", "num_ranks 1 rank 0 {\ncalc 9007199254740993 }");
    refused(HOP_ERR_LIMIT, "x.goal:2:6", "a size in bytes is too large",
            "num_ranks 2 rank 0 {\nsend 1152921504606846977b to 1 }");
    refused(HOP_ERR_LIMIT, "x.goal:2:12", "a rank is too large", "num_ranks 2 rank 0 {\nsend 1b to 2 }");
    refused(HOP_ERR_LIMIT, "x.goal:2:18", "a tag is too large", "num_ranks 2 rank 0 {\nsend 1b to 1 tag 4294967296 }");
    refused(HOP_ERR_LIMIT, "x.goal:2:18", "a cpu is too large", "num_ranks 2 rank 0 {\nsend 1b to 1 cpu 65536 }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:7", "bytes, as in 4096b", "num_ranks 2 rank 0 {\nsend 1kb to 1 }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:9", "to RANK", "num_ranks 2 rank 0 {\nsend 1b from 1 }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:9", "from RANK", "num_ranks 2 rank 0 {\nrecv 1b to 1 }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:20", "'tag' is no operation", "num_ranks 2 rank 0 {\nsend 1b to 1 tag 1 tag 2 }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:8", "'nic' is no operation", "num_ranks 1 rank 0 {\ncalc 5 nic 1 }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:12", "a rank", "num_ranks 2 rank 0 {\nsend 1b to -1 }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:14", "a rank", "num_ranks 2 rank 0 {\nrecv 1b from -2 }");
    refused(HOP_ERR_SYNTAX, "x.goal:2:18", "a tag", "num_ranks 2 rank 0 {\nsend 1b to 1 tag -1 }");
    refused(HOP_ERR_NOT_FOUND, "x.goal:3:13", "rank 0 has no label 'b'",
            "num_ranks 2 rank 0 { a: calc 1\n\n a requires b }\nrank 1 { b: calc 1 }");
    refused(HOP_ERR_NOT_FOUND, "x.goal:2:1", "rank 0 has no label 'a'",
            "num_ranks 1 rank 0 {\na requires b a: calc 1 b: calc 2 }");
    refused(HOP_ERR_INVALID, "x.goal:3:2", "the first is in line 2", "num_ranks 1 rank 0 {\na: calc 1\n a: calc 2 }");
    refused(HOP_ERR_DEADLOCK, "x.goal:2:1", "r0.a waits for r0.b waits for r0.a",
            "num_ranks 1 rank 0 {\na: calc 1\nb: calc 2\na requires b\nb irequires a }");
    char text[200];
    (void)snprintf(text, sizeof text, "num_ranks 1 rank 0 {\n%0101d", 0);
    memset(text + 21, 'n', 101);
    strcat(text, ": calc 5 }");
    refused(HOP_ERR_LIMIT, "x.goal:2:1", "up to 100", text);
}

/* Every beginning of a text is refused or read; the whole is read. */
static void truncated_texts_are_refused(void **state)
{
    (void)state;
    static const char whole[] = "num_ranks 1\nrank 0 { a: calc 5 cpu 1 b: calc 6 b requires a }";
    for (size_t size = 10; size < sizeof whole - 1; size++) {
        struct hop_schedule *s = NULL;
        struct hop_diag diag = {0};
        assert_int_not_equal(hop_schedule_parse("x.goal", whole, size, &s, &diag), HOP_OK);
        assert_true(!s && strncmp(diag.place, "x.goal:", 7) == 0);
    }
    hop_schedule_destroy(parse(whole));
}

/* ---- writing ---- */

static void what_was_read_is_written_again(void **state)
{
    (void)state;
    static const char text[] = "num_ranks 3\n"
                               "rank 0 {\n"
                               "a: send 1000b to 2 tag 4294967295 cpu 1 nic 2\n"
                               "calc 17\n"
                               "b: recv 0b from 2\n"
                               "b requires a\n"
                               "b irequires a\n"
                               "}\n"
                               "rank 1 {\n"
                               "}\n"
                               "rank 2 {\n"
                               "x: send 0b to 0\n"
                               "y: recv 1000b from 0 tag 4294967295\n"
                               "x requires y\n"
                               "}\n";
    struct hop_schedule *s = parse(text);
    char *written = write_goal(s, 0);
    assert_string_equal(written, text); /* x waits for what stands below it: said after both */
    free(written);
    hop_schedule_destroy(s);
}

/* A random program: labels or not, dependencies in any direction that makes no cycle. */
static void random_program(struct hop_schedule **schedule)
{
    static char text[1 << 20];
    unsigned ranks = 1 + random_below(6);
    size_t length = (size_t)snprintf(text, sizeof text, "num_ranks %u\n", ranks);
    for (unsigned r = 0; r < ranks; r++) {
        unsigned count = random_below(40), height[40];
        bool labelled[40];
        length += (size_t)snprintf(text + length, sizeof text - length, "rank %u {\n", r);
        for (unsigned i = 0; i < count; i++) {
            height[i] = random_below(1000);
            labelled[i] = random_below(4) > 0;
            if (labelled[i])
                length += (size_t)snprintf(text + length, sizeof text - length, "l%u: ", i);
            unsigned kind = random_below(3);
            if (kind == 0)
                length += (size_t)snprintf(text + length, sizeof text - length, "calc %llu",
                                           (unsigned long long)random_below(1u << 31) * random_below(1000));
            else
                length +=
                    (size_t)snprintf(text + length, sizeof text - length, "%s %ub %s %u", kind == 1 ? "send" : "recv",
                                     random_below(1u << 31), kind == 1 ? "to" : "from", random_below(ranks));
            if (kind == 2 && random_below(3) == 0) /* the last word: any source */
                length = (size_t)(strrchr(text, ' ') - text) + (size_t)snprintf(strrchr(text, ' '), 8, " -1");
            if (kind == 2 && random_below(3) == 0)
                length += (size_t)snprintf(text + length, sizeof text - length, " tag -1");
            else if (kind && random_below(2))
                length += (size_t)snprintf(text + length, sizeof text - length, " tag %u", random_below(UINT32_MAX));
            if (random_below(2))
                length += (size_t)snprintf(text + length, sizeof text - length, " cpu %u", random_below(4));
            length += (size_t)snprintf(text + length, sizeof text - length, "\n");
        }
        for (unsigned d = 0; count && d < 60; d++) {
            unsigned a = random_below(count), b = random_below(count);
            if (labelled[a] && labelled[b] && height[a] > height[b])
                length += (size_t)snprintf(text + length, sizeof text - length, "l%u %srequires l%u\n", a,
                                           random_below(2) ? "i" : "", b);
        }
        length += (size_t)snprintf(text + length, sizeof text - length, "}\n");
    }
    *schedule = parse(text);
}

static void random_programs_survive_goal_text_and_json(void **state)
{
    (void)state;
    unsigned operations = 0;
    for (unsigned round = 0; round < 300; round++) {
        struct hop_schedule *s, *again;
        random_program(&s);
        operations += hop_schedule_count(s);
        char *text = hop_schedule_to_text(s);
        for (unsigned form = 0; form < 3; form++) {
            char *written = form == 0   ? write_goal(s, 0)
                            : form == 1 ? hop_schedule_to_text(s)
                                        : hop_schedule_to_json(s);
            CHECK(hop_schedule_parse("again", written, strlen(written), &again, D));
            char *same = hop_schedule_to_text(again);
            assert_string_equal(same, text);
            free(same);
            free(written);
            hop_schedule_destroy(again);
        }
        free(text);
        hop_schedule_destroy(s);
    }
    assert_true(operations > 3000);
}

static void copies_become_a_send_and_a_receive(void **state)
{
    (void)state;
    struct hop_schedule *s = parse("a: gpu0 -> gpu1 1MiB\n"
                                   "w: work gpu1 3.4ns after a\n"
                                   "b: gpu1 -> gpu2 1KiB after w a after-start w\n"
                                   "s: send gpu0 -> gpu1 4B tag 3 after z\n"
                                   "z: work gpu0 12ns cpu 2\n"
                                   "r: receive gpu0 -> gpu1 4B tag 3 nic 1\n"
                                   "q: reduce sum f32 gpu2:x gpu2:y -> gpu2:x 1000B after b");
    char *text = write_goal(s, 1e9);
    assert_string_equal(text, "num_ranks 3\n"
                              "rank 0 {\n"
                              "a: send 1048576b to 1 tag 4\n"
                              "s: send 4b to 1 tag 3\n"
                              "z: calc 12 cpu 2\n"
                              "s requires z\n"
                              "}\n"
                              "rank 1 {\n"
                              "ar: recv 1048576b from 0 tag 4\n"
                              "w: calc 3 // rounded from 3.4ns\n"
                              "w requires ar\n"
                              "b: send 1024b to 2 tag 4\n"
                              "b requires w\n"
                              "b requires ar\n"
                              "b irequires w\n"
                              "r: recv 4b from 0 tag 3 nic 1\n"
                              "}\n"
                              "rank 2 {\n"
                              "br: recv 1024b from 1 tag 4\n"
                              "q: calc 3000\n"
                              "q requires br\n"
                              "}\n");
    free(text);
    hop_schedule_destroy(s);
}

static void writes_as(const char *hop, const char *goal)
{
    struct hop_schedule *s = parse(hop);
    char *text = write_goal(s, 3e9);
    assert_string_equal(text, goal);
    hop_schedule_destroy(parse(text));
    free(text);
    hop_schedule_destroy(s);
}

/* Where a name is no label, the operation's number is; where a label were there twice, numbers are everywhere. */
static void names_are_labels_where_they_can_be(void **state)
{
    (void)state;
    writes_as("x.y: work gpu0 1ns; cpu: work gpu0 2ns after x.y; ok: work gpu0 3ns; work gpu0 4ns",
              "num_ranks 1\nrank 0 {\nl0: calc 1\nl1: calc 2\nl1 requires l0\nok: calc 3\nt3: calc 4\n}\n");
    writes_as("a: gpu0 -> gpu1 1; ar: work gpu1 1ns after a",
              "num_ranks 2\nrank 0 {\nl0: send 1b to 1\n}\n"
              "rank 1 {\nl0r: recv 1b from 0\nl1: calc 1\nl1 requires l0r\n}\n");
    writes_as("x-y: work gpu0 1ns; l0: work gpu0 2ns", "num_ranks 1\nrank 0 {\nl0: calc 1\nl1: calc 2\n}\n");
}

static void what_is_rounded_is_said(void **state)
{
    (void)state;
    writes_as("a: work gpu0 1.5ns cpu 1; b: work gpu0 123.456789ms; c: work gpu0 0.25ns after a; d: work gpu0 0s",
              "num_ranks 1\nrank 0 {\na: calc 2 cpu 1 // rounded from 1.5ns\nb: calc 123456789\n"
              "c: calc 0 // rounded from 0.25ns\nc requires a\nd: calc 0\n}\n");
    for (unsigned i = 0; i < 2000; i++) { /* whole numbers of ns, however large, are none of these */
        char hop[64];
        (void)snprintf(hop, sizeof hop, "a: work gpu0 %llu.%09us", (unsigned long long)random_below(1u << (i % 20)),
                       random_below(1000000000));
        struct hop_schedule *s = parse(hop);
        char *text = write_goal(s, 0);
        assert_null(strstr(text, "rounded"));
        free(text);
        hop_schedule_destroy(s);
    }
}

/* A calc of all that is read and written, at 1 GB/s; who performs it is not said. Ranks decide what is within one. */
static void what_stays_within_a_rank_is_calculation(void **state)
{
    (void)state;
    struct hop_schedule *s = parse("r: reduce sum f32 0@gpu0:x 1@gpu0:x -> 0@gpu0:y 1@gpu0:y 1000B by 0\n"
                                   "a: 0@gpu0:x -> 0@gpu0:y 500B after r\nb: 0@gpu0 -> 1@gpu0 7B by 1 after a");
    char *text = write_goal(s, 1e9);
    assert_string_equal(text, "num_ranks 2\nrank 0 {\nr: calc 4000\na: calc 1000\na requires r\n"
                              "b: send 7b to 1\nb requires a\n}\nrank 1 {\nbr: recv 7b from 0\n}\n");
    free(text);
    hop_schedule_destroy(s);
    s = parse("a: gpu1:x -> gpu1:y 500B\nb: 0@gpu1 -> 1@gpu1 7B after a"); /* not all have ranks: devices are */
    text = write_goal(s, 1e9);
    assert_string_equal(text, "num_ranks 1\nrank 0 {\na: calc 1000\nb: calc 14\nb requires a\n}\n");
    free(text);
    hop_schedule_destroy(s);
}

static void not_written(const char *place, const char *words, const char *text)
{
    struct hop_schedule *s = parse(text);
    struct hop_diag diag = {0};
    char *written = NULL;
    assert_int_not_equal(hop_schedule_to_goal(s, 0, &written, &diag), HOP_OK);
    assert_null(written);
    assert_string_equal(diag.place, place);
    if (!strstr(diag.what, words) && !strstr(diag.expected, words))
        fail_msg("'%s' neither in '%s' nor in '%s'", words, diag.what, diag.expected);
    hop_schedule_destroy(s);
}

static void what_goal_cannot_say_is_refused(void **state)
{
    (void)state;
    not_written("x.goal:1:4", "'a' has an earliest start", "a: gpu0 -> gpu1 1 at 1s");
    not_written("x.goal:1:9", "longer than a calc can", "a: work gpu0 1e8s");
    not_written("x.goal:1:4", "'a' is staged", "a: gpu0 -> gpu1 1 via staged");
    not_written("x.goal:1:19", "reduce_rate", "a: reduce sum f32 gpu0:x gpu0:y -> gpu0:x 4");
    not_written("x.goal:1:4", "'a' is a copy within a rank", "a: gpu0:x -> gpu0:y 4");
    not_written("x.goal:1:22", "'b' is staged", "a: work gpu1 1ns; b: gpu0 -> gpu1 1 via staged");
    not_written("x.goal:2:4", "'b' waits for the end of 'a', which is on another rank",
                "a: gpu0 -> gpu1 1\nb: gpu2 -> gpu1 1 after a");
    not_written("x.goal:2:4", "'b' waits for the start of 'a'", "a: gpu0 -> gpu1 1\nb: gpu1 -> gpu2 1 after-start a");
    not_written("x.goal:1:4", "no tag is left for the copy 'c'",
                "c: gpu0 -> gpu1 1; send gpu0 -> gpu1 1 tag 4294967295");
    not_written("x.goal", "ranks", "a: 999999999@gpu0 -> 0@gpu1 1");
}

/* ---- messages under a fluid model ---- */

#define RATE (300.0 * 1048576 / 25.2829e-3) /* of every link of t2, bytes/s */

static struct hop_timeline *predict_by(const char *model, const char *text, double eager, struct hop_network **network)
{
    struct hop_topology *t = load_topology("t2");
    struct hop_placement *p = NULL;
    struct hop_schedule *s = parse(text), *placed = NULL;
    struct hop_timeline *timeline = NULL;
    char set[64];
    (void)snprintf(set, sizeof set, "loggp_S=%.0f", eager);
    CHECK(hop_topology_set(t, set, D));
    CHECK(hop_placement_make(t, 8, HOP_PLACEMENT_PACKED, &p, D));
    CHECK(hop_placement_apply(p, s, &placed, D));
    CHECK(hop_network_create(t, model, network, D));
    CHECK(hop_simulate(*network, placed, NULL, &timeline, D));
    hop_placement_destroy(p);
    hop_schedule_destroy(s);
    return timeline; /* leaks nothing: forget() below takes the rest */
}

static struct hop_timeline *predict(const char *text, double eager, struct hop_network **network)
{
    return predict_by("fair", text, eager, network);
}

static void forget(struct hop_timeline *timeline, struct hop_network *network)
{
    struct hop_schedule *placed = (struct hop_schedule *)(uintptr_t)hop_timeline_original(timeline);
    struct hop_topology *t = (struct hop_topology *)(uintptr_t)hop_timeline_topology(timeline);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(placed);
    hop_topology_destroy(t);
}

static double end_of(const struct hop_timeline *timeline, const char *name)
{
    uint32_t index = hop_schedule_find(hop_timeline_schedule(timeline), name);
    assert_int_not_equal(index, HOP_NONE);
    return hop_timeline_span(timeline, index).end_s;
}

static void close_to(double a, double b)
{
    if (fabs(a - b) > 1e-9 * fabs(b) + 1e-15)
        fail_msg("%.15g is not %.15g", a, b);
}

/* Back and forth between two ranks: as many times the time of one message. */
static void ping_pong_takes_the_sum_of_its_messages(void **state)
{
    (void)state;
    char ping[4000] = "rank 0 {\n", pong[4000] = "rank 1 {\n", text[8100];
    enum { ROUNDS = 10, BYTES = 1000000 };
    for (unsigned i = 0; i < ROUNDS; i++) {
        size_t a = strlen(ping), b = strlen(pong);
        (void)snprintf(ping + a, sizeof ping - a, "s%u: send %ub to 1\nr%u: recv %ub from 1\nr%u requires s%u\n", i,
                       BYTES, i, BYTES, i, i);
        (void)snprintf(pong + b, sizeof pong - b, "r%u: recv %ub from 0\ns%u: send %ub to 0\ns%u requires r%u\n", i,
                       BYTES, i, BYTES, i, i);
        if (i > 0)
            (void)snprintf(ping + strlen(ping), sizeof ping - strlen(ping), "s%u requires r%u\n", i, i - 1);
    }
    (void)snprintf(text, sizeof text, "num_ranks 2\n%s}\n%s}\n", ping, pong);
    for (unsigned eager = 0; eager < 2; eager++) {
        struct hop_network *network;
        struct hop_timeline *timeline = predict(text, eager ? 2e6 : 0, &network);
        close_to(hop_timeline_makespan_s(timeline), 2.0 * ROUNDS * BYTES / RATE);
        forget(timeline, network);
    }
}

/* Arrivals at rank 0, 4 us after a send: x at 4 us, y at 5.5 us (the next on its CPU), z at 7 us; each takes 1.5 us. c, the
 * first that waits, takes none but rank 1's z; a the first, y is left to b. With `late` all have come before, and been
 * taken by CPU 1 while the calculation kept CPU 0. */
static void who_receives_from_any_takes_what_comes_first(void **state)
{
    (void)state;
    static const char text[] = "num_ranks 3\n"
                               "rank 0 {\n"
                               "w: calc %u\n"
                               "c: recv 1b from 1 tag 5 c requires w\n"
                               "a: recv 1b from -1 tag -1 a requires w\n"
                               "b: recv 1b from -1 tag 6 b requires w\n"
                               "}\n"
                               "rank 1 { w: calc 3000 cpu 1 z: send 1b to 0 tag 5 cpu 1 z requires w }\n"
                               "rank 2 { x: send 1b to 0 tag 5 cpu 1 y: send 1b to 0 tag 6 cpu 1 y requires x }\n";
    for (unsigned late = 0; late < 2; late++) {
        char program[1000];
        struct hop_network *network;
        (void)snprintf(program, sizeof program, text, late ? 50000 : 0);
        struct hop_timeline *timeline = predict_by("loggp", program, 65535, &network);
        close_to(end_of(timeline, "r0.a"), late ? 50e-6 : 5.5e-6);
        close_to(end_of(timeline, "r0.b"), late ? 50e-6 : 7e-6);
        close_to(end_of(timeline, "r0.c"), late ? 50e-6 : 8.5e-6);
        forget(timeline, network);
    }
}

/* What waits for messages decides by the times of model loggp, then links share their bytes: x, of 2 MB from rank 2, is
 * the first, and goes to a; y of rank 1 begins 1 ms later and is as long as half of it. */
static void receives_from_any_are_settled_for_models_of_links(void **state)
{
    (void)state;
    struct hop_network *network;
    struct hop_timeline *timeline =
        predict("num_ranks 3\n"
                "rank 0 { a: recv 2000000b from -1 b: recv 1000000b from -1 b requires a }\n"
                "rank 1 { w: calc 100000000 y: send 1000000b to 0 y requires w }\n"
                "rank 2 { x: send 2000000b to 0 }\n",
                1e9, &network);
    close_to(end_of(timeline, "r0.a"), 2000000 / RATE);
    close_to(end_of(timeline, "r0.b"), 0.1 + 1000000 / RATE);
    forget(timeline, network);
}

/* The receiver is late by `work`: an eager message has arrived long before, a rendezvous sets out only then. */
static void a_rendezvous_sets_out_when_it_is_received(void **state)
{
    (void)state;
    static const char text[] =
        "num_ranks 3\n"
        "rank 0 { a: send 1000000b to 2 tag 1 b: calc 5000 b requires a c: calc 5000 c irequires a }\n"
        "rank 1 { }\n"
        "rank 2 { w: calc 1000000 a: recv 1000000b from 0 tag 1 a requires w b: calc 7000 b requires a "
        "c: calc 7000 c irequires a }\n";
    const double work = 1e-3, wire = 1e6 / RATE;
    struct hop_network *network;
    struct hop_timeline *timeline = predict(text, 1e6, &network);
    close_to(end_of(timeline, "r0.a"), wire);
    close_to(end_of(timeline, "r0.b"), wire + 5e-6);
    close_to(end_of(timeline, "r0.c"), 5e-6);
    close_to(end_of(timeline, "r2.a"), work);
    close_to(end_of(timeline, "r2.b"), work + 7e-6);
    close_to(end_of(timeline, "r2.c"), work + 14e-6); /* after b on the same CPU */
    forget(timeline, network);
    timeline = predict(text, 999999, &network);
    close_to(end_of(timeline, "r0.a"), work + wire);
    close_to(end_of(timeline, "r0.b"), work + wire + 5e-6);
    close_to(end_of(timeline, "r0.c"), 5e-6);
    close_to(end_of(timeline, "r2.a"), work + wire);
    close_to(end_of(timeline, "r2.b"), work + wire + 7e-6);
    close_to(end_of(timeline, "r2.c"), work + 7e-6);
    forget(timeline, network);
}

/* Reports leave out what only keeps the books of a message; a receive that ends later than its message is told. */
static void marks_are_told_apart(void **state)
{
    (void)state;
    struct hop_network *network;
    struct hop_timeline *timeline =
        predict("num_ranks 2 rank 0 { a: send 1000000b to 1 b: send 10b to 1 b requires a } rank 1 { w: calc 1 a: recv "
                "1000000b from 0 a requires w x: calc 1000000 b: recv 10b from 0 b requires x }",
                65535, &network);
    static const struct {
        const char *name;
        bool mark;
    } rows[] = {{"r0.a", false}, {"r0.b", false}, {"r1.w", false}, {"r1.a", true}, {"r1.a.p0", true}, {"r1.b", false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        uint32_t index = hop_schedule_find(hop_timeline_schedule(timeline), rows[i].name);
        assert_int_not_equal(index, HOP_NONE);
        assert_int_equal(hop_timeline_is_mark(timeline, index), rows[i].mark);
    }
    forget(timeline, network);
}

/* A rank to itself: no link, no time. */
static void a_message_to_oneself_takes_no_time(void **state)
{
    (void)state;
    struct hop_network *network;
    struct hop_timeline *timeline =
        predict("num_ranks 1 rank 0 { a: send 5000b to 0 b: recv 5000b from 0 w: calc 700 b requires w }", 0, &network);
    close_to(end_of(timeline, "r0.a"), 700e-9);
    close_to(end_of(timeline, "r0.b"), 700e-9);
    forget(timeline, network);
}

/* The pattern as copies and, by way of GOAL, as messages of strict senders: the same time. */
static void messages_of_a_pattern_take_the_time_of_its_copies(void **state)
{
    (void)state;
    struct hop_network *network;
    static const char copies[] = "queue ready; a: rank0 -> rank2 3MiB; b: rank1 -> rank4 5MiB; c: rank3 -> rank2 1MiB\n"
                                 "d: rank2 -> rank7 2MiB after a c; e: rank4 -> rank0 4MiB after b";
    struct hop_schedule *s = parse(copies);
    char *goal = write_goal(s, 0);
    struct hop_timeline *timeline = predict(copies, 65535, &network);
    double expected = hop_timeline_makespan_s(timeline);
    forget(timeline, network);
    timeline = predict(goal, 65535, &network);
    close_to(hop_timeline_makespan_s(timeline), expected);
    forget(timeline, network);
    free(goal);
    hop_schedule_destroy(s);
}

TEST_GROUP(goal)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_construct_is_read),
        cmocka_unit_test(ranks_stand_in_any_order_and_may_be_empty),
        cmocka_unit_test(any_source_and_any_tag_are_read_and_written),
        cmocka_unit_test(labels_belong_to_their_rank),
        cmocka_unit_test(errors_are_named_by_line_and_column),
        cmocka_unit_test(truncated_texts_are_refused),
        cmocka_unit_test(what_was_read_is_written_again),
        cmocka_unit_test(random_programs_survive_goal_text_and_json),
        cmocka_unit_test(copies_become_a_send_and_a_receive),
        cmocka_unit_test(what_stays_within_a_rank_is_calculation),
        cmocka_unit_test(names_are_labels_where_they_can_be),
        cmocka_unit_test(what_is_rounded_is_said),
        cmocka_unit_test(what_goal_cannot_say_is_refused),
        cmocka_unit_test(ping_pong_takes_the_sum_of_its_messages),
        cmocka_unit_test(who_receives_from_any_takes_what_comes_first),
        cmocka_unit_test(receives_from_any_are_settled_for_models_of_links),
        cmocka_unit_test(a_rendezvous_sets_out_when_it_is_received),
        cmocka_unit_test(marks_are_told_apart),
        cmocka_unit_test(a_message_to_oneself_takes_no_time),
        cmocka_unit_test(messages_of_a_pattern_take_the_time_of_its_copies),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
