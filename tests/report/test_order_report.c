/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Reports of orders: steps, histograms, links above their limits, JSON. Golden files lie in tests/golden; HOPCAST_UPDATE_GOLDEN=1 rewrites
 * them.
 */
#include "base/base.h"
#include "hopcast/hopcast.h"
#include "test.h"

#include <jansson.h>
#include <math.h>

/* Different sizes, two kinds of dependencies, chains, something that is no copy, an operation of a second source only. */
static const char mixed[] =
    "a: gpu0 -> gpu1 300MiB\nb: gpu0 -> gpu4 3MiB after c\nc: gpu1 -> gpu0 1MiB\nw: work gpu1 1ms after c\n"
    "d: gpu5 -> gpu6 3495253B after-start a\ne: gpu0 -> gpu2 1MiB\n";

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

static struct hop_schedule *parse(const char *text)
{
    struct hop_schedule *schedule = NULL;
    CHECK(hop_schedule_parse("test", text, strlen(text), &schedule, D));
    return schedule;
}

struct scene {
    struct hop_topology *topology;
    struct hop_schedule *schedule;
    struct hop_network *network;
    struct hop_timeline *timeline;
};

static struct scene play(const char *machine, struct hop_schedule *schedule, enum hop_detail detail)
{
    struct scene scene = {.topology = load_topology(machine), .schedule = schedule};
    struct hop_simulate_options options = {.detail = detail};
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

static struct hop_schedule *halo(const char *file)
{
    char path[512];
    struct hop_schedule *schedule = NULL;
    struct hop_source source = {0};
    (void)snprintf(path, sizeof path, "%s/data/schedules/%s", TEST_SOURCE_DIR, file);
    CHECK(hop_source_load(path, &source, D));
    CHECK(hop_schedule_parse(file, source.text, source.size, &schedule, D)); /* titles show the name */
    hop_source_finish(&source);
    return schedule;
}

/* A halo exchange of 8 GPUs. */
static struct hop_schedule *make_halo(unsigned dimensions, uint32_t x, uint32_t y, uint32_t z)
{
    static const char *const devices[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"};
    const struct hop_ranks ranks = {devices, 8};
    const struct hop_grid grid = {.dimensions = dimensions, .extent = {x, y, z}};
    struct hop_schedule *schedule = NULL;
    CHECK(hop_make_halo(&ranks, &grid, 300 << 20, &schedule, D));
    return schedule;
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

/* Elements that close, quotes that end, no raw '<' or control character inside. */
static void check_xml(const char *text)
{
    unsigned open = 0;
    for (const char *at = text; *at; at++) {
        assert_true((unsigned char)*at >= 0x20 || *at == '\n');
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

/* ---- steps ---- */

static void steps_are_the_sends_of_every_source_in_turn(void **state)
{
    (void)state;
    struct scene scene = play("t2", halo("halo3-fastest.hop"), HOP_DETAIL_SEGMENTS);
    check_golden("steps-halo3.txt", hop_timeline_to_steps(scene.timeline, 0));
    check_golden("steps-halo3.svg", hop_timeline_to_steps_svg(scene.timeline));
    finish(&scene);
}

static void steps_show_sizes_and_dependencies(void **state)
{
    (void)state;
    struct scene scene = play("t2", parse(mixed), HOP_DETAIL_ENDS);
    check_golden("steps-mixed.txt", hop_timeline_to_steps(scene.timeline, 0));
    finish(&scene);
}

static void steps_break_at_their_width(void **state)
{
    (void)state;
    struct scene scene = play("t2", halo("halo3-slowest.hop"), HOP_DETAIL_ENDS);
    static const unsigned widths[] = {1, 14, 20, 26, 80};
    static const unsigned blocks[] = {3, 3, 2, 1, 1}; /* a source takes 8 columns, a send 6 */
    for (size_t i = 0; i < HOP_COUNT(widths); i++) {
        char *text = hop_timeline_to_steps(scene.timeline, widths[i]);
        assert_int_equal(occurrences(text, "source"), blocks[i]);
        assert_int_equal(occurrences(text, "\ngpu7"), blocks[i]);
        if (widths[i] >= 14)
            assert_true(widest(text) <= widths[i]);
        free(text);
    }
    finish(&scene);
}

static void a_drawing_has_an_arrow_for_every_copy(void **state)
{
    (void)state;
    static const struct {
        const char *machine, *pattern;
        unsigned steps, copies;
    } cases[] = {{"t2", "a: gpu0 -> gpu1 1MiB", 1, 1},
                 {"cs-storm", "a: gpu0 -> gpu9 1MiB\nb: gpu0 -> gpu1 1MiB\nc: gpu12 -> gpu3 1MiB", 2, 3},
                 {"dgx-1", "a: gpu0 -> gpu1 1MiB\nb: gpu0 -> gpu5 1MiB\nc: nic0 -> gpu1 1MiB", 2, 3},
                 {"t2", "a: gpu0 -> gpu4 4MiB via staged 1MiB\nb: gpu4 -> gpu5 1MiB", 4, 9},
                 {"t2", "w: work gpu0 1ms", 0, 0}};
    for (size_t i = 0; i < HOP_COUNT(cases); i++) {
        struct scene scene = play(cases[i].machine, parse(cases[i].pattern), HOP_DETAIL_ENDS);
        char *svg = hop_timeline_to_steps_svg(scene.timeline), title[32];
        check_xml(svg);
        assert_int_equal(occurrences(svg, "<g transform="), cases[i].steps);
        assert_int_equal(occurrences(svg, " from "), cases[i].copies); /* tooltips of arrows say from when to when */
        (void)snprintf(title, sizeof title, ">step %u<", cases[i].steps);
        assert_int_equal(occurrences(svg, title), cases[i].steps > 0);
        free(svg);
        finish(&scene);
    }
}

static void lines_of_a_drawing_carry_their_loads(void **state)
{
    (void)state;
    /* Two sends leave board0 upwards, one comes down to it. */
    struct scene scene =
        play("t2", parse("a: gpu0 -> gpu2 1MiB\nb: gpu1 -> gpu4 1MiB\nc: gpu3 -> gpu1 1MiB"), HOP_DETAIL_ENDS);
    char *svg = hop_timeline_to_steps_svg(scene.timeline);
    assert_non_null(strstr(svg, "<title>board0: 2 up, 1 down</title>"));
    assert_non_null(strstr(svg, "<title>switch0: 1 up, 0 down</title>"));
    free(svg);
    finish(&scene);
}

/* Every transfer of both is drawn, packets one by one, and how full links are. */
static void two_timelines_are_drawn_beside_each_other(void **state)
{
    (void)state;
    static const char *const titles[] = {"as given", "planned"};
    struct scene a =
        play("t2", parse("a: gpu0 -> gpu2 1MiB\nb: gpu0 -> gpu1 1MiB\nc: gpu3 -> gpu1 1MiB"), HOP_DETAIL_SEGMENTS);
    struct scene b = play("t2", parse("a: gpu0 -> gpu4 4MiB via staged 1MiB"), HOP_DETAIL_SEGMENTS);
    struct scene none = play("t2", parse("w: work gpu0 1ms"), HOP_DETAIL_SEGMENTS);
    char *svg = hop_timelines_to_svg(a.timeline, b.timeline, "a & b", titles);
    check_xml(svg);
    assert_int_equal(occurrences(svg, "<rect x="), 3 + 8 + 3); /* and three colours of the legend */
    assert_non_null(strstr(svg, " times as fast: a &amp; b on t2<"));
    assert_int_equal(occurrences(svg, ">100 %<"), 2); /* in the first gpu0 sends and gpu1 is sent to all the time */
    free(svg);
    svg = hop_timelines_to_svg(none.timeline, a.timeline, "nothing", titles);
    check_xml(svg);
    assert_int_equal(occurrences(svg, "<title>"), 3);
    free(svg);
    finish(&a);
    finish(&b);
    finish(&none);
}

static void a_schedule_without_copies_has_no_steps(void **state)
{
    (void)state;
    struct scene scene = play("t2", parse("w: work gpu0 1ms"), HOP_DETAIL_SEGMENTS);
    char *text = hop_timeline_to_steps(scene.timeline, 0);
    assert_string_equal(text, "(no sends)\n");
    free(text);
    finish(&scene);
}

/* ---- links above their limits ---- */

static void clean_timelines_have_no_overloads(void **state)
{
    (void)state;
    struct scene scene = play("t2", halo("halo3-fastest.hop"), HOP_DETAIL_SEGMENTS);
    assert_int_equal(hop_timeline_overloads(scene.timeline, NULL, 0), 0);
    finish(&scene);
}

/* A link's load is known to the search, too: it asks a network about active sets, not a timeline about intervals. */
static void overloads_agree_with_what_the_search_says(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    struct hop_schedule *schedule = make_halo(2, 4, 2, 1);
    struct hop_order_distribution *d = NULL;
    CHECK(hop_order_enumerate(topology, schedule, NULL, &d, D));
    const struct hop_played_order *orders[] = {&d->given, &d->fastest, &d->slowest};
    unsigned unclean = 0;
    for (size_t i = 0; i < HOP_COUNT(orders); i++) {
        struct hop_overload overloads[8];
        struct hop_schedule *copy = NULL;
        char *text = hop_schedule_to_text(orders[i]->schedule);
        CHECK(hop_schedule_parse("test", text, strlen(text), &copy, D));
        struct scene scene = play("t2", copy, HOP_DETAIL_SEGMENTS);
        uint32_t count = hop_timeline_overloads(scene.timeline, overloads, HOP_COUNT(overloads));
        assert_int_equal(count > 0, orders[i]->fullest > 1 + 1e-9);
        if (count) {
            unclean++;
            assert_float_equal(overloads[0].load, orders[i]->fullest, 1e-9);
            for (uint32_t k = 1; k < count && k < HOP_COUNT(overloads); k++)
                assert_true(overloads[k].load <= overloads[k - 1].load);
            assert_int_equal(hop_timeline_overloads(scene.timeline, overloads, 1), count);
        }
        free(text);
        finish(&scene);
    }
    assert_true(unclean > 0); /* else nothing was compared */
    hop_order_distribution_destroy(d);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(topology);
}

/* ---- histograms ---- */

static struct hop_order_distribution *enumerate(const char *machine, struct hop_schedule *schedule)
{
    struct hop_topology *topology = load_topology(machine);
    struct hop_order_distribution *d = NULL;
    CHECK(hop_order_enumerate(topology, schedule, NULL, &d, D));
    hop_schedule_destroy(schedule);
    hop_topology_destroy(topology);
    return d;
}

static void histograms_are_as_they_were(void **state)
{
    (void)state;
    struct hop_order_distribution *d = enumerate("t2", make_halo(2, 4, 2, 1));
    const struct hop_histogram_options ascii = {.width = 80, .ascii = true};
    check_golden("histogram-halo2.txt", hop_order_distribution_to_histogram(d, NULL));
    check_golden("histogram-halo2-ascii.txt", hop_order_distribution_to_histogram(d, &ascii));
    check_golden("histogram-halo2.svg", hop_order_distribution_to_svg(d));
    hop_order_distribution_destroy(d);
}

/* The numbers of a histogram's rows, commas left out. */
static double sum_of_rows(const char *histogram)
{
    double sum = 0;
    for (const char *line = strchr(histogram, '\n') + 1; *line; line = strchr(line, '\n') + 1) {
        char digits[32];
        size_t length = 0;
        if (line[27] == ' ') /* the legend */
            continue;
        for (size_t i = 13; i < 28; i++) {
            if (line[i] >= '0' && line[i] <= '9')
                digits[length++] = line[i];
        }
        digits[length] = '\0';
        sum += strtod(digits, NULL);
    }
    return sum;
}

static void a_histogram_counts_every_order_once(void **state)
{
    (void)state;
    static const uint32_t extents[][3] = {{3, 1, 1}, {4, 2, 1}, {2, 2, 2}};
    for (size_t i = 0; i < HOP_COUNT(extents); i++) {
        const char *devices[] = {"gpu0", "gpu1", "gpu2", "gpu3", "gpu4", "gpu5", "gpu6", "gpu7"};
        const struct hop_ranks ranks = {devices, extents[i][0] * extents[i][1] * extents[i][2]};
        const struct hop_grid grid = {.dimensions = 3, .extent = {extents[i][0], extents[i][1], extents[i][2]}};
        const struct hop_histogram_options options = {.width = 60};
        struct hop_schedule *schedule = NULL;
        CHECK(hop_make_halo(&ranks, &grid, 1 << 20, &schedule, D));
        struct hop_order_distribution *d = enumerate("t2", schedule);
        char *text = hop_order_distribution_to_histogram(d, &options), *svg = hop_order_distribution_to_svg(d);
        assert_true(sum_of_rows(text) == d->orders);
        assert_int_equal(occurrences(text, "median"), 1);
        assert_int_equal(occurrences(text, "slowest"), 1);
        assert_int_equal(occurrences(text, "given"), 1);
        check_xml(svg);
        free(text);
        free(svg);
        hop_order_distribution_destroy(d);
    }
}

static void odd_distributions_are_drawn_too(void **state)
{
    (void)state;
    struct hop_order_count counts[3] = {{1e-3, 2e40, 1e40}, {2e-3, 1, 0}, {3e-3, 3, 3}};
    for (size_t count = 0; count <= HOP_COUNT(counts); count++) {
        struct hop_order_distribution d = {.counts = counts, .count = count, .complete = true};
        for (size_t i = 0; i < count; i++) {
            d.orders += counts[i].orders;
            d.clean += counts[i].clean;
        }
        char *text = hop_order_distribution_to_histogram(&d, NULL), *svg = hop_order_distribution_to_svg(&d);
        check_xml(svg);
        assert_null(strstr(svg, "nan"));
        assert_null(strstr(svg, "inf"));
        assert_int_equal(occurrences(text, " ms "), count); /* a row for each value */
        assert_int_equal(occurrences(text, "2e+40"), count > 0);
        free(text);
        free(svg);
    }
}

/* ---- JSON ---- */

static double number_of(const json_t *object, const char *key)
{
    const json_t *value = json_object_get(object, key);
    if (!json_is_number(value))
        fail_msg("%s is no number", key);
    return json_number_value(value);
}

static void json_of_all_orders_adds_up(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    struct hop_schedule *schedule = make_halo(2, 4, 2, 1);
    struct hop_order_distribution *d = NULL;
    const struct hop_order_options options = {.allow_unclean = true};
    const struct hop_order_report report = {
        .topology = topology, .schedule = schedule, .options = &options, .chunks = 1};
    CHECK(hop_order_enumerate(topology, schedule, &options, &d, D));
    char *text = hop_order_distribution_to_json(&report, d);
    json_t *all = json_loads(text, 0, NULL);
    assert_non_null(all);
    assert_string_equal(json_string_value(json_object_get(all, "mode")), "all");
    assert_true(number_of(all, "orders") == 20736); /* Martinasso et al. 2016, section VIII.A */
    double orders = 0, clean = 0;
    const json_t *counts = json_object_get(all, "counts");
    for (size_t i = 0; i < json_array_size(counts); i++) {
        orders += json_number_value(json_array_get(json_array_get(counts, i), 1));
        clean += json_number_value(json_array_get(json_array_get(counts, i), 2));
    }
    assert_true(orders == number_of(all, "orders") && clean == number_of(all, "clean"));
    const json_t *deciles = json_object_get(all, "deciles_s");
    assert_int_equal(json_array_size(deciles), 11);
    double fastest_s = number_of(json_object_get(all, "fastest"), "value_s");
    double slowest_s = number_of(json_object_get(all, "slowest"), "value_s");
    /* Values that are all but equal are one. */
    assert_true(fabs(json_number_value(json_array_get(deciles, 0)) - fastest_s) <= 1e-8 * fastest_s);
    assert_true(fabs(json_number_value(json_array_get(deciles, 10)) - slowest_s) <= 1e-8 * slowest_s);
    const json_t *slowest = json_object_get(all, "slowest");
    assert_true(json_is_false(json_object_get(slowest, "clean")) == (number_of(slowest, "fullest") > 1 + 1e-9));
    assert_true(json_is_false(json_object_get(slowest, "clean")) ==
                (json_array_size(json_object_get(slowest, "overloads")) > 0));
    json_decref(all);
    free(text);
    hop_order_distribution_destroy(d);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(topology);
}

static void json_of_a_search_holds_its_best_order(void **state)
{
    (void)state;
    struct hop_topology *topology = load_topology("t2");
    struct hop_schedule *schedule = make_halo(2, 4, 2, 1), *back = NULL;
    struct hop_order_result *r = NULL;
    const uint32_t marked[] = {1};
    const struct hop_order_options options = {.objective = HOP_ORDER_MARKED, .marked = marked, .marked_count = 1};
    const struct hop_order_report report = {
        .topology = topology, .schedule = schedule, .options = &options, .chunks = 1};
    CHECK(hop_order_search(topology, schedule, &options, &r, D));
    char *text = hop_order_result_to_json(&report, r), *best = hop_schedule_to_text(r->best);
    json_t *all = json_loads(text, 0, NULL);
    assert_non_null(all);
    assert_true(number_of(all, "value_s") == r->value_s);
    assert_string_equal(json_string_value(json_array_get(json_object_get(all, "marked"), 0)),
                        hop_schedule_op(schedule, 1)->name);
    const json_t *candidates = json_object_get(all, "candidates");
    assert_int_equal(json_array_size(candidates), r->candidate_count);
    assert_string_equal(json_string_value(json_object_get(json_array_get(candidates, 0), "name")), "given");
    char *schedule_text = json_dumps(json_object_get(all, "best"), 0);
    CHECK(hop_schedule_parse("best", schedule_text, strlen(schedule_text), &back, D));
    char *again = hop_schedule_to_text(back);
    assert_string_equal(again, best);
    free(again);
    free(schedule_text);
    free(best);
    free(text);
    json_decref(all);
    hop_order_result_destroy(r);
    hop_schedule_destroy(back);
    hop_schedule_destroy(schedule);
    hop_topology_destroy(topology);
}

TEST_GROUP(order_report)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(steps_are_the_sends_of_every_source_in_turn),
        cmocka_unit_test(steps_show_sizes_and_dependencies),
        cmocka_unit_test(steps_break_at_their_width),
        cmocka_unit_test(a_drawing_has_an_arrow_for_every_copy),
        cmocka_unit_test(lines_of_a_drawing_carry_their_loads),
        cmocka_unit_test(two_timelines_are_drawn_beside_each_other),
        cmocka_unit_test(a_schedule_without_copies_has_no_steps),
        cmocka_unit_test(clean_timelines_have_no_overloads),
        cmocka_unit_test(overloads_agree_with_what_the_search_says),
        cmocka_unit_test(histograms_are_as_they_were),
        cmocka_unit_test(a_histogram_counts_every_order_once),
        cmocka_unit_test(odd_distributions_are_drawn_too),
        cmocka_unit_test(json_of_all_orders_adds_up),
        cmocka_unit_test(json_of_a_search_holds_its_best_order),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
