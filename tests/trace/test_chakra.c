/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Chakra traces become schedules. The traces are made here by an encoder of their own, and once by hand, byte for byte.
 */
#include "test.h"

#include <math.h>
#include <sys/stat.h>

#include "hopcast/hopcast.h"

/* ---- an encoder ---- */

enum { RANKS = 8 };

struct bytes {
    unsigned char data[8192];
    size_t size;
};

enum { COMP = 4, SEND = 5, RECV = 6, COLL = 7 };
enum { ALL_REDUCE = 0, ALL_GATHER = 2, BROADCAST = 5, ALL_TO_ALL = 6, BARRIER = 9 };

static void add_varint(struct bytes *out, uint64_t value)
{
    while (value > 127) {
        out->data[out->size++] = (unsigned char)(value % 128 + 128);
        value /= 128;
    }
    out->data[out->size++] = (unsigned char)value;
}

static void add_number(struct bytes *out, unsigned field, uint64_t value)
{
    add_varint(out, field * 8);
    add_varint(out, value);
}

static void add_data(struct bytes *out, unsigned field, const void *data, size_t size)
{
    add_varint(out, field * 8 + 2);
    add_varint(out, size);
    memcpy(out->data + out->size, data, size);
    out->size += size;
}

static void add_text(struct bytes *out, unsigned field, const char *text)
{
    add_data(out, field, text, strlen(text));
}

static void add_message(struct bytes *file, const struct bytes *message)
{
    add_varint(file, message->size);
    memcpy(file->data + file->size, message->data, message->size);
    file->size += message->size;
}

static struct bytes begin_file(void)
{
    struct bytes file = {0}, metadata = {0};
    add_text(&metadata, 1, "0.0.4");
    add_message(&file, &metadata);
    return file;
}

static struct bytes begin_node(uint64_t id, const char *name, unsigned type)
{
    struct bytes node = {0};
    add_number(&node, 1, id);
    add_text(&node, 2, name);
    add_number(&node, 3, type);
    return node;
}

/* value field 9: int64, 13: uint64, ... */
static void add_attribute(struct bytes *node, const char *name, unsigned field, uint64_t value)
{
    struct bytes attribute = {0};
    add_text(&attribute, 1, name);
    add_number(&attribute, field, value);
    add_data(node, 10, attribute.data, attribute.size);
}

static void add_text_attribute(struct bytes *node, const char *name, const char *value)
{
    struct bytes attribute = {0};
    add_text(&attribute, 1, name);
    add_text(&attribute, 29, value);
    add_data(node, 10, attribute.data, attribute.size);
}

static struct bytes collective_node(uint64_t id, unsigned type, uint64_t size, const char *group)
{
    struct bytes node = begin_node(id, "c", COLL);
    add_attribute(&node, "comm_type", 9, type);
    add_attribute(&node, "comm_size", 9, size);
    if (group)
        add_text_attribute(&node, "pg_name", group);
    return node;
}

/* ---- reading ---- */

struct set {
    struct bytes files[RANKS];
    uint32_t ranks;
};

static enum hop_status parse(const struct set *set, const struct hop_trace_options *options,
                             struct hop_schedule **schedule, struct hop_diag *diag)
{
    static const char *const names[RANKS] = {"t.0.et", "t.1.et", "t.2.et", "t.3.et",
                                             "t.4.et", "t.5.et", "t.6.et", "t.7.et"};
    const void *data[RANKS];
    size_t sizes[RANKS];
    for (uint32_t r = 0; r < set->ranks; r++) {
        unsigned char *exact = malloc(set->files[r].size + 1); /* so that a sanitizer sees reads past the end */
        memcpy(exact, set->files[r].data, set->files[r].size);
        data[r] = exact;
        sizes[r] = set->files[r].size;
    }
    enum hop_status status = hop_schedule_parse_chakra(names, data, sizes, set->ranks, options, schedule, diag);
    for (uint32_t r = 0; r < set->ranks; r++)
        free((void *)(uintptr_t)data[r]);
    return status;
}

static struct hop_schedule *must_parse(const struct set *set)
{
    struct hop_schedule *schedule = NULL;
    CHECK(parse(set, NULL, &schedule, D));
    return schedule;
}

static void assert_refused(const struct set *set, const char *place, const char *what)
{
    struct hop_schedule *schedule = NULL;
    struct hop_diag diag = {0};
    enum hop_status status = parse(set, NULL, &schedule, &diag);
    if (status == HOP_OK || strcmp(diag.place, place) != 0 || !strstr(diag.what, what) || !diag.expected[0])
        fail_msg("expected '%s: ...%s...', got %d '%s: %s (%s)'", place, what, status, diag.place, diag.what,
                 diag.expected);
    assert_null(schedule);
}

static void assert_text(const struct set *set, const char *expected)
{
    struct hop_schedule *schedule = must_parse(set);
    char *text = hop_schedule_to_text(schedule);
    assert_string_equal(text, expected);
    free(text);
    hop_schedule_destroy(schedule);
}

/* ---- what is read ---- */

/* Written by hand: metadata {version "0.0.4"}; node {id 0, name "f", COMP, 7 us}; node {id 1, SEND after it, 300 bytes
 * to rank 1, tag 5}. */
static const unsigned char by_hand_0[] = {
    0x07, 0x0a, 0x05, '0',  '.',  '0',  '.',  '4',  /* 8 bytes */
    0x07, 0x12, 0x01, 'f',  0x18, 0x04, 0x38, 0x07, /* a node without id: 0 */
    0x38, 0x08, 0x01, 0x18, 0x05, 0x2a, 0x01, 0x00, /* packed dependency */
    0x52, 0x0e, 0x0a, 0x09, 'c',  'o',  'm',  'm',  '_', 's', 'i', 'z', 'e',  0x48, 0xac, 0x02, /* int64 300 */
    0x52, 0x0c, 0x0a, 0x08, 'c',  'o',  'm',  'm',  '_', 'd', 's', 't', 0x38, 0x01,             /* int32 1 */
    0x52, 0x0c, 0x0a, 0x08, 'c',  'o',  'm',  'm',  '_', 't', 'a', 'g', 0x58, 0x05,             /* uint32 5 */
    0x52, 0x03, 0x0a, 0x01, 'x'};                                                               /* nothing known */

static struct set hand_written(void)
{
    struct set set = {.ranks = 2};
    memcpy(set.files[0].data, by_hand_0, sizeof by_hand_0);
    set.files[0].size = sizeof by_hand_0;
    set.files[1] = begin_file();
    struct bytes node = begin_node(9, "get it", RECV); /* a space: no name of an operation */
    add_attribute(&node, "comm_src", 13, 0);
    add_attribute(&node, "comm_size", 17, 600); /* sint64: zigzag */
    add_text_attribute(&node, "comm_tag", "5");
    add_message(&set.files[1], &node);
    return set;
}

static void messages_and_work_are_read_from_bytes_written_by_hand(void **state)
{
    (void)state;
    struct set set = hand_written();
    assert_text(&set, "# Chakra traces: ranks 2, nodes 3\n"
                      "queue ready\n"
                      "r0.n0.f: work rank0 7us cpu 2\n"
                      "r0.n1: send rank0 -> rank1 300B tag 5 eager after r0.n0.f\n"
                      "r1.n9: receive rank0 -> rank1 300B tag 5\n");
    struct hop_schedule *schedule = must_parse(&set);
    assert_int_equal(hop_schedule_op(schedule, 2)->from.rank, 0);
    assert_int_equal(hop_schedule_op(schedule, 2)->to.rank, 1);
    assert_true(hop_schedule_queue_ready(schedule));
    hop_schedule_destroy(schedule);
}

static void every_prefix_is_refused_unless_it_ends_between_messages(void **state)
{
    (void)state;
    static const size_t boundaries[] = {8, 16, sizeof by_hand_0};
    uint32_t accepted = 0;
    for (size_t size = 0; size <= sizeof by_hand_0; size++) {
        struct set set = hand_written();
        struct hop_schedule *schedule = NULL;
        struct hop_diag diag = {0};
        set.files[0].size = size;
        enum hop_status status = parse(&set, NULL, &schedule, &diag);
        bool boundary = false;
        for (size_t i = 0; i < 3; i++)
            boundary = boundary || size == boundaries[i];
        assert_int_equal(status == HOP_OK, boundary);
        assert_true(status == HOP_OK || (strncmp(diag.place, "t.0.et: byte 0x", 15) == 0 && diag.what[0]));
        accepted += status == HOP_OK;
        hop_schedule_destroy(schedule);
    }
    assert_int_equal(accepted, 3);
}

static void every_changed_byte_is_read_or_refused_with_a_place(void **state)
{
    (void)state;
    uint32_t refused = 0;
    for (size_t i = 0; i < sizeof by_hand_0; i++) {
        for (unsigned bit = 0; bit < 8; bit++) {
            struct set set = hand_written();
            struct hop_schedule *schedule = NULL;
            struct hop_diag diag = {0};
            set.files[0].data[i] ^= (unsigned char)(1u << bit);
            if (parse(&set, NULL, &schedule, &diag) != HOP_OK) {
                assert_true(diag.place[0] && diag.what[0]);
                refused++;
            }
            hop_schedule_destroy(schedule);
        }
    }
    assert_true(refused > 100);
}

/* ---- collectives ---- */

/* Every rank: work of r + 1 us, then a collective, then work of 1 us. */
static struct set collective_set(uint32_t ranks, unsigned type, uint64_t size)
{
    struct set set = {.ranks = ranks};
    for (uint32_t r = 0; r < ranks; r++) {
        set.files[r] = begin_file();
        struct bytes before = begin_node(10, "before", COMP), after = begin_node(12, "after", COMP);
        struct bytes node = collective_node(11, type, size, NULL);
        add_number(&before, 7, r + 1);
        add_number(&node, 5, 10);
        add_number(&after, 7, 1);
        add_number(&after, 5, 11);
        add_message(&set.files[r], &before);
        add_message(&set.files[r], &node);
        add_message(&set.files[r], &after);
    }
    return set;
}

static bool depends(const struct hop_op *op, uint32_t on)
{
    for (uint32_t i = 0; i < op->after_count; i++) {
        if (op->after[i] == on)
            return true;
    }
    return false;
}

static void a_collective_stands_between_what_it_waits_for_and_its_users(void **state)
{
    (void)state;
    for (uint32_t ranks = 1; ranks <= RANKS; ranks++) {
        struct set set = collective_set(ranks, ALL_REDUCE, 1001);
        struct hop_schedule *schedule = must_parse(&set);
        uint32_t count = hop_schedule_count(schedule), messages = 0;
        uint64_t sent = 0, received = 0;
        for (uint32_t i = 0; i < count; i++) {
            const struct hop_op *op = hop_schedule_op(schedule, i);
            if (op->kind != HOP_OP_SEND && op->kind != HOP_OP_RECEIVE)
                continue;
            int64_t rank = op->kind == HOP_OP_SEND ? op->from.rank : op->to.rank;
            char name[32];
            (void)snprintf(name, sizeof name, "r%d.n11.c", (int)rank);
            assert_true(depends(hop_schedule_op(schedule, hop_schedule_find(schedule, name)), i));
            (void)snprintf(name, sizeof name, "r%d.n10.before", (int)rank);
            assert_true(op->after_count > 0); /* what came before, or a message that did */
            if (op->kind == HOP_OP_RECEIVE)
                assert_true(depends(op, hop_schedule_find(schedule, name)));
            messages++;
            *(op->kind == HOP_OP_SEND ? &sent : &received) += op->bytes;
        }
        assert_int_equal(messages, 2 * 2 * (ranks - 1) * ranks);
        assert_int_equal(sent, 2 * (ranks - 1) * 1001);
        assert_int_equal(received, sent);
        for (uint32_t r = 0; r < ranks; r++) {
            char name[32], user[32];
            (void)snprintf(name, sizeof name, "r%u.n11.c", r);
            (void)snprintf(user, sizeof user, "r%u.n12.after", r);
            const struct hop_op *after = hop_schedule_op(schedule, hop_schedule_find(schedule, user));
            assert_int_equal(after->after_count, 1);
            assert_int_equal(after->after[0], hop_schedule_find(schedule, name));
        }
        hop_schedule_destroy(schedule);
    }
}

/* A trace of a job on one GPU: kernels of a stream follow each other, so do functions of a host's thread, and a collective of one
 * rank is a kernel like any other. */
static void streams_threads_and_collectives_of_one_rank_take_their_recorded_time(void **state)
{
    (void)state;
    static const struct {
        const char *name, *lane;
        uint64_t lane_number, us;
        unsigned type;
        bool host;
    } rows[] = {{"k1", "stream", 7, 100, COMP, false}, {"k2", "stream", 7, 200, COMP, false},
                {"c", "stream", 7, 50, COLL, false},   {"k3", "stream", 8, 90, COMP, false},
                {"f1", "tid", 41, 30, COMP, true},     {"g", "tid", 42, 60, COMP, true},
                {"f2", "tid", 41, 35, COMP, true},     {"d", "stream", 8, 0, COLL, false}};
    static const double ends_us[] = {100, 300, 350, 90, 30, 60, 65, 0};
    struct set set = {.ranks = 1, .files = {begin_file()}};
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct bytes node = begin_node(i, rows[i].name, rows[i].type);
        if (rows[i].us)
            add_number(&node, 7, rows[i].us);
        add_attribute(&node, rows[i].lane, 9, rows[i].lane_number);
        add_attribute(&node, "is_cpu_op", 27, rows[i].host);
        if (rows[i].type == COLL) {
            add_attribute(&node, "comm_type", 9, ALL_REDUCE);
            add_attribute(&node, "comm_size", 9, 1 << 20);
        }
        add_message(&set.files[0], &node);
    }
    struct hop_schedule *schedule = must_parse(&set), *placed = NULL;
    const char *note = hop_schedule_note(schedule, 0);
    assert_non_null(strstr(note, "collectives of one rank"));
    assert_non_null(strstr(note, "recorded time: 2, of which without one and taken as 0: 1"));
    assert_null(hop_schedule_note(schedule, 1));
    struct hop_topology *topology = load_topology("t2");
    struct hop_network *network;
    struct hop_timeline *timeline;
    struct hop_placement *placement = NULL;
    CHECK(hop_placement_make(topology, 1, HOP_PLACEMENT_PACKED, &placement, D));
    CHECK(hop_placement_apply(placement, schedule, &placed, D));
    hop_placement_destroy(placement);
    CHECK(hop_network_create(topology, NULL, &network, D));
    CHECK(hop_simulate(network, placed, NULL, &timeline, D));
    for (unsigned i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_float_equal(hop_timeline_span(timeline, i).end_s, ends_us[i] * 1e-6, 1e-12);
    char *json = hop_timeline_to_json(timeline, NULL, false);
    assert_non_null(strstr(json, note));
    free(json);
    hop_timeline_destroy(timeline);
    hop_network_destroy(network);
    hop_topology_destroy(topology);
    hop_schedule_destroy(placed);
    hop_schedule_destroy(schedule);
}

static void the_algorithm_is_the_one_chosen(void **state)
{
    (void)state;
    struct set set = collective_set(4, ALL_REDUCE, 4096);
    static const struct {
        const char *options;
        uint32_t messages;
    } rows[] = {{"allreduce=ring", 24}, {"allreduce=direct", 24}, {"allreduce=doubling", 8}};
    for (size_t i = 0; i < 3; i++) {
        struct hop_trace_options options = {0};
        struct hop_schedule *schedule = NULL;
        uint32_t messages = 0;
        CHECK(hop_trace_options_parse(rows[i].options, &options, D));
        CHECK(parse(&set, &options, &schedule, D));
        for (uint32_t op = 0; op < hop_schedule_count(schedule); op++)
            messages += hop_schedule_op(schedule, op)->kind == HOP_OP_SEND;
        assert_int_equal(messages, rows[i].messages);
        hop_schedule_destroy(schedule);
    }
    struct set three = collective_set(3, ALL_REDUCE, 4096);
    struct hop_trace_options chain = {.algorithm[HOP_COLLECTIVE_ALLREDUCE] = HOP_ALGORITHM_CHAIN};
    struct hop_schedule *schedule = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(parse(&three, &chain, &schedule, &diag), HOP_ERR_INVALID);
    assert_string_equal(diag.place, "t.0.et: node 11 (byte 0x18)");
}

/* Two groups that only their nodes name, on ranks 0, 2 and 1, 3; then one for all. */
static void a_chain_hands_on_a_part_that_came_once_the_one_before_has_left(void **state)
{
    (void)state;
    struct set set = {.ranks = 3};
    for (uint32_t r = 0; r < 3; r++) {
        struct bytes node = collective_node(1, BROADCAST, 6, NULL);
        set.files[r] = begin_file();
        add_message(&set.files[r], &node);
    }
    struct hop_trace_options options = {.algorithm[HOP_COLLECTIVE_BROADCAST] = HOP_ALGORITHM_CHAIN};
    struct hop_schedule *schedule = NULL;
    CHECK(parse(&set, &options, &schedule, D));
    char *text = hop_schedule_to_text(schedule);
    assert_non_null(strstr(text, "c0.m0.send: send rank0 -> rank1 2B\n"));
    assert_non_null(strstr(text, "c0.m1.send: send rank1 -> rank2 2B after c0.m0.receive\n"));
    assert_non_null(strstr(text, "c0.m2.send: send rank0 -> rank1 2B after c0.m0.send\n"));
    assert_non_null(strstr(text, "c0.m3.send: send rank1 -> rank2 2B after c0.m2.receive c0.m1.send\n"));
    free(text);
    hop_schedule_destroy(schedule);
}

static void collectives_match_within_their_process_groups(void **state)
{
    (void)state;
    struct set set = {.ranks = 4};
    for (uint32_t r = 0; r < 4; r++) {
        set.files[r] = begin_file();
        struct bytes own = collective_node(1, ALL_TO_ALL, 100, r % 2 ? "odd" : "even");
        struct bytes all = collective_node(2, BARRIER, 0, "0");
        add_message(&set.files[r], r % 2 ? &all : &own); /* the order of different groups is free */
        add_message(&set.files[r], r % 2 ? &own : &all);
    }
    struct hop_schedule *schedule = must_parse(&set);
    uint32_t pairs = 0, tokens = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (op->kind != HOP_OP_SEND)
            continue;
        tokens += op->bytes == 1;
        pairs += op->bytes == 50 && op->from.rank % 2 == op->to.rank % 2;
    }
    assert_int_equal(pairs, 4);
    assert_int_equal(tokens, 8);
    hop_schedule_destroy(schedule);
}

/* Groups that metadata nodes list, in PyTorch's way, the members in any order. */
static void process_groups_are_read_from_metadata_nodes(void **state)
{
    (void)state;
    struct set set = {.ranks = 3};
    for (uint32_t r = 0; r < 3; r++) {
        set.files[r] = begin_file();
        struct bytes metadata = begin_node(1, "## process_group:init ##", 1), inputs = {0};
        add_text(&inputs, 1, "['[{\"pg_name\": \"7\", \"ranks\": [2, 0]}, {\"pg_name\": \"8\", \"ranks\": []}]']");
        add_data(&metadata, 8, inputs.data, inputs.size);
        add_message(&set.files[r], &metadata);
        struct bytes pair = collective_node(2, BROADCAST, 64, "7"), all = collective_node(3, ALL_GATHER, 32, "8");
        add_attribute(&pair, "root", 9, 2);
        if (r != 1)
            add_message(&set.files[r], &pair);
        add_message(&set.files[r], &all);
    }
    struct hop_schedule *schedule = must_parse(&set);
    uint32_t gathers = 0, broadcasts = 0;
    for (uint32_t i = 0; i < hop_schedule_count(schedule); i++) {
        const struct hop_op *op = hop_schedule_op(schedule, i);
        if (op->kind == HOP_OP_SEND && op->bytes == 64) {
            assert_int_equal(op->from.rank, 2);
            assert_int_equal(op->to.rank, 0);
            broadcasts++;
        }
        gathers += op->kind == HOP_OP_SEND && op->bytes == 32;
    }
    assert_int_equal(broadcasts, 1);
    assert_int_equal(gathers, 6);
    hop_schedule_destroy(schedule);
    struct bytes pair = collective_node(9, BROADCAST, 64, "7"); /* rank 1 is no member */
    add_message(&set.files[1], &pair);
    assert_refused(&set, "t.1.et: node 9 (byte 0xa7)", "ranks among which this one is not");
}

static void nothing_is_dropped_in_silence(void **state)
{
    (void)state;
    struct set set = {.ranks = 1};
    set.files[0] = begin_file();
    struct bytes load = begin_node(1, "load", 2), storage = begin_node(2, "read", 8), comp = begin_node(3, "a", COMP);
    add_number(&load, 7, 5);
    add_number(&storage, 5, 1);
    add_number(&comp, 4, 2); /* control */
    struct bytes call = begin_node(4, "c10d.allreduce", COLL);
    add_attribute(&call, "is_cpu_op", 27, 1);
    add_number(&call, 7, 3);
    struct bytes stream = begin_node(5, "k", COMP), invalid = begin_node(6, "i", 0);
    add_number(&stream, 7, 9);
    add_attribute(&stream, "stream", 9, 20);
    const struct bytes *nodes[] = {&load, &storage, &comp, &call, &stream, &invalid};
    for (size_t i = 0; i < 6; i++)
        add_message(&set.files[0], nodes[i]);
    assert_text(&set, "# Chakra traces: ranks 1, nodes 6\n"
                      "# INVALID nodes: 1, of which without a duration and taken as 0: 1\n"
                      "# MEM_LOAD nodes: 1, of which without a duration and taken as 0: 0\n"
                      "# COMP nodes: 3, of which without a duration and taken as 0: 1\n"
                      "# STORAGE nodes: 1, of which without a duration and taken as 0: 1\n"
                      "# functions that ask for communication, taken as work: 1\n"
                      "queue ready\n"
                      "r0.n1.load: work rank0 5us cpu 2\n"
                      "r0.n2.read: work rank0 0s cpu 1 after r0.n1.load\n"
                      "r0.n3.a: work rank0 0s cpu 1 after r0.n2.read\n"
                      "r0.n4.c10d.allreduce: work rank0 3us\n"
                      "r0.n5.k: work rank0 9us cpu 3\n"
                      "r0.n6.i: work rank0 0s cpu 1\n");
    struct hop_trace_options options = {.control = HOP_TRACE_CONTROL_DROP};
    struct hop_schedule *schedule = NULL;
    CHECK(parse(&set, &options, &schedule, D));
    assert_int_equal(hop_schedule_op(schedule, 2)->after_count, 0);
    hop_schedule_destroy(schedule);
}

static void control_dependencies_that_make_no_sense_are_left_out_and_counted(void **state)
{
    (void)state;
    for (unsigned senseless = 0; senseless < 3; senseless++) { /* a node that is not there, itself, a circle with data */
        struct set set = {.ranks = 1};
        set.files[0] = begin_file();
        struct bytes a = begin_node(1, "a", COMP), b = begin_node(2, "b", COMP);
        add_number(&b, 5, 1);
        add_number(&a, 4, senseless == 0 ? 77 : senseless == 1 ? 1 : 2);
        add_message(&set.files[0], &a);
        add_message(&set.files[0], &b);
        struct hop_schedule *schedule = NULL;
        CHECK(parse(&set, NULL, &schedule, D));
        assert_int_equal(hop_schedule_op(schedule, 0)->after_count, 0);
        assert_int_equal(hop_schedule_op(schedule, 1)->after_count, 1);
        char *text = hop_schedule_to_text(schedule);
        assert_non_null(strstr(text, "# note: control dependencies, which order nothing: 1\n"));
        free(text);
        hop_schedule_destroy(schedule);
        struct hop_trace_options keep = {.control = HOP_TRACE_CONTROL_KEEP};
        struct hop_diag diag;
        assert_int_not_equal(parse(&set, &keep, &schedule, &diag), HOP_OK);
    }
}

/* Before 0.0.4: attributes with a type in field 2, parents in field 4, other numbers of collectives (1: alltoall). */
static void the_older_schema_is_read(void **state)
{
    (void)state;
    struct set set = {.ranks = 2};
    for (uint32_t r = 0; r < 2; r++) {
        struct bytes metadata = {0}, attribute = {0}, file = {0};
        add_text(&attribute, 1, "schema");
        add_number(&attribute, 2, 4);
        add_text(&attribute, 8, "1.0.1");
        add_data(&metadata, 1, attribute.data, attribute.size);
        add_message(&file, &metadata);
        struct bytes first = begin_node(0, "f", COMP), node = begin_node(1, "x", COLL);
        struct bytes runtime = {0}, type = {0}, size = {0};
        add_text(&runtime, 1, "runtime");
        add_number(&runtime, 2, 2);
        add_number(&runtime, 6, 25);
        add_data(&first, 11, runtime.data, runtime.size);
        add_number(&node, 4, 0);
        add_text(&node, 5, "inputs, a text");
        add_text(&type, 1, "comm_type");
        add_number(&type, 7, 1);
        add_text(&size, 1, "comm_size");
        add_number(&size, 7, 10);
        add_data(&node, 11, type.data, type.size);
        add_data(&node, 11, size.data, size.size);
        add_message(&file, &first);
        add_message(&file, &node);
        set.files[r] = file;
    }
    assert_text(&set, "# Chakra traces: ranks 2, nodes 4\n"
                      "# alltoall by direct: 1\n"
                      "queue ready\n"
                      "r0.n0.f: work rank0 25us cpu 2\n"
                      "r0.n1.x: work rank0 0s cpu 1 after c0.m0.send c0.m1.receive\n"
                      "r1.n0.f: work rank1 25us cpu 2\n"
                      "r1.n1.x: work rank1 0s cpu 1 after c0.m0.receive c0.m1.send\n"
                      "c0.m0.send: send rank0 -> rank1 5B after r0.n0.f\n"
                      "c0.m0.receive: receive rank0 -> rank1 5B after r1.n0.f\n"
                      "c0.m1.send: send rank1 -> rank0 5B after r1.n0.f\n"
                      "c0.m1.receive: receive rank1 -> rank0 5B after r0.n0.f\n");
}

/* ---- refusals ---- */

static struct set one_node(const struct bytes *node)
{
    struct set set = {.ranks = 2};
    set.files[0] = begin_file();
    set.files[1] = begin_file();
    add_message(&set.files[0], node);
    return set;
}

static void assert_node_refused(const struct bytes *node, const char *place, const char *what)
{
    struct set set = one_node(node);
    assert_refused(&set, place, what);
}

static void wrong_wire_types_are_refused_with_their_byte(void **state)
{
    (void)state;
    struct bytes node = {0};
    add_text(&node, 1, "five");
    assert_node_refused(&node, "t.0.et: byte 0x9", "field 1 (id) is bytes");
    node = (struct bytes){0};
    add_number(&node, 2, 5);
    assert_node_refused(&node, "t.0.et: byte 0x9", "field 2 (name) is a varint");
    node = begin_node(3, "n", COMP);
    add_number(&node, 10, 5);
    assert_node_refused(&node, "t.0.et: byte 0x10", "field 10 (an attribute) is a varint");
    node = begin_node(3, "n", COLL);
    struct bytes attribute = {0};
    add_text(&attribute, 1, "comm_size");
    add_text(&attribute, 9, "x");
    add_data(&node, 10, attribute.data, attribute.size);
    assert_node_refused(&node, "t.0.et: byte 0x1d", "field 9 (an attribute's value) is bytes");
    static const unsigned char fixed[] = {0x11, 0x39, 0, 0, 0,
                                          0,    0,    0, 0, 0}; /* field 7 as 8 bytes, behind a key of field 2 */
    node = (struct bytes){0};
    memcpy(node.data, fixed + 1, 9);
    node.size = 9;
    assert_node_refused(&node, "t.0.et: byte 0x9", "field 7 (duration_micros) is 8 bytes");
    static const unsigned char group[] = {0x0b, 0x0c}; /* field 1, group */
    node = (struct bytes){.size = 2};
    memcpy(node.data, group, 2);
    assert_node_refused(&node, "t.0.et: byte 0x9", "wire type 3");
}

static void numbers_of_more_than_64_bits_are_refused(void **state)
{
    (void)state;
    struct bytes node = {0};
    node.data[node.size++] = 0x08;
    for (unsigned i = 0; i < 9; i++)
        node.data[node.size++] = 0xff;
    struct bytes most = node;
    most.data[most.size++] = 0x01; /* 2^64 - 1 */
    struct set set = one_node(&most);
    struct hop_schedule *schedule = must_parse(&set);
    assert_int_not_equal(hop_schedule_find(schedule, "r0.n18446744073709551615"), HOP_NONE);
    hop_schedule_destroy(schedule);
    struct bytes more = node;
    more.data[more.size++] = 0x02;
    assert_node_refused(&more, "t.0.et: byte 0xa", "more than 64 bits");
    struct bytes longer = node;
    longer.data[longer.size++] = 0x80;
    longer.data[longer.size++] = 0x00;
    assert_node_refused(&longer, "t.0.et: byte 0xa", "more than 64 bits");
}

static void nodes_that_make_no_sense_are_refused_by_id(void **state)
{
    (void)state;
    struct bytes node = begin_node(3, "n", 11);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "unknown type 11");
    node = begin_node(3, "n", COMP);
    add_number(&node, 5, 4);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "missing node, 4");
    node = begin_node(3, "n", COMP);
    add_number(&node, 5, 3);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "itself");
    node = collective_node(3, ALL_REDUCE, (uint64_t)-5, NULL);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "attribute comm_size is -5");
    node = collective_node(3, 77, 5, NULL);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "unknown comm_type 77");
    node = begin_node(3, "n", COLL);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "nothing of its comm_type");
    add_attribute(&node, "comm_type", 7, 0);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "nothing of its comm_size");
    node = begin_node(3, "n", SEND);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "nothing of its comm_dst");
    add_attribute(&node, "comm_dst", 7, 2);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "to rank 2, but there are 2 traces");
    node = begin_node(3, "n", SEND);
    add_attribute(&node, "comm_dst", 7, 0);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "its own rank");
    node = begin_node(3, "n", RECV);
    add_attribute(&node, "comm_src", 7, 1);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "nothing of its comm_size");
    add_attribute(&node, "comm_dst", 7, 1);
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "stands in the trace of rank 0");
    node = begin_node(3, "n", SEND);
    add_text_attribute(&node, "comm_dst", "one");
    assert_node_refused(&node, "t.0.et: node 3 (byte 0x9)", "comm_dst is the text 'one'");
}

static void ids_used_twice_and_circles_are_refused(void **state)
{
    (void)state;
    struct bytes node = begin_node(3, "n", COMP);
    struct set set = one_node(&node);
    add_message(&set.files[0], &node);
    assert_refused(&set, "t.0.et: node 3 (byte 0x11)", "two nodes with the id 3");
    struct bytes a = begin_node(1, "a", COMP), b = begin_node(2, "b", COMP);
    add_number(&a, 5, 2);
    add_number(&b, 5, 1);
    struct set circle = one_node(&a);
    add_message(&circle.files[0], &b);
    struct hop_schedule *schedule = NULL;
    struct hop_diag diag = {0};
    assert_int_equal(parse(&circle, NULL, &schedule, &diag), HOP_ERR_DEADLOCK);
    assert_non_null(strstr(diag.what, "r0.n1.a waits for r0.n2.b waits for r0.n1.a"));
}

static void collectives_that_disagree_or_lack_a_rank_are_refused(void **state)
{
    (void)state;
    struct set set = collective_set(3, ALL_REDUCE, 64);
    set.files[2] = collective_set(3, ALL_REDUCE, 65).files[2];
    assert_refused(
        &set, "t.2.et: node 11 (byte 0x18)",
        "allreduce of 65 bytes (root: member 0) at rank 2, but allreduce of 64 bytes (root: member 0) at rank 0, "
        "node 11");
    set = collective_set(3, ALL_REDUCE, 64);
    set.files[1] = collective_set(3, ALL_TO_ALL, 64).files[1];
    assert_refused(&set, "t.1.et: node 11 (byte 0x18)", "is alltoall of 64 bytes");
    set = collective_set(3, ALL_REDUCE, 64);
    set.files[1] = begin_file();
    assert_refused(&set, "t.0.et: node 11 (byte 0x18)", "rank 1 lacks its part of this collective");
}

static void what_is_no_trace_is_refused(void **state)
{
    (void)state;
    struct set set = {.ranks = 1};
    assert_refused(&set, "t.0.et: byte 0x0", "ends within a number");
    struct bytes node = begin_node(3, "n", COMP);
    add_message(&set.files[0], &node); /* no metadata in front */
    assert_refused(&set, "t.0.et: byte 0x1", "field 1 (version) is a varint");
    static const char text[] = "a: gpu0 -> gpu1 1MiB\n";
    memcpy(set.files[0].data, text, sizeof text - 1);
    set.files[0].size = sizeof text - 1;
    assert_refused(&set, "t.0.et: byte 0x0", "97 bytes are announced");
}

/* ---- files ---- */

static void write_file(const char *folder, const char *name, const void *data, size_t size)
{
    char path[256];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    FILE *file = fopen(path, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(data, 1, size, file), size);
    assert_int_equal(fclose(file), 0);
}

static void assert_loads(const char *folder, const char *name, uint32_t operations)
{
    char path[256];
    struct hop_schedule *schedule = NULL;
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    CHECK(hop_schedule_load(path, &schedule, D));
    assert_int_equal(hop_schedule_count(schedule), operations);
    hop_schedule_destroy(schedule);
}

static void assert_load_fails(const char *folder, const char *name, const char *what)
{
    char path[256];
    struct hop_schedule *schedule = NULL;
    struct hop_diag diag = {0};
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_not_equal(hop_schedule_load(path, &schedule, &diag), HOP_OK);
    if (!strstr(diag.what, what) || !diag.place[0])
        fail_msg("%s: %s", diag.place, diag.what);
}

static void remove_files(const char *folder)
{
    char command[300];
    (void)snprintf(command, sizeof command, "rm -r '%s'", folder);
    assert_int_equal(system(command), 0);
}

static void one_file_the_prefix_or_the_folder_finds_all_ranks(void **state)
{
    (void)state;
    char folder[] = "/tmp/hopcast-chakra-XXXXXX";
    assert_non_null(mkdtemp(folder));
    struct set set = hand_written();
    write_file(folder, "run.0.et", set.files[0].data, set.files[0].size);
    assert_load_fails(folder, "run", "to rank 1, but there are 1 traces");
    write_file(folder, "run.1.et", set.files[1].data, set.files[1].size);
    write_file(folder, "notes.txt", "x", 1);
    assert_loads(folder, "run.0.et", 3);
    assert_loads(folder, "run.1.et", 3);
    assert_loads(folder, "run", 3);
    assert_loads(folder, "", 3);
    assert_loads(folder, ".", 3);
    write_file(folder, "other.0.et", by_hand_0, 16); /* another program's */
    assert_loads(folder, "run.1.et", 3);
    assert_loads(folder, "other", 1);
    assert_load_fails(folder, "", "traces of several programs: other.*.et and run.0.et");
    write_file(folder, "other.2.et", by_hand_0, 16);
    assert_load_fails(folder, "other", "rank 1 has no trace");
    write_file(folder, "lone", by_hand_0, 16); /* by its bytes */
    assert_loads(folder, "lone", 1);
    assert_load_fails(folder, "none.0.et", "no file none.0.et");
    remove_files(folder);
}

static void compressed_traces_are_read(void **state)
{
    (void)state;
    char folder[] = "/tmp/hopcast-chakra-XXXXXX", command[300], path[64];
    assert_non_null(mkdtemp(folder));
    struct set set = hand_written();
    write_file(folder, "run.0.et", set.files[0].data, set.files[0].size);
    write_file(folder, "run.1.et", set.files[1].data, set.files[1].size);
    (void)snprintf(command, sizeof command, "gzip '%s/run.0.et'", folder);
    if (system(command) != 0) {
        remove_files(folder);
        print_message("skipped: no gzip\n");
        skip();
    }
    struct hop_schedule *schedule = NULL;
    struct hop_diag diag = {0};
    enum hop_status status = hop_schedule_load(folder, &schedule, &diag);
    hop_schedule_destroy(schedule);
    if (status == HOP_ERR_UNSUPPORTED) {
        remove_files(folder);
        print_message("skipped: built without zlib\n");
        skip();
    }
    assert_loads(folder, "run.0.et.gz", 3);
    assert_loads(folder, "run", 3);
    (void)snprintf(path, sizeof path, "%s/run.0.et.gz", folder);
    struct stat info;
    assert_int_equal(stat(path, &info), 0);
    for (off_t size = 2; size < info.st_size; size++) {
        (void)snprintf(command, sizeof command, "%s/cut", folder);
        FILE *from = fopen(path, "rb");
        char data[512];
        assert_true((size_t)size < sizeof data);
        assert_int_equal(fread(data, 1, (size_t)size, from), size);
        assert_int_equal(fclose(from), 0);
        write_file(folder, "cut", data, (size_t)size);
        assert_load_fails(folder, "cut", "ends too early");
    }
    remove_files(folder);
}

/* Every rank sends to the next, then receives from the one before: under models of links, where a message of this size
 * would otherwise wait for its receive, and under loggp. */
static void a_ring_that_sends_first_runs_whatever_the_size(void **state)
{
    (void)state;
    enum { N = 4, BYTES = 1 << 30 };
    struct set set = {.ranks = N};
    for (uint32_t r = 0; r < N; r++) {
        struct bytes send = begin_node(1, "s", SEND), receive = begin_node(2, "r", RECV);
        set.files[r] = begin_file();
        add_attribute(&send, "comm_size", 9, BYTES);
        add_attribute(&send, "comm_dst", 9, (r + 1) % N);
        add_attribute(&receive, "comm_size", 9, BYTES);
        add_attribute(&receive, "comm_src", 9, (r + N - 1) % N);
        add_number(&receive, 5, 1);
        add_message(&set.files[r], &send);
        add_message(&set.files[r], &receive);
    }
    static const char *const models[] = {"fair", "loggp"};
    for (size_t i = 0; i < sizeof models / sizeof *models; i++) {
        struct hop_topology *topology = load_topology("t2");
        struct hop_placement *placement = NULL;
        struct hop_network *network = NULL;
        struct hop_schedule *schedule = must_parse(&set), *placed = NULL;
        struct hop_timeline *timeline = NULL;
        CHECK(hop_placement_make(topology, N, HOP_PLACEMENT_PACKED, &placement, D));
        CHECK(hop_placement_apply(placement, schedule, &placed, D));
        CHECK(hop_network_create(topology, models[i], &network, D));
        CHECK(hop_simulate(network, placed, NULL, &timeline, D));
        assert_true(hop_timeline_makespan_s(timeline) > 0);
        hop_timeline_destroy(timeline);
        hop_network_destroy(network);
        hop_schedule_destroy(placed);
        hop_schedule_destroy(schedule);
        hop_placement_destroy(placement);
        hop_topology_destroy(topology);
    }
}

TEST_GROUP(chakra)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_ring_that_sends_first_runs_whatever_the_size),
        cmocka_unit_test(messages_and_work_are_read_from_bytes_written_by_hand),
        cmocka_unit_test(every_prefix_is_refused_unless_it_ends_between_messages),
        cmocka_unit_test(every_changed_byte_is_read_or_refused_with_a_place),
        cmocka_unit_test(a_collective_stands_between_what_it_waits_for_and_its_users),
        cmocka_unit_test(streams_threads_and_collectives_of_one_rank_take_their_recorded_time),
        cmocka_unit_test(the_algorithm_is_the_one_chosen),
        cmocka_unit_test(a_chain_hands_on_a_part_that_came_once_the_one_before_has_left),
        cmocka_unit_test(collectives_match_within_their_process_groups),
        cmocka_unit_test(process_groups_are_read_from_metadata_nodes),
        cmocka_unit_test(nothing_is_dropped_in_silence),
        cmocka_unit_test(control_dependencies_that_make_no_sense_are_left_out_and_counted),
        cmocka_unit_test(the_older_schema_is_read),
        cmocka_unit_test(wrong_wire_types_are_refused_with_their_byte),
        cmocka_unit_test(numbers_of_more_than_64_bits_are_refused),
        cmocka_unit_test(nodes_that_make_no_sense_are_refused_by_id),
        cmocka_unit_test(ids_used_twice_and_circles_are_refused),
        cmocka_unit_test(collectives_that_disagree_or_lack_a_rank_are_refused),
        cmocka_unit_test(what_is_no_trace_is_refused),
        cmocka_unit_test(one_file_the_prefix_or_the_folder_finds_all_ranks),
        cmocka_unit_test(compressed_traces_are_read),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
