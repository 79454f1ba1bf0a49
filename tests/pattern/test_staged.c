/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Staged transfers and gathers as schedules: their text, what they move where, what is refused. That they take what the
 * closed form says is tested with it (tests/tune/test_stages.c).
 */
#include "hopcast/pattern.h"
#include "test.h"

static const char *const devices[] = {"a", "b", "c", "d", "e", "f", "g", "h", "i", "j", "k", "l"};

static struct hop_schedule *make(const char *pattern, uint32_t ranks)
{
    struct hop_schedule *schedule;
    CHECK(hop_pattern_schedule(pattern, &(struct hop_ranks){devices, ranks}, 1 << 20, &schedule, D));
    return schedule;
}

static void expect_text(const char *pattern, uint32_t ranks, const char *expected)
{
    struct hop_schedule *schedule = make(pattern, ranks);
    char *text = hop_schedule_to_text(schedule);
    assert_string_equal(text, expected);
    free(text);
    hop_schedule_destroy(schedule);
}

static void a_group_takes_a_packet_when_it_has_done_with_the_last(void **state)
{
    (void)state;
    expect_text("staged,bytes=10,packet=4,groups=2/1", 4,
                "p0.s0: a:in -> b:stage 4B\n"
                "p0.s1: b:stage -> c:stage 4B after p0.s0\n"
                "p0.s2: c:stage -> d:out 4B after p0.s1\n"
                "p1.s0: a:in+4B -> b:stage+4B 4B after p0.s1\n"
                "p1.s1: b:stage+4B -> c:stage+4B 4B after p1.s0\n"
                "p1.s2: c:stage+4B -> d:out+4B 4B after p1.s1 p0.s2\n"
                "p2.s0: a:in+8B -> b:stage+8B 2B after p1.s1\n"
                "p2.s1: b:stage+8B -> c:stage+8B 2B after p2.s0\n"
                "p2.s2: c:stage+8B -> d:out+8B 2B after p2.s1 p1.s2\n");
    expect_text("staged:3,bytes=4,packet=2", 3, /* all overlap */
                "p0.s0: a:in -> b:stage 2B\n"
                "p0.s1: b:stage -> c:out 2B after p0.s0\n"
                "p1.s0: a:in+2B -> b:stage+2B 2B after p0.s0\n"
                "p1.s1: b:stage+2B -> c:out+2B 2B after p1.s0 p0.s1\n");
    expect_text("staged:2", 2, "p0.s0: a:in -> b:out 1MiB\n");
}

static void gathers_are_the_three_approaches(void **state)
{
    (void)state;
    expect_text("staged-gather:2x3,bytes=8", 6,
                "n0.read0: b:in -> a:out 8B\n"
                "n0.read1: c:in -> a:out+8B 8B after n0.read0\n"
                "n1.read0: e:in -> d:stage 8B after n0.read1\n"
                "n1.put0: d:stage -> a:out+16B 8B after n1.read0\n"
                "n1.read1: f:in -> d:stage+8B 8B after n1.put0\n"
                "n1.put1: d:stage+8B -> a:out+24B 8B after n1.read1\n");
    expect_text("staged-gather:2x3,bytes=8,approach=2", 6,
                "n0.read0: b:in -> a:out 8B\n"
                "n0.read1: c:in -> a:out+8B 8B after n0.read0\n"
                "n1.read0: e:in -> d:stage 8B\n"
                "n1.put0: d:stage -> a:out+16B 8B after n1.read0\n"
                "n1.read1: f:in -> d:stage+8B 8B after n1.put0\n"
                "n1.put1: d:stage+8B -> a:out+24B 8B after n1.read1\n");
    expect_text("staged-gather:2x3,bytes=8,approach=3", 6,
                "n0.read0: b:in -> a:out 8B\n"
                "n0.read1: c:in -> a:out+8B 8B after n0.read0\n"
                "n1.read0: e:in -> d:stage 8B\n"
                "n1.read1: f:in -> d:stage+8B 8B after n1.read0\n"
                "n1.put0: d:stage -> a:out+16B 16B after n1.read1\n");
}

/* ---- what moves ---- */

enum { BYTES = 64 };

/* Every device has an `in` of its own letter in upper case. Copies in their order, which keeps dependencies. */
struct memory {
    char out[BYTES + 1], stage[BYTES];
};

static char *find(struct memory *memory, const struct hop_place *place, char *own)
{
    if (strcmp(place->buffer, "in") == 0)
        return own;
    struct memory *at = &memory[place->device[0] - 'a'];
    return (strcmp(place->buffer, "out") == 0 ? at->out : at->stage) + place->offset_bytes;
}

static const char *play(const char *pattern, uint32_t ranks, uint32_t end)
{
    static struct memory memory[12];
    struct hop_schedule *schedule = make(pattern, ranks);
    memset(memory, 0, sizeof memory);
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        char own[BYTES];
        memset(own, op->from.device[0] - 'a' + 'A', sizeof own);
        char *from = find(memory, &op->from, own), *to = find(memory, &op->to, own);
        for (uint64_t b = 0; b < op->bytes; b++) {
            assert_true(to[b] == '\0' && from[b] != '\0'); /* once, and of what is there */
            to[b] = from[b];
        }
    }
    hop_schedule_destroy(schedule);
    return memory[end].out;
}

static void every_byte_arrives_once(void **state)
{
    (void)state;
    static const char *const gathers[] = {"staged-gather:3x3,bytes=3,approach=1",
                                          "staged-gather:3x3,bytes=3,approach=2",
                                          "staged-gather:3x3,bytes=3,approach=3"};
    for (uint32_t a = 0; a < 3; a++)
        assert_string_equal(play(gathers[a], 9, 0), "BBBCCCEEEFFFHHHIII");
    assert_string_equal(play("staged,bytes=11,packet=3,groups=1/2/2", 6, 5), "AAAAAAAAAAA");
    assert_string_equal(play("staged,bytes=2,packet=3", 3, 2), "AA");
}

/* ---- bad words ---- */

static void words_that_make_no_sense_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *pattern, *what;
        uint32_t ranks;
    } wrong[] = {
        {"staged,groups=2/1", "the groups have 3 steps, the transfer 2", 3},
        {"staged,groups=2/", "'2/' are no groups of steps", 3},
        {"staged,groups=", "'' are no groups of steps", 3},
        {"staged,groups=2/x", "'2/x' are no groups", 3},
        {"staged,groups=33", "'33' are no groups", 3},
        {"staged,packet=0", "'0' moves nothing", 3},
        {"staged,approach=1", "'approach=1' is no setting of staged", 3},
        {"staged:1", "by way of 1 place", 1},
        {"staged-gather,approach=1", "does not say how many ranks", 6},
        {"staged-gather:6", "no such gather", 6},
        {"staged-gather:6x1", "no such gather", 6},
        {"staged-gather:2x3,approach=4", "no such gather", 6},
        {"staged-gather:2x3,approach=0", "no such gather", 6},
        {"staged-gather:2x3,packet=4", "'packet=4' is no setting of staged-gather", 6},
        {"staged,packet=1,bytes=100MiB", "operations", 3},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct hop_schedule *schedule = NULL;
        struct hop_diag diag = {0};
        const struct hop_ranks ranks = {devices, wrong[i].ranks};
        assert_true(hop_pattern_schedule(wrong[i].pattern, &ranks, 1 << 20, &schedule, &diag) != HOP_OK);
        assert_null(schedule);
        if (!strstr(diag.what, wrong[i].what) || !diag.expected[0])
            fail_msg("%s: %s (%s)", wrong[i].pattern, diag.what, diag.expected);
    }
}

TEST_GROUP(staged)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_group_takes_a_packet_when_it_has_done_with_the_last),
        cmocka_unit_test(gathers_are_the_three_approaches),
        cmocka_unit_test(every_byte_arrives_once),
        cmocka_unit_test(words_that_make_no_sense_are_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
