/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The order search from inside: bounds are bounds, results do not depend on threads, seeds fix them, and what was
 * stopped or killed goes on where it was.
 */
#include "oracle/brute_order.h"
#include "order/checkpoint.h"
#include "order/dual.h"
#include "order/problem_symmetry.h"
#include "order/seen.h"
#include "test.h"

#include <math.h>
#include <signal.h>
#include <sys/stat.h>
#include <sys/wait.h>

/* ---- bounds ---- */

static struct hop_problem *compile(const struct order_case *c, bool allow_unclean)
{
    struct hop_order_options options = c->options;
    struct hop_problem *p = NULL;
    options.allow_unclean = allow_unclean;
    CHECK(hop_problem_create(c->topology, c->schedule, &options, &p, D));
    return p;
}

static struct hop_sets *sets_of(const struct hop_problem *p)
{
    struct hop_sets *sets = NULL;
    CHECK(hop_sets_create(p, &sets, D));
    return sets;
}

/* To the next event by random choices, one in `rests` of them a rest (0: none). */
static enum hop_advanced step(const struct hop_problem *p, struct hop_sets *sets, struct hop_state *state, uint64_t *seed,
                              uint32_t rests)
{
    uint32_t ops[64], source;
    while ((source = hop_state_choice(p, state)) != HOP_NONE) {
        uint32_t count = hop_state_options(p, state, source, ops);
        assert_true(count > 0 && count <= 64);
        if (rests && order_pick(seed, rests) == 0)
            hop_state_rest(p, state, source);
        else
            hop_state_take(p, state, ops[order_pick(seed, count)]);
    }
    return hop_state_advance(p, sets, state);
}

struct checked {
    double states, ends, tight; /* tight: bounds that were met */
    double late;                /* operations whose latency weighs in the bound from all active sets */
    double solved;              /* states that got a bound of their own, above that of the problem's bounds */
};

static void check_end(const char *title, double bound, double value, double near, struct checked *checked)
{
    checked->ends++;
    checked->tight += bound >= value * (1 - near);
    if (bound > value * (1 + near))
        fail_msg("%s: the bound is %.12g, but an order has %.12g", title, bound, value);
}

/* The value of the problem for what is at hand: of that state alone, or of the problem's bounds. */
static double bound_of(const struct hop_problem *p, struct hop_dual_solver *solver, const struct hop_state *state,
                       struct checked *checked)
{
    double bound = hop_state_close_bound(p, state), left_s = solver ? hop_dual_left(solver, state, INFINITY, true) : 0;
    assert_true(left_s >= 0);
    checked->solved += solver && state->now_s + left_s > bound * (1 + 1e-9);
    return solver ? state->now_s + left_s : bound;
}

/* From states of a random walk, random ways to the end. */
static void check_bounds(const char *title, const struct hop_problem *p, struct hop_dual_solver *solver, double near,
                         uint64_t *seed, struct checked *checked)
{
    enum { WALKS = 6, WAYS = 4 };
    struct hop_sets *sets = sets_of(p);
    struct hop_state *state = aligned_alloc(64, p->state_size), *way = aligned_alloc(64, p->state_size);
    for (uint32_t walk = 0; walk < WALKS; walk++) {
        enum hop_advanced advanced = HOP_ADVANCED;
        uint32_t rests = walk & 1 ? 3 : 0;
        hop_state_begin(p, state);
        while (advanced == HOP_ADVANCED) {
            double bound = bound_of(p, solver, state, checked);
            checked->states++;
            for (uint32_t i = 0; i < WAYS; i++) {
                memcpy(way, state, p->state_size);
                enum hop_advanced on = HOP_ADVANCED;
                while (on == HOP_ADVANCED)
                    on = step(p, sets, way, seed, rests);
                assert_true(on != HOP_ADVANCED_FAILED);
                if (on == HOP_ADVANCED_END)
                    check_end(title, bound, hop_state_value(p, way), near, checked);
            }
            advanced = step(p, sets, state, seed, rests);
        }
    }
    free(state);
    free(way);
    hop_sets_destroy(sets);
}

/* The bound from all active sets: of every state by itself, and its weights among the problem's. */
static void check_dual(const char *title, struct hop_problem *p, double near, uint64_t *seed, struct checked *checked)
{
    struct hop_dual *dual = NULL;
    struct hop_dual_solver *solver;
    if (p->objective != HOP_ORDER_MARKED)
        CHECK(hop_dual_create(p, 20000, &dual, D));
    if (!dual)
        return;
    double *y = calloc(2 * (p->op_count + (size_t)1), sizeof *y), *late = y + p->op_count + 1;
    CHECK(hop_dual_solver_create(dual, NULL, NULL, &solver, D));
    if (p->objective == HOP_ORDER_MAKESPAN)
        check_bounds(title, p, solver, near, seed, checked);
    CHECK(hop_dual_weights(solver, y, late, D));
    for (uint32_t i = 0; i < p->op_count; i++)
        checked->late += late[i] > 0;
    CHECK(hop_problem_add_bound(p, y, late, D));
    check_bounds(title, p, NULL, near, seed, checked);
    hop_dual_solver_destroy(solver);
    hop_dual_destroy(dual);
    free(y);
}

static void no_bound_exceeds_what_an_order_gives(void **state)
{
    (void)state;
    struct checked checked = {0}, dual = {0};
    for (uint64_t number = 0; number < 300; number++) {
        struct order_case c;
        uint64_t seed = number;
        order_case_make(&c, 20000 + number, number % 3 == 0 ? CASE_SIMPLE : CASE_ANY, 1e6);
        for (int unclean = 0; unclean < 2; unclean++) {
            struct hop_problem *p = compile(&c, unclean);
            check_bounds(c.title, p, NULL, c.near, &seed, &checked);
            check_dual(c.title, p, c.near, &seed, &dual);
            hop_problem_destroy(p);
        }
        order_case_finish(&c);
    }
    print_message("%.0f states, %.0f ends, %.0f at their bound; with the dual %.0f, %.0f, %.0f, "
                  "%.0f latencies, %.0f solved\n",
                  checked.states, checked.ends, checked.tight, dual.states, dual.ends, dual.tight, dual.late,
                  dual.solved);
    assert_true(checked.ends > 10000 && checked.tight > 100 && dual.ends > 1000 && dual.tight > 10 && dual.late > 10 &&
                dual.solved > 10);
}

/* ---- states with the same future ---- */

enum { FUTURES_MAX = 20000, WALKED_MAX = 400 };

/* The least value of all orders and rests from a state on; `left` runs out where there are too many. */
static double least_from(const struct hop_problem *p, struct hop_sets *sets, const struct hop_state *from,
                         uint32_t *left)
{
    struct hop_state *state = aligned_alloc(64, p->state_size);
    uint32_t ops[64], source;
    double least = INFINITY;
    enum hop_advanced advanced = HOP_ADVANCED;
    memcpy(state, from, p->state_size);
    source = hop_state_choice(p, state);
    if (source == HOP_NONE && *left > 0) {
        --*left;
        advanced = hop_state_advance(p, sets, state);
        least = advanced == HOP_ADVANCED_END ? hop_state_value(p, state)
                : advanced == HOP_ADVANCED   ? least_from(p, sets, state, left)
                                             : INFINITY;
    }
    uint32_t count = source == HOP_NONE ? 0 : hop_state_options(p, state, source, ops);
    for (uint32_t i = 0; source != HOP_NONE && i <= count && *left > 0; i++) {
        memcpy(state, from, p->state_size);
        (void)hop_state_choice(p, state);
        if (i == count)
            hop_state_rest(p, state, source);
        else
            hop_state_take(p, state, ops[i]);
        least = fmin(least, least_from(p, sets, state, left));
    }
    free(state);
    return least;
}

/* Random walks: a state that was seen before gives no less than the states before it that have begun the same. */
static void walk_seen(const struct order_case *c, struct hop_problem *p, uint64_t *seed, uint32_t *seen,
                      uint32_t *compared)
{
    struct hop_sets *sets = sets_of(p);
    struct hop_seen *before = hop_seen_create(p, 1 << 20);
    char *walked = aligned_alloc(64, WALKED_MAX * p->state_size);
    uint32_t count = 0;
    while (count + 32 < WALKED_MAX) {
        struct hop_state *state = (struct hop_state *)(walked + count * p->state_size);
        hop_state_begin(p, state);
        for (uint32_t events = 0; events < 32 && step(p, sets, state, seed, 3) == HOP_ADVANCED; events++) {
            uint32_t futures = FUTURES_MAX;
            double least = INFINITY, earlier = INFINITY;
            if (hop_seen_before(before, state)) {
                ++*seen;
                least = least_from(p, sets, state, &futures);
                for (uint32_t i = 0; i < count && futures > 0 && earlier > least; i++) {
                    const struct hop_state *other = (const struct hop_state *)(walked + i * p->state_size);
                    if (memcmp(hop_state_at(other, p->started_at), hop_state_at(state, p->started_at),
                               p->word_count * sizeof(uint64_t)) == 0)
                        earlier = fmin(earlier, least_from(p, sets, other, &futures));
                }
                *compared += futures > 0;
                if (futures > 0 && earlier > least * (1 + c->near))
                    fail_msg("%s: %.12g from a state that was left, %.12g from those before it\n%s", c->title, least,
                             earlier, c->text);
            }
            struct hop_state *next = (struct hop_state *)(walked + ++count * p->state_size);
            memcpy(next, state, p->state_size);
            state = next;
        }
    }
    free(walked);
    hop_seen_destroy(before);
    hop_sets_destroy(sets);
}

static void what_was_seen_before_gives_no_less(void **state)
{
    (void)state;
    uint32_t seen = 0, compared = 0;
    for (uint64_t number = 0; number < soaked(120, REPEATED(40, 20)); number++) {
        struct order_case c;
        uint64_t seed = number;
        order_case_make(&c, 40000 + number, number % 2 ? CASE_SIMPLE : CASE_ANY, 40);
        struct hop_problem *p = compile(&c, true);
        walk_seen(&c, p, &seed, &seen, &compared);
        hop_problem_destroy(p);
        order_case_finish(&c);
    }
    print_message("%u states were seen before, of %u all futures were compared\n", seen, compared);
    assert_true(compared > 100);
}

/* A rank r of n sends to r + 1, ..., all the same size: a pattern with symmetries. */
static struct hop_schedule *all_to_all(uint32_t gpus, uint64_t bytes)
{
    struct hop_schedule *schedule = hop_schedule_create("all-to-all");
    for (uint32_t i = 0; i < gpus * (gpus - 1); i++) {
        char from[16], to[16];
        uint32_t r = i / (gpus - 1);
        (void)snprintf(from, sizeof from, "gpu%u", r);
        (void)snprintf(to, sizeof to, "gpu%u", (r + 1 + i % (gpus - 1)) % gpus);
        (void)hop_schedule_copy(schedule, from, to, bytes, NULL, 0);
    }
    CHECK(hop_schedule_finish(schedule, &schedule, D));
    return schedule;
}

/* Orders of a quotient, unfolded, give the same in the whole problem; its bounds are the whole's, too. */
static void quotients_give_what_their_orders_give_unfolded(void **state)
{
    (void)state;
    static const char *const machines[] = {"t1", "t2"};
    struct checked checked = {0};
    uint64_t seed = 4;
    uint32_t unfolded = 0;
    for (uint32_t m = 0; m < 4; m++) {
        struct hop_topology *topology = load_topology(machines[m / 2]);
        struct hop_schedule *schedule = all_to_all(8, 300 << 20);
        const struct hop_order_options options = {.allow_unclean = m & 1};
        struct hop_problem *p = NULL, *q = NULL;
        struct hop_quotient_groups groups;
        CHECK(hop_problem_create(topology, schedule, &options, &p, D));
        CHECK(hop_quotient_groups_find(p, 4, 3, 1, &groups, D));
        assert_true(groups.count > 0);
        struct hop_sets *sets = sets_of(p);
        for (uint32_t g = 0; g < groups.count; g++) {
            const struct hop_quotient_group *group = &groups.list[g];
            CHECK(hop_problem_quotient(p, group->images, group->order, &q, D));
            assert_int_equal(q->source_count, group->lanes);
            assert_int_equal(q->op_count * group->order, p->op_count);
            check_bounds("quotient", q, NULL, 1e-9, &seed, &checked);
            struct hop_sets *few = sets_of(q);
            struct hop_sequence mine, whole;
            struct hop_played a, b;
            CHECK(hop_sequence_create(q, &mine, D));
            CHECK(hop_sequence_create(p, &whole, D));
            for (uint32_t i = q->op_count; i-- > 1;) { /* each lane's sends shuffled */
                const struct hop_problem_source *lane = &q->sources[q->ops[i].source];
                uint32_t j = lane->first + order_pick(&seed, i - lane->first + 1), kept = mine.order[i];
                mine.order[i] = mine.order[j];
                mine.order[j] = kept;
            }
            CHECK(hop_sequence_play(q, few, &mine, NULL, &a, D));
            CHECK(hop_sequence_unfold(q, group->images, group->order, &mine, &whole, D));
            assert_true(hop_sequence_check(p, &whole));
            CHECK(hop_sequence_play(p, sets, &whole, NULL, &b, D));
            assert_true(isfinite(a.value) == isfinite(b.value));
            if (isfinite(a.value)) {
                assert_true(fabs(a.value - b.value) <= 1e-9 * a.value);
                unfolded++;
            }
            hop_sequence_finish(&mine);
            hop_sequence_finish(&whole);
            hop_sets_destroy(few);
            hop_problem_destroy(q);
        }
        hop_sets_destroy(sets);
        hop_quotient_groups_finish(&groups);
        hop_problem_destroy(p);
        hop_schedule_destroy(schedule);
        hop_topology_destroy(topology);
    }
    print_message("%u orders unfolded, %.0f states, %.0f ends\n", unfolded, checked.states, checked.ends);
    assert_true(unfolded > 5 && checked.ends > 500);
}

/* ---- the same result ---- */

struct task {
    struct hop_topology *topology;
    struct hop_schedule *schedule;
    struct hop_order_options options;
};

static struct hop_order_result *search(const struct task *t, const struct hop_order_options *options)
{
    struct hop_order_result *r = NULL;
    CHECK(hop_order_search(t->topology, t->schedule, options, &r, D));
    return r;
}

static struct hop_order_distribution *enumerate(const struct task *t, const struct hop_order_options *options)
{
    struct hop_order_distribution *d = NULL;
    CHECK(hop_order_enumerate(t->topology, t->schedule, options, &d, D));
    return d;
}

static void same_schedule(const struct hop_schedule *a, const struct hop_schedule *b)
{
    assert_true(!a == !b);
    char *x = a ? hop_schedule_to_text(a) : NULL, *y = b ? hop_schedule_to_text(b) : NULL;
    if (x && y)
        assert_string_equal(x, y);
    free(x);
    free(y);
}

static void same_result(const struct hop_order_result *a, const struct hop_order_result *b)
{
    assert_true(a->value_s == b->value_s || fabs(a->value_s - b->value_s) <= 1e-12 * a->value_s);
    assert_true(a->bound_s == b->bound_s || fabs(a->bound_s - b->bound_s) <= 1e-12 * a->bound_s);
    assert_true(a->floor_s == b->floor_s && a->proved == b->proved && a->complete == b->complete);
    assert_true(a->waits == b->waits && a->optima == b->optima && a->orders == b->orders);
    same_schedule(a->best, b->best);
}

static void same_distribution(const struct hop_order_distribution *a, const struct hop_order_distribution *b)
{
    assert_true(a->orders == b->orders && a->clean == b->clean && a->stuck == b->stuck && a->complete == b->complete);
    assert_true(a->given_rank == b->given_rank && a->count == b->count && a->walked == b->walked);
    for (size_t i = 0; i < a->count; i++) {
        assert_true(fabs(a->counts[i].value_s - b->counts[i].value_s) <= 1e-12 * a->counts[i].value_s);
        assert_true(a->counts[i].orders == b->counts[i].orders && a->counts[i].clean == b->counts[i].clean);
    }
    same_schedule(a->fastest.schedule, b->fastest.schedule);
    same_schedule(a->fastest_clean.schedule, b->fastest_clean.schedule);
    same_schedule(a->slowest.schedule, b->slowest.schedule);
}

/* Halo in three dimensions on t2: 1,679,616 orders. */
static struct task halo(void)
{
    struct task t = {load_topology("t2"), hop_schedule_create("halo"), {0}};
    CHECK(hop_topology_set(t.topology, "tau=0.2", D));
    for (int i = 0; i < 24; i++) {
        char from[16], to[16];
        (void)snprintf(from, sizeof from, "gpu%d", i / 3);
        (void)snprintf(to, sizeof to, "gpu%d", i / 3 ^ 1 << i % 3);
        (void)hop_schedule_copy(t.schedule, from, to, 300 << 20, NULL, 0);
    }
    CHECK(hop_schedule_finish(t.schedule, &t.schedule, D));
    return t;
}

/* The same with sizes that all differ: no symmetry, and few equal values. */
static struct task uneven(uint32_t sources, uint32_t sends)
{
    struct task t = {load_topology("t2"), hop_schedule_create("uneven"), {0}};
    uint64_t seed = sends;
    CHECK(hop_topology_set(t.topology, "tau=0.2", D));
    for (uint32_t i = 0; i < sources * sends; i++) {
        char from[16], to[16];
        (void)snprintf(from, sizeof from, "gpu%u", i / sends);
        (void)snprintf(to, sizeof to, "gpu%u", (i / sends + 1 + (i % sends * 3 + i / sends) % 7) % 8);
        (void)hop_schedule_copy(t.schedule, from, to, 100000000 + order_pick(&seed, 200000000), NULL, 0);
    }
    CHECK(hop_schedule_finish(t.schedule, &t.schedule, D));
    return t;
}

static void finish(struct task *t)
{
    hop_schedule_destroy(t->schedule);
    hop_topology_destroy(t->topology);
}

static void results_do_not_depend_on_the_number_of_threads(void **state)
{
    (void)state;
    static const unsigned threads[] = {4, 2, 0};
    for (uint64_t number = soaked(0, REPEATED(1, 3)); number < soaked(8, 6); number++) { /* the halo takes long */
        uint32_t counts = soaked(number == 0 ? 1 : 3, 1);
        struct order_case c = {0};
        struct task t = number == 0 ? halo() : number == 1 ? uneven(8, 2) : number == 2 ? uneven(8, 3) : (struct task){0};
        struct hop_order_options options = {.no_waits = number % 2, .allow_unclean = number / 2 % 2, .threads = 1};
        if (number > 2) {
            order_case_make(&c, 31000 + number, number % 3 ? CASE_SIMPLE : CASE_ANY, 5000);
            t = (struct task){c.topology, c.schedule, {0}};
            options.models = c.options.models;
            options.objective = c.options.objective;
            options.marked = c.options.marked;
            options.marked_count = c.options.marked_count;
        }
        options.count = number != 2;
        options.no_waits = options.no_waits || number == 2;
        struct hop_order_result *first = search(&t, &options), *r;
        for (uint32_t i = 0; i < counts; i++) {
            options.threads = threads[i];
            r = search(&t, &options);
            same_result(first, r);
            hop_order_result_destroy(r);
        }
        hop_order_result_destroy(first);
        if (number != 2) {
            options.threads = 1;
            struct hop_order_distribution *d = enumerate(&t, &options), *other;
            for (uint32_t i = 0; i < counts; i++) {
                options.threads = threads[i];
                other = enumerate(&t, &options);
                same_distribution(d, other);
                hop_order_distribution_destroy(other);
            }
            hop_order_distribution_destroy(d);
        }
        finish(&t);
    }
}

static void a_seed_fixes_the_result(void **state)
{
    (void)state;
    struct task t = uneven(8, 4);
    uint32_t unfinished = 0, some = soaked(20000, 3000);
    const struct hop_order_options options[] = {
        {.seed = 1, .max_nodes = some, .threads = 2},
        {.seed = 1, .max_nodes = some, .threads = 2, .allow_unclean = true},
        {.seed = 7, .max_nodes = 3000, .no_waits = true},
        {.seed = 7, .max_nodes = some, .objective = HOP_ORDER_MEAN},
    };
    for (uint32_t i = 0; i < sizeof options / sizeof *options; i++) {
        struct hop_order_result *a = search(&t, &options[i]), *b = search(&t, &options[i]);
        same_result(a, b);
        assert_true(a->nodes == b->nodes && a->complete == b->complete);
        unfinished += !a->complete;
        hop_order_result_destroy(a);
        hop_order_result_destroy(b);
    }
    assert_int_equal(unfinished, 3);
    finish(&t);
}

/* ---- checkpoints ---- */

static char checkpoint_file[64];

static int make_file(void **state)
{
    (void)state;
    (void)snprintf(checkpoint_file, sizeof checkpoint_file, "/tmp/hopcast-order-XXXXXX");
    int fd = mkstemp(checkpoint_file);
    if (fd < 0)
        return -1;
    close(fd);
    return remove(checkpoint_file);
}

static int remove_file(void **state)
{
    (void)state;
    (void)remove(checkpoint_file);
    return 0;
}

static bool exists(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0;
}

/* Stops a search at its n-th report. */
static bool stop_soon(const struct hop_order_progress *progress, void *context)
{
    int *left = context;
    assert_true(progress->done >= 0 && progress->done <= 1 && progress->bound_s >= 0);
    return --*left > 0;
}

/* Goes on and on with a limit of nodes for each run, until a run is complete; how many it took. */
static uint32_t in_pieces(const struct task *t, struct hop_order_options options, uint64_t nodes,
                          struct hop_order_distribution **d, struct hop_order_result **r)
{
    options.checkpoint = checkpoint_file;
    options.max_nodes = nodes;
    for (uint32_t runs = 1; runs < 1000; runs++) {
        bool complete;
        if (d) {
            *d = enumerate(t, &options);
            complete = (*d)->complete;
        } else {
            *r = search(t, &options);
            complete = (*r)->complete;
        }
        assert_true(exists(checkpoint_file) || complete);
        if (complete)
            return runs;
        if (d)
            hop_order_distribution_destroy(*d);
        else
            hop_order_result_destroy(*r);
    }
    fail_msg("it never ends");
    return 0;
}

static void an_enumeration_in_pieces_counts_every_order_once(void **state)
{
    (void)state;
    struct task t = uneven(8, 2);
    struct hop_order_options options = {.threads = 2};
    struct hop_order_distribution *whole = enumerate(&t, &options), *pieces = NULL;
    uint32_t runs = in_pieces(&t, options, whole->nodes / 7, &pieces, NULL);
    same_distribution(whole, pieces);
    print_message("%u runs\n", runs);
    assert_true(runs >= 4 && whole->orders == 256);
    hop_order_distribution_destroy(pieces);
    pieces = enumerate(&t, &(struct hop_order_options){.checkpoint = checkpoint_file});
    same_distribution(whole, pieces);
    hop_order_distribution_destroy(pieces);
    hop_order_distribution_destroy(whole);
    finish(&t);
}

/* Marked operations make it slow enough to be stopped in the midst of it. */
static void a_stopped_enumeration_goes_on(void **state)
{
    (void)state;
    const uint32_t marked[] = {0, 5};
    struct task t = uneven(7, 3);
    struct hop_order_options options = {
        .threads = 2, .objective = HOP_ORDER_MARKED, .marked = marked, .marked_count = 2};
    struct hop_order_distribution *whole = enumerate(&t, &options), *part, *rest;
    assert_true(whole->orders == 279936);
    int left = 1;
    options.checkpoint = checkpoint_file;
    options.progress = stop_soon;
    options.context = &left;
    part = enumerate(&t, &options);
    assert_true(part->walked <= whole->walked && part->complete == (part->orders == whole->orders));
    options.progress = NULL;
    rest = enumerate(&t, &options);
    same_distribution(whole, rest);
    print_message("stopped after %.0f of %.0f orders\n", part->orders, whole->orders);
    hop_order_distribution_destroy(part);
    hop_order_distribution_destroy(rest);
    hop_order_distribution_destroy(whole);
    finish(&t);
}

static void a_checkpoint_does_not_change_a_search(void **state)
{
    (void)state;
    for (uint64_t number = 0; number < soaked(12, 4); number++) {
        struct order_case c;
        order_case_make(&c, 41000 + number, number % 2 ? CASE_SIMPLE : CASE_ANY, 2000);
        struct task t = {c.topology, c.schedule, {0}};
        struct hop_order_options options = c.options;
        options.no_waits = false;
        options.count = true;
        options.allow_unclean = number % 3;
        struct hop_order_result *without = search(&t, &options), *with, *again;
        options.checkpoint = checkpoint_file;
        with = search(&t, &options);
        same_result(without, with);
        again = search(&t, &options); /* all done: from the file */
        assert_true(again->value_s == with->value_s && again->proved == with->proved && again->optima == with->optima);
        assert_true(again->bound_s <= with->bound_s && again->bound_s >= again->floor_s && again->sets <= with->sets);
        same_schedule(again->best, with->best);
        hop_order_result_destroy(without);
        hop_order_result_destroy(with);
        hop_order_result_destroy(again);
        order_case_finish(&c);
        (void)remove(checkpoint_file);
    }
}

/* Tasks that are done are not done again, or it would never end. */
static void a_search_in_pieces_ends_as_a_whole_one_does(void **state)
{
    (void)state;
    struct task t = uneven(8, 2);
    struct hop_order_options options = {.no_waits = true, .allow_unclean = true, .count = true, .threads = 1};
    struct hop_order_result *whole = search(&t, &options), *pieces = NULL;
    assert_true(whole->proved && whole->complete);
    uint32_t runs = in_pieces(&t, options, 40, NULL, &pieces);
    print_message("%u runs, %.0f nodes in one\n", runs, (double)whole->nodes);
    assert_true(runs > 2);
    assert_true(pieces->proved && fabs(pieces->value_s - whole->value_s) <= 1e-12 * whole->value_s);
    assert_true(pieces->optima == whole->optima && pieces->bound_s == whole->bound_s);
    hop_order_result_destroy(pieces);
    hop_order_result_destroy(whole);
    finish(&t);
}

static void a_checkpoint_of_something_else_is_refused_with_its_place(void **state)
{
    (void)state;
    struct task a = uneven(8, 2), b = halo();
    struct hop_order_options options = {.checkpoint = checkpoint_file, .max_nodes = 10};
    struct hop_order_distribution *d = enumerate(&a, &options);
    hop_order_distribution_destroy(d);
    d = NULL;
    struct hop_order_result *r = NULL;
    const struct hop_order_options other[] = {
        {.checkpoint = checkpoint_file, .models = "fair"},
        {.checkpoint = checkpoint_file, .objective = HOP_ORDER_MEAN},
        {.checkpoint = checkpoint_file},
    };
    for (uint32_t i = 0; i < 3; i++) {
        struct hop_diag diag = {0};
        const struct task *t = i == 2 ? &b : &a;
        assert_int_equal(hop_order_enumerate(t->topology, t->schedule, &other[i], &d, &diag), HOP_ERR_INVALID);
        assert_non_null(strstr(diag.what, "another schedule"));
        assert_non_null(strstr(diag.place, checkpoint_file));
        assert_null(d);
    }
    struct hop_diag diag = {0};
    enum hop_status status =
        hop_order_search(a.topology, a.schedule, &(struct hop_order_options){.checkpoint = checkpoint_file}, &r, &diag);
    assert_int_equal(status, HOP_ERR_INVALID);
    assert_null(r);
    finish(&a);
    finish(&b);
}

static void a_checkpoint_that_cannot_be_written_is_an_error(void **state)
{
    (void)state;
    struct task t = uneven(8, 2);
    struct hop_order_distribution *d = NULL;
    struct hop_diag diag = {0};
    const struct hop_order_options options = {.checkpoint = "/nowhere/at/all"};
    assert_int_equal(hop_order_enumerate(t.topology, t.schedule, &options, &d, &diag), HOP_ERR_IO);
    assert_true(!d && strstr(diag.what, "/nowhere/at/all"));
    finish(&t);
}

static char *read_whole(size_t *size)
{
    FILE *file = fopen(checkpoint_file, "rb");
    assert_non_null(file);
    char *text = calloc(1, 1 << 20);
    *size = fread(text, 1, (1 << 20) - 1, file);
    fclose(file);
    return text;
}

static void write_file(const char *text, size_t size)
{
    FILE *file = fopen(checkpoint_file, "wb");
    assert_non_null(file);
    assert_int_equal(fwrite(text, 1, size, file), size);
    fclose(file);
}

/* Cut anywhere, or with a byte changed: refused, or read; if it is read, with a result that holds. */
static void malformed_checkpoints_are_refused(void **state)
{
    (void)state;
    struct task t = uneven(8, 2);
    struct hop_order_options options = {.checkpoint = checkpoint_file, .max_nodes = 300, .threads = 1};
    hop_order_distribution_destroy(enumerate(&t, &options));
    size_t size, refused = 0;
    char *text = read_whole(&size);
    uint64_t seed = 9;
    options.max_nodes = 0;
    for (uint32_t i = 0; i < 300; i++) {
        struct hop_order_distribution *d = NULL;
        struct hop_diag diag = {0};
        char *bad = malloc(size);
        memcpy(bad, text, size);
        size_t length = i < 100 ? order_pick(&seed, (uint32_t)size) : size;
        static const char bytes[] = "0123456789 -.|:\nenx";
        if (i >= 100)
            bad[order_pick(&seed, (uint32_t)size)] = bytes[order_pick(&seed, sizeof bytes - 1)];
        write_file(bad, length);
        enum hop_status status = hop_order_enumerate(t.topology, t.schedule, &options, &d, &diag);
        refused += status != HOP_OK;
        if (status != HOP_OK) {
            assert_true(status == HOP_ERR_SYNTAX || status == HOP_ERR_INVALID);
            assert_non_null(strstr(diag.place, checkpoint_file));
            assert_true(diag.what[0] && diag.expected[0]);
        } else {
            assert_true(d->fastest.schedule && d->slowest.schedule);
        }
        if (i < 100)
            assert_true(status != HOP_OK);
        hop_order_distribution_destroy(d);
        free(bad);
    }
    print_message("%zu of 300 refused\n", refused);
    free(text);
    finish(&t);
}

/* A child that enumerates (or searches) with a checkpoint every few milliseconds; killed in the midst of it. */
static void be_killed(const struct task *t, bool all, unsigned after_ms)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        const struct hop_order_options options = {.checkpoint = checkpoint_file,
                                                  .checkpoint_s = 1e-6,
                                                  .threads = 2,
                                                  .allow_unclean = true,
                                                  .no_waits = true};
        struct hop_order_distribution *d = NULL;
        struct hop_order_result *r = NULL;
        struct hop_diag diag;
        if (all)
            (void)hop_order_enumerate(t->topology, t->schedule, &options, &d, &diag);
        else
            (void)hop_order_search(t->topology, t->schedule, &options, &r, &diag);
        _exit(0);
    }
    pid_t ended = 0;
    while (!exists(checkpoint_file) && ended == 0) {
        usleep(1000);
        ended = waitpid(child, NULL, WNOHANG);
    }
    usleep(after_ms * 1000); /* any moment will do */
    if (ended == 0) {
        (void)kill(child, SIGKILL);
        ended = waitpid(child, NULL, 0);
    }
    assert_int_equal(ended, child);
}

static void what_was_killed_goes_on(void **state)
{
    (void)state;
    struct task t = uneven(7, 3);
    struct hop_order_options options = {.threads = 2};
    struct hop_order_distribution *whole = enumerate(&t, &options), *rest;
    for (unsigned i = 0; i < 3; i++)
        be_killed(&t, true, 20 * i);
    assert_true(exists(checkpoint_file));
    options.checkpoint = checkpoint_file;
    options.allow_unclean = options.no_waits = true;
    rest = enumerate(&t, &options);
    same_distribution(whole, rest);
    hop_order_distribution_destroy(whole);
    hop_order_distribution_destroy(rest);
    (void)remove(checkpoint_file);
    finish(&t);

    t = uneven(8, 2);
    options = (struct hop_order_options){.threads = 2, .allow_unclean = true, .no_waits = true};
    struct hop_order_result *full = search(&t, &options), *resumed;
    for (unsigned i = 0; i < 3; i++)
        be_killed(&t, false, 2 * i);
    options.checkpoint = checkpoint_file;
    resumed = search(&t, &options);
    same_result(full, resumed);
    hop_order_result_destroy(full);
    hop_order_result_destroy(resumed);
    finish(&t);
}

TEST_GROUP(order_more)
{
#define WITH_FILE(test) cmocka_unit_test_setup_teardown(test, make_file, remove_file)
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_bound_exceeds_what_an_order_gives),
        cmocka_unit_test(what_was_seen_before_gives_no_less),
        cmocka_unit_test(quotients_give_what_their_orders_give_unfolded),
        cmocka_unit_test(results_do_not_depend_on_the_number_of_threads),
        cmocka_unit_test(a_seed_fixes_the_result),
        WITH_FILE(an_enumeration_in_pieces_counts_every_order_once),
        WITH_FILE(a_stopped_enumeration_goes_on),
        WITH_FILE(a_checkpoint_does_not_change_a_search),
        WITH_FILE(a_search_in_pieces_ends_as_a_whole_one_does),
        WITH_FILE(a_checkpoint_of_something_else_is_refused_with_its_place),
        WITH_FILE(a_checkpoint_that_cannot_be_written_is_an_error),
        WITH_FILE(malformed_checkpoints_are_refused),
        WITH_FILE(what_was_killed_goes_on),
    };
    return RUN_TESTS(tests, NULL, NULL);
}
