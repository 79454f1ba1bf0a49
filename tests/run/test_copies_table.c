/* SPDX-License-Identifier: BSD-3-Clause */
/* Copies tables: what is read, what is refused and where, round trips, and which row counts. */
#include "test.h"

#include "run/copies_table.h"

static const char example[] = "# machine: two sockets, 1 GPU\n"
                              "# 2026-11-22, medians of 20\n"
                              "#\n"
                              "# collective   ranks       from staged    of   packet\n"
                              "allgather         16          0     0    15        -\n"
                              "allgather         16      16KiB    10    15   512KiB   # 61.2 us\n"
                              "allgather         16       1MiB     4    15     2MiB\n"
                              "allgather          8       4KiB     3     7     1MiB   # not # sure\n"
                              "any               16     100000    15    15       1B\n";

static struct hop_table parse(const char *text)
{
    struct hop_table table = {.kind = &hop_copies_kind};
    CHECK(hop_table_parse(&table, "t", text, strlen(text), D));
    return table;
}

static void a_table_is_read(void **state)
{
    (void)state;
    struct hop_table table = parse(example);
    assert_int_equal(table.count, 5);
    assert_int_equal(table.note_count, 3);
    assert_string_equal(table.notes[0], "machine: two sockets, 1 GPU");
    assert_string_equal(table.notes[1], "2026-11-22, medians of 20");
    assert_string_equal(table.notes[2], "");
    const struct hop_copies_row *row = hop_copies_row_at(&table, 2); /* by ranks, then size */
    assert_int_equal(hop_copies_row_at(&table, 0)->ranks, 8);
    assert_string_equal(hop_copies_row_at(&table, 0)->remark, "not # sure");
    assert_int_equal(row->collective, HOP_COLLECTIVE_ALLGATHER);
    assert_int_equal(row->ranks, 16);
    assert_int_equal(row->from_bytes, 16384);
    assert_int_equal(row->staged, 10);
    assert_int_equal(row->of, 15);
    assert_int_equal(row->packet_bytes, 524288);
    assert_string_equal(row->remark, "61.2 us");
    assert_int_equal(row->line, 6);
    assert_int_equal(hop_copies_row_at(&table, 1)->packet_bytes, 0);
    assert_null(hop_copies_row_at(&table, 1)->remark);
    assert_int_equal(hop_copies_row_at(&table, 4)->collective, HOP_COPIES_ANY);
    assert_int_equal(hop_copies_row_at(&table, 4)->packet_bytes, 1);
    hop_table_finish(&table);
    /* Without a newline at the end, with those of Windows, with tabs; another name for broadcast. */
    table = parse("\r\n\tbcast\t2 0 1 1 8\r\n \r\n# below the first row: no note\nbarrier 2 0 0 1 -#x");
    assert_int_equal(table.count, 2);
    assert_int_equal(table.note_count, 0);
    assert_int_equal(hop_copies_row_at(&table, 0)->collective, HOP_COLLECTIVE_BROADCAST);
    assert_string_equal(hop_copies_row_at(&table, 1)->remark, "x");
    hop_table_finish(&table);
}

static void what_is_wrong_is_said_with_its_place(void **state)
{
    (void)state;
    static const struct {
        const char *text, *place, *what, *expected;
    } cases[] = {
        {"", "t:1:1", "no rows", "allgather 16 16KiB 10 15 512KiB"},
        {"# nothing\n\n", "t:2:1", "no rows", ""},
        {"\nallgathr 16 0 0 15 -", "t:2:1", "'allgathr' is no collective", "allgather, or another"},
        {"xyz 16 0 0 15 -", "t:1:1", "'xyz' is no collective", "or any"},
        {"any", "t:1:4", "the number of ranks is missing", "1 to 1048576"},
        {"any 0 0 0 1 -", "t:1:5", "'0' is no number of ranks", "1 to 1048576"},
        {"any 1048577 0 0 1 -", "t:1:5", "'1048577' is no number of ranks", ""},
        {"any 99999999999999999999 0 0 1 -", "t:1:5", "is no number of ranks", ""},
        {"any -1 0 0 1 -", "t:1:5", "'-1' is no number of ranks", ""},
        {"any 2  # 0 0 1 -", "t:1:8", "the size that the row begins at is missing", "16KiB"},
        {"any 2 3KiX 0 1 -", "t:1:7", "3KiX", ""},
        {"any 2 0 x 1 -", "t:1:9", "'x' is no number of staged copies", "0 to 1048576"},
        {"any 2 0 1", "t:1:10", "the number of all copies is missing", "1 to"},
        {"any 2 0 0 0 -", "t:1:11", "'0' is no number of all copies", "1 to"},
        {"any 2 0 2  1 1MiB", "t:1:12", "2 of 1 copies staged", "no more"},
        {"any 2 0 1 1", "t:1:12", "the packet size is missing", "512KiB"},
        {"any 2 0 1 1 -", "t:1:13", "'-' is no packet size", "512KiB"},
        {"any 2 0 1 1 0", "t:1:13", "'0' is no packet size", "1 byte"},
        {"any 2 0 0 1 4KiB", "t:1:13", "'4KiB' is no packet size", "-, as no copy is staged"},
        {"any 2 0 0 1", "t:1:12", "the packet size is missing", "-"},
        {"any 2 0 1 1 1.5B", "t:1:13", "", ""},
        {"any 2 0 0 1 - 9", "t:1:15", "unexpected '9'", "#"},
        {"any 2 0 0 1 -\nany 3 0 0 1 -\nany 2 0B 1 1 1", "t:3:1", "a second row for any, 2 ranks, from 0",
         "the first is in line 1"},
    };
    for (size_t i = 0; i < HOP_COUNT(cases); i++) {
        struct hop_table table = {.kind = &hop_copies_kind};
        struct hop_diag diag = {0};
        if (hop_table_parse(&table, "t", cases[i].text, strlen(cases[i].text), &diag) == HOP_OK)
            fail_msg("read: %s", cases[i].text);
        if (strcmp(diag.place, cases[i].place) != 0 || !strstr(diag.what, cases[i].what) ||
            !strstr(diag.expected, cases[i].expected))
            fail_msg("%s -> %s: %s (%s)", cases[i].text, diag.place, diag.what, diag.expected);
        assert_int_equal(table.count, 0);
        assert_null(table.rows);
    }
}

static void a_missing_file_is_said(void **state)
{
    (void)state;
    struct hop_table table = {.kind = &hop_copies_kind};
    struct hop_diag diag = {0};
    assert_int_equal(hop_table_load(&table, "/nonexistent/copies", &diag), HOP_ERR_IO);
    assert_non_null(strstr(diag.place, "/nonexistent/copies"));
}

static void notes_have_a_limit(void **state)
{
    (void)state;
    struct hop_table table = {.kind = &hop_copies_kind};
    struct hop_diag diag = {0};
    char *text = calloc(1, 3 * HOP_COPIES_NOTES + 64);
    assert_non_null(text);
    for (uint32_t i = 0; i <= HOP_COPIES_NOTES; i++)
        memcpy(text + 3 * i, "#n\n", 3);
    memcpy(text + 3 * HOP_COPIES_NOTES + 3, "any 2 0 0 1 -", 14);
    assert_int_equal(hop_table_parse(&table, "t", text, strlen(text), &diag), HOP_ERR_LIMIT);
    assert_string_equal(diag.place, "t:1025:1");
    CHECK(hop_table_parse(&table, "t", text + 3, strlen(text + 3), D));
    assert_int_equal(table.note_count, HOP_COPIES_NOTES);
    hop_table_finish(&table);
    free(text);
}

static void rows_have_a_limit(void **state)
{
    (void)state;
    struct hop_table table = {.kind = &hop_copies_kind};
    struct hop_diag diag = {0};
    struct hop_copies_row row = {.collective = HOP_COPIES_ANY, .ranks = 2, .of = 1};
    for (row.from_bytes = 0; row.from_bytes < HOP_COPIES_ROWS; row.from_bytes++)
        CHECK(hop_copies_add(&table, &row, D));
    assert_int_equal(hop_copies_add(&table, &row, &diag), HOP_ERR_LIMIT);
    assert_int_equal(table.count, HOP_COPIES_ROWS);
    hop_table_finish(&table);
}

static void assert_same(const struct hop_table *a, const struct hop_table *b)
{
    assert_int_equal(a->count, b->count);
    assert_int_equal(a->note_count, b->note_count);
    for (uint32_t i = 0; i < a->note_count; i++)
        assert_string_equal(a->notes[i], b->notes[i]);
    for (uint32_t i = 0; i < a->count; i++) {
        const struct hop_copies_row *x = hop_copies_row_at(a, i), *y = hop_copies_row_at(b, i);
        assert_true(x->collective == y->collective && x->ranks == y->ranks && x->from_bytes == y->from_bytes);
        assert_true(x->staged == y->staged && x->of == y->of && x->packet_bytes == y->packet_bytes);
        assert_true(!x->remark == !y->remark);
        if (x->remark)
            assert_string_equal(x->remark, y->remark);
    }
}

static void assert_reads_back(const struct hop_table *table)
{
    char *text = hop_table_to_text(table), *again;
    assert_non_null(text);
    struct hop_table read = parse(text);
    assert_same(table, &read);
    again = hop_table_to_text(&read);
    assert_string_equal(text, again);
    hop_table_finish(&read);
    free(text);
    free(again);
}

static void what_is_written_reads_back_to_the_same(void **state)
{
    (void)state;
    struct hop_table table = parse(example);
    char *text = hop_table_to_text(&table);
    assert_string_equal(text, "# machine: two sockets, 1 GPU\n"
                              "# 2026-11-22, medians of 20\n"
                              "#\n"
                              "# collective   ranks       from staged    of   packet\n"
                              "allgather          8       4KiB     3     7     1MiB   # not # sure\n"
                              "allgather         16         0B     0    15        -\n"
                              "allgather         16      16KiB    10    15   512KiB   # 61.2 us\n"
                              "allgather         16       1MiB     4    15     2MiB\n"
                              "any               16      100kB    15    15       1B\n");
    free(text);
    assert_reads_back(&table);
    hop_table_finish(&table);
    for (uint32_t i = 0; i < 300; i++) {
        struct hop_table made = {.kind = &hop_copies_kind};
        CHECK(hop_table_note(&made, " a\tb\n# c ", D));
        for (uint32_t n = 1 + random_below(40); n > 0; n--) {
            struct hop_copies_row row = {.collective = random_below(HOP_COPIES_ANY + 1),
                                         .ranks = 1 + random_below(3 + n),
                                         .from_bytes = (uint64_t)random_below(1 << 20) << random_below(40),
                                         .of = 1 + random_below(HOP_COPIES_COUNT)};
            row.staged = random_below(row.of + 1);
            row.packet_bytes = row.staged ? 1 + ((uint64_t)random_below(1 << 20) << random_below(40)) : 0;
            row.remark = random_below(2) ? "median\r1 us\n# all peer 2 us " : random_below(2) ? " " : NULL;
            struct hop_diag diag = {0};
            if (hop_copies_add(&made, &row, &diag) != HOP_OK)
                assert_non_null(strstr(diag.what, "a second row"));
        }
        assert_string_equal(made.notes[0], "a b # c");
        assert_reads_back(&made);
        hop_table_finish(&made);
    }
}

static void a_row_out_of_range_is_not_added(void **state)
{
    (void)state;
    const struct hop_copies_row good = {
        .collective = HOP_COPIES_ANY, .ranks = 4, .staged = 1, .of = 3, .packet_bytes = 1024};
    struct hop_copies_row bad[8];
    struct hop_table table = {.kind = &hop_copies_kind};
    for (size_t i = 0; i < HOP_COUNT(bad); i++)
        bad[i] = good;
    bad[0].collective++;
    bad[1].ranks = 0;
    bad[2].ranks = HOP_COPIES_COUNT + 1;
    bad[3].of = 0;
    bad[4].staged = 4;
    bad[5].packet_bytes = 0;
    bad[6].staged = 0;
    bad[7].from_bytes = HOP_BYTES_MAX + 1;
    for (size_t i = 0; i < HOP_COUNT(bad); i++) {
        struct hop_diag diag = {0};
        assert_int_equal(hop_copies_add(&table, &bad[i], &diag), HOP_ERR_INVALID);
        assert_true(diag.what[0] && diag.expected[0]);
    }
    assert_int_equal(table.count, 0);
    CHECK(hop_copies_add(&table, &good, D));
    assert_int_equal(hop_copies_add(&table, &good, NULL), HOP_ERR_INVALID);
    hop_table_finish(&table);
}

static uint32_t found_staged(const struct hop_table *table, const char *collective, uint32_t ranks, uint64_t bytes)
{
    const struct hop_copies_row *row = NULL;
    CHECK(hop_copies_find(table, collective, ranks, bytes, &row, D));
    return row->staged;
}

static void the_nearest_ranks_and_the_largest_size_not_above_count(void **state)
{
    (void)state;
    /* Every row is told by how many it has staged. */
    struct hop_table table = parse("allgather 4 1KiB 1 99 1\nallgather 4 4KiB 2 99 1\nallgather 4 1MiB 3 99 1\n"
                                   "allgather 8 2KiB 4 99 1\nallgather 8 1MiB 5 99 1\n"
                                   "allgather 16 0 6 99 1\n"
                                   "any 2 0 7 99 1\nany 6 64KiB 8 99 1\nbroadcast 9 0 9 99 1\n");
    static const struct {
        const char *collective;
        uint32_t ranks;
        uint64_t bytes;
        uint32_t staged;
    } cases[] = {
        {"allgather", 4, 0, 1},
        {"allgather", 4, 1023, 1},
        {"allgather", 4, 1024, 1},
        {"allgather", 4, 4095, 1},
        {"allgather", 4, 4096, 2},
        {"allgather", 4, (1 << 20) - 1, 2},
        {"allgather", 4, 1 << 20, 3},
        {"allgather", 4, HOP_BYTES_MAX, 3},
        {"allgather", 1, 4096, 2},
        {"allgather", 5, 4096, 2},
        {"allgather", 6, 4096, 2}, /* equally near to 4 and 8 */
        {"allgather", 7, 4096, 4},
        {"allgather", 8, 1, 4},
        {"allgather", 9, 1 << 20, 5},
        {"allgather", 12, 1 << 20, 5},
        {"allgather", 13, 1 << 20, 6},
        {"allgather", 1 << 20, 1, 6},
        {"allreduce", 2, 5, 7},
        {"allreduce", 4, 1 << 20, 7},
        {"allreduce", 5, 5, 8},
        {"my schedule", 6, 1 << 20, 8},
        {NULL, 3, 1, 7},
        {"any", 100, 1, 8},
        {"broadcast", 2, 1, 9},
        {"bcast", 2, 1, 9},
    };
    for (size_t i = 0; i < HOP_COUNT(cases); i++) {
        if (found_staged(&table, cases[i].collective, cases[i].ranks, cases[i].bytes) != cases[i].staged)
            fail_msg("case %zu: %u", i, found_staged(&table, cases[i].collective, cases[i].ranks, cases[i].bytes));
    }
    hop_table_finish(&table);
    table = parse("allgather 4 0 1 3 1\n");
    const struct hop_copies_row *row = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_copies_find(&table, "reduce", 4, 1, &row, &diag), HOP_ERR_NOT_FOUND);
    assert_string_equal(diag.place, "t");
    assert_non_null(strstr(diag.what, "reduce"));
    assert_non_null(strstr(diag.expected, "tune copies reduce"));
    assert_int_equal(hop_copies_find(&table, NULL, 4, 1, &row, &diag), HOP_ERR_NOT_FOUND);
    assert_non_null(strstr(diag.what, "no collective"));
    assert_null(row);
    hop_table_finish(&table);
}

static void staged_copies_are_spread_evenly(void **state)
{
    (void)state;
    const struct hop_copies_row one_of_two = {.staged = 1, .of = 2}, two_of_three = {.staged = 2, .of = 3};
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(hop_copies_row_staged(&one_of_two, 8, i), i % 2 == 1);
    for (uint32_t i = 0; i < 9; i++)
        assert_int_equal(hop_copies_row_staged(&two_of_three, 9, i), i % 3 > 0);
    for (uint32_t n = 0; n < 3000; n++) {
        struct hop_copies_row row = {.of = 1 + random_below(20)};
        row.staged = random_below(row.of + 1);
        uint32_t copies = n % 2 ? row.of : 1 + random_below(40), staged = 0;
        for (uint32_t i = 0; i < copies; i++) {
            staged += hop_copies_row_staged(&row, copies, i);
            double share = (double)row.staged * (i + 1) / row.of; /* never off by more than the rounding and one copy */
            assert_true(staged > share - 1.5 - 1e-9 && staged < share + 1.5 + 1e-9);
        }
        double exact = (double)row.staged * copies / row.of;
        assert_true(staged >= exact - 0.5 - 1e-9 && staged <= exact + 0.5 + 1e-9);
    }
}

TEST_GROUP(copies_table)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_table_is_read),
        cmocka_unit_test(what_is_wrong_is_said_with_its_place),
        cmocka_unit_test(a_missing_file_is_said),
        cmocka_unit_test(notes_have_a_limit),
        cmocka_unit_test(rows_have_a_limit),
        cmocka_unit_test(what_is_written_reads_back_to_the_same),
        cmocka_unit_test(a_row_out_of_range_is_not_added),
        cmocka_unit_test(the_nearest_ranks_and_the_largest_size_not_above_count),
        cmocka_unit_test(staged_copies_are_spread_evenly),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
