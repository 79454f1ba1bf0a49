/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collectives, executed by real ranks and compared with their definition: every algorithm with every operator and type,
 * 1 to 9 ranks, odd counts, roots, segments, in place and not, devices shared and not. And launches that follow each
 * other at once, each with data of its own: nobody may read what an earlier launch left.
 *
 * Under ThreadSanitizer (ranks are threads here):
 *     cmake -S . -B build/tsan -G Ninja -DHOPCAST_SANITIZE=thread && ninja -C build/tsan test_run_collectives
 *     TSAN_OPTIONS=halt_on_error=1 build/tsan/tests/test_run_collectives
 */
#include "run_test.h"

#define MOST_CASES 4096

struct one {
    struct wanted wanted;
    char algorithm[64], what[256];
    struct hop_schedule *schedule;
    struct hop_program_options options;
};

struct many {
    struct one *cases;
    uint32_t count, launches;
    void (*between)(void);
};

static void add(struct many *many, struct wanted w, const char *algorithm, uint64_t segment, uint32_t placement,
                struct hop_program_options options)
{
    struct hop_diag diag;
    assert_true(many->count < MOST_CASES);
    struct one *c = &many->cases[many->count++];
    *c = (struct one){.wanted = w, .options = options};
    (void)snprintf(c->algorithm, sizeof c->algorithm, "%s", algorithm);
    (void)snprintf(c->what, sizeof c->what, "%s by %s, %u ranks, %llu of %s %s, root %u, segments of %llu, placement %u%s%s",
                   hop_collective_name(w.kind), algorithm, w.n, (unsigned long long)w.count, hop_type_name(w.type),
                   hop_reduce_name(w.reduce), w.root, (unsigned long long)segment, placement, w.in_place ? ", in place" : "",
                   options.pipelined ? ", pipelined" : "");
    enum hop_status status = make_collective(&w, algorithm, segment, placement, &c->schedule, &diag);
    if (status != HOP_OK && segment) /* only some can be cut */
        status = make_collective(&w, algorithm, 0, placement, &c->schedule, &diag);
    if (status != HOP_OK)
        fail_msg("%s: %s", c->what, diag.what);
}

static void finish(struct many *many)
{
    for (uint32_t c = 0; c < many->count; c++)
        hop_schedule_destroy(many->cases[c].schedule);
    free(many->cases);
}

static int body(struct hop_team *team, void *context)
{
    const struct many *many = context;
    int wrong = 0;
    for (uint32_t c = 0; c < many->count; c++) {
        const struct one *one = &many->cases[c];
        struct hop_program *program;
        TRY(hop_program_create(team, one->schedule, &one->options, &program, D));
        for (uint32_t launch = 0; launch < many->launches; launch++)
            wrong |= launch_and_compare(team, program, &one->wanted, one->what, c * 1000 + launch, many->between,
                                        one->options.bound);
        hop_program_destroy(program);
    }
    return wrong;
}

static bool is_listed(enum hop_collective_kind kind, size_t index)
{
    const char *name, *summary;
    bool levels;
    return hop_collective_algorithm(kind, index, &name, &summary, &levels);
}

/* Every algorithm with every operator and type; counts, roots and so on take turns. */
static void add_all(struct many *many, uint32_t n, bool every_type)
{
    uint32_t turn = n;
    char algorithm[64];
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        for (size_t a = 0; algorithm_at((enum hop_collective_kind)kind, a, algorithm); a++) {
            struct wanted w = {.kind = (enum hop_collective_kind)kind, .n = n};
            bool every = every_type && is_listed(w.kind, a); /* hierarchies consist of those */
            uint32_t ways = !every ? 2 : reduces(&w) ? 2 * HOP_TYPE_COUNT : HOP_TYPE_COUNT;
            for (uint32_t way = 0; way < ways; way++, turn++) {
                const uint64_t counts[] = {3 * n + 1, 1, 257, 0, n, n - 1, 64};
                w.count = counts[turn % 7];
                w.root = turn % n;
                w.type = (enum hop_type)(every ? way % HOP_TYPE_COUNT : turn % HOP_TYPE_COUNT);
                w.reduce = operator_for(w.type, turn);
                w.in_place = turn / 2 % 2;
                add(many, w, algorithm, turn % 3 ? 0 : 40, turn / 3 % PLACEMENTS,
                    (struct hop_program_options){.pipelined = turn % 2});
            }
        }
    }
}

static void run_all(uint32_t n, bool threads, bool every_type, unsigned engines)
{
    struct many many = {.cases = calloc(MOST_CASES, sizeof *many.cases), .launches = 2};
    add_all(&many, n, every_type);
    for (uint32_t c = 0; c < many.count; c++)
        many.cases[c].options.engines = engines;
    launch(n, threads, body, &many);
    finish(&many);
}

static void every_algorithm_gives_what_the_collective_is_defined_to(void **state)
{
    (void)state;
    const uint32_t every_type = soaked(9, REPEATED(4, 2)); /* draws for more ranks */
    const uint32_t most = soaked(9, REPEATED(8, 6)); /* more of them than processors wait for each other for long */
    for (uint32_t n = 1; n <= most; n += n < 3 || soaked(1, 0) ? 1 : REPEATED(n < 5 ? 1 : 3, 3))
        run_all(n, true, n <= every_type, 0);
}

static void processes_do_as_threads_do(void **state)
{
    (void)state;
    run_all(2, false, false, 0);
    run_all(5, false, false, 0);
}

static void queues_of_a_device_do_as_the_rank_itself(void **state)
{
    (void)state;
    run_all(2, true, false, 2);
    run_all(3, true, false, 1);
    run_all(4, false, false, 1);
}

/* ---- launches at once after each other ---- */

/* Now and then a rank stands still for a moment, so that others run ahead as far as they may. */
static void dawdle(void)
{
    static _Thread_local uint64_t state;
    if (state == 0)
        state = scramble((uint64_t)(uintptr_t)&state ^ (uint64_t)getpid());
    state = scramble(state);
    const struct timespec nap = {0, (long)(state >> 8) % 300000};
    if (state % 4 == 0)
        (void)nanosleep(&nap, NULL);
}

static void run_pipelines(uint32_t n, bool threads, enum hop_copies copies, unsigned engines, uint32_t launches)
{
    struct many many = {.cases = calloc(MOST_CASES, sizeof *many.cases),
                        .launches = soaked(launches, launches / REPEATED(2, 5)),
                        .between = dawdle};
    char algorithm[64];
    for (unsigned kind = 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        for (size_t a = 0; algorithm_at((enum hop_collective_kind)kind, a, algorithm); a++) {
            struct wanted w = {(enum hop_collective_kind)kind, n, (uint32_t)a % n, 3 * n + 2, HOP_TYPE_I64, HOP_REDUCE_SUM, a % 2};
            add(&many, w, algorithm, a % 3 ? 0 : 40, (uint32_t)a % PLACEMENTS,
                (struct hop_program_options){.pipelined = true, .copies = copies, .engines = engines});
        }
    }
    launch(n, threads, body, &many);
    finish(&many);
}

static void no_launch_reads_what_an_earlier_one_left(void **state)
{
    (void)state;
    run_pipelines(2, true, HOP_COPIES_SCHEDULE, 0, 40);
    run_pipelines(3, true, HOP_COPIES_SCHEDULE, 0, 30);
    run_pipelines(5, true, HOP_COPIES_SCHEDULE, 0, 20);
    run_pipelines(4, false, HOP_COPIES_SCHEDULE, 0, 20);
}

static void nor_through_queues(void **state)
{
    (void)state;
    run_pipelines(2, true, HOP_COPIES_SCHEDULE, 1, 20);
    run_pipelines(3, true, HOP_COPIES_STAGED, 2, 20);
    run_pipelines(4, false, HOP_COPIES_SCHEDULE, 1, 10);
}

static void nor_where_mechanisms_are_chosen(void **state)
{
    (void)state;
    const uint32_t launches = soaked(20, 8);
    run_pipelines(2, true, HOP_COPIES_DYNAMIC, 0, launches);
    run_pipelines(4, true, HOP_COPIES_DYNAMIC, 0, launches);
    run_pipelines(3, true, HOP_COPIES_DYNAMIC, 1, launches);
    run_pipelines(5, false, HOP_COPIES_DYNAMIC, 0, launches);
}

/* ---- in the caller's own memory ---- */

/* Few bytes, which go through windows, dozens of launches ahead where a rank hears of no other, and so many that they are
 * reached where they are; aligned and not. */
static void run_bound(uint32_t n, bool threads, unsigned engines, uint64_t count, bool ahead)
{
    struct many many = {.cases = calloc(MOST_CASES, sizeof *many.cases), .launches = ahead ? 80 : 3, .between = dawdle};
    char algorithm[64];
    for (unsigned kind = ahead ? HOP_COLLECTIVE_BROADCAST : 0; kind < HOP_COLLECTIVE_COUNT; kind++) {
        for (size_t a = 0; algorithm_at((enum hop_collective_kind)kind, a, algorithm); a++) {
            struct wanted w = {
                (enum hop_collective_kind)kind, n, (uint32_t)a % n, count, HOP_TYPE_F32, HOP_REDUCE_SUM, a / 2 % 2};
            add(&many, w, algorithm, a % 3 ? 0 : 40, (uint32_t)a % PLACEMENTS,
                (struct hop_program_options){.pipelined = ahead || a % 5 != 1 || kind == HOP_COLLECTIVE_BARRIER,
                                             .engines = engines,
                                             .bound = true});
        }
    }
    launch(n, threads, body, &many);
    finish(&many);
}

static void results_come_into_the_callers_own_memory(void **state)
{
    (void)state;
    run_bound(5, false, 0, 11, false);
    run_bound(4, false, 0, 3001, false);
    run_bound(3, true, 0, 3001, false);
    run_bound(3, false, 1, 1501, false);
}

static void small_rooted_ones_run_ahead(void **state)
{
    (void)state;
    run_bound(2, false, 0, 5, true);
    run_bound(4, true, 0, 7, true);
}

TEST_GROUP(run_collectives)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_algorithm_gives_what_the_collective_is_defined_to),
        cmocka_unit_test(processes_do_as_threads_do),
        cmocka_unit_test(queues_of_a_device_do_as_the_rank_itself),
        cmocka_unit_test(no_launch_reads_what_an_earlier_one_left),
        cmocka_unit_test(nor_through_queues),
        cmocka_unit_test(nor_where_mechanisms_are_chosen),
        cmocka_unit_test(results_come_into_the_callers_own_memory),
        cmocka_unit_test(small_rooted_ones_run_ahead),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
