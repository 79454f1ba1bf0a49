/* SPDX-License-Identifier: BSD-3-Clause */
/* Placements: the file and its errors by line and column, devices in both orders, ranks put on devices. */
#include "hopcast/placement.h"

#include "hopcast/simulate.h"
#include "hopcast/timeline.h"
#include "test.h"

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *s = NULL;
    CHECK(hop_schedule_parse("x.hop", text, strlen(text), &s, D));
    return s;
}

static struct hop_placement *parse_placement(const char *text)
{
    struct hop_placement *p = NULL;
    CHECK(hop_placement_parse("x.map", text, strlen(text), &p, D));
    return p;
}

static void check_devices(const struct hop_placement *p, const char *const *devices, uint32_t count)
{
    assert_int_equal(hop_placement_count(p), count);
    for (uint32_t r = 0; r < count; r++)
        assert_string_equal(hop_placement_device(p, r), devices[r]);
}

static void lines_are_read_in_any_order(void **state)
{
    (void)state;
    static const char *const devices[] = {"node0.gpu0", "gpu7", "gpu7"};
    struct hop_placement *p = parse_placement("# ranks\n\n 2\tgpu7 # the last\r\n0 node0.gpu0\n1   gpu7");
    check_devices(p, devices, 3);
    hop_placement_destroy(p);
    hop_placement_destroy(NULL);
}

static void places_say_where_they_are_on_the_machine(void **state)
{
    (void)state;
    struct hop_placement *p = parse_placement("0 gpu3 cpu=12 bus=0000:4e:00.0 nic=mlx5_2 # all\n1 gpu0 nic=4b:00.0\n");
    const struct hop_rank_place *at = hop_placement_at(p, 0);
    assert_string_equal(at->device, "gpu3");
    assert_string_equal(at->bus_id, "0000:4e:00.0");
    assert_string_equal(at->nic, "mlx5_2");
    assert_int_equal(at->cpu, 12);
    at = hop_placement_at(p, 1);
    assert_null(at->bus_id);
    assert_string_equal(at->nic, "4b:00.0");
    assert_int_equal(at->cpu, HOP_NONE);
    hop_placement_destroy(p);
}

static void refused(enum hop_status code, const char *place, const char *words, const char *text)
{
    struct hop_placement *p = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_placement_parse("x.map", text, strlen(text), &p, &diag), code);
    assert_null(p);
    assert_string_equal(diag.place, place);
    if (!strstr(diag.what, words) && !strstr(diag.expected, words))
        fail_msg("'%s' neither in '%s' nor in '%s'", words, diag.what, diag.expected);
}

static void bad_lines_are_named_by_line_and_column(void **state)
{
    (void)state;
    refused(HOP_ERR_SYNTAX, "x.map:1:1", "'gpu0' is no rank", "gpu0 0");
    refused(HOP_ERR_SYNTAX, "x.map:2:2", "'-1' is no rank", "0 gpu0\n -1 gpu1");
    refused(HOP_ERR_LIMIT, "x.map:1:1", "1048575", "1048576 gpu0");
    refused(HOP_ERR_LIMIT, "x.map:1:1", "1048575", "99999999999999999999 gpu0");
    refused(HOP_ERR_SYNTAX, "x.map:1:2", "rank 0 has no device", "0");
    refused(HOP_ERR_SYNTAX, "x.map:1:3", "rank 0 has no device", "0 #gpu0");
    refused(HOP_ERR_SYNTAX, "x.map:1:3", "'gpu/0' is no device", "0 gpu/0");
    refused(HOP_ERR_SYNTAX, "x.map:1:3", "'1@gpu0' is no device", "0 1@gpu0");
    refused(HOP_ERR_SYNTAX, "x.map:1:3", "'gpu0:x' is no device", "0 gpu0:x");
    refused(HOP_ERR_SYNTAX, "x.map:1:8", "'gpu1' behind the device", "0 gpu0 gpu1");
    refused(HOP_ERR_SYNTAX, "x.map:1:12", "'4e' is no PCI address", "0 gpu0 bus=4e");
    refused(HOP_ERR_SYNTAX, "x.map:1:8", "'bus=' behind", "0 gpu0 bus=");
    refused(HOP_ERR_SYNTAX, "x.map:1:24", "no first such word", "0 gpu0 bus=4e:00.0 bus=4e:00.0");
    refused(HOP_ERR_SYNTAX, "x.map:1:12", "'a/b' is no NIC", "0 gpu0 nic=a/b");
    refused(HOP_ERR_SYNTAX, "x.map:1:12", "'-1' is no processor", "0 gpu0 cpu=-1");
    refused(HOP_ERR_SYNTAX, "x.map:1:18", "'2' is no processor's number", "0 gpu0 cpu=1 cpu=2");
    refused(HOP_ERR_INVALID, "x.map:3:1", "the first is in line 1", "0 gpu0\n1 gpu1\n0 gpu2");
    refused(HOP_ERR_INVALID, "x.map:2:1", "rank 1 is not placed, but rank 2 is", "0 gpu0\n2 gpu1");
    refused(HOP_ERR_INVALID, "x.map:1:1", "no rank is placed", "");
    refused(HOP_ERR_INVALID, "x.map:1:1", "no rank is placed", "# nothing");
}

static void files_are_read(void **state)
{
    (void)state;
    struct hop_placement *p = NULL;
    struct hop_diag diag = {0};
    char path[] = "/tmp/placementXXXXXX";
    int file = mkstemp(path);
    assert_true(file >= 0 && write(file, "0 gpu3\n", 7) == 7);
    close(file);
    CHECK(hop_placement_load(path, &p, D));
    assert_string_equal(hop_placement_device(p, 0), "gpu3");
    hop_placement_destroy(p);
    unlink(path);
    assert_int_equal(hop_placement_load(path, &p, &diag), HOP_ERR_IO);
}

static const char two_nodes[] =
    "{\"hopcast_topology\": 1, \"name\": \"two\", \"nodes\": ["
    "{\"name\": \"n1.root\", \"kind\": \"root\"}, {\"name\": \"n0.root\", \"kind\": \"root\"},"
    "{\"name\": \"n1.%s0\", \"kind\": \"%s\"}, {\"name\": \"n0.%s0\", \"kind\": \"%s\"},"
    "{\"name\": \"n1.%s1\", \"kind\": \"%s\"}, {\"name\": \"n0.%s1\", \"kind\": \"%s\"},"
    "{\"name\": \"n1.%s2\", \"kind\": \"%s\"}], \"links\": ["
    "{\"from\": \"n1.%s0\", \"to\": \"n1.root\", \"kind\": \"pcie\", \"generation\": 3, \"width\": 16},"
    "{\"from\": \"n0.%s0\", \"to\": \"n0.root\", \"kind\": \"pcie\", \"generation\": 3, \"width\": 16},"
    "{\"from\": \"n1.%s1\", \"to\": \"n1.root\", \"kind\": \"pcie\", \"generation\": 3, \"width\": 16},"
    "{\"from\": \"n0.%s1\", \"to\": \"n0.root\", \"kind\": \"pcie\", \"generation\": 3, \"width\": 16},"
    "{\"from\": \"n1.%s2\", \"to\": \"n1.root\", \"kind\": \"pcie\", \"generation\": 3, \"width\": 16},"
    "{\"from\": \"n0.root\", \"to\": \"n1.root\", \"kind\": \"socket\"}]}";

static struct hop_topology *load_two_nodes(const char *kind)
{
    char text[4096];
    (void)snprintf(text, sizeof text, two_nodes, kind, kind, kind, kind, kind, kind, kind, kind, kind, kind, kind, kind,
                   kind, kind, kind);
    return parse_topology("two.json", text);
}

/* A node is what stands before the dot; nodes and devices in order of appearance. */
static void devices_are_taken_packed_or_cyclic(void **state)
{
    (void)state;
    static const char *const kinds[] = {"gpu", "nic"};
    for (unsigned k = 0; k < 2; k++) {
        struct hop_topology *t = load_two_nodes(kinds[k]);
        for (unsigned order = 0; order < 2; order++) {
            static const struct {
                unsigned node, device;
            } expected[2][5] = {{{1, 0}, {1, 1}, {1, 2}, {0, 0}, {0, 1}}, {{1, 0}, {0, 0}, {1, 1}, {0, 1}, {1, 2}}};
            struct hop_placement *p = NULL;
            CHECK(hop_placement_make(t, 5, order ? HOP_PLACEMENT_CYCLIC : HOP_PLACEMENT_PACKED, &p, D));
            assert_int_equal(hop_placement_count(p), 5);
            for (uint32_t r = 0; r < 5; r++) {
                char name[16];
                (void)snprintf(name, sizeof name, "n%u.%s%u", expected[order][r].node, kinds[k],
                               expected[order][r].device);
                assert_string_equal(hop_placement_device(p, r), name);
            }
            hop_placement_destroy(p);
        }
        hop_topology_destroy(t);
    }
}

static void more_ranks_than_devices_are_refused(void **state)
{
    (void)state;
    struct hop_topology *t = load_topology("t2");
    struct hop_placement *p = NULL;
    struct hop_diag diag = {0};
    CHECK(hop_placement_make(t, 8, HOP_PLACEMENT_PACKED, &p, D));
    hop_placement_destroy(p);
    p = NULL;
    assert_int_equal(hop_placement_make(t, 9, HOP_PLACEMENT_PACKED, &p, &diag), HOP_ERR_INVALID);
    assert_true(!p && strstr(diag.what, "9 ranks") && strstr(diag.what, "8 GPUs"));
    hop_topology_destroy(t);
}

static void ranks_of_a_schedule_are_counted(void **state)
{
    (void)state;
    static const struct {
        const char *text;
        uint32_t ranks;
    } rows[] = {{"", 0},
                {"gpu0 -> gpu1 1", 0},
                {"3@gpu0 -> gpu1 1", 0},
                {"rank0 -> rank1 1", 2},
                {"rank7 -> gpu1 1; work rank2 1s", 8},
                {"rank01 -> rank 1; work rankx 1s; work Rank3 1s; work rank3x 1s", 0}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hop_schedule *s = parse(rows[i].text);
        assert_int_equal(hop_schedule_ranks(s), rows[i].ranks);
        hop_schedule_destroy(s);
    }
}

static void placeholders_become_devices_and_all_else_stays(void **state)
{
    (void)state;
    struct hop_placement *p = parse_placement("0 gpu4\n1 gpu0\n2 gpu0\n");
    struct hop_schedule *placed = NULL,
                        *s = parse("# made by hand\nqueue ready\n"
                                   "a: rank0:x+4 -> rank1 1MiB at 1us via staged 2KiB after-start w\n"
                                   "r: reduce sum f32 rank1:x rank1:y -> rank1:x 4KiB after a\n"
                                   "w: work rank2 3us cpu 2\ns: send rank0 -> gpu7 4B tag 9 nic 1 after a r\n");
    CHECK(hop_placement_apply(p, s, &placed, D));
    hop_schedule_destroy(s);
    hop_placement_destroy(p); /* the result stands alone */
    char *text = hop_schedule_to_text(placed);
    assert_string_equal(text, "# made by hand\nqueue ready\n"
                              "a: 0@gpu4:x+4B -> 1@gpu0 1MiB at 1us via staged 2KiB after-start w\n"
                              "r: reduce sum f32 1@gpu0:x 1@gpu0:y -> 1@gpu0:x 4KiB after a\n"
                              "w: work 2@gpu0 3us cpu 2\n"
                              "s: send 0@gpu4 -> gpu7 4B tag 9 nic 1 after a r\n");
    assert_int_equal(hop_schedule_op(placed, 0)->line, 3);
    assert_int_equal(hop_schedule_find(placed, "w"), 2);
    free(text);
    hop_schedule_destroy(placed);
}

static void not_placed(const char *map, const char *place, const char *words, const char *text)
{
    struct hop_placement *p = parse_placement(map);
    struct hop_schedule *s = parse(text), *placed = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(hop_placement_apply(p, s, &placed, &diag), HOP_ERR_INVALID);
    assert_null(placed);
    assert_string_equal(diag.place, place);
    if (!strstr(diag.what, words) && !strstr(diag.expected, words))
        fail_msg("'%s' neither in '%s' nor in '%s'", words, diag.what, diag.expected);
    hop_schedule_destroy(s);
    hop_placement_destroy(p);
}

static void ranks_without_a_device_or_on_a_partners_are_refused(void **state)
{
    (void)state;
    not_placed("0 gpu0\n1 gpu1", "x.hop:2:13", "'b' names rank 2, which has no device",
               "a: rank0 -> rank1 1\nb: rank1 -> rank2 1");
    not_placed("0 gpu0\n1 gpu1", "x.hop:1:9", "this one has ranks 0 to 1", "b: work rank2 1s");
    not_placed("0 gpu0", "x.hop:1:13", "from rank0 to gpu0, which are both on gpu0", "a: rank0 -> gpu0 1");
    not_placed("0 gpu0", "x.hop:1:18", "both on gpu0", "a: send rank0 -> gpu0 1");
    not_placed("0 gpu0", "x.hop:1:15", "both on gpu0", "a: rank0:x -> 0@gpu0 1"); /* the rank's bytes onto themselves */
}

static void every_place_of_an_operation_is_placed(void **state)
{
    (void)state;
    struct hop_placement *p = parse_placement("0 gpu4\n1 gpu4\n2 gpu7");
    struct hop_schedule *s = parse("r: reduce sum f32 rank0:x rank1:x -> rank0:y rank1:y 4KiB by 1\n"
                                   "a: rank0:x -> 0@gpu4:y 4KiB; b: rank0 -> rank1 4KiB by 1; c: rank1 -> rank2 4KiB by 2");
    struct hop_schedule *placed;
    CHECK(hop_placement_apply(p, s, &placed, D));
    char *text = hop_schedule_to_text(placed);
    assert_string_equal(text, "r: reduce sum f32 0@gpu4:x 1@gpu4:x -> 0@gpu4:y 1@gpu4:y 4KiB by 1\n"
                              "a: 0@gpu4:x -> 0@gpu4:y 4KiB\nb: 0@gpu4 -> 1@gpu4 4KiB by 1\n"
                              "c: 1@gpu4 -> 2@gpu7 4KiB by 2\n");
    free(text);
    hop_schedule_destroy(placed);
    hop_schedule_destroy(s);
    hop_placement_destroy(p);
    assert_int_equal(hop_schedule_ranks(s = parse("reduce sum f32 rank0:x rank4:x -> rank0:y rank7:y 4")), 8);
    hop_schedule_destroy(s);
    not_placed("0 gpu0", "x.hop:1:33", "names rank 1, which has no device",
               "reduce sum f32 rank0 -> rank0:y rank1:z 4");
    not_placed("0 gpu0\n1 gpu1", "x.hop:1:22", "a reduction into gpu0 takes an input on gpu1",
               "reduce sum f32 rank0 rank1 -> rank0 4");
    not_placed("0 gpu0\n1 gpu1", "x.hop:1:33", "a reduction into gpu0 has another output on gpu1",
               "reduce sum f32 rank0 -> rank0:y rank1:y 4");
}

/* The times at which ranks 0 to 3 finish, where the model allows the placement. */
static enum hop_status finish(const char *machine, const char *model, const char *map, const char *text,
                              double finish_s[4], struct hop_diag *diag)
{
    struct hop_topology *t = load_topology(machine);
    struct hop_placement *p = parse_placement(map);
    struct hop_schedule *s = parse(text), *placed = NULL;
    struct hop_network *network = NULL;
    struct hop_timeline *timeline = NULL;
    CHECK(hop_placement_apply(p, s, &placed, D));
    CHECK(hop_network_create(t, model, &network, D));
    enum hop_status status = hop_simulate(network, placed, NULL, &timeline, diag);
    for (uint32_t r = 0; status == HOP_OK && finish_s && r < 4; r++) {
        int32_t rank = -1;
        (void)hop_timeline_process_name(timeline, r, &rank);
        assert_int_equal(rank, r);
        finish_s[r] = hop_timeline_process_finish_s(timeline, r);
    }
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_schedule_destroy(placed);
    hop_schedule_destroy(s);
    hop_placement_destroy(p);
    hop_topology_destroy(t);
    return status;
}

#define FOUR_HOSTS "0 node0\n1 node1\n2 node2\n3 node3"
#define TWO_HOSTS "0 node0\n1 node0\n2 node1\n3 node1"

/* Model loggp knows processes, no links: where they are changes nothing. */
static void ranks_of_one_device_are_processes_of_their_own_under_loggp(void **state)
{
    (void)state;
    static const char *const texts[] = {
        "num_ranks 4 rank 0 { a: send 1000b to 1 b: send 100000b to 2 b requires a } "
        "rank 1 { a: recv 1000b from 0 b: send 8b to 3 b requires a } "
        "rank 2 { calc 777 b: recv 100000b from 0 c: send 70000b to 3 tag 2 c requires b } "
        "rank 3 { b: recv 8b from 1 c: recv 70000b from 2 tag 2 }",
        "a: rank0 -> rank1 1MiB; b: rank1 -> rank2 1KiB after a; c: rank2 -> rank3 2MiB; d: rank3 -> rank0 1B after c"};
    for (unsigned i = 0; i < 2; i++) {
        double apart[4], together[4];
        CHECK(finish("star:4", "loggp", FOUR_HOSTS, texts[i], apart, D));
        CHECK(finish("star:2", "loggp", TWO_HOSTS, texts[i], together, D));
        for (unsigned r = 0; r < 4; r++)
            assert_true(apart[r] > 0 && together[r] == apart[r]);
    }
}

static void links_between_ranks_of_one_device_need_no_route_under_other_models(void **state)
{
    (void)state;
    static const char *const texts[] = {"a: rank0 -> rank2 1; b: rank0 -> rank1 1",
                                        "a: rank0 -> rank2 1; b: rank0 -> rank1 1 via staged",
                                        "a: rank0 -> rank2 1; b: rank0 -> rank1 1 via auto",
                                        "a: work rank1 1s   ; b: send rank0 -> rank1 1; receive rank0 -> rank1 1"};
    for (unsigned i = 0; i < 4; i++) {
        struct hop_diag diag = {0};
        enum hop_status status = finish("star:2", "fair", TWO_HOSTS, texts[i], NULL, &diag);
        if (i != 1) { /* a copy within the device */
            assert_int_equal(status, HOP_OK);
            continue;
        }
        assert_int_equal(status, HOP_ERR_NO_ROUTE);
        assert_string_equal(diag.place, "x.hop:1:25");
        assert_non_null(strstr(diag.what, "no host memory is in reach of node0"));
    }
    CHECK(finish("star:2", "fair", TWO_HOSTS, "a: rank0 -> rank2 1; b: rank1 -> rank3 1", NULL, D));
}

/* A placed copy is written and read back; without two ranks it goes nowhere. */
static void copies_between_ranks_of_one_device_are_read_back(void **state)
{
    (void)state;
    struct hop_schedule *s = parse("a: 0@gpu0 -> 1@gpu0 4KiB");
    for (unsigned json = 0; json < 2; json++) {
        char *text = json ? hop_schedule_to_json(s) : hop_schedule_to_text(s);
        struct hop_schedule *again = parse(text);
        assert_int_equal(hop_schedule_op(again, 0)->from.rank, 0);
        assert_int_equal(hop_schedule_op(again, 0)->to.rank, 1);
        hop_schedule_destroy(again);
        free(text);
    }
    hop_schedule_destroy(s);
    static const char *const bad[] = {"a: gpu0 -> gpu0 1", "a: 1@gpu0 -> 1@gpu0 1", "a: 1@gpu0 -> gpu0 1",
                                      "a: rank1 -> rank1 1"};
    for (unsigned i = 0; i < 4; i++) {
        struct hop_diag diag = {0};
        assert_int_equal(hop_schedule_parse("x.hop", bad[i], strlen(bad[i]), &s, &diag), HOP_ERR_INVALID);
        assert_non_null(strstr(diag.what, "to itself"));
    }
}

/* On t2, gpu0 and gpu2 lie under one switch, gpu0 and gpu4 across the root complex, which costs 1.21 times the time. */
static void a_placement_decides_the_time(void **state)
{
    (void)state;
    static const struct {
        const char *map;
        double factor;
    } rows[] = {{"0 gpu0\n1 gpu2", 1}, {"0 gpu0\n1 gpu4", 1.21}};
    struct hop_topology *t = load_topology("t2");
    for (unsigned i = 0; i < 2; i++) {
        struct hop_placement *p = parse_placement(rows[i].map);
        struct hop_schedule *s = parse("rank0 -> rank1 300MiB"), *placed = NULL;
        struct hop_network *network = NULL;
        struct hop_timeline *timeline = NULL;
        CHECK(hop_placement_apply(p, s, &placed, D));
        CHECK(hop_network_create(t, "pcie", &network, D));
        CHECK(hop_simulate(network, placed, NULL, &timeline, D));
        double expected = 25.2829e-3 * rows[i].factor;
        assert_true(hop_timeline_makespan_s(timeline) > 0.9999 * expected &&
                    hop_timeline_makespan_s(timeline) < 1.0001 * expected);
        hop_timeline_destroy(timeline);
        hop_network_destroy(network);
        hop_schedule_destroy(placed);
        hop_schedule_destroy(s);
        hop_placement_destroy(p);
    }
    hop_topology_destroy(t);
}

static void devices_that_the_topology_lacks_are_named_with_their_line(void **state)
{
    (void)state;
    static const struct {
        const char *map, *place, *what, *expected;
        uint32_t ranks;
    } rows[] = {{"0 gpu0\n1 gpu9", "x.map:2:1", "topology t2 has no device 'gpu9'", "'gpu0'?", 2},
                {"# map\n\n0 switch0", "x.map:3:1", "'switch0' is a switch, not a device", "a device, such as gpu0;", 1},
                {"1 gpu9\n0 gpu9", "x.map:2:1", "'gpu9'", "'gpu0'?", 2},
                {"0 gpu0\n1 gpu9", NULL, NULL, NULL, 1}, /* the schedule has one rank only */
                {"0 gpu0\n1 gpu7", NULL, NULL, NULL, 2}};
    struct hop_topology *t = load_topology("t2");
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct hop_placement *p = parse_placement(rows[i].map);
        struct hop_diag diag = {0};
        enum hop_status status = hop_placement_check(p, t, rows[i].ranks, &diag);
        assert_int_equal(status, rows[i].what ? HOP_ERR_NOT_FOUND : HOP_OK);
        if (rows[i].what) {
            assert_string_equal(diag.place, rows[i].place);
            assert_non_null(strstr(diag.what, rows[i].what));
            assert_ptr_equal(strstr(diag.expected, rows[i].expected), diag.expected);
        }
        hop_placement_destroy(p);
    }
    hop_topology_destroy(t);
}

TEST_GROUP(placement)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_are_read_in_any_order),
        cmocka_unit_test(places_say_where_they_are_on_the_machine),
        cmocka_unit_test(bad_lines_are_named_by_line_and_column),
        cmocka_unit_test(files_are_read),
        cmocka_unit_test(devices_are_taken_packed_or_cyclic),
        cmocka_unit_test(more_ranks_than_devices_are_refused),
        cmocka_unit_test(ranks_of_a_schedule_are_counted),
        cmocka_unit_test(placeholders_become_devices_and_all_else_stays),
        cmocka_unit_test(ranks_without_a_device_or_on_a_partners_are_refused),
        cmocka_unit_test(every_place_of_an_operation_is_placed),
        cmocka_unit_test(ranks_of_one_device_are_processes_of_their_own_under_loggp),
        cmocka_unit_test(links_between_ranks_of_one_device_need_no_route_under_other_models),
        cmocka_unit_test(copies_between_ranks_of_one_device_are_read_back),
        cmocka_unit_test(a_placement_decides_the_time),
        cmocka_unit_test(devices_that_the_topology_lacks_are_named_with_their_line),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
