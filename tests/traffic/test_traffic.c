/* SPDX-License-Identifier: BSD-3-Clause */
/* Traffic: adding up, the forms and their errors by line and column, patterns against the generators, schedules. */
#include "hopcast/traffic.h"

#include "hopcast/collective.h"
#include "hopcast/units.h"
#include "test.h"

#include <inttypes.h>

#define MIB ((uint64_t)1 << 20)
#define OWN_TRAFFIC TEST_SOURCE_DIR "/data/traffic/"

static struct hop_traffic *create(uint32_t ranks)
{
    struct hop_traffic *t = NULL;
    CHECK(hop_traffic_create(ranks, &t, D));
    return t;
}

static struct hop_traffic *parse(const char *text)
{
    struct hop_traffic *t = NULL;
    struct hop_diag diag = {0};
    if (!hop_traffic_detect(text, strlen(text)))
        fail_msg("not detected: %s", text);
    if (hop_traffic_parse("x.csv", text, strlen(text), HOP_MEMORY_DEVICE, &t, &diag) != HOP_OK)
        fail_msg("%s: %s (%s)\n%s", diag.place, diag.what, diag.expected, text);
    return t;
}

static struct hop_traffic *pattern(const char *text)
{
    struct hop_traffic *t = NULL;
    CHECK(hop_pattern_traffic(text, HOP_MEMORY_DEVICE, &t, D));
    return t;
}

static void add(struct hop_traffic *t, uint32_t from, uint32_t to, enum hop_memory memory, uint64_t bytes)
{
    CHECK(hop_traffic_add(t, from, to, memory, bytes, 1, D));
}

/* The flow of a pair by looking at all of them; NULL: there is none. */
static const struct hop_traffic_flow *flow_of(const struct hop_traffic *t, uint32_t from, uint32_t to)
{
    const struct hop_traffic_flow *flows = hop_traffic_flows(t);
    for (uint32_t i = 0, count = hop_traffic_count(t); i < count; i++) {
        if (flows[i].from == from && flows[i].to == to)
            return &flows[i];
    }
    return NULL;
}

static uint64_t bytes_of(const struct hop_traffic *t, uint32_t from, uint32_t to, enum hop_memory memory)
{
    const struct hop_traffic_flow *flow = flow_of(t, from, to);
    return flow ? flow->bytes[memory] : 0;
}

/* What always holds. */
static void check_flows(const struct hop_traffic *t)
{
    uint64_t sum[HOP_MEMORY_COUNT] = {0};
    for (uint32_t i = 0; i < hop_traffic_count(t); i++) {
        const struct hop_traffic_flow *flow = &hop_traffic_flows(t)[i];
        assert_true(flow->from < hop_traffic_ranks(t) && flow->to < hop_traffic_ranks(t) && flow->from != flow->to);
        assert_true(flow->bytes[0] + flow->bytes[1] > 0);
        assert_true(i == 0 || flow[-1].from < flow->from || (flow[-1].from == flow->from && flow[-1].to < flow->to));
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
            assert_true(flow->bytes[m] > 0 || flow->messages[m] == 0);
            sum[m] += flow->bytes[m];
        }
    }
    for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++)
        assert_int_equal(sum[m], hop_traffic_bytes(t, (enum hop_memory)m));
}

static void check_same(const struct hop_traffic *a, const struct hop_traffic *b)
{
    check_flows(a);
    check_flows(b);
    assert_int_equal(hop_traffic_ranks(a), hop_traffic_ranks(b));
    assert_int_equal(hop_traffic_count(a), hop_traffic_count(b));
    if (hop_traffic_count(a) > 0)
        assert_memory_equal(hop_traffic_flows(a), hop_traffic_flows(b),
                            hop_traffic_count(a) * sizeof *hop_traffic_flows(a));
}

/* The text is read back to the same. */
static void check_text(const struct hop_traffic *t)
{
    char *text = hop_traffic_to_text(t);
    assert_non_null(text);
    struct hop_traffic *again = parse(text);
    check_same(t, again);
    hop_traffic_destroy(again);
    free(text);
}

/* The device bytes of a traffic of n ranks are those of a dense matrix, and there are no others. */
static void check_matrix(struct hop_traffic *t, uint32_t n, const uint64_t *bytes)
{
    check_flows(t);
    check_text(t);
    assert_int_equal(hop_traffic_ranks(t), n);
    assert_int_equal(hop_traffic_bytes(t, HOP_MEMORY_HOST), 0);
    for (uint32_t i = 0; i < n * n; i++)
        assert_int_equal(bytes_of(t, i / n, i % n, HOP_MEMORY_DEVICE), i / n == i % n ? 0 : bytes[i]);
    hop_traffic_destroy(t);
}

/* ---- building ---- */

static void flows_are_ascending_however_they_were_added(void **state)
{
    (void)state;
    enum { RANKS = 40, ADDED = 30000 };
    static uint64_t dense[HOP_MEMORY_COUNT][RANKS][RANKS], messages[HOP_MEMORY_COUNT][RANKS][RANKS];
    struct hop_traffic *t = create(RANKS);
    for (unsigned i = 0; i < ADDED; i++) {
        uint32_t from = random_below(RANKS), to = random_below(RANKS), bytes = random_below(5), host = random_below(2);
        CHECK(hop_traffic_add(t, from, to, (enum hop_memory)host, bytes, 2, D));
        dense[host][from][to] += from == to ? 0 : bytes;
        messages[host][from][to] += from == to || bytes == 0 ? 0 : 2;
        if (i % 7000 == 0)
            check_flows(t); /* looking between the additions changes nothing */
    }
    check_flows(t);
    check_text(t);
    for (uint32_t i = 0; i < RANKS * RANKS; i++) {
        const struct hop_traffic_flow *flow = flow_of(t, i / RANKS, i % RANKS);
        for (unsigned m = 0; m < HOP_MEMORY_COUNT; m++) {
            assert_int_equal(flow ? flow->bytes[m] : 0, dense[m][i / RANKS][i % RANKS]);
            assert_int_equal(flow ? flow->messages[m] : 0, messages[m][i / RANKS][i % RANKS]);
        }
    }
    hop_traffic_destroy(t);
    hop_traffic_destroy(NULL);
}

/* Many pairs in descending order: all go through the part that is sorted later. */
static void many_pairs_in_the_worst_order_are_sorted(void **state)
{
    (void)state;
    enum { RANKS = 1000, PAIRS = 200000 };
    struct hop_traffic *t = create(RANKS);
    for (uint32_t i = PAIRS; i-- > 0;)
        add(t, i / RANKS, i % RANKS, HOP_MEMORY_HOST, i + 1);
    assert_int_equal(hop_traffic_count(t), PAIRS - PAIRS / RANKS); /* without the diagonal */
    check_flows(t);
    hop_traffic_destroy(t);
}

static void messages_are_known_if_they_are_of_all_parts(void **state)
{
    (void)state;
    for (unsigned unknown = 0; unknown < 4; unknown++) { /* 3: none */
        struct hop_traffic *t = create(3);
        for (unsigned part = 0; part < 3; part++) {
            CHECK(hop_traffic_add(t, 2, 0, HOP_MEMORY_HOST, 10, part == unknown ? 0 : 4, D));
            add(t, 0, part, HOP_MEMORY_DEVICE, 1); /* so that the first comes in no order */
        }
        assert_int_equal(flow_of(t, 2, 0)->messages[HOP_MEMORY_HOST], unknown == 3 ? 12 : 0);
        check_text(t);
        hop_traffic_destroy(t);
    }
}

static void check_refusal(enum hop_status status, enum hop_status expected, const struct hop_diag *diag,
                          const char *words)
{
    assert_int_equal(status, expected);
    assert_int_equal(diag->status, expected);
    if (!strstr(diag->what, words) && !strstr(diag->expected, words))
        fail_msg("'%s' neither in '%s' nor in '%s'", words, diag->what, diag->expected);
    assert_true(diag->expected[0] != '\0');
}

static void what_cannot_be_added_is_refused_and_changes_nothing(void **state)
{
    (void)state;
    struct hop_traffic *t = NULL, *wide = create(9);
    struct hop_diag diag = {0};
    check_refusal(hop_traffic_create(0, &t, &diag), HOP_ERR_INVALID, &diag, "1 to 65536");
    check_refusal(hop_traffic_create(HOP_TRAFFIC_RANKS + 1, &t, &diag), HOP_ERR_INVALID, &diag, "65537");
    t = create(8);
    add(t, 0, 1, HOP_MEMORY_DEVICE, (uint64_t)1 << 62);
    check_refusal(hop_traffic_add(t, 8, 0, HOP_MEMORY_DEVICE, 1, 1, &diag), HOP_ERR_INVALID, &diag, "no rank 8");
    check_refusal(hop_traffic_add(t, 0, 9, HOP_MEMORY_DEVICE, 0, 1, &diag), HOP_ERR_INVALID, &diag, "0 to 7");
    check_refusal(hop_traffic_add(t, 0, 1, (enum hop_memory)2, 1, 1, &diag), HOP_ERR_INVALID, &diag, "numbered 2");
    check_refusal(hop_traffic_add(t, 2, 3, HOP_MEMORY_HOST, ((uint64_t)1 << 62) + 1, 1, &diag), HOP_ERR_INVALID, &diag,
                  "bytes of all ranks");
    check_refusal(hop_traffic_add(t, 2, 3, HOP_MEMORY_HOST, UINT64_MAX, 1, &diag), HOP_ERR_INVALID, &diag, "2^63");
    check_refusal(hop_traffic_add(t, 2, 3, HOP_MEMORY_HOST, 1, UINT64_MAX, &diag), HOP_ERR_INVALID, &diag, "messages");
    check_refusal(hop_traffic_merge(t, wide, &diag), HOP_ERR_INVALID, &diag, "9 ranks");
    add(t, 2, 3, HOP_MEMORY_HOST, (uint64_t)1 << 62);
    check_refusal(hop_traffic_merge(t, t, &diag), HOP_ERR_INVALID, &diag, "2^63");
    assert_int_equal(hop_traffic_count(t), 2);
    check_flows(t);
    hop_traffic_destroy(wide);
    hop_traffic_destroy(t);
}

static void merging_is_adding_every_flow(void **state)
{
    (void)state;
    for (unsigned round = 0; round < 20; round++) {
        struct hop_traffic *a = create(12), *b = create(12 - random_below(6)), *all = create(12);
        for (unsigned i = 0; i < 60; i++) {
            struct hop_traffic *to = random_below(2) ? a : b;
            uint32_t from = random_below(hop_traffic_ranks(to)), at = random_below(hop_traffic_ranks(to));
            uint64_t bytes = random_below(100), messages = random_below(3);
            enum hop_memory memory = (enum hop_memory)random_below(2);
            CHECK(hop_traffic_add(to, from, at, memory, bytes, messages, D));
            CHECK(hop_traffic_add(all, from, at, memory, bytes, messages, D));
        }
        CHECK(hop_traffic_merge(a, b, D));
        check_same(a, all);
        CHECK(hop_traffic_merge(a, a, D)); /* twice as much */
        assert_int_equal(hop_traffic_bytes(a, HOP_MEMORY_HOST), 2 * hop_traffic_bytes(all, HOP_MEMORY_HOST));
        hop_traffic_destroy(a);
        hop_traffic_destroy(b);
        hop_traffic_destroy(all);
    }
}

/* ---- byte matrices ---- */

static void matrices_are_read_with_and_without_names(void **state)
{
    (void)state;
    static const uint64_t three[] = {9, 4096, 0, 1048576, 0, 7, 1000000, 2, 0};
    static const char *const texts[] = {
        "9,4096,0\n1MiB,0,7\n1e6,2,0\n",
        "9;4KiB;0\n1MiB;0;7\n1MB;2;0",
        "9\t4096\t0\n1048576\t0\t7\n1e+06\t2\t0\n",
        "  9 4096   0\n 1048576\t0 7  \n1000000.0 2 0 # the last\n",
        "# made by hand\r\n\r\n9,4096,0\r\n1048576,0,7\r\n1000000,2,0\r\n",
        "\xef\xbb\xbf"
        "9, 4096, 0,\n1048576, 0, 7,\n1E6, 1.9999, -0.0,\n",
        "a,b,c\n9,4096,0\n1048576,0,7\n1000000,2,0\n",
        ",a,b,c\na,9,4096,0\nb,1048576,0,7\nc,1000000,2,0\n",
        "rank,0,1,2\n0,9,4096,0\n1,1048576,0,7\n2,1000000,2,0\n",
        "rank 1 2 3\n1 9 4096 0\n2 1048576 0 7\n3 1000000 2 0\n",
        "0 1 2\nr0 9 4096 0\nr1 1048576 0 7\nr2 1000000 2 0\n",
        "x 0 1 2\nr0 9 4096 0\nr1 1048576 0 7\nr2 1000000 2 0\n",
        "\t0\t1\t2\nr 0\t9\t4 KiB\t0\nr 1\t1 MiB\t0\t7\nr 2\t1000000\t2\t0\n",
        "r0 9 4096 0\nr1 1048576 0 7\nr2 1000000 2 0\n",
        "from\\to,n0:0,n0:1,n1:0\nn0:0,9,4096,0\nn0:1,1048576,0,7\nn1:0,1000000,2,0\n",
        "\"\",\"a,1\",\"b \"\"2\"\"\",\"c\"\n\"a,1\",9,\"4096\",0\n\"b \"\"2\"\"\",1048576,0,7\n\"c\",1000000,2,0\n",
        "a b c\n1 9 4096 0\n2 1048576 0 7\n3 1000000 2 0\n",
        ",to a,to b,to c\nof a,9,4096,0\nof b,1048576,0,7\nof c,1000000,2,0\n",
    };
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++)
        check_matrix(parse(texts[i]), 3, three);
    static const uint64_t two[] = {0, 5, 6, 0}, one[] = {3};
    check_matrix(parse("0 5\n6 0"), 2, two);
    check_matrix(parse("r0,0,5\nr1,6,0"), 2, two);
    check_matrix(parse("x,r0,r1\nr0,0,5\nr1,6,0"), 2, two);
    check_matrix(parse("x,r0,r1\n0,0,5\n1,6,0"), 2, two);
    check_matrix(parse("3"), 1, one);
    check_matrix(parse("r0 3"), 1, one);
    check_matrix(parse("r0\n3\n"), 1, one);
}

static void sizes_are_whole_bytes_afterwards(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint64_t bytes;
    } rows[] = {{"0.5", 1},
                {"1.5", 2},
                {"2.4", 2},
                {"1e3", 1000},
                {"+12", 12},
                {"1.5KiB", 1536},
                {"0.001kB", 1},
                {".5e1", 5},
                {"0e-400", 0},
                {"-0", 0},
                {"1152921504606846975", 1152921504606846975u},
                {"1EiB", (uint64_t)1 << 60},
                {"0.000", 0},
                {"4.0E+00", 4}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        char text[64];
        (void)snprintf(text, sizeof text, "0,%s\n0,0\n", rows[i].text);
        struct hop_traffic *t = parse(text);
        assert_int_equal(bytes_of(t, 0, 1, HOP_MEMORY_DEVICE), rows[i].bytes);
        hop_traffic_destroy(t);
    }
}

/* The largest sums that there may be can be written and read, too. */
static void the_largest_traffic_is_written_and_read(void **state)
{
    (void)state;
    for (unsigned host = 0; host < 2; host++) {
        struct hop_traffic *t = create(2);
        CHECK(hop_traffic_add(t, 1, 0, (enum hop_memory)host, (uint64_t)1 << 63, (uint64_t)1 << 63, D));
        check_flows(t);
        check_text(t);
        hop_traffic_destroy(t);
    }
}

/* The memory is the one asked for; how many messages there were is not known. */
static void bytes_of_a_matrix_are_of_the_memory_asked_for(void **state)
{
    (void)state;
    static const char *const texts[] = {"0 5\n0 0", "%%MatrixMarket matrix coordinate integer general\n2 2 1\n1 2 5\n"};
    for (unsigned i = 0; i < 2; i++) {
        struct hop_traffic *t = NULL;
        CHECK(hop_traffic_parse("x", texts[i], strlen(texts[i]), HOP_MEMORY_HOST, &t, D));
        assert_int_equal(hop_traffic_bytes(t, HOP_MEMORY_HOST), 5);
        assert_int_equal(hop_traffic_bytes(t, HOP_MEMORY_DEVICE), 0);
        assert_int_equal(flow_of(t, 0, 1)->messages[HOP_MEMORY_HOST], 0);
        check_text(t);
        hop_traffic_destroy(t);
    }
}

static void refused(enum hop_status code, const char *place, const char *words, const char *text)
{
    struct hop_traffic *t = NULL;
    struct hop_diag diag = {0};
    enum hop_status status = hop_traffic_parse("x.csv", text, strlen(text), HOP_MEMORY_DEVICE, &t, &diag);
    if (status == HOP_OK)
        fail_msg("read, but should be refused (%s): %s", words, text);
    assert_null(t);
    check_refusal(status, code, &diag, words);
    if (strcmp(diag.place, place) != 0)
        fail_msg("at %s, not at %s: %s (%s)\n%s", diag.place, place, diag.what, diag.expected, text);
}

static void bad_matrices_are_refused_with_line_and_column(void **state)
{
    (void)state;
    refused(HOP_ERR_INVALID, "x.csv:2:1", "not square: 2 rows of 3 numbers", "1,2,3\n4,5,6\n");
    refused(HOP_ERR_INVALID, "x.csv:4:1", "not square: 3 rows of 2 numbers", "1,2\n# half\n3,4\n5,6\n");
    refused(HOP_ERR_INVALID, "x.csv:4:1", "not square: 3 rows of 2 numbers", "a,b\n1,2\n3,4\n5,6\n");
    refused(HOP_ERR_INVALID, "x.csv:2:1", "not square: 2 rows of 3 numbers", "a,1,2,3\nb,3,4,5\n");
    refused(HOP_ERR_INVALID, "x.csv:1:1", "not square: 1 row of 2 numbers", "1 2");
    refused(HOP_ERR_INVALID, "x.csv:2:1", "from,to,host_bytes", "0,1,4096\n1,0,4096\n"); /* a profile without header */
    refused(HOP_ERR_SYNTAX, "x.csv:3:1", "3, as line 2 has", "1,2,3\n4,5,6\n7,8\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:1", "the row has 4 cells", "1,2,3\n4,5,6,7\n7,8,9,0\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:1", "2 names stand above 4 columns", "a,b\n1,2,3,4\n1,2,3,4\n1,2,3,4\n1,2,3,4\n");
    refused(HOP_ERR_INVALID, "x.csv:1:3", "'-1' is negative", "0,-1\n0,0\n");
    refused(HOP_ERR_INVALID, "x.csv:2:1", "'-4KiB' is negative", "0,1\n-4KiB,0\n");
    refused(HOP_ERR_INVALID, "x.csv:2:1", "'-0.1' is negative", "0,1\n-0.1,0\n");
    refused(HOP_ERR_INVALID, "x.csv:2:4", "'NaN' is no number of bytes", "0,1\n1, NaN\n");
    refused(HOP_ERR_INVALID, "x.csv:2:1", "'-inf' is no number of bytes", "0 1\n-inf 0\n");
    refused(HOP_ERR_INVALID, "x.csv:1:1", "'nan' is no number of bytes", "nan 1\n1 0\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:3", "'abc' is no size", "1,abc\n3,4\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:4", "'abc' is no size", "r0,1,0\nr1,abc,0\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:3", "'abc' is no size", "1,3\n4,abc\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:1", "number of bytes is missing", "1,3\n,4\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:3", "number of bytes is missing", "1,3,4\n5,,7\n8,9,0\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:1", "unknown unit 'x'", "12x,3\n4,5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:1", "'1.2.3' is no number of bytes", "1.2.3,3\n4,5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:1", "'1e' is no number of bytes", "1e,3\n4,5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:3", "'-9' is no number of bytes", "0,--9\n4,5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:1", "0x10", "0x10,3\n4,5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:3", "unknown unit ',5'", "0;1,5\n4;5\n"); /* a decimal comma */
    refused(HOP_ERR_LIMIT, "x.csv:1:3", "2^60", "0,1e19\n4,5\n");
    refused(HOP_ERR_INVALID, "x.csv:2:1", "2^63", "0,9223372036854775808\n1,0");
    refused(HOP_ERR_LIMIT, "x.csv:1:3", "2^60", "0,9223372036854775809\n4,5\n");
    refused(HOP_ERR_LIMIT, "x.csv:1:3", "2^60", "0,1e999\n4,5\n");
    refused(HOP_ERR_LIMIT, "x.csv:1:3", "2^60", "0,99999999999999999999999\n4,5\n");
    refused(HOP_ERR_INVALID, "x.csv:1:3", "less than half a byte", "0,0.4\n4,5\n");
    refused(HOP_ERR_INVALID, "x.csv:1:3", "less than half a byte", "0,1e-400\n4,5\n");
    refused(HOP_ERR_INVALID, "x.csv:1:3", "less than half a byte", "0,0.0001KiB\n4,5\n");
    refused(HOP_ERR_INVALID, "x.csv:1:5", "every rank once", "x,a,a\na,0,1\nb,1,0\n");
    refused(HOP_ERR_INVALID, "x.csv:2:1", "every rank once", "a,0,1\na,1,0\n");
    refused(HOP_ERR_INVALID, "x.csv:3:1", "'a' stands for rank 1", "x,a,b\na,0,1\na,1,0\n");
    refused(HOP_ERR_INVALID, "x.csv:2:1", "order of the columns", "x,a,b\nb,0,1\na,1,0\n");
    refused(HOP_ERR_INVALID, "x.csv:1:3", "from 0 or from 1", "x,2,1\na,0,1\nb,1,0\n");
    refused(HOP_ERR_INVALID, "x.csv:3:1", "'7' stands for rank 1", "x,a,b\n0,0,1\n7,1,0\n");
    refused(HOP_ERR_INVALID, "x.csv:3:13", "2^63",
            "0 1EiB 1EiB 1EiB\n1EiB 0 1EiB 1EiB\n1EiB 1EiB 0 1EiB\n1EiB 1EiB 1EiB 0\n");
}

static void what_is_no_traffic_is_named(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "", "\n# nothing\n", "hello world\n", "{\"operations\": []}", "<xml/>\n1 2\n", "[[0,1],[1,0]]", "a,b\nc,d\n"};
    for (unsigned i = 0; i < sizeof texts / sizeof *texts; i++) {
        assert_false(hop_traffic_detect(texts[i], strlen(texts[i])));
        refused(HOP_ERR_SYNTAX, "x.csv:1:1", "this is no traffic", texts[i]);
    }
}

static void schedules_are_not_taken_for_traffic(void **state)
{
    (void)state;
    static const char *const schedules[] = {
        "gpu0 -> gpu1 1MiB\n",
        "# name: what\na: gpu0 -> gpu1 1MiB; b: gpu1 -> gpu2 1MiB after a\n",
        "a: gpu0 -> gpu1 1,5MiB\n",
        "0: gpu0 -> gpu1 1MiB\n1: gpu1 -> gpu0 1MiB\n",
        "3@gpu0 -> 1@gpu1 4096\n",
        "0 -> 1 5\n1 -> 0 5\n",
        "queue ready\n0 -> 1 5\n",
        "queue ready\nwork 1 5us\n",
        "work 1 5us\nwork 2 5us\n",
        "w: work gpu0 5us\n",
        "d: reduce sum f32 gpu2:x gpu2:y -> gpu2:x 300MiB\n",
        "send 0 -> 1 4\n",
        "num_ranks 2\nrank 0 {\nl1: send 5b to 1\n}\nrank 1 {\nl1: recv 5b from 0\n}\n",
        "// 2 ranks\nnum_ranks 2\n",
        "/* 2\n*/ num_ranks 2\n",
        "\n\nnum_ranks 1\nrank 0 {\n}\n",
    };
    for (unsigned i = 0; i < sizeof schedules / sizeof *schedules; i++) {
        if (hop_traffic_detect(schedules[i], strlen(schedules[i])))
            fail_msg("taken for traffic: %s", schedules[i]);
    }
    /* What the library itself writes. */
    struct hop_schedule *s = NULL;
    static const char *const devices[] = {"gpu0", "gpu1", "gpu2", "gpu3"};
    struct hop_ranks ranks = {devices, 4};
    CHECK(hop_make_ring(&ranks, 2, MIB, &s, D));
    char *written[3] = {hop_schedule_to_text(s), hop_schedule_to_json(s), NULL};
    CHECK(hop_schedule_to_goal(s, 0, &written[2], D));
    for (unsigned i = 0; i < 3; i++) {
        assert_false(hop_traffic_detect(written[i], strlen(written[i])));
        free(written[i]);
    }
    hop_schedule_destroy(s);
}

/* ---- profiles ---- */

static void profiles_name_their_columns(void **state)
{
    (void)state;
    struct hop_traffic *t =
        parse("# made by a program\n# ranks 5\n\nfrom,to,host_bytes,device_bytes,host_messages,device_messages\n"
              "0,3,10,1MiB,2,1\n3,0,0,5,0,0\n0,3,1,0,1,9\n1,1,7,7,1,1\n");
    check_flows(t);
    check_text(t);
    assert_int_equal(hop_traffic_ranks(t), 5);
    assert_int_equal(hop_traffic_count(t), 2);
    assert_int_equal(bytes_of(t, 0, 3, HOP_MEMORY_HOST), 11);
    assert_int_equal(bytes_of(t, 0, 3, HOP_MEMORY_DEVICE), MIB);
    assert_int_equal(flow_of(t, 0, 3)->messages[HOP_MEMORY_HOST], 3);
    assert_int_equal(flow_of(t, 0, 3)->messages[HOP_MEMORY_DEVICE], 1);
    assert_int_equal(bytes_of(t, 3, 0, HOP_MEMORY_DEVICE), 5);
    struct hop_traffic *other = parse("device_messages;to;device_bytes;host_messages;host_bytes;from\r\n"
                                      "0;0;2;0;0;3\r\n1;3;1MiB;3;11;0\r\n0;0;3;0;0;3\r\n4;4;1;1;1;4");
    check_same(t, other);
    hop_traffic_destroy(other);
    hop_traffic_destroy(t);
    t = parse("to device_bytes from\n1 4KiB 0 # the only one\n");
    assert_int_equal(hop_traffic_ranks(t), 2);
    assert_int_equal(bytes_of(t, 0, 1, HOP_MEMORY_DEVICE), 4096);
    assert_int_equal(hop_traffic_bytes(t, HOP_MEMORY_HOST), 0);
    char *text = hop_traffic_to_text(t);
    assert_string_equal(text, "# ranks 2\nfrom,to,host_bytes,device_bytes\n0,1,0,4096\n");
    free(text);
    hop_traffic_destroy(t);
    t = parse("From,TO,Device_Bytes\n0,1,4096\n");
    assert_int_equal(bytes_of(t, 0, 1, HOP_MEMORY_DEVICE), 4096);
    hop_traffic_destroy(t);
    t = parse("# ranks 3\nfrom,to,host_bytes\n");
    assert_int_equal(hop_traffic_ranks(t), 3);
    assert_int_equal(hop_traffic_count(t), 0);
    check_text(t);
    hop_traffic_destroy(t);
}

static void bad_profiles_are_refused_with_line_and_column(void **state)
{
    (void)state;
    refused(HOP_ERR_SYNTAX, "x.csv:1:9", "'device_bytes'?", "from,to,devicebytes\n0,1,5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:1", "no column 'form'", "form,to,device_bytes\n0,1,5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:9", "no column 'seconds'", "from,to,seconds,host_bytes\n0,1,5,5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:20", "'to' is there twice", "from,to,host_bytes,to\n0,1,5,1\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:1", "no column 'from'", "to,host_bytes\n0,1\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:1", "no column 'to'", "from,host_bytes\n0,1\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:1", "host_bytes or device_bytes", "from,to\n0,1\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:1", "no column 'host_bytes'", "from,to,device_bytes,host_messages\n0,1,2,3\n");
    refused(HOP_ERR_SYNTAX, "x.csv:3:1", "3, as the header in line 2", "#\nfrom,to,host_bytes\n0,1\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:1", "the row has 4 cells", "from,to,host_bytes\n0,1,2,3\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:1", "'-1' is no rank", "from,to,host_bytes\n-1,1,2\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:3", "'65536' is no rank", "from,to,host_bytes\n0,65536,2\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:3", "0 to 65535", "from,to,host_bytes\n0,99999999999999999999999,2\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:3", "'1.5' is no rank", "from,to,host_bytes\n0,1.5,2\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:3", "the rank is missing", "from,to,host_bytes\n0,,2\n");
    refused(HOP_ERR_SYNTAX, "x.csv:3:3", "from 0 to 3", "# ranks 4\nfrom,to,host_bytes\n0,4,2\n");
    refused(HOP_ERR_INVALID, "x.csv:2:5", "'-2' is negative", "from,to,host_bytes\n0,1,-2\n");
    refused(HOP_ERR_INVALID, "x.csv:2:5", "'inf' is no number", "from,to,host_bytes\n0,1,inf\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:7", "'x' is no number of messages", "from,to,host_bytes,host_messages\n0,1,2,x\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:7", "number of messages is missing",
            "from,to,host_bytes,host_messages,device_bytes\n0,1,2,,5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:9", "'0' is no number of ranks", "# ranks 0\nfrom,to,host_bytes\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:9", "a whole number from 1 to 65536", "# ranks 0\nfrom,to,host_bytes\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:9", "a whole number from 1 to 65536", "# ranks 70000\nfrom,to,host_bytes\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:1", "the row has 1 cell", "from,to,host_bytes\n0\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:9", "'65537' is no number of ranks", "# ranks 65537\nfrom,to,host_bytes\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:9", "'-5' is no number of ranks", "# ranks -5\nfrom,to,host_bytes\n");
    refused(HOP_ERR_INVALID, "x.csv:1:1", "no rows", "from,to,host_bytes\n");
}

/* ---- JSON ---- */

static void json_of_a_program_adds_up(void **state)
{
    (void)state;
    struct hop_traffic *t =
        parse(" {\n\"hopcast_traffic\": 1, \"mpi\": \"any\", \"ranks\": 5, \"pairs\": [\n"
              "{\"from\": 0, \"to\": 1, \"class\": \"collective\", \"host_bytes\": 7, \"host_messages\": 2},"
              "{\"from\": 1, \"to\": 1, \"host_bytes\": 9, \"host_messages\": 1},"
              "{\"from\": 3, \"to\": 2, \"host_bytes\": 0, \"host_messages\": 4},"
              "{\"from\": 0, \"to\": 1, \"host_bytes\": 5, \"device_bytes\": 6, \"host_messages\": 1,"
              " \"device_messages\": 3}], \"calls\": [{}]}\n");
    check_text(t);
    assert_int_equal(hop_traffic_ranks(t), 5);
    assert_int_equal(hop_traffic_count(t), 1);
    const struct hop_traffic_flow *flow = flow_of(t, 0, 1);
    assert_int_equal(flow->bytes[HOP_MEMORY_HOST], 12);
    assert_int_equal(flow->messages[HOP_MEMORY_HOST], 3);
    assert_int_equal(flow->bytes[HOP_MEMORY_DEVICE], 6);
    assert_int_equal(flow->messages[HOP_MEMORY_DEVICE], 3);
    hop_traffic_destroy(t);
}

static void bad_json_is_refused_with_its_place(void **state)
{
    (void)state;
#define JSON_HEAD "{\"hopcast_traffic\": 1, \"ranks\": 2, "
    refused(HOP_ERR_SYNTAX, "x.csv:1:32", "unexpected token", "{\"hopcast_traffic\": 1, \"ranks\": ");
    refused(HOP_ERR_INVALID, "x.csv: /hopcast_traffic", "", "{\"hopcast_traffic\": 2, \"ranks\": 2, \"pairs\": []}");
    refused(HOP_ERR_INVALID, "x.csv: /ranks", "", "{\"hopcast_traffic\": 1, \"ranks\": 0, \"pairs\": []}");
    refused(HOP_ERR_INVALID, "x.csv", "pairs", JSON_HEAD "\"mpi\": 1}");
    refused(HOP_ERR_INVALID, "x.csv: /pairs/0", "to", JSON_HEAD "\"pairs\": [{\"from\": 0}]}");
    refused(HOP_ERR_INVALID, "x.csv: /pairs/0/to", "0 to 1", JSON_HEAD "\"pairs\": [{\"from\": 0, \"to\": 2}]}");
    refused(HOP_ERR_INVALID, "x.csv: /pairs/0/host_bytes", "",
            JSON_HEAD "\"pairs\": [{\"from\": 0, \"to\": 1, \"host_bytes\": -1}]}");
    refused(HOP_ERR_INVALID, "x.csv: /pairs/1", "2^63",
            JSON_HEAD "\"pairs\": [{\"from\": 0, \"to\": 1, \"host_bytes\": 9223372036854775807},"
                      "{\"from\": 1, \"to\": 0, \"host_bytes\": 9223372036854775807}]}");
#undef JSON_HEAD
}

/* ---- Matrix Market ---- */

#define BANNER "%%MatrixMarket matrix "

static void matrix_market_files_are_read(void **state)
{
    (void)state;
    /* 5 and 1e3 below the diagonal, by columns; in symmetric ones above it, too */
    static const uint64_t general[] = {0, 0, 0, 5, 0, 0, 0, 1000, 0}, both[] = {0, 5, 0, 5, 0, 1000, 0, 1000, 0},
                          ones[] = {0, 0, 0, 1, 0, 0, 0, 1, 0};
    static const struct {
        const char *text;
        const uint64_t *bytes;
    } rows[] = {
        {BANNER "coordinate real general\n3 3 2\n2 1 5\n3 2 1.0e+03\n", general},
        {BANNER "coordinate integer general\n% one\n%two\n\n 3 3 3 \n\n3 2 1000\n2 1 2\n2 1 3\n", general},
        {"%%matrixmarket MATRIX Coordinate Real GENERAL\r\n3 3 3\r\n2 1 5\r\n2 2 9\r\n3 2 1000\r\n", general},
        {BANNER "coordinate real symmetric\n3 3 2\n2 1 5\n3 2 1000\n", both},
        {BANNER "coordinate real general\n3 3 4\n2 1 5\n3 2 1000\n1 2 5\n2 3 1000\n", both},
        {BANNER "coordinate pattern general\n3 3 2\n2 1\n3 2\n", ones},
        {BANNER "array real general\n3 3\n0\n5\n0\n0\n0\n1e3\n0\n0\n0\n", general},
        {BANNER "array integer general\n3 3\n0 5 0\n% column 2\n0 0 1000 0\n0 0", general},
        {BANNER "array real symmetric\n3 3\n7\n5\n0\n7\n1000\n7\n", both},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        check_matrix(parse(rows[i].text), 3, rows[i].bytes);
    static const uint64_t pattern_both[] = {0, 1, 1, 0};
    check_matrix(parse(BANNER "coordinate pattern symmetric\n2 2 1\n2 1\n"), 2, pattern_both);
    static const uint64_t none[] = {0, 0, 0, 0};
    check_matrix(parse(BANNER "coordinate real general\n2 2 0\n"), 2, none);
}

static void bad_matrix_market_files_are_refused_with_line_and_column(void **state)
{
    (void)state;
    refused(HOP_ERR_SYNTAX, "x.csv:1:1", "banner", "%MatrixMarket matrix coordinate real general\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:16", "'vector' is no object", "%%MatrixMarket vector coordinate real general\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:23", "coordinate or array", BANNER "dense real general\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:34", "real or integer or pattern", BANNER "coordinate double general\n");
    refused(HOP_ERR_INVALID, "x.csv:1:34", "complex", BANNER "coordinate complex general\n");
    refused(HOP_ERR_INVALID, "x.csv:1:39", "a matrix that is Hermitian", BANNER "coordinate real Hermitian\n");
    refused(HOP_ERR_INVALID, "x.csv:1:39", "skew-symmetric", BANNER "coordinate real skew-symmetric\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:38", "the symmetry is missing", BANNER "coordinate real\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:47", "unexpected 'now'", BANNER "coordinate real general now\n");
    refused(HOP_ERR_SYNTAX, "x.csv:1:29", "'pattern' is no kind of number in an array",
            BANNER "array pattern general\n");
    refused(HOP_ERR_SYNTAX, "x.csv:3:1", "size line is missing", BANNER "coordinate real general\n% nothing\n");
    refused(HOP_ERR_INVALID, "x.csv:2:1", "not square: 3 rows of 4 numbers", BANNER "coordinate real general\n3 4 1\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:1", "1 to 65536", BANNER "coordinate real general\n65537 65537 1\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:1", "'0' is no number of rows", BANNER "coordinate real general\n0 0 0\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:4", "number of entries is missing", BANNER "coordinate real general\n3 3\n");
    refused(HOP_ERR_SYNTAX, "x.csv:2:5", "unexpected '9'", BANNER "array real general\n3 3 9\n");
    refused(HOP_ERR_SYNTAX, "x.csv:3:1", "'0' is no row", BANNER "coordinate real general\n3 3 1\n0 1 5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:3:3", "'4' is no column", BANNER "coordinate real general\n3 3 1\n1 4 5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:3:4", "number of bytes is missing", BANNER "coordinate real general\n3 3 1\n1 2\n");
    refused(HOP_ERR_SYNTAX, "x.csv:3:5", "unexpected '1'", BANNER "coordinate pattern general\n3 3 1\n1 2 1\n");
    refused(HOP_ERR_INVALID, "x.csv:3:5", "'-5' is negative", BANNER "coordinate real general\n3 3 1\n1 2 -5\n");
    refused(HOP_ERR_INVALID, "x.csv:3:5", "half a byte", BANNER "coordinate real general\n3 3 1\n1 2 0.25\n");
    refused(HOP_ERR_INVALID, "x.csv:3:1", "above the diagonal", BANNER "coordinate real symmetric\n3 3 1\n1 2 5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:4:1", "ends after 1 entry", BANNER "coordinate real general\n3 3 2\n1 2 5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:4:1", "1 entry, as the size line says",
            BANNER "coordinate real general\n3 3 1\n1 2 5\n1 2 5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:6:1", "4, as the size line says", BANNER "array real general\n2 2\n1\n2\n3\n");
    refused(HOP_ERR_SYNTAX, "x.csv:3:9", "4 entries, as the size line says",
            BANNER "array real general\n2 2\n1 2 3 4 5\n");
    refused(HOP_ERR_SYNTAX, "x.csv:4:1", "4 entries, as the size line says",
            BANNER "array real general\n2 2\n1 2 3 4\n5\n");
}

/* ---- patterns ---- */

/* The places of ranks in a grid, worked out anew: counted up like an odometer whose last (column: first) wheel runs
 * fastest. */
struct grid {
    unsigned dimensions;
    uint32_t extent[6], count;
    uint32_t at[4096][6];
};

static void lay_out(struct grid *grid, bool column)
{
    memset(grid->at, 0, sizeof grid->at);
    grid->count = 1;
    for (unsigned d = 0; d < grid->dimensions; d++)
        grid->count *= grid->extent[d];
    assert_true(grid->count <= 4096);
    for (uint32_t r = 1; r < grid->count; r++) {
        memcpy(grid->at[r], grid->at[r - 1], sizeof grid->at[r]);
        for (unsigned i = 0; i < grid->dimensions; i++) {
            unsigned d = column ? i : grid->dimensions - 1 - i;
            if (++grid->at[r][d] < grid->extent[d])
                break;
            grid->at[r][d] = 0;
        }
    }
}

/* The dimension along which two ranks are neighbours, 6: they are none. */
static unsigned neighbours_along(const struct grid *grid, uint32_t a, uint32_t b, bool wrap)
{
    unsigned apart = 0, along = 6;
    for (unsigned d = 0; d < grid->dimensions; d++) {
        uint32_t x = grid->at[a][d], y = grid->at[b][d], gap = x > y ? x - y : y - x;
        if (gap == 0)
            continue;
        apart += gap == 1 || (wrap && gap == grid->extent[d] - 1) ? 1 : 2;
        along = d;
    }
    return apart == 1 ? along : 6;
}

static void stencils_send_to_face_neighbours_in_any_grid(void **state)
{
    (void)state;
    static struct grid grids[] = {
        {.dimensions = 1, .extent = {1}},          {.dimensions = 1, .extent = {7}},
        {.dimensions = 2, .extent = {4, 4}},       {.dimensions = 2, .extent = {3, 2}},
        {.dimensions = 3, .extent = {2, 2, 4}},    {.dimensions = 3, .extent = {1, 5, 3}},
        {.dimensions = 4, .extent = {2, 3, 1, 4}}, {.dimensions = 6, .extent = {2, 3, 2, 2, 3, 2}}};
    for (unsigned i = 0; i < 4 * (sizeof grids / sizeof *grids); i++) {
        struct grid *grid = &grids[i / 4];
        bool wrap = i & 1, column = i & 2;
        char text[64] = "stencil:";
        for (unsigned d = 0; d < grid->dimensions; d++)
            (void)snprintf(text + strlen(text), sizeof text - strlen(text), d ? "x%u" : "%u", grid->extent[d]);
        strcat(text, wrap ? ",wrap" : "");
        strcat(text, column ? ",order=column" : ",order=row");
        strcat(text, ",weight=3,bytes=10");
        lay_out(grid, column);
        struct hop_traffic *t = pattern(text);
        check_flows(t);
        assert_int_equal(hop_traffic_ranks(t), grid->count);
        uint32_t flows = 0;
        for (uint32_t a = 0; a < grid->count; a++) {
            for (uint32_t b = 0; b < grid->count; b++) {
                unsigned d = neighbours_along(grid, a, b, wrap);
                flows += d < 6;
                assert_int_equal(bytes_of(t, a, b, HOP_MEMORY_DEVICE), d == 6 ? 0 : d == 0 ? 30 : 10);
            }
        }
        assert_int_equal(hop_traffic_count(t), flows);
        for (uint32_t f = 0; f < flows; f++)
            assert_int_equal(hop_traffic_flows(t)[f].messages[HOP_MEMORY_DEVICE], 1);
        hop_traffic_destroy(t);
    }
}

/* A pattern is what the generator's schedule moves. Takes the schedule. */
static void check_generator(const char *text, struct hop_schedule *s)
{
    struct hop_traffic *t = pattern(text), *moved = NULL;
    CHECK(hop_traffic_of_schedule(s, &moved, D));
    check_same(t, moved);
    hop_traffic_destroy(moved);
    hop_traffic_destroy(t);
    hop_schedule_destroy(s);
}

static void patterns_are_what_the_generators_make(void **state)
{
    (void)state;
    static const char *const devices[] = {"rank0",  "rank1",  "rank2",  "rank3",  "rank4",  "rank5",
                                          "rank6",  "rank7",  "rank8",  "rank9",  "rank10", "rank11",
                                          "rank12", "rank13", "rank14", "rank15", "rank16", "rank17"};
    struct hop_schedule *s = NULL;
    static const struct {
        const char *text;
        uint32_t ranks;
        struct hop_grid grid;
    } halos[] = {{"halo:4x4,order=column", 16, {2, {4, 4}, {0}, false, false}},
                 {"stencil:4x4,wrap,order=column", 16, {2, {4, 4}, {0}, true, false}},
                 {"halo:2x2x4,wrap,weight=3,order=column", 16, {3, {2, 2, 4}, {3, 1, 1}, true, false}},
                 {"halo:3x2x3,weights=1/2.5/0.5,order=column", 18, {3, {3, 2, 3}, {1, 2.5, 0.5}, false, false}},
                 {"halo:3x2x3,wrap,weights=1x2.5x0.5,order=column", 18, {3, {3, 2, 3}, {1, 2.5, 0.5}, true, false}},
                 {"halo:12,order=column", 12, {1, {12}, {0}, false, false}}};
    for (unsigned i = 0; i < sizeof halos / sizeof *halos; i++) {
        struct hop_ranks ranks = {devices, halos[i].ranks};
        CHECK(hop_make_halo(&ranks, &halos[i].grid, MIB, &s, D));
        check_generator(halos[i].text, s);
    }
    struct hop_ranks ranks = {devices, 13};
    CHECK(hop_make_alltoall(&ranks, HOP_ALLTOALL_SHIFT, 4096, &s, D));
    check_generator("alltoall:13,bytes=4KiB", s);
    CHECK(hop_make_ring(&ranks, 1, MIB, &s, D));
    check_generator("ring:13", s);
    CHECK(hop_make_alltoall(&ranks, HOP_ALLTOALL_NAIVE, MIB, &s, D));
    check_generator("coll:13", s);
}

/* Groups of ranks that differ in the first coordinate only: 4x2x2 has {0 4 8 12} {1 5 9 13} {2 6 10 14} {3 7 11 15}. */
static void coll_is_an_alltoall_along_the_first_dimension(void **state)
{
    (void)state;
    for (unsigned column = 0; column < 2; column++) {
        struct hop_traffic *t = pattern(column ? "coll:4x2x2,order=column" : "coll:4x2x2");
        check_flows(t);
        assert_int_equal(hop_traffic_count(t), 4 * 4 * 3);
        for (uint32_t a = 0; a < 16; a++) {
            for (uint32_t b = 0; b < 16; b++) {
                bool same = column ? a / 4 == b / 4 : a % 4 == b % 4;
                assert_int_equal(bytes_of(t, a, b, HOP_MEMORY_DEVICE), same && a != b ? MIB : 0);
            }
        }
        hop_traffic_destroy(t);
    }
}

/* What goes from the ranks of a set to the others. */
static uint64_t cut_of(const struct hop_traffic *t, uint32_t set)
{
    uint64_t bytes = 0;
    const struct hop_traffic_flow *flow = hop_traffic_flows(t);
    for (uint32_t i = hop_traffic_count(t); i > 0; i--, flow++) {
        if ((set >> flow->from & 1) && !(set >> flow->to & 1))
            bytes += flow->bytes[HOP_MEMORY_DEVICE];
    }
    return bytes;
}

/* Faraji 2018, section 6.4.2: the weighted 3-D stencil sends 24 units between the halves of 16 GPUs, 4 at best. */
static void cuts_are_those_of_the_thesis(void **state)
{
    (void)state;
    struct hop_traffic *t = pattern("stencil:2x2x4,weight=3,bytes=1");
    uint64_t least = UINT64_MAX;
    uint32_t sets = 0;
    assert_int_equal(cut_of(t, 0x00ff), 24);
    assert_int_equal(cut_of(t, 0xff00), 24);
    for (uint32_t set = 0; set < 1u << 16; set++) {
        if (__builtin_popcount(set) != 8)
            continue;
        uint64_t cut = cut_of(t, set);
        least = cut < least ? cut : least;
        sets++;
    }
    assert_int_equal(sets, 12870);
    assert_int_equal(least, 4);
    hop_traffic_destroy(t);
    t = pattern("coll:4x2x2,bytes=1"); /* every group of four is torn, two and two, and need not be */
    assert_int_equal(cut_of(t, 0x00ff), 4 * 2 * 2);
    assert_int_equal(cut_of(t, 0x3333), 0);
    hop_traffic_destroy(t);
}

static void pattern_settings_are_taken(void **state)
{
    (void)state;
    struct hop_traffic *t = NULL;
    CHECK(hop_pattern_traffic("ring:3,bytes=5kB,memory=host", HOP_MEMORY_DEVICE, &t, D));
    assert_int_equal(hop_traffic_bytes(t, HOP_MEMORY_HOST), 15000);
    assert_int_equal(hop_traffic_bytes(t, HOP_MEMORY_DEVICE), 0);
    hop_traffic_destroy(t);
    CHECK(hop_pattern_traffic("alltoall:3", HOP_MEMORY_HOST, &t, D));
    assert_int_equal(hop_traffic_bytes(t, HOP_MEMORY_HOST), 6 * MIB);
    hop_traffic_destroy(t);
    CHECK(hop_pattern_traffic("alltoall:3,memory=device", HOP_MEMORY_HOST, &t, D));
    assert_int_equal(hop_traffic_bytes(t, HOP_MEMORY_DEVICE), 6 * MIB);
    hop_traffic_destroy(t);
    const char *spelling, *summary;
    size_t count = 0;
    for (; hop_pattern_at(count, &spelling, &summary); count++)
        assert_true(strchr(spelling, ':') && *summary);
    assert_int_equal(count, 12);
}

static void bad_patterns_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *words;
        enum hop_status status;
    } rows[] = {
        {"stencl:4x4", "stencil:4x4?", HOP_ERR_NOT_FOUND},
        {"", "is no pattern", HOP_ERR_NOT_FOUND},
        {"matrix.csv", "is no pattern", HOP_ERR_NOT_FOUND},
        {"stencil", "stencil does not say how many ranks", HOP_ERR_SYNTAX},
        {"stencil:", "as in stencil:4x4", HOP_ERR_SYNTAX},
        {"stencil:4x", "'4x' is no such grid", HOP_ERR_SYNTAX},
        {"stencil:4xx4", "is no such grid", HOP_ERR_SYNTAX},
        {"stencil:4x0", "extents above 0", HOP_ERR_SYNTAX},
        {"stencil:4x-1", "is no such grid", HOP_ERR_SYNTAX},
        {"stencil:2x2x2x2x2x2x2", "1 to 6 extents", HOP_ERR_SYNTAX},
        {"stencil:256x257", "at most 65536 ranks", HOP_ERR_LIMIT},
        {"stencil:99999999999x99999999999", "too many ranks", HOP_ERR_LIMIT},
        {"ring:4x4", "a number of ranks", HOP_ERR_SYNTAX},
        {"alltoall:65536", "at most 33554432", HOP_ERR_LIMIT},
        {"stencil:4x4,wrapp", "'wrap'?", HOP_ERR_SYNTAX},
        {"ring:4,wrap", "no setting of ring", HOP_ERR_SYNTAX},
        {"coll:4x2,weight=3", "no setting of coll", HOP_ERR_SYNTAX},
        {"stencil:4x4,", "'' is no setting", HOP_ERR_SYNTAX},
        {"stencil:4x4,wrap=1", "has a value", HOP_ERR_SYNTAX},
        {"stencil:4x4,bytes", "has no value", HOP_ERR_SYNTAX},
        {"stencil:4x4,bytes=1,bytes=2", "comes second", HOP_ERR_INVALID},
        {"stencil:4x4,weight=3,weights=1/1", "weight or weights", HOP_ERR_INVALID},
        {"stencil:4x4,weight=0", "is no weight", HOP_ERR_SYNTAX},
        {"stencil:4x4,weight=-3", "is no weight", HOP_ERR_SYNTAX},
        {"stencil:4x4,weight=nan", "is no weight", HOP_ERR_SYNTAX},
        {"stencil:4x4,weight=1e999", "is no weight", HOP_ERR_SYNTAX},
        {"stencil:4x4,weight=", "is no weight", HOP_ERR_SYNTAX},
        {"stencil:4x4,weights=3/1/1", "2 numbers above 0", HOP_ERR_SYNTAX},
        {"stencil:4x4,weights=3", "are no weights", HOP_ERR_SYNTAX},
        {"stencil:4x4,weights=3/", "are no weights", HOP_ERR_SYNTAX},
        {"stencil:4x4,weights=3,1", "'/' between", HOP_ERR_SYNTAX},
        {"stencil:4x4,bytes=0", "moves nothing", HOP_ERR_INVALID},
        {"stencil:4x4,bytes=-1", "negative", HOP_ERR_SYNTAX},
        {"stencil:4x4,bytes=2EiB", "too large", HOP_ERR_LIMIT},
        {"stencil:4x4,bytes=1EiB,weight=2", "2^60", HOP_ERR_LIMIT},
        {"stencil:4x4,bytes=1,weight=0.1", "1 byte", HOP_ERR_LIMIT},
        {"stencil:4x4,memory=nvme", "memory=host or memory=device", HOP_ERR_SYNTAX},
        {"stencil:4x4,order=fortran", "order=column", HOP_ERR_SYNTAX},
        {"stencil:16x16,bytes=1EiB", "2^63", HOP_ERR_INVALID},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hop_traffic *t = NULL;
        struct hop_diag diag = {0};
        enum hop_status status = hop_pattern_traffic(rows[i].text, HOP_MEMORY_DEVICE, &t, &diag);
        if (status == HOP_OK)
            fail_msg("taken: %s", rows[i].text);
        assert_null(t);
        check_refusal(status, rows[i].status, &diag, rows[i].words);
        assert_string_equal(diag.place, rows[i].text);
    }
}

/* ---- schedules ---- */

static struct hop_schedule *parse_schedule(const char *text)
{
    struct hop_schedule *s = NULL;
    CHECK(hop_schedule_parse("x.hop", text, strlen(text), &s, D));
    return s;
}

static struct hop_traffic *moved_by(const char *text)
{
    struct hop_traffic *t = NULL;
    struct hop_schedule *s = parse_schedule(text);
    CHECK(hop_traffic_of_schedule(s, &t, D));
    hop_schedule_destroy(s);
    check_flows(t);
    return t;
}

static void copies_and_messages_of_a_schedule_count(void **state)
{
    (void)state;
    /* Devices in the order of their appearance are ranks: gpu7 0, gpu2 1, nic0 2, gpu1 3. */
    struct hop_traffic *t =
        moved_by("a: gpu7 -> gpu2 10; b: gpu2 -> nic0 20 via staged after a; w: work host0 5us\n"
                 "c: gpu7 -> gpu2 5 at 1us; r: reduce sum f32 gpu1:x gpu1:y -> gpu1:x 4\n"
                 "s: send nic0 -> gpu1 8 tag 3; v: receive nic0 -> gpu1 8 tag 3; z: gpu1 -> gpu7 0\n"
                 "l: gpu2:x -> gpu2:y 99\n");
    assert_int_equal(hop_traffic_ranks(t), 4);
    assert_int_equal(hop_traffic_count(t), 3);
    assert_int_equal(bytes_of(t, 0, 1, HOP_MEMORY_DEVICE), 15);
    assert_int_equal(flow_of(t, 0, 1)->messages[HOP_MEMORY_DEVICE], 2);
    assert_int_equal(bytes_of(t, 1, 2, HOP_MEMORY_DEVICE), 20);
    assert_int_equal(bytes_of(t, 2, 3, HOP_MEMORY_DEVICE), 8);
    assert_int_equal(flow_of(t, 2, 3)->messages[HOP_MEMORY_DEVICE], 1);
    hop_traffic_destroy(t);
    /* Ranks of the places; host bytes where both ends are host memory; nothing where a rank copies to itself. */
    t = moved_by(
        "a: 5@gpu0 -> 2@gpu0 10; b: 5@host0 -> 2@node1.host1 20; c: 2@gpu1 -> 5@host 40; d: 3@gpu0 -> 3@host0 9\n"
        "e: 2@host -> 5@hostile 1; w: work 7@gpu0 1us; x: work gpu0 1us\n");
    assert_int_equal(hop_traffic_ranks(t), 8);
    assert_int_equal(hop_traffic_count(t), 2);
    assert_int_equal(bytes_of(t, 5, 2, HOP_MEMORY_DEVICE), 10);
    assert_int_equal(bytes_of(t, 5, 2, HOP_MEMORY_HOST), 20);
    assert_int_equal(bytes_of(t, 2, 5, HOP_MEMORY_DEVICE), 41);
    hop_traffic_destroy(t);
}

static void schedules_whose_ranks_are_not_clear_are_refused(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *words;
    } rows[] = {
        {"a: gpu0 -> gpu1 1\nb: gpu0 -> host0 1", "x.hop:2:12", "host0, which belongs to no rank"},
        {"a: 0@gpu0 -> 1@gpu1 1\nb: gpu0 -> 2@gpu2 1", "x.hop:2:4", "gpu0 without a rank"},
        {"", "x.hop", "no device and no rank"},
    };
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hop_schedule *s = parse_schedule(rows[i].text);
        struct hop_traffic *t = NULL;
        struct hop_diag diag = {0};
        check_refusal(hop_traffic_of_schedule(s, &t, &diag), HOP_ERR_INVALID, &diag, rows[i].words);
        assert_null(t);
        assert_string_equal(diag.place, rows[i].place);
        hop_schedule_destroy(s);
    }
    struct hop_schedule *s = parse_schedule("a: 0@gpu0 -> 65536@gpu1 1");
    struct hop_traffic *t = NULL;
    struct hop_diag diag = {0};
    check_refusal(hop_traffic_of_schedule(s, &t, &diag), HOP_ERR_LIMIT, &diag, "rank 65536");
    hop_schedule_destroy(s);
}

/* Bytes that a collective's schedule moves between ranks: a ring allreduce sends 2 (n - 1) / n of the vector a rank. */
static void traffic_of_a_collective_is_its_closed_form(void **state)
{
    (void)state;
    static const char *const devices[] = {"gpu0", "gpu1", "gpu2", "gpu3"};
    struct hop_ranks ranks = {devices, 4};
    struct hop_collective_options options = {
        .kind = HOP_COLLECTIVE_ALLREDUCE, .algorithm = "ring", .vector_bytes = 4 * MIB, .type = HOP_TYPE_F32};
    struct hop_schedule *s = NULL;
    struct hop_traffic *t = NULL;
    CHECK(hop_make_collective(&ranks, &options, &s, D));
    CHECK(hop_traffic_of_schedule(s, &t, D));
    check_flows(t);
    assert_int_equal(hop_traffic_count(t), 4);
    for (uint32_t r = 0; r < 4; r++) {
        assert_int_equal(bytes_of(t, r, (r + 1) % 4, HOP_MEMORY_DEVICE), 6 * MIB);
        assert_int_equal(flow_of(t, r, (r + 1) % 4)->messages[HOP_MEMORY_DEVICE], 6);
    }
    hop_traffic_destroy(t);
    hop_schedule_destroy(s);
}

static void traffic_becomes_a_schedule(void **state)
{
    (void)state;
    static const char *const devices[] = {"gpu0", "gpu1", "gpu1", NULL}, *const hosts[] = {"host0", "host0", "host1",
                                                                                           NULL};
    struct hop_traffic *t = parse("# ranks 4\nfrom,to,host_bytes,device_bytes,host_messages,device_messages\n"
                                  "2,1,7,8,1,1\n0,1,4,0,1,0\n0,2,5,6,1,1\n"),
                       *again = NULL;
    struct hop_schedule *s = NULL;
    CHECK(hop_traffic_to_schedule(t, devices, hosts, &s, D));
    char *text = hop_schedule_to_text(s);
    assert_string_equal(text, "r0.to2: 0@gpu0 -> 2@gpu1 6B\n"
                              "r0.to1.host: 0@host0 -> 1@host0 4B\nr0.to2.host: 0@host0 -> 2@host1 5B\n"
                              "r2.to1: 2@gpu1 -> 1@gpu1 8B\nr2.to1.host: 2@host1 -> 1@host0 7B\n");
    free(text);
    CHECK(hop_traffic_of_schedule(s, &again, D)); /* but for the silent rank 3 */
    assert_int_equal(hop_traffic_ranks(again), 3);
    assert_memory_equal(hop_traffic_flows(again), hop_traffic_flows(t), 3 * sizeof *hop_traffic_flows(t));
    hop_traffic_destroy(again);
    hop_schedule_destroy(s);
    CHECK(hop_traffic_to_schedule(t, devices, NULL, &s, D));
    assert_int_equal(hop_schedule_count(s), 2);
    hop_schedule_destroy(s);
    struct hop_diag diag = {0};
    s = NULL;
    add(t, 3, 0, HOP_MEMORY_HOST, 1);
    check_refusal(hop_traffic_to_schedule(t, devices, hosts, &s, &diag), HOP_ERR_INVALID, &diag,
                  "rank 3, which has traffic, has no host memory");
    add(t, 0, 3, HOP_MEMORY_DEVICE, 1);
    check_refusal(hop_traffic_to_schedule(t, devices, NULL, &s, &diag), HOP_ERR_INVALID, &diag, "rank 3");
    assert_null(s);
    hop_traffic_destroy(t);
}

static void patterns_survive_as_schedules(void **state)
{
    (void)state;
    static const char *const texts[] = {"stencil:4x4,weight=3,wrap", "coll:4x2x2", "ring:16", "alltoall:16"};
    static const char *devices[16];
    static char names[16][32];
    for (unsigned r = 0; r < 16; r++) {
        (void)snprintf(names[r], sizeof names[r], "node%u.gpu%u", r / 8, r % 8);
        devices[r] = names[r];
    }
    for (unsigned i = 0; i < 4; i++) {
        struct hop_traffic *t = pattern(texts[i]);
        struct hop_schedule *s = NULL;
        CHECK(hop_traffic_to_schedule(t, devices, NULL, &s, D));
        assert_int_equal(hop_schedule_count(s), hop_traffic_count(t));
        struct hop_traffic *again = NULL;
        CHECK(hop_traffic_of_schedule(s, &again, D));
        check_same(t, again);
        hop_traffic_destroy(again);
        hop_schedule_destroy(s);
        check_text(t);
        hop_traffic_destroy(t);
    }
}

/* ---- files ---- */

static struct hop_traffic *load(const char *name)
{
    struct hop_traffic *t = NULL;
    char path[512];
    (void)snprintf(path, sizeof path, "%s%s", OWN_TRAFFIC, name);
    CHECK(hop_traffic_load(path, HOP_MEMORY_DEVICE, &t, D));
    check_flows(t);
    check_text(t);
    return t;
}

static void the_sample_files_are_what_they_say(void **state)
{
    (void)state;
    /* Ten halos of 1 MiB, counted together, and 64 KiB to the next rank but from the last. */
    struct hop_traffic *t = load("halo8-profile.csv"), *halo = pattern("halo:2x2x2,bytes=10MiB");
    for (uint32_t i = 0; i < 64; i++) {
        uint32_t from = i / 8, to = i % 8;
        assert_int_equal(bytes_of(t, from, to, HOP_MEMORY_DEVICE), bytes_of(halo, from, to, HOP_MEMORY_DEVICE));
        assert_int_equal(bytes_of(t, from, to, HOP_MEMORY_HOST), to == from + 1 ? 65536 : 0);
    }
    hop_traffic_destroy(halo);
    hop_traffic_destroy(t);
    t = load("pipeline6-matrix.csv");
    assert_int_equal(hop_traffic_ranks(t), 6);
    assert_int_equal(hop_traffic_bytes(t, HOP_MEMORY_DEVICE), 4 * MIB + 4 * MIB + 4 * MIB + 2 * 262144 + 4 * MIB + 512);
    assert_int_equal(bytes_of(t, 5, 0, HOP_MEMORY_DEVICE), 512);
    hop_traffic_destroy(t);
    t = load("ring8-symmetric.mtx");
    struct hop_traffic *ring = pattern("stencil:8,wrap,bytes=1MB");
    for (uint32_t i = 0; i < 64; i++)
        assert_int_equal(bytes_of(t, i / 8, i % 8, HOP_MEMORY_DEVICE), bytes_of(ring, i / 8, i % 8, HOP_MEMORY_DEVICE));
    hop_traffic_destroy(ring);
    hop_traffic_destroy(t);
    struct hop_diag diag = {0};
    assert_int_equal(hop_traffic_load(OWN_TRAFFIC "none", HOP_MEMORY_DEVICE, &t, &diag), HOP_ERR_IO);
    assert_int_equal(hop_traffic_load(OWN_TRAFFIC "ring8-symmetric.mtx", (enum hop_memory)7, &t, &diag),
                     HOP_ERR_INVALID);
}

/* The same numbers as a plain matrix, with names, as Matrix Market in both formats and as a profile. */
static void all_forms_say_the_same(void **state)
{
    (void)state;
    for (uint32_t round = 0; round < 20; round++) {
        enum { SIZE = 16384 };
        static char texts[5][SIZE];
        size_t used[5] = {0};
        uint32_t n = 2 + random_below(9), entries = 0;
        uint64_t bytes[100];
        for (uint32_t i = 0; i < n * n; i++)
            bytes[i] = random_below(3) ? 0 : random_below(1u << 30);
        for (uint32_t i = 0; i < n * n; i++)
            entries += bytes[i] > 0;
#define PUT(form, ...) used[form] += (size_t)snprintf(texts[form] + used[form], SIZE - used[form], __VA_ARGS__)
        PUT(1, "x");
        for (uint32_t i = 0; i < n; i++)
            PUT(1, "\tn%u", i);
        PUT(1, "\n");
        PUT(2, "%scoordinate integer general\n%u %u %u\n", BANNER, n, n, entries);
        PUT(3, "%sarray real general\n%u %u\n", BANNER, n, n);
        PUT(4, "# ranks %u\nfrom to device_bytes\n", n);
        for (uint32_t i = 0; i < n * n; i++) {
            uint32_t row = i / n, column = i % n;
            if (column == 0)
                PUT(1, "n%u", row);
            PUT(0, column + 1 < n ? "%" PRIu64 "," : "%" PRIu64 "\n", bytes[i]);
            PUT(1, column + 1 < n ? "\t%" PRIu64 : "\t%" PRIu64 "\n", bytes[i]);
            if (bytes[i] > 0)
                PUT(2, "%u %u %" PRIu64 "\n", row + 1, column + 1, bytes[i]);
            PUT(3, "%.10e\n", (double)bytes[column * n + row]);
            PUT(4, "%u %u %" PRIu64 "\n", row, column, bytes[i]);
        }
        for (unsigned form = 0; form < 5; form++)
            check_matrix(parse(texts[form]), n, bytes);
    }
}

/* Memory is proportional to the flows: 65,536 ranks, three of which speak. */
static void many_silent_ranks_cost_nothing(void **state)
{
    (void)state;
    struct hop_traffic *t = parse("# ranks 65536\nfrom,to,device_bytes\n65535,0,1\n0,65535,2\n7,65534,3\n");
    assert_int_equal(hop_traffic_ranks(t), 65536);
    assert_int_equal(hop_traffic_count(t), 3);
    assert_int_equal(bytes_of(t, 65535, 0, HOP_MEMORY_DEVICE), 1);
    hop_traffic_destroy(t);
    t = parse(BANNER "coordinate real general\n65536 65536 1\n65536 1 9\n");
    assert_int_equal(bytes_of(t, 65535, 0, HOP_MEMORY_DEVICE), 9);
    hop_traffic_destroy(t);
}

/* A line that is longer than any matrix may be is refused, and not read to its end. */
static void too_many_cells_are_refused(void **state)
{
    (void)state;
    size_t cells = HOP_TRAFFIC_RANKS + 2;
    char *text = malloc(2 * cells + 1);
    assert_non_null(text);
    for (size_t i = 0; i < cells; i++)
        memcpy(text + 2 * i, "1 ", 3);
    refused(HOP_ERR_LIMIT, "x.csv:1:131075", "at most 65536 ranks", text);
    free(text);
}

TEST_GROUP(traffic)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(flows_are_ascending_however_they_were_added),
        cmocka_unit_test(many_pairs_in_the_worst_order_are_sorted),
        cmocka_unit_test(messages_are_known_if_they_are_of_all_parts),
        cmocka_unit_test(what_cannot_be_added_is_refused_and_changes_nothing),
        cmocka_unit_test(merging_is_adding_every_flow),
        cmocka_unit_test(matrices_are_read_with_and_without_names),
        cmocka_unit_test(sizes_are_whole_bytes_afterwards),
        cmocka_unit_test(the_largest_traffic_is_written_and_read),
        cmocka_unit_test(bytes_of_a_matrix_are_of_the_memory_asked_for),
        cmocka_unit_test(bad_matrices_are_refused_with_line_and_column),
        cmocka_unit_test(what_is_no_traffic_is_named),
        cmocka_unit_test(schedules_are_not_taken_for_traffic),
        cmocka_unit_test(profiles_name_their_columns),
        cmocka_unit_test(bad_profiles_are_refused_with_line_and_column),
        cmocka_unit_test(json_of_a_program_adds_up),
        cmocka_unit_test(bad_json_is_refused_with_its_place),
        cmocka_unit_test(matrix_market_files_are_read),
        cmocka_unit_test(bad_matrix_market_files_are_refused_with_line_and_column),
        cmocka_unit_test(stencils_send_to_face_neighbours_in_any_grid),
        cmocka_unit_test(patterns_are_what_the_generators_make),
        cmocka_unit_test(coll_is_an_alltoall_along_the_first_dimension),
        cmocka_unit_test(cuts_are_those_of_the_thesis),
        cmocka_unit_test(pattern_settings_are_taken),
        cmocka_unit_test(bad_patterns_are_refused),
        cmocka_unit_test(copies_and_messages_of_a_schedule_count),
        cmocka_unit_test(schedules_whose_ranks_are_not_clear_are_refused),
        cmocka_unit_test(traffic_of_a_collective_is_its_closed_form),
        cmocka_unit_test(traffic_becomes_a_schedule),
        cmocka_unit_test(patterns_survive_as_schedules),
        cmocka_unit_test(the_sample_files_are_what_they_say),
        cmocka_unit_test(all_forms_say_the_same),
        cmocka_unit_test(many_silent_ranks_cost_nothing),
        cmocka_unit_test(too_many_cells_are_refused),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
