/* SPDX-License-Identifier: BSD-3-Clause */
/* Native JSON of topologies and schedules: what is written is read back exactly, and what is wrong is named with its
 * place. */
#include "hopcast/hopcast.h"
#include "test.h"

#include <math.h>

/* ---- helpers ---- */

static struct hop_topology *topology_of(const char *text)
{
    return parse_topology("t.json", text);
}

static struct hop_schedule *schedule_of(const char *text)
{
    struct hop_diag diag = {0};
    struct hop_schedule *schedule = NULL;
    if (hop_schedule_parse("s.json", text, strlen(text), &schedule, &diag) != HOP_OK)
        fail_msg("%s: %s (expected %s)\n%s", diag.place, diag.what, diag.expected, text);
    return schedule;
}

/* Writes, reads, writes again: the same bytes. Returns what was read. */
static struct hop_topology *topology_again(const struct hop_topology *topology)
{
    char *first = hop_topology_to_json(topology);
    assert_non_null(first);
    struct hop_topology *read = topology_of(first);
    char *second = hop_topology_to_json(read);
    assert_string_equal(first, second);
    free(first);
    free(second);
    return read;
}

static struct hop_schedule *schedule_again(const struct hop_schedule *schedule)
{
    char *first = hop_schedule_to_json(schedule);
    assert_non_null(first);
    struct hop_schedule *read = schedule_of(first);
    char *second = hop_schedule_to_json(read);
    assert_string_equal(first, second);
    free(first);
    free(second);
    return read;
}

static void set(struct hop_topology *topology, const char *assignment)
{
    CHECK(hop_topology_set(topology, assignment, D));
}

static bool same_text(const char *a, const char *b)
{
    return a == b || (a && b && strcmp(a, b) == 0);
}

static void check_same(const struct hop_topology *a, const struct hop_topology *b)
{
    assert_string_equal(hop_topology_name(a), hop_topology_name(b));
    assert_int_equal(hop_topology_node_count(a), hop_topology_node_count(b));
    assert_int_equal(hop_topology_link_count(a), hop_topology_link_count(b));
    for (uint32_t i = 0; i < hop_topology_node_count(a); i++) {
        const struct hop_node *x = hop_topology_node(a, i), *y = hop_topology_node(b, i);
        assert_string_equal(x->name, y->name);
        assert_true(x->kind == y->kind && x->numa == y->numa && x->engines == y->engines);
        assert_true(same_text(x->label, y->label) && same_text(x->bus_id, y->bus_id));
        assert_true(x->tau == y->tau || (isnan(x->tau) && isnan(y->tau)));
    }
    for (uint32_t i = 0; i < hop_topology_link_count(a); i++) {
        const struct hop_link *x = hop_topology_link(a, i), *y = hop_topology_link(b, i);
        assert_memory_equal(x->ends, y->ends, sizeof x->ends);
        assert_memory_equal(x->capacity_Bps, y->capacity_Bps, sizeof x->capacity_Bps);
        assert_true(x->kind == y->kind && x->latency_s == y->latency_s && x->count == y->count);
        assert_true(x->generation == y->generation && x->width == y->width);
        assert_true(same_text(x->parameter, y->parameter) && same_text(x->origin, y->origin));
    }
}

/* ---- topologies ---- */

static void every_builtin_machine_round_trips(void **state)
{
    (void)state;
    const char *name, *summary;
    for (size_t i = 0; hop_topology_builtin(i, &name, &summary); i++) {
        struct hop_topology *topology = load_topology(name), *read = topology_again(topology);
        check_same(topology, read);
        hop_topology_destroy(read);
        hop_topology_destroy(topology);
    }
}

static void overridden_values_round_trip_exactly(void **state)
{
    (void)state;
    struct hop_diag diag;
    struct hop_topology *topology = load_topology("cs-storm");
    set(topology, "tau=0.17355371900826446");
    set(topology, "pcie_payload=128");
    assert_int_equal(
        hop_topology_set_parameter(topology, "socket", 1e10 / 3, "a \"fit\"\nover two lines", 0.1 + 0.2, &diag),
        HOP_OK);
    const struct hop_link *link = hop_topology_link(topology, 0);
    char text[160];
    (void)snprintf(text, sizeof text, "%s--%s.latency=0.3us", hop_topology_node(topology, link->ends[0])->name,
                   hop_topology_node(topology, link->ends[1])->name);
    set(topology, text);
    set(topology, "gpu3.engines=unlimited");
    set(topology, "gpu4.engines=2");
    set(topology, "root0.tau=-0");
    assert_int_equal(hop_topology_add_note(topology, "a note: \xc3\xa4, \t, \\"), HOP_OK);
    struct hop_topology *read = topology_again(topology);
    check_same(topology, read);
    const struct hop_parameter *parameter = hop_topology_parameter(read, "socket");
    assert_true(parameter->value == 1e10 / 3 && parameter->uncertainty == 0.1 + 0.2);
    assert_string_equal(parameter->origin, "a \"fit\"?over two lines"); /* which a table quotes */
    size_t last = 0;
    while (hop_topology_note(read, last + 1))
        last++;
    assert_string_equal(hop_topology_note(read, last), "a note: \xc3\xa4, ?, \\");
    hop_topology_destroy(read);
    hop_topology_destroy(topology);
}

static const char two_nodes[] =
    "{\"hopcast_topology\": 1, \"name\": \"x\", \"nodes\": ["
    "{\"name\": \"gpu0\", \"kind\": \"gpu\"}, {\"name\": \"sw\", \"kind\": \"switch\"}], \"links\": "
    "[{\"from\": \"gpu0\", \"to\": \"sw\", \"kind\": \"pcie\", \"generation\": 4, \"width\": 16%s}]}";

static struct hop_topology *with_link(const char *more)
{
    char text[1024];
    (void)snprintf(text, sizeof text, two_nodes, more);
    return topology_of(text);
}

static void capacities_may_be_given_for_both_one_or_no_direction(void **state)
{
    (void)state;
    double derived = hop_pcie_rate_Bps(4, 16, 256, 24);
    static const struct {
        const char *more;
        double capacity_Bps[2]; /* 0: derived */
        const char *written;    /* NULL: no capacity_Bps */
    } cases[] = {
        {"", {0, 0}, NULL},
        {", \"capacity_Bps\": 2.5e10", {2.5e10, 2.5e10}, "\"capacity_Bps\": 25000000000}"},
        {", \"capacity_Bps\": [1, 2], \"origin\": \"me\"", {1, 2}, "\"capacity_Bps\": [1, 2], \"origin\": \"me\"}"},
        {", \"capacity_Bps\": [null, 2]", {0, 2}, "\"capacity_Bps\": [null, 2]}"},
        {", \"capacity_Bps\": [1.1, null]", {1.1, 0}, "\"capacity_Bps\": [1.1, null]}"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        struct hop_topology *topology = with_link(cases[i].more), *read = topology_again(topology);
        for (unsigned d = 0; d < 2; d++) {
            double expected = cases[i].capacity_Bps[d] > 0 ? cases[i].capacity_Bps[d] : derived;
            assert_true(hop_topology_link(read, 0)->capacity_Bps[d] == expected);
        }
        char *text = hop_topology_to_json(read);
        const char *found = strstr(text, cases[i].written ? cases[i].written : "capacity_Bps");
        assert_true(cases[i].written ? found != NULL : found == NULL);
        free(text);
        hop_topology_destroy(read);
        hop_topology_destroy(topology);
    }
}

static void derived_capacities_follow_a_parameter_after_reading(void **state)
{
    (void)state;
    struct hop_topology *topology = with_link(""), *read = topology_again(topology);
    set(read, "pcie_payload=128");
    assert_true(hop_topology_link(read, 0)->capacity_Bps[0] == hop_pcie_rate_Bps(4, 16, 128, 24));
    hop_topology_destroy(read);
    hop_topology_destroy(topology);
}

/* ---- diagnostics ---- */

struct wrong {
    const char *text;
    const char *place;    /* exactly */
    const char *what;     /* part of it */
    const char *expected; /* part of it */
};

/* Returns whether it is as expected, so that one run shows all that is not. */
static bool check_wrong(const struct wrong *wrong, enum hop_status status, const struct hop_diag *diag)
{
    if (status != HOP_OK && status == diag->status && strcmp(diag->place, wrong->place) == 0 &&
        strstr(diag->what, wrong->what) && strstr(diag->expected, wrong->expected))
        return true;
    print_error("%s\nplace    '%s'\n  wanted '%s'\nwhat     '%s'\n  wanted '%s'\nexpected '%s'\n  wanted '%s'\n",
                wrong->text, diag->place, wrong->place, diag->what, wrong->what, diag->expected, wrong->expected);
    return false;
}

#define HEAD "{\"hopcast_topology\": 1, \"name\": \"x\", "
#define NODES "\"nodes\": [{\"name\": \"gpu0\", \"kind\": \"gpu\"}, {\"name\": \"root0\", \"kind\": \"root\"}]"
#define NODE(members) HEAD "\"nodes\": [{" members "}], \"links\": []}"
#define LINK(members) HEAD NODES ", \"links\": [{" members "}]}"
#define ENDS "\"from\": \"gpu0\", \"to\": \"root0\", \"kind\": \"pcie\""

static const struct wrong wrong_topologies[] = {
    /* syntax */
    {"{\"hopcast_topology\": 1,\n  \"name\" \"x\"}", "t.json:2:12", "':' expected", "JSON"},
    {"{\"hopcast_topology\": 1", "t.json:1:22", "expected near end of file", "JSON"},
    {"{\"hopcast_topology\": 1, \"name\": \"a\", \"name\": \"b\"}", "t.json:1:43", "duplicate",
     "without duplicate keys"},
    {"{\"hopcast_topology\": 1} {}", "t.json:1:25", "end of file expected", "JSON"},
    {"{\"a\": NaN}", "t.json:1:9", "invalid token near 'NaN'", "JSON"},
    {"{\"a\": 1e400}", "t.json:1:11", "overflow", "JSON"},
    {"{\"a\": 99999999999999999999}", "t.json:1:26", "too big integer", "JSON"},
    {"{\"a\": \"\\u0000\"}", "t.json:1:14", "\\u0000", "JSON"},
    {"{\"name\": \"\xff\"}", "t.json:1:10", "byte 0xff", "JSON"},
    /* the format */
    {"{\"hopcast_topology\": 2}", "t.json: /hopcast_topology", "this is 2", "1, the version"},
    {"{\"hopcast_topology\": \"1\"}", "t.json: /hopcast_topology", "this is a string", "1, the version"},
    {"{\"hopcast_schedule\": 1}", "t.json", "a hopcast schedule", "\"hopcast_topology\": 1"},
    {"{\"hopcast_prediction\": 1}", "t.json", "a hopcast prediction", "\"hopcast_topology\": 1"},
    {"{\"traceEvents\": []}", "t.json", "a Chrome trace", "\"hopcast_topology\": 1"},
    {" \n {}", "t.json", "some other JSON object", "\"hopcast_topology\": 1"},
    /* keys and types */
    {"{\"hopcast_topology\": 1}", "t.json", "the key 'name' is missing", ""},
    {HEAD "\"nodez\": []}", "t.json: /nodez", "the key 'nodez'", "'nodes'? one of hopcast_topology, name, "},
    {HEAD NODES "}", "t.json", "the key 'links' is missing", ""},
    {HEAD "\"nodes\": {}, \"links\": []}", "t.json: /nodes", "this is an object", "an array"},
    {HEAD "\"nodes\": [], \"links\": []}", "t.json: /nodes", "0 elements", "at least 1"},
    {HEAD "\"nodes\": [true], \"links\": []}", "t.json: /nodes/0", "this is true", "an object"},
    {"{\"hopcast_topology\": 1, \"name\": \"a\\u001bb\", \"nodes\": [], \"links\": []}", "t.json: /name",
     "control character 0x1b", ""},
    {"{\"hopcast_topology\": 1, \"name\": null, \"nodes\": [], \"links\": []}", "t.json: /name", "this is null",
     "a string"},
    {HEAD "\"a/b~\\u0007\": 1, " NODES ", \"links\": []}", "t.json: /a~1b~0?", "not known here", "one of"},
    /* nodes */
    {NODE("\"kind\": \"gpu\""), "t.json: /nodes/0", "the key 'name' is missing", ""},
    {NODE("\"name\": \"g\", \"kind\": \"gpo\""), "t.json: /nodes/0/kind", "'gpo' is not known",
     "'gpu'? one of gpu, host"},
    {NODE("\"name\": \"g\", \"kind\": 7"), "t.json: /nodes/0/kind", "this is 7", "one of gpu, host"},
    {NODE("\"name\": \"a b\", \"kind\": \"gpu\""), "t.json: /nodes/0/name", "'a b' is no node name", "letters"},
    {NODE("\"name\": \"a\\u0001\", \"kind\": \"gpu\""), "t.json: /nodes/0/name", "control character 0x01", ""},
    {NODE("\"name\": \"g\", \"kind\": \"gpu\", \"numa\": -1"), "t.json: /nodes/0/numa", "this is -1", "from 0"},
    {NODE("\"name\": \"g\", \"kind\": \"gpu\", \"numa\": 0.5"), "t.json: /nodes/0/numa", "this is 0.5",
     "a whole number"},
    {NODE("\"name\": \"g\", \"kind\": \"gpu\", \"engines\": 0"), "t.json: /nodes/0/engines", "this is 0",
     "\"unlimited\""},
    {NODE("\"name\": \"g\", \"kind\": \"gpu\", \"engines\": \"many\""), "t.json: /nodes/0/engines", "this is a string",
     "\"unlimited\""},
    {NODE("\"name\": \"g\", \"kind\": \"gpu\", \"tau\": 0.1"), "t.json: /nodes/0/tau", "a gpu has no tau", "root"},
    {NODE("\"name\": \"r\", \"kind\": \"root\", \"tau\": 1"), "t.json: /nodes/0/tau", "this is 1", "tau < 1"},
    {NODE("\"name\": \"g\", \"kind\": \"gpu\"}, {\"name\": \"g\", \"kind\": \"gpu\""), "t.json: /nodes/1/name",
     "two nodes named 'g'", ""},
    /* links */
    {LINK("\"from\": \"gpu0\", \"kind\": \"pcie\""), "t.json: /links/0", "the key 'to' is missing", ""},
    {LINK("\"from\": \"gpuu0\", \"to\": \"root0\", \"kind\": \"pcie\""), "t.json: /links/0/from", "no node 'gpuu0'",
     "'gpu0'?"},
    {LINK("\"from\": \"gpu0\", \"to\": \"elsewhere\", \"kind\": \"pcie\""), "t.json: /links/0/to",
     "no node 'elsewhere'", "the name of one of the nodes"},
    {LINK("\"from\": \"gpu0\", \"to\": \"root0\", \"kind\": \"pci\""), "t.json: /links/0/kind", "'pci'",
     "'pcie'? one of pcie,"},
    {LINK(ENDS ", \"capacity\": \"12GB/s\""), "t.json: /links/0/capacity", "'capacity' is not known",
     "one of from, to, kind, generation, width, count, capacity_Bps, parameter, duplex_Bps, latency_s, origin"},
    {LINK(ENDS ", \"capacity_bps\": 1"), "t.json: /links/0/capacity_bps", "not known", "'capacity_Bps'? one of"},
    {LINK(ENDS ", \"capacity_Bps\": \"12GB/s\""), "t.json: /links/0/capacity_Bps", "this is a string", "a number"},
    {LINK(ENDS ", \"capacity_Bps\": 0"), "t.json: /links/0/capacity_Bps", "this is 0", "above 0"},
    {LINK(ENDS ", \"capacity_Bps\": null"), "t.json: /links/0/capacity_Bps", "this is null", "a number"},
    {LINK(ENDS ", \"capacity_Bps\": -3"), "t.json: /links/0/capacity_Bps", "this is -3", "above 0"},
    {LINK(ENDS ", \"capacity_Bps\": 1.5e18"), "t.json: /links/0/capacity_Bps", "this is 1.5e+18", "at most 1e18"},
    {LINK(ENDS ", \"capacity_Bps\": [1]"), "t.json: /links/0/capacity_Bps", "1 elements", "at least 2"},
    {LINK(ENDS ", \"capacity_Bps\": [1, 2, 3]"), "t.json: /links/0/capacity_Bps", "3 elements", "[forward, backward]"},
    {LINK(ENDS ", \"capacity_Bps\": [1, -2]"), "t.json: /links/0/capacity_Bps/1", "this is -2", "above 0"},
    {LINK(ENDS ", \"latency_s\": -1e-9"), "t.json: /links/0/latency_s", "this is -1.0", "a number from 0"},
    {LINK(ENDS ", \"generation\": 65"), "t.json: /links/0/generation", "this is 65", "from 1 to 64"},
    {LINK(ENDS ", \"width\": \"x16\""), "t.json: /links/0/width", "this is a string", "a whole number"},
    {LINK(ENDS ", \"parameter\": \"socket_amt\""), "t.json: /links/0", "'socket_amt'", "a parameter in B/s"},
    {LINK(ENDS ", \"generation\": 3, \"width\": 8, \"origin\": \"me\""), "t.json: /links/0/origin",
     "no capacity of its own", "beside capacity_Bps"},
    {LINK("\"from\": \"gpu0\", \"to\": \"gpu0\", \"kind\": \"pcie\""), "t.json: /links/0", "to itself", ""},
    /* parameters and notes */
    {HEAD "\"parameters\": {\"taw\": {\"value\": 0.2}}, " NODES ", \"links\": []}", "t.json: /parameters/taw",
     "no parameter 'taw'", "'tau'?"},
    {HEAD "\"parameters\": {\"tau\": 0.2}, " NODES ", \"links\": []}", "t.json: /parameters/tau", "this is 0.2",
     "an object"},
    {HEAD "\"parameters\": [], " NODES ", \"links\": []}", "t.json: /parameters", "this is an array", "an object"},
    {HEAD "\"parameters\": {\"tau\": {\"value\": 1}}, " NODES ", \"links\": []}", "t.json: /parameters/tau/value",
     "tau cannot be 1", "tau < 1"},
    {HEAD "\"parameters\": {\"tau\": {\"value\": 0.1, \"uncertainty\": -1}}, " NODES ", \"links\": []}",
     "t.json: /parameters/tau/uncertainty", "this is -1", "from 0"},
    {HEAD NODES ", \"links\": [], \"notes\": [\"fine\", 3]}", "t.json: /notes/1", "this is 3", "a string"},
    /* what only the whole shows */
    {LINK(ENDS), "t.json", "has no capacity", "a capacity above zero"},
};

static void wrong_topologies_are_refused_with_place_and_expectation(void **state)
{
    (void)state;
    bool all = true;
    for (size_t i = 0; i < sizeof wrong_topologies / sizeof wrong_topologies[0]; i++) {
        struct hop_diag diag = {0};
        struct hop_topology *topology = NULL;
        const char *text = wrong_topologies[i].text;
        enum hop_status status = hop_topology_parse("t.json", text, strlen(text), &topology, &diag);
        all &= check_wrong(&wrong_topologies[i], status, &diag);
        assert_null(topology);
        assert_int_not_equal(hop_topology_parse("t.json", text, strlen(text), &topology, NULL), HOP_OK);
    }
    assert_true(all);
}

static void a_text_cut_anywhere_is_refused(void **state)
{
    (void)state;
    struct hop_topology *t2 = load_topology("t2");
    char *whole = hop_topology_to_json(t2);
    size_t length = strlen(whole) - 2; /* without the last brace and newline */
    for (size_t cut = 0; cut < length; cut++) {
        struct hop_diag diag = {0};
        struct hop_topology *topology = NULL;
        assert_int_not_equal(hop_topology_parse("t.json", whole, cut, &topology, &diag), HOP_OK);
        assert_true(diag.place[0] && diag.what[0]);
    }
    free(whole);
    hop_topology_destroy(t2);
}

static void deep_nesting_is_an_error_not_a_crash(void **state)
{
    (void)state;
    enum { DEPTH = 10000 };
    static const char *const heads[] = {"{\"hopcast_topology\": ", "{\"hopcast_schedule\": "};
    for (size_t h = 0; h < 2; h++) {
        size_t head = strlen(heads[h]);
        char *text = malloc(head + DEPTH + 1);
        assert_non_null(text);
        memcpy(text, heads[h], head);
        memset(text + head, '[', DEPTH);
        text[head + DEPTH] = '\0';
        struct hop_diag diag = {0};
        struct hop_topology *topology = NULL;
        struct hop_schedule *schedule = NULL;
        enum hop_status status = h == 0 ? hop_topology_parse("t.json", text, head + DEPTH, &topology, &diag)
                                        : hop_schedule_parse("t.json", text, head + DEPTH, &schedule, &diag);
        assert_int_equal(status, HOP_ERR_LIMIT);
        assert_non_null(strstr(diag.what, "depth"));
        assert_non_null(strstr(diag.place, "t.json:1:"));
        free(text);
    }
}

static void notes_that_would_be_cut_are_refused(void **state)
{
    (void)state;
    static const char head[] = HEAD NODES ", \"links\": [], \"notes\": [\"";
    char text[sizeof head + 600];
    for (size_t length = 511; length <= 512; length++) {
        int at = snprintf(text, sizeof text, "%s", head);
        memset(text + at, 'n', length);
        (void)snprintf(text + at + length, sizeof text - (size_t)at - length, "\"]}");
        struct hop_diag diag = {0};
        struct hop_topology *topology = NULL;
        enum hop_status status = hop_topology_parse("t.json", text, strlen(text), &topology, &diag);
        assert_int_equal(status, length == 511 ? HOP_OK : HOP_ERR_LIMIT);
        if (status == HOP_OK)
            assert_int_equal(strlen(hop_topology_note(topology, 0)), 511);
        else
            assert_string_equal(diag.place, "t.json: /notes/0");
        hop_topology_destroy(topology);
    }
}

/* ---- schedules ---- */

static void every_kind_of_operation_round_trips(void **state)
{
    (void)state;
    static const char text[] = "queue ready\n"
                               "a: gpu0 -> gpu2 300MiB at 1.5ms via staged 2MiB after b f\n" /* b and f come later */
                               "b: 3@gpu1:x+64 -> 0@node0.gpu4:y 1 after-start e\n"
                               "c: gpu3 -> gpu2 0 via auto\n"
                               "d: reduce max bf16 gpu2:x gpu2:y+4KiB -> gpu2:x 300MiB\n"
                               "e: work 7@gpu2 30us after d\n"
                               "f: gpu5 -> gpu6 1GiB via staged\n"
                               "s\xc3\xa4tze\"\\: gpu6 -> gpu5 5 after a b c d e f after-start a b\n";
    struct hop_schedule *schedule = schedule_of(text), *read = schedule_again(schedule);
    char *first = hop_schedule_to_text(schedule), *second = hop_schedule_to_text(read);
    assert_string_equal(first, second);
    assert_true(hop_schedule_queue_ready(read));
    assert_string_equal(hop_schedule_name(read), "s.json");
    assert_int_equal(hop_schedule_op(read, 0)->after[1], 5);
    assert_int_equal(hop_schedule_op(read, 1)->from.offset_bytes, 64);
    assert_true(hop_schedule_op(read, 4)->duration_s == 30e-6);
    free(first);
    free(second);
    hop_schedule_destroy(read);
    hop_schedule_destroy(schedule);
}

static void an_empty_schedule_round_trips(void **state)
{
    (void)state;
    struct hop_schedule *schedule = schedule_of(""), *read = schedule_again(schedule);
    assert_int_equal(hop_schedule_count(read), 0);
    assert_false(hop_schedule_queue_ready(read));
    hop_schedule_destroy(read);
    hop_schedule_destroy(schedule);
}

static void large_integers_and_doubles_are_exact(void **state)
{
    (void)state;
    static const uint64_t sizes[] = {0, 1, (UINT64_C(1) << 53) + 1, HOP_BYTES_MAX - 1, HOP_BYTES_MAX};
    static const double times[] = {0, 5e-324, 0.1 + 0.2, 1.0 / 3, 1e-9, 123456.789012345678, 1e18};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        for (size_t t = 0; t < sizeof times / sizeof times[0]; t++) {
            struct hop_schedule *schedule = hop_schedule_create("exact");
            struct hop_op op = hop_op_default(HOP_OP_COPY);
            op.from.device = "gpu0";
            op.from.buffer = "b";
            op.from.offset_bytes = sizes[i];
            op.to.device = "gpu1";
            op.bytes = sizes[i];
            op.packet_bytes = sizes[i];
            op.via = HOP_VIA_STAGED;
            op.at_s = times[t];
            (void)hop_schedule_add(schedule, &op);
            op = hop_op_default(HOP_OP_WORK);
            op.from.device = "gpu0";
            op.duration_s = times[t];
            (void)hop_schedule_add(schedule, &op);
            assert_int_equal(hop_schedule_finish(schedule, &schedule, NULL), HOP_OK);
            struct hop_schedule *read = schedule_again(schedule);
            const struct hop_op *copy = hop_schedule_op(read, 0), *work = hop_schedule_op(read, 1);
            assert_true(copy->bytes == sizes[i] && copy->packet_bytes == sizes[i]);
            assert_true(copy->from.offset_bytes == sizes[i]);
            assert_true(copy->at_s == times[t] && work->duration_s == times[t]);
            hop_schedule_destroy(read);
            hop_schedule_destroy(schedule);
        }
    }
}

static void whole_numbers_may_be_written_with_an_exponent(void **state)
{
    (void)state;
    struct hop_schedule *schedule =
        schedule_of("{\"hopcast_schedule\": 1, \"operations\": [{\"id\": \"a\", \"kind\": \"copy\", "
                    "\"from\": \"gpu0\", \"to\": \"gpu1\", \"bytes\": 1e6}]}");
    assert_int_equal(hop_schedule_op(schedule, 0)->bytes, 1000000);
    hop_schedule_destroy(schedule);
}

#define OPS(members) "{\"hopcast_schedule\": 1, \"operations\": [{" members "}]}"
#define COPY "\"id\": \"a\", \"kind\": \"copy\", \"from\": \"gpu0\", \"to\": \"gpu1\", \"bytes\": 1"
#define REDUCE "\"id\": \"r\", \"kind\": \"reduce\", \"operator\": \"sum\", \"type\": \"f32\", \"to\": \"gpu1:x\", "

static const struct wrong wrong_schedules[] = {
    {"{\"hopcast_schedule\": 1,}", "t.json:1:24", "string or '}' expected", "JSON"},
    {"{\"hopcast_schedule\": 1.0}", "t.json: /hopcast_schedule", "this is 1", "1, the version"},
    {"{\"hopcast_topology\": 1}", "t.json", "a hopcast topology", "\"hopcast_schedule\": 1"},
    {"{\"hopcast_schedule\": 1}", "t.json", "the key 'operations' is missing", ""},
    {"{\"hopcast_schedule\": 1, \"que\": 1, \"operations\": []}", "t.json: /que", "'que' is not known", "'queue'?"},
    {"{\"hopcast_schedule\": 1, \"queue\": \"read\", \"operations\": []}", "t.json: /queue", "'read'", "'ready'?"},
    {"{\"hopcast_schedule\": 1, \"operations\": {}}", "t.json: /operations", "this is an object", "an array"},
    {"{\"hopcast_schedule\": 1, \"operations\": [1]}", "t.json: /operations/0", "this is 1", "an object"},
    {OPS("\"id\": \"a\""), "t.json: /operations/0", "the key 'kind' is missing", ""},
    {OPS("\"id\": \"a\", \"kind\": \"copi\""), "t.json: /operations/0/kind", "'copi'",
     "'copy'? one of copy, reduce, work"},
    {OPS("\"kind\": \"copy\", \"from\": \"a\", \"to\": \"b\", \"bytes\": 1"), "t.json: /operations/0",
     "'id' is missing", ""},
    {OPS(COPY ", \"form\": \"gpu0\""), "t.json: /operations/0/form", "'form' is not known", "'from'?"},
    {OPS(COPY ", \"duration_s\": 1"), "t.json: /operations/0/duration_s", "not known here", "one of id, kind, after"},
    {OPS("\"id\": 1, \"kind\": \"work\", \"device\": \"gpu0\", \"duration_s\": 1"), "t.json: /operations/0/id",
     "this is 1", "a string"},
    {OPS("\"id\": \"x y\", \"kind\": \"work\", \"device\": \"gpu0\", \"duration_s\": 1"), "t.json: /operations/0",
     "'x y' cannot name", "without space"},
    {OPS("\"id\": \"x\\n\", \"kind\": \"work\", \"device\": \"gpu0\", \"duration_s\": 1"), "t.json: /operations/0/id",
     "control character 0x0a", ""},
    {OPS("\"id\": \"x\", \"kind\": \"work\", \"device\": \"gpu 0\", \"duration_s\": 1"), "t.json: /operations/0/device",
     "'gpu 0'", "[rank@]device"},
    {OPS("\"id\": \"x\", \"kind\": \"work\", \"device\": \"gpu0\", \"duration_s\": -1"),
     "t.json: /operations/0/duration_s", "this is -1", "from 0"},
    {OPS("\"id\": \"x\", \"kind\": \"work\", \"device\": \"gpu0\", \"duration_s\": \"30us\""),
     "t.json: /operations/0/duration_s", "this is a string", "a number"},
    {OPS("\"id\": \"x\", \"kind\": \"work\", \"device\": \"gpu0\", \"duration_s\": 1e19"),
     "t.json: /operations/0/duration_s", "this is 1e+19", "to 1e+18"},
    {OPS("\"id\": \"a\", \"kind\": \"copy\", \"from\": \"gpu0\", \"to\": \"gpu1\", \"bytes\": -1"),
     "t.json: /operations/0/bytes", "this is -1", "a whole number"},
    {OPS("\"id\": \"a\", \"kind\": \"copy\", \"from\": \"gpu0\", \"to\": \"gpu1\", \"bytes\": 1.5"),
     "t.json: /operations/0/bytes", "this is 1.5", "a whole number"},
    {OPS("\"id\": \"a\", \"kind\": \"copy\", \"from\": \"gpu0\", \"to\": \"gpu1\", \"bytes\": 1152921504606846977"),
     "t.json: /operations/0/bytes", "this is 1152921504606846977", "to 1152921504606846976"},
    {OPS("\"id\": \"a\", \"kind\": \"copy\", \"from\": \"gpu0\", \"to\": \"gpu0\", \"bytes\": 1"),
     "t.json: /operations/0", "to itself", "two different devices"},
    {OPS(COPY ", \"via\": \"stage\""), "t.json: /operations/0/via", "'stage'", "'staged'?"},
    {OPS(COPY ", \"packet_bytes\": 5"), "t.json: /operations/0/packet_bytes", "without staging", "\"via\": \"staged\""},
    {OPS(COPY ", \"via\": \"staged\", \"packet_bytes\": 0"), "t.json: /operations/0/packet_bytes", "this is 0",
     "from 1"},
    {OPS(COPY ", \"after\": \"a\""), "t.json: /operations/0/after", "this is a string", "an array"},
    {OPS(COPY ", \"after\": [3]"), "t.json: /operations/0/after/0", "this is 3", "a string"},
    {OPS(COPY "}, {\"id\": \"second\", \"kind\": \"work\", \"device\": \"gpu0\", \"duration_s\": 0, \"after_start\": "
              "[\"a\", "
              "\"secnd\"]"),
     "t.json: /operations/1/after_start/1", "no operation 'secnd'", "'second'?"},
    {OPS(COPY "}, {" COPY), "t.json: /operations/1", "two operations named 'a'", "once"},
    {OPS(REDUCE "\"bytes\": 4, \"inputs\": []"), "t.json: /operations/0/inputs", "0 elements", "at least 1"},
    {OPS(REDUCE "\"bytes\": 4, \"inputs\": [\"gpu1:x\", \"gpu1:\"]"), "t.json: /operations/0/inputs/1", "buffer", ""},
    {OPS(REDUCE "\"bytes\": 4, \"inputs\": [\"gpu2:x\"]"), "t.json: /operations/0", "an input on gpu2", "copy"},
    {OPS(REDUCE "\"bytes\": 5, \"inputs\": [\"gpu1:y\"]"), "t.json: /operations/0", "no multiple of its type",
     "4 bytes"},
    {OPS("\"id\": \"r\", \"kind\": \"reduce\", \"operator\": \"avg\", \"type\": \"f32\", \"to\": \"g\", \"bytes\": 4, "
         "\"inputs\": "
         "[\"g\"]"),
     "t.json: /operations/0/operator", "'avg'", "one of sum, prod, min, max"},
    {OPS("\"id\": \"r\", \"kind\": \"reduce\", \"operator\": \"sum\", \"type\": \"f31\", \"to\": \"g\", \"bytes\": 4, "
         "\"inputs\": "
         "[\"g\"]"),
     "t.json: /operations/0/type", "'f31'", "'f32'?"},
    {OPS(COPY ", \"after\": [\"a\"]"), "t.json: operation a", "cyclic dependency", "without a cycle"},
};

static void wrong_schedules_are_refused_with_place_and_expectation(void **state)
{
    (void)state;
    bool all = true;
    for (size_t i = 0; i < sizeof wrong_schedules / sizeof wrong_schedules[0]; i++) {
        struct hop_diag diag = {0};
        struct hop_schedule *schedule = NULL;
        const char *text = wrong_schedules[i].text;
        enum hop_status status = hop_schedule_parse("t.json", text, strlen(text), &schedule, &diag);
        all &= check_wrong(&wrong_schedules[i], status, &diag);
        assert_null(schedule);
        assert_int_not_equal(hop_schedule_parse("t.json", text, strlen(text), &schedule, NULL), HOP_OK);
    }
    assert_true(all);
}

TEST_GROUP(json)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_builtin_machine_round_trips),
        cmocka_unit_test(overridden_values_round_trip_exactly),
        cmocka_unit_test(capacities_may_be_given_for_both_one_or_no_direction),
        cmocka_unit_test(derived_capacities_follow_a_parameter_after_reading),
        cmocka_unit_test(wrong_topologies_are_refused_with_place_and_expectation),
        cmocka_unit_test(a_text_cut_anywhere_is_refused),
        cmocka_unit_test(deep_nesting_is_an_error_not_a_crash),
        cmocka_unit_test(notes_that_would_be_cut_are_refused),
        cmocka_unit_test(every_kind_of_operation_round_trips),
        cmocka_unit_test(an_empty_schedule_round_trips),
        cmocka_unit_test(large_integers_and_doubles_are_exact),
        cmocka_unit_test(whole_numbers_may_be_written_with_an_exponent),
        cmocka_unit_test(wrong_schedules_are_refused_with_place_and_expectation),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
