/* SPDX-License-Identifier: BSD-3-Clause */
/* Checkpoints of plans: what is kept comes back, what is not as it was written is refused, and who goes on never gets a worse plan. */
#include "plan/plan_test.h"

#include <unistd.h>

#include "base/random.h"
#include "base/replace.h"
#include "plan/plan_answers.h"

#define PRINT 0x0123456789abcdefu
static char path[] = "/tmp/hopcast-plan-XXXXXX";

static int begin(void **state)
{
    (void)state;
    int file = mkstemp(path);
    return file < 0 || close(file) || unlink(path);
}

static int end(void **state)
{
    (void)state;
    (void)unlink(path);
    return 0;
}

static enum hop_status reread(struct hop_plan_answers *a, struct hop_diag *diag)
{
    struct hop_source source;
    CHECK(hop_plan_answers_begin(a, path, 0, PRINT, D));
    CHECK(hop_source_load(path, &source, D));
    return hop_plan_answers_read(a, source, diag);
}

static void answers_come_back(void **state)
{
    enum { ANSWERS = 200, KEYS = 150, LONGEST = 60 };
    struct hop_plan_answers a;
    char texts[ANSWERS][LONGEST];
    uint64_t rng = 7;
    (void)state;
    for (uint32_t run = 0; run < 3; run++) { /* each adds a third */
        CHECK(run ? reread(&a, D) : hop_plan_answers_begin(&a, path, 0, PRINT, D));
        for (uint32_t i = run * ANSWERS / 3; i < (run + 1) * ANSWERS / 3; i++) {
            uint32_t size = hop_draw_below(&rng, LONGEST);
            for (uint32_t c = 0; c < size; c++)
                texts[i][c] = "0123 \n#answer end"[hop_draw_below(&rng, 17)];
            hop_plan_answers_add(&a, &(struct hop_plan_answer){hop_draw_from(i % KEYS), texts[i], size});
            texts[i][LONGEST - 1] = (char)size;
        }
        CHECK(hop_plan_answers_save(&a, true, D));
        hop_plan_answers_finish(&a);
    }
    CHECK(reread(&a, D));
    for (uint32_t i = 0; i < ANSWERS; i++) {
        const struct hop_plan_answer *found = hop_plan_answers_find(&a, hop_draw_from(i % KEYS));
        uint32_t last = i % KEYS + KEYS < ANSWERS ? i % KEYS + KEYS : i % KEYS; /* of one key */
        assert_non_null(found);
        assert_int_equal(found->size, texts[last][LONGEST - 1]);
        assert_memory_equal(found->text, texts[last], found->size);
    }
    assert_null(hop_plan_answers_find(&a, hop_draw_from(KEYS)));
    hop_plan_answers_finish(&a);
}

static void numbers_come_back(void **state)
{
    const double values[] = {0, 1e-300, 0.1, 2.0 / 3, 12345.678, INFINITY};
    struct hop_buffer text = {0};
    (void)state;
    for (size_t i = 0; i < HOP_COUNT(values); i++)
        hop_plan_put_value(&text, values[i]);
    hop_plan_put_whole(&text, UINT64_MAX / 2);
    struct hop_plan_reading in = {text.text, text.text + text.length, false, false};
    for (size_t i = 0; i < HOP_COUNT(values); i++)
        assert_true(hop_plan_get_value(&in) == values[i]);
    assert_true(hop_plan_get_whole(&in, UINT64_MAX) == UINT64_MAX / 2 && !in.failed && in.at == in.end);
    assert_true(hop_plan_get_whole(&in, UINT64_MAX) == 0 && in.failed);
    hop_buffer_finish(&text);
}

/* However a file is cut or changed. */
static void what_is_not_as_it_was_is_refused(void **state)
{
    struct hop_plan_answers a;
    struct hop_source whole;
    (void)state;
    CHECK(hop_plan_answers_begin(&a, path, 0, PRINT, D));
    hop_plan_answers_add(&a, &(struct hop_plan_answer){1, "0.5 3 \na: gpu0 -> gpu1 1MiB\n", 27});
    hop_plan_answers_add(&a, &(struct hop_plan_answer){2, "", 0});
    CHECK(hop_plan_answers_save(&a, true, D));
    hop_plan_answers_finish(&a);
    CHECK(hop_source_load(path, &whole, D));
    for (size_t at = 0; at < 2 * whole.size; at++) {
        struct hop_source changed;
        struct hop_diag diag = {.what = ""};
        bool cut = at < whole.size;
        if (at + 1 == whole.size) /* only the last line's end is missing */
            continue;
        CHECK(hop_source_copy("file", whole.text, cut ? at : whole.size, &changed, D));
        if (!cut)
            changed.text[at - whole.size] ^= 1;
        CHECK(hop_plan_answers_begin(&a, path, 0, PRINT, D));
        assert_int_not_equal(hop_plan_answers_read(&a, changed, &diag), HOP_OK);
        assert_true(strncmp(diag.place, "file:", 5) == 0 && diag.what[0] && diag.expected[0]);
        hop_plan_answers_finish(&a);
    }
    hop_source_finish(&whole);
}

/* ---- plans ---- */

static bool stop_after(const struct hop_plan_progress *progress, void *left)
{
    (void)progress;
    return (*(int *)left)-- > 0;
}

static void check_same(const struct hop_plan_result *a, const struct hop_plan_result *b)
{
    char *x = hop_schedule_to_text(a->best), *y = hop_schedule_to_text(b->best);
    assert_true(a->value_s == b->value_s && a->bound_s == b->bound_s && a->nodes == b->nodes);
    assert_string_equal(x, y);
    free(x);
    free(y);
}

/* Stopped after so many looks and gone on, as often as it takes: never worse, and in the end the plan of one run. */
static void check_stopped(const struct hop_topology *topology, struct hop_schedule *exchange, int often,
                          struct hop_plan_options options)
{
    struct hop_plan_result *whole = plan(topology, exchange, options), *r;
    double best_s = INFINITY;
    (void)unlink(path);
    options.checkpoint = path;
    options.checkpoint_s = 1e-9;
    options.progress = stop_after;
    for (int looks = 0; looks < often; looks++) {
        int left = looks;
        options.context = &left;
        r = plan(topology, exchange, options);
        assert_true(!r->best || fabs(simulated(topology, r->best, options.models) - r->value_s) <= 1e-9 * r->value_s);
        assert_true(r->value_s <= best_s);
        for (uint32_t i = 0; i < r->rung_count; i++)
            assert_true(r->rungs[i].value_s > 0); /* each step was begun */
        best_s = r->value_s;
        hop_plan_result_destroy(r);
    }
    options.progress = NULL;
    for (int again = 0; again == 0 || again + 1 < often; again++) {
        r = plan(topology, exchange, options);
        check_same(r, whole);
        assert_true(again == 0 || r->recalled > 0);
        hop_plan_result_destroy(r);
    }
    /* with no time at all an earlier run's */
    int none = 0;
    options.progress = stop_after;
    options.context = &none;
    r = plan(topology, exchange, options);
    assert_true(r->value_s <= whole->value_s && !r->complete && r->rungs[r->rung].value_s == r->value_s);
    assert_int_equal(r->ways.taken, whole->ways.taken);
    assert_true(r->note || r->rungs[r->rung].step == HOP_PLAN_ORDER || r->value_s == r->direct_s);
    hop_plan_result_destroy(r);
    hop_plan_result_destroy(whole);
    hop_schedule_destroy(exchange);
}

static void who_goes_on_gets_no_worse_plan(void **state)
{
    static const char across[] =
        "rank0 -> rank4 16MiB\nrank4 -> rank0 16MiB\nrank1 -> rank5 16MiB\nrank5 -> rank1 16MiB\n";
    struct hop_topology *t2 = load_topology("t2"), *helios = load_topology("helios");
    struct hop_schedule *staged;
    (void)state;
    CHECK(hop_schedule_parse("across", across, sizeof across - 1, &staged, D));
    check_stopped(t2, exchange_of(REPEATED("halo:2x2x2", "halo:2x2")), soaked(3, 2), (struct hop_plan_options){.max_nodes = soaked(2000, 500)});
    check_stopped(t2, exchange_of("halo:4x2"), soaked(3, 2), (struct hop_plan_options){.max_nodes = soaked(2000, 500), .keep_placement = true});
    check_stopped(helios, staged, soaked(3, 2), (struct hop_plan_options){.max_nodes = soaked(2000, 500), .keep_placement = true});
    if (soaked(true, false))
        check_stopped(helios, exchange_of("halo:3x3"), 1, (struct hop_plan_options){.max_nodes = 6000});
    if (REPEATED(true, false)) /* no lanes: descents, whose questions others have, too */
        check_stopped(helios, exchange_of("random:10,transfers=12,seed=3,depend=0.5"), 1,
                      (struct hop_plan_options){.max_nodes = 2000});
    hop_topology_destroy(t2);
    hop_topology_destroy(helios);
}

/* Against the clock there are as many lanes as threads: whatever they come to in their time. */
static void lanes_go_on(void **state)
{
    struct hop_topology *storm = load_topology("cs-storm");
    struct hop_schedule *exchange = exchange_of("halo:4x3");
    const struct hop_plan_options options = {
        .time_limit_s = 0.5, .threads = 3, .checkpoint = path, .way = HOP_PLAN_DIRECT};
    double best_s = INFINITY;
    (void)state;
    (void)unlink(path);
    for (int run = 0; run < 3; run++) {
        struct hop_plan_result *r = plan(storm, exchange, options);
        assert_true(r->value_s <= best_s);
        best_s = r->value_s;
        hop_plan_result_destroy(r);
    }
    hop_schedule_destroy(exchange);
    hop_topology_destroy(storm);
}

static void a_foreign_checkpoint_is_refused_and_stays(void **state)
{
    struct hop_topology *t2 = load_topology("t2"), *t1 = load_topology("t1");
    struct hop_schedule *halo = exchange_of("halo:2x2"), *ring = exchange_of("ring:4");
    const struct hop_plan_options wrote = {.max_nodes = 100, .checkpoint = path},
                                  other = {.max_nodes = 100, .checkpoint = path, .no_waits = true};
    struct hop_source before, after;
    struct hop_plan_result *r = NULL;
    (void)state;
    (void)unlink(path);
    CHECK(hop_plan(t2, halo, &wrote, &r, D));
    hop_plan_result_destroy(r);
    CHECK(hop_source_load(path, &before, D));
    const struct {
        const struct hop_topology *topology;
        const struct hop_schedule *exchange;
        const struct hop_plan_options *options;
    } calls[] = {{t1, halo, &wrote}, {t2, ring, &wrote}, {t2, halo, &other}};
    for (size_t i = 0; i < HOP_COUNT(calls); i++) {
        struct hop_diag diag;
        assert_int_equal(hop_plan(calls[i].topology, calls[i].exchange, calls[i].options, &r, &diag), HOP_ERR_INVALID);
        assert_non_null(strstr(diag.what, "belongs to another"));
        assert_true(strncmp(diag.place, path, strlen(path)) == 0 && diag.expected[0]);
    }
    CHECK(hop_source_load(path, &after, D));
    assert_string_equal(before.text, after.text);
    hop_source_finish(&before);
    hop_source_finish(&after);
    hop_schedule_destroy(halo);
    hop_schedule_destroy(ring);
    hop_topology_destroy(t1);
    hop_topology_destroy(t2);
}

static void a_collective_goes_on(void **state)
{
    struct hop_topology *t2 = load_topology("t2");
    const struct hop_collective_options allreduce = {.kind = HOP_COLLECTIVE_ALLREDUCE, .vector_bytes = 1 << 20};
    struct hop_plan_options options = {.max_nodes = 1000};
    struct hop_plan_result *whole, *r;
    (void)state;
    (void)unlink(path);
    CHECK(hop_plan_collective(t2, 2, &allreduce, &options, &whole, D));
    options.checkpoint = path;
    for (int again = 0; again < 2; again++) {
        CHECK(hop_plan_collective(t2, 2, &allreduce, &options, &r, D));
        check_same(r, whole);
        assert_int_equal(r->algorithm, whole->algorithm);
        hop_plan_result_destroy(r);
    }
    int none = 0; /* the first algorithm alone */
    options.progress = stop_after;
    options.context = &none;
    options.max_nodes = 0;
    CHECK(hop_plan_collective(t2, 2, &allreduce, &options, &r, D));
    assert_true(r->value_s <= whole->value_s);
    hop_plan_result_destroy(r);
    hop_plan_result_destroy(whole);
    hop_topology_destroy(t2);
}

TEST_GROUP(plan_answers)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(answers_come_back),
        cmocka_unit_test(numbers_come_back),
        cmocka_unit_test(what_is_not_as_it_was_is_refused),
        cmocka_unit_test(who_goes_on_gets_no_worse_plan),
        cmocka_unit_test(lanes_go_on),
        cmocka_unit_test(a_foreign_checkpoint_is_refused_and_stays),
        cmocka_unit_test(a_collective_goes_on),
    };
    return RUN_TESTS(tests, begin, end);
}
