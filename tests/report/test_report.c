/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports: drawings of topologies and timelines. Golden files lie in tests/golden; HOPCAST_UPDATE_GOLDEN=1 rewrites
 * them.
 */
#include "base/base.h"
#include "hopcast/hopcast.h"
#include "test.h"

#include <jansson.h>
#include <math.h>

/* Table II of Martinasso et al. 2016: 300 MiB each, on T2 with tau 0.2. */
static const char table2[] =
    "a: gpu0 -> gpu2 300MiB\nb: gpu1 -> gpu4 300MiB\nc: gpu3 -> gpu2 300MiB\nd: gpu6 -> gpu4 300MiB\n";
/* Everything that a row can be: waiting, latency, work, a reduction, staged packets, an empty transfer, dependencies.
 */
static const char mixed[] =
    "a: gpu0 -> gpu4 300MiB\nq: gpu0 -> gpu1 100MiB\nw: work gpu1 30ms after q\nb: gpu1 -> gpu4 3MiB after w\n"
    "r: reduce sum f32 gpu4:x gpu4:y -> gpu4:x 300MiB after a b\nz: gpu5 -> gpu6 0B\n"
    "s: gpu6 -> gpu1 30MiB at 50ms via staged 10MiB\nn: gpu3 -> gpu2 1MiB after-start b\n";

/* ---- what the tests share ---- */

/* Compares a text with its golden file and takes the text. */
static void check_golden(const char *name, char *text)
{
    char path[512];
    struct hop_source golden = {0};
    assert_non_null(text);
    (void)snprintf(path, sizeof path, "%s/tests/golden/%s", TEST_SOURCE_DIR, name);
    if (getenv("HOPCAST_UPDATE_GOLDEN")) {
        FILE *file = fopen(path, "w");
        assert_non_null(file);
        assert_int_equal(fwrite(text, 1, strlen(text), file), strlen(text));
        assert_int_equal(fclose(file), 0);
    }
    CHECK(hop_source_load(path, &golden, D));
    if (strcmp(golden.text, text) != 0)
        fail_msg("%s differs from what is written now (HOPCAST_UPDATE_GOLDEN=1 rewrites it):\n%s", path, text);
    hop_source_finish(&golden);
    free(text);
}

struct scene {
    struct hop_topology *topology;
    struct hop_schedule *schedule;
    struct hop_network *network;
    struct hop_timeline *timeline;
};

static struct scene play(const char *machine, const char *assignment, const char *text, enum hop_detail detail)
{
    struct scene scene = {.topology = load_topology(machine)};
    struct hop_simulate_options options = {.detail = detail};
    if (assignment)
        CHECK(hop_topology_set(scene.topology, assignment, D));
    CHECK(hop_schedule_parse("test", text, strlen(text), &scene.schedule, D));
    CHECK(hop_network_create(scene.topology, NULL, &scene.network, D));
    CHECK(hop_simulate(scene.network, scene.schedule, &options, &scene.timeline, D));
    return scene;
}

static void finish(struct scene *scene)
{
    hop_timeline_destroy(scene->timeline);
    hop_network_destroy(scene->network);
    hop_schedule_destroy(scene->schedule);
    hop_topology_destroy(scene->topology);
}

static unsigned occurrences(const char *text, const char *piece)
{
    unsigned count = 0;
    for (; (text = strstr(text, piece)); text += strlen(piece))
        count++;
    return count;
}

/* Columns of the widest line. */
static unsigned widest(const char *text)
{
    unsigned width = 0, most = 0;
    for (; *text; text++) {
        width = *text == '\n' ? 0 : width + (((unsigned char)*text & 0xc0) != 0x80);
        most = width > most ? width : most;
    }
    return most;
}

/* Well-formed as far as our own writers can go wrong: UTF-8, characters, entities, quotes, elements that close. */
static void check_xml(const char *text)
{
    json_t *string = json_string(text); /* NULL: not UTF-8 */
    unsigned open = 0;
    assert_non_null(string);
    json_decref(string);
    for (const char *at = text; *at; at++) {
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
        if (*at == '&')
            assert_true(strncmp(at, "&amp;", 5) == 0 || strncmp(at, "&lt;", 4) == 0 || strncmp(at, "&gt;", 4) == 0 ||
                        strncmp(at, "&quot;", 6) == 0);
        if (*at != '<')
            continue;
        bool closes = at[1] == '/', quoted = false;
        for (at++; *at && (*at != '>' || quoted); at++) {
            quoted ^= *at == '"';
            assert_int_not_equal(*at, '<');
        }
        assert_int_equal(*at, '>');
        assert_true(!closes || open > 0);
        open += closes ? -1u : at[-1] != '/';
    }
    assert_int_equal(open, 0);
}

/* ---- topologies ---- */

static void tree_shows_each_node_with_its_link(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "dgx-1", "dgx-a100"};
    for (size_t i = 0; i < HOP_COUNT(machines); i++) {
        char name[64];
        struct hop_topology *topology = load_topology(machines[i]);
        (void)snprintf(name, sizeof name, "tree-%s.txt", machines[i]);
        check_golden(name, hop_topology_to_tree(topology));
        hop_topology_destroy(topology);
    }
}

static void tree_tells_both_directions_apart_and_shows_latency(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    CHECK(hop_topology_set(topology, "gpu0->board0.capacity=10GB/s", D));
    CHECK(hop_topology_set(topology, "gpu0--board0.latency=2us", D));
    char *tree = hop_topology_to_tree(topology);
    assert_non_null(strstr(tree, "gen3 x16 10.00 GB/s up, 12.44 GB/s down, 2.000 us"));
    free(tree);
    hop_topology_destroy(topology);
}

static void dot_names_every_node_and_link(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    check_golden("dot-t2.dot", hop_topology_to_dot(topology));
    hop_topology_destroy(topology);
}

static void graphviz_draws_every_built_in_machine(void **state)
{
    (void)state;
    const char *machine, *summary;
    if (system("command -v dot >/dev/null 2>&1") != 0) {
        print_message("skipped: there is no dot\n");
        skip();
    }
    for (size_t i = 0; hop_topology_builtin(i, &machine, &summary); i++) {
        struct hop_topology *topology = load_topology(machine);
        char *text = hop_topology_to_dot(topology);
        FILE *dot = popen("dot -Tsvg >/dev/null", "w");
        assert_non_null(dot);
        assert_int_equal(fwrite(text, 1, strlen(text), dot), strlen(text));
        assert_int_equal(pclose(dot), 0);
        free(text);
        hop_topology_destroy(topology);
    }
}

static void svg_is_as_it_was(void **state)
{
    (void)state;
    static const char *const machines[] = {"t2", "dgx-1"};
    for (size_t i = 0; i < HOP_COUNT(machines); i++) {
        char name[64];
        struct hop_topology *topology = load_topology(machines[i]);
        (void)snprintf(name, sizeof name, "svg-%s.svg", machines[i]);
        check_golden(name, hop_topology_to_svg(topology));
        hop_topology_destroy(topology);
    }
}

/* Each pair that exchanges something is one cell, of up to 128 ranks; of more, as many as there are blocks that do. */
static void svg_of_traffic_has_every_pair(void **state)
{
    (void)state;
    static const uint32_t counts[] = {1, 2, 7, 64, 128, 129, 300};
    for (unsigned i = 0; i < HOP_COUNT(counts); i++) {
        uint32_t ranks = counts[i], per = (ranks + 127) / 128, wanted = 0;
        bool seen[HOP_MEMORY_COUNT][128][128] = {0};
        struct hop_traffic *traffic;
        CHECK(hop_traffic_create(ranks, &traffic, D));
        for (uint32_t k = 0; ranks > 1 && k < 3 * ranks; k++) {
            uint32_t from = random_below(ranks), to = random_below(ranks), memory = random_below(HOP_MEMORY_COUNT);
            if (from == to)
                continue;
            CHECK(hop_traffic_add(traffic, from, to, memory, 1 + random_below(1 << random_below(30)), 1, D));
            wanted += !seen[memory][from / per][to / per];
            seen[memory][from / per][to / per] = true;
        }
        char *svg = hop_traffic_to_svg(traffic, "<traffic> & more");
        check_xml(svg);
        unsigned cells = 0;
        for (const char *at = strstr(svg, "<path"); at; at = strstr(at + 1, "<path")) {
            for (const char *c = at; *c != '>'; c++)
                cells += *c == 'M';
        }
        assert_int_equal(cells, wanted);
        assert_int_equal(occurrences(svg, " ranks, "), 1);
        free(svg);
        hop_traffic_destroy(traffic);
    }
}

static void svg_of_every_built_in_machine_has_each_node_and_link(void **state)
{
    (void)state;
    const char *machine, *summary;
    for (size_t i = 0; hop_topology_builtin(i, &machine, &summary); i++) {
        struct hop_topology *topology = load_topology(machine);
        char *svg = hop_topology_to_svg(topology);
        check_xml(svg);
        /* One group a node, one titled path a link, of the first of servers that are alike where all are too wide. */
        unsigned drawn = strstr(svg, " left out") ? hop_topology_server_count(topology) : 1;
        assert_in_range(occurrences(svg, "<g><title>"), hop_topology_node_count(topology) / drawn,
                        hop_topology_node_count(topology) - (drawn > 1));
        if (drawn == 1)
            assert_int_equal(occurrences(svg, "><title>") - occurrences(svg, "<g><title>"),
                             hop_topology_link_count(topology));
        free(svg);
        hop_topology_destroy(topology);
    }
}

/* Rectangles of nodes are the ones with rx="5"; no two may share a point. */
static void svg_boxes_do_not_overlap(void **state)
{
    (void)state;
    const char *machine, *summary;
    for (size_t i = 0; hop_topology_builtin(i, &machine, &summary); i++) {
        struct hop_topology *topology = load_topology(machine);
        char *svg = hop_topology_to_svg(topology);
        double boxes[512][4];
        size_t count = 0;
        for (const char *at = svg; (at = strstr(at, "</title><rect ")) && count < HOP_COUNT(boxes); at++)
            count += sscanf(at, "</title><rect x=\"%lf\" y=\"%lf\" width=\"%lf\" height=\"%lf\"", &boxes[count][0],
                            &boxes[count][1], &boxes[count][2], &boxes[count][3]) == 4;
        assert_int_equal(count, occurrences(svg, "<g><title>"));
        for (size_t a = 0; a < count; a++) {
            for (size_t b = 0; b < a; b++)
                assert_false(boxes[a][0] < boxes[b][0] + boxes[b][2] && boxes[b][0] < boxes[a][0] + boxes[a][2] &&
                             boxes[a][1] < boxes[b][1] + boxes[b][3] && boxes[b][1] < boxes[a][1] + boxes[a][3]);
        }
        free(svg);
        hop_topology_destroy(topology);
    }
}

static uint32_t add_node(struct hop_topology *topology, enum hop_node_kind kind, const char *name, const char *label)
{
    uint32_t index = HOP_NONE;
    struct hop_node node = hop_node_default(kind, name);
    node.label = label;
    CHECK(hop_topology_add_node(topology, &node, &index, D));
    return index;
}

static void add_link(struct hop_topology *topology, enum hop_link_kind kind, uint32_t from, uint32_t to)
{
    struct hop_link link = hop_link_default(kind, from, to);
    link.generation = link.width = kind == HOP_LINK_PCIE ? 4 : 0;
    CHECK(hop_topology_add_link(topology, &link, NULL, D));
}

static void labels_cannot_break_a_drawing(void **state)
{
    (void)state;
    struct hop_topology *topology = hop_topology_create("<&\"\\\x01>");
    uint32_t root = add_node(topology, HOP_NODE_ROOT, "root0", "a\nb\x1b[31m \"q\" <tag> & \\");
    uint32_t gpu = add_node(topology, HOP_NODE_GPU, "gpu0", "broken \xff\xc3 UTF-8, \xc3\xa9 whole");
    add_link(topology, HOP_LINK_PCIE, gpu, root);
    CHECK(hop_topology_finish(topology, D));
    char *svg = hop_topology_to_svg(topology), *tree = hop_topology_to_tree(topology),
         *dot = hop_topology_to_dot(topology);
    check_xml(svg);
    assert_null(strchr(tree, '\x1b'));
    assert_null(strchr(dot, '\x1b'));
    assert_non_null(strstr(dot, "\\\"q\\\" <tag> & \\\\\""));
    free(svg);
    free(tree);
    free(dot);
    hop_topology_destroy(topology);
}

/* Sockets above their root complexes, a fabric below the NICs, an isolated switch, a device without PCIe. */
static void every_kind_of_node_finds_a_place(void **state)
{
    (void)state;
    struct hop_topology *topology = hop_topology_create("all");
    uint32_t sockets[2], leaf = add_node(topology, HOP_NODE_FABRIC, "leaf0", NULL);
    uint32_t spine = add_node(topology, HOP_NODE_FABRIC, "spine0", NULL);
    add_node(topology, HOP_NODE_SWITCH, "alone", NULL);
    add_link(topology, HOP_LINK_INFINIBAND, leaf, spine);
    for (unsigned s = 0; s < 2; s++) {
        char name[32];
        (void)snprintf(name, sizeof name, "socket%u", s);
        sockets[s] = add_node(topology, HOP_NODE_SOCKET, name, NULL);
        (void)snprintf(name, sizeof name, "root%u", s);
        uint32_t root = add_node(topology, HOP_NODE_ROOT, name, NULL);
        add_link(topology, HOP_LINK_SOCKET, root, sockets[s]);
        (void)snprintf(name, sizeof name, "nic%u", s);
        uint32_t nic = add_node(topology, HOP_NODE_NIC, name, NULL);
        add_link(topology, HOP_LINK_PCIE, nic, root);
        add_link(topology, HOP_LINK_INFINIBAND, nic, leaf);
    }
    add_link(topology, HOP_LINK_SOCKET, sockets[0], sockets[1]);
    add_link(topology, HOP_LINK_ETHERNET, add_node(topology, HOP_NODE_FPGA, "fpga0", NULL), leaf);
    CHECK(hop_topology_finish(topology, D));
    check_golden("svg-all.svg", hop_topology_to_svg(topology));
    check_golden("tree-all.txt", hop_topology_to_tree(topology));
    hop_topology_destroy(topology);
}

/* ---- timelines ---- */

static void gantt_of_table_2_shows_who_is_slowed(void **state)
{
    (void)state;
    struct scene scene = play("t2", "tau=0.2", table2, HOP_DETAIL_SEGMENTS);
    struct hop_gantt_options ascii = {.width = 80, .ascii = true}, colour = {.width = 80, .colour = true};
    check_golden("gantt-table2.txt", hop_timeline_to_gantt(scene.timeline, NULL));
    check_golden("gantt-table2-ascii.txt", hop_timeline_to_gantt(scene.timeline, &ascii));
    check_golden("gantt-table2-colour.txt", hop_timeline_to_gantt(scene.timeline, &colour));
    finish(&scene);
}

static void gantt_shows_waiting_latency_work_and_reductions(void **state)
{
    (void)state;
    struct scene scene = play("t2", "link_latency=1ms", mixed, HOP_DETAIL_SEGMENTS);
    check_golden("gantt-mixed.txt", hop_timeline_to_gantt(scene.timeline, NULL));
    finish(&scene);
}

static void gantt_keeps_to_its_width(void **state)
{
    (void)state;
    struct scene scene = play("t2", NULL, mixed, HOP_DETAIL_SEGMENTS);
    for (unsigned width = 40; width <= 200; width += 7) {
        struct hop_gantt_options options = {.width = width};
        char *chart = hop_timeline_to_gantt(scene.timeline, &options);
        char *rows = strstr(chart, "\n\n"), *legend = strstr(rows + 2, "\n\n");
        *legend = '\0';
        assert_in_range(widest(rows), width - 8, width);
        free(chart);
    }
    finish(&scene);
}

static void gantt_says_how_many_rows_it_leaves_out(void **state)
{
    (void)state;
    struct scene scene = {.topology = load_topology("t2"), .schedule = hop_schedule_create("many")};
    for (unsigned i = 0; i < 2003; i++)
        (void)hop_schedule_copy(scene.schedule, "gpu0", "gpu1", 4096, NULL, 0);
    CHECK(hop_schedule_finish(scene.schedule, &scene.schedule, D));
    CHECK(hop_network_create(scene.topology, NULL, &scene.network, D));
    CHECK(hop_simulate(scene.network, scene.schedule, NULL, &scene.timeline, D));
    char *chart = hop_timeline_to_gantt(scene.timeline, NULL);
    assert_int_equal(occurrences(chart, "gpu0->gpu1"), 2000);
    assert_non_null(strstr(chart, "\n3 more operations are left out\n"));
    free(chart);
    finish(&scene);
}

static void lesser_detail_still_reports(void **state)
{
    (void)state;
    for (enum hop_detail detail = HOP_DETAIL_NONE; detail <= HOP_DETAIL_ENDS; detail++) {
        struct scene scene = play("t2", NULL, mixed, detail);
        char *chart = hop_timeline_to_gantt(scene.timeline, NULL), *trace = hop_timeline_to_trace(scene.timeline);
        char *story = hop_timeline_explain(scene.timeline, 1);
        json_t *root = json_loads(trace, 0, NULL);
        assert_non_null(root);
        assert_int_equal(strstr(chart, "gpu0->gpu4") != NULL, detail == HOP_DETAIL_ENDS);
        assert_non_null(strstr(story, detail == HOP_DETAIL_ENDS ? "(detail ends)" : "(detail none)"));
        json_decref(root);
        free(chart);
        free(trace);
        free(story);
        finish(&scene);
    }
}

/* The open steps of one asynchronous id. */
struct track {
    char category[16];
    double last_us;
    unsigned open;
    char *names[8];
};

static void check_step(struct track *track, json_t *event, const char *phase)
{
    const char *name = json_string_value(json_object_get(event, "name"));
    const char *category = json_string_value(json_object_get(event, "cat"));
    double at_us = json_real_value(json_object_get(event, "ts"));
    assert_non_null(name);
    if (track->category[0])
        assert_string_equal(track->category, category);
    (void)snprintf(track->category, sizeof track->category, "%s", category);
    assert_true(at_us >= track->last_us);
    track->last_us = at_us;
    if (phase[0] == 'b') {
        assert_true(track->open < HOP_COUNT(track->names));
        track->names[track->open++] = strdup(name);
    } else {
        assert_true(track->open > 0);
        assert_string_equal(track->names[--track->open], name);
        free(track->names[track->open]);
    }
}

static void check_trace(struct hop_timeline *timeline)
{
    uint32_t ops = hop_schedule_count(hop_timeline_schedule(timeline)), ended = 0, counters = 0;
    char *text = hop_timeline_to_trace(timeline);
    json_t *root = json_loads(text, JSON_REJECT_DUPLICATES | JSON_DECODE_INT_AS_REAL, NULL), *event;
    struct track *tracks = calloc(ops, sizeof *tracks);
    json_t *loads = json_object();
    const char *name;
    size_t i;
    assert_non_null(root);
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        const char *phase = json_string_value(json_object_get(event, "ph"));
        if (strcmp(phase, "b") == 0 || strcmp(phase, "e") == 0) {
            unsigned long id = strtoul(json_string_value(json_object_get(event, "id")), NULL, 16);
            assert_in_range(id, 1, ops);
            check_step(&tracks[id - 1], event, phase);
            ended += phase[0] == 'e' && tracks[id - 1].open == 0;
        } else if (strcmp(phase, "C") == 0) {
            json_t *load = json_object_get(json_object_get(event, "args"), "GB/s");
            assert_true(json_real_value(load) >= 0);
            json_object_set(loads, json_string_value(json_object_get(event, "name")), load);
            counters++;
        } else {
            assert_string_equal(phase, "M");
        }
    }
    assert_int_equal(ended, ops);
    assert_true(counters > 0);
    json_object_foreach(loads, name, event) assert_true(json_real_value(event) == 0);
    json_decref(loads);
    json_decref(root);
    free(tracks);
    free(text);
}

static void trace_pairs_its_events_and_ends_every_counter_at_zero(void **state)
{
    (void)state;
    struct scene scene = play("t2", "tau=0.2", table2, HOP_DETAIL_SEGMENTS);
    check_trace(scene.timeline);
    finish(&scene);
    scene = play("t2", "link_latency=1ms", mixed, HOP_DETAIL_SEGMENTS);
    check_trace(scene.timeline);
    finish(&scene);
}

/* The area below a link's counter is what it carried. */
static void trace_counters_conserve_bytes(void **state)
{
    (void)state;
    struct scene scene = play("t2", "tau=0.2", table2, HOP_DETAIL_SEGMENTS);
    char *text = hop_timeline_to_trace(scene.timeline);
    json_t *root = json_loads(text, JSON_DECODE_INT_AS_REAL, NULL), *event;
    double bytes = 0, load = 0, since_us = 0;
    size_t i;
    json_array_foreach(json_object_get(root, "traceEvents"), i, event)
    {
        const char *name = json_string_value(json_object_get(event, "name"));
        if (strcmp(name, "board0->switch0") != 0)
            continue;
        double at_us = json_real_value(json_object_get(event, "ts"));
        bytes += load * 1e9 * (at_us - since_us) * 1e-6;
        load = json_real_value(json_object_get(json_object_get(event, "args"), "GB/s"));
        since_us = at_us;
    }
    assert_true(fabs(bytes - 600 * 0x1p20) < 1e-6 * bytes);
    json_decref(root);
    free(text);
    finish(&scene);
}

static void explain_tells_table_2_phase_by_phase(void **state)
{
    (void)state;
    struct scene scene = play("t2", "tau=0.2", table2, HOP_DETAIL_SEGMENTS);
    check_golden("explain-table2-a.txt", hop_timeline_explain(scene.timeline, 0));
    check_golden("explain-table2-b.txt", hop_timeline_explain(scene.timeline, 1));
    finish(&scene);
}

static void explain_tells_of_waiting_and_dependencies(void **state)
{
    (void)state;
    struct scene scene = play("t2", "link_latency=1ms", mixed, HOP_DETAIL_SEGMENTS);
    struct hop_buffer all = {0};
    for (uint32_t op = 0; op < hop_schedule_count(hop_timeline_schedule(scene.timeline)); op++) {
        char *story = hop_timeline_explain(scene.timeline, op);
        hop_buffer_printf(&all, "%s\n", story);
        free(story);
    }
    check_golden("explain-mixed.txt", hop_buffer_take(&all));
    finish(&scene);
}

/* ---- JSON ---- */

/* The prediction of so many transfers of different sizes that are all active at once, four a host. */
static size_t prediction_size(unsigned transfers, bool intervals)
{
    struct hop_buffer text = {0};
    char machine[32];
    unsigned hosts = transfers / 4;
    (void)snprintf(machine, sizeof machine, "star:%u", hosts);
    for (unsigned i = 0; i < transfers; i++)
        hop_buffer_printf(&text, "t%u: node%u -> node%u %uKiB\n", i, i / 4, (i / 4 + 1 + i % 4) % hosts,
                          1024 + i % 97);
    assert_false(text.failed);
    struct scene scene = play(machine, NULL, text.text, HOP_DETAIL_SEGMENTS);
    char *json = hop_timeline_to_json(scene.timeline, NULL, intervals);
    assert_non_null(json);
    size_t size = strlen(json);
    free(json);
    finish(&scene);
    hop_buffer_finish(&text);
    return size;
}

static void json_grows_with_the_transfers_and_intervals_with_their_square(void **state)
{
    (void)state;
    size_t half = prediction_size(500, false), whole = prediction_size(1000, false);
    assert_true((double)whole > 1.9 * (double)half && (double)whole < 2.2 * (double)half);
    assert_true((double)prediction_size(1000, true) > 5 * (double)whole);
}

static void check_segments(const json_t *transfer, size_t count)
{
    const json_t *segments = json_object_get(transfer, "segments"), *segment;
    double at_s = json_number_value(json_object_get(transfer, "ready_s")), sent = 0;
    size_t s;
    assert_int_equal(json_array_size(segments), count);
    json_array_foreach(segments, s, segment)
    {
        double end_s = json_number_value(json_object_get(segment, "end_s"));
        assert_true(json_number_value(json_object_get(segment, "start_s")) == at_s);
        sent += (end_s - at_s) * json_number_value(json_object_get(segment, "rate_Bps"));
        at_s = end_s;
    }
    assert_true(at_s == json_number_value(json_object_get(transfer, "end_s")));
    assert_true(fabs(sent - 300 * 1048576.0) < 1);
}

/* c and d end when the rates of a and b change. */
static void json_segments_are_a_transfers_pieces_of_constant_rate(void **state)
{
    (void)state;
    struct scene scene = play("t2", "tau=0.2", table2, HOP_DETAIL_SEGMENTS);
    char *text = hop_timeline_to_json(scene.timeline, NULL, true);
    json_t *root = json_loads(text, 0, NULL);
    const json_t *transfers = json_object_get(root, "transfers");
    for (size_t t = 0; t < 4; t++)
        check_segments(json_array_get(transfers, t), t < 2 ? 2 : 1);
    assert_int_equal(json_array_size(json_object_get(root, "intervals")), 2);
    json_decref(root);
    free(text);
    finish(&scene);
}

TEST_GROUP(report)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(tree_shows_each_node_with_its_link),
        cmocka_unit_test(tree_tells_both_directions_apart_and_shows_latency),
        cmocka_unit_test(dot_names_every_node_and_link),
        cmocka_unit_test(graphviz_draws_every_built_in_machine),
        cmocka_unit_test(svg_is_as_it_was),
        cmocka_unit_test(svg_of_traffic_has_every_pair),
        cmocka_unit_test(svg_of_every_built_in_machine_has_each_node_and_link),
        cmocka_unit_test(svg_boxes_do_not_overlap),
        cmocka_unit_test(labels_cannot_break_a_drawing),
        cmocka_unit_test(every_kind_of_node_finds_a_place),
        cmocka_unit_test(json_grows_with_the_transfers_and_intervals_with_their_square),
        cmocka_unit_test(json_segments_are_a_transfers_pieces_of_constant_rate),
        cmocka_unit_test(gantt_of_table_2_shows_who_is_slowed),
        cmocka_unit_test(gantt_shows_waiting_latency_work_and_reductions),
        cmocka_unit_test(gantt_keeps_to_its_width),
        cmocka_unit_test(gantt_says_how_many_rows_it_leaves_out),
        cmocka_unit_test(lesser_detail_still_reports),
        cmocka_unit_test(trace_pairs_its_events_and_ends_every_counter_at_zero),
        cmocka_unit_test(trace_counters_conserve_bytes),
        cmocka_unit_test(explain_tells_table_2_phase_by_phase),
        cmocka_unit_test(explain_tells_of_waiting_and_dependencies),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
